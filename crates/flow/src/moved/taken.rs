//! What is taken out of a slot: `n = s->top; s->top = n->next; free(n);`.
//!
//! A slot lies where others can reach it, so nothing is moved out of it: what it held would be there
//! twice. But if the next thing that happens to the slot, whatever branches are taken, is that it is
//! stored to, no one can tell whether the old pointer is still in it. Then the move is an exchange
//! with null, and what the program reads from the slot meanwhile is what the local holds. Where that
//! is null the slot holds what it held, and need not be stored to.
//!
//! "No one can tell" is decided by types: what may look at the slot is an access to something that
//! owns, or through an owned pointer that lies in memory, unless it is another field of the same
//! object; and other code: calls, `unsafe`. A wrong answer here would let the program see null
//! where C has a pointer, and no more: the exchange is as safe as one that the program writes.
//!
//! `free(n->next);` is the same without a path: the slot is stored null when it is freed, as
//! `n->next = nullptr` does. Whoever looks at it afterwards would find what is freed in C, and finds
//! null. So it need not be stored to, and only what looks at it by the same name before it is stored
//! to counts: that is a mistake which can be told. So it is when the local that took what was in the
//! slot moves on and frees it: `x = t[i]; while (x) { n = x->next; free(x); x = n; }` needs no store
//! to `t[i]`. A call that takes what a slot holds stands
//! between the two: it may put the object elsewhere, so the slot is to be stored to, but others may
//! look meanwhile.

use mir::effects::{accesses, flags, Code, Kind, Loan};
use mir::ir::*;
use mir::ty::{has_nonnull, owns, place_ty, prefix_ty};
use rustc_hash::FxHashSet;
use typing::types::{Bounds, Own, Qty, Record, RecordId, RecordKind, Region, Ty, TyKind};

use super::{Moved, State};
use crate::framework::{points, Point};
use crate::ownership::{is_null, paths::is_kept};

/// A slot that is empty for a while.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Take {
    /// The statement that takes.
    pub at: Point,
    /// A field or element of a global, or of what a local points to.
    pub slot: Place,
    /// Which field of which struct it is, if it is one.
    pub field: Option<(RecordId, u32)>,
    /// The path that holds what was in it, as long as it does.
    pub to: Option<Place>,
    /// What became of what was in it.
    pub gone: Gone,
}

/// What became of what was in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Gone {
    /// A path holds it.
    Moved,
    /// A call took it.
    Given,
    /// It is freed.
    Freed,
}

/// What an access means for a slot that is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meets {
    Nothing,
    /// It sees that the slot is empty.
    Sees,
    /// From here on the slot's name is not one of the same place.
    Renames,
}

impl Moved<'_> {
    /// All moves out of slots to paths.
    pub(super) fn find_takes(&self) -> FxHashSet<Point> {
        let is_take = |at: &Point, stmt: &Stmt| match self.take(*at, stmt) {
            // A struct is taken as the last element only.
            Some((slot, to)) => self.is_pointer(to) || self.is_popped(*at, slot),
            None => self.freed(stmt).is_some(),
        };
        points(self.body).filter(|(at, stmt)| is_take(at, stmt)).map(|(at, _)| at).collect()
    }

    /// The slot of which the statement frees what is in it.
    pub(super) fn freed<'s>(&self, stmt: &'s Stmt) -> Option<&'s Place> {
        let disposal = stmt.kind.as_dispose().filter(|d| !stmt.is_unsafe && d.handle.is_none())?;
        let Operand::Move(slot) = disposal.value else { return None };
        let held = place_ty(self.program, self.body, slot).ok()?;
        let pointer = self.program.types.as_pointer(held.ty)?;
        let heap = matches!(pointer.region, Region::Heap | Region::Exchange | Region::Infer(_));
        let fits = pointer.own.is_owned() && heap && !pointer.nonnull && !self.in_block(slot);
        (fits && is_plain(held) && self.is_slot(slot)).then_some(slot)
    }

    /// Whether the place is a field or element that others can reach, so that null may be stored there.
    fn is_slot(&self, slot: &Place) -> bool {
        let types = &self.program.types;
        let mut reached = slot.base_local().is_none();
        for (n, step) in slot.proj.iter().enumerate() {
            let Ok(at) = prefix_ty(self.program, self.body, slot, n) else { return false };
            match step {
                Proj::Field(_)
                    if types.as_record(at.ty).is_some_and(|r| types.record(r).kind == RecordKind::Struct) => {}
                // A member of a union with a tag, which was tested.
                Proj::Field(_) if n.checked_sub(1).is_some_and(|n| self.has_tag(slot, n)) => {}
                Proj::Field(_) => return false,
                Proj::Index(_) => reached = true,
                Proj::Deref => match types.as_pointer(at.ty).map(|p| (p.own, p.bounds)) {
                    Some((Own::Shared, _)) => reached = true,
                    Some((Own::Unique, bounds)) => reached |= bounds != Bounds::Thin,
                    Some((Own::Rc, _)) => reached = true,
                    Some((Own::View | Own::Any | Own::Param(_), _)) | None => return false,
                },
            }
        }
        let is_cursor = slot.base_local().is_some_and(|local| self.cursors.contains(&local));
        reached && !is_cursor && !matches!(slot.base, PlaceBase::Str(_))
    }

    /// Whether the slot is in a block of the exchange heap. There an `expose` says which owned fields
    /// are used, and a frozen block has none that changes.
    pub(super) fn in_block(&self, slot: &Place) -> bool {
        let types = &self.program.types;
        slot.proj.iter().enumerate().any(|(n, step)| {
            let pointer = prefix_ty(self.program, self.body, slot, n).ok().and_then(|q| types.as_pointer(q.ty));
            *step == Proj::Deref && pointer.is_none_or(|p| p.region == Region::Exchange)
        })
    }

    /// Whether the place is a member of a union with a tag which is told apart.
    pub(super) fn is_tagged(&self, place: &Place) -> bool {
        let Some((_, union)) = place.last_field() else { return false };
        let union = Place { base: place.base, proj: union.to_vec() };
        let step = union.proj.len().checked_sub(1);
        step.is_some_and(|step| self.has_tag(&union, step)) && self.is_told_apart(&union)
    }

    /// Whether the step of the place goes to a union with a tag.
    fn has_tag(&self, place: &Place, step: usize) -> bool {
        let types = &self.program.types;
        let ty = prefix_ty(self.program, self.body, place, step).map(|q| q.ty);
        let fields = ty.ok().and_then(|ty| types.record(types.as_record(ty)?).fields.as_ref());
        let field = place.proj.get(step).and_then(Proj::as_field);
        let field = fields.zip(field).and_then(|(fields, n)| fields.get(n as usize));
        field.is_some_and(|field| field.tagged_by.is_some())
    }

    /// The slot that the statement moves something out of, and the path that it goes to.
    pub(super) fn take<'s>(&self, at: Point, stmt: &'s Stmt) -> Option<(&'s Place, &'s Place)> {
        let (dest, value) = stmt.kind.as_assign().filter(|_| !stmt.is_unsafe)?;
        // What a field counts gets its bounds as it is moved.
        let counted = value.as_make_counted().map(|(_, pointer, _)| pointer);
        let Operand::Move(slot) = counted.or(value.as_use())? else { return None };
        let types = &self.program.types;
        let (a, b) = (place_ty(self.program, self.body, slot).ok()?, place_ty(self.program, self.body, dest).ok()?);
        let same = counted.is_some() || types.same_modulo_regions(a.ty, b.ty);
        let fits = same && self.may_be_taken(a.ty) && !self.in_block(slot);
        let is_cursor = dest.as_local().is_some_and(|local| self.cursors.contains(&local));
        let is_path = !is_cursor && slot.base != dest.base && is_kept(self.program, self.body, &self.cursors, dest);
        (fits && is_plain(a) && is_path && (self.is_told_apart(slot) || self.is_popped(at, slot)))
            .then_some((slot, dest))
    }

    /// Whether a slot of the type may give away what it holds: null can stay there.
    pub(super) fn may_be_taken(&self, ty: Ty) -> bool {
        let types = &self.program.types;
        match types.as_pointer(ty) {
            Some(pointer) => {
                let heap = matches!(pointer.region, Region::Heap | Region::Exchange);
                pointer.own == Own::Unique && heap && !pointer.nonnull
            }
            None => parts(self.program, ty, 0).is_some() && !has_nonnull(types, ty),
        }
    }

    fn is_pointer(&self, place: &Place) -> bool {
        let ty = place_ty(self.program, self.body, place);
        ty.is_ok_and(|q| self.program.types.as_pointer(q.ty).is_some())
    }

    /// Whether the place is a field or element of a global or of what a local points to, or all of
    /// it, or an element of an array in a local.
    pub(super) fn is_told_apart(&self, place: &Place) -> bool {
        let slot = &self.elements.place(place);
        let types = &self.program.types;
        let first = match slot.base {
            PlaceBase::Global(_) => 0,
            PlaceBase::Local(local) => {
                let Some(decl) = self.body.locals.get(local.0 as usize) else { return false };
                let array = slot.proj.get(1).is_some_and(|step| step.index().is_some());
                // Fields without an index are paths.
                let indexed = slot.proj.iter().any(|step| step.index().is_some());
                let pointer = types.as_pointer(decl.ty.ty);
                let leads = pointer.map_or(indexed, |p| match p.own {
                    Own::Shared => array || p.bounds == Bounds::Thin,
                    Own::Unique => array || indexed && p.bounds == Bounds::Thin,
                    Own::View | Own::Rc | Own::Any | Own::Param(_) => false,
                });
                let through = slot.proj.first() == Some(&Proj::Deref);
                if !leads || self.cursors.contains(&local) || decl.address_taken || through != pointer.is_some() {
                    return false;
                }
                usize::from(through)
            }
            PlaceBase::Str(_) => return false,
        };
        // What comes after the index of an element has its type by the pointer to that.
        let shift = slot.proj.len() - place.proj.len();
        let in_struct = |n: usize| {
            let (of, steps) = if n > shift { (place, n - shift) } else { (slot, n) };
            let record = prefix_ty(self.program, self.body, of, steps).ok().and_then(|q| types.as_record(q.ty));
            // An exchange takes the address, which is not aligned in what is packed.
            let aligned = |record: &Record| {
                !record.packed && record.fields.iter().flat_map(|fields| fields.iter()).all(|field| !field.packed)
            };
            record.map(|id| types.record(id)).is_some_and(|r| r.kind == RecordKind::Struct && aligned(r))
        };
        (first..slot.proj.len()).all(|n| {
            let step = slot.proj.get(n);
            let array = slot.proj.get(n + 1).is_some_and(|next| next.index().is_some());
            step.is_some_and(Proj::is_field) && in_struct(n)
                || step.and_then(Proj::index).is_some_and(|i| self.is_steady(i))
                || step == Some(&Proj::Deref) && array
        })
    }

    /// Whether the index is one that changes by its name only.
    pub(super) fn is_steady(&self, index: &Operand) -> bool {
        let Some(place) = index.place() else { return true };
        let decl = place.as_local().and_then(|local| self.body.locals.get(local.0 as usize));
        decl.is_some_and(|decl| !decl.address_taken)
    }

    /// What is taken is seen by other code.
    pub(super) fn others_see(&self, state: &mut State, stmt: &Stmt, seen: &mut dyn FnMut(Point)) {
        let does = flags(&stmt.kind);
        let others = match does.code {
            Code::Own => does.memory || does.waits,
            Code::Function(_) | Code::Pointer | Code::Assembly => true,
        };
        if others && !stmt.is_unsafe {
            self.given_away(state, stmt);
        }
        if others || stmt.is_unsafe {
            self.give_up(state, seen, &|take| match take.gone {
                Gone::Moved => Meets::Sees,
                Gone::Given | Gone::Freed if stmt.is_unsafe => Meets::Sees,
                Gone::Given | Gone::Freed => Meets::Nothing,
            });
        }
    }

    /// A call takes what was in a slot, and gets nothing else that leads anywhere: as if it were
    /// freed at once.
    fn given_away(&self, state: &mut State, stmt: &Stmt) {
        let Some(call) = stmt.kind.as_call() else { return };
        let types = &self.program.types;
        let leads = |arg: &&Operand| {
            let ty = mir::ty::operand_ty(self.program, self.body, arg);
            ty.map_or(true, |ty| types.has_pointers(ty)) && arg.place().is_some()
        };
        let mut leading = call.args.iter().filter(leads);
        let (Some(Operand::Move(only)), None) = (leading.next(), leading.next()) else { return };
        for take in state.taken.iter_mut().filter(|take| take.to.as_ref() == Some(only)) {
            take.gone = Gone::Given;
        }
    }

    /// What was in a slot is freed by the local that took it, after what it leads to was moved on: as
    /// if the slot had been freed.
    pub(super) fn freed_by_name(&self, state: &mut State, stmt: &Stmt) {
        let disposal = stmt.kind.as_dispose().filter(|d| !stmt.is_unsafe && d.handle.is_none());
        let Some(freed) = disposal.and_then(|d| d.value.place()) else { return };
        let below = |from: &Place| {
            from.base == freed.base && from.proj.len() > freed.proj.len() && from.proj.starts_with(&freed.proj)
        };
        if !state.pairs.iter().any(|(from, _)| below(from)) {
            return;
        }
        for take in state.taken.iter_mut().filter(|take| take.to.as_ref() == Some(freed)) {
            (take.gone, take.to) = (Gone::Freed, None);
        }
    }

    /// What an access does to the slots that are taken.
    pub(super) fn seen_by(&self, state: &mut State, place: &Place, kind: Kind, seen: &mut dyn FnMut(Point)) {
        if state.taken.is_empty() {
            return;
        }
        if kind == Kind::Write {
            // Stored to: it is not empty any more.
            state.taken.retain(|take| take.slot != *place);
        }
        self.give_up(state, seen, &|take| self.meets(take, place, kind));
        if changes(kind) {
            let holds = |to: &Place| to.base != place.base || !to.proj.starts_with(&place.proj);
            for take in &mut state.taken {
                take.to = take.to.take().filter(holds);
            }
        }
    }

    /// Slots that may be seen are not taken; what is freed need not be stored to under another name.
    fn give_up(&self, state: &mut State, seen: &mut dyn FnMut(Point), meets: &dyn Fn(&Take) -> Meets) {
        let State { pairs, taken } = state;
        taken.retain(|take| {
            let met = meets(take);
            if met != Meets::Nothing {
                pairs.retain(|(from, _)| *from != take.slot);
            }
            if met == Meets::Sees || met == Meets::Renames && take.gone != Gone::Freed {
                seen(take.at);
            }
            met == Meets::Nothing
        });
    }

    /// Whether the access may be one to what is in the slot, by another name.
    pub(super) fn sees(&self, take: &Take, place: &Place, kind: Kind) -> bool {
        self.meets(take, place, kind) == Meets::Sees
    }

    fn meets(&self, take: &Take, place: &Place, kind: Kind) -> Meets {
        let slot = &take.slot;
        let sees = |sees| if sees { Meets::Sees } else { Meets::Nothing };
        let is_index = |local| slot.indices().any(|i| i.place().and_then(Place::as_local) == Some(local));
        if changes(kind) && place.as_local().is_some_and(is_index) {
            return Meets::Renames;
        }
        if place.base == slot.base {
            // In front of a store to it stands the drop of what is in it, which is nothing. What is
            // freed may be tested: a change of a count does that, too.
            if place == slot {
                return sees(kind != Kind::Drop && (kind != Kind::Read || take.gone != Gone::Freed));
            }
            let mut steps = place.proj.iter().zip(&slot.proj);
            if steps.all(|(a, b)| a == b) {
                // It leads to the slot, or through it. To read a pointer on the way is no look.
                let on_the_way = slot.proj.get(place.proj.len()) == Some(&Proj::Deref);
                return match changes(kind) {
                    true if place.proj.len() < slot.proj.len() => Meets::Renames,
                    true => Meets::Sees,
                    false => sees(!on_the_way),
                };
            }
        }
        if take.gone != Gone::Moved {
            return Meets::Nothing;
        }
        // What was taken, and what it owns, is the local's.
        if take.to.as_ref().is_some_and(|to| to.base == place.base) {
            return Meets::Nothing;
        }
        let in_memory = |steps: usize| {
            let local = place.base_local().and_then(|l| self.body.locals.get(l.0 as usize));
            let derefs = place.proj.iter().take(steps).any(|step| *step == Proj::Deref);
            derefs || local.is_none_or(|decl| decl.address_taken)
        };
        let owned = |steps: usize| {
            let ty = prefix_ty(self.program, self.body, place, steps);
            let may_be = !ty.is_ok_and(|q| !owns(&self.program.types, q.ty));
            in_memory(steps) && may_be && !self.is_other_field(take, place, steps)
        };
        let through = (0..place.proj.len()).any(|n| place.proj.get(n) == Some(&Proj::Deref) && owned(n));
        let address = kind == Kind::Address(Loan::Shared);
        sees(through || owned(place.proj.len()) && !address && !self.is_beside(place, slot))
    }

    /// Whether the first steps of the place lead to a pointer that is another field than the slot, of
    /// whatever object.
    fn is_other_field(&self, take: &Take, place: &Place, steps: usize) -> bool {
        let place = Place { base: place.base, proj: place.proj.iter().take(steps).cloned().collect() };
        let types = &self.program.types;
        let is_pointer = place_ty(self.program, self.body, &place).is_ok_and(|q| types.as_pointer(q.ty).is_some());
        let fields = self.field(&place).zip(take.field);
        is_pointer && fields.is_some_and(|(a, b)| a != b)
    }

    /// The field of a struct that the place is.
    pub(super) fn field(&self, place: &Place) -> Option<(RecordId, u32)> {
        let (field, before) = place.last_field()?;
        let before = Place { base: place.base, proj: before.to_vec() };
        let ty = place_ty(self.program, self.body, &before).ok()?.ty;
        let record = self.program.types.as_record(ty)?;
        (self.program.types.record(record).kind == RecordKind::Struct).then_some((record, field))
    }

    /// Whether both are in one object, in different fields.
    fn is_beside(&self, place: &Place, slot: &Place) -> bool {
        let differ = place.proj.iter().zip(&slot.proj).find(|(a, b)| a != b);
        place.base == slot.base && differ.is_some_and(|(a, b)| a.is_field() && b.is_field())
    }

    /// The function is left: the caller sees the slot.
    pub(super) fn left(&self, state: &mut State, term: &Terminator, seen: &mut dyn FnMut(Point)) {
        match &term.kind {
            TermKind::Return(_) | TermKind::MissingReturn | TermKind::GotoComputed(_) => {
                self.give_up(state, seen, &|_| Meets::Renames);
            }
            TermKind::Goto(_) | TermKind::If(..) | TermKind::Switch(..) | TermKind::Unreachable => {}
        }
    }

    /// On the way on which what was taken is null, the slot holds what it held.
    pub(super) fn found_null(&self, state: &mut State, from: BlockId, operand: &Operand, holds: bool) {
        if state.taken.is_empty() {
            return;
        }
        let Some((place, not_null)) = tested_pointer(self.program, self.body, from, operand) else { return };
        if not_null != holds {
            state.taken.retain(|take| place != take.slot && take.to.as_ref() != Some(&place));
        }
    }
}

/// The parts of a struct, each by its way there, and whether they own something: unique pointers, and
/// what owns nothing. `None` if some part is neither, or the struct owns nothing.
fn parts(program: &Program, ty: Ty, depth: u32) -> Option<Vec<(Vec<Proj>, bool)>> {
    let types = &program.types;
    let record = types.as_record(ty).map(|id| types.record(id)).filter(|r| r.kind == RecordKind::Struct)?;
    if !owns(types, ty) || !record.exists.is_empty() || depth > 8 {
        return None;
    }
    let mut found = vec![];
    for (field, n) in record.fields.as_ref()?.iter().zip(0..) {
        let step = Proj::Field(n);
        if matches!(types.kind(field.ty.ty), TyKind::Array { .. }) || field.name.is_none() {
            return None;
        }
        match types.as_pointer(field.ty.ty) {
            Some(p) if p.own == Own::Unique => found.push((vec![step], true)),
            Some(_) if owns(types, field.ty.ty) => return None,
            Some(_) => found.push((vec![step], false)),
            None if !owns(types, field.ty.ty) => found.push((vec![step], false)),
            None => {
                let below = parts(program, field.ty.ty, depth + 1)?.into_iter();
                found.extend(below.map(|(way, owned)| ([vec![step.clone()], way].concat(), owned)));
            }
        }
    }
    Some(found)
}

/// Takes a struct out of a slot: its owned pointers are exchanged with null, all else is copied, and
/// stays.
pub(super) fn struct_taken(program: &Program, ty: Ty, to: &Place, slot: &Place) -> Vec<StmtKind> {
    let below = |place: &Place, way: &[Proj]| Place { base: place.base, proj: [&place.proj, way].concat() };
    let mut made = vec![StmtKind::Zero(to.clone())];
    for (way, owned) in parts(program, ty, 0).unwrap_or_default() {
        let (to, from) = (below(to, &way), below(slot, &way));
        made.push(match owned {
            true => StmtKind::Exchange(to, from),
            false => StmtKind::Assign(to, Rvalue::Use(Operand::Copy(from))),
        });
    }
    made
}

/// The pointer that the condition at the end of the block tests, and whether it is true for one
/// that is not null.
pub(crate) fn tested_pointer(
    program: &Program,
    body: &Body,
    block: BlockId,
    operand: &Operand,
) -> Option<(Place, bool)> {
    let stmts = &body.blocks.get(block.0 as usize)?.stmts;
    let (mut place, mut not_null) = (operand.place()?.clone(), true);
    let mut tested_at = stmts.len();
    loop {
        let ty = place_ty(program, body, &place).ok()?.ty;
        if program.types.as_pointer(ty).is_some() {
            // What the place holds at the branch must be what was tested.
            let changed = stmts.iter().skip(tested_at).any(|stmt| changes_path(stmt, &place));
            return (!changed).then_some((place, not_null));
        }
        let local = place.as_local()?;
        let mut before = stmts.iter().enumerate().take(tested_at).rev();
        let (at, value) = before.find_map(|(n, stmt)| Some((n, stmt.kind.assigned_to(local)?)))?;
        tested_at = at;
        let (tested, same) = match (value.tested(), value.as_binary()) {
            (Some(tested), _) => tested,
            (None, Some((op @ (BinOp::Eq | BinOp::Ne), a, b, _))) => match (is_null(a), is_null(b)) {
                (false, true) => (a, op == BinOp::Ne),
                (true, false) => (b, op == BinOp::Ne),
                _ => return None,
            },
            (None, _) => return None,
        };
        place = tested.place()?.clone();
        not_null = not_null == same;
    }
}

/// Whether the path may hold another pointer after the statement.
fn changes_path(stmt: &Stmt, path: &Place) -> bool {
    let mut changed = stmt.is_unsafe;
    accesses(&stmt.kind, &mut |place, kind, _| {
        changed |= changes(kind) && place.base == path.base && path.proj.starts_with(&place.proj);
    });
    changed
}

/// Whether the statement may give the local, or a part of it, another value.
pub(crate) fn changes_local(kind: &StmtKind, local: Local) -> bool {
    let mut changed = false;
    accesses(kind, &mut |place, kind, _| {
        changed |= changes(kind) && place.base_local() == Some(local) && !place.has_deref();
    });
    changed
}

/// Whether a place of the type may be stored to, and holds what was stored last.
pub(super) fn is_plain(of: Qty) -> bool {
    !of.quals.is_const && !of.quals.is_volatile && !of.quals.is_atomic
}

/// Whether what is in the place may be another, or elsewhere, after the access.
pub(crate) fn changes(kind: Kind) -> bool {
    match kind {
        Kind::Read | Kind::Copy | Kind::Lend(_) | Kind::Mention | Kind::Step => false,
        Kind::Move
        | Kind::Write
        | Kind::Exchange
        | Kind::Address(_)
        | Kind::Drop
        | Kind::Free
        | Kind::Begin
        | Kind::End => true,
    }
}
