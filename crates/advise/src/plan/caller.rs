//! The edits of `caller`: a helper takes the memory of its caller instead of asking the heap.
//!
//! The helper gets one parameter more, and a second one, the size of the buffer, unless every
//! object surely fits. So all its declarations and calls change at once, and every one of them must
//! be seen: the helper is internal, and each place that names it is its definition, a declaration,
//! or a call. A call whose object is not freed by the function that calls passes null, and gets an
//! object of the heap as before.

use super::*;
use crate::program::{is_internal, symbol};

/// What the site of a helper and all its calls become.
///
/// Errors: why no safe patch is known.
pub fn plan_callers(
    unit: &Unit,
    source: &str,
    origins: &Origins,
    (all, helper): (&[Candidate], &str),
    newer: bool,
    taken: &[String],
) -> Tried<Plan> {
    let calls: Vec<&Candidate> = all.iter().filter(|c| c.calls_helper(helper)).collect();
    let body = unit.program.bodies.iter().position(|b| symbol(&unit.program, &b.func).as_deref() == Some(helper));
    let body = body.ok_or_else(|| format!("the interface of `{helper}` would change, which is in another file"))?;
    let made: Vec<&Candidate> = all.iter().filter(|c| c.body == body && c.inside.is_some()).collect();
    let &[own] = made.as_slice() else {
        return Err(format!("`{helper}` does not make the object by itself"));
    };
    let internal = unit.program.bodies.get(body).is_some_and(|b| is_internal(&unit.program, &b.func));
    if !internal && Rule::HelperInternal.holds() {
        return Err(format!("the interface of `{helper}` would change, which other files may call"));
    }
    let called = unit.program.bodies.iter().flat_map(|b| &b.blocks).flat_map(|b| &b.stmts);
    let called = called.filter_map(|s| s.kind.called()).filter(|f| symbol(&unit.program, f).as_deref() == Some(helper));
    let others = called.count().checked_sub(calls.len()).ok_or("its calls are not all seen")?;
    let inner = Planner::new(unit, source, origins, own, taken)?;
    let lent = Lent { pointer: inner.fresh_name(), size: inner.fresh_named("buffer_size") };
    let sized = !calls.iter().all(|c| always_fits(c)) && Rule::Told.holds();
    let mut names = [taken, std::slice::from_ref(&lent.pointer)].concat();
    if sized {
        names.push(lent.size.clone());
    }
    let mut changes = inner.helper(helper, &lent, sized, &calls, others)?;
    for call in &calls {
        let mut candidate = (*call).clone();
        candidate.align = candidate.align.max(own.align);
        let (more, name) = Planner::new(unit, source, origins, &candidate, &names)?.call(newer, sized)?;
        changes.extend(more);
        names.push(name);
    }
    ordered(changes, names.split_off(taken.len()))
}

/// Whether the buffer that a call of a helper passes has room for every object.
pub(super) fn always_fits(call: &Candidate) -> bool {
    call.finding.bytes.1.is_some_and(|n| n.max(1) <= call.finding.stack)
}

/// Names of the parameters that a helper gets.
struct Lent {
    /// The buffer.
    pointer: String,
    /// Its size in bytes.
    size: String,
}

impl Planner<'_> {
    /// The changes of the helper itself: its site, its definition, its declarations, and the calls
    /// that need an object of the heap, as many as `others`; they pass null. `calls`: those that
    /// will pass a buffer. `sized`: with its size.
    fn helper(
        &self,
        helper: &str,
        lent: &Lent,
        sized: bool,
        calls: &[&Candidate],
        others: usize,
    ) -> Tried<Vec<Change>> {
        let parameter = &lent.pointer;
        let some_pass_none = others > 0 && Rule::AllCallers.holds();
        let entry =
            self.candidate.site.entry.ok_or_else(|| format!("`{helper}` does not make the object by itself"))?;
        let (lo, hi) = self.bare(self.range(self.candidate.site.span));
        let arguments = self.arguments(lo, hi)?;
        if !arguments.iter().all(|&(a, b)| self.is_pure(a, b)) {
            return Err("its size has effects, which would be lost".into());
        }
        let value = match (entry.role, arguments.as_slice()) {
            _ if sized => {
                // An object of no bytes would fit where there is no buffer.
                let guard = if some_pass_none { format!("{parameter} && ") } else { String::new() };
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
            (Role::Allocate { .. }, _) => Fragment::text(parameter),
            (Role::Zeroed { .. }, bytes @ ([_] | [_, _])) => {
                self.needs("memset")?;
                let mut value = Fragment::text(&format!("memset({parameter}, 0, "));
                for (n, &(a, b)) in bytes.iter().enumerate() {
                    value = value.and(if n > 0 { " * (" } else { "(" }).then(&self.copied(a, b)?).and(")");
                }
                value.and(")")
            }
            _ => return Err(format!("`{helper}` makes a copy of a string")),
        };
        let value = match some_pass_none && !sized {
            true => {
                let test = Fragment::text(&format!("({parameter} ? ")).then(&value);
                test.and(" : ").then(&self.copied(lo, hi)?).and(")")
            }
            false => value,
        };
        let (from, to) = self.extent(lo, hi)?;
        let edit = Edit { lo: from, hi: to, text: value.raw };
        let mut changes = vec![Change { lo, hi, expanded: value.expanded, edit }];
        let (parameters, none) = match sized {
            true => (format!("void *{parameter}, unsigned long {}", lent.size), "0, 0"),
            false => (format!("void *{parameter}"), "0"),
        };
        let mut found = 0;
        let starts: Vec<usize> = calls.iter().map(|c| self.bare(self.range(c.site.span)).0).collect();
        let mut depth = 0i32;
        for t in 0..self.origins.tokens.len() {
            match self.spelled(t) {
                "{" => depth += 1,
                "}" => depth -= 1,
                name if name == helper && !starts.contains(&t) => {
                    let odd = || format!("`{helper}` is used in other ways than by calls");
                    let close = (self.spelled(t + 1) == "(").then(|| self.closing(t + 1)).flatten().ok_or_else(odd)?;
                    if depth > 0 {
                        found += 1;
                        changes.push(self.with_argument(t + 1, close, none)?);
                    } else if matches!(self.spelled(close + 1), "{" | ";") {
                        changes.push(self.with_parameter(t + 1, close, &parameters)?);
                    } else {
                        return Err(odd());
                    }
                }
                _ => {}
            }
        }
        if found != others {
            return Err(format!("`{helper}` is used in other ways than by calls"));
        }
        self.all_seen(helper)?;
        Ok(changes)
    }

    /// More parameters between the parentheses.
    fn with_parameter(&self, open: usize, close: usize, more: &str) -> Tried<Change> {
        let text = |t: usize| self.raw_of(t).and_then(|n| self.origins.file.tokens.get(n));
        let made_by_macro = "a macro makes the helper's parameters";
        let last = self.spelled(close - 1);
        if close == open + 1 || last == "..." {
            return Err("the helper has no list of parameters that one can be added to".into());
        }
        if close == open + 2 && last == "void" {
            let token = text(open + 1).ok_or(made_by_macro)?;
            let new = Fragment::text(more);
            let edit = Edit { lo: token.lo, hi: token.hi, text: new.raw };
            return Ok(Change { lo: open + 1, hi: open + 2, expanded: new.expanded, edit });
        }
        let token = text(close).ok_or(made_by_macro)?;
        let new = Fragment::text(&format!(", {more}"));
        let edit = Edit { lo: token.lo, hi: token.lo, text: new.raw };
        Ok(Change { lo: close, hi: close, expanded: new.expanded, edit })
    }

    /// More arguments between the parentheses.
    fn with_argument(&self, open: usize, close: usize, text: &str) -> Tried<Change> {
        let last = self.raw_of(close).and_then(|n| self.origins.file.tokens.get(n)).ok_or("a macro makes the call")?;
        let comma = if close == open + 1 { "" } else { ", " };
        let new = Fragment::text(&format!("{comma}{text}"));
        let edit = Edit { lo: last.lo, hi: last.lo, text: new.raw };
        Ok(Change { lo: close, hi: close, expanded: new.expanded, edit })
    }

    /// The changes of one call: a buffer is declared and passed, and what is not in the heap any
    /// more is not released. Also the buffer's name.
    fn call(&self, newer: bool, sized: bool) -> Tried<(Vec<Change>, String)> {
        let (lo, hi) = self.bare(self.range(self.candidate.site.span));
        self.arguments(lo, hi)?;
        let home = self.home(lo)?;
        let buffer = self.buffer(Role::Allocate { size: 0 }, &[], home.declarator, newer)?;
        let passed = match sized {
            true => format!("{}, {}", buffer.pointer, buffer.capacity),
            false => buffer.pointer.clone(),
        };
        let mut changes = vec![self.with_argument(lo + 1, hi - 1, &passed)?];
        for &(span, other) in &self.candidate.frees {
            changes.push(self.release(span, other, &buffer)?);
        }
        changes.push(self.declare(&home, &buffer)?);
        Ok((changes, buffer.name))
    }
}
