//! Checks that were made before.
//!
//! The ranges do not follow the bounds of fat pointers. But whether `p[k]` is in bounds depends on
//! the words of `p` and on `k` alone: where it was checked on every path, and neither was written
//! since, it still holds.
//!
//! Forward, at each point a set of facts: `p[k]` was checked, and `t` is a copy of `k`. Join:
//! intersection. A write to a local drops the facts about it; facts about its copies stay. A number
//! of fewer than 64 bits has the value that it has when widened to 64, and only conversions to 64
//! bits are followed, so a copy is the same index.
//!
//! Needs: bodies after `removal`. Changes: checks into `nop`. Guarantees: a check that is gone was
//! made with the same words before.

use crate::report::Remaining;
use crate::uses::{self, single_check, Writes};
use mir::cfg::Cfg;
use mir::ir::*;
use source::Span;

/// Facts are not gathered beyond this number.
const MOST_FACTS: usize = 64;
/// Bodies with more checks times blocks are left alone.
const MOST_WORK: usize = 200_000;

/// The number of an element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Index {
    Local(Local),
    Number(i128),
}

/// What holds at a point; sorted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Facts {
    /// The element of the pointer is there.
    checked: Vec<(Local, Index)>,
    /// Two locals with one value, both ways.
    copies: Vec<(Local, Local)>,
}

impl Facts {
    fn check(&mut self, pointer: Local, index: Index) {
        if let (Err(at), true) = (self.checked.binary_search(&(pointer, index)), self.checked.len() < MOST_FACTS) {
            self.checked.insert(at, (pointer, index));
        }
    }

    fn is_checked(&self, pointer: Local, index: Index) -> bool {
        let known = |i: Index| self.checked.binary_search(&(pointer, i)).is_ok();
        let copied = |l: Local| self.copies.iter().any(|c| c.0 == l && known(Index::Local(c.1)));
        known(index) || matches!(index, Index::Local(l) if copied(l))
    }

    /// The local changes.
    fn write(&mut self, local: Local) {
        let copies: Vec<Local> = self.copies.iter().filter(|c| c.0 == local).map(|c| c.1).collect();
        let known: Vec<Local> = self.checked.iter().filter(|c| c.1 == Index::Local(local)).map(|c| c.0).collect();
        self.checked.retain(|c| c.0 != local && c.1 != Index::Local(local));
        self.copies.retain(|c| c.0 != local && c.1 != local);
        for &copy in &copies {
            for &pointer in known.iter().filter(|&&p| p != local) {
                self.check(pointer, Index::Local(copy));
            }
        }
    }

    /// `to` has just received the value of `from`.
    fn copy(&mut self, to: Local, from: Local) {
        let mut same: Vec<Local> = self.copies.iter().filter(|c| c.0 == from).map(|c| c.1).collect();
        same.push(from);
        for other in same.into_iter().filter(|&o| o != to) {
            for pair in [(to, other), (other, to)] {
                if let (Err(at), true) = (self.copies.binary_search(&pair), self.copies.len() < MOST_FACTS) {
                    self.copies.insert(at, pair);
                }
            }
        }
    }

    /// What holds in both; whether that is less.
    fn meet(&mut self, other: &Facts) -> bool {
        let before = (self.checked.len(), self.copies.len());
        let checked = std::mem::take(&mut self.checked);
        self.checked = checked.into_iter().filter(|c| other.is_checked(c.0, c.1)).collect();
        self.copies.retain(|c| other.copies.binary_search(c).is_ok());
        before != (self.checked.len(), self.copies.len())
    }
}

/// Removes repeated checks of the body, and from what is reported of those that remain.
pub fn run(program: &Program, body: &mut Body, remaining: &mut Vec<Remaining>, first: usize) -> usize {
    let checks = body.blocks.iter().flat_map(|b| &b.stmts).filter(|s| single_check(&s.kind).is_some()).count();
    if checks < 2 || checks * body.blocks.len() > MOST_WORK || flow::ranges::returns_twice(program, body) {
        return 0;
    }
    let pass = Pass { program, body, writes: Writes::of(body) };
    let gone = pass.repeated(&Cfg::new(body));
    for &(block, stmt) in &gone {
        let stmt = body.blocks.get_mut(block).and_then(|b| b.stmts.get_mut(stmt));
        if let Some(stmt) = stmt {
            stmt.remove();
            forget(remaining, first, stmt.span);
        }
    }
    gone.len()
}

/// Takes one report at the place away.
fn forget(remaining: &mut Vec<Remaining>, first: usize, span: Span) {
    let own = remaining.iter().enumerate().skip(first);
    if let Some(at) = own.filter(|(_, r)| r.span == span).map(|(n, _)| n).next() {
        remaining.remove(at);
    }
}

struct Pass<'a> {
    program: &'a Program,
    body: &'a Body,
    writes: Writes,
}

impl Pass<'_> {
    fn repeated(&self, cfg: &Cfg) -> Vec<(usize, usize)> {
        let mut at_start: Vec<Option<Facts>> = vec![None; self.body.blocks.len()];
        if let Some(entry) = at_start.first_mut() {
            *entry = Some(Facts::default());
        }
        // Facts only get fewer, so this ends.
        let mut changed = true;
        while changed {
            changed = false;
            for &block in cfg.reverse_postorder() {
                let Some(mut facts) = at_start.get(block.0 as usize).cloned().flatten() else { continue };
                self.block(block.0 as usize, &mut facts, &mut |_| {});
                for &to in cfg.successors(block) {
                    let Some(there) = at_start.get_mut(to.0 as usize) else { continue };
                    match there {
                        Some(there) => changed |= there.meet(&facts),
                        None => {
                            *there = Some(facts.clone());
                            changed = true;
                        }
                    }
                }
            }
        }
        let mut gone = vec![];
        for (block, facts) in at_start.into_iter().enumerate() {
            if let Some(mut facts) = facts {
                self.block(block, &mut facts, &mut |stmt| gone.push((block, stmt)));
            }
        }
        gone
    }

    /// Goes through a block; calls `see` with each statement that checks what was checked.
    fn block(&self, block: usize, facts: &mut Facts, see: &mut dyn FnMut(usize)) {
        let Some(data) = self.body.blocks.get(block) else { return };
        for (n, stmt) in data.stmts.iter().enumerate() {
            if let Some((pointer, index)) = single_check(&stmt.kind).and_then(|l| self.element(l, block, n)) {
                if facts.is_checked(pointer, index) {
                    see(n);
                }
                facts.check(pointer, index);
                continue;
            }
            uses::written(&stmt.kind, &mut |l| facts.write(l));
            match stmt.kind.action() {
                Action::Storage => stmt.kind.storage().into_iter().for_each(|l| facts.write(l)),
                Action::None | Action::Check | Action::Fill | Action::Call | Action::Send => {}
                Action::Assign => {
                    let copy = |(place, value): (&Place, &Rvalue)| {
                        let to = place.as_local()?;
                        Some((to, self.copied(to, value)?))
                    };
                    if let Some((to, from)) = stmt.kind.as_assign().and_then(copy) {
                        facts.copy(to, from);
                    }
                }
                // What regions and owners do to locals need not be known here.
                Action::Assembly
                | Action::Copy
                | Action::Arguments
                | Action::Owner
                | Action::Region
                | Action::Channel => *facts = Facts::default(),
            }
        }
    }

    /// Pointer and index of a temporary that is made and checked in one block, while neither
    /// changes.
    fn element(&self, element: Local, block: usize, check: usize) -> Option<(Local, Index)> {
        let (made, value) = self.writes.single(self.body, element)?;
        let (from, by) = value.as_offset()?;
        let pointer = uses::whole(from).filter(|&l| self.is_own(l))?;
        let index = match by {
            Operand::Const(Const::Int(n, _)) => Index::Number(*n),
            by => Index::Local(uses::whole(by).filter(|&l| self.is_own(l) && self.bits(l).is_some())?),
        };
        (made.block == block && made.stmt < check).then_some(())?;
        let mut steady = true;
        for stmt in self.body.blocks.get(block)?.stmts.get(made.stmt + 1..check)? {
            let mut see = |l: Local| steady &= l != pointer && Index::Local(l) != index;
            uses::written(&stmt.kind, &mut see);
            if let Some(l) = stmt.kind.storage() {
                see(l);
            }
        }
        steady.then_some((pointer, index))
    }

    /// The local that the value is a copy of: as it is, or widened to 64 bits.
    fn copied(&self, to: Local, value: &Rvalue) -> Option<Local> {
        let from = uses::whole(value.same_number()?)?;
        let (old, new) = (self.bits(from)?, self.bits(to)?);
        let alike = match value.as_use() {
            Some(_) => old == new && self.ty(from) == self.ty(to),
            None => new == 64,
        };
        (alike && from != to && self.is_own(from) && self.is_own(to)).then_some(from)
    }

    fn ty(&self, local: Local) -> Option<typing::types::Ty> {
        self.body.locals.get(local.0 as usize).map(|d| d.ty.ty)
    }

    /// The bits of an integer local of at most 64.
    fn bits(&self, local: Local) -> Option<u64> {
        let kind = self.program.types.as_int(self.ty(local)?)?;
        let bits = kind.size() * 8;
        (bits <= 64).then_some(bits)
    }

    /// Whether only statements that name the local change it.
    fn is_own(&self, local: Local) -> bool {
        let decl = self.body.locals.get(local.0 as usize);
        decl.is_some_and(|d| !d.address_taken && !d.ty.quals.is_volatile && !d.ty.quals.is_atomic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_keep_what_their_original_loses() {
        let (p, i, t) = (Local(0), Local(1), Local(2));
        let mut facts = Facts::default();
        facts.check(p, Index::Local(i));
        facts.copy(t, i);
        facts.write(i);
        assert!(!facts.is_checked(p, Index::Local(i)));
        assert!(facts.is_checked(p, Index::Local(t)));
        facts.write(p);
        assert!(!facts.is_checked(p, Index::Local(t)));
    }

    #[test]
    fn a_meeting_keeps_what_both_know() {
        let (p, i) = (Local(0), Local(1));
        let mut facts = Facts::default();
        facts.check(p, Index::Local(i));
        facts.check(p, Index::Number(3));
        let mut other = Facts::default();
        other.check(p, Index::Number(3));
        assert!(facts.meet(&other));
        assert_eq!(facts, other);
        assert!(!facts.meet(&other));
    }
}
