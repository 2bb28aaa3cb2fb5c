//! Addresses of what was lent by value.
//!
//! In what a lent parameter holds by value nothing that owns is changed, since the caller has the
//! same words (`content.rs`). A pointer to an element of an array in it may do so elsewhere, unless
//! it is one to `const`, or only read here.

use mir::effects::{stmt_places, term_places, Access};
use mir::ir::*;
use source::Span;
use typing::tree::BorrowKind;
use typing::types::TyKind;

use super::effects::Report;
use super::report::Verb;
use super::Ownership;

impl Ownership<'_> {
    /// The address of a part of a lent value is stored in `dest`: reported if what owns there may
    /// be changed through it.
    pub fn lent_address(&self, dest: &Place, place: &Place, span: Span, report: Report) {
        let Some(place) = self.lent_by_value(place) else { return };
        if dest.as_local().is_none_or(|local| self.may_change(local, &mut vec![])) {
            self.changes_lent(place, span, Verb::Lent(BorrowKind::Slot), report);
        }
    }

    /// Whether something that owns may be changed through the pointer in the local.
    fn may_change(&self, local: Local, seen: &mut Vec<Local>) -> bool {
        if seen.contains(&local) {
            return false;
        }
        seen.push(local);
        let Some(decl) = self.body.locals.get(local.0 as usize) else { return true };
        let types = &self.program.types;
        if let Some(p) = types.as_pointer(decl.ty.ty) {
            let element = match types.kind(p.target.ty) {
                TyKind::Array { elem, .. } => elem.quals,
                _ => p.target.quals,
            };
            if p.target.quals.is_const || element.is_const {
                return false;
            }
        }
        // A variable is assigned, and may be looked at elsewhere.
        if decl.kind != LocalKind::Temp {
            return true;
        }
        let mut found = false;
        for block in &self.body.blocks {
            for stmt in block.stmts.iter().filter(|stmt| !stmt.is_unsafe) {
                let mut uses = vec![];
                stmt_places(&stmt.kind, &mut |place, access| {
                    if place.base_local() == Some(local) && !(place.proj.is_empty() && access == Access::Write) {
                        uses.push((place.clone(), access));
                    }
                });
                found |= uses.iter().any(|(place, access)| self.use_changes(stmt, place, *access, seen));
            }
            term_places(&block.term.kind, &mut |place, _| {
                found |= place.as_local() == Some(local) && block.term.kind.returned().is_some();
            });
        }
        found
    }

    /// Whether a statement that uses the pointer changes what is there, or hands the pointer on to
    /// where that may be done.
    fn use_changes(&self, stmt: &Stmt, place: &Place, access: Access, seen: &mut Vec<Local>) -> bool {
        let owns = || mir::ty::place_ty(self.program, self.body, place).is_ok_and(|q| self.program.types.owns(q.ty));
        let followed = |dest: &Place, seen: &mut Vec<Local>| dest.as_local().is_none_or(|l| self.may_change(l, seen));
        if place.has_deref() {
            return match access {
                Access::Read => false,
                Access::Move | Access::Write => owns(),
                Access::Address => match stmt.kind.as_assign() {
                    Some((dest, value)) => {
                        let is_slot = value.as_borrow().is_none_or(|(kind, ..)| kind == BorrowKind::Slot);
                        owns() && is_slot && followed(dest, seen)
                    }
                    None => owns(),
                },
            };
        }
        match stmt.kind.as_assign() {
            Some((dest, value)) if value.same_object().is_some() => followed(dest, seen),
            // Numbers: comparisons, tests.
            Some((dest, _)) => {
                let ty = mir::ty::place_ty(self.program, self.body, dest);
                ty.is_ok_and(|q| self.program.types.has_pointers(q.ty))
            }
            None => !matches!(stmt.kind.action(), Action::None | Action::Storage | Action::Check),
        }
    }
}
