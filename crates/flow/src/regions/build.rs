//! Constraints: what each statement says about regions.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::ir::*;
use mir::ty::{operand_ty, place_ty, prefix_ty, same_shape};
use rustc_hash::FxHashMap;
use source::{Span, Symbol};
use std::rc::Rc;
use typing::tree::{BorrowKind, RegionKind};
use typing::types::{FuncTy, Own, Region, Ty, TyKind};

use super::origins::{OriginId, Origins, ENTRIES, EXCHANGE, HEAP};
use super::shape::{each_owned, is_exact, object_pointer, relate_inner, Found, How, Owned};
use crate::framework::Point;

/// The region of a pointer, as far as it is known before solving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ref {
    /// To be solved.
    Node(usize),
    /// This one.
    Fixed(OriginId),
    /// Nothing is said about it (after an error).
    Free,
}

/// Which variables `Region::Bound` means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Env {
    /// None: they stand in types of function pointers.
    Body,
    /// Those of a call, from this node on.
    Call(usize),
    /// Those of the function itself.
    Prototype,
    /// None; the hidden regions are those of the packing or unpacking with this number.
    Hidden(usize),
}

/// A value or place: its type, and the region of its outermost pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub ty: Ty,
    pub outer: Ref,
    pub env: Env,
}

/// What keeps a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keeper {
    /// The caller.
    Return,
    /// Memory behind a pointer.
    Memory,
    /// A global.
    Global(Symbol),
    /// A local.
    Local(Local),
    /// A part of a local.
    Part(Local),
    /// A parameter of a called function, by number.
    Parameter(u32),
    /// The object of an allocation that owns it.
    Object,
    /// A release: `free`, `rfree`.
    Dispose,
    /// The handle or region of an `open`.
    Open,
    /// A named borrow of it.
    Borrow,
    /// A type argument that must be in the heap.
    HeapArgument,
    /// A fact that a called function asks for.
    Fact,
}

/// What must hold once regions are solved: all origins of the source outlive the region, or are it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub source: Ref,
    pub region: OriginId,
    pub exact: bool,
    /// Also allowed: a pointer into this parameter's target (`[[lee::into]]`).
    pub allowed: Option<Ref>,
    pub span: Span,
    pub keeper: Keeper,
}

/// A pointer that arrives in a variable, whose origins must be in scope at its declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub local: Local,
    pub source: Ref,
    pub span: Span,
}

/// Collects constraints and solves them.
pub(crate) struct Solver<'a> {
    pub program: &'a Program,
    pub body: &'a Body,
    pub origins: Origins<'a>,
    pub sets: Vec<BitSet>,
    edges: Vec<Vec<usize>>,
    seeds: Vec<(usize, OriginId)>,
    pub demands: Vec<Demand>,
    pub arrivals: Vec<Arrival>,
    /// Structs that are packed or unpacked so far, by place; and what their hidden regions stand for.
    hidden_at: FxHashMap<Place, usize>,
    hidden: Vec<Vec<Ref>>,
    /// What was hidden by packing, and where.
    pub packed: Vec<(Ref, Span)>,
    /// First node of the call at a point, for regions that its type leaves open.
    calls: FxHashMap<Point, usize>,
}

impl<'a> Solver<'a> {
    pub fn new(program: &'a Program, body: &'a Body) -> Solver<'a> {
        let nodes = body.infer_regions as usize + body.locals.len();
        Solver {
            program,
            body,
            origins: Origins::new(program, body),
            sets: vec![],
            edges: vec![vec![]; nodes],
            seeds: vec![],
            demands: vec![],
            arrivals: vec![],
            hidden_at: FxHashMap::default(),
            hidden: vec![],
            packed: vec![],
            calls: FxHashMap::default(),
        }
    }

    /// Walks all statements that control gets to, then solves.
    pub fn run(&mut self, cfg: &Cfg) {
        let body = self.body;
        for &b in cfg.reverse_postorder() {
            let Some(block) = body.blocks.get(b.0 as usize) else { continue };
            for (n, stmt) in block.stmts.iter().enumerate() {
                // What `unsafe` code makes is its own affair.
                if !stmt.is_unsafe {
                    self.stmt(Point { block: b, stmt: n }, stmt);
                }
            }
            if let TermKind::Return(Some(operand)) = &block.term.kind {
                self.returned(operand, block.term.span);
            }
        }
        self.solve();
    }

    fn fresh(&mut self) -> usize {
        self.edges.push(vec![]);
        self.edges.len() - 1
    }

    fn solve(&mut self) {
        let universe = self.origins.all.len();
        self.sets = vec![BitSet::empty(universe); self.edges.len()];
        let mut work = vec![];
        for &(node, origin) in &self.seeds {
            if self.sets[node].insert(origin) {
                work.push(node);
            }
        }
        while let Some(node) = work.pop() {
            let from = self.sets[node].clone();
            for &to in &self.edges[node] {
                if to != node && self.sets[to].union(&from) {
                    work.push(to);
                }
            }
        }
    }

    // ---- regions of types, places and values

    pub fn map(&mut self, (region, level): Found, env: Env) -> Ref {
        match region {
            Region::Heap => Ref::Fixed(HEAP),
            Region::Exchange => Ref::Fixed(EXCHANGE),
            Region::Body(n) if (n as usize) < self.body.regions.len() => Ref::Fixed(ENTRIES + n as usize),
            Region::Infer(n) if n < self.body.infer_regions => Ref::Node(n as usize),
            Region::Bound(at, n) if at == level => match env {
                Env::Call(base) => Ref::Node(base + n as usize),
                Env::Prototype => self.origins.of_prototype(Region::Bound(0, n)).map_or(Ref::Free, Ref::Fixed),
                // A counted parameter arrives in a local of the prototype's type.
                Env::Body if level == 0 => self.origins.of_prototype(region).map_or(Ref::Free, Ref::Fixed),
                Env::Body | Env::Hidden(_) => Ref::Fixed(self.origins.odd(region)),
            },
            Region::Exists(n) => match env {
                Env::Hidden(at) => {
                    self.hidden.get(at).and_then(|list| list.get(n as usize)).copied().unwrap_or(Ref::Free)
                }
                _ => Ref::Fixed(self.origins.odd(region)),
            },
            other => Ref::Fixed(self.origins.odd(other)),
        }
    }

    fn decl(&self, local: Local) -> Option<&'a LocalDecl> {
        self.body.locals.get(local.0 as usize)
    }

    /// The region of a local's outermost pointer. That of a temporary is whatever flows into it.
    pub fn outer_of_local(&mut self, local: Local) -> Ref {
        let Some(decl) = self.decl(local) else { return Ref::Free };
        let Some(p) = object_pointer(&self.program.types, decl.ty.ty) else { return Ref::Free };
        if decl.kind == LocalKind::Temp {
            return Ref::Node(self.body.infer_regions as usize + local.0 as usize);
        }
        self.map((p.region, 0), Env::Body)
    }

    /// The region that the pointer in a place points into.
    pub fn outer_of_place(&mut self, place: &Place) -> Ref {
        if let Some(local) = place.as_local() {
            return self.outer_of_local(local);
        }
        let types = &self.program.types;
        let Some(p) = place_ty(self.program, self.body, place).ok().and_then(|q| object_pointer(types, q.ty)) else {
            return Ref::Free;
        };
        // Behind a view an owned field is a view in the view's region, whatever the field says.
        if is_exact(p.own) {
            if let Some(view) = self.last_view(place) {
                return self.outer_of_place(&view);
            }
        }
        let env = self.env_of(place);
        self.map((p.region, 0), env)
    }

    /// What hidden regions in the type of a place stand for.
    fn env_of(&self, place: &Place) -> Env {
        if self.hidden_at.is_empty() {
            return Env::Body;
        }
        for n in 0..=place.proj.len() {
            let prefix = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
            if let Some(&at) = self.hidden_at.get(&prefix) {
                return Env::Hidden(at);
            }
        }
        Env::Body
    }

    fn hide(&mut self, place: &Place, regions: Vec<Ref>) {
        self.hidden_at.insert(place.clone(), self.hidden.len());
        self.hidden.push(regions);
    }

    /// The innermost view that the place is reached through.
    pub fn last_view(&self, place: &Place) -> Option<Place> {
        let derefs = place.proj.iter().enumerate().rev().filter(|(_, step)| **step == Proj::Deref);
        for (n, _) in derefs {
            let prefix = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
            let ty = prefix_ty(self.program, self.body, place, n).ok()?;
            let own = self.program.types.as_pointer(ty.ty).map(|p| p.own);
            match own {
                Some(Own::View) => return Some(prefix),
                Some(own) if is_exact(own) => {}
                _ => return None,
            }
        }
        None
    }

    /// The region of the memory that a place is in.
    pub fn memory_of(&mut self, place: &Place) -> Ref {
        match place.proj.iter().rposition(|step| *step == Proj::Deref) {
            Some(n) => {
                let pointer = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
                self.outer_of_place(&pointer)
            }
            None => match place.base {
                PlaceBase::Local(local) => Ref::Fixed(self.origins.local(local)),
                _ => Ref::Fixed(HEAP),
            },
        }
    }

    pub fn place_side(&mut self, place: &Place) -> Option<Side> {
        let ty = place_ty(self.program, self.body, place).ok()?.ty;
        Some(Side { ty, outer: self.outer_of_place(place), env: self.env_of(place) })
    }

    pub fn operand_side(&mut self, operand: &Operand) -> Option<Side> {
        match operand {
            Operand::Copy(place) | Operand::Move(place) => self.place_side(place),
            Operand::Const(Const::Null(_) | Const::Int(..)) => None,
            Operand::Const(_) => {
                let ty = operand_ty(self.program, self.body, operand).ok()?;
                Some(self.typed(ty, Env::Body))
            }
        }
    }

    /// A side whose outermost region is that of its type.
    pub fn typed(&mut self, ty: Ty, env: Env) -> Side {
        let outer = match object_pointer(&self.program.types, ty) {
            Some(p) => self.map((p.region, 0), env),
            None => Ref::Free,
        };
        Side { ty, outer, env }
    }

    // ---- constraints

    pub fn flow(&mut self, source: Ref, dest: Ref, how: How, span: Span, keeper: Keeper) {
        let demand = |source, region, exact| Demand { source, region, exact, allowed: None, span, keeper };
        match (source, dest, how) {
            (Ref::Free, ..) | (_, Ref::Free, _) => {}
            (Ref::Node(s), Ref::Node(d), _) => {
                self.edge(s, d);
                if how == How::Equal {
                    self.edge(d, s);
                }
            }
            (Ref::Fixed(o), Ref::Node(d), _) => {
                self.seeds.push((d, o));
                if how == How::Equal {
                    self.demands.push(demand(Ref::Node(d), o, true));
                }
            }
            (Ref::Node(s), Ref::Fixed(r), How::Equal) => {
                self.seeds.push((s, r));
                self.demands.push(demand(source, r, true));
            }
            (_, Ref::Fixed(r), How::Outlives) => self.demands.push(demand(source, r, false)),
            (Ref::Fixed(_), Ref::Fixed(r), How::Equal) => self.demands.push(demand(source, r, true)),
        }
    }

    fn edge(&mut self, from: usize, to: usize) {
        if let Some(list) = self.edges.get_mut(from) {
            if !list.contains(&to) {
                list.push(to);
            }
        }
    }

    /// Relates a value to where it goes.
    pub fn relate(&mut self, source: Side, dest: Side, span: Span, keeper: Keeper) {
        let types = &self.program.types;
        let exact = object_pointer(types, dest.ty).is_some_and(|p| is_exact(p.own));
        let how = if exact { How::Equal } else { How::Outlives };
        self.flow(source.outer, dest.outer, how, span, keeper);
        self.relate_inner(source, dest, span, keeper);
    }

    fn relate_inner(&mut self, source: Side, dest: Side, span: Span, keeper: Keeper) {
        let mut pairs = vec![];
        relate_inner(&self.program.types, source.ty, dest.ty, &mut |s, d, how| pairs.push((s, d, how)));
        for (s, d, how) in pairs {
            let (Some(s), Some(d)) = (s, d) else {
                // A function that relies on more than its pointer's type promises.
                self.demands.push(Demand {
                    source: Ref::Fixed(EXCHANGE),
                    region: HEAP,
                    exact: true,
                    allowed: None,
                    span,
                    keeper: Keeper::Fact,
                });
                continue;
            };
            let (s, d) = (self.map(s, source.env), self.map(d, dest.env));
            self.flow(s, d, how, span, keeper);
        }
    }

    fn stmt(&mut self, at: Point, stmt: &Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Assign(dest, value) => self.assign(at, dest, value, span),
            StmtKind::Call { dest, callee, args, ty } => self.call(at, dest.as_ref(), callee, args, *ty, span),
            StmtKind::Swap(a, b) => {
                if let (Some(x), Some(y)) = (self.place_side(a), self.place_side(b)) {
                    let keeper = self.keeper(b);
                    self.flow(x.outer, y.outer, How::Equal, span, keeper);
                    self.relate_inner(x, y, span, keeper);
                }
            }
            StmtKind::Open(handle, key, region) => {
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
                self.packed.extend(regions.iter().map(|&r| (r, span)));
                self.hide(place, regions);
            }
            StmtKind::Unpack { place, regions, .. } => {
                let regions = regions.iter().map(|&n| self.map((Region::Body(n), 0), Env::Body)).collect();
                self.hide(place, regions);
            }
            StmtKind::Dispose { value, handle, .. } => self.dispose(value, handle.as_ref(), span),
            _ => {}
        }
    }

    pub fn keeper(&self, dest: &Place) -> Keeper {
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

    fn assign(&mut self, at: Point, dest: &Place, value: &Rvalue, span: Span) {
        let Some(to) = self.place_side(dest) else { return };
        let Some(from) = self.value(at, value, to, span) else { return };
        if let Some(look) = self.origins.loan_at(at).filter(|&n| self.is_look(n)) {
            let (origin, keeper) = (self.origins.loan(look), self.keeper(dest));
            if self.last_view_of(value).is_none() {
                self.flow(Ref::Fixed(origin), to.outer, How::Outlives, span, keeper);
            }
            // What only looks takes nothing over, whatever its type says.
            if dest.as_local().and_then(|l| self.decl(l)).is_some_and(|d| d.kind == LocalKind::Temp) {
                self.flow(from.outer, to.outer, How::Outlives, span, keeper);
                return self.relate_inner(from, to, span, keeper);
            }
        }
        self.store(from, dest, to, span);
    }

    fn is_look(&self, loan: usize) -> bool {
        self.origins.loans.get(loan).is_some_and(|l| l.form == super::origins::Form::Look)
    }

    fn last_view_of(&self, value: &Rvalue) -> Option<Place> {
        match value {
            Rvalue::Use(Operand::Copy(place)) => self.last_view(place),
            _ => None,
        }
    }

    /// Relates a value to the place that it is stored in.
    fn store(&mut self, from: Side, dest: &Place, to: Side, span: Span) {
        let keeper = self.keeper(dest);
        if let PlaceBase::Local(local) = dest.base {
            let is_variable = self.decl(local).is_some_and(|d| d.kind != LocalKind::Temp);
            // What a struct hides is in scope wherever the struct is.
            if is_variable && !dest.has_deref() && !matches!(to.env, Env::Hidden(_)) {
                self.arrivals.push(Arrival { local, source: from.outer, span });
            }
        }
        self.relate(from, to, span, keeper);
    }

    /// The side of a value; `None` if it holds no pointer.
    fn value(&mut self, at: Point, value: &Rvalue, dest: Side, span: Span) -> Option<Side> {
        match value {
            Rvalue::Use(a) | Rvalue::Offset(a, _) | Rvalue::Retain(a) => self.operand_side(a),
            Rvalue::MakeFat { ptr: a, ty, .. } | Rvalue::MakeCounted { ptr: a, ty, .. } => {
                let side = self.operand_side(a)?;
                Some(Side { ty: self.inner_of(side.ty, *ty), ..side })
            }
            Rvalue::Bits(a, ty) | Rvalue::Part(a, Part::Ptr | Part::Lo | Part::Hi, ty) => {
                let side = self.operand_side(a)?;
                Some(Side { ty: self.inner_of(side.ty, *ty), ..side })
            }
            // Behind a `void *` all is in the heap: the remembered type does not tell regions.
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
                Some(Side { ty: dest.ty, outer, env: Env::Body })
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
                // Fresh memory is in exactly its region, and a shared pointer to it converts like any other.
                let exact = object_pointer(&self.program.types, dest.ty).is_some_and(|p| is_exact(p.own));
                if exact {
                    self.flow(outer, dest.outer, How::Equal, span, Keeper::Object);
                }
                Some(Side { ty: dest.ty, outer, env: Env::Body })
            }
            _ => None,
        }
    }

    /// The type whose inner regions count: the operand's if it has the shape of the result.
    fn inner_of(&self, operand: Ty, result: Ty) -> Ty {
        if same_targets(self.program, operand, result) {
            operand
        } else {
            result
        }
    }

    /// What is behind a pointer to a place of type `target` goes to what is behind `dest`.
    fn relate_target(&mut self, target: Ty, dest: Side, span: Span) {
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

    fn declared_exchange(&self, ty: Ty) -> bool {
        object_pointer(&self.program.types, ty).is_some_and(|p| p.region == Region::Exchange)
    }

    pub fn handle_region(&mut self, handle: &Operand) -> Ref {
        let ty = operand_ty(self.program, self.body, handle);
        match ty.map(|ty| self.program.types.kind(ty)) {
            Ok(TyKind::Handle(_, r)) => self.map((*r, 0), Env::Body),
            _ => Ref::Free,
        }
    }

    /// An object may own only into its own region (of the heap: also exchange blocks and keys).
    fn owned_parts(&mut self, elem: Ty, region: Ref, span: Span) {
        let mut parts = vec![];
        each_owned(&self.program.types, elem, 0, &mut |owned| parts.push(owned));
        let heap = region == Ref::Fixed(HEAP);
        for owned in parts {
            let source = match owned {
                Owned::Pointer(Region::Exchange) if heap => continue,
                Owned::Pointer(r) => self.map((r, 0), Env::Body),
                Owned::Key | Owned::Generic if heap => continue,
                // A key or a value of any type would be lost with the arena.
                Owned::Key | Owned::Generic => Ref::Fixed(HEAP),
            };
            self.flow(source, region, How::Equal, span, Keeper::Object);
        }
    }

    fn borrow(&mut self, at: Point, kind: BorrowKind, place: &Place, ty: Ty, dest: Side, span: Span) -> Option<Side> {
        let side = self.place_side(place)?;
        // What is behind a view is in the view's region, which no loan makes shorter.
        if kind == BorrowKind::Lend || self.last_view(place).is_some() {
            return Some(side);
        }
        if self.origins.loan_at(at).is_none() {
            // A cursor goes on: it stays in its region.
            return Some(dest);
        }
        let (memory, inner) = if kind.by_address() {
            self.relate_target(side.ty, dest, span);
            (self.memory_of(place), Side { env: Env::Body, ..dest })
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

    fn named_loan(&mut self, ty: Ty) -> Option<OriginId> {
        let Region::Body(n) = object_pointer(&self.program.types, ty)?.region else { return None };
        let kind = self.body.regions.get(n as usize)?.decl.kind;
        (kind == RegionKind::Loan).then_some(ENTRIES + n as usize)
    }

    fn dispose(&mut self, value: &Operand, handle: Option<&Operand>, span: Span) {
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
        let demand = Demand { source: side.outer, region, exact: true, allowed: None, span, keeper: Keeper::Dispose };
        self.demands.push(demand);
    }

    pub fn func_ty(&self, ty: Ty) -> Option<Rc<FuncTy>> {
        self.program.types.as_func(ty)
    }

    /// The first node of the call's own variables.
    pub fn call_env(&mut self, at: Point, func: &FuncTy) -> Env {
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

    fn call(&mut self, at: Point, dest: Option<&Place>, callee: &Callee, args: &[Operand], ty: Ty, span: Span) {
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
            self.flow(long, short, How::Outlives, span, Keeper::Fact);
        }
        self.heap_arguments(callee, span);
        let stored = self.end_into(&func, args, span);
        let Some(dest) = dest else { return };
        let Some(to) = self.place_side(dest) else { return };
        let from = self.typed(func.ret, env);
        self.store(from, dest, to, span);
        let keeper = self.keeper(dest);
        if let Some(p) = func.into.and_then(|n| args.get(n as usize)) {
            if let Some(side) = self.operand_side(p) {
                self.flow(side.outer, to.outer, How::Outlives, span, keeper);
            }
            // A later call may go on from what the earlier one left there (`strtok_r(NULL, ...)`).
            if let Some(stored) = stored {
                self.flow(stored, to.outer, How::Outlives, span, keeper);
            }
        }
    }

    /// The place whose address a temporary holds, if it holds one only.
    fn address_in(&self, temp: Local) -> Option<Place> {
        let mut found = None;
        for stmt in self.body.blocks.iter().flat_map(|b| &b.stmts) {
            match &stmt.kind {
                StmtKind::Assign(dest, value) if dest.as_local() == Some(temp) => match (value, &found) {
                    (Rvalue::AddrOf(place), None) => found = Some(place.clone()),
                    (Rvalue::Use(Operand::Copy(from)), None) => found = self.address_in(from.as_local()?),
                    _ => return None,
                },
                _ => {}
            }
        }
        found
    }

    /// `*out` is set to a pointer into `p`; gives the region of `*out`.
    fn end_into(&mut self, func: &FuncTy, args: &[Operand], span: Span) -> Option<Ref> {
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

    /// Type arguments: `T: heap` wants the heap in every region; what `T: move` owns is released without a handle.
    fn heap_arguments(&mut self, callee: &Callee, span: Span) {
        let (Callee::Direct(f) | Callee::Start(f)) = callee else { return };
        let Some(function) = self.program.functions.get(f.func.0 as usize).filter(|_| !f.args.is_empty()) else {
            return;
        };
        let mut params = vec![];
        each_param(&self.program.types, function.ty, 0, &mut |p| params.push(p));
        let mut wanted = vec![];
        for p in params {
            let Some(&arg) = f.args.get(p.index as usize) else { continue };
            if p.heap {
                super::shape::each_region(&self.program.types, arg, 0, 0, &mut |r| wanted.push(r));
            }
            if p.moves {
                each_owned(&self.program.types, arg, 0, &mut |owned| match owned {
                    Owned::Pointer(Region::Exchange) => {}
                    Owned::Pointer(r) => wanted.push((r, 0)),
                    _ => {}
                });
            }
        }
        for r in wanted {
            let r = self.map(r, Env::Body);
            self.flow(r, Ref::Fixed(HEAP), How::Equal, span, Keeper::HeapArgument);
        }
    }

    fn returned(&mut self, operand: &Operand, span: Span) {
        let Some(side) = self.operand_side(operand) else { return };
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let Some(func) = function.and_then(|f| self.func_ty(f.ty)) else { return };
        let to = self.typed(func.ret, Env::Prototype);
        let before = self.demands.len();
        self.relate(side, to, span, Keeper::Return);
        let allowed = func.into.map(|n| self.outer_of_local(Local(n)));
        for demand in self.demands.iter_mut().skip(before).filter(|d| !d.exact) {
            demand.allowed = allowed;
        }
    }
}

/// Whether two pointer types have the same target up to regions and qualifiers.
fn same_targets(program: &Program, a: Ty, b: Ty) -> bool {
    match (program.types.as_pointer(a), program.types.as_pointer(b)) {
        (Some(p), Some(q)) => same_shape(&program.types, p.target.ty, q.target.ty),
        _ => false,
    }
}

/// Calls `visit` for each type parameter that the type mentions.
fn each_param(types: &typing::types::TypeStore, ty: Ty, depth: u32, visit: &mut dyn FnMut(typing::types::TypeParam)) {
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
