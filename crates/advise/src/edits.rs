//! Replacements of bytes of a source file.

use source::map::INVALID_BYTE_BASE;

/// A replacement of the bytes `lo..hi` of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edit {
    /// First byte.
    pub lo: usize,
    /// One past the last byte.
    pub hi: usize,
    /// What takes their place.
    pub text: String,
}

/// The patch of one site.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The file, as the user names it.
    pub file: std::path::PathBuf,
    /// Its replacements, rising, apart from each other.
    pub edits: Vec<Edit>,
}

/// Text of any encoding: a byte that is not UTF-8 becomes a private character.
pub fn decode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().filter_map(|&b| char::from_u32(INVALID_BYTE_BASE + u32::from(b))));
    }
    out
}

/// The bytes of a text that `decode` made.
pub fn encode(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        match (c as u32).checked_sub(INVALID_BYTE_BASE).and_then(|n| u8::try_from(n).ok()) {
            Some(byte) => out.push(byte),
            None => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// The text with the edits made; `None` if they overlap or are not in it.
pub fn applied(text: &str, edits: &[Edit]) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.lo)?);
        out.push_str(&edit.text);
        at = edit.hi;
        text.get(edit.lo..edit.hi)?;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// The edits of all patches of one file, in ascending order. A patch that overlaps with one before
/// it is left out.
pub fn merged<'a>(patches: impl Iterator<Item = &'a Patch>) -> Vec<Edit> {
    let mut all: Vec<Edit> = vec![];
    for patch in patches {
        let overlaps =
            |e: &Edit| all.iter().any(|o| e.lo < o.hi && o.lo < e.hi || e.lo == o.lo && e.hi == o.hi && e.lo != e.hi);
        if !patch.edits.iter().any(overlaps) {
            all.extend(patch.edits.iter().cloned());
            // With the text, so that any tool that sorts edits gets the same.
            all.sort();
        }
    }
    all
}
