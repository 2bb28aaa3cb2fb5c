//! The exchange heap: blocks and arenas that go from process to process with all that they own,
//! frozen blocks, and cells.

use crate::code::*;
use crate::library::{int, ptr, Args};
use crate::machine::*;
use crate::memory::*;
use crate::tasks::Key;
use crate::types;
use typing::types::*;

impl Machine<'_> {
    /// What a value owns comes to a process, or is on its way (`AWAY`).
    pub fn give(&mut self, loc: Loc, ty: Ty, home: u32) -> R<()> {
        let running = std::mem::replace(&mut self.mem.running, EVERY);
        self.give_all(loc, ty, home);
        self.mem.running = running;
        Ok(())
    }

    fn give_all(&mut self, loc: Loc, ty: Ty, home: u32) {
        let mut work = vec![(loc, ty)];
        while let Some((loc, ty)) = work.pop() {
            for (_, slot, address, mark) in self.slots(loc, ty) {
                let target = self.mem.place(address);
                let live = self.mem.obj(target.obj).filter(|o| o.state == State::Live && o.home != SHARED);
                let Some(obj) = live.filter(|_| address != 0 && mark == INIT) else { continue };
                match self.program.types.kind(slot.ty) {
                    TyKind::Ptr(_) if obj.exchange && obj.elem != 0 => {
                        let (elem, size) = (Ty(obj.elem - 1), obj.size);
                        self.move_home(target.obj, home);
                        if mir::ty::owns(&self.program.types, elem) {
                            let step = types::size(&self.program.types, elem).max(1);
                            let parts = (0..size / step).map(|n| Loc { obj: target.obj, off: (n * step) as i64 });
                            work.extend(parts.map(|at| (at, elem)));
                        }
                    }
                    // What only the library knows: a `descriptor`.
                    TyKind::Ptr(_) if obj.exchange => self.move_home(target.obj, home),
                    TyKind::Endpoint(_) => self.move_home(target.obj, home),
                    TyKind::EndSet(_) => {
                        self.move_home(target.obj, home);
                        for (member, part) in self.channels.members_of(target.obj) {
                            self.move_home(member, home);
                            work.extend(part.map(|(obj, ty)| (Loc { obj, off: 0 }, ty)));
                        }
                    }
                    TyKind::Key(KeyKind::Exchange, _) => {
                        self.move_home(target.obj, home);
                        for id in self.arenas.get(&target.obj).cloned().unwrap_or_default() {
                            self.move_home(id, home);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn move_home(&mut self, id: ObjId, home: u32) {
        if let Some(obj) = self.mem.obj_mut(id) {
            obj.home = home;
        }
        self.came(id, home);
    }

    /// The block in a cell.
    fn in_cell(&self, cell: u64) -> R<u64> {
        if cell == 0 {
            return fault("null pointer");
        }
        self.read_word(self.mem.place(cell))
    }

    /// Ends a block, and all that it owns.
    pub fn end_block(&mut self, address: u64) -> R<()> {
        let elem = self.mem.obj(self.mem.place(address).obj).map_or(0, |obj| obj.elem);
        if address == 0 || elem == 0 {
            return Ok(());
        }
        for (ty, words) in self.free_object(address, Ty(elem - 1), None)? {
            self.end_value(ty, words, None)?;
        }
        Ok(())
    }

    fn put_in_cell(&mut self, cell: u64, block: u64) {
        let loc = self.mem.place(cell);
        if let Some(obj) = self.mem.obj_mut(loc.obj) {
            obj.write(0, &block.to_le_bytes());
        }
        let place = self.mem.place(block);
        if let Some(obj) = self.mem.obj_mut(place.obj).filter(|_| block != 0) {
            obj.owner = cell;
        }
    }

    /// A task is shut down: what it took out of cells that are still empty is lost.
    pub fn poison_cells(&mut self, task: usize) {
        let mut woken = vec![];
        for (&cell, (by, poisoned)) in &mut self.gc.emptied {
            if *by == task && !*poisoned {
                *poisoned = true;
                woken.push(cell);
            }
        }
        woken.sort_unstable();
        for cell in woken {
            self.wake_one(Key::Full(cell));
        }
    }

    /// Cells and frozen blocks, if it is one of their functions.
    pub fn exchange_call(&mut self, name: &str, a: &Args) -> R<Option<Val>> {
        match name {
            "lee_exchange_freeze" | "lee_exchange_freeze_in_place" => {
                let block = self.mem.place(a.ptr(0));
                if let Some(obj) = self.mem.obj_mut(block.obj).filter(|_| a.ptr(0) != 0) {
                    obj.home = SHARED;
                    obj.constant = true;
                    obj.count = 1;
                    obj.owner = 0;
                }
                ptr(a.ptr(0))
            }
            "lee_exchange_cell_new" => {
                let id = self.mem.make(Kind::Heap, 8, 8, self.span);
                let cell = self.mem.address(Loc { obj: id, off: 0 });
                self.gc.cells.push(id);
                self.put_in_cell(cell, a.ptr(0));
                ptr(cell)
            }
            "lee_exchange_cell_take" => {
                let (cell, block) = (a.ptr(0), self.in_cell(a.ptr(0))?);
                let id = self.mem.place(cell).obj;
                if block == 0 && self.gc.emptied.get(&id).is_some_and(|&(_, poisoned)| poisoned) {
                    return fault("cell: the task that took what was in it was shut down; put something into it first");
                }
                if block == 0 {
                    return self.tasks.wait_for(vec![Key::Full(id)], None);
                }
                self.gc.emptied.insert(id, (self.tasks.current, false));
                self.put_in_cell(cell, 0);
                self.wake_one(Key::Empty(id));
                ptr(block)
            }
            "lee_exchange_cell_put" => {
                let (cell, block) = (a.ptr(0), self.in_cell(a.ptr(0))?);
                let id = self.mem.place(cell).obj;
                if block != 0 {
                    return self.tasks.wait_for(vec![Key::Empty(id)], None);
                }
                self.gc.emptied.remove(&id);
                self.put_in_cell(cell, a.ptr(1));
                self.wake_one(Key::Full(id));
                int(0)
            }
            _ => Ok(None),
        }
    }
}
