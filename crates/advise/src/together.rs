//! Patches that change several sites at once: all calls of a helper, and all objects of a field; in
//! one unit, or in all units of a program and their headers.

use crate::edits::{Edit, FileEdits, Patch};
use crate::finding::{Finding, Verdict};
use crate::members::{uses, Uses};
use crate::patches::{alike, leaks, Changed, Patcher, Read};
use crate::plan::{apart, plan_callers, plan_members, Change, Member, Part, Shared};
use crate::program::{Context, Externals};
use crate::rules::Rule;
use crate::verdict::{Candidate, Owner};
use mir::ir::{Local, Program};
use std::collections::BTreeMap;
use std::path::PathBuf;
use typing::types::Ty;

/// A unit with its sites.
pub struct Whole<'a> {
    /// What patches are made with.
    pub patcher: &'a Patcher<'a>,
    /// Its files.
    pub read: Read<'a>,
    /// Its sites.
    pub candidates: &'a [Candidate],
}

/// What becomes of a site.
pub enum Told {
    /// It has the patch, which is proven or not.
    Patch(Patch, bool),
    /// It has none, or another site has it.
    Without(String),
}

impl Told {
    /// Puts it into the finding.
    pub fn tell(self, finding: &mut Finding) {
        match self {
            Told::Patch(patch, proven) => {
                finding.proven = proven;
                finding.patch = Some(patch);
                finding.no_patch = None;
            }
            Told::Without(why) => finding.no_patch = Some(why),
        }
    }
}

/// A site: its unit and its number there.
type Place = (usize, usize);

/// What a patch becomes of.
enum Job {
    Caller(String),
    Members(Vec<Member>),
}

/// The words that a file has in which sites of the candidates would change something: names of
/// helpers, of what releases, and of structs.
pub fn words(all: &[(&Context, &[Candidate])]) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    for candidate in all.iter().flat_map(|(_, candidates)| *candidates) {
        match (candidate.finding.verdict, &candidate.owner) {
            (Verdict::Caller, _) => words.push(candidate.site.name.clone()),
            (Verdict::Embed, Some(owner)) => {
                words.extend(owner.name.split_once('.').map(|(tag, _)| tag.to_string()));
                if candidate.site.entry.is_none() {
                    words.push(candidate.site.name.clone());
                }
                for (cx, _) in all {
                    let found = owner_in(cx.program, owner).and_then(|o| uses(cx, &o).ok());
                    words.extend(found.into_iter().flat_map(|u| u.ends).map(|e| e.callee));
                }
            }
            _ => {}
        }
    }
    words.sort();
    words.dedup();
    words
}

/// The patches of all objects of helpers and of fields in the units. `whole`: they are the whole
/// program. `taken`: names of other patches.
pub fn together(all: &[Whole], whole: bool, mut taken: Vec<String>) -> Vec<(usize, usize, Told)> {
    let contexts: Vec<Context> = all.iter().map(|w| w.patcher.context(w.read.unit)).collect();
    let part = |(w, cx)| Part::of(w, cx);
    let parts: Vec<Part> = all.iter().zip(&contexts).map(part).collect();
    let mut told = vec![];
    for job in jobs(&parts, &mut told) {
        let (places, made) = match job {
            Job::Caller(helper) => {
                let places = places(&parts, |c| c.calls_helper(&helper));
                let made = plan_callers(&parts, &helper, whole, &taken);
                let made = made.and_then(|shared| Ok((checked(all, &parts, &shared, &places, &[&helper])?, shared)));
                (places, made)
            }
            Job::Members(members) => of_members(all, &parts, members, whole, &taken, &mut told),
        };
        match made {
            Ok((files, shared)) => {
                taken.extend(shared.names);
                let proven = candidates(&parts, &places).all(|c| c.finding.proven);
                let first = candidates(&parts, &places).next().map(|c| &c.finding.place);
                let line = first.map_or(String::new(), |p| match all.len() {
                    1 => format!("the patch of line {} changes this, too", p.line),
                    _ => format!("the patch of {}:{} changes this, too", p.file, p.line),
                });
                let mut patch = Some(Patch { files });
                told.extend(places.into_iter().map(|(n, m)| match patch.take() {
                    Some(patch) => (n, m, Told::Patch(patch, proven)),
                    None => (n, m, Told::Without(line.clone())),
                }));
            }
            Err(why) => told.extend(places.into_iter().map(|(n, m)| (n, m, Told::Without(why.clone())))),
        }
    }
    told
}

/// Sites for which something holds.
fn places(parts: &[Part], wanted: impl Fn(&Candidate) -> bool) -> Vec<Place> {
    let of = |(n, part): (usize, &Part)| {
        let found = part.candidates.iter().enumerate().filter(|(_, c)| wanted(c));
        found.map(|(m, _)| (n, m)).collect::<Vec<Place>>()
    };
    parts.iter().enumerate().flat_map(of).collect()
}

fn candidates<'a>(parts: &'a [Part<'a>], places: &'a [Place]) -> impl Iterator<Item = &'a Candidate> {
    places.iter().filter_map(|&(n, m)| parts.get(n)?.candidates.get(m))
}

/// What is to be tried. Fields of which it is known already that they cannot be patched are told.
fn jobs(parts: &[Part], told: &mut Vec<(usize, usize, Told)>) -> Vec<Job> {
    let mut helpers: Vec<&str> = vec![];
    let mut owners: BTreeMap<&str, &Owner> = BTreeMap::new();
    for candidate in parts.iter().flat_map(|p| p.candidates) {
        match (candidate.finding.verdict, &candidate.owner) {
            (Verdict::Caller, _) if !helpers.contains(&candidate.site.name.as_str()) => {
                helpers.push(&candidate.site.name);
            }
            (Verdict::Embed, Some(owner)) => {
                owners.entry(&owner.name).or_insert(owner);
            }
            _ => {}
        }
    }
    let unknown = "what is listed would change, which is not known here";
    let listed = places(parts, |c| c.finding.verdict == Verdict::Embed && c.owner.is_none());
    told.extend(listed.into_iter().map(|(n, m)| (n, m, Told::Without(unknown.to_string()))));
    let mut groups: Vec<(Vec<String>, Vec<Member>)> = vec![];
    for (name, owner) in owners {
        let here = |part: &Part| match owner_in(part.cx.program, owner) {
            Some(owner) if is_of_a_number(part, &owner) && Rule::OwnerSize.holds() => {
                Err("an owner is allocated with a number for its size, which would not grow".into())
            }
            Some(owner) => uses(part.cx, &owner),
            None => Ok(Uses::default()),
        };
        let found: Result<Vec<Uses>, String> = parts.iter().map(here).collect();
        let uses = match found {
            Ok(uses) => uses,
            Err(why) => {
                let places = places(parts, |c| c.is_member_named(name));
                told.extend(places.into_iter().map(|(n, m)| (n, m, Told::Without(why.clone()))));
                continue;
            }
        };
        // Fields that share a function whose interface changes go together.
        let made = parts.iter().flat_map(|p| p.candidates).filter(|c| c.is_member_named(name));
        let made = made.filter(|c| c.site.entry.is_none()).map(|c| c.site.name.clone());
        let mut functions: Vec<String> = made.collect();
        functions.extend(uses.iter().flat_map(|u| &u.ends).map(|e| e.callee.clone()));
        let mut members = vec![Member { name: name.to_string(), uses }];
        let mut others = vec![];
        for (theirs, group) in groups {
            if theirs.iter().any(|f| functions.contains(f)) {
                functions.extend(theirs);
                members.extend(group);
            } else {
                others.push((theirs, group));
            }
        }
        groups = others;
        groups.push((functions, members));
    }
    // A helper whose interface changes for members keeps that one.
    let changed = |helper: &&str| groups.iter().any(|(functions, _)| functions.iter().any(|f| f == helper));
    let (busy, free): (Vec<&str>, Vec<&str>) = helpers.into_iter().partition(changed);
    for helper in busy {
        let why = format!("`{helper}` also makes objects of fields");
        let places = places(parts, |c| c.calls_helper(helper));
        told.extend(places.into_iter().map(|(n, m)| (n, m, Told::Without(why.clone()))));
    }
    let members = groups.into_iter().map(|(_, members)| Job::Members(members));
    free.into_iter().map(|h| Job::Caller(h.to_string())).chain(members).collect()
}

/// The owner with its type in another unit, if that has the type.
fn owner_in(program: &Program, owner: &Owner) -> Option<Owner> {
    let (tag, _) = owner.name.split_once('.')?;
    let types = &program.types;
    let named = |ty: &Ty| {
        let record = types.as_record(*ty).map(|r| types.record(r));
        record.is_some_and(|r| r.fields.is_some() && r.tag.is_some_and(|t| t.as_str() == tag))
    };
    Some(Owner { ty: types.all().find(named)?, ..owner.clone() })
}

/// Whether an owner is allocated with a size that is written as a number.
fn is_of_a_number(part: &Part, owner: &Owner) -> bool {
    let program = part.cx.program;
    part.candidates.iter().any(|candidate| {
        let body = program.bodies.get(candidate.body);
        let holds = |local: &Local| {
            let ty = body.and_then(|b| b.locals.get(local.0 as usize)).map(|d| d.ty.ty);
            ty.and_then(|ty| program.types.as_pointer(ty)).is_some_and(|p| p.target.ty == owner.ty)
        };
        let (least, most) = candidate.finding.bytes;
        let number = most.is_some() && least == most && !candidate.finding.size.contains("sizeof");
        number && candidate.site.entry.is_some() && candidate.holders.iter().any(holds)
    })
}

type Made = Result<(Vec<FileEdits>, Shared), String>;

/// The patch of fields that go together. A field that cannot be patched is told and left out.
fn of_members(
    all: &[Whole],
    parts: &[Part],
    mut members: Vec<Member>,
    whole: bool,
    taken: &[String],
    told: &mut Vec<(usize, usize, Told)>,
) -> (Vec<Place>, Made) {
    loop {
        let places = places(parts, |c| members.iter().any(|m| c.is_member_named(&m.name)));
        match plan_members(parts, &members, whole, taken) {
            Ok(shared) => {
                let made = candidates(parts, &places).filter(|c| c.site.entry.is_none()).map(|c| c.site.name.as_str());
                let ends = members.iter().flat_map(|m| &m.uses).flat_map(|u| &u.ends).map(|e| e.callee.as_str());
                let changed: Vec<&str> = made.chain(ends).collect();
                let made = checked(all, parts, &shared, &places, &changed);
                return (places, made.map(|files| (files, shared)));
            }
            Err((Some(n), why)) if members.len() > 1 && n < members.len() => {
                let left = members.remove(n);
                let lost = places.into_iter().filter(|p| {
                    let own = std::slice::from_ref(p);
                    candidates(parts, own).any(|c| c.is_member_named(&left.name))
                });
                told.extend(lost.map(|(n, m)| (n, m, Told::Without(why.clone()))));
            }
            Err((_, why)) => return (places, Err(why)),
        }
    }
}

/// The edits of all files, if they give what was planned in every unit. `changed`: functions whose
/// interface changes, so that their summaries no longer hold.
fn checked(
    all: &[Whole],
    parts: &[Part],
    shared: &Shared,
    places: &[Place],
    changed: &[&str],
) -> Result<Vec<FileEdits>, String> {
    if Rule::OtherBranches.holds() {
        for &(n, m) in places {
            let (Some(w), Some(candidate)) = (all.get(n), all.get(n).and_then(|w| w.candidates.get(m))) else {
                continue;
            };
            w.patcher.other_branches(&w.read, candidate)?;
        }
    }
    // By file: its name, its text and its edits, which are the same wherever it is included.
    let mut files: BTreeMap<&PathBuf, (&PathBuf, &str, Vec<Edit>)> = BTreeMap::new();
    let mut by_part: Vec<Vec<Change>> = parts.iter().map(|_| vec![]).collect();
    for (n, part) in parts.iter().enumerate() {
        for (m, file) in part.files.iter().enumerate() {
            let own = shared.changes.iter().filter(|c| (c.part, c.file) == (n, m)).map(|c| c.change.clone());
            let own = apart(own.collect())?;
            if own.is_empty() {
                continue;
            }
            let edits: Vec<Edit> = own.iter().map(|c| c.edit.clone()).collect();
            let known = files.entry(&file.key).or_insert_with(|| (&file.path, &file.source, edits.clone()));
            if known.2 != edits {
                return Err(format!("files that include {} see different things in it", file.path.display()));
            }
            if let Some(slot) = by_part.get_mut(n) {
                slot.extend(own);
            }
        }
    }
    let texts: Vec<Changed> = files.values().map(|(path, source, edits)| Changed { path, source, edits }).collect();
    for (n, (w, changes)) in all.iter().zip(by_part).enumerate() {
        if changes.is_empty() {
            continue;
        }
        let mut changes = changes;
        changes.sort_by(|a, b| (a.lo, a.hi, &a.edit).cmp(&(b.lo, b.hi, &b.edit)));
        let output = w.patcher.compare(&w.read, &changes, &texts)?;
        let mut externals: Externals = w.patcher.externals.clone();
        externals.retain(|name, _| !changed.contains(&name.as_str()));
        let patcher = Patcher { externals: &externals, ..*w.patcher };
        let after = patcher.analyse(w.read.unit, output, None)?;
        let own = places.iter().filter(|p| p.0 == n).filter_map(|p| w.candidates.get(p.1));
        for candidate in own {
            if alike(&after, candidate) >= alike(w.candidates, candidate) {
                return Err("the analysis of the patched text still finds the site".into());
            }
        }
        if leaks(&after, |_| true) > leaks(w.candidates, |_| true) {
            return Err("the analysis of the patched text finds a leak".into());
        }
    }
    Ok(files.into_values().map(|(path, _, edits)| FileEdits { file: path.clone(), edits }).collect())
}

impl<'a> Part<'a> {
    fn of(whole: &'a Whole, cx: &'a Context<'a>) -> Part<'a> {
        let Read { unit, files, newer } = &whole.read;
        Part { unit, cx, candidates: whole.candidates, files, newer: *newer }
    }
}
