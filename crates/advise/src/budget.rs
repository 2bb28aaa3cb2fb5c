//! Stack that patches add, per function and per chain of calls.

use crate::finding::{Finding, Verdict};
use crate::recursion::Edges;
use rustc_hash::FxHashMap;

/// Declines the findings that would make a chain of calls take more than `budget` bytes more. Those
/// that save most come first: in loops, then small ones. One patch changes all calls of a helper, so
/// they are declined together. Calls through pointers are not seen.
pub fn keep_within(findings: &mut [Finding], edges: &Edges, budget: u64) {
    let mut added: FxHashMap<String, u64> = FxHashMap::default();
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|&n| findings.get(n).map(|f| (!f.in_loop, f.stack, n)));
    for n in order {
        let on_stack = |f: &&mut Finding| matches!(f.verdict, Verdict::Stack | Verdict::Hybrid | Verdict::Caller);
        let Some(finding) = findings.get_mut(n).filter(on_stack) else { continue };
        let internal = format!("{}:{}", finding.unit, finding.function);
        let key = if edges.calls.contains_key(&internal) { internal } else { finding.function.clone() };
        *added.entry(key.clone()).or_default() += finding.stack;
        let deepest = heaviest(edges, &added, budget);
        if deepest > budget {
            if let Some(slot) = added.get_mut(&key) {
                *slot -= finding.stack;
            }
            let helper = (finding.verdict == Verdict::Caller).then(|| finding.allocator.clone());
            let why = format!("a chain of calls would take {deepest} bytes of stack more; --stack-budget is {budget}");
            let same = |f: &Finding| f.verdict == Verdict::Caller && Some(&f.allocator) == helper.as_ref();
            for (_, finding) in findings.iter_mut().enumerate().filter(|(m, f)| *m == n || same(f)) {
                finding.verdict = Verdict::Declined;
                finding.patch = None;
                finding.no_patch = None;
                finding.reason.clone_from(&why);
            }
        }
    }
}

/// The most bytes that any chain of calls takes. Functions on a cycle have nothing added, so each
/// counts once.
fn heaviest(edges: &Edges, added: &FxHashMap<String, u64>, budget: u64) -> u64 {
    let all: u64 = added.values().sum();
    if all <= budget {
        return all;
    }
    let mut known: FxHashMap<&str, u64> = FxHashMap::default();
    let mut most = 0;
    for root in added.keys() {
        // Depth first, with each function's own result when its callees have theirs.
        let mut work: Vec<(&str, bool)> = vec![(root, false)];
        while let Some((name, done)) = work.pop() {
            let callees = edges.calls.get(name).into_iter().flatten();
            if done {
                let below = callees.filter_map(|c| known.get(c.as_str())).max().copied().unwrap_or(0);
                let own = added.get(name).copied().unwrap_or(0);
                known.insert(name, own + below);
                most = most.max(own + below);
            } else if !known.contains_key(name) {
                known.insert(name, 0);
                work.push((name, true));
                work.extend(callees.filter(|c| !known.contains_key(c.as_str())).map(|c| (c.as_str(), false)));
            }
        }
    }
    most
}
