//! Statements.

use crate::checker::{Checker, Known};
use crate::codes;
use crate::convert::Why;
use crate::function::{LabelState, LoopKind, SwitchState};
use crate::scope::Entity;
use crate::specs::{Place, Role};
use crate::tree::*;
use crate::types::*;
use source::{Diagnostic, Span, Symbol};
use syntax::ast;

impl Checker<'_> {
    /// A block in a scope of its own.
    pub(crate) fn block(&mut self, block: &ast::Block) -> Block {
        self.scopes.push();
        self.open_block();
        let out = self.block_stmts(block);
        self.close_block();
        self.scopes.pop();
        out
    }

    fn open_block(&mut self) {
        if let Some(f) = &mut self.f {
            f.block_count += 1;
            f.blocks.push(f.block_count);
        }
    }

    fn close_block(&mut self) {
        if let Some(f) = &mut self.f {
            f.blocks.pop();
        }
    }

    fn count_label(&mut self) {
        if let Some(f) = &mut self.f {
            f.label_count += 1;
        }
    }

    /// The statements of a block in the scope at hand.
    pub(crate) fn block_stmts(&mut self, block: &ast::Block) -> Block {
        let barriers = self.f.as_ref().map_or(0, |f| f.barriers.len());
        let mut stmts = vec![];
        let mut at = 0;
        while let Some(stmt) = block.stmts.get(at) {
            if let Some((group, used)) = self.count_group(&block.stmts[at..]) {
                stmts.extend(group);
                at += used;
                continue;
            }
            match self.stmt(stmt) {
                Some(Stmt { kind: StmtKind::Block(group), .. }) if matches!(stmt.kind, ast::StmtKind::Decl(_)) => {
                    stmts.extend(group.stmts);
                }
                Some(stmt) => stmts.push(stmt),
                None => {}
            }
            at += 1;
        }
        if let Some(f) = &mut self.f {
            f.barriers.truncate(barriers);
        }
        Block { stmts, span: block.span }
    }

    /// A statement node with the `unsafe` state at hand.
    pub(crate) fn stmt_node(&self, kind: StmtKind, span: Span) -> Stmt {
        Stmt { kind, span, is_unsafe: !self.checked() }
    }

    fn boxed(&mut self, stmt: &ast::Stmt) -> Box<Stmt> {
        let span = stmt.span;
        Box::new(self.stmt(stmt).unwrap_or(Stmt { kind: StmtKind::Empty, span, is_unsafe: false }))
    }

    /// A statement in a scope of its own (bodies of loops and branches).
    fn scoped(&mut self, stmt: &ast::Stmt) -> Box<Stmt> {
        self.scopes.push();
        self.open_block();
        let barriers = self.f.as_ref().map_or(0, |f| f.barriers.len());
        let out = self.boxed(stmt);
        self.close_block();
        if let Some(f) = &mut self.f {
            f.barriers.truncate(barriers);
        }
        self.scopes.pop();
        out
    }

    /// A statement; `None` if it leaves nothing.
    pub(crate) fn stmt(&mut self, stmt: &ast::Stmt) -> Option<Stmt> {
        let span = stmt.span;
        let kind = match &stmt.kind {
            ast::StmtKind::Empty => StmtKind::Empty,
            ast::StmtKind::Expr(e) => self.expr_stmt(e),
            ast::StmtKind::Decl(decl) => {
                let out = self.local_decl(decl, span);
                if stmt.attrs.iter().any(is_maybe_unused) {
                    self.use_names(decl);
                }
                return out;
            }
            ast::StmtKind::Function(def) => {
                self.error(codes::DECLARATION, def.span, "functions are not nested: move this one to file scope");
                StmtKind::Empty
            }
            ast::StmtKind::StaticAssert(assert) => {
                self.static_assert(assert);
                StmtKind::Empty
            }
            ast::StmtKind::Block(block) => StmtKind::Block(self.block(block)),
            ast::StmtKind::If { cond, then, other } => {
                let cond = self.condition(cond);
                let then = self.scoped(then);
                let other = other.as_ref().map(|s| self.scoped(s));
                StmtKind::If(cond, then, other)
            }
            ast::StmtKind::While(cond, body) => {
                let cond = self.condition(cond);
                let body = self.loop_body(body);
                StmtKind::While(cond, body)
            }
            ast::StmtKind::DoWhile(body, cond) => {
                let body = self.loop_body(body);
                let cond = self.condition(cond);
                StmtKind::DoWhile(body, cond)
            }
            ast::StmtKind::For { init, cond, step, body } => {
                self.for_stmt(init.as_deref(), cond.as_ref(), step.as_ref(), body)
            }
            ast::StmtKind::Switch(e, body) => self.switch_stmt(e, body, span),
            ast::StmtKind::Case(low, high, body) => self.case_stmt(low, high.as_ref(), body),
            ast::StmtKind::CaseMember { member, binding, body } => self.case_member(*member, *binding, body),
            ast::StmtKind::Default(body) => self.default_stmt(body, span),
            ast::StmtKind::Break => self.leave(StmtKind::Break, span),
            ast::StmtKind::Continue => self.leave(StmtKind::Continue, span),
            ast::StmtKind::Return(e) => self.return_stmt(e.as_ref(), span),
            ast::StmtKind::Goto(name) => self.goto_stmt(*name),
            ast::StmtKind::GotoComputed(e) => {
                if self.checked() {
                    self.error_help(codes::JUMP, span, "a computed goto is not in the safe language", "use a switch");
                }
                let e = self.expr(e);
                let e = self.rvalue(e);
                StmtKind::GotoComputed(e)
            }
            ast::StmtKind::Label(name, body) => self.label_stmt(*name, body),
            ast::StmtKind::Defer(body) => self.defer_stmt(body, span),
            ast::StmtKind::Unsafe(block) => {
                if let Some(f) = &mut self.f {
                    f.unsafe_depth += 1;
                }
                let block = self.block(block);
                if let Some(f) = &mut self.f {
                    f.unsafe_depth -= 1;
                }
                StmtKind::Block(block)
            }
            ast::StmtKind::Swap(a, b) => self.swap_stmt(a, b, span),
            ast::StmtKind::Asm(asm) => self.asm_stmt(asm, span),
            ast::StmtKind::Unsupported(word, name) => {
                self.later(*word, span);
                self.poison(*name);
                StmtKind::Empty
            }
        };
        Some(self.stmt_node(kind, span))
    }

    /// `[[maybe_unused]]` in front of a declaration.
    fn use_names(&mut self, decl: &ast::Decl) {
        for d in &decl.declarators {
            let Some(name) = d.declarator.name else { continue };
            if let (Some(Entity::Local(id)), Some(f)) = (self.scopes.lookup(name.name).cloned(), &mut self.f) {
                f.used.insert(id);
            }
        }
    }

    fn expr_stmt(&mut self, e: &ast::Expr) -> StmtKind {
        if let Some(kind) = self.va_statement(e) {
            return kind;
        }
        let value = self.expr(e);
        self.warn_unused_value(e, &value);
        let value = if value.is_place() && !matches!(self.kind(value.ty.ty), TyKind::Array { .. }) {
            self.rvalue(value)
        } else {
            value
        };
        StmtKind::Expr(value)
    }

    fn warn_unused_value(&mut self, e: &ast::Expr, value: &Expr) {
        let pure = match &e.kind {
            ast::ExprKind::Binary(op, ..) => !matches!(op, ast::BinaryOp::And | ast::BinaryOp::Or),
            ast::ExprKind::Ident(_) | ast::ExprKind::Int(_) | ast::ExprKind::Dot(..) | ast::ExprKind::Arrow(..) => true,
            ast::ExprKind::Unary(op, _) => {
                matches!(op, ast::UnaryOp::Neg | ast::UnaryOp::Not | ast::UnaryOp::BitNot | ast::UnaryOp::AddrOf)
            }
            _ => false,
        };
        if pure && !self.is_error(value.ty.ty) && self.checked() {
            let mut warning =
                Diagnostic::warning(codes::SUSPICIOUS, e.span, "the value of this expression is not used");
            if matches!(e.kind, ast::ExprKind::Binary(ast::BinaryOp::Eq, ..)) {
                warning = warning.help("`=` assigns, `==` compares");
            }
            self.report(warning);
        }
    }

    /// A condition.
    pub(crate) fn condition(&mut self, e: &ast::Expr) -> Expr {
        let value = self.expr(e);
        self.truth(value)
    }

    fn loop_body(&mut self, body: &ast::Stmt) -> Box<Stmt> {
        self.push_loop(LoopKind::Loop);
        let out = self.scoped(body);
        self.pop_loop();
        out
    }

    fn push_loop(&mut self, kind: LoopKind) {
        if let Some(f) = &mut self.f {
            f.loops.push(kind);
        }
    }

    fn pop_loop(&mut self) {
        if let Some(f) = &mut self.f {
            f.loops.pop();
        }
    }

    fn for_stmt(
        &mut self,
        init: Option<&ast::Stmt>,
        cond: Option<&ast::Expr>,
        step: Option<&ast::Expr>,
        body: &ast::Stmt,
    ) -> StmtKind {
        self.scopes.push();
        let mut before = vec![];
        if let Some(init) = init {
            if let Some(stmt) = self.stmt(init) {
                match stmt.kind {
                    // A declaration of several variables comes as a block without a scope.
                    StmtKind::Block(block) if matches!(init.kind, ast::StmtKind::Decl(_)) => before.extend(block.stmts),
                    _ => before.push(stmt),
                }
            }
        }
        let cond = cond.map(|c| self.condition(c));
        let step = step.map(|s| {
            let e = self.expr(s);
            if e.is_place() {
                self.rvalue(e)
            } else {
                e
            }
        });
        let body = self.loop_body(body);
        self.scopes.pop();
        StmtKind::For(before, cond, step, body)
    }

    fn switch_stmt(&mut self, e: &ast::Expr, body: &ast::Stmt, span: Span) -> StmtKind {
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

    fn switch_body(&mut self, state: SwitchState, body: &ast::Stmt) -> (Box<Stmt>, SwitchState) {
        if let Some(f) = &mut self.f {
            f.switches.push(state);
        }
        self.push_loop(LoopKind::Switch);
        let body = self.scoped(body);
        self.pop_loop();
        let state = self.f.as_mut().and_then(|f| f.switches.pop()).unwrap_or_default();
        (body, state)
    }

    fn tagged_switch(
        &mut self,
        value: Expr,
        id: RecordId,
        body: &ast::Stmt,
        span: Span,
        barriers: Vec<u32>,
    ) -> StmtKind {
        let constant = value.ty.quals.is_const;
        let state = SwitchState { tagged: Some((id, constant)), barriers, ..SwitchState::default() };
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

    /// A clause of a tagged switch does not run on into one that binds a member: there would be nothing to bind.
    fn check_fall_through(&mut self, body: &ast::Stmt) {
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

    fn case_stmt(&mut self, low: &ast::Expr, high: Option<&ast::Expr>, body: &ast::Stmt) -> StmtKind {
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

    fn add_case(&mut self, lo: i128, hi: i128, span: Span) {
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
    fn case_barriers(&mut self, span: Span) {
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

    fn case_member(&mut self, member: ast::Ident, binding: Option<ast::Ident>, body: &ast::Stmt) -> StmtKind {
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
                "a case behind `default` of a tagged union can never match: put it in front",
            );
        }
        if let Some(state) = self.f.as_mut().and_then(|f| f.switches.last_mut()) {
            state.members.push(n);
        }
        self.case_barriers(member.span);
        let _ = constant;
        let local = binding.map(|name| {
            let ty = self.program.types.record(id).fields.as_ref().and_then(|f| f.get(n as usize)).map(|f| f.ty);
            let mut ty = ty.unwrap_or(Qty::plain(self.program.types.common.error));
            if let Some(p) = self.program.types.as_pointer(ty.ty) {
                ty.ty = self.types().pointer(Pointer { region: Region::Var, ..p });
            }
            let local = self.new_local(Some(name.name), Qty::plain(ty.ty), name.span, false);
            self.scopes.declare(name.name, Entity::Local(local), name.span);
            local
        });
        let body = self.boxed(body);
        StmtKind::CaseMember(n, local, body)
    }

    fn default_stmt(&mut self, body: &ast::Stmt, span: Span) -> StmtKind {
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

    fn leave(&mut self, kind: StmtKind, span: Span) -> StmtKind {
        let loops = self.f.as_ref().map(|f| f.loops.clone()).unwrap_or_default();
        let is_break = matches!(kind, StmtKind::Break);
        let word = if is_break { "break" } else { "continue" };
        for state in loops.iter().rev() {
            match state {
                LoopKind::Loop => return kind,
                LoopKind::Switch if is_break => return kind,
                LoopKind::Switch => {}
                LoopKind::Defer => {
                    self.error(codes::JUMP, span, format!("`{word}` cannot leave a `defer`"));
                    return StmtKind::Empty;
                }
            }
        }
        self.error(
            codes::JUMP,
            span,
            format!("`{word}` stands inside a loop{}", if is_break { " or a switch" } else { "" }),
        );
        StmtKind::Empty
    }

    fn return_stmt(&mut self, e: Option<&ast::Expr>, span: Span) -> StmtKind {
        let ret = self.f.as_ref().and_then(|f| f.ret).unwrap_or(self.program.types.common.void);
        if self.f.as_ref().is_some_and(|f| f.in_defer > 0) {
            self.error(codes::JUMP, span, "`return` cannot leave a `defer`");
        }
        let noreturn = self
            .f
            .as_ref()
            .and_then(|f| f.func)
            .and_then(|id| self.program.types.as_func(self.program.functions[id.0 as usize].ty));
        if noreturn.is_some_and(|f| f.noreturn) {
            self.error(codes::RETURN, span, "this function is declared never to return");
        }
        let is_void = matches!(self.kind(ret), TyKind::Void);
        match e {
            None if !is_void && !self.is_error(ret) => {
                if self.checked() {
                    let text = self.show(ret);
                    self.error(codes::RETURN, span, format!("a value of type `{text}` must be returned"));
                }
                StmtKind::Return(None)
            }
            None => StmtKind::Return(None),
            Some(e) => {
                let value = self.expr_expecting(e, if is_void { None } else { Some(ret) });
                if is_void {
                    let value = self.rvalue(value);
                    if !matches!(self.kind(value.ty.ty), TyKind::Void | TyKind::Error) && self.checked() {
                        self.error(codes::RETURN, e.span, "this function returns nothing, but a value is given");
                    }
                    return StmtKind::Return(Some(value));
                }
                let value = self.coerce(value, ret, Why::Return);
                StmtKind::Return(Some(value))
            }
        }
    }

    /// The state of a label, made at its first mention.
    pub(crate) fn label(&mut self, name: Symbol) -> LabelId {
        let Some(f) = &mut self.f else { return LabelId(0) };
        let next = LabelId(f.label_names.len() as u32);
        let state =
            f.labels.entry(name).or_insert(LabelState { id: next, defined: None, barriers: vec![], jumps: vec![] });
        let id = state.id;
        if id == next {
            f.label_names.push(name);
        }
        id
    }

    fn goto_stmt(&mut self, name: ast::Ident) -> StmtKind {
        let id = self.label(name.name);
        if let Some(f) = &mut self.f {
            let open = f.barriers.clone();
            if let Some(label) = f.labels.get_mut(&name.name) {
                label.jumps.push((name.span, open));
            }
            if f.in_defer > 0 {
                self.error(codes::JUMP, name.span, "`goto` cannot leave a `defer`");
            }
        }
        StmtKind::Goto(id)
    }

    fn label_stmt(&mut self, name: ast::Ident, body: &ast::Stmt) -> StmtKind {
        self.count_label();
        let id = self.label(name.name);
        let mut clash = None;
        if let Some(f) = &mut self.f {
            let open = f.barriers.clone();
            if let Some(label) = f.labels.get_mut(&name.name) {
                clash = label.defined;
                label.defined = Some(name.span);
                label.barriers = open;
            }
        }
        if let Some(old) = clash {
            self.report(
                Diagnostic::error(
                    codes::CONFLICT,
                    name.span,
                    format!("the label `{}` stands twice in this function", name.name),
                )
                .label(old, "it stands here already"),
            );
        }
        let body = self.boxed(body);
        StmtKind::Label(id, body)
    }

    fn defer_stmt(&mut self, body: &ast::Stmt, span: Span) -> StmtKind {
        let _ = span;
        self.push_loop(LoopKind::Defer);
        if let Some(f) = &mut self.f {
            f.in_defer += 1;
        }
        let body = self.scoped(body);
        self.pop_loop();
        if let Some(f) = &mut self.f {
            f.in_defer -= 1;
            f.barrier_count += 1;
            let number = f.barrier_count;
            f.barriers.push(number);
        }
        StmtKind::Defer(body)
    }

    fn swap_stmt(&mut self, a: &ast::Expr, b: &ast::Expr, span: Span) -> StmtKind {
        let a = self.expr(a);
        let b = self.expr(b);
        for e in [&a, &b] {
            if !e.is_place() && !self.is_error(e.ty.ty) {
                self.error(codes::PLACE, e.span, "`:=:` exchanges two places that can be assigned");
                return StmtKind::Empty;
            }
            if e.ty.quals.is_const {
                self.error(codes::CONST, e.span, "this is const: it cannot be exchanged");
                return StmtKind::Empty;
            }
        }
        if self.guarded_place(&a) || self.guarded_place(&b) {
            return StmtKind::Empty;
        }
        // An exchange is a read and a write that nothing else sees.
        for e in [&a, &b] {
            self.check_read(e);
            if self.checked() && self.guarded_address(e, e.span) {
                return StmtKind::Empty;
            }
        }
        for (to, from) in [(&a, &b), (&b, &a)] {
            if let ExprKind::Local(id) = *to.kind {
                let value = self.rvalue(from.clone());
                self.note_assigned(id, &value);
            }
        }
        if a.ty.ty != b.ty.ty && !self.same_but_region(a.ty.ty, b.ty.ty) {
            let (x, y) = (self.show(a.ty.ty), self.show(b.ty.ty));
            self.error(
                codes::TYPE,
                span,
                format!("type: `{x}` and `{y}` cannot be exchanged: `:=:` needs equal types"),
            );
            return StmtKind::Empty;
        }
        StmtKind::Swap(a, b)
    }

    /// Whether two pointer types differ in the region only.
    pub(crate) fn same_but_region(&self, a: Ty, b: Ty) -> bool {
        match (self.kind(a), self.kind(b)) {
            (TyKind::Ptr(x), TyKind::Ptr(y)) => Pointer { region: y.region, ..*x } == *y,
            _ => self.is_error(a) || self.is_error(b),
        }
    }

    fn asm_stmt(&mut self, asm: &ast::AsmStmt, span: Span) -> StmtKind {
        if self.checked() {
            self.error_help(
                codes::UNSAFE,
                span,
                "inline assembly is not in the safe language",
                "put it into `unsafe { }`",
            );
        }
        let mut outputs = vec![];
        for o in &asm.outputs {
            let e = self.expr(&o.expr);
            outputs.push((o.name.map(|n| n.name), o.constraint.clone(), e));
        }
        let mut inputs = vec![];
        for i in &asm.inputs {
            let e = self.expr(&i.expr);
            let memory = i.constraint.contains(&b'm') && e.is_place();
            let e = if memory { e } else { self.rvalue(e) };
            inputs.push((i.name.map(|n| n.name), i.constraint.clone(), e));
        }
        let labels = asm.labels.iter().map(|l| self.label(l.name)).collect();
        StmtKind::Asm(Box::new(Asm {
            volatile: asm.volatile,
            template: asm.template.clone(),
            outputs,
            inputs,
            clobbers: asm.clobbers.clone(),
            labels,
        }))
    }

    /// Declarations in a block. Several variables come back as a block node without a span, which opens no scope.
    fn local_decl(&mut self, decl: &ast::Decl, span: Span) -> Option<Stmt> {
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
        let base = self.base_type(&decl.specs, place);
        for d in &decl.declarators {
            if let Some(stmt) = self.local_declarator(decl, d, base, place) {
                stmts.push(stmt);
            }
        }
        match stmts.len() {
            0 => None,
            1 => stmts.pop(),
            _ => Some(self.stmt_node(StmtKind::Block(Block { stmts, span: Span::NONE }), span)),
        }
    }

    fn local_declarator(&mut self, decl: &ast::Decl, d: &ast::InitDeclarator, base: Qty, place: Place) -> Option<Stmt> {
        let name = d.declarator.name?;
        if matches!(decl.specs.ty, ast::TypeSpec::Infer) {
            return self.auto_local(decl, d, name);
        }
        let mut declared = self.declare_type(base, &d.declarator, place);
        if place.role == Role::Typedef {
            self.check_redeclared(name);
            self.scopes.declare(name.name, Entity::Typedef(declared.ty), name.span);
            return None;
        }
        if matches!(self.kind(declared.ty.ty), TyKind::Func(_)) {
            self.attach_attributes(&mut declared, &decl.specs, &d.declarator);
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
            _ => self.plain_local(name, declared.ty, declared.heap, decl, d),
        }
    }

    fn check_redeclared(&mut self, name: ast::Ident) {
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

    fn auto_local(&mut self, decl: &ast::Decl, d: &ast::InitDeclarator, name: ast::Ident) -> Option<Stmt> {
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
        let mut ty = Qty::plain(value.ty.ty);
        ty.quals.is_const = decl.specs.quals.is_const || decl.specs.constexpr;
        if let Some(p) = self.program.types.as_pointer(ty.ty) {
            ty.ty = self.types().pointer(Pointer { region: Region::Var, nonnull: false, ..p });
        }
        self.check_redeclared(name);
        let id = self.new_local(Some(name.name), ty, name.span, false);
        let value = self.coerce(value, ty.ty, Why::Store);
        if ty.quals.is_const {
            self.note_known(id, &value);
        }
        self.scopes.declare(name.name, Entity::Local(id), name.span);
        Some(self.stmt_node(StmtKind::Declare(id, Some(Init::Expr(value))), d.declarator.span))
    }

    fn note_known(&mut self, id: LocalId, value: &Expr) {
        let known = match &*value.kind {
            ExprKind::Int(n) => Known::Int(*n),
            ExprKind::Float(f) => Known::Float(*f),
            _ => return,
        };
        if let Some(f) = &mut self.f {
            f.known.insert(id, known);
        }
    }

    fn plain_local(
        &mut self,
        name: ast::Ident,
        mut ty: Qty,
        heap: bool,
        decl: &ast::Decl,
        d: &ast::InitDeclarator,
    ) -> Option<Stmt> {
        self.check_redeclared(name);
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
        let align = self.alignment(&decl.specs.alignas, &d.declarator.attrs);
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
                    }
                    if ty.quals.is_const {
                        self.note_known(id, value);
                    }
                }
                Some(init)
            }
            None => {
                if decl.specs.constexpr {
                    self.error(codes::INITIALISER, name.span, "a `constexpr` object needs an initialiser");
                }
                None
            }
        };
        Some(self.stmt_node(StmtKind::Declare(id, init), Span::new(name.span.lo, d.declarator.span.hi)))
    }

    /// `char **p = argv + 1;`: what the pointers behind an unannotated pointer to pointers know is taken from the initialiser.
    fn adopt_target(&mut self, ty: Ty, init: &ast::Expr) -> Ty {
        let Some(p) = self.program.types.as_pointer(ty) else { return ty };
        let Some(inner) = self.program.types.as_pointer(p.target.ty) else { return ty };
        if inner.bounds != Bounds::Thin || inner.raw || !self.checked() {
            return ty;
        }
        self.muted += 1;
        let value = self.value(init);
        self.muted -= 1;
        let Some(q) = self.program.types.as_pointer(value.ty.ty) else { return ty };
        match self.program.types.as_pointer(q.target.ty) {
            Some(have) if have.target == inner.target && have.bounds != Bounds::Thin => {
                let target = Qty { ty: q.target.ty, ..p.target };
                self.types().pointer(Pointer { target, ..p })
            }
            _ => ty,
        }
    }

    /// The initialiser of a local, and its type with an array's length filled in.
    fn local_init(&mut self, id: LocalId, init: &ast::Initializer, ty: Qty, span: Span) -> (Init, Qty) {
        if let ast::Initializer::Expr(e) = init {
            if !matches!(self.kind(ty.ty), TyKind::Array { .. }) {
                let value = self.expr_expecting(e, Some(ty.ty));
                let value = self.rvalue(value);
                self.note_assigned(id, &value);
                let value = self.coerce(value, ty.ty, Why::Store);
                return (Init::Expr(value), ty);
            }
        }
        let (init, whole) = self.initialiser(init, ty.ty, span);
        (init, Qty { ty: whole, ..ty })
    }

    fn static_local(&mut self, name: ast::Ident, ty: Qty, decl: &ast::Decl, d: &ast::InitDeclarator) {
        self.check_redeclared(name);
        self.reject_counted_tail(ty.ty, name.span);
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
        let align = self.alignment(&decl.specs.alignas, &d.declarator.attrs);
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

    fn init_static(&mut self, id: GlobalId, ty: Qty, decl: &ast::Decl, d: &ast::InitDeclarator, name: ast::Ident) {
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

    fn extern_local(&mut self, name: ast::Ident, ty: Qty, decl: &ast::Decl, d: &ast::InitDeclarator) -> GlobalId {
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

/// The name that a `case .member(name):` at the front of a statement binds.
fn binding_label(stmt: &ast::Stmt) -> Option<ast::Ident> {
    match &stmt.kind {
        ast::StmtKind::CaseMember { binding: Some(name), .. } => Some(*name),
        ast::StmtKind::CaseMember { body, .. } | ast::StmtKind::Case(_, _, body) | ast::StmtKind::Default(body) => {
            binding_label(body)
        }
        _ => None,
    }
}

/// Whether control may run off the end of a statement, by its shape.
fn may_complete(stmt: &ast::Stmt) -> bool {
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
fn is_exit(e: &ast::Expr) -> bool {
    let ast::ExprKind::Call { callee, .. } = &e.kind else { return false };
    matches!(callee.kind, ast::ExprKind::Ident(name) if matches!(name.as_str(), "exit" | "abort" | "_Exit" | "__builtin_unreachable"))
}

fn is_maybe_unused(attr: &ast::Attribute) -> bool {
    matches!(attr.name.as_str(), "unused" | "maybe_unused")
}
