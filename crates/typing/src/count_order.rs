//! A count that stands after another struct's fields of the same names.
//!
//! ```c
//! to->data = from->data;
//! from->data = NULL;
//! to->capacity = from->capacity;
//! ```
//!
//! What waits ([`crate::spread_counts`]) must not be named meanwhile, since `from` may be `to`. But
//! the last two assignments may change places, whatever the two pointers lead to: neither stores to
//! a field whose name the other has. Then the first and the last are adjacent.

use crate::checker::Checker;
use crate::counts::{assignment, Store};
use crate::spread_counts::{field_of, is_in_union, Spread, MOST};
use crate::tree::Expr;
use source::Symbol;
use syntax::ast::{self, BinaryOp, ExprKind, UnaryOp};
use syntax::visit::is_null;

/// An assignment to a field of what neither calls nor changes anything else.
struct Plain<'a> {
    place: &'a ast::Expr,
    /// The fields that are read.
    reads: Vec<Symbol>,
    /// The field that is stored to, and those that an owner is taken out of.
    writes: Vec<Symbol>,
}

impl Plain<'_> {
    fn changes(&self, other: &Plain) -> bool {
        self.writes.iter().any(|field| other.reads.contains(field) || other.writes.contains(field))
    }

    /// Whether it makes no difference which of the two comes first.
    fn is_apart_from(&self, other: &Plain) -> bool {
        !self.changes(other) && !other.changes(self)
    }
}

impl Checker<'_> {
    /// The group that begins here, if assignments of other fields stand in it and it can be moved in
    /// front of those.
    pub(crate) fn moved_group(&mut self, stmts: &[ast::Stmt]) -> Option<Spread> {
        if !self.may_be_counted(assignment(stmts.first()?)?.0) {
            return None;
        }
        let first = self.plain(stmts.first()?)?;
        if is_null(assignment(stmts.first()?)?.2) {
            return None;
        }
        let base = self.base_text(first.place)?;
        let store = self.counted_store(assignment(stmts.first()?)?)?;
        let record = self.store_record(&store)?;
        let mut group = vec![store.without_value()];
        let mut moved = vec![stmts.first()?.clone()];
        let mut passed: Vec<(Plain, ast::Stmt)> = vec![];
        for (at, stmt) in stmts.iter().enumerate().take(MOST).skip(1) {
            let plain = self.plain(stmt)?;
            let store = match self.base_text(plain.place)? == base {
                true => self.counted_store(assignment(stmt)?).filter(|store| self.store_record(store) == Some(record)),
                false => None,
            };
            let Some(store) = store.filter(|store| group.iter().all(|other| other.field != store.field)) else {
                passed.push((plain, stmt.clone()));
                continue;
            };
            if !passed.iter().all(|(other, _)| other.is_apart_from(&plain)) {
                return None;
            }
            group.push(store.without_value());
            moved.push(stmt.clone());
            let stores: Vec<&Store> = group.iter().collect();
            if self.is_complete(record, &stores) {
                if passed.is_empty() {
                    return None;
                }
                moved.extend(passed.into_iter().map(|(_, stmt)| stmt));
                return Some(Spread { stmts: moved, used: at + 1, adjacent: false });
            }
        }
        None
    }

    fn base_text(&self, place: &ast::Expr) -> Option<String> {
        match &place.kind {
            ExprKind::Arrow(base, _) | ExprKind::Dot(base, _) => Some(self.map.snippet(base.span).to_string()),
            _ => None,
        }
    }

    fn plain<'a>(&mut self, stmt: &'a ast::Stmt) -> Option<Plain<'a>> {
        let (place, None, value) = assignment(stmt)? else { return None };
        let (ExprKind::Arrow(base, _) | ExprKind::Dot(base, _)) = &place.kind else { return None };
        let mut fields = vec![];
        if !fields_of(base, &mut fields) || !fields_of(value, &mut fields) {
            return None;
        }
        // Members of a union have many names, and so does a struct that is stored as a whole.
        let reads: Vec<Symbol> = fields.iter().filter_map(|field| field_of(field)).collect();
        let mut writes = vec![field_of(place)?];
        for field in fields.into_iter().chain([place]) {
            let typed: Expr = self.tried(field);
            let types = &self.program.types;
            let watched = typed.ty.quals.is_volatile || typed.ty.quals.is_atomic;
            if self.is_error(typed.ty.ty) || is_in_union(types, &typed) || watched {
                return None;
            }
            if types.owns(typed.ty.ty) {
                writes.extend(field_of(field));
            }
        }
        let typed = self.tried(place);
        self.is_scalar(typed.ty.ty).then_some(Plain { place, reads, writes })
    }
}

/// The fields that an expression reads. `false` if it is more than fields, variables and numbers.
fn fields_of<'a>(e: &'a ast::Expr, fields: &mut Vec<&'a ast::Expr>) -> bool {
    match &e.kind {
        ExprKind::Ident(_) | ExprKind::Int(_) | ExprKind::Nullptr => true,
        ExprKind::Arrow(base, _) | ExprKind::Dot(base, _) => {
            fields.push(e);
            fields_of(base, fields)
        }
        ExprKind::Cast(_, inner) => is_null(e) || fields_of(inner, fields),
        ExprKind::Unary(UnaryOp::Neg, inner) => fields_of(inner, fields),
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
            fields_of(a, fields) && fields_of(b, fields)
        }
        _ => false,
    }
}
