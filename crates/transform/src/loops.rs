//! Innermost loops, and how often they run: `for (i = start; i < end; i += step)`,
//! `while (n-- > 0)`, `for (; p < end; p++)`.

use crate::uses::{self, At, Writes};
use flow::ranges::terms::int_range;
use flow::ranges::Range;
use mir::cfg::{Cfg, Dominators};
use mir::ir::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use typing::types::{Ty, TyKind};

/// Loops with more than this are not copied.
const MOST_BLOCKS: usize = 20;
const MOST_STATEMENTS: usize = 400;
/// Nor are nests of loops with more than this.
const MOST_NEST_BLOCKS: usize = 48;
const MOST_NEST_STATEMENTS: usize = 400;
/// A counter or pointer moves by at most this in a turn.
pub const MOST_STEP: i128 = 4096;

/// What the test at the head of a counted loop says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// `i < end`
    Below,
    /// `i <= end`
    UpTo,
    /// `i != end`
    Not,
}

/// An innermost loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Where it is entered.
    pub head: usize,
    /// All blocks, sorted.
    pub blocks: Vec<usize>,
    /// The block that jumps back to the head; of `Open` loops one of them.
    pub latch: usize,
    /// How often it turns, at most: what is in it may leave it earlier.
    pub turns: Turns,
    /// Whether the test stands at the end of a turn, in the latch, so that the first turn runs in
    /// any case.
    pub at_end: bool,
}

/// What determines how often a loop runs. The test stands at the head, or at the latch (`at_end`),
/// and leaves the loop if it fails.
#[derive(Clone, Debug)]
pub enum Turns {
    /// `i < end`, `i += step`
    Up(Counter),
    /// `n >= least`, `n -= step`
    Down(Countdown),
    /// `p < end`, `p += step`
    Climb(Climb),
    /// Nothing that is followed.
    Open,
}

/// A counter that grows.
#[derive(Clone, Debug)]
pub struct Counter {
    /// What is counted.
    pub local: Local,
    /// Its type.
    pub ty: Ty,
    /// The type in which it is compared: its own, or one of 64 bits that it is converted to and that
    /// has all its numbers from 0 up (`int i` and `size_t n`).
    pub compared: Ty,
    /// The other side of the test, as the head reads it.
    pub end: Operand,
    /// How the two compare.
    pub until: Until,
    /// By how much it grows, at the end of each turn: a positive constant, or an unwritten local of
    /// the same type.
    pub step: Operand,
    /// Where it grows.
    pub growth: At,
}

/// A counter that shrinks, by the same in every turn.
#[derive(Clone, Debug)]
pub struct Countdown {
    /// What is counted.
    pub local: Local,
    /// Its type, in which it is compared.
    pub ty: Ty,
    /// The other side of the test, as the head reads it; a constant where the test stands at the
    /// end.
    pub end: Operand,
    /// A turn begins if the counter is at least `end + above` at the head; where the test stands at
    /// the end, a second turn does if it is `step` more.
    pub above: i128,
    /// What the test compares is at least `end + tested` then, which is a number of the counter's
    /// type, also with `step` added or subtracted. Of a constant `end` that is known.
    pub tested: i128,
    /// By how much it shrinks.
    pub step: i128,
    /// Where it shrinks.
    pub change: At,
}

impl Countdown {
    /// Whether the numbers that the test compares are in the counter's range if this is the end, with
    /// a step more or less.
    pub fn fits(&self, end: i128, range: Range) -> bool {
        let least = end + self.tested;
        least - self.step >= range.lo && least + self.step <= range.hi
    }
}

/// The counter of a loop: a number that changes by the same in every turn.
#[derive(Clone, Debug)]
pub struct Counts<'a> {
    /// What is counted.
    pub local: Local,
    /// Its type.
    pub ty: Ty,
    /// The other side of the test.
    pub end: &'a Operand,
    /// Where it changes.
    pub change: At,
    /// By how much it changes: a constant, or an unwritten local of the same type.
    pub step: Operand,
}

/// A pointer that grows until it reaches another.
#[derive(Clone, Debug)]
pub struct Climb {
    /// The pointer.
    pub pointer: Local,
    /// The other one.
    pub end: Operand,
    /// `Below` or `Not`.
    pub until: Until,
    /// The statement of the test's block that compares the two.
    pub read: usize,
}

impl Loop {
    /// Whether the block is in it.
    pub fn contains(&self, block: usize) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }

    /// The counter, if there is one that the head tests.
    pub fn counter(&self) -> Option<Counts<'_>> {
        match &self.turns {
            Turns::Up(Counter { local, ty, end, step, growth, .. }) => {
                Some(Counts { local: *local, ty: *ty, end, change: *growth, step: step.clone() })
            }
            Turns::Down(Countdown { local, ty, end, step, change, .. }) if !self.at_end => {
                let step = Operand::Const(Const::Int(-step, *ty));
                Some(Counts { local: *local, ty: *ty, end, change: *change, step })
            }
            _ => None,
        }
    }

    /// Whether a counter that grows is compared in another type than its own.
    pub fn is_compared_wider(&self) -> bool {
        matches!(&self.turns, Turns::Up(counter) if counter.compared != counter.ty)
    }

    /// Whether the statement runs only after a test that held: a counter is then in the loop's
    /// range.
    pub fn is_inside(&self, at: At) -> bool {
        self.contains(at.block) && (at.block != self.head || self.at_end || matches!(self.turns, Turns::Open))
    }
}

impl Counts<'_> {
    /// Whether the counter has changed in this turn when the statement runs. The change is made once
    /// in each turn, and no loop stands in this one.
    pub fn has_changed(&self, dominators: &Dominators, at: At) -> bool {
        match self.change.block == at.block {
            true => at.stmt > self.change.stmt,
            false => dominators.dominates(BlockId(self.change.block as u32), BlockId(at.block as u32)),
        }
    }
}

/// All innermost loops of a body that are small enough to be copied.
pub fn find(program: &Program, body: &Body, cfg: &Cfg, dominators: &Dominators) -> Vec<Loop> {
    let order = cfg.reverse_postorder().iter().enumerate().map(|(n, b)| (*b, n)).collect();
    let natural = natural_loops(cfg, dominators);
    let heads: Vec<usize> = natural.iter().map(|n| n.0).collect();
    let mut found = vec![];
    for (head, blocks, latches) in natural {
        let innermost = heads.iter().all(|h| *h == head || blocks.binary_search(h).is_err());
        let statements = statements(body, &blocks);
        if !innermost || head == 0 || blocks.len() > MOST_BLOCKS || statements > MOST_STATEMENTS {
            continue;
        }
        let Some(&latch) = latches.first() else { continue };
        let known = |at_end| {
            let turns = turns(program, body, dominators, (head, &blocks, latch), at_end)?;
            Some((turns, at_end))
        };
        let (turns, at_end) = match latches.len() {
            1 if runs_once(cfg, &order, head, &blocks) => {
                known(false).or_else(|| known(true)).unwrap_or((Turns::Open, false))
            }
            _ => (Turns::Open, false),
        };
        found.push(Loop { head, latch, blocks, turns, at_end });
    }
    found
}

/// Whether each block runs at most once in a turn: no way leads back to one but through the head.
/// Jumps into the middle of a cycle make cycles that are no natural loops.
fn runs_once(cfg: &Cfg, order: &FxHashMap<BlockId, usize>, head: usize, blocks: &[usize]) -> bool {
    blocks.iter().filter(|&&b| b != head).map(|&b| BlockId(b as u32)).all(|block| {
        let place = order.get(&block);
        cfg.predecessors(block).iter().filter(|p| cfg.is_reachable(**p)).all(|p| order.get(p) < place)
    })
}

/// How many statements the blocks have, without checks that are gone.
fn statements(body: &Body, blocks: &[usize]) -> usize {
    let stmts = blocks.iter().filter_map(|&b| body.blocks.get(b)).flat_map(|b| &b.stmts);
    stmts.filter(|s| s.kind.action() != Action::None).count()
}

/// The outermost loops of a body with others in them, if they are small enough to be copied.
pub fn nests(body: &Body, cfg: &Cfg, dominators: &Dominators) -> Vec<Loop> {
    let all = natural_loops(cfg, dominators);
    let holds =
        |outer: &(usize, Vec<usize>, Vec<usize>), head: usize| outer.0 != head && outer.1.binary_search(&head).is_ok();
    let mut found = vec![];
    for nest in &all {
        let (head, blocks, latches) = nest;
        let statements = statements(body, blocks);
        let outermost = all.iter().all(|other| !holds(other, *head));
        let has_others = all.iter().any(|other| holds(nest, other.0));
        let small = blocks.len() <= MOST_NEST_BLOCKS && statements <= MOST_NEST_STATEMENTS;
        if let (true, true, true, true, Some(&latch)) = (outermost, has_others, small, *head != 0, latches.first()) {
            found.push(Loop { head: *head, blocks: blocks.clone(), latch, turns: Turns::Open, at_end: false });
        }
    }
    found
}

/// Head, blocks and latches of each natural loop; the blocks sorted.
fn natural_loops(cfg: &Cfg, dominators: &Dominators) -> Vec<(usize, Vec<usize>, Vec<usize>)> {
    let mut found = vec![];
    for &head in cfg.reverse_postorder() {
        let latches: Vec<BlockId> =
            cfg.predecessors(head).iter().copied().filter(|&p| dominators.dominates(head, p)).collect();
        if !latches.is_empty() {
            let blocks = members(cfg, head, &latches);
            found.push((head.0 as usize, blocks, latches.iter().map(|l| l.0 as usize).collect()));
        }
    }
    found
}

/// The blocks of each natural loop, sorted.
pub fn natural(cfg: &Cfg, dominators: &Dominators) -> Vec<Vec<usize>> {
    natural_loops(cfg, dominators).into_iter().map(|l| l.1).collect()
}

fn members(cfg: &Cfg, head: BlockId, latches: &[BlockId]) -> Vec<usize> {
    let mut blocks = vec![head.0 as usize];
    let mut seen = BTreeSet::from([head.0 as usize]);
    let mut work = latches.to_vec();
    while let Some(block) = work.pop() {
        let n = block.0 as usize;
        if !seen.insert(n) {
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
            if let Some(l) = stmt.kind.storage() {
                clean &= l != local;
            }
        }
    }
    clean
}

/// What the test at the head, or at the end of a turn, says about the number of turns.
fn turns(
    program: &Program,
    body: &Body,
    dominators: &Dominators,
    (head, blocks, latch): (usize, &[usize], usize),
    at_end: bool,
) -> Option<Turns> {
    let tester = if at_end { latch } else { head };
    let block = body.blocks.get(tester)?;
    let (condition, yes, no) = block.term.kind.as_if()?;
    let goes_on = |b: BlockId| match at_end {
        true => b.0 as usize == head,
        false => blocks.binary_search(&(b.0 as usize)).is_ok(),
    };
    let leaves = |b: BlockId| blocks.binary_search(&(b.0 as usize)).is_err();
    let holds = match (goes_on(yes) && leaves(no), leaves(yes) && goes_on(no)) {
        (true, false) => true,
        (false, true) => false,
        _ => return None,
    };
    if !at_end && (latch == head || body.blocks.get(latch)?.term.kind.as_goto().is_none()) {
        return None;
    }
    let tested = uses::whole(condition)?;
    let compared = written_once(body, tester, tested).and_then(|stmt| {
        let (op, a, b, ty) = block.stmts.get(stmt)?.kind.value()?.comparison()?;
        Some((op, a.clone(), b.clone(), ty, stmt))
    });
    let (op, a, b, ty, at) = match compared {
        Some(compared) => compared,
        // The number itself: until it is 0.
        None => {
            let ty = body.locals.get(tested.0 as usize)?.ty.ty;
            (BinOp::Ne, condition.clone(), Operand::Const(Const::Int(0, ty)), ty, block.stmts.len())
        }
    };
    let op = if holds { op } else { negated(op)? };
    let followed = |(op, a, b): (BinOp, &Operand, &Operand)| -> Option<Turns> {
        if matches!(program.types.kind(ty), TyKind::Ptr(_)) {
            return climb(body, blocks, op, a, b, at).map(Turns::Climb);
        }
        int_range(&program.types, ty)?;
        let up = || up(program, body, (head, blocks, latch), at, (op, a, b, ty)).filter(|_| !at_end).map(Turns::Up);
        let test = Tested { blocks, latch, tester, at, at_end };
        up().or_else(|| down(program, body, dominators, &test, (op, a, b, ty)).map(Turns::Down))
    };
    followed((op, &a, &b)).or_else(|| followed((mirrored(op), &b, &a)))
}

/// Where a loop tests its counter.
struct Tested<'a> {
    blocks: &'a [usize],
    latch: usize,
    /// The block of the test: the head, or the latch if it is at the end.
    tester: usize,
    /// The statement that reads the counter.
    at: usize,
    at_end: bool,
}

/// The number of the only statement of the block that writes the local.
fn written_once(body: &Body, block: usize, local: Local) -> Option<usize> {
    let mut found = None;
    for (n, s) in body.blocks.get(block)?.stmts.iter().enumerate() {
        let mut writes = false;
        uses::written(&s.kind, &mut |l| writes |= l == local);
        if writes && found.replace(n).is_some() {
            return None;
        }
    }
    found
}

/// A local that only statements which name it change.
fn is_own(body: &Body, local: Local) -> bool {
    let decl = body.locals.get(local.0 as usize);
    decl.is_some_and(|d| !d.address_taken && !d.ty.quals.is_volatile && !d.ty.quals.is_atomic)
}

fn up(
    program: &Program,
    body: &Body,
    (head, blocks, latch): (usize, &[usize], usize),
    test: usize,
    (op, a, b, compared): (BinOp, &Operand, &Operand, Ty),
) -> Option<Counter> {
    let until = match op {
        BinOp::Lt => Until::Below,
        BinOp::Le => Until::UpTo,
        BinOp::Ne => Until::Not,
        _ => return None,
    };
    let read = uses::whole(a).filter(|&l| is_own(body, l))?;
    let (local, ty) =
        widened(program, body, At { block: head, stmt: test }, read, compared).unwrap_or((read, compared));
    let (growth, step) = change(body, blocks, local, ty)?;
    let plain = match &step {
        Operand::Const(Const::Int(n, _)) => *n == 1 || *n > 1 && until != Until::Not,
        _ => until != Until::Not,
    };
    (growth.block == latch && plain).then(|| Counter { local, ty, compared, end: b.clone(), until, step, growth })
}

/// What the head converts to the type of 64 bits in which its test compares it, and its own type, of
/// which the other has all numbers from 0 up.
fn widened(program: &Program, body: &Body, test: At, read: Local, compared: Ty) -> Option<(Local, Ty)> {
    let made = written_once(body, test.block, read).filter(|&made| made < test.stmt)?;
    let (from, _) = body.blocks.get(test.block)?.stmts.get(made)?.kind.assigned_to(read)?.as_numeric()?;
    let local = uses::whole(from).filter(|&l| is_own(body, l))?;
    let ty = body.locals.get(local.0 as usize)?.ty.ty;
    let (have, wide) = (int_range(&program.types, ty)?, int_range(&program.types, compared)?);
    let is_wider = wide.hi - wide.lo > u32::MAX.into() && wide.hi >= have.hi && wide != have;
    is_wider.then_some((local, ty))
}

fn down(
    program: &Program,
    body: &Body,
    dominators: &Dominators,
    test: &Tested,
    (op, a, b, ty): (BinOp, &Operand, &Operand, Ty),
) -> Option<Countdown> {
    let &Tested { blocks, latch, tester, at, at_end } = test;
    let tested = match op {
        BinOp::Gt | BinOp::Ne => 1,
        BinOp::Ge => 0,
        _ => return None,
    };
    let is_end = match b {
        Operand::Const(Const::Int(end, _)) => op != BinOp::Ne || *end == 0,
        other => !at_end && matches!(other, Operand::Copy(_)),
    };
    let read = uses::whole(a).filter(|&l| is_own(body, l))?;
    // `n-- > 0` compares a copy.
    let copied = written_once(body, tester, read).filter(|&n| n < at).and_then(|n| {
        let value = body.blocks.get(tester)?.stmts.get(n)?.kind.assigned_to(read)?;
        Some((uses::whole(value.as_use()?)?, n))
    });
    let (local, read_at) = copied.unwrap_or((read, at));
    let same_type = body.locals.get(local.0 as usize)?.ty.ty == ty;
    if !same_type || !is_own(body, local) || copied.is_some() && !is_unwritten_but(body, blocks, read, tester) {
        return None;
    }
    let (shrinks, by) = change(body, blocks, local, ty)?;
    let Operand::Const(Const::Int(by, _)) = by else { return None };
    let step = -by;
    let always = dominators.dominates(BlockId(shrinks.block as u32), BlockId(latch as u32));
    let range = int_range(&program.types, ty)?;
    if step < 1 || !always || op == BinOp::Ne && step != 1 || !is_end {
        return None;
    }
    // What the test reads differs by a step from what the counter is at the head of the turn that
    // it lets begin, or, at the end, of the one before.
    let above = match (at_end, shrinks.block == tester) {
        (false, true) if shrinks.stmt < read_at => tested + step,
        (true, true) if shrinks.stmt > read_at => tested - step,
        _ => tested,
    };
    let countdown = Countdown { local, ty, end: b.clone(), above, tested, step, change: shrinks };
    match b {
        Operand::Const(Const::Int(end, _)) if !countdown.fits(*end, range) => None,
        _ => Some(countdown),
    }
}

/// Whether only the block writes the local, of these.
fn is_unwritten_but(body: &Body, blocks: &[usize], local: Local, but: usize) -> bool {
    let rest: Vec<usize> = blocks.iter().copied().filter(|&b| b != but).collect();
    is_unwritten(body, &rest, local)
}

fn climb(body: &Body, blocks: &[usize], op: BinOp, a: &Operand, b: &Operand, read: usize) -> Option<Climb> {
    let until = match op {
        BinOp::Lt => Until::Below,
        BinOp::Ne => Until::Not,
        _ => return None,
    };
    let pointer = uses::whole(a).filter(|&l| is_own(body, l) && !is_unwritten(body, blocks, l))?;
    let end = uses::whole(b).filter(|&l| is_unwritten(body, blocks, l))?;
    (pointer != end).then(|| Climb { pointer, end: b.clone(), until, read })
}

fn negated(op: BinOp) -> Option<BinOp> {
    Some(match op {
        BinOp::Lt => BinOp::Ge,
        BinOp::Ge => BinOp::Lt,
        BinOp::Le => BinOp::Gt,
        BinOp::Gt => BinOp::Le,
        BinOp::Eq => BinOp::Ne,
        BinOp::Ne => BinOp::Eq,
        _ => return None,
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

/// The only write of the counter in the loop, `i = i + constant`, `i = i - constant`,
/// `i = i + unwritten`: where, and by how much it grows. The sum may be made of a copy, as in
/// `n--`.
fn change(body: &Body, blocks: &[usize], counter: Local, ty: Ty) -> Option<(At, Operand)> {
    let mut found = None;
    for &block in blocks {
        for (stmt, s) in body.blocks.get(block)?.stmts.iter().enumerate() {
            let mut writes = s.kind.storage() == Some(counter);
            uses::written(&s.kind, &mut |l| writes |= l == counter);
            if !writes {
                continue;
            }
            let (op, a, b, own) = s.kind.value()?.as_binary()?;
            let at = At { block, stmt };
            let is_counter =
                |o: &Operand| uses::whole(o).is_some_and(|l| l == counter || is_copy(body, at, l, counter));
            let by = match op {
                BinOp::Add if is_counter(a) => b,
                BinOp::Add if is_counter(b) => a,
                BinOp::Sub if is_counter(a) && matches!(b, Operand::Const(_)) => b,
                _ => return None,
            };
            let by = match by {
                Operand::Const(Const::Int(n, _)) if (1..=MOST_STEP).contains(&n.abs()) => {
                    Operand::Const(Const::Int(if op == BinOp::Sub { -n } else { *n }, ty))
                }
                other => other.clone(),
            };
            let steady = match &by {
                Operand::Const(Const::Int(n, _)) => n.abs() <= MOST_STEP,
                Operand::Const(_) => false,
                other => uses::whole(other).is_some_and(|l| {
                    is_unwritten(body, blocks, l) && body.locals.get(l.0 as usize).is_some_and(|d| d.ty.ty == ty)
                }),
            };
            if found.is_some() || own != ty || !steady {
                return None;
            }
            found = Some((at, by));
        }
    }
    found
}

/// Whether the local is a copy of the counter that was made before the statement in its block.
fn is_copy(body: &Body, at: At, local: Local, counter: Local) -> bool {
    let made = written_once(body, at.block, local).filter(|&n| n < at.stmt);
    let value = made.and_then(|n| body.blocks.get(at.block)?.stmts.get(n));
    is_own(body, local)
        && value.and_then(|s| s.kind.value()?.as_use()).is_some_and(|from| uses::whole(from) == Some(counter))
}

/// Whether `writes` knows the local to be assigned once, in the loop, before the statement on every
/// path there.
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
    (before && l.contains(def.block)).then_some(def)
}
