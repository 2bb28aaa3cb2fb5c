//! Types and their regions: replacing regions, equality modulo regions, what a type owns.

use crate::types::*;
use std::rc::Rc;

/// Level of regions of prototypes that are being read: replaced when the prototype is complete.
pub(crate) const FREE: u8 = u8::MAX;

impl TypeStore {
    /// `ty` with each region replaced by what `f` gives for it and the number of function types
    /// around it within `ty`.
    pub fn map_regions(&mut self, ty: Ty, f: &mut dyn FnMut(Region, u8) -> Region) -> Ty {
        self.map_at(ty, 0, false, f)
    }

    /// The representative of all types that differ in regions only: `@heap` everywhere, no region
    /// variables.
    pub fn erase_regions(&mut self, ty: Ty) -> Ty {
        if let Some(&known) = self.erased.get(&ty) {
            return known;
        }
        let out = self.map_at(ty, 0, true, &mut |_, _| Region::Heap);
        self.erased.insert(ty, out);
        out
    }

    /// The record of the erased type: for records whose types went through `erase_regions`, else
    /// the record itself.
    pub fn erased_record(&self, id: RecordId) -> RecordId {
        let erased = self.find(&TyKind::Record(id)).and_then(|ty| self.erased.get(&ty));
        erased.and_then(|&ty| self.as_record(ty)).unwrap_or(id)
    }

    fn map_at(&mut self, ty: Ty, depth: u8, erase: bool, f: &mut dyn FnMut(Region, u8) -> Region) -> Ty {
        match self.kind(ty).clone() {
            TyKind::Ptr(p) => {
                let region = f(p.region, depth);
                let target = Qty { ty: self.map_at(p.target.ty, depth, erase, f), ..p.target };
                self.pointer(Pointer { target, region, ..p })
            }
            TyKind::Array { elem, len, terminated } => {
                let elem = Qty { ty: self.map_at(elem.ty, depth, erase, f), ..elem };
                self.intern(TyKind::Array { elem, len, terminated })
            }
            TyKind::Func(func) => {
                let mut func = (*func).clone();
                let inner = depth.saturating_add(1);
                for p in &mut func.params {
                    p.ty = self.map_at(p.ty, inner, erase, f);
                }
                func.ret = self.map_at(func.ret, inner, erase, f);
                for (a, b) in &mut func.outlives {
                    (*a, *b) = (f(*a, inner), f(*b, inner));
                }
                for (owner, region) in &mut func.owns_in {
                    (*owner, *region) = (self.map_at(*owner, inner, erase, f), f(*region, inner));
                }
                if erase {
                    func.regions = 0;
                    func.outlives.clear();
                    func.owns_in.clear();
                }
                self.intern(TyKind::Func(Rc::new(func)))
            }
            TyKind::Record(id) => {
                let Some(&generic) = self.instance_of.get(&id) else { return ty };
                let args = self.record(id).args.clone();
                let mapped: Vec<Ty> = args.iter().map(|&a| self.map_at(a, depth, erase, f)).collect();
                if mapped == args {
                    return ty;
                }
                let id = self.instance(generic, mapped);
                self.intern(TyKind::Record(id))
            }
            TyKind::Key(kind, region) => self.intern(TyKind::Key(kind, f(region, depth))),
            TyKind::Handle(reap, region) => self.intern(TyKind::Handle(reap, f(region, depth))),
            TyKind::RegionArg(region) => self.intern(TyKind::RegionArg(f(region, depth))),
            _ => ty,
        }
    }

    /// A function type with its region variables replaced by `regions`: for its body, or for one
    /// call.
    pub fn open_function(&mut self, func: &FuncTy, regions: &[Region]) -> FuncTy {
        let mut out = func.clone();
        let mut open = |r: Region, depth: u8| match r {
            Region::Bound(level, n) if level == depth => regions.get(n as usize).copied().unwrap_or(Region::Heap),
            other => other,
        };
        for p in &mut out.params {
            p.ty = self.map_regions(p.ty, &mut open);
        }
        out.ret = self.map_regions(out.ret, &mut open);
        for (a, b) in &mut out.outlives {
            (*a, *b) = (open(*a, 0), open(*b, 0));
        }
        for (owner, region) in &mut out.owns_in {
            (*owner, *region) = (self.map_regions(*owner, &mut open), open(*region, 0));
        }
        out.regions = 0;
        out
    }

    /// Whether two types are equal but for regions that a body solves or that stand outside
    /// function types. What a prototype says about its own regions is part of its type.
    pub fn same_modulo_regions(&self, a: Ty, b: Ty) -> bool {
        self.same(a, b, false)
    }

    fn same(&self, a: Ty, b: Ty, inside: bool) -> bool {
        if a == b {
            return true;
        }
        let regions = |x: Region, y: Region| {
            let told = |r| matches!(r, Region::Heap | Region::Exchange | Region::Bound(..));
            !inside || x == y || !told(x) || !told(y)
        };
        match (self.kind(a), self.kind(b)) {
            (TyKind::Ptr(x), TyKind::Ptr(y)) => {
                x.bounds == y.bounds
                    && x.nonnull == y.nonnull
                    && x.own == y.own
                    && x.raw == y.raw
                    && x.target.quals == y.target.quals
                    && regions(x.region, y.region)
                    && self.same(x.target.ty, y.target.ty, inside)
            }
            (TyKind::Array { elem: x, len: n, terminated: s }, TyKind::Array { elem: y, len: m, terminated: t }) => {
                n == m && s == t && x.quals == y.quals && self.same(x.ty, y.ty, inside)
            }
            (TyKind::Func(x), TyKind::Func(y)) => self.same_functions(x, y),
            (TyKind::Record(x), TyKind::Record(y)) => {
                let (p, q) = (self.instance_of.get(x), self.instance_of.get(y));
                let (p_args, q_args) = (&self.record(*x).args, &self.record(*y).args);
                p.is_some() && p == q && p_args.iter().zip(q_args).all(|(&a, &b)| self.same(a, b, inside))
            }
            (TyKind::Key(x, r), TyKind::Key(y, s)) => x == y && regions(*r, *s),
            (TyKind::Handle(x, r), TyKind::Handle(y, s)) => x == y && regions(*r, *s),
            (TyKind::RegionArg(r), TyKind::RegionArg(s)) => regions(*r, *s),
            _ => false,
        }
    }

    fn same_functions(&self, x: &FuncTy, y: &FuncTy) -> bool {
        let plain = |f: &FuncTy| FuncTy { ret: Ty(0), params: vec![], ..f.clone() };
        plain(x) == plain(y)
            && self.same(x.ret, y.ret, true)
            && x.params.len() == y.params.len()
            && x.params
                .iter()
                .zip(&y.params)
                .all(|(p, q)| ParamTy { ty: q.ty, ..*p } == *q && self.same(p.ty, q.ty, true))
    }

    /// Whether a value of the type owes something: it is moved when it is read, and lost if nobody
    /// takes it.
    pub fn owns(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) => p.own.is_owned() || matches!(p.own, Own::Param(_)),
            TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
            TyKind::Param(p) => p.moves,
            TyKind::Array { elem, .. } => self.owns(elem.ty),
            TyKind::Record(id) => self.holds(Holds::Owner, *id, |record| {
                record.fields.as_ref().is_some_and(|fields| fields.iter().any(|f| self.owns(f.ty.ty)))
            }),
            _ => false,
        }
    }

    /// Whether the type mentions a region for which `f` holds, in arguments of records and behind
    /// pointers too.
    pub fn mentions_region(&self, ty: Ty, f: &dyn Fn(Region) -> bool) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) => f(p.region) || self.mentions_region(p.target.ty, f),
            TyKind::Array { elem, .. } => self.mentions_region(elem.ty, f),
            TyKind::Func(func) => {
                self.mentions_region(func.ret, f) || func.params.iter().any(|p| self.mentions_region(p.ty, f))
            }
            TyKind::Record(id) => self.record(*id).args.iter().any(|&a| self.mentions_region(a, f)),
            TyKind::Key(_, r) | TyKind::Handle(_, r) | TyKind::RegionArg(r) => f(*r),
            _ => false,
        }
    }
}
