//! What each statement says about regions.

use mir::ir::*;
use mir::ty::{operand_ty, place_ty, same_shape};
use source::Span;
use typing::contracts::MessageId;
use typing::tree::{BorrowKind, RegionKind};
use typing::types::{Own, Region, Ty, TyKind, TypeParam};

use super::build::{Demand, Env, Keeper, Ref, Side, Solver};
use super::calls::{bound_of, same_targets};
use super::origins::{OriginId, ENTRIES, EXCHANGE, HEAP};
use super::shape::{each_owned, is_exact, key_region, object_pointer, How, Owned};
use crate::framework::Point;

impl<'a> Solver<'a> {
    pub(super) fn stmt(&mut self, at: Point, stmt: &Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(dest, value) => self.assign(at, dest, value, span),
            StmtKind::Call { dest, callee, args, ty } => self.call(at, dest.as_ref(), callee, args, *ty, span),
            StmtKind::Exchange(a, b) => {
                if let (Some(x), Some(y)) = (self.place_side(a), self.place_side(b)) {
                    let keeper = self.keeper(b);
                    self.flow(x.outer, y.outer, How::Equal, span, keeper);
                    self.relate_inner(x, y, span, keeper);
                }
            }
            StmtKind::OpenBegin(handle, key, region) => {
                let region = self.map((*region, 0), Env::Body);
                for place in [&Place::local(*handle), key] {
                    let ty = place_ty(self.program, self.body, place).map(|q| q.ty);
                    if let Ok(TyKind::Handle(_, r) | TyKind::Key(_, r)) = ty.map(|ty| self.program.types.kind(ty)) {
                        let r = self.map((*r, 0), Env::Body);
                        self.flow(region, r, How::Equal, span, Keeper::Open);
                    }
                }
            }
            StmtKind::Pack(place, regions) => {
                let regions: Vec<Ref> = regions.iter().map(|&r| self.map((r, 0), Env::Body)).collect();
                for (&region, bound) in regions.iter().zip(self.hidden_bounds(place, &regions)) {
                    match bound {
                        Some(bound) => self.fact(region, bound, span, Keeper::Pack),
                        None => self.packed.push((region, span)),
                    }
                }
                self.hidden_owners(place, &regions, span);
                self.hide(place, regions);
            }
            StmtKind::UnpackBegin { place, regions, .. } => {
                let refs: Vec<Ref> = regions.iter().map(|&n| self.map((Region::Body(n), 0), Env::Body)).collect();
                for (&region, bound) in regions.iter().zip(self.hidden_bounds(place, &refs)) {
                    self.bounds.extend(bound.map(|bound| (region, bound)));
                }
                self.hide(place, refs);
            }
            // What lends the memory of the place stays lent while the cursor lives.
            StmtKind::CursorBegin(cursor, place) => {
                let (memory, cursor) = (self.memory_of(place), self.outer_of_local(*cursor));
                self.flow(memory, cursor, How::Outlives, span, Keeper::Borrow);
            }
            StmtKind::CopyElements { to, from, .. } => {
                if let (Some(from), Some(to)) = (self.operand_side(from), self.operand_side(to)) {
                    self.relate_inner(from, to, span, Keeper::Memory);
                }
            }
            StmtKind::Send { end, message, args } => {
                for (arg, ty) in args.iter().zip(self.message_types(end, *message)) {
                    if let Some(side) = self.operand_side(arg) {
                        let to = self.typed(ty, Env::Body);
                        self.relate(side, to, span, Keeper::Memory);
                    }
                }
            }
            StmtKind::Receive { end, head: Head::Message(message), binds, .. } => {
                for (bind, ty) in binds.iter().zip(self.message_types(end, *message)) {
                    if let Some(to) = self.place_side(bind) {
                        let from = self.typed(ty, Env::Body);
                        self.store(from, bind, to, span);
                    }
                }
            }
            StmtKind::SetAdd { set, value: Some(value), .. } => {
                if let (Some(side), Some(ty)) = (self.operand_side(value), self.map_value(set)) {
                    let to = self.typed(ty, Env::Body);
                    self.relate(side, to, span, Keeper::Memory);
                }
            }
            StmtKind::SetTake { set, value: Some(value), .. } => {
                if let (Some(to), Some(ty)) = (self.place_side(value), self.map_value(set)) {
                    let from = self.typed(ty, Env::Body);
                    self.store(from, value, to, span);
                }
            }
            StmtKind::Dispose { value, handle, .. } => self.dispose(value, handle.as_ref(), span),
            StmtKind::Check(Check::Container(pointer, record, path)) => self.container(pointer, *record, path, span),
            _ => {}
        }
    }

    /// The type of what a map of endpoints holds with each.
    fn map_value(&self, set: &Place) -> Option<Ty> {
        let types = &self.program.types;
        let set = place_ty(self.program, self.body, set).ok().and_then(|q| types.as_end_set(q.ty))?;
        types.map_value(&set)
    }

    /// The types of the arguments of a message.
    fn message_types(&self, end: &Place, message: MessageId) -> Vec<Ty> {
        let types = &self.program.types;
        let end = place_ty(self.program, self.body, end).ok().and_then(|q| types.as_endpoint(q.ty));
        let found = end.and_then(|end| types.contract(end.contract)?.message(message));
        found.map_or(vec![], |message| message.params.iter().map(|(_, ty, _)| *ty).collect())
    }

    /// Which hidden regions a struct owns into.
    fn hidden_owners(&mut self, place: &Place, regions: &[Ref], span: Span) {
        let Ok(ty) = place_ty(self.program, self.body, place).map(|q| q.ty) else { return };
        each_owned(&self.program.types, ty, 0, &mut |owned| {
            if let Owned::Pointer(Region::Exists(n)) = owned {
                self.owners.extend(regions.get(n as usize).map(|&region| (region, span)));
            }
        });
    }

    /// By hidden region of the struct at the place: the region that it is live with.
    fn hidden_bounds(&mut self, place: &Place, hidden: &[Ref]) -> Vec<Option<Ref>> {
        let ty = place_ty(self.program, self.body, place).map(|q| q.ty);
        let record = ty.ok().and_then(|ty| self.program.types.as_record(ty));
        let Some(record) = record.and_then(|r| self.program.types.records.get(r.0 as usize)) else { return vec![] };
        let env = self.env_of(place);
        let mut bounds = vec![];
        for bound in &record.exists {
            bounds.push(bound.map(|bound| match bound {
                Region::Exists(n) => hidden.get(n as usize).copied().unwrap_or(Ref::Free),
                Region::Param(n) => match record.args.get(n as usize).map(|&arg| self.program.types.kind(arg)) {
                    Some(TyKind::RegionArg(region)) => self.map((*region, 0), env),
                    _ => Ref::Fixed(self.origins.odd(bound)),
                },
                other => self.map((other, 0), Env::Body),
            }));
        }
        bounds
    }

    /// A pointer to a member leads to its struct: the regions in the member's type are those of the
    /// struct; if the struct owns something, the pointer is one into the heap, which no owned path
    /// is lent to.
    fn container(&mut self, pointer: &Operand, record: Ty, path: &[u32], span: Span) {
        let Some(side) = self.operand_side(pointer) else { return };
        let mut part = record;
        for &n in path {
            let fields = self.program.types.as_record(part).and_then(|id| self.program.types.record(id).fields.clone());
            let Some(field) = fields.as_ref().and_then(|fields| fields.get(n as usize)) else { return };
            part = field.ty.ty;
        }
        self.relate_target(part, side, span);
        if self.program.types.owns(record) {
            self.flow(side.outer, Ref::Fixed(HEAP), How::Outlives, span, Keeper::Container);
        }
    }

    pub(super) fn keeper(&self, dest: &Place) -> Keeper {
        match dest.base {
            _ if dest.has_deref() => Keeper::Memory,
            PlaceBase::Global(g) => {
                self.program.globals.get(g.0 as usize).map_or(Keeper::Memory, |g| Keeper::Global(g.name))
            }
            PlaceBase::Local(l) if dest.proj.is_empty() => Keeper::Local(l),
            PlaceBase::Local(l) => Keeper::Part(l),
            PlaceBase::Str(_) => Keeper::Memory,
        }
    }

    pub(super) fn assign(&mut self, at: Point, dest: &Place, value: &Rvalue, span: Span) {
        let Some(to) = self.place_side(dest) else { return };
        let Some(from) = self.value(at, value, to, span) else { return };
        self.store(from, dest, to, span);
    }

    /// Relates a value to the place that it is stored in.
    pub(super) fn store(&mut self, from: Side, dest: &Place, to: Side, span: Span) {
        let keeper = self.keeper(dest);
        self.relate(from, to, span, keeper);
    }

    fn is_handle_out_of_void(&self, from: &Operand, ty: Ty) -> bool {
        let types = &self.program.types;
        let target = |ty| types.as_pointer(ty).filter(|p| p.own == Own::Shared).map(|p| p.target.ty);
        let source = operand_ty(self.program, self.body, from).ok().and_then(target);
        source.is_some_and(|ty| matches!(types.kind(ty), TyKind::Void))
            && target(ty).is_some_and(|ty| types.is_handle_of_runtime(ty))
    }

    /// The side of a value; `None` if it holds no pointer.
    pub(super) fn value(&mut self, at: Point, value: &Rvalue, dest: Side, span: Span) -> Option<Side> {
        match value {
            Rvalue::Use(a) | Rvalue::Offset(a, _) | Rvalue::Retain(a) => self.operand_side(a),
            Rvalue::MakeFat { ptr: a, ty, .. } | Rvalue::MakeCounted { ptr: a, ty, .. } => {
                let side = self.operand_side(a)?;
                Some(Side { ty: self.inner_of(side.ty, *ty), ..side })
            }
            // Open files and the like are in the heap, whatever the region of the `void *`.
            Rvalue::Part(a, Part::Ptr, ty) if self.is_handle_out_of_void(a, *ty) => Some(self.typed(*ty, Env::Body)),
            Rvalue::Bits(a, ty) | Rvalue::Part(a, Part::Ptr | Part::Lo | Part::Hi, ty) => {
                let side = self.operand_side(a)?;
                Some(Side { ty: self.inner_of(side.ty, *ty), ..side })
            }
            // What a `void *` points to is all in the heap: the remembered type has no regions.
            Rvalue::MakeTypedVoid(a, _, _) => {
                let side = self.operand_side(a)?;
                let mut inner = vec![];
                if let Some(p) = object_pointer(&self.program.types, side.ty) {
                    super::shape::each_region(&self.program.types, p.target.ty, 0, 0, &mut |r| inner.push(r));
                }
                for r in inner {
                    let r = self.map(r, Env::Body);
                    self.flow(r, Ref::Fixed(HEAP), How::Equal, span, Keeper::HeapArgument);
                }
                Some(side)
            }
            Rvalue::AddrOf(place) => {
                let ty = place_ty(self.program, self.body, place).ok()?.ty;
                let outer = self.memory_of(place);
                self.relate_target(ty, dest, span);
                Some(Side { outer, ..dest })
            }
            Rvalue::Borrow(kind, place, ty) => self.borrow(at, *kind, place, *ty, dest, span),
            Rvalue::NewKey(_, ty) | Rvalue::VaArg(_, ty) => Some(self.typed(*ty, Env::Body)),
            Rvalue::Alloc { elem, handle, .. } => {
                let outer = match handle.as_ref().map(|h| self.handle_region(h)) {
                    Some(region) => region,
                    None if self.declared_exchange(dest.ty) => Ref::Fixed(EXCHANGE),
                    None => Ref::Fixed(HEAP),
                };
                self.owned_parts(*elem, outer, span);
                self.relate_target(*elem, dest, span);
                // Fresh memory is in exactly its region, and a shared pointer to it converts like
                // any other.
                let exact = object_pointer(&self.program.types, dest.ty).is_some_and(|p| is_exact(p.own));
                if exact {
                    self.flow(outer, dest.outer, How::Equal, span, Keeper::Object);
                }
                Some(Side { outer, ..dest })
            }
            // Numbers, and addresses that lead to nothing.
            Rvalue::Part(_, Part::Type, _)
            | Rvalue::Unary(..)
            | Rvalue::Binary(..)
            | Rvalue::Numeric(..)
            | Rvalue::Difference(..)
            | Rvalue::Remaining(_)
            | Rvalue::Measure(_)
            | Rvalue::Clamp(_)
            | Rvalue::CountArith(..)
            | Rvalue::BlockSize(_)
            | Rvalue::Tag(_)
            | Rvalue::Truth(_)
            | Rvalue::Builtin(..)
            | Rvalue::LabelAddr(..) => None,
        }
    }

    /// The type whose inner regions count: the operand's if it has the shape of the result.
    pub(super) fn inner_of(&self, operand: Ty, result: Ty) -> Ty {
        if same_targets(self.program, operand, result) {
            operand
        } else {
            result
        }
    }

    /// What is behind a pointer to a place of type `target` goes to what is behind `dest`.
    pub(super) fn relate_target(&mut self, target: Ty, dest: Side, span: Span) {
        let Some(p) = object_pointer(&self.program.types, dest.ty) else { return };
        let source = self.typed(target, Env::Body);
        let to = self.typed(p.target.ty, dest.env);
        if !same_shape(&self.program.types, source.ty, to.ty) {
            return;
        }
        let how = if p.target.quals.is_const { How::Outlives } else { How::Equal };
        self.flow(source.outer, to.outer, how, span, Keeper::Memory);
        self.relate_inner(source, to, span, Keeper::Memory);
    }

    pub(super) fn declared_exchange(&self, ty: Ty) -> bool {
        object_pointer(&self.program.types, ty).is_some_and(|p| p.region == Region::Exchange)
    }

    pub(super) fn handle_region(&mut self, handle: &Operand) -> Ref {
        let ty = operand_ty(self.program, self.body, handle);
        match ty.map(|ty| self.program.types.kind(ty)) {
            Ok(TyKind::Handle(_, r)) => self.map((*r, 0), Env::Body),
            _ => Ref::Free,
        }
    }

    /// An object may own only into its own region (of the heap: also keys).
    pub(super) fn owned_parts(&mut self, elem: Ty, region: Ref, span: Span) {
        let mut parts = vec![];
        each_owned(&self.program.types, elem, 0, &mut |owned| parts.push(owned));
        let heap = region == Ref::Fixed(HEAP);
        for owned in parts {
            let (source, keeper) = match owned {
                Owned::Key(_) if heap => continue,
                Owned::Pointer(r) => (self.map((r, 0), Env::Body), Keeper::Object),
                // Only what is exchanged holds ends of channels: what else dies, dies in its heap.
                Owned::Endpoint => (Ref::Fixed(EXCHANGE), Keeper::Object),
                Owned::Key(kind) => (key_region(kind, region), Keeper::Object),
                Owned::Generic(param) => (Ref::Fixed(self.owner_region(param)), Keeper::ObjectOf(param.name)),
            };
            self.flow(source, region, How::Equal, span, keeper);
        }
    }

    /// Where a value of the type parameter owns: what `T: move @r` or `T: exchange` says, or in the
    /// heap.
    pub(super) fn owner_region(&mut self, param: TypeParam) -> OriginId {
        if param.exchange {
            return EXCHANGE;
        }
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let func = function.and_then(|f| self.program.types.as_func(f.ty));
        let bound = func.and_then(|func| bound_of(&self.program.types, &func, param));
        bound.and_then(|region| self.origins.of_prototype(region)).unwrap_or(HEAP)
    }

    pub(super) fn borrow(
        &mut self,
        at: Point,
        kind: BorrowKind,
        place: &Place,
        ty: Ty,
        dest: Side,
        span: Span,
    ) -> Option<Side> {
        let side = self.place_side(place)?;
        // What is behind a view is in the view's region, which no loan makes shorter.
        if kind == BorrowKind::Lend || self.last_view(place).is_some() {
            return Some(side);
        }
        if self.origins.loan_at(at).is_none() {
            // A cursor advances: it stays in its region.
            return Some(dest);
        }
        let (memory, inner) = if kind.by_address() {
            self.relate_target(side.ty, dest, span);
            (self.memory_of(place), dest)
        } else {
            (side.outer, side)
        };
        if let Some(region) = self.named_loan(ty) {
            self.flow(memory, Ref::Fixed(region), How::Outlives, span, Keeper::Borrow);
            return Some(Side { outer: Ref::Fixed(region), ..inner });
        }
        if let Some(loan) = self.origins.loan_at(at) {
            let origin = self.origins.loan(loan);
            self.flow(Ref::Fixed(origin), dest.outer, How::Outlives, span, Keeper::Borrow);
        }
        Some(Side { outer: memory, ..inner })
    }

    pub(super) fn named_loan(&mut self, ty: Ty) -> Option<OriginId> {
        let Region::Body(n) = object_pointer(&self.program.types, ty)?.region else { return None };
        let kind = self.body.regions.get(n as usize)?.decl.kind;
        (kind == RegionKind::Loan).then_some(ENTRIES + n as usize)
    }

    pub(super) fn dispose(&mut self, value: &Operand, handle: Option<&Operand>, span: Span) {
        let Some(side) = self.operand_side(value) else { return };
        let Some(p) = object_pointer(&self.program.types, side.ty) else { return };
        if p.region == Region::Exchange {
            return;
        }
        let region = match handle {
            Some(handle) => self.handle_region(handle),
            None => Ref::Fixed(HEAP),
        };
        let Ref::Fixed(region) = region else { return };
        let demand = Demand {
            source: side.outer,
            region,
            exact: true,
            allowed: None,
            lends: false,
            span,
            keeper: Keeper::Dispose,
        };
        self.demands.push(demand);
    }
}
