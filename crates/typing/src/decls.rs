//! Declarations at file scope and in blocks: typedefs, functions, globals, statics.

use crate::checker::Checker;
use crate::codes;
use crate::scope::{Entity, GenericParam};
use crate::specs::{Declared, Place, Role};
use crate::tree::*;
use crate::types::*;
use source::{Diagnostic, Span, Symbol};
use syntax::ast;

/// What `generic <...>` stands before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GenericItem {
    Record,
    Typedef,
    Function,
}

/// A function beside another of its name: `kill` of C and of processes.
enum Beside {
    /// It takes a `pid`, and this one of C's does not.
    OfC(FuncId),
    /// It is C's, and this one takes a `pid`.
    OfPids(FuncId),
    /// It is this one, which was declared before.
    Again(FuncId),
    /// It is C's again, and this one takes a `pid`.
    Redeclared(FuncId),
}

/// Whether the variables of a declaration take their types from initialisers.
pub(crate) fn is_inferred(decl: &ast::Decl) -> bool {
    let variables = !matches!(decl.specs.storage, Some(ast::Storage::Typedef)) && !decl.declarators.is_empty();
    variables && matches!(decl.specs.ty, ast::TypeSpec::Infer)
}

/// The qualifiers that a declaration gives a variable of an inferred type. Those of the value do not
/// count.
pub(crate) fn declared_quals(decl: &ast::Decl) -> Quals {
    let written = decl.specs.quals;
    Quals {
        is_const: written.is_const || decl.specs.constexpr,
        is_volatile: written.is_volatile,
        is_atomic: written.is_atomic,
    }
}

impl Checker<'_> {
    /// A declaration at file scope.
    pub(crate) fn file_decl(&mut self, decl: &ast::Decl, foreign: bool) {
        let foreign = foreign && !decl.trusted;
        let function = decl.declarators.iter().any(|d| Self::derives_function(&d.declarator));
        let begun = self.begin_prototype(function);
        let typedef = decl.specs.storage == Some(ast::Storage::Typedef);
        let role = if typedef { Role::Typedef } else { Role::Global };
        let of = match decl.declarators.is_empty() {
            true => GenericItem::Record,
            false if typedef => GenericItem::Typedef,
            false => GenericItem::Function,
        };
        let depth = self.open_generics(decl.generics.as_ref(), of, function);
        let place = Place { role, foreign, trusted: decl.trusted };
        let base = self.declared_base(decl, place);
        if decl.declarators.is_empty() {
            self.refuse_process(&decl.specs);
            self.check_empty_decl(decl);
        }
        for declarator in &decl.declarators {
            self.file_declarator(decl, declarator, base, place);
        }
        self.end_prototype(begun);
        self.close_generics(depth);
    }

    fn check_empty_decl(&mut self, decl: &ast::Decl) {
        let useful = match &decl.specs.ty {
            ast::TypeSpec::Record(r) => r.tag.is_some() || r.fields.is_none(),
            ast::TypeSpec::Enum(_) | ast::TypeSpec::Unsupported(_) => true,
            _ => false,
        };
        if !useful && !self.options.plain_c && !self.map.is_system(decl.span.lo) {
            self.report(Diagnostic::warning(codes::DECLARATION, decl.span, "this declaration declares nothing"));
        }
    }

    /// Opens the level of `generic <...>`; the depth to go back to.
    /// `function`: a type of functions is declared.
    fn open_generics(&mut self, generics: Option<&ast::Generics>, of: GenericItem, function: bool) -> usize {
        let depth = self.scopes.depth();
        let Some(generics) = generics else { return depth };
        if generics.has_arguments() || !function {
            self.scopes.push();
        }
        let mut params: Vec<GenericParam> = vec![];
        for param in &generics.params {
            let index = params.len() as u32;
            match param {
                ast::GenericParam::Type { name, bounds } => {
                    let mut p = TypeParam::new(index, name.name);
                    let mut region = None;
                    for bound in bounds {
                        match (bound.name.name.as_str(), bound.region) {
                            ("heap", None) => p.heap = true,
                            ("nonnull", None) => p.nonnull = true,
                            ("exchange", None) => {
                                p.moves = true;
                                p.exchange = true;
                            }
                            ("frozen", None) => {
                                p.moves = true;
                                p.exchange = true;
                                p.frozen = true;
                            }
                            ("move", owns_in) => {
                                p.moves = true;
                                region = region.or(owns_in);
                            }
                            _ => self.error(
                                codes::GENERIC,
                                bound.name.span,
                                format!(
                                    "`{}{}` is no bound of a type parameter: `heap`, `move`, `move @r`, `exchange`, `frozen` and `nonnull` are",
                                    bound.name.name,
                                    bound.region.map_or(String::new(), |r| format!(" @{}", r.name))
                                ),
                            ),
                        }
                    }
                    let ty = self.types().intern(TyKind::Param(p));
                    if let Some(region) = region {
                        self.owner_bound(ty, region, of);
                    }
                    self.scopes.declare(name.name, Entity::TypeParam(ty), name.span);
                    params.push(GenericParam::Type(p));
                }
                ast::GenericParam::Own(name) => {
                    self.scopes.declare(name.name, Entity::OwnParam(Own::Param(index)), name.span);
                    params.push(GenericParam::Own(name.name));
                }
                ast::GenericParam::Region { name, .. } if of == GenericItem::Typedef && !function => {
                    self.error_help(
                        codes::GENERIC,
                        name.span,
                        "a generic typedef has no region parameters, unless it is a type of functions",
                        "leave the region away: it is that of the pointer around each use",
                    );
                    self.scopes.declare_region(name.name, Region::Heap, name.span);
                }
                ast::GenericParam::Region { name, .. } if of == GenericItem::Record => {
                    self.error_help(
                        codes::GENERIC,
                        name.span,
                        "the region parameters of a struct follow its name",
                        format!("write `struct tag<@{}> {{ ... }}`", name.name),
                    );
                }
                ast::GenericParam::Region { name, outlives } => {
                    let first = self.resolve_region(*name);
                    if let Some(second) = outlives {
                        let second = self.resolve_region(*second);
                        self.declare_outlives(first, second);
                    }
                }
            }
        }
        self.type_params = params.clone();
        if of == GenericItem::Record {
            self.pending_generic = Some(params);
        }
        depth
    }

    /// `T: move @r`
    fn owner_bound(&mut self, owner: Ty, region: ast::Ident, of: GenericItem) {
        if of != GenericItem::Function {
            self.error_help(
                codes::GENERIC,
                region.span,
                "only functions say where a type parameter owns something",
                "write `T: move`: what an object may own is checked where it is allocated",
            );
            return;
        }
        let region = self.resolve_region(region);
        self.declare_owns_in(owner, region);
    }

    fn close_generics(&mut self, depth: usize) {
        self.pending_generic = None;
        if self.scopes.depth() == depth {
            return;
        }
        self.type_params = vec![];
        self.scopes.truncate(depth);
        for (name, number) in std::mem::take(&mut self.generic_tags) {
            self.scopes.declare_tag(name, crate::scope::Tag::Generic(number));
        }
        for (name, entity) in std::mem::take(&mut self.generic_typedefs) {
            self.declare_generic_typedef(name, entity);
        }
    }

    fn declare_generic_typedef(&mut self, name: ast::Ident, entity: Entity) {
        if let Some((old, span)) = self.scopes.lookup_here(name.name) {
            let same = match (old, &entity) {
                (Entity::GenericTypedef(p, old), Entity::GenericTypedef(q, new)) => p == q && old == new,
                _ => false,
            };
            let span = *span;
            if !same {
                let message = format!("`{}` is declared as something else before", name.name);
                self.report(Diagnostic::error(codes::CONFLICT, name.span, message).label(span, "declared here"));
            }
        }
        self.scopes.declare(name.name, entity, name.span);
    }

    fn file_declarator(&mut self, decl: &ast::Decl, d: &ast::InitDeclarator, base: Qty, place: Place) {
        let Some(name) = d.declarator.name else { return };
        if is_inferred(decl) {
            return self.inferred_global(decl, d, name);
        }
        let mut declared = self.declare_type(base, &d.declarator, place);
        if place.role == Role::Typedef || !matches!(self.kind(declared.ty.ty), TyKind::Func(_)) {
            self.refuse_process(&decl.specs);
        }
        if place.role == Role::Typedef {
            let attrs = || decl.specs.attrs.iter().chain(&d.declarator.attrs);
            if attrs().any(|a| a.name.as_str() == "transparent_union") {
                self.transparent.extend(self.program.types.as_record(declared.ty.ty));
            }
            let Some(ty) = self.typedef_attributes(declared.ty, decl, d) else { return };
            return self.declare_typedef(name, ty, &d.declarator);
        }
        self.refuse_attributes(&decl.specs.attrs);
        self.refuse_attributes(&d.declarator.attrs);
        self.check_attributes(&declared, &decl.specs, &d.declarator);
        if matches!(self.kind(declared.ty.ty), TyKind::Func(_)) {
            self.check_asm_label(&d.declarator, !place.foreign && !place.trusted, false);
            if d.init.is_some() {
                self.error(codes::INITIALISER, name.span, "a function cannot be initialised");
            }
            self.attach_attributes(&mut declared, &decl.specs, &d.declarator, place.trusted);
            self.declare_function(name, &declared, &decl.specs, &d.declarator, place, false);
            return;
        }
        if self.missing_state(declared.ty.ty, name.span) || self.static_end(declared.ty.ty, name.span) {
            return self.poison(Some(name));
        }
        self.declare_global(name, &declared, decl, d, place);
    }

    fn inferred_global(&mut self, decl: &ast::Decl, d: &ast::InitDeclarator, name: ast::Ident) {
        let Some(ty) = self.inferred_static_type(decl, d, name) else { return };
        let declared = Declared { ty, heap: true, params: vec![], regions: vec![] };
        let place = Place { role: Role::Global, foreign: false, trusted: false };
        self.declare_global(name, &declared, decl, d, place);
    }

    /// The type that a variable of static storage takes from its initialiser. None: reported.
    pub(crate) fn inferred_static_type(
        &mut self,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
        name: ast::Ident,
    ) -> Option<Qty> {
        let value = self.inferred_value(d, name)?;
        let mut ty = value.ty;
        ty.quals = declared_quals(decl);
        if let Some(p) = self.program.types.as_pointer(ty.ty) {
            ty.ty = self.types().pointer(Pointer { region: Region::Heap, nonnull: false, ..p });
        }
        ty.ty = self.types().map_regions(ty.ty, &mut |_, _| Region::Heap);
        Some(ty)
    }

    /// The value that gives a variable its type. None: there is none that can, which is reported.
    pub(crate) fn inferred_value(&mut self, d: &ast::InitDeclarator, name: ast::Ident) -> Option<Expr> {
        if !d.declarator.derived.is_empty() {
            self.error_help(
                codes::INITIALISER,
                d.declarator.span,
                "`auto` stands for the whole type: it declares plain names",
                format!("write `auto {} = ...`, or the type", name.name),
            );
            self.poison(Some(name));
            return None;
        }
        let Some(ast::Initializer::Expr(e)) = &d.init else {
            self.error(codes::INITIALISER, name.span, "`auto` takes its type from an initialiser, and there is none");
            self.poison(Some(name));
            return None;
        };
        let value = self.expr(e);
        let value = self.rvalue(value);
        if matches!(self.kind(value.ty.ty), TyKind::Void | TyKind::NullPtr) {
            let text = self.show(value.ty.ty);
            self.error(codes::TYPE, e.span, format!("type: a variable cannot take the type `{text}`"));
            self.poison(Some(name));
            return None;
        }
        Some(value)
    }

    /// The type that the declarators of a declaration begin with; an error where each has its own.
    pub(crate) fn declared_base(&mut self, decl: &ast::Decl, place: Place) -> Qty {
        match is_inferred(decl) {
            true => Qty::plain(self.program.types.common.error),
            false => self.base_type(&decl.specs, place),
        }
    }

    fn declare_typedef(&mut self, name: ast::Ident, ty: Qty, declarator: &ast::Declarator) {
        if let Some(id) = self.program.types.as_record(ty.ty) {
            let align = self.alignment(&[], &declarator.attrs);
            let record = &mut self.program.types.records[id.0 as usize];
            if record.tag.is_none() {
                record.tag = Some(name.name);
            }
            record.align = record.align.max(align);
            if align.is_some() {
                self.types().forget_layouts();
            }
        }
        if !self.type_params.is_empty() {
            let params = self.type_params.iter().copied().collect();
            return self.generic_typedefs.push((name, Entity::GenericTypedef(params, ty)));
        }
        if let Some((Entity::Typedef(old), span)) = self.scopes.lookup_here(name.name) {
            let (old, span) = (*old, *span);
            if old != ty && !self.is_error(old.ty) && !self.is_error(ty.ty) && !self.both_foreign(span, name.span) {
                self.report(
                    Diagnostic::error(
                        codes::CONFLICT,
                        name.span,
                        format!("`{}` is declared as another type before", name.name),
                    )
                    .label(span, "declared here"),
                );
            }
        }
        self.scopes.declare(name.name, Entity::Typedef(ty), name.span);
    }

    fn both_foreign(&self, a: Span, b: Span) -> bool {
        self.map.is_system(a.lo) || self.map.is_system(b.lo)
    }

    /// Attributes before and after a function declarator become part of its type.
    pub(crate) fn attach_attributes(
        &mut self,
        declared: &mut Declared,
        specs: &ast::DeclSpecs,
        declarator: &ast::Declarator,
        trusted: bool,
    ) {
        let Some(f) = self.program.types.as_func(declared.ty.ty) else { return };
        let mut f = (*f).clone();
        f.noreturn |= specs.noreturn;
        self.function_attributes(&mut f, &specs.attrs, &declared.params, trusted);
        self.function_attributes(&mut f, &declarator.attrs, &declared.params, trusted);
        declared.ty = Qty::plain(self.types().intern(TyKind::Func(std::rc::Rc::new(f))));
    }

    /// Declares a function and gives its number.
    pub(crate) fn declare_function(
        &mut self,
        name: ast::Ident,
        declared: &Declared,
        specs: &ast::DeclSpecs,
        declarator: &ast::Declarator,
        place: Place,
        defined: bool,
    ) -> FuncId {
        // One declaration that says so is enough: others may be in headers that the program cannot
        // change. A trusted one hides a foreign one.
        let before = match self.scopes.lookup_file(name.name) {
            Some((Entity::Func(old), _)) => self.program.functions.get(old.0 as usize).is_some_and(|f| f.reentrant),
            _ => false,
        };
        let says = self.is_reentrant(specs, declarator, place, defined);
        let id = self.declare_unpromised(name, declared, specs, declarator, place, defined);
        if let Some(function) = self.program.functions.get_mut(id.0 as usize) {
            function.reentrant |= before || says;
        }
        id
    }

    fn declare_unpromised(
        &mut self,
        name: ast::Ident,
        declared: &Declared,
        specs: &ast::DeclSpecs,
        declarator: &ast::Declarator,
        place: Place,
        defined: bool,
    ) -> FuncId {
        if self.options.plain_c {
            return self.declare_c_function(name, declared, specs, declarator, defined);
        }
        let mut ty = self.with_learnt_views(name.name, declared.ty.ty);
        ty = self.with_learnt_bounds(name.name, ty);
        ty = self.with_learnt_result(name.name, ty, declarator);
        if specs.process {
            ty = self.process_type(name, ty, place);
        }
        if name.name.as_str() == "main" && !place.foreign && self.scopes.depth() <= 2 {
            ty = self.main_type(ty, name.span);
        }
        if let Some(f) =
            self.program.types.as_func(ty).filter(|f| f.variadic && f.format.is_none() && f.abi == Abi::Leeward)
        {
            let _ = f;
            self.error_help(
                codes::VARIADIC,
                name.span,
                "only a printf-like function may be variadic (`va_list`): its last named parameter is the format, a string",
                "take a `fat` parameter instead of `...`",
            );
        }
        let system = self.map.is_system(name.span.lo);
        let promises = self.program.types.as_func(ty).is_some_and(|f| {
            f.end_into.is_some()
                || f.copies.is_some()
                || f.fills.is_some()
                || f.terminates.is_some()
                || f.cuts.is_some()
                || f.leaf
                || f.waits
                || f.keeps_string.is_some()
        });
        if promises && !place.trusted && !place.foreign && !system {
            self.error_help(
                codes::DECLARATION,
                name.span,
                "this `lee::` attribute is a promise about C code, which nothing checks: it stands at trusted declarations",
                "leave the attribute out",
            );
        }
        let trust = match (place.trusted, place.foreign) {
            (true, _) => Trust::Trusted,
            (false, true) if defined && !system && !self.options.plain_c => Trust::Exported,
            (false, true) => Trust::Foreign,
            (false, false) => Trust::Checked,
        };
        let linkage = if specs.storage == Some(ast::Storage::Static) {
            Linkage::Internal
        } else if !self.type_params.is_empty() || (specs.inline && trust == Trust::Checked) {
            Linkage::Shared
        } else {
            Linkage::External
        };
        let is_extern = specs.storage == Some(ast::Storage::Extern);
        let gnu = inline_rule(&specs.attrs, &declarator.attrs);
        let at_file = self.scopes.depth() == 1;
        let beside = self.told_apart(name.name, ty, trust);
        if let Some(Beside::Again(id)) = beside {
            return id;
        }
        let apart = matches!(beside, Some(Beside::OfC(_) | Beside::OfPids(_)));
        if let Some((Entity::Func(old), old_span)) = self.scopes.lookup_file(name.name).filter(|_| !apart) {
            let (old, old_span) = (*old, *old_span);
            if let Some(id) = self.merge_function(old, old_span, name, ty, trust, linkage, defined, declared) {
                let checked = self.program.functions.get_mut(id.0 as usize).filter(|f| f.trust == Trust::Checked);
                if let Some(function) = checked {
                    function.inline.declare(specs.inline, is_extern, gnu, defined, at_file);
                }
                if self.program.functions[id.0 as usize].is_process != specs.process {
                    let message = format!("one declaration of `{}` says `process`, and another does not", name.name);
                    self.report(
                        Diagnostic::error(codes::CONFLICT, name.span, message).label(old_span, "declared here"),
                    );
                }
                return id;
            }
        } else if let Some((other, span)) = self.scopes.lookup_file(name.name) {
            if !matches!(other, Entity::Poison) && !self.map.is_system(span.lo) {
                let span = *span;
                self.report(
                    Diagnostic::error(
                        codes::CONFLICT,
                        name.span,
                        format!("`{}` is already declared as something else", name.name),
                    )
                    .label(span, "declared here"),
                );
            }
        }
        let mut inline = Inlining::default();
        if trust == Trust::Checked {
            inline.declare(specs.inline, is_extern, gnu, defined, at_file);
        }
        let mut attrs = attribute_texts(&specs.attrs, &declarator.attrs, false);
        // C's promise that a function stores nothing is believed where its type is. What is checked
        // may fault, which a C compiler would leave out with a call whose result is not used.
        let stores_nothing =
            |a: &ast::Attribute| a.namespace.is_none_or(|n| n.as_str() == "gnu") && a.name.as_str() == "pure";
        if trust == Trust::Trusted && specs.attrs.iter().chain(&declarator.attrs).any(stores_nothing) {
            attrs.push("pure".to_string());
        }
        let id = FuncId(self.program.functions.len() as u32);
        self.program.functions.push(Function {
            name: name.name,
            symbol: declarator.asm_label.as_ref().map(|s| Symbol::new(&String::from_utf8_lossy(s))),
            ty,
            type_params: self.type_params.len() as u32,
            linkage,
            trust,
            attrs,
            param_names: declared.params.iter().map(|n| n.map(|n| n.name)).collect(),
            body: None,
            is_process: specs.process,
            used: name.name.as_str() == "main",
            inline,
            old_style: false,
            allows: Default::default(),
            reentrant: false,
            span: name.span,
        });
        if declared.regions.iter().any(Option::is_some) {
            self.region_names.insert(id, declared.regions.clone());
        }
        if !self.type_params.is_empty() {
            self.generics_of.insert(id, self.type_params.clone());
        }
        match beside {
            Some(Beside::OfC(c)) => {
                self.for_pids.insert(c, id);
                return id;
            }
            Some(Beside::OfPids(other) | Beside::Redeclared(other)) => {
                self.for_pids.insert(id, other);
            }
            Some(Beside::Again(_)) | None => {}
        }
        self.scopes.declare_file(name.name, Entity::Func(id), name.span);
        id
    }

    /// What a declaration of a C function is beside one of the same name that takes a `pid`, and the
    /// other way round. A call tells the two apart (`form_of_call`), so neither hides the other,
    /// whichever header comes first; the name itself is C's function.
    fn told_apart(&self, name: Symbol, ty: Ty, trust: Trust) -> Option<Beside> {
        let Some((Entity::Func(old), _)) = self.scopes.lookup_file(name) else { return None };
        let of_c = |trust| matches!(trust, Trust::Foreign | Trust::Trusted);
        let function = self.program.functions.get(old.0 as usize)?;
        if !of_c(function.trust) || !of_c(trust) {
            return None;
        }
        let known = self.for_pids.get(old).copied();
        match (self.is_for_pids(function.ty), self.is_for_pids(ty)) {
            (false, true) => Some(known.map_or(Beside::OfC(*old), Beside::Again)),
            (true, false) => Some(Beside::OfPids(*old)),
            _ => known.map(Beside::Redeclared),
        }
    }

    pub(crate) fn is_for_pids(&self, ty: Ty) -> bool {
        let function = self.program.types.as_func(ty);
        function.is_some_and(|f| f.params.first().is_some_and(|p| self.program.types.is_pid(p.ty)))
    }

    /// `[[lee::allow(leak, free_shared)]]`
    fn allowed_by<'a>(&mut self, attrs: impl Iterator<Item = &'a ast::Attribute>) -> Allows {
        let mut allows = Allows::default();
        let ours = |a: &&ast::Attribute| a.namespace.is_some_and(|n| n.as_str() == "lee") && a.name.as_str() == "allow";
        for attr in attrs.filter(ours) {
            let mut known = !attr.args.is_empty();
            for arg in &attr.args {
                match &arg.kind {
                    ast::ExprKind::Ident(name) if name.as_str() == "leak" => allows.leaks = true,
                    ast::ExprKind::Ident(name) if name.as_str() == "free_shared" => allows.free_shared = true,
                    _ => known = false,
                }
            }
            if !known {
                let help = "write `[[lee::allow(leak)]]`, `[[lee::allow(free_shared)]]`, or both with a comma";
                self.error_help(codes::DECLARATION, attr.span, "`lee::allow` takes `leak` or `free_shared`", help);
            }
        }
        allows
    }

    /// A function is declared again. `None` if the new declaration hides the old one.
    #[allow(clippy::too_many_arguments)]
    fn merge_function(
        &mut self,
        old: FuncId,
        old_span: Span,
        name: ast::Ident,
        ty: Ty,
        trust: Trust,
        linkage: Linkage,
        defined: bool,
        declared: &Declared,
    ) -> Option<FuncId> {
        let function = &self.program.functions[old.0 as usize];
        match (function.trust, trust) {
            (Trust::Foreign, Trust::Foreign) => {
                if function.body.is_none() && defined {
                    self.program.functions[old.0 as usize].param_names =
                        declared.params.iter().map(|n| n.map(|n| n.name)).collect();
                }
                return Some(old);
            }
            (Trust::Trusted, Trust::Foreign) => return Some(old),
            (Trust::Trusted, Trust::Trusted) if self.map.is_system(old_span.lo) == self.map.is_system(name.span.lo) => {
                return Some(old);
            }
            (Trust::Foreign | Trust::Trusted, _) => return None,
            (Trust::Checked | Trust::Exported, Trust::Foreign | Trust::Trusted) if function.body.is_some() => {
                return Some(old)
            }
            (Trust::Checked | Trust::Exported, Trust::Foreign | Trust::Trusted) => return Some(old),
            (Trust::Checked | Trust::Exported, _) => {}
        }
        let known = function.ty;
        let (has_body, old_linkage) = (function.body.is_some(), function.linkage);
        if known != ty && !self.compatible_declarations(known, ty) && !self.is_error(ty) && !self.is_error(known) {
            let names = self.region_names.get(&old).cloned().unwrap_or_default();
            let (a, b) = (self.show_function(known, &names), self.show_function(ty, &declared.regions));
            // A part that is an error has been reported.
            if a.contains('?') || b.contains('?') {
                return Some(old);
            }
            let message = if self.same_but_bounds(known, ty) {
                format!("`{}` is declared with other bounds of its parameters (`generic <...>`) before", name.name)
            } else if a == b {
                format!("`{}` is declared as `{b}` before too, with other regions", name.name)
            } else {
                format!("`{}` is declared as `{b}` here and as `{a}` before", name.name)
            };
            self.report(Diagnostic::error(codes::CONFLICT, name.span, message).label(old_span, "declared here"));
            self.dispute(old_span);
            self.dispute(name.span);
        }
        if has_body && defined {
            self.report(
                Diagnostic::error(codes::CONFLICT, name.span, format!("`{}` is defined twice", name.name))
                    .label(old_span, "defined here"),
            );
        }
        let function = &mut self.program.functions[old.0 as usize];
        if defined {
            function.param_names = declared.params.iter().map(|n| n.map(|n| n.name)).collect();
            function.span = name.span;
        }
        if old_linkage == Linkage::External && linkage == Linkage::Shared {
            function.linkage = linkage;
        }
        if trust == Trust::Exported {
            function.trust = trust;
        }
        if function.type_params == 0 && !self.type_params.is_empty() {
            return None;
        }
        Some(old)
    }

    /// Functions that differ in what `generic <...>` says of their regions only.
    fn same_but_bounds(&self, a: Ty, b: Ty) -> bool {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Func(a), TyKind::Func(b)) => {
                let bounds = a.outlives != b.outlives || a.owns_in != b.owns_in;
                bounds && a.ret == b.ret && a.params.iter().map(|p| p.ty).eq(b.params.iter().map(|p| p.ty))
            }
            _ => false,
        }
    }

    /// Types that differ in attributes only.
    fn compatible_declarations(&self, a: Ty, b: Ty) -> bool {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Func(a), TyKind::Func(b)) => {
                a.ret == b.ret
                    && a.variadic == b.variadic
                    && a.abi == b.abi
                    && a.outlives == b.outlives
                    && a.owns_in == b.owns_in
                    && a.params
                        .iter()
                        .map(|p| (p.ty, p.consume, p.becomes))
                        .eq(b.params.iter().map(|p| (p.ty, p.consume, p.becomes)))
            }
            _ => false,
        }
    }

    /// `main`'s type is fixed: its second parameter is the argument vector, with bounds, whatever
    /// its C spelling.
    fn main_type(&mut self, ty: Ty, span: Span) -> Ty {
        let Some(f) = self.program.types.as_func(ty) else { return ty };
        let c = self.program.types.common;
        let mut f = (*f).clone();
        f.abi = Abi::Leeward;
        f.regions = 0;
        let wrong = f.ret != c.int || f.params.len() > 2 || f.params.first().is_some_and(|p| p.ty != c.int);
        if wrong {
            self.error_help(
                codes::DECLARATION,
                span,
                "`main` is `int main(void)`, `int main(int argc)` or `int main(int argc, char **argv)`",
                "write one of these",
            );
            return ty;
        }
        if let Some(argv) = f.params.get_mut(1) {
            let Some(p) = self.program.types.as_pointer(argv.ty) else {
                self.error(codes::DECLARATION, span, "the second parameter of `main` is `char **argv`");
                return ty;
            };
            let string = self.program.types.pointer_to(Qty::plain(c.char_), Bounds::Terminated);
            let argc = self.program.types.count(CountExpr::Param(0));
            let one = self.program.types.count(CountExpr::Const(1));
            let all = self.program.types.count(CountExpr::Add(argc, one));
            let bounds = if matches!(p.bounds, Bounds::Counted(_)) { p.bounds } else { Bounds::Counted(all) };
            argv.ty = self.program.types.pointer(Pointer {
                target: Qty { ty: string, quals: p.target.quals },
                bounds,
                nonnull: p.nonnull,
                own: Own::Shared,
                region: Region::Heap,
                raw: false,
            });
        }
        self.types().intern(TyKind::Func(std::rc::Rc::new(f)))
    }

    /// A global variable.
    fn declare_global(
        &mut self,
        name: ast::Ident,
        declared: &Declared,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
        place: Place,
    ) {
        let mut ty = declared.ty;
        if decl.specs.constexpr {
            ty.quals.is_const = true;
        }
        if matches!(self.kind(ty.ty), TyKind::Void) {
            self.error(codes::INCOMPLETE, name.span, "a variable cannot be `void`");
            return self.poison(Some(name));
        }
        if !place.foreign {
            self.reject_counted_tail(ty.ty, name.span);
        }
        if decl.specs.storage == Some(ast::Storage::Register) {
            self.error(codes::DECLARATION, name.span, "a global variable in a register is not built");
        }
        let is_extern = decl.specs.storage == Some(ast::Storage::Extern);
        let defined = d.init.is_some() || !(is_extern || place.trusted);
        let trust = match (place.trusted, place.foreign) {
            (true, _) => Trust::Trusted,
            (_, true) if defined && !self.map.is_system(name.span.lo) && !self.options.plain_c => Trust::Exported,
            (_, true) => Trust::Foreign,
            _ => Trust::Checked,
        };
        let internal = decl.specs.storage == Some(ast::Storage::Static) || (decl.specs.constexpr && !place.foreign);
        let linkage = if internal { Linkage::Internal } else { Linkage::External };
        self.check_asm_label(&d.declarator, trust == Trust::Checked, defined);
        if trust == Trust::Exported && !internal {
            self.check_exported_name(name);
        }
        self.check_no_exchange(ty.ty, name.span, "a global or static");
        let id = self.global_entry(name, ty, trust, linkage, decl, d);
        // Whatever a file of C defines for others is part of it.
        self.program.globals[id.0 as usize].used |= defined && self.options.plain_c;
        if let Some(init) = &d.init {
            let (init, ty) = self.static_initialiser(init, ty, name.span);
            let global = &mut self.program.globals[id.0 as usize];
            if global.init.as_ref().is_some_and(|i| *i != ConstInit::Zero) {
                let old = global.span;
                self.report(
                    Diagnostic::error(codes::CONFLICT, name.span, format!("`{}` is defined twice", name.name))
                        .label(old, "defined here"),
                );
            }
            self.known_global(id, &init, ty);
            let global = &mut self.program.globals[id.0 as usize];
            global.ty = ty;
            global.init = Some(init);
        } else if defined {
            if decl.specs.constexpr {
                self.error(codes::INITIALISER, name.span, "a `constexpr` object needs an initialiser");
            }
            if self.program.types.needs_init(ty.ty) && trust == Trust::Checked {
                let text = self.show(ty.ty);
                self.error(
                    codes::NULL,
                    name.span,
                    format!("`{}` must be initialised: `{text}` holds a nonnull pointer", name.name),
                );
            }
            let global = &mut self.program.globals[id.0 as usize];
            global.init.get_or_insert(ConstInit::Zero);
        }
    }

    fn known_global(&mut self, id: GlobalId, init: &ConstInit, ty: Qty) {
        if !ty.quals.is_const {
            return;
        }
        match init {
            ConstInit::Int(n) => {
                self.known_globals.insert(id, crate::checker::Known::Int(*n));
            }
            ConstInit::Float(f) => {
                self.known_globals.insert(id, crate::checker::Known::Float(*f));
            }
            _ => {}
        }
    }

    fn global_entry(
        &mut self,
        name: ast::Ident,
        ty: Qty,
        trust: Trust,
        linkage: Linkage,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
    ) -> GlobalId {
        if let (true, Some((Entity::Global(old), _))) = (self.options.plain_c, self.scopes.lookup_file(name.name)) {
            let old = *old;
            self.merge_c_global(old, ty, linkage, decl, d);
            return old;
        }
        if let Some((Entity::Global(old), span)) = self.scopes.lookup_file(name.name) {
            let (old, span) = (*old, *span);
            let global = &self.program.globals[old.0 as usize];
            let (known, known_trust) = (global.ty, global.trust);
            if known_trust == Trust::Foreign || known_trust == Trust::Trusted {
                if trust == Trust::Trusted {
                    let global = &mut self.program.globals[old.0 as usize];
                    global.trust = trust;
                    global.ty = ty;
                    return old;
                }
                if trust != Trust::Checked {
                    return old;
                }
            } else {
                let completed = self.completes(known.ty, ty.ty);
                if known != ty && !completed && !self.is_error(ty.ty) && !self.is_error(known.ty) {
                    let (a, b) = (self.show(known.ty), self.show(ty.ty));
                    self.report(
                        Diagnostic::error(
                            codes::CONFLICT,
                            name.span,
                            format!("`{}` is declared as `{b}` here and as `{a}` before", name.name),
                        )
                        .label(span, "declared here"),
                    );
                }
                if matches!(self.kind(known.ty), TyKind::Array { len: ArrayLen::Unknown, .. }) && completed {
                    self.program.globals[old.0 as usize].ty = ty;
                }
                return old;
            }
        } else if let Some((other, span)) = self.scopes.lookup_file(name.name) {
            if !matches!(other, Entity::Poison) && !self.map.is_system(span.lo) {
                let span = *span;
                self.report(
                    Diagnostic::error(
                        codes::CONFLICT,
                        name.span,
                        format!("`{}` is already declared as something else", name.name),
                    )
                    .label(span, "declared here"),
                );
            }
        }
        let align = self.declared_alignment(&decl.specs, &d.declarator);
        let id = GlobalId(self.program.globals.len() as u32);
        self.program.globals.push(Global {
            name: name.name,
            symbol: d.declarator.asm_label.as_ref().map(|s| Symbol::new(&String::from_utf8_lossy(s))),
            ty,
            linkage,
            trust,
            init: None,
            thread_local: decl.specs.thread_local,
            align,
            attrs: attribute_texts(&decl.specs.attrs, &d.declarator.attrs, self.options.plain_c),
            owner: None,
            used: false,
            span: name.span,
        });
        self.scopes.declare_file(name.name, Entity::Global(id), name.span);
        id
    }

    /// Whether one type is the other with an array length filled in.
    fn completes(&self, a: Ty, b: Ty) -> bool {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Array { elem: x, len: l, .. }, TyKind::Array { elem: y, len: m, .. }) => {
                x == y && (l == m || *l == ArrayLen::Unknown || *m == ArrayLen::Unknown)
            }
            _ => false,
        }
    }

    /// A function definition at file scope.
    pub(crate) fn function_def(&mut self, def: &ast::FunctionDef, foreign: bool, span: Span) {
        let foreign = foreign && !def.trusted;
        let begun = self.begin_prototype(true);
        let depth = self.open_generics(def.generics.as_ref(), GenericItem::Function, true);
        let place = Place { role: Role::Global, foreign, trusted: false };
        let base = self.base_type(&def.specs, place);
        let old_style = if self.options.plain_c { self.old_style_declarator(def) } else { None };
        let mut declared = self.declare_type(base, old_style.as_ref().unwrap_or(&def.declarator), place);
        self.end_prototype(begun);
        self.attach_attributes(&mut declared, &def.specs, &def.declarator, false);
        let (Some(name), true) = (def.declarator.name, matches!(self.kind(declared.ty.ty), TyKind::Func(_))) else {
            self.close_generics(depth);
            return;
        };
        if self.in_intrinsics(name.span.lo) && self.is_unknown_intrinsic(declared.ty.ty) {
            self.unknown_intrinsics.insert(name.name);
            return self.close_generics(depth);
        }
        if !def.old_style.is_empty() && !foreign {
            self.error_help(
                codes::DECLARATION,
                span,
                "old-style definitions are not in Leeward",
                "write the types between the parentheses",
            );
        }
        self.refuse_attributes(&def.specs.attrs);
        self.refuse_attributes(&def.declarator.attrs);
        self.check_attributes(&declared, &def.specs, &def.declarator);
        self.check_asm_label(&def.declarator, !foreign, true);
        if foreign && def.specs.storage != Some(ast::Storage::Static) {
            self.check_exported_name(name);
        }
        let own = declared.clone();
        if old_style.is_some() {
            declared.ty.ty = self.without_parameters(declared.ty.ty);
        }
        let id = self.declare_function(name, &declared, &def.specs, &def.declarator, place, true);
        let allows = self.allowed_by(def.specs.attrs.iter().chain(&def.declarator.attrs));
        if let Some(function) = self.program.functions.get_mut(id.0 as usize) {
            function.allows = allows;
        }
        self.program.functions[id.0 as usize].old_style = old_style.is_some();
        if old_style.is_some() {
            declared = own;
        } else {
            declared.ty.ty = self.program.functions[id.0 as usize].ty;
        }
        self.check_ret_complete(&declared, name.span);
        self.refuse_left_out(declared.ty.ty, name.span);
        if self.in_intrinsics(name.span.lo) {
            self.program.c_text.intrinsics.insert(id);
            return self.close_generics(depth);
        }
        // The user cannot fix what is wrong in a system header: the body is left to C.
        // Nobody else has that of a function of Leeward.
        let before = self.sink.all.len();
        self.function_body(id, def, &declared, foreign);
        if self.map.is_system(name.span.lo) {
            let mut found = self.sink.all.split_off(before);
            found.retain(|d| d.level == source::Level::Error);
            if self.in_library(name.span.lo) {
                self.sink.all.append(&mut found);
            } else if !found.is_empty() {
                self.program.functions[id.0 as usize].body = None;
            }
        }
        self.close_generics(depth);
    }

    /// Whether the text at `at` is in one of Leeward's own headers.
    fn in_library(&self, at: u32) -> bool {
        let folder = self.options.library.as_ref();
        folder.is_some_and(|folder| std::path::Path::new(self.map.file_at(at)).starts_with(folder))
    }

    fn check_ret_complete(&mut self, declared: &Declared, span: Span) {
        let Some(f) = self.program.types.as_func(declared.ty.ty) else { return };
        if !matches!(self.kind(f.ret), TyKind::Void) && !self.program.types.is_complete(f.ret) && !self.is_error(f.ret)
        {
            let text = self.show(f.ret);
            self.error(codes::INCOMPLETE, span, format!("a function cannot return the incomplete type `{text}`"));
        }
    }
}

/// Attributes that typing itself gives their meaning.
const OWN_ATTRIBUTES: &[&str] =
    &["packed", "aligned", "noreturn", "_Noreturn", "mode", "vector_size", "gnu_inline", "counted_by"];

/// Whether GNU's older rules of `inline` hold for a declaration.
pub(crate) fn inline_rule(specs: &[ast::Attribute], declarator: &[ast::Attribute]) -> bool {
    specs.iter().chain(declarator).any(|a| a.name.as_str() == "gnu_inline")
}

/// Attributes that the C compiler is to see, as C text: in plain C all of them.
pub(crate) fn attribute_texts(specs: &[ast::Attribute], declarator: &[ast::Attribute], plain: bool) -> Vec<String> {
    let kept = [
        "noinline",
        "always_inline",
        "cold",
        "hot",
        "unused",
        "maybe_unused",
        "used",
        "weak",
        "section",
        "visibility",
        "constructor",
        "destructor",
        "flatten",
    ];
    specs
        .iter()
        .chain(declarator)
        .filter(|a| a.namespace.is_none_or(|n| n.as_str() == "gnu"))
        .filter(|a| {
            let name = a.name.as_str();
            if plain {
                // Leeward's words mean nothing to a C compiler.
                !name.starts_with("lee_") && !OWN_ATTRIBUTES.contains(&name)
            } else {
                kept.contains(&name)
            }
        })
        .filter_map(|a| {
            let name = match a.name.as_str() {
                "maybe_unused" => "unused",
                "nodiscard" => "warn_unused_result",
                "fallthrough" | "reproducible" | "unsequenced" => return None,
                // It names the function that takes the memory back, which the unit need not use.
                "malloc" if !a.args.is_empty() => return None,
                name => name,
            };
            let args: Vec<String> = a.args.iter().filter_map(attribute_argument).collect();
            if args.len() < a.args.len() && plain {
                return None;
            }
            let name = if plain { format!("__{name}__") } else { name.to_string() };
            Some(if args.is_empty() { name } else { format!("{name}({})", args.join(", ")) })
        })
        .collect()
}

fn attribute_argument(e: &ast::Expr) -> Option<String> {
    match &e.kind {
        ast::ExprKind::Int(i) => Some(i.value.to_string()),
        ast::ExprKind::Ident(name) => Some(name.to_string()),
        ast::ExprKind::Str(s) => {
            let text: String = s.units.iter().filter_map(|&u| char::from_u32(u)).collect();
            Some(format!("{text:?}"))
        }
        _ => None,
    }
}
