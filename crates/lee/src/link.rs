//! Linking, with the runtime after everything else.

use crate::failure::{reason, Failure, Outcome};
use crate::session::Session;
use crate::{first_only, layouts, mismatch, report, runtime, shared, taken};
use std::ffi::OsString;
use std::path::PathBuf;

/// The words that end each linker command: the runtime and what it needs. An archive gives only
/// what is asked for, so C programs are not changed by it.
pub fn runtime_words(session: &Session, variant: &[String]) -> Outcome<Vec<OsString>> {
    let library = runtime::library(&session.home, &session.compiler, variant)?;
    Ok(["-Wl,-z,now", "-x", "none"]
        .iter()
        .map(OsString::from)
        .chain([library.into(), "-lm".into(), "-lpthread".into()])
        .collect())
}

/// A temporary object and the source that it was made from.
pub type Made = (PathBuf, PathBuf);

/// Runs the compiler as a linker with `words`. Where the markers of types
/// (crates/emit_c/src/link.rs) find no counterpart, it says which files disagree about what.
pub fn link(session: &Session, words: &[OsString], made: &[Made]) -> Outcome<()> {
    let differences = layouts::differences(session, words);
    if !differences.is_empty() {
        report::note(&differences);
        return Err(Failure::reported());
    }
    let names = taken::names(session, words, made);
    if !names.is_empty() {
        report::note(&names);
        return Err(Failure::reported());
    }
    let guarded = first_only::guard(session, words, made)?;
    let (words, made) = (&guarded.words[..], &guarded.made[..]);
    let run = |more: &[&str]| {
        let mut command = session.compiler.command();
        let run = command.args(words).args(more).env("LC_ALL", "C").output();
        run.map_err(|e| Failure::error(format!("cannot run '{}': {}", session.compiler.name(), reason(&e))))
    };
    let mut out = run(&[])?;
    // Atomic objects of 16 bytes need a library of the compiler's, which no other program has to
    // have.
    let atomics = |said: &[u8]| String::from_utf8_lossy(said).contains("__atomic_");
    if !out.status.success() && atomics(&out.stderr) {
        out = run(&["-latomic"])?;
        if !out.status.success() && String::from_utf8_lossy(&out.stderr).contains("latomic") {
            let help = "install libatomic (Debian: libatomic1 and gcc), or use atomic types of at most 8 bytes";
            return Err(Failure::error(format!("an atomic type here needs libatomic, which was not found: {help}")));
        }
    }
    report::output(&String::from_utf8_lossy(&out.stdout))?;
    let said = String::from_utf8_lossy(&out.stderr);
    if out.status.success() {
        report::note(&said);
        report::note(&shared::warning(session, &guarded.shared));
        return Ok(());
    }
    let explained = mismatch::explain(&said, words, made);
    report::note(&explained);
    Err(Failure::reported())
}
