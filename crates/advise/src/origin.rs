//! Where each token of the preprocessed text comes from: the log of the preprocessor.
//!
//! gcc with `-E -fdebug-cpp -ftrack-macro-expansion=2` writes before each token
//! `{P:FILE;F:...;L:LINE;C:COLUMN;...}`: for a token of the file its place, for an argument of a
//! macro the place where the argument is written, for a token of a macro's body the place in the
//! definition. So a token whose place is in the file and not on a line of a directive is written
//! there; every other one is made by a macro or comes from another file. The log has the same
//! tokens as the plain output; that is checked.

use crate::raw::Raw;
use source::Sink;
use std::collections::HashSet;
use std::sync::Arc;
use syntax::lexer::lex;
use syntax::token::{Kind, Token};

/// The tokens of a unit with their origins in its file.
pub struct Origins {
    /// The tokens of the preprocessed text, without the end.
    pub tokens: Arc<[Token]>,
    /// The first token that is in the file.
    start: usize,
    /// By token from there to the last one: the token of the file that it is.
    raw: Vec<Option<usize>>,
    /// The file, split up.
    pub file: Raw,
}

impl Origins {
    /// The token of the file that a token is.
    pub fn raw(&self, token: usize) -> Option<usize> {
        self.raw.get(token.checked_sub(self.start)?).copied().flatten()
    }

    /// All tokens of the file that tokens are.
    pub fn used(&self) -> HashSet<usize> {
        self.raw.iter().flatten().copied().collect()
    }
}

/// The tokens of preprocessed text.
pub fn tokens(text: &str) -> Vec<Token> {
    let mut all = lex(text, &mut Sink::default()).all;
    all.retain(|t| t.kind != Kind::Eof);
    all
}

/// The tokens of a unit with the places that the log has of them.
pub struct Log<'l> {
    tokens: Arc<[Token]>,
    /// By token: file, line and column.
    places: Vec<Option<(&'l str, u32, u32)>>,
}

impl<'l> Log<'l> {
    /// Reads the log. `text` is the plain preprocessed text.
    ///
    /// Errors: why nothing can be said.
    pub fn read(text: &str, log: &'l str) -> Result<Log<'l>, String> {
        let (clean, places) = split(log);
        let plain = tokens(text);
        let logged = tokens(&clean);
        let spelled = |text: &str, t: &Token| text.get(t.lo as usize..t.hi as usize).map(str::to_string);
        let same = plain.len() == logged.len()
            && plain.iter().zip(&logged).all(|(a, b)| spelled(text, a) == spelled(&clean, b));
        if !same {
            return Err("the preprocessor's log has other tokens than its text".into());
        }
        let place = |token: &Token| {
            let at = places.partition_point(|p| p.0 <= token.lo as usize);
            let place = at.checked_sub(1).and_then(|n| places.get(n))?;
            Some((place.1, place.2, place.3))
        };
        Ok(Log { places: logged.iter().map(place).collect(), tokens: plain.into() })
    }

    /// The origins in one file: `source` is its text, `name` how it was named to the preprocessor.
    pub fn origins(&self, text: &str, source: &str, name: &str) -> Origins {
        let file = Raw::of(source);
        let raw = |(token, place): (&Token, &Option<(&str, u32, u32)>)| {
            let place = place.filter(|p| p.0 == name)?;
            let found = file.token_at(file.offset(place.1, place.2)?)?;
            let own = file.tokens.get(found).filter(|t| !t.directive)?;
            (source.get(own.lo..own.hi) == text.get(token.lo as usize..token.hi as usize)).then_some(found)
        };
        let all: Vec<Option<usize>> = self.tokens.iter().zip(&self.places).map(raw).collect();
        let start = all.iter().position(Option::is_some).unwrap_or(all.len());
        let end = all.iter().rposition(Option::is_some).map_or(start, |n| n + 1);
        // A header has few of a unit's tokens.
        let raw = all.get(start..end).unwrap_or_default().to_vec();
        Origins { tokens: Arc::clone(&self.tokens), start, raw, file }
    }
}

/// A place of the log: offset in the clean text from which it holds, file, line, column.
type Logged<'a> = (usize, &'a str, u32, u32);

/// Takes the places out of the log.
fn split(log: &str) -> (String, Vec<Logged<'_>>) {
    let mut clean = String::with_capacity(log.len() / 8);
    let mut places = vec![];
    let mut rest = log;
    while let Some(at) = rest.find("{P:") {
        let (before, from) = rest.split_at(at);
        clean.push_str(before);
        match place(from) {
            Some((len, file, line, column)) => {
                places.push((clean.len(), file, line, column));
                rest = from.get(len..).unwrap_or("");
            }
            None => {
                clean.push('{');
                rest = from.get(1..).unwrap_or("");
            }
        }
    }
    clean.push_str(rest);
    (clean, places)
}

/// One record: its length, file, line and column.
fn place(text: &str) -> Option<(usize, &str, u32, u32)> {
    let end = text.find('}')?;
    let record = text.get(3..end)?;
    let (file, fields) = record.split_once(";F:")?;
    let number = |name: &str| -> Option<u32> {
        let from = fields.get(fields.find(name)? + name.len()..)?;
        // What the compiler itself makes has the place -1.
        let number: i64 = from.split(';').next()?.parse().ok()?;
        Some(u32::try_from(number).unwrap_or(0))
    };
    fields.contains(",LOC:").then_some(())?;
    Some((end + 1, file, number(";L:")?, number(";C:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_where_it_is_written_and_a_body_is_not() {
        let source = "#define F(x) g(x)\nint v = F(y);\n";
        let text = "# 1 \"a.c\"\n\nint v = g(y);\n";
        let r = |l: u32, c: u32| format!("{{P:a.c;F:<NULL>;L:{l};C:{c};S:0;M:0x1;E:0,LOC:1,R:1}}");
        let log = format!(
            "# 1 \"a.c\"\n\n{}int {}v {}= {}g{}({}y{}){};\n",
            r(2, 1),
            r(2, 5),
            r(2, 7),
            r(1, 14),
            r(1, 15),
            r(2, 11),
            r(1, 17),
            r(2, 13)
        );
        let Ok(log) = Log::read(text, &log) else { return assert_eq!("", "no origins") };
        let found = log.origins(text, source, "a.c");
        let spelled: Vec<Option<&str>> = (0..found.tokens.len())
            .map(|n| found.raw(n).and_then(|n| found.file.tokens.get(n)).and_then(|t| source.get(t.lo..t.hi)))
            .collect();
        assert_eq!(spelled, [Some("int"), Some("v"), Some("="), None, None, Some("y"), None, Some(";")]);
    }
}
