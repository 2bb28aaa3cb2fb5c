//! Slots: places that others can reach, which hold something owned and are no paths.
//!
//! What a slot holds is lent to variables, and to temporaries: as an argument of a leaf function,
//! which calls nothing of the program back and lets no other task run. Such a loan must not be in
//! force where a statement may empty a slot, whichever that is; so says `conflict`. A look is for
//! one access, to a temporary, and for a store to what it leads to as well, so for a look only other
//! code counts.
//!
//! Which statements do, the table of effects says: those that run other code, collect or wait, and
//! those that store, exchange, release or give away what is owned. A call that waits once it has
//! read its arguments (`[[lee::waits]]`: `printf`) is a leaf for these; after it, what was lent
//! before may be gone.

use mir::effects::{accesses, flags};
use mir::ir::*;

use super::effects::Report;
use super::lending::Doing;
use super::report::Finding;
use super::state::State;
use super::Ownership;
use crate::framework::Point;
use crate::leaf::{may_change_owners, touch, waits, Touch};
use crate::regions::Form;

/// Slots that a statement may empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slots {
    /// Those in the local.
    In(Local),
    /// All.
    All,
}

impl Ownership<'_> {
    /// Finds the loans of what slots hold, and looks at it.
    pub fn find_slot_loans(&mut self) {
        for (n, loan) in self.regions.loans.iter().enumerate() {
            let stmt = self.body.blocks.get(loan.at.block.0 as usize).and_then(|b| b.stmts.get(loan.at.stmt));
            // A cursor took out what it is at.
            let borrows = stmt.and_then(|stmt| stmt.kind.as_assign()).is_some_and(|(_, v)| v.as_borrow().is_some());
            let lends = borrows && loan.form == Form::Borrow && (loan.kind.lends_shared() || loan.kind.is_view());
            if loan.kind.is_look() && self.is_in_slot(n) {
                self.slot_looks.insert(n);
                continue;
            }
            let of_slot = || self.is_in_slot(n) && self.find(&loan.place).is_none_or(|found| !found.exact);
            if loan.form == Form::Result || lends && of_slot() {
                self.slot_loans.insert(n);
            }
        }
    }

    /// Whether a loan lends what a slot holds: something owned that is not a path and that no view
    /// sees.
    fn is_in_slot(&self, loan: usize) -> bool {
        let path = self.lent.get(loan).copied().flatten();
        path.is_none() && self.regions.loans.get(loan).is_some_and(|l| !l.seen && self.owns_place(&l.place))
    }

    /// Looks at slots that are kept: a slot is looked at for one access only.
    pub fn kept_looks(&self, found: &mut Vec<Finding>) {
        let looks = self.slot_looks.iter().filter_map(|n| Some((n, self.regions.loans.get(n)?)));
        found.extend(looks.filter_map(|(n, loan)| {
            let local = self.live.variable(self.body, n)?;
            Some(Finding::slot_kept(loan.span, local))
        }));
    }

    /// If the statement may empty slots, what was lent of one is not used by it, or after it.
    pub fn slots_emptied(&self, s: &mut State, at: Point, stmt: &Stmt, report: Report) {
        if self.slot_loans.iter().chain(self.slot_looks.iter()).next().is_none() {
            return;
        }
        let (from, which) = match self.may_empty(&stmt.kind) {
            Some(which) => (self.after_store(at, &stmt.kind).unwrap_or(at), which),
            None if stmt.kind.as_call().is_some_and(|call| waits(self.program, *call.ty)) => {
                (Point { stmt: at.stmt + 1, ..at }, Slots::All)
            }
            None => return,
        };
        let by_others = stmt.kind.as_call().is_some() || flags(&stmt.kind).waits;
        while let Some(lent) = self.in_the_way(s, from, Doing::Emptied { which, by_others }) {
            if let Some(loan) = self.regions.loans.get(lent.number) {
                report(Finding::slot_emptied(loan.span, loan.place.clone(), stmt.span, lent));
            }
            // Reported: it is over, and so is what was lent to the function that found it.
            let mut over = vec![lent.number];
            if self.regions.loans.get(lent.number).is_some_and(|loan| loan.form == Form::Result) {
                self.live.held_by(s, lent.holder, &mut over);
            }
            over.into_iter().for_each(|loan| self.live.end(s, loan));
        }
    }

    /// If the statement only stores, or drops what it stores to next: the point after the store. The
    /// pointer that leads to the place is still good for that: what the place held does not own what
    /// the place lies in.
    fn after_store(&self, at: Point, kind: &StmtKind) -> Option<Point> {
        if kind.as_assign().is_some() && !may_change_owners(kind) {
            return Some(Point { stmt: at.stmt + 1, ..at });
        }
        let next = self.body.blocks.get(at.block.0 as usize)?.stmts.get(at.stmt + 1)?;
        is_store_after(kind, &next.kind).then_some(Point { stmt: at.stmt + 2, ..at })
    }

    /// Whether what a loan is of lies in one of the slots.
    pub(super) fn is_of_slots(&self, loan: usize, which: Slots) -> bool {
        self.slot_loans.contains(loan)
            && match which {
                Slots::All => true,
                // What a lender found in what a local owns keeps the loan of that.
                Slots::In(local) => {
                    let of = self.regions.loans.get(loan).filter(|loan| loan.form != Form::Result);
                    let of = of.map(|loan| self.resolver.place(&loan.place));
                    of.is_some_and(|place| place.base_local() == Some(local))
                }
            }
    }

    /// The slots that the statement may empty.
    fn may_empty(&self, kind: &StmtKind) -> Option<Slots> {
        if let Some(call) = kind.as_call() {
            let leaf = self.known.leaves.is_leaf(self.program, self.body, &call);
            return if leaf { call.dest.as_ref().and_then(|dest| self.changed(dest)) } else { Some(Slots::All) };
        }
        if may_change_owners(kind) {
            return Some(Slots::All);
        }
        // What goes to a temporary is still there.
        let dest = kind.as_assign().and_then(|(dest, _)| dest.as_local());
        let is_temp = |l: Local| self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
        if dest.is_some_and(is_temp) {
            return None;
        }
        let mut found = None;
        accesses(kind, &mut |place, kind, _| {
            let slots = match touch(kind) {
                Touch::Releases => Some(Slots::All),
                Touch::Changes => self.changed(place),
                Touch::Keeps => None,
            };
            found = match (found, slots) {
                (None, other) | (other, None) => other,
                (Some(a), Some(b)) if a == b => Some(a),
                (Some(_), Some(_)) => Some(Slots::All),
            };
        });
        found
    }

    /// The slots that may be another after a change of the place: of a local that nothing points to
    /// only those in it.
    fn changed(&self, place: &Place) -> Option<Slots> {
        if !self.owns_place(place) {
            return None;
        }
        let alone = |local: &Local| self.body.locals.get(local.0 as usize).is_some_and(|decl| !decl.address_taken);
        Some(place.local_part().filter(alone).map_or(Slots::All, Slots::In))
    }
}

/// Whether the first statement drops what the place holds that the second one stores to, and the
/// second reads nothing that could have been freed.
pub(crate) fn is_store_after(drop: &StmtKind, store: &StmtKind) -> bool {
    let (Some(slot), Some((dest, value))) = (drop.as_drop_slot(), store.as_assign()) else { return false };
    let steady = |operand: &Operand| operand.place().is_none_or(|place| place.as_local().is_some());
    slot == dest && slot.indices().all(steady) && value.as_use().is_some_and(steady)
}
