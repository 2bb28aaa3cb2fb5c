//! `struct`, `union`, `tagged union` and `enum`, and the arguments in `<...>`.

use super::declarator::Mode;
use super::{Parsed, Parser, Stop};
use crate::ast::*;
use crate::scope::NameKind;
use crate::token::Kind;
use source::Span;

impl Parser<'_> {
    /// `struct tag<...> { ... }`
    pub(super) fn record(&mut self, body: bool) -> Parsed<TypeSpec> {
        let lo = self.here();
        let kind = match self.kind(0) {
            Kind::Struct => RecordKind::Struct,
            Kind::Tagged => {
                self.advance();
                RecordKind::TaggedUnion
            }
            _ => RecordKind::Union,
        };
        self.advance();
        let mut attrs = vec![];
        self.attributes(&mut attrs)?;
        let tag = self.optional_tag();
        let mut args = vec![];
        let has_args = self.leeward && tag.is_some() && self.at(Kind::Lt);
        if has_args {
            args = self.generic_args()?;
        }
        let mut fields = None;
        if self.at(Kind::LBrace) && (body || tag.is_none()) {
            fields = Some(self.deeper(Self::fields)?);
            let end = self.previous();
            // `__attribute__((packed))` after the brace belongs to the record.
            while self.at(Kind::Attribute) {
                self.attributes(&mut attrs)?;
            }
            attrs.extend(self.pack_attribute(end));
        } else if tag.is_none() {
            return Err(self.expected("a tag or `{`"));
        }
        Ok(TypeSpec::Record(Box::new(RecordSpec { span: self.since(lo), kind, tag, args, has_args, fields, attrs })))
    }

    /// A tag. Tags have a name space of their own: words and types may be tags.
    fn optional_tag(&mut self) -> Option<Ident> {
        if self.is_name(0) {
            let token = self.advance();
            Some(Ident { name: token.name, span: token.span() })
        } else {
            None
        }
    }

    /// `#pragma pack(n)` in force at `end`, as an attribute `pack(n)`.
    fn pack_attribute(&mut self, end: Span) -> Option<Attribute> {
        let index = self.packs.partition_point(|p| p.0 <= end.lo).checked_sub(1)?;
        let &(_, value) = self.packs.get(index)?;
        if value == 0 {
            return None;
        }
        let int = IntLit { value: u128::from(value), unsigned: false, longs: 0, non_decimal: false };
        let args = vec![Expr { span: end, kind: ExprKind::Int(int) }];
        Some(Attribute { span: end, namespace: None, name: self.symbols.pack, args })
    }

    fn fields(&mut self) -> Parsed<Vec<FieldItem>> {
        let open = self.advance().span();
        let mut fields = vec![];
        loop {
            match self.raw(0) {
                Kind::RBrace => {
                    self.advance();
                    return Ok(fields);
                }
                Kind::Eof => {
                    self.close(Kind::RBrace, open)?;
                }
                Kind::Semi => {
                    self.advance();
                }
                _ => {
                    let from = self.at;
                    match self.field_item() {
                        Ok(item) => fields.push(item),
                        Err(Stop) => self.recover(from),
                    }
                }
            }
        }
    }

    fn field_item(&mut self) -> Parsed<FieldItem> {
        if matches!(self.kind(0), Kind::StaticAssert | Kind::UStaticAssert) {
            return self.static_assert().map(FieldItem::StaticAssert);
        }
        if self.leeward && self.token().name == self.symbols.exists && self.raw(1) == Kind::At {
            self.advance();
            let name = self.region()?;
            let mut by = None;
            if self.token().name == self.symbols.outlived && self.is_name(0) {
                self.advance();
                if self.token().name != self.symbols.by {
                    return Err(self.expected("`by` after `outlived`"));
                }
                self.advance();
                by = Some(self.region()?);
            }
            self.semicolon("after `exists`")?;
            return Ok(FieldItem::Exists { name, by });
        }
        let lo = self.here();
        let specs = self.specifiers()?;
        if specs.is_empty() && specs.attrs.is_empty() && !self.is_name(0) && self.raw(0) != Kind::Star {
            return Err(self.expected("a member"));
        }
        let mut fields = vec![];
        while !self.at(Kind::Semi) {
            fields.push(self.field()?);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        // The last `;` may be missing in old code.
        let ended = if !self.at(Kind::RBrace) || fields.is_empty() {
            self.semicolon("after a member")
        } else {
            self.semicolon("after the last member")
        };
        // Members that were read stay, so that their uses raise no second error.
        if ended.is_err() && fields.is_empty() {
            return Err(Stop);
        }
        if ended.is_err() {
            while !matches!(self.raw(0), Kind::Semi | Kind::RBrace | Kind::Eof) {
                self.advance();
            }
        }
        Ok(FieldItem::Fields(FieldDecl { span: self.since(lo), specs, fields }))
    }

    fn field(&mut self) -> Parsed<FieldDeclarator> {
        let mut attrs = vec![];
        self.attributes(&mut attrs)?;
        let mut declarator = if self.at(Kind::Colon) {
            let here = self.here();
            let span = Span::new(here.lo, here.lo);
            Declarator { span, name: None, derived: vec![], asm_label: None, attrs: vec![] }
        } else {
            self.declarator(Mode::Named)?
        };
        let width = match self.eat(Kind::Colon) {
            Some(_) => Some(self.conditional()?),
            None => None,
        };
        self.declarator_tail(&mut declarator)?;
        declarator.attrs.extend(attrs);
        let tagged_by = if self.at(Kind::TaggedBy) { Some(self.tagged_by()?) } else { None };
        Ok(FieldDeclarator { declarator, width, tagged_by })
    }

    /// `tagged_by(kind) { NUM: n, STR: s }`
    fn tagged_by(&mut self) -> Parsed<TaggedBy> {
        let lo = self.advance().span();
        let open = self.expect(Kind::LParen)?;
        let tag = self.name("the name of the field that tells the member")?;
        self.close(Kind::RParen, open)?;
        let open = self.expect(Kind::LBrace)?;
        let mut arms = vec![];
        while !self.at(Kind::RBrace) {
            let value = self.conditional()?;
            self.expect(Kind::Colon)?;
            arms.push((value, self.name("a member of the union")?));
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RBrace, open)?;
        Ok(TaggedBy { span: self.since(lo), tag, arms })
    }

    /// `enum tag : type { ... }`
    pub(super) fn enumeration(&mut self, body: bool) -> Parsed<TypeSpec> {
        let lo = self.advance().span();
        let mut attrs = vec![];
        self.attributes(&mut attrs)?;
        let tag = self.optional_tag();
        // In a member list `:` may also open a bit-field's width.
        let underlying = if self.at(Kind::Colon) && self.starts_type(self.at + 1) {
            self.advance();
            let start = self.here();
            let specs = self.specifiers_with(false)?;
            let nowhere = Span::new(start.lo, start.lo);
            let declarator = Declarator { span: nowhere, name: None, derived: vec![], asm_label: None, attrs: vec![] };
            Some(TypeName { span: self.since(start), specs, declarator })
        } else {
            None
        };
        let mut items = None;
        if self.at(Kind::LBrace) && (body || tag.is_none()) {
            items = Some(self.deeper(Self::enumerators)?);
            while self.at(Kind::Attribute) {
                self.attributes(&mut attrs)?;
            }
        } else if tag.is_none() {
            return Err(self.expected("a tag or `{`"));
        }
        Ok(TypeSpec::Enum(Box::new(EnumSpec { span: self.since(lo), tag, underlying, items, attrs })))
    }

    fn enumerators(&mut self) -> Parsed<Vec<Enumerator>> {
        let open = self.advance().span();
        let mut items = vec![];
        while !self.at(Kind::RBrace) {
            let from = self.at;
            match self.enumerator() {
                Ok(item) => items.push(item),
                Err(Stop) => self.skip_list_element(from),
            }
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close(Kind::RBrace, open)?;
        Ok(items)
    }

    fn enumerator(&mut self) -> Parsed<Enumerator> {
        let name = self.name("an enumerator")?;
        let mut attrs = vec![];
        self.attributes(&mut attrs)?;
        let value = match self.eat(Kind::Eq) {
            Some(_) => Some(self.conditional()?),
            None => None,
        };
        self.declare(name.name, NameKind::Ordinary);
        Ok(Enumerator { name, value, attrs })
    }

    /// To the `,` or the closing bracket after a broken element of a list.
    pub(super) fn skip_list_element(&mut self, from: usize) {
        let mut index = self.at.max(from);
        loop {
            match self.token_at(index).kind {
                Kind::Comma | Kind::RBrace | Kind::RParen | Kind::RBracket | Kind::Semi | Kind::Eof => break,
                Kind::LParen | Kind::LBracket | Kind::LBrace => index = self.behind_brackets(index),
                _ => index += 1,
            }
        }
        self.at = index;
    }

    /// `<...>` after a tag or a generic type.
    pub(super) fn generic_args(&mut self) -> Parsed<Vec<GenericArg>> {
        self.deeper(|p| {
            let open = p.advance().span();
            let mut args = vec![];
            while !matches!(p.raw(0), Kind::Gt | Kind::Shr | Kind::Ge | Kind::ShrEq) {
                args.push(p.generic_arg()?);
                if p.eat(Kind::Comma).is_none() {
                    break;
                }
            }
            p.close_angle(open)?;
            Ok(args)
        })
    }

    fn generic_arg(&mut self) -> Parsed<GenericArg> {
        if self.at(Kind::At) {
            return self.region().map(GenericArg::Region);
        }
        let ends = matches!(self.raw(1), Kind::Comma | Kind::Gt | Kind::Shr | Kind::Ge | Kind::ShrEq);
        let word = matches!(self.raw(0), Kind::Unique | Kind::Rc | Kind::View | Kind::Any);
        let is_type = self.starts_type(self.at);
        if ends && ((word && !is_type) || self.kind_of_name(self.at) == Some(NameKind::Own)) {
            return Ok(GenericArg::Own(self.word_ident()));
        }
        self.type_name().map(GenericArg::Type)
    }
}
