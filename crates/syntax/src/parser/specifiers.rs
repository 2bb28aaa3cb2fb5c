//! Declaration specifiers and type names.

use super::declarator::Mode;
use super::item::is_noreturn;
use super::{Dialect, Parsed, Parser};
use crate::ast::*;
use crate::codes;
use crate::scope::NameKind;
use crate::token::Kind;
use source::{Diagnostic, Span, Symbol};

/// C's type words, counted until all of them are read.
#[derive(Default)]
struct Words {
    span: Option<Span>,
    base: Option<(Kind, Span)>,
    long: u32,
    short: bool,
    signed: bool,
    unsigned: bool,
    complex: bool,
}

impl Words {
    /// Whether the words so far are a type.
    fn is_complete(&self) -> bool {
        self.base.is_some() || self.long > 0 || self.short || self.signed || self.unsigned
    }
}

impl DeclSpecs {
    /// Whether nothing was written.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self.ty, TypeSpec::Missing)
            && self.storage.is_none()
            && !self.thread_local
            && !self.constexpr
            && !self.inline
            && !self.noreturn
            && self.alignas.is_empty()
            && self.quals == Quals::default()
    }
}

impl Parser<'_> {
    /// Whether a declaration starts at `index`.
    pub(super) fn starts_declaration(&self, index: usize) -> bool {
        use Kind::*;
        let index = self.behind_extension(index);
        match self.kind_at(index) {
            Typedef | Extern | Static | Register | Auto | AutoType | Inline | Noreturn | UThreadLocal | ThreadLocal
            | Constexpr | Alignas | UAlignas | Attribute | UStaticAssert | StaticAssert => true,
            LBracket => self.token_at(index + 1).kind == LBracket,
            _ => self.starts_type(index),
        }
    }

    /// Whether a type name starts at `index`.
    pub(super) fn starts_type(&self, index: usize) -> bool {
        use Kind::*;
        let index = self.behind_extension(index);
        match self.kind_at(index) {
            Void | CharWord | Short | Int | Long | Float | Double | Signed | Unsigned | UBool | Bool | Complex
            | Imaginary | BitInt | Decimal | Int128 | Int128T | UInt128T | VaList | Struct | Union | Enum | Typeof
            | UTypeofUnqual | TypeofUnqual | Const | Volatile | Restrict | Atomic | Byte => true,
            Tagged => self.token_at(index + 1).kind == Union,
            Ident => self.names_type(index),
            kind if kind.is_gnu_float() => true,
            kind if kind.is_soft() => self.later_type_at(index, kind) || self.contract_type_at(index),
            _ => false,
        }
    }

    /// The index after any number of `__extension__`.
    #[inline]
    fn behind_extension(&self, index: usize) -> usize {
        let mut index = index;
        while self.token_at(index).kind == Kind::Extension {
            index += 1;
        }
        index
    }

    fn names_type(&self, index: usize) -> bool {
        match self.kind_of_name(index) {
            Some(NameKind::Type | NameKind::GenericType | NameKind::UnknownType) => true,
            Some(NameKind::Contract) => true,
            Some(NameKind::Ordinary | NameKind::Own) => false,
            None => self.contract_type_at(index),
        }
    }

    /// Like `starts_type`, with the storage words that C23 allows in compound literals.
    pub(super) fn starts_type_name(&self, index: usize) -> bool {
        use Kind::*;
        match self.kind_at(index) {
            Static | Register | Constexpr | ThreadLocal | UThreadLocal => true,
            LBracket => false,
            Attribute => true,
            _ => self.starts_type(index),
        }
    }

    pub(super) fn specifiers(&mut self) -> Parsed<DeclSpecs> {
        self.specifiers_with(true)
    }

    /// Specifiers; `body` tells whether `{` after a record's tag opens its members (not after
    /// `new`).
    pub(super) fn specifiers_with(&mut self, body: bool) -> Parsed<DeclSpecs> {
        let lo = self.here();
        let mut specs = DeclSpecs {
            span: lo,
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
        };
        let mut words = Words::default();
        let from = self.at;
        loop {
            let kind = self.kind(0);
            if !(self.storage_word(kind, &mut specs)?
                || self.qualifier(kind, &mut specs.quals)
                || self.type_word(kind, &mut words, &mut specs)
                || self.attribute_word(kind, &mut specs)?
                || self.type_construct(kind, &mut words, &mut specs, body)?)
            {
                break;
            }
        }
        specs.span = if self.at > from { self.since(lo) } else { Span::new(lo.lo, lo.lo) };
        self.finish_words(words, &mut specs);
        Ok(specs)
    }

    /// `typedef`, `static`, `inline` ...
    fn storage_word(&mut self, kind: Kind, specs: &mut DeclSpecs) -> Parsed<bool> {
        let storage = match kind {
            Kind::Typedef => Storage::Typedef,
            Kind::Extern => Storage::Extern,
            Kind::Static => Storage::Static,
            Kind::Auto => Storage::Auto,
            Kind::Register => Storage::Register,
            Kind::Inline => {
                specs.inline = true;
                self.advance();
                return Ok(true);
            }
            Kind::Noreturn => {
                specs.noreturn = true;
                self.advance();
                return Ok(true);
            }
            Kind::ThreadLocal | Kind::UThreadLocal => {
                specs.thread_local = true;
                self.advance();
                return Ok(true);
            }
            Kind::Constexpr => {
                specs.constexpr = true;
                self.advance();
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let span = self.advance().span();
        match specs.storage {
            None => specs.storage = Some(storage),
            // `static auto x = e;` has the storage of the other word.
            Some(Storage::Auto) if storage != Storage::Auto => specs.storage = Some(storage),
            Some(_) if storage == Storage::Auto => {}
            Some(_) => {
                let diagnostic =
                    Diagnostic::error(codes::INVALID_SPECIFIERS, span, "a declaration has one storage class");
                self.report(diagnostic);
                return Ok(true);
            }
        }
        // The type is inferred if no other follows: decided in `finish_words`.
        if storage == Storage::Auto && matches!(specs.ty, TypeSpec::Missing) {
            specs.ty = TypeSpec::Infer;
        }
        Ok(true)
    }

    /// C's own qualifiers.
    pub(super) fn qualifier(&mut self, kind: Kind, quals: &mut Quals) -> bool {
        match kind {
            Kind::Const => quals.is_const = true,
            Kind::Volatile => quals.is_volatile = true,
            Kind::Restrict => quals.is_restrict = true,
            Kind::Atomic if self.raw(1) != Kind::LParen => quals.is_atomic = true,
            _ => return false,
        }
        self.advance();
        true
    }

    fn type_word(&mut self, kind: Kind, words: &mut Words, specs: &mut DeclSpecs) -> bool {
        use Kind::*;
        if !matches!(specs.ty, TypeSpec::Missing | TypeSpec::Infer) {
            if !is_type_word(kind) {
                return false;
            }
            let message = format!("`{}` after a type that is already complete", kind.text());
            let span = self.here();
            self.error(codes::INVALID_SPECIFIERS, span, message);
            self.advance();
            return true;
        }
        match kind {
            Long => words.long += 1,
            Short => words.short = true,
            Signed => words.signed = true,
            Unsigned => words.unsigned = true,
            Complex => words.complex = true,
            _ if is_base_word(kind) => {
                let span = self.here();
                // Names that older compilers leave to a typedef: it declares them after a type.
                let declarable = kind.is_gnu_float() || (kind == Bool && self.options.dialect == Dialect::C);
                if declarable && words.is_complete() {
                    return false;
                }
                if let Some((base, _)) = words.base {
                    let message = format!("`{}` after `{}`: a declaration has one type", kind.text(), base.text());
                    self.error(codes::INVALID_SPECIFIERS, span, message);
                } else {
                    words.base = Some((kind, span));
                }
            }
            _ => return false,
        }
        let span = self.advance().span();
        words.span = Some(words.span.map_or(span, |s| s.to(span)));
        true
    }

    fn attribute_word(&mut self, kind: Kind, specs: &mut DeclSpecs) -> Parsed<bool> {
        match kind {
            Kind::Extension => {
                self.advance();
            }
            Kind::Attribute => self.attributes(&mut specs.attrs)?,
            Kind::LBracket if self.raw(1) == Kind::LBracket => self.attributes(&mut specs.attrs)?,
            Kind::Alignas | Kind::UAlignas => {
                self.advance();
                let open = self.expect(Kind::LParen)?;
                specs.alignas.push(if self.starts_type_name(self.at) {
                    AlignAs::Type(self.type_name()?)
                } else {
                    AlignAs::Expr(self.conditional()?)
                });
                self.close(Kind::RParen, open)?;
            }
            _ => return Ok(false),
        }
        specs.noreturn |= specs.attrs.iter().any(is_noreturn);
        Ok(true)
    }

    /// Type specifiers that are more than a word.
    fn type_construct(&mut self, kind: Kind, words: &mut Words, specs: &mut DeclSpecs, body: bool) -> Parsed<bool> {
        use Kind::*;
        let complete = words.span.is_some() || !matches!(specs.ty, TypeSpec::Missing | TypeSpec::Infer);
        let starts = match kind {
            Struct | Union | Enum | Typeof | UTypeofUnqual | TypeofUnqual | Atomic | AutoType | BitInt | Decimal
            | Imaginary | BFloat => true,
            Tagged => self.raw(1) == Union,
            Byte => !complete,
            Ident => !complete && (self.names_type(self.at) || self.is_unknown_type()),
            _ => !complete && kind.is_soft() && (self.later_type_at(self.at, kind) || self.contract_type_at(self.at)),
        };
        if !starts {
            return Ok(false);
        }
        if complete {
            let message = format!("`{}` after a type: a declaration has one type", kind.text());
            let span = self.here();
            let diagnostic = Diagnostic::error(codes::INVALID_SPECIFIERS, span, message);
            return Err(self.report(diagnostic.help("is a `;` missing before it?")));
        }
        specs.ty = match kind {
            Struct | Union | Tagged => self.record(body)?,
            Enum => self.enumeration(body)?,
            Typeof | UTypeofUnqual | TypeofUnqual => self.typeof_specifier(kind != Typeof)?,
            Atomic => {
                self.advance();
                let open = self.expect(LParen)?;
                let ty = self.deeper(Self::type_name)?;
                self.close(RParen, open)?;
                TypeSpec::Atomic(Box::new(ty))
            }
            AutoType => {
                self.advance();
                TypeSpec::Infer
            }
            BitInt => {
                let ident = self.word_ident();
                if self.at(LParen) {
                    self.at = self.behind_brackets(self.at);
                }
                // `unsigned _BitInt(8)`, `_BitInt(8) unsigned`: the sign says nothing more.
                while matches!(self.raw(0), Signed | Unsigned) {
                    self.advance();
                }
                TypeSpec::Unsupported(ident)
            }
            Decimal | Imaginary | BFloat => TypeSpec::Unsupported(self.word_ident()),
            Byte => {
                self.advance();
                TypeSpec::Builtin(Builtin::Byte)
            }
            _ => self.named_type(kind)?,
        };
        Ok(true)
    }

    /// The current word as a name.
    pub(super) fn word_ident(&mut self) -> Ident {
        let token = self.advance();
        Ident { name: token.name, span: token.span() }
    }

    fn named_type(&mut self, kind: Kind) -> Parsed<TypeSpec> {
        if kind != Kind::Ident || matches!(self.kind_of_name(self.at), None | Some(NameKind::Contract)) {
            if self.contract_type_at(self.at) || self.kind_of_name(self.at).is_some() {
                return self.endpoint_type();
            }
            if kind != Kind::Ident {
                return self.later_type();
            }
            return Ok(self.unknown_type());
        }
        let known = self.kind_of_name(self.at);
        let ident = self.word_ident();
        if known == Some(NameKind::UnknownType) {
            if self.leeward && self.at(Kind::Lt) {
                self.generic_args()?;
            }
            return Ok(error_type(ident.span));
        }
        let args = if self.leeward && self.at(Kind::Lt) { self.generic_args()? } else { vec![] };
        Ok(TypeSpec::Named(ident, args))
    }

    /// Whether an undeclared name stands where only a type makes sense: `foo_t x`, `foo_t *x`.
    fn is_unknown_type(&self) -> bool {
        if self.kind_of_name(self.at).is_some() || !self.is_name(0) {
            return false;
        }
        match self.raw(1) {
            Kind::Star => true,
            Kind::Const | Kind::Volatile => true,
            Kind::Lt => self.leeward,
            Kind::Attribute | Kind::UAsm | Kind::Asm => false,
            _ => self.is_name(1) || self.starts_type(self.at + 1),
        }
    }

    /// Reports a type that was not declared, once per name.
    fn unknown_type(&mut self) -> TypeSpec {
        let token = self.token();
        let message = format!("unknown type name `{}`", token.name);
        let diagnostic = Diagnostic::error(codes::UNKNOWN_TYPE, token.span(), message);
        self.report(diagnostic.help("declare it, or include the header that does"));
        let before_type = self.starts_type(self.at + 1);
        self.advance();
        // `EXPORT int f(void);`: a word too many, not a type too few.
        if before_type {
            return TypeSpec::Missing;
        }
        if self.quiet == 0 {
            self.names.declare(token.name, NameKind::UnknownType);
        }
        if self.leeward && self.at(Kind::Lt) && self.generic_args().is_err() {
            return error_type(token.span());
        }
        error_type(token.span())
    }

    fn typeof_specifier(&mut self, unqual: bool) -> Parsed<TypeSpec> {
        self.advance();
        let open = self.expect(Kind::LParen)?;
        let ty = if self.starts_type_name(self.at) {
            TypeSpec::TypeofType(Box::new(self.deeper(Self::type_name)?), unqual)
        } else {
            TypeSpec::TypeofExpr(Box::new(self.expression()?), unqual)
        };
        self.close(Kind::RParen, open)?;
        Ok(ty)
    }

    /// Puts the counted words together.
    fn finish_words(&mut self, words: Words, specs: &mut DeclSpecs) {
        let inferred = matches!(specs.ty, TypeSpec::Infer);
        if let Some(span) = words.span {
            specs.ty = match builtin(&words) {
                Some(ty) => TypeSpec::Builtin(ty),
                // `_Complex _Float16` is a type of gcc's that no C library uses.
                None if words.complex && words.base.is_some_and(|b| b.0 == Kind::Float16) => {
                    TypeSpec::Unsupported(Ident { name: Symbol::new("_Complex _Float16"), span })
                }
                None => {
                    self.error(codes::INVALID_SPECIFIERS, span, "these type words do not go together");
                    error_type(span)
                }
            };
        } else if inferred && specs.storage == Some(Storage::Auto) {
            specs.storage = None;
        }
        if specs.constexpr && matches!(specs.ty, TypeSpec::Missing) {
            specs.ty = TypeSpec::Infer;
        }
    }

    /// A type name: specifiers and an abstract declarator.
    pub(super) fn type_name(&mut self) -> Parsed<TypeName> {
        let lo = self.here();
        if !self.starts_type_name(self.at) && !self.is_unknown_type() && !self.is_lone_name() {
            return Err(self.expected("a type"));
        }
        let specs = self.specifiers()?;
        let specs =
            if specs.is_empty() && self.is_name(0) { DeclSpecs { ty: self.unknown_type(), ..specs } } else { specs };
        let declarator = self.declarator(Mode::Abstract)?;
        Ok(TypeName { span: self.since(lo), specs, declarator })
    }

    /// An undeclared name where a type must stand.
    fn is_lone_name(&self) -> bool {
        self.is_name(0) && self.kind_of_name(self.at).is_none()
    }
}

/// The type of what was already reported: `typeof` of an erroneous expression.
pub(super) fn error_type(span: Span) -> TypeSpec {
    TypeSpec::TypeofExpr(Box::new(Expr { span, kind: ExprKind::Error }), false)
}

fn is_type_word(kind: Kind) -> bool {
    use Kind::*;
    matches!(kind, Long | Short | Signed | Unsigned | Complex)
        || (is_base_word(kind) && kind != Bool && !kind.is_gnu_float())
}

fn is_base_word(kind: Kind) -> bool {
    use Kind::*;
    let float = kind.is_gnu_float() && kind != BFloat;
    let word =
        matches!(kind, Void | CharWord | Int | Float | Double | UBool | Bool | Int128 | Int128T | UInt128T | VaList);
    float || word
}

/// The type that the words name together.
fn builtin(words: &Words) -> Option<Builtin> {
    use Builtin as B;
    let base = words.base.map(|b| b.0);
    let sign = words.signed || words.unsigned;
    if words.signed && words.unsigned || words.short && words.long > 0 {
        return None;
    }
    if words.complex {
        if sign || words.short {
            return None;
        }
        return match (base, words.long) {
            (Some(Kind::Float | Kind::Float32), 0) => Some(B::ComplexFloat),
            // `_Complex` alone is `_Complex double` (GNU).
            (None | Some(Kind::Double | Kind::Float64 | Kind::Float32x), 0) => Some(B::ComplexDouble),
            (Some(Kind::Double), 1) | (Some(Kind::Float80 | Kind::Float64x), 0) => Some(B::ComplexLongDouble),
            (Some(Kind::Float128 | Kind::Quad), 0) => Some(B::ComplexFloat128),
            _ => None,
        };
    }
    let pick = |signed, unsigned| Some(if words.unsigned { unsigned } else { signed });
    match (base, words.short, words.long) {
        (None | Some(Kind::Int), true, 0) => pick(B::Short, B::UShort),
        (None | Some(Kind::Int), false, 0) => pick(B::Int, B::UInt),
        (None | Some(Kind::Int), false, 1) => pick(B::Long, B::ULong),
        (None | Some(Kind::Int), false, 2) => pick(B::LongLong, B::ULongLong),
        (Some(Kind::CharWord), false, 0) if words.signed => Some(B::SChar),
        (Some(Kind::CharWord), false, 0) => pick(B::Char, B::UChar),
        (Some(Kind::Int128), false, 0) => pick(B::Int128, B::UInt128),
        (Some(Kind::Double), false, 1) if !sign => Some(B::LongDouble),
        (Some(kind), false, 0) if !sign => match kind {
            Kind::Void => Some(B::Void),
            Kind::UBool | Kind::Bool => Some(B::Bool),
            Kind::Float16 => Some(B::Float16),
            Kind::Float => Some(B::Float),
            Kind::Float32 => Some(B::Float32),
            Kind::Double => Some(B::Double),
            Kind::Float32x => Some(B::Float32x),
            Kind::Float64 => Some(B::Float64),
            Kind::Float80 => Some(B::LongDouble),
            Kind::Float64x => Some(B::Float64x),
            Kind::Float128 | Kind::Quad => Some(B::Float128),
            Kind::Int128T => Some(B::Int128),
            Kind::UInt128T => Some(B::UInt128),
            Kind::VaList => Some(B::VaList),
            _ => None,
        },
        _ => None,
    }
}
