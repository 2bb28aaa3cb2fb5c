//! Functions that get more parameters: their definitions, declarations and calls, in all files that
//! a plan may change.

use super::*;
use crate::edits::Text;
use crate::program::{is_internal, symbol, Context};

/// One unit of a plan.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// What is known of its functions.
    pub cx: &'a Context<'a>,
    /// Its sites.
    pub candidates: &'a [Candidate],
    /// The files that may change: its own, then headers.
    pub files: &'a [Text],
    /// Whether it may be written in C11.
    pub newer: bool,
}

/// A change of a file of a part.
pub struct Placed {
    /// Number of the part.
    pub part: usize,
    /// Number of its file.
    pub file: usize,
    /// The change.
    pub change: Change,
}

/// What several sites become together.
#[derive(Default)]
pub struct Shared {
    /// All changes. A header's are there once for each part that includes it.
    pub changes: Vec<Placed>,
    /// Names that they bring.
    pub names: Vec<String>,
}

/// A function with its new parameters.
pub(super) struct Interface<'a> {
    pub(super) name: &'a str,
    /// Declarations of the parameters.
    pub(super) parameters: String,
    /// The arguments of calls that are not among `given`.
    pub(super) none: &'a str,
    /// Calls, by part and token of the name, with their arguments.
    pub(super) given: Vec<(usize, usize, String)>,
}

impl<'a> Part<'a> {
    pub(super) fn words(&self, file: usize, taken: &'a [String]) -> Tried<Words<'a>> {
        let text = self.files.get(file).ok_or("a file is missing")?;
        Ok(Words { unit: self.unit, source: &text.source, origins: &text.origins, locals: &[], taken })
    }

    pub(super) fn planner(&self, candidate: &'a Candidate, taken: &'a [String]) -> Tried<Planner<'a>> {
        let words = self.words(0, taken)?;
        let body = self.unit.program.bodies.get(candidate.body).ok_or("its function is gone")?;
        Ok(Planner { words: Words { locals: &body.locals, ..words }, body, candidate })
    }

    /// The body of a function.
    pub(super) fn body(&self, name: &str) -> Option<usize> {
        let program = &self.unit.program;
        program.bodies.iter().position(|b| symbol(program, &b.func).as_deref() == Some(name))
    }
}

/// The definition of a function: part and body. Its interface may change if no file but those of
/// the parts can name it. `whole`: the parts are the whole program.
///
/// Errors: why it may not.
pub(super) fn definition(parts: &[Part], name: &str, whole: bool) -> Tried<(usize, usize)> {
    let found: Vec<(usize, usize)> =
        parts.iter().enumerate().filter_map(|(n, part)| Some((n, part.body(name)?))).collect();
    let &[(part, body)] = found.as_slice() else {
        return Err(match found.is_empty() {
            true => format!("the interface of `{name}` would change, which is in another file"),
            false => format!("the interface of `{name}` would change, which is defined twice"),
        });
    };
    let internal = |part: &Part| {
        let program = &part.unit.program;
        program.bodies.get(body).is_some_and(|b| is_internal(program, &b.func))
    };
    let known = whole || parts.get(part).is_some_and(internal);
    match known || !Rule::HelperInternal.holds() {
        true => Ok((part, body)),
        false => Err(format!("the interface of `{name}` would change, which other files may call")),
    }
}

/// The name, with a number if a part uses it already.
pub(super) fn fresh(parts: &[Part], base: &str, taken: &[String]) -> Tried<String> {
    let mut name = base.to_string();
    loop {
        let mut next = name.clone();
        for part in parts {
            for file in 0..part.files.len() {
                next = part.words(file, taken)?.fresh_named(&next);
            }
        }
        if next == name {
            return Ok(name);
        }
        name = next;
    }
}

/// The changes of an interface, and the number of calls that get the arguments `none`.
pub(super) fn change(parts: &[Part], wanted: &Interface) -> Tried<(Vec<Placed>, usize)> {
    let name = wanted.name;
    let odd = || format!("`{name}` is used in other ways than by calls");
    let (mut changes, mut others) = (vec![], 0);
    for (n, part) in parts.iter().enumerate() {
        let words = part.words(0, &[])?;
        let mut depth = 0i32;
        for t in 0..words.origins.tokens.len() {
            match words.spelled(t) {
                "{" => depth += 1,
                "}" => depth -= 1,
                word if word == name => {
                    let previous = t.checked_sub(1).map_or("", |t| words.spelled(t));
                    let opens = words.spelled(t + 1) == "(" && !matches!(previous, "." | "->");
                    let close = opens.then(|| words.closing(t + 1)).flatten().ok_or_else(odd)?;
                    let written = |file: &Text| file.origins.raw(t).is_some() && file.origins.raw(close).is_some();
                    let file = part.files.iter().position(written);
                    let file = file.ok_or_else(|| format!("a macro, or a header of the system, names `{name}`"))?;
                    let words = part.words(file, &[])?;
                    let change = if depth > 0 {
                        let given = wanted.given.iter().find(|g| (g.0, g.1) == (n, t)).map(|g| g.2.as_str());
                        others += usize::from(given.is_none());
                        words.with_argument(t + 1, close, given.unwrap_or(wanted.none))?
                    } else if matches!(words.spelled(close + 1), "{" | ";") {
                        words.with_parameter(t + 1, close, &wanted.parameters)?
                    } else {
                        return Err(odd());
                    };
                    changes.push(Placed { part: n, file, change });
                }
                _ => {}
            }
        }
        for file in 0..part.files.len() {
            part.words(file, &[])?.all_seen(name)?;
        }
    }
    Ok((changes, others))
}

impl Words<'_> {
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
}
