//! Numbers and truth values.

use crate::builder::Lower;
use crate::place::const_int;
use mir::ir::*;
use typing::tree::{Conv, Expr, ExprKind};
use typing::types::*;

impl<'t> Lower<'t, '_> {
    /// A number as another numeric type.
    pub fn numeric(&mut self, op: Operand, to: Ty) -> Operand {
        let from = self.operand_ty(&op);
        if from == to {
            return op;
        }
        let target = self.program.types.as_int(to);
        if let (Some(value), Some(kind)) = (const_int(&op), target) {
            let value = if to == self.common().bool_ { i128::from(value != 0) } else { kind.wrap(value) };
            return self.int(value, to);
        }
        self.temp_of(Rvalue::Numeric(op, to), to)
    }

    /// A scalar as a truth value of type `to` (`int` or `bool`).
    pub fn truth(&mut self, op: Operand, to: Ty) -> Rvalue {
        let from = self.operand_ty(&op);
        let number = !matches!(self.program.types.kind(from), TyKind::Ptr(_) | TyKind::NullPtr | TyKind::Func(_));
        if number && to == self.common().bool_ {
            return Rvalue::Use(self.numeric(op, to));
        }
        if to == self.common().int {
            return Rvalue::Truth(op);
        }
        let int = self.common().int;
        let truth = self.temp_of(Rvalue::Truth(op), int);
        Rvalue::Numeric(truth, to)
    }

    /// `a op b` on numbers of type `ty`, with the check that a division needs.
    pub fn arithmetic(&mut self, op: BinOp, a: Operand, b: Operand, ty: Ty) -> Rvalue {
        if matches!(op, BinOp::Div | BinOp::Rem) && self.program.types.as_int(ty).is_some() {
            let safe = const_int(&b).is_some_and(|v| v != 0 && v != -1);
            if !safe && !self.checks_off() {
                let a = self.simple(a);
                let b = self.simple(b);
                self.check(Check::Divide(a.clone(), b.clone()));
                return Rvalue::Binary(op, a, b, ty);
            }
        }
        Rvalue::Binary(op, a, b, ty)
    }

    /// Goes to `yes` if the expression is not zero or null, else to `no`.
    pub fn branch(&mut self, e: &'t Expr, yes: BlockId, no: BlockId) {
        let saved = self.enter(e.span, e.is_unsafe);
        match &*e.kind {
            ExprKind::Int(value) => self.set_term(TermKind::Goto(if *value != 0 { yes } else { no })),
            ExprKind::Null => self.set_term(TermKind::Goto(no)),
            ExprKind::Unary(typing::tree::UnOp::Not, inner) => self.branch(inner, no, yes),
            ExprKind::And(a, b) => {
                let next = self.new_block();
                self.branch(a, next, no);
                self.start(next);
                self.branch(b, yes, no);
            }
            ExprKind::Or(a, b) => {
                let next = self.new_block();
                self.branch(a, yes, next);
                self.start(next);
                self.branch(b, yes, no);
            }
            ExprKind::Comma(a, b) => {
                self.effect(a);
                self.branch(b, yes, no);
            }
            ExprKind::Convert(Conv::ToBool, inner) if self.is_scalar(inner) => self.branch(inner, yes, no),
            ExprKind::Convert(Conv::Numeric, inner) if self.keeps_truth(inner, e.ty.ty) => {
                self.branch(inner, yes, no);
            }
            ExprKind::Binary(BinOp::Ne, a, b) if is_zero(b) && self.is_scalar(a) => self.branch(a, yes, no),
            ExprKind::Binary(BinOp::Eq, a, b) if is_zero(b) && self.is_scalar(a) => self.branch(a, no, yes),
            ExprKind::Binary(BinOp::Ne, b, a) if is_zero(b) && self.is_scalar(a) => self.branch(a, yes, no),
            ExprKind::Binary(BinOp::Eq, b, a) if is_zero(b) && self.is_scalar(a) => self.branch(a, no, yes),
            _ => {
                let op = self.direct(e);
                self.set_term(TermKind::If(op, yes, no));
            }
        }
        self.leave(saved);
    }

    fn is_scalar(&self, e: &Expr) -> bool {
        mir::ty::is_scalar(&self.program.types, e.ty.ty)
    }

    /// Whether converting the number to `to` never makes zero of what is not.
    fn keeps_truth(&self, inner: &Expr, to: Ty) -> bool {
        let types = &self.program.types;
        if to == types.common.bool_ {
            return self.is_scalar(inner);
        }
        match (types.as_int(inner.ty.ty), types.as_int(to)) {
            (Some(a), Some(b)) => b.size() >= a.size(),
            _ => false,
        }
    }
}

/// A zero or null constant, converted or not.
fn is_zero(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Int(0) | ExprKind::Null => true,
        ExprKind::Convert(Conv::Numeric | Conv::Pointer | Conv::Unchecked, inner) => is_zero(inner),
        _ => false,
    }
}
