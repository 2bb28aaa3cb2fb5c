//! Innermost counted loops: `for (i = start; i < end; i += step)` around whatever does not change `i` or `end`.

use crate::uses::{self, At, Writes};
use mir::cfg::{Cfg, Dominators};
use mir::ir::*;
use typing::types::Ty;

/// Loops with more than this are not copied.
const MOST_BLOCKS: usize = 14;
const MOST_STATEMENTS: usize = 90;

/// What the test at the head says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// `i < end`
    Below,
    /// `i <= end`
    UpTo,
    /// `i != end`
    Not,
}

/// A counted loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Where it is entered; its terminator leaves.
    pub head: usize,
    /// All blocks, sorted.
    pub blocks: Vec<usize>,
    /// What is counted, and in which type.
    pub counter: Local,
    /// Its type.
    pub ty: Ty,
    /// The other side of the test, as the head reads it.
    pub end: Operand,
    /// How the two compare.
    pub until: Until,
    /// By how much `counter` grows, at the end of each turn.
    pub step: i128,
    /// Where it grows.
    pub growth: At,
}

impl Loop {
    /// Whether the block is in it.
    pub fn contains(&self, block: usize) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }

    /// Whether the statement runs only between the start of a turn and the growth.
    fn is_before_growth(&self, at: At) -> bool {
        self.contains(at.block) && (at.block != self.growth.block || at.stmt < self.growth.stmt)
    }

    /// Whether the statement runs only between a test that held and the growth: `counter` is then in the loop's range.
    pub fn is_inside(&self, at: At) -> bool {
        self.contains(at.block)
            && at.block != self.head
            && (at.block != self.growth.block || at.stmt < self.growth.stmt)
    }
}

/// All innermost counted loops of a body.
pub fn find(body: &Body, cfg: &Cfg, dominators: &Dominators) -> Vec<Loop> {
    let mut natural: Vec<(usize, Vec<usize>, Vec<usize>)> = vec![];
    for &head in cfg.reverse_postorder() {
        let latches: Vec<BlockId> =
            cfg.predecessors(head).iter().copied().filter(|&p| dominators.dominates(head, p)).collect();
        if !latches.is_empty() {
            let blocks = members(cfg, head, &latches);
            natural.push((head.0 as usize, blocks, latches.iter().map(|l| l.0 as usize).collect()));
        }
    }
    let heads: Vec<usize> = natural.iter().map(|n| n.0).collect();
    let mut found = vec![];
    for (head, blocks, latches) in natural {
        let innermost = heads.iter().all(|h| *h == head || blocks.binary_search(h).is_err());
        let statements: usize = blocks.iter().filter_map(|&b| body.blocks.get(b)).map(|b| b.stmts.len()).sum();
        if !innermost || head == 0 || blocks.len() > MOST_BLOCKS || statements > MOST_STATEMENTS {
            continue;
        }
        if let [latch] = latches.as_slice() {
            found.extend(counted(body, head, blocks, *latch));
        }
    }
    found
}

/// The blocks of each natural loop, sorted.
pub fn natural(cfg: &Cfg, dominators: &Dominators) -> Vec<Vec<usize>> {
    let mut found = vec![];
    for &head in cfg.reverse_postorder() {
        let latches: Vec<BlockId> =
            cfg.predecessors(head).iter().copied().filter(|&p| dominators.dominates(head, p)).collect();
        if !latches.is_empty() {
            found.push(members(cfg, head, &latches));
        }
    }
    found
}

fn members(cfg: &Cfg, head: BlockId, latches: &[BlockId]) -> Vec<usize> {
    let mut blocks = vec![head.0 as usize];
    let mut work = latches.to_vec();
    while let Some(block) = work.pop() {
        let n = block.0 as usize;
        if blocks.contains(&n) {
            continue;
        }
        blocks.push(n);
        work.extend(cfg.predecessors(block).iter().copied().filter(|&p| cfg.is_reachable(p)));
    }
    blocks.sort_unstable();
    blocks
}

/// Whether no statement of the blocks writes the local, and nobody else can.
pub fn is_unwritten(body: &Body, blocks: &[usize], local: Local) -> bool {
    let hidden = body.locals.get(local.0 as usize).is_none_or(|d| d.address_taken || d.ty.quals.is_volatile);
    let mut clean = !hidden;
    for block in blocks.iter().filter_map(|&b| body.blocks.get(b)) {
        for stmt in &block.stmts {
            uses::written(&stmt.kind, &mut |l| clean &= l != local);
            if let StmtKind::StorageLive(l) | StmtKind::StorageDead(l) = stmt.kind {
                clean &= l != local;
            }
        }
    }
    clean
}

/// Whether the operand has one value as long as the loop runs.
pub fn is_invariant(body: &Body, blocks: &[usize], operand: &Operand) -> bool {
    match operand {
        Operand::Const(_) => true,
        _ => uses::whole(operand).is_some_and(|l| is_unwritten(body, blocks, l)),
    }
}

fn counted(body: &Body, head: usize, blocks: Vec<usize>, latch: usize) -> Option<Loop> {
    let block = body.blocks.get(head)?;
    let TermKind::If(condition, yes, no) = &block.term.kind else { return None };
    let inside = |b: &BlockId| blocks.binary_search(&(b.0 as usize)).is_ok();
    let holds = match (inside(yes), inside(no)) {
        (true, false) => true,
        (false, true) => false,
        _ => return None,
    };
    let tested = uses::whole(condition)?;
    let (op, a, b, ty) = block.stmts.iter().rev().find_map(|s| match &s.kind {
        StmtKind::Assign(place, Rvalue::Binary(op, a, b, ty)) if place.as_local() == Some(tested) => {
            Some((*op, a.clone(), b.clone(), *ty))
        }
        _ => None,
    })?;
    let once = block.stmts.iter().filter(|s| {
        let mut writes = false;
        uses::written(&s.kind, &mut |l| writes |= l == tested);
        writes
    });
    if once.count() != 1 {
        return None;
    }
    let (counter, end, until) = [(op, &a, &b), (mirrored(op), &b, &a)].into_iter().find_map(|(op, a, b)| {
        let until = match (op, holds) {
            (BinOp::Lt, true) | (BinOp::Ge, false) => Until::Below,
            (BinOp::Le, true) | (BinOp::Gt, false) => Until::UpTo,
            (BinOp::Ne, true) | (BinOp::Eq, false) => Until::Not,
            _ => return None,
        };
        let counter = uses::whole(a)?;
        growth(body, &blocks, counter, ty).is_some().then(|| (counter, b.clone(), until))
    })?;
    let decl = body.locals.get(counter.0 as usize)?;
    if decl.address_taken
        || decl.ty.quals.is_volatile
        || body.blocks.get(latch)?.term.kind.single_target() != Some(head)
    {
        return None;
    }
    let (growth, step) = growth(body, &blocks, counter, ty)?;
    let plain = step == 1 || until != Until::Not;
    (growth.block == latch && latch != head && plain).then_some(Loop {
        head,
        blocks,
        counter,
        ty,
        end,
        until,
        step,
        growth,
    })
}

fn mirrored(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Gt,
        BinOp::Gt => BinOp::Lt,
        BinOp::Le => BinOp::Ge,
        BinOp::Ge => BinOp::Le,
        other => other,
    }
}

/// The only write of the counter in the loop, `i = i + constant`.
fn growth(body: &Body, blocks: &[usize], counter: Local, ty: Ty) -> Option<(At, i128)> {
    let mut found = None;
    for &block in blocks {
        for (stmt, s) in body.blocks.get(block)?.stmts.iter().enumerate() {
            let mut writes = matches!(s.kind, StmtKind::StorageLive(l) | StmtKind::StorageDead(l) if l == counter);
            uses::written(&s.kind, &mut |l| writes |= l == counter);
            if !writes {
                continue;
            }
            let StmtKind::Assign(_, Rvalue::Binary(BinOp::Add, a, b, own)) = &s.kind else { return None };
            let by = match (uses::whole(a), b, a, uses::whole(b)) {
                (Some(l), Operand::Const(Const::Int(n, _)), _, _) if l == counter => *n,
                (_, _, Operand::Const(Const::Int(n, _)), Some(l)) if l == counter => *n,
                _ => return None,
            };
            if found.is_some() || *own != ty || !(1..=4096).contains(&by) {
                return None;
            }
            found = Some((At { block, stmt }, by));
        }
    }
    found
}

/// Whether `writes` knows the local to be assigned once, in the loop, in front of the statement on every way there.
pub fn computed_before(
    body: &Body,
    writes: &Writes,
    dominators: &Dominators,
    l: &Loop,
    local: Local,
    at: At,
) -> Option<At> {
    let (def, _) = writes.single(body, local)?;
    let before = if def.block == at.block {
        def.stmt < at.stmt
    } else {
        dominators.dominates(BlockId(def.block as u32), BlockId(at.block as u32))
    };
    (before && l.is_before_growth(def)).then_some(def)
}

/// Terminators with one target.
trait SingleTarget {
    fn single_target(&self) -> Option<usize>;
}

impl SingleTarget for TermKind {
    fn single_target(&self) -> Option<usize> {
        match self {
            TermKind::Goto(to) => Some(to.0 as usize),
            _ => None,
        }
    }
}
