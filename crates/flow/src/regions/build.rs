//! Constraints between regions, and their solution.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::ir::*;
use rustc_hash::FxHashMap;
use source::{Span, Symbol};
use typing::types::Ty;

use super::origins::{OriginId, Origins, EXCHANGE, HEAP};
use super::shape::{functions, is_exact, object_pointer, own_variable, relate_inner, How};
use crate::framework::Point;

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
    /// `container_of` of a struct that owns something.
    Container,
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
    pub span: Span,
    pub keeper: Keeper,
}

/// A pointer that arrives in a variable, whose origins must be in scope at its declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub local: Local,
    pub source: Ref,
    pub span: Span,
}

/// Collects constraints and solves them.
pub(crate) struct Solver<'a> {
    pub program: &'a Program,
    pub body: &'a Body,
    pub origins: Origins<'a>,
    pub sets: Vec<BitSet>,
    pub(super) edges: Vec<Vec<usize>>,
    pub(super) seeds: Vec<(usize, OriginId)>,
    pub demands: Vec<Demand>,
    pub arrivals: Vec<Arrival>,
    /// Structs that are packed or unpacked so far, by place; and what their hidden regions stand for.
    pub(super) hidden_at: FxHashMap<Place, usize>,
    pub(super) hidden: Vec<Vec<Ref>>,
    /// What was hidden by packing, and where.
    pub packed: Vec<(Ref, Span)>,
    /// First node of the call at a point, for regions that its type leaves open.
    pub(super) calls: FxHashMap<Point, usize>,
}

impl<'a> Solver<'a> {
    pub fn new(program: &'a Program, body: &'a Body) -> Solver<'a> {
        let nodes = body.infer_regions as usize + body.locals.len();
        Solver {
            program,
            body,
            origins: Origins::new(program, body),
            sets: vec![],
            edges: vec![vec![]; nodes],
            seeds: vec![],
            demands: vec![],
            arrivals: vec![],
            hidden_at: FxHashMap::default(),
            hidden: vec![],
            packed: vec![],
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
            if let TermKind::Return(Some(operand)) = &block.term.kind {
                self.returned(operand, block.term.span);
            }
        }
        self.solve();
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
        while let Some(node) = work.pop() {
            let from = self.sets[node].clone();
            for &to in &self.edges[node] {
                if to != node && self.sets[to].union(&from) {
                    work.push(to);
                }
            }
        }
    }

    pub fn flow(&mut self, source: Ref, dest: Ref, how: How, span: Span, keeper: Keeper) {
        let demand = |source, region, exact| Demand { source, region, exact, allowed: None, span, keeper };
        match (source, dest, how) {
            (Ref::Free, ..) | (_, Ref::Free, _) => {}
            (Ref::Node(s), Ref::Node(d), _) => {
                self.edge(s, d);
                if how == How::Equal {
                    self.edge(d, s);
                }
            }
            (Ref::Fixed(o), Ref::Node(d), _) => {
                self.seeds.push((d, o));
                if how == How::Equal {
                    self.demands.push(demand(Ref::Node(d), o, true));
                }
            }
            (Ref::Node(s), Ref::Fixed(r), How::Equal) => {
                self.seeds.push((s, r));
                self.demands.push(demand(source, r, true));
            }
            (_, Ref::Fixed(r), How::Outlives) => self.demands.push(demand(source, r, false)),
            (Ref::Fixed(_), Ref::Fixed(r), How::Equal) => self.demands.push(demand(source, r, true)),
        }
    }

    pub(super) fn edge(&mut self, from: usize, to: usize) {
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
        let mut pairs = vec![];
        let types = &self.program.types;
        relate_inner(types, source.ty, dest.ty, instance.is_some(), &mut |s, d, how| pairs.push((s, d, how)));
        for (s, d, how) in pairs {
            let (Some(s), Some(d)) = (s, d) else {
                // A function that relies on more than its pointer's type promises.
                self.demands.push(Demand {
                    source: Ref::Fixed(EXCHANGE),
                    region: HEAP,
                    exact: true,
                    allowed: None,
                    span,
                    keeper: Keeper::Fact,
                });
                continue;
            };
            let chosen = own_variable(s).and_then(|n| instance?.get(n as usize));
            let from = match chosen {
                Some(&node) => Ref::Node(node),
                None => self.map(s, source.env),
            };
            let to = self.map(d, dest.env);
            self.flow(from, to, how, span, keeper);
        }
    }
}
