//! `lee top PATH|PID`: what the processes and custodians of a running program do, read from its
//! socket (`runtime/src/top.c`): as tables that are drawn again each second, once, as JSON, or as a
//! page for a browser. With `--why ID`: what the memory of one of them consists of.

mod cycles;
mod draw;
mod json;
mod names;
mod page;
mod read;
mod rows;
mod screen;
#[cfg(test)]
mod tests;
mod why;

use crate::failure::{Failure, Outcome};
use crate::{help, report};
use names::Names;
use read::Answer;
use rows::Order;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Lines of processes and custodians that `--once` prints, each.
const ROWS: usize = 40;

/// How the answer is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Live,
    Once,
    Json,
    /// On that port; 0: one that is free.
    Page(u16),
}

/// The program that is asked.
struct Asked {
    path: PathBuf,
    names: Names,
}

impl Asked {
    fn ask(&mut self) -> Outcome<Answer> {
        let mut answer = read::ask(&self.path)?;
        self.names.give(&mut answer);
        Ok(answer)
    }
}

/// Runs the command.
pub fn main(rest: Vec<OsString>) -> Outcome<i32> {
    let (mut form, mut places, mut why) = (Form::Live, vec![], None);
    let mut rest = rest.into_iter();
    while let Some(word) = rest.next() {
        match &*word.to_string_lossy() {
            "--json" => form = Form::Json,
            "--once" => form = Form::Once,
            "--page" => form = Form::Page(0),
            option if option.starts_with("--page=") => form = Form::Page(port(option)?),
            "--why" => why = Some(id(&rest.next().unwrap_or_default().to_string_lossy())?),
            option if option.starts_with("--why=") => why = Some(id(option.trim_start_matches("--why="))?),
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
    let mut asked = Asked { path, names: Names::default() };
    if let Some(id) = why {
        return print_why(&mut asked, id, form);
    }
    match form {
        Form::Json => report::output(&json::write(&asked.ask()?)).map(|()| 0),
        Form::Page(port) => page::serve(&mut asked, port),
        Form::Live if std::io::stdout().is_terminal() => screen::watch(&mut asked),
        Form::Live | Form::Once => {
            let rows = rows::rows(&asked.ask()?, None, Order::default());
            report::output(&draw::text(&rows, ROWS)).map(|()| 0)
        }
    }
}

fn id(text: &str) -> Outcome<why::Id> {
    why::Id::parse(text).ok_or_else(|| {
        Failure::usage(format!("'{text}' names no custodian and no process; write --why c12 or --why p7"))
    })
}

fn print_why(asked: &mut Asked, id: why::Id, form: Form) -> Outcome<i32> {
    if let Form::Page(_) = form {
        return Err(Failure::usage("--why goes without --page; on the page, click on a custodian or process"));
    }
    let (why, rows) = why::ask(asked, id)?;
    let text = match form {
        Form::Json => why::json(id, &why, &rows),
        _ => why::text(id, &why, &rows, ROWS),
    };
    report::output(&text).map(|()| 0)
}

fn port(option: &str) -> Outcome<u16> {
    let number = option.strip_prefix("--page=").and_then(|number| number.parse().ok());
    number.ok_or_else(|| Failure::usage(format!("'{option}' names no port; write --page=8090")))
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
