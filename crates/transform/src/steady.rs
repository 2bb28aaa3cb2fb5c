//! Memory that nothing in a loop changes: guarded fields (`flow::ranges::guarded`) in loops that
//! store no such field, any memory in loops that store nothing.

use flow::ranges::guarded::{field_of, may_be_same, Guarded};
use mir::ir::*;
use typing::types::Qty;

/// What a loop does to memory.
pub struct Steady<'a> {
    program: &'a Program,
    body: &'a Body,
    guarded: &'a Guarded,
    /// Places that the loop writes; none if it does what may change any memory.
    written: Option<Vec<&'a Place>>,
}

impl<'a> Steady<'a> {
    /// Looks at the blocks.
    pub fn of(program: &'a Program, body: &'a Body, guarded: &'a Guarded, blocks: &[usize]) -> Steady<'a> {
        let mut written = Some(vec![]);
        for block in blocks.iter().filter_map(|&b| body.blocks.get(b)) {
            for stmt in &block.stmts {
                written = written.filter(|_| !stmt.is_unsafe).and_then(|mut all: Vec<&Place>| {
                    all.extend(guarded.writes(&stmt.kind)?);
                    Some(all)
                });
            }
        }
        Steady { program, body, guarded, written }
    }

    /// Whether the place, a number or a pointer of one word, holds the same as long as the loop
    /// runs. Its base is unwritten there.
    pub fn holds(&self, place: &Place) -> bool {
        let Some(written) = &self.written else { return false };
        let guarded = self.guarded.guarded_field(self.program, self.body, place);
        written.iter().all(|dest| {
            if dest.local_part().and_then(|l| self.body.locals.get(l.0 as usize)).is_some_and(|d| !d.address_taken) {
                return dest.base != place.base || place.proj.first() == Some(&Proj::Deref);
            }
            let (program, body) = (self.program, self.body);
            let same = || may_be_same(&program.types, field_of(program, body, dest), guarded);
            let harmless = |ty: Qty| self.guarded.is_harmless(&program.types, ty.ty);
            guarded.is_some() && !same() && mir::ty::place_ty(program, body, dest).is_ok_and(harmless)
        })
    }
}
