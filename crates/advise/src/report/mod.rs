//! What a run found, for people and for programs.

mod human;
mod json;
mod sarif;

pub use human::human;
pub use json::json;
pub use sarif::sarif;

use crate::finding::Finding;

/// Findings in the order of what they save: in loops first, small ones first.
pub fn ranked(findings: &[Finding]) -> Vec<&Finding> {
    let mut all: Vec<&Finding> = findings.iter().filter(|f| f.is_advice()).collect();
    all.sort_by_key(|f| (!f.in_loop, f.stack, f.unit, f.place.line));
    all
}
