//! What is lent, and which region outlives which: the verifier's own reading of both rules.
//!
//! A loan is a statement that borrows an owned path. It lasts as long as a variable that is read
//! later holds a pointer that comes from it. Meanwhile the path, what leads to it and what lies
//! below it are not moved, released, assigned or exchanged, and are lent in the same way only.

use mir::ir::*;
use mir::ty::{owns, prefix_ty};
use std::collections::{BTreeMap, BTreeSet};
use typing::tree::{BorrowKind, RegionKind};
use typing::types::{Bounds, Own, Pointer, Region, Ty, TyKind};

use super::memory::{plain_path, Base, Loan, Memory, Null, Value};
use super::walk::Walker;
use crate::lenders::given_to_leaves;

impl Walker<'_> {
    /// Whether a place is an owned path: from a local through fields and `unique` pointers.
    pub(super) fn is_owned_path(&self, place: &Place) -> bool {
        let PlaceBase::Local(local) = place.base else { return false };
        if self.cursors.iter().any(|(c, _)| *c == local) {
            return false;
        }
        place.proj.iter().enumerate().all(|(n, step)| match step {
            Proj::Field(_) => true,
            Proj::Index(_) => false,
            Proj::Deref => {
                let ty = prefix_ty(self.program, self.body, place, n).map(|q| q.ty);
                let pointer = ty.ok().and_then(|ty| self.program.types.as_pointer(ty));
                pointer.is_some_and(|p| p.own == Own::Unique && !self.has_owned_elements(&p))
            }
        })
    }

    /// Whether what the pointer leads to are elements that own something: they are not
    /// distinguished.
    pub(super) fn has_owned_elements(&self, p: &Pointer) -> bool {
        p.bounds != Bounds::Thin && owns(&self.program.types, p.target.ty)
    }

    /// Whether a place is a container slot: a pointer that others may have leads to it, after the
    /// last view. A cursor is not such a pointer, nor is one that was just made of a variable's
    /// address.
    pub(super) fn is_slot(&self, place: &Place) -> bool {
        let place = &self.resolver.of_address(place);
        let (mut through, mut view) = (false, false);
        for (n, step) in place.proj.iter().enumerate() {
            if *step != Proj::Deref {
                continue;
            }
            if n == 0 && self.cursors.iter().any(|(c, _)| Some(*c) == place.base_local()) {
                continue;
            }
            let ty = prefix_ty(self.program, self.body, place, n).map(|q| q.ty);
            let pointer = ty.ok().and_then(|ty| self.program.types.as_pointer(ty));
            match pointer {
                Some(p) if p.own == Own::View => (through, view) = (false, true),
                // A view sees into arrays.
                Some(p) if p.own == Own::Unique && (view || !self.has_owned_elements(&p)) => {}
                _ => (through, view) = (true, false),
            }
        }
        through
    }

    /// Whether the place lies behind an owned pointer that is in a slot itself.
    pub(super) fn is_in_content(&self, place: &Place) -> bool {
        let place = &self.resolver.of_address(place);
        let Some(last) = place.proj.iter().rposition(|step| *step == Proj::Deref) else { return false };
        let pointer = Place { base: place.base, proj: place.proj.iter().take(last).cloned().collect() };
        let own = self.program.types.as_pointer(self.place_ty(&pointer)).map(|p| p.own);
        let in_slot = self.is_slot(&pointer) || !matches!(place.base, PlaceBase::Local(_));
        matches!(own, Some(Own::Unique | Own::Rc)) && (in_slot || self.is_in_content(&pointer))
    }

    /// The owned pointer that holds the slot, which is not released while a cursor is on the slot.
    pub(super) fn held_by(&self, place: &Place) -> Option<Place> {
        let last = place.proj.iter().rposition(|step| *step == Proj::Deref)?;
        let pointer = Place { base: place.base, proj: place.proj.iter().take(last).cloned().collect() };
        let own = self.program.types.as_pointer(self.place_ty(&pointer)).map(|p| p.own);
        let held = !self.is_owned_path(place) && matches!(own, Some(Own::Unique | Own::Rc));
        (held && self.is_owned_path(&pointer)).then_some(pointer)
    }

    pub(super) fn loan_site(&self, loan: Loan) -> Option<(BorrowKind, Place)> {
        let stmt = self.body.blocks.get(loan.0 as usize)?.stmts.get(loan.1 as usize)?;
        if let Some((place, ..)) = stmt.kind.as_unpack() {
            return Some((BorrowKind::Lend, place.clone()));
        }
        match stmt.kind.as_cursor() {
            Some((_, place)) => Some((BorrowKind::Shared, self.held_by(place)?)),
            None => stmt.kind.value()?.as_borrow().map(|(kind, place, _)| (kind, place.clone())),
        }
    }

    /// The loans that variables hold which are read later, and those of cursors and of `unpack`s,
    /// which last as long as their block.
    fn loans(&self, m: &Memory) -> BTreeSet<Loan> {
        let is_cursor = |l: &Local| self.cursors.iter().any(|(c, _)| c == l);
        let is_var = |l: &Local| self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind != LocalKind::Temp);
        let held = m.cells.iter().filter(|((base, way), _)| match base {
            Base::Local(l) => is_var(l) && (is_cursor(l) || self.later.contains(self.at, *l, way)),
            _ => false,
        });
        let unpacked = m.unpacked.iter().map(|(loan, _)| *loan);
        held.flat_map(|(_, value)| value.loans.iter().copied()).chain(unpacked).collect()
    }

    /// A statement takes or changes what an owned path holds.
    pub(super) fn disturbs(&mut self, m: &Memory, place: &Place) {
        self.behind_cursor(m, place);
        if m.no_loans || !self.is_owned_path(place) {
            return;
        }
        let related = |l: Loan| self.loan_site(l).is_some_and(|(_, lent)| is_related(&lent, place));
        if self.loans(m).into_iter().any(related) {
            self.wrong("changes what is lent");
        }
    }

    /// A slot changes that is reached through these objects: no view sees into them.
    pub(super) fn changes_slot(&mut self, m: &Memory, through: &Value) {
        if m.no_loans {
            return;
        }
        let sees = |loan: Loan| {
            let site = self.loan_site(loan).filter(|(kind, _)| kind.is_view());
            let cell = site.and_then(|(_, lent)| Some((Base::Local(lent.base_local()?), plain_path(&lent)?)));
            let object = cell.and_then(|cell| m.cells.get(&cell)?.points);
            object.is_some_and(|object| through.needs.contains(&object))
        };
        if self.loans(m).into_iter().any(sees) {
            self.wrong("changes a slot that a view sees");
        }
    }

    /// Whether what the statement makes is passed to leaves, and nothing else becomes of it.
    fn goes_to_leaves(&mut self) -> bool {
        let block = self.body.blocks.get(self.at.0 .0 as usize);
        let made = block.and_then(|block| block.stmts.get(self.at.1)).and_then(|stmt| stmt.kind.as_assign());
        let (program, known, body) = (self.program, self.known, self.body);
        let given = self.given.get_or_insert_with(|| given_to_leaves(program, &known.leaves, body));
        made.and_then(|(dest, _)| dest.as_local()).is_some_and(|local| given.contains(&local))
    }

    /// A statement lends an owned path.
    pub(super) fn lends(&mut self, m: &Memory, kind: BorrowKind, place: &Place) {
        if m.no_loans {
            return;
        }
        // An address that is passed to leaves and goes nowhere else changes nothing that owns, and
        // is gone when they return: it does no more than a shared pointer to the same. What one of
        // them returns has a token of its own, which dies where a slot may be emptied (`calls`).
        let at_leaves = kind.given_to_leaves();
        let kind = if at_leaves != kind && self.goes_to_leaves() { at_leaves } else { kind };
        let agrees = |l: Loan| match self.loan_site(l) {
            Some((other, lent)) if is_related(&lent, place) => {
                let read_only = other.is_read_only() && kind.is_read_only();
                let shared = other.lends_shared() && kind.lends_shared() && lent == *place;
                read_only || shared || kind == BorrowKind::Any
            }
            _ => true,
        };
        if !self.loans(m).into_iter().all(agrees) {
            self.wrong("lends what is lent in another way");
        }
    }

    /// The place of a cursor is used through the cursor only, if it is an owned path. What a slot
    /// holds is taken out meanwhile.
    pub(super) fn behind_cursor(&mut self, m: &Memory, place: &Place) {
        // Between its declaration and its beginning there is no cursor yet.
        let begun = |cursor: &Local| {
            m.storage.contains_key(cursor) && !Self::cells_in(m, &(Base::Local(*cursor), vec![])).is_empty()
        };
        // What may be reached by an address is in a slot.
        let is_path = |place: &Place| {
            let decl = place.base_local().and_then(|local| self.body.locals.get(local.0 as usize));
            self.is_owned_path(place) && decl.is_some_and(|decl| !decl.address_taken)
        };
        let over = |(cursor, over): &(Local, Place)| is_related(over, place) && is_path(over) && begun(cursor);
        if !self.cursors.is_empty() && self.cursors.iter().any(over) && is_path(place) {
            self.wrong("uses the place of a cursor");
        }
    }

    // ---- regions

    /// A pointer is stored where the type names a region: what it points to must outlive that.
    pub(super) fn arrives(&mut self, m: &Memory, value: &Value, ty: Ty, what: &str) {
        let region = self.program.types.as_pointer(ty).map_or(Region::Heap, |p| p.region);
        self.arrives_in(m, value, ty, region, what);
    }

    /// The same for a place.
    pub(super) fn arrives_at(&mut self, m: &Memory, value: &Value, dest: &Place, what: &str) {
        let ty = self.place_ty(dest);
        let region = self.program.types.as_pointer(ty).map_or(Region::Heap, |p| self.kept_in(dest, p.region));
        self.arrives_in(m, value, ty, region, what);
    }

    fn arrives_in(&mut self, m: &Memory, value: &Value, ty: Ty, region: Region, what: &str) {
        let TyKind::Ptr(p) = self.program.types.kind(ty) else { return };
        let is_function = matches!(self.program.types.kind(p.target.ty), TyKind::Func(_));
        if is_function || p.own != Own::Shared || value.null == Null::Yes || value.owned.is_some() {
            return;
        }
        let holds = match region {
            Region::Heap if self.program.types.is_handle_of_runtime(p.target.ty) => true,
            Region::Heap => {
                let on_stack = value.needs.iter().any(|t| m.storage.values().any(|s| s == t));
                let elsewhere = value.regions.iter().any(|&r| !self.heap_like(r));
                !on_stack && !elsewhere
            }
            Region::Body(n) | Region::Bound(0, n) => value.regions.iter().all(|&r| self.outlives(m, r, n)),
            _ => true,
        };
        if !holds {
            self.wrong(what);
        }
    }

    fn heap_like(&self, region: u32) -> bool {
        match self.bounds.get(&region) {
            Some(Region::Body(n)) => self.heap_like(*n),
            Some(_) => true,
            None => self.body.regions.get(region as usize).is_none(),
        }
    }

    /// Whether a pointer leads into a region that is not live. One that a struct hides is live as
    /// long as the region that bounds it.
    pub(super) fn is_closed(&self, m: &Memory, value: &Value) -> bool {
        value.regions.iter().any(|&region| {
            let mut at = Some(region);
            // Bounds lead to structs that were unpacked before.
            for _ in 0..=self.bounds.len() {
                at = match at.and_then(|n| self.bounds.get(&n)) {
                    Some(Region::Body(n)) => Some(*n),
                    Some(_) => None,
                    None => break,
                };
            }
            at.is_some_and(|n| m.open.get(&n).copied().unwrap_or(0) == 0)
        })
    }

    /// By region that `unpack` introduces with a bound: the bound, as far as the type of the place
    /// names it.
    pub(super) fn bounds(program: &Program, body: &Body) -> BTreeMap<u32, Region> {
        let mut bounds = BTreeMap::new();
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            let Some((place, regions, _)) = stmt.kind.as_unpack() else { continue };
            let Ok(ty) = mir::ty::place_ty(program, body, place).map(|q| q.ty) else { continue };
            for (n, &region) in regions.iter().enumerate() {
                let by = match bound_of(program, ty, n as u32) {
                    Some(Region::Exists(other)) => regions.get(other as usize).map(|&r| Region::Body(r)),
                    by => by,
                };
                // A later region would be a circle.
                if let Some(by) = by.filter(|by| !matches!(by, Region::Body(n) if *n >= region)) {
                    bounds.insert(region, by);
                }
            }
        }
        bounds
    }

    /// The region that what is stored in the place must outlive, if its type names one: of a hidden
    /// one, what bounds it.
    fn kept_in(&self, dest: &Place, region: Region) -> Region {
        let Region::Exists(n) = region else { return region };
        let whole = dest.proj.iter().rposition(|step| step.is_field());
        let ty = whole.and_then(|steps| mir::ty::prefix_ty(self.program, self.body, dest, steps).ok());
        ty.and_then(|ty| bound_of(self.program, ty.ty, n)).unwrap_or(region)
    }

    fn encloses(&self, outer: ScopeId, inner: ScopeId) -> bool {
        let mut at = Some(inner);
        let mut steps = self.body.scopes.len();
        while let Some(scope) = at.filter(|_| steps > 0) {
            if scope == outer {
                return true;
            }
            at = self.body.scopes.get(scope.0 as usize).and_then(|s| s.parent);
            steps -= 1;
        }
        false
    }

    /// Whether one region of the body outlives another one here.
    fn outlives(&self, m: &Memory, long: u32, short: u32) -> bool {
        let region = |n: u32| self.body.regions.get(n as usize);
        let (Some(a), Some(b)) = (region(long), region(short)) else { return true };
        if long == short || self.declared(long, short) {
            return true;
        }
        let lexical = matches!(b.decl.kind, RegionKind::Block | RegionKind::Lifo(_) | RegionKind::Loan);
        match a.decl.kind {
            RegionKind::Hidden => match self.bounds.get(&long) {
                Some(Region::Body(n)) => self.outlives(m, *n, short),
                _ => b.decl.kind != RegionKind::Hidden,
            },
            RegionKind::Param => lexical,
            RegionKind::Block | RegionKind::Lifo(_) | RegionKind::Loan => lexical && self.encloses(a.scope, b.scope),
            RegionKind::Dynamic | RegionKind::ParamKey => lexical && m.open.get(&long).copied().unwrap_or(0) > 0,
        }
    }

    /// Whether the prototype says so, in one step or several.
    fn declared(&self, long: u32, short: u32) -> bool {
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let Some(func) = function.and_then(|f| self.program.types.as_func(f.ty)) else { return false };
        let number = |r: &Region| match r {
            Region::Bound(0, n) | Region::Body(n) => Some(*n),
            _ => None,
        };
        let mut known = BTreeSet::from([long]);
        for _ in 0..func.outlives.len() {
            for (a, b) in &func.outlives {
                if let (Some(a), Some(b)) = (number(a), number(b)) {
                    if known.contains(&a) {
                        known.insert(b);
                    }
                }
            }
        }
        known.contains(&short)
    }
}

/// The region that hidden region `n` of a struct is live with, as the struct's arguments name it.
fn bound_of(program: &Program, ty: Ty, n: u32) -> Option<Region> {
    let id = program.types.as_record(ty)?;
    let record = program.types.records.get(id.0 as usize)?;
    match record.exists.get(n as usize).copied().flatten()? {
        Region::Param(arg) => match program.types.kind(*record.args.get(arg as usize)?) {
            TyKind::RegionArg(region) => Some(*region),
            _ => None,
        },
        other => Some(other),
    }
}

/// Whether one place leads to the other.
fn is_related(a: &Place, b: &Place) -> bool {
    a.base == b.base && a.proj.iter().zip(&b.proj).all(|(x, y)| x == y)
}
