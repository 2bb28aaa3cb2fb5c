//! Compiles and runs the MIR files of `tests/run` with each compiler, with and without optimisation.
//!
//! A file holds cases behind `//--- name`; the text in front of the first stands in front of each. A case says with
//! `//! out: LINE` what it prints (a fault's line included), with `//! c: TEXT` what its C text holds, and with `//! no: TEXT`
//! what it does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;
use std::process::Command;

fn marked<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let mark = format!("//! {mark}: ");
    text.lines().filter_map(|line| line.split_once(mark.as_str())).map(|(_, rest)| rest).collect()
}

fn check(name: &str, text: &str) -> Vec<String> {
    let emitted = support::emit(text);
    let mut wrong = vec![];
    for want in marked(text, "c") {
        if !emitted.contains(want) {
            wrong.push(format!("{name}: the C text lacks `{want}`:\n{emitted}"));
        }
    }
    for unwanted in marked(text, "no") {
        if emitted.contains(unwanted) {
            wrong.push(format!("{name}: the C text holds `{unwanted}`:\n{emitted}"));
        }
    }
    let out: String = marked(text, "out").iter().map(|line| format!("{line}\n")).collect();
    let dir = support::directory();
    for compiler in support::compilers() {
        for level in ["-O0", "-O2"] {
            match support::build(compiler, level, &dir, &emitted) {
                Ok(program) => {
                    let (got, _) = support::run(&mut Command::new(program));
                    if got != out {
                        wrong.push(format!("{name}: {compiler} {level} printed\n{got}instead of\n{out}{emitted}"));
                    }
                }
                Err(errors) => wrong.push(format!("{name}: {compiler} {level}\n{errors}\n{emitted}")),
            }
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
    wrong
}

#[test]
fn mir_files() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run");
    let only = std::env::var("CASE").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut wrong, mut count) = (vec![], 0);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut parts = text.split("//---");
        let prelude = parts.next().unwrap_or("");
        for part in parts {
            let (name, body) = part.split_once('\n').unwrap_or((part, ""));
            let name = format!("{file}: {}", name.trim());
            if name.contains(&only) {
                count += 1;
                wrong.extend(check(&name, &format!("{prelude}{body}")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 0, "no case was found");
}
