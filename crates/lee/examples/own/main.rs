//! Random well-typed programs over everything that is owned, lent or has a region, run under
//! AddressSanitizer with arenas and freed cells poisoned. Each seed is one program of half a dozen
//! functions. The compiler must accept all of them; they check the values they use, and at the end
//! how often each object was dropped.
//!
//!     own [--from SEED] [--count N] [--batch N] [--jobs N] [--lee PROGRAM]
//!         [--keep FOLDER] [--print]
//!     own --interpret ...      the same programs under the oracle (`lee run --interpret`) alone
//!     own --mutate [--from SEED] [--count N] [--mutants N] ...
//!
//! `--print` writes the programs of the seeds as one file and does nothing else. `--mutate` breaks
//! accepted programs: each mutant must be rejected, or do no harm under the sanitizers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../differ/batches.rs"]
mod batches;
mod body;
mod commands;
mod control;
mod cursors;
mod families;
mod joins;
mod lending;
mod messages;
mod model;
mod mutate;
mod pointers;
mod program;
mod regions;
#[path = "../differ/rng.rs"]
mod rng;
mod run;
mod slots;
mod stores;
mod sure;
mod tasks;
mod types;
mod unions;
mod unique;

use batches::{number, Options, Report as _};
use run::{Batch, Report};
use std::fs;

fn main() {
    let (mut print, mut mutate, mut interpret, mut mutants) = (false, false, false, 19);
    let options = Options::read("own", 20, "--print --interpret --mutate --mutants", |word, value| {
        match word {
            "--print" => print = true,
            "--interpret" => interpret = true,
            "--mutate" => mutate = true,
            "--mutants" => mutants = number(&value()).max(1),
            _ => return false,
        }
        true
    });
    if print {
        let programs: Vec<_> = (options.from..options.from + options.count).map(program::program).collect();
        print!("{}", run::file_of(&programs));
        return;
    }
    if mutate {
        let folder = options.folder();
        let (wrong, made, table) = mutate::mutate(&options.lee, &folder, options.from, options.count, mutants);
        for line in &wrong {
            println!("{line}");
        }
        print!("{table}");
        if wrong.is_empty() && options.keep.is_none() {
            let _ = fs::remove_dir_all(&folder);
        }
        options.verdict(made, wrong.len());
    }
    let total: Report = options
        .run(|folder, from, count, number| Batch { lee: &options.lee, folder, from, count, number, interpret }.run());
    println!(
        "seeds {} to {}: {} programs, {} functions, {} lines, {} rejected, {} unknown to the oracle, {} runs",
        options.from,
        options.from + options.count - 1,
        total.programs,
        total.functions,
        total.lines,
        total.rejected,
        total.unknown,
        total.runs
    );
    let (programs, wrong) = total.sums();
    options.verdict(programs, wrong.len())
}
