//! Tables of functions: constant globals with pointers to functions in them.

use mir::ir::*;
use typing::tree::{ConstAddr, ConstInit, FuncRef};
use typing::types::{Qty, RecordKind, TyKind};

/// Functions of a table that are looked at, at most.
const MOST_FUNCTIONS: usize = 64;

/// The functions that the place may hold: a field or element of a constant global, whatever the
/// indices are. `None`: it may hold others.
pub fn functions(program: &Program, place: &Place) -> Option<Vec<FuncRef>> {
    let PlaceBase::Global(global) = place.base else { return None };
    let global = program.globals.get(global.0 as usize)?;
    // The linker may put another table in the place of a weak one.
    let replaced = global.attrs.iter().any(|a| a.contains("weak") || a.contains("alias"));
    if !is_constant(program, global.ty) || replaced {
        return None;
    }
    let mut ty = global.ty;
    let mut parts = vec![global.init.as_ref()?];
    for step in &place.proj {
        let mut inner = vec![];
        if let Some(n) = step.as_field() {
            let record = program.types.record(program.types.as_record(ty.ty)?);
            let field = record.fields.as_ref()?.get(n as usize).filter(|_| record.kind == RecordKind::Struct)?;
            ty = field.ty;
            for part in parts {
                inner.extend(elements(part)?.iter().filter(|(at, _)| *at == u64::from(n)).map(|(_, part)| part));
            }
        } else {
            step.index()?;
            let TyKind::Array { elem, .. } = program.types.kind(ty.ty) else { return None };
            ty = *elem;
            for part in parts {
                inner.extend(elements(part)?.iter().map(|(_, part)| part));
            }
        }
        parts = inner;
    }
    let mut all: Vec<FuncRef> = vec![];
    for part in parts {
        match part {
            // A call of a null pointer does not get anywhere.
            ConstInit::Zero | ConstInit::Int(0) => {}
            ConstInit::Addr(ConstAddr::Func(func), 0) if all.contains(func) => {}
            ConstInit::Addr(ConstAddr::Func(func), 0) => all.push(func.clone()),
            _ => return None,
        }
    }
    (!all.is_empty() && all.len() <= MOST_FUNCTIONS).then_some(all)
}

/// The parts of an initialiser; what is not among them is zero.
fn elements(init: &ConstInit) -> Option<&[(u64, ConstInit)]> {
    match init {
        ConstInit::Zero => Some(&[]),
        ConstInit::Aggregate(parts) => Some(parts),
        _ => None,
    }
}

/// Whether nothing may write an object of the type.
fn is_constant(program: &Program, ty: Qty) -> bool {
    match program.types.kind(ty.ty) {
        TyKind::Array { elem, .. } => is_constant(program, *elem) || ty.quals.is_const,
        _ => ty.quals.is_const && !ty.quals.is_volatile,
    }
}

/// Calls `see` for each function in the constant global that a place lies in.
pub fn each_function(program: &Program, place: &Place, see: &mut dyn FnMut(&FuncRef)) {
    let PlaceBase::Global(global) = place.base else { return };
    let Some(global) = program.globals.get(global.0 as usize).filter(|g| is_constant(program, g.ty)) else { return };
    global.init.iter().for_each(|init| init.each_function(see));
}
