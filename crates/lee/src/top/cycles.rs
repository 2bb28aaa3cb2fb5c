//! Processes that wait for each other in a circle, while others of the program go on.

use super::read::{Answer, Waits};
use std::collections::HashMap;

/// Each circle once, from its first process on.
pub fn find(now: &Answer) -> Vec<Vec<u64>> {
    let awaited: HashMap<u64, u64> =
        now.processes.iter().filter_map(|p| Some((p.id, of(p.waits.as_ref()?)?))).collect();
    // By process: the walk that came there first.
    let mut walked: HashMap<u64, u64> = HashMap::new();
    let mut circles = vec![];
    let mut ids: Vec<u64> = awaited.keys().copied().collect();
    ids.sort_unstable();
    for start in ids {
        let mut at = Some(start);
        while let Some(id) = at.filter(|id| !walked.contains_key(id)) {
            walked.insert(id, start);
            at = awaited.get(&id).copied();
        }
        // It came back to where this walk was.
        let Some(on) = at.filter(|id| walked.get(id) == Some(&start)) else { continue };
        let mut circle = vec![on];
        let mut next = awaited.get(&on);
        while let Some(&id) = next.filter(|&&id| id != on) {
            circle.push(id);
            next = awaited.get(&id);
        }
        // One that waits for itself has several tasks, and the others may go on.
        if circle.len() < 2 {
            continue;
        }
        let first = circle.iter().enumerate().min_by_key(|(_, id)| **id).map_or(0, |(n, _)| n);
        circle.rotate_left(first);
        circles.push(circle);
    }
    circles.sort_unstable();
    circles
}

fn of(waits: &Waits) -> Option<u64> {
    match waits {
        Waits::Message { from, .. } => Some(*from).filter(|from| *from != 0),
        Waits::End(process) => Some(*process).filter(|process| *process != 0),
        Waits::Task | Waits::Queue | Waits::Outside => None,
    }
}

/// `p2 and p3 wait for each other`.
pub fn text(circle: &[u64]) -> String {
    match circle {
        [one, other] => format!("p{one} and p{other} wait for each other"),
        _ => {
            let all = circle.iter().chain(circle.first()).map(|id| format!("p{id}"));
            all.collect::<Vec<_>>().join(", which waits for ").replacen(", which", "", 1)
        }
    }
}
