//! Mutates programs and takes them through the whole compiler: nothing may panic, hang or overflow
//! the stack, and C made from accepted programs must compile. The same seed
//! gives the same programs.
//!
//!     fuzz [--seconds N] [--seed N] [--run N] [--compile-every N] [FILE...]
//!
//! FILEs are run as they are, without mutation; `--run` takes one program of a seed, by its number
//! in a report.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use driver::home::files_below;
use driver::options::Options;
use driver::pipeline::{self, Product, Settings, Until};
use driver::session::Session;
use driver::timing::Timer;
use source::{Sink, SourceMap};
use std::io::Write;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{exit, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs};

const STACK: usize = 256 << 20;
/// No program of this size may take longer, in a build without optimisation.
const LIMIT: Duration = Duration::from_secs(20);
/// Of the accepted programs, one in so many is given to the C compiler, unless said otherwise.
const COMPILE_EVERY: u64 = 20;
const WORDS: &[&str] = &[
    "fat",
    "null_terminated",
    "counted_by(n)",
    "nonnull",
    "unique",
    "rc",
    "view",
    "any",
    "@r",
    "@heap",
    "generic <T>",
    "tagged union",
    "struct s",
    "union",
    "enum",
    "switch",
    "case",
    "default:",
    "defer",
    "unsafe",
    "trusted",
    "extern \"C\"",
    "new",
    "new T[n]",
    "free(",
    "lengthof(",
    "constexpr",
    "auto",
    "typeof(",
    "sizeof",
    "static",
    "inline",
    "_Generic(",
    "return",
    "goto",
    "for (;;)",
    "while (1)",
    "do",
    "if (",
    "else",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "*",
    "&",
    "->",
    ".",
    "=",
    ":=:",
    "==",
    "<",
    ">",
    ">>",
    "<<",
    "+",
    "-",
    "/",
    "%",
    "?",
    ":",
    "...",
    "0",
    "1",
    "-1",
    "0x7fffffff",
    "18446744073709551615",
    "99999999999999999999999999",
    "1e999",
    "'a'",
    "\"s\"",
    "L\"w\"",
    "nullptr",
    "int",
    "char",
    "void",
    "long long",
    "double",
    "_Bool",
    "unsigned",
    "const",
    "volatile",
    "x",
    "T",
    "int *fat p",
    "char a[]",
    "main",
    "[[lee::into(s)]]",
    "__attribute__((",
    "tagged_by(k) { A: a }",
    "_BitInt(7)",
    "container_of(p, struct s, m)",
    "va_list",
    "case .a(b):",
    "(struct s){0}",
    "\\",
    "#",
    "\u{e9}",
    "\0",
];

/// A small generator: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            (self.next() % bound as u64) as usize
        }
    }
}

/// A preprocessed program: what comes from headers, and the user's text that is mutated.
struct Program {
    headers: String,
    text: String,
}

/// What a run showed.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Verdict {
    Fine,
    Failed(String),
}

struct Fuzz {
    session: Session,
    settings: Settings,
    compile_every: u64,
    corpus: Vec<Program>,
    accepted: AtomicU64,
    compiled: AtomicU64,
    last_panic: Arc<Mutex<String>>,
}

fn main() {
    let (mut seconds, mut seed, mut only, mut every, mut files) = (10u64, 1u64, None, COMPILE_EVERY, vec![]);
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => seconds = words.next().and_then(|w| w.parse().ok()).expect("a number of seconds"),
            "--seed" => seed = words.next().and_then(|w| w.parse().ok()).expect("a seed"),
            "--compile-every" => every = words.next().and_then(|w| w.parse().ok()).expect("a number"),
            "--run" => only = Some(words.next().and_then(|w| w.parse().ok()).expect("the number of a run")),
            file => files.push(PathBuf::from(file)),
        }
    }
    let worker = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || work(seconds, seed, only, every.max(1), &files))
        .expect("a thread");
    exit(worker.join().unwrap_or(1));
}

fn work(seconds: u64, seed: u64, only: Option<u64>, compile_every: u64, files: &[PathBuf]) -> i32 {
    let session = Session::new(Options::default()).expect("a compiler");
    let settings = Settings { verify: true, ..session.settings(Until::C, Path::new("fuzz.lee")) };
    let last_panic = Arc::new(Mutex::new(String::new()));
    let slot = last_panic.clone();
    std::panic::set_hook(Box::new(move |panic| {
        *slot.lock().expect("the slot") = panic.to_string().replace('\n', " ");
    }));
    let (accepted, compiled) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut fuzz = Fuzz { session, settings, compile_every, corpus: vec![], accepted, compiled, last_panic };
    if !files.is_empty() {
        return fuzz.replay(files);
    }
    fuzz.corpus = corpus(&fuzz.session);
    let started = Instant::now();
    let current = Arc::new(Mutex::new((Instant::now(), 0u64)));
    watch(current.clone(), seed);
    let mut failures: Vec<String> = vec![];
    let mut runs = only.unwrap_or(0);
    let keep = env::temp_dir().join(format!("lee-fuzz-current-{seed}.c"));
    while started.elapsed() < Duration::from_secs(seconds) && failures.len() < 10 {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(runs));
        let text =
            if (runs as usize) < fuzz.corpus.len() { fuzz.plain(runs as usize) } else { fuzz.mutant(&mut random) };
        // Left behind if the process dies.
        fs::write(&keep, &text).expect("the current program");
        *current.lock().expect("the clock") = (Instant::now(), runs);
        if let Verdict::Failed(why) = fuzz.verdict(&text) {
            let kind = kind(&why);
            if !failures.contains(&kind) {
                failures.push(kind.clone());
                let small = fuzz.minimise(&text, &kind);
                let file = env::temp_dir().join(format!("lee-fuzz-{seed}-{runs}.c"));
                fs::write(&file, &small).expect("the failing program");
                println!("run {runs}: {why}\n  {} ({} lines)", file.display(), small.lines().count());
            }
        }
        runs += 1;
        if only.is_some() {
            break;
        }
    }
    let _ = fs::remove_file(&keep);
    let (accepted, compiled) = (fuzz.accepted.load(Ordering::Relaxed), fuzz.compiled.load(Ordering::Relaxed));
    println!("seed {seed}: {runs} programs, {accepted} accepted, {compiled} given to the C compiler");
    println!("{} passed, {} failed", u32::from(failures.is_empty()), failures.len());
    i32::from(!failures.is_empty())
}

/// Ends the process when a program takes too long.
fn watch(current: Arc<Mutex<(Instant, u64)>>, seed: u64) {
    std::thread::spawn(move || loop {
        std::thread::sleep(Duration::from_millis(500));
        let (since, run) = *current.lock().expect("the clock");
        if since.elapsed() > LIMIT {
            println!(
                "run {run}: no end after {LIMIT:?}; see {}",
                env::temp_dir().join(format!("lee-fuzz-current-{seed}.c")).display()
            );
            println!("0 passed, 1 failed");
            exit(1);
        }
    });
}

/// Failures of one kind are shown once: the place of the panic, without values.
fn kind(why: &str) -> String {
    why.chars().filter(|c| !c.is_ascii_digit()).take(70).collect()
}

/// All programs of the repository and the conformance cases, preprocessed.
fn corpus(session: &Session) -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![];
    for folder in ["tests", "examples", "../shared/cases"] {
        files_below(&root.join(folder), &mut files);
    }
    files.retain(|f| f.extension().is_some_and(|e| e == "lee"));
    let mut programs = vec![];
    for file in files {
        let mut sink = Sink::default();
        let Ok(SourceMap { text, .. }) = session.preprocess(&file, &[], &mut sink) else { continue };
        // The user's part is what follows the last marker that returns to the file.
        let mark = format!("\"{}\" 2\n", file.display());
        let at = text.rfind(&mark).map_or(0, |at| at + mark.len());
        let (headers, own) = text.split_at(at);
        programs.push(Program { headers: headers.to_string(), text: own.to_string() });
    }
    assert!(!programs.is_empty(), "no programs to start from");
    programs
}

impl Fuzz {
    fn replay(&self, files: &[PathBuf]) -> i32 {
        let mut status = 0;
        for file in files {
            let text = String::from_utf8_lossy(&fs::read(file).expect("a file")).into_owned();
            let verdict = self.verdict(&text);
            println!("{}: {verdict:?}", file.display());
            status |= i32::from(verdict != Verdict::Fine);
        }
        status
    }

    fn plain(&self, number: usize) -> String {
        let program = &self.corpus[number];
        format!("{}{}", program.headers, program.text)
    }

    fn mutant(&self, random: &mut Random) -> String {
        let program = &self.corpus[random.below(self.corpus.len())];
        let mut tokens: Vec<String> = tokens(&program.text);
        for _ in 0..=random.below(6) {
            self.mutate(&mut tokens, random);
        }
        let text = tokens.concat();
        // The headers are the larger part of the work; one program in ten keeps them.
        if random.below(3) == 0 {
            format!("{}{text}", program.headers)
        } else {
            text
        }
    }

    fn mutate(&self, tokens: &mut Vec<String>, random: &mut Random) {
        let at = random.below(tokens.len());
        let longest = 1 + random.below(12);
        let length = 1 + random.below(longest);
        let end = (at + length).min(tokens.len());
        match random.below(12) {
            0 | 1 => drop(tokens.drain(at..end)),
            2 => {
                let copy = tokens[at..end].to_vec();
                tokens.splice(at..at, copy);
            }
            3 => {
                let other = random.below(tokens.len());
                if at < tokens.len() {
                    tokens.swap(at, other);
                }
            }
            4 | 5 => tokens.insert(at, format!(" {} ", WORDS[random.below(WORDS.len())])),
            6 | 7 if at < tokens.len() => tokens[at] = format!(" {} ", WORDS[random.below(WORDS.len())]),
            8 | 9 => {
                let other = self::tokens(&self.corpus[random.below(self.corpus.len())].text);
                let from = random.below(other.len());
                let to = (from + 1 + random.below(40)).min(other.len());
                tokens.splice(at..at, other[from..to].iter().cloned());
            }
            10 => tokens.truncate(at),
            _ => {
                let word = WORDS[random.below(WORDS.len())];
                tokens.insert(at, word.repeat(1 + random.below(300)));
            }
        }
    }

    /// One program through all passes.
    fn verdict(&self, text: &str) -> Verdict {
        let passes = || {
            let map = SourceMap::new("fuzz.lee", text.to_string());
            let mut sink = Sink::default();
            let result = pipeline::compile(&map, &self.settings, &mut sink, &mut Timer::default());
            let options = Options::default();
            driver::report::render(&options, &map, &sink, &[]);
            (result, sink.has_errors())
        };
        match catch_unwind(AssertUnwindSafe(passes)) {
            Err(_) => Verdict::Failed(self.last_panic.lock().expect("the slot").clone()),
            Ok((Err(bug), _)) => Verdict::Failed(bug),
            Ok((Ok(None), false)) => Verdict::Failed("rejected without an error".to_string()),
            Ok((Ok(Some(Product::C(c, _))), _)) => self.compiles(&c),
            Ok(_) => Verdict::Fine,
        }
    }

    /// Whether the C compiler takes what was made of an accepted program; asked now and then.
    fn compiles(&self, c: &str) -> Verdict {
        if self.accepted.fetch_add(1, Ordering::Relaxed) % self.compile_every != 0 {
            return Verdict::Fine;
        }
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let mut command = self.session.compiler.command();
        command
            .args(["-x", "c", "-std=gnu11", "-w", "-fsyntax-only", "-I"])
            .arg(self.session.home.runtime_headers())
            .arg("-");
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the C compiler");
        let _ = child.stdin.take().expect("a pipe").write_all(c.as_bytes());
        let out = child.wait_with_output().expect("the C compiler");
        if out.status.success() {
            return Verdict::Fine;
        }
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let error = said.lines().find(|l| l.contains("error")).unwrap_or("?");
        let error = error.split_once("error").map_or(error, |(_, rest)| rest);
        Verdict::Failed(format!("emitted C does not compile{error}"))
    }

    /// Takes away lines as long as the failure stays the same.
    fn minimise(&self, text: &str, kind_wanted: &str) -> String {
        let started = Instant::now();
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut chunk = lines.len() / 2;
        while chunk > 0 {
            let mut at = 0;
            while at < lines.len() && started.elapsed() < Duration::from_secs(20) {
                let mut fewer = lines.clone();
                fewer.drain(at..(at + chunk).min(lines.len()));
                self.accepted.store(0, Ordering::Relaxed);
                match self.verdict(&fewer.concat()) {
                    Verdict::Failed(why) if kind(&why) == kind_wanted => lines = fewer,
                    _ => at += chunk,
                }
            }
            chunk /= 2;
        }
        lines.concat()
    }
}

/// Words, numbers, literals, blanks and single characters.
fn tokens(text: &str) -> Vec<String> {
    let mut all: Vec<String> = vec![];
    let mut last = ' ';
    for c in text.chars() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        match all.last_mut() {
            Some(token) if (word(c) && word(last)) || (c == ' ' && last == ' ') => token.push(c),
            _ => all.push(c.to_string()),
        }
        last = c;
    }
    if all.is_empty() {
        all.push(" ".to_string());
    }
    all
}
