//! What a run found, for people and for programs.

mod human;
mod json;
mod sarif;

pub use human::human;
pub use json::json;
pub use sarif::sarif;

use crate::finding::Finding;
use std::cmp::Reverse;

/// Findings in the order of what they save: what was measured first, by calls of the allocator and
/// then by instructions; the others by what is to be expected, in loops first, small ones first.
pub fn ranked(findings: &[Finding]) -> Vec<&Finding> {
    let mut all: Vec<&Finding> = findings.iter().filter(|f| f.is_advice()).collect();
    let measured = |f: &Finding| f.saved.map(|s| (s.calls(), s.instructions()));
    all.sort_by_key(|f| (Reverse(measured(f)), !f.in_loop, f.stack, f.unit, f.place.line));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Cost, Place, Saved, Verdict};

    fn finding(line: u32, in_loop: bool, saved: Option<(u64, Option<u64>)>) -> Finding {
        let before = Cost { calls: 100, instructions: Some(1000) };
        let after = |(calls, instructions)| Cost { calls, instructions };
        Finding {
            unit: 0,
            place: Place { line, ..Place::default() },
            function: "f".into(),
            allocator: "malloc".into(),
            variable: None,
            verdict: Verdict::Stack,
            proven: true,
            size: "8".into(),
            bytes: (Some(8), Some(8)),
            reason: String::new(),
            notes: vec![],
            in_loop,
            stack: 8,
            patch: None,
            no_patch: None,
            saved: saved.map(|s| Saved { before, after: after(s) }),
        }
    }

    #[test]
    fn what_saves_most_comes_first() {
        let all = [
            finding(1, false, None),
            finding(2, true, None),
            finding(3, true, Some((99, Some(900)))),
            finding(4, false, Some((10, None))),
            finding(5, false, Some((99, Some(1200)))),
            finding(6, false, Some((101, None))),
        ];
        let order: Vec<u32> = ranked(&all).iter().map(|f| f.place.line).collect();
        assert_eq!(order, [4, 3, 5, 6, 2, 1]);
        let said: Vec<String> = all.iter().filter_map(|f| f.saved).map(|s| s.text()).collect();
        let calls = "of 100 calls of the allocator";
        let wanted = [
            format!("saves 1 {calls}, 100 of 1000 instructions"),
            format!("saves 90 {calls}"),
            format!("saves 1 {calls}, -200 of 1000 instructions"),
            format!("saves -1 {calls}"),
        ];
        assert_eq!(said, wanted);
    }
}
