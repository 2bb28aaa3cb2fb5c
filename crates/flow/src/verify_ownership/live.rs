//! Which locals are read later: the verifier's own reading, by a plain worklist over blocks.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{accesses, term_places, Kind};
use mir::ir::*;

/// By block and statement: the locals that are read there or later.
#[derive(Debug, Default)]
pub(super) struct ReadLater {
    blocks: Vec<Vec<BitSet>>,
}

impl ReadLater {
    pub fn new(body: &Body) -> ReadLater {
        let cfg = Cfg::new(body);
        let locals = body.locals.len();
        let mut entry: Vec<BitSet> = body.blocks.iter().map(|_| BitSet::empty(locals)).collect();
        let mut later = ReadLater { blocks: vec![vec![]; body.blocks.len()] };
        let mut changed = true;
        while changed {
            changed = false;
            for &id in cfg.reverse_postorder().iter().rev() {
                let n = id.0 as usize;
                let Some(block) = body.blocks.get(n) else { continue };
                let mut live = BitSet::empty(locals);
                for to in cfg.successors(id) {
                    if let Some(set) = entry.get(to.0 as usize) {
                        live.union(set);
                    }
                }
                term_places(&block.term.kind, &mut |place, _| read(&mut live, place));
                let mut points = vec![live.clone()];
                for stmt in block.stmts.iter().rev() {
                    step(&mut live, &stmt.kind);
                    points.push(live.clone());
                }
                points.reverse();
                if let Some(set) = entry.get_mut(n) {
                    changed |= set.union(&live);
                }
                if let Some(slot) = later.blocks.get_mut(n) {
                    *slot = points;
                }
            }
        }
        later
    }

    /// Whether the local is read at the point or later.
    pub fn contains(&self, at: (BlockId, usize), local: Local) -> bool {
        let point = self.blocks.get(at.0 .0 as usize).and_then(|points| points.get(at.1));
        point.is_some_and(|set| set.contains(local.0 as usize))
    }
}

fn read(live: &mut BitSet, place: &Place) {
    if let Some(local) = place.base_local() {
        live.insert(local.0 as usize);
    }
}

fn step(live: &mut BitSet, kind: &StmtKind) {
    let mut reads = vec![];
    accesses(kind, &mut |place, kind, _| match kind {
        Kind::Begin | Kind::End => place.as_local().into_iter().for_each(|l| live.remove(l.0 as usize)),
        Kind::Write if !place.has_deref() => {
            if let Some(local) = place.as_local() {
                live.remove(local.0 as usize);
            }
        }
        // Taking an address is not a use: what takes it may only write there.
        Kind::Address(_) if !place.has_deref() => {}
        Kind::Mention => {}
        Kind::Write
        | Kind::Address(_)
        | Kind::Read
        | Kind::Copy
        | Kind::Move
        | Kind::Exchange
        | Kind::Step
        | Kind::Lend(_)
        | Kind::Drop
        | Kind::Free => reads.push(place.clone()),
    });
    reads.iter().for_each(|place| read(live, place));
}
