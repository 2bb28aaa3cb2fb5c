//! Statements and types of regions and ownership.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::scope::NameKind;
use crate::token::Kind;

impl Parser<'_> {
    /// `arena r;`, `reap r;`, `borrow b = x;`, `cursor pp = &place;`, `open arena h = k;`,
    /// `unpack p as {...};`, `expose (p) { ... }`
    pub(super) fn ownership_statement(&mut self) -> Parsed<Option<StmtKind>> {
        let word = self.raw(0);
        if !self.leeward || !word.is_leeward_word() {
            return Ok(None);
        }
        // A function of the same name is distinguished by the next token; anything else that the
        // program declares hides the word.
        let declared = self.kind_of_name(self.at);
        if declared.is_some() && !(word == Kind::Open && declared == Some(NameKind::Ordinary)) {
            return Ok(None);
        }
        let (named, next) = (self.is_name(1), self.raw(2));
        let kind = match word {
            Kind::Arena | Kind::Reap if named && matches!(next, Kind::Semi | Kind::Comma) => self.arena(word)?,
            Kind::Borrow | Kind::Cursor if named && next == Kind::Eq => {
                self.advance();
                let name = self.new_name("the name of what is lent")?;
                self.expect(Kind::Eq)?;
                let value = self.assignment()?;
                if word == Kind::Borrow {
                    StmtKind::Borrow(name, value)
                } else {
                    StmtKind::Cursor(name, value)
                }
            }
            Kind::Open if named && self.is_name(2) && matches!(self.raw(1), Kind::Arena | Kind::Reap) => {
                self.advance();
                let reap = self.advance().kind == Kind::Reap;
                let name = self.name("the name of the handle")?;
                self.expect(Kind::Eq)?;
                let key = self.assignment()?;
                self.declare(name.name, NameKind::Ordinary);
                StmtKind::Open { reap, name, key }
            }
            Kind::Expose
                if self.raw(1) == Kind::LParen
                    && self.token_at(self.behind_brackets(self.at + 1)).kind == Kind::LBrace =>
            {
                self.names.enter();
                let kind = self.expose();
                self.names.leave();
                return kind.map(Some);
            }
            Kind::Unpack if named || matches!(self.raw(1), Kind::Star | Kind::LParen) => self.unpack()?,
            _ => return Ok(None),
        };
        self.semicolon("after this statement")?;
        Ok(Some(kind))
    }

    /// `cursor pp = &place;` and `borrow b = x;` in the first part of a `for`.
    pub(super) fn loan_in_for(&mut self) -> Parsed<Option<StmtKind>> {
        match self.raw(0) {
            Kind::Cursor | Kind::Borrow => self.ownership_statement(),
            _ => Ok(None),
        }
    }

    fn new_name(&mut self, what: &str) -> Parsed<Ident> {
        let name = self.name(what)?;
        self.declare(name.name, NameKind::Ordinary);
        Ok(name)
    }

    /// `expose (p) { ... }`, `expose (s = &v[i]) { ... }`
    fn expose(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let open = self.expect(Kind::LParen)?;
        let mut name = None;
        if self.is_name(0) && self.raw(1) == Kind::Eq {
            name = Some(self.name("the name of what is exposed")?);
            self.advance();
        }
        let value = self.assignment()?;
        self.close(Kind::RParen, open)?;
        if let Some(name) = name {
            self.declare(name.name, NameKind::Ordinary);
        }
        let body = Box::new(self.statement()?);
        Ok(StmtKind::Expose { name, value, body })
    }

    fn arena(&mut self, word: Kind) -> Parsed<StmtKind> {
        self.advance();
        let mut names = vec![self.new_name("the name of the arena")?];
        while self.eat(Kind::Comma).is_some() {
            names.push(self.new_name("the name of the arena")?);
        }
        Ok(StmtKind::Arena { reap: word == Kind::Reap, names })
    }

    /// `unpack p as {@d, k: mine, root}`
    fn unpack(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let place = self.unary()?;
        if self.token().name != self.symbols.as_word || !self.is_name(0) {
            return Err(self.expected("`as` and the parts in braces"));
        }
        self.advance();
        let open = self.expect(Kind::LBrace)?;
        let (mut regions, mut bindings) = (vec![], vec![]);
        while !self.at(Kind::RBrace) {
            if self.at(Kind::At) {
                regions.push(self.region()?);
            } else {
                let field = self.name("a field")?;
                let name = match self.eat(Kind::Colon) {
                    Some(_) => self.name("the name that the field gets")?,
                    None => field,
                };
                self.declare(name.name, NameKind::Ordinary);
                bindings.push((field, name));
            }
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RBrace, open)?;
        Ok(StmtKind::Unpack { place, regions, bindings })
    }

    /// `key<@d>` and the other keys, `arena` and `reap` as types of parameters.
    pub(super) fn region_type(&mut self) -> Parsed<Option<TypeSpec>> {
        let word = match self.raw(0) {
            Kind::Key => KeyWord::Arena,
            Kind::ReapKey => KeyWord::Reap,
            Kind::RcKey => KeyWord::RcArena,
            Kind::RcReapKey => KeyWord::RcReap,
            Kind::ExchangeKey => KeyWord::Exchange,
            Kind::Arena | Kind::Reap => {
                let token = self.advance();
                return Ok(Some(TypeSpec::Handle(token.kind == Kind::Reap, token.span())));
            }
            _ => return Ok(None),
        };
        self.advance();
        let open = self.expect(Kind::Lt)?;
        let region = self.region()?;
        self.close_angle(open)?;
        Ok(Some(TypeSpec::Key(word, region)))
    }
}
