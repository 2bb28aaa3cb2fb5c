//! Which functions and statements may wait, so that other tasks run before they are done.
//!
//! A function waits if a statement of its body does, or calls one that may: the answer crosses
//! functions. `yield`, `join`, `select` and `receive` always wait. What a function pointer,
//! assembly and a function of another file or of C does is not known. In a file that starts tasks
//! they wait, unless they are declared `[[lee::leaf]]` without `[[lee::waits]]`; in one that starts
//! none they do not, so that C's loops that print, compare and call back need no change.
//!
//! A generic function is looked at once, as written; what it does with a value of `T` calls nothing.

use crate::effects::{flags, Code};
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use source::Span;
use typing::tree::FuncId;

/// The functions that do not wait.
#[derive(Debug, Default)]
pub struct Waits {
    quiet: FxHashSet<FuncId>,
    /// Where the file starts a task first.
    pub started: Option<Span>,
}

/// The symbols of `yield` and `join`.
const WORDS: [&str; 2] = ["lee_task_yield", "lee_task_join"];

impl Waits {
    /// Looks at all bodies as written (`Program::bodies`, which must be there).
    pub fn new(program: &Program) -> Waits {
        let mut waits = Waits { started: program.starts(), ..Waits::default() };
        let mut callers: FxHashMap<FuncId, Vec<&Body>> = FxHashMap::default();
        let with_body: FxHashSet<FuncId> = program.bodies.iter().map(|body| body.func.func).collect();
        for (n, function) in program.functions.iter().enumerate() {
            let id = FuncId(n as u32);
            let word = function.symbol.is_some_and(|symbol| WORDS.contains(&symbol.as_str()));
            // All with a body are taken to be quiet until a statement says otherwise.
            let quiet = match with_body.contains(&id) {
                _ if waits.started.is_none() => !word,
                true => !function.is_replaceable(),
                false => program.types.as_func(function.ty).is_some_and(|f| f.leaf && !f.waits),
            };
            if quiet {
                waits.quiet.insert(id);
            }
        }
        for body in &program.bodies {
            for stmt in body.blocks.iter().flat_map(|block| &block.stmts) {
                if let Code::Function(func) = flags(&stmt.kind).code {
                    callers.entry(func.func).or_default().push(body);
                }
            }
        }
        let mut work: Vec<&Body> = program.bodies.iter().collect();
        while let Some(body) = work.pop() {
            let id = body.func.func;
            let mut stmts = body.blocks.iter().flat_map(|block| &block.stmts);
            if waits.quiet.contains(&id) && stmts.any(|stmt| waits.statement(&stmt.kind)) {
                waits.quiet.remove(&id);
                work.extend(callers.get(&id).into_iter().flatten().copied());
            }
        }
        waits
    }

    /// Whether other tasks may run before the statement is done.
    pub fn statement(&self, kind: &StmtKind) -> bool {
        let flags = flags(kind);
        flags.waits
            || match flags.code {
                Code::Own => false,
                Code::Function(func) => self.function(func.func),
                Code::Pointer | Code::Assembly => self.started.is_some(),
            }
    }

    /// Whether other tasks may run before a call of the function returns.
    pub fn function(&self, func: FuncId) -> bool {
        !self.quiet.contains(&func)
    }
}
