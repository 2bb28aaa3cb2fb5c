//! The walks: from block to block, along each path, until the states repeat.

use mir::cfg::Cfg;
use mir::effects::{stmt_places, Access};
use mir::ir::*;
use mir::resolve::Resolver;
use mir::ty::owns;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use typing::tree::RegionKind;
use typing::types::{Region, Ty};

use super::live::ReadLater;
use super::memory::{Base, Memory, Null, Thing, Token, Value};
use crate::pass::Known;

/// How far along a list objects are distinguished.
pub(super) const MAX_DEPTH: u8 = 3;

/// A mistake: block, statement, what.
pub(crate) type Mistake = (BlockId, usize, String);

/// Walks one body.
pub(crate) struct Walker<'a> {
    pub(super) program: &'a Program,
    pub(super) body: &'a Body,
    /// What calls leave empty.
    pub(super) known: &'a Known,
    pub(super) mistakes: Vec<Mistake>,
    pub(super) at: (BlockId, usize),
    pub(super) is_unsafe: bool,
    /// Which locals are read later.
    pub(super) later: ReadLater,
    /// What temporaries with pointers lead to.
    pub(super) resolver: Resolver,
    /// Locals that nothing but their names leads to.
    pub(super) hidden: FxHashSet<Local>,
    /// Locals that hold what is lent to this function or to a call.
    pub(super) lent: FxHashSet<Local>,
    /// Temporaries that are passed to leaves, and nothing else, once someone asks.
    pub(super) given: Option<FxHashSet<Local>>,
    pub(super) cursors: Vec<(Local, Place)>,
    /// The struct that was unpacked last, and the names of what it hid.
    pub(super) unpacked: Option<(Place, Vec<u32>)>,
    /// By region that `unpack` introduces: the region that it is live with.
    pub(super) bounds: BTreeMap<u32, Region>,
}

/// What a walk gave.
pub(crate) struct Walked {
    pub mistakes: Vec<Mistake>,
    /// A budget ended it.
    pub is_cut: bool,
    /// Cells in all states that were kept.
    pub cells: usize,
}

/// Control does not get on from here.
pub(super) struct Ends;

pub(super) type Step = Result<(), Ends>;

/// The locals whose address is neither taken nor lent.
fn hidden(body: &Body) -> FxHashSet<Local> {
    let mut shown = FxHashSet::default();
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        stmt_places(&stmt.kind, &mut |place, access| {
            shown.extend(place.base_local().filter(|_| access == Access::Address));
        });
    }
    let locals = body.locals.iter().enumerate().filter(|(_, decl)| !decl.address_taken);
    locals.map(|(n, _)| Local(n as u32)).filter(|local| !shown.contains(local)).collect()
}

impl<'a> Walker<'a> {
    pub fn new(program: &'a Program, known: &'a Known, body: &'a Body) -> Walker<'a> {
        Walker {
            program,
            body,
            known,
            mistakes: vec![],
            at: (BlockId(0), 0),
            is_unsafe: false,
            later: ReadLater::new(program, body),
            resolver: Resolver::new(body),
            hidden: hidden(body),
            lent: FxHashSet::default(),
            given: None,
            cursors: vec![],
            unpacked: None,
            bounds: Self::bounds(program, body),
        }
    }

    /// Walks until all is seen or a budget ends it: of blocks, or of cells in states that are kept.
    pub fn run(mut self, budget: usize, most_cells: usize) -> Walked {
        let mut work = vec![(BlockId(0), self.entry())];
        let cfg = Cfg::new(self.body);
        let mut seen: FxHashSet<(u32, Memory)> = FxHashSet::default();
        let (mut walked, mut cells, mut is_cut) = (0, 0, false);
        while let Some((block, mut memory)) = work.pop() {
            walked += 1;
            is_cut = walked > budget || cells > most_cells;
            if is_cut || self.mistakes.len() > 8 {
                break;
            }
            // Paths meet only where there are two.
            if cfg.predecessors(block).len() < 2 {
                self.block(block, memory, &mut work);
                continue;
            }
            self.forget_unread(block, &mut memory);
            let memory = memory.canonical();
            if seen.insert((block.0, memory.clone())) {
                cells += memory.cells.len();
                self.block(block, memory, &mut work);
            }
        }
        self.mistakes.sort_by_key(|m| (m.0, m.1));
        self.mistakes.dedup();
        Walked { mistakes: self.mistakes, is_cut, cells }
    }

    /// Forgets the values of locals that are not read from the block on, so that paths which differ
    /// only in those are joined. What owns something is kept: it may leak. An owning pointer to
    /// another's object (an argument that was lent) becomes empty: without a value it would own. Keys
    /// are named again where an arena closes, which does not count as a read.
    fn forget_unread(&self, block: BlockId, m: &mut Memory) {
        let unread = |local: Local, way: &[u32]| {
            local.0 >= self.body.params && self.hidden.contains(&local) && !self.later.contains((block, 0), local, way)
        };
        m.cells.retain(|(base, way), value| match base {
            Base::Local(local) if value.owned.is_none() && unread(*local, way) => {
                let ty = self.local_ty(*local);
                let is_owner = owns(&self.program.types, ty);
                if is_owner && self.program.types.as_pointer(ty).is_some() {
                    *value = Value::gone();
                }
                is_owner
            }
            Base::Local(_) | Base::Object(_) => true,
        });
    }

    fn entry(&mut self) -> Memory {
        let mut m = Memory { no_loans: true, ..Memory::default() };
        for (n, region) in self.body.regions.iter().enumerate() {
            if matches!(region.decl.kind, RegionKind::Param | RegionKind::Block | RegionKind::Loan | RegionKind::Hidden)
            {
                m.open.insert(n as u32, 1);
            }
        }
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let func = function.and_then(|f| self.program.types.as_func(f.ty));
        for n in 0..self.body.params {
            let local = Local(n);
            let consume = func.as_ref().and_then(|f| f.params.get(n as usize)).is_some_and(|p| p.consume);
            self.storage(&mut m, local);
            let ty = self.local_ty(local);
            if !consume && owns(&self.program.types, ty) {
                self.lent.insert(local);
            }
            if self.is_owned_scalar(ty) {
                let value = self.arriving(&mut m, ty, !consume);
                m.cells.insert((Base::Local(local), vec![]), value);
            }
        }
        m
    }

    pub(super) fn wrong(&mut self, message: impl Into<String>) {
        if !self.is_unsafe {
            self.mistakes.push((self.at.0, self.at.1, message.into()));
        }
    }

    pub(super) fn local_ty(&self, local: Local) -> Ty {
        self.body.locals.get(local.0 as usize).map_or(self.program.types.common.error, |d| d.ty.ty)
    }

    pub(super) fn storage(&self, m: &mut Memory, local: Local) -> Token {
        let token = m.token(Thing { alive: true, zeroed: false, owed: false, lent: false, depth: 0 });
        m.storage.insert(local, token);
        token
    }

    fn block(&mut self, id: BlockId, mut m: Memory, work: &mut Vec<(BlockId, Memory)>) {
        let body = self.body;
        let Some(block) = body.blocks.get(id.0 as usize) else { return };
        for (n, stmt) in block.stmts.iter().enumerate() {
            self.at = (id, n);
            self.is_unsafe = stmt.is_unsafe;
            if self.statement(&mut m, stmt).is_err() {
                return;
            }
        }
        self.at = (id, block.stmts.len());
        self.is_unsafe = false;
        match &block.term.kind {
            TermKind::Goto(to) => work.push((*to, m)),
            TermKind::If(operand, yes, no) => self.branch(m, operand, *yes, *no, work),
            TermKind::Switch(operand, arms, other) => {
                let Ok(value) = self.operand(&mut m, operand) else { return };
                let mut targets: Vec<BlockId> = match value.number {
                    Some(n) => {
                        let arm = arms.iter().find(|(lo, hi, _)| (*lo..=*hi).contains(&n));
                        vec![arm.map_or(*other, |a| a.2)]
                    }
                    None => arms.iter().map(|a| a.2).chain([*other]).collect(),
                };
                targets.dedup();
                work.extend(targets.into_iter().map(|to| (to, m.clone())));
            }
            TermKind::Return(operand) => self.returns(m, operand.as_ref()),
            TermKind::MissingReturn | TermKind::Unreachable | TermKind::GotoComputed(_) => {}
        }
    }

    fn branch(
        &mut self,
        mut m: Memory,
        operand: &Operand,
        yes: BlockId,
        no: BlockId,
        work: &mut Vec<(BlockId, Memory)>,
    ) {
        let known = crate::framework::const_truth(operand);
        let place = operand.place().cloned();
        let Ok(value) = place.map_or(Ok(Value::unknown()), |p| self.read(&mut m, &p)) else { return };
        for (to, holds) in [(yes, true), (no, false)] {
            if known == Some(!holds) || value.number.is_some_and(|n| (n != 0) != holds) {
                continue;
            }
            let mut m = m.clone();
            if let Some((cell, same)) = &value.test {
                let not_null = holds == *same;
                if let Some(tested) = m.cells.get_mut(cell) {
                    match (tested.null, not_null) {
                        (Null::Yes, true) | (Null::No, false) => continue,
                        (_, true) => tested.null = Null::No,
                        (_, false) => tested.null = Null::Yes,
                    }
                }
            }
            if let Some((cell, record, n, _)) = value.not_if.as_deref().filter(|(.., when)| *when == holds) {
                self.excludes(&mut m, cell, *record, *n);
            }
            work.push((to, m));
        }
    }

    pub(super) fn is_temp(&self, local: Local) -> bool {
        self.body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp)
    }
}
