//! Linking, with the runtime behind everything else.

use crate::failure::{Failure, Outcome};
use crate::runtime;
use crate::session::Session;
use std::ffi::OsString;
use std::path::Path;

/// The words that end each linker command: the runtime and what it needs. An archive gives only what is asked for, so C
/// programs are not changed by it.
pub fn runtime_words(session: &Session, variant: &[String]) -> Outcome<Vec<OsString>> {
    let library = runtime::library(&session.home, &session.compiler, variant)?;
    Ok(vec!["-x".into(), "none".into(), library.into(), "-lm".into(), "-lpthread".into()])
}

/// Runs the compiler as a linker with `words`, explaining what it says.
pub fn link(session: &Session, words: &[OsString]) -> Outcome<()> {
    let mut command = session.compiler.command();
    let out =
        command.args(words).output().map_err(|e| Failure::file("run", Path::new(&session.compiler.name()), &e))?;
    report_raw(&out.stdout, &out.stderr);
    if out.status.success() {
        Ok(())
    } else {
        Err(Failure::reported())
    }
}

fn report_raw(stdout: &[u8], stderr: &[u8]) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(stdout);
    let _ = std::io::stderr().write_all(stderr);
}
