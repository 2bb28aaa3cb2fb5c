//! The edits of `embed`: an object that one field has becomes a member of the field's owner.
//!
//! The field stays, and points at the member, so tests for null and accesses stay as they are. What
//! changes is the struct, which gets the member at its end, where the objects are made, and where
//! they are released. Every file that sees the struct must be among the parts: `members` checks all
//! uses in them. A helper that makes the object gets one parameter more, for the member; a function
//! that releases it and does more than that gets one that says that the object is a member.

use super::caller::Lent;
use super::interface::{change, definition, fresh, Interface, Part, Placed, Shared};
use super::*;
use crate::events::Kind;
use crate::follow::{follow, Seed};
use crate::members::Uses;
use mir::cfg::Cfg;
use std::collections::BTreeMap;

/// A field whose objects become members of its owners.
pub struct Member {
    /// `tag.field`, with `[]` for elements of an array.
    pub name: String,
    /// The uses in each part.
    pub uses: Vec<Uses>,
}

/// Why nothing is planned: for the member of that number, or for all of them.
pub type Refused = (Option<usize>, String);

/// The calls of a function that get another argument, by part and token of the name.
type Calls = Vec<(usize, usize, String)>;

/// The calls of a helper, and the least alignment of what they pass.
type Made = (Calls, u64);

/// What the structs, all sites and all releases of the fields become. `whole`: the parts are the
/// whole program.
///
/// Errors: why no safe patch is known.
pub fn plan_members(parts: &[Part], members: &[Member], whole: bool, taken: &[String]) -> Result<Shared, Refused> {
    let mut names = taken.to_vec();
    let mut shared = Shared::default();
    // Helpers, and functions that release with the number of the argument.
    let mut makers: BTreeMap<&str, Made> = BTreeMap::new();
    let mut ends: BTreeMap<(&str, usize), Calls> = BTreeMap::new();
    for (number, member) in members.iter().enumerate() {
        let refused = |why: String| (Some(number), why);
        let (tag, field) = member.field().map_err(refused)?;
        let name = fresh(parts, &format!("{field}_object"), &names).map_err(refused)?;
        shared.changes.extend(member.defined(parts, tag, field, &name).map_err(refused)?);
        names.push(name.clone());
        let (mut sites, mut stores) = (0, 0);
        for (n, part) in parts.iter().enumerate() {
            for candidate in part.candidates.iter().filter(|c| c.is_member_named(&member.name)) {
                sites += 1;
                let planner = part.planner(candidate, taken).map_err(refused)?;
                match planner.stored(field, &name).map_err(refused)? {
                    Stored::Changed(change) => shared.changes.push(Placed { part: n, file: 0, change }),
                    Stored::By(token, place) => {
                        let align = candidate.owner.as_ref().map_or(1, |o| o.align);
                        let made = makers.entry(&candidate.site.name).or_insert((vec![], align));
                        made.0.push((n, token, place));
                        made.1 = made.1.min(align);
                    }
                }
            }
            let Some(uses) = member.uses.get(n) else { continue };
            stores += uses.stores;
            let words = part.words(0, taken).map_err(refused)?;
            for &(_, span) in &uses.releases {
                let change = words.unreleased(span, field).map_err(refused)?;
                shared.changes.push(Placed { part: n, file: 0, change });
            }
            for end in &uses.ends {
                let (lo, hi) = words.bare(words.range(end.span));
                let arguments = words.arguments(lo, hi).map_err(refused)?;
                let (_, after) =
                    *arguments.get(end.argument).ok_or_else(|| refused("an argument is missing".into()))?;
                let plain = words.path(after, field).ok_or("it is not released by a plain name of its field");
                plain.map_err(|why| refused(why.into()))?;
                ends.entry((&end.callee, end.argument)).or_default().push((n, lo, "1".into()));
            }
        }
        if sites != stores && Rule::AllStores.holds() {
            return Err(refused(format!("`{}` also gets other objects", member.name)));
        }
    }
    let all = |why: String| (None, why);
    for (helper, given) in makers {
        let changes = made(parts, helper, given, whole, &mut names).map_err(all)?;
        shared.changes.extend(changes);
    }
    for ((callee, argument), given) in ends {
        let changes = ended(parts, (callee, argument), given, whole, &mut names).map_err(all)?;
        shared.changes.extend(changes);
    }
    shared.names = names.split_off(taken.len());
    Ok(shared)
}

/// The changes of a helper: it takes the member that it is given.
fn made(
    parts: &[Part],
    helper: &str,
    (given, align): Made,
    whole: bool,
    names: &mut Vec<String>,
) -> Tried<Vec<Placed>> {
    let (home, body) = definition(parts, helper, whole)?;
    let part = parts.get(home).ok_or("its file is gone")?;
    let sites: Vec<&Candidate> = part.candidates.iter().filter(|c| c.body == body && c.inside.is_some()).collect();
    let &[own] = sites.as_slice() else { return Err(format!("`{helper}` does not make the object by itself")) };
    if own.align > align {
        return Err(format!("`{helper}` uses it with a stricter alignment than that of its type"));
    }
    let pointer = fresh(parts, "member", names)?;
    names.push(pointer.clone());
    let parameters = format!("void *{pointer}");
    let (mut changes, others) = change(parts, &Interface { name: helper, parameters, none: "0", given })?;
    let lent = Lent { pointer, size: String::new() };
    let spares = others > 0 && Rule::AllCallers.holds();
    let change = part.planner(own, names)?.lent(helper, &lent, false, spares)?;
    changes.push(Placed { part: home, file: 0, change });
    Ok(changes)
}

/// The changes of a function that releases its argument and does more than that: it is told not to
/// release a member.
fn ended(
    parts: &[Part],
    (callee, argument): (&str, usize),
    given: Calls,
    whole: bool,
    names: &mut Vec<String>,
) -> Tried<Vec<Placed>> {
    let (home, body) = definition(parts, callee, whole)?;
    let part = parts.get(home).ok_or("its file is gone")?;
    let body = part.unit.program.bodies.get(body).ok_or("its body is gone")?;
    let cannot = || format!("`{callee}` releases it in a way that cannot be taken out");
    let number = u32::try_from(argument).map_err(|_| cannot())?;
    let events = follow(part.cx, body, &Cfg::new(body), Seed::Param(number));
    let mut frees: Vec<Span> = vec![];
    for (_, event) in &events.all {
        match &event.kind {
            Kind::Freed(None) if !frees.contains(&event.span) => frees.push(event.span),
            Kind::Freed(Some(_)) => return Err(cannot()),
            _ => {}
        }
    }
    // A release that may get something else, too.
    let mixed = events.all.iter().any(|(_, e)| e.kind == Kind::OtherFreed && frees.contains(&e.span));
    if events.full || frees.is_empty() || mixed && Rule::OtherFreed.holds() {
        return Err(cannot());
    }
    let flag = fresh(parts, "is_member", names)?;
    names.push(flag.clone());
    let parameters = format!("int {flag}");
    let (mut changes, _) = change(parts, &Interface { name: callee, parameters, none: "0", given })?;
    let words = part.words(0, names)?;
    let words = Words { locals: &body.locals, ..words };
    for span in frees {
        let test = |_, _| Ok(Some(Fragment::text(&format!("!{flag}"))));
        changes.push(Placed { part: home, file: 0, change: words.conditional((span, 0), &test)? });
    }
    Ok(changes)
}

impl Member {
    /// Tag and field of the owner.
    fn field(&self) -> Tried<(&str, &str)> {
        let (tag, field) = self.name.split_once('.').ok_or("its owner has no name")?;
        Ok((tag, field.trim_end_matches("[]")))
    }

    /// The struct with the new member, in each part that has it: all see the same definition.
    fn defined(&self, parts: &[Part], tag: &str, field: &str, name: &str) -> Tried<Vec<Placed>> {
        let mut changes = vec![];
        let mut home = None;
        for (n, part) in parts.iter().enumerate() {
            let words = part.words(0, &[])?;
            let defines = |t: usize| matches!((words.spelled(t), words.spelled(t + 1), words.spelled(t + 2)), ("struct", w, "{") if w == tag);
            let found: Vec<usize> = (0..words.origins.tokens.len()).filter(|&t| defines(t)).collect();
            let at = match found.as_slice() {
                [] => continue,
                &[at] => at,
                _ => return Err(format!("`struct {tag}` is defined twice")),
            };
            let close = words.closing(at + 2).ok_or("the struct has no end")?;
            let written = |file: &Text| file.origins.raw(at + 2).is_some() && file.origins.raw(close).is_some();
            let file = part.files.iter().position(written);
            let elsewhere = || format!("`struct {tag}` is defined in another file, whose other users are not seen");
            let file = file.ok_or_else(elsewhere)?;
            let path = part.files.get(file).map(|f| f.key.clone());
            if home.is_some() && home != path {
                return Err(format!("`struct {tag}` is defined twice"));
            }
            home = path;
            let elements = self.name.ends_with("[]");
            let change = part.words(file, &[])?.member((at + 2, close), field, name, elements)?;
            changes.push(Placed { part: n, file, change });
        }
        for part in parts {
            for file in 0..part.files.len() {
                part.words(file, &[])?.all_seen(field)?;
            }
        }
        match home {
            Some(_) => Ok(changes),
            None => Err(format!("`struct {tag}` is defined by a macro")),
        }
    }
}

/// What the store of an object in its field becomes.
enum Stored {
    /// The member instead of an object of the heap.
    Changed(Change),
    /// The helper whose name is this token is given this pointer.
    By(usize, String),
}

impl Words<'_> {
    /// The member, at the end of the struct whose braces are these tokens. `elements`: one for each
    /// element of the field.
    fn member(&self, (open, close): (usize, usize), field: &str, member: &str, elements: bool) -> Tried<Change> {
        let raw = |t: usize| self.raw_of(t).and_then(|n| self.origins.file.tokens.get(n));
        let odd = || format!("the declaration of `{field}` is not of the simple form");
        let end = raw(close).ok_or_else(odd)?;
        let after = if elements { "[" } else { ";" };
        let named = |&t: &usize| self.spelled(t) == field && self.spelled(t + 1) == after;
        let name = (open + 1..close).find(named).ok_or_else(odd)?;
        if self.spelled(name - 1) != "*" {
            return Err(odd());
        }
        let start = (open..name).rev().find(|&t| matches!(self.spelled(t), ";" | "{" | "}")).ok_or_else(odd)? + 1;
        let mut text = Fragment::default();
        for t in start..name - 1 {
            let word = self.spelled(t);
            if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                return Err(odd());
            }
            if !matches!(word, "const" | "volatile" | "restrict") {
                text = text.then(&self.copied(t, t + 1)?).and(" ");
            }
        }
        let mut text = text.and(member);
        if elements {
            let bracket = self.closing(name + 1).filter(|&t| self.spelled(t + 1) == ";").ok_or_else(odd)?;
            if bracket == name + 2 {
                return Err(odd());
            }
            text = text.then(&self.copied(name + 1, bracket + 1)?);
        }
        let text = text.and(";");
        let from = raw(name).ok_or_else(odd)?.lo;
        let (lo, written) = match self.starts_line(end.lo) {
            true => (end.lo - self.indent(end.lo).len(), format!("{}{}\n", self.indent(from), text.raw)),
            false => (end.lo, format!("{} ", text.raw)),
        };
        let edit = Edit { lo, hi: lo, text: written };
        Ok(Change { lo: close, hi: close, expanded: text.expanded, edit })
    }

    /// A release of what the field has becomes nothing.
    fn unreleased(&self, span: Span, field: &str) -> Tried<Change> {
        let (lo, hi) = self.bare(self.range(span));
        let &[(_, end)] = self.arguments(lo, hi)?.as_slice() else {
            return Err("a release takes more than the object".into());
        };
        self.path(end, field).ok_or("it is not released by a plain name of its field")?;
        self.conditional((span, 0), &|_, _| Ok(None))
    }

    /// The first token of `name->name[i].field` or `(expression)->field[i]` that ends before `end`,
    /// and that of the field.
    fn path(&self, end: usize, field: &str) -> Option<(usize, usize)> {
        let mut named = end.checked_sub(1)?;
        if self.spelled(named) == "]" {
            named = self.opening(named)?.checked_sub(1)?;
        }
        (self.spelled(named) == field && matches!(self.spelled(named.checked_sub(1)?), "->" | ".")).then_some(())?;
        let mut at = named;
        loop {
            if self.spelled(at) == "]" {
                at = self.opening(at)?.checked_sub(1)?;
                continue;
            }
            if self.spelled(at) == ")" {
                // `(*all)->field`, but no call.
                at = self.opening(at)?;
                let before = at.checked_sub(1).map_or("", |t| self.spelled(t));
                let is_operator = !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']'));
                return is_operator.then_some((at, named));
            }
            self.spelled(at).starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(())?;
            match at.checked_sub(1).map(|t| self.spelled(t)) {
                Some("->" | ".") => at = at.checked_sub(2)?,
                _ => return Some((at, named)),
            }
        }
    }
}

impl Planner<'_> {
    /// The store of an object in its field: `o->list = malloc(sizeof *o->list)`.
    fn stored(&self, field: &str, member: &str) -> Tried<Stored> {
        let (lo, hi) = self.bare(self.range(self.candidate.site.span));
        let arguments = self.arguments(lo, hi)?;
        let owner = self.candidate.owner.as_ref().ok_or("its owner is gone")?;
        if self.candidate.finding.bytes != (Some(owner.size), Some(owner.size)) {
            return Err("its size is not that of its type".into());
        }
        if self.candidate.align > owner.align {
            return Err("it is used with a stricter alignment than that of its type".into());
        }
        // Back over casts and parentheses to what is set.
        let mut at = lo;
        let assigned = loop {
            at = at.checked_sub(1).ok_or("nothing is set to the object")?;
            match self.spelled(at) {
                "(" => {}
                ")" => at = self.opening(at).ok_or("the parentheses do not match")?,
                "=" => break at,
                _ => return Err("a variable has the object first".into()),
            }
        };
        let plain = || "the object is not stored by a plain name of its field".to_string();
        let (start, named) = self.path(assigned, field).ok_or_else(plain)?;
        let before = if start > 0 { self.spelled(start - 1) } else { "" };
        if matches!(before, "*" | "&" | "++" | "--") || !self.is_pure(start, assigned) {
            return Err(plain());
        }
        let mut place = self.copied(start, named)?.and(member);
        if named + 1 < assigned {
            place = place.then(&self.copied(named + 1, assigned)?);
        }
        let target = Fragment::text("&").then(&place);
        let pure = arguments.iter().all(|&(a, b)| self.is_pure(a, b));
        let Some(entry) = self.candidate.site.entry else {
            // The member's address is computed before the helper runs, the field's perhaps after.
            let name = self.spelled(start);
            let stays = |l: &LocalDecl| l.name.is_some_and(|n| n.as_str() == name) && !l.address_taken;
            let is_global = self.unit.program.globals.iter().any(|g| g.name.as_str() == name);
            let fixed = named == start + 2 && self.locals.iter().any(stays) && !is_global && pure;
            return match fixed || !Rule::OwnerStays.holds() {
                true => Ok(Stored::By(lo, target.raw)),
                false => Err("the owner may be another one after the helper has run".into()),
            };
        };
        if !pure {
            return Err("its size has effects, which would be lost".into());
        }
        let value = match entry.role {
            Role::Allocate { .. } => target,
            Role::Zeroed { .. } => {
                self.needs("memset")?;
                Fragment::text("memset(").then(&target).and(", 0, sizeof ").then(&place).and(")")
            }
            _ => return Err("it is a copy of a string".into()),
        };
        let (from, to) = self.extent(lo, hi)?;
        let edit = Edit { lo: from, hi: to, text: value.raw };
        Ok(Stored::Changed(Change { lo, hi, expanded: value.expanded, edit }))
    }
}
