//! What is known of each owned path at a point.

use super::paths::{NodeId, Paths, Step};
use mir::bits::BitSet;
use mir::ir::Local;

/// It is owned (and may be null, unless something shows otherwise).
pub(crate) const OWNED: u8 = 1;
/// It was moved, freed, or its key is open.
pub(crate) const MOVED: u8 = 2;
/// It is null, and owes nothing.
pub(crate) const NULL: u8 = 4;
/// Nothing was assigned yet.
pub(crate) const UNSET: u8 = 8;

/// How many tests are remembered: those that matter are a few statements old.
const MAX_TESTS: usize = 16;

/// A temporary that says something about a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    /// It holds the same pointer.
    Copy(Local, NodeId),
    /// It is not zero iff the path is not null (`true`) or null (`false`).
    Truth(Local, NodeId, bool),
    /// It is what selects the member of the union.
    Tag(Local, NodeId),
    /// It is not zero iff what selects the member of the union is the value (`true`) or is not
    /// (`false`).
    Is(Local, NodeId, i128, bool),
}

impl Test {
    pub fn local(self) -> Local {
        match self {
            Test::Copy(l, _) | Test::Truth(l, ..) | Test::Tag(l, _) | Test::Is(l, ..) => l,
        }
    }
    pub fn node(self) -> NodeId {
        match self {
            Test::Copy(_, n) | Test::Truth(_, n, _) | Test::Tag(_, n) | Test::Is(_, n, ..) => n,
        }
    }
}

/// What a value brings to the path that it is stored in.
#[derive(Clone, Debug)]
pub(crate) struct Brought {
    /// Which of the four it may be.
    pub bits: u8,
    /// Whether what is below it, and not in `parts`, may own something.
    pub rich: bool,
    /// What is known of paths below it: steps, bits, rich.
    pub parts: Vec<(Vec<Step>, u8, bool)>,
}

impl Brought {
    /// A value of which nothing more is known.
    pub fn unknown(bits: u8) -> Brought {
        Brought { bits: if bits == 0 { OWNED } else { bits }, rich: true, parts: vec![] }
    }
    /// Fresh memory: all in it is null.
    pub fn fresh() -> Brought {
        Brought { bits: OWNED, rich: false, parts: vec![] }
    }
}

/// What is known at a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct State {
    /// By path: which of the four it may be.
    pub bits: Vec<u8>,
    /// By path: the number of a place where it was given up, 0 if it is here.
    pub sites: Vec<u32>,
    /// Paths below which something may be owned that is not a path of its own.
    pub rich: BitSet,
    pub tests: Vec<Test>,
    /// Paths that hold what an allocation gave that may have failed.
    pub tried: Vec<NodeId>,
    /// Of such a path and another: the second is moved where the first is not null, and here where
    /// it is (`realloc?`).
    pub either: Vec<(NodeId, NodeId)>,
    /// Variables whose storage may be live.
    pub live: BitSet,
    /// Pairs of a loan and a local that may hold it.
    pub held: BitSet,
}

impl State {
    /// Of nodes, locals and pairs of loans and holders.
    pub fn new(nodes: usize, locals: usize, pairs: usize) -> State {
        State {
            bits: vec![UNSET; nodes],
            sites: vec![0; nodes],
            rich: BitSet::full(nodes),
            tests: vec![],
            tried: vec![],
            either: vec![],
            live: BitSet::empty(locals),
            held: BitSet::empty(pairs),
        }
    }

    pub fn join(&mut self, from: &State) -> bool {
        let either = self.joined_either(from);
        let mut changed = either != self.either;
        self.either = either;
        let tried = self.tried.len();
        self.tried.retain(|node| from.tried.contains(node));
        changed |= self.tried.len() != tried;
        changed |= self.live.union(&from.live);
        changed |= self.held.union(&from.held);
        changed |= self.rich.union(&from.rich);
        for (a, b) in self.bits.iter_mut().zip(&from.bits) {
            changed |= *a | *b != *a;
            *a |= *b;
        }
        for (a, b) in self.sites.iter_mut().zip(&from.sites) {
            changed |= b > a;
            *a = (*a).max(*b);
        }
        let before = self.tests.len();
        self.tests.retain(|t| from.tests.contains(t));
        changed | (self.tests.len() != before)
    }

    /// The pairs that hold on both sides: there already, or implied by what is known of the two
    /// paths.
    fn joined_either(&self, from: &State) -> Vec<(NodeId, NodeId)> {
        let mut pairs = self.either.clone();
        pairs.extend(from.either.iter().filter(|p| !self.either.contains(p)));
        for &tried in self.tried.iter().filter(|t| from.tried.contains(t)) {
            let new = (0..self.bits.len()).map(|node| (tried, node));
            pairs.extend(new.filter(|&(_, node)| self.has(node, MOVED) != from.has(node, MOVED)));
        }
        let holds = |s: &State, pair: (NodeId, NodeId)| {
            let told = match s.of(pair.0) {
                NULL => !s.has(pair.1, MOVED),
                OWNED => s.of(pair.1) & !NULL == MOVED,
                _ => false,
            };
            told || s.either.contains(&pair)
        };
        pairs.retain(|&pair| pair.0 != pair.1 && holds(self, pair) && holds(from, pair));
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// What remains tied to the value when the path is moved to another.
    pub fn carried(&self, node: NodeId) -> Option<Vec<NodeId>> {
        let with = |pair: &(NodeId, NodeId)| (pair.0 == node).then_some(pair.1);
        self.tried.contains(&node).then(|| self.either.iter().filter_map(with).collect())
    }

    /// The path holds what an allocation gave that may have failed; these are moved if it has not.
    pub fn carry(&mut self, node: NodeId, others: Vec<NodeId>) {
        if !self.tried.contains(&node) {
            self.tried.push(node);
        }
        self.either.extend(others.into_iter().filter(|&other| other != node).map(|other| (node, other)));
        self.either.sort_unstable();
    }

    pub fn of(&self, node: NodeId) -> u8 {
        self.bits.get(node).copied().unwrap_or(0)
    }

    pub fn has(&self, node: NodeId, bit: u8) -> bool {
        self.of(node) & bit != 0
    }

    /// The path and all below it become this. What is null owns nothing, nor does anything that it would lead to.
    pub fn set(&mut self, paths: &Paths, node: NodeId, bits: u8, site: u32) {
        for n in paths.below(node) {
            if let (Some(b), Some(s)) = (self.bits.get_mut(n), self.sites.get_mut(n)) {
                *b = bits;
                *s = site;
            }
            if bits == NULL {
                self.rich.remove(n);
            } else {
                self.rich.insert(n);
            }
            self.untest(n);
        }
    }

    /// The path, and all below it, take what a value brings.
    pub fn receive(&mut self, paths: &Paths, node: NodeId, value: &Brought) {
        self.set(paths, node, value.bits, 0);
        if value.bits == NULL && value.parts.is_empty() {
            return;
        }
        let mut put = |n: NodeId, bits: u8, rich: bool| {
            if let Some(b) = self.bits.get_mut(n) {
                *b = bits;
            }
            if rich {
                self.rich.insert(n);
            } else {
                self.rich.remove(n);
            }
        };
        put(node, value.bits, value.rich);
        // Parents come before their children, so what a path inherits is known when it is reached.
        let mut inherited = vec![(node, vec![], value.rich)];
        let mut at = 0;
        while let Some((parent, steps, rich)) = inherited.get(at).cloned() {
            at += 1;
            for &child in paths.children(parent) {
                let mut steps: Vec<Step> = steps.clone();
                steps.extend(paths.step(child));
                let (bits, rich) = match value.parts.iter().find(|(s, ..)| *s == steps) {
                    Some((_, bits, rich)) => (*bits, *rich),
                    None => (if rich { OWNED } else { NULL }, rich),
                };
                put(child, bits, rich);
                inherited.push((child, steps, rich));
            }
        }
        // What is brought and is not a path here is somewhere below the last path on its way.
        for (steps, bits, rich) in &value.parts {
            if *bits == NULL && !rich {
                continue;
            }
            let mut at = node;
            let mut missing = None;
            for (n, step) in steps.iter().enumerate() {
                match paths.children(at).iter().find(|&&c| paths.step(c) == Some(*step)) {
                    Some(&child) => at = child,
                    None => {
                        missing = steps.get(n..);
                        break;
                    }
                }
            }
            let Some(missing) = missing else { continue };
            self.rich.insert(at);
            // A struct owns what its fields do, though nothing else said so (it was zeroed, and
            // filled field by field).
            if bits & OWNED != 0 && !missing.contains(&Step::Deref) {
                if let Some(there) = self.bits.get_mut(at) {
                    *there |= OWNED;
                }
            }
        }
    }

    /// What the path would bring elsewhere.
    pub fn brought(&self, paths: &Paths, node: NodeId) -> Brought {
        let mut parts = vec![];
        let mut work = vec![(node, vec![])];
        while let Some((at, steps)) = work.pop() {
            for &child in paths.children(at) {
                let mut steps: Vec<Step> = steps.clone();
                steps.extend(paths.step(child));
                parts.push((steps.clone(), self.of(child), self.rich.contains(child)));
                work.push((child, steps));
            }
        }
        Brought { bits: self.of(node), rich: self.rich.contains(node), parts }
    }

    /// The path is given up, and all below it; what is null below it stays null.
    pub fn gone(&mut self, paths: &Paths, node: NodeId, site: u32) {
        for n in paths.below(node) {
            let bits = self.of(n);
            if n == node && bits == NULL {
                self.set_one(n, MOVED, site);
            } else if bits != NULL {
                self.set_one(n, MOVED | bits & NULL, site);
            }
            self.untest(n);
        }
    }

    /// The path alone becomes this.
    pub fn set_one(&mut self, node: NodeId, bits: u8, site: u32) {
        if let (Some(b), Some(s)) = (self.bits.get_mut(node), self.sites.get_mut(node)) {
            *b = bits;
            *s = site;
        }
    }

    pub fn forget(&mut self, local: Local) {
        self.tests.retain(|t| t.local() != local);
    }

    /// What earlier tests showed about the path no longer holds.
    pub fn untest(&mut self, node: NodeId) {
        self.tests.retain(|t| t.node() != node);
        self.tried.retain(|&tried| tried != node);
        self.either.retain(|&(tried, other)| tried != node && other != node);
    }

    pub fn learn(&mut self, test: Test) {
        if self.tests.len() >= MAX_TESTS {
            self.tests.remove(0);
        }
        self.tests.push(test);
    }

    /// What may have failed has not, or has: what hangs on it is moved, or here.
    fn decide(&mut self, node: NodeId, not_null: bool) {
        let others = self.carried(node).unwrap_or_default();
        for other in others {
            let bits = self.of(other) & if not_null { !OWNED } else { !MOVED };
            let site = if not_null { self.sites.get(other).copied().unwrap_or(0) } else { 0 };
            self.set_one(other, bits, site);
        }
        self.either.retain(|pair| pair.0 != node);
    }

    /// A test of the path came out.
    pub fn refine(&mut self, paths: &Paths, node: NodeId, not_null: bool) {
        let old = self.of(node);
        // A fact that contradicts the test makes no code unreachable: it stays as it is.
        if old & MOVED != 0 || not_null && old == NULL {
            return;
        }
        self.decide(node, not_null);
        if not_null {
            if old & NULL != 0 {
                // Below a null path nothing was ever there.
                for n in paths.below(node) {
                    if let Some(b) = self.bits.get_mut(n).filter(|b| **b != NULL) {
                        *b &= !NULL;
                    }
                }
                self.set_one(node, old & !NULL, 0);
            }
        } else if old & (OWNED | NULL) != 0 {
            let tried = self.tried.contains(&node);
            self.set(paths, node, NULL, 0);
            if tried {
                self.carry(node, vec![]);
            }
        }
    }
}
