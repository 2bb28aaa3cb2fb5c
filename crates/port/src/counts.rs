//! Which parameters count the elements of a pointer parameter.
//!
//! Each pointer begins with all integer parameters beside it, and with the amounts that its accesses
//! are below and that functions need which it is passed to: `n + 1`, `rows * columns`, 4. An access
//! that is not known to be below one, a use that is not an access, and a call that passes another
//! number strike it out; so this is a greatest fixed point, and functions that call themselves keep
//! their counts.

use crate::amount::Amount;
use crate::flows::{Flows, Source};
use crate::slots::{Func, Key, SlotId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What may count elements: an amount of parameters of the same function, from 0.
pub type Candidate = Amount<usize>;

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
    /// The number that an integer is, in the caller's own parameters.
    pub numbers: Vec<Option<Candidate>>,
}

impl CallSite {
    /// The number of elements that a count of the callee is here.
    fn count(&self, count: Candidate) -> Option<Candidate> {
        count.with(|m| self.numbers.get(m).copied().flatten())
    }
}

/// A count that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// What counts.
    pub amount: Candidate,
    /// Whether all accesses and all calls are known to fit.
    pub sure: bool,
}

/// A parameter and what may count it.
type Pair = (SlotId, Candidate);

/// A call that a parameter is passed on to: what is called, the call, and which argument.
type Passed<'a> = (&'a Func, &'a CallSite, usize);

/// So many candidates of one parameter are followed.
const MOST: usize = 16;

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
    let mut passed: FxHashMap<SlotId, Vec<Passed>> = FxHashMap::default();
    for (func, sites) in &flows.calls {
        for site in sites {
            for (n, param) in site.params.iter().enumerate() {
                param.iter().for_each(|&p| passed.entry(p).or_default().push((func, site, n)));
            }
        }
    }
    let slot_of: FxHashMap<(&Func, usize), SlotId> = params.iter().map(|&(id, f, n)| ((f, n), id)).collect();
    let known = candidates(flows, wanted, &params, &passed, &slot_of);
    let mut fits: FxHashSet<Pair> = known.iter().flat_map(|(&id, all)| all.iter().map(move |&c| (id, c))).collect();
    // A call that asks for more than an array has speaks against the count.
    let refuted = |&(id, count): &Pair| {
        let Some((func, n)) = place.get(&id) else { return true };
        flows.calls.get(*func).into_iter().flatten().any(|site| {
            let number = site.count(count).and_then(|number| number.as_constant());
            let asks = |most: u64| number.is_some_and(|asked| u64::try_from(asked).is_ok_and(|asked| asked > most));
            site.sources.get(*n).into_iter().flatten().any(|source| match source {
                Source::Object(Some(most)) | Source::Part(most) | Source::Literal(most) => asks(*most),
                Source::Single => asks(1),
                _ => false,
            })
        })
    };
    fits.retain(|pair| !refuted(pair));
    // Calls that pass the pair on to a pair that still stands.
    let call_fits = |fits: &FxHashSet<Pair>, own: Candidate, (func, site, n): &Passed| {
        let Some(&callee) = slot_of.get(&(*func, *n)) else { return false };
        let of_callee = known.get(&callee).into_iter().flatten();
        of_callee.filter(|count| fits.contains(&(callee, **count))).any(|count| {
            let number = site.count(*count);
            number.is_some_and(|number| own.covers(&number))
        })
    };
    // What an access or a hint speaks for, and calls of functions for which something does.
    let accesses = |id: SlotId| flows.accesses.get(&id).map(Vec::as_slice).unwrap_or_default();
    let mut support: BTreeMap<Pair, usize> = BTreeMap::new();
    for &(id, count) in &fits {
        let direct =
            accesses(id).iter().filter(|a| a.indexed && a.fits.iter().any(|limit| limit.rounded() == count)).count();
        let hints = flows.hints.get(&id).into_iter().flatten().filter(|hint| **hint == count).count();
        if direct + hints > 0 {
            support.insert((id, count), direct + hints);
        }
    }
    let direct = support.clone();
    loop {
        let known: FxHashSet<Pair> = support.keys().copied().collect();
        let calls = |&(id, count): &Pair| {
            let calls = passed.get(&id).into_iter().flatten().filter(|call| call_fits(&known, count, call)).count();
            let all = calls + direct.get(&(id, count)).copied().unwrap_or(0);
            (all > 0).then_some(((id, count), all))
        };
        support = fits.iter().filter_map(calls).collect();
        if support.len() == known.len() {
            break;
        }
    }
    // All uses are known to fit. Hints prove nothing.
    let is_access = |&(id, count): &Pair| {
        accesses(id).iter().any(|a| a.indexed && a.fits.iter().any(|limit| limit.rounded() == count))
    };
    let is_passed = |(id, _): &Pair| passed.contains_key(id);
    let mut proved: FxHashSet<Pair> =
        support.keys().filter(|pair| is_access(pair) || is_passed(pair)).copied().collect();
    loop {
        let keeps = |&(id, count): &Pair| {
            let accesses = accesses(id);
            let calls = passed.get(&id).map(Vec::as_slice).unwrap_or_default();
            let unexplained = accesses.iter().map(|a| a.uses).sum::<i64>() - calls.len() as i64;
            let below = |access: &Access| !access.indexed || access.fits.iter().any(|limit| count.covers(limit));
            unexplained == 0 && accesses.iter().all(below) && calls.iter().all(|call| call_fits(&proved, count, call))
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
        let keeps = |&(id, count): &Pair| {
            let Some((func, n)) = place.get(&id) else { return false };
            let comes = |site: &CallSite| comes_in(site, *n, count, &known, &sure);
            flows.calls.get(*func).into_iter().flatten().all(comes)
        };
        let kept: FxHashSet<Pair> = sure.iter().copied().filter(keeps).collect();
        if kept.len() == sure.len() {
            break;
        }
        sure = kept;
    }
    let mut found: FxHashMap<SlotId, Count> = FxHashMap::default();
    for &id in wanted {
        // An access at a constant, or at `3 * i`, may depend on a number of elements that is told in
        // another way.
        let says = |count: &&Candidate| !count.is_of_an_index() || sure.contains(&(id, **count));
        let rank = |count: Candidate, support: usize| {
            (sure.contains(&(id, count)), proved.contains(&(id, count)), support, Reverse(count.rank()))
        };
        let of_slot = known.get(&id).into_iter().flatten().filter(says);
        let best = of_slot.filter_map(|&c| Some((rank(c, *support.get(&(id, c))?), c))).max();
        if let Some(((sure, ..), amount)) = best {
            found.insert(id, Count { amount, sure });
        }
    }
    // A parameter may have several counts that fit, of which one is written. Where a pointer is
    // passed on, what is written at one end has to be enough for the other.
    loop {
        let agrees = |own: SlotId, (func, site, n): &Passed| {
            let callee = slot_of.get(&(*func, *n)).and_then(|callee| found.get(callee)).filter(|count| count.sure);
            let number = callee.and_then(|count| site.count(count.amount));
            let own = found.get(&own).filter(|count| count.sure);
            own.is_some_and(|own| number.is_some_and(|number| own.amount.covers(&number)))
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
            found.retain(|_, count| count.sure || !count.amount.is_of_an_index());
            return found;
        }
    }
}

/// What may count each wanted parameter: what its function has, what its accesses are below, and
/// what the functions need that it is passed to.
fn candidates(
    flows: &Flows,
    wanted: &FxHashSet<SlotId>,
    params: &[(SlotId, &Func, usize)],
    passed: &FxHashMap<SlotId, Vec<Passed>>,
    slot_of: &FxHashMap<(&Func, usize), SlotId>,
) -> BTreeMap<SlotId, BTreeSet<Candidate>> {
    let mut all: BTreeMap<SlotId, BTreeSet<Candidate>> = BTreeMap::new();
    for &(id, func, _) in params.iter().filter(|p| wanted.contains(&p.0)) {
        let steady = flows.steady.get(func).into_iter().flatten().copied().collect::<BTreeSet<usize>>();
        let mut own: BTreeSet<Candidate> = steady.iter().map(|&m| Amount::of(m)).collect();
        let limits = flows.accesses.get(&id).into_iter().flatten().flat_map(|access| &access.fits);
        own.extend(limits.filter(|limit| limit.vars().all(|m| steady.contains(&m))).map(|limit| limit.rounded()));
        own.extend(flows.hints.get(&id).into_iter().flatten());
        all.insert(id, own);
    }
    loop {
        let mut more: Vec<(SlotId, Candidate)> = vec![];
        for (&id, own) in all.iter().filter(|(_, own)| own.len() < MOST) {
            for (func, site, n) in passed.get(&id).into_iter().flatten() {
                let callee = slot_of.get(&(*func, *n)).and_then(|callee| all.get(callee));
                let needed = callee.into_iter().flatten().filter_map(|count| site.count(*count)).map(Amount::rounded);
                more.extend(needed.filter(|count| !own.contains(count)).map(|count| (id, count)));
            }
        }
        if more.is_empty() {
            return all;
        }
        more.into_iter().for_each(|(id, count)| all.entry(id).or_default().extend([count]));
    }
}

/// Whether a call is known to pass as many elements as the count says.
fn comes_in(
    site: &CallSite,
    n: usize,
    count: Candidate,
    known: &BTreeMap<SlotId, BTreeSet<Candidate>>,
    sure: &FxHashSet<Pair>,
) -> bool {
    let Some(number) = site.count(count) else { return false };
    let Some(sources) = site.sources.get(n).filter(|s| !s.is_empty()) else { return false };
    if let Some(own) = site.params.get(n).copied().flatten() {
        let of_own = known.get(&own).into_iter().flatten();
        return of_own.filter(|have| sure.contains(&(own, **have))).any(|have| have.covers(&number));
    }
    sources.iter().all(|source| match (source, number.as_constant()) {
        (Source::Null, _) => true,
        (Source::Object(Some(has)) | Source::Part(has) | Source::Literal(has), Some(asked)) => {
            u64::try_from(asked).map_or(true, |asked| asked <= *has)
        }
        (Source::Single, Some(asked)) => asked <= 1,
        _ => false,
    })
}
