//! Declarators: pointers with their qualifiers, arrays, parameters.

use super::{Dialect, Parsed, Parser};
use crate::ast::*;
use crate::codes;
use crate::scope::NameKind;
use crate::token::Kind;
use source::{Diagnostic, Span};

/// Whether a declarator has a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It must.
    Named,
    /// It must not.
    Abstract,
    /// A parameter's may.
    Either,
}

impl Parser<'_> {
    /// A declarator without what may stand after it (`asm`, attributes).
    pub(super) fn declarator(&mut self, mode: Mode) -> Parsed<Declarator> {
        let lo = self.here();
        let from = self.at;
        let mut declarator = Declarator { span: lo, name: None, derived: vec![], asm_label: None, attrs: vec![] };
        self.declarator_into(mode, &mut declarator)?;
        declarator.span = if self.at > from { self.since(lo) } else { Span::new(lo.lo, lo.lo) };
        Ok(declarator)
    }

    fn declarator_into(&mut self, mode: Mode, declarator: &mut Declarator) -> Parsed<()> {
        let mut pointers: Vec<PointerQuals> = vec![];
        loop {
            if self.at(Kind::Star) {
                pointers.push(self.pointer()?);
            } else if self.at(Kind::Attribute) {
                self.attributes(&mut declarator.attrs)?;
            } else {
                break;
            }
        }
        if mode == Mode::Named && self.at(Kind::LParen) && self.starts_parameters() {
            return Err(self.missing_name(&pointers));
        }
        if self.at(Kind::LParen) && self.is_grouping(mode) {
            let open = self.advance().span();
            self.deeper(|p| p.declarator_into(mode, declarator))?;
            self.close(Kind::RParen, open)?;
        } else if mode != Mode::Abstract && self.is_name(0) {
            let token = self.advance();
            declarator.name = Some(Ident { name: token.name, span: token.span() });
        } else if mode == Mode::Named {
            return Err(self.missing_name(&pointers));
        }
        self.suffixes(declarator)?;
        declarator.derived.extend(pointers.into_iter().rev().map(Derived::Pointer));
        Ok(())
    }

    /// A declarator must have a name here; says so, with the reason if a qualifier word took its
    /// place.
    fn missing_name(&mut self, pointers: &[PointerQuals]) -> super::Stop {
        let word = pointers.last().and_then(|p| {
            p.own
                .map(|o| o.span)
                .into_iter()
                .chain(p.fat)
                .chain(p.null_terminated)
                .chain(p.nonnull)
                .max_by_key(|s| s.hi)
        });
        match word {
            Some(span) if span == self.previous() => {
                let text = self.map.snippet(span);
                let message = format!("`{text}` after `*` is a qualifier of the pointer; the declared name is missing");
                let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, span, message);
                let help = format!("to declare a pointer named `{text}`, put it in parentheses: `*({text})`");
                self.report(diagnostic.help(help))
            }
            _ => self.expected("a name"),
        }
    }

    /// Whether the `(` here can only open parameters, so that the name before it is missing.
    fn starts_parameters(&self) -> bool {
        match self.kind(1) {
            Kind::RParen => true,
            Kind::Attribute => false,
            _ => self.starts_type(self.at + 1) && self.kind_of_name(self.at + 1).is_none(),
        }
    }

    /// Whether the `(` here groups a declarator; otherwise it opens parameters.
    fn is_grouping(&self, mode: Mode) -> bool {
        if mode == Mode::Named {
            return true;
        }
        match self.kind(1) {
            Kind::RParen | Kind::Ellipsis => false,
            Kind::Consume => false,
            Kind::Attribute => !self.starts_type(self.behind_brackets(self.at + 2)),
            Kind::Ident if mode == Mode::Abstract => false,
            _ => !self.starts_declaration(self.at + 1),
        }
    }

    fn suffixes(&mut self, declarator: &mut Declarator) -> Parsed<()> {
        loop {
            match self.raw(0) {
                Kind::LBracket if self.raw(1) == Kind::LBracket => self.attributes(&mut declarator.attrs)?,
                Kind::LBracket => {
                    let array = self.deeper(Self::array)?;
                    declarator.derived.push(Derived::Array(array));
                }
                Kind::LParen => {
                    let params = self.deeper(Self::parameters)?;
                    declarator.derived.push(Derived::Function(params));
                }
                _ => return Ok(()),
            }
        }
    }

    /// `asm("symbol")` and attributes after a declarator.
    pub(super) fn declarator_tail(&mut self, declarator: &mut Declarator) -> Parsed<()> {
        loop {
            match self.kind(0) {
                Kind::Attribute => self.attributes(&mut declarator.attrs)?,
                Kind::LBracket if self.raw(1) == Kind::LBracket => self.attributes(&mut declarator.attrs)?,
                Kind::Asm | Kind::UAsm if self.raw(1) == Kind::LParen => {
                    self.advance();
                    let open = self.expect(Kind::LParen)?;
                    declarator.asm_label = Some(self.string_bytes()?);
                    self.close(Kind::RParen, open)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Any number of `*`, from left to right.
    pub(super) fn pointers(&mut self) -> Parsed<Vec<Derived>> {
        let mut pointers = vec![];
        while self.at(Kind::Star) {
            pointers.push(Derived::Pointer(self.pointer()?));
        }
        Ok(pointers)
    }

    /// `*` and its qualifiers.
    fn pointer(&mut self) -> Parsed<PointerQuals> {
        let lo = self.advance().span();
        let mut pointer = PointerQuals { span: lo, ..PointerQuals::default() };
        let mut nullness: Option<Span> = None;
        loop {
            let kind = self.raw(0);
            let here = self.here();
            match kind {
                Kind::Attribute => self.attributes(&mut pointer.attrs)?,
                Kind::LBracket if self.raw(1) == Kind::LBracket => self.attributes(&mut pointer.attrs)?,
                Kind::UNonnull | Kind::Nullable => {
                    self.advance();
                    self.second(nullness, here, "null qualifier");
                    nullness = Some(here);
                    if kind == Kind::UNonnull {
                        pointer.nonnull = Some(here);
                    }
                }
                _ if self.qualifier(kind, &mut pointer.quals) => {}
                _ if self.leeward => {
                    if !self.pointer_word(kind, &mut pointer, &mut nullness)? {
                        break;
                    }
                }
                _ => break,
            }
        }
        pointer.span = self.since(lo);
        Ok(pointer)
    }

    /// Leeward's qualifier words: always qualifiers after `*`.
    fn pointer_word(&mut self, kind: Kind, pointer: &mut PointerQuals, nullness: &mut Option<Span>) -> Parsed<bool> {
        let here = self.here();
        match kind {
            Kind::Fat => {
                self.advance();
                let other = pointer.fat.or(pointer.counted_by.as_ref().map(|e| e.span));
                self.second(other, here, "bounds qualifier");
                pointer.fat = Some(here);
            }
            Kind::NullTerminated => {
                self.advance();
                let other = pointer.null_terminated.or(pointer.counted_by.as_ref().map(|e| e.span));
                self.second(other, here, "bounds qualifier");
                pointer.null_terminated = Some(here);
            }
            Kind::CountedBy => {
                let other = pointer.fat.or(pointer.null_terminated).or(pointer.counted_by.as_ref().map(|e| e.span));
                let count = self.count()?;
                self.second(other, here, "bounds qualifier");
                pointer.counted_by = Some(count);
            }
            Kind::Nonnull => {
                self.advance();
                self.second(*nullness, here, "null qualifier");
                *nullness = Some(here);
                pointer.nonnull = Some(here);
            }
            Kind::At => {
                let region = self.region()?;
                self.second(pointer.region.map(|r| r.span), region.span, "region");
                pointer.region = Some(region);
            }
            Kind::Unique | Kind::Rc | Kind::View | Kind::Any => {
                let word = self.word_ident();
                self.second(pointer.own.map(|o| o.span), here, "ownership word");
                pointer.own = Some(word);
            }
            _ if self.kind_of_name(self.at) == Some(NameKind::Own) => {
                let word = self.word_ident();
                self.second(pointer.own.map(|o| o.span), here, "ownership word");
                pointer.own = Some(word);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reports a second qualifier of one kind.
    fn second(&mut self, first: Option<Span>, span: Span, kind: &str) {
        let Some(first) = first else { return };
        let message = format!("a pointer has at most one {kind}");
        let diagnostic = Diagnostic::error(codes::DUPLICATE_QUALIFIER, span, message).label(first, "the first is here");
        self.report(diagnostic.help("remove one of the two"));
    }

    /// `counted_by(e)`
    fn count(&mut self) -> Parsed<Box<Expr>> {
        self.advance();
        let open = self.expect(Kind::LParen)?;
        let count = self.conditional()?;
        self.close(Kind::RParen, open)?;
        Ok(Box::new(count))
    }

    /// `@name`
    pub(super) fn region(&mut self) -> Parsed<Ident> {
        let at = self.expect(Kind::At)?;
        let name = self.name("the name of a region")?;
        Ok(Ident { name: name.name, span: at.to(name.span) })
    }

    pub(super) fn array(&mut self) -> Parsed<ArrayDerived> {
        let open = self.advance().span();
        let mut quals = Quals::default();
        let mut is_static = false;
        loop {
            let kind = self.raw(0);
            if kind == Kind::Static {
                is_static = true;
                self.advance();
            } else if !self.qualifier(kind, &mut quals) {
                break;
            }
        }
        let size = if self.at(Kind::RBracket) {
            ArraySize::Unknown
        } else if self.at(Kind::Star) && self.raw(1) == Kind::RBracket {
            self.advance();
            ArraySize::Star
        } else {
            ArraySize::Expr(Box::new(self.assignment()?))
        };
        self.close(Kind::RBracket, open)?;
        let mut array =
            ArrayDerived { span: self.since(open), size, is_static, quals, null_terminated: None, counted_by: None };
        while self.leeward {
            let here = self.here();
            match self.raw(0) {
                Kind::NullTerminated => {
                    self.advance();
                    self.second(array.null_terminated, here, "`null_terminated`");
                    array.null_terminated = Some(here);
                }
                Kind::CountedBy => {
                    let other = array.counted_by.as_ref().map(|e| e.span);
                    let count = self.count()?;
                    self.second(other, here, "`counted_by`");
                    array.counted_by = Some(count);
                }
                _ => break,
            }
        }
        Ok(array)
    }

    /// `(...)` of a function.
    pub(super) fn parameters(&mut self) -> Parsed<ParamList> {
        self.names.enter();
        let list = self.parameter_list();
        self.names.leave();
        list
    }

    fn parameter_list(&mut self) -> Parsed<ParamList> {
        let open = self.advance().span();
        let mut list = ParamList { span: open, params: vec![], variadic: false, old_style: false };
        if self.at(Kind::RParen) {
            self.advance();
            list.old_style = self.options.dialect == Dialect::C;
        } else if self.at(Kind::Void) && self.raw(1) == Kind::RParen {
            self.at += 2;
        } else if self.starts_identifier_list() {
            list.old_style = true;
            self.identifier_list(&mut list)?;
            self.close(Kind::RParen, open)?;
        } else {
            loop {
                if self.eat(Kind::Ellipsis).is_some() {
                    list.variadic = true;
                    break;
                }
                let param = self.parameter()?;
                if let Some(name) = param.declarator.name {
                    self.names.declare(name.name, NameKind::Ordinary);
                }
                list.params.push(param);
                if self.eat(Kind::Comma).is_none() {
                    break;
                }
            }
            self.close(Kind::RParen, open)?;
        }
        list.span = self.since(open);
        Ok(list)
    }

    /// `a, b` of `f(a, b) int a, b; { ... }`.
    fn starts_identifier_list(&self) -> bool {
        self.is_name(0)
            && matches!(self.raw(1), Kind::Comma | Kind::RParen)
            && !self.starts_type(self.at)
            && self.kind(0) != Kind::Consume
    }

    fn identifier_list(&mut self, list: &mut ParamList) -> Parsed<()> {
        loop {
            let name = self.name("a parameter's name")?;
            self.names.declare(name.name, NameKind::Ordinary);
            let nowhere = Span::new(name.span.lo, name.span.lo);
            list.params.push(Param {
                span: name.span,
                consume: None,
                specs: DeclSpecs::missing(nowhere),
                declarator: Declarator {
                    span: name.span,
                    name: Some(name),
                    derived: vec![],
                    asm_label: None,
                    attrs: vec![],
                },
            });
            if self.eat(Kind::Comma).is_none() {
                return Ok(());
            }
        }
    }

    fn parameter(&mut self) -> Parsed<Param> {
        let lo = self.here();
        let consume = if self.at(Kind::Consume) { self.eat(Kind::Consume) } else { None };
        let specs = self.specifiers()?;
        if specs.is_empty() && !self.is_name(0) {
            return Err(self.expected("a parameter"));
        }
        let mut declarator = self.declarator(Mode::Either)?;
        self.declarator_tail(&mut declarator)?;
        Ok(Param { span: self.since(lo), consume, specs, declarator })
    }
}

impl DeclSpecs {
    /// Specifiers of which none was written.
    pub fn missing(span: Span) -> DeclSpecs {
        DeclSpecs {
            span,
            storage: None,
            thread_local: false,
            constexpr: false,
            inline: false,
            noreturn: false,
            process: false,
            alignas: vec![],
            ty: TypeSpec::Missing,
            quals: Quals::default(),
            attrs: vec![],
        }
    }
}
