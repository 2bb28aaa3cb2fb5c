//! Tokens of the text: what is an argument, a call, a constant, and the bytes of the file that give
//! them.

use super::*;

impl Words<'_> {
    /// The token that closes the bracket at `open`.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
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
    pub(super) fn opening(&self, close: usize) -> Option<usize> {
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
    pub(super) fn all_seen(&self, word: &str) -> Tried<()> {
        let used = self.origins.used();
        let hidden = |(n, t): (usize, &crate::raw::RawToken)| {
            self.source.get(t.lo..t.hi) == Some(word) && (t.directive || !used.contains(&n))
        };
        match self.origins.file.tokens.iter().enumerate().any(hidden) && Rule::AllSeen.holds() {
            true => Err(format!("a macro, or a branch of #if that is not taken, names `{word}`")),
            false => Ok(()),
        }
    }

    pub(super) fn spelled(&self, token: usize) -> &str {
        let found = self.origins.tokens.get(token).map(|t| self.unit.map.snippet(t.span()));
        found.unwrap_or("")
    }

    pub(super) fn raw_of(&self, token: usize) -> Option<usize> {
        self.origins.raw(token)
    }

    /// Tokens of a span.
    pub(super) fn range(&self, span: Span) -> (usize, usize) {
        let all = &self.origins.tokens;
        (all.partition_point(|t| t.lo < span.lo), all.partition_point(|t| t.lo < span.hi))
    }

    /// The bytes of the file that give exactly the tokens `lo..hi`: from the first to the last
    /// token, or the use of a macro around them.
    pub(super) fn extent(&self, lo: usize, hi: usize) -> Tried<(usize, usize)> {
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
    pub(super) fn copied(&self, lo: usize, hi: usize) -> Tried<Fragment> {
        let expanded = (lo..hi).map(|t| self.spelled(t).to_string()).collect();
        let (from, to) = self.extent(lo, hi)?;
        let raw = self.source.get(from..to).unwrap_or("").to_string();
        if raw.contains("//") || raw.contains("/*") {
            return Err("a comment stands in what would be written twice".into());
        }
        Ok(Fragment { raw, expanded })
    }

    /// Whether the tokens are names with stars before them and arrows and dots between.
    fn is_path(&self, lo: usize, hi: usize) -> bool {
        (lo..hi).all(|t| {
            let text = self.spelled(t);
            matches!(text, "*" | "->" | ".") || text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        })
    }

    /// The arguments of a call: tokens of each.
    pub(super) fn arguments(&self, lo: usize, hi: usize) -> Tried<Vec<(usize, usize)>> {
        let open = (lo..hi).find(|&t| self.spelled(t) == "(").ok_or("the call has no argument list")?;
        // `(*g->f)(n)`, but no other callee in parentheses.
        let open = match open == lo {
            true => self.closing(lo).filter(|&close| self.is_path(lo + 1, close)).map(|close| close + 1),
            false => Some(open),
        };
        let open = open.filter(|&t| self.spelled(t) == "(");
        let open = open.ok_or("the function that is called is an expression")?;
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
                        return if t + 1 == hi {
                            Ok(all)
                        } else {
                            Err("more follows the arguments of the call".into())
                        };
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
    pub(super) fn is_pure(&self, lo: usize, hi: usize) -> bool {
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
    pub(super) fn bare(&self, (mut lo, mut hi): (usize, usize)) -> (usize, usize) {
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
                || self.locals.iter().any(|l| l.name.is_some_and(|n| n.as_str() == text));
            if !(is_word && !is_value || text == "*") {
                return false;
            }
        }
        false
    }

    /// Whether the tokens are a constant expression that means the same where the buffer is
    /// declared.
    pub(super) fn is_constant(&self, lo: usize, hi: usize) -> bool {
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
                            let local = self.locals.iter().any(|l| l.name.is_some_and(|n| n.as_str() == name));
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

    /// The name, with a number if it is used already.
    pub(super) fn fresh_named(&self, base: &str) -> String {
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
}
