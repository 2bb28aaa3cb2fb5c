//! Places. First the values inside a place expression are evaluated, in order (`prepare`); then,
//! immediately before the access, its pointers are loaded and its checks made (`finish`).

use crate::builder::Lower;
use crate::effects;
use crate::init::Before;
use mir::ir::*;
use source::Span;
use typing::tree::{Expr, ExprKind, Init};
use typing::types::*;

/// From this size on a null pointer plus an offset may miss the trap page.
const TRAP_PAGE: u64 = 4096;

/// A place whose values are evaluated.
#[derive(Debug)]
pub(crate) struct Prepared {
    kind: PreparedKind,
    qty: Qty,
    span: Span,
    is_unsafe: bool,
}

#[derive(Debug)]
enum PreparedKind {
    Base(PlaceBase),
    Deref(Box<PreparedPointer>),
    Field(Box<Prepared>, u32),
    IndexArray(Box<Prepared>, Operand),
    IndexPointer(Box<PreparedPointer>, Operand),
}

/// A pointer in a place: a value, or a place that is read when the outer place is computed.
#[derive(Debug)]
enum PreparedPointer {
    Value(Operand, Ty),
    Load(Prepared, Ty),
}

/// What a place is computed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// It, or a part of it, is read; or a part of it is written.
    Read,
    /// All of it is about to be assigned.
    Write,
    /// Its address is taken.
    Address,
    /// It is lent by its address: it stays the owned path that it is.
    Lend,
}

/// What a store to a place must do besides storing.
#[derive(Clone, Debug)]
pub(crate) enum Guard {
    /// Nothing.
    None,
    /// Set the tag of the tagged union first.
    SetTag(Place, u32),
    /// Through a terminated pointer.
    Terminated,
    /// Through a pointer of a string object: the zero at its end stays.
    StringObject(Operand),
    /// Element of a terminated array with this many elements.
    LastElement(Operand, u64),
    /// A field of the record at the place.
    Field(Place, RecordId, u32),
}

/// A computed place.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    /// The place.
    pub place: Place,
    /// Its type.
    pub qty: Qty,
    /// What a store must see to.
    pub guard: Guard,
}

impl<'t> Lower<'t, '_> {
    /// Prepares and finishes a place.
    pub fn place(&mut self, e: &'t Expr, want: Use) -> Access {
        let prepared = self.prepare(e, false);
        self.finish(prepared, want)
    }

    /// Evaluates the values in a place expression. `later`: something with effects is evaluated
    /// before `finish`.
    pub fn prepare(&mut self, e: &'t Expr, later: bool) -> Prepared {
        let saved = self.enter(e.span, e.is_unsafe);
        let kind = match &*e.kind {
            ExprKind::Local(l) => PreparedKind::Base(PlaceBase::Local(self.local(*l))),
            ExprKind::Global(g) => PreparedKind::Base(PlaceBase::Global(*g)),
            ExprKind::StrLit(s) => PreparedKind::Base(PlaceBase::Str(*s)),
            ExprKind::CompoundLit(l, init) => {
                let local = self.local(*l);
                self.compound_literal(local, e.ty, init);
                PreparedKind::Base(PlaceBase::Local(local))
            }
            ExprKind::Deref(p) => match self.decayed(p) {
                Some(array) => {
                    let zero = self.int(0, self.common().int);
                    PreparedKind::IndexArray(Box::new(self.prepare(array, later)), zero)
                }
                None => PreparedKind::Deref(Box::new(self.prepare_pointer(p, later))),
            },
            ExprKind::Field(base, n) => PreparedKind::Field(Box::new(self.prepare(base, later)), *n),
            ExprKind::IndexArray(array, index) => {
                let array = self.prepare(array, later || effects::has_effects(index));
                PreparedKind::IndexArray(Box::new(array), self.index_value(index, later))
            }
            ExprKind::IndexPointer(p, index) => match self.decayed(p) {
                Some(array) => {
                    let array = self.prepare(array, later || effects::has_effects(index));
                    PreparedKind::IndexArray(Box::new(array), self.index_value(index, later))
                }
                None => {
                    let p = self.prepare_pointer(p, later || effects::has_effects(index));
                    PreparedKind::IndexPointer(Box::new(p), self.index_value(index, later))
                }
            },
            _ => {
                // A record value used as a place: `f().x`.
                let value = self.operand(e);
                let local = match self.unnamed.get(&std::ptr::from_ref(e)) {
                    // What is only looked at has another owner.
                    Some(&local) if matches!(value, Operand::Move(_)) => local,
                    _ => self.temp(e.ty.ty),
                };
                self.hold_value(local, value);
                PreparedKind::Base(PlaceBase::Local(local))
            }
        };
        self.leave(saved);
        Prepared { kind, qty: e.ty, span: e.span, is_unsafe: e.is_unsafe }
    }

    /// An unnamed variable gets a value. Its slots may hold what an earlier round of a loop left.
    pub fn hold_value(&mut self, local: Local, value: Operand) {
        if self.unnamed.values().any(|&held| held == local) {
            self.drop_slots(local);
        }
        self.assign(Place::local(local), Rvalue::Use(value));
    }

    /// A compound literal. Its slots may hold what an earlier round of a loop left there.
    fn compound_literal(&mut self, local: Local, ty: Qty, init: &'t Init) {
        if !self.has_slots(local) || !self.program.types.needs_init(ty.ty) {
            self.drop_slots(local);
            self.clear_slots(local);
            return self.init_place(&Place::local(local), ty, init, Before::Unknown);
        }
        // A pointer to it never finds null in them.
        self.replace_slots(local, ty, init);
    }

    /// A variable gets another value, which is whole before what its slots hold is freed.
    pub fn replace_slots(&mut self, local: Local, ty: Qty, init: &'t Init) {
        let temp = self.temp(ty.ty);
        self.fill_zero(Place::local(temp));
        self.init_place(&Place::local(temp), ty, init, Before::Zeros);
        let value = self.give(temp);
        self.drop_slots(local);
        self.assign(Place::local(local), Rvalue::Use(value));
    }

    fn index_value(&mut self, index: &'t Expr, later: bool) -> Operand {
        let op = self.operand(index);
        let op = self.whole(op);
        if later {
            self.freeze(op)
        } else {
            op
        }
    }

    /// The array place, if `p` is an array of known length turned into a pointer.
    fn decayed(&self, p: &'t Expr) -> Option<&'t Expr> {
        match &*p.kind {
            ExprKind::Decay(array) => match self.program.types.kind(array.ty.ty) {
                TyKind::Array { len: ArrayLen::Const(_) | ArrayLen::Flexible(Some(_)), .. } => Some(array),
                _ => None,
            },
            _ => None,
        }
    }

    fn prepare_pointer(&mut self, p: &'t Expr, later: bool) -> PreparedPointer {
        match &*p.kind {
            ExprKind::Load(place) if self.pointer_of(p.ty.ty).is_some() => {
                PreparedPointer::Load(self.prepare(place, later), p.ty.ty)
            }
            _ => {
                let op = self.operand(p);
                let op = if later { self.freeze(op) } else { op };
                PreparedPointer::Value(op, p.ty.ty)
            }
        }
    }

    /// Loads the pointers of a prepared place and makes its checks.
    pub fn finish(&mut self, prepared: Prepared, want: Use) -> Access {
        let Prepared { kind, qty, span, is_unsafe } = prepared;
        let saved = self.enter(span, is_unsafe);
        let access = match kind {
            PreparedKind::Base(base) => {
                if let (PlaceBase::Local(local), true) = (base, want != Use::Write) {
                    self.used(local, span);
                }
                Access { place: Place { base, proj: vec![] }, qty, guard: Guard::None }
            }
            PreparedKind::Deref(p) => self.finish_deref(*p, qty, want),
            PreparedKind::Field(base, n) => self.finish_field(*base, n, qty, want),
            PreparedKind::IndexArray(array, index) => self.finish_index(*array, index, qty, want),
            PreparedKind::IndexPointer(p, index) => self.finish_index_pointer(*p, index, qty, want),
        };
        self.leave(saved);
        access
    }

    /// Notes where the source names a variable.
    fn used(&mut self, local: Local, span: Span) {
        if let Some(decl) = self.body.locals.get_mut(local.0 as usize).filter(|decl| decl.name.is_some()) {
            decl.uses.push(span);
        }
    }

    /// The pointer operand, and its type.
    fn finish_pointer(&mut self, p: PreparedPointer) -> (Operand, Ty) {
        match p {
            PreparedPointer::Value(op, ty) => (op, ty),
            PreparedPointer::Load(prepared, ty) => {
                let access = self.finish(prepared, Use::Read);
                (self.load(&access, ty), ty)
            }
        }
    }

    /// Reads a place as a value of type `ty` (a `counted_by` field as a fat pointer).
    pub fn load(&mut self, access: &Access, ty: Ty) -> Operand {
        if let (true, Some(Pointer { bounds: Bounds::Counted(count), .. })) =
            (self.is_fat(ty), self.pointer_of(access.qty.ty))
        {
            let record = parent(&access.place);
            let count = self.count_of_fields(count, &record);
            let ptr = Operand::Copy(access.place.clone());
            let ty = self.unowned(ty);
            return self.temp_of(Rvalue::MakeCounted { ty, ptr, count }, ty);
        }
        let op = Operand::Copy(access.place.clone());
        if access.qty.quals.is_volatile {
            return self.temp_of(Rvalue::Use(op), ty);
        }
        op
    }

    fn finish_deref(&mut self, p: PreparedPointer, qty: Qty, want: Use) -> Access {
        let (op, ty) = self.finish_pointer(p);
        let Some(pointer) = self.pointer_of(ty) else {
            return self.bad_place(qty);
        };
        let mut guard = Guard::None;
        let mut op = op;
        if self.checks_off() {
            op = self.addressable(op);
            return Access { place: deref(&op), qty, guard };
        }
        match pointer.bounds {
            Bounds::Thin | Bounds::Counted(_) => {
                let addressed = matches!(want, Use::Address | Use::Lend);
                if !pointer.nonnull && (addressed || self.may_miss_trap(pointer.target.ty)) {
                    let is_path = want != Use::Address && self.is_owned_path(&op);
                    if want != Use::Lend && !is_path {
                        op = self.simple(op);
                    }
                    self.check_nonnull(op.clone());
                }
            }
            Bounds::Fat => {
                op = self.simple(op);
                let one = self.size(1);
                self.check(Check::Access(op.clone(), one));
            }
            Bounds::Terminated => guard = Guard::Terminated,
            Bounds::FatTerminated => {
                op = self.simple(op);
                guard = Guard::StringObject(op.clone());
            }
        }
        op = self.addressable(op);
        Access { place: deref(&op), qty, guard }
    }

    /// Whether an access to a null pointer to `ty` may lie beyond the page that traps.
    fn may_miss_trap(&self, ty: Ty) -> bool {
        if matches!(self.program.types.kind(ty), TyKind::Func(_)) {
            return true;
        }
        self.program.types.layout(ty).is_none_or(|layout| layout.size >= TRAP_PAGE)
    }

    fn finish_field(&mut self, base: Prepared, n: u32, qty: Qty, want: Use) -> Access {
        // The union that `tagged_by` binds: (record type, number of the union in it).
        let bound = match &base.kind {
            PreparedKind::Field(outer, union) => Some((outer.qty.ty, *union)),
            _ => None,
        };
        let record_ty = base.qty.ty;
        let inner = if want == Use::Write { Use::Read } else { want };
        let access = self.finish(base, inner);
        let place = access.place.then(Proj::Field(n));
        let Some(id) = self.program.types.as_record(record_ty) else {
            return self.bad_place(qty);
        };
        if self.program.types.record(id).kind == RecordKind::Tagged {
            if want == Use::Write {
                return Access { place, qty, guard: Guard::SetTag(access.place, n) };
            }
            self.check(Check::Tag(access.place, n));
            return Access { place, qty, guard: Guard::None };
        }
        if let Some((record, union)) = bound {
            self.check_tagged_by(record, union, n, &access.place);
        }
        Access { place, qty, guard: Guard::Field(access.place, id, n) }
    }

    /// Checks that the sibling tag of the union at `place` selects member `n`.
    pub fn check_tagged_by(&mut self, record: Ty, union: u32, n: u32, place: &Place) {
        let Some((_, fields)) = self.fields_of(record) else { return };
        let Some(field) = fields.get(union as usize) else { return };
        let Some(tagged_by) = field.tagged_by.clone() else { return };
        let values = tagged_by.arms.iter().filter(|(_, member)| *member == n).map(|(value, _)| *value).collect();
        let name = self.fields_of(field.ty.ty).and_then(|(_, members)| members.get(n as usize)?.name);
        let tag = parent(place).then(Proj::Field(tagged_by.tag));
        self.check(Check::TagValue(Operand::Copy(tag), values, name.unwrap_or_else(|| "?".into())));
    }

    fn finish_index(&mut self, array: Prepared, index: Operand, qty: Qty, want: Use) -> Access {
        let array_ty = array.qty.ty;
        let inner = if want == Use::Write { Use::Read } else { want };
        let access = self.finish(array, inner);
        let mut guard = Guard::None;
        if let TyKind::Array { len, terminated, .. } = *self.program.types.kind(array_ty) {
            match len {
                ArrayLen::Const(n) => {
                    let known = const_int(&index).is_some_and(|i| i >= 0 && i < i128::from(n));
                    if !known {
                        let length = self.size(n);
                        self.check(Check::Index(index.clone(), length));
                    }
                    if terminated {
                        guard = Guard::LastElement(index.clone(), n);
                    }
                }
                ArrayLen::Flexible(Some(count)) if !self.checks_off() => {
                    let count = self.count_of_fields(count, &parent(&access.place));
                    let length = self.clamp(count);
                    self.check(Check::Index(index.clone(), length));
                }
                _ => {}
            }
        }
        Access { place: access.place.then(Proj::Index(index)), qty, guard }
    }

    fn finish_index_pointer(&mut self, p: PreparedPointer, index: Operand, qty: Qty, want: Use) -> Access {
        if const_int(&index) == Some(0) {
            return self.finish_deref(p, qty, want);
        }
        let (op, ty) = self.finish_pointer(p);
        let op = self.simple(op);
        let element = self.pointer_add(op, ty, index, false);
        let mut guard = Guard::None;
        if !self.checks_off() {
            match self.pointer_of(ty).map(|p| p.bounds) {
                Some(Bounds::Fat) => {
                    let one = self.size(1);
                    self.check(Check::Access(element.clone(), one));
                }
                Some(Bounds::FatTerminated) => guard = Guard::StringObject(element.clone()),
                Some(Bounds::Terminated) => guard = Guard::Terminated,
                _ => {
                    // Only unsafe code indexes these; the checker has said so.
                    self.impossible();
                }
            }
        }
        let element = self.addressable(element);
        Access { place: deref(&element), qty, guard }
    }

    /// The operand as a place that can be dereferenced.
    fn addressable(&mut self, op: Operand) -> Operand {
        match op {
            Operand::Const(_) => {
                let ty = self.operand_ty(&op);
                self.temp_of(Rvalue::Use(op), ty)
            }
            _ => op,
        }
    }

    /// Stands for a place that a correct tree does not have.
    fn bad_place(&mut self, qty: Qty) -> Access {
        self.impossible();
        let temp = self.temp(qty.ty);
        Access { place: Place::local(temp), qty, guard: Guard::None }
    }
}

/// The place one step back.
pub(crate) fn parent(place: &Place) -> Place {
    let mut place = place.clone();
    place.proj.pop();
    place
}

/// `*op` for an operand that reads a place.
fn deref(op: &Operand) -> Place {
    match op.place() {
        Some(place) => place.then(Proj::Deref),
        None => Place::local(Local(0)),
    }
}

/// The value of an integer constant.
pub(crate) fn const_int(op: &Operand) -> Option<i128> {
    match op {
        Operand::Const(Const::Int(value, _)) => Some(*value),
        _ => None,
    }
}

/// A read of a value, which leaves it where it is.
pub fn read_of(value: &Operand) -> Operand {
    match value {
        Operand::Move(place) => Operand::Copy(place.clone()),
        Operand::Copy(_) | Operand::Const(_) => value.clone(),
    }
}

/// A value with reads of what it is computed of and does not hold: what is compared, tested or
/// measured stays where it is, so that its loss is reported.
pub fn only_read(value: Rvalue) -> Rvalue {
    match value {
        Rvalue::Unary(op, a) => Rvalue::Unary(op, read_of(&a)),
        Rvalue::Binary(op, a, b, ty) => Rvalue::Binary(op, read_of(&a), read_of(&b), ty),
        Rvalue::Difference(a, b) => Rvalue::Difference(read_of(&a), read_of(&b)),
        Rvalue::Remaining(a) => Rvalue::Remaining(read_of(&a)),
        Rvalue::Measure(a) => Rvalue::Measure(read_of(&a)),
        Rvalue::Truth(a) => Rvalue::Truth(read_of(&a)),
        Rvalue::Use(_)
        | Rvalue::Numeric(..)
        | Rvalue::Bits(..)
        | Rvalue::AddrOf(_)
        | Rvalue::MakeFat { .. }
        | Rvalue::Part(..)
        | Rvalue::MakeTypedVoid(..)
        | Rvalue::Offset(..)
        | Rvalue::MakeCounted { .. }
        | Rvalue::Clamp(_)
        | Rvalue::CountArith(..)
        | Rvalue::BlockSize(_)
        | Rvalue::Alloc { .. }
        | Rvalue::Borrow(..)
        | Rvalue::Retain(_)
        | Rvalue::NewKey(..)
        | Rvalue::Tag(_)
        | Rvalue::VaArg(..)
        | Rvalue::Builtin(..)
        | Rvalue::LabelAddr(..) => value,
    }
}
