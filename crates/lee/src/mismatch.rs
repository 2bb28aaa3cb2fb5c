//! Reads what a linker says about the markers of types, and says it in words.
//!
//! A marker is a symbol `lee.type.SYMBOL.DIGEST` or `lee.record.TAG.DIGEST`; each object holds
//! lines `ref|def TAB SYMBOL TAB DIGEST TAB TYPE TAB FILE:LINE` about its symbols, and `rec TAB TAG
//! TAB DIGEST TAB FIELDS TAB FILE:LINE` about its records. Both are found by looking through the
//! bytes of the files on the linker's line, so that objects and archives of any format serve. What
//! the linker says of anything else is for [`crate::unresolved`].

use crate::link::Made;
use crate::unresolved;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use typing::c_library::source_name;

/// The linker's report, with its lines about markers replaced by ours.
pub fn explain(said: &str, words: &[OsString], made: &[Made]) -> String {
    let mut symbols = BTreeSet::new();
    let mut records = BTreeSet::new();
    let mut rest = String::new();
    for line in said.lines() {
        if let Some(symbol) = marked(line, "lee.type.") {
            symbols.insert(symbol);
        } else if let Some(tag) = marked(line, "lee.record.") {
            records.insert(tag);
        } else {
            rest.push_str(line);
            rest.push('\n');
        }
    }
    let files = Files::read(words);
    let mut out = String::new();
    for symbol in &symbols {
        out.push_str(&files.about_symbol(symbol, &rest));
    }
    for tag in &records {
        out.push_str(&files.about_record(tag));
    }
    out.push_str(&unresolved::explain(&rest, &files, made, !out.is_empty()));
    out
}

/// The name between `prefix` and the digest, if the line mentions such a marker.
fn marked(line: &str, prefix: &str) -> Option<String> {
    let from = line.find(prefix)? + prefix.len();
    let rest = line.get(from..)?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '$'))).unwrap_or(rest.len());
    let (name, digest) = rest.get(..end)?.rsplit_once('.')?;
    (digest.len() == 16 && digest.bytes().all(|b| b.is_ascii_hexdigit())).then(|| name.to_string())
}

/// What one file says about a symbol or record.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Note {
    defines: bool,
    digest: String,
    ty: String,
    /// `FILE:LINE` of the declaration.
    pub place: String,
}

/// The bytes of all objects and archives on the linker's line.
#[derive(Default)]
pub struct Files(Vec<(PathBuf, Vec<u8>)>);

impl Files {
    fn read(words: &[OsString]) -> Files {
        let files = words.iter().map(PathBuf::from).filter(|path| path.is_file());
        Files(files.filter_map(|path| std::fs::read(&path).ok().map(|bytes| (path, bytes))).collect())
    }

    /// The source of an object, as its notes name it.
    pub fn source(&self, object: &Path) -> Option<String> {
        let (_, bytes) = self.0.iter().find(|(path, _)| path == object)?;
        let defined = places(bytes, b"def\t").chain(places(bytes, b"ref\t"));
        let mut notes = defined.filter_map(|at| note(bytes.get(at..)?, true));
        notes.find_map(|note| note.place.rsplit_once(':').map(|(file, _)| file.to_string()))
    }

    /// What all files say about a symbol.
    pub fn notes(&self, symbol: &str) -> BTreeSet<Note> {
        self.lines(symbol, &["def", "ref"])
    }

    fn lines(&self, symbol: &str, words: &[&str]) -> BTreeSet<Note> {
        let mut all = BTreeSet::new();
        for (_, bytes) in &self.0 {
            for &word in words {
                let lead = format!("{word}\t{symbol}\t");
                // `layrec` and its like are notes of another kind.
                let begins = |at: &usize| !bytes.get(..*at).is_some_and(|before| before.ends_with(b"lay"));
                let found = places(bytes, lead.as_bytes()).filter(begins);
                all.extend(found.filter_map(|at| note(bytes.get(at..)?, word == "def")));
            }
        }
        all
    }

    fn about_symbol(&self, symbol: &str, linker: &str) -> String {
        let notes = self.notes(symbol);
        let (symbol, full) = (source_name(symbol), symbol);
        let uses = || notes.iter().filter(|n| !n.defines);
        let line = |n: &Note, what: &str| format!("{}: note: {what}: {}\n", n.place, n.ty);
        let Some(definition) = notes.iter().find(|n| n.defines) else {
            // Nobody defines it: the linker says so itself, or it is a C function.
            let missing = linker.contains(&format!("undefined reference to `{full}'"))
                || linker.contains(&format!("undefined symbol: {full}"));
            if missing && symbol == full {
                return String::new();
            }
            let mut out = format!(
                "lee: `{symbol}` is defined by C code, but declared like a Leeward function: declare it `trusted`, or in `extern \"C\"`\n"
            );
            uses().for_each(|n| out.push_str(&line(n, "declared here")));
            return out;
        };
        let mut out = format!("lee: files disagree about the type of `{symbol}`, so they cannot be linked\n");
        out.push_str(&line(definition, "defined here"));
        for other in uses().filter(|n| n.digest != definition.digest) {
            out.push_str(&line(other, "declared here"));
            if let Some(difference) = difference(&other.ty, &definition.ty) {
                out.push_str(&format!("{}: note: {difference}\n", other.place));
            }
        }
        out
    }

    fn about_record(&self, tag: &str) -> String {
        let name = tag.split('.').next().unwrap_or(tag);
        let mut out = format!("lee: files disagree about the fields of `{name}`, so they cannot be linked\n");
        let notes = self.lines(tag, &["rec"]);
        let Some(first) = notes.first() else { return out };
        out.push_str(&format!("{}: note: declared here\n", first.place));
        for other in notes.iter().filter(|n| n.digest != first.digest) {
            out.push_str(&format!("{}: note: declared here: {}\n", other.place, other_field(&other.ty, &first.ty)));
        }
        out
    }
}

/// How the type of a function differs from that of its definition: the first parameter that
/// does, the number of them, or the result. None for what has no parameters.
fn difference(used: &str, defined: &str) -> Option<String> {
    let (used_result, used) = signature(used)?;
    let (result, defined) = signature(defined)?;
    if used.len() != defined.len() {
        let (here, there) = (used.len(), defined.len());
        return Some(format!(
            "it has {here} parameter{} here, {there} where it is defined",
            if here == 1 { "" } else { "s" }
        ));
    }
    let differing = used.iter().zip(&defined).enumerate().find(|(_, (here, there))| here != there);
    match differing {
        Some((at, (here, there))) => {
            Some(format!("parameter {} is `{here}` here, `{there}` where it is defined", at + 1))
        }
        None if used_result != result => {
            Some(format!("the result is `{used_result}` here, `{result}` where it is defined"))
        }
        None => None,
    }
}

/// Result and parameters of the text of a function's type.
fn signature(text: &str) -> Option<(String, Vec<String>)> {
    let inner = text.strip_suffix(')')?;
    let mut depth = 1;
    let open = inner.char_indices().rev().find(|(_, c)| {
        depth += match c {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let (result, list) = (inner.get(..open.0)?.trim(), inner.get(open.0 + 1..)?);
    let mut parameters = vec![String::new()];
    let mut depth = 0;
    for c in list.chars() {
        depth += match c {
            '(' | '[' | '{' | '<' => 1,
            ')' | ']' | '}' | '>' => -1,
            _ => 0,
        };
        match parameters.last_mut() {
            Some(last) if !(c == ',' && depth == 0) => last.push(c),
            _ => parameters.push(String::new()),
        }
    }
    let trimmed: Vec<String> = parameters.iter().map(|p| p.trim().to_string()).filter(|p| p != "void").collect();
    Some((result.to_string(), trimmed))
}

/// The first field of a record's note that the other does not have in its place.
fn other_field(here: &str, there: &str) -> String {
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (here.split("; ").collect(), there.split("; ").collect());
    let at = (0..ours.len().max(theirs.len())).find(|&n| ours.get(n) != theirs.get(n));
    match at.map(|n| (n + 1, ours.get(n), theirs.get(n))) {
        Some((n, Some(here), Some(there))) => format!("field {n} is `{here}` here, `{there}` there"),
        Some((n, Some(here), None)) => format!("field {n}, `{here}`, is not there"),
        Some((n, None, Some(there))) => format!("field {n}, `{there}`, is not here"),
        _ => "the fields have the same names and types, and differ in counts, tags, alignment or packing".to_string(),
    }
}

/// Where `pattern` stands in `bytes`.
fn places<'a>(bytes: &'a [u8], pattern: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let length = pattern.len().max(1);
    bytes.windows(length).enumerate().filter(move |(_, window)| *window == pattern).map(|(at, _)| at)
}

/// Reads a note from its first word on.
fn note(bytes: &[u8], defines: bool) -> Option<Note> {
    let end = bytes.iter().position(|&b| b == b'\n')?;
    let line = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
    let mut parts = line.split('\t').skip(2).map(str::to_string);
    Some(Note { defines, digest: parts.next()?, ty: parts.next()?, place: parts.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_of_all_linkers_are_found() {
        for line in [
            "/usr/bin/ld: x.o:(.debug_lee_uses+0x0): undefined reference to `lee.type.my.f.2af503ba3daf02f8'",
            "ld.lld: error: undefined symbol: lee.type.my.f.2af503ba3daf02f8",
            "x.o:(.debug_lee_uses+0x0): error: undefined reference to 'lee.type.my.f.2af503ba3daf02f8'",
        ] {
            assert_eq!(marked(line, "lee.type.").as_deref(), Some("my.f"), "{line}");
        }
        assert_eq!(marked("undefined reference to `lee_type_x'", "lee.type."), None);
        assert_eq!(marked("undefined reference to `lee.type.x'", "lee.type."), None);
    }

    #[test]
    fn a_note_is_read_from_an_object() {
        let object = b"\0\0ref\tf\t2af5\tint (int)\ta b.lee:3\nrest";
        let found: Vec<_> = places(object, b"ref\tf\t").filter_map(|at| note(&object[at..], false)).collect();
        let want = Note { defines: false, digest: "2af5".into(), ty: "int (int)".into(), place: "a b.lee:3".into() };
        assert_eq!(found, [want]);
    }

    #[test]
    fn the_difference_of_two_types_is_named() {
        let cases = [
            (
                "int (struct p *, long)",
                "int (struct p *, int)",
                "parameter 2 is `long` here, `int` where it is defined",
            ),
            ("int (int)", "int (int, int)", "it has 1 parameter here, 2 where it is defined"),
            ("long (void)", "int (void)", "the result is `long` here, `int` where it is defined"),
            (
                "void (int (*)(int, char), int)",
                "void (int (*)(int, long), int)",
                "parameter 1 is `int (*)(int, char)` here, `int (*)(int, long)` where it is defined",
            ),
        ];
        for (used, defined, want) in cases {
            assert_eq!(difference(used, defined).as_deref(), Some(want));
        }
        assert_eq!(difference("int", "long"), None);
        assert_eq!(other_field("int x; int y", "int x; long y"), "field 2 is `int y` here, `long y` there");
        assert_eq!(other_field("int x", "int x; long y"), "field 2, `long y`, is not here");
    }
}
