//! Definite assignment: every variable is assigned on all paths before it is read.
//!
//! Lattice: the set of *parts* that may be unassigned; join is union. A scalar, a pointer, a key or
//! a value of generic type is one part. An aggregate has parts only if it holds a `nonnull` pointer
//! (all others are zeroed where they are declared): its leaves, up to a limit. Zero bytes assign a
//! part unless they would break a `nonnull`.
//!
//! A number whose address is taken while it is unassigned (`int i; scanf("%d", &i);`) is zeroed
//! where it is declared, so that C's habit compiles and nothing is ever read that was not written;
//! so are nullable pointers. What must not be zero must be assigned first.
//!
//! A loop over constants, `for (i = 0; i < 3; i++)`, runs at least once (`first_test.rs`).
//!
//! Needs: null facts applied (dead branches are gone), constant conditions folded. Changes: adds
//! `Zero` after `StorageLive` as said. Guarantees: each read of a variable that may be unassigned,
//! and each path that lacks a `return`, was reported.

use crate::codes::{MISSING_RETURN, UNINITIALISED};
use crate::first_test;
use crate::framework::{solve, Analysis, Direction, Item, Point};
use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{accesses, stmt_places, term_places, Access, Kind};
use mir::ir::*;
use source::{Diagnostic, Sink, Span};
use typing::types::{ArrayLen, RecordKind, Ty, TyKind, TypeStore};

/// How many leaves of one aggregate are distinguished; one with more must be assigned whole.
const MAX_LEAVES: usize = 1024;
/// Parts of parts of parts are distinguished to this depth.
const MAX_PATH: usize = 16;

/// A part of a variable that is assigned or not.
#[derive(Clone, Debug)]
struct Leaf {
    /// Fields and constant indices from the variable.
    path: Vec<u64>,
    /// Whether zero bytes will not do.
    nonzero: bool,
    /// An untagged union, which any of its members assigns.
    is_union: bool,
}

/// The parts of all variables of a body, numbered.
struct Parts {
    leaves: Vec<Leaf>,
    /// By local: the numbers of its leaves.
    ranges: Vec<std::ops::Range<usize>>,
}

impl Parts {
    fn new(program: &Program, body: &Body) -> Parts {
        let mut parts = Parts { leaves: vec![], ranges: vec![] };
        for decl in &body.locals {
            let start = parts.leaves.len();
            if decl.kind == LocalKind::Var && is_tracked(&program.types, decl.ty.ty) {
                let mut found = vec![];
                leaves(&program.types, decl.ty.ty, &mut vec![], &mut found);
                if found.len() > MAX_LEAVES {
                    let nonzero = must_not_be_zero(&program.types, decl.ty.ty);
                    found = vec![Leaf { path: vec![], nonzero, is_union: false }];
                }
                parts.leaves.extend(found);
            }
            parts.ranges.push(start..parts.leaves.len());
        }
        parts
    }

    fn of(&self, local: Local) -> std::ops::Range<usize> {
        self.ranges.get(local.0 as usize).cloned().unwrap_or(0..0)
    }

    /// The leaves that the place covers or lies in. If an index in it is not constant, all leaves
    /// that it may select are meant; then `exact` is false: writing it assigns none of them.
    fn within<'a>(&'a self, place: &'a Place, local: Local) -> (impl Iterator<Item = usize> + 'a, bool) {
        let mut path = vec![];
        let mut exact = true;
        for step in &place.proj {
            match step {
                Proj::Field(n) => path.push(u64::from(*n)),
                Proj::Index(Operand::Const(Const::Int(n, _))) => path.push(u64::try_from(*n).unwrap_or(u64::MAX)),
                Proj::Index(_) => {
                    exact = false;
                    break;
                }
                Proj::Deref => break,
            }
        }
        let leaves = self
            .of(local)
            .filter(move |&n| self.leaves.get(n).is_some_and(|leaf| leaf.path.iter().zip(&path).all(|(a, b)| a == b)));
        (leaves, exact)
    }

    /// Whether writing the place assigns the whole leaf.
    fn covers(&self, place: &Place, leaf: usize) -> bool {
        self.leaves.get(leaf).is_some_and(|leaf| leaf.is_union || place.proj.len() <= leaf.path.len())
    }

    /// The number that says of a leaf whether not even zeros are there, which is all that a drop
    /// asks for.
    fn garbage(&self, leaf: usize) -> usize {
        self.leaves.len() + leaf
    }

    fn nonzero(&self, leaf: usize) -> bool {
        self.leaves.get(leaf).is_some_and(|leaf| leaf.nonzero)
    }
}

/// Scalars, pointers, keys, ends of channels, generic values, and aggregates with a `nonnull` part.
fn is_tracked(types: &TypeStore, ty: Ty) -> bool {
    mir::ty::is_scalar(types, ty)
        || matches!(types.kind(ty), TyKind::Param(_) | TyKind::Endpoint(_) | TyKind::EndSet(_) | TyKind::Key(..))
        || must_not_be_zero(types, ty)
}

/// Whether zero bytes are not a valid value of the type. They are one of every type parameter: no
/// type argument has a `nonnull` part (`check_type_argument` in `typing/records.rs`).
fn must_not_be_zero(types: &TypeStore, ty: Ty) -> bool {
    mir::ty::has_nonnull(types, ty)
}

fn leaves(types: &TypeStore, ty: Ty, path: &mut Vec<u64>, out: &mut Vec<Leaf>) {
    if out.len() > MAX_LEAVES {
        return;
    }
    let nonzero = must_not_be_zero(types, ty);
    if path.len() >= MAX_PATH {
        // Deeper parts are assigned together.
        out.push(Leaf { path: path.clone(), nonzero, is_union: false });
        return;
    }
    let whole = |is_union| Leaf { path: path.clone(), nonzero, is_union };
    let inner = |index: u64, part: Ty, path: &mut Vec<u64>, out: &mut Vec<Leaf>| {
        path.push(index);
        leaves(types, part, path, out);
        path.pop();
    };
    match types.kind(ty) {
        TyKind::Record(r) => {
            let Some(record) = types.records.get(r.0 as usize) else { return };
            match &record.fields {
                Some(fields) if record.kind == RecordKind::Struct => {
                    for (n, field) in fields.iter().enumerate() {
                        inner(n as u64, field.ty.ty, path, out);
                    }
                }
                // A tagged union is assigned whole or by its tag, which comes with the member.
                _ => out.push(whole(record.kind == RecordKind::Union)),
            }
        }
        TyKind::Array { elem, len: ArrayLen::Const(n), .. } => {
            for index in 0..(*n).min(MAX_LEAVES as u64 + 1) {
                inner(index, elem.ty, path, out);
            }
        }
        _ => out.push(whole(false)),
    }
}

struct Initialised<'a> {
    parts: &'a Parts,
}

impl Initialised<'_> {
    fn write(&self, state: &mut BitSet, place: &Place, zero: bool) {
        let Some(local) = place.local_part() else { return };
        let (leaves, exact) = self.parts.within(place, local);
        if !exact {
            return;
        }
        for leaf in leaves {
            if self.parts.covers(place, leaf) {
                state.remove(self.parts.garbage(leaf));
                if !(zero && self.parts.nonzero(leaf)) {
                    state.remove(leaf);
                }
            }
        }
    }
}

impl Analysis for Initialised<'_> {
    type State = BitSet;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> BitSet {
        BitSet::full(2 * self.parts.leaves.len())
    }

    fn join(&self, into: &mut BitSet, from: &BitSet, _rounds: u32) -> bool {
        into.union(from)
    }

    fn statement(&self, state: &mut BitSet, _at: Point, stmt: &Stmt) {
        let zeros = stmt.kind.as_zero().is_some();
        accesses(&stmt.kind, &mut |place, kind, _| {
            if let (Kind::Begin, Some(local)) = (kind, place.as_local()) {
                for leaf in self.parts.of(local) {
                    state.insert(leaf);
                    state.insert(self.parts.garbage(leaf));
                }
            }
            for access in kind.accesses() {
                match access {
                    Access::Write => self.write(state, place, zeros),
                    // `&x` of an unassigned variable: zeroed at its declaration, or reported right
                    // there.
                    Access::Address => {
                        if let Some(local) = place.local_part() {
                            self.parts.of(local).for_each(|leaf| {
                                state.remove(leaf);
                                state.remove(self.parts.garbage(leaf));
                            });
                        }
                    }
                    Access::Read | Access::Move => {}
                }
            }
        });
    }
}

/// A variable that is used too early.
#[derive(Clone, Copy, Debug)]
struct Early {
    local: Local,
    span: Span,
    /// Its address is taken there, and it must not be zero.
    address: bool,
}

/// Looks at every statement that control gets to.
struct Walk<'a> {
    parts: &'a Parts,
    early: Vec<Early>,
    /// Variables to be zeroed where they are declared.
    zeroed: BitSet,
}

impl Walk<'_> {
    fn read(&mut self, state: &BitSet, place: &Place, span: Span) {
        self.needs(place, span, |leaf| state.contains(leaf));
    }

    /// The place must have no part that lacks something.
    fn needs(&mut self, place: &Place, span: Span, lacks: impl Fn(usize) -> bool) {
        let Some(local) = place.base_local() else { return };
        let (mut leaves, _) = self.parts.within(place, local);
        if leaves.any(lacks) {
            drop(leaves);
            self.early.push(Early { local, span, address: false });
        }
    }

    fn address(&mut self, state: &BitSet, place: &Place, stmt: &Stmt) {
        let Some(local) = place.local_part() else {
            return self.read(state, place, stmt.span);
        };
        let open: Vec<usize> = self.parts.of(local).filter(|&leaf| state.contains(leaf)).collect();
        if open.iter().any(|&leaf| self.parts.nonzero(leaf)) {
            if !stmt.is_unsafe {
                self.early.push(Early { local, span: stmt.span, address: true });
            }
        } else if !open.is_empty() {
            self.zeroed.insert(local.0 as usize);
        }
    }

    fn stmt(&mut self, state: &BitSet, stmt: &Stmt) {
        if let Some(slot) = stmt.kind.as_drop_slot().filter(|slot| !slot.has_deref()) {
            let parts = self.parts;
            return self.needs(slot, stmt.span, |leaf| state.contains(parts.garbage(leaf)));
        }
        stmt_places(&stmt.kind, &mut |place, access| match access {
            Access::Address => self.address(state, place, stmt),
            _ if stmt.is_unsafe => {}
            Access::Read | Access::Move => self.read(state, place, stmt.span),
            // The pointer that a store goes through is read.
            Access::Write if place.has_deref() => self.read(state, place, stmt.span),
            Access::Write => {}
        });
    }
}

/// Checks one body; adds to `reported` the variables that were reported.
pub fn run(program: &Program, body: &mut Body, sink: &mut Sink, reported: &mut BitSet) {
    let parts = Parts::new(program, body);
    let entered = first_test::passed(&program.types, body);
    let paths: &Body = entered.as_ref().unwrap_or(body);
    let analysis = Initialised { parts: &parts };
    let results = solve(&analysis, paths, &Cfg::new(paths));
    let mut walk = Walk { parts: &parts, early: vec![], zeroed: BitSet::empty(body.locals.len()) };
    let mut exits = vec![];
    results.visit(&analysis, paths, &mut |_, state, item| match item {
        Item::Stmt(stmt) => walk.stmt(state, stmt),
        Item::Term(term) => {
            term_places(&term.kind, &mut |place, _| walk.read(state, place, term.span));
            if term.kind.leaves() {
                exits.push((term.kind.misses_return(), term.span));
            }
        }
    });
    let Walk { mut early, zeroed, .. } = walk;
    early.sort_by_key(|e| (e.span, e.local));
    for found in early.iter().filter(|_| !source::broken!(34)) {
        if reported.insert(found.local.0 as usize) {
            sink.push(report(body, found));
        }
    }
    report_exits(program, body, &exits, sink);
    zero_declarations(body, &zeroed);
}

fn report(body: &Body, early: &Early) -> Diagnostic {
    let decl = body.locals.get(early.local.0 as usize);
    let name = decl.and_then(|d| d.name);
    let what = name.map_or("the variable".to_string(), |n| format!("`{n}`"));
    let ways = if is_written(body, early.local) { " on every path here" } else { "" };
    let message = if early.address {
        format!("{what} holds a `nonnull` pointer and is not initialised{ways}, so its address cannot be taken yet")
    } else {
        format!("{what} is not initialised{ways}")
    };
    let within = |use_: &&Span| early.span.holds(**use_);
    let span = decl.and_then(|decl| decl.uses.iter().find(within)).copied().unwrap_or(early.span);
    let mut diagnostic = Diagnostic::error(UNINITIALISED, span, message);
    if let Some(decl) = decl {
        let text = if is_jumped_over(body, early) {
            format!("{what} is declared here, and some path jumps over the value that it gets")
        } else {
            format!("{what} is declared here without a value")
        };
        diagnostic = diagnostic.label(decl.span, text);
    }
    diagnostic.help("give it a value where it is declared, or on every path to this use")
}

/// Whether a variable gets its value without a branch after it comes to life, before the use: then
/// only a jump leads past that.
fn is_jumped_over(body: &Body, early: &Early) -> bool {
    body.blocks.iter().any(|block| {
        let is_birth = |s: &Stmt| s.kind.begins() == Some(early.local);
        let mut from_birth = block.stmts.iter().skip_while(|s| !is_birth(s));
        from_birth.any(|s| s.kind.assigned_to(early.local).is_some() && s.span.hi <= early.span.lo)
    })
}

fn is_written(body: &Body, local: Local) -> bool {
    let mut written = false;
    for stmt in body.blocks.iter().flat_map(|block| &block.stmts) {
        stmt_places(&stmt.kind, &mut |place, access| {
            written |= access == Access::Write && place.local_part() == Some(local);
        });
    }
    written
}

fn report_exits(program: &Program, body: &Body, exits: &[(bool, Span)], sink: &mut Sink) {
    let Some(function) = program.functions.get(body.func.func.0 as usize) else { return };
    let noreturn = matches!(program.types.kind(function.ty), TyKind::Func(f) if f.noreturn);
    if let Some((_, span)) = exits.iter().find(|(missing, _)| noreturn || *missing) {
        let name = function.name;
        let diagnostic = if noreturn {
            Diagnostic::error(MISSING_RETURN, *span, format!("`{name}` is declared `noreturn`, but returns here"))
                .help("end it with a call that does not return, or drop `noreturn`")
        } else {
            Diagnostic::error(MISSING_RETURN, *span, format!("`{name}` ends here without returning a value"))
                .help("add a `return`")
        };
        sink.push(diagnostic.label(body.span, format!("`{name}` is defined here")));
    }
}

/// Zeroes variables where they come to life, or at entry if nothing says where.
fn zero_declarations(body: &mut Body, zeroed: &BitSet) {
    let mut at_entry = zeroed.clone();
    let declared = |s: &Stmt| s.kind.begins().filter(|l| zeroed.contains(l.0 as usize));
    for block in &mut body.blocks {
        if !block.stmts.iter().any(|s| declared(s).is_some()) {
            continue;
        }
        let mut stmts = Vec::with_capacity(block.stmts.len() + 1);
        for stmt in block.stmts.drain(..) {
            let zero = declared(&stmt).map(|local| (local, stmt.span));
            stmts.push(stmt);
            if let Some((local, span)) = zero {
                at_entry.remove(local.0 as usize);
                stmts.push(Stmt { kind: StmtKind::Zero(Place::local(local)), span, is_unsafe: false });
            }
        }
        block.stmts = stmts;
    }
    if let Some(entry) = body.blocks.first_mut() {
        for local in at_entry.iter() {
            let kind = StmtKind::Zero(Place::local(Local(local as u32)));
            entry.stmts.insert(0, Stmt { kind, span: body.span, is_unsafe: false });
        }
    }
}
