//! Initialisers: in order, into a place that is fresh.

use crate::builder::Lower;
use mir::ir::*;
use typing::tree::{Init, StrId};
use typing::types::*;

/// Runs of equal elements up to this length are stored one by one.
const UNROLL: u64 = 4;

/// What a place holds before its initialiser.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Anything: what the initialiser leaves out is zeroed.
    Unknown,
    Zeros,
    /// Zeros, and what the initialiser itself stores there on its way.
    Stores,
}

impl<'t> Lower<'t, '_> {
    /// Initialises a place. An object that the initialiser itself stored there is freed when the
    /// place gets its value (`Before::Stores`).
    pub fn init_place(&mut self, place: &Place, ty: Qty, init: &'t Init, before: Before) {
        match init {
            Init::Expr(e) => {
                if let Some(local) = place.as_local() {
                    self.into(local, e);
                } else {
                    let saved = self.enter(e.span, e.is_unsafe);
                    let value = self.rvalue(e);
                    self.init_store(place.clone(), ty.ty, value, before);
                    self.leave(saved);
                }
            }
            Init::Str(id) => self.init_string(place, ty, *id, before),
            Init::List(items) => match self.program.types.kind(ty.ty).clone() {
                TyKind::Record(id) => self.init_record(place, ty, id, items, before),
                TyKind::Array { elem, .. } => {
                    let before = self.zero_rest(place, ty.ty, items, before);
                    for (i, item) in items {
                        self.init_element(place, elem, *i, item, before);
                    }
                }
                // Braces around a scalar.
                _ => match items.first() {
                    Some((_, inner)) => self.init_place(place, ty, inner, before),
                    None => self.fill_zero(place.clone()),
                },
            },
            Init::Tagged(member, inner) => {
                if before == Before::Unknown {
                    self.zero_if_allowed(place, ty.ty);
                }
                self.init_tag(place, ty.ty, *member, before);
                let member_ty = self.field_ty(ty, *member);
                let before = if before == Before::Unknown { Before::Zeros } else { before };
                self.init_place(&place.then(Proj::Field(*member)), member_ty, inner, before);
            }
            Init::Repeat(lo, hi, inner) => {
                if let TyKind::Array { elem, .. } = *self.program.types.kind(ty.ty) {
                    self.init_repeat(place, elem, *lo, *hi, inner, before);
                }
            }
        }
    }

    /// One value of an initialiser, which is computed before what it replaces is freed.
    fn init_store(&mut self, place: Place, ty: Ty, value: Rvalue, before: Before) {
        if before != Before::Stores {
            return self.assign(place, value);
        }
        let value = self.temp_of(value, ty);
        self.before_slot_store(&place, ty);
        self.assign(place, Rvalue::Use(value));
    }

    fn init_tag(&mut self, union: &Place, ty: Ty, member: u32, before: Before) {
        if before == Before::Stores {
            self.before_slot_store(union, ty);
        }
        self.emit(StmtKind::SetTag(union.clone(), member));
    }

    fn field_ty(&self, record: Qty, n: u32) -> Qty {
        self.fields_of(record.ty)
            .and_then(|(_, fields)| fields.get(n as usize).map(|f| f.ty))
            .unwrap_or(Qty::plain(self.common().error))
    }

    fn init_element(&mut self, place: &Place, elem: Qty, i: u64, item: &'t Init, before: Before) {
        if let Init::Repeat(lo, hi, inner) = item {
            return self.init_repeat(place, elem, *lo, *hi, inner, before);
        }
        let index = self.size(i);
        self.init_place(&place.then(Proj::Index(index)), elem, item, before);
    }

    /// Elements `lo..=hi` get one value.
    fn init_repeat(&mut self, place: &Place, elem: Qty, lo: u64, hi: u64, inner: &'t Init, before: Before) {
        if hi < lo {
            return;
        }
        // The value is evaluated once.
        let value = match inner {
            Init::Expr(e) => {
                let op = self.operand(e);
                Some(self.freeze(op))
            }
            _ => None,
        };
        if hi - lo < UNROLL {
            for i in lo..=hi {
                let index = self.size(i);
                self.init_repeated(&place.then(Proj::Index(index)), elem, inner, value.clone(), before);
            }
            return;
        }
        let (ulong, int) = (self.common().ulong, self.common().int);
        let i = self.temp(ulong);
        let first = self.size(lo);
        self.assign(Place::local(i), Rvalue::Use(first));
        let (head, inside, exit) = (self.new_block(), self.new_block(), self.new_block());
        self.goto_and_start(head, head);
        let last = self.size(hi);
        let more = self.temp_of(Rvalue::Binary(BinOp::Le, Operand::local(i), last, ulong), int);
        self.set_term(TermKind::If(more, inside, exit));
        self.start(inside);
        self.init_repeated(&place.then(Proj::Index(Operand::local(i))), elem, inner, value, before);
        let one = self.size(1);
        self.assign(Place::local(i), Rvalue::Binary(BinOp::Add, Operand::local(i), one, ulong));
        self.goto_and_start(head, exit);
    }

    fn init_repeated(&mut self, place: &Place, elem: Qty, inner: &'t Init, value: Option<Operand>, before: Before) {
        match value {
            Some(value) => self.init_store(place.clone(), elem.ty, Rvalue::Use(value), before),
            None => self.init_place(place, elem, inner, before),
        }
    }

    /// A character array from a literal, cut or padded with zeros.
    fn init_string(&mut self, place: &Place, ty: Qty, id: StrId, before: Before) {
        let units = self.program.strings.get(id.0 as usize).map_or(0, |s| s.units.len() as u64);
        let TyKind::Array { elem, len, .. } = *self.program.types.kind(ty.ty) else { return };
        let count = match len {
            ArrayLen::Const(n) => units.min(n),
            _ => units,
        };
        if before != Before::Zeros {
            self.fill_zero(place.clone());
        }
        // Zeros at the end are there already.
        let literal = self.program.strings.get(id.0 as usize).map(|s| s.units.as_slice()).unwrap_or_default();
        let used = literal.iter().take(count as usize).rposition(|&u| u != 0).map_or(0, |last| last as u64 + 1);
        if used == 0 {
            return;
        }
        self.take_address(place);
        let thin = self.thin_to(Qty::plain(elem.ty));
        let zero = self.size(0);
        let to = self.temp_of(Rvalue::AddrOf(place.then(Proj::Index(zero))), thin);
        let from = Operand::Const(Const::Addr(ConstAddrKey::Str(id), 0, thin));
        let count = self.size(used);
        self.emit(StmtKind::CopyElements { to, from, count });
    }

    /// Zeroes an aggregate unless the list covers it; returns what is in it then.
    fn zero_rest(&mut self, place: &Place, ty: Ty, items: &[(u64, Init)], before: Before) -> Before {
        if before != Before::Unknown || self.covers(ty, items) {
            return before;
        }
        self.fill_zero(place.clone());
        Before::Zeros
    }

    fn zero_if_allowed(&mut self, place: &Place, ty: Ty) {
        if !self.program.types.needs_init(ty) {
            self.fill_zero(place.clone());
        }
    }

    /// Whether the items initialise every part of the aggregate.
    fn covers(&self, ty: Ty, items: &[(u64, Init)]) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Array { len: ArrayLen::Const(n), .. } => {
                let mut next = 0;
                for (i, item) in items {
                    if *i > next {
                        return false;
                    }
                    next = match item {
                        Init::Repeat(_, hi, _) => next.max(hi.saturating_add(1)),
                        _ => next.max(i + 1),
                    };
                }
                next >= *n
            }
            TyKind::Record(id) => {
                let record = self.program.types.record(*id);
                let Some(fields) = &record.fields else { return true };
                record.kind == RecordKind::Struct
                    && fields.iter().enumerate().all(|(i, f)| {
                        let padding = f.name.is_none() && f.width.is_some();
                        padding || items.iter().any(|(n, _)| *n == i as u64)
                    })
            }
            _ => true,
        }
    }

    fn init_record(&mut self, place: &Place, ty: Qty, id: RecordId, items: &'t [(u64, Init)], before: Before) {
        let before = self.zero_rest(place, ty.ty, items, before);
        let Some((_, fields)) = self.fields_of(ty.ty) else { return };
        let tagged = self.program.types.record(id).kind == RecordKind::Tagged;
        let mut counted = vec![];
        for (n, item) in items {
            let Some(field) = fields.get(*n as usize) else { continue };
            let target = place.then(Proj::Field(*n as u32));
            if tagged {
                self.init_tag(place, ty.ty, *n as u32, before);
            }
            match item {
                Init::Expr(e) if self.is_counted(field.ty.ty) && self.is_fat(e.ty.ty) => {
                    let saved = self.enter(e.span, e.is_unsafe);
                    let value = self.operand(e);
                    let value = self.freeze(value);
                    let sized = self.sized(&value);
                    let word = self.address(value, field.ty.ty);
                    self.init_store(target, field.ty.ty, Rvalue::Use(word), before);
                    counted.push((field.ty.ty, sized));
                    self.leave(saved);
                }
                _ => self.init_place(&target, field.ty, item, before),
            }
        }
        self.check_counts(place, counted);
        for (n, item) in items {
            let Some(field) = fields.get(*n as usize) else { continue };
            if let (Some(_), Init::List(members)) = (&field.tagged_by, item) {
                if let Some((member, _)) = members.last() {
                    let union = place.then(Proj::Field(*n as u32));
                    self.check_tagged_by(ty.ty, *n as u32, *member as u32, &union);
                }
            }
        }
    }
}
