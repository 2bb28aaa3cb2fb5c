//! Initialisers and designators.

use super::{Parsed, Parser, Stop};
use crate::ast::*;
use crate::token::Kind;
use source::Span;

impl Parser<'_> {
    /// An expression or `{ ... }`.
    pub(super) fn initializer(&mut self) -> Parsed<Initializer> {
        if self.at(Kind::LBrace) {
            let lo = self.here();
            let items = self.braced_items()?;
            return Ok(Initializer::List(items, self.since(lo)));
        }
        self.assignment().map(Initializer::Expr)
    }

    /// `{ ... }`
    pub(super) fn braced_items(&mut self) -> Parsed<Vec<InitItem>> {
        self.deeper(|p| {
            let open = p.expect(Kind::LBrace)?;
            let items = p.init_items(Kind::RBrace)?;
            p.close(Kind::RBrace, open)?;
            Ok(items)
        })
    }

    /// Elements up to the bracket `end`, which stays.
    pub(super) fn init_items(&mut self, end: Kind) -> Parsed<Vec<InitItem>> {
        let mut items = vec![];
        while self.raw(0) != end {
            items.push(self.init_item()?);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        Ok(items)
    }

    fn init_item(&mut self) -> Parsed<InitItem> {
        // `field: value` of old GNU C.
        if self.is_name(0) && self.raw(1) == Kind::Colon {
            let field = self.name("a member")?;
            self.advance();
            return Ok(InitItem { designators: vec![Designator::Field(field)], init: self.initializer()? });
        }
        let mut designators = vec![];
        while matches!(self.raw(0), Kind::Dot | Kind::LBracket) {
            designators.push(self.designator()?);
        }
        // `[i] value` without `=` is old GNU C too.
        if !designators.is_empty()
            && self.eat(Kind::Eq).is_none()
            && matches!(designators.last(), Some(Designator::Field(_)))
        {
            return Err(self.expected("`=` after the designator"));
        }
        Ok(InitItem { designators, init: self.initializer()? })
    }

    /// `.m`, `[e]` or `[a ... b]`
    pub(super) fn designator(&mut self) -> Parsed<Designator> {
        let open = self.here();
        match self.raw(0) {
            Kind::Dot => {
                self.advance();
                self.name("a member").map(Designator::Field)
            }
            Kind::LBracket => {
                self.advance();
                let first = self.conditional()?;
                let last = match self.eat(Kind::Ellipsis) {
                    Some(_) => Some(self.conditional()?),
                    None => None,
                };
                self.close(Kind::RBracket, open)?;
                Ok(match last {
                    Some(last) => Designator::Range(first, last),
                    None => Designator::Index(first),
                })
            }
            _ => Err(self.expected("`.` or `[`")),
        }
    }

    /// `m.n[i]` of `offsetof`.
    pub(super) fn member_designator(&mut self) -> Parsed<Vec<Designator>> {
        let mut all = vec![Designator::Field(self.name("a member")?)];
        while matches!(self.raw(0), Kind::Dot | Kind::LBracket | Kind::Arrow) {
            if self.raw(0) == Kind::Arrow {
                return Err(self.expected("`.` or `[`"));
            }
            all.push(self.designator()?);
        }
        Ok(all)
    }

    /// Adjacent string literals as bytes, for `asm`, `static_assert`.
    pub(super) fn string_bytes(&mut self) -> Parsed<Vec<u8>> {
        if self.raw(0) != Kind::Str {
            return Err(self.expected("a string literal"));
        }
        let (literal, _) = self.string_literal()?;
        Ok(literal.units.iter().map(|&unit| unit as u8).collect())
    }

    /// Adjacent string literals as one.
    pub(super) fn string_literal(&mut self) -> Parsed<(StrLit, Span)> {
        let lo = self.here();
        let first = self.at;
        while self.raw(0) == Kind::Str {
            self.advance();
        }
        let tokens = self.tokens.get(first..self.at).unwrap_or(&[]);
        let map = self.map;
        let result = crate::literal::string(tokens.iter().map(|token| map.snippet(token.span())));
        let span = self.since(lo);
        match result {
            Ok(literal) => Ok((literal, span)),
            Err(error) => {
                self.literal_error(error, span);
                Ok((StrLit { encoding: Encoding::None, units: vec![] }, span))
            }
        }
    }

    /// Reports a malformed literal; parsing continues as if it were well formed.
    pub(super) fn literal_error(&mut self, error: crate::literal::LiteralError, span: Span) -> Stop {
        let mut diagnostic = source::Diagnostic::error(error.code, span, error.message);
        diagnostic.help = error.help.map(str::to_string);
        // The mistake is in the literal, not at the token after it.
        let last = self.last_error.take();
        let stop = self.report(diagnostic);
        self.last_error = last;
        stop
    }
}
