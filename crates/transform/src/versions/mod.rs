//! Loops in two versions.
//!
//! An innermost loop is preceded by a test that indices and pointers stay within their bounds, from
//! the first turn to the last. If they do, a copy of the loop runs that does not have these checks
//! and that the C compiler can vectorise. If not, or if the loop is short, the original loop runs,
//! which faults where it must, after the same side effects.
//!
//! * An index of a loop that counts up or down is followed if it is a sum or product in which the
//!   counter stands once: `i`, `i + a`, `k * n + i`, `i * stride`, through conversions (`index`).
//!   Its values, from that of the least counter on, are a sequence `low, low + s, ..., high`, which
//!   within one integer type passes no end of the type if `low <= high` and the sum of its steps is
//!   less than the type has numbers: then all of it lies between `low` and `high`. The test requires
//!   that at each conversion on the way, and `high < count`.
//! * What has fewer than 64 bits is computed in 64 in the copy, from its first value on: `int`
//!   wraps around, which C compilers would have to take into account (`Plan::rebased`).
//! * Pointers that move by constants, or by what does not change, stay within their bounds if all
//!   turns together do not move them further (`walk`).
//! * Counts and bases may lie in memory that the loop does not change (`crate::steady`); the copy
//!   has them in locals. A check that stays then compares with a count that was tested before
//!   the loop (`Plan::eased`).
//!
//! Needs: bodies after `removal`, which leaves only checks that are not proven. Changes: the
//! graph. Guarantees: each access of the copy would have passed its check.

mod index;
mod make;
mod walk;

use crate::loops::{self, Loop, Turns};
use crate::report::Remaining;
use crate::steady::Steady;
use crate::uses::{At, Writes};
use flow::ranges::guarded::Guarded;
use index::{Index, Node, Planner, Test};
use mir::cfg::{Cfg, Dominators};
use mir::ir::*;
use mir::twice::returns_twice;

/// Makes versions of the body's loops, and notes which checks have one without them. Gives how
/// many.
pub fn run(program: &mut Program, body: &mut Body, guarded: &Guarded, remaining: &mut [Remaining]) -> usize {
    let checks =
        |k: &StmtKind| k.as_check().is_some_and(|check| check.bounds().is_some() || check.one_element().is_some());
    let has_checks = body.blocks.iter().flat_map(|b| &b.stmts).any(|s| checks(&s.kind));
    // A jump back into a turn finds other numbers than those that were tested before the first.
    if !has_checks || !body.address_labels.is_empty() || returns_twice(program, body) {
        return 0;
    }
    let nests = apply_all(program, body, guarded, remaining, &[], loops_of_nests);
    let slow: Vec<usize> = nests.iter().flat_map(|l| l.blocks.iter().copied()).collect();
    nests.len() + apply_all(program, body, guarded, remaining, &slow, loops::find).len()
}

fn loops_of_nests(_: &Program, body: &Body, cfg: &Cfg, dominators: &Dominators) -> Vec<Loop> {
    loops::nests(body, cfg, dominators)
}

/// Makes versions of what `find` finds outside of some blocks; gives the loops that have one.
fn apply_all(
    program: &mut Program,
    body: &mut Body,
    guarded: &Guarded,
    remaining: &mut [Remaining],
    but: &[usize],
    find: fn(&Program, &Body, &Cfg, &Dominators) -> Vec<Loop>,
) -> Vec<Loop> {
    let cfg = Cfg::new(body);
    let dominators = cfg.dominators();
    let mut found = find(program, body, &cfg, &dominators);
    found.retain(|l| !but.contains(&l.head));
    let mut plans = vec![];
    if !found.is_empty() {
        let writes = Writes::of(body);
        for l in found {
            if let Some(plan) = plan(program, body, guarded, &writes, (&cfg, &dominators), &l) {
                plans.push((l, plan));
            }
        }
    }
    if plans.is_empty() {
        return vec![];
    }
    let mut made = vec![];
    let uses = make::Uses::of(body);
    for (l, plan) in plans {
        for at in &plan.dropped {
            let span = body.blocks.get(at.block).and_then(|b| b.stmts.get(at.stmt)).map(|s| s.span);
            remaining.iter_mut().filter(|r| Some(r.span) == span).for_each(|r| r.versioned = true);
        }
        let tests = make::apply(program, body, &l, plan, &uses);
        made.push((l, tests));
    }
    make::enter(body, &made);
    made.into_iter().map(|(l, _)| l).collect()
}

/// A check that stays, with base and count as they are all the time.
struct Eased {
    at: At,
    base: Node,
    count: Node,
}

/// What a version needs.
#[derive(Default)]
struct Plan {
    /// Checks that the copy has not.
    dropped: Vec<At>,
    tests: Vec<Test>,
    eased: Vec<Eased>,
    /// What else the copy reads before the loop.
    read: Vec<Node>,
    /// Arithmetic of counts that the tests compute.
    counted: Vec<At>,
    /// The end of a counter.
    end: Option<Node>,
    /// By how much the pointer moves that ends the loop.
    climb: Option<i128>,
    /// Indices that the copy computes in 64 bits.
    rebased: Vec<Index>,
    /// Where these are used: the statement, the index in it, its number.
    uses: Vec<(At, Operand, usize)>,
}

fn plan(
    program: &Program,
    body: &Body,
    guarded: &Guarded,
    writes: &Writes,
    (cfg, dominators): (&Cfg, &Dominators),
    l: &Loop,
) -> Option<Plan> {
    let steady = Steady::of(program, body, guarded, &l.blocks);
    let planner = Planner { program, body, writes, dominators, l, steady, counted: Default::default() };
    let mut plan = Plan { end: planner.end(), ..Plan::default() };
    if matches!(l.turns, Turns::Up(_) | Turns::Down(_)) && plan.end.is_none() {
        return None;
    }
    let statements = || {
        let blocks = l.blocks.iter();
        blocks.filter_map(|&block| Some((block, body.blocks.get(block)?))).flat_map(|(block, data)| {
            data.stmts
                .iter()
                .enumerate()
                .map(move |(stmt, s)| (At { block, stmt }, s))
                .filter(|(at, _)| l.is_inside(*at))
        })
    };
    let mut indices: Vec<Index> = vec![];
    for (at, s) in statements() {
        let Some(bounds) = planner.bounds_of(&s.kind) else { continue };
        let followed = planner.counted.borrow().len();
        if let Some((tests, index)) = planner.tests(&bounds, at) {
            plan.dropped.push(at);
            plan.tests.extend(tests);
            indices.push(index);
            continue;
        }
        planner.counted.borrow_mut().truncate(followed);
        match bounds.element.and_then(|e| planner.eased(e, at)) {
            Some((base, count)) => {
                plan.tests.extend([Test::NotNull(base.clone()), Test::Count(count.clone())]);
                plan.eased.push(Eased { at, base, count });
            }
            None => planner.counted.borrow_mut().truncate(followed),
        }
    }
    if let Some(walk) = walk::run(&planner, cfg) {
        plan.climb = walk.climb;
        plan.dropped.extend(walk.checks);
        plan.tests.extend(walk.reach.into_iter().map(Test::Reach));
    }
    let enough = match l.turns {
        // One alone gains less than the tests cost where turns are few, as in loops over words or
        // blanks.
        Turns::Open => plan.eased.len() >= 2,
        Turns::Climb(_) => plan.climb.is_some() && !plan.dropped.is_empty(),
        Turns::Up(_) | Turns::Down(_) => !plan.dropped.is_empty() || !plan.eased.is_empty(),
    };
    if !enough {
        return None;
    }
    plan.counted = planner.counted.take();
    let mut pointers = vec![];
    for eased in &plan.eased {
        eased.base.pointers(&mut pointers);
        eased.count.pointers(&mut pointers);
    }
    if !pointers.is_empty() {
        plan.read.extend(statements().filter_map(|(at, s)| planner.steady_read(&s.kind, at, &pointers)));
    }
    for (at, operand) in statements().flat_map(|(at, s)| elements(&s.kind).into_iter().map(move |o| (at, o))) {
        let Some(index) = planner.narrow(&operand, at) else { continue };
        let same = |other: &Index| format!("{:?}", other.node.inner()) == format!("{:?}", index.node.inner());
        if !indices.iter().any(same) {
            continue;
        }
        let n = plan.rebased.iter().position(same).unwrap_or_else(|| {
            plan.rebased.push(index);
            plan.rebased.len() - 1
        });
        plan.uses.push((at, operand, n));
    }
    Some(plan)
}

/// The indices with which a statement accesses elements.
fn elements(kind: &StmtKind) -> Vec<Operand> {
    let mut found = vec![];
    found.extend(kind.value().and_then(Rvalue::as_offset).map(|(_, index)| index.clone()));
    mir::effects::stmt_places(kind, &mut |place, _| found.extend(place.indices().cloned()));
    found.dedup();
    found
}
