//! Declarations of one function that should say the same: a header that lacks the words of the
//! definition, or the other way round.

use crate::declarators::{FunctionSite, Site};
use crate::slots::{place_of, Slots};
use crate::words::{edit, spoken, DEEPEST};
use crate::{Finding, Kind, Unit};
use source::{Applicability, PlacedFix, Symbol};

/// An edit wherever one declaration has words after a `*` and another has none.
pub fn findings(units: &[Unit], slots: &Slots, closed: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let mut all = vec![];
    for sites in slots.declarations(units) {
        let count = sites.iter().map(|(_, site)| site.params.len()).max().unwrap_or(0);
        // The result is the last part.
        for part in 0..=count {
            let of = |site: &FunctionSite| match part == count {
                true => Some(site.result.clone()),
                false => site.params.get(part).map(|p| p.1.clone()),
            };
            let said: Vec<(usize, &FunctionSite, Site)> =
                sites.iter().filter_map(|&(unit, site)| Some((unit, site, of(site)?))).collect();
            let depth = said.iter().map(|s| s.2.stars.len()).max().unwrap_or(0);
            (0..depth).for_each(|depth| agree(units, &said, (part, depth), closed, &mut all));
        }
    }
    all.sort_by(|a: &Finding, b| a.fix.cmp(&b.fix));
    all.dedup();
    all
}

fn agree(
    units: &[Unit],
    said: &[(usize, &FunctionSite, Site)],
    (part, depth): (usize, usize),
    closed: &dyn Fn(&str) -> bool,
    all: &mut Vec<Finding>,
) {
    let words = |unit: usize, site: &Site| spoken(units.get(unit)?, site, depth);
    let Some((from, wanted)) = said.iter().find_map(|(unit, function, site)| {
        words(*unit, site).filter(|words| !words.is_empty()).map(|words| (*function, words))
    }) else {
        return;
    };
    let names = |function: &FunctionSite| function.params.iter().map(|p| p.0).collect::<Vec<_>>();
    for (unit, function, site) in said {
        let (Some(found), Some(here)) = (words(*unit, site), units.get(*unit)) else { continue };
        let Some(text) = renamed(&wanted, &names(from), &names(function)).filter(|_| found.is_empty()) else {
            continue;
        };
        let Some(placed) = edit(here, site, depth, &text) else { continue };
        let sure = closed(here.map.file_at(function.name.lo));
        let applicability = if sure { Applicability::Sure } else { Applicability::Likely };
        let fix = PlacedFix { applicability, edits: vec![placed] };
        let subjects = vec![place_of(here, function.name)];
        let names = vec![Symbol::new(here.map.snippet(function.name))];
        all.push(Finding {
            kind: Kind::Agree,
            subjects,
            names,
            part: part * DEEPEST + depth,
            words: text,
            fix,
            cluster: 0,
        });
    }
}

/// Words with the names that another declaration gives the parameters. None if it has no name for
/// one.
fn renamed(words: &str, from: &[Option<Symbol>], to: &[Option<Symbol>]) -> Option<String> {
    let mut out = String::new();
    let mut rest = words;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let (before, tail) = rest.split_at(at);
        let end = tail.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(tail.len());
        let (name, after) = tail.split_at(end);
        out.push_str(before);
        match from.iter().position(|p| p.is_some_and(|p| p.as_str() == name)).filter(|_| !before.ends_with('@')) {
            Some(n) => out.push_str(to.get(n).copied().flatten()?.as_str()),
            None => out.push_str(name),
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_named_as_each_declaration_does() {
        let names = |names: &[&str]| names.iter().map(|n| Some(Symbol::new(n))).collect::<Vec<_>>();
        let (from, to) = (names(&["a", "n"]), names(&["values", "count"]));
        assert_eq!(renamed("counted_by(n + 1) @a", &from, &to).as_deref(), Some("counted_by(count + 1) @a"));
        assert_eq!(renamed("counted_by(n)", &from, &[None, None]), None);
    }
}
