//! Helpers of the tests: preprocess, parse, and name what was reported.
#![allow(dead_code)]

use source::{Sink, SourceMap};
use std::process::{Command, Stdio};
use syntax::{ast::Unit, Dialect, ParseOptions};

/// Parses `text`; returns the tree and the errors as `LINE:COLUMN: message`.
pub fn parse(dialect: Dialect, text: &str) -> (Unit, Vec<String>) {
    parse_in(ParseOptions::new(dialect), "test.lee", text.to_string())
}

pub fn parse_in(options: ParseOptions, name: &str, text: String) -> (Unit, Vec<String>) {
    let map = SourceMap::new(name, text);
    let mut sink = Sink::default();
    let unit = syntax::parse(&map, options, &mut sink);
    let errors = sink
        .all
        .iter()
        .map(|d| {
            let at = map.locate(d.span);
            format!("{}:{}:{}: {}", at.file, at.line, at.column, d.message)
        })
        .collect();
    (unit, errors)
}

/// The C compiler: `cc`, unless `./dev` found another (tests/tools.sh).
pub fn compiler() -> String {
    std::env::var("LEE_TEST_CC").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".to_string())
}

/// Runs `cc -E` on `text`, read from its standard input.
pub fn preprocess(args: &[&str], text: &str) -> Option<String> {
    use std::io::Write;
    let mut child = Command::new(compiler())
        .args(args)
        .args(["-E", "-xc", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `f` on a thread with the stack that the driver gives the compiler.
pub fn on_big_stack<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    match std::thread::Builder::new().stack_size(64 << 20).spawn(f).map(std::thread::JoinHandle::join) {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => unreachable!("no thread: {error}"),
    }
}
