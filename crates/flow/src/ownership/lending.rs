//! Loans: what may not happen to a path while it is lent.

use mir::ir::*;
use mir::ty::{owns, place_ty};
use source::Span;
use typing::tree::BorrowKind;
use typing::types::Own;

use super::effects::Report;
use super::live::Part;
use super::paths::{cursor_over, Found, NodeId, Over};
use super::report::{Finding, Verb};
use super::slots::Slots;
use super::state::{State, Test, MOVED, UNSET};
use super::Ownership;
use crate::framework::{count_work, Point};
use crate::lenders::is_read_only;
use crate::regions::{Form, Loan};

/// What keeps a loan in force, and where that matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent {
    /// The loan.
    pub number: usize,
    /// What holds it and is used later; of an `unpack`, what was unpacked.
    pub holder: Part,
    /// The point at which it is in force.
    pub at: Point,
}

/// A loan that something may hold.
struct Held<'a> {
    number: usize,
    loan: &'a Loan,
    /// What is lent; none if it is a slot.
    node: Option<NodeId>,
}

/// What happens to a place, or to the path that it is.
#[derive(Clone, Copy)]
pub(super) enum Doing<'a> {
    /// The path is given up, replaced or exchanged.
    Changed(NodeId),
    /// What the slot holds is dropped or exchanged; the path that it is reached through.
    SlotChanged(&'a Place, Option<NodeId>),
    /// The path, or what lies below it, is used.
    Used(NodeId),
    /// The path is lent.
    Lent(NodeId, BorrowKind),
    /// The path is lent exclusively to a call that begins.
    Called(NodeId),
    /// Slots may be emptied, by other code or by the statement itself.
    Emptied { which: Slots, by_others: bool },
}

/// Whether two steps may lead to the same part: elements are not distinguished, nor are members of
/// a union and their payload.
fn may_be_same(a: &Proj, b: &Proj) -> bool {
    a == b || a.index().is_some() && b.index().is_some()
}

/// Whether one of the places may lie in the other, or be reached through it.
fn is_along(a: &Place, b: &Place) -> bool {
    a.base == b.base && a.proj.iter().zip(&b.proj).all(|(a, b)| may_be_same(a, b))
}

impl Ownership<'_> {
    /// The loans that something may hold at a point, but for the one that begins there.
    fn held<'s>(&'s self, s: &'s State, at: Point) -> impl Iterator<Item = Held<'s>> + 's {
        self.live.held(s).into_iter().filter_map(move |number| {
            let loan = self.regions.loans.get(number).filter(|loan| loan.at != at)?;
            let node = self.lent.get(number).copied().flatten().and_then(|node| self.lent_now(s, node));
            Some(Held { number, loan, node })
        })
    }

    /// The loan is in force if what holds it is used later.
    fn in_force(&self, s: &State, at: Point, held: &Held) -> Option<Lent> {
        let holder = self.live.holder(s, held.number, at)?;
        Some(Lent { number: held.number, holder, at })
    }

    /// The first loan in force that must not be while this happens.
    pub(super) fn in_the_way(&self, s: &State, at: Point, doing: Doing) -> Option<Lent> {
        let mut held = self.held(s, at).filter(|held| self.conflict(s, at, doing, held));
        held.find_map(|held| self.in_force(s, at, &held))
    }

    /// Whether what happens must not happen while the loan is in force.
    fn conflict(&self, s: &State, at: Point, doing: Doing, held: &Held) -> bool {
        let loan = held.loan;
        match (doing, held.node) {
            // The address of a number in a path leads to nothing else (`Paths`).
            (_, Some(lent)) if loan.form == Form::Address && self.paths.nodes[lent].owned => false,
            (Doing::Changed(node), Some(lent)) => self.overlap(lent, node),
            // A view sees into slots. Arrays are not paths: their loans are found by the place.
            (Doing::SlotChanged(place, node), lent) => {
                let is_seen = || match lent {
                    Some(lent) => node.is_some_and(|node| self.paths.is_prefix(lent, node)),
                    None => {
                        let is_array = self.lent.get(held.number).copied().flatten().is_none();
                        is_array && is_along(&self.resolver.place(&loan.place), place)
                    }
                };
                loan.kind.is_view() && is_seen() || self.is_copied(loan, place)
            }
            (Doing::Emptied { which, by_others }, _) => {
                self.is_of_slots(held.number, which) || by_others && self.slot_looks.contains(held.number)
            }
            // While a cursor is on a place, the place is used through it only.
            (Doing::Used(node), Some(lent)) => loan.form == Form::Cursor && self.paths.is_prefix(lent, node),
            // What only looks has nothing against a loan.
            (Doing::Lent(..) | Doing::Called(_), _) if loan.kind.is_look() => false,
            (Doing::Called(node), Some(lent)) => self.overlap(lent, node),
            (Doing::Lent(node, kind), Some(lent)) if self.overlap(lent, node) => {
                // The loan of an exclusive argument is a shared one until the call begins.
                let exclusive = loan.is_exclusive();
                if kind.is_exclusive() || exclusive && !self.is_reserved(s, at, held) {
                    return true;
                }
                match (loan.kind.is_view(), kind.is_view()) {
                    _ if loan.kind.is_read_only() && kind.is_read_only() => false,
                    _ if loan.kind.is_exclusive() && self.is_reserved(s, at, held) => false,
                    (false, false) => self.crosses(lent, node),
                    (false, true) if loan.to_leaves => self.live.holders(s, held.number, at).any(|p| self.writes(p)),
                    _ => true,
                }
            }
            (Doing::Changed(_) | Doing::Used(_) | Doing::Lent(..) | Doing::Called(_), _) => false,
        }
    }

    /// Whether the words in the slot are among those that were copied when the value was lent: it lies in
    /// that, or that in it, through no pointer.
    fn is_copied(&self, loan: &Loan, slot: &Place) -> bool {
        let lent = self.resolver.place(&loan.place);
        let shorter = lent.proj.len().min(slot.proj.len());
        let mut beyond = lent.proj.iter().skip(shorter).chain(slot.proj.iter().skip(shorter));
        !loan.kind.by_address()
            && !loan.kind.is_look()
            && self.is_borrow(loan)
            && is_along(&lent, slot)
            && beyond.all(|step| *step != Proj::Deref)
    }

    /// What is lent below a cursor that has ended is lent below what the cursor was on.
    fn lent_now(&self, s: &State, mut node: NodeId) -> Option<NodeId> {
        // A cursor over what another one is at begins later: each step leads to an earlier one.
        for _ in 0..=self.cursors.len() {
            let root = self.paths.nodes[node].root;
            if !self.cursors.contains_key(&root) || s.live.contains(root.0 as usize) {
                return Some(node);
            }
            node = self.cursor_path(root)?;
        }
        None
    }

    /// The owned path that a cursor is on; none if it is a slot.
    fn cursor_path(&self, cursor: Local) -> Option<NodeId> {
        let place = self.cursors.get(&cursor)?;
        match cursor_over(self.program, self.body, &self.resolver, place) {
            Over::Path => self.find(place).map(|f| f.node),
            _ => None,
        }
    }

    /// A cursor ends: what lies in a slot is lent no longer.
    pub fn cursor_ends(&self, s: &State, at: Point, cursor: Local, span: Span, report: Report) {
        if self.cursor_path(cursor).is_some() {
            return;
        }
        for number in self.live.held(s) {
            let node = self.lent.get(number).copied().flatten();
            if node.is_none_or(|node| self.paths.nodes[node].root != cursor) {
                continue;
            }
            if let Some(holder) = self.live.holder(s, number, at).filter(|holder| holder.local != cursor) {
                report(Finding::slot_left(span, Lent { number, holder, at }));
                return;
            }
        }
    }

    /// Other tasks may run: no cursor is on a slot that they can reach, whose content is taken out
    /// meanwhile. What they stored there would be dropped at the put-back.
    pub fn cursor_over_wait(&self, s: &State, span: Span, started: Option<Span>) -> Option<Finding> {
        let begun = |cursor: &Local| {
            let root = self.paths.root(*cursor).and_then(|root| self.paths.nodes[root].children.first());
            s.live.contains(cursor.0 as usize) && root.is_none_or(|&node| s.of(node) & !UNSET != 0)
        };
        let shared = |cursor: &Local| {
            let Some(place) = self.cursors.get(cursor) else { return false };
            match cursor_over(self.program, self.body, &self.resolver, place) {
                Over::Slot(Some(path)) => {
                    let ty = place_ty(self.program, self.body, &path).map(|q| q.ty);
                    let pointer = ty.ok().and_then(|ty| self.program.types.as_pointer(ty));
                    pointer.is_some_and(|p| p.own != Own::Unique)
                }
                Over::Slot(None) | Over::Content => true,
                Over::Path => false,
            }
        };
        // Of several, the first in the text.
        let waiting = self.cursors.keys().filter(|c| begun(c) && shared(c)).min_by_key(|c| c.0);
        waiting.map(|&cursor| Finding::slot_waits(span, cursor, started))
    }

    fn overlap(&self, a: NodeId, b: NodeId) -> bool {
        self.paths.is_prefix(a, b) || self.paths.is_prefix(b, a)
    }

    /// What is given up, replaced or exchanged must not be lent: of a path neither a prefix, nor
    /// anything below it; of a slot neither what it is reached through as a view, which sees into
    /// it, nor the array that it is an element of.
    pub fn conflicts(&self, s: &State, at: Point, place: &Place, verb: Verb, span: Span, report: Report) {
        if self.live.pairs() == 0 {
            return;
        }
        if let Some(found) = self.find(place).filter(|f| f.exact) {
            if let Some(lent) = self.in_the_way(s, at, Doing::Changed(found.node)) {
                report(Finding::lent(span, found.node, lent, verb));
            }
            return;
        }
        if !self.owns_place(place) {
            return;
        }
        let slot = self.resolver.place(place);
        let through = self.find(&slot).map(|found| found.node);
        let Some(lent) = self.in_the_way(s, at, Doing::SlotChanged(&slot, through)) else { return };
        match through.filter(|_| self.lent.get(lent.number).copied().flatten().is_some()) {
            Some(_) if source::broken!(18) => {}
            Some(node) => report(Finding::lent(span, node, lent, verb)),
            None => report(Finding::lent_slot(span, slot, lent, verb)),
        }
    }

    /// The storage of a local ends: no pointer into it may be used any more.
    pub fn storage_ends(&self, s: &State, at: Point, local: Local, span: Span, report: Report) {
        for &number in self.into.get(&local).into_iter().flatten() {
            count_work(1);
            if let Some(holder) = self.live.holder(s, number, at) {
                report(Finding::ended(span, local, Lent { number, holder, at }));
                return;
            }
        }
        self.region_ends(s, at, local, span, report);
    }

    /// The handle of an arena ends, or the key that a region was made with: no pointer into the
    /// region may be used any more, and the next arena of that name is another one.
    pub fn region_ends(&self, s: &State, at: Point, local: Local, span: Span, report: Report) {
        for (number, loan) in self.regions.loans.iter().enumerate() {
            if loan.form != Form::Region || loan.place.as_local() != Some(local) {
                continue;
            }
            if let Some(holder) = self.live.reader(s, number, at) {
                report(Finding::region_ended(span, Lent { number, holder, at }));
            }
        }
    }

    /// While a cursor is on a place, the place is used through it only.
    pub fn accessed(&self, s: &State, at: Point, found: Found, span: Span, report: Report) {
        if self.cursors.is_empty() {
            return;
        }
        if let Some(lent) = self.in_the_way(s, at, Doing::Used(found.node)) {
            report(Finding::lent(span, found.node, lent, Verb::Used));
        }
    }

    /// Lends a place.
    pub fn lend(&self, s: &mut State, at: Point, kind: BorrowKind, place: &Place, span: Span, report: Report) {
        let Some(&number) = self.regions.loan_at.get(&at) else { return };
        let (form, seen) = self.regions.loans.get(number).map_or((Form::Borrow, false), |l| (l.form, l.seen));
        if kind.is_look() {
            self.read(s, at, place, span, report);
            return self.lends_facts(s, number);
        }
        if let Some(lent) = place.local_part().filter(|_| kind.is_view()).and_then(|local| self.found_in(s, at, local))
        {
            report(Finding::lent_slot(span, place.clone(), lent, Verb::Lent(kind)));
        }
        let to_leaves = self.regions.loans.get(number).is_some_and(|loan| loan.to_leaves);
        let against = if to_leaves { BorrowKind::Shared } else { kind };
        match self.find(place).filter(|f| f.exact) {
            None => {
                let owned = place_ty(self.program, self.body, place).is_ok_and(|q| owns(&self.program.types, q.ty));
                let looks = kind.is_view() && seen;
                if owned && kind != BorrowKind::Slot && !looks && !self.slot_loans.contains(number) {
                    let verb = if form == Form::Unpack { Verb::Unpacked } else { Verb::Borrowed };
                    report(Finding::slot(span, place.clone(), verb));
                }
                match self.find(place).filter(|f| !f.slot) {
                    Some(found) => self.loan_conflicts(s, at, against, found.node, span, report),
                    None if kind == BorrowKind::Slot
                        && self.keeps_lent_value(place, span, Verb::Lent(kind), report) =>
                    {
                        self.stored_in_content(s, place);
                        self.conflicts(s, at, place, Verb::Lent(kind), span, report);
                    }
                    None => {}
                }
            }
            Some(found) => {
                self.read(s, at, place, span, report);
                let node = found.node;
                if s.of(node) & MOVED == 0 {
                    self.whole(s, node, span, Verb::Borrowed, report);
                    let root = self.paths.nodes[node].root.0 as usize;
                    let swaps = kind == BorrowKind::Slot && matches!(form, Form::Borrow | Form::Cursor);
                    if swaps && self.lent_roots.contains(root) && !self.paths.is_behind_pointer(node) {
                        report(Finding::lent_root(span, node, Verb::Assigned));
                    }
                    self.loan_conflicts(s, at, against, node, span, report);
                }
            }
        }
        self.lends_facts(s, number);
    }

    /// What keeps a loan of the local's address in force: a result of a lender, through which more
    /// can be done than a view allows.
    fn found_in(&self, s: &State, at: Point, local: Local) -> Option<Lent> {
        let into = self.into.get(&local)?;
        let found = |held: &Held| {
            let slot = held.loan.kind == BorrowKind::Slot && held.loan.form == Form::Borrow;
            slot && into.contains(&held.number) && !self.is_reserved(s, at, held)
        };
        self.held(s, at).filter(found).find_map(|held| {
            let holder = self.live.holders(s, held.number, at).find(|&part| self.writes(part))?;
            Some(Lent { number: held.number, holder, at })
        })
    }

    /// Whether something that a view could see may be written through the pointer: not through one
    /// to plain `const` data.
    fn writes(&self, holder: Part) -> bool {
        let ty = self.body.locals.get(holder.local.0 as usize).map(|decl| decl.ty.ty);
        ty.is_none_or(|ty| !is_read_only(self.program, ty))
    }

    /// Whether one of the paths leads to the other through an owned field.
    fn crosses(&self, a: NodeId, b: NodeId) -> bool {
        let (outer, inner) = if self.paths.is_prefix(a, b) { (a, b) } else { (b, a) };
        self.paths.crosses_owned(outer, inner)
    }

    /// What is lent must not be lent in a way that does not agree with it.
    pub fn loan_conflicts(&self, s: &State, at: Point, kind: BorrowKind, node: NodeId, span: Span, report: Report) {
        if let Some(lent) = self.in_the_way(s, at, Doing::Lent(node, kind)) {
            report(Finding::lent(span, node, lent, Verb::Lent(kind)));
        }
    }

    /// Whether it is the loan of an exclusive argument that waits for its call: only the temporaries
    /// that it was made for may be used later.
    fn is_reserved(&self, s: &State, at: Point, held: &Held) -> bool {
        let loan = held.loan;
        let of_temp = |local: &Local| self.body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
        self.is_borrow(loan)
            && loan.makers.iter().all(of_temp)
            && self.live.is_held_by(s, held.number, at, &loan.makers)
    }

    /// Whether a value that a local gets lends, and no cursor, `open` or `unpack` does.
    fn is_borrow(&self, loan: &Loan) -> bool {
        if loan.form != Form::Borrow {
            return false;
        }
        let stmt = self.body.blocks.get(loan.at.block.0 as usize).and_then(|block| block.stmts.get(loan.at.stmt));
        stmt.and_then(|stmt| stmt.kind.as_assign())
            .is_some_and(|(dest, value)| dest.as_local().is_some() && value.as_borrow().is_some())
    }

    /// A call begins: what its exclusive arguments are lent is lent to nothing else any more.
    pub fn call_begins(&self, s: &State, at: Point, args: &[Operand], report: Report) {
        if !self.lends_exclusively {
            return;
        }
        let taken = |lent: &Lent| args.iter().any(|arg| crate::framework::whole_local(arg) == Some(lent.holder.local));
        for mine in self.held(s, at).filter(|held| held.loan.kind.is_exclusive()) {
            let Some(node) = mine.node else { continue };
            // A leaf uses it as a shared pointer.
            let agrees = |other: &Held| {
                let shared = other.loan.to_leaves || other.loan.kind.lends_shared();
                mine.loan.to_leaves && shared && other.node.is_some_and(|other| !self.crosses(node, other))
            };
            // What a lender found has the loan of the lender's argument.
            let is_found = |lent: &Lent| mine.loan.to_leaves && !mine.loan.makers.contains(&lent.holder.local);
            if !self.in_force(s, at, &mine).is_some_and(|lent| taken(&lent) && !is_found(&lent)) {
                continue;
            }
            let others = self.held(s, at).filter(|other| other.number != mine.number && !agrees(other));
            let mut others = others.filter(|other| self.conflict(s, at, Doing::Called(node), other));
            let other = others.find_map(|other| Some((self.in_force(s, at, &other)?, other)));
            if let Some((lent, other)) = other.filter(|_| !source::broken!(30)) {
                // The later of the two is the one to be reported.
                let earlier = other.loan.at < mine.loan.at;
                let (later, first) = if earlier { (mine, Some(lent)) } else { (other, self.in_force(s, at, &mine)) };
                if let (Some(node), Some(first)) = (later.node, first) {
                    report(Finding::lent(later.loan.span, node, first, Verb::Lent(later.loan.kind)));
                }
                return;
            }
        }
    }

    /// What lies below a loan that is not a view may be changed through it as long as it is in
    /// force: nothing is known of it from the beginning of the loan on, and nothing is learnt
    /// before its end (`is_certain`).
    pub fn lends_facts(&self, s: &mut State, loan: usize) {
        let (Some(site), Some(node)) = (self.regions.loans.get(loan), self.lent.get(loan).copied().flatten()) else {
            return;
        };
        if !site.kind.is_read_only() {
            self.unknown_below(s, node, site.kind == BorrowKind::Slot);
        }
    }

    /// Whether what is known of the path stays true until its next use: no loan is in force through
    /// which it can change.
    pub fn is_certain(&self, s: &State, at: Point, node: NodeId) -> bool {
        let mut below = self.held(s, at).filter(|held| {
            let slot = held.loan.kind == BorrowKind::Slot;
            let reaches = |lent| slot || self.paths.steps_between(lent, node).contains(&Proj::Deref);
            let lent = held.node.filter(|&lent| self.paths.is_prefix(lent, node));
            !held.loan.kind.is_read_only() && lent.is_some_and(reaches)
        });
        !below.any(|held| self.in_force(s, at, &held).is_some() && !source::broken!(22))
    }

    /// A temporary says something about a path.
    pub fn learn(&self, s: &mut State, at: Point, test: Test) {
        if self.is_certain(s, at, test.node()) {
            s.learn(test);
        }
    }
}
