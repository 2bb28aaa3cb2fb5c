//! `struct node **pp = &l->head;`: how C inserts into lists, and removes from them. The pointer that
//! leads to the pointer that owns the next node is a cursor, `cursor pp = &l->head;`
//! (language.md section 4).
//!
//! A cursor on a slot takes out what is in it until its block ends. C's pointer does not, so code of
//! the block that could notice is refused.

use crate::checker::Checker;
use crate::codes;
use crate::spread_counts::statement;
use crate::tree::*;
use crate::types::*;
use crate::walk::{any, Part};
use source::{Span, Symbol};
use std::borrow::Cow;
use syntax::ast;
use syntax::visit::{expressions, operands, statements};

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
    pub(crate) fn check_list_pointer<'e>(&mut self, stmt: &Stmt, mut parts: impl Iterator<Item = Part<'e>>) {
        let StmtKind::Cursor(local, place) = &stmt.kind else { return };
        let is_pointer = self.f.as_ref().is_some_and(|f| f.list_pointers.contains(local));
        if !is_pointer || self.path_root(place).is_some() {
            return;
        }
        let mut at: Option<Span> = None;
        let mut sees = |part: Part<'e>| {
            let sees = self.sees_slots(part);
            if sees {
                at = Some(match part {
                    Part::Expr(e) => e.span,
                    Part::Stmt(s) => s.span,
                });
            }
            sees
        };
        parts.any(|part| any(part, &mut sees));
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

/// `struct node **pp;` whose value comes later, `pp = &l->head;` or `for (pp = &l->head; ...)`, is
/// declared there: in the `for` itself, if nothing after it mentions the name. Nothing reads it
/// before, so nothing else changes.
pub(crate) fn declared_with_values(list: Cow<'_, [ast::Stmt]>) -> Cow<'_, [ast::Stmt]> {
    let mut list = list;
    let mut at = 0;
    while at < list.len() {
        let late = list.get(at).map_or(vec![], late_pointers);
        for name in late {
            if let Some(new) = declared_later(&list, at, name) {
                list = Cow::Owned(new);
            }
        }
        at += 1;
    }
    list
}

/// The pointers to pointers to structs that the statement declares without a value.
fn late_pointers(stmt: &ast::Stmt) -> Vec<Symbol> {
    let ast::StmtKind::Decl(decl) = &stmt.kind else { return vec![] };
    let is_record = match &decl.specs.ty {
        ast::TypeSpec::Record(record) => record.fields.is_none() && !record.has_args,
        ast::TypeSpec::Named(_, args) => args.is_empty(),
        _ => false,
    };
    if !is_record || decl.specs.storage.is_some() || !decl.specs.attrs.is_empty() || decl.generics.is_some() {
        return vec![];
    }
    let is_plain =
        |step: &ast::Derived| matches!(step, ast::Derived::Pointer(p) if !p.quals.is_const && p.attrs.is_empty());
    let is_late = |d: &&ast::InitDeclarator| {
        let derived = &d.declarator.derived;
        d.init.is_none() && d.declarator.attrs.is_empty() && derived.len() == 2 && derived.iter().all(is_plain)
    };
    decl.declarators.iter().filter(is_late).filter_map(|d| d.declarator.name).map(|name| name.name).collect()
}

fn declared_later(list: &[ast::Stmt], at: usize, name: Symbol) -> Option<Vec<ast::Stmt>> {
    let ast::StmtKind::Decl(decl) = &list.get(at)?.kind else { return None };
    let rest = list.get(at + 1..)?;
    let use_at = at + 1 + rest.iter().position(|stmt| mentions(stmt, name))?;
    let user = list.get(use_at)?;
    let first = match &user.kind {
        ast::StmtKind::Expr(e) => e,
        ast::StmtKind::For { init: Some(init), .. } => match &init.kind {
            ast::StmtKind::Expr(e) => e,
            _ => return None,
        },
        _ => return None,
    };
    let ast::ExprKind::Assign(None, to, value) = &first.kind else { return None };
    let is_address = matches!(value.kind, ast::ExprKind::Unary(ast::UnaryOp::AddrOf, _));
    if !matches!(to.kind, ast::ExprKind::Ident(to) if to == name) || !is_address || names(value, name) {
        return None;
    }
    let is_it = |d: &ast::InitDeclarator| d.declarator.name.is_some_and(|n| n.name == name);
    let mut declarator = decl.declarators.iter().find(|d| is_it(d))?.clone();
    // Others of the declaration may be named in a length or an initialiser after it.
    if decl.declarators.iter().any(|d| d.init.iter().flat_map(syntax::visit::initialisers).any(|e| names(e, name))) {
        return None;
    }
    declarator.init = Some(ast::Initializer::Expr((**value).clone()));
    let now = ast::Decl { declarators: vec![declarator], span: first.span, ..decl.clone() };
    let now = statement(ast::StmtKind::Decl(now), first.span);
    let mut out = list.to_vec();
    let others: Vec<_> = decl.declarators.iter().filter(|d| !is_it(d)).cloned().collect();
    let before = match others.is_empty() {
        true => ast::StmtKind::Empty,
        false => ast::StmtKind::Decl(ast::Decl { declarators: others, ..decl.clone() }),
    };
    out.get_mut(at)?.kind = before;
    let later = list.get(use_at + 1..)?.iter().any(|stmt| mentions(stmt, name));
    match &mut out.get_mut(use_at)?.kind {
        ast::StmtKind::For { init, .. } if !later => *init = Some(Box::new(now)),
        ast::StmtKind::For { init, .. } => {
            *init = None;
            out.insert(use_at, now);
        }
        kind => *kind = now.kind,
    }
    Some(out)
}

/// Whether the name may stand in the statement.
fn mentions(stmt: &ast::Stmt, name: Symbol) -> bool {
    let unknown = match &stmt.kind {
        ast::StmtKind::Decl(decl) => {
            let derived = decl.declarators.iter().flat_map(|d| &d.declarator.derived);
            let may_name = |step: &ast::Derived| match step {
                ast::Derived::Pointer(p) => p.counted_by.is_some(),
                ast::Derived::Array(array) => match &array.size {
                    ast::ArraySize::Expr(size) => names(size, name),
                    ast::ArraySize::Unknown | ast::ArraySize::Star => false,
                },
                ast::Derived::Function(_) => true,
            };
            let is_named = |d: &ast::InitDeclarator| d.declarator.name.is_some_and(|n| n.name == name);
            matches!(decl.specs.ty, ast::TypeSpec::TypeofExpr(..) | ast::TypeSpec::TypeofType(..))
                || derived.into_iter().any(may_name)
                || decl.declarators.iter().any(is_named)
        }
        ast::StmtKind::Asm(_)
        | ast::StmtKind::Function(_)
        | ast::StmtKind::Arena { .. }
        | ast::StmtKind::Channel { .. }
        | ast::StmtKind::Receive(_)
        | ast::StmtKind::SwitchReceive(..)
        | ast::StmtKind::Unpack { .. } => true,
        _ => false,
    };
    unknown
        || expressions(stmt).into_iter().any(|e| names(e, name))
        || statements(stmt).into_iter().any(|stmt| mentions(stmt, name))
}

fn names(e: &ast::Expr, name: Symbol) -> bool {
    match &e.kind {
        ast::ExprKind::Ident(n) => *n == name,
        ast::ExprKind::SizeofExpr(e) | ast::ExprKind::AlignofExpr(e) => names(e, name),
        ast::ExprKind::StmtExpr(_) | ast::ExprKind::Lengthof(_) => true,
        _ => operands(e).into_iter().any(|e| names(e, name)),
    }
}
