//! Paths that have null facts beside whole locals: pointers in fields of locals, and below `unique`
//! pointers to one object, as long as nothing else can write them.
//!
//! A path belongs to its root, a local whose address is not taken. What is below a `unique` pointer
//! is reached through the root alone, until it is lent: by a borrow that is not a view, by an
//! address, to a cursor, by a copy of an owned pointer. From then on every call, and every store
//! through a pointer that is not a path of the same root, may write it; that is permanent, since
//! this pass knows nothing of how long loans last. Whoever has an address has the object around it
//! (`container_of`); whoever has a pointer has what it points to, not the pointer itself.

use crate::ownership::paths::{cursors, is_kept};
use mir::bits::BitSet;
use mir::effects::{rvalue_operands, stmt_places, term_places};
use mir::ir::*;
use mir::ty::{owns, place_ty};
use rustc_hash::{FxHashMap, FxHashSet};
use typing::types::{Ty, TyKind};

/// The paths of a body, numbered, and their roots, numbered too.
pub(crate) struct NullPaths<'a> {
    program: &'a Program,
    body: &'a Body,
    cursors: FxHashSet<Local>,
    pub places: Vec<Place>,
    pub types: Vec<Ty>,
    numbers: FxHashMap<Place, usize>,
    /// By local: its paths.
    roots: FxHashMap<Local, Vec<usize>>,
    /// What may be lent: a place, and all below it.
    loans: Vec<Place>,
    loan_numbers: FxHashMap<Place, usize>,
    /// By path: the loans that it lies in.
    inside: Vec<Vec<usize>>,
}

impl<'a> NullPaths<'a> {
    /// The paths that the body names as a whole.
    pub fn new(program: &'a Program, body: &'a Body) -> NullPaths<'a> {
        let cursors = cursors(body).into_iter().collect();
        let mut this = NullPaths {
            program,
            body,
            cursors,
            places: vec![],
            types: vec![],
            numbers: FxHashMap::default(),
            roots: FxHashMap::default(),
            loans: vec![],
            loan_numbers: FxHashMap::default(),
            inside: vec![],
        };
        for block in &body.blocks {
            for stmt in &block.stmts {
                stmt_places(&stmt.kind, &mut |place, _| this.mention(place));
            }
            term_places(&block.term.kind, &mut |place, _| this.mention(place));
        }
        if this.roots.is_empty() {
            return this;
        }
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            let lent = this.lent_by(&stmt.kind);
            if let Some(lent) = lent.filter(|p| p.base_local().is_some_and(|l| this.roots.contains_key(&l))) {
                this.add_loan(lent);
            }
        }
        for (n, decl) in body.locals.iter().enumerate() {
            let local = Local(n as u32);
            // A value that owns may come from one root and go to another.
            if this.roots.contains_key(&local) || owns(&program.types, decl.ty.ty) {
                this.add_loan(Place::local(local));
            }
        }
        let covers = |path: &Place| {
            let held = |loan: &Place| loan.base == path.base && path.proj.starts_with(&loan.proj);
            this.loans.iter().enumerate().filter(|(_, loan)| held(loan)).map(|(n, _)| n).collect()
        };
        this.inside = this.places.iter().map(covers).collect();
        this
    }

    fn add_loan(&mut self, place: Place) {
        if !self.loan_numbers.contains_key(&place) {
            self.loan_numbers.insert(place.clone(), self.loans.len());
            self.loans.push(place);
        }
    }

    fn mention(&mut self, place: &Place) {
        let Some(root) = place.base_local() else { return };
        if place.proj.is_empty() || self.numbers.contains_key(place) || !self.is_path(place) {
            return;
        }
        let Ok(qty) = place_ty(self.program, self.body, place) else { return };
        if !matches!(self.program.types.kind(qty.ty), TyKind::Ptr(_)) {
            return;
        }
        let number = self.places.len();
        self.places.push(place.clone());
        self.types.push(qty.ty);
        self.numbers.insert(place.clone(), number);
        self.roots.entry(root).or_default().push(number);
    }

    /// Whether the place lies in memory that keeps what was stored there.
    fn is_path(&self, place: &Place) -> bool {
        is_kept(self.program, self.body, &self.cursors, place)
    }

    /// The number of a path.
    pub fn number(&self, place: &Place) -> Option<usize> {
        self.numbers.get(place).copied()
    }

    /// How many loans there are.
    pub fn loans(&self) -> usize {
        self.loans.len()
    }

    /// The loan of all of a local.
    pub fn whole(&self, place: &Place) -> Option<usize> {
        self.loan_numbers.get(&Place::local(place.base_local()?)).copied()
    }

    /// The loans that have a part in common with the place.
    pub fn loans_of<'s>(&'s self, place: &'s Place) -> impl Iterator<Item = usize> + 's {
        let shares = |loan: &Place| loan.base == place.base && overlap(loan, place);
        self.loans.iter().enumerate().filter(move |(_, loan)| shares(loan)).map(|(n, _)| n)
    }

    /// The paths that a store to the place may change; `lent` says which loans were made.
    pub fn written(&self, place: &Place, lent: &BitSet) -> Vec<usize> {
        let elsewhere = place.has_deref() || place.base_local().is_none();
        let mut found = vec![];
        for (local, paths) in &self.roots {
            let same = place.base_local() == Some(*local);
            if elsewhere && !(same && self.is_path(place)) {
                found.extend(paths.iter().filter(|&&n| self.is_lent(n, lent)));
            }
            if same {
                found.extend(paths.iter().filter(|&&n| self.places.get(n).is_some_and(|p| overlap(p, place))));
            }
        }
        found
    }

    /// The paths that a call may change.
    pub fn called(&self, lent: &BitSet) -> Vec<usize> {
        (0..self.places.len()).filter(|&n| self.is_lent(n, lent)).collect()
    }

    fn is_lent(&self, path: usize, lent: &BitSet) -> bool {
        self.inside.get(path).is_none_or(|loans| loans.iter().any(|&loan| lent.contains(loan)))
    }

    /// The number of the loan that a statement makes.
    pub fn loan(&self, kind: &StmtKind) -> Option<usize> {
        if self.loans.is_empty() {
            return None;
        }
        self.loan_numbers.get(&self.lent_by(kind)?).copied()
    }

    /// What a statement lends: others can write there from now on.
    fn lent_by(&self, kind: &StmtKind) -> Option<Place> {
        let cursor = kind.as_cursor().map(|(_, place)| place);
        if let Some(place) = cursor.or(kind.as_unpack().map(|(place, ..)| place)) {
            return Some(object(place));
        }
        let value = kind.value()?;
        if value.as_borrow().is_some_and(|(kind, place, _)| kind.is_view() || place.base_local().is_none()) {
            return None;
        }
        match value.points_at() {
            Some((place, true)) => return Some(object(place)),
            Some((place, false)) => return Some(self.target(place)),
            None => {}
        }
        match value.made_of()? {
            (a, Way::Same | Way::Bits | Way::Word(_) | Way::Typed | Way::Fat | Way::Counted | Way::Moved) => match a {
                Operand::Copy(place) if self.owns(place) => Some(self.target(place)),
                _ => None,
            },
            (_, Way::Number | Way::Retained) => None,
        }
    }

    /// What a value of the place leads to.
    fn target(&self, place: &Place) -> Place {
        let is_pointer = place_ty(self.program, self.body, place)
            .is_ok_and(|qty| matches!(self.program.types.kind(qty.ty), TyKind::Ptr(_)));
        if is_pointer {
            place.then(Proj::Deref)
        } else {
            place.clone()
        }
    }

    /// Whether something owned is stored that stays where it was, too: what is lent to a `unique`
    /// parameter, a part of what `unpack` lends.
    pub fn keeps_owner(&self, dest: &Place, value: &Rvalue) -> bool {
        let mut copies = value.as_borrow().is_some();
        rvalue_operands(value, &mut |operand| copies |= matches!(operand, Operand::Copy(from) if self.owns(from)));
        copies && self.owns(dest)
    }

    /// Whether values of the place own something.
    fn owns(&self, place: &Place) -> bool {
        place_ty(self.program, self.body, place).is_ok_and(|qty| owns(&self.program.types, qty.ty))
    }

    /// The places that the value is moved out of.
    pub fn moves<'v>(value: &'v Rvalue) -> Vec<&'v Place> {
        let mut found = vec![];
        rvalue_operands(value, &mut |operand: &'v Operand| {
            if let Operand::Move(place) = operand {
                found.push(place);
            }
        });
        found
    }
}

/// The object, or the local, that a place is a part of.
fn object(place: &Place) -> Place {
    let steps = place.proj.iter().rposition(|step| *step == Proj::Deref).map_or(0, |last| last + 1);
    Place { base: place.base, proj: place.proj.iter().take(steps).cloned().collect() }
}

/// Whether one of two places with one base may hold the other.
fn overlap(path: &Place, other: &Place) -> bool {
    let steps = path.proj.iter().zip(&other.proj);
    steps.into_iter().all(|(a, b)| a == b || b.index().is_some())
}
