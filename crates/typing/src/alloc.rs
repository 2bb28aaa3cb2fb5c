//! `new`, C's malloc family, `free`.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::scope::Entity;
use crate::tree::*;
use crate::types::*;
use source::{with_article, Diagnostic, Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// Whether the name is one of C's allocation functions here (and not something of the program's
    /// own).
    pub(crate) fn is_allocator(&self, name: Symbol) -> bool {
        if !matches!(name.as_str(), "malloc" | "calloc" | "realloc" | "free")
            || self.f.as_ref().is_some_and(|f| f.unchecked)
        {
            return false;
        }
        match self.scopes.lookup(name) {
            None => true,
            Some(Entity::Func(id)) => {
                let trust = self.program.functions.get(id.0 as usize).map(|f| f.trust);
                matches!(trust, Some(Trust::Foreign | Trust::Trusted))
            }
            _ => false,
        }
    }

    /// A call of the malloc family.
    pub(crate) fn allocate(
        &mut self,
        name: Symbol,
        args: &[ast::Expr],
        question: bool,
        span: Span,
        expected: Option<Ty>,
    ) -> Expr {
        let wanted = match name.as_str() {
            "calloc" | "realloc" => 2,
            _ => 1,
        };
        if args.len() != wanted {
            self.error(
                codes::ARGUMENTS,
                span,
                format!(
                    "`{name}` takes {wanted} argument{}, and {} are given",
                    if wanted == 1 { "" } else { "s" },
                    args.len()
                ),
            );
            return self.error_node(span);
        }
        match (name.as_str(), args) {
            ("free", [p]) => self.free(p, span),
            ("calloc", [count, size]) => {
                let wanted = self.sized_element(count).or_else(|| self.sized_element(size));
                let (count, size) = (self.size_argument(count), self.size_argument(size));
                let out = self.allocation(expected, AllocSize::Product(count, size), None, question, span);
                self.block_fits(out, wanted)
            }
            ("realloc", [old, size]) => {
                let old = self.value(old);
                let wanted = self.sized_element(size);
                let size = self.size_argument(size);
                let expected = if self.is_null_constant(&old) { expected } else { Some(old.ty.ty) };
                self.need_bounds(&old);
                let out = self.allocation(expected, AllocSize::Bytes(size), Some(old), question, span);
                self.block_fits(out, wanted)
            }
            (_, [size]) => {
                let wanted = self.sized_element(size);
                let size = self.size_argument(size);
                let out = self.allocation(expected, AllocSize::Bytes(size), None, question, span);
                self.block_fits(out, wanted)
            }
            _ => self.error_node(span),
        }
    }

    /// The pointer type `T *` of a size `n * sizeof(T *)`.
    fn sized_element(&mut self, size: &ast::Expr) -> Option<(Ty, Span)> {
        match &size.kind {
            ast::ExprKind::Binary(ast::BinaryOp::Mul, a, b) => self.sized_element(a).or_else(|| self.sized_element(b)),
            ast::ExprKind::Cast(_, inner) => self.sized_element(inner),
            ast::ExprKind::SizeofType(name)
                if matches!(name.declarator.derived[..], [ast::Derived::Pointer(_), ..]) =>
            {
                Some((self.type_name(name).ty, size.span))
            }
            _ => None,
        }
    }

    /// Refuses a block whose size shows that it is meant to hold something else than its elements.
    fn block_fits(&mut self, block: Expr, measured: Option<(Ty, Span)>) -> Expr {
        let block = self.elements_fit(block, measured);
        self.tail_fits(block)
    }

    /// Refuses a block that is measured in pointers of fewer words than its elements have: it would
    /// hold a third of them.
    fn elements_fit(&mut self, block: Expr, measured: Option<(Ty, Span)>) -> Expr {
        let ExprKind::Alloc(Alloc { elem, .. }) = *block.kind else { return block };
        let Some((measured, span)) = measured.filter(|_| self.checked()) else { return block };
        let size = |ty: Ty| self.program.types.layout(ty).map(|l| l.size);
        let (Some(small), Some(large)) = (size(measured), size(elem)) else { return block };
        let fits = if self.program.types.as_pointer(elem).is_some() { small == large } else { small >= large };
        if fits {
            return block;
        }
        let (named, wanted) = (self.show(measured), self.show(elem));
        self.error_help(
            codes::ALLOCATION,
            span,
            format!("an element of this block, `{wanted}`, has {large} bytes, and a `{named}` has {small}"),
            format!("write `sizeof *p` of the pointer that it is for, or `sizeof({wanted})`"),
        );
        self.error_node(block.span)
    }

    /// The type of an allocation that is cast, `(char **)malloc(n)`: that of its destination, if it
    /// differs only in the words of pointers, `const` among them: no one else has the memory yet.
    pub(crate) fn cast_allocation(&self, to: Ty, inner: &ast::Expr, expected: Option<Ty>) -> Option<Ty> {
        let ast::ExprKind::Call { callee, .. } = &inner.kind else { return None };
        let ast::ExprKind::Ident(name) = callee.kind else { return None };
        let expected = expected.filter(|_| self.checked() && self.is_allocator(name))?;
        (to != expected && self.alike_but_words(to, expected)).then_some(expected)
    }

    /// Whether two pointer types are the same in C, but for `const` in the second.
    fn alike_but_words(&self, a: Ty, b: Ty) -> bool {
        match (self.program.types.as_pointer(a), self.program.types.as_pointer(b)) {
            (Some(p), Some(q)) => {
                let is_const = p.target.quals.is_const || q.target.quals.is_const;
                let quals = Quals { is_const, ..p.target.quals };
                quals == q.target.quals && self.alike_but_words(p.target.ty, q.target.ty)
            }
            _ => self.program.types.same_modulo_regions(a, b),
        }
    }

    fn size_argument(&mut self, e: &ast::Expr) -> Expr {
        let size_t = self.program.types.common.ulong;
        let value = self.value(e);
        self.coerce(value, size_t, Why::Arg)
    }

    fn allocation(
        &mut self,
        expected: Option<Ty>,
        size: AllocSize,
        old: Option<Expr>,
        fallible: bool,
        span: Span,
    ) -> Expr {
        let pointer = expected.and_then(|t| self.program.types.as_pointer(t));
        let Some(p) = pointer.filter(|p| !matches!(self.kind(p.target.ty), TyKind::Void)) else {
            let ret = self.f.as_ref().and_then(|f| f.ret);
            let in_wrapper = ret
                .and_then(|ret| self.program.types.as_pointer(ret))
                .is_some_and(|r| matches!(self.kind(r.target.ty), TyKind::Void));
            if in_wrapper {
                self.error_help(
                    codes::ALLOCATION,
                    span,
                    "this function returns `void *`, so the type of its allocation is not known",
                    "let the wrapper take the type: `generic <T> T *unique fat make(size_t n) { return calloc(n, sizeof(T)); }`, or call `malloc` where the type is known; if a header declares it, define it there, as `static`",
                );
            } else if expected.is_none_or(|t| !self.is_error(t)) {
                self.error_help(
                    codes::ALLOCATION,
                    span,
                    "the type of this allocation is not known: a `T *` is expected for it",
                    "assign it to a pointer variable of the wanted type, or cast it: `(struct node *)malloc(...)`",
                );
            }
            return self.error_node(span);
        };
        let elem = p.target.ty;
        if !self.program.types.is_complete(elem) || matches!(self.kind(elem), TyKind::Func(_)) {
            let text = self.show(elem);
            self.error(
                codes::INCOMPLETE,
                span,
                format!("an allocation needs the size of `{text}`, which is not known here"),
            );
            return self.error_node(span);
        }
        self.check_zeroed(elem, span);
        let flexible = self.program.types.as_record(elem).and_then(|r| self.program.types.flexible_member(r)).is_some();
        let mut old = old.map(|old| self.old_block(old, elem, span));
        if let Some(old) = &mut old {
            self.check_old_owner(old, elem);
            if !fallible {
                // As C's `realloc` it leaves nothing in a slot that may be used again.
                let empties = |p: Pointer| p.region == Region::Heap && !p.nonnull;
                let nullable = |from: &Expr| self.program.types.as_pointer(from.ty.ty).is_some_and(empties);
                take(old, &|from| self.path_root(from).is_none() && nullable(from));
            }
        }
        let bounds = self.block_bounds(elem, flexible);
        let own = self.fresh_own();
        let ty = self.types().pointer(Pointer {
            target: Qty::plain(elem),
            bounds,
            nonnull: !fallible,
            own,
            region: Region::Heap,
            raw: false,
        });
        self.node(ExprKind::Alloc(Alloc { elem, size, fallible, old, flexible }), ty, span)
    }

    /// The ownership of a new object, before it is shared.
    fn fresh_own(&self) -> Own {
        if self.tracked() {
            Own::Unique
        } else {
            Own::Shared
        }
    }

    /// `realloc` of a shared block copies it. What owns something is not copied: the old block
    /// stays, and would own it too.
    fn check_old_owner(&mut self, old: &Expr, elem: Ty) {
        let own = self.program.types.as_pointer(old.ty.ty).map(|p| p.own);
        if !self.tracked() || own == Some(Own::Unique) || self.is_null_constant(old) || !self.program.types.owns(elem) {
            return;
        }
        let text = self.show(elem);
        self.error_help(
            codes::OWNERSHIP,
            old.span,
            format!("`{text}` owns something: a shared block of them is not copied by `realloc`"),
            "make the pointer `unique`, so that they move, or exchange them one by one with `:=:`",
        );
    }

    /// `slot = realloc(slot, e)`: the slot gets the new block for the old one, which nobody sees in
    /// between.
    pub(crate) fn takes_old(&mut self, place: &Expr, mut value: Expr) -> Expr {
        if let Some(alloc) = alloc_of(&mut value).filter(|alloc| !alloc.fallible) {
            if let Some(old) = &mut alloc.old {
                take(old, &|from| self.path_root(from).is_none() && same_place(place, from));
            }
        }
        value
    }

    /// The old block of a `realloc`, with its bounds.
    fn old_block(&mut self, old: Expr, elem: Ty, span: Span) -> Expr {
        let Some(p) = self.program.types.as_pointer(old.ty.ty) else {
            if self.is_null_constant(&old) {
                let ty = self.types().pointer_to(Qty::plain(elem), Bounds::Fat);
                return self.node(ExprKind::Null, ty, span);
            }
            return old;
        };
        if p.bounds.is_fat() || !self.checked() {
            return old;
        }
        self.with_bounds(old, Bounds::Fat)
    }

    fn block_bounds(&self, elem: Ty, flexible: bool) -> Bounds {
        if flexible {
            Bounds::Thin
        } else if self.program.types.is_character(elem) {
            Bounds::FatTerminated
        } else {
            Bounds::Fat
        }
    }

    /// Heap, arenas and reaps align as far as a page.
    fn check_alignment_of(&mut self, elem: Ty, span: Span) {
        let align = self.program.types.layout(elem).map_or(1, |l| l.align);
        if align > 4096 {
            let text = self.show(elem);
            self.error_help(
                codes::ALLOCATION,
                span,
                format!("`{text}` is aligned to {align} bytes; what is allocated is aligned to 4096 at most"),
                "keep such objects in globals",
            );
        }
    }

    fn check_zeroed(&mut self, elem: Ty, span: Span) {
        self.check_alignment_of(elem, span);
        if self.checked() && self.program.types.needs_init(elem) {
            let text = self.show(elem);
            self.error_help(
                codes::ALLOCATION,
                span,
                format!("`{text}` holds a nonnull pointer and must be initialised: it is never allocated zeroed"),
                "allocate it with an initialiser: `new T{ ... }`",
            );
        }
    }

    fn free(&mut self, p: &ast::Expr, span: Span) -> Expr {
        let void = self.program.types.common.void;
        let value = self.expr(p);
        if self.is_error(value.ty.ty) {
            return value;
        }
        if matches!(self.kind(value.ty.ty), TyKind::Endpoint(_) | TyKind::EndSet(_)) {
            let value = self.rvalue(value);
            return self.node(ExprKind::Dispose(value, None), void, span);
        }
        let pointer = self.program.types.as_pointer(value.ty.ty);
        if pointer.is_none()
            && !matches!(self.kind(value.ty.ty), TyKind::NullPtr | TyKind::Array { .. })
            && !self.is_null_constant(&value)
        {
            let text = self.show(value.ty.ty);
            self.error(codes::TYPE, span, format!("type: `free` takes a pointer, not `{text}`"));
            return self.error_node(span);
        }
        if matches!(self.kind(value.ty.ty), TyKind::Array { .. }) {
            self.error(codes::TYPE, span, "type: an array is not freed: it ends with its block");
            return self.error_node(span);
        }
        let own = pointer.map_or(Own::Shared, |p| p.own);
        if pointer.is_some() && self.tracked() && own == Own::Shared {
            let read = self.rvalue(value.clone());
            if self.note_given(&read, Own::Unique) {
                let read = self.with_own(read, Own::Unique);
                return self.node(ExprKind::Dispose(read, None), void, span);
            }
            if self.checked() && !self.free_shared(&value, span) {
                return self.error_node(span);
            }
        }
        match own {
            Own::Shared => {}
            Own::Unique => {
                let value = self.rvalue(value);
                return self.node(ExprKind::Dispose(value, None), void, span);
            }
            Own::Rc | Own::View | Own::Any | Own::Param(_) => {
                let text = self.show(value.ty.ty);
                let help = match own {
                    Own::Rc => "a counted pointer is given up by `release`",
                    _ => "only its owner frees an object",
                };
                self.error_help(
                    codes::OWNERSHIP,
                    span,
                    format!("`free` takes a `unique` pointer, and this is {}", with_article(&text)),
                    help,
                );
                return self.error_node(span);
            }
        }
        let settable = value.is_place() && !value.ty.quals.is_const && pointer.is_some_and(|p| !p.nonnull);
        let value = if settable { value } else { self.rvalue(value) };
        self.node(ExprKind::Free(value), void, span)
    }

    /// Whether this function is being ported: `free` of a shared pointer is a warning in it.
    pub(crate) fn may_free_shared(&self) -> bool {
        let id = self.f.as_ref().and_then(|f| f.func);
        let function = id.and_then(|id| self.program.functions.get(id.0 as usize));
        self.options.free_shared || function.is_some_and(|f| f.allows.free_shared)
    }

    /// `free` of a shared pointer: an error, or a warning while a program is ported.
    fn free_shared(&mut self, value: &Expr, span: Span) -> bool {
        let name = match &*value.kind {
            ExprKind::Local(id) => self.f.as_ref().and_then(|f| f.locals.get(id.0 as usize)).and_then(|l| l.name),
            ExprKind::Global(id) => self.program.globals.get(id.0 as usize).map(|g| g.name),
            _ => None,
        };
        let what = name.map_or("this pointer".to_string(), |n| format!("`{n}`"));
        let message = format!("`free` of a shared pointer: {what} may have copies that are still used");
        let allowed = self.may_free_shared();
        let report = match allowed {
            true => Diagnostic::warning(codes::FREE_SHARED, span, message)
                .help("the object is left to the collector; make the pointer `unique` to free it here"),
            false => Diagnostic::error(codes::FREE_SHARED, span, message)
                .help("declare the pointer `unique` where it is kept; or leave `free` out: the collector frees it (`-Wno-free-shared`, or `[[lee::allow(free_shared)]]` at this function, makes it a warning)"),
        };
        let (shared, declared) = self.why_shared(value);
        let report = match shared.filter(|&at| declared != Some(at)) {
            Some(at) => report.label(at, "this value is shared"),
            None => report,
        };
        let report = match declared {
            Some(at) => report.label(at, "declared here, not `unique`"),
            None => report,
        };
        self.report(report);
        allowed
    }

    /// Where `new` allocates: the handle, the region, and the ownership of what it makes.
    fn allocation_place(&mut self, name: Option<ast::Ident>, counted: bool) -> Option<(Option<Expr>, Region, Own)> {
        let own = if counted { Own::Rc } else { self.fresh_own() };
        let Some(name) = name else { return Some((None, Region::Heap, own)) };
        let mut key = None;
        if let Some(Entity::Local(id)) = self.scopes.lookup(name.name).cloned() {
            let place = self.name(name.name, name.span, None);
            if let TyKind::Handle(_, region) = *self.kind(place.ty.ty) {
                let ty = place.ty.ty;
                let handle = self.node(ExprKind::Load(place), ty, name.span);
                let _ = id;
                return Some((Some(handle), region, own));
            }
            if self.is_error(place.ty.ty) {
                return None;
            }
            if let TyKind::Key(kind, _) = self.kind(place.ty.ty) {
                key = Some(if kind.is_reap() { "reap" } else { "arena" });
            }
        } else {
            match name.name.as_str() {
                "heap" => return Some((None, Region::Heap, own)),
                "exchange" => {
                    if counted {
                        self.error(codes::OWNERSHIP, name.span, "blocks of the exchange heap are unique, not counted");
                    }
                    return Some((None, Region::Exchange, Own::Unique));
                }
                _ => {}
            }
            if matches!(self.scopes.lookup(name.name), Some(Entity::Poison)) {
                return None;
            }
        }
        let help = match key {
            Some(word) => format!("it is a key: open it, `open {word} h = {};`, and allocate with `new(h)`", name.name),
            None => "`new(r)` takes the name of an arena, a reap or the handle of an open; `new(exchange)` the exchange heap"
                .to_string(),
        };
        self.error_help(
            codes::REGION,
            name.span,
            format!("`{}` is not an arena or reap to allocate in", name.name),
            help,
        );
        None
    }

    /// `new ...`
    pub(crate) fn new_expr(&mut self, new: &ast::NewExpr, span: Span) -> Expr {
        let Some((handle, region, own)) = self.allocation_place(new.region, new.rc.is_some()) else {
            return self.error_node(span);
        };
        let elem = self.stored_type(&new.ty, region).ty;
        if self.is_error(elem) {
            return self.error_node(span);
        }
        if !self.program.types.is_complete(elem) {
            let text = self.show(elem);
            self.error(codes::INCOMPLETE, span, format!("`new` needs the size of `{text}`, which is not known here"));
            return self.error_node(span);
        }
        if !self.check_owned_parts(elem, region, span) {
            return self.error_node(span);
        }
        let flexible = self
            .program
            .types
            .as_record(elem)
            .filter(|&r| matches!(self.program.types.flexible_member(r), Some((_, _, Some(_)))));
        let mut out = New {
            elem,
            count: None,
            init: None,
            fallible: new.question,
            flexible: None,
            handle,
            counted: new.rc.is_some(),
        };
        let bounds = match &new.form {
            ast::NewForm::Init(items) => {
                if flexible.is_some() {
                    self.error_help(
                        codes::COUNT,
                        span,
                        "the length of the flexible array is missing",
                        "write `new struct s[.n = count]`",
                    );
                    return self.error_node(span);
                }
                self.check_alignment_of(elem, span);
                let list = ast::Initializer::List(items.clone(), span);
                out.init = Some(self.initialiser(&list, elem, span).0);
                Bounds::Thin
            }
            ast::NewForm::Zero => {
                self.check_zeroed(elem, span);
                Bounds::Thin
            }
            ast::NewForm::Array(count) => {
                if flexible.is_some() {
                    self.error(
                        codes::COUNT,
                        span,
                        "a struct with a counted flexible array is not an element of an array",
                    );
                    return self.error_node(span);
                }
                let count = self.value(count);
                if !self.is_integer(count.ty.ty) && !self.is_error(count.ty.ty) {
                    let text = self.show(count.ty.ty);
                    self.error(
                        codes::TYPE,
                        count.span,
                        format!("type: the number of elements is an integer, not `{text}`"),
                    );
                    return self.error_node(span);
                }
                self.check_zeroed(elem, span);
                if self.too_wide(&count) {
                    return self.error_node(span);
                }
                out.count = Some(self.promote(count));
                // A block that is sent has no hidden zero.
                if region == Region::Exchange {
                    Bounds::Fat
                } else {
                    self.block_bounds(elem, false)
                }
            }
            ast::NewForm::Flexible(items) => match flexible {
                Some(record) => {
                    let Some(count) = self.flexible_count(record, items, elem, span) else {
                        return self.error_node(span);
                    };
                    out.count = Some(count.0);
                    out.init = Some(count.1);
                    out.flexible = Some(record);
                    Bounds::Thin
                }
                None => {
                    let text = self.show(elem);
                    self.error(
                        codes::COUNT,
                        span,
                        format!("`{text}` has no flexible array that is counted by a field"),
                    );
                    return self.error_node(span);
                }
            },
        };
        let ty = self.types().pointer(Pointer {
            target: Qty::plain(elem),
            bounds,
            nonnull: !new.question,
            own,
            region,
            raw: false,
        });
        self.node(ExprKind::New(out), ty, span)
    }

    /// What an object may own or reach, given where it lives: in an arena only what is in the same
    /// arena, in the exchange heap only what can be sent.
    fn check_owned_parts(&mut self, elem: Ty, region: Region, span: Span) -> bool {
        let text = self.show(elem);
        match region {
            Region::Heap => self.check_no_exchange(elem, span, "an object of the heap"),
            Region::Exchange => {
                let fits = self.program.types.is_exchangeable(elem);
                if !fits {
                    self.error_help(
                        codes::EXCHANGE,
                        span,
                        format!("`{text}` is not exchangeable: it can reach memory that belongs to one process"),
                        "blocks of the exchange heap hold plain data and `@exchange` pointers",
                    );
                }
                fits
            }
            _ => {
                let fits = self.owns_within(elem, region);
                if !fits {
                    self.error_help(
                        codes::REGION,
                        span,
                        format!("{} in an arena or reap owns something outside that region, which would be lost with the arena", with_article(&text)),
                        "what it owns lives in the same region, or the object in the heap",
                    );
                }
                fits
            }
        }
    }

    /// Whether all that a value of the type owns is in `region`.
    fn owns_within(&self, ty: Ty, region: Region) -> bool {
        if !self.program.types.owns(ty) {
            return true;
        }
        match self.kind(ty) {
            // What it points to was checked when it was made.
            TyKind::Ptr(p) => p.region == region,
            TyKind::Array { elem, .. } => self.owns_within(elem.ty, region),
            TyKind::Record(id) => {
                let fields = self.program.types.record(*id).fields.clone().unwrap_or_default();
                fields.iter().all(|f| self.owns_within(f.ty.ty, region))
            }
            // Where it owns is told by its bound, where regions are solved.
            TyKind::Param(_) => true,
            _ => false,
        }
    }

    /// `[.n = e, ...]`: the count, evaluated once into a local, and the initialiser of the fields.
    fn flexible_count(
        &mut self,
        record: RecordId,
        items: &[ast::InitItem],
        elem: Ty,
        span: Span,
    ) -> Option<(Expr, Init)> {
        let (_, _, count) = self.program.types.flexible_member(record)?;
        let count = count?;
        let CountExpr::Field(field) = *self.program.types.count_expr(count) else {
            self.error(codes::COUNT, span, "`new` with a flexible array needs a count that is one field");
            return None;
        };
        let list = ast::Initializer::List(items.to_vec(), span);
        let (init, _) = self.initialiser(&list, elem, span);
        let Init::List(mut fields) = init else { return None };
        let Some((_, Init::Expr(value))) = fields.iter_mut().find(|(n, _)| *n == u64::from(field)) else {
            self.error(codes::COUNT, span, "the length of the flexible array is missing among the fields");
            return None;
        };
        if let ExprKind::Int(_) = *value.kind {
            return Some((value.clone(), Init::List(fields)));
        }
        let ty = value.ty;
        let local = self.new_local(None, ty, Span::NONE, false);
        let place = self.place_node(ExprKind::Local(local), ty, span);
        let first = std::mem::replace(value, Expr::new(ExprKind::Load(place.clone()), ty, span));
        let assigned = self.node(ExprKind::Assign(place, first), ty.ty, span);
        Some((assigned, Init::List(fields)))
    }
}

/// The allocation that a value is.
fn alloc_of(value: &mut Expr) -> Option<&mut Alloc> {
    match &mut *value.kind {
        ExprKind::Convert(_, inner) => alloc_of(inner),
        ExprKind::Alloc(alloc) => Some(alloc),
        _ => None,
    }
}

/// A move out of a place for which `wanted` holds becomes one that leaves null in it.
fn take(value: &mut Expr, wanted: &dyn Fn(&Expr) -> bool) {
    if let ExprKind::Convert(_, inner) = &mut *value.kind {
        return take(inner, wanted);
    }
    if let ExprKind::Move(from) = &*value.kind {
        if wanted(from) {
            *value.kind = ExprKind::Take(from.clone());
        }
    }
}

/// Whether two places are the same, whenever they are evaluated: they contain no call and no
/// assignment.
pub(crate) fn same_place(a: &Expr, b: &Expr) -> bool {
    match (&*a.kind, &*b.kind) {
        (ExprKind::Local(x), ExprKind::Local(y)) => x == y,
        (ExprKind::Global(x), ExprKind::Global(y)) => x == y,
        (ExprKind::Int(x), ExprKind::Int(y)) => x == y,
        (ExprKind::Field(x, m), ExprKind::Field(y, n)) => m == n && same_place(x, y),
        (ExprKind::Load(x), ExprKind::Load(y)) | (ExprKind::Deref(x), ExprKind::Deref(y)) => same_place(x, y),
        (ExprKind::Convert(_, x), ExprKind::Convert(_, y)) => a.ty == b.ty && same_place(x, y),
        (ExprKind::IndexArray(x, i), ExprKind::IndexArray(y, j))
        | (ExprKind::IndexPointer(x, i), ExprKind::IndexPointer(y, j)) => same_place(x, y) && same_place(i, j),
        _ => false,
    }
}
