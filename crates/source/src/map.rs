//! From a span in preprocessed text to the user's file, line and column.

use crate::Span;

/// Bytes of a source that are not UTF-8 are kept as the private character `INVALID_BYTE_BASE + byte`, so that literals in old
/// encodings keep their values.
pub const INVALID_BYTE_BASE: u32 = 0x10_fe00;

/// A place as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// File name as the line marker gives it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1; 0 if unknown.
    pub column: u32,
}

/// The text after the line markers have been read, with what they said.
#[derive(Default, Debug)]
pub struct SourceMap {
    /// Preprocessed text of the unit, line markers included.
    pub text: String,
    /// Segments by rising offset.
    segments: Vec<Segment>,
    /// Names that segments refer to.
    pub files: Vec<String>,
}

/// A stretch of text behind one line marker.
#[derive(Clone, Copy, Debug)]
struct Segment {
    lo: u32,
    file: u32,
    line: u32,
    system: bool,
}

impl SourceMap {
    /// Reads the markers (`# LINE "FILE" FLAGS`) of preprocessed `text`. Text without markers is `name` from line 1.
    pub fn new(name: &str, text: String) -> SourceMap {
        let mut map = SourceMap { text: String::new(), segments: vec![], files: vec![name.to_string()] };
        map.segments.push(Segment { lo: 0, file: 0, line: 1, system: false });
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let next = offset + line.len();
            if let Some((number, file, system)) = marker(line) {
                let id = map.file_id(&file);
                map.segments.push(Segment { lo: next as u32, file: id, line: number, system });
            }
            offset = next;
        }
        map.text = text;
        map
    }

    fn file_id(&mut self, name: &str) -> u32 {
        if let Some(at) = self.files.iter().rposition(|f| f == name) {
            return at as u32;
        }
        self.files.push(name.to_string());
        (self.files.len() - 1) as u32
    }

    fn segment(&self, at: u32) -> Segment {
        let index = self.segments.partition_point(|s| s.lo <= at);
        self.segments.get(index.saturating_sub(1)).copied().unwrap_or(Segment {
            lo: 0,
            file: 0,
            line: 1,
            system: false,
        })
    }

    /// Whether the text at `at` comes from a system header (marker flag 3).
    pub fn is_system(&self, at: u32) -> bool {
        self.segment(at).system
    }

    /// Name of the file that the text at `at` comes from, as the line marker gives it.
    pub fn file_at(&self, at: u32) -> &str {
        self.files.get(self.segment(at).file as usize).map_or("", String::as_str)
    }

    /// Text of a span; empty if it is out of range.
    pub fn snippet(&self, span: Span) -> &str {
        self.text.get(span.lo as usize..span.hi as usize).unwrap_or("")
    }

    /// Where `span` begins. The column is that of the preprocessed line.
    pub fn locate(&self, span: Span) -> Location {
        let segment = self.segment(span.lo);
        let at = (span.lo as usize).min(self.text.len());
        let before = self.text.as_bytes().get(segment.lo as usize..at).unwrap_or(&[]);
        let lines = before.iter().filter(|&&b| b == b'\n').count() as u32;
        let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
        let file = self.files.get(segment.file as usize).cloned().unwrap_or_default();
        Location { file, line: segment.line + lines, column: (before.len() - start) as u32 + 1 }
    }
}

/// Parses a line marker: line, file, whether it is a system header.
fn marker(line: &str) -> Option<(u32, String, bool)> {
    let rest = line.strip_prefix('#')?;
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest.get(..digits)?.parse().ok()?;
    let rest = rest.get(digits..)?.trim_start().strip_prefix('"')?;
    let mut name = String::new();
    let mut chars = rest.char_indices();
    let mut end = None;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                end = Some(at + 1);
                break;
            }
            '\\' => name.extend(chars.next().map(|(_, c)| c)),
            _ => name.push(c),
        }
    }
    let flags = rest.get(end?..)?;
    Some((number, name, flags.split_whitespace().any(|f| f == "3")))
}
