//! What the compiler says of all files named, as they are now.

use super::mirror::Mirror;
use crate::failure::Outcome;
use crate::pipeline::{self, Trees, Until};
use crate::session::Session;
use port::{Finding, Kind, Unit};
use source::{Diagnostic, Level, Sink, SourceMap};

/// One file after it was checked.
pub struct Checked {
    /// Which of the files named.
    pub file: usize,
    /// Its text.
    pub map: SourceMap,
    /// Its trees, unless the preprocessor or the compiler gave up.
    pub trees: Option<Trees>,
    /// What was found.
    pub sink: Sink,
    /// How far it got and how many errors there are: fewer is better, a later stage is better.
    pub score: (u8, usize),
}

/// All files that are compiled.
pub struct State {
    /// By file, in the order of their names.
    pub units: Vec<Checked>,
}

impl State {
    /// Checks the copies of all sources.
    pub fn of(session: &Session, mirror: &Mirror) -> Outcome<State> {
        let mut units = vec![];
        for (n, file) in mirror.files.iter().enumerate() {
            if !file.copy.extension().is_some_and(|e| e == "lee") {
                continue;
            }
            let mut sink = Sink::default();
            let map = session.preprocess(&file.copy, &[], &mut sink)?;
            let settings = session.settings(Until::Checked, &file.copy);
            let broken = sink.has_errors();
            let found = if broken { None } else { Some(pipeline::trees(&map, &settings, &mut sink)) };
            let typed = |d: &&Diagnostic| d.level == Level::Error && !is_of_flow(d);
            let types = sink.all.iter().filter(typed).count();
            let paths = sink.all.iter().filter(|d| d.level == Level::Error).count();
            let (stage, errors, trees) = match found {
                None => (3, paths, None),
                Some(Err(_)) => (2, usize::MAX, None),
                Some(Ok(trees)) if types > 0 => (1, types, Some(trees)),
                Some(Ok(trees)) => (0, paths, Some(trees)),
            };
            units.push(Checked { file: n, map, trees, sink, score: (stage, errors) });
        }
        // The order in which files are named does not matter.
        units.sort_by(|a, b| mirror.files.get(a.file).map(|f| &f.real).cmp(&mirror.files.get(b.file).map(|f| &f.real)));
        Ok(State { units })
    }

    /// Whether no file has more errors than before, where as many stages ran.
    pub fn is_no_worse(&self, before: &State) -> bool {
        self.units.iter().zip(&before.units).all(|(now, then)| now.score <= then.score)
    }

    /// Errors in all files.
    pub fn errors(&self) -> impl Iterator<Item = (&Checked, &Diagnostic)> {
        self.units.iter().flat_map(|u| u.sink.all.iter().filter(|d| d.level == Level::Error).map(move |d| (u, d)))
    }

    /// What could be written, the kinds in their order.
    pub fn findings(&self, closed: &dyn Fn(&str) -> bool) -> Vec<Finding> {
        let units: Vec<Unit> = self
            .units
            .iter()
            .filter_map(|u| u.trees.as_ref().map(|t| Unit { map: &u.map, ast: &t.ast, tree: &t.typed }))
            .collect();
        let mut all = port::findings(&units, closed);
        for checked in &self.units {
            for report in &checked.sink.all {
                all.extend(report.fixes.iter().filter_map(|fix| fix.placed(&checked.map)).map(|fix| Finding {
                    kind: Kind::Report,
                    subjects: vec![],
                    words: fix.edits.iter().map(|e| e.text.clone()).collect(),
                    fix,
                }));
            }
        }
        all
    }
}

/// Whether the report comes from an analysis that runs only where all types are right.
fn is_of_flow(report: &Diagnostic) -> bool {
    flow::codes::ALL.iter().any(|code| code.id == report.code.id)
}
