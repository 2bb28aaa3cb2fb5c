//! Emits MIR text, compiles the C with each compiler that is there, and runs it.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

/// What emitted code is compiled with, and warnings that must not come.
pub const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Wno-unused",
    "-Wno-unused-parameter",
    "-Wno-unused-but-set-variable",
    "-Werror",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-delete-null-pointer-checks",
];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A directory for one test, under a common one for this run.
pub fn directory() -> PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("lee-emit-{}-{n}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// The compilers that are there. `./dev` says in the environment which (tests/tools.sh).
pub fn compilers() -> &'static [String] {
    static FOUND: OnceLock<Vec<String>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let runs = |cc: &String| Command::new(cc).arg("--version").output().is_ok_and(|o| o.status.success());
        let mut found = vec![];
        for (variable, usual, family) in [("LEE_TEST_GCC", "gcc", "gcc"), ("LEE_TEST_CLANG", "clang-19", "clang")] {
            match Some(std::env::var(variable).unwrap_or_else(|_| usual.to_string())).filter(runs) {
                Some(compiler) => found.push(compiler),
                None => skip(family, "emission", false),
            }
        }
        assert!(!found.is_empty(), "no C compiler: install gcc");
        found
    })
}

/// Whether the compiler is of clang's family.
pub fn is_clang(compiler: &str) -> bool {
    std::env::var("LEE_TEST_CLANG").map_or(compiler != "gcc", |clang| clang == compiler)
}

/// Notes for `./dev` that a test was not run because a tool is missing. `counted`: its harness
/// counts it as passed.
pub fn skip(tool: &str, test: &str, counted: bool) {
    let line = format!("{tool}\t{test}\t{}\n", if counted { "counted" } else { "" });
    match std::env::var_os("LEE_SKIPS").filter(|file| !file.is_empty()) {
        Some(file) => {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
            file.write_all(line.as_bytes()).unwrap();
        }
        None => eprint!("skipped without {line}"),
    }
}

pub fn emit(text: &str) -> String {
    let program = match mir::parse::program(text) {
        Ok(program) => program,
        Err(error) => panic!("{error}"),
    };
    emit_program(&program, text)
}

pub fn emit_program(program: &mir::ir::Program, text: &str) -> String {
    let map = source::SourceMap::new("test.mir", text.to_string());
    let options = emit_c::Options { debug: true, source_name: "test.mir".into(), ..Default::default() };
    emit_c::emit(program, &map, &options)
}

/// Runs a command; its standard output and error together, and its status.
pub fn run(command: &mut Command) -> (String, Option<i32>) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

/// The object of the tests' runtime, made once.
pub fn runtime() -> &'static PathBuf {
    static OBJECT: OnceLock<PathBuf> = OnceLock::new();
    OBJECT.get_or_init(|| {
        let object = directory().join("runtime.o");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/runtime.c");
        let include = root().join("runtime/include");
        let (text, status) = run(Command::new(&compilers()[0])
            .args(["-std=gnu11", "-c", "-I"])
            .arg(include)
            .arg(source)
            .arg("-o")
            .arg(&object));
        assert_eq!(status, Some(0), "{text}");
        object
    })
}

/// A `cc` command for emitted code with the include path and flags set.
pub fn cc(compiler: &str) -> Command {
    let mut command = Command::new(compiler);
    command.args(FLAGS).arg("-I").arg(root().join("runtime/include"));
    command
}

/// Compiles C text and links it with the tests' runtime.
pub fn build(compiler: &str, level: &str, dir: &Path, text: &str) -> Result<PathBuf, String> {
    build_with(compiler, &[level, "-g1"], dir, text)
}

/// The same with these flags.
pub fn build_with(compiler: &str, flags: &[&str], dir: &Path, text: &str) -> Result<PathBuf, String> {
    let source = dir.join("emitted.c");
    let program = dir.join(format!("program{}", flags.first().unwrap_or(&"")));
    std::fs::write(&source, text).unwrap();
    let mut command = cc(compiler);
    command.args(flags).arg(&source).arg(runtime()).arg("-o").arg(&program).arg("-lm");
    match run(&mut command) {
        (_, Some(0)) => Ok(program),
        (errors, _) => Err(errors),
    }
}
