//! Which locals, and which of their fields, are read later: the verifier's own reading, by a plain
//! worklist over blocks.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{accesses, term_places, Kind};
use mir::ir::*;
use typing::types::RecordKind;

/// Fields of a struct that are followed apart, at most; what comes after them is one.
const FIELDS: u32 = 8;

/// By block and statement: the locals, or fields of locals, that are read there or later.
#[derive(Debug, Default)]
pub(super) struct ReadLater {
    bits: Bits,
    blocks: Vec<Vec<BitSet>>,
}

/// The bits of a local: one for all of a scalar; of a struct one for each of its first fields, and
/// one for the rest.
#[derive(Debug, Default)]
struct Bits {
    first: Vec<usize>,
    count: usize,
}

impl Bits {
    fn new(program: &Program, body: &Body) -> Bits {
        let mut bits = Bits::default();
        for decl in &body.locals {
            bits.first.push(bits.count);
            // The members of a union lie over each other.
            let record = program.types.as_record(decl.ty.ty).map(|id| program.types.record(id).kind);
            bits.count += if record == Some(RecordKind::Struct) { FIELDS as usize + 1 } else { 1 };
        }
        bits
    }

    /// The bits of a local, or of one of its fields.
    fn of(&self, local: Local, field: Option<u32>) -> std::ops::Range<usize> {
        let n = local.0 as usize;
        let first = self.first.get(n).copied().unwrap_or(self.count);
        let end = self.first.get(n + 1).copied().unwrap_or(self.count);
        match field {
            Some(field) if end - first > 1 => {
                let at = first + field.min(FIELDS) as usize;
                at..at + 1
            }
            _ => first..end,
        }
    }

    /// The bits of what a place lies in: a local, or one of its fields.
    fn of_place(&self, place: &Place) -> std::ops::Range<usize> {
        match place.base_local() {
            Some(local) => self.of(local, first_field(place)),
            None => 0..0,
        }
    }
}

fn first_field(place: &Place) -> Option<u32> {
    match place.proj.first() {
        Some(Proj::Field(n)) => Some(*n),
        Some(Proj::Deref | Proj::Index(_)) | None => None,
    }
}

impl ReadLater {
    pub fn new(program: &Program, body: &Body) -> ReadLater {
        let cfg = Cfg::new(body);
        let bits = Bits::new(program, body);
        let locals = bits.count;
        let mut entry: Vec<BitSet> = body.blocks.iter().map(|_| BitSet::empty(locals)).collect();
        let mut blocks = vec![vec![]; body.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for &id in cfg.reverse_postorder().iter().rev() {
                let n = id.0 as usize;
                let Some(block) = body.blocks.get(n) else { continue };
                let mut live = BitSet::empty(locals);
                for to in cfg.successors(id) {
                    if let Some(set) = entry.get(to.0 as usize) {
                        live.union(set);
                    }
                }
                term_places(&block.term.kind, &mut |place, _| read(&bits, &mut live, place));
                let mut points = vec![live.clone()];
                for stmt in block.stmts.iter().rev() {
                    step(&bits, &mut live, &stmt.kind);
                    points.push(live.clone());
                }
                points.reverse();
                if let Some(set) = entry.get_mut(n) {
                    changed |= set.union(&live);
                }
                if let Some(slot) = blocks.get_mut(n) {
                    *slot = points;
                }
            }
        }
        ReadLater { bits, blocks }
    }

    /// Whether what lies in the local on the way of fields is read at the point or later.
    pub fn contains(&self, at: (BlockId, usize), local: Local, way: &[u32]) -> bool {
        let point = self.blocks.get(at.0 .0 as usize).and_then(|points| points.get(at.1));
        point.is_some_and(|set| self.bits.of(local, way.first().copied()).any(|bit| set.contains(bit)))
    }
}

fn read(bits: &Bits, live: &mut BitSet, place: &Place) {
    for bit in bits.of_place(place) {
        live.insert(bit);
    }
}

fn step(bits: &Bits, live: &mut BitSet, kind: &StmtKind) {
    let mut reads = vec![];
    accesses(kind, &mut |place, kind, _| match kind {
        Kind::Begin | Kind::End => bits.of_place(place).for_each(|bit| live.remove(bit)),
        Kind::Write if !place.has_deref() => {
            // A whole local, or a whole field that has a bit of its own.
            let is_whole = match first_field(place) {
                Some(field) => field < FIELDS && place.proj.len() == 1,
                None => place.proj.is_empty(),
            };
            if is_whole {
                bits.of_place(place).for_each(|bit| live.remove(bit));
            }
        }
        // Taking an address is not a use: what takes it may only write there.
        Kind::Address(_) if !place.has_deref() => {}
        Kind::Mention => {}
        Kind::Write
        | Kind::Address(_)
        | Kind::Read
        | Kind::Copy
        | Kind::Move
        | Kind::Exchange
        | Kind::Step
        | Kind::Lend(_)
        | Kind::Drop
        | Kind::Free => reads.push(place.clone()),
    });
    reads.iter().for_each(|place| read(bits, live, place));
}
