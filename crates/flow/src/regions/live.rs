//! Which regions are live where: dynamic arenas that are open on all paths, LIFO arenas that have
//! begun, locals whose block has not ended.
//!
//! Lattice: for each region of the body the least number of openings in force (join: minimum); the
//! set of locals whose storage may have ended (join: union); the regions whose arena may have been
//! made (join: union).

use crate::framework::{Analysis, Direction, Point};
use mir::bits::BitSet;
use mir::ir::*;
use rustc_hash::FxHashMap;
use typing::tree::RegionKind;
use typing::types::{Region, TyKind};

/// What is live at a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Live {
    /// By region: openings in force.
    pub open: Vec<u8>,
    /// Regions whose arena may exist already.
    pub made: BitSet,
}

/// The analysis.
pub(crate) struct Liveness<'a> {
    body: &'a Body,
    /// By local: the region that ends with it, if it is the key that a region was made with.
    keys: Vec<Option<u32>>,
    /// By statement: the regions that it makes.
    makings: FxHashMap<Point, Vec<u32>>,
}

impl<'a> Liveness<'a> {
    pub fn new(program: &Program, body: &'a Body, makings: FxHashMap<Point, Vec<u32>>) -> Liveness<'a> {
        let keys = body.locals.iter().map(|decl| key_of(program, body, decl)).collect();
        Liveness { body, keys, makings }
    }

    /// The regions that the statement makes.
    pub fn made_at(&self, at: Point) -> &[u32] {
        self.makings.get(&at).map_or(&[], |regions| regions)
    }
}

impl Analysis for Liveness<'_> {
    type State = Live;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> Live {
        let starts_live = |region: &BodyRegion| matches!(region.decl.kind, RegionKind::Param | RegionKind::Block);
        Live {
            open: self.body.regions.iter().map(|r| u8::from(starts_live(r))).collect(),
            made: BitSet::empty(self.body.regions.len()),
        }
    }

    fn join(&self, into: &mut Live, from: &Live, _rounds: u32) -> bool {
        let mut changed = into.made.union(&from.made);
        for (a, b) in into.open.iter_mut().zip(&from.open) {
            if b < a {
                *a = *b;
                changed = true;
            }
        }
        changed
    }

    fn statement(&self, state: &mut Live, at: Point, stmt: &Stmt) {
        for &n in self.made_at(at) {
            state.made.insert(n as usize);
        }
        let mut change = |n: u32, by: i8| {
            if let Some(count) = state.open.get_mut(n as usize) {
                *count = count.saturating_add_signed(by);
            }
        };
        if let Some((Region::Body(n), begins)) = stmt.kind.opens() {
            change(n, if begins { 1 } else { -1 });
        }
        if let Some(n) = stmt.kind.ends().and_then(|l| self.keys.get(l.0 as usize).copied().flatten()) {
            state.made.remove(n as usize);
        }
    }
}

/// The region that ends with the local, if it is the key that a region was made with.
fn key_of(program: &Program, body: &Body, decl: &LocalDecl) -> Option<u32> {
    let TyKind::Key(_, Region::Body(n)) = program.types.kind(decl.ty.ty) else { return None };
    let region = body.regions.get(*n as usize)?;
    (decl.kind == LocalKind::Var && region.scope == decl.scope).then_some(*n)
}

/// The key that the region was made with, if that is a variable.
pub(super) fn made_with(program: &Program, body: &Body, region: u32) -> Option<Local> {
    let key = body.locals.iter().position(|decl| key_of(program, body, decl) == Some(region));
    key.map(|n| Local(n as u32))
}
