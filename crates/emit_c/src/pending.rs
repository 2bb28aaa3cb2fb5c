//! Values of temporaries that are written where they are used instead of being stored first.
//!
//! A temporary that is assigned once and read only further on in the same block is not stored at once. Its words wait here.
//! A word that is a mere name may be written any number of times; anything else is written once. Before a statement takes
//! effect, whatever waits and could be changed by it is stored after all. So the order of reads and writes stays that of MIR.

use crate::body::Emitter;
use crate::exprs::Ex;
use crate::lines::At;
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
}

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
}

/// For each local, how often it is read if its value may wait, else 0. The second: the temporary is never read.
pub fn count_uses(body: &Body, is_array: &dyn Fn(usize) -> bool) -> (Vec<u32>, Vec<bool>) {
    let mut usage = vec![Usage::default(); body.locals.len()];
    for (block, data) in body.blocks.iter().enumerate() {
        for stmt in &data.stmts {
            let assigns = matches!(stmt.kind, StmtKind::Assign(..));
            let mut written = None;
            operands(&stmt.kind, &mut |input| match input {
                Input::Operand(operand) => use_operand(&mut usage, block, operand),
                Input::Read(place) => use_place(&mut usage, block, place, true),
                // The value is read before the place is written.
                Input::Written(place) if place.proj.is_empty() => written = Some(place),
                Input::Written(place) => use_place(&mut usage, block, place, true),
            });
            if let Some(PlaceBase::Local(local)) = written.map(|p| p.base) {
                if let Some(u) = usage.get_mut(local.0 as usize) {
                    u.definitions += 1;
                    u.block = block;
                    u.spoiled |= !assigns;
                }
            }
        }
        if let TermKind::If(o, ..) | TermKind::Switch(o, ..) | TermKind::Return(Some(o)) | TermKind::GotoComputed(o) =
            &data.term.kind
        {
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
    let counts = usage.iter().enumerate().map(|(n, u)| if fit(n, u) { u.uses } else { 0 }).collect();
    let unread = usage.iter().enumerate().map(|(n, u)| fit(n, u) && u.uses == 0).collect();
    (counts, unread)
}

/// The temporaries whose only assignment is of a constant. Lowering assigns temporaries before each use.
pub fn constants(body: &Body) -> Vec<Option<&Const>> {
    let mut found: Vec<Option<&Const>> = vec![None; body.locals.len()];
    let mut definitions = vec![0u32; body.locals.len()];
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        if let StmtKind::Assign(place, Rvalue::Use(Operand::Const(constant))) = &stmt.kind {
            if let Some(slot) = place.as_local().and_then(|l| found.get_mut(l.0 as usize)) {
                *slot = Some(constant);
            }
        }
        let mut spoil = |place: &Place| {
            if let (PlaceBase::Local(local), false) = (place.base, place.proj.first() == Some(&Proj::Deref)) {
                if let Some(count) = definitions.get_mut(local.0 as usize) {
                    *count += 1;
                }
            }
        };
        operands(&stmt.kind, &mut |input| match input {
            Input::Written(place) | Input::Read(place) => spoil(place),
            Input::Operand(_) => {}
        });
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

fn use_operand(usage: &mut [Usage], block: usize, operand: &Operand) {
    if let Operand::Copy(place) | Operand::Move(place) = operand {
        use_place(usage, block, place, false);
    }
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
        if let Proj::Index(index) = step {
            use_operand(usage, block, index);
        }
    }
}

impl Emitter<'_, '_> {
    /// Whether the temporary's value may wait.
    pub fn may_wait(&self, local: Local) -> bool {
        self.uses.get(local.0 as usize).is_some_and(|&uses| uses > 0)
    }

    /// Lets a value wait, or stores what of it cannot.
    pub fn define(&mut self, local: Local, words: Vec<Ex>) {
        let uses = self.uses.get(local.0 as usize).copied().unwrap_or(0);
        let mut words = words;
        if uses > 1 {
            let names = self.local_words(local);
            for (n, name) in names.into_iter().enumerate() {
                let Some(word) = words.get_mut(n) else { continue };
                if !word.atom || word.deps.memory {
                    let text = format!("{} = {};", name.text, word.text);
                    *word = name;
                    self.mark_used(local);
                    self.push(&text);
                }
            }
        }
        self.pending.push(Pending { local: local.0, words, uses, at: self.at });
    }

    /// The words of a temporary that waits, for one use. `twice`: they will be written more than once.
    pub fn take(&mut self, local: Local, twice: bool) -> Option<Vec<Ex>> {
        let at = self.pending.iter().position(|p| p.local == local.0)?;
        let here = self.at;
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

    fn store_pending(&mut self, at: usize) {
        if at >= self.pending.len() {
            return;
        }
        let pending = self.pending.remove(at);
        let local = Local(pending.local);
        let names = self.local_words(local);
        self.mark_used(local);
        for (name, word) in names.iter().zip(&pending.words) {
            if name.text != word.text {
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
