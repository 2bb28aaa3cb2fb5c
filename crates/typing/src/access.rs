//! Members, elements and what pointers point to.

use crate::checker::Checker;
use crate::codes;
use crate::names::distance;
use crate::param_bounds::Need;
use crate::steps_back::is_constant;
use crate::tree::*;
use crate::types::*;
use source::{with_article, Diagnostic, Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// `base.member`
    pub(crate) fn member(&mut self, base: Expr, member: ast::Ident, span: Span) -> Expr {
        if self.is_error(base.ty.ty) {
            return self.error_node(span);
        }
        let Some(id) = self.program.types.as_record(base.ty.ty) else {
            let text = self.show(base.ty.ty);
            let mut report = Diagnostic::error(codes::MEMBER, member.span, format!("`{text}` has no members"));
            if let Some(p) = self.program.types.as_pointer(base.ty.ty) {
                if self.program.types.as_record(p.target.ty).is_some() {
                    report = report.help(format!("it is a pointer: write `->{}`", member.name));
                }
            }
            self.report(report);
            return self.error_node(span);
        };
        if self.program.types.record(id).fields.is_none() {
            let text = self.show(base.ty.ty);
            self.error(codes::INCOMPLETE, span, format!("`{text}` is not complete here: its members are not known"));
            return self.error_node(span);
        }
        if !self.program.types.record(id).exists.is_empty() && self.checked() {
            let text = self.show(base.ty.ty);
            self.error_help(
                codes::REGION,
                span,
                format!("`{text}` hides a region: its fields are reached by `unpack` only"),
                format!("write `unpack p as {{@d, {}}};`", member.name),
            );
            return self.error_node(span);
        }
        match self.find_member(id, member.name) {
            Some(path) => self.follow(base, &path, span),
            None => {
                let text = self.show(base.ty.ty);
                let mut report =
                    Diagnostic::error(codes::MEMBER, member.span, format!("`{text}` has no member `{}`", member.name));
                let near = self.program.types.record(id).fields.as_ref().and_then(|fields| {
                    fields.iter().filter_map(|f| f.name).find(|n| distance(n.as_str(), member.name.as_str()) <= 2)
                });
                if let Some(near) = near {
                    report = report.help(format!("did you mean `{near}`?"));
                }
                self.report(report);
                self.error_node(span)
            }
        }
    }

    /// The field numbers that lead to a member, through anonymous records.
    pub(crate) fn find_member(&self, id: RecordId, name: Symbol) -> Option<Vec<u32>> {
        let fields = self.program.types.record(id).fields.clone()?;
        if let Some(n) = fields.iter().position(|f| f.name == Some(name)) {
            return Some(vec![n as u32]);
        }
        for (n, field) in fields.iter().enumerate() {
            if field.name.is_some() {
                continue;
            }
            if let Some(inner) = self.program.types.as_record(field.ty.ty) {
                if let Some(mut path) = self.find_member(inner, name) {
                    path.insert(0, n as u32);
                    return Some(path);
                }
            }
        }
        None
    }

    /// The place (or value) at a field path.
    pub(crate) fn follow(&mut self, base: Expr, path: &[u32], span: Span) -> Expr {
        let mut at = base;
        for &n in path {
            let Some(id) = self.program.types.as_record(at.ty.ty) else { return self.error_node(span) };
            let field = self.program.types.record(id).fields.as_ref().and_then(|f| f.get(n as usize)).map(|f| f.ty);
            let Some(mut ty) = field else { return self.error_node(span) };
            ty.quals.is_const |= at.ty.quals.is_const;
            ty.quals.is_volatile |= at.ty.quals.is_volatile;
            at = self.place_node(ExprKind::Field(at, n), ty, span);
            at = self.seen(at);
            if !self.check_exposed(&at, span) {
                return self.error_node(span);
            }
        }
        at
    }

    pub(crate) fn arrow(&mut self, base: &ast::Expr, member: ast::Ident, span: Span) -> Expr {
        if let Some(f) = &mut self.f {
            f.through_cursor = matches!(base.kind, ast::ExprKind::Ident(_));
        }
        let base = self.value(base);
        if let Some(f) = &mut self.f {
            f.through_cursor = false;
        }
        let base = self.looked(base);
        if self.is_error(base.ty.ty) {
            return base;
        }
        let Some(p) = self.program.types.as_pointer(base.ty.ty) else {
            let text = self.show(base.ty.ty);
            let mut report = Diagnostic::error(
                codes::MEMBER,
                span,
                format!("`->` needs a pointer, and this is {}", with_article(&text)),
            );
            if self.program.types.as_record(base.ty.ty).is_some() {
                report = report.help(format!("write `.{}`", member.name));
            }
            self.report(report);
            return self.error_node(span);
        };
        let target = self.deref_node(base, p, span);
        self.member(target, member, span)
    }

    /// `*p` for a pointer value.
    pub(crate) fn deref_node(&mut self, base: Expr, p: Pointer, span: Span) -> Expr {
        if matches!(self.kind(p.target.ty), TyKind::Void) && self.options.plain_c {
            let void = self.program.types.common.void;
            return self.convert(Conv::Void, base, void);
        }
        if matches!(self.kind(p.target.ty), TyKind::Void) {
            let message = if self.program.types.is_typed_void(&p) || self.checked() {
                "a `void *` is converted to a pointer to a type before it is used"
            } else {
                "a `void *` cannot be dereferenced"
            };
            self.error_help(codes::VOID_POINTER, span, message, "for instance `struct s *p = ctx;`");
            return self.error_node(span);
        }
        if self.lost_its_struct(p.target.ty, span) {
            return self.error_node(span);
        }
        let base = self.looked(base);
        let base = self.exposed_pointer(base);
        let place = self.place_node(ExprKind::Deref(base), p.target, span);
        self.seen(place)
    }

    /// A pointer to a flexible array does not lead to the field that counts it.
    fn lost_its_struct(&mut self, target: Ty, span: Span) -> bool {
        let lost = matches!(self.kind(target), TyKind::Array { len: ArrayLen::Flexible(Some(_)), .. });
        if lost {
            self.error_help(
                codes::INCOMPLETE,
                span,
                "how long this flexible array is stands in its struct, and the pointer leads to the array only",
                "use a pointer to the struct, and the array as its field",
            );
        }
        lost
    }

    /// `a[i]`
    pub(crate) fn index(&mut self, a: &ast::Expr, i: &ast::Expr, span: Span) -> Expr {
        let first = self.expr(a);
        let second = self.expr(i);
        let (base, index) = if self.is_integer(first.ty.ty) && !self.is_integer(second.ty.ty) {
            (second, first)
        } else {
            (first, second)
        };
        if self.is_error(base.ty.ty) || self.is_error(index.ty.ty) {
            return self.error_node(span);
        }
        let index = self.rvalue(index);
        if !self.is_integer(index.ty.ty) {
            let text = self.show(index.ty.ty);
            self.error(codes::OPERANDS, index.span, format!("an index is an integer, not `{text}`"));
            return self.error_node(span);
        }
        let index = self.promote(index);
        if self.too_wide(&index) {
            return self.error_node(span);
        }
        if let Some(lane) = self.vector_lane(&base, &index, span) {
            return lane;
        }
        if let TyKind::Array { elem, len, terminated } = *self.kind(base.ty.ty) {
            return self.index_array(base, index, elem, len, terminated, span);
        }
        let base = self.rvalue(base);
        let base = self.looked(base);
        let Some(p) = self.program.types.as_pointer(base.ty.ty) else {
            let text = self.show(base.ty.ty);
            self.error(codes::OPERANDS, span, format!("`{text}` cannot be indexed"));
            return self.error_node(span);
        };
        self.index_pointer(base, p, index, span)
    }

    pub(crate) fn index_array(
        &mut self,
        base: Expr,
        index: Expr,
        elem: Qty,
        len: ArrayLen,
        terminated: bool,
        span: Span,
    ) -> Expr {
        let mut elem = elem;
        elem.quals.is_const |= base.ty.quals.is_const;
        elem.quals.is_volatile |= base.ty.quals.is_volatile;
        if self.checked() {
            match (len, &*index.kind) {
                (ArrayLen::Const(n), ExprKind::Int(at)) if *at < 0 || *at >= i128::from(n) => {
                    // A fault for sure; the compiler says so now.
                    self.error(codes::BOUNDS, span, format!("index {at} is out of bounds for length {n}"));
                }
                (ArrayLen::Unknown | ArrayLen::Flexible(None), _) => {
                    self.error_help(
                        codes::BOUNDS,
                        span,
                        "this array's bounds are not known here",
                        "give its length, or `counted_by(n)` for a flexible array",
                    );
                }
                _ => {}
            }
        }
        if !base.is_place() || terminated && self.checked() {
            // Of a value, or of a string object: through a pointer, whose rules guard the zero.
            if terminated && base.is_place() {
                let base = self.rvalue(base);
                let Some(p) = self.program.types.as_pointer(base.ty.ty) else { return self.error_node(span) };
                return self.index_pointer(base, p, index, span);
            }
        }
        let place = self.place_node(ExprKind::IndexArray(base, index), elem, span);
        let place = self.seen(place);
        self.exposed_slot(place)
    }

    pub(crate) fn index_pointer(&mut self, base: Expr, p: Pointer, index: Expr, span: Span) -> Expr {
        if matches!(self.kind(p.target.ty), TyKind::Void) {
            return self.deref_node(base, p, span);
        }
        if matches!(self.kind(p.target.ty), TyKind::Func(_)) || !self.program.types.is_complete(p.target.ty) {
            let text = self.show(p.target.ty);
            self.error(codes::INCOMPLETE, span, format!("a pointer to `{text}` cannot be indexed"));
            return self.error_node(span);
        }
        if self.lost_its_struct(p.target.ty, span) {
            return self.error_node(span);
        }
        if self.checked()
            && p.bounds == Bounds::Thin
            && !matches!(*index.kind, ExprKind::Int(0))
            && !self.need_bounds(&base)
            && !self.want_result(&base)
            && (is_constant(&index) || !self.learn_need(&base, Need::BOUNDS))
        {
            // The element's type is known all the same.
            self.no_bounds(&base, p, span, "indexed");
        }
        if p.bounds.is_terminated() {
            // Indexing a string is cheaper and stricter with bounds, where they can be had.
            self.need_bounds(&base);
        }
        self.note_back_by(&base, &index);
        let place = self.place_node(ExprKind::IndexPointer(base, index), p.target, span);
        let place = self.seen(place);
        let place = self.exposed_slot(place);
        if !self.check_exposed(&place, span) {
            return self.error_node(span);
        }
        place
    }

    /// Reports indexing or arithmetic on a thin pointer.
    pub(crate) fn no_bounds(&mut self, base: &Expr, p: Pointer, span: Span, what: &str) {
        let text = self.show(base.ty.ty);
        let help = match self.program.types.is_character(p.target.ty) {
            _ if self.is_from_void(base) => {
                "a `void *` leads to one object: pass elements as `unsigned char *counted_by(n)`, or in a struct; a function that allocates them is defined in this file, or in a header as `static`"
            }
            true => "declare it `null_terminated` if it is a string (`fat null_terminated` to walk back too), else `fat` or `counted_by(n)`",
            false => "declare it `fat`, or `counted_by(n)` if the number of elements is at hand",
        };
        let mut report = Diagnostic::error(
            codes::BOUNDS,
            span,
            format!("`{text}` has no bounds: it points to exactly one element and cannot be {what}"),
        )
        .help(help);
        if let Some(blame) = self.bounds_blame(base) {
            if blame != span {
                report = report.label(blame, "this value has no bounds");
            }
        }
        self.report_declared(base, report);
    }
}
