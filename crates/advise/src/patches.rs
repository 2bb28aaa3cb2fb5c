//! Writes the patches of a unit's findings, and keeps those that are checked.
//!
//! A patch is kept only if the preprocessed text of the patched file differs in the planned tokens
//! alone, the analysis of the patched text no longer finds the site, and the branches of `#if` that
//! are not taken but name the object's variables lead to the same advice.

use crate::edits::{applied, decode, Edit, FileEdits, Patch, Text};
use crate::finding::Verdict;
use crate::options::Options;
use crate::origin::{tokens, Log};
use crate::plan::{plan, Change};
use crate::program::{Context, Externals};
use crate::rules::Rule;
use crate::summary::{of_body, summarise, Summaries, Summary};
use crate::together::{together, Whole};
use crate::unit::{read, Preprocessor, Unit};
use crate::verdict::{judge, Candidate, Surroundings};
use mir::ir::LocalKind;
use rustc_hash::FxHashSet;
use std::path::PathBuf;

/// What the patches of a unit are made with.
#[derive(Clone, Copy)]
pub struct Patcher<'a> {
    /// The preprocessor.
    pub preprocessor: &'a dyn Preprocessor,
    /// The user's wishes.
    pub options: &'a Options,
    /// Summaries of the unit, as it is.
    pub own: &'a [Option<Summary>],
    /// Summaries of other units.
    pub externals: &'a Externals,
    /// What surrounds the unit.
    pub around: &'a Surroundings<'a>,
}

/// A unit with the files that its patches may change: its own first.
pub struct Read<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// The files.
    pub files: Vec<Text>,
    /// Whether it may be written in C11.
    pub newer: bool,
}

/// A file that changes.
pub struct Changed<'a> {
    /// Its name.
    pub path: &'a PathBuf,
    /// What is in it.
    pub source: &'a str,
    /// What changes.
    pub edits: &'a [Edit],
}

/// How many of the sites are like that of a candidate.
pub fn alike(all: &[Candidate], candidate: &Candidate) -> usize {
    let same = |c: &&Candidate| {
        c.finding.function == candidate.finding.function
            && c.finding.variable == candidate.finding.variable
            && c.finding.allocator == candidate.finding.allocator
    };
    all.iter().filter(same).count()
}

/// How many of the sites for which something holds may leak.
pub fn leaks(all: &[Candidate], wanted: impl Fn(&Candidate) -> bool) -> usize {
    all.iter().filter(|c| wanted(c) && c.finding.reason.contains("leak")).count()
}

/// The headers of the system that a preprocessed text names: entered (flag 1 of the marker) as such
/// (flag 3). A macro of such a header gives flag 3 to lines of other files.
fn systems(text: &str) -> FxHashSet<&str> {
    let marked = |line: &str| line.starts_with("# ") && line.ends_with(['3', '4']);
    let named = text.lines().filter(|l| marked(l)).filter_map(|line| {
        let (_, rest) = line.split_once('"')?;
        let (name, flags) = rest.rsplit_once('"')?;
        let has = |flag: &str| flags.split_whitespace().any(|f| f == flag);
        (has("1") && has("3")).then_some(name)
    });
    named.collect()
}

impl<'p> Patcher<'p> {
    /// Writes the patches of all candidates that something is advised for. Objects of helpers and
    /// of fields are left to `together`, if the whole program is at hand.
    pub fn patch(&self, unit: &Unit, candidates: &mut [Candidate]) {
        let wanted = |c: &Candidate| c.finding.is_advice();
        if !candidates.iter().any(wanted) {
            return;
        }
        let read = self.read(unit, &[]);
        let mut names: Vec<String> = vec![];
        let later = |c: &Candidate| matches!(c.finding.verdict, Verdict::Caller | Verdict::Embed);
        for n in 0..candidates.len() {
            let Some(candidate) = candidates.get(n).filter(|c| wanted(c) && !later(c)) else { continue };
            let made = match &read {
                Ok(read) => self.one(read, candidate, candidates, &names),
                Err(why) => Err(why.clone()),
            };
            let Some(candidate) = candidates.get_mut(n) else { continue };
            match made {
                Ok((edits, new)) => {
                    names.extend(new);
                    let files = vec![FileEdits { file: unit.source.path(), edits }];
                    candidate.finding.patch = Some(Patch { files });
                }
                Err(why) => candidate.finding.no_patch = Some(why),
            }
        }
        if self.options.whole_program || !candidates.iter().any(|c| wanted(c) && later(c)) {
            return;
        }
        let results = match read {
            Ok(read) => together(&[Whole { patcher: self, read, candidates }], false, names),
            Err(why) => {
                for candidate in candidates.iter_mut().filter(|c| wanted(c) && later(c)) {
                    candidate.finding.no_patch = Some(why.clone());
                }
                return;
            }
        };
        for (_, site, result) in results {
            if let Some(candidate) = candidates.get_mut(site) {
                result.tell(&mut candidate.finding);
            }
        }
    }

    /// What is known of the functions of the unit.
    pub fn context<'a>(&self, unit: &'a Unit) -> Context<'a>
    where
        'p: 'a,
    {
        let Patcher { own, externals, options, .. } = *self;
        Context { program: &unit.program, table: &options.table, own, externals }
    }

    /// The files of the unit that have one of the words; its own always.
    ///
    /// Errors: why nothing can be changed.
    pub fn read<'a>(&self, unit: &'a Unit, words: &[String]) -> Result<Read<'a>, String> {
        let path = unit.source.path();
        let log = self.preprocessor.preprocess(&unit.source, &[], true).map_err(|e| e.to_string())??;
        let log = String::from_utf8_lossy(&log);
        let log = Log::read(&unit.map.text, &log)?;
        let name = unit.source.file.to_string_lossy();
        let mut files = vec![];
        let system = systems(&unit.map.text);
        let mut names: Vec<&str> = vec![&name];
        if !words.is_empty() {
            let others = unit.map.files.iter().map(String::as_str);
            names.extend(others.filter(|f| *f != name && !f.starts_with('<') && !system.contains(f)));
        }
        for (n, name) in names.into_iter().enumerate() {
            let path = match (&unit.source.folder, n) {
                (_, 0) => path.clone(),
                (Some(folder), _) => folder.join(name),
                (None, _) => name.into(),
            };
            let bytes = std::fs::read(&path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
            let source = decode(&bytes);
            if n == 0 || words.iter().any(|w| source.contains(w.as_str())) {
                let key = path.canonicalize().unwrap_or_else(|_| path.clone());
                let origins = log.origins(&unit.map.text, &source, name);
                files.push(Text { path, key, source, origins });
            }
        }
        let old = |f: &std::ffi::OsString| {
            matches!(
                &*f.to_string_lossy(),
                "-ansi" | "-std=c89" | "-std=c90" | "-std=gnu89" | "-std=gnu90" | "-std=c99" | "-std=gnu99"
            )
        };
        Ok(Read { unit, files, newer: !unit.source.flags.iter().any(old) })
    }

    /// The edits of one site, and the names that they bring. `taken`: names of other patches.
    fn one(
        &self,
        read: &Read,
        candidate: &Candidate,
        all: &[Candidate],
        taken: &[String],
    ) -> Result<(Vec<Edit>, Vec<String>), String> {
        let (unit, own) = (read.unit, read.files.first().ok_or("its file is gone")?);
        if candidate.finding.place.file != unit.source.file.to_string_lossy() {
            return Err("it is in an included file, which other files may include too".into());
        }
        let plan = plan(unit, &own.source, &own.origins, candidate, read.newer, taken)?;
        if Rule::OtherBranches.holds() {
            self.other_branches(read, candidate)?;
        }
        let edits: Vec<Edit> = plan.changes.iter().map(|c| c.edit.clone()).collect();
        let changed = Changed { path: &own.path, source: &own.source, edits: &edits };
        let patched = self.compare(read, &plan.changes, &[changed])?;
        let after = self.analyse(unit, patched, Some(&candidate.finding.function))?;
        let function = &candidate.finding.function;
        let here = |all: &[Candidate]| leaks(all, |c| c.finding.function == *function);
        if alike(&after, candidate) >= alike(all, candidate) {
            return Err("the analysis of the patched text still finds the site".into());
        }
        match here(&after) > here(all) {
            true => Err("the analysis of the patched text finds a leak".into()),
            false => Ok((edits, plan.names)),
        }
    }

    /// The preprocessed text of the patched file, if it differs in the planned tokens alone.
    pub fn compare(&self, read: &Read, changes: &[Change], files: &[Changed]) -> Result<Vec<u8>, String> {
        let mut texts = vec![];
        for file in files {
            // On the same lines, so that `__LINE__` does not differ.
            let level = |e: &Edit| {
                let lines = file.source.get(e.lo..e.hi).unwrap_or("").matches('\n').count();
                Edit { text: e.text.replace('\n', " ") + &"\n".repeat(lines), ..e.clone() }
            };
            let level: Vec<Edit> = file.edits.iter().map(level).collect();
            texts.push((file.path.clone(), applied(file.source, &level).ok_or("its places overlap")?));
        }
        let unit = read.unit;
        let output = self.preprocessor.preprocess(&unit.source, &texts, false).map_err(|e| e.to_string())??;
        let new = String::from_utf8_lossy(&output).into_owned();
        let mut wanted: Vec<&str> = vec![];
        let mut at = 0;
        let all = read.files.first().map_or(&[][..], |f| &*f.origins.tokens);
        let spelled = |t: usize| all.get(t).map_or("", |t| unit.map.snippet(t.span()));
        for change in changes {
            wanted.extend((at..change.lo).map(spelled));
            wanted.extend(change.expanded.iter().map(String::as_str));
            at = change.hi;
        }
        wanted.extend((at..all.len()).map(spelled));
        let found = tokens(&new);
        let same = found.len() == wanted.len()
            && found.iter().zip(&wanted).all(|(t, w)| new.get(t.lo as usize..t.hi as usize) == Some(*w));
        if !same && Rule::Planned.holds() {
            return Err("the preprocessor makes something else of the patched text than was planned".into());
        }
        Ok(output)
    }

    /// The candidates of the unit with another text. `only`: those of the function; nothing else
    /// has changed then.
    pub fn analyse(&self, unit: &Unit, text: Vec<u8>, only: Option<&str>) -> Result<Vec<Candidate>, String> {
        let old = unit;
        let unit = read(&unit.source, text).map_err(|why| format!("the changed text is not accepted: {why}"))?;
        let mut own = match only {
            Some(only) => self.same_but(old, &unit, only),
            None => vec![],
        };
        if own.is_empty() {
            let mut all = Summaries::default();
            summarise(&unit.program, &self.options.table, self.externals, &mut all);
            own = all.own;
        }
        let cx = Context { program: &unit.program, table: &self.options.table, own: &own, externals: self.externals };
        Ok(judge(&unit, &cx, self.around, self.options, only))
    }

    /// The summaries of the unit, if they hold for the changed unit too: the functions are the
    /// same, and the one that was changed has the summary that it had. Else none.
    fn same_but(&self, old: &Unit, new: &Unit, changed: &str) -> Vec<Option<Summary>> {
        let names = |unit: &Unit| unit.program.functions.iter().map(|f| f.name).collect::<Vec<_>>();
        let same_names = old.program.functions.len() == new.program.functions.len()
            && names(old).iter().zip(names(new)).all(|(a, b)| a.as_str() == b.as_str());
        let (own, externals) = (self.own, self.externals);
        let cx = Context { program: &new.program, table: &self.options.table, own, externals };
        let unchanged = |body: &mir::ir::Body| {
            let known = own.get(body.func.func.0 as usize);
            known.is_some_and(|known| known.as_ref() == Some(&of_body(&cx, body)))
        };
        let is_changed =
            |body: &&mir::ir::Body| crate::program::symbol(&new.program, &body.func).as_deref() == Some(changed);
        if same_names && new.program.bodies.iter().filter(is_changed).all(unchanged) {
            own.to_vec()
        } else {
            vec![]
        }
    }

    /// Branches of `#if` that are not taken and name the object's variables must lead to the same
    /// advice.
    pub fn other_branches(&self, read: &Read, candidate: &Candidate) -> Result<(), String> {
        let Some(text) = read.files.first() else { return Ok(()) };
        let Some(body) = read.unit.program.bodies.get(candidate.body) else { return Ok(()) };
        let names: Vec<&str> = candidate
            .holders
            .iter()
            .filter_map(|l| body.locals.get(l.0 as usize))
            .filter(|d| d.kind != LocalKind::Temp)
            .filter_map(|d| d.name.map(|n| n.as_str()))
            .collect();
        let all = &text.origins.tokens;
        let raw_at = |offset: u32| {
            let token = all.partition_point(|t| t.lo < offset);
            (0..40).find_map(|n| text.origins.raw(token + n))
        };
        let (Some(first), Some(last)) = (raw_at(body.span.lo), raw_at(body.end.lo)) else {
            return Err("a macro makes the function".into());
        };
        let used = text.origins.used();
        let file = &text.origins.file;
        let mut tried: Vec<(usize, usize)> = vec![];
        for n in first..=last {
            let Some(token) = file.tokens.get(n).filter(|t| !t.directive) else { continue };
            let word = text.source.get(token.lo..token.hi).unwrap_or("");
            if used.contains(&n) || !names.contains(&word) {
                continue;
            }
            // Not used: a branch that is not taken, or an argument that a macro drops.
            let Some(&(group, branch)) = file.groups_at(token.lo).last() else { continue };
            let taken = file.groups.get(group).and_then(|g| g.branches.get(branch)).is_some_and(|b| {
                let from = file.tokens.partition_point(|t| t.lo < b.body.0);
                let to = file.tokens.partition_point(|t| t.lo < b.body.1);
                (from..to).any(|t| used.contains(&t))
            });
            if taken || tried.contains(&(group, branch)) {
                continue;
            }
            tried.push((group, branch));
            self.turned(read, candidate, token.lo)?;
        }
        Ok(())
    }

    /// Analyses the file with the branch that has the offset taken.
    fn turned(&self, read: &Read, candidate: &Candidate, at: usize) -> Result<(), String> {
        let Some(text) = read.files.first() else { return Ok(()) };
        let source = &read.unit.source;
        let file = &text.origins.file;
        let mut edits = vec![];
        for (group, branch) in file.groups_at(at) {
            let Some(group) = file.groups.get(group) else { continue };
            for (n, b) in group.branches.iter().enumerate().filter(|(_, b)| !b.is_else) {
                let word = if n == 0 { "#if" } else { "#elif" };
                let lines = text.source.get(b.line.0..b.line.1).unwrap_or("").matches('\n').count();
                let line = format!("{word} {}{}", u8::from(n == branch), "\n".repeat(lines));
                edits.push(Edit { lo: b.line.0, hi: b.line.1, text: line });
            }
        }
        edits.sort();
        edits.dedup();
        let line = file.line_of(at) + 1;
        let cannot = |why: String| {
            format!("the branch at line {line}, which is not taken, uses it and cannot be analysed: {why}")
        };
        let turned = applied(&text.source, &edits).ok_or_else(|| cannot("its directives overlap".into()))?;
        let texts = [(text.path.clone(), turned)];
        let output = self.preprocessor.preprocess(source, &texts, false).map_err(|e| cannot(e.to_string()))?;
        let there = self.analyse(read.unit, output.map_err(cannot)?, None).map_err(cannot)?;
        let own = &candidate.finding;
        let same = there.iter().any(|c| {
            let f = &c.finding;
            f.place == own.place
                && f.verdict == own.verdict
                && f.bytes == own.bytes
                && c.frees.len() == candidate.frees.len()
        });
        if same {
            Ok(())
        } else {
            Err(format!("with the branch at line {line}, which is not taken here, the advice would be another"))
        }
    }
}
