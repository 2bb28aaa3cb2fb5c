//! Regions are erased from MIR once they are checked: after the analyses, before instances and
//! emission.
//!
//! What is left: of an owned pointer, and of a record that owns, in which heap it is, or that it is
//! elsewhere (`Region::Var`), because what is in an arena is not freed. All other regions become
//! `@heap`, so that types and instances that differ in them are one. The types of functions keep
//! theirs, which are part of the digests that objects are linked by; C's records are those of
//! the erased types.
//!
//! Needs: `Body::infer_owes`, as far as regions of owned pointers are inferred. Changes: types in
//! bodies, arguments of instances. Guarantees: `TypeStore::erased_record` knows all records.

use crate::instances::Visitor;
use mir::effects::{parts_mut, PartMut};
use mir::ir::*;
use std::cell::RefCell;
use std::rc::Rc;
use typing::tree::{ConstAddr, ConstInit, FuncRef};
use typing::types::{Own, Pointer, Qty, RecordId, Region, Ty, TyKind, TypeStore};

/// Erases the regions of all bodies.
pub fn erase(program: &mut Program) {
    let mut bodies = std::mem::take(&mut program.bodies);
    for body in &mut bodies {
        erase_body(&mut program.types, body);
        mir::cursors::forget_ends(program, body);
    }
    program.bodies = bodies;
    for global in &mut program.globals {
        if let Some(init) = &mut global.init {
            erase_init(&mut program.types, init);
        }
    }
    erase_records(&mut program.types);
}

/// Fills in the erased form of each record; that may make further ones. To be called again after
/// `instantiate`.
pub fn erase_records(types: &mut TypeStore) {
    let mut next = 0;
    while next < types.records.len() {
        let ty = types.intern(TyKind::Record(RecordId(next as u32)));
        types.erase_regions(ty);
        next += 1;
    }
}

fn erase_body(types: &mut TypeStore, body: &mut Body) {
    let owes = std::mem::take(&mut body.infer_owes);
    let types = RefCell::new(types);
    let reduce = |ty: Ty| reduce(&mut types.borrow_mut(), ty, &owes);
    let mut ty = |ty: &mut Ty| *ty = reduce(*ty);
    let mut func = |func: &mut FuncRef| {
        if !func.args.is_empty() {
            func.args = func.args.iter().map(|&arg| reduce(arg)).collect::<Vec<Ty>>().into();
        }
    };
    Visitor { ty: &mut ty, func: &mut func }.body(body);
    for stmt in body.blocks.iter_mut().flat_map(|block| &mut block.stmts) {
        let kind = &stmt.kind;
        if kind.as_pack().is_some() || kind.as_unpack().is_some() || kind.as_unpack_end().is_some() {
            stmt.remove();
        }
    }
}

/// Marks the locals that are lent by their address. The analyses know loans; what comes after them
/// looks at addresses only.
pub fn mark_lent(program: &mut Program) {
    program.bodies.iter_mut().for_each(mark_lent_in);
}

fn mark_lent_in(body: &mut Body) {
    let mut lent: Vec<Local> = vec![];
    for stmt in body.blocks.iter().flat_map(|block| &block.stmts) {
        let cursor = stmt.kind.as_cursor().map(|(_, place)| place);
        let borrowed = stmt.kind.value().and_then(Rvalue::as_borrow).filter(|(kind, ..)| kind.by_address());
        lent.extend(cursor.or(borrowed.map(|(_, place, _)| place)).and_then(Place::local_part));
    }
    for local in lent {
        if let Some(decl) = body.locals.get_mut(local.0 as usize) {
            decl.address_taken = true;
        }
    }
}

/// Makes copies of looks: the analyses need to know an owner that is looked at only, what comes after
/// them sees through a copy. A look in a temporary of its own goes into the statement that it was
/// made for, so that its pointer is read there.
pub fn copy_looks(program: &mut Program) {
    program.bodies.iter_mut().for_each(copy_looks_in);
}

fn copy_looks_in(body: &mut Body) {
    let looks = |stmt: &Stmt| {
        let (dest, value) = stmt.kind.as_assign()?;
        let (_, from, _) = value.as_borrow().filter(|(kind, ..)| kind.is_look())?;
        Some((dest.clone(), from.clone()))
    };
    if !body.blocks.iter().flat_map(|block| &block.stmts).any(|stmt| looks(stmt).is_some()) {
        return;
    }
    let uses = crate::control::uses_of_locals(body);
    let is_temp = |local: Local| body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
    for block in &mut body.blocks {
        let mut kept: Vec<Stmt> = Vec::with_capacity(block.stmts.len());
        let mut stmts = std::mem::take(&mut block.stmts).into_iter().peekable();
        while let Some(mut stmt) = stmts.next() {
            if let Some((dest, from)) = looks(&stmt) {
                let once = dest.as_local().filter(|&l| is_temp(l) && uses.get(l.0 as usize) == Some(&2));
                let mut next = stmts.peek_mut().filter(|next| next.is_unsafe == stmt.is_unsafe);
                if once.is_some_and(|look| next.as_mut().is_some_and(|next| reads_instead(next, look, &from))) {
                    continue;
                }
                stmt.kind = StmtKind::Assign(dest, Rvalue::Use(Operand::Copy(from)));
            }
            kept.push(stmt);
        }
        block.stmts = kept;
    }
}

/// Has the statement read the place, if the value that it carries on is the temporary's.
fn reads_instead(stmt: &mut Stmt, look: Local, from: &Place) -> bool {
    let carried = stmt.kind.value().and_then(Rvalue::same_object).and_then(Operand::place);
    if carried.and_then(Place::as_local) != Some(look) {
        return false;
    }
    parts_mut(&mut stmt.kind, &mut |part| {
        if let PartMut::Operand(operand @ Operand::Copy(_), _) = part {
            if operand.place().and_then(Place::as_local) == Some(look) {
                *operand = Operand::Copy(from.clone());
            }
        }
    });
    true
}

fn erase_init(types: &mut TypeStore, init: &mut ConstInit) {
    match init {
        ConstInit::Addr(ConstAddr::Func(func), _)
        | ConstInit::Fat(ConstAddr::Func(func), ..)
        | ConstInit::TypedVoid(ConstAddr::Func(func), ..) => {
            let args: Vec<Ty> = func.args.iter().map(|&arg| reduce(types, arg, &[])).collect();
            func.args = Rc::from(args);
        }
        ConstInit::Aggregate(items) => items.iter_mut().for_each(|(_, item)| erase_init(types, item)),
        ConstInit::Tagged(_, inner) => erase_init(types, inner),
        _ => {}
    }
}

/// The region of something owned: freed when its owner ends, or not.
fn end_of(region: Region, owes: &[Option<Region>]) -> Region {
    match region {
        Region::Heap | Region::Exchange => region,
        Region::Infer(n) => owes.get(n as usize).copied().flatten().unwrap_or(Region::Var),
        _ => Region::Var,
    }
}

fn reduce(types: &mut TypeStore, ty: Ty, owes: &[Option<Region>]) -> Ty {
    match types.kind(ty).clone() {
        TyKind::Ptr(p) if p.own.is_owned() || matches!(p.own, Own::Param(_)) => {
            let target = Qty { ty: reduce(types, p.target.ty, owes), ..p.target };
            types.pointer(Pointer { target, region: end_of(p.region, owes), ..p })
        }
        // Who sees only a slot through a pointer may still store to it.
        TyKind::Ptr(p) => {
            let target = Qty { ty: reduce(types, p.target.ty, owes), ..p.target };
            types.pointer(Pointer { target, region: Region::Heap, ..p })
        }
        TyKind::Array { elem, len, terminated } => {
            let elem = Qty { ty: reduce(types, elem.ty, owes), ..elem };
            types.intern(TyKind::Array { elem, len, terminated })
        }
        TyKind::Record(id) => reduce_record(types, ty, id, owes),
        TyKind::RegionArg(region) => types.intern(TyKind::RegionArg(end_of(region, owes))),
        TyKind::Func(_) | TyKind::Key(..) | TyKind::Handle(..) => types.erase_regions(ty),
        _ => ty,
    }
}

fn reduce_record(types: &mut TypeStore, ty: Ty, id: RecordId, owes: &[Option<Region>]) -> Ty {
    if !types.owns(ty) && !types.record(id).args.iter().any(|&arg| types.mentions_param(arg)) {
        return types.erase_regions(ty);
    }
    let Some(&generic) = types.instance_of.get(&id) else { return ty };
    let args = types.record(id).args.clone();
    let reduced: Vec<Ty> = args.iter().map(|&arg| reduce(types, arg, owes)).collect();
    if reduced == args {
        return ty;
    }
    let id = types.instance(generic, reduced);
    types.intern(TyKind::Record(id))
}
