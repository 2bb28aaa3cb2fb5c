//! The passes, in order. From preprocessed text to C; no input or output but text and diagnostics.

use crate::timing::Timer;
use mir::ir::Callee;
use source::{Diagnostic, Sink, SourceMap, Span};
use std::collections::BTreeSet;
use std::path::PathBuf;
use syntax::{Dialect, ParseOptions};
use typing::tree::FuncId;

/// How far to go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Until {
    /// Print the syntax tree.
    Ast,
    /// Print the typed tree.
    Types,
    /// All analyses; nothing is made.
    Checked,
    /// Print which run-time checks remain.
    Checks,
    /// Print the MIR as the back end gets it.
    Mir,
    /// The module's header.
    Header,
    /// C.
    C,
}

/// Choices that change what the passes do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How far to go.
    pub until: Until,
    /// The language of the file.
    pub dialect: Dialect,
    /// Folder of Leeward's own headers.
    pub library: Option<PathBuf>,
    /// `-Wno-free-shared`: `free` of a shared pointer is a warning.
    pub free_shared: bool,
    /// Bounds of parameters of `static` functions are not inferred: words are looked for to write.
    pub words_wanted: bool,
    /// `-Wno-leak`: leaks of heap objects are warnings.
    pub leaks: bool,
    /// `--no-gc`: there is no collector.
    pub no_gc: bool,
    /// Names of foreign functions with what to use instead.
    pub advice: Vec<(String, String)>,
    /// Run the verifier of MIR after each pass that makes or changes it.
    pub verify: bool,
    /// Keep what only a debugger looks at.
    pub debug: bool,
    /// Remove checks that are proven.
    pub remove_checks: bool,
    /// `--stack-promote=N`: bytes of the largest unique object that goes to the stack; 0: none.
    pub stack_promote: u64,
    /// `--stack-notes`: say what became of unique objects.
    pub stack_notes: bool,
    /// One process, for use inside a C program.
    pub single: bool,
    /// Each process has its own variables, whether or not this file spawns any.
    pub processes: bool,
    /// The file's name.
    pub source_name: String,
    /// GNU's older rules for `inline`.
    pub gnu89_inline: bool,
    /// `-fvisibility=hidden` and the like: pragmas that say `default` change something.
    pub hidden: bool,
}

/// What comes out.
#[derive(Debug, PartialEq, Eq)]
pub enum Product {
    /// Nothing was asked for but diagnostics.
    Nothing,
    /// Text that `--emit` asked for.
    Text(String),
    /// C. True: it spawns processes, so all of the program is compiled for them.
    C(String, bool),
}

/// Takes a unit through the passes. `None` if errors were reported; `Err` if the compiler is
/// inconsistent.
pub fn compile(
    map: &SourceMap,
    settings: &Settings,
    sink: &mut Sink,
    timer: &mut Timer,
) -> Result<Option<Product>, String> {
    let mut parsing = ParseOptions::new(settings.dialect);
    parsing.library_dir = settings.library.clone().filter(|_| settings.dialect == Dialect::Leeward);
    let unit = timer.pass("parse", || syntax::parse(map, parsing, sink));
    compile_tree(unit, map, settings, sink, timer)
}

/// The types that the unit declares.
pub fn types(map: &SourceMap, settings: &Settings, sink: &mut Sink) -> typing::TypeStore {
    let mut parsing = ParseOptions::new(settings.dialect);
    parsing.library_dir = settings.library.clone();
    let unit = syntax::parse(map, parsing, sink);
    typing::check(&unit, map, &typing_options(settings), sink).types
}

/// The syntax tree and the typed tree of a unit, for tools that look at whole programs.
pub struct Trees {
    /// The syntax tree.
    pub ast: syntax::ast::Unit,
    /// The typed tree; it has holes where something was reported.
    pub typed: typing::tree::Program,
}

/// Checks a unit and keeps its trees. If all types are right, the analyses have run, too.
pub fn trees(map: &SourceMap, settings: &Settings, sink: &mut Sink) -> Result<Trees, String> {
    let mut parsing = ParseOptions::new(settings.dialect);
    parsing.library_dir = settings.library.clone();
    let ast = syntax::parse(map, parsing, sink);
    let mut options = typing_options(settings);
    let what = What { staged: true, ..What::default() };
    analysed(&ast, map, settings, &mut options, what, sink, &mut Timer::default())?;
    // Lowering has taken the tree.
    let typed = typing::check(&ast, map, &options, &mut Sink::default());
    Ok(Trees { ast, typed })
}

fn typing_options(settings: &Settings) -> typing::Options {
    typing::Options {
        plain_c: settings.dialect == Dialect::C,
        gnu89_inline: settings.gnu89_inline,
        free_shared: settings.free_shared,
        words_wanted: settings.words_wanted,
        returned: vec![],
        advice: settings.advice.clone(),
        library: settings.library.clone().filter(|_| settings.dialect == Dialect::Leeward),
    }
}

/// Names of parameters that reports say to be returned, which the checker does not know yet: what is
/// returned where a result says nothing of a region.
fn returned(sink: &Sink, known: &[Span]) -> Vec<Span> {
    let lacks = sink.all.iter().filter(|d| d.lacks == Some(source::Lack::Result));
    lacks.filter_map(|d| d.subject).filter(|subject| !known.contains(subject)).collect()
}

/// From the syntax tree on.
fn compile_tree(
    unit: syntax::ast::Unit,
    map: &SourceMap,
    settings: &Settings,
    sink: &mut Sink,
    timer: &mut Timer,
) -> Result<Option<Product>, String> {
    let until = settings.until;
    let plain = settings.dialect == Dialect::C;
    if until == Until::Ast {
        return Ok(Some(Product::Text(syntax::print::print_own(&unit))));
    }

    let mut types = typing_options(settings);
    if until == Until::Types && !plain {
        // The analyses run only for what is inferred of results.
        let _ = analysed(&unit, map, settings, &mut types, What::default(), &mut Sink::default(), timer);
    }
    if until == Until::Types || plain && until == Until::Checked {
        let tree = timer.pass("check types", || typing::check(&unit, map, &types, sink));
        // No analysis looks at unchecked bodies.
        return Ok(match until {
            Until::Types => Some(Product::Text(typing::print::print(&tree, map))),
            _ if sink.has_errors() => None,
            _ => Some(Product::Nothing),
        });
    }
    let what = What { regions: until == Until::Mir, ..What::default() };
    let Some(mut mir) = analysed(&unit, map, settings, &mut types, what, sink, timer)? else { return Ok(None) };
    if let (true, Some(span)) = (settings.single, mir.spawned_at()) {
        let message =
            "`--single` makes code for a C program, which has no processes: what it sets up for `main` is left out";
        let help = "leave `--single` out if `main` is Leeward's, or start a task";
        sink.push(Diagnostic::error(typing::codes::PROCESS, span, message).help(help));
    }
    if (settings.remove_checks || settings.stack_promote > 0) && !sink.has_errors() {
        let explain = until == Until::Checks;
        let options = transform::Options {
            versions: explain || !settings.debug && until != Until::Checked,
            explain,
            checks: settings.remove_checks,
            stack: if settings.stack_notes || until != Until::Checked { settings.stack_promote } else { 0 },
        };
        let mut report = timer.pass("transform", || transform::run(&mut mir, options));
        for warning in report.warnings.drain(..) {
            sink.push(warning);
        }
        if settings.verify {
            consistent("a transform", timer.pass("verify", || mir::verify::program(&mir)))?;
        }
        if settings.stack_notes {
            report.notes().into_iter().for_each(|note| sink.push(note));
        }
        if explain {
            return Ok(Some(Product::Text(report.text(map))));
        }
    }
    if until == Until::Mir {
        return Ok(Some(Product::Text(mir::print::program(&mir, Some(map)))));
    }
    if sink.has_errors() {
        return Ok(None);
    }
    if until == Until::Checked {
        return Ok(Some(Product::Nothing));
    }

    if until == Until::Header {
        return Ok(Some(Product::Text(emit_c::header(&mir, map, &settings.source_name))));
    }

    let (debug, single, no_gc) = (settings.debug, settings.single, settings.no_gc);
    let spawns = mir.spawns();
    let processes = settings.processes || spawns;
    let options = emit_c::Options { debug, single, processes, plain, no_gc, source_name: settings.source_name.clone() };
    Ok(Some(Product::C(timer.pass("emit C", || emit_c::emit(&mir, map, &options)), spawns)))
}

/// How `analysed` treats a unit.
#[derive(Clone, Copy, Debug, Default)]
struct What {
    /// Regions are kept, for people to read.
    regions: bool,
    /// What the analyses report is ignored.
    bypass: bool,
    /// The analyses run only once all types are right: what is missing in them comes first.
    staged: bool,
}

/// From the syntax tree to MIR with its instances, as the back ends get it; `None` if the types are
/// wrong. If the analyses find that parameters are returned, types are checked again with what that
/// says of results: `types` then knows it, too.
fn analysed(
    unit: &syntax::ast::Unit,
    map: &SourceMap,
    settings: &Settings,
    types: &mut typing::Options,
    what: What,
    sink: &mut Sink,
    timer: &mut Timer,
) -> Result<Option<mir::ir::Program>, String> {
    let (verify, leaks_are_warnings, no_gc) = (settings.verify && !what.bypass, settings.leaks, settings.no_gc);
    let analyses = flow::Options { verify, leaks_are_warnings, no_gc };
    loop {
        let before = sink.all.len();
        let tree = timer.pass("check types", || typing::check(unit, map, types, sink));
        if sink.has_errors() {
            if !what.bypass && !what.staged {
                elsewhere(tree, sink, analyses, timer);
            }
            return Ok(None);
        }
        let mut mir = timer.pass("lower", || lower::lower(tree));
        lower::drop_unused(&mut mir, &|at| map.is_system(at.lo));
        let mut ignored = Sink::default();
        let report = flow::check(&mut mir, if what.bypass { &mut ignored } else { &mut *sink }, analyses);
        timer.add(&report.times);
        timer.add_work(report.work);
        timer.left_unwalked(report.cut);
        if !what.bypass {
            consistent("lowering or an analysis", report.verify)?;
        }
        let more = returned(sink, &types.returned);
        if more.is_empty() {
            return instances(mir, settings, what, sink, timer).map(Some);
        }
        sink.all.truncate(before);
        types.returned.extend(more);
    }
}

/// Types are wrong somewhere. Reports what the analyses find in functions whose types are right, and
/// that call none, through others either, in which something is wrong: what is known of those may
/// change.
fn elsewhere(mut tree: typing::tree::Program, sink: &mut Sink, analyses: flow::Options, timer: &mut Timer) {
    let errors: Vec<Span> = sink.all.iter().filter(|d| d.level == source::Level::Error).map(|d| d.span).collect();
    if !tree.keep_right_bodies(&errors) {
        return;
    }
    let checked = std::mem::take(&mut tree.checked);
    let mut unknown: BTreeSet<FuncId> = checked.iter().filter(|c| c.wrong).map(|c| c.func).collect();
    let mut mir = timer.pass("lower", || lower::lower(tree));
    let mut found = Sink::default();
    flow::check(&mut mir, &mut found, flow::Options { verify: false, ..analyses });
    let calls = |body: &mir::ir::Body, unknown: &BTreeSet<FuncId>| {
        let callees = body.blocks.iter().flat_map(|b| &b.stmts).filter_map(|s| s.kind.as_call().map(|c| c.callee));
        callees.into_iter().any(|callee| match callee {
            Callee::Direct(f) | Callee::Start(f) | Callee::Spawn(f, _) => unknown.contains(&f.func),
            Callee::Pointer(_) | Callee::Builtin(_) => false,
        })
    };
    loop {
        let more: Vec<FuncId> = mir.bodies.iter().filter(|b| calls(b, &unknown)).map(|b| b.func.func).collect();
        let known = unknown.len();
        unknown.extend(more);
        if unknown.len() == known {
            break;
        }
    }
    let is_known = |at: Span| {
        let around = checked.iter().find(|c| c.text.holds(at));
        around.is_some_and(|c| !unknown.contains(&c.func))
    };
    // What is returned would be inferred in a further round (`returned`).
    let is_right = |d: &Diagnostic| d.level == source::Level::Error && d.lacks != Some(source::Lack::Result);
    sink.all.extend(found.all.into_iter().filter(|d| is_right(d) && is_known(d.span)));
}

fn instances(
    mut mir: mir::ir::Program,
    settings: &Settings,
    what: What,
    sink: &mut Sink,
    timer: &mut Timer,
) -> Result<mir::ir::Program, String> {
    lower::mark_lent(&mut mir);
    lower::copy_looks(&mut mir);
    if !what.regions {
        timer.pass("erase", || lower::erase(&mut mir));
    }
    if let Err(error) = timer.pass("instantiate", || lower::instantiate(&mut mir)) {
        sink.push(Diagnostic::error(typing::codes::GENERIC, error.span, error.to_string()));
    }
    if settings.verify && !what.bypass {
        consistent("instantiation", timer.pass("verify", || mir::verify::program(&mir)))?;
    }
    lower::erase_records(&mut mir.types);
    lower::empty_moved(&mut mir);
    Ok(mir)
}

/// What the oracle is given.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// What the transforms made of it.
    pub transforms: bool,
    /// Whatever the analyses report.
    pub bypass: bool,
}

/// Takes a unit to MIR with its instances, for `interp`. `None` if errors were reported.
pub fn interpreted(
    map: &SourceMap,
    settings: &Settings,
    how: How,
    sink: &mut Sink,
    timer: &mut Timer,
) -> Result<Option<mir::ir::Program>, String> {
    let mut parsing = ParseOptions::new(settings.dialect);
    parsing.library_dir = settings.library.clone();
    let unit = timer.pass("parse", || syntax::parse(map, parsing, sink));
    let library = settings.library.clone();
    let mut types = typing::Options { plain_c: false, library, ..typing_options(settings) };
    let what = What { bypass: how.bypass, ..What::default() };
    let Some(mut mir) = analysed(&unit, map, settings, &mut types, what, sink, timer)? else { return Ok(None) };
    if sink.has_errors() {
        return Ok(None);
    }
    if how.transforms {
        let (checks, stack) = (settings.remove_checks, settings.stack_promote);
        let options = transform::Options { versions: true, explain: false, checks, stack };
        timer.pass("transform", || transform::run(&mut mir, options));
    }
    Ok(Some(mir))
}

/// A file of plain C after the passes.
#[derive(Debug, Default)]
pub struct Plain {
    /// Its C, unless something did not get through.
    pub c: Option<String>,
    /// Functions that the file itself defines.
    pub functions: usize,
    /// What did not get through, if no diagnostic says it.
    pub problem: Option<String>,
}

/// Takes a unit of plain C through the passes. What it reports in `sink` is for information only:
/// the C compiler decides.
pub fn plain(map: &SourceMap, settings: &Settings, sink: &mut Sink, timer: &mut Timer) -> Plain {
    let unit = timer.pass("parse", || syntax::parse(map, ParseOptions::new(Dialect::C), sink));
    let own = |item: &&syntax::ast::Item| {
        matches!(item.kind, syntax::ast::ItemKind::Function(_)) && !map.is_system(item.span.lo)
    };
    let functions = unit.items.iter().filter(own).count();
    if let Some(pragma) = strange_pragma(map, settings.hidden) {
        return Plain { c: None, functions, problem: Some(format!("`{pragma}` is the C compiler's alone")) };
    }
    match compile_tree(unit, map, settings, sink, timer) {
        Ok(Some(Product::C(c, _))) => Plain { c: Some(c), functions, problem: None },
        Ok(_) => Plain { c: None, functions, problem: None },
        Err(bug) => Plain { c: None, functions, problem: Some(bug) },
    }
}

/// Pragmas that say nothing about what the code does.
const HARMLESS: &[&str] = &[
    "once",
    "pack",
    "GCC diagnostic",
    "GCC system_header",
    "GCC poison",
    "GCC warning",
    "GCC error",
    "GCC ivdep",
    "GCC unroll",
    "GCC dependency",
    "clang diagnostic",
    "clang loop",
    "STDC",
    "message",
    "region",
    "endregion",
    "mark",
    "ident",
    "omp",
    "warning",
    "vector",
    "simd",
    "ivdep",
    "unroll",
    "nounroll",
];

/// The first pragma of the user's own files that changes how the code is compiled, in ways that
/// emitted C does not show.
fn strange_pragma(map: &SourceMap, hidden: bool) -> Option<&str> {
    // What is visible anyway may be said to be; `push(hidden)` stops at its own line.
    let visible = |text: &str| !hidden && matches!(text, "GCC visibility push(default)" | "GCC visibility pop");
    let mut offset = 0;
    for line in map.text.split_inclusive('\n') {
        if let Some(text) = line.strip_prefix("#pragma").map(str::trim) {
            let starts = |known: &&str| {
                text.strip_prefix(*known)
                    .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            if !HARMLESS.iter().any(starts) && !visible(text) && !map.is_system(offset) {
                return Some(line.trim());
            }
        }
        offset += line.len() as u32;
    }
    None
}

/// MIR that breaks its own rules is a bug; the first few say which.
fn consistent(pass: &str, errors: Vec<mir::verify::VerifyError>) -> Result<(), String> {
    if errors.is_empty() {
        return Ok(());
    }
    let first: Vec<String> = errors.iter().take(5).map(|e| e.to_string()).collect();
    Err(format!("MIR is inconsistent after {pass}: {}", first.join("; ")))
}
