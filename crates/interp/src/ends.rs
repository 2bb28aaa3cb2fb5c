//! The end of what is owned: disposal, slots, counts, arenas.

use crate::code::*;
use crate::machine::*;
use crate::memory::*;
use crate::table::Note;
use crate::types;
use crate::ReportKind;
use typing::types::*;

impl Machine<'_> {
    /// A new arena or key.
    pub fn new_arena(&mut self) -> u64 {
        let id = self.mem.make(Kind::Arena, 0, 16, self.span);
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.count = 1;
        }
        self.mem.address(Loc { obj: id, off: 0 })
    }

    /// An arena ends, and all that lies in it.
    pub fn end_arena(&mut self, handle: u64) -> R<()> {
        let loc = self.mem.place(handle);
        match self.mem.obj(loc.obj) {
            Some(obj) if obj.kind == Kind::Arena && obj.state == State::Live && loc.off == 0 => {}
            Some(obj) if obj.kind == Kind::Arena => {
                return report(ReportKind::DoubleFree, "an arena is ended that has ended already");
            }
            _ => return report(ReportKind::BadFree, "what is ended as an arena is none"),
        }
        for id in self.arenas.remove(&loc.obj).unwrap_or_default() {
            self.mem.end(id, State::WithArena, self.span);
        }
        self.mem.end(loc.obj, State::Freed, self.span);
        Ok(())
    }

    /// Counts up.
    pub fn retain(&mut self, address: u64) -> R<()> {
        if address == 0 {
            return Ok(());
        }
        let loc = self.mem.place(address);
        // The count stands before the object.
        self.mem.note(Note::Wrote(Loc { off: loc.off.wrapping_sub(8), ..loc }, 8));
        match self.mem.obj_mut(loc.obj) {
            Some(obj) if obj.state == State::Live && loc.off == 0 && obj.count > 0 => {
                obj.count += 1;
                Ok(())
            }
            Some(obj) if obj.state != State::Live => {
                report(ReportKind::UseAfterEnd, "a count goes up of an object that has ended")
            }
            _ => report(ReportKind::BadFree, "a count goes up of what has none"),
        }
    }

    /// `free` and its kin.
    pub fn dispose(&mut self, value: &Op, handle: Option<&Op>, moved: &[Place]) -> R<()> {
        // The parts that were moved before become null, as in emitted code; what still has its
        // object is lost.
        for part in moved {
            let Some(loc) = self.locate_raw(part) else { continue };
            if self.mem.readable(loc, part.size).is_err() {
                continue;
            }
            self.lost(loc, part.ty, false, "an owner is freed whose part still has its object")?;
            if let Ok(obj) = self.mem.writable(loc, part.size) {
                obj.write(loc.off, &vec![0; part.size as usize]);
            }
        }
        let words = self.load(value, false)?.words();
        let reap = match handle {
            Some(op) => {
                let address = self.peek(op)?.addr();
                let reap = matches!(self.program.types.kind(op.ty), TyKind::Handle(true, _));
                reap.then(|| self.mem.place(address).obj)
            }
            None => None,
        };
        self.end_value(value.ty, words, reap)
    }

    /// Ends an owned value.
    pub fn end_value(&mut self, ty: Ty, words: [u64; 3], reap: Option<ObjId>) -> R<()> {
        let mut work = vec![(ty, words)];
        let mut first = true;
        while let Some((ty, words)) = work.pop() {
            let address = words[0];
            if address == 0 {
                first = false;
                continue;
            }
            match self.program.types.kind(ty) {
                TyKind::Key(kind, _) => {
                    let loc = self.mem.place(address);
                    let count = self.mem.obj(loc.obj).filter(|o| o.state == State::Live).map_or(0, |o| o.count);
                    if kind.is_rc() && count > 1 {
                        if let Some(obj) = self.mem.obj_mut(loc.obj) {
                            obj.count -= 1;
                        }
                    } else {
                        self.end_arena(address)?;
                    }
                }
                TyKind::Endpoint(_) => self.close_end(address)?,
                TyKind::EndSet(_) => self.free_set(address)?,
                TyKind::Ptr(p) => {
                    let p = *p;
                    let inside = reap.is_some();
                    if inside == types::in_heap(&p) {
                        // It ends with its arena; or, in a reap, it is not the reap's.
                        if inside || p.own != Own::Rc || !first {
                            first = false;
                            continue;
                        }
                    }
                    if p.own == Own::Rc {
                        let loc = self.mem.place(address);
                        match self.mem.obj_mut(loc.obj) {
                            Some(obj) if obj.state == State::Live && obj.count > 1 => {
                                obj.count -= 1;
                                first = false;
                                continue;
                            }
                            Some(obj) if obj.state == State::Live && !types::in_heap(&p) && !inside => {
                                obj.count = obj.count.saturating_sub(1);
                                first = false;
                                continue;
                            }
                            _ => {}
                        }
                    }
                    let elem = if self.program.types.is_typed_void(&p) {
                        word_type(words[1]).unwrap_or(self.program.types.common.char_)
                    } else {
                        p.target.ty
                    };
                    let parts = self.free_object(address, elem, reap)?;
                    work.extend(parts);
                }
                _ => {}
            }
            first = false;
        }
        Ok(())
    }

    /// Frees an object; gives what its elements own.
    pub fn free_object(&mut self, address: u64, elem: Ty, reap: Option<ObjId>) -> R<Vec<(Ty, [u64; 3])>> {
        let loc = self.check_free(address, reap)?;
        let mut parts = vec![];
        if mir::ty::owns(&self.program.types, elem) {
            let size = types::size(&self.program.types, elem).max(1);
            let have = self.mem.obj(loc.obj).map_or(0, |o| o.size);
            let flexible =
                self.program.types.as_record(elem).is_some_and(|id| self.program.types.flexible_member(id).is_some());
            let count = if flexible { 1 } else { have / size };
            for i in 0..count {
                let at = Loc { obj: loc.obj, off: (i * size) as i64 };
                for (slot, owned, first, mark) in self.all_slots(at, elem, flexible) {
                    if first == 0 {
                        continue;
                    }
                    match mark {
                        MOVED if self.ends_with(owned.ty, reap) => {
                            return report(
                                ReportKind::DoubleFree,
                                "an object is freed with an owner whose object was moved away",
                            );
                        }
                        UNINIT => {
                            return report(
                                ReportKind::Uninitialised,
                                "an object is freed with an owner that has no value",
                            )
                        }
                        LENT => return report(ReportKind::LentGiven, "an object is freed with a pointer that is lent"),
                        _ => {}
                    }
                    let second = self.mem.readable(Loc { off: slot.off + 8, ..slot }, 8).map_or(0, |o| {
                        let mut w = [0u8; 8];
                        w.copy_from_slice(o.bytes(slot.off + 8, 8));
                        u64::from_le_bytes(w)
                    });
                    if mark == INIT {
                        parts.push((owned.ty, [first, if owned.size > 8 { second } else { 0 }, 0]));
                    }
                }
            }
        }
        self.mem.end(loc.obj, State::Freed, self.span);
        Ok(parts)
    }

    fn ends_with(&self, ty: Ty, reap: Option<ObjId>) -> bool {
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) => types::in_heap(p) != reap.is_some(),
            _ => true,
        }
    }

    fn all_slots(&self, at: Loc, elem: Ty, flexible: bool) -> Vec<(Loc, types::Owned, u64, u8)> {
        if !flexible {
            return self.slots(at, elem);
        }
        let Some(obj) = self.mem.obj(at.obj) else { return vec![] };
        types::owned(&self.program.types, elem, &obj.data, usize::MAX)
            .into_iter()
            .map(|slot| {
                let off = slot.off as i64;
                let mut word = [0u8; 8];
                for (to, from) in word.iter_mut().zip(obj.bytes(off, 8)) {
                    *to = *from;
                }
                let mark = obj.marks(off, 8).first().copied().unwrap_or(INIT);
                (Loc { obj: at.obj, off }, slot, u64::from_le_bytes(word), mark)
            })
            .collect()
    }

    /// Whether an object may be freed.
    fn check_free(&self, address: u64, reap: Option<ObjId>) -> R<Loc> {
        let loc = self.mem.place(address);
        let Some(obj) = self.mem.obj(loc.obj).filter(|_| loc.obj != 0) else {
            return report(ReportKind::BadFree, "what is freed is no object");
        };
        if obj.state != State::Live {
            return report(ReportKind::DoubleFree, "an object is freed that has ended already");
        }
        if !self.mem.is_here(obj) {
            return report(ReportKind::Isolation, "an object of another process is freed");
        }
        if obj.kind != Kind::Heap || loc.off != 0 {
            return report(ReportKind::BadFree, "what is freed is not the beginning of an object of the heap");
        }
        if obj.arena != reap.unwrap_or(0) {
            return report(ReportKind::BadFree, "what is freed lies in another region");
        }
        Ok(loc)
    }

    /// Frees one block, and nothing that it owns.
    pub fn free_block(&mut self, address: u64, _deep: bool) -> R<()> {
        let loc = self.check_free(address, None)?;
        self.mem.end(loc.obj, State::Freed, self.span);
        Ok(())
    }

    /// The memory of an object of the type is used again: nothing in it may own anything.
    pub fn keeps_nothing(&mut self, loc: Loc, ty: Option<Ty>) -> R<()> {
        for (_, slot, address, mark) in ty.map_or(vec![], |ty| self.slots(loc, ty)) {
            let target = self.mem.place(address);
            let live = self.mem.obj(target.obj).is_some_and(|o| o.state == State::Live && o.kind == Kind::Heap);
            if address != 0 && mark == INIT && live && self.frees(slot.ty) {
                return report(ReportKind::Leak, "the memory of an object is used again that still owns something");
            }
        }
        Ok(())
    }

    /// Frees what a slot, or each slot of an array or struct, holds.
    pub fn drop_slot(&mut self, loc: Loc, ty: Ty) -> R<()> {
        for (at, slot, address, mark) in self.slots(loc, ty) {
            if mark == UNINIT {
                return report(ReportKind::Uninitialised, "a slot is dropped that holds no value");
            }
            if address == 0 {
                continue;
            }
            let frees =
                self.frees(slot.ty) || matches!(self.program.types.as_pointer(slot.ty), Some(p) if p.own == Own::Rc);
            match mark {
                MOVED if frees => {
                    return report(ReportKind::DoubleFree, "a slot is dropped whose object was moved away")
                }
                LENT if frees => return report(ReportKind::LentGiven, "what is lent to this function is freed"),
                INIT if frees => {}
                _ => continue,
            }
            let second = match slot.size > 8 {
                true => self.read_word(Loc { off: at.off + 8, ..at })?,
                false => 0,
            };
            self.end_value(slot.ty, [address, second, 0], None)?;
            if let Some(obj) = self.mem.obj_mut(at.obj) {
                obj.mark(at.off, slot.size, MOVED);
            }
        }
        Ok(())
    }
}
