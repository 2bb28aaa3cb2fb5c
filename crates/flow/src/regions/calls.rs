//! What calls and returns say about regions.

use mir::ir::*;
use mir::ty::same_shape;
use source::Span;
use std::rc::Rc;
use typing::types::{FuncTy, Region, Ty, TyKind, TypeParam, TypeStore};

use super::build::{Env, Keeper, OwnedIn, Ref, Side, Solver};
use super::origins::{Form, Origin, OriginId, EXCHANGE, HEAP};
use super::shape::{each_owned, key_region, object_pointer, How, Owned};
use crate::framework::Point;
use crate::lenders::{carried, may_return};

impl<'a> Solver<'a> {
    pub(super) fn func_ty(&self, ty: Ty) -> Option<Rc<FuncTy>> {
        self.program.types.as_func(ty)
    }

    /// The first node of the call's own variables.
    pub(super) fn call_env(&mut self, at: Point, func: &FuncTy) -> Env {
        if func.regions == 0 {
            return Env::Body;
        }
        if let Some(&base) = self.calls.get(&at) {
            return Env::Call(base);
        }
        let base = self.edges.len();
        for _ in 0..func.regions {
            self.fresh();
        }
        self.calls.insert(at, base);
        Env::Call(base)
    }

    pub(super) fn call(
        &mut self,
        at: Point,
        dest: Option<&Place>,
        callee: &Callee,
        args: &[Operand],
        ty: Ty,
        span: Span,
    ) {
        let Some(func) = self.func_ty(ty) else { return };
        let env = self.call_env(at, &func);
        for (n, arg) in args.iter().enumerate() {
            let (Some(param), Some(side)) = (func.params.get(n), self.operand_side(arg)) else { continue };
            let to = self.typed(param.ty, env);
            if func.end_into.is_some_and(|(_, out)| out as usize == n) {
                self.flow(side.outer, to.outer, How::Outlives, span, Keeper::Parameter(n as u32));
                continue;
            }
            self.relate(side, to, span, Keeper::Parameter(n as u32));
        }
        for (long, short) in &func.outlives {
            let (long, short) = (self.map((*long, 0), env), self.map((*short, 0), env));
            // The function may store the one where the other is expected.
            self.fact(long, short, span, Keeper::Fact);
        }
        if let Some((to, from)) = func.copies {
            let sides = [to, from].map(|n| args.get(n as usize).and_then(|arg| self.typed_argument(arg)));
            if let [Some(to), Some(from)] = sides {
                // What is copied byte by byte keeps its regions.
                self.relate_inner(from, to, span, Keeper::Memory);
            }
        }
        self.type_arguments(callee, &func, env, span);
        let stored = self.end_into(&func, args, span);
        let Some(dest) = dest else { return };
        let Some(to) = self.place_side(dest) else { return };
        let from = self.typed(func.ret, env);
        self.store(from, dest, to, span);
        let keeper = self.keeper(dest);
        if let Some(loan) = self.origins.loan_at(at).filter(|_| self.known.lenders.calls(callee)) {
            let origin = self.origins.loan(loan);
            self.flow(Ref::Fixed(origin), to.outer, How::Outlives, span, keeper);
            for region in (0..func.params.len()).filter_map(|n| carried(self.program, &func, n)) {
                let region = self.map((region, 0), env);
                self.flow(region, to.outer, How::Outlives, span, keeper);
            }
        }
        if let Some(p) = func.into.and_then(|n| args.get(n as usize)) {
            if let Some(side) = self.operand_side(p) {
                self.flow(side.outer, to.outer, How::Outlives, span, keeper);
            }
            // A later call may continue from what the earlier one left there
            // (`strtok_r(NULL, ...)`).
            if let Some(stored) = stored {
                self.flow(stored, to.outer, How::Outlives, span, keeper);
            }
        }
    }

    /// The pointer that was made one to bytes, for an argument that takes any.
    fn typed_argument(&mut self, arg: &Operand) -> Option<Side> {
        let mut at = arg.place()?.clone();
        // Each step goes to a place that was read before; the count guards against an ill-formed
        // body.
        for _ in 0..self.body.locals.len() {
            let side = self.place_side(&at)?;
            let target = object_pointer(&self.program.types, side.ty)?.target.ty;
            let types = &self.program.types;
            if !matches!(types.kind(target), TyKind::Void) && types.as_int(target).is_none() {
                return Some(side);
            }
            at = self.resolver.read_from(at.as_local()?)?.clone();
        }
        None
    }

    /// The place whose address a temporary holds, if it holds one only.
    pub(super) fn address_in(&self, temp: Local) -> Option<Place> {
        let mut found = None;
        for stmt in self.body.blocks.iter().flat_map(|b| &b.stmts) {
            let Some(value) = stmt.kind.assigned_to(temp) else { continue };
            found = match (value.as_address_of(), value.as_use(), &found) {
                (Some(place), _, None) => Some(place.clone()),
                (None, Some(Operand::Copy(from)), None) => self.address_in(from.as_local()?),
                (_, _, _) => return None,
            };
        }
        found
    }

    /// `*out` is set to a pointer into `p`; gives the region of `*out`.
    pub(super) fn end_into(&mut self, func: &FuncTy, args: &[Operand], span: Span) -> Option<Ref> {
        let (from, out_number) = func.end_into?;
        let out = self.operand_side(args.get(out_number as usize)?)?;
        let inner = object_pointer(&self.program.types, out.ty)?.target.ty;
        let target =
            args.get(out_number as usize).and_then(crate::framework::whole_local).and_then(|t| self.address_in(t));
        let stored = match target {
            Some(place) => self.outer_of_place(&place),
            None => self.typed(inner, Env::Body).outer,
        };
        if let Some(side) = args.get(from as usize).and_then(|a| self.operand_side(a)) {
            self.flow(side.outer, stored, How::Outlives, span, Keeper::Memory);
        }
        Some(stored)
    }

    /// Type arguments: `T: heap` wants the heap in every region, `T: move` in what it owns, which
    /// is released without a handle; `T: move @r` wants what an object in `@r` may own.
    fn type_arguments(&mut self, callee: &Callee, func: &FuncTy, env: Env, span: Span) {
        let (Callee::Direct(f) | Callee::Start(f) | Callee::Spawn(f, _)) = callee else { return };
        let types = &self.program.types;
        let declared = self.program.functions.get(f.func.0 as usize).and_then(|f| types.as_func(f.ty));
        let Some(declared) = declared.filter(|_| !f.args.is_empty()) else { return };
        let mut params = vec![];
        for ty in declared.params.iter().map(|p| p.ty).chain([declared.ret]) {
            each_param(types, ty, 0, &mut |p| params.push(p));
        }
        let (mut wanted, mut owners) = (vec![], vec![]);
        for p in params {
            let Some(&arg) = f.args.get(p.index as usize) else { continue };
            if p.heap {
                super::shape::each_region(types, arg, 0, 0, &mut |r| wanted.push(r));
            }
            if p.moves && bound_of(types, &declared, p).is_none() {
                owners.push((arg, Ref::Fixed(if p.exchange { EXCHANGE } else { HEAP }), Env::Body));
            }
        }
        for r in wanted {
            let r = self.map(r, Env::Body);
            self.flow(r, Ref::Fixed(HEAP), How::Equal, span, Keeper::HeapArgument);
        }
        for &(owner, region) in &func.owns_in {
            owners.push((owner, self.map((region, 0), env), env));
        }
        for (owner, region, env) in owners {
            let mut parts = vec![];
            each_owned(&self.program.types, owner, 0, &mut |owned| parts.push(owned));
            for owned in parts {
                let part = match owned {
                    Owned::Pointer(r) => self.map((r, 0), env),
                    Owned::Key(kind) => key_region(kind, region),
                    Owned::Endpoint => Ref::Fixed(EXCHANGE),
                    Owned::Generic(param) => Ref::Fixed(self.owner_region(param)),
                };
                self.owned_in.push(OwnedIn { part, region, span });
            }
        }
    }

    pub(super) fn returned(&mut self, operand: &Operand, span: Span) {
        let Some(side) = self.operand_side(operand) else { return };
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let Some(func) = function.and_then(|f| self.func_ty(f.ty)) else { return };
        let to = self.typed(func.ret, Env::Prototype);
        let before = self.demands.len();
        self.relate(side, to, span, Keeper::Return);
        let allowed = func.into.map(|n| self.outer_of_local(Local(n)));
        let lends = self.known.lenders.contains(self.body.func.func);
        for demand in self.demands.iter_mut().skip(before).filter(|d| !d.exact) {
            demand.allowed = allowed;
        }
        // That of the outermost pointer comes first.
        if let Some(demand) = self.demands.get_mut(before).filter(|d| !d.exact && side.outer != Ref::Free) {
            demand.lends = lends;
        }
    }

    /// Whether a lender may return a pointer of the origin: to what a slot holds, or to what a
    /// parameter points to, whose loans the callers carry on.
    pub(super) fn may_be_lent(&self, origin: OriginId) -> bool {
        match self.origins.get(origin) {
            Origin::Loan(n) => self.origins.loans.get(n as usize).is_some_and(|loan| match loan.form {
                Form::Result => true,
                Form::Borrow => {
                    let place = self.resolver.place(&loan.place);
                    may_return(self.program, self.body, loan.kind, &place)
                }
                Form::Cursor | Form::Unpack | Form::Open | Form::Address | Form::Region => false,
            }),
            Origin::Entry(region) => {
                let function = self.program.functions.get(self.body.func.func.0 as usize);
                let func = function.and_then(|f| self.func_ty(f.ty));
                let is_of = |func: &FuncTy, n: usize| match carried(self.program, func, n) {
                    Some(Region::Bound(0, r) | Region::Body(r)) => r == region,
                    _ => false,
                };
                func.is_some_and(|func| (0..func.params.len()).any(|n| is_of(&func, n)))
            }
            Origin::Heap | Origin::Exchange | Origin::Local(_) | Origin::Odd(_) | Origin::Unnamed(_) => false,
        }
    }
}

/// Whether two pointer types have the same target up to regions and qualifiers.
pub(super) fn same_targets(program: &Program, a: Ty, b: Ty) -> bool {
    match (program.types.as_pointer(a), program.types.as_pointer(b)) {
        (Some(p), Some(q)) => same_shape(&program.types, p.target.ty, q.target.ty),
        _ => false,
    }
}

/// The region of `T: move @r`, as the prototype names it.
pub(super) fn bound_of(types: &TypeStore, func: &FuncTy, param: TypeParam) -> Option<Region> {
    let bound = func.owns_in.iter().find(|(owner, _)| *types.kind(*owner) == TyKind::Param(param));
    bound.map(|&(_, region)| region)
}

/// Calls `visit` for each type parameter that the type mentions.
fn each_param(types: &TypeStore, ty: Ty, depth: u32, visit: &mut dyn FnMut(TypeParam)) {
    if depth > 64 {
        return;
    }
    match types.kind(ty) {
        TyKind::Param(p) => visit(*p),
        TyKind::Ptr(p) => each_param(types, p.target.ty, depth + 1, visit),
        TyKind::Array { elem, .. } => each_param(types, elem.ty, depth + 1, visit),
        TyKind::Record(r) => {
            if let Some(record) = types.records.get(r.0 as usize) {
                record.args.iter().for_each(|&arg| each_param(types, arg, depth + 1, visit));
            }
        }
        TyKind::Func(f) => {
            f.params.iter().for_each(|p| each_param(types, p.ty, depth + 1, visit));
            each_param(types, f.ret, depth + 1, visit);
        }
        _ => {}
    }
}
