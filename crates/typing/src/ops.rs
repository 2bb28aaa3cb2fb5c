//! Operators.

use crate::checker::Checker;
use crate::codes;
use crate::convert::{is_comparison, Why};
use crate::param_bounds::Need;
use crate::steps_back::{is_constant, is_negative};
use crate::tree::*;
use crate::types::*;
use source::{with_article, Diagnostic, Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// A unary operator.
    pub(crate) fn unary(&mut self, op: ast::UnaryOp, inner: &ast::Expr, span: Span, expected: Option<Ty>) -> Expr {
        use ast::UnaryOp::*;
        match op {
            Extension => self.expr_expecting(inner, expected),
            AddrOf => self.address_of(inner, span, expected),
            Deref => {
                if let Some(f) = &mut self.f {
                    f.through_cursor = matches!(inner.kind, ast::ExprKind::Ident(_));
                }
                let value = self.value(inner);
                if let Some(f) = &mut self.f {
                    f.through_cursor = false;
                }
                self.dereference(value, span)
            }
            Not => {
                let value = self.condition(inner);
                let int = self.program.types.common.int;
                if let ExprKind::Int(n) = *value.kind {
                    return self.int_node(i128::from(n == 0), int, span);
                }
                if self.is_error(value.ty.ty) {
                    return value;
                }
                self.node(ExprKind::Unary(UnOp::Not, value), int, span)
            }
            Plus | Neg | BitNot => self.arithmetic_unary(op, inner, span),
            Real | Imag => self.complex_part(op == Real, inner, span),
            PreInc => self.step(inner, true, true, span),
            PreDec => self.step(inner, false, true, span),
            PostInc => self.step(inner, true, false, span),
            PostDec => self.step(inner, false, false, span),
        }
    }

    fn dereference(&mut self, value: Expr, span: Span) -> Expr {
        if self.is_error(value.ty.ty) {
            return value;
        }
        let Some(p) = self.program.types.as_pointer(value.ty.ty) else {
            let text = self.show(value.ty.ty);
            self.error(codes::OPERANDS, span, format!("`*` needs a pointer, and this is {}", with_article(&text)));
            return self.error_node(span);
        };
        self.deref_node(value, p, span)
    }

    fn arithmetic_unary(&mut self, op: ast::UnaryOp, inner: &ast::Expr, span: Span) -> Expr {
        let value = self.value(inner);
        if self.is_error(value.ty.ty) {
            return value;
        }
        if let Some(vector) = self.vector_unary(op, &value, span) {
            return vector;
        }
        let fits = match op {
            ast::UnaryOp::BitNot => self.is_integer(value.ty.ty),
            _ => self.is_arithmetic(value.ty.ty),
        };
        if !fits {
            let text = self.show(value.ty.ty);
            let sign = match op {
                ast::UnaryOp::Plus => "+",
                ast::UnaryOp::Neg => "-",
                _ => "~",
            };
            self.error(codes::OPERANDS, span, format!("`{sign}` does not work on `{text}`"));
            return self.error_node(span);
        }
        let value = self.promote(value);
        let ty = value.ty.ty;
        if let (ExprKind::Int(n), Some(kind)) = (&*value.kind, self.program.types.as_int(ty)) {
            let n = match op {
                ast::UnaryOp::Neg => n.wrapping_neg(),
                ast::UnaryOp::BitNot => !*n,
                _ => *n,
            };
            return self.int_node(kind.wrap(n), ty, span);
        }
        match op {
            ast::UnaryOp::Neg => match *value.kind {
                ExprKind::Float(text) => {
                    let text = match text.as_str().strip_prefix('-') {
                        Some(rest) => rest.to_string(),
                        None => format!("-{text}"),
                    };
                    self.node(ExprKind::Float(Symbol::new(&text)), ty, span)
                }
                _ => self.node(ExprKind::Unary(UnOp::Neg, value), ty, span),
            },
            ast::UnaryOp::BitNot => self.node(ExprKind::Unary(UnOp::BitNot, value), ty, span),
            _ => Expr { span, ..value },
        }
    }

    fn complex_part(&mut self, real: bool, inner: &ast::Expr, span: Span) -> Expr {
        let value = self.value(inner);
        match *self.kind(value.ty.ty) {
            TyKind::Complex(k) => {
                let ty = self.types().intern(TyKind::Float(k));
                let op = if real { UnOp::Real } else { UnOp::Imag };
                self.node(ExprKind::Unary(op, value), ty, span)
            }
            _ if real => value,
            _ => {
                let ty = value.ty.ty;
                self.int_node(0, ty, span)
            }
        }
    }

    /// `&e`
    pub(crate) fn address_of(&mut self, inner: &ast::Expr, span: Span, expected: Option<Ty>) -> Expr {
        let place = self.expr(inner);
        let place = self.declared_place(place);
        if self.is_error(place.ty.ty) {
            return place;
        }
        if let TyKind::Func(_) = self.kind(place.ty.ty) {
            return self.rvalue(place);
        }
        // `&*p` is `p`, `&p[i]` is `p + i`. What a cursor is at is an owned path, which is lent
        // like a variable.
        if let ExprKind::Deref(p) = &*place.kind {
            let at_cursor = matches!(&*p.kind, ExprKind::Load(inner) if self.cursor(inner).is_some());
            if !at_cursor {
                return self.lent_pointer(p.clone());
            }
        }
        if let ExprKind::IndexPointer(p, i) = &*place.kind {
            let p = self.lent_pointer(p.clone());
            return self.pointer_plus(p, i.clone(), false, span);
        }
        if !place.is_place() {
            self.error(codes::PLACE, span, "this is a value: it has no address");
            return self.error_node(span);
        }
        if self.bit_field_width(&place).is_some() {
            self.error(codes::PLACE, span, "a bit-field has no address");
            return self.error_node(span);
        }
        if self.checked() && self.guarded_address(&place, span) {
            return self.error_node(span);
        }
        if let ExprKind::IndexArray(base, index) = &*place.kind {
            if matches!(self.kind(base.ty.ty), TyKind::Array { .. }) && self.checked() {
                let base = self.rvalue(base.clone());
                return self.pointer_plus(base, index.clone(), false, span);
            }
        }
        if let ExprKind::Local(id) = *place.kind {
            self.address_of_local(id, place.ty.ty, expected);
            // Whoever has the address may store another pointer there, and expects the declared
            // type.
            self.not_a_view(id);
            self.keep_written_string(&place);
        }
        let target = place.ty;
        if self.tracked() && self.program.types.owns(target.ty) && self.path_root(&place).is_some() {
            // The address of an owned path lends it as a slot.
            let region = self.fresh_region();
            let pointer = Pointer { target, bounds: Bounds::Thin, nonnull: true, own: Own::Shared, region, raw: false };
            let ty = self.types().pointer(pointer);
            return self.node(ExprKind::Borrow(BorrowKind::Slot, place), ty, span);
        }
        let place = if self.tracked() { self.lent_place(place) } else { place };
        let (own, region) = (self.place_own(&place), self.place_region(&place));
        let ty = self.types().pointer(Pointer { target, bounds: Bounds::Thin, nonnull: true, own, region, raw: false });
        self.node(ExprKind::AddrOf(place), ty, span)
    }

    fn address_of_local(&mut self, id: LocalId, ty: Ty, expected: Option<Ty>) {
        let Some(p) = self.program.types.as_pointer(ty) else { return };
        let wanted = expected
            .and_then(|t| self.program.types.as_pointer(t))
            .and_then(|q| self.program.types.as_pointer(q.target.ty));
        match wanted {
            Some(q) => self.fix_local(id, q.bounds),
            None => {
                let default = if self.is_default_string(&p) { Bounds::Terminated } else { Bounds::Thin };
                self.fix_local(id, default);
            }
        }
    }

    fn is_default_string(&self, p: &Pointer) -> bool {
        p.target.quals.is_const && matches!(self.kind(p.target.ty), TyKind::Int(IntKind::Char))
    }

    /// Places whose address would let somebody break an invariant.
    pub(crate) fn guarded_address(&mut self, place: &Expr, span: Span) -> bool {
        if let ExprKind::Local(id) = *place.kind {
            if self.f.as_ref().and_then(|f| f.format_local) == Some(id) {
                self.error(codes::VARIADIC, span, "the format parameter of a variadic function has no address taken");
                return true;
            }
            if self.f.as_ref().is_some_and(|f| f.cursors.contains(&id)) {
                let report =
                    Diagnostic::error(codes::PLACE, span, "a cursor has no address: only its own function moves it");
                let help = "pass the address of what it is at, `&*cursor`; or let that function walk the list itself";
                self.report(report.help(help));
                return true;
            }
        }
        if self.guarded_member(place, span) {
            return true;
        }
        if self.guarded_field(place, span) {
            return true;
        }
        if self.in_packed(place) && self.program.types.layout(place.ty.ty).is_some_and(|l| l.align > 1) {
            self.error_help(
                codes::PLACE,
                span,
                "a field of a packed struct may not be aligned: its address is not taken",
                "copy the field into a variable",
            );
            return true;
        }
        self.unguarded_union(place).is_some() && !self.program.types.is_plain(place.ty.ty) && {
            self.error(codes::UNSAFE, span, "what lies in an untagged union has its address taken for plain data only");
            true
        }
    }

    /// Reports the address of what lies in a member of a union that something guards.
    pub(crate) fn guarded_member(&mut self, place: &Expr, span: Span) -> bool {
        let inside = self.in_tagged_member(place);
        if inside {
            self.error_help(
                codes::TAGGED,
                span,
                "what lies in a member of a tagged union has no address taken: its tag could change behind the pointer",
                "copy the value, or bind it in a `switch`",
            );
        }
        inside
    }

    /// Whether a place lies in a member of a tagged union, or of a union that is `tagged_by` a
    /// field.
    fn in_tagged_member(&self, place: &Expr) -> bool {
        match &*place.kind {
            ExprKind::Field(base, _) => {
                let kind = self.program.types.as_record(base.ty.ty).map(|id| self.program.types.record(id).kind);
                kind == Some(RecordKind::Tagged)
                    || (kind == Some(RecordKind::Union) && self.is_tagged_by(base))
                    || self.in_tagged_member(base)
            }
            ExprKind::IndexArray(base, _) => self.in_tagged_member(base),
            _ => false,
        }
    }

    /// Whether a place is an owned member of a union: an exchange tests the tag, and leaves it as
    /// it is.
    pub(crate) fn is_owned_member(&self, place: &Expr) -> bool {
        self.program.types.owns(place.ty.ty) && self.in_tagged_member(place) && !self.in_packed(place)
    }

    /// Whether a place lies in a packed record.
    fn in_packed(&self, place: &Expr) -> bool {
        match &*place.kind {
            ExprKind::Field(base, n) => {
                let record = self.program.types.as_record(base.ty.ty).map(|id| self.program.types.record(id));
                let field = record.and_then(|r| r.fields.as_ref()?.get(*n as usize));
                record.is_some_and(|r| r.packed) || field.is_some_and(|f| f.packed) || self.in_packed(base)
            }
            ExprKind::IndexArray(base, _) => self.in_packed(base),
            _ => false,
        }
    }

    /// Fields that others depend on have no address taken.
    pub(crate) fn guarded_field(&mut self, place: &Expr, span: Span) -> bool {
        let ExprKind::Field(base, n) = &*place.kind else { return false };
        let Some(id) = self.program.types.as_record(base.ty.ty) else { return false };
        let fields = self.program.types.record(id).fields.clone().unwrap_or_default();
        let tags = |f: &Field| f.tagged_by.as_ref().is_some_and(|t| t.tag == *n);
        if fields.get(*n as usize).is_some_and(|f| f.tagged_by.is_some()) || fields.iter().any(tags) {
            self.error(
                codes::TAGGED,
                span,
                "a union that is `tagged_by` a field, and that field, have no address taken",
            );
            return true;
        }
        if self.counters_of(&fields).contains(n) {
            self.error(
                codes::COUNT,
                span,
                "a count field has no address taken: the count could become wrong behind the pointer",
            );
            return true;
        }
        let counted =
            matches!(self.program.types.as_pointer(place.ty.ty), Some(Pointer { bounds: Bounds::Counted(_), .. }));
        if counted {
            self.error(
                codes::COUNT,
                span,
                "a `counted_by` field has no address taken: read the pointer into a variable",
            );
        }
        counted
    }

    /// Fields that counts of other fields mention.
    pub(crate) fn counters_of(&self, fields: &[Field]) -> Vec<u32> {
        let mut all = vec![];
        for f in fields {
            let count = match *self.kind(f.ty.ty) {
                TyKind::Ptr(Pointer { bounds: Bounds::Counted(id), .. }) => Some(id),
                TyKind::Array { len: ArrayLen::Flexible(count), .. } => count,
                _ => None,
            };
            if let Some(count) = count {
                all.extend(self.count_fields(count));
            }
        }
        all
    }

    /// `++` and `--`
    fn step(&mut self, inner: &ast::Expr, increment: bool, prefix: bool, span: Span) -> Expr {
        let place = self.expr(inner);
        if self.guarded_place(&place) {
            return self.error_node(span);
        }
        let ty = place.ty.ty;
        if let Some(p) = self.program.types.as_pointer(ty) {
            let value = self.rvalue(place.clone());
            let value = self.looked(value);
            if !self.check_arithmetic(&value, p, false, span) {
                return self.error_node(span);
            }
            self.reject_counted_step(&place, span);
            if let (ExprKind::Local(id), true) = (&*place.kind, p.bounds.is_fat()) {
                self.note_assigned(*id, &value);
            }
        } else if let Some(vector) = self.vector_step(&place, increment, prefix, span) {
            return vector;
        } else if !self.is_arithmetic(ty) {
            let text = self.show(ty);
            self.error(
                codes::OPERANDS,
                span,
                format!("`{}` does not work on `{text}`", if increment { "++" } else { "--" }),
            );
            return self.error_node(span);
        }
        let ty = self.value_type(ty);
        if !increment {
            self.note_counted_down(&place);
            self.note_back(&place);
        }
        self.node(ExprKind::IncDec(place, increment, prefix), ty, span)
    }

    fn reject_counted_step(&mut self, place: &Expr, span: Span) {
        if let Some(Pointer { bounds: Bounds::Counted(_), .. }) = self.program.types.as_pointer(place.ty.ty) {
            if self.checked() {
                self.error_help(
                    codes::COUNT,
                    span,
                    "stepping a `counted_by` field would make its count wrong",
                    "step a local copy of the pointer",
                );
            }
        }
    }

    /// Whether arithmetic on the pointer is possible; reports if not.
    /// A step by a constant asks for a word in a parameter, as a constant index does.
    fn check_arithmetic(&mut self, value: &Expr, p: Pointer, by_constant: bool, span: Span) -> bool {
        if self.tracked() && matches!(p.own, Own::Unique | Own::Rc | Own::Any | Own::Param(_)) {
            self.error_help(
                codes::OWNERSHIP,
                span,
                "a pointer that owns its target stays at its beginning: `unique` and `rc` pointers do not move",
                "index it, or borrow it and move the borrow: `borrow b = p;`",
            );
            return false;
        }
        if matches!(self.kind(p.target.ty), TyKind::Void | TyKind::Func(_)) {
            if !self.checked() {
                return true;
            }
            self.error(codes::VOID_POINTER, span, "arithmetic needs a pointer to a type of known size");
            return false;
        }
        if !self.program.types.is_complete(p.target.ty) {
            let text = self.show(p.target.ty);
            self.error(
                codes::INCOMPLETE,
                span,
                format!("arithmetic needs the size of `{text}`, which is not known here"),
            );
            return false;
        }
        if self.checked()
            && p.bounds == Bounds::Thin
            && !self.need_bounds(value)
            && (by_constant || !self.learn_need(value, Need::BOUNDS))
        {
            self.no_bounds(value, p, span, "moved");
        }
        if self.checked() {
            self.need_bounds(value);
        }
        true
    }

    /// `p + i`, `p - i`
    pub(crate) fn pointer_plus(&mut self, p: Expr, i: Expr, minus: bool, span: Span) -> Expr {
        let p = if self.tracked() { self.borrowed(p) } else { p };
        let Some(pointer) = self.program.types.as_pointer(p.ty.ty) else { return self.error_node(span) };
        if !self.check_arithmetic(&p, pointer, is_constant(&i), span) {
            return self.error_node(span);
        }
        let i = self.promote(i);
        if self.too_wide(&i) {
            return self.error_node(span);
        }
        let back = minus != is_negative(&i);
        if back {
            self.note_back(&p);
        }
        let p = if back { self.measured_before(p) } else { p };
        let ty = p.ty.ty;
        self.node(ExprKind::PtrAdd(p, i, minus), ty, span)
    }

    /// Reports a number of 128 bits where elements are counted.
    pub(crate) fn too_wide(&mut self, i: &Expr) -> bool {
        let wide = self.checked() && self.program.types.as_int(i.ty.ty).is_some_and(|k| k.size() > 8);
        if wide {
            self.error_help(
                codes::OPERANDS,
                i.span,
                "elements are counted in 64 bits, and this has 128",
                "cast it to `long` where that keeps its value",
            );
        }
        wide
    }

    /// A binary operator. Long chains of left operands are walked, not recursed into.
    pub(crate) fn binary(&mut self, e: &ast::Expr) -> Expr {
        let mut chain = vec![];
        let mut at = e;
        while let ast::ExprKind::Binary(op, a, b) = &at.kind {
            if matches!(op, ast::BinaryOp::And | ast::BinaryOp::Or) {
                break;
            }
            chain.push((*op, b.as_ref(), at.span));
            at = a;
        }
        let mut left = match &at.kind {
            ast::ExprKind::Binary(op, a, b) => self.logical(*op, a, b, at.span),
            _ => self.expr(at),
        };
        if chain.is_empty() {
            return left;
        }
        left = self.rvalue(left);
        while let Some((op, right, span)) = chain.pop() {
            let right = self.value(right);
            left = self.binary_values(op, left, right, span);
        }
        left
    }

    fn logical(&mut self, op: ast::BinaryOp, a: &ast::Expr, b: &ast::Expr, span: Span) -> Expr {
        let mut operands = vec![b];
        let mut at = a;
        while let ast::ExprKind::Binary(inner, x, y) = &at.kind {
            if *inner != op {
                break;
            }
            operands.push(y);
            at = x;
        }
        let int = self.program.types.common.int;
        let mut left = self.condition(at);
        while let Some(right) = operands.pop() {
            let right = self.condition(right);
            let known = match (&*left.kind, op) {
                (ExprKind::Int(0), ast::BinaryOp::And) => Some(0),
                (ExprKind::Int(n), ast::BinaryOp::Or) if *n != 0 => Some(1),
                (ExprKind::Int(_), _) => match &*right.kind {
                    ExprKind::Int(n) => Some(i128::from(*n != 0)),
                    _ => None,
                },
                _ => None,
            };
            left = match known {
                Some(n) => self.int_node(n, int, span),
                None if op == ast::BinaryOp::And => self.node(ExprKind::And(left, right), int, span),
                None => self.node(ExprKind::Or(left, right), int, span),
            };
        }
        left
    }

    /// A binary operator on two values.
    pub(crate) fn binary_values(&mut self, op: ast::BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        use ast::BinaryOp as B;
        if self.is_error(a.ty.ty) || self.is_error(b.ty.ty) {
            return self.error_node(span);
        }
        if let Some(vector) = self.vector_binary(op, &a, &b, span) {
            return vector;
        }
        let (pa, pb) = (self.is_pointer_like(&a), self.is_pointer_like(&b));
        match op {
            B::Add if pa && self.is_integer(b.ty.ty) => return self.pointer_plus(a, b, false, span),
            B::Add if pb && self.is_integer(a.ty.ty) => return self.pointer_plus(b, a, false, span),
            B::Sub if pa && self.is_integer(b.ty.ty) => return self.pointer_plus(a, b, true, span),
            B::Sub if pa && pb => return self.pointer_difference(a, b, span),
            B::Lt | B::Gt | B::Le | B::Ge | B::Eq | B::Ne if pa || pb => return self.compare_pointers(op, a, b, span),
            _ => {}
        }
        let integers = self.is_integer(a.ty.ty) && self.is_integer(b.ty.ty);
        let numbers = self.is_arithmetic(a.ty.ty) && self.is_arithmetic(b.ty.ty);
        let needs_integers = matches!(op, B::Rem | B::Shl | B::Shr | B::BitAnd | B::BitXor | B::BitOr);
        if !numbers || (needs_integers && !integers) {
            let (x, y) = (self.show(a.ty.ty), self.show(b.ty.ty));
            self.error(codes::OPERANDS, span, format!("`{}` does not work on `{x}` and `{y}`", sign(op)));
            return self.error_node(span);
        }
        if matches!(op, B::Shl | B::Shr) {
            let (a, b) = (self.promote(a), self.promote(b));
            let ty = a.ty.ty;
            return self.arithmetic(bin_op(op), a, b, ty, span);
        }
        let (a, b, ty) = self.balance(a, b);
        self.arithmetic(bin_op(op), a, b, ty, span)
    }

    fn is_pointer_like(&self, e: &Expr) -> bool {
        matches!(self.kind(e.ty.ty), TyKind::Ptr(_) | TyKind::NullPtr)
    }

    /// An operator on two values of type `ty`; constants fold.
    fn arithmetic(&mut self, op: BinOp, a: Expr, b: Expr, ty: Ty, span: Span) -> Expr {
        let int = self.program.types.common.int;
        let result = if is_comparison(op) { int } else { ty };
        if let (ExprKind::Int(x), ExprKind::Int(y), Some(kind)) = (&*a.kind, &*b.kind, self.program.types.as_int(ty)) {
            if let Some(value) = fold(op, *x, *y, kind) {
                return self.int_node(value, result, span);
            }
            if self.f.is_some() && self.checked() {
                self.report(Diagnostic::warning(
                    codes::SUSPICIOUS,
                    span,
                    "this division is by zero or overflows: it will fault",
                ));
            }
        }
        self.node(ExprKind::Binary(op, a, b), result, span)
    }

    fn pointer_difference(&mut self, a: Expr, b: Expr, span: Span) -> Expr {
        let long = self.program.types.common.long;
        let (Some(p), Some(q)) = (self.program.types.as_pointer(a.ty.ty), self.program.types.as_pointer(b.ty.ty))
        else {
            return self.error_node(span);
        };
        let (a, b) = (self.looked(a), self.looked(b));
        self.need_bounds(&a);
        self.need_bounds(&b);
        if !self.program.types.same_modulo_regions(p.target.ty, q.target.ty) && self.checked() {
            let (x, y) = (self.show(a.ty.ty), self.show(b.ty.ty));
            self.error(
                codes::OPERANDS,
                span,
                format!("the difference of `{x}` and `{y}` has no meaning: the elements differ"),
            );
            return self.error_node(span);
        }
        if !self.program.types.is_complete(p.target.ty) && self.checked() {
            self.error(codes::INCOMPLETE, span, "a difference needs elements of known size");
            return self.error_node(span);
        }
        self.node(ExprKind::PtrDiff(a, b), long, span)
    }

    /// A value of type `nullptr_t` is null, whatever expression it is.
    fn plain_null(&mut self, e: Expr) -> Expr {
        if !matches!(self.kind(e.ty.ty), TyKind::NullPtr) || matches!(*e.kind, ExprKind::Null) {
            return e;
        }
        let (ty, span) = (e.ty.ty, e.span);
        self.node(ExprKind::Null, ty, span)
    }

    fn compare_pointers(&mut self, op: ast::BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        let int = self.program.types.common.int;
        let equality = matches!(op, ast::BinaryOp::Eq | ast::BinaryOp::Ne);
        if self.is_null_constant(&a) && self.is_null_constant(&b) {
            let value = i128::from((op == ast::BinaryOp::Eq) || matches!(op, ast::BinaryOp::Le | ast::BinaryOp::Ge));
            return self.int_node(value, int, span);
        }
        let (a, b) = (self.looked(a), self.looked(b));
        let (a, b) = (self.plain_null(a), self.plain_null(b));
        if self.is_null_constant(&b) && self.is_pointer_like(&a) {
            let null = self.node(ExprKind::Null, a.ty.ty, b.span);
            return self.node(ExprKind::Binary(bin_op(op), a, null), int, span);
        }
        if self.is_null_constant(&a) && self.is_pointer_like(&b) {
            let null = self.node(ExprKind::Null, b.ty.ty, a.span);
            return self.node(ExprKind::Binary(bin_op(op), null, b), int, span);
        }
        let (Some(p), Some(q)) = (self.program.types.as_pointer(a.ty.ty), self.program.types.as_pointer(b.ty.ty))
        else {
            if !self.checked() {
                let long = self.program.types.common.ulong;
                let a = self.coerce(a, long, Why::Cast);
                let b = self.coerce(b, long, Why::Cast);
                return self.node(ExprKind::Binary(bin_op(op), a, b), int, span);
            }
            let (x, y) = (self.show(a.ty.ty), self.show(b.ty.ty));
            self.error(
                codes::OPERANDS,
                span,
                format!("`{x}` and `{y}` are not compared: one is a pointer, the other is not"),
            );
            return self.error_node(span);
        };
        // An end pointer lies one past the last element: kept with its bounds, it may.
        self.need_bounds(&a);
        self.need_bounds(&b);
        match (p.bounds, q.bounds) {
            (Bounds::Fat, Bounds::Thin) => _ = self.learn_need(&b, Need::BOUNDS),
            (Bounds::Thin, Bounds::Fat) => _ = self.learn_need(&a, Need::BOUNDS),
            _ => {}
        }
        let void = matches!(self.kind(p.target.ty), TyKind::Void) || matches!(self.kind(q.target.ty), TyKind::Void);
        let same = self.program.types.same_modulo_regions(p.target.ty, q.target.ty)
            || self.targets_agree(p.target.ty, q.target.ty, true)
            || self.targets_agree(q.target.ty, p.target.ty, true);
        if self.checked() && !same && !(void && equality) {
            let (x, y) = (self.show(a.ty.ty), self.show(b.ty.ty));
            self.error(
                codes::OPERANDS,
                span,
                format!("`{x}` and `{y}` are not compared: they point to different types"),
            );
            return self.error_node(span);
        }
        self.node(ExprKind::Binary(bin_op(op), a, b), int, span)
    }

    /// `place op= value`
    pub(crate) fn assign_op(&mut self, op: ast::BinaryOp, place: &ast::Expr, value: &ast::Expr, span: Span) -> Expr {
        let place = self.expr(place);
        let value = self.value(value);
        if self.guarded_place(&place) || self.is_error(value.ty.ty) {
            return self.error_node(span);
        }
        if let Some(vector) = self.vector_assign(op, &place, &value, span) {
            return vector;
        }
        let ty = place.ty.ty;
        if let Some(p) = self.program.types.as_pointer(ty) {
            if !matches!(op, ast::BinaryOp::Add | ast::BinaryOp::Sub) || !self.is_integer(value.ty.ty) {
                let (x, y) = (self.show(ty), self.show(value.ty.ty));
                self.error(codes::OPERANDS, span, format!("`{}=` does not work on `{x}` and `{y}`", sign(op)));
                return self.error_node(span);
            }
            let old = self.rvalue(place.clone());
            let old = self.looked(old);
            if !self.check_arithmetic(&old, p, is_constant(&value), span) {
                return self.error_node(span);
            }
            self.reject_counted_step(&place, span);
            if let (ExprKind::Local(id), true) = (&*place.kind, p.bounds.is_fat()) {
                self.note_assigned(*id, &old);
            }
            let value = self.promote(value);
            if self.too_wide(&value) {
                return self.error_node(span);
            }
            if op == ast::BinaryOp::Sub {
                self.note_back(&place);
            }
            self.note_back_by(&place, &value);
            let result = self.value_type(ty);
            return self.node(ExprKind::AssignOp(bin_op(op), ty, place, value), result, span);
        }
        let integers = self.is_integer(ty) && self.is_integer(value.ty.ty);
        let numbers = self.is_arithmetic(ty) && self.is_arithmetic(value.ty.ty);
        let needs_integers = matches!(
            op,
            ast::BinaryOp::Rem
                | ast::BinaryOp::Shl
                | ast::BinaryOp::Shr
                | ast::BinaryOp::BitAnd
                | ast::BinaryOp::BitXor
                | ast::BinaryOp::BitOr
        );
        if !numbers || (needs_integers && !integers) {
            let (x, y) = (self.show(ty), self.show(value.ty.ty));
            self.error(codes::OPERANDS, span, format!("`{}=` does not work on `{x}` and `{y}`", sign(op)));
            return self.error_node(span);
        }
        if op == ast::BinaryOp::Sub {
            self.note_counted_down(&place);
        }
        let current = self.rvalue(place.clone());
        let (compute, value) = if matches!(op, ast::BinaryOp::Shl | ast::BinaryOp::Shr) {
            let current = self.promote(current);
            (current.ty.ty, self.promote(value))
        } else {
            let (_, value, compute) = self.balance(current, value);
            (compute, value)
        };
        self.node(ExprKind::AssignOp(bin_op(op), compute, place, value), ty, span)
    }
}

/// The typed operator.
pub(crate) fn bin_op(op: ast::BinaryOp) -> BinOp {
    use ast::BinaryOp as B;
    match op {
        B::Mul => BinOp::Mul,
        B::Div => BinOp::Div,
        B::Rem => BinOp::Rem,
        B::Add => BinOp::Add,
        B::Sub => BinOp::Sub,
        B::Shl => BinOp::Shl,
        B::Shr => BinOp::Shr,
        B::Lt => BinOp::Lt,
        B::Gt => BinOp::Gt,
        B::Le => BinOp::Le,
        B::Ge => BinOp::Ge,
        B::Eq => BinOp::Eq,
        B::Ne => BinOp::Ne,
        B::BitAnd | B::And => BinOp::BitAnd,
        B::BitXor => BinOp::BitXor,
        B::BitOr | B::Or => BinOp::BitOr,
    }
}

pub(crate) fn sign(op: ast::BinaryOp) -> &'static str {
    use ast::BinaryOp as B;
    match op {
        B::Mul => "*",
        B::Div => "/",
        B::Rem => "%",
        B::Add => "+",
        B::Sub => "-",
        B::Shl => "<<",
        B::Shr => ">>",
        B::Lt => "<",
        B::Gt => ">",
        B::Le => "<=",
        B::Ge => ">=",
        B::Eq => "==",
        B::Ne => "!=",
        B::BitAnd => "&",
        B::BitXor => "^",
        B::BitOr => "|",
        B::And => "&&",
        B::Or => "||",
    }
}

/// The operator on two constants of an integer type; `None` for a division that faults.
pub(crate) fn fold(op: BinOp, x: i128, y: i128, kind: IntKind) -> Option<i128> {
    let bits = kind.size() as u32 * 8;
    let count = (y & i128::from(bits - 1)) as u32;
    let unsigned_wide = kind == IntKind::UInt128;
    let value = match op {
        BinOp::Mul => x.wrapping_mul(y),
        BinOp::Add => x.wrapping_add(y),
        BinOp::Sub => x.wrapping_sub(y),
        BinOp::Div | BinOp::Rem => {
            if y == 0 {
                return None;
            }
            let result = if unsigned_wide {
                if op == BinOp::Div {
                    ((x as u128) / (y as u128)) as i128
                } else {
                    ((x as u128) % (y as u128)) as i128
                }
            } else if op == BinOp::Div {
                x.checked_div(y)?
            } else {
                x.checked_rem(y)?
            };
            if kind.signed() && y == -1 && kind.wrap(x.wrapping_neg()) == x && x != 0 {
                return None;
            }
            result
        }
        BinOp::Shl => x.wrapping_shl(count),
        BinOp::Shr if unsigned_wide => ((x as u128) >> count) as i128,
        BinOp::Shr => x >> count,
        BinOp::BitAnd => x & y,
        BinOp::BitXor => x ^ y,
        BinOp::BitOr => x | y,
        BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge | BinOp::Eq | BinOp::Ne => {
            let holds = match unsigned_wide {
                true => op.compare(&(x as u128), &(y as u128)),
                false => op.compare(&x, &y),
            };
            return holds.map(i128::from);
        }
    };
    Some(kind.wrap(value))
}
