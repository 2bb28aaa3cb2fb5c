//! `lee cc`: a C compiler for build systems that also takes `.lee` files.

mod arguments;
mod dependencies;

use crate::failure::{Failure, Outcome};
use crate::options::{verify_by_default, Format, Options};
use crate::pipeline::{Product, Until};
use crate::plain::{self, Job, Through};
use crate::scratch::Scratch;
use crate::session::Session;
use crate::{help, link, object, report, run_process};
use arguments::{Argument, Line, Stop};
use source::Sink;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Runs a gcc command line.
pub fn main(words: Vec<OsString>) -> Outcome<i32> {
    if words.is_empty() || words == ["--help"] {
        report::output(help::CC)?;
        return if words.is_empty() { Err(Failure::usage("no input files")) } else { Ok(0) };
    }
    let (words, through) = chosen_way(words)?;
    let (processes, words): (Vec<_>, Vec<_>) = words.into_iter().partition(|word| word == "--processes");
    let mut line = arguments::parse(words)?;
    if through != Through::Cc && matches!(line.stop, Stop::Link | Stop::Object | Stop::Assembly) {
        line.find_plain();
    }
    let leeward = line.arguments.iter().any(|a| matches!(a, Argument::Leeward(_) | Argument::PlainC(_)));
    let links = line.stop == Stop::Link && line.has_inputs() && !line.has_word(&["-r", "-nostdlib", "-nodefaultlibs"]);
    let session = Session::new(Options { processes: !processes.is_empty(), ..options(&line)? })?;
    match (leeward, links) {
        (false, false) => hand_on(&session, &line),
        (_, true) => link_program(&session, &line, through),
        (true, false) => each_file(&session, &line, through),
    }
}

/// Which way plain C takes, and the words without the one that says so.
fn chosen_way(words: Vec<OsString>) -> Outcome<(Vec<OsString>, Through)> {
    let mut through = Through::from_environment()?;
    let mut kept = vec![];
    for word in words {
        match word.to_string_lossy().strip_prefix("--c-through=") {
            Some(value) => through = Through::of(value)?,
            None => kept.push(word),
        }
    }
    Ok((kept, through))
}

impl Line {
    fn has_inputs(&self) -> bool {
        self.arguments.iter().any(|a| matches!(a, Argument::Leeward(_) | Argument::PlainC(_) | Argument::Input(_)))
    }

    /// What the C compiler is told about every source, in order.
    fn flags(&self) -> Vec<OsString> {
        let kept = self.arguments.iter().filter(|a| {
            matches!(a, Argument::Preprocessor(_) | Argument::Code(_) | Argument::Warning(_) | Argument::Other(_))
        });
        kept.flat_map(|a| a.words()).collect()
    }

    /// Files that Leeward compiles.
    fn sources(&self) -> usize {
        self.arguments.iter().filter(|a| matches!(a, Argument::Leeward(_) | Argument::PlainC(_))).count()
    }

    fn has_word(&self, names: &[&str]) -> bool {
        self.arguments.iter().flat_map(|a| a.words()).any(|word| names.iter().any(|name| word == *name))
    }

    fn output(&self) -> Option<&PathBuf> {
        self.arguments.iter().rev().find_map(|a| match a {
            Argument::Output(path) => Some(path),
            _ => None,
        })
    }

    fn dependency_words(&self) -> Vec<OsString> {
        self.arguments.iter().filter(|a| matches!(a, Argument::Dependency(_))).flat_map(|a| a.words()).collect()
    }

    /// Flags that all objects of a program must agree on.
    fn variant(&self) -> Vec<String> {
        let position_independent = self.has_word(&["-shared", "-fPIC", "-fpic"]);
        let code = self.arguments.iter().filter_map(|a| match a {
            Argument::Code(words) => words.first(),
            _ => None,
        });
        let mut flags: Vec<String> =
            code.map(|w| w.to_string_lossy().into_owned()).filter(|w| w.starts_with("-fsanitize")).collect();
        flags.extend(position_independent.then(|| "-fPIC".to_string()));
        flags
    }
}

/// What the line asks of `.lee` files.
fn options(line: &Line) -> Outcome<Options> {
    let mut options = Options { format: Format::Gcc, verify: verify_by_default(), ..Options::default() };
    for argument in &line.arguments {
        match argument {
            Argument::Preprocessor(words) => options.preprocessor.extend(words.iter().cloned()),
            Argument::Code(words) => {
                let flag = words.first().map(|w| w.to_string_lossy().into_owned()).unwrap_or_default();
                let leeward = line.arguments.iter().any(|a| matches!(a, Argument::Leeward(_)));
                if leeward && CHANGES_TYPES.iter().any(|bad| flag.starts_with(bad)) {
                    return Err(Failure::error(format!(
                        "'{flag}' changes how types are laid out; .lee files cannot be compiled with it"
                    )));
                }
                options.code.push(if flag == "-Ofast" { "-O3".to_string() } else { flag });
            }
            Argument::Warning(word) => match &*word.to_string_lossy() {
                "-w" => options.no_warnings = true,
                other => options.warnings.extend(other.strip_prefix("-W").map(str::to_string)),
            },
            _ => {}
        }
    }
    if !options.code.iter().any(|flag| flag.starts_with("-g")) {
        // Backtraces need line numbers.
        options.code.insert(0, "-g1".to_string());
    }
    if !options.code.iter().any(|flag| flag.starts_with("-O")) {
        options.code.insert(0, "-O0".to_string());
    }
    Ok(options)
}

/// Flags that would break what the compiler knows about the machine.
const CHANGES_TYPES: &[&str] = &[
    "-m32",
    "-m16",
    "-mx32",
    "-mabi=",
    "-funsigned-char",
    "-fno-signed-char",
    "-fshort-enums",
    "-fpack-struct",
    "-fshort-wchar",
    "-mlong-double",
    "-funsigned-bitfields",
    "-mms-bitfields",
    "-fshort-double",
    "-mno-sse",
];

/// Nothing for us to do: the C compiler takes over.
fn hand_on(session: &Session, line: &Line) -> Outcome<i32> {
    let error = session.compiler.command().args(line.arguments.iter().flat_map(|a| a.words())).exec();
    Err(Failure::file("run", Path::new(&session.compiler.name()), &error))
}

/// Compiles the `.lee` files and puts their objects in their place on the linker's line.
fn link_program(session: &Session, line: &Line, through: Through) -> Outcome<i32> {
    session.expect_processes(line.arguments.iter().filter_map(|argument| match argument {
        Argument::Leeward(file) | Argument::PlainC(file) => Some(file.as_path()),
        _ => None,
    }));
    let scratch = Scratch::new()?;
    let mut words: Vec<OsString> = vec![];
    let mut compiling = vec![];
    let mut made = vec![];
    let mut language: Option<Vec<OsString>> = None;
    for (number, argument) in line.arguments.iter().enumerate() {
        match argument {
            Argument::Leeward(file) => {
                let object = scratch.file(&format!("{number}.o"));
                let target = line.output().map_or_else(|| PathBuf::from("a.out"), Clone::clone);
                let dependencies =
                    dependencies::request(&line.dependency_words(), file, &target, line.output().is_some())?;
                compiling.push(start(session, file, "-c", object.as_os_str(), &dependencies)?);
                words.extend(language.iter().flat_map(|_| ["-x".into(), "none".into()]));
                made.push((object.clone(), file.clone()));
                words.push(object.into());
                words.extend(language.iter().flatten().cloned());
            }
            Argument::PlainC(file) => {
                let object = scratch.file(&format!("{number}.o"));
                let target = line.output().map_or_else(|| PathBuf::from("a.out"), Clone::clone);
                let dependencies =
                    dependencies::request(&line.dependency_words(), file, &target, line.output().is_some())?;
                plain_c(session, line, file, "-c", &object, &dependencies, through)?;
                words.extend(language.iter().flat_map(|_| ["-x".into(), "none".into()]));
                words.push(object.into());
                words.extend(language.iter().flatten().cloned());
            }
            Argument::Language(said) => {
                language = (!said.concat().to_string_lossy().contains("none")).then(|| said.clone());
                words.extend(said.iter().cloned());
            }
            other => words.extend(other.words()),
        }
    }
    let all = session.several();
    let mut spawns = false;
    for (child, does) in compiling {
        child.finish()?;
        spawns |= does;
    }
    if (spawns || all) && line.has_word(&["-shared"]) {
        return Err(Failure::error(
            "a shared library has no processes: its variables would be those of the program that loads it, once for all processes; link the objects into the program",
        ));
    }
    if spawns && !all && line.sources() > 1 {
        session.processes.store(true, Ordering::Relaxed);
        return link_program(session, line, through);
    }
    words.extend(link::runtime_words(session, &line.variant())?);
    link::link(session, &words, &made)?;
    Ok(0)
}

trait Concat {
    fn concat(&self) -> OsString;
}

impl Concat for Vec<OsString> {
    fn concat(&self) -> OsString {
        self.iter().fold(OsString::new(), |mut all, word| {
            all.push(word);
            all
        })
    }
}

/// `-c`, `-S`, `-E`: each file for itself.
fn each_file(session: &Session, line: &Line, through: Through) -> Outcome<i32> {
    let is_input = |a: &&Argument| matches!(a, Argument::Leeward(_) | Argument::PlainC(_) | Argument::Input(_));
    let inputs = line.arguments.iter().filter(is_input).count();
    if inputs > 1 && line.output().is_some() {
        return Err(Failure::usage("cannot specify '-o' with '-c', '-S' or '-E' with multiple files"));
    }
    let mut compiling = vec![];
    for argument in &line.arguments {
        let (file, plain) = match argument {
            Argument::Leeward(file) => (file, false),
            Argument::PlainC(file) => (file, true),
            _ => continue,
        };
        match line.stop {
            Stop::Preprocessed => preprocess(session, line, file)?,
            stop => {
                let (kind, ending) = if stop == Stop::Assembly { ("-S", "s") } else { ("-c", "o") };
                let output = match line.output() {
                    Some(output) => output.clone(),
                    None => Path::new(file.file_name().unwrap_or_default()).with_extension(ending),
                };
                let dependencies =
                    dependencies::request(&line.dependency_words(), file, &output, line.output().is_some())?;
                if plain {
                    plain_c(session, line, file, kind, &output, &dependencies, through)?;
                } else {
                    compiling.push(start(session, file, kind, output.as_os_str(), &dependencies)?);
                }
            }
        }
    }
    for (child, _) in compiling {
        child.finish()?;
    }
    let others = line.arguments.iter().any(|a| matches!(a, Argument::Input(_)));
    if !others {
        return Ok(0);
    }
    let rest = line.arguments.iter().filter(|a| !matches!(a, Argument::Leeward(_) | Argument::PlainC(_)));
    let status = session.compiler.command().args(rest.flat_map(|a| a.words())).status();
    status.map(run_process::status_of).map_err(|e| Failure::file("run", Path::new(&session.compiler.name()), &e))
}

/// Compiles a file of plain C.
fn plain_c(
    session: &Session,
    line: &Line,
    file: &Path,
    kind: &str,
    output: &Path,
    dependencies: &dependencies::Request,
    through: Through,
) -> Outcome<()> {
    let flags = line.flags();
    let job = Job { file, flags: &flags, dependencies: &dependencies.words, kind, output, through, second_look: true };
    plain::compile(session, &job)
}

/// Starts to compile a file of Leeward. Also gives whether it spawns processes.
fn start(
    session: &Session,
    file: &Path,
    kind: &str,
    output: &OsStr,
    dependencies: &dependencies::Request,
) -> Outcome<(object::Compiling, bool)> {
    let Product::C(c, spawns) = session.compile(file, Until::C, &dependencies.words)? else {
        return Err(Failure::reported());
    };
    dependencies.clean(&session.home.root)?;
    Ok((object::start(session, c, file, kind, output)?, spawns))
}

/// `-E`, `-M`, `-MM`.
fn preprocess(session: &Session, line: &Line, file: &Path) -> Outcome<()> {
    let mut sink = Sink::default();
    let map = session.preprocess(file, &line.dependency_words(), &mut sink)?;
    if report::diagnostics(&session.options, &map, &sink)? {
        return Err(Failure::reported());
    }
    let text = &map.text;
    match line.output() {
        Some(output) if output != Path::new("-") => {
            std::fs::write(output, text).map_err(|e| Failure::file("write", output, &e))
        }
        _ => report::output(text),
    }
}
