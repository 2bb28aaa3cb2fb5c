//! Preprocessing by the system's C compiler: the argument list, and its complaints as diagnostics.
//! Running it is behind [`Runner`].

use crate::codes;
use crate::Dialect;
use source::{Diagnostic, Sink, SourceMap, Span};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What to preprocess, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The source file; `-` is standard input.
    pub file: PathBuf,
    /// Its language.
    pub dialect: Dialect,
    /// Folder of Leeward's own headers, before the system's.
    pub library_dir: Option<PathBuf>,
    /// What the user gave: `-I`, `-D`, `-U`, `-include`, `-std` (plain C only) ...
    pub user: Vec<OsString>,
}

/// What the preprocessor said.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Preprocessed text.
    pub text: Vec<u8>,
    /// Complaints.
    pub errors: String,
    /// Whether it succeeded.
    pub success: bool,
}

/// Runs a preprocessor.
pub trait Runner {
    /// Runs it with `arguments`.
    fn run(&self, arguments: &[OsString]) -> io::Result<Output>;
}

/// A C compiler of the system.
#[derive(Clone, Debug)]
pub struct SystemCompiler {
    /// The program and arguments that always stand first.
    pub program: Vec<OsString>,
    /// What it reads from standard input.
    pub input: Vec<u8>,
}

impl Runner for SystemCompiler {
    fn run(&self, arguments: &[OsString]) -> io::Result<Output> {
        let (program, first) = self.program.split_first().ok_or_else(|| io::Error::other("no C compiler is named"))?;
        // Messages are read by their English form.
        let mut command = Command::new(program);
        command.args(first).args(arguments).env("LC_ALL", "C");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let pipe = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // A preprocessor that stops reading says why itself.
            scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(&self.input)));
            child.wait_with_output()
        })?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(Output { text: output.stdout, errors, success: output.status.success() })
    }
}

/// The arguments after the compiler's name.
pub fn arguments(request: &Request) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec!["-E".into()];
    match request.dialect {
        Dialect::Leeward => {
            let fixed =
                ["-std=c2x", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-D__NO_CTYPE", "-D__LEEWARD__=1"];
            all.extend(fixed.map(OsString::from));
            // A standard that the user names is for the C that comes out.
            all.extend(request.user.iter().filter(|a| !is_standard(a)).cloned());
            if let Some(folder) = &request.library_dir {
                all.push("-isystem".into());
                all.push(folder.into());
            }
        }
        Dialect::C => {
            // `<lee/compat.h>` keeps Leeward's words.
            all.push("-D__LEEWARD_READS_C__=1".into());
            if !request.user.iter().any(is_standard) {
                all.push("-std=gnu17".into());
            }
            all.extend(request.user.iter().cloned());
        }
    }
    all.extend(["-x".into(), "c".into(), protected(&request.file).into()]);
    all
}

fn is_standard(argument: &OsString) -> bool {
    let text = argument.as_encoded_bytes();
    text.starts_with(b"-std=") || text == b"-ansi"
}

/// A file name that no program takes for an option. `-` alone is standard input.
fn protected(file: &Path) -> PathBuf {
    if file.as_os_str() != "-" && file.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(file)
    } else {
        file.to_path_buf()
    }
}

/// Preprocesses; complaints of the preprocessor become diagnostics at their lines. A runner that
/// cannot run is an error of the system, not of the source.
pub fn preprocess(runner: &dyn Runner, request: &Request, sink: &mut Sink) -> io::Result<SourceMap> {
    let output = runner.run(&arguments(request))?;
    let mut map = SourceMap::from_bytes(&request.file.to_string_lossy(), output.text);
    let found = complaints(&output.errors);
    let failed = !output.success;
    for complaint in found.iter().filter(|c| c.error || !failed) {
        // After a failure the text is not parsed, so places may be added to it.
        let span = if failed {
            map.add_place(&complaint.file, complaint.line, complaint.column, &complaint.included_from)
        } else {
            map.find_line(&complaint.file, complaint.line).unwrap_or(Span::NONE)
        };
        sink.push(complaint.diagnostic(span));
    }
    if failed && !found.iter().any(|c| c.error) {
        let said: String = output.errors.lines().take(3).collect::<Vec<_>>().join("; ");
        let message = if said.is_empty() { "the preprocessor failed without a message".to_string() } else { said };
        sink.push(Diagnostic::error(codes::PREPROCESSOR, Span::NONE, message));
    }
    Ok(map)
}

/// One message of the preprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// File as the preprocessor names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if not given.
    pub column: u32,
    /// An error; otherwise a warning.
    pub error: bool,
    /// What it says.
    pub message: String,
    /// The `#include` lines that lead to the place, innermost first.
    pub included_from: Vec<(String, u32)>,
}

impl Complaint {
    fn diagnostic(&self, span: Span) -> Diagnostic {
        let missing = self
            .message
            .strip_suffix(": No such file or directory")
            .or_else(|| self.message.strip_suffix("' file not found").map(|m| m.trim_start_matches('\'')));
        match missing {
            Some(file) => {
                let message = format!("header `{file}` was not found");
                let diagnostic = Diagnostic::error(codes::PREPROCESSOR, span, message);
                diagnostic.help("check the name, or give its folder with `-I`")
            }
            None if self.error => Diagnostic::error(codes::PREPROCESSOR, span, self.message.clone()),
            None => Diagnostic::warning(codes::PREPROCESSOR, span, self.message.clone()),
        }
    }
}

/// Reads `FILE:LINE:COLUMN: error: MESSAGE` lines of gcc and clang, and the include lines before
/// them; everything else is decoration.
pub fn complaints(errors: &str) -> Vec<Complaint> {
    let mut all = vec![];
    let mut included_from = vec![];
    for line in errors.lines() {
        if let Some(place) = include_line(line) {
            // clang names the outermost level first, with such a line for each; gcc continues from
            // the innermost.
            if line.starts_with("In file") {
                included_from.insert(0, place);
            } else {
                included_from.push(place);
            }
        } else if let Some(mut complaint) = complaint(line) {
            complaint.included_from = std::mem::take(&mut included_from);
            all.push(complaint);
        }
    }
    all
}

/// `In file included from FILE:LINE:COLUMN,` and gcc's `                 from FILE:LINE:`.
fn include_line(line: &str) -> Option<(String, u32)> {
    let place = line.strip_prefix("In file included from ").or_else(|| line.trim_start().strip_prefix("from "))?;
    let (first, last) = place.trim_end_matches([':', ',']).rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    match first.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) => Some((file.to_string(), line)),
        None => Some((first.to_string(), last)),
    }
}

fn complaint(line: &str) -> Option<Complaint> {
    let (at, word, error) = ["error", "fatal error", "warning"]
        .iter()
        .filter_map(|word| Some((line.find(&format!(": {word}: "))?, *word, *word != "warning")))
        .min_by_key(|found| found.0)?;
    let place = line.get(..at)?;
    let message = line.get(at + word.len() + 4..)?.trim();
    // gcc and clang name the option that a warning hangs on.
    let message = message.split(" [-W").next().unwrap_or(message);
    let (rest, last) = place.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    let (file, line, column) = match rest.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
        Some((file, line)) => (file, line, last),
        None => (rest, last, 0),
    };
    Some(Complaint { file: file.to_string(), line, column, error, message: message.to_string(), included_from: vec![] })
}
