//! Functions of the file that return a pointer to what a slot holds: `find`, and getters of what is
//! owned.
//!
//! A *lender* is a `static` function that is a leaf, whose address is not taken, and whose result
//! may come from a loan of what a slot holds. Its body may return that loan, for nothing is freed
//! up to its end. The result of a call is a loan in turn, in force like that of a variable that
//! looks at what a slot holds: up to the next statement that may change owners anywhere
//! (`ownership/slots.rs`). It may also be what an argument points to, and keeps the argument's loans
//! (`carried`), so that what is lent to the call stays lent as long as the result is used.
//!
//! Whether a function is one is asked of its statements, before regions are solved: callers need to
//! know. What a lender may return is asked of the solved regions (`regions/calls.rs`), so a body
//! that is missed here gets a report, and nothing more.
//!
//! A result that is not a pointer to `const` data may be written through. So an argument of such a
//! lender is lent as to any function that writes: not beside views. A function that
//! is passed a view itself is not a lender.
//!
//! Needs: bodies as written, leaves. Changes (`lend_for_writing`): borrows that only read, of
//! arguments for lenders.

use mir::effects::{functions, stmt_places, Access};
use mir::ir::*;
use mir::ty::{operand_ty, owns, place_ty, prefix_ty};
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::{BorrowKind, FuncId, Function, Linkage};
use typing::types::{FuncTy, Own, Pointer, Region, Ty, TyKind};

use crate::framework::{count_work, whole_local};
use crate::leaf::Leaves;

/// The lenders of the file.
#[derive(Debug, Default)]
pub struct Lenders {
    functions: FxHashSet<FuncId>,
}

impl Lenders {
    /// Looks at all bodies as written.
    pub fn new(program: &Program, leaves: &Leaves) -> Lenders {
        let mut may_be = candidates(program, leaves);
        if may_be.is_empty() {
            return Lenders::default();
        }
        let others = others(program);
        may_be.retain(|function| !others.contains(function));
        let bodies: Vec<&Body> = program.bodies.iter().filter(|body| may_be.contains(&body.func.func)).collect();
        let mut results: FxHashMap<FuncId, u64> = FxHashMap::default();
        loop {
            let mut changed = false;
            for body in &bodies {
                let from = Follow { program, body, results: &results }.returned();
                changed |= from != results.insert(body.func.func, from).unwrap_or(0);
            }
            if !changed {
                break;
            }
        }
        let lends = results.into_iter().filter(|(_, from)| from & LENT != 0);
        Lenders { functions: lends.map(|(function, _)| function).collect() }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Whether the function is one.
    pub(crate) fn contains(&self, function: FuncId) -> bool {
        self.functions.contains(&function)
    }

    /// Whether what is called is one.
    pub(crate) fn calls(&self, callee: &Callee) -> bool {
        match callee {
            Callee::Direct(function) => self.contains(function.func),
            Callee::Pointer(_) | Callee::Builtin(_) | Callee::Start(_) | Callee::Spawn(..) => false,
        }
    }

    /// Arguments of lenders that are lent to be read are lent to be written through, where the
    /// result may be.
    pub(crate) fn lend_for_writing(&self, program: &mut Program) {
        let mut changed = vec![];
        for (n, body) in program.bodies.iter().enumerate().filter(|(_, body)| !self.is_empty() && !body.unchecked) {
            each_argument(program, body, &|callee| self.calls(callee), &mut |_, sources| {
                let reads = |source: &&Source| source.kind.is_some_and(BorrowKind::is_read_only) && !source.is_view;
                changed.extend(sources.iter().filter(reads).map(|source| (n, source.at)));
            });
        }
        for (n, (block, stmt)) in changed {
            let stmts = program.bodies.get_mut(n).and_then(|body| body.blocks.get_mut(block)).map(|b| &mut b.stmts);
            let Some(stmt) = stmts.and_then(|stmts| stmts.get_mut(stmt)) else { continue };
            let kind = stmt.kind.as_assign_mut().and_then(|(_, value)| value.borrow_kind_mut());
            let Some(kind) = kind else { continue };
            *kind = if kind.by_address() { BorrowKind::Slot } else { BorrowKind::Shared };
        }
    }
}

/// Whether a lender's result may be, or may hold, what the parameter points to, and what was lent
/// for the argument.
pub(crate) fn carried(program: &Program, func: &FuncTy, n: usize) -> Option<Region> {
    let param = func.params.get(n).filter(|param| !param.consume)?;
    let p = program.types.as_pointer(param.ty).filter(|p| !p.raw && program.types.has_pointers(p.target.ty))?;
    let lends = match p.own {
        Own::Shared => true,
        Own::View => is_read_only(program, func.ret),
        Own::Unique | Own::Rc | Own::Any | Own::Param(_) => false,
    };
    lends.then_some(p.region)
}

/// Whether the loan of a lender's body may be returned: it lends what a slot holds, to which a
/// shared pointer, a view or a global leads. `place` is what the loan's place stands for.
pub(crate) fn may_return(program: &Program, body: &Body, kind: BorrowKind, place: &Place) -> bool {
    let lends = kind.lends_shared() || kind == BorrowKind::View;
    let by_others = |n: usize| {
        let own = prefix_ty(program, body, place, n).ok().and_then(|q| program.types.as_pointer(q.ty)).map(|p| p.own);
        matches!(own, Some(Own::Shared | Own::View))
    };
    let is_cursor = place.base_local().is_some_and(|l| crate::ownership::paths::cursors(body).contains(&l));
    let derefs = place.proj.iter().enumerate().filter(|(_, step)| **step == Proj::Deref);
    lends && !is_cursor && (place.base_local().is_none() || derefs.map(|(n, _)| n).any(by_others))
}

/// Whether nothing that matters to owners or views can be written through a pointer of the type.
pub(crate) fn is_read_only(program: &Program, ty: Ty) -> bool {
    let types = &program.types;
    types.as_pointer(ty).is_some_and(|p| p.target.quals.is_const && !owns(types, p.target.ty))
}

/// The functions that may be lenders as far as their types and their own statements say.
fn candidates(program: &Program, leaves: &Leaves) -> FxHashSet<FuncId> {
    // Another name of a function makes it one that other files call.
    let has_alias = |f: &Function| f.attrs.iter().any(|a| a.contains("alias") || a.contains("ifunc"));
    if program.functions.iter().any(has_alias) {
        return FxHashSet::default();
    }
    let lends = |p: &Pointer| {
        let is_object = !matches!(program.types.kind(p.target.ty), TyKind::Func(_) | TyKind::Void);
        is_object && p.own == Own::Shared && !p.raw && p.region == Region::Heap
    };
    let may_be = |body: &&Body| {
        let Some(function) = program.functions.get(body.func.func.0 as usize) else { return false };
        let func = program.types.as_func(function.ty);
        let returns = func.is_some_and(|f| {
            f.into.is_none() && f.end_into.is_none() && program.types.as_pointer(f.ret).is_some_and(|p| lends(&p))
        });
        let known = function.linkage == Linkage::Internal && function.type_params == 0 && !function.is_process;
        returns && known && leaves.contains(&Callee::Direct(body.func.clone()))
    };
    program.bodies.iter().filter(may_be).map(|body| body.func.func).collect()
}

/// Functions that are more than called, and those whose result may be written through that get a
/// view: what their callers know of them is their type.
fn others(program: &Program) -> FxHashSet<FuncId> {
    let mut others = FxHashSet::default();
    for init in program.globals.iter().filter_map(|global| global.init.as_ref()) {
        init.each_function(&mut |function| _ = others.insert(function.func));
    }
    for body in &program.bodies {
        functions(body, &mut |function, called| {
            if !called {
                others.insert(function.func);
            }
        });
        each_argument(program, body, &|_| true, &mut |callee, sources| {
            if let (Callee::Direct(function), true) = (callee, sources.iter().any(|source| source.is_view)) {
                others.insert(function.func);
            }
        });
    }
    others
}

/// What a value may come from: a loan of something owned, or a view of it.
const LENT: u64 = 1;

/// What parameter `n` points to.
fn parameter(n: usize) -> u64 {
    if n < 63 {
        2 << n
    } else {
        0
    }
}

/// Follows what the result of a body comes from, whatever the order of its statements.
struct Follow<'a> {
    program: &'a Program,
    body: &'a Body,
    /// By function: what its result comes from, as far as is known.
    results: &'a FxHashMap<FuncId, u64>,
}

impl Follow<'_> {
    fn returned(&self) -> u64 {
        let mut from = vec![0; self.body.locals.len()];
        for (n, from) in from.iter_mut().enumerate().take(self.body.params as usize) {
            *from = parameter(n);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in &self.body.blocks {
                count_work(block.stmts.len());
                for stmt in &block.stmts {
                    let (dest, of) = match (stmt.kind.as_assign(), stmt.kind.as_call()) {
                        (Some((dest, value)), _) => (Some(dest), self.value(&from, value)),
                        (None, Some(call)) => (call.dest.as_ref(), self.call(&from, &call)),
                        (None, None) => continue,
                    };
                    let local = dest.and_then(Place::base_local).and_then(|local| from.get_mut(local.0 as usize));
                    if let Some(known) = local.filter(|known| **known | of != **known) {
                        *known |= of;
                        changed = true;
                    }
                }
            }
        }
        let returned = self.body.blocks.iter().filter_map(|block| block.term.kind.returned());
        returned.fold(0, |all, operand| all | self.operand(&from, operand))
    }

    fn local(&self, from: &[u64], local: Option<Local>) -> u64 {
        local.and_then(|local| from.get(local.0 as usize)).copied().unwrap_or(0)
    }

    fn value(&self, from: &[u64], value: &Rvalue) -> u64 {
        if let Some((kind, place, _)) = value.as_borrow() {
            let owned = place_ty(self.program, self.body, place).is_ok_and(|q| owns(&self.program.types, q.ty));
            return if !kind.by_address() && !kind.is_look() && owned { LENT } else { 0 };
        }
        if let Some(place) = value.as_address_of() {
            return if place.has_deref() { self.local(from, place.base_local()) } else { 0 };
        }
        value.made_of().map_or(0, |(operand, _)| self.operand(from, operand))
    }

    fn operand(&self, from: &[u64], operand: &Operand) -> u64 {
        let Some(place) = operand.place() else { return 0 };
        if !place.has_deref() {
            return self.local(from, place.base_local());
        }
        let pointer = place_ty(self.program, self.body, place).ok().and_then(|q| self.program.types.as_pointer(q.ty));
        if pointer.is_some_and(|p| p.own == Own::View) {
            LENT
        } else {
            0
        }
    }

    fn call(&self, from: &[u64], call: &Call) -> u64 {
        let Callee::Direct(function) = call.callee else { return 0 };
        let result = self.results.get(&function.func).copied().unwrap_or(0);
        let passed = call.args.iter().enumerate().filter(|(n, _)| result & parameter(*n) != 0);
        passed.fold(result & LENT, |all, (_, arg)| all | self.operand(from, arg))
    }
}

/// A statement that an argument comes from.
struct Source {
    at: (usize, usize),
    /// How it lends.
    kind: Option<BorrowKind>,
    /// What it gives is, or lies behind, a view.
    is_view: bool,
}

/// Shows each argument of calls that count whose loans the result may keep, where the result may be
/// written through: what is called, and where the argument comes from.
fn each_argument(
    program: &Program,
    body: &Body,
    counts: &dyn Fn(&Callee) -> bool,
    see: &mut dyn FnMut(&Callee, &[Source]),
) {
    let mut made: Option<FxHashMap<Local, Vec<(usize, usize)>>> = None;
    for stmt in body.blocks.iter().flat_map(|block| &block.stmts) {
        let Some(call) =
            stmt.kind.as_call().filter(|call| matches!(call.callee, Callee::Direct(_)) && counts(call.callee))
        else {
            continue;
        };
        let Some(func) = program.types.as_func(*call.ty) else { continue };
        let is_pointer = program.types.as_pointer(func.ret).is_some_and(|p| p.own == Own::Shared);
        if !is_pointer || is_read_only(program, func.ret) {
            continue;
        }
        let made = made.get_or_insert_with(|| assigned(body));
        for (_, arg) in call.args.iter().enumerate().filter(|(n, _)| carried(program, &func, *n).is_some()) {
            let mut sources = vec![];
            let is_view = operand_ty(program, body, arg).is_ok_and(|ty| is_view(program, ty));
            if is_view {
                sources.push(Source { at: (0, 0), kind: None, is_view });
            }
            let mut work: Vec<Local> = whole_local(arg).into_iter().collect();
            let mut seen: FxHashSet<Local> = work.iter().copied().collect();
            while let Some(local) = work.pop() {
                for &at in made.get(&local).into_iter().flatten() {
                    let stmt = body.blocks.get(at.0).and_then(|block| block.stmts.get(at.1));
                    let Some(value) = stmt.and_then(|stmt| stmt.kind.value()) else { continue };
                    let (source, from) = source(program, body, at, value);
                    sources.push(source);
                    work.extend(from.filter(|&from| seen.insert(from)));
                }
            }
            see(call.callee, &sources);
        }
    }
}

/// Where the temporaries of a body are assigned.
fn assigned(body: &Body) -> FxHashMap<Local, Vec<(usize, usize)>> {
    let mut made: FxHashMap<Local, Vec<(usize, usize)>> = FxHashMap::default();
    for (b, block) in body.blocks.iter().enumerate() {
        for (n, stmt) in block.stmts.iter().enumerate() {
            let dest = stmt.kind.as_assign().and_then(|(dest, _)| dest.as_local());
            let is_temp = |l: &Local| body.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
            if let Some(local) = dest.filter(is_temp) {
                made.entry(local).or_default().push((b, n));
            }
        }
    }
    made
}

fn is_view(program: &Program, ty: Ty) -> bool {
    program.types.as_pointer(ty).is_some_and(|p| p.own == Own::View)
}

/// What a value that is assigned to a temporary says about the argument that it becomes, and the
/// local that it comes from in turn.
fn source(program: &Program, body: &Body, at: (usize, usize), value: &Rvalue) -> (Source, Option<Local>) {
    let behind_view = |place: &Place| {
        let derefs = place.proj.iter().enumerate().filter(|(_, step)| **step == Proj::Deref);
        let mut pointers = derefs.filter_map(|(n, _)| prefix_ty(program, body, place, n).ok());
        pointers.any(|q| is_view(program, q.ty))
    };
    if let Some((kind, place, ty)) = value.as_borrow() {
        let sees = is_view(program, ty) || kind == BorrowKind::View || behind_view(place);
        let from = place.base_local().filter(|_| place.has_deref());
        return (Source { at, kind: Some(kind), is_view: sees }, from);
    }
    if let Some(place) = value.as_address_of() {
        let from = place.base_local().filter(|_| place.has_deref());
        return (Source { at, kind: None, is_view: behind_view(place) }, from);
    }
    let of = value.made_of().map(|(operand, _)| operand);
    let sees = of.is_some_and(|operand| {
        let behind = operand.place().is_some_and(behind_view);
        behind || operand_ty(program, body, operand).is_ok_and(|ty| is_view(program, ty))
    });
    (Source { at, kind: None, is_view: sees }, of.and_then(whole_local))
}

/// The temporaries that are arguments of leaves, and nothing else.
pub(crate) fn given_to_leaves(program: &Program, leaves: &Leaves, body: &Body) -> FxHashSet<Local> {
    let (mut given, mut others) = (FxHashSet::default(), FxHashSet::default());
    for stmt in body.blocks.iter().flat_map(|block| &block.stmts) {
        let call = stmt.kind.as_call().filter(|call| !stmt.is_unsafe && leaves.is_leaf(program, body, call));
        let args: Vec<Local> = call.iter().flat_map(|call| call.args).filter_map(whole_local).collect();
        stmt_places(&stmt.kind, &mut |place, access| {
            if let Some(local) = place.base_local().filter(|_| access != Access::Write || place.has_deref()) {
                match args.contains(&local) && place.proj.is_empty() {
                    true => given.insert(local),
                    false => others.insert(local),
                };
            }
        });
    }
    for block in &body.blocks {
        mir::effects::term_places(&block.term.kind, &mut |place, _| others.extend(place.base_local()));
    }
    given.retain(|local| {
        let is_temp = body.locals.get(local.0 as usize).is_some_and(|decl| decl.kind == LocalKind::Temp);
        is_temp && !others.contains(local)
    });
    given
}
