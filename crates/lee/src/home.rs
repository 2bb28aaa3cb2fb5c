//! Where the runtime and the library lie: unpacked from the command itself into a cache, or in `LEE_HOME`.
//!
//! A file in the cache is written under another name and renamed, and each start looks whether all are there with their
//! sizes. So any number of commands may start at once, and what a cleaner removed comes back.

use crate::failure::{Failure, Outcome};
use crate::hash::Hash;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
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
        for cache in caches() {
            let root = cache.join(embedded::HASH);
            match unpack(&root) {
                Ok(()) => return Ok(Home { root, identity: embedded::HASH.to_string() }),
                Err(error) => problem = problem.or(Some(Failure::file("unpack the runtime into", &root, &error))),
            }
        }
        Err(problem.unwrap_or_else(no_cache))
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

    /// The headers that stand in front of the system's.
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

/// Places for what is made from an installation, best first: the user's cache, and a folder for temporary files that nobody
/// else can write to, which is looked at only when the first will not do.
pub fn caches() -> impl Iterator<Item = PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("lee")).into_iter().chain(std::iter::once_with(private_temporary).flatten())
}

/// What to say when there are none.
pub fn no_cache() -> Failure {
    Failure::error("no folder for the compiled runtime: set XDG_CACHE_HOME or TMPDIR to one that can be written")
}

/// `lee-UID` in the folder for temporary files, if it is ours alone; else a fresh one.
fn private_temporary() -> Option<PathBuf> {
    // SAFETY: getuid has no preconditions and always succeeds.
    let user = unsafe { libc::getuid() };
    let shared = env::temp_dir().join(format!("lee-{user}"));
    let _ = fs::DirBuilder::new().mode(0o700).create(&shared);
    let ours = fs::symlink_metadata(&shared).is_ok_and(|m| m.is_dir() && m.uid() == user && m.mode() & 0o077 == 0);
    if ours {
        Some(shared)
    } else {
        let own = env::temp_dir().join(format!("lee-{user}-{}", std::process::id()));
        fs::DirBuilder::new().mode(0o700).create(&own).ok().map(|()| own)
    }
}

/// Makes sure that every embedded file lies below `root`.
fn unpack(root: &Path) -> io::Result<()> {
    for (path, bytes) in embedded::HOME {
        let file = root.join(path);
        if !fs::metadata(&file).is_ok_and(|m| m.is_file() && m.len() == bytes.len() as u64) {
            write_whole(&file, bytes)?;
        }
    }
    Ok(())
}

/// Writes a file so that it is there with all its bytes or not at all.
pub fn write_whole(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let other = beside(file);
    let written = fs::write(&other, bytes).and_then(|()| fs::rename(&other, file));
    if written.is_err() {
        let _ = fs::remove_file(&other);
    }
    written
}

/// A name in the same folder that no other command uses.
pub fn beside(file: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut name = file.file_name().unwrap_or(OsStr::new("file")).to_os_string();
    name.push(format!(".{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    file.with_file_name(name)
}
