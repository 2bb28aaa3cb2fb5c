//! What follows from conditions and checks that held.

use super::interval::Range;
use super::state::{ExprId, State, Term, ZERO};
use super::terms::{int_range, Key, Val};
use super::Problem;
use mir::ir::*;

/// How far a condition is followed through what it was computed from.
const DEPTH: u32 = 6;

impl Problem<'_> {
    /// The operand is zero, or is not; `false` if it cannot be.
    pub fn branch(&self, state: &mut State, operand: &Operand, holds: bool) -> bool {
        match self.terms.val(&self.program.types, operand) {
            Some(v) => self.assume_truth(state, v, holds, DEPTH),
            None => true,
        }
    }

    /// The operand is in one of the ranges.
    pub fn case(&self, state: &mut State, operand: &Operand, arms: &[(i128, i128, BlockId)]) -> bool {
        let Some(v) = self.terms.val(&self.program.types, operand) else { return true };
        let lo = arms.iter().map(|a| a.0).min().unwrap_or(i128::MIN >> 20);
        let hi = arms.iter().map(|a| a.1).max().unwrap_or(i128::MAX >> 20);
        self.assume(state, v, Val::Const(hi), 0) && self.assume(state, Val::Const(lo), v, 0)
    }

    /// The operand is in none of the ranges.
    pub fn otherwise(&self, state: &mut State, operand: &Operand, arms: &[(i128, i128, BlockId)]) -> bool {
        let Some(v) = self.terms.val(&self.program.types, operand) else { return true };
        let mut sorted: Vec<(i128, i128)> = arms.iter().map(|a| (a.0, a.1)).collect();
        sorted.sort_unstable();
        // Arms at the ends of the range cut it, one after the other.
        for &(lo, hi) in &sorted {
            if lo <= self.range(state, v).lo && !self.assume(state, Val::Const(hi + 1), v, 0) {
                return false;
            }
        }
        for &(lo, hi) in sorted.iter().rev() {
            if hi >= self.range(state, v).hi && !self.assume(state, v, Val::Const(lo - 1), 0) {
                return false;
            }
        }
        true
    }

    fn assume_truth(&self, state: &mut State, v: Val, holds: bool, depth: u32) -> bool {
        let range = self.range(state, v);
        let possible = if holds { range.without(0).is_some() } else { range.contains(0) };
        if !possible {
            return false;
        }
        let Val::Term(term) = v else { return true };
        let refined = if holds { range.without(0) } else { Some(Range::single(0)) };
        if let Some(refined) = refined {
            state.set_range(term, refined, &self.terms.types);
            state.spread(term, &self.terms.types);
        }
        if depth == 0 {
            return true;
        }
        let keys: Vec<Key> = state.held_by(term).filter_map(|e| self.terms.key_of(e)).collect();
        for key in keys {
            let possible = match key {
                Key::Truth(a) => self.assume_truth(state, a, holds, depth - 1),
                Key::Not(a) => self.assume_truth(state, a, !holds, depth - 1),
                Key::Binary(op, a, b, _) if mir::ty::is_comparison(op) => {
                    self.assume_comparison(state, if holds { op } else { negated(op) }, a, b, depth - 1)
                }
                // What is widened is zero iff it was.
                Key::Numeric(a, ty) => {
                    let wide = int_range(&self.program.types, ty).is_some_and(|t| t.covers(self.range(state, a)));
                    !wide || self.assume_truth(state, a, holds, depth - 1)
                }
                _ => true,
            };
            if !possible {
                return false;
            }
        }
        true
    }

    fn assume_comparison(&self, state: &mut State, op: BinOp, a: Val, b: Val, depth: u32) -> bool {
        match op {
            BinOp::Lt if source::broken!(36) => self.assume(state, a, b, -2),
            BinOp::Lt => self.assume(state, a, b, -1),
            BinOp::Le => self.assume(state, a, b, 0),
            BinOp::Gt => self.assume(state, b, a, -1),
            BinOp::Ge => self.assume(state, b, a, 0),
            BinOp::Eq => {
                let zero_truth = match (a, b) {
                    (x, Val::Const(0)) | (Val::Const(0), x) => self.assume_truth(state, x, false, depth),
                    _ => true,
                };
                zero_truth && self.assume(state, a, b, 0) && self.assume(state, b, a, 0)
            }
            BinOp::Ne => self.assume_apart(state, a, b, depth),
            _ => true,
        }
    }

    fn assume_apart(&self, state: &mut State, a: Val, b: Val, depth: u32) -> bool {
        if let (x, Val::Const(0)) | (Val::Const(0), x) = (a, b) {
            if !self.assume_truth(state, x, true, depth) {
                return false;
            }
        }
        for (x, y) in [(a, b), (b, a)] {
            if let (Val::Term(t), Some(n)) = (x, self.range(state, y).constant()) {
                let Some(range) = self.range(state, x).without(n) else { return false };
                state.set_range(t, range, &self.terms.types);
            }
        }
        // At most, and not equal: less.
        for (x, y) in [(a, b), (b, a)] {
            if self.bound(state, x, y) == 0 && !self.assume(state, x, y, -1) {
                return false;
            }
        }
        true
    }

    /// `a - b <= c`; `false` if that cannot be.
    pub fn assume(&self, state: &mut State, a: Val, b: Val, c: i128) -> bool {
        if self.bound(state, b, a) < -c {
            return false;
        }
        let split = |v: Val| match v {
            Val::Term(t) => (t, 0),
            Val::Const(n) => (ZERO, n),
        };
        let ((x, m), (y, n)) = (split(a), split(b));
        if !state.add(x, y, c - m + n, &self.terms.types) {
            return false;
        }
        for t in [x, y] {
            if t != ZERO {
                self.backwards(state, t);
                self.forwards(state, t);
            }
        }
        true
    }

    /// Sums and differences that were computed from the term: one that might have wrapped around may
    /// be known now not to have. `i = n - 1` before `n > 0` is tested, as in `while (n-- > 0)`.
    fn forwards(&self, state: &mut State, term: Term) {
        let sum = |&(expr, result): &(ExprId, Term)| match self.terms.key_of(expr)? {
            Key::Binary(op @ (BinOp::Add | BinOp::Sub), a, b, ty) if [a, b].contains(&Val::Term(term)) => {
                Some((op, a, b, int_range(&self.program.types, ty)?, result))
            }
            _ => None,
        };
        let sums: Vec<_> = state.holds.iter().filter_map(sum).collect();
        for (op, a, b, own, result) in sums {
            let out = self.arithmetic(state, op, a, b, 0);
            if !own.covers(out.range) {
                continue;
            }
            let (new, zero) = (Val::Term(result), Val::Const(0));
            let _ = self.add(state, new, zero, out.range.hi) && self.add(state, zero, new, -out.range.lo);
            for (old, most) in out.below {
                let _ = self.add(state, new, old, most);
            }
            for (old, most) in out.above {
                let _ = self.add(state, old, new, most);
            }
        }
    }

    /// What the range of a result says about what it was computed from.
    pub fn backwards(&self, state: &mut State, term: Term) {
        let keys: Vec<Key> = state.held_by(term).filter_map(|e| self.terms.key_of(e)).collect();
        for key in keys {
            match key {
                Key::Numeric(Val::Term(from), ty) => self.back_through_numeric(state, term, from, ty),
                Key::Binary(op @ (BinOp::Add | BinOp::Sub), a, b, ty) => {
                    self.back_through_sum(state, term, op, a, b, ty)
                }
                _ => {}
            }
        }
    }

    /// A conversion keeps the bits: if the result is a value of the old type, it is the old value,
    /// as long as no bit was lost.
    fn back_through_numeric(&self, state: &mut State, term: Term, from: Term, ty: typing::types::Ty) {
        let types = &self.terms.types;
        let (Some(to), have) = (int_range(&self.program.types, ty), self.terms.type_of(from)) else { return };
        let is_bool = to.hi == 1 || have.hi == 1;
        let kept = have.hi - have.lo <= to.hi - to.lo;
        if kept && !is_bool && have.covers(state.range(term, types)) {
            state.add_equal(term, from, 0, types);
            // The result is often forgotten before what it was made from.
            let of_result = |d: &&(Term, Term, i128)| (d.0 == term) != (d.1 == term);
            let found: Vec<_> = state.differences.iter().filter(of_result).copied().collect();
            let instead = |t: Term| if t == term { from } else { t };
            for (a, b, c) in found {
                state.add(instead(a), instead(b), c, types);
            }
        }
    }

    /// The wrapped sum or difference is known: if only one of the true ones fits, it is that.
    fn back_through_sum(&self, state: &mut State, term: Term, op: BinOp, a: Val, b: Val, ty: typing::types::Ty) {
        let Some(whole) = int_range(&self.program.types, ty) else { return };
        let modulus = whole.hi - whole.lo + 1;
        let result = state.range(term, &self.terms.types);
        let (ra, rb) = (self.range(state, a), self.range(state, b));
        let sum = if op == BinOp::Add { ra.plus(rb) } else { ra.minus(rb) };
        let fits = |k: i128| result.lo + k * modulus <= sum.hi && sum.lo <= result.hi + k * modulus;
        let mut turns = (-2..=2).filter(|&k| fits(k));
        let (Some(k), None) = (turns.next(), turns.next()) else { return };
        let (lo, hi) = (result.lo + k * modulus, result.hi + k * modulus);
        match op {
            BinOp::Sub => {
                // `lo <= a - b <= hi`
                let _ = self.add(state, a, b, hi) && self.add(state, b, a, -lo);
            }
            _ => {
                // `lo <= a + b <= hi`
                let (ra, rb) = (self.range(state, a), self.range(state, b));
                let zero = Val::Const(0);
                let _ = self.add(state, a, zero, hi - rb.lo)
                    && self.add(state, zero, a, rb.hi - lo)
                    && self.add(state, b, zero, hi - ra.lo)
                    && self.add(state, zero, b, ra.hi - lo);
            }
        }
        if let (0, Val::Term(t)) = (k, a) {
            // Without a turn the result is as far from an operand as the other one says.
            let rb = self.range(state, b);
            let (least, most) = if op == BinOp::Add { (rb.lo, rb.hi) } else { (-rb.hi, -rb.lo) };
            let _ = state.add(term, t, most, &self.terms.types) && state.add(t, term, -least, &self.terms.types);
        }
    }

    /// `a - b <= c`, without conclusions.
    fn add(&self, state: &mut State, a: Val, b: Val, c: i128) -> bool {
        let split = |v: Val| match v {
            Val::Term(t) => (t, 0),
            Val::Const(n) => (ZERO, n),
        };
        let ((x, m), (y, n)) = (split(a), split(b));
        state.add(x, y, c - m + n, &self.terms.types)
    }

    /// What holds after a check.
    pub fn checked(&self, state: &mut State, check: &Check) {
        let val = |operand: &Operand| self.terms.val(&self.program.types, operand);
        let zero = Val::Const(0);
        let both = |pair: Option<(&Operand, &Operand)>| pair.and_then(|(a, b)| val(a).zip(val(b)));
        // Where a check cannot pass, what follows is not reached, whatever is known there.
        if let Some(pointer) = check.as_element().map(|e| &e.base).or(check.as_not_null()).and_then(val) {
            self.assume_truth(state, pointer, true, 0);
        }
        // An index of 64 bits without a sign is compared as it is: the count of a pointer is a
        // signed number.
        if let Some((i, n)) = both(check.bounds().map(|b| (b.index, b.count))) {
            let _ = self.assume(state, zero, i, 0) && self.assume(state, i, n, -1);
        }
        if let Some((want, have)) = both(check.as_enough()) {
            self.assume(state, want, have, 0);
        }
        if let Some(by) = check.as_divide().and_then(|(_, by)| val(by)) {
            self.assume_apart(state, by, zero, 0);
        }
        if let Some((new, there)) = both(check.as_count()) {
            // Below 1 the new one is not compared, and a negative old one is none.
            if self.lower(state, new) >= 1 && self.lower(state, there) >= 0 {
                self.assume(state, new, there, 0);
            }
        }
    }
}

fn negated(op: BinOp) -> BinOp {
    match op {
        BinOp::Lt => BinOp::Ge,
        BinOp::Ge => BinOp::Lt,
        BinOp::Gt => BinOp::Le,
        BinOp::Le => BinOp::Gt,
        BinOp::Eq => BinOp::Ne,
        BinOp::Ne => BinOp::Eq,
        other => other,
    }
}
