//! Which edits are made: those that do no harm. All are tried at once; what brought errors is parted,
//! first from what the errors have nothing to do with, then by clusters, kinds and halves.

use super::mirror::Mirror;
use super::state::{Change, State};
use super::{write, Made};
use crate::failure::Outcome;
use crate::session::Session;
use port::{Finding, Kind};
use source::Applicability;
use std::collections::{BTreeMap, BTreeSet};

/// Rounds end when nothing is left to write; so many are never needed.
const MOST_ROUNDS: usize = 512;
/// How often files are checked to find the edits that do harm: for each file, and beside.
const CHECKS_PER_FILE: usize = 16;
const MORE_CHECKS: usize = 200;
/// How many preprocessed lines are checked in all, so that the search in a large program ends, too.
const MOST_LINES: usize = 12_000_000;

/// What is written at most once: the words at the declarations of a name, wherever in their lines
/// they stand by now.
type Key = (Kind, String, Vec<(String, u32, usize)>, Vec<&'static str>, usize);

/// What became of a group of edits.
enum Tried {
    /// They are made.
    Made,
    /// They are not. These names stand in the lines of the errors that they brought.
    Refused(BTreeSet<String>),
}

/// All rounds.
pub struct Search<'a> {
    session: &'a Session,
    closed: &'a dyn Fn(&str) -> bool,
    least: Applicability,
    mirror: Mirror,
    state: State,
    made: Vec<Made>,
    written: BTreeSet<Key>,
    /// Edits that did harm by themselves. They are tried again when all others are through: with
    /// those some may fit.
    refused: BTreeSet<Key>,
    /// How many files, and lines, may still be checked.
    checks: usize,
    lines: usize,
}

/// What a search has come to.
pub struct Found {
    /// The files.
    pub mirror: Mirror,
    /// What is said of them.
    pub state: State,
    /// What was done.
    pub made: Vec<Made>,
    /// What was left.
    pub left: Vec<Finding>,
    /// It was ended before all was tried.
    pub cut: bool,
}

impl<'a> Search<'a> {
    /// A search that has not begun.
    pub fn new(
        session: &'a Session,
        mirror: Mirror,
        state: State,
        least: Applicability,
        closed: &'a dyn Fn(&str) -> bool,
    ) -> Search<'a> {
        let checks = MORE_CHECKS + CHECKS_PER_FILE * state.units.len();
        let (made, written, refused) = Default::default();
        Search { session, closed, least, mirror, state, made, written, refused, checks, lines: MOST_LINES }
    }

    /// Whether nothing more is tried.
    fn is_over(&self) -> bool {
        self.checks == 0 || self.lines == 0
    }

    /// Runs all rounds.
    pub fn run(mut self) -> Outcome<Found> {
        let mut anything = false;
        for _ in 0..MOST_ROUNDS {
            let progress = self.round()?;
            anything |= progress;
            if !progress {
                if self.is_over() || !anything || self.refused.is_empty() {
                    break;
                }
                self.refused.clear();
                anything = false;
            }
        }
        let left = without_second_choices(self.state.findings(self.closed));
        let cut = self.is_over();
        Ok(Found { mirror: self.mirror, state: self.state, made: self.made, left, cut })
    }

    /// What may be written now.
    fn possible(&self) -> Vec<Finding> {
        let may = |f: &Finding| {
            let new = !self.written.contains(&key(f)) && !self.refused.contains(&key(f));
            f.fix.applicability >= self.least && new && is_ours(&self.mirror, f)
        };
        let all: Vec<Finding> = self.state.findings(self.closed).into_iter().filter(may).collect();
        without_second_choices(all)
    }

    /// Tries all at once; if that does harm, part by part. Whether anything was written.
    fn round(&mut self) -> Outcome<bool> {
        let first = self.possible();
        let mut groups: Vec<Vec<Key>> = vec![first.iter().map(key).collect()];
        let mut now = by_key(first);
        let mut progress = false;
        while let Some(keys) = groups.pop() {
            if self.is_over() {
                break;
            }
            let group: Vec<Finding> = keys.iter().filter_map(|key| now.get(key).cloned()).collect();
            if group.is_empty() {
                continue;
            }
            match self.attempt(&group)? {
                Tried::Made => {
                    progress = true;
                    // Places have moved, and some may not be wanted any more.
                    if !groups.is_empty() {
                        now = by_key(self.possible());
                    }
                }
                Tried::Refused(names) => {
                    let parts = split(&group, &names, self.least);
                    if parts.is_empty() {
                        self.refused.extend(group.iter().map(key));
                    }
                    groups.extend(parts.into_iter().map(|part| part.iter().map(key).collect()));
                }
            }
        }
        Ok(progress)
    }

    /// Makes the edits, unless they do harm.
    fn attempt(&mut self, group: &[Finding]) -> Outcome<Tried> {
        let Some(texts) = edited(&self.mirror, group) else { return Ok(Tried::Refused(BTreeSet::new())) };
        let old = self.mirror.texts();
        let changed = self.mirror.put(texts)?;
        let now = State::again(self.session, &self.mirror, &self.state, &changed)?;
        let (files, lines) = now.news(&self.state);
        self.checks = self.checks.saturating_sub(files.max(1));
        self.lines = self.lines.saturating_sub(lines);
        let change = now.since(&self.state);
        // Nothing smaller than a cluster is better.
        let one = group.iter().all(|f| group.first().is_some_and(|first| first.cluster == f.cluster));
        // What a prototype uncovers was there before.
        let uncovers = group.iter().all(|f| f.kind == Kind::Prototype);
        let mixed = change == Change::Mixed && one && (self.least < Applicability::Sure || uncovers);
        if change == Change::Fine || mixed {
            self.made.extend(group.iter().map(|f| Made {
                kind: f.kind,
                applicability: f.fix.applicability,
                words: f.words.clone(),
                places: f.fix.edits.len(),
            }));
            self.written.extend(group.iter().map(key));
            self.state = now;
            return Ok(Tried::Made);
        }
        let names = now.blamed(&self.state);
        self.mirror.put(old)?;
        Ok(Tried::Refused(names))
    }
}

fn by_key(all: Vec<Finding>) -> BTreeMap<Key, Finding> {
    all.into_iter().map(|f| (key(&f), f)).collect()
}

/// Without `fat` where a count is found for the same pointer, which costs less.
fn without_second_choices(all: Vec<Finding>) -> Vec<Finding> {
    let place = |f: &Finding| f.fix.edits.first().map(|e| (e.file.clone(), e.line, e.column));
    let counted: BTreeSet<_> = all.iter().filter(|f| f.kind == Kind::Count).map(place).collect();
    all.into_iter().filter(|f| f.kind != Kind::Fat || !counted.contains(&place(f))).collect()
}

fn key(finding: &Finding) -> Key {
    let places = finding.subjects.iter().enumerate().map(|(n, (file, line, _))| (file.clone(), *line, n)).collect();
    let mut words = finding.words.clone();
    if finding.subjects.is_empty() {
        words = format!("{:?}", finding.fix.edits);
    }
    (finding.kind, words, places, finding.names.iter().map(|name| name.as_str()).collect(), finding.part)
}

/// Smaller groups of a group that did harm, of which the last is tried first. `names` stand in the
/// lines of the errors that it brought. What is sure of a cluster is sure of all of it together.
fn split(group: &[Finding], names: &BTreeSet<String>, least: Applicability) -> Vec<Vec<Finding>> {
    let clusters: BTreeSet<usize> = group.iter().map(|f| f.cluster).collect();
    let parted = |of: &dyn Fn(&Finding) -> bool| -> Vec<Vec<Finding>> {
        let (yes, no): (Vec<Finding>, Vec<Finding>) = group.iter().cloned().partition(|f| of(f));
        vec![yes, no]
    };
    if clusters.len() > 1 {
        let is_named = |f: &&Finding| f.names.iter().any(|name| names.contains(name.as_str()));
        let blamed: BTreeSet<usize> = group.iter().filter(is_named).map(|f| f.cluster).collect();
        if !blamed.is_empty() && blamed.len() < clusters.len() {
            return parted(&|f| blamed.contains(&f.cluster));
        }
        let upper: BTreeSet<usize> = clusters.iter().copied().skip(clusters.len() / 2).collect();
        return parted(&|f| upper.contains(&f.cluster));
    }
    if least == Applicability::Sure {
        return vec![];
    }
    let kinds: BTreeSet<Kind> = group.iter().map(|f| f.kind).collect();
    if kinds.len() > 1 {
        return kinds.iter().rev().map(|kind| group.iter().filter(|f| f.kind == *kind).cloned().collect()).collect();
    }
    if group.len() < 2 {
        return vec![];
    }
    let (a, b) = group.split_at(group.len() / 2);
    vec![b.to_vec(), a.to_vec()]
}

/// Whether all its edits are in files that were named and may be written.
fn is_ours(mirror: &Mirror, finding: &Finding) -> bool {
    let ours = |file: &str| mirror.find(file).and_then(|n| mirror.files.get(n)).is_some_and(|f| f.writable);
    finding.fix.edits.iter().all(|e| ours(&e.file))
}

/// The texts with the edits of all findings; of two that overlap the later one is left out.
fn edited(mirror: &Mirror, findings: &[Finding]) -> Option<Vec<Vec<u8>>> {
    let mut edits: Vec<Vec<advise::edits::Edit>> = mirror.files.iter().map(|_| vec![]).collect();
    let lines: Vec<write::Lines> = mirror.files.iter().map(|file| write::Lines::of(&file.text)).collect();
    for finding in findings {
        for edit in &finding.fix.edits {
            let n = mirror.find(&edit.file)?;
            let found = lines.get(n)?.bytes(edit)?;
            let all = edits.get_mut(n)?;
            let clash = all.iter().any(|o| *o != found && o.lo <= found.hi && found.lo <= o.hi);
            if !clash {
                all.push(found);
            }
        }
    }
    mirror.files.iter().zip(&mut edits).map(|(file, edits)| write::applied(&file.text, edits)).collect()
}
