//! `switch (state d)`: the state that an end is in is kept in a variable of its own.
//!
//! The typestate analysis knows the set of states that an end may be in. Which of them it is, only
//! the path that led there says. So a function with a `switch (state d)` gets a variable for each
//! of its ends, and each statement that changes an end's state is followed by one that writes the
//! variable. Others cost nothing.

use mir::ir::*;
use mir::ty::place_ty;
use rustc_hash::FxHashMap;
use source::Span;
use typing::contracts::{MessageId, StateId};
use typing::types::{Endpoint, Ty};

/// The value of the variable when the peer was found closed: no state has this number.
const CLOSED: i128 = -1;

struct Follow<'a> {
    program: &'a Program,
    body: &'a mut Body,
    /// The variable with the state of each end.
    states: FxHashMap<Local, Local>,
    lent: FxHashMap<Local, Place>,
    int: Ty,
    out: Vec<Stmt>,
}

/// Keeps the states of all ends, if some are asked for: `asked` has their variables.
pub(crate) fn follow(program: &Program, body: &mut Body, asked: &FxHashMap<Local, Local>) {
    if asked.is_empty() {
        return;
    }
    let is_end = |body: &Body, local: Local| {
        let decl = body.locals.get(local.0 as usize);
        decl.is_some_and(|decl| program.types.as_endpoint(decl.ty.ty).is_some())
    };
    let lent = mir::ends::lent(body, |local| is_end(body, local));
    let int = program.types.common.int;
    let mut states = asked.clone();
    for n in 0..body.locals.len() as u32 {
        let local = Local(n);
        if is_end(body, local) && !lent.contains_key(&local) && !states.contains_key(&local) {
            states.insert(local, Local(body.locals.len() as u32));
            body.locals.push(LocalDecl::temp(int, ScopeId(0), body.span));
        }
    }
    let mut follow = Follow { program, body, states, lent, int, out: vec![] };
    follow.begin();
    for n in 0..follow.body.blocks.len() {
        let Some(block) = follow.body.blocks.get_mut(n) else { continue };
        for stmt in std::mem::take(&mut block.stmts) {
            let kind = stmt.kind.clone();
            let span = stmt.span;
            follow.out.push(stmt);
            follow.after(&kind, span);
        }
        let out = std::mem::take(&mut follow.out);
        if let Some(block) = follow.body.blocks.get_mut(n) {
            block.stmts = out;
        }
    }
}

impl Follow<'_> {
    /// Parameters are in the states that their types name; of other ends no state is known yet.
    fn begin(&mut self) {
        let span = self.body.span;
        let mut states: Vec<(Local, Local)> = self.states.iter().map(|(&end, &state)| (end, state)).collect();
        states.sort_unstable();
        for (end, state) in states {
            let declared = self.end_at(&Place::local(end)).and_then(|end| end.state);
            let is_param = end.0 < self.body.params;
            let value = declared.filter(|_| is_param).map_or(CLOSED, |state| i128::from(state.0));
            self.assign(state, self.constant(value), span);
        }
        if let Some(block) = self.body.blocks.first_mut() {
            block.stmts.splice(0..0, std::mem::take(&mut self.out));
        }
    }

    fn end_at(&self, place: &Place) -> Option<Endpoint> {
        self.program.types.as_endpoint(place_ty(self.program, self.body, place).ok()?.ty)
    }

    /// The variable with the state of the end at a place.
    fn state_of(&self, place: &Place) -> Option<Local> {
        let local = place.as_local()?;
        match self.lent.get(&local) {
            Some(of) => self.state_of(of),
            None => self.states.get(&local).copied(),
        }
    }

    fn constant(&self, value: i128) -> Rvalue {
        Rvalue::Use(Operand::Const(Const::Int(value, self.int)))
    }

    fn assign(&mut self, to: Local, value: Rvalue, span: Span) {
        let kind = StmtKind::set(to, value);
        self.out.push(Stmt { kind, span, is_unsafe: false });
    }

    /// The end at a place is now in the state.
    fn set(&mut self, place: &Place, state: Option<StateId>, span: Span) {
        if let (Some(to), Some(state)) = (self.state_of(place), state) {
            let value = self.constant(i128::from(state.0));
            self.assign(to, value, span);
        }
    }

    fn after(&mut self, kind: &StmtKind, span: Span) {
        match kind {
            StmtKind::Assign(dest, Rvalue::Use(operand)) => self.moved(dest, operand, span),
            StmtKind::Call { dest, args, ty, .. } => {
                let func = self.program.types.as_func(*ty);
                for (n, arg) in args.iter().enumerate() {
                    let becomes = func.as_deref().and_then(|f| f.params.get(n)).and_then(|param| param.becomes);
                    if let Some(place) = arg.place() {
                        self.set(place, becomes, span);
                    }
                }
                let state = func.and_then(|f| self.program.types.as_endpoint(f.ret)?.state);
                if let Some(dest) = dest {
                    self.set(dest, state, span);
                }
            }
            StmtKind::ChannelNew { state, imp, exp, .. } => {
                self.set(imp, Some(*state), span);
                self.set(exp, Some(*state), span);
            }
            StmtKind::Send { end, message, .. } => self.step(end, *message, span),
            StmtKind::Receive { end, head, binds, .. } => {
                match head {
                    Head::Message(message) => self.step(end, *message, span),
                    Head::Closed | Head::Empty | Head::Any => {
                        if let Some(to) = self.state_of(end) {
                            self.assign(to, self.constant(CLOSED), span);
                        }
                    }
                }
                if let (Head::Message(message), Some(end)) = (head, self.end_at(end)) {
                    self.arguments(end, *message, binds, span);
                }
            }
            StmtKind::SetTake { set, end, value, .. } => {
                let types = &self.program.types;
                let kind = place_ty(self.program, self.body, set).ok().and_then(|set| types.as_end_set(set.ty));
                let in_map = kind.and_then(|kind| types.as_endpoint(types.map_value(&kind)?)?.state);
                self.set(end, kind.and_then(|kind| kind.end.state), span);
                if let Some(value) = value {
                    self.set(value, in_map, span);
                }
            }
            StmtKind::Exchange(a, b) => match (self.state_of(a), self.state_of(b)) {
                (Some(x), Some(y)) => {
                    let old = Local(self.body.locals.len() as u32);
                    self.body.locals.push(LocalDecl::temp(self.int, ScopeId(0), span));
                    self.assign(old, Rvalue::Use(Operand::local(x)), span);
                    self.assign(x, Rvalue::Use(Operand::local(y)), span);
                    self.assign(y, Rvalue::Use(Operand::local(old)), span);
                }
                // What is elsewhere is in the state of its type, and so is what goes there.
                (Some(_), None) => self.arrives(a, b, span),
                (None, Some(_)) => self.arrives(b, a, span),
                (None, None) => {}
            },
            StmtKind::Assign(_, _)
            | StmtKind::Check(_)
            | StmtKind::Prove(_)
            | StmtKind::StorageLive(_)
            | StmtKind::StorageDead(_)
            | StmtKind::Zero(_)
            | StmtKind::CopyElements { .. }
            | StmtKind::SetTag(..)
            | StmtKind::VaStart(_)
            | StmtKind::VaEnd(_)
            | StmtKind::VaCopy(..)
            | StmtKind::Assembly(_)
            | StmtKind::ArenaBegin(..)
            | StmtKind::ArenaEnd(..)
            | StmtKind::OpenBegin(..)
            | StmtKind::Close(..)
            | StmtKind::Dispose { .. }
            | StmtKind::DropSlot(_)
            | StmtKind::CursorBegin(..)
            | StmtKind::CursorEnd(_)
            | StmtKind::Pack(..)
            | StmtKind::UnpackBegin { .. }
            | StmtKind::UnpackEnd(..)
            | StmtKind::Select { .. }
            | StmtKind::SetNew(_)
            | StmtKind::SetAdd { .. }
            | StmtKind::Nop => {}
        }
    }

    fn moved(&mut self, dest: &Place, operand: &Operand, span: Span) {
        let (Some(to), Some(from)) = (self.state_of(dest), operand.place()) else { return };
        match self.state_of(from) {
            Some(from) => self.assign(to, Rvalue::Use(Operand::local(from)), span),
            None => self.arrives(dest, from, span),
        }
    }

    /// An end comes from a place whose type names its state.
    fn arrives(&mut self, dest: &Place, from: &Place, span: Span) {
        let state = self.end_at(from).and_then(|end| end.state);
        self.set(dest, state, span);
    }

    /// Ends among the arguments of a message are in the states that the contract names.
    fn arguments(&mut self, end: Endpoint, message: MessageId, binds: &[Place], span: Span) {
        let types = &self.program.types;
        let Some(message) = types.contract(end.contract).and_then(|c| c.message(message)) else { return };
        let states: Vec<_> =
            message.params.iter().map(|(_, ty, _)| types.as_endpoint(*ty).and_then(|e| e.state)).collect();
        for (bind, state) in binds.iter().zip(states) {
            self.set(bind, state, span);
        }
    }

    /// A message was sent or received: the state becomes the one that it leads to, from the one
    /// that the end is in.
    fn step(&mut self, place: &Place, message: MessageId, span: Span) {
        let (Some(to), Some(end)) = (self.state_of(place), self.end_at(place)) else { return };
        let Some(contract) = self.program.types.contract(end.contract) else { return };
        let all = (0..contract.states.len() as u32).map(StateId);
        let steps: Vec<(StateId, StateId)> =
            all.filter_map(|state| Some((state, contract.next(state, message)?))).collect();
        let Some(&(_, first)) = steps.first() else { return };
        if steps.iter().all(|(_, next)| *next == first) {
            return self.assign(to, self.constant(i128::from(first.0)), span);
        }
        // One of the comparisons is 1, the others are 0.
        let mut sum = self.constant(0);
        for (state, next) in steps {
            let int = self.int;
            let number = |id: StateId| Operand::Const(Const::Int(i128::from(id.0), int));
            let is_there = self.value(Rvalue::Binary(BinOp::Eq, Operand::local(to), number(state), int), span);
            let next = self.value(Rvalue::Binary(BinOp::Mul, is_there, number(next), int), span);
            let before = self.value(sum, span);
            sum = Rvalue::Binary(BinOp::Add, before, next, int);
        }
        self.assign(to, sum, span);
    }

    fn value(&mut self, value: Rvalue, span: Span) -> Operand {
        let temp = Local(self.body.locals.len() as u32);
        self.body.locals.push(LocalDecl::temp(self.int, ScopeId(0), span));
        self.assign(temp, value, span);
        Operand::local(temp)
    }
}
