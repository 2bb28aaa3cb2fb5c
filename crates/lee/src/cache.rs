//! The cache: where it lies, how files get into it, and what is removed from it. docs/cache.md is
//! its page for users.
//!
//! `HASH/` has the unpacked runtime and library of one version of the command, `runtimes/HASH/` one
//! compiled runtime, `objects/` what `objects.rs` keeps. The first two have a file `used`, whose
//! modification time is at most a day before the last use.

use crate::failure::Failure;
use crate::hash::Hash;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};
use std::{env, io};

/// How exactly the time of the last use is noted.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// What was not used for so long is removed.
pub const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Places for what is made from an installation, best first: the user's cache, and a folder for
/// temporary files that only this user can write to, which is tried only when the first cannot be
/// used. A home directory that does not exist is not made.
pub fn places() -> impl Iterator<Item = PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || absolute("HOME").filter(|home| home.is_dir()).map(|home| home.join(".cache"));
    let cache = absolute("XDG_CACHE_HOME").or_else(home);
    cache.map(|cache| cache.join("lee")).into_iter().chain(std::iter::once_with(private_temporary).flatten())
}

/// What to say when there are none.
pub fn none() -> Failure {
    Failure::error("no folder for the compiled runtime: set XDG_CACHE_HOME or TMPDIR to one that can be written")
}

/// `lee-UID` in the folder for temporary files, if it is ours alone; else one of this process.
fn private_temporary() -> Option<PathBuf> {
    // SAFETY: getuid has no preconditions and always succeeds.
    let user = unsafe { libc::getuid() };
    let names = [format!("lee-{user}"), format!("lee-{user}-{}", std::process::id())];
    names.into_iter().map(|name| env::temp_dir().join(name)).find(|folder| {
        let _ = fs::DirBuilder::new().mode(0o700).create(folder);
        fs::symlink_metadata(folder).is_ok_and(|m| m.is_dir() && m.uid() == user && m.mode() & 0o077 == 0)
    })
}

/// The hash of a file's bytes, which tells one that was damaged.
pub fn sum_of(bytes: &[u8]) -> String {
    let mut hash = Hash::default();
    hash.field(bytes);
    hash.name()
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

/// Notes that a folder of the cache is in use. A cache that cannot be written is used all the same.
pub fn mark_used(folder: &Path) {
    let file = folder.join("used");
    if age(&file).is_none_or(|age| age > DAY) {
        let _ = fs::write(&file, "");
    }
}

/// Removes from the cache `place` what no command has used for a month. Commands that run at the
/// same time have marked what they use.
pub fn clean(place: &Path) {
    for parent in [place.to_path_buf(), place.join("runtimes")] {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        for folder in entries.map(|entry| entry.path()).filter(|path| path.is_dir() && path.join("used").is_file()) {
            if age(&folder.join("used")).is_some_and(|age| age > KEPT) {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }
}

/// How long ago the file was written; none if it is not there, or from the future.
pub fn age(file: &Path) -> Option<Duration> {
    SystemTime::now().duration_since(file.metadata().ok()?.modified().ok()?).ok()
}
