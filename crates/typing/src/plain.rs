//! Declarations of plain C: what several declarations of one function or variable say together.

use crate::attributes::NOT_EXPRESSED;
use crate::checker::Checker;
use crate::codes;
use crate::decls::{attribute_texts, inline_rule};
use crate::scope::Entity;
use crate::specs::Declared;
use crate::tree::*;
use crate::types::*;
use source::{Diagnostic, Span, Symbol};
use std::rc::Rc;
use syntax::ast;

/// Functions that C compilers know, and know to return something other than `int`. Called without a
/// declaration they have the type that the compiler knows.
pub(crate) const RETURNS_NO_INT: &str = "aligned_alloc alloca calloc malloc realloc memalign strdup strndup stpcpy stpncpy \
strcat strchr strcpy strcspn strlen strncat strncpy strnlen strpbrk strrchr strspn strstr strtok memchr memcpy memmove \
mempcpy memset index rindex bcopy bzero exit abort _exit _Exit free fwrite strftime strxfrm labs llabs imaxabs fabs fabsf \
fabsl acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2 expm1 fdim floor fma \
fmax fmin fmod frexp gamma hypot j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan \
nearbyint nextafter nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn significand sin sincos sinh sqrt \
tan tanh tgamma trunc y0 y1 yn cabs carg conj creal cimag dcgettext dgettext gettext getcontext longjmp siglongjmp wcschr";

impl Checker<'_> {
    /// The type that a typedef's attributes make of its own, `None` if it cannot be expressed: uses
    /// of the name are reported then.
    pub(crate) fn typedef_attributes(&mut self, ty: Qty, decl: &ast::Decl, d: &ast::InitDeclarator) -> Option<Qty> {
        let mut ty = ty;
        // What the system's headers say of types that C itself has no words for is theirs.
        let system = d.declarator.name.is_some_and(|name| self.map.is_system(name.span.lo));
        if !self.options.plain_c && !system {
            let attrs: Vec<ast::Attribute> = decl.specs.attrs.iter().chain(&d.declarator.attrs).cloned().collect();
            let lost: Vec<_> = attrs.into_iter().filter(|a| a.name.as_str() != "mode").collect();
            self.refuse_attributes(&lost);
        }
        if let Some(name) = d.declarator.name.filter(|n| self.is_error(ty.ty) && self.in_intrinsics(n.span.lo)) {
            self.unknown_intrinsics.insert(name.name);
            return Some(ty);
        }
        let attrs: Vec<ast::Attribute> = decl.specs.attrs.iter().chain(&d.declarator.attrs).cloned().collect();
        let is_vector = |a: &&ast::Attribute| a.name.as_str() == "vector_size";
        if let Some(attr) = attrs.iter().find(is_vector).filter(|_| self.options.plain_c || system) {
            let other = |a: &ast::Attribute| NOT_EXPRESSED.contains(&a.name.as_str()) && !is_vector(&a);
            if attrs.iter().any(other) || attrs.iter().filter(is_vector).count() > 1 {
                return None;
            }
            let align = self.alignment(&decl.specs.alignas, &attrs);
            return self.vector_typedef(ty, attr, align);
        }
        for attr in decl.specs.attrs.iter().chain(&d.declarator.attrs) {
            if self.options.plain_c && NOT_EXPRESSED.contains(&attr.name.as_str()) {
                return None;
            }
            if attr.name.as_str() == "mode" {
                match self.with_mode(ty.ty, attr) {
                    Some(with) => ty.ty = with,
                    None if self.options.plain_c => return None,
                    None if system => {}
                    None => self.error(codes::DECLARATION, attr.span, "this `mode` is not one of the type's kind"),
                }
            }
        }
        // A record that is defined here takes the alignment; of other types that name each object
        // has it.
        let defines = matches!(&decl.specs.ty, ast::TypeSpec::Record(r) if r.fields.is_some());
        let attrs: Vec<ast::Attribute> = decl.specs.attrs.iter().chain(&d.declarator.attrs).cloned().collect();
        let align = self.alignment(&decl.specs.alignas, &attrs);
        if defines {
            return Some(ty);
        }
        // An alignment that the name of another type gave is replaced.
        let align = match align {
            Some(_) => {
                ty.ty = self.program.types.aligned(ty.ty);
                align
            }
            None => self.typedef_alignment(&decl.specs, &d.declarator),
        };
        let natural = self.program.types.layout(ty.ty).map(|l| l.align);
        if align.is_none() || align == natural {
            return Some(ty);
        }
        // Less than its own follows the type through pointers. Records are passed by theirs.
        let name = d.declarator.name?;
        let scalar = !matches!(self.kind(ty.ty), TyKind::Record(_) | TyKind::Func(_) | TyKind::Void);
        let single = !matches!(self.kind(ty.ty), TyKind::Array { .. } | TyKind::VaList) && !ty.quals.is_atomic;
        if let (true, Some(align)) = (self.options.plain_c && scalar && single && align < natural, align) {
            return Some(Qty { ty: self.underaligned(ty.ty, align), ..ty });
        }
        if align < natural || !scalar {
            if self.options.plain_c {
                return None;
            }
            if !system {
                let message = "a typedef cannot change the alignment of this type";
                self.error_help(
                    codes::DECLARATION,
                    name.span,
                    message,
                    "give the alignment to the struct or to the variables",
                );
            }
            return Some(ty);
        }
        self.typedef_align.extend(align.map(|align| (name.span, align)));
        Some(ty)
    }

    /// The alignment that the name of a type gives to what is declared with it: the object itself,
    /// or an array of such objects.
    pub(crate) fn typedef_alignment(&self, specs: &ast::DeclSpecs, declarator: &ast::Declarator) -> Option<u64> {
        let ast::TypeSpec::Named(name, _) = &specs.ty else { return None };
        if self.typedef_align.is_empty() || !declarator.derived.iter().all(|d| matches!(d, ast::Derived::Array(..))) {
            return None;
        }
        self.typedef_align.get(&self.scopes.place_of(name.name)?).copied()
    }

    /// `__attribute__((mode(DI)))`: the type of that size and the same kind.
    fn with_mode(&mut self, ty: Ty, attr: &ast::Attribute) -> Option<Ty> {
        let ast::ExprKind::Ident(mode) = attr.args.first()?.kind else { return None };
        let mode = mode.as_str().trim_matches('_');
        if let TyKind::Float(_) = self.kind(ty) {
            let kind = match mode {
                "SF" => FloatKind::Float,
                "DF" => FloatKind::Double,
                "XF" => FloatKind::LongDouble,
                "TF" => FloatKind::Float128,
                _ => return None,
            };
            return Some(self.types().intern(TyKind::Float(kind)));
        }
        let TyKind::Int(old) = *self.kind(ty) else { return None };
        let kind = match (mode, old.signed()) {
            ("QI" | "byte", true) => IntKind::SChar,
            ("QI" | "byte", false) => IntKind::UChar,
            ("HI", true) => IntKind::Short,
            ("HI", false) => IntKind::UShort,
            ("SI", true) => IntKind::Int,
            ("SI", false) => IntKind::UInt,
            ("DI" | "word" | "pointer", true) => IntKind::Long,
            ("DI" | "word" | "pointer", false) => IntKind::ULong,
            ("TI", true) => IntKind::Int128,
            ("TI", false) => IntKind::UInt128,
            _ => return None,
        };
        Some(self.types().int(kind))
    }

    /// Declares a function and gives its number.
    pub(crate) fn declare_c_function(
        &mut self,
        name: ast::Ident,
        declared: &Declared,
        specs: &ast::DeclSpecs,
        declarator: &ast::Declarator,
        defined: bool,
    ) -> FuncId {
        let old = match self.scopes.lookup_file(name.name) {
            Some((Entity::Func(old), _)) => Some(*old),
            Some((Entity::Poison, _)) | None => None,
            Some((_, span)) => {
                let span = *span;
                self.conflict(name, span);
                None
            }
        };
        let is_static = specs.storage == Some(ast::Storage::Static);
        let at_file = self.f.is_none();
        let id = match old {
            Some(id) => id,
            None => {
                let id = FuncId(self.program.functions.len() as u32);
                self.program.functions.push(Function {
                    name: name.name,
                    symbol: None,
                    ty: declared.ty.ty,
                    type_params: 0,
                    linkage: if is_static { Linkage::Internal } else { Linkage::External },
                    trust: Trust::Foreign,
                    attrs: vec![],
                    param_names: vec![],
                    body: None,
                    is_process: false,
                    used: false,
                    inline: Inlining::default(),
                    old_style: false,
                    allows: Default::default(),
                    reentrant: false,
                    span: name.span,
                });
                id
            }
        };
        self.scopes.declare_file(name.name, Entity::Func(id), name.span);
        let known = self.program.functions[id.0 as usize].ty;
        let ty = self.composite_function(known, declared.ty.ty, name, old.is_some(), defined);
        let texts = attribute_texts(&specs.attrs, &declarator.attrs, true);
        let gnu = inline_rule(&specs.attrs, &declarator.attrs) || self.options.gnu89_inline;
        let is_extern = specs.storage == Some(ast::Storage::Extern);
        let function = &mut self.program.functions[id.0 as usize];
        function.ty = ty;
        if let Some(label) = &declarator.asm_label {
            function.symbol.get_or_insert(Symbol::new(&String::from_utf8_lossy(label)));
        }
        // A real definition may follow one that is for inlining only (gnu89); its own attributes
        // count then.
        for text in texts {
            if !function.attrs.contains(&text) {
                function.attrs.push(text);
            }
        }
        if is_static {
            function.linkage = Linkage::Internal;
        }
        function.inline.declare(specs.inline, is_extern, gnu, defined, at_file);
        if defined || function.body.is_none() {
            function.param_names = declared.params.iter().map(|n| n.map(|n| n.name)).collect();
            function.span = name.span;
        }
        id
    }

    fn conflict(&mut self, name: ast::Ident, span: Span) {
        let message = format!("`{}` is already declared as something else", name.name);
        self.report(Diagnostic::error(codes::CONFLICT, name.span, message).label(span, "declared here"));
    }

    /// The type that two declarations of a function give together.
    fn composite_function(&mut self, old: Ty, new: Ty, name: ast::Ident, twice: bool, defined: bool) -> Ty {
        let (Some(a), Some(b)) = (self.program.types.as_func(old), self.program.types.as_func(new)) else { return new };
        if !twice || old == new {
            return new;
        }
        let mut f = match (a.unprototyped, b.unprototyped) {
            (true, _) => (*b).clone(),
            (false, true) => (*a).clone(),
            (false, false) => {
                let differs = a.params.len() != b.params.len() || a.variadic != b.variadic;
                if differs && !self.is_error(old) {
                    let (a, b) = (self.show(old), self.show(new));
                    let message = format!("`{}` is declared as `{b}` here and as `{a}` before", name.name);
                    self.report(Diagnostic::error(codes::CONFLICT, name.span, message));
                }
                if defined {
                    (*b).clone()
                } else {
                    let mut f = (*a).clone();
                    for (mine, other) in f.params.iter_mut().zip(&b.params) {
                        mine.ty = self.composite(mine.ty, other.ty);
                    }
                    f
                }
            }
        };
        f.noreturn = a.noreturn || b.noreturn;
        f.format = a.format.or(b.format);
        self.types().intern(TyKind::Func(Rc::new(f)))
    }

    /// The composite of two compatible types, as far as they differ in what one leaves open.
    pub(crate) fn composite(&mut self, a: Ty, b: Ty) -> Ty {
        if a == b {
            return a;
        }
        if self.differ_in_alignment(a, b) {
            return self.less_aligned(a, b);
        }
        match (self.kind(a).clone(), self.kind(b).clone()) {
            (TyKind::Array { len: ArrayLen::Unknown, .. }, TyKind::Array { .. }) => b,
            (TyKind::Array { elem: x, len, terminated }, TyKind::Array { elem: y, len: other, .. }) => {
                let elem = Qty { ty: self.composite(x.ty, y.ty), ..x };
                let len = if matches!(len, ArrayLen::Const(_)) { len } else { other };
                self.types().intern(TyKind::Array { elem, len, terminated })
            }
            (TyKind::Ptr(p), TyKind::Ptr(q)) => {
                let target = Qty { ty: self.composite(p.target.ty, q.target.ty), ..p.target };
                self.types().pointer(Pointer { target, ..p })
            }
            (TyKind::Func(f), TyKind::Func(_)) if f.unprototyped => b,
            _ => a,
        }
    }

    /// Another declaration of a variable adds what it knows.
    pub(crate) fn merge_c_global(
        &mut self,
        old: GlobalId,
        ty: Qty,
        linkage: Linkage,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
    ) {
        let known = self.program.globals[old.0 as usize].ty;
        let whole = Qty { ty: self.composite(known.ty, ty.ty), quals: known.quals };
        let align = self.declared_alignment(&decl.specs, &d.declarator);
        let texts = attribute_texts(&decl.specs.attrs, &d.declarator.attrs, true);
        let global = &mut self.program.globals[old.0 as usize];
        global.ty = whole;
        global.align = global.align.max(align);
        global.thread_local |= decl.specs.thread_local;
        if linkage == Linkage::Internal {
            global.linkage = linkage;
        }
        if let Some(label) = &d.declarator.asm_label {
            global.symbol.get_or_insert(Symbol::new(&String::from_utf8_lossy(label)));
        }
        for text in texts {
            if !global.attrs.contains(&text) {
                global.attrs.push(text);
            }
        }
    }

    /// The function that an identifier without declaration names in C90: `int name()`.
    pub(crate) fn implicit_function(&mut self, name: Symbol, span: Span) -> FuncId {
        let ret = self.program.types.common.int;
        let f = FuncTy { unprototyped: true, ..FuncTy::new(ret, vec![], Abi::C) };
        let ty = self.types().intern(TyKind::Func(Rc::new(f)));
        let id = FuncId(self.program.functions.len() as u32);
        self.program.functions.push(Function {
            name,
            symbol: None,
            ty,
            type_params: 0,
            linkage: Linkage::External,
            trust: Trust::Foreign,
            attrs: vec![],
            param_names: vec![],
            body: None,
            is_process: false,
            used: true,
            inline: Inlining::default(),
            old_style: false,
            allows: Default::default(),
            reentrant: false,
            span,
        });
        self.scopes.declare_file(name, Entity::Func(id), span);
        id
    }

    /// The function type as calls of an old-style function see it.
    pub(crate) fn without_parameters(&mut self, ty: Ty) -> Ty {
        let Some(f) = self.program.types.as_func(ty) else { return ty };
        let f = FuncTy { params: vec![], variadic: false, ..(*f).clone() };
        self.types().intern(TyKind::Func(Rc::new(f)))
    }

    /// The parameters of an old-style definition with the types that the declarations after the
    /// list give them.
    pub(crate) fn old_style_declarator(&self, def: &ast::FunctionDef) -> Option<ast::Declarator> {
        let Some(ast::Derived::Function(list)) = def.declarator.derived.first() else { return None };
        if !list.old_style || list.params.is_empty() {
            return None;
        }
        let mut list = list.clone();
        for param in &mut list.params {
            let name = param.declarator.name.map(|n| n.name);
            let found = def.old_style.iter().find_map(|decl| {
                let d = decl.declarators.iter().find(|d| d.declarator.name.map(|n| n.name) == name)?;
                Some((decl, d))
            });
            if let Some((decl, d)) = found {
                param.specs = decl.specs.clone();
                param.declarator = d.declarator.clone();
            }
        }
        let mut declarator = def.declarator.clone();
        if let Some(first) = declarator.derived.first_mut() {
            *first = ast::Derived::Function(list);
        }
        Some(declarator)
    }
}
