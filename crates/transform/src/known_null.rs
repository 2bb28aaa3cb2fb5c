//! Accesses through thin pointers that are certainly null.
//!
//! A thin access has no check: page zero traps. But the C compiler may reorder loads where nothing
//! observable lies between them, and does so more often where it knows the address, so the trap may
//! come at the next line. Where the analysis knows that the pointer is null, a check before the
//! access reports it at its own line.
//!
//! Needs: `flow::ranges`. Changes: adds checks that always fail. Guarantees: no access that would
//! not have trapped is checked.

use flow::framework::Item;
use flow::ranges::View;
use mir::effects::{stmt_places, term_places, Access};
use mir::ir::*;
use typing::types::Bounds;

/// Whether the body may have such an access: it makes a pointer null, and something is read or
/// written through one.
pub fn may_have(body: &Body) -> bool {
    let null = |kind: &StmtKind| kind.value().is_some_and(Rvalue::is_null) || kind.as_zero().is_some();
    body.blocks.iter().flat_map(|b| &b.stmts).any(|s| null(&s.kind))
}

/// The check that belongs before a statement or terminator, if the pointer of its first access is
/// null on every path there.
pub fn check(program: &Program, body: &Body, view: &View, item: Item) -> Option<Stmt> {
    let mut pointer = None;
    let mut see = |place: &Place, access: Access| {
        if pointer.is_none() && access != Access::Address {
            pointer = null_base(program, body, view, place);
        }
    };
    let span = match item {
        Item::Stmt(stmt) if stmt.is_unsafe || stmt.kind.as_check().is_some() => return None,
        Item::Stmt(stmt) => {
            // A call's result is written when the call has been made.
            let is_call = stmt.kind.as_call().is_some();
            stmt_places(&stmt.kind, &mut |place, access| {
                if !(is_call && access == Access::Write) {
                    see(place, access);
                }
            });
            stmt.span
        }
        Item::Term(term) => {
            term_places(&term.kind, &mut see);
            term.span
        }
    };
    pointer.map(|p| Stmt { kind: StmtKind::Check(Check::NotNull(p)), span, is_unsafe: false })
}

/// The first pointer on the way to the place, if it is thin and null.
fn null_base(program: &Program, body: &Body, view: &View, place: &Place) -> Option<Operand> {
    let at = place.proj.iter().position(|step| *step == Proj::Deref)?;
    let mut base = place.clone();
    base.proj.truncate(at);
    let ty = mir::ty::place_ty(program, body, &base).ok()?;
    let thin = program.types.as_pointer(ty.ty).is_some_and(|p| p.bounds == Bounds::Thin);
    let pointer = Operand::Copy(base);
    let null = thin && view.value(&pointer).is_some_and(|r| r.constant() == Some(0));
    null.then_some(pointer)
}
