//! The parser: recursive descent over a flat token vector, one error per mistake.
//!
//! A rule that fails reports and returns [`Stop`]; the nearest list of statements, members or items
//! catches it and continues after the mistake. Chains (`a + b + ...`, `else if`, labels) are built
//! in loops, so only real nesting recurses, and that is limited.

mod attributes;
mod channel;
mod contract;
mod declaration;
mod declarator;
mod expression;
mod initializer;
mod item;
mod later;
mod ownership;
mod primary;
mod record;
mod specifiers;
mod statement;

use crate::ast::{Ident, Unit};
use crate::codes;
use crate::lexer;
use crate::scope::{NameKind, Names};
use crate::token::{Kind, Token};
use source::{Code, Diagnostic, Sink, SourceMap, Span, Symbol};
use std::path::PathBuf;

/// Levels of nesting (parentheses, blocks, initialisers, declarators, records) that the parser
/// follows.
pub const MAX_DEPTH: u32 = 1000;
/// Operands of one chain (`a + b + ...`, `else if`, `case 1: case 2: ...`); the tree is as deep as
/// the chain is long.
pub const MAX_CHAIN: u32 = 20_000;

/// Which language a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Plain C.
    C,
    /// Leeward.
    Leeward,
}

/// How to parse.
#[derive(Clone, Debug)]
pub struct ParseOptions {
    /// The language of the file.
    pub dialect: Dialect,
    /// Folder of Leeward's own headers: system headers by their marker, Leeward by their text.
    pub library_dir: Option<PathBuf>,
}

impl ParseOptions {
    /// Options for `dialect` without a library.
    pub fn new(dialect: Dialect) -> ParseOptions {
        ParseOptions { dialect, library_dir: None }
    }
}

/// Parses the unit. Whatever the text is, a tree comes back; what did not parse was reported.
pub fn parse(map: &SourceMap, options: ParseOptions, sink: &mut Sink) -> Unit {
    let mut found = Sink::default();
    let tokens = lexer::lex(&map.text, &mut found);
    let dialect = options.dialect;
    let mut unit = Parser::new(map, options, tokens, &mut found).unit();
    if dialect == Dialect::Leeward {
        crate::wrappers::make_generic(&mut unit, map);
    }
    // What the lexer found and what the parser found belong together, line by line.
    found.all.sort_by_key(|diagnostic| diagnostic.span.lo);
    sink.all.append(&mut found.all);
    unit
}

/// A rule failed; it was reported.
#[derive(Debug)]
pub(crate) struct Stop;

pub(crate) type Parsed<T> = Result<T, Stop>;

pub(crate) struct Parser<'a> {
    map: &'a SourceMap,
    options: ParseOptions,
    tokens: Vec<Token>,
    packs: Vec<(u32, u32)>,
    at: usize,
    sink: &'a mut Sink,
    names: Names,
    /// Whether the words of Leeward are words here (not in plain C and system headers).
    leeward: bool,
    /// Inside `extern "C"`.
    foreign: bool,
    depth: u32,
    /// Height of the expression that was parsed last, as far as chains make it.
    height: u32,
    /// Length of the statement chains around this place.
    chain: u32,
    /// Above zero while a rule is tried that may fail without an error.
    quiet: u32,
    /// Token of the last error: a second error at one place is the same mistake.
    last_error: Option<usize>,
    /// Nesting was too deep: the rest of the file is not parsed.
    given_up: bool,
    /// Names to declare again after the scope of a `generic <...>`.
    generic_exports: Vec<Symbol>,
    generic_scope: bool,
    symbols: Symbols,
}

/// Names that the parser makes itself.
pub(crate) struct Symbols {
    pack: Symbol,
    exists: Symbol,
    outlives: Symbol,
    outlived: Symbol,
    by: Symbol,
    /// `as`
    as_word: Symbol,
}

impl<'a> Parser<'a> {
    fn new(map: &'a SourceMap, options: ParseOptions, tokens: lexer::Tokens, sink: &'a mut Sink) -> Parser<'a> {
        let leeward = options.dialect == Dialect::Leeward;
        Parser {
            map,
            options,
            tokens: tokens.all,
            packs: tokens.packs,
            at: 0,
            sink,
            names: Names::default(),
            leeward,
            foreign: false,
            depth: 0,
            height: 0,
            chain: 0,
            quiet: 0,
            last_error: None,
            given_up: false,
            generic_exports: vec![],
            generic_scope: false,
            symbols: Symbols {
                pack: Symbol::new("pack"),
                exists: Symbol::new("exists"),
                outlives: Symbol::new("outlives"),
                outlived: Symbol::new("outlived"),
                by: Symbol::new("by"),
                as_word: Symbol::new("as"),
            },
        }
    }

    // ---- the cursor ----

    /// The token at `index`; `Eof` after the end.
    #[inline]
    fn token_at(&self, index: usize) -> Token {
        match self.tokens.get(index) {
            Some(&token) => token,
            None => self.eof(),
        }
    }

    #[cold]
    fn eof(&self) -> Token {
        self.tokens.last().copied().unwrap_or(Token { kind: Kind::Eof, lo: 0, hi: 0, name: self.symbols.pack })
    }

    #[inline]
    fn token(&self) -> Token {
        self.token_at(self.at)
    }

    /// Kind of the token `ahead`, as the lexer saw it.
    #[inline]
    fn raw(&self, ahead: usize) -> Kind {
        self.token_at(self.at + ahead).kind
    }

    /// Kind of the token `ahead`, where words that mean nothing here, or that the program declared,
    /// are identifiers.
    #[inline]
    fn kind(&self, ahead: usize) -> Kind {
        self.kind_at(self.at + ahead)
    }

    #[inline]
    fn kind_at(&self, index: usize) -> Kind {
        let token = self.token_at(index);
        if token.kind.is_soft() {
            self.word(token)
        } else {
            token.kind
        }
    }

    fn word(&self, token: Token) -> Kind {
        let means_something = if token.kind.is_leeward_word() {
            self.leeward && self.names.get(token.name).is_none()
        } else if token.kind.is_c23_word() {
            self.options.dialect == Dialect::Leeward || self.names.get(token.name).is_none()
        } else {
            self.names.get(token.name).is_none()
        };
        if means_something {
            token.kind
        } else {
            Kind::Ident
        }
    }

    #[inline]
    fn at(&self, kind: Kind) -> bool {
        self.kind(0) == kind
    }

    /// Whether the token `ahead` can be a name: an identifier or a word that is not reserved.
    #[inline]
    fn is_name(&self, ahead: usize) -> bool {
        self.is_name_at(self.at + ahead)
    }

    fn is_name_at(&self, index: usize) -> bool {
        let kind = self.token_at(index).kind;
        kind == Kind::Ident || (kind.is_soft() && !(kind.is_c23_word() && self.options.dialect == Dialect::Leeward))
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        if token.kind != Kind::Eof {
            self.at += 1;
        }
        token
    }

    /// Takes the token if it is `kind`.
    #[inline]
    fn eat(&mut self, kind: Kind) -> Option<Span> {
        if self.at(kind) {
            Some(self.advance().span())
        } else {
            None
        }
    }

    /// Place of the token before the cursor.
    fn previous(&self) -> Span {
        match self.at.checked_sub(1) {
            Some(index) => self.token_at(index).span(),
            None => Span::NONE,
        }
    }

    fn here(&self) -> Span {
        self.token().span()
    }

    /// From `lo` to the last token taken.
    fn since(&self, lo: Span) -> Span {
        let end = self.previous();
        if end.hi < lo.hi {
            lo
        } else {
            Span::new(lo.lo, end.hi)
        }
    }

    fn text(&self, token: Token) -> &'a str {
        self.map.snippet(token.span())
    }

    // ---- errors ----

    /// Reports at `span`. While a rule is only tried, and at a place that was reported already,
    /// nothing is.
    fn report(&mut self, diagnostic: Diagnostic) -> Stop {
        // The lexer has reported what an invalid token stands for.
        let repeated = self.last_error == Some(self.at) || self.raw(0) == Kind::Invalid;
        if self.quiet == 0 && !self.given_up && !repeated {
            self.last_error = Some(self.at);
            self.sink.push(diagnostic);
        }
        Stop
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) -> Stop {
        self.report(Diagnostic::error(code, span, message))
    }

    /// How the current token is named in a message.
    fn found(&self) -> String {
        let token = self.token();
        match token.kind {
            Kind::Eof => "the end of the file".to_string(),
            Kind::Str => "a string literal".to_string(),
            _ => {
                let text: String = self.text(token).chars().take(40).collect();
                format!("`{text}`")
            }
        }
    }

    fn expected(&mut self, what: &str) -> Stop {
        let message = format!("expected {what}, found {}", self.found());
        let span = self.here();
        self.error(codes::UNEXPECTED_TOKEN, span, message)
    }

    fn expect(&mut self, kind: Kind) -> Parsed<Span> {
        if self.at(kind) {
            return Ok(self.advance().span());
        }
        Err(self.expected(&format!("`{}`", kind.text())))
    }

    /// Takes the bracket that closes `open`; the error names both.
    fn close(&mut self, kind: Kind, open: Span) -> Parsed<Span> {
        if self.at(kind) {
            return Ok(self.advance().span());
        }
        let message = format!("expected `{}`, found {}", kind.text(), self.found());
        let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, self.here(), message);
        Err(self.report(diagnostic.label(open, "opened here")))
    }

    /// Takes `;`. If it is only missing (the next token starts a line or closes a block), reports
    /// and continues.
    fn semicolon(&mut self, after: &str) -> Parsed<()> {
        if self.eat(Kind::Semi).is_some() {
            return Ok(());
        }
        let end = self.previous();
        let mut diagnostic = Diagnostic::error(
            codes::UNEXPECTED_TOKEN,
            if self.starts_line(self.at) { Span::new(end.hi.saturating_sub(1), end.hi) } else { self.here() },
            format!("expected `;` {after}, found {}", self.found()),
        );
        let word = is_pointer_word(self.kind(0));
        if self.leeward && word {
            diagnostic = diagnostic.help("the words of a pointer stand between its `*` and the name: `T *fat p`");
        } else if self.leeward
            && self.at.checked_sub(1).is_some_and(|before| is_pointer_word(self.token_at(before).kind))
        {
            // The word was taken for the name that is declared.
            diagnostic = diagnostic.help(
                "the words of a pointer stand after a `*`: where a typedef hides that, write the pointer out, `struct s *unique p`",
            );
        }
        self.report(diagnostic);
        if matches!(self.raw(0), Kind::RBrace | Kind::Eof) || self.starts_line(self.at) {
            Ok(())
        } else {
            Err(Stop)
        }
    }

    /// Whether a line break stands before the token.
    fn starts_line(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1) else { return true };
        let between = Span::new(self.token_at(before).hi, self.token_at(index).lo);
        self.map.text.as_bytes().get(between.lo as usize..between.hi as usize).is_some_and(|t| t.contains(&b'\n'))
    }

    /// One level deeper; too deep ends the parse with one error.
    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.give_up(format!("more than {MAX_DEPTH} levels of nesting")));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn give_up(&mut self, message: String) -> Stop {
        // A limit counts even where a rule is only tried: the trial would be repeated at every
        // level.
        if !self.given_up {
            let diagnostic = Diagnostic::error(codes::TOO_DEEP, self.here(), message);
            self.sink.push(diagnostic.help("split it: name a part of the expression, or move a block into a function"));
        }
        self.given_up = true;
        self.at = self.tokens.len().saturating_sub(1);
        Stop
    }

    /// Notes that an expression on top of ones of height `below` was built in a loop.
    #[inline]
    fn raise(&mut self, below: u32) -> Parsed<()> {
        self.height = self.height.max(below) + 1;
        if self.height > MAX_CHAIN {
            return Err(self.give_up(format!("an expression of more than {MAX_CHAIN} operands")));
        }
        Ok(())
    }

    /// Runs `rule`; if it fails, nothing is reported and the cursor is back where it was.
    fn attempt<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Option<T> {
        let (at, last_error) = (self.at, self.last_error);
        self.quiet += 1;
        let result = rule(self);
        self.quiet -= 1;
        self.last_error = last_error;
        match result {
            Ok(value) => Some(value),
            Err(Stop) => {
                if !self.given_up {
                    self.at = at;
                }
                None
            }
        }
    }

    // ---- skipping ----

    /// Index after the bracket that closes the one at `index`; the end of the file if none does.
    fn behind_brackets(&self, index: usize) -> usize {
        let mut open = 0u32;
        let mut index = index;
        loop {
            match self.token_at(index).kind {
                Kind::Eof => return index,
                Kind::LParen | Kind::LBracket | Kind::LBrace => open += 1,
                Kind::RParen | Kind::RBracket | Kind::RBrace => {
                    open = open.saturating_sub(1);
                    if open == 0 {
                        return index + 1;
                    }
                }
                _ => {}
            }
            index += 1;
        }
    }

    /// Index after the bracket that closes the one at `index`, if they pair up and no `;` says
    /// that one is missing.
    fn behind_closed(&self, index: usize) -> Option<usize> {
        let mut open = vec![];
        let mut index = index;
        loop {
            match self.token_at(index).kind {
                kind @ (Kind::LParen | Kind::LBracket | Kind::LBrace) => open.push(kind),
                Kind::RParen if open.pop() != Some(Kind::LParen) => return None,
                Kind::RBracket if open.pop() != Some(Kind::LBracket) => return None,
                Kind::RBrace if open.pop() != Some(Kind::LBrace) => return None,
                // Those of a statement expression, `({ ... })`, stand in braces inside parentheses.
                Kind::Semi if open.len() < 2 || open.last() != Some(&Kind::LBrace) => return None,
                Kind::Eof => return None,
                _ => {}
            }
            index += 1;
            if open.is_empty() {
                return Some(index);
            }
        }
    }

    /// After a mistake: past the next `;` of this block, or before its `}`, or before a statement
    /// that starts a line.
    fn recover(&mut self, from: usize) {
        if self.at == from && !matches!(self.raw(0), Kind::RBrace | Kind::Semi | Kind::LBrace) {
            self.advance();
        }
        loop {
            match self.raw(0) {
                Kind::Eof | Kind::RBrace => return,
                Kind::Semi => {
                    self.advance();
                    return;
                }
                Kind::LBrace => {
                    self.at = self.behind_brackets(self.at);
                    // `} while (...)`, `} else` and `} name;` belong to what was skipped.
                    if !matches!(self.raw(0), Kind::While | Kind::Else | Kind::Semi | Kind::Ident)
                        || self.starts_line(self.at)
                    {
                        return;
                    }
                }
                kind if starts_statement(kind) && self.at > from && self.starts_line(self.at) => return,
                _ => {
                    self.advance();
                }
            }
        }
    }

    // ---- names ----

    /// Takes a name.
    fn name(&mut self, what: &str) -> Parsed<Ident> {
        if self.is_name(0) {
            let token = self.advance();
            return Ok(Ident { name: token.name, span: token.span() });
        }
        Err(self.expected(what))
    }

    fn kind_of_name(&self, index: usize) -> Option<NameKind> {
        let token = self.token_at(index);
        if self.is_name_at(index) {
            self.names.get(token.name)
        } else {
            None
        }
    }

    /// Declares a name that the grammar must know.
    fn declare(&mut self, name: Symbol, kind: NameKind) {
        self.names.declare(name, kind);
        if self.generic_scope && self.names.depth() == 1 {
            self.generic_exports.push(name);
        }
    }

    /// `>` that closes arguments; `>>`, `>=` and `>>=` are split.
    fn close_angle(&mut self, open: Span) -> Parsed<Span> {
        let rest = match self.raw(0) {
            Kind::Gt => return Ok(self.advance().span()),
            Kind::Shr => Kind::Gt,
            Kind::Ge => Kind::Eq,
            Kind::ShrEq => Kind::Ge,
            _ => return self.close(Kind::Gt, open),
        };
        let Some(token) = self.tokens.get_mut(self.at) else { return Err(Stop) };
        let span = Span::new(token.lo, token.lo + 1);
        token.kind = rest;
        token.lo += 1;
        Ok(span)
    }
}

/// Whether this is a word that stands after the `*` of a pointer, and nowhere else.
fn is_pointer_word(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Fat
            | Kind::CountedBy
            | Kind::NullTerminated
            | Kind::Nonnull
            | Kind::Unique
            | Kind::Rc
            | Kind::View
            | Kind::Any
    )
}

/// Keywords that begin a statement: after a mistake, parsing continues there.
fn starts_statement(kind: Kind) -> bool {
    use Kind::*;
    matches!(
        kind,
        If | While | Do | For | Switch | Case | Default | Return | Goto | Break | Continue | Typedef | Struct | Static
    )
}
