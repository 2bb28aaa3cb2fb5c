//! What the advisor says about a site.

use source::{SourceMap, Span};

/// What becomes of a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The object fits on the stack, always.
    Stack,
    /// A buffer on the stack while the size fits, the heap otherwise.
    Hybrid,
    /// Made in a helper and freed by its caller: the caller passes a buffer.
    Caller,
    /// A part of one owner: put it into the owner.
    Embed,
    /// In static storage, where nothing runs at the same time.
    Static,
    /// Nothing is advised, or nothing can be.
    Declined,
}

impl Verdict {
    /// The word for it, in all reports.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Stack => "stack",
            Verdict::Hybrid => "hybrid",
            Verdict::Caller => "caller",
            Verdict::Embed => "embed",
            Verdict::Static => "static",
            Verdict::Declined => "declined",
        }
    }

    /// What the verdict advises.
    pub fn advice(self) -> &'static str {
        match self {
            Verdict::Stack => "a local buffer does",
            Verdict::Hybrid => "a local buffer does while the size fits",
            Verdict::Caller => "the caller can pass a buffer",
            Verdict::Embed => "it can be a member of its owner",
            Verdict::Static => "a static buffer does",
            Verdict::Declined => "left as it is",
        }
    }
}

/// A place in the user's file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place {
    /// File as the preprocessor names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// Column after the last byte, if that is on the same line.
    pub end_column: u32,
}

impl Place {
    /// Where a span stands.
    pub fn of(map: &SourceMap, span: Span) -> Place {
        let at = map.locate(span);
        let end_column = if at.end_line == at.line { at.end_column } else { at.column + 1 };
        Place { file: at.file, line: at.line, column: at.column, end_column }
    }
}

/// A further place that matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Where.
    pub place: Place,
    /// What is there.
    pub text: String,
}

/// Calls of the allocator and, if they were counted, instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Calls of the allocator.
    pub calls: u64,
    /// Instructions.
    pub instructions: Option<u64>,
}

/// What a command cost without a patch and with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Saved {
    /// Without.
    pub before: Cost,
    /// With.
    pub after: Cost,
}

impl Saved {
    /// Calls that are saved; below 0 if there are more.
    pub fn calls(&self) -> i64 {
        difference(self.before.calls, self.after.calls)
    }

    /// Instructions that are saved, if they were counted.
    pub fn instructions(&self) -> Option<i64> {
        Some(difference(self.before.instructions?, self.after.instructions?))
    }

    /// The calls that are saved, as a share of all, in percent.
    pub fn share(&self) -> f64 {
        match self.before.calls {
            0 => 0.0,
            all => self.calls() as f64 * 100.0 / all as f64,
        }
    }

    /// What is saved, for people.
    pub fn text(&self) -> String {
        let mut text = format!("saves {} of {} calls of the allocator", self.calls(), self.before.calls);
        if let (Some(saved), Some(all)) = (self.instructions(), self.before.instructions) {
            text += &format!(", {saved} of {all} instructions");
        }
        text
    }
}

fn difference(a: u64, b: u64) -> i64 {
    i64::try_from(i128::from(a) - i128::from(b)).unwrap_or(i64::MAX)
}

/// What the advisor says about one site.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Number of the unit, in the order that the files were given.
    pub unit: usize,
    /// The call.
    pub place: Place,
    /// The function that it is in.
    pub function: String,
    /// What is called.
    pub allocator: String,
    /// The variable that takes the object, if one does.
    pub variable: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether every access is proven to stay inside the object.
    pub proven: bool,
    /// The size as the source has it.
    pub size: String,
    /// Bytes at least and at most, if that is known.
    pub bytes: (Option<u64>, Option<u64>),
    /// Why it was declined, or what to know about the advice.
    pub reason: String,
    /// More places.
    pub notes: Vec<Note>,
    /// Whether the site is in a loop, which makes it worth more.
    pub in_loop: bool,
    /// Bytes of stack that the advice takes.
    pub stack: u64,
    /// The patch, as replacements of bytes of the source file.
    pub patch: Option<crate::edits::Patch>,
    /// Why there is no patch.
    pub no_patch: Option<String>,
    /// What the patch saves by itself, if it was measured.
    pub saved: Option<Saved>,
}

impl Finding {
    /// Whether something is advised.
    pub fn is_advice(&self) -> bool {
        self.verdict != Verdict::Declined
    }

    /// How many bytes it asks for, for people.
    pub fn bytes_text(&self) -> String {
        match self.bytes {
            (Some(a), Some(b)) if a == b => format!("{a} bytes"),
            (Some(0) | None, Some(b)) => format!("at most {b} bytes"),
            (Some(a), Some(b)) => format!("{a} to {b} bytes"),
            (_, None) => "any number of bytes".to_string(),
        }
    }
}
