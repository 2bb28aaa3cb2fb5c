//! Allocator wrappers of C: `void *xmalloc(size_t n)`, which returns what `malloc` gave it.
//!
//! Memory has a type in Leeward, and a `void *` that comes out of such a function has none yet:
//! each call decides it. So the function is what `generic <T> T *unique fat xmalloc(size_t n)` is,
//! and this makes it that, together with its prototypes in the same file. For characters there is a
//! second function beside it (`of_characters`): a block of them is a string object, which no type
//! parameter says. A function is a wrapper if it is declared to return `void *`, with no word more,
//! and each of its `return`s gives null, the result of an allocator, or a local `void *` that got
//! one. Nothing else that it does matters: it is checked as what it has become.
//!
//! What a header declares stays as it is if it is defined outside of that: other files that include
//! the header could not see the body.

use crate::ast::*;
use crate::lexer;
use crate::visit::{is_null, statements};
use source::{Sink, SourceMap, Span, Symbol};
use std::collections::BTreeSet;

/// What stands for the elements.
#[derive(Clone, Copy, PartialEq)]
enum Elements {
    /// Any type, as the call decides: a type parameter of this name.
    Any(Symbol),
    /// Characters: a block of them is a string object.
    Characters,
}

/// The function that a wrapper is for characters.
pub fn of_characters(wrapper: Symbol) -> Symbol {
    Symbol::new(&format!("lee_{wrapper}_characters"))
}

/// The word that a program names a function by: one of those goes by its wrapper's name.
pub fn named_for(function: Symbol) -> &'static str {
    let name = function.as_str();
    name.strip_prefix("lee_").and_then(|name| name.strip_suffix("_characters")).unwrap_or(name)
}

/// Whether a function is one of those; there is one beside each wrapper, used or not.
pub fn is_of_characters(function: Symbol) -> bool {
    function.as_str().starts_with("lee_") && function.as_str().ends_with("_characters")
}

/// Makes the wrappers of a unit generic. `map` has its text.
pub(crate) fn make_generic(unit: &mut Unit, map: &SourceMap) {
    let mut known: BTreeSet<Symbol> = ["malloc", "calloc", "realloc"].map(Symbol::new).into();
    let mut found = BTreeSet::new();
    // A wrapper may call those before it.
    for item in &unit.items {
        let ItemKind::Function(def) = &item.kind else { continue };
        let Some(name) = def.declarator.name.filter(|_| item.origin == Origin::Leeward) else { continue };
        if is_wrapper(def, &known) && !is_shared(unit, map, def) {
            known.insert(name.name);
            found.insert(name.name);
        }
    }
    if found.is_empty() {
        return;
    }
    let names: BTreeSet<Symbol> = lexer::lex(&map.text, &mut Sink::default()).all.iter().map(|t| t.name).collect();
    found.retain(|&name| !names.contains(&of_characters(name)));
    // A name that the unit has not: the type parameter hides nothing.
    let mut element = String::from("T");
    while names.contains(&Symbol::new(&element)) {
        element.push('_');
    }
    let element = Symbol::new(&element);
    let mut items = vec![];
    for item in unit.items.drain(..) {
        let is_found = match &item.kind {
            ItemKind::Function(def) => is_named(&def.declarator, &found),
            ItemKind::Decl(decl) => decl.declarators.iter().any(|d| is_named(&d.declarator, &found)),
            _ => false,
        };
        if is_found {
            items.push(retyped(item.clone(), &known, Elements::Any(element)));
            items.push(retyped(item, &known, Elements::Characters));
        } else {
            items.push(item);
        }
    }
    unit.items = items;
}

/// A wrapper, or its prototype, with the type of its elements.
fn retyped(mut item: Item, known: &BTreeSet<Symbol>, elements: Elements) -> Item {
    match &mut item.kind {
        ItemKind::Function(def) => {
            let fresh = fresh_locals(&def.body, known);
            let old = reallocated(def);
            def.generics = generics(def.span, elements);
            retype(&mut def.specs, &mut def.declarator, &old, elements);
            retype_block(&mut def.body, &fresh, elements);
        }
        ItemKind::Decl(decl) => {
            decl.generics = generics(decl.span, elements);
            for d in &mut decl.declarators {
                // A prototype has no body to tell which parameter is the old block.
                let old = first_pointer(&d.declarator);
                retype(&mut decl.specs, &mut d.declarator, &old, elements);
            }
        }
        _ => {}
    }
    item
}

/// Whether a prototype of the function is in another file, a header, which other units may include;
/// or among other declarators, with which it cannot become generic.
fn is_shared(unit: &Unit, map: &SourceMap, def: &FunctionDef) -> bool {
    let names: BTreeSet<Symbol> = def.declarator.name.iter().map(|n| n.name).collect();
    let is_internal = def.specs.storage == Some(Storage::Static);
    let home = map.file_at(def.span.lo);
    unit.items.iter().any(|item| match &item.kind {
        ItemKind::Decl(decl) => {
            let named = decl.declarators.iter().any(|d| is_named(&d.declarator, &names));
            named && (decl.declarators.len() > 1 || !is_internal && map.file_at(decl.span.lo) != home)
        }
        _ => false,
    })
}

/// Whether this declares a function of one of these names.
fn is_named(d: &Declarator, names: &BTreeSet<Symbol>) -> bool {
    matches!(d.derived.first(), Some(Derived::Function(_))) && d.name.is_some_and(|n| names.contains(&n.name))
}

fn is_wrapper(def: &FunctionDef, known: &BTreeSet<Symbol>) -> bool {
    let [Derived::Function(_), Derived::Pointer(result)] = def.declarator.derived.as_slice() else { return false };
    if def.generics.is_some() || def.trusted || !is_void(&def.specs) || !is_bare(result) {
        return false;
    }
    let fresh = fresh_locals(&def.body, known);
    let (mut gives, mut other) = (false, false);
    each_statement(&def.body.stmts, &mut |stmt| {
        let StmtKind::Return(value) = &stmt.kind else { return };
        match value {
            Some(value) if is_fresh(value, &fresh, known) => gives = true,
            Some(value) if is_null(value) => {}
            _ => other = true,
        }
    });
    gives && !other
}

/// The locals of type `void *` that get the result of an allocator.
fn fresh_locals(body: &Block, known: &BTreeSet<Symbol>) -> BTreeSet<Symbol> {
    let mut locals = BTreeSet::new();
    let mut fresh = BTreeSet::new();
    each_statement(&body.stmts, &mut |stmt| {
        if let StmtKind::Decl(decl) = &stmt.kind {
            for d in decl.declarators.iter().filter(|d| is_void_pointer(decl, d)) {
                let Some(name) = d.declarator.name else { continue };
                locals.insert(name.name);
                if matches!(&d.init, Some(Initializer::Expr(e)) if is_allocation(e, known)) {
                    fresh.insert(name.name);
                }
            }
        }
        each_expression(stmt, &mut |e| assigned(e, known, &mut fresh));
    });
    fresh.retain(|name| locals.contains(name));
    fresh
}

/// Adds the variables that the expression assigns an allocation to.
fn assigned(e: &Expr, known: &BTreeSet<Symbol>, out: &mut BTreeSet<Symbol>) {
    match &e.kind {
        ExprKind::Assign(None, place, value) => {
            if let ExprKind::Ident(name) = place.kind {
                if is_allocation(value, known) {
                    out.insert(name);
                }
            }
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => assigned(a, known, out),
        ExprKind::Binary(_, a, b) | ExprKind::Comma(a, b) => {
            assigned(a, known, out);
            assigned(b, known, out);
        }
        _ => {}
    }
}

fn is_fresh(e: &Expr, fresh: &BTreeSet<Symbol>, known: &BTreeSet<Symbol>) -> bool {
    matches!(&e.kind, ExprKind::Ident(name) if fresh.contains(name)) || is_allocation(e, known)
}

fn is_allocation(e: &Expr, known: &BTreeSet<Symbol>) -> bool {
    let ExprKind::Call { callee, .. } = &e.kind else { return false };
    matches!(&callee.kind, ExprKind::Ident(name) if known.contains(name))
}

fn is_void(specs: &DeclSpecs) -> bool {
    matches!(specs.ty, TypeSpec::Builtin(Builtin::Void)) && !specs.quals.is_const && !specs.quals.is_volatile
}

/// Whether a `*` has no word of Leeward's.
fn is_bare(q: &PointerQuals) -> bool {
    let bounds = q.fat.is_some() || q.null_terminated.is_some() || q.counted_by.is_some();
    !(bounds || q.nonnull.is_some() || q.own.is_some() || q.region.is_some())
}

/// Whether a `void *` without any word of Leeward's is declared.
pub fn is_void_pointer(decl: &Decl, d: &InitDeclarator) -> bool {
    is_void(&decl.specs) && matches!(d.declarator.derived.as_slice(), [Derived::Pointer(q)] if is_bare(q))
}

/// Calls `f` with each statement, outer ones first.
fn each_statement(stmts: &[Stmt], f: &mut dyn FnMut(&Stmt)) {
    stmts.iter().for_each(|stmt| each_inner(stmt, f));
}

fn each_inner(stmt: &Stmt, f: &mut dyn FnMut(&Stmt)) {
    f(stmt);
    statements(stmt).into_iter().for_each(|inner| each_inner(inner, f));
}

/// The expressions of a statement that an assignment of C's may stand in.
fn each_expression(stmt: &Stmt, f: &mut dyn FnMut(&Expr)) {
    match &stmt.kind {
        StmtKind::Expr(e) | StmtKind::If { cond: e, .. } | StmtKind::While(e, _) | StmtKind::DoWhile(_, e) => f(e),
        _ => {}
    }
}

fn generics(span: Span, elements: Elements) -> Option<Generics> {
    let Elements::Any(name) = elements else { return None };
    let params = vec![GenericParam::Type { name: Ident { name, span }, bounds: vec![] }];
    Some(Generics { span, params })
}

/// `void *f(...)` becomes `T *unique fat f(...)`, and the parameter that is the old block of a
/// `realloc` becomes `T *fat @heap p`.
fn retype(specs: &mut DeclSpecs, declarator: &mut Declarator, old: &BTreeSet<usize>, elements: Elements) {
    element(specs, elements);
    let [Derived::Function(list), Derived::Pointer(q)] = declarator.derived.as_mut_slice() else { return };
    q.own = Some(Ident { name: Symbol::new("unique"), span: q.span });
    q.fat = Some(q.span);
    if elements == Elements::Characters {
        q.null_terminated = Some(q.span);
        if let Some(name) = &mut declarator.name {
            name.name = of_characters(name.name);
        }
    }
    for (_, param) in list.params.iter_mut().enumerate().filter(|(at, _)| old.contains(at)) {
        element(&mut param.specs, elements);
        if let Some(Derived::Pointer(q)) = param.declarator.derived.first_mut() {
            q.fat = Some(q.span);
            q.region = Some(Ident { name: Symbol::new("heap"), span: q.span });
        }
    }
}

/// The parameters `void *p` that are the old block of a `realloc`.
fn reallocated(def: &FunctionDef) -> BTreeSet<usize> {
    let mut names = BTreeSet::new();
    let mut calls = |e: &Expr| old_blocks(e, &mut names);
    each_statement(&def.body.stmts, &mut |stmt| {
        if let StmtKind::Decl(decl) = &stmt.kind {
            for d in &decl.declarators {
                if let Some(Initializer::Expr(e)) = &d.init {
                    calls(e);
                }
            }
        }
        if let StmtKind::Return(Some(e)) = &stmt.kind {
            calls(e);
        }
        each_expression(stmt, &mut calls);
    });
    let Some(Derived::Function(list)) = def.declarator.derived.first() else { return BTreeSet::new() };
    let is_old = |p: &Param| p.declarator.name.is_some_and(|n| names.contains(&n.name)) && is_void_parameter(p);
    list.params.iter().enumerate().filter(|(_, p)| is_old(p)).map(|(at, _)| at).collect()
}

fn old_blocks(e: &Expr, out: &mut BTreeSet<Symbol>) {
    match &e.kind {
        ExprKind::Call { callee, args, .. } => {
            let is_realloc = matches!(&callee.kind, ExprKind::Ident(name) if name.as_str() == "realloc");
            if let (true, Some(Expr { kind: ExprKind::Ident(name), .. })) = (is_realloc, args.first()) {
                out.insert(*name);
            }
        }
        ExprKind::Assign(None, _, a) | ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => old_blocks(a, out),
        ExprKind::Binary(_, a, b) | ExprKind::Comma(a, b) => {
            old_blocks(a, out);
            old_blocks(b, out);
        }
        _ => {}
    }
}

/// The first parameter of a prototype, if it is a `void *`.
fn first_pointer(declarator: &Declarator) -> BTreeSet<usize> {
    let Some(Derived::Function(list)) = declarator.derived.first() else { return BTreeSet::new() };
    list.params.first().filter(|p| is_void_parameter(p)).map(|_| 0).into_iter().collect()
}

fn is_void_parameter(p: &Param) -> bool {
    is_void(&p.specs) && matches!(p.declarator.derived.as_slice(), [Derived::Pointer(q)] if is_bare(q))
}

/// `void *p` becomes `T *p` where `p` gets the result of an allocator.
fn retype_block(body: &mut Block, fresh: &BTreeSet<Symbol>, elements: Elements) {
    each_declaration(&mut body.stmts, &mut |decl| {
        let is_fresh = |d: &InitDeclarator| d.declarator.name.is_some_and(|n| fresh.contains(&n.name));
        if decl.declarators.iter().any(|d| is_void_pointer(decl, d) && is_fresh(d)) {
            element(&mut decl.specs, elements);
        }
    });
}

fn element(specs: &mut DeclSpecs, elements: Elements) {
    specs.ty = match elements {
        Elements::Any(name) => TypeSpec::Named(Ident { name, span: specs.span }, vec![]),
        Elements::Characters => TypeSpec::Builtin(Builtin::Char),
    };
}

fn each_declaration(stmts: &mut [Stmt], f: &mut dyn FnMut(&mut Decl)) {
    use std::slice::from_mut;
    for stmt in stmts {
        match &mut stmt.kind {
            StmtKind::Decl(decl) => f(decl),
            StmtKind::Block(b) | StmtKind::Unsafe(b) => each_declaration(&mut b.stmts, f),
            StmtKind::If { then, other, .. } => {
                each_declaration(from_mut(&mut **then), f);
                if let Some(other) = other {
                    each_declaration(from_mut(&mut **other), f);
                }
            }
            StmtKind::While(_, body)
            | StmtKind::DoWhile(body, _)
            | StmtKind::Switch(_, body)
            | StmtKind::For { body, .. }
            | StmtKind::Case(_, _, body)
            | StmtKind::Default(body)
            | StmtKind::Label(_, body) => each_declaration(from_mut(&mut **body), f),
            _ => {}
        }
    }
}
