//! Adjacent assignments to `counted_by` pointers and the fields that count them (language.md
//! section 2, "Counts").

use crate::checker::Checker;
use crate::convert::Why;
use crate::tree::*;
use crate::types::*;
use source::Span;
use syntax::ast;

/// One assignment of a group.
pub(crate) struct Store<'a> {
    place: Expr,
    pub value: std::borrow::Cow<'a, ast::Expr>,
    base: Span,
    pub field: u32,
    pub pointer: bool,
}

impl Store<'_> {
    /// The type of what is assigned to.
    pub fn ty(&self) -> Ty {
        self.place.ty.ty
    }

    /// Only what it stores to.
    pub fn without_value(self) -> Store<'static> {
        let value = ast::Expr { span: self.value.span, kind: ast::ExprKind::Error };
        Store { value: std::borrow::Cow::Owned(value), place: self.place, ..self }
    }
}

impl Checker<'_> {
    /// If a group of such assignments begins here: its statements, and how many it covers.
    pub(crate) fn count_group(&mut self, stmts: &[ast::Stmt]) -> Option<(Vec<Stmt>, usize)> {
        if !self.checked() {
            return None;
        }
        let first = assignment(stmts.first()?)?;
        assignment(stmts.get(1)?)?;
        let first = self.counted_store(first)?;
        let record = self.store_record(&first)?;
        let base = self.map.snippet(first.base).to_string();
        let mut group = vec![first];
        for stmt in &stmts[1..] {
            let Some(store) = assignment(stmt).and_then(|s| self.counted_store(s)) else { break };
            let same = self.map.snippet(store.base) == base && self.store_record(&store) == Some(record);
            if !same || group.iter().any(|s| s.field == store.field) {
                break;
            }
            group.push(store);
        }
        if !self.is_complete(record, &group.iter().collect::<Vec<_>>()) {
            return None;
        }
        let used = group.len();
        let span = stmts.first()?.span.to(stmts.get(used - 1)?.span);
        self.emit_group(group, span).map(|stmts| (stmts, used))
    }

    /// Whether a pointer and a count are stored, and of each count all pointers that it counts.
    pub(crate) fn is_complete(&self, record: RecordId, group: &[&Store]) -> bool {
        let Some(fields) = &self.program.types.record(record).fields else { return false };
        group.iter().any(|s| s.pointer)
            && group.iter().any(|s| !s.pointer)
            && group.iter().filter(|s| !s.pointer).all(|counter| {
                fields.iter().enumerate().all(|(n, f)| {
                    let mentions =
                        self.pointer_count(f.ty.ty).is_some_and(|c| self.count_fields(c).contains(&counter.field));
                    !mentions || group.iter().any(|s| s.field == n as u32)
                })
            })
    }

    fn pointer_count(&self, ty: Ty) -> Option<CountId> {
        match self.program.types.as_pointer(ty)?.bounds {
            Bounds::Counted(id) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn store_record(&self, store: &Store) -> Option<RecordId> {
        let ExprKind::Field(base, _) = &*store.place.kind else { return None };
        self.program.types.as_record(base.ty.ty)
    }

    /// The assignment, if it is to a counted pointer or a counter of a record.
    pub(crate) fn counted_store<'a>(
        &mut self,
        (place, op, value): (&'a ast::Expr, Option<ast::BinaryOp>, &'a ast::Expr),
    ) -> Option<Store<'a>> {
        let base = match &place.kind {
            ast::ExprKind::Arrow(base, _) | ast::ExprKind::Dot(base, _) if is_pure(base) => base.span,
            _ => return None,
        };
        if !self.may_be_counted(place) {
            return None;
        }
        let typed = self.tried(place);
        let ExprKind::Field(owner, n) = &*typed.kind else { return None };
        if !self.stable_base(owner) {
            return None;
        }
        let id = self.program.types.as_record(owner.ty.ty)?;
        let record = self.program.types.record(id);
        if record.kind != RecordKind::Struct {
            return None;
        }
        let fields = record.fields.clone()?;
        let pointer = self.pointer_count(fields.get(*n as usize)?.ty.ty).is_some();
        if !pointer && !self.counters_of(&fields).contains(n) {
            return None;
        }
        let field = *n;
        let value = match op {
            None => std::borrow::Cow::Borrowed(value),
            Some(op) if !pointer => std::borrow::Cow::Owned(ast::Expr {
                span: value.span,
                kind: ast::ExprKind::Binary(op, Box::new(place.clone()), Box::new(value.clone())),
            }),
            Some(_) => return None,
        };
        Some(Store { place: typed, value, base, field, pointer })
    }

    fn emit_group(&mut self, group: Vec<Store>, span: Span) -> Option<Vec<Stmt>> {
        let mut before = vec![];
        let mut stores = vec![];
        let mut counter_stored = false;
        let mut stored: Vec<u32> = vec![];
        for store in group {
            let place = store.place.clone();
            if self.guarded_place(&place) {
                return Some(vec![]);
            }
            let value = self.expr_expecting(&store.value, Some(place.ty.ty));
            let value = self.rvalue(value);
            let value = self.coerce(value, place.ty.ty, Why::Store);
            let mut value = self.takes_old(&place, value);
            if !stored.is_empty() && !self.quiet_value(&value) {
                return None;
            }
            if store.pointer && counter_stored {
                if let Some(old) = old_of(&mut value) {
                    let saved = self.new_local(None, old.ty, Span::NONE, false);
                    let place = self.place_node(ExprKind::Local(saved), old.ty, span);
                    let owned = self.program.types.owns(old.ty.ty);
                    let kind = if owned { ExprKind::Move(place) } else { ExprKind::Load(place) };
                    let load = self.node(kind, old.ty.ty, span);
                    let taken = std::mem::replace(old, load);
                    before.push(self.stmt_node(StmtKind::Declare(saved, Some(Init::Expr(taken))), span));
                }
            }
            counter_stored |= !store.pointer;
            stored.push(store.field);
            stores.push((place, value));
        }
        before.push(self.stmt_node(StmtKind::CountGroup(stores), span));
        Some(before)
    }

    /// Whether a later value of a group makes no call but the malloc family's, and reads nothing
    /// through a counted pointer: what the group has stored so far need not fit together yet.
    fn quiet_value(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Null | ExprKind::Func(_) | ExprKind::SizeOf(_) => true,
            ExprKind::Load(place)
            | ExprKind::Move(place)
            | ExprKind::Borrow(_, place)
            | ExprKind::AddrOf(place)
            | ExprKind::Decay(place) => self.quiet_place(place),
            ExprKind::Alloc(alloc) => match &alloc.size {
                AllocSize::Bytes(n) => self.quiet_value(n),
                AllocSize::Product(a, b) => self.quiet_value(a) && self.quiet_value(b),
            },
            ExprKind::New(new) => new.init.is_none() && new.count.as_ref().is_none_or(|c| self.quiet_value(c)),
            ExprKind::Convert(_, a) | ExprKind::Unary(_, a) => self.quiet_value(a),
            ExprKind::Binary(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.quiet_value(a) && self.quiet_value(b)
            }
            ExprKind::PtrAdd(a, b, _) | ExprKind::PtrDiff(a, b) => self.quiet_value(a) && self.quiet_value(b),
            ExprKind::Cond(c, a, b) => self.quiet_value(c) && self.quiet_value(a) && self.quiet_value(b),
            _ => false,
        }
    }

    /// Whether a place is reached without reading a counted pointer.
    fn quiet_place(&self, e: &Expr) -> bool {
        if self.pointer_count(e.ty.ty).is_some() {
            return false;
        }
        match &*e.kind {
            ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::StrLit(_) => true,
            ExprKind::Field(base, _) => self.quiet_place(base),
            ExprKind::Deref(p) => self.quiet_value(p),
            ExprKind::IndexPointer(p, i) => self.quiet_value(p) && self.quiet_value(i),
            ExprKind::IndexArray(base, i) => {
                let flexible = matches!(self.kind(base.ty.ty), TyKind::Array { len: ArrayLen::Flexible(_), .. });
                !flexible && self.quiet_place(base) && self.quiet_value(i)
            }
            _ => false,
        }
    }

    /// Whether a group's stores cannot change what the base of its places is: nothing that it reads
    /// is a counted pointer or a counter.
    fn stable_base(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Local(_) | ExprKind::Global(_) => true,
            ExprKind::Field(base, n) => {
                let Some(id) = self.program.types.as_record(base.ty.ty) else { return false };
                let fields = self.program.types.record(id).fields.clone().unwrap_or_default();
                self.pointer_count(e.ty.ty).is_none()
                    && !self.counters_of(&fields).contains(n)
                    && self.stable_base(base)
            }
            ExprKind::Deref(p) => self.stable_value(p),
            ExprKind::IndexArray(base, i) => self.stable_base(base) && self.stable_value(i),
            ExprKind::IndexPointer(p, i) => self.stable_value(p) && self.stable_value(i),
            _ => false,
        }
    }

    fn stable_value(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Int(_) => true,
            ExprKind::Convert(_, inner) => self.stable_value(inner),
            ExprKind::Load(place) | ExprKind::Decay(place) | ExprKind::AddrOf(place) => self.stable_base(place),
            _ => false,
        }
    }
}

/// The old block of a `realloc` that a value is, through conversions.
pub(crate) fn old_of(value: &mut Expr) -> Option<&mut Expr> {
    match &mut *value.kind {
        ExprKind::Convert(_, inner) => old_of(inner),
        ExprKind::Alloc(alloc) => alloc.old.as_mut(),
        _ => None,
    }
}

/// `place = value;` or `place op= value;`
pub(crate) fn assignment(stmt: &ast::Stmt) -> Option<(&ast::Expr, Option<ast::BinaryOp>, &ast::Expr)> {
    let ast::StmtKind::Expr(e) = &stmt.kind else { return None };
    let ast::ExprKind::Assign(op, place, value) = &e.kind else { return None };
    matches!(place.kind, ast::ExprKind::Arrow(..) | ast::ExprKind::Dot(..)).then_some((
        place.as_ref(),
        *op,
        value.as_ref(),
    ))
}

/// Whether evaluating the expression twice is the same as once.
pub(crate) fn is_pure(e: &ast::Expr) -> bool {
    match &e.kind {
        ast::ExprKind::Ident(_) | ast::ExprKind::Int(_) => true,
        ast::ExprKind::Arrow(base, _) | ast::ExprKind::Dot(base, _) => is_pure(base),
        ast::ExprKind::Unary(ast::UnaryOp::Deref | ast::UnaryOp::AddrOf, base) => is_pure(base),
        ast::ExprKind::Index(a, b) => is_pure(a) && is_pure(b),
        _ => false,
    }
}
