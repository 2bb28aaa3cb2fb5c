//! The passes, in order. From preprocessed text to C; no input or output but text and diagnostics.

use crate::timing::Timer;
use source::{Sink, SourceMap};
use std::path::PathBuf;

/// How far to go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Until {
    /// Print the syntax tree.
    Ast,
    /// Print the typed tree.
    Types,
    /// All analyses; nothing is made.
    Checked,
    /// Print the MIR as the back end gets it.
    Mir,
    /// C.
    C,
}

/// Choices that change what the passes do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How far to go.
    pub until: Until,
    /// Folder of Leeward's own headers.
    pub library: Option<PathBuf>,
    /// Names of foreign functions with what to use instead.
    pub advice: Vec<(String, String)>,
    /// Run the verifier of MIR behind each pass that makes or changes it.
    pub verify: bool,
    /// Keep what only a debugger looks at.
    pub debug: bool,
    /// One process, for use inside a C program.
    pub single: bool,
    /// The file's name.
    pub source_name: String,
}

/// What comes out.
#[derive(Debug, PartialEq, Eq)]
pub enum Product {
    /// Nothing was asked for but diagnostics.
    Nothing,
    /// Text that `--emit` asked for.
    Text(String),
    /// C.
    C(String),
}

/// Takes a unit through the passes. `None` if errors were reported; `Err` if the compiler contradicts itself.
pub fn compile(
    map: &SourceMap,
    settings: &Settings,
    sink: &mut Sink,
    timer: &mut Timer,
) -> Result<Option<Product>, String> {
    let mut parse_options = syntax::ParseOptions::new(syntax::Dialect::Leeward);
    parse_options.library_dir = settings.library.clone();
    let unit = timer.pass("parse", || syntax::parse(map, parse_options, sink));
    if settings.until == Until::Ast {
        return Ok(Some(Product::Text(syntax::print::print_own(&unit))));
    }
    if sink.has_errors() {
        return Ok(None);
    }
    Ok(Some(Product::Nothing))
}
