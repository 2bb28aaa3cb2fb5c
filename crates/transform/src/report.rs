//! `--emit checks`: which checks remain, and why.

use crate::codes;
use crate::stack::{Outcome, Placed, TOO_LARGE};
use flow::ranges::{Range, View};
use mir::ir::*;
use source::{Diagnostic, SourceMap, Span};
use std::fmt::Write;

/// A check that remains.
#[derive(Clone, Debug)]
pub struct Remaining {
    /// In which function.
    pub func: String,
    /// Where.
    pub span: Span,
    /// What it tests.
    pub what: &'static str,
    /// Why it could not be removed.
    pub why: String,
    /// It runs only if the test before its loop fails.
    pub versioned: bool,
}

/// Counts, and every check that remains.
#[derive(Debug, Default)]
pub struct Report {
    /// Checks that lowering made.
    pub made: usize,
    /// Checks that were proven and removed.
    pub removed: usize,
    /// Loops that have two versions now.
    pub versions: usize,
    /// What always fails.
    pub warnings: Vec<Diagnostic>,
    /// The others.
    pub remaining: Vec<Remaining>,
    /// What became of unique objects.
    pub placed: Vec<Placed>,
}

impl Report {
    /// What became of unique objects, as notes. Instances of one generic have one.
    pub fn notes(&self) -> Vec<Diagnostic> {
        let mut told: Vec<&Placed> = vec![];
        let mut notes = vec![];
        for placed in &self.placed {
            if told.iter().any(|p| p.span == placed.span && p.outcome == placed.outcome) {
                continue;
            }
            told.push(placed);
            notes.push(match &placed.outcome {
                Outcome::Stack(bytes, freed) => {
                    let text = format!("this object is on the stack: {bytes} bytes");
                    let note = Diagnostic::note_at(codes::PLACED, placed.span, text);
                    freed.iter().fold(note, |note, &at| note.label(at, "its end"))
                }
                Outcome::Heap(why, at) if *at == placed.span => {
                    Diagnostic::note_at(codes::PLACED, placed.span, format!("this object stays in the heap: {why}"))
                }
                Outcome::Heap(why, at) => {
                    Diagnostic::note_at(codes::PLACED, placed.span, "this object stays in the heap")
                        .label(*at, why.clone())
                }
                Outcome::Large { .. } | Outcome::Made { .. } => {
                    let text = format!("this object stays in the heap: {TOO_LARGE}");
                    Diagnostic::note_at(codes::PLACED, placed.span, text)
                }
                Outcome::Reused(freed) => {
                    Diagnostic::note_at(codes::PLACED, placed.span, "this object takes the memory of one that is freed")
                        .label(*freed, "freed here")
                }
            });
        }
        notes
    }

    /// As text: a line for each check, in the order of the source, and the counts.
    pub fn text(&self, map: &SourceMap) -> String {
        let mut lines: Vec<((String, u32, u32), String)> = vec![];
        for r in &self.remaining {
            let at = map.locate(r.span);
            let versioned = if r.versioned { " (only where the test in front of the loop fails)" } else { "" };
            let text = format!("{}:{}:{}: {}: {}: {}{versioned}\n", at.file, at.line, at.column, r.func, r.what, r.why);
            lines.push(((at.file, at.line, at.column), text));
        }
        lines.sort();
        let mut out: String = lines.into_iter().map(|l| l.1).collect();
        let behind = self.remaining.iter().filter(|r| r.versioned).count();
        let _ = writeln!(
            out,
            "{} checks, {} removed, {} remain, {behind} of them in loops with a version without ({} loops)",
            self.made,
            self.removed,
            self.remaining.len(),
            self.versions
        );
        out
    }
}

/// Why a check was not proven.
pub fn why(body: &Body, view: &View, check: &Check) -> String {
    let Some(subject) = check.subject() else { return String::new() };
    match subject {
        Subject::Index => check.bounds().map_or(String::new(), |bounds| not_below(body, view, &bounds)),
        Subject::Bounds => "the pointer moves, or comes with its bounds from elsewhere".into(),
        Subject::Room => check
            .as_enough()
            .map_or(String::new(), |(want, have)| format!("{} wanted, {} there", shown(view, want), shown(view, have))),
        Subject::Null => "the pointer may be null".into(),
        Subject::Division => match check.as_divide().and_then(|(_, by)| view.value(by)) {
            Some(range) if range.contains(0) => "the divisor may be 0".into(),
            _ => "the quotient may be too large".into(),
        },
        Subject::Count => "the count may be larger than what is there".into(),
        Subject::Type => "the pointer's type is known when the program runs".into(),
        Subject::Container => "what the pointer is a part of is known when the program runs".into(),
        Subject::Contract => "the channel's contract is known when the program runs".into(),
        Subject::Tag => "the tag may be another".into(),
        Subject::String | Subject::Terminator | Subject::Step => "what the memory holds is not followed".into(),
        Subject::Cast => "the address or size may not fit".into(),
    }
}

fn not_below(body: &Body, view: &View, bounds: &IndexBounds) -> String {
    let Some(element) = bounds.element else { return outside(body, view, bounds.index, bounds.count) };
    let mut reasons = vec![];
    if !view.is_within(bounds.index, bounds.count) {
        reasons.push(outside(body, view, bounds.index, bounds.count));
    }
    if element.may_be_null && !view.is_nonnull(&element.base) {
        reasons.push("the pointer may be null".to_string());
    }
    reasons.join("; ")
}

fn outside(body: &Body, view: &View, index: &Operand, length: &Operand) -> String {
    let name = name(body, index).map_or("the index".to_string(), |n| format!("`{n}`"));
    let low = match view.value(index) {
        Some(range) if range.lo < 0 => format!("{name} may be negative"),
        _ => String::new(),
    };
    if view.difference(index, length).is_some_and(|d| d < 0) {
        return low;
    }
    let high = format!("{name} ({}) may reach the count ({})", shown(view, index), shown(view, length));
    if low.is_empty() {
        high
    } else {
        format!("{low}, or {}", high.replacen(&name, "it", 1))
    }
}

fn name(body: &Body, operand: &Operand) -> Option<&'static str> {
    let local = operand.place()?.as_local()?;
    body.locals.get(local.0 as usize)?.name.map(|n| n.as_str())
}

/// A range as people write it.
fn shown(view: &View, operand: &Operand) -> String {
    match view.value(operand) {
        None => "any".into(),
        Some(Range { lo, hi, .. }) if lo == hi => lo.to_string(),
        Some(Range { lo, hi, step }) => {
            let end = |n: i128| match n {
                n if n == i128::from(i64::MAX) => "2^63-1".to_string(),
                n if n == i128::from(i64::MAX) - 1 => "2^63-2".to_string(),
                n if n == i128::from(i64::MIN) => "-2^63".to_string(),
                n if n == i128::from(u64::MAX) => "2^64-1".to_string(),
                n => n.to_string(),
            };
            let by = if step > 1 { format!(" by {step}") } else { String::new() };
            format!("{}..{}{by}", end(lo), end(hi))
        }
    }
}
