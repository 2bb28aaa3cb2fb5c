//! Strings that are walked backwards.
//!
//! ```c
//! const char *e = s + strlen(s);
//! while (e > s && e[-1] == ' ')
//!     e--;
//! ```
//!
//! A string (`null_terminated`) has an end and no beginning: nothing says how far one may step back. A
//! local `const char *` that steps back, and gets strings only, keeps the bounds of the strings that
//! it gets: those are measured where it is assigned, from the pointer on that the value is made
//! from. So it is a string object, which `s` above is the beginning of. `s + n - 1` is computed in
//! the same way.
//!
//! What is measured stays readable, since a string's memory stays and has a zero at its end; the
//! characters are `const` here, so nothing is written up to bounds that were measured once.

use crate::checker::Checker;
use crate::tree::{Conv, Expr, ExprKind, LocalId, UnOp};
use crate::types::{Bounds, Pointer};

impl Checker<'_> {
    /// `p--`, `p - n`, `p[-1]`: the local that the pointer is in steps back.
    pub(crate) fn note_back(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Local(id) => self.mark_back(*id),
            ExprKind::Load(place) | ExprKind::IncDec(place, ..) => self.note_back(place),
            ExprKind::Convert(Conv::Pointer, inner) | ExprKind::PtrAdd(inner, ..) => self.note_back(inner),
            _ => {}
        }
    }

    /// The same if the number is negative.
    pub(crate) fn note_back_by(&mut self, e: &Expr, number: &Expr) {
        if is_negative(number) {
            self.note_back(e);
        }
    }

    fn mark_back(&mut self, local: LocalId) {
        self.learn_back(local);
        let Some(state) = self.inferred_mut(local) else { return };
        if state.bounds && state.reads && !std::mem::replace(&mut state.back, true) {
            self.changed();
        }
    }

    /// What a local gets, with bounds if it is one that steps back.
    pub(crate) fn measured_for(&mut self, local: LocalId, value: Expr) -> Expr {
        let steps_back = self.inferred_mut(local).is_some_and(|state| state.measured());
        match steps_back || self.got_beginning(local) {
            true => self.measured(value),
            false => value,
        }
    }

    /// What is passed to a parameter that steps back.
    pub(crate) fn measured_argument(&mut self, e: Expr) -> Expr {
        match self.string_pointer(&e).is_some_and(|p| p.target.quals.is_const) {
            true => self.measured(e),
            false => e,
        }
    }

    /// A string with the bounds that measuring finds, from the beginning that the value is made from.
    pub(crate) fn measured(&mut self, e: Expr) -> Expr {
        self.measured_from(e, true)
    }

    /// The same. `itself`: the value is not made from another, so a parameter has to have its beginning.
    fn measured_from(&mut self, mut e: Expr, itself: bool) -> Expr {
        let Some(p) = self.string_pointer(&e) else { return e };
        let ty = self.types().pointer(Pointer { bounds: Bounds::FatTerminated, ..p });
        let into = self.argument_pointed_into(&e);
        match &mut *e.kind {
            ExprKind::PtrAdd(inner, ..) => {
                *inner = self.measured_from(inner.clone(), false);
                e.ty.ty = ty;
                return e;
            }
            ExprKind::Comma(_, inner) => {
                *inner = self.measured_from(inner.clone(), itself);
                e.ty.ty = ty;
                return e;
            }
            ExprKind::Cond(_, a, b) => {
                for arm in [a, b] {
                    let measured = self.measured_from(arm.clone(), itself);
                    *arm = self.with_bounds(measured, Bounds::FatTerminated);
                }
                e.ty.ty = ty;
                return e;
            }
            // The result has the bounds of what it points into.
            ExprKind::Call(_, _, args) => {
                if let Some(arg) = into.and_then(|n| args.get_mut(n as usize)) {
                    let from = arg.clone();
                    if let Some(source) = self.string_pointer(&from) {
                        let from = self.measured_from(from, false);
                        *arg = self.with_bounds(from, source.bounds);
                        e.ty.ty = ty;
                        return e;
                    }
                }
            }
            ExprKind::Load(place) => {
                if let ExprKind::Local(id) = *place.kind {
                    let parameter = self.f.as_ref().is_some_and(|f| id.0 < f.params);
                    if itself || !parameter {
                        self.mark_back(id);
                    }
                }
            }
            _ => {}
        }
        self.with_bounds(e, Bounds::FatTerminated)
    }

    /// The type of a value that is a string without a beginning.
    fn string_pointer(&self, e: &Expr) -> Option<Pointer> {
        let p = self.program.types.as_pointer(e.ty.ty)?;
        let plain = p.bounds == Bounds::Terminated && !p.raw && !p.own.is_owned();
        (plain && self.checked() && self.program.types.is_character(p.target.ty)).then_some(p)
    }

    /// `p - n` where `p` is made from a string: that one is measured.
    pub(crate) fn measured_before(&mut self, p: Expr) -> Expr {
        let made = match &*p.kind {
            ExprKind::PtrAdd(..) => true,
            ExprKind::Call(..) => self.argument_pointed_into(&p).is_some(),
            _ => false,
        };
        let constant = self.program.types.as_pointer(p.ty.ty).is_some_and(|p| p.target.quals.is_const);
        match made && constant {
            true => self.measured(p),
            false => p,
        }
    }
}

/// Whether it is a constant below zero.
pub(crate) fn is_negative(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Int(n) => *n < 0,
        ExprKind::Unary(UnOp::Neg, inner) => matches!(*inner.kind, ExprKind::Int(n) if n > 0),
        ExprKind::Convert(_, inner) => is_negative(inner),
        _ => false,
    }
}

/// Whether it is a constant.
pub(crate) fn is_constant(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Int(_) => true,
        ExprKind::Unary(UnOp::Neg, inner) | ExprKind::Convert(_, inner) => is_constant(inner),
        _ => false,
    }
}
