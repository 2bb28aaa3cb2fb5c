//! What mutants showed, by operator.

use crate::batches::Report;
use crate::judge::{Ran, Verdict};
use crate::operators::OPERATORS;
use std::fmt::Write;

/// Counts of one operator.
#[derive(Clone, Copy, Default)]
struct Counts {
    made: u64,
    same: u64,
    typed: u64,
    accepted: u64,
}

/// Sums, and findings.
pub struct Tally {
    by: Vec<Counts>,
    made: u64,
    accepted: u64,
    faults: u64,
    open: u64,
    pub found: u64,
    pub compiled: u64,
    pub wrong: Vec<String>,
}

impl Default for Tally {
    fn default() -> Tally {
        let by = vec![Counts::default(); OPERATORS.len()];
        Tally { by, made: 0, accepted: 0, faults: 0, open: 0, found: 0, compiled: 0, wrong: vec![] }
    }
}

impl Tally {
    /// Counts a mutant. `same`: its MIR is the program's.
    pub fn note(&mut self, operators: &[usize], verdict: &Verdict, same: bool) {
        let typed = !matches!(verdict, Verdict::Wrong);
        let accepted = matches!(verdict, Verdict::Accepted(_)) && !same;
        for &n in operators {
            let counts = &mut self.by[n];
            counts.made += 1;
            counts.same += u64::from(same);
            counts.typed += u64::from(typed && !same);
            counts.accepted += u64::from(accepted);
        }
        self.made += 1;
        self.accepted += u64::from(accepted);
        if let Verdict::Accepted(a) = verdict {
            self.faults += u64::from(accepted && matches!(a.ran, Ran::Fault(_)));
            self.open += u64::from(accepted && a.ran == Ran::Open);
        }
    }

    /// The table for people.
    pub fn table(&self) -> String {
        let mut out = format!("{:<22} {:>7} {:>7} {:>7} {:>8}\n", "operator", "made", "same", "typed", "accepted");
        for ((name, _), counts) in OPERATORS.iter().zip(&self.by).filter(|(_, c)| c.made > 0) {
            let share = 100 * counts.accepted / counts.made.max(1);
            let _ = writeln!(
                out,
                "{name:<22} {:>7} {:>7} {:>7} {:>8} ({share} %)",
                counts.made, counts.same, counts.typed, counts.accepted
            );
        }
        let _ = writeln!(
            out,
            "{} mutants, {} accepted, of which {} end with a fault and {} at a limit; {} findings, {} compiled",
            self.made, self.accepted, self.faults, self.open, self.found, self.compiled
        );
        out
    }
}

impl Report for Tally {
    fn sums(&self) -> (u64, &[String]) {
        (self.made, &self.wrong)
    }

    fn add(&mut self, other: Tally) {
        for (mine, its) in self.by.iter_mut().zip(&other.by) {
            mine.made += its.made;
            mine.same += its.same;
            mine.typed += its.typed;
            mine.accepted += its.accepted;
        }
        self.made += other.made;
        self.accepted += other.accepted;
        self.faults += other.faults;
        self.open += other.open;
        self.found += other.found;
        self.compiled += other.compiled;
        self.wrong.extend(other.wrong);
    }
}
