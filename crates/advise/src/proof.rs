//! Whether every access to an object is proven to stay inside it.

use crate::events::{Events, Kind};
use crate::follow::Value;
use crate::program::Context;
use crate::rules::Rule;
use flow::framework::Point;
use flow::ranges::{Range, Ranges};
use mir::ir::*;

/// Whether every access that the events name lies in the first `bytes` bytes of the object.
pub fn stays_inside(cx: &Context, body: &Body, ranges: Option<&Ranges>, events: &Events, bytes: u64) -> bool {
    let proof = Proof { cx, body, ranges, events, bytes: i128::from(bytes) };
    events.all.iter().all(|(at, event)| match &event.kind {
        Kind::Access(place, value) => proof.access(*at, place, *value),
        Kind::Extent(bounds, true) => bounds.iter().all(|(a, b)| {
            let value = |o: &Operand| proof.value(*at, o);
            let most = match b {
                None => value(a).map(|r| r.hi),
                Some(b) => value(a).zip(value(b)).map(|(a, b)| a.times(b).hi),
            };
            most.is_some_and(|n| n <= proof.bytes || !Rule::Bound.holds())
        }),
        Kind::Extent(_, false) | Kind::Open => !Rule::Open.holds(),
        _ => true,
    })
}

struct Proof<'a> {
    cx: &'a Context<'a>,
    body: &'a Body,
    ranges: Option<&'a Ranges<'a>>,
    events: &'a Events,
    bytes: i128,
}

impl Proof<'_> {
    fn value(&self, at: Point, operand: &Operand) -> Option<Range> {
        match operand {
            Operand::Const(Const::Int(n, _)) => Some(Range::single(*n)),
            _ => self.ranges?.value_at(at, operand),
        }
    }

    fn access(&self, at: Point, place: &Place, value: Value) -> bool {
        let Some(first) = place.proj.iter().position(|p| *p == Proj::Deref) else { return false };
        let mut base = place.clone();
        base.proj.truncate(first);
        let start = match value {
            Value::At(n) => Some(Range::single(i128::from(n))),
            _ => self.stepped(at, &base),
        };
        let Some(mut range) = start else { return false };
        let types = &self.cx.program.types;
        // From the pointer's target down to the part that is named.
        for (n, step) in place.proj.iter().enumerate().skip(first + 1) {
            let Ok(outer) = mir::ty::prefix_ty(self.cx.program, self.body, place, n) else { return false };
            match step {
                Proj::Field(field) => {
                    let Some(offset) = types.as_record(outer.ty).and_then(|r| types.field_offset(r, *field)) else {
                        return false;
                    };
                    let offset = if Rule::FieldOffset.holds() { offset } else { 0 };
                    range = range.plus(Range::single(i128::from(offset)));
                }
                Proj::Index(operand) => {
                    let elem = mir::ty::prefix_ty(self.cx.program, self.body, place, n + 1);
                    let size = elem.ok().and_then(|q| types.layout(q.ty)).map(|l| i128::from(l.size));
                    let (Some(size), Some(index)) = (size, self.value(at, operand)) else { return false };
                    let size = if Rule::IndexRange.holds() { size } else { 1 };
                    range = range.plus(index.times(Range::single(size)));
                }
                Proj::Deref => return false,
            }
        }
        let size = mir::ty::place_ty(self.cx.program, self.body, place).ok().and_then(|q| types.layout(q.ty));
        let Some(size) = size.map(|l| i128::from(l.size)) else { return false };
        let begins = range.lo >= 0 || !Rule::Lower.holds();
        begins && (range.hi + size <= self.bytes || !Rule::Upper.holds())
    }

    /// Bytes from the start of the object, of a temporary that was made from a pointer to its start
    /// earlier in the block.
    fn stepped(&self, at: Point, base: &Place) -> Option<Range> {
        let block = self.body.blocks.get(at.block.0 as usize)?;
        let local = base.as_local()?;
        if self.body.locals.get(local.0 as usize)?.kind != LocalKind::Temp {
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
        let ty = mir::ty::operand_ty(self.cx.program, self.body, from).ok()?;
        let target = self.cx.program.types.as_pointer(ty)?.target.ty;
        let size = self.cx.program.types.layout(target)?.size;
        Some(self.value(made, by)?.times(Range::single(i128::from(size))).plus(start))
    }
}
