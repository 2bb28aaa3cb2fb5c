//! The last element, as a stack gives it: `return s->items[--s->n];`.
//!
//! What counts the elements is the element's index afterwards, so by the program's own count the
//! element is not there any more, and whether a pointer in it is null or the old one makes no
//! difference to who goes by the count. Who does not would find what was given away, and finds null.
//!
//! The count and the index are told by one block's statements: the count is stored as the number
//! that is the index, which is one less than the count was (`a[--n]`; `n--; ... a[n]`; `a[n - 1]; n--`),
//! and nothing in between stores to the count, or runs other code.

use mir::effects::{accesses, flags, Code, Kind};
use mir::ir::*;
use typing::tree::BinOp;

use super::Moved;
use crate::framework::Point;

impl Moved<'_> {
    /// Whether the slot is the element just past the last one, by a count that this block decrements.
    pub(super) fn is_popped(&self, at: Point, slot: &Place) -> bool {
        let Some(block) = self.body.blocks.get(at.block.0 as usize) else { return false };
        let Some(index) = self.index_of(block, at.stmt, slot) else { return false };
        let before = block.stmts.get(..at.stmt).unwrap_or_default();
        // `a[n - 1]`, and then `n--`.
        if let Some((number, count)) = self.one_less(before, &index) {
            let since = before.get(number..).unwrap_or_default();
            let after = block.stmts.get(at.stmt + 1..).unwrap_or_default();
            return is_stored(before, &count, &index) || !stores(since, &count) && self.is_taken_from(after, &count);
        }
        // `n--`, and then `a[n]`.
        let read = defined(before, &index).and_then(|(_, value)| value.as_use()).and_then(Operand::place);
        let count = read.cloned().unwrap_or_else(|| Place::local(index));
        self.is_count(&count) && self.is_taken_from_last(before, &count)
    }

    /// The local that is the index of the element that the slot is.
    fn index_of(&self, block: &Block, end: usize, slot: &Place) -> Option<Local> {
        let before = block.stmts.get(..end)?;
        let index = match slot.proj.last()? {
            // `a[i]` through a pointer is `*(a + i)`.
            Proj::Deref if slot.proj.len() == 1 => defined(before, &slot.base_local()?)?.1.as_offset()?.1,
            Proj::Index(index) => index,
            Proj::Deref | Proj::Field(_) => return None,
        };
        let mut index = index.place()?.as_local()?;
        while let Some((number, _)) = defined(before, &index).and_then(|(_, value)| value.as_numeric()) {
            index = number.place()?.as_local()?;
        }
        Some(index)
    }

    /// Where the local is computed as one less than a count, and the count.
    fn one_less(&self, stmts: &[Stmt], local: &Local) -> Option<(usize, Place)> {
        let (at, value) = defined(stmts, local)?;
        let (at, count) = read_from(stmts, at, self.decremented(value)?);
        (self.is_count(count) && count.as_local() != Some(*local)).then(|| (at, count.clone()))
    }

    fn decremented<'s>(&self, value: &'s Rvalue) -> Option<&'s Place> {
        let (op, count, one) = value.as_binary().map(|(op, a, b, _)| (op, a, b))?;
        let one = matches!(one, Operand::Const(Const::Int(1, _)));
        (op == BinOp::Sub && one).then(|| count.place()).flatten()
    }

    /// A variable, or a field of what one points to.
    fn is_count(&self, place: &Place) -> bool {
        let Some(local) = place.base_local() else { return place.proj.iter().all(Proj::is_field) };
        let steady = self.body.locals.get(local.0 as usize).is_some_and(|decl| !decl.address_taken);
        let way = place.proj.iter().enumerate().all(|(n, step)| step.is_field() || n == 0 && *step == Proj::Deref);
        steady && way
    }

    /// Whether the first store to the count takes one from it.
    fn is_taken_from(&self, stmts: &[Stmt], count: &Place) -> bool {
        for (n, stmt) in stmts.iter().enumerate() {
            if let Some((dest, value)) = stmt.kind.as_assign().filter(|(dest, _)| *dest == count) {
                let before = stmts.get(..n).unwrap_or_default();
                return self.is_decrement(before, dest, value);
            }
            if changes(stmt, count) {
                return false;
            }
        }
        false
    }

    /// Whether the last store to the count takes one from it, and nothing happened to it since.
    fn is_taken_from_last(&self, stmts: &[Stmt], count: &Place) -> bool {
        for (n, stmt) in stmts.iter().enumerate().rev() {
            if let Some((dest, value)) = stmt.kind.as_assign().filter(|(dest, _)| *dest == count) {
                return self.is_decrement(stmts.get(..n).unwrap_or_default(), dest, value);
            }
            if changes(stmt, count) {
                return false;
            }
        }
        false
    }

    fn is_decrement(&self, before: &[Stmt], count: &Place, value: &Rvalue) -> bool {
        let less = value.as_use().and_then(Operand::place).and_then(Place::as_local);
        let (end, value) = less.and_then(|less| defined(before, &less)).unwrap_or((before.len(), value));
        let Some(from) = self.decremented(value) else { return false };
        let (at, from) = read_from(before, end, from);
        from == count && !stores(before.get(at..).unwrap_or_default(), count)
    }
}

/// The last assignment to the local, and where it is.
pub(super) fn defined<'s>(stmts: &'s [Stmt], local: &Local) -> Option<(usize, &'s Rvalue)> {
    let found = stmts.iter().enumerate().rev().find_map(|(n, stmt)| {
        let (dest, value) = stmt.kind.as_assign()?;
        (dest.as_local() == Some(*local)).then_some((n, value))
    });
    found
}

/// Where a temporary was read from, if the place is one, before the statement with the number, and
/// which statement read it.
fn read_from<'s>(stmts: &'s [Stmt], end: usize, place: &'s Place) -> (usize, &'s Place) {
    let before = stmts.get(..end).unwrap_or_default();
    let read = place.as_local().and_then(|local| defined(before, &local));
    let from = read.and_then(|(at, value)| Some((at, value.as_use()?.place()?)));
    from.unwrap_or((end, place))
}

/// Whether the local is stored to the count, last of all.
fn is_stored(stmts: &[Stmt], count: &Place, local: &Local) -> bool {
    let stored = stmts.iter().rposition(|stmt| {
        let value = stmt.kind.as_assign().filter(|(dest, _)| *dest == count).and_then(|(_, value)| value.as_use());
        value.and_then(Operand::place).and_then(Place::as_local) == Some(*local)
    });
    stored.is_some_and(|n| !stores(stmts.get(n + 1..).unwrap_or_default(), count))
}

fn stores(stmts: &[Stmt], count: &Place) -> bool {
    stmts.iter().any(|stmt| changes(stmt, count))
}

/// Whether the statement may give the count another value.
fn changes(stmt: &Stmt, count: &Place) -> bool {
    let mut changed = flags(&stmt.kind).code != Code::Own || flags(&stmt.kind).waits || stmt.is_unsafe;
    accesses(&stmt.kind, &mut |place, kind, _| {
        let on_the_way = place.base == count.base && count.proj.starts_with(&place.proj);
        changed |= super::changes(kind) && on_the_way && kind != Kind::Begin;
    });
    changed
}
