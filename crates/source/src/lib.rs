//! Files, spans, interned names and diagnostics: what every stage of the compiler shares.
//!
//! A translation unit is one preprocessed text. A [`Span`] is a byte range of that text;
//! [`SourceMap`] resolves it to the user's file, line and column through the preprocessor's line
//! markers.

pub mod broken;
pub mod diag;
pub mod files;
pub mod fix;
pub mod map;
mod markers;
mod origin;
pub mod render;
pub mod symbol;
pub mod words;

pub use diag::{Code, Diagnostic, Label, Lack, Level, Sink};
pub use files::{Disk, Files, Memory};
pub use fix::{Applicability, Edit, Fix, Placed, PlacedFix};
pub use map::{Location, SourceMap};
pub use symbol::Symbol;
pub use words::{article, with_article};

/// A byte range `lo..hi` of the preprocessed text of one translation unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
}

impl Span {
    /// A span that stands for no place in the text (made by the compiler).
    pub const NONE: Span = Span { lo: 0, hi: 0 };

    /// The range `lo..hi`.
    pub fn new(lo: u32, hi: u32) -> Span {
        Span { lo, hi }
    }

    /// The smallest span that covers both.
    pub fn to(self, end: Span) -> Span {
        if self == Span::NONE {
            return end;
        }
        if end == Span::NONE {
            return self;
        }
        Span { lo: self.lo.min(end.lo), hi: self.hi.max(end.hi) }
    }

    /// Whether all of the other lies in it.
    pub fn holds(self, other: Span) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}..{}", self.lo, self.hi)
    }
}
