//! Chooses the words of each slot that lacks some, and makes the edits.

use crate::counts;
use crate::declarators::Site;
use crate::field_counts;
use crate::flows::{Demand, Flows, Source};
use crate::read_only;
use crate::regions;
use crate::slots::{place_of, Key, Node, SlotSite};
use crate::{Finding, Kind, Unit};
use rustc_hash::{FxHashMap, FxHashSet};
use source::{fix, Applicability, Placed, PlacedFix, Span};
use typing::types::Bounds;

/// The findings of all files, in the order of kinds and places.
pub fn choose(units: &[Unit], flows: &Flows, closed: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let demands = spread(flows);
    let clusters = clusters(flows);
    let mut bounds: Vec<Node> = vec![];
    let is_open = |slot| is_open(units, flows, slot, closed);
    let (mut all, constant) = read_only::findings(units, flows, &demands, &clusters, &is_open);
    for (&node, &demand) in demands.iter().filter(|(node, _)| !constant.contains(node)) {
        let Some(step) = flows.slots.all.get(node.0).and_then(|s| s.steps.get(node.1)) else { continue };
        if step.bounds != Some(Bounds::Thin) || !step.indexable {
            continue;
        }
        if demand.string && step.character {
            // Writing after the end of a plain string is a fault.
            let whole = demand.back || demand.filled;
            let words = if whole { "fat null_terminated" } else { "null_terminated" };
            all.extend(finding(units, flows, &clusters, node, Kind::String, Applicability::Likely, |_| {
                Some(words.to_string())
            }));
        } else if demand.bounds && is_writable(units, flows, node) {
            bounds.push(node);
        }
    }
    let wanted: FxHashSet<_> = bounds.iter().filter(|n| n.1 == 0).map(|n| n.0).collect();
    let found = counts::solve(flows, &wanted, &is_open);
    let fields = field_counts::solve(units);
    let sure = sure_fat(flows, &demands, &bounds, &is_open);
    for node in bounds {
        let counted = found.get(&node.0).filter(|_| node.1 == 0).and_then(|count| {
            let sureness = if count.sure { Applicability::Sure } else { Applicability::Likely };
            finding(units, flows, &clusters, node, Kind::Count, sureness, |site| {
                let name = |param: usize| Some(site.params.get(param).copied().flatten()?.to_string());
                Some(format!("counted_by({})", count.amount.text(name)?))
            })
        });
        let of_field = match flows.slots.all.get(node.0).map(|slot| &slot.key) {
            Some(Key::Field(place)) if node.1 == 0 => fields.get(place),
            _ => None,
        };
        // A count that the code does not keep in step is refused; `fat` is left then.
        all.extend(of_field.and_then(|count| {
            let words = format!("counted_by({count})");
            finding(units, flows, &clusters, node, Kind::Count, Applicability::Likely, |_| Some(words.clone()))
        }));
        let sureness = if sure.contains(&node) { Applicability::Sure } else { Applicability::Likely };
        all.extend(
            counted
                .or_else(|| finding(units, flows, &clusters, node, Kind::Fat, sureness, |_| Some("fat".to_string()))),
        );
    }
    all.extend(regions::findings(units, flows, &clusters, &is_open));
    all.sort_by(|a, b| (a.kind, &a.fix).cmp(&(b.kind, &b.fix)));
    all.dedup();
    all
}

/// For each slot the least number of those that it exchanges values with.
fn clusters(flows: &Flows) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..flows.slots.all.len()).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while let Some(&up) = parent.get(at).filter(|&&up| up != at) {
            let above = parent.get(up).copied().unwrap_or(up);
            if let Some(slot) = parent.get_mut(at) {
                *slot = above;
            }
            at = up;
        }
        at
    }
    let edges = flows.edges.iter().filter_map(|(source, to)| match source {
        Source::Node(from) => Some((from.0, to.0)),
        _ => None,
    });
    let pairs = flows.same.iter().chain(&flows.compared).map(|(a, b)| (a.0, b.0));
    for (a, b) in edges.chain(pairs) {
        let (a, b) = (root(&mut parent, a), root(&mut parent, b));
        if let Some(slot) = parent.get_mut(a.max(b)) {
            *slot = a.min(b);
        }
    }
    (0..parent.len()).map(|at| root(&mut parent, at)).collect()
}

/// Behind so many pointers words are looked for.
pub const DEEPEST: usize = 3;

/// What each node is needed for, what it passes on included.
fn spread(flows: &Flows) -> FxHashMap<Node, Demand> {
    let mut demands = flows.demands.clone();
    // What is written asks for the same of what comes in; that of locals themselves is inferred.
    for (id, slot) in flows.slots.all.iter().enumerate() {
        let inferred = usize::from(matches!(slot.key, Key::Local(..)));
        for (depth, step) in slot.steps.iter().enumerate().skip(inferred) {
            let known = demands.entry((id, depth)).or_default();
            match step.bounds {
                Some(Bounds::Fat | Bounds::Counted(_)) => known.bounds = true,
                Some(Bounds::Terminated | Bounds::FatTerminated) => known.string = true,
                _ => {}
            }
        }
    }
    let mut into: FxHashMap<Node, Vec<Node>> = FxHashMap::default();
    for (source, to) in &flows.edges {
        let Source::Node(from) = source else { continue };
        into.entry(*to).or_default().push(*from);
    }
    for (from, to) in &flows.same {
        for deeper in 0..DEEPEST {
            let (a, b) = ((from.0, from.1 + deeper), (to.0, to.1 + deeper));
            into.entry(a).or_default().push(b);
            into.entry(b).or_default().push(a);
        }
    }
    for &(a, b) in &flows.compared {
        into.entry(a).or_default().push(b);
        into.entry(b).or_default().push(a);
    }
    let mut work: Vec<Node> = demands.keys().copied().collect();
    while let Some(node) = work.pop() {
        let demand = demands.get(&node).copied().unwrap_or_default();
        for &from in into.get(&node).into_iter().flatten() {
            let known = demands.entry(from).or_default();
            let before = *known;
            known.add(demand);
            if *known != before {
                work.push(from);
            }
        }
    }
    demands
}

/// Whether code that was not read may give the slot a value.
fn is_open(units: &[Unit], flows: &Flows, slot: usize, closed: &dyn Fn(&str) -> bool) -> bool {
    let Some(slot) = flows.slots.all.get(slot) else { return true };
    let elsewhere = match &slot.key {
        Key::Param(func, _) | Key::Result(func) => flows.taken.contains(func) || flows.lost.contains(&func.0),
        Key::Global(_) | Key::Field(_) | Key::Static(_) => {
            slot.name(units).is_none_or(|name| flows.lost.contains(&name))
        }
        Key::Local(..) => true,
    };
    let outside = |site: &SlotSite| match (units.get(site.unit), site.site.name) {
        (Some(unit), Some(name)) => !closed(unit.map.file_at(name.lo)),
        _ => true,
    };
    elsewhere || slot.sites.is_empty() || slot.sites.iter().any(outside)
}

/// The nodes of which all values that come in are whole objects, or come from such nodes, and whose
/// values go to such nodes only (a pointer past the end may not become a thin one): a greatest
/// fixed point.
fn sure_fat(
    flows: &Flows,
    demands: &FxHashMap<Node, Demand>,
    wanted: &[Node],
    is_open: &dyn Fn(usize) -> bool,
) -> FxHashSet<Node> {
    if flows.broken {
        return FxHashSet::default();
    }
    let mut incoming: FxHashMap<Node, Vec<Source>> = FxHashMap::default();
    let mut outgoing: FxHashMap<Node, Vec<Node>> = FxHashMap::default();
    for (source, to) in &flows.edges {
        incoming.entry(*to).or_default().push(*source);
        if let Source::Node(from) = source {
            outgoing.entry(*from).or_default().push(*to);
        }
    }
    // Written to through another pointer.
    let aliased: FxHashSet<Node> = flows.same.iter().flat_map(|(a, b)| [*a, *b]).filter(|n| n.1 == 0).collect();
    let local = |slot: usize| matches!(flows.slots.all.get(slot).map(|s| &s.key), Some(Key::Local(..)));
    // A wider field makes its struct wider, for which memory of a fixed size may be too small.
    let field = |slot: usize| matches!(flows.slots.all.get(slot).map(|s| &s.key), Some(Key::Field(_)));
    let needs = |n: &Node| demands.get(n).is_some_and(|d| d.bounds);
    let locals = demands.keys().copied().filter(|n| n.1 == 0 && local(n.0) && needs(n));
    let closed = wanted.iter().copied().filter(|n| n.1 == 0 && !field(n.0) && !is_open(n.0));
    let mut sure: FxHashSet<Node> = closed.chain(locals).filter(|n| !aliased.contains(n)).collect();
    let written = |n: &Node| {
        let step = flows.slots.all.get(n.0).and_then(|s| s.steps.get(n.1));
        !local(n.0) && step.and_then(|s| s.bounds).is_some_and(Bounds::is_fat)
    };
    loop {
        let comes = |source: &Source| match source {
            Source::Node(n) => sure.contains(n) || written(n),
            Source::Object(_) | Source::Literal(_) | Source::Null => true,
            Source::Part(_) | Source::Single | Source::Unknown => false,
        };
        let goes = |n: &Node| sure.contains(n) || written(n);
        let fits = |n: &Node| {
            // A local that gets nothing that is seen gets it in another way.
            !flows.leaks.contains(n)
                && (!local(n.0) || incoming.contains_key(n))
                && incoming.get(n).into_iter().flatten().all(comes)
                && outgoing.get(n).into_iter().flatten().all(goes)
        };
        let kept: FxHashSet<Node> = sure.iter().copied().filter(fits).collect();
        if kept.len() == sure.len() {
            return kept;
        }
        sure = kept;
    }
}

/// Whether words can be written at all declarations of a node. What is kept in locals themselves is
/// inferred.
fn is_writable(units: &[Unit], flows: &Flows, node: Node) -> bool {
    let Some(slot) = flows.slots.all.get(node.0) else { return false };
    let site = |site: &SlotSite| {
        let unit = units.get(site.unit)?;
        let silent = spoken(unit, &site.site, node.1)?.is_empty();
        (silent && edit(unit, &site.site, node.1, "fat").is_some()).then_some(())
    };
    node.1 == 0 && matches!(slot.key, Key::Local(..)) || slot.sites.iter().all(|s| site(s).is_some())
}

/// The finding for one node: an edit at each of its declarations. None if one cannot be edited.
#[allow(clippy::too_many_arguments)]
fn finding(
    units: &[Unit],
    flows: &Flows,
    clusters: &[usize],
    node: Node,
    kind: Kind,
    applicability: Applicability,
    words: impl Fn(&SlotSite) -> Option<String>,
) -> Option<Finding> {
    let slot = flows.slots.all.get(node.0)?;
    // What is kept in locals themselves is inferred.
    if node.1 == 0 && matches!(slot.key, Key::Local(..)) {
        return None;
    }
    let (mut edits, mut subjects, mut said) = (vec![], vec![], String::new());
    for site in &slot.sites {
        let unit = units.get(site.unit)?;
        // One declaration may have words that another lacks: `agree` is about those.
        if !spoken(unit, &site.site, node.1)?.is_empty() {
            return None;
        }
        said = words(site)?;
        edits.push(edit(unit, &site.site, node.1, &said)?);
        subjects.extend(site.site.name.map(|name| place_of(unit, name)));
    }
    let fix = PlacedFix { applicability, edits };
    let cluster = clusters.get(node.0).copied().unwrap_or(node.0);
    let names = slot.names(units);
    (!fix.edits.is_empty()).then(|| Finding { kind, subjects, names, part: node.1, words: said, fix, cluster }.sorted())
}

/// The words that stand after a `*`, C's own qualifiers left out.
pub fn spoken(unit: &Unit, site: &Site, depth: usize) -> Option<String> {
    let star: Span = site.stars.get(depth).copied().flatten()?;
    let text = unit.map.snippet(star).strip_prefix('*')?;
    let c = ["const", "volatile", "restrict", "_Atomic"];
    let own: Vec<&str> = text.split_whitespace().filter(|w| !c.contains(&w.trim_matches('_'))).collect();
    Some(own.join(" "))
}

/// Words after a `*`.
pub fn edit(unit: &Unit, site: &Site, depth: usize, words: &str) -> Option<Placed> {
    let star: Span = site.stars.get(depth).copied().flatten()?;
    let at = fix::place(unit.map, star)?;
    let line = unit.map.source_line(&at.file, at.line)?;
    let bytes = line.as_bytes();
    let end = at.end_column as usize - 1;
    let has_words = bytes.get(at.column as usize - 1..end)?.len() > 1;
    let word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'(');
    let before = match has_words {
        true => " ",
        // `char* p` becomes `char* fat p`.
        false if bytes.get(end) == Some(&b' ') && word(bytes.get((at.column as usize).checked_sub(2)?)) => " ",
        false => "",
    };
    let after = if word(bytes.get(end)) || bytes.get(end) == Some(&b'*') { " " } else { "" };
    let text = format!("{before}{words}{after}");
    Some(Placed { file: at.file, line: at.line, column: at.end_column, end_column: at.end_column, text })
}
