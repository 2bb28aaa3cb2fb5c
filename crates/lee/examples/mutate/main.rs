//! Mutants of the programs of the repository, under the oracle. Each seed is one mutant: an
//! accepted program with one to four edits. What the compiler accepts must break nothing.
//!
//!     mutate [--from SEED] [--count N] [--jobs N] [--operator NAME] [--keep FOLDER] [FILE...]
//!     mutate --detect ...      finds the deliberate bugs (`LEE_BREAK`) in the same way
//!     mutate --compiled ...    compiles the accepted mutants four ways, and compares with the oracle
//!     mutate --as-is FILE...   tries the programs as they are with each deliberate bug
//!     mutate --print ...       writes the mutants and does nothing else
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../differ/batches.rs"]
mod batches;
#[path = "../own/commands.rs"]
mod commands;
mod compiled;
mod corpus;
mod cost;
mod detect;
mod edit;
mod judge;
mod mutant;
mod operators;
mod prune;
#[path = "../differ/rng.rs"]
#[allow(dead_code)]
mod rng;
mod shrink;
mod sites;
mod tally;

use batches::{Options, Report as _};
use corpus::Corpus;
use detect::Bugs;
use judge::{judge, Accepted, Ran, Verdict};
use mutant::{mutant, Mutant};
use operators::OPERATORS;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Mutex;
use tally::Tally;

/// Findings of one kind that are shrunk and shown; more are counted.
const SHOWN: usize = 4;

fn main() {
    // The threads that work on batches: deep programs, in builds without optimisation.
    std::env::set_var("RUST_MIN_STACK", (256 << 20).to_string());
    let (mut detect, mut compiled, mut print, mut as_is) = (false, false, false, false);
    let (mut only, mut files) = (None, vec![]);
    let mut options =
        Options::read("mutate", 50, "--operator --detect --compiled --as-is --print FILE...", |word, value| {
            match word {
                "--detect" => detect = true,
                "--compiled" => compiled = true,
                "--print" => print = true,
                "--as-is" => as_is = true,
                "--operator" => {
                    let name = value();
                    only = OPERATORS.iter().position(|(known, _)| *known == name);
                    if only.is_none() {
                        let names: Vec<&str> = OPERATORS.iter().map(|(name, _)| *name).collect();
                        eprintln!("mutate: there is no operator '{name}'; there are {}", names.join(", "));
                        exit(2);
                    }
                }
                word if word.starts_with('-') => return false,
                file => files.push(PathBuf::from(file)),
            }
            true
        });
    let files: Vec<PathBuf> = files.iter().map(|file| absolute(file)).collect();
    judge::keep_panics();
    if as_is {
        let session = corpus::session();
        files.iter().for_each(|file| detect::as_is(file, &session));
        return;
    }
    let corpus = Corpus::new(files);
    let lee = compiled.then(|| {
        options.lee.canonicalize().unwrap_or_else(|error| {
            eprintln!("mutate: {}: {error}; name the command by --lee", options.lee.display());
            std::process::exit(2)
        })
    });
    // Programs write nothing, but if one should, then not here.
    let folder = options.folder();
    std::fs::create_dir_all(&folder).expect("a folder");
    let folder = folder.canonicalize().expect("a folder");
    std::env::set_current_dir(&folder).expect("the folder");
    options.keep = options.keep.map(|_| folder.clone());
    let work = Work { corpus, only, lee, bugs: detect.then(Bugs::default), seen: Mutex::default() };
    if print {
        let session = corpus::session();
        for seed in options.from..options.from + options.count {
            if let Some(made) = mutant(&work.corpus, &session, seed, only) {
                println!("// {}\n{}", described(&made, seed), made.program.shown(&made.text));
            }
        }
        let _ = std::fs::remove_dir_all(&folder);
        return;
    }
    let mut total: Tally = options.run(|folder, from, count, _| work.batch(folder, from, count));
    let wrong = std::mem::take(&mut *work.corpus.wrong.lock().expect("the list"));
    wrong.iter().for_each(|line| println!("{line}"));
    total.wrong.extend(wrong);
    print!("{}", total.table());
    let mut missed = 0;
    if let Some(bugs) = &work.bugs {
        print!("{}", bugs.table());
        missed = bugs.missed().saturating_sub(detect::MOST_MISSED);
    }
    if options.keep.is_none() {
        let _ = std::fs::remove_dir_all(&folder);
    }
    let (made, wrong) = total.sums();
    options.verdict(made, wrong.len() + missed)
}

/// The file's place, whatever the folder is; a wrong name ends the program.
fn absolute(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|error| {
        eprintln!("mutate: {}: {error}", file.display());
        exit(2)
    })
}

/// What all batches share.
struct Work {
    corpus: Corpus,
    only: Option<usize>,
    /// The command, if mutants are compiled.
    lee: Option<PathBuf>,
    bugs: Option<Bugs>,
    /// Kinds of findings.
    seen: Mutex<Vec<String>>,
}

fn described(made: &Mutant, seed: u64) -> String {
    let names: HashSet<&str> = made.operators.iter().map(|&n| OPERATORS[n].0).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    format!("seed {seed}: {}: {}", made.program.file.display(), names.join(", "))
}

impl Work {
    fn batch(&self, folder: PathBuf, from: u64, count: u64) -> Tally {
        let session = corpus::session();
        let mut tally = Tally::default();
        for seed in from..from + count {
            let Some(made) = mutant(&self.corpus, &session, seed, self.only) else { continue };
            source::broken::asked();
            let how = made.program.judge();
            let (verdict, cost) = cost::of(seed, || judge(&made.text, &how));
            let asked = source::broken::asked();
            let same = matches!(&verdict, Verdict::Accepted(a) if a.hash == made.program.base.hash);
            tally.note(&made.operators, &verdict, same);
            tally.cost(cost, || described(&made, seed));
            if same {
                continue;
            }
            match (verdict.finding(), &self.bugs) {
                (Some((kind, words)), _) => {
                    tally.found += 1;
                    if let Some(line) = self.finding(&folder, &made, seed, &kind, &words) {
                        tally.wrong.push(line);
                    }
                }
                (None, Some(bugs)) => bugs.try_all(&made, asked, seed),
                _ => {}
            }
            if let (Some(lee), Verdict::Accepted(Accepted { ran: ran @ (Ran::Fine(..) | Ran::Fault(_)), .. })) =
                (&self.lee, &verdict)
            {
                tally.compiled += 1;
                if let Some(why) = compiled::compare(lee, &folder, &made, ran, seed) {
                    let shown = made.program.shown(&made.text);
                    tally.wrong.push(format!("{}: {why}\n{shown}", described(&made, seed)));
                }
            }
        }
        tally
    }

    /// Shrinks a finding and writes it down; nothing if enough of its kind were.
    fn finding(&self, folder: &Path, made: &Mutant, seed: u64, kind: &str, words: &str) -> Option<String> {
        {
            let mut seen = self.seen.lock().expect("the list");
            seen.push(kind.to_string());
            if seen.iter().filter(|known| *known == kind).count() > SHOWN {
                return None;
            }
        }
        let how = made.program.judge();
        let still = |text: &str| judge(text, &how).finding().is_some_and(|(other, _)| other == kind);
        let small = shrink::shrink(&made.text, made.program.own, &still);
        let shown = made.program.shown(&small);
        std::fs::create_dir_all(folder).expect("a folder");
        let file = folder.join(format!("found-{seed}.lee"));
        std::fs::write(&file, &shown).expect("a file");
        Some(format!("{}: {words}\n{shown}", described(made, seed)))
    }
}
