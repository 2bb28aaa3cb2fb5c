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
use super::state::{State, Test, MOVED, UNSET};
use super::Ownership;
use crate::framework::{count_work, Point};
use crate::regions::{Form, Loan};

/// What keeps a loan in force, and where that matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent {
    /// The loan.
    pub number: usize,
    /// What holds it and is used later.
    pub holder: Part,
    /// The point at which it is in force.
    pub at: Point,
}

/// A loan in force.
struct InForce<'a> {
    loan: &'a Loan,
    /// What is lent.
    node: NodeId,
    by: Lent,
}

/// Whether two steps may lead to the same part: elements are not distinguished, nor are members of
/// a union and their payload.
fn may_be_same(a: &Proj, b: &Proj) -> bool {
    a == b || a.index().is_some() && b.index().is_some()
}

impl Ownership<'_> {
    /// The loans in force at a point, with the path that each lends and the local that holds it.
    fn active<'s>(&'s self, s: &'s State, at: Point) -> impl Iterator<Item = InForce<'s>> + 's {
        self.live.held(s).into_iter().filter_map(move |number| {
            let loan = self.regions.loans.get(number).filter(|loan| loan.at != at)?;
            let node = self.lent_now(s, self.lent.get(number).copied().flatten()?)?;
            let holder = self.live.holder(s, number, at)?;
            Some(InForce { loan, node, by: Lent { number, holder, at } })
        })
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

    /// A path that is given up or replaced must not be lent; neither a prefix, nor anything
    /// below it.
    pub fn conflicts(&self, s: &State, at: Point, node: NodeId, verb: Verb, span: Span, report: Report) {
        if let Some(lent) = self.active(s, at).find(|lent| self.overlap(lent.node, node)) {
            report(Finding::lent(span, node, lent.by, verb));
        }
    }

    /// What a slot holds is dropped or exchanged: whatever the slot is reached through must not be
    /// lent as a view, which sees into it; and the array that it is an element of must not be.
    pub fn slot_changes(&self, s: &State, at: Point, place: &Place, verb: Verb, span: Span, report: Report) {
        if self.live.pairs() == 0 || !self.owns_place(place) {
            return;
        }
        let place = self.resolver.place(place);
        if let Some(found) = self.find(&place) {
            let sees = |l: &InForce| l.loan.kind.is_view() && self.paths.is_prefix(l.node, found.node);
            if let Some(lent) = self.active(s, at).find(sees).filter(|_| !source::broken!(18)) {
                report(Finding::lent(span, found.node, lent.by, verb));
            }
        }
        // Arrays are not paths: their loans are found by the place.
        for number in self.live.held(s) {
            let Some(loan) = self.regions.loans.get(number).filter(|loan| loan.kind.is_view() && loan.at != at) else {
                continue;
            };
            let of = self.resolver.place(&loan.place);
            let same = of.base == place.base && of.proj.iter().zip(&place.proj).all(|(a, b)| may_be_same(a, b));
            if !same || self.lent.get(number).copied().flatten().is_some() {
                continue;
            }
            if let Some(holder) = self.live.holder(s, number, at) {
                report(Finding::lent_slot(span, place.clone(), Lent { number, holder, at }, verb));
                return;
            }
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
        let over = |l: &InForce| l.loan.form == Form::Cursor && self.paths.is_prefix(l.node, found.node);
        if let Some(lent) = self.active(s, at).find(over) {
            report(Finding::lent(span, found.node, lent.by, Verb::Used));
        }
    }

    /// Lends a place.
    pub fn lend(&self, s: &mut State, at: Point, kind: BorrowKind, place: &Place, span: Span, report: Report) {
        let Some(&number) = self.regions.loan_at.get(&at) else { return };
        let form = self.regions.loans.get(number).map_or(Form::Borrow, |l| l.form);
        match self.find(place).filter(|f| f.exact) {
            None => {
                let owned = place_ty(self.program, self.body, place).is_ok_and(|q| owns(&self.program.types, q.ty));
                let looks = kind.is_view() && self.through_view(place);
                if owned && kind != BorrowKind::Slot && !looks && !self.peeks.contains(number) {
                    let verb = if form == Form::Unpack { Verb::Unpacked } else { Verb::Borrowed };
                    report(Finding::slot(span, place.clone(), verb));
                }
                match self.find(place).filter(|f| !f.slot) {
                    Some(found) => self.loan_conflicts(s, at, kind, form, found.node, span, report),
                    None if kind == BorrowKind::Slot
                        && self.keeps_lent_value(place, span, Verb::Lent(kind), report) =>
                    {
                        self.stored_in_content(s, place);
                        self.slot_changes(s, at, place, Verb::Lent(kind), span, report);
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
                    self.loan_conflicts(s, at, kind, form, node, span, report);
                }
            }
        }
        self.lends_facts(s, number);
    }

    #[allow(clippy::too_many_arguments)]
    pub fn loan_conflicts(
        &self,
        s: &State,
        at: Point,
        kind: BorrowKind,
        form: Form,
        node: NodeId,
        span: Span,
        report: Report,
    ) {
        let exclusive = |kind: BorrowKind| kind.is_exclusive();
        let conflict = self.active(s, at).find(|l| {
            let (loan, lent) = (l.loan, l.node);
            if loan.form == Form::Look || form == Form::Look || !self.overlap(lent, node) {
                return false;
            }
            // The loan of an exclusive argument is a shared one until the call begins.
            if exclusive(kind) || exclusive(loan.kind) && !self.is_reserved(s, l) {
                return true;
            }
            match (loan.kind.is_view(), kind.is_view()) {
                _ if loan.kind.is_read_only() && kind.is_read_only() => false,
                _ if exclusive(loan.kind) => false,
                (false, false) => {
                    let (outer, inner) = if self.paths.is_prefix(lent, node) { (lent, node) } else { (node, lent) };
                    self.paths.crosses_owned(outer, inner)
                }
                _ => true,
            }
        });
        if let Some(lent) = conflict {
            report(Finding::lent(span, node, lent.by, Verb::Lent(kind)));
        }
    }

    /// Whether it is the loan of an exclusive argument that waits for its call: only the temporary
    /// that it was made for may be used later.
    fn is_reserved(&self, s: &State, lent: &InForce) -> bool {
        let loan = lent.loan;
        let stmt = self.body.blocks.get(loan.at.block.0 as usize).and_then(|b| b.stmts.get(loan.at.stmt));
        let made = stmt.and_then(|s| s.kind.as_assign()).filter(|(_, value)| value.as_borrow().is_some());
        let Some(dest) = made.and_then(|(dest, _)| dest.as_local()) else { return false };
        let is_temp = self.body.locals.get(dest.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
        loan.form == Form::Borrow && is_temp && self.live.is_held_by(s, lent.by.number, lent.by.at, dest)
    }

    /// A call begins: what its exclusive arguments are lent is lent to nothing else any more.
    pub fn call_begins(&self, s: &State, at: Point, args: &[Operand], report: Report) {
        let exclusive = |kind: BorrowKind| kind.is_exclusive();
        let taken = |l: &InForce| args.iter().any(|arg| crate::framework::whole_local(arg) == Some(l.by.holder.local));
        let lent: Vec<InForce> = self.active(s, at).collect();
        for mine in lent.iter().filter(|l| exclusive(l.loan.kind) && taken(l)) {
            let other = lent.iter().find(|l| {
                l.by.number != mine.by.number && l.loan.form != Form::Look && self.overlap(l.node, mine.node)
            });
            if let Some(other) = other.filter(|_| !source::broken!(30)) {
                // The later of the two is the one to be reported.
                let (first, second) = if other.loan.at < mine.loan.at { (other, mine) } else { (mine, other) };
                report(Finding::lent(second.loan.span, second.node, first.by, Verb::Lent(second.loan.kind)));
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
        !self.active(s, at).any(|l| {
            let slot = l.loan.kind == BorrowKind::Slot;
            !l.loan.kind.is_read_only()
                && self.paths.is_prefix(l.node, node)
                && (slot || self.paths.steps_between(l.node, node).contains(&Proj::Deref))
                && !source::broken!(22)
        })
    }

    /// A temporary says something about a path.
    pub fn learn(&self, s: &mut State, at: Point, test: Test) {
        if self.is_certain(s, at, test.node()) {
            s.learn(test);
        }
    }
}
