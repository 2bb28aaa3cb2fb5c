//! String objects that are checked where they are used.
//!
//! Lattices: the locals that every path uses before it replaces them (backward; join: intersection), and
//! those that may hold what was not checked (forward; join: union). Needs: nothing. Changes: where checks
//! of string objects stand. Guarantees: wherever a local is used it was checked since it got its value.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{accesses, term_accesses};
use mir::ir::*;

use super::{locals_of, named, named_at_end, put, replaces, uses, whole};
use crate::framework::{solve, Analysis, Direction, Item, Point};

/// `u = offset(x, 1); check within(u); to = u`, or by -1, of a local whose address is not taken; `u` is
/// used nowhere else.
struct Move {
    /// The check.
    at: Point,
    to: Local,
}

/// All of them, in order.
fn moves(body: &Body) -> Vec<Move> {
    let decl = |local: Local| body.locals.get(local.0 as usize);
    let mut found = vec![];
    for (n, block) in body.blocks.iter().enumerate() {
        for (stmt, three) in block.stmts.windows(3).enumerate() {
            let [moved, checked, stored] = three else { continue };
            let Some(of) = checked.kind.as_check().and_then(Check::as_within).and_then(whole) else { continue };
            let Some((dest, value)) = stored.kind.as_assign() else { continue };
            let Some(to) = dest.as_local().filter(|to| *to != of) else { continue };
            let offset = moved.kind.assigned_to(of).and_then(Rvalue::as_offset).is_some_and(|(_, by)| is_one(by));
            let own = decl(to).is_some_and(|decl| !decl.address_taken);
            let passes = decl(of).is_some_and(|decl| decl.kind == LocalKind::Temp && !decl.address_taken);
            let is_unsafe = three.iter().any(|stmt| stmt.is_unsafe);
            if offset && own && passes && !is_unsafe && value.as_use().and_then(whole) == Some(of) {
                found.push((Move { at: Point { block: BlockId(n as u32), stmt: stmt + 1 }, to }, of));
            }
        }
    }
    if found.is_empty() {
        return vec![];
    }
    let mut times = vec![0_u32; body.locals.len()];
    let mut count = |place: &Place| {
        for local in locals_of(place) {
            if let Some(times) = times.get_mut(local.0 as usize) {
                *times += 1;
            }
        }
    };
    for block in &body.blocks {
        block.stmts.iter().for_each(|stmt| accesses(&stmt.kind, &mut |place, _, _| count(place)));
        term_accesses(&block.term.kind, &mut |place, _, _| count(place));
    }
    found.retain(|(_, of)| times.get(of.0 as usize) == Some(&3));
    found.into_iter().map(|(found, _)| found).collect()
}

/// Takes away the checks that some path does not need, and puts others in front of uses.
pub(super) fn run(body: &mut Body) {
    let mut moves = moves(body);
    if moves.is_empty() {
        return;
    }
    let cfg = Cfg::new(body);
    let all: Vec<Point> = moves.iter().map(|one| one.at).collect();
    let mut wanted = BitSet::empty(body.locals.len());
    for one in &moves {
        wanted.insert(one.to.0 as usize);
    }
    let sure = SurelyUsed { body, all: &all, wanted: &wanted };
    let results = solve(&sure, body, &cfg);
    // Where no path ends nothing is known.
    let is_sure =
        |one: &Move| results.at(&sure, body, one.stored()).is_none_or(|used| used.contains(one.to.0 as usize));
    moves.retain(|one| !is_sure(one));
    if moves.is_empty() {
        return;
    }
    let open = Open { body, all: &all, wanted: &wanted, moves: &moves };
    let results = solve(&open, body, &cfg);
    let mut changes: Vec<(Point, Option<Stmt>)> = moves.iter().map(|one| (one.at, None)).collect();
    results.visit(&open, body, &mut |at, state, item| {
        let (used, span) = match item {
            Item::Stmt(stmt) => (used(body, &all, state, at, stmt), stmt.span),
            Item::Term(term) => (named_at_end(state, term), term.span),
        };
        changes.extend(used.into_iter().map(|local| {
            let kind = StmtKind::Check(Check::Within(Operand::local(local)));
            (at, Some(Stmt { kind, span, is_unsafe: false }))
        }));
    });
    put(body, changes);
}

impl Move {
    /// Where the local gets the value.
    fn stored(&self) -> Point {
        Point { stmt: self.at.stmt + 1, ..self.at }
    }
}

/// The locals of the set that a statement uses for more than a step whose result is checked.
fn used(body: &Body, all: &[Point], set: &BitSet, at: Point, stmt: &Stmt) -> Vec<Local> {
    let mut found = named(set, &stmt.kind);
    found.retain(|local| uses(&stmt.kind, *local) && !is_step(body, all, at, stmt, *local));
    found
}

/// 1 or -1.
fn is_one(by: &Operand) -> bool {
    matches!(by, Operand::Const(Const::Int(1 | -1, _)))
}

/// `u = offset(local, n); check within(u);`
fn is_step(body: &Body, all: &[Point], at: Point, stmt: &Stmt, local: Local) -> bool {
    let Some((to, value)) = stmt.kind.as_assign() else { return false };
    let Some((pointer, by)) = value.as_offset().filter(|_| !stmt.is_unsafe) else { return false };
    let next = body.blocks.get(at.block.0 as usize).and_then(|block| block.stmts.get(at.stmt + 1));
    let checked = next.and_then(|next| next.kind.as_check()?.as_within().and_then(whole));
    let apart = by.place().and_then(Place::base_local) != Some(local);
    // What may stay unchecked itself begins where the string is: so it is one element outside at most.
    let stays = all.contains(&Point { stmt: at.stmt + 1, ..at });
    whole(pointer) == Some(local) && apart && !stays && checked.is_some() && checked == to.as_local()
}

/// Which locals every path uses before they get another value.
struct SurelyUsed<'a> {
    body: &'a Body,
    /// All checks that may go.
    all: &'a [Point],
    wanted: &'a BitSet,
}

impl Analysis for SurelyUsed<'_> {
    type State = BitSet;
    const DIRECTION: Direction = Direction::Backward;

    fn entry(&self) -> BitSet {
        BitSet::empty(self.body.locals.len())
    }

    fn join(&self, into: &mut BitSet, from: &BitSet, _rounds: u32) -> bool {
        into.intersect(from)
    }

    fn statement(&self, state: &mut BitSet, at: Point, stmt: &Stmt) {
        for local in named(self.wanted, &stmt.kind) {
            if replaces(&stmt.kind, local) {
                state.remove(local.0 as usize);
            }
        }
        for local in used(self.body, self.all, self.wanted, at, stmt) {
            state.insert(local.0 as usize);
        }
    }

    fn terminator(&self, state: &mut BitSet, _at: Point, term: &Terminator) {
        for local in named_at_end(self.wanted, term) {
            state.insert(local.0 as usize);
        }
    }
}

/// Which locals may hold what was not checked.
struct Open<'a> {
    body: &'a Body,
    /// All checks that may go.
    all: &'a [Point],
    wanted: &'a BitSet,
    moves: &'a [Move],
}

impl Analysis for Open<'_> {
    type State = BitSet;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> BitSet {
        BitSet::empty(self.body.locals.len())
    }

    fn join(&self, into: &mut BitSet, from: &BitSet, _rounds: u32) -> bool {
        into.union(from)
    }

    fn statement(&self, state: &mut BitSet, at: Point, stmt: &Stmt) {
        for local in used(self.body, self.all, state, at, stmt) {
            state.remove(local.0 as usize);
        }
        for local in named(self.wanted, &stmt.kind) {
            if replaces(&stmt.kind, local) {
                state.remove(local.0 as usize);
            }
        }
        // In order of where they are.
        if let Ok(n) = self.moves.binary_search_by_key(&at, Move::stored) {
            if let Some(one) = self.moves.get(n) {
                state.insert(one.to.0 as usize);
            }
        }
    }

    fn terminator(&self, state: &mut BitSet, _at: Point, term: &Terminator) {
        for local in named_at_end(state, term) {
            state.remove(local.0 as usize);
        }
    }
}
