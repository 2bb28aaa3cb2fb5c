//! Statements. Switches are in `switches.rs`, declarations in `locals.rs`.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::function::{LabelState, LoopKind};
use crate::list_pointers::declared_with_values;
use crate::locals::is_maybe_unused;
use crate::tree::*;
use crate::types::*;
use crate::walk::Part;
use source::{Diagnostic, Span, Symbol};
use std::borrow::Cow;
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

    pub(crate) fn open_block(&mut self) {
        if let Some(f) = &mut self.f {
            f.block_count += 1;
            f.blocks.push(f.block_count);
        }
    }

    pub(crate) fn close_block(&mut self) {
        if let Some(f) = &mut self.f {
            f.blocks.pop();
        }
    }

    pub(crate) fn count_label(&mut self) {
        if let Some(f) = &mut self.f {
            f.label_count += 1;
        }
    }

    /// The statements of a block in the scope at hand.
    pub(crate) fn block_stmts(&mut self, block: &ast::Block) -> Block {
        let barriers = self.f.as_ref().map_or(0, |f| f.barriers.len());
        let mut stmts = vec![];
        self.stmts_into(&block.stmts, true, &mut stmts);
        for (n, stmt) in stmts.iter().enumerate() {
            self.check_list_pointer(stmt, stmts.iter().skip(n + 1).map(Part::Stmt));
        }
        self.find_exchanges(&mut stmts);
        if let Some(f) = &mut self.f {
            f.barriers.truncate(barriers);
        }
        Block { stmts, span: block.span, region: None }
    }

    /// The statements of a list, in which groups of counts are found; what one is turned into (`spread`
    /// is false) is none again.
    fn stmts_into(&mut self, list: &[ast::Stmt], spread: bool, stmts: &mut Vec<Stmt>) {
        let list =
            if self.options.plain_c { Cow::Borrowed(list) } else { declared_with_values(crate::split::split(list)) };
        let mut at = 0;
        while let Some(stmt) = list.get(at) {
            let spread = spread.then(|| self.spread_group(&list[at..])).flatten();
            if spread.as_ref().is_none_or(|spread| spread.adjacent) {
                if let Some((group, used)) = self.count_group(&list[at..]) {
                    stmts.extend(group);
                    at += used;
                    continue;
                }
            }
            if let Some(spread) = spread {
                self.stmts_into(&spread.stmts, false, stmts);
                self.forget_probes();
                at += spread.used;
                continue;
            }
            let typed = self.typed_void_local(&list[at..]);
            match self.stmt(typed.as_ref().unwrap_or(stmt)) {
                Some(Stmt { kind: StmtKind::Block(group), .. })
                    if matches!(stmt.kind, ast::StmtKind::Decl(_) | ast::StmtKind::Arena { .. }) =>
                {
                    stmts.extend(group.stmts);
                }
                Some(stmt) => stmts.push(stmt),
                None => {}
            }
            if typed.is_some() {
                self.forget_probes();
            }
            at += 1;
        }
        if let Cow::Owned(_) = list {
            self.forget_probes();
        }
    }

    /// A statement node with the `unsafe` state at hand.
    pub(crate) fn stmt_node(&self, kind: StmtKind, span: Span) -> Stmt {
        Stmt { kind, span, is_unsafe: !self.checked() }
    }

    pub(crate) fn boxed(&mut self, stmt: &ast::Stmt) -> Box<Stmt> {
        let span = stmt.span;
        Box::new(self.stmt(stmt).unwrap_or(Stmt { kind: StmtKind::Empty, span, is_unsafe: false }))
    }

    /// A statement in a scope of its own (bodies of loops and branches).
    pub(crate) fn scoped(&mut self, stmt: &ast::Stmt) -> Box<Stmt> {
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
        self.before.walked += 1;
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
            ast::StmtKind::Arena { reap, names } => return self.arena_stmt(*reap, names, span),
            ast::StmtKind::Borrow(name, value) => return self.borrow_stmt(*name, value, span),
            ast::StmtKind::Cursor(name, place) => self.cursor_stmt(*name, place, span),
            ast::StmtKind::Expose { name, value, body } => self.expose_stmt(*name, value, body, span),
            ast::StmtKind::Open { reap, name, key } => self.open_stmt(*reap, *name, key, span),
            ast::StmtKind::Unpack { place, regions, bindings } => self.unpack_stmt(place, regions, bindings, span),
            ast::StmtKind::Channel { contract, state, importer, exporter } => {
                self.channel_stmt(*contract, *state, *importer, *exporter)
            }
            ast::StmtKind::Send(end, message, args) => self.send_stmt(end, *message, args, span),
            ast::StmtKind::Receive(pattern) => self.receive_stmt(pattern),
            ast::StmtKind::SwitchReceive(head, cases) => self.select_stmt(*head, cases),
            ast::StmtKind::SwitchState(end, body) => self.state_switch(end, body),
        };
        Some(self.stmt_node(kind, span))
    }

    pub(crate) fn expr_stmt(&mut self, e: &ast::Expr) -> StmtKind {
        if let Some(kind) = self.va_statement(e).or_else(|| self.set_statement(e)).or_else(|| self.cleared(e)) {
            return kind;
        }
        if let Some(kind) = self.chosen_step(e) {
            return kind;
        }
        self.value_unused(e.span);
        let value = self.expr(e);
        self.warn_unused_value(e, &value);
        let value = if value.is_place() && !matches!(self.kind(value.ty.ty), TyKind::Array { .. }) {
            let value = self.rvalue(value);
            self.looked(value)
        } else {
            value
        };
        StmtKind::Expr(value)
    }

    pub(crate) fn warn_unused_value(&mut self, e: &ast::Expr, value: &Expr) {
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

    pub(crate) fn loop_body(&mut self, body: &ast::Stmt) -> Box<Stmt> {
        self.push_loop(LoopKind::Loop);
        let out = self.scoped(body);
        self.pop_loop();
        out
    }

    pub(crate) fn push_loop(&mut self, kind: LoopKind) {
        if let Some(f) = &mut self.f {
            f.loops.push(kind);
        }
    }

    pub(crate) fn pop_loop(&mut self) {
        if let Some(f) = &mut self.f {
            f.loops.pop();
        }
    }

    pub(crate) fn for_stmt(
        &mut self,
        init: Option<&ast::Stmt>,
        cond: Option<&ast::Expr>,
        step: Option<&ast::Expr>,
        body: &ast::Stmt,
    ) -> StmtKind {
        self.scopes.push();
        let mut before = vec![];
        if let Some(init) = init {
            if let Some(stmt) = self.walker_stmt(init).or_else(|| self.stmt(init)) {
                match stmt.kind {
                    // A declaration of several variables comes as a block without a scope.
                    StmtKind::Block(block) if matches!(init.kind, ast::StmtKind::Decl(_)) => before.extend(block.stmts),
                    _ => before.push(stmt),
                }
            }
        }
        let cond = cond.map(|c| self.condition(c));
        let step = step.map(|s| {
            self.value_unused(s.span);
            let e = self.expr(s);
            if e.is_place() {
                let e = self.rvalue(e);
                self.looked(e)
            } else {
                e
            }
        });
        let body = self.loop_body(body);
        self.scopes.pop();
        self.check_walker(init, &before, cond.iter().chain(&step), &body);
        for stmt in &before {
            self.check_list_pointer(stmt, cond.iter().chain(&step).map(Part::Expr).chain([Part::Stmt(&body)]));
        }
        StmtKind::For(before, cond, step, body)
    }

    pub(crate) fn leave(&mut self, kind: StmtKind, span: Span) -> StmtKind {
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

    pub(crate) fn return_stmt(&mut self, e: Option<&ast::Expr>, span: Span) -> StmtKind {
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
                let value = self.rvalue(value);
                if self.program.types.as_pointer(ret).is_some_and(|p| p.own == Own::Shared) {
                    self.note_returned(&value);
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

    pub(crate) fn goto_stmt(&mut self, name: ast::Ident) -> StmtKind {
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

    pub(crate) fn label_stmt(&mut self, name: ast::Ident, body: &ast::Stmt) -> StmtKind {
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
        let body = match &body.kind {
            // A labelled block names the region of its locals.
            ast::StmtKind::Block(block) if self.tracked() => {
                self.scopes.push();
                let region = match self.declare_region(name, RegionKind::Block) {
                    Region::Body(n) => Some(n),
                    _ => None,
                };
                let inner = self.block(block);
                self.scopes.pop();
                Box::new(self.stmt_node(StmtKind::Block(Block { region, ..inner }), body.span))
            }
            _ => self.boxed(body),
        };
        StmtKind::Label(id, body)
    }

    pub(crate) fn defer_stmt(&mut self, body: &ast::Stmt, span: Span) -> StmtKind {
        let _ = span;
        self.push_loop(LoopKind::Defer);
        // Nothing enters the body by a jump, nor what comes after it.
        let outside = self.f.as_ref().map_or(0, |f| f.barriers.len());
        self.open_barrier();
        if let Some(f) = &mut self.f {
            f.in_defer += 1;
        }
        let body = self.scoped(body);
        self.pop_loop();
        if let Some(f) = &mut self.f {
            f.in_defer -= 1;
            f.barriers.truncate(outside);
        }
        self.open_barrier();
        StmtKind::Defer(body)
    }

    /// From here to the end of the block no jump enters.
    pub(crate) fn open_barrier(&mut self) {
        if let Some(f) = &mut self.f {
            f.barrier_count += 1;
            let number = f.barrier_count;
            f.barriers.push(number);
        }
    }

    pub(crate) fn swap_stmt(&mut self, a: &ast::Expr, b: &ast::Expr, span: Span) -> StmtKind {
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
        if self.guarded_place(&a) || self.guarded_place(&b) || !self.check_whole(&a) || !self.check_whole(&b) {
            return StmtKind::Empty;
        }
        // An exchange is a read and a write that nothing else sees.
        for e in [&a, &b] {
            self.check_read(e);
            if self.checked() && !self.is_owned_member(e) && self.guarded_address(e, e.span) {
                return StmtKind::Empty;
            }
        }
        for (to, from) in [(&a, &b), (&b, &a)] {
            if let ExprKind::Local(id) = *to.kind {
                let value = self.rvalue(from.clone());
                self.note_assigned(id, &value);
                self.note_swapped(id, &value);
            }
        }
        // The states of two endpoints are for `flow` to compare.
        let end = |ty| self.program.types.as_endpoint(ty).map(|end| (end.contract, end.side));
        let ends = end(a.ty.ty).is_some() && end(a.ty.ty) == end(b.ty.ty);
        if !ends && !self.program.types.same_modulo_regions(a.ty.ty, b.ty.ty) && !self.is_error(a.ty.ty) {
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

    pub(crate) fn asm_stmt(&mut self, asm: &ast::AsmStmt, span: Span) -> StmtKind {
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
}
