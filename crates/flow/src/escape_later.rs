//! Uses of a temporary that points into a block which has ended: the value of a statement expression that names its own
//! locals (`*({ int x; &x; })`). Variables cannot get there (their scope ends first, or `escape` reports the assignment).
//!
//! Lattice: the set of locals whose storage may have ended; join is union.

use crate::framework::{solve, Analysis, Direction, Item, Point};
use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::ir::*;
use mir::visit::{stmt_places, term_places};
use source::Span;

struct Ended {
    locals: usize,
}

impl Analysis for Ended {
    type State = BitSet;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> BitSet {
        BitSet::empty(self.locals)
    }

    fn join(&self, into: &mut BitSet, from: &BitSet, _rounds: u32) -> bool {
        into.union(from)
    }

    fn statement(&self, state: &mut BitSet, _at: Point, stmt: &Stmt) {
        match stmt.kind {
            StmtKind::StorageLive(l) => state.remove(l.0 as usize),
            StmtKind::StorageDead(l) => {
                state.insert(l.0 as usize);
            }
            _ => {}
        }
    }
}

/// Calls `found` for each use of a temporary whose `target` may have ended.
pub(crate) fn find(
    body: &Body,
    cfg: &Cfg,
    target: &dyn Fn(Local) -> Option<Local>,
    found: &mut dyn FnMut(Span, Local),
) {
    let targets: Vec<Option<Local>> = body
        .locals
        .iter()
        .enumerate()
        .map(|(n, decl)| target(Local(n as u32)).filter(|_| decl.kind == LocalKind::Temp))
        .collect();
    if targets.iter().all(Option::is_none) {
        return;
    }
    let analysis = Ended { locals: body.locals.len() };
    let results = solve(&analysis, body, cfg);
    results.visit(&analysis, body, &mut |_, ended, item| {
        let mut used = |place: &Place, span: Span, reads: bool| {
            let target = place.base_local().and_then(|l| *targets.get(l.0 as usize)?);
            if let Some(target) = target.filter(|t| reads && ended.contains(t.0 as usize)) {
                found(span, target);
            }
        };
        match item {
            Item::Stmt(stmt) if stmt.is_unsafe => {}
            Item::Stmt(stmt) => stmt_places(&stmt.kind, &mut |place, access| {
                let writes_local = access == mir::visit::Access::Write && !place.has_deref();
                used(place, stmt.span, !writes_local);
            }),
            // A returned pointer is reported as returned.
            Item::Term(term) => {
                let returns = matches!(term.kind, TermKind::Return(_));
                term_places(&term.kind, &mut |place, _| used(place, term.span, !returns || place.has_deref()))
            }
        }
    });
}
