//! Assignments, with what a store to a counted, tagged or terminated place must keep true.

use crate::builder::Lower;
use crate::effects;
use crate::place::{const_int, Access, Guard, Use};
use crate::pointer::CountRef;
use mir::ir::*;
use typing::tree::{Expr, ExprKind};
use typing::types::*;

impl<'t> Lower<'t, '_> {
    /// `place = value`: the right side first, then the place, then the store.
    pub fn assign_expr(&mut self, place: &'t Expr, value: &'t Expr, want: bool) -> Option<Operand> {
        if let ExprKind::Local(l) = &*place.kind {
            let local = self.local(*l);
            if self.has_slots(local) {
                let value = self.rvalue(value);
                let value = self.temp_of(value, self.local_ty(local));
                self.drop_slots(local);
                self.assign(Place::local(local), Rvalue::Use(value));
            } else {
                self.into(local, value);
            }
            return want.then(|| Operand::local(local));
        }
        let busy = effects::has_effects(place);
        // Control may leave in the place.
        let waits = self.unnamed.contains_key(&std::ptr::from_ref(value));
        let right = match waits {
            true => Rvalue::Use(self.operand_before(value, &[place])),
            false => self.rvalue(value),
        };
        let stays = waits || right.as_use().is_some_and(|op| !busy && self.is_simple(op));
        let right = if !stays && (busy || want || self.is_special(place)) {
            Rvalue::Use(match right.as_use() {
                Some(op) => self.freeze(op.clone()),
                None => self.temp_of(right, value.ty.ty),
            })
        } else {
            right
        };
        let access = self.place(place, Use::Write);
        if let Some(op) = right.as_use().cloned() {
            let op = self.out_of_hold(op);
            self.store(&access, op.clone());
            return want.then(|| if self.is_bit_field(&access) { Operand::Copy(access.place.clone()) } else { op });
        }
        if matches!(access.guard, Guard::None | Guard::Field(..)) {
            self.store_rvalue(&access, right, value.ty.ty);
        } else {
            let op = self.temp_of(right, value.ty.ty);
            self.store(&access, op);
        }
        None
    }

    /// Whether a store to the place looks at the value more than once, or overlaps what the value
    /// may read.
    fn is_special(&self, place: &Expr) -> bool {
        match &*place.kind {
            ExprKind::Field(base, _) => match self.program.types.as_record(base.ty.ty) {
                Some(id) => self.program.types.record(id).kind != RecordKind::Struct,
                None => false,
            },
            _ => false,
        }
    }

    fn is_bit_field(&self, access: &Access) -> bool {
        match &access.guard {
            Guard::Field(_, id, n) => self
                .program
                .types
                .record(*id)
                .fields
                .as_ref()
                .and_then(|f| f.get(*n as usize))
                .is_some_and(|f| f.width.is_some()),
            _ => false,
        }
    }

    fn store_rvalue(&mut self, access: &Access, value: Rvalue, ty: Ty) {
        if self.field_is_plain(access) && !mir::ty::owns(&self.program.types, ty) {
            self.assign(access.place.clone(), value);
        } else {
            let op = self.temp_of(value, ty);
            self.store(access, op);
        }
    }

    /// Whether a store to the field needs nothing but the store.
    fn field_is_plain(&self, access: &Access) -> bool {
        match &access.guard {
            Guard::None => true,
            Guard::Field(_, id, n) => {
                !self.is_counted(access.qty.ty) && self.counting(*id, *n).is_empty() && self.tag_of(*id, *n).is_empty()
            }
            _ => false,
        }
    }

    /// Stores a value in a computed place.
    pub fn store(&mut self, access: &Access, value: Operand) {
        if self.field_is_plain(access) {
            self.before_slot_store(&access.place, access.qty.ty);
            self.assign(access.place.clone(), Rvalue::Use(value));
            return;
        }
        let value = self.simple(value);
        match &access.guard {
            Guard::None => {}
            Guard::SetTag(union, member) => {
                let ty = mir::ty::place_ty(self.program, &self.body, union).map(|q| q.ty);
                if let Ok(ty) = ty {
                    self.before_slot_store(union, ty);
                }
                self.emit(StmtKind::SetTag(union.clone(), *member));
            }
            Guard::Terminated => {
                if !self.is_zero_op(&value) && !self.checks_off() {
                    self.check_terminator(access, &value);
                }
            }
            Guard::StringObject(at) => self.guard_end(access, at.clone(), &value),
            Guard::LastElement(index, n) => self.guard_last(access, index.clone(), *n, &value),
            Guard::Field(record, id, n) => {
                let (record, id, n) = (record.clone(), *id, *n);
                if self.is_counted(access.qty.ty) && self.is_fat(self.operand_ty(&value)) {
                    let sized = self.sized(&value);
                    self.check_enough(&record, access.qty.ty, sized);
                    let word = self.address(value, access.qty.ty);
                    self.before_slot_store(&access.place, access.qty.ty);
                    self.assign(access.place.clone(), Rvalue::Use(word));
                    return;
                }
                let value = self.in_field(id, n, value);
                self.before_count_store(&record, id, n, &value, &[]);
                self.before_tag_store(&record, id, n, &value);
                self.before_slot_store(&access.place, access.qty.ty);
                self.assign(access.place.clone(), Rvalue::Use(value));
                return;
            }
        }
        self.assign(access.place.clone(), Rvalue::Use(value));
    }

    /// What a field holds of a number that is stored there: a bit-field keeps its lowest bits.
    fn in_field(&mut self, id: RecordId, n: u32, value: Operand) -> Operand {
        let record = self.program.types.record(id);
        let Some(field) = record.fields.as_ref().and_then(|fields| fields.get(n as usize)) else { return value };
        let ty = field.ty.ty;
        let Some((width, kind)) = self.program.types.narrow(field) else { return value };
        let c = self.common();
        let (wide, bits) = match (kind.size() > 8, kind.signed()) {
            (true, _) => (ty, 8 * kind.size()),
            (false, true) => (c.long, 64),
            (false, false) => (c.ulong, 64),
        };
        // Shifts to the right keep the sign where there is one.
        let away = self.int(i128::from(bits) - i128::from(width), c.int);
        let value = self.numeric(value, wide);
        let up = self.temp_of(Rvalue::Binary(BinOp::Shl, value, away.clone(), wide), wide);
        let kept = self.temp_of(Rvalue::Binary(BinOp::Shr, up, away, wide), wide);
        self.numeric(kept, ty)
    }

    fn is_zero_op(&self, op: &Operand) -> bool {
        matches!(op, Operand::Const(Const::Int(0, _) | Const::Null(_)))
    }

    /// At the hidden zero of a string object only zero is stored.
    fn guard_end(&mut self, access: &Access, at: Operand, value: &Operand) {
        if self.checks_off() || self.is_zero_op(value) {
            return;
        }
        let ty = self.operand_ty(&at);
        let thin = self.thin(ty);
        let here = self.temp_of(Rvalue::Part(at.clone(), Part::Ptr, thin), thin);
        let end = self.temp_of(Rvalue::Part(at, Part::Hi, thin), thin);
        let int = self.common().int;
        let last = self.temp_of(Rvalue::Binary(BinOp::Eq, here, end, thin), int);
        self.when(last, |this| this.check_terminator(access, value));
    }

    /// Checks that a store does not replace the zero of a string (of pointers: the null) by
    /// something else.
    fn check_terminator(&mut self, access: &Access, value: &Operand) {
        let mut old = Operand::Copy(access.place.clone());
        let mut new = value.clone();
        if self.program.types.as_int(access.qty.ty).is_none() {
            let int = self.common().int;
            old = self.temp_of(Rvalue::Truth(old), int);
            new = self.temp_of(Rvalue::Truth(new), int);
        }
        self.check(Check::Terminator(old, new));
    }

    /// In the last element of a terminated array only zero is stored.
    fn guard_last(&mut self, access: &Access, index: Operand, n: u64, value: &Operand) {
        if self.checks_off() || self.is_zero_op(value) {
            return;
        }
        let last = i128::from(n) - 1;
        match const_int(&index) {
            Some(i) if i == last => self.check_terminator(access, value),
            Some(_) => {}
            None => {
                let ty = self.operand_ty(&index);
                let int = self.common().int;
                let last = self.int(last, ty);
                let is_last = self.temp_of(Rvalue::Binary(BinOp::Eq, index, last, ty), int);
                self.when(is_last, |this| this.check_terminator(access, value));
            }
        }
    }

    // ---- counts

    /// Checks that a fat value, unless null, has as many elements as the counted field's count
    /// says.
    fn check_enough(&mut self, record: &Place, counted: Ty, value: SizedValue) {
        if self.checks_off() || self.is_zero_op(&value.there) {
            return;
        }
        let Some(Pointer { bounds: Bounds::Counted(id), .. }) = self.pointer_of(counted) else { return };
        let record = record.clone();
        let SizedValue { there, have, nonnull } = value;
        let pointer = there.clone();
        let check = move |this: &mut Self| {
            let count = match this.plain_unsigned_count(id, &record) {
                Some((_, count)) => count,
                None => this.count_of_fields(id, &record),
            };
            let (ulong, long) = (this.common().ulong, this.common().long);
            let have = match have {
                Some(have) => have,
                None => this.temp_of(Rvalue::Remaining(pointer), ulong),
            };
            let have = this.numeric(have, long);
            this.check(Check::Count(count, have));
        };
        if nonnull {
            check(self);
        } else {
            self.when(there, check);
        }
    }

    /// What a counted field is checked by, of a fat value that is about to be stored: one that
    /// moves is measured first.
    pub fn sized(&mut self, value: &Operand) -> SizedValue {
        let nonnull = self.pointer_of(self.operand_ty(value)).is_some_and(|p| p.nonnull);
        let Operand::Move(place) = value else {
            return SizedValue { there: value.clone(), have: None, nonnull };
        };
        let (ulong, int) = (self.common().ulong, self.common().int);
        let pointer = Operand::Copy(place.clone());
        let have = self.temp_of(Rvalue::Remaining(pointer.clone()), ulong);
        let there = self.temp_of(Rvalue::Truth(pointer), int);
        SizedValue { there, have: Some(have), nonnull }
    }

    /// The fields of the record whose count mentions field `n`: number and count.
    fn counting(&self, id: RecordId, n: u32) -> Vec<(u32, CountId)> {
        let types = &self.program.types;
        let Some(fields) = types.record(id).fields.clone() else { return vec![] };
        let mut found = vec![];
        for (i, field) in fields.iter().enumerate() {
            let count = match types.kind(field.ty.ty) {
                TyKind::Ptr(Pointer { bounds: Bounds::Counted(c), .. }) => *c,
                TyKind::Array { len: ArrayLen::Flexible(Some(c)), .. } => *c,
                _ => continue,
            };
            if mentions_field(types, count, n) {
                found.push((i as u32, count));
            }
        }
        found
    }

    /// A store to a field that counts others must not let a count grow, except of pointers in
    /// `together`.
    fn before_count_store(&mut self, record: &Place, id: RecordId, n: u32, value: &Operand, together: &[u32]) {
        if self.checks_off() {
            return;
        }
        for (field, count) in self.counting(id, n) {
            if together.contains(&field) {
                continue;
            }
            let Some((_, fields)) = self.record_fields(id) else { return };
            let Some(ty) = fields.get(field as usize).map(|f| f.ty.ty) else { continue };
            let counted = record.then(Proj::Field(field));
            let (record, value) = (record.clone(), value.clone());
            if let TyKind::Array { elem, .. } = *self.program.types.kind(ty) {
                self.check_flexible(&record, id, field, elem.ty, count, n, &value);
                continue;
            }
            self.when(Operand::Copy(counted), move |this| {
                let there = this.count_of_fields(count, &record);
                let new = match this.plain_unsigned_count(count, &record) {
                    Some((ty, _)) => this.numeric(value, ty),
                    None => this.count_with(count, &record, n, &value),
                };
                this.check(Check::Count(new, there));
            });
        }
    }

    /// The count, if it is a single field of an unsigned type of 64 bits: no such count is
    /// negative, so one that does not fit in a signed number is more than any object has, and the
    /// field never holds it while its pointer is not null.
    fn plain_unsigned_count(&self, count: CountId, record: &Place) -> Option<(Ty, Operand)> {
        let CountExpr::Field(n) = *self.program.types.count_expr(count) else { return None };
        let field = record.then(Proj::Field(n));
        let operand = Operand::Copy(field);
        let ty = self.operand_ty(&operand);
        let kind = self.program.types.as_int(ty)?;
        (kind.size() == 8 && !kind.signed()).then_some((ty, operand))
    }

    /// The count over the fields with field `n` replaced by a value.
    fn count_with(&mut self, count: CountId, record: &Place, n: u32, value: &Operand) -> Operand {
        self.count(count, &|leaf| match leaf {
            CountRef::Field(m) if m == n => Some(value.clone()),
            CountRef::Field(m) => Some(Operand::Copy(record.then(Proj::Field(m)))),
            CountRef::Param(_) => None,
        })
    }

    /// The count of a flexible array is set as far as the block reaches that was allocated for the
    /// record. If the elements are not plain data, it is set once, and then only shrinks: what follows
    /// the last one may not be an element any more. Before, it is what zeros make it.
    #[allow(clippy::too_many_arguments)]
    fn check_flexible(
        &mut self,
        record: &Place,
        id: RecordId,
        field: u32,
        elem: Ty,
        count: CountId,
        n: u32,
        value: &Operand,
    ) {
        let (int, long) = (self.common().int, self.common().long);
        let new = self.count_with(count, record, n, value);
        let there = self.count_of_fields(count, record);
        let more = self.temp_of(Rvalue::Binary(BinOp::Gt, new.clone(), there.clone(), long), int);
        let record = record.clone();
        self.when(more, move |this| {
            if !this.program.types.is_plain(elem) {
                let least = this.int(i128::from(this.program.types.count_of_zeros(count).max(0)), long);
                let was_set = this.temp_of(Rvalue::Binary(BinOp::Gt, there.clone(), least, long), int);
                let stays = new.clone();
                this.when(was_set, |this| this.check(Check::Count(stays, there)));
            }
            let record_ty = this.program.types.intern(TyKind::Record(id));
            let thin = this.thin_to(Qty::plain(record_ty));
            let ulong = this.common().ulong;
            let start = this.temp_of(Rvalue::AddrOf(record), thin);
            let bytes = this.temp_of(Rvalue::BlockSize(start), ulong);
            let bytes = this.numeric(bytes, long);
            let offset = Operand::Const(Const::OffsetOf(record_ty, vec![field]));
            let offset = this.numeric(offset, long);
            let room = this.temp_of(Rvalue::Binary(BinOp::Sub, bytes, offset, long), long);
            let size = this.size_of(elem);
            let size = this.numeric(size, long);
            let have = this.temp_of(Rvalue::Binary(BinOp::Div, room, size, long), long);
            this.check(Check::Count(new, have));
        });
    }

    fn record_fields(&self, id: RecordId) -> Option<(RecordId, std::rc::Rc<Vec<Field>>)> {
        Some((id, self.program.types.record(id).fields.clone()?))
    }

    /// `StmtKind::CountGroup`: stores without their single checks, then each pointer is checked
    /// against its count.
    pub fn count_group(&mut self, list: &'t [(Expr, Expr)]) {
        let together: Vec<u32> = list
            .iter()
            .filter_map(|(place, _)| match &*place.kind {
                ExprKind::Field(_, n) if self.is_counted(place.ty.ty) => Some(*n),
                _ => None,
            })
            .collect();
        let mut stored = vec![];
        // A task that its custodian shuts down ends in an allocation: not between the stores of a
        // group, which others would see.
        let held = list.iter().skip(1).any(|(_, value)| effects::allocates(value)) && !self.body.unchecked;
        if held {
            self.hold("lee_hold");
        }
        for (place, value) in list {
            let saved = self.enter(place.span.to(value.span), place.is_unsafe);
            let op = self.operand(value);
            let op = self.freeze(op);
            let access = self.place(place, Use::Write);
            match &access.guard {
                Guard::Field(record, _, _) if self.is_counted(access.qty.ty) => {
                    if self.is_fat(self.operand_ty(&op)) {
                        let sized = self.sized(&op);
                        stored.push((record.clone(), access.qty.ty, sized, self.span, self.is_unsafe));
                    }
                    let word = self.address(op, access.qty.ty);
                    self.before_slot_store(&access.place, access.qty.ty);
                    self.assign(access.place.clone(), Rvalue::Use(word));
                }
                Guard::Field(record, id, n) => {
                    let (record, id, n) = (record.clone(), *id, *n);
                    let op = self.in_field(id, n, op);
                    self.before_count_store(&record, id, n, &op, &together);
                    self.before_tag_store(&record, id, n, &op);
                    self.assign(access.place.clone(), Rvalue::Use(op));
                }
                _ => self.store(&access, op),
            }
            self.leave(saved);
        }
        for (record, ty, value, span, is_unsafe) in stored {
            let saved = self.enter(span, is_unsafe);
            self.check_enough(&record, ty, value);
            self.leave(saved);
        }
        if held {
            self.hold("lee_unhold");
        }
    }

    /// A call of one of the runtime's two functions that put off the end of a task.
    fn hold(&mut self, name: &str) {
        self.call_builtin(source::Symbol::new(name), vec![], vec![], self.common().void);
    }

    /// Checks all counted pointers of a record that was just initialised field by field; `stored`
    /// holds their fat values.
    pub fn check_counts(&mut self, record: &Place, stored: Vec<(Ty, SizedValue)>) {
        for (ty, value) in stored {
            self.check_enough(record, ty, value);
        }
    }

    // ---- tags

    /// The unions of the record that field `n` is the tag of.
    fn tag_of(&self, id: RecordId, n: u32) -> Vec<u32> {
        let Some(fields) = self.program.types.record(id).fields.clone() else { return vec![] };
        let tagged = |f: &Field| f.tagged_by.as_ref().is_some_and(|t| t.tag == n);
        fields.iter().enumerate().filter(|(_, f)| tagged(f)).map(|(i, _)| i as u32).collect()
    }

    /// A store of another value to the tag clears the union that it selects in.
    fn before_tag_store(&mut self, record: &Place, id: RecordId, n: u32, value: &Operand) {
        if self.body.unchecked {
            return;
        }
        for union in self.tag_of(id, n) {
            let tag = Operand::Copy(record.then(Proj::Field(n)));
            let ty = self.operand_ty(&tag);
            let int = self.common().int;
            let differs = self.temp_of(Rvalue::Binary(BinOp::Ne, tag, value.clone(), ty), int);
            let place = record.then(Proj::Field(union));
            let owners = if self.is_slot(&place) { self.owning_arms(id, union) } else { vec![] };
            let tag = record.then(Proj::Field(n));
            self.when(differs, move |this| {
                for (value, member) in owners {
                    let value = this.int(value, ty);
                    let there = this.temp_of(Rvalue::Binary(BinOp::Eq, Operand::Copy(tag.clone()), value, ty), int);
                    let held = place.then(Proj::Field(member));
                    this.when(there, move |this| this.emit(StmtKind::DropSlot(held)));
                }
                this.fill_zero(place);
            });
        }
    }

    /// The values of its tag that select a member of the union which owns something, with the
    /// member.
    fn owning_arms(&self, id: RecordId, union: u32) -> Vec<(i128, u32)> {
        let Some((_, fields)) = self.record_fields(id) else { return vec![] };
        let Some(field) = fields.get(union as usize) else { return vec![] };
        let members = self.fields_of(field.ty.ty).map(|(_, members)| members);
        let owns = |n: u32| {
            let member = members.as_ref().and_then(|m| m.get(n as usize));
            member.is_some_and(|m| mir::ty::owns(&self.program.types, m.ty.ty))
        };
        let arms = field.tagged_by.as_ref().map_or(&[][..], |t| &t.arms);
        arms.iter().filter(|(_, member)| owns(*member)).copied().collect()
    }

    // ---- compound assignment

    /// `place op= value`; gives the new value.
    pub fn assign_op(
        &mut self,
        op: BinOp,
        compute: Ty,
        place: &'t Expr,
        value: &'t Expr,
        want: bool,
    ) -> Option<Operand> {
        let right = self.operand_before(value, &[place]);
        if self.updates_at_once(place) {
            return self.update(place, &format!("{}=", op.in_c()), Some(right));
        }
        let access = self.place(place, Use::Read);
        let old = self.value_of(&access);
        let ty = self.value_ty(place.ty.ty);
        let new = if self.pointer_of(ty).is_some() {
            let old = self.simple(old);
            Rvalue::Use(self.pointer_add(old, ty, right, op == BinOp::Sub))
        } else {
            let old = self.numeric(old, compute);
            let shift = matches!(op, BinOp::Shl | BinOp::Shr);
            let right = if shift { right } else { self.numeric(right, compute) };
            let result = self.arithmetic(op, old, right, compute);
            self.back_to(result, compute, ty)
        };
        self.store_new(&access, new, ty, want)
    }

    /// `++`, `--`; gives the new value (prefix) or the old one.
    pub fn inc_dec(&mut self, place: &'t Expr, up: bool, prefix: bool, want: bool) -> Option<Operand> {
        if self.updates_at_once(place) {
            let sign = if up { "+" } else { "-" };
            if prefix {
                let one = self.int(1, self.common().int);
                return self.update(place, &format!("{sign}="), Some(one));
            }
            return self.update(place, &format!("{sign}{sign}"), None);
        }
        let access = self.place(place, Use::Read);
        let mut old = self.value_of(&access);
        let ty = self.value_ty(place.ty.ty);
        if want && !prefix {
            old = self.freeze(old);
        }
        let kept = old.clone();
        let new = if self.pointer_of(ty).is_some() {
            let one = self.int(1, self.common().int);
            let old = self.simple(old);
            Rvalue::Use(self.pointer_add(old, ty, one, !up))
        } else {
            let op = if up { BinOp::Add } else { BinOp::Sub };
            let compute = self.promoted(ty);
            let one = self.int(1, self.common().int);
            let one = self.numeric(one, compute);
            let old = self.numeric(old, compute);
            self.back_to(Rvalue::Binary(op, old, one, compute), compute, ty)
        };
        let result = self.store_new(&access, new, ty, want && prefix);
        if want && !prefix {
            Some(kept)
        } else {
            result
        }
    }

    /// Whether `op=`, `++` and `--` read and write the place in one step, which no other thread comes
    /// between (C11 6.5.16.2p3). Threads are foreign code's: checked code has none, tasks of a
    /// process never run at once.
    fn updates_at_once(&self, place: &Expr) -> bool {
        place.ty.quals.is_atomic && self.checks_off() && !self.is_fat(place.ty.ty)
    }

    /// The C compiler's own operator on a place: `+=` with a value, which gives what is stored, or
    /// `++` without one, which gives what was there.
    fn update(&mut self, place: &'t Expr, operator: &str, value: Option<Operand>) -> Option<Operand> {
        let access = self.place(place, Use::Read);
        self.take_address(&access.place);
        let to = self.thin_to(access.qty);
        let address = self.temp_of(Rvalue::AddrOf(access.place), to);
        let args: Vec<Operand> = std::iter::once(address).chain(value).collect();
        let params = args.iter().map(|arg| ParamTy::new(self.operand_ty(arg))).collect();
        self.call_builtin(source::Symbol::new(operator), args, params, place.ty.ty)
    }

    /// What a place holds, a counted field with its bounds.
    pub fn value_of(&mut self, access: &Access) -> Operand {
        let ty = self.value_ty(access.qty.ty);
        self.load(access, ty)
    }

    /// The type of what is read from a place of type `ty`: counted pointers in safe code have their
    /// bounds.
    fn value_ty(&mut self, ty: Ty) -> Ty {
        match self.pointer_of(ty) {
            Some(p @ Pointer { bounds: Bounds::Counted(_), .. }) if !self.body.unchecked => {
                self.program.types.pointer(Pointer { bounds: Bounds::Fat, ..p })
            }
            _ => ty,
        }
    }

    /// The type that `++` computes in: at least `int`.
    fn promoted(&self, ty: Ty) -> Ty {
        match self.program.types.as_int(ty) {
            Some(kind) if kind.size() < 4 => self.common().int,
            Some(_) => match self.program.types.kind(ty) {
                TyKind::Enum(e) => match self.program.types.enumeration(*e).underlying {
                    IntKind::UInt => self.common().uint,
                    IntKind::Long => self.common().long,
                    IntKind::ULong => self.common().ulong,
                    IntKind::LongLong => self.common().longlong,
                    IntKind::ULongLong => self.common().ulonglong,
                    _ => self.common().int,
                },
                _ => ty,
            },
            None => ty,
        }
    }

    /// A computed value in the type of its place.
    fn back_to(&mut self, value: Rvalue, from: Ty, to: Ty) -> Rvalue {
        if from == to {
            return value;
        }
        let op = self.temp_of(value, from);
        Rvalue::Numeric(op, to)
    }

    fn store_new(&mut self, access: &Access, new: Rvalue, ty: Ty, want: bool) -> Option<Operand> {
        if let Some(local) = access.place.as_local() {
            self.assign(access.place.clone(), new);
            return want.then(|| Operand::local(local));
        }
        if !want && self.field_is_plain(access) {
            self.assign(access.place.clone(), new);
            return None;
        }
        let op = match new.as_use() {
            Some(op) => self.simple(op.clone()),
            None => self.temp_of(new, ty),
        };
        self.store(access, op.clone());
        want.then(|| if self.is_bit_field(access) { Operand::Copy(access.place.clone()) } else { op })
    }
}

/// Whether the count mentions the field.
fn mentions_field(types: &TypeStore, id: CountId, n: u32) -> bool {
    match *types.count_expr(id) {
        CountExpr::Field(m) => m == n,
        CountExpr::Const(_) | CountExpr::Param(_) => false,
        CountExpr::Add(a, b) | CountExpr::Sub(a, b) | CountExpr::Mul(a, b) => {
            mentions_field(types, a, n) || mentions_field(types, b, n)
        }
        CountExpr::Div(a, _) => mentions_field(types, a, n),
    }
}

/// A fat value for a counted field.
pub struct SizedValue {
    /// Not zero if it is not null.
    there: Operand,
    /// Its elements (`size_t`), if `there` is not the value itself.
    have: Option<Operand>,
    nonnull: bool,
}
