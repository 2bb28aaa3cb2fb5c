//! Accepted mutants compiled, under the sanitizers and optimised, by both compilers: each does what
//! the oracle said.

use crate::commands::{build_sanitized, head, run, run_sanitized, Outcome};
use crate::judge::{printed, Ran};
use crate::mutant::Mutant;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A program that the oracle has run to its end takes no longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Compiles and runs a mutant in each way; what goes wrong first.
pub fn compare(lee: &Path, folder: &Path, made: &Mutant, ran: &Ran, seed: u64) -> Option<String> {
    if !made.program.input.is_empty() || made.program.arguments.len() > 1 {
        return None;
    }
    // A header of its own is found beside its file only.
    if made.program.includes.contains('"') {
        return None;
    }
    let bills = made.text.contains("custodian_use(");
    let (file, program) = (folder.join(format!("mutant-{seed}.lee")), folder.join(format!("mutant-{seed}")));
    fs::create_dir_all(folder).ok()?;
    fs::write(&file, made.program.shown(&made.text)).ok()?;
    for cc in ["clang-19", "gcc"] {
        for release in [false, true] {
            let built = match release {
                false => build_sanitized(lee, cc, &file, &program, false),
                true => {
                    let words = ["build", "-w", "--release", "--cc", cc, "-o"];
                    run(Command::new(lee).args(words).arg(&program).arg(&file))
                }
            };
            let way = format!("{cc}{}", if release { " --release" } else { ", sanitized" });
            if !built.is_fine() {
                return Some(format!("{way}: does not compile: {}: {}", built.status, head(&built.errors)));
            }
            if let Some(why) = differs(ran, &run_sanitized(&program, 0, false, true, PATIENCE), bills) {
                return Some(format!("{way}: {why}"));
            }
        }
    }
    let _ = fs::remove_file(&file);
    let _ = fs::remove_file(&program);
    None
}

/// How a run differs from the oracle's. `bills`: the program asks what custodians are charged, which the
/// oracle counts in another way.
fn differs(ran: &Ran, outcome: &Outcome, bills: bool) -> Option<String> {
    let sanitized = ["ERROR: AddressSanitizer", "runtime error:"].iter().any(|w| outcome.errors.contains(w));
    // UBSan reports what Leeward leaves to the trap in page zero, and the program ends.
    let mut errors = outcome.errors.lines().filter(|line| line.contains("runtime error:"));
    let is_trap = matches!(ran, Ran::Fault(_)) && !outcome.errors.contains("ERROR: AddressSanitizer");
    if is_trap && sanitized && errors.all(|line| line.contains("null pointer")) {
        return None;
    }
    let said = || format!("it ends with {}: {}", outcome.status, head(&outcome.errors));
    match ran {
        _ if sanitized => Some(said()),
        // `abort` ends the program by a signal.
        Ran::Fine(134, _) if outcome.status.contains("SIGABRT") => None,
        Ran::Fine(status, _) if outcome.status != (status & 0xff).to_string() => Some(said()),
        Ran::Fine(_, out) if !bills && printed(outcome.output.as_bytes()) != printed(out) => {
            Some("it prints something else".into())
        }
        Ran::Fault(message) if !outcome.errors.contains("fault") => Some(format!("no fault `{message}`: {}", said())),
        _ => None,
    }
}
