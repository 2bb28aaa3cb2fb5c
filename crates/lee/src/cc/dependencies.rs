//! Dependency files (`-MD`, `-MMD`, `-MF`, `-MT`), written by the preprocessor's run.

use crate::failure::{Failure, Outcome};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What the preprocessor is asked for.
#[derive(Debug, Default)]
pub struct Request {
    /// Its options; none if no file is wanted.
    pub words: Vec<OsString>,
    /// The file that it writes.
    file: Option<PathBuf>,
}

/// Completes `said`, the user's options, for a source whose object is `object`. As gcc does, the
/// file is named after an object that the user names, else after the source.
pub fn request(said: &[OsString], source: &Path, object: &Path, named: bool) -> Outcome<Request> {
    if !said.iter().any(|word| word == "-MD" || word == "-MMD") {
        return Ok(Request::default());
    }
    let after = |option: &str| said.iter().position(|word| word == option).and_then(|at| said.get(at + 1));
    let mut words = said.to_vec();
    let file = match after("-MF") {
        Some(file) => PathBuf::from(file),
        None => {
            let base = if named { object } else { Path::new(source.file_name().unwrap_or_default()) };
            let file = base.with_extension("d");
            words.extend(["-MF".into(), file.clone().into()]);
            file
        }
    };
    if after("-MT").is_none() && after("-MQ").is_none() {
        words.extend(["-MQ".into(), object.into()]);
    }
    Ok(Request { words, file: Some(file) })
}

impl Request {
    /// Takes Leeward's own headers out of the file: they lie in a cache that may be removed, and
    /// Make would look for rules to make them.
    pub fn clean(&self, home: &Path) -> Outcome<()> {
        let Some(file) = self.file.as_deref().filter(|f| f.is_file()) else { return Ok(()) };
        let text = fs::read_to_string(file).map_err(|e| Failure::file("read", file, &e))?;
        let kept = without(&text, &home.to_string_lossy());
        if kept == text {
            return Ok(());
        }
        fs::write(file, kept).map_err(|e| Failure::file("write", file, &e))
    }
}

/// The rule without prerequisites below `home`.
fn without(text: &str, home: &str) -> String {
    let prefix = format!("{}/", home.replace('\\', "\\\\").replace(' ', "\\ ").replace('#', "\\#").replace('$', "$$"));
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let (body, end) = match line.strip_suffix(" \\\n") {
            Some(body) => (body, " \\\n"),
            None => (line.trim_end_matches('\n'), "\n"),
        };
        let words: Vec<&str> = words(body).into_iter().filter(|word| !word.starts_with(&prefix)).collect();
        let indent = if line.starts_with(' ') { " " } else { "" };
        if !words.is_empty() || end == "\n" {
            out.push_str(&format!("{indent}{}{end}", words.join(" ")));
        }
    }
    out
}

/// Splits at blanks that no backslash protects.
fn words(line: &str) -> Vec<&str> {
    let mut words = vec![];
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        if c == ' ' && before != '\\' {
            words.extend(line.get(start..at).filter(|w| !w.is_empty()));
            start = at + 1;
        }
        before = c;
    }
    words.extend(line.get(start..).filter(|w| !w.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_headers_are_left_out() {
        let text = "a.o: a.lee /h\\ x/library/include/stdio.h \\\n /h\\ x/library/include/string.h \\\n my\\ own.h /usr/include/x.h\n";
        assert_eq!(without(text, "/h x"), "a.o: a.lee \\\n my\\ own.h /usr/include/x.h\n");
    }

    #[test]
    fn the_file_is_named_after_the_object() -> Result<(), Failure> {
        let made = request(&["-MMD".into()], Path::new("src/a.lee"), Path::new("out/a.o"), true)?;
        assert_eq!(made.words, ["-MMD", "-MF", "out/a.d", "-MQ", "out/a.o"]);
        let made = request(&["-MD".into()], Path::new("src/a.lee"), Path::new("a.o"), false)?;
        assert_eq!(made.words, ["-MD", "-MF", "a.d", "-MQ", "a.o"]);
        Ok(())
    }
}
