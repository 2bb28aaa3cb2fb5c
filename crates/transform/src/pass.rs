//! The transforms, in order.

use crate::report::Report;
use crate::{counted, near, removal, versions};
use flow::ranges::Summaries;
use mir::ir::{Body, Program};
use typing::tree::Linkage;

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Make versions of loops: more code, which is worth it where the C compiler optimises.
    pub versions: bool,
    /// Say of each check that remains why it does.
    pub explain: bool,
}

/// Transforms every body that is emitted.
pub fn run(program: &mut Program, options: Options) -> Report {
    let mut report = Report::default();
    let mut bodies = std::mem::take(&mut program.bodies);
    let mut instances = std::mem::take(&mut program.instances);
    let emitted = |program: &Program, body: &Body| {
        let generic = program.functions.get(body.func.func.0 as usize).is_none_or(|f| f.type_params != 0);
        !body.unchecked && (!generic || !body.func.args.is_empty()) && may_be_called(program, body)
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
            let wanted = program
                .functions
                .get(body.func.func.0 as usize)
                .is_some_and(|f| f.used || f.linkage != Linkage::Internal);
            let first = report.remaining.len();
            removal::run(program, body, &summaries, options.explain && wanted, &mut report);
            if options.versions {
                near::run(program, body);
                let own = report.remaining.get_mut(first..).unwrap_or(&mut []);
                report.versions += versions::run(program, body, own);
            }
        }
    }
    program.bodies = bodies;
    program.instances = instances;
    report
}

/// Whether the function goes into the program: something uses it, or another object may.
fn may_be_called(program: &Program, body: &Body) -> bool {
    program.functions.get(body.func.func.0 as usize).is_some_and(|f| f.used || f.linkage != Linkage::Internal)
}
