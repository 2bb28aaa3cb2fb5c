//! Cursors that take out what a slot holds while they live.

use crate::ir::*;
use crate::ty::prefix_ty;
use typing::types::{Bounds, Own, Region};

/// Whether others can reach what a cursor works on, so that it takes out what is there and puts
/// back what it leaves. The exchange heap is reached by owners only. `is_cursor` says which locals
/// are cursors.
pub fn takes_out(program: &Program, body: &Body, of: &Place, is_cursor: &dyn Fn(Local) -> bool) -> bool {
    let exchange = |n: usize| {
        let ty = prefix_ty(program, body, of, n).map(|q| q.ty);
        let pointer = ty.ok().and_then(|ty| program.types.as_pointer(ty));
        pointer.is_some_and(|p| p.region == Region::Exchange && p.own == Own::Unique && p.bounds == Bounds::Thin)
    };
    let last = of.proj.len().wrapping_sub(1);
    let exposed = of.proj.last() == Some(&Proj::Deref) && exchange(last);
    let own_way = |(n, step): (usize, &Proj)| match step {
        Proj::Field(_) => true,
        Proj::Deref => exchange(n) || n == 0 && of.base_local().is_some_and(is_cursor),
        Proj::Index(_) => false,
    };
    match exposed {
        true => matches!(of.base, PlaceBase::Global(_)) || !of.proj.iter().enumerate().all(own_way),
        false => matches!(of.base, PlaceBase::Global(_)) || of.proj.iter().any(|s| !s.is_field()),
    }
}

/// Whether the local is a cursor of the body.
pub fn is_cursor(body: &Body, local: Local) -> bool {
    beginning(body, local).is_some()
}

/// What the cursor is on when it begins.
pub fn beginning(body: &Body, cursor: Local) -> Option<&Place> {
    let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
    let (_, of) = stmts.filter_map(|stmt| stmt.kind.as_cursor()).find(|(local, _)| *local == cursor)?;
    Some(of)
}

/// Removes the ends of cursors that take nothing out of a slot. As long as a region is not known a
/// cursor takes out; that it works on the exchange heap may come out later.
pub fn forget_ends(program: &Program, body: &mut Body) {
    let of_cursor = |stmt: &Stmt| stmt.kind.as_cursor_end();
    let mut ends = body.blocks.iter().flat_map(|block| &block.stmts).filter_map(of_cursor).collect::<Vec<_>>();
    let takes = |cursor: Local| {
        let of = beginning(body, cursor);
        of.is_some_and(|of| takes_out(program, body, of, &|local| is_cursor(body, local)))
    };
    ends.retain(|&cursor| !takes(cursor));
    for stmt in body.blocks.iter_mut().flat_map(|block| &mut block.stmts) {
        if of_cursor(stmt).is_some_and(|cursor| ends.contains(&cursor)) {
            stmt.remove();
        }
    }
}
