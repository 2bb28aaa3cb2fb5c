//! From emitted C to object code.

use crate::failure::{Failure, Outcome};
use crate::session::Session;
use crate::toolchain::Family;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

/// A C compiler at work.
pub struct Compiling {
    child: Child,
    feeder: std::thread::JoinHandle<()>,
    c: String,
    source: String,
}

/// Starts to compile `c`, which was made from `source`, to `output`. `kind` is `-c` or `-S`.
pub fn start(session: &Session, c: String, source: &Path, kind: &str, output: &OsStr) -> Outcome<Compiling> {
    let mut command = session.compiler.command();
    command.args(words(session)).arg("-I").arg(session.home.runtime_headers());
    // What is linked with a program that spawns is looked into (first_only/mod.rs).
    if session.several() || c.contains("lee_process_spawn") {
        command.arg("-fno-lto");
    }
    command.arg(kind).arg("-o").arg(output).arg("-");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| Failure::file("run", Path::new(&session.compiler.name()), &e))?;
    let pipe = child.stdin.take();
    let text = c.clone();
    let feeder = std::thread::spawn(move || {
        // A compiler that stops reading says why itself.
        let _ = pipe.map(|mut pipe| pipe.write_all(text.as_bytes()));
    });
    Ok(Compiling { child, feeder, c, source: source.display().to_string() })
}

/// What the C compiler is told of all emitted C.
pub fn words(session: &Session) -> Vec<OsString> {
    let options = &session.options;
    let mut words: Vec<OsString> = ["-x", "c", "-std=gnu11", "-w"].map(OsString::from).into();
    words.extend(session.compiler.flags(options.profile).iter().map(OsString::from));
    words.extend(options.code.iter().map(OsString::from));
    words.extend(options.variant().iter().map(OsString::from));
    if options.sanitize.is_some() && session.compiler.family == Family::Clang {
        // A struct of the runtime's has another name in a program's header, so the address of a
        // library function has another type there.
        words.push("-fno-sanitize=function".into());
    }
    words.extend(session.compiler.semantics().iter().map(OsString::from));
    words.extend(session.compiler.inlining().map(OsString::from));
    words
}

impl Compiling {
    /// Waits for it. That it rejects the C is a bug in lee.
    pub fn finish(self) -> Outcome<()> {
        let out = self.child.wait_with_output();
        let _ = self.feeder.join();
        let out = out.map_err(|e| Failure::error(format!("cannot wait for the C compiler: {e}")))?;
        if out.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&out.stderr);
        let kept = std::env::temp_dir().join(format!("lee-rejected-{}.c", std::process::id()));
        let place = match std::fs::write(&kept, &self.c) {
            Ok(()) => format!(" (the C is kept in {})", kept.display()),
            Err(_) => String::new(),
        };
        let first: Vec<&str> = said.lines().take(12).collect();
        Err(Failure::error(format!(
            "internal error: the C compiler does not take the C made from {}{place}\n{}",
            self.source,
            first.join("\n")
        )))
    }
}
