//! Fields that own heap objects: what is stored in them is released through them.

use crate::allocators::Role;
use crate::program::Context;
use crate::summary::Frees;
use flow::framework::Point;
use mir::ir::*;
use rustc_hash::FxHashSet;
use typing::types::{Ty, TyKind};

/// Names of fields, as `tag.field`, or `tag.field[]` for elements of what the field points at.
pub type Fields = FxHashSet<String>;

/// The field that a place is, or is an element of.
pub fn field_of(cx: &Context, body: &Body, at: Point, place: &Place) -> Option<String> {
    match place.proj.split_last()? {
        (Proj::Field(n), before) => {
            let record = mir::ty::prefix_ty(cx.program, body, place, before.len()).ok()?;
            let record = cx.program.types.record(cx.program.types.as_record(record.ty)?);
            let field = record.fields.as_ref()?.get(*n as usize)?.name?;
            Some(format!("{}.{}", record.tag?.as_str(), field.as_str()))
        }
        (Proj::Deref, []) => {
            let from = source(body, at, &Place { base: place.base, proj: vec![] })?;
            Some(field_of(cx, body, at, &from)? + "[]")
        }
        (Proj::Index(_), before) => {
            let outer = Place { base: place.base, proj: before.to_vec() };
            Some(field_of(cx, body, at, &outer)? + "[]")
        }
        _ => None,
    }
}

/// The place that a temporary was read from earlier in the block, casts and steps aside.
fn source(body: &Body, at: Point, temp: &Place) -> Option<Place> {
    let block = body.blocks.get(at.block.0 as usize)?;
    let mut wanted = temp.clone();
    for stmt in block.stmts.get(..at.stmt)?.iter().rev() {
        let Some((dest, value)) = stmt.kind.as_assign() else { continue };
        if *dest != wanted {
            continue;
        }
        let (Rvalue::Use(from) | Rvalue::Bits(from, _) | Rvalue::Offset(from, _)) = value else { return None };
        let from = from.place()?;
        if !from.proj.is_empty() {
            return Some(from.clone());
        }
        wanted = from.clone();
    }
    None
}

/// Adds the fields through which the bodies of a unit release objects.
pub fn released(cx: &Context, found: &mut Fields) {
    for body in &cx.program.bodies {
        for (n, block) in body.blocks.iter().enumerate() {
            for (stmt, s) in block.stmts.iter().enumerate() {
                let StmtKind::Call { callee, args, .. } = &s.kind else { continue };
                let at = Point { block: BlockId(n as u32), stmt };
                let entry = cx.callee_name(body, at, callee).and_then(|name| cx.table.get(&name));
                for (n, arg) in args.iter().enumerate() {
                    let frees = match (entry.map(|e| e.role), cx.summary(callee)) {
                        (Some(Role::Release { object }), _) => object as usize == n,
                        (None, Some(summary)) => summary.params.get(n).is_some_and(|p| p.frees != Frees::Never),
                        _ => false,
                    };
                    let Some(place) = arg.place().filter(|_| frees) else { continue };
                    let from = if place.proj.is_empty() { source(body, at, place) } else { Some(place.clone()) };
                    found.extend(from.and_then(|from| field_of(cx, body, at, &from)));
                }
            }
        }
    }
}

/// Whether a type is a list node beside its data: a struct with a pointer to its own type, and a
/// `void *`.
pub fn is_list_node(cx: &Context, ty: Ty) -> bool {
    let types = &cx.program.types;
    let Some(record) = types.as_record(ty) else { return false };
    let fields = types.record(record).fields.clone();
    let points = |to: &dyn Fn(Ty) -> bool| {
        fields.iter().flat_map(|f| f.iter()).any(|f| types.as_pointer(f.ty.ty).is_some_and(|p| to(p.target.ty)))
    };
    points(&|to| to == ty) && points(&|to| matches!(types.kind(to), TyKind::Void))
}
