//! Regions and ownership: arenas, keys, counts, and the end of what is owned.

use crate::body::{effect_of, Emitter};
use crate::exprs::{Ex, Level};
use crate::pending::Effect;
use mir::ir::*;
use typing::tree::BorrowKind;
use typing::types::*;

impl Emitter<'_, '_> {
    /// `arena r;`: the arena's own words lie on the stack.
    pub fn arena_begin(&mut self, handle: Local) {
        let reap = self.is_reap(handle);
        let Some(name) = self.held.get(handle.0 as usize).map(|h| h.name.clone()) else { return };
        let (kind, verb) = if reap { ("reap", "lee_reap_begin") } else { ("arena", "lee_arena_begin") };
        self.declarations.push(format!("struct lee_{kind} {name}__{kind};"));
        self.mark_used(handle);
        self.settle(Effect { memory: true, local: Some(handle.0) });
        self.push(&format!("{name} = {verb}(&{name}__{kind});"));
    }

    /// The arena ends, and all that lies in it.
    pub fn arena_end(&mut self, handle: Local) {
        let verb = if self.is_reap(handle) { "lee_reap_end" } else { "lee_arena_end" };
        let Some(name) = self.held.get(handle.0 as usize).map(|h| h.name.clone()) else { return };
        self.mark_used(handle);
        self.settle(Effect { memory: true, local: None });
        self.push(&format!("{verb}({name});"));
    }

    fn is_reap(&self, handle: Local) -> bool {
        let ty = self.body.locals.get(handle.0 as usize).map(|l| l.ty.ty);
        ty.is_some_and(|ty| matches!(self.unit.types.kind(ty), TyKind::Handle(true, _)))
    }

    /// `open`: a key is a handle, so that nothing is to be done when it closes.
    pub fn open(&mut self, handle: Local, key: &Place) {
        let loc = self.place(key, false);
        let text = self.lvalue(&loc);
        let Some(name) = self.held.get(handle.0 as usize).map(|h| h.name.clone()) else { return };
        self.mark_used(handle);
        self.settle(Effect { memory: false, local: Some(handle.0) });
        self.push(&format!("{name} = {text};"));
    }

    /// `a :=: b`
    pub fn swap(&mut self, a: &Place, b: &Place) {
        let (x, y) = (self.place(a, true), self.place(b, true));
        self.unit.c.need(x.ty.ty);
        let (left, right) = (self.word_texts(&x), self.word_texts(&y));
        self.settle(effect_of(a, self.body));
        self.settle(effect_of(b, self.body));
        let mut line = String::from("{");
        for (n, text) in left.iter().enumerate() {
            line.push_str(&format!(" __typeof__({text}) lee__{n} = {text};"));
        }
        for (text, from) in left.iter().zip(&right) {
            line.push_str(&format!(" {text} = {from};"));
        }
        for (n, text) in right.iter().enumerate() {
            line.push_str(&format!(" {text} = lee__{n};"));
        }
        line.push_str(" }");
        self.push(&line);
    }

    /// A cursor points at the place.
    pub fn cursor_begin(&mut self, cursor: Local, of: &Place) {
        let value = self.rvalue(&Rvalue::AddrOf(of.clone()));
        self.store_words(&Place::local(cursor), value.words);
    }

    /// A slot is lent by its address, all else by its value.
    pub fn borrow(&mut self, kind: BorrowKind, place: &Place, ty: Ty) -> Vec<Ex> {
        if kind == BorrowKind::Slot {
            return self.rvalue(&Rvalue::AddrOf(place.clone())).words;
        }
        let words = self.operand(&Operand::Copy(place.clone()), false);
        self.converted(words, ty)
    }

    /// Counts up.
    pub fn retain(&mut self, a: &Operand) -> Vec<Ex> {
        let ty = self.operand_ty(a);
        let name = if matches!(self.unit.types.kind(ty), TyKind::Key(..)) { "lee_key_retain" } else { "lee_retain" };
        let mut words = self.operand(a, true);
        if let Some(first) = words.first_mut() {
            let value = first.clone();
            *first = Ex::call(name, &[&value]).of_pointer("void *".into());
        }
        words
    }

    /// A new dynamic arena.
    pub fn new_key(&mut self, kind: KeyKind) -> Ex {
        let site = Ex::atom(self.unit.site(self.span));
        let name = if kind.is_reap() { "lee_reap_new" } else { "lee_arena_new" };
        Ex::call(name, &[&site])
    }

    /// Frees an owned value with all that it owns.
    pub fn dispose(&mut self, value: &Operand, handle: Option<&Operand>) {
        let ty = self.operand_ty(value);
        let address = self.value(value);
        let handle = handle.map(|h| self.value(h));
        self.settle(Effect { memory: true, local: None });
        let address = address.at(Level::Any);
        let text = match (self.unit.types.kind(ty), handle) {
            (TyKind::Key(kind, _), _) if kind.is_rc() => format!("lee_key_release({address});"),
            (TyKind::Key(..), _) => format!("lee_key_free({address});"),
            (_, Some(handle)) => format!("lee_reap_free({}, {address});", handle.at(Level::Any)),
            _ => format!("lee_heap_free({address});"),
        };
        self.push(&text);
    }
}
