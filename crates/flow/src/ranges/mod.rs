//! Value ranges: what numbers are at most and at least, and how they compare.
//!
//! Lattice, of a point: for each tracked place an interval with a stride (`interval`); bounds on
//! differences of two of them, `a - b <= c` (`state`); which places hold which expressions over
//! others now, so that a branch on `t = a < b` says something about `a` and `b`, and the second
//! `a + b` is known to be the first. Pointers are followed as 0 (null) or 1. All numbers are
//! mathematical: a result that may wrap is any value of its type and has no relation to its
//! operands. Join: hull of intervals, the weaker bound of each difference, common expressions.
//! Loops widen at their heads to the next number that the body compares with, then one round
//! backwards narrows again.
//!
//! Tracked (`terms`) are integers of at most 64 bits and pointers in locals, fields of locals, and
//! memory by the path that leads there. A store or call forgets the memory that it may change:
//! everything but other fields of the same object, and fields that no such store reaches
//! (`guarded`).
//!
//! Needs: verified MIR of safe bodies, better if written by `transform::counted`. Changes nothing.
//! Guarantees: whenever control reaches a point, the facts hold.

mod assume;
pub mod guarded;
pub mod interval;
pub mod state;
mod summaries;
pub mod terms;
mod transfer;

pub use interval::Range;
pub use summaries::{whole, Compared, Summaries};

use crate::framework::{self, Analysis, Direction, Edge, Item, Point, Results};
use mir::cfg::Cfg;
use mir::ir::*;
use state::{State, ZERO};
use terms::{Terms, Val};

/// The problem for `framework`.
pub(crate) struct Problem<'a> {
    program: &'a Program,
    body: &'a Body,
    summaries: &'a Summaries,
    pub(crate) terms: Terms,
    /// By block: how many joins come before widening; `None` where nothing loops back to.
    patience: Vec<Option<u32>>,
    entry: State,
}

/// The ranges of one body, to be asked.
pub struct Ranges<'a> {
    problem: Problem<'a>,
    results: Results<State>,
}

/// The facts at one point.
pub struct View<'a> {
    problem: &'a Problem<'a>,
    state: &'a State,
}

impl<'a> Ranges<'a> {
    /// Analyses the body; `None` if it is too large or does what the analysis does not follow.
    pub fn of(program: &'a Program, body: &'a Body, summaries: &'a Summaries) -> Option<Ranges<'a>> {
        Ranges::with_params(program, body, summaries, &[])
    }

    /// The same, of a body whose callers are all known: `params` are the values that its parameters
    /// arrive with; `None`: any.
    pub fn with_params(
        program: &'a Program,
        body: &'a Body,
        summaries: &'a Summaries,
        params: &[Option<Range>],
    ) -> Option<Ranges<'a>> {
        Ranges::called_with(program, body, summaries, params, &[])
    }

    /// The same; `apart` says of two parameters that the first less the second is at most a number.
    pub fn called_with(
        program: &'a Program,
        body: &'a Body,
        summaries: &'a Summaries,
        params: &[Option<Range>],
        apart: &[(u32, u32, i128)],
    ) -> Option<Ranges<'a>> {
        if mir::twice::returns_twice(program, body) {
            return None;
        }
        let terms = Terms::new(program, body, &summaries.guarded);
        if terms.is_huge(body) {
            return None;
        }
        let cfg = Cfg::new(body);
        let patience = patience(body, &cfg);
        let mut problem = Problem { program, body, summaries, terms, patience, entry: State::default() };
        problem.entry = problem.contract();
        let term = |problem: &Problem, n: u32| problem.terms.term(&Place::local(Local(n)));
        // A parameter that is always one number is compared with as a constant would be.
        let constants = params.iter().flatten().filter_map(|r| r.constant());
        problem.terms.thresholds.extend(constants.flat_map(|n| [n - 1, n, n + 1]));
        problem.terms.thresholds.sort_unstable();
        problem.terms.thresholds.dedup();
        for (n, range) in params.iter().enumerate().take(body.params as usize) {
            if let (Some(term), Some(range)) = (term(&problem, n as u32), range) {
                // What does not fit the parameter is converted in the callee (K&R definitions).
                let whole = problem.terms.type_of(term);
                if whole.covers(*range) {
                    problem.entry.set_range(term, *range, &problem.terms.types);
                }
            }
        }
        for &(a, b, most) in apart.iter().filter(|d| d.0 < body.params && d.1 < body.params) {
            if let (Some(a), Some(b)) = (term(&problem, a), term(&problem, b)) {
                // Facts that contradict each other: the call is never made.
                let _ = problem.entry.add(a, b, most, &problem.terms.types);
            }
        }
        let mut results = framework::solve(&problem, body, &cfg);
        framework::narrow(&problem, body, &cfg, &mut results);
        Some(Ranges { problem, results })
    }

    /// Calls `see` for each statement and terminator that control reaches, with the facts before
    /// it.
    pub fn visit(&self, see: &mut dyn FnMut(Point, View<'_>, Item<'_>)) {
        self.results.visit(&self.problem, self.problem.body, &mut |at, state, item| {
            see(at, View { problem: &self.problem, state }, item)
        });
    }

    /// Whether control gets to the block.
    pub fn is_reached(&self, block: BlockId) -> bool {
        self.results.is_reached(block)
    }

    /// The least known bound of `a - b` before a statement.
    pub fn difference_at(&self, at: Point, a: &Operand, b: &Operand) -> Option<i128> {
        let state = self.results.at(&self.problem, self.problem.body, at)?;
        View { problem: &self.problem, state: &state }.difference(a, b)
    }

    /// Whether a call earlier in the block is supposed not to return (`Summaries::suppose_never`).
    pub fn is_stopped(&self, at: Point) -> bool {
        self.results.at(&self.problem, self.problem.body, at).is_some_and(|state| state.stopped)
    }

    /// The values that an operand may have before a statement (the number of statements: the
    /// terminator). `None`: control does not reach it, or it is not an integer.
    pub fn value_at(&self, at: Point, operand: &Operand) -> Option<Range> {
        let state = self.results.at(&self.problem, self.problem.body, at)?;
        View { problem: &self.problem, state: &state }.value(operand)
    }
}

impl View<'_> {
    fn val(&self, operand: &Operand) -> Option<Val> {
        self.problem.terms.val(&self.problem.program.types, operand)
    }

    /// Whether a call earlier in the block is supposed not to return.
    pub fn is_stopped(&self) -> bool {
        self.state.stopped
    }

    /// The values that an integer operand may have.
    pub fn value(&self, operand: &Operand) -> Option<Range> {
        match self.val(operand) {
            Some(Val::Const(n)) => Some(Range::single(n)),
            Some(Val::Term(term)) => {
                let types = &self.problem.terms.types;
                let range = self.state.range(term, types);
                let (lo, hi) = (self.state.lower(term, types), self.state.upper(term, types));
                range.at_least(lo).and_then(|r| r.at_most(hi)).or(Some(range))
            }
            None => {
                let ty = mir::ty::operand_ty(self.problem.program, self.problem.body, operand).ok()?;
                terms::int_range(&self.problem.program.types, ty)
            }
        }
    }

    /// The least known bound of `a - b`.
    pub fn difference(&self, a: &Operand, b: &Operand) -> Option<i128> {
        Some(self.problem.bound(self.state, self.val(a)?, self.val(b)?))
    }

    /// Whether `0 <= index < length` is certain.
    pub fn is_within(&self, index: &Operand, length: &Operand) -> bool {
        self.value(index).is_some_and(|r| r.lo >= 0) && self.difference(index, length).is_some_and(|d| d < 0)
    }

    /// Whether a pointer is certainly not null.
    pub fn is_nonnull(&self, pointer: &Operand) -> bool {
        match self.val(pointer) {
            Some(Val::Const(n)) => n != 0,
            Some(Val::Term(term)) => self.state.lower(term, &self.problem.terms.types) >= 1,
            None => false,
        }
    }
}

impl Problem<'_> {
    /// Temporaries that hold results of arithmetic on what outlives them: the last few of them.
    fn lasting(&self, state: &State) -> Vec<state::Term> {
        let is_short = |t: state::Term| self.terms.short.get(t as usize) == Some(&true);
        let lasts = |v: Option<Val>| !matches!(v, Some(Val::Term(t)) if is_short(t));
        let results = state.holds.iter().rev().filter(|(e, t)| {
            is_short(*t)
                && self.terms.key_of(*e).is_some_and(|key| {
                    let arithmetic = matches!(key, terms::Key::Binary(op, ..) if !mir::ty::is_comparison(op));
                    arithmetic && key.vals().into_iter().all(lasts)
                })
        });
        results.map(|h| h.1).take(MOST_LASTING).collect()
    }

    /// The least known bound of `a - b`.
    fn bound(&self, state: &State, a: Val, b: Val) -> i128 {
        let types = &self.terms.types;
        let split = |v: Val| match v {
            Val::Term(t) => (t, 0),
            Val::Const(n) => (ZERO, n),
        };
        let ((a, m), (b, n)) = (split(a), split(b));
        state.bound(a, b, types) + m - n
    }

    fn lower(&self, state: &State, v: Val) -> i128 {
        -self.bound(state, Val::Const(0), v)
    }

    fn upper(&self, state: &State, v: Val) -> i128 {
        self.bound(state, v, Val::Const(0))
    }

    /// The interval of a value, strides included.
    fn range(&self, state: &State, v: Val) -> Range {
        match v {
            Val::Const(n) => Range::single(n),
            Val::Term(t) => state.range(t, &self.terms.types),
        }
    }

    /// The interval of a value, with all that its relations say.
    fn precise(&self, state: &State, v: Val) -> Range {
        let range = self.range(state, v);
        range.at_least(self.lower(state, v)).and_then(|r| r.at_most(self.upper(state, v))).unwrap_or(range)
    }
}

impl Analysis for Problem<'_> {
    type State = State;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> State {
        self.entry.clone()
    }

    fn join(&self, into: &mut State, from: &State, rounds: u32) -> bool {
        into.join(from, &self.terms.types, rounds > LAST_RESORT, &self.terms.thresholds)
    }

    fn join_at(&self, block: BlockId, into: &mut State, from: &State, rounds: u32) -> bool {
        if rounds > GIVE_UP {
            let known = *into != State::default();
            *into = State::default();
            return known;
        }
        let patience = self.patience.get(block.0 as usize).copied().flatten().unwrap_or(LAST_RESORT);
        into.join(from, &self.terms.types, rounds > patience, &self.terms.thresholds)
    }

    fn statement(&self, state: &mut State, _at: Point, stmt: &Stmt) {
        self.step(state, stmt);
    }

    fn edge(&self, state: &mut State, _from: BlockId, _to: BlockId, edge: Edge) -> bool {
        if state.stopped {
            return false;
        }
        let possible = match edge {
            Edge::Plain => true,
            Edge::Branch(operand, holds) => self.branch(state, operand, holds),
            Edge::Case(operand, arms) => self.case(state, operand, arms),
            Edge::Else(operand, arms) => self.otherwise(state, operand, arms),
        };
        // What one block alone uses is not carried out of it, unless another may compute the same.
        let kept = self.lasting(state);
        let gone = |t: state::Term| self.terms.short.get(t as usize) == Some(&true) && !kept.contains(&t);
        let mentions = |e: state::ExprId| {
            let vals = self.terms.key_of(e).map_or([None, None], |k| k.vals());
            vals.iter().flatten().any(|v| matches!(v, Val::Term(t) if gone(*t)))
        };
        state.forget(gone, mentions, &self.terms.types);
        possible
    }
}

/// How many results of arithmetic are carried from block to block.
const MOST_LASTING: usize = 24;
/// Joins at one block after which even blocks that nothing loops back to widen.
const LAST_RESORT: u32 = 24;
/// Joins at one block after which nothing is known there.
const GIVE_UP: u32 = 200;

/// Heads of loops, and how often they are joined into before they widen: once from each side.
fn patience(body: &Body, cfg: &Cfg) -> Vec<Option<u32>> {
    let head = |n: usize| {
        let block = BlockId(n as u32);
        let here = cfg.position(block)?;
        let preds = cfg.predecessors(block);
        let loops = preds.iter().any(|&p| cfg.position(p).is_some_and(|at| at >= here));
        loops.then_some(preds.len() as u32)
    };
    (0..body.blocks.len()).map(head).collect()
}
