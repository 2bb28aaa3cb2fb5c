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

mod buffers;
mod caller;
mod embed;
mod sizes;
mod tokens;

use caller::always_fits;
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
#[derive(Default)]
struct Buffer {
    name: String,
    declaration: Fragment,
    /// The buffer as a pointer: `name`, or `&name` of a single object.
    pointer: String,
    /// The number of its bytes, as an expression.
    capacity: String,
    /// Whether every object fits.
    fixed: bool,
    /// What the test that the object fits begins with.
    guard: String,
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
        let Buffer { name, capacity, fixed, .. } = buffer;
        let fixed = *fixed;
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
            Ok(Fragment::text("(")
                .and(&buffer.guard)
                .then(&test)
                .and(" ? ")
                .then(&here)
                .and(" : ")
                .then(&call)
                .and(")"))
        };
        let zeroes = || -> Tried<Fragment> {
            self.needs("memset")?;
            if !Rule::Zeroes.holds() {
                return Ok(Fragment::text(&pointer));
            }
            Ok(Fragment::text(&format!("memset({}, 0, {capacity})", buffer.pointer)))
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
                either(Fragment::text("strlen(").then(&copied).and(&format!(") {less} {capacity}")), here)
            }
            Role::Allocate { size } => {
                let bytes = pure(size as usize)?;
                let here = Fragment::text(&format!("(void *) {}", buffer.pointer));
                let test = match self.candidate.supposes {
                    Some(Wrap::Product) if Rule::Factor.holds() => {
                        self.quotient(arguments.get(size as usize).copied(), capacity)?
                    }
                    Some(Wrap::Sum(k)) if Rule::Sum.holds() => {
                        self.rest(arguments.get(size as usize).copied(), k, capacity)?
                    }
                    _ => Fragment::text("(").then(&bytes).and(&format!(") <= {capacity}")),
                };
                either(test, here)
            }
            Role::Zeroed { count, size } if count == size => {
                let bytes = pure(size as usize)?;
                either(Fragment::text("(").then(&bytes).and(&format!(") <= {capacity}")), zeroes()?)
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
                let mut test = Fragment::text("(").then(&many).and(&format!(") <= {capacity}"));
                if Rule::Division.holds() {
                    test = test.and(" / ").then(&each);
                }
                either(test, zeroes()?)
            }
            Role::Resize { .. } | Role::Release { .. } => Err("it is no allocation".into()),
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
}
