//! Diagnostics as data. The check that finds something builds a [`Diagnostic`] and pushes it into a
//! [`Sink`]; rendering (text for people, JSON for tools) happens once, at the edge, in the command.

use crate::fix::{Applicability, Edit, Fix};
use crate::Span;

/// Identity of a kind of error or warning: the index of `docs/errors/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// For instance `L0301`.
    pub id: &'static str,
    /// One line that names the rule.
    pub title: &'static str,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The program is rejected.
    Error,
    /// The program is accepted; exit status is not changed.
    Warning,
    /// Information that was asked for.
    Note,
}

/// A second place that matters, with what it is.
#[derive(Clone, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What stands there: "moved here".
    pub text: String,
}

/// Which word of regions a declaration lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    /// `@heap`: what it points to is kept there.
    Heap,
    /// The name of a region that the function's result has, too.
    Result,
}

/// One report.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Error, warning or note.
    pub level: Level,
    /// Its page in the error index.
    pub code: Code,
    /// What is wrong, in the words of the language reference.
    pub message: String,
    /// Where.
    pub span: Span,
    /// Other places.
    pub labels: Vec<Label>,
    /// Background, one sentence each.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Option<String>,
    /// The name in the declaration that is to change, if the report asks for words there.
    pub subject: Option<Span>,
    /// The word that `subject` lacks, if it is one of regions.
    pub lacks: Option<Lack>,
    /// What the help says to write, as edits.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            level: Level::Error,
            code,
            message: message.into(),
            span,
            labels: vec![],
            notes: vec![],
            help: None,
            subject: None,
            lacks: None,
            fixes: vec![],
        }
    }

    /// A warning at `span`.
    pub fn warning(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { level: Level::Warning, ..Diagnostic::error(code, span, message) }
    }

    /// Information that was asked for.
    pub fn note_at(code: Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { level: Level::Note, ..Diagnostic::error(code, span, message) }
    }

    /// Adds a second place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a sentence of background.
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Says which declaration is to change, by its name.
    pub fn about(mut self, declaration: Span) -> Diagnostic {
        self.subject = Some(declaration);
        self
    }

    /// Says which word of regions the declaration that is to change lacks.
    pub fn lacks(mut self, word: Lack) -> Diagnostic {
        self.lacks = Some(word);
        self
    }

    /// Adds a fix of one edit. An empty span inserts the text before the token that begins there.
    pub fn fix(mut self, applicability: Applicability, span: Span, text: impl Into<String>) -> Diagnostic {
        self.fixes.push(Fix { applicability, edits: vec![Edit { span, text: text.into() }] });
        self
    }

    /// Says what to do.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }
}

/// Collects diagnostics in the order in which they are found.
#[derive(Default, Debug)]
pub struct Sink {
    /// All reports so far.
    pub all: Vec<Diagnostic>,
}

impl Sink {
    /// Adds a report.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.all.push(diagnostic);
    }

    /// Whether an error was reported.
    pub fn has_errors(&self) -> bool {
        self.all.iter().any(|d| d.level == Level::Error)
    }
}
