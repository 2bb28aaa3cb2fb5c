//! Deliberate bugs, one rule switched off at a time: `./dev mutate --detect` shows that its mutants
//! and the oracle find each of them.
//!
//! Only builds with debug assertions have them; elsewhere `broken!` is `false`. One is switched on
//! by `LEE_BREAK=N`, or for the calling thread by [`set`].

use std::cell::Cell;

/// What each bug switches off. Number N is the Nth, from 1.
pub const BUGS: &[&str] = &[
    "ownership: a use after a move",
    "ownership: what is given up is whole",
    "ownership: what is lent to a function is neither moved nor freed",
    "ownership: what is lent to a function is not assigned",
    "ownership: what is overwritten owns nothing",
    "ownership: what is left owns nothing",
    "ownership: nothing is moved out of a slot",
    "ownership: nothing in a slot is freed, opened or lent",
    "ownership: what a slot holds is looked at for one access",
    "ownership: owners are not copied",
    "ownership: an exchange with a part of itself",
    "loans: what is lent is not freed",
    "loans: what is lent is not moved",
    "loans: what is lent is not assigned",
    "loans: what is lent is not exchanged or opened",
    "loans: what a cursor is on is not used",
    "loans: what is lent exclusively is lent once",
    "loans: slots under views do not change",
    "loans: a local's storage ends after its last pointer",
    "loans: what lies in a slot is not used after its cursor",
    "loans: a loan is followed through memory",
    "loans: what a test tells of lent memory is forgotten",
    "loans: those of cursors last to the end of their block",
    "regions: what is kept outlives its keeper",
    "regions: what must lie in one region does",
    "regions: what arrives in a variable is in its scope",
    "regions: one region is hidden as one",
    "regions: a key is made once",
    "regions: only live regions are used",
    "loans: what an exclusive argument is lent is lent to nothing else in the call",
    "null facts: `nonnull` is proven",
    "null facts: what was lent is forgotten at calls",
    "null facts: a conversion that loses bits is no test",
    "initialisation: variables are assigned before they are read",
    "ranges: both sides of a join count",
    "ranges: less is not one less than that",
    "ranges: what is written to memory is forgotten",
    "stack: what goes elsewhere stays in the heap",
    "stack: memory that is used again owns nothing",
    "typestate: an end is in the state that is wanted",
    "loans: no other task runs while a cursor is on a slot",
    "layouts: the collector reads each pointer of an object",
];

thread_local! {
    static ON: Cell<u32> = Cell::new(from_environment());
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn from_environment() -> u32 {
    std::env::var("LEE_BREAK").ok().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Switches bug `n` on for this thread, and all others off; 0: none.
pub fn set(n: u32) {
    ON.set(n);
}

/// The bugs that would have changed something since the last call on this thread: bit N for number
/// N.
pub fn asked() -> u64 {
    ASKED.take()
}

/// Whether bug `n` is on; asked where it makes a difference.
pub fn is_on(n: u32) -> bool {
    ASKED.set(ASKED.get() | 1 << n);
    ON.get() == n
}

/// Whether the deliberate bug of this number is on. Stands where the rule that it switches off
/// strikes.
#[macro_export]
macro_rules! broken {
    ($n:expr) => {
        cfg!(debug_assertions) && $crate::broken::is_on($n)
    };
}
