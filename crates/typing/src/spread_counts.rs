//! Assignments of a `counted_by` pointer and of its count with other statements between them.
//!
//! C tests the pointer first, or sets other fields in between:
//!
//! ```c
//! b->data = malloc(n);
//! if (!b->data)
//!     return -1;
//! b->length = 0;
//! b->capacity = n;
//! ```
//!
//! Stored one by one the two would not fit together, so what is assigned first waits in a local
//! until all is known: the block becomes
//!
//! ```c
//! { T *data = malloc(n); if (!data) { b->data = data; return -1; } b->length = 0;
//!   b->data = data; b->capacity = n; }
//! ```
//!
//! The last two are adjacent (counts.rs). That is the same program, since what stands between runs
//! no other code and names none of the fields that wait.

use crate::checker::Checker;
use crate::counts::{assignment, is_pure, Store};
use crate::scope::Entity;
use crate::tree::{ExprKind as TypedKind, Trust};
use crate::types::RecordKind;
use source::{Span, Symbol};
use std::borrow::Cow;
use syntax::ast::{self, BinaryOp, ExprKind, UnaryOp};

/// How many statements a group may have.
const MOST: usize = 12;

/// One statement of a group.
enum Item<'a> {
    /// An assignment of a pointer or a count, by number.
    Store(usize),
    /// The pointer with this number is null: the statement leaves the block.
    Guard(usize, &'a ast::Stmt),
    /// Another statement.
    Between(&'a ast::Stmt),
}

/// A group as far as it was read.
struct Group<'a> {
    base: String,
    /// Names that say what the fields are fields of.
    of: Vec<Symbol>,
    stores: Vec<(Store<'a>, &'a ast::Expr)>,
    items: Vec<Item<'a>>,
    /// The names of the fields that wait.
    waiting: Vec<Symbol>,
}

impl Checker<'_> {
    /// If such a group begins here: the block that it is, and how many statements it covers.
    pub(crate) fn spread_group(&mut self, stmts: &[ast::Stmt]) -> Option<(ast::Stmt, usize)> {
        if !self.checked() || self.options.plain_c {
            return None;
        }
        let (first, guard) = self.store_of(stmts.first()?)?;
        // Most assignments are no such group; types are looked at only where another to a field of
        // the same base follows.
        let base = self.map.snippet(base_of(first.0)?.span).to_string();
        let same_base = |this: &Self, stmt: &ast::Stmt| {
            let other = this.store_of(stmt).and_then(|((place, ..), _)| base_of(place));
            other.is_some_and(|other| this.map.snippet(other.span) == base)
        };
        if !stmts.iter().take(MOST).skip(1).any(|stmt| same_base(self, stmt)) {
            return None;
        }
        let place = first.0;
        let store = self.counted_store(first)?;
        let record = self.store_record(&store)?;
        let mut of = vec![];
        if !is_calm(base_of(place)?, &mut of, &mut vec![]) {
            return None;
        }
        let mut group = Group { base, of, stores: vec![], items: vec![], waiting: vec![] };
        group.wait(store, place, guard);
        // How many items there were after the last store.
        let mut whole = group.items.len();
        let mut used = 1;
        for (n, stmt) in stmts.iter().enumerate().take(MOST).skip(1) {
            if let Some((parts, guard)) = self.store_of(stmt) {
                let place = parts.0;
                let is_base = base_of(place).is_some_and(|b| self.map.snippet(b.span) == group.base);
                let store = if is_base { self.counted_store(parts) } else { None };
                if let Some(store) = store {
                    let again =
                        group.stores.iter().any(|(s, _)| s.field == store.field) || self.calls_others(&store.value);
                    if again || self.store_record(&store) != Some(record) || !group.is_other(&store.value) {
                        break;
                    }
                    group.wait(store, place, guard);
                    (whole, used) = (group.items.len(), n + 1);
                    continue;
                }
            }
            match self.item_between(&group, stmt) {
                Some(item) => group.items.push(item),
                None => break,
            }
        }
        group.items.truncate(whole);
        let spread = group.items.iter().any(|item| !matches!(item, Item::Store(_)));
        let stores: Vec<&Store> = group.stores.iter().map(|(store, _)| store).collect();
        if !spread || !self.is_complete(record, &stores) {
            return None;
        }
        let span = stmts.first()?.span.to(stmts.get(used - 1)?.span);
        Some((group.block(span), used))
    }

    fn item_between<'a>(&mut self, group: &Group<'a>, stmt: &'a ast::Stmt) -> Option<Item<'a>> {
        if let ast::StmtKind::If { cond, then, other: None } = &stmt.kind {
            let tested = null_test(cond)?;
            let text = self.map.snippet(tested.span);
            let is_it = |(store, place): &(Store, &ast::Expr)| store.pointer && self.map.snippet(place.span) == text;
            let number = group.stores.iter().position(is_it)?;
            return self.leaves(then).then_some(Item::Guard(number, then));
        }
        let ast::StmtKind::Expr(e) = &stmt.kind else { return None };
        let (place, value) = match &e.kind {
            ExprKind::Assign(_, place, value) => (place, Some(value)),
            ExprKind::Unary(UnaryOp::PreInc | UnaryOp::PreDec | UnaryOp::PostInc | UnaryOp::PostDec, place) => {
                (place, None)
            }
            _ => return None,
        };
        let changed = match &place.kind {
            ExprKind::Ident(name) => *name,
            ExprKind::Dot(_, name) | ExprKind::Arrow(_, name) => name.name,
            _ => return None,
        };
        let apart = is_pure(place) && group.is_other(place) && !group.of.contains(&changed);
        let calm = value.is_none_or(|v| group.is_other(v) && !self.calls_others(v));
        (apart && calm && self.is_scalar_place(place)).then_some(Item::Between(stmt))
    }

    /// `p->m = v;`, or `if (!(p->m = v)) return;` with what leaves the block.
    fn store_of<'a>(&self, stmt: &'a ast::Stmt) -> Option<(Parts<'a>, Option<&'a ast::Stmt>)> {
        if let ast::StmtKind::If { cond, then, other: None } = &stmt.kind {
            let ExprKind::Assign(None, place, value) = &null_test(cond)?.kind else { return None };
            let field = matches!(place.kind, ExprKind::Arrow(..) | ExprKind::Dot(..));
            return (field && self.leaves(then)).then_some(((place, None, value), Some(then)));
        }
        Some((assignment(stmt)?, None))
    }

    /// Whether control never comes out at the end of the statement.
    fn leaves(&self, stmt: &ast::Stmt) -> bool {
        match &stmt.kind {
            ast::StmtKind::Block(block) => block.stmts.last().is_some_and(|last| self.leaves(last)),
            ast::StmtKind::Return(_) | ast::StmtKind::Goto(_) | ast::StmtKind::Break | ast::StmtKind::Continue => true,
            ast::StmtKind::Expr(e) => match &e.kind {
                ExprKind::Call { callee, .. } => {
                    let ExprKind::Ident(name) = &callee.kind else { return false };
                    ["exit", "_exit", "abort"].contains(&name.as_str()) && self.is_library(*name)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether the expression calls a function that is not the library's own allocation.
    fn calls_others(&self, e: &ast::Expr) -> bool {
        let mut called = vec![];
        !is_calm(e, &mut vec![], &mut called) || called.iter().any(|name| !self.is_library(*name))
    }

    /// Whether the name is a function that the library declares.
    fn is_library(&self, name: Symbol) -> bool {
        let trusted = match self.scopes.lookup(name) {
            Some(&Entity::Func(id)) => {
                self.program.functions.get(id.0 as usize).is_some_and(|f| f.trust == Trust::Trusted)
            }
            _ => false,
        };
        trusted || self.is_allocator(name)
    }

    /// Whether the place is a scalar that lies in no union: a struct has fields of its own, among them
    /// ones that wait, and another member of a union may be what the base goes by.
    fn is_scalar_place(&mut self, place: &ast::Expr) -> bool {
        self.muted += 1;
        let typed = self.expr(place);
        self.muted -= 1;
        let types = &self.program.types;
        let mut at = &typed;
        while let TypedKind::Field(base, _) = &*at.kind {
            let union = types.as_record(base.ty.ty).is_some_and(|r| types.record(r).kind != RecordKind::Struct);
            if union {
                return false;
            }
            at = base;
        }
        !self.is_error(typed.ty.ty) && self.is_scalar(typed.ty.ty)
    }
}

impl<'a> Group<'a> {
    fn wait(&mut self, store: Store<'a>, place: &'a ast::Expr, guard: Option<&'a ast::Stmt>) {
        let number = self.stores.len();
        self.waiting.extend(field_of(place));
        self.items.push(Item::Store(number));
        self.items.extend(guard.filter(|_| store.pointer).map(|then| Item::Guard(number, then)));
        self.stores.push((store, place));
    }

    /// Whether the expression runs no code of the program and names no field that waits.
    fn is_other(&self, e: &ast::Expr) -> bool {
        let mut names = vec![];
        is_calm(e, &mut names, &mut vec![]) && !names.iter().any(|name| self.waiting.contains(name))
    }

    /// The block.
    fn block(&self, span: Span) -> ast::Stmt {
        let last = self.items.iter().rposition(|item| !matches!(item, Item::Store(_))).unwrap_or(0);
        // Where the count is known, it is checked.
        let stored = self.stores.last().map_or(span, |(_, place)| place.span);
        let mut waiting: Vec<ast::Stmt> = vec![];
        let mut stmts = vec![];
        for (at, item) in self.items.iter().enumerate() {
            match item {
                Item::Store(n) => {
                    let Some((store, place)) = self.stores.get(*n) else { continue };
                    if at > last {
                        waiting.push(assign(place, store.value.clone().into_owned(), place.span));
                        continue;
                    }
                    let name = local_for(place);
                    stmts.push(declare(name, place, store));
                    waiting.push(assign(place, ident(name, stored), stored));
                }
                Item::Guard(n, then) => {
                    let Some((_, place)) = self.stores.get(*n) else { continue };
                    let mut inside = waiting.clone();
                    inside.push((*then).clone());
                    let body = ast::Block { stmts: inside, span: then.span };
                    let tested = Box::new(ident(local_for(place), place.span));
                    let cond = ast::Expr { span: place.span, kind: ExprKind::Unary(UnaryOp::Not, tested) };
                    let then = Box::new(stmt(ast::StmtKind::Block(body), then.span));
                    stmts.push(stmt(ast::StmtKind::If { cond, then, other: None }, place.span));
                }
                Item::Between(between) => stmts.push((*between).clone()),
            }
        }
        stmts.append(&mut waiting);
        stmt(ast::StmtKind::Block(ast::Block { stmts, span }), span)
    }
}

type Parts<'a> = (&'a ast::Expr, Option<BinaryOp>, &'a ast::Expr);

/// What `!e`, `e == NULL` or `NULL == e` tests.
fn null_test(cond: &ast::Expr) -> Option<&ast::Expr> {
    match &cond.kind {
        ExprKind::Unary(UnaryOp::Not, e) => Some(e),
        ExprKind::Binary(BinaryOp::Eq, a, b) if is_null(b) => Some(a),
        ExprKind::Binary(BinaryOp::Eq, a, b) if is_null(a) => Some(b),
        _ => None,
    }
}

fn is_null(e: &ast::Expr) -> bool {
    match &e.kind {
        ExprKind::Nullptr => true,
        ExprKind::Int(lit) => lit.value == 0,
        ExprKind::Cast(_, e) => is_null(e),
        _ => false,
    }
}

/// Whether the expression changes nothing and runs no code but an allocation's; its names, and those of
/// the functions that it calls.
fn is_calm(e: &ast::Expr, names: &mut Vec<Symbol>, called: &mut Vec<Symbol>) -> bool {
    match &e.kind {
        ExprKind::Ident(name) => names.push(*name),
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Char(..)
        | ExprKind::Str(_)
        | ExprKind::Nullptr
        | ExprKind::Bool(_)
        | ExprKind::SizeofExpr(_)
        | ExprKind::SizeofType(_) => {}
        ExprKind::Call { callee, args, .. } => {
            let ExprKind::Ident(name) = &callee.kind else { return false };
            called.push(*name);
            let allocates =
                ["malloc", "calloc", "realloc", "reallocarray", "strdup", "strndup"].contains(&name.as_str());
            return allocates && args.iter().all(|arg| is_calm(arg, names, called));
        }
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) => {
            return is_calm(a, names, called) && is_calm(b, names, called)
        }
        ExprKind::Dot(a, name) | ExprKind::Arrow(a, name) => {
            names.push(name.name);
            return is_calm(a, names, called);
        }
        ExprKind::Unary(UnaryOp::PreInc | UnaryOp::PreDec | UnaryOp::PostInc | UnaryOp::PostDec, _) => return false,
        ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => return is_calm(a, names, called),
        ExprKind::Cond(c, a, b) => {
            let first = is_calm(c, names, called) && is_calm(b, names, called);
            return first && a.iter().all(|a| is_calm(a, names, called));
        }
        _ => return false,
    }
    true
}

fn base_of(place: &ast::Expr) -> Option<&ast::Expr> {
    match &place.kind {
        ExprKind::Arrow(base, _) | ExprKind::Dot(base, _) if is_pure(base) => Some(base),
        _ => None,
    }
}

fn field_of(place: &ast::Expr) -> Option<Symbol> {
    match &place.kind {
        ExprKind::Arrow(_, name) | ExprKind::Dot(_, name) => Some(name.name),
        _ => None,
    }
}

/// A name that no program has.
fn local_for(place: &ast::Expr) -> Symbol {
    Symbol::new(&format!("{}'", field_of(place).map_or("", |name| name.as_str())))
}

fn stmt(kind: ast::StmtKind, span: Span) -> ast::Stmt {
    ast::Stmt { span, kind, attrs: vec![] }
}

fn ident(name: Symbol, span: Span) -> ast::Expr {
    ast::Expr { span, kind: ExprKind::Ident(name) }
}

fn assign(place: &ast::Expr, value: ast::Expr, span: Span) -> ast::Stmt {
    let place = ast::Expr { span, kind: place.kind.clone() };
    let kind = ExprKind::Assign(None, Box::new(place), Box::new(value));
    stmt(ast::StmtKind::Expr(ast::Expr { span, kind }), span)
}

/// `typeof(*place) *name = value;`, or `typeof(place) name = value;` of a count.
fn declare(name: Symbol, place: &ast::Expr, store: &Store) -> ast::Stmt {
    let span = place.span;
    let value = Cow::clone(&store.value).into_owned();
    let (typed, derived) = match store.pointer {
        true => {
            let target = ExprKind::Unary(UnaryOp::Deref, Box::new(place.clone()));
            let quals = ast::PointerQuals { span, ..ast::PointerQuals::default() };
            (ast::Expr { span, kind: target }, vec![ast::Derived::Pointer(quals)])
        }
        false => (place.clone(), vec![]),
    };
    let specs = ast::DeclSpecs {
        ty: ast::TypeSpec::TypeofExpr(Box::new(typed), !store.pointer),
        ..ast::DeclSpecs::missing(span)
    };
    let name = Some(ast::Ident { name, span });
    let declarator = ast::Declarator { span, name, derived, asm_label: None, attrs: vec![] };
    let declarators = vec![ast::InitDeclarator { declarator, init: Some(ast::Initializer::Expr(value)) }];
    let decl = ast::Decl { span: span.to(store.value.span), generics: None, trusted: false, specs, declarators };
    stmt(ast::StmtKind::Decl(decl), span.to(store.value.span))
}
