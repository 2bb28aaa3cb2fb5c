//! The model of Leeward: unique objects, whose owners are followed.
//!
//! A unique object has one owner at a time, and every other pointer to it is a loan that has ended
//! when the owner frees it: no pointer to it is read after its `Dispose`, though variables may
//! still hold one (`flow::ownership`). So only owners are followed: locals of unique
//! pointer type whose own address is not taken. A move takes the object from one to the next; a
//! move to anything else, such as a field, an argument or the result, is an escape; `Dispose`
//! releases it. A copy of an owner is a loan, which is not null and otherwise of no interest.
//!
//! Needs: bodies whose ownership was checked, without type parameters.

use crate::allocators::Table;
use crate::events::{Event, Events, Kind};
use crate::follow::{follow_by, made_dest, Follow, Seed, Sink};
use crate::places::{reached, Cell};
use crate::privacy::Privacy;
use crate::program::{Context, Externals};
use crate::situation::{is_object, Situation, Status, Value};
use flow::framework::Point;
use mir::cfg::Cfg;
use mir::effects::{flags, rvalue_places, stmt_places, term_places, Access, Code};
use mir::ir::*;
use source::Span;
use typing::types::{Own, Region, TyKind};

/// Allocations that one function may have; more stay in the heap.
pub const MOST_SITES: usize = 60;
/// The bit of what no followed allocation made.
const OTHER: u64 = 1 << 63;
/// The bit of null.
const NULL: u64 = 1 << 62;

const ELSEWHERE: &str = "it is passed on here";
const LOST: &str = "it is not freed on every path";
const TWICE: &str = "an earlier one may still be in use when it is made again";
const MIXED: &str = "what is freed here may be another object of the heap";
const UNSAFE: &str = "unsafe code uses it here";
const PATHS: &str = "the function has too many paths to follow";

/// A statement that frees what sites made.
#[derive(Clone, Debug)]
pub struct Freed {
    /// The statement.
    pub at: Point,
    /// Where it stands.
    pub span: Span,
    holds: u64,
}

impl Freed {
    /// Whether it may free an object of the site.
    pub fn has(&self, site: usize) -> bool {
        self.holds & bit(site) != 0
    }

    /// The sites whose objects it may free.
    pub fn sites(&self) -> impl Iterator<Item = usize> + '_ {
        (0..MOST_SITES).filter(|&n| self.has(n))
    }

    /// The site, if it frees an object of it for certain: nothing else, and not null.
    pub fn only(&self) -> Option<usize> {
        self.sites().next().filter(|&n| self.holds == bit(n))
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// By site: why its objects must stay in the heap, and where that is seen.
    pub refused: Vec<Option<(String, Span)>>,
    /// Where objects of sites are freed.
    pub freed: Vec<Freed>,
    /// By site: whether its object is returned or not made, on every path, and nothing else is
    /// returned but null.
    pub returned: Vec<bool>,
}

impl Found {
    /// Refuses a site, unless it is refused already.
    pub fn refuse(&mut self, site: usize, why: &str, span: Span) {
        if let Some(slot) = self.refused.get_mut(site).filter(|slot| slot.is_none()) {
            *slot = Some((why.to_string(), span));
        }
    }
}

fn bit(site: usize) -> u64 {
    if site < MOST_SITES {
        1 << site
    } else {
        0
    }
}

/// Whether a local may own an object of the heap that is followed: a unique pointer whose own
/// address is not taken.
pub fn is_owner(program: &Program, body: &Body, local: Local) -> bool {
    let Some(decl) = body.locals.get(local.0 as usize) else { return false };
    let TyKind::Ptr(p) = program.types.kind(decl.ty.ty) else { return false };
    !decl.address_taken && p.own == Own::Unique && p.region != Region::Exchange && !decl.ty.quals.is_volatile
}

/// Follows the objects that the assignments at the points make.
pub fn follow_owners(program: &Program, body: &Body, sites: &[Point]) -> Found {
    let cfg = Cfg::new(body);
    let (table, externals) = (Table::default(), Externals::default());
    let cx = Context { program, table: &table, own: &[], externals: &externals };
    let starts: Vec<Place> = sites.iter().filter_map(|&at| made_dest(body, at)).collect();
    let ways: Vec<Vec<Place>> =
        starts.iter().map(|p| reached(program, body, &Privacy::default(), std::slice::from_ref(p))).collect();
    let one = |(at, way): (&Point, &Vec<Place>)| {
        // Objects that may get to the same owner are told apart.
        let meets = |other: &&Vec<Place>| other.iter().any(|p| way.contains(p));
        let together: Vec<Place> = ways.iter().filter(meets).filter_map(|w| w.first()).cloned().collect();
        follow_by(&cx, body, &cfg, Seed::Alloc(*at), &together, Some(sites))
    };
    let all: Vec<Events> = sites.iter().zip(&ways).map(one).collect();
    let mut found = Found { refused: vec![None; sites.len()], freed: vec![], returned: vec![false; sites.len()] };
    // What one of them may free is not known then.
    if all.iter().any(|e| e.full) {
        (0..sites.len()).for_each(|n| found.refuse(n, PATHS, body.span));
        return found;
    }
    for (n, events) in all.iter().enumerate() {
        let other =
            |k: &Kind| matches!(k, Kind::Escapes | Kind::Again | Kind::Left | Kind::Freed(_) | Kind::ReturnedOther);
        if let Some(slot) = found.returned.get_mut(n) {
            *slot = events.any(|k| *k == Kind::Returned) && !events.any(other);
        }
        for (at, event) in &events.all {
            let holds = match &event.kind {
                Kind::Freed(_) => bit(n),
                Kind::OtherFreed => OTHER,
                Kind::NullFreed => NULL,
                Kind::Escapes | Kind::Again | Kind::Left | Kind::Returned => {
                    found.refuse(n, &event.why, event.span);
                    continue;
                }
                _ => continue,
            };
            match found.freed.iter_mut().find(|f| f.at == *at) {
                Some(freed) => freed.holds |= holds,
                None => found.freed.push(Freed { at: *at, span: event.span, holds }),
            }
        }
    }
    found.freed.retain(|f| f.holds & !(OTHER | NULL) != 0);
    // What is freed together with something else of the heap needs the heap's `free`.
    let mixed: Vec<Freed> = found.freed.iter().filter(|f| f.holds & OTHER != 0).cloned().collect();
    for f in &mixed {
        f.sites().for_each(|n| found.refuse(n, MIXED, f.span));
    }
    let in_heap: Vec<bool> = found.refused.iter().map(Option::is_some).collect();
    for n in spread(&found.freed, sites.len(), &|n| in_heap.get(n) == Some(&true)) {
        let span = found.freed.iter().find(|f| f.has(n)).map_or(Span::NONE, |f| f.span);
        found.refuse(n, MIXED, span);
    }
    found
}

/// The sites that are freed somewhere together with one of the heap, step by step, without those
/// that are there already.
pub fn spread(freed: &[Freed], sites: usize, in_heap: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let mut heap: u64 = (0..sites).filter(|&n| in_heap(n)).map(bit).sum();
    let before = heap;
    loop {
        let more: u64 = freed.iter().filter(|f| f.holds & heap != 0).fold(0, |m, f| m | f.holds);
        let more = more & !(OTHER | NULL | heap);
        if more == 0 {
            return (0..sites).filter(|&n| heap & !before & bit(n) != 0).collect();
        }
        heap |= more;
    }
}

/// The object leaves the locals that are followed.
fn passed_on(out: &mut Situation, span: Span, sink: Sink) {
    sink(Event::new(Kind::Escapes, ELSEWHERE, span));
    out.status = Status::Absent;
    out.forget_object();
}

/// The owner ends, or gets something else.
fn lost(out: &mut Situation, span: Span, sink: Sink) {
    sink(Event::new(Kind::Left, LOST, span));
    out.status = Status::Absent;
    out.forget_object();
}

/// What an owner has is disposed of; `elsewhere`: by the handle of a reap.
fn dispose(out: &mut Situation, cell: Cell, elsewhere: bool, span: Span, sink: Sink) {
    let value = out.get(cell);
    out.set(cell, Some(Value::Null));
    if is_object(value) {
        if elsewhere {
            return passed_on(out, span, sink);
        }
        sink(Event::freed(None, span));
        out.status = Status::Freed;
        return;
    }
    match value {
        // Its own events say what becomes of it.
        Some(Value::Sibling(_)) => {}
        Some(Value::Null) => sink(Event::new(Kind::NullFreed, "", span)),
        _ if !elsewhere => sink(Event::other_freed(span)),
        _ => {}
    }
}

impl Follow<'_> {
    /// A followed place that is a whole owner.
    fn owner(&self, place: &Place) -> Option<Cell> {
        let local = place.as_local()?;
        is_owner(self.cx.program, self.body, local).then_some(())?;
        self.cells.of_place(place)
    }

    /// The owner that a value moves, if it is the same pointer then.
    fn moved(&self, value: &Rvalue) -> Option<Cell> {
        let from = match value.made_of()? {
            (a, Way::Same | Way::Bits | Way::Word(Part::Ptr) | Way::Fat | Way::Counted) => a,
            // A `void *` that remembers a type is followed no further.
            (_, Way::Typed | Way::Word(Part::Lo | Part::Hi | Part::Type))
            | (_, Way::Number | Way::Moved | Way::Retained) => return None,
        };
        self.moved_from(from)
    }

    /// The owner that an operand moves.
    fn moved_from(&self, operand: &Operand) -> Option<Cell> {
        match operand {
            Operand::Move(place) => self.owner(place),
            Operand::Copy(_) | Operand::Const(_) => None,
        }
    }

    /// One statement; `sites`: the allocations that are followed.
    pub(crate) fn step_owned(
        &self,
        sites: &[Point],
        situation: &Situation,
        at: Point,
        stmt: &Stmt,
        sink: Sink,
    ) -> Situation {
        let span = stmt.span;
        let mut out = situation.clone();
        if stmt.is_unsafe || flags(&stmt.kind).code == Code::Assembly {
            stmt_places(&stmt.kind, &mut |place, _| {
                if self.cells.of_base(place).any(|c| is_object(situation.get(c))) {
                    sink(Event::new(Kind::Escapes, UNSAFE, span));
                }
            });
        }
        let kind = &stmt.kind;
        match kind.action() {
            Action::Assign => {
                let Some((dest, value)) = kind.as_assign() else { return out };
                self.assign_owned(&mut out, (sites, at), dest, value, span, sink);
            }
            Action::Storage => {
                let Some(local) = kind.storage() else { return out };
                for cell in self.cells.parts(&Place::local(local)).collect::<Vec<_>>() {
                    if kind.ends().is_some() && is_object(out.get(cell)) {
                        lost(&mut out, span, sink);
                    }
                    out.set(cell, None);
                }
            }
            // What is checked stays where it is, and elements are copied out of it.
            Action::None | Action::Check | Action::Copy => {}
            Action::Fill
            | Action::Call
            | Action::Assembly
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => {
                let freed = kind.as_dispose().and_then(|end| Some((self.moved_from(end.value)?, end.handle)));
                if let Some((cell, handle)) = freed {
                    dispose(&mut out, cell, handle.is_some(), span, sink);
                    return out;
                }
                if let Some((a, b)) = kind.as_swap() {
                    self.swap(&mut out, self.owner(a), self.owner(b), span, sink);
                    return out;
                }
                let mut changed = vec![];
                stmt_places(kind, &mut |place, access| match self.owner(place) {
                    Some(cell) => changed.push((cell, access)),
                    None if access != Access::Read && !place.has_deref() => {
                        changed.extend(self.cells.parts(place).map(|c| (c, Access::Write)));
                    }
                    None => {}
                });
                // A slot that is dropped is not a slot on the stack.
                if let Some(place) = kind.as_drop_slot() {
                    changed.extend(self.owner(place).map(|c| (c, Access::Address)));
                }
                for (cell, access) in changed {
                    let held = is_object(situation.get(cell));
                    match access {
                        Access::Read => continue,
                        Access::Move | Access::Address if held => passed_on(&mut out, span, sink),
                        Access::Write if held => lost(&mut out, span, sink),
                        Access::Move | Access::Address | Access::Write => {}
                    }
                    let null = access == Access::Move || kind.as_zero().is_some();
                    out.set(cell, null.then_some(Value::Null));
                }
                // A function that returns a fresh object.
                let made = sites.iter().position(|s| *s == at).zip(made_dest(self.body, at));
                if let Some((n, cell)) = made.and_then(|(n, dest)| Some((n, self.owner(&dest)?))) {
                    let value = self.made_owned(&mut out, (n, at), span, sink);
                    out.set(cell, Some(value));
                }
            }
        }
        out
    }

    fn swap(&self, out: &mut Situation, a: Option<Cell>, b: Option<Cell>, span: Span, sink: Sink) {
        let value = |cell: Option<Cell>| cell.and_then(|c| out.get(c));
        let (x, y) = (value(a), value(b));
        for (to, value) in [(a, y), (b, x)] {
            match to {
                Some(cell) => out.set(cell, value),
                None if is_object(value) => passed_on(out, span, sink),
                None => {}
            }
        }
    }

    /// What the allocation at the point gives, which is number `n` of those that are followed.
    fn made_owned(&self, out: &mut Situation, (n, at): (usize, Point), span: Span, sink: Sink) -> Value {
        if self.seed != Seed::Alloc(at) {
            return Value::Sibling(n as u32);
        }
        if out.status == Status::Live {
            sink(Event::new(Kind::Again, TWICE, span));
        }
        out.status = Status::Live;
        out.forget_object();
        Value::At(0)
    }

    fn assign_owned(
        &self,
        out: &mut Situation,
        (sites, at): (&[Point], Point),
        dest: &Place,
        value: &Rvalue,
        span: Span,
        sink: Sink,
    ) {
        let from = self.moved(value);
        let held = match (sites.iter().position(|s| *s == at), from) {
            (Some(n), _) => Some(self.made_owned(out, (n, at), span, sink)),
            (None, Some(cell)) => out.get(cell),
            (None, None) => match self.computed(out, value, span, &mut |_| {}) {
                Some(Value::At(_) | Value::Inside | Value::Sibling(_)) => Some(Value::NotNull),
                other => other,
            },
        };
        // Every other owner that the value moves, or takes the address of, goes elsewhere.
        let mut elsewhere = vec![];
        rvalue_places(value, &mut |place, access| {
            let cell = self.owner(place).filter(|_| matches!(access, Access::Move | Access::Address));
            elsewhere.extend(cell.filter(|c| Some(*c) != from));
        });
        for cell in elsewhere {
            if is_object(out.get(cell)) {
                passed_on(out, span, sink);
            }
            out.set(cell, None);
        }
        if let Some(cell) = from {
            out.set(cell, Some(Value::Null));
        }
        let cell = self.cells.of_place(dest);
        if cell.is_some_and(|c| is_object(out.get(c))) {
            lost(out, span, sink);
        }
        let kept = self.owner(dest).is_some() || !is_object(held);
        if !kept {
            passed_on(out, span, sink);
        }
        match cell {
            Some(cell) => out.set(cell, held.filter(|_| kept)),
            None if !dest.has_deref() => {
                for cell in self.cells.parts(dest).collect::<Vec<_>>() {
                    out.set(cell, None);
                }
            }
            None => {}
        }
    }

    /// The end of a block.
    pub(crate) fn leave_owned(&self, situation: &Situation, term: &Terminator, sink: Sink) {
        let mut returned = false;
        term_places(&term.kind, &mut |place, access| {
            if access != Access::Move {
                return;
            }
            match self.owner(place).and_then(|cell| situation.get(cell)) {
                held if is_object(held) => {
                    returned = true;
                    sink(Event::new(Kind::Returned, ELSEWHERE, term.span));
                }
                Some(Value::Null) => {}
                _ => sink(Event::new(Kind::ReturnedOther, "", term.span)),
            }
        });
        let ends = term.kind.is_return() || term.kind.misses_return() || term.kind.as_computed().is_some();
        if ends && !returned && situation.status == Status::Live {
            sink(Event::new(Kind::Left, LOST, term.span));
        }
    }
}
