//! A folder for the files of one run of the command.

use crate::failure::{Failure, Outcome};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Removed with all that is in it when dropped.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A fresh folder that only this user can read.
    pub fn new() -> Outcome<Scratch> {
        let mut problem = None;
        for number in 0..100 {
            let path = env::temp_dir().join(format!("lee-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Scratch { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    problem = Some(Failure::file("make the folder", &path, &error));
                    break;
                }
            }
        }
        Err(problem.unwrap_or_else(|| Failure::error("no name is free in the folder for temporary files")))
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
