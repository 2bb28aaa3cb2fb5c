//! Regions are made once (language reference, regions): a name stands for one arena, whatever ran
//! before.
//!
//! A region is *made* by a `new_arena()` (or reap) whose key it is, by a call whose result has a
//! key of a region that no parameter fixes, by the `unpack` that introduces it, and by the caller
//! if a parameter mentions it. A second statement that makes it, anywhere in the body, would let
//! pointers into the first arena be used in the second. That one statement does not run twice
//! before the key's scope is left is checked by `live.rs`.
//!
//! A key may be handed on before anything names its region: `take(new_arena())`. Such a region is
//! an origin of its own (`Origin::Unnamed`). It is never live here, belongs to no other region, and
//! is in temporaries only: what a variable holds could be used when the statement runs again.

use mir::ir::*;
use rustc_hash::FxHashMap;
use source::Span;
use typing::tree::RegionKind;
use typing::types::{FuncTy, Region, Ty, TyKind, TypeStore};

use super::build::{Env, Ref, Solver};
use super::check::{origins_of, regions_of_local};
use super::origins::{Origin, OriginId};
use super::shape::{each_region, is_exact};
use crate::framework::{points, Point};

/// What makes the regions of a body.
#[derive(Debug, Default)]
pub(crate) struct Makings {
    /// By statement: the regions that it makes.
    pub at: FxHashMap<Point, Vec<u32>>,
    /// Statements that make a region that something else makes too.
    pub again: Vec<(u32, Span)>,
    /// Statements that make a region without a name that is another region too, or that a variable
    /// mentions.
    pub unnamed: Vec<Span>,
}

impl Makings {
    /// Of a body whose regions are solved.
    pub fn new(solver: &mut Solver) -> Makings {
        let (program, body) = (solver.program, solver.body);
        let mut makings = Makings::default();
        let function = program.functions.get(body.func.func.0 as usize);
        let own = function.and_then(|f| program.types.as_func(f.ty));
        let mut made: Vec<bool> = (0..body.regions.len() as u32)
            .map(|n| own.as_ref().is_some_and(|f| is_mentioned(&program.types, f, Region::Bound(0, n))))
            .collect();
        for (at, stmt) in points(body) {
            let regions = made_by(solver, at, &stmt.kind);
            for &n in &regions {
                let twice = made.get_mut(n as usize).is_some_and(|made| std::mem::replace(made, true));
                if twice && !stmt.is_unsafe {
                    makings.again.push((n, stmt.span));
                }
            }
            if !regions.is_empty() && stmt.kind.as_unpack().is_none() {
                makings.at.insert(at, regions);
            }
        }
        makings.unnamed = without_name(solver);
        makings
    }
}

/// Makes an origin of each region that a statement makes and nothing names; whether there are any.
pub(crate) fn find_unnamed(solver: &mut Solver) -> bool {
    let body = solver.body;
    let mut found = false;
    for (at, stmt) in points(body).filter(|(_, stmt)| !stmt.is_unsafe) {
        for region in fresh(solver, at, &stmt.kind) {
            let Ref::Node(node) = region else { continue };
            if !origins_of(solver, region).iter().any(|&o| has_keys(solver, o)) {
                let origin = solver.origins.make_unnamed(node, stmt.span);
                solver.seed(node, origin, stmt.span);
                found = true;
            }
        }
    }
    found
}

/// Whether there are keys of the region.
fn has_keys(solver: &Solver, origin: OriginId) -> bool {
    let Origin::Entry(n) = solver.origins.get(origin) else { return false };
    solver.origins.entry(n).is_some_and(|region| match region.decl.kind {
        RegionKind::Param | RegionKind::ParamKey | RegionKind::Dynamic | RegionKind::Hidden => true,
        RegionKind::Block | RegionKind::Lifo(_) | RegionKind::Loan => false,
    })
}

/// Where regions without a name are made that are not told apart from others.
fn without_name(solver: &mut Solver) -> Vec<Span> {
    let made = solver.origins.unnamed.clone();
    let mut found = with_another_name(solver);
    for &(node, span) in &made {
        if origins_of(solver, Ref::Node(node)).len() != 1 {
            found.push(span);
        }
    }
    if made.is_empty() {
        return found;
    }
    let body = solver.body;
    for n in (0..body.locals.len()).filter(|&n| body.locals.get(n).is_some_and(|d| d.kind != LocalKind::Temp)) {
        for region in regions_of_local(solver, Local(n as u32)) {
            for origin in solver.reached(region) {
                if let Origin::Unnamed(n) = solver.origins.get(origin) {
                    found.extend(made.get(n as usize).map(|&(_, span)| span));
                }
            }
        }
    }
    found
}

/// Where a key is made of what no key ends: `struct holder<@heap> h = { new_arena() };`.
fn with_another_name(solver: &mut Solver) -> Vec<Span> {
    let body = solver.body;
    let mut found = vec![];
    for (at, stmt) in points(body).filter(|(_, stmt)| !stmt.is_unsafe) {
        let named = fresh(solver, at, &stmt.kind).into_iter().filter_map(|region| match region {
            Ref::Fixed(origin) => Some(origin),
            Ref::Node(_) | Ref::Free => None,
        });
        // A region that a result hides does not belong to this body.
        let is_odd = |o: OriginId| matches!(solver.origins.get(o), Origin::Odd(_));
        if named.into_iter().any(|o| !is_odd(o) && !has_keys(solver, o)) {
            found.push(stmt.span);
        }
    }
    found
}

/// The regions of the body that a statement makes.
fn made_by(solver: &mut Solver, at: Point, kind: &StmtKind) -> Vec<u32> {
    if let Some((_, regions, _)) = kind.as_unpack() {
        return regions.clone();
    }
    let mut regions = vec![];
    for region in fresh(solver, at, kind) {
        for origin in origins_of(solver, region) {
            if let Origin::Entry(entry) = solver.origins.get(origin) {
                regions.push(entry);
            }
        }
    }
    regions.sort_unstable();
    regions.dedup();
    regions
}

/// The regions whose keys a statement makes: of a new key, and of a call's result what no parameter
/// fixes.
fn fresh(solver: &mut Solver, at: Point, kind: &StmtKind) -> Vec<Ref> {
    if let Some(ty) = kind.value().and_then(Rvalue::as_new_key) {
        return match solver.program.types.kind(ty) {
            TyKind::Key(_, region) => vec![solver.map((*region, 0), Env::Body)],
            _ => vec![],
        };
    }
    let Some(Call { ty, .. }) = kind.as_call() else { return vec![] };
    let Some(func) = solver.func_ty(*ty) else { return vec![] };
    let mut regions = keys(&solver.program.types, func.ret);
    regions.retain(|&region| !is_mentioned(&solver.program.types, &func, region));
    if regions.is_empty() {
        return vec![];
    }
    let env = solver.call_env(at, &func);
    regions.into_iter().map(|region| solver.map((region, 0), env)).collect()
}

/// Whether a parameter of the function mentions the region.
fn is_mentioned(types: &TypeStore, func: &FuncTy, region: Region) -> bool {
    let mut found = false;
    for param in &func.params {
        each_region(types, param.ty, 0, 0, &mut |(r, level)| found |= level == 0 && r == region);
    }
    found
}

/// The regions of the keys that a value of the type owns, itself or through owned pointers.
fn keys(types: &TypeStore, ty: Ty) -> Vec<Region> {
    let (mut found, mut seen, mut work) = (vec![], vec![], vec![ty]);
    while let Some(ty) = work.pop() {
        if seen.contains(&ty) {
            continue;
        }
        seen.push(ty);
        match types.kind(ty) {
            TyKind::Key(_, region) => found.push(*region),
            TyKind::Ptr(p) if is_exact(p.own) => work.push(p.target.ty),
            TyKind::Array { elem, .. } => work.push(elem.ty),
            TyKind::Record(r) => {
                let fields = types.records.get(r.0 as usize).and_then(|record| record.fields.clone());
                work.extend(fields.iter().flat_map(|f| f.iter()).map(|field| field.ty.ty));
            }
            _ => {}
        }
    }
    found
}
