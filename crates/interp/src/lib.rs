//! An oracle for memory safety: an interpreter of MIR with a memory that knows objects, bounds,
//! what is initialised, and who owns what.
//!
//! It runs what the pipeline made and reads none of the analyses' results, so it can check them: an
//! accepted program without `unsafe` for which it reports anything but the program's own fault
//! shows a soundness hole. How it works: docs/internals/interpreter.md.

mod arith;
mod builtins;
mod channels;
mod checks;
#[allow(missing_docs)]
mod code;
mod collect;
mod compile;
mod custodians;
mod descriptors;
mod ends;
mod exchange;
mod exec;
mod files;
mod format;
mod library;
mod machine;
mod math;
mod memory;
mod options;
mod processes;
mod scan;
mod stdio;
mod strings;
mod system;
mod table;
mod tasks;
mod types;

use mir::ir::Program;
use source::Span;
use typing::types::{Ty, TypeStore};

/// What is read of objects of the heap when the collector looks for what they point to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Words {
    /// Nothing.
    None,
    /// The words whose bits are set, again in each element of that many bytes.
    Masks(u64, Vec<u64>),
    /// Each word, as if it were a pointer.
    All,
}

/// Gives what is read of objects that are allocated as elements of a type; `flexible`: more than
/// the elements follows.
pub type Layouts = fn(types: &TypeStore, elem: Ty, flexible: bool) -> Words;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program's name and arguments.
    pub arguments: Vec<Vec<u8>>,
    /// Standard input; `None`: that of the process.
    pub input: Option<Vec<u8>>,
    /// Output is kept, and not written.
    pub keep_output: bool,
    /// Statements at most.
    pub steps: u64,
    /// Bytes of memory at most.
    pub memory: u64,
    /// Report what is never freed.
    pub leaks: bool,
    /// Report second owners. Transforms copy owners where nothing looks at the first one again.
    pub owners: bool,
    /// Compare what statements do with the table of `mir::effects`.
    pub table: bool,
    /// Who runs next is chosen by a generator that begins with this number.
    pub seed: Option<u64>,
    /// The descriptors that are emitted for what is allocated. Without them the collector goes by
    /// types.
    pub layouts: Option<Layouts>,
    /// A pointer may begin at any byte, in packed structs.
    pub unaligned: bool,
    /// Collects where that may happen when so many statements ran since the last time; otherwise
    /// only when much was allocated.
    pub collect: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            arguments: vec![],
            input: None,
            keep_output: false,
            steps: u64::MAX,
            memory: 4 << 30,
            leaks: true,
            owners: true,
            table: false,
            seed: None,
            layouts: None,
            unaligned: false,
            collect: None,
        }
    }
}

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportKind {
    /// A pointer to an object that has ended is used.
    UseAfterEnd,
    /// An object is freed that has ended, or was moved away.
    DoubleFree,
    /// What is freed is not an object of the heap, or of another region.
    BadFree,
    /// An access outside an object.
    OutOfBounds,
    /// A value is read from memory that has none.
    Uninitialised,
    /// An owner is used after its object was moved away.
    UseAfterMove,
    /// An object has two owners.
    TwoOwners,
    /// What is lent to a function is freed or given away by it.
    LentGiven,
    /// A pointer that points to nothing.
    Wild,
    /// Arguments of `...` are read wrongly.
    VarArgs,
    /// What is owned is never freed.
    Leak,
    /// An end of a channel is not in a state that allows what is done with it.
    Protocol,
    /// A process uses memory of another one.
    Isolation,
    /// A statement does what the table of `mir::effects` does not say: a bug of the compiler, not
    /// of the program.
    Table,
}

impl ReportKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ReportKind::UseAfterEnd => "use after end",
            ReportKind::DoubleFree => "double free",
            ReportKind::BadFree => "bad free",
            ReportKind::OutOfBounds => "out of bounds",
            ReportKind::Uninitialised => "uninitialised read",
            ReportKind::UseAfterMove => "use after move",
            ReportKind::TwoOwners => "two owners",
            ReportKind::LentGiven => "lent and given away",
            ReportKind::Wild => "wild pointer",
            ReportKind::VarArgs => "wrong argument",
            ReportKind::Leak => "leak",
            ReportKind::Protocol => "protocol",
            ReportKind::Isolation => "isolation",
            ReportKind::Table => "effects table",
        }
    }
}

/// A report.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it is.
    pub kind: ReportKind,
    /// In words.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Where the object was made.
    pub made: Option<Span>,
}

/// How the run ended.
#[derive(Clone, Debug)]
pub enum End {
    /// By itself, with this status.
    Exit(i32),
    /// By a check of its own, which is correct behaviour.
    Fault {
        /// What it says.
        message: String,
        /// Where.
        span: Span,
    },
    /// By the last of the reports.
    Reported,
    /// At something that the oracle does not know.
    Unsupported(String),
    /// At a limit: `steps` or `memory`.
    Limit(&'static str),
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What was found. Leaks do not end a run; all else does.
    pub reports: Vec<Report>,
    /// What was written to standard output, if it was kept.
    pub out: Vec<u8>,
    /// What was written to standard error, if it was kept.
    pub err: Vec<u8>,
    /// Statements that ran.
    pub steps: u64,
    /// Where it ended, if at something unknown or at a limit.
    pub span: Span,
}

/// Runs a program. `program` has its instances; regions are erased.
pub fn run(program: &Program, options: Options) -> Outcome {
    let mut machine = machine::Machine::new(program, options);
    let end = machine.run();
    Outcome {
        end,
        reports: std::mem::take(&mut machine.reports),
        out: std::mem::take(&mut machine.io.out),
        err: std::mem::take(&mut machine.io.err),
        steps: machine.steps,
        span: machine.span,
    }
}
