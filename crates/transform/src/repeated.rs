//! Checks that were made before.
//!
//! The ranges do not follow the bounds of fat pointers. But whether `p[k]` is in bounds depends on
//! the words of `p` and on `k` alone: where it was checked on every path, and neither was written
//! since, it still holds. `*p`, with all fields of what it points to, is `p[0]`.
//!
//! Forward, at each point a set of facts: `p[k]` was checked, and `t` is a copy of `k`. Join:
//! intersection. A write to a local drops the facts about it; facts about its copies stay. A number
//! of fewer than 64 bits has the value that it has when widened to 64, and only conversions to 64
//! bits are followed, so a copy is the same index.
//!
//! A pointer that is made from another takes its facts along: of `q = p` all, of `q = p + c` those
//! with constants, less `c`, and of `q = p + k` the one about `p[k]`. The address is the same
//! number: `p[k]` is in bounds, so no sum of small constants wraps on the way to it.
//!
//! Needs: bodies after `removal`. Changes: checks into `nop`. Guarantees: a check that is gone was
//! made with the same words before.

use crate::loops::MOST_STEP;
use crate::report::Remaining;
use crate::uses::{self, single_check, Writes};
use mir::cfg::Cfg;
use mir::ir::*;
use source::Span;
use typing::types::{Bounds, Ty};

/// Facts are not gathered beyond this number.
const MOST_FACTS: usize = 64;
/// Nor are copies: `n` locals of one value are `n * n` pairs.
const MOST_COPIES: usize = 512;
/// Elements are not larger, so that a constant times their size is small.
const MOST_SIZE: u64 = 1 << 31;
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

    /// What holds of `from` moved on by `by`, or in its place; to be asked before that is written.
    fn moved(&self, from: Local, by: Option<Index>) -> Vec<Index> {
        let own = || self.checked.iter().filter(|c| c.0 == from).map(|c| c.1);
        match by {
            None => own().collect(),
            Some(Index::Number(by)) => {
                let less = |index| match index {
                    Index::Number(n) => n.checked_sub(by).filter(|n| n.abs() <= MOST_STEP),
                    Index::Local(_) => None,
                };
                own().filter_map(less).map(Index::Number).collect()
            }
            Some(index) => self.is_checked(from, index).then_some(Index::Number(0)).into_iter().collect(),
        }
    }

    /// `to` has just received the value of `from`.
    fn copy(&mut self, to: Local, from: Local) {
        let mut same: Vec<Local> = self.copies.iter().filter(|c| c.0 == from).map(|c| c.1).collect();
        same.push(from);
        for other in same.into_iter().filter(|&o| o != to) {
            for pair in [(to, other), (other, to)] {
                if let (Err(at), true) = (self.copies.binary_search(&pair), self.copies.len() < MOST_COPIES) {
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
    if checks < 2 || checks * body.blocks.len() > MOST_WORK || mir::twice::returns_twice(program, body) {
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
            if let Some(local) = single_check(&stmt.kind) {
                let element = self.element(local, block, n);
                let itself = self.is_fat(local).then_some((local, Index::Number(0)));
                let both = element.into_iter().chain(itself);
                if both.clone().any(|(pointer, index)| facts.is_checked(pointer, index)) {
                    see(n);
                }
                both.for_each(|(pointer, index)| facts.check(pointer, index));
                continue;
            }
            let made = self.pointer_made(&stmt.kind).map(|(to, from, by)| (to, facts.moved(from, by)));
            uses::written(&stmt.kind, &mut |l| facts.write(l));
            if let Some((to, held)) = made {
                held.into_iter().for_each(|index| facts.check(to, index));
            }
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

    /// A fat pointer that is made from another: as it is, or that many elements further.
    fn pointer_made(&self, kind: &StmtKind) -> Option<(Local, Local, Option<Index>)> {
        let (place, value) = kind.as_assign()?;
        let to = place.as_local().filter(|&l| self.is_fat(l))?;
        let (from, by) = match (value.as_use(), value.as_offset()) {
            (Some(from), _) => (from, None),
            (None, Some((from, Operand::Const(Const::Int(n, _))))) if n.abs() <= MOST_STEP => {
                (from, Some(Index::Number(*n)))
            }
            (None, Some((from, by))) => {
                let index = uses::whole(by).filter(|&l| self.is_own(l) && self.bits(l).is_some())?;
                (from, Some(Index::Local(index)))
            }
            (None, None) => return None,
        };
        let from = uses::whole(from).filter(|&l| self.is_fat(l) && self.size(l) == self.size(to))?;
        Some((to, from, by))
    }

    /// Whether it is a pointer with bounds in its own words, which only statements that name it
    /// change, and which need not stand at the beginning of what it points to.
    fn is_fat(&self, local: Local) -> bool {
        let pointer = self.ty(local).and_then(|ty| self.program.types.as_pointer(ty));
        let fat = pointer.is_some_and(|p| p.bounds == Bounds::Fat && !p.own.is_owned());
        fat && self.is_own(local) && self.size(local).is_some()
    }

    /// The size of what a pointer points to.
    fn size(&self, local: Local) -> Option<u64> {
        let types = &self.program.types;
        let target = types.as_pointer(self.ty(local)?)?.target.ty;
        types.layout(target).map(|layout| layout.size).filter(|size| (1..=MOST_SIZE).contains(size))
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

    fn ty(&self, local: Local) -> Option<Ty> {
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
    fn what_is_known_moves_along_with_pointers() {
        let (p, q, i, t) = (Local(0), Local(1), Local(2), Local(3));
        let mut facts = Facts::default();
        facts.check(p, Index::Number(3));
        facts.check(p, Index::Local(i));
        assert_eq!(facts.moved(p, None), [Index::Local(i), Index::Number(3)]);
        assert_eq!(facts.moved(p, Some(Index::Number(5))), [Index::Number(-2)]);
        assert_eq!(facts.moved(p, Some(Index::Number(-MOST_STEP))), []);
        assert_eq!(facts.moved(p, Some(Index::Local(i))), [Index::Number(0)]);
        assert_eq!(facts.moved(p, Some(Index::Local(t))), []);
        assert_eq!(facts.moved(q, None), []);
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
