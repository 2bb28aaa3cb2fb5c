//! `--verify` and `--measure`: patches are tried in a copy of the current folder, and what they
//! save is counted.

use crate::failure::{Failure, Outcome};
use crate::report;
use crate::scratch::Scratch;
use crate::toolchain::Compiler;
use advise::edits::{applied, decode, encode, merged, FileEdits, Patch};
use advise::finding::{Cost, Finding, Saved};
use advise::run::Outcome as RunOutcome;
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
            _ => Err(Failure::error("the current folder could not be copied")),
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
        self.run_with(command, &["sh"], &[])
    }

    /// Runs the command by the words of a shell, with more in the environment.
    fn run_with(&self, command: &str, shell: &[&str], envs: &[(&str, &Path)]) -> Result<(), String> {
        let (program, words) = shell.split_first().ok_or("no shell")?;
        let mut shell = Command::new(program);
        shell.args(words).arg("-c").arg(command).current_dir(&self.folder).envs(envs.iter().copied());
        let output = shell.stdin(Stdio::null()).output().map_err(|e| format!("{program} cannot be run: {e}"))?;
        if output.status.success() {
            return Ok(());
        }
        let all = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&all).into_owned();
        let last = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("").to_string();
        Err(format!("{}: {last}", output.status))
    }

    /// What callgrind wrote, a file for each process.
    fn logs(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.scratch.path()).into_iter().flatten().flatten();
        let is_log = |f: &std::fs::DirEntry| f.file_name().to_string_lossy().starts_with("callgrind.");
        files.filter(is_log).map(|f| f.path()).collect()
    }

    /// Does the work with the changed files, which get back what they had. What the work, or a
    /// change, fails with is the inner error.
    fn with<T>(&self, files: &[FileEdits], work: impl FnOnce() -> Result<T, String>) -> Outcome<Result<T, String>> {
        let mut before = vec![];
        let mut result = Ok(());
        for file in files {
            match self.apply_to(file) {
                Ok(old) => before.push(old),
                Err(why) => result = Err(format!("{} cannot be changed: {why}", file.file.display())),
            }
        }
        let result = result.and_then(|()| work());
        for (file, text) in before {
            std::fs::write(&file, text).map_err(|e| Failure::file("write", &file, &e))?;
        }
        Ok(result)
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

/// What patches are tried with.
pub struct Trial<'a> {
    /// Builds and checks (`--verify`).
    pub check: Option<&'a str>,
    /// What is measured (`--measure`).
    pub measure: Option<&'a str>,
    /// Builds the counting allocator.
    pub compiler: &'a Compiler,
    /// Is told how many patches of how many were tried.
    pub progress: &'a dyn Fn(usize, usize),
}

impl Trial<'_> {
    /// Tries each patch alone: one with which a command fails is dropped, with the reason, and what
    /// the others save is written down. Then all are tried together, and one with which the check
    /// fails beside those before it is dropped, too.
    ///
    /// Errors: a command fails without any patch, or what is measured fails with all of them.
    pub fn run(&self, outcome: &mut RunOutcome) -> Outcome<()> {
        let copy = Copy::new()?;
        let check = |copy: &Copy| self.check.map_or(Ok(()), |c| copy.run(c).map_err(|why| failed(c, &why)));
        check(&copy).map_err(|why| Failure::error(format!("without any patch {why}")))?;
        let meter = match self.measure {
            Some(command) => Some(Meter::new(&copy, command, self.compiler)?),
            None => None,
        };
        let cost = |copy: &Copy, before: Option<&Cost>| meter.as_ref().map(|m| m.cost(copy, before)).transpose();
        let before = cost(&copy, None).map_err(|why| Failure::error(format!("without any patch {why}")))?;
        let saved = |after: Option<Cost>| Some(Saved { before: before?, after: after? });
        let all = outcome.findings.iter().filter(|f| f.patch.is_some()).count();
        for (n, finding) in outcome.findings.iter_mut().filter(|f| f.patch.is_some()).enumerate() {
            (self.progress)(n, all);
            let alone = merged(finding.patch.iter());
            match copy.with(&alone, || check(&copy).and_then(|()| cost(&copy, before.as_ref())))? {
                Ok(after) => finding.saved = saved(after),
                Err(why) => drop_patch(finding, format!("with it {why}")),
            }
        }
        (self.progress)(all, all);
        self.together(&copy, &mut outcome.findings)?;
        let kept = outcome.findings.iter().filter(|f| f.patch.is_some()).count();
        if let Some(command) = self.check {
            report::line(&format!("{kept} of {all} patches pass '{command}'"));
        }
        if before.is_some() {
            let all = merged(outcome.findings.iter().filter_map(|f| f.patch.as_ref()));
            let after = copy.with(&all, || check(&copy).and_then(|()| cost(&copy, before.as_ref())))?;
            outcome.saved = saved(after.map_err(|why| Failure::error(format!("with all patches {why}")))?);
        }
        Ok(())
    }

    /// Drops patches that fail the check together, though each passes it alone.
    fn together(&self, copy: &Copy, findings: &mut [Finding]) -> Outcome<()> {
        let Some(command) = self.check else { return Ok(()) };
        let all = merged(findings.iter().filter_map(|f| f.patch.as_ref()));
        if copy.with(&all, || copy.run(command))?.is_ok() {
            return Ok(());
        }
        let mut kept: Vec<Patch> = vec![];
        for finding in findings {
            let Some(patch) = finding.patch.clone() else { continue };
            kept.push(patch);
            if let Err(why) = copy.with(&merged(kept.iter()), || copy.run(command))? {
                kept.pop();
                let why = failed(command, &why);
                drop_patch(finding, format!("with it and the patches before it {why}"));
            }
        }
        Ok(())
    }
}

fn failed(command: &str, why: &str) -> String {
    format!("'{command}' fails: {why}")
}

fn drop_patch(finding: &mut Finding, why: String) {
    finding.patch = None;
    finding.saved = None;
    finding.no_patch = Some(why);
}

/// Counts what a command costs.
struct Meter<'a> {
    command: &'a str,
    /// The counting allocator.
    library: PathBuf,
    counts: PathBuf,
}

impl Meter<'_> {
    fn new<'a>(copy: &Copy, command: &'a str, compiler: &Compiler) -> Outcome<Meter<'a>> {
        let source = copy.scratch.file("count.c");
        let library = copy.scratch.file("count.so");
        std::fs::write(&source, COUNTER).map_err(|e| Failure::file("write", &source, &e))?;
        let made = compiler.command().args(["-O1", "-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        if !made.is_ok_and(|s| s.success()) {
            return Err(Failure::error("the counting allocator could not be built"));
        }
        Ok(Meter { command, library, counts: copy.scratch.file("counts") })
    }

    /// Calls of the allocator and, where valgrind is there, instructions. `before`: what it cost
    /// without a patch; instructions are counted if they were counted then.
    fn cost(&self, copy: &Copy, before: Option<&Cost>) -> Result<Cost, String> {
        // A file of an earlier run is not there the first time.
        let _ = std::fs::remove_file(&self.counts);
        copy.run_with(self.command, &["sh"], &[("LD_PRELOAD", &self.library), ("LEE_COUNT", &self.counts)])
            .map_err(|why| failed(self.command, &why))?;
        let text = std::fs::read_to_string(&self.counts).unwrap_or_default();
        let calls = text.lines().filter_map(|l| l.parse::<u64>().ok()).sum();
        if before.is_some_and(|b| b.instructions.is_none()) {
            return Ok(Cost { calls, instructions: None });
        }
        let log = copy.scratch.file("callgrind");
        let words = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"];
        let file = format!("--log-file={}.%p", log.display());
        let done = copy.run_with(self.command, &[&words[..], &[&*file, "sh"]].concat(), &[]);
        let said = copy.logs().into_iter().filter_map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            // The next run would add to it.
            let _ = std::fs::remove_file(&path);
            text.lines().find_map(|l| l.split_once("Collected : ")?.1.trim().parse::<u64>().ok())
        });
        let instructions = said.sum();
        match done {
            Ok(()) => Ok(Cost { calls, instructions: Some(instructions) }),
            Err(_) if before.is_none() => Ok(Cost { calls, instructions: None }),
            Err(why) => Err(format!("under callgrind {}", failed(self.command, &why))),
        }
    }
}
