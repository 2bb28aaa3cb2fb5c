//! The system's preprocessor, for the advisor.

use crate::failure::Outcome;
use crate::scratch::Scratch;
use crate::session::protected;
use crate::toolchain::{Compiler, Family};
use advise::unit::{Preprocessor, Source};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The C compiler as a preprocessor.
pub struct System<'a> {
    compiler: &'a Compiler,
    scratch: Scratch,
    /// Numbers of files in the scratch folder.
    next: AtomicUsize,
    /// The last mirror: a patch is tried on many sources.
    mirror: Mutex<Option<Arc<Mirror>>>,
}

impl<'a> System<'a> {
    /// With a folder of its own for changed texts.
    pub fn new(compiler: &'a Compiler) -> Outcome<System<'a>> {
        Ok(System { compiler, scratch: Scratch::new()?, next: AtomicUsize::new(0), mirror: Mutex::default() })
    }
}

/// Options that ask the C compiler to write something, or to compile: the preprocessor does not
/// need them. The second is the number of words that follow.
const NOT_FOR_READING: &[(&str, usize)] = &[
    ("-c", 0),
    ("-S", 0),
    ("-E", 0),
    ("-o", 1),
    ("-MD", 0),
    ("-MMD", 0),
    ("-MP", 0),
    ("-MF", 1),
    ("-MT", 1),
    ("-MQ", 1),
    ("-M", 0),
    ("-MM", 0),
    ("-P", 0),
];

/// The flags that matter to reading.
pub fn for_reading(flags: &[OsString]) -> Vec<OsString> {
    let mut kept = vec![];
    let mut skip = 0;
    for flag in flags {
        let text = flag.to_string_lossy();
        if skip > 0 {
            skip -= 1;
        } else if let Some((_, more)) = NOT_FOR_READING.iter().find(|(name, _)| *name == text) {
            skip = *more;
        } else if !(text.starts_with("-g") || text.starts_with("-MF") || text.starts_with("-o") && text.len() > 2) {
            kept.push(flag.clone());
        }
    }
    kept
}

impl Preprocessor for System<'_> {
    fn preprocess(
        &self,
        source: &Source,
        texts: &[(PathBuf, String)],
        log: bool,
    ) -> io::Result<Result<Vec<u8>, String>> {
        let text = match texts {
            [] => None,
            [(path, text)] if *path == source.path() => Some(text),
            _ => return self.mirrored(source, texts),
        };
        if log && self.compiler.family != Family::Gcc {
            return Ok(Err("the origins of tokens are known from gcc alone: name it with --cc gcc".into()));
        }
        let (mut command, flags) = self.command(source);
        if log {
            command.args(["-fdebug-cpp", "-ftrack-macro-expansion=2"]);
        }
        if let Some(folder) = &source.folder {
            command.current_dir(folder);
        }
        let written = match text {
            None => None,
            Some(text) => {
                // A folder of its own, so that `#include "x.h"` finds what it finds beside the
                // source.
                let folder = self.scratch.file(&self.next.fetch_add(1, Ordering::Relaxed).to_string());
                std::fs::create_dir(&folder)?;
                let file = folder.join(source.file.file_name().unwrap_or_default());
                let name = source.file.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
                std::fs::write(&file, advise::edits::encode(&format!("#line 1 \"{name}\"\n{text}")))?;
                let beside = source.file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                command.arg("-iquote").arg(beside);
                Some((folder, file))
            }
        };
        command.args(flags).args(["-w", "-x", "c"]);
        command.arg(protected(written.as_ref().map_or(&source.file, |w| &w.1)));
        let output = command.output();
        if let Some((folder, _)) = written {
            // What stays is removed with the scratch folder.
            let _ = std::fs::remove_dir_all(folder);
        }
        Ok(said(output?))
    }
}

impl System<'_> {
    /// The preprocessor, and the flags of the source that matter to it.
    fn command(&self, source: &Source) -> (Command, Vec<OsString>) {
        let mut command = self.compiler.command();
        command.arg("-E").env("LC_ALL", "C").stdin(Stdio::null());
        let flags = for_reading(&source.flags);
        if !flags.iter().any(|f| f.to_string_lossy().starts_with("-std=") || f == "-ansi") {
            command.arg("-std=gnu17");
        }
        (command, flags)
    }

    /// The preprocessed text with changed files, headers among them: in a mirror of the file
    /// system, where these files have their texts and all else is linked to.
    fn mirrored(&self, source: &Source, texts: &[(PathBuf, String)]) -> io::Result<Result<Vec<u8>, String>> {
        let folder = source.folder.clone().unwrap_or(PathBuf::from(".")).canonicalize()?;
        let mirror = self.mirror_of(texts)?;
        mirror.open(&folder)?;
        let (mut command, flags) = self.command(source);
        let moved = flags.iter().map(|flag| mirror.flag(flag));
        command.current_dir(mirror.of(&folder)).args(moved).args(["-w", "-x", "c"]);
        let file = if source.file.is_absolute() { mirror.of(&source.file) } else { source.file.clone() };
        command.arg(protected(&file));
        Ok(said(command.output()?).map(|text| mirror.hidden(text)))
    }
}

impl System<'_> {
    /// The mirror in which files have these texts.
    fn mirror_of(&self, texts: &[(PathBuf, String)]) -> io::Result<Arc<Mirror>> {
        let mut slot = match self.mirror.lock() {
            Ok(slot) => slot,
            // A thread that ended badly ends the run when it is joined.
            Err(poisoned) => poisoned.into_inner(),
        };
        if let Some(mirror) = slot.as_ref().filter(|m| m.texts == texts) {
            return Ok(Arc::clone(mirror));
        }
        let root = self.scratch.file(&self.next.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&root)?;
        let mirror = Mirror { root, texts: texts.to_vec() };
        for (path, text) in texts {
            let path = path.canonicalize()?;
            mirror.open(path.parent().unwrap_or(Path::new("/")))?;
            let own = mirror.of(&path);
            std::fs::remove_file(&own)?;
            std::fs::write(own, advise::edits::encode(text))?;
        }
        Ok(Arc::clone(slot.insert(Arc::new(mirror))))
    }
}

/// A folder that stands for the root of the file system. Removed at the end.
struct Mirror {
    root: PathBuf,
    /// Files with their texts there.
    texts: Vec<(PathBuf, String)>,
}

impl Drop for Mirror {
    fn drop(&mut self) {
        // What stays is removed with the scratch folder.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl Mirror {
    /// Where an absolute path is.
    fn of(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Makes the folder a real one, with links to what is in it. `folder` is canonical.
    fn open(&self, folder: &Path) -> io::Result<()> {
        let mut all: Vec<&Path> = folder.ancestors().collect();
        all.reverse();
        for folder in all {
            let own = self.of(folder);
            let opened = std::fs::symlink_metadata(&own).is_ok_and(|m| m.is_dir()) && folder != Path::new("/");
            if opened || folder == Path::new("/") && std::fs::read_dir(&own)?.next().is_some() {
                continue;
            }
            if std::fs::symlink_metadata(&own).is_ok_and(|m| m.is_symlink()) {
                std::fs::remove_file(&own)?;
                std::fs::create_dir(&own)?;
            }
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                std::os::unix::fs::symlink(entry.path(), own.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// A flag with an absolute path, `-I/path` or `/path`, that leads into the mirror.
    fn flag(&self, flag: &OsString) -> OsString {
        let text = flag.to_string_lossy();
        let (option, path) = text.find('/').map_or((&*text, ""), |at| text.split_at(at));
        let is_path = path.len() > 1 && (option.is_empty() || option.starts_with("-I") && option.len() == 2);
        match is_path || path.len() > 1 && matches!(option, "-iquote" | "-isystem") {
            true => format!("{option}{}", self.of(Path::new(path)).display()).into(),
            false => flag.clone(),
        }
    }

    /// The text without the name of the mirror.
    fn hidden(&self, text: Vec<u8>) -> Vec<u8> {
        let own = self.root.as_os_str().as_encoded_bytes();
        let mut out = Vec::with_capacity(text.len());
        let mut rest = &text[..];
        while let Some(at) = rest.windows(own.len()).position(|w| w == own) {
            let (before, from) = rest.split_at(at);
            out.extend_from_slice(before);
            rest = from.get(own.len()..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
        out
    }
}

/// What the preprocessor wrote, or its first error.
fn said(output: Output) -> Result<Vec<u8>, String> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|l| l.contains("error")).or_else(|| said.lines().next()).unwrap_or("");
    Err(format!("the preprocessor says: {first}"))
}
