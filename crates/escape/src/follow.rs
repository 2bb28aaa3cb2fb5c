//! Follows one object of the heap through a body: of plain C here, of Leeward with `owners`.
//!
//! Lattice (`situation`): a set of situations. A situation says whether the object is there
//! (`Status`) and what each followed place holds (`Value`); a place that it does not mention may
//! hold anything but the object. Join: union. The set is bounded (`MOST_SITUATIONS`); a body that
//! needs more is given up.
//! So two facts that depend on each other, such as a flag and the pointer that it stands for, stay
//! together.
//!
//! Followed places are locals, and fields of local structs, whose address is not taken. An object
//! that is stored anywhere else has escaped, so memory that is loaded never gives the object.
//!
//! Needs: verified MIR. Changes nothing. Guarantees: what is not reported does
//! not happen on any run without undefined behaviour.

use crate::allocators::{Entry, Role};
use crate::events::{Event, Events, Kind};
use crate::places::{Cell, Cells};
use crate::privacy::Privacy;
use crate::program::Context;
use crate::rules::Rule;
use crate::situation::{is_object, Situation, State, Status, Text, Value, MOST_SITUATIONS};
use crate::summary::Frees;
use flow::framework::{solve, Analysis, Direction, Edge, Item, Point};
use mir::cfg::Cfg;
use mir::effects::{stmt_places, term_places, Access};
use mir::ir::*;
use source::Span;
use std::cell::Cell as Shared;

mod passed;
mod values;

pub use passed::Given;
use passed::Passed;

/// Where the object that is followed comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seed {
    /// The call at the point gives it; it may fail.
    Call {
        /// The call.
        at: Point,
        /// Whether it never gives null.
        never_fails: bool,
    },
    /// It arrives in a parameter.
    Param(u32),
    /// It is in a variable of the caller, to which a parameter points that `is_looked_through`.
    Through(u32),
    /// The assignment at the point makes it, a unique object of Leeward, and never fails.
    Alloc(Point),
}

pub(crate) struct Follow<'a> {
    pub(crate) cx: &'a Context<'a>,
    pub(crate) body: &'a Body,
    pub(crate) seed: Seed,
    pub(crate) cells: Cells,
    pub(crate) privacy: Privacy,
    /// In Leeward: the allocations of the body that are followed, this one among them.
    pub(crate) owned: Option<&'a [Point]>,
    full: Shared<bool>,
}

/// Follows the object of `seed`.
pub fn follow(cx: &Context, body: &Body, cfg: &Cfg, seed: Seed) -> Events {
    let start = match seed {
        Seed::Call { at, .. } | Seed::Alloc(at) => made_dest(body, at),
        Seed::Param(n) => Some(Place::local(Local(n))),
        Seed::Through(n) => Some(Place::local(Local(n)).then(Proj::Deref)),
    };
    match start {
        Some(start) => follow_by(cx, body, cfg, seed, &[start], None),
        // Nothing takes the result.
        None => Events { unused: true, ..Events::default() },
    }
}

/// Follows the object of `seed` through all places that what `starts` hold gets to; `owned`: by the
/// rules of Leeward, with the allocations that are followed.
pub(crate) fn follow_by(
    cx: &Context,
    body: &Body,
    cfg: &Cfg,
    seed: Seed,
    starts: &[Place],
    owned: Option<&[Point]>,
) -> Events {
    let through = match seed {
        Seed::Through(n) => Some(Local(n)),
        Seed::Call { .. } | Seed::Param(_) | Seed::Alloc(_) => None,
    };
    let privacy = if owned.is_some() { Privacy::default() } else { Privacy::of(cx, body, through) };
    let cells = Cells::of(cx.program, body, &privacy, starts);
    let follow = Follow { cx, body, seed, cells, privacy, owned, full: Shared::new(false) };
    let results = solve(&follow, body, cfg);
    let mut events = Events::default();
    results.visit(&follow, body, &mut |at, state, item| {
        for situation in &state.all {
            let mut sink = |event: Event| events.push(at, event);
            match item {
                Item::Stmt(stmt) => drop(follow.step(situation, at, stmt, &mut sink)),
                Item::Term(term) => follow.leave(situation, term, &mut sink),
            }
        }
    });
    events.full = follow.full.get() && Rule::Full.holds();
    events.holders = follow.cells.holders();
    events
}

/// Where the result of an allocation goes.
pub(crate) fn made_dest(body: &Body, at: Point) -> Option<Place> {
    let stmt = body.blocks.get(at.block.0 as usize)?.stmts.get(at.stmt)?;
    match stmt.kind.as_call() {
        Some(call) => call.dest.clone(),
        None => stmt.kind.as_assign().map(|(dest, _)| dest.clone()),
    }
}

impl Analysis for Follow<'_> {
    type State = State;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> State {
        let mut first = Situation { status: Status::Absent, values: vec![], text: Text::Unknown };
        let arrives = match self.seed {
            Seed::Param(n) => Some(Place::local(Local(n))),
            Seed::Through(n) => Some(Place::local(Local(n)).then(Proj::Deref)),
            Seed::Call { .. } | Seed::Alloc(_) => None,
        };
        if let Some(place) = arrives {
            first.status = Status::Live;
            if let Some(cell) = self.cells.of_place(&place) {
                first.set(cell, Some(Value::At(0)));
            }
        }
        State { all: vec![first] }
    }

    fn join(&self, into: &mut State, from: &State, _rounds: u32) -> bool {
        let mut changed = false;
        for situation in &from.all {
            match into.add(situation) {
                Some(new) => changed |= new,
                None => {
                    self.full.set(true);
                    break;
                }
            }
        }
        changed
    }

    fn statement(&self, state: &mut State, at: Point, stmt: &Stmt) {
        let mut all = vec![];
        for situation in &state.all {
            all.extend(self.step(situation, at, stmt, &mut |_| {}));
        }
        state.all = all;
        state.normalise();
        if state.all.len() > MOST_SITUATIONS {
            self.full.set(true);
            state.all.truncate(MOST_SITUATIONS);
        }
    }

    fn edge(&self, state: &mut State, from: BlockId, _to: BlockId, edge: Edge) -> bool {
        match edge {
            Edge::Branch(operand, holds) => {
                state.all = state.all.iter().filter_map(|s| self.assume(s, operand, holds)).collect();
            }
            Edge::Case(operand, arms) => {
                let taken = |n: i64| arms.iter().any(|a| a.0 <= i128::from(n) && i128::from(n) <= a.1);
                state.all.retain(|s| self.number(s, operand).is_none_or(taken));
            }
            Edge::Else(operand, arms) => {
                let taken = |n: i64| arms.iter().any(|a| a.0 <= i128::from(n) && i128::from(n) <= a.1);
                state.all.retain(|s| self.number(s, operand).is_none_or(|n| !taken(n)));
            }
            Edge::Plain => {}
        }
        for situation in &mut state.all {
            let gone: Vec<Cell> =
                situation.values.iter().map(|v| v.0).filter(|&c| self.cells.is_short(c, from)).collect();
            for cell in gone {
                situation.set(cell, None);
            }
        }
        state.normalise();
        !state.all.is_empty()
    }
}

pub(crate) type Sink<'s> = &'s mut dyn FnMut(Event);

impl Follow<'_> {
    /// Writes `value` to the place.
    fn store(&self, out: &mut Situation, place: &Place, value: Option<Value>, span: Span, sink: Sink) {
        let live = out.status == Status::Live;
        match self.cells.of_place(place) {
            Some(cell) => out.set(cell, value),
            None => {
                if live && is_object(value) {
                    let (rule, why) = match place.base {
                        PlaceBase::Local(_) if !place.has_deref() => {
                            (Rule::StoredWhereTaken, "it is stored where the address is taken")
                        }
                        PlaceBase::Global(_) if !place.has_deref() => {
                            (Rule::StoredInGlobal, "it is stored in a global variable")
                        }
                        _ => (Rule::StoredInMemory, "it is stored in memory"),
                    };
                    if rule.holds() {
                        sink(Event::new(Kind::Stored, why, span));
                    }
                }
            }
        }
        // Parts of a struct that is written as a whole.
        // What is lost there is seen at the end of the function.
        for cell in self.cells.parts(place) {
            if self.cells.of_place(place) != Some(cell) && Rule::Parts.holds() {
                out.set(cell, None);
            }
        }
    }

    /// Whether an operand is a struct that has the object in one of its fields.
    fn holds_object(&self, situation: &Situation, operand: &Operand) -> bool {
        let Some(place) = operand.place() else { return false };
        self.cells.of_place(place).is_none() && self.cells.parts(place).any(|c| is_object(situation.get(c)))
    }

    fn step(&self, situation: &Situation, at: Point, stmt: &Stmt, sink: Sink) -> Vec<Situation> {
        if let Some(sites) = self.owned {
            return vec![self.step_owned(sites, situation, at, stmt, sink)];
        }
        let span = stmt.span;
        let mut out = situation.clone();
        let live = situation.status == Status::Live;
        if live {
            stmt_places(&stmt.kind, &mut |place, access| {
                let pointer = self.through(situation, place);
                if let (Some(pointer), true) = (pointer.filter(|v| is_object(Some(*v))), access != Access::Address) {
                    sink(Event::access(place, pointer, span));
                    if access != Access::Read && Rule::TextKept.holds() {
                        out.text = match self.ends_text(place, &stmt.kind) {
                            true => Text::Written(vec![at]),
                            false => Text::Unknown,
                        };
                    }
                }
            });
            if let Some((from, ty)) = stmt.kind.value().and_then(Rvalue::as_bits) {
                let target =
                    self.cx.program.types.as_pointer(ty).and_then(|p| self.cx.program.types.layout(p.target.ty));
                if let (Some(layout), true) =
                    (target, is_object(self.value(situation, from)) && Rule::CastAlign.holds())
                {
                    sink(Event::new(Kind::Cast(layout.align), "", span));
                }
            }
            if let Some((from, _)) = stmt.kind.value().and_then(Rvalue::as_offset) {
                if let Some(from) = self.value(situation, from).filter(|v| is_object(Some(*v))) {
                    sink(Event::new(Kind::Stepped(from), "", span));
                }
            }
        }
        match stmt.kind.action() {
            Action::None | Action::Check | Action::Arguments => {}
            Action::Assign => self.step_assign(situation, &mut out, stmt, sink),
            Action::Storage => {
                let place = stmt.kind.storage().map(Place::local);
                for cell in place.iter().flat_map(|place| self.cells.parts(place)).collect::<Vec<_>>() {
                    out.set(cell, None);
                }
            }
            Action::Call => {
                if let Some(Call { dest, callee, args, .. }) = stmt.kind.as_call() {
                    return self.call(out, at, (dest.as_ref(), callee, args), span, sink);
                }
            }
            Action::Fill => match stmt.kind.as_zero() {
                Some(place) => self.step_zero(&mut out, place, span, sink),
                None => self.step_other(situation, &mut out, stmt, sink),
            },
            Action::Assembly | Action::Copy | Action::Owner | Action::Region | Action::Send | Action::Channel => {
                self.step_other(situation, &mut out, stmt, sink);
            }
        }
        vec![out]
    }

    fn step_assign(&self, situation: &Situation, out: &mut Situation, stmt: &Stmt, sink: Sink) {
        let (live, span) = (situation.status == Status::Live, stmt.span);
        let Some((place, value)) = stmt.kind.as_assign() else { return };
        if let Some(operand) = value.as_use() {
            if live && self.holds_object(situation, operand) && Rule::StructCopied.holds() {
                sink(Event::new(Kind::Escapes, "the struct that holds it is copied", span));
            }
        }
        let value = self.computed(situation, value, span, &mut |e| {
            if live {
                sink(e)
            }
        });
        self.store(out, place, value, span, sink);
    }

    fn step_zero(&self, out: &mut Situation, place: &Place, span: Span, sink: Sink) {
        let is_cell = self.cells.of_place(place);
        let null = is_cell.map(|c| if self.cells.is_pointer(c) { Value::Null } else { Value::Int(0) });
        self.store(out, place, null, span, sink);
        if is_cell.is_none() {
            for cell in self.cells.parts(place).collect::<Vec<_>>() {
                out.set(cell, self.cells.is_pointer(cell).then_some(Value::Null));
            }
        }
    }

    /// A statement that is not followed: what it uses escapes, and what it writes is not known.
    fn step_other(&self, situation: &Situation, out: &mut Situation, stmt: &Stmt, sink: Sink) {
        let live = situation.status == Status::Live;
        let mut written = vec![];
        stmt_places(&stmt.kind, &mut |place, access| {
            let used = live && self.cells.parts(place).any(|c| is_object(situation.get(c)));
            if used && Rule::NotFollowed.holds() {
                sink(Event::new(Kind::Escapes, "it is used in a way that is not followed", stmt.span));
            }
            if access != Access::Read {
                written.push(place.clone());
            }
        });
        for place in written {
            self.store(out, &place, None, stmt.span, sink);
        }
    }

    fn call(
        &self,
        mut out: Situation,
        at: Point,
        (dest, callee, args): (Option<&Place>, &Callee, &[Operand]),
        span: Span,
        sink: Sink,
    ) -> Vec<Situation> {
        let live = out.status == Status::Live;
        let name = self.cx.callee_name(self.body, at, callee);
        if let Seed::Call { at: seed, never_fails } = self.seed {
            if seed == at {
                if live && Rule::Again.holds() {
                    sink(Event::new(Kind::Again, "it is made again while an earlier one may be in use", span));
                }
                let entry = self.cx.entry(self.body, at, callee, args);
                let text = matches!(entry, Some(Entry { role: Role::Duplicate { .. }, .. }));
                return self.made(out, dest, (never_fails, text.then_some(at)), span, sink);
            }
        }
        let mut result: Option<Given> = None;
        let entry = self.cx.entry(self.body, at, callee, args);
        let values: Vec<Option<Value>> = args.iter().map(|a| self.value(&out, a)).collect();
        let summary = self.cx.summary(callee).filter(|_| entry.is_none());
        for (fact, value) in summary.iter().flat_map(|s| &s.params).zip(&values) {
            if fact.frees != Frees::Never && !is_object(*value) && *value != Some(Value::Null) {
                sink(Event::other_freed(span));
            }
        }
        if let Some(Entry { role: Role::Release { object }, .. }) = entry {
            self.released(&mut out, values.get(object as usize).copied().flatten(), None, span, sink);
        } else if let (Some(Entry { role: Role::Resize { object }, .. }), true) = (entry, live) {
            if is_object(values.get(object as usize).copied().flatten()) {
                if Rule::Resized.holds() {
                    sink(Event::new(Kind::Resized, "its size changes here", span));
                }
                out.status = Status::Freed;
            }
        } else if live {
            let name = name.as_deref().unwrap_or("a function pointer");
            let passed = Passed { at, callee, name, entry, args };
            for (n, value) in values.iter().enumerate().filter(|(_, v)| is_object(**v)) {
                result = result.or(self.passed(&mut out, &passed, (n, *value), span, sink));
            }
            if args.iter().any(|a| self.holds_object(&out, a)) && Rule::StructPassed.holds() {
                sink(Event::new(Kind::Escapes, "the struct that holds it is passed on", span));
            }
        } else {
            // A pointer to what was released is followed as what it was.
            for (n, value) in values.iter().enumerate() {
                if is_object(*value) && self.cx.summary(callee).is_some_and(|s| s.returns(n)) {
                    result = value.map(Given::Is);
                }
            }
        }
        if matches!((callee, name.as_deref()), (Callee::Builtin(_), Some("__builtin_expect"))) {
            result = values.first().copied().flatten().map(Given::Is);
        }
        if self.cx.never_returns(callee) {
            return vec![];
        }
        for (n, argument) in args.iter().enumerate() {
            if let Some(variable) = self.privacy.lent_by(argument) {
                let ends = is_object(values.first().copied().flatten());
                self.lend(&mut out, (callee, n), (variable, ends), span, sink);
            }
        }
        let Some(dest) = dest else { return vec![out] };
        // What is too narrow for an address is not the object.
        let width = mir::ty::place_ty(self.cx.program, self.body, dest).ok();
        let width = width.and_then(|q| self.cx.program.types.layout(q.ty)).map_or(8, |l| l.size);
        match result.filter(|_| width >= 8) {
            Some(Given::MayBe(value)) => {
                let mut other = out.clone();
                self.store(&mut out, dest, Some(value), span, sink);
                self.store(&mut other, dest, None, span, sink);
                if Rule::Perhaps.holds() {
                    vec![out, other]
                } else {
                    vec![out]
                }
            }
            Some(Given::Is(value)) => {
                self.store(&mut out, dest, Some(value), span, sink);
                vec![out]
            }
            None => {
                self.store(&mut out, dest, None, span, sink);
                vec![out]
            }
        }
    }

    /// The object is made, or not.
    fn made(
        &self,
        mut out: Situation,
        dest: Option<&Place>,
        (never_fails, text): (bool, Option<Point>),
        span: Span,
        sink: Sink,
    ) -> Vec<Situation> {
        out.forget_object();
        out.text = Text::Unknown;
        let Some(dest) = dest else { return vec![out] };
        let mut failed = out.clone();
        failed.status = Status::Absent;
        self.store(&mut failed, dest, Some(Value::Null), span, &mut |_| {});
        out.status = Status::Live;
        out.text = text.map_or(Text::Unknown, |at| Text::Written(vec![at]));
        self.store(&mut out, dest, Some(Value::At(0)), span, sink);
        if never_fails {
            vec![out]
        } else {
            vec![failed, out]
        }
    }

    /// `value` is released, by the function itself or by a callee that is named.
    fn released(&self, out: &mut Situation, value: Option<Value>, by: Option<&str>, span: Span, sink: Sink) {
        match (value, out.status) {
            (Some(Value::At(0)), Status::Live) => {
                sink(Event::freed(by, span));
                out.status = Status::Freed;
            }
            (Some(Value::At(_) | Value::Inside), Status::Live) => {
                if Rule::InsideFreed.holds() {
                    sink(Event::new(Kind::Escapes, "a pointer into it is freed", span));
                }
                out.status = Status::Freed;
            }
            (Some(Value::At(_) | Value::Inside), Status::Freed) => {
                sink(Event::new(Kind::Escapes, "it may be freed twice", span));
            }
            (Some(Value::Null), _) => {}
            _ if Rule::OtherFreed.holds() => sink(Event::other_freed(span)),
            _ => {}
        }
    }

    /// Whether the statement writes the zero that ends a string.
    fn ends_text(&self, place: &Place, kind: &StmtKind) -> bool {
        let zero = kind.as_assign().filter(|(dest, _)| *dest == place).and_then(|(_, value)| value.as_use());
        let ty = mir::ty::place_ty(self.cx.program, self.body, place);
        let one_byte = ty.ok().and_then(|q| self.cx.program.types.layout(q.ty)).is_some_and(|l| l.size == 1);
        one_byte && matches!(zero, Some(Operand::Const(Const::Int(0, _))))
    }

    fn is_param(&self) -> bool {
        matches!(self.seed, Seed::Param(_) | Seed::Through(_))
    }

    /// The function returns: the variable of the caller must have what it had.
    fn leave_through(&self, situation: &Situation, param: Local, given: Option<Value>, span: Span, sink: Sink) {
        let cell = self.cells.of_place(&Place::local(param).then(Proj::Deref));
        let kept = cell.and_then(|c| situation.get(c)) == Some(Value::At(0)) && situation.status == Status::Live;
        if (!kept || is_object(given)) && Rule::Through.holds() {
            sink(Event::new(Kind::Escapes, "it is changed through its address", span));
        }
    }

    fn leave(&self, situation: &Situation, term: &Terminator, sink: Sink) {
        if self.owned.is_some() {
            return self.leave_owned(situation, term, sink);
        }
        if term.kind.is_return() {
            let value = term.kind.returned();
            let given = value.and_then(|v| self.value(situation, v));
            let whole = value.is_some_and(|v| self.holds_object(situation, v));
            if let Seed::Through(n) = self.seed {
                return self.leave_through(situation, Local(n), given, term.span, sink);
            }
            if situation.status == Status::Live {
                match given {
                    Some(Value::At(0)) => sink(Event::new(Kind::Returned, "it is returned", term.span)),
                    Some(Value::At(_) | Value::Inside) => {
                        sink(Event::new(Kind::ReturnedInside, "a pointer into it is returned", term.span))
                    }
                    _ if whole => sink(Event::new(Kind::Escapes, "the struct that holds it is returned", term.span)),
                    _ => sink(Event::new(Kind::Left, "it is not freed on a path to here", term.span)),
                }
            } else if given != Some(Value::Null) && value.is_some() {
                sink(Event::new(Kind::ReturnedOther, "", term.span));
            }
        }
        if let (true, Status::Live) = (term.kind.misses_return(), situation.status) {
            sink(Event::new(Kind::Left, "it is not freed on a path to here", term.span));
        }
        if term.kind.as_computed().is_some() {
            let mut used = false;
            term_places(&term.kind, &mut |p, _| {
                used |= self.cells.of_place(p).is_some_and(|c| is_object(situation.get(c)))
            });
            if used {
                sink(Event::new(Kind::Escapes, "its address is used as a number", term.span));
            }
        }
    }
}
