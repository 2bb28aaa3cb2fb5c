//! Constructs that later stages of the language bring: their extent is found, typing says that they
//! are not there yet.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::token::Kind;

impl Parser<'_> {
    /// Whether a predeclared type of a later stage stands at `index`: followed by what only a type
    /// can be followed by.
    pub(super) fn later_type_at(&self, index: usize, kind: Kind) -> bool {
        if !kind.is_later_type() {
            return false;
        }
        let next = self.token_at(index + 1).kind;
        match kind {
            // `pid (*f)(int)`
            Kind::Pid if next == Kind::LParen => self.token_at(index + 2).kind == Kind::Star,
            Kind::Pid | Kind::Task | Kind::Custodian | Kind::Arena | Kind::Reap => {
                next == Kind::Star
                    || self.is_name_at(index + 1)
                    || matches!(next, Kind::RParen | Kind::Comma | Kind::Gt)
            }
            _ => next == Kind::Lt,
        }
    }

    /// A type of a later stage, with its arguments.
    pub(super) fn later_type(&mut self) -> Parsed<TypeSpec> {
        let lo = self.here();
        if let Some(spec) = self.region_type()? {
            return Ok(spec);
        }
        let is_set = matches!(self.raw(0), Kind::Eset | Kind::Emap);
        let mut ident = self.word_ident();
        let args = if self.at(Kind::Lt) { self.generic_args()? } else { vec![] };
        ident.span = self.since(lo);
        Ok(if is_set { TypeSpec::EndSet(ident, args) } else { TypeSpec::Unsupported(ident) })
    }

    /// `spawn f(...)`, `spawn? f(...)`, `start f(...)`
    pub(super) fn start_or_spawn(&mut self, word: Kind) -> Parsed<Option<ExprKind>> {
        let question = usize::from(word == Kind::Spawn && self.raw(1) == Kind::Question);
        if !matches!(word, Kind::Spawn | Kind::Start) || !self.is_name(1 + question) {
            return Ok(None);
        }
        self.advance();
        self.at += question;
        let call = Box::new(self.unary()?);
        Ok(Some(match word {
            Kind::Start => ExprKind::Start(call),
            _ => ExprKind::Spawn(call, question > 0),
        }))
    }
}
