//! Fixes as data: what a help says to write, as edits of the user's files, with how sure it is.

use crate::{Location, SourceMap, Span};

/// How sure a fix is. The order is rising.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Applicability {
    /// The text has a part that only the user can fill in.
    Placeholder,
    /// Probably what is meant: a tool applies it only when it is asked to.
    Likely,
    /// No program that ran without a fault faults after it, as far as the files that were read go.
    Sure,
}

impl Applicability {
    /// The word for it, in messages and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Applicability::Placeholder => "placeholder",
            Applicability::Likely => "likely",
            Applicability::Sure => "sure",
        }
    }
}

/// A replacement of a piece of the preprocessed text; an empty span inserts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// What takes its place: no line ends.
    pub text: String,
}

/// Edits that belong together: all of them are made, or none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// How sure it is.
    pub applicability: Applicability,
    /// The edits, apart from each other.
    pub edits: Vec<Edit>,
}

/// A replacement within one line of a user's file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Placed {
    /// The file, as the line markers name it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The first byte's column, from 1.
    pub column: u32,
    /// The column after the last byte; equal to `column` where text is inserted.
    pub end_column: u32,
    /// What takes its place.
    pub text: String,
}

/// A fix whose places are those of the user's files.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PlacedFix {
    /// How sure it is.
    pub applicability: Applicability,
    /// The edits.
    pub edits: Vec<Placed>,
}

/// Where a span stands in a user's file. None if a macro made it, if it spans lines, or if the file
/// has other text there.
pub fn place(map: &SourceMap, span: Span) -> Option<Location> {
    let at = map.locate(span);
    if at.macro_name.is_some() || at.line != at.end_line || at.column == 0 {
        return None;
    }
    let line = map.source_line(&at.file, at.line)?;
    let wanted = map.snippet(span);
    let found = line.get(at.column as usize - 1..)?;
    // One token tells enough where blanks may differ.
    let head = wanted.split_whitespace().next().unwrap_or("");
    (!head.is_empty() && found.starts_with(head)).then_some(at)
}

impl Fix {
    /// The fix in the user's files. None if one of its places cannot be edited. A span that is
    /// empty stands before the token that begins there.
    pub fn placed(&self, map: &SourceMap) -> Option<PlacedFix> {
        let one = |edit: &Edit| {
            let inserts = edit.span.lo == edit.span.hi;
            let span = if inserts { Span::new(edit.span.lo, edit.span.lo + 1) } else { edit.span };
            let at = place(map, span)?;
            let end_column = if inserts { at.column } else { at.end_column };
            Some(Placed { file: at.file, line: at.line, column: at.column, end_column, text: edit.text.clone() })
        };
        let edits = self.edits.iter().map(one).collect::<Option<Vec<Placed>>>()?;
        Some(PlacedFix { applicability: self.applicability, edits })
    }
}
