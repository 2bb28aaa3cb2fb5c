//! Reading a gcc command line: enough to tell inputs from options, and what matters to `.lee`
//! files.

use crate::failure::{Failure, Outcome};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// What is to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stop {
    /// A program or shared library.
    #[default]
    Link,
    /// `-c`
    Object,
    /// `-S`
    Assembly,
    /// `-E`
    Preprocessed,
}

/// An argument, or two that belong together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A Leeward source.
    Leeward(PathBuf),
    /// A C source that we compile ourselves.
    PlainC(PathBuf),
    /// Any other input, and the language that `-x` gave it.
    Input(PathBuf),
    /// `-o FILE`
    Output(PathBuf),
    /// `-c`, `-S`, `-E`
    Stop(OsString),
    /// `-I`, `-D`, `-U`, `-include`, ...: for the preprocessor.
    Preprocessor(Vec<OsString>),
    /// `-M...`: dependency files.
    Dependency(Vec<OsString>),
    /// `-x LANGUAGE`
    Language(Vec<OsString>),
    /// For the linker: `-l`, `-L`, `-Wl,`, `-shared` ...
    Link(Vec<OsString>),
    /// For the generation of code: `-O2`, `-g`, `-f...`, `-m...`.
    Code(Vec<OsString>),
    /// `-W...`, `-w`, `-pedantic`
    Warning(OsString),
    /// All else, handed on.
    Other(Vec<OsString>),
}

impl Argument {
    /// As it stood on the command line.
    pub fn words(&self) -> Vec<OsString> {
        match self {
            Argument::Leeward(path) | Argument::PlainC(path) | Argument::Input(path) => {
                vec![path.clone().into_os_string()]
            }
            Argument::Output(path) => vec!["-o".into(), path.clone().into_os_string()],
            Argument::Stop(word) | Argument::Warning(word) => vec![word.clone()],
            Argument::Preprocessor(words)
            | Argument::Dependency(words)
            | Argument::Language(words)
            | Argument::Link(words)
            | Argument::Code(words)
            | Argument::Other(words) => words.clone(),
        }
    }
}

/// Options whose value is the next word, or follows immediately.
const PREPROCESSOR_JOINED: &[&str] = &["-I", "-D", "-U"];
/// Options whose value is always the next word.
const PREPROCESSOR_NEXT: &[&str] = &[
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-isysroot",
    "--sysroot",
    "-Xpreprocessor",
];
const LINK_JOINED: &[&str] = &["-L", "-l", "-T", "-u", "-z"];
const LINK_NEXT: &[&str] = &["-Xlinker", "-e", "-rpath", "-soname"];
const LINK_WORDS: &[&str] = &[
    "-shared",
    "-static",
    "-static-pie",
    "-pie",
    "-no-pie",
    "-rdynamic",
    "-nostdlib",
    "-nostartfiles",
    "-nodefaultlibs",
    "-s",
    "-r",
    "-static-libgcc",
    "-shared-libgcc",
];
const OTHER_NEXT: &[&str] = &[
    "-Xassembler",
    "-Xclang",
    "-aux-info",
    "-target",
    "--param",
    "-arch",
    "-wrapper",
    "-dumpbase",
    "-dumpdir",
    "-mllvm",
];

/// A command line taken apart.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// In order.
    pub arguments: Vec<Argument>,
    /// What is to be made.
    pub stop: Stop,
}

impl Line {
    /// Marks the inputs that are plain C and that we compile ourselves. What only shows what would
    /// be done is left alone.
    pub fn find_plain(&mut self) {
        let shows = |a: &Argument| {
            let text = |w: &OsString| w.to_string_lossy().into_owned();
            let words = a.words();
            matches!(a, Argument::Other(_) | Argument::Code(_))
                && words.iter().map(text).any(|w| {
                    matches!(&*w, "-v" | "-###" | "-fsyntax-only" | "-pass-exit-codes" | "--version" | "--help")
                        || w.starts_with("-print")
                        || w.starts_with("--print")
                        || w.starts_with("-dump")
                })
        };
        if self.arguments.iter().any(shows) {
            return;
        }
        let mut language: Option<String> = None;
        for argument in &mut self.arguments {
            match argument {
                Argument::Language(words) => {
                    let name = words.concat_text();
                    let name = name.strip_prefix("-x").unwrap_or(&name).trim().to_string();
                    language = (name != "none").then_some(name);
                }
                Argument::Input(path) => {
                    let is_c = match language.as_deref() {
                        Some(name) => name == "c",
                        None => path.extension().is_some_and(|e| e == "c"),
                    };
                    if is_c && path.as_os_str() != "-" {
                        *argument = Argument::PlainC(std::mem::take(path));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Takes a command line apart; response files are read first.
pub fn parse(words: Vec<OsString>) -> Outcome<Line> {
    let mut expanded = vec![];
    expand(words, 0, &mut expanded)?;
    let mut line = Line::default();
    let mut language: Option<String> = None;
    let mut words = expanded.into_iter();
    while let Some(word) = words.next() {
        let argument = one(&word, &mut words, language.as_deref())?;
        match &argument {
            Argument::Stop(word) => {
                line.stop = match word.as_bytes() {
                    b"-E" => Stop::Preprocessed,
                    b"-S" if line.stop != Stop::Preprocessed => Stop::Assembly,
                    b"-c" if line.stop == Stop::Link => Stop::Object,
                    _ => line.stop,
                }
            }
            Argument::Dependency(words) if words.iter().any(|w| w == "-M" || w == "-MM") => {
                line.stop = Stop::Preprocessed
            }
            Argument::Language(words) => {
                let name = words.concat_text();
                let name = name.strip_prefix("-x").unwrap_or(&name).trim().to_string();
                language = (name != "none").then_some(name);
                if language.as_deref() == Some("lee") {
                    continue;
                }
            }
            _ => {}
        }
        line.arguments.push(argument);
    }
    Ok(line)
}

/// The argument that begins with `word`.
fn one(word: &OsStr, rest: &mut impl Iterator<Item = OsString>, language: Option<&str>) -> Outcome<Argument> {
    let text = word.to_string_lossy();
    let mut next = |word: &OsStr| match rest.next() {
        Some(value) => Ok(vec![word.to_os_string(), value]),
        None => Err(Failure::usage(format!("argument to '{}' is missing", word.to_string_lossy()))),
    };
    if text == "-" || !text.starts_with('-') {
        let path = PathBuf::from(word);
        let leeward = path.extension().is_some_and(|e| e == "lee") || language == Some("lee");
        return Ok(if leeward { Argument::Leeward(path) } else { Argument::Input(path) });
    }
    let joined = |names: &[&str]| names.iter().any(|name| text.starts_with(name));
    let exact = |names: &[&str]| names.contains(&&*text);
    let is_alone = text.len() == 2;
    let single = vec![word.to_os_string()];
    Ok(match &*text {
        "-c" | "-S" | "-E" => Argument::Stop(word.to_os_string()),
        "-o" => Argument::Output(next(word)?.pop().unwrap_or_default().into()),
        "-x" => Argument::Language(next(word)?),
        "-MF" | "-MT" | "-MQ" => Argument::Dependency(next(word)?),
        "-w" | "-pedantic" | "-pedantic-errors" | "-ansi" => Argument::Warning(word.to_os_string()),
        "-pthread" => Argument::Code(single),
        _ if exact(PREPROCESSOR_NEXT) => Argument::Preprocessor(next(word)?),
        _ if exact(LINK_WORDS) => Argument::Link(single),
        _ if exact(LINK_NEXT) => Argument::Link(next(word)?),
        _ if exact(OTHER_NEXT) => Argument::Other(next(word)?),
        _ if joined(&["-Wl,"]) => Argument::Link(single),
        _ if joined(&["-Wp,"]) => Argument::Preprocessor(single),
        _ if joined(&["-Wa,", "-std=", "-B", "-specs", "-v", "-#", "--", "-dump", "-print"]) => Argument::Other(single),
        _ if joined(&["-M"]) => Argument::Dependency(single),
        _ if joined(&["-isystem", "-iquote", "-include", "-idirafter"]) => Argument::Preprocessor(single),
        _ if joined(PREPROCESSOR_JOINED) => Argument::Preprocessor(if is_alone { next(word)? } else { single }),
        _ if joined(LINK_JOINED) => Argument::Link(if is_alone { next(word)? } else { single }),
        _ if joined(&["-x"]) => Argument::Language(single),
        _ if joined(&["-o"]) => {
            Argument::Output(OsStr::from_bytes(word.as_bytes().get(2..).unwrap_or_default()).into())
        }
        _ if joined(&["-W"]) => Argument::Warning(word.to_os_string()),
        _ if joined(&["-O", "-g", "-f", "-m", "-p"]) => Argument::Code(single),
        _ => Argument::Other(single),
    })
}

/// Joins words for a message or a test.
trait ConcatText {
    fn concat_text(&self) -> String;
}

impl ConcatText for Vec<OsString> {
    fn concat_text(&self) -> String {
        self.iter().map(|w| w.to_string_lossy()).collect()
    }
}

/// Replaces `@FILE` by the words in the file. A file that is not there stays as it is, as in gcc.
fn expand(words: Vec<OsString>, depth: u32, out: &mut Vec<OsString>) -> Outcome<()> {
    for word in words {
        let content =
            word.as_bytes().strip_prefix(b"@").and_then(|name| fs::read(Path::new(OsStr::from_bytes(name))).ok());
        match content {
            Some(_) if depth > 50 => return Err(Failure::usage("response files that name each other")),
            Some(content) => expand(split(&content), depth + 1, out)?,
            None => out.push(word),
        }
    }
    Ok(())
}

/// Words of a response file: blanks separate, quotes and backslashes protect.
fn split(text: &[u8]) -> Vec<OsString> {
    let mut words = vec![];
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (b'"' | b'\'', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, None) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        parse(text.split_whitespace().map(OsString::from).collect()).unwrap_or_default()
    }

    fn words(list: &[&str]) -> Vec<OsString> {
        list.iter().map(OsString::from).collect()
    }

    #[test]
    fn options_and_inputs_are_told_apart() {
        let line = line("-c -O2 -I inc -Iother -DX=1 -o a.o a.lee b.c -lm -Wl,-z,now -MMD -MF a.d -std=c11 -Wall");
        assert_eq!(line.stop, Stop::Object);
        assert_eq!(
            line.arguments,
            [
                Argument::Stop("-c".into()),
                Argument::Code(words(&["-O2"])),
                Argument::Preprocessor(words(&["-I", "inc"])),
                Argument::Preprocessor(words(&["-Iother"])),
                Argument::Preprocessor(words(&["-DX=1"])),
                Argument::Output("a.o".into()),
                Argument::Leeward("a.lee".into()),
                Argument::Input("b.c".into()),
                Argument::Link(words(&["-lm"])),
                Argument::Link(words(&["-Wl,-z,now"])),
                Argument::Dependency(words(&["-MMD"])),
                Argument::Dependency(words(&["-MF", "a.d"])),
                Argument::Other(words(&["-std=c11"])),
                Argument::Warning("-Wall".into()),
            ]
        );
    }

    #[test]
    fn the_first_stage_asked_for_wins() {
        assert_eq!(line("-c -S x.c").stop, Stop::Assembly);
        assert_eq!(line("-E -c x.c").stop, Stop::Preprocessed);
        assert_eq!(line("-MM x.c").stop, Stop::Preprocessed);
        assert_eq!(line("-MMD x.c").stop, Stop::Link);
    }

    #[test]
    fn a_leeward_file_stays_one_whatever_x_says() {
        let line = line("-x c a.lee b.txt -x lee c.txt -x none d.c");
        let inputs: Vec<_> =
            line.arguments.iter().filter(|a| matches!(a, Argument::Leeward(_) | Argument::Input(_))).collect();
        assert_eq!(
            inputs,
            [
                &Argument::Leeward("a.lee".into()),
                &Argument::Input("b.txt".into()),
                &Argument::Leeward("c.txt".into()),
                &Argument::Input("d.c".into())
            ]
        );
    }

    #[test]
    fn a_missing_value_is_wrong_usage() {
        for text in ["-o", "-c x.c -I", "-MF", "-x"] {
            let failure = parse(words(&text.split_whitespace().collect::<Vec<_>>())).err();
            assert_eq!(failure.map(|f| f.status), Some(2), "{text}");
        }
    }

    #[test]
    fn response_files_protect_blanks() {
        assert_eq!(split(b"-I 'a b' \"c\\\"d\" e\\ f\n-O2 ''"), words(&["-I", "a b", "c\"d", "e f", "-O2", ""]));
    }
}
