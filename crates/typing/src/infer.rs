//! Inference of the bounds of locals (language.md section 2, "Defaults").
//!
//! The body of a function is checked in rounds until nothing changes, then once more for real. In
//! the first rounds each unannotated pointer local is taken to have all bounds that could be
//! (`fat null_terminated`), and loses what some value assigned to it lacks. Then all are taken to
//! be thin, and become `fat` where bounds are needed and were found to exist.

use crate::checker::Checker;
use crate::tree::*;
use crate::types::*;
use crate::walk::{any, Part};
use source::{Span, Symbol};
use syntax::ast;

/// What is known of one unannotated pointer local.
#[derive(Clone, Copy, Debug)]
pub struct Inferred {
    /// Every value assigned so far has bounds.
    pub avail: bool,
    /// Every value assigned so far is terminated.
    pub terminated: bool,
    /// Something was assigned that counts (not only null).
    pub assigned: bool,
    /// Bounds are needed somewhere.
    pub needs: bool,
    /// Its address is taken: its type is this.
    pub fixed: Option<Bounds>,
    /// Which locals of the function it may point into.
    pub reach: Option<Reach>,
    /// The value that took the bounds away, for messages.
    pub blame: Option<Span>,
    /// The declaration that this value has its type from, and behind how many pointers.
    pub declared: Option<(Span, u32)>,
    /// It is a `void *`.
    pub from_void: bool,
    /// It steps back, or an element before it is read.
    pub back: bool,
    /// Its bounds are inferred.
    pub bounds: bool,
    /// Its ownership is inferred.
    pub own: bool,
    /// The ownership of an owned value that was assigned.
    pub owned: Option<Own>,
    /// It is somewhere freed, released, consumed, or moved to where something owned is wanted.
    pub given: bool,
    /// A `unique` path or a view was assigned.
    pub viewed: bool,
    /// Something else was assigned, or it is written through, or used where a view is not allowed.
    pub not_view: bool,
    /// It has to be a view: something in a slot that it leads to is lent, or it gets a value of a
    /// local of which that is true.
    pub needs_view: bool,
    /// It moves on by an owned field of what it leads to (`n = n->next`), in a statement.
    pub steps: bool,
    /// It is assigned otherwise, too.
    pub strays: bool,
    /// It was found to be a cursor.
    pub walks: bool,
    /// What it points to, or owns there, is returned as a shared pointer.
    pub returned: bool,
    /// It is declared as a pointer to a `const` type.
    pub reads: bool,
    /// A parameter that was assigned.
    pub source: Option<LocalId>,
    /// The parameter that a value was read from, and behind how many pointers.
    pub from: Option<(LocalId, u32)>,
    /// The `static` function that a value is a result of.
    pub result: Option<Symbol>,
    /// A shared value that was assigned, and the declaration that it has its type from: why it is
    /// not freed.
    pub shared: Option<(Span, Option<Span>)>,
}

impl Inferred {
    /// Whether the strings that it gets are measured, because it steps back in them.
    pub(crate) fn measured(&self) -> bool {
        self.back && self.reads && self.assigned && self.terminated && !self.avail && self.fixed.is_none()
    }

    /// Whether it may have fewer bounds where those are looked for that are needed than where those
    /// are that are there. If no local may, the last walk of the one is the first of the other.
    pub(crate) fn may_lose_bounds(&self) -> bool {
        self.bounds && self.avail && self.fixed.is_none()
    }

    /// The ownership that what is known gives.
    fn ownership(&self) -> Own {
        match self.owned {
            Some(own) if self.given => own,
            None if self.given && !self.assigned => Own::Unique,
            _ if self.viewed && !self.not_view => Own::View,
            _ => Own::Shared,
        }
    }
}

/// Which locals of its function a pointer value may point into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// None: it comes from memory, where every pointer is to the heap, or from a caller.
    Outside,
    /// One, for sure.
    One(LocalId),
    /// Any.
    Any,
}

impl Reach {
    fn join(self, other: Reach) -> Reach {
        if self == other {
            self
        } else {
            Reach::Any
        }
    }
}

/// What the rounds look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// Which bounds are there.
    Available,
    /// Which bounds are needed.
    Needed,
    /// The real thing.
    #[default]
    Final,
}

impl Checker<'_> {
    /// Whether the bounds of a local declared with this pointer type are inferred.
    pub(crate) fn inferable(&self, p: &Pointer) -> bool {
        p.bounds == Bounds::Thin
            && !p.raw
            && !matches!(self.kind(p.target.ty), TyKind::Void | TyKind::Func(_))
            && (self.program.types.is_complete(p.target.ty))
    }

    /// The type of a local in this round: bounds and ownership that are not written are what is
    /// known of it.
    pub(crate) fn inferred_type(&mut self, key: Span, ty: Ty) -> Ty {
        self.inferred_as(key, ty, true)
    }

    /// The type of a local whose ownership is told.
    pub(crate) fn inferred_bounds(&mut self, key: Span, ty: Ty) -> Ty {
        self.inferred_as(key, ty, false)
    }

    /// The type of a local whose bounds are told.
    pub(crate) fn inferred_bounds_of(&mut self, key: Span, ty: Ty, bounds: Bounds) -> Ty {
        let ty = self.inferred_type(key, ty);
        if let Some(state) = self.f.as_mut().and_then(|f| f.inferred.get_mut(&key)) {
            state.bounds = false;
        }
        match self.program.types.as_pointer(ty) {
            Some(p) => self.types().pointer(Pointer { bounds, ..p }),
            None => ty,
        }
    }

    fn inferred_as(&mut self, key: Span, ty: Ty, ownership: bool) -> Ty {
        let Some(p) = self.program.types.as_pointer(ty) else { return ty };
        let inferable = self.inferable(&p);
        let own = ownership && p.own == Own::Shared && !p.raw && !matches!(self.kind(p.target.ty), TyKind::Func(_));
        if !(inferable || own) || !self.checked_function() {
            return ty;
        }
        let is_char = self.program.types.is_character(p.target.ty);
        let Some(f) = &mut self.f else { return ty };
        let state = *f.inferred.entry(key).or_insert(Inferred {
            avail: true,
            terminated: is_char,
            assigned: false,
            needs: false,
            fixed: None,
            reach: None,
            blame: None,
            declared: None,
            from_void: false,
            back: false,
            bounds: inferable,
            own,
            owned: None,
            given: false,
            viewed: false,
            not_view: false,
            needs_view: false,
            steps: false,
            strays: false,
            walks: false,
            returned: false,
            reads: p.target.quals.is_const,
            source: None,
            from: None,
            result: None,
            shared: None,
        });
        let phase = f.phase;
        let bounds = match (phase, state.fixed) {
            _ if !inferable => p.bounds,
            (_, Some(bounds)) => bounds,
            _ if state.measured() => Bounds::FatTerminated,
            (Phase::Available, None) => both(state.avail, state.terminated),
            // Null alone: of a string as of what it is declared to be.
            (_, None) if !state.assigned && is_char && p.target.quals.is_const => Bounds::Terminated,
            (_, None) if !state.assigned => Bounds::Thin,
            (_, None) => both(state.avail && state.needs, state.terminated),
        };
        let own = if own && state.own { state.ownership() } else { p.own };
        self.types().pointer(Pointer { bounds, own, ..p })
    }

    fn checked_function(&self) -> bool {
        self.f.as_ref().is_some_and(|f| !f.unchecked)
    }

    pub(crate) fn inferred_mut(&mut self, local: LocalId) -> Option<&mut Inferred> {
        let f = self.f.as_mut()?;
        let key = *f.local_keys.get(&local)?;
        f.inferred.get_mut(&key)
    }

    /// Whether the bounds of a local are not written.
    pub(crate) fn has_inferred_bounds(&self, local: LocalId) -> bool {
        let state = self.f.as_ref().and_then(|f| f.inferred.get(f.local_keys.get(&local)?));
        state.is_some_and(|state| state.bounds)
    }

    /// A value is assigned to a local.
    pub(crate) fn note_assigned(&mut self, local: LocalId, value: &Expr) {
        if self.is_null_constant(value) || self.is_error(value.ty.ty) {
            return;
        }
        let Some(p) = self.program.types.as_pointer(value.ty.ty) else { return };
        self.note_ownership(local, value, p.own);
        self.note_rebound(local, value);
        let from = self.source_of(value, 0);
        let result = self.result_of(value);
        if let Some(state) = self.inferred_mut(local) {
            state.from = from.or(state.from);
            state.result = result.or(state.result);
        }
        let reach = self.reach(value);
        let (bounds, span) = (p.bounds, value.span);
        let declared = self.declaration_of(value);
        let from_void = matches!(self.kind(p.target.ty), TyKind::Void);
        let is_call = matches!(&*value.kind, ExprKind::Call(..));
        let Some(f) = &mut self.f else { return };
        let phase = f.phase;
        let Some(state) = self.inferred_mut(local) else { return };
        let mut changed = !state.assigned;
        state.assigned = true;
        let joined = state.reach.map_or(reach, |old| old.join(reach));
        if state.reach != Some(joined) {
            state.reach = Some(joined);
            changed = true;
        }
        if phase == Phase::Available {
            if state.avail && !bounds.has_bounds() {
                state.avail = false;
                state.blame = Some(span);
                // What a function gives as a `void *` is not told by its declaration.
                state.declared = declared.filter(|_| !(from_void && is_call));
                state.from_void = from_void;
                changed = true;
            }
            if state.terminated && !bounds.is_terminated() {
                state.terminated = false;
                changed = true;
            }
        }
        if changed {
            self.changed();
        }
    }

    /// An assignment to a local that is not its initialiser.
    pub(crate) fn note_step(&mut self, local: LocalId, value: &Expr, span: Span) {
        let step = self.is_unused(span) && self.is_owned_field_of(value, local);
        let Some(state) = self.inferred_mut(local) else { return };
        let flag = if step { &mut state.steps } else { &mut state.strays };
        if !std::mem::replace(flag, true) {
            self.changed();
        }
    }

    /// The value is returned as a shared pointer: what a local points to, or owns there, leaves the
    /// function, so the local is not a cursor, which would take it out meanwhile.
    pub(crate) fn note_returned(&mut self, e: &Expr) {
        let place = match &*e.kind {
            ExprKind::Convert(_, inner) | ExprKind::PtrAdd(inner, ..) | ExprKind::Comma(_, inner) => {
                return self.note_returned(inner);
            }
            ExprKind::Cond(_, a, b) | ExprKind::CondOmitted(_, a, b) => {
                self.note_returned(a);
                return self.note_returned(b);
            }
            ExprKind::Move(place) | ExprKind::AddrOf(place) | ExprKind::Decay(place) => place,
            ExprKind::Load(place) if matches!(*place.kind, ExprKind::Local(_)) || self.is_seen_owner(place) => place,
            _ => return,
        };
        let local = match (&*place.kind, Self::pointer_below(place)) {
            (ExprKind::Local(id), _) => Some(*id),
            (_, Some(pointer)) => self.root_local(pointer),
            (_, None) => None,
        };
        let Some(state) = local.and_then(|id| self.inferred_mut(id)) else { return };
        if !std::mem::replace(&mut state.returned, true) {
            self.changed();
        }
    }

    /// Whether the value is read from an owned field of what the local leads to.
    fn is_owned_field_of(&self, value: &Expr, local: LocalId) -> bool {
        let (ExprKind::Load(place) | ExprKind::Move(place) | ExprKind::Borrow(_, place)) = &*value.kind else {
            return matches!(&*value.kind, ExprKind::Convert(_, inner) if self.is_owned_field_of(inner, local));
        };
        let ExprKind::Field(of, n) = &*place.kind else { return false };
        let ExprKind::Deref(pointer) = &*of.kind else { return false };
        let at =
            matches!(&*pointer.kind, ExprKind::Load(from) if matches!(*from.kind, ExprKind::Local(id) if id == local));
        // As it is declared: behind a view it is one.
        let types = &self.program.types;
        let record = types.as_record(of.ty.ty).and_then(|record| types.record(record).fields.as_ref());
        let held = record.and_then(|fields| types.as_pointer(fields.get(*n as usize)?.ty.ty));
        at && held.is_some_and(|p| p.own == Own::Unique && p.bounds == Bounds::Thin)
    }

    /// Nobody uses the value of the expression there.
    pub(crate) fn value_unused(&mut self, span: Span) {
        if let Some(f) = &mut self.f {
            f.unused_value = Some(span);
        }
    }

    pub(crate) fn is_unused(&self, span: Span) -> bool {
        self.f.as_ref().is_some_and(|f| f.unused_value == Some(span))
    }

    /// `for (struct node *n = head; n; n = n->next) n->value = 0;`: what the loop's variable leads
    /// to is changed, so it is not a view, and it moves on through owned pointers, so it is not a
    /// borrow.
    /// It is a cursor, `for (cursor pp = &head; *pp; pp = &(*pp)->next)`, and `n` stands for `*pp`.
    pub(crate) fn walker_stmt(&mut self, init: &ast::Stmt) -> Option<Stmt> {
        let ast::StmtKind::Decl(decl) = &init.kind else { return None };
        let [d] = decl.declarators.as_slice() else { return None };
        let (Some(name), Some(ast::Initializer::Expr(from))) = (d.declarator.name, &d.init) else { return None };
        // A cursor could give a lent parameter another value.
        let lent = match from.kind {
            ast::ExprKind::Ident(parameter) => match self.scopes.lookup(parameter) {
                Some(crate::scope::Entity::Local(id)) => self.f.as_ref().is_some_and(|f| f.lent.contains(id)),
                _ => false,
            },
            _ => false,
        };
        let state = self.f.as_mut()?.inferred.get_mut(&name.span).filter(|_| !lent)?;
        let unique = state.owned == Some(Own::Unique) && !state.given;
        let found = state.viewed && state.not_view && state.steps && !state.strays;
        if !unique || !state.own || state.returned || !(found || state.walks) {
            return None;
        }
        let reads = state.reads;
        if !state.walks {
            state.walks = true;
            self.changed();
        }
        let place =
            ast::Expr { kind: ast::ExprKind::Unary(ast::UnaryOp::AddrOf, Box::new(from.clone())), span: from.span };
        let kind = self.cursor_stmt(name, &place, init.span);
        if let (StmtKind::Cursor(local, _), Some(f)) = (&kind, &mut self.f) {
            f.walkers.insert(*local, reads);
        }
        Some(self.stmt_node(kind, init.span))
    }

    /// A cursor empties a slot until the loop ends. The program does not say so: where it could
    /// notice, the variable is not a cursor.
    pub(crate) fn check_walker<'e>(
        &mut self,
        init: Option<&ast::Stmt>,
        before: &[Stmt],
        exprs: impl Iterator<Item = &'e Expr>,
        body: &'e Stmt,
    ) {
        let [first] = before else { return };
        let place = match &first.kind {
            StmtKind::Cursor(_, place) => place,
            // What only looks at a list in a slot is a cursor if it prints: others may run then.
            StmtKind::Declare(_, Some(Init::Expr(value))) => match borrowed(value) {
                Some(place) if !place.ty.quals.is_const => place,
                _ => return,
            },
            _ => return,
        };
        let Some(ast::StmtKind::Decl(decl)) = init.map(|init| &init.kind) else { return };
        if self.path_root(place).is_some() {
            return;
        }
        let is_cursor = matches!(first.kind, StmtKind::Cursor(..));
        let mut parts = exprs.map(Part::Expr).chain([Part::Stmt(body)]);
        let sees = parts.any(|part| any(part, &mut |part| self.sees_slots(part)));
        let prints = !is_cursor && !sees && any(Part::Stmt(body), &mut |part| self.waits(part));
        let name = decl.declarators.first().and_then(|d| d.declarator.name);
        let state = name.and_then(|name| self.f.as_mut()?.inferred.get_mut(&name.span));
        let Some(state) = state else { return };
        if is_cursor && sees {
            (state.strays, state.walks) = (true, false);
            self.changed();
        } else if prints
            && state.viewed
            && state.steps
            && !state.strays
            && !state.walks
            && !state.given
            && !state.returned
        {
            state.walks = true;
            self.changed();
        }
    }

    /// Whether it calls a C function that waits: after it, what a slot held may be gone.
    fn waits(&self, part: Part) -> bool {
        let called = match part {
            Part::Expr(e) => match &*e.kind {
                ExprKind::Call(_, ty, _) => self.program.types.as_func(*ty),
                _ => None,
            },
            Part::Stmt(_) => None,
        };
        called.is_some_and(|f| f.waits)
    }

    /// Whether the part itself may run other code, or look at what is owned in memory.
    pub(crate) fn sees_slots(&self, part: Part) -> bool {
        let slot = |place: &Expr| self.program.types.owns(place.ty.ty) && self.path_root(place).is_none();
        match part {
            Part::Stmt(stmt) => match &stmt.kind {
                StmtKind::Send { .. }
                | StmtKind::SetAdd { .. }
                | StmtKind::Receive { .. }
                | StmtKind::Select { .. }
                | StmtKind::Channel { .. }
                | StmtKind::Swap(..)
                | StmtKind::Cursor(..)
                | StmtKind::Unpack { .. }
                | StmtKind::Open(..)
                | StmtKind::Asm(_) => true,
                StmtKind::Empty
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Goto(_)
                | StmtKind::GotoComputed(_)
                | StmtKind::Return(_)
                | StmtKind::Declare(..)
                | StmtKind::Arena(..)
                | StmtKind::Expr(_)
                | StmtKind::VaStart(_)
                | StmtKind::VaEnd(_)
                | StmtKind::VaCopy(..)
                | StmtKind::Block(_)
                | StmtKind::If(..)
                | StmtKind::While(..)
                | StmtKind::DoWhile(..)
                | StmtKind::For(..)
                | StmtKind::Switch(..)
                | StmtKind::SwitchTagged(..)
                | StmtKind::SwitchEnd(..)
                | StmtKind::Case(..)
                | StmtKind::CaseMember(..)
                | StmtKind::Default(_)
                | StmtKind::Label(..)
                | StmtKind::Defer(_)
                | StmtKind::CountGroup(_) => false,
            },
            Part::Expr(e) => match &*e.kind {
                // A pointer of a leaf's type may lead to a function of the program.
                ExprKind::Call(callee, ty, _) => {
                    let function = match callee {
                        Callee::Direct(f) => self.program.functions.get(f.func.0 as usize),
                        Callee::Pointer(_) | Callee::Start(_) | Callee::Spawn(..) => None,
                    };
                    let trusted = function.is_some_and(|f| f.trust == Trust::Trusted);
                    !trusted || self.program.types.as_func(*ty).is_none_or(|f| !f.leaf)
                }
                ExprKind::Load(place)
                | ExprKind::Move(place)
                | ExprKind::Take(place)
                | ExprKind::Free(place)
                | ExprKind::Borrow(_, place)
                | ExprKind::AddrOf(place)
                | ExprKind::Decay(place)
                | ExprKind::Assign(place, _)
                | ExprKind::AssignOp(_, _, place, _)
                | ExprKind::IncDec(place, ..) => slot(place),
                _ => false,
            },
        }
    }

    /// The cursor that a place is reached through, where the program writes it as a pointer.
    pub(crate) fn walker(&self, place: &Expr) -> Option<Expr> {
        let ExprKind::Deref(pointer) = &*place.kind else { return None };
        let ExprKind::Load(cursor) = &*pointer.kind else { return None };
        let ExprKind::Local(id) = *cursor.kind else { return None };
        self.f.as_ref().is_some_and(|f| f.walkers.contains_key(&id)).then(|| cursor.clone())
    }

    /// Whether the cursor, which the program writes as a pointer, is one to a `const` type.
    pub(crate) fn walker_mut(&mut self, cursor: &Expr) -> Option<&mut bool> {
        let ExprKind::Local(id) = *cursor.kind else { return None };
        self.f.as_mut()?.walkers.get_mut(&id)
    }

    /// A parameter whose region is the caller's gets the address of a local.
    fn note_rebound(&mut self, local: LocalId, value: &Expr) {
        let Some(f) = self.f.as_ref().filter(|f| local.0 < f.params && !f.unchecked) else { return };
        let parameter = f.locals.get(local.0 as usize).and_then(|l| self.program.types.as_pointer(l.ty.ty));
        let copied = parameter.is_some_and(|p| {
            let region = matches!(p.region, Region::Body(_));
            region && p.bounds == Bounds::Thin && p.own == Own::Shared
        });
        let owns = parameter.is_some_and(|p| self.program.types.owns(p.target.ty));
        let is_address = matches!(&*value.kind, ExprKind::AddrOf(_)) && self.rooted_in_local(value);
        // `t = t->left` of what is owned borrows what a slot holds.
        let moves_on = if owns { self.is_lent_out(value) } else { is_address };
        if copied && moves_on && self.f.as_mut().is_some_and(|f| f.rebound.insert(local)) {
            self.changed();
        }
    }

    /// Whether the value is what a slot holds, or may be a loan of it that a function returns.
    fn is_lent_out(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Convert(_, inner) | ExprKind::Comma(_, inner) => self.is_lent_out(inner),
            ExprKind::Cond(_, a, b) => self.is_lent_out(a) || self.is_lent_out(b),
            ExprKind::Move(place) => self.path_root(place).is_none(),
            ExprKind::Call(Callee::Direct(f), ..) => {
                let function = self.program.functions.get(f.func.0 as usize);
                function.is_some_and(|f| f.linkage == Linkage::Internal && f.type_params == 0)
            }
            _ => false,
        }
    }

    /// What an assigned value says about the ownership of a local.
    fn note_ownership(&mut self, local: LocalId, value: &Expr, own: Own) {
        let path = self.is_owned_path(value);
        // What another local got from an owner, this one may own instead of it.
        let through = match own {
            Own::Shared | Own::View => self.root_local(value).filter(|&id| id != local).and_then(|id| {
                let state = self.inferred_mut(id)?;
                state.owned
            }),
            _ => None,
        };
        // Losing a block of the exchange heap is always a mistake, so whatever takes a new one owns
        // it.
        let exchange = self.program.types.as_pointer(value.ty.ty).is_some_and(|p| p.region == Region::Exchange);
        let source = self.root_local(value).filter(|id| self.f.as_ref().is_some_and(|f| id.0 < f.params));
        // What comes from a local that must be a view can only be one, unless it is given away
        // (`share(p)`).
        let shared = own == Own::Shared && self.is_of_owner(value);
        let (span, declared) = (value.span, self.declaration_of(value).map(|(at, _)| at));
        let from_view = self.root_local(value).filter(|&id| id != local && !shared).is_some_and(|id| {
            let state = self.inferred_mut(id);
            state.is_some_and(|state| state.needs_view && state.viewed && !state.not_view)
        });
        let Some(state) = self.inferred_mut(local) else { return };
        state.source = source.or(state.source);
        if exchange && own == Own::Unique && !path && !state.given && state.own {
            state.owned.get_or_insert(own);
            state.given = true;
            self.find_views_again();
            return;
        }
        let before = (state.owned, state.viewed, state.not_view);
        let first = from_view && !state.needs_view;
        state.needs_view |= from_view;
        match own {
            Own::Unique | Own::Rc => {
                state.owned.get_or_insert(own);
                if own == Own::Unique && path {
                    state.viewed = true;
                } else {
                    state.not_view = true;
                }
            }
            Own::View => state.viewed = true,
            Own::Shared if from_view => state.viewed = true,
            _ => state.not_view = true,
        }
        if own == Own::Shared && through.is_none() {
            state.shared.get_or_insert((span, declared));
        }
        if let Some(own) = through {
            state.owned.get_or_insert(own);
        }
        let after = (state.owned, state.viewed, state.not_view);
        if before.0 != after.0 {
            self.find_views_again();
        } else if before != after || first {
            self.changed();
        }
    }

    /// A local was found to own something, or to have to be a view: which of the others are views
    /// is to be found out again.
    fn find_views_again(&mut self) {
        if let Some(f) = &mut self.f {
            for state in f.inferred.values_mut() {
                (state.viewed, state.not_view) = (false, false);
            }
        }
        self.changed();
    }

    /// `:=:` with something owned.
    pub(crate) fn note_swapped(&mut self, local: LocalId, value: &Expr) {
        let own = self.program.types.as_pointer(value.ty.ty).map(|p| p.own).filter(|own| own.is_owned());
        let Some(state) = self.inferred_mut(local) else { return };
        if let Some(own) = own.filter(|_| !state.given) {
            state.owned.get_or_insert(own);
            state.given = true;
            self.find_views_again();
        }
    }

    /// The local that a pointer value is read from, perhaps converted.
    pub(crate) fn root_local(&self, e: &Expr) -> Option<LocalId> {
        match &*e.kind {
            ExprKind::Convert(_, inner) => self.root_local(inner),
            ExprKind::Load(place) | ExprKind::Move(place) => match *place.kind {
                ExprKind::Local(id) => Some(id),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the value is what an owned path holds: each branch of a conditional, if not null.
    fn is_owned_path(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Move(_) => true,
            ExprKind::Cond(_, a, b) => [a, b].iter().all(|e| self.is_null_constant(e) || self.is_owned_path(e)),
            _ => false,
        }
    }

    /// Whether the value, perhaps converted, is read from what owns.
    fn is_of_owner(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Convert(_, inner) => self.is_of_owner(inner),
            ExprKind::Load(place) | ExprKind::Move(place) => self.program.types.owns(place.ty.ty),
            _ => false,
        }
    }

    /// A value is used where something owned is wanted. Whether it comes from a local that owns it
    /// if that is required.
    pub(crate) fn note_given(&mut self, e: &Expr, own: Own) -> bool {
        let Some(id) = self.root_local(e) else { return false };
        let Some(state) = self.inferred_mut(id).filter(|s| s.own) else { return false };
        let can = state.owned == Some(own) || (state.owned.is_none() && !state.assigned && own == Own::Unique);
        if can && !state.given {
            state.given = true;
            self.find_views_again();
        }
        can
    }

    /// A value is stored where it is shared. In a function that is being ported, a local that it
    /// comes from, and that owns only because it is freed on some other path, does not own: then
    /// copies of it stay good, and the `free` leaves the object to the collector.
    pub(crate) fn note_kept(&mut self, e: &Expr) {
        if !self.may_free_shared() {
            return;
        }
        let Some(id) = self.root_local(e) else { return };
        let Some(state) = self.inferred_mut(id).filter(|s| s.own && s.given) else { return };
        state.own = false;
        self.find_views_again();
    }

    /// A view is used where views are not allowed. Whether it is one by inference only: then it
    /// becomes a borrow.
    pub(crate) fn blame_view(&mut self, e: &Expr) -> bool {
        let place = match &*e.kind {
            ExprKind::Load(place) | ExprKind::Borrow(_, place) | ExprKind::AddrOf(place) | ExprKind::Decay(place) => {
                place
            }
            ExprKind::Convert(_, inner) | ExprKind::PtrAdd(inner, ..) => return self.blame_view(inner),
            ExprKind::Cond(_, a, b) => {
                let a = self.blame_view(a);
                return self.blame_view(b) || a;
            }
            _ => return false,
        };
        if let ExprKind::Local(id) = *place.kind {
            return self.not_a_view(id);
        }
        match Self::pointer_below(place).cloned() {
            Some(p) => self.blame_view(&p),
            None => false,
        }
    }

    /// Whether the value is read from a local that must be a view.
    pub(crate) fn needs_view(&mut self, e: &Expr) -> bool {
        self.root_local(e).and_then(|id| self.inferred_mut(id)).is_some_and(|state| state.needs_view)
    }

    /// Something in a slot behind the local is lent. Gives the parameter that the local comes from.
    pub(crate) fn note_view_needed(&mut self, id: LocalId) -> Option<LocalId> {
        let state = self.inferred_mut(id).filter(|state| state.own)?;
        let source = state.source;
        if !state.needs_view {
            state.needs_view = true;
            self.find_views_again();
        }
        source
    }

    /// Makes the local a borrow, if it is a view by inference only.
    pub(crate) fn not_a_view(&mut self, id: LocalId) -> bool {
        let Some(state) = self.inferred_mut(id).filter(|s| s.own && s.viewed) else { return false };
        if !state.not_view {
            state.not_view = true;
            self.changed();
        }
        true
    }

    pub(crate) fn changed(&mut self) {
        if let Some(f) = &mut self.f {
            f.changed = true;
        }
    }

    /// The value `e` is needed with bounds. Whether that can be had by making locals fat.
    pub(crate) fn need_bounds(&mut self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Load(place) | ExprKind::Move(place) | ExprKind::Borrow(_, place) => match &*place.kind {
                ExprKind::Local(id) => self.need_local(*id),
                _ => false,
            },
            ExprKind::Convert(_, inner) | ExprKind::PtrAdd(inner, ..) => self.need_bounds(inner),
            ExprKind::Cond(_, a, b) => {
                let a = self.need_bounds(a);
                self.need_bounds(b) || a
            }
            ExprKind::CondOmitted(_, a, b) => {
                let a = self.need_bounds(a);
                self.need_bounds(b) || a
            }
            ExprKind::Comma(_, b) => self.need_bounds(b),
            ExprKind::Assign(place, _) | ExprKind::AssignOp(_, _, place, _) | ExprKind::IncDec(place, ..) => {
                match &*place.kind {
                    ExprKind::Local(id) => self.need_local(*id),
                    _ => false,
                }
            }
            ExprKind::Call(_, _, args) => {
                // A result that points into an argument has that argument's bounds.
                match self.argument_pointed_into(e) {
                    Some(n) => match args.get(n as usize).cloned() {
                        Some(arg) => self.need_bounds(&arg),
                        None => false,
                    },
                    None => false,
                }
            }
            _ => false,
        }
    }

    /// The argument that a call's result points into.
    pub(crate) fn argument_pointed_into(&self, e: &Expr) -> Option<u32> {
        let ExprKind::Call(Callee::Direct(f), ..) = &*e.kind else { return None };
        let function = self.program.functions.get(f.func.0 as usize)?;
        self.program.types.as_func(function.ty)?.into
    }

    fn need_local(&mut self, local: LocalId) -> bool {
        let phase = match &self.f {
            Some(f) => f.phase,
            None => return false,
        };
        let Some(state) = self.inferred_mut(local) else { return false };
        if !state.bounds || !state.avail || state.fixed.is_some() || (!state.assigned && phase != Phase::Available) {
            return false;
        }
        if phase == Phase::Needed && !state.needs {
            state.needs = true;
            self.changed();
        }
        true
    }

    /// `&p` of a local meets a parameter of a known type: that fixes the local's type.
    pub(crate) fn note_address(&mut self, e: &Expr, wanted: &Pointer) {
        let ExprKind::AddrOf(place) = &*e.kind else { return };
        let ExprKind::Local(id) = *place.kind else { return };
        let Some(inner) = self.program.types.as_pointer(wanted.target.ty) else { return };
        self.fix_local(id, inner.bounds);
    }

    /// The address of a local is taken: its type no longer changes.
    pub(crate) fn fix_local(&mut self, local: LocalId, bounds: Bounds) {
        if self.f.as_ref().is_some_and(|f| f.keep_inferred) {
            return;
        }
        let Some(state) = self.inferred_mut(local) else { return };
        if state.fixed.is_none() || (state.fixed == Some(Bounds::Thin) && bounds != Bounds::Thin) {
            state.fixed = Some(bounds);
            self.changed();
        }
    }

    /// While `keep` holds, taking a local's address does not fix its type (the callee sets it as an
    /// assignment would).
    pub(crate) fn keep_inferred(&mut self, keep: bool) {
        if let Some(f) = &mut self.f {
            f.keep_inferred = keep;
        }
    }

    /// Which locals a pointer value may point into.
    pub(crate) fn reach(&self, e: &Expr) -> Reach {
        match &*e.kind {
            ExprKind::Decay(p) | ExprKind::AddrOf(p) => self.place_reach(p),
            ExprKind::PtrAdd(p, ..) | ExprKind::Convert(_, p) | ExprKind::Comma(_, p) | ExprKind::Assign(_, p) => {
                self.reach(p)
            }
            ExprKind::IncDec(place, ..) | ExprKind::AssignOp(_, _, place, _) => self.loaded_reach(place),
            ExprKind::Borrow(kind, place) if kind.by_address() => self.place_reach(place),
            ExprKind::Load(place) | ExprKind::Move(place) | ExprKind::Borrow(_, place) => self.loaded_reach(place),
            ExprKind::Cond(_, a, b) | ExprKind::CondOmitted(_, a, b) => self.reach(a).join(self.reach(b)),
            ExprKind::Call(_, _, args) => match self.argument_pointed_into(e).and_then(|n| args.get(n as usize)) {
                Some(arg) => self.reach(arg),
                None => Reach::Outside,
            },
            ExprKind::Null | ExprKind::Int(_) | ExprKind::Func(_) | ExprKind::New(_) | ExprKind::Alloc(_) => {
                Reach::Outside
            }
            _ if self.program.types.as_pointer(e.ty.ty).is_none() => Reach::Outside,
            _ => Reach::Any,
        }
    }

    /// Which locals a pointer read from a place may point into.
    fn loaded_reach(&self, place: &Expr) -> Reach {
        let ExprKind::Local(id) = *place.kind else { return Reach::Outside };
        let Some(f) = &self.f else { return Reach::Any };
        if id.0 < f.params {
            return Reach::Outside;
        }
        match f.local_keys.get(&id).and_then(|k| f.inferred.get(k)).filter(|s| s.bounds) {
            Some(state) => state.reach.unwrap_or(Reach::Outside),
            None => Reach::Any,
        }
    }

    /// Which locals a place may be in.
    fn place_reach(&self, e: &Expr) -> Reach {
        match &*e.kind {
            ExprKind::Local(id) | ExprKind::CompoundLit(id, _) => Reach::One(*id),
            ExprKind::Field(base, _) | ExprKind::IndexArray(base, _) => self.place_reach(base),
            ExprKind::Deref(p) | ExprKind::IndexPointer(p, _) => self.reach(p),
            _ => Reach::Outside,
        }
    }

    /// Why what a place holds is shared, for a message: what was assigned to the local, and the
    /// declaration.
    pub(crate) fn why_shared(&self, place: &Expr) -> (Option<Span>, Option<Span>) {
        if let ExprKind::Local(id) = *place.kind {
            let f = self.f.as_ref();
            let state = f.and_then(|f| f.inferred.get(f.local_keys.get(&id)?));
            if let Some(state) = state.filter(|state| state.own) {
                let (value, declared) = state.shared.unzip();
                return (value, declared.flatten());
            }
        }
        (None, self.declaration_of_place(place).map(|(at, _)| at))
    }

    /// Whether the value comes from a `void *`, by way of a local or not, for a message.
    pub(crate) fn is_from_void(&self, e: &Expr) -> bool {
        match &*e.kind {
            ExprKind::Convert(_, inner) => {
                let p = self.program.types.as_pointer(inner.ty.ty);
                p.is_some_and(|p| matches!(self.kind(p.target.ty), TyKind::Void)) || self.is_from_void(inner)
            }
            ExprKind::Load(place) => match (&*place.kind, &self.f) {
                (ExprKind::Local(id), Some(f)) => {
                    f.local_keys.get(id).and_then(|key| f.inferred.get(key)).is_some_and(|state| state.from_void)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Where a local lost its bounds, for a message.
    pub(crate) fn bounds_blame(&self, e: &Expr) -> Option<Span> {
        let (ExprKind::Load(place) | ExprKind::Move(place) | ExprKind::Borrow(_, place)) = &*e.kind else {
            return None;
        };
        let ExprKind::Local(id) = *place.kind else { return None };
        let f = self.f.as_ref()?;
        f.local_keys.get(&id).and_then(|k| f.inferred.get(k)).and_then(|s| s.blame)
    }
}

fn both(fat: bool, terminated: bool) -> Bounds {
    match (fat, terminated) {
        (true, true) => Bounds::FatTerminated,
        (true, false) => Bounds::Fat,
        (false, true) => Bounds::Terminated,
        (false, false) => Bounds::Thin,
    }
}

/// The place that the value lends, perhaps as a pointer to `const`.
fn borrowed(value: &Expr) -> Option<&Expr> {
    match &*value.kind {
        ExprKind::Convert(_, inner) => borrowed(inner),
        ExprKind::Borrow(_, place) => Some(place),
        _ => None,
    }
}
