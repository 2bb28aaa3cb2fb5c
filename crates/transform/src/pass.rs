//! The transforms, in order.

use crate::counted;
use mir::ir::{Body, Program};

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {}

/// What was done.
#[derive(Debug, Default)]
pub struct Report {}

/// Transforms every body that is emitted.
pub fn run(program: &mut Program, _options: Options) -> Report {
    let mut report = Report::default();
    let mut bodies = std::mem::take(&mut program.bodies);
    for body in bodies.iter_mut().filter(|b| !b.unchecked) {
        if program.functions.get(body.func.func.0 as usize).is_some_and(|f| f.type_params == 0) {
            transform(program, body, &mut report);
        }
    }
    program.bodies = bodies;
    let mut instances = std::mem::take(&mut program.instances);
    for body in instances.iter_mut().filter(|b| !b.unchecked) {
        transform(program, body, &mut report);
    }
    program.instances = instances;
    report
}

fn transform(program: &mut Program, body: &mut Body, _report: &mut Report) {
    counted::run(program, body);
}
