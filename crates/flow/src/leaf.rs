//! Calls that leave everything that owns as it is: of C functions that are declared so, and of
//! functions of the file whose statements, and calls in turn, are such.
//!
//! A function of the file is a leaf if no statement of it stores, exchanges, moves away or releases
//! what owns, in memory; or collects, since finalizers run then, or lets other tasks run; or runs
//! code that is not known. Functions that call each other are leaves together or not at all.
//!
//! Needs: bodies as written. Guarantees: what a slot held before a call of a leaf, it holds after it.

use mir::effects::{accesses, flags, term_accesses, Code, Kind, Loan};
use mir::ir::*;
use mir::ty::{operand_ty, owns, place_ty};
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{FuncId, Linkage};
use typing::types::{FuncTy, Ty, TyKind};

use crate::framework::count_work;

/// The functions of the file that are leaves.
#[derive(Debug, Default)]
pub struct Leaves {
    functions: FxHashSet<FuncId>,
}

impl Leaves {
    /// Looks at all bodies as written.
    pub fn new(program: &Program) -> Leaves {
        // All are taken to be leaves until a statement says otherwise.
        let may_be = |body: &&Body| {
            let function = program.functions.get(body.func.func.0 as usize);
            // Of the copies of a shared one the linker takes any.
            let other =
                function.is_none_or(|f| f.is_replaceable() || f.linkage == Linkage::Shared || f.type_params > 0);
            !body.unchecked && !other
        };
        let bodies: Vec<&Body> = program.bodies.iter().filter(may_be).collect();
        let mut leaves = Leaves { functions: bodies.iter().map(|body| body.func.func).collect() };
        let mut callers: FxHashMap<FuncId, Vec<FuncId>> = FxHashMap::default();
        let mut work = vec![];
        for body in bodies {
            let mut called = vec![];
            if !is_leaf_body(program, body, &mut called) {
                work.push(body.func.func);
            }
            for function in called {
                callers.entry(function).or_default().push(body.func.func);
            }
        }
        let unknown = callers.keys().filter(|function| !leaves.functions.contains(function));
        work.extend(unknown.copied());
        while let Some(function) = work.pop() {
            leaves.functions.remove(&function);
            let known = callers.remove(&function).into_iter().flatten();
            work.extend(known.filter(|caller| leaves.functions.contains(caller)));
        }
        leaves
    }

    /// Whether the call leaves all slots as they are, but for what it is assigned to.
    pub(crate) fn is_leaf(&self, program: &Program, body: &Body, call: &Call) -> bool {
        // What is moved to it is gone, wherever it was.
        let owns = |place: &Place| place_ty(program, body, place).map_or(true, |q| owns(&program.types, q.ty));
        let keeps = |arg: &Operand| !matches!(arg, Operand::Move(place) if owns(place));
        is_trusted_leaf(program, body, call) || self.contains(call.callee) && call.args.iter().all(keeps)
    }

    /// Whether the function is one of the file that is a leaf.
    pub(crate) fn contains(&self, callee: &Callee) -> bool {
        match callee {
            Callee::Direct(function) => self.functions.contains(&function.func),
            Callee::Pointer(_) | Callee::Builtin(_) | Callee::Start(_) | Callee::Spawn(..) => false,
        }
    }
}

/// Whether the call of a trusted function leaves all slots as they are: it gets nothing that it
/// could change one through, and nothing to call.
fn is_trusted_leaf(program: &Program, body: &Body, call: &Call) -> bool {
    let types = &program.types;
    let leaf = |f: &FuncTy| f.leaf && f.params.iter().all(|p| !p.consume && is_harmless(program, p.ty));
    let given = |arg: &Operand| operand_ty(program, body, arg).is_ok_and(|ty| is_harmless(program, ty));
    let is_declared = call.callee.is_trusted(program) && types.as_func(*call.ty).is_some_and(|f| leaf(&f));
    is_declared && call.args.iter().all(given)
}

/// Whether other tasks may run before a call of a function of the type returns, once its arguments
/// were read.
pub(crate) fn waits(program: &Program, ty: Ty) -> bool {
    program.types.as_func(ty).is_some_and(|f| f.waits)
}

/// Whether nothing that owns, and no function, is reached through a value of the type.
pub(crate) fn is_harmless(program: &Program, ty: Ty) -> bool {
    let types = &program.types;
    match types.as_pointer(ty) {
        Some(p) => !owns(types, p.target.ty) && !matches!(types.kind(p.target.ty), TyKind::Func(_)),
        None => true,
    }
}

/// Whether the body changes nothing that owns, but for variables of its own, and runs nothing that
/// may, but for what it calls.
fn is_leaf_body(program: &Program, body: &Body, called: &mut Vec<FuncId>) -> bool {
    let mut leaf = true;
    for block in &body.blocks {
        count_work(block.stmts.len());
        for stmt in &block.stmts {
            leaf &= is_leaf_stmt(program, body, stmt, called);
            accesses(&stmt.kind, &mut |place, kind, _| leaf &= keeps_slots(program, body, place, kind));
        }
        term_accesses(&block.term.kind, &mut |place, kind, _| leaf &= keeps_slots(program, body, place, kind));
    }
    leaf
}

/// Whether what the statement does besides its accesses changes nothing that owns.
fn is_leaf_stmt(program: &Program, body: &Body, stmt: &Stmt, called: &mut Vec<FuncId>) -> bool {
    if stmt.is_unsafe {
        return false;
    }
    if let Some(call) = stmt.kind.as_call() {
        return match call.callee {
            _ if waits(program, *call.ty) => false,
            Callee::Direct(_) if is_trusted_leaf(program, body, &call) => true,
            Callee::Direct(function) => {
                called.push(function.func);
                true
            }
            Callee::Pointer(_) | Callee::Builtin(_) | Callee::Start(_) | Callee::Spawn(..) => false,
        };
    }
    !may_change_owners(&stmt.kind)
}

/// Whether a statement that is not a call may change, besides its accesses, what owns something.
pub(crate) fn may_change_owners(kind: &StmtKind) -> bool {
    let does = flags(kind);
    // A value, or a check, only reads what pointers lead to.
    let reads = kind.value().is_some() || kind.as_check().is_some();
    does.code != Code::Own || does.collects || does.waits || does.memory && !reads
}

/// What an access means for an owner in the place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Touch {
    /// It, or what it leads to, is released.
    Releases,
    /// It may be another afterwards.
    Changes,
    /// It is the same afterwards.
    Keeps,
}

pub(crate) fn touch(kind: Kind) -> Touch {
    match kind {
        Kind::Drop | Kind::Free => Touch::Releases,
        Kind::Write | Kind::Exchange | Kind::Move | Kind::Address(Loan::Exclusive) | Kind::End => Touch::Changes,
        Kind::Read
        | Kind::Copy
        | Kind::Step
        | Kind::Address(Loan::Shared)
        | Kind::Lend(_)
        | Kind::Begin
        | Kind::Mention => Touch::Keeps,
    }
}

/// Whether the access leaves all as it is that owns and that others can reach.
fn keeps_slots(program: &Program, body: &Body, place: &Place, kind: Kind) -> bool {
    match touch(kind) {
        Touch::Releases => false,
        Touch::Changes => {
            let alone = |local: Local| body.locals.get(local.0 as usize).is_some_and(|decl| !decl.address_taken);
            place.local_part().is_some_and(alone)
                || !place_ty(program, body, place).map_or(true, |q| owns(&program.types, q.ty))
        }
        Touch::Keeps => true,
    }
}
