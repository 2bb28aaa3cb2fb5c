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
use super::{is_replaceable, looks, place_of, Moved};
use crate::framework::{count_work, points, Point};
use crate::leaf::waits;

/// Blocks are looked at at most so often.
const ROUNDS: usize = 8;

/// What a statement or terminator means for the local that stands for the slot. Of several the last
/// one here counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Needs {
    /// It may read it by the slot's name.
    Name,
    /// The local gets another value, or ends.
    Nothing,
    /// It needs an owner, or changes the slot.
    Owner,
    /// Other code may change what the slot holds.
    Lost,
}

/// The move that is made later.
struct Later<'m, 'a> {
    moved: &'m Moved<'a>,
    at: Point,
    local: Local,
    slot: Place,
    take: Take,
    cfg: Cfg,
}

impl Moved<'_> {
    /// The body with the move at the point made later, if it only looks at the slot up to there.
    pub(super) fn later(&self, at: Point) -> Option<Body> {
        let block = self.body.blocks.get(at.block.0 as usize)?;
        let stmt = block.stmts.get(at.stmt)?;
        stmt.kind.as_assign()?.1.as_use()?;
        let (slot, to) = self.take(at, stmt).or_else(|| self.moved_at_cursor(stmt))?;
        let local = to.as_local()?;
        let decl = self.body.locals.get(local.0 as usize).filter(|d| d.kind != LocalKind::Temp && !d.address_taken);
        decl?;
        let place = self.elements.place(slot);
        let field = self.field(slot);
        let take = Take { at, slot: place, field, to: Some(to.clone()), gone: Gone::Moved };
        let later = Later { moved: self, at, local, slot: slot.clone(), take, cfg: Cfg::new(self.body) };
        // By block: whether the local stands for the slot at its start.
        let mut starts: Vec<Option<bool>> = vec![None; self.body.blocks.len()];
        *starts.first_mut()? = Some(false);
        let mut work = vec![BlockId(0)];
        let mut left = ROUNDS * self.body.blocks.len();
        while let Some(block) = work.pop() {
            left = left.checked_sub(1)?;
            let start = starts.get(block.0 as usize).copied().flatten()?;
            let (_, end) = later.block(block, start)?;
            for &next in later.cfg.successors(block) {
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
        let mut body = self.body.clone();
        for (n, start) in starts.iter().enumerate() {
            let id = BlockId(n as u32);
            let Some(start) = *start else { continue };
            let (block, end) = later.block(id, start)?;
            // Where paths meet of which one has taken it, it must not be needed any more.
            let taken = |next: &&BlockId| starts.get(next.0 as usize) == Some(&Some(false));
            if end && later.cfg.successors(id).iter().filter(taken).any(|&next| later.is_read_from(next)) {
                return None;
            }
            *body.blocks.get_mut(n)? = block;
        }
        Some(body)
    }

    /// What the statement moves out of the place that a cursor is at, and where to.
    fn moved_at_cursor<'s>(&self, stmt: &'s Stmt) -> Option<(&'s Place, &'s Place)> {
        let (from, _) = self.made(stmt)?;
        let is_cursor = from.base_local().is_some_and(|local| self.cursors.contains(&local));
        (is_cursor && from.proj == [Proj::Deref]).then_some((from, stmt.kind.as_assign()?.0))
    }

    /// The body with one such move made later, of which it is not certain that the place gets a new
    /// value next: `e = *pp; if (e->v == v) { *pp = e->next; free(e); }`.
    pub(super) fn later_at_cursor(&self) -> Option<Body> {
        let moves: Vec<(Point, Place)> =
            points(self.body).filter_map(|(at, stmt)| Some((at, self.moved_at_cursor(stmt)?.0.clone()))).collect();
        moves.iter().filter(|(at, from)| self.is_left_empty(*at, from)).find_map(|(at, _)| self.later(*at))
    }

    /// Whether the cursor may move on or end, or the place be looked at, before it gets a value
    /// again.
    fn is_left_empty(&self, at: Point, from: &Place) -> bool {
        let cfg = Cfg::new(self.body);
        let mut work = vec![(at.block, at.stmt + 1)];
        let mut seen: Vec<BlockId> = vec![];
        while let Some((id, first)) = work.pop() {
            let Some(block) = self.body.blocks.get(id.0 as usize) else { continue };
            count_work(block.stmts.len().saturating_sub(first) + 1);
            let (mut stored, mut left) = (false, false);
            let mut see = |place: &Place, kind: Kind| {
                let is_it = place.base == from.base && !stored && !left;
                match kind {
                    Kind::Write if is_it && place == from => stored = true,
                    _ if is_it => left = true,
                    _ => {}
                }
            };
            for stmt in block.stmts.iter().skip(first) {
                accesses(&stmt.kind, &mut |place, kind, _| see(place, kind));
            }
            term_accesses(&block.term.kind, &mut |place, kind, _| see(place, kind));
            if left {
                return true;
            }
            let next = cfg.successors(id).iter().filter(|_| !stored);
            for &to in next {
                if !seen.contains(&to) {
                    seen.push(to);
                    work.push((to, 0));
                }
            }
        }
        false
    }
}

impl Later<'_, '_> {
    /// The block with the move made later, and whether the local stands for the slot at its end;
    /// `None` if the move cannot be made later.
    fn block(&self, id: BlockId, start: bool) -> Option<(Block, bool)> {
        let take = self.moved.body.blocks.get(self.at.block.0 as usize)?.stmts.get(self.at.stmt)?;
        let mut block = self.moved.body.blocks.get(id.0 as usize)?.clone();
        count_work(block.stmts.len());
        let mut stands = start;
        let mut stmts = Vec::with_capacity(block.stmts.len() + 1);
        for (n, mut stmt) in std::mem::take(&mut block.stmts).into_iter().enumerate() {
            let at = Point { block: id, stmt: n };
            if at == self.at {
                stands = true;
                stmt.kind = StmtKind::Nop;
            } else if stands {
                match self.stmt(&stmt) {
                    Needs::Name => self.rename(&mut stmt.kind)?,
                    Needs::Nothing => stands = false,
                    Needs::Owner => {
                        stands = false;
                        stmts.push(take.clone());
                    }
                    Needs::Lost if self.is_read_after(at) => return None,
                    Needs::Lost => stands = false,
                }
            }
            stmts.push(stmt);
        }
        if stands {
            let mut needs = Needs::Name;
            term_accesses(&block.term.kind, &mut |place, kind, _| needs = needs.max(self.access(place, kind)));
            match needs {
                Needs::Name => term_parts_mut(&mut block.term.kind, &mut |part| self.rename_part(part)),
                Needs::Nothing => stands = false,
                Needs::Owner => {
                    stands = false;
                    stmts.push(take.clone());
                }
                Needs::Lost => return None,
            }
        }
        block.stmts = stmts;
        Some((block, stands))
    }

    fn stmt(&self, stmt: &Stmt) -> Needs {
        let does = flags(&stmt.kind);
        let others = match does.code {
            Code::Own => does.waits || does.collects,
            Code::Function(_) | Code::Pointer | Code::Assembly => stmt.kind.as_call().is_none_or(|call| {
                let (program, body) = (self.moved.program, self.moved.body);
                waits(program, *call.ty) || !self.moved.leaves.is_leaf(program, body, &call)
            }),
        };
        let mut needs = Needs::Name;
        accesses(&stmt.kind, &mut |place, kind, _| needs = needs.max(self.access(place, kind)));
        // What it is given goes before others run.
        match needs {
            Needs::Owner => needs,
            _ if others || stmt.is_unsafe => Needs::Lost,
            _ => needs,
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
        // The cursor moves on.
        if kind == Kind::Step && self.slot.base == place.base {
            return Needs::Lost;
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
        if !is_replaceable(kind) {
            return None;
        }
        parts_mut(kind, &mut |part| self.rename_part(part));
        Some(())
    }

    fn rename_part(&self, part: PartMut) {
        let Some((place, _)) = place_of(part) else { return };
        if place.base_local() == Some(self.local) {
            let proj = [self.slot.proj.clone(), std::mem::take(&mut place.proj)].concat();
            *place = Place { base: self.slot.base, proj };
        }
    }

    /// Whether the local is read after the statement, before it gets another value.
    fn is_read_after(&self, at: Point) -> bool {
        match self.is_read_in(at.block, at.stmt + 1) {
            Some(read) => read,
            None => self.cfg.successors(at.block).iter().any(|&next| self.is_read_from(next)),
        }
    }

    fn is_read_from(&self, block: BlockId) -> bool {
        let mut seen = vec![block];
        let mut next = 0;
        while let Some(&block) = seen.get(next) {
            next += 1;
            match self.is_read_in(block, 0) {
                Some(true) => return true,
                Some(false) => {}
                None => {
                    for &to in self.cfg.successors(block) {
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
