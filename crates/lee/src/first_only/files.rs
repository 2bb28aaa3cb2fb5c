//! The objects and libraries on a linker's line, and what each defines, refers to and keeps.
//!
//! A file that cannot be looked into (objects for link-time optimisation) counts as one that has
//! variables: what it does is not known.

use crate::failure::{Failure, Outcome};
use crate::runtime;
use crate::session::Session;
use object::read::archive::{ArchiveFile, ArchiveMember};
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file on the line.
pub struct Input {
    /// Its word, or its part of a word that begins with `-Wl,`.
    pub word: usize,
    pub part: Option<usize>,
    /// `-l`, if the name is the next word.
    pub lead: Option<usize>,
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

/// What kind of file an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It is linked.
    Object,
    /// It is linked if something in it is asked for.
    Member,
    /// It is loaded.
    Shared,
}

/// What keeps a file's functions from being every process's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// Nothing in itself.
    None,
    /// It has variables; one of them, if its name is known.
    Variables(Option<String>),
    /// It was not looked into.
    Unknown,
}

/// An object, a member of an archive, or a shared object.
pub struct Unit {
    /// The number of the input; `None` of what another library needs.
    pub input: Option<usize>,
    /// As it is shown: `libx.a(member.o)`.
    pub place: String,
    pub kind: Kind,
    pub leeward: bool,
    pub state: State,
    /// What it defines, and whether weakly.
    pub defines: Vec<(String, bool)>,
    pub refers: Vec<String>,
    /// Its variables that have names.
    pub variables: Vec<String>,
    /// Of Leeward's: functions of C that it names, and whether it declares them reentrant.
    pub uses: Vec<(String, bool)>,
}

/// The libraries of C and of the compilers. They are every process's.
const OF_SYSTEM: &[&str] = &[
    "libc",
    "libm",
    "libpthread",
    "libdl",
    "librt",
    "libutil",
    "libresolv",
    "libanl",
    "libmvec",
    "libgcc",
    "libgcc_s",
    "libgcc_eh",
    "libatomic",
    "libquadmath",
    "libstdc++",
    "libsupc++",
    "libc++",
    "libc++abi",
    "libunwind",
    "libasan",
    "libubsan",
    "libtsan",
    "liblsan",
];

/// Their values are not files to link, although one may have such a name.
const OPTIONS_WITH_VALUE: &[&str] = &["-o", "-x", "-l", "-L", "-T", "-u", "-e", "-I", "-include", "-isystem"];

/// The words of the line with the files that they name.
pub struct Line<'a> {
    session: &'a Session,
    /// Each with its parts, if it begins with `-Wl,`.
    parts: Vec<(usize, Option<usize>, OsString)>,
    /// Those of `-L`.
    pub folders: Vec<PathBuf>,
}

impl<'a> Line<'a> {
    pub fn new(session: &'a Session, words: &[OsString]) -> Line<'a> {
        let mut parts = vec![];
        for (number, word) in words.iter().enumerate() {
            match word.as_bytes().strip_prefix(b"-Wl,") {
                Some(list) => {
                    let list = list.split(|&b| b == b',').enumerate();
                    parts.extend(list.map(|(n, part)| (number, Some(n), OsStr::from_bytes(part).to_os_string())));
                }
                None if word == "-Xlinker" => {}
                None => parts.push((number, None, word.clone())),
            }
        }
        let folders = valued(&parts, b"-L").map(|(_, folder)| PathBuf::from(folder)).collect();
        Line { session, parts, folders }
    }

    /// Objects and archives by their names.
    pub fn named(&self) -> Outcome<Vec<Input>> {
        let mut found = vec![];
        let mut skipped = false;
        for (word, part, text) in &self.parts {
            let value = std::mem::replace(&mut skipped, OPTIONS_WITH_VALUE.iter().any(|option| text == *option));
            if !value && !text.as_bytes().starts_with(b"-") {
                found.extend(input(*word, *part, None, Path::new(text))?);
            }
        }
        Ok(found)
    }

    /// The places and names of `-l`, but for the system's libraries.
    fn wanted(&self) -> impl Iterator<Item = (usize, &OsStr)> {
        valued(&self.parts, b"-l").filter(|(_, name)| !is_of_system(&[b"lib", name.as_bytes()].concat()))
    }

    /// Libraries by `-l`, with those that they need.
    pub fn libraries(&self, folders: &[PathBuf]) -> Outcome<Vec<Input>> {
        let mut found = vec![];
        for (at, name) in self.wanted() {
            let only_archives = self.parts.iter().take(at).fold(false, |now, (_, _, text)| match text.as_bytes() {
                b"-Bstatic" | b"-dn" | b"-non_shared" | b"-static" => true,
                b"-Bdynamic" | b"-dy" | b"-call_shared" => false,
                _ => now,
            });
            let Some(path) = library(folders, name, only_archives) else { continue };
            let Some((word, part, text)) = self.parts.get(at) else { continue };
            let alone = text.len() == 2;
            let value = if alone { self.parts.get(at + 1) } else { None };
            match value {
                Some((next, part, _)) => found.extend(input(*next, *part, Some(*word), &path)?),
                None => found.extend(input(*word, *part, None, &path)?),
            }
            if found.iter().all(|input| input.path != path) {
                for named in script(&path, folders) {
                    found.extend(input(*word, *part, None, &named)?);
                }
            }
        }
        Ok(found)
    }

    /// Those of the line, then the compiler's, which are asked for if there are libraries.
    pub fn all_folders(&self, units: &[Unit]) -> Vec<PathBuf> {
        let mut all = self.folders.clone();
        if self.wanted().next().is_none() && units.iter().all(|unit| unit.kind != Kind::Shared) {
            return all;
        }
        let asked = self.session.compiler.command().arg("-print-search-dirs").env("LC_ALL", "C").output();
        let said = asked.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
        let listed = said.lines().find_map(|line| line.strip_prefix("libraries: ="));
        all.extend(listed.unwrap_or_default().split(':').map(PathBuf::from));
        all
    }
}

/// The values of an option that is followed by its value, in the same word or the next.
fn valued<'p>(
    parts: &'p [(usize, Option<usize>, OsString)],
    option: &'static [u8],
) -> impl Iterator<Item = (usize, &'p OsStr)> {
    parts.iter().enumerate().filter_map(move |(at, (_, _, text))| {
        let value = text.as_bytes().strip_prefix(option)?;
        match value.is_empty() {
            true => Some((at, parts.get(at + 1)?.2.as_os_str())),
            false => Some((at, OsStr::from_bytes(value))),
        }
    })
}

/// Whether a file's name, without what follows the first dot, is one of the system's libraries.
fn is_of_system(name: &[u8]) -> bool {
    let stem = name.split(|&b| b == b'.').next().unwrap_or_default();
    name.starts_with(b"ld-linux") || OF_SYSTEM.iter().any(|own| own.as_bytes() == stem)
}

fn library(folders: &[PathBuf], name: &OsStr, only_archives: bool) -> Option<PathBuf> {
    let with = |end: &str| {
        let mut file = OsString::from("lib");
        file.push(name);
        file.push(end);
        file
    };
    let names = match name.as_bytes().strip_prefix(b":") {
        Some(file) => vec![OsStr::from_bytes(file).to_os_string()],
        None if only_archives => vec![with(".a")],
        None => vec![with(".so"), with(".a")],
    };
    folders.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).find(|path| path.is_file())
}

/// The libraries that a script of the linker's names, as `libncurses.so` is one.
fn script(path: &Path, folders: &[PathBuf]) -> Vec<PathBuf> {
    let text = std::fs::read(path).ok().filter(|bytes| bytes.len() < 1 << 16 && !bytes.contains(&0));
    let text = String::from_utf8_lossy(&text.unwrap_or_default()).into_owned();
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ';'));
    let find = |word: &str| match word.strip_prefix("-l") {
        Some(name) => library(folders, OsStr::new(name), false),
        None if word.contains(".so") || word.ends_with(".a") => {
            let beside = path.parent().into_iter().map(Path::to_path_buf).chain(folders.iter().cloned());
            beside.map(|folder| folder.join(word)).find(|path| path.is_file())
        }
        None => None,
    };
    let of_system =
        |path: &PathBuf| is_of_system(path.file_name().map(|name| name.as_encoded_bytes()).unwrap_or_default());
    words.filter_map(find).filter(|path| !of_system(path)).collect()
}

const ARCHIVE: &[u8] = b"!<arch>\n";
const THIN: &[u8] = b"!<thin>\n";

/// The file, if it is an object, an archive or a shared object, and not the runtime's.
fn input(word: usize, part: Option<usize>, lead: Option<usize>, path: &Path) -> Outcome<Option<Input>> {
    let is_runtime = path.file_name().is_some_and(|name| name == runtime::ARCHIVE);
    if is_runtime || !path.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(path).map_err(|error| Failure::file("read", path, &error))?;
    let known =
        bytes.starts_with(b"\x7fELF") || is_bitcode(&bytes) || bytes.starts_with(ARCHIVE) || bytes.starts_with(THIN);
    Ok(known.then(|| Input { word, part, lead, path: path.to_path_buf(), bytes }))
}

fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(b"\xde\xc0\x17\x0b")
}

/// What is in an input.
pub fn units(number: usize, input: &Input) -> Outcome<Vec<Unit>> {
    let path = &input.path;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !input.bytes.starts_with(ARCHIVE) && !input.bytes.starts_with(THIN) {
        return Ok(unit(file, Some(number), Kind::Object, &input.bytes).into_iter().collect());
    }
    let damaged = |why: &dyn std::fmt::Display| {
        let path = path.display();
        Failure::error(format!("the archive '{path}' cannot be read ({why}): make it again"))
    };
    let archive = ArchiveFile::parse(&*input.bytes).map_err(|error| damaged(&error))?;
    let mut listed: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for symbol in archive.symbols().map_err(|error| damaged(&error))?.into_iter().flatten() {
        let symbol = symbol.map_err(|error| damaged(&error))?;
        let name = String::from_utf8_lossy(symbol.name()).into_owned();
        listed.entry(symbol.offset().0).or_default().push(name);
    }
    let mut all = vec![];
    for member in archive.members() {
        let member = member.map_err(|error| damaged(&error))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let data = member_data(path, &input.bytes, &member).ok_or_else(|| damaged(&format!("its member '{name}'")))?;
        let Some(mut unit) = unit(format!("{file}({name})"), Some(number), Kind::Member, &data) else { continue };
        if unit.state == State::Unknown && unit.defines.is_empty() {
            let names = member_place(&input.bytes, &member).and_then(|at| listed.remove(&(at as u64)));
            unit.defines = names.unwrap_or_default().into_iter().map(|name| (name, false)).collect();
        }
        all.push(unit);
    }
    Ok(all)
}

/// The bytes of a member, which a thin archive has in a file beside it.
pub fn member_data<'b>(path: &Path, bytes: &'b [u8], member: &ArchiveMember<'b>) -> Option<Cow<'b, [u8]>> {
    if !member.is_thin() {
        return member.data(bytes).ok().map(Cow::Borrowed);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::read(folder.join(OsStr::from_bytes(member.name()))).ok().map(Cow::Owned)
}

/// Where a member's header begins.
pub fn member_place(bytes: &[u8], member: &ArchiveMember) -> Option<usize> {
    // Of a thin archive, a member tells no other place.
    let header: *const object::archive::Header = member.header()?;
    (header as usize).checked_sub(bytes.as_ptr() as usize)
}

/// An object; `None` if it is something else.
fn unit(place: String, input: Option<usize>, kind: Kind, bytes: &[u8]) -> Option<Unit> {
    let nothing = |state| Unit {
        input,
        place: place.clone(),
        kind,
        leeward: false,
        state,
        defines: vec![],
        refers: vec![],
        variables: vec![],
        uses: vec![],
    };
    if is_bitcode(bytes) {
        return Some(nothing(State::Unknown));
    }
    let file = object::File::parse(bytes).ok()?;
    if file.kind() == ObjectKind::Dynamic {
        return Some(shared(nothing(State::None), &file));
    }
    let name = |symbol: &object::Symbol| symbol.name().ok().map(str::to_string);
    if file.symbols().any(|symbol| symbol.name() == Ok("__gnu_lto_slim")) {
        return Some(Unit { defines: optimised_later(&file), ..nothing(State::Unknown) });
    }
    let leeward = made_by_leeward(&file);
    let variables = if leeward { vec![] } else { variables(&file, file.symbols()) };
    let state = match !leeward && has_variables(&file) {
        true => State::Variables(variables.first().cloned()),
        false => State::None,
    };
    let mut found = Unit { leeward, variables, ..nothing(state) };
    for symbol in file.symbols().filter(|symbol| symbol.is_global()) {
        let Some(name) = name(&symbol).filter(|name| !name.is_empty()) else { continue };
        match symbol.is_undefined() {
            true => found.refers.push(name),
            // `.symver` makes a name of name and version.
            false => found.defines.push((name.split("@@").next().unwrap_or(&name).to_string(), symbol.is_weak())),
        }
    }
    if let Some(notes) = file.section_by_name(".lee.types").and_then(|section| section.data().ok()) {
        for line in String::from_utf8_lossy(notes).lines() {
            if let ["uses", name, word] = line.split('\t').collect::<Vec<_>>().as_slice() {
                found.uses.push((name.to_string(), *word == "reentrant"));
            }
        }
    }
    Some(found)
}

/// Whether Leeward compiled an object.
pub fn made_by_leeward(file: &object::File) -> bool {
    file.sections().any(|s| s.name().is_ok_and(|name| name.starts_with("lee_") || name == ".lee.types"))
}

/// Whether an object has bytes that can be written to, in sections or common.
fn has_variables(file: &object::File) -> bool {
    let has_bytes = file.sections().any(|section| is_writable(&section) && section.size() > 0);
    has_bytes || file.symbols().any(|symbol| symbol.is_common())
}

/// The variables that have names, of the file or of those that others see.
fn variables<'d, 'f>(file: &'f object::File<'d>, symbols: object::SymbolIterator<'d, 'f>) -> Vec<String> {
    writable_symbols(file, symbols).filter_map(|symbol| symbol.name().ok().map(str::to_string)).collect()
}

fn writable_symbols<'d, 'f>(
    file: &'f object::File<'d>,
    symbols: object::SymbolIterator<'d, 'f>,
) -> impl Iterator<Item = object::Symbol<'d, 'f>> {
    symbols.filter(|symbol| {
        let data = matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Tls) && symbol.size() > 0;
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        data && (symbol.is_common() || section.is_some_and(|section| is_writable(&section)))
    })
}

/// Sections of which a program changes bytes. Those of a thread count too: a process does not stay
/// on one.
fn is_writable(section: &object::Section) -> bool {
    const OTHERS: &[&str] = &[
        ".data.rel.ro",
        ".init_array",
        ".fini_array",
        ".preinit_array",
        ".ctors",
        ".dtors",
        ".got",
        ".got.plt",
        ".dynamic",
        ".tm_clone_table",
        ".jcr",
        ".eh_frame",
    ];
    let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
    let both = u64::from(object::elf::SHF_WRITE | object::elf::SHF_ALLOC);
    let name = section.name().unwrap_or_default();
    // C++ reaches functions for exceptions through pointers that the linker fills in.
    sh_flags & both == both && !OTHERS.iter().any(|other| is_or_begins(name, other)) && !name.contains(".DW.ref.")
}

/// `.init_array` and `.init_array.00102`
fn is_or_begins(name: &str, other: &str) -> bool {
    name.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a shared object has more variables than the two that the C compiler's start files put
/// into each: a pointer, and a byte in a section of eight. Those are told from one by the alignment
/// of the section, unless it is a byte, too: then from the names, if they are there.
fn state_of_shared(file: &object::File) -> State {
    const OF_START: u64 = 8;
    let more =
        |section: object::Section| section.size() > OF_START || section.name() == Ok(".bss") && section.align() > 1;
    let name = |symbol: object::Symbol| symbol.name().ok().map(str::to_string);
    let all = writable_symbols(file, file.symbols()).chain(writable_symbols(file, file.dynamic_symbols()));
    let named = all.filter_map(name).find(|name| !name.starts_with("completed."));
    let nothing_known = file.sections().next().is_none();
    match named.is_some() || nothing_known || file.sections().filter(is_writable).any(more) {
        true => State::Variables(named),
        false => State::None,
    }
}

fn shared(mut found: Unit, file: &object::File) -> Unit {
    found.kind = Kind::Shared;
    found.state = state_of_shared(file);
    let named = file.dynamic_symbols().filter(|symbol| !symbol.is_undefined());
    found.defines = named.filter_map(|s| Some((s.name().ok()?.to_string(), false))).collect();
    found.variables = variables(file, file.dynamic_symbols());
    found.refers = needed(file);
    found
}

/// The libraries that a shared object needs, by name.
fn needed(file: &object::File) -> Vec<String> {
    const NEEDED: u64 = 1;
    let data = |name| file.section_by_name(name).and_then(|section| section.data().ok()).unwrap_or_default();
    let (entries, names) = (data(".dynamic"), data(".dynstr"));
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or_default();
    let name = |entry: &[u8]| {
        let (tag, value) = entry.split_at_checked(8)?;
        let text = names.get(usize::try_from(number(value)).ok()?..).filter(|_| number(tag) == NEEDED)?;
        let name = text.split(|&b| b == 0).next()?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    entries.chunks_exact(16).filter_map(name).filter(|name| !is_of_system(name.as_bytes())).collect()
}

/// The shared objects that others need and that are not on the line.
pub fn needed_units(folders: &[PathBuf], units: &[Unit], inputs: &[Input]) -> Vec<Unit> {
    let of_input = |unit: &Unit| inputs.get(unit.input?).and_then(|input| input.path.parent()).map(Path::to_path_buf);
    let mut work: Vec<(String, Option<PathBuf>)> = vec![];
    for unit in units.iter().filter(|unit| unit.kind == Kind::Shared) {
        work.extend(unit.refers.iter().map(|name| (name.clone(), of_input(unit))));
    }
    let mut seen: BTreeSet<String> = units.iter().map(|unit| unit.place.clone()).collect();
    let mut found = vec![];
    while let Some((name, beside)) = work.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let places = beside.iter().chain(folders).map(|folder| folder.join(&name));
        let bytes = places.filter(|path| path.is_file()).find_map(|path| std::fs::read(path).ok());
        if let Some(unit) = bytes.and_then(|bytes| unit(name, None, Kind::Shared, &bytes)) {
            work.extend(unit.refers.iter().map(|name| (name.clone(), beside.clone())));
            found.push(unit);
        }
    }
    found
}

/// What an object for gcc's link-time optimisation defines. Its table has, for each symbol, a name,
/// the name of a group, a byte for the kind (0: defined, 1: weakly), one for the visibility, the
/// size and a number.
fn optimised_later(file: &object::File) -> Vec<(String, bool)> {
    let is_table = |s: &object::Section| s.name().is_ok_and(|name| name.starts_with(".gnu.lto_.symtab"));
    let Some(section) = file.sections().find(is_table) else { return vec![] };
    let mut rest = section.data().unwrap_or_default();
    let mut all = vec![];
    let text = |rest: &mut &[u8]| {
        let end = rest.iter().position(|&b| b == 0)?;
        let (text, after) = rest.split_at_checked(end + 1)?;
        *rest = after;
        Some(String::from_utf8_lossy(text.get(..end)?).into_owned())
    };
    while let (Some(name), Some(_)) = (text(&mut rest), text(&mut rest)) {
        let Some((fixed, after)) = rest.split_at_checked(1 + 1 + 8 + 4) else { break };
        rest = after;
        match fixed.first() {
            Some(0) => all.push((name, false)),
            Some(1) => all.push((name, true)),
            _ => {}
        }
    }
    all
}

/// What objects of clang's for link-time optimisation define, of the functions that Leeward's
/// objects use: LLVM's format keeps names as they are, but does not say in a simple way which are
/// defined. One that nothing else defines, and that such an object names, is taken to be there.
pub fn guess_names(units: &mut [Unit], inputs: &[Input]) {
    let defined: BTreeSet<&String> = units.iter().flat_map(|unit| &unit.defines).map(|(name, _)| name).collect();
    let uses = units.iter().filter(|unit| unit.leeward).flat_map(|unit| &unit.uses).map(|(name, _)| name);
    let wanted: BTreeSet<String> = uses.filter(|name| !defined.contains(name)).cloned().collect();
    for unit in units.iter_mut().filter(|unit| unit.state == State::Unknown && unit.defines.is_empty()) {
        let bytes = unit.input.and_then(|n| inputs.get(n)).map(|input| &*input.bytes).filter(|bytes| is_bitcode(bytes));
        let holds = |name: &&String| bytes.is_some_and(|b| b.windows(name.len().max(1)).any(|w| w == name.as_bytes()));
        unit.defines = wanted.iter().filter(holds).map(|name| (name.clone(), false)).collect();
    }
}
