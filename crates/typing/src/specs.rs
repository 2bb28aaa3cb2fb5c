//! Declaration specifiers and declarators to types.

use crate::checker::Checker;
use crate::codes;
use crate::region_names::VariableName;
use crate::scope::{Entity, GenericParam, Tag};
use crate::tasks::is_handle;
use crate::tree::RegionKind;
use crate::types::*;
use source::{with_article, Diagnostic, Span, Symbol};
use std::rc::Rc;
use syntax::ast;

/// Pointers to arrays of pointers to functions ... end here: walking a type takes time and stack
/// for each step.
const MAX_DERIVATIONS: usize = 256;

/// What a declarator declares; decides the defaults of language.md section 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A parameter.
    Param,
    /// A record's field.
    Field,
    /// A global or static.
    Global,
    /// A local, whose outermost bounds are inferred.
    Local,
    /// A typedef.
    Typedef,
    /// A type name in a cast, `sizeof`, `typeof`, `new`.
    TypeName,
}

/// Where a declarator stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Its role.
    pub role: Role,
    /// In foreign code: pointers are C's.
    pub foreign: bool,
    /// In a trusted declaration: checked pointers, C's `void *`.
    pub trusted: bool,
}

/// What `counted_by` may mention here.
pub enum Siblings {
    /// Parameters by position.
    Params(Vec<Option<Symbol>>),
    /// Fields by position.
    Fields(Vec<Option<Symbol>>),
}

/// A declared type with what is not part of the type.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The type.
    pub ty: Qty,
    /// Outermost pointer annotated `@heap`.
    pub heap: bool,
    /// Names of the parameters if it is a function.
    pub params: Vec<Option<ast::Ident>>,
    /// Names of its region variables if it is a function.
    pub regions: Vec<VariableName>,
}

impl Checker<'_> {
    /// The base type of specifiers.
    pub(crate) fn base_type(&mut self, specs: &ast::DeclSpecs, place: Place) -> Qty {
        let c = self.program.types.common;
        let mut qty = match &specs.ty {
            ast::TypeSpec::Builtin(b) => Qty::plain(self.builtin_type(*b)),
            ast::TypeSpec::Named(name, args) => self.named_type(*name, args, place),
            ast::TypeSpec::Record(spec) => Qty::plain(self.record_spec(spec, place)),
            // Its definition stands in emitted C as it is.
            ast::TypeSpec::Enum(spec) if self.in_intrinsics(spec.span.lo) => {
                self.enum_spec(spec, place);
                Qty::plain(c.uint)
            }
            ast::TypeSpec::Enum(spec) => Qty::plain(self.enum_spec(spec, place)),
            ast::TypeSpec::TypeofExpr(e, unqual) => {
                let e = self.unevaluated(e);
                let mut e = self.declared_place(e);
                // A count is one of the fields beside, which are others where the type is named.
                if let TyKind::Array { elem, len: ArrayLen::Flexible(Some(_)), terminated } = *self.kind(e.ty.ty) {
                    let plain = TyKind::Array { elem, len: ArrayLen::Flexible(None), terminated };
                    e.ty.ty = self.types().intern(plain);
                } else if !self.options.plain_c {
                    e.ty.ty = self.value_type(e.ty.ty);
                }
                if *unqual {
                    Qty::plain(e.ty.ty)
                } else {
                    e.ty
                }
            }
            ast::TypeSpec::TypeofType(t, unqual) => {
                let ty = self.type_name(t);
                if *unqual {
                    Qty::plain(ty.ty)
                } else {
                    ty
                }
            }
            ast::TypeSpec::Atomic(t) => {
                let mut ty = self.type_name(t);
                ty.quals.is_atomic = true;
                ty
            }
            ast::TypeSpec::Infer => {
                self.error_help(
                    codes::INITIALISER,
                    specs.span,
                    "`auto` is the type of variables with an initialiser only",
                    "write the type",
                );
                Qty::plain(c.error)
            }
            ast::TypeSpec::Key(word, region) => Qty::plain(self.key_type(*word, *region, place)),
            ast::TypeSpec::Handle(_, span) => {
                self.error_help(
                    codes::REGION,
                    *span,
                    "an arena's handle is a parameter or is declared by itself",
                    "write `arena r;` in a block, or `arena r` as a parameter",
                );
                Qty::plain(c.error)
            }
            ast::TypeSpec::Endpoint(spec) => Qty::plain(self.endpoint_type(spec, place)),
            ast::TypeSpec::EndSet(word, args) => Qty::plain(self.end_set_type(*word, args)),
            ast::TypeSpec::Unsupported(word) if self.in_intrinsics(word.span.lo) => Qty::plain(c.error),
            ast::TypeSpec::Unsupported(word) if word.name.as_str() == "pid" => Qty::plain(self.pid_type(false)),
            ast::TypeSpec::Unsupported(word) if is_handle(word.name.as_str()) => {
                Qty::plain(self.handle_type(word.name))
            }
            ast::TypeSpec::Unsupported(word) => {
                self.later(word.name, word.span);
                Qty::plain(c.error)
            }
            ast::TypeSpec::Missing => {
                if !place.foreign {
                    self.error_help(
                        codes::DECLARATION,
                        specs.span,
                        "a type is missing here",
                        "write `int` if that is meant",
                    );
                }
                Qty::plain(c.int)
            }
        };
        qty.quals.is_const |= specs.quals.is_const;
        qty.quals.is_volatile |= specs.quals.is_volatile;
        qty.quals.is_atomic |= specs.quals.is_atomic;
        self.refuse_atomic_underaligned(qty, specs.span);
        qty
    }

    fn builtin_type(&mut self, builtin: ast::Builtin) -> Ty {
        use ast::Builtin::*;
        let c = self.program.types.common;
        match builtin {
            Void => c.void,
            Bool => c.bool_,
            Char => c.char_,
            SChar => c.schar,
            UChar | Byte => c.uchar,
            Short => c.short,
            UShort => c.ushort,
            Int => c.int,
            UInt => c.uint,
            Long => c.long,
            ULong => c.ulong,
            LongLong => c.longlong,
            ULongLong => c.ulonglong,
            Int128 => self.types().int(IntKind::Int128),
            UInt128 => self.types().int(IntKind::UInt128),
            Float16 => self.float_ty(FloatKind::Float16),
            Float32 => self.float_ty(FloatKind::Float32),
            Float32x => self.float_ty(FloatKind::Float32x),
            Float64 => self.float_ty(FloatKind::Float64),
            Float64x => self.float_ty(FloatKind::Float64x),
            Float => c.float,
            Double => c.double,
            LongDouble => c.long_double,
            Float128 => self.float_ty(FloatKind::Float128),
            ComplexFloat => self.types().intern(TyKind::Complex(FloatKind::Float)),
            ComplexDouble => self.types().intern(TyKind::Complex(FloatKind::Double)),
            ComplexFloat128 => self.types().intern(TyKind::Complex(FloatKind::Float128)),
            ComplexLongDouble => self.types().intern(TyKind::Complex(FloatKind::LongDouble)),
            VaList => c.va_list,
        }
    }

    fn named_type(&mut self, name: ast::Ident, args: &[ast::GenericArg], place: Place) -> Qty {
        let c = self.program.types.common;
        let ty = match self.scopes.lookup(name.name) {
            Some(Entity::GenericTypedef(params, ty)) => {
                let (params, ty) = (params.clone(), *ty);
                return self.generic_typedef(name, &params, ty, args, place);
            }
            Some(Entity::Typedef(ty)) => *ty,
            Some(Entity::TypeParam(ty)) => Qty::plain(*ty),
            Some(Entity::Poison) => Qty::plain(c.error),
            _ if name.name.as_str() == "byte" => Qty::plain(c.uchar),
            _ if name.name.as_str() == "nullptr_t" => Qty::plain(c.nullptr),
            _ => {
                self.error(codes::UNKNOWN_NAME, name.span, format!("`{}` is not a type here", name.name));
                return Qty::plain(c.error);
            }
        };
        if self.unknown_intrinsics.contains(&name.name) && !self.in_intrinsics(name.span.lo) {
            self.error(codes::LATER, name.span, format!("`{}` is not built yet", name.name));
        }
        if !args.is_empty() && !self.is_error(ty.ty) {
            self.error(codes::GENERIC, name.span, format!("`{}` is not a generic type", name.name));
            return Qty::plain(c.error);
        }
        ty
    }

    /// `name<int>` where `name` is a generic typedef.
    fn generic_typedef(
        &mut self,
        name: ast::Ident,
        params: &[GenericParam],
        ty: Qty,
        args: &[ast::GenericArg],
        place: Place,
    ) -> Qty {
        let error = Qty::plain(self.program.types.common.error);
        if args.len() != params.len() {
            let (given, needed) = (args.len(), params.len());
            let message = match given {
                0 => format!("`{}` is generic: its type arguments are missing", name.name),
                _ => format!("{given} type arguments are given, {needed} are needed"),
            };
            let names: Vec<_> = params.iter().map(|p| p.name().to_string()).collect();
            self.error_help(codes::GENERIC, name.span, message, format!("write `{}<{}>`", name.name, names.join(", ")));
            return error;
        }
        let args = self.generic_arguments(args, place);
        if !args.iter().zip(params).all(|(&arg, param)| self.check_argument_of_type(arg, param, name.span)) {
            return error;
        }
        let made = self.types().subst(ty.ty, &args);
        Qty { ty: made, ..ty }
    }

    /// A type name. Bounds of its outermost pointer are as written.
    pub(crate) fn type_name(&mut self, name: &ast::TypeName) -> Qty {
        let foreign = self.f.as_ref().map_or(self.options.plain_c, |f| f.unchecked);
        let place = Place { role: Role::TypeName, foreign, trusted: false };
        self.refuse_attributes(&name.specs.attrs);
        self.refuse_attributes(&name.declarator.attrs);
        let begun = self.begin_prototype(Self::derives_function(&name.declarator));
        let base = self.base_type(&name.specs, place);
        let ty = self.declare_type(base, &name.declarator, place).ty;
        self.end_prototype(begun);
        ty
    }

    /// The type of an object in memory of region `around`, the element of `new`. Defaults are those
    /// of fields.
    pub(crate) fn stored_type(&mut self, name: &ast::TypeName, around: Region) -> Qty {
        let place = Place { role: Role::Typedef, foreign: false, trusted: false };
        let base = self.base_type(&name.specs, place);
        let ty = self.declare_type(base, &name.declarator, place).ty;
        Qty { ty: self.settle_stored(ty.ty, around), ..ty }
    }

    /// Applies a declarator to its base type.
    pub(crate) fn declare_type(&mut self, base: Qty, declarator: &ast::Declarator, place: Place) -> Declared {
        if declarator.derived.len() > MAX_DERIVATIONS {
            let message =
                format!("a type is derived in {} steps here: {MAX_DERIVATIONS} are enough", declarator.derived.len());
            self.error(codes::DECLARATION, declarator.span, message);
            let ty = Qty::plain(self.program.types.common.error);
            return Declared { ty, heap: false, params: vec![], regions: vec![] };
        }
        let begun = self.begin_prototype(Self::derives_function(declarator));
        let mut ty = base;
        let mut heap = false;
        let mut params = vec![];
        let mut regions = vec![];
        for (at, step) in declarator.derived.iter().enumerate().rev() {
            let after_function = at > 0 && matches!(declarator.derived.get(at - 1), Some(ast::Derived::Function(_)));
            let outermost = at == 0;
            // `T *p __attribute__((counted_by(n)))`: after the name, as C's headers have it.
            let count = if outermost { self.counted_attribute(&declarator.attrs, ty, place) } else { None };
            match step {
                ast::Derived::Pointer(quals) => {
                    self.refuse_attributes(&quals.attrs);
                    let count = self.counted_attribute(&quals.attrs, ty, place).or(count);
                    heap = outermost && quals.region.is_some_and(|r| r.name.as_str() == "heap");
                    ty = self.pointer_type(ty, quals, count, outermost, after_function, place);
                }
                ast::Derived::Array(array) => {
                    ty = self.array_type(ty, array, count, outermost, place);
                }
                ast::Derived::Function(list) => {
                    let (function, names, variables) = self.function_type(ty, list, declarator, outermost, place);
                    ty = Qty::plain(function);
                    if outermost {
                        (params, regions) = (names, variables);
                    }
                }
            }
        }
        if place.role == Role::Param {
            ty = self.adjust_param(ty);
        }
        if place.role != Role::Typedef {
            ty.ty = self.settle(ty.ty, place);
        }
        self.end_prototype(begun);
        Declared { ty, heap, params, regions }
    }

    /// `key<@d>`: in a block it introduces the name `@d`.
    fn key_type(&mut self, word: ast::KeyWord, region: ast::Ident, place: Place) -> Ty {
        let kind = match word {
            ast::KeyWord::Arena => KeyKind::Arena,
            ast::KeyWord::Reap => KeyKind::Reap,
            ast::KeyWord::RcArena => KeyKind::RcArena,
            ast::KeyWord::RcReap => KeyKind::RcReap,
            ast::KeyWord::Exchange => KeyKind::Exchange,
        };
        let known = matches!(region.name.as_str(), "heap" | "exchange") || self.scopes.region(region.name).is_some();
        if matches!(region.name.as_str(), "heap" | "exchange") {
            let message = format!("`@{}` has no key: it is always there", region.name);
            self.error(codes::REGION, region.span, message);
        }
        let region = if !known && place.role == Role::Local && self.f.is_some() {
            self.declare_region(region, RegionKind::Dynamic)
        } else {
            self.resolve_region(region)
        };
        self.types().intern(TyKind::Key(kind, region))
    }

    /// The ownership that a word after `*` names.
    pub(crate) fn ownership(&mut self, word: ast::Ident) -> Own {
        match word.name.as_str() {
            "unique" => Own::Unique,
            "rc" => Own::Rc,
            "view" => Own::View,
            "any" => Own::Any,
            _ => match self.scopes.lookup(word.name) {
                Some(Entity::OwnParam(own)) => *own,
                _ => Own::Shared,
            },
        }
    }

    /// The `e` of C's `counted_by(e)`, and of `sized_by(e)` where elements are bytes. Leeward's own
    /// words come first, and the system's headers may count in ways that these types cannot
    /// express.
    fn counted_attribute<'a>(&self, attrs: &'a [ast::Attribute], target: Qty, place: Place) -> Option<&'a ast::Expr> {
        if self.options.plain_c || !matches!(place.role, Role::Param | Role::Field) {
            return None;
        }
        let bytes = match self.kind(target.ty) {
            TyKind::Void => true,
            TyKind::Int(kind) => kind.is_character(),
            _ => false,
        };
        let attr = attrs.iter().find(|a| match a.name.as_str() {
            "counted_by" | "counted_by_or_null" => true,
            "sized_by" | "sized_by_or_null" => bytes,
            _ => false,
        })?;
        let count = attr.args.first()?;
        (!self.map.is_system(count.span.lo) || matches!(count.kind, ast::ExprKind::Ident(_))).then_some(count)
    }

    fn pointer_type(
        &mut self,
        mut target: Qty,
        quals: &ast::PointerQuals,
        attribute: Option<&ast::Expr>,
        outermost: bool,
        result: bool,
        place: Place,
    ) -> Qty {
        let mut foreign = place.foreign;
        let region = quals.region.map_or(Region::Var, |r| self.resolve_region(r));
        let own = match quals.own {
            Some(word) => self.ownership(word),
            // Pointers into the exchange heap are always unique.
            None if region == Region::Exchange => Own::Unique,
            None => Own::Shared,
        };
        let written = place.role != Role::Param && place.role != Role::Local && place.role != Role::TypeName;
        if own == Own::View && region == Region::Var && (written || result || !outermost) && !place.foreign {
            self.error_help(
                codes::REGION,
                quals.span,
                "a `view` in a result, a field or a global has no default region: it names the one that it lives in",
                "write `view @r`, where `@r` is a region of the parameters or of the struct",
            );
        }
        if own == Own::Rc && region == Region::Exchange && !target.quals.is_const {
            self.error_help(
                codes::EXCHANGE,
                quals.span,
                "a counted pointer into the exchange heap leads to a frozen block, which does not change",
                "write `const T *rc @exchange`",
            );
            target.quals.is_const = true;
        }
        let annotated = quals.fat.is_some() || quals.null_terminated.is_some() || quals.counted_by.is_some();
        let attribute = attribute.filter(|_| !annotated);
        let bounds = match (quals.fat, quals.null_terminated, quals.counted_by.as_deref().or(attribute)) {
            (Some(_), Some(_), None) => Bounds::FatTerminated,
            (Some(_), None, None) => Bounds::Fat,
            (None, Some(_), None) => Bounds::Terminated,
            (None, None, Some(e)) => {
                if !(outermost && matches!(place.role, Role::Param | Role::Field)) {
                    self.error_help(
                        codes::COUNT,
                        quals.span,
                        "`counted_by` stands at a parameter or a field, and counts what that pointer points to",
                        "use `fat` here, which carries its bounds",
                    );
                    Bounds::Fat
                } else {
                    self.count_expr(e).map_or(Bounds::Thin, Bounds::Counted)
                }
            }
            (None, None, None) if self.fat_attribute(&quals.attrs) => Bounds::Fat,
            (None, None, None) => self.default_bounds(target, outermost, result, place),
            // Two kinds of bounds: the parser said so.
            _ => Bounds::Fat,
        };
        if place.trusted && annotated {
            foreign = false;
        }
        let is_void = matches!(self.kind(target.ty), TyKind::Void);
        if foreign && bounds.is_fat() && !self.options.plain_c {
            self.error_help(
                codes::DECLARATION,
                quals.span,
                "a pointer that C shares is one word: it cannot be `fat`",
                "give its bounds with `counted_by`",
            );
        }
        let counted = matches!(bounds, Bounds::Counted(_));
        if is_void && !foreign && !place.trusted && (bounds.is_fat() || counted) {
            let (message, help) = match counted {
                true => ("a `void *` has no elements that could be counted", "use `unsigned char *counted_by(n)`"),
                false => ("a `void *` has no elements, so it cannot be `fat`", "use `unsigned char *fat`"),
            };
            self.error_help(codes::DECLARATION, quals.span, message, help);
        }
        if matches!(self.kind(target.ty), TyKind::Func(_)) && annotated {
            self.error(codes::DECLARATION, quals.span, "a function pointer has no bounds");
        }
        if bounds.is_terminated() && !self.has_zero(target.ty) {
            let text = self.show(target.ty);
            self.error(
                codes::TERMINATOR,
                quals.span,
                format!("`null_terminated` needs elements that can be zero, not `{text}`"),
            );
        }
        let raw = is_void && (foreign || place.trusted);
        let nonnull = quals.nonnull.is_some();
        let pointer = Pointer { target, bounds, nonnull, own, region, raw };
        let ty = self.types().pointer(pointer);
        Qty {
            ty,
            quals: Quals {
                is_const: quals.quals.is_const,
                is_volatile: quals.quals.is_volatile,
                is_atomic: quals.quals.is_atomic,
            },
        }
    }

    /// Whether a type has a zero that can end a sequence.
    fn has_zero(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) => !p.nonnull && self.program.types.words(ty) == 1,
            TyKind::Int(_) | TyKind::Bool | TyKind::Enum(_) | TyKind::Error => true,
            _ => false,
        }
    }

    /// The default bounds of an unannotated pointer.
    fn default_bounds(&self, target: Qty, outermost: bool, result: bool, place: Place) -> Bounds {
        let is_char = matches!(self.kind(target.ty), TyKind::Int(IntKind::Char));
        if !is_char || place.foreign {
            return Bounds::Thin;
        }
        let inferred = outermost && matches!(place.role, Role::Local | Role::TypeName);
        if target.quals.is_const && !inferred {
            return Bounds::Terminated;
        }
        if result || (outermost && place.role == Role::Global) {
            return Bounds::Terminated;
        }
        Bounds::Thin
    }

    fn array_type(
        &mut self,
        elem: Qty,
        array: &ast::ArrayDerived,
        attribute: Option<&ast::Expr>,
        outermost: bool,
        place: Place,
    ) -> Qty {
        let open =
            self.options.plain_c && place.role == Role::Param && matches!(self.kind(elem.ty), TyKind::Array { .. });
        if !open && !self.program.types.is_complete(elem.ty) && !self.is_error(elem.ty) {
            let text = self.show(elem.ty);
            self.error(
                codes::INCOMPLETE,
                array.span,
                format!("an array cannot have elements of the incomplete type `{text}`"),
            );
            return Qty::plain(self.program.types.common.error);
        }
        if outermost && place.role == Role::Param {
            return self.array_param(elem, array, attribute, place);
        }
        let flexible = outermost && place.role == Role::Field && matches!(array.size, ast::ArraySize::Unknown);
        if let Some(count) = array.counted_by.as_deref().filter(|_| !flexible && !place.foreign) {
            self.array_is_not_counted(array, count.span);
        }
        if !place.foreign && self.has_counted_tail(elem.ty) {
            self.error_help(
                codes::COUNT,
                array.span,
                "a struct with a counted flexible array is not an element of an array",
                "keep pointers to them",
            );
        }
        let terminated = array.null_terminated.is_some();
        if terminated && !self.has_zero(elem.ty) {
            let text = self.show(elem.ty);
            self.error(
                codes::TERMINATOR,
                array.span,
                format!("`null_terminated` needs elements that can be zero, not `{text}`"),
            );
        }
        let len = match &array.size {
            ast::ArraySize::Unknown if outermost && place.role == Role::Field => {
                let count = array.counted_by.as_deref().or(attribute).and_then(|e| self.count_expr(e));
                ArrayLen::Flexible(count)
            }
            ast::ArraySize::Unknown => ArrayLen::Unknown,
            ast::ArraySize::Star => ArrayLen::Unknown,
            ast::ArraySize::Expr(e) => self.array_length(e, place),
        };
        let elem_layout = self.program.types.layout(elem.ty);
        if let (ArrayLen::Const(n), Some(layout)) = (len, elem_layout) {
            if layout.size.checked_mul(n).is_none_or(|total| total > i64::MAX as u64) {
                self.error(codes::DECLARATION, array.span, "this array is larger than memory can be");
                return Qty::plain(self.program.types.common.error);
            }
        }
        let ty = self.types().intern(TyKind::Array { elem, len, terminated });
        Qty::plain(ty)
    }

    /// Whether objects of the type end in a flexible array that is counted by a field: they live in
    /// heap blocks of their own.
    pub(crate) fn has_counted_tail(&self, ty: Ty) -> bool {
        let record = self.program.types.as_record(ty);
        matches!(record.and_then(|r| self.program.types.flexible_member(r)), Some((_, _, Some(_))))
    }

    /// Reports a variable whose type ends in a counted flexible array.
    pub(crate) fn reject_counted_tail(&mut self, ty: Ty, span: Span) -> bool {
        let reject = self.checked() && self.has_counted_tail(ty);
        if reject {
            self.error_help(
                codes::COUNT,
                span,
                "a struct with a counted flexible array lives in the heap",
                "allocate it: `new struct s[.n = count]`",
            );
        }
        reject
    }

    fn array_length(&mut self, e: &ast::Expr, place: Place) -> ArrayLen {
        match self.try_constant_int(e) {
            Some(n) if n < 0 => {
                self.error(codes::DECLARATION, e.span, format!("an array cannot have {n} elements"));
                ArrayLen::Const(1)
            }
            Some(0) if !place.foreign => {
                self.error_help(
                    codes::DECLARATION,
                    e.span,
                    "an array has at least one element",
                    "a flexible array is written `T m[] counted_by(n);`",
                );
                ArrayLen::Const(1)
            }
            Some(n) => ArrayLen::Const(n as u64),
            None => {
                if self.f.is_some() && !place.foreign {
                    self.error_help(
                        codes::CONSTANT,
                        e.span,
                        "the length of an array is a constant in Leeward",
                        "allocate it: `T *a = malloc(n * sizeof(T));` or `new T[n]`",
                    );
                } else if place.foreign && self.options.plain_c && place.role == Role::Param && self.f.is_none() {
                    // The function's own declarations look again, with the parameters in scope.
                    return ArrayLen::Unknown;
                } else if place.foreign && self.f.is_some() && place.role != Role::Field {
                    return self.variable_length(e);
                } else {
                    self.error(codes::CONSTANT, e.span, "the length of an array is a constant expression");
                }
                ArrayLen::Const(1)
            }
        }
    }

    /// A length that is computed where the declaration stands: it goes into a local of its own,
    /// which the statement made from the declaration sets first.
    fn variable_length(&mut self, e: &ast::Expr) -> ArrayLen {
        let value = self.value(e);
        if self.is_error(value.ty.ty) {
            return ArrayLen::Unknown;
        }
        let size_t = self.program.types.common.ulong;
        let value = self.coerce(value, size_t, crate::convert::Why::Store);
        let local = self.new_local(None, Qty::plain(size_t), e.span, false);
        if let Some(f) = &mut self.f {
            f.lengths.push((local, value));
        }
        ArrayLen::Variable(local.0)
    }

    /// The lengths that were met since `mark`, as declarations of their locals.
    pub(crate) fn take_lengths(&mut self, mark: usize) -> Vec<crate::tree::Stmt> {
        let Some(f) = &mut self.f else { return vec![] };
        let found = f.lengths.split_off(mark.min(f.lengths.len()));
        let declare = |c: &mut Self, (local, value): (crate::tree::LocalId, crate::tree::Expr)| {
            let span = value.span;
            c.stmt_node(crate::tree::StmtKind::Declare(local, Some(crate::tree::Init::Expr(value))), span)
        };
        found.into_iter().map(|length| declare(self, length)).collect()
    }

    /// How many lengths wait.
    pub(crate) fn lengths(&self) -> usize {
        self.f.as_ref().map_or(0, |f| f.lengths.len())
    }

    /// Reports a `counted_by` at an array that has all its elements.
    fn array_is_not_counted(&mut self, array: &ast::ArrayDerived, at: Span) {
        let help = match array.size {
            ast::ArraySize::Expr(_) => "leave one of the two out: the elements are there, however many are used",
            _ => "leave it out: the array has as many elements as it is given",
        };
        let message = "`counted_by` counts what a pointer leads to, or a flexible array, the last field of a struct: this array has a length";
        self.error_help(codes::COUNT, at, message, help);
    }

    fn array_param(
        &mut self,
        elem: Qty,
        array: &ast::ArrayDerived,
        attribute: Option<&ast::Expr>,
        place: Place,
    ) -> Qty {
        let written = array.counted_by.as_deref();
        let bounds = if array.null_terminated.is_some() {
            Bounds::Terminated
        } else if place.foreign {
            Bounds::Thin
        } else {
            match (&array.size, written.or(attribute)) {
                (ast::ArraySize::Expr(e), _) => {
                    if let Some(count) = written {
                        self.array_is_not_counted(array, count.span);
                    }
                    self.count_expr(e).map_or(Bounds::Fat, Bounds::Counted)
                }
                // As of a pointer, which it is.
                (_, Some(e)) => self.count_expr(e).map_or(Bounds::Fat, Bounds::Counted),
                (_, None) => Bounds::Fat,
            }
        };
        let pointer =
            Pointer { target: elem, bounds, nonnull: false, own: Own::Shared, region: Region::Var, raw: false };
        let ty = self.types().pointer(pointer);
        Qty { ty, quals: Quals { is_const: array.quals.is_const, ..Quals::default() } }
    }

    /// Parameters of function type become pointers (arrays were converted already); qualifiers stay
    /// for the local.
    fn adjust_param(&mut self, ty: Qty) -> Qty {
        match *self.kind(ty.ty) {
            TyKind::Func(_) => Qty::plain(self.types().pointer_to(Qty::plain(ty.ty), Bounds::Thin)),
            TyKind::Array { elem, len, terminated } => {
                let bounds = match len {
                    _ if terminated => Bounds::Terminated,
                    ArrayLen::Const(n) => {
                        let id = self.types().count(CountExpr::Const(n as i64));
                        Bounds::Counted(id)
                    }
                    _ if self.options.plain_c => Bounds::Thin,
                    _ => Bounds::Fat,
                };
                let ty = self.types().pointer_to(elem, bounds);
                match self.program.types.as_pointer(ty) {
                    Some(p) => Qty::plain(self.types().pointer(Pointer { region: Region::Var, ..p })),
                    None => Qty::plain(ty),
                }
            }
            _ => Qty { ty: self.program.types.aligned(ty.ty), ..ty },
        }
    }

    fn function_type(
        &mut self,
        ret: Qty,
        list: &ast::ParamList,
        declarator: &ast::Declarator,
        outermost: bool,
        place: Place,
    ) -> (Ty, Vec<Option<ast::Ident>>, Vec<VariableName>) {
        if matches!(self.kind(ret.ty), TyKind::Func(_) | TyKind::Array { .. }) {
            self.error(
                codes::DECLARATION,
                list.span,
                "a function cannot return a function or an array: return a pointer",
            );
        }
        if let Some(Pointer { bounds: Bounds::Counted(_), .. }) = self.program.types.as_pointer(ret.ty) {
            self.error_help(
                codes::COUNT,
                list.span,
                "a result cannot be `counted_by`",
                "use `fat`, which carries its bounds",
            );
        }
        let names: Vec<Option<ast::Ident>> = list.params.iter().map(|p| p.declarator.name).collect();
        let outer = self.siblings.replace(Siblings::Params(names.iter().map(|n| n.map(|n| n.name)).collect()));
        self.open_prototype();
        let mut ret = Qty { ty: self.settle(ret.ty, Place { role: Role::Global, ..place }), ..ret };
        ret.ty = self.program.types.aligned(ret.ty);
        if self.missing_state(ret.ty, list.span) {
            ret.ty = self.program.types.common.error;
        }
        let mut params = vec![];
        for param in &list.params {
            let place = Place { role: Role::Param, ..place };
            self.refuse_attributes(&param.specs.attrs);
            self.refuse_attributes(&param.declarator.attrs);
            let ty = match param.specs.ty {
                ast::TypeSpec::Handle(reap, span) if param.declarator.derived.is_empty() => {
                    self.handle_param(reap, param.declarator.name, span)
                }
                _ => {
                    let base = self.base_type(&param.specs, place);
                    self.declare_type(base, &param.declarator, place).ty.ty
                }
            };
            if let Some(span) = param.consume.filter(|_| !self.program.types.owns(ty) && !self.is_error(ty)) {
                let text = self.show(ty);
                self.error_help(
                    codes::OWNERSHIP,
                    span,
                    format!(
                        "`consume` belongs to parameters that take something owned, and {} is not",
                        with_article(&text)
                    ),
                    "leave `consume` out, or make the pointer `unique`",
                );
            }
            if matches!(self.kind(ty), TyKind::Void) {
                self.error(codes::DECLARATION, param.span, "a parameter cannot be `void`");
            }
            let attr = |name: &str| {
                let mut attrs = param.specs.attrs.iter().chain(&param.declarator.attrs);
                attrs.find(|a| a.namespace == Some(Symbol::new("lee")) && a.name.as_str() == name)
            };
            // Only C keeps such a promise: in Leeward the parameter is a string, whose zero ends
            // it.
            let at_most = attr("at_most").filter(|_| place.trusted).and_then(|a| parameter(&names, a.args.first()));
            let optional = attr("optional").is_some();
            let becomes = self.becoming(param, ty);
            let ty = if self.missing_state(ty, param.span) { self.program.types.common.error } else { ty };
            params.push(ParamTy { ty, consume: param.consume.is_some(), optional, at_most, becomes });
        }
        let counts: Vec<bool> =
            params.iter().map(|p| self.program.types.as_int(p.ty).is_some() || self.is_error(p.ty)).collect();
        for param in &mut params {
            param.at_most = param.at_most.filter(|&n| counts.get(n as usize) == Some(&true));
        }
        for (param, written) in params.iter_mut().zip(&list.params) {
            let Some(pointer @ Pointer { bounds: Bounds::Counted(id), .. }) = self.program.types.as_pointer(param.ty)
            else {
                continue;
            };
            if self.count_params(id).iter().any(|&n| counts.get(n as usize) != Some(&true)) {
                self.error(codes::COUNT, written.span, "a count is an integer parameter");
                param.ty = self.types().pointer(Pointer { bounds: Bounds::Fat, ..pointer });
            }
        }
        self.siblings = outer;
        let attrs = if outermost { declarator.attrs.clone() } else { vec![] };
        let abi = if place.foreign || place.trusted { Abi::C } else { Abi::Leeward };
        let mut f = FuncTy {
            variadic: list.variadic,
            unprototyped: list.old_style && place.foreign,
            ..FuncTy::new(ret.ty, params, abi)
        };
        self.function_attributes(&mut f, &attrs, &names, place.trusted);
        if f.abi == Abi::Leeward && f.format.is_none() {
            f.format = self.implied_format(&f);
        }
        let variables = self.close_prototype(&mut f);
        (self.types().intern(TyKind::Func(Rc::new(f))), names, variables)
    }

    /// `arena r`, `reap r` as a parameter: a handle, and the name of a region variable.
    fn handle_param(&mut self, reap: bool, name: Option<ast::Ident>, span: Span) -> Ty {
        let name = name.unwrap_or(ast::Ident { name: Symbol::new("arena"), span });
        let region = match self.scopes.region(name.name) {
            Some((_, there)) => {
                let message = format!("the region name `@{}` hides one that is in scope", name.name);
                let report = Diagnostic::error(codes::REGION, name.span, message).label(there, "declared here");
                self.report(report.help("choose another name"));
                None
            }
            None => self.named_variable(name.name, name.span),
        };
        self.types().intern(TyKind::Handle(reap, region.unwrap_or(Region::Heap)))
    }

    /// Reads the attributes that belong to a function's type.
    pub(crate) fn function_attributes(
        &mut self,
        f: &mut FuncTy,
        attrs: &[ast::Attribute],
        names: &[Option<ast::Ident>],
        trusted: bool,
    ) {
        // What foreign functions promise helps nobody: they are called in unsafe code.
        let believed = trusted || f.abi == Abi::Leeward;
        let position = |e: Option<&ast::Expr>| parameter(names, e);
        for attr in attrs {
            let lee = attr.namespace == Some(Symbol::new("lee"));
            match attr.name.as_str() {
                "noreturn" | "_Noreturn" => f.noreturn = true,
                "nonnull" if believed => self.nonnull_attribute(f, attr),
                "returns_nonnull" if believed => {
                    if let Some(p) = self.program.types.as_pointer(f.ret) {
                        f.ret = self.program.types.pointer(Pointer { nonnull: true, ..p });
                    }
                }
                "access" if believed => self.access_attribute(f, attr),
                "into" if lee => f.into = position(attr.args.first()),
                "end_into" if lee => f.end_into = position(attr.args.first()).zip(position(attr.args.get(1))),
                "copies" if lee => f.copies = position(attr.args.first()).zip(position(attr.args.get(1))),
                "terminates" if lee => f.terminates = position(attr.args.first()),
                "cuts" if lee => f.cuts = position(attr.args.first()),
                "leaf" if lee => f.leaf = true,
                "waits" if lee => f.waits = true,
                "fills" if lee => f.fills = position(attr.args.first()).zip(Some(position(attr.args.get(1)))),
                "advances" if lee => {
                    let (pointer, string) = (position(attr.args.first()), position(attr.args.get(1)));
                    self.advancing(f, pointer, string);
                }
                "format" => f.format = self.format_attribute(attr),
                _ => {}
            }
        }
    }

    /// `[[lee::advances(p, s)]]`: `*p` walks through a string that the caller keeps (`strtok_r`,
    /// `strsep`): it must be, and stay, terminated, in the region that `*p` points into.
    fn advancing(&mut self, f: &mut FuncTy, pointer: Option<u32>, string: Option<u32>) {
        let mut region = Region::Heap;
        if let Some(param) = pointer.and_then(|n| f.params.get_mut(n as usize)) {
            if let Some(p) = self.program.types.as_pointer(param.ty) {
                if let Some(inner) = self.program.types.as_pointer(p.target.ty) {
                    region = inner.region;
                    let inner = self.program.types.pointer(Pointer { bounds: Bounds::Terminated, ..inner });
                    param.ty = self.program.types.pointer(Pointer { target: Qty { ty: inner, ..p.target }, ..p });
                }
            }
        }
        if let Some(param) = string.and_then(|n| f.params.get_mut(n as usize)) {
            if let Some(p) = self.program.types.as_pointer(param.ty) {
                param.ty = self.program.types.pointer(Pointer { region, ..p });
            }
        }
        f.keeps_string = string;
    }

    /// `__attribute__((access(read_only, 1, 2)))`: the first parameter points to as many elements
    /// as the second says.
    fn access_attribute(&mut self, f: &mut FuncTy, attr: &ast::Attribute) {
        let mut number = |e: Option<&ast::Expr>| u32::try_from(self.try_constant_int(e?)? - 1).ok();
        let (Some(pointer), Some(count)) = (number(attr.args.get(1)), number(attr.args.get(2))) else { return };
        let counts = f.params.get(count as usize).is_some_and(|p| self.program.types.as_int(p.ty).is_some());
        let Some(param) = f.params.get_mut(pointer as usize).filter(|_| counts) else { return };
        let Some(p) = self.program.types.as_pointer(param.ty) else { return };
        // A buffer with a length is not a string, though `const char *` by itself is one. Leeward's
        // own words come first.
        let defaulted = match p.bounds {
            Bounds::Thin => !self.program.types.is_typed_void(&p),
            Bounds::Terminated => p.target.quals.is_const,
            _ => false,
        };
        if defaulted {
            let count = self.program.types.count(CountExpr::Param(count));
            param.ty = self.program.types.pointer(Pointer { bounds: Bounds::Counted(count), ..p });
        }
    }

    /// `__attribute__((nonnull(1, 3)))`, or of all pointers.
    fn nonnull_attribute(&mut self, f: &mut FuncTy, attr: &ast::Attribute) {
        let numbers: Vec<i128> = attr.args.iter().filter_map(|e| self.try_constant_int(e)).collect();
        for (n, param) in f.params.iter_mut().enumerate() {
            let named = attr.args.is_empty() || numbers.contains(&(n as i128 + 1));
            if let Some(p) = self.program.types.as_pointer(param.ty).filter(|_| named) {
                param.ty = self.program.types.pointer(Pointer { nonnull: true, ..p });
            }
        }
    }

    fn format_attribute(&mut self, attr: &ast::Attribute) -> Option<FormatTy> {
        let ast::ExprKind::Ident(kind) = attr.args.first()?.kind else { return None };
        let scanf = match kind.as_str().trim_matches('_') {
            "printf" | "gnu_printf" => false,
            "scanf" | "gnu_scanf" => true,
            _ => return None,
        };
        let format = self.try_constant_int(attr.args.get(1)?)?;
        let first = self.try_constant_int(attr.args.get(2)?)?;
        let format = u32::try_from(format - 1).ok()?;
        Some(FormatTy { scanf, format, first: if first > 0 { u32::try_from(first - 1).ok() } else { None } })
    }

    /// The `e` of `counted_by(e)`.
    pub(crate) fn count_expr(&mut self, e: &ast::Expr) -> Option<CountId> {
        let expr = self.count_tree(e);
        if expr.is_none() {
            self.error_help(
                codes::COUNT,
                e.span,
                "a count is made of sibling parameters or fields, constants, `+`, `-`, `*` and `/` by a constant",
                "name the parameter or field that holds the count",
            );
        }
        expr
    }

    fn count_tree(&mut self, e: &ast::Expr) -> Option<CountId> {
        if let ast::ExprKind::Ident(name) = e.kind {
            let found = match &self.siblings {
                Some(Siblings::Params(names)) => {
                    names.iter().position(|n| *n == Some(name)).map(|p| CountExpr::Param(p as u32))
                }
                Some(Siblings::Fields(names)) => {
                    names.iter().position(|n| *n == Some(name)).map(|p| CountExpr::Field(p as u32))
                }
                None => None,
            };
            if let Some(found) = found {
                return Some(self.types().count(found));
            }
        }
        match &e.kind {
            ast::ExprKind::Binary(op, a, b) => {
                if let Some(n) = self.try_constant_int(e) {
                    return Some(self.types().count(CountExpr::Const(i64::try_from(n).ok()?)));
                }
                let a = self.count_tree(a)?;
                if *op == ast::BinaryOp::Div {
                    let n = i64::try_from(self.try_constant_int(b)?).ok().filter(|&n| n > 0)?;
                    return Some(self.types().count(CountExpr::Div(a, n)));
                }
                let b = self.count_tree(b)?;
                let expr = match op {
                    ast::BinaryOp::Add => CountExpr::Add(a, b),
                    ast::BinaryOp::Sub => CountExpr::Sub(a, b),
                    ast::BinaryOp::Mul => CountExpr::Mul(a, b),
                    _ => return None,
                };
                Some(self.types().count(expr))
            }
            ast::ExprKind::Cast(_, inner) => self.count_tree(inner),
            _ => {
                let n = i64::try_from(self.try_constant_int(e)?).ok()?;
                Some(self.types().count(CountExpr::Const(n)))
            }
        }
    }

    /// Whether a tag is known as a generic record.
    pub(crate) fn generic_tag(&self, name: Symbol) -> Option<u32> {
        match self.scopes.tag(name) {
            Some(Tag::Generic(g)) => Some(g),
            _ => None,
        }
    }

    /// The alignment that a declaration of an object asks for, before its name or after it.
    pub(crate) fn declared_alignment(&mut self, specs: &ast::DeclSpecs, declarator: &ast::Declarator) -> Option<u64> {
        let front = self.alignment(&specs.alignas, &specs.attrs);
        front.max(self.alignment(&[], &declarator.attrs)).max(self.typedef_alignment(specs, declarator))
    }

    /// An alignment from `alignas` specifiers and attributes, if any.
    pub(crate) fn alignment(&mut self, alignas: &[ast::AlignAs], attrs: &[ast::Attribute]) -> Option<u64> {
        let mut best = None;
        for a in alignas {
            let value = match a {
                ast::AlignAs::Type(t) => {
                    let ty = self.type_name(t);
                    let attrs: Vec<_> = t.specs.attrs.iter().chain(&t.declarator.attrs).cloned().collect();
                    let named = self.typedef_alignment(&t.specs, &t.declarator);
                    self.program.types.layout(ty.ty).map(|l| l.align).max(self.alignment(&[], &attrs)).max(named)
                }
                ast::AlignAs::Expr(e) => self.constant_int(e).and_then(|n| self.check_alignment(n, e.span)),
            };
            best = best.max(value);
        }
        for attr in attrs.iter().filter(|a| a.name.as_str() == "aligned") {
            let value = match attr.args.first() {
                Some(e) => self.constant_int(e).and_then(|n| self.check_alignment(n, e.span)),
                None => Some(16),
            };
            best = best.max(value);
        }
        best.filter(|&a| a > 0)
    }

    fn check_alignment(&mut self, n: i128, span: Span) -> Option<u64> {
        match u64::try_from(n) {
            Ok(n) if n == 0 || (n.is_power_of_two() && n <= 1 << 28) => Some(n),
            _ => {
                self.error(codes::DECLARATION, span, "an alignment is a power of two");
                None
            }
        }
    }
}

/// The number of the parameter that an argument of an attribute names.
fn parameter(names: &[Option<ast::Ident>], e: Option<&ast::Expr>) -> Option<u32> {
    let ast::ExprKind::Ident(name) = e?.kind else { return None };
    names.iter().position(|n| n.is_some_and(|n| n.name == name)).map(|p| p as u32)
}
