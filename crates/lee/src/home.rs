//! Where the runtime and the library are: unpacked from the command itself into a cache, or in
//! `LEE_HOME`.
//!
//! A file in the cache is written under another name and renamed, and each start compares all with
//! what is embedded. So any number of commands may start at once, and what was removed or damaged
//! comes back.

use crate::cache;
use crate::failure::{Failure, Outcome};
use crate::hash::Hash;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, io};

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

pub use embedded::PAGES;

/// An installation.
#[derive(Debug, Clone)]
pub struct Home {
    /// Has `runtime/` and `library/`.
    pub root: PathBuf,
    /// Names the content of `root`.
    pub identity: String,
}

impl Home {
    /// Finds or unpacks the files.
    pub fn open() -> Outcome<Home> {
        if let Some(root) = env::var_os("LEE_HOME").filter(|v| !v.is_empty()) {
            return Home::at(PathBuf::from(root));
        }
        let mut problem = None;
        for cache in cache::places() {
            let root = cache.join(embedded::HASH);
            match unpack(&root) {
                Ok(()) => return Ok(Home { root, identity: embedded::HASH.to_string() }),
                Err(error) => problem = problem.or(Some(Failure::file("unpack the runtime into", &root, &error))),
            }
        }
        Err(problem.unwrap_or_else(cache::none))
    }

    /// An installation that the user names.
    fn at(root: PathBuf) -> Outcome<Home> {
        let root = root.canonicalize().map_err(|e| Failure::file("use LEE_HOME", &root, &e))?;
        if !root.join("runtime/include/lee/lee.h").is_file() {
            return Err(Failure::error(format!(
                "LEE_HOME is '{}', which has no runtime/include/lee/lee.h",
                root.display()
            )));
        }
        let mut hash = Hash::default();
        for part in ["runtime/include", "runtime/src", "library"] {
            let mut files = vec![];
            files_below(&root.join(part), &mut files);
            for file in files {
                hash.field(file.as_os_str().as_encoded_bytes());
                if let Ok(meta) = file.metadata() {
                    hash.field(&meta.len().to_le_bytes());
                    hash.field(&meta.mtime_nsec().to_le_bytes());
                    hash.field(&meta.mtime().to_le_bytes());
                }
            }
        }
        Ok(Home { root, identity: hash.name() })
    }

    /// The headers that stand before the system's.
    pub fn library_headers(&self) -> PathBuf {
        self.root.join("library/include")
    }

    /// Foreign functions that have no checked type, each with what to use instead.
    pub fn advice(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.root.join("library/unsafe.txt")).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        lines.map(|(name, advice)| (name.to_string(), advice.to_string())).collect()
    }

    /// What emitted C includes.
    pub fn runtime_headers(&self) -> PathBuf {
        self.root.join("runtime/include")
    }
}

/// All files below `folder`, in a fixed order; none if it is not there.
pub fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// Makes sure that every embedded file lies below `root`, byte for byte: a cache may have been
/// damaged.
fn unpack(root: &Path) -> io::Result<()> {
    for (path, bytes) in embedded::HOME {
        let file = root.join(path);
        if !fs::read(&file).is_ok_and(|found| found == *bytes) {
            cache::write_whole(&file, bytes)?;
        }
    }
    cache::mark_used(root);
    Ok(())
}
