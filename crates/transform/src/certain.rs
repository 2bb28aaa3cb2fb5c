//! Checks that always fail where they are reached: such a mistake need not wait for a run to be
//! found, so a warning reports it.
//!
//! Needs: `flow::ranges`. Changes nothing: the check stays, and fails when it is reached.

use crate::codes;
use flow::ranges::{Range, View};
use mir::ir::*;
use source::{Diagnostic, Span};

/// The warning for a check, if no values that reach it pass.
pub fn warning(view: &View, check: &Check, span: Span) -> Option<Diagnostic> {
    let message = if let Some(bounds) = check.bounds() {
        outside(view, bounds.index, bounds.count)?
    } else if let Some((_, by)) = check.as_divide() {
        let by = range(view, by)?;
        (by.lo == 0 && by.hi == 0).then(|| "this divides by zero".to_string())?
    } else {
        let (want, have) = check.as_enough()?;
        let (wanted, there) = (range(view, want)?, range(view, have)?);
        let short = wanted.lo > 0 && there.hi < wanted.lo;
        short.then(|| format!("{} elements wanted, out of bounds for length {}", least(wanted), shown(there)))?
    };
    let warning = Diagnostic::warning(codes::CERTAIN, span, format!("{message}: this faults whenever it runs"));
    let element = check.as_element().filter(|e| range(view, &e.count).is_none_or(|r| r.lo != r.hi));
    // A string was measured, with its zero.
    let string = check.bounds().filter(|bounds| range(view, bounds.count).is_some_and(|r| r.lo == 1 && r.hi > 1));
    let index = element.map(|e| &e.index).or(string.map(|bounds| bounds.index));
    let before = index.and_then(|index| range(view, index)).is_some_and(|r| r.hi < 0);
    Some(match before {
        true => warning.help("a pointer without bounds behind it cannot go back: declare it `fat`, or `fat null_terminated` if it is a string"),
        false => warning,
    })
}

fn outside(view: &View, index: &Operand, length: &Operand) -> Option<String> {
    let (at, count) = (range(view, index)?, range(view, length)?);
    // Relations that contradict each other: nothing comes here.
    if view.is_within(index, length) {
        return None;
    }
    let beyond = at.lo >= count.hi || view.difference(length, index).is_some_and(|d| d <= 0);
    if at.hi >= 0 && !beyond {
        return None;
    }
    Some(format!("index {} is out of bounds for length {}", shown(at), shown(count)))
}

/// The values of an operand where it is reached; none if nothing reaches it.
fn range(view: &View, operand: &Operand) -> Option<Range> {
    view.value(operand).filter(|r| r.lo <= r.hi)
}

/// How many at least.
fn least(range: Range) -> String {
    let more = if range.lo == range.hi { "" } else { " or more" };
    format!("{}{more}", range.lo)
}

/// A range as people write it, after a noun.
fn shown(range: Range) -> String {
    let huge = i128::from(i64::MAX) - 1;
    match range {
        Range { lo, hi, .. } if lo == hi => format!("{lo}"),
        Range { lo, hi, .. } if lo <= 0 && hi < huge => format!("of at most {hi}"),
        Range { lo, hi, .. } if hi < huge => format!("of {lo} to {hi}"),
        Range { lo, .. } if lo > 0 => format!("of at least {lo}"),
        _ => "of any value".to_string(),
    }
}
