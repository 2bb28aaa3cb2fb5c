//! Instances of generic functions: substitution in MIR, from what non-generic code reaches.

use mir::effects::{self, Part, PartMut};
use mir::ir::*;
use rustc_hash::FxHashSet;
use source::{Span, Symbol};
use std::rc::Rc;
use typing::tree::{ConstAddr, ConstInit, FuncRef};
use typing::types::{Ty, TyKind, TypeStore};

/// Types nest at most this deeply in the arguments of an instance.
const MAX_DEPTH: usize = 64;
/// Largest number of parts of a type argument, written out.
const MAX_SIZE: usize = 4096;
/// Largest number of instances in a translation unit.
const MAX_INSTANCES: usize = 20_000;

/// A generic function that asks for ever larger instances of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceError {
    /// The generic function.
    pub function: Symbol,
    /// Where it is declared.
    pub span: Span,
}

impl std::fmt::Display for InstanceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "instances of generic function `{}` never end: each one asks for another with a larger type",
            self.function
        )
    }
}

/// Makes the instances of generic functions that non-generic bodies and initialisers of globals
/// reach.
pub fn instantiate(program: &mut Program) -> Result<(), InstanceError> {
    let mut work: Vec<FuncRef> = vec![];
    for body in program.bodies.iter().filter(|b| !is_generic(program, b)) {
        references(body, &mut |f| work.push(f.clone()));
    }
    for global in &program.globals {
        if let Some(init) = &global.init {
            init_references(init, &mut |f| work.push(f.clone()));
        }
    }
    work.reverse();
    let mut seen: FxHashSet<FuncRef> = FxHashSet::default();
    while let Some(wanted) = work.pop() {
        if wanted.args.is_empty() || !seen.insert(wanted.clone()) {
            continue;
        }
        let too_large = wanted.args.iter().any(|&ty| {
            let mut left = MAX_SIZE;
            grows(&program.types, ty, 0, &mut left)
        });
        if too_large || program.instances.len() >= MAX_INSTANCES {
            let function = program.functions.get(wanted.func.0 as usize);
            return Err(InstanceError {
                function: function.map_or_else(|| "?".into(), |f| f.name),
                span: function.map_or(Span::NONE, |f| f.span),
            });
        }
        let Some(generic) = program.bodies.iter().find(|b| b.func.func == wanted.func) else { continue };
        let mut body = generic.clone();
        body.func = wanted.clone();
        Substitute { types: &mut program.types, args: &wanted.args }.body(&mut body);
        forget_empty_drops(program, &mut body);
        mir::cursors::forget_ends(program, &mut body);
        let mut found = vec![];
        references(&body, &mut |f| found.push(f.clone()));
        work.extend(found.into_iter().rev());
        program.instances.push(body);
    }
    Ok(())
}

/// A slot of a `T: move` is dropped before it is assigned; what owns nothing needs that no more.
fn forget_empty_drops(program: &Program, body: &mut Body) {
    let mut empty = vec![];
    for (block, data) in body.blocks.iter().enumerate() {
        for (n, stmt) in data.stmts.iter().enumerate() {
            let Some(place) = stmt.kind.as_drop_slot() else { continue };
            if mir::ty::place_ty(program, body, place).is_ok_and(|q| !mir::ty::owns(&program.types, q.ty)) {
                empty.push((block, n));
            }
        }
    }
    for (block, n) in empty {
        let stmt = body.blocks.get_mut(block).and_then(|data| data.stmts.get_mut(n));
        stmt.into_iter().for_each(Stmt::remove);
    }
}

fn is_generic(program: &Program, body: &Body) -> bool {
    program.functions.get(body.func.func.0 as usize).is_some_and(|f| f.type_params > 0)
}

/// Whether a type is deeper or larger than any program needs.
fn grows(types: &TypeStore, ty: Ty, depth: usize, left: &mut usize) -> bool {
    if depth > MAX_DEPTH || *left == 0 {
        return true;
    }
    *left -= 1;
    match types.kind(ty) {
        TyKind::Ptr(p) => grows(types, p.target.ty, depth + 1, left),
        TyKind::Array { elem, .. } => grows(types, elem.ty, depth + 1, left),
        TyKind::Func(f) => {
            grows(types, f.ret, depth + 1, left) || f.params.iter().any(|p| grows(types, p.ty, depth + 1, left))
        }
        TyKind::Record(id) => types.record(*id).args.iter().any(|&a| grows(types, a, depth + 1, left)),
        _ => false,
    }
}

fn init_references(init: &ConstInit, f: &mut dyn FnMut(&FuncRef)) {
    match init {
        ConstInit::Addr(ConstAddr::Func(func), _)
        | ConstInit::Fat(ConstAddr::Func(func), ..)
        | ConstInit::TypedVoid(ConstAddr::Func(func), ..) => f(func),
        ConstInit::Aggregate(items) => items.iter().for_each(|(_, item)| init_references(item, f)),
        ConstInit::Tagged(_, inner) => init_references(inner, f),
        _ => {}
    }
}

/// Calls `f` for each function that a body names.
fn references(body: &Body, f: &mut dyn FnMut(&FuncRef)) {
    for block in &body.blocks {
        let mut part = |part: Part| match part {
            Part::Function(func, _) | Part::Operand(Operand::Const(Const::Func(func)), _) => f(func),
            Part::Operand(..) | Part::Place(..) | Part::Local(..) | Part::Type(_) => {}
        };
        block.stmts.iter().for_each(|stmt| effects::parts(&stmt.kind, &mut part));
        effects::term_parts(&block.term.kind, &mut part);
    }
}

struct Substitute<'a> {
    types: &'a mut TypeStore,
    args: &'a [Ty],
}

impl Substitute<'_> {
    fn body(&mut self, body: &mut Body) {
        let types = std::cell::RefCell::new(&mut *self.types);
        let args = self.args;
        let mut ty = |ty: &mut Ty| *ty = types.borrow_mut().subst(*ty, args);
        let mut func = |r: &mut FuncRef| {
            if !r.args.is_empty() {
                let args: Vec<Ty> = r.args.iter().map(|&a| types.borrow_mut().subst(a, args)).collect();
                r.args = Rc::from(args);
            }
        };
        Visitor { ty: &mut ty, func: &mut func }.body(body);
    }
}

/// Visits every type and function reference of a body.
pub(crate) struct Visitor<'a> {
    /// Each type.
    pub ty: &'a mut dyn FnMut(&mut Ty),
    /// Each function.
    pub func: &'a mut dyn FnMut(&mut FuncRef),
}

impl Visitor<'_> {
    /// Visits a body.
    pub fn body(&mut self, body: &mut Body) {
        for local in &mut body.locals {
            (self.ty)(&mut local.ty.ty);
        }
        for block in &mut body.blocks {
            for stmt in &mut block.stmts {
                effects::parts_mut(&mut stmt.kind, &mut |part| self.part(part));
            }
            effects::term_parts_mut(&mut block.term.kind, &mut |part| self.part(part));
        }
    }

    fn part(&mut self, part: PartMut) {
        match part {
            PartMut::Operand(operand, _) => self.operand(operand),
            PartMut::Place(place, _) => self.place(place),
            PartMut::Type(ty) => (self.ty)(ty),
            PartMut::Function(func, _) => (self.func)(func),
            PartMut::Local(..) => {}
        }
    }

    fn place(&mut self, place: &mut Place) {
        place.proj.iter_mut().filter_map(Proj::index_mut).for_each(|index| self.operand(index));
    }

    fn operand(&mut self, op: &mut Operand) {
        match op {
            Operand::Copy(place) | Operand::Move(place) => self.place(place),
            Operand::Const(constant) => match constant {
                Const::Int(_, ty)
                | Const::Float(_, ty)
                | Const::Null(ty)
                | Const::SizeOf(ty)
                | Const::AlignOf(ty)
                | Const::OffsetOf(ty, _)
                | Const::Addr(_, _, ty) => (self.ty)(ty),
                Const::Func(f) => (self.func)(f),
            },
        }
    }
}
