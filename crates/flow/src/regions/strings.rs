//! A buffer of a block as the string argument of a call: its zero is looked for at the call, so
//! it must not be overwritten while the callee reads the string, nor the string kept after the
//! call.
//!
//! Typing refuses other arguments that are pointers to the buffer themselves. Here are those that
//! reach it through the regions of their types.

use mir::ir::*;
use mir::ty::operand_ty;
use source::{Diagnostic, Sink, Span};
use typing::codes::TERMINATOR;
use typing::types::{Bounds, Pointer, Region, Ty, TyKind, TypeStore};

use super::build::{Ref, Solver};
use super::check::origins_of;
use super::origins::{Origin, OriginId};
use super::shape::is_object_pointer;

/// Which pointers count.
type Counts = fn(&Pointer) -> bool;

/// One through which characters of a buffer may be written.
fn writes(p: &Pointer) -> bool {
    !p.bounds.is_terminated() && !p.target.quals.is_const
}

/// One that is read as a string.
fn reads_string(p: &Pointer) -> bool {
    p.bounds.is_terminated()
}

/// Checks all calls of the body.
pub(super) fn check(solver: &mut Solver, sink: &mut Sink) {
    let body = solver.body;
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts).filter(|s| !s.is_unsafe) {
        let Some(Call { dest, callee, args, ty }) = stmt.kind.as_call() else { continue };
        for (n, arg) in args.iter().enumerate() {
            let Some(buffer) = buffer_of(solver, arg) else { continue };
            // A trusted function that writes one argument while it reads another looks for overlap
            // itself.
            let checked = !callee.is_trusted(solver.program);
            let mut others = args.iter().enumerate().filter(|(other, _)| checked && *other != n);
            if others.any(|(_, other)| reaches(solver, other, &buffer.origins, writes)) {
                sink.push(report(buffer.span, "another argument leads to it, and may write over its zero"));
                continue;
            }
            let mut others = args.iter().enumerate().filter(|(other, _)| checked && *other != n);
            if others.any(|(_, other)| keeps(solver, other, &buffer.origins)) {
                sink.push(report(
                    buffer.span,
                    "it may be kept where another argument leads, and its zero be written over later",
                ));
                continue;
            }
            // The result of `[[lee::into(s)]]` gets the bounds that `s` had before it was a string.
            let into = solver.func_ty(*ty).and_then(|f| f.into) == Some(n as u32);
            let kept = dest.as_ref().filter(|_| !into).map(|dest| Operand::Copy(dest.clone()));
            if kept.is_some_and(|dest| reaches(solver, &dest, &buffer.origins, reads_string)) {
                sink.push(report(buffer.span, "the result is a string in it, whose zero may be written over later"));
            }
        }
    }
}

fn report(span: Span, why: &str) -> Diagnostic {
    let message = format!("this array is not null_terminated, and is passed as a string: {why}");
    let help = "declare the array `null_terminated`, keep a string object (`malloc`, `new char[n]`), or pass a copy";
    Diagnostic::error(TERMINATOR, span, message).help(help)
}

/// A buffer that was made a string for a call.
struct Buffer {
    /// The locals that it may lie in.
    origins: Vec<OriginId>,
    span: Span,
}

fn buffer_of(solver: &mut Solver, arg: &Operand) -> Option<Buffer> {
    let (from, span) = made_from(solver.body, arg.place()?.as_local()?, 0)?;
    let bounds = |op: &Operand| {
        let ty = operand_ty(solver.program, solver.body, op).ok()?;
        Some(solver.program.types.as_pointer(ty)?.bounds)
    };
    if bounds(from) != Some(Bounds::Fat) || !bounds(arg).is_some_and(|bounds| bounds.is_terminated()) {
        return None;
    }
    let region = solver.operand_side(arg)?.outer;
    let mut origins = origins_of(solver, region);
    origins.retain(|&o| matches!(solver.origins.get(o), Origin::Local(_)));
    (!origins.is_empty()).then_some(Buffer { origins, span })
}

/// The pointer with bounds whose address a temporary is.
fn made_from(body: &Body, temp: Local, depth: u32) -> Option<(&Operand, Span)> {
    let mut stmts = body.blocks.iter().flat_map(|b| &b.stmts);
    let (value, span) = stmts.find_map(|stmt| Some((stmt.kind.assigned_to(temp)?, stmt.span)))?;
    if let Some(from) = value.as_pointer_word() {
        return Some((from, span));
    }
    // Conversions of one expression are a handful. Where a parameter was found to be a string with
    // bounds, the string in the buffer is measured, and begins where the buffer does.
    let fat = value.as_make_fat().map(|(_, pointer, ..)| pointer);
    let from = value.same_bits().or(value.counted_pointer()).or(fat).filter(|_| depth < 16)?;
    made_from(body, from.place()?.as_local()?, depth + 1)
}

/// Whether there is room for a string of the buffer where the operand leads.
fn keeps(solver: &mut Solver, operand: &Operand, buffer: &[OriginId]) -> bool {
    let Some(side) = solver.operand_side(operand) else { return false };
    let types = &solver.program.types;
    let target = types.as_pointer(side.ty).filter(|p| is_object_pointer(types, p)).map(|p| p.target.ty);
    let mut regions = vec![];
    inner(types, target.unwrap_or(side.ty), reads_string, &mut vec![], &mut regions);
    let refs: Vec<Ref> = regions.into_iter().map(|r| solver.map((r, 0), side.env)).collect();
    lead_into(solver, &refs, buffer)
}

/// Whether a pointer that counts, in the operand or reached through it, may lead into the buffer.
fn reaches(solver: &mut Solver, operand: &Operand, buffer: &[OriginId], counts: Counts) -> bool {
    let Some(side) = solver.operand_side(operand) else { return false };
    let mut regions = vec![];
    let types = &solver.program.types;
    let outer = types.as_pointer(side.ty).filter(|p| is_object_pointer(types, p));
    match outer {
        Some(p) => inner(types, p.target.ty, counts, &mut vec![], &mut regions),
        None => inner(types, side.ty, counts, &mut vec![], &mut regions),
    }
    let mut refs: Vec<Ref> = regions.into_iter().map(|r| solver.map((r, 0), side.env)).collect();
    refs.extend(outer.filter(counts).map(|_| side.outer));
    lead_into(solver, &refs, buffer)
}

/// Whether one of the regions may be the buffer's.
fn lead_into(solver: &Solver, regions: &[Ref], buffer: &[OriginId]) -> bool {
    regions.iter().flat_map(|&r| origins_of(solver, r)).any(|origin| match solver.origins.get(origin) {
        // A region that was named may have been given a longer one.
        Origin::Entry(_) => buffer.iter().any(|&local| solver.origins.outlives(local, origin)),
        _ => buffer.contains(&origin),
    })
}

/// The regions of the pointers that count in a type. Of a record with regions: all of them, if one
/// of its pointers counts. `around`: the records that it is a part of.
fn inner(types: &TypeStore, ty: Ty, counts: Counts, around: &mut Vec<Ty>, found: &mut Vec<Region>) {
    match types.kind(ty) {
        TyKind::Ptr(p) if is_object_pointer(types, p) => {
            if counts(p) {
                found.push(p.region);
            }
            inner(types, p.target.ty, counts, around, found);
        }
        TyKind::Array { elem, .. } => inner(types, elem.ty, counts, around, found),
        TyKind::Record(r) => {
            let Some(record) = types.records.get(r.0 as usize).filter(|r| !r.args.is_empty()) else { return };
            if around.contains(&ty) {
                return;
            }
            around.push(ty);
            let mut fields = vec![];
            for field in record.fields.iter().flat_map(|f| f.iter()) {
                inner(types, field.ty.ty, counts, around, &mut fields);
            }
            around.pop();
            if fields.is_empty() {
                return;
            }
            for &arg in record.args.iter() {
                match types.kind(arg) {
                    TyKind::RegionArg(region) => found.push(*region),
                    _ => inner(types, arg, counts, around, found),
                }
            }
        }
        _ => {}
    }
}
