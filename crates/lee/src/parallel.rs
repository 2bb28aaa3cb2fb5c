//! Work on several files at once.

use crate::failure::{Failure, Outcome};
use crate::report;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Stack of a thread that compiles: the compiler recurses over syntax trees, whose depth the parser
/// limits to what this holds.
pub const STACK: usize = 256 << 20;

/// Does `work` for each item, as many at once as there are processors. What an item's work prints
/// comes in one piece, in the order of the items, and so do the results.
pub fn each<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> Outcome<T> + Sync) -> Vec<Outcome<T>> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    if workers < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let (done, results) = mpsc::channel();
    let mut all: Vec<Option<(Vec<report::Said>, Outcome<T>)>> = items.iter().map(|_| None).collect();
    let mut outcomes = vec![];
    thread::scope(|scope| {
        for _ in 0..workers {
            let (done, next, work) = (done.clone(), &next, &work);
            let worker = move || loop {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(n) else { return };
                let result = report::captured(|| work(item));
                if done.send((n, result)).is_err() {
                    return;
                }
            };
            // With fewer threads it takes longer.
            if thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        drop(done);
        for (n, result) in results {
            if let Some(slot) = all.get_mut(n) {
                *slot = Some(result);
            }
            while let Some((said, outcome)) = all.get_mut(outcomes.len()).and_then(Option::take) {
                let printed = report::repeat(said);
                outcomes.push(printed.and(outcome));
            }
        }
    });
    if outcomes.len() < items.len() {
        outcomes.push(Err(Failure::error("cannot start a thread to compile in")));
    }
    outcomes
}
