//! Memory as the oracle sees it: objects with identity, bounds, bytes, and a shadow of each byte.
//!
//! An address says which object it belongs to: its upper 32 bits are the number of the object, the
//! lower ones the place in it. Numbers are never used again, so a pointer to what has ended never
//! meets another object, and arithmetic that leaves an object never enters another. That makes the
//! identity of an object (what Miri keeps beside the bytes as provenance) part of the bytes, and a
//! pointer that a program copies byte by byte keeps it.

use crate::table::Note;
use rustc_hash::FxHashSet;
use source::Span;
use std::cell::{Cell, RefCell};

/// Number of an object; 0 is none.
pub type ObjId = u32;

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The locals of a call that have no address.
    Registers,
    /// A local whose address is taken.
    Local,
    /// A global, or a static local.
    Global,
    /// A string literal.
    Literal,
    /// Made by `new`, `malloc`, or the library.
    Heap,
    /// An arena or a reap.
    Arena,
    /// A function; it has no bytes.
    Function,
    /// Something of the library that programs see behind pointers only (a file, a task); it has no
    /// bytes.
    Opaque,
    /// An end of a channel, or a set of ends (channels.rs); it has no bytes.
    End,
}

/// How an object ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It has not.
    Live,
    /// Freed.
    Freed,
    /// Its scope was left.
    Left,
    /// Its arena ended.
    WithArena,
    /// A collection found that nothing reaches it.
    Collected,
    /// Its process ended.
    WithProcess,
}

/// The home of what all processes may use: literals, frozen blocks, what only the runtime knows.
pub const SHARED: u32 = u32::MAX;
/// The home of what is in a message that was not received yet.
pub const AWAY: u32 = u32::MAX - 1;
/// As the running process: the runtime looks at what any process has.
pub const EVERY: u32 = u32::MAX - 2;

/// A byte that holds a value.
pub const INIT: u8 = 0;
/// A byte that was not written since its object began.
pub const UNINIT: u8 = 1;
/// A byte of an owned pointer that was moved away.
pub const MOVED: u8 = 2;
/// A byte of an owned pointer that is lent to this place: it may be dereferenced, not passed on.
pub const LENT: u8 = 3;

/// Where objects begin, so that addresses before and after them have their number too.
const MIDDLE: u64 = 0x4000_0000;
/// The largest object.
pub const LARGEST: u64 = 0x4000_0000;

/// An object.
#[derive(Debug)]
pub struct Obj {
    /// Its bytes; gone when it has ended.
    pub data: Vec<u8>,
    /// A mark for each byte; empty if all are `INIT`.
    pub shadow: Vec<u8>,
    /// Bytes.
    pub size: u64,
    /// Low half of its address.
    low: u32,
    /// What it is.
    pub kind: Kind,
    /// Whether it has ended.
    pub state: State,
    /// It may not be written.
    pub constant: bool,
    /// The arena that it lies in.
    pub arena: ObjId,
    /// The place that owns it, 0 if none is known.
    pub owner: u64,
    /// Of a counted object: its count. Of a function: its number. Of something opaque: which one.
    pub count: u32,
    /// The type of its elements, for `container_of`.
    pub elem: u32,
    /// The process that it belongs to.
    pub home: u32,
    /// The custodian that is charged for it.
    pub payer: u32,
    /// It is of the heap, and has a count.
    pub counted: bool,
    /// It lies in the exchange heap: no collection ends it.
    pub exchange: bool,
    /// The number of the last collection that reached it.
    pub reached: u32,
    /// Where it was made.
    pub born: Span,
    /// Where it ended.
    pub died: Span,
}

/// A place in an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loc {
    /// The object.
    pub obj: ObjId,
    /// Offset; may lie outside until it is used.
    pub off: i64,
}

/// All objects.
#[derive(Debug, Default)]
pub struct Memory {
    objs: Vec<Obj>,
    /// What collections look at: registers, locals, globals and objects of the heap that lived at
    /// the last one, and those made since.
    scanned: Vec<ObjId>,
    /// Numbers of register objects that no call uses.
    spare: Vec<ObjId>,
    /// Bytes in use.
    pub bytes: u64,
    /// The process that runs.
    pub running: u32,
    /// The custodian of the task that runs.
    pub payer: u32,
    /// What each custodian is charged itself, in bytes.
    charged: Vec<u64>,
    /// Notes are taken.
    noting: Cell<bool>,
    notes: RefCell<Vec<Note>>,
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bad {
    /// There is no such object.
    Nowhere,
    /// It has ended.
    Ended(State),
    /// Outside its bounds: offset and size.
    Outside(i64, u64),
    /// It may not be written.
    Constant,
    /// It belongs to another process.
    Foreign,
}

impl Memory {
    /// Without objects.
    pub fn new() -> Memory {
        let mut memory = Memory::default();
        // Number 0 stands for null.
        memory.objs.push(blank(Kind::Opaque));
        if let Some(null) = memory.objs.first_mut() {
            null.state = State::Left;
        }
        memory
    }

    /// A new object of zero bytes, aligned.
    pub fn make(&mut self, kind: Kind, size: u64, align: u64, at: Span) -> ObjId {
        let id = self.objs.len() as u32;
        // Low bits vary as those of addresses do; the first object of a page is not always the
        // first.
        let step = align.max(16);
        let low = MIDDLE + (u64::from(id).wrapping_mul(7) % 256) * step;
        let home = if matches!(kind, Kind::Literal | Kind::Function) { SHARED } else { self.running };
        let data = vec![0; size as usize];
        let payer = self.payer;
        self.charge(payer, size);
        self.objs.push(Obj { data, size, low: low as u32, kind, born: at, home, payer, ..blank(kind) });
        if matches!(kind, Kind::Registers | Kind::Local | Kind::Global | Kind::Heap) {
            self.scanned.push(id);
        }
        self.bytes += size;
        id
    }

    fn charge(&mut self, custodian: u32, bytes: u64) {
        let at = custodian as usize;
        if at >= self.charged.len() {
            self.charged.resize(at + 1, 0);
        }
        if let Some(sum) = self.charged.get_mut(at) {
            *sum += bytes;
        }
    }

    /// What a custodian is charged itself.
    pub fn charged(&self, custodian: usize) -> u64 {
        self.charged.get(custodian).copied().unwrap_or(0)
    }

    /// From now on this custodian is charged for an object.
    pub fn charge_to(&mut self, id: ObjId, custodian: u32) {
        let Some(obj) = self.objs.get_mut(id as usize).filter(|obj| obj.state == State::Live) else { return };
        let (before, size) = (std::mem::replace(&mut obj.payer, custodian), obj.size);
        if let Some(sum) = self.charged.get_mut(before as usize) {
            *sum = sum.saturating_sub(size);
        }
        self.charge(custodian, size);
    }

    /// Registers for a call: uninitialised.
    pub fn registers(&mut self, size: usize) -> ObjId {
        let id = match self.spare.pop() {
            Some(id) => id,
            None => self.make(Kind::Registers, 0, 16, Span::NONE),
        };
        if let Some(obj) = self.objs.get_mut(id as usize) {
            obj.data.clear();
            obj.data.resize(size, 0);
            obj.shadow.clear();
            obj.shadow.resize(size, UNINIT);
            obj.size = size as u64;
            obj.home = self.running;
        }
        id
    }

    /// The call has ended.
    pub fn give_back(&mut self, registers: ObjId) {
        self.spare.push(registers);
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objs.len()
    }

    /// Forgets what has ended, before a collection: its cost is that of what lives.
    pub fn sweep(&mut self) {
        let objs = &self.objs;
        self.scanned.retain(|&id| objs.get(id as usize).is_some_and(|obj| obj.state == State::Live));
    }

    /// How many objects a collection looks at.
    pub fn scanned(&self) -> usize {
        self.scanned.len()
    }

    /// The live objects that are never collected and may point to others.
    pub fn roots(&self) -> Vec<ObjId> {
        let unused: FxHashSet<ObjId> = self.spare.iter().copied().collect();
        let is_root = |(id, obj): &(ObjId, &Obj)| {
            obj.state == State::Live
                && match obj.kind {
                    Kind::Registers => !unused.contains(id),
                    Kind::Local | Kind::Global => true,
                    Kind::Heap => obj.arena != 0,
                    Kind::Literal | Kind::Arena | Kind::Function | Kind::Opaque | Kind::End => false,
                }
        };
        self.all_scanned().filter(is_root).map(|(id, _)| id).collect()
    }

    /// The live objects that a collection may end.
    pub fn collectable(&self) -> impl Iterator<Item = ObjId> + '_ {
        let may = |(_, obj): &(ObjId, &Obj)| {
            obj.state == State::Live && obj.kind == Kind::Heap && obj.arena == 0 && !obj.exchange
        };
        self.all_scanned().filter(may).map(|(id, _)| id)
    }

    fn all_scanned(&self) -> impl Iterator<Item = (ObjId, &Obj)> {
        self.scanned.iter().filter_map(|&id| Some((id, self.objs.get(id as usize)?)))
    }

    /// The object.
    pub fn obj(&self, id: ObjId) -> Option<&Obj> {
        self.objs.get(id as usize)
    }

    /// The object.
    pub fn obj_mut(&mut self, id: ObjId) -> Option<&mut Obj> {
        self.objs.get_mut(id as usize)
    }

    /// The address of a place.
    pub fn address(&self, loc: Loc) -> u64 {
        if loc.obj == 0 {
            return loc.off as u64;
        }
        let low = self.objs.get(loc.obj as usize).map_or(0, |o| u64::from(o.low));
        (u64::from(loc.obj) << 32).wrapping_add(low).wrapping_add(loc.off as u64)
    }

    /// The place behind an address.
    pub fn place(&self, address: u64) -> Loc {
        let id = (address >> 32) as u32;
        match self.objs.get(id as usize) {
            Some(obj) if id != 0 => Loc { obj: id, off: (address & 0xffff_ffff) as i64 - i64::from(obj.low) },
            _ => Loc { obj: 0, off: address as i64 },
        }
    }

    /// Notes something that happened.
    #[inline]
    pub fn note(&self, note: Note) {
        if self.noting.get() {
            self.notes.borrow_mut().push(note);
        }
    }

    /// Begins to take notes, or ends and gives them.
    pub fn note_all(&self, on: bool) -> Vec<Note> {
        self.noting.set(on);
        self.notes.take()
    }

    /// Takes no notes for now; whether it did.
    pub fn pause(&self) -> bool {
        self.noting.replace(false)
    }

    /// Goes on as before a `pause`.
    pub fn resume(&self, noting: bool) {
        self.noting.set(noting);
    }

    /// Runs what looks at memory for the oracle's own purposes.
    pub fn aside<T>(&self, look: impl FnOnce() -> T) -> T {
        let noting = self.pause();
        let result = look();
        self.resume(noting);
        result
    }

    /// The object ends; its bytes are gone.
    pub fn end(&mut self, id: ObjId, state: State, at: Span) {
        self.note(Note::Ended(id));
        if let Some(obj) = self.objs.get_mut(id as usize) {
            if obj.state == State::Live {
                obj.state = state;
                obj.died = at;
                self.bytes = self.bytes.saturating_sub(obj.size);
                if let Some(sum) = self.charged.get_mut(obj.payer as usize) {
                    *sum = sum.saturating_sub(obj.size);
                }
                obj.data = vec![];
                obj.shadow = vec![];
            }
        }
    }

    /// The object, if `size` bytes at the place may be read.
    #[inline]
    pub fn readable(&self, loc: Loc, size: u64) -> Result<&Obj, Bad> {
        match self.objs.get(loc.obj as usize) {
            Some(obj) if fits(obj, loc.off, size) && self.is_here(obj) => {
                self.note(Note::Read(loc, size));
                Ok(obj)
            }
            other => Err(self.why(other, loc)),
        }
    }

    /// Whether the running process may use the object.
    #[inline]
    pub fn is_here(&self, obj: &Obj) -> bool {
        obj.home == self.running || obj.home == SHARED || self.running == EVERY
    }

    /// The object, if `size` bytes at the place may be written.
    #[inline]
    pub fn writable(&mut self, loc: Loc, size: u64) -> Result<&mut Obj, Bad> {
        self.note(Note::Wrote(loc, size));
        let good = match self.objs.get(loc.obj as usize) {
            Some(obj) if fits(obj, loc.off, size) && !obj.constant && self.is_here(obj) => Ok(()),
            other => Err(self.why(other, loc)),
        };
        good.and_then(|()| self.objs.get_mut(loc.obj as usize).ok_or(Bad::Nowhere))
    }

    fn why(&self, obj: Option<&Obj>, loc: Loc) -> Bad {
        match obj {
            Some(obj) if loc.obj != 0 => match obj.state {
                State::Live if !self.is_here(obj) => Bad::Foreign,
                State::Live if loc.off >= 0 && (loc.off as u64) < obj.data.len() as u64 && obj.constant => {
                    Bad::Constant
                }
                State::Live => Bad::Outside(loc.off, obj.data.len() as u64),
                ended => Bad::Ended(ended),
            },
            _ => Bad::Nowhere,
        }
    }
}

impl Obj {
    /// The bytes at an offset that was checked.
    #[inline]
    pub fn bytes(&self, off: i64, size: u64) -> &[u8] {
        self.data.get(off as usize..off as usize + size as usize).unwrap_or(&[])
    }

    /// The marks at an offset; none if all are `INIT`.
    #[inline]
    pub fn marks(&self, off: i64, size: u64) -> &[u8] {
        if self.shadow.is_empty() {
            return &[];
        }
        self.shadow.get(off as usize..off as usize + size as usize).unwrap_or(&[])
    }

    /// Writes bytes that hold values.
    #[inline]
    pub fn write(&mut self, off: i64, bytes: &[u8]) {
        let range = off as usize..off as usize + bytes.len();
        if let Some(to) = self.data.get_mut(range.clone()) {
            to.copy_from_slice(bytes);
        }
        if let Some(marks) = self.shadow.get_mut(range) {
            marks.fill(INIT);
        }
    }

    /// Sets the marks of bytes.
    pub fn mark(&mut self, off: i64, size: u64, mark: u8) {
        if self.shadow.is_empty() {
            if mark == INIT {
                return;
            }
            self.shadow = vec![INIT; self.data.len()];
        }
        if let Some(marks) = self.shadow.get_mut(off as usize..off as usize + size as usize) {
            marks.fill(mark);
        }
    }

    /// Copies marks to an offset.
    pub fn set_marks(&mut self, off: i64, from: &[u8], size: u64) {
        if from.is_empty() {
            return self.mark(off, size, INIT);
        }
        if self.shadow.is_empty() {
            self.shadow = vec![INIT; self.data.len()];
        }
        if let Some(marks) = self.shadow.get_mut(off as usize..off as usize + from.len()) {
            marks.copy_from_slice(from);
        }
    }
}

#[inline]
fn fits(obj: &Obj, off: i64, size: u64) -> bool {
    obj.state == State::Live
        && off >= 0
        && (off as u64).checked_add(size).is_some_and(|end| end <= obj.data.len() as u64)
}

fn blank(kind: Kind) -> Obj {
    Obj {
        data: vec![],
        shadow: vec![],
        size: 0,
        low: MIDDLE as u32,
        kind,
        state: State::Live,
        constant: false,
        arena: 0,
        owner: 0,
        count: 0,
        elem: 0,
        home: 0,
        payer: 0,
        counted: false,
        exchange: false,
        reached: 0,
        born: Span::NONE,
        died: Span::NONE,
    }
}
