//! The exchange heap: where its blocks may be, and `expose`.
//!
//! `expose (p) { ... }` is a cursor over what `p` points to: while the block lasts, the pointer,
//! and what leads to it, is lent, and the owned fields are reached through the cursor only. In the
//! block each `*p` is therefore the cursor's target, and `v[i]` is in that of `expose (&v[i])`.

use crate::checker::Checker;
use crate::codes;
use crate::tree::*;
use crate::types::*;
use crate::walk::{base, root, stmt_children, Part};
use source::{with_article, Diagnostic, Span};
use syntax::ast;

/// What an `expose` around the code at hand opens.
#[derive(Clone, Debug)]
pub struct Exposed {
    /// The pointer, or the slot.
    place: Expr,
    /// Whether it is a slot.
    slot: bool,
    /// The cursor.
    cursor: LocalId,
}

impl TypeStore {
    /// Whether a value of the type owns blocks of the exchange heap. The key of an exchange arena
    /// does not: it may be in an object of the heap, whose end the collector finds.
    pub fn holds_exchange(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) => p.region == Region::Exchange && p.own.is_owned(),
            TyKind::Param(param) => param.exchange,
            TyKind::Array { elem, .. } => self.holds_exchange(elem.ty),
            TyKind::Record(id) => self.holds(Holds::Exchange, *id, |record| {
                record.fields.as_ref().is_some_and(|f| f.iter().any(|f| self.holds_exchange(f.ty.ty)))
            }),
            _ => false,
        }
    }
}

impl Checker<'_> {
    /// `expose (p) { ... }`, `expose (s = &v[i]) { ... }`, `expose (&v[i]) { ... }`
    pub(crate) fn expose_stmt(
        &mut self,
        name: Option<ast::Ident>,
        value: &ast::Expr,
        body: &ast::Stmt,
        span: Span,
    ) -> StmtKind {
        self.scopes.push();
        self.open_block();
        let barriers = self.f.as_ref().map_or(0, |f| f.barriers.len());
        let stmts = match self.exposed(name, value, span) {
            Some((exposed, stmt)) => {
                let named = name.is_some();
                if let Some(f) = &mut self.f {
                    f.exposed.push(exposed.clone());
                }
                let body = *self.boxed(body);
                if let Some(f) = &mut self.f {
                    f.exposed.pop();
                }
                if exposed.slot && !named {
                    self.check_index_kept(&exposed.place, &body);
                }
                vec![stmt, body]
            }
            None => {
                self.poison(name);
                vec![*self.boxed(body)]
            }
        };
        self.close_block();
        if let Some(f) = &mut self.f {
            f.barriers.truncate(barriers);
        }
        self.scopes.pop();
        StmtKind::Block(Block { stmts, span, region: None })
    }

    /// The cursor of an `expose`, and its statement.
    fn exposed(&mut self, name: Option<ast::Ident>, value: &ast::Expr, span: Span) -> Option<(Exposed, Stmt)> {
        let slot = match &value.kind {
            ast::ExprKind::Unary(ast::UnaryOp::AddrOf, inner) => Some(inner),
            _ => None,
        };
        let place = match slot {
            Some(inner) => {
                let before = self.f.as_mut().and_then(|f| f.exposing.replace(inner.span));
                let place = self.expr(inner);
                if let Some(f) = &mut self.f {
                    f.exposing = before;
                }
                place
            }
            None => self.expr(value),
        };
        if self.is_error(place.ty.ty) {
            return None;
        }
        let pointer = self.program.types.as_pointer(place.ty.ty);
        if slot.is_none() {
            let owned = pointer.is_some_and(|p| matches!(p.own, Own::Unique) && p.region != Region::Heap);
            if let ExprKind::Local(_) = *place.kind {
                // A local that is exposed is an owner.
                let looked = self.node(ExprKind::Load(place.clone()), place.ty.ty, span);
                if pointer.is_some_and(|p| matches!(p.own, Own::Shared | Own::View))
                    && self.note_given(&looked, Own::Unique)
                {
                    return None;
                }
            }
            if !owned || !place.is_place() {
                let text = self.show(place.ty.ty);
                self.error_help(
                    codes::EXCHANGE,
                    value.span,
                    format!(
                        "`expose` opens a block of the exchange heap that a path owns, and this is {}",
                        with_article(&text)
                    ),
                    "write `expose (p)` for an owned pointer `T *@exchange p`, `expose (s = &v[i])` for an element",
                );
                return None;
            }
        }
        if let (Some(_), Some(p)) = (slot, Self::pointer_below(&place)) {
            let p = self.program.types.as_pointer(p.ty.ty);
            let at_cursor = Self::pointer_below(&place).is_some_and(|p| self.is_at_cursor(p));
            if !at_cursor && p.is_none_or(|p| p.own != Own::Unique) {
                self.error_help(
                    codes::EXCHANGE,
                    value.span,
                    "`expose` opens an element of a vector that a path owns",
                    "expose it where the vector is owned, or lent to a parameter `T *fat @exchange v`",
                );
                return None;
            }
        }
        let target = match (slot, pointer) {
            (None, Some(p)) => {
                let base = self.node(ExprKind::Load(place.clone()), place.ty.ty, value.span);
                self.deref_node(base, p, value.span)
            }
            _ => place.clone(),
        };
        if !target.is_place() || !self.program.types.holds_exchange(target.ty.ty) && !self.mentions_params(target.ty.ty)
        {
            let text = self.show(target.ty.ty);
            self.error_help(
                codes::EXCHANGE,
                value.span,
                format!("`expose` reaches owned fields, and {} owns nothing in the exchange heap", with_article(&text)),
                "use it directly: plain content needs no `expose`",
            );
            return None;
        }
        if self.is_exposed(&place, slot.is_some(), value.span) {
            return None;
        }
        if self.guarded_member(&target, span) || self.guarded_field(&target, span) {
            return None;
        }
        let region = match name {
            Some(name) => {
                self.check_redeclared(name);
                self.declare_region(name, RegionKind::Loan)
            }
            None => self.new_region(None, RegionKind::Loan, span)?,
        };
        let ty = self.types().pointer(Pointer {
            target: target.ty,
            bounds: Bounds::Thin,
            nonnull: true,
            own: Own::Shared,
            region,
            raw: false,
        });
        let cursor = self.new_local(name.map(|n| n.name), Qty::plain(ty), name.map_or(span, |n| n.span), false);
        if let Some(f) = &mut self.f {
            f.cursors.insert(cursor);
            f.used.insert(cursor);
        }
        if let Some(name) = name {
            self.scopes.declare(name.name, crate::scope::Entity::Local(cursor), name.span);
        }
        self.open_barrier();
        let stmt = self.stmt_node(StmtKind::Cursor(cursor, target), span);
        Some((Exposed { place, slot: slot.is_some(), cursor }, stmt))
    }

    /// Whether the block, or another element of the vector, is exposed around here already.
    fn is_exposed(&mut self, place: &Expr, slot: bool, span: Span) -> bool {
        let vector = |place: &Expr| match &*place.kind {
            ExprKind::IndexPointer(p, _) | ExprKind::Deref(p) => match &*p.kind {
                ExprKind::Load(place) => Some(place.clone()),
                _ => None,
            },
            _ => None,
        };
        let exposed = self.f.as_ref().map_or(&[][..], |f| f.exposed.as_slice());
        let again = exposed.iter().any(|e| {
            let cursor = |p: &Expr| matches!(*p.kind, ExprKind::Local(id) if id == e.cursor);
            match (slot, e.slot) {
                (false, false) => crate::alloc::same_place(&e.place, place),
                (true, true) => match (vector(place), vector(&e.place)) {
                    (Some(a), _) if cursor(&a) => true,
                    (Some(a), Some(b)) => crate::alloc::same_place(&a, &b),
                    _ => false,
                },
                _ => false,
            }
        });
        if again {
            let what = if slot { "an element of this vector" } else { "this block" };
            self.error_help(
                codes::EXCHANGE,
                span,
                format!("{what} is exposed already, around this place"),
                if slot { "expose one element at a time" } else { "use its owned fields as they are" },
            );
        }
        again
    }

    fn mentions_params(&self, ty: Ty) -> bool {
        self.program.types.mentions_param(ty) && self.program.types.owns(ty)
    }

    /// A pointer about to be followed: that of an exposed block is its cursor.
    pub(crate) fn exposed_pointer(&mut self, pointer: Expr) -> Expr {
        let ExprKind::Load(place) = &*pointer.kind else { return pointer };
        let Some(cursor) = self.cursor_of(place, false) else { return pointer };
        self.cursor_value(cursor, pointer.span)
    }

    /// An element: an exposed slot is its cursor's target.
    pub(crate) fn exposed_slot(&mut self, place: Expr) -> Expr {
        let Some(cursor) = self.cursor_of(&place, true) else { return place };
        let pointer = self.cursor_value(cursor, place.span);
        Expr { kind: Box::new(ExprKind::Deref(pointer)), ..place }
    }

    fn cursor_of(&self, place: &Expr, slot: bool) -> Option<LocalId> {
        let exposed = &self.f.as_ref()?.exposed;
        exposed.iter().rev().find(|e| e.slot == slot && crate::alloc::same_place(&e.place, place)).map(|e| e.cursor)
    }

    fn cursor_value(&mut self, cursor: LocalId, span: Span) -> Expr {
        let ty = self.f.as_ref().and_then(|f| f.locals.get(cursor.0 as usize)).map(|l| l.ty);
        let ty = ty.unwrap_or(Qty::plain(self.program.types.common.error));
        let place = self.place_node(ExprKind::Local(cursor), ty, span);
        self.node(ExprKind::Load(place), ty.ty, span)
    }

    /// An owned field, or an element, of a block: only `expose` reaches it. Through a view, and in a
    /// frozen block, it is looked at.
    pub(crate) fn check_exposed(&mut self, place: &Expr, span: Span) -> bool {
        if !self.checked() || !self.program.types.holds_exchange(place.ty.ty) {
            return true;
        }
        if self.f.as_ref().is_some_and(|f| f.exposing == Some(span)) {
            return true;
        }
        let Some(pointer) = Self::pointer_below(place) else { return true };
        let p = self.program.types.as_pointer(pointer.ty.ty);
        let frozen = |p: &Pointer| p.own == Own::Rc && p.region == Region::Exchange;
        if p.is_none_or(|p| p.own == Own::View || frozen(&p)) || self.is_at_cursor(pointer) {
            return true;
        }
        let element = matches!(&*place.kind, ExprKind::IndexPointer(..));
        let what = if element { "an element that owns is" } else { "an owned field is" };
        let help = match (element, p.is_some_and(|p| p.own == Own::Unique)) {
            (true, _) => "write `expose (s = &v[i]) { ... s->data ... }`",
            (false, true) => "write `expose (p) { ... p->data ... }` around it",
            (false, false) => {
                "expose the block where it is owned: a pointer that is not its owner shows plain content only"
            }
        };
        self.report(
            Diagnostic::error(
                codes::EXCHANGE,
                span,
                format!("{what} reached in an `expose` of the block that it lies in only"),
            )
            .help(help),
        );
        false
    }

    /// Whether a pointer is a cursor, or what a cursor is at.
    fn is_at_cursor(&self, pointer: &Expr) -> bool {
        let ExprKind::Load(place) = &*pointer.kind else { return false };
        if self.cursor(place).is_some() {
            return true;
        }
        match &*place.kind {
            ExprKind::Deref(inner) => matches!(&*inner.kind, ExprKind::Load(at) if self.cursor(at).is_some()),
            _ => false,
        }
    }

    /// A whole block as a value, or assigned: that takes or replaces its owned fields.
    pub(crate) fn check_whole(&mut self, place: &Expr) -> bool {
        match &*place.kind {
            ExprKind::Deref(p) if self.program.types.as_pointer(p.ty.ty).is_some_and(|p| p.own == Own::Unique) => {
                self.check_exposed(place, place.span)
            }
            _ => true,
        }
    }

    /// `expose (&v[i])` evaluates `i` once: in the block `v[i]` is that element, so `i` stays what
    /// it is.
    fn check_index_kept(&mut self, place: &Expr, body: &Stmt) {
        let mut variables = vec![];
        let mut work = vec![place];
        while let Some(e) = work.pop() {
            variables.extend(variable(e));
            crate::walk::children(e, &mut |child| work.push(child));
        }
        let is_named = |place: &Expr| variable(place).is_some_and(|v| variables.contains(&v));
        let mut found = None;
        let (mut stmts, mut exprs) = (vec![body], vec![]);
        while found.is_none() {
            if let Some(e) = exprs.pop() {
                let e: &Expr = e;
                // Code that has the address may assign.
                let target = match &*e.kind {
                    ExprKind::Assign(to, _) | ExprKind::AssignOp(_, _, to, _) | ExprKind::IncDec(to, ..) => Some(to),
                    ExprKind::AddrOf(to) | ExprKind::Decay(to) => Some(to),
                    _ => None,
                };
                if target.is_some_and(is_named) {
                    found = Some(e.span);
                }
                crate::walk::children(e, &mut |child| exprs.push(child));
                continue;
            }
            let Some(stmt) = stmts.pop() else { break };
            if let StmtKind::Swap(a, b) = &stmt.kind {
                found = [a, b].into_iter().find(|place| is_named(place)).map(|place| place.span);
            }
            stmt_children(stmt, &mut |part| match part {
                Part::Expr(e) => exprs.push(e),
                Part::Stmt(s) => stmts.push(s),
            });
        }
        if let Some(span) = found {
            self.report(
                Diagnostic::error(
                    codes::EXCHANGE,
                    span,
                    "the element that is exposed is named by this variable, which stays as it is in the block",
                )
                .label(place.span, "exposed here")
                .help("name the element: `expose (s = &v[i]) { ... s->data ... }`"),
            );
        }
    }

    /// What lives as long as the process owns no blocks: nobody could say who else reaches them.
    pub(crate) fn check_no_exchange(&mut self, ty: Ty, span: Span, what: &str) -> bool {
        if !self.program.types.holds_exchange(ty) {
            return true;
        }
        let text = self.show(ty);
        self.error_help(
            codes::EXCHANGE,
            span,
            format!("{} owns a block of the exchange heap, and {what} does not", with_article(&text)),
            "keep blocks in locals, parameters, messages and other blocks",
        );
        false
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Variable {
    Local(LocalId),
    Global(GlobalId),
}

/// The variable that a place is, or is a part of, without going through a pointer.
fn variable(place: &Expr) -> Option<Variable> {
    match *base(place).kind {
        ExprKind::Global(id) => Some(Variable::Global(id)),
        _ => root(place).map(Variable::Local),
    }
}
