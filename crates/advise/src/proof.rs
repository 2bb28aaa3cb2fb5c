//! Whether every access to an object is proven to stay inside it.
//!
//! By numbers, if the intervals of what is accessed lie below the least size; else by the size as a
//! term, `each * count + extra` bytes: an index that is less than `count` by `d` lies inside if
//! that many elements fit. The count must have the same value at the access, and the size must not
//! wrap.

use crate::events::{Events, Kind};
use crate::program::Context;
use crate::rules::Rule;
use crate::sites::{Site, Size};
use crate::situation::Value;
use crate::summary::part;
use crate::terms::{Term, Terms};
use flow::framework::Point;
use flow::ranges::{Range, Ranges};
use mir::cfg::Cfg;
use mir::ir::*;
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};

/// What was proven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    /// Nothing.
    Unknown,
    /// Every access lies inside.
    Always,
    /// The same, if the computation that gives the size does not wrap.
    UnlessItWraps(Wrap),
}

/// The last step of the computation of a size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrap {
    /// A product.
    Product,
    /// So much is added.
    Sum(i128),
}

/// The largest size.
const MOST: i128 = u64::MAX as i128;

/// Whether every access that the events name lies in the object; `bytes`: what it has at least;
/// `wraps`: whether signed arithmetic wraps.
pub fn stays_inside(
    cx: &Context,
    (body, cfg, wraps): (&Body, &Cfg, bool),
    ranges: Option<&Ranges>,
    events: &Events,
    bytes: u64,
    site: &Site,
) -> Inside {
    let mut proof = Proof {
        terms: Terms { cx, body, cfg, ranges, wraps, only_writes: OnceCell::new() },
        events,
        bytes: i128::from(bytes),
        site,
        sizes: vec![],
        asked: RefCell::default(),
        known: FxHashMap::default(),
        waived: Cell::new(None),
    };
    proof.sizes = proof.sizes();
    // What is asked first is answered in one walk over the body.
    let mut inside = proof.all();
    if !inside && !proof.asked.borrow().is_empty() {
        proof.answer();
        inside = proof.all();
    }
    match (inside, proof.waived.get()) {
        (false, _) => Inside::Unknown,
        (true, None) => Inside::Always,
        (true, Some(wrap)) => Inside::UnlessItWraps(wrap),
    }
}

/// A question about `a - b` at a point.
type Question = (Point, Operand, Operand);

pub(crate) struct Proof<'a> {
    pub(crate) terms: Terms<'a>,
    events: &'a Events,
    pub(crate) bytes: i128,
    pub(crate) site: &'a Site,
    /// What the size is at least, and what that supposes not to wrap.
    pub(crate) sizes: Vec<(Term, Option<Wrap>)>,
    asked: RefCell<Vec<Question>>,
    known: FxHashMap<Point, Vec<(Operand, Operand, i128)>>,
    /// What a proof supposed not to wrap.
    waived: Cell<Option<Wrap>>,
}

impl Proof<'_> {
    fn all(&self) -> bool {
        self.waived.set(None);
        // Each is looked at, so that each asks.
        self.events.all.iter().fold(true, |all, (at, event)| self.holds(*at, &event.kind) && all)
    }

    fn holds(&self, at: Point, kind: &Kind) -> bool {
        match kind {
            Kind::Access(place, value) => self.access(at, place, *value),
            Kind::Extent(pointer, bounds, from_start) => bounds.iter().all(|(a, b)| {
                *from_start && self.extent(at, a, b.as_ref())
                    || b.is_none() && self.fits_sum(at, pointer, a, *from_start)
                    || !from_start && !Rule::Open.holds()
            }),
            Kind::Open => !Rule::Open.holds(),
            Kind::Text(text) => self.is_string_there(text) || !Rule::Text.holds(),
            Kind::TextWritten(before) => self.fits_string(at, before) || !Rule::TextLength.holds(),
            _ => true,
        }
    }

    /// The size as terms.
    fn sizes(&self) -> Vec<(Term, Option<Wrap>)> {
        let at = self.site.at;
        let below = |t: &Term, most: i128| self.terms.bounds(at, t).is_some_and(|r| r.hi <= most);
        let mut all = vec![];
        match &self.site.size {
            Size::Bytes(size) => {
                let (factor, addend) = (self.terms.factor(at, size), self.terms.addend(at, size));
                for term in self.terms.of(at, size) {
                    if below(&term, MOST) || !Rule::Wraps.holds() {
                        all.push((term, None));
                    } else if let Some(k) = factor.filter(|k| term.each % k == 0 && term.extra % k == 0) {
                        let part = Term { each: term.each / k, extra: term.extra / k, ..term.clone() };
                        if below(&part, MOST) {
                            all.push((term, Some(Wrap::Product)));
                        }
                    } else if let Some(k) = addend {
                        if below(&Term { extra: term.extra - k, ..term.clone() }, MOST) {
                            all.push((term, Some(Wrap::Sum(k))));
                        }
                    }
                }
            }
            // The allocator fails if the product wraps.
            Size::Product(a, b) => {
                for (many, each) in [(a, b), (b, a)] {
                    let Some(k) = self.terms.value(at, each).and_then(Range::constant).filter(|k| *k > 0) else {
                        continue;
                    };
                    let parts = self.terms.of(at, many).into_iter().filter(|t| below(t, MOST));
                    all.extend(parts.filter_map(|t| Some((t.times(k)?, None))));
                }
            }
            Size::Text(_) | Size::Fixed(_) | Size::Unknown => {}
        }
        all
    }

    /// The least known bound of `a - b` at a point.
    fn difference(&self, at: Point, a: &Operand, b: &Operand) -> Option<i128> {
        if a == b {
            return Some(0);
        }
        let known = self.known.get(&at).and_then(|all| all.iter().find(|k| k.0 == *a && k.1 == *b));
        if known.is_none() {
            self.asked.borrow_mut().push((at, a.clone(), b.clone()));
        }
        known.map(|k| k.2)
    }

    fn answer(&mut self) {
        let Some(ranges) = self.terms.ranges else { return };
        let mut asked: FxHashMap<Point, Vec<(Operand, Operand)>> = FxHashMap::default();
        for (at, a, b) in self.asked.take() {
            let here = asked.entry(at).or_default();
            if !here.iter().any(|q| q.0 == a && q.1 == b) {
                here.push((a, b));
            }
        }
        let known = &mut self.known;
        ranges.visit(&mut |at, view, _| {
            for (a, b) in asked.get(&at).into_iter().flatten() {
                if let Some(d) = view.difference(a, b) {
                    known.entry(at).or_default().push((a.clone(), b.clone(), d));
                }
            }
        });
    }

    /// Whether `term`, at a point where it does not wrap, is at most the size less `rest` bytes.
    fn is_below(&self, at: Point, term: &Term, rest: i128) -> bool {
        self.sizes.iter().any(|(size, waived)| {
            // With a larger factor of the size the count must not be negative.
            let count = || self.terms.value(at, &term.count).is_some_and(|r| r.lo >= 0);
            let fits = term.each == size.each || term.each < size.each && count();
            let lasts = || self.terms.lasts(&size.count, self.site.at, at) || !Rule::Lasts.holds();
            let inside = fits && lasts() && {
                let d = self.difference(at, &term.count, &size.count);
                d.is_some_and(|d| size.each * d + term.extra + rest <= size.extra || !Rule::Below.holds())
            };
            inside && self.suppose(*waived)
        })
    }

    /// Whether the size is at least so many bytes, as what it counts is known at a point.
    pub(crate) fn is_long_enough(&self, at: Point, bytes: i128) -> bool {
        // This supposes nothing.
        if self.least_sum() >= bytes {
            return true;
        }
        self.sizes.iter().any(|(size, waived)| {
            let enough = self.terms.bounds(at, size).is_some_and(|r| r.lo >= bytes)
                && (self.terms.lasts(&size.count, self.site.at, at) || !Rule::Lasts.holds());
            enough && self.suppose(*waived)
        })
    }

    /// A proof rests on this; true.
    pub(crate) fn suppose(&self, wrap: Option<Wrap>) -> bool {
        if wrap.is_some() {
            self.waived.set(wrap);
        }
        true
    }

    fn extent(&self, at: Point, a: &Operand, b: Option<&Operand>) -> bool {
        let value = |o: &Operand| self.terms.value(at, o);
        let most = match b {
            None => value(a).map(|r| r.hi),
            Some(b) => value(a).zip(value(b)).map(|(a, b)| a.times(b).hi),
        };
        if most.is_some_and(|n| n <= self.bytes) || !Rule::Bound.holds() {
            return true;
        }
        let constant = |o: &Operand| value(o).and_then(Range::constant).filter(|k| *k > 0);
        let parts: Vec<Term> = match b {
            None => self.terms.of(at, a),
            Some(b) => match (constant(a), constant(b)) {
                (_, Some(k)) => self.terms.of(at, a).into_iter().filter_map(|t| t.times(k)).collect(),
                (Some(k), _) => self.terms.of(at, b).into_iter().filter_map(|t| t.times(k)).collect(),
                _ => vec![],
            },
        };
        parts.iter().any(|term| {
            // The same term is the same number, wrapped or not.
            let same = |s: &Term| s == term && self.terms.lasts(&term.count, self.site.at, at);
            if b.is_none() && self.own_terms().iter().any(same) {
                return true;
            }
            let whole = self.terms.bounds(at, term).is_some_and(|r| r.lo >= 0);
            whole && self.is_below(at, term, 0)
        })
    }

    /// The terms that are the size, modulo its width.
    fn own_terms(&self) -> Vec<Term> {
        match &self.site.size {
            Size::Bytes(size) => self.terms.of(self.site.at, size),
            _ => vec![],
        }
    }

    fn access(&self, at: Point, place: &Place, value: Value) -> bool {
        let Some(first) = place.proj.iter().position(|p| *p == Proj::Deref) else { return false };
        let mut base = place.clone();
        base.proj.truncate(first);
        let start = match value {
            Value::At(n) => Some((Range::single(i128::from(n)), None)),
            _ => self.stepped(at, &base),
        };
        let Some((start, index)) = start else { return false };
        let value = |operand: &Operand| self.terms.value(at, operand);
        let Some((offset, size)) = part(self.terms.cx, self.terms.body, place, value) else { return false };
        let (range, size) = (start.plus(offset), i128::from(size));
        let Some(index) = index else {
            let begins = range.lo >= 0 || !Rule::Lower.holds();
            let end = range.hi + size;
            return begins && (end <= self.bytes || self.is_long_enough(at, end) || !Rule::Upper.holds());
        };
        let Some(by) = self.terms.value(index.made, index.by) else { return false };
        let whole = range.plus(by.times(Range::single(index.each)));
        let begins = whole.lo >= 0 || !Rule::Lower.holds();
        let ends = whole.hi + size <= self.bytes || !Rule::Upper.holds();
        let related = |made: Point, by: &Operand| {
            // The index itself, and what it was computed from, where that is the same number.
            let all = self.terms.of(made, by);
            all.into_iter().filter_map(|t| t.times(index.each)).any(|t| {
                let number = self.terms.bounds(made, &t).is_some_and(|r| r.lo >= 0);
                number && self.is_below(made, &t, range.hi + size)
            })
        };
        if begins && (ends || related(index.made, index.by)) {
            return true;
        }
        // An index without a sign that is below the size is the same number with one: no object is
        // larger than that.
        let unsigned = self.terms.unsigned(index.made, index.by).filter(|_| range.lo >= 0);
        if unsigned.is_some_and(|(made, by)| related(made, by)) {
            return true;
        }
        index.each == 1 && range.lo >= 0 && self.fits_index(index.made, index.by, range.hi + size)
    }

    /// Bytes from the start of the object, of a temporary that was made from a pointer to its start
    /// earlier in the block: where it started, and what was added.
    fn stepped(&self, at: Point, base: &Place) -> Option<(Range, Option<Index<'_>>)> {
        let body = self.terms.body;
        let block = body.blocks.get(at.block.0 as usize)?;
        let local = base.as_local()?;
        if body.locals.get(local.0 as usize)?.kind != LocalKind::Temp {
            return None;
        }
        let (stmt, from, by) = block.stmts.get(..at.stmt)?.iter().enumerate().rev().find_map(|(n, s)| {
            let (from, by) = s.kind.assigned_to(local)?.as_offset()?;
            Some((n, from, by))
        })?;
        let made = Point { block: at.block, stmt };
        let starts = self.events.all.iter().filter(|(p, _)| *p == made).filter_map(|(_, e)| match e.kind {
            Kind::Stepped(Value::At(n)) => Some(Some(Range::single(i128::from(n)))),
            Kind::Stepped(_) => Some(None),
            _ => None,
        });
        let start = starts.collect::<Option<Vec<Range>>>()?.into_iter().reduce(Range::hull)?;
        let ty = mir::ty::operand_ty(self.terms.cx.program, body, from).ok()?;
        let types = &self.terms.cx.program.types;
        let each = i128::from(types.layout(types.as_pointer(ty)?.target.ty)?.size);
        Some((start, Some(Index { made, by, each })))
    }
}

/// What was added to a pointer.
struct Index<'a> {
    /// Where.
    made: Point,
    /// Elements.
    by: &'a Operand,
    /// Bytes of one.
    each: i128,
}
