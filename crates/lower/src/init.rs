//! Initialisers: in order, into a place that is fresh.

use crate::builder::Lower;
use mir::ir::*;
use typing::tree::{Init, StrId};
use typing::types::*;

/// Runs of equal elements up to this length are stored one by one.
const UNROLL: u64 = 4;

impl<'t> Lower<'t, '_> {
    /// Initialises a place. `zeroed`: it is all zero already.
    pub fn init_place(&mut self, place: &Place, ty: Qty, init: &'t Init, zeroed: bool) {
        match init {
            Init::Expr(e) => {
                if let Some(local) = place.as_local() {
                    self.into(local, e);
                } else {
                    let saved = self.enter(e.span, e.is_unsafe);
                    let value = self.rvalue(e);
                    self.assign(place.clone(), value);
                    self.leave(saved);
                }
            }
            Init::Str(id) => self.init_string(place, ty, *id, zeroed),
            Init::List(items) => match self.program.types.kind(ty.ty).clone() {
                TyKind::Record(id) => self.init_record(place, ty, id, items, zeroed),
                TyKind::Array { elem, .. } => {
                    let zeroed = self.zero_rest(place, ty.ty, items, zeroed);
                    for (i, item) in items {
                        self.init_element(place, elem, *i, item, zeroed);
                    }
                }
                // Braces around a scalar.
                _ => match items.first() {
                    Some((_, inner)) => self.init_place(place, ty, inner, zeroed),
                    None => self.fill_zero(place.clone()),
                },
            },
            Init::Tagged(member, inner) => {
                if !zeroed {
                    self.zero_if_allowed(place, ty.ty);
                }
                self.emit(StmtKind::SetTag(place.clone(), *member));
                let member_ty = self.field_ty(ty, *member);
                self.init_place(&place.then(Proj::Field(*member)), member_ty, inner, true);
            }
            Init::Repeat(lo, hi, inner) => {
                if let TyKind::Array { elem, .. } = *self.program.types.kind(ty.ty) {
                    self.init_repeat(place, elem, *lo, *hi, inner, zeroed);
                }
            }
        }
    }

    fn field_ty(&self, record: Qty, n: u32) -> Qty {
        self.fields_of(record.ty)
            .and_then(|(_, fields)| fields.get(n as usize).map(|f| f.ty))
            .unwrap_or(Qty::plain(self.common().error))
    }

    fn init_element(&mut self, place: &Place, elem: Qty, i: u64, item: &'t Init, zeroed: bool) {
        if let Init::Repeat(lo, hi, inner) = item {
            return self.init_repeat(place, elem, *lo, *hi, inner, zeroed);
        }
        let index = self.size(i);
        self.init_place(&place.then(Proj::Index(index)), elem, item, zeroed);
    }

    /// Elements `lo..=hi` get one value.
    fn init_repeat(&mut self, place: &Place, elem: Qty, lo: u64, hi: u64, inner: &'t Init, zeroed: bool) {
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
                self.init_repeated(&place.then(Proj::Index(index)), elem, inner, value.clone(), zeroed);
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
        self.init_repeated(&place.then(Proj::Index(Operand::local(i))), elem, inner, value, zeroed);
        let one = self.size(1);
        self.assign(Place::local(i), Rvalue::Binary(BinOp::Add, Operand::local(i), one, ulong));
        self.goto_and_start(head, exit);
    }

    fn init_repeated(&mut self, place: &Place, elem: Qty, inner: &'t Init, value: Option<Operand>, zeroed: bool) {
        match value {
            Some(value) => self.assign(place.clone(), Rvalue::Use(value)),
            None => self.init_place(place, elem, inner, zeroed),
        }
    }

    /// A character array from a literal, cut or padded with zeros.
    fn init_string(&mut self, place: &Place, ty: Qty, id: StrId, zeroed: bool) {
        let units = self.program.strings.get(id.0 as usize).map_or(0, |s| s.units.len() as u64);
        let TyKind::Array { elem, len, .. } = *self.program.types.kind(ty.ty) else { return };
        let count = match len {
            ArrayLen::Const(n) => units.min(n),
            _ => units,
        };
        if !zeroed {
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

    /// Zeroes an aggregate unless the list covers it; returns whether what the list leaves out is
    /// zero.
    fn zero_rest(&mut self, place: &Place, ty: Ty, items: &[(u64, Init)], zeroed: bool) -> bool {
        if zeroed || self.covers(ty, items) {
            return zeroed;
        }
        self.fill_zero(place.clone());
        true
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

    fn init_record(&mut self, place: &Place, ty: Qty, id: RecordId, items: &'t [(u64, Init)], zeroed: bool) {
        let zeroed = self.zero_rest(place, ty.ty, items, zeroed);
        let Some((_, fields)) = self.fields_of(ty.ty) else { return };
        let tagged = self.program.types.record(id).kind == RecordKind::Tagged;
        let mut counted = vec![];
        for (n, item) in items {
            let Some(field) = fields.get(*n as usize) else { continue };
            let target = place.then(Proj::Field(*n as u32));
            if tagged {
                self.emit(StmtKind::SetTag(place.clone(), *n as u32));
            }
            match item {
                Init::Expr(e) if self.is_counted(field.ty.ty) && self.is_fat(e.ty.ty) => {
                    let saved = self.enter(e.span, e.is_unsafe);
                    let value = self.operand(e);
                    let value = self.freeze(value);
                    let sized = self.sized(&value);
                    let word = self.address(value, field.ty.ty);
                    self.assign(target, Rvalue::Use(word));
                    counted.push((field.ty.ty, sized));
                    self.leave(saved);
                }
                _ => self.init_place(&target, field.ty, item, zeroed),
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
