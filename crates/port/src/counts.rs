//! Which parameter counts the elements of a pointer parameter.
//!
//! Each pointer begins with all integer parameters beside it. An access that is not known to be
//! below a parameter, a use that is not an access, and a call that passes another number strike it
//! out; so this is a greatest fixed point, and functions that call themselves keep their counts.

use crate::flows::{Flows, Source};
use crate::slots::{Func, Key, SlotId};
use rustc_hash::{FxHashMap, FxHashSet};

/// What may count elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Candidate {
    /// A parameter of the same function, from 0.
    Param(usize),
    /// A constant.
    Const(u64),
}

/// One use of a pointer parameter, or one that turns out to be harmless.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    /// 1 where the parameter is read; -1 where such a read is explained.
    pub uses: i64,
    /// It is an access, below all of `fits`.
    pub indexed: bool,
    /// What its index is known to be below.
    pub fits: Vec<Candidate>,
}

/// A call, argument by argument.
#[derive(Clone, Debug, Default)]
pub struct CallSite {
    /// Where a pointer comes from.
    pub sources: Vec<Vec<Source>>,
    /// The caller's own parameter that it is.
    pub params: Vec<Option<SlotId>>,
    /// The number that an integer is: a constant, or the caller's own parameter.
    pub numbers: Vec<Option<Candidate>>,
}

/// A count that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The parameter that counts.
    pub param: usize,
    /// Whether all accesses and all calls are known to fit.
    pub sure: bool,
}

/// A parameter and what may count it.
type Pair = (SlotId, usize);

/// Finds the counts of `wanted` parameters. `open` says which functions may have other callers.
pub fn solve(flows: &Flows, wanted: &FxHashSet<SlotId>, open: &dyn Fn(SlotId) -> bool) -> FxHashMap<SlotId, Count> {
    let mut params: Vec<(SlotId, &Func, usize)> = vec![];
    for (id, slot) in flows.slots.all.iter().enumerate() {
        if let Key::Param(func, n) = &slot.key {
            params.push((id, func, *n));
        }
    }
    let place: FxHashMap<SlotId, (&Func, usize)> = params.iter().map(|&(id, f, n)| (id, (f, n))).collect();
    // Where a parameter is passed on: the call, and which argument of it.
    let mut passed: FxHashMap<SlotId, Vec<(&Func, &CallSite, usize)>> = FxHashMap::default();
    for (func, sites) in &flows.calls {
        for site in sites {
            for (n, param) in site.params.iter().enumerate() {
                param.iter().for_each(|&p| passed.entry(p).or_default().push((func, site, n)));
            }
        }
    }
    let slot_of: FxHashMap<(&Func, usize), SlotId> = params.iter().map(|&(id, f, n)| ((f, n), id)).collect();
    let mut fits: FxHashSet<Pair> = FxHashSet::default();
    for &(id, func, _) in params.iter().filter(|p| wanted.contains(&p.0)) {
        fits.extend(flows.steady.get(func).into_iter().flatten().map(|&m| (id, m)));
    }
    // A call that asks for more than an array has speaks against the count.
    let refuted = |&(id, m): &Pair| {
        let Some((func, n)) = place.get(&id) else { return true };
        flows.calls.get(*func).into_iter().flatten().any(|site| {
            let number = site.numbers.get(m).copied().flatten();
            let asks = |most: u64| matches!(number, Some(Candidate::Const(asked)) if asked > most);
            site.sources.get(*n).into_iter().flatten().any(|source| match source {
                Source::Object(Some(most)) | Source::Part(most) | Source::Literal(most) => asks(*most),
                Source::Single => asks(1),
                _ => false,
            })
        })
    };
    fits.retain(|pair| !refuted(pair));
    // Calls that pass the pair on to a pair that still stands.
    let call_fits = |fits: &FxHashSet<Pair>, m: usize, (func, site, n): &(&Func, &CallSite, usize)| {
        let Some(&callee) = slot_of.get(&(*func, *n)) else { return false };
        let counts = |k: usize| site.numbers.get(k).copied().flatten() == Some(Candidate::Param(m));
        fits.iter().any(|&(slot, k)| slot == callee && counts(k))
    };
    let supported: FxHashMap<Pair, usize> = fits
        .iter()
        .map(|&(id, m)| {
            let accesses = flows.accesses.get(&id).into_iter().flatten();
            let direct = accesses.filter(|a| a.indexed && a.fits.contains(&Candidate::Param(m))).count();
            let calls = passed.get(&id).into_iter().flatten().filter(|call| call_fits(&fits, m, call)).count();
            ((id, m), direct + calls)
        })
        .filter(|(_, support)| *support > 0)
        .collect();
    // All uses are known to fit.
    let mut proved: FxHashSet<Pair> = supported.keys().copied().collect();
    loop {
        let keeps = |&(id, m): &Pair| {
            let accesses = flows.accesses.get(&id).map(Vec::as_slice).unwrap_or_default();
            let calls = passed.get(&id).map(Vec::as_slice).unwrap_or_default();
            let unexplained = accesses.iter().map(|a| a.uses).sum::<i64>() - calls.len() as i64;
            let below = accesses.iter().filter(|a| a.indexed).all(|a| a.fits.contains(&Candidate::Param(m)));
            unexplained == 0 && below && calls.iter().all(|call| call_fits(&proved, m, call))
        };
        let kept: FxHashSet<Pair> = proved.iter().copied().filter(keeps).collect();
        if kept.len() == proved.len() {
            break;
        }
        proved = kept;
    }
    let mut sure = proved.clone();
    sure.retain(|(id, _)| !flows.broken && !open(*id));
    loop {
        let keeps = |&(id, m): &Pair| {
            let Some((func, n)) = place.get(&id) else { return false };
            flows.calls.get(*func).into_iter().flatten().all(|site| comes_in(site, *n, m, &sure))
        };
        let kept: FxHashSet<Pair> = sure.iter().copied().filter(keeps).collect();
        if kept.len() == sure.len() {
            break;
        }
        sure = kept;
    }
    let mut found: FxHashMap<SlotId, Count> = FxHashMap::default();
    for &id in wanted {
        let of_slot = supported.iter().filter(|((slot, _), _)| *slot == id);
        let rank =
            |m: usize, support: usize| (sure.contains(&(id, m)), proved.contains(&(id, m)), support, usize::MAX - m);
        let best = of_slot.map(|(&(_, m), &support)| (rank(m, support), m)).max();
        if let Some(((sure, ..), param)) = best {
            found.insert(id, Count { param, sure });
        }
    }
    // A parameter may have several counts that fit, of which one is written. Where a pointer is
    // passed on, what is written at both ends has to be the same, or one may be too short.
    loop {
        let agrees = |own: SlotId, (func, site, n): &(&Func, &CallSite, usize)| {
            let callee = slot_of.get(&(*func, *n)).and_then(|callee| found.get(callee)).filter(|count| count.sure);
            let number = callee.and_then(|count| site.numbers.get(count.param).copied().flatten());
            let own = found.get(&own).filter(|count| count.sure);
            own.is_some_and(|own| number == Some(Candidate::Param(own.param)))
        };
        let mut unsure: Vec<SlotId> = vec![];
        for (&own, calls) in &passed {
            for call in calls.iter().filter(|call| !agrees(own, call)) {
                unsure.push(own);
                unsure.extend(slot_of.get(&(call.0, call.2)));
            }
        }
        let mut changed = false;
        for id in unsure {
            changed |= found.get_mut(&id).is_some_and(|count| std::mem::take(&mut count.sure));
        }
        if !changed {
            return found;
        }
    }
}

/// Whether a call is known to pass as many elements as parameter `m` says.
fn comes_in(site: &CallSite, n: usize, m: usize, sure: &FxHashSet<Pair>) -> bool {
    let number = site.numbers.get(m).copied().flatten();
    let Some(sources) = site.sources.get(n).filter(|s| !s.is_empty()) else { return false };
    let own = site.params.get(n).copied().flatten();
    if let (Some(own), Some(Candidate::Param(k))) = (own, number) {
        return sure.contains(&(own, k));
    }
    sources.iter().all(|source| match (source, number) {
        (Source::Null, _) => true,
        (Source::Object(Some(has)) | Source::Part(has) | Source::Literal(has), Some(Candidate::Const(asked))) => {
            asked <= *has
        }
        (Source::Single, Some(Candidate::Const(asked))) => asked <= 1,
        _ => false,
    })
}
