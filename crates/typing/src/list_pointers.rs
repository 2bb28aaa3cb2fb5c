//! `struct node **pp = &l->head;`: how C inserts into lists, and removes from them. The pointer that
//! leads to the pointer that owns the next node is a cursor, `cursor pp = &l->head;`
//! (language.md section 4).
//!
//! A cursor on a slot takes out what is in it until its block ends. C's pointer does not, so code of
//! the block that could notice is refused.

use crate::checker::Checker;
use crate::codes;
use crate::tree::*;
use crate::types::*;
use crate::walk::{any, Part};
use source::Span;
use syntax::ast;

impl Checker<'_> {
    /// The cursor that the declaration of a local of this type means, if it does.
    pub(crate) fn list_pointer(&mut self, name: ast::Ident, ty: Qty, d: &ast::InitDeclarator) -> Option<Stmt> {
        let Some(ast::Initializer::Expr(from)) = &d.init else { return None };
        if !self.checked() {
            return None;
        }
        let shared = |p: &Pointer| p.own == Own::Shared && !p.nonnull && p.bounds == Bounds::Thin;
        let declared = self.program.types.as_pointer(ty.ty).filter(|_| !ty.quals.is_const)?;
        let inner = self.program.types.as_pointer(declared.target.ty).filter(shared)?;
        let is_node = self.program.types.as_record(inner.target.ty).is_some() && !inner.target.quals.is_const;
        if !is_node || declared.own != Own::Shared || declared.nonnull || declared.target.quals.is_const {
            return None;
        }
        let given = self.tried(from);
        let given = self.program.types.as_pointer(given.ty.ty)?;
        let owner = self.program.types.as_pointer(given.target.ty)?;
        let owns = owner.own == Own::Unique && owner.bounds == Bounds::Thin;
        if !owns || owner.target.ty != inner.target.ty || given.target.quals.is_const {
            return None;
        }
        let address;
        let from = match from.kind {
            ast::ExprKind::Unary(ast::UnaryOp::AddrOf, _) => from,
            // A parameter: `struct node **pp = head;`.
            _ => {
                let unary = |op, inner| ast::ExprKind::Unary(op, Box::new(inner));
                let target = ast::Expr { kind: unary(ast::UnaryOp::Deref, from.clone()), span: from.span };
                address = ast::Expr { kind: unary(ast::UnaryOp::AddrOf, target), span: from.span };
                &address
            }
        };
        let kind = self.cursor_stmt(name, from, d.declarator.span);
        self.forget_probes();
        if let (StmtKind::Cursor(local, _), Some(f)) = (&kind, &mut self.f) {
            f.list_pointers.insert(*local);
        }
        Some(self.stmt_node(kind, d.declarator.span))
    }

    /// `pp = n->v < v ? &(*pp)->left : &(*pp)->right;`: a cursor goes one way or the other.
    pub(crate) fn chosen_step(&mut self, e: &ast::Expr) -> Option<StmtKind> {
        let ast::ExprKind::Assign(None, to, value) = &e.kind else { return None };
        let (ast::ExprKind::Ident(name), ast::ExprKind::Cond(cond, Some(then), other)) = (&to.kind, &value.kind) else {
            return None;
        };
        let Some(crate::scope::Entity::Local(id)) = self.scopes.lookup(*name) else { return None };
        let id = *id;
        if !self.f.as_ref()?.cursors.contains(&id) || self.f.as_ref()?.walkers.contains_key(&id) {
            return None;
        }
        let cond = self.condition(cond);
        let mut step = |way: &ast::Expr| {
            let step =
                ast::Expr { kind: ast::ExprKind::Assign(None, to.clone(), Box::new(way.clone())), span: way.span };
            let kind = self.expr_stmt(&step);
            Box::new(self.stmt_node(kind, way.span))
        };
        let (then, other) = (step(then), step(other));
        self.forget_probes();
        Some(StmtKind::If(cond, then, Some(other)))
    }

    /// Refuses such a cursor over a slot where other code of the block could notice that the slot is
    /// empty meanwhile. `parts` comes after it.
    pub(crate) fn check_list_pointer<'e>(&mut self, stmt: &Stmt, parts: impl Iterator<Item = Part<'e>>) {
        let StmtKind::Cursor(local, place) = &stmt.kind else { return };
        let is_pointer = self.f.as_ref().is_some_and(|f| f.list_pointers.contains(local));
        if !is_pointer || self.path_root(place).is_some() {
            return;
        }
        let mut at: Option<Span> = None;
        for part in parts {
            let found = any(part, &mut |part| {
                let sees = self.sees_slots(part);
                if sees && at.is_none() {
                    at = Some(match part {
                        Part::Expr(e) => e.span,
                        Part::Stmt(s) => s.span,
                    });
                }
                sees
            });
            if found {
                break;
            }
        }
        let Some(at) = at else { return };
        let mut report = source::Diagnostic::error(
            codes::OWNERSHIP,
            stmt.span,
            "what this leads to is taken out of its place until the block ends, and the block does more than walk",
        );
        report = report.label(at, "this may look there meanwhile").help(
            "put the declaration and the walk into a block of their own; or say `cursor pp = &x;`, if what comes after may find the place empty",
        );
        self.report(report);
    }
}
