//! Constructs that later stages of the language bring: their extent is found, typing says that they are not there yet.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::scope::NameKind;
use crate::token::Kind;
use source::{Span, Symbol};

impl Parser<'_> {
    /// `contract`, `local contract` and `process` at file level; returns the word.
    pub(super) fn later_item(&mut self) -> Option<Symbol> {
        let word = self.kind(0);
        match word {
            Kind::Local if self.kind(1) == Kind::Contract && self.is_name(2) => {
                self.advance();
                Some(self.contract())
            }
            Kind::Contract if self.is_name(1) => Some(self.contract()),
            Kind::Process if self.starts_declaration(self.at + 1) => Some(self.process()),
            _ => None,
        }
    }

    fn contract(&mut self) -> Symbol {
        let word = self.advance().name;
        let name = self.token().name;
        self.declare(name, NameKind::Contract);
        self.skip_to_body();
        word
    }

    fn process(&mut self) -> Symbol {
        let word = self.advance().name;
        let mut index = self.at;
        while !matches!(self.token_at(index).kind, Kind::LParen | Kind::LBrace | Kind::Semi | Kind::Eof) {
            index += 1;
        }
        if let Some(before) = index.checked_sub(1).filter(|&i| self.is_name_at(i)) {
            let name = self.token_at(before).name;
            self.declare(name, NameKind::Ordinary);
        }
        self.skip_to_body();
        word
    }

    /// Behind the next `{ ... }` or `;`.
    fn skip_to_body(&mut self) {
        loop {
            match self.raw(0) {
                Kind::LBrace => {
                    self.at = self.behind_brackets(self.at);
                    return;
                }
                Kind::LParen | Kind::LBracket => self.at = self.behind_brackets(self.at),
                Kind::Semi => {
                    self.advance();
                    return;
                }
                Kind::Eof | Kind::RBrace => return,
                _ => {
                    self.advance();
                }
            }
        }
    }

    /// Whether a predeclared type of a later stage stands at `index`: followed by what only a type has behind it.
    pub(super) fn later_type_at(&self, index: usize, kind: Kind) -> bool {
        if !kind.is_later_type() {
            return false;
        }
        let next = self.token_at(index + 1).kind;
        match kind {
            Kind::Pid | Kind::Task | Kind::Custodian | Kind::Arena | Kind::Reap => {
                next == Kind::Star
                    || self.is_name_at(index + 1)
                    || matches!(next, Kind::RParen | Kind::Comma | Kind::Gt)
            }
            _ => next == Kind::Lt,
        }
    }

    /// `Nic.exp`, `Nic.imp` where a type may stand.
    pub(super) fn contract_type_at(&self, index: usize) -> bool {
        if !self.leeward || !self.is_name_at(index) || self.token_at(index + 1).kind != Kind::Dot {
            return false;
        }
        let side = self.token_at(index + 2);
        if !matches!(self.map.snippet(side.span()), "exp" | "imp") {
            return false;
        }
        match self.kind_of_name(index) {
            Some(NameKind::Contract) => true,
            Some(_) => false,
            None => self.is_name_at(index + 3) || self.token_at(index + 3).kind == Kind::Colon,
        }
    }

    /// A type of a later stage, with its arguments or state.
    pub(super) fn later_type(&mut self) -> Parsed<TypeSpec> {
        let lo = self.here();
        if self.contract_type_at(self.at) {
            let mut ident = self.word_ident();
            self.at += 2;
            if self.raw(0) == Kind::Colon && self.is_name(1) {
                self.at += 2;
                if self.raw(0) == Kind::Arrow && self.is_name(1) {
                    self.at += 2;
                }
            }
            ident.span = self.since(lo);
            return Ok(TypeSpec::Unsupported(ident));
        }
        if let Some(spec) = self.region_type()? {
            return Ok(spec);
        }
        let mut ident = self.word_ident();
        if self.at(Kind::Lt) {
            self.generic_args()?;
        }
        ident.span = self.since(lo);
        Ok(TypeSpec::Unsupported(ident))
    }

    /// `spawn f(...)`, `spawn? f(...)`, `start f(...)`
    pub(super) fn later_expression(&mut self, word: Kind) -> Parsed<Option<ExprKind>> {
        let question = usize::from(word == Kind::Spawn && self.raw(1) == Kind::Question);
        if !matches!(word, Kind::Spawn | Kind::Start) || !self.is_name(1 + question) {
            return Ok(None);
        }
        let name = self.advance().name;
        self.at += question;
        let call = self.unary()?;
        if word == Kind::Start {
            return Ok(Some(ExprKind::Start(Box::new(call))));
        }
        Ok(Some(ExprKind::Unsupported(name)))
    }

    /// `switch receive { ... }`
    pub(super) fn later_switch(&mut self) -> Parsed<StmtKind> {
        self.at += 2;
        if self.raw(0) != Kind::LBrace {
            return Err(self.expected("`{` after `switch receive`"));
        }
        self.skip_to_body();
        Ok(StmtKind::Unsupported(Symbol::new("switch receive"), None))
    }

    /// Statements that begin with a word of a later stage.
    pub(super) fn later_statement(&mut self) -> Parsed<Option<StmtKind>> {
        let word = self.raw(0);
        if !self.leeward || !word.is_leeward_word() {
            return Ok(None);
        }
        // A function of the same name is told apart by the next token; anything else that the program declares hides the word.
        let shared = matches!(word, Kind::Send | Kind::Receive);
        let declared = self.kind_of_name(self.at);
        if declared.is_some() && !(shared && declared == Some(NameKind::Ordinary)) {
            return Ok(None);
        }
        let named = self.is_name(1);
        let next = self.raw(2);
        let fits = match word {
            Kind::Channel => named && next == Kind::LParen,
            Kind::Send | Kind::Receive => named && matches!(next, Kind::Dot | Kind::Arrow),
            Kind::Expose => {
                self.raw(1) == Kind::LParen && self.token_at(self.behind_brackets(self.at + 1)).kind == Kind::LBrace
            }
            _ => false,
        };
        if !fits {
            return Ok(None);
        }
        let token = self.token();
        if word == Kind::Expose {
            self.skip_to_body();
        } else {
            self.skip_statement();
        }
        let names = self.introduced(word, token.lo);
        let first = names.first().copied();
        for name in names {
            self.declare(name.name, NameKind::Ordinary);
        }
        Ok(Some(StmtKind::Unsupported(token.name, first)))
    }

    /// Behind the `;` of this statement.
    fn skip_statement(&mut self) {
        loop {
            match self.raw(0) {
                Kind::Eof | Kind::RBrace => break,
                Kind::Semi => {
                    self.advance();
                    return;
                }
                Kind::LParen | Kind::LBracket | Kind::LBrace => self.at = self.behind_brackets(self.at),
                _ => {
                    self.advance();
                }
            }
        }
        self.expected("`;`");
    }

    /// The names that the skipped statement from byte `lo` up to the cursor declares.
    fn introduced(&self, word: Kind, lo: u32) -> Vec<Ident> {
        let first = self.tokens.partition_point(|t| t.lo < lo);
        let ident = |index: usize| {
            let token = self.token_at(index);
            Ident { name: token.name, span: token.span() }
        };
        let mut names = vec![];
        match word {
            Kind::Channel | Kind::Receive => {
                let from = (first..self.at).find(|&i| self.token_at(i).kind == Kind::LParen).unwrap_or(self.at) + 1;
                names.extend((from..self.at).filter(|&i| self.is_name_at(i)).map(ident));
            }
            _ => {}
        }
        names
    }

    /// Declarations, of no type that could be wrong, for the names beside the first that a skipped statement declares:
    /// their uses raise no second error.
    pub(super) fn later_names(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        let StmtKind::Unsupported(word, Some(first)) = stmt.kind else { return vec![] };
        let Some(&(_, kind)) = crate::token::WORDS.iter().find(|(text, _)| *text == word.as_str()) else {
            return vec![];
        };
        let names = self.introduced(kind, stmt.span.lo);
        names.into_iter().filter(|name| *name != first).map(|name| silent_declaration(name, stmt.span)).collect()
    }
}

/// `auto name = <error>;`
fn silent_declaration(name: Ident, span: Span) -> Stmt {
    let mut specs = DeclSpecs::missing(name.span);
    specs.ty = TypeSpec::Infer;
    let declarator = Declarator { span: name.span, name: Some(name), derived: vec![], asm_label: None, attrs: vec![] };
    let init = Some(Initializer::Expr(Expr { span: name.span, kind: ExprKind::Error }));
    let declarators = vec![InitDeclarator { declarator, init }];
    let decl = Decl { span: name.span, generics: None, trusted: false, specs, declarators };
    Stmt { span, kind: StmtKind::Decl(decl), attrs: vec![] }
}
