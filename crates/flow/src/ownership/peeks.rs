//! What a slot holds, as an argument of a leaf function: one that calls nothing of the program
//! back, and lets no other task run.
//!
//! From the look into the slot to the call nothing may happen that could empty a slot: calls of
//! other functions, stores of what is owned, releases. The pointer is in temporaries only, and the
//! call's result is not kept. One that waits once it has read its arguments (`[[lee::waits]]`:
//! `printf`) is a leaf for these, but whatever was looked up before and is used after it is no
//! longer what a slot holds.

use mir::ir::*;
use mir::ty::{operand_ty, owns, place_ty};
use typing::types::{FuncTy, Ty, TyKind};

use super::effects::Report;
use super::report::Finding;
use super::state::State;
use super::Ownership;
use crate::framework::Point;
use crate::regions::Form;

impl Ownership<'_> {
    /// Finds the loans of what slots hold that no variable keeps.
    pub fn find_peeks(&mut self) {
        for (n, loan) in self.regions.loans.iter().enumerate() {
            let shared = loan.kind.lends_shared() && loan.form == Form::Borrow;
            let slot = self.lent.get(n).copied().flatten().is_none() && !self.through_view(&loan.place);
            let kept = self.live.variable(self.body, n).is_some();
            if shared && slot && !kept && self.owns_place(&loan.place) {
                self.peeks.insert(n);
            }
        }
    }

    /// The statement may empty slots: what was looked up in one must not be used by it, or after
    /// it.
    pub fn end_peeks(&self, s: &mut State, at: Point, stmt: &Stmt, report: Report) {
        let behind = Point { stmt: at.stmt + 1, ..at };
        let from = match self.empties_slots(stmt) {
            true => at,
            false if self.waits(stmt) => behind,
            false => return,
        };
        if self.peeks.iter().next().is_none() {
            return;
        }
        let open: Vec<usize> = self.live.held(s).into_iter().filter(|&n| self.peeks.contains(n)).collect();
        for n in open {
            let Some(loan) = self.regions.loans.get(n) else { continue };
            if self.live.holder(s, n, from).is_some() {
                report(Finding::peeked(loan.span, loan.place.clone(), stmt.span));
            }
            self.live.end(s, n);
        }
    }

    fn empties_slots(&self, stmt: &Stmt) -> bool {
        match stmt.kind.action() {
            Action::None | Action::Check => false,
            Action::Storage => stmt.kind.ends().is_some(),
            Action::Assign => stmt.kind.as_assign().is_some_and(|(dest, value)| {
                let decl = dest.as_local().and_then(|l| self.body.locals.get(l.0 as usize));
                let temp = decl.is_some_and(|d| d.kind == LocalKind::Temp);
                let stored = place_ty(self.program, self.body, dest).is_ok_and(|q| owns(&self.program.types, q.ty));
                value.as_alloc().is_some() || !temp && stored
            }),
            Action::Call => stmt.kind.as_call().is_some_and(|call| !self.is_leaf(call.callee, call.args, *call.ty)),
            Action::Fill
            | Action::Assembly
            | Action::Copy
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => true,
        }
    }

    /// Whether the call of a trusted function leaves all slots as they are: it gets nothing that it
    /// could change one through, and nothing to call.
    fn is_leaf(&self, callee: &Callee, args: &[Operand], ty: Ty) -> bool {
        let types = &self.program.types;
        let leaf = |f: &FuncTy| f.leaf && f.params.iter().all(|p| !p.consume && self.is_harmless(p.ty));
        let given = |arg: &Operand| operand_ty(self.program, self.body, arg).is_ok_and(|ty| self.is_harmless(ty));
        callee.is_trusted(self.program) && types.as_func(ty).is_some_and(|f| leaf(&f)) && args.iter().all(given)
    }

    /// Whether other tasks may run before the call returns, once its arguments were read.
    fn waits(&self, stmt: &Stmt) -> bool {
        let Some(Call { ty, .. }) = stmt.kind.as_call() else { return false };
        self.program.types.as_func(*ty).is_some_and(|f| f.waits)
    }

    /// Whether nothing that owns, and no function, is reached through a value of the type.
    fn is_harmless(&self, ty: Ty) -> bool {
        let types = &self.program.types;
        match types.as_pointer(ty) {
            Some(p) => !owns(types, p.target.ty) && !matches!(types.kind(p.target.ty), TyKind::Func(_)),
            None => true,
        }
    }
}
