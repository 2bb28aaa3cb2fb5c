//! Null facts: which pointer locals are null, or not, at which point.
//!
//! Lattice: for each pointer local whose address is not taken, and for each path (`null_paths`),
//! the set of {null, not null} that it may be; the empty set is "unassigned". Besides these sets, a
//! few relations between them that hold now: "a is a copy of b", "t is true iff p is (not) null";
//! they let a test of a copy, or through a temporary, say something about the variable; and which
//! parts of paths were lent. Join: union of the sets and of what was lent, what both sides have of
//! the relations.
//!
//! Only explicit tests, checks and types give facts. That an access through a pointer did not trap
//! gives none: the C compiler may drop or move a load whose result is not needed, so a check after
//! it would be removed with no reason. Other memory, globals and address-taken locals have no facts
//! (rules.md, H31). A pointer that was moved decides no branch: its test is a use, which ownership
//! reports.
//!
//! Needs: verified MIR, safe bodies. Changes: `Prove(NonNull)` that holds and `Check::NotNull` that
//! cannot fail become `Nop`; a branch with one possible outcome becomes a jump. Guarantees: each
//! remaining `Prove` is reported, here or as a use of an unassigned variable.

use crate::codes::MAY_BE_NULL;
use crate::framework::{solve, Analysis, Direction, Edge, Item, Point};
use crate::names::place_name;
use crate::null_paths::NullPaths;
use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{stmt_places, term_places, Access, Code};
use mir::ir::*;
use rustc_hash::FxHashMap;
use source::{Diagnostic, Span};
use typing::types::{Bounds, Ty, TyKind, TypeStore};

/// How many relations are kept: those that matter are a few statements old.
const MAX_RELATIONS: usize = 16;

/// What has facts: a local by its number, after those the paths.
type Var = usize;

/// What is known at a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Facts {
    /// By slot.
    may_null: BitSet,
    /// By slot.
    may_not: BitSet,
    /// Locals that live in one block only; empty at block boundaries, so that long functions need
    /// no large sets.
    here: FxHashMap<Var, Nullness>,
    relations: Vec<Relation>,
    /// The loans that were made: others may write what lies in them.
    lent: BitSet,
    /// Variables and paths that may have been moved or freed, in order: what is known of them
    /// decides no branch, so that ownership sees their test.
    moved: Vec<Var>,
}

/// Where the fact about a local or path is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    /// Nowhere: no pointer, or its address is taken.
    None,
    /// In the sets.
    Wide(u32),
    /// In `here`.
    Here,
}

/// Something that holds between two locals or paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Relation {
    /// Both hold the same pointer, up to bounds.
    Copy(Var, Var),
    /// The first is not zero iff the second is not null (`true`) or null (`false`).
    Test(Var, Var, bool),
}

impl Relation {
    fn ends(self) -> [Var; 2] {
        match self {
            Relation::Copy(a, b) | Relation::Test(a, b, _) => [a, b],
        }
    }
}

/// What a pointer value may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nullness {
    /// Not assigned (reported elsewhere), or control does not get here.
    Nothing,
    /// Null.
    Null,
    /// Not null.
    NonNull,
    /// Either.
    Unknown,
}

impl Facts {
    fn of(&self, slots: &[Slot], var: Var) -> Nullness {
        match slots.get(var) {
            Some(Slot::Wide(n)) => {
                let n = *n as usize;
                match (self.may_null.contains(n), self.may_not.contains(n)) {
                    (false, false) => Nullness::Nothing,
                    (true, false) => Nullness::Null,
                    (false, true) => Nullness::NonNull,
                    (true, true) => Nullness::Unknown,
                }
            }
            Some(Slot::Here) => self.here.get(&var).copied().unwrap_or(Nullness::Nothing),
            _ => Nullness::Nothing,
        }
    }

    fn set(&mut self, slots: &[Slot], var: Var, fact: Nullness) {
        let n = match slots.get(var) {
            Some(Slot::Wide(n)) => *n as usize,
            Some(Slot::Here) => {
                self.here.insert(var, fact);
                return;
            }
            _ => return,
        };
        self.may_null.remove(n);
        self.may_not.remove(n);
        if matches!(fact, Nullness::Null | Nullness::Unknown) {
            self.may_null.insert(n);
        }
        if matches!(fact, Nullness::NonNull | Nullness::Unknown) {
            self.may_not.insert(n);
        }
    }

    fn move_away(&mut self, var: Var) {
        if let Err(at) = self.moved.binary_search(&var) {
            self.moved.insert(at, var);
        }
    }

    fn forget(&mut self, var: Var) {
        self.relations.retain(|r| !r.ends().contains(&var));
        if let Ok(at) = self.moved.binary_search(&var) {
            self.moved.remove(at);
        }
    }

    fn relate(&mut self, relation: Relation) {
        if self.relations.len() >= MAX_RELATIONS {
            self.relations.remove(0);
        }
        self.relations.push(relation);
    }

    /// Learns that the pointer is (not) null; `false` if that cannot be.
    fn learn(&mut self, slots: &[Slot], var: Var, not_null: bool, depth: u32) -> bool {
        let fact = self.of(slots, var);
        let (wanted, impossible) =
            if not_null { (Nullness::NonNull, Nullness::Null) } else { (Nullness::Null, Nullness::NonNull) };
        if fact == impossible {
            return false;
        }
        if fact == wanted {
            return true;
        }
        if fact == Nullness::Unknown {
            self.set(slots, var, wanted);
        }
        // Copies of copies are few; the limit ends cycles among locals without facts.
        if depth > 4 {
            return true;
        }
        let copies: Vec<Var> = self
            .relations
            .iter()
            .filter_map(|r| match *r {
                Relation::Copy(a, b) if a == var => Some(b),
                Relation::Copy(a, b) if b == var => Some(a),
                _ => None,
            })
            .collect();
        copies.into_iter().all(|copy| self.learn(slots, copy, not_null, depth + 1))
    }
}

/// `Here` for locals that one block alone mentions, and that are assigned (or come to life) there
/// before anything else: no value of theirs passes a block boundary.
fn slots_by_use(body: &Body) -> Vec<Slot> {
    let mut homes: Vec<Option<u32>> = vec![None; body.locals.len()];
    let mut slots = vec![Slot::Here; body.locals.len()];
    let mut mention = |local: Option<Local>, block: u32, defines: bool| {
        let Some(n) = local.map(|l| l.0 as usize) else { return };
        let (Some(home), Some(slot)) = (homes.get_mut(n), slots.get_mut(n)) else { return };
        if *home != Some(block) && (home.is_some() || !defines) {
            *slot = Slot::None;
        }
        *home = Some(block);
    };
    for (n, block) in body.blocks.iter().enumerate() {
        let n = n as u32;
        for stmt in &block.stmts {
            if let Some(local) = stmt.kind.begins() {
                mention(Some(local), n, true);
            }
            stmt_places(&stmt.kind, &mut |place, access| {
                mention(place.base_local(), n, access == Access::Write && place.as_local().is_some());
            });
        }
        term_places(&block.term.kind, &mut |place, _| mention(place.base_local(), n, false));
    }
    slots
}

/// The locals that others may assign while they are lent: as slots, and those that a cursor is on.
fn lent_by_address(body: &Body) -> Vec<Local> {
    let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
    let lent = stmts.filter_map(|stmt| {
        let slot = stmt.kind.value().and_then(Rvalue::as_borrow).filter(|(kind, ..)| kind.by_address());
        let cursor = stmt.kind.as_cursor().map(|(_, place)| place);
        slot.map(|(_, place, _)| place).or(cursor)?.local_part()
    });
    lent.collect()
}

/// The analysis of one body.
pub struct NullFacts<'a> {
    types: &'a TypeStore,
    program: &'a Program,
    body: &'a Body,
    paths: NullPaths<'a>,
    /// By local or path; of locals only pointers whose address is not taken and that are not
    /// `volatile` have one.
    slots: Vec<Slot>,
    /// How many slots are wide.
    wide: usize,
    /// `lent_by_address`
    lent: Vec<Local>,
}

impl<'a> NullFacts<'a> {
    /// For `body`, one of `program`'s.
    pub fn new(program: &'a Program, body: &'a Body) -> NullFacts<'a> {
        let mut slots = slots_by_use(body);
        let mut wide = 0;
        let lent = lent_by_address(body);
        for (n, (slot, decl)) in slots.iter_mut().zip(&body.locals).enumerate() {
            let steady = !decl.address_taken && !decl.ty.quals.is_volatile && !lent.contains(&Local(n as u32));
            if !steady || !matches!(program.types.kind(decl.ty.ty), TyKind::Ptr(_)) {
                *slot = Slot::None;
            } else if *slot != Slot::Here {
                *slot = Slot::Wide(wide);
                wide += 1;
            }
        }
        let paths = NullPaths::new(program, body);
        for _ in &paths.places {
            slots.push(Slot::Wide(wide));
            wide += 1;
        }
        NullFacts { types: &program.types, program, body, paths, slots, wide: wide as usize, lent }
    }

    fn is_tracked(&self, var: Var) -> bool {
        self.slots.get(var).is_some_and(|s| *s != Slot::None)
    }

    /// The local or path that a place is, if it has facts.
    fn var(&self, place: &Place) -> Option<Var> {
        match place.as_local() {
            Some(local) => Some(local.0 as usize).filter(|&var| self.is_tracked(var)),
            None => self.paths.number(place).map(|n| self.body.locals.len() + n),
        }
    }

    fn operand_var(&self, operand: &Operand) -> Option<Var> {
        operand.place().and_then(|place| self.var(place))
    }

    fn by_type(&self, ty: Ty) -> Nullness {
        match self.types.kind(ty) {
            TyKind::Ptr(p) if p.nonnull => Nullness::NonNull,
            _ => Nullness::Unknown,
        }
    }

    fn var_ty(&self, var: Var) -> Ty {
        let local = self.body.locals.get(var).map(|d| d.ty.ty);
        let path = var.checked_sub(self.body.locals.len()).and_then(|n| self.paths.types.get(n).copied());
        local.or(path).unwrap_or(self.types.common.error)
    }

    /// What an operand may be.
    pub fn operand(&self, facts: &Facts, operand: &Operand) -> Nullness {
        match operand {
            Operand::Const(Const::Null(_) | Const::Int(0, _)) => Nullness::Null,
            Operand::Const(Const::Func(_) | Const::Addr(..)) => Nullness::NonNull,
            Operand::Const(_) => Nullness::Unknown,
            Operand::Copy(place) | Operand::Move(place) => match self.var(place) {
                Some(var) => facts.of(&self.slots, var),
                None => mir::ty::place_ty(self.program, self.body, place)
                    .map_or(Nullness::Unknown, |qty| self.by_type(qty.ty)),
            },
        }
    }

    fn value(&self, facts: &Facts, value: &Rvalue) -> Nullness {
        match value.points_at() {
            Some((place, true)) => return self.address(facts, place),
            Some((place, false)) => return self.operand(facts, &Operand::Copy(place.clone())),
            None => {}
        }
        if let Some(a) = value.null_with() {
            return self.operand(facts, a);
        }
        if value.as_alloc().is_some_and(|made| !made.fallible) {
            return Nullness::NonNull;
        }
        let Some((a, _)) = value.as_offset() else { return Nullness::Unknown };
        // A fat pointer may be moved to address 0; a string stays within its bounds (checks stand
        // around the move).
        let stays = mir::ty::operand_ty(self.program, self.body, a)
            .ok()
            .and_then(|ty| self.types.as_pointer(ty))
            .is_some_and(|p| p.bounds.is_terminated() || matches!(p.bounds, Bounds::Thin));
        if stays && self.operand(facts, a) == Nullness::NonNull {
            Nullness::NonNull
        } else {
            Nullness::Unknown
        }
    }

    /// The address of a place is null only if it is reached through a null pointer without an
    /// access.
    fn address(&self, facts: &Facts, place: &Place) -> Nullness {
        let Some(last) = place.proj.iter().rposition(|step| *step == Proj::Deref) else {
            return Nullness::NonNull;
        };
        let base = Place { base: place.base, proj: place.proj.iter().take(last).cloned().collect() };
        match self.operand(facts, &Operand::Copy(base)) {
            Nullness::NonNull => Nullness::NonNull,
            _ => Nullness::Unknown,
        }
    }

    /// The pointer whose nullness the value has, and a test that it makes.
    fn relation(&self, facts: &Facts, dest: Var, value: &Rvalue) -> Option<Relation> {
        let copy = |from: Option<Var>| from.filter(|_| self.is_tracked(dest)).map(|from| Relation::Copy(dest, from));
        let same = match value.made_of() {
            Some((a, Way::Same | Way::Bits | Way::Word(Part::Ptr) | Way::Typed | Way::Counted)) => Some(a),
            // A pointer with new bounds is one of its own; the number of one is only tested.
            Some((_, Way::Fat | Way::Number | Way::Word(Part::Lo | Part::Hi | Part::Type)))
            | Some((_, Way::Moved | Way::Retained))
            | None => None,
        };
        if let Some(a) = same.filter(|_| self.is_tracked(dest)) {
            return copy(self.operand_var(a));
        }
        if let Some((place, own)) = value.points_at() {
            return copy(self.var(place).filter(|_| !own));
        }
        if let Some((a, not_zero)) = value.as_use().map(|a| (a, true)).or(value.tested()) {
            return self.test(facts, dest, a, not_zero);
        }
        if let Some((a, ty)) = value.as_numeric() {
            let keeps = mir::ty::keeps_all_bits(self.program, self.body, a, ty) || source::broken!(33);
            return self.test(facts, dest, a, true).filter(|_| keeps);
        }
        let (op @ (BinOp::Eq | BinOp::Ne), a, b, _) = value.as_binary()? else { return None };
        let is_zero = |o: &Operand| matches!(o, Operand::Const(Const::Null(_) | Const::Int(0, _)));
        let tested = match (is_zero(a), is_zero(b)) {
            (false, true) => a,
            (true, false) => b,
            _ => return None,
        };
        self.test(facts, dest, tested, op == BinOp::Ne)
    }

    /// `dest` is true iff `operand` (a pointer, or the result of a test) is (`same`) true.
    fn test(&self, facts: &Facts, dest: Var, operand: &Operand, same: bool) -> Option<Relation> {
        if let Some(pointer) = self.operand_var(operand) {
            return Some(Relation::Test(dest, pointer, same));
        }
        let test = crate::framework::whole_local(operand)?.0 as usize;
        facts.relations.iter().find_map(|r| match *r {
            Relation::Test(t, p, when) if t == test => Some(Relation::Test(dest, p, when == same)),
            _ => None,
        })
    }

    fn assign(&self, facts: &mut Facts, dest: &Place, value: &Rvalue) {
        let var = dest.as_local().map(|l| l.0 as usize).or_else(|| self.var(dest));
        let fact = match var.map(|var| self.by_type(self.var_ty(var))) {
            Some(Nullness::NonNull) => Nullness::NonNull,
            _ => self.value(facts, value),
        };
        let relation = var.and_then(|var| self.relation(facts, var, value));
        for from in NullPaths::moves(value) {
            // What was lent there may still be (the analysis of ownership says no, but it comes
            // later).
            if self.is_lent(facts, from) {
                self.lend_whole(facts, dest);
            }
            self.moved(facts, from);
        }
        let gone = self.written(facts, dest);
        if self.paths.whole(dest).is_some() && self.paths.keeps_owner(dest, value) {
            self.lend_whole(facts, dest);
        }
        let Some(var) = var else { return };
        if self.is_tracked(var) {
            facts.set(&self.slots, var, fact);
        }
        let hidden = dest.as_local().is_none_or(|l| !self.others_may_assign(l));
        if let Some(relation) = relation.filter(|r| hidden && !gone.contains(&r.ends()[1])) {
            facts.relate(relation);
        }
    }

    fn is_lent(&self, facts: &Facts, place: &Place) -> bool {
        self.paths.loans_of(place).any(|loan| facts.lent.contains(loan))
    }

    /// All of what the place begins at is lent.
    fn lend_whole(&self, facts: &mut Facts, place: &Place) {
        if let Some(loan) = self.paths.whole(place) {
            facts.lent.insert(loan);
        }
    }

    /// Forgets what a store to the place may change, and gives it.
    fn written(&self, facts: &mut Facts, place: &Place) -> Vec<Var> {
        let paths = self.paths.written(place, &facts.lent);
        let mut gone = self.forget_paths(facts, paths);
        if let Some(local) = place.as_local() {
            let var = local.0 as usize;
            facts.forget(var);
            facts.set(&self.slots, var, self.by_type(self.var_ty(var)));
            gone.push(var);
        }
        gone
    }

    /// Forgets what lies below a place that something is moved out of. The place itself is not read
    /// before the next store to it.
    fn moved(&self, facts: &mut Facts, place: &Place) {
        let mut paths = self.paths.written(place, &BitSet::empty(self.paths.loans()));
        paths.retain(|&n| self.paths.number(place) != Some(n));
        self.forget_paths(facts, paths);
        let named = |var: &Var| self.body.locals.get(*var).is_none_or(|d| d.kind != LocalKind::Temp);
        if let Some(var) = self.var(place).filter(named) {
            facts.move_away(var);
        }
    }

    /// Others may write what was lent.
    fn called(&self, facts: &mut Facts) {
        let mut paths = self.paths.called(&facts.lent);
        paths.retain(|_| !source::broken!(32));
        self.forget_paths(facts, paths);
    }

    fn forget_paths(&self, facts: &mut Facts, paths: Vec<usize>) -> Vec<Var> {
        let vars: Vec<Var> = paths.into_iter().map(|n| self.body.locals.len() + n).collect();
        for &var in &vars {
            facts.forget(var);
            facts.set(&self.slots, var, self.by_type(self.var_ty(var)));
        }
        vars
    }

    /// Learns from a branch; `false` if it cannot be taken.
    fn branch(&self, facts: &mut Facts, operand: &Operand, holds: bool) -> bool {
        if let Some(pointer) = self.operand_var(operand) {
            return facts.learn(&self.slots, pointer, holds, 0);
        }
        let Some(test) = crate::framework::whole_local(operand) else { return true };
        let found = facts.relations.iter().find_map(|r| match *r {
            Relation::Test(t, p, when) if t == test.0 as usize => Some((p, when)),
            _ => None,
        });
        match found {
            Some((pointer, when)) => facts.learn(&self.slots, pointer, when == holds, 0),
            None => true,
        }
    }

    fn others_may_assign(&self, local: Local) -> bool {
        self.lent.contains(&local) || self.body.locals.get(local.0 as usize).is_none_or(|d| d.address_taken)
    }

    fn check(&self, facts: &mut Facts, check: &Check) {
        if let Some(var) = check.nonnull_after().and_then(|p| self.operand_var(p)) {
            facts.learn(&self.slots, var, true, 0);
        }
    }
}

impl Analysis for NullFacts<'_> {
    type State = Facts;
    const DIRECTION: Direction = Direction::Forward;

    fn entry(&self) -> Facts {
        let empty = BitSet::empty(self.wide);
        let mut facts = Facts {
            may_null: empty.clone(),
            may_not: empty,
            here: FxHashMap::default(),
            relations: vec![],
            lent: BitSet::empty(self.paths.loans()),
            moved: vec![],
        };
        let locals = self.body.locals.len();
        for var in (0..self.body.params as usize).chain(locals..locals + self.paths.places.len()) {
            facts.set(&self.slots, var, self.by_type(self.var_ty(var)));
        }
        facts
    }

    fn join(&self, into: &mut Facts, from: &Facts, _rounds: u32) -> bool {
        let mut changed = into.may_null.union(&from.may_null);
        changed |= into.may_not.union(&from.may_not);
        changed |= into.lent.union(&from.lent);
        let moved = into.moved.len();
        from.moved.iter().for_each(|&var| into.move_away(var));
        changed |= into.moved.len() != moved;
        let before = into.relations.len();
        into.relations.retain(|r| from.relations.contains(r));
        changed | (into.relations.len() != before)
    }

    fn statement(&self, facts: &mut Facts, _at: Point, stmt: &Stmt) {
        if let Some(loan) = self.paths.loan(&stmt.kind) {
            facts.lent.insert(loan);
        }
        let kind = &stmt.kind;
        if let Some((dest, value)) = kind.as_assign() {
            return self.assign(facts, dest, value);
        }
        if let Some(check) = kind.as_check() {
            return self.check(facts, check);
        }
        if let Some(operand) = kind.as_nonnull_proof() {
            // Proven or reported: what follows is not reported again.
            if let Some(var) = self.operand_var(operand) {
                facts.learn(&self.slots, var, true, 0);
            }
            return;
        }
        if let Some(local) = kind.begins() {
            let place = Place::local(local);
            self.written(facts, &place);
            facts.set(&self.slots, local.0 as usize, Nullness::Nothing);
            self.paths.loans_of(&place).for_each(|loan| facts.lent.remove(loan));
            return;
        }
        if let Some((a, b)) = kind.as_swap().filter(|(a, b)| self.is_lent(facts, a) || self.is_lent(facts, b)) {
            self.lend_whole(facts, a);
            self.lend_whole(facts, b);
        }
        if mir::effects::flags(kind).code == Code::Assembly {
            facts.lent = BitSet::full(self.paths.loans());
        }
        if changes_memory(kind) {
            self.called(facts);
        }
        let cursor = kind.as_cursor().map(|(_, place)| place);
        if let Some(place) = cursor.or(kind.as_pack()) {
            self.written(facts, place);
        }
        stmt_places(&stmt.kind, &mut |place, access| match access {
            Access::Write => drop(self.written(facts, place)),
            Access::Move => self.moved(facts, place),
            Access::Read | Access::Address => {}
        });
        if let Some(var) = kind.as_zero().and_then(|place| self.var(place)) {
            facts.set(&self.slots, var, Nullness::Null);
        }
    }

    fn edge(&self, facts: &mut Facts, _from: BlockId, _to: BlockId, edge: Edge) -> bool {
        let possible = match edge {
            Edge::Branch(operand, holds) => self.branch(facts, operand, holds),
            _ => true,
        };
        facts.here.clear();
        possible
    }
}

/// Whether the statement may write memory that none of its accesses names.
fn changes_memory(kind: &StmtKind) -> bool {
    match kind.action() {
        Action::Call | Action::Assembly | Action::Copy => true,
        Action::Owner => kind.as_swap().is_none(),
        // The slot under a cursor is empty until it is put back.
        Action::Region => kind.as_cursor().is_some() || kind.as_cursor_end().is_some(),
        Action::Send | Action::Channel => mir::effects::flags(kind).waits,
        Action::None | Action::Storage | Action::Check | Action::Assign | Action::Fill | Action::Arguments => false,
    }
}

/// A pointer that is not proven, for a report once it is known which variables were reported
/// already.
#[derive(Clone, Debug)]
pub struct Unproven {
    /// The variable that the pointer comes from, if it is one.
    pub variable: Option<Local>,
    /// The path that the pointer comes from, if it is one, in the words of the program.
    pub path: Option<String>,
    /// Whether it is certainly null.
    pub is_null: bool,
    /// Where.
    pub span: Span,
}

/// What the analysis found, to be applied to the body.
#[derive(Debug, Default)]
pub struct Findings {
    /// Statements that are not needed.
    discharged: Vec<Point>,
    /// Branches of which one outcome is impossible: the outcome that is left.
    decided: Vec<(BlockId, BlockId)>,
    /// Proofs that failed.
    pub unproven: Vec<Unproven>,
}

/// Solves and looks at every statement.
pub fn find(program: &Program, body: &Body, cfg: &Cfg) -> Findings {
    let analysis = NullFacts::new(program, body);
    let results = solve(&analysis, body, cfg);
    let mut findings = Findings::default();
    results.visit(&analysis, body, &mut |at, facts, item| match item {
        Item::Stmt(stmt) => analysis.look(facts, at, stmt, &mut findings),
        Item::Term(term) => analysis.decide(facts, at.block, &term.kind, &mut findings),
    });
    findings
}

impl NullFacts<'_> {
    fn look(&self, facts: &Facts, at: Point, stmt: &Stmt, findings: &mut Findings) {
        let checked = stmt.kind.as_check().and_then(Check::as_not_null);
        let proven = stmt.kind.as_nonnull_proof();
        let (Some(operand), proof) = (proven.or(checked), proven.is_some()) else { return };
        let fact = self.operand(facts, operand);
        if fact == Nullness::NonNull || proof && stmt.is_unsafe {
            findings.discharged.push(at);
        } else if proof && fact != Nullness::Nothing {
            let source = operand.place().map(|place| self.source(facts, place));
            findings.unproven.push(Unproven {
                variable: source.as_ref().and_then(Place::as_local),
                path: source.filter(|p| !p.proj.is_empty()).and_then(|p| place_name(self.program, self.body, &p)),
                is_null: fact == Nullness::Null,
                span: stmt.span,
            });
        }
    }

    /// The variable or path that a temporary is a copy of.
    fn source(&self, facts: &Facts, place: &Place) -> Place {
        let Some(local) = place.as_local() else { return place.clone() };
        let locals = &self.body.locals;
        let has_name = |var: Var| locals.get(var).is_none_or(|d| d.name.is_some());
        let var = local.0 as usize;
        if has_name(var) {
            return place.clone();
        }
        let copy = facts.relations.iter().find_map(|r| match *r {
            Relation::Copy(a, b) if a == var && has_name(b) => Some(b),
            Relation::Copy(a, b) if b == var && has_name(a) => Some(a),
            _ => None,
        });
        match copy {
            Some(var) if var < locals.len() => Place::local(Local(var as u32)),
            Some(var) => self.paths.places.get(var - locals.len()).unwrap_or(place).clone(),
            None => place.clone(),
        }
    }

    fn decide(&self, facts: &Facts, block: BlockId, term: &TermKind, findings: &mut Findings) {
        let Some((operand, yes, no)) = term.as_if() else { return };
        let moved = |var| facts.moved.binary_search(&var).is_ok();
        if matches!(operand, Operand::Const(_)) || self.operand_var(operand).is_some_and(moved) {
            return;
        }
        let possible = |to: BlockId, holds: bool| {
            let mut facts = facts.clone();
            self.edge(&mut facts, block, to, Edge::Branch(operand, holds))
        };
        match (possible(yes, true), possible(no, false)) {
            (true, false) => findings.decided.push((block, yes)),
            (false, true) => findings.decided.push((block, no)),
            _ => {}
        }
    }
}

/// Puts the findings into the body.
pub fn apply(body: &mut Body, findings: &Findings) {
    for at in &findings.discharged {
        let stmt = body.blocks.get_mut(at.block.0 as usize).and_then(|b| b.stmts.get_mut(at.stmt));
        if let Some(stmt) = stmt {
            stmt.remove();
        }
    }
    for (block, to) in &findings.decided {
        if let Some(block) = body.blocks.get_mut(block.0 as usize) {
            block.term.kind = TermKind::Goto(*to);
        }
    }
}

/// The report about a failed proof.
pub fn report(body: &Body, unproven: &Unproven) -> Diagnostic {
    let decl = unproven.variable.and_then(|l| body.locals.get(l.0 as usize)).filter(|d| d.name.is_some());
    let name = unproven.path.clone().or(decl.and_then(|d| d.name).map(|n| n.to_string()));
    let what = name.as_ref().map_or("the pointer".to_string(), |n| format!("`{n}`"));
    let state = if unproven.is_null { "is" } else { "may be" };
    let message = format!("{what} {state} null, and a `nonnull` pointer is wanted here");
    let mut diagnostic = Diagnostic::error(MAY_BE_NULL, unproven.span, message);
    if let Some(decl) = decl {
        diagnostic = diagnostic.label(decl.span, format!("{what} is declared here, without `nonnull`"));
    }
    diagnostic.help(match (name, decl) {
        (Some(_), Some(decl)) if decl.address_taken => {
            format!("the address of {what} is taken, so a test of it does not last: copy it into a local and test that")
        }
        (Some(name), Some(_)) => format!("test it first: `if ({name}) ...`"),
        (Some(name), None) => format!(
            "test it first: `if ({name}) ...`; after a call or a store that may change it, test it again, or test a copy in a local"
        ),
        _ => "store it in a local and test it first: `if (p) ...`".to_string(),
    })
}
