//! Library functions with bad arguments (`tests/hostile`): each call ends with a result or with a
//! fault that names its place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::process::Command;
use support::{fresh, lee_in, root, run_with};

/// Runs all calls of a program; the last one says that there is no such call.
fn all_calls(options: &[&str]) {
    let folder = fresh(&format!("hostile{}", options.concat()));
    let source = root().join("tests/hostile/small_programs.lee");
    let source = source.to_str().expect("a path");
    lee_in(&folder, &[&["build", "-o", "program", source], options].concat()).expect(0);
    for n in 0..1000 {
        let mut command = Command::new(folder.join("program"));
        command.current_dir(&folder).args([&n.to_string(), &i64::MAX.to_string(), "-1"]);
        let ran = run_with(&mut command, "");
        let faulted = ran.status == 134 && ran.err.contains("fault: ");
        assert!(ran.status == 0 || faulted, "call {n}: status {}: {}", ran.status, ran.err);
        if ran.out == "no such call\n" {
            assert!(n > 70, "only {n} calls");
            return;
        }
    }
    panic!("the calls do not end");
}

#[test]
fn debug_builds() {
    all_calls(&[]);
}

#[test]
fn release_builds() {
    all_calls(&["--release"]);
}
