//! `lee advise`: the command around the advisor.

mod leeward;
mod options;
mod preprocess;
mod verify;

use crate::failure::{Failure, Outcome};
use crate::help;
use crate::report;
use crate::toolchain::Compiler;
use advise::edits::{decode, encode, merged, FileEdits};
use advise::run::{run, Outcome as RunOutcome};
use options::{Format, Parsed};
use preprocess::System;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Runs the command.
pub fn main(words: Vec<OsString>) -> Outcome<i32> {
    let wanted = match options::parse(words)? {
        Parsed::Help => {
            report::output(help::ADVISE)?;
            return Ok(0);
        }
        Parsed::Work(wanted) => *wanted,
    };
    let compiler = Compiler::find(wanted.cc.as_deref())?;
    let system = System::new(&compiler)?;
    let progress = |done: usize, all: usize| tell("read", done, all, "files");
    let (leeward, plain): (Vec<_>, Vec<_>) = wanted.sources.iter().cloned().partition(leeward::is_leeward);
    let mut outcome = match plain.is_empty() {
        true => RunOutcome::default(),
        false => run(&plain, &system, &wanted.options, &progress),
    };
    leeward::add(&mut outcome, &leeward, &wanted.options, plain.len());
    for (source, why) in &outcome.errors {
        report::line(&format!("{}: {why}", source.file.display()));
    }
    if wanted.verify.is_some() || wanted.measure.is_some() {
        let (check, measure) = (wanted.verify.as_deref(), wanted.measure.as_deref());
        let progress = |done: usize, all: usize| tell("tried", done, all, "patches");
        let trial = verify::Trial { check, measure, compiler: &compiler, progress: &progress };
        trial.run(&mut outcome)?;
    }
    match wanted.format {
        Format::Human => report::output(&advise::report::human(&outcome, wanted.explain))?,
        Format::Json => report::output(&advise::report::json(&outcome))?,
        Format::Sarif => {
            report::output(&advise::report::sarif(&outcome, env!("CARGO_PKG_VERSION"), &decoded_or_empty))?
        }
    }
    if let Some(path) = &wanted.patch {
        let mut text = String::new();
        for FileEdits { file, edits } in edits_by_file(&outcome, false) {
            text.push_str(&advise::diff::diff(&file.to_string_lossy(), &decoded(&file)?, &edits));
        }
        if path.as_os_str() == "-" {
            report::output(&text)?;
        } else {
            std::fs::write(path, encode(&text)).map_err(|e| Failure::file("write", path, &e))?;
        }
    }
    if wanted.apply {
        for FileEdits { file, edits } in edits_by_file(&outcome, true) {
            let text = decoded(&file)?;
            let new = advise::edits::applied(&text, &edits).ok_or_else(|| {
                Failure::error(format!("{} has changed meanwhile; nothing was written to it", file.display()))
            })?;
            std::fs::write(&file, encode(&new)).map_err(|e| Failure::file("write", &file, &e))?;
        }
    }
    if !outcome.errors.is_empty() {
        return Ok(1);
    }
    let found = outcome.findings.iter().any(|f| f.is_advice());
    Ok(i32::from(found && wanted.deny))
}

/// Says on a terminal how much of the work is done.
fn tell(verb: &str, done: usize, all: usize, what: &str) {
    if all > 1 && std::io::stderr().is_terminal() {
        let end = if done == all { "\r\x1b[K" } else { "" };
        // Nothing can be done about standard error being closed.
        let _ = write!(std::io::stderr(), "\r{verb} {done} of {all} {what}{end}");
    }
}

/// The edits of each file that has some. `sure`: of proven findings only.
fn edits_by_file(outcome: &RunOutcome, sure: bool) -> Vec<FileEdits> {
    merged(outcome.findings.iter().filter(|f| f.proven || !sure).filter_map(|f| f.patch.as_ref()))
}

fn decoded_or_empty(path: &Path) -> String {
    decoded(path).unwrap_or_default()
}

/// A source file, in whatever encoding it has.
fn decoded(path: &Path) -> Outcome<String> {
    std::fs::read(path).map(|bytes| decode(&bytes)).map_err(|e| Failure::file("read", path, &e))
}

/// A file that the command reads.
fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))
}
