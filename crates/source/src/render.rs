//! Diagnostics as text for people and as JSON lines for tools.

use crate::{Diagnostic, Level, Location, PlacedFix, SourceMap};
use std::fmt::Write;

/// Columns of a source line that are shown at most.
const WIDEST: usize = 140;

/// How a diagnostic looks: colours or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub colour: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}

fn level(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::Error => ("error", "1;31"),
        Level::Warning => ("warning", "1;33"),
        Level::Note => ("note", "1;36"),
    }
}

/// A place to mark in the source, with what to say there.
struct Mark {
    at: Location,
    text: String,
    primary: bool,
}

/// A diagnostic as text: `x.lee:3:5: error[L0101]: message`, the lines it is about, notes and help.
pub fn text(map: &SourceMap, diagnostic: &Diagnostic, style: Style) -> String {
    let at = map.locate(diagnostic.span);
    let (word, colour) = level(diagnostic.level);
    let mut out = String::new();
    for (file, line) in &at.included_from {
        let _ = writeln!(out, "in file included from {}:{line}", shown(file));
    }
    let place = style.paint("1", &format!("{}:{}:{}:", shown(&at.file), at.line, at.column));
    let head = style.paint(colour, &format!("{word}[{}]", diagnostic.code.id));
    let _ = writeln!(out, "{place} {head}: {}", style.paint("1", &one_line(&diagnostic.message)));
    let expansion = at.macro_name.as_ref().map(|name| format!("in expansion of macro '{}'", one_line(name)));
    let labels = diagnostic.labels.iter().map(|label| Mark {
        at: map.locate(label.span),
        text: one_line(&label.text),
        primary: false,
    });
    let mut marks = vec![Mark { at, text: String::new(), primary: true }];
    marks.extend(labels);
    let gutter = marks.iter().map(|m| digits(m.at.line)).max().unwrap_or(1);
    snippets(map, &mut out, &marks, gutter, colour, style);
    let remarks = diagnostic.notes.iter().map(|note| ("note", note)).chain(expansion.as_ref().map(|e| ("note", e)));
    for (what, remark) in remarks.chain(diagnostic.help.as_ref().map(|help| ("help", help))) {
        let lead = style.paint("34", &format!("{:gutter$} =", ""));
        let _ = writeln!(out, "{lead} {}: {}", style.paint("1", what), one_line(remark));
    }
    out
}

fn digits(number: u32) -> usize {
    number.to_string().len()
}

/// A message is one line, whatever names are in it.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn shown(file: &str) -> String {
    one_line(file)
}

/// The source lines with their marks, by file in the order in which the files come up.
fn snippets(map: &SourceMap, out: &mut String, marks: &[Mark], gutter: usize, colour: &str, style: Style) {
    let mut files: Vec<&str> = vec![];
    for mark in marks {
        if !files.contains(&mark.at.file.as_str()) {
            files.push(&mark.at.file);
        }
    }
    let bar = style.paint("34", &format!("{:gutter$} |", ""));
    for (index, file) in files.iter().enumerate() {
        let mut own: Vec<&Mark> = marks.iter().filter(|m| m.at.file == *file).collect();
        own.sort_by_key(|m| (m.at.line, !m.primary, m.at.column));
        if index > 0 {
            let first = own.first().map_or(0, |m| m.at.line);
            let _ = writeln!(out, "{} {}:{first}", style.paint("34", &format!("{:gutter$}-->", "")), shown(file));
        }
        let mut last: Option<u32> = None;
        for mark in own {
            if last != Some(mark.at.line) {
                let Some(line) = map.source_line(file, mark.at.line) else { continue };
                match last {
                    None => {
                        let _ = writeln!(out, "{bar}");
                    }
                    Some(before) if mark.at.line > before + 1 => {
                        let _ = writeln!(out, "{}", style.paint("34", "..."));
                    }
                    Some(_) => {}
                }
                last = Some(mark.at.line);
                let number = style.paint("34", &format!("{:gutter$} |", mark.at.line));
                let _ = writeln!(out, "{number} {}", Window::of(&line, mark).text);
            }
            if let Some(line) = map.source_line(file, mark.at.line) {
                let (sign, paint) = if mark.primary { ('^', colour) } else { ('-', "1;34") };
                let window = Window::of(&line, mark);
                let carets: String = std::iter::repeat_n(sign, window.length).collect();
                let text = if mark.text.is_empty() { String::new() } else { format!(" {}", mark.text) };
                let _ =
                    writeln!(out, "{bar} {:1$}{2}", "", window.start, style.paint(paint, &format!("{carets}{text}")));
            }
        }
    }
}

/// The part of a source line that is shown, and where the mark stands in it.
struct Window {
    text: String,
    start: usize,
    length: usize,
}

impl Window {
    fn of(line: &str, mark: &Mark) -> Window {
        let lo = (mark.at.column.max(1) - 1) as usize;
        let hi = if mark.at.end_line > mark.at.line { line.len() } else { mark.at.end_column.max(1) as usize - 1 };
        let mut text = String::new();
        let (mut start, mut end) = (None, None);
        for (at, c) in line.char_indices() {
            if at >= lo && start.is_none() {
                start = Some(text.chars().count());
            }
            if at >= hi && end.is_none() {
                end = Some(text.chars().count());
            }
            match c {
                '\t' => text.push_str("    "),
                c if c.is_control() => text.push('\u{fffd}'),
                c => text.push(c),
            }
        }
        let width = text.chars().count();
        let start = start.unwrap_or(width);
        let length = end.unwrap_or(width).saturating_sub(start).max(1);
        if width <= WIDEST {
            return Window { text: text.trim_end().to_string(), start, length };
        }
        // A long line is cut around the mark.
        let from = start.saturating_sub(WIDEST / 3);
        let cut: String = text.chars().skip(from).take(WIDEST).collect();
        let length = length.min(WIDEST - (start - from));
        let lead = if from > 0 { "..." } else { "" };
        let trail = if from + WIDEST < width { "..." } else { "" };
        Window { text: format!("{lead}{cut}{trail}"), start: start - from + lead.len(), length }
    }
}

/// A diagnostic as one line of JSON, without its line end. `more` are fixes that were found by
/// looking at whole files; they stand after its own.
pub fn json(map: &SourceMap, diagnostic: &Diagnostic, more: &[PlacedFix]) -> String {
    let at = map.locate(diagnostic.span);
    let (word, _) = level(diagnostic.level);
    let mut out = String::from("{");
    let _ = write!(
        out,
        "\"level\":\"{word}\",\"code\":{},\"message\":{},",
        string(diagnostic.code.id),
        string(&diagnostic.message)
    );
    place(&mut out, &at);
    let labels: Vec<String> = diagnostic
        .labels
        .iter()
        .map(|label| {
            let mut one = format!("{{\"message\":{},", string(&label.text));
            place(&mut one, &map.locate(label.span));
            one.push('}');
            one
        })
        .collect();
    let notes: Vec<String> = diagnostic.notes.iter().map(|note| string(note)).collect();
    let help = diagnostic.help.as_ref().map_or("null".to_string(), |help| string(help));
    let _ = write!(out, ",\"labels\":[{}],\"notes\":[{}],\"help\":{help}", labels.join(","), notes.join(","));
    let own = diagnostic.fixes.iter().filter_map(|fix| fix.placed(map));
    let fixes: Vec<String> = own.chain(more.iter().cloned()).map(|fix| fix_object(&fix)).collect();
    let _ = write!(out, ",\"fixes\":[{}]", fixes.join(","));
    if let Some(name) = &at.macro_name {
        let _ = write!(out, ",\"macro\":{}", string(name));
    }
    if !at.included_from.is_empty() {
        let from: Vec<String> = at
            .included_from
            .iter()
            .map(|(file, line)| format!("{{\"file\":{},\"line\":{line}}}", string(file)))
            .collect();
        let _ = write!(out, ",\"included_from\":[{}]", from.join(","));
    }
    out.push('}');
    out
}

fn fix_object(fix: &PlacedFix) -> String {
    let edit = |e: &crate::Placed| {
        format!(
            "{{\"file\":{},\"line\":{},\"column\":{},\"end_column\":{},\"text\":{}}}",
            string(&e.file),
            e.line,
            e.column,
            e.end_column,
            string(&e.text)
        )
    };
    let edits: Vec<String> = fix.edits.iter().map(edit).collect();
    format!("{{\"applicability\":\"{}\",\"edits\":[{}]}}", fix.applicability.word(), edits.join(","))
}

fn place(out: &mut String, at: &Location) {
    let _ = write!(
        out,
        "\"file\":{},\"line\":{},\"column\":{},\"end_line\":{},\"end_column\":{}",
        string(&at.file),
        at.line,
        at.column,
        at.end_line,
        at.end_column
    );
}

/// A JSON string.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() && (c as u32) < 0x10000 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
