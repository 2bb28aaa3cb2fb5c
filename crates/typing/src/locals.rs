//! Declarations in blocks.

use crate::checker::{Checker, Known};
use crate::codes;
use crate::convert::Why;
use crate::decls::{declared_quals, is_inferred};
use crate::scope::Entity;
use crate::specs::{Place, Role};
use crate::tree::*;
use crate::types::*;
use crate::walk;
use source::{Diagnostic, Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// `[[maybe_unused]]` before a declaration.
    pub(crate) fn use_names(&mut self, decl: &ast::Decl) {
        for d in &decl.declarators {
            let Some(name) = d.declarator.name else { continue };
            if let (Some(Entity::Local(id)), Some(f)) = (self.scopes.lookup(name.name).cloned(), &mut self.f) {
                f.used.insert(id);
            }
        }
    }

    /// Declarations in a block. Several variables come back as a block node without a span, which
    /// opens no scope.
    pub(crate) fn local_decl(&mut self, decl: &ast::Decl, span: Span) -> Option<Stmt> {
        let mut stmts = vec![];
        if let Some(generics) = &decl.generics {
            self.error(codes::GENERIC, generics.span, "generic declarations stand at file scope");
        }
        if decl.trusted {
            self.error(codes::DECLARATION, decl.span, "trusted declarations stand at file scope");
        }
        let storage = decl.specs.storage;
        let foreign = self.f.as_ref().is_some_and(|f| f.unchecked);
        let role = match storage {
            Some(ast::Storage::Typedef) => Role::Typedef,
            Some(ast::Storage::Static | ast::Storage::Extern) => Role::Global,
            _ => Role::Local,
        };
        let place = Place { role, foreign, trusted: false };
        let begun = self.begin_prototype(decl.declarators.iter().any(|d| Self::derives_function(&d.declarator)));
        let mark = self.lengths();
        let base = self.declared_base(decl, place);
        stmts.extend(self.take_lengths(mark));
        for d in &decl.declarators {
            let stmt = self.local_declarator(decl, d, base, place);
            stmts.extend(self.take_lengths(mark));
            stmts.extend(stmt);
        }
        self.end_prototype(begun);
        match stmts.len() {
            0 => None,
            1 => stmts.pop(),
            _ => Some(self.stmt_node(StmtKind::Block(Block { stmts, span: Span::NONE, region: None }), span)),
        }
    }

    pub(crate) fn local_declarator(
        &mut self,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
        base: Qty,
        place: Place,
    ) -> Option<Stmt> {
        let name = d.declarator.name?;
        if is_inferred(decl) {
            return self.auto_local(decl, d, name);
        }
        let mut declared = self.declare_type(base, &d.declarator, place);
        if place.role == Role::Typedef {
            self.check_redeclared(name);
            let ty = self.typedef_attributes(declared.ty, decl, d)?;
            self.scopes.declare(name.name, Entity::Typedef(ty), name.span);
            return None;
        }
        self.refuse_attributes(&decl.specs.attrs);
        self.refuse_attributes(&d.declarator.attrs);
        self.check_attributes(&declared, &decl.specs, &d.declarator);
        self.check_asm_label(&d.declarator, true, false);
        if matches!(self.kind(declared.ty.ty), TyKind::Func(_)) {
            self.attach_attributes(&mut declared, &decl.specs, &d.declarator, false);
            let id = self.declare_function(
                name,
                &declared,
                &decl.specs,
                &d.declarator,
                Place { role: Role::Global, ..place },
                false,
            );
            self.scopes.declare(name.name, Entity::Func(id), name.span);
            return None;
        }
        match decl.specs.storage {
            Some(ast::Storage::Static) => {
                self.static_local(name, declared.ty, decl, d);
                None
            }
            Some(ast::Storage::Extern) => {
                let id = self.extern_local(name, declared.ty, decl, d);
                self.scopes.declare(name.name, Entity::Global(id), name.span);
                None
            }
            _ => match self.list_pointer(name, declared.ty, d) {
                Some(cursor) => Some(cursor),
                None => self.plain_local(name, declared.ty, declared.heap, decl, d),
            },
        }
    }

    pub(crate) fn check_redeclared(&mut self, name: ast::Ident) {
        // What stands for a place may stand for it again.
        if crate::spread_counts::is_place(name.name) {
            return;
        }
        if let Some((entity, span)) = self.scopes.lookup_here(name.name) {
            let (poison, span) = (matches!(entity, Entity::Poison), *span);
            if !poison {
                self.report(
                    Diagnostic::error(
                        codes::CONFLICT,
                        name.span,
                        format!("`{}` is declared twice in this block", name.name),
                    )
                    .label(span, "declared here"),
                );
            }
        }
    }

    pub(crate) fn auto_local(&mut self, decl: &ast::Decl, d: &ast::InitDeclarator, name: ast::Ident) -> Option<Stmt> {
        if decl.specs.storage == Some(ast::Storage::Static) {
            let ty = self.inferred_static_type(decl, d, name)?;
            self.static_local(name, ty, decl, d);
            return None;
        }
        let value = self.inferred_value(d, name)?;
        let mut ty = Qty { quals: declared_quals(decl), ..value.ty };
        if let Some(p) = self.program.types.as_pointer(ty.ty) {
            let region = self.fresh_region();
            let own = match p.own {
                Own::Unique | Own::Rc | Own::View => Own::Shared,
                other => other,
            };
            ty.ty = self.types().pointer(Pointer { region, own, nonnull: false, ..p });
            ty.ty = self.inferred_bounds_of(name.span, ty.ty, p.bounds);
        }
        self.check_redeclared(name);
        let id = self.new_local(Some(name.name), ty, name.span, false);
        if let Some(f) = self.f.as_mut().filter(|f| f.inferred.contains_key(&name.span)) {
            f.local_keys.insert(id, name.span);
        }
        self.note_assigned(id, &value);
        let value = self.coerce(value, ty.ty, Why::Local);
        if ty.quals.is_const {
            self.note_known(id, &value);
        }
        self.scopes.declare(name.name, Entity::Local(id), name.span);
        Some(self.stmt_node(StmtKind::Declare(id, Some(Init::Expr(value))), d.declarator.span))
    }

    pub(crate) fn note_known(&mut self, id: LocalId, value: &Expr) {
        let known = match &*value.kind {
            ExprKind::Int(n) => Known::Int(*n),
            ExprKind::Float(f) => Known::Float(*f),
            _ => return,
        };
        if let Some(f) = &mut self.f {
            f.known.insert(id, known);
        }
    }

    pub(crate) fn plain_local(
        &mut self,
        name: ast::Ident,
        mut ty: Qty,
        heap: bool,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
    ) -> Option<Stmt> {
        self.check_redeclared(name);
        self.refuse_left_out(ty.ty, name.span);
        if d.declarator.asm_label.is_some() && decl.specs.storage == Some(ast::Storage::Register) {
            self.error(codes::DECLARATION, name.span, "a variable in a certain register is not built");
        }
        if decl.specs.constexpr {
            ty.quals.is_const = true;
        }
        if matches!(self.kind(ty.ty), TyKind::Void) {
            self.error(codes::INCOMPLETE, name.span, "a variable cannot be `void`");
            self.poison(Some(name));
            return None;
        }
        let unknown_array = matches!(self.kind(ty.ty), TyKind::Array { len: ArrayLen::Unknown, .. });
        let completed = unknown_array && d.init.is_some();
        if !completed && !self.program.types.is_complete(ty.ty) && !self.is_error(ty.ty) {
            let text = self.show(ty.ty);
            self.error(codes::INCOMPLETE, name.span, format!("a variable cannot have the incomplete type `{text}`"));
            self.poison(Some(name));
            return None;
        }
        if self.reject_counted_tail(ty.ty, name.span) {
            self.poison(Some(name));
            return None;
        }
        if let Some(ast::Initializer::Expr(e)) = &d.init {
            ty.ty = self.adopt_target(ty.ty, e);
        }
        ty.ty = self.inferred_type(name.span, ty.ty);
        let id = self.new_local(Some(name.name), ty, name.span, heap);
        let align = self.declared_alignment(&decl.specs, &d.declarator);
        if let Some(f) = &mut self.f {
            if let Some(local) = f.locals.get_mut(id.0 as usize) {
                local.align = align;
            }
            if f.inferred.contains_key(&name.span) {
                f.local_keys.insert(id, name.span);
            }
            if d.declarator
                .attrs
                .iter()
                .chain(&decl.specs.attrs)
                .any(|a| matches!(a.name.as_str(), "unused" | "maybe_unused"))
            {
                f.used.insert(id);
            }
        }
        self.scopes.declare(name.name, Entity::Local(id), name.span);
        if matches!(self.kind(ty.ty), TyKind::Key(..)) {
            self.open_barrier();
        }
        let init = d.init.as_ref().map(|init| self.local_init(id, init, ty, name.span));
        let init = match init {
            Some((init, whole)) => {
                if let Some(f) = &mut self.f {
                    if let Some(local) = f.locals.get_mut(id.0 as usize) {
                        local.ty = whole;
                    }
                }
                if let Init::Expr(value) = &init {
                    if matches!(*value.kind, ExprKind::Error) && self.muted == 0 {
                        // What follows from the mistake is not reported.
                        self.scopes.declare(name.name, Entity::Poison, name.span);
                        if let Some(f) = &mut self.f {
                            f.used.insert(id);
                        }
                    }
                    if ty.quals.is_const {
                        self.note_known(id, value);
                    }
                }
                self.check_own_use(id, name, whole, &init);
                Some(init)
            }
            None => {
                if decl.specs.constexpr {
                    self.error(codes::INITIALISER, name.span, "a `constexpr` object needs an initialiser");
                }
                None
            }
        };
        let declaration = self.stmt_node(StmtKind::Declare(id, init), Span::new(name.span.lo, d.declarator.span.hi));
        // After a `*` an attribute is the variable's, too.
        let behind_star = d.declarator.derived.iter().flat_map(|step| match step {
            ast::Derived::Pointer(quals) => quals.attrs.as_slice(),
            _ => &[],
        });
        let attributes = d.declarator.attrs.iter().chain(&decl.specs.attrs).chain(behind_star);
        let mut cleanups = attributes.filter(|a| a.name.as_str() == "cleanup" && self.options.plain_c);
        let Some(attribute) = cleanups.next() else { return Some(declaration) };
        // gcc runs the last one of a list, clang the first.
        if let Some(second) = cleanups.next() {
            self.error(codes::LATER, second.span, "a second `cleanup` of a variable is not built");
        }
        Some(self.with_cleanup(declaration, name, attribute))
    }

    /// A variable has no value in its own initialiser. Its address may be passed on if it can be
    /// zeroed first.
    fn check_own_use(&mut self, id: LocalId, name: ast::Ident, ty: Qty, init: &Init) {
        if !self.checked() || !matches!(self.kind(ty.ty), TyKind::Array { .. } | TyKind::Record(_)) {
            return;
        }
        let (span, message, help) = match walk::own_use(id, init) {
            walk::OwnUse::Read(span) => (
                span,
                format!("`{}` is not initialised yet: its own initialiser reads it", name.name),
                "give the part a value of its own, and assign what depends on it after the declaration",
            ),
            walk::OwnUse::Address(span) if self.program.types.needs_init(ty.ty) => (
                span,
                format!("`{}` holds a `nonnull` pointer, and its address is used before it is initialised", name.name),
                "use the address after the declaration",
            ),
            _ => return,
        };
        self.report(Diagnostic::error(codes::INITIALISER, span, message).label(name.span, "declared here").help(help));
    }

    /// `__attribute__((cleanup(f)))`: a call of `f` with the variable's address when its scope is
    /// left.
    fn with_cleanup(&mut self, declaration: Stmt, name: ast::Ident, attribute: &ast::Attribute) -> Stmt {
        let span = declaration.span;
        let Some(function) = attribute.args.first() else { return declaration };
        let variable = ast::Expr { kind: ast::ExprKind::Ident(name.name), span: name.span };
        let kind = ast::ExprKind::Unary(ast::UnaryOp::AddrOf, Box::new(variable));
        let address = ast::Expr { kind, span: name.span };
        let call = self.call(function, std::slice::from_ref(&address), false, span, None);
        let call = self.stmt_node(StmtKind::Expr(call), span);
        let defer = self.stmt_node(StmtKind::Defer(Box::new(call)), span);
        let block = Block { stmts: vec![declaration, defer], span: Span::NONE, region: None };
        self.stmt_node(StmtKind::Block(block), span)
    }

    /// Whether the type is a struct with a link to another one of it.
    fn is_node(&self, ty: Ty) -> bool {
        let types = &self.program.types;
        let Some(fields) = types.as_record(ty).and_then(|record| types.record(record).fields.as_ref()) else {
            return false;
        };
        fields.iter().any(|field| types.as_pointer(field.ty.ty).is_some_and(|p| p.target.ty == ty))
    }

    /// `char **p = argv + 1;`: what the pointers that an unannotated pointer to pointers leads to
    /// know is taken from the initialiser.
    pub(crate) fn adopt_target(&mut self, ty: Ty, init: &ast::Expr) -> Ty {
        let Some(p) = self.program.types.as_pointer(ty) else { return ty };
        let Some(inner) = self.program.types.as_pointer(p.target.ty) else { return ty };
        if inner.bounds != Bounds::Thin || inner.raw || !self.checked() {
            return ty;
        }
        // `struct node **tail = &head;` goes on to the nodes' links, which lead to one each.
        if self.is_inferred_address(init) && self.is_node(inner.target.ty) {
            return ty;
        }
        self.muted += 1;
        let value = self.value(init);
        self.muted -= 1;
        let Some(q) = self.program.types.as_pointer(value.ty.ty) else { return ty };
        match self.program.types.as_pointer(q.target.ty) {
            Some(have)
                if self.program.types.same_modulo_regions(have.target.ty, inner.target.ty)
                    && have.target.quals == inner.target.quals
                    && have.bounds != Bounds::Thin =>
            {
                let ty = self.types().pointer(Pointer { bounds: have.bounds, nonnull: have.nonnull, ..inner });
                let target = Qty { ty, ..p.target };
                self.types().pointer(Pointer { target, ..p })
            }
            _ => ty,
        }
    }

    /// The initialiser of a local, and its type with an array's length filled in.
    pub(crate) fn local_init(&mut self, id: LocalId, init: &ast::Initializer, ty: Qty, span: Span) -> (Init, Qty) {
        if let ast::Initializer::Expr(e) = init {
            if !self.has_members_to_fill(ty.ty) {
                let value = self.expr_expecting(e, Some(ty.ty));
                let value = self.rvalue(value);
                self.note_assigned(id, &value);
                let value = self.measured_for(id, value);
                let value = self.coerce(value, ty.ty, Why::Local);
                return (Init::Expr(value), ty);
            }
        }
        let (init, whole) = self.initialiser(init, ty.ty, span);
        (init, Qty { ty: whole, ..ty })
    }

    pub(crate) fn static_local(&mut self, name: ast::Ident, ty: Qty, decl: &ast::Decl, d: &ast::InitDeclarator) {
        self.check_redeclared(name);
        self.reject_counted_tail(ty.ty, name.span);
        self.static_end(ty.ty, name.span);
        self.check_static_regions(ty.ty, name.span);
        if !self.type_params.is_empty() {
            self.error_help(
                codes::GENERIC,
                name.span,
                "a generic function has no static locals: each instance would need its own",
                "move it to file scope",
            );
        }
        if let Some(&id) = self.statics.get(&name.span) {
            self.scopes.declare(name.name, Entity::Global(id), name.span);
            if self.f.as_ref().is_some_and(|f| f.phase != crate::infer::Phase::Final) {
                return;
            }
            self.init_static(id, ty, decl, d, name);
            return;
        }
        let id = GlobalId(self.program.globals.len() as u32);
        let align = self.declared_alignment(&decl.specs, &d.declarator);
        let owner = self.f.as_ref().and_then(|f| f.func);
        self.program.globals.push(Global {
            name: name.name,
            symbol: None,
            ty,
            linkage: Linkage::Internal,
            trust: Trust::Checked,
            init: Some(ConstInit::Zero),
            thread_local: decl.specs.thread_local,
            align,
            attrs: vec![],
            owner,
            used: false,
            span: name.span,
        });
        self.statics.insert(name.span, id);
        self.scopes.declare(name.name, Entity::Global(id), name.span);
        self.init_static(id, ty, decl, d, name);
    }

    pub(crate) fn init_static(
        &mut self,
        id: GlobalId,
        ty: Qty,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
        name: ast::Ident,
    ) {
        let mut ty = ty;
        ty.quals.is_const |= decl.specs.constexpr;
        match &d.init {
            Some(init) => {
                let (init, ty) = self.static_initialiser(init, ty, name.span);
                let global = &mut self.program.globals[id.0 as usize];
                global.ty = ty;
                global.init = Some(init);
            }
            None if self.program.types.needs_init(ty.ty) => {
                let text = self.show(ty.ty);
                self.error(
                    codes::NULL,
                    name.span,
                    format!("`{}` must be initialised: `{text}` holds a nonnull pointer", name.name),
                );
            }
            None => {}
        }
        if !self.program.types.is_complete(self.program.globals[id.0 as usize].ty.ty) && !self.is_error(ty.ty) {
            let text = self.show(ty.ty);
            self.error(codes::INCOMPLETE, name.span, format!("a variable cannot have the incomplete type `{text}`"));
        }
    }

    pub(crate) fn extern_local(
        &mut self,
        name: ast::Ident,
        ty: Qty,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
    ) -> GlobalId {
        if let Some((Entity::Global(id), _)) = self.scopes.lookup_file(name.name) {
            return *id;
        }
        let id = GlobalId(self.program.globals.len() as u32);
        let foreign = self.f.as_ref().is_some_and(|f| f.unchecked);
        self.program.globals.push(Global {
            name: name.name,
            symbol: d.declarator.asm_label.as_ref().map(|s| Symbol::new(&String::from_utf8_lossy(s))),
            ty,
            linkage: Linkage::External,
            trust: if foreign { Trust::Foreign } else { Trust::Checked },
            init: None,
            thread_local: decl.specs.thread_local,
            align: None,
            attrs: vec![],
            owner: None,
            used: false,
            span: name.span,
        });
        id
    }
}

pub(crate) fn is_maybe_unused(attr: &ast::Attribute) -> bool {
    matches!(attr.name.as_str(), "unused" | "maybe_unused")
}
