//! The command line of `lee run`, `build` and `check`.

use crate::failure::{Failure, Outcome};
use crate::help;
use crate::toolchain::Profile;
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::path::PathBuf;

/// A stage whose result can be printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emit {
    /// Syntax tree.
    Ast,
    /// Typed tree.
    Types,
    /// MIR after the analyses.
    Mir,
    /// The module's header, for C and Leeward.
    Header,
    /// Run-time checks that remain, and why.
    Checks,
    /// C.
    C,
}

/// Whether to colour messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Color {
    /// On a terminal only.
    #[default]
    Auto,
    /// Also in files.
    Always,
    /// Nowhere.
    Never,
}

/// How diagnostics are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// For people, on standard error.
    #[default]
    Text,
    /// One JSON object a line, on standard output.
    Json,
    /// As gcc writes them: one line each, on standard error.
    Gcc,
}

/// Something that the linker sees, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A source, object or library file.
    File(PathBuf),
    /// An option for the linker (`-lm`, `-Ldir`).
    Link(OsString),
}

/// What is common to all commands that compile.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Nothing is inferred that `--fix` could write.
    pub words_wanted: bool,
    /// `--cc`
    pub cc: Option<String>,
    /// `--release`
    pub profile: Profile,
    /// `--color`
    pub color: Color,
    /// `--message-format`
    pub format: Format,
    /// `--time-passes`
    pub time_passes: bool,
    /// `--verify`
    pub verify: bool,
    /// `--emit`
    pub emit: Option<Emit>,
    /// `--no-check-removal`
    pub keep_checks: bool,
    /// `--stack-promote`
    pub stack_promote: Option<u64>,
    /// `--stack-notes`
    pub stack_notes: bool,
    /// `--fix`: edits that are at least so sure are made.
    pub fix: Option<source::Applicability>,
    /// `lee port --report`: nothing is written.
    pub report: bool,
    /// `--interpret`
    pub interpret: bool,
    /// `--interpret=transformed`: what the transforms made of it.
    pub interpret_transformed: bool,
    /// `--interpret=bypass`: whatever the analyses report. For tests of the oracle.
    pub interpret_bypass: bool,
    /// `--steps`
    pub steps: Option<u64>,
    /// `--single`
    pub single: bool,
    /// `--processes`
    pub processes: bool,
    /// `--no-gc`
    pub no_gc: bool,
    /// `-I`, `-D`, `-U`, `-include`, `-isystem`, as the preprocessor takes them.
    pub preprocessor: Vec<OsString>,
    /// More flags for the compilation of emitted C, before ours.
    pub code: Vec<String>,
    /// `--sanitize`
    pub sanitize: Option<String>,
    /// `-W...`, without the `-W`.
    pub warnings: Vec<String>,
    /// `-w`
    pub no_warnings: bool,
    /// `-o`
    pub output: Option<PathBuf>,
    /// Files and linker options.
    pub items: Vec<Item>,
    /// Arguments of the program that is run.
    pub arguments: Vec<OsString>,
}

impl Options {
    /// The files.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.items.iter().filter_map(|item| match item {
            Item::File(path) => Some(path),
            Item::Link(_) => None,
        })
    }

    /// Whether files are changed.
    pub fn fixes(&self) -> bool {
        self.fix.is_some()
    }

    /// The flags that the runtime and the program must agree on.
    pub fn variant(&self) -> Vec<String> {
        let sanitize = self.sanitize.iter().map(|list| format!("-fsanitize={list}"));
        sanitize.chain(self.no_gc.then(|| "-DLEE_NO_GC".to_string())).collect()
    }
}

/// Whether MIR is verified without being asked: where bugs are looked for.
pub fn verify_by_default() -> bool {
    cfg!(debug_assertions) || std::env::var_os("LEE_VERIFY").is_some_and(|v| !v.is_empty())
}

/// Which command the options are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// `lee run`
    Run,
    /// `lee build`
    Build,
    /// `lee check`
    Check,
    /// `lee port`
    Port,
}

impl Command {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Command::Run => "run",
            Command::Build => "build",
            Command::Check => "check",
            Command::Port => "port",
        }
    }
}

/// What the command line asks for.
pub enum Parsed {
    /// To print this text.
    Help(&'static str),
    /// To work.
    Work(Box<Options>),
}

/// Reads the arguments after the command's name.
pub fn parse(command: Command, arguments: Vec<OsString>) -> Outcome<Parsed> {
    let wrong = |why: String| Failure::usage(format!("{why}; see 'lee help {}'", command.name()));
    let mut parser = Parser::from_args(arguments);
    let mut options = Options { verify: verify_by_default(), ..Options::default() };
    loop {
        let argument = match parser.next() {
            Ok(Some(argument)) => argument,
            Ok(None) => break,
            Err(error) => return Err(wrong(error.to_string())),
        };
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Parsed::Help(help::of(command))),
            Arg::Value(file) => {
                options.items.push(Item::File(PathBuf::from(file)));
                if command == Command::Run {
                    let rest = parser.raw_args().map_err(|e| wrong(e.to_string()))?;
                    options.arguments = rest.collect();
                }
            }
            option => {
                // The option borrows the parser, so its name is kept as text.
                let name = match &option {
                    Arg::Long(name) => format!("--{name}"),
                    Arg::Short(letter) => format!("-{letter}"),
                    Arg::Value(_) => String::new(),
                };
                set(command, &mut options, &name, &mut parser).map_err(|e| wrong(e.to_string()))?;
            }
        }
    }
    if options.files().next().is_none() {
        return Err(wrong("no file is named".to_string()));
    }
    Ok(Parsed::Work(Box::new(options)))
}

/// Sets one option.
fn set(command: Command, options: &mut Options, name: &str, parser: &mut Parser) -> Result<(), lexopt::Error> {
    let links = matches!(command, Command::Run | Command::Build);
    let joined = |flag: &str, value: OsString| {
        let mut text = OsString::from(flag);
        text.push(value);
        text
    };
    match name {
        "-I" | "-D" | "-U" => options.preprocessor.push(joined(name, parser.value()?)),
        // The standard of plain C, spelled as gcc does: `-std=gnu11`.
        "-s" => {
            let word = joined(name, parser.value()?);
            if !word.as_encoded_bytes().starts_with(b"-std=") {
                return Err(format!("unknown option '{}'", word.to_string_lossy()).into());
            }
            options.preprocessor.push(word);
        }
        "--include" | "--isystem" => {
            // The preprocessor spells them with one dash.
            options.preprocessor.extend([OsString::from(&name[1..]), parser.value()?]);
        }
        "-l" | "-L" if links => {
            let flag = joined(name, parser.value()?);
            options.items.push(Item::Link(flag));
        }
        "-o" | "--output" if command == Command::Build => options.output = Some(parser.value()?.into()),
        "--release" if links => options.profile = Profile::Release,
        "--sanitize" if links => options.sanitize = Some(parser.value()?.string()?),
        "-W" => options.warnings.push(known_warning(parser.value()?.string()?)?),
        "-w" => options.no_warnings = true,
        "--cc" => options.cc = Some(parser.value()?.string()?),
        "--time-passes" => options.time_passes = true,
        "--verify" => options.verify = true,
        "--no-check-removal" => options.keep_checks = true,
        "--stack-promote" => {
            let said = parser.value()?.string()?;
            // A frame takes eight such objects, and a stack of 256 KB some frames.
            let bytes = said.parse().ok().filter(|n| *n <= 1024);
            options.stack_promote =
                Some(bytes.ok_or_else(|| format!("--stack-promote takes bytes, 0 to 1024, not '{said}'"))?);
        }
        "--stack-notes" => options.stack_notes = true,
        "--interpret" if command == Command::Run => {
            options.interpret = true;
            // The value is optional, so it follows `=`.
            let how = parser.optional_value().map(|v| v.string()).transpose()?;
            match how.as_deref() {
                None => {}
                Some("transformed") => options.interpret_transformed = true,
                Some("bypass") => options.interpret_bypass = true,
                Some(other) => {
                    return Err(format!("--interpret may say 'transformed', not '{other}'").into());
                }
            }
        }
        "--fix" if command == Command::Check => {
            // The value is optional, so it follows `=`.
            let how = parser.optional_value().map(|v| v.string()).transpose()?;
            options.fix = Some(match how.as_deref() {
                None | Some("sure") => source::Applicability::Sure,
                Some("likely") => source::Applicability::Likely,
                Some(other) => return Err(format!("--fix may say 'sure' or 'likely', not '{other}'").into()),
            });
        }
        "--report" if command == Command::Port => options.report = true,
        "--steps" if command == Command::Run => {
            let said = parser.value()?.string()?;
            let steps = said.parse().map_err(|_| format!("--steps takes a number, not '{said}'"))?;
            options.steps = Some(steps);
        }
        "--single" => options.single = true,
        "--processes" => options.processes = true,
        "--no-gc" => options.no_gc = true,
        "--color" => {
            options.color =
                choice(name, parser, &[("auto", Color::Auto), ("always", Color::Always), ("never", Color::Never)])?;
        }
        "--message-format" => {
            options.format =
                choice(name, parser, &[("text", Format::Text), ("json", Format::Json), ("gcc", Format::Gcc)])?;
        }
        "--emit" if matches!(command, Command::Build | Command::Check) => {
            let stages = [
                ("ast", Emit::Ast),
                ("types", Emit::Types),
                ("mir", Emit::Mir),
                ("checks", Emit::Checks),
                ("c", Emit::C),
                ("header", Emit::Header),
            ];
            options.emit = Some(choice(name, parser, &stages)?);
        }
        _ => return Err(format!("unknown option '{name}'").into()),
    }
    Ok(())
}

/// Warnings with a name of their own, beside the codes.
const WARNINGS: &[&str] = &["leak", "free-shared", "shared-variables"];

/// What follows `-W`: `no-` and the name of a warning.
fn known_warning(said: String) -> Result<String, lexopt::Error> {
    let name = said.strip_prefix("no-").unwrap_or_default();
    if WARNINGS.contains(&name) || crate::commands::codes().iter().any(|code| code.id.eq_ignore_ascii_case(name)) {
        return Ok(said);
    }
    let names: Vec<String> = WARNINGS.iter().map(|name| format!("no-{name}")).collect();
    Err(format!("-W takes {} or no- and a code (no-L0601), not '{said}'", names.join(", ")).into())
}

/// The value of an option that has a few.
fn choice<T: Copy>(name: &str, parser: &mut Parser, values: &[(&str, T)]) -> Result<T, lexopt::Error> {
    let said = parser.value()?.string()?;
    match values.iter().find(|(word, _)| *word == said) {
        Some((_, value)) => Ok(*value),
        None => {
            let words: Vec<&str> = values.iter().map(|(word, _)| *word).collect();
            Err(format!("{name} is one of {}, not '{said}'", words.join(", ")).into())
        }
    }
}
