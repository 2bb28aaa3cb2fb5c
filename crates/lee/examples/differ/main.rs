//! Random programs, run as Leeward and as C: both must say the same, and where C's twin, which
//! checks everything by hand, finds an index out of range, a division by zero or a null pointer,
//! Leeward must fault at that line, with the same message and the same output before it. Each seed
//! is one program, and some variants of it in which one index, bound, count, divisor or pointer is
//! pushed out of range.
//!
//!     differ [--from SEED] [--count N] [--variants N] [--batch N] [--jobs N]
//!            [--lee PROGRAM] [--keep FOLDER]
//!
//! The same seed gives the same program. With `--keep` the files of failed batches stay;
//! `--count 1 --batch 1` makes one program alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod batches;
mod data;
mod gen;
mod ints;
mod program;
mod rng;
mod run;
mod shapes;
mod stmts;
mod text;

use batches::{number, Options, Report as _};
use run::{Batch, Report};

fn main() {
    let mut variants = 2;
    let options = Options::read("differ", 25, "--variants", |word, value| {
        let known = word == "--variants";
        if known {
            variants = number(&value()) as u32;
        }
        known
    });
    let total: Report =
        options.run(|folder, from, count, _| Batch { lee: &options.lee, folder, from, count, variants }.run());
    println!(
        "seeds {} to {}: {} programs, {} faults, {} runs compared",
        options.from,
        options.from + options.count - 1,
        total.programs,
        total.faults,
        total.compared
    );
    let (programs, wrong) = total.sums();
    options.verdict(programs, wrong.len())
}
