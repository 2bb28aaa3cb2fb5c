//! What keeps heap objects alive while the C compiler holds only addresses computed from a pointer.
//!
//! The collector keeps what a word of the stack points into. A C compiler is free to drop a pointer
//! that it has computed another address from, such as `p + 8 * i` for `p[i - 1000]`, and that
//! address may lie in no object, or in another one. So each *base* that a function still needs when
//! a collection may run is put where the collector finds it, exactly as it is:
//!
//! * a pointer in a local: a copy in a volatile variable of the same frame (`p__base`), stored when
//!   `p` is, of a pointer with bounds its first element. A store for each definition, nothing at
//!   calls, nothing in loops that only read.
//! * a struct with such pointers: copies of its pointers before each call that may collect; if it
//!   has many, its memory, by an empty assembler statement there.
//! * a local whose address is taken: its memory, for the whole function. A callee that is copied
//!   into the function may store there what it computed, and then collect.
//!
//! Which pointers: those that address arithmetic connects by copies, within the function or through
//! results and arguments. All others are used at constant offsets only, and what the compiler may
//! compute from them lies in the object too. (Of a pointer with bounds that stands outside of them
//! it may keep nothing that finds the object; but then each access faults.)
//!
//! Against H.-J. Boehm, *Simple Garbage-Collector-Safety* (PLDI 1996), which makes each result of
//! arithmetic opaque and names its base after it: here arithmetic stays as it is, since only few
//! functions can collect while they walk, and the compiler cannot take back what was stored.

use crate::body::Emitter;
use crate::collects::{self, Collects, Quiet};
use crate::layouts::{self, Words};
use mir::bits::BitSet;
use mir::cfg::each_successor;
use mir::effects::{accesses, stmt_places, term_places, Access, Kind};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::tree::FuncRef;
use typing::types::{Ty, TyKind, TypeStore};

/// Values with more pointers stay in memory instead.
const MOST_COPIES: usize = 6;

/// A statement: its block and its number.
type Point = (usize, usize);

/// What one function does about its bases.
#[derive(Default)]
pub struct Bases {
    /// Locals whose base is copied when they are defined by the statement.
    stores: FxHashMap<Point, Vec<Local>>,
    /// Parameters whose base is copied at entry.
    pub entry: Vec<Local>,
    /// Locals of which all pointers are copied, or that must be in memory, before the statement.
    memory: FxHashMap<Point, Vec<Local>>,
    /// Locals that are in memory all the time.
    pub escaped: Vec<Local>,
    /// Locals with a copy.
    pub slots: FxHashSet<u32>,
}

/// What is known of all functions.
#[derive(Default)]
pub struct Summary {
    /// Where collections run.
    pub quiet: Quiet,
    /// Functions that may return a pointer that they computed, or a struct with one.
    computed: FxHashSet<FuncRef>,
    /// Thin parameters, by number, that the function does not keep itself, although it needs them
    /// when a collection can run: what is left of arithmetic in a caller that it is copied into.
    lent: FxHashMap<FuncRef, Vec<bool>>,
}

impl Summary {
    /// Looks at all bodies.
    pub fn new(program: &Program, bodies: &FxHashMap<FuncRef, &Body>) -> Summary {
        let callers = collects::callers(bodies);
        let quiet = Quiet::new(program, bodies, &callers);
        let mut summary = Summary { quiet, ..Summary::default() };
        let mut work: Vec<FuncRef> = bodies.keys().cloned().collect();
        while let Some(func) = work.pop() {
            let Some(body) = bodies.get(&func) else { continue };
            if !summary.computed.contains(&func) && summary.returns_computed(&program.types, body) {
                work.extend(callers.get(&func).into_iter().flatten().cloned());
                summary.computed.insert(func);
            }
        }
        work = bodies.keys().cloned().collect();
        while let Some(func) = work.pop() {
            let Some(body) = bodies.get(&func) else { continue };
            let lent = summary.lends(program, body);
            if lent.contains(&true) && summary.lent.get(&func) != Some(&lent) {
                work.extend(callers.get(&func).into_iter().flatten().cloned());
                summary.lent.insert(func, lent);
            }
        }
        summary
    }

    /// The parameters of which the caller must keep the base.
    fn lends(&self, program: &Program, body: &Body) -> Vec<bool> {
        let mut lent = vec![false; body.params as usize];
        let types = &program.types;
        let thin = |n: usize| {
            let local = Local(n as u32);
            body.locals.get(n).is_some_and(|l| types.words(l.ty.ty) != 3) && is_pointer(types, body, local)
        };
        let collects = self.collecting(program, body);
        if !(0..lent.len()).any(thin) || collects.iter().flatten().all(|c| *c == Collects::No) {
            return lent;
        }
        let related = Related::new(body, self);
        let plain = |n: usize| thin(n) && !related.is_computed(n as u32);
        let kept = (0..body.locals.len()).map(|n| if plain(n) { Kept::Slot } else { Kept::Not }).collect();
        let mut flow = Flow::new(body, self, kept, collects);
        flow.solve();
        let mut needed = FxHashSet::default();
        for n in 0..body.blocks.len() {
            flow.through(n, &mut |_, during, _| {
                needed.extend(during.iter().flat_map(|d| d.iter()).map(|l| related.root(l as u32)));
            });
        }
        for (n, slot) in lent.iter_mut().enumerate() {
            *slot = plain(n) && needed.contains(&related.root(n as u32));
        }
        lent
    }

    fn collecting(&self, program: &Program, body: &Body) -> Vec<Vec<Collects>> {
        let point = |stmt: &Stmt| self.quiet.collects(program, &stmt.kind);
        body.blocks.iter().map(|b| b.stmts.iter().map(point).collect()).collect()
    }

    fn returns_computed(&self, types: &TypeStore, body: &Body) -> bool {
        let mut related = None;
        for block in &body.blocks {
            let Some(place) = block.term.kind.returned().and_then(Operand::place) else { continue };
            let Some(local) = held_in(place) else { continue };
            let holds = body.locals.get(local.0 as usize).is_some_and(|l| types.has_pointers(l.ty.ty));
            if holds && related.get_or_insert_with(|| Related::new(body, self)).is_computed(local.0) {
                return true;
            }
        }
        false
    }
}

fn is_pointer(types: &TypeStore, body: &Body, local: Local) -> bool {
    let ty = body.locals.get(local.0 as usize).map(|l| types.kind(l.ty.ty));
    matches!(ty, Some(TyKind::Ptr(p)) if !matches!(types.kind(p.target.ty), TyKind::Func(_)))
}

/// The local that holds the place itself.
fn held_in(place: &Place) -> Option<Local> {
    place.local_part()
}

/// The local whose pointer the place is reached through, and whether its element is chosen at run
/// time.
fn reached_through(place: &Place) -> (Option<Local>, bool) {
    let Some(last) = place.proj.iter().rposition(|p| *p == Proj::Deref) else { return (None, false) };
    let variable = place.proj.iter().skip(last).any(|p| p.index().is_some_and(|i| i.place().is_some()));
    let first = place.proj.iter().position(|p| *p == Proj::Deref) == Some(last);
    match place.base {
        PlaceBase::Local(local) if first => (Some(local), variable),
        _ => (None, variable),
    }
}

/// Locals that hold, or may hold, the same pointer or one computed from it; a set with arithmetic
/// in it is marked.
struct Related {
    parent: Vec<u32>,
    /// Of sets, at their roots: how many there are. The smaller one is put below the larger, so that
    /// no way to a root is long.
    size: Vec<u32>,
    marked: Vec<bool>,
}

impl Related {
    fn new(body: &Body, summary: &Summary) -> Related {
        let mut related = Related {
            parent: (0..body.locals.len() as u32).collect(),
            size: vec![1; body.locals.len()],
            marked: vec![false; body.locals.len()],
        };
        for block in &body.blocks {
            for stmt in &block.stmts {
                related.statement(&stmt.kind, summary);
            }
        }
        related
    }

    fn root(&self, mut n: u32) -> u32 {
        while let Some(&up) = self.parent.get(n as usize) {
            if up == n {
                break;
            }
            n = up;
        }
        n
    }

    fn is_computed(&self, n: u32) -> bool {
        self.marked.get(self.root(n) as usize) == Some(&true)
    }

    fn mark(&mut self, local: Local) {
        let root = self.root(local.0);
        if let Some(slot) = self.marked.get_mut(root as usize) {
            *slot = true;
        }
    }

    fn join(&mut self, a: Local, b: Local) {
        let (mut a, mut b) = (self.root(a.0), self.root(b.0));
        if a == b {
            return;
        }
        let size = |n: u32| self.size.get(n as usize).copied().unwrap_or(0);
        let sum = size(a) + size(b);
        if size(a) < size(b) {
            std::mem::swap(&mut a, &mut b);
        }
        if let Some(slot) = self.size.get_mut(a as usize) {
            *slot = sum;
        }
        let marked = self.is_computed(a) || self.is_computed(b);
        if let Some(up) = self.parent.get_mut(b as usize) {
            *up = a;
        }
        if let Some(slot) = self.marked.get_mut(a as usize) {
            *slot = marked;
        }
    }

    fn statement(&mut self, kind: &StmtKind, summary: &Summary) {
        stmt_places(kind, &mut |place, _| {
            if let (Some(base), true) = reached_through(place) {
                self.mark(base);
            }
        });
        // Only these make one pointer from another in a local of the body.
        if let Some((dest, value)) = kind.as_assign() {
            self.assign(held_in(dest), value);
        }
        if kind.called().is_some_and(|func| summary.computed.contains(func)) {
            let dest = kind.as_call().and_then(|call| call.dest.as_ref());
            dest.and_then(held_in).into_iter().for_each(|d| self.mark(d));
        }
        if let Some((Some(a), Some(b))) = kind.as_swap().map(|(a, b)| (held_in(a), held_in(b))) {
            self.join(a, b);
        }
        if let Some((cursor, place)) = kind.as_cursor() {
            self.address(Some(cursor), place);
        }
        if let Some(check) = kind.as_check().and_then(Check::as_element) {
            self.computes(None, &check.base);
        }
    }

    fn assign(&mut self, dest: Option<Local>, value: &Rvalue) {
        match value.points_at() {
            Some((place, true)) => return self.address(dest, place),
            Some((place, false)) => return self.copies(dest, held_in(place)),
            None => {}
        }
        match value.made_of() {
            Some((pointer, Way::Moved)) => self.computes(dest, pointer),
            // From an integer.
            Some((Operand::Const(_), Way::Bits)) => dest.into_iter().for_each(|d| self.mark(d)),
            None
            | Some((_, Way::Same | Way::Bits | Way::Number | Way::Word(_)))
            | Some((_, Way::Typed | Way::Fat | Way::Counted | Way::Retained)) => {
                mir::effects::rvalue_operands(value, &mut |operand| {
                    let from = operand.place().and_then(held_in);
                    self.copies(dest, from);
                });
            }
        }
    }

    fn copies(&mut self, dest: Option<Local>, from: Option<Local>) {
        if let (Some(dest), Some(from)) = (dest, from) {
            self.join(dest, from);
        }
    }

    fn computes(&mut self, dest: Option<Local>, from: &Operand) {
        let from = from.place().and_then(held_in);
        self.copies(dest, from);
        dest.into_iter().chain(from).for_each(|l| self.mark(l));
    }

    fn address(&mut self, dest: Option<Local>, place: &Place) {
        let (base, variable) = reached_through(place);
        self.copies(dest, base);
        if variable {
            dest.into_iter().for_each(|d| self.mark(d));
        }
    }
}

/// The words of a value that are pointers, if they are few.
fn words(program: &Program, ty: Ty) -> Option<Vec<u64>> {
    match layouts::words(&program.types, ty) {
        Words::None => Some(vec![]),
        Words::At { words, .. } if words.len() <= MOST_COPIES => Some(words),
        _ => None,
    }
}

/// How a local's base is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Not,
    /// By a copy.
    Slot,
    /// By copies of its pointers, or its memory, before calls.
    Memory,
}

struct Flow<'b> {
    body: &'b Body,
    summary: &'b Summary,
    kept: Vec<Kept>,
    collects: Vec<Vec<Collects>>,
    live: Vec<BitSet>,
    wanted: Vec<BitSet>,
}

/// What a body does about its bases. `can_hold`: whether the local can hold a heap pointer in the
/// form that emission gives it.
pub fn find(program: &Program, body: &Body, summary: &Summary, can_hold: &dyn Fn(usize) -> bool) -> Bases {
    let mut bases = Bases::default();
    let collects = summary.collecting(program, body);
    if collects.iter().flatten().all(|c| *c == Collects::No) {
        return bases;
    }
    let related = Related::new(body, summary);
    let mut kept = vec![Kept::Not; body.locals.len()];
    for (n, slot) in kept.iter_mut().enumerate() {
        let Some(local) = body.locals.get(n) else { continue };
        if !can_hold(n) {
            continue;
        }
        let pointer = is_pointer(&program.types, body, Local(n as u32));
        if local.address_taken {
            bases.escaped.push(Local(n as u32));
        } else if related.is_computed(n as u32) {
            *slot = if pointer { Kept::Slot } else { Kept::Memory };
        }
    }
    if kept.iter().all(|k| *k == Kept::Not) {
        return bases;
    }
    let mut flow = Flow::new(body, summary, kept, collects);
    flow.solve();
    flow.record(&mut bases);
    bases
}

impl<'b> Flow<'b> {
    fn new(body: &'b Body, summary: &'b Summary, kept: Vec<Kept>, collects: Vec<Vec<Collects>>) -> Flow<'b> {
        let empty = vec![BitSet::empty(body.locals.len()); body.blocks.len()];
        Flow { body, summary, kept, collects, live: empty.clone(), wanted: empty }
    }

    /// Backwards until nothing changes: what is used later, and what is needed in a later
    /// collection.
    fn solve(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for n in (0..self.body.blocks.len()).rev() {
                let (live, wanted) = self.through(n, &mut |_, _, _| {});
                changed |= self.live.get_mut(n).is_some_and(|old| old.union(&live));
                changed |= self.wanted.get_mut(n).is_some_and(|old| old.union(&wanted));
            }
        }
    }

    fn at_end(&self, block: &Block) -> (BitSet, BitSet) {
        let size = self.body.locals.len();
        let (mut live, mut wanted) = (BitSet::empty(size), BitSet::empty(size));
        let mut add = |b: BlockId| {
            self.live.get(b.0 as usize).into_iter().for_each(|s| {
                live.union(s);
            });
            self.wanted.get(b.0 as usize).into_iter().for_each(|s| {
                wanted.union(s);
            });
        };
        each_successor(self.body, &block.term.kind, &mut add);
        if block.term.kind.as_computed().is_some() {
            self.body.address_labels.iter().for_each(|(_, b)| add(*b));
        }
        term_places(&block.term.kind, &mut |place, access| use_place(&mut live, place, access));
        (live, wanted)
    }

    /// The sets before a block. `see` gets the number of each statement, last first, with what is
    /// needed during it and what is needed after it.
    fn through(&self, n: usize, see: &mut dyn FnMut(usize, Option<&BitSet>, &BitSet)) -> (BitSet, BitSet) {
        let Some(block) = self.body.blocks.get(n) else { return Default::default() };
        let (mut live, mut wanted) = self.at_end(block);
        for (i, stmt) in block.stmts.iter().enumerate().rev() {
            if stmt.kind.as_proof().is_some() {
                continue;
            }
            let behind = wanted.clone();
            written(&stmt.kind, &mut |local| {
                live.remove(local.0 as usize);
                if !self.keeps_base(block, i, local) {
                    wanted.remove(local.0 as usize);
                }
            });
            let collects = self.collects.get(n).and_then(|b| b.get(i)).copied().unwrap_or(Collects::No);
            let during = (collects != Collects::No).then(|| self.during(&stmt.kind, collects, &live));
            if let Some(during) = &during {
                wanted.union(during);
            }
            see(i, during.as_ref(), &behind);
            stmt_places(&stmt.kind, &mut |place, access| use_place(&mut live, place, access));
        }
        (live, wanted)
    }

    /// What must be kept while the statement runs, with `live` needed after it.
    fn during(&self, kind: &StmtKind, collects: Collects, live: &BitSet) -> BitSet {
        let mut during = BitSet::empty(self.body.locals.len());
        let kept = |n: usize| self.kept.get(n).is_some_and(|k| *k != Kept::Not);
        live.iter().filter(|&n| kept(n)).for_each(|n| {
            during.insert(n);
        });
        let mut hold = |place: &Place| {
            if let PlaceBase::Local(local) = place.base {
                if kept(local.0 as usize) {
                    during.insert(local.0 as usize);
                }
            }
        };
        match (kind.as_call(), kind.called()) {
            (Some(call), Some(func)) if collects == Collects::Yes => {
                // A callee of ours keeps what it computes from; structs may have such pointers in
                // them.
                let lent = self.summary.lent.get(func);
                for (n, arg) in call.args.iter().enumerate() {
                    let Some(place) = arg.place() else { continue };
                    let whole = held_in(place).is_some_and(|l| self.kept.get(l.0 as usize) == Some(&Kept::Memory));
                    if whole || lent.and_then(|l| l.get(n)) == Some(&true) {
                        hold(place);
                    }
                }
            }
            (Some(call), _) => call.args.iter().filter_map(Operand::place).for_each(hold),
            // The place may be computed before the value.
            (None, _) => stmt_places(kind, &mut |place, access| {
                if !place.proj.is_empty() || access != Access::Write {
                    hold(place);
                }
            }),
        }
        during
    }

    /// Whether a statement that writes the whole local leaves it in the object that it was in:
    /// `p = p + 1`. What has no bounds stays in its string.
    fn keeps_base(&self, block: &Block, at: usize, local: Local) -> bool {
        let source = |kind: &StmtKind| match kind.value()?.made_of()? {
            (a, Way::Moved | Way::Same) => a.place().and_then(Place::as_local),
            (_, Way::Bits | Way::Number | Way::Word(_) | Way::Typed | Way::Fat | Way::Counted | Way::Retained) => None,
        };
        let Some(stmt) = block.stmts.get(at) else { return false };
        let Some(from) = source(&stmt.kind) else { return false };
        if from == local {
            return true;
        }
        // Through a temporary that was made from the local, with no write of either in between.
        for earlier in block.stmts.iter().take(at).rev() {
            let (mut writes_local, mut writes_from) = (false, false);
            written(&earlier.kind, &mut |l| {
                writes_local |= l == local;
                writes_from |= l == from;
            });
            if writes_local || writes_from {
                return !writes_local && source(&earlier.kind) == Some(local);
            }
        }
        false
    }

    fn record(&self, bases: &mut Bases) {
        for (n, block) in self.body.blocks.iter().enumerate() {
            self.through(n, &mut |i, during, behind| {
                let Some(stmt) = block.stmts.get(i) else { return };
                let is = |l: usize, what: Kept| self.kept.get(l) == Some(&what);
                written(&stmt.kind, &mut |local| {
                    let l = local.0 as usize;
                    if is(l, Kept::Slot) && behind.contains(l) && !self.keeps_base(block, i, local) {
                        bases.stores.entry((n, i)).or_default().push(local);
                        bases.slots.insert(local.0);
                    }
                });
                // A swap writes two.
                if let Some((a, b)) = stmt.kind.as_swap() {
                    for local in [a, b].into_iter().filter_map(Place::as_local) {
                        if is(local.0 as usize, Kept::Slot) && behind.contains(local.0 as usize) {
                            bases.stores.entry((n, i)).or_default().push(local);
                            bases.slots.insert(local.0);
                        }
                    }
                }
                for l in during.iter().flat_map(|d| d.iter()).filter(|&l| is(l, Kept::Memory)) {
                    bases.memory.entry((n, i)).or_default().push(Local(l as u32));
                }
            });
        }
        let Some(wanted) = self.wanted.first() else { return };
        for n in wanted.iter().filter(|&n| (n as u32) < self.body.params) {
            if self.kept.get(n) == Some(&Kept::Slot) {
                bases.entry.push(Local(n as u32));
                bases.slots.insert(n as u32);
            }
        }
    }
}

/// Calls `see` with each local that the statement writes as a whole, as the table says. Those that
/// it exchanges keep, between them, what they held.
fn written(kind: &StmtKind, see: &mut dyn FnMut(Local)) {
    // The tag of a union is a part of it.
    if kind.as_set_tag().is_some() {
        return;
    }
    accesses(kind, &mut |place, access, _| {
        if access == Kind::Write {
            place.as_local().into_iter().for_each(&mut *see);
        }
    });
}

fn use_place(live: &mut BitSet, place: &Place, access: Access) {
    if let PlaceBase::Local(local) = place.base {
        if access != Access::Write || !place.proj.is_empty() {
            live.insert(local.0 as usize);
        }
    }
}

impl Emitter<'_, '_> {
    /// Finds what is to be kept. Values with a copy of their base do not wait.
    pub fn find_bases(&mut self) {
        if self.unit.options.plain || self.unit.options.no_gc {
            return;
        }
        let types = self.unit.types;
        let can_hold = |n: usize| {
            let Some(ty) = self.body.locals.get(n).map(|l| l.ty.ty) else { return false };
            let variable = self.held.get(n).is_none_or(|h| h.variable);
            types.has_pointers(ty) && !variable && !matches!(types.kind(ty), TyKind::VaList)
        };
        self.bases = find(self.unit.program, self.body, &self.unit.bases, &can_hold);
        for &n in &self.bases.slots {
            if let Some(count) = self.uses.counts.get_mut(n as usize) {
                *count = 0;
            }
        }
    }

    /// The copies of parameters and what is in memory all the time: statements at entry.
    pub fn bases_at_entry(&mut self) -> Vec<String> {
        let mut out = vec![];
        for local in self.bases.entry.clone() {
            out.extend(self.base_text(local));
        }
        for local in self.bases.escaped.clone() {
            // What is never named is not there.
            if let Some(held) = self.held.get(local.0 as usize).filter(|h| h.used) {
                out.push(format!("__asm__ volatile(\"\" : : \"r\"(&{}) : \"memory\");", held.name));
            }
        }
        out
    }

    /// Before a statement.
    pub fn bases_before(&mut self, block: usize, at: usize) {
        for local in self.bases.memory.get(&(block, at)).cloned().unwrap_or_default() {
            let Some(held) = self.held.get(local.0 as usize).cloned() else { continue };
            let Some(ty) = self.body.locals.get(local.0 as usize).map(|l| l.ty.ty) else { continue };
            self.mark_used(local);
            let text = match words(self.unit.program, ty) {
                None => format!("__asm__ volatile(\"\" : : \"m\"({}));", held.name),
                Some(words) if words.is_empty() => continue,
                Some(words) => {
                    let copy = self.copy_name(local, &format!("[{}]", words.len()));
                    let one = |(n, w): (usize, &u64)| format!("{copy}[{n}] = ((void **)&{})[{w}];", held.name);
                    words.iter().enumerate().map(one).collect::<Vec<_>>().join(" ")
                }
            };
            self.push(&text);
        }
    }

    /// The volatile variable, or array, for a local.
    fn copy_name(&mut self, local: Local, array: &str) -> String {
        if let Some(name) = self.base_names.get(&local.0) {
            return name.clone();
        }
        let held = self.held.get(local.0 as usize).map_or("", |h| h.name.as_str());
        let name = self.scratch.claim(&format!("{held}__base"));
        self.declarations.push(format!("void *volatile {name}{array};"));
        self.base_names.insert(local.0, name.clone());
        name
    }

    /// After a statement.
    pub fn bases_behind(&mut self, block: usize, at: usize) {
        for local in self.bases.stores.get(&(block, at)).cloned().unwrap_or_default() {
            if let Some(text) = self.base_text(local) {
                self.push(&text);
            }
        }
    }

    fn base_text(&mut self, local: Local) -> Option<String> {
        let ty = self.body.locals.get(local.0 as usize)?.ty.ty;
        // What stands at its first element has no variable for that.
        let word = usize::from(self.unit.types.words(ty) == 3 && !self.stands_at_start(local.0));
        let base = self.local_words(local).into_iter().nth(word)?.text;
        let name = self.copy_name(local, "");
        Some(format!("{name} = (void *){base};"))
    }
}
