//! Origins: where the target of a pointer may live, and which of them outlives which.

use mir::bits::BitSet;
use mir::ir::*;
use mir::resolve::Resolver;
use rustc_hash::{FxHashMap, FxHashSet};
use source::Span;
use typing::tree::{BorrowKind, RegionKind};
use typing::types::{KeyKind, Region, TyKind};

use super::shape::{each_region, object_pointer};
use crate::framework::{points, Point};
use crate::lenders::given_to_leaves;
use crate::ownership::paths::{cursor_over, Over};
use crate::pass::Known;

/// Number of an origin.
pub(crate) type OriginId = usize;

/// `@heap`
pub(crate) const HEAP: OriginId = 0;
/// `@exchange`
pub(crate) const EXCHANGE: OriginId = 1;
/// The first of the body's own regions.
pub(crate) const ENTRIES: OriginId = 2;

/// Where the target of a pointer may live.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// The collected heap, globals, literals.
    Heap,
    /// The exchange heap.
    Exchange,
    /// A region of the body, by number.
    Entry(u32),
    /// A local, as long as its block lasts.
    Local(Local),
    /// A loan, by number.
    Loan(u32),
    /// A region that only a generic knows.
    Odd(Region),
    /// A region that a statement makes and nothing names, by number.
    Unnamed(u32),
}

/// Which kind of statement lends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A `Borrow`.
    Borrow,
    /// A `cursor`.
    Cursor,
    /// An `unpack` that lends.
    Unpack,
    /// An `open`: the key is away until the end of the block.
    Open,
    /// The address of a local is taken: it is lent until its storage ends.
    Address,
    /// A lender's result: what some slot holds.
    Result,
    /// An arena, or the arena of a key: whatever points into it may be used until the arena or the
    /// key's variable ends. Its place is the handle or the key.
    Region,
}

/// A loan: one statement that borrows.
#[derive(Clone, Debug)]
pub(crate) struct LoanSite {
    /// The statement.
    pub at: Point,
    /// Where.
    pub span: Span,
    /// How.
    pub kind: BorrowKind,
    /// What is lent.
    pub place: Place,
    /// Which kind of statement lends.
    pub form: Form,
    /// Only leaves get it.
    pub to_leaves: bool,
}

/// All origins of a body, and how they are related.
pub(crate) struct Origins<'a> {
    body: &'a Body,
    pub all: Vec<Origin>,
    locals: FxHashMap<Local, OriginId>,
    odd: FxHashMap<Region, OriginId>,
    pub loans: Vec<LoanSite>,
    /// Regions without a name: the region of the key, and where it is made.
    pub unnamed: Vec<(usize, Span)>,
    /// The loan that a statement makes.
    pub loan_at: FxHashMap<Point, usize>,
    /// Locals whose storage ends by a statement.
    pub stored: BitSet,
    first_loan: OriginId,
    /// Declared facts: the first outlives the second.
    facts: Vec<(OriginId, OriginId)>,
    /// By entry: the heap outlives it though it is a region variable (an unnamed parameter's
    /// outermost pointer).
    heap_outlives: Vec<bool>,
    /// By entry: an exchange arena.
    exchange: Vec<bool>,
    /// By entry that an arena declares: the arena's handle.
    arenas: FxHashMap<u32, Local>,
    /// By entry: scopes in which it is open, and where the opening stands.
    opens: Vec<Vec<(ScopeId, Span)>>,
    /// By entry that `unpack` introduced with a bound: the origins of the region that it is live
    /// with.
    bounds: FxHashMap<u32, Vec<OriginId>>,
}

impl<'a> Origins<'a> {
    /// Collects the origins of a body.
    pub fn new(program: &Program, known: &Known, body: &'a Body, resolver: &Resolver) -> Origins<'a> {
        let mut this = Origins {
            body,
            all: vec![Origin::Heap, Origin::Exchange],
            locals: FxHashMap::default(),
            odd: FxHashMap::default(),
            loans: vec![],
            unnamed: vec![],
            loan_at: FxHashMap::default(),
            stored: BitSet::empty(0),
            first_loan: 0,
            facts: vec![],
            heap_outlives: vec![false; body.regions.len()],
            exchange: vec![false; body.regions.len()],
            arenas: FxHashMap::default(),
            opens: vec![vec![]; body.regions.len()],
            bounds: FxHashMap::default(),
        };
        this.all.extend((0..body.regions.len()).map(|n| Origin::Entry(n as u32)));
        for (n, decl) in body.locals.iter().enumerate() {
            if decl.address_taken {
                this.local(Local(n as u32));
            }
        }
        this.find_sites(program, known, resolver);
        this.declared_facts(program);
        this.unnamed(program);
        this
    }

    /// Loans, opened scopes and exchange arenas.
    fn find_sites(&mut self, program: &Program, known: &Known, resolver: &Resolver) {
        let body = self.body;
        let mut loans: Vec<LoanSite> = vec![];
        let mut addresses: FxHashMap<Local, usize> = FxHashMap::default();
        let mut address_at = vec![];
        let stored = ends(body);
        let cursors = crate::ownership::paths::cursors(body);
        let owned = |place: &Place| {
            let ty = mir::ty::place_ty(program, body, place).map(|q| q.ty);
            ty.is_ok_and(|ty| mir::ty::owns(&program.types, ty))
        };
        let has_slot = |stmt: &Stmt| {
            let kind = stmt.kind.value().and_then(Rvalue::as_borrow).map(|(kind, ..)| kind);
            kind == Some(BorrowKind::Slot)
        };
        let lends_slots = body.blocks.iter().flat_map(|b| &b.stmts).any(has_slot);
        let given = match lends_slots {
            true => given_to_leaves(program, &known.leaves, body),
            false => FxHashSet::default(),
        };
        for (at, stmt) in points(body) {
            self.arenas.extend(stmt.kind.as_arena_end().map(|(handle, region)| (region, handle)));
            let mut lend = |kind, place: &Place, form| {
                let dest = stmt.kind.as_assign().and_then(|(dest, _)| dest.as_local());
                let to_leaves = kind == BorrowKind::Slot && dest.is_some_and(|dest| given.contains(&dest));
                loans.push(LoanSite { at, span: stmt.span, kind, place: place.clone(), form, to_leaves });
                loans.len() - 1
            };
            if let Some((dest, value)) = stmt.kind.as_assign() {
                if let Some((kind, place, _)) = value.as_borrow() {
                    // A cursor that advances keeps its own loan.
                    if !dest.as_local().is_some_and(|l| cursors.contains(&l)) {
                        lend(kind, place, Form::Borrow);
                    }
                } else if let Some(local) = value.as_address_of().and_then(Place::local_part) {
                    self.local(local);
                    if stored.contains(local.0 as usize) {
                        // One loan for all addresses of the local.
                        let whole = Place::local(local);
                        let number =
                            *addresses.entry(local).or_insert_with(|| lend(BorrowKind::Shared, &whole, Form::Address));
                        address_at.push((at, number));
                    }
                }
            } else if let Some(call) = stmt.kind.as_call() {
                if let Some(dest) = call.dest.as_ref().filter(|_| !stmt.is_unsafe && known.lenders.calls(call.callee)) {
                    lend(BorrowKind::Shared, dest, Form::Result);
                }
            } else if let Some((_, place)) = stmt.kind.as_cursor() {
                match cursor_over(program, body, resolver, place) {
                    Over::Slot(Some(path)) => {
                        // Of a vector of the exchange heap one element at a time is exposed.
                        let pointer = mir::ty::place_ty(program, body, &path).ok();
                        let pointer = pointer.and_then(|q| program.types.as_pointer(q.ty));
                        let kind = match pointer.is_some_and(|p| p.region == Region::Exchange) {
                            true => BorrowKind::Lend,
                            false => BorrowKind::Shared,
                        };
                        lend(kind, &path, Form::Borrow);
                    }
                    Over::Slot(None) | Over::Path | Over::Content => {
                        lend(BorrowKind::Slot, place, Form::Cursor);
                    }
                }
            } else if let Some((place, _, false)) = stmt.kind.as_unpack() {
                // What owns nothing is copied out.
                if owned(place) {
                    lend(BorrowKind::Lend, place, Form::Unpack);
                }
            } else if let Some((handle, key, Region::Body(n))) = stmt.kind.as_open() {
                lend(BorrowKind::Slot, key, Form::Open);
                let decl = body.locals.get(handle.0 as usize);
                if let (Some(opens), Some(decl)) = (self.opens.get_mut(n as usize), decl) {
                    opens.push((decl.scope, decl.span));
                }
            }
        }
        for loan in &loans {
            if let Some(local) = loan.place.local_part().filter(|_| loan.kind.by_address()) {
                self.local(local);
            }
        }
        self.first_loan = self.all.len();
        self.all.extend((0..loans.len()).map(|n| Origin::Loan(n as u32)));
        self.loan_at = loans.iter().enumerate().map(|(n, loan)| (loan.at, n)).chain(address_at).collect();
        self.stored = stored;
        self.loans = loans;
        for decl in &body.locals {
            if let TyKind::Key(KeyKind::Exchange, Region::Body(n)) = program.types.kind(decl.ty.ty) {
                if let Some(flag) = self.exchange.get_mut(*n as usize) {
                    *flag = true;
                }
            }
        }
    }

    fn declared_facts(&mut self, program: &Program) {
        let function = program.functions.get(self.body.func.func.0 as usize);
        let Some(func) = function.and_then(|f| program.types.as_func(f.ty)) else { return };
        for (long, short) in &func.outlives {
            if let (Some(a), Some(b)) = (self.of_prototype(*long), self.of_prototype(*short)) {
                self.facts.push((a, b));
            }
        }
        // The closure: lists are a handful long.
        loop {
            let mut new = vec![];
            for &(a, b) in &self.facts {
                for &(c, d) in &self.facts {
                    if b == c && !self.facts.contains(&(a, d)) && !new.contains(&(a, d)) {
                        new.push((a, d));
                    }
                }
            }
            if new.is_empty() {
                return;
            }
            self.facts.extend(new);
        }
    }

    /// A region of the function's own type.
    pub fn of_prototype(&mut self, region: Region) -> Option<OriginId> {
        match region {
            Region::Heap => Some(HEAP),
            Region::Exchange => Some(EXCHANGE),
            Region::Bound(0, n) | Region::Body(n) => {
                Some(ENTRIES + n as usize).filter(|&o| o < ENTRIES + self.body.regions.len())
            }
            other => Some(self.odd(other)),
        }
    }

    /// Finds the variables of parameters' outermost pointers that occur nowhere else: the heap
    /// outlives them.
    fn unnamed(&mut self, program: &Program) {
        let types = &program.types;
        for (n, region) in self.body.regions.iter().enumerate() {
            let unnamed = region.decl.name.is_none() && region.decl.kind == RegionKind::Param;
            if let Some(flag) = self.heap_outlives.get_mut(n) {
                *flag = unnamed;
            }
        }
        for decl in self.body.locals.iter().take(self.body.params as usize) {
            let inner = match object_pointer(types, decl.ty.ty) {
                Some(p) => p.target.ty,
                None => decl.ty.ty,
            };
            each_region(types, inner, 0, 0, &mut |(region, _)| {
                if let Region::Body(n) = region {
                    if let Some(flag) = self.heap_outlives.get_mut(n as usize) {
                        *flag = false;
                    }
                }
            });
        }
    }

    /// The origin of a local's address.
    pub fn local(&mut self, local: Local) -> OriginId {
        if let Some(&id) = self.locals.get(&local) {
            return id;
        }
        let id = self.all.len();
        self.all.push(Origin::Local(local));
        self.locals.insert(local, id);
        id
    }

    /// The origin of a loan.
    pub fn loan(&self, number: usize) -> OriginId {
        self.first_loan + number
    }

    /// What pointers that hold the loan come from.
    pub fn origin_of_loan(&self, number: usize) -> OriginId {
        let local = self.loans.get(number).filter(|loan| loan.form == Form::Address).and_then(|l| l.place.base_local());
        local.and_then(|l| self.locals.get(&l).copied()).unwrap_or(self.first_loan + number)
    }

    /// The number of the loan that a statement makes; that of the address of a local is not one of
    /// a borrow.
    pub fn loan_at(&self, at: Point) -> Option<usize> {
        let is_borrow = |n: &usize| self.loans.get(*n).is_some_and(|loan| loan.form != Form::Address);
        self.loan_at.get(&at).copied().filter(is_borrow)
    }

    /// Whether it is a lender's result.
    pub fn is_result(&self, origin: OriginId) -> bool {
        match self.get(origin) {
            Origin::Loan(n) => self.loans.get(n as usize).is_some_and(|loan| loan.form == Form::Result),
            Origin::Heap
            | Origin::Exchange
            | Origin::Entry(_)
            | Origin::Local(_)
            | Origin::Odd(_)
            | Origin::Unnamed(_) => false,
        }
    }

    /// The origin of a region that only a generic knows.
    pub fn odd(&mut self, region: Region) -> OriginId {
        if let Some(&id) = self.odd.get(&region) {
            return id;
        }
        let id = self.all.len();
        self.all.push(Origin::Odd(region));
        self.odd.insert(region, id);
        id
    }

    /// The origin of a region that a statement makes and nothing names.
    pub fn make_unnamed(&mut self, node: usize, span: Span) -> OriginId {
        self.all.push(Origin::Unnamed(self.unnamed.len() as u32));
        self.unnamed.push((node, span));
        self.all.len() - 1
    }

    /// The entry is live as long as all these are.
    pub fn set_bound(&mut self, entry: u32, origins: Vec<OriginId>) {
        self.bounds.insert(entry, origins);
    }

    /// The origins that a pointer of this origin lives as long as: itself, or those of what bounds
    /// a hidden region.
    pub fn lives_with(&self, origin: OriginId) -> Vec<OriginId> {
        let (mut all, mut next) = (vec![origin], 0);
        while let Some(&at) = all.get(next) {
            next += 1;
            let Origin::Entry(n) = self.get(at) else { continue };
            for &bound in self.bounds.get(&n).into_iter().flatten() {
                if !all.contains(&bound) {
                    all.push(bound);
                }
            }
        }
        all.retain(|&o| !matches!(self.get(o), Origin::Entry(n) if self.bounds.contains_key(&n)));
        all
    }

    pub fn get(&self, id: OriginId) -> Origin {
        self.all.get(id).copied().unwrap_or(Origin::Heap)
    }

    pub fn entry(&self, n: u32) -> Option<&'a BodyRegion> {
        self.body.regions.get(n as usize)
    }

    pub fn is_exchange_arena(&self, n: u32) -> bool {
        self.exchange.get(n as usize).copied().unwrap_or(false)
    }

    fn heap_outlives(&self, n: u32) -> bool {
        self.heap_outlives.get(n as usize).copied().unwrap_or(false)
    }

    /// Whether `inner` is `outer` or lies in it.
    pub fn encloses(&self, outer: ScopeId, inner: ScopeId) -> bool {
        let mut at = Some(inner);
        while let Some(scope) = at {
            if scope == outer {
                return true;
            }
            // Parents stand before their children; anything else ends the walk.
            at = self.body.scopes.get(scope.0 as usize).and_then(|s| s.parent).filter(|p| p.0 < scope.0);
        }
        false
    }

    fn scope_of(&self, local: Local) -> ScopeId {
        self.body.locals.get(local.0 as usize).map_or(ScopeId(0), |d| d.scope)
    }

    /// Whether what lives in `long` lives at least as long as all in region `short` (an origin that
    /// a type can name).
    pub fn outlives(&self, long: OriginId, short: OriginId) -> bool {
        if long == short || self.facts.contains(&(long, short)) {
            return true;
        }
        if matches!(self.get(long), Origin::Entry(n) if self.bounds.contains_key(&n)) {
            return self.lives_with(long).iter().all(|&bound| self.outlives(bound, short));
        }
        let Origin::Entry(n) = self.get(short) else { return false };
        let Some(region) = self.entry(n) else { return false };
        let lexical = matches!(region.decl.kind, RegionKind::Block | RegionKind::Lifo(_) | RegionKind::Loan);
        match self.get(long) {
            Origin::Heap => match region.decl.kind {
                RegionKind::Param => self.heap_outlives(n),
                // It may be an exchange arena's.
                RegionKind::Hidden => false,
                RegionKind::ParamKey | RegionKind::Dynamic => !self.is_exchange_arena(n),
                _ => true,
            },
            // What is lent of a block ends with the loan, which goes along.
            Origin::Exchange => region.decl.kind == RegionKind::Loan,
            Origin::Odd(_) => lexical,
            Origin::Unnamed(_) => false,
            Origin::Local(local) => lexical && self.encloses(self.scope_of(local), region.scope),
            Origin::Loan(loan) => {
                let base = self.loans.get(loan as usize).and_then(|l| l.place.base_local());
                let holds = region.decl.kind == RegionKind::Loan;
                holds && base.is_none_or(|local| self.encloses(self.scope_of(local), region.scope))
            }
            Origin::Entry(m) => self.entry_outlives(m, n, region, lexical),
        }
    }

    fn entry_outlives(&self, m: u32, n: u32, short: &BodyRegion, lexical: bool) -> bool {
        let Some(long) = self.entry(m) else { return false };
        let earlier = |scope: ScopeId, span: Span| {
            self.encloses(scope, short.scope) && (scope != short.scope || span.lo < short.decl.span.lo)
        };
        match long.decl.kind {
            RegionKind::Param => lexical,
            RegionKind::Block => lexical && m != n && self.encloses(long.scope, short.scope),
            RegionKind::Lifo(_) | RegionKind::Loan => {
                lexical && short.decl.kind != RegionKind::Block && earlier(long.scope, long.decl.span)
                    || lexical && long.scope != short.scope && self.encloses(long.scope, short.scope)
            }
            // One without a bound hides nothing.
            RegionKind::Hidden => false,
            RegionKind::ParamKey | RegionKind::Dynamic => {
                let open = self.opens.get(m as usize).map_or(&[][..], |o| o.as_slice());
                lexical && open.iter().any(|&(scope, span)| earlier(scope, span))
            }
        }
    }

    /// The variable whose end is the end of the region's name, as an access: the handle of an
    /// arena, the key that a region was made with, what an `unpack` binds. Blocks and borrows have
    /// none: nothing lies in them but what locals and loans end.
    pub fn ends_with(&self, program: &Program, n: u32) -> Option<Local> {
        let region = self.entry(n)?;
        match region.decl.kind {
            RegionKind::Lifo(_) => self.arenas.get(&n).copied(),
            RegionKind::Dynamic => {
                super::live::made_with(program, self.body, n).or_else(|| self.bound_in(program, n, region))
            }
            RegionKind::Hidden => self.bound_in(program, n, region),
            RegionKind::Param | RegionKind::ParamKey | RegionKind::Block | RegionKind::Loan => None,
        }
    }

    /// A variable of the region's own scope that may point into it. If there is none, no pointer
    /// into the region left the struct that hides it.
    fn bound_in(&self, program: &Program, n: u32, region: &BodyRegion) -> Option<Local> {
        let mentions = |decl: &LocalDecl| {
            let mut found = false;
            let mut look = |(region, level)| found |= level == 0 && region == Region::Body(n);
            each_region(&program.types, decl.ty.ty, 0, 0, &mut look);
            found
        };
        let is_bound = |decl: &LocalDecl| decl.kind == LocalKind::Var && decl.scope == region.scope && mentions(decl);
        self.body.locals.iter().position(is_bound).map(|local| Local(local as u32))
    }

    /// Whether the local is declared where the region's name is in scope. Its storage ends before
    /// the region does.
    pub fn is_declared_in(&self, n: u32, local: Local) -> bool {
        let (Some(region), Some(decl)) = (self.entry(n), self.body.locals.get(local.0 as usize)) else { return true };
        self.encloses(region.scope, decl.scope) && region.decl.span.lo <= decl.span.lo
    }
}

/// The locals whose storage ends by a statement.
fn ends(body: &Body) -> BitSet {
    let mut ends = BitSet::empty(body.locals.len());
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        if let Some(local) = stmt.kind.ends() {
            ends.insert(local.0 as usize);
        }
    }
    ends
}
