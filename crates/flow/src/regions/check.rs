//! What is wrong with the solved regions.

use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::effects::{stmt_places, term_places};
use mir::ir::*;
use source::{Sink, Span};
use typing::tree::RegionKind;
use typing::types::{ParamTy, Ty, TyKind};

use super::build::{Demand, Env, Keeper, Outside, Ref, Solver};
use super::live::{Live, Liveness};
use super::makings::Makings;
use super::origins::{Origin, OriginId, EXCHANGE, HEAP};
use super::report::{Finding, Problem};
use super::shape::each_region;
use crate::framework::{solve, Item, Point};

/// Finds what is wrong and reports it, one report for each mistake.
pub(crate) fn run(solver: &mut Solver, cfg: &Cfg, sink: &mut Sink, reported: &mut BitSet) {
    let mut found: Vec<Finding> = vec![];
    for demand in solver.demands.clone() {
        demanded(solver, &demand, &mut found);
    }
    owned_in(solver, &mut found);
    outside(solver);
    packs(solver, &mut found);
    liveness(solver, cfg, &mut found);
    found.sort_by_key(|f| f.span);
    super::report::all(solver, &found, sink, reported);
}

/// The origins that a region may be.
pub(crate) fn origins_of(solver: &Solver, region: Ref) -> Vec<OriginId> {
    match region {
        Ref::Fixed(o) => vec![o],
        Ref::Node(n) => solver.sets.get(n).map_or(vec![], |set| set.iter().collect()),
        Ref::Free => vec![],
    }
}

fn demanded(solver: &Solver, demand: &Demand, found: &mut Vec<Finding>) {
    // That a function found it says more than what it may lie in.
    let mut origins = origins_of(solver, demand.source);
    origins.sort_by_key(|&origin| !solver.origins.is_result(origin));
    for origin in origins {
        if !solver.is_met(demand, origin) {
            // It may be there only because it must outlive the region.
            let fact =
                solver.broken.iter().find(|f| f.span == demand.span && origins_of(solver, f.long).contains(&origin));
            let (exact, keeper) = match fact {
                Some(fact) => (false, fact.keeper),
                None => (demand.exact, demand.keeper),
            };
            let problem = Problem::Kept { origin, region: demand.region, exact, keeper };
            found.push(Finding { span: demand.span, problem });
        }
    }
}

/// What type arguments own is where an object of the call's region may own.
fn owned_in(solver: &Solver, found: &mut Vec<Finding>) {
    for owned in &solver.owned_in {
        let regions = origins_of(solver, owned.region);
        for origin in origins_of(solver, owned.part) {
            let wrong = |&&r: &&OriginId| r != origin;
            if let Some(&region) = regions.iter().find(wrong) {
                let problem = Problem::Kept { origin, region, exact: true, keeper: Keeper::Owner };
                found.push(Finding { span: owned.span, problem });
            }
        }
    }
}

/// Finds variables that are declared outside of a region and may point into it. The region's end is
/// an access, which ownership compares with their uses.
fn outside(solver: &mut Solver) {
    if source::broken!(26) {
        return;
    }
    let is_temp = |body: &Body, n: usize| body.locals.get(n).is_none_or(|d| d.kind == LocalKind::Temp);
    for n in (0..solver.body.locals.len()).filter(|&n| !is_temp(solver.body, n)) {
        may_be_outside(solver, Local(n as u32), |_| true);
    }
    // What variables outside of a region hold goes through temporaries, none of which is used after
    // the region's end either.
    let regions: Vec<u32> = solver.outside.iter().map(|outside| outside.region).collect();
    if regions.is_empty() {
        return;
    }
    for n in (0..solver.body.locals.len()).filter(|&n| is_temp(solver.body, n)) {
        may_be_outside(solver, Local(n as u32), |region| regions.contains(&region));
    }
}

/// Adds the regions that the local may point into, and that end by a statement elsewhere.
fn may_be_outside(solver: &mut Solver, local: Local, counts: impl Fn(u32) -> bool) {
    let Some(decl) = solver.body.locals.get(local.0 as usize) else { return };
    // Handles and keys hold nothing.
    if matches!(solver.program.types.kind(decl.ty.ty), TyKind::Handle(..) | TyKind::Key(..)) {
        return;
    }
    for node in regions_of_local(solver, local) {
        for origin in solver.reached(node) {
            let Origin::Entry(region) = solver.origins.get(origin) else { continue };
            let is_temp = decl.kind == LocalKind::Temp;
            let is_inside = !is_temp && solver.origins.is_declared_in(region, local);
            let is_known = solver.outside.iter().any(|o| o.region == region && o.local == local);
            if !counts(region) || is_inside || is_known || solver.origins.ends_with(solver.program, region).is_none() {
                continue;
            }
            // The pointer may have come as one into another named region.
            let came_as = origins_of(solver, node).into_iter().filter(|_| !is_temp);
            let mut came_as = came_as.filter(|&o| solver.reached(Ref::Fixed(o)).contains(&origin));
            let brought = came_as.find_map(|o| solver.brought(o, node));
            solver.outside.push(Outside { region, local, span: brought.unwrap_or(decl.span) });
        }
    }
}

/// All fields of one struct hide the same region.
fn packs(solver: &Solver, found: &mut Vec<Finding>) {
    for &(node, span) in &solver.packed {
        let hidden: Vec<OriginId> = origins_of(solver, node).into_iter().filter(|&o| o != HEAP).collect();
        if let [first, second, ..] = hidden[..] {
            found.push(Finding { span, problem: Problem::Packed(first, second) });
        }
    }
    for &(region, span) in &solver.owners {
        if origins_of(solver, region).iter().any(|&o| o <= EXCHANGE) {
            found.push(Finding { span, problem: Problem::HiddenOwner });
        }
    }
}

/// The regions that a local's type mentions.
pub(crate) fn regions_of_local(solver: &mut Solver, local: Local) -> Vec<Ref> {
    let Some(decl) = solver.body.locals.get(local.0 as usize) else { return vec![] };
    let mut refs = regions_of_ty(solver, decl.ty.ty, Env::Body);
    if decl.kind == LocalKind::Temp {
        let outer = solver.outer_of_local(local);
        if let (Ref::Node(_), Some(first)) = (outer, refs.first_mut()) {
            *first = outer;
        }
    }
    refs
}

fn regions_of_ty(solver: &mut Solver, ty: Ty, env: Env) -> Vec<Ref> {
    let mut regions = vec![];
    each_region(&solver.program.types, ty, 0, 0, &mut |r| regions.push(r));
    // Those of function types are promises about calls, not about memory.
    regions.into_iter().filter(|(_, level)| *level == 0).map(|r| solver.map(r, env)).collect()
}

struct Uses {
    /// Pointers that are followed: region, the local they start at, where.
    accesses: Vec<(Ref, Option<Local>, Span)>,
    /// Regions that calls, allocations and loans use.
    regions: Vec<(Ref, Span, bool)>,
}

/// Every region is live where it is used.
fn liveness(solver: &mut Solver, cfg: &Cfg, found: &mut Vec<Finding>) {
    let (program, body) = (solver.program, solver.body);
    let makings = Makings::new(solver);
    let again = |&(n, span): &(u32, Span)| Finding { span, problem: Problem::MadeTwice(n) };
    found.extend(makings.again.iter().map(again));
    found.extend(makings.unnamed.iter().map(|&span| Finding { span, problem: Problem::Unnamed }));
    let analysis = Liveness::new(program, body, makings.at);
    let results = solve(&analysis, body, cfg);
    results.visit(&analysis, body, &mut |at, live, item| {
        let mut uses = Uses { accesses: vec![], regions: vec![] };
        match item {
            Item::Stmt(stmt) if stmt.is_unsafe => return,
            Item::Stmt(stmt) => {
                if let Some(&n) = analysis.made_at(at).iter().find(|&&n| live.made.contains(n as usize)) {
                    found.push(Finding { span: stmt.span, problem: Problem::MadeTwice(n) });
                }
                statement_uses(solver, at, stmt, &mut uses);
            }
            Item::Term(term) => {
                term_places(&term.kind, &mut |place, _| accesses(solver, place, term.span, &mut uses));
            }
        }
        judge(solver, live, &uses, found);
    });
}

fn accesses(solver: &mut Solver, place: &Place, span: Span, uses: &mut Uses) {
    for (n, step) in place.proj.iter().enumerate() {
        if *step == Proj::Deref {
            let pointer = Place { base: place.base, proj: place.proj.iter().take(n).cloned().collect() };
            uses.accesses.push((solver.outer_of_place(&pointer), place.base_local(), span));
        }
    }
}

fn statement_uses(solver: &mut Solver, at: Point, stmt: &Stmt, uses: &mut Uses) {
    stmt_places(&stmt.kind, &mut |place, _| accesses(solver, place, stmt.span, uses));
    if let Some(Call { args, ty, .. }) = stmt.kind.as_call() {
        call_uses(solver, at, (args, *ty), stmt.span, uses);
    }
    let Some(value) = stmt.kind.value() else { return };
    if let Some(handle) = value.as_alloc().and_then(|made| made.handle.as_ref()) {
        uses.regions.push((solver.handle_region(handle), stmt.span, false));
    }
    // What is looked at is used by the access that the look is for.
    if let Some((kind, place, _)) = value.as_borrow().filter(|(kind, ..)| !kind.is_look()) {
        let region = if kind.by_address() { solver.memory_of(place) } else { solver.outer_of_place(place) };
        // A loan is used where it is lent; that it points to a closed arena is reported there.
        uses.regions.push((region, stmt.span, false));
    }
}

fn call_uses(solver: &mut Solver, at: Point, (args, ty): (&[Operand], Ty), span: Span, uses: &mut Uses) {
    let Some(func) = solver.func_ty(ty) else { return };
    let env = solver.call_env(at, &func);
    // A function that has the key of a region opens it by itself. It knows so only of what
    // its prototype says to be in that region.
    let is_key = |param: &ParamTy| matches!(solver.program.types.kind(param.ty), TyKind::Key(..));
    let (keys, others): (Vec<_>, Vec<_>) = func.params.iter().enumerate().partition(|(_, p)| is_key(p));
    let keys: Vec<Ref> = keys.into_iter().flat_map(|(_, p)| regions_of_ty(solver, p.ty, env)).collect();
    let opened: Vec<OriginId> = keys.iter().flat_map(|&k| origins_of(solver, k)).collect();
    let mut used = vec![];
    for (n, param) in others {
        let refs = regions_of_ty(solver, param.ty, env);
        // The argument itself too: its region may outlive the parameter's and be closed
        // nevertheless.
        let side = args.get(n).and_then(|a| solver.operand_side(a)).map(|side| side.outer);
        let opens = refs.first().is_some_and(|outer| keys.contains(outer));
        used.extend(side.filter(|&r| !opens || origins_of(solver, r).iter().any(|o| !opened.contains(o))));
        used.extend(refs.into_iter().filter(|region| !keys.contains(region)));
    }
    for arg in args.iter().skip(func.params.len()) {
        used.extend(solver.operand_side(arg).map(|side| side.outer));
    }
    uses.regions.extend(used.into_iter().map(|region| (region, span, true)));
}

/// Whether the origin is live here.
fn is_live(solver: &Solver, live: &Live, origin: OriginId) -> bool {
    match solver.origins.get(origin) {
        Origin::Entry(n) => {
            let kind = solver.origins.entry(n).map(|r| r.decl.kind);
            match kind {
                Some(RegionKind::Lifo(_) | RegionKind::Dynamic | RegionKind::ParamKey) => {
                    live.open.get(n as usize).is_some_and(|&count| count > 0)
                }
                _ => true,
            }
        }
        // A region without a name cannot be opened here.
        Origin::Unnamed(_) => false,
        Origin::Heap | Origin::Exchange | Origin::Local(_) | Origin::Loan(_) | Origin::Odd(_) => true,
    }
}

/// Whether ownership sees to it that the local is not used for a pointer into the arena once that
/// has ended: then it holds none where the arena is not live.
fn is_outside(solver: &Solver, origin: OriginId, local: Option<Local>) -> bool {
    let Origin::Entry(n) = solver.origins.get(origin) else { return false };
    let is_arena = solver.origins.entry(n).is_some_and(|region| matches!(region.decl.kind, RegionKind::Lifo(_)));
    is_arena && solver.outside.iter().any(|o| o.region == n && Some(o.local) == local)
}

fn judge(solver: &mut Solver, live: &Live, uses: &Uses, found: &mut Vec<Finding>) {
    for &(region, local, span) in &uses.accesses {
        let is_dead = |&o: &OriginId| !is_live(solver, live, o) && !is_outside(solver, o, local);
        if let Some(dead) = solver.reached(region).into_iter().find(is_dead) {
            let origin = hidden_as(solver, region, dead);
            found.push(Finding { span, problem: Problem::NotLive { origin, local, call: false } });
        }
    }
    for &(region, span, call) in &uses.regions {
        if let Some(dead) = solver.reached(region).into_iter().find(|&o| !is_live(solver, live, o)) {
            let origin = hidden_as(solver, region, dead);
            found.push(Finding { span, problem: Problem::NotLive { origin, local: None, call } });
        }
    }
}

/// The name that `unpack` gave what is live with the origin, if the region is one.
fn hidden_as(solver: &Solver, region: Ref, origin: OriginId) -> OriginId {
    let is_hidden = |o: OriginId| match solver.origins.get(o) {
        Origin::Entry(n) => solver.origins.entry(n).is_some_and(|r| r.decl.kind == RegionKind::Hidden),
        _ => false,
    };
    let mut names = origins_of(solver, region).into_iter().filter(|&o| is_hidden(o));
    names.find(|&o| solver.reached(Ref::Fixed(o)).contains(&origin)).unwrap_or(origin)
}
