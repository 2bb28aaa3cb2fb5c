//! Edits of bytes, and writing files so that they are whole or as they were.

use crate::cache::beside;
use crate::failure::{Failure, Outcome};
use advise::edits::{decode, Edit};
use source::Placed;
use std::fs;
use std::path::Path;

/// A text with the offsets at which its lines begin.
pub struct Lines<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Finds the lines of a text.
    pub fn of(text: &'a [u8]) -> Lines<'a> {
        let ends = text.iter().enumerate().filter(|(_, &b)| b == b'\n');
        Lines { text, starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// The edit as a replacement of bytes.
    pub fn bytes(&self, edit: &Placed) -> Option<Edit> {
        let from = *self.starts.get(edit.line.checked_sub(1)? as usize)?;
        let lo = offset(self.text, from, edit.column)?;
        let hi = offset(self.text, from, edit.end_column)?;
        (lo <= hi).then(|| Edit { lo, hi, text: edit.text.clone() })
    }
}

/// The byte offset of a column of the line that begins at `from`. The column counts bytes of the
/// line as it is shown, where a byte that is not UTF-8 takes three.
fn offset(text: &[u8], from: usize, column: u32) -> Option<usize> {
    let rest = text.get(from..)?;
    let line = rest.split(|&b| b == b'\n').next()?;
    let (mut shown, mut at) = (0, 0);
    let wanted = column.checked_sub(1)? as usize;
    for chunk in line.utf8_chunks() {
        let valid = chunk.valid().len();
        if wanted <= shown + valid {
            return Some(from + at + (wanted - shown));
        }
        shown += valid;
        at += valid;
        if !chunk.invalid().is_empty() {
            shown += char::REPLACEMENT_CHARACTER.len_utf8();
            at += chunk.invalid().len();
        }
    }
    (wanted == shown).then_some(from + at)
}

/// The text with the edits made; `None` if two of them overlap.
pub fn applied(text: &[u8], edits: &mut Vec<Edit>) -> Option<Vec<u8>> {
    edits.sort();
    edits.dedup();
    let mut out = Vec::with_capacity(text.len() + 64 * edits.len());
    let mut at = 0;
    for edit in edits.iter() {
        out.extend_from_slice(text.get(at..edit.lo)?);
        out.extend_from_slice(edit.text.as_bytes());
        at = edit.hi;
    }
    out.extend_from_slice(text.get(at..)?);
    Some(out)
}

/// The lines that differ, as a unified diff. Edits keep the number of lines.
pub fn diff(name: &Path, old: &[u8], new: &[u8]) -> (String, usize) {
    let (old, new) = (decode(old), decode(new));
    let mut edits = vec![];
    let mut at = 0;
    for (a, b) in old.split_inclusive('\n').zip(new.split_inclusive('\n')) {
        if a != b {
            edits.push(Edit { lo: at, hi: at + a.len(), text: b.to_string() });
        }
        at += a.len();
    }
    (advise::diff::diff(&name.to_string_lossy(), &old, &edits), edits.len())
}

/// Replaces or makes a file, with the mode that `old` has: a reader finds the old text or the new
/// one.
pub fn replace(file: &Path, bytes: &[u8], old: &Path) -> Outcome<()> {
    let cannot = |e: std::io::Error| Failure::file("write", file, &e);
    let mode = fs::metadata(old).map(|m| m.permissions());
    let other = beside(file);
    let done = fs::write(&other, bytes).and_then(|()| match &mode {
        Ok(mode) => fs::set_permissions(&other, mode.clone()),
        Err(_) => Ok(()),
    });
    let done = done.and_then(|()| fs::rename(&other, file));
    if done.is_err() {
        let _ = fs::remove_file(&other);
    }
    done.map_err(cannot)
}
