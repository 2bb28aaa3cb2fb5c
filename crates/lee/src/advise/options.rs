//! The command line of `lee advise`.

use crate::failure::{Failure, Outcome};
use advise::options::Options;
use advise::unit::Source;
use lexopt::{Arg, Parser, ValueExt};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the command line says.
pub enum Parsed {
    /// Print the help.
    Help,
    /// Do it.
    Work(Box<Wanted>),
}

/// How findings are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// For people.
    #[default]
    Human,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0.
    Sarif,
}

/// What to do.
#[derive(Default)]
pub struct Wanted {
    /// The files, with their flags.
    pub sources: Vec<Source>,
    /// For the analysis.
    pub options: Options,
    /// `--cc`
    pub cc: Option<String>,
    /// `--explain`
    pub explain: bool,
    /// `--patch`
    pub patch: Option<PathBuf>,
    /// `--apply`
    pub apply: bool,
    /// `--verify`
    pub verify: Option<String>,
    /// `--measure`
    pub measure: Option<String>,
    /// `--message-format`
    pub format: Format,
    /// `--deny`
    pub deny: bool,
}

/// Reads the words after `advise`.
pub fn parse(words: Vec<OsString>) -> Outcome<Parsed> {
    let wrong = |e: lexopt::Error| Failure::usage(format!("{e}; see 'lee help advise'"));
    // What follows `--` is for the C compiler.
    let cut = words.iter().position(|w| w == "--").unwrap_or(words.len());
    let flags: Vec<OsString> = words.iter().skip(cut + 1).cloned().collect();
    let mut wanted = Wanted::default();
    let mut files: Vec<PathBuf> = vec![];
    let mut sources: Vec<Source> = vec![];
    let mut parser = Parser::from_args(words.into_iter().take(cut));
    while let Some(arg) = parser.next().map_err(wrong)? {
        let number = |parser: &mut Parser| -> Outcome<u64> {
            let value = parser.value().map_err(wrong)?;
            let text = value.to_string_lossy().into_owned();
            text.parse()
                .map_err(|_| Failure::usage(format!("'{text}' is not a number of bytes; see 'lee help advise'")))
        };
        match arg {
            Arg::Value(file) => files.push(file.into()),
            Arg::Short('h') | Arg::Long("help") => return Ok(Parsed::Help),
            Arg::Short('p') => {
                let mut path = PathBuf::from(parser.value().map_err(wrong)?);
                if path.is_dir() {
                    path.push("compile_commands.json");
                }
                let beside = path.parent().unwrap_or(Path::new(""));
                let found = advise::compile_commands::sources(&super::read(&path)?, beside);
                sources.extend(found.map_err(|e| Failure::error(format!("{}: {e}", path.display())))?);
            }
            Arg::Long("cc") => wanted.cc = Some(parser.value().and_then(|v| v.string()).map_err(wrong)?),
            Arg::Long("max-size") => wanted.options.max_size = number(&mut parser)?,
            Arg::Long("hybrid-size") => wanted.options.hybrid_size = number(&mut parser)?,
            Arg::Long("stack-budget") => wanted.options.stack_budget = number(&mut parser)?,
            Arg::Long("jobs") | Arg::Short('j') => wanted.options.jobs = number(&mut parser)? as usize,
            Arg::Long("whole-program") => wanted.options.whole_program = true,
            Arg::Long("infer-allocators") => wanted.options.infer_allocators = true,
            Arg::Long("explain") => wanted.explain = true,
            Arg::Long("patch") => wanted.patch = Some(parser.value().map_err(wrong)?.into()),
            Arg::Long("verify") => wanted.verify = Some(parser.value().and_then(|v| v.string()).map_err(wrong)?),
            Arg::Long("measure") => wanted.measure = Some(parser.value().and_then(|v| v.string()).map_err(wrong)?),
            Arg::Long("apply") => wanted.apply = true,
            Arg::Long("message-format") => {
                let word = parser.value().and_then(|v| v.string()).map_err(wrong)?;
                wanted.format = match &*word {
                    "human" => Format::Human,
                    "json" => Format::Json,
                    "sarif" => Format::Sarif,
                    _ => return Err(Failure::usage(format!("--message-format is human, json or sarif, not '{word}'"))),
                };
            }
            Arg::Long("deny") => wanted.deny = true,
            Arg::Long("allocators") => {
                let path = PathBuf::from(parser.value().map_err(wrong)?);
                let text = super::read(&path)?;
                let read = wanted.options.table.read(&text);
                read.map_err(|e| Failure::error(format!("{}: {e}", path.display())))?;
            }
            other => return Err(wrong(other.unexpected())),
        }
    }
    if files.is_empty() && sources.is_empty() {
        return Err(Failure::usage("advise needs files of C or Leeward to read; see 'lee help advise'"));
    }
    let tries = wanted.verify.is_some() || wanted.measure.is_some();
    wanted.options.patches = wanted.patch.is_some() || wanted.apply || wanted.format != Format::Human || tries;
    let source = |file: PathBuf| Source { file, flags: flags.clone(), folder: None };
    wanted.sources = sources.into_iter().chain(files.into_iter().map(source)).collect();
    Ok(Parsed::Work(Box::new(wanted)))
}
