//! Plain C: a `.c` file through the front end, MIR and back end, or through the C compiler where
//! that cannot be.
//!
//! The C compiler looks at the source itself, too, while we do (`-fsyntax-only`): it knows best
//! what it accepts and warns of, and build systems rely on that. What it rejects is rejected; what
//! it accepts and we do not is passed to it unchanged.

use crate::cc_report;
use crate::failure::{Failure, Outcome};
use crate::pipeline::{self, Plain};
use crate::report;
use crate::run_process::status_of;
use crate::session::Session;
use crate::timing::Timer;
use source::{Level, Sink, SourceMap};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use typing::codes::LEFT_OUT;
use typing::left_out;

/// Which way `.c` files take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Through {
    /// Ours, and the C compiler where ours ends.
    #[default]
    Mir,
    /// The C compiler.
    Cc,
    /// Ours alone: what it cannot do is an error.
    Only,
}

impl Through {
    /// The value of `--c-through` or `LEE_C_THROUGH`.
    pub fn of(word: &str) -> Outcome<Through> {
        match word {
            "mir" | "" => Ok(Through::Mir),
            "cc" => Ok(Through::Cc),
            "only" => Ok(Through::Only),
            _ => Err(Failure::usage(format!("plain C goes through one of mir, cc, only, not '{word}'"))),
        }
    }

    /// What `LEE_C_THROUGH` says.
    pub fn from_environment() -> Outcome<Through> {
        Through::of(&std::env::var("LEE_C_THROUGH").unwrap_or_default())
    }
}

/// One file to compile.
pub struct Job<'a> {
    /// The source.
    pub file: &'a Path,
    /// Flags for all that looks at the source: `-I`, `-D`, `-std`, `-O2`, `-Wall` ...
    pub flags: &'a [OsString],
    /// `-MD` and what belongs to it.
    pub dependencies: &'a [OsString],
    /// `-c` or `-S`.
    pub kind: &'a str,
    /// What is made.
    pub output: &'a Path,
    /// Which way.
    pub through: Through,
    /// Whether the C compiler looks at the source, too.
    pub second_look: bool,
}

/// Compiles the file.
pub fn compile(session: &Session, job: &Job) -> Outcome<()> {
    if job.through == Through::Cc {
        return by_cc(session, job);
    }
    if let Some(flag) = job.flags.iter().find(|f| !is_known(f)) {
        let why = format!("the option {} is the C compiler's alone", flag.to_string_lossy());
        return fall_back(session, job, 0, &why);
    }
    let look = if job.second_look { Some(start_look(session, job)?) } else { None };
    let (plain, map, mut sink) = ours(session, job)?;
    if let Some(look) = look {
        let said = finished(look)?;
        report::note(&String::from_utf8_lossy(&said.stderr));
        if !said.status.success() {
            return Err(Failure { message: String::new(), status: status_of(said.status) });
        }
    }
    let c = match plain.c {
        Some(c) => c,
        None if map.text.contains(left_out::FAT) => {
            let why = plain.problem.unwrap_or_else(|| first_error(&map, &sink));
            sink.all.retain(|d| d.code == LEFT_OUT);
            if report::diagnostics(&session.options, &map, &sink)? {
                return Err(Failure::reported());
            }
            return Err(uses_fat(job, &why));
        }
        None => {
            if job.through == Through::Only {
                report::diagnostics(&session.options, &map, &sink)?;
            }
            let why = plain.problem.unwrap_or_else(|| first_error(&map, &sink));
            return fall_back(session, job, plain.functions, &why);
        }
    };
    match assemble(session, job, &c)? {
        None => {
            cc_report::through(job.file, plain.functions);
            Ok(())
        }
        Some(said) => {
            let kept = keep(&c);
            let why = format!("the C compiler does not take the C made from it{kept}: {}", first_line(&said));
            if job.through == Through::Only {
                report::note(&said);
            }
            fall_back(session, job, plain.functions, &why)
        }
    }
}

/// Takes the file through the passes.
fn ours(session: &Session, job: &Job) -> Outcome<(Plain, SourceMap, Sink)> {
    let mut timer = Timer::default();
    let mut sink = Sink::default();
    let map = timer.pass("preprocess", || session.preprocess_c(job.file, job.flags, job.dependencies, &mut sink))?;
    let mut plain = Plain::default();
    if !sink.has_errors() {
        let settings = session.plain_settings(job.file, job.flags);
        plain = pipeline::plain(&map, &settings, &mut sink, &mut timer);
    }
    if session.options.time_passes {
        report::note(&timer.table(&job.file.display().to_string()));
    }
    Ok((plain, map, sink))
}

/// Lets the C compiler look at the source.
fn start_look(session: &Session, job: &Job) -> Outcome<Child> {
    let mut command = session.compiler.command();
    command
        .args(job.flags)
        .args(session.headers_for_c())
        .args(["-fsyntax-only", "-x", "c"])
        .arg(crate::session::protected(job.file));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    if report::coloured(&session.options) {
        command.arg("-fdiagnostics-color=always");
    }
    start(session, command)
}

fn start(session: &Session, mut command: Command) -> Outcome<Child> {
    command.spawn().map_err(|e| Failure::file("run", Path::new(&session.compiler.name()), &e))
}

fn finished(child: Child) -> Outcome<Output> {
    child.wait_with_output().map_err(|e| Failure::error(format!("cannot wait for the C compiler: {e}")))
}

/// Compiles emitted C. What the compiler says if it does not take it.
fn assemble(session: &Session, job: &Job, c: &str) -> Outcome<Option<String>> {
    let mut command = session.compiler.command();
    command.args(job.flags.iter().filter(|f| for_code(f)));
    // What we emit spells types in its own way.
    command.args(["-std=gnu17", "-w", "-undef", "-fno-strict-aliasing", "-x", "c"]);
    if session.several() {
        command.arg("-fno-lto"); // as in `object::start`
    }
    command.arg(job.kind).arg("-o").arg(job.output).arg("-");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = start(session, command)?;
    let pipe = child.stdin.take();
    let said = std::thread::scope(|scope| {
        // A compiler that stops reading says why itself.
        scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(c.as_bytes())));
        finished(child)
    })?;
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    Ok((!said.status.success()).then_some(text))
}

/// The C compiler knows nothing of words that make a pointer three words long.
fn uses_fat(job: &Job, why: &str) -> Failure {
    let file = job.file.display();
    Failure::error(format!(
        "{file}: it includes declarations with `fat`, which the C compiler would read as one word, and needs the C compiler: {why}"
    ))
}

/// The C compiler does it, with a note.
fn fall_back(session: &Session, job: &Job, functions: usize, why: &str) -> Outcome<()> {
    let text = session.preprocess_c(job.file, job.flags, &[], &mut Sink::default())?.text;
    if text.contains(left_out::FAT) {
        return Err(uses_fat(job, why));
    }
    if job.through == Through::Only {
        return Err(Failure::error(format!("{}: {why}", job.file.display())));
    }
    if session.several() {
        let file = job.file.display();
        let why = format!("{file}: all processes would share its variables, as it goes to the C compiler: {why}");
        return Err(Failure::error(why));
    }
    by_cc(session, job)?;
    cc_report::fallback(job.file, functions, why);
    if !session.options.no_warnings && functions > 0 {
        report::line(&format!("note: {} went to the C compiler: {why}", job.file.display()));
    }
    Ok(())
}

/// The C compiler alone.
fn by_cc(session: &Session, job: &Job) -> Outcome<()> {
    let mut command = session.compiler.command();
    command.args(job.flags).args(session.headers_for_c()).args(job.dependencies);
    if job.second_look && job.through != Through::Cc {
        // It has said already what it has to say.
        command.arg("-w");
    }
    command.args(["-x", "c", job.kind, "-o"]).arg(job.output).arg(crate::session::protected(job.file));
    let status = command.status().map_err(|e| Failure::file("run", Path::new(&session.compiler.name()), &e))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure { message: String::new(), status: status_of(status) }),
    }
}

fn first_error(map: &SourceMap, sink: &Sink) -> String {
    match sink.all.iter().find(|d| d.level == Level::Error) {
        Some(d) => {
            let at = map.locate(d.span);
            format!("{}:{}: {}", at.file, at.line, d.message)
        }
        None => "it did not get through".into(),
    }
}

fn first_line(said: &str) -> String {
    said.lines().find(|l| l.contains("error")).or_else(|| said.lines().next()).unwrap_or("").to_string()
}

/// For whoever looks for the mistake: `LEE_KEEP` names a folder for C that was rejected.
fn keep(c: &str) -> String {
    let Some(folder) = std::env::var_os("LEE_KEEP").filter(|f| !f.is_empty()) else { return String::new() };
    let place = PathBuf::from(folder).join(format!("rejected-{}.c", std::process::id()));
    match std::fs::write(&place, c) {
        Ok(()) => format!(" ({})", place.display()),
        Err(_) => String::new(),
    }
}

/// Options under which our types would be wrong, or that look at the source in a way of their own.
const FOREIGN: &[&str] = &[
    "-m32",
    "-m16",
    "-mx32",
    "-mabi=",
    "-funsigned-char",
    "-fno-signed-char",
    "-fshort-enums",
    "-fpack-struct",
    "-fshort-wchar",
    "-mlong-double",
    "-funsigned-bitfields",
    "-mms-bitfields",
    "-fshort-double",
    "-fopenmp",
    "-fopenacc",
    "-fplan9-extensions",
    "-fms-extensions",
    "-fblocks",
    "-fplugin",
    "-fprofile",
    "-fcoverage",
    "--coverage",
    "-ftest-coverage",
    "-fpreprocessed",
    "-fdirectives-only",
    "-fsyntax-only",
    "-fdump",
    "-fembed",
    "-fmodules",
    "-fleading-underscore",
    "-fwide-exec-charset",
    "-fexec-charset",
    "-finput-charset",
    "-save-temps",
    "--save-temps",
    "-aux-info",
    "-Xclang",
    "-include-pch",
];

/// Whether the option leaves the file to us.
fn is_known(flag: &OsString) -> bool {
    let text = flag.to_string_lossy();
    !FOREIGN.iter().any(|bad| text.starts_with(bad)) && text != "-fcommon-blocks"
}

/// Whether the option is for the generation of code, and not for reading the source.
fn for_code(flag: &OsString) -> bool {
    let text = flag.to_string_lossy();
    let standard = text.starts_with("-std=") || text == "-ansi" || text.starts_with("-pedantic");
    let inlining = text == "-fgnu89-inline" || text == "-fno-gnu89-inline";
    !(standard || inlining || text.starts_with("-W") && !text.starts_with("-Wa,") || text == "-w")
}
