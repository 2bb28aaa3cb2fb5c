//! The edits of `caller`: a helper takes the memory of its caller instead of asking the heap.
//!
//! The helper gets one parameter more, and a second one, the size of the buffer, unless every
//! object surely fits. So all its declarations and calls change at once, and every one of them must
//! be seen: the helper is internal or the files are the whole program, and each place that names it
//! is its definition, a declaration, or a call. A call whose object is not freed by the function
//! that calls passes null, and gets an object of the heap as before.

use super::interface::{change, definition, fresh, Interface, Part, Placed, Shared};
use super::*;
use crate::program::{is_internal, symbol};

/// What the site of a helper and all its calls become. `whole`: the parts are the whole program.
///
/// Errors: why no safe patch is known.
pub fn plan_callers(parts: &[Part], helper: &str, whole: bool, taken: &[String]) -> Tried<Shared> {
    let (home, body) = definition(parts, helper, whole)?;
    let mut calls: Vec<(usize, &Candidate)> = vec![];
    let mut all = 0;
    for (n, part) in parts.iter().enumerate() {
        let program = &part.unit.program;
        let of_this_name = |f: &&typing::tree::FuncRef| symbol(program, f).as_deref() == Some(helper);
        let called = program.bodies.iter().flat_map(|b| &b.blocks).flat_map(|b| &b.stmts);
        let called: Vec<_> = called.filter_map(|s| s.kind.called()).filter(of_this_name).collect();
        if n != home && called.iter().any(|f| is_internal(program, f)) {
            return Err(format!("`{helper}` is another function elsewhere"));
        }
        all += called.len();
        calls.extend(part.candidates.iter().filter(|c| c.calls_helper(helper)).map(|c| (n, c)));
    }
    let others = all.checked_sub(calls.len()).ok_or("its calls are not all seen")?;
    let at_home = parts.get(home).ok_or("its file is gone")?;
    let made: Vec<&Candidate> = at_home.candidates.iter().filter(|c| c.body == body && c.inside.is_some()).collect();
    let &[own] = made.as_slice() else {
        return Err(format!("`{helper}` does not make the object by itself"));
    };
    let base = format!("{}_buffer", own.finding.variable.as_deref().unwrap_or("object"));
    let mut names = taken.to_vec();
    let lent = Lent { pointer: fresh(parts, &base, &names)?, size: fresh(parts, "buffer_size", &names)? };
    let sized = !calls.iter().all(|(_, c)| always_fits(c)) && Rule::Told.holds();
    names.push(lent.pointer.clone());
    if sized {
        names.push(lent.size.clone());
    }
    let spares_none = others > 0 && Rule::AllCallers.holds();
    let value = at_home.planner(own, taken)?.lent(helper, &lent, sized, spares_none)?;
    let mut shared = Shared { changes: vec![Placed { part: home, file: 0, change: value }], names: vec![] };
    let mut given = vec![];
    for &(n, call) in &calls {
        let mut candidate = call.clone();
        candidate.align = candidate.align.max(own.align);
        let part = parts.get(n).ok_or("its file is gone")?;
        let made = part.planner(&candidate, &names)?.call(part.newer, sized)?;
        shared.changes.extend(made.changes.into_iter().map(|change| Placed { part: n, file: 0, change }));
        given.push((n, made.callee, made.arguments));
        names.push(made.name);
    }
    let (parameters, none) = match sized {
        true => (format!("void *{}, unsigned long {}", lent.pointer, lent.size), "0, 0"),
        false => (format!("void *{}", lent.pointer), "0"),
    };
    let (changes, found) = change(parts, &Interface { name: helper, parameters, none, given })?;
    if found != others {
        return Err(format!("`{helper}` is used in other ways than by calls"));
    }
    shared.changes.extend(changes);
    shared.names = names.split_off(taken.len());
    Ok(shared)
}

/// Whether the buffer that a call of a helper passes has room for every object.
pub(super) fn always_fits(call: &Candidate) -> bool {
    call.finding.bytes.1.is_some_and(|n| n.max(1) <= call.finding.stack)
}

/// Names of the parameters that a helper gets.
pub(super) struct Lent {
    /// The buffer.
    pub(super) pointer: String,
    /// Its size in bytes.
    pub(super) size: String,
}

/// The changes of a call but for its arguments.
struct Called {
    changes: Vec<Change>,
    /// The token that names the helper.
    callee: usize,
    /// What is passed.
    arguments: String,
    /// The buffer's name.
    name: String,
}

impl Planner<'_> {
    /// The site of a helper: the memory that it was lent instead of the heap. `sized`: while the
    /// object fits. `spares`: some calls lend none.
    pub(super) fn lent(&self, helper: &str, lent: &Lent, sized: bool, spares: bool) -> Tried<Change> {
        let parameter = &lent.pointer;
        let entry =
            self.candidate.site.entry.ok_or_else(|| format!("`{helper}` does not make the object by itself"))?;
        self.zero_is_kept(entry)?;
        let (lo, hi) = self.bare(self.range(self.candidate.site.span));
        let arguments = self.arguments(lo, hi)?;
        if !arguments.iter().all(|&(a, b)| self.is_pure(a, b)) {
            return Err("its size has effects, which would be lost".into());
        }
        let value = match entry.role {
            _ if sized => {
                // Without a buffer, its size of 0 would be enough for an object of 0 bytes.
                let guard = if spares { format!("{parameter} && ") } else { String::new() };
                let buffer = Buffer {
                    name: parameter.clone(),
                    declaration: Fragment::default(),
                    pointer: parameter.clone(),
                    capacity: lent.size.clone(),
                    fixed: false,
                    guard,
                    cast: false,
                };
                self.value(entry.role, &arguments, &buffer, self.copied(lo, hi))?
            }
            Role::Allocate { .. } => Fragment::text(parameter),
            Role::Zeroed { count, size } => {
                self.needs("memset")?;
                let mut value = Fragment::text(&format!("memset({parameter}, 0, "));
                let factors = if count == size { vec![size] } else { vec![count, size] };
                for (n, factor) in factors.into_iter().enumerate() {
                    let &(a, b) = arguments.get(factor as usize).ok_or("an argument is missing")?;
                    value = value.and(if n > 0 { " * (" } else { "(" }).then(&self.copied(a, b)?).and(")");
                }
                value.and(")")
            }
            _ => return Err(format!("`{helper}` makes a copy of a string")),
        };
        let value = match spares && !sized {
            true => {
                let test = Fragment::text(&format!("({parameter} ? ")).then(&value);
                test.and(" : ").then(&self.copied(lo, hi)?).and(")")
            }
            false => value,
        };
        let (from, to) = self.extent(lo, hi)?;
        let edit = Edit { lo: from, hi: to, text: value.raw };
        Ok(Change { lo, hi, expanded: value.expanded, edit })
    }

    /// The changes of one call: a buffer is declared, and what is not in the heap any more is not
    /// released.
    fn call(&self, newer: bool, sized: bool) -> Tried<Called> {
        let (lo, hi) = self.bare(self.range(self.candidate.site.span));
        self.arguments(lo, hi)?;
        let home = self.home(lo)?;
        let buffer = self.buffer(Role::Allocate { size: 0 }, &[], home.declarator, newer)?;
        let arguments = match sized {
            true => format!("{}, {}", buffer.pointer, buffer.capacity),
            false => buffer.pointer.clone(),
        };
        let mut changes = vec![];
        for &freed in &self.candidate.frees {
            changes.push(self.release(freed, &buffer)?);
        }
        changes.push(self.declare(&home, &buffer)?);
        Ok(Called { changes, callee: lo, arguments, name: buffer.name })
    }
}
