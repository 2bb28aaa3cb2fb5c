//! Compares what each statement did with what the table of `mir::effects` says that it does.
//!
//! Nothing here is used to run a statement. Memory notes what is read, written and ended; the
//! machine notes addresses that are taken, storage, calls, collections and waits. After the
//! statement each note must be covered by an access or a flag of the table. So a line that is
//! missing from the table is found when a statement of its kind runs. (A line too many is not: the
//! table may say more than happens on one path.)
//!
//! Each statement is watched the first few times that it runs.

use crate::code::{Block, Op, OpKind, Place, Step};
use crate::machine::*;
use crate::memory::*;
use crate::ReportKind;
use mir::effects::{self, Code};
use std::cell::Cell;

/// How often a statement is watched.
const TIMES: u32 = 50;

/// What memory and the machine note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// So many bytes were read.
    Read(Loc, u64),
    /// So many bytes were written.
    Wrote(Loc, u64),
    /// The address of a place was taken.
    Address(Loc),
    /// An object ended.
    Ended(ObjId),
    /// The storage of a local of the running call began or ended.
    Storage(u32),
    /// Room was taken from the collector.
    Collects,
    /// Other code ran, or runs now.
    Runs,
    /// Other tasks may run.
    Waits,
}

/// What the table says of one statement.
#[derive(Debug, Default)]
pub struct Claims {
    places: Vec<(Place, effects::Kind)>,
    /// Locals whose storage begins or ends.
    storage: Vec<u32>,
    memory: bool,
    collects: bool,
    waits: bool,
    runs: bool,
    left: Cell<u32>,
}

impl Claims {
    /// Room for what is said of a statement or terminator.
    pub fn new() -> Claims {
        Claims { left: Cell::new(TIMES), ..Claims::default() }
    }

    /// Adds an access.
    pub fn access(&mut self, place: Place, kind: effects::Kind) {
        self.places.push((place, kind));
    }

    /// Adds the storage of a local.
    pub fn storage(&mut self, local: u32) {
        self.storage.push(local);
    }

    /// Adds the rest.
    pub fn flags(&mut self, flags: effects::Flags) {
        self.memory = flags.memory;
        self.collects = flags.collects;
        self.waits = flags.waits;
        self.runs = flags.code != Code::Own;
    }

    /// Whether the statement is to be watched this time.
    fn is_due(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

/// Bytes that a statement may use, and how.
#[derive(Clone, Copy, Debug)]
struct Span {
    at: Loc,
    size: u64,
    kind: effects::Kind,
}

impl Span {
    fn covers(&self, at: Loc, size: u64) -> bool {
        at.obj == self.at.obj && at.off >= self.at.off && at.off + size as i64 <= self.at.off + self.size as i64
    }
}

/// A statement that is being watched.
#[derive(Debug)]
pub struct Watch {
    spans: Vec<Span>,
    /// The objects that were there before.
    objects: usize,
    regs: ObjId,
}

impl Machine<'_> {
    /// Begins to watch statement `at` of the block (its terminator: after the last one).
    pub fn watch(&mut self, block: &Block, at: usize) -> Option<Watch> {
        let claims = block.claims.get(at).filter(|c| c.is_due())?;
        let mut spans = vec![];
        for (place, kind) in &claims.places {
            self.spans(place, *kind, &mut spans);
        }
        self.mem.note_all(true);
        Some(Watch { spans, objects: self.mem.len(), regs: self.regs })
    }

    /// Stops watching; whether all that was noted is in the table.
    pub fn compare(&mut self, block: &Block, at: usize, watch: Watch) -> R<()> {
        let notes = self.mem.note_all(false);
        let Some(claims) = block.claims.get(at) else { return Ok(()) };
        match notes.into_iter().find(|note| !self.is_claimed(claims, &watch, *note)) {
            None => Ok(()),
            Some(note) => {
                let what = match note {
                    Note::Read(..) => "reads a place",
                    Note::Wrote(..) => "writes a place",
                    Note::Address(_) => "takes an address",
                    Note::Ended(_) => "ends an object",
                    Note::Storage(_) => "begins or ends the storage of a local",
                    Note::Collects => "may collect",
                    Note::Runs => "runs other code",
                    Note::Waits => "waits",
                };
                report(ReportKind::Table, format!("a statement {what}, and mir::effects does not say so ({note:?})"))
            }
        }
    }

    fn is_claimed(&self, claims: &Claims, watch: &Watch, note: Note) -> bool {
        use effects::Kind as K;
        let releases = watch.spans.iter().any(|s| matches!(s.kind, K::Drop | K::Free));
        // What a callee has of its own, and what the statement made.
        let is_new = |obj: ObjId| obj as usize >= watch.objects || (self.regs != watch.regs && obj == self.regs);
        let kind = |obj: ObjId| self.mem.obj(obj).map(|o| o.kind);
        // No pointer leads to registers.
        let through = |obj: ObjId| (claims.memory || claims.runs) && kind(obj) != Some(Kind::Registers);
        // A cursor gives back to its slot where its storage ends.
        let released = |obj: ObjId| {
            let heap = matches!(kind(obj), Some(Kind::Heap | Kind::Arena));
            heap && releases || !claims.storage.is_empty() && kind(obj) != Some(Kind::Registers)
        };
        match note {
            Note::Read(at, size) => {
                let reads = |s: &&Span| {
                    matches!(
                        s.kind,
                        K::Read | K::Copy | K::Move | K::Exchange | K::Step | K::Lend(_) | K::Drop | K::Free
                    ) || matches!(s.kind, K::Address(effects::Loan::Exclusive))
                };
                let mut spans = watch.spans.iter().filter(reads);
                spans.any(|s| s.covers(at, size)) || is_new(at.obj) || through(at.obj) || released(at.obj)
            }
            Note::Wrote(at, size) => {
                let writes = |s: &&Span| {
                    matches!(
                        s.kind,
                        // What a cursor is on is taken out of its slot.
                        K::Write | K::Exchange | K::Step | K::Drop | K::Free | K::Address(effects::Loan::Exclusive)
                    )
                };
                let mut spans = watch.spans.iter().filter(writes);
                spans.any(|s| s.covers(at, size)) || is_new(at.obj) || through(at.obj) || released(at.obj)
            }
            Note::Address(at) => watch.spans.iter().any(|s| matches!(s.kind, K::Address(_)) && s.at == at),
            Note::Ended(obj) => releases || claims.memory || claims.runs || !claims.storage.is_empty() || is_new(obj),
            Note::Storage(local) => claims.storage.contains(&local),
            Note::Collects => claims.collects || claims.runs,
            Note::Runs => claims.runs,
            Note::Waits => claims.waits || claims.runs,
        }
    }

    /// The bytes of a place, and those of the pointers on the way to it.
    fn spans(&self, place: &Place, kind: effects::Kind, out: &mut Vec<Span>) {
        let read = effects::Kind::Read;
        let mut at = self.base(place);
        for step in &place.steps {
            match step {
                Step::Deref(more) => {
                    out.push(Span { at, size: 8, kind: read });
                    let Some(address) = self.pointer_at(at) else { return };
                    at = self.mem.place(address);
                    at.off = at.off.wrapping_add(*more);
                }
                Step::Index(op, stride, _, more) => {
                    let Some(i) = self.element(op) else { return };
                    at.off = at.off.wrapping_add((i as i64).wrapping_mul(*stride as i64)).wrapping_add(*more);
                }
            }
        }
        out.push(Span { at, size: place.size, kind });
    }

    fn element(&self, op: &Op) -> Option<i128> {
        match &op.kind {
            OpKind::Const(value) => Some(value.int()),
            OpKind::Address(..) | OpKind::Place(..) => self.peek(op).ok().map(|v| v.int()),
        }
    }
}
