//! A copy of the files named, in which edits are tried: the user's own change once, at the end.
//!
//! The scratch folder has the same tree as the file system from the root on: folders that lead to a
//! file named are real, everything beside them is a link. So `#include "../x.h"` finds what it
//! finds in the user's tree.

use crate::failure::{Failure, Outcome};
use crate::scratch::Scratch;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

/// A file named.
pub struct Named {
    /// As the user named it.
    pub name: PathBuf,
    /// Without links and `..`.
    pub real: PathBuf,
    /// Its copy.
    pub copy: PathBuf,
    /// What was in it at first.
    pub original: Vec<u8>,
    /// What is in it now.
    pub text: Vec<u8>,
    /// Whether the user may write it.
    pub writable: bool,
}

/// The copies.
pub struct Mirror {
    /// The root of the copy.
    root: PathBuf,
    /// The files named, each once.
    pub files: Vec<Named>,
    _scratch: Scratch,
}

impl Mirror {
    /// Copies the files. `copied_as` gives the name of a copy, where it has another.
    pub fn new(names: &[PathBuf], copied_as: &dyn Fn(&Path) -> PathBuf) -> Outcome<Mirror> {
        let scratch = Scratch::new()?;
        let root = fs::canonicalize(scratch.path()).map_err(|e| Failure::file("read", scratch.path(), &e))?;
        let mut mirror = Mirror { root, files: vec![], _scratch: scratch };
        for name in names {
            let real = fs::canonicalize(name).map_err(|e| Failure::file("read", name, &e))?;
            if mirror.files.iter().any(|f| f.real == real) {
                continue;
            }
            let original = fs::read(&real).map_err(|e| Failure::file("read", name, &e))?;
            // Root may open what no user has permission to write; it is left alone all the same.
            let locked = fs::metadata(&real).is_ok_and(|m| m.permissions().readonly());
            let writable = !locked && fs::OpenOptions::new().append(true).open(&real).is_ok();
            let copy = mirror.inside(&copied_as(&real));
            if let Some(other) = mirror.files.iter().find(|f| f.copy == copy) {
                let (a, b) = (other.name.display(), name.display());
                return Err(Failure::error(format!("'{a}' and '{b}' would have the same name")));
            }
            let text = original.clone();
            mirror.files.push(Named { name: name.clone(), real, copy, original, text, writable });
        }
        mirror.build().map_err(|e| Failure::file("copy the files to", &mirror.root.clone(), &e))?;
        Ok(mirror)
    }

    /// The place of an absolute path in the copy.
    fn inside(&self, path: &Path) -> PathBuf {
        let mut inside = self.root.clone();
        inside.extend(path.components().filter(|c| matches!(c, Component::Normal(_))));
        inside
    }

    fn build(&self) -> io::Result<()> {
        let mut folders: Vec<PathBuf> = vec![];
        for file in &self.files {
            folders.extend(file.real.ancestors().skip(1).map(Path::to_path_buf));
        }
        folders.sort();
        folders.dedup();
        for folder in &folders {
            fs::create_dir_all(self.inside(folder))?;
        }
        for folder in &folders {
            // What cannot be listed can still be used by name only if it is not asked for here.
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let link = self.inside(&entry.path());
                if !folders.contains(&entry.path()) && !link.exists() {
                    symlink(entry.path(), link)?;
                }
            }
        }
        for file in &self.files {
            let old = self.inside(&file.real);
            let _ = fs::remove_file(&old);
            let _ = fs::remove_file(&file.copy);
            fs::write(&file.copy, &file.text)?;
        }
        Ok(())
    }

    /// Preprocessor options with the folders of the copy.
    pub fn options(&self, options: &[OsString]) -> Vec<OsString> {
        let mut all = vec![];
        let mut takes_path = false;
        for option in options {
            let text = option.to_string_lossy().into_owned();
            let (flag, path) = match text.strip_prefix("-I") {
                Some(path) => ("-I", path),
                None if takes_path => ("", text.as_str()),
                None => ("-", ""),
            };
            takes_path = text == "-include" || text == "-isystem";
            let mirrored = fs::canonicalize(path).ok().map(|real| self.inside(&real));
            let mirrored =
                mirrored.filter(|p| flag != "-" && fs::canonicalize(p).is_ok_and(|p| p.starts_with(&self.root)));
            match mirrored {
                Some(path) => {
                    let mut word = OsString::from(flag);
                    word.push(path);
                    all.push(word);
                }
                None => all.push(option.clone()),
            }
        }
        all
    }

    /// The file named that a line marker means.
    pub fn find(&self, marked: &str) -> Option<usize> {
        let path = Path::new(marked);
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        self.files.iter().position(|f| f.copy == real || f.real == real)
    }

    /// Gives the copies these texts. Returns which files changed.
    pub fn put(&mut self, texts: Vec<Vec<u8>>) -> Outcome<BTreeSet<usize>> {
        let mut changed = BTreeSet::new();
        for (n, (file, text)) in self.files.iter_mut().zip(texts).enumerate() {
            if file.text != text {
                fs::write(&file.copy, &text).map_err(|e| Failure::file("write", &file.copy, &e))?;
                file.text = text;
                changed.insert(n);
            }
        }
        Ok(changed)
    }

    /// What is in the copies.
    pub fn texts(&self) -> Vec<Vec<u8>> {
        self.files.iter().map(|f| f.text.clone()).collect()
    }

    /// A name for people, where a message has one of the copy. `named` gives the name that a file
    /// named has by now.
    pub fn shown(&self, text: &str, named: &dyn Fn(&Path) -> PathBuf) -> String {
        let mut out = text.to_string();
        for file in &self.files {
            out = out.replace(&*file.copy.to_string_lossy(), &named(&file.name).to_string_lossy());
        }
        out.replace(&*self.root.to_string_lossy(), "")
    }
}
