//! One report for one mistake: a pointer that is declared without the bounds that its uses need is
//! reported at its first use, with the declaration; the other uses say nothing new.

use crate::checker::Checker;
use crate::tree::*;
use source::{Code, Diagnostic, Span};

impl Checker<'_> {
    /// Reports that the pointer value `e` lacks what a use needs: with its declaration, and once
    /// for each declaration and code.
    pub(crate) fn report_declared(&mut self, e: &Expr, report: Diagnostic) {
        if self.muted > 0 {
            return;
        }
        let Some((at, depth)) = self.declaration_of(e) else { return self.report(report) };
        let code: Code = report.code;
        if self.blamed.insert((code.id, at, depth)) {
            let report = if at == report.span { report } else { report.label(at, "declared here") };
            self.report(report);
        }
    }

    /// The declaration that gives a pointer value its type, and behind how many pointers. None if
    /// there is none, or if it is a local whose type is inferred.
    fn declaration_of(&self, e: &Expr) -> Option<(Span, u32)> {
        match &*e.kind {
            ExprKind::Convert(_, inner) | ExprKind::PtrAdd(inner, ..) => self.declaration_of(inner),
            ExprKind::Load(place) | ExprKind::Move(place) | ExprKind::Borrow(_, place) => {
                self.declaration_of_place(place)
            }
            ExprKind::Assign(place, _) | ExprKind::AssignOp(_, _, place, _) | ExprKind::IncDec(place, ..) => {
                self.declaration_of_place(place)
            }
            _ => None,
        }
    }

    fn declaration_of_place(&self, place: &Expr) -> Option<(Span, u32)> {
        match &*place.kind {
            ExprKind::Local(id) => {
                let f = self.f.as_ref()?;
                if f.local_keys.get(id).is_some_and(|key| f.inferred.contains_key(key)) {
                    return None;
                }
                f.locals.get(id.0 as usize).map(|local| (local.span, 0))
            }
            ExprKind::Field(base, n) => {
                let id = self.program.types.as_record(base.ty.ty)?;
                let field = self.program.types.record(id).fields.as_ref()?.get(*n as usize)?;
                Some((field.span, 0))
            }
            ExprKind::Deref(pointer) | ExprKind::IndexPointer(pointer, _) => {
                self.declaration_of(pointer).map(|(at, depth)| (at, depth + 1))
            }
            ExprKind::IndexArray(array, _) => self.declaration_of_place(array).map(|(at, depth)| (at, depth + 1)),
            _ => None,
        }
    }
}
