//! A worklist solver for dataflow problems on MIR, forward or backward.
//!
//! An analysis gives a state, a join, and what statements, terminators and edges do to the state. A
//! block that nothing reaches has no state, which is the bottom of every lattice; an edge that an
//! analysis calls impossible (`edge` gives `false`) carries nothing, so dead code drops out by
//! itself. States are kept at block boundaries only; inside a block they are recomputed by replay,
//! which visits every statement with the state before it (forward) or after it (backward).
//!
//! Lattices of infinite height (value ranges) widen in `join`, which is told how often the block
//! was entered before.

use mir::cfg::Cfg;
use mir::ir::{BlockId, Body, Const, Local, Operand, Rvalue, Stmt, TermKind, Terminator};
use std::cell::Cell;

thread_local! {
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// Counts statements, edges and facts that an analysis looks at: what its time grows with, whatever
/// else the machine does.
pub(crate) fn count_work(steps: usize) {
    WORK.set(WORK.get() + steps as u64);
}

/// What was counted on this thread so far.
pub(crate) fn work() -> u64 {
    WORK.get()
}

/// Which way facts travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// With control flow: the state at a block's start comes from the ends of its predecessors.
    Forward,
    /// Against it.
    Backward,
}

/// A statement or terminator of a body: block and statement number, the number of statements for
/// the terminator.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Point {
    /// The block.
    pub block: BlockId,
    /// The statement.
    pub stmt: usize,
}

/// All statements of a body and where they are, block by block.
pub fn points(body: &Body) -> impl Iterator<Item = (Point, &Stmt)> {
    body.blocks.iter().enumerate().flat_map(|(n, block)| {
        let at = move |stmt| Point { block: BlockId(n as u32), stmt };
        block.stmts.iter().enumerate().map(move |(stmt, s)| (at(stmt), s))
    })
}

/// What is known on the way from one block to another.
#[derive(Clone, Copy, Debug)]
pub enum Edge<'a> {
    /// Nothing.
    Plain,
    /// The operand is not zero (`true`) or zero (`false`).
    Branch(&'a Operand, bool),
    /// The operand is in one of the ranges that lead to this block.
    Case(&'a Operand, &'a [(i128, i128, BlockId)]),
    /// The operand is in none of the ranges.
    Else(&'a Operand, &'a [(i128, i128, BlockId)]),
}

/// A dataflow problem.
pub trait Analysis {
    /// What is known at a point.
    type State: Clone + Eq;
    /// Which way facts travel.
    const DIRECTION: Direction;

    /// The state at the function's entry (forward) or at each of its exits (backward).
    fn entry(&self) -> Self::State;

    /// Joins `from` into `into`; true if that changed it. `rounds`: how often the block was joined
    /// into before.
    fn join(&self, into: &mut Self::State, from: &Self::State, rounds: u32) -> bool;

    /// The same, told at which block.
    fn join_at(&self, _block: BlockId, into: &mut Self::State, from: &Self::State, rounds: u32) -> bool {
        self.join(into, from, rounds)
    }

    /// What the statement does.
    fn statement(&self, state: &mut Self::State, at: Point, stmt: &Stmt);

    /// What the terminator does on all of its edges.
    fn terminator(&self, _state: &mut Self::State, _at: Point, _term: &Terminator) {}

    /// What one edge adds; `false` if control cannot take it.
    fn edge(&self, _state: &mut Self::State, _from: BlockId, _to: BlockId, _edge: Edge) -> bool {
        true
    }
}

/// States at block boundaries: starts (forward) or ends (backward). `None`: control does not reach
/// it.
#[derive(Clone, Debug)]
pub struct Results<S> {
    boundary: Vec<Option<S>>,
}

impl<S: Clone + Eq> Results<S> {
    /// The state at the start of the block (forward) or at its end (backward).
    pub fn boundary(&self, block: BlockId) -> Option<&S> {
        self.boundary.get(block.0 as usize)?.as_ref()
    }

    /// Whether control can get to the block.
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.boundary(block).is_some()
    }

    /// The state at a point: before the statement (forward) or after it (backward). Costs a
    /// replay of the block; passes that want many points use [`Results::visit`].
    pub fn at<A: Analysis<State = S>>(&self, analysis: &A, body: &Body, at: Point) -> Option<S> {
        let mut found = None;
        self.visit_block(analysis, body, at.block, &mut |point, state, _| {
            if point == at {
                found = Some(state.clone());
            }
        });
        found
    }

    /// Replays all blocks that control reaches, in order of their numbers: each statement and
    /// terminator with its state.
    pub fn visit<A: Analysis<State = S>>(
        &self,
        analysis: &A,
        body: &Body,
        visitor: &mut dyn FnMut(Point, &S, Item<'_>),
    ) {
        for n in 0..body.blocks.len() {
            self.visit_block(analysis, body, BlockId(n as u32), visitor);
        }
    }

    fn visit_block<A: Analysis<State = S>>(
        &self,
        analysis: &A,
        body: &Body,
        block: BlockId,
        visitor: &mut dyn FnMut(Point, &S, Item<'_>),
    ) {
        let (Some(mut state), Some(code)) = (self.boundary(block).cloned(), body.blocks.get(block.0 as usize)) else {
            return;
        };
        count_work(code.stmts.len() + 1);
        let end = Point { block, stmt: code.stmts.len() };
        if A::DIRECTION == Direction::Backward {
            visitor(end, &state, Item::Term(&code.term));
            analysis.terminator(&mut state, end, &code.term);
            for (stmt, s) in code.stmts.iter().enumerate().rev() {
                let at = Point { block, stmt };
                visitor(at, &state, Item::Stmt(s));
                analysis.statement(&mut state, at, s);
            }
            return;
        }
        for (stmt, s) in code.stmts.iter().enumerate() {
            let at = Point { block, stmt };
            visitor(at, &state, Item::Stmt(s));
            analysis.statement(&mut state, at, s);
        }
        visitor(end, &state, Item::Term(&code.term));
    }
}

/// What stands at a point.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A statement.
    Stmt(&'a Stmt),
    /// A terminator.
    Term(&'a Terminator),
}

/// Solves the problem. Blocks are taken in (reverse) postorder, so that a graph without loops needs
/// one round.
pub fn solve<A: Analysis>(analysis: &A, body: &Body, cfg: &Cfg) -> Results<A::State> {
    let mut solver = Solver {
        analysis,
        body,
        cfg,
        boundary: vec![None; body.blocks.len()],
        rounds: vec![0; body.blocks.len()],
        dirty: mir::bits::BitSet::empty(cfg.reverse_postorder().len()),
    };
    match A::DIRECTION {
        Direction::Forward => solver.forward(),
        Direction::Backward => solver.backward(),
    }
    Results { boundary: solver.boundary }
}

/// One round back down from a solution: each block's state is recomputed from those of its
/// predecessors, without widening. What was true of every run stays true, so any number of rounds
/// is sound. Forward problems only.
pub fn narrow<A: Analysis>(analysis: &A, body: &Body, cfg: &Cfg, results: &mut Results<A::State>) {
    for &block in cfg.reverse_postorder() {
        let mut fresh: Option<A::State> = None;
        let mut flow = |state: &A::State| match &mut fresh {
            None => fresh = Some(state.clone()),
            Some(there) => drop(analysis.join(there, state, 0)),
        };
        if block == BlockId(0) {
            flow(&analysis.entry());
        }
        for &from in cfg.predecessors(block) {
            let (Some(mut state), Some(code)) = (results.boundary(from).cloned(), body.blocks.get(from.0 as usize))
            else {
                continue;
            };
            for (stmt, s) in code.stmts.iter().enumerate() {
                analysis.statement(&mut state, Point { block: from, stmt }, s);
            }
            analysis.terminator(&mut state, Point { block: from, stmt: code.stmts.len() }, &code.term);
            each_edge(body, &code.term.kind, &mut |to, edge| {
                let mut state = state.clone();
                if to == block && analysis.edge(&mut state, from, to, edge) {
                    flow(&state);
                }
            });
        }
        if let Some(slot) = results.boundary.get_mut(block.0 as usize) {
            *slot = fresh;
        }
    }
}

struct Solver<'a, A: Analysis> {
    analysis: &'a A,
    body: &'a Body,
    cfg: &'a Cfg,
    boundary: Vec<Option<A::State>>,
    rounds: Vec<u32>,
    /// By position in reverse postorder.
    dirty: mir::bits::BitSet,
}

impl<A: Analysis> Solver<'_, A> {
    fn forward(&mut self) {
        self.flow_into(BlockId(0), self.analysis.entry());
        loop {
            let mut progress = false;
            for &block in self.cfg.reverse_postorder() {
                progress |= self.process(block, Self::forward_block);
            }
            if !progress {
                return;
            }
        }
    }

    fn backward(&mut self) {
        let order = self.cfg.reverse_postorder();
        for &block in order.iter().rev() {
            if self.cfg.successors(block).is_empty() {
                self.flow_into(block, self.analysis.entry());
            }
        }
        for &block in order.iter().rev() {
            self.seed_endless_loop(block);
        }
        loop {
            let mut progress = false;
            for &block in order.iter().rev() {
                progress |= self.process(block, Self::backward_block);
            }
            if !progress {
                return;
            }
        }
    }

    /// A loop that nothing leaves has no exit to start from: the last of its blocks starts with the
    /// exits' state.
    fn seed_endless_loop(&mut self, block: BlockId) {
        let successors = self.cfg.successors(block);
        let last = successors.iter().all(|&to| self.cfg.position(to) <= self.cfg.position(block));
        if last && !successors.is_empty() {
            self.flow_into(block, self.analysis.entry());
        }
    }

    fn process(&mut self, block: BlockId, transfer: impl FnOnce(&mut Self, BlockId, A::State)) -> bool {
        let Some(position) = self.cfg.position(block).filter(|&p| self.dirty.contains(p)) else {
            return false;
        };
        self.dirty.remove(position);
        // What a block hands to none is not asked for.
        let to = match A::DIRECTION {
            Direction::Forward => self.cfg.successors(block),
            Direction::Backward => self.cfg.predecessors(block),
        };
        if to.is_empty() {
            return true;
        }
        count_work(self.body.blocks.get(block.0 as usize).map_or(1, |code| code.stmts.len() + 1));
        if let Some(state) = self.boundary.get(block.0 as usize).cloned().flatten() {
            transfer(self, block, state);
        }
        true
    }

    fn forward_block(&mut self, block: BlockId, mut state: A::State) {
        let body = self.body;
        let Some(code) = body.blocks.get(block.0 as usize) else { return };
        for (stmt, s) in code.stmts.iter().enumerate() {
            self.analysis.statement(&mut state, Point { block, stmt }, s);
        }
        let end = Point { block, stmt: code.stmts.len() };
        self.analysis.terminator(&mut state, end, &code.term);
        let mut send = |to: BlockId, edge: Edge| {
            let mut state = state.clone();
            if self.analysis.edge(&mut state, block, to, edge) {
                self.flow_into(to, state);
            }
        };
        each_edge(body, &code.term.kind, &mut send);
    }

    fn backward_block(&mut self, block: BlockId, mut state: A::State) {
        let body = self.body;
        let Some(code) = body.blocks.get(block.0 as usize) else { return };
        let end = Point { block, stmt: code.stmts.len() };
        self.analysis.terminator(&mut state, end, &code.term);
        for (stmt, s) in code.stmts.iter().enumerate().rev() {
            self.analysis.statement(&mut state, Point { block, stmt }, s);
        }
        for &from in self.cfg.predecessors(block) {
            if !self.cfg.is_reachable(from) {
                continue;
            }
            let Some(term) = body.blocks.get(from.0 as usize).map(|b| &b.term.kind) else { continue };
            let mut send = |to: BlockId, edge: Edge| {
                let mut state = state.clone();
                if to == block && self.analysis.edge(&mut state, from, to, edge) {
                    self.flow_into(from, state);
                }
            };
            each_edge(body, term, &mut send);
        }
    }

    fn flow_into(&mut self, block: BlockId, state: A::State) {
        let n = block.0 as usize;
        let (Some(slot), Some(rounds)) = (self.boundary.get_mut(n), self.rounds.get_mut(n)) else {
            return;
        };
        let changed = match slot {
            None => {
                *slot = Some(state);
                true
            }
            Some(there) => self.analysis.join_at(block, there, &state, *rounds),
        };
        *rounds += 1;
        if let (true, Some(position)) = (changed, self.cfg.position(block)) {
            self.dirty.insert(position);
        }
    }
}

/// Calls `send` for each edge that the terminator may take. A branch on a constant takes one.
fn each_edge(body: &Body, term: &TermKind, send: &mut dyn FnMut(BlockId, Edge)) {
    match term {
        TermKind::Goto(to) => send(*to, Edge::Plain),
        TermKind::If(operand, yes, no) => {
            let known = const_truth(operand);
            if known != Some(false) {
                send(*yes, Edge::Branch(operand, true));
            }
            if known != Some(true) {
                send(*no, Edge::Branch(operand, false));
            }
        }
        TermKind::Switch(operand, arms, other) => switch_edges(operand, arms, *other, send),
        TermKind::GotoComputed(_) => body.address_labels.iter().for_each(|(_, to)| send(*to, Edge::Plain)),
        TermKind::Return(_) | TermKind::MissingReturn | TermKind::Unreachable => {}
    }
}

fn switch_edges(
    operand: &Operand,
    arms: &[(i128, i128, BlockId)],
    other: BlockId,
    send: &mut dyn FnMut(BlockId, Edge),
) {
    if let Operand::Const(Const::Int(n, _)) = operand {
        let taken = arms.iter().find(|(lo, hi, _)| lo <= n && n <= hi);
        return send(taken.map_or(other, |arm| arm.2), Edge::Plain);
    }
    // Arms in source order often share targets in runs; each run is one edge.
    let mut rest = arms;
    while let Some(first) = rest.first() {
        let len = rest.iter().take_while(|arm| arm.2 == first.2).count();
        let (run, behind) = rest.split_at(len);
        send(first.2, Edge::Case(operand, run));
        rest = behind;
    }
    send(other, Edge::Else(operand, arms));
}

/// The truth value of a constant operand.
pub fn const_truth(operand: &Operand) -> Option<bool> {
    match operand {
        Operand::Const(Const::Int(n, _)) => Some(*n != 0),
        Operand::Const(Const::Null(_)) => Some(false),
        Operand::Const(Const::Func(_) | Const::Addr(..)) => Some(true),
        _ => None,
    }
}

/// Replaces branches on temporaries that are assigned once, with a constant, by branches on that
/// constant, so that `while (1)` is understood however it was lowered. Changes operands only.
pub fn fold_conditions(body: &mut Body) {
    let constants = constant_temps(body);
    if constants.iter().all(Option::is_none) {
        return;
    }
    for block in &mut body.blocks {
        if let Some(operand) = block.term.kind.decided_by_mut() {
            let known = whole_local(operand).and_then(|l| constants.get(l.0 as usize)?.clone());
            if let Some(constant) = known {
                *operand = Operand::Const(constant);
            }
        }
    }
}

/// The local that an operand reads whole.
pub fn whole_local(operand: &Operand) -> Option<Local> {
    operand.place().and_then(|place| place.as_local())
}

/// The temporary that the operand moves.
pub fn moved_temp(body: &Body, operand: &Operand) -> Option<Local> {
    let Operand::Move(place) = operand else { return None };
    let is_temp = |local: &Local| body.locals.get(local.0 as usize).is_some_and(|d| d.kind == mir::ir::LocalKind::Temp);
    place.as_local().filter(is_temp)
}

fn constant_temps(body: &Body) -> Vec<Option<Const>> {
    let mut writes = vec![0u32; body.locals.len()];
    for stmt in body.blocks.iter().flat_map(|block| &block.stmts) {
        mir::effects::stmt_places(&stmt.kind, &mut |place, access| {
            if let (mir::effects::Access::Write | mir::effects::Access::Address, Some(l)) = (access, place.local_part())
            {
                if let Some(count) = writes.get_mut(l.0 as usize) {
                    *count += 1;
                }
            }
        });
    }
    let once = |l: Local| {
        let is_temp = body.locals.get(l.0 as usize).is_some_and(|d| d.kind == mir::ir::LocalKind::Temp);
        is_temp && writes.get(l.0 as usize) == Some(&1)
    };
    let mut constants: Vec<Option<Const>> = vec![None; body.locals.len()];
    for stmt in body.blocks.iter().flat_map(|block| &block.stmts) {
        let Some((dest, value)) = stmt.kind.as_assign() else { continue };
        let Some(local) = dest.as_local().filter(|&l| once(l)) else { continue };
        let value = constant_value(value, &constants);
        if let Some(slot) = constants.get_mut(local.0 as usize) {
            *slot = value;
        }
    }
    constants
}

/// A constant, or a truth value or negation of one.
fn constant_value(value: &Rvalue, known: &[Option<Const>]) -> Option<Const> {
    let of = |operand: &Operand| match operand {
        Operand::Const(c @ (Const::Int(..) | Const::Null(_))) => Some(c.clone()),
        _ => whole_local(operand).and_then(|l| known.get(l.0 as usize)?.clone()),
    };
    match value.tested() {
        Some((a, not_zero)) => truth_const(of(a)?, !not_zero),
        None => of(value.as_use()?),
    }
}

fn truth_const(constant: Const, negate: bool) -> Option<Const> {
    match constant {
        Const::Int(n, ty) => Some(Const::Int(i128::from((n != 0) != negate), ty)),
        _ => None,
    }
}
