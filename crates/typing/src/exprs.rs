//! Expressions: the walk, assignment, conditionals, casts, literals of compound types. Names are in
//! `names.rs`, members and elements in `access.rs`, sizes in `sizes.rs`, operators in `ops.rs`,
//! calls in `calls.rs`.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::scope::Entity;
use crate::tree::*;
use crate::types::*;
use crate::walk::{any, Part};
use source::{Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// An expression; places stay places.
    pub(crate) fn expr(&mut self, e: &ast::Expr) -> Expr {
        self.expr_expecting(e, None)
    }

    /// A value.
    pub(crate) fn value(&mut self, e: &ast::Expr) -> Expr {
        let e = self.expr(e);
        self.rvalue(e)
    }

    /// An expression that is not evaluated (`sizeof`, `typeof`).
    pub(crate) fn unevaluated(&mut self, e: &ast::Expr) -> Expr {
        if let Some(f) = &mut self.f {
            f.unsafe_depth += 1;
        }
        let out = self.expr(e);
        if let Some(f) = &mut self.f {
            f.unsafe_depth -= 1;
        }
        out
    }

    /// An expression whose context wants a type: allocations and generic calls take theirs from it.
    pub(crate) fn expr_expecting(&mut self, e: &ast::Expr, expected: Option<Ty>) -> Expr {
        let mark = self.lengths();
        let out = self.expr_of_kind(e, expected);
        let out = if self.options.plain_c { self.without_left_out(out) } else { out };
        if self.lengths() == mark {
            return out;
        }
        self.with_lengths(out, mark)
    }

    /// The expression behind the lengths of arrays in types that it names.
    fn with_lengths(&mut self, e: Expr, mark: usize) -> Expr {
        let Some(f) = &mut self.f else { return e };
        let found = f.lengths.split_off(mark.min(f.lengths.len()));
        let mut out = if e.is_place() { self.rvalue(e) } else { e };
        for (local, value) in found.into_iter().rev() {
            let (ty, span) = (value.ty.ty, value.span);
            let place = self.place_node(ExprKind::Local(local), Qty::plain(ty), span);
            let set = self.node(ExprKind::Assign(place, value), ty, span);
            let whole = out.ty.ty;
            out = self.node(ExprKind::Comma(set, out), whole, span);
        }
        out
    }

    fn expr_of_kind(&mut self, e: &ast::Expr, expected: Option<Ty>) -> Expr {
        let span = e.span;
        let c = self.program.types.common;
        match &e.kind {
            ast::ExprKind::Ident(name) => self.name(*name, span, expected),
            ast::ExprKind::Int(lit) => {
                let ty = self.int_literal_type(lit);
                self.int_node(lit.value as i128, ty, span)
            }
            ast::ExprKind::Float(lit) => self.float_literal(lit, span),
            ast::ExprKind::Char(value, encoding) => {
                let ty = match encoding {
                    ast::Encoding::None => c.int,
                    ast::Encoding::Utf8 => c.uchar,
                    ast::Encoding::Utf16 => c.ushort,
                    ast::Encoding::Utf32 => c.uint,
                    ast::Encoding::Wide => c.int,
                };
                let value = match encoding {
                    ast::Encoding::None if *value < 256 => IntKind::Char.wrap(i128::from(*value)),
                    ast::Encoding::None => IntKind::Int.wrap(i128::from(*value)),
                    _ => i128::from(*value),
                };
                self.int_node(value, ty, span)
            }
            ast::ExprKind::Str(lit) => self.string_literal(lit, span),
            ast::ExprKind::Nullptr => self.node(ExprKind::Null, c.nullptr, span),
            ast::ExprKind::Bool(b) => self.int_node(i128::from(*b), c.bool_, span),
            ast::ExprKind::Call { callee, args, question } => self.call(callee, args, *question, span, expected),
            ast::ExprKind::Index(a, i) => self.index(a, i, span),
            ast::ExprKind::Dot(base, member) => {
                let base = self.expr(base);
                self.member(base, *member, span)
            }
            ast::ExprKind::Arrow(base, member) => self.arrow(base, *member, span),
            ast::ExprKind::Unary(op, inner) => self.unary(*op, inner, span, expected),
            ast::ExprKind::Binary(..) => self.binary(e),
            ast::ExprKind::Assign(None, place, value) => self.assign(place, value, span),
            ast::ExprKind::Assign(Some(op), place, value) => self.assign_op(*op, place, value, span),
            ast::ExprKind::Cond(cond, then, other) => self.conditional(cond, then.as_deref(), other, span, expected),
            ast::ExprKind::Comma(a, b) => {
                let unused = self.is_unused(span);
                self.value_unused(a.span);
                let a = self.expr(a);
                let a = if a.is_place() && !matches!(self.kind(a.ty.ty), TyKind::Array { .. }) {
                    let a = self.rvalue(a);
                    self.looked(a)
                } else {
                    a
                };
                if unused {
                    self.value_unused(b.span);
                }
                let b = self.value(b);
                let ty = b.ty.ty;
                self.node(ExprKind::Comma(a, b), ty, span)
            }
            ast::ExprKind::Cast(ty, inner) => self.cast(ty, inner, span, expected),
            ast::ExprKind::CompoundLit(ty, items, storage) => self.compound_literal(ty, items, *storage, span),
            ast::ExprKind::SizeofExpr(inner) => {
                let value = self.unevaluated(inner);
                self.size_of(value.ty.ty, span)
            }
            ast::ExprKind::SizeofType(ty) => {
                let ty = self.type_name(ty);
                self.size_of(ty.ty, span)
            }
            ast::ExprKind::AlignofType(name) => {
                let ty = self.type_name(name);
                match self.typedef_alignment(&name.specs, &name.declarator) {
                    Some(align) => self.int_node(i128::from(align), c.ulong, span),
                    None => self.align_of(ty.ty, span),
                }
            }
            ast::ExprKind::AlignofExpr(inner) => {
                let value = self.unevaluated(inner);
                let value = self.declared_place(value);
                match self.object_alignment(&value) {
                    Some(align) => self.int_node(i128::from(align), c.ulong, span),
                    None => self.align_of(value.ty.ty, span),
                }
            }
            ast::ExprKind::Generic(control, arms) => self.generic_selection(control, arms, span, expected),
            ast::ExprKind::StmtExpr(block) => self.statement_expression(block, span),
            ast::ExprKind::LabelAddr(name) => {
                if self.checked() {
                    self.error(codes::UNSAFE, span, "the address of a label is not in the safe language");
                }
                let id = self.label(name.name);
                let ty = self.types().pointer(Pointer {
                    target: Qty::plain(c.void),
                    bounds: Bounds::Thin,
                    nonnull: false,
                    own: Own::Shared,
                    region: Region::Heap,
                    raw: true,
                });
                self.node(ExprKind::LabelAddr(id), ty, span)
            }
            ast::ExprKind::VaArg(ap, ty) => {
                if self.checked() && self.f.as_ref().is_none_or(|f| f.format.is_some() || !f.variadic) {
                    self.error_help(
                        codes::VARIADIC,
                        span,
                        "`va_arg` is not in the safe language",
                        "pass the `va_list` on to a trusted `v...printf` function, or take a `fat` parameter",
                    );
                }
                let ap = self.expr(ap);
                let ty = self.type_name(ty);
                self.node(ExprKind::VaArg(ap), self.program.types.aligned(ty.ty), span)
            }
            ast::ExprKind::Offsetof(ty, path) => self.offset_of(ty, path, span),
            ast::ExprKind::TypesCompatible(a, b) => {
                let (a, b) = (self.type_name(a), self.type_name(b));
                let same = self.program.types.same_modulo_regions(a.ty, b.ty) || self.generic_match(a.ty, b.ty);
                self.int_node(i128::from(same), c.int, span)
            }
            ast::ExprKind::ConvertVector(vector, ty) => self.vector_converted(vector, ty, span),
            ast::ExprKind::ChooseExpr(cond, a, b) => match self.constant_int(cond) {
                Some(0) => self.expr_expecting(b, expected),
                _ => self.expr_expecting(a, expected),
            },
            ast::ExprKind::New(new) => self.new_expr(new, span),
            ast::ExprKind::Lengthof(inner) => self.length_of(inner, span),
            ast::ExprKind::Start(call) => self.start(call, span),
            ast::ExprKind::Spawn(call, question) => self.spawn(call, *question, span),
            ast::ExprKind::ContainerOf(p, ty, member) => self.container_of(p, ty, *member, span),
            ast::ExprKind::Unsafe(inner) => {
                if let Some(f) = &mut self.f {
                    f.unsafe_depth += 1;
                }
                let out = self.expr_expecting(inner, expected);
                let out = if matches!(self.kind(out.ty.ty), TyKind::Array { .. }) { out } else { self.rvalue(out) };
                if let Some(f) = &mut self.f {
                    f.unsafe_depth -= 1;
                }
                out
            }
            ast::ExprKind::Unsupported(word) => {
                self.later(*word, span);
                self.error_node(span)
            }
            ast::ExprKind::Error => self.error_node(span),
        }
    }

    pub(crate) fn conditional(
        &mut self,
        cond: &ast::Expr,
        then: Option<&ast::Expr>,
        other: &ast::Expr,
        span: Span,
        expected: Option<Ty>,
    ) -> Expr {
        let Some(then) = then else { return self.elvis(cond, other, span, expected) };
        let cond = self.condition(cond);
        let a = self.expr_expecting(then, expected);
        let b = self.expr_expecting(other, expected);
        let (a, b) = (self.rvalue(a), self.rvalue(b));
        // Null is what the context makes of it.
        if matches!(*cond.kind, ExprKind::Int(_)) && self.is_null_constant(&a) && self.is_null_constant(&b) {
            return a;
        }
        let Some((a, b, ty)) = self.unify_arms(a, b, span) else { return self.error_node(span) };
        if let (ExprKind::Int(n), ExprKind::Int(x), ExprKind::Int(y)) = (&*cond.kind, &*a.kind, &*b.kind) {
            let value = if *n != 0 { *x } else { *y };
            return self.int_node(value, ty, span);
        }
        self.node(ExprKind::Cond(cond, a, b), ty, span)
    }

    /// `a ?: b`
    pub(crate) fn elvis(&mut self, a: &ast::Expr, b: &ast::Expr, span: Span, expected: Option<Ty>) -> Expr {
        let a = self.expr_expecting(a, expected);
        let a = self.rvalue(a);
        let b = self.expr_expecting(b, expected);
        let b = self.rvalue(b);
        let Some((a, b, ty)) = self.unify_arms(a, b, span) else { return self.error_node(span) };
        let local = self.new_local(None, Qty::plain(ty), span, false);
        self.node(ExprKind::CondOmitted(local, a, b), ty, span)
    }

    /// Brings two values to one type (`?:`).
    pub(crate) fn unify_arms(&mut self, a: Expr, b: Expr, span: Span) -> Option<(Expr, Expr, Ty)> {
        if self.is_error(a.ty.ty) || self.is_error(b.ty.ty) {
            return None;
        }
        if self.is_arithmetic(a.ty.ty) && self.is_arithmetic(b.ty.ty) {
            return Some(self.balance(a, b));
        }
        let void = self.program.types.common.void;
        let is_void = |c: &Self, e: &Expr| matches!(c.kind(e.ty.ty), TyKind::Void);
        if is_void(self, &a) || is_void(self, &b) {
            let a = self.convert(Conv::Void, a, void);
            let b = self.convert(Conv::Void, b, void);
            return Some((a, b, void));
        }
        if self.program.types.same_modulo_regions(a.ty.ty, b.ty.ty) {
            let ty = self.joined_region(a.ty.ty, b.ty.ty);
            return Some((a, b, ty));
        }
        // The address of something owned is what the other arm leaves it: where the value goes says
        // what it is lent as.
        let by_address = |e: &Expr| matches!(&*e.kind, ExprKind::Borrow(kind, _) if kind.by_address());
        if by_address(&a) || by_address(&b) {
            let (x, y) = (self.nullable(a.ty.ty), self.nullable(b.ty.ty));
            if self.is_null_constant(&a) {
                return Some((self.node(ExprKind::Null, y, a.span), b, y));
            }
            if self.is_null_constant(&b) {
                return Some((a, self.node(ExprKind::Null, x, b.span), x));
            }
            if self.program.types.same_modulo_regions(x, y) {
                let ty = self.joined_region(x, y);
                return Some((a, b, ty));
            }
        }
        if self.is_null_constant(&a) && !self.is_null_constant(&b) {
            let ty = self.nullable(b.ty.ty);
            let a = self.coerce(a, ty, Why::Store);
            let b = self.coerce(b, ty, Why::Store);
            return Some((a, b, ty));
        }
        if self.is_null_constant(&b) {
            let ty = self.nullable(a.ty.ty);
            let a = self.coerce(a, ty, Why::Store);
            let b = self.coerce(b, ty, Why::Store);
            return Some((a, b, ty));
        }
        if let (Some(p), Some(q)) = (self.program.types.as_pointer(a.ty.ty), self.program.types.as_pointer(b.ty.ty)) {
            let ty = self.meet_pointers(p, q);
            if let Some(ty) = ty {
                let a = self.coerce(a, ty, Why::Local);
                let b = self.coerce(b, ty, Why::Local);
                return Some((a, b, ty));
            }
        }
        let (x, y) = (self.show(a.ty.ty), self.show(b.ty.ty));
        self.error(codes::TYPE, span, format!("type: the two arms have the types `{x}` and `{y}`, which do not meet"));
        None
    }

    /// The type of a value that is one of two, which differ in regions only.
    fn joined_region(&mut self, a: Ty, b: Ty) -> Ty {
        match (self.program.types.as_pointer(a), self.program.types.as_pointer(b)) {
            (Some(p), Some(q)) if p.region != q.region => {
                let region = self.fresh_region();
                self.types().pointer(Pointer { region, ..p })
            }
            _ => a,
        }
    }

    pub(crate) fn nullable(&mut self, ty: Ty) -> Ty {
        match self.program.types.as_pointer(ty) {
            Some(p) => self.types().pointer(Pointer { nonnull: false, ..p }),
            None => ty,
        }
    }

    /// The pointer type that both convert to.
    pub(crate) fn meet_pointers(&mut self, p: Pointer, q: Pointer) -> Option<Ty> {
        let void = |c: &Self, x: &Pointer| matches!(c.kind(x.target.ty), TyKind::Void);
        let mut target = p.target;
        if self.options.plain_c {
            target.ty = self.composite(p.target.ty, q.target.ty);
        }
        if !self.program.types.same_modulo_regions(p.target.ty, q.target.ty) {
            if void(self, &q) {
                target = q.target;
            } else if !void(self, &p) && !self.targets_agree(p.target.ty, q.target.ty, true) {
                return None;
            }
        }
        target.quals.is_const = p.target.quals.is_const || q.target.quals.is_const;
        target.quals.is_volatile = p.target.quals.is_volatile || q.target.quals.is_volatile;
        let bounds = match (p.bounds, q.bounds) {
            (a, b) if a == b => a,
            (Bounds::FatTerminated, Bounds::Terminated) | (Bounds::Terminated, Bounds::FatTerminated) => {
                Bounds::Terminated
            }
            (Bounds::Thin, _) | (_, Bounds::Thin) => Bounds::Thin,
            (Bounds::Terminated, Bounds::Fat) | (Bounds::Fat, Bounds::Terminated) => Bounds::Fat,
            _ => Bounds::Fat,
        };
        let region = if p.region == q.region { p.region } else { self.fresh_region() };
        let own = match (p.own, q.own) {
            (a, b) if a == b => a,
            (Own::View, Own::Unique) | (Own::Unique, Own::View) => Own::View,
            (Own::Any, _) | (_, Own::Any) => Own::Any,
            _ => Own::Shared,
        };
        Some(self.types().pointer(Pointer {
            target,
            bounds,
            nonnull: p.nonnull && q.nonnull,
            own,
            region,
            raw: p.raw || q.raw,
        }))
    }

    /// Whether the place may not be assigned; reports why.
    pub(crate) fn guarded_place(&mut self, place: &Expr) -> bool {
        if self.is_error(place.ty.ty) {
            return true;
        }
        if !place.is_place() {
            self.error(codes::PLACE, place.span, "this is a value, not a place that can be assigned");
            return true;
        }
        if self.write_behind_view(place) {
            return true;
        }
        if place.ty.quals.is_const {
            let what = match &*place.kind {
                ExprKind::Local(id) => self.f.as_ref().and_then(|f| f.locals.get(id.0 as usize)).and_then(|l| l.name),
                ExprKind::Global(id) => self.program.globals.get(id.0 as usize).map(|g| g.name),
                _ => None,
            };
            let message = match what {
                Some(name) => format!("`{name}` is const: it cannot be assigned"),
                None => "this is const: it cannot be assigned".to_string(),
            };
            self.error(codes::CONST, place.span, message);
            return true;
        }
        if let Some(field) = self.const_member(place.ty.ty) {
            self.error(
                codes::CONST,
                place.span,
                format!("the member `{field}` is const: this cannot be assigned as a whole"),
            );
            return true;
        }
        if self.checked() && self.is_tagged_by(place) {
            self.error_help(
                codes::TAGGED,
                place.span,
                "a union that is `tagged_by` a field is assigned by member, or with its whole struct",
                "assign the member that the tag selects",
            );
            return true;
        }
        if matches!(self.kind(place.ty.ty), TyKind::Func(_)) {
            self.error(codes::PLACE, place.span, "this is a function, not a place that can be assigned");
            return true;
        }
        if self.reject_open_record(place) {
            return true;
        }
        if matches!(self.kind(place.ty.ty), TyKind::Array { .. }) {
            self.error_help(
                codes::PLACE,
                place.span,
                "an array is not assigned as a whole",
                "copy its elements, or use `memcpy`",
            );
            return true;
        }
        if let Some((_, _, Some(_))) =
            self.program.types.as_record(place.ty.ty).and_then(|r| self.program.types.flexible_member(r))
        {
            if self.checked() {
                self.error(codes::COUNT, place.span, "a struct with a counted flexible array is not copied");
                return true;
            }
        }
        if let (ExprKind::Local(id), true) = (&*place.kind, self.checked()) {
            if self.f.as_ref().and_then(|f| f.format_local) == Some(*id) {
                self.error(codes::VARIADIC, place.span, "the format parameter of a variadic function is not assigned");
                return true;
            }
        }
        false
    }

    /// A const member of a record, at any depth.
    pub(crate) fn const_member(&self, ty: Ty) -> Option<Symbol> {
        match self.kind(ty) {
            TyKind::Array { elem, .. } => self.const_member(elem.ty),
            TyKind::Record(id) => {
                let fields = self.program.types.record(*id).fields.clone()?;
                fields.iter().find_map(|f| {
                    let name = f.name.unwrap_or_else(|| Symbol::new("<unnamed>"));
                    let array_const = matches!(self.kind(f.ty.ty), TyKind::Array { elem, .. } if elem.quals.is_const);
                    if f.ty.quals.is_const || array_const {
                        Some(name)
                    } else {
                        self.const_member(f.ty.ty)
                    }
                })
            }
            _ => None,
        }
    }

    pub(crate) fn assign(&mut self, place: &ast::Expr, value: &ast::Expr, span: Span) -> Expr {
        // What is only written to is not used.
        let was_used = self.used_state(place);
        let place = self.expr(place);
        self.restore_used(was_used);
        if let Some(cursor) = self.walker(&place) {
            // `n = n->next` where `n` stands for `*pp`, which is declared without `const`.
            let walker = self.walker_mut(&cursor).map(std::mem::take);
            let next = self.address_of(value, span, None);
            if let (Some(reads), Some(walker)) = (walker, self.walker_mut(&cursor)) {
                *walker = reads;
            }
            return self.advance_cursor(cursor, next, span);
        }
        let value = self.expr_expecting(value, Some(place.ty.ty));
        let mut value = self.rvalue(value);
        if self.guarded_place(&place) || !self.check_whole(&place) {
            return self.error_node(span);
        }
        let mut why = Why::Store;
        if self.cursor(&place).is_some() {
            return self.advance_cursor(place, value, span);
        }
        if let ExprKind::Local(id) = *place.kind {
            self.note_step(id, &value, span);
            self.note_assigned(id, &value);
            value = self.measured_for(id, value);
            why = Why::Local;
        }
        let value = self.coerce(value, place.ty.ty, why);
        let value = self.takes_old(&place, value);
        let ty = self.value_type(place.ty.ty);
        let subtracts =
            |part: Part| matches!(part, Part::Expr(e) if matches!(*e.kind, ExprKind::Binary(BinOp::Sub, ..)));
        if any(Part::Expr(&value), &mut { subtracts }) {
            self.note_counted_down(&place);
        }
        self.node(ExprKind::Assign(place, value), ty, span)
    }

    /// `memset(p, 0, sizeof *p);` of a struct that owns something is the assignment of the empty
    /// value: what was in it is freed, or is a leak, as the place says.
    pub(crate) fn cleared(&mut self, e: &ast::Expr) -> Option<StmtKind> {
        let ast::ExprKind::Call { callee, args, question: false } = &e.kind else { return None };
        let (ast::ExprKind::Ident(name), [pointer, value, size]) = (&callee.kind, &args[..]) else { return None };
        let zero = match &value.kind {
            ast::ExprKind::Int(n) => n.value == 0,
            ast::ExprKind::Char(c, _) => *c == 0,
            ast::ExprKind::Bool(b) => !b,
            _ => false,
        };
        if name.as_str() != "memset" || !zero || !self.checked() {
            return None;
        }
        let Some(&Entity::Func(id)) = self.scopes.lookup(*name) else { return None };
        let function = self.program.functions.get(id.0 as usize).filter(|f| f.trust == Trust::Trusted)?;
        self.program.types.as_func(function.ty).filter(|f| f.fills == Some((0, Some(1))))?;
        let whole = match &size.kind {
            ast::ExprKind::SizeofType(name) => self.type_name(name).ty,
            ast::ExprKind::SizeofExpr(of) => self.unevaluated(of).ty.ty,
            _ => return None,
        };
        let types = &self.program.types;
        let record = types.as_record(whole).filter(|_| types.owns(whole))?;
        let counted_tail = types.flexible_member(record).is_some();
        if types.record(record).kind != RecordKind::Struct || counted_tail {
            return None;
        }
        let target = match &pointer.kind {
            ast::ExprKind::Unary(ast::UnaryOp::AddrOf, place) => (**place).clone(),
            _ => {
                let kind = ast::ExprKind::Unary(ast::UnaryOp::Deref, Box::new(pointer.clone()));
                ast::Expr { kind, span: pointer.span }
            }
        };
        // Bytes of something else are filled by the function.
        if self.unevaluated(&target).ty.ty != whole {
            return None;
        }
        let place = self.expr(&target);
        if self.guarded_place(&place) || !self.check_whole(&place) || self.cursor(&place).is_some() {
            return Some(StmtKind::Expr(self.error_node(e.span)));
        }
        let empty = self.empty_value(whole, e.span);
        let empty = self.coerce(empty, whole, Why::Store);
        let ty = self.value_type(whole);
        Some(StmtKind::Expr(self.node(ExprKind::Assign(place, empty), ty, e.span)))
    }

    /// `pp = &(*pp)->next`: a cursor moves on below the place that it is at.
    fn advance_cursor(&mut self, place: Expr, value: Expr, span: Span) -> Expr {
        let advances = match &*value.kind {
            ExprKind::Borrow(BorrowKind::Slot, to) => {
                matches!(&*to.kind, ExprKind::Field(..)) && self.path_root(to) == self.cursor(&place)
            }
            _ => false,
        };
        if !advances || !self.program.types.same_modulo_regions(place.ty.ty, value.ty.ty) {
            self.error_help(
                codes::OWNERSHIP,
                span,
                "a cursor is assigned only the address of an owned field below the place that it is at",
                "write `pp = &(*pp)->next`",
            );
            return self.error_node(span);
        }
        let ty = place.ty.ty;
        self.node(ExprKind::Assign(place, value), ty, span)
    }

    /// The type of a place's value: counted fields read as fat.
    pub(crate) fn value_type(&mut self, ty: Ty) -> Ty {
        match self.program.types.as_pointer(ty) {
            Some(p) if matches!(p.bounds, Bounds::Counted(_)) => {
                self.types().pointer(Pointer { bounds: Bounds::Fat, ..p })
            }
            _ => ty,
        }
    }

    pub(crate) fn used_state(&self, place: &ast::Expr) -> Option<(LocalId, bool)> {
        let ast::ExprKind::Ident(name) = place.kind else { return None };
        let Some(Entity::Local(id)) = self.scopes.lookup(name) else { return None };
        let f = self.f.as_ref()?;
        Some((*id, f.used.contains(id)))
    }

    pub(crate) fn restore_used(&mut self, state: Option<(LocalId, bool)>) {
        if let (Some((id, false)), Some(f)) = (state, &mut self.f) {
            f.used.remove(&id);
        }
    }

    pub(crate) fn cast(&mut self, ty: &ast::TypeName, inner: &ast::Expr, span: Span, expected: Option<Ty>) -> Expr {
        let to = self.type_name(ty);
        let to = Qty { ty: self.program.types.aligned(to.ty), ..to };
        if let Some(value) = self.machine_builtin(inner, to.ty, span) {
            return value;
        }
        if let Some(destination) = self.cast_allocation(to.ty, inner, expected) {
            let block = self.expr_expecting(inner, Some(destination));
            return Expr { span, ..block };
        }
        let written = !matches!(ty.declarator.derived.first(), Some(ast::Derived::Pointer(q)) if q.fat.is_none() && q.null_terminated.is_none() && q.counted_by.is_none());
        let names_own = matches!(ty.declarator.derived.first(), Some(ast::Derived::Pointer(q)) if q.own.is_some());
        let value = self.expr_expecting(inner, Some(to.ty));
        let value = self.rvalue(value);
        let mut target = to.ty;
        // A cast that names no bounds keeps those of the value.
        if let (Some(q), Some(p)) = (self.program.types.as_pointer(to.ty), self.program.types.as_pointer(value.ty.ty)) {
            let own = if names_own || !self.tracked() { q.own } else { p.own };
            let q = Pointer { own, ..q };
            let keeps = q.bounds == Bounds::Thin && !written && self.checked() && !q.raw;
            let void = matches!(self.kind(p.target.ty), TyKind::Void) || matches!(self.kind(q.target.ty), TyKind::Void);
            if keeps && !void {
                let bounds = match p.bounds {
                    Bounds::Counted(_) => Bounds::Fat,
                    b if b.is_terminated()
                        && !self.program.types.is_character(q.target.ty)
                        && p.target.ty != q.target.ty =>
                    {
                        Bounds::Fat
                    }
                    // A struct and its first member lead to each other; other views have what fits.
                    Bounds::Thin
                        if p.target.ty != q.target.ty
                            && self.view_is_fat(p.target.ty, q.target.ty)
                            && self.first_member(p.target.ty, q.target.ty).is_none()
                            && self.first_member(q.target.ty, p.target.ty).is_none() =>
                    {
                        Bounds::Fat
                    }
                    b => b,
                };
                target =
                    self.types().pointer(Pointer { bounds, region: p.region, nonnull: q.nonnull || p.nonnull, ..q });
            } else {
                target = self.types().pointer(Pointer { region: p.region, ..q });
            }
        }
        let mut out = self.coerce(value, target, Why::Cast);
        if out.is_place() {
            out = self.rvalue(out);
        }
        Expr { span, ..out }
    }

    /// A thin pointer viewed as smaller elements covers several of them.
    pub(crate) fn view_is_fat(&self, from: Ty, to: Ty) -> bool {
        let size = |t: Ty| self.program.types.layout(t).map(|l| l.size);
        self.program.types.is_plain(from) && self.program.types.is_plain(to) && size(from) != size(to)
    }

    pub(crate) fn generic_selection(
        &mut self,
        control: &ast::Expr,
        arms: &[(Option<ast::TypeName>, ast::Expr)],
        span: Span,
        expected: Option<Ty>,
    ) -> Expr {
        let control = self.unevaluated(control);
        let control = self.rvalue(control);
        let wanted = control.ty.ty;
        let mut fallback = None;
        let mut found = None;
        for (ty, e) in arms {
            let Some(ty) = ty else {
                fallback = Some(e);
                continue;
            };
            let ty = self.type_name(ty);
            if self.program.types.same_modulo_regions(ty.ty, wanted) || self.generic_match(wanted, ty.ty) {
                if !self.options.plain_c {
                    return self.expr_expecting(e, expected);
                }
                // C's compilers have more types (`_Float64` beside `double`) than are distinguished
                // here.
                if found.replace(e).is_some() {
                    self.error(codes::TYPE, span, "type: two arms of `_Generic` are for one type");
                    return self.error_node(span);
                }
            }
        }
        if let Some(e) = found {
            return self.expr_expecting(e, expected);
        }
        match fallback {
            Some(e) => self.expr_expecting(e, expected),
            None => {
                let text = self.show(wanted);
                self.error_help(
                    codes::TYPE,
                    span,
                    format!("type: no arm of `_Generic` is for `{text}`"),
                    "add one, or a `default`",
                );
                self.error_node(span)
            }
        }
    }

    /// `_Generic` matches pointers by target: bounds, nullness and region are inferred.
    pub(crate) fn generic_match(&self, a: Ty, b: Ty) -> bool {
        let (x, y) = (self.program.types.aligned(a), self.program.types.aligned(b));
        if (x, y) != (a, b) {
            return self.program.types.same_modulo_regions(x, y) || self.generic_match(x, y);
        }
        match (self.kind(a), self.kind(b)) {
            (TyKind::Ptr(p), TyKind::Ptr(q)) => {
                (p.target.quals == q.target.quals && self.program.types.same_modulo_regions(p.target.ty, q.target.ty))
                    || (self.options.plain_c
                        && p.target.quals == q.target.quals
                        && self.generic_match(p.target.ty, q.target.ty))
            }
            (TyKind::Enum(e), TyKind::Int(k)) | (TyKind::Int(k), TyKind::Enum(e)) if self.options.plain_c => {
                self.program.types.enumeration(*e).underlying == *k
            }
            (TyKind::Array { elem: x, len: l, .. }, TyKind::Array { elem: y, len: m, .. }) if self.options.plain_c => {
                let open = *l == ArrayLen::Unknown || *m == ArrayLen::Unknown;
                (l == m || open) && x.quals == y.quals && (x.ty == y.ty || self.generic_match(x.ty, y.ty))
            }
            (TyKind::Func(f), TyKind::Func(g)) if self.options.plain_c => {
                let same = |a: Ty, b: Ty| a == b || self.generic_match(a, b);
                let params = f.params.len() == g.params.len()
                    && f.params.iter().zip(&g.params).all(|(a, b)| same(a.ty, b.ty))
                    && f.variadic == g.variadic;
                same(f.ret, g.ret) && (f.unprototyped || g.unprototyped || params)
            }
            _ => false,
        }
    }

    pub(crate) fn statement_expression(&mut self, block: &ast::Block, span: Span) -> Expr {
        if self.f.is_none() {
            self.error(codes::CONSTANT, span, "a statement expression stands inside a function");
            return self.error_node(span);
        }
        self.scopes.push();
        let mut rest = block.stmts.clone();
        let ends_in_value =
            rest.last().is_some_and(|s| matches!(s.kind, ast::StmtKind::Expr(_) | ast::StmtKind::Label(..)));
        let mut last = if ends_in_value { rest.pop() } else { None };
        // Labels before the value come after the other statements.
        while let Some(ast::Stmt { kind: ast::StmtKind::Label(name, body), span, attrs }) = last {
            let label = ast::Stmt { kind: ast::StmtKind::Empty, span, attrs: vec![] };
            rest.push(ast::Stmt { kind: ast::StmtKind::Label(name, Box::new(label)), span, attrs });
            last = Some(*body);
        }
        if let Some(other) = last.take_if(|s| !matches!(s.kind, ast::StmtKind::Expr(_))) {
            rest.push(other);
        }
        let inner = ast::Block { span: block.span, stmts: rest };
        let body = self.block_stmts(&inner);
        let value = match last.as_ref().map(|s| &s.kind) {
            Some(ast::StmtKind::Expr(e)) => Some(self.value(e)),
            _ => None,
        };
        for stmt in &body.stmts {
            self.check_list_pointer(stmt, value.iter().map(crate::walk::Part::Expr));
        }
        self.scopes.pop();
        let ty = value.as_ref().map_or(self.program.types.common.void, |v| v.ty.ty);
        self.node(ExprKind::StmtExpr(body, value), ty, span)
    }

    pub(crate) fn compound_literal(
        &mut self,
        ty: &ast::TypeName,
        items: &[ast::InitItem],
        storage: Option<ast::Storage>,
        span: Span,
    ) -> Expr {
        let declared = self.type_name(ty);
        if self.is_error(declared.ty) {
            return self.error_node(span);
        }
        if self.f.is_none() || storage == Some(ast::Storage::Static) {
            return self.static_compound(declared, items, span);
        }
        if let Some((_, _, Some(_))) =
            self.program.types.as_record(declared.ty).and_then(|r| self.program.types.flexible_member(r))
        {
            self.error(codes::COUNT, span, "a struct with a counted flexible array lives in the heap: use `new`");
            return self.error_node(span);
        }
        let init = ast::Initializer::List(items.to_vec(), span);
        let (init, whole) = self.initialiser(&init, declared.ty, span);
        let qty = Qty { ty: whole, ..declared };
        let local = self.new_local(None, qty, span, false);
        self.place_node(ExprKind::CompoundLit(local, init), qty, span)
    }

    /// A compound literal at file scope is an unnamed static.
    pub(crate) fn static_compound(&mut self, ty: Qty, items: &[ast::InitItem], span: Span) -> Expr {
        let init = ast::Initializer::List(items.to_vec(), span);
        let (init, ty) = self.static_initialiser(&init, ty, span);
        let id = GlobalId(self.program.globals.len() as u32);
        self.static_counter += 1;
        self.program.globals.push(Global {
            name: Symbol::new(&format!("literal_{}", self.static_counter)),
            symbol: None,
            ty,
            linkage: Linkage::Internal,
            trust: Trust::Checked,
            init: Some(init),
            thread_local: false,
            align: None,
            attrs: vec![],
            owner: self.f.as_ref().and_then(|f| f.func),
            used: true,
            span,
        });
        self.place_node(ExprKind::Global(id), ty, span)
    }
}
