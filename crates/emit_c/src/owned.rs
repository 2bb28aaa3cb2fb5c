//! Regions and ownership: arenas, keys, counts, and the end of what is owned.

use crate::body::{effect_of, Emitter};
use crate::drops::Ends;
use crate::exprs::{Ex, Level};
use crate::pending::Effect;
use mir::ir::*;
use typing::tree::BorrowKind;
use typing::types::*;

impl Emitter<'_, '_> {
    fn name_of(&mut self, local: Local) -> String {
        self.unit.drops.used = true;
        self.mark_used(local);
        self.held.get(local.0 as usize).map_or_else(|| "NULL".into(), |h| h.name.clone())
    }

    /// `arena r;`: the arena's own words lie on the stack.
    pub fn arena_begin(&mut self, handle: Local) {
        let name = self.name_of(handle);
        let storage = self.scratch.claim(&format!("{name}__arena"));
        self.declarations.push(format!("struct lee_arena {storage};"));
        self.settle(Effect { memory: true, local: Some(handle.0) });
        self.push(&format!("{name} = lee_arena_begin(&{storage});"));
    }

    /// The arena ends, and all that lies in it.
    pub fn arena_end(&mut self, handle: Local) {
        let name = self.name_of(handle);
        self.settle(Effect { memory: true, local: None });
        self.push(&format!("lee_arena_end({name});"));
    }

    fn is_reap(&self, handle: &Operand) -> bool {
        matches!(self.unit.types.kind(self.operand_ty(handle)), TyKind::Handle(true, _))
    }

    /// `open`: a key is a handle, so that nothing is to be done when it closes.
    pub fn open(&mut self, handle: Local, key: &Place) {
        let loc = self.place(key, false);
        let text = self.lvalue(&loc);
        let name = self.name_of(handle);
        self.settle(Effect { memory: false, local: Some(handle.0) });
        self.push(&format!("{name} = {text};"));
        if !self.unit.options.no_gc {
            // Whatever becomes of the key's place, the arena is in use until the function ends.
            let copy = self.scratch.claim(&format!("{name}__open"));
            self.declarations.push(format!("void *volatile {copy};"));
            self.push(&format!("{copy} = {name};"));
        }
    }

    /// `a :=: b`. Where both sides lie in memory is computed before the first store: a side may be
    /// reached through what the other holds, by another name. In a packed struct it need not be
    /// aligned.
    pub fn swap(&mut self, a: &Place, b: &Place) {
        let (x, y) = (self.place(a, true), self.place(b, true));
        self.unit.c.need(x.ty.ty);
        let packed = [a, b].map(|place| self.in_packed(place));
        let mut line = String::from("{");
        let mut side = |place: &Place, texts: Vec<String>, name: &str, packed: bool| -> Vec<String> {
            if !place.has_deref() {
                return texts;
            }
            let mut words = vec![];
            for (n, text) in texts.iter().enumerate() {
                let word = format!("__typeof__({text})");
                if packed {
                    let unaligned = format!("lee__{name}{n}_t");
                    line.push_str(&format!(" typedef {word} {unaligned} __attribute__((aligned(1)));"));
                    line.push_str(&format!(" {unaligned} *lee__{name}{n} = &{text};"));
                } else {
                    line.push_str(&format!(" {word} *lee__{name}{n} = &{text};"));
                }
                words.push(format!("*lee__{name}{n}"));
            }
            words
        };
        let [a_packed, b_packed] = packed;
        let left = side(a, self.word_texts(&x), "x", a_packed);
        let right = side(b, self.word_texts(&y), "y", b_packed);
        self.settle(effect_of(a, self.body));
        self.settle(effect_of(b, self.body));
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

    /// Whether the place lies in a packed struct, or in what one leads to.
    pub fn in_packed(&self, place: &Place) -> bool {
        place.proj.iter().enumerate().any(|(n, step)| {
            let Some(field) = step.as_field() else { return false };
            let of = mir::ty::prefix_ty(self.unit.program, self.body, place, n);
            let record = of.ok().and_then(|of| self.unit.types.as_record(of.ty)).map(|r| self.unit.types.record(r));
            record.is_some_and(|record| {
                let of_field = record.fields.as_ref().and_then(|fields| fields.get(field as usize));
                record.packed || of_field.is_some_and(|field| field.packed)
            })
        })
    }

    /// A cursor points at the place. What a slot holds is taken out for the cursor's life: whoever
    /// else looks at the slot meanwhile, through another pointer or in another task, finds it empty
    /// rather than what was freed through the cursor.
    pub fn cursor_begin(&mut self, cursor: Local, of: &Place) {
        if !self.is_slot(of) {
            let value = self.rvalue(&Rvalue::AddrOf(of.clone()));
            self.store_words(&Place::local(cursor), value.words);
            return;
        }
        let loc = self.place(of, false);
        let (text, ty) = (self.lvalue(&loc), loc.ty.ty);
        let (slot, content) = self.taken_names(cursor, ty);
        let name = self.name_of(cursor);
        self.settle(Effect { memory: true, local: Some(cursor.0) });
        self.push(&format!(
            "{slot} = (void *)&{text}; __builtin_memcpy(&{content}, {slot}, sizeof {content}); \
             __builtin_memset({slot}, 0, sizeof {content}); {name} = &{content};"
        ));
    }

    /// Declares the variables of all cursors on slots: the end of one may be written before its
    /// beginning.
    pub fn take_names(&mut self) {
        let body = self.body;
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            let Some((cursor, of)) = stmt.kind.as_cursor() else { continue };
            if self.is_slot(of) {
                if let Ok(qty) = mir::ty::place_ty(self.unit.program, body, of) {
                    self.taken_names(cursor, qty.ty);
                }
            }
        }
    }

    /// The variables of a cursor on a slot: where the slot is, null while the cursor does not live,
    /// and what it held.
    fn taken_names(&mut self, cursor: Local, ty: Ty) -> (String, String) {
        if let Some((slot, content, _)) = self.taken.get(&cursor.0) {
            return (slot.clone(), content.clone());
        }
        self.unit.c.need(ty);
        let (slot, content) = (self.scratch.claim("slot"), self.scratch.claim("content"));
        let variable = self.unit.c.object(Qty::plain(ty), &content, crate::ctype::Consts::Drop);
        self.declarations.push(format!("{variable}; void *{slot} = NULL;"));
        self.taken.insert(cursor.0, (slot.clone(), content.clone(), ty));
        (slot, content)
    }

    /// A cursor's block ends: the slot gets back what the cursor left. What was put
    /// there meanwhile is dropped.
    pub fn cursor_end(&mut self, cursor: Local) {
        let Some((slot, content, ty)) = self.taken.get(&cursor.0).cloned() else { return };
        self.settle(Effect { memory: true, local: None });
        let drop = if self.unit.owns_something(ty, Ends::Heap) {
            let how = self.unit.parts(ty, Ends::Heap);
            format!("lee_dispose_parts({slot}, sizeof {content}, {how}); ")
        } else {
            String::new()
        };
        self.push(&format!(
            "if ({slot} != NULL) {{ {drop}__builtin_memcpy({slot}, &{content}, sizeof {content}); {slot} = NULL; }}"
        ));
    }

    fn is_slot(&self, of: &Place) -> bool {
        let is_cursor = |local| mir::cursors::is_cursor(self.body, local);
        mir::cursors::takes_out(self.unit.program, self.body, of, &is_cursor)
    }

    /// A slot is lent by its address, all else by its value.
    pub fn borrow(&mut self, kind: BorrowKind, place: &Place, ty: Ty) -> Vec<Ex> {
        if kind.by_address() {
            return self.rvalue(&Rvalue::AddrOf(place.clone())).words;
        }
        let words = self.operand(&Operand::Copy(place.clone()), false);
        self.converted(words, ty)
    }

    /// Counts up.
    pub fn retain(&mut self, a: &Operand) -> Vec<Ex> {
        self.unit.drops.used = true;
        let ty = self.operand_ty(a);
        let key = matches!(self.unit.types.kind(ty), TyKind::Key(..));
        let frozen = self.unit.types.as_pointer(ty).is_some_and(|p| p.region == Region::Exchange);
        self.unit.drops.exchanges |= frozen;
        let mut words = self.operand(a, true);
        if let Some(first) = words.first_mut() {
            let name = match (key, frozen) {
                (true, _) => "lee_key_retain",
                (_, true) => "lee_frozen_retain",
                _ => "lee_retain",
            };
            let call = Ex::call(name, &[&first.clone()]);
            *first = if key { call } else { call.of_pointer("void *".into()) };
        }
        words
    }

    /// A new dynamic arena.
    pub fn new_key(&mut self, kind: KeyKind) -> Ex {
        self.unit.drops.used = true;
        let site = Ex::atom(self.unit.site(self.span));
        let exchange = kind == KeyKind::Exchange;
        self.unit.drops.exchanges |= exchange;
        Ex::call(if exchange { "lee_exchange_key_new" } else { "lee_key_new" }, &[&site])
    }

    /// Memory from an arena or a reap, or with a count in front.
    pub fn alloc_owned(&mut self, elem: Ty, count: &Operand, rest: Option<Ex>, fallible: bool, from: From) -> Ex {
        self.unit.drops.used = true;
        let one = matches!(count, Operand::Const(Const::Int(1, _)));
        let count = self.value(count);
        let size = Ex { level: Level::Unary, ..Ex::atom(self.unit.c.sizeof_text(elem)) };
        let reap = from.handle.is_some_and(|handle| self.is_reap(handle));
        // In an arena the block itself is aligned.
        let align = self.unit.large_alignment(elem).filter(|_| from.counted || reap).map(|a| Ex::atom(a.to_string()));
        let rest = match (rest, from.counted) {
            (rest, _) if align.is_some() => {
                let align = align.clone().unwrap_or_else(|| Ex::atom("0"));
                Some(rest.map_or(align.clone(), |rest| rest.binary("+", &align)))
            }
            (Some(rest), true) => Some(rest.binary("+", &Ex::atom("LEE_COUNT_BYTES"))),
            (None, true) => Some(Ex::atom("LEE_COUNT_BYTES")),
            (rest, false) => rest,
        };
        let site = Ex::atom(if fallible { "NULL".into() } else { self.unit.site(self.span) });
        if let Some(handle) = from.handle.filter(|_| !from.counted && rest.is_none() && align.is_none()) {
            if let Some(block) = self.alloc_listed(elem, &site, handle, (&count, &size)) {
                return block;
            }
        }
        let single = one.then(|| rest.as_ref().map_or(size.clone(), |rest| size.binary("+", rest)));
        let rest = rest.unwrap_or_else(|| Ex::atom("0"));
        let block = match from.handle {
            Some(handle) => {
                let handle = self.value(handle);
                let align = match from.counted || align.is_some() {
                    true => Ex::atom("16"),
                    false => Ex::atom(format!("__alignof__{}", size_operand(&size))),
                };
                match (single, reap) {
                    (Some(bytes), false) => Ex::call("lee_arena_alloc", &[&site, &handle, &bytes, &align]),
                    (Some(bytes), true) => Ex::call("lee_reap_take", &[&site, &handle, &bytes, &align]),
                    (None, false) => Ex::call("lee_arena_take_array", &[&site, &handle, &count, &size, &rest, &align]),
                    (None, true) => Ex::call("lee_reap_take_array", &[&site, &handle, &count, &size, &rest, &align]),
                }
            }
            None if self.unit.counted_layout(elem).is_some() => {
                let layout = self.unit.counted_layout(elem).unwrap_or_default();
                self.unit.allocates(&layout, self.span);
                let layout = Ex::atom(format!("&{layout}"));
                match fallible {
                    false => Ex::call("lee_heap_alloc_array_typed", &[&site, &count, &size, &rest, &layout]),
                    true => Ex::call("lee_heap_try_alloc_array_typed", &[&count, &size, &rest, &layout]),
                }
            }
            None => match (single, fallible) {
                (Some(bytes), false) => Ex::call("lee_heap_alloc", &[&site, &bytes]),
                (Some(bytes), true) => Ex::call("lee_heap_try_alloc", &[&bytes]),
                (None, false) => Ex::call("lee_heap_alloc_array", &[&site, &count, &size, &rest]),
                (None, true) => Ex::call("lee_heap_try_alloc_array", &[&count, &size, &rest]),
            },
        };
        let block = block.of_pointer("void *".into());
        if let Some(align) = &align {
            return Ex::call("lee_align", &[&block, align]).of_pointer("void *".into());
        }
        if from.counted {
            Ex::call("lee_counted", &[&block]).of_pointer("void *".into())
        } else {
            block
        }
    }

    /// A block of the exchange heap: its header says what it owns.
    pub fn alloc_exchange(&mut self, elem: Ty, count: &Operand, extra: Option<&Operand>, fallible: bool) -> Ex {
        self.unit.drops.exchanges = true;
        let size = Ex { level: Level::Unary, ..Ex::atom(self.unit.c.sizeof_text(elem)) };
        let owned = Ex::atom(self.unit.parts(elem, Ends::Heap));
        let one = matches!(count, Operand::Const(Const::Int(1, _)));
        let (count, extra) = (self.value(count), extra.map(|e| self.value(e)));
        let site = (!fallible).then(|| Ex::atom(self.unit.site(self.span)));
        let name = match (one && extra.is_none(), fallible) {
            (true, false) => "lee_exchange_new",
            (true, true) => "lee_exchange_try_new",
            (false, false) => "lee_exchange_new_array",
            (false, true) => "lee_exchange_try_new_array",
        };
        let extra = extra.unwrap_or_else(|| Ex::atom("0"));
        let mut args: Vec<&Ex> = site.iter().collect();
        match one && name.ends_with("new") {
            true => args.push(&size),
            false => args.extend([&count, &size, &extra]),
        }
        args.push(&owned);
        Ex::call(name, &args).of_pointer("void *".into())
    }

    /// Memory from an arena or a reap for objects that `container_of` asks for: with an entry of
    /// the list after them. None if it does not, or if the objects own something: then only
    /// pointers of `@heap` are asked.
    fn alloc_listed(&mut self, elem: Ty, site: &Ex, handle: &Operand, (count, size): (&Ex, &Ex)) -> Option<Ex> {
        if self.unit.types.owns(elem) {
            return None;
        }
        let test = self.unit.contained(elem)?;
        let container = self.unit.container(elem)?;
        let take = if self.is_reap(handle) { "lee_reap_take_array" } else { "lee_arena_take_array" };
        let handle = self.value(handle);
        let align = Ex::atom(format!("__alignof__{}", size_operand(size)));
        let none = Ex::atom("0");
        let without = Ex::call(take, &[site, &handle, count, size, &none, &align]);
        let room = Ex::atom("sizeof(struct lee_listed) + 8");
        let block = Ex::call(take, &[site, &handle, count, size, &room, &align]);
        let bytes = count.cast("size_t").binary("*", size);
        let listed = Ex::call("lee_list_in_arena", &[&block, &bytes, &Ex::atom(container)]);
        let either = match test.as_str() {
            "1" => listed,
            _ => Ex::new(format!("{test} ? {} : {}", listed.text, without.text), Level::Any).with(&without.deps),
        };
        Some(either.of_pointer("void *".into()))
    }

    /// Frees an owned value with all that it owns.
    pub fn dispose(&mut self, value: &Operand, handle: Option<&Operand>, moved: &[Vec<Proj>]) {
        self.forget_moved(value, moved);
        let ty = self.operand_ty(value);
        // A block of the exchange heap knows itself what it owns.
        let is_void = self
            .unit
            .types
            .as_pointer(ty)
            .is_some_and(|p| p.region != Region::Exchange && self.unit.types.is_typed_void(&p));
        let words = if is_void { self.operand(value, true) } else { vec![self.value(value)] };
        let Some(address) = words.first().cloned() else { return };
        let reap = handle.filter(|h| self.is_reap(h)).map(|h| self.value(h));
        self.settle(Effect { memory: true, local: None });
        let text = match self.unit.types.kind(ty).clone() {
            TyKind::Ptr(_) if is_void => {
                words.get(1).map(|ty| format!("lee_dispose({}, lee_owned_of({}));", address.text, ty.text))
            }
            TyKind::Ptr(p) => self.end_pointer(&p, &address.text, reap.as_ref()),
            TyKind::Key(kind, _) => Some(end_key(kind, &address.text)),
            TyKind::Endpoint(_) => Some(format!("lee_channel_close({});", address.text)),
            TyKind::EndSet(_) => Some(format!("lee_set_free({});", address.text)),
            _ => None,
        };
        if let Some(text) = text {
            match self.unit.types.kind(ty) {
                TyKind::Endpoint(_) | TyKind::EndSet(_) => self.unit.channels.used = true,
                _ => self.unit.drops.used = true,
            }
            self.push(&text);
        }
    }

    fn end_pointer(&mut self, pointer: &Pointer, address: &str, reap: Option<&Ex>) -> Option<String> {
        if let Some(reap) = reap {
            let how = self.unit.owned(pointer, Ends::Reap);
            return Some(match how == "&lee_owned_plain" {
                true => format!("lee_reap_free({}, {address});", reap.text),
                false => format!("lee_dispose_in({}, {address}, {how});", reap.text),
            });
        }
        if pointer.own == Own::Rc && !self.unit.frees(pointer, Ends::Heap) {
            return Some(format!("lee_release_in_arena({address});"));
        }
        if !self.unit.frees(pointer, Ends::Heap) {
            return None;
        }
        if pointer.region == Region::Exchange {
            self.unit.drops.exchanges = true;
            let end = if pointer.own == Own::Rc { "lee_frozen_release" } else { "lee_exchange_free" };
            return Some(format!("{end}({address});"));
        }
        let how = self.unit.owned(pointer, Ends::Heap);
        Some(match how.as_str() {
            "&lee_owned_plain" => format!("lee_free({address});"),
            _ if pointer.own == Own::Rc => format!("lee_release({address}, {how});"),
            _ => format!("lee_dispose({address}, {how});"),
        })
    }

    /// The parts of an owned object that hold nothing any more become null. Nobody looks at them
    /// again but what frees the object.
    fn forget_moved(&mut self, value: &Operand, moved: &[Vec<Proj>]) {
        let Some(place) = value.place().filter(|_| !moved.is_empty()) else { return };
        let target = place.then(Proj::Deref);
        for path in moved {
            let part = Place { base: target.base, proj: target.proj.iter().chain(path).cloned().collect() };
            // What is null on this way owns no parts.
            let mut guards = vec![];
            for (n, step) in part.proj.iter().enumerate().skip(place.proj.len()) {
                if *step == Proj::Deref {
                    let pointer = Place { base: part.base, proj: part.proj.iter().take(n).cloned().collect() };
                    guards.push(self.truth(&Operand::Copy(pointer)).at(Level::Unary));
                }
            }
            self.settle(Effect { memory: true, local: None });
            let loc = self.place(&part, true);
            self.unit.c.need(loc.ty.ty);
            let text = self.lvalue(&loc);
            self.push(&format!("if ({}) __builtin_memset(&{text}, 0, sizeof({text}));", guards.join(" && ")));
        }
    }

    /// Frees what a slot, or each slot of an array or struct, holds.
    pub fn drop_slot(&mut self, place: &Place) {
        let loc = self.place(place, false);
        let ty = loc.ty.ty;
        if !self.unit.owns_something(ty, Ends::Heap) {
            return;
        }
        match self.unit.types.kind(ty).clone() {
            TyKind::Ptr(_) | TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => {
                self.dispose(&Operand::Copy(place.clone()), None, &[])
            }
            _ => {
                let how = self.unit.parts(ty, Ends::Heap);
                let text = self.lvalue(&loc);
                self.settle(Effect { memory: true, local: None });
                self.push(&format!("lee_dispose_parts((void *)&{text}, sizeof({text}), {how});"));
            }
        }
    }
}

/// Where an allocation comes from.
#[derive(Clone, Copy)]
pub struct From<'b> {
    /// An arena or reap.
    pub handle: Option<&'b Operand>,
    /// With a count in front.
    pub counted: bool,
}

fn end_key(kind: KeyKind, key: &str) -> String {
    let verb = if kind.is_rc() { "lee_key_release" } else { "lee_key_free" };
    format!("{verb}({key});")
}

/// `(T)` of `sizeof(T)`; of what has no size, `(char)`.
fn size_operand(size: &Ex) -> &str {
    size.text.strip_prefix("sizeof").unwrap_or("(char)")
}
