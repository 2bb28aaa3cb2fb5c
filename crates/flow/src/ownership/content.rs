//! What is owned inside of a path without being a path of its own: the elements of arrays, what
//! lies below them, members of unions. The path's state stands for all of it, so a store to any of
//! it means that the path may own more than is tracked separately.

use mir::ir::*;
use mir::ty::{owns, prefix_ty};
use source::Span;
use typing::types::Own;

use super::effects::Report;
use super::paths::NodeId;
use super::report::{Finding, Verb};
use super::state::{State, MOVED, NULL, OWNED, UNSET};
use super::Ownership;

impl Ownership<'_> {
    /// The path that owns what a place holds, if the place lies in it without being a path itself.
    fn owner_of(&self, place: &Place) -> Option<(NodeId, bool)> {
        let place = self.resolver.place(place);
        let found = self.find(&place).filter(|f| !f.exact)?;
        let mut behind = false;
        for n in found.steps..place.proj.len() {
            if place.proj.get(n) != Some(&Proj::Deref) {
                continue;
            }
            behind = true;
            let pointer = prefix_ty(self.program, self.body, &place, n).ok()?;
            let own = self.program.types.as_pointer(pointer.ty)?.own;
            if !matches!(own, Own::Unique | Own::Rc | Own::Param(_)) {
                return None;
            }
        }
        Some((found.node, behind))
    }

    /// Something that owns may be stored at the place, which is not a path: the path that it lies
    /// in is not empty any more.
    pub fn stored_in_content(&self, s: &mut State, place: &Place) {
        if !self.owns_place(place) {
            return;
        }
        let Some((node, behind)) = self.owner_of(place) else { return };
        if s.of(node) == UNSET && !behind {
            // The first part of an aggregate that gets its value part by part.
            s.set_one(node, NULL, 0);
        }
        if s.of(node) & (MOVED | UNSET) != 0 {
            return;
        }
        s.rich.insert(node);
        s.untest(node);
        if !behind && s.has(node, NULL) {
            s.set_one(node, OWNED, 0);
        }
    }

    /// Elements are copied to where the pointer leads: what is owned there is not known any more.
    pub fn elements_copied(&self, s: &mut State, to: &Operand) {
        let Some(place) = to.place() else { return };
        let target = self.resolver.place(&place.then(Proj::Deref));
        let Some(found) = self.find(&target) else { return };
        if s.of(found.node) & (MOVED | UNSET) == 0 {
            self.unknown_below(s, found.node, found.exact);
        }
    }

    /// What lies behind the path's pointers may own something, or be null, from now on; also what
    /// it holds by value, if `by_value`.
    pub fn unknown_below(&self, s: &mut State, node: NodeId, by_value: bool) {
        for below in self.paths.below(node) {
            s.rich.insert(below);
            if !by_value && !self.paths.steps_between(node, below).contains(&Proj::Deref) {
                continue;
            }
            s.untest(below);
            if s.has(below, NULL) && !s.has(below, MOVED) {
                s.set_one(below, OWNED, 0);
            }
        }
    }

    /// Where a place is in what was lent to this function *by value*: nothing that owns is stored
    /// there, swapped, lent as a slot, walked by a cursor or opened, since the caller has the same
    /// words.
    pub fn lent_by_value(&self, place: &Place) -> Option<Place> {
        let place = self.resolver.place(place);
        let local = place.local_part()?;
        (self.lent_roots.contains(local.0 as usize) && self.owns_place(&place)).then_some(place)
    }

    /// Reports that a part of a lent value is changed.
    pub fn keeps_lent_value(&self, place: &Place, span: Span, verb: Verb, report: Report) -> bool {
        let Some(place) = self.lent_by_value(place) else { return true };
        self.changes_lent(place, span, verb, report);
        false
    }

    /// Reports that a place of a lent value is changed. A parameter whose address is taken has no
    /// paths.
    pub fn changes_lent(&self, place: Place, span: Span, verb: Verb, report: Report) {
        report(match self.find(&place) {
            Some(found) => Finding::lent_root(span, found.node, verb),
            None => Finding::lent_part(span, place, verb),
        });
    }

    /// Whether a value of the place owns something.
    pub fn owns_place(&self, place: &Place) -> bool {
        mir::ty::place_ty(self.program, self.body, place).is_ok_and(|q| owns(&self.program.types, q.ty))
    }
}
