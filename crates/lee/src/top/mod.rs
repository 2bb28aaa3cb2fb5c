//! `lee top PATH|PID`: what the processes and custodians of a running program do, read from its
//! socket (`runtime/src/top.c`): as a table that is drawn again each second, once, or as JSON.

mod draw;
mod json;
mod read;
#[cfg(test)]
mod tests;

use crate::failure::{Failure, Outcome};
use crate::{help, report};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Between two pictures.
const PAUSE: Duration = Duration::from_secs(1);
/// Lines of processes and custodians that `--once` prints, each.
const ROWS: usize = 40;

/// How the answer is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Live,
    Once,
    Json,
}

/// Runs the command.
pub fn main(rest: Vec<OsString>) -> Outcome<i32> {
    let (mut form, mut places) = (Form::Live, vec![]);
    for word in rest {
        match &*word.to_string_lossy() {
            "--json" => form = Form::Json,
            "--once" => form = Form::Once,
            "-h" | "--help" => {
                report::output(help::TOP)?;
                return Ok(0);
            }
            option if option.starts_with('-') => {
                return Err(Failure::usage(format!("unknown option '{option}'; see 'lee help top'")));
            }
            _ => places.push(word),
        }
    }
    let [place] = places.as_slice() else {
        return Err(Failure::usage("one socket, or the number of one process, is wanted; see 'lee help top'"));
    };
    let path = match place.to_str().and_then(|text| text.parse::<u32>().ok()) {
        Some(pid) if !Path::new(place).exists() => socket_of(pid)?,
        _ => PathBuf::from(place),
    };
    match form {
        Form::Json => report::output(&json::write(&read::ask(&path)?)).map(|()| 0),
        Form::Live if std::io::stdout().is_terminal() => watch(&path),
        Form::Live | Form::Once => report::output(&draw::table(&read::ask(&path)?, None, ROWS)).map(|()| 0),
    }
}

/// Draws until the program ends, or an interrupt ends this one.
fn watch(path: &Path) -> Outcome<i32> {
    let mut before = None;
    loop {
        let now = match read::ask(path) {
            Ok(now) => now,
            Err(failure) if before.is_none() => return Err(failure),
            Err(_) => return Ok(0), // the program has ended
        };
        let text = draw::table(&now, before.as_ref(), draw::rows_of_terminal());
        // To the upper left corner; each line ends by clearing what was there; then what is below.
        report::output(&format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n")))?;
        before = Some(now);
        std::thread::sleep(PAUSE);
    }
}

/// The socket that `LEE_TOP` names for a program that runs.
fn socket_of(pid: u32) -> Outcome<PathBuf> {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let file = folder.join("environ");
    let all = std::fs::read(&file).map_err(|error| Failure::file("read", &file, &error))?;
    let value = all.split(|&byte| byte == 0).find_map(|variable| variable.strip_prefix(b"LEE_TOP="));
    match value {
        Some(value) if !value.is_empty() => {
            let path = PathBuf::from(OsString::from_vec(value.to_vec()));
            Ok(if path.is_absolute() { path } else { folder.join("cwd").join(path) })
        }
        _ => Err(Failure::error(format!(
            "process {pid} was not started with LEE_TOP; start it with LEE_TOP=PATH, which names its socket"
        ))),
    }
}
