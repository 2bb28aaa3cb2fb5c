//! What tests need beside the command: C compilers of both families, other programs; and how one is
//! skipped without them. `./dev` says in the environment what there is (tests/tools.sh).

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// GNU or LLVM.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Family {
    Gcc,
    Clang,
}

/// What `./dev setup` knows it as.
pub fn name(family: Family) -> &'static str {
    match family {
        Family::Gcc => "gcc",
        Family::Clang => "clang",
    }
}

/// A compiler of gcc's family, if there is one.
pub fn gcc() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    FOUND.get_or_init(|| found("LEE_TEST_GCC", &["gcc"])).as_deref()
}

/// A compiler of clang's family, if there is one.
pub fn clang() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    FOUND.get_or_init(|| found("LEE_TEST_CLANG", &["clang-19", "clang"])).as_deref()
}

fn found(variable: &str, names: &[&str]) -> Option<String> {
    match std::env::var(variable) {
        Ok(name) => Some(name).filter(|name| !name.is_empty()),
        Err(_) => names.iter().find(|name| runs(name)).map(|name| name.to_string()),
    }
}

/// The family's compiler; its usual name if there is none, so that a test which was not skipped
/// says so.
pub fn compiler(family: Family) -> String {
    let found = match family {
        Family::Gcc => gcc(),
        Family::Clang => clang(),
    };
    found.unwrap_or(name(family)).to_string()
}

/// The family's name if it has no compiler here.
pub fn missing(family: Family) -> Option<&'static str> {
    let found = match family {
        Family::Gcc => gcc(),
        Family::Clang => clang(),
    };
    found.is_none().then_some(name(family))
}

/// The compilers that are there. For those that are not, the test's part is noted as skipped.
pub fn compilers(test: &str) -> Vec<String> {
    let (there, not): (Vec<Family>, Vec<Family>) =
        [Family::Gcc, Family::Clang].into_iter().partition(|&family| missing(family).is_none());
    not.into_iter().for_each(|family| skip(name(family), test, false));
    there.into_iter().map(compiler).collect()
}

/// Whether clang can link programs under the sanitizers.
pub fn sanitizes() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| links_sanitized(&compiler(Family::Clang)))
}

/// Whether the compiler that the command finds can.
pub fn usual_sanitizes() -> bool {
    let usual = driver::toolchain::Compiler::find(None).ok();
    usual.is_some_and(|compiler| links_sanitized(&compiler.name()))
}

fn links_sanitized(compiler: &str) -> bool {
    let mut command = Command::new(compiler);
    command.args(["-fsanitize=address,undefined", "-x", "c", "-", "-o", "/dev/null"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.is_ok_and(|mut child| {
        let _ = child.stdin.take().map(|mut pipe| pipe.write_all(b"int main(void) { return 0; }"));
        child.wait().is_ok_and(|status| status.success())
    })
}

/// Whether there is such a program.
pub fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Notes that a test is skipped without this program; false if it is there. Rust counts such a test
/// as passed, `./dev` does not.
pub fn skipped_without(program: &str, test: &str) -> bool {
    let missing = !runs(program);
    if missing {
        skip(program, test, true);
    }
    missing
}

/// Notes that a test, or a part of one, was not run. `counted`: its harness counts it as passed.
pub fn skip(tool: &str, test: &str, counted: bool) {
    let line = format!("{tool}\t{test}\t{}\n", if counted { "counted" } else { "" });
    let Some(file) = std::env::var_os("LEE_SKIPS").filter(|file| !file.is_empty()) else {
        eprint!("skipped without {line}");
        return;
    };
    let written = std::fs::OpenOptions::new().create(true).append(true).open(file);
    written.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of skipped tests");
}
