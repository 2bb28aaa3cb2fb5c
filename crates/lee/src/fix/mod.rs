//! `lee check --fix` and `lee port`: edits that diagnostics and `port` propose are tried on copies
//! of the files named, to a fixed point, and written at the end.

mod includes;
mod mirror;
mod report;
mod state;
mod write;

use crate::commands::check_files;
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::report::{line, output};
use crate::session::{is_input, Session};
use mirror::Mirror;
use port::{Finding, Kind};
use source::Applicability;
use state::{Change, State};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Rounds end when nothing is left to write; so many are never needed.
const MOST_ROUNDS: usize = 512;
/// How often files are checked to find the edits that do harm: for each file, and beside.
const CHECKS_PER_FILE: usize = 16;
const MORE_CHECKS: usize = 200;

/// An edit that was made.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Made {
    kind: Kind,
    applicability: Applicability,
    words: String,
    places: usize,
}

/// What all rounds did.
pub struct Work {
    mirror: Mirror,
    made: Vec<Made>,
    state: State,
    /// How many declarations and places had errors at first.
    before: usize,
    /// What was not written, because it was not sure enough or did harm.
    left: Vec<Finding>,
}

/// `lee check --fix`
pub fn check(session: &Session, least: Applicability) -> Outcome<()> {
    let work = work(session, least, &|path| path.to_path_buf())?;
    let mut lines = 0;
    for file in &work.mirror.files {
        let (text, count) = write::diff(&file.name, &file.original, &file.text);
        output(&text)?;
        lines += count;
    }
    for file in work.mirror.files.iter().filter(|f| f.text != f.original) {
        write::replace(&file.real, &file.text, &file.real)?;
    }
    if lines > 0 {
        let files = work.mirror.files.iter().filter(|f| f.text != f.original).count();
        line(&format!("{} fixes in {lines} lines of {files} files", work.made.len()));
    }
    let likely = work.left.iter().filter(|f| f.fix.applicability == Applicability::Likely).count();
    if likely > 0 && least == Applicability::Sure {
        line(&format!("{likely} more are likely: --fix=likely makes those that do no harm"));
    }
    Ok(())
}

/// `lee port`
pub fn port(session: &Session) -> Outcome<i32> {
    let renamed = |path: &Path| match path.extension().is_some_and(|e| e == "c") {
        true => path.with_extension("lee"),
        false => path.to_path_buf(),
    };
    for file in session.options.files() {
        let new = renamed(file);
        if new != *file && new.exists() && !session.options.report {
            return Err(Failure::error(format!("'{}' is there already", new.display())));
        }
    }
    let options = Options { warnings: ramp(&session.options), ..session.options.clone() };
    let session = Session::new(options)?;
    let work = work(&session, Applicability::Likely, &renamed)?;
    if session.options.report {
        output(&report::text(&work, &|name| name.to_path_buf()))?;
        return Ok(0);
    }
    if let Some(file) = work.mirror.files.iter().find(|f| !f.writable && renamed(&f.name) != f.name) {
        return Err(Failure::error(format!("'{}' may not be written, so it is not renamed", file.name.display())));
    }
    let mut files = vec![];
    for file in &work.mirror.files {
        let new = renamed(&file.name);
        output(&write::diff(&file.name, &file.original, &file.text).0)?;
        if new != file.name {
            write::replace(&new, &file.text, &file.real)?;
            fs::remove_file(&file.name).map_err(|e| Failure::file("remove", &file.name, &e))?;
        } else if file.text != file.original {
            write::replace(&file.real, &file.text, &file.real)?;
        }
        if new.extension().is_some_and(|e| e == "lee") {
            files.push(new);
        }
    }
    let status = check_files(&session, files.iter())?;
    output(&report::text(&work, &renamed))?;
    Ok(status)
}

/// The warnings while a program is ported: `free` of a shared pointer is one.
fn ramp(options: &Options) -> Vec<String> {
    let mut all = options.warnings.clone();
    all.push("no-free-shared".to_string());
    all
}

/// Runs all rounds on copies.
fn work(session: &Session, least: Applicability, copied_as: &dyn Fn(&Path) -> PathBuf) -> Outcome<Work> {
    let names: Vec<PathBuf> = session.options.files().cloned().collect();
    if names.iter().any(|name| is_input(name)) {
        return Err(Failure::usage("standard input ('-') is not a file that can be changed"));
    }
    let mut mirror = Mirror::new(&names, copied_as)?;
    let options = Options { preprocessor: mirror.options(&session.options.preprocessor), ..session.options.clone() };
    let session = &Session::new(options)?;
    let outside = includes::outside(&mirror);
    // What cannot change may get anything, too.
    let writable = mirror.files.iter().filter(|f| f.writable);
    let ours: BTreeSet<PathBuf> = writable.flat_map(|f| [f.copy.clone(), f.real.clone()]).collect();
    let known: RefCell<BTreeMap<String, bool>> = RefCell::default();
    let closed = |file: &str| {
        let is_closed = || {
            let real = fs::canonicalize(file).unwrap_or_else(|_| PathBuf::from(file));
            includes::is_closed(&outside, file) && ours.contains(&real)
        };
        *known.borrow_mut().entry(file.to_string()).or_insert_with(is_closed)
    };
    let mut state = State::of(session, &mirror)?;
    let before = report::places(&state);
    let (mut made, mut written) = (vec![], BTreeSet::new());
    let mut checks = MORE_CHECKS + CHECKS_PER_FILE * state.units.len();
    // Edits that did harm by themselves. They are tried again when all others are through: with
    // those some may fit.
    let (mut refused, mut anything) = (BTreeSet::new(), false);
    for _ in 0..MOST_ROUNDS {
        let all = state.findings(&closed);
        let possible: Vec<Finding> =
            all.into_iter().filter(|f| f.fix.applicability >= least && !written.contains(&key(f))).collect();
        let possible: Vec<Finding> =
            possible.into_iter().filter(|f| is_ours(&mirror, f) && !refused.contains(&key(f))).collect();
        let possible = without_second_choices(possible);
        // All at once; if that does harm, part by part.
        let mut groups: Vec<Vec<Finding>> = if possible.is_empty() { vec![] } else { vec![possible] };
        let mut progress = false;
        while let Some(group) = groups.pop() {
            if checks == 0 {
                break;
            }
            let old = mirror.texts();
            let Some(texts) = edited(&mirror, &group) else { continue };
            let changed = mirror.put(texts)?;
            let now = State::again(session, &mirror, &state, &changed)?;
            checks = checks.saturating_sub(now.news(&state).max(1));
            let change = now.since(&state);
            // Nothing smaller than a cluster is better.
            let one = group.iter().all(|f| group.first().is_some_and(|first| first.cluster == f.cluster));
            if change == Change::Fine || change == Change::Mixed && one && least < Applicability::Sure {
                made.extend(group.iter().map(|f| Made {
                    kind: f.kind,
                    applicability: f.fix.applicability,
                    words: f.words.clone(),
                    places: f.fix.edits.len(),
                }));
                written.extend(group.iter().map(key));
                (state, progress) = (now, true);
                // Places have moved: what is left comes up again.
                break;
            } else {
                mirror.put(old)?;
                if group.len() < 2 {
                    refused.extend(group.iter().map(key));
                }
                groups.extend(split(group, least));
            }
        }
        anything |= progress;
        if !progress {
            if checks == 0 || !anything || refused.is_empty() {
                break;
            }
            refused.clear();
            anything = false;
        }
    }
    let left = without_second_choices(state.findings(&closed));
    Ok(Work { mirror, made, state, before, left })
}

/// Without `fat` where a count is found for the same pointer, which costs less.
fn without_second_choices(all: Vec<Finding>) -> Vec<Finding> {
    let place = |f: &Finding| f.fix.edits.first().map(|e| (e.file.clone(), e.line, e.column));
    let counted: BTreeSet<_> = all.iter().filter(|f| f.kind == Kind::Count).map(place).collect();
    all.into_iter().filter(|f| f.kind != Kind::Fat || !counted.contains(&place(f))).collect()
}

/// What is written at most once: the words at a declaration, wherever in its line it stands by now.
fn key(finding: &Finding) -> (Kind, String, Vec<(String, u32, usize)>) {
    let places = finding.subjects.iter().enumerate().map(|(n, (file, line, _))| (file.clone(), *line, n)).collect();
    let mut words = finding.words.clone();
    if finding.subjects.is_empty() {
        words = format!("{:?}", finding.fix.edits);
    }
    (finding.kind, words, places)
}

/// Smaller groups of a group that did harm: its clusters, its kinds, or its halves. What is sure of
/// a cluster is sure of all of it together.
fn split(group: Vec<Finding>, least: Applicability) -> Vec<Vec<Finding>> {
    if least == Applicability::Sure && group.iter().all(|f| group.first().is_some_and(|g| g.cluster == f.cluster)) {
        return vec![];
    }
    for part in [|f: &Finding| (f.cluster, None), |f: &Finding| (0, Some(f.kind))] {
        let parts: BTreeSet<(usize, Option<Kind>)> = group.iter().map(part).collect();
        if parts.len() > 1 {
            let of = |wanted| group.iter().filter(|f| part(f) == wanted).cloned().collect();
            return parts.into_iter().rev().map(of).collect();
        }
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
    for finding in findings {
        for edit in &finding.fix.edits {
            let n = mirror.find(&edit.file)?;
            let found = write::bytes(&mirror.files.get(n)?.text, edit)?;
            let all = edits.get_mut(n)?;
            let clash = all.iter().any(|o| *o != found && o.lo <= found.hi && found.lo <= o.hi);
            if !clash {
                all.push(found);
            }
        }
    }
    mirror.files.iter().zip(&mut edits).map(|(file, edits)| write::applied(&file.text, edits)).collect()
}
