//! Regions are made once (language reference, regions): a name stands for one arena, whatever ran
//! before.
//!
//! A region is *made* by a `new_arena()` (or reap) whose key it is, by a call whose result has a
//! key of a region that no parameter fixes, by the `unpack` that introduces it, and by the caller
//! if a parameter mentions it. A second statement that makes it, anywhere in the body, would let
//! pointers into the first arena be used in the second. That one statement does not run twice
//! before the key's scope is left is checked by `live.rs`.

use mir::ir::*;
use rustc_hash::FxHashMap;
use source::Span;
use typing::types::{FuncTy, Region, Ty, TyKind, TypeStore};

use super::build::Solver;
use super::check::origins_of;
use super::origins::Origin;
use super::shape::{each_region, is_exact};
use crate::framework::{points, Point};

/// What makes the regions of a body.
#[derive(Debug, Default)]
pub(crate) struct Makings {
    /// By statement: the regions that it makes.
    pub at: FxHashMap<Point, Vec<u32>>,
    /// Statements that make a region that something else makes too.
    pub again: Vec<(u32, Span)>,
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
        makings
    }
}

/// The regions of the body that a statement makes.
fn made_by(solver: &mut Solver, at: Point, kind: &StmtKind) -> Vec<u32> {
    if let Some(ty) = kind.value().and_then(Rvalue::as_new_key) {
        return match solver.program.types.kind(ty) {
            TyKind::Key(_, Region::Body(n)) => vec![*n],
            _ => vec![],
        };
    }
    if let Some((_, regions, _)) = kind.as_unpack() {
        return regions.clone();
    }
    let Some(Call { ty, .. }) = kind.as_call() else { return vec![] };
    let Some(func) = solver.func_ty(*ty) else { return vec![] };
    let fresh: Vec<Region> = keys(&solver.program.types, func.ret)
        .into_iter()
        .filter(|&region| !is_mentioned(&solver.program.types, &func, region))
        .collect();
    if fresh.is_empty() {
        return vec![];
    }
    let env = solver.call_env(at, &func);
    let mut regions = vec![];
    for region in fresh {
        let region = solver.map((region, 0), env);
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
