//! The detection rate: each deliberate bug of `source::broken` is to be found by some mutant.

use crate::corpus::preprocessed;
use crate::judge::{judge, Judge, Verdict};
use crate::mutant::Mutant;
use driver::pipeline::Settings;
use driver::session::Session;
use source::broken::{self, BUGS};
use source::Sink;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tries a program as it is with each bug that makes a difference to it, for people who look for
/// what the oracle sees: what becomes of it, by bug.
pub fn as_is(file: &Path, session: &Session) {
    let mut sink = Sink::default();
    let Some((text, own, settings)) = preprocessed(file, session, &mut sink) else {
        println!("{}: cannot be read", file.display());
        return;
    };
    let settings = Settings { verify: false, ..settings };
    let how = Judge { settings: &settings, own, input: &[], arguments: &[], steps: 1_000_000, transformed: true };
    broken::asked();
    println!("{}: {:?}", file.display(), judge(&text, &how));
    let asked = broken::asked();
    for n in (1..=BUGS.len()).filter(|n| asked >> n & 1 != 0) {
        broken::set(n as u32);
        let verdict = judge(&text, &how);
        broken::set(0);
        println!("{n:>3} {}: {verdict:?}", BUGS[n - 1]);
    }
}

/// How many bugs may be missed.
pub const MOST_MISSED: usize = 4;
/// How many mutants are to find each bug; then it is tried no more.
const ENOUGH: u64 = 3;

/// What was tried and found for each bug.
pub struct Bugs {
    tried: Vec<AtomicU64>,
    found: Vec<AtomicU64>,
}

impl Default for Bugs {
    fn default() -> Bugs {
        let zeros = || BUGS.iter().map(|_| AtomicU64::new(0)).collect();
        Bugs { tried: zeros(), found: zeros() }
    }
}

impl Bugs {
    /// Judges a mutant with each bug that makes a difference to it (`asked`, bit N for bug N). The
    /// first mutant that finds one is written to the folder of the run.
    pub fn try_all(&self, made: &Mutant, asked: u64, seed: u64) {
        // The verifier is another analysis of the same rules: it must not help.
        let settings = Settings { verify: false, ..made.program.settings.clone() };
        for n in 1..=BUGS.len() {
            let enough = self.found[n - 1].load(Ordering::Relaxed) >= ENOUGH;
            if enough || asked >> n & 1 == 0 {
                continue;
            }
            let transformed = BUGS[n - 1].starts_with("ranges") || BUGS[n - 1].starts_with("stack");
            let how = Judge { settings: &settings, transformed, ..made.program.judge() };
            broken::set(n as u32);
            let verdict = judge(&made.text, &how);
            broken::set(0);
            self.tried[n - 1].fetch_add(1, Ordering::Relaxed);
            // What a bug changed and no mutant shows is worth a look.
            let quiet =
                self.tried[n - 1].load(Ordering::Relaxed) <= 3 && self.found[n - 1].load(Ordering::Relaxed) == 0;
            if quiet && matches!(verdict, Verdict::Accepted(_)) && verdict.finding().is_none() {
                let text = format!("// {verdict:?}\n{}", made.program.shown(&made.text));
                let _ = std::fs::write(format!("quiet-{n}-{seed}.lee"), text);
            }
            if let Some((_, words)) = verdict.finding().filter(|_| matches!(verdict, Verdict::Accepted(_))) {
                if self.found[n - 1].fetch_add(1, Ordering::Relaxed) == 0 {
                    let text = format!("// {words}\n{}", made.program.shown(&made.text));
                    let _ = std::fs::write(format!("bug-{n}-{seed}.lee"), text);
                }
            }
        }
        broken::asked();
    }

    /// How many bugs no mutant found.
    pub fn missed(&self) -> usize {
        self.found.iter().filter(|n| n.load(Ordering::Relaxed) == 0).count()
    }

    /// The table for people.
    pub fn table(&self) -> String {
        let mut out = format!("{:>3} {:>6} {:>6}  what is switched off\n", "bug", "tried", "found");
        for (n, what) in BUGS.iter().enumerate() {
            let (tried, found) = (self.tried[n].load(Ordering::Relaxed), self.found[n].load(Ordering::Relaxed));
            let enough = if found >= ENOUGH { "+" } else { "" };
            let _ = writeln!(out, "{:>3} {tried:>6} {found:>5}{enough:<1}  {what}", n + 1);
        }
        let _ = writeln!(out, "{} of {} bugs are found", BUGS.len() - self.missed(), BUGS.len());
        out
    }
}
