//! The places of a body that may hold the object that is followed, and flags that go with them.

use crate::privacy::Privacy;
use mir::effects::{stmt_places, term_places};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use typing::types::Ty;

/// A followed place, by number.
pub type Cell = u32;

/// Flags that are followed with an object, at most.
const MOST_FLAGS: usize = 5;

/// All followed places.
pub struct Cells {
    numbers: FxHashMap<Place, Cell>,
    places: Vec<Place>,
    pointer: Vec<bool>,
    /// The block, of a temporary that only one block uses.
    home: Vec<Option<BlockId>>,
    /// Those that may hold the object, by a coarse analysis.
    objects: usize,
    /// The type of indices in them.
    word: Ty,
}

/// The place with all constant indices of one type, so that the same element is the same place.
fn canonical(place: &Place, word: Ty) -> Cow<'_, Place> {
    let constant = |p: &Proj| match p.index() {
        Some(Operand::Const(Const::Int(n, ty))) if *ty != word => Some(*n),
        _ => None,
    };
    if place.proj.iter().all(|p| constant(p).is_none()) {
        return Cow::Borrowed(place);
    }
    let mut place = place.clone();
    for step in &mut place.proj {
        if let Some(n) = constant(step) {
            *step = Proj::Index(Operand::Const(Const::Int(n, word)));
        }
    }
    Cow::Owned(place)
}

/// The places that what is held at `starts` may get to, by copies, moves and calls, in the order in
/// which they are found.
pub fn reached(program: &Program, body: &Body, privacy: &Privacy, starts: &[Place]) -> Vec<Place> {
    let word = program.types.common.ulong;
    let is_private = |p: &Place| privacy.is_private(program, body, p);
    let mut order: Vec<Place> =
        starts.iter().filter(|p| is_private(p)).map(|p| canonical(p, word).into_owned()).collect();
    order.dedup();
    let mut found: FxHashSet<Place> = order.iter().cloned().collect();
    let private = |p: &Place| is_private(p) && is_word(program, body, p);
    loop {
        let before = order.len();
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            let kind = &stmt.kind;
            let (dest, from) = match (kind.as_assign(), kind.as_call(), kind.as_swap()) {
                (Some((dest, value)), ..) => (dest, sources(value, privacy.through())),
                (None, Some(Call { dest: Some(dest), args, .. }), _) => {
                    (dest, args.iter().filter_map(Operand::place).cloned().collect())
                }
                (None, _, Some((a, b))) if found.contains(b) => (a, vec![b.clone()]),
                (None, _, Some((a, b))) => (b, vec![a.clone()]),
                (None, ..) => continue,
            };
            if from.iter().any(|p| found.contains(&*canonical(p, word))) {
                let dest = canonical(dest, word).into_owned();
                if private(&dest) && found.insert(dest.clone()) {
                    order.push(dest);
                }
            }
        }
        // A call may put what it is given into a variable whose address it is given.
        for call in body.blocks.iter().flat_map(|b| &b.stmts).filter_map(|s| s.kind.as_call()) {
            let has = |a: &Operand| a.place().is_some_and(|p| found.contains(&*canonical(p, word)));
            if !call.args.iter().any(has) {
                continue;
            }
            for variable in call.args.iter().filter_map(|a| privacy.lent_by(a)).map(Place::local) {
                if private(&variable) && found.insert(variable.clone()) {
                    order.push(variable);
                }
            }
        }
        if order.len() == before {
            return order;
        }
    }
}

impl Cells {
    /// The places that what `starts` hold may get to.
    pub fn of(program: &Program, body: &Body, privacy: &Privacy, starts: &[Place]) -> Cells {
        let mut order = reached(program, body, privacy, starts);
        let found: FxHashSet<Place> = order.iter().cloned().collect();
        let objects = order.len();
        order.extend(flags(program, body).into_iter().filter(|p| !found.contains(p)));
        let mut cells = Cells {
            numbers: FxHashMap::default(),
            places: vec![],
            pointer: vec![],
            home: vec![],
            objects,
            word: program.types.common.ulong,
        };
        for place in order {
            cells.numbers.insert(place.clone(), cells.places.len() as Cell);
            let ty = mir::ty::place_ty(program, body, &place).ok();
            cells.pointer.push(ty.is_some_and(|q| program.types.as_pointer(q.ty).is_some()));
            cells.places.push(place);
        }
        cells.home = cells.homes(body);
        cells
    }

    fn homes(&self, body: &Body) -> Vec<Option<BlockId>> {
        let mut by_local: FxHashMap<PlaceBase, Vec<usize>> = FxHashMap::default();
        for (cell, place) in self.places.iter().enumerate() {
            by_local.entry(place.base).or_default().push(cell);
        }
        let mut first: Vec<Option<BlockId>> = vec![None; self.places.len()];
        let mut many = vec![false; self.places.len()];
        for (n, block) in body.blocks.iter().enumerate() {
            let here = BlockId(n as u32);
            let mut note = |place: &Place| {
                for &cell in by_local.get(&place.base).into_iter().flatten() {
                    if let (Some(slot), Some(many)) = (first.get_mut(cell), many.get_mut(cell)) {
                        *many |= slot.is_some_and(|b| b != here);
                        *slot = Some(here);
                    }
                }
            };
            for stmt in &block.stmts {
                stmt_places(&stmt.kind, &mut |place, _| note(place));
            }
            term_places(&block.term.kind, &mut |place, _| note(place));
        }
        let temp = |cell: usize| {
            let decl = self.places.get(cell).and_then(|p| match p.base {
                PlaceBase::Local(l) => body.locals.get(l.0 as usize),
                _ => None,
            });
            decl.is_some_and(|d| d.kind == LocalKind::Temp)
        };
        (0..self.places.len())
            .map(|n| first.get(n).copied().flatten().filter(|_| temp(n) && many.get(n) == Some(&false)))
            .collect()
    }

    /// The number of a place.
    pub fn of_place(&self, place: &Place) -> Option<Cell> {
        self.numbers.get(&*canonical(place, self.word)).copied()
    }

    /// Whether the place is a temporary that only the block uses.
    pub fn is_short(&self, cell: Cell, block: BlockId) -> bool {
        self.home.get(cell as usize).copied().flatten() == Some(block)
    }

    /// Whether it has a pointer type.
    pub fn is_pointer(&self, cell: Cell) -> bool {
        self.pointer.get(cell as usize) == Some(&true)
    }

    /// The followed places that are the place, or lie in it.
    pub fn parts<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = Cell> + 'a {
        let place = canonical(place, self.word);
        let inside = move |p: &Place| p.base == place.base && p.proj.starts_with(&place.proj);
        self.places.iter().enumerate().filter(move |(_, p)| inside(p)).map(|(n, _)| n as Cell)
    }

    /// The followed places of the local that a place begins with.
    pub fn of_base<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = Cell> + 'a {
        self.places.iter().enumerate().filter(move |(_, p)| p.base == place.base).map(|(n, _)| n as Cell)
    }

    /// Locals that may hold the object, in the order in which it gets to them.
    pub fn holders(&self) -> Vec<Local> {
        let mut all: Vec<Local> = self
            .places
            .iter()
            .take(self.objects)
            .filter_map(|p| match p.base {
                PlaceBase::Local(l) => Some(l),
                _ => None,
            })
            .collect();
        let mut seen = FxHashSet::default();
        all.retain(|l| seen.insert(*l));
        all
    }
}

fn is_word(program: &Program, body: &Body, place: &Place) -> bool {
    mir::ty::place_ty(program, body, place).is_ok_and(|q| mir::ty::is_scalar(&program.types, q.ty))
}

/// The places that a value may take the object from. `through`: the parameter through which a
/// variable of the caller is followed.
fn sources(value: &Rvalue, through: Option<Local>) -> Vec<Place> {
    let mut all = vec![];
    if let Some(place) = value.as_address_of() {
        all.extend(pointer_of(place, through).map(|(base, _)| base));
        return all;
    }
    mir::effects::rvalue_operands(value, &mut |operand| all.extend(operand.place().cloned()));
    all
}

/// The place of the pointer that a place goes through, and how many more pointers follow it.
/// `through`: a parameter at which another one, the variable of the caller, is found.
pub fn pointer_of(place: &Place, through: Option<Local>) -> Option<(Place, usize)> {
    let skipped = usize::from(through.is_some() && place.base_local() == through);
    let mut derefs = place.proj.iter().enumerate().filter(|(_, p)| **p == Proj::Deref).map(|(n, _)| n);
    let at = derefs.nth(skipped)?;
    let mut base = place.clone();
    base.proj.truncate(at);
    Some((base, derefs.count()))
}

/// Integer variables that get constants only, and are tested.
fn flags(program: &Program, body: &Body) -> Vec<Place> {
    let mut constant: FxHashMap<Local, bool> = FxHashMap::default();
    let mut tested: FxHashSet<Local> = FxHashSet::default();
    for block in &body.blocks {
        for stmt in &block.stmts {
            let value = stmt.kind.value();
            if let Some((_, a, b, _)) = value.and_then(Rvalue::comparison) {
                tested.extend([a, b].into_iter().filter_map(|o| o.place()?.as_local()));
            }
            let is_constant = value.and_then(Rvalue::same_number).is_some_and(|a| a.place().is_none());
            stmt_places(&stmt.kind, &mut |place, access| {
                if let (PlaceBase::Local(l), true) = (place.base, access != mir::effects::Access::Read) {
                    let slot = constant.entry(l).or_insert(true);
                    *slot &= is_constant && place.proj.is_empty();
                }
            });
        }
        if let Some(operand) = block.term.kind.decided_by() {
            tested.extend(operand.place().and_then(Place::as_local));
        }
    }
    let wanted = |l: &Local| {
        let decl = body.locals.get(l.0 as usize);
        tested.contains(l)
            && constant.get(l) == Some(&true)
            && decl.is_some_and(|d| d.kind == LocalKind::Var && !d.address_taken && !d.ty.quals.is_volatile)
            && is_word(program, body, &Place::local(*l))
    };
    let mut all: Vec<Local> = (0..body.locals.len()).map(|n| Local(n as u32)).filter(wanted).collect();
    all.truncate(MOST_FLAGS);
    all.into_iter().map(Place::local).collect()
}
