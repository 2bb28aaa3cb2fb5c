//! Typestate: in which states of its contract each end of a channel may be, and that each operation
//! on it is allowed in all of them (language reference, channels).
//!
//! Lattice: for each local that is an end, the set of states that it may be in, each with a place
//! where it was entered. Join: union. An operation must be allowed in all states of the set. Ends
//! that lie elsewhere (in fields, elements, behind pointers) are always in the state that their
//! type names; only a variable's state changes.
//!
//! Needs: the structural verifier's invariants. Changes: nothing. Guarantees: outside `unsafe`, the
//! state that a variable is in is among those of the set, so that messages come in the order of the
//! contract, and places for them are there.

mod cases;
mod report;

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{stmt_places, Access};
use mir::ir::*;
use mir::ty::{operand_ty, place_ty};
use rustc_hash::FxHashMap;
use source::{Sink, Span};
use std::collections::BTreeMap;
use typing::contracts::{Contract, MessageId, Side, StateId};
use typing::types::{EndSet, Endpoint, FuncTy, Ty};

use crate::framework::{solve, Analysis, Direction, Item, Point};
use report::Finding;

/// What an end may be like.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum At {
    /// In a state of its contract.
    State(StateId),
    /// The other end is closed: only `free` is left.
    Closed,
    /// Nothing is known: its type does not say.
    Unknown,
}

/// The set, with where the end entered each.
pub(crate) type States = BTreeMap<At, Span>;

/// By local: none for one that holds nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct State {
    ends: Vec<States>,
}

type Report<'r> = &'r mut dyn FnMut(Finding);

pub(crate) struct Typestate<'a> {
    pub program: &'a Program,
    pub body: &'a Body,
    /// The locals that are ends, by their number in the state.
    numbers: FxHashMap<Local, usize>,
    /// Temporaries that an end is lent to a call in.
    lent: FxHashMap<Local, Place>,
    /// Temporaries that an end is moved through on its way, for reports.
    moved: FxHashMap<Local, Place>,
}

/// Checks one body. Variables in `reported` get no report.
pub fn run(program: &Program, body: &Body, sink: &mut Sink, reported: &mut BitSet) {
    if program.types.contracts.is_empty() {
        return;
    }
    let typestate = Typestate::new(program, body);
    if !typestate.mentions_ends() {
        return;
    }
    let results = solve(&typestate, body, &Cfg::new(body));
    let mut found = vec![];
    results.visit(&typestate, body, &mut |_, state, item| match item {
        Item::Stmt(stmt) => {
            let is_unsafe = stmt.is_unsafe;
            typestate.step(&mut state.clone(), stmt, &mut |f| found.extend((!is_unsafe).then_some(f)));
        }
        Item::Term(term) => typestate.leave(state, term, &mut |f| found.push(f)),
    });
    found.sort_by_key(|f| f.span);
    for finding in found.iter().filter(|_| !source::broken!(40)) {
        let new = finding.local.is_none_or(|local| reported.insert(local.0 as usize));
        if new {
            sink.push(report::diagnostic(&typestate, finding));
        }
    }
}

impl<'a> Typestate<'a> {
    fn new(program: &'a Program, body: &'a Body) -> Typestate<'a> {
        let mut numbers = FxHashMap::default();
        for (n, decl) in body.locals.iter().enumerate() {
            if program.types.as_endpoint(decl.ty.ty).is_some() {
                numbers.insert(Local(n as u32), numbers.len());
            }
        }
        let lent = mir::ends::lent(body, |local| numbers.contains_key(&local));
        let mut moved = FxHashMap::default();
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            let Some((dest, value)) = stmt.kind.as_assign() else { continue };
            if let Some(Operand::Move(from)) = value.as_use() {
                let temp = dest.as_local().filter(|l| numbers.contains_key(l) && is_temp(body, *l));
                moved.extend(temp.map(|temp| (temp, from.clone())));
            }
        }
        Typestate { program, body, numbers, lent, moved }
    }

    /// Whether there is anything to check: a body may move ends from field to field without a
    /// local.
    fn mentions_ends(&self) -> bool {
        let mut found = !self.numbers.is_empty();
        for stmt in self.body.blocks.iter().flat_map(|b| &b.stmts) {
            // A `switch receive` may name sets only.
            let is_one = |place: &Place| self.end_at(place).is_some() || self.set_at(place).is_some();
            stmt_places(&stmt.kind, &mut |place, _| found = found || is_one(place));
        }
        found
    }

    fn end_at(&self, place: &Place) -> Option<Endpoint> {
        let ty = place_ty(self.program, self.body, place).ok()?.ty;
        self.program.types.as_endpoint(ty)
    }

    /// The set or map at a place, whose members are all in one state.
    pub fn set_at(&self, place: &Place) -> Option<EndSet> {
        let ty = place_ty(self.program, self.body, place).ok()?.ty;
        self.program.types.as_end_set(ty)
    }

    pub fn contract(&self, end: Endpoint) -> Option<&'a Contract> {
        self.program.types.contract(end.contract)
    }

    /// The variable that a place is, or that it was lent from.
    fn variable(&self, place: &Place) -> Option<(Local, usize)> {
        let local = place.as_local()?;
        match self.lent.get(&local) {
            Some(of) => self.variable(of),
            None => Some((local, *self.numbers.get(&local)?)),
        }
    }

    /// The place in the words of the program: what a temporary was moved from.
    pub fn named<'p>(&'p self, place: &'p Place) -> &'p Place {
        let source = place.as_local().and_then(|local| self.moved.get(&local).or_else(|| self.lent.get(&local)));
        source.unwrap_or(place)
    }

    /// What the end at a place may be like.
    fn states(&self, s: &State, place: &Place, span: Span) -> States {
        if let Some(of) = place.as_local().and_then(|local| self.lent.get(&local)) {
            return self.states(s, of, span);
        }
        match self.variable(place) {
            Some((_, n)) => s.ends.get(n).cloned().unwrap_or_default(),
            None => self.end_at(place).map_or(States::default(), |end| declared(end.state, span)),
        }
    }

    fn set(&self, s: &mut State, place: &Place, states: States) {
        if let Some(slot) = self.variable(place).and_then(|(_, n)| s.ends.get_mut(n)) {
            *slot = states;
        }
    }

    fn type_of(&self, operand: &Operand) -> Option<Endpoint> {
        let ty = operand_ty(self.program, self.body, operand).ok()?;
        self.program.types.as_endpoint(ty)
    }

    /// An end is moved to a place whose type names its state: it must be in that one.
    fn goes(
        &self,
        s: &mut State,
        operand: &Operand,
        want: Option<StateId>,
        to: &'static str,
        span: Span,
        report: Report,
    ) {
        let (Some(place), Some(_)) = (operand.place(), self.type_of(operand)) else { return };
        self.wanted(s, place, want, to, span, report);
        if matches!(operand, Operand::Move(_)) {
            self.set(s, place, States::default());
        }
    }

    fn wanted(&self, s: &State, place: &Place, want: Option<StateId>, to: &'static str, span: Span, report: Report) {
        let states = self.states(s, place, span);
        let other = |at: &At| want.is_none_or(|want| *at != At::State(want));
        if let Some((at, since)) = states.iter().find(|(at, _)| other(at)) {
            report(Finding::elsewhere(self, place, span, (*at, *since), want, to));
        }
    }

    fn step(&self, s: &mut State, stmt: &Stmt, report: Report) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(dest, value) => self.assign(s, dest, value, span, report),
            StmtKind::Call { dest, callee, args, ty } => self.call(s, dest.as_ref(), callee, args, *ty, span, report),
            StmtKind::StorageLive(local) | StmtKind::StorageDead(local) => {
                self.set(s, &Place::local(*local), States::default());
            }
            StmtKind::ChannelNew { state, imp, exp, .. } => {
                for place in [imp, exp] {
                    self.arrives(s, place, Some(*state), span, report);
                }
            }
            StmtKind::Send { end, message, args } => {
                for (n, arg) in args.iter().enumerate() {
                    let want = self.message_state(end, *message, n);
                    self.goes(s, arg, want, "in the message", span, report);
                }
                self.send(s, end, *message, span, report);
            }
            StmtKind::Select { cases, has_default, .. } => cases::check(self, s, cases, *has_default, span, report),
            StmtKind::Receive { end, head, binds, waits } => {
                self.receive(s, end, *head, *waits, span, report);
                if let Head::Message(message) = head {
                    for (n, bind) in binds.iter().enumerate() {
                        let state = self.message_state(end, *message, n);
                        self.arrives(s, bind, state, span, report);
                    }
                }
            }
            StmtKind::SetAdd { set, end, value } => {
                let state = self.set_at(set).and_then(|set| set.end.state);
                self.goes(s, end, state, "into the set", span, report);
                if let Some(value) = value {
                    self.goes(s, value, self.value_state(set), "into the map", span, report);
                }
            }
            StmtKind::SetTake { set, end, value, .. } => {
                let state = self.set_at(set).and_then(|set| set.end.state);
                self.arrives(s, end, state, span, report);
                if let Some(value) = value {
                    self.arrives(s, value, self.value_state(set), span, report);
                }
            }
            StmtKind::Exchange(a, b) => self.swap(s, a, b, span, report),
            StmtKind::Dispose { value, .. } => {
                if let Some(place) = value.place() {
                    self.set(s, place, States::default());
                }
            }
            StmtKind::Zero(place) => self.set(s, place, States::default()),
            StmtKind::Prove(Proof::EndCases { end, states, has_default }) => {
                if let Some(place) = end.place() {
                    self.cases(s, place, states, *has_default, span, report);
                }
            }
            StmtKind::Prove(Proof::EndFound { end, states, closed }) => {
                let stays = |at: &At| match at {
                    At::State(id) => states.contains(id),
                    At::Closed => *closed,
                    At::Unknown => false,
                };
                if let Some(place) = end.place() {
                    let mut found = self.states(s, place, span);
                    found.retain(|at, _| stays(at));
                    self.set(s, place, found);
                }
            }
            StmtKind::Check(Check::Contract(end, ty)) => {
                let want = self.program.types.as_endpoint(*ty).and_then(|end| end.state);
                if let Some(place) = end.place() {
                    self.wanted(s, place, want, "back to this contract", span, report);
                }
            }
            // No analysis sees what a pointer to a variable does to its state.
            StmtKind::CursorBegin(_, place) => self.no_address(place, span, report),
            // The rest does what the table says.
            other => stmt_places(other, &mut |place, access| {
                if access == Access::Write && self.variable(place).is_some() {
                    self.set(s, place, declared(None, span));
                }
            }),
        }
    }

    /// `switch (state d)`: it is exhaustive, and what each case names is possible.
    fn cases(&self, s: &State, place: &Place, cases: &[StateId], has_default: bool, span: Span, report: Report) {
        let states = self.states(s, place, span);
        let is_missing = |at: &At| match at {
            At::State(id) => !has_default && !cases.contains(id),
            At::Closed => !has_default,
            At::Unknown => true,
        };
        if let Some((&at, &since)) = states.iter().find(|(at, _)| is_missing(at)) {
            return report(Finding::no_case(self, place, span, (at, since)));
        }
        let never = cases.iter().find(|id| !states.is_empty() && !states.contains_key(&At::State(**id)));
        if let Some(&id) = never {
            report(Finding::never_in(self, place, span, id, &states));
        }
    }

    /// A fresh end comes to a place.
    fn arrives(&self, s: &mut State, place: &Place, state: Option<StateId>, span: Span, report: Report) {
        let Some(end) = self.end_at(place) else { return };
        match self.variable(place) {
            Some(_) => self.set(s, place, declared(state, span)),
            None if end.state.is_none() || end.state != state => {
                let at = state.map_or(At::Unknown, At::State);
                report(Finding::elsewhere(self, place, span, (at, span), end.state, "here"));
            }
            None => {}
        }
    }

    fn assign(&self, s: &mut State, dest: &Place, value: &Rvalue, span: Span, report: Report) {
        // Only while the call that it is made for lasts.
        if value.as_borrow().is_some_and(|(kind, place, _)| kind.is_for_call() && self.end_at(place).is_some()) {
            return;
        }
        if let Some((place, _)) = value.points_at() {
            self.no_address(place, span, report);
        }
        let Some(end) = self.end_at(dest) else { return };
        let states = match value.as_use() {
            Some(operand) => match operand.place() {
                Some(place) => {
                    let states = self.states(s, place, span);
                    self.widened(place, end, &states, span, report);
                    match self.variable(dest) {
                        Some(_) if matches!(operand, Operand::Move(_)) => {
                            self.set(s, place, States::default());
                        }
                        Some(_) => {}
                        None => self.goes(s, operand, end.state, "here", span, report),
                    }
                    states
                }
                None => States::default(),
            },
            None => declared(None, span),
        };
        self.set(s, dest, states);
    }

    /// An end that becomes one of the contract that its own extends is in a state that this one
    /// knows.
    fn widened(&self, from: &Place, to: Endpoint, states: &States, span: Span, report: Report) {
        let Some(end) = self.end_at(from).filter(|end| end.contract != to.contract) else { return };
        let Some(base) = self.contract(to).filter(|_| self.contract(end).is_some()) else { return };
        let unknown = |at: &At| matches!(at, At::State(id) if base.state(*id).is_none());
        if let Some((at, since)) = states.iter().find(|(at, _)| unknown(at)) {
            report(Finding::not_in_base(self, from, span, (*at, *since), base));
        }
    }

    fn no_address(&self, place: &Place, span: Span, report: Report) {
        // Of a part of something, the state is in the type of the pointer.
        if let Some((local, _)) = self.variable(place) {
            report(Finding::address(local, span));
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn call(
        &self,
        s: &mut State,
        dest: Option<&Place>,
        callee: &Callee,
        args: &[Operand],
        ty: Ty,
        span: Span,
        report: Report,
    ) {
        let func = self.program.types.as_func(ty);
        let param = |n: usize| func.as_deref().and_then(|f: &FuncTy| f.params.get(n));
        let state_of = |ty: Ty| self.program.types.as_endpoint(ty).and_then(|end| end.state);
        for (n, arg) in args.iter().enumerate() {
            let want = param(n).and_then(|p| state_of(p.ty));
            self.goes(s, arg, want, "to this parameter", span, report);
        }
        for (n, arg) in args.iter().enumerate() {
            let (Some(place), Some(param), Some(end)) = (arg.place(), param(n), self.type_of(arg)) else { continue };
            if param.consume || matches!(callee, Callee::Start(_)) {
                continue;
            }
            let Some(becomes) = param.becomes else { continue };
            match self.variable(place) {
                Some(_) => self.set(s, place, declared(Some(becomes), span)),
                None if Some(becomes) != state_of(param.ty) => {
                    let of = place.as_local().and_then(|local| self.lent.get(&local)).unwrap_or(place);
                    report(Finding::no_variable(self, of, end, span));
                }
                None => {}
            }
        }
        if let (Some(dest), Some(func)) = (dest, &func) {
            if self.program.types.as_endpoint(func.ret).is_some() {
                self.arrives(s, dest, state_of(func.ret), span, report);
            }
        }
    }

    /// The state of the endpoints that a map has as its values.
    fn value_state(&self, set: &Place) -> Option<StateId> {
        let types = &self.program.types;
        types.as_endpoint(types.map_value(&self.set_at(set)?)?)?.state
    }

    fn message_state(&self, end: &Place, message: MessageId, param: usize) -> Option<StateId> {
        let message = self.contract(self.end_at(end)?)?.message(message)?;
        let (_, ty, _) = message.params.get(param)?;
        self.program.types.as_endpoint(*ty)?.state
    }

    fn send(&self, s: &mut State, place: &Place, message: MessageId, span: Span, report: Report) {
        let Some(end) = self.end_at(place) else { return };
        let Some(contract) = self.contract(end) else { return };
        let states = self.states(s, place, span);
        if self.variable(place).is_none() {
            return report(Finding::no_variable(self, place, end, span));
        }
        let mut after = States::default();
        for (&at, &since) in &states {
            let next = match at {
                At::State(id) if sender(contract, id) == Some(end.side) => contract.next(id, message),
                _ => None,
            };
            match next {
                Some(next) => drop(after.insert(At::State(next), span)),
                None => report(Finding::cannot_send(self, place, span, (at, since), message)),
            }
        }
        self.set(s, place, after);
    }

    fn receive(&self, s: &mut State, place: &Place, head: Head, waits: bool, span: Span, report: Report) {
        let Some(end) = self.end_at(place) else { return };
        let Some(contract) = self.contract(end) else { return };
        if self.variable(place).is_none() {
            return report(Finding::no_variable(self, place, end, span));
        }
        let Head::Message(message) = head else {
            return self.set(s, place, States::from([(At::Closed, span)]));
        };
        let mut after = States::default();
        for (at, since) in self.states(s, place, span) {
            let next = match at {
                At::State(id) if sender(contract, id) == Some(end.side.other()) => contract.next(id, message),
                _ => None,
            };
            match next {
                Some(next) => drop(after.insert(At::State(next), span)),
                // Of what a `Select` found, the states that do not allow it are not the one.
                None if waits => report(Finding::cannot_receive(self, place, span, (at, since), message)),
                None => {}
            }
        }
        self.set(s, place, after);
    }

    fn swap(&self, s: &mut State, a: &Place, b: &Place, span: Span, report: Report) {
        let (Some(x), Some(y)) = (self.end_at(a), self.end_at(b)) else { return };
        let (in_a, in_b) = (self.states(s, a, span), self.states(s, b, span));
        match (self.variable(a), self.variable(b)) {
            (Some(_), Some(_)) => {
                self.set(s, a, in_b);
                self.set(s, b, in_a);
            }
            (Some(_), None) => {
                self.wanted(s, a, y.state, "here", span, report);
                self.set(s, a, in_b);
            }
            (None, Some(_)) => {
                self.wanted(s, b, x.state, "here", span, report);
                self.set(s, b, in_a);
            }
            (None, None) => self.wanted(s, a, y.state, "here", span, report),
        }
    }

    /// What a function gives back is in the state that its type says; so is what it was lent, when
    /// it is left.
    fn leave(&self, state: &State, term: &Terminator, report: Report) {
        if !term.kind.is_return() {
            return;
        }
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let Some(func) = function.and_then(|f| self.program.types.as_func(f.ty)) else { return };
        if let Some(value) = term.kind.returned() {
            let want = self.program.types.as_endpoint(func.ret).and_then(|end| end.state);
            self.goes(&mut state.clone(), value, want, "as the result", term.span, report);
        }
        for (n, param) in func.params.iter().enumerate().filter(|(_, p)| !p.consume) {
            let Some(end) = self.program.types.as_endpoint(param.ty) else { continue };
            let place = Place::local(Local(n as u32));
            self.wanted(state, &place, param.becomes.or(end.state), "back to the caller", term.span, report);
        }
    }
}

impl Analysis for Typestate<'_> {
    type State = State;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> State {
        let mut state = State { ends: vec![States::default(); self.numbers.len()] };
        for n in 0..self.body.params {
            let Some(decl) = self.body.locals.get(n as usize) else { continue };
            if let Some(end) = self.program.types.as_endpoint(decl.ty.ty) {
                self.set(&mut state, &Place::local(Local(n)), declared(end.state, decl.span));
            }
        }
        state
    }

    fn join(&self, into: &mut State, from: &State, _rounds: u32) -> bool {
        let mut changed = false;
        for (into, from) in into.ends.iter_mut().zip(&from.ends) {
            for (&at, &since) in from {
                let there = into.entry(at).or_insert_with(|| {
                    changed = true;
                    since
                });
                // The first place in the text, whatever path is looked at first.
                if since < *there {
                    *there = since;
                    changed = true;
                }
            }
        }
        changed
    }

    fn statement(&self, state: &mut State, _at: Point, stmt: &Stmt) {
        self.step(state, stmt, &mut |_| {});
    }
}

fn is_temp(body: &Body, local: Local) -> bool {
    body.locals.get(local.0 as usize).is_some_and(|decl| decl.kind == LocalKind::Temp)
}

/// What a type says.
fn declared(state: Option<StateId>, since: Span) -> States {
    States::from([(state.map_or(At::Unknown, At::State), since)])
}

pub(crate) fn sender(contract: &Contract, state: StateId) -> Option<Side> {
    contract.state(state)?.sender
}
