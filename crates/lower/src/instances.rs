//! Instances of generic functions: substitution in MIR, from what non-generic code reaches.

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
            let StmtKind::DropSlot(place) = &stmt.kind else { continue };
            if mir::ty::place_ty(program, body, place).is_ok_and(|q| !mir::ty::owns(&program.types, q.ty)) {
                empty.push((block, n));
            }
        }
    }
    for (block, n) in empty {
        let stmt = body.blocks.get_mut(block).and_then(|data| data.stmts.get_mut(n));
        stmt.into_iter().for_each(|stmt| stmt.kind = StmtKind::Nop);
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
    // Reading is a rewrite that changes nothing; one walk over MIR serves both.
    let mut copy = body.clone();
    Visitor { ty: &mut |_| {}, func: &mut |r| f(r) }.body(&mut copy);
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
                self.stmt(&mut stmt.kind);
            }
            match &mut block.term.kind {
                TermKind::If(op, ..) | TermKind::Switch(op, ..) | TermKind::GotoComputed(op) => self.operand(op),
                TermKind::Return(Some(op)) => self.operand(op),
                TermKind::Return(None) | TermKind::Goto(_) | TermKind::MissingReturn | TermKind::Unreachable => {}
            }
        }
    }

    fn stmt(&mut self, stmt: &mut StmtKind) {
        match stmt {
            StmtKind::Assign(place, value) => {
                self.place(place);
                self.rvalue(value);
            }
            StmtKind::Call { dest, callee, args, ty } => {
                dest.iter_mut().for_each(|p| self.place(p));
                match callee {
                    Callee::Direct(f) | Callee::Start(f) | Callee::Spawn(f, _) => (self.func)(f),
                    Callee::Pointer(op) => self.operand(op),
                    Callee::Builtin(_) => {}
                }
                args.iter_mut().for_each(|a| self.operand(a));
                (self.ty)(ty);
            }
            StmtKind::Check(check) => self.check(check),
            StmtKind::Prove(Proof::NonNull(op)) => self.operand(op),
            StmtKind::Zero(place) | StmtKind::SetTag(place, _) | StmtKind::VaStart(place) | StmtKind::VaEnd(place) => {
                self.place(place)
            }
            StmtKind::VaCopy(a, b) => {
                self.place(a);
                self.place(b);
            }
            StmtKind::CopyElements { to, from, count } => {
                self.operand(to);
                self.operand(from);
                self.operand(count);
            }
            StmtKind::Asm(asm) => {
                asm.outputs.iter_mut().for_each(|(_, _, p)| self.place(p));
                asm.inputs.iter_mut().for_each(|(_, _, op)| self.operand(op));
            }
            StmtKind::Open(_, place, _)
            | StmtKind::Close(_, place, _)
            | StmtKind::DropSlot(place)
            | StmtKind::CursorBegin(_, place)
            | StmtKind::Pack(place, _)
            | StmtKind::Unpack { place, .. } => self.place(place),
            StmtKind::Dispose { value, handle, moved } => {
                self.operand(value);
                handle.iter_mut().for_each(|op| self.operand(op));
                for step in moved.iter_mut().flatten() {
                    if let Proj::Index(op) = step {
                        self.operand(op);
                    }
                }
            }
            StmtKind::Swap(a, b) => {
                self.place(a);
                self.place(b);
            }
            StmtKind::ChannelNew { imp, exp, .. } => {
                self.place(imp);
                self.place(exp);
            }
            StmtKind::Send { end, args, .. } => {
                args.iter_mut().for_each(|arg| self.operand(arg));
                self.place(end);
            }
            StmtKind::Select { dest, cases, .. } => {
                for case in cases {
                    match case {
                        SelectCase::Heads(heads) => heads.iter_mut().for_each(|(end, _)| self.place(end)),
                        SelectCase::After(time) => self.operand(time),
                    }
                }
                self.place(dest);
            }
            StmtKind::Receive { end, binds, .. } => {
                self.place(end);
                binds.iter_mut().for_each(|bind| self.place(bind));
            }
            StmtKind::ArenaBegin(..)
            | StmtKind::ArenaEnd(..)
            | StmtKind::StorageLive(_)
            | StmtKind::StorageDead(_)
            | StmtKind::Nop => {}
        }
    }

    fn check(&mut self, check: &mut Check) {
        match check {
            Check::Index(a, b)
            | Check::Access(a, b)
            | Check::Near(a, b)
            | Check::Enough { want: a, have: b }
            | Check::Divide(a, b)
            | Check::Terminator(a, b)
            | Check::Count(a, b) => {
                self.operand(a);
                self.operand(b);
            }
            Check::Element(e) => {
                for operand in [&mut e.base, &mut e.index, &mut e.count] {
                    self.operand(operand);
                }
            }
            Check::Within(a)
            | Check::NotNull(a)
            | Check::HasTerminator(a)
            | Check::Step(a)
            | Check::TagValue(a, ..) => self.operand(a),
            Check::Type(a, ty) | Check::View(a, ty) | Check::Multiple(a, ty) | Check::Container(a, ty, _) => {
                self.operand(a);
                (self.ty)(ty);
            }
            Check::Tag(place, _) => self.place(place),
            Check::Unreachable => {}
        }
    }

    fn place(&mut self, place: &mut Place) {
        for step in &mut place.proj {
            if let Proj::Index(op) = step {
                self.operand(op);
            }
        }
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

    fn rvalue(&mut self, value: &mut Rvalue) {
        match value {
            Rvalue::Use(a)
            | Rvalue::Unary(_, a)
            | Rvalue::Remaining(a)
            | Rvalue::Measure(a)
            | Rvalue::Clamp(a)
            | Rvalue::BlockSize(a)
            | Rvalue::Retain(a)
            | Rvalue::Truth(a) => self.operand(a),
            Rvalue::Borrow(_, place, ty) => {
                self.place(place);
                (self.ty)(ty);
            }
            Rvalue::NewKey(_, ty) => (self.ty)(ty),
            Rvalue::Binary(_, a, b, ty) => {
                self.operand(a);
                self.operand(b);
                (self.ty)(ty);
            }
            Rvalue::Numeric(a, ty) | Rvalue::Bits(a, ty) | Rvalue::Part(a, _, ty) => {
                self.operand(a);
                (self.ty)(ty);
            }
            Rvalue::AddrOf(place) | Rvalue::Tag(place) => self.place(place),
            Rvalue::MakeFat { ty, ptr, lo, hi } => {
                (self.ty)(ty);
                self.operand(ptr);
                self.operand(lo);
                self.operand(hi);
            }
            Rvalue::MakeCounted { ty, ptr, count } => {
                (self.ty)(ty);
                self.operand(ptr);
                self.operand(count);
            }
            Rvalue::MakeTypedVoid(a, of, ty) => {
                self.operand(a);
                (self.ty)(of);
                (self.ty)(ty);
            }
            Rvalue::Offset(a, b) | Rvalue::Difference(a, b) | Rvalue::CountArith(_, a, b) => {
                self.operand(a);
                self.operand(b);
            }
            Rvalue::Alloc { elem, count, extra, handle, reuse, .. } => {
                (self.ty)(elem);
                reuse.iter_mut().for_each(|op| self.operand(op));
                self.operand(count);
                handle.iter_mut().for_each(|op| self.operand(op));
                extra.iter_mut().for_each(|op| self.operand(op));
            }
            Rvalue::VaArg(place, ty) => {
                self.place(place);
                (self.ty)(ty);
            }
            Rvalue::Builtin(_, args, ty) => {
                args.iter_mut().for_each(|a| self.operand(a));
                (self.ty)(ty);
            }
            Rvalue::LabelAddr(_, ty) => (self.ty)(ty),
        }
    }
}
