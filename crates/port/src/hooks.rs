//! Allocators behind pointers: `hooks->allocate(n)`, where a struct keeps `malloc` and `free`.
//!
//! Memory gets its type where it is allocated, so `malloc` has no address. A struct whose fields get
//! it is one of hooks: calls through its fields become calls of `malloc`, `realloc` and `free`, and
//! where the functions were stored stands null. What a program puts there of its own is not called
//! any more, so such a finding is likely at most; and it is made for all calls, or for none.

use crate::slots::place_of;
use crate::{Finding, Kind, Unit};
use source::{fix, Applicability, Placed, PlacedFix, Span, Symbol};
use std::collections::BTreeSet;
use typing::tree::{Callee, Expr, ExprKind, Stmt};
use typing::types::{RecordId, Ty, TyKind};
use typing::walk::{children, stmt_children, Part};

/// The finding for all files, if there is one.
pub fn findings(units: &[Unit]) -> Vec<Finding> {
    // A function of the language is stored somewhere: where, the trees do not say.
    if units.iter().all(|unit| unit.allocators.is_empty()) {
        return vec![];
    }
    let (mut edits, mut subjects, mut names) = (BTreeSet::new(), vec![], vec![]);
    let mut whole = true;
    for unit in units {
        let mut calls = vec![];
        for body in unit.tree.functions.iter().filter_map(|f| f.body.as_ref()) {
            body.block.stmts.iter().for_each(|s| in_stmt(unit, s, &mut calls));
        }
        for (callee, function) in calls {
            match replaced(unit, callee, function) {
                Some(edit) => drop(edits.insert(edit)),
                None => whole = false,
            }
            subjects.push(place_of(unit, callee));
            let mut words = unit.map.snippet(callee).split(|c: char| !c.is_alphanumeric() && c != '_');
            names.extend(words.next_back().map(Symbol::new));
        }
    }
    if edits.is_empty() || !whole {
        return vec![];
    }
    for unit in units {
        // One that a macro makes is left to the user.
        edits.extend(unit.allocators.iter().filter_map(|at| replaced(unit, *at, "nullptr")));
    }
    let fix = PlacedFix { applicability: Applicability::Likely, edits: edits.into_iter().collect() };
    vec![Finding { kind: Kind::Hooks, subjects, names, part: 0, words: "malloc".to_string(), fix, cluster: 0 }.sorted()]
}

fn replaced(unit: &Unit, span: Span, text: &str) -> Option<Placed> {
    let at = fix::place(unit.map, span)?;
    let (column, end_column) = (at.column, at.end_column);
    Some(Placed { file: at.file, line: at.line, column, end_column, text: text.to_string() })
}

fn in_stmt(unit: &Unit, s: &Stmt, all: &mut Vec<(Span, &'static str)>) {
    stmt_children(s, &mut |part| match part {
        Part::Expr(e) => in_expr(unit, e, all),
        Part::Stmt(s) => in_stmt(unit, s, all),
    });
}

fn in_expr(unit: &Unit, e: &Expr, all: &mut Vec<(Span, &'static str)>) {
    if let ExprKind::Call(Callee::Pointer(value), ty, _) = &*e.kind {
        if let (Some(record), Some(function)) = (hooks(unit, value), allocator(unit, *ty)) {
            let field = unit.tree.types.record(record).span;
            if has_malloc(unit, record) && !unit.map.is_system(field.lo) {
                all.push((value.span, function));
            }
        }
    }
    if let ExprKind::StmtExpr(block, _) = &*e.kind {
        block.stmts.iter().for_each(|s| in_stmt(unit, s, all));
    }
    children(e, &mut |child| in_expr(unit, child, all));
}

/// The struct that a function pointer is read from.
fn hooks(unit: &Unit, value: &Expr) -> Option<RecordId> {
    match &*value.kind {
        ExprKind::Convert(_, inner) => hooks(unit, inner),
        ExprKind::Load(place) => match &*place.kind {
            ExprKind::Field(base, _) => unit.tree.types.as_record(base.ty.ty),
            _ => None,
        },
        _ => None,
    }
}

fn is_void_pointer(unit: &Unit, ty: Ty) -> bool {
    let target = unit.tree.types.as_pointer(ty).map(|p| p.target.ty);
    target.is_some_and(|target| matches!(unit.tree.types.kind(target), TyKind::Void))
}

/// The function of the malloc family that has this type.
fn allocator(unit: &Unit, ty: Ty) -> Option<&'static str> {
    let types = &unit.tree.types;
    let function = types.as_func(ty)?;
    let params: Vec<Ty> = function.params.iter().map(|p| p.ty).collect();
    let number = |ty: Ty| types.as_int(ty).is_some();
    let gives = is_void_pointer(unit, function.ret);
    match params.as_slice() {
        [n] if gives && number(*n) => Some("malloc"),
        [p, n] if gives && is_void_pointer(unit, *p) && number(*n) => Some("realloc"),
        [p] if matches!(types.kind(function.ret), TyKind::Void) && is_void_pointer(unit, *p) => Some("free"),
        _ => None,
    }
}

/// Whether a struct has a field for `malloc`, and one for `free`.
fn has_malloc(unit: &Unit, record: RecordId) -> bool {
    let types = &unit.tree.types;
    let fields = types.record(record).fields.iter().flat_map(|fields| fields.iter());
    let functions = fields.filter_map(|f| allocator(unit, types.as_pointer(f.ty.ty)?.target.ty));
    let all: BTreeSet<&str> = functions.collect();
    all.contains("malloc") && all.contains("free")
}
