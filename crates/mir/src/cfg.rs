//! The shape of a body's graph: edges, order, reachability, dominators. Made once per body;
//! recomputed after a change of terminators.

use crate::ir::{BlockId, Body, TermKind};

/// The graph of a body.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    successors: Edges,
    predecessors: Edges,
    order: Vec<BlockId>,
    /// Position in `order`; `u32::MAX` for blocks that cannot be reached.
    position: Vec<u32>,
}

/// Adjacency lists in one array.
#[derive(Clone, Debug, Default)]
struct Edges {
    starts: Vec<u32>,
    targets: Vec<BlockId>,
}

impl Edges {
    fn of(&self, block: BlockId) -> &[BlockId] {
        let n = block.0 as usize;
        match (self.starts.get(n), self.starts.get(n + 1)) {
            (Some(&lo), Some(&hi)) => self.targets.get(lo as usize..hi as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    /// From pairs sorted by source.
    fn from_pairs(blocks: usize, pairs: &[(BlockId, BlockId)]) -> Edges {
        let mut starts = vec![0u32; blocks + 1];
        for (from, _) in pairs {
            if let Some(count) = starts.get_mut(from.0 as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        Edges { starts, targets: pairs.iter().map(|(_, to)| *to).collect() }
    }
}

/// Calls `visit` for each block that the terminator may go to; a block may come twice.
pub fn each_successor(body: &Body, term: &TermKind, mut visit: impl FnMut(BlockId)) {
    match term {
        TermKind::Goto(block) => visit(*block),
        TermKind::If(_, yes, no) => {
            visit(*yes);
            visit(*no);
        }
        TermKind::Switch(_, arms, other) => {
            arms.iter().for_each(|(_, _, block)| visit(*block));
            visit(*other);
        }
        TermKind::GotoComputed(_) => body.address_labels.iter().for_each(|(_, block)| visit(*block)),
        TermKind::Return(_) | TermKind::MissingReturn | TermKind::Unreachable => {}
    }
}

/// Shows each block that the terminator names, to be changed: not the labels of a computed `goto`,
/// which are the body's.
pub fn each_successor_mut(term: &mut TermKind, mut visit: impl FnMut(&mut BlockId)) {
    match term {
        TermKind::Goto(block) => visit(block),
        TermKind::If(_, yes, no) => {
            visit(yes);
            visit(no);
        }
        TermKind::Switch(_, arms, other) => {
            arms.iter_mut().for_each(|(_, _, block)| visit(block));
            visit(other);
        }
        TermKind::GotoComputed(_) | TermKind::Return(_) | TermKind::MissingReturn | TermKind::Unreachable => {}
    }
}

impl Cfg {
    /// The graph of `body`. Edges to blocks that do not exist are left out.
    pub fn new(body: &Body) -> Cfg {
        let blocks = body.blocks.len();
        let mut pairs = vec![];
        for (n, block) in body.blocks.iter().enumerate() {
            let from = BlockId(n as u32);
            let first = pairs.len();
            each_successor(body, &block.term.kind, |to| {
                if (to.0 as usize) < blocks {
                    pairs.push((from, to));
                }
            });
            if let Some(own) = pairs.get_mut(first..) {
                own.sort_unstable();
            }
        }
        pairs.dedup();
        let successors = Edges::from_pairs(blocks, &pairs);
        for pair in &mut pairs {
            *pair = (pair.1, pair.0);
        }
        pairs.sort_unstable();
        let predecessors = Edges::from_pairs(blocks, &pairs);
        let order = reverse_postorder(blocks, &successors);
        let mut position = vec![u32::MAX; blocks];
        for (n, block) in order.iter().enumerate() {
            if let Some(slot) = position.get_mut(block.0 as usize) {
                *slot = n as u32;
            }
        }
        Cfg { successors, predecessors, order, position }
    }

    /// Where `block` may go, each once.
    pub fn successors(&self, block: BlockId) -> &[BlockId] {
        self.successors.of(block)
    }

    /// From where `block` may be entered, each once.
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        self.predecessors.of(block)
    }

    /// The blocks that can be reached, each after those that lead to it but for loops.
    pub fn reverse_postorder(&self) -> &[BlockId] {
        &self.order
    }

    /// Position in the order, if the block can be reached.
    pub fn position(&self, block: BlockId) -> Option<usize> {
        self.position.get(block.0 as usize).filter(|&&p| p != u32::MAX).map(|&p| p as usize)
    }

    /// Whether any path leads from the entry to `block`.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.position(block).is_some()
    }

    /// The dominator tree (Cooper, Harvey, Kennedy: "A simple, fast dominance algorithm").
    pub fn dominators(&self) -> Dominators {
        const NONE: u32 = u32::MAX;
        let mut parent = vec![NONE; self.order.len()];
        if let Some(root) = parent.first_mut() {
            *root = 0;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (n, &block) in self.order.iter().enumerate().skip(1) {
                let mut new = NONE;
                for &pred in self.predecessors(block) {
                    let Some(p) = self.position(pred) else { continue };
                    let known = parent.get(p).is_some_and(|&x| x != NONE);
                    if known {
                        new = if new == NONE { p as u32 } else { meet(&parent, new, p as u32) };
                    }
                }
                if let Some(slot) = parent.get_mut(n).filter(|slot| **slot != new) {
                    *slot = new;
                    changed = true;
                }
            }
        }
        Dominators { parent, position: self.position.clone(), order: self.order.clone() }
    }
}

fn meet(parent: &[u32], mut a: u32, mut b: u32) -> u32 {
    let up = |n: u32| parent.get(n as usize).copied().unwrap_or(0);
    while a != b {
        if a > b {
            a = up(a);
        } else {
            b = up(b);
        }
    }
    a
}

fn reverse_postorder(blocks: usize, successors: &Edges) -> Vec<BlockId> {
    let mut order = vec![];
    if blocks == 0 {
        return order;
    }
    let mut seen = vec![false; blocks];
    let mut stack = vec![(BlockId(0), 0usize)];
    if let Some(entry) = seen.first_mut() {
        *entry = true;
    }
    while let Some((block, next)) = stack.last_mut() {
        let block = *block;
        let Some(&to) = successors.of(block).get(*next) else {
            order.push(block);
            stack.pop();
            continue;
        };
        *next += 1;
        if let Some(slot) = seen.get_mut(to.0 as usize).filter(|seen| !**seen) {
            *slot = true;
            stack.push((to, 0));
        }
    }
    order.reverse();
    order
}

/// The dominator tree of the reachable blocks.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// By position in reverse postorder.
    parent: Vec<u32>,
    position: Vec<u32>,
    order: Vec<BlockId>,
}

impl Dominators {
    fn at(&self, block: BlockId) -> Option<u32> {
        self.position.get(block.0 as usize).copied().filter(|&p| p != u32::MAX)
    }

    /// The closest block that every path to `block` passes; none for the entry and for unreachable
    /// blocks.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        let at = self.at(block).filter(|&p| p != 0)?;
        let up = *self.parent.get(at as usize)?;
        self.order.get(up as usize).copied()
    }

    /// Whether every path from the entry to `b` passes `a`.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (Some(a), Some(mut b)) = (self.at(a), self.at(b)) else {
            return false;
        };
        while b > a {
            b = self.parent.get(b as usize).copied().unwrap_or(0);
        }
        a == b
    }
}
