//! Which places nothing but the body's own statements can reach.
//!
//! A local is private if its address is not taken. So is an array that is only indexed by
//! constants, and a variable whose address only goes to calls that look through it and give it
//! back as it was (`strtol(p, &end, 10)`, or a function whose summary says so).

use crate::program::Context;
use crate::rules::Rule;
use flow::framework::Point;
use mir::effects::{stmt_places, term_places, Access};
use mir::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};
use typing::types::{ArrayLen, RecordKind, TyKind};

/// Locals of a body that are private although their address is taken.
#[derive(Debug, Default)]
pub struct Privacy {
    /// Locals with arrays in them that are only indexed by constants.
    indexed: FxHashSet<Local>,
    /// Temporaries that have the address of a variable for a call, and the variable.
    lent: FxHashMap<Local, Local>,
    /// The parameter through which the followed variable of the caller is reached.
    through: Option<Local>,
}

impl Privacy {
    /// The private locals of a body. `through`: a parameter that `is_looked_through`.
    pub fn of(cx: &Context, body: &Body, through: Option<Local>) -> Privacy {
        Privacy { indexed: indexed(cx, body), lent: lent(cx, body), through }
    }

    /// The parameter through which the followed variable is reached.
    pub fn through(&self) -> Option<Local> {
        self.through
    }

    /// The variable whose address an argument is.
    pub fn lent_by(&self, argument: &Operand) -> Option<Local> {
        self.lent.get(&argument.place()?.as_local()?).copied()
    }

    /// Whether the place is a local, a field or an element of one, and nothing else can reach it.
    pub fn is_private(&self, program: &Program, body: &Body, place: &Place) -> bool {
        let PlaceBase::Local(local) = place.base else { return false };
        let Some(decl) = body.locals.get(local.0 as usize) else { return false };
        if self.through == Some(local) {
            return place.proj == [Proj::Deref];
        }
        let indexed = self.indexed.contains(&local);
        let taken = decl.address_taken && !indexed && !self.lent.values().any(|l| *l == local);
        if taken && Rule::AddressTaken.holds() || decl.ty.quals.is_volatile && Rule::Volatile.holds() {
            return false;
        }
        place.proj.iter().enumerate().all(|(n, step)| {
            let outer = || mir::ty::prefix_ty(program, body, place, n).ok();
            match step {
                Proj::Field(_) => outer()
                    .and_then(|ty| program.types.as_record(ty.ty))
                    .is_some_and(|r| program.types.record(r).kind == RecordKind::Struct || !Rule::Union.holds()),
                Proj::Index(_) => indexed,
                Proj::Deref => false,
            }
        })
    }
}

/// Locals whose arrays are only indexed by constants that are in range, and whose address goes
/// nowhere.
fn indexed(cx: &Context, body: &Body) -> FxHashSet<Local> {
    let types = &cx.program.types;
    let mut found: FxHashSet<Local> = FxHashSet::default();
    let mut bad: FxHashSet<Local> = FxHashSet::default();
    let mut see = |place: &Place, access: Access| {
        let PlaceBase::Local(local) = place.base else { return };
        let direct = place.proj.iter().take_while(|p| **p != Proj::Deref).count();
        if access == Access::Address && direct == place.proj.len() {
            bad.insert(local);
        }
        for (n, step) in place.proj.iter().enumerate().take(direct) {
            let Some(index) = step.index() else { continue };
            let outer = mir::ty::prefix_ty(cx.program, body, place, n).ok();
            let length = match outer.map(|q| types.kind(q.ty)) {
                Some(TyKind::Array { len: ArrayLen::Const(n), .. }) => i128::from(*n),
                _ => 0,
            };
            found.insert(local);
            match index {
                Operand::Const(Const::Int(k, _)) if (0..length).contains(k) => {}
                _ if !Rule::ConstantIndex.holds() => {}
                _ => {
                    bad.insert(local);
                }
            }
        }
    };
    for block in &body.blocks {
        for stmt in &block.stmts {
            stmt_places(&stmt.kind, &mut see);
        }
        term_places(&block.term.kind, &mut see);
    }
    found.retain(|l| !bad.contains(l));
    found
}

/// Temporaries that have the address of a pointer variable, all of whose addresses only go to calls
/// that give it back.
fn lent(cx: &Context, body: &Body) -> FxHashMap<Local, Local> {
    let decl = |l: Local| body.locals.get(l.0 as usize);
    let is_candidate = |l: &Local| {
        let pointer = |d: &LocalDecl| cx.program.types.as_pointer(d.ty.ty).is_some();
        decl(*l).is_some_and(|d| d.address_taken && d.kind == LocalKind::Var && pointer(d))
    };
    if !(0..body.locals.len()).any(|n| is_candidate(&Local(n as u32))) {
        return FxHashMap::default();
    }
    let stmts = || body.blocks.iter().flat_map(|b| &b.stmts);
    let mut writes: FxHashMap<Local, u32> = FxHashMap::default();
    for stmt in stmts() {
        stmt_places(&stmt.kind, &mut |place, access| {
            if let (PlaceBase::Local(l), true) = (place.base, access != Access::Read) {
                *writes.entry(l).or_default() += 1;
            }
        });
    }
    let is_once = |l: &Local| decl(*l).is_some_and(|d| d.kind == LocalKind::Temp) && writes.get(l) == Some(&1);
    let mut lent: FxHashMap<Local, Local> = FxHashMap::default();
    loop {
        let before = lent.len();
        for stmt in stmts() {
            let Some((dest, value)) = stmt.kind.as_assign() else { continue };
            let Some(dest) = dest.as_local().filter(is_once) else { continue };
            let of = value.as_address_of().and_then(Place::as_local).filter(is_candidate);
            let copied = || lent.get(&value.same_bits()?.place()?.as_local()?).copied();
            if let Some(variable) = of.or_else(copied) {
                lent.insert(dest, variable);
            }
        }
        if lent.len() == before {
            break;
        }
    }
    let mut bad: FxHashSet<Local> = FxHashSet::default();
    for (n, block) in body.blocks.iter().enumerate() {
        for (stmt, s) in block.stmts.iter().enumerate() {
            let at = Point { block: BlockId(n as u32), stmt };
            let dest = s.kind.as_assign().and_then(|(dest, _)| dest.as_local());
            let makes = dest.is_some_and(|d| lent.contains_key(&d));
            let mut passed: Vec<Local> = vec![];
            if let Some(Call { callee, args, .. }) = s.kind.as_call() {
                for (n, argument) in args.iter().enumerate() {
                    let Some(&variable) = argument.place().and_then(Place::as_local).and_then(|temp| lent.get(&temp))
                    else {
                        continue;
                    };
                    if passed.contains(&variable) || !gives_back(cx, body, at, callee, n) {
                        bad.insert(variable);
                    }
                    passed.push(variable);
                }
            }
            let mut uses = 0;
            stmt_places(&s.kind, &mut |place, access| {
                let PlaceBase::Local(local) = place.base else { return };
                match (lent.get(&local), access) {
                    (Some(variable), Access::Read) if !makes => {
                        uses += 1;
                        if uses > passed.len() || !place.proj.is_empty() {
                            bad.insert(*variable);
                        }
                    }
                    (Some(variable), _) if !makes || access == Access::Address => {
                        bad.insert(*variable);
                    }
                    // The address of a candidate that no such temporary takes.
                    (None, Access::Address) if !makes || !place.proj.is_empty() => {
                        bad.insert(local);
                    }
                    _ => {}
                }
            });
        }
        term_places(&block.term.kind, &mut |place, _| {
            if let PlaceBase::Local(local) = place.base {
                bad.extend(lent.get(&local));
            }
        });
    }
    lent.retain(|_, variable| !bad.contains(variable) || !Rule::Lent.holds());
    lent
}

/// Whether a call that gets the address of a pointer variable keeps neither that nor what the
/// variable has, and leaves in the variable what it had, or the end of a number.
fn gives_back(cx: &Context, body: &Body, at: Point, callee: &Callee, n: usize) -> bool {
    let Some(name) = cx.callee_name(body, at, callee) else { return false };
    if cx.table.get(&name).is_some() {
        return false;
    }
    match (cx.summary(callee), callee) {
        (Some(summary), _) => summary.params.get(n).is_some_and(|p| p.inner_kept.is_none()),
        (None, Callee::Direct(_) | Callee::Builtin(_)) => crate::known::stores_end(&name) && n == 1,
        (None, _) => false,
    }
}

/// Whether a body only looks through a parameter, `*p`, and never uses it as a value but to compare
/// it: then no copy of it can reach what it points at.
pub fn is_looked_through(body: &Body, param: Local) -> bool {
    if body.locals.get(param.0 as usize).is_none_or(|d| d.address_taken || d.ty.quals.is_volatile) {
        return false;
    }
    let mut good = true;
    let mut see = |place: &Place, access: Access, compares: bool| {
        if place.base == PlaceBase::Local(param) {
            let looks = place.proj.first() == Some(&Proj::Deref);
            // `&*p` is a copy.
            let copied = place.proj.len() == 1 && access == Access::Address;
            good &= looks && !copied || compares && access == Access::Read && place.proj.is_empty();
        }
    };
    for block in &body.blocks {
        for stmt in &block.stmts {
            let value = stmt.kind.value();
            let compares = value.is_some_and(|v| v.tested().is_some() || v.comparison().is_some());
            stmt_places(&stmt.kind, &mut |place, access| see(place, access, compares));
        }
        let decides = block.term.kind.decided_by().is_some();
        term_places(&block.term.kind, &mut |place, access| see(place, access, decides));
    }
    good
}

/// Whether a local has all along what it had at the start.
pub fn is_never_written(body: &Body, local: Local) -> bool {
    if body.locals.get(local.0 as usize).is_none_or(|d| d.address_taken || d.ty.quals.is_volatile) {
        return false;
    }
    let mut written = false;
    for stmt in body.blocks.iter().flat_map(|b| &b.stmts) {
        stmt_places(&stmt.kind, &mut |place, access| {
            written |= place.base == PlaceBase::Local(local) && !place.has_deref() && access != Access::Read;
        });
    }
    !written || !Rule::CallbackParameter.holds()
}
