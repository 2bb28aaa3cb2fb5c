//! The system's preprocessor, for the advisor.

use crate::failure::Outcome;
use crate::scratch::Scratch;
use crate::session::protected;
use crate::toolchain::{Compiler, Family};
use advise::unit::{Preprocessor, Source};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The C compiler as a preprocessor.
pub struct System<'a> {
    compiler: &'a Compiler,
    scratch: Scratch,
    /// Numbers of files in the scratch folder.
    next: AtomicUsize,
}

impl<'a> System<'a> {
    /// With a folder of its own for changed texts.
    pub fn new(compiler: &'a Compiler) -> Outcome<System<'a>> {
        Ok(System { compiler, scratch: Scratch::new()?, next: AtomicUsize::new(0) })
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
    fn preprocess(&self, source: &Source, text: Option<&str>, log: bool) -> io::Result<Result<Vec<u8>, String>> {
        if log && self.compiler.family != Family::Gcc {
            return Ok(Err("the origins of tokens are known from gcc alone: name it with --cc gcc".into()));
        }
        let mut command = self.compiler.command();
        command.arg("-E").env("LC_ALL", "C").stdin(Stdio::null());
        let flags = for_reading(&source.flags);
        if !flags.iter().any(|f| f.to_string_lossy().starts_with("-std=") || f == "-ansi") {
            command.arg("-std=gnu17");
        }
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
        let output = output?;
        if output.status.success() {
            return Ok(Ok(output.stdout));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().find(|l| l.contains("error")).or_else(|| said.lines().next()).unwrap_or("");
        Ok(Err(format!("the preprocessor says: {first}")))
    }
}
