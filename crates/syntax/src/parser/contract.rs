//! Contracts, and the types of their endpoints.

use super::{Parsed, Parser, Stop};
use crate::ast::*;
use crate::codes;
use crate::scope::NameKind;
use crate::token::Kind;
use source::{Diagnostic, Span};

/// What of a contract was read so far.
type Parts = (Vec<MessageDef>, Vec<StateDef>);

impl Parser<'_> {
    /// Whether `contract NAME` or `local contract NAME` stands here.
    pub(super) fn starts_contract(&self) -> bool {
        let local = usize::from(self.kind(0) == Kind::Local);
        self.kind(local) == Kind::Contract && self.is_name(local + 1)
    }

    pub(super) fn contract(&mut self) -> Parsed<ContractDef> {
        let local = self.eat(Kind::Local).is_some();
        self.advance();
        let name = self.name("the name of the contract")?;
        self.declare(name.name, NameKind::Contract);
        let extends = if self.at_word("extends") {
            self.advance();
            Some(self.name("the contract that this one extends")?)
        } else {
            None
        };
        let open = self.expect(Kind::LBrace)?;
        let mut parts = (vec![], vec![]);
        while !matches!(self.raw(0), Kind::RBrace | Kind::Eof) {
            let from = self.at;
            if self.contract_part(&mut parts).is_err() {
                self.recover(from);
            }
        }
        self.close(Kind::RBrace, open)?;
        self.eat(Kind::Semi);
        let (messages, states) = parts;
        Ok(ContractDef { name, local, extends, messages, states })
    }

    /// Whether the identifier is this word, which means something here only.
    fn at_word(&self, word: &str) -> bool {
        self.is_name(0) && self.text(self.token()) == word
    }

    fn contract_part(&mut self, parts: &mut Parts) -> Parsed<()> {
        let lo = self.here();
        if self.at_word("state") {
            self.advance();
            parts.1.push(self.contract_state(lo)?);
            return Ok(());
        }
        let direction = match (self.at_word("in"), self.at_word("out")) {
            (true, _) => Some(Direction::In),
            (_, true) => Some(Direction::Out),
            _ => None,
        };
        if direction.is_some() {
            self.advance();
        }
        if !self.at_word("message") {
            let what = if direction.is_some() { "`message`" } else { "`in message`, `out message` or `state`" };
            return Err(self.expected(what));
        }
        self.advance();
        let name = self.name("the name of the message")?;
        if self.raw(0) != Kind::LParen {
            return Err(self.expected("`(` and the arguments of the message"));
        }
        let params = self.parameters()?;
        self.semicolon("after a message")?;
        parts.0.push(MessageDef { span: self.since(lo), direction, name, params });
        Ok(())
    }

    fn contract_state(&mut self, lo: Span) -> Parsed<StateDef> {
        let name = self.name("the name of the state")?;
        let open = self.expect(Kind::LBrace)?;
        let mut chains = vec![];
        while !matches!(self.raw(0), Kind::RBrace | Kind::Eof) {
            let from = self.at;
            match self.state_line() {
                Ok(chain) => chains.push(chain),
                Err(Stop) => self.recover(from),
            }
        }
        self.close(Kind::RBrace, open)?;
        Ok(StateDef { span: self.since(lo), name, chains })
    }

    fn state_line(&mut self) -> Parsed<Chain> {
        let chain = self.chain_of_messages()?;
        self.semicolon("after what can happen in a state")?;
        Ok(chain)
    }

    /// `A? -> (B! | C!) -> S`
    fn chain_of_messages(&mut self) -> Parsed<Chain> {
        let lo = self.here();
        let mut steps = vec![];
        loop {
            steps.push(self.deeper(Self::step)?);
            if self.eat(Kind::Arrow).is_none() {
                break;
            }
        }
        Ok(Chain { span: self.since(lo), steps })
    }

    fn step(&mut self) -> Parsed<Step> {
        let lo = self.here();
        if let Some(open) = self.eat(Kind::LParen) {
            let mut chains = vec![self.chain_of_messages()?];
            while self.eat(Kind::Pipe).is_some() {
                chains.push(self.chain_of_messages()?);
            }
            self.close(Kind::RParen, open)?;
            return Ok(Step::Choice(chains, self.since(lo)));
        }
        let name = self.name("a message or a state")?;
        let sign = match self.raw(0) {
            Kind::Bang => Some(Direction::Out),
            Kind::Question => Some(Direction::In),
            _ => None,
        };
        if sign.is_some() {
            self.advance();
        }
        Ok(Step::Name(name, sign))
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

    /// The name of a contract where a type is expected.
    pub(super) fn endpoint_type(&mut self) -> Parsed<TypeSpec> {
        let lo = self.here();
        let contract = self.word_ident();
        if self.raw(0) != Kind::Dot {
            let message = format!("`{}` is a contract: a type is one end of its channels", contract.name);
            let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, contract.span, message);
            let help = format!("write `{0}.exp` or `{0}.imp`, with a state behind it: `{0}.exp:STATE`", contract.name);
            return Err(self.report(diagnostic.help(help)));
        }
        self.advance();
        let exporter = match self.text(self.token()) {
            "exp" => true,
            "imp" => false,
            _ => return Err(self.expected("`exp` or `imp`")),
        };
        self.advance();
        let (mut state, mut becomes) = (None, None);
        if self.raw(0) == Kind::Colon && self.is_name(1) {
            self.advance();
            state = Some(self.word_ident());
            if self.raw(0) == Kind::Arrow && self.is_name(1) {
                self.advance();
                becomes = Some(self.word_ident());
            }
        }
        Ok(TypeSpec::Endpoint(Box::new(EndpointSpec { span: self.since(lo), contract, exporter, state, becomes })))
    }
}
