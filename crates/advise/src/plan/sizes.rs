//! Tests that a size fits whose computation may wrap: of what it is computed from.

use super::*;

impl Planner<'_> {
    /// The test that a size `count * sizeof x`, which may wrap, fits: of the count.
    pub(super) fn quotient(&self, argument: Option<(usize, usize)>, capacity: &str) -> Tried<Fragment> {
        let cannot = || "its size is a product that may wrap, and has no `sizeof` for a factor".to_string();
        let (lo, hi) = argument.ok_or_else(cannot)?;
        let (count, each) = self.factors(lo, hi).ok_or_else(cannot)?;
        let (count, each) = (self.copied(count.0, count.1)?, self.copied(each.0, each.1)?);
        Ok(Fragment::text("(").then(&count).and(&format!(") <= {capacity} / ")).then(&each))
    }

    /// The test that a size `count + k`, which may wrap, fits: of the count.
    pub(super) fn rest(&self, argument: Option<(usize, usize)>, k: i128, capacity: &str) -> Tried<Fragment> {
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
        let test = Fragment::text("(").then(&count).and(&format!(") <= {capacity} - "));
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
}
