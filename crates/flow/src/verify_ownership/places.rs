//! Places: where they are, what is in them, what is moved out of them.

use mir::ir::*;
use mir::ty::{owns, place_ty};
use typing::types::{Region, Ty, TyKind};

use super::memory::{Base, Cell, Location, Memory, Null, Value};
use super::walk::{Ends, Step, Walker, MAX_DEPTH};

impl Walker<'_> {
    /// Follows a pointer: all that it needs must be there.
    pub(super) fn follow(&mut self, m: &Memory, value: &Value) -> Step {
        if value.gone {
            self.wrong("follows a pointer that was moved out");
            return Err(Ends);
        }
        if value.null == Null::Yes {
            return Err(Ends);
        }
        if value.needs.iter().any(|&t| !m.is_alive(t)) {
            self.wrong("follows a pointer whose target, or whose loan, has ended");
            return Err(Ends);
        }
        if self.is_closed(m, value) {
            self.wrong("follows a pointer into a region that is not live");
            return Err(Ends);
        }
        Ok(())
    }

    pub(super) fn locate(&mut self, m: &mut Memory, place: &Place) -> Result<Location, Ends> {
        let mut at = match place.base {
            PlaceBase::Local(l) => Location::Cell((Base::Local(l), vec![])),
            _ => Location::Elsewhere(Value::unknown()),
        };
        for (n, step) in place.proj.iter().enumerate() {
            at = match (step, at) {
                (Proj::Field(f), Location::Cell((base, mut path))) => {
                    path.push(*f);
                    Location::Cell((base, path))
                }
                (Proj::Field(_), other) => other,
                (Proj::Index(_), Location::Cell((base, _))) => {
                    let mut value = Value::unknown();
                    match base {
                        Base::Object(t) => value.needs.insert(t),
                        Base::Local(l) => m.storage.get(&l).is_some_and(|&t| value.needs.insert(t)),
                    };
                    Location::Elsewhere(value)
                }
                (Proj::Index(_), other) => other,
                (Proj::Deref, at) => {
                    let prefix = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
                    let ty =
                        place_ty(self.program, self.body, &prefix).map_or(self.program.types.common.error, |q| q.ty);
                    let pointer = self.load(m, &at, ty);
                    self.follow(m, &pointer)?;
                    let elements = self.program.types.as_pointer(ty).is_some_and(|p| self.has_owned_elements(&p));
                    match pointer.points.filter(|_| !elements) {
                        Some(object) => Location::Cell((Base::Object(object), vec![])),
                        None => Location::Elsewhere(pointer.without_ownership()),
                    }
                }
            };
        }
        Ok(at)
    }

    /// What is in a place.
    pub(super) fn load(&mut self, m: &mut Memory, at: &Location, ty: Ty) -> Value {
        match at {
            Location::Cell(cell) => {
                if let Some(value) = m.cells.get(cell) {
                    return value.clone();
                }
                let zeroed = match cell.0 {
                    Base::Object(t) => m.things.get(&t).is_some_and(|t| t.zeroed),
                    Base::Local(_) => false,
                };
                if zeroed {
                    return Value::null();
                }
                let value = self.arriving(m, ty, false);
                let depth = match cell.0 {
                    Base::Object(t) => m.things.get(&t).map_or(0, |t| t.depth + 1),
                    Base::Local(_) => 0,
                };
                if let Some(thing) = value.owned.and_then(|t| m.things.get_mut(&t)) {
                    thing.depth = depth.min(MAX_DEPTH);
                }
                let keeps = self.program.types.as_pointer(ty).is_some() || value.owned.is_some();
                if keeps && depth < MAX_DEPTH {
                    m.cells.insert(cell.clone(), value.clone());
                }
                value
            }
            Location::Elsewhere(_) => {
                let mut value = Value::unknown();
                if let TyKind::Ptr(p) = self.program.types.kind(ty) {
                    self.add_region(&mut value, p.region);
                }
                value
            }
        }
    }

    pub(super) fn place_ty(&self, place: &Place) -> Ty {
        place_ty(self.program, self.body, place).map_or(self.program.types.common.error, |q| q.ty)
    }

    pub(super) fn read(&mut self, m: &mut Memory, place: &Place) -> Result<Value, Ends> {
        self.behind_cursor(m, place);
        let at = self.locate(m, place)?;
        let ty = self.place_ty(place);
        let value = self.load(m, &at, ty);
        if value.gone && self.is_owned_scalar(ty) {
            self.wrong("reads what was moved out");
            return Err(Ends);
        }
        let mut looked = value.without_ownership();
        looked.test = value.test;
        if let Some(Region::Exists(n)) = self.program.types.as_pointer(ty).map(|p| p.region) {
            let whole = self.unpacked.as_ref().filter(|(whole, _)| place.proj.starts_with(&whole.proj));
            let named = whole.filter(|(whole, _)| whole.base == place.base);
            looked.regions.extend(named.and_then(|(_, regions)| regions.get(n as usize)));
        }
        if self.program.types.as_pointer(ty).is_some() && looked.points.is_none() {
            if let (Location::Elsewhere(through), true) = (&at, self.is_owned_scalar(ty)) {
                // What a slot holds is there as long as the slot is.
                looked.needs.extend(through.needs.iter().copied());
            }
        }
        if looked.test.is_none() {
            if let Location::Cell(cell) = at {
                if self.program.types.as_pointer(ty).is_some() {
                    looked.test = Some((cell, true));
                } else if let Some(record) = self.tagged(place) {
                    looked.tag = Some(Box::new((cell, record)));
                }
            }
        }
        Ok(looked)
    }

    pub(super) fn cells_in(m: &Memory, cell: &Cell) -> Vec<Cell> {
        let of_base = m.cells.range(cell.clone()..).take_while(|((base, _), _)| *base == cell.0);
        of_base.map(|(c, _)| c).take_while(|(_, path)| path.starts_with(&cell.1)).cloned().collect()
    }

    /// Moves a value out. Of a struct: its parts stay in cells of their own, named by the caller.
    pub(super) fn take(&mut self, m: &mut Memory, place: &Place) -> Result<Vec<(Vec<u32>, Value)>, Ends> {
        let at = self.locate(m, place)?;
        let ty = self.place_ty(place);
        let is_owned = owns(&self.program.types, ty);
        if is_owned {
            self.disturbs(m, place);
            if self.is_slot(place) {
                self.wrong("moves out of a slot");
                return Err(Ends);
            }
            self.other_members(m, place)?;
        }
        let Location::Cell(cell) = at else {
            if is_owned {
                self.wrong("moves out of a slot");
                return Err(Ends);
            }
            return Ok(vec![(vec![], self.load(m, &at, ty))]);
        };
        if !is_owned {
            let value = self.load(m, &Location::Cell(cell), ty);
            return Ok(vec![(vec![], value)]);
        }
        if matches!(cell.0, Base::Local(l) if self.lent.contains(&l)) {
            self.wrong("moves what is lent");
            return Err(Ends);
        }
        let mut parts = vec![];
        if self.is_owned_scalar(ty) {
            let loaded = self.load(m, &Location::Cell(cell.clone()), ty);
            if let std::collections::btree_map::Entry::Vacant(entry) = m.cells.entry(cell.clone()) {
                // Too far away to be distinguished: it is dropped, and the place is not looked at
                // again.
                entry.insert(Value::gone());
                return Ok(vec![(vec![], loaded)]);
            }
        }
        for inside in Self::cells_in(m, &cell) {
            let Some(value) = m.cells.get(&inside).cloned() else { continue };
            if value.gone && inside == cell {
                self.wrong("moves what was moved out already");
                return Err(Ends);
            }
            if value.owned.is_some() {
                m.cells.insert(inside.clone(), Value::gone());
            }
            let path = inside.1.get(cell.1.len()..).unwrap_or(&[]).to_vec();
            parts.push((path, value));
        }
        Ok(parts)
    }

    /// Whether the last pointer on the way has the heap as its region.
    pub(super) fn points_into_heap(&self, place: &Place) -> bool {
        let Some(n) = place.proj.iter().rposition(|s| *s == Proj::Deref) else { return false };
        let pointer = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
        self.program.types.as_pointer(self.place_ty(&pointer)).is_some_and(|p| p.region == Region::Heap)
            && pointer
                .base_local()
                .is_some_and(|l| self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind != LocalKind::Temp))
    }

    pub(super) fn address(&mut self, m: &mut Memory, at: Location) -> Value {
        match at {
            Location::Cell((base, path)) => {
                let mut value = Value { null: Null::No, ..Value::unknown() };
                match base {
                    Base::Local(l) => {
                        let token = match m.storage.get(&l) {
                            Some(&token) => token,
                            None => self.storage(m, l),
                        };
                        value.needs.insert(token);
                    }
                    Base::Object(t) => {
                        value.needs.insert(t);
                        if path.is_empty() {
                            value.points = Some(t);
                        }
                    }
                }
                value
            }
            Location::Elsewhere(through) => Value { null: Null::Unknown, points: None, ..through },
        }
    }
}
