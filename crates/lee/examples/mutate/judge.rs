//! A program through the compiler and under the oracle, in this process.

use driver::pipeline::{self, How, Settings};
use driver::timing::Timer;
use interp::End;
use source::{Sink, SourceMap, Span};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Statements between two collections, at least: what a descriptor forgets is to be gone soon.
const COLLECT: u64 = 50;

/// What is done with a program.
pub struct Judge<'a> {
    pub settings: &'a Settings,
    /// Where the program's own text begins.
    pub own: u32,
    /// Standard input and arguments.
    pub input: &'a [u8],
    pub arguments: &'a [Vec<u8>],
    /// Statements that it may run.
    pub steps: u64,
    /// What the transforms made of it is run too.
    pub transformed: bool,
}

/// What became of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It does not parse or type-check.
    Wrong,
    /// The analyses reject it.
    Rejected,
    /// The compiler fails: it panics, or contradicts itself.
    Bug(String),
    /// It is accepted.
    Accepted(Accepted),
}

/// An accepted program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// Of the MIR of its own functions.
    pub hash: u64,
    pub ran: Ran,
    pub steps: u64,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ran {
    /// By itself: the status and what it printed.
    Fine(i32, Vec<u8>),
    /// By a fault.
    Fault(String),
    /// The oracle reports something: its kind, its words, the place in the text.
    Report(&'static str, String, Span),
    /// At a limit, or at something that the oracle does not know.
    Open,
}

impl Verdict {
    /// What makes it a finding: a name for findings of one kind, and words.
    pub fn finding(&self) -> Option<(String, String)> {
        match self {
            Verdict::Bug(why) => Some((kind_of_bug(why), why.clone())),
            Verdict::Accepted(Accepted { ran: Ran::Report(kind, words, _), .. }) => {
                Some(((*kind).to_string(), format!("{kind}: {words}")))
            }
            _ => None,
        }
    }
}

/// Bugs of one kind: their words without numbers and names.
fn kind_of_bug(why: &str) -> String {
    let end = why.find(": ").map_or(why.len(), |at| at + 2);
    let rest: String = why[end..].chars().filter(|c| !c.is_ascii_digit()).collect();
    let rest = rest.split_once(": ").map_or(rest.as_str(), |(_, rest)| rest);
    rest.split(';').next().unwrap_or("").chars().take(70).collect()
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Panics are findings: their words are kept, not printed.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|panic| {
        PANIC.with_borrow_mut(|slot| *slot = panic.to_string().replace('\n', " "));
    }));
}

/// Judges a preprocessed text.
pub fn judge(text: &str, how: &Judge) -> Verdict {
    let map = SourceMap::new("mutant.lee", text.to_string());
    match catch_unwind(AssertUnwindSafe(|| passes(&map, how))) {
        Ok(verdict) => verdict,
        Err(_) => Verdict::Bug(format!("panic: {}", PANIC.with_borrow(String::clone))),
    }
}

fn passes(map: &SourceMap, how: &Judge) -> Verdict {
    let mut sink = Sink::default();
    let made = pipeline::interpreted(map, how.settings, How::default(), &mut sink, &mut Timer::default());
    let mut program = match made {
        Err(bug) => return Verdict::Bug(bug),
        Ok(Some(program)) => program,
        Ok(None) if !sink.has_errors() => return Verdict::Bug("rejected: without an error".to_string()),
        Ok(None) => {
            // The analyses' codes begin at L0500, and are not reached after another error.
            let typed = sink.all.iter().filter(|d| d.level == source::Level::Error).all(|d| d.code.id >= "L0500");
            return if typed { Verdict::Rejected } else { Verdict::Wrong };
        }
    };
    let mut hasher = DefaultHasher::new();
    for body in program.bodies.iter().chain(&program.instances) {
        let function = program.functions.get(body.func.func.0 as usize);
        if function.is_some_and(|f| f.span.lo >= how.own) {
            mir::print::body(&program, body, None).hash(&mut hasher);
        }
    }
    let (plain, steps) = run(&program, how, false);
    let mut ran = plain;
    if how.transformed && matches!(ran, Ran::Fine(..) | Ran::Fault(_)) {
        let options = transform::Options { versions: true, explain: false, checks: true, stack: 48 };
        transform::run(&mut program, options);
        let (other, _) = run(&program, how, true);
        match (&ran, other) {
            (_, Ran::Open) => {}
            (_, report @ Ran::Report(..)) => ran = report,
            (Ran::Fine(..), other) if !is_same(&ran, &other) => {
                ran = Ran::Report("transformed", format!("it does something else: {}", shown(&other)), Span::NONE);
            }
            (Ran::Fault(_), Ran::Fine(..)) => {
                let words = "it faults only before the transforms".to_string();
                ran = Ran::Report("transformed", words, Span::NONE);
            }
            _ => {}
        }
    }
    Verdict::Accepted(Accepted { hash: hasher.finish(), ran, steps })
}

/// Whether two runs are one, but for the words of faults that are printed.
fn is_same(a: &Ran, b: &Ran) -> bool {
    match (a, b) {
        (Ran::Fine(x, out), Ran::Fine(y, other)) => x == y && printed(out) == printed(other),
        _ => a == b,
    }
}

/// What was printed. Who waits for a process that faulted may print why: after the transforms the
/// check of a pointer that was just made of an index names the index.
pub fn printed(out: &[u8]) -> String {
    String::from_utf8_lossy(out).replace("access at element offset", "index")
}

fn shown(ran: &Ran) -> String {
    match ran {
        Ran::Fine(status, out) => format!("status {status}, {} bytes of output", out.len()),
        Ran::Fault(message) => format!("the fault `{message}`"),
        Ran::Report(kind, words, _) => format!("{kind}: {words}"),
        Ran::Open => "nothing is known".to_string(),
    }
}

fn run(program: &mir::ir::Program, how: &Judge, transformed: bool) -> (Ran, u64) {
    let options = interp::Options {
        arguments: how.arguments.to_vec(),
        input: Some(how.input.to_vec()),
        keep_output: true,
        steps: how.steps,
        memory: 64 << 20,
        leaks: !transformed,
        owners: !transformed,
        table: !transformed,
        seed: None,
        layouts: Some(driver::interpret::words),
        unaligned: driver::interpret::has_unaligned(&program.types),
        collect: Some(COLLECT),
    };
    let outcome = interp::run(program, options);
    let ran = match (outcome.reports.first(), outcome.end) {
        (Some(report), _) => Ran::Report(report.kind.name(), report.message.clone(), report.span),
        (None, End::Exit(status)) => Ran::Fine(status, outcome.out),
        (None, End::Fault { message, .. }) => Ran::Fault(message),
        (None, End::Reported | End::Unsupported(_) | End::Limit(_)) => Ran::Open,
    };
    (ran, outcome.steps)
}
