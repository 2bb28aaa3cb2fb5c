//! Compares what `.c` and `.lee` files say of layouts, before they are linked.
//!
//! The notes are those of `crates/emit_c/src/layout_notes.rs`, in the section `.lee.types` of each
//! object. A symbol is compared between an object of C and one of Leeward; two objects of C are
//! left alone, and two of Leeward have digests (`mismatch.rs`). Where both name a symbol, the
//! records that its types lead to are compared too. Objects that another compiler made have no
//! notes, and nothing is known of them.

use crate::session::Session;
use object::read::archive::{ArchiveFile, ArchiveMember};
use object::{Object as _, ObjectSection as _};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// One object, or a member of an archive.
struct Object {
    file: PathBuf,
    /// The member's name in an archive.
    member: Option<String>,
    symbols: BTreeMap<String, Note>,
    records: BTreeMap<String, Note>,
    plain: bool,
}

/// What a file says of a symbol or of a record.
#[derive(Clone)]
struct Note {
    layout: String,
    shown: String,
    place: String,
    tags: Vec<String>,
}

/// What is wrong with two objects, in words.
struct Difference {
    text: String,
    members: Vec<(PathBuf, String)>,
}

/// What the objects on the linker's line disagree about; empty if nothing.
pub fn differences(session: &Session, words: &[OsString]) -> String {
    let files = words.iter().map(Path::new).filter(|path| path.is_file());
    let objects: Vec<Object> =
        files.flat_map(|path| objects(path, |member, bytes| object(path, member, bytes))).collect();
    let found = compare(&objects);
    // An archive gives only what is asked for.
    let taken = match found.values().any(|difference| !difference.members.is_empty()) {
        true => linked_members(session, words),
        false => BTreeSet::new(),
    };
    let linked = |(file, member): &(PathBuf, String)| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        taken.iter().any(|line| line.contains(&*name) && line.contains(member.as_str()))
    };
    found.values().filter(|found| found.members.iter().all(linked)).map(|found| found.text.as_str()).collect()
}

/// By the symbol or tag that two objects lay out in two ways.
fn compare(objects: &[Object]) -> BTreeMap<String, Difference> {
    let mut users: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for object in objects {
        for symbol in object.symbols.keys() {
            users.entry(symbol).or_default().push(object);
        }
    }
    let mut found = BTreeMap::new();
    for (symbol, all) in users {
        // Without the symbol's first object of a language nothing can differ between the two.
        let (plain, checked): (Vec<&Object>, Vec<&Object>) = all.into_iter().partition(|object| object.plain);
        for c in &plain {
            for lee in &checked {
                compare_symbol(symbol, c, lee, &mut found);
            }
        }
    }
    found
}

fn compare_symbol(symbol: &str, c: &Object, lee: &Object, found: &mut BTreeMap<String, Difference>) {
    let (Some(here), Some(there)) = (c.symbols.get(symbol), lee.symbols.get(symbol)) else { return };
    let members = || [c, lee].iter().filter_map(|o| Some((o.file.clone(), o.member.clone()?))).collect();
    if !agree(&here.layout, &there.layout) {
        let name = typing::c_library::source_name(symbol);
        let text = format!(
            "lee: C and Leeward disagree about the layout of `{name}`, so they cannot be linked\n{}: note: in Leeward: {}\n{}: note: in C: {}\n{}",
            there.place, there.shown, here.place, here.shown, advice(&there.shown, &here.place)
        );
        found.entry(symbol.to_string()).or_insert(Difference { text, members: members() });
        return;
    }
    let mut work: Vec<&str> = here.tags.iter().filter(|tag| there.tags.contains(tag)).map(String::as_str).collect();
    let mut seen: BTreeSet<&str> = work.iter().copied().collect();
    while let Some(tag) = work.pop() {
        let (Some(one), Some(other)) = (c.records.get(tag), lee.records.get(tag)) else { continue };
        if one.layout != other.layout {
            let text = format!(
                "lee: C and Leeward disagree about the layout of `{tag}`, so they cannot be linked\n{}: note: in Leeward: {}\n{}: note: in C: {}\n{}",
                other.place, other.shown, one.place, one.shown, advice(&other.shown, &here.place)
            );
            found.entry(format!("struct {tag}")).or_insert(Difference { text, members: members() });
        }
        work.extend(
            one.tags.iter().filter(|tag| other.tags.contains(tag)).map(String::as_str).filter(|t| seen.insert(t)),
        );
    }
}

/// What to do about it.
fn advice(there: &str, place: &str) -> String {
    let file = place.rsplit_once(':').map_or(place, |(file, _)| file);
    let why = if there.contains("void *") {
        "a `void *` is two words in Leeward, unless its declaration stands in `extern \"C\"`; "
    } else if there.contains("fat") {
        "a `fat` pointer is three words, one with `counted_by` is one; "
    } else {
        ""
    };
    format!("lee: help: {why}let both files include one header with `<lee/compat.h>`, or move {file} to Leeward next\n")
}

/// Whether a call or variable of one layout meets one of the other: `?` stands for parameters that
/// are not known.
fn agree(one: &str, other: &str) -> bool {
    let result = |text: &str| text.split('|').next().unwrap_or_default().to_string();
    let open = one.ends_with("|?") || other.ends_with("|?");
    one == other || open && result(one) == result(other)
}

/// The archives and members that the linker takes, a line each: GNU ld names members only where it
/// is told to trace twice.
pub fn linked_members(session: &Session, words: &[OsString]) -> BTreeSet<String> {
    let traced = session.compiler.command().args(words).arg("-Wl,--trace,--trace").env("LC_ALL", "C").output();
    let said = traced.map(|out| [out.stdout, out.stderr].concat()).unwrap_or_default();
    String::from_utf8_lossy(&said).lines().map(str::to_string).collect()
}

/// What `read` finds in each object of a file: in itself, or in the members of an archive, whose
/// names it is given.
pub fn objects<T, I>(path: &Path, read: impl Fn(Option<String>, &[u8]) -> I) -> Vec<T>
where
    I: IntoIterator<Item = T>,
{
    let Ok(bytes) = std::fs::read(path) else { return vec![] };
    let Ok(archive) = ArchiveFile::parse(&*bytes) else { return read(None, &bytes).into_iter().collect() };
    let member = |member: ArchiveMember| {
        let name = String::from_utf8_lossy(member.name()).into_owned();
        Some(read(Some(name), member.data(&*bytes).ok()?))
    };
    archive.members().filter_map(Result::ok).filter_map(member).flatten().collect()
}

/// Reads an object's notes; `None` if it has none.
fn object(path: &Path, member: Option<String>, bytes: &[u8]) -> Option<Object> {
    let file = object::File::parse(bytes).ok()?;
    let notes = String::from_utf8_lossy(file.section_by_name(".lee.types")?.data().ok()?).into_owned();
    let mut found =
        Object { file: path.to_path_buf(), member, symbols: BTreeMap::new(), records: BTreeMap::new(), plain: false };
    for line in notes.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let (word, name, language, rest) = match parts.as_slice() {
            ["lay", name, _, language, rest @ ..] => ("lay", name, language, rest),
            ["layrec", name, language, rest @ ..] => ("layrec", name, language, rest),
            _ => continue,
        };
        let &[layout, shown, place, tags] = rest else { continue };
        found.plain |= *language == "c";
        let tags = tags.split(' ').filter(|tag| !tag.is_empty()).map(str::to_string).collect();
        let note = Note { layout: layout.into(), shown: shown.into(), place: place.into(), tags };
        let table = if word == "lay" { &mut found.symbols } else { &mut found.records };
        table.insert((*name).to_string(), note);
    }
    Some(found)
}
