//! Collection: what no root reaches ends. Roots are locals, globals and what lies in arenas.
//!
//! Locals are read word by word, globals by their types, as the ABI says: of a pointer with bounds
//! the lower one counts, an integer keeps nothing alive. Of objects of the heap those words are
//! read that the emitted descriptors name (`Options::layouts`), so that one which emission forgets
//! shows: use of something that was collected is reported. What is read word by word is read at
//! each byte if emission asks the runtime for that (`Options::unaligned`).

use crate::code::*;
use crate::library::Args;
use crate::machine::*;
use crate::memory::*;
use crate::table::Note;
use crate::types;
use crate::{Layouts, Words};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use typing::types::*;

/// Objects between two collections, at least.
const OBJECTS: u64 = 30_000;
/// Bytes between two collections, at least.
const BYTES: u64 = 16 << 20;

/// What depends on collections.
#[derive(Debug, Default)]
pub struct Collector {
    objects: u64,
    bytes: u64,
    /// When the last collection was, in statements.
    last: u64,
    /// What is read of objects, by the type of their elements and whether more follows.
    layouts: HashMap<(Ty, bool), Rc<Words>>,
    /// Targets of weak references; 0 once they are dead.
    pub weak: Vec<u64>,
    /// Finalizer queues.
    pub queues: Vec<Queue>,
    /// Cells: what is in one ends with it.
    pub cells: Vec<ObjId>,
    /// Empty cells: which task emptied them, and whether it was shut down with what it took.
    pub emptied: HashMap<ObjId, (usize, bool)>,
    /// The number of the collection.
    number: u32,
    work: Vec<ObjId>,
}

/// A finalizer queue.
#[derive(Debug, Default)]
pub struct Queue {
    /// The custodian that it was made in.
    custodian: usize,
    added: Vec<u64>,
    ready: VecDeque<u64>,
}

impl Machine<'_> {
    /// Collects if enough was allocated since the last time.
    pub fn may_collect(&mut self, bytes: u64) -> R<()> {
        self.mem.note(Note::Collects);
        self.gc.objects += 1;
        self.gc.bytes += bytes;
        // Where much lives, a collection takes as long as that many statements.
        let soon = |statements: u64| self.steps - self.gc.last >= statements.max(self.mem.scanned() as u64);
        if self.gc.objects > OBJECTS
            || self.gc.bytes > BYTES.max(self.mem.bytes / 2)
            || self.options.collect.is_some_and(soon)
        {
            // No statement reads and ends these objects: the collector does.
            let noting = self.mem.pause();
            let collected = self.collect();
            self.mem.resume(noting);
            return collected;
        }
        Ok(())
    }

    /// Collects.
    pub fn collect(&mut self) -> R<()> {
        let running = std::mem::replace(&mut self.mem.running, EVERY);
        let collected = self.collect_all();
        self.mem.running = running;
        collected
    }

    fn collect_all(&mut self) -> R<()> {
        self.gc.objects = 0;
        self.gc.bytes = 0;
        self.gc.last = self.steps;
        self.gc.number += 1;
        self.mem.sweep();
        for id in self.mem.roots() {
            let typed = self.mem.obj(id).filter(|o| o.kind == Kind::Global && o.elem != 0).map(|o| Ty(o.elem - 1));
            match typed {
                Some(ty) => self.mark_typed(id, 0, ty, 0),
                None => self.mark_words(id),
            }
        }
        for address in self.loose() {
            self.mark(address);
        }
        self.trace();
        // What a queue waits for lives on if nothing else reaches it.
        for n in 0..self.gc.queues.len() {
            let added = self.gc.queues.get_mut(n).map(|q| std::mem::take(&mut q.added)).unwrap_or_default();
            let (alive, dead): (Vec<u64>, Vec<u64>) = added.into_iter().partition(|&a| self.is_marked(a));
            let filled = !dead.is_empty();
            if let Some(queue) = self.gc.queues.get_mut(n) {
                queue.added = alive;
                queue.ready.extend(&dead);
            }
            if filled {
                self.wake(crate::tasks::Key::Queue(n));
            }
        }
        let ready: Vec<u64> = self.gc.queues.iter().flat_map(|q| q.ready.iter().copied()).collect();
        ready.into_iter().for_each(|a| self.mark(a));
        self.trace();
        let weak: Vec<u64> = self.gc.weak.iter().map(|&a| if self.is_marked(a) { a } else { 0 }).collect();
        self.gc.weak = weak;
        let dead: Vec<ObjId> = self.mem.collectable().filter(|&id| !self.is_reached(id)).collect();
        // Counts that the dead hold are taken back.
        let mut counts = vec![];
        for &id in &dead {
            let Some((ty, size)) = self.mem.obj(id).filter(|o| o.elem != 0).map(|o| (Ty(o.elem - 1), o.size)) else {
                continue;
            };
            if !mir::ty::holds_counts(&self.program.types, ty) {
                continue;
            }
            let step = types::size(&self.program.types, ty).max(1);
            for i in 0..size / step {
                for (_, slot, address, mark) in self.slots(Loc { obj: id, off: (i * step) as i64 }, ty) {
                    if address != 0 && mark == INIT && mir::ty::holds_counts(&self.program.types, slot.ty) {
                        counts.push((slot.ty, address));
                    }
                }
            }
        }
        let cells = std::mem::take(&mut self.gc.cells);
        let (lost, cells): (Vec<ObjId>, Vec<ObjId>) = cells.into_iter().partition(|&id| !self.is_reached(id));
        self.gc.cells = cells;
        for id in &lost {
            self.gc.emptied.remove(id);
        }
        let blocks: Vec<u64> = lost.iter().filter_map(|&obj| self.read_word(Loc { obj, off: 0 }).ok()).collect();
        for id in dead {
            self.mem.end(id, State::Collected, self.span);
        }
        self.close_lost();
        blocks.into_iter().try_for_each(|block| self.end_block(block))?;
        for (ty, address) in counts {
            let target = self.mem.place(address);
            if self.mem.obj(target.obj).is_some_and(|o| o.state == State::Live) {
                self.end_value(ty, [address, 0, 0], None)?;
            }
        }
        Ok(())
    }

    /// Addresses that are in no object: arguments of `...`, entries of directories.
    fn loose(&self) -> Vec<u64> {
        let mut out: Vec<u64> = self.lists.iter().flatten().flat_map(|(v, _)| v.words()).collect();
        for frame in self.frames.iter().chain(self.tasks.frames()) {
            out.extend(frame.rest.iter().flat_map(|(v, _)| v.words()));
            out.extend(frame.pending.iter().flatten().flat_map(Val::words));
            // Emitted code keeps the address of a cursor's slot in a variable.
            out.extend(frame.taken.iter().map(|taken| taken.slot));
        }
        out.extend(self.lib.directories.iter().flatten().map(crate::system::Directory::entry));
        out
    }

    fn is_marked(&self, address: u64) -> bool {
        let id = self.mem.place(address).obj;
        id != 0 && self.is_reached(id)
    }

    fn is_reached(&self, id: ObjId) -> bool {
        self.mem.obj(id).is_some_and(|obj| obj.reached == self.gc.number)
    }

    fn mark(&mut self, address: u64) {
        let id = self.mem.place(address).obj;
        let number = self.gc.number;
        if let Some(obj) = self.mem.obj_mut(id).filter(|obj| id != 0 && obj.reached != number) {
            obj.reached = number;
            self.gc.work.push(id);
        }
    }

    fn trace(&mut self) {
        while let Some(id) = self.gc.work.pop() {
            let Some(obj) = self.mem.obj(id).filter(|o| o.state == State::Live && o.kind == Kind::Heap) else {
                continue;
            };
            let (size, elem) = (obj.size, obj.elem);
            if elem == 0 {
                self.mark_words(id);
                continue;
            }
            let ty = Ty(elem - 1);
            if let Some(layouts) = self.options.layouts {
                self.mark_layout(id, ty, layouts);
                continue;
            }
            if !self.program.types.has_pointers(ty) {
                continue;
            }
            let step = types::size(&self.program.types, ty).max(1);
            let flexible =
                self.program.types.as_record(ty).is_some_and(|r| self.program.types.flexible_member(r).is_some());
            if flexible {
                self.mark_words(id);
                continue;
            }
            for i in 0..size / step {
                self.mark_typed(id, i * step, ty, 0);
            }
        }
    }

    /// Marks what an object of the heap points to, as its descriptor says.
    fn mark_layout(&mut self, id: ObjId, ty: Ty, layouts: Layouts) {
        let Some(obj) = self.mem.obj(id) else { return };
        let types = &self.program.types;
        let flexible = types.as_record(ty).is_some_and(|record| types.flexible_member(record).is_some());
        // Counted objects have no descriptor that names words.
        let counted = obj.counted;
        let known = self.gc.layouts.entry((ty, flexible));
        let words = known.or_insert_with(|| Rc::new(layouts(types, ty, flexible))).clone();
        match &*words {
            Words::None => {}
            Words::Masks(bytes, masks) if !counted => {
                let step = (*bytes).max(8) as usize;
                let size = obj.data.len();
                // Elements of a packed struct need not begin at a word.
                let offsets = (0..size / step).flat_map(|element| {
                    let words =
                        (0..step / 8).filter(|n| masks.get(n / 64).is_some_and(|mask| mask >> (n % 64) & 1 != 0));
                    words.map(move |n| element * step + n * 8)
                });
                self.mark_at(id, offsets);
            }
            Words::Masks(..) | Words::All => self.mark_words(id),
        }
    }

    /// Marks what any word of an object points to. As in the runtime, a word begins at each byte if
    /// the program has structs whose pointers are not aligned.
    fn mark_words(&mut self, id: ObjId) {
        let step = if self.options.unaligned { 1 } else { 8 };
        let end = self.mem.obj(id).map_or(0, |obj| obj.data.len().saturating_sub(7));
        self.mark_at(id, (0..end).step_by(step));
    }

    /// Marks what the words at those offsets of an object point to.
    fn mark_at(&mut self, id: ObjId, offsets: impl Iterator<Item = usize>) {
        let Some(obj) = self.mem.obj(id) else { return };
        let word = |at: usize| obj.data.get(at..at + 8).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        let words: Vec<u64> = offsets
            .filter(|&at| obj.shadow.get(at).is_none_or(|&mark| mark != UNINIT))
            .filter_map(word)
            .map(u64::from_le_bytes)
            .filter(|word| word >> 32 != 0)
            .collect();
        words.into_iter().for_each(|word| self.mark(word));
    }

    /// Marks what a value of the type at an offset points to.
    fn mark_typed(&mut self, id: ObjId, off: u64, ty: Ty, depth: u32) {
        let program = self.program;
        let types = &program.types;
        if depth > 60 || !types.has_pointers(ty) {
            return;
        }
        match types.kind(ty) {
            TyKind::Ptr(p) if matches!(types.kind(p.target.ty), TyKind::Func(_)) => {}
            TyKind::Ptr(_) | TyKind::NullPtr | TyKind::Key(..) | TyKind::Handle(..) => {
                let at = off + if types.words(ty) == 3 { 8 } else { 0 };
                let word =
                    self.mem.obj(id).and_then(|o| o.data.get(at as usize..at as usize + 8)).map(<[u8; 8]>::try_from);
                if let Some(Ok(word)) = word {
                    self.mark(u64::from_le_bytes(word));
                }
            }
            TyKind::Array { elem, len: ArrayLen::Const(n), .. } => {
                let step = types::size(types, elem.ty);
                for i in 0..*n {
                    self.mark_typed(id, off + i * step, elem.ty, depth + 1);
                }
            }
            TyKind::Record(record) => {
                let (Some(fields), Some((_, places))) =
                    (types.record(*record).fields.clone(), types.record_layout(*record))
                else {
                    return;
                };
                for (field, place) in fields.iter().zip(places) {
                    self.mark_typed(id, off + place.offset, field.ty.ty, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Weak references and finalizer queues, if it is one of their functions.
    pub fn weak(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        match name {
            "lee_weak_make" => {
                self.gc.weak.push(a.ptr(0));
                let n = self.gc.weak.len() - 1;
                crate::library::ptr(self.opaque(n))
            }
            "lee_weak_get" => {
                let n = self.number(a.ptr(0))?;
                crate::library::ptr(self.gc.weak.get(n).copied().unwrap_or(0))
            }
            "lee_finalizer_queue_make" => {
                let custodian = self.opens_in();
                self.gc.queues.push(Queue { custodian, ..Queue::default() });
                let n = self.gc.queues.len() - 1;
                crate::library::ptr(self.opaque(n))
            }
            "lee_finalizer_put" => {
                let n = self.number(a.ptr(0))?;
                if a.ptr(1) == 0 {
                    return fault("null pointer");
                }
                if self.gc.queues.get(n).is_some_and(|queue| !self.covers(queue.custodian)) {
                    return fault("custodian: the finalizer queue belongs to a custodian that is not this task's");
                }
                if let Some(queue) = self.gc.queues.get_mut(n) {
                    queue.added.push(a.ptr(1));
                }
                crate::library::int(0)
            }
            "lee_finalizer_try_take" => {
                let n = self.number(a.ptr(0))?;
                crate::library::ptr(self.gc.queues.get_mut(n).and_then(|q| q.ready.pop_front()).unwrap_or(0))
            }
            "lee_finalizer_take" => {
                let n = self.number(a.ptr(0))?;
                match self.gc.queues.get_mut(n).and_then(|q| q.ready.pop_front()) {
                    Some(object) => crate::library::ptr(object),
                    None => self.tasks.wait_for(vec![crate::tasks::Key::Queue(n)], None),
                }
            }
            _ => Ok(None),
        }
    }

    fn opaque(&mut self, n: usize) -> u64 {
        let id = self.mem.make(Kind::Opaque, 0, 16, self.span);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.count = n as u32;
        }
        self.mem.address(Loc { obj: id, off: 0 })
    }

    fn number(&self, address: u64) -> R<usize> {
        if address == 0 {
            return fault("null pointer");
        }
        let loc = self.mem.place(address);
        match self.mem.obj(loc.obj) {
            Some(obj) if obj.kind == Kind::Opaque && loc.obj != 0 => Ok(obj.count as usize),
            _ => report(crate::ReportKind::Wild, "a weak reference or queue is used that is none"),
        }
    }
}
