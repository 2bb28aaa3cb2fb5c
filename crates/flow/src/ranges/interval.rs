//! Sets of integers: an interval and a stride.

/// The numbers `lo`, `lo + step`, ... up to `hi`; `step` 0 is the single number `lo`. Never empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least.
    pub lo: i128,
    /// The largest.
    pub hi: i128,
    /// Their distance.
    pub step: u64,
}

/// Bounds of what is computed here: far outside of 64 bits, so that sums of a few do not overflow.
const FAR: i128 = 1 << 100;

impl Range {
    /// All of `lo..=hi`.
    pub fn new(lo: i128, hi: i128) -> Range {
        Range { lo, hi, step: u64::from(lo != hi) }
    }

    /// One number.
    pub fn single(n: i128) -> Range {
        Range { lo: n, hi: n, step: 0 }
    }

    /// With a stride; `hi` is rounded down to it.
    pub fn strided(lo: i128, hi: i128, step: u64) -> Range {
        if lo >= hi || step == 0 {
            return Range::single(lo);
        }
        let hi = hi - (hi - lo) % i128::from(step);
        Range { lo, hi, step: if lo == hi { 0 } else { step } }
    }

    /// The one number, if it is one.
    pub fn constant(self) -> Option<i128> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether all of `other` is in this interval (strides aside).
    pub fn covers(self, other: Range) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// Whether the number is in the set.
    pub fn contains(self, n: i128) -> bool {
        self.lo <= n && n <= self.hi && (self.step == 0 || (n - self.lo) % i128::from(self.step) == 0)
    }

    /// The smallest such set that holds both.
    pub fn hull(self, other: Range) -> Range {
        let apart = u64::try_from((self.lo - other.lo).unsigned_abs()).unwrap_or(1);
        let step = gcd(gcd(self.step, other.step), apart);
        Range::strided(self.lo.min(other.lo), self.hi.max(other.hi), step)
    }

    /// What lies at or below `hi`; `None` if nothing does.
    pub fn at_most(self, hi: i128) -> Option<Range> {
        if hi >= self.hi {
            return Some(self);
        }
        (hi >= self.lo).then(|| Range::strided(self.lo, hi, self.step))
    }

    /// What lies at or above `lo`.
    pub fn at_least(self, lo: i128) -> Option<Range> {
        if lo <= self.lo {
            return Some(self);
        }
        if lo > self.hi {
            return None;
        }
        let step = i128::from(self.step.max(1));
        let up = self.lo + (lo - self.lo + step - 1) / step * step;
        (up <= self.hi).then(|| Range::strided(up, self.hi, self.step))
    }

    /// What is left without one number; only ends can be cut off.
    pub fn without(self, n: i128) -> Option<Range> {
        if self.constant() == Some(n) {
            return None;
        }
        if n == self.lo {
            return self.at_least(n + 1);
        }
        if n == self.hi {
            return self.at_most(n - 1);
        }
        Some(self)
    }

    /// Sums.
    pub fn plus(self, other: Range) -> Range {
        far(self.lo + other.lo, self.hi + other.hi, gcd(self.step, other.step))
    }

    /// Differences.
    pub fn minus(self, other: Range) -> Range {
        far(self.lo - other.hi, self.hi - other.lo, gcd(self.step, other.step))
    }

    /// Products.
    pub fn times(self, other: Range) -> Range {
        let step = match (self.constant(), other.constant()) {
            (Some(n), _) => scaled(other.step, n),
            (_, Some(n)) => scaled(self.step, n),
            _ => 1,
        };
        let (lo, hi) = corners(self, other, |a, b| a.saturating_mul(b));
        far(lo, hi, step)
    }

    /// Quotients, rounded towards zero. The divisor's 0 is left out; `None` if it contains nothing
    /// else.
    pub fn over(self, by: Range) -> Option<Range> {
        let parts = [by.at_most(-1), by.at_least(1)];
        let mut out: Option<Range> = None;
        for part in parts.into_iter().flatten() {
            let (lo, hi) = corners(self, part, |a, b| a / b);
            let (lo, hi) = if self.contains_zero() { (lo.min(0), hi.max(0)) } else { (lo, hi) };
            let piece = Range::new(lo, hi);
            out = Some(out.map_or(piece, |o| o.hull(piece)));
        }
        out
    }

    /// Remainders, with the dividend's sign.
    pub fn remainder(self, by: Range) -> Range {
        let most = (by.lo.abs().max(by.hi.abs()) - 1).max(0);
        let lo = if self.lo >= 0 { 0 } else { (-most).max(self.lo) };
        let hi = if self.hi <= 0 { 0 } else { most.min(self.hi) };
        // Of a number below the least divisor nothing is taken.
        if self.lo >= 0 && by.lo > self.hi {
            return self;
        }
        Range::new(lo, hi)
    }

    fn contains_zero(self) -> bool {
        self.lo <= 0 && self.hi >= 0
    }
}

fn corners(a: Range, b: Range, f: impl Fn(i128, i128) -> i128) -> (i128, i128) {
    let all = [f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)];
    let lo = all.iter().copied().min().unwrap_or(0);
    let hi = all.iter().copied().max().unwrap_or(0);
    (lo, hi)
}

fn far(lo: i128, hi: i128, step: u64) -> Range {
    if lo < -FAR || hi > FAR {
        return Range::new(lo.max(-FAR), hi.min(FAR));
    }
    Range::strided(lo, hi, step)
}

fn scaled(step: u64, by: i128) -> u64 {
    u64::try_from(by.unsigned_abs()).ok().and_then(|n| n.checked_mul(step)).unwrap_or(1)
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_kept() {
        let a = Range::strided(0, 10, 4);
        assert_eq!(a, Range { lo: 0, hi: 8, step: 4 });
        assert!(a.contains(4) && !a.contains(6));
        assert_eq!(a.hull(Range::single(2)), Range { lo: 0, hi: 8, step: 2 });
        assert_eq!(a.plus(Range::single(1)), Range { lo: 1, hi: 9, step: 4 });
        assert_eq!(a.times(Range::single(3)), Range { lo: 0, hi: 24, step: 12 });
        assert_eq!(a.at_least(1), Some(Range { lo: 4, hi: 8, step: 4 }));
        assert_eq!(a.at_most(7), Some(Range { lo: 0, hi: 4, step: 4 }));
        assert_eq!(a.without(8), Some(Range { lo: 0, hi: 4, step: 4 }));
        assert_eq!(Range::single(3).without(3), None);
        assert_eq!(Range::single(3).hull(Range::single(3)), Range::single(3));
        assert_eq!(Range::single(3).hull(Range::single(7)), Range { lo: 3, hi: 7, step: 4 });
    }

    #[test]
    fn division_rounds_to_zero() {
        let r = Range::new;
        assert_eq!(r(-7, 7).over(Range::single(2)), Some(r(-3, 3)));
        assert_eq!(r(10, 20).over(r(0, 5)), Some(r(2, 20)));
        assert_eq!(r(10, 20).over(Range::single(0)), None);
        assert_eq!(r(1, 9).over(r(-1, 1)), Some(r(-9, 9)));
        assert_eq!(r(-7, 100).remainder(Range::single(8)), r(-7, 7));
        assert_eq!(r(0, 100).remainder(r(0, 8)), r(0, 7));
        assert_eq!(r(0, 3).remainder(Range::single(8)), r(0, 3));
    }

    /// Every result of an operation on members is a member of the result.
    #[test]
    fn results_hold_what_members_give() {
        let sets: Vec<Range> = [(-3, 4, 1), (0, 6, 2), (5, 5, 0), (-8, -2, 3), (0, 1, 1)]
            .into_iter()
            .map(|(lo, hi, step)| Range::strided(lo, hi, step))
            .collect();
        for &a in &sets {
            for &b in &sets {
                for x in (-10..10).filter(|&x| a.contains(x)) {
                    assert!(a.hull(b).contains(x));
                    for y in (-10..10).filter(|&y| b.contains(y)) {
                        assert!(a.plus(b).contains(x + y) && a.minus(b).contains(x - y), "{a:?} {b:?} {x} {y}");
                        assert!(a.times(b).contains(x * y), "{a:?} {b:?} {x} {y}");
                        if y != 0 {
                            assert!(a.over(b).is_some_and(|r| r.contains(x / y)), "{a:?} {b:?} {x} {y}");
                            assert!(a.remainder(b).contains(x % y), "{a:?} {b:?} {x} {y}");
                        }
                    }
                }
            }
        }
    }
}
