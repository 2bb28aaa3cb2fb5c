//! `liblee.a`: the runtime and the library's C, compiled once for each compiler and set of flags.

use crate::failure::{Failure, Outcome};
use crate::hash::Hash;
use crate::home::{beside, caches, files_below, no_cache, Home};
use crate::toolchain::Compiler;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// Finds the library, or builds it. `variant` has the flags that object code must agree on (`-fsanitize=...`, `-fPIC`).
pub fn library(home: &Home, compiler: &Compiler, variant: &[String]) -> Outcome<PathBuf> {
    let mut hash = Hash::default();
    hash.field(home.identity.as_bytes());
    hash.field(compiler.identity.as_bytes());
    for flag in flags(compiler).iter().map(|f| f.to_string()).chain(variant.iter().cloned()) {
        hash.field(flag.as_bytes());
    }
    let name = Path::new("runtimes").join(hash.name());
    let mut problem = None;
    for folder in caches().map(|cache| cache.join(&name)) {
        let place = folder.join("liblee.a");
        if place.is_file() {
            return Ok(place);
        }
        match build_once(home, compiler, variant, &place, &folder) {
            Ok(()) => return Ok(place),
            Err(failure) => problem = problem.or(Some(failure)),
        }
    }
    Err(problem.unwrap_or_else(no_cache))
}

/// Others that want the same library wait for the first instead of compiling it too.
fn build_once(home: &Home, compiler: &Compiler, variant: &[String], place: &Path, folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder).map_err(|e| Failure::file("write to the cache", folder, &e))?;
    let lock = fs::File::create(folder.join("lock")).map_err(|e| Failure::file("write to the cache", folder, &e))?;
    // SAFETY: the descriptor is open as long as `lock` lives. A failed lock costs time only: the result is renamed into place.
    let _ = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) };
    if place.is_file() {
        return Ok(());
    }
    let work = beside(&folder.join("build"));
    fs::create_dir_all(&work).map_err(|e| Failure::file("write to the cache", &work, &e))?;
    let built = build(home, compiler, variant, &work)
        .and_then(|made| fs::rename(&made, place).map_err(|e| Failure::file("write to the cache", place, &e)));
    let _ = fs::remove_dir_all(&work);
    built
}

/// No debug information: what has a line counts as the program's own code, and a fault is placed there.
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
    let archive = work.join("liblee.a");
    let mut ar = Command::new("ar");
    ar.arg("rcs").arg(&archive).args((0..files.len()).map(|n| work.join(format!("{n}.o"))));
    match ar.output() {
        Ok(out) if out.status.success() => Ok(archive),
        Ok(out) => {
            Err(Failure::error(format!("ar cannot make the runtime: {}", String::from_utf8_lossy(&out.stderr).trim())))
        }
        Err(_) => Err(Failure::error("the program 'ar' was not found: install binutils")),
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
