//! Loops over a range of constants that is not empty: `for (i = 0; i < 3; i++)`.
//!
//! The first test of such a loop is known to hold, so what its body assigns is assigned after it.
//! A graph has one edge out of the test for all rounds; this makes a copy of the body in which the
//! way into the loop passes the test by.
//!
//! Needs: constant conditions folded. Changes: nothing; the copy is to be analysed, never emitted.
//! Guarantees: each path of the program is one of the copy, but for tests, which assign only
//! temporaries.

use crate::framework::{const_truth, whole_local};
use mir::ir::*;
use std::collections::HashMap;
use typing::types::{TyKind, TypeStore};

/// What locals hold at a point.
type Known = HashMap<Local, i128>;

/// The body with the first tests left out that are known to hold; none if there are none.
pub(crate) fn passed(types: &TypeStore, body: &Body) -> Option<Body> {
    let mut entered = None;
    for (n, block) in body.blocks.iter().enumerate() {
        // Of a loop that runs once at most the test stands where it is entered.
        let test = block.term.kind.as_goto();
        let Some(first) = holds(types, body, block, test) else { continue };
        let copy = entered.get_or_insert_with(|| body.clone());
        if let Some(block) = copy.blocks.get_mut(n) {
            block.term.kind = TermKind::Goto(first);
        }
    }
    entered
}

/// The block that a test leads to, if it is true after `before`: one at the end of that block, or
/// in one of its own, which does nothing else.
fn holds(types: &TypeStore, body: &Body, before: &Block, test: Option<BlockId>) -> Option<BlockId> {
    let alone = match test {
        Some(test) => Some(body.blocks.get(test.0 as usize)?),
        None => None,
    };
    let (condition, first, _) = alone.unwrap_or(before).term.kind.as_if()?;
    let mut known = Known::new();
    for stmt in &before.stmts {
        match stmt.kind.as_assign() {
            Some((dest, value)) if dest.as_local().is_some() => assign(types, body, dest, value, &mut known),
            _ if stmt.kind.begins().is_some() => {}
            _ => known.clear(),
        }
    }
    for stmt in alone.iter().flat_map(|test| &test.stmts) {
        let (dest, value) = stmt.kind.as_assign()?;
        body.locals.get(dest.as_local()?.0 as usize).filter(|l| l.kind == LocalKind::Temp)?;
        assign(types, body, dest, value, &mut known);
    }
    let truth = const_truth(condition).or_else(|| known.get(&whole_local(condition)?).map(|n| *n != 0));
    (truth == Some(true)).then_some(first)
}

fn assign(types: &TypeStore, body: &Body, dest: &Place, value: &Rvalue, known: &mut Known) {
    let Some(local) = dest.as_local() else { return };
    let value = evaluate(types, value, known);
    let is_volatile = body.locals.get(local.0 as usize).is_none_or(|l| l.ty.quals.is_volatile);
    match value.filter(|_| !is_volatile) {
        Some(value) => known.insert(local, value),
        None => known.remove(&local),
    };
}

/// The value of an integer or a comparison of two.
fn evaluate(types: &TypeStore, value: &Rvalue, known: &Known) -> Option<i128> {
    let of = |operand: &Operand| match operand {
        Operand::Const(Const::Int(n, _)) => Some(*n),
        _ => known.get(&whole_local(operand)?).copied(),
    };
    if let Some(a) = value.as_use() {
        return of(a);
    }
    if let Some(a) = value.as_truth() {
        return of(a).map(|n| i128::from(n != 0));
    }
    if let Some((a, ty)) = value.as_numeric() {
        let to_bool = matches!(types.kind(ty), TyKind::Bool);
        return if to_bool { None } else { Some(types.as_int(ty)?.wrap(of(a)?)) };
    }
    let (op, a, b, _) = value.comparison()?;
    op.compare(&of(a)?, &of(b)?).map(i128::from)
}
