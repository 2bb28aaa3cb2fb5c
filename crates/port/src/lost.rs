//! What could not be understood. A mistake hides what flows and what is called where it stands, but
//! only code with a name in it can be reached from there: so the names in the function or
//! declaration around a mistake tell what is not known, and nothing else is in doubt.

use crate::flows::{Flows, Source};
use crate::Unit;
use rustc_hash::FxHashSet;
use source::{Sink, Span, Symbol};
use std::collections::BTreeSet;

/// The names that stand in declarations around mistakes: those that the units know of, and `more`,
/// each with its unit. None if one stands in no declaration.
fn names(units: &[Unit], more: &[(usize, Span)]) -> Option<FxHashSet<Symbol>> {
    let mut all = FxHashSet::default();
    for (n, unit) in units.iter().enumerate() {
        let mut items: Vec<(u32, u32)> = unit.ast.items.iter().map(|item| (item.span.lo, item.span.hi)).collect();
        items.sort_unstable();
        // Where the last of the first items ends.
        let ends: Vec<u32> = items.iter().scan(0, |end, (_, hi)| (*end = (*hi).max(*end), Some(*end)).1).collect();
        let own = more.iter().filter(|(of, _)| *of == n).map(|(_, at)| at);
        let mut lost: BTreeSet<(u32, u32)> = BTreeSet::new();
        for at in unit.mistakes.iter().chain(own) {
            let before = items.partition_point(|(lo, _)| *lo <= at.lo);
            let near = items.iter().zip(&ends).take(before).rev().take_while(|(_, end)| at.lo <= **end);
            let around: Vec<_> = near.map(|(item, _)| *item).filter(|(_, hi)| at.lo <= *hi).collect();
            if around.is_empty() && !unit.skipped {
                return None;
            }
            lost.extend(around);
        }
        // What the parser skipped stands between the declarations that it read.
        if unit.skipped {
            let mut end = 0;
            for &(lo, hi) in &items {
                lost.insert((end, lo.max(end)));
                end = end.max(hi);
            }
            lost.insert((end, unit.map.text.len() as u32));
        }
        lost.iter().for_each(|&(lo, hi)| read(unit, lo, hi, &mut all));
    }
    Some(all)
}

/// Adds the names in a piece of the text.
fn read(unit: &Unit, lo: u32, hi: u32, all: &mut FxHashSet<Symbol>) {
    let text = unit.map.text.get(lo as usize..hi as usize).unwrap_or_default();
    let tokens = syntax::lexer::lex(text, &mut Sink::default());
    // Words of the language may be names, too.
    all.extend(tokens.all.iter().map(|t| t.name).filter(|name| !name.as_str().is_empty()));
}

impl Flows {
    /// What stands in code that was not understood may get any value, and give it to anything.
    pub fn taint(&mut self, units: &[Unit]) {
        self.lost_in.sort_by_key(|(unit, span)| (*unit, span.lo));
        self.lost_in.dedup();
        match names(units, &self.lost_in) {
            Some(names) => self.lost = names,
            None => self.broken = true,
        }
        for (id, slot) in self.slots.all.iter().enumerate() {
            if slot.name(units).is_none_or(|name| self.lost.contains(&name)) {
                let nodes = (0..=slot.steps.len()).map(|depth| (id, depth));
                self.edges.extend(nodes.clone().map(|node| (Source::Unknown, node)));
                self.leaks.extend(nodes);
            }
        }
    }
}
