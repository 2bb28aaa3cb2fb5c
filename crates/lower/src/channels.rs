//! Channels: `channel`, `send`, `receive`, `switch receive`, `switch (state d)`.

use crate::builder::{Frame, Lower};
use crate::place::Use;
use mir::ir::*;
use source::Span;
use typing::contracts::{ContractId, MessageId, StateId};
use typing::tree::{self, Conjunct, Expr, LocalId, ReceiveCase, ReceiveOn};

impl<'t> Lower<'t, '_> {
    /// `channel C:STATE (imp, exp);`
    pub fn channel(&mut self, contract: ContractId, state: StateId, imp: LocalId, exp: LocalId) {
        let (imp, exp) = (self.local(imp), self.local(exp));
        self.declare_live(imp);
        self.declare_live(exp);
        self.emit(StmtKind::ChannelNew { contract, state, imp: Place::local(imp), exp: Place::local(exp) });
    }

    /// `send end.M(args);`
    pub fn send(&mut self, end: &'t Expr, message: MessageId, args: &'t [Expr]) {
        let mut values = vec![];
        for (i, arg) in args.iter().enumerate() {
            let later: Vec<&Expr> = args.iter().skip(i + 1).chain([end]).collect();
            values.push(self.operand_before(arg, &later));
        }
        let end = self.place(end, Use::Read).place;
        let args = values.into_iter().map(|value| self.out_of_hold(value)).collect();
        self.emit(StmtKind::Send { end, message, args });
    }

    /// `receive end.M(x);`
    pub fn receive(&mut self, end: &'t Expr, message: MessageId, binds: &[LocalId]) {
        let end = self.place(end, Use::Read).place;
        self.take_message(end, Head::Message(message), binds, true);
    }

    /// `eset_add(set, end);`, `emap_add(set, end, value);`
    pub fn set_add(&mut self, set: &'t Expr, end: &'t Expr, value: Option<&'t Expr>) {
        let later: Vec<&Expr> = value.into_iter().chain([set]).collect();
        let end = self.operand_before(end, &later);
        let value = value.map(|value| self.operand_before(value, &[set]));
        let set = self.place(set, Use::Read).place;
        let end = self.out_of_hold(end);
        let value = value.map(|value| self.out_of_hold(value));
        self.emit(StmtKind::SetAdd { set, end, value });
    }

    fn take_message(&mut self, end: Place, head: Head, binds: &[LocalId], waits: bool) {
        let mut places = vec![];
        for &bind in binds {
            let local = self.local(bind);
            self.declare_live(local);
            places.push(Place::local(local));
        }
        let locals: Vec<Local> = places.iter().filter_map(Place::as_local).collect();
        self.emit(StmtKind::Receive { end, head, binds: places, waits });
        // Only now there is something in their slots.
        locals.into_iter().for_each(|local| self.keep_slots(local));
    }

    /// What a case takes: out of a set the member, then from it the message.
    fn take_conjunct(&mut self, place: Place, head: Head, conjunct: &Conjunct) {
        let mut end = place;
        if let Some((member, value)) = conjunct.member {
            let (member, value) = (self.local(member), value.map(|value| self.local(value)));
            let locals = [Some(member), value];
            locals.into_iter().flatten().for_each(|local| self.declare_live(local));
            let value = value.map(Place::local);
            self.emit(StmtKind::SetTake { set: end, head, end: Place::local(member), value });
            locals.into_iter().flatten().for_each(|local| self.keep_slots(local));
            end = Place::local(member);
        }
        if matches!(head, Head::Message(_) | Head::Closed) {
            self.take_message(end, head, &conjunct.binds, false);
        }
    }

    /// `switch receive`: a wait, a jump to the case that can be taken, and before its body
    /// what it takes.
    pub fn select(&mut self, words: Span, cases: &'t [ReceiveCase], default: Option<&'t tree::Block>) {
        let outer = self.enter(words, self.is_unsafe);
        let mut waited = vec![];
        let mut bodies = vec![];
        for case in cases {
            let saved = self.enter(case.span, self.is_unsafe);
            match &case.on {
                ReceiveOn::Messages(conjuncts) => {
                    let heads: Vec<(Place, Head)> =
                        conjuncts.iter().map(|c| (self.place(&c.end, Use::Read).place, c.head)).collect();
                    waited.push(SelectCase::Heads(heads));
                    bodies.push(case);
                }
                ReceiveOn::After(_) => {}
            }
            self.leave(saved);
        }
        // The runtime numbers the time after all others.
        for case in cases {
            if let ReceiveOn::After(time) = &case.on {
                let time = self.operand(time);
                waited.push(SelectCase::After(time));
                bodies.push(case);
            }
        }
        let int = self.common().int;
        let dest = self.temp(int);
        let heads = waited.clone();
        let has_default = default.is_some();
        self.emit(StmtKind::Select { dest: Place::local(dest), cases: waited, has_default });
        self.leave(outer);
        let head = self.current;
        let exit = self.new_block();
        self.frames.push(Frame { on_break: exit, on_continue: None, live: self.live });
        let mut edges = vec![];
        for (n, (case, on)) in bodies.into_iter().zip(heads).enumerate() {
            let block = self.new_block();
            self.start(block);
            edges.push((n as i128, n as i128, block));
            let scope = self.open_scope(case.body.span);
            if let (SelectCase::Heads(heads), ReceiveOn::Messages(conjuncts)) = (on, &case.on) {
                for ((end, head), conjunct) in heads.into_iter().zip(conjuncts) {
                    let saved = self.enter(conjunct.span, self.is_unsafe);
                    self.take_conjunct(end, head, conjunct);
                    self.leave(saved);
                }
            }
            self.block_stmts(&case.body);
            self.close_scope(scope);
            self.goto_and_start(exit, exit);
        }
        let otherwise = self.new_block();
        self.start(otherwise);
        match default {
            Some(body) => {
                let scope = self.open_scope(body.span);
                self.block_stmts(body);
                self.close_scope(scope);
                self.goto_and_start(exit, exit);
            }
            None => self.set_term(TermKind::Unreachable),
        }
        self.frames.pop();
        self.start(head);
        self.set_term(TermKind::Switch(Operand::local(dest), edges, otherwise));
        self.start(exit);
    }

    /// The variable that holds the state of an end: what a `switch (state d)` jumps on.
    pub fn end_state(&mut self, end: &Place) -> Operand {
        let int = self.common().int;
        let state = match end.as_local().and_then(|local| self.end_states.get(&local)) {
            Some(&state) => state,
            None => self.temp(int),
        };
        self.end_states.extend(end.as_local().map(|local| (local, state)));
        Operand::local(state)
    }

    /// The jump of a `switch (state d)` to its labels. On each edge it is known in which state the
    /// end is.
    pub fn end_edges(
        &mut self,
        state: Operand,
        end: Place,
        cases: &[(i128, i128, BlockId, usize)],
        default: Option<(BlockId, usize)>,
    ) {
        let head = self.current;
        let ty = mir::ty::place_ty(self.program, &self.body, &end).ok();
        let contract = ty.and_then(|ty| self.program.types.contract(self.program.types.as_endpoint(ty.ty)?.contract));
        let count = contract.map_or(0, |contract| contract.states.len() as u32);
        let number = |n: i128| u32::try_from(n).ok().map(StateId);
        let states: Vec<StateId> = cases.iter().filter_map(|(lo, ..)| number(*lo)).collect();
        let rest: Vec<StateId> = (0..count).map(StateId).filter(|state| !states.contains(state)).collect();
        let operand = Operand::Copy(end);
        let has_default = default.is_some();
        self.emit(StmtKind::Prove(Proof::EndCases { end: operand.clone(), states, has_default }));
        let mut edges = vec![];
        for (lo, hi, block, live) in cases {
            let states: Vec<StateId> = number(*lo).into_iter().collect();
            edges.push((*lo, *hi, self.end_edge(operand.clone(), states, false, *block, *live)));
        }
        let otherwise = match default {
            Some((block, live)) => self.end_edge(operand, rest, true, block, live),
            None => {
                // The analysis of states makes sure of it, if the end is not null.
                let never = self.new_block();
                self.start(never);
                self.impossible();
                never
            }
        };
        self.start(head);
        self.set_term(TermKind::Switch(state, edges, otherwise));
    }

    fn end_edge(&mut self, end: Operand, states: Vec<StateId>, closed: bool, to: BlockId, live: usize) -> BlockId {
        let edge = self.new_block();
        self.start(edge);
        self.emit(StmtKind::Prove(Proof::EndFound { end, states, closed }));
        self.travel(live);
        self.set_term(TermKind::Goto(to));
        edge
    }
}
