//! The passes over MIR, in order.

use crate::emptied::Emptied;
use crate::leaf::Leaves;
use crate::lenders::Lenders;
use crate::{
    framework, initialised, inlining, late_steps, moved, no_gc, null_facts, ownership, regions, typestate,
    verify_ownership,
};
use mir::bits::BitSet;
use mir::cfg::Cfg;
use mir::ir::{Body, Program};
use mir::verify::{self, VerifyError};
use mir::waits::Waits;
use source::Sink;
use std::time::{Duration, Instant};
use typing::types::Region;

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Run the structural verifier before and after the passes.
    pub verify: bool,
    /// `-Wno-leak`: leaks of heap objects are warnings.
    pub leaks_are_warnings: bool,
    /// `--no-gc`: shared heap objects are errors.
    pub no_gc: bool,
}

/// The results besides diagnostics.
#[derive(Debug, Default)]
pub struct Report {
    /// Time in each pass, all bodies together.
    pub times: Vec<(&'static str, Duration)>,
    /// How many statements, edges and facts were looked at.
    pub work: u64,
    /// Functions that the verifier of ownership did not walk to the end, for they have too many
    /// paths.
    pub cut: Vec<String>,
    /// What the verifier found: bugs of the compiler.
    pub verify: Vec<VerifyError>,
}

impl Report {
    fn timed<T>(&mut self, pass: &'static str, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = run();
        let spent = start.elapsed();
        match self.times.iter_mut().find(|(name, _)| *name == pass) {
            Some((_, sum)) => *sum += spent,
            None => self.times.push((pass, spent)),
        }
        result
    }
}

/// Analyses all safe bodies as written, generic ones once; instances are made from the results.
pub fn check(program: &mut Program, sink: &mut Sink, options: Options) -> Report {
    let mut report = Report::default();
    let work = framework::work();
    if options.verify {
        report.verify = report.timed("verify", || verify::program(program));
        if !report.verify.is_empty() {
            return report;
        }
    }
    inlining::run(program, sink);
    let known = report.timed("functions", || {
        let known = Known::new(program);
        known.lenders.lend_for_writing(program);
        known
    });
    let mut bodies = std::mem::take(&mut program.bodies);
    for body in bodies.iter_mut().filter(|body| !body.unchecked) {
        let before = sink.all.len();
        check_body(program, &known, body, sink, &mut report, options);
        if options.verify && sink.all.len() == before {
            let mut found = report.timed("verify ownership", || verify_ownership::body(program, &known, body));
            report.verify.append(&mut found.errors);
            report.cut.extend(found.is_cut.then(|| verify_ownership::name(program, body)));
        }
    }
    program.bodies = bodies;
    report.work = framework::work() - work;
    if options.no_gc && !sink.has_errors() {
        report.timed("no collector", || no_gc::run(program, sink));
    }
    if options.verify {
        let mut found = report.timed("verify", || verify::program(program));
        report.verify.append(&mut found);
    }
    report
}

/// What is known of the functions of the file.
pub struct Known {
    /// Which wait; none if nothing asks for it.
    pub(crate) waits: Option<Waits>,
    /// Which leave all that owns as it is.
    pub(crate) leaves: Leaves,
    /// Which return a pointer to what a slot holds.
    pub(crate) lenders: Lenders,
    /// Which leave what their parameters lead to empty.
    pub(crate) emptied: Emptied,
}

impl Known {
    /// Looks at all bodies as written.
    pub fn new(program: &Program) -> Known {
        // What may wait matters to cursors only.
        let has_cursor = |body: &Body| !ownership::paths::cursors(body).is_empty();
        let waits = program.bodies.iter().any(has_cursor).then(|| Waits::new(program));
        let leaves = Leaves::new(program);
        let lenders = Lenders::new(program, &leaves);
        let emptied = Emptied::new(program, &leaves);
        Known { waits, leaves, lenders, emptied }
    }
}

/// The list of passes. Each one's header says what it needs, changes and guarantees.
fn check_body(
    program: &Program,
    known: &Known,
    body: &mut Body,
    sink: &mut Sink,
    report: &mut Report,
    options: Options,
) {
    // Variables that were reported: one mistake, one error.
    let mut reported = BitSet::empty(body.locals.len());

    report.timed("fold conditions", || framework::fold_conditions(body));
    report.timed("late steps", || late_steps::run(program, body));
    report.timed("moved", || moved::run(program, &known.leaves, body));
    let facts = report.timed("null facts", || {
        let facts = null_facts::find(program, body, &Cfg::new(body));
        null_facts::apply(body, &facts);
        facts
    });
    report.timed("initialised", || initialised::run(program, body, sink, &mut reported));
    for unproven in facts.unproven.iter().filter(|_| !source::broken!(31)) {
        let new = unproven.variable.is_none_or(|local| reported.insert(local.0 as usize));
        if new {
            sink.push(null_facts::report(body, unproven));
        }
    }
    let regions = report.timed("regions", || regions::run(program, known, body, sink, &mut reported));
    body.infer_owes = (0..body.infer_regions).map(|n| regions.heap_of(Region::Infer(n))).collect();
    let how = ownership::Options { leaks_are_warnings: options.leaks_are_warnings };
    report.timed("ownership", || ownership::run(program, known, body, &regions, how, sink, &mut reported));
    report.timed("typestate", || typestate::run(program, body, sink, &mut reported));
}
