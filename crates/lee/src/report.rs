//! Printing diagnostics and messages.

use crate::failure::{reason, Failure, Outcome};
use crate::options::{Color, Format, Options};
use port::Finding;
use source::render::{self, Style};
use source::{Diagnostic, Level, PlacedFix, Sink, SourceMap};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Error, ErrorKind, IsTerminal, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// What was printed, and where.
pub enum Said {
    /// On standard output.
    Output(String),
    /// On standard error.
    Note(String),
}

thread_local! {
    /// What this thread prints, if it is printed later.
    static LATER: RefCell<Option<Vec<Said>>> = const { RefCell::new(None) };
}

/// Does the work and gives what it printed, which `repeat` prints.
pub fn captured<T>(work: impl FnOnce() -> T) -> (Vec<Said>, T) {
    LATER.set(Some(vec![]));
    let result = work();
    (LATER.take().unwrap_or_default(), result)
}

/// Prints what was captured.
pub fn repeat(said: Vec<Said>) -> Outcome<()> {
    for said in said {
        match said {
            Said::Output(text) => output(&text)?,
            Said::Note(text) => note(&text),
        }
    }
    Ok(())
}

/// Whether this thread's words are printed later, to which `said` is added then.
fn put_off(said: impl FnOnce() -> Said) -> bool {
    LATER.with_borrow_mut(|later| later.as_mut().map(|later| later.push(said())).is_some())
}

/// Prints a message of the command itself.
pub fn line(message: &str) {
    note(&format!("lee: {message}\n"));
}

/// Prints text on standard error.
pub fn note(text: &str) {
    if !put_off(|| Said::Note(text.to_string())) {
        // Nothing can be done about standard error being closed.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Says on a terminal what takes long.
pub fn progress(message: &str) {
    if std::io::stderr().is_terminal() {
        line(message);
    }
}

/// Prints text on standard output. A reader that went away is not an error.
pub fn output(text: &str) -> Outcome<()> {
    if put_off(|| Said::Output(text.to_string())) {
        return Ok(());
    }
    // Rust's own standard output takes what is written to one that cannot be written.
    // SAFETY: the file is not closed, for it is not dropped.
    let mut out = ManuallyDrop::new(unsafe { File::from_raw_fd(libc::STDOUT_FILENO) });
    let written = match OUTPUT_CLOSED.load(Ordering::Relaxed) {
        true => Err(Error::from_raw_os_error(libc::EBADF)),
        false => out.write_all(text.as_bytes()),
    };
    match written {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::error(format!("cannot write to standard output: {}", reason(&error))))
        }
        _ => Ok(()),
    }
}

/// Whether the command was started with standard output closed. Rust puts /dev/null in its place
/// before `main`.
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's own start.
#[used]
#[link_section = ".init_array"]
static LOOK_AT_OUTPUT: extern "C" fn() = {
    extern "C" fn look_at_output() {
        // SAFETY: fcntl with F_GETFD takes any number.
        OUTPUT_CLOSED.store(unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0, Ordering::Relaxed);
    }
    look_at_output
};

/// Prints what was found; true if there are errors.
pub fn diagnostics(options: &Options, map: &SourceMap, sink: &Sink) -> Outcome<bool> {
    diagnostics_with(options, map, sink, &[])
}

/// The same, with what the whole file tells: in JSON a report about a declaration
/// has the fixes of that declaration.
pub fn diagnostics_with(options: &Options, map: &SourceMap, sink: &Sink, more: &[Finding]) -> Outcome<bool> {
    let text = render(options, map, sink, more);
    if options.format == Format::Json {
        output(&text)?;
    } else {
        note(&text);
    }
    Ok(sink.has_errors())
}

/// As many reports are shown of one file: more are not read, and each looks up its lines.
const MOST: usize = 100;

/// The text of what was found, in the format asked for and the order of the source. If there are
/// more reports than are shown, errors are shown before others.
pub fn render(options: &Options, map: &SourceMap, sink: &Sink, more: &[Finding]) -> String {
    let mut all: Vec<&Diagnostic> = sink.all.iter().filter(|d| wanted(options, d)).collect();
    // What is checked for characters and for other types may have one mistake.
    let mut seen = HashSet::new();
    all.retain(|d| seen.insert((d.span, d.message.as_str())));
    let left = all.len().saturating_sub(MOST);
    if left > 0 {
        all.sort_by_key(|d| d.level != Level::Error);
        all.truncate(MOST);
    }
    // A stage looks at all functions before the next one begins. On one line, what an earlier stage
    // found may be the cause.
    all.sort_by_key(|d| map.line_index(d.span.lo));
    let mut text: String = all.iter().map(|d| one(options, map, d, more)).collect();
    if left > 0 && options.format != Format::Json {
        text.push_str(&format!("lee: {left} more reports are not shown\n"));
    }
    text
}

/// Whether to colour what goes to standard error.
pub fn coloured(options: &Options) -> bool {
    match options.color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// Warnings can be switched off: all, or by code (`-Wno-l0301`).
fn wanted(options: &Options, diagnostic: &Diagnostic) -> bool {
    let off =
        |name: &String| name.strip_prefix("no-").is_some_and(|code| code.eq_ignore_ascii_case(diagnostic.code.id));
    diagnostic.level == Level::Error || !(options.no_warnings || options.warnings.iter().any(off))
}

fn one(options: &Options, map: &SourceMap, diagnostic: &Diagnostic, more: &[Finding]) -> String {
    match options.format {
        Format::Json => {
            let subject = diagnostic.subject.map(|at| map.locate(at)).map(|at| (at.file, at.line, at.column));
            let about = |f: &&Finding| subject.as_ref().is_some_and(|subject| f.subjects.contains(subject));
            let fixes: Vec<PlacedFix> = more.iter().filter(about).map(|f| f.fix.clone()).collect();
            render::json(map, diagnostic, &fixes) + "\n"
        }
        Format::Text => render::text(map, diagnostic, Style { colour: coloured(options) }),
        Format::Gcc => gcc_line(map, diagnostic),
    }
}

/// One line for the report and one for each additional place, as editors and build systems read
/// them.
fn gcc_line(map: &SourceMap, diagnostic: &Diagnostic) -> String {
    let level = match diagnostic.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    };
    let line = |span, level: &str, text: &str| {
        let at = map.locate(span);
        format!("{}:{}:{}: {level}: {text}", at.file, at.line, at.column)
    };
    let mut out = format!("{} [{}]\n", line(diagnostic.span, level, &diagnostic.message), diagnostic.code.id);
    for label in &diagnostic.labels {
        out.push_str(&line(label.span, "note", &label.text));
        out.push('\n');
    }
    for note in diagnostic.notes.iter().chain(&diagnostic.help) {
        out.push_str(&line(diagnostic.span, "note", note));
        out.push('\n');
    }
    out
}
