//! A local `void *` that holds an allocation until it is stored.
//!
//! ```c
//! void *p = realloc(b->data, n);
//! if (!p)
//!     return -1;
//! b->data = p;
//! ```
//!
//! Memory has a type, and a `void *` is one object of it, so the bounds of the block would be lost.
//! Where a local gets nothing but allocations and null, it is declared as a pointer to what the
//! variable that it is stored to points to, or else the old block of its `realloc`. Such a pointer
//! goes wherever a `void *` may.

use crate::checker::Checker;
use crate::types::TyKind;
use source::Symbol;
use syntax::ast::{self, ExprKind};
use syntax::visit::{self, is_null, without_casts};

/// How many statements may follow in the block: all are looked at for each such local.
const MOST: usize = 200;

impl Checker<'_> {
    /// If the first statement declares such a local: its declaration with the type. The others are what
    /// follows in the block.
    pub(crate) fn typed_void_local(&mut self, stmts: &[ast::Stmt]) -> Option<ast::Stmt> {
        let (first, rest) = stmts.split_first()?;
        let ast::StmtKind::Decl(decl) = &first.kind else { return None };
        let [d] = decl.declarators.as_slice() else { return None };
        if !self.checked() || self.options.plain_c || !syntax::wrappers::is_void_pointer(decl, d) {
            return None;
        }
        if decl.specs.storage.is_some() || !decl.specs.attrs.is_empty() || rest.len() > MOST {
            return None;
        }
        let name = d.declarator.name?.name;
        let mut uses = Uses::default();
        if let Some(init) = &d.init {
            let ast::Initializer::Expr(value) = init else { return None };
            uses.values.push(value);
        }
        rest.iter().for_each(|stmt| uses.of_statement(name, stmt));
        let mut old = None;
        let mut allocates = false;
        for value in &uses.values {
            match self.allocated(value) {
                Some(block) => {
                    allocates = true;
                    old = old.or(block);
                }
                None if is_null(value) => {}
                None => return None,
            }
        }
        // Used otherwise (`p + 4`, `sizeof *p`) it is a `void *`.
        let end = rest.iter().map(|stmt| stmt.span.hi).max().unwrap_or(first.span.hi);
        // Statements that were made end where their places do.
        let more = self.map.text.get(end as usize..).and_then(|text| text.find(';')).unwrap_or(0) as u32;
        let after = self.map.snippet(source::Span::new(first.span.hi, end + more));
        let named = crate::spread_counts::words(after).filter(|(_, word)| *word == name.as_str()).count();
        if uses.others || !allocates || named != uses.known {
            return None;
        }
        let target = uses.target.or_else(|| old.map(Target::Place))?;
        let specs = match target {
            Target::Place(place) => {
                if !self.is_typed_pointer(place) {
                    return None;
                }
                let span = decl.specs.span;
                let target = ExprKind::Unary(ast::UnaryOp::Deref, Box::new(place.clone()));
                let target = Box::new(ast::Expr { span: place.span, kind: target });
                let ty = ast::TypeSpec::TypeofExpr(target, true);
                ast::DeclSpecs { ty, ..ast::DeclSpecs::missing(span) }
            }
            Target::Declared(specs) => specs.clone(),
        };
        Some(ast::Stmt { kind: ast::StmtKind::Decl(ast::Decl { specs, ..decl.clone() }), ..first.clone() })
    }

    /// Whether the value is a call of an allocator; of `realloc`, the old block.
    fn allocated<'a>(&self, value: &'a ast::Expr) -> Option<Option<&'a ast::Expr>> {
        let ExprKind::Call { callee, args, .. } = &without_casts(value).kind else { return None };
        let ExprKind::Ident(name) = &callee.kind else { return None };
        let wrapper = self.is_wrapper(*name);
        if name.as_str() == "free" || !(wrapper || self.is_allocator(*name)) {
            return None;
        }
        let old = args.first().filter(|old| name.as_str() == "realloc" && !is_null(old));
        Some(old.map(without_casts))
    }

    /// Whether the place is a pointer to something of a known type.
    fn is_typed_pointer(&mut self, place: &ast::Expr) -> bool {
        let typed = self.tried(place);
        let Some(p) = self.program.types.as_pointer(typed.ty.ty) else { return false };
        !p.raw
            && self.program.types.is_complete(p.target.ty)
            && !matches!(self.kind(p.target.ty), TyKind::Void | TyKind::Func(_))
    }
}

/// What a variable of known type is told from.
enum Target<'a> {
    /// It is what this place points to.
    Place(&'a ast::Expr),
    /// It is declared so.
    Declared(&'a ast::DeclSpecs),
}

/// How a block uses a local.
#[derive(Default)]
struct Uses<'a> {
    /// What it is assigned.
    values: Vec<&'a ast::Expr>,
    /// What it is assigned to first.
    target: Option<Target<'a>>,
    /// Pointers that are declared after it.
    pointers: Vec<(Symbol, &'a ast::DeclSpecs)>,
    /// It is changed in another way, or stored to several places.
    others: bool,
    /// How often it is named in ways that do not depend on what it points to.
    known: usize,
}

impl<'a> Uses<'a> {
    fn of_statement(&mut self, name: Symbol, stmt: &'a ast::Stmt) {
        if let ast::StmtKind::Decl(decl) = &stmt.kind {
            for d in &decl.declarators {
                let is_it = |init: &ast::Initializer| matches!(init, ast::Initializer::Expr(e) if is_name(e, name));
                let named = match &decl.specs.ty {
                    ast::TypeSpec::Builtin(builtin) => *builtin != ast::Builtin::Void,
                    ast::TypeSpec::Named(..) | ast::TypeSpec::TypeofExpr(..) => true,
                    ast::TypeSpec::Record(spec) => spec.fields.is_none(),
                    _ => false,
                };
                let pointer = matches!(d.declarator.derived.as_slice(), [ast::Derived::Pointer(_)]);
                if named && pointer && decl.specs.storage.is_none() {
                    self.pointers.extend(d.declarator.name.map(|name| (name.name, &decl.specs)));
                    if d.init.as_ref().is_some_and(is_it) {
                        self.stored(Target::Declared(&decl.specs));
                    }
                }
            }
        }
        let tests = matches!(stmt.kind, ast::StmtKind::If { .. } | ast::StmtKind::While(..) | ast::StmtKind::Return(_));
        for e in visit::expressions(stmt) {
            self.known += usize::from(tests && matches!(e.kind, ExprKind::Ident(it) if it == name));
            self.of_expression(name, e);
        }
        visit::statements(stmt).into_iter().for_each(|stmt| self.of_statement(name, stmt));
    }

    fn stored(&mut self, target: Target<'a>) {
        self.known += 1;
        self.others |= self.target.is_some();
        self.target = Some(target);
    }

    fn of_expression(&mut self, name: Symbol, e: &'a ast::Expr) {
        match &e.kind {
            ExprKind::Assign(op, place, value) if is_name(place, name) => {
                self.values.push(value);
                self.others |= op.is_some();
                self.known += 1;
            }
            // Tested, passed on.
            ExprKind::Unary(ast::UnaryOp::Not, inner) if is_name(inner, name) => self.known += 1,
            ExprKind::Binary(ast::BinaryOp::Eq | ast::BinaryOp::Ne, a, b) => {
                self.known += usize::from(is_name(a, name) && is_null(b)) + usize::from(is_name(b, name) && is_null(a));
            }
            ExprKind::Binary(ast::BinaryOp::And | ast::BinaryOp::Or, a, b) => {
                self.known += usize::from(is_name(a, name)) + usize::from(is_name(b, name));
            }
            ExprKind::Call { args, .. } => {
                self.known += args.iter().filter(|arg| matches!(arg.kind, ExprKind::Ident(it) if it == name)).count();
            }
            ExprKind::Assign(None, place, value) if is_name(value, name) => {
                let declared = self.pointers.iter().rev().find(|(pointer, _)| is_name(place, *pointer));
                let target = declared.map_or(Target::Place(place), |(_, specs)| Target::Declared(specs));
                self.stored(target);
            }
            ExprKind::Unary(
                ast::UnaryOp::AddrOf
                | ast::UnaryOp::PreInc
                | ast::UnaryOp::PreDec
                | ast::UnaryOp::PostInc
                | ast::UnaryOp::PostDec,
                place,
            ) if is_name(place, name) => self.others = true,
            _ => {}
        }
        visit::operands(e).into_iter().for_each(|e| self.of_expression(name, e));
    }
}

fn is_name(e: &ast::Expr, name: Symbol) -> bool {
    matches!(without_casts(e).kind, ExprKind::Ident(it) if it == name)
}
