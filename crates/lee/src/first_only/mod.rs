//! Functions of C that only the first process may call (docs/reference/c-in-processes.md).
//!
//! Objects that Leeward did not compile have their variables once for all processes. In a program
//! that spawns, a function of theirs which uses such variables, or may reach what does, is called
//! through a wrapper that the linker's line gets: it jumps to the function in the first process, and
//! is the fault `foreign` in another one. Copies of Leeward's objects are linked, in which the
//! function goes by the wrapper's name. C's own calls of the function, and pointers that C makes,
//! stay as they are. (The option `--wrap` of linkers would rename those too, so a library could not
//! call itself where it is declared reentrant.)

mod files;
mod renamed;

use crate::failure::{Failure, Outcome};
use crate::link::Made;
use crate::scratch::Scratch;
use crate::session::Session;
use crate::shared::Shared;
use crate::toolchain::Machine;
use files::{Input, Kind, Line, State, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What only programs that spawn link.
pub const SPAWNS: &str = "lee_process_spawn_with";
/// What stands before the name of a function in that of its wrapper.
const WRAPPER: &str = "lee.first.";

/// The linker's line, with wrappers if it needs some.
pub struct Guarded {
    pub words: Vec<OsString>,
    pub made: Vec<Made>,
    /// Variables of C that Leeward's code uses by their names, if the program spawns.
    pub shared: Vec<Shared>,
    /// The copies, until the program is linked.
    _scratch: Option<Scratch>,
}

/// Adds the wrappers for a program that spawns.
pub fn guard(session: &Session, words: &[OsString], made: &[Made]) -> Outcome<Guarded> {
    let unchanged = |shared| Guarded { words: words.to_vec(), made: made.to_vec(), shared, _scratch: None };
    let line = Line::new(session, words);
    let mut inputs = line.named()?;
    let mut units = vec![];
    // Most programs do not spawn: nothing else is done for them. Leeward's own libraries do not lie
    // in the compiler's folders.
    let spawns = |input: &Input| input.bytes.windows(SPAWNS.len()).any(|bytes| bytes == SPAWNS.as_bytes());
    if !inputs.iter().any(spawns) && !line.libraries(&line.folders)?.iter().any(spawns) {
        return Ok(unchanged(vec![]));
    }
    for (number, input) in inputs.iter().enumerate() {
        units.extend(files::units(number, input)?);
    }
    let folders = line.all_folders(&units);
    for input in line.libraries(&folders)? {
        units.extend(files::units(inputs.len(), &input)?);
        inputs.push(input);
    }
    let spawns = |unit: &Unit| unit.leeward && unit.refers.iter().any(|name| name == SPAWNS);
    if !units.iter().any(spawns) {
        return Ok(unchanged(vec![]));
    }
    if units.iter().any(|unit| unit.kind == Kind::Shared && !unit.refers.is_empty()) {
        units.extend(files::needed_units(&folders, &units, &inputs));
    }
    files::guess_names(&mut units, &inputs);
    // Files by their words are linked in the order of the line.
    units.sort_by_key(|unit| unit.input.and_then(|n| inputs.get(n)).map_or((usize::MAX, None), |i| (i.word, i.part)));
    let messages = restricted(&units);
    match messages.is_empty() {
        true => Ok(unchanged(shared_variables(&units))),
        false => replaced(session, words, made, &inputs, &units, &messages),
    }
}

/// The variables of C that Leeward's objects name, with their places.
fn shared_variables(units: &[Unit]) -> Vec<Shared> {
    let definitions = definitions(units);
    let named: BTreeSet<&str> =
        units.iter().filter(|unit| unit.leeward).flat_map(|unit| &unit.refers).map(String::as_str).collect();
    let place = |name: &str| {
        let unit = units.get(*definitions.get(name)?)?;
        unit.variables.iter().any(|variable| variable == name).then(|| (name.to_string(), unit.place.clone()))
    };
    named.into_iter().filter_map(place).collect()
}

/// The functions of C's that Leeward's objects name and that only the first process may call, with what
/// the fault says.
fn restricted(units: &[Unit]) -> BTreeMap<String, String> {
    let definitions = definitions(units);
    let uses = || units.iter().filter(|unit| unit.leeward).flat_map(|unit| &unit.uses);
    let everywhere: BTreeSet<&str> = uses().filter(|(_, says)| *says).map(|(name, _)| name.as_str()).collect();
    let mut reached: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    let mut messages = BTreeMap::new();
    for (name, _) in uses().filter(|(name, _)| !everywhere.contains(name.as_str()) && is_writable_in_assembly(name)) {
        let Some(&at) = definitions.get(name.as_str()) else { continue };
        let found = *reached.entry(at).or_insert_with(|| keeper(units, &definitions, at));
        if let Some(keeper) = found.and_then(|keeper| units.get(keeper)) {
            messages.insert(name.clone(), message(name, keeper));
        }
    }
    messages
}

/// The unit that the linker takes a name from: an object, else what comes first on the line.
fn definitions(units: &[Unit]) -> BTreeMap<&str, usize> {
    let mut all = BTreeMap::new();
    let mut add = |wanted: &dyn Fn(&Unit, bool) -> bool| {
        for (number, unit) in units.iter().enumerate() {
            for (name, _) in unit.defines.iter().filter(|(_, weak)| wanted(unit, *weak)) {
                all.entry(name.as_str()).or_insert(number);
            }
        }
    };
    add(&|unit, weak| unit.kind == Kind::Object && !weak);
    add(&|unit, _| unit.kind == Kind::Object);
    add(&|unit, _| unit.kind != Kind::Object && unit.input.is_some());
    add(&|_, _| true);
    all
}

/// What has variables that code of a unit may reach: itself, or one that it refers to. Leeward's
/// own have them once for each process.
fn keeper(units: &[Unit], definitions: &BTreeMap<&str, usize>, from: usize) -> Option<usize> {
    let by_place: BTreeMap<&str, usize> =
        units.iter().enumerate().map(|(number, unit)| (unit.place.as_str(), number)).collect();
    let (mut work, mut seen) = (vec![from], BTreeSet::from([from]));
    while let Some(at) = work.pop() {
        let Some(unit) = units.get(at).filter(|unit| !unit.leeward) else { continue };
        if unit.state != State::None {
            return Some(at);
        }
        let next = unit.refers.iter().filter_map(|name| match unit.kind {
            Kind::Shared => by_place.get(name.as_str()),
            Kind::Object | Kind::Member => definitions.get(name.as_str()),
        });
        work.extend(next.copied().filter(|next| seen.insert(*next)));
    }
    None
}

/// What the fault says. A `wait` for the process gets the first 119 bytes of it.
fn message(name: &str, keeper: &Unit) -> String {
    let place = &keeper.place;
    let why = match &keeper.state {
        State::Variables(Some(variable)) => format!("{place} keeps `{variable}` for all processes"),
        State::Unknown => format!("{place} cannot be examined, and may keep variables for all processes"),
        _ => format!("{place} keeps variables for all processes"),
    };
    format!(
        "foreign: only the first process may call `{name}`: {why}. Send that process requests over a channel, or \
         declare `{name}` `[[lee::reentrant]]` if every process may call it"
    )
}

/// Names that an assembler takes between quotes as they are.
fn is_writable_in_assembly(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$') || !b.is_ascii())
}

/// Links copies of Leeward's objects that name the wrappers.
fn replaced(
    session: &Session,
    words: &[OsString],
    made: &[Made],
    inputs: &[Input],
    units: &[Unit],
    messages: &BTreeMap<String, String>,
) -> Outcome<Guarded> {
    let scratch = Scratch::new()?;
    let names: BTreeMap<String, String> =
        messages.keys().map(|name| (name.clone(), format!("{WRAPPER}{name}"))).collect();
    let mut words: Vec<Vec<OsString>> = words.iter().map(|word| vec![word.clone()]).collect();
    let mut made = made.to_vec();
    let callers = |number: usize| -> BTreeSet<&str> {
        let of_input = units.iter().filter(|unit| unit.input == Some(number) && unit.leeward);
        of_input.filter(|unit| unit.uses.iter().any(|(name, _)| names.contains_key(name))).map(|u| &*u.place).collect()
    };
    for (number, input) in inputs.iter().enumerate() {
        let callers = callers(number);
        if callers.is_empty() {
            continue;
        }
        let is_member = units.iter().any(|unit| unit.input == Some(number) && unit.kind == Kind::Member);
        let bytes = match is_member {
            true => renamed::archive(&input.path, &input.bytes, |bytes| renamed::of_leeward(bytes, &names)),
            false => renamed::of_leeward(&input.bytes, &names),
        };
        let cannot = || Failure::error(format!("'{}' cannot be linked: make it again", input.path.display()));
        let bytes = bytes.ok_or_else(cannot)?;
        let copy = written(&scratch, number, &input.path, &bytes)?;
        let source = made.iter().find(|(object, _)| *object == input.path).map(|(_, source)| source.clone());
        made.extend(source.map(|source| (copy.clone(), source)));
        if let Some(lead) = input.lead.and_then(|lead| words.get_mut(lead)) {
            lead.clear();
        }
        if let Some(word) = words.get_mut(input.word) {
            let old = word.pop().unwrap_or_default();
            word.push(input.part.map_or_else(|| copy.clone().into_os_string(), |part| with_part(&old, part, &copy)));
        }
    }
    let file = scratch.file("first.s");
    let text = wrappers(session.compiler.machine, messages);
    std::fs::write(&file, text).map_err(|error| Failure::file("write", &file, &error))?;
    let mut words: Vec<OsString> = words.into_iter().flatten().collect();
    // In front of everything else, so that archives that follow are searched for what it names.
    words.splice(0..0, ["-x".into(), "assembler".into(), file.into_os_string(), "-x".into(), "none".into()]);
    Ok(Guarded { words, made, shared: shared_variables(units), _scratch: Some(scratch) })
}

/// Writes a copy, under the name that the linker's messages show.
fn written(scratch: &Scratch, number: usize, path: &Path, bytes: &[u8]) -> Outcome<PathBuf> {
    let folder = scratch.file(&number.to_string());
    let copy = folder.join(path.file_name().unwrap_or(OsStr::new("copy.o")));
    let written = std::fs::create_dir(&folder).and_then(|()| std::fs::write(&copy, bytes));
    written.map_err(|error| Failure::file("write", &copy, &error))?;
    Ok(copy)
}

/// The word `-Wl,...` with another file as one of its parts.
fn with_part(word: &OsStr, part: usize, file: &Path) -> OsString {
    let list = word.as_bytes().strip_prefix(b"-Wl,").unwrap_or_default();
    let mut parts: Vec<&[u8]> = list.split(|&b| b == b',').collect();
    if let Some(old) = parts.get_mut(part) {
        *old = file.as_os_str().as_bytes();
    }
    OsString::from_vec([&b"-Wl,"[..], &parts.join(&b',')].concat())
}

/// The wrappers. They may use the registers that a linker's own code between caller and callee may:
/// arguments, and how many of them are in vector registers, stay where they are. The fault begins in
/// the caller, whose place to return to is still the last.
fn wrappers(machine: Machine, messages: &BTreeMap<String, String>) -> String {
    let mut out = String::from(".text\n");
    for (number, (name, message)) in messages.iter().enumerate() {
        let wrapper = format!("\"{WRAPPER}{name}\"");
        let (kind, check) = match machine {
            Machine::X86_64 => (
                "@function",
                format!(
                    "    endbr64\n\
                     \x20   movq lee_process@gottpoff(%rip), %r11\n\
                     \x20   movq %fs:(%r11), %r11\n\
                     \x20   testq %r11, %r11\n\
                     \x20   je 1f\n\
                     \x20   cmpq $0, (%r11)\n\
                     \x20   jne 2f\n\
                     1:  jmp \"{name}\"@PLT\n\
                     2:  xorl %edi, %edi\n\
                     \x20   leaq .Lsaid{number}(%rip), %rsi\n\
                     \x20   jmp lee_fault_message@PLT\n"
                ),
            ),
            Machine::Aarch64 => (
                "%function",
                format!(
                    "    hint #34\n\
                     \x20   adrp x16, :gottprel:lee_process\n\
                     \x20   ldr x16, [x16, :gottprel_lo12:lee_process]\n\
                     \x20   mrs x17, tpidr_el0\n\
                     \x20   ldr x16, [x17, x16]\n\
                     \x20   cbz x16, 1f\n\
                     \x20   ldr x16, [x16]\n\
                     \x20   cbnz x16, 2f\n\
                     1:  b \"{name}\"\n\
                     2:  mov x0, #0\n\
                     \x20   adrp x1, .Lsaid{number}\n\
                     \x20   add x1, x1, :lo12:.Lsaid{number}\n\
                     \x20   b lee_fault_message\n"
                ),
            ),
        };
        let said = message.replace('\\', "\\\\").replace('"', "\\\"");
        out.push_str(&format!(
            "    .p2align 4\n    .globl {wrapper}\n    .hidden {wrapper}\n    .type {wrapper}, {kind}\n{wrapper}:\n    \
             .cfi_startproc\n{check}    .cfi_endproc\n    .size {wrapper}, . - {wrapper}\n    .section \
             .rodata\n.Lsaid{number}:\n    .asciz \"{said}\"\n    .text\n"
        ));
    }
    let flags = if machine == Machine::X86_64 { "@progbits" } else { "%progbits" };
    out.push_str(&format!("    .section .note.GNU-stack,\"\",{flags}\n"));
    out
}
