//! Counted pointers in their short form.
//!
//! A `counted_by` parameter or field becomes a pointer of three words, although its first word
//! never changes and its end is computed from its count. Where such a pointer, `F`, is only a base
//! for elements, the access
//!
//! ```text
//! _t = offset(F, k); check access(_t, 1); ... _t.* ...
//! ```
//!
//! becomes
//!
//! ```text
//! _t = offset(base, k); check element(base, k, count); ... _t.* ...
//! ```
//!
//! with one word for `_t`. The test is then `k < count` on the program's own numbers, which the
//! range analysis and the C compiler understand. The fault is the same, at the same place.
//!
//! Needs: MIR as lowered. Changes: types of temporaries, checks, places; adds copies of bases,
//! counts and indices. Guarantees: each access has the check that it had.

use crate::uses::{self, single_check, At, Writes};
use mir::ir::*;
use rustc_hash::FxHashMap;
use source::Span;
use typing::types::*;

/// A pointer that is only ever made from its first element and a count.
#[derive(Clone, Debug)]
struct Source {
    made: Vec<Making>,
    may_be_null: bool,
    may_be_negative: bool,
}

/// One statement that makes it.
#[derive(Clone, Debug)]
struct Making {
    at: At,
    base: Operand,
    count: Operand,
    may_be_null: bool,
    may_be_negative: bool,
    /// Null: there are no elements.
    is_null: bool,
}

/// What stands for a source once its words have names of their own.
#[derive(Clone, Debug)]
struct Short {
    base: Operand,
    count: Operand,
    may_be_null: bool,
    may_be_negative: bool,
}

/// Rewrites the body. `program` is without this body.
pub fn run(program: &mut Program, body: &mut Body) {
    let writes = Writes::of(body);
    let sources = sources(program, body, &writes);
    if sources.is_empty() {
        return;
    }
    let mut edits = Edits::default();
    let mut shorts = name_words(program, body, &writes, &sources, &mut edits);
    copies(program, body, &writes, &sources, &mut shorts);
    let elements = elements(body, &writes, &shorts);
    rewrite(program, body, &writes, &shorts, &elements, &mut edits);
    edits.apply(body);
}

/// Statements to be put before others.
#[derive(Default)]
struct Edits {
    before: Vec<(At, Stmt)>,
}

impl Edits {
    fn apply(mut self, body: &mut Body) {
        // From the end, so that numbers stay; of one place in order.
        self.before.sort_by_key(|(at, _)| *at);
        for (at, stmt) in self.before.into_iter().rev() {
            if let Some(block) = body.blocks.get_mut(at.block) {
                block.stmts.insert(at.stmt.min(block.stmts.len()), stmt);
            }
        }
    }
}

fn sources(program: &Program, body: &Body, writes: &Writes) -> FxHashMap<Local, Source> {
    let mut found = FxHashMap::default();
    for n in 0..body.locals.len() {
        let local = Local(n as u32);
        if let Some(source) = source(program, body, writes, local) {
            found.insert(local, source);
        }
    }
    found
}

fn source(program: &Program, body: &Body, writes: &Writes, local: Local) -> Option<Source> {
    let decl = body.locals.get(local.0 as usize)?;
    let pointer = program.types.as_pointer(decl.ty.ty)?;
    let odd = decl.ty.quals.is_volatile || decl.ty.quals.is_atomic || decl.address_taken;
    if pointer.bounds != Bounds::Fat || odd || decl.kind == LocalKind::Param {
        return None;
    }
    let made: Vec<Making> =
        writes.places(local).iter().map(|&at| making(program, body, writes, local, at)).collect::<Option<_>>()?;
    made.iter().any(|m| !m.is_null).then(|| Source {
        may_be_null: made.iter().any(|m| m.may_be_null),
        may_be_negative: made.iter().any(|m| m.may_be_negative),
        made,
    })
}

fn making(program: &Program, body: &Body, writes: &Writes, local: Local, at: At) -> Option<Making> {
    let value = body.blocks.get(at.block)?.stmts.get(at.stmt)?.kind.assigned_to(local)?;
    if let Some((_, ptr, lo, hi)) = value.as_make_fat() {
        let base = uses::whole(ptr)?;
        let (end_at, end) = writes.single(body, uses::whole(hi)?)?;
        let (from, count) = end.as_offset()?;
        // In one block, so that a loop runs all of it or nothing.
        let counted_at = uses::whole(count).and_then(|c| writes.single(body, c)).map_or(end_at, |(c, _)| c);
        (end_at.block == at.block && counted_at.block == at.block).then_some(())?;
        let same = uses::whole(lo) == Some(base) && uses::whole(from) == Some(base);
        let steady = writes.is_constant_param(body, base) || writes.single(body, base).is_some();
        return (same && steady && is_count(body, writes, count)).then(|| Making {
            at,
            base: ptr.clone(),
            count: count.clone(),
            may_be_null: false,
            may_be_negative: false,
            is_null: false,
        });
    }
    if let Some((ty, ptr, count)) = value.as_make_counted() {
        is_count(body, writes, count).then_some(())?;
        let nonnull = program.types.as_pointer(ty).is_some_and(|p| p.nonnull);
        return Some(Making {
            at,
            base: ptr.clone(),
            count: count.clone(),
            may_be_null: !nonnull,
            may_be_negative: may_be_negative(program, body, writes, ptr, count),
            is_null: false,
        });
    }
    let null = value.as_use().filter(|_| value.is_null())?;
    let long = program.types.common.long;
    Some(Making {
        at,
        base: null.clone(),
        count: Operand::Const(Const::Int(0, long)),
        may_be_null: false,
        may_be_negative: false,
        is_null: true,
    })
}

/// A constant, or a temporary that is assigned once.
fn is_count(body: &Body, writes: &Writes, count: &Operand) -> bool {
    match count {
        Operand::Const(Const::Int(..)) => true,
        _ => uses::whole(count).is_some_and(|l| writes.single(body, l).is_some()),
    }
}

/// Whether the count of a `counted` value may be below 0. A field of an unsigned type that is alone
/// the count of a pointer field never holds more than there is while that pointer is not null (I5).
fn may_be_negative(program: &Program, body: &Body, writes: &Writes, ptr: &Operand, count: &Operand) -> bool {
    let value = match count {
        Operand::Const(Const::Int(n, _)) => return *n < 0,
        _ => uses::whole(count).and_then(|l| writes.single(body, l)).map(|(_, value)| value),
    };
    let Some((from, _)) = value.and_then(Rvalue::as_numeric) else { return true };
    let Ok(from_ty) = mir::ty::operand_ty(program, body, from) else { return true };
    let Some(kind) = program.types.as_int(from_ty) else { return true };
    if kind.signed() {
        return true;
    }
    if kind.size() < 8 {
        return false;
    }
    !is_count_field(program, body, ptr, from)
}

/// Whether `count` reads the field that alone counts the pointer field which `ptr` reads, of the
/// same record.
fn is_count_field(program: &Program, body: &Body, ptr: &Operand, count: &Operand) -> bool {
    let (Some(ptr), Some(count)) = (ptr.place(), count.place()) else { return false };
    let (Some((_, record)), Some((n, same))) = (ptr.last_field(), count.last_field()) else { return false };
    let counted = mir::ty::place_ty(program, body, ptr).ok().and_then(|q| program.types.as_pointer(q.ty));
    let Some(Pointer { bounds: Bounds::Counted(id), .. }) = counted else { return false };
    ptr.base == count.base && record == same && *program.types.count_expr(id) == CountExpr::Field(n)
}

/// Gives base and count of each source names that keep their values as long as the source keeps its
/// own.
fn name_words(
    program: &mut Program,
    body: &mut Body,
    writes: &Writes,
    sources: &FxHashMap<Local, Source>,
    edits: &mut Edits,
) -> FxHashMap<Local, Short> {
    let entry_runs_once = mir::cfg::Cfg::new(body).predecessors(BlockId(0)).is_empty();
    let mut order: Vec<(&Local, &Source)> = sources.iter().collect();
    order.sort_by_key(|(local, _)| **local);
    let mut shorts = FxHashMap::default();
    for (&local, source) in order {
        let Some(pointer) = body.locals.get(local.0 as usize).and_then(|d| program.types.as_pointer(d.ty.ty)) else {
            continue;
        };
        let thin = program.types.pointer(Pointer { bounds: Bounds::Thin, nonnull: false, ..pointer });
        let Source { may_be_null, may_be_negative, .. } = *source;
        let words = match source.made.as_slice() {
            [only] => once(program, body, writes, edits, only, entry_runs_once, thin),
            several => follow(program, body, edits, several, thin),
        };
        let (base, count) = words;
        shorts.insert(local, Short { base, count, may_be_null, may_be_negative });
    }
    shorts
}

/// Adds copies of sources that are made once and for all, where the function begins.
fn copies(
    program: &Program,
    body: &Body,
    writes: &Writes,
    sources: &FxHashMap<Local, Source>,
    shorts: &mut FxHashMap<Local, Short>,
) {
    if !mir::cfg::Cfg::new(body).predecessors(BlockId(0)).is_empty() {
        return;
    }
    let lasts = |source: &Source| matches!(source.made.as_slice(), [only] if only.at.block == 0);
    let target = |local: Local| {
        let decl = body.locals.get(local.0 as usize)?;
        let own = !decl.address_taken && !decl.ty.quals.is_volatile && !decl.ty.quals.is_atomic;
        let pointer = program.types.as_pointer(decl.ty.ty)?;
        (own && pointer.bounds == Bounds::Fat).then_some(pointer.target.ty)
    };
    for n in 0..body.locals.len() {
        let copy = Local(n as u32);
        let of = || match writes.single(body, copy)?.1.as_use()? {
            Operand::Copy(place) => place.as_local(),
            _ => None,
        };
        let Some(of) = of().filter(|of| sources.get(of).is_some_and(lasts) && !shorts.contains_key(&copy)) else {
            continue;
        };
        if let (true, Some(short)) = (target(copy).is_some() && target(copy) == target(of), shorts.get(&of)) {
            shorts.insert(copy, short.clone());
        }
    }
}

/// The words of a source that one statement makes: what they are made from, if that keeps its
/// value, or copies.
fn once(
    program: &Program,
    body: &mut Body,
    writes: &Writes,
    edits: &mut Edits,
    made: &Making,
    entry_runs_once: bool,
    thin: Ty,
) -> (Operand, Operand) {
    let first = made.at.block == 0 && entry_runs_once;
    let span = span_at(body, made.at);
    let steady_base = match uses::whole(&made.base) {
        // An owner moves on, and is looked at no more.
        _ if matches!(made.base, Operand::Move(_)) => false,
        Some(base) => writes.is_constant_param(body, base) || first && writes.single(body, base).is_some(),
        None => matches!(made.base, Operand::Const(_)),
    };
    let steady_count = first || matches!(made.count, Operand::Const(_));
    let base = if steady_base {
        made.base.clone()
    } else {
        let base = copy_before(body, edits, made.at, span, made.base.clone(), thin);
        // Memory is read once.
        set_base(body, made.at, &base);
        base
    };
    let count = if steady_count {
        made.count.clone()
    } else {
        copy_before(body, edits, made.at, span, made.count.clone(), program.types.common.long)
    };
    (base, count)
}

/// Two variables that change whenever the source does.
fn follow(program: &Program, body: &mut Body, edits: &mut Edits, made: &[Making], thin: Ty) -> (Operand, Operand) {
    let long = program.types.common.long;
    let span = made.first().map_or(Span::NONE, |m| span_at(body, m.at));
    let (base, count) = (new_temp(body, thin, span), new_temp(body, long, span));
    for local in [base, count] {
        if let Some(decl) = body.locals.get_mut(local.0 as usize) {
            decl.kind = LocalKind::Var;
        }
    }
    for m in made {
        let span = span_at(body, m.at);
        let value = if m.is_null { Operand::Const(Const::Null(thin)) } else { m.base.clone() };
        for (local, value) in [(base, value), (count, m.count.clone())] {
            let kind = StmtKind::set(local, Rvalue::Use(value));
            edits.before.push((m.at, Stmt { kind, span, is_unsafe: false }));
        }
        if !m.is_null {
            set_base(body, m.at, &Operand::local(base));
        }
    }
    (Operand::local(base), Operand::local(count))
}

fn span_at(body: &Body, at: At) -> Span {
    body.blocks.get(at.block).and_then(|b| b.stmts.get(at.stmt)).map_or(Span::NONE, |s| s.span)
}

fn set_base(body: &mut Body, at: At, base: &Operand) {
    let stmt = body.blocks.get_mut(at.block).and_then(|b| b.stmts.get_mut(at.stmt));
    let Some((_, value)) = stmt.and_then(|s| s.kind.as_assign_mut()) else { return };
    if let Some((ty, _, count)) = value.as_make_counted() {
        *value = Rvalue::MakeCounted { ty, ptr: base.clone(), count: count.clone() };
    }
}

/// A new temporary that is assigned before a statement.
fn copy_before(body: &mut Body, edits: &mut Edits, at: At, span: Span, value: Operand, ty: Ty) -> Operand {
    let local = new_temp(body, ty, span);
    let kind = StmtKind::set(local, Rvalue::Use(value));
    edits.before.push((at, Stmt { kind, span, is_unsafe: false }));
    Operand::local(local)
}

/// A new temporary.
pub fn new_temp(body: &mut Body, ty: Ty, span: Span) -> Local {
    let local = Local(body.locals.len() as u32);
    body.locals.push(LocalDecl::temp(ty, ScopeId(0), span));
    local
}

/// A temporary that is the address of an element of a source.
struct Element {
    source: Local,
    at: At,
    index: Operand,
}

/// The temporaries `_t = offset(F, k)` that are only checked and dereferenced.
fn elements(body: &Body, writes: &Writes, shorts: &FxHashMap<Local, Short>) -> FxHashMap<Local, Element> {
    let mut found: FxHashMap<Local, Element> = FxHashMap::default();
    for (block, data) in body.blocks.iter().enumerate() {
        for (stmt, s) in data.stmts.iter().enumerate() {
            let Some((place, value)) = s.kind.as_assign() else { continue };
            let Some((from, index)) = value.as_offset() else { continue };
            let (Some(local), Some(source)) = (place.as_local(), uses::whole(from)) else { continue };
            let is_temp = body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
            if is_temp && shorts.contains_key(&source) && writes.single(body, local).is_some() {
                found.insert(local, Element { source, at: At { block, stmt }, index: index.clone() });
            }
        }
    }
    if found.is_empty() {
        return found;
    }
    for (block, data) in body.blocks.iter().enumerate() {
        for (stmt, s) in data.stmts.iter().enumerate() {
            spoiled_by_stmt(&s.kind, &mut |local| drop(found.remove(&local)));
            if let Some(local) = single_check(&s.kind) {
                let steady = found.get(&local).is_some_and(|e| checked_at_once(body, e, At { block, stmt }));
                if !steady {
                    found.remove(&local);
                }
            }
        }
        mir::effects::term_places(&data.term.kind, &mut |place, _| {
            if let Some(local) = place.as_local() {
                found.remove(&local);
            }
        });
    }
    found
}

/// Whether the check comes after the address in the same block, and the source still has its
/// value.
fn checked_at_once(body: &Body, element: &Element, check: At) -> bool {
    if check.block != element.at.block || check.stmt < element.at.stmt {
        return false;
    }
    let between = body.blocks.get(check.block).and_then(|b| b.stmts.get(element.at.stmt..check.stmt)).unwrap_or(&[]);
    let mut same = true;
    for stmt in between {
        uses::written(&stmt.kind, &mut |local| same &= local != element.source);
    }
    same
}

/// Calls `see` with each local whose words the statement uses otherwise than as an address.
fn spoiled_by_stmt(kind: &StmtKind, see: &mut dyn FnMut(Local)) {
    if single_check(kind).is_some() {
        return;
    }
    if let Some((dest, _)) = kind.as_assign().filter(|(_, value)| value.as_pointer_word().is_some()) {
        // The place that is written may use it in an index.
        return mir::effects::place(dest, mir::effects::Kind::Write, &mut |place, access| {
            if access != mir::effects::Access::Write {
                place.as_local().into_iter().for_each(&mut *see);
            }
        });
    }
    mir::effects::stmt_places(kind, &mut |place, access| {
        if access != mir::effects::Access::Write {
            place.as_local().into_iter().for_each(&mut *see);
        }
    });
}

fn rewrite(
    program: &mut Program,
    body: &mut Body,
    writes: &Writes,
    shorts: &FxHashMap<Local, Short>,
    elements: &FxHashMap<Local, Element>,
    edits: &mut Edits,
) {
    let mut order: Vec<(&Local, &Element)> = elements.iter().collect();
    order.sort_by_key(|(_, element)| element.at);
    let mut indices: FxHashMap<Local, Operand> = FxHashMap::default();
    for (&local, element) in order {
        let Some(short) = shorts.get(&element.source) else { continue };
        let index = match &element.index {
            Operand::Const(_) => element.index.clone(),
            index => {
                let Ok(ty) = mir::ty::operand_ty(program, body, index) else { continue };
                let plain = index.clone();
                match uses::whole(&plain).is_some_and(|l| is_steady_temp(body, writes, l)) {
                    true => plain,
                    false => copy_before(body, edits, element.at, span_at(body, element.at), plain, ty),
                }
            }
        };
        thin_local(program, body, local);
        let stmt = body.blocks.get_mut(element.at.block).and_then(|b| b.stmts.get_mut(element.at.stmt));
        let assigned = stmt.and_then(|s| s.kind.as_assign_mut());
        if let Some((_, value)) = assigned.filter(|(_, value)| value.as_offset().is_some()) {
            *value = Rvalue::Offset(short.base.clone(), index.clone());
        }
        indices.insert(local, index);
    }
    let long = program.types.common.long;
    let ulong = program.types.common.ulong;
    for stmt in body.blocks.iter_mut().flat_map(|b| &mut b.stmts) {
        if let Some(local) = single_check(&stmt.kind) {
            let (source, index) = match (elements.get(&local), indices.get(&local)) {
                (Some(element), Some(index)) => (element.source, index.clone()),
                _ => (local, Operand::Const(Const::Int(0, long))),
            };
            if let Some(short) = shorts.get(&source) {
                stmt.kind = StmtKind::Check(Check::Element(Box::new(ElementCheck {
                    base: short.base.clone(),
                    index,
                    count: short.count.clone(),
                    may_be_null: short.may_be_null,
                    may_be_negative: short.may_be_negative,
                    is_below: false,
                    sign: Sign::Unknown,
                })));
            }
            continue;
        }
        if let Some((_, value)) = stmt.kind.as_assign_mut() {
            rewrite_value(value, shorts, &indices, ulong);
        }
        look_through(&mut stmt.kind, shorts);
    }
    for block in &mut body.blocks {
        if let Some(operand) = block.term.kind.operand_mut() {
            through_operand(operand, shorts);
        }
    }
}

/// Whether the local is a temporary that is assigned once: from there to the end of its block it
/// keeps its value.
fn is_steady_temp(body: &Body, writes: &Writes, local: Local) -> bool {
    let is_temp = body.locals.get(local.0 as usize).is_some_and(|d| d.kind == LocalKind::Temp);
    is_temp && writes.single(body, local).is_some()
}

fn thin_local(program: &mut Program, body: &mut Body, local: Local) {
    let Some(decl) = body.locals.get_mut(local.0 as usize) else { return };
    if let Some(pointer) = program.types.as_pointer(decl.ty.ty) {
        decl.ty.ty = program.types.pointer(Pointer { bounds: Bounds::Thin, nonnull: false, ..pointer });
    }
}

fn rewrite_value(value: &mut Rvalue, shorts: &FxHashMap<Local, Short>, indices: &FxHashMap<Local, Operand>, ulong: Ty) {
    if let Some(operand) = value.as_pointer_word() {
        if uses::whole(operand).is_some_and(|l| indices.contains_key(&l)) {
            *value = Rvalue::Use(operand.clone());
        }
    } else if let Some(operand) = value.as_remaining() {
        let short = uses::whole(operand).and_then(|l| shorts.get(&l));
        if let Some(short) = short.filter(|s| !s.may_be_null && !s.may_be_negative) {
            *value = match &short.count {
                Operand::Const(Const::Int(n, _)) => Rvalue::Use(Operand::Const(Const::Int(*n, ulong))),
                count => Rvalue::Numeric(count.clone(), ulong),
            };
        }
    }
}

/// Places that go through a source go through its base.
fn look_through(kind: &mut StmtKind, shorts: &FxHashMap<Local, Short>) {
    mir::effects::change_places(kind, &mut |place| through_place(place, shorts));
}

fn through_operand(operand: &mut Operand, shorts: &FxHashMap<Local, Short>) {
    mir::effects::change_operand(operand, &mut |place| through_place(place, shorts));
}

fn through_place(place: &mut Place, shorts: &FxHashMap<Local, Short>) {
    let PlaceBase::Local(local) = place.base else { return };
    if place.proj.first() != Some(&Proj::Deref) {
        return;
    }
    if let Some(base) = shorts.get(&local).and_then(|s| uses::whole(&s.base)) {
        place.base = PlaceBase::Local(base);
    }
}
