//! Which pointers should lead to `const`: those whose targets are only read, wherever the pointer
//! goes, and that are used as strings or get something that is `const`.

use crate::declarators::Site;
use crate::flows::{Demand, Flows, Source};
use crate::slots::{place_of, Key, Node, SlotId};
use crate::words::{spoken, DEEPEST};
use crate::{Finding, Kind, Unit};
use rustc_hash::{FxHashMap, FxHashSet};
use source::{fix, Applicability, Placed, PlacedFix, Span};
use typing::types::Bounds;

/// The findings, and the nodes that they are about.
pub fn findings(
    units: &[Unit],
    flows: &Flows,
    demands: &FxHashMap<Node, Demand>,
    clusters: &[usize],
    is_open: &dyn Fn(SlotId) -> bool,
) -> (Vec<Finding>, FxHashSet<Node>) {
    let search = Search { units, flows };
    let able = search.able();
    let wanted = search.wanted(demands, &able);
    let sure = search.sure(demands, &wanted, is_open);
    let mut nodes: Vec<Node> = wanted.iter().copied().collect();
    nodes.sort_unstable();
    let mut all = vec![];
    let mut done = FxHashSet::default();
    for node in nodes {
        let applicability = if sure.contains(&node) { Applicability::Sure } else { Applicability::Likely };
        let cluster = clusters.get(node.0).copied().unwrap_or(node.0);
        if let Some(finding) = search.finding(node, applicability, cluster) {
            all.push(finding);
            done.insert(node);
        }
    }
    (all, done)
}

struct Search<'a> {
    units: &'a [Unit<'a>],
    flows: &'a Flows,
}

impl Search<'_> {
    fn step(&self, node: Node) -> Option<crate::slots::Step> {
        self.flows.slots.all.get(node.0)?.steps.get(node.1).copied()
    }

    /// Pairs of nodes that are one memory, what they lead to included.
    fn same(&self) -> impl Iterator<Item = (Node, Node)> + '_ {
        let deeper = |(a, b): &(Node, Node)| {
            let (a, b) = (*a, *b);
            (0..DEEPEST).map(move |n| ((a.0, a.1 + n), (b.0, b.1 + n)))
        };
        self.flows.same.iter().flat_map(deeper)
    }

    /// Whether `const` can be written at all declarations.
    fn is_writable(&self, node: Node) -> bool {
        let Some(slot) = self.flows.slots.all.get(node.0) else { return false };
        let Some(step) = self.step(node) else { return false };
        // A result to `char` is a string without a word.
        let fits = matches!(step.bounds, Some(Bounds::Thin | Bounds::Terminated)) && !step.constant && step.indexable;
        let site = |unit: usize, site: &Site| {
            let silent = self.units.get(unit).and_then(|u| spoken(u, site, node.1)).is_some_and(|w| w.is_empty());
            silent && site.base.is_some() && site.stars.len() == slot.steps.len()
        };
        fits && node.1 + 1 == slot.steps.len()
            && !slot.sites.is_empty()
            && slot.sites.iter().all(|s| site(s.unit, &s.site))
    }

    /// What is declared with the same base type: each node with another, if that is known.
    fn companions(&self, of: &FxHashSet<Node>) -> Vec<(Node, Option<Node>)> {
        let mut named: FxHashMap<(usize, Span), Node> = FxHashMap::default();
        for (id, slot) in self.flows.slots.all.iter().enumerate() {
            let last = slot.steps.len().saturating_sub(1);
            named.extend(slot.sites.iter().filter_map(|s| Some(((s.unit, s.site.name?), (id, last)))));
        }
        let mut all = vec![];
        for &node in of {
            for site in self.flows.slots.all.get(node.0).into_iter().flat_map(|slot| &slot.sites) {
                let others = site.site.together.iter().filter(|name| Some(**name) != site.site.name);
                all.extend(others.map(|name| (node, named.get(&(site.unit, *name)).copied())));
            }
        }
        all
    }

    /// What is only read, wherever it goes: a greatest fixed point.
    fn able(&self) -> FxHashSet<Node> {
        let all = self.flows.slots.all.iter().enumerate();
        let last = all.filter_map(|(id, slot)| Some((id, slot.steps.len().checked_sub(1)?)));
        let mut able: FxHashSet<Node> =
            last.filter(|node| !self.flows.written.contains(node) && self.is_writable(*node)).collect();
        let mut ties = self.companions(&able);
        ties.extend(self.flows.edges.iter().filter_map(|(source, to)| match source {
            Source::Node(from) => Some((*from, Some(*to))),
            _ => None,
        }));
        ties.extend(self.same().flat_map(|(a, b)| [(a, Some(b)), (b, Some(a))]));
        // What must lead to `const` if another does.
        let mut before: FxHashMap<Node, Vec<Node>> = FxHashMap::default();
        let takes = |able: &FxHashSet<Node>, to: Node| able.contains(&to) || self.step(to).is_some_and(|s| s.constant);
        let mut out: Vec<Node> = vec![];
        for (from, to) in ties {
            match to.filter(|to| takes(&able, *to)) {
                Some(to) => before.entry(to).or_default().push(from),
                None => out.push(from),
            }
        }
        while let Some(node) = out.pop() {
            if able.remove(&node) {
                out.extend(before.get(&node).into_iter().flatten().copied());
            }
        }
        able
    }

    /// Those that need the word, and all that they lead to.
    fn wanted(&self, demands: &FxHashMap<Node, Demand>, able: &FxHashSet<Node>) -> FxHashSet<Node> {
        let string = |node: &&Node| {
            let read = demands.get(*node).is_some_and(|d| d.string && !d.back);
            read && self.step(**node).is_some_and(|s| s.text && s.bounds == Some(Bounds::Thin))
        };
        let seeds = able.iter().filter(string).chain(self.flows.constants.iter().filter(|node| able.contains(*node)));
        let mut next: FxHashMap<Node, Vec<Node>> = FxHashMap::default();
        for (source, to) in &self.flows.edges {
            if let Source::Node(from) = source {
                next.entry(*from).or_default().push(*to);
            }
        }
        let companions = self.companions(able).into_iter().filter_map(|(a, b)| Some((a, b?)));
        for (a, b) in self.same().chain(companions) {
            next.entry(a).or_default().push(b);
            next.entry(b).or_default().push(a);
        }
        let mut work: Vec<Node> = seeds.copied().collect();
        let mut wanted = FxHashSet::default();
        while let Some(node) = work.pop() {
            if able.contains(&node) && wanted.insert(node) {
                work.extend(next.get(&node).into_iter().flatten());
            }
        }
        wanted
    }

    /// Those of which no conversion can fail: all but pointers to `char` keep their bounds, and
    /// what comes into a string is a string. A greatest fixed point.
    fn sure(
        &self,
        demands: &FxHashMap<Node, Demand>,
        wanted: &FxHashSet<Node>,
        is_open: &dyn Fn(SlotId) -> bool,
    ) -> FxHashSet<Node> {
        if self.flows.broken {
            return FxHashSet::default();
        }
        let local = |slot: SlotId| matches!(self.flows.slots.all.get(slot).map(|s| &s.key), Some(Key::Local(..)));
        let text = |node: &Node| self.step(*node).is_some_and(|s| s.text && s.bounds == Some(Bounds::Thin));
        // A string ends at its first zero; what is indexed or moved may go on.
        let short = |node: &Node| !text(node) || !demands.get(node).is_some_and(|d| d.bounds);
        let known = |node: &Node| !self.flows.leaks.contains(node) && (local(node.0) || !is_open(node.0));
        let mut sure: FxHashSet<Node> = wanted.iter().copied().filter(|n| short(n) && known(n)).collect();
        let mut incoming: FxHashMap<Node, Vec<Source>> = FxHashMap::default();
        for (source, to) in &self.flows.edges {
            incoming.entry(*to).or_default().push(*source);
        }
        let shared: FxHashSet<Node> = self.same().flat_map(|(a, b)| [a, b]).collect();
        let string = |node: &Node| {
            let bounds = self.step(*node).and_then(|s| s.bounds);
            matches!(bounds, Some(Bounds::Terminated | Bounds::FatTerminated)) && !local(node.0)
        };
        loop {
            let comes = |source: &Source| match source {
                Source::Node(node) => sure.contains(node) || string(node),
                Source::Literal(_) | Source::Null => true,
                _ => false,
            };
            let all = |node: &Node| {
                let values = incoming.get(node).map(Vec::as_slice).unwrap_or_default();
                (!local(node.0) || !values.is_empty()) && values.iter().all(comes)
            };
            let fits = |node: &Node| !text(node) || !shared.contains(node) && all(node);
            let kept: FxHashSet<Node> = sure.iter().copied().filter(fits).collect();
            if kept.len() == sure.len() {
                return kept;
            }
            sure = kept;
        }
    }

    fn finding(&self, node: Node, applicability: Applicability, cluster: usize) -> Option<Finding> {
        let slot = self.flows.slots.all.get(node.0)?;
        let (mut edits, mut subjects) = (vec![], vec![]);
        for site in &slot.sites {
            let unit = self.units.get(site.unit)?;
            let at = fix::place(unit.map, site.site.base?)?;
            edits.push(Placed {
                file: at.file,
                line: at.line,
                column: at.column,
                end_column: at.column,
                text: "const ".to_string(),
            });
            subjects.extend(site.site.name.map(|name| place_of(unit, name)));
        }
        let fix = PlacedFix { applicability, edits };
        let names = slot.names(self.units);
        Some(
            Finding { kind: Kind::Const, subjects, names, part: node.1, words: "const".to_string(), fix, cluster }
                .sorted(),
        )
    }
}
