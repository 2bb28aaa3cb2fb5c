//! Which loans are in force: those that a live local may hold.
//!
//! A loan begins with the statement that makes it and flows with values from local to local. The
//! state has a bit for each pair of a loan and a local that may hold it; `regions` says which pairs
//! there are (those whose types let the loan in), this file which of them there are at a point: an
//! assignment to a whole local replaces what it held, a store through a pointer adds to every local
//! that may see that memory. The fields of a local struct hold apart: each has a pair of its own. A
//! loan is in force while one of its holders is live, that is, may be read later. So a loan ends
//! after the last use of what holds it, on each path separately (as in Polonius; see Rust RFC 2094
//! and its successor), and does not come back.
//!
//! Some loans last to the end of a block by nature: of a cursor, of an `open`; and all loans of a
//! function that calls something that returns twice. A holder of one of these counts as live as
//! long as its storage.
//!
//! The loan of an `unpack` that lends lasts from its statement to its `unpack_end`, whatever locals
//! hold. Its one pair is of the struct itself, and no value takes it along.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{stmt_places, term_places, Access};
use mir::ir::*;
use mir::resolve::Resolver;
use mir::ty::place_ty;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::types::{RecordKind, TyKind};

use super::state::State;
use crate::framework::{count_work, points, solve, whole_local, Analysis, Direction, Point};
use crate::regions::{Form, Regions};

/// A local that may hold a loan, or one of its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub local: Local,
    /// None: the whole local.
    pub field: Option<u32>,
}

impl Part {
    /// Where a place is: in a field of a local, or somewhere in it.
    fn of(place: &Place) -> Option<Part> {
        let field = match place.proj.first() {
            Some(Proj::Field(n)) => Some(*n),
            Some(Proj::Index(_) | Proj::Deref) | None => None,
        };
        Some(Part { local: place.base_local()?, field })
    }

    fn overlaps(self, field: Option<u32>) -> bool {
        self.field.is_none() || field.is_none() || self.field == field
    }

    /// Whether the access reads something of the part.
    pub fn is_read(self, place: &Place, access: Access) -> bool {
        let accessed = Part::of(place).filter(|of| of.local == self.local);
        accessed.is_some_and(|of| match access {
            // A store to a part of a local reads nothing of it.
            Access::Write => place.has_deref() && self.overlaps(of.field),
            Access::Read | Access::Move => self.overlaps(of.field),
            // The address of a field may lead to the whole (`container_of`).
            Access::Address => !place.has_deref() || self.overlaps(of.field),
        })
    }

    /// Whether the access replaces all that the part holds.
    pub fn is_replaced(self, place: &Place, access: Access) -> bool {
        let is_whole = |of: &Part| place.proj.len() == usize::from(of.field.is_some());
        let stored = Part::of(place).filter(|of| access == Access::Write && of.local == self.local && is_whole(of));
        stored.is_some_and(|of| of.field.is_none() || of.field == self.field)
    }
}

/// The parts of the holders, numbered: each is followed for itself.
#[derive(Debug, Default)]
struct Parts {
    all: Vec<Part>,
    of_local: FxHashMap<Local, Vec<usize>>,
}

impl Parts {
    fn add(&mut self, program: &Program, body: &Body, local: Local) {
        if self.of_local.contains_key(&local) {
            return;
        }
        let numbers = fields(program, body, local).into_iter().map(|field| {
            self.all.push(Part { local, field });
            self.all.len() - 1
        });
        let numbers = numbers.collect();
        self.of_local.insert(local, numbers);
    }

    /// The parts of a local, by number.
    fn of(&self, local: Local) -> impl Iterator<Item = (usize, Part)> + '_ {
        let numbers = self.of_local.get(&local).into_iter().flatten();
        numbers.filter_map(|&n| Some((n, *self.all.get(n)?)))
    }

    fn number(&self, part: Part) -> Option<usize> {
        self.of(part.local).find(|(_, of)| of.field == part.field).map(|(n, _)| n)
    }
}

/// The pairs of loans and holders, and where holders are live.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Loan, holder and its field if they hold apart, by number of the pair.
    pairs: Vec<(usize, Part)>,
    /// By pair: the number of the part.
    parts_of: Vec<usize>,
    /// By loan: its pairs, and whether the holder may hold it inside.
    of_loan: Vec<Vec<(usize, bool)>>,
    /// By local: its pairs.
    of_local: FxHashMap<Local, Vec<usize>>,
    /// By loan: it lasts as long as the storage of its holders.
    lexical: BitSet,
    /// The loans of `unpack`s, with the regions that these introduce: each lasts to the `unpack_end`
    /// with the same regions.
    unpacks: FxHashMap<usize, Vec<u32>>,
    /// The body calls something that returns twice.
    twice: bool,
    parts: Parts,
    /// By block and statement (the terminator last): the parts of holders that are read there or
    /// later.
    used: Vec<Vec<BitSet>>,
    outs: Outs,
}

impl Live {
    pub fn new(program: &Program, body: &Body, regions: &Regions) -> Live {
        let mut live = Live { lexical: BitSet::empty(regions.loans.len()), ..Live::default() };
        if regions.loans.is_empty() {
            return live;
        }
        let twice = mir::twice::returns_twice(program, body);
        live.twice = twice;
        let cursors = super::paths::cursors(body);
        for (n, loan) in regions.loans.iter().enumerate() {
            let of_cursor = loan.holders.iter().any(|h| cursors.contains(&h.local)) && is_cursor_begin(body, loan.at);
            if twice || of_cursor || matches!(loan.form, Form::Cursor | Form::Open) {
                live.lexical.insert(n);
            }
            let mut pairs = vec![];
            if let Some(of) = regions_of_unpack(body, loan.at).filter(|_| loan.form == Form::Unpack) {
                live.unpacks.insert(n, of.clone());
                pairs.extend(loan.place.base_local().map(|local| {
                    live.pairs.push((n, whole(local)));
                    (live.pairs.len() - 1, false)
                }));
            }
            for holder in &loan.holders {
                for field in fields(program, body, holder.local) {
                    let number = live.pairs.len();
                    live.pairs.push((n, Part { local: holder.local, field }));
                    live.of_local.entry(holder.local).or_default().push(number);
                    pairs.push((number, holder.inside));
                }
                live.parts.add(program, body, holder.local);
            }
            live.of_loan.push(pairs);
        }
        live.outs = Outs::new(program, body);
        let analysis = Used { parts: &live.parts, outs: &live.outs };
        let results = solve(&analysis, body, &Cfg::new(body));
        let mut used: Vec<Vec<BitSet>> = vec![vec![]; body.blocks.len()];
        // Backward: the state at a point is what is read after it; what the statement itself reads
        // is added.
        results.visit(&analysis, body, &mut |at, state, item| {
            let mut state = state.clone();
            match item {
                crate::framework::Item::Stmt(stmt) => analysis.statement(&mut state, at, stmt),
                crate::framework::Item::Term(term) => analysis.terminator(&mut state, at, term),
            }
            used.get_mut(at.block.0 as usize).into_iter().for_each(|block| block.push(state.clone()));
        });
        // They came in reverse.
        used.iter_mut().for_each(|block| block.reverse());
        live.used = used;
        let number = |(_, part): &(usize, Part)| live.parts.number(*part).unwrap_or(usize::MAX);
        live.parts_of = live.pairs.iter().map(number).collect();
        live
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Whether the holder of the pair is read at this point or later.
    fn is_used(&self, pair: usize, at: Point) -> bool {
        let used = self.used.get(at.block.0 as usize).and_then(|block| block.get(at.stmt));
        used.zip(self.parts_of.get(pair)).is_some_and(|(set, &n)| set.contains(n))
    }

    /// A live holder of the loan, if there is one: the loan is in force.
    pub fn holder(&self, s: &State, loan: usize, at: Point) -> Option<Part> {
        self.holders(s, loan, at).next()
    }

    /// The live holders of the loan.
    pub fn holders<'s>(&'s self, s: &'s State, loan: usize, at: Point) -> impl Iterator<Item = Part> + 's {
        let (lexical, unpack) = (self.lexical.contains(loan), self.unpacks.contains_key(&loan));
        let pairs = self.of_loan.get(loan).into_iter().flatten().filter(|(pair, _)| s.held.contains(*pair));
        pairs.filter_map(move |(pair, _)| {
            let (_, part) = *self.pairs.get(*pair)?;
            let stays = || (unpack || lexical && s.live.contains(part.local.0 as usize)) && !source::broken!(23);
            (self.is_used(*pair, at) || stays()).then_some(part)
        })
    }

    /// A holder of the region's loan that is used at the point or later, whatever it holds there.
    pub fn reader(&self, s: &State, loan: usize, at: Point) -> Option<Part> {
        let parts = self.of_loan.get(loan)?.iter().filter_map(|(pair, _)| Some((*pair, self.pairs.get(*pair)?.1)));
        let stays = |part: Part| self.twice && s.live.contains(part.local.0 as usize);
        parts.into_iter().find(|(pair, part)| self.is_used(*pair, at) || stays(*part)).map(|(_, part)| part)
    }

    /// Whether no others than these locals are live holders of the loan.
    pub fn is_held_by(&self, s: &State, loan: usize, at: Point, holders: &[Local]) -> bool {
        let held = self.of_loan.get(loan).into_iter().flatten().filter(|(pair, _)| s.held.contains(*pair));
        let mut live = held.filter(|(pair, _)| self.is_used(*pair, at)).filter_map(|(pair, _)| self.pairs.get(*pair));
        !self.lexical.contains(loan) && live.all(|(_, part)| holders.contains(&part.local))
    }

    /// All loans that some local holds, in order.
    pub fn held(&self, s: &State) -> Vec<usize> {
        let mut loans: Vec<usize> = s.held.iter().filter_map(|pair| self.pairs.get(pair)).map(|pair| pair.0).collect();
        count_work(loans.len());
        loans.sort_unstable();
        loans.dedup();
        loans
    }

    /// Whether a variable, not only temporaries, may ever hold the loan.
    pub fn variable(&self, body: &Body, loan: usize) -> Option<Local> {
        let holders = self.of_loan.get(loan)?.iter().filter_map(|(pair, _)| self.pairs.get(*pair));
        let is_variable = |l: &Local| body.locals.get(l.0 as usize).is_some_and(|d| d.kind != LocalKind::Temp);
        holders.map(|(_, part)| part.local).find(is_variable)
    }

    /// Ends the loan: no local holds it any more.
    pub fn end(&self, s: &mut State, loan: usize) {
        for (pair, _) in self.of_loan.get(loan).into_iter().flatten() {
            s.held.remove(*pair);
        }
    }

    /// The block of an `unpack` ends: the loans of the statements that introduce these regions. An
    /// `unpack` in a `defer` is there once for each way out, so there may be several.
    fn unpack_ends(&self, s: &mut State, regions: &[u32]) {
        let ended = self.unpacks.iter().filter(|(_, of)| of.as_slice() == regions);
        ended.for_each(|(&loan, _)| self.end(s, loan));
    }

    /// The pairs that a local or its field has, by number, with their loans.
    fn of_part(&self, part: Part) -> impl Iterator<Item = (usize, usize)> + '_ {
        let numbers = self.of_local.get(&part.local).into_iter().flatten();
        let pairs = numbers.filter_map(|&pair| Some((pair, self.pairs.get(pair)?)));
        pairs.filter(move |(_, (_, of))| part.overlaps(of.field)).map(|(pair, (loan, _))| (pair, *loan))
    }

    /// The loans that a local or its field holds.
    pub fn held_by(&self, s: &State, part: Part, loans: &mut Vec<usize>) {
        loans.extend(self.of_part(part).filter(|(pair, _)| s.held.contains(*pair)).map(|(_, loan)| loan));
    }

    fn give(&self, s: &mut State, part: Part, loans: &[usize]) {
        for (pair, _) in self.of_part(part).filter(|(_, loan)| loans.contains(loan)) {
            s.held.insert(pair);
        }
    }

    /// What was stored through a pointer may be wherever a local may see it.
    fn give_memory(&self, s: &mut State, loans: &[usize]) {
        for loan in loans {
            for (pair, _) in self.of_loan.get(*loan).into_iter().flatten().filter(|(_, inside)| *inside) {
                s.held.insert(*pair);
            }
        }
    }

    /// What the local or its field held is replaced. Loans that last to the end of a block stay,
    /// and so does what a local holds as a whole, of which a field is not all.
    fn take(&self, s: &mut State, part: Part) {
        for (pair, loan) in self.of_part(part) {
            let all = self.pairs.get(pair).is_some_and(|(_, of)| part.field.is_none() || of.field == part.field);
            if all && !self.lexical.contains(loan) {
                s.held.remove(pair);
            }
        }
    }

    /// Moves loans from local to local, as the statement moves values; `made` is the loan that it
    /// makes.
    pub fn flow(&self, s: &mut State, body: &Body, at: Point, stmt: &Stmt, made: Option<usize>) {
        if self.pairs.is_empty() {
            return;
        }
        self.moves(s, body, at, stmt, made);
        // What is copied as bytes is not seen to be read.
        if self.outs.bytes.is_empty() {
            self.forget_unused(s, body, Point { stmt: at.stmt + 1, ..at });
        }
    }

    /// What a holder that is not read from here on holds is not in force, and does not come back:
    /// it need not be looked at again. Only what no pointer leads to is sure not to be read.
    fn forget_unused(&self, s: &mut State, body: &Body, at: Point) {
        let is_over = |pair: &usize| {
            let Some((loan, part)) = self.pairs.get(*pair) else { return false };
            let reached = body.locals.get(part.local.0 as usize).is_none_or(|decl| decl.address_taken);
            let stays = self.lexical.contains(*loan) || self.unpacks.contains_key(loan);
            !reached && !stays && !self.is_used(*pair, at)
        };
        let over: Vec<usize> = s.held.iter().filter(is_over).collect();
        over.into_iter().for_each(|pair| s.held.remove(pair));
    }

    /// The same, for what is read later and what is not.
    fn moves(&self, s: &mut State, body: &Body, at: Point, stmt: &Stmt, made: Option<usize>) {
        if let Some(local) = stmt.kind.begins() {
            return self.take(s, whole(local));
        }
        if let Some(local) = stmt.kind.ends() {
            for &pair in self.of_local.get(&local).into_iter().flatten() {
                s.held.remove(pair);
            }
            return;
        }
        if let Some((_, regions)) = stmt.kind.as_unpack_end() {
            return self.unpack_ends(s, regions);
        }
        // A tag is not a value, and the end of a region brings none.
        if stmt.kind.as_set_tag().is_some() || stmt.kind.opens().is_some_and(|(_, begins)| !begins) {
            return;
        }
        let mut loans: Vec<usize> = made.into_iter().collect();
        let out = self.outs.written(at);
        let mut dests: Vec<Place> = vec![];
        stmt_places(&stmt.kind, &mut |place, access| {
            let part = match access {
                Access::Write => {
                    dests.push(place.clone());
                    None
                }
                Access::Read | Access::Move => Part::of(place),
                // The address of a field may lead to the whole (`container_of`).
                Access::Address => place.base_local().map(whole),
            };
            if let Some(part) = part.filter(|part| out.is_none_or(|(temp, _)| temp != part.local)) {
                self.held_by(s, part, &mut loans);
            }
        });
        // Pointers to bytes, whose types let no loan of what they lead to in.
        match self.outs.bytes.get(&at) {
            Some(Some(local)) => self.held_by(s, whole(*local), &mut loans),
            Some(None) => loans.extend(self.held(s)),
            None => {}
        }
        let call = match stmt.kind.action() {
            Action::Call | Action::Assembly | Action::Copy => true,
            Action::None
            | Action::Storage
            | Action::Check
            | Action::Assign
            | Action::Fill
            | Action::Arguments
            | Action::Owner
            | Action::Region
            | Action::Send
            | Action::Channel => false,
        };
        if let Some((_, local)) = out {
            self.take(s, whole(local));
            self.give(s, whole(local), &loans);
        }
        let swap = stmt.kind.as_swap();
        for place in swap.into_iter().flat_map(|(a, b)| [a, b]) {
            Part::of(place).into_iter().for_each(|part| self.give(s, part, &loans));
        }
        if stmt.kind.as_unpack().is_some() {
            for (pair, _) in made.and_then(|n| self.of_loan.get(n)).into_iter().flatten() {
                s.held.insert(*pair);
            }
        }
        let mut memory = call || swap.is_some();
        for dest in &dests {
            let Some(part) = Part::of(dest) else {
                memory = true;
                continue;
            };
            let seen = body.locals.get(part.local.0 as usize).is_none_or(|d| d.address_taken);
            memory |= dest.has_deref() || seen;
            let replaced = dest.proj.len() == usize::from(part.field.is_some());
            if replaced && swap.is_none() {
                self.take(s, part);
            }
            self.give(s, part, &loans);
        }
        if memory && (loans.is_empty() || !source::broken!(21)) {
            self.give_memory(s, &loans);
        }
    }
}

fn whole(local: Local) -> Part {
    Part { local, field: None }
}

/// Fields of a struct that hold apart, at most: each loan has a pair for each of them.
const MAX_FIELDS: usize = 8;

/// The fields of a local that may hold loans apart from each other; `None` if it holds as a whole.
fn fields(program: &Program, body: &Body, local: Local) -> Vec<Option<u32>> {
    let types = &program.types;
    let record = body.locals.get(local.0 as usize).and_then(|decl| match types.kind(decl.ty.ty) {
        TyKind::Record(id) => Some(types.record(*id)).filter(|record| record.kind == RecordKind::Struct),
        _ => None,
    });
    let numbered = record.and_then(|record| record.fields.as_ref()).into_iter().flat_map(|f| f.iter()).zip(0u32..);
    let held: Vec<Option<u32>> = numbered.filter(|(f, _)| types.has_pointers(f.ty.ty)).map(|(_, n)| Some(n)).collect();
    match held.len() {
        1..=MAX_FIELDS => held,
        _ => vec![None],
    }
}

/// The regions that the `unpack` at the point introduces.
fn regions_of_unpack(body: &Body, at: Point) -> Option<&Vec<u32>> {
    let stmt = body.blocks.get(at.block.0 as usize)?.stmts.get(at.stmt)?;
    stmt.kind.as_unpack().map(|(_, regions, _)| regions)
}

fn is_cursor_begin(body: &Body, at: Point) -> bool {
    let stmt = body.blocks.get(at.block.0 as usize).and_then(|b| b.stmts.get(at.stmt));
    stmt.is_some_and(|s| s.kind.as_cursor().is_some())
}

/// Arguments of calls that their types do not tell: those that are only written (`strtol`'s end, of
/// which C says that nothing is read there), and pointers that are copied as bytes.
#[derive(Debug, Default)]
struct Outs {
    /// By call: the temporary with the address, and the local that is written.
    calls: FxHashMap<Point, (Local, Local)>,
    /// Those temporaries.
    temps: FxHashSet<Local>,
    /// Where pointers are read through a pointer to bytes: the local that leads to them; `None` if
    /// it is not known, and may be any. So it is at calls of `memcpy` and the like, and where their
    /// result is a pointer to pointers again.
    bytes: FxHashMap<Point, Option<Local>>,
}

impl Outs {
    fn new(program: &Program, body: &Body) -> Outs {
        let mut outs = Outs::default();
        let mut resolver = None;
        let mut addresses: FxHashMap<Local, Option<Local>> = FxHashMap::default();
        let mut reads: FxHashMap<Local, u32> = FxHashMap::default();
        for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
            stmt_places(&stmt.kind, &mut |place, access| {
                let is_temp = |l: &Local| body.locals.get(l.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
                if let Some(local) = place.base_local().filter(|l| access != Access::Write && is_temp(l)) {
                    *reads.entry(local).or_default() += 1;
                }
            });
            if let Some((dest, value)) = stmt.kind.as_assign() {
                let of = value.as_address_of().and_then(Place::as_local);
                if let Some(temp) = dest.as_local() {
                    // A temporary that is assigned twice has no one address.
                    addresses.entry(temp).and_modify(|known| *known = None).or_insert(of);
                }
            }
        }
        for (at, stmt) in points(body) {
            if is_from_bytes(program, body, &stmt.kind) {
                outs.bytes.insert(at, None);
            }
            let Some(Call { args, ty, .. }) = stmt.kind.as_call() else { continue };
            let Some(func) = program.types.as_func(*ty) else { continue };
            let copied = func.copies.and_then(|(_, from)| whole_local(args.get(from as usize)?));
            if let Some(from) = copied {
                let resolver = resolver.get_or_insert_with(|| Resolver::new(body));
                let place = resolver.place(&Place { base: PlaceBase::Local(from), proj: vec![Proj::Deref] });
                match place_ty(program, body, &place).map(|q| q.ty) {
                    Ok(ty) if program.types.has_pointers(ty) => outs.bytes.insert(at, place.base_local()),
                    // What another copy returned.
                    Ok(ty) if matches!(program.types.kind(ty), TyKind::Void) => outs.bytes.insert(at, None),
                    _ => None,
                };
            }
            let Some((from, out)) = func.end_into else { continue };
            // `strtok_r` continues from what is there if its first argument is null.
            let goes_on = func.into.is_some() && !is_nonnull(program, body, args.get(from as usize));
            let temp = args.get(out as usize).and_then(whole_local);
            let Some(temp) = temp.filter(|t| !goes_on && reads.get(t) == Some(&1)) else { continue };
            if let Some(Some(local)) = addresses.get(&temp) {
                outs.temps.insert(temp);
                outs.calls.insert(at, (temp, *local));
            }
        }
        outs
    }

    /// The temporary and the local that the call at the point only writes.
    fn written(&self, at: Point) -> Option<(Local, Local)> {
        self.calls.get(&at).copied()
    }

    /// Whether the statement takes an address for such an argument: no use of the local.
    fn is_address(&self, kind: &StmtKind) -> bool {
        let address = kind.as_assign().filter(|(_, value)| value.as_address_of().is_some());
        address.and_then(|(dest, _)| dest.as_local()).is_some_and(|temp| self.temps.contains(&temp))
    }
}

/// Whether the statement makes a pointer to bytes one to pointers.
fn is_from_bytes(program: &Program, body: &Body, kind: &StmtKind) -> bool {
    let Some((dest, from)) = kind.as_assign().and_then(|(dest, value)| Some((dest, value.as_bits()?.0))) else {
        return false;
    };
    let types = &program.types;
    let leads_to_pointers = |ty| types.as_pointer(ty).is_some_and(|p| types.has_pointers(p.target.ty));
    place_ty(program, body, dest).is_ok_and(|q| leads_to_pointers(q.ty))
        && mir::ty::operand_ty(program, body, from).is_ok_and(|ty| !leads_to_pointers(ty))
}

fn is_nonnull(program: &Program, body: &Body, operand: Option<&Operand>) -> bool {
    let ty = operand.and_then(|o| mir::ty::operand_ty(program, body, o).ok());
    ty.and_then(|ty| program.types.as_pointer(ty)).is_some_and(|p| p.nonnull)
}

/// Parts of holders that are read later.
struct Used<'a> {
    parts: &'a Parts,
    outs: &'a Outs,
}

impl Used<'_> {
    fn ends(&self, state: &mut BitSet, local: Local) {
        self.parts.of(local).for_each(|(n, _)| state.remove(n));
    }
}

impl Analysis for Used<'_> {
    type State = BitSet;
    const DIRECTION: Direction = Direction::Backward;

    fn entry(&self) -> BitSet {
        BitSet::empty(self.parts.all.len())
    }

    fn join(&self, into: &mut BitSet, from: &BitSet, _rounds: u32) -> bool {
        into.union(from)
    }

    fn statement(&self, state: &mut BitSet, at: Point, stmt: &Stmt) {
        if let Some(local) = stmt.kind.storage() {
            return self.ends(state, local);
        }
        if self.outs.is_address(&stmt.kind) {
            let dest = stmt.kind.as_assign().and_then(|(dest, _)| dest.as_local());
            return dest.into_iter().for_each(|temp| self.ends(state, temp));
        }
        let mut reads = vec![];
        stmt_places(&stmt.kind, &mut |place, access| {
            for (n, part) in place.base_local().into_iter().flat_map(|local| self.parts.of(local)) {
                if part.is_replaced(place, access) {
                    state.remove(n);
                } else if part.is_read(place, access) {
                    reads.push(n);
                }
            }
        });
        if let Some((_, local)) = self.outs.written(at) {
            self.ends(state, local);
        }
        for n in reads {
            state.insert(n);
        }
    }

    fn terminator(&self, state: &mut BitSet, _at: Point, term: &Terminator) {
        term_places(&term.kind, &mut |place, access| {
            let parts = place.base_local().into_iter().flat_map(|local| self.parts.of(local));
            for (n, _) in parts.filter(|(_, part)| part.is_read(place, access)) {
                state.insert(n);
            }
        });
    }
}
