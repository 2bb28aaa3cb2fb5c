//! What mutants showed, by operator.

use crate::batches::Report;
use crate::cost::Cost;
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

/// How many of the mutants that cost most are shown.
const DEAREST: usize = 3;

/// Sums, and findings.
pub struct Tally {
    by: Vec<Counts>,
    made: u64,
    accepted: u64,
    faults: u64,
    open: u64,
    pub found: u64,
    pub compiled: u64,
    /// Mutants that took most time, and most memory.
    slow: Vec<(u64, String)>,
    large: Vec<(u64, String)>,
    pub wrong: Vec<String>,
}

impl Default for Tally {
    fn default() -> Tally {
        let by = vec![Counts::default(); OPERATORS.len()];
        Tally {
            by,
            made: 0,
            accepted: 0,
            faults: 0,
            open: 0,
            found: 0,
            compiled: 0,
            slow: vec![],
            large: vec![],
            wrong: vec![],
        }
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

    /// Notes what judging a mutant took.
    pub fn cost(&mut self, cost: Cost, name: impl Fn() -> String) {
        keep(&mut self.slow, cost.milliseconds, &name);
        keep(&mut self.large, cost.bytes >> 20, &name);
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
        for (list, unit) in [(&self.slow, "ms"), (&self.large, "MB")] {
            for (most, name) in list {
                let _ = writeln!(out, "most {unit}: {most}: {name}");
            }
        }
        out
    }
}

/// Keeps the largest few, the largest first.
fn keep(list: &mut Vec<(u64, String)>, value: u64, name: impl Fn() -> String) {
    if list.len() == DEAREST && list.last().is_some_and(|(least, _)| *least >= value) {
        return;
    }
    let at = list.partition_point(|(other, _)| *other >= value);
    list.insert(at, (value, name()));
    list.truncate(DEAREST);
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
        other.slow.into_iter().for_each(|(value, name)| keep(&mut self.slow, value, || name.clone()));
        other.large.into_iter().for_each(|(value, name)| keep(&mut self.large, value, || name.clone()));
        self.wrong.extend(other.wrong);
    }
}
