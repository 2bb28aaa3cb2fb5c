//! Slots that have just been emptied: `t :=: s->text; ...; s->text = t;` frees nothing.
//!
//! What is in a slot is worked on after it was exchanged for null, and put back. The assignment
//! that puts it back drops what the slot holds, which is a test, a call, and a copy of `t`'s base
//! for the collector, since a drop may run it.
//!
//! Needs: instances, so that types say what owns something. Changes: drops of a slot that is null
//! become nothing. Guarantees: within one block, from an exchange with a local that was set to null
//! to the drop, no statement can put something into the slot: only assignments and exchanges of
//! what owns something, disposal, and calls of code that is not known can, for what owns something
//! is never copied (I7).

use mir::ir::*;
use mir::ty::{owns, place_ty};

/// Takes out the drops of one body.
pub fn run(program: &Program, body: &mut Body) {
    let mut empty = vec![];
    for (n, block) in body.blocks.iter().enumerate() {
        for (at, stmt) in block.stmts.iter().enumerate() {
            let StmtKind::Swap(a, b) = &stmt.kind else { continue };
            for (taken, slot) in [(a, b), (b, a)] {
                if is_fixed(body, slot) && taken.as_local().is_some_and(|l| is_null(block, at, l)) {
                    empty.extend(drop_behind(program, body, block, at, slot).map(|drop| (n, drop)));
                }
            }
        }
    }
    for (n, at) in empty {
        let stmt = body.blocks.get_mut(n).and_then(|block| block.stmts.get_mut(at));
        stmt.into_iter().for_each(|stmt| stmt.kind = StmtKind::Nop);
    }
}

/// Whether the place is behind one pointer in a local, at fixed fields: it is the same as long as
/// the local is.
fn is_fixed(body: &Body, slot: &Place) -> bool {
    let PlaceBase::Local(local) = slot.base else { return false };
    let plain = body.locals.get(local.0 as usize).is_some_and(|l| !l.address_taken && !l.ty.quals.is_volatile);
    let fields = slot.proj.iter().skip(1).all(|step| step.is_field());
    plain && slot.proj.first() == Some(&Proj::Deref) && fields
}

/// Whether the local was set to null before the statement, and not written since.
fn is_null(block: &Block, at: usize, local: Local) -> bool {
    for stmt in block.stmts.iter().take(at).rev() {
        match &stmt.kind {
            StmtKind::Assign(dest, value) if dest.as_local() == Some(local) => {
                return matches!(value, Rvalue::Use(Operand::Const(Const::Null(_))));
            }
            StmtKind::Assign(dest, _) if dest.as_local().is_some() => {}
            StmtKind::StorageLive(other) if *other != local => {}
            StmtKind::Nop | StmtKind::Prove(_) | StmtKind::Check(_) => {}
            _ => return false,
        }
    }
    false
}

/// The drop of the slot after a statement, if nothing on the way can fill it.
fn drop_behind(program: &Program, body: &Body, block: &Block, from: usize, slot: &Place) -> Option<usize> {
    for (at, stmt) in block.stmts.iter().enumerate().skip(from + 1) {
        if stmt.is_unsafe {
            return None;
        }
        match &stmt.kind {
            StmtKind::DropSlot(place) if place == slot => return Some(at),
            StmtKind::Nop | StmtKind::Prove(_) | StmtKind::Check(_) => {}
            StmtKind::StorageLive(_) => {}
            // The end of a cursor puts back what it took out of a slot.
            StmtKind::StorageDead(local) if !is_cursor(body, *local) => {}
            StmtKind::Assign(_, Rvalue::Alloc { .. } | Rvalue::NewKey(..) | Rvalue::VaArg(..)) => return None,
            StmtKind::Assign(dest, _) if keeps(program, body, dest, slot) => {}
            StmtKind::Call { dest, callee: Callee::Direct(func), .. } => {
                let function = program.functions.get(func.func.0 as usize)?;
                let symbol = function.symbol.unwrap_or(function.name);
                let known = function.trust == typing::tree::Trust::Trusted && mir::leaves::is_leaf(symbol.as_str());
                if !known || dest.as_ref().is_some_and(|dest| !keeps(program, body, dest, slot)) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    None
}

fn is_cursor(body: &Body, local: Local) -> bool {
    let begins = |stmt: &Stmt| stmt.kind.as_cursor().is_some_and(|(cursor, _)| cursor == local);
    body.blocks.iter().flat_map(|block| &block.stmts).any(begins)
}

/// Whether a store leaves the slot alone: it is not a store of something that owns, and the path to
/// the slot stays the same.
fn keeps(program: &Program, body: &Body, dest: &Place, slot: &Place) -> bool {
    let apart = |local: Local| body.locals.get(local.0 as usize).is_some_and(|l| !l.address_taken);
    match dest.as_local() {
        Some(local) if PlaceBase::Local(local) == slot.base => false,
        Some(local) if apart(local) => true,
        _ => place_ty(program, body, dest).is_ok_and(|q| !owns(&program.types, q.ty)),
    }
}
