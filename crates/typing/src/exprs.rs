//! Expressions: names, literals, members, indexing, addresses, assignment, conditionals. Operators are in `ops.rs`, calls in
//! `calls.rs`.

use crate::checker::{Checker, Known};
use crate::codes;
use crate::convert::Why;
use crate::scope::Entity;
use crate::tree::*;
use crate::types::*;
use source::{Diagnostic, Span, Symbol};
use std::rc::Rc;
use syntax::ast;

/// How many unknown names of a file are compared with all known ones.
const MAX_SUGGESTIONS: u32 = 50;

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
                let a = self.expr(a);
                let a = if a.is_place() && !matches!(self.kind(a.ty.ty), TyKind::Array { .. }) {
                    self.rvalue(a)
                } else {
                    a
                };
                let b = self.value(b);
                let ty = b.ty.ty;
                self.node(ExprKind::Comma(a, b), ty, span)
            }
            ast::ExprKind::Cast(ty, inner) => self.cast(ty, inner, span),
            ast::ExprKind::CompoundLit(ty, items, storage) => self.compound_literal(ty, items, *storage, span),
            ast::ExprKind::SizeofExpr(inner) => {
                let value = self.unevaluated(inner);
                self.size_of(value.ty.ty, span)
            }
            ast::ExprKind::SizeofType(ty) => {
                let ty = self.type_name(ty);
                self.size_of(ty.ty, span)
            }
            ast::ExprKind::AlignofType(ty) => {
                let ty = self.type_name(ty);
                self.align_of(ty.ty, span)
            }
            ast::ExprKind::AlignofExpr(inner) => {
                let value = self.unevaluated(inner);
                self.align_of(value.ty.ty, span)
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
                self.node(ExprKind::VaArg(ap), ty.ty, span)
            }
            ast::ExprKind::Offsetof(ty, path) => self.offset_of(ty, path, span),
            ast::ExprKind::TypesCompatible(a, b) => {
                let (a, b) = (self.type_name(a), self.type_name(b));
                self.int_node(i128::from(a.ty == b.ty), c.int, span)
            }
            ast::ExprKind::ChooseExpr(cond, a, b) => match self.constant_int(cond) {
                Some(0) => self.expr_expecting(b, expected),
                _ => self.expr_expecting(a, expected),
            },
            ast::ExprKind::New(new) => self.new_expr(new, span),
            ast::ExprKind::Lengthof(inner) => self.length_of(inner, span),
            ast::ExprKind::ContainerOf(..) => {
                self.later(Symbol::new("container_of"), span);
                self.error_node(span)
            }
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

    fn int_literal_type(&mut self, lit: &ast::IntLit) -> Ty {
        let value = lit.value as i128;
        let candidates: &[IntKind] = match (lit.unsigned, lit.longs, lit.non_decimal) {
            (false, 0, false) => &[IntKind::Int, IntKind::Long],
            (false, 0, true) => &[IntKind::Int, IntKind::UInt, IntKind::Long, IntKind::ULong],
            (true, 0, _) => &[IntKind::UInt, IntKind::ULong],
            (false, 1, false) => &[IntKind::Long],
            (false, 1, true) => &[IntKind::Long, IntKind::ULong],
            (true, 1, _) => &[IntKind::ULong],
            (false, _, false) => &[IntKind::LongLong],
            (false, _, true) => &[IntKind::LongLong, IntKind::ULongLong],
            (true, _, _) => &[IntKind::ULongLong],
        };
        let kind = candidates.iter().copied().find(|k| k.wrap(value) == value).unwrap_or(IntKind::ULong);
        self.types().int(kind)
    }

    fn float_literal(&mut self, lit: &ast::FloatLit, span: Span) -> Expr {
        let c = self.program.types.common;
        let ty = match lit.ty {
            ast::Builtin::Float => c.float,
            ast::Builtin::LongDouble => c.long_double,
            ast::Builtin::Float16 => self.types().intern(TyKind::Float(FloatKind::Float16)),
            ast::Builtin::Float128 => self.types().intern(TyKind::Float(FloatKind::Float128)),
            _ => c.double,
        };
        self.node(ExprKind::Float(lit.text), ty, span)
    }

    fn string_literal(&mut self, lit: &ast::StrLit, span: Span) -> Expr {
        let c = self.program.types.common;
        let elem = match lit.encoding {
            ast::Encoding::None => c.char_,
            ast::Encoding::Utf8 => c.uchar,
            ast::Encoding::Utf16 => c.ushort,
            ast::Encoding::Utf32 => c.uint,
            ast::Encoding::Wide => c.int,
        };
        let mut units = lit.units.clone();
        units.push(0);
        let len = ArrayLen::Const(units.len() as u64);
        let id = self.string(units, elem);
        let elem = Qty::plain(elem).with_const();
        let plain_c = self.f.as_ref().map_or(self.options.plain_c, |f| f.unchecked);
        let elem = if plain_c { Qty::plain(elem.ty) } else { elem };
        let ty = self.types().intern(TyKind::Array { elem, len, terminated: true });
        self.place_node(ExprKind::StrLit(id), Qty::plain(ty), span)
    }

    fn name(&mut self, name: Symbol, span: Span, expected: Option<Ty>) -> Expr {
        match self.scopes.lookup(name).cloned() {
            Some(Entity::Local(id)) => {
                let Some(f) = &mut self.f else { return self.error_node(span) };
                f.used.insert(id);
                let ty =
                    f.locals.get(id.0 as usize).map(|l| l.ty).unwrap_or(Qty::plain(self.program.types.common.error));
                self.place_node(ExprKind::Local(id), ty, span)
            }
            Some(Entity::Global(id)) => {
                let global = &mut self.program.globals[id.0 as usize];
                global.used = true;
                let (ty, trust) = (global.ty, global.trust);
                if trust == Trust::Foreign && self.checked() {
                    self.error_help(
                        codes::UNSAFE,
                        span,
                        format!("`{name}` is a variable of C: using it is unsafe"),
                        "give it a trusted declaration, or use it in `unsafe { }`",
                    );
                }
                self.place_node(ExprKind::Global(id), ty, span)
            }
            Some(Entity::Func(id)) => self.function_name(id, span, expected),
            Some(Entity::Constant(value, ty)) => self.int_node(value, ty, span),
            Some(Entity::Typedef(_) | Entity::TypeParam(_)) => {
                self.error(codes::UNKNOWN_NAME, span, format!("`{name}` is a type, and a value is needed here"));
                self.error_node(span)
            }
            Some(Entity::Poison) => self.error_node(span),
            None => self.unknown_name(name, span),
        }
    }

    fn unknown_name(&mut self, name: Symbol, span: Span) -> Expr {
        if matches!(name.as_str(), "__func__" | "__FUNCTION__" | "__PRETTY_FUNCTION__") {
            if let Some(function) = self.f.as_ref().and_then(|f| f.result_name) {
                let units = function.as_str().bytes().map(u32::from).collect();
                return self.string_literal(&ast::StrLit { encoding: ast::Encoding::None, units }, span);
            }
        }
        if self.options.advice.iter().any(|(n, _)| n == name.as_str()) {
            self.foreign_use(name, span);
            self.scopes.declare(name, Entity::Poison, span);
            return self.error_node(span);
        }
        let mut report = Diagnostic::error(codes::UNKNOWN_NAME, span, format!("`{name}` is not declared here"));
        if let Some(header) = header_of(name.as_str()) {
            report = report.help(format!("add `#include <{header}>`"));
        } else if let Some(near) = self.nearest(name.as_str()) {
            report = report.help(format!("did you mean `{near}`?"));
        }
        self.report(report);
        // One mistake, one error.
        self.scopes.declare(name, Entity::Poison, span);
        self.error_node(span)
    }

    fn nearest(&mut self, name: &str) -> Option<Symbol> {
        // Looking through all names is worth it for the first mistakes of a file.
        if self.muted > 0 || self.suggestions >= MAX_SUGGESTIONS {
            return None;
        }
        self.suggestions += 1;
        let limit = (name.len() / 3).clamp(1, 3);
        let mut best: Option<(usize, Symbol)> = None;
        for candidate in self.scopes.names() {
            let text = candidate.as_str();
            if text.len().abs_diff(name.len()) > limit || text.starts_with('_') {
                continue;
            }
            let d = distance(name, text);
            if d <= limit && best.is_none_or(|(b, s)| d < b || (d == b && text < s.as_str())) {
                best = Some((d, candidate));
            }
        }
        best.map(|(_, s)| s)
    }

    /// A function by name, as a designator. A generic one takes its arguments from the type that the context wants.
    fn function_name(&mut self, id: FuncId, span: Span, expected: Option<Ty>) -> Expr {
        let function = &mut self.program.functions[id.0 as usize];
        function.used = true;
        let (ty, trust, name, generic) = (function.ty, function.trust, function.name, function.type_params);
        let internal = name.as_str() == crate::format::WITHIN && trust == Trust::Trusted;
        if (trust == Trust::Foreign || internal) && self.checked() {
            self.foreign_use(name, span);
            return self.error_node(span);
        }
        let args: Rc<[Ty]> = if generic > 0 {
            match self.args_from_expected(id, expected, span) {
                Some(args) => args,
                None => return self.error_node(span),
            }
        } else {
            Rc::from([])
        };
        let ty = self.types().subst(ty, &args);
        self.place_node(ExprKind::Func(FuncRef { func: id, args }), Qty::plain(ty), span)
    }

    /// Reports the use of a C function in safe code.
    pub(crate) fn foreign_use(&mut self, name: Symbol, span: Span) {
        let advice = self.options.advice.iter().find(|(n, _)| n == name.as_str()).map(|(_, a)| a.clone());
        match advice {
            Some(advice) => self.error(codes::UNSAFE, span, format!("`{name}` is unsafe: {advice}")),
            None => self.error_help(
                codes::UNSAFE,
                span,
                format!("`{name}` is a C function without a trusted declaration: using it is unsafe"),
                format!("call it in `unsafe {{ }}`, or give it a checked type: `trusted ... {name}(...);`"),
            ),
        }
    }

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
        }
        at
    }

    fn arrow(&mut self, base: &ast::Expr, member: ast::Ident, span: Span) -> Expr {
        let base = self.value(base);
        if self.is_error(base.ty.ty) {
            return base;
        }
        let Some(p) = self.program.types.as_pointer(base.ty.ty) else {
            let text = self.show(base.ty.ty);
            let mut report =
                Diagnostic::error(codes::MEMBER, span, format!("`->` needs a pointer, and this is a `{text}`"));
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
        if matches!(self.kind(p.target.ty), TyKind::Void) {
            let message = if self.program.types.is_typed_void(&p) || self.checked() {
                "a `void *` is converted to a pointer to a type before it is used"
            } else {
                "a `void *` cannot be dereferenced"
            };
            self.error_help(codes::VOID_POINTER, span, message, "for instance `struct s *p = ctx;`");
            return self.error_node(span);
        }
        self.place_node(ExprKind::Deref(base), p.target, span)
    }

    /// `a[i]`
    fn index(&mut self, a: &ast::Expr, i: &ast::Expr, span: Span) -> Expr {
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
        if let TyKind::Array { elem, len, terminated } = *self.kind(base.ty.ty) {
            return self.index_array(base, index, elem, len, terminated, span);
        }
        let base = self.rvalue(base);
        let Some(p) = self.program.types.as_pointer(base.ty.ty) else {
            let text = self.show(base.ty.ty);
            self.error(codes::OPERANDS, span, format!("`{text}` cannot be indexed"));
            return self.error_node(span);
        };
        self.index_pointer(base, p, index, span)
    }

    fn index_array(&mut self, base: Expr, index: Expr, elem: Qty, len: ArrayLen, terminated: bool, span: Span) -> Expr {
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
        self.place_node(ExprKind::IndexArray(base, index), elem, span)
    }

    fn index_pointer(&mut self, base: Expr, p: Pointer, index: Expr, span: Span) -> Expr {
        if matches!(self.kind(p.target.ty), TyKind::Void) {
            return self.deref_node(base, p, span);
        }
        if matches!(self.kind(p.target.ty), TyKind::Func(_)) || !self.program.types.is_complete(p.target.ty) {
            let text = self.show(p.target.ty);
            self.error(codes::INCOMPLETE, span, format!("a pointer to `{text}` cannot be indexed"));
            return self.error_node(span);
        }
        if self.checked()
            && p.bounds == Bounds::Thin
            && !matches!(*index.kind, ExprKind::Int(0))
            && !self.need_bounds(&base)
        {
            self.no_bounds(&base, p, span, "indexed");
            return self.error_node(span);
        }
        if p.bounds.is_terminated() {
            // Indexing a string is cheaper and stricter with bounds, where they can be had.
            self.need_bounds(&base);
        }
        self.place_node(ExprKind::IndexPointer(base, index), p.target, span)
    }

    /// Reports indexing or arithmetic on a thin pointer.
    pub(crate) fn no_bounds(&mut self, base: &Expr, p: Pointer, span: Span, what: &str) {
        let _ = p;
        let text = self.show(base.ty.ty);
        let mut report = Diagnostic::error(
            codes::BOUNDS,
            span,
            format!("`{text}` has no bounds: it points to exactly one element and cannot be {what}"),
        )
        .help("declare it `fat`, or `counted_by(n)` if the number of elements is at hand");
        if let Some(blame) = self.bounds_blame(base) {
            if blame != span {
                report = report.label(blame, "this value has no bounds");
            }
        }
        self.report(report);
    }

    fn conditional(
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
        let Some((a, b, ty)) = self.unify_arms(a, b, span) else { return self.error_node(span) };
        if let (ExprKind::Int(n), ExprKind::Int(x), ExprKind::Int(y)) = (&*cond.kind, &*a.kind, &*b.kind) {
            let value = if *n != 0 { *x } else { *y };
            return self.int_node(value, ty, span);
        }
        self.node(ExprKind::Cond(cond, a, b), ty, span)
    }

    /// `a ?: b`
    fn elvis(&mut self, a: &ast::Expr, b: &ast::Expr, span: Span, expected: Option<Ty>) -> Expr {
        let a = self.expr_expecting(a, expected);
        let a = self.rvalue(a);
        let b = self.expr_expecting(b, expected);
        let b = self.rvalue(b);
        let Some((a, b, ty)) = self.unify_arms(a, b, span) else { return self.error_node(span) };
        let local = self.new_local(None, Qty::plain(ty), Span::NONE, false);
        self.node(ExprKind::CondOmitted(local, a, b), ty, span)
    }

    /// Brings two values to one type (`?:`).
    fn unify_arms(&mut self, a: Expr, b: Expr, span: Span) -> Option<(Expr, Expr, Ty)> {
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
        if a.ty.ty == b.ty.ty {
            let ty = a.ty.ty;
            return Some((a, b, ty));
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
                let a = self.coerce(a, ty, Why::Store);
                let b = self.coerce(b, ty, Why::Store);
                return Some((a, b, ty));
            }
        }
        let (x, y) = (self.show(a.ty.ty), self.show(b.ty.ty));
        self.error(codes::TYPE, span, format!("type: the two arms have the types `{x}` and `{y}`, which do not meet"));
        None
    }

    fn nullable(&mut self, ty: Ty) -> Ty {
        match self.program.types.as_pointer(ty) {
            Some(p) => self.types().pointer(Pointer { nonnull: false, ..p }),
            None => ty,
        }
    }

    /// The pointer type that both convert to.
    fn meet_pointers(&mut self, p: Pointer, q: Pointer) -> Option<Ty> {
        let void = |c: &Self, x: &Pointer| matches!(c.kind(x.target.ty), TyKind::Void);
        let mut target = p.target;
        if p.target.ty != q.target.ty {
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
        let region = if p.region == Region::Var || q.region == Region::Var { Region::Var } else { Region::Heap };
        Some(self.types().pointer(Pointer {
            target,
            bounds,
            nonnull: p.nonnull && q.nonnull,
            own: Own::Shared,
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
    fn const_member(&self, ty: Ty) -> Option<Symbol> {
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

    fn assign(&mut self, place: &ast::Expr, value: &ast::Expr, span: Span) -> Expr {
        // What is only written to is not used.
        let was_used = self.used_state(place);
        let place = self.expr(place);
        self.restore_used(was_used);
        let expected = if self.is_error(place.ty.ty) { None } else { Some(place.ty.ty) };
        let value = self.expr_expecting(value, expected);
        let value = self.rvalue(value);
        if self.guarded_place(&place) {
            return self.error_node(span);
        }
        if let ExprKind::Local(id) = *place.kind {
            self.note_assigned(id, &value);
        }
        let value = self.coerce(value, place.ty.ty, Why::Store);
        let ty = self.value_type(place.ty.ty);
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

    fn used_state(&self, place: &ast::Expr) -> Option<(LocalId, bool)> {
        let ast::ExprKind::Ident(name) = place.kind else { return None };
        let Some(Entity::Local(id)) = self.scopes.lookup(name) else { return None };
        let f = self.f.as_ref()?;
        Some((*id, f.used.contains(id)))
    }

    fn restore_used(&mut self, state: Option<(LocalId, bool)>) {
        if let (Some((id, false)), Some(f)) = (state, &mut self.f) {
            f.used.remove(&id);
        }
    }

    fn cast(&mut self, ty: &ast::TypeName, inner: &ast::Expr, span: Span) -> Expr {
        let to = self.type_name(ty);
        let written = !matches!(ty.declarator.derived.first(), Some(ast::Derived::Pointer(q)) if q.fat.is_none() && q.null_terminated.is_none() && q.counted_by.is_none());
        let value = self.expr_expecting(inner, Some(to.ty));
        let value = self.rvalue(value);
        let mut target = to.ty;
        // A cast that names no bounds keeps those of the value.
        if let (Some(q), Some(p)) = (self.program.types.as_pointer(to.ty), self.program.types.as_pointer(value.ty.ty)) {
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
                    Bounds::Thin if p.target.ty != q.target.ty && self.view_is_fat(p.target.ty, q.target.ty) => {
                        Bounds::Fat
                    }
                    b => b,
                };
                target =
                    self.types().pointer(Pointer { bounds, region: p.region, nonnull: q.nonnull || p.nonnull, ..q });
            } else if q.region != p.region {
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
    fn view_is_fat(&self, from: Ty, to: Ty) -> bool {
        let size = |t: Ty| self.program.types.layout(t).map(|l| l.size);
        self.program.types.is_plain(from) && self.program.types.is_plain(to) && size(from) != size(to)
    }

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

    fn align_of(&mut self, ty: Ty, span: Span) -> Expr {
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

    fn offset_of(&mut self, ty: &ast::TypeName, path: &[ast::Designator], span: Span) -> Expr {
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

    fn generic_selection(
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
        for (ty, e) in arms {
            let Some(ty) = ty else {
                fallback = Some(e);
                continue;
            };
            let ty = self.type_name(ty);
            if ty.ty == wanted || self.generic_match(wanted, ty.ty) {
                return self.expr_expecting(e, expected);
            }
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
    fn generic_match(&self, a: Ty, b: Ty) -> bool {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Ptr(p), TyKind::Ptr(q)) => p.target == q.target,
            _ => false,
        }
    }

    fn statement_expression(&mut self, block: &ast::Block, span: Span) -> Expr {
        if self.f.is_none() {
            self.error(codes::CONSTANT, span, "a statement expression stands inside a function");
            return self.error_node(span);
        }
        self.scopes.push();
        let (last, rest) = match block.stmts.split_last() {
            Some((last, rest)) if matches!(last.kind, ast::StmtKind::Expr(_)) => (Some(last), rest),
            _ => (None, block.stmts.as_slice()),
        };
        let inner = ast::Block { span: block.span, stmts: rest.to_vec() };
        let body = self.block_stmts(&inner);
        let value = match last.map(|s| &s.kind) {
            Some(ast::StmtKind::Expr(e)) => Some(self.value(e)),
            _ => None,
        };
        self.scopes.pop();
        let ty = value.as_ref().map_or(self.program.types.common.void, |v| v.ty.ty);
        self.node(ExprKind::StmtExpr(body, value), ty, span)
    }

    fn length_of(&mut self, inner: &ast::Expr, span: Span) -> Expr {
        let size_t = self.program.types.common.ulong;
        let e = self.expr(inner);
        if let TyKind::Array { len: ArrayLen::Const(n), terminated, .. } = *self.kind(e.ty.ty) {
            let n = if terminated { n.saturating_sub(1) } else { n };
            return self.int_node(i128::from(n), size_t, span);
        }
        let e = self.rvalue(e);
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
        let e =
            self.with_bounds(e, if p.bounds == Bounds::FatTerminated { Bounds::FatTerminated } else { Bounds::Fat });
        self.node(ExprKind::Lengthof(e), size_t, span)
    }

    fn compound_literal(
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
        let local = self.new_local(None, qty, Span::NONE, false);
        self.place_node(ExprKind::CompoundLit(local, init), qty, span)
    }

    /// A compound literal at file scope is an unnamed static.
    fn static_compound(&mut self, ty: Qty, items: &[ast::InitItem], span: Span) -> Expr {
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

    /// The value of a `const` object with a constant initialiser, where a constant is needed.
    pub(crate) fn known_value(&self, place: &Expr) -> Option<Known> {
        match *place.kind {
            ExprKind::Local(id) => self.f.as_ref()?.known.get(&id).cloned(),
            ExprKind::Global(id) => self.known_globals.get(&id).cloned(),
            _ => None,
        }
    }
}

/// Edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        for (j, y) in b.iter().enumerate() {
            let up = row[j + 1];
            let cost = diagonal + usize::from(x != *y);
            diagonal = up;
            left = cost.min(up + 1).min(left + 1);
            row[j + 1] = left;
        }
        row[0] = i + 1;
    }
    row.last().copied().unwrap_or(0)
}

/// The header that declares a common name.
fn header_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "printf" | "puts" | "fopen" | "fclose" | "FILE" | "stdin" | "stdout" | "stderr" | "scanf" | "getchar"
        | "putchar" | "fprintf" | "snprintf" | "fgets" | "fputs" | "fread" | "fwrite" | "perror" | "EOF" | "getc"
        | "putc" => "stdio.h",
        "exit" | "abort" | "atoi" | "strtol" | "strtod" | "qsort" | "rand" | "getenv" | "EXIT_SUCCESS"
        | "EXIT_FAILURE" => "stdlib.h",
        "strlen" | "memcpy" | "memset" | "strcmp" | "strncmp" | "strchr" | "strdup" | "strstr" | "memmove"
        | "memcmp" | "strerror" => "string.h",
        "isspace" | "isalpha" | "isdigit" | "toupper" | "tolower" | "isalnum" => "ctype.h",
        "sqrt" | "sin" | "cos" | "pow" | "fabs" | "floor" | "ceil" => "math.h",
        "errno" => "errno.h",
        "assert" => "assert.h",
        "NULL" | "size_t" | "offsetof" => "stddef.h",
        _ => return None,
    })
}
