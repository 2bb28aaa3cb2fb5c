//! A second opinion on ownership and regions, by another technique: an abstract interpreter that
//! walks the paths of a body one by one over a model of memory. Objects, loans of locals, and
//! arenas are *tokens*; a pointer value depends on tokens; releasing kills one. What it finds is a
//! bug of the compiler: a use through a dead token, a release of what is gone or was never owned, a
//! region used while it is closed, something owned that is dropped.
//!
//! It asks nothing of `regions` and `ownership`: declared types and statements are all it reads. It
//! looks at what happens, not at what might: it accepts all that those accept, and more. Bounded:
//! states that were seen at a block end a walk, and so do the budgets.

mod calls;
mod effects;
mod lent;
mod live;
mod memory;
mod places;
mod values;
mod walk;

use mir::ir::*;
use mir::ty::owns;
use mir::verify::VerifyError;

use crate::pass::Known;

/// Blocks that are walked for one body at most, besides one for each block.
const BUDGET: usize = 10_000;

/// Cells of memory, in all states that are compared with later ones, at most. A cell takes some 400
/// bytes, and what branches leave to be walked takes as much again.
const CELLS: usize = 400_000;

/// What the walk of a body gives.
#[derive(Debug, Default)]
pub struct Opinion {
    /// Bugs of the compiler.
    pub errors: Vec<VerifyError>,
    /// A budget ended the walk, so some paths were not checked.
    pub is_cut: bool,
    /// Cells in all states that were kept.
    pub cells: usize,
}

/// Checks one body that the analyses accepted.
pub fn body(program: &Program, known: &Known, body: &Body) -> Opinion {
    if body.unchecked || !is_concerned(program, body) {
        return Opinion::default();
    }
    let func = name(program, body);
    let walked = walk::Walker::new(program, known, body).run(BUDGET + body.blocks.len(), CELLS);
    let errors = walked
        .mistakes
        .into_iter()
        .map(|(block, stmt, message)| VerifyError { func: func.clone(), block: Some(block), stmt: Some(stmt), message })
        .collect();
    Opinion { errors, is_cut: walked.is_cut, cells: walked.cells }
}

/// The name of the function.
pub(crate) fn name(program: &Program, body: &Body) -> String {
    program.functions.get(body.func.func.0 as usize).map_or("?".into(), |f| f.name.to_string())
}

/// Whether the body owns, lends, takes an address or has a region at all.
fn is_concerned(program: &Program, body: &Body) -> bool {
    body.locals.iter().any(|d| d.address_taken || owns(&program.types, d.ty.ty))
        || body.blocks.iter().flat_map(|b| &b.stmts).any(|s| s.kind.as_dispose().is_some())
        || !body.regions.is_empty()
}
