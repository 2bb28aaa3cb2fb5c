//! Substitution of type parameters, and instances of generic records.

use crate::types::*;
use std::rc::Rc;

/// Instances inside instances inside instances ... end here; a generic that grows without end is
/// reported where it is used.
const MAX_NESTING: usize = 64;

impl TypeStore {
    /// `ty` with type, ownership or region parameter number `i` replaced by `args[i]`.
    pub fn subst(&mut self, ty: Ty, args: &[Ty]) -> Ty {
        self.subst_at(ty, args, 0)
    }

    fn subst_at(&mut self, ty: Ty, args: &[Ty], depth: u8) -> Ty {
        if args.is_empty() || !self.mentions_param(ty) {
            return ty;
        }
        match self.kind(ty).clone() {
            TyKind::Param(p) => match args.get(p.index as usize) {
                Some(&arg) if depth > 0 => self.map_regions(arg, &mut |r, inner| deeper(r, inner, depth)),
                Some(&arg) => arg,
                None => ty,
            },
            TyKind::Ptr(p) => {
                let target = Qty { ty: self.subst_at(p.target.ty, args, depth), ..p.target };
                let (own, region) = (self.subst_own(p.own, args), self.subst_region(p.region, args, depth));
                self.pointer(Pointer { target, own, region, ..p })
            }
            TyKind::Array { elem, len, terminated } => {
                let elem = Qty { ty: self.subst_at(elem.ty, args, depth), ..elem };
                self.intern(TyKind::Array { elem, len, terminated })
            }
            TyKind::Func(f) => {
                let mut f = (*f).clone();
                let inner = depth.saturating_add(1);
                f.ret = self.subst_at(f.ret, args, inner);
                for p in &mut f.params {
                    p.ty = self.subst_at(p.ty, args, inner);
                }
                for (a, b) in &mut f.outlives {
                    (*a, *b) = (self.subst_region(*a, args, inner), self.subst_region(*b, args, inner));
                }
                for (owner, region) in &mut f.owns_in {
                    (*owner, *region) = (self.subst_at(*owner, args, inner), self.subst_region(*region, args, inner));
                }
                self.intern(TyKind::Func(Rc::new(f)))
            }
            TyKind::Record(id) => {
                let Some(&generic) = self.instance_of.get(&id) else { return ty };
                let inner: Vec<Ty> =
                    self.record(id).args.clone().iter().map(|&a| self.subst_at(a, args, depth)).collect();
                let id = self.instance(generic, inner);
                self.intern(TyKind::Record(id))
            }
            TyKind::Key(kind, r) => self.intern(TyKind::Key(kind, self.subst_region(r, args, depth))),
            TyKind::Handle(reap, r) => self.intern(TyKind::Handle(reap, self.subst_region(r, args, depth))),
            TyKind::RegionArg(r) => self.intern(TyKind::RegionArg(self.subst_region(r, args, depth))),
            TyKind::OwnArg(own) => self.intern(TyKind::OwnArg(self.subst_own(own, args))),
            _ => ty,
        }
    }

    fn subst_own(&self, own: Own, args: &[Ty]) -> Own {
        let Own::Param(n) = own else { return own };
        match args.get(n as usize).map(|&a| self.kind(a)) {
            Some(TyKind::OwnArg(own)) => *own,
            _ => own,
        }
    }

    /// An argument's region under `depth` function types: variables of a function type around it
    /// are that many levels farther.
    fn subst_region(&self, region: Region, args: &[Ty], depth: u8) -> Region {
        let Region::Param(n) = region else { return region };
        match args.get(n as usize).map(|&a| self.kind(a)) {
            Some(TyKind::RegionArg(r)) => deeper(*r, 0, depth),
            _ => region,
        }
    }

    /// What `subst` gives, if that type is interned already.
    pub fn substituted(&self, ty: Ty, args: &[Ty]) -> Option<Ty> {
        if args.is_empty() || !self.mentions_param(ty) {
            return Some(ty);
        }
        match self.kind(ty) {
            TyKind::Param(p) => args.get(p.index as usize).copied(),
            TyKind::Ptr(p) => {
                let target = Qty { ty: self.substituted(p.target.ty, args)?, ..p.target };
                let (own, region) = (self.subst_own(p.own, args), self.subst_region(p.region, args, 0));
                self.find(&TyKind::Ptr(Pointer { target, own, region, ..*p }))
            }
            TyKind::Array { elem, len, terminated } => {
                let elem = Qty { ty: self.substituted(elem.ty, args)?, ..*elem };
                self.find(&TyKind::Array { elem, len: *len, terminated: *terminated })
            }
            TyKind::Func(f) => {
                let mut f = (**f).clone();
                f.ret = self.substituted(f.ret, args)?;
                for p in &mut f.params {
                    p.ty = self.substituted(p.ty, args)?;
                }
                for (owner, _) in &mut f.owns_in {
                    *owner = self.substituted(*owner, args)?;
                }
                self.find(&TyKind::Func(Rc::new(f)))
            }
            TyKind::Record(id) => {
                let generic = self.instance_of.get(id)?;
                let inner: Option<Vec<Ty>> = self.record(*id).args.iter().map(|&a| self.substituted(a, args)).collect();
                let id = self.instances.get(&(*generic, inner?))?;
                self.find(&TyKind::Record(*id))
            }
            TyKind::OwnArg(own) => self.find(&TyKind::OwnArg(self.subst_own(*own, args))),
            TyKind::RegionArg(r) => self.find(&TyKind::RegionArg(self.subst_region(*r, args, 0))),
            TyKind::Key(kind, r) => self.find(&TyKind::Key(*kind, self.subst_region(*r, args, 0))),
            TyKind::Handle(reap, r) => self.find(&TyKind::Handle(*reap, self.subst_region(*r, args, 0))),
            _ => Some(ty),
        }
    }

    /// The instance of generic record number `generic` at `args`. Its fields are there if the
    /// generic is complete.
    pub fn instance(&mut self, generic: u32, args: Vec<Ty>) -> RecordId {
        if let Some(&id) = self.instances.get(&(generic, args.clone())) {
            return id;
        }
        let Some(&this) = self.generic_self.get(&generic) else { return RecordId(0) };
        let id = RecordId(self.records.len() as u32);
        let record = Record { args: args.clone(), fields: None, ..self.record(this).clone() };
        self.records.push(record);
        self.instances.insert((generic, args), id);
        self.instance_of.insert(id, generic);
        self.complete_instance(id);
        id
    }

    /// Fills in the fields of an instance whose generic has become complete.
    pub fn complete_instance(&mut self, id: RecordId) {
        let Some(generic) = self.instance_of.get(&id) else { return };
        let Some(&this) = self.generic_self.get(generic) else { return };
        let args = self.record(id).args.clone();
        if this == id || self.record(id).fields.is_some() || args.iter().any(|&a| self.nesting(a) > MAX_NESTING) {
            return;
        }
        let Some(fields) = self.record(this).fields.clone() else { return };
        let mut own: Vec<Field> = fields.to_vec();
        for field in &mut own {
            field.ty.ty = self.subst(field.ty.ty, &args);
        }
        let whole = self.record(this).clone();
        let record = &mut self.records[id.0 as usize];
        // It may have been named before the generic was complete.
        *record = Record { args, fields: Some(Rc::new(own)), ..whole };
    }

    /// Fills in all instances of a generic record.
    pub fn complete_instances(&mut self, generic: u32) {
        let mut ids: Vec<RecordId> =
            self.instance_of.iter().filter(|(_, &g)| g == generic).map(|(&id, _)| id).collect();
        ids.sort();
        for id in ids {
            self.complete_instance(id);
        }
    }

    /// How deeply generic instances nest in `ty`.
    pub fn nesting(&self, ty: Ty) -> usize {
        match self.kind(ty) {
            TyKind::Ptr(p) => self.nesting(p.target.ty),
            TyKind::Array { elem, .. } => self.nesting(elem.ty),
            TyKind::Record(id) => self.record(*id).args.iter().map(|&a| 1 + self.nesting(a)).max().unwrap_or(0),
            _ => 0,
        }
    }
}

/// A region that stood under `inner` function types, moved under `depth` more.
fn deeper(region: Region, inner: u8, depth: u8) -> Region {
    match region {
        Region::Bound(level, n) if level >= inner && level != crate::regions::FREE => {
            Region::Bound(level.saturating_add(depth), n)
        }
        other => other,
    }
}
