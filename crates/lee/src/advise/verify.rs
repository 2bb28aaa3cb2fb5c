//! `--verify` and `--measure`: patches are tried in a copy of the current folder, and what they
//! save is counted.

use crate::failure::{Failure, Outcome};
use crate::report;
use crate::scratch::Scratch;
use crate::toolchain::Compiler;
use advise::edits::{applied, decode, encode, FileEdits, Patch};
use advise::finding::Finding;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Counts calls of the allocator in every process it is loaded into, and adds the number to the
/// file `LEE_COUNT` at exit.
const COUNTER: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static unsigned long calls;
static void count(void) { __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED); }
void *malloc(size_t n) { count(); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { count(); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { count(); return __libc_realloc(p, n); }
__attribute__((destructor)) static void write_down(void) {
    char text[32];
    const char *name = getenv("LEE_COUNT");
    int fd = name ? open(name, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    int n = snprintf(text, sizeof text, "%lu\n", calls);
    if (fd >= 0 && write(fd, text, (size_t)n) == n) close(fd);
}
"#;

/// A copy of the current folder.
struct Copy {
    scratch: Scratch,
    folder: PathBuf,
}

impl Copy {
    fn new() -> Outcome<Copy> {
        let scratch = Scratch::new()?;
        let folder = scratch.file("copy");
        let done = Command::new("cp").arg("-a").arg(".").arg(&folder).stdin(Stdio::null()).status();
        match done {
            Ok(status) if status.success() => Ok(Copy { scratch, folder }),
            _ => Err(Failure::error("the current folder could not be copied for --verify")),
        }
    }

    /// The file in the copy; `None` if it is outside of the current folder.
    fn file(&self, file: &Path) -> Option<PathBuf> {
        let here = std::env::current_dir().ok()?.canonicalize().ok()?;
        let full = file.canonicalize().ok()?;
        Some(self.folder.join(full.strip_prefix(&here).ok()?))
    }

    /// Runs the command; what it said if it failed.
    fn run(&self, command: &str) -> Result<(), String> {
        let output = Command::new("sh").arg("-c").arg(command).current_dir(&self.folder).stdin(Stdio::null()).output();
        let output = output.map_err(|e| format!("sh cannot be run: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        let all = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&all).into_owned();
        let last = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("").to_string();
        Err(format!("{}: {last}", output.status))
    }

    /// Applies the patch to all of its files, and gives the texts that they had.
    fn apply(&self, patch: &Patch) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
        let mut before = vec![];
        for file in &patch.files {
            match self.apply_to(file) {
                Ok(old) => before.push(old),
                Err(why) => {
                    restore(before)?;
                    return Err(why);
                }
            }
        }
        Ok(before)
    }

    /// Applies the changes of a file, and gives the text that it had.
    fn apply_to(&self, patch: &FileEdits) -> Result<(PathBuf, Vec<u8>), String> {
        let file = self.file(&patch.file).ok_or("the file is outside of the current folder")?;
        let before = std::fs::read(&file).map_err(|e| e.to_string())?;
        let after = applied(&decode(&before), &patch.edits).ok_or("it does not fit the file")?;
        std::fs::write(&file, encode(&after)).map_err(|e| e.to_string())?;
        Ok((file, before))
    }
}

/// Gives files back the texts that they had.
fn restore(before: Vec<(PathBuf, Vec<u8>)>) -> Result<(), String> {
    before.into_iter().try_for_each(|(file, text)| std::fs::write(file, text).map_err(|e| e.to_string()))
}

/// Keeps the patches with which the command succeeds, each tried alone. The others lose their
/// patch, with the reason.
///
/// Errors: the command fails without any patch, or with all that were kept.
pub fn verify(findings: &mut [Finding], command: &str) -> Outcome<()> {
    let copy = Copy::new()?;
    copy.run(command).map_err(|why| {
        Failure::error(format!("'{command}' fails without any patch ({why}): --verify needs a command that passes"))
    })?;
    let mut kept = 0;
    for finding in findings.iter_mut() {
        let Some(patch) = finding.patch.clone() else { continue };
        let tried = copy.apply(&patch).and_then(|before| {
            let result = copy.run(command);
            restore(before)?;
            result
        });
        match tried {
            Ok(()) => kept += 1,
            Err(why) => {
                finding.patch = None;
                finding.no_patch = Some(format!("'{command}' fails with it: {why}"));
            }
        }
    }
    report::line(&format!("{kept} patches pass '{command}'"));
    Ok(())
}

/// Allocations and, where valgrind is there, instructions of a command.
struct Cost {
    allocations: u64,
    instructions: Option<u64>,
}

/// Runs `command` in a copy built by `build`, without and with all patches, and says what they
/// save.
pub fn measure(patches: Vec<FileEdits>, build: Option<&str>, command: &str, compiler: &Compiler) -> Outcome<()> {
    let copy = Copy::new()?;
    let fails = |what: &str, why: String| Failure::error(format!("'{what}' fails: {why}"));
    let built = |copy: &Copy| build.map_or(Ok(()), |b| copy.run(b).map_err(|why| fails(b, why)));
    let counter = copy.scratch.file("count.c");
    let library = copy.scratch.file("count.so");
    std::fs::write(&counter, COUNTER).map_err(|e| Failure::file("write", &counter, &e))?;
    let made = compiler.command().args(["-O1", "-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&counter).status();
    if !made.is_ok_and(|s| s.success()) {
        return Err(Failure::error("the counting allocator could not be built"));
    }
    built(&copy)?;
    let before = cost(&copy, command, &library)?;
    for patch in patches {
        copy.apply_to(&patch).map_err(|why| Failure::error(format!("{}: {why}", patch.file.display())))?;
    }
    built(&copy)?;
    let after = cost(&copy, command, &library)?;
    let line = |what: &str, a: u64, b: u64| {
        let saved = a.saturating_sub(b);
        let share = if a == 0 { 0.0 } else { saved as f64 * 100.0 / a as f64 };
        format!("{what}: {a} before, {b} after ({share:.1} % less)\n")
    };
    report::output(&line("allocations", before.allocations, after.allocations))?;
    if let (Some(a), Some(b)) = (before.instructions, after.instructions) {
        report::output(&line("instructions", a, b))?;
    }
    Ok(())
}

fn cost(copy: &Copy, command: &str, library: &Path) -> Outcome<Cost> {
    let counts = copy.scratch.file("counts");
    // A file of an earlier run is not there the first time.
    let _ = std::fs::remove_file(&counts);
    let run = |program: &str, args: &[&str], envs: &[(&str, &Path)]| {
        let mut shell = Command::new(program);
        shell.args(args).arg("-c").arg(command).current_dir(&copy.folder).envs(envs.iter().copied());
        shell.stdin(Stdio::null()).output()
    };
    let output = run("sh", &[], &[("LD_PRELOAD", library), ("LEE_COUNT", &counts)]);
    if !output.is_ok_and(|o| o.status.success()) {
        return Err(Failure::error(format!("'{command}' fails under the counting allocator")));
    }
    let text = std::fs::read_to_string(&counts).unwrap_or_default();
    let allocations = text.lines().filter_map(|l| l.parse::<u64>().ok()).sum();
    let valgrind = ["--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes", "sh"];
    let said = run("valgrind", &valgrind, &[]).ok().filter(|o| o.status.success());
    let instructions = said.map(|o| {
        let text = String::from_utf8_lossy(&o.stderr).into_owned();
        let collected = text.lines().filter_map(|l| l.split_once("Collected : ")?.1.trim().parse::<u64>().ok());
        collected.sum()
    });
    Ok(Cost { allocations, instructions })
}
