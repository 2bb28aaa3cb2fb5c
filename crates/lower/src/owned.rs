//! Regions and ownership: arenas and `open`s with their ends, moves, borrows, slots, packing.
//!
//! What is owned moves by `Operand::Move`, in order: a temporary that owns is read once, by a
//! `Move`. What only looks at an owned pointer reads it by `Copy`, into temporaries that do not
//! own.

use crate::builder::Lower;
use crate::init::Before;
use crate::place::{parent, Use};
use crate::scopes::Item;
use mir::ir::*;
use typing::tree::{BorrowKind, Expr, ExprKind, Init, LocalId, RegionKind};
use typing::types::*;

impl<'t> Lower<'t, '_> {
    /// The regions of the body; those of blocks get their scope when the block is opened.
    pub fn declare_regions(&mut self) {
        let regions = self.tree.regions.iter().map(|decl| BodyRegion { decl: decl.clone(), scope: ScopeId(0) });
        self.body.regions = regions.collect();
    }

    /// The region begins in the current scope.
    pub fn place_region(&mut self, region: u32) {
        self.introduced.insert(region, None);
        self.set_region_scope(region);
    }

    /// The region of a key or a borrow begins with the first local that names it: what introduces
    /// it.
    pub fn introduce_region(&mut self, local: Local) {
        let region = match self.program.types.kind(self.local_ty(local)) {
            TyKind::Key(_, Region::Body(n)) => *n,
            TyKind::Ptr(p) => match p.region {
                Region::Body(n) => n,
                _ => return,
            },
            _ => return,
        };
        let kind = self.body.regions.get(region as usize).map(|r| r.decl.kind);
        let first = matches!(kind, Some(RegionKind::Dynamic | RegionKind::Loan))
            && *self.introduced.entry(region).or_insert(Some(local)) == Some(local);
        if first {
            self.set_region_scope(region);
        }
    }

    fn set_region_scope(&mut self, region: u32) {
        let scope = self.scope;
        if let Some(entry) = self.body.regions.get_mut(region as usize) {
            entry.scope = scope;
        }
    }

    // ---- arenas

    /// `arena r;`, `reap r;`
    pub fn arena(&mut self, handle: LocalId, region: u32) {
        let handle = self.local(handle);
        self.place_region(region);
        self.declare_live(handle);
        self.emit(StmtKind::ArenaBegin(handle, region));
        self.push_live(Item::Arena(handle, region));
    }

    /// `open arena h = k;`
    pub fn open(&mut self, handle: LocalId, key: &'t Expr, region: Region) {
        let handle = self.local(handle);
        self.declare_live(handle);
        let key = self.place(key, Use::Read).place;
        self.emit(StmtKind::OpenBegin(handle, key.clone(), region));
        self.opened.push((handle, key, region));
        self.push_live(Item::Open(self.opened.len() - 1));
    }

    // ---- owned values

    /// Reads an owned path for the last time. Slots in it are left empty, since they free what they
    /// hold when they end.
    pub fn move_out(&mut self, place: &'t Expr, ty: Ty) -> Rvalue {
        let access = self.place(place, Use::Read);
        self.counted_owner(Operand::Move(access.place.clone()), &access.place, access.qty.ty, ty)
            .unwrap_or_else(|| self.move_place(access.place, access.qty.ty))
    }

    /// A pointer of one word from a counted field, with its bounds.
    fn counted_owner(&mut self, pointer: Operand, place: &Place, from: Ty, ty: Ty) -> Option<Rvalue> {
        let Some(Pointer { bounds: Bounds::Counted(count), .. }) = self.pointer_of(from) else { return None };
        if !self.is_fat(ty) {
            return None;
        }
        let count = self.count_of_fields(count, &parent(place));
        Some(Rvalue::MakeCounted { ty, ptr: pointer, count })
    }

    /// Two places exchange what they own.
    pub fn exchange(&mut self, a: Place, b: Place) {
        self.emit(StmtKind::Exchange(a, b));
    }

    /// Takes out what the place holds: of a slot, null stays behind.
    pub fn take_out(&mut self, place: &'t Expr, ty: Ty) -> Rvalue {
        let access = self.place(place, Use::Read);
        let held = access.qty.ty;
        let value = if self.is_slot(&access.place) {
            let taken = self.temp(held);
            self.assign(Place::local(taken), Rvalue::Use(Operand::Const(Const::Null(held))));
            self.exchange(Place::local(taken), access.place.clone());
            Operand::Move(Place::local(taken))
        } else {
            Operand::Move(access.place.clone())
        };
        self.counted_owner(value.clone(), &access.place, held, ty).unwrap_or(Rvalue::Use(value))
    }

    /// Reads a computed place for the last time.
    pub fn move_place(&mut self, place: Place, ty: Ty) -> Rvalue {
        let slots = self.slots_in(&place, ty);
        let value = Operand::Move(place);
        if slots.is_empty() {
            return Rvalue::Use(value);
        }
        let moved = self.temp_of(Rvalue::Use(value), ty);
        for slot in slots {
            self.fill_zero(slot);
        }
        Rvalue::Use(moved)
    }

    /// Lends an owned path or a slot.
    pub fn borrow(&mut self, kind: BorrowKind, place: &'t Expr, ty: Ty) -> Rvalue {
        let access = self.place(place, if kind.by_address() { Use::Lend } else { Use::Read });
        let (held, to) = (self.pointer_of(access.qty.ty), self.pointer_of(ty));
        if let (Some(Pointer { bounds: bounds @ Bounds::Counted(_), .. }), Some(p), true) = (held, to, self.is_fat(ty))
        {
            let word = self.program.types.pointer(Pointer { bounds, ..p });
            let lent = self.temp_of(Rvalue::Borrow(kind, access.place.clone(), word), word);
            if let Some(value) = self.counted_owner(lent, &access.place, access.qty.ty, ty) {
                return value;
            }
        }
        Rvalue::Borrow(kind, access.place, ty)
    }

    /// `retain(e)`; what a field counts has its bounds afterwards.
    pub fn retain(&mut self, e: &'t Expr, ty: Ty) -> Rvalue {
        if !e.is_place() {
            let value = self.direct(e);
            return Rvalue::Retain(value);
        }
        let access = self.place(e, Use::Read);
        let held = access.qty.ty;
        let value = Rvalue::Retain(Operand::Copy(access.place.clone()));
        if !self.is_counted(held) {
            return value;
        }
        let kept = Place::local(self.temp(held));
        self.assign(kept.clone(), value);
        let kept = Operand::Move(kept);
        self.counted_owner(kept.clone(), &access.place, held, ty).unwrap_or(Rvalue::Use(kept))
    }

    /// `free`, `free_arena`, `release`, `rfree`.
    pub fn dispose(&mut self, value: &'t Expr, handle: Option<&'t Expr>) {
        let handle = handle.map(|h| {
            let op = self.operand(h);
            self.whole(op)
        });
        let value = match &*value.kind {
            // What frees a counted field asks for no bounds.
            ExprKind::Move(place) if self.is_counted(place.ty.ty) => Operand::Move(self.place(place, Use::Read).place),
            _ => self.direct(value),
        };
        self.emit(StmtKind::Dispose { value, handle, moved: vec![] });
    }

    /// A struct that hides regions, from its parts.
    pub fn pack(&mut self, dest: Local, ty: Qty, regions: &[Region], init: &'t Init) {
        let place = Place::local(dest);
        self.emit(StmtKind::Pack(place.clone(), regions.to_vec()));
        self.init_place(&place, ty, init, Before::Unknown);
    }

    /// `unpack p as {@d, k, root};`
    pub fn unpack(&mut self, place: &'t Expr, regions: &[u32], bindings: &[(LocalId, u32)], moves: bool) {
        let whole = self.place(place, Use::Read);
        let place = whole.place;
        for &region in regions {
            self.place_region(region);
        }
        self.emit(StmtKind::UnpackBegin { place: place.clone(), regions: regions.to_vec(), moves });
        // What owns nothing is copied out. The parts come to life after this, so they end before it.
        let lends = !moves && mir::ty::owns(&self.program.types, whole.qty.ty);
        if lends {
            self.unpacked.push((place.clone(), regions.to_vec()));
            self.push_live(Item::Unpack(self.unpacked.len() - 1));
        }
        for &(local, field) in bindings {
            let local = self.local(local);
            self.declare_live(local);
            let part = place.then(Proj::Field(field));
            let owned = mir::ty::owns(&self.program.types, self.local_ty(local));
            let value = if owned && moves { Operand::Move(part) } else { Operand::Copy(part) };
            self.assign(Place::local(local), Rvalue::Use(value));
        }
    }

    /// `cursor pp = &place;`
    pub fn cursor(&mut self, cursor: LocalId, place: &'t Expr) {
        let cursor = self.local(cursor);
        self.declare_live(cursor);
        self.cursors.push(cursor);
        let place = match &*place.kind {
            ExprKind::AddrOf(inner) => inner,
            _ => place,
        };
        let access = self.place(place, Use::Lend);
        let is_cursor = |local| self.cursors.contains(&local);
        if mir::cursors::takes_out(self.program, &self.body, &access.place, &is_cursor) {
            self.taking.push(cursor);
        }
        self.emit(StmtKind::CursorBegin(cursor, access.place));
    }

    // ---- slots

    /// Whether the place is a container slot: a store to it drops what it held. All else that owns
    /// is an owned path.
    pub fn is_slot(&self, place: &Place) -> bool {
        if self.body.unchecked || place.base_local().is_none() {
            return !self.body.unchecked;
        }
        if place.base_local().is_some_and(|local| self.is_reached(local)) {
            return true;
        }
        for (n, step) in place.proj.iter().enumerate() {
            let owned_path = match step {
                // What lies in a member of a union is not a path of its own.
                Proj::Field(_) => n + 1 == place.proj.len() || !self.is_union(place, n),
                Proj::Index(_) => false,
                Proj::Deref if n == 0 && place.base_local().is_some_and(|l| self.cursors.contains(&l)) => true,
                Proj::Deref => {
                    let pointer = mir::ty::prefix_ty(self.program, &self.body, place, n).map(|q| q.ty);
                    let pointer = pointer.ok().and_then(|ty| self.pointer_of(ty));
                    pointer.is_some_and(|p| p.own == Own::Unique && p.bounds == Bounds::Thin)
                }
            };
            if !owned_path {
                return true;
            }
        }
        false
    }

    /// Whether the operand reads a `unique` pointer through which an owned path continues.
    pub fn is_owned_path(&self, op: &Operand) -> bool {
        let unique = self.pointer_of(self.operand_ty(op)).is_some_and(|p| p.own == Own::Unique);
        unique && matches!(op, Operand::Copy(place) if !self.is_slot(place))
    }

    /// Whether the first `n` steps of a place lead to a union.
    fn is_union(&self, place: &Place, n: usize) -> bool {
        let record = mir::ty::prefix_ty(self.program, &self.body, place, n).ok();
        let id = record.and_then(|q| self.program.types.as_record(q.ty));
        id.is_some_and(|id| self.program.types.record(id).kind != RecordKind::Struct)
    }

    /// Drops what a slot, or the slots in an owned path, held, before a store to it.
    pub fn before_slot_store(&mut self, place: &Place, ty: Ty) {
        if !mir::ty::owns(&self.program.types, ty) || self.body.unchecked {
            return;
        }
        let slots = if self.is_slot(place) { vec![place.clone()] } else { self.slots_in(place, ty) };
        for slot in slots {
            self.emit(StmtKind::DropSlot(slot));
        }
    }

    /// Whether the local is a slot: what it owns may be reached by its address.
    fn is_reached(&self, local: Local) -> bool {
        self.body.locals.get(local.0 as usize).is_some_and(|decl| decl.slot)
    }

    /// Whether the local, no pointer followed, has slots.
    pub fn has_slots(&self, local: Local) -> bool {
        !self.slots_of(local).is_empty()
    }

    fn slots_of(&self, local: Local) -> Vec<Place> {
        match self.body.unchecked {
            true => vec![],
            false => self.slots_in(&Place::local(local), self.local_ty(local)),
        }
    }

    /// Whether a variable of the type has slots.
    pub fn type_has_slots(&self, ty: Ty) -> bool {
        let mut found = vec![];
        self.add_slots(&Place::local(Local(0)), ty, &mut found, 0);
        !self.body.unchecked && !found.is_empty()
    }

    /// The local's slots hold nothing.
    pub fn clear_slots(&mut self, local: Local) {
        for slot in self.slots_of(local) {
            self.fill_zero(slot);
        }
    }

    /// The local's slots free what they hold when it ends.
    pub fn keep_slots(&mut self, local: Local) {
        if self.has_slots(local) {
            self.push_live(Item::Slots(local));
        }
    }

    /// The slots of parameters that are given, not lent.
    pub fn keep_consumed(&mut self) {
        let given: Vec<bool> = self.func_ty().map_or(vec![], |f| f.params.iter().map(|p| p.consume).collect());
        for (n, given) in given.into_iter().enumerate() {
            if given {
                self.keep_slots(Local(n as u32));
            }
        }
    }

    /// Frees what the slots of a local hold: at its end, and before it is filled anew.
    pub fn drop_slots(&mut self, local: Local) {
        for slot in self.slots_of(local) {
            self.emit(StmtKind::DropSlot(slot));
        }
    }

    /// The arrays of owned values in a place, not through pointers; all of a variable that is a
    /// slot.
    fn slots_in(&self, place: &Place, ty: Ty) -> Vec<Place> {
        if place.as_local().is_some_and(|local| self.is_reached(local)) {
            return vec![place.clone()];
        }
        let mut found = vec![];
        self.add_slots(place, ty, &mut found, 0);
        found
    }

    fn add_slots(&self, place: &Place, ty: Ty, found: &mut Vec<Place>, depth: u32) {
        if depth > 100 || !mir::ty::owns(&self.program.types, ty) {
            return;
        }
        match self.program.types.kind(ty) {
            TyKind::Array { .. } => found.push(place.clone()),
            TyKind::Record(id) if self.program.types.record(*id).kind == RecordKind::Struct => {
                let Some((_, fields)) = self.fields_of(ty) else { return };
                for (n, field) in fields.iter().enumerate() {
                    self.add_slots(&place.then(Proj::Field(n as u32)), field.ty.ty, found, depth + 1);
                }
            }
            _ => {}
        }
    }
}
