//! Intervals of parameters, top-down: what every caller passes.

use super::{widened, PATIENCE};
use crate::program::is_internal;
use crate::recursion::Edges;
use crate::rules::Rule;
use crate::unit::Unit;
use crate::verdict::key;
use flow::framework::Item;
use flow::ranges::{Range, Ranges, Summaries};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::FuncRef;

/// Intervals of parameters, by key (`verdict::key`): of functions all of whose callers are seen.
/// `None`: any value.
pub type Parameters = FxHashMap<String, Vec<Option<Range>>>;

/// Bodies with more statements are not searched for what they pass: their arguments may be
/// anything.
const MOST_STATEMENTS: usize = 4000;
/// How often one body is gone through, after which what is passed to it may be anything.
const MOST_VISITS: u32 = 30;

/// What was seen to be passed to functions so far, by key; `None`: any value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Passed(Parameters);

/// Which functions other code may call.
pub struct Callers<'a> {
    /// The call graph.
    pub edges: &'a Edges,
    /// Whether the units are all the code.
    pub whole_program: bool,
    /// Functions that no call was seen to reach: they count as called with anything, for a linker,
    /// a loader or assembly may call them.
    pub unseen: FxHashSet<String>,
}

impl Callers<'_> {
    /// Whether code that is not seen may call the function of this key.
    fn may_be_any(&self, key: &str, internal: bool) -> bool {
        let addressed = self.edges.addressed.contains(key) && Rule::Addressed.holds();
        let exported = !internal && !self.whole_program && Rule::Exported.holds();
        exported || key == "main" || addressed || self.unseen.contains(key)
    }
}

/// With what a body was gone through last, and how often.
pub type Visit = (Option<Vec<Option<Range>>>, u32);

/// A unit and what is known of its bodies.
pub struct Caller<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// Its number.
    pub number: usize,
    /// What functions return.
    pub results: &'a Summaries,
    /// Its bodies, callers before those that they call but for recursion.
    pub order: Vec<usize>,
    /// In the same order.
    pub visits: Vec<Visit>,
    /// Whether anything was widened, so that a round downwards may find more.
    pub widened: bool,
}

impl Passed {
    /// What a function is called with; `None`: no call of it was seen.
    fn of(&self, key: &str) -> Option<Vec<Option<Range>>> {
        self.0.get(key).cloned()
    }

    /// Adds a call; whether that changes anything.
    fn add(&mut self, key: String, values: &[Option<Range>]) -> bool {
        let Some(known) = self.0.get_mut(&key) else {
            self.0.insert(key, values.to_vec());
            return true;
        };
        // What a call leaves out may be anything.
        let mut changed = known.len() > values.len();
        known.truncate(values.len());
        for (old, new) in known.iter_mut().zip(values) {
            let both = old.zip(*new).map(|(a, b)| a.hull(b));
            changed |= *old != both;
            *old = both;
        }
        changed
    }

    /// Adds what another thread saw; whether that changes anything.
    pub fn merge(&mut self, from: &Passed) -> bool {
        let mut changed = false;
        for (key, values) in &from.0 {
            changed |= self.add(key.clone(), values);
        }
        changed
    }

    /// The intervals of functions that no other code calls.
    pub fn known(&self, callers: &Callers) -> Parameters {
        let internal = |key: &str| key.split_once(':').is_some_and(|(unit, _)| unit.parse::<usize>().is_ok());
        let all = self.0.keys().filter(|key| !callers.may_be_any(key, internal(key)));
        all.filter_map(|key| Some((key.clone(), self.of(key)?))).collect()
    }
}

impl<'a> Caller<'a> {
    /// A unit that nothing was asked of yet.
    pub fn new(unit: &'a Unit, number: usize, results: &'a Summaries) -> Caller<'a> {
        let mut order = crate::summary::callees_first(&unit.program);
        order.reverse();
        let visits = vec![(None, 0); order.len()];
        Caller { unit, number, results, order, visits, widened: false }
    }
}

impl Caller<'_> {
    /// Goes through the bodies of the unit that are called with something new, until there is none.
    pub fn settle(&mut self, callers: &Callers, passed: &mut Passed) {
        loop {
            let mut again = false;
            for at in 0..self.order.len() {
                let Some(body) = self.order.get(at).and_then(|&n| self.unit.program.bodies.get(n)) else { continue };
                let Some(with) = self.called_with(body, callers, passed) else { continue };
                let wanted =
                    |v: &&mut Visit| v.0.as_ref() != Some(&with) && (v.1 == 0 || Rule::ParametersFixed.holds());
                let Some(visit) = self.visits.get_mut(at).filter(wanted) else { continue };
                let with = match &visit.0 {
                    Some(before) if visit.1 > PATIENCE => grown(before, &with, visit.1),
                    _ => with,
                };
                *visit = (Some(with.clone()), visit.1 + 1);
                if visit.1 > PATIENCE + 1 {
                    self.widened = true;
                    passed.add(key(&self.unit.program, self.number, &body.func), &with);
                }
                again |= self.calls(body, &with, callers, passed);
            }
            if !again {
                return;
            }
        }
    }

    /// One round downwards: what the bodies pass if they are called with what is known.
    pub fn lower(&self, callers: &Callers, known: &Passed, passed: &mut Passed) {
        for body in &self.unit.program.bodies {
            if let Some(with) = self.called_with(body, callers, known) {
                self.calls(body, &with, callers, passed);
            }
        }
    }

    /// The functions of the unit that no seen call reaches.
    pub fn unseen(&self, callers: &Callers, passed: &Passed) -> Vec<String> {
        let bodies = self.unit.program.bodies.iter();
        let unseen = bodies.filter(|body| self.called_with(body, callers, passed).is_none());
        unseen.map(|body| key(&self.unit.program, self.number, &body.func)).collect()
    }

    fn called_with(&self, body: &Body, callers: &Callers, passed: &Passed) -> Option<Vec<Option<Range>>> {
        let program = &self.unit.program;
        let own = key(program, self.number, &body.func);
        match callers.may_be_any(&own, is_internal(program, &body.func)) {
            true => Some(vec![]),
            false => passed.of(&own),
        }
    }

    /// Adds what a body passes on; whether that changes anything.
    fn calls(&self, body: &Body, with: &[Option<Range>], callers: &Callers, passed: &mut Passed) -> bool {
        let program = &self.unit.program;
        let stmts = || body.blocks.iter().flat_map(|b| &b.stmts);
        let wanted = |f: &FuncRef| {
            let own = key(program, self.number, f);
            let any = callers.may_be_any(&own, is_internal(program, f));
            (!any).then_some(own)
        };
        if !stmts().any(|s| direct_call(&s.kind).is_some_and(|(f, _)| wanted(f).is_some())) {
            return false;
        }
        let small = body.blocks.iter().map(|b| b.stmts.len()).sum::<usize>() <= MOST_STATEMENTS;
        let ranges = small.then(|| Ranges::with_params(program, body, self.results, with)).flatten();
        let mut changed = false;
        match ranges {
            Some(ranges) => ranges.visit(&mut |_, view, item| {
                let Item::Stmt(stmt) = item else { return };
                let Some((f, args)) = direct_call(&stmt.kind) else { return };
                if let Some(to) = wanted(f) {
                    let values: Vec<Option<Range>> = args.iter().map(|a| view.value(a)).collect();
                    changed |= passed.add(to, &values);
                }
            }),
            None => {
                for (f, args) in stmts().filter_map(|s| direct_call(&s.kind)) {
                    if let Some(to) = wanted(f) {
                        changed |= passed.add(to, &vec![None; args.len()]);
                    }
                }
            }
        }
        changed
    }
}

/// What a body is gone through with that was gone through so often before.
fn grown(before: &[Option<Range>], with: &[Option<Range>], visits: u32) -> Vec<Option<Range>> {
    let wider = |(old, new): (&Option<Range>, &Option<Range>)| match (old, new) {
        (Some(old), Some(new)) if visits < MOST_VISITS => Some(if old == new { *old } else { widened(*old, *new) }),
        _ => None,
    };
    before.iter().zip(with).map(wider).collect()
}

/// The function that is called by its name, and the arguments.
fn direct_call(kind: &StmtKind) -> Option<(&FuncRef, &Vec<Operand>)> {
    Some((kind.called()?, kind.as_call()?.args))
}
