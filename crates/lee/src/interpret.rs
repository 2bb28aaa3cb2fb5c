//! `lee run --interpret`: the program's MIR under the oracle (docs/internals/interpreter.md).

use crate::failure::{Failure, Outcome};
use crate::pipeline::{self, How};
use crate::report;
use crate::session::Session;
use crate::timing::Timer;
use interp::{End, Report};
use source::{Sink, SourceMap, Span};
use std::os::unix::ffi::OsStringExt;

/// The status when memory safety was broken.
pub const REPORTED: i32 = 86;
/// The status when the oracle met something that it does not know.
pub const UNKNOWN: i32 = 87;
/// The status when a limit was reached.
pub const LIMIT: i32 = 88;
/// The status of a fault, as of compiled programs.
const FAULT: i32 = 134;

/// Interprets the one file of the session; gives the status.
pub fn run(session: &Session) -> Outcome<i32> {
    let options = &session.options;
    let mut files = options.files();
    let (Some(file), None) = (files.next(), files.next()) else {
        return Err(Failure::usage("--interpret takes one .lee file"));
    };
    if file.extension().is_none_or(|e| e != "lee") {
        return Err(Failure::usage("--interpret takes one .lee file"));
    }
    let (mut sink, mut timer) = (Sink::default(), Timer::default());
    let map = session.preprocess(file, &[], &mut sink)?;
    let settings = session.settings(pipeline::Until::C, file);
    let how = How { transforms: options.interpret_transformed, bypass: options.interpret_bypass };
    let made = match sink.has_errors() {
        true => Ok(None),
        false => pipeline::interpreted(&map, &settings, how, &mut sink, &mut timer),
    };
    let bad = report::diagnostics(options, &map, &sink)?;
    let program = match made {
        Ok(Some(program)) if !bad => program,
        Ok(_) => return Err(Failure::reported()),
        Err(bug) => return Err(Failure::error(format!("internal error in {}: {bug}", file.display()))),
    };
    let mut arguments = vec![file.clone().into_os_string().into_vec()];
    arguments.extend(options.arguments.iter().map(|a| a.clone().into_vec()));
    let limits = interp::Options {
        arguments,
        steps: options.steps.unwrap_or(u64::MAX),
        leaks: !settings.leaks && !options.interpret_transformed,
        owners: !options.interpret_transformed,
        table: options.verify,
        seed: std::env::var("LEE_SEED").ok().and_then(|text| text.trim().parse().ok()),
        ..interp::Options::default()
    };
    let outcome = interp::run(&program, limits);
    if options.time_passes {
        report::note(&format!("{} statements\n", outcome.steps));
    }
    for found in &outcome.reports {
        report::note(&told(&map, found));
    }
    Ok(match outcome.end {
        End::Exit(_) | End::Reported if !outcome.reports.is_empty() => REPORTED,
        End::Exit(status) => status,
        End::Reported => REPORTED,
        End::Fault { message, span } => {
            report::note(&format!("{}: fault: {message}\n", place(&map, span)));
            FAULT
        }
        End::Unsupported(what) => {
            report::note(&format!("{}: oracle: does not know {what}\n", place(&map, outcome.span)));
            UNKNOWN
        }
        End::Limit(what) => {
            report::note(&format!("{}: oracle: the limit of {what} is reached\n", place(&map, outcome.span)));
            LIMIT
        }
    })
}

/// A report in one line, and one for where the object was made.
pub fn told(map: &SourceMap, report: &Report) -> String {
    let mut text = format!("{}: oracle: {}: {}\n", place(map, report.span), report.kind.name(), report.message);
    if let Some(made) = report.made {
        text.push_str(&format!("{}: note: it was made here\n", place(map, made)));
    }
    text
}

/// `FILE:LINE:COLUMN`
fn place(map: &SourceMap, span: Span) -> String {
    let at = map.locate(span);
    format!("{}:{}:{}", at.file, at.line, at.column)
}
