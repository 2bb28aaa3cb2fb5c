//! Attributes in both spellings, and inline assembly.

use super::{Parsed, Parser, Stop};
use crate::ast::*;
use crate::token::Kind;
use source::{Span, Symbol};

impl Parser<'_> {
    /// Any number of `__attribute__((...))` and `[[...]]`.
    pub(super) fn attributes(&mut self, attrs: &mut Vec<Attribute>) -> Parsed<()> {
        loop {
            if self.at(Kind::Attribute) {
                self.advance();
                let outer = self.expect(Kind::LParen)?;
                let inner = self.expect(Kind::LParen)?;
                self.attribute_list(Kind::RParen, attrs)?;
                self.close(Kind::RParen, inner)?;
                self.close(Kind::RParen, outer)?;
            } else if self.at(Kind::LBracket) && self.raw(1) == Kind::LBracket {
                let outer = self.advance().span();
                let inner = self.advance().span();
                self.attribute_list(Kind::RBracket, attrs)?;
                self.close(Kind::RBracket, inner)?;
                self.close(Kind::RBracket, outer)?;
            } else {
                return Ok(());
            }
        }
    }

    fn attribute_list(&mut self, end: Kind, attrs: &mut Vec<Attribute>) -> Parsed<()> {
        loop {
            while self.eat(Kind::Comma).is_some() {}
            if self.raw(0) == end {
                return Ok(());
            }
            attrs.push(self.attribute()?);
            if self.raw(0) != Kind::Comma {
                return Ok(());
            }
        }
    }

    fn attribute(&mut self) -> Parsed<Attribute> {
        let lo = self.here();
        let mut name = self.attribute_name()?;
        let mut namespace = None;
        if self.raw(0) == Kind::Colon && self.raw(1) == Kind::Colon {
            self.at += 2;
            namespace = Some(name);
            name = self.attribute_name()?;
        }
        let mut args = vec![];
        if self.at(Kind::LParen) {
            let open = self.advance().span();
            self.attribute_args(&mut args, open)?;
        }
        Ok(Attribute { span: self.since(lo), namespace, name, args })
    }

    /// A name or keyword (`const`) without its underscores.
    fn attribute_name(&mut self) -> Parsed<Symbol> {
        let token = self.token();
        let text = self.text(token);
        if !text.starts_with(|c: char| c.is_alphabetic() || c == '_') || token.kind == Kind::Str {
            return Err(self.expected("an attribute"));
        }
        self.advance();
        let bare = text.strip_prefix("__").and_then(|t| t.strip_suffix("__")).filter(|t| !t.is_empty());
        Ok(bare.map_or(token.name, Symbol::new))
    }

    /// Arguments that are expressions; what is none (types, clauses of other compilers) is skipped.
    fn attribute_args(&mut self, args: &mut Vec<Expr>, open: Span) -> Parsed<()> {
        while !matches!(self.raw(0), Kind::RParen | Kind::Eof) {
            let from = self.at;
            let ends = matches!(self.raw(1), Kind::Comma | Kind::RParen);
            if self.is_name(0) && ends {
                let token = self.advance();
                args.push(Expr { span: token.span(), kind: ExprKind::Ident(token.name) });
            } else if !self.starts_type(self.at) {
                let arg = self.attempt(|p| {
                    let arg = p.assignment()?;
                    if matches!(p.raw(0), Kind::Comma | Kind::RParen) {
                        Ok(arg)
                    } else {
                        Err(Stop)
                    }
                });
                args.extend(arg);
            }
            if !matches!(self.raw(0), Kind::Comma | Kind::RParen) || self.at == from {
                self.skip_attribute_arg();
            }
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RParen, open)?;
        Ok(())
    }

    fn skip_attribute_arg(&mut self) {
        loop {
            match self.raw(0) {
                Kind::Comma | Kind::RParen | Kind::RBracket | Kind::RBrace | Kind::Eof => return,
                Kind::LParen | Kind::LBracket | Kind::LBrace => self.at = self.behind_brackets(self.at),
                _ => {
                    self.advance();
                }
            }
        }
    }

    /// `asm volatile goto ("..." : outputs : inputs : clobbers : labels);`
    pub(super) fn asm_statement(&mut self) -> Parsed<AsmStmt> {
        self.advance();
        let mut asm = AsmStmt {
            volatile: false,
            goto: false,
            template: vec![],
            outputs: vec![],
            inputs: vec![],
            clobbers: vec![],
            labels: vec![],
        };
        loop {
            match self.raw(0) {
                Kind::Volatile => asm.volatile = true,
                Kind::Goto => asm.goto = true,
                Kind::Inline => {}
                _ => break,
            }
            self.advance();
        }
        let open = self.expect(Kind::LParen)?;
        asm.template = self.string_bytes()?;
        let mut section = 0;
        while self.eat(Kind::Colon).is_some() {
            section += 1;
            while !matches!(self.raw(0), Kind::Colon | Kind::RParen) {
                match section {
                    1 => asm.outputs.push(self.asm_operand()?),
                    2 => asm.inputs.push(self.asm_operand()?),
                    3 => asm.clobbers.push(self.string_bytes()?),
                    _ => asm.labels.push(self.name("a label")?),
                }
                if self.eat(Kind::Comma).is_none() {
                    break;
                }
            }
        }
        let bare = asm.outputs.is_empty() && asm.inputs.is_empty() && asm.clobbers.is_empty() && asm.labels.is_empty();
        if section > 0 && bare {
            // Without operands it is the same as a statement without colons, in which `%` stands
            // for itself.
            asm.template = String::from_utf8_lossy(&asm.template).replace("%%", "%").into_bytes();
        }
        self.close(Kind::RParen, open)?;
        self.semicolon("after asm")?;
        Ok(asm)
    }

    fn asm_operand(&mut self) -> Parsed<AsmOperand> {
        let name = match self.eat(Kind::LBracket) {
            Some(open) => {
                let name = self.name("the name of an operand")?;
                self.close(Kind::RBracket, open)?;
                Some(name)
            }
            None => None,
        };
        let constraint = self.string_bytes()?;
        let open = self.expect(Kind::LParen)?;
        let expr = self.expression()?;
        self.close(Kind::RParen, open)?;
        Ok(AsmOperand { name, constraint, expr })
    }
}
