//! Scalars of plain C that a typedef aligns to less than their type
//! (`typedef unsigned unaligned_t __attribute__((aligned(1)))`).
//!
//! Such a type is a packed struct with one member, so that nothing behind the checker has to know
//! of it: layouts have its alignment, and the C compiler reads and writes the member of a packed
//! struct whatever its address is. Each place of the type stands for the member, so what is read
//! and written is the scalar itself, and values (parameters, results, casts) have its type.

use crate::checker::Checker;
use crate::codes;
use crate::tree::*;
use crate::types::*;
use source::{Span, Symbol};

impl TypeStore {
    /// The scalar that a type of lesser alignment holds.
    pub fn as_underaligned(&self, ty: Ty) -> Option<Ty> {
        let record = self.record(self.as_record(ty)?);
        let member = record.fields.as_ref()?.first().filter(|_| record.underaligned)?;
        Some(member.ty.ty)
    }

    /// The type that a value of the type has.
    pub fn aligned(&self, ty: Ty) -> Ty {
        self.as_underaligned(ty).unwrap_or(ty)
    }
}

impl Checker<'_> {
    /// The scalar type with that alignment, which is less than its own.
    pub(crate) fn underaligned(&mut self, scalar: Ty, align: u64) -> Ty {
        if let Some(&known) = self.underaligned.get(&(scalar, align)) {
            return known;
        }
        let name = self.show(scalar).replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let tag = format!("lee__{name}_aligned_{align}");
        let id = self.layout_record(&tag, &[(Symbol::new("lee__value"), scalar, Span::NONE)], Span::NONE);
        let record = &mut self.program.types.records[id.0 as usize];
        record.packed = true;
        record.align = Some(align);
        record.foreign = true;
        record.underaligned = true;
        let ty = self.types().intern(TyKind::Record(id));
        self.underaligned.insert((scalar, align), ty);
        ty
    }

    /// The scalar in a place of such a type; other places as they are.
    pub(crate) fn scalar_place(&self, place: Expr) -> Expr {
        let Some(scalar) = self.program.types.as_underaligned(place.ty.ty) else { return place };
        let (ty, span, is_unsafe) = (Qty { ty: scalar, ..place.ty }, place.span, place.is_unsafe);
        Expr { kind: Box::new(ExprKind::Field(place, 0)), ty, span, is_unsafe }
    }

    /// The place as it was declared, for its address, type and alignment.
    pub(crate) fn declared_place(&self, place: Expr) -> Expr {
        match *place.kind {
            ExprKind::Field(whole, 0) if self.program.types.as_underaligned(whole.ty.ty).is_some() => whole,
            kind => Expr { kind: Box::new(kind), ..place },
        }
    }

    /// Whether two types are one but for the alignment that typedefs give them.
    pub(crate) fn differ_in_alignment(&self, a: Ty, b: Ty) -> bool {
        let types = &self.program.types;
        a != b && types.aligned(a) == types.aligned(b)
    }

    /// Of two types that differ in alignment that which serves for both.
    pub(crate) fn less_aligned(&self, a: Ty, b: Ty) -> Ty {
        let align = |ty: Ty| self.program.types.layout(ty).map(|l| l.align);
        if align(b) < align(a) {
            b
        } else {
            a
        }
    }

    /// Atomic accesses are of aligned objects.
    pub(crate) fn refuse_atomic_underaligned(&mut self, ty: Qty, span: Span) {
        if ty.quals.is_atomic && self.program.types.as_underaligned(ty.ty).is_some() {
            self.error(codes::LATER, span, "`_Atomic` of a type with less than its own alignment is not built");
        }
    }
}
