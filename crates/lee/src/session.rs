//! What one run of the command works with, and taking one source file through the compiler.

use crate::failure::{Failure, Outcome};
use crate::home::Home;
use crate::options::Options;
use crate::pipeline::{self, Product, Settings};
use crate::report;
use crate::timing::Timer;
use crate::toolchain::Compiler;
use source::{Sink, SourceMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The installation, the C compiler and the user's choices.
pub struct Session {
    /// Runtime and library.
    pub home: Home,
    /// The C compiler.
    pub compiler: Compiler,
    /// The user's choices.
    pub options: Options,
}

impl Session {
    /// Finds what is needed.
    pub fn new(options: Options) -> Outcome<Session> {
        let compiler = Compiler::find(options.cc.as_deref())?;
        Ok(Session { home: Home::open()?, compiler, options })
    }

    /// Compiles `file` up to `until`, prints what was found, and fails if there were errors.
    pub fn compile(&self, file: &Path, until: pipeline::Until, dependencies: &[OsString]) -> Outcome<Product> {
        let mut timer = Timer::default();
        let mut sink = Sink::default();
        let text = timer.pass("preprocess", || self.preprocess(file, dependencies))?;
        let map = timer.pass("read markers", || SourceMap::new(&file.to_string_lossy(), text));
        let settings = Settings { until, library: Some(self.home.library_headers()), verify: self.options.verify };
        let product = pipeline::compile(&map, &settings, &mut sink, &mut timer);
        let bad = report::diagnostics(&self.options, &map, &sink);
        if self.options.time_passes {
            eprint!("{}", timer.table(&file.display().to_string()));
        }
        match product {
            Ok(Some(product)) if !bad => Ok(product),
            Ok(_) => Err(Failure::reported()),
            Err(bug) => Err(Failure::error(format!("internal error in {}: {bug}", file.display()))),
        }
    }

    /// The text behind the preprocessor.
    pub fn preprocess(&self, file: &Path, dependencies: &[OsString]) -> Outcome<String> {
        std::fs::File::open(file).map_err(|e| Failure::file("read", file, &e))?;
        let mut command = self.compiler.command();
        command.args(["-E", "-std=c2x", "-D__NO_CTYPE", "-x", "c"]).args(dependencies).args(&self.options.preprocessor);
        command.arg("-isystem").arg(self.home.library_headers()).arg(protected(file));
        let out = command
            .stdin(Stdio::null())
            .output()
            .map_err(|e| Failure::file("run", Path::new(&self.compiler.name()), &e))?;
        let said = String::from_utf8_lossy(&out.stderr);
        if out.status.success() {
            Ok(String::from_utf8_lossy(&out.stdout).into_owned())
        } else {
            Err(Failure::error(said.trim_end().to_string()))
        }
    }
}

/// A file name that no program takes for an option.
pub fn protected(file: &Path) -> PathBuf {
    if file.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(file)
    } else {
        file.to_path_buf()
    }
}
