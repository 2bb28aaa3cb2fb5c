//! What is looked at before it is taken: `x = g; if (x->v == c) return 0; g = x->next; free(x);`.
//!
//! On the way that returns the slot must keep what it holds, so it cannot be taken at `x = g`. But
//! up to the store the local only looks at it, and the slot does not change: until then the local is
//! read as the slot, and it takes what the slot holds right before the store, or before whatever
//! else needs an owner. `taken.rs` says of each such take whether it is one.

use mir::cfg::Cfg;
use mir::effects::{accesses, flags, parts_mut, term_accesses, term_parts_mut, Code, Kind, PartMut};
use mir::ir::*;

use super::taken::{changes, Gone, Take};
use super::{looks, Moved};
use crate::framework::{count_work, Point};
use crate::leaf::is_leaf;

/// Blocks are looked at at most so often.
const ROUNDS: usize = 8;

/// What a statement or terminator means for the local that stands for the slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Needs {
    /// It may read it by the slot's name.
    Name,
    /// It needs an owner, or changes the slot.
    Owner,
    /// The local gets another value, or ends.
    Nothing,
    /// What the slot holds may change where nobody sees it.
    Lost,
}

/// The move that is made later.
struct Later<'m, 'a> {
    moved: &'m Moved<'a>,
    at: Point,
    local: Local,
    slot: Place,
    take: Take,
}

impl Moved<'_> {
    /// The body with the move at the point made later, if it only looks at the slot up to there.
    pub(super) fn later(&self, at: Point) -> Option<Body> {
        let block = self.body.blocks.get(at.block.0 as usize)?;
        let stmt = block.stmts.get(at.stmt)?;
        stmt.kind.as_assign()?.1.as_use()?;
        let (slot, to) = self.take(stmt)?;
        let local = to.as_local()?;
        let decl = self.body.locals.get(local.0 as usize).filter(|d| d.kind != LocalKind::Temp && !d.address_taken);
        decl?;
        let place = self.elements.place(slot);
        let take = Take { at, slot: place, to: Some(to.clone()), gone: Gone::Moved };
        let later = Later { moved: self, at, local, slot: slot.clone(), take };
        let cfg = Cfg::new(self.body);
        // By block: whether the local stands for the slot at its start.
        let mut starts: Vec<Option<bool>> = vec![None; self.body.blocks.len()];
        *starts.first_mut()? = Some(false);
        let mut work = vec![BlockId(0)];
        let mut left = ROUNDS * self.body.blocks.len();
        while let Some(block) = work.pop() {
            left = left.checked_sub(1)?;
            let start = starts.get(block.0 as usize).copied().flatten()?;
            let end = later.block(block, start, &mut None)?;
            for &next in cfg.successors(block) {
                let known = starts.get_mut(next.0 as usize)?;
                let joined = match *known {
                    None => end,
                    Some(before) if before == end => continue,
                    Some(false) => continue,
                    Some(true) => false,
                };
                *known = Some(joined);
                work.push(next);
            }
        }
        // Where ways meet of which one has taken it, it must not be needed any more.
        for (n, start) in starts.iter().enumerate() {
            let id = BlockId(n as u32);
            let Some(start) = *start else { continue };
            let stands_after = later.block(id, start, &mut None)?;
            let off = |next: &&BlockId| starts.get(next.0 as usize) == Some(&Some(false));
            if stands_after && cfg.successors(id).iter().filter(off).any(|&next| later.is_read_from(&cfg, next)) {
                return None;
            }
        }
        let mut body = self.body.clone();
        for (n, start) in starts.iter().enumerate() {
            let Some(start) = *start else { continue };
            let mut made = Some((vec![], None));
            later.block(BlockId(n as u32), start, &mut made)?;
            let (stmts, term) = made?;
            let block = body.blocks.get_mut(n)?;
            block.stmts = stmts;
            block.term = term?;
        }
        Some(body)
    }
}

impl Later<'_, '_> {
    /// Goes through a block; whether the local stands for the slot at its end, `None` if the move
    /// cannot be made later.
    fn block(&self, id: BlockId, start: bool, made: &mut Option<(Vec<Stmt>, Option<Terminator>)>) -> Option<bool> {
        let block = self.moved.body.blocks.get(id.0 as usize)?;
        let take = self.moved.body.blocks.get(self.at.block.0 as usize)?.stmts.get(self.at.stmt)?;
        count_work(block.stmts.len());
        let mut stands = start;
        for (n, stmt) in block.stmts.iter().enumerate() {
            let at = Point { block: id, stmt: n };
            let mut stmt = stmt.clone();
            if at == self.at {
                stands = true;
                stmt.kind = StmtKind::Nop;
            } else if stands {
                match self.stmt(&stmt) {
                    Needs::Name => self.rename(&mut stmt.kind)?,
                    Needs::Owner => {
                        stands = false;
                        made.iter_mut().for_each(|(stmts, _)| stmts.push(take.clone()));
                    }
                    Needs::Nothing => stands = false,
                    Needs::Lost => match self.is_read_after(at) {
                        true => return None,
                        false => stands = false,
                    },
                }
            }
            made.iter_mut().for_each(|(stmts, _)| stmts.push(stmt.clone()));
        }
        let mut term = block.term.clone();
        if stands {
            let mut needs = Needs::Name;
            term_accesses(&term.kind, &mut |place, kind, _| needs = self.worse(needs, self.access(place, kind)));
            match needs {
                Needs::Name => term_parts_mut(&mut term.kind, &mut |part| self.rename_part(part)),
                Needs::Owner => {
                    stands = false;
                    made.iter_mut().for_each(|(stmts, _)| stmts.push(take.clone()));
                }
                Needs::Nothing => stands = false,
                Needs::Lost => return None,
            }
        }
        made.iter_mut().for_each(|(_, to)| *to = Some(term.clone()));
        Some(stands)
    }

    fn worse(&self, a: Needs, b: Needs) -> Needs {
        let rank = |needs| match needs {
            Needs::Name => 0,
            Needs::Nothing => 1,
            Needs::Owner => 2,
            Needs::Lost => 3,
        };
        if rank(a) < rank(b) {
            b
        } else {
            a
        }
    }

    fn stmt(&self, stmt: &Stmt) -> Needs {
        let does = flags(&stmt.kind);
        let others = match does.code {
            Code::Own => {
                does.waits || does.memory && stmt.kind.as_assign().is_some_and(|(_, v)| v.as_alloc().is_some())
            }
            Code::Function(_) | Code::Pointer | Code::Assembly => stmt.kind.as_call().is_none_or(|call| {
                let waits = self.moved.program.types.as_func(*call.ty).is_none_or(|f| f.waits);
                waits || !is_leaf(self.moved.program, self.moved.body, call.callee, call.args, *call.ty)
            }),
        };
        let mut needs = Needs::Name;
        accesses(&stmt.kind, &mut |place, kind, _| needs = self.worse(needs, self.access(place, kind)));
        // What it is given goes before others run.
        let lost = (others || stmt.is_unsafe) && needs != Needs::Owner;
        if lost {
            Needs::Lost
        } else {
            needs
        }
    }

    /// What an access means for the local.
    fn access(&self, place: &Place, kind: Kind) -> Needs {
        let local = Place::local(self.local);
        if place.base == local.base {
            let whole = place.proj.is_empty();
            return match kind {
                _ if looks(kind) || kind == Kind::Mention => Needs::Name,
                Kind::Write | Kind::Begin | Kind::End if whole => Needs::Nothing,
                Kind::Write if !self.owns(place) => Needs::Name,
                _ => Needs::Owner,
            };
        }
        if !changes(kind) {
            return Needs::Name;
        }
        let place = &self.moved.elements.place(place);
        let slot = &self.take.slot;
        let is_index = |l: Local| slot.indices().any(|i| i.place().and_then(Place::as_local) == Some(l));
        let leads = place.base == slot.base && slot.proj.starts_with(&place.proj);
        if leads || place.as_local().is_some_and(is_index) {
            return Needs::Owner;
        }
        match self.moved.sees(&self.take, place, kind) {
            true => Needs::Lost,
            false => Needs::Name,
        }
    }

    fn owns(&self, place: &Place) -> bool {
        let ty = mir::ty::place_ty(self.moved.program, self.moved.body, place);
        !ty.is_ok_and(|q| !mir::ty::owns(&self.moved.program.types, q.ty))
    }

    /// Reads the slot instead of the local.
    fn rename(&self, kind: &mut StmtKind) -> Option<()> {
        let mut mentions = false;
        accesses(kind, &mut |place, _, _| mentions |= place.base_local() == Some(self.local));
        if !mentions {
            return Some(());
        }
        match kind.action() {
            Action::None
            | Action::Check
            | Action::Assign
            | Action::Fill
            | Action::Call
            | Action::Copy
            | Action::Owner
            | Action::Send => {}
            // Two statements name one place: an `open` and its end, a cursor and its end.
            Action::Storage | Action::Assembly | Action::Arguments | Action::Region | Action::Channel => return None,
        }
        parts_mut(kind, &mut |part| self.rename_part(part));
        Some(())
    }

    fn rename_part(&self, part: PartMut) {
        let place = match part {
            PartMut::Operand(Operand::Copy(place) | Operand::Move(place), _) | PartMut::Place(place, _) => place,
            PartMut::Operand(Operand::Const(_), _) | PartMut::Local(..) | PartMut::Type(_) | PartMut::Function(..) => {
                return
            }
        };
        if place.base_local() == Some(self.local) {
            let proj = [self.slot.proj.clone(), std::mem::take(&mut place.proj)].concat();
            *place = Place { base: self.slot.base, proj };
        }
    }

    /// Whether the local is read after the statement, before it gets another value.
    fn is_read_after(&self, at: Point) -> bool {
        let cfg = Cfg::new(self.moved.body);
        match self.is_read_in(at.block, at.stmt + 1) {
            Some(read) => read,
            None => cfg.successors(at.block).iter().any(|&next| self.is_read_from(&cfg, next)),
        }
    }

    fn is_read_from(&self, cfg: &Cfg, block: BlockId) -> bool {
        let mut seen = vec![block];
        let mut next = 0;
        while let Some(&block) = seen.get(next) {
            next += 1;
            match self.is_read_in(block, 0) {
                Some(true) => return true,
                Some(false) => {}
                None => {
                    for &to in cfg.successors(block) {
                        if !seen.contains(&to) {
                            seen.push(to);
                        }
                    }
                }
            }
        }
        false
    }

    /// Whether the rest of the block reads the local (true), or gives it another value first.
    fn is_read_in(&self, block: BlockId, from: usize) -> Option<bool> {
        let block = self.moved.body.blocks.get(block.0 as usize)?;
        let mut found = None;
        let mut see = |place: &Place, kind: Kind| {
            if found.is_none() && place.base_local() == Some(self.local) {
                let replaced = place.proj.is_empty() && matches!(kind, Kind::Write | Kind::Begin | Kind::End);
                found = Some(!replaced);
            }
        };
        for stmt in block.stmts.iter().skip(from) {
            accesses(&stmt.kind, &mut |place, kind, _| see(place, kind));
        }
        term_accesses(&block.term.kind, &mut |place, kind, _| see(place, kind));
        found
    }
}
