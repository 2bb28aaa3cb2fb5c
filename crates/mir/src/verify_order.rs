//! The verifier's part about order: temporaries are assigned before use on all paths, and locals
//! with storage statements are used only between them. Deliberately not on the framework of `flow`:
//! it is a second opinion.

use crate::bits::BitSet;
use crate::cfg::Cfg;
use crate::effects::{stmt_places, term_places, Access};
use crate::ir::*;
use crate::verify::Verifier;

pub(crate) fn run(verifier: &mut Verifier, cfg: &Cfg) {
    temps(verifier, cfg);
    storage(verifier, cfg);
}

/// Solves forward: `meet` joins the state at a block's end into a successor's start and tells
/// whether that changed.
fn solve(
    body: &Body,
    cfg: &Cfg,
    entry: BitSet,
    bottom: BitSet,
    meet: impl Fn(&mut BitSet, &BitSet) -> bool,
    transfer: impl Fn(&Block, &mut BitSet),
) -> Vec<BitSet> {
    let mut starts = vec![bottom; body.blocks.len()];
    if let Some(first) = starts.first_mut() {
        *first = entry;
    }
    let mut dirty = BitSet::full(cfg.reverse_postorder().len());
    let mut again = true;
    while again {
        again = false;
        for (position, &block) in cfg.reverse_postorder().iter().enumerate() {
            if !dirty.contains(position) {
                continue;
            }
            dirty.remove(position);
            let (Some(code), Some(start)) = (body.blocks.get(block.0 as usize), starts.get(block.0 as usize)) else {
                continue;
            };
            let mut state = start.clone();
            transfer(code, &mut state);
            for &to in cfg.successors(block) {
                let changed = starts.get_mut(to.0 as usize).is_some_and(|start| meet(start, &state));
                if let (true, Some(next)) = (changed, cfg.position(to)) {
                    dirty.insert(next);
                    again |= next <= position;
                }
            }
        }
    }
    starts
}

/// Adds the locals that the statement assigns, wholly or in part.
fn assign(stmt: &StmtKind, state: &mut BitSet) {
    stmt_places(stmt, &mut |place, access| {
        if matches!(access, Access::Write | Access::Address) {
            if let Some(local) = place.local_part() {
                state.insert(local.0 as usize);
            }
        }
    });
}

fn temps(verifier: &mut Verifier, cfg: &Cfg) {
    let body = verifier.body;
    let locals = body.locals.len();
    let starts = solve(body, cfg, BitSet::empty(locals), BitSet::full(locals), BitSet::intersect, |block, state| {
        block.stmts.iter().for_each(|stmt| assign(&stmt.kind, state));
    });
    each_use(verifier, cfg, &starts, |verifier, state, place, access| {
        let Some(local) = place.base_local() else { return };
        let is_temp = body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
        let reads = matches!(access, Access::Read | Access::Move) || place.has_deref();
        if is_temp && reads && !state.contains(local.0 as usize) {
            verifier.error(format!("the temporary _{} is not assigned on every path here", local.0));
        }
    });
}

/// Runs through all reachable statements with the state before each, which then changes by
/// `assign`.
fn each_use(
    verifier: &mut Verifier,
    cfg: &Cfg,
    starts: &[BitSet],
    mut check: impl FnMut(&mut Verifier, &BitSet, &Place, Access),
) {
    let body = verifier.body;
    for &block in cfg.reverse_postorder() {
        let (Some(code), Some(start)) = (body.blocks.get(block.0 as usize), starts.get(block.0 as usize)) else {
            continue;
        };
        let mut state = start.clone();
        verifier.block = Some(block);
        for (n, stmt) in code.stmts.iter().enumerate() {
            verifier.stmt = Some(n);
            stmt_places(&stmt.kind, &mut |place, access| check(verifier, &state, place, access));
            assign(&stmt.kind, &mut state);
        }
        verifier.stmt = Some(code.stmts.len());
        term_places(&code.term.kind, &mut |place, access| check(verifier, &state, place, access));
    }
    verifier.block = None;
    verifier.stmt = None;
}

/// Locals with a `StorageLive` are used, and die, only where they may be live. (A jump may pass the
/// declaration of a local that dies at the end of the block, so "on some path" is the most that can
/// be required.)
fn storage(verifier: &mut Verifier, cfg: &Cfg) {
    let body = verifier.body;
    let mut tracked = BitSet::empty(body.locals.len());
    let mut ends = BitSet::empty(body.locals.len());
    for stmt in body.blocks.iter().flat_map(|block| &block.stmts) {
        if let Some(local) = stmt.kind.begins() {
            tracked.insert(local.0 as usize);
        }
        if let Some(local) = stmt.kind.ends() {
            ends.insert(local.0 as usize);
        }
    }
    ends.subtract(&tracked);
    for local in ends.iter() {
        verifier.error(format!("_{local} dies but is never brought to life"));
    }
    let step = |stmt: &StmtKind, state: &mut BitSet| {
        if let Some(local) = stmt.begins() {
            state.insert(local.0 as usize);
        }
        if let Some(local) = stmt.ends() {
            state.remove(local.0 as usize);
        }
    };
    let empty = BitSet::empty(body.locals.len());
    let starts = solve(body, cfg, empty.clone(), empty, BitSet::union, |block, state| {
        block.stmts.iter().for_each(|stmt| step(&stmt.kind, state));
    });
    for &block in cfg.reverse_postorder() {
        let (Some(code), Some(start)) = (body.blocks.get(block.0 as usize), starts.get(block.0 as usize)) else {
            continue;
        };
        let mut live = start.clone();
        verifier.block = Some(block);
        let mut used = vec![];
        for (n, stmt) in code.stmts.iter().enumerate() {
            verifier.stmt = Some(n);
            stmt_places(&stmt.kind, &mut |place, _| used.extend(place.base_local()));
            if let Some(l) = stmt.kind.ends() {
                used.push(l);
            }
            dead_uses(verifier, &tracked, &live, &mut used);
            step(&stmt.kind, &mut live);
        }
        verifier.stmt = Some(code.stmts.len());
        term_places(&code.term.kind, &mut |place, _| used.extend(place.base_local()));
        dead_uses(verifier, &tracked, &live, &mut used);
    }
    verifier.block = None;
    verifier.stmt = None;
}

fn dead_uses(verifier: &mut Verifier, tracked: &BitSet, live: &BitSet, used: &mut Vec<Local>) {
    for local in used.drain(..) {
        let n = local.0 as usize;
        if tracked.contains(n) && !live.contains(n) {
            verifier.error(format!("_{n} is used where its storage is not live"));
        }
    }
}
