//! `lee build --emit header`: the header of a module is what it was, C compilers take it, and a
//! program of C and one of Leeward use the module by it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use support::{fresh, lee_in, root, run, tools};

const LINES: &str = "\
total 15
largest 9
first 3 4, 7 9, made 5
length 25
";

/// A folder with tests/header, and the header made anew.
fn made(name: &str) -> PathBuf {
    let folder = fresh(name);
    for file in ["shapes.lee", "main.lee", "main.c"] {
        fs::copy(root().join("tests/header").join(file), folder.join(file)).expect("copied");
    }
    lee_in(&folder, &["build", "--emit", "header", "-o", "shapes.h", "shapes.lee"]).expect(0);
    folder
}

#[test]
fn stays_as_it_is() {
    let text = fs::read_to_string(made("header-text").join("shapes.h")).expect("the header");
    let known = root().join("tests/header/shapes.h");
    if std::env::var_os("LEE_BLESS").is_some() {
        fs::write(&known, &text).expect("blessed");
    }
    assert_eq!(text, fs::read_to_string(known).expect("tests/header/shapes.h"), "LEE_BLESS=1 accepts it");
}

#[test]
fn is_c_of_every_standard() {
    let folder = made("header-c");
    for compiler in tools::compilers("is_c_of_every_standard") {
        for standard in ["-std=c99", "-std=c11", "-std=gnu17", "-std=c2x"] {
            let mut c = Command::new(&compiler);
            c.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-xc", "shapes.h"]);
            run(c.current_dir(&folder)).expect(0);
        }
    }
}

#[test]
fn serves_c() {
    let folder = made("header-use-c");
    for release in [&[][..], &["--release"]] {
        lee_in(&folder, &[&["build", "-o", "program"], release, &["main.c", "shapes.lee"]].concat()).expect(0);
        let ran = run(&mut Command::new(folder.join("program"))).expect(0);
        let rest = "leftright 1 10\nshow 5, item 8\narea 3 1\npair 8, applied 4\n<x> shapes\n";
        assert_eq!(ran.out, format!("{LINES}{rest}"));
    }
}

#[test]
fn serves_leeward() {
    let folder = made("header-use-lee");
    lee_in(&folder, &["build", "-o", "program", "main.lee", "shapes.lee"]).expect(0);
    let ran = run(&mut Command::new(folder.join("program"))).expect(134);
    let rest = "leftright 10\nshow 5, item 8\narea 3 1\npair 0, applied 4\n<x> shapes\n5\nx";
    assert_eq!(ran.out, format!("{LINES}{rest}"));
    assert!(ran.err.contains("main.lee:39:29: fault: 4 elements wanted, out of bounds for length 3"), "{}", ran.err);
}
