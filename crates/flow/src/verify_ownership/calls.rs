//! Calls and returns: what is passed to others, and what comes back.

use mir::ir::*;
use mir::ty::owns;
use typing::tree::RegionKind;
use typing::types::{Own, ParamTy, Region, Ty, TyKind};

use super::memory::{plain_path, Base, Cell, Memory, Null, Thing, Token, Value};
use super::walk::{Ends, Step, Walker};
use crate::lenders::carried;

impl Walker<'_> {
    pub(super) fn call(
        &mut self,
        m: &mut Memory,
        dest: Option<&Place>,
        callee: &Callee,
        args: &[Operand],
        ty: Ty,
    ) -> Step {
        let lends = self.known.lenders.calls(callee) && !self.is_unsafe;
        let func = self.program.types.as_func(ty);
        let mut values = vec![];
        for (n, arg) in args.iter().enumerate() {
            let value = self.operand(m, arg)?;
            let param = func.as_ref().and_then(|f| f.params.get(n).copied());
            if value.needs.iter().any(|&t| !m.is_alive(t)) {
                self.wrong("passes a pointer to what has ended");
            }
            let closed = self.is_closed(m, &value);
            let is_key = param.is_some_and(|p| matches!(self.program.types.kind(p.ty), TyKind::Key(..)));
            let with_key = func.as_ref().is_some_and(|f| self.has_key_of(f, n));
            if closed && !is_key && !with_key {
                self.wrong("passes a pointer into a region that is not live");
            }
            if let Some(param) = param.filter(|p| self.names_heap(p.ty)) {
                self.arrives(m, &value, param.ty, "passes for a heap pointer what may end");
            }
            values.push((value, param));
        }
        if !m.no_loans {
            m.forget_numbers(&self.hidden);
        }
        let copied = func.as_ref().and_then(|f| self.copied_bytes(m, f.copies?, args, &values));
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
            // What is lent as an owner is not what a result in its region points to: the function
            // cannot return a pointer into it.
            let from = param.and_then(|p| self.program.types.as_pointer(p.ty));
            let from = from.filter(|p| !matches!(p.own, Own::Unique | Own::Rc)).map(|p| p.region);
            let to = func.as_ref().and_then(|f| self.program.types.as_pointer(f.ret)).map(|p| p.region);
            let keeps = lends && func.as_ref().is_some_and(|f| carried(self.program, f, n).is_some());
            if keeps || from.is_some() && from == to && from != Some(Region::Heap) && !consumed {
                result.needs.extend(value.needs.iter().copied());
                result.regions.extend(value.regions.iter().copied());
                result.loans.extend(value.loans.iter().copied());
            }
        }
        if lends {
            let token = m.token(Thing { alive: true, zeroed: false, owed: false, lent: false, depth: 0 });
            m.in_slots.insert(token);
            result.needs.insert(token);
        }
        m.cells.extend(copied.into_iter().flatten());
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

    /// What a call of `memcpy` and the like leaves in its target: cells with the pointers that are
    /// in its source. `None` if less than the source is copied, or its cells are not known.
    fn copied_bytes(
        &self,
        m: &Memory,
        (to, from): (u32, u32),
        args: &[Operand],
        values: &[(Value, Option<ParamTy>)],
    ) -> Option<Vec<(Cell, Value)>> {
        let end = |n: u32| {
            let arg = args.get(n as usize)?.place()?.clone();
            let place = self.resolver.place(&Place { base: arg.base, proj: [arg.proj, vec![Proj::Deref]].concat() });
            let cell = match (values.get(n as usize)?.0.points, place.base) {
                (Some(object), _) => (Base::Object(object), vec![]),
                (None, PlaceBase::Local(local)) => (Base::Local(local), plain_path(&place)?),
                (None, _) => return None,
            };
            Some((cell, self.place_ty(&place)))
        };
        let ((target, ty), (source, from_ty)) = (end(to)?, end(from)?);
        let size = self.program.types.layout(ty)?.size;
        let whole = |o: &Operand| matches!(o, Operand::Const(Const::Int(n, _)) if *n >= i128::from(size));
        if !self.program.types.same_modulo_regions(ty, from_ty) || !args.iter().any(whole) {
            return None;
        }
        let copy = |cell: Cell| {
            let value = m.cells.get(&cell)?.without_ownership();
            let steps = cell.1.get(source.1.len()..)?;
            Some(((target.0, [&target.1, steps].concat()), value))
        };
        Some(Self::cells_in(m, &source).into_iter().filter_map(copy).collect())
    }

    /// Whether it is a pointer into the heap and nowhere else.
    fn names_heap(&self, ty: Ty) -> bool {
        self.program.types.as_pointer(ty).is_some_and(|p| p.region == Region::Heap)
    }

    /// Whether another parameter is the key of the region of parameter `n`.
    pub(super) fn has_key_of(&self, func: &typing::types::FuncTy, n: usize) -> bool {
        let Some(region) = func.params.get(n).and_then(|p| self.program.types.as_pointer(p.ty)).map(|p| p.region)
        else {
            return false;
        };
        func.params.iter().any(|p| matches!(self.program.types.kind(p.ty), TyKind::Key(_, r) if *r == region))
    }

    /// A local that others may have changed through its address.
    pub(super) fn forget_local(&self, m: &mut Memory, local: Local) {
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

    pub(super) fn returns(&mut self, mut m: Memory, operand: Option<&Operand>) {
        if let Some(operand) = operand {
            let Ok(value) = self.operand(&mut m, operand) else { return };
            let function = self.program.functions.get(self.body.func.func.0 as usize);
            let into = function.and_then(|f| self.program.types.as_func(f.ty)).filter(|f| f.into.is_none());
            if let Some(func) = into.filter(|_| !self.known.lenders.contains(self.body.func.func)) {
                self.arrives(&m, &value, func.ret, "returns a pointer to what the caller does not know to last");
            }
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
        if !m.unpacked.is_empty() {
            self.wrong("returns while a struct is unpacked");
        }
        let cells: Vec<(Cell, Value)> = m.cells.iter().map(|(c, v)| (c.clone(), v.clone())).collect();
        for ((base, path), value) in cells {
            let Base::Local(local) = base else { continue };
            if self.lent.contains(&local) {
                if value.gone && local.0 < self.body.params && plain_path(&Place::local(local)).is_some() {
                    self.wrong("returns with a hole in what is lent");
                }
                let hole = value.owned.is_some_and(|t| self.has_hole(&m, t));
                if hole && value.null != Null::Yes && local.0 < self.body.params {
                    self.wrong("returns with a hole in what is lent");
                }
            } else if (local.0 < self.body.params || self.is_temp(local)) && !self.is_in_union(&(base, path)) {
                self.drop_value(&m, &value, "the function is left");
            }
        }
    }
}
