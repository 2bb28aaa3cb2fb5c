//! What held a count and was moved out of memory is left empty.
//!
//! Needs: checked and erased MIR. Guarantees: a heap object never holds a counted pointer or key
//! that it does not own any more. So when the collector finds it dead (its task was shut down
//! between the move and the end of the owner), the counts that it takes back are its own.

use mir::effects::{parts_mut, PartMut};
use mir::ir::*;
use mir::ty::{holds_counts, place_ty};

/// Empties the places that counts are moved out of, in all bodies.
pub fn empty_moved(program: &mut Program) {
    let (mut bodies, mut instances) = (std::mem::take(&mut program.bodies), std::mem::take(&mut program.instances));
    for body in bodies.iter_mut().chain(&mut instances).filter(|body| !body.unchecked) {
        for block in 0..body.blocks.len() {
            empty_in_block(program, body, block);
        }
    }
    (program.bodies, program.instances) = (bodies, instances);
}

fn empty_in_block(program: &Program, body: &mut Body, block: usize) {
    let Some(stmts) = body.blocks.get_mut(block).map(|b| std::mem::take(&mut b.stmts)) else { return };
    let mut out = Vec::with_capacity(stmts.len());
    for mut stmt in stmts {
        let (span, is_unsafe) = (stmt.span, stmt.is_unsafe);
        let mut moved = vec![];
        parts_mut(&mut stmt.kind, &mut |part| {
            let PartMut::Operand(operand, _) = part else { return };
            let Operand::Move(place) = &*operand else { return };
            let Ok(ty) = place_ty(program, body, place) else { return };
            if !place.has_deref() || !holds_counts(&program.types, ty.ty) {
                return;
            }
            let local = Local(body.locals.len() as u32 + moved.len() as u32);
            moved.push((local, place.clone(), ty.ty));
            *operand = Operand::Move(Place::local(local));
        });
        for (local, place, ty) in moved {
            body.locals.push(LocalDecl::temp(ty, ScopeId(0), span));
            let value = Rvalue::Use(Operand::Move(place.clone()));
            for kind in [StmtKind::set(local, value), StmtKind::Zero(place)] {
                out.push(Stmt { kind, span, is_unsafe });
            }
        }
        out.push(stmt);
    }
    if let Some(b) = body.blocks.get_mut(block) {
        b.stmts = out;
    }
}
