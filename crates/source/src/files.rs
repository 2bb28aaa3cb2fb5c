//! Where the texts of files come from: a disk, or memory for tests and editors.

use rustc_hash::FxHashMap;
use std::sync::Mutex;

/// Gives the text of a file by the name that a line marker has for it.
pub trait Files: Send + Sync {
    /// The text, if there is one. Bytes that are not UTF-8 may be replaced: the text is for columns
    /// and for showing.
    fn read(&self, path: &str) -> Option<String>;
}

/// Files of the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

/// No file may be larger: a preprocessed text is not either.
const LARGEST: u64 = 1 << 30;

impl Files for Disk {
    fn read(&self, path: &str) -> Option<String> {
        let about = std::fs::metadata(path).ok()?;
        if !about.is_file() || about.len() > LARGEST {
            return None;
        }
        std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Files in memory.
#[derive(Debug, Default)]
pub struct Memory {
    texts: Mutex<FxHashMap<String, String>>,
}

impl Memory {
    /// Adds a file, or replaces its text.
    pub fn insert(&self, path: impl Into<String>, text: impl Into<String>) {
        if let Ok(mut texts) = self.texts.lock() {
            texts.insert(path.into(), text.into());
        }
    }
}

impl Files for Memory {
    fn read(&self, path: &str) -> Option<String> {
        self.texts.lock().ok()?.get(path).cloned()
    }
}
