//! `lee run --interpret`: the program's MIR under the oracle (docs/internals/interpreter.md).

use crate::failure::{Failure, Outcome};
use crate::pipeline::{self, How};
use crate::report;
use crate::session::Session;
use crate::timing::Timer;
use emit_c::layouts::{self, Read};
use interp::{End, Report, Words};
use source::{Sink, SourceMap, Span};
use std::os::unix::ffi::OsStringExt;
use typing::types::{RecordId, Ty, TypeStore};

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
        seed: number("LEE_SEED"),
        layouts: Some(words),
        unaligned: has_unaligned(&program.types),
        collect: number("LEE_GC_STRESS"),
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

/// A number in the environment.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.trim().parse().ok())
}

/// What the emitted descriptor says of objects that are allocated as elements of the type.
pub fn words(types: &TypeStore, elem: Ty, flexible: bool) -> Words {
    match layouts::read(types, elem, flexible) {
        Read::Nothing => Words::None,
        Read::Masks(bytes, masks) => Words::Masks(bytes, masks),
        Read::All => Words::All,
    }
}

/// Whether emission tells the runtime that pointers may begin at any byte.
pub fn has_unaligned(types: &TypeStore) -> bool {
    (0..types.records.len()).any(|n| layouts::has_unaligned(types, RecordId(n as u32)))
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
