//! What judging a mutant costs: processor time and memory of the thread that does it. An analysis
//! that takes exponentially long on some mutant shows here before it stops a run.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// More than this for one mutant ends the run, with the seed: the machine would soon stop it
/// without.
const MOST_BYTES: isize = 3 << 30;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts for each thread what it has.
pub struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all requests go to the system's allocator as they came, or fail.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match grows(layout.size()) {
            true => System.alloc(layout),
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match grows(layout.size()) {
            true => System.alloc_zeroed(layout),
            false => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        System.dealloc(block, layout);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.set(LIVE.get() - layout.size() as isize);
        match grows(size) {
            true => System.realloc(block, layout, size),
            false => std::ptr::null_mut(),
        }
    }
}

/// Counts bytes that are asked for; whether they may be had.
fn grows(bytes: usize) -> bool {
    let live = LIVE.get() + bytes as isize;
    LIVE.set(live);
    if live > PEAK.get() {
        PEAK.set(live);
    }
    if live > MOST_BYTES && SEED.get() != 0 {
        let seed = SEED.replace(0);
        eprintln!("mutate: seed {seed} takes more than {} MB", MOST_BYTES >> 20);
        return false;
    }
    true
}

/// What one mutant took.
#[derive(Clone, Copy)]
pub struct Cost {
    pub milliseconds: u64,
    pub bytes: u64,
}

/// Runs `work` for a seed, and says what it took.
pub fn of<T>(seed: u64, work: impl FnOnce() -> T) -> (T, Cost) {
    let (before, begun) = (LIVE.get(), thread_time());
    PEAK.set(before);
    SEED.set(seed);
    let made = work();
    SEED.set(0);
    let bytes = (PEAK.get() - before).max(0) as u64;
    (made, Cost { milliseconds: thread_time().saturating_sub(begun), bytes })
}

/// Milliseconds of the processor's that this thread has used.
fn thread_time() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills a struct of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
