//! Primary expressions: names, literals, builtins with types among their arguments, `new`.

use super::declarator::Mode;
use super::{Dialect, Parsed, Parser};
use crate::ast::*;
use crate::codes;
use crate::literal::{self, NumberLit};
use crate::scope::NameKind;
use crate::token::Kind;
use source::{Diagnostic, Span};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let lo = self.here();
        self.height = 0;
        let kind = match self.kind(0) {
            Kind::Ident => self.named()?,
            Kind::Number => self.number(),
            Kind::Char => self.character(),
            Kind::Str => ExprKind::Str(self.string_literal()?.0),
            Kind::LParen => return self.parentheses(),
            Kind::True | Kind::False => ExprKind::Bool(self.advance().kind == Kind::True),
            Kind::Nullptr => {
                self.advance();
                ExprKind::Nullptr
            }
            Kind::UGeneric => self.generic_selection()?,
            Kind::VaArg | Kind::Offsetof | Kind::TypesCompatible | Kind::ConvertVector | Kind::ChooseExpr => {
                self.builtin_call()?
            }
            word if word.is_leeward_word() => self.leeward_primary(word)?,
            _ if self.is_name(0) => self.named()?,
            _ => return Err(self.expected("an expression")),
        };
        Ok(Expr { span: self.since(lo), kind })
    }

    fn named(&mut self) -> Parsed<ExprKind> {
        let kind = self.kind_of_name(self.at);
        if matches!(kind, Some(NameKind::Type | NameKind::GenericType)) {
            let token = self.token();
            let message = format!("expected an expression, found the type `{}`", token.name);
            let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, token.span(), message);
            return Err(self.report(diagnostic));
        }
        let question = self.leeward
            && matches!(self.raw(0), Kind::Malloc | Kind::Calloc | Kind::Realloc)
            && self.raw(1) == Kind::Question
            && self.raw(2) == Kind::LParen;
        let token = self.advance();
        if question {
            self.advance();
            let open = self.advance().span();
            let callee = Box::new(Expr { span: token.span(), kind: ExprKind::Ident(token.name) });
            return Ok(ExprKind::Call { callee, args: self.arguments(open)?, question });
        }
        Ok(ExprKind::Ident(token.name))
    }

    fn number(&mut self) -> ExprKind {
        let token = self.advance();
        match literal::number(self.text(token)) {
            Ok(NumberLit::Int(int)) => ExprKind::Int(int),
            Ok(NumberLit::Float(float)) => ExprKind::Float(float),
            Err(error) => {
                self.literal_error(error, token.span());
                ExprKind::Error
            }
        }
    }

    fn character(&mut self) -> ExprKind {
        let token = self.advance();
        match literal::character(self.text(token)) {
            Ok((value, encoding)) => ExprKind::Char(value, encoding),
            Err(error) => {
                self.literal_error(error, token.span());
                ExprKind::Error
            }
        }
    }

    /// `(e)` or `({ ... })`
    fn parentheses(&mut self) -> Parsed<Expr> {
        let open = self.advance().span();
        if self.at(Kind::LBrace) {
            let block = self.deeper(Self::block)?;
            self.close(Kind::RParen, open)?;
            self.height = 0;
            return Ok(Expr { span: self.since(open), kind: ExprKind::StmtExpr(block) });
        }
        let inner = self.expression()?;
        self.close(Kind::RParen, open)?;
        Ok(Expr { span: self.since(open), kind: inner.kind })
    }

    /// `_Generic(e, T: a, default: b)`
    fn generic_selection(&mut self) -> Parsed<ExprKind> {
        self.advance();
        let open = self.expect(Kind::LParen)?;
        let control = self.assignment()?;
        let mut arms = vec![];
        while self.eat(Kind::Comma).is_some() {
            let ty = if self.eat(Kind::Default).is_some() { None } else { Some(self.type_name()?) };
            self.expect(Kind::Colon)?;
            arms.push((ty, self.assignment()?));
        }
        self.close(Kind::RParen, open)?;
        self.height = 0;
        Ok(ExprKind::Generic(Box::new(control), arms))
    }

    /// GNU builtins that take types.
    fn builtin_call(&mut self) -> Parsed<ExprKind> {
        let word = self.advance().kind;
        let open = self.expect(Kind::LParen)?;
        let kind = match word {
            Kind::VaArg => {
                let list = self.assignment()?;
                self.expect(Kind::Comma)?;
                ExprKind::VaArg(Box::new(list), Box::new(self.type_name()?))
            }
            Kind::ConvertVector => {
                let vector = self.assignment()?;
                self.expect(Kind::Comma)?;
                ExprKind::ConvertVector(Box::new(vector), Box::new(self.type_name()?))
            }
            Kind::Offsetof => {
                let ty = self.type_name()?;
                self.expect(Kind::Comma)?;
                ExprKind::Offsetof(Box::new(ty), self.member_designator()?)
            }
            Kind::TypesCompatible => {
                let first = self.type_name()?;
                self.expect(Kind::Comma)?;
                ExprKind::TypesCompatible(Box::new(first), Box::new(self.type_name()?))
            }
            _ => {
                let condition = self.assignment()?;
                self.expect(Kind::Comma)?;
                let yes = self.assignment()?;
                self.expect(Kind::Comma)?;
                ExprKind::ChooseExpr(Box::new(condition), Box::new(yes), Box::new(self.assignment()?))
            }
        };
        self.close(Kind::RParen, open)?;
        self.height = 0;
        Ok(kind)
    }

    /// Expressions that begin with a word of Leeward.
    fn leeward_primary(&mut self, word: Kind) -> Parsed<ExprKind> {
        match word {
            Kind::New => self.new_expression(),
            Kind::Unsafe if self.raw(1) == Kind::LParen => {
                self.advance();
                let open = self.expect(Kind::LParen)?;
                let inner = self.expression()?;
                self.close(Kind::RParen, open)?;
                Ok(ExprKind::Unsafe(Box::new(inner)))
            }
            Kind::Lengthof if self.raw(1) == Kind::LParen => {
                self.advance();
                let open = self.expect(Kind::LParen)?;
                let inner = self.expression()?;
                self.close(Kind::RParen, open)?;
                Ok(ExprKind::Lengthof(Box::new(inner)))
            }
            Kind::ContainerOf if self.raw(1) == Kind::LParen => {
                self.advance();
                let open = self.expect(Kind::LParen)?;
                let pointer = self.assignment()?;
                self.expect(Kind::Comma)?;
                let ty = self.type_name()?;
                self.expect(Kind::Comma)?;
                let member = self.name("a member")?;
                self.close(Kind::RParen, open)?;
                Ok(ExprKind::ContainerOf(Box::new(pointer), Box::new(ty), member))
            }
            _ => match self.start_or_spawn(word)? {
                Some(kind) => Ok(kind),
                None => self.named(),
            },
        }
    }

    /// `new`, `new?`, `new(r) rc T...`
    fn new_expression(&mut self) -> Parsed<ExprKind> {
        self.advance();
        let question = self.eat(Kind::Question).is_some();
        let mut region = None;
        if let Some(open) = self.eat(Kind::LParen) {
            let named = self.name("the region to allocate in (`new T` takes the heap, `new(r) T` the region `r`)")?;
            region = Some(named);
            self.close(Kind::RParen, open)?;
        }
        let counted = self.raw(0) == Kind::Rc && (self.starts_type(self.at + 1) || self.is_name(1));
        let rc = if counted { Some(self.advance().span()) } else { None };
        let lo = self.here();
        let specs = self.specifiers_with(false)?;
        if matches!(specs.ty, TypeSpec::Missing) {
            return Err(self.expected("the type to allocate"));
        }
        let mut ty = TypeName { span: lo, specs, declarator: self.new_pointers()? };
        ty.span = self.since(lo);
        let form = self.deeper(|p| p.new_form(&mut ty))?;
        Ok(ExprKind::New(Box::new(NewExpr { region, question, rc, ty, form })))
    }

    /// Pointers of the type after `new`; an array there is what is made.
    fn new_pointers(&mut self) -> Parsed<Declarator> {
        let lo = self.here();
        if self.at(Kind::LParen) {
            return self.declarator(Mode::Abstract);
        }
        let mut derived = self.pointers()?;
        derived.reverse();
        let span = if derived.is_empty() { Span::new(lo.lo, lo.lo) } else { self.since(lo) };
        Ok(Declarator { span, name: None, derived, asm_label: None, attrs: vec![] })
    }

    fn new_form(&mut self, ty: &mut TypeName) -> Parsed<NewForm> {
        if self.at(Kind::LBrace) {
            return self.braced_items().map(NewForm::Init);
        }
        let Some(open) = self.eat(Kind::LBracket) else { return Ok(NewForm::Zero) };
        if self.at(Kind::Dot) {
            let items = self.init_items(Kind::RBracket)?;
            self.close(Kind::RBracket, open)?;
            return Ok(NewForm::Flexible(items));
        }
        let count = self.expression()?;
        self.close(Kind::RBracket, open)?;
        // Further brackets are arrays inside the element.
        let mut inner = vec![];
        while self.at(Kind::LBracket) {
            inner.push(Derived::Array(self.array()?));
        }
        if !inner.is_empty() {
            inner.append(&mut ty.declarator.derived);
            ty.declarator.derived = inner;
        }
        Ok(NewForm::Array(count))
    }

    /// Whether this file is in Leeward as a whole.
    pub(super) fn is_leeward_file(&self) -> bool {
        self.options.dialect == Dialect::Leeward
    }
}
