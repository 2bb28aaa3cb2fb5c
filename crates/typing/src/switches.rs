//! Switches over integers and over tagged unions, and their cases.

use crate::checker::Checker;
use crate::codes;
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
        self.check_fall_through(body);
        let (body, state) = self.switch_body(state, body);
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

    /// A clause of a tagged switch does not run on into one that binds a member: there would be nothing to bind.
    pub(crate) fn check_fall_through(&mut self, body: &ast::Stmt) {
        let ast::StmtKind::Block(block) = &body.kind else { return };
        let mut runs_on = false;
        for stmt in &block.stmts {
            if let Some(binding) = binding_label(stmt) {
                if runs_on {
                    self.error_help(
                        codes::CASE,
                        binding.span,
                        format!("the clause in front would fall through into this one, which binds `{}`", binding.name),
                        "end the clause in front with `break` or `return`",
                    );
                }
            }
            runs_on = may_complete(stmt);
        }
    }

    pub(crate) fn case_stmt(&mut self, low: &ast::Expr, high: Option<&ast::Expr>, body: &ast::Stmt) -> StmtKind {
        let lo = self.constant_int(low);
        let hi = match high {
            Some(high) => self.constant_int(high),
            None => lo,
        };
        let inside = self.f.as_ref().is_some_and(|f| !f.switches.is_empty());
        if !inside {
            self.error(codes::CASE, low.span, "a case label stands inside a switch");
            return self.boxed(body).kind;
        }
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
            self.report(
                Diagnostic::error(codes::CASE, span, format!("the case {lo} is repeated"))
                    .label(old, "it stands here already"),
            );
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
            self.scopes.declare(name.name, Entity::Local(local), name.span);
            (local, Bind::Copy)
        });
        let body = self.boxed(body);
        StmtKind::CaseMember(n, local, body)
    }

    /// Whether a place holds something owned, or what a view shows of it.
    fn holds_owner(&self, place: &Expr) -> bool {
        self.program.types.owns(place.ty.ty) || self.is_seen_owner(place)
    }

    /// The variable of a case whose member owns something is like a local that is initialised from it: it takes what it gives on,
    /// and else borrows.
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
        self.scopes.declare(name.name, Entity::Local(local), name.span);
        (local, bind_of(&value))
    }

    pub(crate) fn default_stmt(&mut self, body: &ast::Stmt, span: Span) -> StmtKind {
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

/// The name that a `case .member(name):` at the front of a statement binds.
pub(crate) fn binding_label(stmt: &ast::Stmt) -> Option<ast::Ident> {
    match &stmt.kind {
        ast::StmtKind::CaseMember { binding: Some(name), .. } => Some(*name),
        ast::StmtKind::CaseMember { body, .. } | ast::StmtKind::Case(_, _, body) | ast::StmtKind::Default(body) => {
            binding_label(body)
        }
        _ => None,
    }
}

/// Whether control may run off the end of a statement, by its shape.
pub(crate) fn may_complete(stmt: &ast::Stmt) -> bool {
    match &stmt.kind {
        ast::StmtKind::Break
        | ast::StmtKind::Continue
        | ast::StmtKind::Return(_)
        | ast::StmtKind::Goto(_)
        | ast::StmtKind::GotoComputed(_) => false,
        ast::StmtKind::Block(block) | ast::StmtKind::Unsafe(block) => block.stmts.last().is_none_or(may_complete),
        ast::StmtKind::If { then, other: Some(other), .. } => may_complete(then) || may_complete(other),
        ast::StmtKind::Case(_, _, body)
        | ast::StmtKind::Default(body)
        | ast::StmtKind::Label(_, body)
        | ast::StmtKind::CaseMember { body, .. } => may_complete(body),
        ast::StmtKind::While(cond, _) => {
            !matches!(cond.kind, ast::ExprKind::Int(ast::IntLit { value: 1.., .. }) | ast::ExprKind::Bool(true))
        }
        ast::StmtKind::For { cond: None, .. } => false,
        ast::StmtKind::Expr(e) => !is_exit(e),
        _ => true,
    }
}

/// A call of a function that is known never to return.
pub(crate) fn is_exit(e: &ast::Expr) -> bool {
    let ast::ExprKind::Call { callee, .. } = &e.kind else { return false };
    matches!(callee.kind, ast::ExprKind::Ident(name) if matches!(name.as_str(), "exit" | "abort" | "_Exit" | "__builtin_unreachable"))
}
