//! What several test programs share: the command under test, the repository, cases and their
//! directives.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod tools;

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The command: `LEE` if it is set, else the one that cargo built for the tests.
pub fn lee() -> PathBuf {
    std::env::var_os("LEE").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_lee")), PathBuf::from)
}

/// What a program said and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        use std::os::unix::process::ExitStatusExt;
        Ran {
            status: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Fails the test unless the status is as expected.
    pub fn expect(self, status: i32) -> Ran {
        assert_eq!(self.status, status, "out: {}\nerr: {}", self.out, self.err);
        self
    }
}

/// The seconds of processor time that a command and each of its children may take. Time on the
/// clock says more of the machine than of the command.
pub const SECONDS_MOST: u64 = 180;

/// Ends the command, with signal SIGXCPU, when it has taken this processor time.
fn limit_processor(command: &mut Command, seconds: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the limit.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_CPU, &mut limit) }, 0);
    limit.rlim_cur = seconds.min(limit.rlim_max);
    // SAFETY: between fork and exec nothing but a system call is made.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_CPU, &limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    };
}

/// Runs a command with this standard input. It is ended if it takes much processor time, or waits
/// for very long.
pub fn run_with(command: &mut Command, input: &str) -> Ran {
    run_limited(command, input, SECONDS_MOST)
}

/// The same, with another limit of processor time.
pub fn run_limited(command: &mut Command, input: &str, seconds: u64) -> Ran {
    limit_processor(command, seconds);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = input.to_string();
    std::thread::spawn(move || drop(pipe.write_all(input.as_bytes())));
    let id = child.id();
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let start = Instant::now();
        let limit = Duration::from_secs(1800);
        if waiting.recv_timeout(limit).is_err() && start.elapsed() >= limit {
            // SAFETY: the child was not waited for, so the number is still its own.
            unsafe { libc::kill(id as i32, libc::SIGKILL) };
        }
    });
    let output = child.wait_with_output().expect("output");
    drop(done);
    let _ = watch.join();
    Ran::of(output)
}

/// Runs a command without input.
pub fn run(command: &mut Command) -> Ran {
    run_with(command, "")
}

/// `lee` with these words, in this folder.
pub fn lee_in(folder: &Path, words: &[&str]) -> Ran {
    lee_in_with(folder, words, "")
}

/// `lee` with these words, in this folder, with this standard input.
pub fn lee_in_with(folder: &Path, words: &[&str], input: &str) -> Ran {
    run_with(Command::new(lee()).args(words).current_dir(folder).env("LEE_VERIFY", "1"), input)
}

/// A folder of its own for a test, emptied first.
pub fn fresh(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The files of a folder with this ending, by name; none if it is not there.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return vec![] };
    let mut all: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == ending)).collect();
    all.sort();
    all
}

/// What `//@ KEY: VALUE` lines of a case say, as in the conformance cases.
pub fn directives(text: &str, key: &str) -> Vec<String> {
    let prefix = format!("//@ {key}");
    text.lines()
        .filter_map(|line| line.strip_prefix(&prefix))
        .filter(|rest| rest.is_empty() || rest.starts_with([':', ' ', '\t']))
        .map(|rest| rest.strip_prefix(':').unwrap_or(rest).trim().to_string())
        .collect()
}

/// A field of a flat JSON object on one line.
pub fn field(line: &str, key: &str) -> Option<String> {
    let at = line.find(&format!("\"{key}\":"))? + key.len() + 3;
    let rest = line[at..].trim_start();
    match rest.strip_prefix('"') {
        None => Some(rest.split([',', '}']).next()?.trim().to_string()),
        Some(text) => {
            let mut out = String::new();
            let mut chars = text.chars();
            while let Some(c) = chars.next() {
                match c {
                    '"' => return Some(out),
                    '\\' => out.push(match chars.next()? {
                        'n' => '\n',
                        't' => '\t',
                        'u' => {
                            char::from_u32(u32::from_str_radix(&chars.by_ref().take(4).collect::<String>(), 16).ok()?)?
                        }
                        other => other,
                    }),
                    c => out.push(c),
                }
            }
            None
        }
    }
}
