//! Statements and calls of regions and ownership.

use crate::checker::Checker;
use crate::codes;
use crate::scope::Entity;
use crate::tree::*;
use crate::types::*;
use source::{with_article, Diagnostic, Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// `arena r, s;`, `reap r;`
    pub(crate) fn arena_stmt(&mut self, reap: bool, names: &[ast::Ident], span: Span) -> Option<Stmt> {
        let mut stmts = vec![];
        for &name in names {
            self.check_redeclared(name);
            let region = self.declare_region(name, RegionKind::Lifo(reap));
            let Region::Body(number) = region else { continue };
            let local = self.handle_local(reap, region, name);
            self.open_barrier();
            stmts.push(self.stmt_node(StmtKind::Arena(local, number), name.span));
        }
        Some(self.stmt_node(StmtKind::Block(Block { stmts, span: Span::NONE, region: None }), span))
    }

    fn handle_local(&mut self, reap: bool, region: Region, name: ast::Ident) -> LocalId {
        let ty = self.types().intern(TyKind::Handle(reap, region));
        let quals = Quals { is_const: true, ..Quals::default() };
        let local = self.new_local(Some(name.name), Qty { ty, quals }, name.span, false);
        self.scopes.declare(name.name, Entity::Local(local), name.span);
        if let Some(f) = &mut self.f {
            // It is there for its region too.
            f.used.insert(local);
        }
        local
    }

    /// `borrow b = x;`
    pub(crate) fn borrow_stmt(&mut self, name: ast::Ident, value: &ast::Expr, span: Span) -> Option<Stmt> {
        let value = self.value(value);
        self.check_redeclared(name);
        let Some(p) = self.program.types.as_pointer(value.ty.ty) else {
            if !self.is_error(value.ty.ty) {
                let text = self.show(value.ty.ty);
                let help = match self.kind(value.ty.ty) {
                    TyKind::Key(..) => "open it, `open arena h = k;`, or lend it to a function".to_string(),
                    _ if self.program.types.owns(value.ty.ty) => {
                        format!("look at it through a view: `const {text} *view p = &x;`")
                    }
                    _ => "borrow its address: `borrow b = &x;`".to_string(),
                };
                self.error_help(
                    codes::OWNERSHIP,
                    value.span,
                    format!("{} cannot be borrowed: a borrow is a pointer into what is lent", with_article(&text)),
                    help,
                );
            }
            self.poison(Some(name));
            return Some(self.stmt_node(StmtKind::Empty, span));
        };
        if self.program.types.owns(value.ty.ty) && !self.lendable(&value) {
            self.error_help(
                codes::OWNERSHIP,
                value.span,
                "only what a path owns is borrowed, and no variable owns this new value",
                "keep it in a variable, borrow that, and free it after the borrow",
            );
            self.poison(Some(name));
            return Some(self.stmt_node(StmtKind::Empty, span));
        }
        let region = self.declare_region(name, RegionKind::Loan);
        let bounds = if self.inferable(&Pointer { bounds: Bounds::Thin, ..p }) { Bounds::Thin } else { p.bounds };
        let own = if p.own == Own::View { Own::View } else { Own::Shared };
        let ty = self.types().pointer(Pointer { region, own, bounds, ..p });
        let ty = self.inferred_bounds(name.span, ty);
        let local = self.new_local(Some(name.name), Qty::plain(ty), name.span, false);
        if let Some(f) = &mut self.f {
            if f.inferred.contains_key(&name.span) {
                f.local_keys.insert(local, name.span);
            }
        }
        self.note_assigned(local, &value);
        let value = self.borrowed(value);
        let value = self.coerce(value, ty, crate::convert::Why::Local);
        self.scopes.declare(name.name, Entity::Local(local), name.span);
        self.open_barrier();
        Some(self.stmt_node(StmtKind::Declare(local, Some(Init::Expr(value))), span))
    }

    /// `cursor pp = &place;`
    pub(crate) fn cursor_stmt(&mut self, name: ast::Ident, place: &ast::Expr, span: Span) -> StmtKind {
        let inner = match &place.kind {
            ast::ExprKind::Unary(ast::UnaryOp::AddrOf, inner) => Some(inner),
            _ => None,
        };
        let place = match inner {
            Some(inner) => self.expr(inner),
            None => {
                self.error_help(
                    codes::OWNERSHIP,
                    place.span,
                    "a cursor is made of the address of an owned place",
                    "write `cursor pp = &place;`",
                );
                self.error_node(place.span)
            }
        };
        if self.is_error(place.ty.ty) {
            self.poison(Some(name));
            return StmtKind::Empty;
        }
        if !place.is_place() || !self.program.types.owns(place.ty.ty) {
            let text = self.show(place.ty.ty);
            self.error(
                codes::OWNERSHIP,
                span,
                format!("a cursor walks through owned places, and this is {}", with_article(&text)),
            );
            self.poison(Some(name));
            return StmtKind::Empty;
        }
        // A cursor over a slot takes out what is in it, and puts it back: in a frozen block others
        // would see that.
        if place.ty.quals.is_const && self.checked() {
            self.error_help(
                codes::CONST,
                span,
                "this is const: a cursor takes what is in the place, and puts it back",
                "look at it for one access, `p->field->n`, or hold what it leads to: `retain(p->field)`",
            );
            self.poison(Some(name));
            return StmtKind::Empty;
        }
        if self.guarded_member(&place, span) || self.guarded_field(&place, span) {
            self.poison(Some(name));
            return StmtKind::Empty;
        }
        self.check_redeclared(name);
        let region = self.declare_region(name, RegionKind::Loan);
        let ty = self.types().pointer(Pointer {
            target: place.ty,
            bounds: Bounds::Thin,
            nonnull: true,
            own: Own::Shared,
            region,
            raw: false,
        });
        let local = self.new_local(Some(name.name), Qty::plain(ty), name.span, false);
        if let Some(f) = &mut self.f {
            f.cursors.insert(local);
        }
        self.scopes.declare(name.name, Entity::Local(local), name.span);
        self.open_barrier();
        StmtKind::Cursor(local, place)
    }

    /// `open arena h = k;`
    pub(crate) fn open_stmt(&mut self, reap: bool, name: ast::Ident, key: &ast::Expr, span: Span) -> StmtKind {
        let key = self.expr(key);
        if self.is_error(key.ty.ty) {
            self.poison(Some(name));
            return StmtKind::Empty;
        }
        let TyKind::Key(kind, region) = *self.kind(key.ty.ty) else {
            let text = self.show(key.ty.ty);
            self.error(codes::REGION, key.span, format!("only a key is opened, and this is {}", with_article(&text)));
            self.poison(Some(name));
            return StmtKind::Empty;
        };
        if !key.is_place() {
            self.error_help(
                codes::REGION,
                key.span,
                "the key that is opened stays where it is until the block ends",
                "store it in a variable first",
            );
            self.poison(Some(name));
            return StmtKind::Empty;
        }
        if kind.is_reap() != reap {
            let (is, word) = if kind.is_reap() { ("a reap", "reap") } else { ("an arena", "arena") };
            self.error_help(
                codes::REGION,
                span,
                format!("the key of {is} is opened with `open {word}`"),
                format!("write `open {word} {} = ...`", name.name),
            );
        }
        self.check_redeclared(name);
        let local = self.handle_local(kind.is_reap(), region, name);
        self.open_barrier();
        StmtKind::Open(local, key, region)
    }

    /// `unpack p as {@d, k: mine, root};`
    pub(crate) fn unpack_stmt(
        &mut self,
        place: &ast::Expr,
        names: &[ast::Ident],
        bindings: &[(ast::Ident, ast::Ident)],
        span: Span,
    ) -> StmtKind {
        let place = self.expr(place);
        let id = self.program.types.as_record(place.ty.ty);
        let exists = id.map_or(vec![], |id| self.program.types.record(id).exists.clone());
        let Some(id) = id.filter(|_| !exists.is_empty() && place.is_place()) else {
            if !self.is_error(place.ty.ty) {
                let text = self.show(place.ty.ty);
                let message =
                    format!("only a place of a struct with `exists` is unpacked, and this is {}", with_article(&text));
                let to_struct = self
                    .program
                    .types
                    .as_pointer(place.ty.ty)
                    .filter(|p| self.program.types.as_record(p.target.ty).is_some());
                match to_struct {
                    Some(_) => {
                        self.error_help(codes::REGION, place.span, message, "write `*` in front: `unpack *s as {...};`")
                    }
                    None => self.error(codes::REGION, place.span, message),
                }
            }
            // What it was to declare is known, so that its uses are not mistakes of their own.
            for &name in names {
                self.declare_region(name, RegionKind::Block);
            }
            for (_, name) in bindings {
                self.poison(Some(*name));
            }
            return StmtKind::Empty;
        };
        if names.len() != exists.len() {
            let message = format!("{} hidden regions get {} names here", exists.len(), names.len());
            self.error(codes::REGION, span, message);
        }
        let mut regions = vec![];
        for (n, bound) in exists.iter().enumerate() {
            let kind = if bound.is_some() { RegionKind::Hidden } else { RegionKind::Dynamic };
            let region = match names.get(n) {
                Some(&name) => self.declare_region(name, kind),
                None => self.new_region(None, kind, span).unwrap_or(Region::Heap),
            };
            regions.push(region);
        }
        let fields = self.program.types.record(id).fields.clone().unwrap_or_default();
        let mut bound = vec![];
        for &(field, name) in bindings {
            let Some(n) = self.own_field(id, field.name) else {
                let text = self.show(place.ty.ty);
                self.error(codes::MEMBER, field.span, format!("`{text}` has no member `{}`", field.name));
                self.poison(Some(name));
                continue;
            };
            let Some(declared) = fields.get(n as usize) else { continue };
            let ty = self.revealed(declared.ty.ty, &regions);
            self.check_redeclared(name);
            let local = self.new_local(Some(name.name), Qty::plain(ty), name.span, false);
            self.scopes.declare(name.name, Entity::Local(local), name.span);
            bound.push((local, n));
        }
        let moves = self.program.types.owns(place.ty.ty) && self.owned_path(&place);
        self.open_barrier();
        let regions = regions
            .into_iter()
            .filter_map(|r| match r {
                Region::Body(n) => Some(n),
                _ => None,
            })
            .collect();
        StmtKind::Unpack { place, regions, bindings: bound, moves }
    }

    /// A field's type with the hidden regions replaced.
    pub(crate) fn revealed(&mut self, ty: Ty, regions: &[Region]) -> Ty {
        self.types().map_regions(ty, &mut |r, _| match r {
            Region::Exists(n) => regions.get(n as usize).copied().unwrap_or(r),
            other => other,
        })
    }

    /// Whether a place is an owned path that is not lent.
    fn owned_path(&self, place: &Expr) -> bool {
        self.path_root(place).is_some_and(|id| self.f.as_ref().is_some_and(|f| !f.lent.contains(&id)))
    }

    /// The local that an owned path starts at: by its shape, a local, then fields and `unique`
    /// pointers to one object.
    pub(crate) fn path_root(&self, place: &Expr) -> Option<LocalId> {
        match &*place.kind {
            ExprKind::Local(id) => Some(*id),
            ExprKind::Field(base, _) => self.path_root(base),
            ExprKind::Deref(p) => match &*p.kind {
                ExprKind::Load(inner) => {
                    let p = self.program.types.as_pointer(p.ty.ty)?;
                    let cursor = self.cursor(inner).is_some();
                    let thin = p.own == Own::Unique && p.bounds == Bounds::Thin;
                    if thin || cursor {
                        self.path_root(inner)
                    } else {
                        None
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The cursor that a place is.
    pub(crate) fn cursor(&self, place: &Expr) -> Option<LocalId> {
        match *place.kind {
            ExprKind::Local(id) if self.f.as_ref().is_some_and(|f| f.cursors.contains(&id)) => Some(id),
            _ => None,
        }
    }

    /// Calls of the predeclared functions of ownership.
    pub(crate) fn ownership_call(
        &mut self,
        name: Symbol,
        args: &[ast::Expr],
        span: Span,
        expected: Option<Ty>,
    ) -> Option<Expr> {
        let key = match name.as_str() {
            "new_arena" => Some(KeyKind::Arena),
            "new_reap" => Some(KeyKind::Reap),
            "new_rc_arena" => Some(KeyKind::RcArena),
            "new_rc_reap" => Some(KeyKind::RcReap),
            "new_exchange_arena" => Some(KeyKind::Exchange),
            "share" | "retain" | "release" | "rfree" | "free_arena" => None,
            _ => return None,
        };
        if !self.tracked() {
            return None;
        }
        if let Some(kind) = key {
            if !args.is_empty() {
                self.error(codes::ARGUMENTS, span, format!("`{name}` takes no arguments"));
            }
            let ty = match expected.map(|t| (t, self.kind(t))) {
                Some((ty, TyKind::Key(k, _))) if *k == kind => ty,
                _ => {
                    let region = self.fresh_region();
                    self.types().intern(TyKind::Key(kind, region))
                }
            };
            return Some(self.node(ExprKind::NewKey(kind), ty, span));
        }
        Some(match (name.as_str(), args) {
            ("share", [p]) => self.share(p, span),
            ("retain", [p]) => self.retain(p, span),
            ("release", [p]) => self.dispose(name, None, p, span),
            ("free_arena", [p]) => self.dispose(name, None, p, span),
            ("release" | "rfree", [r, p]) => self.dispose(name, Some(r), p, span),
            _ => {
                let wants = match name.as_str() {
                    "rfree" => "a reap and a pointer",
                    "release" => "a counted pointer, in a reap the reap in front of it",
                    _ => "one argument",
                };
                self.error(codes::ARGUMENTS, span, format!("`{name}` takes {wants}"));
                self.error_node(span)
            }
        })
    }

    /// `share(p)`: gives a `unique` object to the collector.
    fn share(&mut self, p: &ast::Expr, span: Span) -> Expr {
        let value = self.value(p);
        if self.is_error(value.ty.ty) {
            return value;
        }
        self.note_given(&value, Own::Unique);
        match self.program.types.as_pointer(value.ty.ty) {
            Some(p) if p.own == Own::Unique && p.region == Region::Exchange => {
                self.error_help(
                    codes::EXCHANGE,
                    span,
                    "the collector takes no block of the exchange heap: it never looks at that heap".to_owned(),
                    "free the block, move it, or send it",
                );
                self.error_node(span)
            }
            Some(p) if p.own == Own::Unique => {
                let shared = self.with_own(value, Own::Shared);
                Expr { span, ..shared }
            }
            _ => {
                let text = self.show(value.ty.ty);
                self.error(
                    codes::OWNERSHIP,
                    span,
                    format!("only a `unique` pointer is shared, and this is {}", with_article(&text)),
                );
                self.error_node(span)
            }
        }
    }

    /// `retain(p)`
    fn retain(&mut self, p: &ast::Expr, span: Span) -> Expr {
        let place = self.expr(p);
        if self.is_error(place.ty.ty) {
            return place;
        }
        let counted = match self.kind(place.ty.ty) {
            TyKind::Ptr(p) => p.own == Own::Rc,
            TyKind::Key(kind, _) => kind.is_rc(),
            _ => false,
        };
        if !counted || !place.is_place() {
            let text = self.show(place.ty.ty);
            self.error_help(
                codes::OWNERSHIP,
                span,
                format!("`retain` counts another `rc` pointer to the object, and this is {}", with_article(&text)),
                "pass the variable or field that holds the `rc` pointer",
            );
            return self.error_node(span);
        }
        let ty = self.value_type(place.ty.ty);
        self.node(ExprKind::Retain(place), ty, span)
    }

    /// `release(p)`, `release(r, p)`, `rfree(r, p)`, `free_arena(k)`
    fn dispose(&mut self, name: Symbol, reap: Option<&ast::Expr>, p: &ast::Expr, span: Span) -> Expr {
        let void = self.program.types.common.void;
        let handle = reap.map(|r| self.value(r));
        let value = self.value(p);
        if self.is_error(value.ty.ty) || handle.as_ref().is_some_and(|h| self.is_error(h.ty.ty)) {
            return self.error_node(span);
        }
        let wanted = if name.as_str() == "rfree" { Own::Unique } else { Own::Rc };
        self.note_given(&value, wanted);
        let (fits, what) = match (name.as_str(), self.kind(value.ty.ty)) {
            ("free_arena", TyKind::Key(kind, _)) => (!kind.is_rc(), "the key of an arena"),
            ("free_arena", _) => (false, "the key of an arena"),
            ("release", TyKind::Key(kind, _)) => (kind.is_rc() && handle.is_none(), "an `rc` pointer or a counted key"),
            (_, TyKind::Ptr(p)) if name.as_str() == "rfree" => (p.own == Own::Unique, "a `unique` pointer"),
            (_, TyKind::Ptr(p)) => (p.own == Own::Rc, "an `rc` pointer or a counted key"),
            _ => (
                false,
                if name.as_str() == "rfree" { "a `unique` pointer" } else { "an `rc` pointer or a counted key" },
            ),
        };
        if !fits {
            let text = self.show(value.ty.ty);
            self.error(codes::OWNERSHIP, span, format!("`{name}` takes {what}, and this is {}", with_article(&text)));
            return self.error_node(span);
        }
        if let Some(handle) = &handle {
            let TyKind::Handle(is_reap, region) = *self.kind(handle.ty.ty) else {
                let text = self.show(handle.ty.ty);
                self.error(
                    codes::REGION,
                    handle.span,
                    format!("`{name}` takes the reap first, and this is {}", with_article(&text)),
                );
                return self.error_node(span);
            };
            if !is_reap {
                self.error_help(
                    codes::REGION,
                    handle.span,
                    "objects of an arena are not freed one by one: those of a reap are",
                    "make it a `reap`",
                );
                return self.error_node(span);
            }
            let own = self.program.types.as_pointer(value.ty.ty).map(|p| p.region);
            let known = |r: Region| matches!(r, Region::Heap | Region::Exchange | Region::Body(_));
            if own.is_some_and(|own| known(own) && known(region) && own != region) {
                let decl = |r: Region| match r {
                    Region::Body(n) => self.f.as_ref().and_then(|f| f.regions.get(n as usize)).cloned(),
                    _ => None,
                };
                let (declared, lies) = (decl(region), own.and_then(decl));
                let name = match (own, lies.as_ref().and_then(|d| d.name)) {
                    (Some(Region::Heap), _) => "`@heap`".to_string(),
                    (_, Some(name)) => format!("`@{name}`"),
                    _ => "another region".to_string(),
                };
                let message = format!("this pointer is not into the region of the reap, but into {name}");
                let mut report = Diagnostic::error(codes::REGION, value.span, message);
                if let Some(declared) = declared {
                    report = report.label(declared.span, "the reap");
                }
                if let Some(lies) = lies {
                    report = report.label(lies.span, "the region of the pointer");
                }
                self.report(report.help("free it with what it was allocated in"));
                return self.error_node(span);
            }
        }
        self.node(ExprKind::Dispose(value, handle), void, span)
    }
}
