//! What a slot holds, looked at for a while: by a variable, or by the argument of a leaf function,
//! one that calls nothing of the program back and lets no other task run.
//!
//! Up to the last use of such a pointer nothing may happen that could empty a slot: calls of other
//! functions, stores of what is owned, releases. A call that waits once it has read its arguments
//! (`[[lee::waits]]`: `printf`) is a leaf for these, but whatever was looked up before and is used
//! after it is no longer what a slot holds.

use mir::ir::*;

use super::effects::Report;
use super::lending::Lent;
use super::report::Finding;
use super::state::State;
use super::Ownership;
use crate::framework::Point;
use crate::leaf::is_leaf;
use crate::regions::Form;

/// The slots that a statement may empty.
enum Empties {
    None,
    /// Those in the local.
    Local(Local),
    Any,
}

impl Ownership<'_> {
    /// Finds the loans of what slots hold.
    pub fn find_peeks(&mut self) {
        for (n, loan) in self.regions.loans.iter().enumerate() {
            let stmt = self.body.blocks.get(loan.at.block.0 as usize).and_then(|b| b.stmts.get(loan.at.stmt));
            // A cursor took out what it is at.
            let borrows = stmt.and_then(|stmt| stmt.kind.as_assign()).is_some_and(|(_, v)| v.as_borrow().is_some());
            let looks = borrows && loan.form == Form::Borrow && (loan.kind.lends_shared() || loan.kind.is_view());
            let path = self.lent.get(n).copied().flatten().is_some() || self.find(&loan.place).is_some_and(|f| f.exact);
            if looks && !path && !self.through_view(&loan.place) && self.owns_place(&loan.place) {
                self.peeks.insert(n);
            }
        }
    }

    /// The statement may empty slots: what was looked up in one must not be used by it, or after
    /// it.
    pub fn end_peeks(&self, s: &mut State, at: Point, stmt: &Stmt, report: Report) {
        if self.peeks.iter().next().is_none() {
            return;
        }
        let behind = Point { stmt: at.stmt + 1, ..at };
        let (from, only) = match self.empties(stmt) {
            Empties::Any => (at, None),
            Empties::Local(local) => (at, Some(local)),
            Empties::None if self.waits(stmt) => (behind, None),
            Empties::None => return,
        };
        let open: Vec<usize> = self.live.held(s).into_iter().filter(|&n| self.peeks.contains(n)).collect();
        for number in open {
            let Some(loan) = self.regions.loans.get(number) else { continue };
            let base = self.resolver.place(&loan.place).base_local();
            if only.is_some_and(|local| base != Some(local)) {
                continue;
            }
            if let Some(holder) = self.live.holder(s, number, from) {
                report(Finding::peeked(loan.span, loan.place.clone(), stmt.span, Lent { number, holder, at: from }));
            }
            self.live.end(s, number);
        }
    }

    fn empties(&self, stmt: &Stmt) -> Empties {
        match stmt.kind.action() {
            Action::None | Action::Check => Empties::None,
            Action::Storage => match stmt.kind.ends() {
                Some(local) => Empties::Local(local),
                None => Empties::None,
            },
            Action::Assign => match stmt.kind.as_assign() {
                Some((_, value)) if value.as_alloc().is_some() => Empties::Any,
                Some((dest, _)) => self.stored(dest),
                None => Empties::Any,
            },
            Action::Call => match stmt.kind.as_call() {
                Some(call) if is_leaf(self.program, self.body, call.callee, call.args, *call.ty) => {
                    call.dest.as_ref().map_or(Empties::None, |dest| self.stored(dest))
                }
                Some(_) | None => Empties::Any,
            },
            Action::Fill => {
                let mut empties = Empties::None;
                mir::effects::stmt_places(&stmt.kind, &mut |place, _| {
                    empties = if place.local_part().is_some() { self.stored(place) } else { Empties::Any };
                });
                empties
            }
            Action::Assembly
            | Action::Copy
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => Empties::Any,
        }
    }

    /// What a store to the place empties: a local that nothing points to is not seen elsewhere.
    fn stored(&self, dest: &Place) -> Empties {
        if !self.owns_place(dest) {
            return Empties::None;
        }
        let local = dest.local_part().filter(|local| {
            let decl = self.body.locals.get(local.0 as usize);
            decl.is_some_and(|d| !d.address_taken || d.kind == LocalKind::Temp)
        });
        local.map_or(Empties::Any, Empties::Local)
    }

    /// Whether other tasks may run before the call returns, once its arguments were read.
    fn waits(&self, stmt: &Stmt) -> bool {
        let Some(Call { ty, .. }) = stmt.kind.as_call() else { return false };
        self.program.types.as_func(*ty).is_some_and(|f| f.waits)
    }
}
