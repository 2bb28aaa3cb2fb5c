//! `lee check --fix` and `lee port`: edits that diagnostics and `port` propose are tried on copies
//! of the files named, to a fixed point, and written at the end.

mod includes;
mod mirror;
mod report;
mod search;
mod state;
mod write;

use crate::commands::check_files;
use crate::failure::{Failure, Outcome};
use crate::options::Options;
use crate::report::{line, output};
use crate::session::{is_input, Session};
use mirror::Mirror;
use port::Kind;
use search::{Found, Search};
use source::Applicability;
use state::State;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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
    /// What they came to; what is left was not sure enough or did harm.
    found: Found,
    /// How many declarations and places had errors at first.
    before: usize,
}

/// `lee check --fix`
pub fn check(session: &Session, least: Applicability) -> Outcome<()> {
    let work = work(session, least, &|path| path.to_path_buf())?;
    let mut lines = 0;
    for file in &work.found.mirror.files {
        let (text, count) = write::diff(&file.name, &file.original, &file.text);
        output(&text)?;
        lines += count;
    }
    for file in work.found.mirror.files.iter().filter(|f| f.text != f.original) {
        write::replace(&file.real, &file.text, &file.real)?;
    }
    if lines > 0 {
        let files = work.found.mirror.files.iter().filter(|f| f.text != f.original).count();
        let of = |n: usize, one: &str, plural: &str| format!("{n} {one}{}", if n == 1 { "" } else { plural });
        let made = of(work.found.made.len(), "fix", "es");
        line(&format!("{made} in {} of {}", of(lines, "line", "s"), of(files, "file", "s")));
    }
    let likely = work.found.left.iter().filter(|f| f.fix.applicability == Applicability::Likely).count();
    if likely > 0 && least == Applicability::Sure {
        let are = if likely == 1 { "is" } else { "are" };
        line(&format!("{likely} more {are} likely: --fix=likely makes those that do no harm"));
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
    if let Some(file) = work.found.mirror.files.iter().find(|f| !f.writable && renamed(&f.name) != f.name) {
        return Err(Failure::error(format!("'{}' may not be written, so it is not renamed", file.name.display())));
    }
    let mut files = vec![];
    for file in &work.found.mirror.files {
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
    let mirror = Mirror::new(&names, copied_as)?;
    // Words are written for what could be inferred, too: a count costs less than bounds.
    let preprocessor = mirror.options(&session.options.preprocessor);
    let options = Options { preprocessor, words_wanted: true, ..session.options.clone() };
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
    let state = State::of(session, &mirror)?;
    let before = report::places(&state);
    let search = Search::new(session, mirror, state, least, &closed);
    Ok(Work { found: search.run()?, before })
}
