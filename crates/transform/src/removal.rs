//! Checks that cannot fail are removed; what is proven of the others makes them cheaper.
//!
//! Needs: `flow::ranges`. Changes: checks become `Nop`, or lose tests. Guarantees: a check that is
//! gone would not have failed, on any run (`tests/random.rs` and the differential fuzzer look for
//! one that would).

use crate::certain;
use crate::known_null;
use crate::params::Passed;
use crate::report::{self, Remaining, Report};
use crate::uses;
use flow::framework::{Item, Point};
use flow::ranges::{Range, Ranges, Summaries, View};
use mir::ir::*;
use source::Diagnostic;

/// What is to be done with a check.
enum Verdict {
    Gone,
    Cheaper {
        may_be_null: bool,
        may_be_negative: bool,
        is_below: bool,
        sign: Sign,
    },
    /// Arithmetic of counts that passes no end.
    Plain,
}

/// A function's name as the source has it, with its type arguments.
fn shown_name(program: &Program, body: &Body) -> String {
    let name = program.functions.get(body.func.func.0 as usize).map_or("?".to_string(), |f| f.name.to_string());
    let args: Vec<String> = body.func.args.iter().map(|&arg| program.types.show(arg)).collect();
    match args.is_empty() {
        true => name,
        false => format!("{name}<{}>", args.join(", ")),
    }
}

/// Removes checks of a body that is called `with` this, says of the others why they remain if
/// `explain`, and notes what the function returns. Arithmetic of counts that cannot overflow becomes
/// plain; for its sake alone a body is looked at only if `release`.
pub fn run(
    program: &Program,
    body: &mut Body,
    with: &Passed,
    summaries: &mut Summaries,
    (explain, release): (bool, bool),
    report: &mut Report,
) {
    let any = |test: fn(&StmtKind) -> bool| body.blocks.iter().flat_map(|b| &b.stmts).any(|s| test(&s.kind));
    let counts = release && any(|k| k.value().is_some_and(|v| v.as_count_arith().is_some()));
    let checks =
        any(|k| k.as_check().is_some_and(Check::is_ranged)) || counts || explain && any(|k| k.as_check().is_some());
    let nulls = known_null::may_have(body);
    let summary = Summaries::wants(program, body);
    if !checks && !summary && !nulls {
        return;
    }
    let func = shown_name(program, body);
    let mut verdicts: Vec<(Point, Verdict)> = vec![];
    let mut returned = None;
    // Of each block the first: what comes after it is not reached.
    let mut known: Vec<(Point, Stmt)> = vec![];
    let mut certain: Vec<Diagnostic> = vec![];
    // Whether some check is not reached.
    let mut doubtful = false;
    {
        let Some(ranges) = Ranges::called_with(program, body, summaries, &with.values, &with.apart) else { return };
        if summary {
            returned = Summaries::summarise(program, body, &ranges);
        }
        if checks || nulls {
            ranges.visit(&mut |at, view, item| {
                if nulls && known.last().is_none_or(|k| k.0.block != at.block) {
                    known.extend(known_null::check(program, body, &view, item).map(|check| (at, check)));
                }
                let Item::Stmt(Stmt { kind, span, .. }) = item else { return };
                if let Some((op, a, b)) = kind.value().and_then(Rvalue::as_count_arith) {
                    verdicts.extend(fits(&view, op, a, b).then_some((at, Verdict::Plain)));
                }
                let Some(check) = kind.as_check() else { return };
                let verdict = judge(program, body, &view, check);
                if body.func.args.is_empty() && verdict.is_none() {
                    certain.extend(certain::warning(&view, check, *span));
                }
                let what = check.subject().filter(|_| explain).map(Subject::word);
                if let (Some(what), false) = (what, matches!(verdict, Some(Verdict::Gone))) {
                    let why = report::why(body, &view, check);
                    report.remaining.push(Remaining { func: func.clone(), span: *span, what, why, versioned: false });
                }
                report.made += usize::from(check.subject().is_some());
                verdicts.extend(verdict.map(|v| (at, v)));
            });
            let dead = unreached(body, &ranges);
            doubtful = !dead.is_empty();
            report.made += dead.len();
            verdicts.extend(dead);
        }
    }
    if *with != Passed::default() && (doubtful || !certain.is_empty()) {
        certain = whoever_calls(program, body, summaries);
    }
    report.warnings.extend(certain);
    if let Some(range) = returned {
        summaries.note(&body.func, range);
    }
    for (at, verdict) in verdicts {
        let stmt = body.blocks.get_mut(at.block.0 as usize).and_then(|b| b.stmts.get_mut(at.stmt));
        let Some(stmt) = stmt else { continue };
        match verdict {
            Verdict::Gone => {
                stmt.remove();
                report.removed += 1;
            }
            Verdict::Cheaper { may_be_null, may_be_negative, is_below, sign } => {
                if let Some(e) = stmt.kind.as_check_mut().and_then(Check::as_element_mut) {
                    e.may_be_null = may_be_null;
                    e.may_be_negative = may_be_negative;
                    e.is_below = is_below;
                    e.sign = sign;
                }
            }
            Verdict::Plain => uses::plain(&mut stmt.kind, program.types.common.long),
        }
    }
    for (at, check) in known {
        if let Some(block) = body.blocks.get_mut(at.block.0 as usize) {
            block.stmts.insert(at.stmt.min(block.stmts.len()), check);
        }
    }
}

/// The checks that nothing reaches.
fn unreached(body: &Body, ranges: &Ranges) -> Vec<(Point, Verdict)> {
    let mut found = vec![];
    for (n, block) in body.blocks.iter().enumerate() {
        let id = BlockId(n as u32);
        if ranges.is_reached(id) {
            continue;
        }
        for (stmt, s) in block.stmts.iter().enumerate() {
            if s.kind.as_check().is_some_and(|check| check.subject().is_some()) {
                found.push((Point { block: id, stmt }, Verdict::Gone));
            }
        }
    }
    found
}

/// The warnings that do not depend on how the function is called: it is not wrong because of the
/// calls that there are, and is if one is left out.
fn whoever_calls(program: &Program, body: &Body, summaries: &Summaries) -> Vec<Diagnostic> {
    let mut always = vec![];
    let ranges = Ranges::of(program, body, summaries).filter(|_| body.func.args.is_empty());
    let Some(ranges) = ranges else { return always };
    ranges.visit(&mut |_, view, item| {
        let Item::Stmt(Stmt { kind, span, .. }) = item else { return };
        let check = kind.as_check().filter(|check| judge(program, body, &view, check).is_none());
        always.extend(check.and_then(|check| certain::warning(&view, check, *span)));
    });
    always
}

/// Whether the result is a number of 64 bits, with a sign.
fn fits(view: &View, op: BinOp, a: &Operand, b: &Operand) -> bool {
    let (Some(a), Some(b)) = (view.value(a), view.value(b)) else { return false };
    let ends = |f: fn(i128, i128) -> i128| [f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)];
    let ends = match op {
        BinOp::Add => ends(|a, b| a + b),
        BinOp::Sub => ends(|a, b| a - b),
        BinOp::Mul => ends(|a, b| a * b),
        _ => return false,
    };
    ends.iter().all(|&n| i64::try_from(n).is_ok())
}

fn judge(program: &Program, body: &Body, view: &View, check: &Check) -> Option<Verdict> {
    if let Some(e) = check.as_element() {
        return judge_element(program, body, view, e);
    }
    let is_nothing = |n: &Operand| view.value(n).is_some_and(|r| r.hi <= 0);
    let is_at_most = |a: &Operand, b: &Operand| view.difference(a, b).is_some_and(|d| d <= 0);
    let holds = if let Some(bounds) = check.bounds() {
        view.is_within(bounds.index, bounds.count)
    } else if let Some((a, b)) = check.as_divide() {
        divides(program, body, view, a, b)
    } else if let Some((want, have)) = check.as_enough() {
        is_nothing(want) || is_at_most(want, have)
    } else if let Some((new, there)) = check.as_count() {
        // The old count is compared as a signed number, or as an unsigned one if the new count is
        // unsigned.
        let counted = view.value(there).is_some_and(|r| r.lo >= 0);
        is_nothing(new) || counted && is_at_most(new, there)
    } else if let Some(pointer) = check.as_not_null() {
        view.is_nonnull(pointer)
    } else if let Some((tag, values, _)) = check.as_tag_value() {
        let range = view.value(tag)?;
        let few = range.hi.checked_sub(range.lo).is_some_and(|n| n < 64);
        few && (range.lo..=range.hi).all(|n| !range.contains(n) || values.contains(&n))
    } else {
        false
    };
    holds.then_some(Verdict::Gone)
}

fn judge_element(program: &Program, body: &Body, view: &View, e: &ElementCheck) -> Option<Verdict> {
    let may_be_null = e.may_be_null && !view.is_nonnull(&e.base);
    let may_be_negative = e.may_be_negative && view.value(&e.count).is_none_or(|r| r.lo < 0);
    if !may_be_null && view.is_within(&e.index, &e.count) {
        return Some(Verdict::Gone);
    }
    // Then a count below 0 would make a negative index.
    let is_below = view.difference(&e.index, &e.count).is_some_and(|d| d < 0) && is_signed(program, body, &e.index);
    let may_be_negative = may_be_negative && !is_below;
    let sign = if may_be_negative { sign(view, e) } else { Sign::Unknown };
    let cheaper = may_be_null != e.may_be_null || may_be_negative != e.may_be_negative || is_below || sign != e.sign;
    cheaper.then_some(Verdict::Cheaper { may_be_null, may_be_negative, is_below, sign })
}

/// What makes a comparison of signed numbers enough.
fn sign(view: &View, e: &ElementCheck) -> Sign {
    let (Some(index), Some(count)) = (view.value(&e.index), view.value(&e.count)) else { return Sign::Unknown };
    let ints = Range::new(i32::MIN.into(), i32::MAX.into());
    // An index of 64 bits without a sign is taken as one with a sign.
    if index.lo >= 0 && index.hi <= i64::MAX.into() {
        Sign::Natural
    } else if ints.covers(index) && ints.covers(count) {
        Sign::Narrow
    } else {
        Sign::Unknown
    }
}

/// Whether it is a number of a signed type of its own: a test for a negative one sees it.
fn is_signed(program: &Program, body: &Body, operand: &Operand) -> bool {
    let ty = mir::ty::operand_ty(program, body, operand).ok();
    ty.and_then(|ty| program.types.as_int(ty)).is_some_and(|kind| kind.signed())
}

fn divides(program: &Program, body: &Body, view: &View, a: &Operand, b: &Operand) -> bool {
    let Some(by) = view.value(b) else { return false };
    if by.contains(0) {
        return false;
    }
    let Ok(ty) = mir::ty::operand_ty(program, body, b) else { return false };
    let Some(kind) = program.types.as_int(ty) else { return false };
    let least = -(1i128 << (kind.size() * 8 - 1).min(126));
    !kind.signed() || !by.contains(-1) || view.value(a).is_some_and(|r| r.lo > least)
}
