//! Values: operands, what statements compute, what arrives from outside.

use mir::ir::*;
use mir::ty::{operand_ty, owns};
use typing::tree::{BorrowKind, RegionKind};
use typing::types::{Own, Region, Ty, TyKind};

use super::memory::{Base, Location, Memory, Null, Thing, Value, TAG};
use super::walk::{Ends, Walker};

impl Walker<'_> {
    pub(super) fn operand(&mut self, m: &mut Memory, operand: &Operand) -> Result<Value, Ends> {
        match operand {
            Operand::Copy(place) => self.read(m, place),
            Operand::Move(place) => {
                let parts = self.take(m, place)?;
                Ok(parts.into_iter().find(|(path, _)| path.is_empty()).map_or(Value::unknown(), |(_, value)| value))
            }
            Operand::Const(Const::Int(0, _)) => Ok(Value { number: Some(0), ..Value::null() }),
            Operand::Const(Const::Int(n, _)) => Ok(Value { number: Some(*n), ..Value::unknown() }),
            Operand::Const(Const::Null(_)) => Ok(Value::null()),
            Operand::Const(_) => Ok(Value::unknown()),
        }
    }

    pub(super) fn value(&mut self, m: &mut Memory, value: &Rvalue, dest: Ty) -> Result<Value, Ends> {
        match value {
            Rvalue::Use(a)
            | Rvalue::Bits(a, _)
            | Rvalue::Part(a, Part::Ptr | Part::Lo, _)
            | Rvalue::MakeTypedVoid(a, ..)
            | Rvalue::MakeFat { ptr: a, .. }
            | Rvalue::MakeCounted { ptr: a, .. } => self.operand(m, a),
            Rvalue::Offset(a, n) => {
                let mut value = self.operand(m, a)?;
                if !matches!(n, Operand::Const(Const::Int(0, _))) {
                    value.points = None;
                }
                value.test = None;
                Ok(value)
            }
            Rvalue::AddrOf(place) => {
                let at = self.locate(m, place)?;
                let mut address = self.address(m, at);
                // What the pointer at its base was lent for, the address is lent for.
                if let (Some(local), true) = (place.base_local(), place.has_deref()) {
                    if let Some(base) = m.cells.get(&(Base::Local(local), vec![])) {
                        address.loans.extend(base.loans.iter().copied());
                    }
                }
                Ok(address)
            }
            Rvalue::Borrow(kind @ (BorrowKind::Slot | BorrowKind::Sight), place, _) => {
                self.lends(m, *kind, place);
                let at = self.locate(m, place)?;
                Ok(self.address(m, at))
            }
            // The same pointer, without what it owns.
            Rvalue::Borrow(BorrowKind::Look, place, _) => {
                let mut value = self.read(m, place)?;
                if self.is_slot(place) {
                    let token = m.token(Thing { alive: true, zeroed: false, owed: false, lent: false, depth: 0 });
                    m.looks.insert(token);
                    value.needs.insert(token);
                }
                Ok(value)
            }
            Rvalue::Borrow(kind, place, _) => {
                let is_path = self.is_owned_path(place) && owns(&self.program.types, self.place_ty(place));
                if is_path {
                    self.lends(m, *kind, place);
                }
                let mut value = self.read(m, place)?;
                let lends_pointer = kind.lends_pointer();
                let in_slot = lends_pointer && self.is_slot(place) && owns(&self.program.types, self.place_ty(place));
                if in_slot {
                    // A look on the way there ends with other code. What is lent is gone from
                    // there on as well, and wherever else a slot may be emptied; so the variable
                    // that gets it keeps no look.
                    value.needs.retain(|token| !m.looks.contains(token));
                    let token = m.token(Thing { alive: true, zeroed: false, owed: false, lent: false, depth: 0 });
                    m.in_slots.insert(token);
                    value.needs.insert(token);
                }
                if lends_pointer && value.points.is_some_and(|t| self.has_hole(m, t)) {
                    self.wrong("lends an object with a hole");
                }
                // What the pointer at its base was lent for, this is lent for.
                if let (Some(local), true) = (place.base_local(), place.has_deref()) {
                    if let Some(base) = m.cells.get(&(Base::Local(local), vec![])) {
                        value.loans.extend(base.loans.iter().copied());
                    }
                }
                if is_path && lends_pointer {
                    m.no_loans = false;
                    value.loans.insert((self.at.0 .0, self.at.1 as u32));
                }
                if self.program.types.as_pointer(self.place_ty(place)).is_some() && value.null != Null::Yes {
                    let mut borrowed = value.clone();
                    borrowed.test = None;
                    if value.needs.iter().any(|&t| !m.is_alive(t)) {
                        self.wrong("borrows what has ended");
                    }
                    return Ok(borrowed);
                }
                Ok(value)
            }
            Rvalue::Alloc { elem, handle, fallible, .. } => {
                mir::effects::rvalue_operands(value, &mut |operand| drop(self.operand(m, operand)));
                let region = handle.as_ref().and_then(|h| operand_ty(self.program, self.body, h).ok());
                let region = region.and_then(|ty| match self.program.types.kind(ty) {
                    TyKind::Handle(_, r) => Some(*r),
                    _ => None,
                });
                if region.is_some() && self.owns_in_heap(*elem) {
                    self.wrong("allocates in an arena what owns outside of it");
                }
                let owed = region.is_none();
                let token = m.token(Thing { alive: true, zeroed: true, owed, lent: false, depth: 0 });
                let mut fresh = Value::unknown();
                fresh.points = Some(token);
                fresh.needs.insert(token);
                if let Some(region) = region {
                    self.add_region(&mut fresh, region);
                    if self.is_closed(m, &fresh) {
                        self.wrong("allocates in a region that is not live");
                    }
                }
                if owns(&self.program.types, dest) {
                    fresh.owned = Some(token);
                }
                if !fallible {
                    fresh.null = Null::No;
                }
                Ok(fresh)
            }
            Rvalue::Retain(a) => {
                let value = self.operand(m, a)?;
                if value.needs.iter().any(|&t| !m.is_alive(t)) {
                    self.wrong("counts up what has ended");
                }
                Ok(self.arriving(m, dest, false))
            }
            Rvalue::NewKey(_, ty) => Ok(self.arriving(m, *ty, false)),
            Rvalue::Truth(a) => {
                let value = self.operand(m, a)?;
                Ok(Value { test: value.test, number: value.number.map(|n| i128::from(n != 0)), ..Value::unknown() })
            }
            Rvalue::Numeric(a, ty) => {
                let value = self.operand(m, a)?;
                // Small numbers stay what they are in every type but `bool` and those with a point.
                let whole =
                    self.program.types.as_int(*ty).is_some() && !matches!(self.program.types.kind(*ty), TyKind::Bool);
                let number = value.number.filter(|n| whole && (0..128).contains(n));
                let tag = value.tag.filter(|_| whole);
                Ok(Value { test: value.test, number, tag, ..Value::unknown() })
            }
            Rvalue::Tag(place) => {
                let number = match self.locate(m, place)? {
                    Location::Cell((base, mut path)) => {
                        path.push(TAG);
                        m.cells.get(&(base, path)).and_then(|tag| tag.number)
                    }
                    Location::Elsewhere(_) => None,
                };
                Ok(Value { number, ..Value::unknown() })
            }
            Rvalue::Unary(UnOp::Not, a) => {
                let value = self.operand(m, a)?;
                let test = value.test.map(|(c, same)| (c, !same));
                let not_if = value.not_if.map(|test| {
                    let (cell, record, n, holds) = *test;
                    Box::new((cell, record, n, !holds))
                });
                Ok(Value { test, number: value.number.map(|n| i128::from(n == 0)), not_if, ..Value::unknown() })
            }
            Rvalue::Binary(op @ (BinOp::Eq | BinOp::Ne), a, b, _) => {
                let is_null = |o: &Operand| matches!(o, Operand::Const(Const::Null(_) | Const::Int(0, _)));
                let (x, y) = (self.operand(m, a)?, self.operand(m, b)?);
                let tested = match (is_null(a), is_null(b)) {
                    (false, true) => x.test,
                    (true, false) => y.test,
                    _ => None,
                };
                let number = x.number.zip(y.number).map(|(x, y)| i128::from((x == y) == (*op == BinOp::Eq)));
                let test = tested.map(|(c, same)| (c, same == (*op == BinOp::Ne)));
                // What is cut off says nothing if the rest is the same, but all if it is not.
                let not_if = match (x.tag, x.number, y.tag, y.number) {
                    (Some(tag), _, _, Some(n)) | (_, Some(n), Some(tag), _) if (0..128).contains(&n) => {
                        let (cell, record) = *tag;
                        Some(Box::new((cell, record, n, *op == BinOp::Ne)))
                    }
                    _ => None,
                };
                Ok(Value { test, number, not_if, ..Value::unknown() })
            }
            _ => {
                let mut ends = Ok(());
                mir::effects::rvalue_operands(value, &mut |operand| {
                    if self.operand(m, operand).is_err() {
                        ends = Err(Ends);
                    }
                });
                ends?;
                Ok(Value::unknown())
            }
        }
    }

    /// A value that comes from outside.
    pub(super) fn arriving(&mut self, m: &mut Memory, ty: Ty, lent: bool) -> Value {
        let mut value = Value::unknown();
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => {
                self.add_region(&mut value, p.region);
                if p.nonnull {
                    value.null = Null::No;
                }
            }
            TyKind::Key(..) => value.null = Null::No,
            _ => {}
        }
        if self.is_owned_scalar(ty) {
            let token = m.token(Thing { alive: true, zeroed: false, owed: self.owed(ty), lent, depth: 0 });
            value.owned = Some(token);
            value.needs.insert(token);
            value.points = Some(token);
        }
        value
    }

    /// Whether a field of a record is an owned pointer into the heap.
    fn owns_in_heap(&self, ty: Ty) -> bool {
        let TyKind::Record(r) = self.program.types.kind(ty) else { return false };
        let record = self.program.types.records.get(r.0 as usize);
        record.and_then(|r| r.fields.as_ref()).is_some_and(|fields| {
            fields.iter().any(|f| {
                let pointer = self.program.types.as_pointer(f.ty.ty);
                pointer.is_some_and(|p| matches!(p.own, Own::Unique | Own::Rc) && p.region == Region::Heap)
            })
        })
    }

    pub(super) fn add_region(&self, value: &mut Value, region: Region) {
        if let Region::Body(n) = region {
            let kind = self.body.regions.get(n as usize).map(|r| r.decl.kind);
            if matches!(
                kind,
                Some(
                    RegionKind::Lifo(_)
                        | RegionKind::Dynamic
                        | RegionKind::Hidden
                        | RegionKind::ParamKey
                        | RegionKind::Param
                )
            ) {
                value.regions.insert(n);
            }
        }
    }

    /// Owned pointers, keys and generic values: one thing.
    pub(super) fn is_owned_scalar(&self, ty: Ty) -> bool {
        owns(&self.program.types, ty)
            && !matches!(self.program.types.kind(ty), TyKind::Record(_) | TyKind::Array { .. })
    }

    /// Whether a value of the type must be released by its owner. Nothing is claimed about what is
    /// not known.
    pub(super) fn owed(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => matches!(p.region, Region::Heap | Region::Exchange),
            TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) | TyKind::Param(_) => true,
            _ => false,
        }
    }
}
