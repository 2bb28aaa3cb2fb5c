//! `new` and C's allocation functions.

use crate::builder::Lower;
use crate::effects;
use crate::init::Before;
use crate::place::{const_int, read_of, Use};
use mir::ir::*;
use typing::tree::{self, AllocSize, Expr, ExprKind, Init, New};
use typing::types::*;

/// How an allocation is made.
struct Fresh {
    /// The handle of its arena or reap.
    handle: Option<Operand>,
    /// With a count in front.
    counted: bool,
    /// Null when there is no room.
    fallible: bool,
}

impl<'t> Lower<'t, '_> {
    /// `new`; the pointer of type `ty` goes to `dest`.
    pub fn new_object(&mut self, dest: Local, ty: Ty, new: &'t New) {
        let thin = self.thin_owner(ty);
        let handle = new.handle.as_ref().map(|h| {
            let op = self.operand(h);
            self.whole(op)
        });
        let fresh = Fresh { handle, counted: new.counted, fallible: new.fallible };
        if let (Some(record), Some(count)) = (new.flexible, &new.count) {
            return self.new_flexible(dest, ty, new, record, count, fresh);
        }
        let long = self.common().long;
        let Some(count) = &new.count else {
            let one = self.int(1, long);
            let object = self.allocate(new.elem, one, None, false, fresh, thin);
            self.init_new(&object, new.fallible, |this, object| {
                if let Some(init) = &new.init {
                    this.init_object(object, new.elem, init);
                }
            });
            let value = self.convert_pointer(object, thin, ty);
            self.assign(Place::local(dest), Rvalue::Use(value));
            return;
        };
        let count = self.operand(count);
        let count = self.freeze(count);
        let count = self.numeric(count, long);
        let hidden = self.pointer_of(ty).is_some_and(|p| p.bounds == Bounds::FatTerminated);
        let first = self.allocate(new.elem, count.clone(), None, hidden, fresh, thin);
        self.assign(Place::local(dest), Rvalue::MakeCounted { ty, ptr: first, count });
        if let Some(init) = &new.init {
            let array = Operand::local(dest);
            let guarded = new.fallible;
            self.init_new(&array, guarded, |this, array| this.init_elements(array, ty, new.elem, init));
        }
    }

    fn allocate(
        &mut self,
        elem: Ty,
        count: Operand,
        extra: Option<Operand>,
        hidden_zero: bool,
        fresh: Fresh,
        thin: Ty,
    ) -> Operand {
        let Fresh { handle, counted, fallible } = fresh;
        self.temp_of(Rvalue::Alloc { elem, count, extra, hidden_zero, fallible, handle, counted, reuse: None }, thin)
    }

    /// Initialises what was allocated, if there was room.
    fn init_new(&mut self, object: &Operand, fallible: bool, init: impl FnOnce(&mut Self, &Operand)) {
        if fallible {
            let inner = object.clone();
            self.when(object.clone(), |this| init(this, &inner));
        } else {
            init(self, object);
        }
    }

    /// The object is zero; the initialiser adds what is not.
    fn init_object(&mut self, object: &Operand, elem: Ty, init: &'t Init) {
        if let Some(place) = object.place() {
            self.init_place(&place.then(Proj::Deref), Qty::plain(elem), init, Before::Zeros);
        }
    }

    /// The elements of a new array.
    fn init_elements(&mut self, array: &Operand, ty: Ty, elem: Ty, init: &'t Init) {
        let items: Vec<(u64, u64, &Init)> = match init {
            Init::List(items) => items
                .iter()
                .map(|(i, item)| match item {
                    Init::Repeat(lo, hi, inner) => (*lo, *hi, &**inner),
                    _ => (*i, *i, item),
                })
                .collect(),
            Init::Repeat(lo, hi, inner) => vec![(*lo, *hi, &**inner)],
            other => vec![(0, 0, other)],
        };
        let long = self.common().long;
        for (lo, hi, item) in items {
            for i in lo..=hi {
                let index = self.int(i128::from(i), long);
                let at = if i == 0 { array.clone() } else { self.temp_of(Rvalue::Offset(array.clone(), index), ty) };
                let one = self.size(1);
                self.check(Check::Access(at.clone(), one));
                self.init_object(&at, elem, item);
            }
        }
    }

    /// `new struct msg[.len = n]`
    fn new_flexible(&mut self, dest: Local, ty: Ty, new: &'t New, record: RecordId, count: &'t Expr, fresh: Fresh) {
        let (long, ulong) = (self.common().long, self.common().ulong);
        let thin = self.thin_owner(ty);
        let count = self.operand(count);
        let count = self.freeze(count);
        let wide = self.numeric(count.clone(), long);
        let member = self.program.types.flexible_member(record);
        let size = member.map_or(self.size(1), |(_, elem, _)| self.size_of(elem.ty));
        let size = self.numeric(size, long);
        let extra = match (const_int(&wide), const_int(&size)) {
            (Some(n), Some(s)) if n.checked_mul(s).is_some_and(|b| i64::try_from(b).is_ok()) => self.int(n * s, long),
            _ if new.fallible => self.bytes_or_too_many(wide, size),
            _ => self.temp_of(Rvalue::CountArith(BinOp::Mul, wide, size), long),
        };
        let extra = self.numeric(extra, ulong);
        let one = self.int(1, long);
        let object = self.allocate(new.elem, one, Some(extra), false, fresh, thin);
        self.init_new(&object, new.fallible, |this, object| {
            if let Some(init) = &new.init {
                // The count is one of the fields.
                return this.init_object(object, new.elem, init);
            }
            let Some((_, _, Some(id))) = member else { return };
            let CountExpr::Field(n) = *this.program.types.count_expr(id) else { return };
            let Some((_, fields)) = this.fields_of(new.elem) else { return };
            let (Some(field), Some(place)) = (fields.get(n as usize), object.place()) else { return };
            let value = this.numeric(count, field.ty.ty);
            this.assign(place.then(Proj::Deref).then(Proj::Field(n)), Rvalue::Use(value));
        });
        let value = self.convert_pointer(object, thin, ty);
        self.assign(Place::local(dest), Rvalue::Use(value));
    }

    /// `count * size` in bytes, or more than there can be if it does not fit: then the allocation
    /// that follows gives null.
    fn bytes_or_too_many(&mut self, count: Operand, size: Operand) -> Operand {
        let (int, long, ulong) = (self.common().int, self.common().long, self.common().ulong);
        // At most the largest count that fits; no division by zero for an element without size.
        let size = self.numeric(size, ulong);
        let size = self.freeze(size);
        let one = self.int(1, ulong);
        let divisor = self.temp_of(Rvalue::Binary(BinOp::BitOr, size.clone(), one, ulong), ulong);
        let top = self.int(i128::from(i64::MAX), ulong);
        let most = self.temp_of(Rvalue::Binary(BinOp::Div, top, divisor, ulong), ulong);
        let count = self.numeric(count, ulong);
        let count = self.freeze(count);
        let bytes = self.temp(long);
        let product = self.temp_of(Rvalue::Binary(BinOp::Mul, count.clone(), size, ulong), ulong);
        let product = self.numeric(product, long);
        self.assign(Place::local(bytes), Rvalue::Use(product));
        let too_many = self.temp_of(Rvalue::Binary(BinOp::Gt, count, most, ulong), int);
        self.when(too_many, |this| {
            let top = this.int(i128::from(i64::MAX), long);
            this.assign(Place::local(bytes), Rvalue::Use(top));
        });
        self.give(bytes)
    }

    /// `malloc`, `calloc`, `realloc`.
    pub fn alloc(&mut self, dest: Local, ty: Ty, alloc: &'t tree::Alloc) {
        let old = alloc.old.as_ref().filter(|old| !takes_slot(old)).map(|old| {
            if let (true, ExprKind::Move(place)) = (alloc.fallible, &*old.kind) {
                return self.kept_old(place, old.ty.ty);
            }
            let busy = match &alloc.size {
                AllocSize::Bytes(e) => effects::has_effects(e),
                AllocSize::Product(a, b) => effects::has_effects(a) || effects::has_effects(b),
            };
            let op = self.operand(old);
            let op = if busy { self.freeze(op) } else { op };
            let gone = matches!(op, Operand::Move(_)).then(|| op.clone());
            Old { look: read_of(&op), gone, ty: old.ty.ty }
        });
        let (long, ulong) = (self.common().long, self.common().ulong);
        let thin = self.thin_owner(ty);
        if alloc.flexible {
            let bytes = self.total_bytes(&alloc.size);
            return self.alloc_flexible(dest, ty, alloc, bytes, old);
        }
        let count = match self.whole_elements(&alloc.size, alloc.elem) {
            Some(count) => {
                let count = self.operand(count);
                let count = self.freeze(count);
                self.numeric(count, long)
            }
            None => {
                let bytes = self.total_bytes(&alloc.size);
                let size = self.size_of(alloc.elem);
                self.divided(bytes, size, ulong, long)
            }
        };
        let pointer = self.pointer_of(ty);
        let fat = pointer.is_some_and(|p| p.bounds.is_fat());
        let hidden = pointer.is_some_and(|p| p.bounds == Bounds::FatTerminated);
        if !fat && const_int(&count).is_none_or(|n| n < 1) {
            let have = self.clamp(count.clone());
            let want = self.size(1);
            self.check(Check::Enough(want, have));
        }
        let fresh = Fresh { handle: None, counted: false, fallible: alloc.fallible };
        let block = self.allocate(alloc.elem, count.clone(), None, hidden, fresh, thin);
        let old = old.or_else(|| self.old_of_slot(alloc));
        if let Some(old) = old {
            let new = read_of(&block);
            let amount = count.clone();
            let copy = |this: &mut Self| {
                this.copy_old(old.look.clone(), old.ty, new, amount, thin);
                this.give_up_old(old, alloc.elem);
            };
            if alloc.fallible {
                self.when(read_of(&block), copy);
            } else {
                copy(self);
            }
        }
        let value = if fat {
            Rvalue::MakeCounted { ty, ptr: block, count }
        } else {
            Rvalue::Use(self.convert_pointer(block, thin, ty))
        };
        self.assign(Place::local(dest), value);
    }

    /// The old block of `slot = realloc(slot, n)`. The slot is emptied after the new block is
    /// there: a task that is shut down in the allocation leaves it as it was, for others who reach
    /// it.
    fn old_of_slot(&mut self, alloc: &'t tree::Alloc) -> Option<Old> {
        let old = alloc.old.as_ref().filter(|old| takes_slot(old))?;
        let op = self.operand(old);
        let gone = matches!(op, Operand::Move(_)).then(|| op.clone());
        Some(Old { look: read_of(&op), gone, ty: old.ty.ty })
    }

    /// The old block of an allocation that may fail: it stays in its place if it does.
    fn kept_old(&mut self, place: &'t Expr, ty: Ty) -> Old {
        let access = self.place(place, Use::Read);
        let gone = Some(Operand::Move(access.place.clone()));
        Old { look: self.load(&access, ty), gone, ty }
    }

    /// Bytes divided by an element size, as signed 64-bit.
    fn divided(&mut self, bytes: Operand, size: Operand, ulong: Ty, long: Ty) -> Operand {
        if let (Some(b), Some(s)) = (const_int(&bytes), const_int(&size)) {
            if s > 0 {
                return self.int(b / s, long);
            }
        }
        if const_int(&size) == Some(1) {
            return self.numeric(bytes, long);
        }
        let count = self.temp_of(Rvalue::Binary(BinOp::Div, bytes, size, ulong), ulong);
        self.numeric(count, long)
    }

    /// The count of `calloc(n, sizeof(T))`, when the size is the element's: it needs no product.
    fn whole_elements(&self, size: &'t AllocSize, elem: Ty) -> Option<&'t Expr> {
        let AllocSize::Product(count, each) = size else { return None };
        let layout = self.program.types.layout(elem).map(|l| i128::from(l.size));
        let is_size = |e: &Expr| match &*e.kind {
            ExprKind::SizeOf(ty) => *ty == elem,
            ExprKind::Int(n) => layout == Some(*n),
            _ => false,
        };
        match (is_size(each), is_size(count)) {
            (true, _) => Some(count),
            (_, true) => Some(each),
            _ => None,
        }
    }

    /// The bytes asked for; a product that overflows is more than there is.
    fn total_bytes(&mut self, size: &'t AllocSize) -> Operand {
        let (ulong, int) = (self.common().ulong, self.common().int);
        match size {
            AllocSize::Bytes(e) => {
                let bytes = self.operand(e);
                let bytes = self.freeze(bytes);
                self.numeric(bytes, ulong)
            }
            AllocSize::Product(a, b) => {
                let x = self.operand_before(a, &[b]);
                let x = self.numeric(x, ulong);
                let y = self.operand(b);
                let y = self.numeric(y, ulong);
                if let (Some(m), Some(n)) = (const_int(&x), const_int(&y)) {
                    let bytes = m.checked_mul(n).filter(|b| *b <= i128::from(i64::MAX));
                    return self.int(bytes.unwrap_or(i128::from(i64::MAX)), ulong);
                }
                let bytes = self.temp(ulong);
                self.assign(Place::local(bytes), Rvalue::Binary(BinOp::Mul, x.clone(), y.clone(), ulong));
                self.when(x.clone(), |this| {
                    let max = this.size(i64::MAX as u64);
                    let most = this.temp_of(Rvalue::Binary(BinOp::Div, max.clone(), x, ulong), ulong);
                    let over = this.temp_of(Rvalue::Binary(BinOp::Gt, y, most, ulong), int);
                    this.when(over, |this| this.assign(Place::local(bytes), Rvalue::Use(max)));
                });
                Operand::local(bytes)
            }
        }
    }

    /// Copies what fits of an old block into a new one.
    fn copy_old(&mut self, old: Operand, old_ty: Ty, new: Operand, count: Operand, thin: Ty) {
        if let Operand::Const(_) = old {
            return;
        }
        let fat = self.pointer_of(old_ty).is_some_and(|p| p.bounds.is_fat());
        if fat && !self.owns_target(thin) {
            // The block is there, so the count is not negative.
            let ulong = self.common().ulong;
            let count = self.numeric(count, ulong);
            self.emit(StmtKind::CopyElements { to: new, from: old, count });
            return;
        }
        self.when(old.clone(), |this| {
            let (ulong, int) = (this.common().ulong, this.common().int);
            let have = match this.pointer_of(old_ty).map(|p| p.bounds) {
                Some(Bounds::Fat | Bounds::FatTerminated) => this.temp_of(Rvalue::Remaining(old.clone()), ulong),
                Some(Bounds::Terminated) => this.temp_of(Rvalue::Measure(old.clone()), ulong),
                _ => this.size(1),
            };
            let thin = this.unowned(thin);
            let from = this.address(old, thin);
            let amount = this.temp(ulong);
            let want = this.clamp(count);
            this.assign(Place::local(amount), Rvalue::Use(want.clone()));
            let less = this.temp_of(Rvalue::Binary(BinOp::Lt, have.clone(), want, ulong), int);
            this.when(less, |this| this.assign(Place::local(amount), Rvalue::Use(have.clone())));
            this.emit(StmtKind::CopyElements { to: new, from: from.clone(), count: Operand::local(amount) });
            this.drop_rest(from, thin, amount, have);
        });
    }

    /// Whether what a pointer leads to owns something.
    fn owns_target(&self, pointer: Ty) -> bool {
        let elem = self.pointer_of(pointer).map(|p| p.target.ty);
        elem.is_some_and(|elem| mir::ty::owns(&self.program.types, elem))
    }

    /// Frees what the elements `from[at .. have)` own, which have no room in the new block.
    fn drop_rest(&mut self, from: Operand, thin: Ty, at: Local, have: Operand) {
        if !self.owns_target(thin) {
            return;
        }
        let (ulong, int) = (self.common().ulong, self.common().int);
        let (head, inside, exit) = (self.new_block(), self.new_block(), self.new_block());
        self.goto_and_start(head, head);
        let more = self.temp_of(Rvalue::Binary(BinOp::Lt, Operand::local(at), have, ulong), int);
        self.set_term(TermKind::If(more, inside, exit));
        self.start(inside);
        let element = self.temp(thin);
        self.assign(Place::local(element), Rvalue::Offset(from, Operand::local(at)));
        self.emit(StmtKind::DropSlot(Place::local(element).then(Proj::Deref)));
        let one = self.size(1);
        self.assign(Place::local(at), Rvalue::Binary(BinOp::Add, Operand::local(at), one, ulong));
        self.goto_and_start(head, exit);
    }

    /// `realloc` frees the old block if it was owned; what its elements own went with them into the
    /// new one, so it is freed as bytes.
    fn give_up_old(&mut self, old: Old, elem: Ty) {
        let Some(gone) = old.gone.filter(|_| mir::ty::owns(&self.program.types, old.ty)) else { return };
        let mut thin = self.thin_owner(old.ty);
        if mir::ty::owns(&self.program.types, elem) {
            let target = Qty::plain(self.common().uchar);
            if let Some(p) = self.pointer_of(thin) {
                thin = self.program.types.pointer(Pointer { target, ..p });
            }
        }
        let value = self.address(gone, thin);
        self.emit(StmtKind::Dispose { value, handle: None, moved: vec![] });
    }

    /// A record with a flexible tail from a number of bytes.
    fn alloc_flexible(&mut self, dest: Local, ty: Ty, alloc: &'t tree::Alloc, bytes: Operand, old: Option<Old>) {
        let (ulong, long) = (self.common().ulong, self.common().long);
        let thin = self.thin_owner(ty);
        let size = self.size_of(alloc.elem);
        self.check(Check::Enough(size.clone(), bytes.clone()));
        let extra = self.temp_of(Rvalue::Binary(BinOp::Sub, bytes, size, ulong), ulong);
        let extra = self.freeze(extra);
        self.check_fresh_count(alloc.elem, &extra);
        let one = self.int(1, long);
        let fresh = Fresh { handle: None, counted: false, fallible: alloc.fallible };
        let block = self.allocate(alloc.elem, one, Some(extra.clone()), false, fresh, thin);
        let old = old.or_else(|| self.old_of_slot(alloc));
        if let (Some(old), Some(record)) = (old, self.program.types.as_record(alloc.elem)) {
            let new = read_of(&block);
            let copy = |this: &mut Self| {
                this.copy_flexible(old.look.clone(), old.ty, new, extra, alloc.elem, record);
                this.give_up_old(old, alloc.elem);
            };
            if alloc.fallible {
                self.when(read_of(&block), copy);
            } else {
                copy(self);
            }
        }
        let value = self.convert_pointer(block, thin, ty);
        self.assign(Place::local(dest), Rvalue::Use(value));
    }

    /// There is room for the elements that the count of a fresh record says, in which all fields are
    /// zero: of `counted_by(n + 1)` for one.
    fn check_fresh_count(&mut self, elem: Ty, extra: &Operand) {
        let record = self.program.types.as_record(elem);
        let member = record.and_then(|record| self.program.types.flexible_member(record));
        let Some((_, item, Some(count))) = member else { return };
        let least = self.program.types.count_of_zeros(count);
        if least > 0 {
            let (ulong, long) = (self.common().ulong, self.common().long);
            let size = self.size_of(item.ty);
            let room = self.divided(extra.clone(), size, ulong, long);
            let least = self.int(i128::from(least), long);
            self.check(Check::Count(least, room));
        }
    }

    /// Copies a record and the elements that its count says; they must fit.
    fn copy_flexible(&mut self, old: Operand, old_ty: Ty, new: Operand, extra: Operand, elem: Ty, record: RecordId) {
        if let Operand::Const(_) = old {
            return;
        }
        let thin = self.thin_to(Qty::plain(elem));
        self.when(old.clone(), |this| {
            let (ulong, long) = (this.common().ulong, this.common().long);
            let old = this.convert_pointer(old, old_ty, thin);
            let old = this.simple(old);
            let Some(at) = old.place().map(|p| p.then(Proj::Deref)) else { return };
            let mut bytes = this.size_of(elem);
            if let Some((_, item, Some(count))) = this.program.types.flexible_member(record) {
                let count = this.count_of_fields(count, &at);
                let count = this.clamp(count);
                let size = this.size_of(item.ty);
                let room = this.divided(extra, size.clone(), ulong, long);
                let signed = this.numeric(count.clone(), long);
                this.check(Check::Count(signed, room));
                let tail = this.temp_of(Rvalue::Binary(BinOp::Mul, count, size, ulong), ulong);
                bytes = this.temp_of(Rvalue::Binary(BinOp::Add, bytes, tail, ulong), ulong);
            }
            let byte = this.common().uchar;
            let byte_ptr = this.thin_to(Qty::plain(byte));
            let to = this.temp_of(Rvalue::Bits(new, byte_ptr), byte_ptr);
            let from = this.temp_of(Rvalue::Bits(old, byte_ptr), byte_ptr);
            this.emit(StmtKind::CopyElements { to, from, count: bytes });
        });
    }
}

/// The old block of a `realloc`.
struct Old {
    /// To be looked at.
    look: Operand,
    /// What takes it, if it is owned.
    gone: Option<Operand>,
    ty: Ty,
}

/// Whether an old block comes out of the slot that the new one is for.
fn takes_slot(old: &Expr) -> bool {
    match &*old.kind {
        ExprKind::Convert(_, inner) => takes_slot(inner),
        kind => matches!(kind, ExprKind::Take(_)),
    }
}
