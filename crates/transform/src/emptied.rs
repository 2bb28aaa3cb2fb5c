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
            let Some((a, b)) = stmt.kind.as_swap() else { continue };
            for (taken, slot) in [(a, b), (b, a)] {
                if is_fixed(body, slot) && taken.as_local().is_some_and(|l| is_null(block, at, l)) {
                    empty.extend(drop_behind(program, body, block, at, slot).map(|drop| (n, drop)));
                }
            }
        }
    }
    for (n, at) in empty {
        let stmt = body.blocks.get_mut(n).and_then(|block| block.stmts.get_mut(at));
        stmt.into_iter().for_each(Stmt::remove);
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
        let kind = &stmt.kind;
        if let Some(value) = kind.assigned_to(local) {
            return value.is_null();
        }
        let leaves_it = match kind.action() {
            Action::None | Action::Check => true,
            Action::Assign => kind.as_assign().is_some_and(|(dest, _)| dest.as_local().is_some()),
            Action::Storage => kind.begins().is_some_and(|other| other != local),
            Action::Fill
            | Action::Call
            | Action::Assembly
            | Action::Copy
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => false,
        };
        if !leaves_it {
            return false;
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
        let kind = &stmt.kind;
        if kind.as_drop_slot() == Some(slot) {
            return Some(at);
        }
        let leaves_it = match kind.action() {
            Action::None | Action::Check | Action::Storage => true,
            Action::Assign => {
                kind.as_assign().is_some_and(|(dest, value)| !value.is_new() && keeps(program, body, dest, slot))
            }
            Action::Call => {
                let to = kind.as_call()?.dest.as_ref();
                calls_leaf(program, kind) && to.is_none_or(|dest| keeps(program, body, dest, slot))
            }
            Action::Fill
            | Action::Assembly
            | Action::Copy
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => false,
        };
        if !leaves_it {
            return None;
        }
    }
    None
}

/// Whether the call is one of a function of C that calls nothing.
fn calls_leaf(program: &Program, call: &StmtKind) -> bool {
    let function = call.called().and_then(|func| program.functions.get(func.func.0 as usize));
    function.is_some_and(|f| {
        f.trust == typing::tree::Trust::Trusted && mir::leaves::is_leaf(f.symbol.unwrap_or(f.name).as_str())
    })
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
