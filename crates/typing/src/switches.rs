//! Switches over integers and over tagged unions, and their cases.

use crate::checker::Checker;
use crate::codes;
use crate::contracts::StateId;
use crate::convert::Why;
use crate::function::{LoopKind, SwitchState};
use crate::scope::Entity;
use crate::tree::*;
use crate::types::*;
use source::{Diagnostic, Span};
use syntax::ast;

impl Checker<'_> {
    pub(crate) fn switch_stmt(&mut self, e: &ast::Expr, body: &ast::Stmt, span: Span) -> StmtKind {
        let value = self.expr(e);
        let barriers = self.f.as_ref().map(|f| f.barriers.clone()).unwrap_or_default();
        if let Some(id) = self.program.types.as_record(value.ty.ty) {
            if self.program.types.record(id).kind == RecordKind::Tagged {
                return self.tagged_switch(value, id, body, span, barriers);
            }
        }
        let value = self.rvalue(value);
        let value = self.promote(value);
        if !self.is_integer(value.ty.ty) && !self.is_error(value.ty.ty) {
            let text = self.show(value.ty.ty);
            self.error(codes::TYPE, e.span, format!("a switch is over an integer or a tagged union, not `{text}`"));
        }
        let state = SwitchState { barriers, ..SwitchState::default() };
        let body = self.switch_body(state, body).0;
        StmtKind::Switch(value, body)
    }

    pub(crate) fn switch_body(&mut self, state: SwitchState, body: &ast::Stmt) -> (Box<Stmt>, SwitchState) {
        if let Some(f) = &mut self.f {
            f.switches.push(state);
        }
        self.push_loop(LoopKind::Switch);
        let body = self.scoped(body);
        self.pop_loop();
        let state = self.f.as_mut().and_then(|f| f.switches.pop()).unwrap_or_default();
        (body, state)
    }

    pub(crate) fn tagged_switch(
        &mut self,
        value: Expr,
        id: RecordId,
        body: &ast::Stmt,
        span: Span,
        barriers: Vec<u32>,
    ) -> StmtKind {
        let constant = value.ty.quals.is_const;
        let owns = self.tracked() && self.program.types.owns(value.ty.ty);
        if owns && !value.is_place() {
            return self.switch_over_value(value, id, body, span, barriers);
        }
        let subject = owns.then(|| value.clone());
        let state = SwitchState { tagged: Some((id, constant)), subject, barriers, ..SwitchState::default() };
        self.check_read(&value);
        let (body, state) = self.switch_body(state, body);
        self.check_fall_through(&body);
        let fields = self.program.types.record(id).fields.clone().unwrap_or_default();
        let missing: Vec<String> = fields
            .iter()
            .enumerate()
            .filter(|(n, _)| !state.members.contains(&(*n as u32)))
            .filter_map(|(_, f)| f.name.map(|n| format!("`.{n}`")))
            .collect();
        if state.default.is_none() && !missing.is_empty() {
            let word = if missing.len() == 1 { "case" } else { "cases" };
            self.error_help(
                codes::EXHAUSTIVE,
                Span::new(span.lo, value.span.hi.max(span.lo)),
                format!(
                    "this switch is not exhaustive: the {word} {} {} missing",
                    missing.join(", "),
                    if missing.len() == 1 { "is" } else { "are" }
                ),
                "add what is missing, or a `default:`",
            );
        }
        StmtKind::SwitchTagged(value, body)
    }

    /// A value that owns something is kept in a variable of its own while the switch looks at it.
    fn switch_over_value(
        &mut self,
        value: Expr,
        id: RecordId,
        body: &ast::Stmt,
        span: Span,
        barriers: Vec<u32>,
    ) -> StmtKind {
        let (ty, at) = (value.ty, value.span);
        let local = self.new_local(None, Qty::plain(ty.ty), at, false);
        let declare = self.stmt_node(StmtKind::Declare(local, Some(Init::Expr(value))), at);
        let place = self.place_node(ExprKind::Local(local), ty, at);
        let switch = self.tagged_switch(place, id, body, span, barriers);
        let switch = self.stmt_node(switch, span);
        StmtKind::Block(Block { stmts: vec![declare, switch], span, region: None })
    }

    /// A clause of a tagged switch does not run on into one that binds a member: there would be
    /// nothing to bind.
    fn check_fall_through(&mut self, body: &Stmt) {
        let StmtKind::Block(block) = &body.kind else { return };
        let mut runs_on = false;
        for stmt in &block.stmts {
            let bound = binding_label(stmt).and_then(|id| self.f.as_ref()?.locals.get(id.0 as usize));
            if let (Some((Some(name), span)), true) = (bound.map(|local| (local.name, local.span)), runs_on) {
                self.error_help(
                    codes::CASE,
                    span,
                    format!("the clause before this one would fall through into it, and it binds `{name}`"),
                    "end that clause with `break` or `return`",
                );
            }
            runs_on = (runs_on || has_label(stmt)) && may_complete(&self.program.types, stmt);
        }
    }

    /// The names that the label before bound are those of its clause alone.
    fn end_clause(&mut self) {
        let bound = self.f.as_mut().and_then(|f| f.switches.last_mut()).and_then(|state| state.bound.take());
        if let Some((name, span, hidden)) = bound {
            self.scopes.withdraw(name, span, hidden);
        }
    }

    /// Declares what a label binds, up to the next label of the switch.
    fn declare_bound(&mut self, name: ast::Ident, local: LocalId) {
        let hidden = self.scopes.lookup_here(name.name).cloned();
        self.scopes.declare(name.name, Entity::Local(local), name.span);
        if let Some(state) = self.f.as_mut().and_then(|f| f.switches.last_mut()) {
            state.bound = Some((name.name, name.span, hidden));
        }
    }

    pub(crate) fn case_stmt(&mut self, low: &ast::Expr, high: Option<&ast::Expr>, body: &ast::Stmt) -> StmtKind {
        let states = self.f.as_ref().and_then(|f| f.switches.last()).and_then(|state| state.states);
        let lo = match states {
            Some(contract) => self.case_state(contract, low, high),
            None => self.constant_int(low),
        };
        let hi = match high {
            Some(high) if states.is_none() => self.constant_int(high),
            _ => lo,
        };
        let inside = self.f.as_ref().is_some_and(|f| !f.switches.is_empty());
        if !inside {
            self.error(codes::CASE, low.span, "a case label stands inside a switch");
            return self.boxed(body).kind;
        }
        self.end_clause();
        let (Some(lo), Some(hi)) = (lo, hi) else { return self.boxed(body).kind };
        self.add_case(lo, hi, low.span);
        self.case_barriers(low.span);
        let body = self.boxed(body);
        StmtKind::Case(lo, hi, body)
    }

    pub(crate) fn add_case(&mut self, lo: i128, hi: i128, span: Span) {
        let Some(state) = self.f.as_ref().and_then(|f| f.switches.last()) else { return };
        if state.tagged.is_some() {
            self.error_help(
                codes::CASE,
                span,
                "this switch is over a tagged union: its cases are members",
                "write `case .member(value):`",
            );
            return;
        }
        if hi < lo {
            self.report(Diagnostic::warning(codes::CASE, span, "this case range is empty"));
            return;
        }
        let clash = state.cases.iter().find(|&&(a, b, _)| a <= hi && lo <= b).map(|c| c.2);
        if let Some(old) = clash {
            let named = |id| self.program.types.contract(id)?.state(StateId(u32::try_from(lo).ok()?))?.name;
            let text = match state.states.and_then(named) {
                Some(name) => format!("the case `{name}` is repeated"),
                None => format!("the case {lo} is repeated"),
            };
            self.report(Diagnostic::error(codes::CASE, span, text).label(old, "it stands here already"));
        }
        if let Some(state) = self.f.as_mut().and_then(|f| f.switches.last_mut()) {
            state.cases.push((lo, hi, span));
        }
    }

    /// A case label may not lie in the scope of a `defer` that the switch is outside of.
    pub(crate) fn case_barriers(&mut self, span: Span) {
        self.count_label();
        let Some(f) = &self.f else { return };
        let Some(state) = f.switches.last() else { return };
        if f.barriers.len() > state.barriers.len() {
            self.error_help(
                codes::JUMP,
                span,
                "this case label would enter the scope of a `defer`",
                "put the `defer` into a block of its own",
            );
        }
    }

    pub(crate) fn case_member(
        &mut self,
        member: ast::Ident,
        binding: Option<ast::Ident>,
        body: &ast::Stmt,
    ) -> StmtKind {
        self.end_clause();
        let state = self.f.as_ref().and_then(|f| f.switches.last()).cloned();
        let Some((id, constant)) = state.as_ref().and_then(|s| s.tagged) else {
            self.error(codes::CASE, member.span, "`case .member` stands inside a switch over a tagged union");
            self.poison(binding);
            return self.boxed(body).kind;
        };
        let Some(n) = self.own_field(id, member.name) else {
            let text = self.program.types.record(id).tag.map_or(String::new(), |t| t.to_string());
            self.error(codes::MEMBER, member.span, format!("`{text}` has no member `{}`", member.name));
            self.poison(binding);
            return self.boxed(body).kind;
        };
        let state = state.unwrap_or_default();
        if state.members.contains(&n) {
            self.error(codes::CASE, member.span, format!("the case `.{}` is repeated", member.name));
        }
        if state.default.is_some() {
            self.error(
                codes::CASE,
                member.span,
                "a case after `default` of a tagged union can never match: put it before",
            );
        }
        if let Some(state) = self.f.as_mut().and_then(|f| f.switches.last_mut()) {
            state.members.push(n);
        }
        self.case_barriers(member.span);
        let _ = constant;
        let subject = state.subject.map(|subject| self.follow(subject, &[n], member.span));
        let owner = subject.filter(|value| self.holds_owner(value));
        let local = binding.map(|name| {
            if let Some(value) = owner {
                return self.bind_owner(name, value);
            }
            let ty = self.program.types.record(id).fields.as_ref().and_then(|f| f.get(n as usize)).map(|f| f.ty);
            let mut ty = ty.unwrap_or(Qty::plain(self.program.types.common.error));
            if let Some(p) = self.program.types.as_pointer(ty.ty) {
                let region = if p.own.is_owned() { p.region } else { self.fresh_region() };
                ty.ty = self.types().pointer(Pointer { region, ..p });
            }
            let local = self.new_local(Some(name.name), Qty::plain(ty.ty), name.span, false);
            self.declare_bound(name, local);
            (local, Bind::Copy)
        });
        let body = self.boxed(body);
        StmtKind::CaseMember(n, local, body)
    }

    /// Whether a place holds something owned, or what a view shows of it.
    fn holds_owner(&self, place: &Expr) -> bool {
        self.program.types.owns(place.ty.ty) || self.is_seen_owner(place)
    }

    /// The variable of a case whose member owns something is like a local that is initialised from
    /// it: it takes what it gives on, and else borrows.
    fn bind_owner(&mut self, name: ast::Ident, value: Expr) -> (LocalId, Bind) {
        let value = self.rvalue(value);
        let mut ty = Qty::plain(value.ty.ty);
        if let Some(p) = self.program.types.as_pointer(ty.ty) {
            let shared = Pointer { own: Own::Shared, region: self.fresh_region(), nonnull: false, ..p };
            ty.ty = self.types().pointer(shared);
            ty.ty = self.inferred_bounds_of(name.span, ty.ty, p.bounds);
            let own = self.program.types.as_pointer(ty.ty).map(|q| q.own);
            if own.is_some_and(Own::is_owned) {
                ty.ty = self.types().pointer(Pointer { own: p.own, ..p });
            }
        }
        let local = self.new_local(Some(name.name), ty, name.span, false);
        if let Some(f) = self.f.as_mut().filter(|f| f.inferred.contains_key(&name.span)) {
            f.local_keys.insert(local, name.span);
        }
        self.note_assigned(local, &value);
        let value = self.coerce(value, ty.ty, Why::Local);
        self.declare_bound(name, local);
        (local, bind_of(&value))
    }

    pub(crate) fn default_stmt(&mut self, body: &ast::Stmt, span: Span) -> StmtKind {
        self.end_clause();
        let state = self.f.as_ref().and_then(|f| f.switches.last()).cloned();
        match state {
            None => self.error(codes::CASE, span, "`default` stands inside a switch"),
            Some(state) => {
                if let Some(old) = state.default {
                    self.report(
                        Diagnostic::error(codes::CASE, span, "`default` is repeated")
                            .label(old, "it stands here already"),
                    );
                }
                if let Some((id, _)) = state.tagged {
                    let all = self.program.types.record(id).fields.as_ref().map_or(0, |f| f.len());
                    if state.members.len() >= all {
                        self.report(Diagnostic::warning(
                            codes::CASE,
                            span,
                            "every member has a case: `default` is never taken",
                        ));
                    }
                }
                if let Some(state) = self.f.as_mut().and_then(|f| f.switches.last_mut()) {
                    state.default = Some(span);
                }
                self.case_barriers(span);
            }
        }
        StmtKind::Default(self.boxed(body))
    }
}

/// How a value that is read from a member is taken.
fn bind_of(value: &Expr) -> Bind {
    match &*value.kind {
        ExprKind::Convert(_, inner) => match bind_of(inner) {
            Bind::Borrow(kind, _) => Bind::Borrow(kind, value.ty.ty),
            other => other,
        },
        ExprKind::Borrow(kind, _) => Bind::Borrow(*kind, value.ty.ty),
        ExprKind::Move(_) => Bind::Move,
        _ => Bind::Copy,
    }
}

/// What a `case .member(name):` at the front of a statement binds.
fn binding_label(stmt: &Stmt) -> Option<LocalId> {
    match &stmt.kind {
        StmtKind::CaseMember(_, Some((local, _)), _) => Some(*local),
        StmtKind::CaseMember(_, None, body) | StmtKind::Case(_, _, body) | StmtKind::Default(body) => {
            binding_label(body)
        }
        _ => None,
    }
}

/// Whether control may run off the end of a statement. Values of variables are not considered, and
/// a `goto` out of a loop counts as leaving the statement for good.
fn may_complete(types: &TypeStore, stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::GotoComputed(_) => {
            false
        }
        StmtKind::Block(block) => block_completes(types, block),
        StmtKind::If(_, then, other) => {
            may_complete(types, then) || other.as_ref().is_none_or(|other| may_complete(types, other))
        }
        StmtKind::While(cond, body) => !is_true(cond) || breaks(body, false),
        StmtKind::For(_, cond, _, body) => cond.as_ref().is_some_and(|cond| !is_true(cond)) || breaks(body, false),
        StmtKind::DoWhile(body, cond) => breaks(body, true) || (!is_true(cond) && may_complete(types, body)),
        StmtKind::Switch(_, body) => {
            !has_default(body) || breaks(body, false) || may_complete(types, body) || is_empty(body)
        }
        // Each member, or each state that is possible, has a case, or there is a `default`.
        StmtKind::SwitchTagged(_, body) | StmtKind::SwitchEnd(_, body) => {
            breaks(body, false) || may_complete(types, body) || is_empty(body)
        }
        StmtKind::Case(_, _, body)
        | StmtKind::CaseMember(_, _, body)
        | StmtKind::Default(body)
        | StmtKind::Label(_, body) => may_complete(types, body),
        StmtKind::Expr(e) => !never_returns(types, e),
        StmtKind::Select { .. } => {
            clauses(stmt).any(|b| block_completes(types, b) || b.stmts.iter().any(|s| breaks(s, false)))
        }
        StmtKind::Empty
        | StmtKind::Declare(..)
        | StmtKind::Defer(_)
        | StmtKind::Swap(..)
        | StmtKind::CountGroup(_)
        | StmtKind::Asm(_)
        | StmtKind::VaStart(_)
        | StmtKind::VaEnd(_)
        | StmtKind::VaCopy(..)
        | StmtKind::Arena(..)
        | StmtKind::Open(..)
        | StmtKind::Cursor(..)
        | StmtKind::Unpack { .. }
        | StmtKind::Channel { .. }
        | StmtKind::Send { .. }
        | StmtKind::SetAdd { .. }
        | StmtKind::Receive { .. } => true,
    }
}

/// Whether control may run off the end of a block.
pub(crate) fn block_completes(types: &TypeStore, block: &Block) -> bool {
    let mut runs_on = true;
    for stmt in &block.stmts {
        runs_on = (runs_on || has_label(stmt)) && may_complete(types, stmt);
    }
    runs_on
}

/// The bodies of the cases of a `switch receive`.
fn clauses(stmt: &Stmt) -> impl Iterator<Item = &Block> {
    let (cases, default) = match &stmt.kind {
        StmtKind::Select { cases, default, .. } => (cases.as_slice(), default.as_ref()),
        _ => (&[][..], None),
    };
    cases.iter().map(|case| &case.body).chain(default)
}

fn is_empty(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Block(block) => block.stmts.is_empty(),
        kind => matches!(kind, StmtKind::Empty),
    }
}

fn is_true(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Int(value) => *value != 0,
        ExprKind::Convert(_, inner) => is_true(inner),
        _ => false,
    }
}

/// The statements directly inside.
fn children(stmt: &Stmt) -> Vec<&Stmt> {
    match &stmt.kind {
        StmtKind::Block(block) => block.stmts.iter().collect(),
        StmtKind::If(_, then, other) => [Some(then), other.as_ref()].into_iter().flatten().map(|s| &**s).collect(),
        StmtKind::While(_, body)
        | StmtKind::DoWhile(body, _)
        | StmtKind::For(_, _, _, body)
        | StmtKind::Switch(_, body)
        | StmtKind::SwitchTagged(_, body)
        | StmtKind::SwitchEnd(_, body)
        | StmtKind::Case(_, _, body)
        | StmtKind::CaseMember(_, _, body)
        | StmtKind::Default(body)
        | StmtKind::Label(_, body) => vec![body],
        StmtKind::Select { .. } => clauses(stmt).flat_map(|block| &block.stmts).collect(),
        _ => vec![],
    }
}

fn is_loop(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::For(..))
}

fn is_switch(stmt: &Stmt) -> bool {
    use StmtKind::*;
    matches!(stmt.kind, Switch(..) | SwitchTagged(..) | SwitchEnd(..) | Select { .. })
}

/// Whether a label stands in the statement, so that it is reached although what is before it never
/// ends.
fn has_label(stmt: &Stmt) -> bool {
    let is_label =
        matches!(stmt.kind, StmtKind::Case(..) | StmtKind::CaseMember(..) | StmtKind::Default(_) | StmtKind::Label(..));
    is_label || children(stmt).into_iter().any(has_label)
}

fn has_default(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Default(_)) || children(stmt).into_iter().any(|s| !is_switch(s) && has_default(s))
}

/// Whether a `break` in the body of a loop or switch leaves it; `continues`: a `continue` counts
/// too.
fn breaks(body: &Stmt, continues: bool) -> bool {
    match &body.kind {
        StmtKind::Break => true,
        StmtKind::Continue => continues,
        _ if is_loop(body) => false,
        _ if is_switch(body) => continues && children(body).into_iter().any(continues_loop),
        _ => children(body).into_iter().any(|s| breaks(s, continues)),
    }
}

/// Whether a `continue` in a switch continues the loop around it.
fn continues_loop(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Continue => true,
        _ if is_loop(stmt) => false,
        _ => children(stmt).into_iter().any(continues_loop),
    }
}

/// A call of a function that never returns.
fn never_returns(types: &TypeStore, e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Unreachable => true,
        ExprKind::Call(_, ty, _) => types.as_func(*ty).is_some_and(|f| f.noreturn),
        ExprKind::Convert(_, inner) | ExprKind::Comma(_, inner) => never_returns(types, inner),
        _ => false,
    }
}
