//! Where a collection may run: at allocations, and at calls of functions that may allocate.
//!
//! Needs bodies. Guarantees: a statement that is not named allocates nothing on this thread,
//! whatever it calls. What cannot be looked into (a function pointer, a function of another file)
//! may; of C's library those that cannot are listed in `mir::leaves`.

use crate::reach;
use mir::effects::{self, Code};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{FuncId, FuncRef};

/// The functions with a body in which no collection can run.
#[derive(Default)]
pub struct Quiet {
    functions: FxHashSet<FuncRef>,
    /// Those with a body.
    ours: FxHashSet<FuncId>,
}

/// Who calls each function.
pub type Callers = FxHashMap<FuncRef, Vec<FuncRef>>;

/// The calls between functions with a body.
pub fn callers(bodies: &FxHashMap<FuncRef, &Body>) -> Callers {
    let mut callers = Callers::default();
    for (func, body) in bodies {
        reach::visit(body, &mut |part| {
            if let reach::Part::Call(callee, _) = part {
                callers.entry(callee.clone()).or_default().push(func.clone());
            }
        });
    }
    callers
}

/// How a statement is about collections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collects {
    /// None can run.
    No,
    /// One may run, in Leeward code or in the runtime's allocator.
    Yes,
    /// One may run in a call of C code, which keeps no bases of what it is given.
    InC,
}

impl Quiet {
    /// Assumes that all functions are quiet, then takes out those that are not until nothing
    /// changes.
    pub fn new(program: &Program, bodies: &FxHashMap<FuncRef, &Body>, callers: &Callers) -> Quiet {
        let declared = |func: &FuncRef| program.functions.get(func.func.0 as usize);
        let fixed = |func: &&FuncRef| declared(func).is_some_and(|f| !f.is_replaceable());
        let functions = bodies.keys().filter(fixed).cloned().collect();
        let mut quiet = Quiet { functions, ours: bodies.keys().map(|f| f.func).collect() };
        let loud = |quiet: &Quiet, body: &Body| {
            body.blocks.iter().flat_map(|b| &b.stmts).any(|s| quiet.collects(program, &s.kind) != Collects::No)
        };
        let mut work: Vec<FuncRef> = bodies.keys().cloned().collect();
        while let Some(func) = work.pop() {
            let Some(body) = bodies.get(&func) else { continue };
            if quiet.functions.contains(&func) && loud(&quiet, body) {
                quiet.functions.remove(&func);
                work.extend(callers.get(&func).into_iter().flatten().cloned());
            }
        }
        quiet
    }

    /// Whether a collection may run in the statement.
    pub fn collects(&self, program: &Program, kind: &StmtKind) -> Collects {
        let flags = effects::flags(kind);
        match flags.code {
            Code::Function(func) => self.call(program, func),
            Code::Pointer => Collects::InC,
            Code::Own | Code::Assembly if flags.collects => Collects::Yes,
            Code::Own | Code::Assembly => Collects::No,
        }
    }

    fn call(&self, program: &Program, func: &FuncRef) -> Collects {
        if self.functions.contains(func) {
            return Collects::No;
        }
        let Some(function) = program.functions.get(func.func.0 as usize) else { return Collects::InC };
        if self.ours.contains(&func.func) {
            return Collects::Yes;
        }
        let symbol = function.symbol.unwrap_or(function.name);
        if mir::leaves::is_leaf(symbol.as_str()) {
            Collects::No
        } else {
            Collects::InC
        }
    }
}
