//! Objects of files that have not changed: kept in the cache, by all that they are made of.
//! docs/cache.md is their page for users.
//!
//! The name is a hash of the preprocessed text, of what the passes and the C compiler are told, and
//! of which compilers they are. Only files with nothing to report are kept: a warning is printed
//! each time.

use crate::cache::{sum_of, DAY, KEPT};
use crate::pipeline::Settings;
use crate::session::Session;
use crate::{cache, object};
use source::SourceMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// First in each file: the form, then whether the object spawns processes, then a hash of the rest.
const MAGIC: &str = "lee object 1 ";
/// Bytes of all objects together, after each cleaning.
const MOST: u64 = 1 << 30;

/// Where the object of a file is, or will be.
pub struct Place {
    file: PathBuf,
}

/// The place of what is made of a text. None if objects are not kept, or if the text makes the
/// assembler or the C compiler read files of which we know nothing.
pub fn place(session: &Session, map: &SourceMap, settings: &Settings) -> Option<Place> {
    let reads_files = [".incbin", ".include", "#embed"].iter().any(|word| map.text.contains(word));
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    // Who asks for the verifier wants it to run.
    let off = set("LEE_CACHE").is_some_and(|v| v == "off") || set("LEE_VERIFY").is_some();
    if off || reads_files || session.options.time_passes {
        return None;
    }
    let mut name = Name::new();
    let own = std::env::current_exe().ok()?;
    let meta = own.metadata().ok()?;
    name.field(own.as_os_str().as_encoded_bytes());
    for number in [meta.len() as i64, meta.mtime(), meta.mtime_nsec()] {
        name.field(&number.to_le_bytes());
    }
    name.field(session.home.identity.as_bytes());
    name.field(session.home.root.as_os_str().as_encoded_bytes());
    name.field(session.compiler.identity.as_bytes());
    for word in object::words(session) {
        name.field(word.as_encoded_bytes());
    }
    // Of the current folder, debug information tells; of the variables, what a test switches off.
    name.field(std::env::current_dir().ok()?.as_os_str().as_encoded_bytes());
    for variable in ["LEE_BREAK", "LEE_ADVISE_WITHOUT"] {
        name.field(set(variable).unwrap_or_else(OsString::new).as_encoded_bytes());
    }
    name.field(format!("{settings:?}").as_bytes());
    name.field(map.text.as_bytes());
    let folder = cache::places().next()?.join("objects");
    Some(Place { file: folder.join(name.finish()) })
}

impl Place {
    /// Puts the object that is kept to `output`, and says whether it spawns processes.
    pub fn fetch(&self, output: &Path) -> Option<bool> {
        let bytes = fs::read(&self.file).ok()?;
        let end = bytes.iter().position(|&b| b == b'\n')?;
        let (head, object) = (std::str::from_utf8(bytes.get(..end)?).ok()?, bytes.get(end + 1..)?);
        let (spawns, sum) = head.strip_prefix(MAGIC)?.split_once(' ')?;
        if sum != sum_of(object) {
            return None;
        }
        fs::write(output, object).ok()?;
        // A day is as exact as cleaning has to be.
        if cache::age(&self.file).is_none_or(|age| age > DAY) {
            let _ = fs::File::options().append(true).open(&self.file).and_then(|f| f.set_modified(SystemTime::now()));
        }
        Some(spawns == "1")
    }

    /// Keeps an object. A cache that cannot be written keeps nothing.
    pub fn keep(&self, object: &Path, spawns: bool) {
        let Ok(bytes) = fs::read(object) else { return };
        let mut all = format!("{MAGIC}{} {}\n", u8::from(spawns), sum_of(&bytes)).into_bytes();
        all.extend(bytes);
        if cache::write_whole(&self.file, &all).is_ok() {
            // Names are evenly distributed: one of 256 looks at the size of all, too.
            let often = self.file.as_os_str().as_encoded_bytes().ends_with(b"00");
            self.file.parent().into_iter().for_each(|folder| clean(folder, often));
        }
    }
}

/// Once a day, or now: removes what was not used for a month, and the oldest if there is too much.
fn clean(folder: &Path, now: bool) {
    let stamp = folder.join("cleaned");
    if !now && cache::age(&stamp).is_some_and(|age| age < DAY) || fs::write(&stamp, "").is_err() {
        return;
    }
    let mut all: Vec<(Duration, u64, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let (path, meta) = (entry.path(), entry.metadata().ok()?);
            Some((cache::age(&path).unwrap_or_default(), meta.len(), path))
        })
        .filter(|(_, _, path)| *path != stamp)
        .collect();
    all.sort();
    let mut sum = 0;
    for (age, bytes, path) in all {
        sum += bytes;
        if age > KEPT || sum > MOST {
            let _ = fs::remove_file(path);
        }
    }
}

/// A name of 128 bits. An equal name of another text would be a wrong program, so the hash is one
/// without simple collisions: SipHash, twice.
struct Name {
    halves: [DefaultHasher; 2],
}

impl Name {
    fn new() -> Name {
        let mut halves = [DefaultHasher::new(), DefaultHasher::new()];
        halves.iter_mut().zip(*b"lr").for_each(|(half, key)| half.write_u8(key));
        Name { halves }
    }

    fn field(&mut self, bytes: &[u8]) {
        for half in &mut self.halves {
            half.write_usize(bytes.len());
            half.write(bytes);
        }
    }

    fn finish(&self) -> String {
        self.halves.iter().map(|half| format!("{:016x}", half.finish())).collect()
    }
}
