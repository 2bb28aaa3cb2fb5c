//! Values of temporaries that are written where they are used instead of being stored first.
//!
//! A temporary that is assigned once and read only further on in the same block is not stored at
//! once. Its words wait here. A word that is a mere name may be written any number of times;
//! anything else is written once. Before a statement takes effect, whatever waits and could be
//! changed by it is stored after all. So the order of reads and writes stays that of MIR.

use crate::body::Emitter;
use crate::exprs::{Ex, Level};
use crate::lines::At;
use crate::prelude;
use crate::reach::{operands, Input};
use mir::ir::*;
use typing::types::TyKind;

/// A value that waits.
pub struct Pending {
    /// The temporary.
    pub local: u32,
    /// Its words.
    pub words: Vec<Ex>,
    /// Uses to come.
    pub uses: u32,
    /// Where it was made.
    pub at: Option<At>,
    /// The pointer and index that it was made from, if it is the address of an element that is only
    /// looked at.
    pub element: Option<Element>,
}

/// An element: `base[index]` within `lo` and `hi`.
#[derive(Clone)]
pub struct Element {
    /// The pointer.
    pub base: Ex,
    /// Its first element.
    pub lo: Ex,
    /// Its end.
    pub hi: Ex,
    /// Signed, 64 bits.
    pub index: Ex,
    /// The element's size as C text.
    pub size: String,
    /// Checks to come. Before the last of them the address may have wrapped around.
    pub checks: u32,
}

/// How temporaries are used.
#[derive(Default)]
pub struct Uses {
    /// For each local, how often it is read if its value may wait, else 0.
    pub counts: Vec<u32>,
    /// It would be stored and never read.
    pub unread: Vec<bool>,
    /// It is only checked as the address of one element, this often, and dereferenced.
    pub element_checks: Vec<u32>,
}

/// Longer expressions are stored: people cannot read them, and compilers limit how deep parentheses
/// nest.
const LONGEST: usize = 300;

/// What a statement changes.
#[derive(Clone, Copy, Default)]
pub struct Effect {
    /// Memory: a store through a pointer, to a global, to a local whose address is taken; a call.
    pub memory: bool,
    /// A local.
    pub local: Option<u32>,
}

#[derive(Clone, Copy, Default)]
struct Usage {
    definitions: u32,
    block: usize,
    uses: u32,
    spoiled: bool,
    checks: u32,
    /// Its value goes elsewhere.
    escapes: bool,
}

/// Counts the uses of all locals.
pub fn count_uses(body: &Body, is_array: &dyn Fn(usize) -> bool) -> Uses {
    let mut usage = vec![Usage::default(); body.locals.len()];
    for (block, data) in body.blocks.iter().enumerate() {
        for stmt in &data.stmts {
            let assigns = stmt.kind.as_assign().is_some();
            let mut written = None;
            let checked = element_check(&stmt.kind);
            if let Some(u) = checked.and_then(|l| usage.get_mut(l.0 as usize)) {
                u.checks += 1;
            }
            operands(&stmt.kind, &mut |input| match input {
                Input::Operand(operand) => {
                    let whole = operand.place().and_then(Place::as_local).filter(|&l| Some(l) != checked);
                    if let Some(u) = whole.and_then(|l| usage.get_mut(l.0 as usize)) {
                        u.escapes = true;
                    }
                    use_operand(&mut usage, block, operand);
                }
                Input::Read(place) => use_place(&mut usage, block, place, true),
                // The value is read before the place is written.
                Input::Written(place) if place.proj.is_empty() => written = Some(place),
                Input::Written(place) => use_place(&mut usage, block, place, true),
            });
            // These name their place more than once.
            let parts = stmt.kind.as_dispose().filter(|end| !end.moved.is_empty()).and_then(|end| end.value.place());
            stmt.kind.as_drop_slot().into_iter().chain(parts).for_each(|place| spoil_place(&mut usage, place));
            if let Some(PlaceBase::Local(local)) = written.map(|p| p.base) {
                if let Some(u) = usage.get_mut(local.0 as usize) {
                    u.definitions += 1;
                    u.block = block;
                    u.spoiled |= !assigns;
                }
            }
        }
        if let Some(o) = data.term.kind.operand() {
            if let Some(u) = o.place().and_then(Place::as_local).and_then(|l| usage.get_mut(l.0 as usize)) {
                u.escapes = true;
            }
            use_operand(&mut usage, block, o);
        }
    }
    let fit = |n: usize, u: &Usage| {
        body.locals.get(n).is_some_and(|l| {
            l.kind == LocalKind::Temp && !l.address_taken && l.align.is_none() && !l.ty.quals.is_volatile
        }) && !is_array(n)
            && !u.spoiled
            && u.definitions == 1
    };
    let each = || usage.iter().enumerate();
    Uses {
        counts: each().map(|(n, u)| if fit(n, u) { u.uses } else { 0 }).collect(),
        unread: each().map(|(n, u)| fit(n, u) && u.uses == 0).collect(),
        element_checks: each().map(|(_, u)| if u.escapes { 0 } else { u.checks }).collect(),
    }
}

/// The temporary whose one element a statement checks.
pub fn element_check(kind: &StmtKind) -> Option<Local> {
    kind.as_check()?.one_element()?.place()?.as_local()
}

/// The temporaries whose only assignment is of a constant. Lowering assigns temporaries before each
/// use.
pub fn constants(body: &Body) -> Vec<Option<&Const>> {
    let mut found: Vec<Option<&Const>> = vec![None; body.locals.len()];
    let mut definitions = vec![0u32; body.locals.len()];
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        if let Some((place, Some(Operand::Const(constant)))) = stmt.kind.as_assign().map(|(p, v)| (p, v.as_use())) {
            if let Some(slot) = place.as_local().and_then(|l| found.get_mut(l.0 as usize)) {
                *slot = Some(constant);
            }
        }
        count_definitions(&stmt.kind, &mut definitions);
    }
    for (n, slot) in found.iter_mut().enumerate() {
        let fit = body.locals.get(n).is_some_and(|l| {
            l.kind == LocalKind::Temp && !l.address_taken && l.align.is_none() && !l.ty.quals.is_volatile
        });
        if !fit || definitions.get(n) != Some(&1) {
            *slot = None;
        }
    }
    found
}

/// The temporaries whose only assignment is of a new block: without one the program would have
/// ended, and so it would with fewer than no elements. What is there is the number of elements, if
/// it is still that.
pub fn blocks_made(body: &Body) -> Vec<Option<&Operand>> {
    let mut found: Vec<Option<&Operand>> = vec![None; body.locals.len()];
    let mut definitions = vec![0u32; body.locals.len()];
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        if let Some((place, Some(count))) = stmt.kind.as_assign().map(|(p, v)| (p, v.as_sure_block())) {
            if let Some(slot) = place.as_local().and_then(|l| found.get_mut(l.0 as usize)) {
                *slot = Some(count);
            }
        }
        count_definitions(&stmt.kind, &mut definitions);
    }
    let once = |local: Local| {
        let temp = |l: &LocalDecl| l.kind == LocalKind::Temp && !l.address_taken && !l.ty.quals.is_volatile;
        body.locals.get(local.0 as usize).is_some_and(temp) && definitions.get(local.0 as usize) == Some(&1)
    };
    let steady = |count: &Operand| match count {
        Operand::Const(_) => true,
        Operand::Copy(place) | Operand::Move(place) => place.as_local().is_some_and(once),
    };
    let sure = |(n, count): (usize, &Option<&'_ Operand>)| once(Local(n as u32)) && count.is_some_and(steady);
    let keep: Vec<bool> = found.iter().enumerate().map(sure).collect();
    let mut made: Vec<_> = found.into_iter().zip(keep).map(|(count, keep)| count.filter(|_| keep)).collect();
    // So do copies of them.
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        let Some((dest, value)) = stmt.kind.as_assign() else { continue };
        let from = value.as_use().and_then(Operand::place).and_then(Place::as_local);
        let (Some(to), Some(from)) = (dest.as_local().filter(|&to| once(to)), from) else { continue };
        let count = made.get(from.0 as usize).copied().flatten();
        if let Some(slot) = made.get_mut(to.0 as usize).filter(|slot| slot.is_none()) {
            *slot = count;
        }
    }
    made
}

/// The temporaries that are copies of fat pointers that own their targets: they stand at their
/// first elements too (I2).
pub fn at_start(program: &Program, body: &Body) -> Vec<bool> {
    let mut copies = vec![false; body.locals.len()];
    let mut definitions = vec![0u32; body.locals.len()];
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        if let Some((dest, value)) = stmt.kind.as_assign() {
            let from = match value.points_at() {
                Some((from, own)) => Some(from).filter(|_| !own),
                None => value.as_use().and_then(Operand::place),
            };
            let owner = |place: &Place| {
                mir::ty::place_ty(program, body, place).is_ok_and(|ty| crate::places::is_owner(&program.types, ty))
            };
            if let Some(slot) = dest.as_local().and_then(|l| copies.get_mut(l.0 as usize)) {
                *slot = from.is_some_and(owner);
            }
        }
        count_definitions(&stmt.kind, &mut definitions);
    }
    let once = |(n, copy): (usize, &bool)| {
        let temp = body.locals.get(n).is_some_and(|l| l.kind == LocalKind::Temp && !l.address_taken);
        *copy
            && temp
            && definitions.get(n) == Some(&1)
            && body.locals.get(n).is_some_and(|l| program.types.words(l.ty.ty) == 3)
    };
    copies.iter().enumerate().map(once).collect()
}

/// Counts what writes locals, or names them otherwise than for their values.
pub fn count_definitions(kind: &StmtKind, definitions: &mut [u32]) {
    let mut spoil = |place: &Place| {
        if let (PlaceBase::Local(local), false) = (place.base, place.proj.first() == Some(&Proj::Deref)) {
            if let Some(count) = definitions.get_mut(local.0 as usize) {
                *count += 1;
            }
        }
    };
    operands(kind, &mut |input| match input {
        Input::Written(place) | Input::Read(place) => spoil(place),
        Input::Operand(_) => {}
    });
}

fn use_operand(usage: &mut [Usage], block: usize, operand: &Operand) {
    if let Operand::Copy(place) | Operand::Move(place) = operand {
        use_place(usage, block, place, false);
    }
}

/// The temporaries that the place is computed from must not wait.
fn spoil_place(usage: &mut [Usage], place: &Place) {
    let mut spoil = |base: PlaceBase| {
        if let PlaceBase::Local(local) = base {
            if let Some(u) = usage.get_mut(local.0 as usize) {
                u.spoiled = true;
            }
        }
    };
    spoil(place.base);
    place.indices().filter_map(Operand::place).for_each(|index| spoil(index.base));
}

/// `as_place`: the place itself is wanted (its address, a store), not its value.
fn use_place(usage: &mut [Usage], block: usize, place: &Place, as_place: bool) {
    if let PlaceBase::Local(local) = place.base {
        if let Some(u) = usage.get_mut(local.0 as usize) {
            u.uses += 1;
            let by_value = match place.proj.first() {
                None => !as_place,
                Some(step) => *step == Proj::Deref,
            };
            u.spoiled |= !by_value || u.definitions == 0 || u.block != block;
        }
    }
    for step in &place.proj {
        if let Some(index) = step.index() {
            use_operand(usage, block, index);
        }
    }
}

impl Emitter<'_, '_> {
    /// Whether the temporary's value may wait.
    pub fn may_wait(&self, local: Local) -> bool {
        self.uses.counts.get(local.0 as usize).is_some_and(|&uses| uses > 0)
    }

    /// Lets a value wait, or stores what of it cannot.
    pub fn define(&mut self, local: Local, words: Vec<Ex>) {
        let uses = self.uses.counts.get(local.0 as usize).copied().unwrap_or(0);
        let mut words = words;
        if uses > 1 || words.iter().any(|w| w.text.len() > LONGEST) {
            let names = self.local_words(local);
            let at_start = self.stands_at_start(local.0);
            for (n, name) in names.into_iter().enumerate() {
                let first = words.first().cloned();
                let Some(word) = words.get_mut(n) else { continue };
                if !self.has_word(local.0, n) {
                    first.into_iter().filter(|_| at_start).for_each(|first| *word = first);
                    continue;
                }
                if !word.atom || word.deps.memory || word.text.len() > LONGEST {
                    let text = format!("{} = {};", name.text, word.text);
                    *word = Ex { solid: word.solid, ..name };
                    self.mark_used(local);
                    self.push(&text);
                }
            }
        }
        self.pending.push(Pending { local: local.0, words, uses, at: self.at, element: None });
    }

    /// Lets the address of an element wait.
    pub fn define_element(&mut self, local: Local, element: Element) {
        let uses = self.uses.counts.get(local.0 as usize).copied().unwrap_or(0);
        let address = self.element_address(&element);
        let words = vec![address, element.lo.clone(), element.hi.clone()];
        self.pending.push(Pending { local: local.0, words, uses, at: self.at, element: Some(element) });
    }

    fn element_address(&mut self, element: &Element) -> Ex {
        let sum = match element.index.text.strip_prefix('-') {
            Some(back) => element.base.binary("-", &Ex { text: back.to_string(), ..element.index.clone() }),
            None => element.base.binary("+", &element.index),
        };
        let indexed = format!("{}[{}]", element.base.at(Level::Primary), element.index.text);
        Ex { element: Some(indexed), pointer: element.base.pointer.clone(), ..sum }
    }

    /// The element that the temporary is the address of, for a check of it.
    pub fn checked_element(&mut self, local: Local) -> Option<Element> {
        let at = self.pending.iter().position(|p| p.local == local.0)?;
        let pending = self.pending.get_mut(at)?;
        let element = pending.element.as_mut()?;
        element.checks = element.checks.saturating_sub(1);
        pending.uses = pending.uses.saturating_sub(1);
        let element = element.clone();
        if pending.uses == 0 {
            self.pending.remove(at);
        }
        Some(element)
    }

    /// The words of a temporary that waits, for one use. `twice`: they will be written more than
    /// once.
    pub fn take(&mut self, local: Local, twice: bool) -> Option<Vec<Ex>> {
        let at = self.pending.iter().position(|p| p.local == local.0)?;
        let here = self.at;
        if self.pending.get(at).is_some_and(|p| p.element.is_some() && p.uses > 1) {
            self.store_address(at);
        }
        let pending = self.pending.get_mut(at)?;
        let atoms = pending.words.iter().all(|w| w.atom);
        let trap = pending.words.iter().any(|w| w.deps.trap);
        // A load that faults reports its own line.
        let moved = trap && pending.at != here;
        if !atoms && (twice || moved) {
            self.store_pending(at);
            return None;
        }
        pending.uses = pending.uses.saturating_sub(1);
        let words = pending.words.clone();
        if pending.uses == 0 {
            self.pending.remove(at);
        }
        Some(words)
    }

    /// Stores what waits and would be changed by the effect.
    pub fn settle(&mut self, effect: Effect) {
        let mut n = 0;
        while let Some(pending) = self.pending.get(n) {
            let touched = pending
                .words
                .iter()
                .any(|w| (effect.memory && w.deps.memory) || effect.local.is_some_and(|l| w.deps.locals.contains(&l)));
            if touched {
                self.store_pending(n);
            } else {
                n += 1;
            }
        }
    }

    /// An element's address that is looked at several times is stored once.
    fn store_address(&mut self, at: usize) {
        let Some(pending) = self.pending.get(at) else { return };
        let (local, place) = (Local(pending.local), pending.at);
        let Some(word) = self.address_to_store(at) else { return };
        let Some(name) = self.local_words(local).into_iter().next() else { return };
        self.mark_used(local);
        let text = format!("{} = {};", name.text, word.text);
        if let Some(pending) = self.pending.get_mut(at) {
            pending.element = None;
            if let Some(first) = pending.words.first_mut() {
                *first = name;
            }
        }
        self.push_at(place, &text);
    }

    /// An address whose check is still to come must not have wrapped into the bounds.
    fn address_to_store(&mut self, at: usize) -> Option<Ex> {
        let pending = self.pending.get(at)?;
        let plain = pending.words.first().cloned();
        let Some(element) = pending.element.clone().filter(|e| e.checks > 0) else { return plain };
        let helper = self.unit.helper(&prelude::OFFSET);
        let size = Ex::atom(element.size);
        let cast = element.base.pointer.clone().unwrap_or_else(|| "void *".into());
        Some(Ex::call(helper, &[&element.base, &element.lo, &element.index, &size]).cast(&cast))
    }

    fn store_pending(&mut self, at: usize) {
        if at >= self.pending.len() {
            return;
        }
        if let (Some(word), Some(pending)) = (self.address_to_store(at), self.pending.get_mut(at)) {
            if let Some(first) = pending.words.first_mut() {
                *first = word;
            }
        }
        let pending = self.pending.remove(at);
        let local = Local(pending.local);
        let names = self.local_words(local);
        self.mark_used(local);
        for (n, (name, word)) in names.iter().zip(&pending.words).enumerate() {
            if name.text != word.text && self.has_word(local.0, n) {
                let text = format!("{} = {};", name.text, word.text);
                self.push_at(pending.at, &text);
            }
        }
    }

    /// Whether a local holds an array, which C cannot assign.
    pub fn is_array(&self, local: usize) -> bool {
        let kind = self.body.locals.get(local).map(|l| self.unit.types.kind(l.ty.ty));
        matches!(kind, Some(TyKind::Array { .. } | TyKind::VaList))
    }
}
