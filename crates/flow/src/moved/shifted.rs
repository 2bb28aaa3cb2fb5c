//! An element that moves to the one next to it: `a[i] = a[i + 1];`, as arrays are shifted.
//!
//! In C both elements hold the pointer until the next turn stores to the one that it came from, or
//! the count says that it is not there any more, or something else is put there. Here it moves, and
//! the element that it came from is null: who goes by the program's order does not see that.
//!
//! The two are next to each other if their indices are one variable, and constants that differ by
//! one.

use mir::effects::{flags, Code};
use mir::ir::*;
use mir::ty::place_ty;
use typing::tree::BinOp;

use super::popped::defined;
use super::taken::{changes_local, is_plain};
use super::Moved;
use crate::framework::Point;

impl Moved<'_> {
    /// The element that the statement moves to the one next to it.
    pub(super) fn shifted<'s>(&self, at: Point, stmt: &'s Stmt) -> Option<&'s Place> {
        let (dest, value) = stmt.kind.as_assign().filter(|_| !stmt.is_unsafe)?;
        let Operand::Move(slot) = value.as_use()? else { return None };
        let types = &self.program.types;
        let (a, b) = (place_ty(self.program, self.body, slot).ok()?, place_ty(self.program, self.body, dest).ok()?);
        let same = types.same_modulo_regions(a.ty, b.ty) && is_plain(a) && is_plain(b);
        let before = self.body.blocks.get(at.block.0 as usize)?.stmts.get(..at.stmt)?;
        (same && self.may_be_taken(a.ty) && !self.in_block(slot) && self.is_next_to(before, slot, dest)).then_some(slot)
    }

    /// Whether both are elements of one array, next to each other.
    fn is_next_to(&self, before: &[Stmt], a: &Place, b: &Place) -> bool {
        let (Some((of_a, index_a)), Some((of_b, index_b))) = (self.element(before, a), self.element(before, b)) else {
            return false;
        };
        let ((from_a, i, n), (from_b, j, m)) = match (self.numbered(before, index_a), self.numbered(before, index_b)) {
            (Some(a), Some(b)) => (a, b),
            (None, _) | (_, None) => return false,
        };
        // The variable is what it was when the indices were computed.
        let since = before.get(from_a.min(from_b)..).unwrap_or_default();
        let changed =
            |stmt: &Stmt| flags(&stmt.kind).code != Code::Own || stmt.is_unsafe || changes_local(&stmt.kind, i);
        let differ = of_a == of_b && i == j && n.abs_diff(m) == 1;
        differ && self.is_steady(&Operand::local(i)) && !since.iter().any(changed)
    }

    /// The array that the place is an element of, and the index.
    fn element<'s>(&self, before: &'s [Stmt], place: &'s Place) -> Option<(Place, &'s Operand)> {
        match place.proj.last()? {
            // `a[i]` through a pointer is `*(a + i)`.
            Proj::Deref if place.proj.len() == 1 => {
                let (_, index) = defined(before, &place.base_local()?)?.1.as_offset()?;
                Some((self.elements.array(place), index))
            }
            Proj::Index(index) => {
                let mut array = place.clone();
                array.proj.pop();
                Some((self.elements.array(&array), index))
            }
            Proj::Deref | Proj::Field(_) => None,
        }
    }

    /// The variable that an index is computed from, what is added to it, and the first statement
    /// that does so.
    fn numbered(&self, before: &[Stmt], index: &Operand) -> Option<(usize, Local, i128)> {
        let mut local = index.place()?.as_local()?;
        let (mut from, mut added) = (before.len(), 0);
        let is_temp = |l: Local| self.body.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
        while is_temp(local) {
            let (at, value) = defined(before.get(..from)?, &local)?;
            let mut plus = 0;
            let next = if let Some((number, _)) = value.as_numeric() {
                number
            } else if let Some((op @ (BinOp::Add | BinOp::Sub), a, n, _)) = value.as_binary() {
                let Operand::Const(Const::Int(n, _)) = n else { return None };
                plus = if op == BinOp::Add { *n } else { -n };
                a
            } else {
                value.as_use()?
            };
            (from, local, added) = (at, next.place()?.as_local()?, added + plus);
        }
        Some((from, local, added))
    }
}
