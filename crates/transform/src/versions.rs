//! Loops in two versions.
//!
//! In front of an innermost counted loop stands a test that all its indices stay within their bounds, from the first turn to the
//! last. If so a copy of the loop runs that has not these checks, and that the C compiler can vectorise; if not, or if the loop is
//! short, the loop as it was, which faults where it must, behind the same side effects.
//!
//! An index is followed if it is a sum or product in which the counter stands once: `i`, `i + a`, `k * n + i`, `i * stride`, through
//! conversions. Within one integer type such a sequence `first, first + s, ..., last` passes no end of the type if
//! `first <= last` and the sum of its steps is less than the type has numbers: then all of it lies between `first` and
//! `last`. The test asks that at each conversion on the way, and `last < count`.
//!
//! Needs: bodies behind `removal`, which leaves only checks that are not proven. Changes: the graph. Guarantees: each access of the copy
//! would have passed its check.

use crate::counted::new_temp;
use crate::loops::{self, Loop, Until};
use crate::report::Remaining;
use crate::uses::{self, At, Writes};
use flow::ranges::terms::int_range;
use mir::cfg::{Cfg, Dominators};
use mir::ir::*;
use rustc_hash::FxHashMap;
use source::Span;
use typing::types::{Ty, TypeStore};

/// Loops with fewer turns run as they were: the test would cost more than it saves.
const FEW_TURNS: i128 = 6;
/// Factors, and turns where a factor is not known, are below this: a product of two is far from the end of 64 bits.
const SMALL: i128 = 1 << 31;
/// Expressions are followed so deep.
const DEPTH: u32 = 12;

/// Makes versions of the body's loops, and notes which checks have one without them. Gives how many.
pub fn run(program: &Program, body: &mut Body, remaining: &mut [Remaining]) -> usize {
    let has_checks = body.blocks.iter().flat_map(|b| &b.stmts).any(|s| bounds_of(&s.kind).is_some());
    if !has_checks || !body.address_labels.is_empty() {
        return 0;
    }
    let cfg = Cfg::new(body);
    let dominators = cfg.dominators();
    let found = loops::find(body, &cfg, &dominators);
    if found.is_empty() {
        return 0;
    }
    let writes = Writes::of(body);
    let mut plans = vec![];
    for l in found {
        if let Some(plan) = plan(program, body, &writes, &dominators, &l) {
            plans.push((l, plan));
        }
    }
    let made = plans.len();
    for (l, plan) in plans {
        for at in &plan.dropped {
            let span = body.blocks.get(at.block).and_then(|b| b.stmts.get(at.stmt)).map(|s| s.span);
            remaining.iter_mut().filter(|r| Some(r.span) == span).for_each(|r| r.versioned = true);
        }
        apply(program, body, &cfg, &l, plan);
    }
    made
}

/// An index that grows with the counter.
#[derive(Clone, Debug)]
enum Node {
    /// A constant or an unwritten local.
    Leaf(Operand),
    Counter,
    Binary(BinOp, Box<Node>, Box<Node>, Ty),
    Numeric(Box<Node>, Ty),
}

/// By how much an expression grows with each turn of step 1.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Slope {
    None,
    Small(i128),
    /// A value that is not known to be small.
    Factor(Operand),
}

/// What a version needs.
struct Plan {
    /// Checks that the copy has not.
    dropped: Vec<At>,
    tests: Vec<Test>,
}

/// Something that must hold in front of the loop.
#[derive(Clone, Debug)]
enum Test {
    /// The expression in the first turn is at most what it is in the last, in its own type.
    Grows(Node, Ty),
    /// The first value is at least 0.
    Positive(Node, Ty),
    /// The last value, as a number of the unsigned type of 64 bits, is less than the operand.
    Less(Node, Ty, Operand),
    /// Turns are few enough for factors.
    FewTurns,
    /// The factor is small.
    SmallFactor(Operand),
    /// The pointer is not null.
    NotNull(Operand),
    /// The count is not negative.
    Count(Operand),
}

/// Index, count, and for pointers their base with what may be wrong with it.
fn bounds_of(kind: &StmtKind) -> Option<(&Operand, &Operand, Option<&ElementCheck>)> {
    match kind {
        StmtKind::Check(Check::Index(index, count)) => Some((index, count, None)),
        StmtKind::Check(Check::Element(e)) => Some((&e.index, &e.count, Some(e))),
        _ => None,
    }
}

struct Planner<'a> {
    program: &'a Program,
    body: &'a Body,
    writes: &'a Writes,
    dominators: &'a Dominators,
    l: &'a Loop,
}

fn plan(program: &Program, body: &Body, writes: &Writes, dominators: &Dominators, l: &Loop) -> Option<Plan> {
    let planner = Planner { program, body, writes, dominators, l };
    let mut plan = Plan { dropped: vec![], tests: vec![] };
    for &block in &l.blocks {
        for (stmt, s) in body.blocks.get(block)?.stmts.iter().enumerate() {
            let at = At { block, stmt };
            if let Some((index, count, element)) = bounds_of(&s.kind).filter(|_| l.is_inside(at)) {
                if let Some(tests) = planner.tests(index, count, element, at) {
                    plan.dropped.push(at);
                    plan.tests.extend(tests);
                }
            }
        }
    }
    (!plan.dropped.is_empty() && planner.end().is_some()).then_some(plan)
}

impl Planner<'_> {
    fn types(&self) -> &TypeStore {
        &self.program.types
    }

    /// The end of the counter.
    fn end(&self) -> Option<Node> {
        let head = At { block: self.l.head, stmt: self.body.blocks.get(self.l.head)?.stmts.len() };
        let (node, slope) = self.follow(&self.l.end, head, DEPTH, &mut vec![])?;
        (slope == Slope::None).then_some(node)
    }

    fn tests(&self, index: &Operand, count: &Operand, element: Option<&ElementCheck>, at: At) -> Option<Vec<Test>> {
        let mut tests = vec![];
        let (node, slope) = self.follow(index, at, DEPTH, &mut tests)?;
        let ty = mir::ty::operand_ty(self.program, self.body, index).ok()?;
        self.level(&node, &slope, ty, &mut tests)?;
        if int_range(self.types(), ty)?.lo < 0 {
            // A conversion to a signed number of the same bits keeps the order if what is converted ends below the count.
            tests.push(Test::Positive(node.clone(), ty));
        }
        let (count_node, count_slope) = self.follow(count, at, DEPTH, &mut vec![])?;
        let Node::Leaf(count) = count_node else { return None };
        if count_slope != Slope::None {
            return None;
        }
        if let Some(e) = element {
            if e.may_be_null {
                let stays = loops::is_invariant(self.body, &self.l.blocks, &e.base);
                stays.then(|| tests.push(Test::NotNull(e.base.clone())))?;
            }
            if e.may_be_negative {
                tests.push(Test::Count(count.clone()));
            }
        }
        tests.push(Test::Less(node, ty, count));
        Some(tests)
    }

    /// The expression that an operand holds at a statement, and how it grows. `tests`: what conversions on the way ask for.
    fn follow(&self, operand: &Operand, at: At, depth: u32, tests: &mut Vec<Test>) -> Option<(Node, Slope)> {
        if depth == 0 {
            return None;
        }
        if matches!(operand, Operand::Const(_)) {
            return Some((Node::Leaf(operand.clone()), Slope::None));
        }
        let local = uses::whole(operand)?;
        if local == self.l.counter {
            return Some((Node::Counter, Slope::Small(1)));
        }
        if loops::is_unwritten(self.body, &self.l.blocks, local) {
            return Some((Node::Leaf(operand.clone()), Slope::None));
        }
        let def = loops::computed_before(self.body, self.writes, self.dominators, self.l, local, at)?;
        let (_, value) = self.writes.single(self.body, local)?;
        match value {
            Rvalue::Use(a) => self.follow(a, def, depth - 1, tests),
            Rvalue::Numeric(a, ty) => {
                let from = mir::ty::operand_ty(self.program, self.body, a).ok()?;
                let (node, slope) = self.follow(a, def, depth - 1, tests)?;
                self.convert(&node, &slope, from, *ty, tests)?;
                Some((Node::Numeric(Box::new(node), *ty), slope))
            }
            Rvalue::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul), a, b, ty) => {
                int_range(self.types(), *ty)?;
                let (x, sx) = self.follow(a, def, depth - 1, tests)?;
                let (y, sy) = self.follow(b, def, depth - 1, tests)?;
                let slope = combined(*op, (&x, sx), (&y, sy))?;
                Some((Node::Binary(*op, Box::new(x), Box::new(y), *ty), slope))
            }
            _ => None,
        }
    }

    /// What a conversion of something that grows asks for: that it goes up and passes no end of its own type, and that the
    /// new type has its values.
    fn convert(&self, node: &Node, slope: &Slope, from: Ty, to: Ty, tests: &mut Vec<Test>) -> Option<()> {
        let (have, want) = (int_range(self.types(), from)?, int_range(self.types(), to)?);
        if *slope == Slope::None {
            return Some(());
        }
        self.level(node, slope, from, tests)?;
        if want.covers(have) {
            return Some(());
        }
        let bits = |r: flow::ranges::Range| r.hi - r.lo;
        if have.lo < 0 && want.lo == 0 && bits(have) <= bits(want) {
            // From a signed type to an unsigned one that is not smaller.
            tests.push(Test::Positive(node.clone(), from));
            return Some(());
        }
        // From an unsigned type of 64 bits to the signed one: the sequence stays in order as long as it ends below the count, which
        // is a signed number; that its first number is not negative is asked of the result.
        (have.lo == 0 && bits(have) == bits(want)).then_some(())
    }

    /// The sequence goes up within its type.
    fn level(&self, node: &Node, slope: &Slope, ty: Ty, tests: &mut Vec<Test>) -> Option<()> {
        let range = int_range(self.types(), ty)?;
        let counter = int_range(self.types(), self.l.ty)?;
        let is_wide = range.hi - range.lo > u32::MAX.into();
        match slope {
            Slope::None => return Some(()),
            Slope::Small(1) if range.hi - range.lo >= counter.hi - counter.lo => {}
            Slope::Small(n) if is_wide && *n < 1 << 16 => {
                if counter.hi - counter.lo > u32::MAX.into() {
                    tests.push(Test::FewTurns);
                }
            }
            Slope::Factor(by) if is_wide => {
                tests.push(Test::FewTurns);
                tests.push(Test::SmallFactor(by.clone()));
            }
            _ => return None,
        }
        if !matches!(node, Node::Counter) {
            tests.push(Test::Grows(node.clone(), ty));
        }
        Some(())
    }
}

fn combined(op: BinOp, (x, sx): (&Node, Slope), (y, sy): (&Node, Slope)) -> Option<Slope> {
    match (op, sx, sy) {
        (_, Slope::None, Slope::None) => Some(Slope::None),
        (BinOp::Add | BinOp::Sub, s, Slope::None) | (BinOp::Add, Slope::None, s) => Some(s),
        (BinOp::Add, Slope::Small(a), Slope::Small(b)) => Some(Slope::Small(a + b)),
        (BinOp::Mul, Slope::Small(n), Slope::None) => scaled(n, y),
        (BinOp::Mul, Slope::None, Slope::Small(n)) => scaled(n, x),
        _ => None,
    }
}

fn scaled(n: i128, by: &Node) -> Option<Slope> {
    match by {
        Node::Leaf(Operand::Const(Const::Int(k, _))) if (1..1 << 16).contains(k) => Some(Slope::Small(n * k)),
        Node::Leaf(Operand::Const(_)) => None,
        Node::Leaf(operand) if n == 1 => Some(Slope::Factor(operand.clone())),
        _ => None,
    }
}

// ---- making it

/// Writes statements and branches in front of a loop.
struct Builder<'a> {
    program: &'a Program,
    body: &'a mut Body,
    l: &'a Loop,
    span: Span,
    current: usize,
    slow: BlockId,
    last: Operand,
}

fn apply(program: &Program, body: &mut Body, cfg: &Cfg, l: &Loop, plan: Plan) {
    let head = BlockId(l.head as u32);
    let span = body.blocks.get(l.head).map_or(Span::NONE, |b| b.term.span);
    let end = {
        let writes = Writes::of(body);
        let dominators = cfg.dominators();
        let planner = Planner { program, body, writes: &writes, dominators: &dominators, l };
        planner.end()
    };
    let Some(end) = end else { return };
    let first = new_block(body, head, span);
    enter_through(body, l, first);
    let last = Operand::local(l.counter);
    let mut builder = Builder { program, body, l, span, current: first, slow: head, last };
    builder.turns(end);
    let mut seen: Vec<String> = vec![];
    let mut tests = plan.tests;
    // Short ones first.
    tests.sort_by_key(|t| !matches!(t, Test::FewTurns));
    for test in tests {
        let text = format!("{test:?}");
        if !seen.contains(&text) {
            seen.push(text);
            builder.test(test);
        }
    }
    let from = builder.current;
    let fast = copy_loop(body, l, &plan.dropped);
    set_goto(body, from, fast, span);
}

fn new_block(body: &mut Body, to: BlockId, span: Span) -> usize {
    body.blocks.push(Block { stmts: vec![], term: Terminator { kind: TermKind::Goto(to), span } });
    body.blocks.len() - 1
}

fn set_goto(body: &mut Body, block: usize, to: BlockId, span: Span) {
    if let Some(block) = body.blocks.get_mut(block) {
        block.term = Terminator { kind: TermKind::Goto(to), span };
    }
}

/// Sends every way into the loop through `first`.
fn enter_through(body: &mut Body, l: &Loop, first: usize) {
    let (head, first_id) = (BlockId(l.head as u32), BlockId(first as u32));
    for (n, block) in body.blocks.iter_mut().enumerate() {
        if n == first || l.contains(n) {
            continue;
        }
        retarget(&mut block.term.kind, &mut |to| if to == head { first_id } else { to });
    }
}

fn retarget(term: &mut TermKind, to: &mut dyn FnMut(BlockId) -> BlockId) {
    match term {
        TermKind::Goto(b) => *b = to(*b),
        TermKind::If(_, yes, no) => {
            *yes = to(*yes);
            *no = to(*no);
        }
        TermKind::Switch(_, arms, other) => {
            arms.iter_mut().for_each(|arm| arm.2 = to(arm.2));
            *other = to(*other);
        }
        TermKind::Return(_) | TermKind::MissingReturn | TermKind::Unreachable | TermKind::GotoComputed(_) => {}
    }
}

/// Copies the loop without some checks; gives the copy's head. Temporaries of the loop's own get twins, so that each is still assigned once.
fn copy_loop(body: &mut Body, l: &Loop, dropped: &[At]) -> BlockId {
    let start = body.blocks.len();
    let twins = twins(body, l);
    let place_of = |n: usize| l.blocks.iter().position(|&b| b == n).map(|at| BlockId((start + at) as u32));
    for &n in &l.blocks {
        let Some(mut block) = body.blocks.get(n).cloned() else { continue };
        for (stmt, s) in block.stmts.iter_mut().enumerate() {
            if dropped.contains(&At { block: n, stmt }) {
                s.kind = StmtKind::Nop;
            }
            if let StmtKind::StorageLive(local) | StmtKind::StorageDead(local) = &mut s.kind {
                *local = twins.get(local).copied().unwrap_or(*local);
            }
            mir::visit_mut::stmt_places(&mut s.kind, &mut |place| rename(place, &twins));
        }
        mir::visit_mut::term_places(&mut block.term.kind, &mut |place| rename(place, &twins));
        retarget(&mut block.term.kind, &mut |to| place_of(to.0 as usize).unwrap_or(to));
        body.blocks.push(block);
    }
    place_of(l.head).unwrap_or(BlockId(l.head as u32))
}

fn rename(place: &mut Place, twins: &FxHashMap<Local, Local>) {
    if let PlaceBase::Local(local) = place.base {
        place.base = PlaceBase::Local(twins.get(&local).copied().unwrap_or(local));
    }
}

fn twins(body: &mut Body, l: &Loop) -> FxHashMap<Local, Local> {
    let mut inside: FxHashMap<Local, bool> = FxHashMap::default();
    for (n, block) in body.blocks.iter().enumerate() {
        let own = l.contains(n);
        let mut see = |place: &Place| {
            if let PlaceBase::Local(local) = place.base {
                let entry = inside.entry(local).or_insert(true);
                *entry &= own;
            }
        };
        block.stmts.iter().for_each(|s| mir::visit::stmt_places(&s.kind, &mut |p, _| see(p)));
        mir::visit::term_places(&block.term.kind, &mut |p, _| see(p));
    }
    let mut own: Vec<Local> = inside.into_iter().filter(|(_, own)| *own).map(|(local, _)| local).collect();
    own.sort_unstable();
    let mut twins = FxHashMap::default();
    for local in own {
        let Some(decl) = body.locals.get(local.0 as usize).filter(|d| d.kind == LocalKind::Temp).cloned() else {
            continue;
        };
        let twin = Local(body.locals.len() as u32);
        body.locals.push(decl);
        twins.insert(local, twin);
    }
    twins
}

impl Builder<'_> {
    fn emit(&mut self, value: Rvalue, ty: Ty) -> Operand {
        let local = new_temp(self.body, ty, self.span);
        let kind = StmtKind::Assign(Place::local(local), value);
        if let Some(block) = self.body.blocks.get_mut(self.current) {
            block.stmts.push(Stmt { kind, span: self.span, is_unsafe: false });
        }
        Operand::local(local)
    }

    fn compare(&mut self, op: BinOp, a: Operand, b: Operand, ty: Ty) -> Operand {
        let int = self.program.types.common.int;
        self.emit(Rvalue::Binary(op, a, b, ty), int)
    }

    /// Goes on only if the condition holds.
    fn ask(&mut self, condition: Operand) {
        let slow = self.slow;
        let next = new_block(self.body, slow, self.span);
        if let Some(block) = self.body.blocks.get_mut(self.current) {
            block.term.kind = TermKind::If(condition, BlockId(next as u32), slow);
        }
        self.current = next;
    }

    /// The counter's last value, if it has one in its type, and whether it is worth it.
    fn turns(&mut self, end: Node) {
        let ty = self.l.ty;
        let Some(range) = int_range(&self.program.types, ty) else { return };
        let constant = |n: i128| Operand::Const(Const::Int(n, ty));
        let counter = Operand::local(self.l.counter);
        let end = self.node(&end, &counter.clone());
        // Growth behind the last turn passes no end of the type.
        let room = match self.l.until {
            Until::Below => self.l.step - 1,
            Until::UpTo => self.l.step,
            Until::Not => 0,
        };
        if room > 0 {
            let condition = self.compare(BinOp::Le, end.clone(), constant(range.hi - room), ty);
            self.ask(condition);
        }
        self.last = match self.l.until {
            Until::UpTo => end.clone(),
            Until::Below | Until::Not => self.emit(Rvalue::Binary(BinOp::Sub, end.clone(), constant(1), ty), ty),
        };
        // Without a turn nothing matters, but the number of turns must be one.
        let condition = self.compare(BinOp::Lt, counter.clone(), end, ty);
        self.ask(condition);
        let turns = self.emit(Rvalue::Binary(BinOp::Sub, self.last.clone(), counter, ty), ty);
        let turns = self.unsigned(turns);
        let ulong = self.program.types.common.ulong;
        let few = Operand::Const(Const::Int(FEW_TURNS, ulong));
        let condition = self.compare(BinOp::Ge, turns, few, ulong);
        self.ask(condition);
    }

    /// As a number of 64 bits without a sign. Of a signed difference of two numbers in order: first without its sign, so that none
    /// is lost.
    fn unsigned(&mut self, value: Operand) -> Operand {
        let types = &self.program.types;
        let (ulong, uint) = (types.common.ulong, types.common.uint);
        let narrow = int_range(types, self.l.ty).is_some_and(|r| r.hi - r.lo <= u32::MAX.into());
        let value = if narrow { self.emit(Rvalue::Numeric(value, uint), uint) } else { value };
        self.emit(Rvalue::Numeric(value, ulong), ulong)
    }

    /// The value of an expression with the counter at `at`.
    fn node(&mut self, node: &Node, at: &Operand) -> Operand {
        match node {
            Node::Leaf(operand) => operand.clone(),
            Node::Counter => at.clone(),
            Node::Binary(op, a, b, ty) => {
                let (a, b) = (self.node(a, at), self.node(b, at));
                self.emit(Rvalue::Binary(*op, a, b, *ty), *ty)
            }
            Node::Numeric(a, ty) => {
                let a = self.node(a, at);
                self.emit(Rvalue::Numeric(a, *ty), *ty)
            }
        }
    }

    fn test(&mut self, test: Test) {
        let ulong = self.program.types.common.ulong;
        let start = Operand::local(self.l.counter);
        let last = self.last.clone();
        let condition = match test {
            Test::Grows(node, ty) => {
                let (a, b) = (self.node(&node, &start), self.node(&node, &last));
                self.compare(BinOp::Le, a, b, ty)
            }
            Test::Positive(node, ty) => {
                let a = self.node(&node, &start);
                self.compare(BinOp::Ge, a, Operand::Const(Const::Int(0, ty)), ty)
            }
            Test::Less(node, ty, count) => {
                let b = self.node(&node, &last);
                let b = if ty == ulong { b } else { self.emit(Rvalue::Numeric(b, ulong), ulong) };
                let count = match count {
                    Operand::Const(Const::Int(n, _)) => Operand::Const(Const::Int(n, ulong)),
                    count => self.emit(Rvalue::Numeric(count, ulong), ulong),
                };
                self.compare(BinOp::Lt, b, count, ulong)
            }
            Test::FewTurns => {
                let turns = self.emit(Rvalue::Binary(BinOp::Sub, last, start, self.l.ty), self.l.ty);
                let turns = self.unsigned(turns);
                self.compare(BinOp::Lt, turns, Operand::Const(Const::Int(SMALL, ulong)), ulong)
            }
            Test::SmallFactor(by) => {
                let by = self.emit(Rvalue::Numeric(by, ulong), ulong);
                self.compare(BinOp::Lt, by, Operand::Const(Const::Int(SMALL, ulong)), ulong)
            }
            Test::NotNull(pointer) => {
                let int = self.program.types.common.int;
                self.emit(Rvalue::Truth(pointer), int)
            }
            Test::Count(count) => {
                let long = self.program.types.common.long;
                self.compare(BinOp::Ge, count, Operand::Const(Const::Int(0, long)), long)
            }
        };
        self.ask(condition);
    }
}
