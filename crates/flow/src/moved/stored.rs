//! Where a path is certain to get a new value next, whatever branches are taken: only up to there is
//! it read by its old name.
//! A path that is moved for good is not read any more, as the rules say.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{accesses, Kind};
use mir::ir::*;
use rustc_hash::FxHashMap;

use crate::framework::{solve, Analysis, Direction, Item, Point};

/// By point: the paths that are assigned there or later, whatever branches are taken.
#[derive(Debug, Default)]
pub(super) struct Stored {
    paths: Vec<Place>,
    at: FxHashMap<Point, BitSet>,
}

impl Stored {
    pub fn new(body: &Body, paths: Vec<Place>) -> Stored {
        let mut stored = Stored { paths, at: FxHashMap::default() };
        let mut at = FxHashMap::default();
        let results = solve(&stored, body, &Cfg::new(body));
        results.visit(&stored, body, &mut |point, state, item| {
            let mut state = state.clone();
            if let Item::Stmt(stmt) = item {
                stored.statement(&mut state, point, stmt);
            }
            at.insert(point, state);
        });
        stored.at = at;
        stored
    }

    /// Whether the path is assigned at the point or later, whatever branches are taken.
    pub fn contains(&self, at: Point, path: &Place) -> bool {
        let number = self.paths.iter().position(|p| p == path);
        number.zip(self.at.get(&at)).is_some_and(|(n, set)| set.contains(n))
    }
}

impl Analysis for Stored {
    type State = BitSet;
    const DIRECTION: Direction = Direction::Backward;

    fn entry(&self) -> BitSet {
        BitSet::empty(self.paths.len())
    }

    fn join(&self, into: &mut BitSet, from: &BitSet, _rounds: u32) -> bool {
        into.intersect(from)
    }

    fn statement(&self, state: &mut BitSet, _at: Point, stmt: &Stmt) {
        accesses(&stmt.kind, &mut |place, kind, _| {
            for (n, path) in self.paths.iter().enumerate() {
                let leads = place.base == path.base && path.proj.starts_with(&place.proj);
                match kind {
                    Kind::Write if place == path => {
                        state.insert(n);
                    }
                    Kind::Write | Kind::Begin | Kind::End | Kind::Exchange | Kind::Address(_) if leads => {
                        state.remove(n);
                    }
                    Kind::Write
                    | Kind::Begin
                    | Kind::End
                    | Kind::Exchange
                    | Kind::Address(_)
                    | Kind::Read
                    | Kind::Copy
                    | Kind::Move
                    | Kind::Step
                    | Kind::Lend(_)
                    | Kind::Drop
                    | Kind::Free
                    | Kind::Mention => {}
                }
            }
        });
    }
}
