//! Top-level items: declarations, definitions, `extern "C"`, `generic`, `trusted`.

use super::declarator::Mode;
use super::{Dialect, Parsed, Parser, Stop};
use crate::ast::*;
use crate::codes;
use crate::scope::NameKind;
use crate::token::Kind;
use source::{Diagnostic, Span};

/// What stands before a declaration.
#[derive(Default)]
struct Prefix {
    generics: Option<Generics>,
    trusted: bool,
    /// Attributes before those words; they belong to the declaration.
    attrs: Vec<Attribute>,
}

impl Parser<'_> {
    pub(super) fn unit(&mut self) -> Unit {
        let mut unit = Unit::default();
        self.items(&mut unit.items, None);
        unit
    }

    /// Items up to the end of the file, or up to the `}` that closes `open`.
    fn items(&mut self, items: &mut Vec<Item>, open: Option<Span>) {
        loop {
            match self.raw(0) {
                Kind::Eof => return,
                Kind::Semi => {
                    self.advance();
                }
                Kind::RBrace if open.is_some() => return,
                Kind::RBrace => {
                    let span = self.here();
                    self.error(codes::UNEXPECTED_TOKEN, span, "unexpected `}`: no `{` is open here");
                    self.advance();
                }
                _ => self.item(items),
            }
        }
    }

    fn item(&mut self, items: &mut Vec<Item>) {
        let from = self.at;
        let lo = self.here();
        self.leeward = self.options.dialect == Dialect::Leeward && !self.in_plain_header(lo.lo);
        let foreign = self.foreign || !self.leeward;
        match self.item_kind(items) {
            Ok(Some((kind, trusted))) => {
                let origin = if foreign && !trusted { Origin::Foreign } else { Origin::Leeward };
                items.push(Item { span: self.since(lo), origin, kind });
            }
            Ok(None) => {}
            Err(Stop) => {
                self.recover_item(from);
            }
        }
    }

    /// To something that can begin an item. What is left of the mistake (initialisers, bodies) is
    /// not a second one.
    fn recover_item(&mut self, from: usize) {
        let mut from = from;
        loop {
            self.recover(from);
            match self.raw(0) {
                Kind::Eof | Kind::Semi => return,
                // A stray `}` after the mistake closes what was opened in it.
                Kind::RBrace if self.foreign => return,
                Kind::RBrace => {
                    self.advance();
                }
                _ if self.starts_line(self.at) && (self.is_name(0) || self.starts_declaration(self.at)) => return,
                _ if self.starts_declaration(self.at) || self.at(Kind::Asm) || self.at(Kind::UAsm) => return,
                _ if self.is_name(0) && self.token_at(self.at.saturating_sub(1)).kind == Kind::Semi => return,
                _ => {}
            }
            from = self.at;
        }
    }

    /// Whether the text at `offset` is a header of the system that is not one of the library's own.
    fn in_plain_header(&self, offset: u32) -> bool {
        if !self.map.is_system(offset) {
            return false;
        }
        match &self.options.library_dir {
            Some(folder) => !std::path::Path::new(self.map.file_at(offset)).starts_with(folder),
            None => true,
        }
    }

    fn item_kind(&mut self, items: &mut Vec<Item>) -> Parsed<Option<(ItemKind, bool)>> {
        if self.at(Kind::Extern) && self.raw(1) == Kind::Str {
            return self.deeper(|p| p.linkage(items)).map(|()| None);
        }
        while self.at(Kind::Extension) {
            self.advance();
        }
        if matches!(self.kind(0), Kind::StaticAssert | Kind::UStaticAssert) {
            return Ok(Some((ItemKind::StaticAssert(self.static_assert()?), false)));
        }
        if matches!(self.kind(0), Kind::Asm | Kind::UAsm) {
            return Ok(Some((ItemKind::Asm(self.file_asm()?), false)));
        }
        if self.starts_contract() {
            return Ok(Some((ItemKind::Contract(self.contract()?), false)));
        }
        if self.starts_prefix() {
            self.names.enter();
            self.generic_scope = true;
            let result = self.prefixed_item();
            self.generic_scope = false;
            let exports = std::mem::take(&mut self.generic_exports);
            let kinds: Vec<_> = exports.iter().map(|&name| (name, self.names.get(name))).collect();
            self.names.leave();
            for (name, kind) in kinds {
                if let Some(kind) = kind {
                    self.declare(name, kind);
                }
            }
            return result.map(Some);
        }
        self.external_declaration(Prefix::default()).map(|kind| Some((kind, false)))
    }

    /// Whether `generic` or `trusted` stands here, perhaps after attributes.
    fn starts_prefix(&self) -> bool {
        let mut index = self.at;
        loop {
            match self.kind_at(index) {
                Kind::GenericWord | Kind::Trusted => return true,
                Kind::LBracket if self.token_at(index + 1).kind == Kind::LBracket => {
                    index = self.behind_brackets(index)
                }
                Kind::Attribute => index = self.behind_brackets(index + 1),
                _ => return false,
            }
        }
    }

    fn prefixed_item(&mut self) -> Parsed<(ItemKind, bool)> {
        let mut prefix = Prefix::default();
        loop {
            if matches!(self.raw(0), Kind::LBracket | Kind::Attribute) && self.starts_prefix() {
                self.attributes(&mut prefix.attrs)?;
            } else if self.at(Kind::GenericWord) {
                let generics = self.generics()?;
                if prefix.generics.is_some() {
                    self.error(codes::UNEXPECTED_TOKEN, generics.span, "a declaration has one `generic <...>`");
                }
                prefix.generics = Some(generics);
            } else if self.eat(Kind::Trusted).is_some() {
                prefix.trusted = true;
            } else {
                break;
            }
        }
        let trusted = prefix.trusted;
        // `extern "C"` after `trusted` adds nothing: a trusted declaration names a C function.
        if self.at(Kind::Extern) && self.raw(1) == Kind::Str {
            self.advance();
            self.advance();
        }
        Ok((self.external_declaration(prefix)?, trusted))
    }

    /// `extern "C" { ... }` or `extern "C" DECL`.
    fn linkage(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        self.advance();
        let token = self.advance();
        if self.text(token) != "\"C\"" {
            let message = format!("`extern {}`: the only other language is \"C\"", self.text(token));
            let diagnostic = Diagnostic::error(codes::UNEXPECTED_TOKEN, token.span(), message);
            self.report(diagnostic);
        }
        let outer = std::mem::replace(&mut self.foreign, true);
        let result = if self.at(Kind::LBrace) {
            let open = self.advance().span();
            self.items(items, Some(open));
            self.close(Kind::RBrace, open).map(|_| ())
        } else if self.at(Kind::Extern) && self.raw(1) == Kind::Str {
            Err(self.expected("a declaration"))
        } else {
            self.item(items);
            Ok(())
        };
        self.foreign = outer;
        result
    }

    fn external_declaration(&mut self, mut prefix: Prefix) -> Parsed<ItemKind> {
        let lo = prefix.generics.as_ref().map_or(self.here(), |g| g.span);
        let process = self.at(Kind::Process) && self.starts_declaration(self.at + 1);
        if process {
            self.advance();
        }
        let mut specs = self.specifiers()?;
        specs.process = process;
        specs.noreturn |= prefix.attrs.iter().any(is_noreturn);
        specs.attrs.splice(0..0, std::mem::take(&mut prefix.attrs));
        if self.at(Kind::Semi) {
            self.advance();
            return Ok(ItemKind::Decl(self.plain_decl(lo, prefix, specs, vec![])));
        }
        if specs.is_empty() && !self.is_name(0) && !matches!(self.raw(0), Kind::Star | Kind::LParen) {
            return Err(self.expected("a declaration"));
        }
        let mut declarator = self.declarator(Mode::Named)?;
        self.declarator_tail(&mut declarator)?;
        if self.starts_body(&declarator) {
            self.declare_function(&declarator);
            return self.function(lo, prefix, specs, declarator).map(ItemKind::Function);
        }
        let kind = declared_kind(&specs, prefix.generics.as_ref().is_some_and(Generics::has_arguments));
        let declarators = self.init_declarators(declarator, kind)?;
        self.semicolon("after a declaration")?;
        Ok(ItemKind::Decl(self.plain_decl(lo, prefix, specs, declarators)))
    }

    fn plain_decl(&mut self, lo: Span, prefix: Prefix, specs: DeclSpecs, declarators: Vec<InitDeclarator>) -> Decl {
        Decl { span: self.since(lo), generics: prefix.generics, trusted: prefix.trusted, specs, declarators }
    }

    /// Whether a function body, or old-style parameter declarations, stand here.
    pub(super) fn starts_body(&self, declarator: &Declarator) -> bool {
        match declarator.derived.first() {
            Some(Derived::Function(params)) => {
                self.at(Kind::LBrace)
                    || (params.old_style && !params.params.is_empty() && self.starts_declaration(self.at))
            }
            _ => false,
        }
    }

    pub(super) fn declare_function(&mut self, declarator: &Declarator) {
        if let Some(name) = declarator.name {
            self.declare(name.name, NameKind::Ordinary);
        }
    }

    fn function(&mut self, lo: Span, prefix: Prefix, specs: DeclSpecs, declarator: Declarator) -> Parsed<FunctionDef> {
        self.names.enter();
        let body = self.function_rest(&declarator);
        self.names.leave();
        let (old_style, body) = body?;
        Ok(FunctionDef {
            span: self.since(lo),
            generics: prefix.generics,
            trusted: prefix.trusted,
            specs,
            declarator,
            old_style,
            body,
        })
    }

    /// A nested function (GNU).
    pub(super) fn nested_function(
        &mut self,
        lo: Span,
        specs: DeclSpecs,
        declarator: Declarator,
    ) -> Parsed<FunctionDef> {
        self.deeper(|p| p.function(lo, Prefix::default(), specs, declarator))
    }

    fn function_rest(&mut self, declarator: &Declarator) -> Parsed<(Vec<Decl>, Block)> {
        if let Some(Derived::Function(list)) = declarator.derived.first() {
            for name in list.params.iter().filter_map(|p| p.declarator.name) {
                self.names.declare(name.name, NameKind::Ordinary);
            }
        }
        let mut old_style = vec![];
        while !self.at(Kind::LBrace) {
            let from = self.at;
            if !self.starts_declaration(self.at) {
                return Err(self.expected("`{` of the function's body"));
            }
            match self.declaration() {
                Ok(decl) => old_style.push(decl),
                Err(Stop) => self.recover(from),
            }
        }
        Ok((old_style, self.block_without_scope()?))
    }

    /// `generic <T, U: move @r, own q, @a outlives @b>`; the names are declared in the scope that
    /// is open.
    fn generics(&mut self) -> Parsed<Generics> {
        let lo = self.advance().span();
        let open = self.expect(Kind::Lt)?;
        let mut params = vec![];
        while !matches!(self.raw(0), Kind::Gt | Kind::Shr | Kind::Ge | Kind::ShrEq) {
            params.push(self.generic_param()?);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.close_angle(open)?;
        Ok(Generics { span: self.since(lo), params })
    }

    fn generic_param(&mut self) -> Parsed<GenericParam> {
        if self.at(Kind::At) {
            let name = self.region()?;
            let outlives = if self.token().name == self.symbols.outlives {
                self.advance();
                Some(self.region()?)
            } else {
                None
            };
            return Ok(GenericParam::Region { name, outlives });
        }
        if self.raw(0) == Kind::Own && self.is_name(1) {
            self.advance();
            let name = self.name("the name of an ownership parameter")?;
            self.names.declare(name.name, NameKind::Own);
            return Ok(GenericParam::Own(name));
        }
        let name = self.name("a type, ownership or region parameter")?;
        self.names.declare(name.name, NameKind::Type);
        let mut bounds = vec![];
        if self.eat(Kind::Colon).is_some() {
            loop {
                let name = self.name("`move`, `heap` or `nonnull`")?;
                let region = if self.at(Kind::At) { Some(self.region()?) } else { None };
                bounds.push(Bound { name, region });
                if self.eat(Kind::Plus).is_none() {
                    break;
                }
            }
        }
        Ok(GenericParam::Type { name, bounds })
    }

    /// `static_assert(e)`, `static_assert(e, "text");`
    pub(super) fn static_assert(&mut self) -> Parsed<StaticAssert> {
        let lo = self.advance().span();
        let open = self.expect(Kind::LParen)?;
        let condition = self.conditional()?;
        let message = match self.eat(Kind::Comma) {
            Some(_) => Some(self.string_bytes()?),
            None => None,
        };
        self.close(Kind::RParen, open)?;
        self.semicolon("after static_assert")?;
        Ok(StaticAssert { condition, message, span: self.since(lo) })
    }

    fn file_asm(&mut self) -> Parsed<Vec<u8>> {
        self.advance();
        let open = self.expect(Kind::LParen)?;
        let text = self.string_bytes()?;
        self.close(Kind::RParen, open)?;
        self.semicolon("after asm")?;
        Ok(text)
    }
}

/// `[[noreturn]]` in any spelling.
pub(super) fn is_noreturn(attribute: &Attribute) -> bool {
    matches!(attribute.name.as_str(), "noreturn" | "_Noreturn")
}

/// How the grammar has to know the names of a declaration.
pub(super) fn declared_kind(specs: &DeclSpecs, generic: bool) -> NameKind {
    match (specs.storage, generic) {
        (Some(Storage::Typedef), true) => NameKind::GenericType,
        (Some(Storage::Typedef), false) => NameKind::Type,
        _ => NameKind::Ordinary,
    }
}
