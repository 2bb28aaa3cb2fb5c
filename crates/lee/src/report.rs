//! Printing diagnostics and messages.

use crate::options::{Color, Format, Options};
use source::render::{self, Style};
use source::{Diagnostic, Level, Sink, SourceMap};
use std::io::{IsTerminal, Write};

/// Prints a message of the command itself.
pub fn line(message: &str) {
    // Nothing can be done about standard error being closed.
    let _ = writeln!(std::io::stderr(), "lee: {message}");
}

/// Prints text on standard error.
pub fn note(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints text on standard output; a reader that went away is no error.
pub fn output(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Prints what was found; true if there are errors.
pub fn diagnostics(options: &Options, map: &SourceMap, sink: &Sink) -> bool {
    let text = render(options, map, sink);
    if options.format == Format::Json {
        output(&text);
    } else {
        note(&text);
    }
    sink.has_errors()
}

/// As many reports are shown of one file: nobody reads more, and each looks up its lines.
const MOST: usize = 100;

/// The text of what was found, in the format asked for. Errors go first if there are more reports than are shown.
pub fn render(options: &Options, map: &SourceMap, sink: &Sink) -> String {
    let mut all: Vec<&Diagnostic> = sink.all.iter().filter(|d| wanted(options, d)).collect();
    let left = all.len().saturating_sub(MOST);
    if left > 0 {
        all.sort_by_key(|d| d.level != Level::Error);
    }
    let mut text: String = all.iter().take(MOST).map(|d| one(options, map, d)).collect();
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

fn one(options: &Options, map: &SourceMap, diagnostic: &Diagnostic) -> String {
    match options.format {
        Format::Json => render::json(map, diagnostic) + "\n",
        Format::Text => render::text(map, diagnostic, Style { colour: coloured(options) }),
        Format::Gcc => gcc_line(map, diagnostic),
    }
}

/// One line for the report and one for each further place, as editors and build systems read them.
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
