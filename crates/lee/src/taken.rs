//! Finds `.c` files whose functions would take the place of C's under the runtime.
//!
//! A linker takes the program's `write` before libc's, and then the runtime calls that. Safe code
//! cannot define such a symbol (`typing::c_library`). A `.c` file may, as in any C program, as long
//! as nothing of the runtime is linked that calls it.

use crate::layouts;
use crate::link::Made;
use crate::runtime;
use crate::session::Session;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use typing::c_library::is_system_symbol;

/// What an object or a member of an archive is to the check.
struct Part {
    /// It holds Leeward code.
    leeward: bool,
    /// What it defines that C or the runtime may call, with the place if that is known. Only of C.
    defines: Vec<(String, Option<String>)>,
}

/// What is said of such functions; empty if there are none.
pub fn names(session: &Session, words: &[OsString], made: &[Made]) -> String {
    let is_runtime = |path: &Path| path.file_name().is_some_and(|name| name == runtime::ARCHIVE);
    let (archives, inputs): (Vec<&Path>, Vec<&Path>) =
        words.iter().map(Path::new).filter(|path| path.is_file()).partition(|path| is_runtime(path));
    let mut leeward = false;
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    for path in inputs {
        let source = made.iter().find(|(object, _)| object == path).map(|(_, source)| source.as_path());
        for part in layouts::objects(path, |_, bytes| part(source, bytes)) {
            leeward |= part.leeward;
            for (name, place) in part.defines {
                let file = || source.unwrap_or(path).display().to_string();
                taken.entry(name).or_insert_with(|| place.unwrap_or_else(file));
            }
        }
    }
    if !leeward || taken.is_empty() {
        return String::new();
    }
    let uses: Vec<(String, String)> = archives
        .iter()
        .flat_map(|archive| layouts::objects(archive, |member, bytes| uses(member.unwrap_or_default(), bytes)))
        .filter(|(_, name)| taken.contains_key(name))
        .collect();
    if uses.is_empty() {
        return String::new();
    }
    let linked = layouts::linked_members(session, words);
    // That wrote a program.
    let output = words.iter().position(|word| word == "-o").and_then(|at| words.get(at + 1));
    let _ = std::fs::remove_file(output.map_or(Path::new("a.out"), Path::new));
    let is_linked = |member: &str| {
        let ends = [format!("({member})"), format!("){member}")];
        linked.iter().any(|line| line.contains(runtime::ARCHIVE) && ends.iter().any(|end| line.ends_with(end)))
    };
    let called: BTreeSet<&str> =
        uses.iter().filter(|(member, _)| is_linked(member)).map(|(_, name)| name.as_str()).collect();
    let said = called.iter().filter_map(|name| Some((name, taken.get(*name)?)));
    said.map(|(name, place)| {
        format!(
            "lee: the program defines `{name}`, which the runtime calls, so they cannot be linked\n\
             {place}: note: defined here\n\
             lee: help: give it another name, or make it `static`; `-D{name}=my_{name}` for the C files renames it\n"
        )
    })
    .collect()
}

/// What there is to know of an object; `None` if another compiler made it.
fn part(source: Option<&Path>, bytes: &[u8]) -> Option<Part> {
    let file = object::File::parse(bytes).ok()?;
    let section = file.section_by_name(".lee.types");
    let notes = section.and_then(|s| s.data().ok()).map(|data| String::from_utf8_lossy(data).into_owned());
    let is_c = source.and_then(Path::extension).is_some_and(|e| e == "c");
    let notes = match notes {
        Some(notes) => notes,
        None if is_c => String::new(),
        None => return None,
    };
    let mut places: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut leeward, mut plain) = (false, is_c);
    for line in notes.lines() {
        match line.split('\t').collect::<Vec<&str>>().as_slice() {
            ["lay", name, _, "c", _, _, place, ..] => {
                plain = true;
                places.insert(name, place);
            }
            ["lay" | "layrec", _, _, "c", ..] | ["layrec", _, "c", ..] => plain = true,
            _ => leeward = true,
        }
    }
    if !plain {
        return Some(Part { leeward, defines: vec![] });
    }
    let symbols = file.symbols().filter(|symbol| symbol.is_global() && !symbol.is_undefined());
    let names = symbols.filter_map(|symbol| symbol.name().ok()).filter(|name| is_system_symbol(name));
    let place = |name: &str| places.get(name).map(|place| (*place).to_string());
    Some(Part { leeward: leeward && !is_c, defines: names.map(|name| (name.to_string(), place(name))).collect() })
}

/// What a member of the runtime calls or defines, with the member.
fn uses(member: String, bytes: &[u8]) -> Vec<(String, String)> {
    let Ok(file) = object::File::parse(bytes) else { return vec![] };
    let symbols = file.symbols().filter(|symbol| symbol.is_global() || symbol.is_undefined());
    symbols.filter_map(|symbol| Some((member.clone(), symbol.name().ok()?.to_string()))).collect()
}
