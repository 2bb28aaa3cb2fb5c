//! The edits of `embed`: an object that one field has becomes a member of the field's owner.
//!
//! The field stays, and points at the member, so tests for null and accesses stay as they are. What
//! changes is the struct, which gets the member at its end, where the objects are made, and where
//! they are released. The struct must be defined in the file itself, so that all of its uses are
//! seen; `members` checks those.

use super::*;
use crate::members::Uses;

/// What the struct and all sites and releases of the field become.
///
/// Errors: why no safe patch is known.
pub fn plan_member(
    unit: &Unit,
    source: &str,
    origins: &Origins,
    (all, owner): (&[Candidate], &Owner),
    uses: &Uses,
    taken: &[String],
) -> Tried<Plan> {
    let sites: Vec<&Candidate> = all.iter().filter(|c| c.is_member_of(owner)).collect();
    if sites.len() != uses.stores && Rule::AllStores.holds() {
        return Err(format!("`{}` also gets other objects", owner.name));
    }
    let first = sites.first().ok_or("the site is gone")?;
    let (tag, field) = owner.name.split_once('.').ok_or("its owner has no name")?;
    let own = Planner::new(unit, source, origins, first, taken)?;
    let member = own.fresh_named(&format!("{field}_object"));
    let mut changes = vec![own.member(tag, field, &member)?];
    own.all_seen(field)?;
    for site in &sites {
        changes.push(Planner::new(unit, source, origins, site, taken)?.embedded(field, &member, owner)?);
    }
    for &(body, span) in &uses.releases {
        let there = Candidate { body, ..(*first).clone() };
        changes.push(Planner::new(unit, source, origins, &there, taken)?.unreleased(span, field)?);
    }
    ordered(changes, vec![member])
}

impl Planner<'_> {
    /// The member, at the end of the struct.
    fn member(&self, tag: &str, field: &str, member: &str) -> Tried<Change> {
        let all = self.origins.tokens.len();
        let defines =
            |&t: &usize| self.spelled(t) == "struct" && self.spelled(t + 1) == tag && self.spelled(t + 2) == "{";
        let found: Vec<usize> = (0..all).filter(defines).collect();
        let &[at] = found.as_slice() else { return Err(format!("`struct {tag}` is defined by a macro or twice")) };
        let close = self.closing(at + 2).ok_or("the struct has no end")?;
        let raw = |t: usize| self.raw_of(t).and_then(|n| self.origins.file.tokens.get(n));
        let elsewhere = || format!("`struct {tag}` is defined in another file, whose other users are not seen");
        let end = raw(close).ok_or_else(elsewhere)?;
        raw(at + 2).ok_or_else(elsewhere)?;
        let odd = || format!("the declaration of `{field}` is not of the simple form");
        let name = (at + 3..close).find(|&t| self.spelled(t) == field && self.spelled(t + 1) == ";").ok_or_else(odd)?;
        if self.spelled(name - 1) != "*" {
            return Err(odd());
        }
        let start = (at + 2..name).rev().find(|&t| matches!(self.spelled(t), ";" | "{" | "}")).ok_or_else(odd)? + 1;
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
        let text = text.and(&format!("{member};"));
        let from = raw(name).ok_or_else(odd)?.lo;
        let (lo, written) = match self.starts_line(end.lo) {
            true => (end.lo - self.indent(end.lo).len(), format!("{}{}\n", self.indent(from), text.raw)),
            false => (end.lo, format!("{} ", text.raw)),
        };
        let edit = Edit { lo, hi: lo, text: written };
        Ok(Change { lo: close, hi: close, expanded: text.expanded, edit })
    }

    /// The member instead of an object of the heap: `&o->list_object` where `o->list` is set.
    fn embedded(&self, field: &str, member: &str, owner: &Owner) -> Tried<Change> {
        let entry = self.candidate.site.entry.ok_or("a helper makes the object: its interface would have to change")?;
        let (lo, hi) = self.bare(self.range(self.candidate.site.span));
        let arguments = self.arguments(lo, hi)?;
        if !arguments.iter().all(|&(a, b)| self.is_pure(a, b)) {
            return Err("its size has effects, which would be lost".into());
        }
        if self.candidate.finding.bytes != (Some(owner.size), Some(owner.size)) {
            return Err("its size is not that of its type".into());
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
        let start = self.path(assigned, field).ok_or("the object is not stored by a plain name of its field")?;
        let before = if start > 0 { self.spelled(start - 1) } else { "" };
        if matches!(before, "*" | "&" | "++" | "--") || !self.is_pure(start, assigned) {
            return Err("the object is not stored by a plain name of its field".into());
        }
        let place = self.copied(start, assigned - 1)?.and(member);
        let target = Fragment::text("&").then(&place);
        let value = match entry.role {
            Role::Allocate { .. } => target,
            Role::Zeroed { .. } => {
                self.needs("memset")?;
                Fragment::text("memset(").then(&target).and(", 0, sizeof ").then(&place).and(")")
            }
            _ => return Err("it is a copy of a string".into()),
        };
        let (from, to) = self.extent(lo, hi)?;
        Ok(Change { lo, hi, expanded: value.expanded, edit: Edit { lo: from, hi: to, text: value.raw } })
    }

    /// A release of what the field has becomes nothing.
    fn unreleased(&self, span: Span, field: &str) -> Tried<Change> {
        let (lo, hi) = self.bare(self.range(span));
        let (_, end) = *self.arguments(lo, hi)?.last().ok_or("a release has no argument")?;
        self.path(end, field).ok_or("it is not released by a plain name of its field")?;
        self.release(span, false, &Buffer::default())
    }

    /// The first token of `name->name[i].field` that ends before `end`.
    fn path(&self, end: usize, field: &str) -> Option<usize> {
        let mut at = end.checked_sub(1)?;
        (self.spelled(at) == field && matches!(self.spelled(at.checked_sub(1)?), "->" | ".")).then_some(())?;
        loop {
            if self.spelled(at) == "]" {
                at = self.opening(at)?.checked_sub(1)?;
                continue;
            }
            self.spelled(at).starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(())?;
            match at.checked_sub(1).map(|t| self.spelled(t)) {
                Some("->" | ".") => at = at.checked_sub(2)?,
                _ => return Some(at),
            }
        }
    }
}
