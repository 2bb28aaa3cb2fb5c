//! What both generators of programs share: options, and batches of seeds that some threads work on.

use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::{env, fs};

/// Options that every generator has.
pub struct Options {
    /// The generator's name.
    pub name: &'static str,
    /// First seed.
    pub from: u64,
    /// Seeds.
    pub count: u64,
    /// Seeds of one batch.
    pub batch: u64,
    /// Threads.
    pub jobs: usize,
    /// The command under test.
    pub lee: PathBuf,
    /// Where the files of batches that went wrong stay.
    pub keep: Option<PathBuf>,
}

/// What batches showed.
pub trait Report: Default + Send {
    /// Programs, and what went wrong.
    fn sums(&self) -> (u64, &[String]);
    /// Adds another one.
    fn add(&mut self, other: Self);
}

impl Options {
    /// Reads the command line. What is not understood here goes to `other`, which takes the
    /// option's value if it has one, and says whether it knows the word; `words` names those
    /// options.
    pub fn read(
        name: &'static str,
        batch: u64,
        words: &str,
        mut other: impl FnMut(&str, &mut dyn FnMut() -> String) -> bool,
    ) -> Options {
        let beside = env::current_exe().ok().and_then(|p| Some(p.parent()?.parent()?.join("lee")));
        let named = env::var_os("LEE").map(PathBuf::from).or(beside);
        let lee = named.unwrap_or_else(|| Path::new("lee").into());
        let mut options = Options { name, from: 1, count: 200, batch, jobs: 2, lee, keep: None };
        let usage = |word: &str| -> ! {
            eprintln!(
                "{name}: '{word}' is not understood; options: --from --count --batch --jobs --lee --keep {words}"
            );
            exit(2)
        };
        let mut arguments = env::args().skip(1);
        while let Some(word) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| usage(&word));
            match word.as_str() {
                "--from" => options.from = number(&value()),
                "--count" => options.count = number(&value()).max(1),
                "--batch" => options.batch = number(&value()).max(1),
                "--jobs" => options.jobs = number(&value()).max(1) as usize,
                "--lee" => options.lee = value().into(),
                "--keep" => options.keep = Some(value().into()),
                _ if other(&word, &mut value) => {}
                _ => usage(&word),
            }
        }
        options
    }

    /// The folder for files.
    pub fn folder(&self) -> PathBuf {
        let name = format!("lee-{}-{}", self.name, std::process::id());
        self.keep.clone().unwrap_or_else(|| env::temp_dir().join(name))
    }

    /// Runs all batches: `one` gets a folder, the first seed, how many there are, and the number of
    /// the batch.
    pub fn run<R: Report>(&self, one: impl Fn(PathBuf, u64, u64, u64) -> R + Sync) -> R {
        let next = AtomicU64::new(0);
        let total = Mutex::new(R::default());
        let batches = self.count.div_ceil(self.batch);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= batches {
                        return;
                    }
                    let from = self.from + number * self.batch;
                    let count = self.batch.min(self.from + self.count - from);
                    let folder = self.folder().join(from.to_string());
                    let report = one(folder.clone(), from, count, number);
                    self.finished(&folder, report, &total);
                });
            }
        });
        total.into_inner().expect("the report")
    }

    fn finished<R: Report>(&self, folder: &Path, report: R, total: &Mutex<R>) {
        for line in report.sums().1 {
            println!("{line}");
        }
        if self.keep.is_none() || report.sums().1.is_empty() {
            let _ = fs::remove_dir_all(folder);
            let _ = fs::remove_dir(self.folder());
        }
        let mut total = total.lock().expect("the report");
        total.add(report);
        let (programs, wrong) = total.sums();
        if programs % 500 < self.batch && programs < self.count {
            println!("{programs} programs, {} wrong", wrong.len());
        }
    }

    /// Says how many passed, and ends.
    pub fn verdict(&self, passed: u64, wrong: usize) -> ! {
        println!("{} passed, {wrong} failed", passed.saturating_sub(wrong as u64));
        exit(i32::from(wrong > 0))
    }
}

/// A number of the command line.
pub fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| {
        eprintln!("'{text}' is no number");
        exit(2)
    })
}
