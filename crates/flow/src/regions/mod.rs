//! Regions: where the target of each pointer lives, that no pointer is stored where it could be
//! used after its target is gone, and that every region is live where it is used (language
//! reference, regions).
//!
//! The value of a region to be solved is the set of *origins* that its pointers may come from:
//! regions of the body, blocks of locals, loans. Statements give constraints by comparing the types
//! of both sides (`statements.rs`, `calls.rs`, `sides.rs`); solving (`build.rs`) is propagation.
//! Flow-insensitive: a variable that holds a stack address at one time and leaves the function at
//! another is better written as two. Which regions are live is a forward analysis beside it
//! (`live.rs`).
//!
//! Needs: dead branches removed. Changes: `DropSlot` of slots that own into arenas only becomes
//! nothing. Guarantees: outside `unsafe`, no pointer is kept where it can be used after its region
//! has ended, none is used while its region is closed, and owned pointers are released into the
//! region that they came from.

mod build;
mod calls;
mod carried;
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
use rustc_hash::{FxHashMap, FxHashSet};
use source::{Sink, Span};
use typing::tree::{BorrowKind, RegionKind};
use typing::types::Region;

use crate::framework::Point;
use crate::pass::Known;
use build::{Ref, Solver};
pub use origins::Form;
use origins::{OriginId, HEAP};

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
    /// A view sees the place.
    pub seen: bool,
    /// Only leaves of the file get it, which change no owner: it is lent as a shared pointer is.
    pub to_leaves: bool,
    /// The locals that may hold what is lent: it is lent as long as one of them may be used. None
    /// for an `unpack`.
    pub holders: Vec<Holder>,
    /// Those of them that get it first: from the statement that lends, and by conversions of that.
    pub makers: Vec<Local>,
}

impl Loan {
    /// Whether no one else may use what is lent meanwhile.
    pub fn is_exclusive(&self) -> bool {
        self.kind.is_exclusive() && !self.to_leaves
    }
}

/// A local that may hold a loan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The local.
    pub local: Local,
    /// It may hold the loan in a part, or behind a pointer, or its address is taken: a store
    /// elsewhere may bring it there.
    pub inside: bool,
}

/// The results of solving.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// All loans, in order of their statements.
    pub loans: Vec<Loan>,
    /// The loan that a statement makes. The addresses of one local are one loan, which many
    /// statements make.
    pub loan_at: FxHashMap<Point, usize>,
    /// By local: the outermost pointer may point into the heap or the exchange heap, so it owes its
    /// release.
    owes: BitSet,
    /// By region to be solved: the heap that an owned pointer's target is in.
    owes_infer: Vec<Option<Region>>,
}

impl Regions {
    /// Whether an owned local must be released or moved: what lives in an arena or a reap ends with
    /// it.
    pub fn owes(&self, local: Local) -> bool {
        self.owes.contains(local.0 as usize)
    }

    /// Whether an owned pointer of this region must be released.
    pub fn region_owes(&self, region: Region) -> bool {
        self.heap_of(region).is_some()
    }

    /// The heap that what an owned pointer of this region points to is in; `None`: an arena, a
    /// reap.
    pub fn heap_of(&self, region: Region) -> Option<Region> {
        match region {
            Region::Heap | Region::Exchange => Some(region),
            Region::Infer(n) => self.owes_infer.get(n as usize).copied().flatten(),
            _ => None,
        }
    }
}

/// Checks one body. Variables in `reported` get no report.
pub fn run(program: &Program, known: &Known, body: &mut Body, sink: &mut Sink, reported: &mut BitSet) -> Regions {
    let cfg = Cfg::new(body);
    let (regions, idle) = {
        let mut solver = Solver::new(program, known, body);
        solver.run(&cfg);
        check::run(&mut solver, &cfg, sink, reported);
        strings::check(&mut solver, sink);
        (collect(&mut solver), idle_drops(&mut solver))
    };
    for at in idle {
        if let Some(stmt) = body.blocks.get_mut(at.block.0 as usize).and_then(|b| b.stmts.get_mut(at.stmt)) {
            stmt.remove();
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
    let owes_infer = (0..body.infer_regions as usize).map(|n| heap_in(solver, n)).collect();
    let (holders, makers) = holders(solver);
    let mut loans: Vec<Loan> = solver
        .origins
        .loans
        .iter()
        .zip(holders.into_iter().zip(makers))
        .map(|(site, (holders, makers))| Loan {
            at: site.at,
            span: site.span,
            kind: site.kind,
            place: site.place.clone(),
            form: site.form,
            seen: solver.is_seen(&site.place),
            to_leaves: site.to_leaves,
            holders,
            makers,
        })
        .collect();
    loans.extend(region_loans(solver));
    Regions { loans, loan_at: solver.origins.loan_at.clone(), owes, owes_infer }
}

/// Loans for the variables that may point into a region and are declared outside of it. No
/// statement makes such a loan: its holder counts as one throughout.
fn region_loans(solver: &Solver) -> Vec<Loan> {
    let loan = |outside: &build::Outside| {
        let end = solver.origins.ends_with(solver.program, outside.region)?;
        Some(Loan {
            at: Point { block: BlockId(0), stmt: 0 },
            span: outside.span,
            kind: BorrowKind::Shared,
            place: Place::local(end),
            form: Form::Region,
            seen: false,
            to_leaves: false,
            holders: vec![Holder { local: outside.local, inside: true }],
            makers: vec![],
        })
    };
    solver.outside.iter().filter_map(loan).collect()
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

/// The heap that what is owned in a region to be solved is in. Owned pointers keep their exact
/// region, so it is one of them.
fn heap_in(solver: &Solver, node: usize) -> Option<Region> {
    let set = solver.sets.get(node)?;
    match set.contains(origins::EXCHANGE) {
        true => Some(Region::Exchange),
        false => set.contains(HEAP).then_some(Region::Heap),
    }
}

/// By loan: the locals whose types mention it, or the named region that it is for. Of an `unpack`
/// there are none: its own end ends it. And those of them that get it first.
fn holders(solver: &mut Solver) -> (Vec<Vec<Holder>>, Vec<Vec<Local>>) {
    let body = solver.body;
    let mut holders: Vec<Vec<Holder>> = vec![vec![]; solver.origins.loans.len()];
    // The named region that a loan's statement gives its pointer, and what a statement's own local
    // holds.
    let mut named: Vec<Vec<u32>> = vec![vec![]; holders.len()];
    let mut makers: Vec<(usize, Local)> = vec![];
    for (at, n) in solver.origins.loan_at.clone() {
        let stmt = body.blocks.get(at.block.0 as usize).and_then(|b| b.stmts.get(at.stmt));
        let Some(kind) = stmt.map(|s| &s.kind) else { continue };
        if let Some((dest, value)) = kind.as_assign() {
            let borrowed = value.as_borrow();
            let local = if borrowed.is_some() { dest.base_local() } else { dest.as_local() };
            makers.extend(local.map(|local| (n, local)));
            // What is lent to a call keeps its region, which may be that of a key, and is lent for
            // the call only.
            let region = borrowed.and_then(|(.., ty)| solver.program.types.as_pointer(ty)).map(|p| p.region);
            if let Some(Region::Body(r)) = region {
                let is_loan = body.regions.get(r as usize).is_some_and(|b| b.decl.kind == RegionKind::Loan);
                if let Some(list) = named.get_mut(n).filter(|_| is_loan) {
                    list.push(r);
                }
            }
        }
        let result = kind.as_call().and_then(|call| call.dest.as_ref()).and_then(Place::base_local);
        makers.extend(result.map(|local| (n, local)));
        let cursor = kind.as_cursor().map(|(local, _)| local);
        makers.extend(cursor.or(kind.as_open().map(|(handle, ..)| handle)).map(|local| (n, local)));
    }
    passed_on(body, &mut makers);
    makers.sort_unstable();
    let mut first: Vec<Vec<Local>> = vec![vec![]; holders.len()];
    for (loan, local) in makers {
        add_holder(&mut holders, loan, Holder { local, inside: false });
        first.get_mut(loan).into_iter().for_each(|list| list.push(local));
    }
    // By origin: the loans that a pointer of that origin may hold.
    let mut loans_of: FxHashMap<OriginId, Vec<usize>> = FxHashMap::default();
    for (n, names) in named.iter().enumerate() {
        loans_of.entry(solver.origins.origin_of_loan(n)).or_default().push(n);
        for &r in names {
            loans_of.entry(origins::ENTRIES + r as usize).or_default().push(n);
        }
    }
    for n in 0..body.locals.len() {
        let local = Local(n as u32);
        let refs = check::regions_of_local(solver, local);
        let decl = body.locals.get(n);
        let is_pointer = decl.is_some_and(|d| shape::object_pointer(&solver.program.types, d.ty.ty).is_some());
        let address_taken = decl.is_some_and(|d| d.address_taken);
        for (at, &r) in refs.iter().enumerate() {
            let mentioned = solver.reached(r);
            let inside = address_taken || at > 0 || !is_pointer;
            for loan in mentioned.iter().filter_map(|o| loans_of.get(o)).flatten() {
                add_holder(&mut holders, *loan, Holder { local, inside });
            }
        }
    }
    (holders, first)
}

/// What is lent for a call may be converted on its way there: with bounds, without, to another type. The
/// type of an owner names no loan, so what the conversion gives is added here.
fn passed_on(body: &Body, makers: &mut Vec<(usize, Local)>) {
    let mut to: FxHashMap<Local, Vec<Local>> = FxHashMap::default();
    for (dest, value) in body.blocks.iter().flat_map(|b| &b.stmts).filter_map(|stmt| stmt.kind.as_assign()) {
        let (Some(dest), Some((operand, way))) = (dest.as_local(), value.made_of()) else { continue };
        let is_temp = body.locals.get(dest.0 as usize).is_some_and(|decl| decl.kind == LocalKind::Temp);
        let is_pointer = match way {
            Way::Same | Way::Bits | Way::Fat | Way::Counted | Way::Moved | Way::Typed => true,
            Way::Word(part) => part != Part::Type,
            Way::Number | Way::Retained => false,
        };
        let from = operand.place().and_then(Place::as_local).filter(|_| is_temp && is_pointer);
        from.into_iter().for_each(|from| to.entry(from).or_default().push(dest));
    }
    let mut seen: FxHashSet<(usize, Local)> = makers.iter().copied().collect();
    let mut at = 0;
    while let Some(&(loan, local)) = makers.get(at) {
        at += 1;
        let next = to.get(&local).into_iter().flatten().map(|&next| (loan, next));
        makers.extend(next.filter(|next| seen.insert(*next)));
    }
}

fn add_holder(holders: &mut [Vec<Holder>], loan: usize, holder: Holder) {
    let Some(list) = holders.get_mut(loan) else { return };
    match list.iter_mut().find(|h| h.local == holder.local) {
        Some(there) => there.inside |= holder.inside,
        None => list.push(holder),
    }
}

/// Slots that own nothing in the heap need no release: what they hold ends with its arena.
fn idle_drops(solver: &mut Solver) -> Vec<Point> {
    let body = solver.body;
    let mut idle = vec![];
    for (b, block) in body.blocks.iter().enumerate() {
        for (s, stmt) in block.stmts.iter().enumerate() {
            let Some(place) = stmt.kind.as_drop_slot() else { continue };
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
