//! Regions of types, places and values: what is known of them before solving.

use mir::ir::*;
use mir::ty::{operand_ty, place_ty, prefix_ty};
use typing::types::{Own, Region, Ty};

use super::build::{Env, Ref, Side, Solver};
use super::origins::{ENTRIES, EXCHANGE, HEAP};
use super::shape::{is_exact, object_pointer, Found};

impl<'a> Solver<'a> {
    pub(super) fn map(&mut self, (region, level): Found, env: Env) -> Ref {
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
            // A variable of a function type within: it is the same one however many function types
            // lie between.
            Region::Bound(at, n) if at < level => Ref::Fixed(self.origins.odd(Region::Bound(level - 1 - at, n))),
            Region::Exists(n) => match env {
                Env::Hidden(at) => {
                    self.hidden.get(at).and_then(|list| list.get(n as usize)).copied().unwrap_or(Ref::Free)
                }
                _ => Ref::Fixed(self.origins.odd(region)),
            },
            other => Ref::Fixed(self.origins.odd(other)),
        }
    }

    pub(super) fn decl(&self, local: Local) -> Option<&'a LocalDecl> {
        self.body.locals.get(local.0 as usize)
    }

    /// The region of a local's outermost pointer. That of a temporary is whatever flows into it.
    pub(super) fn outer_of_local(&mut self, local: Local) -> Ref {
        let Some(decl) = self.decl(local) else { return Ref::Free };
        let Some(p) = object_pointer(&self.program.types, decl.ty.ty) else { return Ref::Free };
        if decl.kind == LocalKind::Temp {
            return Ref::Node(self.body.infer_regions as usize + local.0 as usize);
        }
        self.map((p.region, 0), Env::Body)
    }

    /// The region that the pointer in a place points into.
    pub(super) fn outer_of_place(&mut self, place: &Place) -> Ref {
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
    pub(super) fn env_of(&self, place: &Place) -> Env {
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

    pub(super) fn hide(&mut self, place: &Place, regions: Vec<Ref>) {
        self.hidden_at.insert(place.clone(), self.hidden.len());
        self.hidden.push(regions);
    }

    /// The innermost view that the place is reached through: a `unique` pointer behind a view is a
    /// view too; any other pointer ends the view, since others may change what it leads to.
    pub(super) fn last_view(&self, place: &Place) -> Option<Place> {
        let derefs = place.proj.iter().enumerate().rev().filter(|(_, step)| **step == Proj::Deref);
        for (n, _) in derefs {
            let prefix = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
            let ty = prefix_ty(self.program, self.body, place, n).ok()?;
            let own = self.program.types.as_pointer(ty.ty).map(|p| p.own);
            match own {
                Some(Own::View) => return Some(prefix),
                Some(Own::Unique) => {}
                Some(Own::Rc | Own::Any | Own::Shared | Own::Param(_)) | None => return None,
            }
        }
        None
    }

    /// Whether the place is reached through a view. A temporary may be a view of what it was computed
    /// from.
    pub(super) fn is_seen(&self, place: &Place) -> bool {
        self.last_view(place).or_else(|| self.last_view(&self.resolver.place(place))).is_some()
    }

    /// The region of the memory that a place is in.
    pub(super) fn memory_of(&mut self, place: &Place) -> Ref {
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

    pub(super) fn place_side(&mut self, place: &Place) -> Option<Side> {
        let ty = place_ty(self.program, self.body, place).ok()?.ty;
        Some(Side { ty, outer: self.outer_of_place(place), env: self.env_of(place) })
    }

    pub(super) fn operand_side(&mut self, operand: &Operand) -> Option<Side> {
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
    pub(super) fn typed(&mut self, ty: Ty, env: Env) -> Side {
        let outer = match object_pointer(&self.program.types, ty) {
            Some(p) => self.map((p.region, 0), env),
            None => Ref::Free,
        };
        Side { ty, outer, env }
    }
}
