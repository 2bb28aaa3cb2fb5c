//! Pointers that move, but not in this loop.
//!
//! Of a fat pointer that is only looked at in a loop, the number of elements that remain is
//! computed where the pointer is assigned; then one comparison with it accepts nearly every index.
//! What fails it gets the full test: an index may well be negative.
//!
//! Needs: bodies after `removal`. Changes: checks of one element into `near`; adds variables.
//! Guarantees: the checks fail as before.

use crate::counted::new_temp;
use crate::loops;
use crate::uses::{self, At, Writes};
use mir::cfg::Cfg;
use mir::ir::*;
use rustc_hash::FxHashMap;
use source::Span;
use typing::types::Bounds;

/// A pointer that is assigned in more places walks.
const MOST_WRITES: u32 = 3;

/// Rewrites the body.
pub fn run(program: &Program, body: &mut Body) {
    let any = body.blocks.iter().flat_map(|b| &b.stmts).any(|s| uses::single_check(&s.kind).is_some());
    if !any || !body.address_labels.is_empty() || mir::twice::returns_twice(program, body) {
        return;
    }
    let writes = Writes::of(body);
    let cfg = Cfg::new(body);
    let loops = loops::natural(&cfg, &cfg.dominators());
    let mut found: FxHashMap<Local, Vec<At>> = FxHashMap::default();
    for (block, data) in body.blocks.iter().enumerate() {
        for (stmt, s) in data.stmts.iter().enumerate() {
            let at = At { block, stmt };
            let pointer = uses::single_check(&s.kind).and_then(|l| rests(program, body, &writes, &loops, l, at));
            if let Some(pointer) = pointer {
                found.entry(pointer).or_default().push(at);
            }
        }
    }
    let mut found: Vec<(Local, Vec<At>)> = found.into_iter().collect();
    found.sort_by_key(|f| f.0);
    let mut measured: Vec<(At, Stmt)> = vec![];
    for (pointer, checks) in found {
        let span = body.locals.get(pointer.0 as usize).map_or(Span::NONE, |d| d.span);
        let left = new_temp(body, program.types.common.ulong, span);
        if let Some(decl) = body.locals.get_mut(left.0 as usize) {
            decl.kind = LocalKind::Var;
        }
        let measure = |span| Stmt {
            kind: StmtKind::set(left, Rvalue::Remaining(Operand::local(pointer))),
            span,
            is_unsafe: false,
        };
        if writes.count(pointer) == 0 {
            measured.push((At { block: 0, stmt: 0 }, measure(span)));
        }
        for &at in writes.places(pointer) {
            let span = body.blocks.get(at.block).and_then(|b| b.stmts.get(at.stmt)).map_or(span, |s| s.span);
            measured.push((At { stmt: at.stmt + 1, ..at }, measure(span)));
        }
        for at in checks {
            let stmt = body.blocks.get_mut(at.block).and_then(|b| b.stmts.get_mut(at.stmt));
            if let Some(check) = stmt.and_then(|s| s.kind.as_check_mut()) {
                if let Some((element, _)) = check.as_access() {
                    *check = Check::Near(element.clone(), Operand::local(left));
                }
            }
        }
    }
    measured.sort_by_key(|m| m.0);
    for (at, stmt) in measured.into_iter().rev() {
        if let Some(block) = body.blocks.get_mut(at.block) {
            block.stmts.insert(at.stmt.min(block.stmts.len()), stmt);
        }
    }
}

/// The pointer that `element` is an element of, if the check stands in a loop that does not move
/// it.
fn rests(
    program: &Program,
    body: &Body,
    writes: &Writes,
    loops: &[Vec<usize>],
    element: Local,
    check: At,
) -> Option<Local> {
    let (made, value) = writes.single(body, element)?;
    let (from, _) = value.as_offset()?;
    let pointer = uses::whole(from)?;
    let decl = body.locals.get(pointer.0 as usize)?;
    let fat = program.types.as_pointer(decl.ty.ty).is_some_and(|p| p.bounds == Bounds::Fat);
    let plain = !decl.address_taken && !decl.ty.quals.is_volatile && decl.kind != LocalKind::Temp;
    let arrives = decl.kind == LocalKind::Param && writes.count(pointer) == 0;
    let assigned = writes.count(pointer) > 0 && decl.kind == LocalKind::Var;
    if !fat || !plain || !(arrives || assigned) || writes.count(pointer) > MOST_WRITES {
        return None;
    }
    if made.block != check.block || made.stmt > check.stmt {
        return None;
    }
    let resting = |blocks: &Vec<usize>| {
        let here = blocks.binary_search(&check.block).is_ok();
        here && writes.places(pointer).iter().all(|w| blocks.binary_search(&w.block).is_err())
    };
    loops.iter().any(resting).then_some(pointer)
}
