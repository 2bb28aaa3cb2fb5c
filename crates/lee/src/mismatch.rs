//! Reads what a linker says about the markers of types, and says it in words.
//!
//! A marker is a symbol `lee.type.SYMBOL.DIGEST` or `lee.record.TAG.DIGEST`; each object holds lines
//! `ref|def TAB SYMBOL TAB DIGEST TAB TYPE TAB FILE:LINE` about its symbols. Both are found by looking through the bytes of the
//! files on the linker's line, so that objects and archives of any format serve.

use crate::link::Made;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

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
    if symbols.is_empty() && records.is_empty() {
        return rest;
    }
    let files = Files::read(words);
    let mut out = String::new();
    for symbol in &symbols {
        out.push_str(&files.about_symbol(symbol, &rest));
    }
    for tag in &records {
        out.push_str(&files.about_record(tag, made));
    }
    // What is left of the linker's words is its closing line, unless something else is wrong too.
    if rest.contains("undefined") || rest.contains("multiple definition") {
        out.push_str(&rest);
    }
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

/// What one file says about a symbol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Note {
    defines: bool,
    digest: String,
    ty: String,
    place: String,
}

/// The bytes of all objects and archives on the linker's line.
struct Files(Vec<(PathBuf, Vec<u8>)>);

impl Files {
    fn read(words: &[OsString]) -> Files {
        let files = words.iter().map(PathBuf::from).filter(|path| path.is_file());
        Files(files.filter_map(|path| std::fs::read(&path).ok().map(|bytes| (path, bytes))).collect())
    }

    fn notes(&self, symbol: &str) -> BTreeSet<Note> {
        let mut all = BTreeSet::new();
        for (_, bytes) in &self.0 {
            for word in ["def", "ref"] {
                let lead = format!("{word}\t{symbol}\t");
                all.extend(places(bytes, lead.as_bytes()).filter_map(|at| note(bytes.get(at..)?, word == "def")));
            }
        }
        all
    }

    fn about_symbol(&self, symbol: &str, linker: &str) -> String {
        let notes = self.notes(symbol);
        let uses = || notes.iter().filter(|n| !n.defines);
        let line = |n: &Note, what: &str| format!("{}: note: {what}: {}\n", n.place, n.ty);
        let Some(definition) = notes.iter().find(|n| n.defines) else {
            // Nobody defines it: the linker says so itself, or it is a C function.
            if linker.contains(&format!("undefined reference to `{symbol}'"))
                || linker.contains(&format!("undefined symbol: {symbol}"))
            {
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
        uses().filter(|n| n.digest != definition.digest).for_each(|n| out.push_str(&line(n, "declared here")));
        out
    }

    fn about_record(&self, tag: &str, made: &[Made]) -> String {
        let name = tag.split('.').next().unwrap_or(tag);
        let lead = format!("lee.record.{tag}.");
        let mut out = format!("lee: files disagree about the fields of `{name}`, so they cannot be linked\n");
        let mut seen: Vec<(String, Vec<String>)> = vec![];
        for (path, bytes) in &self.0 {
            let digests: BTreeSet<String> = places(bytes, lead.as_bytes())
                .filter_map(|at| bytes.get(at + lead.len()..at + lead.len() + 16))
                .map(|digest| String::from_utf8_lossy(digest).into_owned())
                .collect();
            for digest in digests {
                let file = source_of(path, made).display().to_string();
                match seen.iter_mut().find(|(known, _)| *known == digest) {
                    Some((_, files)) => files.push(file),
                    None => seen.push((digest, vec![file])),
                }
            }
        }
        for (number, (_, files)) in seen.iter().enumerate() {
            let what = if number == 0 { "one way in" } else { "another way in" };
            out.push_str(&format!("  {what} {}\n", files.join(", ")));
        }
        out
    }
}

fn source_of<'a>(object: &'a Path, made: &'a [Made]) -> &'a Path {
    made.iter().find(|(from, _)| from == object).map_or(object, |(_, source)| source)
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
    fn other_words_of_the_linker_stay() {
        let said = "a.o: undefined reference to `g'\ncollect2: error\n";
        assert_eq!(explain(said, &[], &[]), said);
    }
}
