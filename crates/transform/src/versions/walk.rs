//! Fat pointers that a loop moves forward: `*o++ = x`, `in += 3`, `row += stride`; and what it
//! accesses near them: `*p`, `p[1]`, `p[m]`.
//!
//! Within a turn the analysis tracks how far each has moved since the head, at least and at most. A
//! loop of at most `n` turns that moves a pointer by at most `g` in each, never back, keeps `p + c`
//! within the bounds, `c` counted from the head of a turn, if that holds for `(n - 1) * g + c`
//! elements from where the pointer stands before the loop.
//!
//! `g` and `c` are sums of a constant and of a few numbers that are the same in all turns. The test
//! asks of each of these, and of `n`, that it is at least 0 and less than 2^31, so `c` is nowhere
//! less than its constants alone, and all is far from the end of 64 bits.

use super::index::{Node, Planner};
use crate::loops::{Turns, Until, MOST_STEP};
use crate::uses::{self, At, Writes};
use flow::ranges::terms::int_range;
use mir::cfg::{Cfg, Dominators};
use mir::ir::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use typing::types::Bounds;

/// In a turn a pointer moves by at most so many numbers that are not constant: times a number of
/// turns their sum is less than 2^64.
const MOST_STEPS: u32 = 2;
/// As many such numbers are followed in a loop, and in the distance of an element.
const MOST_NUMBERS: usize = 6;

/// How far from where a pointer stood at the head, in elements.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Moved {
    least: i128,
    most: i128,
    /// Numbers that may have been added, and how often at most.
    numbers: BTreeMap<usize, u32>,
}

impl Moved {
    fn by(&self, n: i128) -> Moved {
        let numbers = self.numbers.clone();
        Moved { least: self.least.saturating_add(n), most: self.most.saturating_add(n), numbers }
    }

    fn by_number(&self, number: usize) -> Moved {
        let mut moved = self.clone();
        let times = moved.numbers.entry(number).or_insert(0);
        *times = times.saturating_add(1);
        moved
    }

    /// What holds after either.
    fn join(&mut self, other: &Moved) {
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        for (&number, &times) in &other.numbers {
            let here = self.numbers.entry(number).or_insert(0);
            *here = times.max(*here);
        }
    }

    fn times(&self) -> u32 {
        self.numbers.values().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// A sum of a constant and of numbers that do not change in the loop, each so many times.
#[derive(Clone, Debug)]
pub struct Distance {
    /// The constant.
    pub constant: i128,
    /// The numbers.
    pub numbers: Vec<(Node, u32)>,
}

/// What a pointer has to reach.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The pointer, as it is before the loop.
    pub pointer: Local,
    /// By how much it moves in a turn, at most.
    pub by: Distance,
    /// The element, from where the pointer stands at the start of a turn.
    pub furthest: Distance,
}

/// Where each pointer that walks is.
type State = FxHashMap<Local, Moved>;

/// What a loop does to the pointers that it moves.
pub struct Walk {
    /// Checks of elements near a pointer.
    pub checks: Vec<At>,
    /// What they ask for.
    pub reach: Vec<Reach>,
    /// By how much the pointer that ends the loop moves in each turn.
    pub climb: Option<i128>,
}

struct Walker<'a> {
    body: &'a Body,
    writes: &'a Writes,
    planner: &'a Planner<'a>,
    /// The distances that pointers move by, other than constants.
    numbers: Vec<Node>,
    /// Temporaries: the pointer that each is made from, and how far from its place at the head.
    temps: FxHashMap<Local, (Local, Moved)>,
    spoiled: Vec<Local>,
}

/// Follows the pointers through a turn.
pub fn run(planner: &Planner, cfg: &Cfg) -> Option<Walk> {
    let Planner { program, body, writes, dominators, l, .. } = *planner;
    if matches!(l.turns, Turns::Open) {
        return None;
    }
    let order: Vec<usize> = cfg.reverse_postorder().iter().map(|b| b.0 as usize).filter(|&b| l.contains(b)).collect();
    let mut all: Vec<Local> = vec![];
    for n in 0..body.locals.len() {
        let local = Local(n as u32);
        if is_pointer(program, body, local) && writes.count(local) > 0 && !is_temp(body, local)
            || is_pointer(program, body, local) && writes.is_constant_param(body, local)
        {
            all.push(local);
        }
    }
    let mut walker = Walker { body, writes, planner, numbers: vec![], temps: FxHashMap::default(), spoiled: vec![] };
    let mut checks: Vec<(At, Local, Moved)> = vec![];
    let mut at_end: FxHashMap<usize, State> = FxHashMap::default();
    for &block in &order {
        let mut state = State::default();
        if block == l.head {
            state.extend(all.iter().map(|&p| (p, Moved::default())));
        } else {
            let from = cfg.predecessors(BlockId(block as u32)).iter().map(|p| p.0 as usize);
            for before in from.filter(|&p| l.contains(p)) {
                let there = at_end.get(&before)?;
                for (&p, moved) in there {
                    state.entry(p).or_insert_with(|| moved.clone()).join(moved);
                }
            }
        }
        for (stmt, s) in body.blocks.get(block)?.stmts.iter().enumerate() {
            let at = At { block, stmt };
            if let Some(pointer) = uses::single_check(&s.kind) {
                let place = walker.place_of(&state, pointer, at, dominators);
                checks.extend(place.filter(|_| l.is_inside(at)).map(|(p, moved)| (at, p, moved)));
            }
            walker.step(&mut state, &s.kind, at, dominators);
        }
        at_end.insert(block, state);
    }
    let turn = at_end.get(&l.latch)?;
    let steady = |p: &Local| !walker.spoiled.contains(p);
    let mut found = Walk { checks: vec![], reach: vec![], climb: None };
    // Of elements that differ by a constant the furthest will do.
    let mut furthest: BTreeMap<(Local, Vec<(usize, u32)>), i128> = BTreeMap::new();
    for (at, pointer, moved) in checks {
        let Some(by) = turn.get(&pointer).filter(|_| steady(&pointer)) else { continue };
        let steps = by.times() <= MOST_STEPS && moved.times() <= MOST_NUMBERS as u32;
        if steps && by.least >= 0 && moved.least >= 0 && by.most <= MOST_STEP && moved.most <= MOST_STEP {
            found.checks.push(at);
            let far = furthest.entry((pointer, moved.numbers.into_iter().collect())).or_insert(0);
            *far = moved.most.max(*far);
        }
    }
    for ((pointer, numbers), constant) in furthest {
        let by = turn.get(&pointer)?;
        let by = walker.distance(by.most, by.numbers.iter().map(|(&n, &times)| (n, times)))?;
        found.reach.push(Reach { pointer, by, furthest: walker.distance(constant, numbers.into_iter())? });
    }
    if let Turns::Climb(climb) = &l.turns {
        let by = turn.get(&climb.pointer).filter(|_| steady(&climb.pointer))?;
        // The test sees the pointer as it is at the head, or at the end of a turn.
        let tested = body.blocks.get(if l.at_end { l.latch } else { l.head })?;
        let from = if l.at_end { climb.read + 1 } else { 0 };
        let still = tested.stmts.iter().skip(from).all(|s| {
            let mut same = true;
            uses::written(&s.kind, &mut |w| same &= w != climb.pointer);
            same
        });
        let exact = by.numbers.is_empty() && (climb.until == Until::Below || by.least == 1 && by.most == 1);
        (still && exact && by.least >= 1 && by.most <= MOST_STEP).then_some(())?;
        found.climb = Some(by.least);
    }
    Some(found)
}

fn is_temp(body: &Body, local: Local) -> bool {
    body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp)
}

/// A fat pointer to elements that nothing else moves.
fn is_pointer(program: &Program, body: &Body, local: Local) -> bool {
    let Some(decl) = body.locals.get(local.0 as usize) else { return false };
    let fat = program.types.as_pointer(decl.ty.ty).is_some_and(|p| p.bounds == Bounds::Fat && !p.own.is_owned());
    fat && !decl.address_taken && !decl.ty.quals.is_volatile && !decl.ty.quals.is_atomic
}

impl Walker<'_> {
    /// The pointer that a local is, or is made from, and how far from its place at the head.
    fn place_of(&self, state: &State, local: Local, at: At, dominators: &Dominators) -> Option<(Local, Moved)> {
        if let Some(moved) = state.get(&local) {
            return Some((local, moved.clone()));
        }
        let (made, _) = self.writes.single(self.body, local)?;
        let before = if made.block == at.block {
            made.stmt < at.stmt
        } else {
            dominators.dominates(BlockId(made.block as u32), BlockId(at.block as u32))
        };
        self.temps.get(&local).cloned().filter(|_| before)
    }

    fn step(&mut self, state: &mut State, kind: &StmtKind, at: At, dominators: &Dominators) {
        if let Some(local) = kind.storage() {
            self.spoil(local);
        }
        let Some((place, value)) = kind.as_assign() else {
            let mut gone = vec![];
            uses::written(kind, &mut |local| gone.push(local));
            gone.into_iter().for_each(|local| self.spoil(local));
            return;
        };
        let Some(local) = place.local_part() else { return };
        let held = |from| uses::whole(from).and_then(|from| self.place_of(state, from, at, dominators));
        let moved = match (value.as_use(), value.as_offset()) {
            (Some(from), _) => held(from),
            (None, Some((from, Operand::Const(Const::Int(by, _))))) if by.abs() <= MOST_STEP => {
                held(from).map(|(p, moved)| (p, moved.by(*by)))
            }
            (None, Some((from, by))) => {
                let held = held(from);
                held.and_then(|(p, moved)| Some((p, moved.by_number(self.number(by, at)?))))
            }
            (None, None) => None,
        };
        match (place.as_local(), moved) {
            (Some(to), Some((pointer, moved))) if to == pointer => drop(state.insert(to, moved)),
            (Some(to), Some(moved)) if !state.contains_key(&to) => drop(self.temps.insert(to, moved)),
            _ => self.spoil(local),
        }
    }

    /// A number that is the same in all turns, and can be computed before the loop without reading
    /// memory.
    fn number(&mut self, operand: &Operand, at: At) -> Option<usize> {
        let types = &self.planner.program.types;
        int_range(types, mir::ty::operand_ty(self.planner.program, self.body, operand).ok()?)?;
        let followed = self.planner.counted.borrow().len();
        let node = self.planner.fixed(operand, at).filter(Node::is_arithmetic);
        self.planner.counted.borrow_mut().truncate(followed);
        let node = node?;
        let text = format!("{node:?}");
        let known = self.numbers.iter().position(|other| format!("{other:?}") == text);
        known.or_else(|| {
            (self.numbers.len() < MOST_NUMBERS).then(|| {
                self.numbers.push(node);
                self.numbers.len() - 1
            })
        })
    }

    fn distance(&self, constant: i128, numbers: impl Iterator<Item = (usize, u32)>) -> Option<Distance> {
        let numbers: Option<Vec<_>> = numbers.map(|(n, times)| Some((self.numbers.get(n)?.clone(), times))).collect();
        Some(Distance { constant, numbers: numbers? })
    }

    fn spoil(&mut self, local: Local) {
        self.spoiled.push(local);
    }
}
