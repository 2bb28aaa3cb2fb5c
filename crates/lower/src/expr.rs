//! Expressions.

use crate::builder::Lower;
use crate::effects;
use crate::place::Use;
use mir::ir::*;
use typing::tree::{Conv, Expr, ExprKind};
use typing::types::*;

impl<'t> Lower<'t, '_> {
    /// The value as an operand that stays good until something assigns to the variable that it may
    /// be.
    pub fn operand(&mut self, e: &'t Expr) -> Operand {
        let op = self.direct(e);
        let saved = self.enter(e.span, e.is_unsafe);
        let op = self.simple(op);
        self.leave(saved);
        op
    }

    /// The value as an operand that is good until the expressions `later` have been evaluated.
    /// `out_of_hold` must take it then.
    pub fn operand_before(&mut self, e: &'t Expr, later: &[&'t Expr]) -> Operand {
        let op = self.operand(e);
        if let (Some(&local), Operand::Move(_)) = (self.unnamed.get(&std::ptr::from_ref(e)), &op) {
            self.hold_value(local, op);
            return Operand::Move(Place::local(local));
        }
        let Some(place) = op.place() else { return op };
        let PlaceBase::Local(local) = place.base else { return self.freeze(op) };
        if self.body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp) {
            return op;
        }
        let tree_local = self.locals.iter().position(|l| *l == local);
        let taken = tree_local.is_none_or(|i| self.taken.get(i).copied().unwrap_or(true));
        let watched = match tree_local {
            Some(i) if !taken => Some(typing::tree::LocalId(i as u32)),
            _ => None,
        };
        if later.iter().any(|e| effects::disturbs(e, watched)) {
            self.freeze(op)
        } else {
            op
        }
    }

    /// A value that waited in an unnamed variable leaves that, once what it waited for is known.
    pub fn out_of_hold(&mut self, arg: Operand) -> Operand {
        match &arg {
            Operand::Move(place) if place.as_local().is_some_and(|l| self.unnamed.values().any(|&held| held == l)) => {
                let ty = self.operand_ty(&arg);
                let value = self.move_place(place.clone(), ty);
                self.operand_of(value, ty)
            }
            _ => arg,
        }
    }

    /// The value as an operand for the very next statement: it may still read memory.
    pub fn direct(&mut self, e: &'t Expr) -> Operand {
        let saved = self.enter(e.span, e.is_unsafe);
        let value = self.rvalue(e);
        let op = self.operand_of(value, e.ty.ty);
        self.leave(saved);
        op
    }

    /// Evaluates and drops.
    pub fn effect(&mut self, e: &'t Expr) {
        let saved = self.enter(e.span, e.is_unsafe);
        match &*e.kind {
            ExprKind::Assign(place, value) => {
                self.assign_expr(place, value, false);
            }
            ExprKind::AssignOp(op, ty, place, value) => {
                self.assign_op(*op, *ty, place, value, false);
            }
            ExprKind::IncDec(place, up, _) => {
                self.inc_dec(place, *up, true, false);
            }
            ExprKind::Convert(Conv::Void, inner) => self.effect(inner),
            ExprKind::Comma(a, b) => {
                self.effect(a);
                self.effect(b);
            }
            ExprKind::Call(callee, through, args) => {
                self.call(e, callee, *through, args, None);
            }
            ExprKind::StmtExpr(block, value) => {
                let scope = self.open_scope(block.span);
                self.block_stmts(block);
                if let Some(value) = value {
                    self.declare_unnamed(value);
                    self.effect(value);
                }
                self.close_scope(scope);
            }
            ExprKind::Cond(c, a, b) => {
                let (yes, no, join) = (self.new_block(), self.new_block(), self.new_block());
                self.branch(c, yes, no);
                self.start(yes);
                self.effect(a);
                self.goto_and_start(join, no);
                self.effect(b);
                self.goto_and_start(join, join);
            }
            ExprKind::And(..) | ExprKind::Or(..) => {
                let join = self.new_block();
                self.branch(e, join, join);
                self.start(join);
            }
            ExprKind::Unreachable => self.unreachable(),
            ExprKind::Free(place) => self.free(place),
            ExprKind::Dispose(value, handle) => self.dispose(value, handle.as_ref()),
            ExprKind::Load(place) => {
                // A read that has an effect of its own is kept: volatile, or checks in the place.
                let access = self.place(place, Use::Read);
                if place.ty.quals.is_volatile && !self.is_aggregate(e.ty.ty) {
                    let op = Operand::Copy(access.place);
                    self.temp_of(Rvalue::Use(op), e.ty.ty);
                }
            }
            ExprKind::Builtin(..) if self.is_void(e.ty.ty) => {
                self.builtin(e);
            }
            // What nothing takes stays where it is.
            ExprKind::Move(place) => {
                self.place(place, Use::Read);
            }
            // `share(p);` gives `p` up also if nothing takes the shared pointer.
            ExprKind::Convert(..) if !mir::ty::owns(&self.program.types, e.ty.ty) => {
                let value = self.direct(e);
                if let Operand::Move(_) = &value {
                    self.temp_of(Rvalue::Use(value), e.ty.ty);
                }
            }
            ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::Int(_) | ExprKind::Null | ExprKind::Error => {}
            _ if e.is_place() => {
                self.place(e, Use::Read);
            }
            _ => {
                self.direct(e);
            }
        }
        self.leave(saved);
    }

    /// Whether the type is `void`.
    pub fn is_void(&self, ty: Ty) -> bool {
        matches!(self.program.types.kind(ty), TyKind::Void)
    }

    /// The value as the right side of an assignment; all steps before it are emitted.
    pub fn rvalue(&mut self, e: &'t Expr) -> Rvalue {
        let ty = e.ty.ty;
        if self.is_void(ty) {
            self.effect(e);
            return Rvalue::Use(self.int(0, self.common().int));
        }
        let constant = |c| Rvalue::Use(Operand::Const(c));
        match &*e.kind {
            ExprKind::Int(value) => constant(Const::Int(*value, ty)),
            ExprKind::Float(text) => constant(Const::Float(*text, ty)),
            ExprKind::Null => constant(Const::Null(ty)),
            ExprKind::Func(f) => constant(Const::Func(f.clone())),
            ExprKind::SizeOf(of) => constant(Const::SizeOf(*of)),
            ExprKind::AlignOf(of) => constant(Const::AlignOf(*of)),
            ExprKind::OffsetOf(of, path) => constant(Const::OffsetOf(*of, path.clone())),
            ExprKind::Load(place) => {
                let access = self.place(place, Use::Read);
                Rvalue::Use(self.load(&access, ty))
            }
            ExprKind::Field(base, n) if !base.is_place() => {
                // A field of a record value.
                let access = self.place(e, Use::Read);
                let _ = (base, n);
                Rvalue::Use(self.load(&access, ty))
            }
            ExprKind::AddrOf(place) => Rvalue::Use(self.address_of(place, ty)),
            ExprKind::Decay(array) => Rvalue::Use(self.decay(array, ty)),
            ExprKind::Unary(op, inner) => {
                let inner = self.direct(inner);
                Rvalue::Unary(*op, inner)
            }
            ExprKind::Binary(..) => self.binary_chain(e),
            ExprKind::PtrAdd(p, index, negate) => {
                let p_op = self.operand_before(p, &[index]);
                let index = self.operand(index);
                Rvalue::Use(self.pointer_add(p_op, p.ty.ty, index, *negate))
            }
            ExprKind::PtrDiff(p, q) => {
                let a = self.operand_before(p, &[q]);
                let b = self.operand(q);
                Rvalue::Difference(a, b)
            }
            ExprKind::Comma(a, b) => {
                self.effect(a);
                self.rvalue(b)
            }
            ExprKind::Assign(place, value) => self.result(e, |this| {
                let value = this.assign_expr(place, value, true)?;
                // Null was stored with the field's type; the value of a counted field is fat.
                Some(match value {
                    Operand::Const(Const::Null(_)) => Operand::Const(Const::Null(e.ty.ty)),
                    value => value,
                })
            }),
            ExprKind::AssignOp(op, compute, place, value) => {
                self.result(e, |this| this.assign_op(*op, *compute, place, value, true))
            }
            ExprKind::IncDec(place, up, prefix) => self.result(e, |this| this.inc_dec(place, *up, *prefix, true)),
            ExprKind::Convert(conv, inner) => self.conversion(*conv, inner, ty),
            ExprKind::LabelAddr(label) => {
                let block = self.label_block(*label);
                Rvalue::LabelAddr(block, ty)
            }
            ExprKind::VaArg(place) => {
                let access = self.place(place, Use::Read);
                Rvalue::VaArg(access.place, ty)
            }
            ExprKind::Lengthof(inner) => self.lengthof(inner),
            ExprKind::ContainerOf(p, record, path, nonnull) => self.container_of(p, *record, path, *nonnull, ty),
            ExprKind::Builtin(..) => self.builtin(e),
            ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Cond(..)
            | ExprKind::CondOmitted(..)
            | ExprKind::Call(..)
            | ExprKind::StmtExpr(..)
            | ExprKind::New(_)
            | ExprKind::Pack(..)
            | ExprKind::Alloc(_) => {
                let temp = self.temp(ty);
                self.into(temp, e);
                Rvalue::Use(self.give(temp))
            }
            ExprKind::Move(place) => self.move_out(place, e.ty.ty),
            ExprKind::Take(place) => self.take_out(place, e.ty.ty),
            ExprKind::Borrow(kind, place) => self.borrow(*kind, place, ty),
            ExprKind::Retain(inner) => self.retain(inner, e.ty.ty),
            ExprKind::NewKey(kind) => Rvalue::NewKey(*kind, ty),
            ExprKind::Dispose(value, handle) => {
                self.dispose(value, handle.as_ref());
                Rvalue::Use(self.default_value(ty))
            }
            ExprKind::Free(place) => {
                self.free(place);
                Rvalue::Use(self.default_value(ty))
            }
            ExprKind::Unreachable | ExprKind::Error => {
                self.unreachable();
                Rvalue::Use(self.default_value(ty))
            }
            ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Deref(_)
            | ExprKind::Field(..)
            | ExprKind::IndexArray(..)
            | ExprKind::IndexPointer(..)
            | ExprKind::CompoundLit(..)
            | ExprKind::StrLit(_) => {
                let access = self.place(e, Use::Read);
                Rvalue::Use(self.load(&access, ty))
            }
        }
    }

    /// What stands for a value where control does not come.
    fn default_value(&mut self, ty: Ty) -> Operand {
        match self.zero(ty) {
            Some(zero) => zero,
            None => Operand::local(self.temp(ty)),
        }
    }

    fn result(&mut self, e: &Expr, f: impl FnOnce(&mut Self) -> Option<Operand>) -> Rvalue {
        match f(self) {
            Some(op) => Rvalue::Use(op),
            None => Rvalue::Use(self.default_value(e.ty.ty)),
        }
    }

    /// Evaluates into a local, which the expression itself does not change last.
    pub fn into(&mut self, dest: Local, e: &'t Expr) {
        let saved = self.enter(e.span, e.is_unsafe);
        match &*e.kind {
            ExprKind::Cond(c, a, b) => {
                let (yes, no, join) = (self.new_block(), self.new_block(), self.new_block());
                self.branch(c, yes, no);
                self.start(yes);
                self.into(dest, a);
                self.goto_and_start(join, no);
                self.into(dest, b);
                self.goto_and_start(join, join);
            }
            ExprKind::CondOmitted(held, a, b) => {
                let held = self.local(*held);
                self.into(held, a);
                let (yes, no, join) = (self.new_block(), self.new_block(), self.new_block());
                self.set_term(TermKind::If(Operand::local(held), yes, no));
                self.start(yes);
                let value = self.coerce(Operand::local(held), e.ty.ty);
                self.assign(Place::local(dest), Rvalue::Use(value));
                self.goto_and_start(join, no);
                self.into(dest, b);
                self.goto_and_start(join, join);
            }
            ExprKind::And(..) | ExprKind::Or(..) => {
                let (yes, no, join) = (self.new_block(), self.new_block(), self.new_block());
                let ty = e.ty.ty;
                self.branch(e, yes, no);
                self.start(yes);
                let one = self.int(1, ty);
                self.assign(Place::local(dest), Rvalue::Use(one));
                self.goto_and_start(join, no);
                let zero = self.int(0, ty);
                self.assign(Place::local(dest), Rvalue::Use(zero));
                self.goto_and_start(join, join);
            }
            ExprKind::Comma(a, b) => {
                self.effect(a);
                self.into(dest, b);
            }
            ExprKind::StmtExpr(block, value) => {
                let scope = self.open_scope(block.span);
                self.block_stmts(block);
                if let Some(value) = value {
                    self.declare_unnamed(value);
                    self.into(dest, value);
                }
                self.close_scope(scope);
            }
            ExprKind::Call(callee, through, args) => self.call(e, callee, *through, args, Some(dest)),
            ExprKind::New(new) => self.new_object(dest, e.ty.ty, new),
            ExprKind::Alloc(alloc) => self.alloc(dest, e.ty.ty, alloc),
            ExprKind::Pack(regions, init) => self.pack(dest, e.ty, regions, init),
            _ => {
                let value = self.rvalue(e);
                self.assign(Place::local(dest), value);
            }
        }
        self.leave(saved);
    }

    /// A value as another type of its kind: numbers convert, pointers change bounds.
    pub fn coerce(&mut self, op: Operand, to: Ty) -> Operand {
        let from = self.operand_ty(&op);
        if from == to {
            return op;
        }
        if self.pointer_of(from).is_some() && self.pointer_of(to).is_some() {
            return self.convert_pointer(op, from, to);
        }
        if self.is_aggregate(from) || self.pointer_of(to).is_some() {
            return op;
        }
        self.numeric(op, to)
    }

    /// Operators that lean to the left are one loop, whatever their number.
    fn binary_chain(&mut self, e: &'t Expr) -> Rvalue {
        let mut spine = vec![];
        let mut left = e;
        while let ExprKind::Binary(op, a, b) = &*left.kind {
            spine.push((*op, b, left));
            left = a;
        }
        let Some((_, first, _)) = spine.last() else { return self.rvalue(left) };
        let mut acc = self.operand_before(left, &[first]);
        let mut acc_ty = left.ty.ty;
        while let Some((op, right, node)) = spine.pop() {
            let saved = self.enter(node.span, node.is_unsafe);
            let b = self.operand(right);
            // Operands are typed by the checker; a constant null takes the other side's type.
            let value = self.arithmetic(op, acc, b, acc_ty);
            if spine.is_empty() {
                self.leave(saved);
                return value;
            }
            acc = self.temp_of(value, node.ty.ty);
            acc_ty = node.ty.ty;
            self.leave(saved);
        }
        Rvalue::Use(acc)
    }

    fn conversion(&mut self, conv: Conv, inner: &'t Expr, ty: Ty) -> Rvalue {
        let from = inner.ty.ty;
        match conv {
            Conv::Void => {
                self.effect(inner);
                Rvalue::Use(self.int(0, self.common().int))
            }
            Conv::Numeric => {
                let op = self.direct(inner);
                if op_is_const(&op) || from == ty {
                    return Rvalue::Use(self.numeric(op, ty));
                }
                Rvalue::Numeric(op, ty)
            }
            Conv::ToBool => {
                let op = self.direct(inner);
                self.truth(op, ty)
            }
            Conv::PtrToInt => {
                let op = self.direct(inner);
                Rvalue::Use(self.pointer_to_int(op, ty))
            }
            Conv::Pointer if self.decays_at_once(inner, ty) => match &*inner.kind {
                ExprKind::Decay(array) => Rvalue::Use(self.decay(array, ty)),
                _ => self.rvalue(inner),
            },
            // A view of bytes as one object is one step, whose fault is that of the view.
            Conv::Pointer if self.is_view_of_one(inner, ty) => match &*inner.kind {
                ExprKind::Convert(Conv::View, bytes) => {
                    let saved = self.enter(inner.span, inner.is_unsafe);
                    let (op, from) = self.viewed(bytes);
                    let op = self.convert_view(op, from, ty);
                    self.leave(saved);
                    Rvalue::Use(op)
                }
                _ => self.rvalue(inner),
            },
            Conv::View => {
                let (op, from) = self.viewed(inner);
                Rvalue::Use(self.convert_view(op, from, ty))
            }
            _ => {
                let op = self.direct(inner);
                Rvalue::Use(self.convert(conv, op, from, ty))
            }
        }
    }

    /// What a view is made of, and its type: a literal's zero belongs to it.
    pub fn viewed(&mut self, inner: &'t Expr) -> (Operand, Ty) {
        if let (ExprKind::Decay(array), Some(pointer)) = (&*inner.kind, self.pointer_of(inner.ty.ty)) {
            if matches!(&*array.kind, ExprKind::StrLit(_)) && pointer.bounds == Bounds::FatTerminated {
                let target = pointer.target.with_const();
                let ty = self.program.types.pointer(Pointer { bounds: Bounds::Fat, target, ..pointer });
                return (self.decay(array, ty), ty);
            }
        }
        (self.direct(inner), inner.ty.ty)
    }

    fn is_view_of_one(&self, inner: &Expr, to: Ty) -> bool {
        let thin = self.pointer_of(to).is_some_and(|p| p.bounds == Bounds::Thin);
        thin && self.is_fat(inner.ty.ty)
            && matches!(&*inner.kind, ExprKind::Convert(Conv::View, bytes) if self.pointer_of(bytes.ty.ty).is_some())
    }

    /// Whether an array that becomes a pointer may have the wanted type at once: a string, the
    /// first of its elements, a view of a literal.
    fn decays_at_once(&self, inner: &Expr, to: Ty) -> bool {
        let ExprKind::Decay(array) = &*inner.kind else { return false };
        let (TyKind::Array { len: ArrayLen::Const(n), terminated, .. }, Some(dest)) =
            (self.program.types.kind(array.ty.ty), self.pointer_of(to))
        else {
            return false;
        };
        match dest.bounds {
            Bounds::Terminated => *terminated,
            // A view of a literal with bounds includes its zero.
            Bounds::Fat => dest.target.quals.is_const && matches!(&*array.kind, ExprKind::StrLit(_)),
            Bounds::Thin => *n > u64::from(*terminated) || self.checks_off(),
            _ => false,
        }
    }

    /// A pointer conversion of an operand that was just evaluated.
    pub fn convert(&mut self, conv: Conv, op: Operand, from: Ty, ty: Ty) -> Operand {
        match conv {
            Conv::Pointer => self.convert_pointer(op, from, ty),
            Conv::ProveNonnull => {
                let op = self.whole(op);
                if !self.checks_off() {
                    self.emit(StmtKind::Prove(Proof::NonNull(op.clone())));
                }
                self.convert_pointer(op, from, ty)
            }
            Conv::ToTypedVoid => {
                if let Operand::Const(Const::Null(_)) = op {
                    return Operand::Const(Const::Null(ty));
                }
                let Some(source) = self.pointer_of(from) else { return op };
                let mut op = op;
                if source.bounds.is_fat() {
                    let thin = self.program.types.pointer(Pointer { bounds: Bounds::Thin, ..source });
                    op = self.convert_pointer(op, from, thin);
                }
                self.temp_of(Rvalue::MakeTypedVoid(op, source.target.ty, ty), ty)
            }
            Conv::FromTypedVoid => {
                if let Operand::Const(Const::Null(_)) = op {
                    return Operand::Const(Const::Null(ty));
                }
                let op = self.simple(op);
                let Some(dest) = self.pointer_of(ty) else { return op };
                let mut types = vec![dest.target.ty];
                types.extend(self.program.types.with_less_const(dest.target));
                self.check(Check::Type(op.clone(), types));
                let one_word = if dest.bounds.is_fat() { self.thin(ty) } else { ty };
                let word = self.temp_of(Rvalue::Part(op, Part::Ptr, one_word), one_word);
                self.convert_pointer(word, one_word, ty)
            }
            Conv::View => self.convert_view(op, from, ty),
            Conv::Unchecked | Conv::SameBits => self.convert_unchecked(op, from, ty),
            Conv::PtrToInt => self.pointer_to_int(op, ty),
            Conv::Numeric => self.numeric(op, ty),
            Conv::ToBool => {
                let value = self.truth(op, ty);
                self.temp_of(value, ty)
            }
            Conv::Void => op,
            Conv::Contract => {
                // The end stays where it is if the check faults.
                let end = self.temp_of(Rvalue::Use(op), from);
                let there = match &end {
                    Operand::Move(place) | Operand::Copy(place) => Operand::Copy(place.clone()),
                    Operand::Const(_) => end.clone(),
                };
                self.check(Check::Contract(there, ty));
                self.temp_of(Rvalue::Use(end), ty)
            }
        }
    }

    /// Bytes back from a member to its struct.
    fn container_of(&mut self, p: &'t Expr, record: Ty, path: &[u32], nonnull: bool, ty: Ty) -> Rvalue {
        let op = self.operand(p);
        if let Operand::Const(Const::Null(_)) = op {
            return Rvalue::Use(Operand::Const(Const::Null(ty)));
        }
        let op = self.simple(op);
        if nonnull {
            self.check_nonnull(op.clone());
        }
        self.check(Check::Container(op.clone(), record, path.to_vec()));
        if path.iter().all(|&n| n == 0) {
            return Rvalue::Use(self.temp_of(Rvalue::Bits(op, ty), ty));
        }
        let (ulong, character) = (self.common().ulong, self.common().char_);
        let Some(pointer) = self.pointer_of(ty) else { return Rvalue::Use(op) };
        let bytes = Pointer { target: Qty { ty: character, ..pointer.target }, ..pointer };
        let bytes = self.program.types.pointer(bytes);
        let start = self.temp_of(Rvalue::Bits(op, bytes), bytes);
        let offset = Operand::Const(Const::OffsetOf(record, path.to_vec()));
        let back = self.temp_of(Rvalue::Unary(UnOp::Neg, offset), ulong);
        let start = self.temp_of(Rvalue::Offset(start, back), bytes);
        // The temporary's type says which region the pointer must have.
        Rvalue::Use(self.temp_of(Rvalue::Bits(start, ty), ty))
    }

    fn lengthof(&mut self, inner: &'t Expr) -> Rvalue {
        if let TyKind::Array { len, terminated, .. } = *self.program.types.kind(inner.ty.ty) {
            let access = self.place(inner, Use::Address);
            return Rvalue::Use(match len {
                ArrayLen::Const(n) => self.size(n.saturating_sub(u64::from(terminated))),
                ArrayLen::Flexible(Some(count)) => {
                    let count = self.count_of_fields(count, &crate::place::parent(&access.place));
                    self.clamp(count)
                }
                ArrayLen::Variable(local) => {
                    let local = self.local(typing::tree::LocalId(local));
                    let ulong = self.common().ulong;
                    self.numeric(Operand::local(local), ulong)
                }
                ArrayLen::Flexible(None) | ArrayLen::Unknown => self.size(0),
            });
        }
        let op = self.operand(inner);
        match self.pointer_of(inner.ty.ty).map(|p| p.bounds) {
            Some(Bounds::Fat | Bounds::FatTerminated) => Rvalue::Remaining(op),
            Some(Bounds::Terminated) => Rvalue::Measure(op),
            _ => Rvalue::Use(self.size(1)),
        }
    }
}

fn op_is_const(op: &Operand) -> bool {
    matches!(op, Operand::Const(Const::Int(..)))
}
