//! Calls: by name, through pointers, generic, of builtins.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::infer::Reach;
use crate::scope::{Entity, GenericParam};
use crate::tree::*;
use crate::types::*;
use source::{with_article, Diagnostic, Span, Symbol};
use std::rc::Rc;
use syntax::ast;
use syntax::visit::is_null;

impl Checker<'_> {
    /// `callee(args)`
    pub(crate) fn call(
        &mut self,
        callee: &ast::Expr,
        args: &[ast::Expr],
        question: bool,
        span: Span,
        expected: Option<Ty>,
    ) -> Expr {
        if let ast::ExprKind::Ident(name) = callee.kind {
            if self.is_allocator(name) {
                return self.allocate(name, args, question, span, expected);
            }
            if self.scopes.lookup(name).is_none() {
                if let Some(out) = self.ownership_call(name, args, span, expected) {
                    return out;
                }
                if let Some(out) = self.builtin(name, args, span, expected) {
                    return out;
                }
                self.declare_task_word(name, callee.span);
                if self.f.as_ref().is_some_and(|f| f.unchecked) && self.options.plain_c {
                    let known = crate::plain::RETURNS_NO_INT.split_whitespace().any(|known| known == name.as_str());
                    // What begins so may be a word of the compiler's own.
                    let other = self.unknown_intrinsics.contains(&name);
                    if known || other || name.as_str().starts_with("__") {
                        let message = format!("`{name}` is not declared, and does not return `int`");
                        self.error(codes::UNKNOWN_NAME, callee.span, message);
                        return self.error_node(span);
                    }
                    self.implicit_function(name, callee.span);
                }
            }
            if let Some(Entity::Func(id)) = self.scopes.lookup(name).cloned() {
                let id = self.form_of_call(id, args);
                return self.call_function(id, callee.span, args, span, expected);
            }
        }
        if question {
            self.error(codes::OPERANDS, span, "`?` comes after `malloc`, `calloc`, `realloc` and `new` only");
        }
        let value = self.value(callee);
        if self.is_error(value.ty.ty) {
            for arg in args {
                self.expr(arg);
            }
            return self.error_node(span);
        }
        let function = self.program.types.as_pointer(value.ty.ty).and_then(|p| self.program.types.as_func(p.target.ty));
        let Some(fty) = function else {
            let text = self.show(value.ty.ty);
            self.error(codes::OPERANDS, callee.span, format!("`{text}` is not a function"));
            return self.error_node(span);
        };
        let why = Why::Arg;
        let fty = self.instantiate(&fty);
        let values = self.arguments(&fty, args, why, span, None);
        self.finish_call(Callee::Pointer(value), &fty, values, span)
    }

    fn call_function(&mut self, id: FuncId, at: Span, args: &[ast::Expr], span: Span, expected: Option<Ty>) -> Expr {
        self.program.functions[id.0 as usize].used = true;
        let id = self.wrapper_for(id, expected);
        let function = &mut self.program.functions[id.0 as usize];
        function.used = true;
        let (ty, trust, name, generic) = (function.ty, function.trust, function.name, function.type_params);
        if self.refuse_left_out(ty, at) {
            return self.error_node(span);
        }
        let function = &self.program.functions[id.0 as usize];
        if function.is_process {
            args.iter().for_each(|arg| drop(self.value(arg)));
            return self.refuse_process_name(name, at);
        }
        let internal = name.as_str() == crate::format::WITHIN && trust == Trust::Trusted;
        if (trust == Trust::Foreign || internal) && self.checked() {
            self.foreign_use(name, at);
            return self.error_node(span);
        }
        // `signal` has a safe type without handlers: with one it is C's function.
        let handled = trust == Trust::Trusted && args.iter().any(|arg| self.names_function(arg));
        if handled && self.has_advice(name) {
            args.iter().for_each(|arg| drop(self.value(arg)));
            self.foreign_use(name, at);
            return self.error_node(span);
        }
        let mut type_args: Rc<[Ty]> = Rc::from([]);
        if generic > 0 {
            match self.infer_arguments(id, args, expected, span) {
                Some(found) => type_args = found,
                None => return self.error_node(span),
            }
        }
        let ty = self.types().subst(ty, &type_args);
        let Some(fty) = self.program.types.as_func(ty) else { return self.error_node(span) };
        let why = if trust == Trust::Trusted { Why::TrustedArg } else { Why::Arg };
        let fty = self.instantiate(&fty);
        let values = self.arguments(&fty, args, why, span, Some(name));
        self.finish_call(Callee::Direct(FuncRef { func: id, args: type_args }), &fty, values, span)
    }

    /// Of a function of C and one of processes that have one name, the one that is called: what gets
    /// a `pid` is the processes'.
    fn form_of_call(&mut self, id: FuncId, args: &[ast::Expr]) -> FuncId {
        let Some((other, first)) = self.for_pids.get(&id).copied().zip(args.first()) else { return id };
        let first = self.probe(first);
        if self.program.types.is_pid(first.ty.ty) {
            other
        } else {
            id
        }
    }

    fn names_function(&self, e: &ast::Expr) -> bool {
        matches!(e.kind, ast::ExprKind::Ident(name) if matches!(self.scopes.lookup(name), Some(Entity::Func(_))))
    }

    /// The function that a wrapper of an allocator is for what its result is wanted for.
    fn wrapper_for(&self, id: FuncId, expected: Option<Ty>) -> FuncId {
        let Some(function) = self.program.functions.get(id.0 as usize).filter(|f| f.type_params == 1) else {
            return id;
        };
        let wanted = expected.and_then(|ty| self.program.types.as_pointer(ty)).map(|p| p.target.ty);
        let is_char = wanted.is_some_and(|ty| matches!(self.kind(ty), TyKind::Int(IntKind::Char)));
        Some(function.name).filter(|_| is_char).and_then(|name| self.wrapper_of_characters(name)).unwrap_or(id)
    }

    /// What a wrapper of an allocator is for characters. None if the function is none.
    pub(crate) fn wrapper_of_characters(&self, name: Symbol) -> Option<FuncId> {
        match self.scopes.lookup(syntax::wrappers::of_characters(name)) {
            Some(Entity::Func(id)) => Some(*id),
            _ => None,
        }
    }

    /// A function type for one call: its region variables are found out there.
    pub(crate) fn instantiate(&mut self, fty: &FuncTy) -> FuncTy {
        let regions: Vec<Region> = (0..fty.regions).map(|_| self.fresh_region()).collect();
        self.types().open_function(fty, &regions)
    }

    /// The arguments, converted to the parameters' types; with each the value before conversion.
    pub(crate) fn arguments(
        &mut self,
        fty: &FuncTy,
        args: &[ast::Expr],
        why: Why,
        span: Span,
        name: Option<Symbol>,
    ) -> Vec<(Expr, Ty)> {
        let wrong = args.len() < fty.params.len() || (args.len() > fty.params.len() && !fty.variadic);
        let wrong = wrong && !fty.unprototyped;
        if wrong {
            let what = name.map_or("this function".to_string(), |n| format!("`{n}`"));
            let few = if args.len() < fty.params.len() { "too few" } else { "too many" };
            self.error(
                codes::ARGUMENTS,
                span,
                format!(
                    "{few} arguments: {what} takes {}{}, and {} are given",
                    fty.params.len(),
                    if fty.variadic { " or more" } else { "" },
                    args.len()
                ),
            );
        }
        let mut out = vec![];
        let mut thin = vec![];
        for (at, arg) in args.iter().enumerate() {
            let Some(param) = fty.params.get(at).filter(|_| !fty.unprototyped) else {
                let mut value = self.variadic_argument(arg);
                if fty.format.is_some_and(|format| !format.scanf) {
                    crate::read_only::lend_for_reading(&mut value);
                }
                out.push((value, self.program.types.common.error));
                continue;
            };
            let is_end = fty.end_into.is_some_and(|(_, out)| out == at as u32);
            self.keep_inferred(is_end);
            let arg = self.without_void_cast(arg, param.ty);
            let value = self.expr_expecting(arg, Some(param.ty));
            self.keep_inferred(false);
            let mut value = self.rvalue(value);
            if self.tracked() && !param.consume && self.program.types.owns(param.ty) {
                value = self.lent_argument(value);
            }
            let special = fty.copies.is_some_and(|(d, s)| d == at as u32 || s == at as u32)
                || fty.fills.is_some_and(|(p, _)| p == at as u32);
            if self.tracked() && special {
                value = self.borrowed(value);
            }
            let from = value.ty.ty;
            thin.extend(self.thin_parameter(&value, param.ty).map(|local| (at, local)));
            if fty.end_into.is_some_and(|(_, out)| out == at as u32) {
                out.push((self.end_argument(value, param.ty, &out, fty), from));
                continue;
            }
            if fty.copies.is_some_and(|(d, s)| d == at as u32 || s == at as u32) {
                if out.iter().any(|(e, _): &(Expr, Ty)| self.is_error(e.ty.ty)) {
                    // Both sides have one type: one mistake.
                    out.push((self.error_node(value.span), from));
                    continue;
                }
                out.push((self.copied_argument(value, param.ty, why), from));
                continue;
            }
            if matches!(self.kind(param.ty), TyKind::VaList) {
                out.push((self.va_argument(value, fty, &out), from));
                continue;
            }
            if fty.fills.is_some_and(|(p, _)| p == at as u32) {
                out.push((self.filled_argument(value, param.ty, why), from));
                continue;
            }
            let keeps = fty.keeps_string == Some(at as u32);
            if self.tracked() && keeps {
                // It is kept in another argument, which the loan follows; it is not given away.
                value = self.borrowed(value);
            }
            let why = if keeps { Why::Store } else { why };
            self.read_only.passing = name.filter(|_| why == Why::Arg && self.tracked()).map(|name| (name, at as u32));
            self.passes_on(&value);
            if self.passes_back() {
                value = self.measured_argument(value);
            }
            let mut value = self.coerce(value, param.ty, why);
            self.lend_to_reader(&mut value, fty, at);
            self.read_only.passing = None;
            out.push((value, from));
        }
        if wrong {
            return vec![];
        }
        for (at, local) in thin {
            self.wish_bounds(fty, &out, at, local);
        }
        if why == Why::Arg {
            self.check_string_aliases(fty, &out);
        }
        self.check_copies(fty, &out, span);
        self.check_fills(fty, &out, span);
        if let Some(format) = fty.format {
            self.check_format(fty, format, &mut out, span);
        } else if fty.variadic
            && fty.abi == Abi::C
            && self.checked()
            && out.len() > fty.params.len()
            && !(why == Why::TrustedArg && self.only_numbers(&out, fty))
        {
            self.error_help(
                codes::VARIADIC,
                span,
                "the variable arguments of this function are not checked by a format",
                "only printf-like functions are variadic in safe code",
            );
        }
        out
    }

    /// An argument `(void *)buf` without its cast, where the parameter takes bytes or what is
    /// counted: the cast says no more than the parameter does, and would lose the bounds.
    fn without_void_cast<'e>(&self, arg: &'e ast::Expr, param: Ty) -> &'e ast::Expr {
        let Some(p) = self.program.types.as_pointer(param).filter(|_| self.checked()) else { return arg };
        let bounded = p.bounds.has_bounds() || matches!(self.kind(p.target.ty), TyKind::Void);
        match &arg.kind {
            ast::ExprKind::Cast(ty, inner) if bounded && is_void_pointer(ty) => self.without_void_cast(inner, param),
            _ => arg,
        }
    }

    fn only_numbers(&self, out: &[(Expr, Ty)], fty: &FuncTy) -> bool {
        out.iter().skip(fty.params.len()).all(|(e, _)| self.is_arithmetic(e.ty.ty) || self.is_error(e.ty.ty))
    }

    /// A variable argument after C's default promotions.
    fn variadic_argument(&mut self, arg: &ast::Expr) -> Expr {
        let value = self.value(arg);
        let value = if self.tracked() { self.shown(value) } else { value };
        let value = self.promote(value);
        let double = self.program.types.common.double;
        match *self.kind(value.ty.ty) {
            TyKind::Float(FloatKind::Float | FloatKind::Float16) => self.convert(Conv::Numeric, value, double),
            TyKind::Ptr(p) if !self.checked() => {
                if self.program.types.is_typed_void(&p) {
                    let ty = self.types().pointer(Pointer { raw: true, ..p });
                    return self.convert(Conv::Unchecked, value, ty);
                }
                let bounds = if p.bounds.is_terminated() { Bounds::Terminated } else { Bounds::Thin };
                self.with_bounds(value, bounds)
            }
            TyKind::NullPtr => {
                let void = self.program.types.common.void;
                let ty = self.raw_void(void);
                self.node(ExprKind::Null, ty, value.span)
            }
            _ => value,
        }
    }

    /// C's `void *`.
    pub(crate) fn raw_void(&mut self, void: Ty) -> Ty {
        self.types().pointer(Pointer {
            target: Qty::plain(void).with_const(),
            bounds: Bounds::Thin,
            nonnull: false,
            own: Own::Shared,
            region: Region::Heap,
            raw: true,
        })
    }

    /// `&end` of `strtol(s, &end, 10)`: the local gets the bounds of `s`.
    fn end_argument(&mut self, value: Expr, param: Ty, before: &[(Expr, Ty)], fty: &FuncTy) -> Expr {
        if self.is_null_constant(&value) || !self.checked() {
            return self.coerce(value, param, Why::TrustedArg);
        }
        let span = value.span;
        let source = fty.end_into.and_then(|(n, _)| before.get(n as usize)).cloned();
        let local = match &*value.kind {
            ExprKind::AddrOf(place) => match *place.kind {
                ExprKind::Local(id) => Some(id),
                _ => None,
            },
            _ => None,
        };
        let (Some(local), Some((source_value, source))) = (local, source) else {
            self.error_help(
                codes::TYPE,
                span,
                "this argument is `&p` of a local pointer, or null",
                "declare a local pointer for the end",
            );
            return self.error_node(span);
        };
        let Some(p) = self.program.types.as_pointer(source) else { return self.error_node(span) };
        let source_value = unconverted(source_value, source);
        self.note_assigned(local, &source_value);
        let declared = self.f.as_ref().and_then(|f| f.locals.get(local.0 as usize)).map(|l| l.ty);
        let have = declared.and_then(|q| self.program.types.as_pointer(q.ty));
        let wants_bounds = have.is_some_and(|h| h.bounds.has_bounds());
        if wants_bounds || !p.bounds.is_terminated() {
            self.need_bounds(&source_value);
        }
        if !p.bounds.is_terminated() {
            let end = self.place_node(ExprKind::Local(local), declared.unwrap_or(value.ty), span);
            let end = self.node(ExprKind::Load(end), declared.unwrap_or(value.ty).ty, span);
            self.need_bounds(&end);
        }
        let fits = have.is_some_and(|h| {
            let bounds = match h.bounds {
                Bounds::Terminated => p.bounds.is_terminated(),
                Bounds::FatTerminated => p.bounds == Bounds::FatTerminated,
                Bounds::Fat => p.bounds.has_bounds(),
                Bounds::Thin | Bounds::Counted(_) => false,
            };
            bounds && self.program.types.is_character(h.target.ty)
        });
        if !fits {
            let text = declared.map_or(String::new(), |q| self.show(q.ty));
            self.error(codes::TYPE, span, format!("type: `{text}` cannot take a pointer into `{}`", self.show(source)));
            return self.error_node(span);
        }
        if p.target.quals.is_const && !have.is_some_and(|h| h.target.quals.is_const) && !self.is_default_cast(param) {
            self.report(Diagnostic::warning(
                codes::CONST,
                span,
                "the end points into a const string: make it `const char *`",
            ));
        }
        value
    }

    fn is_default_cast(&self, param: Ty) -> bool {
        // strtol's own type drops const; a string that is only read through the end pointer is
        // common C.
        self.program.types.as_pointer(param).is_some()
    }

    /// An argument of `memcpy` and friends: bytes, or one same copyable type on both sides.
    fn copied_argument(&mut self, value: Expr, param: Ty, why: Why) -> Expr {
        let Some(p) = self.program.types.as_pointer(value.ty.ty) else { return self.coerce(value, param, why) };
        if !self.checked()
            || self.program.types.is_plain(p.target.ty)
            || matches!(self.kind(p.target.ty), TyKind::Void | TyKind::Func(_))
        {
            return self.coerce(value, param, why);
        }
        let Some(q) = self.program.types.as_pointer(param) else { return self.error_node(value.span) };
        if p.target.quals.is_const && !q.target.quals.is_const {
            return self.coerce(value, param, why);
        }
        if self.program.types.owns(p.target.ty) {
            let text = self.show(p.target.ty);
            self.error_help(
                codes::OWNERSHIP,
                value.span,
                format!("`{text}` owns something: its bytes are not copied"),
                "move its values one by one, or exchange them with `:=:`",
            );
            return self.error_node(value.span);
        }
        if self.has_counted_tail(p.target.ty) {
            self.error_help(
                codes::COUNT,
                value.span,
                "a struct with a counted flexible array is not copied: its count would come without its elements",
                "copy its elements and fields",
            );
            return self.error_node(value.span);
        }
        self.need_bounds(&value);
        let bounds = if p.bounds.is_fat() { p.bounds } else { Bounds::Fat };
        self.with_bounds(value, bounds)
    }

    /// `memset(&x, 0, sizeof x)`: any type whose zero is valid.
    fn filled_argument(&mut self, value: Expr, param: Ty, why: Why) -> Expr {
        let (Some(p), Some(q)) = (self.program.types.as_pointer(value.ty.ty), self.program.types.as_pointer(param))
        else {
            return self.coerce(value, param, why);
        };
        let zeroable = !self.program.types.needs_init(p.target.ty) && self.program.types.is_complete(p.target.ty);
        let special = matches!(self.kind(p.target.ty), TyKind::Void | TyKind::Func(_));
        if !self.checked()
            || self.program.types.is_plain(p.target.ty)
            || special
            || !zeroable
            || p.target.quals.is_const
        {
            return self.coerce(value, param, why);
        }
        self.bytes_view(value, q.target.quals)
    }

    fn check_fills(&mut self, fty: &FuncTy, out: &[(Expr, Ty)], span: Span) {
        let Some((p, c)) = fty.fills else { return };
        let Some(target) =
            out.get(p as usize).and_then(|(_, ty)| self.program.types.as_pointer(*ty)).map(|p| p.target.ty)
        else {
            return;
        };
        if !self.checked() || self.program.types.is_plain(target) || matches!(self.kind(target), TyKind::Void) {
            return;
        }
        let zero = c.is_none_or(|c| out.get(c as usize).is_some_and(|(e, _)| matches!(*e.kind, ExprKind::Int(0))));
        let whole = out.last().is_some_and(|(e, _)| self.is_multiple_of(e, target));
        if self.program.types.owns(target) {
            let text = self.show(target);
            self.error_help(
                codes::OWNERSHIP,
                span,
                format!("`{text}` owns something, which would be lost silently"),
                "write `memset(p, 0, sizeof *p);` for one whole struct, or assign to it: what a slot held is freed",
            );
            return;
        }
        // Of a type parameter the number of bytes is checked when the program runs.
        let checked_later = matches!(self.kind(target), TyKind::Param(_));
        if !zero || !(whole || checked_later) {
            let text = self.show(target);
            self.error_help(
                codes::TYPE,
                span,
                format!("type: `{text}` is not plain data: only whole ones can be filled, and only with zero"),
                "write `memset(p, 0, sizeof *p)`, or assign `(T){ }`",
            );
        }
    }

    /// Whether a number of bytes is surely one of whole elements: `sizeof *p`, `n * sizeof(T)`.
    fn is_multiple_of(&self, e: &Expr, elem: Ty) -> bool {
        let size = self.program.types.layout(elem).map(|l| i128::from(l.size)).filter(|&s| s > 0);
        if let (Some(n), Some(size)) = (self.int_of(e), size) {
            return n % size == 0;
        }
        match &*e.kind {
            ExprKind::SizeOf(ty) => *ty == elem,
            ExprKind::Binary(BinOp::Mul, a, b) => self.is_multiple_of(a, elem) || self.is_multiple_of(b, elem),
            ExprKind::Convert(Conv::Numeric, inner) => {
                let wide = self.program.types.layout(inner.ty.ty).is_some_and(|l| l.size == 8);
                wide && self.is_multiple_of(inner, elem)
            }
            _ => false,
        }
    }

    fn check_copies(&mut self, fty: &FuncTy, out: &[(Expr, Ty)], span: Span) {
        let Some((d, s)) = fty.copies else { return };
        let (Some((_, a)), Some((_, b))) = (out.get(d as usize), out.get(s as usize)) else { return };
        let (Some(p), Some(q)) = (self.program.types.as_pointer(*a), self.program.types.as_pointer(*b)) else { return };
        if !self.checked() {
            return;
        }
        let plain = self.program.types.is_plain(p.target.ty) && self.program.types.is_plain(q.target.ty);
        if !plain && !self.program.types.same_modulo_regions(p.target.ty, q.target.ty) {
            let (x, y) = (self.show(*a), self.show(*b));
            self.error(
                codes::TYPE,
                span,
                format!(
                    "type: bytes are not copied from `{y}` to `{x}`: only plain data, or one same type on both sides"
                ),
            );
        }
    }

    /// A local array passed as a string to a Leeward function: nothing else that the call gets may
    /// write to it.
    fn check_string_aliases(&mut self, fty: &FuncTy, out: &[(Expr, Ty)]) {
        for (at, (arg, from)) in out.iter().enumerate() {
            let Some(param) = fty.params.get(at).and_then(|p| self.program.types.as_pointer(p.ty)) else { continue };
            let Some(p) = self.program.types.as_pointer(*from) else { continue };
            if !param.bounds.is_terminated()
                || p.bounds.is_terminated()
                || self.is_null_constant(arg)
                || !self.checked()
                || !self.rooted_in_local(arg)
            {
                continue;
            }
            let own = self.reach(arg);
            for (other_at, (other, other_from)) in out.iter().enumerate() {
                let Some(q) = self.program.types.as_pointer(*other_from) else { continue };
                // What is passed as `const` is not written through.
                let to = fty.params.get(other_at).and_then(|p| self.program.types.as_pointer(p.ty));
                if other_at == at || q.target.quals.is_const || to.is_some_and(|to| to.target.quals.is_const) {
                    continue;
                }
                let same = match (own, self.reach(other)) {
                    (_, Reach::Outside) => false,
                    (Reach::One(a), Reach::One(b)) => a == b,
                    _ => true,
                };
                if same {
                    self.error_help(
                        codes::TERMINATOR,
                        arg.span,
                        "this array is passed as a `null_terminated` string and, in another argument, for writing: its zero could be written over",
                        "declare the array `null_terminated`, or pass different arrays",
                    );
                }
            }
        }
    }

    fn finish_call(&mut self, callee: Callee, fty: &FuncTy, values: Vec<(Expr, Ty)>, span: Span) -> Expr {
        let mut ty = fty.ret;
        let known = matches!(self.kind(ty), TyKind::Void) || self.program.types.is_complete(ty);
        if !known && !self.is_error(ty) {
            let text = self.show(ty);
            self.error(codes::INCOMPLETE, span, format!("a call cannot return the incomplete type `{text}`"));
            return self.error_node(span);
        }
        if let Some(n) = fty.into.filter(|_| self.checked()) {
            if let Some((_, from)) = values.get(n as usize) {
                let copies = fty.copies.is_some();
                ty = self.type_into(fty.ret, *from, copies, fty.abi == Abi::C);
            }
        }
        let args = values.into_iter().map(|(e, _)| e).collect();
        let through = self.types().intern(TyKind::Func(Rc::new(fty.clone())));
        self.node(ExprKind::Call(callee, through, args), ty, span)
    }

    /// The type of a result that points into an argument of type `from`.
    ///
    /// A Leeward function is not trusted to have kept that promise: lowering checks that the result
    /// lies within the argument's bounds, and where there are none to check the result keeps its
    /// own `const`.
    fn type_into(&mut self, ret: Ty, from: Ty, copies: bool, trusted: bool) -> Ty {
        let (Some(r), Some(p)) = (self.program.types.as_pointer(ret), self.program.types.as_pointer(from)) else {
            return ret;
        };
        let c = self.program.types.common;
        let raw = matches!(self.kind(r.target.ty), TyKind::Void);
        let same = self.program.types.is_character(p.target.ty)
            || (raw && copies)
            || self.program.types.same_modulo_regions(p.target.ty, r.target.ty);
        let mut target =
            if same { p.target } else { Qty { ty: if raw { c.uchar } else { r.target.ty }, quals: p.target.quals } };
        target.quals.is_const = p.target.quals.is_const;
        if !trusted {
            if !same || r.bounds.is_fat() {
                return ret;
            }
            target.quals.is_const |= r.target.quals.is_const && !p.bounds.has_bounds();
        }
        let bounds = match p.bounds {
            Bounds::Counted(_) => Bounds::Fat,
            Bounds::Thin if copies => Bounds::Thin,
            Bounds::Thin => Bounds::Fat,
            b if b.is_terminated() && !same => Bounds::Fat,
            other => other,
        };
        self.types().pointer(Pointer {
            target,
            bounds,
            nonnull: r.nonnull,
            own: if p.own == Own::View { Own::View } else { Own::Shared },
            region: p.region,
            raw: false,
        })
    }

    /// Builtins of gcc and clang, and the words that C's headers expand to.
    fn builtin(&mut self, name: Symbol, args: &[ast::Expr], span: Span, expected: Option<Ty>) -> Option<Expr> {
        let c = self.program.types.common;
        let text = name.as_str();
        let plain = self.options.plain_c && text != "__builtin_unreachable";
        if plain && ["__builtin_", "__sync_", "__atomic_", "__c11_atomic_"].iter().any(|p| text.starts_with(p)) {
            let statement = ["va_start", "c23_va_start", "va_end", "va_copy"];
            let base = text.strip_prefix("__builtin_").unwrap_or(text);
            if !statement.contains(&base) && !matches!(base, "nan" | "nanf" | "nanl") {
                return Some(self.c_builtin(name, args, span));
            }
        }
        match text {
            "__builtin_expect" | "__builtin_expect_with_probability" => {
                let first = args.first()?;
                let value = self.expr_expecting(first, Some(c.long));
                Some(self.coerce(value, c.long, Why::Arg))
            }
            "__builtin_trap" | "__builtin_abort" if self.options.plain_c => {
                Some(self.node(ExprKind::Builtin(name, vec![]), c.void, span))
            }
            "__builtin_unreachable" | "__builtin_trap" | "__builtin_abort" => {
                Some(self.node(ExprKind::Unreachable, c.void, span))
            }
            "__builtin_constant_p" => {
                let n = self.try_constant_int(args.first()?);
                Some(self.int_node(i128::from(n.is_some()), c.int, span))
            }
            "__builtin_offsetof" => None,
            "lengthof" => None,
            "contract_digest" if !self.options.plain_c => Some(self.contract_digest(args, span)),
            "__builtin_va_start" | "__builtin_c23_va_start" | "__builtin_va_end" | "__builtin_va_copy" => {
                self.error(codes::VARIADIC, span, "`va_start`, `va_end` and `va_copy` are statements of their own");
                Some(self.error_node(span))
            }
            _ if text.starts_with("__builtin_") || text.starts_with("__sync_") || text.starts_with("__atomic_") => {
                self.library_builtin(name, args, span, expected)
            }
            _ => None,
        }
    }

    /// Builtins that are functions: of numbers in safe code, any in `unsafe`.
    fn library_builtin(&mut self, name: Symbol, args: &[ast::Expr], span: Span, expected: Option<Ty>) -> Option<Expr> {
        let c = self.program.types.common;
        let base = name.as_str().strip_prefix("__builtin_").unwrap_or(name.as_str());
        let numeric = |result: Ty, param: Option<Ty>| Some((result, param));
        let signature = match base {
            "clz" | "ctz" | "popcount" | "parity" | "ffs" | "clrsb" => numeric(c.int, Some(c.uint)),
            "clzl" | "ctzl" | "popcountl" | "parityl" | "ffsl" | "clrsbl" => numeric(c.int, Some(c.ulong)),
            "clzll" | "ctzll" | "popcountll" | "parityll" | "ffsll" | "clrsbll" => numeric(c.int, Some(c.ulonglong)),
            "bswap16" => numeric(c.ushort, Some(c.ushort)),
            "bswap32" => numeric(c.uint, Some(c.uint)),
            "bswap64" => numeric(c.ulong, Some(c.ulong)),
            "huge_val" | "inf" | "nan_" => numeric(c.double, None),
            "huge_valf" | "inff" => numeric(c.float, None),
            "huge_vall" | "infl" => numeric(c.long_double, None),
            "nan" | "nans" => return Some(self.constant_nan(c.double, span)),
            "nanf" | "nansf" => return Some(self.constant_nan(c.float, span)),
            "nanl" => return Some(self.constant_nan(c.long_double, span)),
            "isnan" | "isinf" | "isfinite" | "isnormal" | "signbit" | "isinf_sign" | "signbitf" | "signbitl"
            | "isgreater" | "isless" | "isgreaterequal" | "islessequal" | "islessgreater" | "isunordered"
            | "fpclassify" => numeric(c.int, None),
            "fabs" | "sqrt" | "floor" | "ceil" => numeric(c.double, Some(c.double)),
            "fabsf" | "sqrtf" => numeric(c.float, Some(c.float)),
            "fabsl" => numeric(c.long_double, Some(c.long_double)),
            "add_overflow" | "sub_overflow" | "mul_overflow" => return Some(self.overflow_builtin(name, args, span)),
            _ => None,
        };
        if let Some((result, param)) = signature {
            let mut values = vec![];
            for arg in args {
                let value = self.value(arg);
                if !self.is_arithmetic(value.ty.ty) && !self.is_error(value.ty.ty) {
                    self.error(codes::OPERANDS, arg.span, format!("`{name}` takes numbers"));
                    return Some(self.error_node(span));
                }
                values.push(match param {
                    Some(param) => self.coerce(value, param, Why::Arg),
                    None => self.promote(value),
                });
            }
            if base.starts_with("clz") || base.starts_with("ctz") {
                return values.pop().map(|value| self.count_zeros(name, value, span));
            }
            return Some(self.node(ExprKind::Builtin(name, values), result, span));
        }
        if self.checked() {
            // `__builtin_memcpy` and friends are the functions without the prefix.
            if let Some(Entity::Func(id)) = self.scopes.lookup(Symbol::new(base)).cloned() {
                return Some(self.call_function(id, span, args, span, expected));
            }
            self.error(codes::UNSAFE, span, format!("the builtin `{name}` is unsafe, or not known"));
            return Some(self.error_node(span));
        }
        if let Some(Entity::Func(id)) = self.scopes.lookup(Symbol::new(base)).cloned() {
            return Some(self.call_function(id, span, args, span, expected));
        }
        let values: Vec<Expr> = args.iter().map(|a| self.value(a)).collect();
        let result = self.builtin_result(name.as_str(), &values);
        Some(self.node(ExprKind::Builtin(name, values), result, span))
    }

    /// Leading or trailing zeros: the builtins leave those of zero open, Leeward says that all bits
    /// are.
    fn count_zeros(&mut self, name: Symbol, value: Expr, span: Span) -> Expr {
        let int = self.program.types.common.int;
        let ty = value.ty.ty;
        let bits = self.program.types.layout(ty).map_or(64, |l| l.size * 8);
        if self.f.is_none() || !self.checked() {
            return self.node(ExprKind::Builtin(name, vec![value]), int, span);
        }
        let local = self.new_local(None, Qty::plain(ty), Span::NONE, false);
        let place = self.place_node(ExprKind::Local(local), Qty::plain(ty), span);
        let load = self.node(ExprKind::Load(place.clone()), ty, span);
        let set = self.node(ExprKind::Assign(place, value), ty, span);
        let set = self.convert(Conv::ToBool, set, int);
        let count = self.node(ExprKind::Builtin(name, vec![load]), int, span);
        let all = self.int_node(i128::from(bits), int, span);
        self.node(ExprKind::Cond(set, count, all), int, span)
    }

    fn constant_nan(&mut self, ty: Ty, span: Span) -> Expr {
        self.node(ExprKind::Float(Symbol::new("(__builtin_nan(\"\"))")), ty, span)
    }

    /// `__builtin_add_overflow(a, b, &r)` and `<stdckdint.h>`: numbers and the address of an
    /// integer.
    fn overflow_builtin(&mut self, name: Symbol, args: &[ast::Expr], span: Span) -> Expr {
        let bool_ = self.program.types.common.bool_;
        if args.len() != 3 {
            self.error(codes::ARGUMENTS, span, format!("`{name}` takes two integers and the address of a third"));
            return self.error_node(span);
        }
        let mut values: Vec<Expr> = args.iter().map(|a| self.value(a)).collect();
        if values.iter().any(|v| self.is_error(v.ty.ty)) {
            return self.error_node(span);
        }
        let out = values.get(2).and_then(|v| self.program.types.as_pointer(v.ty.ty));
        let fits = values.iter().take(2).all(|v| self.is_integer(v.ty.ty))
            && out.is_some_and(|p| matches!(self.kind(p.target.ty), TyKind::Int(_)) && !p.target.quals.is_const);
        if !fits {
            self.error(codes::OPERANDS, span, format!("`{name}` takes two integers and the address of a third"));
            return self.error_node(span);
        }
        if let Some(last) = values.pop() {
            let last = self.with_bounds(last, Bounds::Thin);
            values.push(last);
        }
        self.node(ExprKind::Builtin(name, values), bool_, span)
    }

    /// Type arguments of a generic function from its arguments, then from the context.
    pub(crate) fn infer_arguments(
        &mut self,
        id: FuncId,
        args: &[ast::Expr],
        expected: Option<Ty>,
        span: Span,
    ) -> Option<Rc<[Ty]>> {
        let params = self.generics_of.get(&id).cloned().unwrap_or_default();
        let fty = self.program.types.as_func(self.program.functions[id.0 as usize].ty)?;
        let mut found: Vec<Option<Ty>> = vec![None; params.len()];
        // Arguments that allocate or name generic functions take their type from the parameter, so
        // they come last.
        let mut later = vec![];
        let mut given = vec![];
        // The address of a pointer whose bounds are inferred takes the type that a callback gives
        // it.
        let mut open: Vec<_> = fty.params.iter().zip(args).collect();
        if args.iter().any(|arg| self.is_inferred_address(arg)) {
            open.sort_by_key(|(_, arg)| !self.is_plain_callback(arg));
        }
        for (param, arg) in open {
            if self.mentions_own_param(param.ty, &params) {
                if self.needs_context(arg) {
                    later.push((param.ty, arg));
                    continue;
                }
                let value = self.probe(arg);
                // The state of a local end is inferred: one that another argument or the context
                // names comes first.
                let types = &self.program.types;
                if types.as_endpoint(value.ty.ty).is_some_and(|end| end.state.is_none()) {
                    later.push((param.ty, arg));
                    continue;
                }
                self.unify_value(param.ty, value.clone(), &params, &mut found);
                given.push((param.ty, value));
            }
        }
        if let Some(expected) = expected {
            if found.iter().any(|f| f.is_none()) {
                self.unify(fty.ret, expected, &params, &mut found);
            }
        }
        for (param, arg) in later {
            if found.iter().any(|f| f.is_none()) && !is_null(arg) {
                let ty = self.probe(arg);
                self.unify_value(param, ty, &params, &mut found);
            }
        }
        let mut out = vec![];
        for (number, (param, ty)) in params.iter().zip(&found).enumerate() {
            let Some(ty) = ty else {
                // An argument of another shape, a pointer to a vec for a vec, is the cause.
                let mut determines = |pattern: Ty| {
                    let mut own = vec![None; params.len()];
                    self.unify(pattern, pattern, &params, &mut own);
                    own.get(number).is_some_and(|found| found.is_some())
                };
                let cause = given.into_iter().find(|(pattern, _)| determines(*pattern));
                if let Some((wanted, value)) = cause.filter(|(_, value)| !self.is_error(value.ty.ty)) {
                    self.mismatch(&value, wanted, Why::Arg);
                    return None;
                }
                let name = self.program.functions[id.0 as usize].name;
                self.error_help(
                    codes::GENERIC,
                    span,
                    format!("`{}` of the generic `{name}` cannot be inferred from this call", param.name()),
                    "give an argument that mentions it, or assign the result to a variable of the wanted type",
                );
                return None;
            };
            if !self.check_argument(*ty, param, span) {
                return None;
            }
            out.push(*ty);
        }
        Some(Rc::from(out))
    }

    fn mentions_own_param(&self, ty: Ty, params: &[GenericParam]) -> bool {
        !params.is_empty() && self.program.types.mentions_param(ty)
    }

    /// `&p` of a local pointer whose bounds are inferred.
    pub(crate) fn is_inferred_address(&self, arg: &ast::Expr) -> bool {
        let ast::ExprKind::Unary(ast::UnaryOp::AddrOf, inner) = &arg.kind else { return false };
        let ast::ExprKind::Ident(name) = inner.kind else { return false };
        matches!(self.scopes.lookup(name), Some(Entity::Local(id)) if self.has_inferred_bounds(*id))
    }

    /// A function by name whose parameters point to types without regions of their own.
    fn is_plain_callback(&self, arg: &ast::Expr) -> bool {
        let ast::ExprKind::Ident(name) = arg.kind else { return false };
        let Some(Entity::Func(id)) = self.scopes.lookup(name) else { return false };
        let Some(function) = self.program.functions.get(id.0 as usize).filter(|f| f.type_params == 0) else {
            return false;
        };
        let types = &self.program.types;
        let own = |ty: Ty| types.mentions_region(ty, &|r| matches!(r, Region::Bound(..)));
        let target = |ty: Ty| types.as_pointer(ty).map_or(ty, |p| p.target.ty);
        types.as_func(function.ty).is_some_and(|f| f.params.iter().all(|p| !own(target(p.ty))) && !own(target(f.ret)))
    }

    fn needs_context(&self, arg: &ast::Expr) -> bool {
        match &arg.kind {
            ast::ExprKind::Call { callee, .. } => {
                matches!(callee.kind, ast::ExprKind::Ident(n) if self.is_allocator(n))
            }
            _ if is_null(arg) => true,
            ast::ExprKind::Ident(name) => match self.scopes.lookup(*name) {
                Some(Entity::Func(id)) => self.program.functions.get(id.0 as usize).is_some_and(|f| f.type_params > 0),
                _ => false,
            },
            _ => false,
        }
    }

    /// Syntax that was made for a while is gone: its place in memory may be another argument's.
    pub(crate) fn forget_probes(&mut self) {
        if let Some(f) = &mut self.f {
            f.probed.clear();
        }
    }

    /// An expression, without reports.
    pub(crate) fn tried(&mut self, e: &ast::Expr) -> Expr {
        self.muted += 1;
        let typed = self.expr(e);
        self.muted -= 1;
        typed
    }

    /// An argument, without reports.
    fn probe(&mut self, arg: &ast::Expr) -> Expr {
        // Syntax that is made for a while may stand where other syntax stood: then its span differs.
        let node = (std::ptr::from_ref(arg) as usize, arg.span);
        if let Some(known) = self.f.as_ref().and_then(|f| f.probed.get(&node)) {
            return known.clone();
        }
        self.muted += 1;
        let used = self.f.as_ref().map(|f| f.used.clone());
        let value = self.value(arg);
        if let (Some(f), Some(used)) = (&mut self.f, used) {
            f.used.extend(used);
        }
        self.muted -= 1;
        if let Some(f) = &mut self.f {
            f.probed.insert(node, value.clone());
        }
        value
    }

    /// Arguments of a generic function that is named without being called.
    pub(crate) fn args_from_expected(&mut self, id: FuncId, expected: Option<Ty>, span: Span) -> Option<Rc<[Ty]>> {
        let params = self.generics_of.get(&id).cloned().unwrap_or_default();
        let mut found: Vec<Option<Ty>> = vec![None; params.len()];
        let ty = self.program.functions[id.0 as usize].ty;
        if let Some(wanted) = expected {
            let wanted = self.program.types.as_pointer(wanted).map_or(wanted, |p| p.target.ty);
            self.unify(ty, wanted, &params, &mut found);
        }
        let name = self.program.functions[id.0 as usize].name;
        let Some(mut args) = found.into_iter().collect::<Option<Vec<Ty>>>() else {
            self.error_help(
                codes::GENERIC,
                span,
                format!("the type arguments of `{name}` cannot be inferred here"),
                "assign it to a function pointer of the wanted type, or call it",
            );
            return None;
        };
        let bounds = self.program.types.as_func(ty).map(|f| f.owns_in.clone()).unwrap_or_default();
        for (param, arg) in params.iter().zip(&mut args) {
            if !self.check_argument(*arg, param, span) {
                return None;
            }
            let GenericParam::Type(p) = param else { continue };
            if p.heap {
                *arg = self.types().map_regions(*arg, &mut |_, _| Region::Heap);
            }
            if !p.moves || !self.program.types.owns(*arg) {
                continue;
            }
            let bounded = bounds.iter().any(|&(owner, _)| *self.kind(owner) == TyKind::Param(*p));
            // A pointer's own region is found out here.
            if let Some(pointer) = self.program.types.as_pointer(*arg).filter(|p| matches!(p.region, Region::Infer(_)))
            {
                *arg = self.types().pointer(Pointer { region: Region::Heap, ..pointer });
            }
            if bounded || !self.owns_in_heap(*arg) {
                let text = self.show(*arg);
                self.error_help(
                    codes::GENERIC,
                    span,
                    format!(
                        "`{name}` cannot stand for {} that owns something outside of the heap: `{text}`",
                        with_article(p.name.as_str())
                    ),
                    "point to a function of your own that calls it: its parameters name the region",
                );
                return None;
            }
        }
        Some(Rc::from(args))
    }

    /// What the type parameters of the function at hand say about where they own.
    fn owns_in(&self) -> Vec<(Ty, Region)> {
        let function = self.f.as_ref().and_then(|f| self.program.functions.get(f.func?.0 as usize));
        function.and_then(|f| self.program.types.as_func(f.ty)).map(|f| f.owns_in.clone()).unwrap_or_default()
    }

    /// Whether all that a value of the type owns is where objects of the heap may own.
    fn owns_in_heap(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) => !self.program.types.owns(ty) || matches!(p.region, Region::Heap | Region::Exchange),
            TyKind::Array { elem, .. } => self.owns_in_heap(elem.ty),
            TyKind::Record(id) => {
                let fields = self.program.types.record(*id).fields.clone().unwrap_or_default();
                fields.iter().all(|f| self.owns_in_heap(f.ty.ty))
            }
            TyKind::Param(_) => !self.owns_in().iter().any(|&(owner, _)| owner == ty),
            _ => true,
        }
    }

    /// Matches a parameter's type against an argument. A new object is shared where its type
    /// parameter is copied.
    fn unify_value(&mut self, pattern: Ty, value: Expr, params: &[GenericParam], found: &mut [Option<Ty>]) {
        let copied = matches!(self.kind(pattern), TyKind::Param(p) if !p.moves);
        let fresh = self.program.types.as_pointer(value.ty.ty).filter(|p| p.own.is_owned() && !self.lendable(&value));
        let ty = match fresh {
            Some(p) if copied => self.types().pointer(Pointer { own: Own::Shared, ..p }),
            _ => value.ty.ty,
        };
        self.unify(pattern, ty, params, found);
    }

    /// Matches a parameter's type against an argument's and notes what the type parameters must be.
    fn unify(&mut self, pattern: Ty, actual: Ty, params: &[GenericParam], found: &mut [Option<Ty>]) {
        // `nullptr` says nothing about what it points to.
        if self.is_error(actual) || matches!(self.kind(actual), TyKind::NullPtr) {
            return;
        }
        match (self.kind(pattern).clone(), self.kind(actual).clone()) {
            (TyKind::Param(p), _) if params.get(p.index as usize) == Some(&GenericParam::Type(p)) => {
                let bound = match found.get(p.index as usize) {
                    Some(None) => self.type_argument(actual, &p),
                    _ => return,
                };
                if let Some(slot) = found.get_mut(p.index as usize) {
                    *slot = Some(bound);
                }
            }
            (TyKind::OwnArg(Own::Param(n)), TyKind::OwnArg(own)) => self.unify_own(n, own, params, found),
            (TyKind::Ptr(p), TyKind::Ptr(a)) => {
                if let Own::Param(n) = p.own {
                    self.unify_own(n, a.own, params, found);
                }
                self.unify(p.target.ty, a.target.ty, params, found);
            }
            (TyKind::Array { elem: p, .. }, TyKind::Array { elem: a, .. }) => self.unify(p.ty, a.ty, params, found),
            (TyKind::Record(p), TyKind::Record(a)) => {
                let (x, y) = (self.program.types.instance_of.get(&p), self.program.types.instance_of.get(&a));
                if x.is_some() && x == y {
                    let (x, y) = (self.program.types.record(p).args.clone(), self.program.types.record(a).args.clone());
                    for (x, y) in x.into_iter().zip(y) {
                        self.unify(x, y, params, found);
                    }
                }
            }
            (TyKind::Func(p), TyKind::Func(a)) => {
                self.unify(p.ret, a.ret, params, found);
                for (x, y) in p.params.iter().zip(&a.params) {
                    self.unify(x.ty, y.ty, params, found);
                }
            }
            _ => {}
        }
    }

    fn unify_own(&mut self, n: u32, own: Own, params: &[GenericParam], found: &mut [Option<Ty>]) {
        if !matches!(params.get(n as usize), Some(GenericParam::Own(_))) {
            return;
        }
        let arg = self.types().intern(TyKind::OwnArg(own));
        if let Some(slot) = found.get_mut(n as usize) {
            slot.get_or_insert(arg);
        }
    }

    /// The type that a type parameter stands for, given a value's type: pointers forget what only
    /// this value knows.
    fn type_argument(&mut self, ty: Ty, param: &TypeParam) -> Ty {
        let c = self.program.types.common;
        match *self.kind(ty) {
            TyKind::Ptr(p) => {
                let bounds = match p.bounds {
                    Bounds::FatTerminated if p.target.quals.is_const => Bounds::Terminated,
                    Bounds::Counted(_) => Bounds::Fat,
                    other => other,
                };
                let region = if param.heap { Region::Heap } else { self.fresh_region() };
                let nonnull = p.nonnull && param.nonnull;
                let ty = self.types().pointer(Pointer { bounds, nonnull, region, ..p });
                if param.heap {
                    self.types().map_regions(ty, &mut |_, _| Region::Heap)
                } else {
                    ty
                }
            }
            TyKind::NullPtr => c.error,
            _ => ty,
        }
    }
}

/// The value below the conversions that an argument got, which has the type `ty`.
fn unconverted(e: Expr, ty: Ty) -> Expr {
    match *e.kind {
        ExprKind::Convert(_, inner) if e.ty.ty != ty => unconverted(inner, ty),
        kind => Expr { kind: Box::new(kind), ..e },
    }
}

/// Whether a type is written `void *` or `const void *`, with no word more.
fn is_void_pointer(ty: &ast::TypeName) -> bool {
    let [ast::Derived::Pointer(q)] = ty.declarator.derived.as_slice() else { return false };
    let bounds = q.fat.is_some() || q.null_terminated.is_some() || q.counted_by.is_some();
    let words = bounds || q.nonnull.is_some() || q.own.is_some() || q.region.is_some();
    matches!(ty.specs.ty, ast::TypeSpec::Builtin(ast::Builtin::Void)) && !words
}
