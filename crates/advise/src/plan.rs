//! The edits of one site: which tokens change, and into what.
//!
//! A fragment is new text together with the tokens that it must give after the preprocessor, so
//! that a plan says both what is written and what must come out. `check` verifies the
//! preprocessor's output against it.

use crate::allocators::{Entry, Role};
use crate::edits::{Edit, Text};
use crate::finding::Verdict;
use crate::origin::{tokens, Origins};
use crate::proof::Wrap;
use crate::rules::Rule;
use crate::unit::Unit;
use crate::verdict::{Candidate, Freed};
use mir::ir::*;
use source::Span;

mod buffers;
mod caller;
mod embed;
mod interface;
mod releases;
mod sizes;
mod tokens;

use caller::always_fits;
pub use caller::plan_callers;
pub use embed::{plan_members, Member};
pub use interface::{Part, Shared};

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

/// The changes of a file in order.
///
/// Errors: they overlap.
pub fn apart(mut changes: Vec<Change>) -> Tried<Vec<Change>> {
    changes.sort_by(|a, b| a.edit.cmp(&b.edit));
    let apart = changes.windows(2).all(|w| match w {
        [a, b] => a.edit.hi <= b.edit.lo && a.hi <= b.lo,
        _ => true,
    });
    match apart {
        true => Ok(changes),
        false => Err("its places overlap".into()),
    }
}

/// The tokens of a unit, and what they are in one of its files.
#[derive(Clone, Copy)]
struct Words<'a> {
    unit: &'a Unit,
    source: &'a str,
    origins: &'a Origins,
    /// The variables of the function that changes, if one does.
    locals: &'a [LocalDecl],
    /// Names of the buffers of other patches.
    taken: &'a [String],
}

struct Planner<'a> {
    words: Words<'a>,
    body: &'a Body,
    candidate: &'a Candidate,
}

impl<'a> std::ops::Deref for Planner<'a> {
    type Target = Words<'a>;

    fn deref(&self) -> &Words<'a> {
        &self.words
    }
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
        Ok(Planner { words: Words { unit, source, origins, locals: &body.locals, taken }, body, candidate })
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
        self.zero_is_kept(entry)?;
        let arguments = self.arguments(lo, hi)?;
        let home = self.home(lo)?;
        let buffer = self.buffer(entry.role, &arguments, home.declarator, newer)?;
        let call = self.copied(lo, hi);
        let value = self.value(entry.role, &arguments, &buffer, call)?;
        let (from, to) = self.extent(lo, hi)?;
        let mut changes =
            vec![Change { lo, hi, expanded: value.expanded, edit: Edit { lo: from, hi: to, text: value.raw } }];
        for &freed in &candidate.frees {
            changes.push(self.release(freed, &buffer)?);
        }
        changes.push(self.declare(&home, &buffer)?);
        Ok(Plan { changes: apart(changes)?, names: vec![buffer.name] })
    }

    /// A program may see null for 0 bytes, or for the copy of null, which a buffer is not.
    fn zero_is_kept(&self, entry: Entry) -> Tried<()> {
        if !entry.zero_is_null || !Rule::ZeroIsNull.holds() {
            return Ok(());
        }
        let name = &self.candidate.site.name;
        let least = self.candidate.finding.bytes.0.unwrap_or(0);
        match entry.role {
            Role::Duplicate { .. } => Err(format!("`{name}` gives null for null")),
            _ if least == 0 => Err(format!("`{name}` gives null for 0 bytes")),
            _ => Ok(()),
        }
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
            Role::Resize { .. } | Role::Release { .. } | Role::Hook { .. } => Err("it is no allocation".into()),
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
}
