//! Pointers: arithmetic with its checks, changes of bounds, counts.

use crate::builder::Lower;
use crate::place::{const_int, read_of, Use};
use mir::ir::*;
use typing::tree::{Expr, ExprKind};
use typing::types::*;

impl<'t> Lower<'t, '_> {
    // ---- arithmetic

    /// `p + index` (`p - index`) for a pointer of type `ty`, with the checks that its bounds ask
    /// for.
    pub fn pointer_add(&mut self, p: Operand, ty: Ty, index: Operand, negate: bool) -> Operand {
        if const_int(&index) == Some(0) {
            return p;
        }
        let long = self.common().long;
        let Some(pointer) = self.pointer_of(ty) else {
            self.impossible();
            return p;
        };
        let checked = !self.checks_off();
        // A string is measured; `s + 1` only looks at `*s`.
        if checked && pointer.bounds == Bounds::Terminated {
            if const_int(&index) == Some(1) && !negate {
                self.check(Check::Step(p.clone()));
            } else {
                let ulong = self.common().ulong;
                let length = self.temp_of(Rvalue::Measure(p.clone()), ulong);
                let one = self.size(1);
                let readable = self.temp_of(Rvalue::Binary(BinOp::Add, length, one, ulong), ulong);
                let index = if negate { self.negated(index.clone()) } else { index.clone() };
                self.check(Check::Index(index, readable));
            }
        }
        // A count of up to 32 bits stays what it is: its product with a size cannot wrap.
        let ty_of_index = self.operand_ty(&index);
        let narrow = self.program.types.as_int(ty_of_index).is_some_and(|k| k.size() <= 4);
        let count = match (negate, narrow || const_int(&index).is_some()) {
            (true, _) => self.negated(index),
            (false, true) if const_int(&index).is_none() => index,
            (false, _) => self.numeric(index, long),
        };
        // It looks into what an owned pointer owns.
        let ty = self.unowned(ty);
        let moved = self.temp_of(Rvalue::Offset(p, count), ty);
        if checked && pointer.bounds == Bounds::FatTerminated {
            self.check(Check::Within(moved.clone()));
        }
        moved
    }

    /// Minus the integer, as signed 64-bit.
    fn negated(&mut self, index: Operand) -> Operand {
        let long = self.common().long;
        let index = self.numeric(index, long);
        match const_int(&index) {
            Some(value) => self.int(IntKind::Long.wrap(value.wrapping_neg()), long),
            None => self.temp_of(Rvalue::Unary(UnOp::Neg, index), long),
        }
    }

    // ---- conversions

    /// The address word as a one-word pointer of type `ty`.
    pub fn address(&mut self, op: Operand, ty: Ty) -> Operand {
        if let Operand::Const(Const::Null(_)) = op {
            return Operand::Const(Const::Null(ty));
        }
        let from = self.operand_ty(&op);
        if self.is_fat(from) || self.is_typed_void(from) {
            self.temp_of(Rvalue::Part(op, Part::Ptr, ty), ty)
        } else if mir::ty::same_shape(&self.program.types, from, ty) {
            op
        } else {
            self.temp_of(Rvalue::Bits(op, ty), ty)
        }
    }

    /// `Conv::Pointer`: same target, other bounds.
    pub fn convert_pointer(&mut self, op: Operand, from: Ty, to: Ty) -> Operand {
        if let Operand::Const(Const::Null(_)) = op {
            return Operand::Const(Const::Null(to));
        }
        let (Some(source), Some(dest)) = (self.pointer_of(from), self.pointer_of(to)) else {
            return op;
        };
        let constant = dest.target.quals.is_const;
        match (source.bounds, dest.bounds) {
            (Bounds::Fat, Bounds::Thin | Bounds::Terminated | Bounds::Counted(_)) => {
                let op = self.simple(op);
                match dest.bounds {
                    Bounds::Thin => self.check_one(&op, source.nonnull),
                    Bounds::Terminated => self.check(Check::HasTerminator(op.clone())),
                    _ => {}
                }
                self.address(op, to)
            }
            (Bounds::FatTerminated, Bounds::Thin | Bounds::Terminated | Bounds::Counted(_)) => {
                let op = self.simple(op);
                if dest.bounds == Bounds::Thin && !constant {
                    self.check_one(&op, source.nonnull);
                }
                self.address(op, to)
            }
            (Bounds::Terminated, Bounds::Fat) => self.measured(op, to, source.nonnull, constant),
            (Bounds::Terminated, Bounds::FatTerminated) => self.measured(op, to, source.nonnull, false),
            (Bounds::Terminated, Bounds::Thin) if !constant && !self.checks_off() => {
                let op = self.simple(op);
                // The zero itself is not handed out as writable.
                if source.nonnull {
                    self.check(Check::Step(op.clone()));
                } else {
                    let inner = op.clone();
                    self.when(op.clone(), |this| this.check(Check::Step(inner)));
                }
                op
            }
            (Bounds::Thin | Bounds::Counted(_), Bounds::Fat) => {
                let one = self.int(1, self.common().long);
                self.temp_of(Rvalue::MakeCounted { ty: to, ptr: op, count: one }, to)
            }
            (Bounds::Thin | Bounds::Counted(_), Bounds::FatTerminated) => self.measured(op, to, source.nonnull, false),
            (Bounds::Fat, Bounds::FatTerminated) => {
                let op = self.simple(op);
                self.check(Check::HasTerminator(op.clone()));
                let thin = self.thin(to);
                let address = self.address(op.clone(), thin);
                let string = self.measured(address.clone(), to, source.nonnull, false);
                // It begins where the elements do.
                let lo = self.temp_of(Rvalue::Part(op, Part::Lo, thin), thin);
                let hi = self.temp_of(Rvalue::Part(string, Part::Hi, thin), thin);
                self.temp_of(Rvalue::MakeFat { ty: to, ptr: address, lo, hi }, to)
            }
            _ => op,
        }
    }

    /// Checks that a fat pointer that is not null has an element.
    fn check_one(&mut self, op: &Operand, nonnull: bool) {
        if self.checks_off() {
            return;
        }
        let one = self.size(1);
        let check = Check::Access(op.clone(), one);
        if nonnull {
            self.check(check);
        } else {
            self.when(op.clone(), |this| this.check(check));
        }
    }

    /// A string with the bounds that measuring finds; null stays null.
    fn measured(&mut self, op: Operand, to: Ty, nonnull: bool, with_zero: bool) -> Operand {
        let op = self.simple(op);
        // What owns the string is only looked at before it moves.
        let look = read_of(&op);
        let out = self.temp(to);
        if !nonnull {
            self.assign(Place::local(out), Rvalue::Use(Operand::Const(Const::Null(to))));
        }
        let string = look.clone();
        let make = |this: &mut Self| {
            let (ulong, long) = (this.common().ulong, this.common().long);
            let mut count = this.temp_of(Rvalue::Measure(string), ulong);
            if with_zero {
                let one = this.size(1);
                count = this.temp_of(Rvalue::Binary(BinOp::Add, count, one, ulong), ulong);
            }
            let count = this.numeric(count, long);
            this.assign(Place::local(out), Rvalue::MakeCounted { ty: to, ptr: op, count });
        };
        if nonnull {
            make(self);
        } else {
            self.when(look, make);
        }
        self.give(out)
    }

    /// `Conv::View`: plain data seen as other plain data.
    pub fn convert_view(&mut self, op: Operand, from: Ty, to: Ty) -> Operand {
        if let Operand::Const(Const::Null(_)) = op {
            return Operand::Const(Const::Null(to));
        }
        let (Some(source), Some(dest)) = (self.pointer_of(from), self.pointer_of(to)) else {
            return op;
        };
        let op = self.simple(op);
        let bytes = self.is_byte(dest.target.ty);
        if !bytes {
            self.check(Check::View(op.clone(), dest.target.ty));
        }
        if !source.bounds.is_fat() && !dest.bounds.is_fat() && self.same_size(source.target.ty, dest.target.ty) {
            return self.address(op, to);
        }
        let fat = self.fat_of(op, from);
        let fat_ty = self.operand_ty(&fat);
        // As bytes, or elements of one size: all words stay.
        if dest.bounds.is_fat() && (bytes || self.same_size(source.target.ty, dest.target.ty)) {
            let thin = self.thin(to);
            let part = |this: &mut Self, part| this.temp_of(Rvalue::Part(fat.clone(), part, thin), thin);
            let ptr = part(self, Part::Ptr);
            let lo = part(self, Part::Lo);
            let hi = part(self, Part::Hi);
            return self.temp_of(Rvalue::MakeFat { ty: to, ptr, lo, hi }, to);
        }
        // Otherwise as many whole elements as the bytes behind the address hold.
        let (ulong, long) = (self.common().ulong, self.common().long);
        let thin = self.thin(to);
        let have = self.temp_of(Rvalue::Remaining(fat.clone()), ulong);
        let source_size = self.pointer_of(fat_ty).map_or(self.size(1), |p| self.size_of(p.target.ty));
        let mut size = have;
        if const_int(&source_size) != Some(1) {
            size = self.temp_of(Rvalue::Binary(BinOp::Mul, size, source_size, ulong), ulong);
        }
        let bytes = size.clone();
        let wanted = self.size_of(dest.target.ty);
        if const_int(&wanted) != Some(1) {
            size = self.temp_of(Rvalue::Binary(BinOp::Div, size, wanted, ulong), ulong);
        }
        if dest.bounds.is_fat() {
            let ptr = self.temp_of(Rvalue::Part(fat, Part::Ptr, thin), thin);
            let count = self.numeric(size, long);
            return self.temp_of(Rvalue::MakeCounted { ty: to, ptr, count }, to);
        }
        if !self.checks_off() {
            let elem = dest.target.ty;
            let check = |this: &mut Self| {
                // A part of an element is not a view; where there is nothing the bounds are at
                // fault.
                let (ulong, int) = (this.common().ulong, this.common().int);
                let element = this.size_of(elem);
                let short = this.temp_of(Rvalue::Binary(BinOp::Lt, bytes.clone(), element, ulong), int);
                this.when(short, |this| this.check(Check::Multiple(bytes, elem)));
                let want = this.size(1);
                this.check(Check::Enough(want, size));
            };
            if source.nonnull {
                check(self);
            } else {
                self.when(fat.clone(), check);
            }
        }
        self.temp_of(Rvalue::Part(fat, Part::Ptr, to), to)
    }

    /// The pointer with bounds words: one element for a thin one, the measured string for a
    /// terminated one.
    fn fat_of(&mut self, op: Operand, from: Ty) -> Operand {
        let Some(source) = self.pointer_of(from) else { return op };
        if source.bounds.is_fat() {
            return op;
        }
        let fat = self.program.types.pointer(Pointer { bounds: Bounds::Fat, ..source });
        self.convert_pointer(op, from, fat)
    }

    fn is_byte(&self, ty: Ty) -> bool {
        matches!(self.program.types.kind(ty), TyKind::Void) || self.program.types.is_character(ty)
    }

    fn same_size(&self, a: Ty, b: Ty) -> bool {
        let size = |ty| self.program.types.layout(ty).map(|l| l.size);
        a == b || size(a).is_some() && size(a) == size(b)
    }

    /// `Conv::Unchecked`: reinterpretation.
    pub fn convert_unchecked(&mut self, op: Operand, from: Ty, to: Ty) -> Operand {
        if let Operand::Const(Const::Null(_)) = op {
            if self.pointer_of(to).is_some() {
                return Operand::Const(Const::Null(to));
            }
        }
        let Some(dest) = self.pointer_of(to) else {
            return if self.pointer_of(from).is_some() { self.pointer_to_int(op, to) } else { self.numeric(op, to) };
        };
        let thin = self.thin(to);
        let source = self.pointer_of(from);
        if let (true, Some(source)) = (dest.bounds.is_fat(), source) {
            if source.bounds.is_fat() {
                if mir::ty::same_shape(&self.program.types, from, to) {
                    return op;
                }
                let op = self.simple(op);
                let ptr = self.temp_of(Rvalue::Part(op.clone(), Part::Ptr, thin), thin);
                let lo = self.temp_of(Rvalue::Part(op.clone(), Part::Lo, thin), thin);
                let hi = self.temp_of(Rvalue::Part(op, Part::Hi, thin), thin);
                return self.temp_of(Rvalue::MakeFat { ty: to, ptr, lo, hi }, to);
            }
        }
        let typed = self.is_typed_void(to);
        if typed && self.is_typed_void(from) {
            return op;
        }
        let one_word = if dest.bounds.is_fat() || typed { thin } else { to };
        let word = match source {
            Some(_) => self.address(op, one_word),
            None => {
                let ulong = self.common().ulong;
                let bits =
                    if matches!(self.program.types.kind(from), TyKind::Func(_)) { op } else { self.numeric(op, ulong) };
                self.temp_of(Rvalue::Bits(bits, one_word), one_word)
            }
        };
        if typed {
            let remembered = source.map_or(self.common().void, |p| p.target.ty);
            return self.temp_of(Rvalue::MakeTypedVoid(word, remembered, to), to);
        }
        if dest.bounds.is_fat() {
            return self.convert_pointer(word, thin, to);
        }
        word
    }

    /// A pointer as an integer.
    pub fn pointer_to_int(&mut self, op: Operand, to: Ty) -> Operand {
        let from = self.operand_ty(&op);
        let thin = self.thin(from);
        let word = self.address(op, thin);
        let ulong = self.common().ulong;
        if self.program.types.as_int(to).is_some_and(|k| k.size() == 8) {
            return self.temp_of(Rvalue::Bits(word, to), to);
        }
        let bits = self.temp_of(Rvalue::Bits(word, ulong), ulong);
        self.numeric(bits, to)
    }

    // ---- counts

    /// A count expression over the fields of the record at a place, as signed 64-bit.
    pub fn count_of_fields(&mut self, id: CountId, record: &Place) -> Operand {
        self.count(id, &|n| match n {
            CountRef::Field(n) => Some(Operand::Copy(record.then(Proj::Field(n)))),
            CountRef::Param(_) => None,
        })
    }

    /// A count expression over arguments, as signed 64-bit.
    pub fn count_of_args(&mut self, id: CountId, args: &[Operand]) -> Operand {
        self.count(id, &|n| match n {
            CountRef::Param(n) => args.get(n as usize).cloned(),
            CountRef::Field(_) => None,
        })
    }

    /// A count expression, its leaves given by `leaf`.
    pub fn count(&mut self, id: CountId, leaf: &dyn Fn(CountRef) -> Option<Operand>) -> Operand {
        let long = self.common().long;
        let expr = self.program.types.count_expr(id).clone();
        let (op, a, b) = match expr {
            CountExpr::Const(value) => return self.int(i128::from(value), long),
            CountExpr::Param(n) => return self.count_leaf(leaf(CountRef::Param(n))),
            CountExpr::Field(n) => return self.count_leaf(leaf(CountRef::Field(n))),
            CountExpr::Add(a, b) => (BinOp::Add, a, b),
            CountExpr::Sub(a, b) => (BinOp::Sub, a, b),
            CountExpr::Mul(a, b) => (BinOp::Mul, a, b),
            CountExpr::Div(a, by) => {
                let a = self.count(a, leaf);
                let by = self.int(i128::from(by.max(1)), long);
                return self.temp_of(Rvalue::Binary(BinOp::Div, a, by, long), long);
            }
        };
        let a = self.count(a, leaf);
        let b = self.count(b, leaf);
        if let (Some(x), Some(y)) = (const_int(&a), const_int(&b)) {
            let value = match op {
                BinOp::Add => x.checked_add(y),
                BinOp::Sub => x.checked_sub(y),
                _ => x.checked_mul(y),
            };
            if let Some(value) = value.filter(|v| i64::try_from(*v).is_ok()) {
                return self.int(value, long);
            }
        }
        self.temp_of(Rvalue::CountArith(op, a, b), long)
    }

    fn count_leaf(&mut self, op: Option<Operand>) -> Operand {
        let long = self.common().long;
        match op {
            Some(op) => self.numeric(op, long),
            None => {
                self.impossible();
                self.int(0, long)
            }
        }
    }

    /// A count as `size_t`, negative as 0.
    pub fn clamp(&mut self, count: Operand) -> Operand {
        match const_int(&count) {
            Some(value) => self.int(value.max(0), self.common().ulong),
            None => {
                let ulong = self.common().ulong;
                self.temp_of(Rvalue::Clamp(count), ulong)
            }
        }
    }

    // ---- arrays as pointers, addresses

    /// `Decay`: an array place as a pointer of type `to`.
    pub fn decay(&mut self, array: &'t Expr, to: Ty) -> Operand {
        let access = self.place(array, Use::Address);
        let array_ty = access.qty.ty;
        let TyKind::Array { elem, len, terminated } = self.program.types.kind(array_ty).clone() else {
            self.impossible();
            return Operand::Const(Const::Null(to));
        };
        let dest = self.pointer_of(to);
        let elem = dest.map_or(elem, |p| p.target);
        let fat = dest.is_some_and(|p| p.bounds.is_fat());
        let thin = if fat { self.thin_to(elem) } else { to };
        let first = match (access.place.base, access.place.proj.is_empty()) {
            (PlaceBase::Str(s), true) => Operand::Const(Const::Addr(ConstAddrKey::Str(s), 0, thin)),
            _ => {
                self.take_address(&access.place);
                let zero = self.int(0, self.common().ulong);
                let first = access.place.then(Proj::Index(zero));
                self.temp_of(Rvalue::AddrOf(first), thin)
            }
        };
        if !fat {
            return first;
        }
        let long = self.common().long;
        let count = match len {
            ArrayLen::Const(n) => {
                // A literal's zero may be read through a view with bounds; a writable array's
                // never.
                let literal = matches!(access.place.base, PlaceBase::Str(_));
                let view = dest.is_some_and(|p| p.bounds == Bounds::Fat && p.target.quals.is_const);
                let hidden = u64::from(terminated && !(literal && view));
                self.int(i128::from(n.saturating_sub(hidden)), long)
            }
            ArrayLen::Flexible(Some(count)) => self.count_of_fields(count, &crate::place::parent(&access.place)),
            ArrayLen::Variable(local) => {
                let local = self.local(typing::tree::LocalId(local));
                self.numeric(Operand::local(local), long)
            }
            ArrayLen::Unknown | ArrayLen::Flexible(None) => self.int(0, long),
        };
        self.temp_of(Rvalue::MakeCounted { ty: to, ptr: first, count }, to)
    }

    /// `&place` as a pointer of type `to`.
    pub fn address_of(&mut self, place: &'t Expr, to: Ty) -> Operand {
        match &*place.kind {
            // `&*p` is p, and `&p[i]` is p + i within its bounds.
            ExprKind::Deref(p) => {
                let op = self.operand(p);
                self.as_nonnull(op, p.ty.ty, to)
            }
            ExprKind::IndexPointer(p, index) if self.is_fat(to) || !self.is_fat(p.ty.ty) => {
                let op = self.operand_before(p, &[index]);
                let index = self.operand(index);
                let moved = self.pointer_add(op, p.ty.ty, index, false);
                if self.pointer_of(p.ty.ty).is_some_and(|p| p.bounds == Bounds::Fat) {
                    self.check(Check::Within(moved.clone()));
                }
                self.as_nonnull(moved, p.ty.ty, to)
            }
            ExprKind::IndexArray(array, index) if self.is_fat(to) => {
                let all = self.decay(array, to);
                let index = self.operand(index);
                let known = match self.program.types.kind(array.ty.ty) {
                    TyKind::Array { len: ArrayLen::Const(n), terminated, .. } => const_int(&index)
                        .is_some_and(|i| i >= 0 && i <= i128::from(n.saturating_sub(u64::from(*terminated)))),
                    _ => false,
                };
                let moved = self.pointer_add(all, to, index, false);
                if !known && self.pointer_of(to).is_some_and(|p| p.bounds == Bounds::Fat) {
                    self.check(Check::Within(moved.clone()));
                }
                moved
            }
            _ => {
                let access = self.place(place, Use::Address);
                self.take_address(&access.place);
                if self.is_fat(to) || self.is_typed_void(to) {
                    let thin = self.thin(to);
                    let ptr = self.temp_of(Rvalue::AddrOf(access.place), thin);
                    return self.convert_pointer(ptr, thin, to);
                }
                self.temp_of(Rvalue::AddrOf(access.place), to)
            }
        }
    }

    /// A pointer whose address becomes a `nonnull` one.
    fn as_nonnull(&mut self, op: Operand, from: Ty, to: Ty) -> Operand {
        let nullable = self.pointer_of(from).is_some_and(|p| !p.nonnull);
        let wanted = self.pointer_of(to).is_some_and(|p| p.nonnull);
        let op = if nullable && wanted && !self.checks_off() {
            let op = self.simple(op);
            self.check_nonnull(op.clone());
            op
        } else {
            op
        };
        self.convert_pointer(op, from, to)
    }
}

/// A leaf of a count expression.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CountRef {
    /// Parameter number.
    Param(u32),
    /// Field number.
    Field(u32),
}
