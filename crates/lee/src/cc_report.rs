//! Which `.c` files, and how many of their functions, went through MIR: one line a file in what
//! `LEE_C_REPORT` names.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// A file went through MIR.
pub fn through(file: &Path, functions: usize) {
    line(&format!("mir\t{functions}\t{functions}\t{}\t\n", file.display()));
}

/// A file went to the C compiler.
pub fn fallback(file: &Path, functions: usize, why: &str) {
    let why = why.replace(['\t', '\n'], " ");
    line(&format!("cc\t0\t{functions}\t{}\t{why}\n", file.display()));
}

/// Several compilers may write at the same time: a line is one write to a file that is opened for
/// appending.
fn line(text: &str) {
    let Some(place) = std::env::var_os("LEE_C_REPORT").filter(|p| !p.is_empty()) else { return };
    // A report that cannot be written must not fail a build.
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(place) {
        let _ = file.write_all(text.as_bytes());
    }
}
