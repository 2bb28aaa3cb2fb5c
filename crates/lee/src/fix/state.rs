//! What the compiler says of all files named, as they are now.

use super::mirror::{Mirror, Named};
use crate::failure::Outcome;
use crate::pipeline::{self, Trees, Until};
use crate::session::Session;
use port::{Finding, Kind, Unit};
use source::{Diagnostic, Level, Sink, SourceMap};
use std::collections::BTreeSet;
use std::rc::Rc;

/// One file after it was checked.
pub struct Checked {
    /// Which of the files named.
    pub file: usize,
    /// The files named that it was read from: itself and headers. `None` if it was not read to its
    /// end, so that any of them may matter.
    reads: Option<BTreeSet<usize>>,
    /// Its text, and how many lines that has.
    pub map: SourceMap,
    lines: usize,
    /// Its trees, unless the preprocessor or the compiler gave up.
    pub trees: Option<Trees>,
    /// What was found.
    pub sink: Sink,
    /// How far it got and how many errors there are: fewer is better, a later stage is better.
    pub score: (u8, usize),
}

/// What became of the reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// None is new, but those of a stage that did not run before.
    Fine,
    /// Some are new, but all in all there are fewer.
    Mixed,
    /// There are more, or an earlier stage reports.
    Worse,
}

impl Checked {
    /// Checks one file.
    fn of(session: &Session, mirror: &Mirror, n: usize, file: &Named) -> Outcome<Checked> {
        let mut sink = Sink::default();
        let map = session.preprocess(&file.copy, &[], &mut sink)?;
        let settings = session.settings(Until::Checked, &file.copy);
        let broken = sink.has_errors();
        let reads = (!broken).then(|| map.files.iter().filter_map(|name| mirror.find(name)).chain([n]).collect());
        let found = if broken { None } else { Some(pipeline::trees(&map, &settings, &mut sink)) };
        let typed = |d: &&Diagnostic| d.level == Level::Error && !is_of_flow(d);
        let types = sink.all.iter().filter(typed).count();
        // What says what to write elsewhere is dealt with next.
        let left = sink.all.iter().filter(typed).filter(|d| d.fixes.is_empty()).count();
        let paths = sink.all.iter().filter(|d| d.level == Level::Error).count();
        let (stage, errors, trees) = match found {
            None => (3, paths, None),
            Some(Err(_)) => (2, usize::MAX, None),
            Some(Ok(trees)) if types > 0 => (1, left, Some(trees)),
            Some(Ok(trees)) => (0, paths, Some(trees)),
        };
        let lines = map.text.lines().count();
        Ok(Checked { file: n, reads, map, lines, trees, sink, score: (stage, errors) })
    }

    /// Its errors, by line.
    fn errors(&self) -> BTreeSet<(&'static str, String, u32)> {
        let errors = self.sink.all.iter().filter(|d| d.level == Level::Error);
        errors.map(|d| self.line_of(d)).collect()
    }

    /// Its code and line.
    fn line_of(&self, report: &Diagnostic) -> (&'static str, String, u32) {
        let (file, line) = self.map.line_at(report.span.lo);
        (report.code.id, self.map.files.get(file as usize).cloned().unwrap_or_default(), line)
    }
}

/// All files that are compiled.
pub struct State {
    /// By file, in the order of their names.
    pub units: Vec<Rc<Checked>>,
}

impl State {
    /// Checks the copies of all sources.
    pub fn of(session: &Session, mirror: &Mirror) -> Outcome<State> {
        State::again(session, mirror, &State { units: vec![] }, &BTreeSet::new())
    }

    /// Checks the copies of those sources again that the `changed` files are part of. What is known
    /// of the others is taken from `before`.
    pub fn again(session: &Session, mirror: &Mirror, before: &State, changed: &BTreeSet<usize>) -> Outcome<State> {
        let mut units = vec![];
        for (n, file) in mirror.files.iter().enumerate() {
            if file.copy.extension().is_none_or(|e| e != "lee") {
                continue;
            }
            let known = before.units.iter().find(|u| u.file == n);
            match known.filter(|u| u.reads.as_ref().is_some_and(|reads| reads.is_disjoint(changed))) {
                Some(unit) => units.push(unit.clone()),
                None => units.push(Rc::new(Checked::of(session, mirror, n, file)?)),
            }
        }
        // The order in which files are named does not matter.
        units.sort_by(|a, b| mirror.files.get(a.file).map(|f| &f.real).cmp(&mirror.files.get(b.file).map(|f| &f.real)));
        Ok(State { units })
    }

    /// How many files were checked since `before`, and how many lines they have with all that they
    /// include.
    pub fn news(&self, before: &State) -> (usize, usize) {
        let new = self.units.iter().zip(&before.units).filter(|(now, then)| !Rc::ptr_eq(now, then));
        new.fold((0, 0), |(files, lines), (now, _)| (files + 1, lines + now.lines))
    }

    /// What an edit did that led from `before` to here.
    pub fn since(&self, before: &State) -> Change {
        let pairs = || self.units.iter().zip(&before.units);
        if pairs().any(|(now, then)| now.score.0 > then.score.0) {
            return Change::Worse;
        }
        let adds = |(now, then): (&Rc<Checked>, &Rc<Checked>)| {
            now.score.0 == then.score.0 && !now.errors().is_subset(&then.errors())
        };
        match pairs().any(adds) {
            false => Change::Fine,
            true if pairs().all(|(now, then)| now.score <= then.score) && pairs().any(|(n, t)| n.score < t.score) => {
                Change::Mixed
            }
            true => Change::Worse,
        }
    }

    /// The names in the lines that errors are about which `before` has not.
    pub fn blamed(&self, before: &State) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let pairs = self.units.iter().zip(&before.units).filter(|(now, then)| !Rc::ptr_eq(now, then));
        for (now, then) in pairs.filter(|(now, then)| now.score.0 >= then.score.0) {
            let known = if now.score.0 == then.score.0 { then.errors() } else { BTreeSet::new() };
            for report in now.sink.all.iter().filter(|d| d.level == Level::Error) {
                if known.contains(&now.line_of(report)) {
                    continue;
                }
                let places = std::iter::once(report.span).chain(report.labels.iter().map(|label| label.span));
                let lines = places.filter_map(|span| {
                    let at = now.map.locate(span);
                    now.map.source_line(&at.file, at.line)
                });
                for text in lines.chain([report.message.clone()]) {
                    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
                    all.extend(words.filter(|word| !word.is_empty()).map(str::to_string));
                }
            }
        }
        all
    }

    /// Errors in all files.
    pub fn errors(&self) -> impl Iterator<Item = (&Checked, &Diagnostic)> {
        self.units.iter().flat_map(|u| u.sink.all.iter().filter(|d| d.level == Level::Error).map(move |d| (&**u, d)))
    }

    /// What could be written, the kinds in their order.
    pub fn findings(&self, closed: &dyn Fn(&str) -> bool) -> Vec<Finding> {
        let units: Vec<Unit> = self
            .units
            .iter()
            .filter_map(|u| u.trees.as_ref().map(|t| Unit::new(&u.map, &t.ast, &t.typed, &u.sink.all)))
            .collect();
        let mut all = port::findings(&units, closed, self.units.iter().all(|u| u.trees.is_some()));
        for checked in &self.units {
            for report in &checked.sink.all {
                all.extend(report.fixes.iter().filter_map(|fix| fix.placed(&checked.map)).map(|fix| Finding {
                    kind: Kind::Report,
                    subjects: vec![],
                    names: vec![],
                    part: 0,
                    words: fix.edits.iter().map(|e| e.text.clone()).collect(),
                    fix,
                    cluster: 0,
                }));
            }
        }
        // What no cluster is known of stands for itself.
        let alone = all.iter_mut().filter(|f| f.kind.is_alone());
        alone.enumerate().for_each(|(n, finding)| finding.cluster = usize::MAX - n);
        all
    }
}

/// Whether the report comes from an analysis that runs only where all types are right.
fn is_of_flow(report: &Diagnostic) -> bool {
    flow::codes::ALL.iter().any(|code| code.id == report.code.id)
}
