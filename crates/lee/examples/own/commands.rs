//! Commands that are run with a limit of time, and programs that are built under the sanitizers.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing that is generated runs longer than a moment; a machine may have other things to do.
pub const PATIENCE: Duration = Duration::from_secs(400);

/// What a command did.
pub struct Outcome {
    /// Its status, or what ended it.
    pub status: String,
    /// What it printed.
    pub output: String,
    /// What it said about errors.
    pub errors: String,
}

impl Outcome {
    /// Whether all was well.
    pub fn is_fine(&self) -> bool {
        self.status == "0"
    }
}

/// Runs a command, with a limit of time.
pub fn run(command: &mut Command) -> Outcome {
    run_for(command, PATIENCE)
}

/// The same with another limit.
pub fn run_for(command: &mut Command, patience: Duration) -> Outcome {
    let wrong = |why: String| Outcome { status: why, output: String::new(), errors: String::new() };
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return wrong(error.to_string()),
    };
    let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
        return wrong("no pipes".into());
    };
    let read = |from: &mut dyn std::io::Read| {
        let mut text = vec![];
        let _ = from.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let reader = std::thread::spawn(move || read(&mut out));
    let errors = std::thread::spawn(move || read(&mut err));
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.code().map_or(format!("{status}"), |code| code.to_string()),
            Ok(None) if start.elapsed() > patience => {
                let _ = child.kill();
                let _ = child.wait();
                break "too long".into();
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => break error.to_string(),
        }
    };
    Outcome { status, output: reader.join().unwrap_or_default(), errors: errors.join().unwrap_or_default() }
}

/// Builds a file under the sanitizers; with `verify`, the compiler's second opinions are asked too.
pub fn build_sanitized(lee: &Path, cc: &str, file: &Path, program: &Path, verify: bool) -> Outcome {
    let mut command = Command::new(lee);
    // All that `undefined` has, but for `function`, since emitted prototypes of C's functions have
    // other qualifiers; for overflow of signed numbers, which clang reports in spite of `-fwrapv`
    // if it is named; and for pointers that pass the ends of memory and come back, which no check
    // minds.
    let undefined = "alignment,bool,bounds,builtin,enum,integer-divide-by-zero,nonnull-attribute,null,object-size,return,returns-nonnull-attribute,shift,unreachable,vla-bound";
    command.args(["build", "-w", "--cc", cc, "--sanitize"]).arg(format!("address,{undefined}")).arg("-o");
    if verify {
        command.env("LEE_VERIFY", "1");
    }
    run(command.arg(program).arg(file))
}

/// Runs what was built so, with `stress` a collection at each so many allocations. `collects`: the
/// program may collect, so the stack must be the real one.
pub fn run_sanitized(program: &Path, stress: u64, verify: bool, collects: bool, patience: Duration) -> Outcome {
    let after_return = if collects { 0 } else { 1 };
    let mut command = Command::new(program);
    command.env(
        "ASAN_OPTIONS",
        format!("detect_leaks=0:handle_segv=0:detect_stack_use_after_return={after_return}:abort_on_error=0"),
    );
    command.env("UBSAN_OPTIONS", "halt_on_error=1");
    if stress > 0 {
        command.env("LEE_GC_STRESS", stress.to_string());
    }
    if verify {
        command.env("LEE_GC_VERIFY", "1");
    }
    run_for(&mut command, patience)
}

/// The first lines of a report.
pub fn head(text: &str) -> String {
    text.lines().filter(|l| !l.trim().is_empty()).take(14).collect::<Vec<_>>().join("\n    ")
}
