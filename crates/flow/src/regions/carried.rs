//! What conversions to named regions carry along.
//!
//! A pointer that is converted to a named region says that region only, but it may still point to
//! where it pointed before, and hold the loans that it held. So whatever mentions a region may hold
//! what was converted to it; and what is hidden in a struct may be whatever that is live with.

use mir::bits::BitSet;
use rustc_hash::FxHashMap;

use super::build::{Demand, Keeper, Ref, Solver};
use super::check::origins_of;
use super::origins::{Origin, OriginId, EXCHANGE, HEAP};

/// By named region: the origins that were converted to it.
#[derive(Default)]
pub(crate) struct Carried {
    converted: FxHashMap<OriginId, BitSet>,
}

impl Carried {
    /// Of a body whose regions are solved.
    pub fn new(solver: &Solver) -> Carried {
        let mut converted: FxHashMap<OriginId, BitSet> = FxHashMap::default();
        for demand in &solver.demands {
            if matches!(solver.origins.get(demand.region), Origin::Entry(_)) {
                let known = converted.entry(demand.region).or_insert_with(|| BitSet::empty(solver.origins.all.len()));
                // A region that must not be converted is reported, and goes no further.
                let goes_on =
                    |o: OriginId| !matches!(solver.origins.get(o), Origin::Entry(_)) || solver.is_met(demand, o);
                for origin in origins_of(solver, demand.source).into_iter().filter(|&o| goes_on(o)) {
                    known.insert(origin);
                }
            }
        }
        Carried { converted }
    }
}

impl Solver<'_> {
    /// Whether a pointer of the origin may be where the demand wants one of its region.
    pub fn is_met(&self, demand: &Demand, origin: OriginId) -> bool {
        let released = demand.keeper == Keeper::Dispose && origin <= EXCHANGE && demand.region == HEAP;
        match demand.exact {
            true => origin == demand.region || released,
            false => {
                let allowed = || demand.allowed.is_some_and(|r| origins_of(self, r).contains(&origin));
                let lent = || demand.lends && demand.region == HEAP && self.may_be_lent(origin);
                self.origins.outlives(origin, demand.region) || allowed() || lent()
            }
        }
    }

    /// The origins that pointers of this region may come from, by way of other named regions too.
    pub fn reached(&self, region: Ref) -> Vec<OriginId> {
        let mut all = origins_of(self, region);
        if self.carried.converted.is_empty() && self.bounds.is_empty() {
            return all;
        }
        let mut seen = BitSet::empty(self.origins.all.len());
        all.retain(|&origin| seen.insert(origin));
        let mut next = 0;
        while let Some(&origin) = all.get(next) {
            next += 1;
            let converted = self.carried.converted.get(&origin).into_iter().flat_map(BitSet::iter);
            let from: Vec<OriginId> = converted.chain(self.origins.lives_with(origin)).collect();
            all.extend(from.into_iter().filter(|&o| seen.insert(o)));
        }
        all
    }
}
