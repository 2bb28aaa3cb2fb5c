//! The walks: what each statement does to memory.

use mir::ir::*;
use mir::ty::{operand_ty, owns, place_ty};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use typing::tree::{BorrowKind, RegionKind};
use typing::types::{Own, Region, Ty, TyKind};

use super::memory::{plain_path, Base, Cell, Location, Memory, Null, Thing, Token, Value};

/// How far along a list objects are told apart.
const MAX_DEPTH: u8 = 3;

/// A mistake: block, statement, what.
pub(crate) type Mistake = (BlockId, usize, String);

/// Walks one body.
pub(crate) struct Walker<'a> {
    program: &'a Program,
    body: &'a Body,
    /// Whether something owned that is dropped is a mistake.
    leaks: bool,
    mistakes: Vec<Mistake>,
    at: (BlockId, usize),
    is_unsafe: bool,
    /// Locals that hold what is lent to this function or to a call.
    lent: FxHashSet<Local>,
    cursors: Vec<(Local, Place)>,
}

/// Control does not get on from here.
struct Ends;

type Step = Result<(), Ends>;

impl<'a> Walker<'a> {
    pub fn new(program: &'a Program, body: &'a Body, leaks: bool) -> Walker<'a> {
        Walker {
            program,
            body,
            leaks,
            mistakes: vec![],
            at: (BlockId(0), 0),
            is_unsafe: false,
            lent: FxHashSet::default(),
            cursors: vec![],
        }
    }

    pub fn run(mut self, budget: usize) -> Vec<Mistake> {
        let mut work = vec![(BlockId(0), self.entry())];
        let mut seen: BTreeSet<(u32, Memory)> = BTreeSet::new();
        let mut walked = 0;
        while let Some((block, memory)) = work.pop() {
            walked += 1;
            if walked > budget || self.mistakes.len() > 8 {
                break;
            }
            let memory = memory.canonical();
            if !seen.insert((block.0, memory.clone())) {
                continue;
            }
            self.block(block, memory, &mut work);
        }
        self.mistakes.sort_by_key(|m| (m.0, m.1));
        self.mistakes.dedup();
        self.mistakes
    }

    fn entry(&mut self) -> Memory {
        let mut m = Memory::default();
        for (n, region) in self.body.regions.iter().enumerate() {
            if matches!(region.decl.kind, RegionKind::Param | RegionKind::Block | RegionKind::Loan) {
                m.open.insert(n as u32, 1);
            }
        }
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let func = function.and_then(|f| self.program.types.as_func(f.ty));
        for n in 0..self.body.params {
            let local = Local(n);
            let consume = func.as_ref().and_then(|f| f.params.get(n as usize)).is_some_and(|p| p.consume);
            self.storage(&mut m, local);
            let ty = self.local_ty(local);
            if !consume && owns(&self.program.types, ty) {
                self.lent.insert(local);
            }
            if self.is_owned_scalar(ty) {
                let value = self.arriving(&mut m, ty, !consume);
                m.cells.insert((Base::Local(local), vec![]), value);
            }
        }
        m
    }

    fn wrong(&mut self, message: impl Into<String>) {
        if !self.is_unsafe {
            self.mistakes.push((self.at.0, self.at.1, message.into()));
        }
    }

    fn local_ty(&self, local: Local) -> Ty {
        self.body.locals.get(local.0 as usize).map_or(self.program.types.common.error, |d| d.ty.ty)
    }

    /// Owned pointers, keys and generic values: one thing.
    fn is_owned_scalar(&self, ty: Ty) -> bool {
        owns(&self.program.types, ty)
            && !matches!(self.program.types.kind(ty), TyKind::Record(_) | TyKind::Array { .. })
    }

    fn storage(&self, m: &mut Memory, local: Local) -> Token {
        let token = m.token(Thing { alive: true, zeroed: false, owed: false, lent: false, depth: 0 });
        m.storage.insert(local, token);
        token
    }

    /// Whether a value of the type must be released by who owns it. What is not known is not claimed.
    fn owed(&self, ty: Ty) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => matches!(p.region, Region::Heap | Region::Exchange),
            TyKind::Key(..) | TyKind::Param(_) => true,
            _ => false,
        }
    }

    /// A value that comes from outside.
    fn arriving(&mut self, m: &mut Memory, ty: Ty, lent: bool) -> Value {
        let mut value = Value::unknown();
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => {
                self.add_region(&mut value, p.region);
                if p.nonnull {
                    value.null = Null::No;
                }
            }
            TyKind::Key(..) => value.null = Null::No,
            _ => {}
        }
        if self.is_owned_scalar(ty) {
            let token = m.token(Thing { alive: true, zeroed: false, owed: self.owed(ty), lent, depth: 0 });
            value.owned = Some(token);
            value.needs.insert(token);
            value.points = Some(token);
        }
        value
    }

    fn add_region(&self, value: &mut Value, region: Region) {
        if let Region::Body(n) = region {
            let kind = self.body.regions.get(n as usize).map(|r| r.decl.kind);
            if matches!(kind, Some(RegionKind::Lifo(_) | RegionKind::Dynamic | RegionKind::ParamKey)) {
                value.regions.insert(n);
            }
        }
    }

    // ---- places

    /// Follows a pointer: all that it needs must be there.
    fn follow(&mut self, m: &Memory, value: &Value) -> Step {
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
        if value.regions.iter().any(|r| m.open.get(r).copied().unwrap_or(0) == 0) {
            self.wrong("follows a pointer into a region that is not live");
            return Err(Ends);
        }
        Ok(())
    }

    fn locate(&mut self, m: &mut Memory, place: &Place) -> Result<Location, Ends> {
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
                    match pointer.points {
                        Some(object) => Location::Cell((Base::Object(object), vec![])),
                        None => Location::Elsewhere(pointer.looked_at()),
                    }
                }
            };
        }
        Ok(at)
    }

    /// What is in a place.
    fn load(&mut self, m: &mut Memory, at: &Location, ty: Ty) -> Value {
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

    fn place_ty(&self, place: &Place) -> Ty {
        place_ty(self.program, self.body, place).map_or(self.program.types.common.error, |q| q.ty)
    }

    fn read(&mut self, m: &mut Memory, place: &Place) -> Result<Value, Ends> {
        let at = self.locate(m, place)?;
        let ty = self.place_ty(place);
        let value = self.load(m, &at, ty);
        if value.gone && self.is_owned_scalar(ty) {
            self.wrong("reads what was moved out");
            return Err(Ends);
        }
        let mut looked = value.looked_at();
        looked.test = value.test;
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
                }
            }
        }
        Ok(looked)
    }

    fn cells_in(m: &Memory, cell: &Cell) -> Vec<Cell> {
        let inside = |(base, path): &&Cell| *base == cell.0 && path.starts_with(&cell.1);
        m.cells.keys().filter(inside).cloned().collect()
    }

    /// Moves a value out. Of a struct: its parts stay in cells of their own, named by the caller.
    fn take(&mut self, m: &mut Memory, place: &Place) -> Result<Vec<(Vec<u32>, Value)>, Ends> {
        let at = self.locate(m, place)?;
        let ty = self.place_ty(place);
        let is_owned = owns(&self.program.types, ty);
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
        if let Base::Local(l) = cell.0 {
            let through_call = self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
            if self.lent.contains(&l) && !through_call {
                self.wrong("moves what is lent");
                return Err(Ends);
            }
        }
        let mut parts = vec![];
        if self.is_owned_scalar(ty) {
            let loaded = self.load(m, &Location::Cell(cell.clone()), ty);
            if let std::collections::btree_map::Entry::Vacant(entry) = m.cells.entry(cell.clone()) {
                // Too far along to be told apart: it goes, and the place is looked at no more.
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

    // ---- values

    fn operand(&mut self, m: &mut Memory, operand: &Operand) -> Result<Value, Ends> {
        match operand {
            Operand::Copy(place) => self.read(m, place),
            Operand::Move(place) => {
                let parts = self.take(m, place)?;
                Ok(parts.into_iter().find(|(path, _)| path.is_empty()).map_or(Value::unknown(), |(_, value)| value))
            }
            Operand::Const(Const::Null(_) | Const::Int(0, _)) => Ok(Value::null()),
            Operand::Const(_) => Ok(Value::unknown()),
        }
    }

    fn value(&mut self, m: &mut Memory, value: &Rvalue, dest: Ty) -> Result<Value, Ends> {
        match value {
            Rvalue::Use(a)
            | Rvalue::Bits(a, _)
            | Rvalue::Part(a, Part::Ptr | Part::Lo, _)
            | Rvalue::MakeTypedVoid(a, ..)
            | Rvalue::MakeFat { ptr: a, .. }
            | Rvalue::MakeCounted { ptr: a, .. } => self.operand(m, a),
            Rvalue::Offset(a, n) => {
                let mut value = self.operand(m, a)?;
                if !matches!(n, Operand::Const(Const::Int(0, _))) {
                    value.points = None;
                }
                value.test = None;
                Ok(value)
            }
            Rvalue::AddrOf(place) => {
                let at = self.locate(m, place)?;
                Ok(self.address(m, at))
            }
            Rvalue::Borrow(BorrowKind::Slot | BorrowKind::Sight, place, _) => {
                let at = self.locate(m, place)?;
                Ok(self.address(m, at))
            }
            Rvalue::Borrow(_, place, _) => {
                let value = self.read(m, place)?;
                if self.program.types.as_pointer(self.place_ty(place)).is_some() && value.null != Null::Yes {
                    let mut borrowed = value.clone();
                    borrowed.test = None;
                    if value.needs.iter().any(|&t| !m.is_alive(t)) {
                        self.wrong("borrows what has ended");
                    }
                    return Ok(borrowed);
                }
                Ok(value)
            }
            Rvalue::Alloc { handle, fallible, .. } => {
                mir::visit::rvalue_operands(value, &mut |operand| drop(self.operand(m, operand)));
                let region = handle.as_ref().and_then(|h| operand_ty(self.program, self.body, h).ok());
                let region = region.and_then(|ty| match self.program.types.kind(ty) {
                    TyKind::Handle(_, r) => Some(*r),
                    _ => None,
                });
                let owed = region.is_none();
                let token = m.token(Thing { alive: true, zeroed: true, owed, lent: false, depth: 0 });
                let mut fresh = Value::unknown();
                fresh.points = Some(token);
                fresh.needs.insert(token);
                if let Some(region) = region {
                    self.add_region(&mut fresh, region);
                    if fresh.regions.iter().any(|r| m.open.get(r).copied().unwrap_or(0) == 0) {
                        self.wrong("allocates in a region that is not live");
                    }
                }
                if owns(&self.program.types, dest) {
                    fresh.owned = Some(token);
                }
                if !fallible {
                    fresh.null = Null::No;
                }
                Ok(fresh)
            }
            Rvalue::Retain(a) => {
                let value = self.operand(m, a)?;
                if value.needs.iter().any(|&t| !m.is_alive(t)) {
                    self.wrong("counts up what has ended");
                }
                Ok(self.arriving(m, dest, false))
            }
            Rvalue::NewKey(_, ty) => Ok(self.arriving(m, *ty, false)),
            Rvalue::Truth(a) | Rvalue::Numeric(a, _) => {
                let value = self.operand(m, a)?;
                Ok(Value { test: value.test, ..Value::unknown() })
            }
            Rvalue::Unary(UnOp::Not, a) => {
                let value = self.operand(m, a)?;
                Ok(Value { test: value.test.map(|(c, same)| (c, !same)), ..Value::unknown() })
            }
            Rvalue::Binary(op @ (BinOp::Eq | BinOp::Ne), a, b, _) => {
                let is_null = |o: &Operand| matches!(o, Operand::Const(Const::Null(_) | Const::Int(0, _)));
                let (x, y) = (self.operand(m, a)?, self.operand(m, b)?);
                let tested = match (is_null(a), is_null(b)) {
                    (false, true) => x.test,
                    (true, false) => y.test,
                    _ => None,
                };
                Ok(Value { test: tested.map(|(c, same)| (c, same == (*op == BinOp::Ne))), ..Value::unknown() })
            }
            _ => {
                let mut ends = Ok(());
                mir::visit::rvalue_operands(value, &mut |operand| {
                    if self.operand(m, operand).is_err() {
                        ends = Err(Ends);
                    }
                });
                ends?;
                Ok(Value::unknown())
            }
        }
    }

    fn address(&mut self, m: &mut Memory, at: Location) -> Value {
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

    // ---- effects

    fn drop_value(&mut self, m: &Memory, value: &Value, how: &str) {
        let Some(token) = value.owned else { return };
        let owed = m.things.get(&token).is_some_and(|t| t.owed && t.alive && !t.lent);
        if owed && value.null != Null::Yes && self.leaks {
            self.wrong(format!("drops something owned: {how}"));
        }
    }

    fn store(&mut self, m: &mut Memory, dest: &Place, value: Value) -> Step {
        let at = self.locate(m, dest)?;
        let ty = self.place_ty(dest);
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
                let global = !matches!(dest.base, PlaceBase::Local(_));
                if global || self.points_into_heap(dest) && through.needs.is_empty() {
                    self.kept(m, ty, &value);
                }
            }
        }
        Ok(())
    }

    /// Whether the last pointer on the way has the heap as its region.
    fn points_into_heap(&self, place: &Place) -> bool {
        let Some(n) = place.proj.iter().rposition(|s| *s == Proj::Deref) else { return false };
        let pointer = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
        self.program.types.as_pointer(self.place_ty(&pointer)).is_some_and(|p| p.region == Region::Heap)
            && pointer
                .base_local()
                .is_some_and(|l| self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind != LocalKind::Temp))
    }

    /// Memory that lasts keeps a value of the type: nothing in it may end with a block, an arena or a loan. An arena that the type of the
    /// memory itself names is no matter: who has no such name cannot read it.
    fn kept(&mut self, m: &Memory, ty: Ty, value: &Value) {
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

    fn forget_tests(&self, m: &mut Memory, cell: &Cell) {
        for value in m.cells.values_mut() {
            if value.test.as_ref().is_some_and(|(c, _)| c == cell) {
                value.test = None;
            }
        }
    }

    /// Ends an object and, deeply, all that it owns.
    fn release(&mut self, m: &mut Memory, token: Token) {
        m.kill(token);
        let inside = (Base::Object(token), vec![]);
        for cell in Self::cells_in(m, &inside) {
            if let Some(owned) = m.cells.remove(&cell).and_then(|v| v.owned) {
                self.release(m, owned);
            }
        }
    }

    fn dispose(&mut self, m: &mut Memory, operand: &Operand, with_handle: bool) -> Step {
        let Operand::Move(place) = operand else {
            self.operand(m, operand)?;
            return Ok(());
        };
        let ty = self.place_ty(place);
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
            if let TyKind::Key(_, Region::Body(n)) = self.program.types.kind(ty) {
                if m.opened.iter().any(|(region, _)| region == n) {
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
            self.release(m, token);
        }
        Ok(())
    }

    fn call(&mut self, m: &mut Memory, dest: Option<&Place>, args: &[Operand], ty: Ty) -> Step {
        let func = self.program.types.as_func(ty);
        let mut values = vec![];
        for (n, arg) in args.iter().enumerate() {
            let value = self.operand(m, arg)?;
            let param = func.as_ref().and_then(|f| f.params.get(n).copied());
            if value.needs.iter().any(|&t| !m.is_alive(t)) {
                self.wrong("passes a pointer to what has ended");
            }
            let closed = value.regions.iter().any(|r| m.open.get(r).copied().unwrap_or(0) == 0);
            let is_key = param.is_some_and(|p| matches!(self.program.types.kind(p.ty), TyKind::Key(..)));
            let with_key = func.as_ref().is_some_and(|f| self.has_key_of(f, n));
            if closed && !is_key && !with_key {
                self.wrong("passes a pointer into a region that is not live");
            }
            values.push((value, param));
        }
        let mut result = Value::unknown();
        for (n, (value, param)) in values.iter().enumerate() {
            let owner = param.is_some_and(|p| self.is_owned_scalar(p.ty));
            let token = value.points.filter(|_| owner && value.null != Null::Yes);
            if let Some(token) = token {
                let others = values.iter().enumerate().filter(|(other, _)| *other != n);
                if others.into_iter().any(|(_, (v, _))| v.needs.contains(&token)) {
                    self.wrong("passes an object to an owner and to another parameter");
                }
                if self.has_hole(m, token) {
                    self.wrong("passes an object with a hole");
                }
            }
            let consumed = param.is_some_and(|p| p.consume) && value.owned.is_some();
            for &token in value.points.iter().chain(&value.needs) {
                if m.storage.values().any(|&s| s == token) {
                    let local = m.storage.iter().find(|(_, &s)| s == token).map(|(&l, _)| l);
                    if let Some(local) = local {
                        self.forget_local(m, local);
                    }
                } else {
                    m.forget(token);
                }
            }
            if consumed {
                if let Some(token) = value.owned {
                    m.kill(token);
                }
            }
            let from = param.and_then(|p| self.program.types.as_pointer(p.ty)).map(|p| p.region);
            let to = func.as_ref().and_then(|f| self.program.types.as_pointer(f.ret)).map(|p| p.region);
            if from.is_some() && from == to && from != Some(Region::Heap) && !consumed {
                result.needs.extend(value.needs.iter().copied());
                result.regions.extend(value.regions.iter().copied());
            }
        }
        if let Some(func) = &func {
            if let Some((value, _)) = func.into.and_then(|n| values.get(n as usize)) {
                result.needs.extend(value.needs.iter().copied());
            }
            if func.noreturn {
                return Err(Ends);
            }
        }
        let Some(dest) = dest else { return Ok(()) };
        let ty = self.place_ty(dest);
        if owns(&self.program.types, ty) {
            result = if self.is_owned_scalar(ty) { self.arriving(m, ty, false) } else { Value::unknown() };
        } else if let Some(p) = self.program.types.as_pointer(ty) {
            self.add_region(&mut result, p.region);
        }
        self.store(m, dest, result)
    }

    /// Whether another parameter is the key of the region of parameter `n`.
    fn has_key_of(&self, func: &typing::types::FuncTy, n: usize) -> bool {
        let Some(region) = func.params.get(n).and_then(|p| self.program.types.as_pointer(p.ty)).map(|p| p.region)
        else {
            return false;
        };
        func.params.iter().any(|p| matches!(self.program.types.kind(p.ty), TyKind::Key(_, r) if *r == region))
    }

    /// A local that others may have changed through its address.
    fn forget_local(&self, m: &mut Memory, local: Local) {
        let ty = self.local_ty(local);
        let cell = (Base::Local(local), vec![]);
        for inside in Self::cells_in(m, &cell) {
            self.forget_tests(m, &inside);
            if let Some(old) = m.cells.remove(&inside) {
                // What an out parameter held was released before it was filled.
                if let Some(token) = old.owned.filter(|_| owns(&self.program.types, ty)) {
                    m.forget(token);
                }
            }
        }
    }

    fn statement(&mut self, m: &mut Memory, stmt: &Stmt) -> Step {
        match &stmt.kind {
            StmtKind::Assign(dest, value) => self.assign(m, dest, value)?,
            StmtKind::Call { dest, callee, args, ty } => {
                if let Callee::Pointer(operand) = callee {
                    self.operand(m, operand)?;
                }
                if !matches!(callee, Callee::Builtin(_)) || !args.is_empty() || dest.is_some() {
                    self.call(m, dest.as_ref(), args, *ty)?;
                }
            }
            StmtKind::Dispose { value, handle, .. } => {
                if let Some(handle) = handle {
                    self.operand(m, handle)?;
                }
                self.dispose(m, value, handle.is_some())?;
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
            StmtKind::Swap(a, b) => self.swap(m, a, b)?,
            StmtKind::DropSlot(place) => {
                if let Location::Cell(cell) = self.locate(m, place)? {
                    for inside in Self::cells_in(m, &cell) {
                        let held = m.cells.insert(inside, Value::null()).and_then(|v| v.owned);
                        if let Some(token) = held {
                            self.release(m, token);
                        }
                    }
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
            }
            StmtKind::Open(_, key, region) => {
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
                let value = self.address(m, at);
                self.cursors.push((*cursor, place.clone()));
                self.place_cursor(m, *cursor, value);
            }
            StmtKind::Unpack { place, moves, .. } => {
                self.locate(m, place)?;
                let _ = moves;
            }
            StmtKind::Check(check) => {
                let mut ends = Ok(());
                mir::visit::check_operands(check, &mut |operand| {
                    let place = operand.place().cloned();
                    if place.is_some_and(|p| self.read(m, &p).is_err()) {
                        ends = Err(Ends);
                    }
                });
                ends?;
            }
            StmtKind::CopyElements { to, from, count } => {
                for place in [to, from, count].into_iter().filter_map(|o| o.place()) {
                    let value = self.read(m, place)?;
                    if value.needs.iter().any(|&t| !m.is_alive(t)) {
                        self.wrong("copies elements of what has ended");
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn assign(&mut self, m: &mut Memory, dest: &Place, value: &Rvalue) -> Step {
        let ty = self.place_ty(dest);
        if let (Rvalue::Borrow(BorrowKind::Lend, ..), Some(local)) = (value, dest.as_local()) {
            self.lent.insert(local);
        }
        if let Rvalue::Use(Operand::Copy(from)) = value {
            let is_variable = |l: Local| self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::Var);
            if owns(&self.program.types, ty) && owns(&self.program.types, self.place_ty(from)) {
                // A part of what `unpack` lends.
                if let Some(local) = dest.as_local().filter(|&l| is_variable(l)) {
                    self.lent.insert(local);
                }
            }
        }
        // A struct with owners moves cell by cell.
        if let Rvalue::Use(Operand::Move(from)) = value {
            if owns(&self.program.types, ty) && !self.is_owned_scalar(ty) {
                let parts = self.take(m, from)?;
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

    /// A cursor stands somewhere: what it is at is an object of its own, whole when it leaves.
    fn place_cursor(&mut self, m: &mut Memory, cursor: Local, value: Value) {
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

    fn leave_cursor(&mut self, m: &Memory, cursor: Local) {
        let at = m.cells.get(&(Base::Local(cursor), vec![])).and_then(|v| v.points);
        let content = at.and_then(|object| m.cells.get(&(Base::Object(object), vec![])));
        if content.is_some_and(|v| v.gone) {
            self.wrong("a cursor leaves a hole");
        }
    }

    fn is_cursor_advance(&self, dest: &Place) -> bool {
        dest.as_local().is_some_and(|l| self.cursors.iter().any(|(c, _)| *c == l))
    }

    fn zero(&self, m: &mut Memory, cell: Cell, ty: Ty, depth: u32) {
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

    fn swap(&mut self, m: &mut Memory, a: &Place, b: &Place) -> Step {
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
        for ((at, value), ty) in [(x, vy), (y, vx)].into_iter().zip(types) {
            match at {
                Location::Cell(cell) => {
                    self.forget_tests(m, &cell);
                    m.cells.insert(cell, value);
                }
                _ => self.kept(m, ty, &value),
            }
        }
        Ok(())
    }

    fn dead(&mut self, m: &mut Memory, local: Local) {
        let is_lent = self.lent.contains(&local);
        if self.cursors.iter().any(|(c, _)| *c == local) {
            self.leave_cursor(m, local);
        }
        for cell in Self::cells_in(m, &(Base::Local(local), vec![])) {
            if let Some(value) = m.cells.remove(&cell) {
                if !is_lent {
                    self.drop_value(m, &value, "its scope ends");
                }
            }
            self.forget_tests(m, &cell);
        }
        if let Some(token) = m.storage.remove(&local) {
            m.kill(token);
        }
    }

    fn block(&mut self, id: BlockId, mut m: Memory, work: &mut Vec<(BlockId, Memory)>) {
        let body = self.body;
        let Some(block) = body.blocks.get(id.0 as usize) else { return };
        for (n, stmt) in block.stmts.iter().enumerate() {
            self.at = (id, n);
            self.is_unsafe = stmt.is_unsafe;
            if self.statement(&mut m, stmt).is_err() {
                return;
            }
        }
        self.at = (id, block.stmts.len());
        self.is_unsafe = false;
        match &block.term.kind {
            TermKind::Goto(to) => work.push((*to, m)),
            TermKind::If(operand, yes, no) => self.branch(m, operand, *yes, *no, work),
            TermKind::Switch(operand, arms, other) => {
                if self.operand(&mut m, operand).is_err() {
                    return;
                }
                let mut targets: Vec<BlockId> = arms.iter().map(|a| a.2).chain([*other]).collect();
                targets.dedup();
                work.extend(targets.into_iter().map(|to| (to, m.clone())));
            }
            TermKind::Return(operand) => self.returns(m, operand.as_ref()),
            _ => {}
        }
    }

    fn branch(
        &mut self,
        mut m: Memory,
        operand: &Operand,
        yes: BlockId,
        no: BlockId,
        work: &mut Vec<(BlockId, Memory)>,
    ) {
        let known = crate::framework::const_truth(operand);
        let place = operand.place().cloned();
        let Ok(value) = place.map_or(Ok(Value::unknown()), |p| self.read(&mut m, &p)) else { return };
        for (to, holds) in [(yes, true), (no, false)] {
            if known == Some(!holds) {
                continue;
            }
            let mut m = m.clone();
            if let Some((cell, same)) = &value.test {
                let not_null = holds == *same;
                if let Some(tested) = m.cells.get_mut(cell) {
                    match (tested.null, not_null) {
                        (Null::Yes, true) | (Null::No, false) => continue,
                        (_, true) => tested.null = Null::No,
                        (_, false) => tested.null = Null::Yes,
                    }
                }
            }
            work.push((to, m));
        }
    }

    fn returns(&mut self, mut m: Memory, operand: Option<&Operand>) {
        if let Some(operand) = operand {
            let Ok(value) = self.operand(&mut m, operand) else { return };
            let mine = |t: &Token| m.storage.values().any(|s| s == t) || !m.is_alive(*t);
            if value.needs.iter().any(mine) {
                self.wrong("returns a pointer to what ends with the function");
            }
            let lifo = |n: &u32| {
                let kind = self.body.regions.get(*n as usize).map(|r| r.decl.kind);
                matches!(kind, Some(RegionKind::Lifo(_)))
            };
            if value.regions.iter().any(lifo) {
                self.wrong("returns a pointer into an arena of the function");
            }
        }
        if m.open.iter().any(|(n, &count)| {
            let kind = self.body.regions.get(*n as usize).map(|r| r.decl.kind);
            count > 0 && matches!(kind, Some(RegionKind::Lifo(_) | RegionKind::Dynamic | RegionKind::ParamKey))
        }) {
            self.wrong("returns while a region is open");
        }
        let cells: Vec<(Cell, Value)> = m.cells.iter().map(|(c, v)| (c.clone(), v.clone())).collect();
        for ((base, path), value) in cells {
            let Base::Local(local) = base else { continue };
            if self.lent.contains(&local) {
                if value.gone && local.0 < self.body.params && plain_path(&Place::local(local)).is_some() {
                    self.wrong("returns with a hole in what is lent");
                }
                let hole = value.owned.is_some_and(|t| self.has_hole(&m, t));
                if hole && local.0 < self.body.params {
                    self.wrong("returns with a hole in what is lent");
                }
            } else if local.0 < self.body.params || self.is_temp(local) {
                let _ = path;
                self.drop_value(&m, &value, "the function is left");
            }
        }
    }

    fn is_temp(&self, local: Local) -> bool {
        self.body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp)
    }

    fn has_hole(&self, m: &Memory, object: Token) -> bool {
        m.cells.iter().any(|((base, _), v)| {
            *base == Base::Object(object) && (v.gone || v.owned.is_some_and(|t| t != object && self.has_hole(m, t)))
        })
    }
}
