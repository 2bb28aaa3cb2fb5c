//! The accepted programs of the repository, preprocessed once.

use crate::judge::{judge, Accepted, Judge, Ran, Verdict};
use crate::prune;
use crate::sites::{self, Sites};
use driver::home::files_below;
use driver::options::Options;
use driver::pipeline::{Settings, Until};
use driver::session::Session;
use source::{Sink, SourceMap, Symbol};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use syntax::{Dialect, ParseOptions};

/// Words of a program that the oracle cannot judge.
const STRANGE: &[&str] = &["unsafe", "trusted", "extern \"C\"", "asm"];

/// Functions of a library whose runs touch files, or whose output changes from run to run.
const OUTSIDE: &[&str] = &[
    "system",
    "popen",
    "remove",
    "unlink",
    "rename",
    "rmdir",
    "mkdir",
    "chdir",
    "fopen",
    "freopen",
    "tmpfile",
    "opendir",
    "execv",
    "execvp",
    "open",
    "creat",
    "truncate",
    "chmod",
    "time",
    "clock",
    "rand",
    "getenv",
    "setenv",
    "fork",
    "raise",
    "signal",
    "alarm",
    "sleep",
    "setjmp",
    "file_open",
    "socket",
    "socketpair",
    "descriptor_socket",
    "accept",
    "connect",
    "mkfifo",
    "pipe",
    "getpid",
    "gettimeofday",
    "clock_gettime",
    "symlink",
    "link",
];

/// Statements that a program may run to be taken.
const STEPS: u64 = 400_000;

/// A program that is accepted, runs, and about which nothing is reported.
pub struct Program {
    pub file: PathBuf,
    /// Its lines of `#include`, for people to read.
    pub includes: String,
    /// The preprocessed text.
    pub text: String,
    /// Where its own text begins.
    pub own: u32,
    pub sites: Sites,
    pub settings: Settings,
    pub input: Vec<u8>,
    pub arguments: Vec<Vec<u8>>,
    pub base: Accepted,
}

impl Program {
    /// How it and its mutants are judged.
    pub fn judge(&self) -> Judge<'_> {
        let steps = 20_000 + 4 * self.base.steps;
        Judge {
            settings: &self.settings,
            own: self.own,
            input: &self.input,
            arguments: &self.arguments,
            steps,
            transformed: true,
        }
    }

    /// A mutant for people: with the lines of `#include`, without the headers.
    pub fn shown(&self, text: &str) -> String {
        let own = &text[self.own as usize..];
        let lines = own.lines().filter(|line| !is_marker(line) && !line.trim().is_empty());
        lines.fold(self.includes.clone(), |all, line| all + line + "\n")
    }
}

/// Whether the line is the preprocessor's.
pub fn is_marker(line: &str) -> bool {
    line.strip_prefix("# ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// All programs. Each is made when it is first asked for.
pub struct Corpus {
    files: Vec<PathBuf>,
    programs: Vec<OnceLock<Option<Arc<Program>>>>,
    /// Programs about which something is reported as they are.
    pub wrong: Mutex<Vec<String>>,
}

impl Corpus {
    /// These files, or all of the repository.
    pub fn new(mut files: Vec<PathBuf>) -> Corpus {
        if files.is_empty() {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository");
            for folder in ["tests/run", "tests/rules", "tests/library", "tests/attack", "tests/fault", "examples"] {
                files_below(&root.join(folder), &mut files);
            }
            files.retain(|f| f.extension().is_some_and(|e| e == "lee"));
            files.sort();
        }
        let programs = files.iter().map(|_| OnceLock::new()).collect();
        Corpus { files, programs, wrong: Mutex::default() }
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// A program, unless its file is none that is taken.
    pub fn program(&self, number: usize, session: &Session) -> Option<Arc<Program>> {
        let make = || self.load(&self.files[number], session).map(Arc::new);
        self.programs[number].get_or_init(make).clone()
    }

    fn load(&self, file: &Path, session: &Session) -> Option<Program> {
        let source = fs::read_to_string(file).ok()?;
        let word = |word: &&&str| words(&source).any(|w| w == **word) || word.contains(' ') && source.contains(**word);
        let directive = |name: &str| directives(&source, name);
        if STRANGE.iter().any(|w| word(&w)) || !directive("reject").is_empty() || !directive("env").is_empty() {
            return None;
        }
        if source.contains("%p") || source.contains("execv") {
            return None;
        }
        let (text, own, settings) = preprocessed(file, session, &mut Sink::default())?;
        let unit = parsed(&SourceMap::new("mutant.lee", text.clone()), &settings, &mut Sink::default());
        let (small, small_own) = prune::pruned(&text, own, &unit);
        // If something that is needed is gone, then with all headers.
        match self.taken(file, &source, small, small_own, &settings) {
            Some(program) => program,
            None => self.taken(file, &source, text, own, &settings).flatten(),
        }
    }

    /// `None` if the text is not accepted; `Some(None)` if it is, and is not taken.
    fn taken(&self, file: &Path, source: &str, text: String, own: u32, settings: &Settings) -> Option<Option<Program>> {
        let directive = |name: &str| directives(source, name);
        let settings = settings.clone();
        let map = SourceMap::new("mutant.lee", text.clone());
        let mut sink = Sink::default();
        let unit = parsed(&map, &settings, &mut sink);
        let types = typing::Options {
            plain_c: false,
            gnu89_inline: false,
            free_shared: settings.free_shared,
            words_wanted: settings.words_wanted,
            returned: vec![],
            advice: vec![],
            library: settings.library.clone(),
        };
        let tree = typing::check(&unit, &map, &types, &mut sink);
        if sink.has_errors() {
            return None;
        }
        let sites = sites::find(&unit, &tree, own);
        let own_names: HashSet<Symbol> =
            sites.variables.iter().map(|v| v.name).chain(sites.functions.iter().filter_map(|f| f.name)).collect();
        let outside = |name: &Symbol| OUTSIDE.contains(&name.as_str()) && !own_names.contains(name);
        if sites.statements.is_empty() || sites.expressions.iter().any(|e| e.name.as_ref().is_some_and(outside)) {
            return Some(None);
        }
        let includes = source.lines().filter(|line| line.trim_start().starts_with("#include"));
        let mut program = Program {
            file: file.to_path_buf(),
            includes: includes.fold(String::new(), |all, line| all + line + "\n"),
            own,
            sites,
            settings,
            input: directive("in").iter().flat_map(|line| format!("{line}\n").into_bytes()).collect(),
            arguments: [b"mutant".to_vec()]
                .into_iter()
                .chain(directive("args").join(" ").split_whitespace().map(|w| w.as_bytes().to_vec()))
                .collect(),
            base: Accepted { hash: 0, ran: Ran::Open, steps: STEPS },
            text,
        };
        let verdict = judge(&program.text, &program.judge());
        if let Some((_, words)) = verdict.finding() {
            let mut wrong = self.wrong.lock().expect("the list");
            wrong.push(format!("{}: as it is: {words}", file.display()));
        }
        match verdict {
            Verdict::Accepted(base) if matches!(base.ran, Ran::Fine(..) | Ran::Fault(_)) && base.steps < STEPS => {
                program.base = base;
                Some(Some(program))
            }
            Verdict::Accepted(_) | Verdict::Bug(_) => Some(None),
            Verdict::Wrong | Verdict::Rejected => None,
        }
    }
}

/// The tree of a preprocessed text.
fn parsed(map: &SourceMap, settings: &Settings, sink: &mut Sink) -> syntax::ast::Unit {
    let mut parsing = ParseOptions::new(Dialect::Leeward);
    parsing.library_dir = settings.library.clone();
    syntax::parse(map, parsing, sink)
}

/// The preprocessed text of a file, where its own part begins, and how it is compiled.
pub fn preprocessed(file: &Path, session: &Session, sink: &mut Sink) -> Option<(String, u32, Settings)> {
    let SourceMap { text, .. } = session.preprocess(file, &[], sink).ok()?;
    let mark = format!("\"{}\" 2\n", file.display());
    let first = format!("\"{}\"\n", file.display());
    let own = match text.rfind(&mark) {
        Some(at) => at + mark.len(),
        None => text.find(&first).map_or(0, |at| at + first.len()),
    };
    Some((text, own as u32, Settings { verify: true, ..session.settings(Until::C, file) }))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// What a program's comments say: `//@ name: value`.
fn directives(text: &str, name: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("//@ "));
    let named = lines.filter_map(|line| line.strip_prefix(name));
    named.map(|rest| rest.strip_prefix(':').unwrap_or(rest).trim_start().to_string()).collect()
}

/// A session for one thread.
pub fn session() -> Session {
    Session::new(Options::default()).expect("a compiler")
}
