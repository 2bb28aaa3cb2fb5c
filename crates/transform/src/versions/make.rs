//! Writes the test before a loop, and the copy after it.

use super::index::{Index, Node, Slope, Test};
use super::walk::{Distance, Reach};
use super::Plan;
use crate::counted::new_temp;
use crate::loops::{Climb, Countdown, Counter, Loop, Turns, Until, MOST_STEP};
use crate::uses::{self, At};
use flow::ranges::terms::int_range;
use mir::cfg::each_successor_mut;
use mir::effects::{Kind, PartMut};
use mir::ir::*;
use rustc_hash::FxHashMap;
use source::Span;
use std::ops::Range;
use typing::types::{Pointer, Ty};

/// Loops that count up by fewer than this run as they were: the test would cost more than it saves.
const FEW_TURNS: i128 = 3;
/// The same for other loops, in turns.
const FEW_STEPS: i128 = 4;
/// Factors, and turns where a factor is not known, are below this: a product of two is far from the
/// end of 64 bits.
const SMALL: i128 = 1 << 31;

/// Puts the test before the loop, and a copy without the plan's checks after it. `uses`: those of
/// the body before the first of its loops was copied. The blocks of the test, which `enter` is to
/// lead to.
pub fn apply(program: &mut Program, body: &mut Body, l: &Loop, plan: Plan, uses: &Uses) -> Range<usize> {
    let head = BlockId(l.head as u32);
    let span = body.blocks.get(l.head).map_or(Span::NONE, |b| b.term.span);
    let first = new_block(body, head, span);
    let mut builder = Builder {
        program,
        body,
        l,
        span,
        current: first,
        slow: head,
        ends: None,
        known: FxHashMap::default(),
        loaded: vec![],
    };
    builder.turns(&plan);
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
    let mut edits = Edits { nothing: plan.dropped, plain: plan.counted, ..Edits::default() };
    for eased in plan.eased {
        let (base, count) = (builder.node(&eased.base, None), builder.node(&eased.count, None));
        edits.eased.push((eased.at, base, count));
    }
    for node in &plan.read {
        builder.node(node, None);
    }
    let far = (!plan.rebased.is_empty()).then(|| builder.distance());
    let mut anchors = FxHashMap::default();
    let starts: Vec<Straight> = plan.rebased.iter().map(|index| builder.straight(index, &mut anchors)).collect();
    if let (Some(far), Some(counter)) = (far, l.counter()) {
        for (at, operand, n) in plan.uses {
            edits.indices.extend(starts.get(n).map(|s| (at, operand, s.clone())));
        }
        let step = match &counter.step {
            Operand::Const(Const::Int(n, _)) => Operand::Const(Const::Int(*n, builder.program.types.common.long)),
            step => {
                let long = builder.program.types.common.long;
                builder.emit(Rvalue::Numeric(step.clone(), long), long)
            }
        };
        edits.growth = Some((l.latch, far, step));
    }
    edits.loaded = std::mem::take(&mut builder.loaded);
    if let (Some(counter), Some(end)) = (l.counter(), plan.end.filter(Node::loads)) {
        edits.end = Some((l.head, counter.end.clone(), builder.node(&end, None)));
    }
    let (from, long) = (builder.current, builder.program.types.common.long);
    let tests = first..body.blocks.len();
    let fast = copy_loop(body, l, &edits, long, uses);
    set_goto(body, from, fast, span);
    tests
}

/// An index as a number of 64 bits: its value in the first turn, and by how much it grows with the
/// counter.
#[derive(Clone)]
struct Straight {
    first: Operand,
    by: Operand,
}

/// What the copy has otherwise.
#[derive(Default)]
struct Edits {
    /// Checks that are gone.
    nothing: Vec<At>,
    /// Arithmetic of counts that passes no end.
    plain: Vec<At>,
    /// Checks with a base that is not null and a count that is not negative.
    eased: Vec<(At, Operand, Operand)>,
    /// Indices that are computed in 64 bits.
    indices: Vec<(At, Operand, Straight)>,
    /// The block that ends each turn, what counts beside the counter, and by how much that changes.
    growth: Option<(usize, Local, Operand)>,
    /// In which block the counter is compared with what, and what that is all the time.
    end: Option<(usize, Operand, Operand)>,
    /// Places that are read before the loop.
    loaded: Vec<(Place, Local)>,
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

/// Sends every edge into each of the loops through its test.
pub fn enter(body: &mut Body, made: &[(Loop, Range<usize>)]) {
    let by_head: FxHashMap<BlockId, _> = made.iter().map(|entry| (BlockId(entry.0.head as u32), entry)).collect();
    for (n, block) in body.blocks.iter_mut().enumerate() {
        each_successor_mut(&mut block.term.kind, |to| {
            if let Some((_, tests)) = by_head.get(to).filter(|(l, tests)| !tests.contains(&n) && !l.contains(n)) {
                *to = BlockId(tests.start as u32);
            }
        });
    }
}

/// Copies the loop with the edits; gives the copy's head. Temporaries of the loop's own get twins,
/// so that each is still assigned once.
fn copy_loop(body: &mut Body, l: &Loop, edits: &Edits, long: Ty, uses: &Uses) -> BlockId {
    let start = body.blocks.len();
    let twins = twins(body, l, uses);
    let place_of = |n: usize| l.blocks.iter().position(|&b| b == n).map(|at| BlockId((start + at) as u32));
    for &n in &l.blocks {
        let Some(original) = body.blocks.get(n).cloned() else { continue };
        let mut block = Block { stmts: vec![], term: original.term };
        for (stmt, mut s) in original.stmts.into_iter().enumerate() {
            let at = At { block: n, stmt };
            edit(body, edits, at, &mut s, &mut block.stmts, long);
            mir::effects::parts_mut(&mut s.kind, &mut |part| {
                if let PartMut::Local(local, Kind::Begin | Kind::End) = part {
                    *local = twins.get(local).copied().unwrap_or(*local);
                }
            });
            mir::effects::change_places(&mut s.kind, &mut |place| rename(place, &twins));
            block.stmts.push(s);
        }
        if let Some((_, far, step)) = edits.growth.as_ref().filter(|g| g.0 == n) {
            let sum = Rvalue::Binary(BinOp::Add, Operand::local(*far), step.clone(), long);
            block.stmts.push(Stmt { kind: StmtKind::set(*far, sum), span: block.term.span, is_unsafe: false });
        }
        mir::effects::change_term_places(&mut block.term.kind, &mut |place| rename(place, &twins));
        each_successor_mut(&mut block.term.kind, |to| *to = place_of(to.0 as usize).unwrap_or(*to));
        body.blocks.push(block);
    }
    place_of(l.head).unwrap_or(BlockId(l.head as u32))
}

/// Changes a statement of the copy; what has to stand before it goes to `before`.
fn edit(body: &mut Body, edits: &Edits, at: At, s: &mut Stmt, before: &mut Vec<Stmt>, long: Ty) {
    if edits.nothing.contains(&at) {
        s.remove();
        return;
    }
    if edits.plain.contains(&at) {
        uses::plain(&mut s.kind, long);
    }
    if let Some(e) = s.kind.as_check_mut().and_then(Check::as_element_mut) {
        if let Some((_, base, count)) = edits.eased.iter().find(|e| e.0 == at) {
            e.base = base.clone();
            e.count = count.clone();
            e.may_be_null = false;
            e.may_be_negative = false;
        }
    }
    if let (Some((_, value)), Some((head, old, new))) = (s.kind.as_assign_mut(), &edits.end) {
        if let Some((op, a, b, ty)) = value.as_binary().filter(|_| at.block == *head) {
            let side = |side: &Operand| if side == old { new.clone() } else { side.clone() };
            *value = Rvalue::Binary(op, side(a), side(b), ty);
        }
    }
    for (_, operand, straight) in edits.indices.iter().filter(|i| i.0 == at) {
        let Some((_, far, _)) = &edits.growth else { continue };
        let mut emit = |op, a, b| {
            let local = new_temp(body, long, s.span);
            let kind = StmtKind::set(local, Rvalue::Binary(op, a, b, long));
            before.push(Stmt { kind, span: s.span, is_unsafe: false });
            Operand::local(local)
        };
        let grown = match &straight.by {
            Operand::Const(Const::Int(1, _)) => Operand::local(*far),
            by => emit(BinOp::Mul, Operand::local(*far), by.clone()),
        };
        let index = emit(BinOp::Add, straight.first.clone(), grown);
        replace_index(&mut s.kind, operand, &index);
    }
    let takes_address = s.kind.value().is_some_and(|value| value.points_at().is_some());
    if !edits.loaded.is_empty() && !takes_address {
        mir::effects::change_places(&mut s.kind, &mut |place| {
            if let Some((_, local)) = edits.loaded.iter().find(|(from, _)| from == place) {
                *place = Place::local(*local);
            }
        });
    }
}

/// Puts an index in the place of another where the statement accesses an element.
fn replace_index(kind: &mut StmtKind, old: &Operand, new: &Operand) {
    if let Some((_, value)) = kind.as_assign_mut() {
        if let Some((from, _)) = value.as_offset().filter(|(_, index)| *index == old) {
            *value = Rvalue::Offset(from.clone(), new.clone());
        }
    }
    mir::effects::change_places(kind, &mut |place| {
        for index in place.proj.iter_mut().filter_map(Proj::index_mut) {
            if index == old {
                *index = new.clone();
            }
        }
    });
}

fn rename(place: &mut Place, twins: &FxHashMap<Local, Local>) {
    if let PlaceBase::Local(local) = place.base {
        place.base = PlaceBase::Local(twins.get(&local).copied().unwrap_or(local));
    }
}

/// How many places name each local.
pub struct Uses(FxHashMap<Local, u32>);

impl Uses {
    pub fn of(body: &Body) -> Uses {
        Uses::of_blocks(body.blocks.iter())
    }

    fn of_blocks<'a>(blocks: impl Iterator<Item = &'a Block>) -> Uses {
        let mut uses: FxHashMap<Local, u32> = FxHashMap::default();
        let mut see = |place: &Place| {
            if let PlaceBase::Local(local) = place.base {
                *uses.entry(local).or_default() += 1;
            }
        };
        for block in blocks {
            block.stmts.iter().for_each(|s| mir::effects::stmt_places(&s.kind, &mut |p, _| see(p)));
            mir::effects::term_places(&block.term.kind, &mut |p, _| see(p));
        }
        Uses(uses)
    }
}

/// A temporary is the loop's own if all places that name it are in the loop. The tests before
/// this loop and others name none of these: nothing assigns them there.
fn twins(body: &mut Body, l: &Loop, uses: &Uses) -> FxHashMap<Local, Local> {
    let inside = Uses::of_blocks(l.blocks.iter().filter_map(|&n| body.blocks.get(n)));
    let mut own: Vec<Local> =
        inside.0.into_iter().filter(|(local, n)| uses.0.get(local) == Some(n)).map(|(local, _)| local).collect();
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

struct Builder<'a> {
    program: &'a mut Program,
    body: &'a mut Body,
    l: &'a Loop,
    span: Span,
    current: usize,
    slow: BlockId,
    /// The least and the greatest number that the counter may be at the start of a turn.
    ends: Option<(Operand, Operand)>,
    /// What was computed, by the text of its expression.
    known: FxHashMap<String, Operand>,
    loaded: Vec<(Place, Local)>,
}

impl Builder<'_> {
    fn emit(&mut self, value: Rvalue, ty: Ty) -> Operand {
        let local = new_temp(self.body, ty, self.span);
        self.assign(local, value);
        Operand::local(local)
    }

    fn assign(&mut self, local: Local, value: Rvalue) {
        let kind = StmtKind::set(local, value);
        if let Some(block) = self.body.blocks.get_mut(self.current) {
            block.stmts.push(Stmt { kind, span: self.span, is_unsafe: false });
        }
    }

    fn compare(&mut self, op: BinOp, a: Operand, b: Operand, ty: Ty) -> Operand {
        let int = self.program.types.common.int;
        self.emit(Rvalue::Binary(op, a, b, ty), int)
    }

    fn ulong(&self) -> Ty {
        self.program.types.common.ulong
    }

    fn number(&self, n: i128) -> Operand {
        Operand::Const(Const::Int(n, self.ulong()))
    }

    /// Continues only if the condition holds.
    fn ask(&mut self, condition: Operand) {
        let slow = self.slow;
        let next = new_block(self.body, slow, self.span);
        if let Some(block) = self.body.blocks.get_mut(self.current) {
            block.term.kind = TermKind::If(condition, BlockId(next as u32), slow);
        }
        self.current = next;
    }

    fn ask_comparison(&mut self, op: BinOp, a: Operand, b: Operand, ty: Ty) {
        let condition = self.compare(op, a, b, ty);
        self.ask(condition);
    }

    /// Tests that the loop is worth it, and computes what the other tests need: the counter's last
    /// value, or how many turns follow the first.
    fn turns(&mut self, plan: &Plan) {
        let l = self.l;
        let (least, after_first) = match (&l.turns, &plan.end) {
            (Turns::Up(counter), Some(end)) => (FEW_TURNS, self.count_up(counter, end)),
            (Turns::Down(down), Some(end)) => (FEW_STEPS - 1, self.count_down(down, end)),
            (Turns::Climb(climb), _) => match plan.climb {
                Some(by) => (FEW_STEPS - 1, self.climb(climb, by)),
                None => return,
            },
            _ => return,
        };
        let (few, ulong) = (self.number(least), self.ulong());
        self.ask_comparison(BinOp::Ge, after_first.clone(), few, ulong);
        let turns = match &l.turns {
            Turns::Up(Counter { step: Operand::Const(Const::Int(step, _)), .. }) if *step > 1 => {
                self.divided(after_first, *step)
            }
            _ => after_first,
        };
        self.known.insert("turns".into(), turns);
    }

    fn divided(&mut self, n: Operand, by: i128) -> Operand {
        let (by, ulong) = (self.number(by), self.ulong());
        self.emit(Rvalue::Binary(BinOp::Div, n, by, ulong), ulong)
    }

    /// Tests that the counter has a last value in its type; gives how far that is from the first.
    fn count_up(&mut self, counter: &Counter, end: &Node) -> Operand {
        let ty = counter.ty;
        let start = Operand::local(counter.local);
        let Some(range) = int_range(&self.program.types, ty) else { return self.number(0) };
        let constant = |n: i128| Operand::Const(Const::Int(n, ty));
        let end = self.node(end, None);
        let end = self.narrowed(counter, end);
        // Growth after the last turn passes no end of the type.
        let room = match (&counter.step, counter.until) {
            (Operand::Const(Const::Int(step, _)), Until::Below) => constant(range.hi - (step - 1)),
            (Operand::Const(Const::Int(step, _)), Until::UpTo) => constant(range.hi - step),
            (_, Until::Not) => constant(range.hi),
            (step, _) => {
                self.ask_comparison(BinOp::Ge, step.clone(), constant(1), ty);
                self.emit(Rvalue::Binary(BinOp::Sub, constant(range.hi), step.clone(), ty), ty)
            }
        };
        if !matches!(room, Operand::Const(Const::Int(n, _)) if n == range.hi) {
            self.ask_comparison(BinOp::Le, end.clone(), room, ty);
        }
        let last = match counter.until {
            Until::UpTo => end.clone(),
            Until::Below | Until::Not => self.emit(Rvalue::Binary(BinOp::Sub, end.clone(), constant(1), ty), ty),
        };
        self.ends = Some((start.clone(), last.clone()));
        // Without a turn nothing matters, but the number of turns must be one.
        self.ask_comparison(BinOp::Lt, start.clone(), end, ty);
        let turns = self.emit(Rvalue::Binary(BinOp::Sub, last, start, ty), ty);
        self.unsigned(turns, ty)
    }

    /// The end of a counter as a number of the counter's type. Tests that it is one, and, if an
    /// unsigned type compares the two, that the counter begins at 0 or above.
    fn narrowed(&mut self, counter: &Counter, end: Operand) -> Operand {
        let types = &self.program.types;
        let (Some(own), Some(wide)) = (int_range(types, counter.ty), int_range(types, counter.compared)) else {
            return end;
        };
        if counter.compared == counter.ty {
            return end;
        }
        if own.lo < 0 && wide.lo == 0 {
            let zero = Operand::Const(Const::Int(0, counter.ty));
            self.ask_comparison(BinOp::Ge, Operand::local(counter.local), zero, counter.ty);
        }
        if let Operand::Const(Const::Int(n, _)) = end {
            if own.contains(n) {
                return Operand::Const(Const::Int(n, counter.ty));
            }
        }
        let limit = |n: i128| Operand::Const(Const::Int(n, counter.compared));
        self.ask_comparison(BinOp::Le, end.clone(), limit(own.hi), counter.compared);
        if wide.lo < 0 {
            self.ask_comparison(BinOp::Ge, end.clone(), limit(own.lo), counter.compared);
        }
        self.emit(Rvalue::Numeric(end, counter.ty), counter.ty)
    }

    /// Tests that there is a turn; gives how many follow it.
    fn count_down(&mut self, down: &Countdown, end: &Node) -> Operand {
        let ty = down.ty;
        let start = Operand::local(down.local);
        let Some(range) = int_range(&self.program.types, ty) else { return self.number(0) };
        let constant = |n: i128| Operand::Const(Const::Int(n, ty));
        let least = match self.node(end, None) {
            Operand::Const(Const::Int(end, _)) if down.fits(end, range) => constant(end + down.above),
            end => {
                if down.tested < down.step {
                    self.ask_comparison(BinOp::Ge, end.clone(), constant(range.lo + down.step - down.tested), ty);
                }
                self.ask_comparison(BinOp::Le, end.clone(), constant(range.hi - down.step - down.tested), ty);
                self.emit(Rvalue::Binary(BinOp::Add, end, constant(down.above), ty), ty)
            }
        };
        self.ask_comparison(BinOp::Ge, start.clone(), least.clone(), ty);
        self.ends = Some((least.clone(), start.clone()));
        let above = self.emit(Rvalue::Binary(BinOp::Sub, start, least, ty), ty);
        let above = self.unsigned(above, ty);
        if down.step > 1 {
            return self.divided(above, down.step);
        }
        above
    }

    /// Tests that there is a turn; gives how many follow it, if each moves the pointer by so many
    /// elements at least.
    fn climb(&mut self, climb: &Climb, by: i128) -> Operand {
        let ulong = self.ulong();
        let size = self.element_size(climb.pointer);
        let (from, to) = (self.address(&Operand::local(climb.pointer)), self.address(&climb.end));
        self.ask_comparison(BinOp::Lt, from.clone(), to.clone(), ulong);
        let bytes = self.emit(Rvalue::Binary(BinOp::Sub, to.clone(), from, ulong), ulong);
        let Some(size) = size.filter(|&size| size < SMALL) else { return self.number(0) };
        // The last turn moves the pointer past its end, but not past the last address: there it
        // would be below the end again.
        let highest = self.number(i128::from(u64::MAX) - MOST_STEP * size);
        self.ask_comparison(BinOp::Le, to.clone(), highest, ulong);
        if size & (size - 1) != 0 {
            // Elements whose size is not a power of two are counted from the first one: where that
            // many bytes pass the end of 64 bits, the pointer falls back to before the first.
            let first = self.word(&Operand::local(climb.pointer), Part::Lo);
            let far = self.emit(Rvalue::Binary(BinOp::Sub, to, first, ulong), ulong);
            let farthest = self.number(i128::from(i64::MAX) - MOST_STEP * size);
            self.ask_comparison(BinOp::Le, far, farthest, ulong);
        }
        if climb.until == Until::Not && size > 1 {
            let size = self.number(size);
            let rest = self.emit(Rvalue::Binary(BinOp::Rem, bytes.clone(), size, ulong), ulong);
            let zero = self.number(0);
            self.ask_comparison(BinOp::Eq, rest, zero, ulong);
        }
        let one = self.number(1);
        let below = self.emit(Rvalue::Binary(BinOp::Sub, bytes, one, ulong), ulong);
        match size * by {
            1 => below,
            step => self.divided(below, step),
        }
    }

    /// The size of what the pointer points to; none if it has none.
    fn element_size(&self, pointer: Local) -> Option<i128> {
        let types = &self.program.types;
        let target = types.as_pointer(self.body.locals.get(pointer.0 as usize)?.ty.ty)?.target.ty;
        types.layout(target).map(|l| i128::from(l.size)).filter(|&size| size > 0)
    }

    /// The address of a pointer, as a number.
    fn address(&mut self, pointer: &Operand) -> Operand {
        self.word(pointer, Part::Ptr)
    }

    /// One word of a pointer, as a number; of one that has no bounds its address.
    fn word(&mut self, pointer: &Operand, part: Part) -> Operand {
        let ulong = self.ulong();
        let ty =
            pointer.place().and_then(Place::as_local).and_then(|l| self.body.locals.get(l.0 as usize)).map(|d| d.ty.ty);
        let Some(pointer_ty) = ty.and_then(|ty| self.program.types.as_pointer(ty)) else { return self.number(0) };
        let thin = Pointer { bounds: typing::types::Bounds::Thin, nonnull: false, ..pointer_ty };
        let thin = self.program.types.pointer(thin);
        let word = match ty.map(|ty| self.program.types.words(ty)) {
            Some(3) => self.emit(Rvalue::Part(pointer.clone(), part, thin), thin),
            _ => pointer.clone(),
        };
        self.emit(Rvalue::Bits(word, ulong), ulong)
    }

    /// As a number of 64 bits without a sign. Of a signed difference of two numbers in order: first
    /// without its sign, so that none is lost.
    fn unsigned(&mut self, value: Operand, ty: Ty) -> Operand {
        let types = &self.program.types;
        let (ulong, uint) = (types.common.ulong, types.common.uint);
        let narrow = int_range(types, ty).is_some_and(|r| r.hi - r.lo <= u32::MAX.into());
        let value = if narrow { self.emit(Rvalue::Numeric(value, uint), uint) } else { value };
        self.emit(Rvalue::Numeric(value, ulong), ulong)
    }

    /// The value of an expression with the counter at `at`.
    fn node(&mut self, node: &Node, at: Option<&Operand>) -> Operand {
        match node {
            Node::Leaf(operand) => return operand.clone(),
            Node::Counter => return at.cloned().unwrap_or_else(|| self.number(0)),
            _ => {}
        }
        let text = format!("{node:?} {at:?}");
        if let Some(known) = self.known.get(&text) {
            return known.clone();
        }
        let value = match node {
            Node::Leaf(operand) => operand.clone(),
            Node::Counter => self.number(0),
            Node::Changed => match (self.l.counter().map(|c| (c.step, c.ty)), at) {
                (Some((step, ty)), Some(at)) => self.emit(Rvalue::Binary(BinOp::Add, at.clone(), step, ty), ty),
                _ => self.number(0),
            },
            Node::Load(place, null) => self.load(place, *null),
            Node::Element(parts, count, ty) => self.element(parts, count.as_deref(), *ty),
            Node::Binary(op, a, b, ty) => {
                let (a, b) = (self.node(a, at), self.node(b, at));
                self.emit(Rvalue::Binary(*op, a, b, *ty), *ty)
            }
            Node::Count(op, a, b, narrow) => {
                let (a, b) = (self.node(a, at), self.node(b, at));
                if !narrow {
                    self.ask_small(a.clone());
                    self.ask_small(b.clone());
                }
                let long = self.program.types.common.long;
                self.emit(Rvalue::Binary(*op, a, b, long), long)
            }
            Node::Numeric(a, ty) => {
                let a = self.node(a, at);
                self.emit(Rvalue::Numeric(a, *ty), *ty)
            }
        };
        self.known.insert(text, value.clone());
        value
    }

    /// Tests that the number is from 0 to less than 2^31.
    fn ask_small(&mut self, value: Operand) {
        let (ulong, small) = (self.ulong(), self.number(SMALL));
        let value = self.emit(Rvalue::Numeric(value, ulong), ulong);
        self.ask_comparison(BinOp::Lt, value, small, ulong);
    }

    fn ask_not_null(&mut self, pointer: Operand) {
        let text = format!("not null {pointer:?}");
        if self.known.insert(text, pointer.clone()).is_none() {
            let int = self.program.types.common.int;
            let condition = self.emit(Rvalue::Truth(pointer), int);
            self.ask(condition);
        }
    }

    fn load(&mut self, place: &Place, null: Option<Local>) -> Operand {
        if let Some(pointer) = null {
            self.ask_not_null(Operand::local(pointer));
        }
        let Ok(qty) = mir::ty::place_ty(self.program, self.body, place) else { return self.number(0) };
        let value = self.emit(Rvalue::Use(Operand::Copy(place.clone())), qty.ty);
        self.loaded.extend(value.place().and_then(Place::as_local).map(|local| (place.clone(), local)));
        value
    }

    fn element(&mut self, [base, index]: &[Node; 2], count: Option<&Node>, ty: Ty) -> Operand {
        let (long, ulong) = (self.program.types.common.long, self.ulong());
        let (base, index) = (self.node(base, None), self.node(index, None));
        let index = self.emit(Rvalue::Numeric(index, long), long);
        if let Some(count) = count {
            let count = self.node(count, None);
            self.ask_not_null(base.clone());
            self.ask_comparison(BinOp::Ge, count.clone(), Operand::Const(Const::Int(0, long)), long);
            let wide = self.emit(Rvalue::Numeric(index.clone(), ulong), ulong);
            let count = self.emit(Rvalue::Numeric(count, ulong), ulong);
            self.ask_comparison(BinOp::Lt, wide, count, ulong);
        }
        let base_ty = mir::ty::operand_ty(self.program, self.body, &base).unwrap_or(long);
        let address = self.emit(Rvalue::Offset(base, index), base_ty);
        let Some(address) = address.place().and_then(Place::as_local) else { return self.number(0) };
        let place = Place { base: PlaceBase::Local(address), proj: vec![Proj::Deref] };
        self.emit(Rvalue::Use(Operand::Copy(place)), ty)
    }

    /// The variable that counts the distance from the first turn.
    fn distance(&mut self) -> Local {
        let long = self.program.types.common.long;
        let local = new_temp(self.body, long, self.span);
        if let Some(decl) = self.body.locals.get_mut(local.0 as usize) {
            decl.kind = LocalKind::Var;
        }
        self.assign(local, Rvalue::Use(Operand::Const(Const::Int(0, long))));
        local
    }

    /// `anchors`: the first values so far, by the terms of the sums that they are.
    fn straight(&mut self, index: &Index, anchors: &mut FxHashMap<String, (Operand, i128)>) -> Straight {
        let long = self.program.types.common.long;
        let first = self.first_of(index, anchors);
        let by = match &index.slope {
            Slope::None => Operand::Const(Const::Int(0, long)),
            Slope::Small(n) => Operand::Const(Const::Int(*n, long)),
            Slope::Factor(by) => {
                let by = self.node(by, None);
                self.emit(Rvalue::Numeric(by, long), long)
            }
        };
        Straight { first, by }
    }

    /// The first value of an index in 64 bits. Indices that differ by a constant (`i - 1`, `i`) are
    /// computed from one of them, so that the C compiler sees that an element of this turn is the
    /// neighbour of the next. In `int` both are the same sum modulo 2^32, and the tests have shown
    /// both to be at least 0: so they differ by the constant and no multiple of 2^32.
    fn first_of(&mut self, index: &Index, anchors: &mut FxHashMap<String, (Operand, i128)>) -> Operand {
        let (int, long) = (self.program.types.common.int, self.program.types.common.long);
        let inner = index.node.inner();
        let sum = matches!(inner, Node::Binary(_, _, _, ty) if *ty == int).then(|| inner.sum(int));
        if let Some((anchor, constant)) = sum.as_ref().and_then(|(terms, n)| Some((anchors.get(terms)?, n))) {
            let apart = constant - anchor.1;
            if apart.abs() < SMALL {
                let apart = Operand::Const(Const::Int(apart, long));
                return self.emit(Rvalue::Binary(BinOp::Add, anchor.0.clone(), apart, long), long);
            }
        }
        let start = self.l.counter().map(|c| Operand::local(c.local));
        let first = self.node(&index.node, start.as_ref());
        let first = self.emit(Rvalue::Numeric(first, long), long);
        if let Some((terms, constant)) = sum {
            anchors.insert(terms, (first.clone(), constant));
        }
        first
    }

    fn test(&mut self, test: Test) {
        let ulong = self.ulong();
        match test {
            Test::InOrder(index, ty) => {
                let (least, most) = self.ends_of(&index.slope);
                let (a, b) = (self.node(&index.node, least.as_ref()), self.node(&index.node, most.as_ref()));
                self.ask_comparison(BinOp::Le, a, b, ty);
            }
            Test::Positive(index, ty) => {
                let a = self.node(&index.node, self.ends_of(&index.slope).0.as_ref());
                self.ask_comparison(BinOp::Ge, a, Operand::Const(Const::Int(0, ty)), ty);
            }
            Test::Less(index, ty, count) => {
                let b = self.node(&index.node, self.ends_of(&index.slope).1.as_ref());
                let b = if ty == ulong { b } else { self.emit(Rvalue::Numeric(b, ulong), ulong) };
                let count = match self.node(&count, None) {
                    Operand::Const(Const::Int(n, _)) => self.number(n),
                    count => self.emit(Rvalue::Numeric(count, ulong), ulong),
                };
                self.ask_comparison(BinOp::Lt, b, count, ulong);
            }
            Test::Range(index, ty, count) => self.range(&index, ty, &count),
            Test::FewTurns => {
                let Some((turns, small)) = self.distance_of_ends().map(|t| (t, self.number(SMALL))) else { return };
                self.ask_comparison(BinOp::Lt, turns, small, ulong);
            }
            Test::SmallFactor(by) => {
                let by = self.node(&by, None);
                self.ask_small(by);
            }
            Test::Span(slope) => {
                let Some(turns) = self.distance_of_ends() else { return };
                let by = match slope {
                    Slope::None => return,
                    Slope::Small(n) => self.number(n.abs()),
                    Slope::Factor(by) => {
                        let by = self.node(&by, None);
                        self.emit(Rvalue::Numeric(by, ulong), ulong)
                    }
                };
                let span = self.emit(Rvalue::Binary(BinOp::Mul, turns, by, ulong), ulong);
                let numbers = self.number(1 << 32);
                self.ask_comparison(BinOp::Lt, span, numbers, ulong);
            }
            Test::NotNull(pointer) => {
                let pointer = self.node(&pointer, None);
                self.ask_not_null(pointer);
            }
            Test::Count(count) => {
                let long = self.program.types.common.long;
                let count = self.node(&count, None);
                self.ask_comparison(BinOp::Ge, count, Operand::Const(Const::Int(0, long)), long);
            }
            Test::Reach(reach) => self.reach(&reach),
        }
    }

    /// The counter has at most 32 bits, a step less than 32: no sum of these passes 64.
    fn range(&mut self, Index { node, slope }: &Index, ty: Ty, count: &Node) {
        let (long, ulong) = (self.program.types.common.long, self.ulong());
        let Some(range) = int_range(&self.program.types, ty) else { return };
        let (least, _) = self.ends_of(slope);
        let Some(turns) = self.distance_of_ends() else { return };
        let least = self.node(node, least.as_ref());
        let least = self.emit(Rvalue::Numeric(least, long), long);
        if range.lo < 0 || range.hi > i64::MAX.into() {
            self.ask_comparison(BinOp::Ge, least.clone(), Operand::Const(Const::Int(0, long)), long);
        }
        let least = self.emit(Rvalue::Numeric(least, ulong), ulong);
        let grown = match slope {
            Slope::None => return,
            Slope::Small(1 | -1) => turns,
            Slope::Small(n) => {
                let by = self.number(n.abs());
                self.emit(Rvalue::Binary(BinOp::Mul, turns, by, ulong), ulong)
            }
            Slope::Factor(by) => {
                let by = self.node(by, None);
                let by = self.emit(Rvalue::Numeric(by, ulong), ulong);
                self.emit(Rvalue::Binary(BinOp::Mul, turns, by, ulong), ulong)
            }
        };
        let most = self.emit(Rvalue::Binary(BinOp::Add, least, grown, ulong), ulong);
        let count = match self.node(count, None) {
            Operand::Const(Const::Int(n, _)) => self.number(n),
            count => self.emit(Rvalue::Numeric(count, ulong), ulong),
        };
        if !matches!(count, Operand::Const(Const::Int(n, _)) if n <= range.hi + 1) && range.hi <= u32::MAX.into() {
            let end = self.number(range.hi);
            self.ask_comparison(BinOp::Le, most.clone(), end, ulong);
        }
        self.ask_comparison(BinOp::Lt, most, count, ulong);
    }

    /// The counters where an index is least and greatest.
    fn ends_of(&self, slope: &Slope) -> (Option<Operand>, Option<Operand>) {
        let (low, high) = self.ends.clone().unzip();
        match slope.falls() {
            true => (high, low),
            false => (low, high),
        }
    }

    /// How far the counter runs, as an unsigned number.
    fn distance_of_ends(&mut self) -> Option<Operand> {
        let ((low, high), ty) = (self.ends.clone()?, self.l.counter()?.ty);
        let turns = self.emit(Rvalue::Binary(BinOp::Sub, high, low, ty), ty);
        Some(self.unsigned(turns, ty))
    }

    fn reach(&mut self, reach: &Reach) {
        let ulong = self.ulong();
        let Some(turns) = self.known.get("turns").cloned() else { return };
        let (pointer, by) = (reach.pointer, &reach.by);
        let text = format!("remaining {pointer:?}");
        let left = match self.known.get(&text) {
            Some(left) => left.clone(),
            None => self.emit(Rvalue::Remaining(Operand::local(pointer)), ulong),
        };
        self.known.insert(text, left.clone());
        let small = self.number(SMALL);
        let moves = by.constant > 0 || !by.numbers.is_empty();
        if moves && self.known.insert("few turns".into(), turns.clone()).is_none() {
            self.ask_comparison(BinOp::Lt, turns.clone(), small, ulong);
        }
        let moved = match self.distance_of(by) {
            Operand::Const(Const::Int(0, _)) => self.number(0),
            Operand::Const(Const::Int(1, _)) => turns,
            by => self.emit(Rvalue::Binary(BinOp::Mul, turns, by, ulong), ulong),
        };
        let reached = match self.distance_of(&reach.furthest) {
            Operand::Const(Const::Int(0, _)) => moved,
            far => self.emit(Rvalue::Binary(BinOp::Add, moved, far, ulong), ulong),
        };
        self.ask_comparison(BinOp::Lt, reached, left, ulong);
    }

    /// The sum, as an unsigned number; asks for each of its numbers to be small.
    fn distance_of(&mut self, distance: &Distance) -> Operand {
        let ulong = self.ulong();
        let mut sum = self.number(distance.constant);
        for (node, times) in &distance.numbers {
            let text = format!("small {node:?}");
            let number = match self.known.get(&text) {
                Some(known) => known.clone(),
                None => {
                    let number = self.node(node, None);
                    let number = self.emit(Rvalue::Numeric(number, ulong), ulong);
                    self.ask_comparison(BinOp::Lt, number.clone(), self.number(SMALL), ulong);
                    self.known.insert(text, number.clone());
                    number
                }
            };
            for _ in 0..*times {
                sum = match sum {
                    Operand::Const(Const::Int(0, _)) => number.clone(),
                    sum => self.emit(Rvalue::Binary(BinOp::Add, sum, number.clone(), ulong), ulong),
                };
            }
        }
        sum
    }
}
