//! From a span in preprocessed text to the user's file, line and column.

use crate::files::{Disk, Files};
use crate::markers::{self, Segment};
use crate::origin::{self, Group};
use crate::Span;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex};

/// Bytes of a source that are not UTF-8 are kept as the private character
/// `INVALID_BYTE_BASE + byte`, so that literals in old encodings keep their values.
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
    /// Line of the last byte.
    pub end_line: u32,
    /// Column after the last byte.
    pub end_column: u32,
    /// The macro whose expansion the place is in; line and column are those of its name in the
    /// user's text.
    pub macro_name: Option<String>,
    /// The `#include` lines that lead to the file, innermost first.
    pub included_from: Vec<(String, u32)>,
}

/// The text after the line markers have been read, with what they said.
#[derive(Default)]
pub struct SourceMap {
    /// Preprocessed text of the unit, line markers included.
    pub text: String,
    /// Names that segments refer to.
    pub files: Vec<String>,
    /// Segments by rising offset.
    segments: Vec<Segment>,
    /// Files that were entered, each with the place of its `#include`.
    entries: Vec<markers::Entry>,
    /// Offset of each line of `text`.
    lines: Vec<u32>,
    originals: Originals,
}

/// Texts of the user's files, and lines that were aligned with the preprocessed text.
struct Originals {
    source: Box<dyn Files>,
    texts: Mutex<FxHashMap<String, Option<Arc<Text>>>>,
    groups: Mutex<FxHashMap<u32, Option<Arc<Group>>>>,
}

impl Default for Originals {
    fn default() -> Originals {
        Originals { source: Box::new(Disk), texts: Mutex::default(), groups: Mutex::default() }
    }
}

/// A user's file.
pub(crate) struct Text {
    text: String,
    lines: Vec<u32>,
}

impl Text {
    fn new(text: String) -> Text {
        Text { lines: line_starts(&text), text }
    }

    /// A line from 1, without its end.
    pub(crate) fn line(&self, line: u32) -> Option<&str> {
        let index = line.checked_sub(1)? as usize;
        let lo = *self.lines.get(index)? as usize;
        let hi = self.lines.get(index + 1).map_or(self.text.len(), |&n| n as usize);
        let text = self.text.get(lo..hi)?;
        Some(text.trim_end_matches(['\n', '\r']))
    }
}

fn line_starts(text: &str) -> Vec<u32> {
    let mut lines = vec![0];
    lines.extend(text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(at, _)| at as u32 + 1));
    lines
}

impl std::fmt::Debug for SourceMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SourceMap({} bytes of {:?})", self.text.len(), self.files.first())
    }
}

impl SourceMap {
    /// Reads the markers (`# LINE "FILE" FLAGS`) of preprocessed `text`. Text without markers is
    /// `name` from line 1. The user's files are looked up on the disk when a place in them is asked
    /// for.
    pub fn new(name: &str, text: String) -> SourceMap {
        let read = markers::read(name, &text);
        SourceMap {
            lines: line_starts(&text),
            files: read.files,
            segments: read.segments,
            entries: read.entries,
            text,
            originals: Originals::default(),
        }
    }

    /// Like `new`, for text that may not be UTF-8: such bytes become private characters (see
    /// [`INVALID_BYTE_BASE`]).
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> SourceMap {
        SourceMap::new(name, decode(bytes))
    }

    /// Takes the user's files from `files` instead of the disk.
    pub fn with_files(mut self, files: Box<dyn Files>) -> SourceMap {
        self.originals = Originals { source: files, ..Originals::default() };
        self
    }

    /// Gives the text of one file; it is not looked up any more.
    pub fn set_original(&mut self, path: &str, text: impl Into<String>) {
        if let Ok(texts) = self.originals.texts.get_mut() {
            texts.insert(path.to_string(), Some(Arc::new(Text::new(text.into()))));
        }
    }

    /// A span for a place that the text may not have, because the preprocessor stopped: blank text
    /// is added for it. The `#include` lines that lead there are given innermost first.
    pub fn add_place(&mut self, file: &str, line: u32, column: u32, included_from: &[(String, u32)]) -> Span {
        let mut parent = 0;
        for (file, line) in included_from.iter().rev() {
            let from = (self.file_id(file), *line, parent);
            parent = self.entries.len() as u32;
            self.entries.push(markers::Entry { system: false, from: Some(from) });
        }
        let file = self.file_id(file);
        self.text.push('\n');
        let lo = self.text.len() as u32;
        self.lines.push(lo);
        self.segments.push(Segment { lo, file, line, entry: parent });
        let column = column.clamp(1, 10_000);
        self.text.extend(std::iter::repeat_n(' ', column as usize));
        Span::new(lo + column - 1, lo + column)
    }

    fn file_id(&mut self, name: &str) -> u32 {
        let known = self.files.iter().position(|f| f == name);
        known.unwrap_or_else(|| {
            self.files.push(name.to_string());
            self.files.len() - 1
        }) as u32
    }

    /// The first place in the text that stands for a line of a file.
    pub fn find_line(&self, file: &str, line: u32) -> Option<Span> {
        let file = self.files.iter().position(|f| f == file)? as u32;
        let ends = self.segments.iter().skip(1).map(|s| s.lo).chain([self.text.len() as u32]);
        self.segments.iter().zip(ends).find_map(|(segment, end)| {
            let index = self.line_index(segment.lo) + line.checked_sub(segment.line)? as usize;
            let lo = *self.lines.get(index)?;
            (segment.file == file && lo < end).then(|| Span::new(lo, lo + 1))
        })
    }

    fn segment(&self, at: u32) -> Segment {
        let index = self.segments.partition_point(|s| s.lo <= at);
        self.segments.get(index.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// Index of the line of `text` that `at` is in.
    pub fn line_index(&self, at: u32) -> usize {
        self.lines.partition_point(|&lo| lo <= at).saturating_sub(1)
    }

    /// Whether the text at `at` comes from a system header: a file that was entered with marker
    /// flag 3.
    pub fn is_system(&self, at: u32) -> bool {
        self.entries.get(self.segment(at).entry as usize).is_some_and(|e| e.system)
    }

    /// Name of the file that the text at `at` comes from, as the line marker gives it.
    pub fn file_at(&self, at: u32) -> &str {
        self.files.get(self.segment(at).file as usize).map_or("", String::as_str)
    }

    /// File (index into `files`) and line of the text at `at`: cheap, and all that `#line` needs.
    pub fn line_at(&self, at: u32) -> (u32, u32) {
        let segment = self.segment(at);
        let lines = self.line_index(at).saturating_sub(self.line_index(segment.lo));
        (segment.file, segment.line.saturating_add(lines as u32))
    }

    /// Text of a span; empty if it is out of range.
    pub fn snippet(&self, span: Span) -> &str {
        self.text.get(span.lo as usize..span.hi as usize).unwrap_or("")
    }

    /// Where `span` stands in the user's file. The column is that of the file if it can be read, of
    /// the preprocessed line otherwise.
    pub fn locate(&self, span: Span) -> Location {
        let lo = span.lo.min(self.text.len() as u32);
        let last = span.hi.saturating_sub(1).max(lo);
        let (file, line) = self.line_at(lo);
        let start = self.place(lo);
        let end = if last == lo { None } else { self.place(last) };
        let (start_line, column, macro_name) = match &start {
            Some(place) => (place.line, place.column, place.macro_name.clone()),
            None => (line, self.raw_column(lo), None),
        };
        let (end_line, end_column) = match (&start, end) {
            (Some(start), None) => (start.line, start.end_column),
            (_, Some(end)) if end.line >= start_line && (end.line, end.end_column) > (start_line, column) => {
                (end.line, end.end_column)
            }
            (Some(start), _) => (start.line, start.end_column),
            (None, _) => self.raw_end(lo, last, start_line, column),
        };
        Location {
            file: self.files.get(file as usize).cloned().unwrap_or_default(),
            line: start_line,
            column,
            end_line,
            end_column,
            macro_name,
            included_from: self.included_from(lo),
        }
    }

    fn raw_column(&self, at: u32) -> u32 {
        let start = self.lines.get(self.line_index(at)).copied().unwrap_or(0);
        at.saturating_sub(start) + 1
    }

    fn raw_end(&self, lo: u32, last: u32, line: u32, column: u32) -> (u32, u32) {
        let (_, end_line) = self.line_at(last);
        if self.segment(lo).lo == self.segment(last).lo && end_line >= line {
            (end_line, self.raw_column(last) + 1)
        } else {
            (line, column + 1)
        }
    }

    /// The `#include` lines above the place, innermost first.
    fn included_from(&self, at: u32) -> Vec<(String, u32)> {
        let mut all = vec![];
        let mut entry = self.segment(at).entry as usize;
        while let Some(found) = self.entries.get(entry) {
            let Some((file, line, parent)) = found.from else { break };
            all.push((self.files.get(file as usize).cloned().unwrap_or_default(), line));
            entry = parent as usize;
            if all.len() > 200 {
                break;
            }
        }
        all
    }

    /// Whether the text was never preprocessed.
    fn is_own_original(&self) -> bool {
        self.segments.len() == 1
    }

    /// A line of a user's file, for showing.
    pub fn source_line(&self, file: &str, line: u32) -> Option<String> {
        if !self.is_own_original() {
            return self.original(file)?.line(line).map(str::to_string);
        }
        if self.files.first().map(String::as_str) != Some(file) {
            return None;
        }
        let index = line.checked_sub(1)? as usize;
        self.raw_line(index).map(str::to_string)
    }

    /// A line of the preprocessed text, by index, without its end.
    pub(crate) fn raw_line(&self, index: usize) -> Option<&str> {
        let lo = *self.lines.get(index)? as usize;
        let hi = self.lines.get(index + 1).map_or(self.text.len(), |&n| n as usize);
        Some(self.text.get(lo..hi)?.trim_end_matches(['\n', '\r']))
    }

    pub(crate) fn original(&self, file: &str) -> Option<Arc<Text>> {
        let mut texts = self.originals.texts.lock().ok()?;
        if let Some(known) = texts.get(file) {
            return known.clone();
        }
        if file.is_empty() || file.starts_with('<') {
            return None;
        }
        let text = self.originals.source.read(file).map(|text| Arc::new(Text::new(text)));
        texts.insert(file.to_string(), text.clone());
        text
    }

    /// The place in the user's file of the token at `at`.
    fn place(&self, at: u32) -> Option<origin::Place> {
        if self.is_own_original() {
            return None;
        }
        let first = self.first_of_group(self.line_index(at));
        let key = *self.lines.get(first)?;
        let mut groups = self.originals.groups.lock().ok()?;
        let group = match groups.get(&key) {
            Some(known) => known.clone(),
            None => {
                let made = self.align(first).map(Arc::new);
                groups.insert(key, made.clone());
                made
            }
        };
        group?.place(at)
    }

    /// First of the preprocessed lines that stand for the same line of the user's file as line
    /// `index`: gcc breaks a line around what comes from a system header's macro.
    fn first_of_group(&self, index: usize) -> usize {
        let at = |index: usize| self.lines.get(index).map_or((0, 0), |&lo| self.line_at(lo));
        let own = at(index);
        let mut first = index;
        let mut probe = index;
        while probe > 0 && index - probe < 400 {
            probe -= 1;
            if self.raw_line(probe).is_none_or(markers::is_marker) {
                continue;
            }
            if at(probe) != own {
                break;
            }
            first = probe;
        }
        first
    }

    /// Aligns the preprocessed lines from `first` on that stand for one line of the user's file
    /// with that line.
    fn align(&self, first: usize) -> Option<Group> {
        let lo = *self.lines.get(first)?;
        let (file, line) = self.line_at(lo);
        let original = self.original(self.files.get(file as usize)?)?;
        let mut pieces = vec![];
        let mut next_line = None;
        for index in first..self.lines.len().min(first + 400) {
            let (Some(text), Some(&start)) = (self.raw_line(index), self.lines.get(index)) else { break };
            if markers::is_marker(text) || text.trim().is_empty() {
                continue;
            }
            let here = self.line_at(start);
            if here != (file, line) {
                next_line = (here.0 == file).then_some(here.1);
                break;
            }
            pieces.push((start, text));
        }
        // A macro call over several lines is collapsed into its first line.
        let next = next_line.filter(|&next| next > line).map_or(line + 1, |next| next.min(line + MOST_LINES));
        let end = next.max(line + call_lines(&original, line));
        // What continues in this line began in an earlier one.
        let goes_on = |n: u32| original.line(n).is_some_and(|text| text.trim_end_matches('\r').ends_with('\\'));
        let start = (line.saturating_sub(MOST_LINES)..line).rev().take_while(|&n| goes_on(n)).last().unwrap_or(line);
        let lines: Vec<(u32, &str)> = (start..end).filter_map(|n| Some((n, original.line(n)?))).collect();
        if lines.is_empty() {
            return None;
        }
        Some(origin::align(&pieces, &lines))
    }
}

/// Lines of one macro call that are looked at.
const MOST_LINES: u32 = 30;

/// How many lines from `line` on it takes to close the parentheses that it opens.
fn call_lines(original: &Text, line: u32) -> u32 {
    let mut open = 0i32;
    for count in 0..MOST_LINES {
        let Some(text) = original.line(line + count) else { return count };
        for b in text.bytes() {
            match b {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
        }
        if open <= 0 && !text.trim_end_matches('\r').ends_with('\\') {
            return count + 1;
        }
    }
    1
}

/// UTF-8, with bytes that are not as private characters.
fn decode(bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 4);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|&b| char::from_u32(INVALID_BYTE_BASE + u32::from(b))));
    }
    text
}
