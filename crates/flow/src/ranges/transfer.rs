//! What statements do to the facts.

use super::guarded;
use super::interval::Range;
use super::state::{ExprId, State, Term, ZERO};
use super::terms::{int_range, Key, Val, Write};
use super::{Compared, Problem};
use mir::effects::{accesses, flags, stmt_places, Access, Kind};
use mir::ir::*;
use typing::tree::FuncRef;
use typing::types::*;

/// A new value: its range, and how it compares with old values.
pub(super) struct Out {
    pub(super) range: Range,
    /// `x - y <= c`
    pub(super) below: Vec<(Val, i128)>,
    /// `y - x <= c`
    pub(super) above: Vec<(Val, i128)>,
}

impl Out {
    fn range(range: Range) -> Out {
        Out { range, below: vec![], above: vec![] }
    }

    /// The value of `y` plus something in `by`.
    fn near(mut self, y: Val, by: Range) -> Out {
        self.below.push((y, by.hi));
        self.above.push((y, -by.lo));
        self
    }

    fn at_most(mut self, y: Val) -> Out {
        self.below.push((y, 0));
        self
    }
}

/// The numbers that a count may be.
const COUNTS: Range = Range { lo: 0, hi: i64::MAX as i128, step: 1 };

impl Problem<'_> {
    /// What callers guarantee: an unsigned count of a parameter is at most the size of an object
    /// (the call checks it).
    pub(super) fn contract(&self) -> State {
        let mut state = State::default();
        let program = self.program;
        let Some(function) = program.functions.get(self.body.func.func.0 as usize) else { return state };
        let Some(func) = program.types.as_func(function.ty) else { return state };
        if func.abi != Abi::Leeward {
            return state;
        }
        for param in func.params.iter().filter(|p| !p.optional) {
            if let Some(Pointer { bounds: Bounds::Counted(id), .. }) = program.types.as_pointer(param.ty) {
                self.contract_count(&mut state, id);
            }
        }
        state
    }

    fn contract_count(&self, state: &mut State, id: CountId) {
        match *self.program.types.count_expr(id) {
            CountExpr::Param(n) => {
                let Some(term) = self.terms.term(&Place::local(Local(n))) else { return };
                if self.terms.type_of(term).lo == 0 && n < self.body.params {
                    state.add(term, ZERO, i128::from(i64::MAX), &self.terms.types);
                }
            }
            CountExpr::Add(a, b) | CountExpr::Sub(a, b) | CountExpr::Mul(a, b) => {
                self.contract_count(state, a);
                self.contract_count(state, b);
            }
            CountExpr::Div(a, _) => self.contract_count(state, a),
            CountExpr::Const(_) | CountExpr::Field(_) => {}
        }
    }

    /// One statement.
    pub(super) fn step(&self, state: &mut State, stmt: &Stmt) {
        let kind = &stmt.kind;
        match kind.action() {
            Action::Assign => {
                let Some((place, value)) = kind.as_assign() else { return };
                let known = !stmt.is_unsafe && guarded::is_quiet(value);
                self.assign(state, place, value, known);
                // A negative count has no room, which is a fault.
                if let Some(Allocation { count, fallible: false, .. }) = value.as_alloc() {
                    let own = count.place().is_some_and(|c| c.base == place.base);
                    if let (false, Some(count)) = (own, self.terms.val(&self.program.types, count)) {
                        self.assume(state, Val::Const(0), count, 0);
                    }
                }
            }
            Action::Check => kind.as_check().into_iter().for_each(|check| self.checked(state, check)),
            Action::Call => {
                let Some(Call { dest, callee, args, .. }) = kind.as_call() else { return };
                let compared = dest.as_ref().map_or(vec![], |dest| self.compared(state, dest, callee, args));
                let taken = |arg: &Operand| matches!(arg, Operand::Move(from) if from.as_local().is_none());
                let quiet = |f: &FuncRef| self.summaries.guarded.is_quiet(f) && !args.iter().any(taken);
                if stmt.is_unsafe || !matches!(callee, Callee::Direct(f) if quiet(f)) {
                    self.forget_memory(state);
                }
                state.stopped |= matches!(callee, Callee::Direct(f) if self.summaries.never_returns(f));
                if let Some(dest) = dest {
                    self.store(state, dest, !stmt.is_unsafe);
                    self.result(state, dest, callee, &compared);
                }
            }
            Action::None => {
                let proven = kind.as_nonnull_proof().filter(|_| !stmt.is_unsafe);
                if let Some(Val::Term(t)) = proven.and_then(|p| self.terms.val(&self.program.types, p)) {
                    state.set_range(t, Range::single(1), &self.terms.types);
                }
            }
            Action::Storage => kind.storage().into_iter().for_each(|local| self.write(state, &Place::local(local))),
            Action::Fill => {
                self.writes(state, kind);
                if let Some(term) = kind.as_zero().and_then(|place| self.terms.term(place)) {
                    state.set_range(term, Range::single(0), &self.terms.types);
                }
            }
            // `va_end` changes its list as well.
            Action::Arguments => accesses(kind, &mut |place, access, _| {
                if matches!(access, Kind::Write | Kind::Step) {
                    self.write(state, place);
                }
            }),
            Action::Assembly | Action::Copy | Action::Owner | Action::Region => {
                let mut touches = flags(kind).memory;
                stmt_places(kind, &mut |_, _| touches = true);
                if touches {
                    self.forget_memory(state);
                }
                self.writes(state, kind);
            }
            Action::Send | Action::Channel => {
                if flags(kind).waits {
                    self.forget_memory(state);
                }
                self.writes(state, kind);
            }
        }
    }

    /// The statement changes the places that it writes, and may change those whose address it gives
    /// away.
    fn writes(&self, state: &mut State, kind: &StmtKind) {
        stmt_places(kind, &mut |place, access| {
            if matches!(access, Access::Write | Access::Address) {
                self.write(state, place);
            }
        });
    }

    /// How the result of a call compares with its arguments: their bounds before the call, and the
    /// terms among them that a call leaves alone.
    fn compared(&self, state: &State, dest: &Place, callee: &Callee, args: &[Operand]) -> Vec<(Compared, Range, Val)> {
        let Callee::Direct(func) = callee else { return vec![] };
        let all = self.summaries.compared(func).iter();
        let known = all.filter_map(|c| {
            let arg = self.terms.val(&self.program.types, args.get(c.param as usize)?)?;
            let lasts = |t: Term| {
                let memory = self.terms.memory.get(t as usize) != Some(&false);
                !memory && !self.terms.touched(self.program, self.body, t, &self.writing(dest, true))
            };
            let range = self.precise(state, arg);
            Some(match arg {
                Val::Term(t) if lasts(t) => (*c, range, arg),
                Val::Term(_) | Val::Const(_) => (*c, range, Val::Const(0)),
            })
        });
        known.collect()
    }

    fn result(&self, state: &mut State, dest: &Place, callee: &Callee, compared: &[(Compared, Range, Val)]) {
        let (Some(term), Callee::Direct(func)) = (self.terms.term(dest), callee) else { return };
        let known = self.summaries.result(func).filter(|r| self.terms.type_of(term).covers(*r));
        if let Some(range) = known {
            state.set_range(term, range, &self.terms.types);
        }
        for (c, argument, arg) in compared {
            let types = &self.terms.types;
            let range = state.range(term, types);
            let most = c.above.map_or(range.hi, |above| argument.hi + above);
            let least = c.below.map_or(range.lo, |below| argument.lo - below);
            if let Some(range) = range.at_most(most).and_then(|r| r.at_least(least)) {
                state.set_range(term, range, types);
            }
            let Val::Term(arg) = *arg else { continue };
            let above = c.above.map(|c| (term, arg, c));
            let below = c.below.map(|c| (arg, term, c));
            for (a, b, c) in above.into_iter().chain(below) {
                // What contradicts says that this is not reached.
                let _ = state.add(a, b, c, types);
            }
        }
    }

    /// Forgets what lies in memory.
    fn forget_memory(&self, state: &mut State) {
        let gone = |t: Term| self.terms.memory.get(t as usize) == Some(&true) && !source::broken!(37);
        self.forget(state, &gone);
    }

    /// A write to the place. `known`: it stores a value as it is, in safe code.
    fn writing<'p>(&self, place: &'p Place, known: bool) -> Write<'p> {
        self.terms.write(self.program, self.body, &self.summaries.guarded, place, known)
    }

    /// Forgets what a write to the place may change.
    fn write(&self, state: &mut State, place: &Place) {
        self.store(state, place, false);
    }

    /// The same; `known` as in `writing`.
    fn store(&self, state: &mut State, place: &Place, known: bool) {
        let whole = place.as_local();
        let hidden = whole.and_then(|l| self.body.locals.get(l.0 as usize)).is_some_and(|d| !d.address_taken);
        if let (Some(local), true) = (whole, hidden) {
            // Nothing else changes than what begins there.
            return self.forget(state, &|t| self.terms.base.get(t as usize) == Some(&Some(local)));
        }
        let write = self.writing(place, known);
        let gone = |t: Term| self.terms.touched(self.program, self.body, t, &write) && !source::broken!(37);
        self.forget(state, &gone);
    }

    fn forget(&self, state: &mut State, gone: &dyn Fn(Term) -> bool) {
        let mentions = |e: ExprId| {
            let vals = self.terms.key_of(e).map_or([None, None], |k| k.vals());
            vals.iter().flatten().any(|v| matches!(v, Val::Term(t) if gone(*t)))
        };
        state.forget(gone, mentions, &self.terms.types);
    }

    fn assign(&self, state: &mut State, place: &Place, value: &Rvalue, known: bool) {
        if let Some((list, _)) = value.as_va_arg() {
            self.write(state, list);
        }
        let Some(term) = self.terms.term(place) else {
            return self.store(state, place, known);
        };
        let expr = self.terms.key(self.program, self.body, value).and_then(|k| self.terms.expr(k));
        let mut out = self.value(state, term, value);
        if let Some(same) = expr.and_then(|e| self.same_value(state, e)) {
            let range = self.range(state, Val::Term(same));
            out.range = out.range.at_least(range.lo).and_then(|r| r.at_most(range.hi)).unwrap_or(out.range);
            out = out.near(Val::Term(same), Range::single(0));
        }
        let relations = self.relations(state, term, &out);
        self.store(state, place, known);
        let types = &self.terms.types;
        let whole = self.terms.type_of(term);
        let range = out.range.at_least(whole.lo).and_then(|r| r.at_most(whole.hi)).unwrap_or(whole);
        state.set_range(term, range, types);
        let write = self.writing(place, known);
        let touched = |t: Term| t == term || self.terms.touched(self.program, self.body, t, &write);
        for (a, b, c) in relations {
            if (a == term || !touched(a)) && (b == term || !touched(b)) {
                let _ = state.add(a, b, c, types);
            }
        }
        if let Some(expr) = expr {
            let key = self.terms.key_of(expr);
            let own = key.is_some_and(|k| k.vals().iter().flatten().any(|v| matches!(v, Val::Term(t) if touched(*t))));
            if !own {
                state.hold(expr, term);
            }
        }
    }

    /// A term that holds the expression's value: the expression itself, or one over terms that are
    /// equal.
    fn same_value(&self, state: &State, expr: ExprId) -> Option<Term> {
        if let Some(holder) = state.holder(expr) {
            return Some(holder);
        }
        let key = self.terms.key_of(expr)?;
        let terms = key.vals().into_iter().flatten().filter_map(|v| match v {
            Val::Term(t) => Some(t),
            Val::Const(_) => None,
        });
        for t in terms {
            let equal = state.differences.iter().filter(|d| d.0 == t && d.2 == 0).map(|d| d.1);
            for y in equal.filter(|&y| state.differences.contains(&(y, t, 0))).take(4) {
                let other = self.terms.expr(key.with(t, y)).and_then(|e| state.holder(e));
                if other.is_some() {
                    return other;
                }
            }
        }
        None
    }

    /// Differences between the new value of `term` and everything else. Those with its own old
    /// value are carried over to what that was compared with.
    fn relations(&self, state: &State, term: Term, out: &Out) -> Vec<(Term, Term, i128)> {
        let mut found = vec![];
        for &(y, c) in &out.below {
            match y {
                Val::Term(y) if y != term => found.push((term, y, c)),
                Val::Term(_) => {
                    found.extend(state.differences.iter().filter(|d| d.0 == term).map(|&(_, z, k)| (term, z, k + c)));
                }
                Val::Const(_) => {}
            }
        }
        for &(y, c) in &out.above {
            match y {
                Val::Term(y) if y != term => found.push((y, term, c)),
                Val::Term(_) => {
                    found.extend(state.differences.iter().filter(|d| d.1 == term).map(|&(z, _, k)| (z, term, k + c)));
                }
                Val::Const(_) => {}
            }
        }
        found
    }

    fn value(&self, state: &State, dest: Term, value: &Rvalue) -> Out {
        let types = &self.program.types;
        let whole = self.terms.type_of(dest);
        let unknown = || Out::range(whole);
        let val = |operand: &Operand| self.terms.val(types, operand);
        let same = match value.made_of() {
            Some((a, Way::Same | Way::Word(Part::Ptr) | Way::Fat | Way::Counted | Way::Typed)) => Some(a),
            // Numbers that may change on the way.
            Some((_, Way::Bits | Way::Number | Way::Moved | Way::Retained))
            | Some((_, Way::Word(Part::Lo | Part::Hi | Part::Type)))
            | None => None,
        };
        if let Some(a) = same {
            return val(a).map_or_else(unknown, |a| Out::range(self.range(state, a)).near(a, Range::single(0)));
        }
        let object = value.as_address_of().is_some_and(|place| !place.has_deref());
        if object || value.as_alloc().is_some_and(|made| !made.fallible) {
            return Out::range(Range::single(1));
        }
        let top = match value.as_unary() {
            Some((UnOp::Neg, a)) => Some((0, a)),
            Some((UnOp::BitNot, a)) => Some((if whole.lo < 0 { -1 } else { whole.hi }, a)),
            Some((UnOp::Not | UnOp::Real | UnOp::Imag, _)) | None => None,
        };
        if let Some((top, a)) = top {
            let below = |a| self.fit(whole, Range::single(top).minus(self.precise(state, a)));
            return val(a).map_or_else(unknown, below);
        }
        if value.as_remaining().or(value.as_measure()).or(value.as_block_size()).is_some() {
            return Out::range(COUNTS);
        }
        match self.terms.key(self.program, self.body, value) {
            Some(key) => self.expression(state, whole, key),
            None if value.comparison().is_some() => Out::range(Range::new(0, 1)),
            None => unknown(),
        }
    }

    /// The range, if it is one of the type: then nothing wraps.
    fn fit(&self, whole: Range, range: Range) -> Out {
        Out::range(if whole.covers(range) { range } else { whole })
    }

    fn expression(&self, state: &State, whole: Range, key: Key) -> Out {
        match key {
            Key::Truth(a) => Out::range(self.truth(state, a)),
            Key::Not(a) => Out::range(Range::single(1).minus(self.truth(state, a))),
            Key::Clamp(a) => self.clamp(state, a),
            Key::Numeric(a, ty) => {
                let range = self.precise(state, a);
                let Some(to) = int_range(&self.program.types, ty) else { return Out::range(whole) };
                if matches!(self.program.types.kind(ty), TyKind::Bool) {
                    return Out::range(self.truth(state, a));
                }
                if to.covers(range) {
                    return Out::range(range).near(a, Range::single(0));
                }
                Out::range(to)
            }
            Key::Count(op, a, b) => {
                // What does not fit is a fault.
                let out = self.arithmetic(state, op, a, b, 64);
                let counts = Range::new(i128::from(i64::MIN), i128::from(i64::MAX));
                let range = out.range.at_least(counts.lo).and_then(|r| r.at_most(counts.hi)).unwrap_or(counts);
                Out { range, ..out }
            }
            Key::Binary(op, a, b, _) if mir::ty::is_comparison(op) => Out::range(self.comparison(state, op, a, b)),
            Key::Binary(op, a, b, ty) => {
                let Some(own) = int_range(&self.program.types, ty) else { return Out::range(whole) };
                let bits = 128 - (own.hi - own.lo).leading_zeros();
                let out = self.arithmetic(state, op, a, b, bits);
                if own.covers(out.range) {
                    out
                } else {
                    Out::range(own)
                }
            }
        }
    }

    fn truth(&self, state: &State, a: Val) -> Range {
        let range = self.precise(state, a);
        match (range.contains(0), range.constant()) {
            (false, _) => Range::single(1),
            (true, Some(_)) => Range::single(0),
            _ => Range::new(0, 1),
        }
    }

    fn clamp(&self, state: &State, a: Val) -> Out {
        let range = self.precise(state, a);
        if range.lo >= 0 {
            return Out::range(range).near(a, Range::single(0));
        }
        let mut out = Out::range(Range::new(0, range.hi.max(0)));
        out.above.push((a, 0));
        out
    }

    fn comparison(&self, state: &State, op: BinOp, a: Val, b: Val) -> Range {
        let (less, more) = (self.bound(state, a, b), self.bound(state, b, a));
        let known = match op {
            BinOp::Lt if less < 0 => Some(true),
            BinOp::Lt if more <= 0 => Some(false),
            BinOp::Le if less <= 0 => Some(true),
            BinOp::Le if more < 0 => Some(false),
            BinOp::Gt if more < 0 => Some(true),
            BinOp::Gt if less <= 0 => Some(false),
            BinOp::Ge if more <= 0 => Some(true),
            BinOp::Ge if less < 0 => Some(false),
            BinOp::Eq | BinOp::Ne if less < 0 || more < 0 => Some(op == BinOp::Ne),
            BinOp::Eq | BinOp::Ne if less == 0 && more == 0 => Some(op == BinOp::Eq),
            _ => None,
        };
        known.map_or(Range::new(0, 1), |k| Range::single(i128::from(k)))
    }

    /// The true result, which need not fit in the type of so many bits.
    pub(super) fn arithmetic(&self, state: &State, op: BinOp, a: Val, b: Val, bits: u32) -> Out {
        let (ra, rb) = (self.precise(state, a), self.precise(state, b));
        let positive = ra.lo >= 0 && rb.lo >= 0;
        match op {
            BinOp::Add => Out::range(ra.plus(rb)).near(a, rb).near(b, ra),
            BinOp::Sub => {
                let mut range = ra.minus(rb);
                let (most, least) = (self.bound(state, a, b), -self.bound(state, b, a));
                if least <= most {
                    range = range.at_least(least).and_then(|r| r.at_most(most)).unwrap_or(range);
                }
                Out::range(range).near(a, Range::new(-rb.hi, -rb.lo))
            }
            BinOp::Mul => Out::range(ra.times(rb)),
            BinOp::Div => match ra.over(rb) {
                Some(range) if positive => Out::range(range).at_most(a),
                Some(range) => Out::range(range),
                None => Out::range(WIDE),
            },
            BinOp::Rem if rb.constant() != Some(0) => {
                let mut out = Out::range(ra.remainder(rb));
                if ra.lo >= 0 {
                    out = out.at_most(a);
                    if rb.lo >= 0 {
                        // A divisor of 0 has faulted.
                        out.below.push((b, -1));
                    }
                }
                out
            }
            BinOp::BitAnd => self.and(ra, rb, a, b),
            BinOp::BitOr if positive => {
                let mut out = Out::range(Range::new(ra.lo.max(rb.lo), ones(ra.hi.max(rb.hi))));
                out.above.extend([(a, 0), (b, 0)]);
                out
            }
            BinOp::BitXor if positive => Out::range(Range::new(0, ones(ra.hi.max(rb.hi)))),
            BinOp::Shr => match shift_counts(rb, bits) {
                Some(by) if ra.lo >= 0 => Out::range(Range::new(ra.lo >> by.hi, ra.hi >> by.lo)).at_most(a),
                Some(by) => {
                    Out::range(Range::new((ra.lo >> by.lo).min(ra.lo >> by.hi), (ra.hi >> by.lo).max(ra.hi >> by.hi)))
                }
                None if ra.lo >= 0 => Out::range(Range::new(0, ra.hi)).at_most(a),
                None => Out::range(Range::new(ra.lo.min(-1), ra.hi.max(0))),
            },
            BinOp::Shl => match shift_counts(rb, bits) {
                Some(by) if positive => Out::range(ra.times(if by.lo == by.hi {
                    Range::single(1 << by.lo)
                } else {
                    Range::new(1 << by.lo, 1 << by.hi)
                })),
                _ => Out::range(WIDE),
            },
            _ => Out::range(WIDE),
        }
    }

    fn and(&self, ra: Range, rb: Range, a: Val, b: Val) -> Out {
        match (ra.lo >= 0, rb.lo >= 0) {
            (true, true) => Out::range(Range::new(0, ra.hi.min(rb.hi))).at_most(a).at_most(b),
            (true, false) => Out::range(Range::new(0, ra.hi)).at_most(a),
            (false, true) => Out::range(Range::new(0, rb.hi)).at_most(b),
            (false, false) => Out::range(WIDE),
        }
    }
}

/// More than any type has: the result may be anything.
const WIDE: Range = Range { lo: -(1 << 99), hi: 1 << 99, step: 1 };

/// All bits below the highest of `n`.
fn ones(n: i128) -> i128 {
    match n {
        n if n <= 0 => 0,
        n => (1 << (128 - n.leading_zeros()).min(126)) - 1,
    }
}

/// The counts of a shift, if none of them is masked.
fn shift_counts(by: Range, bits: u32) -> Option<Range> {
    (by.lo >= 0 && by.hi < i128::from(bits)).then_some(by)
}
