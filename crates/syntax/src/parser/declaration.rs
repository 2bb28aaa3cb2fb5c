//! Declarations and their declarators with initialisers.

use super::declarator::Mode;
use super::item::declared_kind;
use super::{Parsed, Parser, Stop};
use crate::ast::*;
use crate::codes;
use crate::scope::NameKind;
use crate::token::Kind;

impl Parser<'_> {
    /// A declaration that is not a function definition, with its `;`.
    pub(super) fn declaration(&mut self) -> Parsed<Decl> {
        let lo = self.here();
        let specs = self.specifiers()?;
        let declarators = if self.at(Kind::Semi) {
            vec![]
        } else {
            let kind = declared_kind(&specs, false);
            let mut declarator = self.declarator(Mode::Named)?;
            self.declarator_tail(&mut declarator)?;
            self.init_declarators(declarator, kind)?
        };
        self.semicolon("after a declaration")?;
        Ok(Decl { span: self.since(lo), generics: None, trusted: false, specs, declarators })
    }

    /// A declaration in a block: also a nested function.
    pub(super) fn block_declaration(&mut self) -> Parsed<StmtKind> {
        let lo = self.here();
        let specs = self.specifiers()?;
        let mut declarators = vec![];
        if !self.at(Kind::Semi) {
            let kind = declared_kind(&specs, false);
            let mut declarator = self.declarator(Mode::Named)?;
            self.declarator_tail(&mut declarator)?;
            if self.starts_body(&declarator) {
                self.declare_function(&declarator);
                return Ok(StmtKind::Function(Box::new(self.nested_function(lo, specs, declarator)?)));
            }
            declarators = self.init_declarators(declarator, kind)?;
        }
        self.semicolon("after a declaration")?;
        Ok(StmtKind::Decl(Decl { span: self.since(lo), generics: None, trusted: false, specs, declarators }))
    }

    /// The rest of a declaration after its first declarator, without the `;`.
    pub(super) fn init_declarators(&mut self, first: Declarator, kind: NameKind) -> Parsed<Vec<InitDeclarator>> {
        let mut all = vec![];
        let mut declarator = first;
        loop {
            // A name is visible from its own initialiser on.
            if let Some(name) = declarator.name {
                self.declare(name.name, kind);
            }
            let init = self.optional_initializer(kind);
            all.push(InitDeclarator { declarator, init });
            if self.eat(Kind::Comma).is_none() {
                return Ok(all);
            }
            let mut attrs = vec![];
            self.attributes(&mut attrs)?;
            declarator = self.declarator(Mode::Named)?;
            self.declarator_tail(&mut declarator)?;
            declarator.attrs.extend(attrs);
        }
    }

    /// `= e`, if it is there. One that does not parse is reported and skipped: the name is declared
    /// all the same.
    fn optional_initializer(&mut self, kind: NameKind) -> Option<Initializer> {
        let eq = self.eat(Kind::Eq)?;
        if matches!(kind, NameKind::Type | NameKind::GenericType) {
            self.error(codes::MISPLACED, eq, "a typedef has no initialiser");
        }
        let from = self.at;
        match self.initializer() {
            Ok(init) => Some(init),
            Err(Stop) => {
                self.skip_initializer(from);
                Some(Initializer::Expr(Expr { span: self.since(eq), kind: ExprKind::Error }))
            }
        }
    }

    /// To the `,` or `;` after a broken initialiser, if one follows on the way.
    fn skip_initializer(&mut self, from: usize) {
        // The mistake may be inside brackets, whose commas separate no declarators.
        let mut index = from;
        while index < self.at {
            index = self.behind_closed(index).unwrap_or(index + 1);
        }
        loop {
            match self.token_at(index).kind {
                Kind::Semi | Kind::Comma | Kind::Eof | Kind::RBrace => break,
                kind if super::starts_statement(kind) && self.starts_line(index) => break,
                Kind::LParen | Kind::LBracket | Kind::LBrace => index = self.behind_brackets(index),
                _ => index += 1,
            }
        }
        self.at = index;
    }
}
