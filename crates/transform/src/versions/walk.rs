//! Fat pointers that a loop moves by constants: `*o++ = x`, `in += 3`.
//!
//! Within a turn the analysis tracks how far each has moved since the head, at least and at most. A
//! loop of at most `n` turns that moves a pointer by at most `g` in each, never back, keeps `p + c`
//! within the bounds, `c` counted from the head of a turn, if that holds for `(n - 1) * g + c`
//! elements from where the pointer stands before the loop.

use crate::loops::{Loop, Turns, Until, MOST_STEP};
use crate::uses::{self, At, Writes};
use mir::cfg::{Cfg, Dominators};
use mir::ir::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use typing::types::Bounds;

/// How far from where a pointer stood at the head, in elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Moved {
    least: i128,
    most: i128,
}

/// Where each pointer that walks is.
type State = FxHashMap<Local, Moved>;

/// What a loop does to the pointers that it moves.
pub struct Walk {
    /// Checks of elements near a pointer.
    pub checks: Vec<At>,
    /// What they ask for: by how much each pointer moves in a turn, at most, and which element is
    /// furthest from where it stands at the start of one.
    pub reach: BTreeMap<Local, (i128, i128)>,
    /// By how much the pointer that ends the loop moves in each turn.
    pub climb: Option<i128>,
}

struct Walker<'a> {
    body: &'a Body,
    writes: &'a Writes,
    /// Temporaries: the pointer that each is made from, and how far from its place at the head.
    temps: FxHashMap<Local, (Local, Moved)>,
    spoiled: Vec<Local>,
}

/// Follows the pointers through a turn.
pub fn run(
    program: &Program,
    body: &Body,
    writes: &Writes,
    cfg: &Cfg,
    dominators: &Dominators,
    l: &Loop,
) -> Option<Walk> {
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
    let mut walker = Walker { body, writes, temps: FxHashMap::default(), spoiled: vec![] };
    let mut checks: Vec<(At, Local, Moved)> = vec![];
    let mut at_end: FxHashMap<usize, State> = FxHashMap::default();
    for &block in &order {
        let mut state = State::default();
        if block == l.head {
            state.extend(all.iter().map(|&p| (p, Moved { least: 0, most: 0 })));
        } else {
            let from = cfg.predecessors(BlockId(block as u32)).iter().map(|p| p.0 as usize);
            for before in from.filter(|&p| l.contains(p)) {
                let there = at_end.get(&before)?;
                for (&p, &m) in there {
                    let known = state.entry(p).or_insert(m);
                    *known = Moved { least: known.least.min(m.least), most: known.most.max(m.most) };
                }
            }
        }
        for (stmt, s) in body.blocks.get(block)?.stmts.iter().enumerate() {
            let at = At { block, stmt };
            if let Some(pointer) = uses::single_check(&s.kind) {
                let place = walker.place_of(&state, pointer, at, dominators);
                checks.extend(place.filter(|_| block != l.head).map(|(p, moved)| (at, p, moved)));
            }
            walker.step(&mut state, &s.kind, at, dominators);
        }
        at_end.insert(block, state);
    }
    let turn = at_end.get(&l.latch)?;
    let steady = |p: &Local| !walker.spoiled.contains(p);
    let mut found = Walk { checks: vec![], reach: BTreeMap::new(), climb: None };
    for (at, pointer, moved) in checks {
        let Some(by) = turn.get(&pointer).filter(|_| steady(&pointer)) else { continue };
        if by.least >= 0 && moved.least >= 0 && by.most <= MOST_STEP && moved.most <= MOST_STEP {
            found.checks.push(at);
            let furthest = found.reach.entry(pointer).or_insert((by.most, 0));
            furthest.1 = furthest.1.max(moved.most);
        }
    }
    if let Turns::Climb(climb) = &l.turns {
        let by = turn.get(&climb.pointer).filter(|_| steady(&climb.pointer))?;
        // The test sees the pointer as it is at the head.
        let at_head = body.blocks.get(l.head)?.stmts.iter().all(|s| {
            let mut same = true;
            uses::written(&s.kind, &mut |w| same &= w != climb.pointer);
            same
        });
        let exact = climb.until == Until::Below || by.least == 1 && by.most == 1;
        (at_head && exact && by.least >= 1 && by.most <= MOST_STEP).then_some(())?;
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
        if let Some(&moved) = state.get(&local) {
            return Some((local, moved));
        }
        let (made, _) = self.writes.single(self.body, local)?;
        let before = if made.block == at.block {
            made.stmt < at.stmt
        } else {
            dominators.dominates(BlockId(made.block as u32), BlockId(at.block as u32))
        };
        self.temps.get(&local).copied().filter(|_| before)
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
            (None, Some((from, Operand::Const(Const::Int(by, _))))) if by.abs() <= MOST_STEP => held(from)
                .map(|(p, m)| (p, Moved { least: m.least.saturating_add(*by), most: m.most.saturating_add(*by) })),
            (None, _) => None,
        };
        match (place.as_local(), moved) {
            (Some(to), Some((pointer, moved))) if to == pointer => drop(state.insert(to, moved)),
            (Some(to), Some(moved)) if !state.contains_key(&to) => drop(self.temps.insert(to, moved)),
            _ => self.spoil(local),
        }
    }

    fn spoil(&mut self, local: Local) {
        self.spoiled.push(local);
    }
}
