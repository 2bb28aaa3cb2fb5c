//! `liblee.a`: the runtime and the library's C, compiled once for each compiler and set of flags.

use crate::failure::{reason, Failure, Outcome};
use crate::hash::Hash;
use crate::home::{files_below, Home};
use crate::toolchain::Compiler;
use crate::{cache, report};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Finds the library, or builds it. `variant` has the flags that object code must agree on
/// (`-fsanitize=...`, `-fPIC`).
pub fn library(home: &Home, compiler: &Compiler, variant: &[String]) -> Outcome<PathBuf> {
    let mut hash = Hash::default();
    hash.field(home.identity.as_bytes());
    hash.field(compiler.identity.as_bytes());
    for flag in flags(compiler).iter().map(|f| f.to_string()).chain(variant.iter().cloned()) {
        hash.field(flag.as_bytes());
    }
    let name = Path::new("runtimes").join(hash.name());
    let mut problem = None;
    for cache in cache::places() {
        let folder = cache.join(&name);
        if sound(&folder) {
            cache::mark_used(&folder);
            return Ok(folder.join(ARCHIVE));
        }
        match build_once(home, compiler, variant, &folder) {
            Ok(()) => {
                cache::mark_used(&folder);
                cache::clean(&cache);
                return Ok(folder.join(ARCHIVE));
            }
            Err(failure) => problem = problem.or(Some(failure)),
        }
    }
    Err(problem.unwrap_or_else(cache::none))
}

pub const ARCHIVE: &str = "liblee.a";
/// The archive's hash, which tells one that was damaged.
const SUM: &str = "liblee.sum";

/// Whether the folder has an archive, and it is what was written.
fn sound(folder: &Path) -> bool {
    let Ok(bytes) = fs::read(folder.join(ARCHIVE)) else { return false };
    fs::read_to_string(folder.join(SUM)).is_ok_and(|sum| sum == cache::sum_of(&bytes))
}

/// Others that want the same library wait for the first instead of compiling it too.
fn build_once(home: &Home, compiler: &Compiler, variant: &[String], folder: &Path) -> Outcome<()> {
    let cannot = |path: &Path, error| Failure::file("write to the cache", path, &error);
    fs::create_dir_all(folder).map_err(|e| cannot(folder, e))?;
    let lock = fs::File::create(folder.join("lock")).map_err(|e| cannot(folder, e))?;
    // A failed lock costs time only: the result is renamed into place.
    // SAFETY: the descriptor is open as long as `lock` lives.
    if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        report::progress("another lee compiles the runtime; waiting for it");
        // SAFETY: as before.
        let _ = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) };
    }
    if sound(folder) {
        return Ok(());
    }
    let archive = folder.join(ARCHIVE);
    let name = compiler.name();
    report::progress(&match archive.exists() {
        true => format!("the runtime in {} is damaged; compiling it again", folder.display()),
        false => format!("compiling the runtime with {name}; this is done once and kept in {}", folder.display()),
    });
    let work = cache::beside(&folder.join("build"));
    fs::create_dir_all(&work).map_err(|e| cannot(&work, e))?;
    let built = build(home, compiler, variant, &work).and_then(|made| {
        let sum = fs::read(&made).map(|bytes| cache::sum_of(&bytes)).map_err(|e| cannot(&made, e))?;
        cache::write_whole(&folder.join(SUM), sum.as_bytes()).map_err(|e| cannot(folder, e))?;
        fs::rename(&made, &archive).map_err(|e| cannot(&archive, e))
    });
    let _ = fs::remove_dir_all(&work);
    built
}

/// No debug information: what has a line counts as the program's own code, and a fault is placed
/// there.
fn flags(compiler: &Compiler) -> Vec<&'static str> {
    let mut flags = vec!["-std=gnu11", "-D_GNU_SOURCE=", "-w", "-O2", "-g0"];
    flags.extend(compiler.semantics());
    flags
}

fn build(home: &Home, compiler: &Compiler, variant: &[String], work: &Path) -> Outcome<PathBuf> {
    let mut files = vec![];
    files_below(&home.root.join("runtime/src"), &mut files);
    files_below(&home.root.join("library"), &mut files);
    files.retain(|f| f.extension().is_some_and(|e| e == "c" || e == "S"));
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()).min(16) {
            scope.spawn(|| loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = files.get(number) else { return };
                if let Err(failure) = compile(home, compiler, variant, file, &work.join(format!("{number}.o"))) {
                    if let Ok(mut first) = failed.lock() {
                        *first = Some(failure);
                    }
                    return;
                }
            });
        }
    });
    if let Ok(Some(failure)) = failed.into_inner() {
        return Err(failure);
    }
    let archive = work.join(ARCHIVE);
    let mut ar = Command::new("ar");
    ar.arg("rcs").arg(&archive).args((0..files.len()).map(|n| work.join(format!("{n}.o"))));
    match ar.output() {
        Ok(out) if out.status.success() => Ok(archive),
        Ok(out) => {
            Err(Failure::error(format!("ar cannot make the runtime: {}", String::from_utf8_lossy(&out.stderr).trim())))
        }
        Err(e) => Err(Failure::error(format!("cannot run 'ar' ({}): install binutils", reason(&e)))),
    }
}

fn compile(home: &Home, compiler: &Compiler, variant: &[String], file: &Path, object: &Path) -> Outcome<()> {
    let mut command = compiler.command();
    command
        .args(flags(compiler))
        .args(variant)
        .arg("-I")
        .arg(home.runtime_headers())
        .arg("-I")
        .arg(home.root.join("runtime/src"));
    command.arg("-c").arg(file).arg("-o").arg(object);
    let out = command.output().map_err(|e| Failure::file("run", Path::new(&compiler.name()), &e))?;
    if out.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    Err(Failure::error(format!(
        "the C compiler '{}' cannot compile the runtime:\n{}",
        compiler.name(),
        said.trim_end()
    )))
}
