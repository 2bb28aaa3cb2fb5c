//! Processes: functions declared with `process`, and `spawn f(a, b)`, which makes a process that
//! calls one.
//!
//! A process shares no memory with any other, so what it is given is exchangeable
//! (`exchangeable.rs`). That is checked where the function is declared; what a `spawn` gives is
//! then converted as for any call, and owned arguments are moved.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::scope::Entity;
use crate::specs::Place;
use crate::tree::*;
use crate::types::*;
use source::{Span, Symbol};
use std::rc::Rc;
use syntax::ast;

const PAGE: &str = "docs/reference/processes.md says what a process may be given";

impl Checker<'_> {
    /// `pid`: a pointer to what the runtime keeps of another process.
    pub(crate) fn pid_type(&mut self, nonnull: bool) -> Ty {
        self.handle_pointer("pid", nonnull)
    }

    /// Checks the type of a function that is declared with `process`; what it is given and owns, it
    /// consumes.
    pub(crate) fn process_type(&mut self, name: ast::Ident, ty: Ty, place: Place) -> Ty {
        self.check_process(name, ty, place);
        let Some(fty) = self.program.types.as_func(ty) else { return ty };
        let mut fty = (*fty).clone();
        for param in &mut fty.params {
            param.consume |= self.program.types.owns(param.ty);
        }
        self.types().intern(TyKind::Func(Rc::new(fty)))
    }

    fn check_process(&mut self, name: ast::Ident, ty: Ty, place: Place) {
        let Some(fty) = self.program.types.as_func(ty) else { return };
        if place.foreign || place.trusted {
            let message = "a process runs a function of Leeward, and this one is declared as C's";
            self.error_help(codes::PROCESS, name.span, message, "let a process function call it");
            return;
        }
        if name.name.as_str() == "main" {
            self.error_help(codes::PROCESS, name.span, "`main` runs in the first process", "leave `process` out");
            return;
        }
        if !self.type_params.is_empty() || fty.variadic || fty.unprototyped || fty.noreturn {
            let message = "a process function is not generic, not variadic and not `noreturn`";
            self.error_help(codes::PROCESS, name.span, message, "let it call the one that is");
            return;
        }
        let common = self.program.types.common;
        if fty.ret != common.void && fty.ret != common.int && !self.is_error(fty.ret) {
            let message = "a process function returns `void`, or the `int` that `wait` gives as its status";
            self.error_help(
                codes::PROCESS,
                name.span,
                message,
                "write `void` or `int`; send other results over a channel",
            );
        }
        for (n, param) in fty.params.iter().enumerate() {
            if self.program.types.not_for_process(param.ty).is_none() {
                continue;
            }
            let (number, text) = (n + 1, self.show(param.ty));
            let message = format!(
                "parameter {number} of process `{}` is not exchangeable: a `{text}` may lead into the memory of the process \
                 that spawns",
                name.name
            );
            self.error_help(codes::PROCESS, name.span, message, PAGE);
        }
    }

    /// `process` before what is not a function.
    pub(crate) fn refuse_process(&mut self, specs: &ast::DeclSpecs) {
        if specs.process {
            let message = "`process` stands in front of a function: what a new process does";
            self.error_help(codes::PROCESS, specs.span, message, "leave it out");
        }
    }

    /// A process function named otherwise than by `spawn`.
    pub(crate) fn refuse_process_name(&mut self, name: Symbol, span: Span) -> Expr {
        self.error_help(
            codes::PROCESS,
            span,
            format!("`{name}` is what a process does: it is spawned, not called, and has no address"),
            format!("write `spawn {name}(...)`"),
        );
        self.error_node(span)
    }

    /// `spawn f(a, b)`; `question`: `spawn? f(a, b)`, which gives null where there is no room.
    pub(crate) fn spawn(&mut self, call: &ast::Expr, question: bool, span: Span) -> Expr {
        let ast::ExprKind::Call { callee, args, .. } = &call.kind else {
            return self.spawn_refused(span, "`spawn` stands in front of a call, which a new process makes");
        };
        let named = match callee.kind {
            ast::ExprKind::Ident(name) => self.scopes.lookup(name).cloned().map(|entity| (name, entity)),
            _ => None,
        };
        let function = match named {
            Some((name, Entity::Func(id))) => Some((name, id)),
            _ => None,
        };
        let process = function.filter(|(_, id)| self.program.functions[id.0 as usize].is_process);
        let Some((name, id)) = process else {
            for arg in args {
                self.value(arg);
            }
            if let (ast::ExprKind::Ident(name), None) = (&callee.kind, &named) {
                if self.scopes.lookup(*name).is_none() {
                    self.value(callee);
                    return self.error_node(span);
                }
            }
            return match function {
                Some((name, id)) => {
                    self.program.functions[id.0 as usize].used = true;
                    self.error_help(
                        codes::PROCESS,
                        callee.span,
                        format!("`{name}` is not declared as a process"),
                        format!("write `process` in front of the declaration of `{name}`"),
                    );
                    self.error_node(span)
                }
                None => self.spawn_refused(callee.span, "a process runs a function that is called by its name"),
            };
        };
        let function = &mut self.program.functions[id.0 as usize];
        function.used = true;
        let Some(fty) = self.program.types.as_func(self.program.functions[id.0 as usize].ty) else {
            return self.error_node(span);
        };
        let mut through = (*fty).clone();
        through.ret = self.pid_type(!question);
        let values = self.arguments(&through, args, Why::Store, span, Some(name));
        if values.len() != through.params.len() {
            return self.error_node(span);
        }
        let args = values.into_iter().map(|(e, _)| e).collect();
        let ret = through.ret;
        let through = self.types().intern(TyKind::Func(Rc::new(through)));
        let callee = Callee::Spawn(FuncRef { func: id, args: Rc::from([]) }, question);
        self.node(ExprKind::Call(callee, through, args), ret, span)
    }

    fn spawn_refused(&mut self, span: Span, message: &str) -> Expr {
        self.error_help(codes::PROCESS, span, message, PAGE);
        self.error_node(span)
    }
}
