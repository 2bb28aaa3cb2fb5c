//! `sizeof`, `alignof`, `offsetof`, `lengthof`.

use crate::checker::Checker;
use crate::codes;
use crate::tree::*;
use crate::types::*;
use source::Span;
use syntax::ast;

impl Checker<'_> {
    /// `sizeof`
    pub(crate) fn size_of(&mut self, ty: Ty, span: Span) -> Expr {
        let size_t = self.program.types.common.ulong;
        if self.is_error(ty) {
            return self.error_node(span);
        }
        if self.program.types.mentions_param(ty) {
            return self.node(ExprKind::SizeOf(ty), size_t, span);
        }
        match self.program.types.layout(ty) {
            Some(layout) => self.int_node(i128::from(layout.size), size_t, span),
            None if self.is_variable(ty) => self.node(ExprKind::SizeOf(ty), size_t, span),
            None if !self.checked() && matches!(self.kind(ty), TyKind::Void | TyKind::Func(_)) => {
                self.int_node(1, size_t, span)
            }
            None => {
                let text = self.show(ty);
                self.error(codes::INCOMPLETE, span, format!("the size of `{text}` is not known here"));
                self.error_node(span)
            }
        }
    }

    /// Whether the type is an array whose size is computed when the program runs.
    pub(crate) fn is_variable(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Array { len: ArrayLen::Variable(_), elem, .. } => self.program.types.is_complete(elem.ty),
            TyKind::Array { len: ArrayLen::Const(_), elem, .. } => self.is_variable(elem.ty),
            _ => false,
        }
    }

    pub(crate) fn align_of(&mut self, ty: Ty, span: Span) -> Expr {
        let size_t = self.program.types.common.ulong;
        if self.program.types.mentions_param(ty) {
            return self.node(ExprKind::AlignOf(ty), size_t, span);
        }
        let elem = match self.kind(ty) {
            TyKind::Array { elem, .. } => elem.ty,
            _ => ty,
        };
        match self.program.types.layout(elem) {
            Some(layout) => self.int_node(i128::from(layout.align), size_t, span),
            None => {
                let text = self.show(ty);
                self.error(codes::INCOMPLETE, span, format!("the alignment of `{text}` is not known here"));
                self.error_node(span)
            }
        }
    }

    /// The alignment that the declaration of an object or field asks for.
    pub(crate) fn object_alignment(&self, e: &Expr) -> Option<u64> {
        let own = self.program.types.layout(e.ty.ty).map_or(1, |l| l.align);
        match &*e.kind {
            ExprKind::Local(id) => {
                let local = self.f.as_ref()?.locals.get(id.0 as usize)?;
                local.align.map(|a| a.max(own))
            }
            ExprKind::Global(id) => self.program.globals.get(id.0 as usize)?.align.map(|a| a.max(own)),
            ExprKind::Field(base, n) => {
                let record = self.program.types.record(self.program.types.as_record(base.ty.ty)?);
                let field = record.fields.as_ref()?.get(*n as usize)?;
                match (record.packed, field.align) {
                    (true, align) => Some(align.unwrap_or(1)),
                    (false, align) => align.map(|a| a.max(own)),
                }
            }
            _ => None,
        }
    }

    pub(crate) fn offset_of(&mut self, ty: &ast::TypeName, path: &[ast::Designator], span: Span) -> Expr {
        let size_t = self.program.types.common.ulong;
        let mut ty = self.type_name(ty).ty;
        let mut offset: u64 = 0;
        for step in path {
            match step {
                ast::Designator::Field(member) => {
                    let Some(id) = self.program.types.as_record(ty) else {
                        let text = self.show(ty);
                        self.error(codes::MEMBER, member.span, format!("`{text}` has no members"));
                        return self.error_node(span);
                    };
                    let Some(fields) = self.find_member(id, member.name) else {
                        let text = self.show(ty);
                        self.error(codes::MEMBER, member.span, format!("`{text}` has no member `{}`", member.name));
                        return self.error_node(span);
                    };
                    for n in fields {
                        let Some(id) = self.program.types.as_record(ty) else { break };
                        offset += self.program.types.field_offset(id, n).unwrap_or(0);
                        let field = self
                            .program
                            .types
                            .record(id)
                            .fields
                            .as_ref()
                            .and_then(|f| f.get(n as usize))
                            .map(|f| f.ty.ty);
                        ty = field.unwrap_or(ty);
                    }
                }
                ast::Designator::Index(e) => {
                    let at = self.constant_int(e).unwrap_or(0);
                    if let TyKind::Array { elem, .. } = *self.kind(ty) {
                        let size = self.program.types.layout(elem.ty).map_or(0, |l| l.size);
                        offset = offset.wrapping_add((at as u64).wrapping_mul(size));
                        ty = elem.ty;
                    }
                }
                ast::Designator::Range(..) => {}
            }
        }
        self.int_node(i128::from(offset), size_t, span)
    }

    pub(crate) fn length_of(&mut self, inner: &ast::Expr, span: Span) -> Expr {
        let size_t = self.program.types.common.ulong;
        let e = self.expr(inner);
        if let TyKind::Array { len: ArrayLen::Const(n), terminated, .. } = *self.kind(e.ty.ty) {
            let n = if terminated { n.saturating_sub(1) } else { n };
            return self.int_node(i128::from(n), size_t, span);
        }
        let e = self.rvalue(e);
        let e = self.looked(e);
        if self.is_error(e.ty.ty) {
            return e;
        }
        let Some(p) = self.program.types.as_pointer(e.ty.ty) else {
            let text = self.show(e.ty.ty);
            self.error(
                codes::OPERANDS,
                span,
                format!("`lengthof` takes an array or a pointer with bounds, not `{text}`"),
            );
            return self.error_node(span);
        };
        if !p.bounds.has_bounds() && !self.need_bounds(&e) {
            let text = self.show(e.ty.ty);
            let help = if p.bounds.is_terminated() {
                "`strlen` measures a string"
            } else {
                "declare it `fat` or `counted_by(n)`"
            };
            self.error_help(
                codes::BOUNDS,
                span,
                format!("`{text}` has no bounds whose length could be asked for"),
                help,
            );
            return self.error_node(span);
        }
        self.need_bounds(&e);
        // Of what either branch of a `?:` owns, the length is only asked for.
        let e = if self.tracked() && matches!(&*e.kind, ExprKind::Cond(..)) { self.borrowed(e) } else { e };
        let e =
            self.with_bounds(e, if p.bounds == Bounds::FatTerminated { Bounds::FatTerminated } else { Bounds::Fat });
        self.node(ExprKind::Lengthof(e), size_t, span)
    }
}
