//! The places and expressions of a body that the analysis follows, numbered.

use super::guarded::{self, Field, Guarded};
use super::interval::Range;
use super::state::{ExprId, Term};
use mir::effects::{stmt_places, term_places};
use mir::ir::*;
use rustc_hash::FxHashMap;
use typing::types::{RecordKind, Ty, TyKind, TypeStore};

/// A value that the analysis understands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Val {
    /// A tracked place.
    Term(Term),
    /// A number; of a pointer 0 (null) or 1 (not null).
    Const(i128),
}

/// An expression over values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// With the type that it is computed in.
    Binary(BinOp, Val, Val, Ty),
    /// Arithmetic of counts, which does not wrap.
    Count(BinOp, Val, Val),
    /// A conversion to the type.
    Numeric(Val, Ty),
    /// A count, negative as 0.
    Clamp(Val),
    /// Not zero.
    Truth(Val),
    /// Zero.
    Not(Val),
}

impl Key {
    /// Its operands.
    pub fn vals(self) -> [Option<Val>; 2] {
        match self {
            Key::Binary(_, a, b, _) | Key::Count(_, a, b) => [Some(a), Some(b)],
            Key::Numeric(a, _) | Key::Clamp(a) | Key::Truth(a) | Key::Not(a) => [Some(a), None],
        }
    }

    /// The same with one term in the place of another.
    pub fn with(self, old: Term, new: Term) -> Key {
        let swap = |v: Val| if v == Val::Term(old) { Val::Term(new) } else { v };
        match self {
            Key::Binary(op, a, b, ty) => Key::Binary(op, swap(a), swap(b), ty),
            Key::Count(op, a, b) => Key::Count(op, swap(a), swap(b)),
            Key::Numeric(a, ty) => Key::Numeric(swap(a), ty),
            Key::Clamp(a) => Key::Clamp(swap(a)),
            Key::Truth(a) => Key::Truth(swap(a)),
            Key::Not(a) => Key::Not(swap(a)),
        }
    }
}

/// A write to a place.
pub struct Write<'a> {
    place: &'a Place,
    /// Nothing but what it names is changed: it lies in a local that has no address.
    direct: bool,
    /// The field that it may be, if it changes no guarded field but that one.
    harmless: Option<Option<Field>>,
}

/// The terms and expressions of a body.
pub struct Terms {
    /// By term; `ZERO`'s is not a place.
    pub places: Vec<Option<Place>>,
    /// What a term of this type may be.
    pub types: Vec<Range>,
    /// Lies in memory that stores through pointers and calls can change.
    pub memory: Vec<bool>,
    /// A temporary that one block alone uses.
    pub short: Vec<bool>,
    ids: FxHashMap<Place, Term>,
    /// By term: its base, if that is a local.
    pub base: Vec<Option<Local>>,
    /// By term: the field that it is, if that is a guarded one whose path no store to memory
    /// changes.
    guarded: Vec<Option<Field>>,
    /// By number.
    pub keys: Vec<Key>,
    key_ids: FxHashMap<Key, ExprId>,
    /// Numbers at which widening stops.
    pub thresholds: Vec<i128>,
}

impl Terms {
    /// Numbers what the body names.
    pub fn new(program: &Program, body: &Body, guarded: &Guarded) -> Terms {
        let mut terms = Terms {
            places: vec![None],
            types: vec![Range::single(0)],
            memory: vec![false],
            short: vec![false],
            ids: FxHashMap::default(),
            base: vec![None],
            guarded: vec![None],
            keys: vec![],
            key_ids: FxHashMap::default(),
            thresholds: vec![],
        };
        let mut home: FxHashMap<Term, usize> = FxHashMap::default();
        for (n, block) in body.blocks.iter().enumerate() {
            let mut note = |terms: &mut Terms, place: &Place| {
                let Some(term) = terms.track(program, body, place) else { return };
                let first = *home.entry(term).or_insert(n);
                if first != n {
                    if let Some(short) = terms.short.get_mut(term as usize) {
                        *short = false;
                    }
                }
            };
            for stmt in &block.stmts {
                stmt_places(&stmt.kind, &mut |place, _| note(&mut terms, place));
            }
            term_places(&block.term.kind, &mut |place, _| note(&mut terms, place));
        }
        for n in 0..body.params {
            terms.track(program, body, &Place::local(Local(n)));
        }
        terms.guarded = (0..terms.places.len()).map(|n| terms.guarded_field(program, body, guarded, n)).collect();
        for block in &body.blocks {
            for stmt in &block.stmts {
                if let Some((_, value)) = stmt.kind.as_assign() {
                    if let Some(key) = terms.key(program, body, value) {
                        terms.intern(key);
                    }
                }
                terms.note_thresholds(&stmt.kind);
            }
        }
        terms.thresholds.extend([
            0,
            -1,
            1,
            255,
            65535,
            i128::from(i32::MAX),
            i128::from(u32::MAX),
            i128::from(i64::MAX),
        ]);
        terms.thresholds.extend([i128::from(i32::MIN), i128::from(i64::MIN)]);
        terms.thresholds.sort_unstable();
        terms.thresholds.dedup();
        terms
    }

    fn note_thresholds(&mut self, kind: &StmtKind) {
        let mut note = |operand: &Operand| {
            if let Operand::Const(Const::Int(n, _)) = operand {
                self.thresholds.extend([n - 1, *n, n + 1]);
            }
        };
        if let Some((_, a, b, _)) = kind.value().and_then(Rvalue::comparison) {
            note(a);
            note(b);
        }
        let bounds = kind.as_check().and_then(Check::bounds).filter(|bounds| bounds.element.is_none());
        bounds.into_iter().for_each(|bounds| note(bounds.count));
    }

    fn track(&mut self, program: &Program, body: &Body, place: &Place) -> Option<Term> {
        if let Some(&term) = self.ids.get(place) {
            return Some(term);
        }
        let range = tracked_type(program, body, place)?;
        let term = self.places.len() as Term;
        let decl = place.base_local().and_then(|l| body.locals.get(l.0 as usize));
        let direct = place.local_part().is_some() && decl.is_some_and(|d| !d.address_taken);
        self.places.push(Some(place.clone()));
        self.types.push(range);
        self.memory.push(!direct);
        self.short.push(place.proj.is_empty() && decl.is_some_and(|d| d.kind == LocalKind::Temp) || !direct);
        self.ids.insert(place.clone(), term);
        self.base.push(place.base_local());
        Some(term)
    }

    /// The term of a place.
    pub fn term(&self, place: &Place) -> Option<Term> {
        self.ids.get(place).copied()
    }

    /// What an operand is.
    pub fn val(&self, types: &TypeStore, operand: &Operand) -> Option<Val> {
        match operand {
            Operand::Copy(place) | Operand::Move(place) => self.term(place).map(Val::Term),
            Operand::Const(Const::Int(n, ty)) => {
                (!matches!(types.kind(*ty), TyKind::Float(_))).then_some(Val::Const(*n))
            }
            Operand::Const(Const::Null(_)) => Some(Val::Const(0)),
            Operand::Const(Const::Func(_) | Const::Addr(..)) => Some(Val::Const(1)),
            Operand::Const(Const::SizeOf(ty)) => types.layout(*ty).map(|l| Val::Const(i128::from(l.size))),
            Operand::Const(_) => None,
        }
    }

    /// The expression of a value, if it is one that is followed.
    pub fn key(&self, program: &Program, body: &Body, value: &Rvalue) -> Option<Key> {
        let types = &program.types;
        let val = |operand: &Operand| self.val(types, operand);
        let is_int = |operand: &Operand| {
            mir::ty::operand_ty(program, body, operand).is_ok_and(|ty| int_range(types, ty).is_some())
        };
        if let Some((op, a, b, ty)) = value.as_binary() {
            let pointers = matches!(types.kind(ty), TyKind::Ptr(_) | TyKind::NullPtr);
            let null = |o: &Operand| matches!(o, Operand::Const(Const::Null(_) | Const::Int(0, _)));
            let tests_null = matches!(op, BinOp::Eq | BinOp::Ne) && (null(a) || null(b));
            let followed = if pointers { tests_null } else { is_int(a) && is_int(b) };
            followed.then_some(())?;
            return Some(Key::Binary(op, val(a)?, val(b)?, ty));
        }
        if let Some((op, a, b)) = value.as_count_arith() {
            return Some(Key::Count(op, val(a)?, val(b)?));
        }
        if let Some((a, ty)) = value.as_numeric() {
            int_range(types, ty)?;
            is_int(a).then_some(())?;
            return Some(Key::Numeric(val(a)?, ty));
        }
        if let Some(a) = value.as_clamp() {
            return Some(Key::Clamp(val(a)?));
        }
        match value.tested()? {
            (a, true) => Some(Key::Truth(val(a)?)),
            (a, false) => Some(Key::Not(val(a)?)),
        }
    }

    fn intern(&mut self, key: Key) {
        let next = self.keys.len() as ExprId;
        if let std::collections::hash_map::Entry::Vacant(slot) = self.key_ids.entry(key) {
            slot.insert(next);
            self.keys.push(key);
        }
    }

    /// The number of an expression.
    pub fn expr(&self, key: Key) -> Option<ExprId> {
        self.key_ids.get(&key).copied()
    }

    /// The expression of a number.
    pub fn key_of(&self, expr: ExprId) -> Option<Key> {
        self.keys.get(expr as usize).copied()
    }

    fn guarded_field(&self, program: &Program, body: &Body, guarded: &Guarded, term: usize) -> Option<Field> {
        let place = self.places.get(term)?.as_ref().filter(|_| self.memory.get(term) == Some(&true))?;
        let derefs = place.proj.iter().filter(|step| **step == Proj::Deref).count();
        let steady = derefs == 0 || derefs == 1 && is_direct(body, place.base_local()?);
        guarded.guarded_field(program, body, place).filter(|_| steady)
    }

    /// What a write to the place may change. `known`: the write is a store of a value as it is, in
    /// safe code.
    pub fn write<'p>(
        &self,
        program: &Program,
        body: &Body,
        guarded: &Guarded,
        place: &'p Place,
        known: bool,
    ) -> Write<'p> {
        let direct = place.local_part().is_some_and(|l| is_direct(body, l));
        let asks = known && !direct && self.guarded.iter().any(Option::is_some);
        let ty = asks.then(|| mir::ty::place_ty(program, body, place).ok()).flatten();
        let harmless = ty.is_some_and(|ty| guarded.is_harmless(&program.types, ty.ty));
        Write { place, direct, harmless: harmless.then(|| guarded::field_of(program, body, place)) }
    }

    /// Whether the term may change by the write. Two parts of one object are disjoint where their
    /// paths part at fields of a struct.
    pub fn touched(&self, program: &Program, body: &Body, term: Term, write: &Write) -> bool {
        let Some(Some(place)) = self.places.get(term as usize) else { return false };
        if let (Some(field), Some(written)) = (self.guarded.get(term as usize).copied().flatten(), write.harmless) {
            if !guarded::may_be_same(&program.types, Some(field), written) {
                return false;
            }
        }
        let memory = self.memory.get(term as usize) == Some(&true);
        if place.base == write.place.base {
            // Under the same pointers the places are apart, or one holds the other.
            return !apart(program, body, place, write.place);
        }
        memory && !write.direct
    }

    /// Whether a whole table of terms would be too much for the body.
    pub fn is_huge(&self, body: &Body) -> bool {
        self.places.len().saturating_mul(body.blocks.len()) > 3_000_000
    }

    /// The range that every value of the term's type is in.
    pub fn type_of(&self, term: Term) -> Range {
        self.types.get(term as usize).copied().unwrap_or(Range::single(0))
    }
}

/// Whether stores through pointers leave the local alone.
fn is_direct(body: &Body, local: Local) -> bool {
    body.locals.get(local.0 as usize).is_some_and(|d| !d.address_taken)
}

/// Whether two places with one base are parts of one object that do not overlap, whichever of them
/// is written. No pointer on their common path may lie in memory, where the write could change it.
fn apart(program: &Program, body: &Body, a: &Place, b: &Place) -> bool {
    let direct = a.base_local().and_then(|l| body.locals.get(l.0 as usize)).is_some_and(|d| !d.address_taken);
    let mut derefs = 0;
    for (n, (x, y)) in a.proj.iter().zip(&b.proj).enumerate() {
        if x == y {
            derefs += u32::from(*x == Proj::Deref);
            if derefs > u32::from(direct) {
                return false;
            }
            continue;
        }
        if !x.is_field() || !y.is_field() {
            return false;
        }
        let record = mir::ty::prefix_ty(program, body, a, n).ok().and_then(|q| program.types.as_record(q.ty));
        let is_struct = record.is_some_and(|r| program.types.record(r).kind == RecordKind::Struct);
        // What lies behind a pointer in one of the parts may be the other part.
        let deref = |p: &Place| p.proj.iter().skip(n).any(|s| *s == Proj::Deref);
        return is_struct && !deref(a) && !deref(b);
    }
    false
}

/// The range of an integer type of at most 64 bits.
pub fn int_range(types: &TypeStore, ty: Ty) -> Option<Range> {
    if matches!(types.kind(ty), TyKind::Bool) {
        return Some(Range::new(0, 1));
    }
    let kind = types.as_int(ty)?;
    let bits = kind.size() * 8;
    if bits > 64 {
        return None;
    }
    Some(if kind.signed() {
        Range::new(-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        Range::new(0, (1i128 << bits) - 1)
    })
}

/// What a tracked place may hold. Pointers are followed as 0 (null) and 1.
fn tracked_type(program: &Program, body: &Body, place: &Place) -> Option<Range> {
    if place.proj.iter().any(|step| step.index().is_some()) || matches!(place.base, PlaceBase::Str(_)) {
        return None;
    }
    let qty = mir::ty::place_ty(program, body, place).ok()?;
    if qty.quals.is_volatile || qty.quals.is_atomic {
        return None;
    }
    if let Some((n, _)) = place.last_field() {
        let record = mir::ty::prefix_ty(program, body, place, place.proj.len() - 1).ok()?;
        let fields = program.types.record(program.types.as_record(record.ty)?).fields.clone()?;
        if fields.get(n as usize)?.width.is_some() {
            return None;
        }
    }
    match program.types.kind(qty.ty) {
        TyKind::Ptr(_) => Some(Range::new(0, 1)),
        _ => int_range(&program.types, qty.ty),
    }
}
