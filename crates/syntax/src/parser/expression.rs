//! Expressions from the comma operator down to prefix operators.

use super::{Parsed, Parser};
use crate::ast::*;
use crate::token::Kind;
use source::{Span, Symbol};

impl Parser<'_> {
    /// An expression with commas.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let mut left = self.assignment()?;
        while self.at(Kind::Comma) {
            let height = self.height;
            self.advance();
            let right = self.assignment()?;
            self.raise(height)?;
            left = Expr { span: left.span.to(right.span), kind: ExprKind::Comma(Box::new(left), Box::new(right)) };
        }
        Ok(left)
    }

    /// An expression without commas.
    pub(super) fn assignment(&mut self) -> Parsed<Expr> {
        let first = self.conditional()?;
        let Some(op) = assignment_operator(self.raw(0)) else { return Ok(first) };
        // `a = b = c` nests to the right: targets are kept until the value is known.
        let mut targets = vec![(first, op)];
        let mut height = self.height;
        self.advance();
        let mut value = self.conditional()?;
        while let Some(op) = assignment_operator(self.raw(0)) {
            height = height.max(self.height);
            targets.push((value, op));
            self.advance();
            value = self.conditional()?;
        }
        self.height = self.height.max(height);
        while let Some((target, op)) = targets.pop() {
            let height = self.height;
            self.raise(height)?;
            let span = target.span.to(value.span);
            value = Expr { span, kind: ExprKind::Assign(op, Box::new(target), Box::new(value)) };
        }
        Ok(value)
    }

    /// `a ? b : c` and below: a constant expression of C's grammar.
    pub(super) fn conditional(&mut self) -> Parsed<Expr> {
        let first = self.binary(1)?;
        if !self.at(Kind::Question) {
            return Ok(first);
        }
        let mut height = self.height;
        let mut arms = vec![];
        let mut last = first;
        while let Some(question) = self.eat(Kind::Question) {
            let then = if self.at(Kind::Colon) { None } else { Some(Box::new(self.deeper(Self::expression)?)) };
            height = height.max(self.height);
            self.close(Kind::Colon, question)?;
            arms.push((last, then));
            last = self.binary(1)?;
            height = height.max(self.height);
        }
        self.height = height;
        while let Some((condition, then)) = arms.pop() {
            let height = self.height;
            self.raise(height)?;
            let span = condition.span.to(last.span);
            last = Expr { span, kind: ExprKind::Cond(Box::new(condition), then, Box::new(last)) };
        }
        Ok(last)
    }

    /// Binary operators of at least precedence `least`.
    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        loop {
            let Some((op, precedence)) = binary_operator(self.raw(0)) else { return Ok(left) };
            if precedence < least {
                return Ok(left);
            }
            let height = self.height;
            self.advance();
            let right = self.binary(precedence + 1)?;
            self.raise(height)?;
            let span = left.span.to(right.span);
            left = Expr { span, kind: ExprKind::Binary(op, Box::new(left), Box::new(right)) };
        }
    }

    /// Prefix operators and casts.
    pub(super) fn unary(&mut self) -> Parsed<Expr> {
        self.deeper(Self::unary_operand)
    }

    fn unary_operand(&mut self) -> Parsed<Expr> {
        let lo = self.here();
        let op = match self.raw(0) {
            Kind::Ident | Kind::Number | Kind::Str | Kind::Char => return self.postfix(),
            Kind::LParen => return self.parenthesised(),
            Kind::Amp => UnaryOp::AddrOf,
            Kind::Star => UnaryOp::Deref,
            Kind::Plus => UnaryOp::Plus,
            Kind::Minus => UnaryOp::Neg,
            Kind::Tilde => UnaryOp::BitNot,
            Kind::Bang => UnaryOp::Not,
            Kind::PlusPlus => UnaryOp::PreInc,
            Kind::MinusMinus => UnaryOp::PreDec,
            Kind::Real => UnaryOp::Real,
            Kind::Imag => UnaryOp::Imag,
            Kind::Extension => UnaryOp::Extension,
            Kind::AmpAmp => {
                self.advance();
                let label = self.name("a label")?;
                self.height = 0;
                return Ok(Expr { span: self.since(lo), kind: ExprKind::LabelAddr(label) });
            }
            Kind::Sizeof => return self.sizeof_like(lo, true),
            Kind::UAlignof | Kind::Alignof if self.kind(0) != Kind::Ident => return self.sizeof_like(lo, false),
            _ => return self.postfix(),
        };
        self.advance();
        let operand = self.unary()?;
        let span = lo.to(operand.span);
        Ok(Expr { span, kind: ExprKind::Unary(op, Box::new(operand)) })
    }

    /// `sizeof`, `alignof` and their operand.
    fn sizeof_like(&mut self, lo: Span, is_sizeof: bool) -> Parsed<Expr> {
        self.advance();
        if self.at(Kind::LParen) && self.starts_type_name(self.at + 1) {
            let open = self.advance().span();
            let ty = self.type_name()?;
            self.close(Kind::RParen, open)?;
            self.height = 0;
            if !self.at(Kind::LBrace) {
                let ty = Box::new(ty);
                let kind = if is_sizeof { ExprKind::SizeofType(ty) } else { ExprKind::AlignofType(ty) };
                return Ok(Expr { span: self.since(lo), kind });
            }
            let literal = self.compound_literal(open, ty)?;
            let operand = Box::new(self.postfix_of(literal)?);
            let kind = if is_sizeof { ExprKind::SizeofExpr(operand) } else { ExprKind::AlignofExpr(operand) };
            return Ok(Expr { span: self.since(lo), kind });
        }
        let operand = Box::new(self.unary()?);
        let kind = if is_sizeof { ExprKind::SizeofExpr(operand) } else { ExprKind::AlignofExpr(operand) };
        Ok(Expr { span: self.since(lo), kind })
    }

    /// A cast, a compound literal, a statement expression or parentheses.
    fn parenthesised(&mut self) -> Parsed<Expr> {
        if !self.starts_type_name(self.at + 1) {
            return self.postfix();
        }
        let open = self.advance().span();
        let ty = self.type_name()?;
        self.close(Kind::RParen, open)?;
        if self.at(Kind::LBrace) {
            let literal = self.compound_literal(open, ty)?;
            return self.postfix_of(literal);
        }
        let operand = self.unary()?;
        let span = open.to(operand.span);
        Ok(Expr { span, kind: ExprKind::Cast(Box::new(ty), Box::new(operand)) })
    }

    /// `(T){ ... }` after its `(T)`.
    fn compound_literal(&mut self, open: Span, mut ty: TypeName) -> Parsed<Expr> {
        let items = self.braced_items()?;
        self.height = 0;
        let storage = ty.specs.storage.take();
        Ok(Expr { span: self.since(open), kind: ExprKind::CompoundLit(Box::new(ty), items, storage) })
    }

    /// A primary expression and what stands after it.
    fn postfix(&mut self) -> Parsed<Expr> {
        let primary = self.primary()?;
        self.postfix_of(primary)
    }

    fn postfix_of(&mut self, primary: Expr) -> Parsed<Expr> {
        let mut left = primary;
        loop {
            let height = self.height;
            let lo = left.span;
            let kind = match self.raw(0) {
                Kind::LParen => {
                    let open = self.advance().span();
                    match self.builtin_with_type(&left) {
                        Some(name) => {
                            self.builtin_arguments(open)?;
                            ExprKind::Unsupported(name)
                        }
                        None => {
                            let args = self.arguments(open)?;
                            ExprKind::Call { callee: Box::new(left), args, question: false }
                        }
                    }
                }
                Kind::LBracket => {
                    let open = self.advance().span();
                    let index = self.deeper(Self::expression)?;
                    self.close(Kind::RBracket, open)?;
                    ExprKind::Index(Box::new(left), Box::new(index))
                }
                Kind::Dot => {
                    self.advance();
                    ExprKind::Dot(Box::new(left), self.name("a member")?)
                }
                Kind::Arrow => {
                    self.advance();
                    ExprKind::Arrow(Box::new(left), self.name("a member")?)
                }
                Kind::PlusPlus => {
                    self.advance();
                    ExprKind::Unary(UnaryOp::PostInc, Box::new(left))
                }
                Kind::MinusMinus => {
                    self.advance();
                    ExprKind::Unary(UnaryOp::PostDec, Box::new(left))
                }
                _ => return Ok(left),
            };
            self.raise(height)?;
            left = Expr { span: self.since(lo), kind };
        }
    }

    /// The name of a builtin of the C compiler whose arguments, from here on, have a type among
    /// them (`__builtin_bit_cast(T, v)`): the tree has no node for it.
    fn builtin_with_type(&self, callee: &Expr) -> Option<Symbol> {
        let ExprKind::Ident(name) = callee.kind else { return None };
        if !name.as_str().starts_with("__builtin_") {
            return None;
        }
        let mut index = self.at;
        let mut open = 0u32;
        loop {
            let starts = self.token_at(index.saturating_sub(1)).kind;
            if open == 0 && matches!(starts, Kind::LParen | Kind::Comma) && self.starts_type(index) {
                return Some(name);
            }
            match self.token_at(index).kind {
                Kind::LParen | Kind::LBracket | Kind::LBrace => open += 1,
                Kind::RParen | Kind::RBracket | Kind::RBrace if open > 0 => open -= 1,
                Kind::RParen | Kind::RBracket | Kind::RBrace | Kind::Semi | Kind::Eof => return None,
                _ => {}
            }
            index += 1;
        }
    }

    /// Arguments of which some are types, and the `)`.
    fn builtin_arguments(&mut self, open: Span) -> Parsed<()> {
        loop {
            if self.starts_type(self.at) {
                self.deeper(Self::type_name)?;
            } else {
                self.assignment()?;
            }
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RParen, open)?;
        self.height = 0;
        Ok(())
    }

    /// Arguments of a call and its `)`.
    pub(super) fn arguments(&mut self, open: Span) -> Parsed<Vec<Expr>> {
        let mut args = vec![];
        let mut height = 0;
        if !self.at(Kind::RParen) {
            loop {
                args.push(self.assignment()?);
                height = height.max(self.height);
                if self.eat(Kind::Comma).is_none() {
                    break;
                }
            }
        }
        self.close(Kind::RParen, open)?;
        self.height = height;
        Ok(args)
    }
}

/// The operator of an assignment: `Some(None)` for `=`.
fn assignment_operator(kind: Kind) -> Option<Option<BinaryOp>> {
    Some(match kind {
        Kind::Eq => None,
        Kind::StarEq => Some(BinaryOp::Mul),
        Kind::SlashEq => Some(BinaryOp::Div),
        Kind::PercentEq => Some(BinaryOp::Rem),
        Kind::PlusEq => Some(BinaryOp::Add),
        Kind::MinusEq => Some(BinaryOp::Sub),
        Kind::ShlEq => Some(BinaryOp::Shl),
        Kind::ShrEq => Some(BinaryOp::Shr),
        Kind::AmpEq => Some(BinaryOp::BitAnd),
        Kind::CaretEq => Some(BinaryOp::BitXor),
        Kind::PipeEq => Some(BinaryOp::BitOr),
        _ => return None,
    })
}

/// A binary operator and its precedence, from `||` at 1 to `*` at 10.
fn binary_operator(kind: Kind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        Kind::PipePipe => (BinaryOp::Or, 1),
        Kind::AmpAmp => (BinaryOp::And, 2),
        Kind::Pipe => (BinaryOp::BitOr, 3),
        Kind::Caret => (BinaryOp::BitXor, 4),
        Kind::Amp => (BinaryOp::BitAnd, 5),
        Kind::EqEq => (BinaryOp::Eq, 6),
        Kind::BangEq => (BinaryOp::Ne, 6),
        Kind::Lt => (BinaryOp::Lt, 7),
        Kind::Gt => (BinaryOp::Gt, 7),
        Kind::Le => (BinaryOp::Le, 7),
        Kind::Ge => (BinaryOp::Ge, 7),
        Kind::Shl => (BinaryOp::Shl, 8),
        Kind::Shr => (BinaryOp::Shr, 8),
        Kind::Plus => (BinaryOp::Add, 9),
        Kind::Minus => (BinaryOp::Sub, 9),
        Kind::Star => (BinaryOp::Mul, 10),
        Kind::Slash => (BinaryOp::Div, 10),
        Kind::Percent => (BinaryOp::Rem, 10),
        _ => return None,
    })
}
