//! Ownership: every owned path is released or passed on exactly once, and used only while it is
//! owned and not lent away (language reference, ownership).
//!
//! Lattice: for each owned path (`paths.rs`) the set of {owned, moved, null, unset} that it may be;
//! which local may hold which loan (`live.rs`). Join: union. A join of owned and moved is *moved on
//! some paths*: a use reports it, otherwise it is a leak, reported at the end of the branch that
//! still owned it.
//!
//! Needs: regions solved (loans and their holders, what must be released). Changes: fills in
//! `Dispose::moved`. Guarantees: outside `unsafe`, no owned value is used after it was given up,
//! none is given up while it is lent, and none is lost.

mod addresses;
mod content;
mod copies;
mod effects;
mod lending;
mod live;
pub(crate) mod paths;
mod report;
pub(crate) mod slots;
mod state;
mod unions;
mod unused;

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{stmt_places, term_places, Access};
use mir::ir::*;
use mir::resolve::Resolver;
use rustc_hash::FxHashMap;
use source::{Sink, Span};
use typing::types::TyKind;

use crate::framework::{solve, Analysis, Direction, Edge, Item, Point, Results};
use crate::pass::Known;
use crate::regions::{Form, Regions};
use live::Live;
use paths::{NodeId, Paths};
use state::{State, Test, NULL, OWNED};

/// How to report.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Leaks of heap objects are warnings.
    pub leaks_are_warnings: bool,
}

/// How a path was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Gone {
    /// Moved.
    Moved,
    /// Freed or released.
    Freed,
    /// Its key was opened.
    Opened,
}

/// The analysis of one body.
pub(crate) struct Ownership<'a> {
    pub program: &'a Program,
    pub known: &'a Known,
    pub body: &'a Body,
    pub regions: &'a Regions,
    pub paths: Paths,
    /// Where the pointers of temporaries come from.
    pub resolver: Resolver,
    /// Places where paths are given up; number 0 is none.
    pub sites: Vec<(Span, Gone, Option<Local>)>,
    site_at: FxHashMap<Point, u32>,
    /// By loan: the path that is lent, if it is one.
    pub lent: Vec<Option<NodeId>>,
    /// By local: the loans that are pointers into it, in order.
    pub into: FxHashMap<Local, Vec<usize>>,
    /// Which local holds which loan, and which are used later.
    pub live: Live,
    /// Locals that are lent to this function: parameters without `consume`, parts of an unpacked
    /// struct that is lent.
    pub lent_roots: BitSet,
    /// Cursors and the place that each is on.
    pub cursors: FxHashMap<Local, Place>,
    /// Loans of what slots hold.
    pub slot_loans: BitSet,
    /// Looks at what slots hold.
    pub slot_looks: BitSet,
    /// Something is lent exclusively somewhere.
    pub lends_exclusively: bool,
    /// Structs that some `unpack` lends.
    unpacked: Vec<&'a Place>,
}

/// Checks one body. Variables in `reported` get no report.
pub(crate) fn run(
    program: &Program,
    known: &Known,
    body: &mut Body,
    regions: &Regions,
    options: Options,
    sink: &mut Sink,
    reported: &mut BitSet,
) {
    let moved = {
        let cfg = Cfg::new(body);
        let ownership = Ownership::new(program, known, body, regions);
        let mut found = vec![];
        ownership.unused_results(&mut found);
        if ownership.is_trivial() && found.is_empty() {
            return;
        }
        let results = solve(&ownership, body, &cfg);
        let mut moved: Vec<(Point, Vec<Vec<Proj>>)> = vec![];
        results.visit(&ownership, body, &mut |at, state, item| {
            let mut state = state.clone();
            match item {
                Item::Stmt(stmt) => {
                    let waits = known.waits.as_ref().filter(|waits| !stmt.is_unsafe && waits.statement(&stmt.kind));
                    if let Some(waits) = waits {
                        found.extend(ownership.cursor_over_wait(&state, stmt.span, waits.started));
                    }
                    let parts = ownership.step(&mut state, at, stmt, &mut |f| {
                        if !stmt.is_unsafe {
                            found.push(f);
                        }
                    });
                    if !parts.is_empty() {
                        moved.push((at, parts));
                    }
                }
                Item::Term(term) => ownership.leave(&mut state, at, term, &mut |f| found.push(f)),
            }
        });
        ownership.kept_looks(&mut found);
        ownership.copied_owners(&mut found);
        report::all(&ownership, &results, &cfg, found, options, sink, reported);
        moved
    };
    for (at, parts) in moved {
        let stmt = body.blocks.get_mut(at.block.0 as usize).and_then(|b| b.stmts.get_mut(at.stmt));
        if let Some(moved) = stmt.and_then(|s| s.kind.skipped_mut()) {
            *moved = parts;
        }
    }
}

impl<'a> Ownership<'a> {
    fn new(program: &'a Program, known: &'a Known, body: &'a Body, regions: &'a Regions) -> Ownership<'a> {
        let paths = Paths::new(program, body);
        let resolver = Resolver::new(body);
        let lent = regions
            .loans
            .iter()
            .map(|loan| {
                if loan.form == Form::Result {
                    return None;
                }
                // A view sees into slots.
                let sees = loan.kind.is_view() && loan.form == Form::Borrow;
                let place = resolver.place(&loan.place);
                paths.find(&program.types, &place).filter(|f| !f.slot || sees).map(|f| f.node)
            })
            .collect();
        let mut into: FxHashMap<Local, Vec<usize>> = FxHashMap::default();
        for (number, loan) in regions.loans.iter().enumerate() {
            let address = loan.form == Form::Address || loan.form == Form::Borrow && loan.kind.by_address();
            let local = resolver.place(&loan.place).local_part().filter(|_| address);
            local.into_iter().for_each(|local| into.entry(local).or_default().push(number));
        }
        let unpacked = body.blocks.iter().flat_map(|b| &b.stmts).filter_map(|stmt| stmt.kind.as_unpack());
        let mut this = Ownership {
            unpacked: unpacked.filter(|(_, _, moves)| !moves).map(|(whole, ..)| whole).collect(),
            program,
            known,
            body,
            regions,
            paths,
            resolver,
            sites: vec![(Span::NONE, Gone::Moved, None)],
            site_at: FxHashMap::default(),
            lent,
            into,
            live: Live::new(program, body, regions),
            lent_roots: BitSet::empty(body.locals.len()),
            cursors: FxHashMap::default(),
            slot_loans: BitSet::empty(regions.loans.len()),
            slot_looks: BitSet::empty(regions.loans.len()),
            lends_exclusively: regions.loans.iter().any(|loan| loan.kind.is_exclusive()),
        };
        this.find_slot_loans();
        this.find_sites();
        this.find_lent();
        this
    }

    /// Whether nothing in the body is owned, lent, given up or exchanged.
    fn is_trivial(&self) -> bool {
        let mut stmts = self.body.blocks.iter().flat_map(|b| &b.stmts);
        self.paths.nodes.is_empty()
            && !self.lends_by_value()
            && self.regions.loans.is_empty()
            && self.sites.len() == 1
            && stmts.all(|s| s.kind.as_swap().is_none())
    }

    fn find_sites(&mut self) {
        for (b, block) in self.body.blocks.iter().enumerate() {
            let terms = std::iter::once((block.stmts.len(), None, block.term.span));
            let stmts = block.stmts.iter().enumerate().map(|(n, s)| (n, Some(&s.kind), s.span));
            for (n, kind, span) in stmts.chain(terms) {
                let (freed, opened) = (kind.and_then(StmtKind::as_dispose), kind.and_then(StmtKind::as_open));
                let gone = match (freed, opened) {
                    (Some(_), _) => Gone::Freed,
                    (None, Some(_)) => Gone::Opened,
                    (None, None) => Gone::Moved,
                };
                let mut moves = freed.is_some() || opened.is_some();
                let mut look = |_: &Place, access| moves |= access == Access::Move;
                match kind {
                    Some(kind) => stmt_places(kind, &mut look),
                    None => term_places(&block.term.kind, &mut look),
                }
                if moves {
                    self.site_at.insert(Point { block: BlockId(b as u32), stmt: n }, self.sites.len() as u32);
                    let to = kind.and_then(StmtKind::as_assign).and_then(|(dest, _)| dest.as_local());
                    self.sites.push((span, gone, to));
                }
                if let Some((local, place)) = kind.and_then(StmtKind::as_cursor) {
                    self.cursors.insert(local, place.clone());
                }
            }
        }
    }

    /// The number of the place where something is given up at this point.
    pub fn site(&self, at: Point) -> u32 {
        self.site_at.get(&at).copied().unwrap_or(0)
    }

    /// Whether a value that owns something is lent to the function. (If its address is taken, it has
    /// no paths.)
    fn lends_by_value(&self) -> bool {
        let params = self.body.locals.iter().take(self.body.params as usize).enumerate();
        let mut lent = params.filter(|(n, _)| self.lent_roots.contains(*n));
        lent.any(|(_, decl)| self.program.types.owns(decl.ty.ty))
    }

    fn find_lent(&mut self) {
        let function = self.program.functions.get(self.body.func.func.0 as usize);
        let func = function.and_then(|f| self.program.types.as_func(f.ty));
        for n in 0..self.body.params as usize {
            let consume = func.as_ref().and_then(|f| f.params.get(n)).is_some_and(|p| p.consume);
            if !consume {
                self.lent_roots.insert(n);
            }
        }
        for stmt in self.body.blocks.iter().flat_map(|b| &b.stmts) {
            let Some((dest, value)) = stmt.kind.as_assign() else { continue };
            let Some(local) = dest.as_local() else { continue };
            // A lent parameter gets its bounds at entry: the variable is lent in its place.
            let counted = value.counted_pointer().and_then(Operand::moved_place).and_then(Place::as_local);
            if let Some(param) = counted.filter(|param| param.0 < self.body.params) {
                if self.lent_roots.contains(param.0 as usize) {
                    self.lent_roots.remove(param.0 as usize);
                    self.lent_roots.insert(local.0 as usize);
                }
            }
            // An `unpack` that lends.
            let Some(Operand::Copy(from)) = value.as_use() else { continue };
            if self.is_unpacked(from) {
                let from = mir::ty::place_ty(self.program, self.body, from).map(|q| q.ty);
                let is_owned = from.is_ok_and(|ty| mir::ty::owns(&self.program.types, ty));
                if is_owned && self.paths.root(local).is_some() {
                    self.lent_roots.insert(local.0 as usize);
                }
            }
        }
    }

    /// Whether a path owes its release when it is lost.
    pub fn owes(&self, node: NodeId) -> bool {
        let at = &self.paths.nodes[node];
        if !at.owned {
            return false;
        }
        match self.program.types.kind(at.ty) {
            TyKind::Ptr(_) if at.parent.is_none() => self.regions.owes(at.root),
            TyKind::Ptr(p) => self.regions.region_owes(p.region),
            TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) | TyKind::Param(_) => true,
            _ => self.paths.has_rest(&self.program.types, node) && self.rest_owes(node),
        }
    }

    /// Whether a struct's parts that are not paths of their own owe their release.
    fn rest_owes(&self, node: NodeId) -> bool {
        let mut owes = false;
        crate::regions::shape::each_owned(&self.program.types, self.paths.nodes[node].ty, 0, &mut |owned| {
            owes |= match owned {
                crate::regions::shape::Owned::Pointer(r) => self.regions.region_owes(r),
                _ => true,
            };
        });
        owes
    }
}

impl Analysis for Ownership<'_> {
    type State = State;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> State {
        let mut state = State::new(self.paths.nodes.len(), self.body.locals.len(), self.live.pairs());
        for n in 0..self.body.params {
            state.live.insert(n as usize);
            if let Some(root) = self.paths.root(Local(n)) {
                state.set(&self.paths, root, OWNED, 0);
            }
        }
        state
    }

    fn join(&self, into: &mut State, from: &State, _rounds: u32) -> bool {
        into.join(from)
    }

    fn statement(&self, state: &mut State, at: Point, stmt: &Stmt) {
        self.step(state, at, stmt, &mut |_| {});
    }

    fn edge(&self, state: &mut State, from: BlockId, _to: BlockId, edge: Edge) -> bool {
        let stmts = self.body.blocks.get(from.0 as usize).map_or(0, |b| b.stmts.len());
        let at = Point { block: from, stmt: stmts };
        let (operand, holds) = match edge {
            Edge::Plain => return true,
            Edge::Branch(operand, holds) => (operand, holds),
            Edge::Case(operand, arms) => {
                self.switched(state, at, operand, &|value| arms.iter().any(|(lo, hi, _)| (*lo..=*hi).contains(&value)));
                return true;
            }
            Edge::Else(operand, arms) => {
                self.switched(state, at, operand, &|value| {
                    !arms.iter().any(|(lo, hi, _)| (*lo..=*hi).contains(&value))
                });
                return true;
            }
        };
        let Some(place) = operand.place() else { return true };
        if let Some(node) = self.tested(place).filter(|&node| self.is_certain(state, at, node)) {
            state.refine(&self.paths, node, holds);
            return true;
        }
        for node in self.unions_of(place) {
            self.selected(state, at, node, &|value| (value != 0) == holds);
        }
        let Some(local) = place.as_local() else { return true };
        let tests: Vec<Test> = state.tests.iter().copied().filter(|t| t.local() == local).collect();
        for test in tests {
            if !self.is_certain(state, at, test.node()) {
                continue;
            }
            match test {
                Test::Copy(_, node) => state.refine(&self.paths, node, holds),
                Test::Truth(_, node, same) => state.refine(&self.paths, node, holds == same),
                Test::Tag(_, node) => self.selected(state, at, node, &|value| (value != 0) == holds),
                Test::Is(_, node, wanted, same) => {
                    self.selected(state, at, node, &|value| (value == wanted) == (holds == same))
                }
            }
        }
        true
    }
}

/// The state at the end of a block on the way to another, for reports about branches.
pub(crate) fn on_edge(ownership: &Ownership, results: &Results<State>, from: BlockId, to: BlockId) -> Option<State> {
    let block = ownership.body.blocks.get(from.0 as usize)?;
    let mut state = results.boundary(from)?.clone();
    for (n, stmt) in block.stmts.iter().enumerate() {
        ownership.step(&mut state, Point { block: from, stmt: n }, stmt, &mut |_| {});
    }
    if let Some((operand, yes, no)) = block.term.kind.as_if() {
        if yes != no {
            ownership.edge(&mut state, from, to, Edge::Branch(operand, yes == to)).then_some(())?;
        }
    }
    Some(state)
}

/// A pointer constant that is null.
pub(crate) fn is_null(operand: &Operand) -> bool {
    matches!(operand, Operand::Const(Const::Null(_) | Const::Int(0, _)))
}

/// What a fresh value of an operand brings.
pub(crate) fn bits_of_constant(operand: &Operand) -> u8 {
    if is_null(operand) {
        NULL
    } else {
        OWNED
    }
}
