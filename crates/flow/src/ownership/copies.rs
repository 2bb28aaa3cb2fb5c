//! One owner for one object: no statement copies an owned value into something that owns.
//!
//! Lowering reads an owned place by `Copy` only to look at it. Where the source takes the value of
//! an assignment as an owned one (`z = y = x;`, `eat(y = x);`) there is such a copy into an owner,
//! and two would own one object.

use mir::bits::BitSet;
use mir::effects::{stmt_places, term_places, Access};
use mir::ir::*;
use mir::ty::{operand_ty, owns};
use source::Span;

use super::report::Finding;
use super::Ownership;

impl Ownership<'_> {
    /// Finds all such copies of the body. (A local that `unpack` lends is set by a copy, and lent.)
    pub fn copied_owners(&self, found: &mut Vec<Finding>) {
        let taken = self.taken_locals();
        for block in &self.body.blocks {
            for stmt in block.stmts.iter().filter(|s| !s.is_unsafe) {
                if let Some(end) = stmt.kind.as_dispose() {
                    self.copied(end.value, stmt.span, found);
                }
                let stored = stmt.kind.as_assign().and_then(|(dest, value)| Some((dest, value.same_address()?)));
                if let Some((dest, value)) = stored {
                    let takes = match dest.as_local() {
                        Some(local) => taken.contains(local.0 as usize) || !self.is_temp_local(local),
                        None => true,
                    };
                    if takes && self.owns_operand(&Operand::Copy(dest.clone())) {
                        self.copied(value, stmt.span, found);
                    }
                }
                if let Some(Call { args, ty, .. }) = stmt.kind.as_call() {
                    let func = self.program.types.as_func(*ty);
                    for (n, arg) in args.iter().enumerate() {
                        let param = func.as_ref().and_then(|f| f.params.get(n));
                        if param.is_some_and(|p| p.consume) {
                            self.copied(arg, stmt.span, found);
                        }
                    }
                }
                // What a message owns goes with it, and into a set.
                let into_channel = match stmt.kind.action() {
                    Action::Send | Action::Channel => true,
                    Action::None
                    | Action::Storage
                    | Action::Check
                    | Action::Assign
                    | Action::Fill
                    | Action::Call
                    | Action::Assembly
                    | Action::Copy
                    | Action::Arguments
                    | Action::Owner
                    | Action::Region => false,
                };
                mir::effects::parts(&stmt.kind, &mut |part| {
                    if let (true, mir::effects::Part::Operand(arg, mir::effects::Kind::Copy)) = (into_channel, part) {
                        self.copied(arg, stmt.span, found);
                    }
                });
            }
            if let Some(value) = block.term.kind.returned() {
                let function = self.program.functions.get(self.body.func.func.0 as usize);
                let func = function.and_then(|f| self.program.types.as_func(f.ty));
                if func.is_some_and(|f| owns(&self.program.types, f.ret)) {
                    self.copied(value, block.term.span, found);
                }
            }
        }
    }

    fn copied(&self, value: &Operand, span: Span, found: &mut Vec<Finding>) {
        let Operand::Copy(place) = value else { return };
        if self.owns_operand(value) && !self.is_unpacked(place) {
            found.push(Finding::copied(span));
        }
    }

    fn owns_operand(&self, value: &Operand) -> bool {
        operand_ty(self.program, self.body, value).is_ok_and(|ty| owns(&self.program.types, ty))
    }

    fn is_temp_local(&self, local: Local) -> bool {
        self.body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp)
    }

    /// Whether the place is a part of a struct that some `unpack` lends.
    pub fn is_unpacked(&self, place: &Place) -> bool {
        self.unpacked.iter().any(|whole| whole.base == place.base && place.proj.starts_with(&whole.proj))
    }

    /// Locals that something is moved out of.
    fn taken_locals(&self) -> BitSet {
        let mut taken = BitSet::empty(self.body.locals.len());
        let mut look = |place: &Place, access| {
            if let Some(local) = place.as_local().filter(|_| access == Access::Move) {
                taken.insert(local.0 as usize);
            }
        };
        for block in &self.body.blocks {
            for stmt in &block.stmts {
                stmt_places(&stmt.kind, &mut look);
            }
            term_places(&block.term.kind, &mut look);
        }
        taken
    }
}
