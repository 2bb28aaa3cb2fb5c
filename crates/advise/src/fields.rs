//! Fields that own heap objects: what is stored in them is released through them.

use crate::allocators::Role;
use crate::program::Context;
use crate::summary::Frees;
use flow::framework::{points, Point};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::types::{RecordKind, Ty, TyKind};

/// Names of fields, as `tag.field`, or `tag.field[]` for elements of what the field points at.
pub type Fields = FxHashSet<String>;

/// The field that a place is, or is an element of.
pub fn field_of(cx: &Context, body: &Body, at: Point, place: &Place) -> Option<String> {
    let (last, before) = place.proj.split_last()?;
    match last {
        Proj::Field(n) => {
            let record = mir::ty::prefix_ty(cx.program, body, place, before.len()).ok()?;
            let record = cx.program.types.record(cx.program.types.as_record(record.ty)?);
            // What a member of a union holds is handed on by its owner under other names.
            (record.kind == RecordKind::Struct).then_some(())?;
            let field = record.fields.as_ref()?.get(*n as usize)?.name?;
            Some(format!("{}.{}", record.tag?.as_str(), field.as_str()))
        }
        Proj::Deref => {
            before.is_empty().then_some(())?;
            let from = source(body, at, &Place { base: place.base, proj: vec![] })?;
            Some(field_of(cx, body, at, &from)? + "[]")
        }
        Proj::Index(_) => {
            let outer = Place { base: place.base, proj: before.to_vec() };
            Some(field_of(cx, body, at, &outer)? + "[]")
        }
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
        let from = value.same_bits().or(value.as_offset().map(|(from, _)| from))?.place()?;
        if !from.proj.is_empty() {
            return Some(from.clone());
        }
        wanted = from.clone();
    }
    None
}

/// What an assignment copies as it is or as another type, and where to.
fn copied(kind: &StmtKind) -> Option<(&Place, &Operand)> {
    let (dest, value) = kind.as_assign()?;
    Some((dest, value.same_bits()?))
}

/// Adds the fields through which the bodies of a unit release objects.
pub fn released(cx: &Context, found: &mut Fields) {
    for body in &cx.program.bodies {
        for (at, s) in points(body) {
            let Some(Call { callee, args, .. }) = s.kind.as_call() else { continue };
            let entry = cx.entry(body, at, callee, args);
            for (n, arg) in args.iter().enumerate() {
                let frees = match (entry.map(|e| e.role), cx.summary(callee)) {
                    (Some(Role::Release { object }), _) => object as usize == n,
                    // What is released sometimes only has a count of references, say.
                    (None, Some(summary)) => summary.params.get(n).is_some_and(|p| p.frees == Frees::Always),
                    _ => false,
                };
                let Some(place) = arg.place().filter(|_| frees) else { continue };
                let from = if place.proj.is_empty() { source(body, at, place) } else { Some(place.clone()) };
                found.extend(from.and_then(|from| field_of(cx, body, at, &from)));
            }
        }
    }
}

/// Adds the fields that share what they point at with other places, or are resized: what is read
/// from one is stored elsewhere, or passed to what may keep it; or what is stored in one was read
/// from memory or is a parameter. Coarse: a variable counts for the whole body.
pub fn shared(cx: &Context, found: &mut Fields) {
    for body in &cx.program.bodies {
        let (fields, foreign) = origins(cx, body);
        let of = |at: Point, operand: &Operand| -> Vec<String> {
            match operand.place() {
                Some(p) if p.proj.is_empty() => fields.get(&p.base).cloned().unwrap_or_default(),
                Some(p) => field_of(cx, body, at, p).into_iter().collect(),
                None => vec![],
            }
        };
        for (at, s) in points(body) {
            let outlasts = |p: &Place| !p.proj.is_empty() || matches!(p.base, PlaceBase::Global(_));
            if let Some((dest, from)) = copied(&s.kind).filter(|(dest, _)| outlasts(dest)) {
                let own = field_of(cx, body, at, dest);
                let read = of(at, from);
                let is_foreign = from.place().is_some_and(|p| !p.proj.is_empty() || foreign.contains(&p.base));
                if !own.as_ref().is_some_and(|own| read.contains(own)) {
                    found.extend(read);
                    found.extend(own.filter(|_| is_foreign));
                }
            }
            if let Some(Call { callee, args, .. }) = s.kind.as_call() {
                let role = cx.entry(body, at, callee, args).map(|e| e.role);
                for (n, arg) in args.iter().enumerate() {
                    let keeps = match (role, cx.summary(callee)) {
                        (Some(Role::Resize { object }), _) => object as usize == n,
                        (Some(_), _) => false,
                        (None, Some(summary)) => summary.params.get(n).is_some_and(|p| p.kept.is_some()),
                        (None, None) => false,
                    };
                    if keeps {
                        found.extend(of(at, arg));
                    }
                }
            }
        }
    }
}

/// Whether a call may give an object of another size than its allocation shows: it is neither an
/// allocator nor a function that returns a fresh object of one size.
fn gives_any(cx: &Context, body: &Body, at: Point, callee: &Callee) -> bool {
    let allocates = cx.callee_name(body, at, callee).is_some_and(|name| cx.table.get(&name).is_some());
    let one_size = || cx.summary(callee).and_then(|s| s.fresh.as_ref()).is_some_and(|f| f.bytes.is_some());
    !allocates && !one_size()
}

/// By local: the fields that what it holds was read from; and the locals that are parameters, or
/// hold what was read from any memory or may be an object of any size.
fn origins(cx: &Context, body: &Body) -> (FxHashMap<PlaceBase, Vec<String>>, FxHashSet<PlaceBase>) {
    let mut fields: FxHashMap<PlaceBase, Vec<String>> = FxHashMap::default();
    let mut foreign: FxHashSet<PlaceBase> = (0..body.params).map(|n| PlaceBase::Local(Local(n))).collect();
    for (at, s) in points(body) {
        let Some(call) = s.kind.as_call() else { continue };
        foreign.extend(call.dest.as_ref().filter(|_| gives_any(cx, body, at, call.callee)).map(|d| d.base));
    }
    loop {
        let mut changed = false;
        for (at, s) in points(body) {
            let Some((dest, from)) = copied(&s.kind) else { continue };
            let (true, Some(from)) = (dest.proj.is_empty(), from.place()) else { continue };
            let is_pointer =
                mir::ty::place_ty(cx.program, body, dest).is_ok_and(|q| cx.program.types.as_pointer(q.ty).is_some());
            if !is_pointer {
                continue;
            }
            let new: Vec<String> = match from.proj.is_empty() {
                true => fields.get(&from.base).cloned().unwrap_or_default(),
                false => field_of(cx, body, at, from).into_iter().collect(),
            };
            if !from.proj.is_empty() || foreign.contains(&from.base) {
                changed |= foreign.insert(dest.base);
            }
            let slot = fields.entry(dest.base).or_default();
            for name in new {
                if !slot.contains(&name) {
                    slot.push(name);
                    changed = true;
                }
            }
        }
        if !changed {
            return (fields, foreign);
        }
    }
}

/// Whether a type is a list node beside its data: a struct of pointers to its own type and one
/// `void *`.
pub fn is_list_node(cx: &Context, ty: Ty) -> bool {
    let types = &cx.program.types;
    let Some(record) = types.as_record(ty) else { return false };
    let Some(fields) = types.record(record).fields.clone() else { return false };
    let target = |ty: Ty| types.as_pointer(ty).map(|p| p.target.ty);
    let links = fields.iter().filter(|f| target(f.ty.ty) == Some(ty)).count();
    let is_void = |to: Ty| matches!(types.kind(to), TyKind::Void);
    let data = fields.iter().filter(|f| target(f.ty.ty).is_some_and(is_void)).count();
    links > 0 && data == 1 && links + data == fields.len()
}
