//! The transforms, in order.

use crate::report::Report;
use crate::stack::{self, Placed, Recursion};
use crate::{counted, emptied, near, params, removal, repeated, thin, versions};
use flow::ranges::guarded::Guarded;
use flow::ranges::Summaries;
use mir::bits::BitSet;
use mir::ir::{Body, Program};
use rustc_hash::FxHashMap;
use typing::tree::{FuncRef, Linkage};

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Make versions of loops: more code, which is worth it where the C compiler optimises.
    pub versions: bool,
    /// Say of each check that remains why it does.
    pub explain: bool,
    /// Remove checks that are proven.
    pub checks: bool,
    /// Bytes of the largest object that goes from the heap to the stack; 0: none does.
    pub stack: u64,
}

/// Whether the body is one that is emitted, and checked.
fn emitted(program: &Program, body: &Body) -> bool {
    let generic = program.functions.get(body.func.func.0 as usize).is_none_or(|f| f.type_params != 0);
    !body.unchecked && (!generic || !body.func.args.is_empty()) && may_be_called(program, body)
}

/// What becomes of the unique objects of every body that is emitted, and changes nothing: for
/// `lee advise`. `most`: bytes of the largest object that goes to the stack.
pub fn places(program: &Program, most: u64) -> Vec<Placed> {
    let all = || program.bodies.iter().chain(&program.instances);
    let recursion = Recursion::of(all());
    let mut bodies: Vec<Body> = all().filter(|body| emitted(program, body)).cloned().collect();
    bodies.iter_mut().for_each(|body| emptied::run(program, body));
    let helpers = stack::helpers::Helpers::of(program, &bodies);
    bodies.iter().flat_map(|body| stack::judge(program, body, most, &recursion, &helpers)).collect()
}

/// Transforms every body that is emitted.
pub fn run(program: &mut Program, options: Options) -> Report {
    let mut report = Report::default();
    let mut bodies = std::mem::take(&mut program.bodies);
    let mut instances = std::mem::take(&mut program.instances);
    for body in bodies.iter_mut().chain(&mut instances) {
        if emitted(program, body) {
            emptied::run(program, body);
        }
    }
    if options.stack > 0 {
        let recursion = Recursion::of(bodies.iter().chain(&instances));
        for body in bodies.iter_mut().chain(&mut instances) {
            if emitted(program, body) {
                stack::run(program, body, options.stack, &recursion, &mut report.placed);
                stack::reuse::run(program, body, &mut report.placed);
            }
        }
    }
    if !options.checks {
        program.bodies = bodies;
        program.instances = instances;
        return report;
    }
    let (mut work, others): (Vec<&mut Body>, Vec<&mut Body>) =
        bodies.iter_mut().chain(&mut instances).partition(|body| emitted(program, body));
    let mut summaries = Summaries::default();
    summaries.guarded = Guarded::of(&program.types, &program.functions);
    let order = callees_first(&work);
    let mut thin = Vec::with_capacity(work.len());
    for body in &mut work {
        thin.push(thin::warnings(program, body));
        counted::run(program, body);
    }
    let passed = passed(program, (&work, &others), &order, &mut summaries);
    for n in order {
        let Some(body) = work.get_mut(n) else { continue };
        let thin = thin.get_mut(n).map(std::mem::take).unwrap_or_default();
        let wanted = may_be_called(program, body);
        let first = report.remaining.len();
        let with = passed.of(&body.func);
        let how = (options.explain && wanted, options.versions);
        removal::run(program, body, with, &mut summaries, how, &mut report);
        for warning in thin {
            if report.warnings.iter().all(|known| known.span != warning.span) {
                report.warnings.push(warning);
            }
        }
        summaries.guarded.note(program, body);
        report.removed += repeated::run(program, body, &mut report.remaining, first);
        if options.versions {
            near::run(program, body);
            let own = report.remaining.get_mut(first..).unwrap_or(&mut []);
            report.versions += versions::run(program, body, &summaries.guarded, own);
        }
    }
    // Callees came first, readers begin at the top.
    report.warnings.sort_by_key(|w| w.span.lo);
    program.bodies = bodies;
    program.instances = instances;
    report
}

/// What the functions of the unit are called with. What they return, and which change no memory, is
/// noted before, for it says what is passed on.
fn passed(
    program: &Program,
    (work, others): (&[&mut Body], &[&mut Body]),
    order: &[usize],
    summaries: &mut Summaries,
) -> params::Params {
    let bodies: Vec<&Body> = work.iter().map(|body| &**body).collect();
    // Of a generic function its instances are emitted; what no code names is not, unless an
    // attribute says so.
    let left_out = |body: &Body| {
        let function = program.functions.get(body.func.func.0 as usize);
        let template = body.func.args.is_empty() && function.is_some_and(|f| f.type_params != 0);
        template || !may_be_called(program, body) && function.is_some_and(|f| f.attrs.is_empty())
    };
    let others: Vec<&Body> = others.iter().map(|body| &**body).filter(|body| !left_out(body)).collect();
    for body in order.iter().filter_map(|&n| bodies.get(n)) {
        summaries.guarded.note(program, body);
    }
    let callers_first: Vec<usize> = order.iter().rev().copied().collect();
    params::Params::find(program, (&bodies, &others), &callers_first, summaries)
}

/// Whether the function is put into the program: something uses it, or another object may.
fn may_be_called(program: &Program, body: &Body) -> bool {
    program.functions.get(body.func.func.0 as usize).is_some_and(|f| f.used || f.linkage != Linkage::Internal)
}

/// The bodies' numbers, each after those that it calls, so that their results are known; where
/// calls are recursive, in the order of the source.
fn callees_first(bodies: &[&mut Body]) -> Vec<usize> {
    let numbers: FxHashMap<&FuncRef, usize> = bodies.iter().enumerate().map(|(n, b)| (&b.func, n)).collect();
    let callees = |n: usize| {
        let stmts = bodies.get(n).into_iter().flat_map(|b| b.blocks.iter().flat_map(|block| &block.stmts));
        let mut found: Vec<usize> = stmts.filter_map(|s| numbers.get(s.kind.called()?).copied()).collect();
        found.reverse();
        found
    };
    let mut order = Vec::with_capacity(bodies.len());
    let mut seen = BitSet::empty(bodies.len());
    // A path through the calls: each with the callees that are still to be entered, the first one
    // last.
    let mut path: Vec<(usize, Vec<usize>)> = vec![];
    for n in 0..bodies.len() {
        if seen.insert(n) {
            path.push((n, callees(n)));
        }
        while let Some((here, rest)) = path.last_mut() {
            match rest.pop() {
                Some(next) if seen.insert(next) => path.push((next, callees(next))),
                Some(_) => {}
                None => {
                    order.push(*here);
                    path.pop();
                }
            }
        }
    }
    order
}
