//! The transforms, in order.

use crate::{counted, removal};
use flow::ranges::Summaries;
use mir::ir::{Body, Program};

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {}

/// What was done.
#[derive(Debug, Default)]
pub struct Report {
    /// Checks that were proven and removed.
    pub removed: usize,
}

/// Transforms every body that is emitted.
pub fn run(program: &mut Program, _options: Options) -> Report {
    let mut report = Report::default();
    let mut bodies = std::mem::take(&mut program.bodies);
    let mut instances = std::mem::take(&mut program.instances);
    let emitted = |program: &Program, body: &Body| {
        let generic = program.functions.get(body.func.func.0 as usize).is_none_or(|f| f.type_params != 0);
        !body.unchecked && (!generic || !body.func.args.is_empty())
    };
    let mut summaries = Summaries::default();
    for body in bodies.iter_mut().chain(&mut instances) {
        if emitted(program, body) {
            counted::run(program, body);
            summaries.add(program, body);
        }
    }
    for body in bodies.iter_mut().chain(&mut instances) {
        if emitted(program, body) {
            report.removed += removal::run(program, body, &summaries);
        }
    }
    program.bodies = bodies;
    program.instances = instances;
    report
}
