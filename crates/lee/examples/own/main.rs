//! Random well-typed programs over everything that is owned, lent or has a region, run under AddressSanitizer with arenas and
//! freed cells poisoned. Each seed is one program of half a dozen functions. The compiler must accept all of them; they check the values they
//! use, and at the end how often each object was dropped.
//!
//!     own [--from SEED] [--count N] [--batch N] [--jobs N] [--lee PROGRAM] [--keep FOLDER] [--print]
//!     own --mutate [--from SEED] [--count N] [--mutants N] ...
//!
//! `--print` writes the programs of the seeds as one file and does nothing else. `--mutate` breaks accepted programs: each mutant must be
//! rejected, or do no harm under the sanitizers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod body;
mod control;
mod joins;
mod lending;
mod model;
mod mutate;
mod program;
mod regions;
#[path = "../differ/rng.rs"]
mod rng;
mod run;
mod slots;
mod types;
mod unique;

use run::{Batch, Report};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::{env, fs};

struct Options {
    from: u64,
    count: u64,
    batch: u64,
    jobs: usize,
    lee: PathBuf,
    keep: Option<PathBuf>,
    print: bool,
    mutate: bool,
    mutants: u64,
}

fn main() {
    let options = options();
    if options.print {
        let programs: Vec<_> = (options.from..options.from + options.count).map(program::program).collect();
        print!("{}", run::file_of(&programs));
        return;
    }
    if options.mutate {
        let folder =
            options.keep.clone().unwrap_or_else(|| env::temp_dir().join(format!("lee-own-{}", std::process::id())));
        let (wrong, made, table) = mutate::mutate(&options.lee, &folder, options.from, options.count, options.mutants);
        for line in &wrong {
            println!("{line}");
        }
        print!("{table}");
        println!("{} passed, {} failed", made - wrong.len() as u64, wrong.len());
        if wrong.is_empty() && options.keep.is_none() {
            let _ = fs::remove_dir_all(&folder);
        }
        exit(i32::from(!wrong.is_empty()));
    }
    let next = AtomicU64::new(0);
    let total = Mutex::new(Report::default());
    let batches = options.count.div_ceil(options.batch);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= batches {
                    return;
                }
                one(&options, number, &total);
            });
        }
    });
    let total = total.into_inner().expect("the report");
    println!(
        "seeds {} to {}: {} programs, {} functions, {} lines, {} rejected, {} runs of batches",
        options.from,
        options.from + options.count - 1,
        total.programs,
        total.functions,
        total.lines,
        total.rejected,
        total.runs
    );
    println!("{} passed, {} failed", total.programs.saturating_sub(total.wrong.len() as u64), total.wrong.len());
    exit(i32::from(!total.wrong.is_empty()));
}

fn one(options: &Options, number: u64, total: &Mutex<Report>) {
    let from = options.from + number * options.batch;
    let count = options.batch.min(options.from + options.count - from);
    let root = options.keep.clone().unwrap_or_else(|| env::temp_dir().join(format!("lee-own-{}", std::process::id())));
    let folder = root.join(from.to_string());
    let report = Batch { lee: &options.lee, folder: folder.clone(), from, count, number }.run();
    for line in &report.wrong {
        println!("{line}");
    }
    if options.keep.is_none() || report.wrong.is_empty() {
        let _ = fs::remove_dir_all(&folder);
        let _ = fs::remove_dir(&root);
    }
    let mut total = total.lock().expect("the report");
    total.programs += report.programs;
    total.functions += report.functions;
    total.lines += report.lines;
    total.rejected += report.rejected;
    total.runs += report.runs;
    total.wrong.extend(report.wrong);
    if total.programs % 500 < options.batch && total.programs < options.count {
        println!("{} programs, {} wrong", total.programs, total.wrong.len());
    }
}

fn options() -> Options {
    let beside = env::current_exe().ok().and_then(|p| Some(p.parent()?.parent()?.join("lee")));
    let named = env::var_os("LEE").map(PathBuf::from).or(beside);
    let mut options = Options {
        from: 1,
        count: 200,
        batch: 20,
        jobs: 2,
        lee: named.unwrap_or_else(|| Path::new("lee").into()),
        keep: None,
        print: false,
        mutate: false,
        mutants: 19,
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| usage(&word));
        match word.as_str() {
            "--from" => options.from = number(&value()),
            "--count" => options.count = number(&value()).max(1),
            "--batch" => options.batch = number(&value()).max(1),
            "--jobs" => options.jobs = number(&value()).max(1) as usize,
            "--lee" => options.lee = value().into(),
            "--keep" => options.keep = Some(value().into()),
            "--print" => options.print = true,
            "--mutate" => options.mutate = true,
            "--mutants" => options.mutants = number(&value()).max(1),
            _ => usage(&word),
        }
    }
    options
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| usage(text))
}

fn usage(word: &str) -> ! {
    eprintln!("own: '{word}' is not understood; options: --from --count --batch --jobs --lee --keep --print --mutate --mutants");
    exit(2)
}
