//! Leeward's own library checked as a user's files: in system headers the compiler reports nothing.
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
