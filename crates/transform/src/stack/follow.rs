//! Follows the owners of small objects through a function.
//!
//! Lattice, of each local that may own: the set of {null, something else, object of site n} that it
//! may hold. Join: union. A local that holds nothing, because nothing was assigned yet or it was
//! moved out of, has the empty set. A branch on whether such a local is null is not taken where
//! that cannot be, so that the code after a failed `malloc` is ignored.

use flow::framework::{solve, Analysis, Direction, Edge, Item, Point};
use mir::cfg::Cfg;
use mir::effects::{flags, stmt_places, term_places, Access, Code};
use mir::ir::*;
use mir::ty::owns;
use source::Span;
use typing::types::{Own, Region, Ty, TyKind};

/// It may be null.
const NULL: u64 = 1;
/// It may be what no site made.
const OTHER: u64 = 2;
/// The bit of the first site.
const FIRST: u32 = 2;
/// Sites that one function may have; more stay in the heap.
pub const MOST_SITES: usize = 60;

/// An allocation.
#[derive(Clone, Debug)]
pub struct Site {
    /// Its statement.
    pub at: Point,
    /// The local that it is assigned to.
    pub dest: Local,
    /// Type of the elements.
    pub elem: Ty,
    /// Elements that there may be, a hidden zero included.
    pub elements: u64,
    /// Bytes that it takes.
    pub bytes: u64,
    /// Where it stands.
    pub span: Span,
}

/// A statement that frees what sites made.
#[derive(Clone, Debug)]
pub struct Freed {
    /// The statement.
    pub at: Point,
    /// Where it stands.
    pub span: Span,
    holds: u64,
}

impl Freed {
    /// Whether it may free an object of the site.
    pub fn has(&self, site: usize) -> bool {
        self.holds & bit(site) != 0
    }

    /// The sites whose objects it may free.
    pub fn sites(&self) -> impl Iterator<Item = usize> + '_ {
        (0..MOST_SITES).filter(|&n| self.has(n))
    }

    /// The site, if it frees an object of it and nothing else.
    pub fn only(&self) -> Option<usize> {
        self.sites().next().filter(|&n| self.holds == bit(n))
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// By site: why its objects must stay in the heap, and where that is seen.
    pub refused: Vec<Option<(&'static str, Span)>>,
    /// Where objects of sites are freed.
    pub freed: Vec<Freed>,
}

fn bit(site: usize) -> u64 {
    if site < MOST_SITES {
        1 << (site as u32 + FIRST)
    } else {
        0
    }
}

/// Whether a local may own an object of the heap that is followed: a unique pointer whose own
/// address nobody has.
pub fn is_owner(program: &Program, body: &Body, local: Local) -> bool {
    let Some(decl) = body.locals.get(local.0 as usize) else { return false };
    let TyKind::Ptr(p) = program.types.kind(decl.ty.ty) else { return false };
    !decl.address_taken && p.own == Own::Unique && p.region != Region::Exchange && !decl.ty.quals.is_volatile
}

struct Follow<'a> {
    body: &'a Body,
    sites: &'a [Site],
    /// By local: its number among those that are followed.
    slots: Vec<Option<usize>>,
    count: usize,
}

/// Something that matters to sites.
enum Event {
    /// Objects of these sites cannot be on the stack.
    Refused(u64, &'static str),
    /// Freed.
    Freed(u64),
}

type Report<'r> = &'r mut dyn FnMut(Event, Span);

/// Follows the objects of the sites.
pub fn follow(program: &Program, body: &Body, sites: &[Site]) -> Found {
    let mut slots = vec![None; body.locals.len()];
    let mut count = 0;
    for (n, slot) in slots.iter_mut().enumerate() {
        if is_owner(program, body, Local(n as u32)) {
            *slot = Some(count);
            count += 1;
        }
    }
    let follow = Follow { body, sites, slots, count };
    let results = solve(&follow, body, &Cfg::new(body));
    let mut found = Found { refused: vec![None; sites.len()], freed: vec![] };
    let mut refused: Vec<(u64, &'static str, Span)> = vec![];
    results.visit(&follow, body, &mut |at, state, item| {
        let mut state = state.clone();
        let mut see = |event: Event, span: Span| match event {
            Event::Refused(holds, why) => refused.push((holds, why, span)),
            Event::Freed(holds) => found.freed.push(Freed { at, span, holds }),
        };
        match item {
            Item::Stmt(stmt) => {
                follow.step(&mut state, at, stmt, &mut see);
                let Some(Disposal { moved, .. }) = stmt.kind.as_dispose() else { return };
                let holds = found.freed.last().filter(|f| f.at == at).map_or(0, |f| f.holds);
                let hard = |n: &usize| {
                    let elem = sites.get(*n).map(|s| s.elem);
                    let single = holds == bit(*n);
                    let deep = moved.iter().any(|path| path.contains(&Proj::Deref));
                    elem.is_some_and(|elem| owns(&program.types, elem)) && (deep || !single)
                };
                let hard: u64 = (0..sites.len()).filter(|&n| holds & bit(n) != 0).filter(hard).map(bit).sum();
                if hard != 0 {
                    refused.push((hard, "what it owns ends here in a way that only the heap can tell", stmt.span));
                }
            }
            Item::Term(term) => follow.leave(&state, term, &mut see),
        }
    });
    for (holds, why, span) in refused {
        for (n, slot) in found.refused.iter_mut().enumerate() {
            if holds & bit(n) != 0 && slot.is_none() {
                *slot = Some((why, span));
            }
        }
    }
    // What is freed together with something else of the heap needs the heap's `free`.
    for f in &found.freed {
        if f.holds & OTHER != 0 {
            for n in f.sites() {
                if let Some(slot) = found.refused.get_mut(n).filter(|slot| slot.is_none()) {
                    *slot = Some(("what is freed here may be another object of the heap", f.span));
                }
            }
        }
    }
    let in_heap: Vec<bool> = found.refused.iter().map(Option::is_some).collect();
    for n in spread(&found.freed, sites.len(), &|n| in_heap.get(n) == Some(&true)) {
        let span = found.freed.iter().find(|f| f.has(n)).map_or(Span::NONE, |f| f.span);
        if let Some(slot) = found.refused.get_mut(n) {
            *slot = Some(("what is freed here may be another object of the heap", span));
        }
    }
    found
}

/// The sites that are freed somewhere together with one of the heap, step by step, without those
/// that are there already.
pub fn spread(freed: &[Freed], sites: usize, in_heap: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let mut heap: u64 = (0..sites).filter(|&n| in_heap(n)).map(bit).sum();
    let before = heap;
    loop {
        let all = (1u64 << FIRST).wrapping_neg();
        let more: u64 = freed.iter().filter(|f| f.holds & heap != 0).fold(0, |m, f| m | f.holds) & all & !heap;
        if more == 0 {
            return (0..sites).filter(|&n| heap & !before & bit(n) != 0).collect();
        }
        heap |= more;
    }
}

const ELSEWHERE: &str = "it is passed on here";
const LOST: &str = "it is not freed on every path";
const TWICE: &str = "an earlier one may still be in use when it is made again";

impl Follow<'_> {
    fn slot(&self, local: Local) -> Option<usize> {
        self.slots.get(local.0 as usize).copied().flatten()
    }

    fn holds(&self, state: &[u64], local: Local) -> u64 {
        self.slot(local).and_then(|n| state.get(n)).copied().unwrap_or(0)
    }

    fn set(&self, state: &mut [u64], local: Local, holds: u64) {
        if let Some(slot) = self.slot(local).and_then(|n| state.get_mut(n)) {
            *slot = holds;
        }
    }

    /// A whole local that is followed.
    fn owner(&self, place: &Place) -> Option<Local> {
        place.as_local().filter(|&l| self.slot(l).is_some())
    }

    /// The local that a value moves, if it is the same pointer then, and what the value may hold.
    fn moved(&self, state: &[u64], value: &Rvalue) -> (Option<Local>, u64) {
        let from = match value.made_of() {
            Some((a, Way::Same | Way::Bits | Way::Word(Part::Ptr) | Way::Fat | Way::Counted)) => a,
            // A `void *` that remembers a type is followed no further.
            Some((_, Way::Typed | Way::Word(Part::Lo | Part::Hi | Part::Type)))
            | Some((_, Way::Number | Way::Moved | Way::Retained))
            | None => return (None, OTHER),
        };
        match from {
            Operand::Move(place) => match self.owner(place) {
                Some(local) => (Some(local), self.holds(state, local)),
                None => (None, OTHER),
            },
            Operand::Const(Const::Null(_) | Const::Int(0, _)) => (None, NULL),
            _ => (None, OTHER),
        }
    }

    fn step(&self, state: &mut [u64], at: Point, stmt: &Stmt, report: Report) {
        let span = stmt.span;
        let mut refuse = |holds: u64, why| {
            if holds >> FIRST != 0 {
                report(Event::Refused(holds, why), span);
            }
        };
        if stmt.is_unsafe || flags(&stmt.kind).code == Code::Assembly {
            let mut used = 0;
            stmt_places(&stmt.kind, &mut |place, _| {
                used |= place.base_local().map_or(0, |l| self.holds(state, l));
            });
            refuse(used, "unsafe code uses it here");
        }
        let kind = &stmt.kind;
        match kind.action() {
            Action::Assign => {
                let Some((dest, value)) = kind.as_assign() else { return };
                let (from, mut holds) = self.moved(state, value);
                let site = self.sites.iter().position(|s| s.at == at);
                if let Some(n) = site {
                    let there = state.iter().fold(0, |all, h| all | h) & bit(n);
                    refuse(there, TWICE);
                    holds = bit(n);
                }
                // Every other local that the value moves goes elsewhere.
                mir::effects::rvalue_places(value, &mut |place, access| {
                    let local = self.owner(place).filter(|_| access == Access::Move);
                    if let Some(local) = local.filter(|l| Some(*l) != from) {
                        refuse(self.holds(state, local), ELSEWHERE);
                    }
                });
                if let Some(local) = from {
                    self.set(state, local, 0);
                }
                match self.owner(dest) {
                    Some(local) => {
                        refuse(self.holds(state, local), LOST);
                        self.set(state, local, holds);
                    }
                    None => refuse(if from.is_some() { holds } else { 0 }, ELSEWHERE),
                }
            }
            Action::Storage => {
                let Some(local) = kind.storage() else { return };
                if kind.ends().is_some() {
                    refuse(self.holds(state, local), LOST);
                }
                self.set(state, local, 0);
            }
            // What is checked stays where it is, and elements are copied out of it.
            Action::None | Action::Check | Action::Copy => {}
            Action::Fill
            | Action::Call
            | Action::Assembly
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => {
                let freed = kind.as_dispose().and_then(|end| match end.value {
                    Operand::Move(place) => Some((self.owner(place)?, end.handle)),
                    Operand::Copy(_) | Operand::Const(_) => None,
                });
                if let Some((local, handle)) = freed {
                    let holds = self.holds(state, local);
                    self.set(state, local, 0);
                    match handle {
                        Some(_) => refuse(holds, ELSEWHERE),
                        None if holds >> FIRST != 0 => report(Event::Freed(holds), span),
                        None => {}
                    }
                    return;
                }
                if let Some((a, b)) = kind.as_swap() {
                    return self.swap(state, self.owner(a), self.owner(b), &mut refuse);
                }
                let mut changed = vec![];
                stmt_places(kind, &mut |place, access| {
                    let Some(local) = self.owner(place) else { return };
                    match access {
                        Access::Read => {}
                        Access::Move => {
                            refuse(self.holds(state, local), ELSEWHERE);
                            changed.push((local, 0));
                        }
                        Access::Write => {
                            refuse(self.holds(state, local), LOST);
                            changed.push((local, if kind.as_zero().is_some() { NULL } else { OTHER }));
                        }
                        Access::Address => refuse(self.holds(state, local), ELSEWHERE),
                    }
                });
                // A slot that is dropped is not a slot on the stack.
                if let Some(place) = kind.as_drop_slot() {
                    refuse(self.owner(place).map_or(0, |l| self.holds(state, l)), ELSEWHERE);
                }
                for (local, holds) in changed {
                    self.set(state, local, holds);
                }
            }
        }
    }

    fn swap(&self, state: &mut [u64], a: Option<Local>, b: Option<Local>, refuse: &mut dyn FnMut(u64, &'static str)) {
        if let (Some(a), Some(b)) = (a, b) {
            let (x, y) = (self.holds(state, a), self.holds(state, b));
            self.set(state, a, y);
            self.set(state, b, x);
            return;
        }
        for local in [a, b].into_iter().flatten() {
            refuse(self.holds(state, local), ELSEWHERE);
            self.set(state, local, OTHER);
        }
    }

    fn leave(&self, state: &[u64], term: &Terminator, report: Report) {
        let mut moved = None;
        term_places(&term.kind, &mut |place, access| {
            moved = moved.or(self.owner(place).filter(|_| access == Access::Move));
        });
        if let Some(local) = moved {
            report(Event::Refused(self.holds(state, local), ELSEWHERE), term.span);
        }
        if term.kind.is_return() || term.kind.as_computed().is_some() {
            let left = state.iter().fold(0, |all, h| all | h);
            report(Event::Refused(left, LOST), term.span);
        }
    }

    /// The local that an operand at the end of a block tests, and whether it is null if the operand
    /// is zero (`true`).
    fn tested(&self, block: BlockId, operand: &Operand) -> Option<(Local, bool)> {
        let stmts = &self.body.blocks.get(block.0 as usize)?.stmts;
        let mut tests = operand.place()?.as_local()?;
        let mut same = true;
        if self.slot(tests).is_some() {
            return Some((tests, true));
        }
        for stmt in stmts.iter().rev() {
            let Some((dest, value)) = stmt.kind.as_assign() else {
                // What may change an owner in between ends the search.
                match stmt.kind.action() {
                    Action::None | Action::Check => continue,
                    Action::Storage if stmt.kind.begins().is_some() => continue,
                    Action::Storage
                    | Action::Assign
                    | Action::Fill
                    | Action::Call
                    | Action::Assembly
                    | Action::Copy
                    | Action::Arguments
                    | Action::Owner
                    | Action::Region
                    | Action::Send
                    | Action::Channel => return None,
                }
            };
            if dest.as_local() != Some(tests) {
                if self.owner(dest).is_some() {
                    return None;
                }
                continue;
            }
            let null = |o: &Operand| matches!(o, Operand::Const(Const::Null(_) | Const::Int(0, _)));
            let from = if let Some((a, not_zero)) = value.tested() {
                same = same == not_zero;
                a
            } else if let Some((op @ (BinOp::Eq | BinOp::Ne), a, b, _)) = value.as_binary() {
                same = same == (op == BinOp::Ne);
                match (null(a), null(b)) {
                    (true, false) => b,
                    (false, true) => a,
                    (true, true) | (false, false) => return None,
                }
            } else {
                match value.made_of()? {
                    (a, Way::Same | Way::Bits | Way::Number | Way::Word(Part::Ptr)) => a,
                    (_, Way::Word(Part::Lo | Part::Hi | Part::Type) | Way::Typed | Way::Fat)
                    | (_, Way::Counted | Way::Moved | Way::Retained) => return None,
                }
            };
            let Operand::Copy(place) = from else { return None };
            tests = place.as_local()?;
            if self.slot(tests).is_some() {
                return Some((tests, same));
            }
        }
        None
    }
}

impl Analysis for Follow<'_> {
    type State = Vec<u64>;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> Vec<u64> {
        let mut state = vec![0; self.count];
        for n in 0..self.body.params {
            self.set(&mut state, Local(n), OTHER);
        }
        state
    }

    fn join(&self, into: &mut Vec<u64>, from: &Vec<u64>, _rounds: u32) -> bool {
        let mut changed = false;
        for (a, b) in into.iter_mut().zip(from) {
            changed |= *a | *b != *a;
            *a |= *b;
        }
        changed
    }

    fn statement(&self, state: &mut Vec<u64>, at: Point, stmt: &Stmt) {
        self.step(state, at, stmt, &mut |_, _| {});
    }

    fn edge(&self, state: &mut Vec<u64>, from: BlockId, _to: BlockId, edge: Edge) -> bool {
        let Edge::Branch(operand, holds) = edge else { return true };
        let Some((local, same)) = self.tested(from, operand) else { return true };
        let there = self.holds(state, local);
        if there == 0 {
            return true;
        }
        if holds == same {
            self.set(state, local, there & !NULL);
            return there != NULL;
        }
        self.set(state, local, there & (NULL | OTHER));
        there & (NULL | OTHER) != 0
    }
}
