//! Writes the patches of a unit's findings, and keeps those that are checked.
//!
//! A patch is kept only if the preprocessed text of the patched file differs in the planned tokens
//! alone, the analysis of the patched text no longer finds the site, and the branches of `#if` that
//! are not taken but name the object's variables lead to the same advice.

use crate::edits::{applied, decode, Edit, Patch};
use crate::finding::Verdict;
use crate::members::uses;
use crate::options::Options;
use crate::origin::{origins, tokens, Origins};
use crate::plan::{plan, plan_callers, plan_member, Plan};
use crate::program::{Context, Externals};
use crate::rules::Rule;
use crate::summary::{of_body, summarise, Summaries, Summary};
use crate::unit::{read, Preprocessor, Unit};
use crate::verdict::{judge, Candidate, Surroundings};
use mir::ir::LocalKind;

/// What the patches of a unit are made with.
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

/// A file, its tokens, and its findings.
struct Text<'a> {
    unit: &'a Unit,
    source: String,
    origins: Origins,
    newer: bool,
}

impl Patcher<'_> {
    /// Writes the patches of all candidates that something is advised for.
    pub fn patch(&self, unit: &Unit, candidates: &mut [Candidate]) {
        let wanted = |c: &Candidate| c.finding.is_advice();
        if !candidates.iter().any(wanted) {
            return;
        }
        let text = self.text(unit);
        let mut names: Vec<String> = vec![];
        for n in 0..candidates.len() {
            let alone = |c: &&Candidate| wanted(c) && c.finding.patch.is_none() && c.finding.no_patch.is_none();
            let Some(candidate) = candidates.get(n).filter(alone) else { continue };
            let made = match &text {
                Ok(text) => self.one(text, candidate, candidates, &names),
                Err(why) => Err(why.clone()),
            };
            let group: Vec<usize> = (n + 1..candidates.len())
                .filter(|&m| candidates.get(m).is_some_and(|c| candidate.shares_patch(c)))
                .collect();
            let proven = group.iter().chain([&n]).all(|&m| candidates.get(m).is_some_and(|c| c.finding.proven));
            let line = candidate.finding.place.line;
            for m in group {
                let Some(other) = candidates.get_mut(m) else { continue };
                let shared = || format!("the patch of line {line} changes this, too");
                other.finding.no_patch = Some(made.as_ref().err().cloned().unwrap_or_else(shared));
            }
            let Some(candidate) = candidates.get_mut(n) else { continue };
            match made {
                Ok((edits, new)) => {
                    names.extend(new);
                    candidate.finding.proven = proven;
                    candidate.finding.patch = Some(Patch { file: unit.source.path(), edits });
                }
                Err(why) => candidate.finding.no_patch = Some(why),
            }
        }
    }

    fn text<'a>(&self, unit: &'a Unit) -> Result<Text<'a>, String> {
        let path = unit.source.path();
        let bytes = std::fs::read(&path).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        let source = decode(&bytes);
        let log = self.preprocessor.preprocess(&unit.source, None, true).map_err(|e| e.to_string())??;
        let log = String::from_utf8_lossy(&log);
        let origins = origins(&unit.map.text, &log, &source, &unit.source.file.to_string_lossy())?;
        let old = |f: &std::ffi::OsString| {
            matches!(
                &*f.to_string_lossy(),
                "-ansi" | "-std=c89" | "-std=c90" | "-std=gnu89" | "-std=gnu90" | "-std=c99" | "-std=gnu99"
            )
        };
        let newer = !unit.source.flags.iter().any(old);
        Ok(Text { unit, source, origins, newer })
    }

    /// The edits of one site and of those that share its patch, and the names that they bring.
    /// `taken`: names of other patches.
    fn one(
        &self,
        text: &Text,
        candidate: &Candidate,
        all: &[Candidate],
        taken: &[String],
    ) -> Result<(Vec<Edit>, Vec<String>), String> {
        if candidate.finding.place.file != text.unit.source.file.to_string_lossy() {
            return Err("it is in an included file, which other files may include too".into());
        }
        let (unit, source, origins) = (text.unit, &text.source, &text.origins);
        let plan = match (candidate.finding.verdict, &candidate.owner) {
            (Verdict::Caller, _) => {
                plan_callers(unit, source, origins, (all, &candidate.site.name), text.newer, taken)?
            }
            (Verdict::Embed, Some(_)) if candidate.site.entry.is_none() => {
                return Err("a helper makes the object: its interface would have to change".into());
            }
            (Verdict::Embed, Some(owner)) if owner.name.ends_with("[]") => {
                return Err("its owner is an element of an array, whose type would change".into());
            }
            (Verdict::Embed, Some(owner)) => {
                let (own, externals) = (self.own, self.externals);
                let cx = Context { program: &unit.program, table: &self.options.table, own, externals };
                plan_member(unit, source, origins, (all, owner), &uses(&cx, owner)?, taken)?
            }
            (Verdict::Embed, None) => return Err("what is listed would change, which is not known here".into()),
            _ => plan(unit, source, origins, candidate, text.newer, taken)?,
        };
        let alone = !matches!(candidate.finding.verdict, Verdict::Caller | Verdict::Embed);
        if Rule::OtherBranches.holds() {
            for other in all.iter().filter(|c| std::ptr::eq(*c, candidate) || candidate.shares_patch(c)) {
                self.other_branches(text, other)?;
            }
        }
        let edits: Vec<Edit> = plan.changes.iter().map(|c| c.edit.clone()).collect();
        let patched = self.compare(text, &plan, &edits)?;
        let after = self.analyse(unit, patched, alone.then_some(&candidate.finding.function))?;
        let count = |all: &[Candidate]| {
            let same = |c: &&Candidate| {
                c.finding.function == candidate.finding.function
                    && c.finding.variable == candidate.finding.variable
                    && c.finding.allocator == candidate.finding.allocator
            };
            all.iter().filter(same).count()
        };
        if count(&after) >= count(all) {
            return Err("the analysis of the patched text still finds the site".into());
        }
        let here = |c: &&Candidate| !alone || c.finding.function == candidate.finding.function;
        let leaks = |all: &[Candidate]| all.iter().filter(here).filter(|c| c.finding.reason.contains("leak")).count();
        if leaks(&after) > leaks(all) {
            return Err("the analysis of the patched text finds a leak".into());
        }
        Ok((edits, plan.names))
    }

    /// The preprocessed text of the patched file, if it differs in the planned tokens alone.
    fn compare(&self, text: &Text, plan: &Plan, edits: &[Edit]) -> Result<Vec<u8>, String> {
        // On the same lines, so that `__LINE__` does not differ.
        let level: Vec<Edit> = edits
            .iter()
            .map(|e| {
                let lines = text.source.get(e.lo..e.hi).unwrap_or("").matches('\n').count();
                Edit { text: e.text.replace('\n', " ") + &"\n".repeat(lines), ..e.clone() }
            })
            .collect();
        let patched = applied(&text.source, &level).ok_or("its places overlap")?;
        let output =
            self.preprocessor.preprocess(&text.unit.source, Some(&patched), false).map_err(|e| e.to_string())??;
        let new = String::from_utf8_lossy(&output).into_owned();
        let mut wanted: Vec<&str> = vec![];
        let mut at = 0;
        let spelled = |t: usize| text.origins.tokens.get(t).map_or("", |t| text.unit.map.snippet(t.span()));
        for change in &plan.changes {
            wanted.extend((at..change.lo).map(spelled));
            wanted.extend(change.expanded.iter().map(String::as_str));
            at = change.hi;
        }
        wanted.extend((at..text.origins.tokens.len()).map(spelled));
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
    fn analyse(&self, unit: &Unit, text: Vec<u8>, only: Option<&str>) -> Result<Vec<Candidate>, String> {
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
    fn other_branches(&self, text: &Text, candidate: &Candidate) -> Result<(), String> {
        let Some(body) = text.unit.program.bodies.get(candidate.body) else { return Ok(()) };
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
            (0..40).find_map(|n| text.origins.raw.get(token + n).copied().flatten())
        };
        let (Some(first), Some(last)) = (raw_at(body.span.lo), raw_at(body.end.lo)) else {
            return Err("a macro makes the function".into());
        };
        let used: std::collections::HashSet<usize> = text.origins.raw.iter().flatten().copied().collect();
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
            self.turned(text, candidate, token.lo)?;
        }
        Ok(())
    }

    /// Analyses the file with the branch that has the offset taken.
    fn turned(&self, text: &Text, candidate: &Candidate, at: usize) -> Result<(), String> {
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
        let output =
            self.preprocessor.preprocess(&text.unit.source, Some(&turned), false).map_err(|e| cannot(e.to_string()))?;
        let there = self.analyse(text.unit, output.map_err(cannot)?, None).map_err(cannot)?;
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
