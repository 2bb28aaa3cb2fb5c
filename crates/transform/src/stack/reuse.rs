//! Linear allocation with re-use: where an object is freed and the next thing that happens to the
//! heap is the allocation of one like it, the second takes the memory of the first.
//!
//! After Reinking, Xie, de Moura and Leijen, "Perceus: Garbage Free Reference Counting with Reuse"
//! (PLDI 2021), for unique pointers, which are known to have no other users at that point. Between
//! the two there is no call and nothing that may collect, so that no more memory is in use than
//! before.
//!
//! Needs: bodies whose ownership was checked. Changes: `Dispose` of an object all of whose parts
//! are gone becomes a move into a temporary, which `alloc` has as `reuse`. Guarantees: the runtime
//! compares sizes, and frees what does not fit, so a choice that is wrong here costs a little time
//! and nothing else.

use super::{Outcome, Placed};
use crate::counted::new_temp;
use mir::cfg::Cfg;
use mir::ir::*;
use mir::ty::{operand_ty, owns, place_ty, same_shape};
use typing::types::{Bounds, Own, Region, Ty, TyKind, TypeStore};

/// An allocation that can take what is freed.
struct Pair {
    freed: (usize, usize),
    made: (usize, usize),
    ty: Ty,
}

/// Pairs what is freed in one body with what is allocated after it.
pub fn run(program: &Program, body: &mut Body, placed: &mut Vec<Placed>) {
    let any = |test: fn(&StmtKind) -> bool| body.blocks.iter().flat_map(|b| &b.stmts).any(|s| test(&s.kind));
    if !any(|k| k.as_dispose().is_some()) || !any(is_alloc) {
        return;
    }
    let cfg = Cfg::new(body);
    let mut pairs: Vec<Pair> = vec![];
    for (b, block) in body.blocks.iter().enumerate() {
        for (n, stmt) in block.stmts.iter().enumerate() {
            let Some((ty, target)) = freed(program, body, stmt) else { continue };
            let Some(made) = next_alloc(program, body, &cfg, (b, n + 1), target) else { continue };
            if pairs.iter().all(|p| p.made != made) {
                pairs.push(Pair { freed: (b, n), made, ty });
            }
        }
    }
    for pair in pairs {
        let span = body.blocks[pair.freed.0].stmts[pair.freed.1].span;
        let temp = new_temp(body, pair.ty, span);
        if let Some(stmt) = statement(body, pair.freed) {
            let Some(Disposal { value, .. }) = stmt.kind.as_dispose() else { continue };
            stmt.kind = StmtKind::set(temp, Rvalue::Use(value.clone()));
        }
        let Some(stmt) = statement(body, pair.made) else { continue };
        if let Some(reuse) = stmt.kind.as_assign_mut().and_then(|(_, value)| value.reuse_mut()) {
            *reuse = Some(Operand::Move(Place::local(temp)));
        }
        let made = stmt.span;
        placed.retain(|p| p.span != made);
        placed.push(Placed { span: made, outcome: Outcome::Reused(span) });
    }
}

fn statement(body: &mut Body, at: (usize, usize)) -> Option<&mut Stmt> {
    body.blocks.get_mut(at.0)?.stmts.get_mut(at.1)
}

fn is_alloc(kind: &StmtKind) -> bool {
    kind.value().is_some_and(|value| value.as_alloc().is_some())
}

/// A statement that frees one object of the heap, from which everything that it owned was moved
/// elsewhere: the pointer's type and the object's.
fn freed(program: &Program, body: &Body, stmt: &Stmt) -> Option<(Ty, Ty)> {
    let Disposal { value: value @ Operand::Move(_), handle: None, moved } = stmt.kind.as_dispose()? else {
        return None;
    };
    let ty = operand_ty(program, body, value).ok()?;
    let TyKind::Ptr(p) = program.types.kind(ty) else { return None };
    let in_heap = match p.region {
        Region::Heap => true,
        Region::Infer(n) => body.infer_owes.get(n as usize) == Some(&Some(Region::Heap)),
        _ => false,
    };
    let plain = p.own == Own::Unique && p.bounds == Bounds::Thin && in_heap && !stmt.is_unsafe;
    let empty = is_empty(&program.types, p.target.ty, &mut vec![], moved) || source::broken!(39);
    (plain && empty).then_some((ty, p.target.ty))
}

/// Whether all that a value of the type owns is among the parts that were moved out.
fn is_empty(types: &TypeStore, ty: Ty, path: &mut Vec<Proj>, moved: &[Vec<Proj>]) -> bool {
    if !owns(types, ty) || moved.contains(path) {
        return true;
    }
    let Some(id) = types.as_record(ty) else { return false };
    let Some(fields) = types.records.get(id.0 as usize).and_then(|r| r.fields.clone()) else { return false };
    fields.iter().enumerate().all(|(n, field)| {
        path.push(Proj::Field(n as u32));
        let empty = field.tagged_by.is_none() && is_empty(types, field.ty.ty, path, moved);
        path.pop();
        empty
    })
}

/// The first allocation after a point, if nothing else happens to the heap before, and it is of
/// one object like `target`.
fn next_alloc(program: &Program, body: &Body, cfg: &Cfg, from: (usize, usize), target: Ty) -> Option<(usize, usize)> {
    let (mut block, mut first) = from;
    for _ in 0..body.blocks.len() {
        let code = body.blocks.get(block)?;
        for (n, stmt) in code.stmts.iter().enumerate().skip(first) {
            if is_alloc(&stmt.kind) {
                return fits(program, body, stmt, target).then_some((block, n));
            }
            match stmt.kind.action() {
                Action::None | Action::Storage | Action::Check | Action::Fill => {}
                Action::Assign => {
                    let value = stmt.kind.value()?;
                    (!value.is_new() && value.as_retain().is_none()).then_some(())?;
                }
                Action::Call
                | Action::Assembly
                | Action::Copy
                | Action::Arguments
                | Action::Owner
                | Action::Region
                | Action::Send
                | Action::Channel => return None,
            }
        }
        let next = code.term.kind.as_goto()?;
        if cfg.predecessors(next).len() != 1 {
            return None;
        }
        (block, first) = (next.0 as usize, 0);
    }
    None
}

fn fits(program: &Program, body: &Body, stmt: &Stmt, target: Ty) -> bool {
    let Some((dest, value)) = stmt.kind.as_assign() else { return false };
    let Some(Allocation {
        elem,
        count,
        extra: None,
        hidden_zero: false,
        fallible: false,
        handle: None,
        counted: false,
        reuse: None,
    }) = value.as_alloc()
    else {
        return false;
    };
    let types = &program.types;
    let region = place_ty(program, body, dest).ok().and_then(|q| types.as_pointer(q.ty)).map(|p| p.region);
    let one = matches!(count, Operand::Const(Const::Int(1, _)));
    let size = |ty| types.layout(ty).map(|l| l.size);
    let alike = same_shape(types, *elem, target)
        || !types.has_pointers(*elem)
            && !types.has_pointers(target)
            && size(*elem).is_some()
            && size(*elem) == size(target);
    one && alike && !stmt.is_unsafe && region.is_some_and(|r| r != Region::Exchange)
}
