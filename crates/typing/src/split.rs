//! Statements that are several, for rules that look at one after the other.

use crate::spread_counts::{field_of, statement};
use std::borrow::Cow;
use syntax::ast::{self, ExprKind};
use syntax::visit::is_null;

/// `a, b;` as the two statements that it is, if both assign fields; and `a = b = NULL;` as `b = NULL; a =
/// NULL;`, because null is whatever each of them asks for.
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
    if !stmts.iter().any(is_pair) {
        return Cow::Borrowed(stmts);
    }
    let mut out = vec![];
    for stmt in stmts {
        match &stmt.kind {
            ast::StmtKind::Expr(e) if is_pair(stmt) => pieces(e, &mut out),
            _ => out.push(stmt.clone()),
        }
    }
    Cow::Owned(out)
}
