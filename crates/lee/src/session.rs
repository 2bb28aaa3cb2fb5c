//! What one run of the command works with, and taking one source file through the compiler.

use crate::failure::{reason, Failure, Outcome};
use crate::home::Home;
use crate::options::{Format, Options};
use crate::pipeline::{self, Product, Settings, Until};
use crate::timing::Timer;
use crate::toolchain::{Compiler, Family, Profile};
use crate::{object, objects, report};
use source::{Sink, SourceMap};
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use syntax::preprocess::{Request, SystemCompiler};
use syntax::Dialect;

/// The installation, the C compiler and the user's choices.
pub struct Session {
    /// Runtime and library.
    pub home: Home,
    /// The C compiler.
    pub compiler: Compiler,
    /// The user's choices.
    pub options: Options,
    /// The program has several processes, so each file is compiled with variables of its own for
    /// each.
    pub processes: AtomicBool,
}

impl Session {
    /// Finds what is needed.
    pub fn new(options: Options) -> Outcome<Session> {
        let compiler = Compiler::find(options.cc.as_deref())?;
        let processes = AtomicBool::new(options.processes);
        Ok(Session { home: Home::open()?, compiler, options, processes })
    }

    /// Whether the program has several processes.
    pub fn several(&self) -> bool {
        self.processes.load(Ordering::Relaxed)
    }

    /// Compiles `file` up to `until`, prints what was found, and fails if there were errors.
    /// `dependencies` are options of the preprocessor that make it write a dependency file.
    pub fn compile(&self, file: &Path, until: Until, dependencies: &[OsString]) -> Outcome<Product> {
        let mut timer = Timer::default();
        let mut sink = Sink::default();
        let map = timer.pass("preprocess", || self.preprocess(file, dependencies, &mut sink))?;
        self.finish(file, &self.settings(until, file), &map, &mut sink, timer)
    }

    /// Makes the object of `file`, or takes the one that was made of the same before. True if it
    /// spawns processes.
    pub fn object(&self, file: &Path, output: &Path) -> Outcome<bool> {
        let mut timer = Timer::default();
        let mut sink = Sink::default();
        let map = timer.pass("preprocess", || self.preprocess(file, &[], &mut sink))?;
        let settings = self.settings(Until::C, file);
        let place = if sink.all.is_empty() { objects::place(self, &map, &settings) } else { None };
        if let Some(spawns) = place.as_ref().and_then(|place| place.fetch(output)) {
            return Ok(spawns);
        }
        let Product::C(c, spawns) = self.finish(file, &settings, &map, &mut sink, timer)? else {
            return Ok(false);
        };
        object::start(self, c, file, "-c", output.as_os_str())?.finish()?;
        if let Some(place) = place.filter(|_| sink.all.is_empty()) {
            place.keep(output, spawns);
        }
        Ok(spawns)
    }

    /// From preprocessed text on.
    fn finish(
        &self,
        file: &Path,
        settings: &Settings,
        map: &SourceMap,
        sink: &mut Sink,
        mut timer: Timer,
    ) -> Outcome<Product> {
        let product = if sink.has_errors() { Ok(None) } else { pipeline::compile(map, settings, sink, &mut timer) };
        let fixes = self.fixes(file, map, sink);
        let bad = report::diagnostics_with(&self.options, map, sink, &fixes)?;
        if self.options.time_passes {
            report::note(&timer.table(&file.display().to_string()));
        }
        match product {
            Ok(Some(product)) if !bad => Ok(product),
            Ok(_) => Err(Failure::reported()),
            Err(bug) => Err(Failure::error(format!("internal error in {}: {bug}", file.display()))),
        }
    }

    /// What the declarations that were reported should say, for tools. Headers may have other
    /// users.
    fn fixes(&self, file: &Path, map: &SourceMap, sink: &Sink) -> Vec<port::Finding> {
        let asked = self.options.format == Format::Json && dialect(file) == Dialect::Leeward;
        if !asked || !sink.all.iter().any(|d| d.subject.is_some()) {
            return vec![];
        }
        let settings = self.settings(Until::Checked, file);
        let mut again = Sink::default();
        let Ok(trees) = pipeline::trees(map, &settings, &mut again) else { return vec![] };
        let own = map.files.first().cloned().unwrap_or_default();
        port::findings(&[port::Unit::new(map, &trees.ast, &trees.typed, &again.all)], &|file| file == own, true)
    }

    /// The types of a file, with its contracts; fails if there were errors.
    pub fn types(&self, file: &Path) -> Outcome<typing::TypeStore> {
        let mut sink = Sink::default();
        let map = self.preprocess(file, &[], &mut sink)?;
        let types = pipeline::types(&map, &self.settings(Until::Checked, file), &mut sink);
        match report::diagnostics(&self.options, &map, &sink)? {
            false => Ok(types),
            true => Err(Failure::reported()),
        }
    }

    /// Whether the text of one of the files has the word `spawn`, so that all are compiled for
    /// several processes at once. A file may spawn without that, by a macro or a header: then the
    /// others are compiled again.
    pub fn expect_processes<'f>(&self, files: impl Iterator<Item = &'f Path>) {
        let spawns = |file: &Path| std::fs::read(file).is_ok_and(|text| text.windows(5).any(|word| word == b"spawn"));
        let files: Vec<&Path> = files.collect();
        // One file says it itself.
        if files.len() > 1 && files.iter().any(|file| file.extension().is_some_and(|e| e == "lee") && spawns(file)) {
            self.processes.store(true, Ordering::Relaxed);
        }
    }

    /// What the passes are told.
    pub fn settings(&self, until: Until, file: &Path) -> Settings {
        Settings {
            until,
            dialect: dialect(file),
            library: Some(self.home.library_headers()),
            leaks: self.options.warnings.iter().any(|w| w == "no-leak"),
            no_gc: self.options.no_gc,
            free_shared: self.options.warnings.iter().any(|w| w == "no-free-shared"),
            words_wanted: self.options.words_wanted,
            advice: self.home.advice(),
            verify: self.options.verify,
            debug: self.options.profile == Profile::Debug,
            single: self.options.single,
            processes: self.several(),
            remove_checks: !self.options.keep_checks,
            stack_promote: self.options.stack_promote.unwrap_or(STACK_PROMOTE),
            stack_notes: self.options.stack_notes,
            source_name: if is_input(file) { INPUT.to_string() } else { file.display().to_string() },
            gnu89_inline: gnu89_inline(&self.options.preprocessor),
            hidden: false,
        }
    }

    /// What the passes are told of a file of plain C.
    pub fn plain_settings(&self, file: &Path, flags: &[OsString]) -> Settings {
        Settings {
            library: None,
            advice: vec![],
            debug: flags.iter().any(|f| f.as_encoded_bytes().starts_with(b"-g") && f != "-g0"),
            dialect: Dialect::C,
            gnu89_inline: gnu89_inline(flags),
            hidden: flags
                .iter()
                .any(|f| f.as_encoded_bytes().starts_with(b"-fvisibility=") && f != "-fvisibility=default"),
            ..self.settings(Until::C, file)
        }
    }

    /// Where plain C finds `<lee/compat.h>`: after all other folders, so that no header of the
    /// system's is hidden.
    pub fn headers_for_c(&self) -> [OsString; 2] {
        ["-idirafter".into(), self.home.library_headers().into()]
    }

    /// Runs the preprocessor over plain C, with the flags that the compiler would get: some of them
    /// define macros.
    pub fn preprocess_c(
        &self,
        file: &Path,
        flags: &[OsString],
        dependencies: &[OsString],
        sink: &mut Sink,
    ) -> Outcome<SourceMap> {
        std::fs::File::open(file).map_err(|e| Failure::file("read", file, &e))?;
        let runner = SystemCompiler { program: self.compiler.program.clone(), input: vec![] };
        // `-g3` would write the macros into the text.
        let kept = flags.iter().filter(|f| !f.as_encoded_bytes().starts_with(b"-g")).chain(dependencies).cloned();
        let user = kept.chain(["-w".into()]).chain(self.headers_for_c()).collect();
        let request = Request { file: file.to_path_buf(), dialect: Dialect::C, library_dir: None, user };
        syntax::preprocess::preprocess(&runner, &request, sink)
            .map_err(|e| Failure::error(format!("cannot run '{}': {}", self.compiler.name(), reason(&e))))
    }

    /// Runs the preprocessor over a file. Its complaints are diagnostics.
    pub fn preprocess(&self, file: &Path, dependencies: &[OsString], sink: &mut Sink) -> Outcome<SourceMap> {
        let mut input = vec![];
        if is_input(file) {
            std::io::stdin().read_to_end(&mut input).map_err(|e| Failure::file("read", file, &e))?;
        } else {
            std::fs::File::open(file).map_err(|e| Failure::file("read", file, &e))?;
        }
        let runner = SystemCompiler { program: self.compiler.program.clone(), input };
        // The messages are read, not shown; quoting the source makes gcc slow where there are
        // thousands.
        let quiet = match self.compiler.family {
            Family::Gcc => "-fno-diagnostics-show-caret",
            Family::Clang => "-fno-caret-diagnostics",
        };
        let headers = if dialect(file) == Dialect::C { self.headers_for_c().to_vec() } else { vec![] };
        let user = dependencies.iter().chain(&self.options.preprocessor).cloned().chain(headers);
        let request = Request {
            file: file.to_path_buf(),
            dialect: dialect(file),
            library_dir: Some(self.home.library_headers()),
            user: [quiet.into()].into_iter().chain(user).collect(),
        };
        let mut map = syntax::preprocess::preprocess(&runner, &request, sink)
            .map_err(|e| Failure::error(format!("cannot run '{}': {}", self.compiler.name(), reason(&e))))?;
        if is_input(file) {
            map.set_original(INPUT, String::from_utf8_lossy(&runner.input));
        }
        Ok(map)
    }
}

/// Bytes of the largest unique object that goes to the stack, unless `--stack-promote` says so.
const STACK_PROMOTE: u64 = 48;

/// What C compilers call standard input.
const INPUT: &str = "<stdin>";

/// Whether the name stands for standard input.
pub fn is_input(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// The language that a file's name says.
pub fn dialect(file: &Path) -> Dialect {
    if file.extension().is_some_and(|e| e == "c" || e == "i") {
        Dialect::C
    } else {
        Dialect::Leeward
    }
}

/// Whether the flags ask for GNU's older rules of `inline`: by themselves, or as part of a standard
/// before C99.
fn gnu89_inline(flags: &[OsString]) -> bool {
    let mut old = false;
    for flag in flags {
        match &*flag.to_string_lossy() {
            "-fgnu89-inline" => return true,
            "-ansi" | "-std=c89" | "-std=c90" | "-std=gnu89" | "-std=gnu90" | "-std=iso9899:1990" => old = true,
            "-std=iso9899:199409" => old = true,
            other if other.starts_with("-std=") => old = false,
            _ => {}
        }
    }
    old
}

/// A file name that no program takes for an option.
pub fn protected(file: &Path) -> PathBuf {
    if file.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(file)
    } else {
        file.to_path_buf()
    }
}
