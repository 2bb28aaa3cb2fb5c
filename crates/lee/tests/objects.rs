//! Objects that are kept: when they are used, and when not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use support::{fresh, lee, run, Ran};

/// A folder with a program of two files, and a C compiler that notes what it makes objects of.
fn project(name: &str) -> PathBuf {
    let folder = fresh(name);
    write(&folder, "number.h", "enum { NUMBER = 7 };\nint half(int n);\n");
    write(&folder, "main.lee", "#include \"number.h\"\nint main(void) { return half(2 * NUMBER); }\n");
    write(&folder, "half.lee", "int half(int n) { return n / 2; }\n");
    let cc = driver::toolchain::Compiler::find(None).expect("a C compiler").name();
    let script = format!(
        "#!/bin/sh\nfor word in \"$@\"; do [ \"$word\" = -c ] && echo object >> made; done\nexec {cc} \"$@\"\n"
    );
    write(&folder, "noting-cc", &script);
    fs::set_permissions(folder.join("noting-cc"), fs::Permissions::from_mode(0o755)).unwrap();
    // The runtime is compiled before anything is counted.
    build(&folder, &[]).expect(0);
    fs::remove_dir_all(folder.join("cache/lee/objects")).unwrap();
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(lee());
    command.args(["build", "main.lee", "half.lee", "-o", "program"]).args(words).current_dir(folder);
    command.env("XDG_CACHE_HOME", folder.join("cache")).env("LEE_CC", folder.join("noting-cc"));
    command.env_remove("LEE_CACHE").env_remove("LEE_VERIFY");
    command
}

fn build(folder: &Path, words: &[&str]) -> Ran {
    run(&mut command(folder, words))
}

/// How many objects the build of a program that ends with `status` makes.
fn made(folder: &Path, words: &[&str], status: i32) -> usize {
    let _ = fs::remove_file(folder.join("made"));
    build(folder, words).expect(0);
    run(&mut Command::new(folder.join("program"))).expect(status);
    fs::read_to_string(folder.join("made")).map_or(0, |text| text.lines().count())
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder.join("cache/lee/objects")).into_iter().flatten().flatten().map(|e| e.path());
    all.filter(|path| path.file_name().is_some_and(|name| name != "cleaned")).collect()
}

#[test]
fn a_file_is_compiled_again_when_what_it_is_made_of_changed() {
    let folder = project("objects-used");
    assert_eq!(made(&folder, &[], 7), 2);
    assert_eq!(made(&folder, &[], 7), 0);
    write(&folder, "half.lee", "int half(int n) { return n / 2 + 1; }\n");
    assert_eq!(made(&folder, &[], 8), 1);
    write(&folder, "number.h", "enum { NUMBER = 9 };\nint half(int n);\n");
    assert_eq!(made(&folder, &[], 10), 1);
    assert_eq!(made(&folder, &["-DUNUSED"], 10), 0);
    assert_eq!(made(&folder, &["--release"], 10), 2);
    assert_eq!(made(&folder, &["--release"], 10), 0);
    assert_eq!(made(&folder, &["--no-check-removal"], 10), 2);
    // What it was before.
    write(&folder, "half.lee", "int half(int n) { return n / 2; }\n");
    assert_eq!(made(&folder, &[], 9), 0);
    write(&folder, "number.h", "enum { NUMBER = 7 };\nint half(int n);\n");
    assert_eq!(made(&folder, &[], 7), 0);
}

#[test]
fn what_is_reported_is_reported_each_time() {
    let folder = project("objects-warned");
    write(&folder, "half.lee", "int half(int n) { char *name = \"ab\"; return n / 2 + (name[0] - 'a'); }\n");
    let said = build(&folder, &[]).expect(0).err;
    assert!(said.contains("half.lee:1:"), "{said}");
    assert_eq!(build(&folder, &[]).expect(0).err, said);
    assert_eq!(kept(&folder).len(), 1);
}

#[test]
fn reports_come_in_the_order_of_the_files() {
    let folder = project("objects-order");
    let many: Vec<String> = (0..12).map(|n| format!("f{n}.lee")).collect();
    for (n, name) in many.iter().enumerate() {
        write(&folder, name, &format!("int f{n}(void) {{ return unknown{n}; }}\n"));
    }
    let words: Vec<&str> = many.iter().map(String::as_str).collect();
    let said = build(&folder, &words).expect(1).err;
    let places: Vec<usize> = (0..12).map(|n| said.find(&format!("`unknown{n}`")).expect("reported")).collect();
    assert!(places.is_sorted(), "{said}");
}

#[test]
fn a_damaged_object_is_made_again() {
    let folder = project("objects-damaged");
    assert_eq!(made(&folder, &[], 7), 2);
    for n in 0..4 {
        for file in kept(&folder) {
            let mut bytes = fs::read(&file).unwrap();
            match n {
                0 => bytes.truncate(bytes.len() / 2),
                1 => bytes.clear(),
                2 => bytes[0] ^= 1,
                _ => *bytes.last_mut().unwrap() ^= 1,
            }
            fs::write(&file, bytes).unwrap();
        }
        assert_eq!(made(&folder, &[], 7), 2, "{n}");
        assert_eq!(made(&folder, &[], 7), 0, "{n}");
    }
}

#[test]
fn objects_are_not_kept_on_request_or_if_they_read_other_files() {
    let folder = project("objects-off");
    fs::remove_file(folder.join("made")).unwrap();
    for _ in 0..2 {
        run(command(&folder, &[]).env("LEE_CACHE", "off")).expect(0);
    }
    assert_eq!(fs::read_to_string(folder.join("made")).unwrap().lines().count(), 4);
    assert_eq!(kept(&folder).len(), 0);
    write(&folder, "half.lee", "#include <stdio.h>\nint half(int n) { puts(\".incbin\"); return n / 2; }\n");
    build(&folder, &[]).expect(0);
    assert_eq!(kept(&folder).len(), 1);
}

#[test]
fn what_was_not_used_for_a_month_goes() {
    let folder = project("objects-old");
    build(&folder, &[]).expect(0);
    let objects = folder.join("cache/lee/objects");
    let age = |file: &Path, days: u64| {
        let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        fs::File::options().append(true).open(file).and_then(|f| f.set_modified(then)).unwrap();
    };
    write(&objects, "old", "");
    write(&objects, "recent", "");
    age(&objects.join("old"), 31);
    age(&objects.join("recent"), 29);
    age(&objects.join("cleaned"), 2);
    write(&folder, "half.lee", "int half(int n) { return n / 2 + 1; }\n");
    build(&folder, &[]).expect(0);
    assert!(!objects.join("old").exists() && objects.join("recent").exists());
    assert_eq!(kept(&folder).len(), 4);
}
