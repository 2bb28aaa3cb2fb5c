//! From preprocessed text to tokens. Byte-oriented; line markers and pragmas are skipped
//! (`#pragma pack` is remembered because it changes layouts); what is malformed is reported and
//! lexing continues.

use crate::codes;
use crate::token::{Kind, Token, WORDS};
use rustc_hash::FxHashMap;
use source::map::INVALID_BYTE_BASE;
use source::{Diagnostic, Sink, Span, Symbol};

/// What lexing gives.
#[derive(Debug, Default)]
pub struct Tokens {
    /// All tokens; the last is `Eof`.
    pub all: Vec<Token>,
    /// `#pragma pack` in force from a byte offset on; 0 is the natural alignment.
    pub packs: Vec<(u32, u32)>,
}

/// Splits `text` into tokens. Texts over 4 GB are cut: spans have 32 bits.
pub fn lex(text: &str, sink: &mut Sink) -> Tokens {
    let bytes = text.as_bytes();
    let bytes = bytes.get(..u32::MAX as usize - 1).unwrap_or(bytes);
    let mut lexer = Lexer {
        text,
        bytes,
        at: 0,
        line_start: true,
        out: Tokens { all: Vec::with_capacity(bytes.len() / 5 + 1), packs: vec![] },
        names: WORDS.iter().map(|&(word, kind)| (word, (kind, Symbol::new(word)))).collect(),
        empty: Symbol::new(""),
        pack_stack: vec![],
        reported_bytes: false,
        sink,
    };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line_start: bool,
    out: Tokens,
    /// Every name seen, with its kind: one look-up per identifier.
    names: FxHashMap<&'a str, (Kind, Symbol)>,
    empty: Symbol,
    pack_stack: Vec<u32>,
    reported_bytes: bool,
    sink: &'a mut Sink,
}

impl<'a> Lexer<'a> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn span_from(&self, lo: usize) -> Span {
        Span::new(lo as u32, self.at as u32)
    }

    fn run(&mut self) {
        while self.at < self.bytes.len() {
            let lo = self.at;
            match self.byte(0) {
                b'\n' => {
                    self.at += 1;
                    self.line_start = true;
                    continue;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                    self.at += 1;
                    continue;
                }
                b'\\' if self.byte(1) == b'\n' || (self.byte(1) == b'\r' && self.byte(2) == b'\n') => {
                    self.at += 2;
                    continue;
                }
                b'#' if self.line_start => {
                    self.directive();
                    continue;
                }
                b'/' if self.byte(1) == b'/' => {
                    self.skip_line();
                    continue;
                }
                b'/' if self.byte(1) == b'*' => {
                    self.block_comment();
                    continue;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => self.name_or_prefixed(),
                b'0'..=b'9' => self.number(),
                b'.' if self.byte(1).is_ascii_digit() => self.number(),
                b'"' => self.quoted(lo, b'"'),
                b'\'' => self.quoted(lo, b'\''),
                b'\\' if matches!(self.byte(1), b'u' | b'U') => self.name(),
                0x80.. => self.non_ascii(),
                _ => self.punctuator(),
            }
            self.line_start = false;
        }
        let end = self.bytes.len();
        self.at = end;
        self.push(Kind::Eof, end);
    }

    fn push(&mut self, kind: Kind, lo: usize) {
        let name = self.empty;
        self.out.all.push(Token { kind, lo: lo as u32, hi: self.at as u32, name });
    }

    fn skip_line(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn block_comment(&mut self) {
        let lo = self.at;
        let rest = self.bytes.get(self.at + 2..).unwrap_or(&[]);
        match rest.windows(2).position(|w| w == b"*/") {
            Some(length) => self.at += length + 4,
            None => {
                self.at = self.bytes.len();
                let span = Span::new(lo as u32, lo as u32 + 2);
                self.sink
                    .push(Diagnostic::error(codes::UNTERMINATED, span, "this comment has no end").help("add `*/`"));
            }
        }
    }

    fn directive(&mut self) {
        let lo = self.at;
        self.skip_line();
        let line = self.text.get(lo + 1..self.at).unwrap_or("").trim();
        let word_end = line.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(line.len());
        match line.get(..word_end).unwrap_or("") {
            "pragma" => self.pragma(line.get(word_end..).unwrap_or("").trim()),
            "" | "line" | "ident" => {}
            word if word.starts_with(|c: char| c.is_ascii_digit()) => {}
            word => {
                let span = Span::new(lo as u32, self.at as u32);
                let message = format!("`#{word}` in text that is already preprocessed");
                self.sink.push(Diagnostic::error(codes::INVALID_CHARACTER, span, message));
            }
        }
    }

    /// `#pragma pack(push, 1)`, `pack(1)`, `pack()`, `pack(pop)`; other pragmas change no meaning.
    fn pragma(&mut self, text: &str) {
        let Some(arguments) = text.strip_prefix("pack") else { return };
        let arguments = arguments.trim().trim_start_matches('(').trim_end_matches(')');
        let mut current = self.out.packs.last().map_or(0, |p| p.1);
        if arguments.trim().is_empty() {
            current = 0;
        }
        for argument in arguments.split(',').map(str::trim) {
            match argument {
                "push" => self.pack_stack.push(current),
                "pop" => current = self.pack_stack.pop().unwrap_or(0),
                _ => current = argument.parse().unwrap_or(current),
            }
        }
        self.out.packs.push((self.at as u32, current));
    }

    fn is_name_byte(b: u8) -> bool {
        b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80
    }

    /// An identifier, or a literal with an encoding prefix.
    fn name_or_prefixed(&mut self) {
        let lo = self.at;
        let prefix = match (self.byte(0), self.byte(1), self.byte(2)) {
            (b'u' | b'U' | b'L', b'"' | b'\'', _) => 1,
            (b'u', b'8', b'"' | b'\'') => 2,
            _ => 0,
        };
        if prefix > 0 {
            self.at += prefix;
            let quote = self.byte(0);
            self.quoted(lo, quote);
        } else {
            self.name();
        }
    }

    fn name(&mut self) {
        let lo = self.at;
        let rest = self.bytes.get(lo..).unwrap_or(&[]);
        let length = rest.iter().position(|&b| !Self::is_name_byte(b)).unwrap_or(rest.len());
        self.at += length;
        if self.byte(0) == b'\\' && matches!(self.byte(1), b'u' | b'U') {
            return self.name_with_escapes(lo);
        }
        let text = self.text.get(lo..self.at).unwrap_or("");
        let (kind, name) = match self.names.get(text) {
            Some(&known) => known,
            None => {
                if !text.is_ascii() {
                    self.check_characters(text, lo);
                }
                let new = (Kind::Ident, Symbol::new(text));
                self.names.insert(text, new);
                new
            }
        };
        self.out.all.push(Token { kind, lo: lo as u32, hi: self.at as u32, name });
        if kind == Kind::Pragma {
            self.skip_pragma_operator();
        }
    }

    /// `_Pragma("...")` means nothing here: its tokens are dropped.
    fn skip_pragma_operator(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let mut in_string = false;
        for (i, &b) in rest.iter().enumerate() {
            match b {
                b'"' => in_string = !in_string,
                b')' if !in_string => {
                    self.at += i + 1;
                    self.out.all.pop();
                    return;
                }
                b'\n' | b';' if !in_string => return,
                _ => {}
            }
        }
    }

    /// Identifier with universal character names (`caf\u00e9`).
    fn name_with_escapes(&mut self, lo: usize) {
        let mut text = String::new();
        let mut from = lo;
        loop {
            text.push_str(self.text.get(from..self.at).unwrap_or(""));
            let digits = match (self.byte(0), self.byte(1)) {
                (b'\\', b'u') => 4,
                (b'\\', b'U') => 8,
                _ => break,
            };
            let escape = self.at;
            let code = self.text.get(self.at + 2..self.at + 2 + digits);
            match code.and_then(|d| u32::from_str_radix(d, 16).ok()).and_then(char::from_u32) {
                Some(c) => {
                    self.at += 2 + digits;
                    text.push(c);
                }
                None => {
                    self.at += 2;
                    let message = "this universal character name stands for no character";
                    let span = Span::new(escape as u32, self.at as u32);
                    self.sink.push(Diagnostic::error(codes::INVALID_ESCAPE, span, message));
                }
            }
            from = self.at;
            let rest = self.bytes.get(self.at..).unwrap_or(&[]);
            self.at += rest.iter().position(|&b| !Self::is_name_byte(b)).unwrap_or(rest.len());
        }
        let name = Symbol::new(&text);
        self.out.all.push(Token { kind: Kind::Ident, lo: lo as u32, hi: self.at as u32, name });
    }

    /// Bytes that were not UTF-8, and characters that no identifier has.
    fn check_characters(&mut self, text: &str, lo: usize) {
        let bad = text.char_indices().find(|&(_, c)| !c.is_ascii() && !c.is_alphanumeric() && !is_mark(c));
        if let Some((at, c)) = bad {
            self.invalid(c, lo + at);
        }
    }

    /// Reports a character that begins no token. A token stands for it, so that the parser is
    /// silent about the place.
    fn invalid(&mut self, c: char, at: usize) {
        if self.out.all.last().is_none_or(|last| last.kind != Kind::Invalid) {
            self.push(Kind::Invalid, at);
        }
        let raw = (c as u32).checked_sub(INVALID_BYTE_BASE).filter(|&b| b <= 0xff);
        if raw.is_some() || c.is_control() {
            if std::mem::replace(&mut self.reported_bytes, true) {
                return;
            }
            let byte = raw.unwrap_or(c as u32);
            let message = format!("byte 0x{byte:02x} outside of a literal");
            let span = Span::new(at as u32, (at + c.len_utf8()) as u32);
            let note = "further bytes of this kind are not reported";
            self.sink.push(
                Diagnostic::error(codes::INVALID_CHARACTER, span, message).note(note).help("is this a text file?"),
            );
        } else {
            let span = Span::new(at as u32, (at + c.len_utf8()) as u32);
            let message = format!("character `{c}` begins no token");
            self.sink.push(Diagnostic::error(codes::INVALID_CHARACTER, span, message));
        }
    }

    fn non_ascii(&mut self) {
        let c = self.text.get(self.at..).and_then(|rest| rest.chars().next());
        match c {
            Some(c) if c.is_alphabetic() || is_mark(c) => self.name(),
            Some('\u{feff}') => self.at += 3,
            Some(c) => {
                let at = self.at;
                self.at += c.len_utf8();
                self.invalid(c, at);
            }
            // Cannot happen in a `String`; a byte forward keeps the loop alive.
            None => self.at += 1,
        }
    }

    /// A preprocessing number; its value is read when the parser wants it.
    fn number(&mut self) {
        let lo = self.at;
        loop {
            match self.byte(0) {
                b'e' | b'E' | b'p' | b'P' if matches!(self.byte(1), b'+' | b'-') => self.at += 2,
                b'\'' if self.byte(1).is_ascii_alphanumeric() || self.byte(1) == b'_' => self.at += 2,
                b'.' => self.at += 1,
                b if Self::is_name_byte(b) => self.at += 1,
                _ => break,
            }
        }
        self.push(Kind::Number, lo);
    }

    fn quoted(&mut self, lo: usize, quote: u8) {
        self.at += 1;
        let kind = if quote == b'"' { Kind::Str } else { Kind::Char };
        loop {
            if self.at >= self.bytes.len() {
                break;
            }
            match self.byte(0) {
                b if b == quote => {
                    self.at += 1;
                    return self.push(kind, lo);
                }
                b'\\' if self.at + 1 < self.bytes.len() => {
                    self.at += 1;
                    // A character of several bytes after the backslash must not be split.
                    let c = self.text.get(self.at..).and_then(|rest| rest.chars().next());
                    self.at += c.map_or(1, char::len_utf8);
                }
                b'\n' => break,
                _ => self.at += 1,
            }
        }
        let (what, help) = match kind {
            Kind::Str => ("this string literal has no end", "add `\"`"),
            _ => ("this character constant has no end", "add `'`"),
        };
        let span = self.span_from(lo);
        self.sink.push(Diagnostic::error(codes::UNTERMINATED, span, what).help(help));
        self.push(kind, lo);
    }

    fn punctuator(&mut self) {
        use Kind::*;
        let lo = self.at;
        let (kind, length) = match (self.byte(0), self.byte(1), self.byte(2)) {
            (b'(', ..) => (LParen, 1),
            (b')', ..) => (RParen, 1),
            (b'[', ..) => (LBracket, 1),
            (b']', ..) => (RBracket, 1),
            (b'{', ..) => (LBrace, 1),
            (b'}', ..) => (RBrace, 1),
            (b'.', b'.', b'.') => (Ellipsis, 3),
            (b'.', ..) => (Dot, 1),
            (b'-', b'>', _) => (Arrow, 2),
            (b'-', b'-', _) => (MinusMinus, 2),
            (b'-', b'=', _) => (MinusEq, 2),
            (b'-', ..) => (Minus, 1),
            (b'+', b'+', _) => (PlusPlus, 2),
            (b'+', b'=', _) => (PlusEq, 2),
            (b'+', ..) => (Plus, 1),
            (b'&', b'&', _) => (AmpAmp, 2),
            (b'&', b'=', _) => (AmpEq, 2),
            (b'&', ..) => (Amp, 1),
            (b'|', b'|', _) => (PipePipe, 2),
            (b'|', b'=', _) => (PipeEq, 2),
            (b'|', ..) => (Pipe, 1),
            (b'*', b'=', _) => (StarEq, 2),
            (b'*', ..) => (Star, 1),
            (b'/', b'=', _) => (SlashEq, 2),
            (b'/', ..) => (Slash, 1),
            (b'%', b'=', _) => (PercentEq, 2),
            (b'%', b'>', _) => (RBrace, 2),
            (b'%', b':', _) => (Hash, 2),
            (b'%', ..) => (Percent, 1),
            (b'^', b'=', _) => (CaretEq, 2),
            (b'^', ..) => (Caret, 1),
            (b'=', b'=', _) => (EqEq, 2),
            (b'=', ..) => (Eq, 1),
            (b'!', b'=', _) => (BangEq, 2),
            (b'!', ..) => (Bang, 1),
            (b'<', b'<', b'=') => (ShlEq, 3),
            (b'<', b'<', _) => (Shl, 2),
            (b'<', b'=', _) => (Le, 2),
            (b'<', b':', _) => (LBracket, 2),
            (b'<', b'%', _) => (LBrace, 2),
            (b'<', ..) => (Lt, 1),
            (b'>', b'>', b'=') => (ShrEq, 3),
            (b'>', b'>', _) => (Shr, 2),
            (b'>', b'=', _) => (Ge, 2),
            (b'>', ..) => (Gt, 1),
            (b':', b'=', b':') => (Swap, 3),
            (b':', b'>', _) => (RBracket, 2),
            (b':', ..) => (Colon, 1),
            (b'~', ..) => (Tilde, 1),
            (b'?', ..) => (Question, 1),
            (b';', ..) => (Semi, 1),
            (b',', ..) => (Comma, 1),
            (b'@', ..) => (At, 1),
            (b'#', ..) => (Hash, 1),
            (other, ..) => {
                self.at += 1;
                return self.invalid(other as char, lo);
            }
        };
        self.at += length;
        self.push(kind, lo);
    }
}

/// Characters that may stand inside an identifier beside letters and digits: joiners and combining
/// marks.
fn is_mark(c: char) -> bool {
    matches!(c as u32, 0x300..=0x36f | 0x200c..=0x200d | 0x203f..=0x2040 | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff | 0x20d0..=0x20ff | 0xfe20..=0xfe2f)
}
