//! Running programs: status, signals.

use crate::failure::{reason, Failure, Outcome};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

/// The status as a shell would show it.
pub fn status_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Runs the user's program in place of this one: its streams are ours, it gets the signals that the
/// terminal's user sends, and it does not outlive us.
pub fn run_as_self(command: &mut Command) -> Outcome<i32> {
    // SAFETY: between fork and exec only async-signal-safe calls are made.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::signal(libc::SIGQUIT, libc::SIG_DFL);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|e| Failure::error(format!("cannot run '{name}': {}", reason(&e))))?;
    // SAFETY: SIG_IGN is a valid disposition. The terminal sends these to the program too, which
    // decides.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGQUIT, libc::SIG_IGN);
    }
    let status = child.wait().map_err(|e| Failure::error(format!("cannot wait for '{name}': {}", reason(&e))))?;
    Ok(status_of(status))
}
