//! Regions: where the target of each pointer lives, that no pointer goes where it could be used after its target is gone, and
//! that every region is live where it is used (language reference, regions).
//!
//! The value of a region to be solved is the set of *origins* that its pointers may come from: regions of the body, blocks of
//! locals, loans. Statements give constraints by comparing the types of both sides (`statements.rs`, `calls.rs`, `sides.rs`); solving (`build.rs`) is propagation.
//! Flow-insensitive: a variable that holds a stack address at one time and leaves the function at another is better written as
//! two. Which regions are live is a forward analysis beside it (`live.rs`).
//!
//! Needs: dead branches removed. Changes: `DropSlot` of slots that own into arenas only becomes nothing. Guarantees: outside
//! `unsafe`, no pointer is kept where it can be used after its region has ended, none is used while its region is closed, and
//! owned pointers are released into the region that they came from.

mod build;
mod calls;
mod check;
mod live;
mod makings;
mod origins;
mod report;
pub(crate) mod shape;
mod sides;
mod statements;
mod strings;

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::ir::*;
use source::{Sink, Span};
use typing::tree::{BorrowKind, RegionKind};
use typing::types::Region;

use crate::framework::Point;
use build::{Ref, Solver};
pub use origins::{look_temps, Form};
use origins::{Origin, HEAP};

/// A loan, for the ownership analysis.
#[derive(Clone, Debug)]
pub struct Loan {
    /// The statement that lends.
    pub at: Point,
    /// Where.
    pub span: Span,
    /// How.
    pub kind: BorrowKind,
    /// What is lent.
    pub place: Place,
    /// Which kind of statement lends.
    pub form: Form,
    /// The locals that may hold what is lent: it is lent as long as one of them can be used.
    pub holders: Vec<Local>,
}

/// What solving found out.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// All loans, in order of their statements.
    pub loans: Vec<Loan>,
    /// By local: the outermost pointer may point into the heap or the exchange heap, so it owes its release.
    owes: BitSet,
    /// By region to be solved: the same.
    owes_infer: BitSet,
}

impl Regions {
    /// Whether an owned local must be released or moved: what lives in an arena or a reap goes with it.
    pub fn owes(&self, local: Local) -> bool {
        self.owes.contains(local.0 as usize)
    }

    /// Whether an owned pointer of this region must be released.
    pub fn region_owes(&self, region: Region) -> bool {
        match region {
            Region::Heap | Region::Exchange => true,
            Region::Infer(n) => self.owes_infer.contains(n as usize),
            _ => false,
        }
    }
}

/// Checks one body. Variables in `reported` get no report.
pub fn run(program: &Program, body: &mut Body, sink: &mut Sink, reported: &mut BitSet) -> Regions {
    let cfg = Cfg::new(body);
    let (regions, idle) = {
        let mut solver = Solver::new(program, body);
        solver.run(&cfg);
        check::run(&mut solver, &cfg, sink, reported);
        strings::check(&mut solver, sink);
        (collect(&mut solver), idle_drops(&mut solver))
    };
    for at in idle {
        if let Some(stmt) = body.blocks.get_mut(at.block.0 as usize).and_then(|b| b.stmts.get_mut(at.stmt)) {
            stmt.kind = StmtKind::Nop;
        }
    }
    regions
}

fn collect(solver: &mut Solver) -> Regions {
    let body = solver.body;
    let mut owes = BitSet::empty(body.locals.len());
    for n in 0..body.locals.len() {
        let outer = solver.outer_of_local(Local(n as u32));
        if may_owe(solver, outer) {
            owes.insert(n);
        }
    }
    let mut owes_infer = BitSet::empty(body.infer_regions as usize);
    for n in 0..body.infer_regions as usize {
        if may_owe(solver, Ref::Node(n)) {
            owes_infer.insert(n);
        }
    }
    let holders = holders(solver);
    let loans = solver
        .origins
        .loans
        .iter()
        .zip(holders)
        .map(|(site, holders)| Loan {
            at: site.at,
            span: site.span,
            kind: site.kind,
            place: site.place.clone(),
            form: site.form,
            holders,
        })
        .collect();
    Regions { loans, owes, owes_infer }
}

fn may_owe(solver: &Solver, region: Ref) -> bool {
    let set = match region {
        Ref::Fixed(o) => return o <= origins::EXCHANGE,
        Ref::Node(n) => solver.sets.get(n),
        Ref::Free => None,
    };
    // A pointer without origins is null, or comes from a mistake.
    set.is_some_and(|set| set.contains(HEAP) || set.contains(origins::EXCHANGE))
}

/// By loan: the locals whose types mention it, or the named region that it is for.
fn holders(solver: &mut Solver) -> Vec<Vec<Local>> {
    let body = solver.body;
    let mut holders = vec![vec![]; solver.origins.loans.len()];
    let first = solver.origins.loan(0);
    // The named region that a loan's statement gives its pointer, and what a statement's own local holds.
    let mut named: Vec<Vec<u32>> = vec![vec![]; holders.len()];
    for n in 0..holders.len() {
        let Some(site) = solver.origins.loans.get(n).cloned() else { continue };
        let stmt = body.blocks.get(site.at.block.0 as usize).and_then(|b| b.stmts.get(site.at.stmt));
        match stmt.map(|s| &s.kind) {
            Some(StmtKind::Assign(dest, Rvalue::Borrow(_, _, ty))) => {
                if let (Some(local), Some(list)) = (dest.base_local(), holders.get_mut(n)) {
                    list.push(local);
                }
                // What is lent to a call keeps its region, which may be that of a key, and is lent for the call only.
                if let Some(Region::Body(r)) = solver.program.types.as_pointer(*ty).map(|p| p.region) {
                    let is_loan = body.regions.get(r as usize).is_some_and(|b| b.decl.kind == RegionKind::Loan);
                    if let Some(list) = named.get_mut(n).filter(|_| is_loan) {
                        list.push(r);
                    }
                }
            }
            Some(StmtKind::Assign(dest, _)) => {
                if let (Some(local), Some(list)) = (dest.as_local(), holders.get_mut(n)) {
                    list.push(local);
                }
            }
            Some(StmtKind::CursorBegin(local, _) | StmtKind::Open(local, ..)) => {
                if let Some(list) = holders.get_mut(n) {
                    list.push(*local);
                }
            }
            Some(StmtKind::Unpack { regions, .. }) => {
                if let Some(list) = named.get_mut(n) {
                    list.extend(regions);
                }
            }
            _ => {}
        }
    }
    for n in 0..body.locals.len() {
        let local = Local(n as u32);
        let refs = check::regions_of_local(solver, local);
        let mut mentioned = BitSet::empty(solver.origins.all.len());
        for &r in &refs {
            for origin in check::origins_of(solver, r) {
                mentioned.insert(origin);
                // What is hidden in a struct may be whatever that is live with.
                solver.origins.lives_with(origin).into_iter().for_each(|o| {
                    mentioned.insert(o);
                });
            }
        }
        for (loan, list) in holders.iter_mut().enumerate() {
            let names = named.get(loan).into_iter().flatten();
            let mentions = mentioned.contains(first + loan)
                || names.into_iter().any(|&r| mentioned.contains(origins::ENTRIES + r as usize))
                || refs.iter().any(|&r| matches!(r, Ref::Fixed(o) if into_named(solver, loan, o)));
            if mentions && !list.contains(&local) {
                list.push(local);
            }
        }
    }
    holders
}

/// Whether the loan went into the named borrow's region (`borrow b = ...` of something that is a loan already).
fn into_named(solver: &Solver, loan: usize, region: usize) -> bool {
    let Origin::Entry(_) = solver.origins.get(region) else { return false };
    solver.demands.iter().any(|d| {
        d.region == region
            && !d.exact
            && match d.source {
                Ref::Node(n) => solver.sets.get(n).is_some_and(|s| s.contains(solver.origins.loan(loan))),
                Ref::Fixed(o) => o == solver.origins.loan(loan),
                Ref::Free => false,
            }
    })
}

/// Slots that own nothing in the heap need no release: what they hold goes with its arena.
fn idle_drops(solver: &mut Solver) -> Vec<Point> {
    let body = solver.body;
    let mut idle = vec![];
    for (b, block) in body.blocks.iter().enumerate() {
        for (s, stmt) in block.stmts.iter().enumerate() {
            let StmtKind::DropSlot(place) = &stmt.kind else { continue };
            let Ok(qty) = mir::ty::place_ty(solver.program, body, place) else { continue };
            let mut parts = vec![];
            shape::each_owned(&solver.program.types, qty.ty, 0, &mut |owned| parts.push(owned));
            let owes = parts.into_iter().any(|owned| match owned {
                shape::Owned::Pointer(r) => {
                    let region = solver.map((r, 0), build::Env::Body);
                    may_owe(solver, region)
                }
                _ => true,
            });
            if !owes {
                idle.push(Point { block: BlockId(b as u32), stmt: s });
            }
        }
    }
    idle
}
