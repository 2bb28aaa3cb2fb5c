//! What each statement does to memory.

use mir::effects::{accesses, flags, parts, Access, Kind, Part};
use mir::ir::*;
use mir::ty::{operand_ty, owns};
use std::collections::BTreeSet;
use typing::tree::{BorrowKind, RegionKind};
use typing::types::{Own, RecordKind, Region, Ty, TyKind};

use super::memory::{Base, Cell, Loan, Location, Memory, Null, Thing, Token, Value, TAG};
use super::walk::{Ends, Step, Walker};
use crate::leaf::{may_change_owners, touch, Touch};
use crate::ownership::slots::is_store_after;

impl Walker<'_> {
    pub(super) fn statement(&mut self, m: &mut Memory, stmt: &Stmt) -> Step {
        let empties = (!m.in_slots.is_empty() || !m.looks.is_empty()) && self.empties_slots(&stmt.kind);
        // Up to a store the pointer that leads there is good.
        let stores = stmt.kind.as_assign().is_some() && !may_change_owners(&stmt.kind);
        if empties && !stores && !self.is_before_store(&stmt.kind) {
            std::mem::take(&mut m.in_slots).into_iter().for_each(|token| m.kill(token));
            // The store that a look is made for is one access; what others run is not.
            if stmt.kind.as_call().is_some() || flags(&stmt.kind).waits {
                std::mem::take(&mut m.looks).into_iter().for_each(|token| m.kill(token));
            }
        }
        match &stmt.kind {
            StmtKind::Assign(dest, value) => {
                self.assign(m, dest, value)?;
                if empties && stores {
                    std::mem::take(&mut m.in_slots).into_iter().for_each(|token| m.kill(token));
                }
            }
            StmtKind::Call { dest, callee, args, ty } => {
                if let Callee::Pointer(operand) = callee {
                    self.operand(m, operand)?;
                }
                if !matches!(callee, Callee::Builtin(_)) || !args.is_empty() || dest.is_some() {
                    self.call(m, dest.as_ref(), callee, args, *ty)?;
                }
                for place in self.known.emptied.by_call(callee, dest.as_ref(), args, &self.resolver) {
                    if let Location::Cell(cell) = self.locate(m, &place)? {
                        self.zero(m, cell, self.place_ty(&place), 0);
                    }
                }
                // Others have run since it read its arguments.
                if self.program.types.as_func(*ty).is_some_and(|f| f.waits) {
                    std::mem::take(&mut m.in_slots).into_iter().for_each(|token| m.kill(token));
                }
            }
            StmtKind::Dispose { value, handle, .. } => {
                if let Some(handle) = handle {
                    self.operand(m, handle)?;
                }
                self.dispose(m, value, handle.as_ref())?;
            }
            StmtKind::StorageLive(local) => {
                self.storage(m, *local);
                for cell in Self::cells_in(m, &(Base::Local(*local), vec![])) {
                    m.cells.remove(&cell);
                }
            }
            StmtKind::StorageDead(local) => self.dead(m, *local),
            StmtKind::Zero(place) => {
                if let Location::Cell(cell) = self.locate(m, place)? {
                    self.zero(m, cell, self.place_ty(place), 0);
                }
            }
            StmtKind::SetTag(place, member) => {
                if let Location::Cell(cell) = self.locate(m, place)? {
                    for inside in Self::cells_in(m, &cell) {
                        m.cells.remove(&inside);
                    }
                    let tag = cell.1.iter().copied().chain([TAG]).collect();
                    m.cells.insert((cell.0, tag), Value { number: Some(i128::from(*member)), ..Value::unknown() });
                }
            }
            StmtKind::Exchange(a, b) => self.swap(m, a, b)?,
            StmtKind::DropSlot(place) => {
                let place = &self.resolver.of_address(place);
                match self.locate(m, place)? {
                    Location::Cell(cell) => {
                        for inside in Self::cells_in(m, &cell) {
                            let held = m.cells.insert(inside, Value::null()).and_then(|v| v.owned);
                            if let Some(token) = held {
                                self.release(m, token);
                            }
                        }
                    }
                    // A store need not follow: a member of a union ends when its tag changes.
                    Location::Elsewhere(through) => self.changes_slot(m, &through),
                }
            }
            StmtKind::ArenaBegin(_, n) => {
                m.open.insert(*n, 1);
            }
            StmtKind::ArenaEnd(_, n) => {
                let begun = m.open.insert(*n, 0).unwrap_or(0) != 0;
                if !begun {
                    self.wrong("ends an arena that has not begun");
                }
                // The next arena of this name is another one.
                let ended = m.token(Thing { alive: false, zeroed: false, owed: false, lent: false, depth: 0 });
                for value in m.cells.values_mut().filter(|value| value.regions.contains(n)) {
                    value.regions.remove(n);
                    value.needs.insert(ended);
                }
            }
            StmtKind::OpenBegin(_, key, region) => {
                let value = self.read(m, key)?;
                if value.needs.iter().any(|&t| !m.is_alive(t)) {
                    self.wrong("opens a key that was released");
                }
                if let Region::Body(n) = region {
                    *m.open.entry(*n).or_insert(0) += 1;
                    m.opened.push((*n, 0));
                }
            }
            StmtKind::Close(_, key, region) => {
                self.read(m, key)?;
                if let Region::Body(n) = region {
                    let count = m.open.entry(*n).or_insert(0);
                    if *count == 0 {
                        self.wrong("closes a region that is not open");
                    } else {
                        *count -= 1;
                    }
                    if let Some(at) = m.opened.iter().rposition(|(region, _)| region == n) {
                        m.opened.remove(at);
                    }
                }
            }
            StmtKind::CursorBegin(cursor, place) => {
                let at = self.locate(m, place)?;
                let ty = self.place_ty(place);
                if let Location::Cell(cell) = &at {
                    if self.load(m, &at, ty).gone {
                        self.wrong("a cursor goes over what was moved out");
                    }
                    // The content may be another when the cursor is done.
                    if self.is_owned_scalar(ty) {
                        let after = self.arriving(m, ty, false);
                        m.cells.insert(cell.clone(), after);
                    }
                }
                if self.is_in_content(place) {
                    self.wrong("a cursor goes into what a slot holds");
                }
                let mut value = self.address(m, at);
                if self.held_by(place).is_some() {
                    m.no_loans = false;
                    value.loans.insert((self.at.0 .0, self.at.1 as u32));
                }
                self.cursors.push((*cursor, place.clone()));
                self.place_cursor(m, *cursor, value);
            }
            StmtKind::UnpackBegin { place, regions, moves } => {
                // What owns nothing is copied out.
                if !moves && owns(&self.program.types, self.place_ty(place)) {
                    self.lends(m, BorrowKind::Lend, place);
                    m.no_loans = false;
                    m.unpacked.push(((self.at.0 .0, self.at.1 as u32), regions.clone()));
                }
                // What was hidden has a new name now.
                if let Location::Cell(cell) = self.locate(m, place)? {
                    for inside in Self::cells_in(m, &cell) {
                        if let Some(value) = m.cells.get_mut(&inside) {
                            value.regions.clear();
                        }
                    }
                }
                // Its parts are read next.
                self.unpacked = Some((place.clone(), regions.clone()));
            }
            StmtKind::UnpackEnd(place, regions) => {
                let is_of = |(loan, of): &(Loan, Vec<u32>)| {
                    of == regions && self.loan_site(*loan).is_some_and(|(_, lent)| lent == *place)
                };
                match m.unpacked.iter().rposition(is_of) {
                    Some(n) => drop(m.unpacked.remove(n)),
                    None => self.wrong("ends an `unpack` that has not begun"),
                }
            }
            StmtKind::Check(check) => {
                if let Some((tag, values, _)) = check.as_tag_value() {
                    let tag = self.operand(m, tag)?;
                    let is_other = tag.number.is_some_and(|n| !values.contains(&n));
                    if is_other || values.iter().all(|n| tag.not.contains(n)) {
                        return Err(Ends);
                    }
                }
                let mut ends = Ok(());
                mir::effects::check_operands(check, &mut |operand| {
                    let place = operand.place().cloned();
                    if place.is_some_and(|p| self.read(m, &p).is_err()) {
                        ends = Err(Ends);
                    }
                });
                ends?;
            }
            // What proofs say is not believed here; lists of arguments and assembly, which is
            // `unsafe`, do nothing to owners.
            StmtKind::Prove(_)
            | StmtKind::VaStart(_)
            | StmtKind::VaEnd(_)
            | StmtKind::VaCopy(..)
            | StmtKind::Assembly(_) => {}
            other => self.by_the_table(m, other)?,
        }
        Ok(())
    }

    /// A statement that has no rule of its own does what the table says: what it looks at is there,
    /// what it gives on is gone, and what it writes is new.
    fn by_the_table(&mut self, m: &mut Memory, kind: &StmtKind) -> Step {
        if flags(kind).waits {
            m.forget_numbers(&self.hidden);
        }
        let mut uses = vec![];
        parts(kind, &mut |part| uses.push(part));
        for part in uses {
            match part {
                Part::Operand(operand, how) => {
                    let value = self.operand(m, operand)?;
                    self.is_there(m, &value);
                    if how == Kind::Copy {
                        value.owned.into_iter().for_each(|token| m.kill(token));
                    }
                }
                Part::Place(place, how) => {
                    for access in how.accesses() {
                        match access {
                            Access::Read | Access::Move => {
                                let value = self.read(m, place)?;
                                self.is_there(m, &value);
                            }
                            Access::Write => {
                                let value = self.arriving(m, self.place_ty(place), false);
                                self.store(m, place, value)?;
                            }
                            Access::Address => {}
                        }
                    }
                }
                Part::Local(..) | Part::Type(_) | Part::Function(..) => {}
            }
        }
        Ok(())
    }

    fn is_there(&mut self, m: &Memory, value: &Value) {
        if value.gone || value.needs.iter().any(|&t| !m.is_alive(t)) {
            self.wrong("uses what has ended");
        }
    }

    pub(super) fn assign(&mut self, m: &mut Memory, dest: &Place, value: &Rvalue) -> Step {
        let ty = self.place_ty(dest);
        let for_call = value.as_borrow().is_some_and(|(kind, ..)| kind.is_for_call());
        self.lent.extend(dest.as_local().filter(|_| for_call));
        if let Some(Operand::Copy(from)) = value.as_use() {
            let is_variable = |l: Local| self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::Var);
            if owns(&self.program.types, ty) && owns(&self.program.types, self.place_ty(from)) {
                // A part of what `unpack` lends.
                if let Some(local) = dest.as_local().filter(|&l| is_variable(l)) {
                    self.lent.insert(local);
                }
            }
        }
        // A lent parameter gets its bounds at entry, and is lent as a variable then.
        let counted = value.counted_pointer().and_then(Operand::moved_place).and_then(Place::as_local);
        let arrives = counted.filter(|param| param.0 < self.body.params && self.lent.contains(param));
        if let (Some(param), Some(local)) = (arrives, dest.as_local()) {
            self.lent.remove(&param);
            self.lent.insert(local);
        }
        // A struct with owners moves cell by cell.
        if let Some(Operand::Move(from)) = value.as_use() {
            if owns(&self.program.types, ty) && !self.is_owned_scalar(ty) {
                let parts = self.take(m, from)?;
                self.disturbs(m, dest);
                if let Location::Cell((base, path)) = self.locate(m, dest)? {
                    for cell in Self::cells_in(m, &(base, path.clone())) {
                        m.cells.remove(&cell);
                    }
                    for (steps, value) in parts.into_iter().filter(|(_, v)| !v.gone) {
                        m.cells.insert((base, path.iter().copied().chain(steps).collect()), value);
                    }
                }
                return Ok(());
            }
        }
        if let Some(Operand::Copy(from)) = value.same_object() {
            let is_pointer = |ty| self.program.types.as_pointer(ty).is_some();
            let from = self.place_ty(from);
            let owner = is_pointer(from) && owns(&self.program.types, from);
            if owner && is_pointer(ty) && !owns(&self.program.types, ty) {
                self.wrong("copies an owner to where nothing is owned");
            }
        }
        let mut value = self.value(m, value, ty)?;
        if self.is_unsafe {
            // What `unsafe` code makes is its own affair.
            value = Value { owned: value.owned, ..Value::unknown() };
        }
        if let Some(cursor) = dest.as_local().filter(|_| self.is_cursor_advance(dest)) {
            self.place_cursor(m, cursor, value);
            return Ok(());
        }
        if let TyKind::Ptr(p) = self.program.types.kind(ty) {
            if p.own == Own::Shared {
                // Given to the collector, or only looked at.
                value.owned = None;
            }
        }
        self.store(m, dest, value)
    }

    pub(super) fn zero(&self, m: &mut Memory, cell: Cell, ty: Ty, depth: u32) {
        for inside in Self::cells_in(m, &cell) {
            m.cells.remove(&inside);
        }
        let fields = match self.program.types.kind(ty) {
            TyKind::Record(r) if depth < 8 => {
                self.program.types.records.get(r.0 as usize).and_then(|record| record.fields.clone())
            }
            _ => None,
        };
        if self.program.types.as_pointer(ty).is_some() || self.is_owned_scalar(ty) {
            m.cells.insert(cell.clone(), Value::null());
        }
        for (n, field) in fields.iter().flat_map(|f| f.iter()).enumerate() {
            let mut path = cell.1.clone();
            path.push(n as u32);
            self.zero(m, (cell.0, path), field.ty.ty, depth + 1);
        }
    }

    pub(super) fn swap(&mut self, m: &mut Memory, a: &Place, b: &Place) -> Step {
        self.disturbs(m, a);
        self.disturbs(m, b);
        let ty = self.place_ty(a);
        let (x, y) = (self.locate(m, a)?, self.locate(m, b)?);
        let values = [&x, &y].map(|at| match at {
            Location::Cell(_) => self.load(m, at, ty),
            _ => self.arriving(m, ty, false),
        });
        let [vx, vy] = values;
        let lent = |at: &Location| matches!(at, Location::Cell((Base::Local(l), _)) if self.lent.contains(l));
        if lent(&x) || lent(&y) {
            self.wrong("swaps what is lent");
        }
        if vx.gone || vy.gone {
            self.wrong("swaps what was moved out");
        }
        let types = [self.place_ty(a), self.place_ty(b)];
        let [in_x, in_y] = [&x, &y].map(|at| self.parts_out(m, at));
        for ((at, value, parts), ty) in [(x, vy, in_y), (y, vx, in_x)].into_iter().zip(types) {
            match at {
                Location::Cell(cell) => {
                    self.forget_tests(m, &cell);
                    m.cells.extend(parts.into_iter().map(|(way, part)| ((cell.0, [&cell.1[..], &way].concat()), part)));
                    m.cells.insert(cell, value);
                }
                _ => self.kept(m, ty, &value),
            }
        }
        Ok(())
    }

    /// Takes what is distinguished inside of a cell out of it, each part with its way.
    fn parts_out(&self, m: &mut Memory, at: &Location) -> Vec<(Vec<u32>, Value)> {
        let Location::Cell(cell) = at else { return vec![] };
        let mut parts = vec![];
        for inside in Self::cells_in(m, cell).into_iter().filter(|inside| inside != cell) {
            self.forget_tests(m, &inside);
            let part = m.cells.remove(&inside);
            parts.extend(part.map(|part| (inside.1.get(cell.1.len()..).unwrap_or(&[]).to_vec(), part)));
        }
        parts
    }

    pub(super) fn dead(&mut self, m: &mut Memory, local: Local) {
        let is_lent = self.lent.contains(&local);
        if self.cursors.iter().any(|(c, _)| *c == local) {
            self.leave_cursor(m, local);
        }
        for cell in Self::cells_in(m, &(Base::Local(local), vec![])) {
            if let Some(value) = m.cells.remove(&cell) {
                if !is_lent && !self.is_in_union(&cell) {
                    self.drop_value(m, &value, "its scope ends");
                }
            }
            self.forget_tests(m, &cell);
        }
        if let Some(token) = m.storage.remove(&local) {
            m.kill(token);
        }
    }

    pub(super) fn drop_value(&mut self, m: &Memory, value: &Value, how: &str) {
        let Some(token) = value.owned else { return };
        let owed = m.things.get(&token).is_some_and(|t| t.owed && t.alive && !t.lent);
        if owed && value.null != Null::Yes {
            self.wrong(format!("drops something owned: {how}"));
        }
    }

    /// Whether the cell is a member of a union: this walk does not know by the tag which one is
    /// there, and what that owes.
    pub(super) fn is_in_union(&self, cell: &Cell) -> bool {
        let Base::Local(local) = cell.0 else { return false };
        let Some(mut ty) = self.body.locals.get(local.0 as usize).map(|d| d.ty.ty) else { return false };
        for &n in &cell.1 {
            let types = &self.program.types;
            let Some(record) = types.as_record(ty).and_then(|r| types.records.get(r.0 as usize)) else { return false };
            if record.kind != RecordKind::Struct {
                return true;
            }
            let Some(field) = record.fields.as_ref().and_then(|f| f.get(n as usize)) else { return false };
            ty = field.ty.ty;
        }
        false
    }

    /// What other members of a union held is gone when one is stored, and when one is moved out,
    /// since that one is there.
    pub(super) fn other_members(&mut self, m: &mut Memory, dest: &Place) -> Step {
        for (n, step) in dest.proj.iter().enumerate() {
            let Some(member) = step.as_field() else { continue };
            let union = Place { base: dest.base, proj: dest.proj.iter().take(n).cloned().collect() };
            let types = &self.program.types;
            let record = types.as_record(self.place_ty(&union)).and_then(|r| types.records.get(r.0 as usize));
            if record.is_none_or(|r| r.kind == RecordKind::Struct) {
                continue;
            }
            let Location::Cell(cell) = self.locate(m, &union)? else { continue };
            for inside in Self::cells_in(m, &cell) {
                let step = inside.1.get(cell.1.len());
                if step != Some(&member) && step != Some(&TAG) {
                    m.cells.remove(&inside);
                }
            }
        }
        Ok(())
    }

    /// Whether something owned may be stored, moved away or released, by the statement or by other
    /// code than C code that calls nothing back.
    fn empties_slots(&self, kind: &StmtKind) -> bool {
        let types = &self.program.types;
        let stored = |dest: &Place| owns(types, self.place_ty(dest)) && !self.is_in_no_slot(dest);
        if let Some(Call { dest, callee, args, ty }) = kind.as_call() {
            let leaf = types.as_func(*ty).is_some_and(|f| f.leaf && !f.params.iter().any(|p| p.consume));
            let gives = |arg: &Operand| {
                let target = operand_ty(self.program, self.body, arg).ok().and_then(|ty| types.as_pointer(ty));
                target.is_some_and(|p| owns(types, p.target.ty) || matches!(types.kind(p.target.ty), TyKind::Func(_)))
            };
            let filled = dest.as_ref().is_some_and(stored);
            if self.known.leaves.contains(callee) {
                let owns = |place: &Place| owns(types, self.place_ty(place));
                return filled || args.iter().any(|a| matches!(a, Operand::Move(place) if owns(place)));
            }
            return filled || !callee.is_trusted(self.program) || !leaf || args.iter().any(gives);
        }
        let into_temp = kind.as_assign().is_some_and(|(dest, _)| dest.as_local().is_some_and(|l| self.is_temp(l)));
        let mut empties = may_change_owners(kind);
        accesses(kind, &mut |place, how, _| {
            empties |= match touch(how) {
                Touch::Releases => true,
                Touch::Changes => !into_temp && stored(place),
                Touch::Keeps => false,
            };
        });
        empties
    }

    /// Whether the statement drops what the next one stores to.
    fn is_before_store(&self, kind: &StmtKind) -> bool {
        let next = self.body.blocks.get(self.at.0 .0 as usize).and_then(|block| block.stmts.get(self.at.1 + 1));
        next.is_some_and(|next| is_store_after(kind, &next.kind))
    }

    /// Whether the place lies in a local that nothing else leads to, and that has no elements.
    fn is_in_no_slot(&self, place: &Place) -> bool {
        let Some(local) = place.local_part() else { return false };
        let decl = self.body.locals.get(local.0 as usize);
        decl.is_some_and(|d| !d.address_taken && !self.has_elements(d.ty.ty, 0))
    }

    fn has_elements(&self, ty: Ty, depth: u32) -> bool {
        let types = &self.program.types;
        match types.kind(ty) {
            TyKind::Array { .. } => true,
            TyKind::Record(r) => {
                let fields = types.record(*r).fields.as_ref();
                depth > 8 || fields.is_none_or(|all| all.iter().any(|f| self.has_elements(f.ty.ty, depth + 1)))
            }
            _ => false,
        }
    }

    /// Whether the place selects the member of a union.
    /// The record of which the place is the tag of unions.
    pub(super) fn tagged(&self, place: &Place) -> Option<Ty> {
        let (tag, before) = place.last_field()?;
        let record = self.place_ty(&Place { base: place.base, proj: before.to_vec() });
        (!self.unions_by(record, tag).is_empty()).then_some(record)
    }

    /// The unions in the record that this tag is for: their fields, and which tag has which member.
    fn unions_by(&self, record: Ty, tag: u32) -> Vec<(u32, &[(i128, u32)])> {
        let types = &self.program.types;
        let record = types.as_record(record).and_then(|r| types.records.get(r.0 as usize));
        let fields = record.and_then(|r| r.fields.as_ref()).into_iter().flat_map(|all| all.iter()).zip(0..);
        let tagged = fields.filter_map(|(f, n)| Some((n, f.tagged_by.as_ref().filter(|by| by.tag == tag)?)));
        tagged.map(|(n, by)| (n, by.arms.as_slice())).collect()
    }

    /// The number in a tag is not this one: members that only other numbers have owe nothing.
    pub(super) fn excludes(&self, m: &mut Memory, cell: &Cell, record: Ty, n: i128) {
        let not = &mut m.cells.entry(cell.clone()).or_insert_with(Value::unknown).not;
        not.insert(n);
        let not = not.clone();
        let Some((tag, before)) = cell.1.split_last() else { return };
        for (union, arms) in self.unions_by(record, *tag) {
            for (_, member) in arms {
                let mut values = arms.iter().filter(|(_, m)| m == member);
                if !values.all(|(value, _)| not.contains(value)) {
                    continue;
                }
                for inside in Self::cells_in(m, &(cell.0, [before, &[union, *member]].concat())) {
                    m.cells.insert(inside, Value::null());
                }
            }
        }
    }

    /// Whether the place lies in a local: it is part of one, or what leads there last is the address of
    /// one, is null, or has no region that lasts and comes from where values are not followed. What
    /// arrives in locals is followed there.
    fn is_in_local(&mut self, m: &mut Memory, place: &Place) -> Result<bool, Ends> {
        if place.local_part().is_some() {
            return Ok(true);
        }
        let place = self.resolver.place(place); // a temporary is what it was read from
        let Some(last) = place.proj.iter().rposition(|step| *step == Proj::Deref) else { return Ok(false) };
        let pointer = Place { base: place.base, proj: place.proj.iter().take(last).cloned().collect() };
        let ty = self.place_ty(&pointer);
        let region = self.program.types.as_pointer(ty).map(|p| p.region);
        let lasts = matches!(place.base, PlaceBase::Global(_)) || !matches!(region, Some(Region::Infer(_)));
        Ok(match self.locate(m, &pointer)? {
            Location::Elsewhere(_) => !lasts,
            at => {
                let value = self.load(m, &at, ty);
                let nothing_known = value.needs.is_empty() && value.regions.is_empty();
                value.null == Null::Yes
                    || !lasts && nothing_known
                    || m.storage.values().any(|token| value.needs.contains(token))
            }
        })
    }

    /// A look, or what is in a slot, may have arrived in any local whose address was taken.
    fn may_arrive(&self, m: &mut Memory, kept: &BTreeSet<Token>) {
        if kept.is_empty() {
            return;
        }
        let shown: Vec<Local> = m.storage.keys().copied().filter(|local| !self.hidden.contains(local)).collect();
        for local in shown {
            let ty = self.place_ty(&Place::local(local));
            if self.program.types.as_pointer(ty).is_some() && !owns(&self.program.types, ty) {
                m.cells.entry((Base::Local(local), vec![])).or_insert_with(Value::unknown);
            }
            for cell in Self::cells_in(m, &(Base::Local(local), vec![])) {
                if let Some(value) = m.cells.get_mut(&cell).filter(|value| value.owned.is_none() && !value.gone) {
                    value.needs.extend(kept);
                }
            }
        }
    }

    pub(super) fn store(&mut self, m: &mut Memory, dest: &Place, mut value: Value) -> Step {
        let dest = &self.resolver.of_address(dest);
        let ty = self.place_ty(dest);
        if owns(&self.program.types, ty) {
            self.disturbs(m, dest);
        }
        let is_temp = dest.as_local().is_some_and(|l| self.is_temp(l));
        // What moves to where nothing is owned is the collector's; `no_gc` reports it.
        if let Some(token) = value.owned.filter(|_| !owns(&self.program.types, ty)) {
            m.things.entry(token).and_modify(|t| t.owed = false);
        }
        let is_kept = |t: &&Token| m.looks.contains(*t) || m.in_slots.contains(*t);
        let kept: BTreeSet<Token> = value.needs.iter().filter(is_kept).copied().collect();
        if !kept.is_empty() && !self.is_in_local(m, dest)? {
            self.wrong("keeps what is in a slot");
        }
        // A look is for one access: a variable that keeps it is not read.
        if !is_temp && value.needs.iter().any(|t| m.looks.contains(t)) {
            value.needs.insert(m.token(Thing { alive: false, zeroed: false, owed: false, lent: false, depth: 0 }));
        }
        if !is_temp {
            self.arrives_at(m, &value, dest, "a pointer is kept where it may outlive its target");
        }
        self.other_members(m, dest)?;
        let at = self.locate(m, dest)?;
        if !is_temp && self.tagged(dest).is_none() {
            value.number = None;
            value.not.clear();
        }
        if !is_temp {
            value.forget_tag();
        }
        match at {
            Location::Cell(cell) => {
                let old = m.cells.get(&cell).cloned();
                let is_lent = matches!(cell.0, Base::Local(l) if self.lent.contains(&l));
                if matches!(cell.0, Base::Local(l) if is_lent && l.0 < self.body.params) && self.is_owned_scalar(ty) {
                    self.wrong("assigns what is lent");
                }
                if let Some(old) = old.filter(|_| !is_lent && self.is_owned_scalar(ty)) {
                    self.drop_value(m, &old, "it is overwritten");
                }
                let stored_in_heap = match cell.0 {
                    Base::Object(t) => m.things.get(&t).is_some_and(|t| t.owed),
                    Base::Local(_) => false,
                };
                if stored_in_heap {
                    self.kept(m, ty, &value);
                }
                self.forget_tests(m, &cell);
                for inside in Self::cells_in(m, &cell) {
                    m.cells.remove(&inside);
                }
                m.cells.insert(cell, value);
            }
            Location::Elsewhere(through) => {
                m.forget_numbers(&self.hidden);
                self.may_arrive(m, &kept);
                if owns(&self.program.types, ty) {
                    self.changes_slot(m, &through);
                }
                let global = !matches!(dest.base, PlaceBase::Local(_));
                if global || self.points_into_heap(dest) && through.needs.is_empty() {
                    self.kept(m, ty, &value);
                }
            }
        }
        Ok(())
    }

    /// Memory that lasts keeps a value of the type: nothing in it may end with a block, an arena or
    /// a loan. An arena that the type of the memory itself names is harmless: code without that
    /// name cannot read it.
    pub(super) fn kept(&mut self, m: &Memory, ty: Ty, value: &Value) {
        let named = self.program.types.as_pointer(ty).map(|p| p.region);
        let local = value.needs.iter().any(|t| m.storage.values().any(|s| s == t));
        let arena = value.regions.iter().any(|r| {
            let kind = self.body.regions.get(*r as usize).map(|r| r.decl.kind);
            matches!(kind, Some(RegionKind::Lifo(_))) && named != Some(Region::Body(*r))
        });
        let loan = value.owned.is_none()
            && value
                .needs
                .iter()
                .any(|t| m.cells.values().any(|v| v.owned == Some(*t)) && m.things.get(t).is_some_and(|t| t.alive));
        if local || arena || loan {
            self.wrong("memory that lasts keeps a pointer to what ends");
        }
    }

    pub(super) fn forget_tests(&self, m: &mut Memory, cell: &Cell) {
        for value in m.cells.values_mut() {
            if value.test.as_ref().is_some_and(|(c, _)| c == cell) {
                value.test = None;
            }
            let tag = value.tag.as_ref().map(|tag| &tag.0).or(value.not_if.as_ref().map(|test| &test.0));
            if tag == Some(cell) {
                value.forget_tag();
            }
        }
    }

    /// Ends an object and, deeply, all that it owns.
    pub(super) fn release(&mut self, m: &mut Memory, token: Token) {
        m.kill(token);
        let inside = (Base::Object(token), vec![]);
        for cell in Self::cells_in(m, &inside) {
            if let Some(owned) = m.cells.remove(&cell).and_then(|v| v.owned) {
                self.release(m, owned);
            }
        }
    }

    pub(super) fn dispose(&mut self, m: &mut Memory, operand: &Operand, handle: Option<&Operand>) -> Step {
        let Operand::Move(place) = operand else {
            self.operand(m, operand)?;
            if operand.place().is_some_and(|p| self.is_owned_scalar(self.place_ty(p))) {
                self.wrong("releases a copy, and its owner stays");
            }
            return Ok(());
        };
        let with_handle = handle.is_some();
        let reap = handle.and_then(|h| h.place()).map(|h| self.place_ty(h));
        let reap = reap.map(|ty| self.program.types.kind(ty));
        let ty = self.place_ty(place);
        let own = self.program.types.as_pointer(ty).map(|p| p.own);
        if matches!(own, Some(Own::Shared | Own::View | Own::Any)) {
            self.wrong("releases what is not owned");
        }
        let parts = self.take(m, place)?;
        for (_, value) in &parts {
            if value.null == Null::Yes || value.gone {
                continue;
            }
            let Some(token) = value.owned else {
                if self.is_owned_scalar(ty) {
                    self.wrong("releases what is not owned");
                }
                continue;
            };
            if !m.is_alive(token) {
                self.wrong("releases what has ended already");
            }
            // A counted arena stays: the key that is open counts too.
            if let TyKind::Key(kind, Region::Body(n)) = self.program.types.kind(ty) {
                if !kind.is_rc() && m.opened.iter().any(|(region, _)| region == n) {
                    self.wrong("releases the key of a region that is open");
                }
            }
            let in_arena = !value.regions.is_empty();
            if matches!(self.program.types.kind(ty), TyKind::Ptr(_)) && with_handle != in_arena {
                let owed = m.things.get(&token).is_some_and(|t| t.owed);
                if in_arena || owed {
                    self.wrong("releases an object where it was not allocated");
                }
            }
            if let Some(TyKind::Handle(_, Region::Body(n))) = reap {
                if in_arena && !value.regions.contains(n) {
                    self.wrong("releases an object with the handle of another reap");
                }
            }
            self.release(m, token);
        }
        Ok(())
    }

    /// A cursor stands somewhere: what it is at is an object of its own, whole when it leaves.
    pub(super) fn place_cursor(&mut self, m: &mut Memory, cursor: Local, value: Value) {
        self.leave_cursor(m, cursor);
        let object = m.token(Thing { alive: true, zeroed: false, owed: false, lent: false, depth: 0 });
        let target = self.program.types.as_pointer(self.local_ty(cursor)).map(|p| p.target.ty);
        if let Some(target) = target.filter(|&ty| self.is_owned_scalar(ty)) {
            let mut content = self.arriving(m, target, false);
            if let Some(thing) = content.owned.and_then(|t| m.things.get_mut(&t)) {
                thing.owed = false;
            }
            content.null = Null::Unknown;
            m.cells.insert((Base::Object(object), vec![]), content);
        }
        m.cells.insert((Base::Local(cursor), vec![]), Value { points: Some(object), null: Null::No, ..value });
    }

    pub(super) fn leave_cursor(&mut self, m: &Memory, cursor: Local) {
        let at = m.cells.get(&(Base::Local(cursor), vec![])).and_then(|v| v.points);
        let content = at.and_then(|object| m.cells.get(&(Base::Object(object), vec![])));
        if content.is_some_and(|v| v.gone) {
            self.wrong("a cursor leaves a hole");
        }
    }

    pub(super) fn is_cursor_advance(&self, dest: &Place) -> bool {
        dest.as_local().is_some_and(|l| self.cursors.iter().any(|(c, _)| *c == l))
    }

    pub(super) fn has_hole(&self, m: &Memory, object: Token) -> bool {
        m.cells.iter().any(|((base, _), v)| {
            *base == Base::Object(object) && (v.gone || v.owned.is_some_and(|t| t != object && self.has_hole(m, t)))
        })
    }
}
