//! Statements and blocks.

use super::{Parsed, Parser, Stop, MAX_CHAIN};
use crate::ast::*;
use crate::codes;
use crate::scope::NameKind;
use crate::token::Kind;
use source::{Diagnostic, Span};

/// What stands before a statement; `case 1: case 2: ...` is read in a loop.
enum Prefix {
    Label(Ident),
    Case(Expr, Option<Expr>),
    Member(Ident, Option<Ident>),
    Default,
}

impl Parser<'_> {
    /// `{ ... }` with a scope of its own.
    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.names.enter();
        let block = self.block_without_scope();
        self.names.leave();
        block
    }

    /// `{ ... }` in the scope that is open: a function's body shares the scope of its parameters.
    pub(super) fn block_without_scope(&mut self) -> Parsed<Block> {
        let open = self.expect(Kind::LBrace)?;
        let mut stmts = vec![];
        loop {
            match self.raw(0) {
                Kind::RBrace => {
                    self.advance();
                    return Ok(Block { span: self.since(open), stmts });
                }
                Kind::Eof => {
                    self.close(Kind::RBrace, open)?;
                }
                _ => self.block_item(&mut stmts),
            }
        }
    }

    pub(super) fn block_item(&mut self, stmts: &mut Vec<Stmt>) {
        let from = self.at;
        let lo = self.here();
        if self.at(Kind::LabelWord) {
            // `__label__ a, b;` only limits the scope of labels.
            while !matches!(self.raw(0), Kind::Semi | Kind::RBrace | Kind::Eof) {
                self.advance();
            }
            self.eat(Kind::Semi);
            return;
        }
        match self.statement_or_declaration() {
            Ok(stmt) => stmts.push(stmt),
            Err(Stop) => {
                self.recover(from);
                let span = self.since(lo);
                let kind = StmtKind::Expr(Expr { span, kind: ExprKind::Error });
                stmts.push(Stmt { span, kind, attrs: vec![] });
            }
        }
    }

    /// What may stand in a block.
    fn statement_or_declaration(&mut self) -> Parsed<Stmt> {
        self.deeper(|p| p.labelled(true))
    }

    /// A statement where no declaration may stand.
    pub(super) fn statement(&mut self) -> Parsed<Stmt> {
        self.deeper(|p| p.labelled(false))
    }

    /// Labels and the statement after them.
    fn labelled(&mut self, declarations: bool) -> Parsed<Stmt> {
        let chain = self.chain;
        let result = self.labelled_chain(declarations);
        self.chain = chain;
        result
    }

    fn labelled_chain(&mut self, declarations: bool) -> Parsed<Stmt> {
        let mut prefixes = vec![];
        let mut attrs = vec![];
        let mut declarations = declarations;
        loop {
            let lo = self.here();
            self.statement_attributes(&mut attrs)?;
            let Some(prefix) = self.prefix(&mut attrs)? else { break };
            prefixes.push((lo, prefix, std::mem::take(&mut attrs)));
            self.link("labels of one statement")?;
            // C23: a declaration may follow a label.
            declarations = true;
        }
        let lo = self.here();
        let kind = if self.at(Kind::RBrace) && !prefixes.is_empty() {
            // C23: a label may end a block.
            StmtKind::Empty
        } else {
            self.unlabelled(declarations)?
        };
        let span = if self.previous().hi > lo.lo { self.since(lo) } else { Span::new(lo.lo, lo.lo) };
        let mut stmt = Stmt { span, kind, attrs };
        while let Some((lo, prefix, attrs)) = prefixes.pop() {
            let body = Box::new(stmt);
            let kind = match prefix {
                Prefix::Label(name) => StmtKind::Label(name, body),
                Prefix::Case(first, last) => StmtKind::Case(first, last, body),
                Prefix::Member(member, binding) => StmtKind::CaseMember { member, binding, body },
                Prefix::Default => StmtKind::Default(body),
            };
            stmt = Stmt { span: self.since(lo), kind, attrs };
        }
        Ok(stmt)
    }

    /// One element more in a chain of statements.
    fn link(&mut self, what: &str) -> Parsed<()> {
        self.chain += 1;
        if self.chain > MAX_CHAIN {
            return Err(self.give_up(format!("more than {MAX_CHAIN} {what}")));
        }
        Ok(())
    }

    /// Attributes before a statement, unless they begin a declaration.
    fn statement_attributes(&mut self, attrs: &mut Vec<Attribute>) -> Parsed<()> {
        if self.at(Kind::LBracket) && self.raw(1) == Kind::LBracket {
            return self.attributes(attrs);
        }
        // `__attribute__((fallthrough));` is a statement; before anything else it belongs to a
        // declaration.
        if self.at(Kind::Attribute) {
            let behind = self.behind_brackets(self.at + 1);
            if self.token_at(behind).kind == Kind::Semi {
                return self.attributes(attrs);
            }
        }
        Ok(())
    }

    /// `name:`, `case e:`, `default:`
    fn prefix(&mut self, attrs: &mut Vec<Attribute>) -> Parsed<Option<Prefix>> {
        match self.raw(0) {
            Kind::Case => {
                self.advance();
                if self.is_leeward_file() && self.at(Kind::Dot) {
                    return self.member_case().map(Some);
                }
                let first = self.conditional()?;
                let last = match self.eat(Kind::Ellipsis) {
                    Some(_) => Some(self.conditional()?),
                    None => None,
                };
                self.colon("after the case")?;
                Ok(Some(Prefix::Case(first, last)))
            }
            Kind::Default => {
                self.advance();
                self.colon("after `default`")?;
                Ok(Some(Prefix::Default))
            }
            _ if self.is_name(0) && self.raw(1) == Kind::Colon && !self.contract_type_at(self.at) => {
                let token = self.advance();
                self.advance();
                if self.at(Kind::Attribute) && !self.starts_declaration(self.behind_brackets(self.at + 1)) {
                    self.attributes(attrs)?;
                }
                Ok(Some(Prefix::Label(Ident { name: token.name, span: token.span() })))
            }
            _ => Ok(None),
        }
    }

    fn colon(&mut self, place: &str) -> Parsed<()> {
        if self.eat(Kind::Colon).is_some() {
            return Ok(());
        }
        Err(self.expected(&format!("`:` {place}")))
    }

    /// `.member(binding):` after `case`.
    fn member_case(&mut self) -> Parsed<Prefix> {
        self.advance();
        let member = self.name("a member of the tagged union")?;
        let mut binding = None;
        if let Some(open) = self.eat(Kind::LParen) {
            if !self.at(Kind::RParen) {
                let name = self.name("a name for the member's value")?;
                self.declare(name.name, NameKind::Ordinary);
                binding = Some(name);
            }
            self.close(Kind::RParen, open)?;
        }
        self.colon("after the case")?;
        Ok(Prefix::Member(member, binding))
    }

    fn unlabelled(&mut self, declarations: bool) -> Parsed<StmtKind> {
        let kind = match self.kind(0) {
            Kind::Semi => {
                self.advance();
                StmtKind::Empty
            }
            Kind::LBrace => StmtKind::Block(self.block()?),
            Kind::If => return self.if_chain(),
            Kind::While => {
                self.advance();
                let condition = self.condition()?;
                StmtKind::While(condition, Box::new(self.statement()?))
            }
            Kind::Do => return self.do_while(),
            Kind::For => return self.for_loop(),
            Kind::Switch if self.raw(1) == Kind::Receive => self.switch_receive()?,
            Kind::Switch if self.starts_switch_state() => self.switch_state()?,
            Kind::Switch => {
                self.advance();
                let value = self.condition()?;
                StmtKind::Switch(value, Box::new(self.statement()?))
            }
            Kind::Break => {
                self.advance();
                self.semicolon("after `break`")?;
                StmtKind::Break
            }
            Kind::Continue => {
                self.advance();
                self.semicolon("after `continue`")?;
                StmtKind::Continue
            }
            Kind::Return => {
                self.advance();
                let value = if self.at(Kind::Semi) { None } else { Some(self.expression()?) };
                self.semicolon("after `return`")?;
                StmtKind::Return(value)
            }
            Kind::Goto => return self.goto(),
            Kind::Asm | Kind::UAsm => StmtKind::Asm(Box::new(self.asm_statement()?)),
            Kind::StaticAssert | Kind::UStaticAssert => StmtKind::StaticAssert(self.static_assert()?),
            Kind::Defer => {
                self.advance();
                StmtKind::Defer(Box::new(self.statement()?))
            }
            Kind::Unsafe if self.raw(1) == Kind::LBrace => {
                self.advance();
                StmtKind::Unsafe(self.block()?)
            }
            Kind::Else => {
                let span = self.here();
                return Err(self.error(codes::MISPLACED, span, "`else` without an `if` before it"));
            }
            _ => {
                if let Some(kind) = self.ownership_statement()? {
                    return Ok(kind);
                }
                if let Some(kind) = self.channel_statement()? {
                    return Ok(kind);
                }
                if self.starts_declaration(self.at) || self.starts_unknown_declaration() {
                    return self.declaration_statement(declarations);
                }
                return self.expression_statement();
            }
        };
        Ok(kind)
    }

    fn declaration_statement(&mut self, allowed: bool) -> Parsed<StmtKind> {
        if !allowed {
            let diagnostic = Diagnostic::error(codes::MISPLACED, self.here(), "a declaration may not stand here");
            self.report(diagnostic.help("put it in braces: a scope of its own"));
        }
        self.block_declaration()
    }

    /// `foo_t x;`, `foo_t *x = ...;` with a type that was not declared.
    fn starts_unknown_declaration(&self) -> bool {
        if self.kind(0) != Kind::Ident || self.kind_of_name(self.at).is_some() {
            return false;
        }
        match self.raw(1) {
            Kind::Star => {
                let mut index = self.at + 1;
                while self.token_at(index).kind == Kind::Star {
                    index += 1;
                }
                self.is_name_at(index)
                    && self.names.get(self.token_at(index).name) != Some(NameKind::Type)
                    && matches!(self.token_at(index + 1).kind, Kind::Eq | Kind::Semi | Kind::Comma | Kind::LBracket)
                    && self.names.get(self.token_at(index).name).is_none()
            }
            _ => self.is_name(1) && matches!(self.raw(2), Kind::Eq | Kind::Semi | Kind::Comma | Kind::LBracket),
        }
    }

    fn expression_statement(&mut self) -> Parsed<StmtKind> {
        let expr = self.expression()?;
        if self.at(Kind::Swap) {
            self.advance();
            let other = self.expression()?;
            self.semicolon("after the swap")?;
            return Ok(StmtKind::Swap(expr, other));
        }
        self.semicolon("after an expression")?;
        Ok(StmtKind::Expr(expr))
    }

    /// `(e)` of `if`, `while`, `switch`.
    fn condition(&mut self) -> Parsed<Expr> {
        let open = self.expect(Kind::LParen)?;
        let condition = self.expression()?;
        self.close(Kind::RParen, open)?;
        Ok(condition)
    }

    /// `if ... else if ... else ...`: the chain is read in a loop and nested afterwards.
    fn if_chain(&mut self) -> Parsed<StmtKind> {
        let mut arms = vec![];
        let mut last = None;
        loop {
            let lo = self.advance().span();
            let condition = self.condition()?;
            let then = Box::new(self.statement()?);
            arms.push((lo, condition, then));
            self.link("arms of one `if`")?;
            if self.eat(Kind::Else).is_none() {
                break;
            }
            if !self.at(Kind::If) {
                last = Some(Box::new(self.statement()?));
                break;
            }
        }
        while arms.len() > 1 {
            let Some((lo, cond, then)) = arms.pop() else { break };
            let span = self.since(lo);
            last = Some(Box::new(Stmt { span, kind: StmtKind::If { cond, then, other: last }, attrs: vec![] }));
        }
        match arms.pop() {
            Some((_, cond, then)) => Ok(StmtKind::If { cond, then, other: last }),
            None => Err(Stop),
        }
    }

    fn do_while(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let body = Box::new(self.statement()?);
        if self.eat(Kind::While).is_none() {
            return Err(self.expected("`while` after the body of `do`"));
        }
        let condition = self.condition()?;
        self.semicolon("after `do ... while (...)`")?;
        Ok(StmtKind::DoWhile(body, condition))
    }

    fn for_loop(&mut self) -> Parsed<StmtKind> {
        self.names.enter();
        let result = self.for_parts();
        self.names.leave();
        result
    }

    fn for_parts(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let open = self.expect(Kind::LParen)?;
        let lo = self.here();
        let init = if self.eat(Kind::Semi).is_some() {
            None
        } else if self.starts_declaration(self.at) || self.starts_unknown_declaration() {
            let kind = self.block_declaration()?;
            Some(Box::new(Stmt { span: self.since(lo), kind, attrs: vec![] }))
        } else if let Some(kind) = self.loan_in_for()? {
            Some(Box::new(Stmt { span: self.since(lo), kind, attrs: vec![] }))
        } else {
            let expr = self.expression()?;
            self.expect(Kind::Semi)?;
            Some(Box::new(Stmt { span: self.since(lo), kind: StmtKind::Expr(expr), attrs: vec![] }))
        };
        let cond = if self.at(Kind::Semi) { None } else { Some(self.expression()?) };
        self.expect(Kind::Semi)?;
        let step = if self.at(Kind::RParen) { None } else { Some(self.expression()?) };
        self.close(Kind::RParen, open)?;
        let body = Box::new(self.statement()?);
        Ok(StmtKind::For { init, cond, step, body })
    }

    fn goto(&mut self) -> Parsed<StmtKind> {
        self.advance();
        let kind = if self.eat(Kind::Star).is_some() {
            StmtKind::GotoComputed(self.expression()?)
        } else {
            StmtKind::Goto(self.name("a label")?)
        };
        self.semicolon("after `goto`")?;
        Ok(kind)
    }
}
