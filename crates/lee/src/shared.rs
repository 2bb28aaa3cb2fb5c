//! Names the variables that all processes of a program share: those of objects and archives on the
//! linker's line that Leeward did not compile (docs/reference/c-in-processes.md).

use crate::session::Session;
use crate::{layouts, runtime};
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

/// What only programs that spawn link.
const SPAWNS: &str = "lee_process_spawn_with";
/// How many variables are named.
const NAMED: usize = 8;

/// A variable, and where it is.
type Shared = (String, String);

/// A warning, if the program that was just linked spawns processes and has such variables; else
/// empty.
pub fn warning(session: &Session, words: &[OsString]) -> String {
    let options = &session.options;
    if options.no_warnings || options.warnings.iter().any(|word| word == "no-shared-variables") {
        return String::new();
    }
    let files = words.iter().map(Path::new).filter(|path| is_input(path));
    let found: BTreeSet<Shared> = files.flat_map(read).collect();
    let linked = if found.is_empty() { BTreeSet::new() } else { linked(words) };
    if !linked.contains(SPAWNS) {
        return String::new();
    }
    // An archive gives only what is asked for.
    let shared: Vec<&Shared> = found.iter().filter(|(name, _)| linked.contains(name)).collect();
    let Some(((first, place), others)) = shared.split_first().map(|(first, others)| (*first, others)) else {
        return String::new();
    };
    let mut text = format!("lee: warning: all processes share `{first}` ({place})");
    for (name, place) in others.iter().take(NAMED - 1) {
        text.push_str(&format!(", `{name}` ({place})"));
    }
    if others.len() >= NAMED {
        text.push_str(&format!(" and {} other variables", others.len() + 1 - NAMED));
    }
    text.push_str(
        ", because Leeward did not compile them\nlee: help: call that code in one process only, or put its C files on \
         Leeward's command line: each process then has its own. If it may be called in any process, say \
         `-Wno-shared-variables`\n",
    );
    text
}

/// An object or archive by its name. The runtime's archive is none of the program's.
fn is_input(path: &Path) -> bool {
    let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let is_runtime = path.file_name().is_some_and(|name| name == runtime::ARCHIVE);
    matches!(kind, "o" | "a") && !is_runtime && path.is_file()
}

/// The names of all symbols of the program.
fn linked(words: &[OsString]) -> BTreeSet<String> {
    let output = words.iter().position(|word| word == "-o").and_then(|at| words.get(at + 1));
    let path = output.map_or(Path::new("a.out"), Path::new);
    let bytes = std::fs::read(path).unwrap_or_default();
    let Ok(file) = object::File::parse(&*bytes) else { return BTreeSet::new() };
    file.symbols().filter_map(|symbol| symbol.name().ok().map(str::to_string)).collect()
}

/// The variables of a file, or of the members of an archive.
fn read(path: &Path) -> Vec<Shared> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let place = |member: Option<String>| member.map_or(file.to_string(), |member| format!("{file}({member})"));
    layouts::objects(path, |member, bytes| variables(&place(member), bytes))
}

/// The variables of an object that can be written to, if another compiler made it.
fn variables(place: &str, bytes: &[u8]) -> Vec<Shared> {
    let Ok(file) = object::File::parse(bytes) else { return vec![] };
    if file.sections().any(|s| s.name().is_ok_and(|name| name.starts_with("lee_") || name == ".lee.types")) {
        return vec![];
    }
    let writable = |section: &object::Section| {
        let SectionFlags::Elf { sh_flags } = section.flags() else { return false };
        let constant = section.name().is_ok_and(|name| name.starts_with(".data.rel.ro"));
        sh_flags & u64::from(object::elf::SHF_WRITE) != 0 && !constant
    };
    let is_shared = |symbol: &object::Symbol| {
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let common = symbol.is_common();
        symbol.kind() == SymbolKind::Data && symbol.size() > 0 && (common || section.is_some_and(|s| writable(&s)))
    };
    let names = file.symbols().filter(is_shared).filter_map(|symbol| symbol.name().ok().map(str::to_string));
    names.map(|name| (name, place.to_string())).collect()
}
