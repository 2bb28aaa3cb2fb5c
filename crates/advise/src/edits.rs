//! Replacements of bytes of a source file.

use crate::origin::Origins;
use source::map::INVALID_BYTE_BASE;
use std::path::PathBuf;

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

/// The changes of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileEdits {
    /// The file, as the user names it.
    pub file: PathBuf,
    /// Its replacements, rising, apart from each other.
    pub edits: Vec<Edit>,
}

/// The patch of one site, or of several that change together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The files that change.
    pub files: Vec<FileEdits>,
}

/// A file that a patch may change.
pub struct Text {
    /// The file, as the user or the preprocessor names it.
    pub path: PathBuf,
    /// The same for all names of the file.
    pub key: PathBuf,
    /// What is in it.
    pub source: String,
    /// The tokens of the unit and which of them are in it.
    pub origins: Origins,
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

impl Patch {
    /// Whether both change the same place of a file.
    pub fn overlaps(&self, other: &Patch) -> bool {
        let overlap = |e: &Edit, o: &Edit| e.lo < o.hi && o.lo < e.hi || e.lo == o.lo && e.hi == o.hi && e.lo != e.hi;
        self.files.iter().any(|new| {
            let old = other.files.iter().filter(|old| old.file == new.file).flat_map(|old| &old.edits);
            old.into_iter().any(|o| new.edits.iter().any(|e| overlap(e, o)))
        })
    }
}

/// The edits of all patches by file, in ascending order. The patches do not overlap.
pub fn merged<'a>(patches: impl Iterator<Item = &'a Patch>) -> Vec<FileEdits> {
    let mut all: Vec<FileEdits> = vec![];
    for patch in patches {
        for new in &patch.files {
            let slot = match all.iter().position(|o| o.file == new.file) {
                Some(n) => n,
                None => {
                    all.push(FileEdits { file: new.file.clone(), edits: vec![] });
                    all.len() - 1
                }
            };
            if let Some(old) = all.get_mut(slot) {
                old.edits.extend(new.edits.iter().cloned());
                // With the text, so that any tool that sorts edits gets the same.
                old.edits.sort();
            }
        }
    }
    all
}
