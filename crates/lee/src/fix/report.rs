//! What `lee port` says at the end: how far the program is.

use super::search::Found;
use super::state::State;
use super::Work;
use source::Applicability;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// So many places are listed.
const PLACES: usize = 10;

/// How many declarations and places have errors.
pub fn places(state: &State) -> usize {
    let place = |(unit, report): (&super::state::Checked, &source::Diagnostic)| {
        let at = unit.map.locate(report.subject.unwrap_or(report.span));
        (at.file, at.line)
    };
    state.errors().map(place).collect::<BTreeSet<(String, u32)>>().len()
}

/// The table. `named` gives the name that a file has by now.
pub fn text(work: &Work, named: &dyn Fn(&Path) -> PathBuf) -> String {
    let Work { found: Found { mirror, made, state, cut, .. }, before } = work;
    let mut out = String::new();
    let lines: usize = mirror.files.iter().map(|f| f.original.iter().filter(|&&b| b == b'\n').count()).sum();
    let changed: usize = mirror.files.iter().map(|f| super::write::diff(&f.name, &f.original, &f.text).1).sum();
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for one in made {
        let counts = kinds.entry(one.kind.word()).or_default();
        match one.applicability {
            Applicability::Sure => counts.0 += 1,
            _ => counts.1 += 1,
        }
    }
    let _ = writeln!(out, "{lines} lines in {} files, {changed} changed", mirror.files.len());
    let _ = writeln!(out, "{:<24} {before:>6}", "errors before");
    let _ = writeln!(out, "{:<24} {:>6} {:>6}", "edits", "sure", "likely");
    for (kind, (sure, likely)) in &kinds {
        let _ = writeln!(out, "  {kind:<22} {sure:>6} {likely:>6}");
    }
    if *cut {
        let _ = writeln!(out, "the search was ended before all edits were tried");
    }
    // What is left, by the declaration that is to change.
    let mut places: BTreeMap<(String, u32), (usize, String)> = BTreeMap::new();
    let mut codes: BTreeMap<&str, BTreeSet<(String, u32)>> = BTreeMap::new();
    for (unit, report) in state.errors() {
        let at = unit.map.locate(report.subject.unwrap_or(report.span));
        let place = (mirror.shown(&at.file, named), at.line);
        codes.entry(report.code.id).or_default().insert(place.clone());
        places.entry(place).or_insert_with(|| (0, report.message.clone())).0 += 1;
    }
    let _ = writeln!(out, "{:<24} {:>6}", "by hand", places.len());
    for (code, places) in &codes {
        let _ = writeln!(out, "  {code:<22} {:>6}", places.len());
    }
    let share = |n: usize| n as f64 * 100.0 / lines.max(1) as f64;
    let _ = writeln!(out, "expected share of changed lines: {:.1} %", share(changed + places.len()));
    for ((file, line), (_, message)) in places.iter().take(PLACES) {
        let _ = writeln!(out, "  {file}:{line}: {message}");
    }
    out
}
