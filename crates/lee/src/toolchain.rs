//! The C compiler: finding it, and the flags that Leeward's semantics need (docs/internals/abi.md).

use crate::failure::{Failure, Outcome};
use crate::hash::Hash;
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which family of options the compiler takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// GNU.
    Gcc,
    /// LLVM.
    Clang,
}

/// What a program runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// AMD's and Intel's.
    X86_64,
    /// ARM's.
    Aarch64,
}

/// A C compiler that was found.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The program, and arguments that always stand first (`ccache gcc`).
    pub program: Vec<OsString>,
    /// Its family.
    pub family: Family,
    /// What it makes programs for.
    pub machine: Machine,
    /// Changes when the compiler does.
    pub identity: String,
}

/// How fast and how debuggable the result is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Profile {
    /// Steps in a debugger like the source.
    #[default]
    Debug,
    /// Optimised.
    Release,
}

impl Compiler {
    /// Finds the compiler: the one named, else `LEE_CC`, else the first of cc, gcc, clang, and
    /// versioned names of these.
    pub fn find(named: Option<&str>) -> Outcome<Compiler> {
        let from_env = env::var("LEE_CC").ok().filter(|v| !v.trim().is_empty());
        match named.map(str::to_string).or(from_env) {
            Some(name) => Compiler::named(&name),
            None => usual_names().iter().find_map(|name| Compiler::at(&[name])).ok_or_else(|| {
                Failure::error(
                    "no C compiler was found (cc, gcc or clang): install one, or name it with --cc or LEE_CC",
                )
            }),
        }
    }

    /// A name or path, or several words (`ccache gcc`).
    fn named(name: &str) -> Outcome<Compiler> {
        let words: Vec<&str> = name.split_whitespace().collect();
        Compiler::at(&[name]).or_else(|| Compiler::at(&words)).ok_or_else(|| {
            Failure::error(format!(
                "the C compiler '{name}' was not found: install it, or name another with --cc or LEE_CC"
            ))
        })
    }

    fn at(words: &[&str]) -> Option<Compiler> {
        let (first, rest) = words.split_first()?;
        let path = which(first)?;
        let real = path.canonicalize().ok()?;
        let own = env::current_exe().and_then(|exe| exe.canonicalize()).ok();
        if own.as_deref() == Some(&real) {
            return None;
        }
        let mut hash = Hash::default();
        for word in words {
            hash.field(word.as_bytes());
        }
        hash.field(real.as_os_str().as_encoded_bytes());
        let meta = real.metadata().ok()?;
        for number in [meta.len() as i64, meta.mtime(), meta.mtime_nsec()] {
            hash.field(&number.to_le_bytes());
        }
        let mut program = vec![path.into_os_string()];
        program.extend(rest.iter().map(OsString::from));
        let family = family(&real, &program);
        let machine = machine(&real, words, &program);
        if machine == Machine::Aarch64 {
            program.push("-fsigned-char".into()); // as on x86-64: a program does the same on both
        }
        Some(Compiler { program, family, machine, identity: hash.name() })
    }

    /// The flags of a profile.
    pub fn flags(&self, profile: Profile) -> &'static [&'static str] {
        match (profile, self.family) {
            // A `#line` says which line of the source a line of C stands for, not which column:
            // columns of the C would be taken for it. With gcc's -Og and -O1 most locals are
            // `optimized out` in gdb, and compiling takes half as long again.
            (Profile::Debug, _) => &["-O0", "-g", "-gno-column-info"],
            // At -O2, clang vectorises each loop that it takes to gain, gcc only those that need no
            // code for numbers of turns that do not fit.
            (Profile::Release, Family::Gcc) => {
                &["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-g1", "-gno-column-info"]
            }
            (Profile::Release, Family::Clang) => &["-O2", "-g1", "-gno-column-info"],
        }
    }

    /// A command that runs it.
    pub fn command(&self) -> Command {
        let mut words = self.program.iter();
        let mut command = Command::new(words.next().map_or(OsStr::new("cc"), |w| w));
        command.args(words);
        command
    }

    /// Its name for messages.
    pub fn name(&self) -> String {
        self.program.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// What every piece of emitted C and the runtime is compiled with: the defined semantics
    /// (wrapping, untyped memory), traps that cannot be optimised away, and frames that a backtrace
    /// can walk.
    pub fn semantics(&self) -> Vec<&'static str> {
        let mut flags = vec![
            "-fwrapv",
            "-fno-strict-aliasing",
            "-fno-delete-null-pointer-checks",
            "-fstack-clash-protection",
            "-fno-omit-frame-pointer",
            // A call in place of a return would leave the function out of backtraces, and a fault
            // without its place.
            "-fno-optimize-sibling-calls",
            "-fno-fast-math",
            "-ffp-contract=off",
        ];
        // Pointers may pass the ends of memory and come back, which no check minds. From clang 20 on
        // `-fwrapv` is about numbers only; gcc takes no flag as saying this of pointers, and counts
        // by them how often a loop can turn.
        if self.family == Family::Clang {
            flags.push("-fno-finite-loops");
            flags.push("-fno-strict-overflow");
        } else {
            flags.push("-fno-aggressive-loop-optimizations");
        }
        flags.push("-mno-omit-leaf-frame-pointer");
        match self.machine {
            Machine::X86_64 => flags.push("-fcf-protection=none"),
            // Backtraces read return addresses as they are.
            Machine::Aarch64 => flags.push("-mbranch-protection=none"),
        }
        if self.machine == Machine::Aarch64 && self.family == Family::Gcc {
            // Frames are probed page by page. gcc assumes guards of 64 KB there; those of tasks are
            // smaller.
            flags.push("--param=stack-clash-protection-guard-size=12");
        }
        flags
    }

    /// What else emitted C is compiled with.
    pub fn inlining(&self) -> Option<&'static str> {
        // Short functions are offered for inlining. Of one that calls itself gcc would put eight
        // copies into each other.
        (self.family == Family::Gcc).then_some("--param=max-inline-recursive-depth=0")
    }
}

/// What compilers are called. Some machines have only a name with a version.
fn usual_names() -> Vec<String> {
    let plain = ["cc", "gcc", "clang"].map(String::from);
    let gcc = (10..25).rev().map(|version| format!("gcc-{version}"));
    let clang = (14..30).rev().map(|version| format!("clang-{version}"));
    plain.into_iter().chain(gcc).chain(clang).collect()
}

/// The program of that name or path, as the shell would find it.
fn which(name: &str) -> Option<PathBuf> {
    let runs = |path: &Path| path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        let path = PathBuf::from(name);
        return runs(&path).then_some(path);
    }
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| runs(path))
}

/// By the names of its programs, which cross compilers begin with it; a wrapper is asked.
fn machine(real: &Path, words: &[&str], program: &[OsString]) -> Machine {
    let file = real.file_name().unwrap_or_default().to_string_lossy();
    let names = words.iter().map(|word| word.rsplit('/').next().unwrap_or(word)).chain([&*file]);
    let mut said: String = names.collect::<Vec<_>>().join(" ");
    let plain = program.len() == 1 && (file.contains("clang") || file.contains("gcc"));
    if !plain && !said.contains("aarch64") && !said.contains("x86_64") {
        said = answer(program, "-dumpmachine");
    }
    let native = cfg!(target_arch = "aarch64") && !said.contains("x86_64");
    if native || said.contains("aarch64") {
        Machine::Aarch64
    } else {
        Machine::X86_64
    }
}

/// What the compiler prints for that option.
fn answer(program: &[OsString], option: &str) -> String {
    let mut words = program.iter();
    let mut command = Command::new(words.next().map_or(OsStr::new("cc"), |w| w));
    let said = command.args(words).arg(option).output().map(|out| out.stdout).unwrap_or_default();
    String::from_utf8_lossy(&said).into_owned()
}

/// By the program's name; a wrapper is asked.
fn family(real: &Path, program: &[OsString]) -> Family {
    let file = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if program.len() == 1 && file.contains("clang") {
        return Family::Clang;
    }
    if program.len() == 1 && file.contains("gcc") {
        return Family::Gcc;
    }
    if answer(program, "--version").contains("clang") {
        Family::Clang
    } else {
        Family::Gcc
    }
}
