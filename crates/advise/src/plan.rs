//! The edits of one site: which tokens change, and into what.
//!
//! A fragment is new text together with the tokens that it must give after the preprocessor, so
//! that a plan says both what is written and what must come out. `check` verifies the
//! preprocessor's output against it.

use crate::allocators::Role;
use crate::edits::Edit;
use crate::finding::Verdict;
use crate::origin::{tokens, Origins};
use crate::proof::Wrap;
use crate::rules::Rule;
use crate::unit::Unit;
use crate::verdict::{Candidate, Owner};
use mir::ir::*;
use source::Span;
use syntax::token::Kind;

mod caller;
mod embed;

pub use caller::plan_callers;
pub use embed::plan_member;

/// New text and its tokens.
#[derive(Clone, Debug, Default)]
struct Fragment {
    raw: String,
    expanded: Vec<String>,
}

impl Fragment {
    fn text(text: &str) -> Fragment {
        let spelled = tokens(text);
        let expanded = spelled.iter().filter_map(|t| text.get(t.lo as usize..t.hi as usize)).map(str::to_string);
        Fragment { raw: text.to_string(), expanded: expanded.collect() }
    }

    fn then(mut self, other: &Fragment) -> Fragment {
        self.raw.push_str(&other.raw);
        self.expanded.extend(other.expanded.iter().cloned());
        self
    }

    fn and(self, text: &str) -> Fragment {
        self.then(&Fragment::text(text))
    }
}

/// A change of tokens `lo..hi` of the preprocessed text.
#[derive(Clone, Debug)]
pub struct Change {
    /// First token.
    pub lo: usize,
    /// One past the last.
    pub hi: usize,
    /// What comes out instead.
    pub expanded: Vec<String>,
    /// What is written.
    pub edit: Edit,
}

/// All changes of a site.
pub struct Plan {
    /// Rising.
    pub changes: Vec<Change>,
    /// Names that it brings.
    pub names: Vec<String>,
}

/// A plan of these changes, if they do not overlap.
fn ordered(mut changes: Vec<Change>, names: Vec<String>) -> Tried<Plan> {
    changes.sort_by_key(|c| (c.edit.lo, c.edit.hi));
    let apart = changes.windows(2).all(|w| match w {
        [a, b] => a.edit.hi <= b.edit.lo && a.hi <= b.lo,
        _ => true,
    });
    match apart {
        true => Ok(Plan { changes, names }),
        false => Err("its places overlap".into()),
    }
}

struct Planner<'a> {
    unit: &'a Unit,
    body: &'a Body,
    source: &'a str,
    origins: &'a Origins,
    candidate: &'a Candidate,
    /// Names of the buffers of other patches.
    taken: &'a [String],
}

/// A buffer to be declared.
struct Buffer {
    name: String,
    declaration: Fragment,
    /// The buffer as a pointer: `name`, or `&name` of a single object.
    pointer: String,
    /// Whether the pointer needs a conversion where it stands beside pointers to other types.
    cast: bool,
}

type Tried<T> = Result<T, String>;

/// Plans the edits of a candidate.
///
/// Errors: why no safe patch is known.
pub fn plan(
    unit: &Unit,
    source: &str,
    origins: &Origins,
    candidate: &Candidate,
    newer: bool,
    taken: &[String],
) -> Tried<Plan> {
    Planner::new(unit, source, origins, candidate, taken)?.plan(newer)
}

impl<'a> Planner<'a> {
    fn new(
        unit: &'a Unit,
        source: &'a str,
        origins: &'a Origins,
        candidate: &'a Candidate,
        taken: &'a [String],
    ) -> Tried<Planner<'a>> {
        let body = unit.program.bodies.get(candidate.body).ok_or("its function is gone")?;
        Ok(Planner { unit, body, source, origins, candidate, taken })
    }
}

impl Planner<'_> {
    /// The token that closes the bracket at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        (open..self.origins.tokens.len()).find(|&t| {
            match self.spelled(t) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    }

    /// The token that opens the bracket at `close`.
    fn opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0;
        (0..=close).rev().find(|&t| {
            match self.spelled(t) {
                ")" | "]" | "}" => depth += 1,
                "(" | "[" | "{" => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    }

    /// Every place of the file that has the word gives a token: none is in a macro's body or in a
    /// branch of `#if` that is not taken.
    fn all_seen(&self, word: &str) -> Tried<()> {
        let used: std::collections::HashSet<usize> = self.origins.raw.iter().flatten().copied().collect();
        let hidden = |(n, t): (usize, &crate::raw::RawToken)| {
            self.source.get(t.lo..t.hi) == Some(word) && (t.directive || !used.contains(&n))
        };
        match self.origins.file.tokens.iter().enumerate().any(hidden) && Rule::AllSeen.holds() {
            true => Err(format!("a macro, or a branch of #if that is not taken, names `{word}`")),
            false => Ok(()),
        }
    }

    fn spelled(&self, token: usize) -> &str {
        let found = self.origins.tokens.get(token).map(|t| self.unit.map.snippet(t.span()));
        found.unwrap_or("")
    }

    fn raw_of(&self, token: usize) -> Option<usize> {
        self.origins.raw.get(token).copied().flatten()
    }

    /// Tokens of a span.
    fn range(&self, span: Span) -> (usize, usize) {
        let all = &self.origins.tokens;
        (all.partition_point(|t| t.lo < span.lo), all.partition_point(|t| t.lo < span.hi))
    }

    /// The bytes of the file that give exactly the tokens `lo..hi`: from the first to the last
    /// token, or the use of a macro around them.
    fn extent(&self, lo: usize, hi: usize) -> Tried<(usize, usize)> {
        let file = &self.origins.file.tokens;
        let made_by_macro = || "a macro makes it, so there is no text of its own to change".to_string();
        let inside: Vec<usize> = (lo..hi).filter_map(|t| self.raw_of(t)).collect();
        let (Some(&first), Some(&last)) = (inside.iter().min(), inside.iter().max()) else {
            return Err(made_by_macro());
        };
        if self.raw_of(lo) == Some(first) && self.raw_of(hi - 1) == Some(last) {
            return self.bytes(first, last).ok_or_else(made_by_macro);
        }
        // `NAME ( ... )` where the name gives none of the tokens.
        let text = |n: usize| file.get(n).and_then(|t| self.source.get(t.lo..t.hi)).unwrap_or("");
        let (mut at, mut depth) = (first, 0i32);
        while at > 0 {
            at -= 1;
            match text(at) {
                ")" => depth += 1,
                "(" if depth > 0 => depth -= 1,
                "(" => break,
                ";" | "{" | "}" => return Err(made_by_macro()),
                _ => {}
            }
        }
        let name = at.checked_sub(1).ok_or_else(made_by_macro)?;
        let is_name = text(name).starts_with(|c: char| c.is_alphabetic() || c == '_');
        if text(at) != "(" || !is_name {
            return Err(made_by_macro());
        }
        let (mut end, mut depth) = (at, 0i32);
        while end < file.len() {
            match text(end) {
                "(" => depth += 1,
                ")" => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
            end += 1;
        }
        if end < last {
            return Err(made_by_macro());
        }
        self.bytes(name, end).ok_or_else(made_by_macro)
    }

    fn bytes(&self, first: usize, last: usize) -> Option<(usize, usize)> {
        let file = &self.origins.file.tokens;
        let (a, b) = (file.get(first)?, file.get(last)?);
        // No directive in between: it would be removed, too.
        let clean = file.get(first..=last)?.iter().all(|t| !t.directive);
        (clean && a.lo <= b.lo).then_some((a.lo, b.hi))
    }

    /// What stands at tokens `lo..hi`, to be written again.
    fn copied(&self, lo: usize, hi: usize) -> Tried<Fragment> {
        let expanded = (lo..hi).map(|t| self.spelled(t).to_string()).collect();
        let (from, to) = self.extent(lo, hi)?;
        let raw = self.source.get(from..to).unwrap_or("").to_string();
        if raw.contains("//") || raw.contains("/*") {
            return Err("a comment stands in what would be written twice".into());
        }
        Ok(Fragment { raw, expanded })
    }

    /// The arguments of a call: tokens of each.
    fn arguments(&self, lo: usize, hi: usize) -> Tried<Vec<(usize, usize)>> {
        let open = (lo..hi).find(|&t| self.spelled(t) == "(").ok_or("the call has no argument list")?;
        // A callee in parentheses, `(*f)(n)`, is left alone.
        if open == lo {
            return Err("the function that is called is an expression".into());
        }
        let (mut depth, mut start, mut all) = (0, open + 1, vec![]);
        for t in open..hi {
            match self.spelled(t) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth -= 1;
                    if depth == 0 {
                        if t > start {
                            all.push((start, t));
                        }
                        return if t + 1 == hi { Ok(all) } else { Err("the call goes on after its arguments".into()) };
                    }
                }
                "," if depth == 1 => {
                    all.push((start, t));
                    start = t + 1;
                }
                _ => {}
            }
        }
        Err("the call has no end".into())
    }

    /// Whether the tokens are an expression without effects: it may be written twice.
    fn is_pure(&self, lo: usize, hi: usize) -> bool {
        (lo..hi).all(|t| {
            let text = self.spelled(t);
            let assigns = text.ends_with('=') && !matches!(text, "==" | "!=" | "<=" | ">=");
            let is_name = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
            let calls = t + 1 < hi
                && self.spelled(t + 1) == "("
                && is_name
                && !matches!(text, "sizeof" | "strlen" | "_Alignof");
            let statement = matches!(text, "{" | "__builtin_va_arg");
            let calls_pointer = text == ")" && t + 1 < hi && self.spelled(t + 1) == "(" && !self.ends_cast(lo, t);
            !(assigns || calls || statement || calls_pointer || matches!(text, "++" | "--"))
        })
    }

    /// A call without casts and parentheses around it.
    fn bare(&self, (mut lo, mut hi): (usize, usize)) -> (usize, usize) {
        while hi > lo + 2 && self.spelled(lo) == "(" {
            let mut depth = 0;
            let close = (lo..hi).find(|&t| {
                depth += match self.spelled(t) {
                    "(" => 1,
                    ")" => -1,
                    _ => 0,
                };
                depth == 0
            });
            match close {
                Some(t) if t + 1 == hi => (lo, hi) = (lo + 1, hi - 1),
                Some(t) if self.ends_cast(lo, t) => lo = t + 1,
                _ => break,
            }
        }
        (lo, hi)
    }

    /// Whether the parenthesis at `close` ends a cast: between it and its partner stand words of a
    /// type, none of which is a function or variable, and stars.
    fn ends_cast(&self, lo: usize, close: usize) -> bool {
        let program = &self.unit.program;
        let mut at = close;
        while at > lo {
            at -= 1;
            let text = self.spelled(at);
            if text == "(" {
                return at + 1 < close && (at == lo || !matches!(self.spelled(at - 1), "sizeof" | "_Alignof"));
            }
            let is_word = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
            let is_value = program.functions.iter().any(|f| f.name.as_str() == text)
                || program.globals.iter().any(|g| g.name.as_str() == text)
                || self.body.locals.iter().any(|l| l.name.is_some_and(|n| n.as_str() == text));
            if !(is_word && !is_value || text == "*") {
                return false;
            }
        }
        false
    }

    /// Whether the tokens are a constant expression that means the same where the buffer is
    /// declared.
    fn is_constant(&self, lo: usize, hi: usize) -> bool {
        let mut t = lo;
        while t < hi {
            let text = self.spelled(t);
            if text == "sizeof" && self.spelled(t + 1) == "(" {
                let mut depth = 0;
                t += 1;
                while t < hi {
                    match self.spelled(t) {
                        "(" => depth += 1,
                        ")" => depth -= 1,
                        name => {
                            let local = self.body.locals.iter().any(|l| l.name.is_some_and(|n| n.as_str() == name));
                            if local {
                                return false;
                            }
                        }
                    }
                    if depth == 0 {
                        break;
                    }
                    t += 1;
                }
            } else if !(text.starts_with(|c: char| c.is_ascii_digit())
                || matches!(text, "+" | "-" | "*" | "/" | "(" | ")" | "<<" | "|"))
            {
                return false;
            }
            t += 1;
        }
        hi > lo
    }

    fn plan(&self, newer: bool) -> Tried<Plan> {
        let candidate = self.candidate;
        let (lo, hi) = self.bare(self.range(candidate.site.span));
        if lo >= hi {
            return Err("the call is not in the text".into());
        }
        let entry = candidate.site.entry.ok_or("a helper makes the object: its interface would have to change")?;
        let arguments = self.arguments(lo, hi)?;
        let home = self.home(lo)?;
        let buffer = self.buffer(entry.role, &arguments, home.declarator, newer)?;
        let call = self.copied(lo, hi);
        let value = self.value(entry.role, &arguments, &buffer, call)?;
        let (from, to) = self.extent(lo, hi)?;
        let mut changes =
            vec![Change { lo, hi, expanded: value.expanded, edit: Edit { lo: from, hi: to, text: value.raw } }];
        for &(span, other) in &candidate.frees {
            changes.push(self.release(span, other, &buffer)?);
        }
        changes.push(self.declare(&home, &buffer)?);
        ordered(changes, vec![buffer.name])
    }

    /// What stands in the place of the call.
    fn value(
        &self,
        role: Role,
        arguments: &[(usize, usize)],
        buffer: &Buffer,
        call: Tried<Fragment>,
    ) -> Tried<Fragment> {
        let fixed = self.is_fixed();
        let name = &buffer.name;
        let pointer = match buffer.cast {
            true => format!("(void *) {}", buffer.pointer),
            false => buffer.pointer.clone(),
        };
        let pure = |n: usize| -> Tried<Fragment> {
            let &(lo, hi) = arguments.get(n).ok_or("an argument is missing")?;
            if !self.is_pure(lo, hi) && Rule::PureSize.holds() {
                return Err("its size has effects, so it cannot be computed twice".into());
            }
            self.copied(lo, hi)
        };
        let either = |test: Fragment, here: Fragment| -> Tried<Fragment> {
            let call = call.clone()?;
            Ok(Fragment::text("(").then(&test).and(" ? ").then(&here).and(" : ").then(&call).and(")"))
        };
        let zeroes = || -> Tried<Fragment> {
            self.needs("memset")?;
            if !Rule::Zeroes.holds() {
                return Ok(Fragment::text(&pointer));
            }
            Ok(Fragment::text(&format!("memset({}, 0, sizeof {name})", buffer.pointer)))
        };
        let all_pure = || !Rule::PureSize.holds() || arguments.iter().all(|&(lo, hi)| self.is_pure(lo, hi));
        match role {
            Role::Allocate { .. } if fixed => {
                // What is not computed any more must have had no effect.
                if !all_pure() {
                    return Err("its size has effects, which would be lost".into());
                }
                Ok(Fragment::text(&pointer))
            }
            Role::Zeroed { .. } if fixed => {
                if !all_pure() {
                    return Err("its size has effects, which would be lost".into());
                }
                zeroes()
            }
            Role::Duplicate { text } => {
                self.needs("strcpy")?;
                let copied = pure(text as usize)?;
                let here = Fragment::text(&format!("strcpy({name}, ")).then(&copied).and(")");
                if fixed {
                    return Ok(here);
                }
                self.needs("strlen")?;
                let less = if Rule::Terminator.holds() { "<" } else { "<=" };
                either(Fragment::text("strlen(").then(&copied).and(&format!(") {less} sizeof {name}")), here)
            }
            Role::Allocate { size } => {
                let bytes = pure(size as usize)?;
                let here = Fragment::text(&format!("(void *) {}", buffer.pointer));
                let test = match self.candidate.supposes {
                    Some(Wrap::Product) if Rule::Factor.holds() => {
                        self.quotient(arguments.get(size as usize).copied(), name)?
                    }
                    Some(Wrap::Sum(k)) if Rule::Sum.holds() => {
                        self.rest(arguments.get(size as usize).copied(), k, name)?
                    }
                    _ => Fragment::text("(").then(&bytes).and(&format!(") <= sizeof {name}")),
                };
                either(test, here)
            }
            Role::Zeroed { count, size } if count == size => {
                let bytes = pure(size as usize)?;
                either(Fragment::text("(").then(&bytes).and(&format!(") <= sizeof {name}")), zeroes()?)
            }
            Role::Zeroed { count, size } => {
                // The division keeps the overflow check of calloc.
                let is_sizeof = |n: u32| {
                    arguments.get(n as usize).is_some_and(|&(lo, hi)| {
                        let text = self.spelled(lo);
                        let number = hi == lo + 1 && text.parse::<u32>().is_ok_and(|n| n > 0);
                        number || text == "sizeof" && self.is_pure(lo, hi)
                    })
                };
                let (many, each) = match (is_sizeof(size), is_sizeof(count)) {
                    (true, _) => (count, size),
                    (false, true) => (size, count),
                    _ => {
                        return Err(
                            "neither argument of calloc is a constant, so its overflow check would be lost".into()
                        )
                    }
                };
                let (many, each) = (pure(many as usize)?, pure(each as usize)?);
                let mut test = Fragment::text("(").then(&many).and(&format!(") <= sizeof {name}"));
                if Rule::Division.holds() {
                    test = test.and(" / ").then(&each);
                }
                either(test, zeroes()?)
            }
            Role::Resize { .. } | Role::Release { .. } => Err("it is no allocation".into()),
        }
    }

    /// The test that a size `count * sizeof x`, which may wrap, fits: of the count.
    fn quotient(&self, argument: Option<(usize, usize)>, name: &str) -> Tried<Fragment> {
        let cannot = || "its size is a product that may wrap, and has no `sizeof` for a factor".to_string();
        let (lo, hi) = argument.ok_or_else(cannot)?;
        let (count, each) = self.factors(lo, hi).ok_or_else(cannot)?;
        let (count, each) = (self.copied(count.0, count.1)?, self.copied(each.0, each.1)?);
        Ok(Fragment::text("(").then(&count).and(&format!(") <= sizeof {name} / ")).then(&each))
    }

    /// The test that a size `count + k`, which may wrap, fits: of the count.
    fn rest(&self, argument: Option<(usize, usize)>, k: i128, name: &str) -> Tried<Fragment> {
        let cannot = || "its size is a sum that may wrap, and its count is not written by itself".to_string();
        // More than half of the buffer might be more than what it has in whole elements.
        if k * 2 > i128::from(self.candidate.finding.stack) {
            return Err(cannot());
        }
        let (lo, hi) = argument.ok_or_else(cannot)?;
        let plus = self.only_plus(lo, hi).ok_or_else(cannot)?;
        let (count, added) = match (self.is_constant(plus + 1, hi), self.is_constant(lo, plus)) {
            (true, false) => ((lo, plus), (plus + 1, hi)),
            (false, true) => ((plus + 1, hi), (lo, plus)),
            _ => return Err(cannot()),
        };
        let (count, added) = (self.copied(count.0, count.1)?, self.copied(added.0, added.1)?);
        let test = Fragment::text("(").then(&count).and(&format!(") <= sizeof {name} - "));
        let one_token = added.expanded.len() == 1;
        Ok(if one_token { test.then(&added) } else { test.and("(").then(&added).and(")") })
    }

    /// The `+` that is the only operator outside of parentheses and products.
    fn only_plus(&self, lo: usize, hi: usize) -> Option<usize> {
        let (mut depth, mut found) = (0, None);
        for t in lo..hi {
            match self.spelled(t) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth -= 1,
                "+" if depth == 0 && found.is_none() => found = Some(t),
                "*" | "->" | "." => {}
                text if depth == 0 && !text.starts_with(|c: char| c.is_alphanumeric() || c == '_') => return None,
                _ => {}
            }
        }
        found.filter(|&t| t > lo && t + 1 < hi)
    }

    /// The tokens of the count and of the `sizeof` in `count * sizeof x` or `sizeof x * count`.
    fn factors(&self, lo: usize, hi: usize) -> Option<((usize, usize), (usize, usize))> {
        let end = self.end_of_sizeof(lo, hi);
        if let Some(end) = end.filter(|&end| end < hi && self.spelled(end) == "*") {
            return self.is_primary(end + 1, hi).then_some(((end + 1, hi), (lo, end)));
        }
        let star = (lo..hi).find(|&t| self.spelled(t) == "*" && self.is_primary(lo, t))?;
        (self.end_of_sizeof(star + 1, hi) == Some(hi)).then_some(((lo, star), (star + 1, hi)))
    }

    /// The end of `sizeof (x)`, `sizeof x` or `sizeof *x`, if that is what begins at `lo`.
    fn end_of_sizeof(&self, lo: usize, hi: usize) -> Option<usize> {
        if lo >= hi || self.spelled(lo) != "sizeof" {
            return None;
        }
        if self.spelled(lo + 1) == "(" {
            return self.close_of(lo + 1, hi).map(|close| close + 1);
        }
        let name = (lo + 1..hi).find(|&t| self.spelled(t) != "*")?;
        let is_name = self.spelled(name).starts_with(|c: char| c.is_alphabetic() || c == '_');
        is_name.then_some(name + 1)
    }

    /// The parenthesis that closes the one at `open`.
    fn close_of(&self, open: usize, hi: usize) -> Option<usize> {
        let mut depth = 0;
        (open..hi).find(|&t| {
            depth += match self.spelled(t) {
                "(" => 1,
                ")" => -1,
                _ => 0,
            };
            depth == 0
        })
    }

    /// Whether the tokens are a name, a number or something in parentheses: no operator can take a
    /// part of them.
    fn is_primary(&self, lo: usize, hi: usize) -> bool {
        match lo < hi && self.spelled(lo) == "(" {
            true => self.close_of(lo, hi).is_some_and(|close| close + 1 == hi),
            false => hi == lo + 1 && self.spelled(lo).starts_with(|c: char| c.is_alphanumeric() || c == '_'),
        }
    }

    /// The function must be declared to be used.
    fn needs(&self, function: &str) -> Tried<()> {
        let declared = self.unit.program.functions.iter().any(|f| f.name.as_str() == function);
        if declared {
            Ok(())
        } else {
            Err(format!("{function} is not declared here: include <string.h>"))
        }
    }

    /// The release becomes nothing, or depends on where the object is.
    fn release(&self, span: Span, other: bool, buffer: &Buffer) -> Tried<Change> {
        let (lo, hi) = self.bare(self.range(span));
        let plain = (self.is_fixed() || !Rule::HybridRelease.holds()) && !other;
        let arguments = self.arguments(lo, hi)?;
        let &[(a, b)] = arguments.as_slice() else { return Err("a release takes more than the object".into()) };
        if !self.is_pure(a, b) && Rule::PureRelease.holds() {
            return Err("a release computes its argument with effects".into());
        }
        let previous = if lo > 0 { self.spelled(lo - 1) } else { "" };
        let statement = self.spelled(hi) == ";" && self.raw_of(hi).is_some();
        let (from, to) = self.extent(lo, hi)?;
        if statement && matches!(previous, ";" | "{" | "}" | ")" | "else" | "do" | ":") {
            // `)` also ends a cast; then the release is not a statement of its own.
            let end = self.raw_of(hi).and_then(|n| self.origins.file.tokens.get(n)).map_or(to, |t| t.hi);
            let listed = matches!(previous, ";" | "{" | "}");
            if listed || !self.is_cast(lo) {
                let new = match (plain, listed) {
                    (true, true) => return Ok(self.removed(lo, hi + 1, from, end)),
                    (true, false) => Fragment::text("{ }"),
                    (false, _) => {
                        let test = self.differs(a, b, buffer)?;
                        let call = self.copied(lo, hi)?;
                        let indent = self.indent(from);
                        if listed && self.starts_line(from) {
                            let head = Fragment::text("if (").then(&test).and(")");
                            head.and(&format!("\n{indent}    ")).then(&call).and(";")
                        } else {
                            Fragment::text("{ if (").then(&test).and(") ").then(&call).and("; }")
                        }
                    }
                };
                return Ok(Change {
                    lo,
                    hi: hi + 1,
                    expanded: new.expanded,
                    edit: Edit { lo: from, hi: end, text: new.raw },
                });
            }
        }
        let new = if plain {
            Fragment::text("(void) 0")
        } else {
            let test = self.differs(a, b, buffer)?;
            Fragment::text("(").then(&test).and(" ? ").then(&self.copied(lo, hi)?).and(" : (void) 0)")
        };
        Ok(Change { lo, hi, expanded: new.expanded, edit: Edit { lo: from, hi: to, text: new.raw } })
    }

    /// Whether the token before is the end of a cast: `(void) free(p)`.
    fn is_cast(&self, token: usize) -> bool {
        token >= 3
            && self.spelled(token - 1) == ")"
            && self.spelled(token - 2) == "void"
            && self.spelled(token - 3) == "("
    }

    /// A statement is removed, with its line if it has one to itself.
    fn removed(&self, lo: usize, hi: usize, from: usize, to: usize) -> Change {
        let (mut first, mut last) = (from, to);
        let line_start = self.source.get(..from).and_then(|s| s.rfind('\n')).map_or(0, |n| n + 1);
        let line_end = self.source.get(to..).and_then(|s| s.find('\n')).map_or(self.source.len(), |n| to + n + 1);
        let blank = |a: usize, b: usize| self.source.get(a..b).is_some_and(|s| s.trim().is_empty());
        if blank(line_start, from) && blank(to, line_end) {
            (first, last) = (line_start, line_end);
        }
        Change { lo, hi, expanded: vec![], edit: Edit { lo: first, hi: last, text: String::new() } }
    }

    /// The test that the released pointer is not the buffer.
    fn differs(&self, lo: usize, hi: usize, buffer: &Buffer) -> Tried<Fragment> {
        let own = self.copied(lo, hi)?;
        let simple =
            hi == lo + 1 && Some(self.spelled(lo)) == self.candidate.finding.variable.as_deref() && !buffer.cast;
        if simple {
            return Ok(own.and(&format!(" != {}", buffer.pointer)));
        }
        let (open, close) = if hi == lo + 1 { ("", "") } else { ("(", ")") };
        let own = Fragment::text(&format!("(void *) {open}")).then(&own).and(close);
        Ok(own.and(&format!(" != (void *) {}", buffer.pointer)))
    }

    fn indent(&self, at: usize) -> String {
        let start = self.source.get(..at).and_then(|s| s.rfind('\n')).map_or(0, |n| n + 1);
        let line = self.source.get(start..at).unwrap_or("");
        // Blanks before the token, if it is the first of its line; else those of the line.
        line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    fn starts_line(&self, at: usize) -> bool {
        let start = self.source.get(..at).and_then(|s| s.rfind('\n')).map_or(0, |n| n + 1);
        self.source.get(start..at).is_some_and(|s| s.trim().is_empty())
    }

    fn declare(&self, home: &Home, buffer: &Buffer) -> Tried<Change> {
        let raw = self.raw_of(home.at).and_then(|n| self.origins.file.tokens.get(n));
        let raw = raw.ok_or("a macro makes the place where the buffer would be declared")?;
        let (at, text) = if home.after {
            // The opening brace of the function: the buffer comes first.
            let next = self.raw_of(home.at + 1).and_then(|n| self.origins.file.tokens.get(n)).map_or(raw.hi, |t| t.lo);
            let indent = self.indent(next);
            match self.starts_line(next) {
                true => (raw.hi, format!("\n{indent}{}", buffer.declaration.raw)),
                false => (raw.hi, format!(" {}", buffer.declaration.raw)),
            }
        } else {
            let indent = self.indent(raw.lo);
            match self.starts_line(raw.lo) {
                true => (raw.lo - indent.len(), format!("{indent}{}\n", buffer.declaration.raw)),
                false => (raw.lo, format!("{} ", buffer.declaration.raw)),
            }
        };
        let token = home.at + usize::from(home.after);
        Ok(Change {
            lo: token,
            hi: token,
            expanded: buffer.declaration.expanded.clone(),
            edit: Edit { lo: at, hi: at, text },
        })
    }

    /// Where the buffer is declared: before the variable, if every variable that may have the
    /// object lives inside its block; else first in the function.
    fn home(&self, site: usize) -> Tried<Home> {
        let variables: Vec<&LocalDecl> = self
            .candidate
            .holders
            .iter()
            .filter_map(|l| self.body.locals.get(l.0 as usize))
            .filter(|d| d.kind != LocalKind::Temp)
            .collect();
        let wanted = self.candidate.finding.variable.as_deref();
        let named = variables.iter().find(|d| d.name.map(|n| n.as_str()) == wanted && d.kind == LocalKind::Var);
        let declarator = named.map(|d| self.range(d.span).0);
        let above = |scope: ScopeId| variables.iter().all(|d| self.is_within(d.scope, scope));
        if let (Some(decl), Some(name)) = (named, declarator) {
            if (above(decl.scope) || !Rule::Scope.holds()) && name < site {
                if let Some(at) = self.statement_start(name) {
                    return Ok(Home { at, after: false, declarator });
                }
            }
        }
        let at = self.body_start().ok_or("the start of the function is not in the text")?;
        Ok(Home { at, after: true, declarator })
    }

    fn is_within(&self, scope: ScopeId, outer: ScopeId) -> bool {
        let mut at = Some(scope);
        while let Some(scope) = at {
            if scope == outer {
                return true;
            }
            at = self.body.scopes.get(scope.0 as usize).and_then(|s| s.parent);
        }
        false
    }

    /// The first token of the declaration that declares the name, if it is a statement of its own.
    fn statement_start(&self, name: usize) -> Option<usize> {
        let (mut at, mut depth) = (name, 0);
        while at > 0 {
            at -= 1;
            match self.spelled(at) {
                ")" | "]" => depth += 1,
                "(" | "[" if depth > 0 => depth -= 1,
                // A declaration cannot stand right after a label, nor in `for (`.
                "(" | "[" | ":" => return None,
                ";" | "{" | "}" if depth == 0 => {
                    let first = self.spelled(at + 1);
                    let is_word = first.starts_with(|c: char| c.is_alphabetic() || c == '_');
                    return (is_word && self.raw_of(at + 1).is_some()).then_some(at + 1);
                }
                _ => {}
            }
        }
        None
    }

    /// The opening brace of the function.
    fn body_start(&self) -> Option<usize> {
        let (end, _) = self.range(self.body.end);
        let mut depth = 0;
        for at in (0..=end).rev() {
            match self.spelled(at) {
                "}" => depth += 1,
                "{" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn fresh_name(&self) -> String {
        self.fresh_named(&format!("{}_buffer", self.candidate.finding.variable.as_deref().unwrap_or("object")))
    }

    /// The name, with a number if it is used already.
    fn fresh_named(&self, base: &str) -> String {
        let taken =
            |name: &str| (0..self.origins.tokens.len()).any(|t| self.spelled(t) == name) || self.source.contains(name);
        let mut name = base.to_string();
        let mut number = 2;
        while Rule::FreshName.holds() && (taken(&name) || self.taken.contains(&name)) {
            name = format!("{base}{number}");
            number += 1;
        }
        name
    }

    /// The buffer's declaration.
    fn buffer(
        &self,
        role: Role,
        arguments: &[(usize, usize)],
        declarator: Option<usize>,
        newer: bool,
    ) -> Tried<Buffer> {
        let finding = &self.candidate.finding;
        let name = self.fresh_name();
        let bytes = finding.stack;
        let needed = self.candidate.align;
        let element = declarator.and_then(|d| self.element(d)).filter(|e| e.align >= needed && e.size > 0);
        let fixed = self.is_fixed();
        let storage = match finding.verdict {
            Verdict::Static => Fragment::text("static "),
            _ => Fragment::default(),
        };
        let Some(element) = element else {
            let align = if newer { "_Alignas(16) " } else { "__attribute__((aligned(16))) " };
            let declaration = storage.and(&format!("{align}char {name}[{bytes}];"));
            return Ok(Buffer { pointer: name.clone(), name, declaration, cast: true });
        };
        let exact = finding.bytes.0 == finding.bytes.1;
        if fixed && exact && bytes == element.size && element.size > 1 {
            let declaration = storage.then(&element.text).and(&format!(" {name};"));
            return Ok(Buffer { pointer: format!("&{name}"), name, declaration, cast: false });
        }
        let count = if fixed { bytes.div_ceil(element.size) } else { bytes / element.size };
        if count == 0 {
            return Err(format!("one element needs {} bytes, more than --hybrid-size", element.size));
        }
        let length = match (role, arguments) {
            (Role::Allocate { .. }, &[(lo, hi)]) if fixed && exact && element.size == 1 && self.is_constant(lo, hi) => {
                self.copied(lo, hi).unwrap_or_else(|_| Fragment::text(&count.to_string()))
            }
            _ => Fragment::text(&count.to_string()),
        };
        let declaration = storage.then(&element.text).and(&format!(" {name}[")).then(&length).and("];");
        Ok(Buffer { pointer: name.clone(), name, declaration, cast: false })
    }

    /// The type that the variable points at, as its declaration spells it.
    fn element(&self, name: usize) -> Option<Element> {
        let start = self.statement_start(name)?;
        if matches!(self.spelled(name + 1), "[" | "(") {
            return None;
        }
        let first_star = (start..name).find(|&t| self.spelled(t) == "*")?;
        let mut words = vec![];
        for t in start..first_star {
            match self.spelled(t) {
                "const" | "volatile" | "register" | "auto" | "__extension__" => {}
                "static" | "extern" | "typedef" | "{" | "}" | "=" | "," | "void" | "restrict" => return None,
                _ => words.push(t),
            }
        }
        let stars = self.own_stars(first_star, name)?;
        let word = |t: &usize| self.origins.tokens.get(*t).is_some_and(|t| t.kind != Kind::Number);
        if words.is_empty() || !words.iter().all(word) || stars == 0 {
            return None;
        }
        let mut text = Fragment::default();
        for (n, &t) in words.iter().enumerate() {
            let piece = match self.raw_of(t) {
                Some(_) => self.copied(t, t + 1).ok()?,
                None => Fragment { raw: self.spelled(t).to_string(), expanded: vec![self.spelled(t).to_string()] },
            };
            if n > 0 {
                text.raw.push(' ');
            }
            text = text.then(&piece);
        }
        if stars > 1 {
            text = text.and(&format!(" {}", "*".repeat(stars - 1)));
        }
        let types = &self.unit.program.types;
        let local = self.body.locals.iter().find(|l| l.kind == LocalKind::Var && self.range(l.span).0 == name)?;
        let target = types.as_pointer(local.ty.ty)?.target.ty;
        let layout = types.layout(target)?;
        // Bytes beyond the type's size belong to the last member.
        if self.extends(target) && Rule::Extended.holds() {
            return None;
        }
        Some(Element { text, size: layout.size, align: layout.align })
    }

    /// Whether objects of the type may be larger than the type: its last member is an array of no
    /// or one element.
    fn extends(&self, ty: typing::types::Ty) -> bool {
        let types = &self.unit.program.types;
        let Some(record) = types.as_record(ty) else { return false };
        let last = types.record(record).fields.as_ref().and_then(|f| f.last().map(|f| f.ty.ty));
        last.is_some_and(|ty| match types.kind(ty) {
            typing::types::TyKind::Array { elem, .. } => {
                let size = |ty| types.layout(ty).map(|l| l.size);
                size(ty).zip(size(elem.ty)).is_none_or(|(all, one)| all <= one)
            }
            _ => self.extends(ty),
        })
    }

    fn is_fixed(&self) -> bool {
        self.candidate.finding.verdict != Verdict::Hybrid
    }

    /// The stars of this declarator; `None` if it has more than stars.
    fn own_stars(&self, first_star: usize, name: usize) -> Option<usize> {
        let mut at = name;
        let mut stars = 0;
        while at > 0 {
            at -= 1;
            match self.spelled(at) {
                "*" => stars += 1,
                "const" | "restrict" | "volatile" | "__restrict" if stars == 0 || at > first_star => {}
                "," => return Some(stars),
                _ if at < first_star => return Some(stars),
                _ => return None,
            }
        }
        None
    }
}

/// Where a buffer is declared.
struct Home {
    /// The token before which, or after which.
    at: usize,
    /// After it.
    after: bool,
    /// The name of the variable in its declaration.
    declarator: Option<usize>,
}

/// A type of elements.
struct Element {
    text: Fragment,
    size: u64,
    align: u64,
}
