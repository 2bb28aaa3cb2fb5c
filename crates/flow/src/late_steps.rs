//! Steps of strings that are tested late: `while ((c = *s++))`.
//!
//! `s++` asks that `*s` is not the zero which ends the string. C's own loops step over it and then
//! stop: where `s` is not used any more, that does no harm. So the check moves to the paths on which
//! the new value is needed: where control branches, it goes to those edges; if no path needs the
//! value the check is dropped. A value is needed where it is used, but not where it is only compared, or
//! subtracted (`return e - s - 1;`), or replaced. On an edge that is taken only if the character was
//! not zero the check is known to hold.
//!
//! What is checked there is what the memory holds then. That is what matters to anyone who uses the
//! new value: where the old one points to something else than zero, a zero comes later.
//!
//! A string object may leave its string on one path around a loop and be needed on another:
//!
//! ```c
//! const char *e = s + strlen(s) - 1;
//! while (e >= s && *e == ' ')
//!     e--;
//! ```
//!
//! So where some path does not need what such a local gets, it is not checked there; each use that may
//! find the local unchecked has a check of its own in front (`unchecked`). Only steps by one
//! stay unchecked. A step from the local does not count as a use if the new pointer is checked. It does if
//! that stays unchecked as well, so the local is at most one element outside of its string.
//!
//! Lattice: the set of locals whose value is needed. Join: union. Needs: nothing. Changes: where
//! checks of steps stand; adds blocks for edges. Guarantees: a value is used only after its check.

use mir::bits::BitSet;
use mir::cfg::{each_successor_mut, Cfg};
use mir::effects::{accesses, flags, term_accesses, Code, Kind};
use mir::ir::*;
use typing::tree::BinOp;

use crate::framework::{solve, Analysis, Direction, Point};
use crate::moved::{changes, changes_local};

mod unchecked;

/// A check of a step; the statement after it gives the new value to a local.
struct Late {
    at: Point,
    /// What is checked.
    of: Local,
    /// Where the step begins.
    from: Local,
    /// What gets the new value.
    to: Local,
    /// The check reads memory.
    reads: bool,
}

/// Moves the checks of one body.
pub(crate) fn run(program: &Program, body: &mut Body) {
    // A jump back from elsewhere uses what no path of the body leads to.
    if mir::twice::returns_twice(program, body) {
        return;
    }
    sink(body);
    unchecked::run(body);
}

/// Moves the checks on the paths from where they stand.
fn sink(body: &mut Body) {
    let late = candidates(body);
    if late.is_empty() {
        return;
    }
    let mut wanted = BitSet::empty(body.locals.len());
    for late in &late {
        wanted.insert(late.to.0 as usize);
    }
    let cfg = Cfg::new(body);
    let needed = Needed { locals: body.locals.len(), wanted };
    let results = solve(&needed, body, &cfg);
    let starts: Vec<BitSet> = body
        .blocks
        .iter()
        .enumerate()
        .map(|(n, block)| {
            let at = |stmt| Point { block: BlockId(n as u32), stmt };
            let mut state = results.boundary(BlockId(n as u32)).cloned().unwrap_or(needed.entry());
            needed.terminator(&mut state, at(block.stmts.len()), &block.term);
            block.stmts.iter().enumerate().rev().for_each(|(n, stmt)| needed.statement(&mut state, at(n), stmt));
            state
        })
        .collect();
    let mut changes = vec![];
    for late in &late {
        let mut sinking =
            Sinking { body, cfg: &cfg, starts: &starts, late, trail: vec![], found: vec![], dropped: false };
        let after = Point { stmt: late.at.stmt + 2, ..late.at };
        sinking.trail.extend(body.blocks[late.at.block.0 as usize].stmts.iter().skip(late.at.stmt).take(2));
        if sinking.from(after, 0) && sinking.dropped {
            let check = sinking.trail[0].clone();
            changes.push((late.at, check, sinking.found));
        }
    }
    apply(body, changes);
}

/// Where a check is to stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// In front of a statement, or of the terminator.
    Before(Point),
    Edge(BlockId, BlockId),
}

/// How many blocks a check is followed into.
const DEPTH: usize = 4;

/// One check on its path.
struct Sinking<'a> {
    body: &'a Body,
    cfg: &'a Cfg,
    starts: &'a [BitSet],
    late: &'a Late,
    /// The statements from the check on.
    trail: Vec<&'a Stmt>,
    found: Vec<To>,
    /// On some path it is not needed.
    dropped: bool,
}

impl<'a> Sinking<'a> {
    /// Goes on at the point; `false` if the check has to stay where it is.
    fn from(&mut self, at: Point, depth: usize) -> bool {
        let Some(block) = self.body.blocks.get(at.block.0 as usize) else { return false };
        let passed = self.trail.len();
        for (n, stmt) in block.stmts.iter().enumerate().skip(at.stmt) {
            let uses = uses(&stmt.kind, self.late.to);
            if replaces(&stmt.kind, self.late.to) && !uses {
                self.dropped = true;
                self.trail.truncate(passed);
                return true;
            }
            if uses || self.ends(stmt) {
                let there = self.put(To::Before(Point { stmt: n, ..at }));
                self.trail.truncate(passed);
                return there;
            }
            self.trail.push(stmt);
        }
        let good = self.leave(at.block, block, depth);
        self.trail.truncate(passed);
        good
    }

    /// Whether the statement ends what is checked.
    fn ends(&self, stmt: &Stmt) -> bool {
        let mut ends = stmt.kind.ends() == Some(self.late.of);
        accesses(&stmt.kind, &mut |place, kind, _| {
            ends |= kind == Kind::Write && place.base_local() == Some(self.late.of);
        });
        ends
    }

    /// The check is to stand there. What it reads must be what was there before.
    fn put(&mut self, to: To) -> bool {
        self.found.push(to);
        !self.late.reads || !self.trail.iter().any(|stmt| changes_memory(stmt))
    }

    fn leave(&mut self, from: BlockId, block: &'a Block, depth: usize) -> bool {
        let mut used = false;
        term_accesses(&block.term.kind, &mut |place, _, _| used |= place.base_local() == Some(self.late.to));
        let end = To::Before(Point { block: from, stmt: block.stmts.len() });
        match &block.term.kind {
            _ if used => return self.put(end),
            // Labels whose address is taken are not told apart.
            TermKind::GotoComputed(_) => return self.put(end),
            TermKind::Return(_) | TermKind::MissingReturn | TermKind::Unreachable => {
                self.dropped = true;
                return true;
            }
            TermKind::Goto(_) | TermKind::If(..) | TermKind::Switch(..) => {}
        }
        let proven = self.not_zero(from, &block.term.kind);
        for &to in self.cfg.successors(from) {
            let wants = self.starts.get(to.0 as usize).is_none_or(|set| set.contains(self.late.to.0 as usize));
            if !wants || proven.contains(&to) {
                self.dropped = true;
            } else if depth < DEPTH && self.cfg.predecessors(to).len() == 1 && to != self.late.at.block {
                if !self.from(Point { block: to, stmt: 0 }, depth + 1) {
                    return false;
                }
            } else if !self.put(To::Edge(from, to)) {
                return false;
            }
        }
        true
    }

    /// The targets that are taken only if the character that was stepped over is not zero: it was
    /// read before memory could change.
    fn not_zero(&self, from: BlockId, term: &TermKind) -> Vec<BlockId> {
        let steady = |local: Local| {
            let decl = self.body.locals.get(local.0 as usize);
            decl.is_some_and(|decl| !decl.address_taken)
        };
        let is_character = |operand: &Operand| reads_old(&self.trail, operand, self.late.from, &steady);
        match term {
            TermKind::If(operand, then, other) if then != other && is_character(operand) => vec![*then],
            TermKind::Switch(operand, cases, other) if is_character(operand) => {
                let has_zero = |(lo, hi, _): &&(i128, i128, BlockId)| *lo <= 0 && *hi >= 0;
                let zero: Vec<BlockId> = cases.iter().filter(has_zero).map(|(_, _, to)| *to).collect();
                // Without a case for zero the rest has it.
                let zero = if zero.is_empty() { vec![*other] } else { zero };
                self.cfg.successors(from).iter().copied().filter(|to| !zero.contains(to)).collect()
            }
            TermKind::If(..)
            | TermKind::Switch(..)
            | TermKind::Goto(_)
            | TermKind::GotoComputed(_)
            | TermKind::Return(_)
            | TermKind::MissingReturn
            | TermKind::Unreachable => vec![],
        }
    }
}

/// Puts checks in front of the points, and takes away those at points without one.
fn put(body: &mut Body, mut points: Vec<(Point, Option<Stmt>)>) {
    // From the last on, so that the others stay where they are; at one point what is taken away
    // is taken away first.
    points.sort_by_key(|(at, check)| (*at, check.is_none()));
    for (at, check) in points.into_iter().rev() {
        let Some(block) = body.blocks.get_mut(at.block.0 as usize) else { continue };
        match check {
            Some(check) => block.stmts.insert(at.stmt, check),
            None => drop(block.stmts.remove(at.stmt)),
        }
    }
}

/// Puts the checks to their new places.
fn apply(body: &mut Body, changes: Vec<(Point, Stmt, Vec<To>)>) {
    let mut edges: Vec<(BlockId, BlockId, Stmt)> = vec![];
    // By point: a check that is put in front of it, or one that is removed.
    let mut points: Vec<(Point, Option<Stmt>)> = vec![];
    for (at, check, places) in changes {
        points.push((at, None));
        for to in places {
            match to {
                To::Before(point) => points.push((point, Some(check.clone()))),
                To::Edge(from, to) => edges.push((from, to, check.clone())),
            }
        }
    }
    put(body, points);
    let mut made: Vec<(BlockId, BlockId, BlockId)> = vec![];
    for (from, to, check) in edges {
        if let Some((.., edge)) = made.iter().find(|(a, b, _)| (*a, *b) == (from, to)) {
            body.blocks[edge.0 as usize].stmts.push(check);
            continue;
        }
        let edge = BlockId(body.blocks.len() as u32);
        let Some(block) = body.blocks.get_mut(from.0 as usize) else { continue };
        let goto = Terminator { kind: TermKind::Goto(to), ..block.term.clone() };
        each_successor_mut(&mut block.term.kind, |target| {
            if *target == to {
                *target = edge;
            }
        });
        body.blocks.push(Block { stmts: vec![check], term: goto });
        made.push((from, to, edge));
    }
}

/// The checks of steps after which a local gets the next address, in order: `check step(t); s = t + 1`,
/// and of what has bounds `u = t + 1; check within(u); s = u`.
fn candidates(body: &Body) -> Vec<Late> {
    let is_temp = |l: &Local| body.locals.get(l.0 as usize).is_some_and(|decl| decl.kind == LocalKind::Temp);
    let mut found = vec![];
    for (n, block) in body.blocks.iter().enumerate() {
        for (stmt, pair) in block.stmts.windows(2).enumerate() {
            let [checked, stored] = pair else { continue };
            let (Some(check), Some((dest, value))) = (checked.kind.as_check(), stored.kind.as_assign()) else {
                continue;
            };
            let (Some(to), false) = (dest.as_local(), checked.is_unsafe || stored.is_unsafe) else { continue };
            let at = Point { block: BlockId(n as u32), stmt };
            let late = if let Some(from) = check.as_step().and_then(whole) {
                (next_of(value) == Some(from)).then_some(Late { at, of: from, from, to, reads: true })
            } else if let Some(of) = check.as_within().and_then(whole) {
                let step = stmt.checked_sub(1).and_then(|n| block.stmts.get(n)?.kind.assigned_to(of));
                let from = step.and_then(next_of).filter(|_| value.as_use().and_then(whole) == Some(of));
                from.map(|from| Late { at, of, from, to, reads: false })
            } else {
                None
            };
            let own = body.locals.get(to.0 as usize).is_some_and(|decl| !decl.address_taken);
            found.extend(late.filter(|late| own && late.of != to && is_temp(&late.of)));
        }
    }
    found
}

/// The pointer whose next element the value is.
fn next_of(value: &Rvalue) -> Option<Local> {
    let (pointer, by) = value.as_offset()?;
    matches!(by, Operand::Const(Const::Int(1, _))).then(|| whole(pointer)).flatten()
}

fn whole(operand: &Operand) -> Option<Local> {
    match operand {
        Operand::Copy(place) => place.as_local(),
        Operand::Move(_) | Operand::Const(_) => None,
    }
}

/// Whether the statement may change memory.
fn changes_memory(stmt: &Stmt) -> bool {
    let does = flags(&stmt.kind);
    let mut changed = does.memory && stmt.kind.as_check().is_none();
    changed |= does.code != Code::Own || does.waits || stmt.is_unsafe;
    accesses(&stmt.kind, &mut |place, kind, _| {
        changed |= changes(kind) && place.local_part().is_none();
    });
    changed
}

/// Whether the operand is, at the end of the statements, the character that the local points to, read
/// before memory could change, or the local. `steady`: nothing but a statement that names the local
/// changes it.
fn reads_old<'s>(since: &[&'s Stmt], operand: &'s Operand, from: Local, steady: &dyn Fn(Local) -> bool) -> bool {
    let mut operand = operand;
    let mut end = since.len();
    loop {
        let Operand::Copy(place) = operand else { return false };
        if place.base_local() == Some(from) {
            let before = || since.iter().take(end);
            let same = !before().any(|stmt| changes_memory(stmt) || changes_local(&stmt.kind, from));
            return place.proj == [Proj::Deref] && same && steady(from);
        }
        let Some(local) = place.as_local().filter(|local| steady(*local)) else { return false };
        // The last statement that gives it a value, in whatever way.
        let mut before = since.iter().enumerate().take(end).rev();
        let Some((at, stmt)) = before.find(|(_, stmt)| changes_local(&stmt.kind, local)) else { return false };
        let Some(value) = stmt.kind.assigned_to(local) else { return false };
        // As a number of any type a character that is not zero is none.
        let Some(next) = value.as_numeric().map(|(from, _)| from).or(value.as_use()) else { return false };
        (operand, end) = (next, at);
    }
}

/// Which locals' values are needed later.
struct Needed {
    locals: usize,
    wanted: BitSet,
}

/// Whether the statement uses the local's value for more than comparing or subtracting it.
fn uses(kind: &StmtKind, local: Local) -> bool {
    if let Some((_, value)) = kind.as_assign().filter(|(dest, _)| dest.as_local().is_some_and(|to| to != local)) {
        let compared = value
            .as_binary()
            .filter(|(op, ..)| matches!(op, BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge));
        let pair = value.as_difference().or(compared.map(|(_, a, b, _)| (a, b)));
        if let Some((a, b)) = pair {
            let through = |o: &Operand| whole(o).is_none() && o.place().and_then(Place::base_local) == Some(local);
            return through(a) || through(b);
        }
    }
    let mut used = false;
    accesses(kind, &mut |place, kind, _| {
        let replaced = matches!(kind, Kind::Write | Kind::Begin | Kind::End) && place.as_local() == Some(local);
        used |= !replaced && place.base_local() == Some(local);
        used |= place.indices().any(|index| index.place().and_then(Place::base_local) == Some(local));
    });
    used
}

/// The locals that a place names.
fn locals_of(place: &Place) -> impl Iterator<Item = Local> + '_ {
    place.indices().filter_map(|index| index.place().and_then(Place::base_local)).chain(place.base_local())
}

/// The locals of the set that a statement names, each once.
fn named(set: &BitSet, kind: &StmtKind) -> Vec<Local> {
    let mut found = vec![];
    accesses(kind, &mut |place, _, _| found.extend(locals_of(place)));
    of_set(set, found)
}

/// The same of a terminator.
fn named_at_end(set: &BitSet, term: &Terminator) -> Vec<Local> {
    let mut found = vec![];
    term_accesses(&term.kind, &mut |place, _, _| found.extend(locals_of(place)));
    of_set(set, found)
}

fn of_set(set: &BitSet, mut found: Vec<Local>) -> Vec<Local> {
    found.retain(|local| set.contains(local.0 as usize));
    found.sort();
    found.dedup();
    found
}

/// Whether the local has another value after the statement, or none.
fn replaces(kind: &StmtKind, local: Local) -> bool {
    let mut replaced = false;
    accesses(kind, &mut |place, kind, _| {
        replaced |= matches!(kind, Kind::Write | Kind::Begin | Kind::End) && place.as_local() == Some(local);
    });
    replaced
}

impl Analysis for Needed {
    type State = BitSet;
    const DIRECTION: Direction = Direction::Backward;

    fn entry(&self) -> BitSet {
        BitSet::empty(self.locals)
    }

    fn join(&self, into: &mut BitSet, from: &BitSet, _rounds: u32) -> bool {
        into.union(from)
    }

    fn statement(&self, state: &mut BitSet, _at: Point, stmt: &Stmt) {
        for local in named(&self.wanted, &stmt.kind) {
            if uses(&stmt.kind, local) {
                state.insert(local.0 as usize);
            } else if replaces(&stmt.kind, local) {
                state.remove(local.0 as usize);
            }
        }
    }

    fn terminator(&self, state: &mut BitSet, _at: Point, term: &Terminator) {
        for local in named_at_end(&self.wanted, term) {
            state.insert(local.0 as usize);
        }
    }
}
