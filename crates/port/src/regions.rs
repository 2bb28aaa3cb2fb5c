//! Which parameters take heap pointers only (`@heap`), and which give their region to the result
//! (`char *@s skip(char *@s s)`), from what the analysis of regions reports.
//!
//! A word that a parameter gets asks for the same of the parameters that are passed on to it, and a
//! result's region for that of the results that it becomes: all of them are one cluster, so that
//! the whole chain of callers is edited in one go. These words check nothing when the program runs.

use crate::flows::{Flows, Source};
use crate::slots::{place_of, Key, Node, SlotId, SlotSite};
use crate::words::{edit, spoken};
use crate::{Finding, Kind, Unit};
use rustc_hash::{FxHashMap, FxHashSet};
use source::{Applicability, Lack, PlacedFix};
use std::collections::BTreeSet;

/// The findings. `is_open` says of which slots values come from code that was not read.
pub fn findings(units: &[Unit], flows: &Flows, clusters: &[usize], is_open: &dyn Fn(SlotId) -> bool) -> Vec<Finding> {
    let search = Search::new(units, flows);
    let heap = search.heap();
    let results = search.results();
    let is_sure = |slots: Vec<SlotId>| !flows.broken && !slots.into_iter().any(is_open);
    let cluster = |slot: SlotId| clusters.get(slot).copied().unwrap_or(slot);
    let mut all = vec![];
    for &slot in &heap {
        let together = cluster(slot);
        let sure = is_sure(heap.iter().copied().filter(|&other| cluster(other) == together).collect());
        all.extend(search.finding(&[slot], Kind::Heap, sure, together, |_| Some("@heap".to_string())));
    }
    // A result takes the region of one parameter; that of two is by hand.
    let mut params: FxHashMap<SlotId, Vec<SlotId>> = FxHashMap::default();
    for &(result, param) in &results {
        params.entry(result).or_default().push(param);
    }
    let is_only = |result: SlotId| {
        let given = search.reach(result, &search.from).into_iter().filter(|slot| search.is_param(*slot));
        params.get(&result).is_some_and(|p| p.len() == 1) && given.count() < 2
    };
    for &(result, param) in results.iter().filter(|(result, _)| is_only(*result)) {
        let together = cluster(result);
        let slots = results.iter().flat_map(|&(a, b)| [a, b]).filter(|&slot| cluster(slot) == together);
        let sure = is_sure(slots.collect());
        let Some(Key::Param(_, n)) = search.key(param) else { continue };
        let word = |site: &SlotSite| Some(format!("@{}", site.params.get(*n).copied().flatten()?));
        all.extend(search.finding(&[result, param], Kind::Region, sure, together, word));
    }
    all
}

struct Search<'a> {
    units: &'a [Unit<'a>],
    flows: &'a Flows,
    /// What comes into each slot, and where its value goes.
    from: FxHashMap<SlotId, Vec<SlotId>>,
    to: FxHashMap<SlotId, Vec<SlotId>>,
}

impl<'a> Search<'a> {
    fn new(units: &'a [Unit<'a>], flows: &'a Flows) -> Search<'a> {
        let (mut from, mut to): (FxHashMap<_, Vec<_>>, FxHashMap<_, Vec<_>>) = Default::default();
        for (source, into) in &flows.edges {
            if let (Source::Node((slot, 0)), (target, 0)) = (*source, *into) {
                from.entry(target).or_default().push(slot);
                to.entry(slot).or_default().push(target);
            }
        }
        Search { units, flows, from, to }
    }

    fn key(&self, slot: SlotId) -> Option<&'a Key> {
        self.flows.slots.all.get(slot).map(|s| &s.key)
    }

    fn is_param(&self, slot: SlotId) -> bool {
        matches!(self.key(slot), Some(Key::Param(..)))
    }

    /// The parameters of which a report says that they lack `word`.
    fn reported(&self, word: Lack) -> Vec<SlotId> {
        let lack = |node: &Node| {
            let Some(slot) = self.flows.slots.all.get(node.0) else { return false };
            slot.sites.iter().any(|site| {
                let lacks = self.units.get(site.unit).map(|unit| unit.lacks.as_slice()).unwrap_or_default();
                lacks.iter().any(|(name, lacked)| Some(*name) == site.site.name && *lacked == word)
            })
        };
        let slots = (0..self.flows.slots.all.len()).filter(|&slot| self.is_param(slot));
        slots.filter(|&slot| lack(&(slot, 0))).collect()
    }

    /// What a slot reaches in one direction: through locals, up to slots of declarations.
    fn reach(&self, start: SlotId, next: &FxHashMap<SlotId, Vec<SlotId>>) -> BTreeSet<SlotId> {
        let mut found = BTreeSet::new();
        let mut seen = FxHashSet::default();
        let mut work = vec![start];
        while let Some(slot) = work.pop() {
            for &other in next.get(&slot).into_iter().flatten().filter(|other| seen.insert(**other)) {
                match self.key(other) {
                    Some(Key::Local(..)) => work.push(other),
                    _ => drop(found.insert(other)),
                }
            }
        }
        found
    }

    /// Parameters that need `@heap`, and those that are passed on to them.
    fn heap(&self) -> BTreeSet<SlotId> {
        let mut all: BTreeSet<SlotId> = BTreeSet::new();
        let mut work = self.reported(Lack::Heap);
        while let Some(slot) = work.pop() {
            if all.insert(slot) {
                let callers = self.reach(slot, &self.from);
                work.extend(callers.into_iter().filter(|slot| self.is_param(*slot)));
            }
        }
        all
    }

    /// Results with the parameters whose region they take; where one becomes the result of another
    /// function, that too.
    fn results(&self) -> BTreeSet<(SlotId, SlotId)> {
        let mut all = BTreeSet::new();
        let result_of = |param: SlotId| {
            let Some(Key::Param(func, _)) = self.key(param) else { return None };
            self.flows.slots.known(&Key::Result(func.clone()))
        };
        let pairs = self.reported(Lack::Result).into_iter().filter_map(|param| Some((result_of(param)?, param)));
        let mut work: Vec<(SlotId, SlotId)> = pairs.collect();
        while let Some((result, param)) = work.pop() {
            if !all.insert((result, param)) {
                continue;
            }
            let outer = self.reach(result, &self.to);
            for passed in self.reach(param, &self.from) {
                work.extend(result_of(passed).filter(|r| outer.contains(r)).map(|r| (r, passed)));
            }
        }
        all
    }

    /// The word at all declarations of these slots, beside others. None if one has a region, or
    /// cannot be edited.
    fn finding(
        &self,
        slots: &[SlotId],
        kind: Kind,
        sure: bool,
        cluster: usize,
        word: impl Fn(&SlotSite) -> Option<String>,
    ) -> Option<Finding> {
        let (mut edits, mut subjects, mut words, mut names) = (vec![], vec![], String::new(), vec![]);
        for &slot in slots {
            let slot = self.flows.slots.all.get(slot)?;
            names.extend(slot.names(self.units));
            for site in &slot.sites {
                let unit = self.units.get(site.unit)?;
                let said = spoken(unit, &site.site, 0)?;
                if said.contains('@') || said.split(' ').any(|w| w == "unique") {
                    return None;
                }
                words = word(site)?;
                edits.push(edit(unit, &site.site, 0, &words)?);
                subjects.extend(site.site.name.map(|name| place_of(unit, name)));
            }
        }
        let applicability = if sure { Applicability::Sure } else { Applicability::Likely };
        let fix = PlacedFix { applicability, edits };
        (!fix.edits.is_empty()).then(|| Finding { kind, subjects, names, part: 0, words, fix, cluster }.sorted())
    }
}
