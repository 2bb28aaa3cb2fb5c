//! Random programs, run as Leeward and as C: both must say the same, and where C's twin, which checks everything by hand,
//! finds an index out of range, a division by zero or a null pointer, Leeward must fault at that line, with the same
//! message and the same output before it. Each seed is one program, and some variants of it in which one index, bound,
//! count, divisor or pointer is pushed out of range.
//!
//!     differ [--from SEED] [--count N] [--variants N] [--batch N] [--jobs N] [--lee PROGRAM] [--keep FOLDER]
//!
//! The same seed gives the same program. With `--keep` the files of batches that went wrong stay; `--count 1 --batch 1`
//! makes one program alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod data;
mod gen;
mod ints;
mod program;
mod rng;
mod run;
mod shapes;
mod stmts;
mod text;

use run::{Batch, Report};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::{env, fs};

struct Options {
    from: u64,
    count: u64,
    variants: u32,
    batch: u64,
    jobs: usize,
    lee: PathBuf,
    keep: Option<PathBuf>,
}

fn main() {
    let options = options();
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
        "seeds {} to {}: {} programs, {} faults, {} runs compared",
        options.from,
        options.from + options.count - 1,
        total.programs,
        total.faults,
        total.compared
    );
    println!("{} passed, {} failed", total.programs.saturating_sub(total.wrong.len() as u64), total.wrong.len());
    exit(i32::from(!total.wrong.is_empty()));
}

fn one(options: &Options, number: u64, total: &Mutex<Report>) {
    let from = options.from + number * options.batch;
    let count = options.batch.min(options.from + options.count - from);
    let root =
        options.keep.clone().unwrap_or_else(|| env::temp_dir().join(format!("lee-differ-{}", std::process::id())));
    let folder = root.join(from.to_string());
    let batch = Batch { lee: &options.lee, folder: folder.clone(), from, count, variants: options.variants };
    let report = batch.run();
    for line in &report.wrong {
        println!("{line}");
    }
    if options.keep.is_none() || report.wrong.is_empty() {
        let _ = fs::remove_dir_all(&folder);
        let _ = fs::remove_dir(&root);
    }
    let mut total = total.lock().expect("the report");
    total.programs += report.programs;
    total.faults += report.faults;
    total.compared += report.compared;
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
        variants: 2,
        batch: 25,
        jobs: 2,
        lee: named.unwrap_or_else(|| Path::new("lee").into()),
        keep: None,
    };
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| usage(&word));
        match word.as_str() {
            "--from" => options.from = number(&value()),
            "--count" => options.count = number(&value()).max(1),
            "--variants" => options.variants = number(&value()) as u32,
            "--batch" => options.batch = number(&value()).max(1),
            "--jobs" => options.jobs = number(&value()).max(1) as usize,
            "--lee" => options.lee = value().into(),
            "--keep" => options.keep = Some(value().into()),
            _ => usage(&word),
        }
    }
    options
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| usage(text))
}

fn usage(word: &str) -> ! {
    eprintln!("differ: '{word}' is not understood; options: --from --count --variants --batch --jobs --lee --keep");
    exit(2)
}
