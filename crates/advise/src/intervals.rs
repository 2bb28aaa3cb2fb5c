//! Intervals of what functions return, bottom-up, and of what they are called with, top-down; both
//! over recursion.
//!
//! A fixed point is computed upwards: first nothing is known to return or to be called, and what
//! the analysis of a body finds under that supposition is joined in until nothing changes. What
//! then holds under itself holds on every run, by induction on the number of calls that were made
//! (parameters) or have ended (results). Intervals that keep growing are widened (`widened`), and
//! one round downwards takes back what the widening gave away (Cousot and Cousot, "Abstract
//! interpretation").

pub mod parameters;
pub mod results;

use flow::ranges::Range;

/// How often an interval may grow by what was found with it, before it is widened.
const PATIENCE: u32 = 3;

/// Bounds that a growing interval is widened to, besides those of the widest types: those of types,
/// and zero.
const LEAST: [i128; 4] = [0, i8::MIN as i128, i16::MIN as i128, i32::MIN as i128];
const MOST: [i128; 6] =
    [i8::MAX as i128, u8::MAX as i128, u16::MAX as i128, i32::MAX as i128, u32::MAX as i128, i64::MAX as i128];

/// An interval that holds both, of few that there are.
fn widened(old: Range, both: Range) -> Range {
    let below = |n: i128| LEAST.into_iter().find(|&k| k <= n).unwrap_or(i128::from(i64::MIN));
    let above = |n: i128| MOST.into_iter().find(|&k| k >= n).unwrap_or(i128::from(u64::MAX));
    let lo = if both.lo < old.lo { below(both.lo) } else { both.lo };
    let hi = if both.hi > old.hi { above(both.hi) } else { both.hi };
    Range::new(lo, hi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_ends_at_the_bounds_of_types() {
        let mut down = Range::single(40);
        let mut steps = 0;
        while down.lo > i128::from(i64::MIN) {
            down = widened(down, Range::new(down.lo - 1, 40));
            steps += 1;
            assert!(steps < 10);
        }
        assert_eq!(down.hi, 40);
        assert_eq!(widened(Range::single(8), Range::strided(8, 16, 8)), Range::new(8, 127));
    }
}
