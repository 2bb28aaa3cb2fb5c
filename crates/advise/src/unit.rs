//! One translation unit: from preprocessed text to MIR.

use mir::ir::Program;
use source::{Level, Sink, SourceMap};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use syntax::{Dialect, ParseOptions};

/// A file and how it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file, as the user names it.
    pub file: PathBuf,
    /// Flags of the C compiler that matter to the preprocessor.
    pub flags: Vec<OsString>,
    /// The folder that the compiler runs in, if another than ours.
    pub folder: Option<PathBuf>,
}

impl Source {
    /// Where the file is, seen from our folder.
    pub fn path(&self) -> PathBuf {
        match &self.folder {
            Some(folder) => folder.join(&self.file),
            None => self.file.clone(),
        }
    }

    /// Whether a flag says that signed arithmetic wraps.
    pub fn wraps(&self) -> bool {
        self.flags.iter().any(|f| matches!(&*f.to_string_lossy(), "-fwrapv" | "-fno-strict-overflow"))
    }

    /// Whether a flag asks for GNU's older rules of `inline`.
    fn gnu89_inline(&self) -> bool {
        self.flags.iter().any(|f| {
            matches!(
                &*f.to_string_lossy(),
                "-ansi" | "-std=c89" | "-std=c90" | "-std=gnu89" | "-std=gnu90" | "-fgnu89-inline"
            )
        })
    }
}

/// Preprocesses.
pub trait Preprocessor: Sync {
    /// The preprocessed text of the source, as if each of the files `texts` had the text beside its
    /// name. With `log` the text is what gcc writes with `-fdebug-cpp`: before each token where it
    /// comes from.
    ///
    /// Errors: what the preprocessor said.
    fn preprocess(
        &self,
        source: &Source,
        texts: &[(PathBuf, String)],
        log: bool,
    ) -> io::Result<Result<Vec<u8>, String>>;
}

/// A unit that was read.
pub struct Unit {
    /// Where it comes from.
    pub source: Source,
    /// Its text.
    pub map: SourceMap,
    /// Its functions.
    pub program: Program,
}

/// Takes preprocessed text through the front end.
///
/// Errors: the first one in words, with its place.
pub fn read(source: &Source, text: Vec<u8>) -> Result<Unit, String> {
    let map = SourceMap::from_bytes(&source.file.to_string_lossy(), text);
    let mut sink = Sink::default();
    let unit = syntax::parse(&map, ParseOptions::new(Dialect::C), &mut sink);
    let options = typing::Options {
        plain_c: true,
        gnu89_inline: source.gnu89_inline(),
        free_shared: false,
        words_wanted: false,
        returned: vec![],
        advice: vec![],
        library: None,
    };
    let tree = typing::check(&unit, &map, &options, &mut sink);
    if let Some(error) = sink.all.iter().find(|d| d.level == Level::Error) {
        let at = map.locate(error.span);
        return Err(format!("{}:{}: {}", at.file, at.line, error.message));
    }
    let program = lower::lower(tree);
    Ok(Unit { source: source.clone(), map, program })
}
