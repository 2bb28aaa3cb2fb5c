//! What is known at a point: a range of each term, differences of terms, and which terms hold which
//! expressions.

use super::interval::Range;
use smallvec::{smallvec, SmallVec};

/// A tracked place, by number; `ZERO` is the number 0.
pub type Term = u32;
/// The term that is always 0.
pub const ZERO: Term = 0;
/// An expression over terms, by number.
pub type ExprId = u32;

/// How many differences a state may hold. Beyond that, new ones are dropped, and checks stay that
/// could have been removed.
const MOST_DIFFERENCES: usize = 96;
/// How many steps a conclusion from differences takes.
const DEPTH: usize = 8;
/// A difference that may be so large says nothing about an index and its bound.
const WORTHLESS: i128 = 1 << 20;
/// How many conclusions are drawn when a term is removed.
const MOST_PAIRS: usize = 36;
/// How many terms a conclusion looks at.
const MOST_STEPS: usize = 48;

/// Facts at a point.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// By term, sorted. A term that is not here has any value of its type.
    pub ranges: Vec<(Term, Range)>,
    /// `(a, b, c)`: `a - b <= c`, sorted by terms. Numbers are mathematical: nothing wraps here.
    pub differences: Vec<(Term, Term, i128)>,
    /// `(e, x)`: the expression's value over the terms' values of now is that of `x`.
    pub holds: Vec<(ExprId, Term)>,
    /// Control does not get here: a call before this in the block does not return.
    pub stopped: bool,
}

impl State {
    /// The range of a term.
    pub fn range(&self, term: Term, types: &[Range]) -> Range {
        match self.ranges.binary_search_by_key(&term, |r| r.0) {
            Ok(at) => self.ranges.get(at).map_or(Range::single(0), |r| r.1),
            Err(_) => types.get(term as usize).copied().unwrap_or(Range::new(i128::MIN >> 20, i128::MAX >> 20)),
        }
    }

    /// Sets the range of a term.
    pub fn set_range(&mut self, term: Term, range: Range, types: &[Range]) {
        if term == ZERO {
            return;
        }
        let whole = types.get(term as usize).is_some_and(|t| *t == range);
        match self.ranges.binary_search_by_key(&term, |r| r.0) {
            Ok(at) if whole => drop(self.ranges.remove(at)),
            Ok(at) => {
                if let Some(slot) = self.ranges.get_mut(at) {
                    slot.1 = range;
                }
            }
            Err(_) if whole => {}
            Err(at) => self.ranges.insert(at, (term, range)),
        }
    }

    /// Forgets everything about the terms that `gone` says, but keeps what follows for others:
    /// `a - x <= c` and `x - b <= d` are `a - b <= c + d` when `x` is eliminated (Fourier-Motzkin).
    pub fn forget(&mut self, gone: impl Fn(Term) -> bool, mentions: impl Fn(ExprId) -> bool, types: &[Range]) {
        let mut going: Vec<Term> = self.differences.iter().flat_map(|d| [d.0, d.1]).filter(|&t| gone(t)).collect();
        going.sort_unstable();
        going.dedup();
        for term in going {
            self.eliminate(term, types);
        }
        self.ranges.retain(|r| !gone(r.0));
        self.differences.retain(|d| !gone(d.0) && !gone(d.1));
        self.holds.retain(|h| !gone(h.1) && !mentions(h.0));
    }

    /// Gives the range of a term to those that are equal to it.
    pub fn spread(&mut self, term: Term, types: &[Range]) {
        let range = self.range(term, types);
        let equal = |d: &&(Term, Term, i128)| d.0 == term && d.2 == 0 && self.bound_at_once(d.1, term, types) <= 0;
        let others: Vec<Term> = self.differences.iter().filter(equal).map(|d| d.1).collect();
        for other in others {
            let own = self.range(other, types);
            if let Some(both) = own.at_least(range.lo).and_then(|r| r.at_most(range.hi)).filter(|r| *r != own) {
                self.set_range(other, both, types);
            }
        }
    }

    /// Takes a term out of the differences. What is known of its range is passed on to the terms
    /// that are bounded against it.
    fn eliminate(&mut self, term: Term, types: &[Range]) {
        let own = self.range(term, types);
        let below: Vec<(Term, i128)> = self.differences.iter().filter(|d| d.1 == term).map(|d| (d.0, d.2)).collect();
        let above: Vec<(Term, i128)> = self.differences.iter().filter(|d| d.0 == term).map(|d| (d.1, d.2)).collect();
        self.differences.retain(|d| d.0 != term && d.1 != term);
        for &(a, c) in &below {
            self.tighten(a, |r| r.at_most(own.hi.saturating_add(c)), types);
        }
        for &(b, d) in &above {
            self.tighten(b, |r| r.at_least(own.lo.saturating_sub(d)), types);
        }
        if below.len() * above.len() > MOST_PAIRS {
            return;
        }
        for &(a, c) in &below {
            for &(b, d) in above.iter().filter(|x| x.0 != a) {
                if c + d < self.bound_at_once(a, b, types) {
                    self.note(a, b, c + d);
                }
            }
        }
    }

    fn tighten(&mut self, term: Term, to: impl Fn(Range) -> Option<Range>, types: &[Range]) {
        let known = self.range(term, types);
        if let Some(range) = to(known).filter(|&r| r != known) {
            self.set_range(term, range, types);
        }
    }

    /// The bound of `a - b` that is noted, or that their ranges give.
    fn bound_at_once(&self, a: Term, b: Term, types: &[Range]) -> i128 {
        let noted = self.differences.binary_search_by_key(&(a, b), |d| (d.0, d.1)).ok();
        let noted = noted.and_then(|at| self.differences.get(at)).map_or(WORTHLESS + 1, |d| d.2);
        noted.min(self.range(a, types).hi - self.range(b, types).lo)
    }

    /// Writes `a - b <= c` down.
    fn note(&mut self, a: Term, b: Term, c: i128) {
        match self.differences.binary_search_by_key(&(a, b), |d| (d.0, d.1)) {
            Ok(at) => {
                if let Some(slot) = self.differences.get_mut(at) {
                    slot.2 = slot.2.min(c);
                }
            }
            Err(at) if self.differences.len() < MOST_DIFFERENCES => self.differences.insert(at, (a, b, c)),
            Err(_) => {}
        }
    }

    /// Notes `a - b <= c`; `false` if that contradicts what is known.
    pub fn add(&mut self, a: Term, b: Term, c: i128, types: &[Range]) -> bool {
        if a == b {
            return c >= 0;
        }
        let (ra, rb) = (self.range(a, types), self.range(b, types));
        let Some(new_a) = ra.at_most(rb.hi.saturating_add(c)) else { return false };
        let Some(new_b) = rb.at_least(ra.lo.saturating_sub(c)) else { return false };
        if new_a != ra {
            self.set_range(a, new_a, types);
        }
        if new_b != rb {
            self.set_range(b, new_b, types);
        }
        if a == ZERO || b == ZERO || c > WORTHLESS {
            return true;
        }
        self.note(a, b, c);
        true
    }

    /// Notes `a - b == c`.
    pub fn add_equal(&mut self, a: Term, b: Term, c: i128, types: &[Range]) -> bool {
        self.add(a, b, c, types) && self.add(b, a, -c, types)
    }

    /// The least bound of `a - b` that follows in a few steps.
    pub fn bound(&self, a: Term, b: Term, types: &[Range]) -> i128 {
        if a == b {
            return 0;
        }
        let mut best = self.range(a, types).hi - self.range(b, types).lo;
        // `a <= x + c` for each of these, found in so many steps.
        let mut reached: SmallVec<[(Term, i128, usize); 12]> = smallvec![(a, 0, 0)];
        let mut next = 0;
        while let Some(&(x, to_x, steps)) = reached.get(next) {
            next += 1;
            if steps >= DEPTH || next > MOST_STEPS {
                continue;
            }
            let first = self.differences.partition_point(|d| d.0 < x);
            for &(_, y, c) in self.differences.iter().skip(first).take_while(|d| d.0 == x) {
                let sum = to_x + c;
                // A shorter path found later is put in once more.
                if reached.iter().all(|r| r.0 != y || r.1 > sum) {
                    reached.push((y, sum, steps + 1));
                }
            }
        }
        // The least value of `b`, or of what `b` is known to be at least.
        let mut least = self.range(b, types).lo;
        let about_b: &[(Term, Term, i128)] = if b == ZERO { &[] } else { &self.differences };
        for &(x, y, c) in about_b {
            if y == b {
                least = least.max(self.range(x, types).lo - c);
            }
        }
        for &(x, c, _) in &reached {
            best = best.min(if x == b { c } else { self.range(x, types).hi + c - least });
        }
        best
    }

    /// The largest value that a term may have.
    pub fn upper(&self, a: Term, types: &[Range]) -> i128 {
        self.bound(a, ZERO, types)
    }

    /// The least value that a term may have.
    pub fn lower(&self, a: Term, types: &[Range]) -> i128 {
        -self.bound(ZERO, a, types)
    }

    /// The term that holds the expression.
    pub fn holder(&self, expr: ExprId) -> Option<Term> {
        self.holds.iter().find(|h| h.0 == expr).map(|h| h.1)
    }

    /// The expressions that the term holds.
    pub fn held_by(&self, term: Term) -> impl Iterator<Item = ExprId> + '_ {
        self.holds.iter().filter(move |h| h.1 == term).map(|h| h.0)
    }

    /// Notes that the term holds the expression.
    pub fn hold(&mut self, expr: ExprId, term: Term) {
        if let Err(at) = self.holds.binary_search(&(expr, term)) {
            self.holds.insert(at, (expr, term));
        }
    }

    /// Joins `from` into this. `widen`: what still grows moves to the next threshold, or is given
    /// up.
    pub fn join(&mut self, from: &State, types: &[Range], widen: bool, thresholds: &[i128]) -> bool {
        let mut differences = Vec::with_capacity(self.differences.len());
        for &(a, b, c) in &self.differences {
            let there = from.bound(a, b, types);
            if there <= c {
                differences.push((a, b, c));
            } else if !widen {
                push_unless_trivial(&mut differences, a, b, there, types);
            }
        }
        if !widen {
            let own = differences.len();
            for &(a, b, c) in &from.differences {
                if self.differences.binary_search_by_key(&(a, b), |d| (d.0, d.1)).is_err() {
                    push_unless_trivial(&mut differences, a, b, c.max(self.bound(a, b, types)), types);
                }
            }
            if differences.len() > own {
                differences.sort_unstable();
                differences.truncate(MOST_DIFFERENCES);
            }
        }
        let mut ranges = Vec::with_capacity(self.ranges.len());
        for &(term, range) in &self.ranges {
            let there = from.range(term, types);
            let mut sum = range.hull(there);
            if sum != range && source::broken!(35) {
                sum = range;
            }
            if widen {
                sum = widened(range, sum, types.get(term as usize).copied().unwrap_or(sum), thresholds);
            }
            if types.get(term as usize) != Some(&sum) {
                ranges.push((term, sum));
            }
        }
        let held = self.holds.len();
        self.holds.retain(|h| from.holds.binary_search(h).is_ok());
        let changed = held != self.holds.len() || differences != self.differences || ranges != self.ranges;
        self.differences = differences;
        self.ranges = ranges;
        changed
    }
}

/// `sum`, which a range grew to, with the sides that moved at the next threshold, or at the end of
/// the type.
fn widened(range: Range, sum: Range, whole: Range, thresholds: &[i128]) -> Range {
    let mut wide = sum;
    if sum.hi > range.hi {
        let next = thresholds.iter().copied().find(|&t| t >= sum.hi);
        wide.hi = next.filter(|&t| t <= whole.hi).unwrap_or(whole.hi);
    }
    if sum.lo < range.lo {
        let next = thresholds.iter().rev().copied().find(|&t| t <= sum.lo);
        wide.lo = next.filter(|&t| t >= whole.lo).unwrap_or(whole.lo);
    }
    // Strides are counted from the least number, which must not have moved off it.
    let off = (wide.lo - range.lo) % i128::from(wide.step.max(1)) != 0;
    wide = Range::strided(wide.lo, wide.hi, if off { 1 } else { wide.step.max(1) });
    if wide.hi < sum.hi {
        wide = Range::new(wide.lo, sum.hi);
    }
    wide
}

fn push_unless_trivial(into: &mut Vec<(Term, Term, i128)>, a: Term, b: Term, c: i128, types: &[Range]) {
    let all = |t: Term| types.get(t as usize).copied();
    let trivial = c > WORTHLESS || matches!((all(a), all(b)), (Some(a), Some(b)) if c >= a.hi - b.lo);
    if !trivial {
        into.push((a, b, c));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(n: usize) -> Vec<Range> {
        let mut types = vec![Range::new(0, (1 << 32) - 1); n];
        types[0] = Range::single(0);
        types
    }

    #[test]
    fn differences_chain() {
        let types = types(5);
        let mut s = State::default();
        assert!(s.add(1, 2, -1, &types) && s.add(2, 3, 0, &types));
        assert_eq!(s.bound(1, 3, &types), -1);
        assert_eq!(s.upper(1, &types), (1 << 32) - 2);
        assert_eq!(s.lower(3, &types), 1);
        assert!(!s.add(3, 1, 0, &types) || s.bound(3, 1, &types) <= 0);
    }

    #[test]
    fn what_goes_leaves_its_conclusions() {
        let types = types(5);
        let mut s = State::default();
        assert!(s.add(1, 2, -1, &types) && s.add(2, 3, -2, &types) && s.add(4, 2, 5, &types));
        s.forget(|t| t == 2, |_| false, &types);
        assert_eq!(s.differences, [(1, 3, -3), (4, 3, 3)]);
        // Two in a row.
        let mut s = State::default();
        assert!(s.add(1, 2, 0, &types) && s.add(2, 3, 0, &types) && s.add(3, 4, -7, &types));
        s.forget(|t| t == 2 || t == 3, |_| false, &types);
        assert_eq!(s.differences, [(1, 4, -7)]);
    }

    #[test]
    fn a_join_keeps_what_both_know() {
        let types = types(5);
        let (mut a, mut b) = (State::default(), State::default());
        a.set_range(1, Range::single(0), &types);
        b.add(1, 2, 0, &types);
        assert!(a.join(&b, &types, false, &[]));
        assert_eq!(a.bound(1, 2, &types), 0);
        let mut c = a.clone();
        c.differences[0].2 = 1;
        assert!(a.join(&c, &types, true, &[]));
        assert_eq!(a.differences, []);
    }

    #[test]
    fn widening_stops_at_thresholds() {
        let types = types(2);
        let (mut a, mut b) = (State::default(), State::default());
        a.set_range(1, Range::single(0), &types);
        b.set_range(1, Range::new(0, 1), &types);
        assert!(a.join(&b, &types, true, &[10]));
        assert_eq!(a.range(1, &types), Range::new(0, 10));
        b.set_range(1, Range::new(0, 11), &types);
        assert!(a.join(&b, &types, true, &[10]));
        assert_eq!(a.range(1, &types), types[1]);
    }
}
