//! A path that was moved to a local is read as that local: in `t = head; head = head->next;` the
//! second `head` on the right stands for `t`.
//!
//! After `t = p`, where the owned pointer `p` is a path and `t` a local, both hold the same words,
//! until one of the two changes. If `p` is certain to get a new value next, whatever branches are
//! taken (`stored.rs`), what looks at `p` up to there, or goes through it, is changed to do so with
//! `t`, which owns the object now. What a slot holds is taken likewise, if the slot is stored to
//! before anything can look at it (`taken.rs`). All that comes after this pass (null facts,
//! ownership, the second verifier, the oracle, emission) sees only that, and needs no rule of its
//! own: this pass makes no program valid that does not say so with `t` itself, and `:=:`.
//!
//! Lattice: the set of pairs of a path and the local that it was moved to. Join: intersection. And
//! the set of slots that are taken and not stored to yet. Join: union.
//!
//! Needs: nothing. Changes: places in operands, checks, values and destinations; a move out of a
//! slot becomes an exchange with null. Guarantees: a place is replaced only where the pointer in the
//! new one is the same.

mod elements;
mod later;
mod popped;
mod shifted;
mod stored;
mod taken;

use mir::cfg::Cfg;
use mir::effects::{accesses, parts_mut, term_accesses, term_parts_mut, Kind, PartMut};
use mir::ir::*;
use mir::ty::{owns, place_ty};
use rustc_hash::FxHashSet;
use typing::types::{Qty, Ty};

use crate::framework::{count_work, points, solve, Analysis, Direction, Edge, Item, Point};
use crate::leaf::Leaves;
use crate::ownership::paths::{cursors, is_kept};
use elements::Elements;
use stored::Stored;
pub(crate) use taken::{changes, changes_local, tested_pointer};
use taken::{Gone, Take};

/// Paths and the locals that they were moved to, in order.
type Pairs = Vec<(Place, Local)>;

/// What is known at a point.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    pairs: Pairs,
    taken: Vec<Take>,
}

struct Moved<'a> {
    program: &'a Program,
    leaves: &'a Leaves,
    body: &'a Body,
    cursors: FxHashSet<Local>,
    /// Moves out of slots that may be exchanges.
    takes: FxHashSet<Point>,
    stored: Stored,
    elements: Elements,
}

/// A change of a body.
enum Change {
    Stmt(StmtKind),
    Term(TermKind),
    /// The slot is exchanged with the path, which is null before.
    Exchange(Place, Place),
    /// The same with a temporary, from which a pointer with bounds is made, or which moves on.
    Next(Place),
    /// What the slot holds is freed, and the slot is null.
    Clear(Place),
}

/// At most so many moves of one body are made later.
const LATER: usize = 8;

/// Replaces the places of one body.
pub(crate) fn run(program: &Program, leaves: &Leaves, body: &mut Body) {
    if !cursors(body).is_empty() {
        for _ in 0..LATER {
            match Moved::new(program, leaves, body).later_at_cursor() {
                Some(new) => *body = new,
                None => break,
            }
        }
    }
    let (mut changes, mut refused) = find(program, leaves, body);
    for _ in 0..LATER {
        if refused.is_empty() {
            break;
        }
        let moved = Moved::new(program, leaves, body);
        let better = refused.iter().find_map(|&at| {
            let body = moved.later(at)?;
            let (changes, others) = find(program, leaves, &body);
            (others.len() < refused.len()).then_some((body, changes, others))
        });
        let Some((new, new_changes, others)) = better else { break };
        (*body, changes, refused) = (new, new_changes, others);
    }
    // From the last on: an exchange is one statement more.
    changes.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, change) in changes {
        match change {
            Change::Stmt(kind) => {
                let block = body.blocks.get_mut(at.block.0 as usize);
                if let Some(stmt) = block.and_then(|block| block.stmts.get_mut(at.stmt)) {
                    stmt.kind = kind;
                }
            }
            Change::Term(kind) => {
                if let Some(block) = body.blocks.get_mut(at.block.0 as usize) {
                    block.term.kind = kind;
                }
            }
            Change::Exchange(to, slot) => {
                let ty = place_ty(program, body, &to).map(|q| q.ty);
                let block = body.blocks.get_mut(at.block.0 as usize);
                let (Ok(ty), Some(block)) = (ty, block) else { continue };
                let Some(stmt) = block.stmts.get_mut(at.stmt) else { continue };
                let made = take_out(program, ty, &to, &slot);
                let made: Vec<Stmt> = made.into_iter().map(|kind| Stmt { kind, ..stmt.clone() }).collect();
                block.stmts.splice(at.stmt..=at.stmt, made);
            }
            Change::Next(slot) => {
                let ty = place_ty(program, body, &slot);
                let stmt = body.blocks.get(at.block.0 as usize).and_then(|b| b.stmts.get(at.stmt)).cloned();
                let decl = stmt.as_ref().and_then(|s| s.kind.as_assign()).and_then(|(dest, _)| dest.base_local());
                let decl = decl.and_then(|local| body.locals.get(local.0 as usize)).cloned();
                let (Ok(ty), Some(mut stmt), Some(decl)) = (ty, stmt, decl) else { continue };
                let taken = Place::local(Local(body.locals.len() as u32));
                body.locals.push(LocalDecl {
                    name: None,
                    ty: Qty::plain(ty.ty),
                    kind: LocalKind::Temp,
                    heap: false,
                    uses: vec![],
                    ..decl
                });
                let made = take_out(program, ty.ty, &taken, &slot);
                let made: Vec<Stmt> = made.into_iter().map(|kind| Stmt { kind, ..stmt.clone() }).collect();
                parts_mut(&mut stmt.kind, &mut |part| {
                    if let PartMut::Operand(operand @ Operand::Move(_), _) = part {
                        *operand = Operand::Move(taken.clone());
                    }
                });
                if let Some(block) = body.blocks.get_mut(at.block.0 as usize) {
                    block.stmts.splice(at.stmt..=at.stmt, made.into_iter().chain([stmt]));
                }
            }
            Change::Clear(slot) => {
                let ty = place_ty(program, body, &slot).map(|q| q.ty);
                let block = body.blocks.get_mut(at.block.0 as usize);
                let (Ok(ty), Some(block)) = (ty, block) else { continue };
                let Some(stmt) = block.stmts.get_mut(at.stmt) else { continue };
                stmt.kind = StmtKind::DropSlot(slot.clone());
                let null = Rvalue::Use(Operand::Const(Const::Null(ty)));
                let store = Stmt { kind: StmtKind::Assign(slot, null), ..stmt.clone() };
                block.stmts.insert(at.stmt + 1, store);
            }
        }
    }
}

/// Exchanges what is in the slot with nothing, which the path gets before.
fn take_out(program: &Program, ty: Ty, to: &Place, slot: &Place) -> Vec<StmtKind> {
    match program.types.as_pointer(ty) {
        Some(_) => {
            let null = Rvalue::Use(Operand::Const(Const::Null(ty)));
            vec![StmtKind::Assign(to.clone(), null), StmtKind::Exchange(to.clone(), slot.clone())]
        }
        None => taken::struct_taken(program, ty, to, slot),
    }
}

/// The changes to one body, and the moves out of slots that are refused: the slot could be seen empty.
fn find(program: &Program, leaves: &Leaves, body: &Body) -> (Vec<(Point, Change)>, Vec<Point>) {
    let mut moved = Moved::new(program, leaves, body);
    moved.takes = moved.find_takes();
    let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
    let mut paths: Vec<Place> = vec![];
    for (from, _) in stmts.filter_map(|stmt| moved.made(stmt)) {
        if !paths.contains(from) {
            paths.push(from.clone());
        }
    }
    if moved.takes.is_empty() && paths.is_empty() && !points(body).any(|(at, stmt)| moved.shifted(at, stmt).is_some()) {
        return (vec![], vec![]);
    }
    moved.stored = Stored::new(body, paths);
    moved.changes()
}

impl<'a> Moved<'a> {
    fn new(program: &'a Program, leaves: &'a Leaves, body: &'a Body) -> Moved<'a> {
        let cursors = cursors(body).into_iter().collect();
        let (takes, stored, elements) = (FxHashSet::default(), Stored::default(), Elements::new(program, body));
        Moved { program, leaves, body, cursors, takes, stored, elements }
    }
}

impl Moved<'_> {
    fn changes(&mut self) -> (Vec<(Point, Change)>, Vec<Point>) {
        let mut refused = vec![];
        loop {
            let results = solve(&*self, self.body, &Cfg::new(self.body));
            let mut changes: Vec<(Point, Change)> = vec![];
            let mut seen: Vec<Point> = vec![];
            results.visit(&*self, self.body, &mut |at, state, item| {
                count_work(state.pairs.len() + state.taken.len());
                let mut after = state.clone();
                match item {
                    Item::Stmt(stmt) => {
                        match replace(&self.names(state, at), &stmt.kind) {
                            Some(kind) => changes.push((at, Change::Stmt(kind))),
                            None => {
                                let shifted = self.shifted(at, stmt);
                                changes.extend(shifted.map(|slot| (at, Change::Next(slot.clone()))));
                            }
                        }
                        self.step(&mut after, at, stmt, &mut |take| seen.push(take));
                        if let Some((slot, to)) = self.takes.contains(&at).then(|| self.take(at, stmt)).flatten() {
                            changes.push(match stmt.kind.as_assign().and_then(|(_, v)| v.as_make_counted()) {
                                Some(_) => (at, Change::Next(slot.clone())),
                                None => (at, Change::Exchange(to.clone(), slot.clone())),
                            });
                        }
                        // By its new name it is a path, which is freed as it is.
                        let freed = self.takes.contains(&at).then(|| self.freed(stmt)).flatten();
                        let freed = freed.filter(|slot| resolve(&self.names(state, at), slot, false) == **slot);
                        changes.extend(freed.map(|slot| (at, Change::Clear(slot.clone()))));
                    }
                    Item::Term(term) => {
                        changes.extend(
                            replace_term(&self.names(state, at), &term.kind).map(|kind| (at, Change::Term(kind))),
                        );
                        self.leave(&mut after, at, term, &mut |take| seen.push(take));
                    }
                }
            });
            // The slot may be seen empty: the move stays one, and is reported.
            if seen.is_empty() {
                return (changes, refused);
            }
            let new = seen.iter().filter(|at| !refused.contains(*at)).copied().collect::<Vec<_>>();
            refused.extend(new);
            self.takes.retain(|take| !seen.contains(take));
        }
    }

    /// The path that the statement moves, and the local that it goes to.
    fn made<'s>(&self, stmt: &'s Stmt) -> Option<(&'s Place, Local)> {
        let (dest, value) = stmt.kind.as_assign()?;
        let (to, Operand::Move(from)) = (dest.as_local()?, value.as_use()?) else { return None };
        let types = &self.program.types;
        let of = |place: &Place| place_ty(self.program, self.body, place).ok().filter(|q| owns(types, q.ty));
        let (a, b) = (of(from)?, of(dest)?);
        let same = types.as_pointer(a.ty).is_some() && types.same_modulo_regions(a.ty, b.ty);
        let is_local = !self.cursors.contains(&to) && from.base_local() != Some(to);
        let kept = |place: &Place| is_kept(self.program, self.body, &self.cursors, place);
        (same && is_local && kept(from) && kept(dest)).then_some((from, to))
    }

    /// What is read by its old name at the point: a path that gets a new value next, and a slot.
    fn names(&self, state: &State, at: Point) -> Pairs {
        let is_slot = |place: &Place| state.taken.iter().any(|take| take.slot == *place);
        let pairs = state.pairs.iter().filter(|(from, _)| self.stored.contains(at, from) || is_slot(from));
        pairs.cloned().collect()
    }

    /// What a statement does; `seen` is told which taken slots it may look at.
    fn step(&self, state: &mut State, at: Point, stmt: &Stmt, seen: &mut dyn FnMut(Point)) {
        let made = self.made(stmt).map(|(from, to)| (resolve(&self.names(state, at), from, false), to));
        // What was moved to a local that is moved on is where that goes.
        let passed = made.as_ref().and_then(|(from, _)| from.as_local());
        let on: Pairs = match (passed, &made) {
            (Some(local), Some((_, to))) => {
                let held = state.pairs.iter().filter(|(_, at)| *at == local);
                held.map(|(from, _)| (from.clone(), *to)).collect()
            }
            (None, _) | (_, None) => vec![],
        };
        if !state.pairs.is_empty() || !state.taken.is_empty() {
            count_work(state.pairs.len() + state.taken.len());
            let pairs = self.names(state, at);
            self.others_see(state, stmt, seen);
            self.freed_by_name(state, stmt);
            accesses(&stmt.kind, &mut |place, kind, _| {
                let place = resolve(&pairs, place, looks(kind));
                let place = self.elements.place(&place);
                self.seen_by(state, &place, kind, seen);
                // What is dropped in front of the store to a taken slot is null.
                let is_taken = kind == Kind::Drop && state.taken.iter().any(|take| take.slot == place);
                if !is_taken {
                    ends(&mut state.pairs, &place, kind);
                }
            });
            if stmt.is_unsafe {
                // What it reaches through pointers of its own is not known.
                state.pairs.retain(|(from, _)| from.local_part().is_some());
            }
        }
        let new = on.into_iter().chain(made).filter(|(from, to)| from.base_local() != Some(*to));
        state.pairs.extend(new);
        let take = self.takes.contains(&at).then(|| self.take(at, stmt)).flatten();
        if let Some((slot, to)) = take.filter(|(slot, _)| !self.is_popped(at, slot)) {
            let field = self.field(slot);
            let slot = self.elements.place(slot);
            state.taken.push(Take { at, slot: slot.clone(), field, to: Some(to.clone()), gone: Gone::Moved });
            let is_same = stmt.kind.as_assign().is_some_and(|(_, v)| v.as_use().is_some());
            state.pairs.extend(to.as_local().filter(|_| is_same).map(|to| (slot, to)));
        }
        if let Some(slot) = self.takes.contains(&at).then(|| self.freed(stmt)).flatten() {
            // A slot without a name of its own cannot be looked at by one.
            let field = self.field(slot);
            let take = Take { at, slot: self.elements.place(slot), field, to: None, gone: Gone::Freed };
            state.taken.extend((self.is_told_apart(slot) || self.is_tagged(slot)).then_some(take));
        }
    }

    /// What a terminator does.
    fn leave(&self, state: &mut State, at: Point, term: &Terminator, seen: &mut dyn FnMut(Point)) {
        if state.pairs.is_empty() && state.taken.is_empty() {
            return;
        }
        let pairs = self.names(state, at);
        term_accesses(&term.kind, &mut |place, kind, _| {
            let place = self.elements.place(&resolve(&pairs, place, looks(kind)));
            self.seen_by(state, &place, kind, seen);
            ends(&mut state.pairs, &place, kind);
        });
        self.left(state, term, seen);
    }
}

impl Analysis for Moved<'_> {
    type State = State;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> State {
        State::default()
    }

    fn join(&self, into: &mut State, from: &State, _rounds: u32) -> bool {
        let before = into.pairs.len();
        into.pairs.retain(|pair| from.pairs.contains(pair));
        let mut changed = into.pairs.len() != before;
        for take in &from.taken {
            if !into.taken.contains(take) {
                into.taken.push(take.clone());
                changed = true;
            }
        }
        changed
    }

    fn statement(&self, state: &mut State, at: Point, stmt: &Stmt) {
        self.step(state, at, stmt, &mut |_| {});
    }

    fn terminator(&self, state: &mut State, at: Point, term: &Terminator) {
        self.leave(state, at, term, &mut |_| {});
    }

    fn edge(&self, state: &mut State, from: BlockId, _to: BlockId, edge: Edge) -> bool {
        if let Edge::Branch(operand, holds) = edge {
            self.found_null(state, from, operand, holds);
        }
        true
    }
}

/// Whether the access leaves the pointer in the place as it is.
fn looks(kind: Kind) -> bool {
    match kind {
        Kind::Read | Kind::Copy | Kind::Lend(_) => true,
        Kind::Move
        | Kind::Write
        | Kind::Exchange
        | Kind::Step
        | Kind::Address(_)
        | Kind::Drop
        | Kind::Free
        | Kind::Begin
        | Kind::End
        | Kind::Mention => false,
    }
}

/// Ends the pairs of which one side changes, or may be changed by others, with the access.
fn ends(pairs: &mut Pairs, place: &Place, kind: Kind) {
    pairs.retain(|(from, to)| {
        let leads = place.base == from.base && from.proj.starts_with(&place.proj);
        match kind {
            Kind::Lend(_) => !leads || place.proj.len() == from.proj.len(),
            kind => !changes(kind) || (!leads && place.as_local() != Some(*to)),
        }
    });
}

/// The place with the paths on its way replaced by the locals that they were moved to; the place
/// itself only if it is looked at.
fn resolve(pairs: &Pairs, place: &Place, is_read: bool) -> Place {
    let mut place = place.clone();
    // Each pair is used once: a local that is moved on is not a path that was moved to it.
    for _ in 0..pairs.len() {
        let leads = |(from, _): &&(Place, Local)| {
            place.base == from.base
                && place.proj.starts_with(&from.proj)
                && (is_read || place.proj.len() > from.proj.len())
        };
        let Some((from, to)) = pairs.iter().find(leads) else { break };
        let rest = place.proj.split_off(from.proj.len());
        place = Place { base: PlaceBase::Local(*to), proj: rest };
    }
    place
}

/// The statement with its places replaced, if there are such.
fn replace(pairs: &Pairs, kind: &StmtKind) -> Option<StmtKind> {
    if !is_replaceable(kind) {
        return None;
    }
    let mut new = kind.clone();
    let mut changed = false;
    parts_mut(&mut new, &mut |part| changed |= replace_part(pairs, part));
    changed.then_some(new)
}

fn replace_term(pairs: &Pairs, kind: &TermKind) -> Option<TermKind> {
    let mut new = kind.clone();
    let mut changed = false;
    term_parts_mut(&mut new, &mut |part| changed |= replace_part(pairs, part));
    changed.then_some(new)
}

fn replace_part(pairs: &Pairs, part: PartMut) -> bool {
    let Some((place, is_read)) = place_of(part) else { return false };
    let new = resolve(pairs, place, is_read);
    let changed = new != *place;
    *place = new;
    changed
}

/// Whether the places of the statement may be replaced. Two statements name one place: an `open` and
/// its end, a cursor and its end.
fn is_replaceable(kind: &StmtKind) -> bool {
    match kind.action() {
        Action::None
        | Action::Check
        | Action::Assign
        | Action::Fill
        | Action::Call
        | Action::Copy
        | Action::Owner
        | Action::Send => true,
        Action::Storage | Action::Assembly | Action::Arguments | Action::Region | Action::Channel => false,
    }
}

/// The place that a part names, and whether the pointer in it is left as it is.
fn place_of(part: PartMut<'_>) -> Option<(&mut Place, bool)> {
    match part {
        PartMut::Operand(Operand::Copy(place), kind) | PartMut::Place(place, kind) => Some((place, looks(kind))),
        PartMut::Operand(Operand::Move(place), _) => Some((place, false)),
        PartMut::Operand(Operand::Const(_), _) | PartMut::Local(..) | PartMut::Type(_) | PartMut::Function(..) => None,
    }
}
