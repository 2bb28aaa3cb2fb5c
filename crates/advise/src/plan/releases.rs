//! Releases that are taken out, or made to depend on where the object is.

use super::*;

/// What is tested before the argument, which the tokens `lo..hi` are, is released; `None`: it is
/// not released at all.
pub(super) type Test<'t> = dyn Fn(usize, usize) -> Tried<Option<Fragment>> + 't;

impl Planner<'_> {
    /// The release becomes nothing, or depends on where the object is.
    pub(super) fn release(&self, freed: Freed, buffer: &Buffer) -> Tried<Change> {
        let plain = (self.is_fixed() || !Rule::HybridRelease.holds()) && !freed.other;
        self.conditional((freed.span, freed.argument), &|a, b| match plain {
            true => Ok(None),
            false => Ok(Some(self.differs(a, b, buffer)?)),
        })
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
}

impl Words<'_> {
    /// A release becomes nothing, or depends on the test that `test` makes of the argument that it
    /// releases, which has this number.
    pub(super) fn conditional(&self, (span, argument): (Span, usize), test: &Test) -> Tried<Change> {
        let (lo, hi) = self.bare(self.range(span));
        let arguments = self.arguments(lo, hi)?;
        let &(a, b) = arguments.get(argument).ok_or("a release does not name the object")?;
        if !arguments.iter().all(|&(a, b)| self.is_pure(a, b)) && Rule::PureRelease.holds() {
            return Err("a release computes its arguments with effects".into());
        }
        let test = test(a, b)?;
        let previous = if lo > 0 { self.spelled(lo - 1) } else { "" };
        let statement = self.spelled(hi) == ";" && self.raw_of(hi).is_some();
        let (from, to) = self.extent(lo, hi)?;
        if statement && matches!(previous, ";" | "{" | "}" | ")" | "else" | "do" | ":") {
            // `)` also ends a cast; then the release is not a statement of its own.
            let end = self.raw_of(hi).and_then(|n| self.origins.file.tokens.get(n)).map_or(to, |t| t.hi);
            let listed = matches!(previous, ";" | "{" | "}");
            if listed || !self.is_cast(lo) {
                let new = match (test, listed) {
                    (None, true) => return Ok(self.removed(lo, hi + 1, from, end)),
                    (None, false) => Fragment::text("{ }"),
                    (Some(test), _) => {
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
        let new = match test {
            None => Fragment::text("(void) 0"),
            Some(test) => Fragment::text("(").then(&test).and(" ? ").then(&self.copied(lo, hi)?).and(" : (void) 0)"),
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

    pub(super) fn indent(&self, at: usize) -> String {
        let start = self.source.get(..at).and_then(|s| s.rfind('\n')).map_or(0, |n| n + 1);
        let line = self.source.get(start..at).unwrap_or("");
        // Blanks before the token, if it is the first of its line; else those of the line.
        line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    pub(super) fn starts_line(&self, at: usize) -> bool {
        let start = self.source.get(..at).and_then(|s| s.rfind('\n')).map_or(0, |n| n + 1);
        self.source.get(start..at).is_some_and(|s| s.trim().is_empty())
    }
}
