//! Statements that are several, for rules that look at one after the other.

use crate::spread_counts::{field_of, statement};
use std::borrow::Cow;
use syntax::ast::{self, ExprKind};
use syntax::visit::is_null;

/// `a, b;` as the two statements that it is, if both assign fields; `a = b = NULL;` as `b = NULL; a =
/// NULL;`, because null is whatever each of them asks for; and `again: a;`, which assigns a field, as
/// `again: ; a;`.
pub(crate) fn split(stmts: &[ast::Stmt]) -> Cow<'_, [ast::Stmt]> {
    fn is_pair(stmt: &ast::Stmt) -> bool {
        let ast::StmtKind::Expr(e) = &stmt.kind else { return false };
        match &e.kind {
            ExprKind::Comma(a, b) => {
                let stores =
                    |e: &ast::Expr| matches!(&e.kind, ExprKind::Assign(_, place, _) if field_of(place).is_some());
                stores(if let ExprKind::Comma(_, last) = &a.kind { last } else { a }) && stores(b)
            }
            ExprKind::Assign(None, _, value) => matches!(value.kind, ExprKind::Assign(..)) && chained(e).is_some(),
            _ => false,
        }
    }
    /// The value of `a = b = ... = value` if it is null.
    fn chained(e: &ast::Expr) -> Option<&ast::Expr> {
        match &e.kind {
            ExprKind::Assign(None, _, value) => chained(value),
            ExprKind::Assign(..) => None,
            _ => is_null(e).then_some(e),
        }
    }
    fn pieces(e: &ast::Expr, out: &mut Vec<ast::Stmt>) {
        match &e.kind {
            ExprKind::Comma(a, b) => {
                pieces(a, out);
                pieces(b, out);
            }
            ExprKind::Assign(None, place, inner) => match chained(inner) {
                Some(value) if matches!(inner.kind, ExprKind::Assign(..)) => {
                    pieces(inner, out);
                    let kind = ExprKind::Assign(None, place.clone(), Box::new(value.clone()));
                    out.push(statement(ast::StmtKind::Expr(ast::Expr { span: e.span, kind }), e.span));
                }
                _ => out.push(statement(ast::StmtKind::Expr(e.clone()), e.span)),
            },
            _ => out.push(statement(ast::StmtKind::Expr(e.clone()), e.span)),
        }
    }
    fn labelled(stmt: &ast::Stmt) -> Option<(ast::Ident, &ast::Stmt)> {
        let ast::StmtKind::Label(name, body) = &stmt.kind else { return None };
        let ast::StmtKind::Expr(e) = &body.kind else { return None };
        let field = matches!(&e.kind, ExprKind::Assign(_, place, _) if field_of(place).is_some());
        (field || is_pair(body)).then_some((*name, body))
    }
    if !stmts.iter().any(|stmt| is_pair(stmt) || labelled(stmt).is_some()) {
        return Cow::Borrowed(stmts);
    }
    let mut out = vec![];
    for stmt in stmts {
        let mut stmt = stmt;
        if let Some((name, body)) = labelled(stmt) {
            let nothing = statement(ast::StmtKind::Empty, name.span);
            let kind = ast::StmtKind::Label(name, Box::new(nothing));
            out.push(ast::Stmt { kind, ..stmt.clone() });
            stmt = body;
        }
        match &stmt.kind {
            ast::StmtKind::Expr(e) if is_pair(stmt) => pieces(e, &mut out),
            _ => out.push(stmt.clone()),
        }
    }
    Cow::Owned(out)
}
