//! Loans: what may not happen to a path while it is lent.

use mir::ir::*;
use mir::ty::{owns, place_ty};
use source::Span;
use typing::tree::BorrowKind;

use super::effects::Report;
use super::paths::{Found, NodeId};
use super::report::{Finding, Verb};
use super::state::{State, Test, MOVED};
use super::Ownership;
use crate::framework::Point;
use crate::regions::{Form, Loan};

impl Ownership<'_> {
    /// Whether a loan is in force: something that may hold it can still be used.
    pub fn is_active(&self, s: &State, loan: usize, at: Point) -> bool {
        s.loans.contains(loan)
            && (self.variables.get(loan).is_some_and(|v| v.iter().any(|l| s.live.contains(l.0 as usize)))
                || self.temps.get(loan).is_some_and(|t| t.iter().any(|&t| self.is_used(t, at))))
    }

    /// The loans in force at a point, with their paths.
    fn active<'s>(&'s self, s: &'s State, at: Point) -> impl Iterator<Item = (usize, &'s Loan, NodeId)> + 's {
        s.loans.iter().filter_map(move |n| {
            let loan = self.regions.loans.get(n)?;
            let node = self.lent.get(n).copied().flatten()?;
            (loan.at != at && self.is_active(s, n, at)).then_some((n, loan, node))
        })
    }

    fn overlap(&self, a: NodeId, b: NodeId) -> bool {
        self.paths.is_prefix(a, b) || self.paths.is_prefix(b, a)
    }

    /// A path that goes, or is replaced, must not be lent; neither a prefix, nor anything below it.
    pub fn conflicts(&self, s: &State, at: Point, node: NodeId, verb: Verb, span: Span, report: Report) {
        let conflict = self.active(s, at).find(|&(_, _, lent)| self.overlap(lent, node));
        if let Some((loan, ..)) = conflict {
            report(Finding::lent(span, node, loan, verb));
        }
    }

    /// What a slot holds is dropped or exchanged: whatever the slot is reached through must not be lent as a view, which sees into it.
    pub fn slot_changes(&self, s: &State, at: Point, place: &Place, verb: Verb, span: Span, report: Report) {
        if s.loans.iter().next().is_none() || !self.owns_place(place) {
            return;
        }
        let Some(found) = self.find(&self.resolver.place(place)).filter(|f| !f.exact) else { return };
        let sees =
            |&(_, loan, lent): &(usize, &Loan, NodeId)| loan.kind.is_view() && self.paths.is_prefix(lent, found.node);
        if let Some((loan, ..)) = self.active(s, at).find(sees) {
            report(Finding::lent(span, found.node, loan, verb));
        }
    }

    /// While a cursor goes over a place, the place is used through it only.
    pub fn accessed(&self, s: &State, at: Point, found: Found, span: Span, report: Report) {
        if self.cursors.is_empty() {
            return;
        }
        let conflict = self
            .active(s, at)
            .find(|&(_, loan, lent)| loan.form == Form::Cursor && self.paths.is_prefix(lent, found.node));
        if let Some((loan, ..)) = conflict {
            report(Finding::lent(span, found.node, loan, Verb::Used));
        }
    }

    /// Lends a place.
    pub fn lend(&self, s: &mut State, at: Point, kind: BorrowKind, place: &Place, span: Span, report: Report) {
        let Some(&number) = self.loan_at.get(&at) else { return };
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
                    None if kind == BorrowKind::Slot && self.keeps_lent_value(place, span, Verb::Lent(kind), report) => {
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
        s.loans.insert(number);
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
        let exclusive = |kind: BorrowKind| matches!(kind, BorrowKind::Lend | BorrowKind::Slot);
        let conflict = self.active(s, at).find(|&(_, loan, lent)| {
            if loan.form == Form::Look || form == Form::Look || !self.overlap(lent, node) {
                return false;
            }
            if exclusive(kind) || exclusive(loan.kind) {
                return true;
            }
            match (loan.kind.is_view(), kind.is_view()) {
                (true, true) => false,
                (false, false) => {
                    let (outer, inner) = if self.paths.is_prefix(lent, node) { (lent, node) } else { (node, lent) };
                    self.paths.crosses_owned(outer, inner)
                }
                _ => true,
            }
        });
        if let Some((loan, ..)) = conflict {
            report(Finding::lent(span, node, loan, Verb::Lent(kind)));
        }
    }

    /// What lies below a loan that is no view may be changed through it as long as it is in force: nothing is known of it from
    /// the beginning of the loan on, and nothing is learnt before its end (`is_certain`).
    pub fn lends_facts(&self, s: &mut State, loan: usize) {
        let (Some(site), Some(node)) = (self.regions.loans.get(loan), self.lent.get(loan).copied().flatten()) else {
            return;
        };
        if !site.kind.is_view() {
            self.unknown_below(s, node, site.kind == BorrowKind::Slot);
        }
    }

    /// Whether what is known of the path stays true until its next use: no loan is in force through which it can change.
    pub fn is_certain(&self, s: &State, at: Point, node: NodeId) -> bool {
        !self.active(s, at).any(|(_, loan, lent)| {
            let itself = loan.kind == BorrowKind::Slot || lent != node;
            !loan.kind.is_view() && itself && self.paths.is_prefix(lent, node)
        })
    }

    /// A temporary tells about a path.
    pub fn learn(&self, s: &mut State, at: Point, test: Test) {
        if self.is_certain(s, at, test.node()) {
            s.learn(test);
        }
    }
}
