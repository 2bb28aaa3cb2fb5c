//! Standard input as a source, and output that cannot be written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::process::{Command, Stdio};
use support::{fresh, lee, lee_in, run, run_with};

const ECHO: &str = "#include <stdio.h>\nint main(int argc, char **argv) {\n    printf(\"%s\\n\", argv[1]);\n    \
    return getchar() == EOF ? 0 : 3;\n}\n";

#[test]
fn a_program_is_read_from_standard_input() {
    let folder = fresh("stdin");
    fs::write(folder.join("own.h"), "#define OWN 5\n").unwrap();
    let with = |words: &[&str], text: &str| run_with(Command::new(lee()).args(words).current_dir(&folder), text);
    // The program finds its input at the end.
    assert_eq!(with(&["run", "-", "a b"], ECHO).expect(0).out, "a b\n");
    assert_eq!(with(&["run", "--release", "-", "x"], ECHO).expect(0).out, "x\n");
    with(&["check", "-"], "#include \"own.h\"\nstatic_assert(OWN == 5);\n").expect(0);
    with(&["build", "-"], ECHO).expect(0);
    assert!(folder.join("a.out").is_file());
    with(&["build", "-", "-o", "named"], ECHO).expect(0);
    assert_eq!(run(Command::new(folder.join("named")).arg("y")).expect(0).out, "y\n");
    assert!(with(&["build", "--emit", "c", "-"], ECHO).expect(0).out.contains("getchar"));
    let said = with(&["check", "-"], "int main(void) {\n    return x;\n}\n").expect(1).err;
    assert!(said.contains("<stdin>:2:12: error") && said.contains("2 |     return x;"), "{said}");
    let said =
        with(&["run", "-", "a"], "int main(int c, char **v) { int a[2] = { 1, 2 }; return a[c]; }\n").expect(134).err;
    assert!(said.contains("<stdin>:1:") && said.contains("index 2 out of bounds for length 2"), "{said}");
    assert!(with(&["check", "-", "-"], ECHO).expect(2).err.contains("once"));
    with(&["run", "-"], "").expect(1);
    with(&["check", "-"], "\0\u{1}(((").expect(1);
    // A file of that name is still a file.
    fs::write(folder.join("-"), "int main(void) { return 9; }\n").unwrap();
    lee_in(&folder, &["check", "./-"]).expect(0);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let folder = fresh("full");
    fs::write(folder.join("a.lee"), "int main(void) { return 0; }\n").unwrap();
    fs::write(folder.join("bad.lee"), "int x = y;\n").unwrap();
    for words in [
        &["help"][..],
        &["help", "build"],
        &["run", "--help"],
        &["--version"],
        &["explain"],
        &["explain", "L0101"],
        &["cc", "--help"],
        &["check", "--emit", "ast", "a.lee"],
        &["check", "--emit", "types", "a.lee"],
        &["check", "--emit", "mir", "a.lee"],
        &["check", "--emit", "checks", "a.lee"],
        &["build", "--emit", "c", "a.lee"],
        &["build", "--emit", "header", "a.lee"],
        &["build", "--emit", "c", "-o", "/dev/full", "a.lee"],
        &["build", "-o", "/dev/full", "a.lee"],
        &["cc", "-E", "a.lee"],
        &["check", "--message-format", "json", "bad.lee"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(lee());
        let made = command.args(words).current_dir(&folder).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(said.contains("No space left on device"), "{words:?}: {said}");
        assert_eq!((made.status.code(), said.lines().count()), (Some(1), 1), "{words:?}: {said}");
    }
}

#[test]
fn closed_output_is_an_error_and_a_reader_that_left_is_not() {
    let shell = |line: &str| run(Command::new("sh").args(["-c", line]).env("LEE", lee()));
    for words in ["help", "explain L0101", "--version"] {
        let said = shell(&format!("\"$LEE\" {words} >&-")).expect(1).err;
        assert!(said.starts_with("lee: cannot write to standard output"), "{said}");
    }
    shell("\"$LEE\" help > /dev/null").expect(0);
    shell("\"$LEE\" explain L0101 | true").expect(0);
    // Nothing is to be written.
    shell("echo 'int x;' | \"$LEE\" check - >&-").expect(0);
}

#[test]
fn only_warnings_that_exist_are_switched_off() {
    let folder = fresh("warning-names");
    fs::write(folder.join("a.lee"), "int main(void) { return 0; }\n").unwrap();
    for wrong in ["no-nonsense", "nonsense", "no-", "", "no-L9999", "L0601", "no-LEAK ", "all"] {
        for words in [&["check", "-W", wrong, "a.lee"][..], &["check", &format!("-W={wrong}"), "a.lee"]] {
            let said = lee_in(&folder, words).expect(2).err;
            assert!(said.starts_with("lee: -W takes no-leak") && said.lines().count() == 1, "{said}");
        }
    }
    for command in ["run", "build"] {
        lee_in(&folder, &[command, "-Wno-nonsense", "a.lee"]).expect(2);
    }
    for right in ["-Wno-leak", "-Wno-free-shared", "-Wno-shared-variables", "-Wno-l0601", "-Wno-L0601"] {
        lee_in(&folder, &["check", right, "a.lee"]).expect(0);
    }
}

#[test]
fn reports_are_in_the_order_of_lines() {
    let folder = fresh("order");
    // A warning about an expression's types in the second function, errors that depend on paths in
    // the first and third.
    let text = "int first(int c) {\n    int x;\n    if (c) x = 1;\n    return x;\n}\nint second(int c) {\n    int unused;\n    \
        return c;\n}\nint third(int c) {\n    if (c) return 1;\n}\n";
    fs::write(folder.join("a.lee"), text).unwrap();
    for format in ["gcc", "text"] {
        let said = lee_in(&folder, &["check", "--message-format", format, "a.lee"]).err;
        let lines: Vec<u32> = said
            .lines()
            .filter(|l| l.starts_with("a.lee:") && !l.contains(": note:"))
            .filter_map(|l| l.split(':').nth(1)?.parse().ok())
            .collect();
        assert!(lines.len() >= 3 && lines.is_sorted(), "{lines:?}: {said}");
    }
}
