//! Statements about channels: `channel`, `send`, `receive`, `switch receive`, `switch (state d)`.

use super::{Parsed, Parser, Stop};
use crate::ast::*;
use crate::scope::NameKind;
use crate::token::Kind;
use source::Span;

impl Parser<'_> {
    /// `channel C (c, d);`, `send d.M(x);`, `receive d.M(x);`
    pub(super) fn channel_statement(&mut self) -> Parsed<Option<StmtKind>> {
        let word = self.raw(0);
        if !self.leeward || !matches!(word, Kind::Channel | Kind::Send | Kind::Receive) {
            return Ok(None);
        }
        // Two names side by side: a function of this name is not called so. Any other declaration
        // hides the word.
        let declared = self.kind_of_name(self.at);
        let shared = word != Kind::Channel && declared == Some(NameKind::Ordinary);
        if !self.is_name(1) || declared.is_some() && !shared {
            return Ok(None);
        }
        let kind = match word {
            Kind::Channel => match self.raw(2) {
                Kind::LParen | Kind::Colon => self.channel()?,
                _ => return Ok(None),
            },
            Kind::Send => {
                self.advance();
                let (end, message) = self.endpoint_message()?;
                let args = self.call_arguments()?;
                StmtKind::Send(end, message, args)
            }
            _ => {
                self.advance();
                let lo = self.here();
                let (end, message) = self.endpoint_message()?;
                let names = self.new_names()?;
                let source = PatternSource::Endpoint(end);
                StmtKind::Receive(Box::new(Pattern { span: self.since(lo), source, message, names }))
            }
        };
        self.semicolon("after this statement")?;
        Ok(Some(kind))
    }

    /// `channel C:STATE (c, d)`
    fn channel(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let contract = self.name("a contract")?;
        let state = match self.eat(Kind::Colon) {
            Some(_) => Some(self.name("a state of the contract")?),
            None => None,
        };
        let open = self.expect(Kind::LParen)?;
        let importer = self.name("a name for the importer's end")?;
        self.expect(Kind::Comma)?;
        let exporter = self.name("a name for the exporter's end")?;
        self.close(Kind::RParen, open)?;
        for name in [importer, exporter] {
            self.declare(name.name, NameKind::Ordinary);
        }
        Ok(StmtKind::Channel { contract, state, importer, exporter })
    }

    /// `d.M`, `s->d.M`, `a[i].M` before a parenthesis: the endpoint and the message.
    fn endpoint_message(&mut self) -> Parsed<(Expr, Ident)> {
        let lo = self.here();
        let name = self.name("an endpoint")?;
        let mut end = Expr { span: name.span, kind: ExprKind::Ident(name.name) };
        self.height = 0;
        loop {
            let height = self.height;
            let kind = match self.raw(0) {
                Kind::LBracket => {
                    let open = self.advance().span();
                    let index = self.deeper(Self::expression)?;
                    self.close(Kind::RBracket, open)?;
                    ExprKind::Index(Box::new(end), Box::new(index))
                }
                Kind::Arrow => {
                    self.advance();
                    ExprKind::Arrow(Box::new(end), self.name("a member")?)
                }
                Kind::Dot => {
                    self.advance();
                    let member = self.name("a message")?;
                    if self.raw(0) == Kind::LParen {
                        return Ok((end, member));
                    }
                    ExprKind::Dot(Box::new(end), member)
                }
                _ => return Err(self.expected("`.`, a message and its arguments: `d.Message(...)`")),
            };
            self.raise(height)?;
            end = Expr { span: self.since(lo), kind };
        }
    }

    /// `(a, b)`: values.
    fn call_arguments(&mut self) -> Parsed<Vec<Expr>> {
        let open = self.expect(Kind::LParen)?;
        let mut args = vec![];
        while !self.at(Kind::RParen) {
            args.push(self.deeper(Self::assignment)?);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RParen, open)?;
        Ok(args)
    }

    /// `(a, b)`: names that are declared here.
    fn new_names(&mut self) -> Parsed<Vec<Ident>> {
        let open = self.expect(Kind::LParen)?;
        let mut names = vec![];
        while !self.at(Kind::RParen) {
            let name = self.name("a name for the argument")?;
            names.push(name);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RParen, open)?;
        for name in &names {
            self.declare(name.name, NameKind::Ordinary);
        }
        Ok(names)
    }

    /// `switch receive { ... }`
    pub(super) fn switch_receive(&mut self) -> Parsed<StmtKind> {
        let lo = self.here();
        self.at += 2;
        let head = self.since(lo);
        let open = self.expect(Kind::LBrace)?;
        let mut cases = vec![];
        while !matches!(self.raw(0), Kind::RBrace | Kind::Eof) {
            let from = self.at;
            self.names.enter();
            let case = self.receive_case();
            self.names.leave();
            match case {
                Ok(case) => cases.push(case),
                Err(Stop) => {
                    let lo = self.here();
                    self.recover(from);
                    // Without a pattern: it is not known what it waits for.
                    let (span, body) = (self.since(lo), Block { span: Span::new(lo.lo, lo.lo), stmts: vec![] });
                    cases.push(ReceiveCase { span, label: ReceiveLabel::Messages(vec![]), body });
                }
            }
        }
        self.close(Kind::RBrace, open)?;
        Ok(StmtKind::SwitchReceive(head, cases))
    }

    fn receive_case(&mut self) -> Parsed<ReceiveCase> {
        let lo = self.here();
        let label = match self.raw(0) {
            Kind::Case => {
                self.advance();
                self.receive_label()?
            }
            Kind::Default => {
                self.advance();
                ReceiveLabel::Default
            }
            _ => return Err(self.expected("`case` or `default`")),
        };
        if self.eat(Kind::Colon).is_none() {
            return Err(self.expected("`:` after the case"));
        }
        let span = self.since(lo);
        let begin = self.here();
        let mut stmts = vec![];
        while !matches!(self.raw(0), Kind::RBrace | Kind::Eof | Kind::Case | Kind::Default) {
            self.block_item(&mut stmts);
        }
        let body = if stmts.is_empty() { Span::new(begin.lo, begin.lo) } else { self.since(begin) };
        Ok(ReceiveCase { span, label, body: Block { span: body, stmts } })
    }

    fn receive_label(&mut self) -> Parsed<ReceiveLabel> {
        if self.is_name(0) && self.raw(1) == Kind::LParen && self.text(self.token()) == "after" {
            self.advance();
            let open = self.advance().span();
            let time = self.deeper(Self::expression)?;
            self.close(Kind::RParen, open)?;
            return Ok(ReceiveLabel::After(time));
        }
        let mut patterns = vec![self.pattern()?];
        while self.eat(Kind::AmpAmp).is_some() {
            patterns.push(self.pattern()?);
        }
        Ok(ReceiveLabel::Messages(patterns))
    }

    /// `d.M(x)`, `(d in s).M(x)`, `(d, v in m).M(x)`
    fn pattern(&mut self) -> Parsed<Pattern> {
        let lo = self.here();
        let Some(open) = self.eat(Kind::LParen) else {
            let (end, message) = self.endpoint_message()?;
            let names = self.new_names()?;
            return Ok(Pattern { span: self.since(lo), source: PatternSource::Endpoint(end), message, names });
        };
        let name = self.name("a name for the endpoint")?;
        let value = match self.eat(Kind::Comma) {
            Some(_) => Some(self.name("a name for the endpoint's value")?),
            None => None,
        };
        if !(self.is_name(0) && self.text(self.token()) == "in") {
            return Err(self.expected("`in` and a set of endpoints"));
        }
        self.advance();
        let set = self.deeper(Self::expression)?;
        self.close(Kind::RParen, open)?;
        self.expect(Kind::Dot)?;
        let message = self.name("a message")?;
        for name in [Some(name), value].into_iter().flatten() {
            self.declare(name.name, NameKind::Ordinary);
        }
        let names = self.new_names()?;
        Ok(Pattern { span: self.since(lo), source: PatternSource::Member(name, value, set), message, names })
    }

    /// Whether `switch (state d)` stands here.
    pub(super) fn starts_switch_state(&self) -> bool {
        let word = self.token_at(self.at + 2);
        self.leeward
            && self.raw(1) == Kind::LParen
            && self.is_name(2)
            && self.text(word) == "state"
            && self.names.get(word.name).is_none()
            && self.is_name(3)
    }

    /// `switch (state d) { case RUNNING: ... }`
    pub(super) fn switch_state(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let open = self.advance().span();
        self.advance();
        let end = self.expression()?;
        self.close(Kind::RParen, open)?;
        Ok(StmtKind::SwitchState(end, Box::new(self.statement()?)))
    }
}
