//! Objects and archives in which references to some functions go to others.
//!
//! Only names change: those that are new stand after everything else in a copy of the table of
//! names, so nothing in the object moves but that table.

use super::files::{made_by_leeward, member_data, member_place};
use object::read::archive::{ArchiveFile, ArchiveOffset};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

const SYMTAB: u32 = 2;
/// Bytes of a header of a section and of a symbol.
const SECTION: usize = 64;
const SYMBOL: usize = 24;

/// The object, if Leeward compiled it, with other names for undefined symbols; `None` if it has none
/// of them.
pub fn of_leeward(bytes: &[u8], names: &BTreeMap<String, String>) -> Option<Vec<u8>> {
    let file = object::File::parse(bytes).ok()?;
    if made_by_leeward(&file) {
        object(bytes, names)
    } else {
        None
    }
}

fn object(bytes: &[u8], names: &BTreeMap<String, String>) -> Option<Vec<u8>> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let sections = usize::try_from(number(bytes, 0x28, 8)?).ok()?;
    let count = match number(bytes, 0x3c, 2)? {
        0 => number(bytes, sections + 0x20, 8)?,
        count => count,
    };
    let header = |n: usize| sections.checked_add(n.checked_mul(SECTION)?);
    let table = (0..usize::try_from(count).ok()?)
        .filter_map(header)
        .find(|&at| number(bytes, at + 4, 4) == Some(u64::from(SYMTAB)))?;
    let strings = header(usize::try_from(number(bytes, table + 0x28, 4)?).ok()?)?;
    let old = bytes.get(contents(bytes, strings)?)?;
    let mut added = old.to_vec();
    let mut out = bytes.to_vec();
    let symbols = contents(bytes, table)?;
    for at in symbols.clone().step_by(SYMBOL).filter(|at| at + SYMBOL <= symbols.end) {
        let text = old.get(usize::try_from(number(bytes, at, 4)?).ok()?..)?;
        let name = text.split(|&b| b == 0).next().unwrap_or_default();
        let undefined = number(bytes, at + 6, 2)? == 0;
        let new = std::str::from_utf8(name).ok().and_then(|name| names.get(name)).filter(|_| undefined);
        if let Some(new) = new {
            let place = u32::try_from(added.len()).ok()?;
            out.get_mut(at..at + 4)?.copy_from_slice(&place.to_le_bytes());
            added.extend(new.as_bytes());
            added.push(0);
        }
    }
    if added.len() == old.len() {
        return None;
    }
    for (at, value) in [(0x18, out.len()), (0x20, added.len())] {
        out.get_mut(strings + at..strings + at + 8)?.copy_from_slice(&(value as u64).to_le_bytes());
    }
    out.extend(added);
    Some(out)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut all = [0; 8];
    all.get_mut(..size)?.copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    Some(u64::from_le_bytes(all))
}

/// Where a section's bytes are.
fn contents(bytes: &[u8], header: usize) -> Option<Range<usize>> {
    let start = usize::try_from(number(bytes, header + 0x18, 8)?).ok()?;
    let end = start.checked_add(usize::try_from(number(bytes, header + 0x20, 8)?).ok()?)?;
    (end <= bytes.len()).then_some(start..end)
}

/// The archive at `path` with such members in the place of those for which `member` gives one. It
/// holds the bytes of all members, also if the other one only names their files.
pub fn archive(path: &Path, bytes: &[u8], member: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let archive = ArchiveFile::parse(bytes).ok()?;
    let mut body: Vec<u8> = vec![];
    let mut long_names: Vec<u8> = vec![];
    let mut moved: BTreeMap<usize, usize> = BTreeMap::new();
    for found in archive.members() {
        let found = found.ok()?;
        let data = member_data(path, bytes, &found)?;
        let data = member(&data).unwrap_or_else(|| data.into_owned());
        let name = format!("/{}", long_names.len());
        let base = Path::new(std::str::from_utf8(found.name()).unwrap_or("member.o")).file_name().unwrap_or_default();
        long_names.extend(base.as_encoded_bytes());
        long_names.extend(b"/\n");
        moved.insert(member_place(bytes, &found)?, body.len());
        push(&mut body, &name, &data);
    }
    let mut listed: Vec<(usize, &[u8])> = vec![];
    for symbol in archive.symbols().ok().flatten().into_iter().flatten() {
        let symbol = symbol.ok()?;
        let ArchiveOffset(at) = symbol.offset();
        listed.push((*moved.get(&usize::try_from(at).ok()?)?, symbol.name()));
    }
    let mut names = vec![];
    push(&mut names, "//", &long_names);
    let bytes_of_table = 4 + listed.iter().map(|(_, name)| 4 + name.len() + 1).sum::<usize>();
    let start = MAGIC.len() + HEADER + bytes_of_table + bytes_of_table % 2 + names.len();
    let mut table = (listed.len() as u32).to_be_bytes().to_vec();
    for (at, _) in &listed {
        table.extend(u32::try_from(start + at).ok()?.to_be_bytes());
    }
    for (_, name) in &listed {
        table.extend(*name);
        table.push(0);
    }
    let mut out = MAGIC.to_vec();
    push(&mut out, "/", &table);
    out.extend(names);
    out.extend(body);
    Some(out)
}

const MAGIC: &[u8] = b"!<arch>\n";
/// Bytes of the header of a member.
const HEADER: usize = 60;

/// Adds a member; they begin at even places.
fn push(out: &mut Vec<u8>, name: &str, data: &[u8]) {
    out.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).as_bytes());
    out.extend(data);
    out.extend((data.len() % 2 == 1).then_some(b'\n'));
}
