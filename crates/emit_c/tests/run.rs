//! Compiles and runs the MIR files of `tests/run` with each compiler: with one as for debugging,
//! with the other optimised, with `FULL=1` in the environment both with both. `CASE=text` picks
//! cases by name.
//!
//! A file holds cases after `//--- name`; the text before the first is put before each.
//! A case says with `//! out: LINE` what it prints (a fault's line included), with `//! c: TEXT`
//! what its C text holds, and with `//! no: TEXT` what it does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;
use std::process::Command;

fn marked<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let mark = format!("//! {mark}: ");
    text.lines().filter_map(|line| line.split_once(mark.as_str())).map(|(_, rest)| rest).collect()
}

/// A fault's line number says where a case stands in its file; the debugger's test looks at lines.
fn without_lines(text: &str) -> String {
    let line = |l: &str| match l.strip_prefix("fault at ").and_then(|rest| rest.split_once(": ")) {
        Some((_, message)) => format!("fault: {message}\n"),
        None => format!("{l}\n"),
    };
    text.lines().map(line).collect()
}

fn check(name: &str, text: &str) -> Vec<String> {
    let emitted = match mir::parse::program(text) {
        Ok(program) => support::emit_program(&program, text),
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let code = emitted.split_once("#endif\n").map_or(emitted.as_str(), |(_, code)| code);
    let mut wrong = vec![];
    for want in marked(text, "c") {
        if !emitted.contains(want) {
            wrong.push(format!("{name}: the C text lacks `{want}`:\n{code}"));
        }
    }
    for unwanted in marked(text, "no") {
        if emitted.contains(unwanted) {
            wrong.push(format!("{name}: the C text holds `{unwanted}`:\n{code}"));
        }
    }
    let out: String = marked(text, "out").iter().map(|line| format!("{line}\n")).collect();
    let dir = support::directory();
    let full = std::env::var("FULL").is_ok();
    for compiler in support::compilers() {
        let usual = if support::is_clang(compiler) { "-O2" } else { "-O0" };
        for level in ["-O0", "-O2"].into_iter().filter(|&level| full || level == usual) {
            match support::build(compiler, level, &dir, &emitted) {
                Ok(program) => {
                    let (got, _) = support::run(&mut Command::new(program));
                    let got = without_lines(&got);
                    if got != out {
                        wrong.push(format!("{name}: {compiler} {level} printed\n{got}instead of\n{out}{code}"));
                    }
                }
                Err(errors) => wrong.push(format!("{name}: {compiler} {level}\n{errors}\n{code}")),
            }
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
    wrong.truncate(1);
    wrong
}

#[test]
fn mir_files() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run");
    let only = std::env::var("CASE").unwrap_or_default();
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let (mut wrong, mut count) = (vec![], 0);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut parts = text.split("//---");
        let prelude = parts.next().unwrap_or("");
        for part in parts {
            let (name, body) = part.split_once('\n').unwrap_or((part, ""));
            let name = format!("{file}: {}", name.trim());
            if name.contains(&only) {
                count += 1;
                wrong.extend(check(&name, &format!("{prelude}{body}")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(count > 0, "no case was found");
}

/// Compilers limit how deep parentheses nest, so an expression must not grow with the program.
#[test]
fn long_sums_are_cut() {
    let terms = 600;
    let temps: String = (1..=terms).map(|n| format!("  temp _{n}: int scope 0\n")).collect();
    let sums: String = (2..=terms).map(|n| format!("  _{n} = add(_{}, 1:int, int)\n", n - 1)).collect();
    let text = format!(
        "//! out: 601
string $0 char \"%d\\x0a\\x00\"
function printf#0: fn[c](*[zero]const char, ...) -> int foreign
function main#1: fn() -> int
body main#1 params 0 {{
  scope 0
  var n_0: int scope 0
{temps}bb0:
  n_0 = 1:int
  _1 = add(n_0, 1:int, int)
{sums}  call printf#0(&$0+0:*[zero]const char, _{terms}): fn[c](*[zero]const char, ...) -> int
  return 0:int
}}
"
    );
    let wrong = check("sum", &text);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
