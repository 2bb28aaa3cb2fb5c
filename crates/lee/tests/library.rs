//! Leeward's own library checked as a user's files: of its headers the compiler reports errors, but
//! no warnings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use support::{files, lee, root, run};

#[test]
fn headers_are_well_formed() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("library-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let headers = files(&root().join("library/include/lee"), "lh");
    let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
    for header in &headers {
        let mut text = fs::read_to_string(header).unwrap();
        for other in headers.iter().map(name) {
            text = text.replace(&format!("<lee/{other}>"), &format!("\"{other}\""));
        }
        fs::write(folder.join(name(header)), text).unwrap();
    }
    // Included twice by another, with macros.
    for header in headers.iter().map(name).filter(|n| n != "sort_code.lh") {
        let file = folder.join("main.lee");
        fs::write(&file, format!("#include \"{header}\"\nint main(void) {{ return 0; }}\n")).unwrap();
        let checked = run(Command::new(lee()).arg("check").arg(&file).env("LEE_VERIFY", "1"));
        assert!(checked.status == 0 && checked.err.is_empty(), "{header}: {}{}", checked.out, checked.err);
    }
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn errors_in_its_headers_are_reported() {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("home-{}", std::process::id()));
    let folder = home.join("library/include/lee");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(root().join("runtime"), home.join("runtime")).unwrap();
    fs::copy(root().join("library/unsafe.txt"), home.join("library/unsafe.txt")).unwrap();
    let check = |header: &str, main: &str| {
        fs::write(folder.join("own.lh"), header).unwrap();
        let file = home.join("main.lee");
        fs::write(&file, format!("#include <lee/own.lh>\nint main(void) {{ return {main}; }}\n")).unwrap();
        run(Command::new(lee()).arg("check").arg(&file).env("LEE_HOME", &home))
    };
    let typed = "static inline int f(int *p) { return p; }\ngeneric <T> T g(T x) { return x + nothing; }\n";
    let typed = check(typed, "0");
    assert!(typed.status == 1, "{}{}", typed.out, typed.err);
    assert!(typed.err.contains("own.lh:1:") && typed.err.contains("own.lh:2:"), "{}", typed.err);
    let flows = "static inline int *f(void) { int x = 1; return &x; }\n";
    // What the file does not use is not analysed.
    let unused = check(flows, "0");
    assert!(unused.status == 0 && unused.err.is_empty(), "{}{}", unused.out, unused.err);
    let flows = check(flows, "*f()");
    assert!(flows.status == 1 && flows.err.contains("L0504"), "{}{}", flows.out, flows.err);
    let warned = check("static inline int unused(int x) { int y = 0; return x; }\n", "0");
    assert!(warned.status == 0 && warned.err.is_empty(), "{}{}", warned.out, warned.err);
    let _ = fs::remove_dir_all(&home);
}
