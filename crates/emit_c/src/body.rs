//! The statements of one function.

use crate::exprs::{int_text, Ex, Level};
use crate::lines::{At, Lines};
use crate::locals::Held;
use crate::names::{escape, NameSet};
use crate::pending::{Effect, Pending, Uses};
use crate::rvalues::Value;
use crate::unit::Unit;
use mir::ir::*;
use rustc_hash::FxHashMap;
use source::Span;
use std::rc::Rc;
use typing::types::*;

/// Emits one body.
pub struct Emitter<'u, 'a> {
    /// The unit.
    pub unit: &'u mut Unit<'a>,
    /// What is emitted.
    pub body: &'a Body,
    /// Its type.
    pub signature: Rc<FuncTy>,
    /// Its locals.
    pub held: Vec<Held>,
    /// Names that are free for variables of the emitter's own.
    pub scratch: NameSet,
    /// Declarations of such variables.
    pub declarations: Vec<String>,
    /// Those that receive results, by type.
    pub results: FxHashMap<String, String>,
    /// Values that wait.
    pub pending: Vec<Pending>,
    /// How locals are used.
    pub uses: Uses,
    /// Temporaries that hold one constant, wherever they are read.
    pub constants: Vec<Option<&'a Const>>,
    /// Temporaries that stand at the first element of what they point to.
    pub at_start: Vec<bool>,
    /// Temporaries that have no bounds of their own, and the variables whose bounds they have.
    pub kept_bounds: Vec<Option<Local>>,
    /// Temporaries that hold a new block, which is there, and the number of its elements.
    pub blocks_made: Vec<Option<&'a Operand>>,
    /// The text.
    pub lines: Lines,
    /// Where the current statement stands.
    pub at: Option<At>,
    /// The same as a span.
    pub span: Span,
    /// What the collector must find.
    pub bases: crate::bases::Bases,
    /// Names of the copies of bases, by local.
    pub base_names: FxHashMap<u32, String>,
    /// Cursors on slots: the variables that hold the slot's address and what it held, and its type.
    pub taken: FxHashMap<u32, (String, String, Ty)>,
    /// Targets of jumps, resolved through blocks that only jump on.
    targets: Vec<u32>,
}

impl<'u, 'a> Emitter<'u, 'a> {
    /// An emitter for `body`.
    pub fn new(unit: &'u mut Unit<'a>, body: &'a Body, held: Vec<Held>, scratch: NameSet) -> Emitter<'u, 'a> {
        let signature = unit.func_ty(&body.func);
        // Locals whose end does something: arrays of variable length.
        let ending: Vec<bool> = held.iter().map(|h| h.variable).collect();
        unit.c.locals = held.iter().map(|h| h.name.clone()).collect();
        let mut emitter = Emitter {
            unit,
            body,
            signature,
            held,
            scratch,
            declarations: vec![],
            results: FxHashMap::default(),
            pending: vec![],
            uses: Uses::default(),
            constants: crate::pending::constants(body),
            at_start: vec![],
            kept_bounds: vec![],
            blocks_made: crate::pending::blocks_made(body),
            lines: Lines::default(),
            at: None,
            span: Span::NONE,
            bases: crate::bases::Bases::default(),
            base_names: FxHashMap::default(),
            taken: FxHashMap::default(),
            targets: targets(body, &ending),
        };
        emitter.at_start = crate::pending::at_start(emitter.unit.program, body);
        emitter.kept_bounds = crate::kept_bounds::find(emitter.unit.program, body, &emitter.at_start);
        for (held, variable) in emitter.held.iter_mut().zip(&emitter.kept_bounds) {
            held.no_bounds = variable.is_some();
        }
        emitter.uses = crate::pending::count_uses(body, &|n| emitter.is_array(n));
        emitter.find_bases();
        let unread = crate::kept_bounds::unread(emitter.unit.program, body);
        for (n, held) in emitter.held.iter_mut().enumerate() {
            // A copy of its base reads it.
            if unread.get(n) == Some(&true) && !emitter.bases.slots.contains(&(n as u32)) {
                held.no_bounds = true;
                held.unread = !emitter.unit.options.debug;
            }
        }
        emitter
    }

    /// Adds a statement at the current place.
    pub fn push(&mut self, text: &str) {
        self.push_at(self.at, text);
    }

    /// Adds a statement at another place.
    pub fn push_at(&mut self, at: Option<At>, text: &str) {
        self.lines.push(&self.unit.locator.files, at, 1, text);
    }

    fn go_to(&mut self, span: Span) {
        self.span = span;
        if let Some(at) = self.unit.locator.at(span) {
            self.at = Some(at);
        }
    }

    /// All blocks that can be reached.
    pub fn blocks(&mut self) {
        let body = self.body;
        self.take_names();
        let reachable = reachable(body, &self.targets);
        let order: Vec<u32> =
            (0..body.blocks.len() as u32).filter(|&n| reachable.get(n as usize) == Some(&true)).collect();
        let jumped = self.jumped_to(&order);
        for (at, &n) in order.iter().enumerate() {
            let Some(block) = body.blocks.get(n as usize) else { continue };
            let next = order.get(at + 1).copied();
            let first = block.stmts.iter().map(|s| s.span).find(|&s| s != Span::NONE).unwrap_or(block.term.span);
            self.go_to(first);
            if jumped.get(n as usize) == Some(&true) {
                self.push(&format!("b{n}:;"));
            }
            for (i, stmt) in block.stmts.iter().enumerate() {
                self.go_to(stmt.span);
                self.bases_before(n as usize, i);
                self.statement(&stmt.kind);
                self.bases_behind(n as usize, i);
            }
            self.go_to(block.term.span);
            self.terminator(block, next);
            self.pending.clear();
        }
    }

    /// Blocks that need a label: the target of some jump that is not written as falling through.
    fn jumped_to(&self, order: &[u32]) -> Vec<bool> {
        let mut jumped = vec![false; self.body.blocks.len()];
        let mut mark = |n: u32| {
            if let Some(slot) = jumped.get_mut(n as usize) {
                *slot = true;
            }
        };
        for (at, &n) in order.iter().enumerate() {
            let next = order.get(at + 1).copied();
            let Some(block) = self.body.blocks.get(n as usize) else { continue };
            match &block.term.kind {
                TermKind::Goto(b) => {
                    let b = self.jump_target(*b);
                    if Some(b) != next {
                        mark(b);
                    }
                }
                TermKind::If(_, yes, no) => {
                    let (yes, no) = (self.jump_target(*yes), self.jump_target(*no));
                    [yes, no].into_iter().filter(|&b| Some(b) != next).for_each(&mut mark);
                }
                TermKind::Switch(_, arms, other) => {
                    arms.iter().for_each(|(_, _, b)| mark(self.jump_target(*b)));
                    mark(self.jump_target(*other));
                }
                // Labels whose address is taken are all marked below.
                TermKind::GotoComputed(_) | TermKind::Return(_) | TermKind::MissingReturn | TermKind::Unreachable => {}
            }
            for stmt in &block.stmts {
                if let Some(b) = stmt.kind.value().and_then(Rvalue::as_label) {
                    mark(b.0);
                }
            }
        }
        self.body.address_labels.iter().for_each(|(_, b)| mark(b.0));
        jumped
    }

    fn jump_target(&self, block: BlockId) -> u32 {
        self.targets.get(block.0 as usize).copied().unwrap_or(block.0)
    }

    fn statement(&mut self, kind: &StmtKind) {
        match kind {
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Call { dest, callee, args, ty } => self.call(dest.as_ref(), callee, args, *ty),
            StmtKind::Check(check) => self.check(check),
            StmtKind::StorageLive(local) => self.live(*local),
            StmtKind::StorageDead(local) => self.dead(*local),
            StmtKind::Prove(_) | StmtKind::Nop => {}
            StmtKind::Zero(place) => self.zero(place),
            StmtKind::CopyElements { to, from, count } => self.copy_elements(to, from, count),
            StmtKind::SetTag(place, member) => {
                let loc = self.place(place, false);
                self.unit.c.need(loc.ty.ty);
                let text = format!("{} = {member};", self.tag_text(&loc));
                self.settle(effect_of(place, self.body));
                self.push(&text);
            }
            StmtKind::VaStart(place) => {
                let last = self.last_param();
                self.on_place(place, |text| format!("__builtin_va_start({text}, {last});"));
            }
            StmtKind::VaEnd(place) => self.on_place(place, |text| format!("__builtin_va_end({text});")),
            StmtKind::VaCopy(to, from) => {
                let loc = self.place(from, false);
                let source = self.lvalue(&loc);
                self.on_place(to, |text| format!("__builtin_va_copy({text}, {source});"));
            }
            StmtKind::Assembly(asm) => self.asm(asm),
            StmtKind::ArenaBegin(handle, _) => self.arena_begin(*handle),
            StmtKind::ArenaEnd(handle, _) => self.arena_end(*handle),
            StmtKind::OpenBegin(handle, key, _) => self.open(*handle, key),
            StmtKind::Dispose { value, handle, moved } => self.dispose(value, handle.as_ref(), moved),
            StmtKind::DropSlot(place) => self.drop_slot(place),
            StmtKind::Exchange(a, b) => self.swap(a, b),
            StmtKind::CursorBegin(cursor, of) => self.cursor_begin(*cursor, of),
            StmtKind::CursorEnd(cursor) => self.cursor_end(*cursor),
            StmtKind::ChannelNew { contract, imp, exp, .. } => self.channel_new(*contract, imp, exp),
            StmtKind::Send { end, message, args } => self.send(end, *message, args),
            StmtKind::SetNew(set) => self.set_new(set),
            StmtKind::SetAdd { set, end, value } => self.set_add(set, end, value.as_ref()),
            StmtKind::SetTake { set, head, end, value } => self.set_take(set, *head, end, value.as_ref()),
            StmtKind::Select { dest, cases, has_default } => self.select(dest, cases, *has_default),
            StmtKind::Receive { end, head, binds, waits } => self.receive(end, *head, binds, *waits),
            StmtKind::Close(..) | StmtKind::Pack(..) | StmtKind::UnpackBegin { .. } | StmtKind::UnpackEnd(..) => {}
        }
    }

    fn on_place(&mut self, place: &Place, text: impl FnOnce(&str) -> String) {
        let loc = self.place(place, false);
        let text = text(&self.lvalue(&loc));
        self.settle(effect_of(place, self.body));
        self.push(&text);
    }

    /// The last named parameter in C, for `va_start`.
    fn last_param(&self) -> String {
        // The words of a result come after the parameters.
        if let Some(suffix) = crate::ctype::suffixes(self.unit.types.words(self.signature.ret)).last() {
            return format!("ret{suffix}");
        }
        let fallback = "0".to_string();
        let Some(last) = self.body.params.checked_sub(1) else { return fallback };
        let Some(held) = self.held.get(last as usize) else { return fallback };
        let words = self.signature.params.last().map_or(1, |p| self.unit.types.words(p.ty));
        let suffix = crate::ctype::suffixes(words).last().copied().unwrap_or("");
        format!("{}{}{suffix}", held.name, if held.object { "__in" } else { "" })
    }

    // ---- assignments

    fn assign(&mut self, place: &Place, value: &Rvalue) {
        let constant = place.as_local().and_then(|l| self.constants.get(l.0 as usize).copied().flatten());
        if constant.is_some() {
            return;
        }
        if let Some(from) = value.as_use().and_then(Operand::place) {
            let ty = mir::ty::place_ty(self.unit.program, self.body, place).map(|q| q.ty);
            let array = ty.is_ok_and(|ty| matches!(self.unit.types.kind(ty), TyKind::Array { .. }));
            if array || (matches!(from.base, PlaceBase::Str(_)) && from.proj.is_empty()) {
                self.copy_array(place, from);
                return;
            }
        }
        let unread = place.as_local().filter(|l| self.uses.unread.get(l.0 as usize) == Some(&true));
        if let (Some(local), Some((pointer, count))) = (place.as_local(), value.as_offset()) {
            if let Some(element) = self.element(local, pointer, count) {
                self.define_element(local, element);
                return;
            }
        }
        let value = match value.as_alloc() {
            Some(Allocation { elem, count, extra, fallible, handle: None, counted: false, .. })
                if self.is_exchange(place) =>
            {
                Value::effect(self.alloc_exchange(*elem, count, extra.as_ref(), fallible))
            }
            _ => self.rvalue(value),
        };
        let gone = place.as_local().and_then(|l| self.held.get(l.0 as usize)).is_some_and(|h| h.unread);
        if (unread.is_some() || gone) && value.pure {
            return;
        }
        if let Some(local) = place.as_local().filter(|&l| value.pure && self.may_wait(l)) {
            let ty = self.body.locals.get(local.0 as usize).map_or(self.unit.types.common.error, |l| l.ty.ty);
            let words = self.converted(value.words, ty);
            self.define(local, words);
            return;
        }
        self.store(place, value.words, value.pure);
    }

    /// Whether the place holds an owned pointer into the exchange heap.
    fn is_exchange(&self, place: &Place) -> bool {
        let ty = mir::ty::place_ty(self.unit.program, self.body, place).map(|q| q.ty);
        ty.is_ok_and(|ty| self.unit.types.as_pointer(ty).is_some_and(|p| p.region == Region::Exchange))
    }

    /// The words as the type's words.
    pub fn converted(&mut self, words: Vec<Ex>, ty: Ty) -> Vec<Ex> {
        let is_pointer = matches!(self.unit.types.kind(ty), TyKind::Ptr(_));
        if !is_pointer {
            return words
                .into_iter()
                .map(|w| if w.pointer.is_some() { Ex { pointer: None, ..w } } else { w })
                .collect();
        }
        let count = self.unit.types.words(ty);
        let cast = self.unit.c.cast(ty);
        let convert = |(n, w): (usize, Ex)| if count == 2 && n == 1 { w } else { w.coerce(&cast) };
        words.into_iter().take(count as usize).enumerate().map(convert).collect()
    }

    /// Stores the words of a value in a place.
    pub fn store_words(&mut self, place: &Place, words: Vec<Ex>) {
        self.store(place, words, false);
    }

    fn store(&mut self, place: &Place, words: Vec<Ex>, pure: bool) {
        let loc = self.place(place, words.len() > 1);
        let ty = loc.ty.ty;
        self.unit.c.need(ty);
        let words = self.converted(words, ty);
        let texts = self.word_texts(&loc);
        let parts = texts
            .into_iter()
            .zip(words)
            .enumerate()
            .filter(|(n, (t, w))| (*t != w.text || !pure) && loc.simple.is_none_or(|l| self.has_word(l, *n)));
        let parts: Vec<(String, Ex)> = parts.map(|(_, part)| part).collect();
        self.settle(effect_of(place, self.body));
        let tangled = match loc.simple {
            Some(local) => parts.iter().skip(1).any(|(_, w)| w.deps.locals.contains(&local)),
            None => loc.through_memory || parts.iter().skip(1).any(|(_, w)| w.deps.memory),
        };
        if parts.len() > 1 && tangled {
            let at = loc.simple.is_none().then(|| self.words_at(place, &loc));
            self.store_tangled(at, &parts);
            return;
        }
        let line: Vec<String> = parts.iter().map(|(text, word)| format!("{text} = {};", word.text)).collect();
        if !line.is_empty() {
            self.push(&line.join(" "));
        }
    }

    /// `lee__at`, the words of a place in memory. In a packed struct they need not be aligned.
    fn words_at(&mut self, place: &Place, loc: &crate::places::Loc) -> String {
        let address = self.address(loc);
        if self.in_packed(place) {
            let address = address.cast("lee__word *").text;
            return format!(" typedef void *lee__word __attribute__((aligned(1))); lee__word *lee__at = {address};");
        }
        format!(" void **lee__at = {};", address.cast("void **").text)
    }

    /// Words that read what the first stores change are computed before anything is stored: by
    /// their names, or in the words that `at` declares.
    fn store_tangled(&mut self, at: Option<String>, parts: &[(String, Ex)]) {
        let named = at.is_none();
        let mut line = String::from("{");
        line.push_str(at.as_deref().unwrap_or_default());
        for (n, (_, word)) in parts.iter().enumerate() {
            line.push_str(&format!(" void *lee__{n} = (void *){};", word.at(Level::Unary)));
        }
        for (n, (text, _)) in parts.iter().enumerate() {
            let target = if named { text.clone() } else { format!("lee__at[{n}]") };
            line.push_str(&format!(" {target} = lee__{n};"));
        }
        line.push_str(" }");
        self.push(&line);
    }

    fn copy_array(&mut self, place: &Place, from: &Place) {
        let source = self.place(from, true);
        let target = self.place(place, true);
        let size = |loc: &crate::places::Loc, unit: &Unit| unit.types.layout(loc.ty.ty).map(|l| l.size);
        let have = match (from.base, from.proj.is_empty()) {
            (PlaceBase::Str(id), true) => self
                .unit
                .program
                .strings
                .get(id.0 as usize)
                .map(|s| s.units.len() as u64 * self.unit.types.as_int(s.elem).map_or(1, IntKind::size)),
            _ => size(&source, self.unit),
        };
        let room = size(&target, self.unit);
        self.unit.c.need(target.ty.ty);
        let (to, source) = (self.lvalue(&target), self.lvalue(&source));
        self.settle(effect_of(place, self.body));
        match (have, room) {
            (Some(have), Some(room)) if have < room => {
                self.push(&format!("__builtin_memset(&{to}, 0, {room});"));
                self.push(&format!("__builtin_memcpy(&{to}, &{source}, {have});"));
            }
            (_, Some(room)) => self.push(&format!("__builtin_memcpy(&{to}, &{source}, {room});")),
            _ => self.push(&format!("__builtin_memcpy(&{to}, &{source}, sizeof({to}));")),
        }
    }

    fn zero(&mut self, place: &Place) {
        let loc = self.place(place, true);
        self.unit.c.need(loc.ty.ty);
        let texts = self.word_texts(&loc);
        self.settle(effect_of(place, self.body));
        match self.unit.types.kind(loc.ty.ty) {
            TyKind::Array { .. } | TyKind::Record(_) | TyKind::VaList => {
                let text = self.lvalue(&loc);
                let cast = if loc.ty.quals.is_volatile { "(void *)" } else { "" };
                self.push(&format!("__builtin_memset({cast}&{text}, 0, sizeof({text}));"));
            }
            TyKind::Ptr(_) if texts.len() > 1 && loc.through_memory => {
                let address = self.address(&loc).cast("void *").text;
                let bytes = texts.len() * 8;
                self.push(&format!("__builtin_memset({address}, 0, {bytes});"));
            }
            TyKind::Ptr(_) => {
                let line: Vec<String> = texts.iter().map(|t| format!("{t} = NULL;")).collect();
                self.push(&line.join(" "));
            }
            _ => self.push(&texts.iter().map(|t| format!("{t} = 0;")).collect::<Vec<_>>().join(" ")),
        }
    }

    fn copy_elements(&mut self, to: &Operand, from: &Operand, count: &Operand) {
        let target = self.target_of(to);
        if self.unit.types.as_pointer(self.operand_ty(from)).is_some_and(|p| p.bounds.is_fat()) {
            return self.copy_left(target, to, from, count);
        }
        let known = match count {
            Operand::Const(Const::Int(n, _)) => Some(*n),
            _ => None,
        };
        let (to, from, count) = (self.value(to), self.value(from), self.value_twice(count));
        let size = Ex::atom(self.unit.c.sizeof_text(target));
        let bytes = count.binary("*", &size);
        self.settle(Effect { memory: true, local: None });
        let text = format!("__builtin_memmove({}, {}, {});", to.text, from.text, bytes.text);
        // With a count of 0 the pointers may be null, which C does not allow.
        match known {
            Some(0) => {}
            Some(_) => self.push(&text),
            None => self.push(&format!("if ({} != 0) {text}", count.at(Level::Unary))),
        }
    }

    /// At most `count` elements, as many as are left of `from`.
    fn copy_left(&mut self, target: Ty, to: &Operand, from: &Operand, count: &Operand) {
        let (to, words, count) = (self.value(to), self.operand(from, false), self.value(count));
        let size = Ex::atom(self.unit.c.sizeof_text(target));
        let helper = self.unit.helper(&crate::prelude::COPY_LEFT);
        self.settle(Effect { memory: true, local: None });
        let args: Vec<&Ex> = [&to].into_iter().chain(&words).chain([&count, &size]).collect();
        let call = Ex::call(helper, &args);
        self.push(&format!("{};", call.text));
    }

    fn target_of(&self, pointer: &Operand) -> Ty {
        let ty = self.operand_ty(pointer);
        self.unit.types.as_pointer(ty).map_or(self.unit.types.common.char_, |p| p.target.ty)
    }

    // ---- objects of the heap that are in the frame

    /// A sanitizer's look at one: open from here on, or closed.
    fn cell(&mut self, local: Local, how: &str) {
        if self.body.locals.get(local.0 as usize).is_none_or(|d| d.kind != LocalKind::Cell) {
            return;
        }
        self.mark_used(local);
        self.settle(Effect { memory: true, local: Some(local.0) });
        let name = self.held.get(local.0 as usize).map_or_else(String::new, |h| h.name.clone());
        self.push(&format!("{how}(&{name}, sizeof({name}));"));
    }

    fn dead(&mut self, local: Local) {
        self.cell(local, "LEE_CELL_CLOSE");
    }

    /// The frame is given back: all of it may be written again.
    fn open_cells(&mut self) {
        for n in 0..self.body.locals.len() as u32 {
            self.cell(Local(n), "LEE_CELL_OPEN");
        }
    }

    // ---- variable-length arrays

    fn live(&mut self, local: Local) {
        self.cell(local, "LEE_CELL_OPEN");
        let Some(held) = self.held.get(local.0 as usize).filter(|h| h.variable).cloned() else { return };
        let Some(decl) = self.body.locals.get(local.0 as usize) else { return };
        self.mark_used(local);
        let name = held.name;
        let size = self.unit.c.sizeof_text(decl.ty.ty);
        self.settle(Effect { memory: true, local: Some(local.0) });
        // The storage of an earlier turn of a loop is taken again if it is large enough.
        self.push(&format!(
            "if ({name}__room < {size}) {{ {name}__room = {size}; {name} = __builtin_alloca({name}__room); }}"
        ));
    }

    // ---- assembly

    fn asm(&mut self, asm: &Asm) {
        let outputs: Vec<String> = asm
            .outputs
            .iter()
            .map(|(name, constraint, place)| {
                let loc = self.place(place, false);
                let text = self.lvalue(&loc);
                asm_operand(*name, constraint, &text)
            })
            .collect();
        let inputs: Vec<String> = asm
            .inputs
            .iter()
            .map(|(name, constraint, operand)| {
                let text = match operand {
                    // A memory constraint wants the place itself.
                    Operand::Copy(place) | Operand::Move(place) if constraint.contains(&b'm') => {
                        let loc = self.place(place, false);
                        self.lvalue(&loc)
                    }
                    _ => self.value(operand).text,
                };
                asm_operand(*name, constraint, &text)
            })
            .collect();
        let clobbers: Vec<String> = asm.clobbers.iter().map(|c| format!("\"{}\"", escape(c))).collect();
        for (_, _, place) in &asm.outputs {
            self.settle(effect_of(place, self.body));
        }
        self.settle(Effect { memory: true, local: None });
        let volatile = if asm.volatile { " volatile" } else { "" };
        let mut template = asm.template.clone();
        let mut labels = String::new();
        for label in &asm.labels {
            let block = self.body.address_labels.iter().find(|(name, _)| name == label).map_or(0, |(_, b)| b.0);
            labels.push_str(&format!("{}b{block}", if labels.is_empty() { " : " } else { ", " }));
            template = replaced(&template, format!("%l[{label}]").as_bytes(), format!("%l[b{block}]").as_bytes());
        }
        let volatile = if labels.is_empty() { volatile.to_string() } else { format!("{volatile} goto") };
        let template = escape(&template);
        // Without operands it is a basic asm statement, in which `%` stands for itself.
        let tail = if outputs.is_empty() && inputs.is_empty() && clobbers.is_empty() && labels.is_empty() {
            String::new()
        } else {
            format!(" : {} : {} : {}{labels}", outputs.join(", "), inputs.join(", "), clobbers.join(", "))
        };
        self.push(&format!("__asm__{volatile}(\"{template}\"{tail});"));
    }

    // ---- ends of blocks

    fn terminator(&mut self, block: &Block, next: Option<u32>) {
        match &block.term.kind {
            TermKind::Goto(b) => {
                let b = self.jump_target(*b);
                if Some(b) != next {
                    self.push(&format!("goto b{b};"));
                }
            }
            TermKind::If(operand, yes, no) => self.branch(operand, self.jump_target(*yes), self.jump_target(*no), next),
            TermKind::Switch(operand, arms, other) => self.switch(operand, arms, self.jump_target(*other)),
            TermKind::Return(operand) => {
                self.open_cells();
                self.give_back(operand.as_ref());
            }
            TermKind::MissingReturn if self.body.unchecked => self.return_zero(),
            TermKind::MissingReturn => self.unreachable(),
            TermKind::Unreachable => {
                let faulted = block.stmts.last().and_then(|s| s.kind.as_check()).is_some_and(Check::is_unreachable);
                if !faulted {
                    self.unreachable();
                }
            }
            TermKind::GotoComputed(operand) => {
                let value = self.value(operand).cast("void *");
                self.push(&format!("goto *{};", value.at(Level::Unary)));
            }
        }
    }

    fn unreachable(&mut self) {
        if self.body.unchecked {
            self.push("__builtin_unreachable();");
        } else {
            let site = self.unit.site(self.span);
            self.push(&format!("lee_fault_unreachable({site});"));
        }
    }

    /// C lets a function end without a value as long as nobody looks at it.
    fn return_zero(&mut self) {
        let ret = self.signature.ret;
        let text = match self.unit.types.kind(ret) {
            TyKind::Void => "return;".to_string(),
            TyKind::Record(_) => {
                format!("return ({}){{}};", self.unit.c.object(Qty::plain(ret), "", crate::ctype::Consts::Drop))
            }
            _ => "return 0;".to_string(),
        };
        self.push(&text);
    }

    fn branch(&mut self, operand: &Operand, yes: u32, no: u32, next: Option<u32>) {
        let condition = self.value(operand);
        let solid = if condition.solid { "1" } else { condition.text.as_str() };
        let only = match solid {
            "0" => Some(no),
            "1" => Some(yes),
            _ => (yes == no).then_some(yes),
        };
        if let Some(only) = only {
            if Some(only) != next {
                self.push(&format!("goto b{only};"));
            }
            return;
        }
        let condition = condition.text;
        let text = if Some(no) == next {
            format!("if ({condition}) goto b{yes};")
        } else if Some(yes) == next {
            format!("if (!({condition})) goto b{no};")
        } else {
            format!("if ({condition}) goto b{yes}; else goto b{no};")
        };
        self.push(&text);
    }

    fn switch(&mut self, operand: &Operand, arms: &[(i128, i128, BlockId)], other: u32) {
        let kind = self.unit.types.as_int(self.operand_ty(operand)).unwrap_or(IntKind::Int);
        if kind.size() == 16 {
            self.wide_switch(operand, arms, other, kind);
            return;
        }
        let mut value = self.value(operand);
        if matches!(self.unit.types.kind(self.operand_ty(operand)), TyKind::Enum(_) | TyKind::Bool) {
            value = value.cast(kind.name());
        }
        let mut line = format!("switch ({}) {{", value.text);
        for (lo, hi, block) in arms {
            let block = self.jump_target(*block);
            let (first, last) = (int_text(*lo, kind).text, int_text(*hi, kind).text);
            if lo == hi {
                line.push_str(&format!(" case {first}: goto b{block};"));
            } else {
                line.push_str(&format!(" case {first} ... {last}: goto b{block};"));
            }
        }
        line.push_str(&format!(" default: goto b{other}; }}"));
        self.push(&line);
    }

    /// `switch` takes no 128-bit operand.
    fn wide_switch(&mut self, operand: &Operand, arms: &[(i128, i128, BlockId)], other: u32, kind: IntKind) {
        let value = self.value_twice(operand).at(Level::Unary);
        for (lo, hi, block) in arms {
            let block = self.jump_target(*block);
            let (first, last) = (int_text(*lo, kind).text, int_text(*hi, kind).text);
            self.push(&format!("if ({value} >= {first} && {value} <= {last}) goto b{block};"));
        }
        self.push(&format!("goto b{other};"));
    }
}

fn asm_operand(name: Option<source::Symbol>, constraint: &[u8], text: &str) -> String {
    let name = name.map_or(String::new(), |n| format!("[{n}] "));
    format!("{name}\"{}\"({text})", escape(constraint))
}

/// The bytes with every `from` as `to`.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = vec![];
    let mut rest = bytes;
    while let Some((&first, behind)) = rest.split_first() {
        match rest.strip_prefix(from) {
            Some(after) => {
                out.extend_from_slice(to);
                rest = after;
            }
            None => {
                out.push(first);
                rest = behind;
            }
        }
    }
    out
}

/// What a store to the place changes.
pub fn effect_of(place: &Place, body: &Body) -> Effect {
    match place.local_part() {
        Some(local) => {
            let taken = body.locals.get(local.0 as usize).is_none_or(|l| l.address_taken);
            Effect { memory: taken, local: Some(local.0) }
        }
        None => Effect { memory: true, local: None },
    }
}

/// Where a jump to each block ends up, past blocks that hold nothing but a jump.
fn targets(body: &Body, ending: &[bool]) -> Vec<u32> {
    let step = |n: u32| {
        let block = body.blocks.get(n as usize)?;
        let next = block.term.kind.as_goto()?;
        (block.stmts.iter().all(|s| is_silent(&s.kind, ending)) && next.0 != n).then_some(next.0)
    };
    (0..body.blocks.len() as u32)
        .map(|start| {
            let mut at = start;
            // A loop of empty blocks stays a loop: the search gives up after as many steps as there
            // are blocks.
            for _ in 0..body.blocks.len() {
                match step(at) {
                    Some(next) => at = next,
                    None => return at,
                }
            }
            start
        })
        .collect()
}

/// Statements that write nothing.
fn is_silent(kind: &StmtKind, ending: &[bool]) -> bool {
    match kind.action() {
        Action::None => true,
        Action::Storage => kind.storage().is_some_and(|local| ending.get(local.0 as usize) == Some(&false)),
        Action::Check
        | Action::Assign
        | Action::Fill
        | Action::Call
        | Action::Assembly
        | Action::Copy
        | Action::Arguments
        | Action::Owner
        | Action::Region
        | Action::Send
        | Action::Channel => false,
    }
}

fn reachable(body: &Body, targets: &[u32]) -> Vec<bool> {
    let mut seen = vec![false; body.blocks.len()];
    let mut work = vec![0u32];
    work.extend(body.address_labels.iter().map(|(_, b)| b.0));
    while let Some(n) = work.pop() {
        match seen.get_mut(n as usize) {
            Some(slot) if !*slot => *slot = true,
            _ => continue,
        }
        let Some(block) = body.blocks.get(n as usize) else { continue };
        mir::cfg::each_successor(body, &block.term.kind, |b| {
            work.push(targets.get(b.0 as usize).copied().unwrap_or(b.0));
        });
        work.extend(block.stmts.iter().filter_map(|stmt| stmt.kind.value()?.as_label()).map(|b| b.0));
    }
    seen
}
