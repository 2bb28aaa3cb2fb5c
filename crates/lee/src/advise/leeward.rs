//! Leeward files: what the compiler makes of their unique objects, as findings.
//!
//! The compiler puts small objects on the stack by itself, so these are no advice and are listed
//! with `--explain` only. Advice is what it cannot do: an object that dies in its function and has
//! no size that is small for certain, or that a function makes which is called.

use crate::failure::Failure;
use crate::options::{verify_by_default, Options};
use crate::pipeline::{self, How, Until};
use crate::session::Session;
use crate::timing::Timer;
use advise::finding::{Finding, Note, Place, Verdict};
use advise::run::Outcome;
use advise::unit::Source;
use source::{Level, Sink, SourceMap, Span};
use transform::stack::{Outcome as Lies, Placed};

/// Whether the file is Leeward.
pub fn is_leeward(source: &Source) -> bool {
    source.file.extension().is_some_and(|e| e == "lee" || e == "lh")
}

/// Adds what is to be said of the sources; `first` is the number of the first of them.
pub fn add(outcome: &mut Outcome, sources: &[Source], wanted: &advise::options::Options, first: usize) {
    for (n, source) in sources.iter().enumerate() {
        match findings(source, wanted, first + n) {
            Ok((functions, found)) => {
                outcome.functions += functions;
                outcome.findings.extend(found);
            }
            Err(why) => outcome.errors.push((source.clone(), why)),
        }
    }
}

/// The findings of one file, with the number of its functions.
///
/// Errors: the first one in words, with its place.
fn findings(source: &Source, wanted: &advise::options::Options, unit: usize) -> Result<(usize, Vec<Finding>), String> {
    let said = |failure: Failure| failure.to_string();
    let options = Options { preprocessor: source.flags.clone(), verify: verify_by_default(), ..Options::default() };
    let session = Session::new(options).map_err(said)?;
    let path = source.path();
    let (mut sink, mut timer) = (Sink::default(), Timer::default());
    let map = session.preprocess(&path, &[], &mut sink).map_err(said)?;
    let settings = session.settings(Until::C, &path);
    let program = pipeline::interpreted(&map, &settings, How::default(), &mut sink, &mut timer)?;
    if let Some(error) = sink.all.iter().find(|d| d.level == Level::Error) {
        let at = map.locate(error.span);
        return Err(format!("{}:{}: {}", at.file, at.line, error.message));
    }
    let Some(program) = program else { return Err("it was not understood".into()) };
    let mut found: Vec<Finding> = vec![];
    for placed in transform::places(&program, wanted.max_size) {
        if map.is_system(placed.span.lo) {
            continue;
        }
        let function = function_at(&program, placed.span);
        let finding = finding(&map, &placed, function, wanted, unit);
        // Instances of one generic that agree have one.
        if !found.iter().any(|f| f.place == finding.place && f.reason == finding.reason) {
            found.push(finding);
        }
    }
    found.sort_by(|a, b| a.place.cmp(&b.place));
    Ok((program.bodies.len(), found))
}

/// The name of the function whose body has the span.
fn function_at(program: &mir::ir::Program, span: Span) -> String {
    let body = program.bodies.iter().find(|b| b.span.lo <= span.lo && span.lo <= b.end.hi);
    let function = body.and_then(|b| program.functions.get(b.func.func.0 as usize));
    function.map_or_else(String::new, |f| f.name.as_str().to_string())
}

fn finding(
    map: &SourceMap,
    placed: &Placed,
    function: String,
    wanted: &advise::options::Options,
    unit: usize,
) -> Finding {
    let text = map.snippet(placed.span);
    let allocator = text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("").to_string();
    let note = |at: Span, text: &str| Note { place: Place::of(map, at), text: text.to_string() };
    let ends = |freed: &[Span]| freed.iter().map(|&at| note(at, "its end")).collect::<Vec<_>>();
    let mut finding = Finding {
        unit,
        place: Place::of(map, placed.span),
        function,
        allocator,
        variable: None,
        verdict: Verdict::Declined,
        // Accesses are checked, wherever the object lies.
        proven: true,
        size: text.split_whitespace().collect::<Vec<_>>().join(" "),
        bytes: (None, None),
        reason: String::new(),
        notes: vec![],
        in_loop: false,
        stack: 0,
        patch: None,
        no_patch: None,
        saved: None,
    };
    match &placed.outcome {
        Lies::Stack(bytes, freed) => {
            finding.bytes.1 = Some(*bytes);
            finding.reason = "the compiler puts it on the stack by itself".into();
            finding.notes = ends(freed);
        }
        Lies::Large { least, most, freed } | Lies::Made { least, most, freed } => {
            let made = matches!(placed.outcome, Lies::Made { .. });
            let fits = most.is_some_and(|n| n <= wanted.max_size);
            finding.bytes = (Some(*least), most.filter(|&n| n <= u64::from(u32::MAX)));
            finding.notes = ends(freed);
            if *least > wanted.hybrid_size {
                finding.reason = format!("it dies here, but never fits into --hybrid-size {}", wanted.hybrid_size);
            } else if most == &Some(*least) && !fits {
                finding.reason =
                    format!("it dies here, but {least} bytes are more than --max-size {}", wanted.max_size);
            } else {
                let bytes = most.filter(|_| fits).map_or(wanted.hybrid_size, |n| n.max(1));
                (finding.verdict, finding.stack) = (if made { Verdict::Caller } else { Verdict::Hybrid }, bytes);
                finding.reason = match made {
                    true => format!("`{}` makes it, and it dies here", finding.allocator),
                    false => "it dies here, and its size has no small bound that the compiler knows".into(),
                };
                finding.no_patch = Some("patches are written for plain C".into());
            }
        }
        Lies::Heap(why, at) => {
            finding.reason = why.clone();
            if *at != placed.span {
                finding.notes.push(note(*at, "here"));
            }
        }
        Lies::Reused(freed) => {
            finding.reason = "it takes the memory of what is freed before".into();
            finding.notes.push(note(*freed, "freed here"));
        }
    }
    finding
}
