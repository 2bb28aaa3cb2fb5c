//! Changes of a text by spans.

use source::Span;

/// What stands at a span becomes this text; of an empty span: the text is inserted there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

/// Another text for a span.
pub fn replace(span: Span, text: impl Into<String>) -> Edit {
    Edit { span, text: text.into() }
}

/// Text that is inserted before offset `at`.
pub fn insert(at: u32, text: impl Into<String>) -> Edit {
    Edit { span: Span::new(at, at), text: text.into() }
}

/// Text around a span.
pub fn around(span: Span, before: impl Into<String>, after: impl Into<String>) -> Vec<Edit> {
    vec![insert(span.lo, before), insert(span.hi, after)]
}

/// Whether none of the edits changes what another one changes. Insertions may stand at one place.
pub fn compatible(edits: &[Edit]) -> bool {
    let mut spans: Vec<Span> = edits.iter().map(|e| e.span).collect();
    spans.sort();
    spans.windows(2).all(|pair| pair[0].hi <= pair[1].lo)
}

/// The text with all edits made.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|e| (e.span.lo, e.span.hi));
    let mut out = String::with_capacity(text.len() + 200);
    let mut at = 0;
    for edit in sorted {
        out.push_str(&text[at..edit.span.lo as usize]);
        out.push_str(&edit.text);
        at = edit.span.hi as usize;
    }
    out.push_str(&text[at..]);
    out
}
