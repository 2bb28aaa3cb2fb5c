//! `new`, C's malloc family, `free`.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::scope::Entity;
use crate::tree::*;
use crate::types::*;
use source::{Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// Whether the name is one of C's allocation functions here (and not something of the program's own).
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
                let (count, size) = (self.size_argument(count), self.size_argument(size));
                self.allocation(expected, AllocSize::Product(count, size), None, question, span)
            }
            ("realloc", [old, size]) => {
                let old = self.value(old);
                let size = self.size_argument(size);
                let expected = if self.is_null_constant(&old) { expected } else { Some(old.ty.ty) };
                self.need_bounds(&old);
                self.allocation(expected, AllocSize::Bytes(size), Some(old), question, span)
            }
            (_, [size]) => {
                let size = self.size_argument(size);
                self.allocation(expected, AllocSize::Bytes(size), None, question, span)
            }
            _ => self.error_node(span),
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
            if expected.is_none_or(|t| !self.is_error(t)) {
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
        let old = old.map(|old| self.old_block(old, elem, span));
        let bounds = self.block_bounds(elem, flexible);
        let ty = self.types().pointer(Pointer {
            target: Qty::plain(elem),
            bounds,
            nonnull: !fallible,
            own: Own::Shared,
            region: Region::Heap,
            raw: false,
        });
        self.node(ExprKind::Alloc(Alloc { elem, size, fallible, old, flexible }), ty, span)
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

    /// The heap aligns every object to 16 bytes.
    fn check_alignment_of(&mut self, elem: Ty, span: Span) {
        let align = self.program.types.layout(elem).map_or(1, |l| l.align);
        if align > 16 {
            let text = self.show(elem);
            self.error_help(
                codes::ALLOCATION,
                span,
                format!("`{text}` is aligned to {align} bytes, and the heap aligns to 16 for now"),
                "keep such objects in globals or locals (docs/open-points.md)",
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
        let settable = value.is_place() && !value.ty.quals.is_const && pointer.is_some_and(|p| !p.nonnull);
        let value = if settable { value } else { self.rvalue(value) };
        self.node(ExprKind::Free(value), void, span)
    }

    /// `new ...`
    pub(crate) fn new_expr(&mut self, new: &ast::NewExpr, span: Span) -> Expr {
        if let Some(region) = new.region {
            if region.name.as_str() != "heap" {
                self.later(Symbol::new(&format!("new({})", region.name)), region.span);
                return self.error_node(span);
            }
        }
        if let Some(rc) = new.rc {
            self.later(Symbol::new("new rc"), rc);
            return self.error_node(span);
        }
        let elem = self.stored_type(&new.ty).ty;
        if self.is_error(elem) {
            return self.error_node(span);
        }
        if !self.program.types.is_complete(elem) {
            let text = self.show(elem);
            self.error(codes::INCOMPLETE, span, format!("`new` needs the size of `{text}`, which is not known here"));
            return self.error_node(span);
        }
        let flexible = self
            .program
            .types
            .as_record(elem)
            .filter(|&r| matches!(self.program.types.flexible_member(r), Some((_, _, Some(_)))));
        let mut out =
            New { elem, count: None, init: None, fallible: new.question, flexible: None, handle: None, counted: false };
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
                self.block_bounds(elem, false)
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
            own: Own::Shared,
            region: Region::Heap,
            raw: false,
        });
        self.node(ExprKind::New(out), ty, span)
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
