//! The verifier of ownership walks the functions of the golden programs to the end: its budget
//! (`flow/verify_ownership`) ends no walk before all paths were looked at.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use support::{directives, files, lee, root, run};

#[test]
fn no_walk_of_a_golden_program_is_cut() {
    let (mut tables, mut cut) = (0, BTreeSet::new());
    for folder in ["run", "fault", "attack", "rules", "library"] {
        let folder = root().join("tests").join(folder);
        let accepted = |text: String| directives(&text, "reject").is_empty();
        let programs = files(&folder, "lee").into_iter().filter(|f| fs::read_to_string(f).is_ok_and(accepted));
        let mut command = Command::new(lee());
        command.args(["check", "--time-passes"]).args(programs).current_dir(&folder).env("LEE_VERIFY", "1");
        for line in run(&mut command).err.lines() {
            if let ["verifier", "left", _, "functions", "with", "paths", "not", "walked", names @ ..] =
                &line.split_whitespace().collect::<Vec<_>>()[..]
            {
                tables += 1;
                cut.extend(names.iter().map(ToString::to_string));
            }
        }
    }
    assert!(tables > 500, "only {tables}");
    println!("the verifier's budget ended the walks of {} functions in {tables} programs", cut.len());
    assert!(cut.is_empty(), "{cut:?}");
}
