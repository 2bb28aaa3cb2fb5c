//! Constraints between regions, and their solution.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::ir::*;
use mir::resolve::Resolver;
use rustc_hash::FxHashMap;
use source::{Span, Symbol};
use std::collections::VecDeque;
use typing::tree::RegionKind;
use typing::types::Ty;

use super::carried::Carried;
use super::check::origins_of;
use super::origins::{Origin, OriginId, Origins, EXCHANGE, HEAP};
use super::shape::{functions, is_exact, object_pointer, own_variable, relate_inner, How, Related};
use crate::framework::{count_work, Point};
use crate::pass::Known;

/// The region of a pointer, as far as it is known before solving.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ref {
    /// To be solved.
    Node(usize),
    /// This one.
    Fixed(OriginId),
    /// Nothing is said about it (after an error).
    Free,
}

/// Which variables `Region::Bound` means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Env {
    /// None: they stand in types of function pointers.
    Body,
    /// Those of a call, from this node on.
    Call(usize),
    /// Those of the function itself.
    Prototype,
    /// None; the hidden regions are those of the packing or unpacking with this number.
    Hidden(usize),
}

/// A value or place: its type, and the region of its outermost pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub ty: Ty,
    pub outer: Ref,
    pub env: Env,
}

/// What keeps a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keeper {
    /// The caller.
    Return,
    /// Memory behind a pointer.
    Memory,
    /// A global.
    Global(Symbol),
    /// A local.
    Local(Local),
    /// A part of a local.
    Part(Local),
    /// A parameter of a called function, by number.
    Parameter(u32),
    /// The object of an allocation that owns it.
    Object,
    /// A release: `free`, `rfree`.
    Dispose,
    /// The handle or region of an `open`.
    Open,
    /// A named borrow of it.
    Borrow,
    /// A type argument that must be in the heap.
    HeapArgument,
    /// An allocation of a type parameter by this name.
    ObjectOf(Symbol),
    /// A type argument for `T: move @r`.
    Owner,
    /// `container_of` of a struct that owns something.
    Container,
    /// A struct that hides the region, and is used as long as its own one is live.
    Pack,
    /// A fact that a called function asks for.
    Fact,
    /// A type that a function is called through.
    Function,
}

/// What must hold once regions are solved: all origins of the source outlive the region, or are it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub source: Ref,
    pub region: OriginId,
    pub exact: bool,
    /// Also allowed: a pointer into this parameter's target (`[[lee::into]]`).
    pub allowed: Option<Ref>,
    /// Also allowed: what a lender returns.
    pub lends: bool,
    pub span: Span,
    pub keeper: Keeper,
}

/// One region must outlive another, whatever that is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fact {
    pub long: Ref,
    pub short: usize,
    pub span: Span,
    pub keeper: Keeper,
}

/// What a type argument owns lies in the region of the call (`T: move @r`), or in the heap if that
/// is the region: an object there may own it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnedIn {
    pub part: Ref,
    pub region: Ref,
    pub span: Span,
}

/// A pointer into a region of the body may be in a variable that is declared outside of the region:
/// it is not used after the region's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outside {
    pub region: u32,
    pub local: Local,
    /// Where it arrives.
    pub span: Span,
}

/// Collects constraints and solves them.
pub(crate) struct Solver<'a> {
    pub program: &'a Program,
    pub known: &'a Known,
    pub body: &'a Body,
    pub origins: Origins<'a>,
    /// Where the pointers of temporaries come from.
    pub(super) resolver: Resolver,
    pub sets: Vec<BitSet>,
    pub(super) edges: Vec<Vec<usize>>,
    pub(super) seeds: Vec<(usize, OriginId)>,
    /// Where the first statement stands that makes an edge or a seed.
    edge_spans: FxHashMap<(usize, usize), Span>,
    seed_spans: FxHashMap<(usize, OriginId), Span>,
    /// Facts of prototypes, and what structs hide.
    facts: Vec<Fact>,
    /// Those that do not hold.
    pub broken: Vec<Fact>,
    pub demands: Vec<Demand>,
    /// Variables that are declared where a region has not begun, and may point into it.
    pub outside: Vec<Outside>,
    /// What conversions to named regions carry along; known once all is solved.
    pub carried: Carried,
    pub owned_in: Vec<OwnedIn>,
    /// Structs that are packed or unpacked so far, by place; and what their hidden regions stand
    /// for.
    pub(super) hidden_at: FxHashMap<Place, usize>,
    pub(super) hidden: Vec<Vec<Ref>>,
    /// What was hidden by packing without a bound, and where.
    pub packed: Vec<(Ref, Span)>,
    /// Hidden regions that packed structs own into, and where.
    pub owners: Vec<(Ref, Span)>,
    /// By region of the body that `unpack` introduced: the region that it is live with.
    pub bounds: Vec<(u32, Ref)>,
    /// First node of the call at a point, for regions that its type leaves open.
    pub(super) calls: FxHashMap<Point, usize>,
}

impl<'a> Solver<'a> {
    pub fn new(program: &'a Program, known: &'a Known, body: &'a Body) -> Solver<'a> {
        let nodes = body.infer_regions as usize + body.locals.len();
        let resolver = Resolver::new(body);
        Solver {
            program,
            known,
            body,
            origins: Origins::new(program, known, body, &resolver),
            resolver,
            sets: vec![],
            edges: vec![vec![]; nodes],
            seeds: vec![],
            edge_spans: FxHashMap::default(),
            seed_spans: FxHashMap::default(),
            facts: vec![],
            broken: vec![],
            demands: vec![],
            outside: vec![],
            carried: Carried::default(),
            owned_in: vec![],
            hidden_at: FxHashMap::default(),
            hidden: vec![],
            packed: vec![],
            owners: vec![],
            bounds: vec![],
            calls: FxHashMap::default(),
        }
    }

    /// Walks all statements that control gets to, then solves.
    pub fn run(&mut self, cfg: &Cfg) {
        let body = self.body;
        for &b in cfg.reverse_postorder() {
            let Some(block) = body.blocks.get(b.0 as usize) else { continue };
            for (n, stmt) in block.stmts.iter().enumerate() {
                // What `unsafe` code makes is its own affair.
                if !stmt.is_unsafe {
                    self.stmt(Point { block: b, stmt: n }, stmt);
                }
            }
            if let Some(operand) = block.term.kind.returned() {
                self.returned(operand, block.term.span);
            }
        }
        self.solve();
        if super::makings::find_unnamed(self) {
            self.solve();
        }
        self.carried = Carried::new(self);
    }

    pub(super) fn fresh(&mut self) -> usize {
        self.edges.push(vec![]);
        self.edges.len() - 1
    }

    fn solve(&mut self) {
        let universe = self.origins.all.len();
        self.sets = vec![BitSet::empty(universe); self.edges.len()];
        let mut work = vec![];
        for &(node, origin) in &self.seeds {
            if self.sets[node].insert(origin) {
                work.push(node);
            }
        }
        loop {
            while let Some(node) = work.pop() {
                let from = self.sets[node].clone();
                count_work(self.edges[node].len() + 1);
                for &to in &self.edges[node] {
                    if to != node && self.sets[to].union(&from) {
                        work.push(to);
                    }
                }
            }
            for (region, bound) in self.bounds.clone() {
                let origins = origins_of(self, bound);
                self.origins.set_bound(region, origins);
            }
            // A region that is not outlived by what it must be is that one too.
            count_work(self.facts.len());
            let failed = self.facts.iter().position(|fact| !self.holds(fact));
            let Some(fact) = failed.map(|n| self.facts.swap_remove(n)) else {
                match self.choose_owner_region() {
                    Some(node) => work.push(node),
                    None => return,
                }
                continue;
            };
            match fact.long {
                Ref::Node(n) => {
                    self.edge(n, fact.short, fact.span);
                    work.push(n);
                }
                Ref::Fixed(o) => {
                    self.seed(fact.short, o, fact.span);
                    if self.sets[fact.short].insert(o) {
                        work.push(fact.short);
                    }
                }
                Ref::Free => {}
            }
            self.broken.push(fact);
        }
    }

    /// A region that only `T: move @r` mentions is the one that the first argument owns in; gives
    /// what is to be propagated.
    fn choose_owner_region(&mut self) -> Option<usize> {
        for n in 0..self.owned_in.len() {
            let OwnedIn { part, region: Ref::Node(node), .. } = self.owned_in[n] else { continue };
            if self.sets[node].iter().next().is_none() {
                if let Some(&origin) = origins_of(self, part).first() {
                    self.sets[node].insert(origin);
                    return Some(node);
                }
            }
        }
        None
    }

    /// Whether all that the first region may be outlives all that the second may be. A loan lasts
    /// as long as the pointers that say they have it, whether it has a name or not: none of another
    /// region does.
    fn holds(&self, fact: &Fact) -> bool {
        let (long, short) = (origins_of(self, fact.long), origins_of(self, Ref::Node(fact.short)));
        let is_loan = |o: OriginId| match self.origins.get(o) {
            Origin::Loan(_) => true,
            Origin::Entry(n) => self.origins.entry(n).is_some_and(|r| r.decl.kind == RegionKind::Loan),
            _ => false,
        };
        let outlives = |l: OriginId, s: OriginId| l == s || !is_loan(l) && self.origins.outlives(l, s);
        long.is_empty() || !short.is_empty() && long.iter().all(|&l| short.iter().all(|&s| outlives(l, s)))
    }

    /// The first region outlives the second, or is a part of it.
    pub fn fact(&mut self, long: Ref, short: Ref, span: Span, keeper: Keeper) {
        match short {
            Ref::Node(n) => self.facts.push(Fact { long, short: n, span, keeper }),
            _ => self.flow(long, short, How::Outlives, span, keeper),
        }
    }

    pub fn flow(&mut self, source: Ref, dest: Ref, how: How, span: Span, keeper: Keeper) {
        let demand =
            |source, region, exact| Demand { source, region, exact, allowed: None, lends: false, span, keeper };
        match (source, dest, how) {
            (Ref::Free, ..) | (_, Ref::Free, _) => {}
            (Ref::Node(s), Ref::Node(d), _) => {
                self.edge(s, d, span);
                if how == How::Equal {
                    self.edge(d, s, span);
                }
            }
            (Ref::Fixed(o), Ref::Node(d), _) => {
                self.seed(d, o, span);
                if how == How::Equal {
                    self.demands.push(demand(Ref::Node(d), o, true));
                }
            }
            (Ref::Node(s), Ref::Fixed(r), How::Equal) => {
                self.seed(s, r, span);
                self.demands.push(demand(source, r, true));
            }
            (_, Ref::Fixed(r), How::Outlives) => self.demands.push(demand(source, r, false)),
            (Ref::Fixed(_), Ref::Fixed(r), How::Equal) => self.demands.push(demand(source, r, true)),
        }
    }

    pub(super) fn seed(&mut self, node: usize, origin: OriginId, span: Span) {
        self.seeds.push((node, origin));
        self.seed_spans.entry((node, origin)).or_insert(span);
    }

    /// The statement that brings the origin to the region: the last one on a shortest path there.
    pub fn brought(&self, origin: OriginId, region: Ref) -> Option<Span> {
        let Ref::Node(target) = region else { return None };
        let mut came: FxHashMap<usize, Span> = FxHashMap::default();
        let mut work = VecDeque::new();
        for &(node, o) in &self.seeds {
            if o == origin && !came.contains_key(&node) {
                came.insert(node, *self.seed_spans.get(&(node, o))?);
                work.push_back(node);
            }
        }
        while let Some(node) = work.pop_front() {
            if node == target {
                break;
            }
            for &to in self.edges.get(node)? {
                if let Some(&span) = self.edge_spans.get(&(node, to)).filter(|_| !came.contains_key(&to)) {
                    came.insert(to, span);
                    work.push_back(to);
                }
            }
        }
        came.get(&target).copied().filter(|&span| span != Span::NONE)
    }

    pub(super) fn edge(&mut self, from: usize, to: usize, span: Span) {
        self.edge_spans.entry((from, to)).or_insert(span);
        if let Some(list) = self.edges.get_mut(from) {
            if !list.contains(&to) {
                list.push(to);
            }
        }
    }

    /// Relates a value to where it goes.
    pub fn relate(&mut self, source: Side, dest: Side, span: Span, keeper: Keeper) {
        let types = &self.program.types;
        let exact = object_pointer(types, dest.ty).is_some_and(|p| is_exact(p.own));
        let how = if exact { How::Equal } else { How::Outlives };
        self.flow(source.outer, dest.outer, how, span, keeper);
        // A function that is converted: its own variables are chosen here.
        let regions = functions(types, source.ty, dest.ty).map(|(s, _)| s.regions);
        let instance = regions.map(|n| (0..n).map(|_| self.fresh()).collect::<Vec<_>>());
        let keeper = if instance.is_some() { Keeper::Function } else { keeper };
        self.relate_parts(source, dest, instance.as_deref(), span, keeper);
    }

    pub(super) fn relate_inner(&mut self, source: Side, dest: Side, span: Span, keeper: Keeper) {
        self.relate_parts(source, dest, None, span, keeper);
    }

    fn relate_parts(&mut self, source: Side, dest: Side, instance: Option<&[usize]>, span: Span, keeper: Keeper) {
        let mut all = vec![];
        let types = &self.program.types;
        relate_inner(types, source.ty, dest.ty, instance.is_some(), &mut |related| all.push(related));
        let chosen = |r| own_variable(r).and_then(|n| instance?.get(n as usize)).map(|&node| Ref::Node(node));
        for related in all {
            match related {
                Related::Pair(s, d, how) => {
                    let from = chosen(s).unwrap_or_else(|| self.map(s, source.env));
                    let to = self.map(d, dest.env);
                    self.flow(from, to, how, span, keeper);
                }
                Related::Fact(long, short) => {
                    let long = chosen(long).unwrap_or_else(|| self.map(long, source.env));
                    let short = chosen(short).unwrap_or_else(|| self.map(short, source.env));
                    self.fact(long, short, span, Keeper::Fact);
                }
                Related::Unpromised => self.demands.push(Demand {
                    source: Ref::Fixed(EXCHANGE),
                    region: HEAP,
                    exact: true,
                    allowed: None,
                    lends: false,
                    span,
                    keeper: Keeper::Fact,
                }),
            }
        }
    }
}
