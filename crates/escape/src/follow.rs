//! Follows one object of the heap through a body: of plain C here, of Leeward with `owners`.
//!
//! Lattice: a set of situations. A situation says whether the object is there (`Status`) and what
//! each followed place holds (`Value`); a place that it does not mention may hold anything but the
//! object. Join: union. The set is bounded (`MOST_SITUATIONS`); a body that needs more is given up.
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
use crate::known::{is_builtin_only, known, Text};
use crate::places::{pointer_of, Cell, Cells};
use crate::privacy::{is_never_written, Privacy};
use crate::program::Context;
use crate::rules::Rule;
use crate::summary::{Frees, Param, Touched};
use flow::framework::{solve, Analysis, Direction, Edge, Item, Point};
use mir::cfg::Cfg;
use mir::effects::{rvalue_operands, stmt_places, term_places, Access};
use mir::ir::*;
use source::Span;
use std::cell::Cell as Shared;

/// Situations at one point of a body, at most.
const MOST_SITUATIONS: usize = 160;
/// Offsets from the start of an object that are distinguished, in bytes.
const NEAR: i64 = 16;

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

/// Whether the object is there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// Not made yet, or it could not be made.
    Absent,
    /// There.
    Live,
    /// Released.
    Freed,
}

/// What a followed place holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Value {
    /// A null pointer.
    Null,
    /// A pointer that is not null and not to the object.
    NotNull,
    /// So many bytes from the start of the object.
    At(i64),
    /// Somewhere in the object.
    Inside,
    /// Another object that is followed in the same body, by its number. Only in `owners`.
    Sibling(u32),
    /// A number.
    Int(i64),
    /// One if the place is not null (`true`) or null (`false`), else zero.
    Test(Cell, bool),
}

/// One situation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Situation {
    pub(crate) status: Status,
    /// Sorted by place.
    values: Vec<(Cell, Value)>,
    /// Whether the object certainly has a string from its start, with its end inside: if all
    /// accesses before were inside, too.
    text: bool,
}

impl Situation {
    /// Whether it differs from another one in nothing but what is known of a string.
    fn is_like(&self, other: &Situation) -> bool {
        self.status == other.status && self.values == other.values
    }

    pub(crate) fn get(&self, cell: Cell) -> Option<Value> {
        let at = self.values.binary_search_by_key(&cell, |v| v.0).ok()?;
        self.values.get(at).map(|v| v.1)
    }

    pub(crate) fn set(&mut self, cell: Cell, value: Option<Value>) {
        // A test of what changes says nothing any more.
        let stale = |v: &Value| matches!(v, Value::Test(of, _) if *of == cell) && Rule::StaleTest.holds();
        self.values.retain(|v| v.0 != cell && !stale(&v.1));
        if let Some(value) = value.filter(|v| !matches!(v, Value::Test(of, _) if *of == cell)) {
            let at = self.values.partition_point(|v| v.0 < cell);
            self.values.insert(at, (cell, value));
        }
    }

    /// No place has the object any more.
    pub(crate) fn forget_object(&mut self) {
        let old: Vec<Cell> = self.values.iter().filter(|v| is_object(Some(v.1))).map(|v| v.0).collect();
        for cell in old {
            self.set(cell, None);
        }
    }

    fn truth(&self, value: Value) -> Option<bool> {
        match value {
            Value::Null | Value::Int(0) => Some(false),
            Value::NotNull | Value::At(_) | Value::Inside | Value::Sibling(_) | Value::Int(_) => Some(true),
            Value::Test(cell, wants) => Some(self.truth(self.get(cell)?)? == wants),
        }
    }
}

pub(crate) fn is_object(value: Option<Value>) -> bool {
    matches!(value, Some(Value::At(_) | Value::Inside))
}

/// All situations at a point, sorted; of two that differ in what is known of a string alone the one
/// that knows less.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    all: Vec<Situation>,
}

impl State {
    fn normalise(&mut self) {
        // The one that knows less is sorted first.
        self.all.sort_unstable();
        self.all.dedup_by(|b, a| a.is_like(b));
    }

    /// Adds a situation, if there is room; whether that changes the state, `None`: no room.
    fn add(&mut self, situation: &Situation) -> Option<bool> {
        let at = match self.all.binary_search(situation) {
            Ok(_) => return Some(false),
            Err(at) => at,
        };
        if at.checked_sub(1).and_then(|n| self.all.get(n)).is_some_and(|s| s.is_like(situation)) {
            return Some(false);
        }
        if let Some(same) = self.all.get_mut(at).filter(|s| s.is_like(situation)) {
            same.text = false;
            return Some(true);
        }
        if self.all.len() >= MOST_SITUATIONS {
            return None;
        }
        self.all.insert(at, situation.clone());
        Some(true)
    }
}

/// What a call returns, if the object has to do with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// This.
    Is(Value),
    /// This, or something that is not the object.
    MayBe(Value),
}

/// A pointer to a function.
enum Called {
    /// This function.
    Function(typing::tree::FuncRef),
    /// What arrives in this parameter.
    Param(u32),
}

/// A call to which the object is passed.
#[derive(Clone, Copy)]
struct Passed<'a> {
    at: Point,
    callee: &'a Callee,
    name: &'a str,
    entry: Option<Entry>,
    args: &'a [Operand],
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
        let mut first = Situation { status: Status::Absent, values: vec![], text: false };
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
    /// What an operand is; `None`: unknown, but not the object.
    pub(crate) fn value(&self, situation: &Situation, operand: &Operand) -> Option<Value> {
        match operand {
            Operand::Copy(place) | Operand::Move(place) => situation.get(self.cells.of_place(place)?),
            Operand::Const(Const::Null(_)) => Some(Value::Null),
            Operand::Const(Const::Int(n, _)) => i64::try_from(*n).ok().map(Value::Int),
            Operand::Const(Const::Addr(..) | Const::Func(_)) => Some(Value::NotNull),
            Operand::Const(_) => None,
        }
    }

    fn number(&self, situation: &Situation, operand: &Operand) -> Option<i64> {
        match self.value(situation, operand)? {
            Value::Int(n) => Some(n),
            value @ Value::Test(..) => situation.truth(value).map(i64::from),
            _ => None,
        }
    }

    /// The situation on the edge where the operand is true or false; `None` if that cannot be.
    fn assume(&self, situation: &Situation, operand: &Operand, holds: bool) -> Option<Situation> {
        let value = self.value(situation, operand);
        if let Some(truth) = value.and_then(|v| situation.truth(v)) {
            return (truth == holds).then(|| situation.clone());
        }
        let mut out = situation.clone();
        let cell = operand.place().and_then(|p| self.cells.of_place(p));
        match (value, cell) {
            (Some(Value::Test(of, wants)), _) => {
                out.set(of, Some(if wants == holds { Value::NotNull } else { Value::Null }));
            }
            (_, Some(cell)) if self.cells.is_pointer(cell) => {
                out.set(cell, Some(if holds { Value::NotNull } else { Value::Null }));
            }
            (_, Some(cell)) if !holds => out.set(cell, Some(Value::Int(0))),
            _ => {}
        }
        Some(out)
    }

    /// What a value is, computed.
    pub(crate) fn computed(&self, situation: &Situation, value: &Rvalue, span: Span, sink: Sink) -> Option<Value> {
        let get = |operand: &Operand| self.value(situation, operand);
        let types = &self.cx.program.types;
        match value {
            Rvalue::Use(a) | Rvalue::Part(a, Part::Ptr, _) => get(a),
            Rvalue::Bits(a, ty) => match get(a) {
                Some(Value::Int(0)) if types.as_pointer(*ty).is_some() => Some(Value::Null),
                Some(Value::Int(_)) if types.as_pointer(*ty).is_some() => None,
                other => other,
            },
            Rvalue::Numeric(a, ty) => match get(a) {
                Some(v @ (Value::At(_) | Value::Inside)) => {
                    if types.layout(*ty).is_some_and(|l| l.size == 8) && types.as_int(*ty).is_some() {
                        return Some(v);
                    }
                    if Rule::NarrowNumber.holds() {
                        sink(Event::new(Kind::Escapes, "its address is used as a number", span));
                    }
                    None
                }
                Some(Value::Int(n)) if matches!(n, 0 | 1) => Some(Value::Int(n)),
                Some(v @ Value::Test(..)) => Some(v),
                _ => None,
            },
            Rvalue::Truth(a) => match get(a) {
                Some(v @ Value::Test(..)) => Some(v),
                Some(v) => situation.truth(v).map(|t| Value::Int(i64::from(t))),
                None => a.place().and_then(|p| self.cells.of_place(p)).map(|c| Value::Test(c, true)),
            },
            Rvalue::Unary(UnOp::Not, a) => match get(a) {
                Some(Value::Test(c, wants)) => Some(Value::Test(c, !wants)),
                Some(v) => situation.truth(v).map(|t| Value::Int(i64::from(!t))),
                None => a.place().and_then(|p| self.cells.of_place(p)).map(|c| Value::Test(c, false)),
            },
            Rvalue::Binary(op, a, b, _) if mir::ty::is_comparison(*op) => self.compared(situation, *op, a, b),
            Rvalue::Offset(base, by) => match (get(base), get(by)) {
                (Some(Value::At(at)), Some(Value::Int(n))) => {
                    let size = self.element(base).unwrap_or(NEAR + 1);
                    let to = n.saturating_mul(size).saturating_add(at);
                    Some(if to.abs() <= NEAR { Value::At(to) } else { Value::Inside })
                }
                (Some(Value::At(_) | Value::Inside), _) => Some(Value::Inside),
                (Some(Value::NotNull), _) => Some(Value::NotNull),
                _ => None,
            },
            Rvalue::Difference(..) => None,
            Rvalue::AddrOf(place) => match self.through(situation, place) {
                Some(Value::At(0)) if self.is_first(place) => Some(Value::At(0)),
                Some(Value::At(_) | Value::Inside) => Some(Value::Inside),
                _ => (!place.has_deref()).then_some(Value::NotNull),
            },
            other => {
                let mut uses = false;
                rvalue_operands(other, &mut |operand| uses |= is_object(get(operand)));
                if uses && Rule::Number.holds() {
                    sink(Event::new(Kind::Escapes, "its address is used as a number", span));
                }
                None
            }
        }
    }

    fn compared(&self, situation: &Situation, op: BinOp, a: &Operand, b: &Operand) -> Option<Value> {
        let wants = match op {
            BinOp::Eq => false,
            BinOp::Ne => true,
            _ => return None,
        };
        let null = |o: &Operand| {
            matches!(o, Operand::Const(Const::Null(_) | Const::Int(0, _)))
                || self.value(situation, o) == Some(Value::Null)
        };
        let other = if null(b) {
            a
        } else if null(a) {
            b
        } else {
            let (x, y) = (self.value(situation, a), self.value(situation, b));
            return match (is_object(x), is_object(y), x, y) {
                // The object may be in two arguments, and a loan of it is not followed.
                (true, false, ..) | (false, true, ..) if self.is_param() && Rule::TwoNames.holds() => None,
                (true, false, ..) | (false, true, ..) if self.owned.is_some() => None,
                // Nothing else points to the object. (The end of another one may have its address;
                // a release that is left out for that leaks the object of the heap and does no harm
                // to a buffer.)
                (true, false, ..) | (false, true, ..) => Some(Value::Int(i64::from(wants))),
                (_, _, Some(Value::Int(x)), Some(Value::Int(y))) => Some(Value::Int(i64::from((x == y) != wants))),
                _ => None,
            };
        };
        match self.value(situation, other) {
            Some(Value::Test(c, w)) => Some(Value::Test(c, w == wants)),
            Some(v) => situation.truth(v).map(|t| Value::Int(i64::from(t == wants))),
            None => other.place().and_then(|p| self.cells.of_place(p)).map(|c| Value::Test(c, wants)),
        }
    }

    /// Bytes of what a pointer operand points at.
    fn element(&self, pointer: &Operand) -> Option<i64> {
        let ty = mir::ty::operand_ty(self.cx.program, self.body, pointer).ok()?;
        let target = self.cx.program.types.as_pointer(ty)?.target.ty;
        Some(self.cx.program.types.layout(target).map_or(1, |l| l.size as i64).max(1))
    }

    /// Whether the place is the first byte of what its pointer points at.
    fn is_first(&self, place: &Place) -> bool {
        let after = place.proj.iter().skip_while(|p| **p != Proj::Deref).skip(1);
        after.into_iter().all(|p| match p {
            Proj::Field(n) => *n == 0,
            Proj::Index(Operand::Const(Const::Int(0, _))) => true,
            Proj::Index(_) | Proj::Deref => false,
        })
    }

    /// The object, if the place lies in it: the value of the pointer that the place goes through.
    fn through(&self, situation: &Situation, place: &Place) -> Option<Value> {
        let (base, more) = pointer_of(place, self.privacy.through())?;
        // Behind a second pointer there is another object: what is loaded from memory is never this
        // one.
        if more > 0 {
            return None;
        }
        situation.get(self.cells.of_place(&base)?)
    }

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
                        out.text = self.ends_text(place, &stmt.kind);
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
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
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
                self.store(&mut out, place, value, span, sink);
            }
            StmtKind::Zero(place) => {
                let is_cell = self.cells.of_place(place);
                let null = is_cell.map(|c| if self.cells.is_pointer(c) { Value::Null } else { Value::Int(0) });
                self.store(&mut out, place, null, span, sink);
                if is_cell.is_none() {
                    for cell in self.cells.parts(place).collect::<Vec<_>>() {
                        out.set(cell, self.cells.is_pointer(cell).then_some(Value::Null));
                    }
                }
            }
            StmtKind::StorageLive(local) | StmtKind::StorageDead(local) => {
                let place = Place::local(*local);
                for cell in self.cells.parts(&place).collect::<Vec<_>>() {
                    out.set(cell, None);
                }
            }
            StmtKind::Call { dest, callee, args, .. } => {
                return self.call(out, at, (dest.as_ref(), callee, args), span, sink);
            }
            StmtKind::Nop | StmtKind::Prove(_) => {}
            StmtKind::Check(_) | StmtKind::VaStart(_) | StmtKind::VaEnd(_) | StmtKind::VaCopy(..) => {}
            StmtKind::CopyElements { .. }
            | StmtKind::SetTag(..)
            | StmtKind::Asm(_)
            | StmtKind::ArenaBegin(..)
            | StmtKind::ArenaEnd(..)
            | StmtKind::Open(..)
            | StmtKind::Close(..)
            | StmtKind::Dispose { .. }
            | StmtKind::DropSlot(_)
            | StmtKind::Swap(..)
            | StmtKind::CursorBegin(..)
            | StmtKind::Pack(..)
            | StmtKind::Unpack { .. }
            | StmtKind::ChannelNew { .. }
            | StmtKind::Send { .. }
            | StmtKind::Select { .. }
            | StmtKind::Receive { .. }
            | StmtKind::SetNew(_)
            | StmtKind::SetAdd { .. }
            | StmtKind::SetTake { .. } => {
                let mut written = vec![];
                stmt_places(&stmt.kind, &mut |place, access| {
                    let used = live && self.cells.parts(place).any(|c| is_object(situation.get(c)));
                    if used && Rule::NotFollowed.holds() {
                        sink(Event::new(Kind::Escapes, "it is used in a way that is not followed", span));
                    }
                    if access != Access::Read {
                        written.push(place.clone());
                    }
                });
                for place in written {
                    self.store(&mut out, &place, None, span, sink);
                }
            }
        }
        vec![out]
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
                let entry = name.as_deref().and_then(|n| self.cx.table.get(n));
                let text = matches!(entry, Some(Entry { role: Role::Duplicate { .. }, .. }));
                return self.made(out, dest, (never_fails, text), span, sink);
            }
        }
        let mut result: Option<Given> = None;
        let entry = name.as_deref().and_then(|n| self.cx.table.get(n));
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
        (never_fails, text): (bool, bool),
        span: Span,
        sink: Sink,
    ) -> Vec<Situation> {
        out.forget_object();
        out.text = false;
        let Some(dest) = dest else { return vec![out] };
        let mut failed = out.clone();
        failed.status = Status::Absent;
        self.store(&mut failed, dest, Some(Value::Null), span, &mut |_| {});
        out.status = Status::Live;
        out.text = text;
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

    /// The object is argument `n` of a call. Gives what the call returns, if that is the object.
    fn passed(
        &self,
        out: &mut Situation,
        call: &Passed,
        (n, value): (usize, Option<Value>),
        span: Span,
        sink: Sink,
    ) -> Option<Given> {
        let name = call.name;
        let has_text = out.text && value == Some(Value::At(0));
        let was_text = std::mem::take(&mut out.text);
        let mut escapes = |rule: Rule, why: String| {
            if rule.holds() {
                sink(Event::new(Kind::Escapes, &why, span));
            }
        };
        if let Some(entry) = call.entry {
            // `strdup(p)` reads.
            let reads = matches!(entry.role, Role::Duplicate { text } if text as usize == n);
            out.text = was_text && reads;
            sink(if reads { Event::new(Kind::Text(has_text), "", span) } else { Event::open(span) });
            return None;
        }
        if let Callee::Pointer(operand) = call.callee {
            match self.called(call.at, operand) {
                Some(Called::Function(func)) => {
                    let name = crate::program::symbol(self.cx.program, &func).unwrap_or_default();
                    let callee = Callee::Direct(func);
                    out.text = was_text;
                    return self.passed(out, &Passed { callee: &callee, name: &name, ..*call }, (n, value), span, sink);
                }
                Some(Called::Param(m)) if matches!(self.seed, Seed::Param(_)) => {
                    sink(Event::new(Kind::Calls(m, n as u32), "", span));
                    sink(Event::open(span));
                    return Some(Given::MayBe(Value::Inside));
                }
                Some(Called::Param(_)) | None => {}
            }
        }
        if let Some(summary) = self.cx.summary(call.callee) {
            let Some(fact) = summary.params.get(n) else {
                match &summary.rest_kept {
                    Some(why) => escapes(Rule::Variable, format!("`{name}` takes it among variable arguments: {why}")),
                    None => sink(Event::open(span)),
                }
                return None;
            };
            if let Some(why) = &fact.kept {
                escapes(Rule::CalleeKeeps, format!("`{name}` may keep it: {why}"));
            }
            match fact.frees {
                Frees::Never => {}
                Frees::Always => self.released(out, value, Some(name), span, sink),
                Frees::Sometimes => escapes(Rule::CalleeSometimes, format!("`{name}` frees it on some paths")),
            }
            if Rule::CalleeAlign.holds() {
                sink(Event::new(Kind::Cast(fact.align), "", span));
            }
            for &(m, k) in &fact.calls {
                self.called_back(call, (m, k), span, sink);
            }
            out.text = was_text && fact.touched.only_reads_text();
            self.touched(call, &fact.touched, (value, has_text), span, sink);
            return match (fact.returned && Rule::CalleeReturns.holds(), fact.gives_back) {
                (false, _) => None,
                (true, true) => value.map(Given::Is),
                (true, false) => Some(Given::MayBe(Value::Inside)),
            };
        }
        if let Some((base, comparator)) = crate::known::calls_back(name) {
            if n != base as usize && n != 0 {
                escapes(Rule::UnknownCall, format!("`{name}` gets it in a way that is not followed"));
                return None;
            }
            if !self.only_looks(call, comparator) {
                escapes(Rule::Comparator, format!("`{name}` passes it to a function that may keep it"));
            }
            sink(Event::open(span));
            return (name == "bsearch" && n == base as usize).then_some(Given::MayBe(Value::Inside));
        }
        let facts = match call.callee {
            Callee::Pointer(_) => None,
            Callee::Builtin(_) => known(name),
            _ if Rule::BuiltinName.holds() && is_builtin_only(name) => None,
            _ => known(name),
        };
        let Some(facts) = facts else {
            match call.callee {
                Callee::Pointer(_) => escapes(
                    Rule::PointerCall,
                    "it is passed to a function that is called through a pointer".to_string(),
                ),
                _ if crate::known::stores_end(name) => return self.end_stored(call, n, span, sink),
                _ => {
                    escapes(Rule::UnknownCall, format!("it is passed to `{name}`, which is not known and may keep it"))
                }
            }
            return None;
        };
        let at_start = value == Some(Value::At(0));
        let text = crate::known::text(name, n).filter(|text| match text {
            Text::Formatted(format) => call.args.get(*format as usize).is_some_and(|f| self.reads_strings(call.at, f)),
            Text::Reads | Text::CopyOf(_) | Text::Printed(_) => true,
        });
        match text {
            Some(Text::Reads | Text::Formatted(_)) => {
                out.text = was_text;
                sink(Event::new(Kind::Text(has_text), "", span));
            }
            Some(Text::CopyOf(m)) => {
                out.text = at_start;
                let from = call.args.get(m as usize).cloned();
                sink(from.map_or(Event::open(span), |from| Event::new(Kind::TextCopied(from, at_start), "", span)));
            }
            Some(Text::Printed(m)) => {
                out.text = at_start && call.args.get(m as usize).is_some_and(|a| self.is_positive(a));
                sink(Event::bounded(facts, n, call.args, value, span));
            }
            None => {
                out.text = was_text && (crate::known::only_reads(name, n) || !Rule::TextKept.holds());
                sink(Event::bounded(facts, n, call.args, value, span));
            }
        }
        match facts.returns {
            Some(m) if m as usize == n && Rule::KnownReturns.holds() => Some(facts.given(name, value)),
            _ => None,
        }
    }

    /// `strtol(p, end, base)`: without an end it only reads.
    fn end_stored(&self, call: &Passed, n: usize, span: Span, sink: Sink) -> Option<Given> {
        let null = call.args.get(1).is_some_and(|a| {
            matches!(a, Operand::Const(Const::Null(_) | Const::Int(0, _)))
                || call.args.get(1).and_then(|a| self.constant(call.at, a)).is_some()
        });
        let lent = call.args.get(1).is_some_and(|a| self.privacy.lent_by(a).is_some());
        if n == 0 && (null || lent) {
            sink(Event::open(span));
        } else {
            let why = format!("`{}` stores a pointer into it", call.name);
            sink(Event::new(Kind::Escapes, &why, span));
        }
        None
    }

    /// Whether an operand is a null pointer that a temporary got earlier in the block.
    fn constant(&self, at: Point, operand: &Operand) -> Option<()> {
        let place = operand.place()?;
        self.body.locals.get(place.as_local()?.0 as usize).filter(|l| l.kind == LocalKind::Temp)?;
        let stmts = self.body.blocks.get(at.block.0 as usize)?.stmts.get(..at.stmt)?;
        stmts
            .iter()
            .rev()
            .find_map(|s| {
                let from = s.kind.assigned_to(place.as_local()?)?.same_bits()?;
                Some(matches!(from, Operand::Const(Const::Null(_) | Const::Int(0, _))))
            })?
            .then_some(())
    }

    /// Whether the statement writes the zero that ends a string.
    fn ends_text(&self, place: &Place, kind: &StmtKind) -> bool {
        let zero = kind.as_assign().filter(|(dest, _)| *dest == place).and_then(|(_, value)| value.as_use());
        let ty = mir::ty::place_ty(self.cx.program, self.body, place);
        let one_byte = ty.ok().and_then(|q| self.cx.program.types.layout(q.ty)).is_some_and(|l| l.size == 1);
        one_byte && matches!(zero, Some(Operand::Const(Const::Int(0, _))))
    }

    /// Whether the operand is a constant above zero.
    fn is_positive(&self, operand: &Operand) -> bool {
        self.cx.constant(operand).is_some_and(|n| n > 0)
    }

    /// Whether the operand is a literal that, as a format, only reads strings.
    fn reads_strings(&self, at: Point, operand: &Operand) -> bool {
        let text = self.before(at, operand).and_then(|operand| self.cx.literal(&operand));
        text.is_some_and(|text| crate::known::reads_strings(&text.units))
    }

    /// A call that gets the address of a variable has ended, which it gave back (`Privacy`): as it
    /// was, or with the end of the number that argument 0 begins with, which `ends` says is in the
    /// object.
    fn lend(
        &self,
        out: &mut Situation,
        (callee, n): (&Callee, usize),
        (variable, ends): (Local, bool),
        span: Span,
        sink: Sink,
    ) {
        let Some(cell) = self.cells.of_place(&Place::local(variable)) else { return };
        let Some(summary) = self.cx.summary(callee) else {
            return out.set(cell, ends.then_some(Value::Inside));
        };
        if !is_object(out.get(cell)) {
            return out.set(cell, None);
        }
        out.text = false;
        if out.status == Status::Live {
            sink(Event::open(span));
            sink(Event::new(Kind::Cast(summary.params.get(n).map_or(1, |p| p.inner_align)), "", span));
        }
    }

    /// What a callee does with the bytes of the object.
    fn touched(
        &self,
        call: &Passed,
        touched: &Touched,
        (value, has_text): (Option<Value>, bool),
        span: Span,
        sink: Sink,
    ) {
        if touched.open && Rule::CalleeOpen.holds() {
            return sink(Event::open(span));
        }
        let at_start = value == Some(Value::At(0));
        if touched.bytes > 0 && Rule::FirstBytes.holds() {
            let bytes = Operand::Const(Const::Int(i128::from(touched.bytes), self.cx.program.types.common.ulong));
            sink(Event::first_bytes(bytes, at_start, span));
        }
        for &m in &touched.lengths {
            match call.args.get(m as usize) {
                Some(length) => sink(Event::first_bytes(length.clone(), at_start, span)),
                None => sink(Event::open(span)),
            }
        }
        if touched.text {
            sink(Event::new(Kind::Text(has_text), "", span));
        }
    }

    /// A callee passes the object as argument `k` to the function that it has in its parameter `m`.
    fn called_back(&self, call: &Passed, (m, k): (u32, u32), span: Span, sink: Sink) {
        let func = call.args.get(m as usize).and_then(|a| self.called(call.at, a));
        if let (Some(Called::Param(p)), Seed::Param(_)) = (&func, self.seed) {
            return sink(Event::new(Kind::Calls(*p, k), "", span));
        }
        let fact = match func {
            Some(Called::Function(func)) => {
                self.cx.summary(&Callee::Direct(func)).and_then(|s| s.params.get(k as usize))
            }
            Some(Called::Param(_)) | None => None,
        };
        let looks = |p: &&Param| p.kept.is_none() && p.frees == Frees::Never && p.calls.is_empty();
        match fact.filter(|p| looks(p) || !Rule::Callback.holds()) {
            Some(fact) => sink(Event::new(Kind::Cast(fact.align), "", span)),
            None => {
                let why = format!("`{}` passes it to a function that may keep it", call.name);
                sink(Event::new(Kind::Escapes, &why, span));
            }
        }
    }

    /// What a pointer to a function is, if that is known.
    fn called(&self, at: Point, operand: &Operand) -> Option<Called> {
        match self.before(at, operand)? {
            Operand::Const(Const::Func(func)) => Some(Called::Function(func)),
            Operand::Copy(place) | Operand::Move(place) => {
                let param = place.as_local().filter(|l| l.0 < self.body.params)?;
                is_never_written(self.body, param).then_some(Called::Param(param.0))
            }
            Operand::Const(_) => None,
        }
    }

    /// Whether the function that argument `n` names keeps and releases none of its arguments.
    fn only_looks(&self, call: &Passed, n: u32) -> bool {
        let Some(func) = call.args.get(n as usize).and_then(|a| self.function(call.at, a)) else { return false };
        let callee = Callee::Direct(func);
        match self.cx.summary(&callee) {
            Some(summary) => {
                summary.params.len() == 2 && summary.params.iter().all(|p| p.kept.is_none() && p.frees == Frees::Never)
            }
            None => false,
        }
    }

    /// The function that an operand is, perhaps by way of a temporary of the block.
    fn function(&self, at: Point, operand: &Operand) -> Option<typing::tree::FuncRef> {
        match self.before(at, operand)? {
            Operand::Const(Const::Func(func)) => Some(func),
            _ => None,
        }
    }

    /// What an operand was before it came to temporaries of the block.
    fn before(&self, at: Point, operand: &Operand) -> Option<Operand> {
        let mut operand = operand.clone();
        let stmts = self.body.blocks.get(at.block.0 as usize)?.stmts.get(..at.stmt)?;
        for stmt in stmts.iter().rev() {
            let Some(local) = operand.place().and_then(Place::as_local) else { break };
            if self.body.locals.get(local.0 as usize)?.kind != LocalKind::Temp {
                break;
            }
            if let Some(value) = stmt.kind.assigned_to(local) {
                operand = value.same_bits()?.clone();
                continue;
            }
            let mut written = false;
            stmt_places(&stmt.kind, &mut |p, access| {
                written |= p.base == PlaceBase::Local(local) && access != Access::Read;
            });
            if written {
                return None;
            }
        }
        Some(operand)
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
