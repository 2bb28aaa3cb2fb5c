//! What a linker says about names that no file, or several, define: in words, with the line of the
//! use.

use crate::link::Made;
use crate::mismatch::Files;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The linker's report with its lines about missing and repeated definitions replaced by ours.
/// `explained`: a reason is given already, so the linker's closing line says nothing new. If there
/// is a line that is not understood, the rest of the report stays, too.
pub fn explain(said: &str, files: &Files, made: &[Made], explained: bool) -> String {
    let mut reader =
        Reader { files, made, object: None, told: BTreeSet::new(), out: String::new(), rest: String::new() };
    for line in said.lines() {
        reader.line(line);
    }
    // A context line alone says nothing.
    let unknown = reader.rest.lines().any(|line| !is_context(line));
    match (reader.out.is_empty(), explained || !reader.out.is_empty(), unknown) {
        (true, false, _) => said.to_string(),
        (_, _, true) => reader.out + &reader.rest,
        _ => reader.out,
    }
}

struct Reader<'a> {
    files: &'a Files,
    made: &'a [Made],
    /// The object that the linker mentions.
    object: Option<PathBuf>,
    /// Names and places that were told.
    told: BTreeSet<(String, String)>,
    out: String,
    rest: String,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        if let Some(at) = line.find(": in function `") {
            self.object = line.get(..at).map(without_linker).map(PathBuf::from);
        }
        if let Some((place, name)) = missing(line) {
            self.missing(place, name);
        } else if let Some((place, name, first)) = repeated(line) {
            self.repeated(place, name, first);
        } else if let Some(library) = line.split("cannot find -l").nth(1) {
            let name = library.split(':').next().unwrap_or(library).trim();
            self.out.push_str(&format!(
                "lee: the library `{name}` was not found: install it, or give the folder of lib{name}.a or .so with -L\n"
            ));
        } else {
            self.rest.push_str(line);
            self.rest.push('\n');
        }
    }

    fn missing(&mut self, place: &str, name: &str) {
        if name == "main" {
            let first = self.told.insert((name.to_string(), String::new()));
            if first {
                self.out.push_str("lee: no file defines `main`, where the program begins\n");
            }
            return;
        }
        let place = self.place(place);
        if !self.told.insert((name.to_string(), place.clone().unwrap_or_default())) {
            return;
        }
        let at = place.map_or_else(|| "lee".to_string(), |place| format!("{place}: error"));
        self.out.push_str(&format!("{at}: `{name}` is used here, and no file defines it\n"));
        for note in self.files.notes(name) {
            self.out.push_str(&format!("{}: note: declared here\n", note.place));
        }
    }

    fn repeated(&mut self, place: &str, name: &str, first: &str) {
        let (place, first) = (self.place(place), self.place(first));
        let at = place.map_or_else(|| "lee".to_string(), |place| format!("{place}: error"));
        self.out.push_str(&format!("{at}: `{name}` is defined twice\n"));
        if let Some(first) = first {
            self.out.push_str(&format!("{first}: note: first defined here\n"));
        }
    }

    /// `FILE:LINE` of what the linker writes before its message: `[OBJECT:]FILE:LINE`, or
    /// `[OBJECT:](.text+0x5)` where there is none.
    fn place(&mut self, said: &str) -> Option<String> {
        let mut said = without_linker(said);
        // `OBJECT.o:FILE:LINE`
        if let Some((object, rest)) = said.split_once(".o:") {
            self.object = Some(PathBuf::from(format!("{object}.o")));
            said = rest;
        }
        let (file, line) = said.rsplit_once(':')?;
        line.parse::<u32>().ok()?;
        // The C compiler reads emitted code from its standard input.
        let from_us = matches!(Path::new(file).file_name().and_then(|n| n.to_str()), Some("<stdin>" | "-"));
        let file = if from_us { self.source()? } else { self.relative(file) };
        Some(format!("{file}:{line}"))
    }

    /// The source of the object that the linker mentions.
    fn source(&self) -> Option<String> {
        let object = self.object.as_ref()?;
        match self.made.iter().find(|(from, _)| from == object) {
            Some((_, source)) if source.as_os_str() == "-" => Some("<stdin>".to_string()),
            Some((_, source)) => Some(source.display().to_string()),
            None => self.files.source(object),
        }
    }

    fn relative(&self, file: &str) -> String {
        let here = std::env::current_dir().ok();
        let inside = here.and_then(|here| Path::new(file).strip_prefix(here).map(Path::to_path_buf).ok());
        inside.map_or_else(|| file.to_string(), |file| file.display().to_string())
    }
}

/// Without the linker's own name in front.
fn without_linker(text: &str) -> &str {
    let is_linker = |name: &str| {
        let name = name.rsplit('/').next().unwrap_or(name);
        matches!(name, "ld" | "ld.bfd" | "ld.gold" | "ld.lld" | "mold") || name.ends_with("-ld")
    };
    match text.split_once(": ") {
        Some((name, rest)) if is_linker(name) => rest,
        _ => text,
    }
}

/// Place and name of a reference that found nothing.
fn missing(line: &str) -> Option<(&str, &str)> {
    let (place, name) = line.split_once(": undefined reference to ").or_else(|| {
        // LLVM's names the place in the next line, which stays.
        line.split_once(": undefined symbol: ").map(|(_, name)| ("", name))
    })?;
    Some((place.trim_end_matches(": error"), name.trim_matches(['`', '\''])))
}

/// Place, name and first place of a second definition.
fn repeated(line: &str) -> Option<(&str, &str, &str)> {
    let (place, rest) = line.split_once(": multiple definition of `")?;
    let (name, rest) = rest.split_once("'; ")?;
    Some((place, name, rest.strip_suffix(": first defined here")?))
}

/// Lines that only frame what was said.
fn is_context(line: &str) -> bool {
    line.contains(": in function `")
        || line.contains("ld returned ")
        || line.contains("linker command failed")
        || line.contains("more undefined references to")
        || line.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(said: &str, made: &[Made]) -> String {
        explain(said, &Files::default(), made, false)
    }

    #[test]
    fn a_missing_function_has_the_line_of_its_use() {
        let made = [(PathBuf::from("/tmp/lee-1/0.o"), PathBuf::from("user.lee"))];
        let end = "collect2: error: ld returned 1 exit status\n";
        for place in ["/tmp/x/<stdin>:3", "/tmp/x/-:3"] {
            let said = format!(
                "/usr/bin/ld: /tmp/lee-1/0.o: in function `main':\n{place}: undefined reference to `half'\n{end}"
            );
            assert_eq!(explained(&said, &made), "user.lee:3: error: `half` is used here, and no file defines it\n");
        }
        let said = format!("/usr/bin/ld: a.o: in function `f':\n/usr/src/a.c:7: undefined reference to `g'\n{end}");
        assert_eq!(explained(&said, &made), "/usr/src/a.c:7: error: `g` is used here, and no file defines it\n");
        let said = format!("/usr/bin/ld: a.o:(.text+0x5): undefined reference to `g'\n{end}");
        assert_eq!(explained(&said, &made), "lee: `g` is used here, and no file defines it\n");
    }

    #[test]
    fn a_missing_main_is_said_once() {
        let said =
            "/usr/bin/ld: /usr/lib/Scrt1.o: in function `_start':\n(.text+0x17): undefined reference to `main'\n\
            collect2: error: ld returned 1 exit status\n";
        assert_eq!(explained(said, &[]), "lee: no file defines `main`, where the program begins\n");
    }

    #[test]
    fn a_second_definition_has_both_lines() {
        let made = [("/t/0.o", "a.lee"), ("/t/1.o", "b.lee")].map(|(o, s)| (PathBuf::from(o), PathBuf::from(s)));
        let said = "/usr/bin/ld: /t/1.o: in function `f':\n/x/<stdin>:4: multiple definition of `f'; \
            /t/0.o:/x/<stdin>:2: first defined here\ncollect2: error: ld returned 1 exit status\n";
        assert_eq!(explained(said, &made), "b.lee:4: error: `f` is defined twice\na.lee:2: note: first defined here\n");
    }

    #[test]
    fn other_words_of_the_linker_stay() {
        for said in ["ld: a.o: file in wrong format\ncollect2: error\n", "collect2: error: ld returned 1 exit status\n"]
        {
            assert_eq!(explained(said, &[]), said);
        }
        let said = "/usr/bin/ld: cannot find -lfoo: No such file or directory\nld: b.o: file in wrong format\n";
        let text = explained(said, &[]);
        assert!(text.starts_with("lee: the library `foo` was not found") && text.contains("wrong format"), "{text}");
    }
}
