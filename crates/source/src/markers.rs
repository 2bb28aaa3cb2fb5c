//! The preprocessor's line markers: `# LINE "FILE" FLAGS`.

use rustc_hash::FxHashMap;

/// A stretch of text after one line marker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    /// First byte.
    pub lo: u32,
    /// Index of the file.
    pub file: u32,
    /// Line of the first byte.
    pub line: u32,
    /// Index of the entry that the file was reached by.
    pub entry: u32,
}

/// One entering of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Entered as a system header. What a line inside says (flag 3 on a system macro's expansion)
    /// does not matter.
    pub system: bool,
    /// File, line and entry of the `#include`.
    pub from: Option<(u32, u32, u32)>,
}

/// What the markers of a text say.
pub(crate) struct Markers {
    pub files: Vec<String>,
    pub segments: Vec<Segment>,
    pub entries: Vec<Entry>,
}

/// Whether a line is a marker or directive.
pub(crate) fn is_marker(line: &str) -> bool {
    line.starts_with('#')
}

/// Reads all markers of `text`.
pub(crate) fn read(name: &str, text: &str) -> Markers {
    let mut read = Markers {
        files: vec![name.to_string()],
        segments: vec![Segment { lo: 0, file: 0, line: 1, entry: 0 }],
        entries: vec![Entry { system: false, from: None }],
    };
    let mut ids: FxHashMap<String, u32> = FxHashMap::default();
    ids.insert(name.to_string(), 0);
    let mut offset = 0;
    // Line of the user's file at `offset`, for the places of `#include`.
    let mut line_number = 1u32;
    for line in text.split_inclusive('\n') {
        let next = offset + line.len();
        offset = next;
        let Some((number, file, flags)) = marker(line) else {
            line_number = line_number.saturating_add(1);
            continue;
        };
        let id = *ids.entry(file).or_insert_with_key(|file| {
            read.files.push(file.clone());
            (read.files.len() - 1) as u32
        });
        let current = read.segments.last().copied().unwrap_or_default();
        let entry = if flags.enter {
            // The marker stands in place of the `#include` line.
            let from = Some((current.file, line_number.max(1), current.entry));
            read.entries.push(Entry { system: flags.system, from });
            (read.entries.len() - 1) as u32
        } else if flags.leave {
            parent(&read, current.entry)
        } else {
            current.entry
        };
        line_number = number;
        read.segments.push(Segment { lo: next as u32, file: id, line: number, entry });
    }
    read
}

fn parent(read: &Markers, entry: u32) -> u32 {
    read.entries.get(entry as usize).and_then(|e| e.from).map_or(0, |from| from.2)
}

struct Flags {
    enter: bool,
    leave: bool,
    system: bool,
}

/// Parses a line marker.
fn marker(line: &str) -> Option<(u32, String, Flags)> {
    let rest = line.strip_prefix('#')?;
    let rest = rest.strip_prefix("line").unwrap_or(rest).trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest.get(..digits)?.parse().ok()?;
    let rest = rest.get(digits..)?.trim_start().strip_prefix('"')?;
    let mut name = String::new();
    let mut chars = rest.char_indices();
    let mut end = None;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                end = Some(at + 1);
                break;
            }
            '\\' => name.extend(chars.next().map(|(_, c)| c)),
            _ => name.push(c),
        }
    }
    let mut flags = Flags { enter: false, leave: false, system: false };
    for flag in rest.get(end?..)?.split_whitespace() {
        match flag {
            "1" => flags.enter = true,
            "2" => flags.leave = true,
            "3" => flags.system = true,
            _ => {}
        }
    }
    Some((number, name, flags))
}
