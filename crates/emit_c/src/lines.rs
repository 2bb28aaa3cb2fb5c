//! The emitted text of functions, with `#line` so that every statement stands on its line of the
//! source.

use crate::names::escape;
use rustc_hash::FxHashMap;
use source::{SourceMap, Span};
use std::fmt::Write;

/// Number of a file name.
pub type File = u32;

/// A place of the source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct At {
    /// The file.
    pub file: File,
    /// The line.
    pub line: u32,
    /// The column, 0 if unknown.
    pub column: u32,
}

/// Finds places quickly: the map is asked once for each stretch of lines without a marker.
pub struct Locator<'a> {
    map: &'a SourceMap,
    /// Offsets of line starts.
    starts: Vec<u32>,
    /// For each line, the line after the last marker at or before it.
    anchors: Vec<u32>,
    known: FxHashMap<u32, (File, u32)>,
    /// File names by number.
    pub files: Vec<String>,
}

impl<'a> Locator<'a> {
    /// A locator over `map`.
    pub fn new(map: &'a SourceMap) -> Locator<'a> {
        let (mut starts, mut anchors) = (vec![], vec![]);
        let (mut offset, mut anchor) = (0u32, 0u32);
        for (n, line) in map.text.split_inclusive('\n').enumerate() {
            starts.push(offset);
            anchors.push(anchor);
            if line.starts_with('#') {
                anchor = n as u32 + 1;
            }
            offset += line.len() as u32;
        }
        Locator { map, starts, anchors, known: FxHashMap::default(), files: vec![] }
    }

    /// Where a span begins; `None` for spans that stand for no place.
    pub fn at(&mut self, span: Span) -> Option<At> {
        if span == Span::NONE {
            return None;
        }
        let line = self.starts.partition_point(|&s| s <= span.lo).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let anchor = self.anchors.get(line).copied().unwrap_or(0);
        let (file, first) = match self.known.get(&anchor) {
            Some(&known) => known,
            None => {
                let lo = self.starts.get(anchor as usize).copied().unwrap_or(0);
                let location = self.map.locate(Span { lo, hi: lo + 1 });
                let file = self.file(&location.file);
                self.known.insert(anchor, (file, location.line));
                (file, location.line)
            }
        };
        Some(At { file, line: first + (line as u32).saturating_sub(anchor), column: span.lo.saturating_sub(start) + 1 })
    }

    /// The number of a file name.
    pub fn file(&mut self, name: &str) -> File {
        if let Some(at) = self.files.iter().position(|f| f == name) {
            return at as File;
        }
        self.files.push(name.to_string());
        (self.files.len() - 1) as File
    }
}

/// Text of functions.
#[derive(Default)]
pub struct Lines {
    /// What was written.
    pub out: String,
    /// What the C compiler takes the current line for.
    current: Option<(File, u32)>,
    column: usize,
}

/// Beyond this many columns a statement goes to the next line.
const WIDTH: usize = 140;
/// Up to this many lines are skipped by empty lines instead of a `#line`.
const GAP: u32 = 3;

impl Lines {
    /// Adds a statement that belongs to a place. Statements of one source line share a line as far
    /// as they fit.
    pub fn push(&mut self, files: &[String], at: Option<At>, indent: usize, text: &str) {
        let want = at.map(|at| (at.file, at.line)).or(self.current);
        let fits = self.column > 0 && self.column + text.len() < WIDTH;
        if fits && want == self.current {
            self.out.push(' ');
            self.column += text.len() + 1;
            self.out.push_str(text);
            return;
        }
        self.end_line();
        self.go_to(files, want);
        for _ in 0..indent {
            self.out.push_str("    ");
        }
        self.out.push_str(text);
        self.column = indent * 4 + text.len();
    }

    /// Adds a line that belongs to no statement.
    pub fn plain(&mut self, text: &str) {
        self.end_line();
        self.out.push_str(text);
        self.out.push('\n');
        self.current = self.current.map(|(file, line)| (file, line + 1));
        self.column = 0;
    }

    /// Adds text that was laid out apart and begins with a `#line` of its own, or is empty.
    pub fn splice(&mut self, other: Lines) {
        if other.out.is_empty() {
            return;
        }
        self.end_line();
        self.out.push_str(&other.out);
        self.current = other.current;
        self.column = other.column;
    }

    fn end_line(&mut self) {
        if self.column > 0 {
            self.out.push('\n');
            self.current = self.current.map(|(file, line)| (file, line + 1));
            self.column = 0;
        }
    }

    fn go_to(&mut self, files: &[String], want: Option<(File, u32)>) {
        let Some((file, line)) = want else { return };
        if let Some((current, at)) = self.current {
            if current == file && (at..=at + GAP).contains(&line) {
                for _ in at..line {
                    self.out.push('\n');
                }
                self.current = want;
                return;
            }
        }
        let name = files.get(file as usize).map_or("", String::as_str);
        let _ = writeln!(self.out, "#line {line} \"{}\"", escape(name.as_bytes()));
        self.current = want;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_skipped_or_set() {
        let files = vec!["a.lee".to_string()];
        let mut lines = Lines::default();
        let at = |line| Some(At { file: 0, line, column: 1 });
        lines.push(&files, at(4), 0, "a;");
        lines.push(&files, at(4), 0, "b;");
        lines.push(&files, at(6), 0, "c;");
        lines.push(&files, at(20), 1, "d;");
        lines.push(&files, None, 1, "e;");
        assert_eq!(lines.out, "#line 4 \"a.lee\"\na; b;\n\nc;\n#line 20 \"a.lee\"\n    d; e;");
    }

    #[test]
    fn places_count_from_markers() {
        let text = "# 1 \"x.lee\"\nint a;\nint b;\n# 10 \"y.h\" 1\nint c;\n\nint d;\n";
        let map = SourceMap::new("x.lee", text.to_string());
        let mut locator = Locator::new(&map);
        for word in ["a;", "b;", "c;", "d;"] {
            let lo = text.find(word).unwrap_or(0) as u32;
            let span = Span { lo, hi: lo + 1 };
            let at = locator.at(span);
            let want = map.locate(span);
            assert_eq!(at.map(|a| (a.line, a.column)), Some((want.line, want.column)), "{word}");
            assert_eq!(at.and_then(|a| locator.files.get(a.file as usize).cloned()), Some(want.file));
        }
        assert_eq!(locator.at(Span::NONE), None);
    }
}
