//! Tasks and custodians: `start f(a, b)`, `join(t)`, `yield()`, and the types `task` and
//! `custodian`.
//!
//! A task lives on when the block that started it is gone, so nothing that it is given may end with
//! that block: the parameters of the function that is started have `@heap` in place of every region
//! variable, nothing is lent, and what is owned goes to a `consume` parameter or becomes shared.
//! Regions are compared in `flow`, as for any call; here the type of that call is made.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::scope::{Entity, Tag};
use crate::tree::*;
use crate::types::*;
use source::{Span, Symbol};
use std::rc::Rc;
use syntax::ast;

/// Whether a predeclared word names an object of the runtime that programs see behind pointers
/// only.
pub(crate) fn is_handle(word: &str) -> bool {
    matches!(word, "task" | "custodian")
}

impl Checker<'_> {
    /// `task`, `custodian`: structs without members, the same in every file.
    pub(crate) fn handle_type(&mut self, word: Symbol) -> Ty {
        let tag = Symbol::new(&format!("lee_{word}"));
        let known = self.scopes.file_tag(tag);
        let id = match known {
            Some(Tag::Record(id)) => id,
            _ => {
                let id = RecordId(self.program.types.records.len() as u32);
                self.program.types.records.push(Record {
                    kind: RecordKind::Struct,
                    tag: Some(tag),
                    args: vec![],
                    fields: None,
                    packed: false,
                    align: None,
                    vector: false,
                    underaligned: false,
                    foreign: false,
                    exists: vec![],
                    span: Span::NONE,
                });
                self.scopes.declare_file_tag(tag, Tag::Record(id));
                id
            }
        };
        self.types().intern(TyKind::Record(id))
    }

    /// A pointer to such a struct.
    pub(crate) fn handle_pointer(&mut self, word: &str, nonnull: bool) -> Ty {
        let target = Qty::plain(self.handle_type(Symbol::new(word)));
        self.types().pointer(Pointer {
            target,
            bounds: Bounds::Thin,
            nonnull,
            own: Own::Shared,
            region: Region::Heap,
            raw: false,
        })
    }

    /// Declares `join` or `yield` when it is first called and the program has no function of that
    /// name.
    pub(crate) fn declare_task_word(&mut self, name: Symbol, span: Span) {
        if !self.tracked() || self.options.plain_c {
            return;
        }
        let common = self.program.types.common;
        let (symbol, params, ret) = match name.as_str() {
            "join" => ("lee_task_join", vec![self.handle_pointer("task", false)], common.bool_),
            "yield" => ("lee_task_yield", vec![], common.void),
            _ => return,
        };
        let params = params.into_iter().map(ParamTy::new).collect();
        let fty = FuncTy::new(ret, params, Abi::C);
        let ty = self.types().intern(TyKind::Func(Rc::new(fty)));
        let id = FuncId(self.program.functions.len() as u32);
        self.program.functions.push(Function {
            name,
            symbol: Some(Symbol::new(symbol)),
            ty,
            type_params: 0,
            linkage: Linkage::External,
            trust: Trust::Trusted,
            attrs: vec![],
            param_names: vec![],
            body: None,
            is_process: false,
            used: true,
            inline: Inlining::default(),
            old_style: false,
            allows: Default::default(),
            reentrant: false,
            span,
        });
        self.scopes.declare_file(name, Entity::Func(id), span);
    }

    /// `start f(a, b)`
    pub(crate) fn start(&mut self, call: &ast::Expr, span: Span) -> Expr {
        let ast::ExprKind::Call { callee, args, .. } = &call.kind else {
            return self.start_refused(span, "`start` stands in front of a call, which a new task makes");
        };
        let named = match callee.kind {
            ast::ExprKind::Ident(name) => self.scopes.lookup(name).cloned().map(|entity| (name, entity)),
            _ => None,
        };
        let Some((name, Entity::Func(id))) = named else {
            for arg in args {
                self.value(arg);
            }
            if let ast::ExprKind::Ident(name) = callee.kind {
                if self.scopes.lookup(name).is_none() {
                    self.value(callee);
                    return self.error_node(span);
                }
            }
            return self.start_refused(callee.span, "a task starts with a function that is called by its name");
        };
        let function = &mut self.program.functions[id.0 as usize];
        function.used = true;
        let (ty, trust, generic) = (function.ty, function.trust, function.type_params);
        let is_process = function.is_process;
        if is_process {
            return self.refuse_process_name(name, callee.span);
        }
        if trust != Trust::Checked {
            return self.start_refused(
                callee.span,
                &format!("`{name}` is not a function of Leeward: a task starts with one, which may call it"),
            );
        }
        let mut type_args: Rc<[Ty]> = Rc::from([]);
        if generic > 0 {
            match self.infer_arguments(id, args, None, span) {
                Some(found) => type_args = found,
                None => return self.error_node(span),
            }
        }
        let ty = self.types().subst(ty, &type_args);
        let Some(fty) = self.program.types.as_func(ty) else { return self.error_node(span) };
        if fty.variadic || fty.unprototyped {
            return self.start_refused(callee.span, "a task starts with a function whose parameters are all declared");
        }
        if self.program.types.owns(fty.ret) {
            return self.start_refused(
                callee.span,
                &format!("leak: nothing would take what `{name}` returns, which is owned: store it where the starter finds it"),
            );
        }
        let Some(fty) = self.started_type(&fty, name, span) else { return self.error_node(span) };
        let values = self.arguments(&fty, args, Why::Store, span, Some(name));
        if values.len() != fty.params.len() {
            return self.error_node(span);
        }
        let args = values.into_iter().map(|(e, _)| e).collect();
        let ret = fty.ret;
        let through = self.types().intern(TyKind::Func(Rc::new(fty)));
        let callee = Callee::Start(FuncRef { func: id, args: type_args });
        self.node(ExprKind::Call(callee, through, args), ret, span)
    }

    fn start_refused(&mut self, span: Span, message: &str) -> Expr {
        self.error_help(codes::TASK, span, message, "docs/reference/tasks.md says what a task can be started with");
        self.error_node(span)
    }

    /// The type that the new task's call is made through.
    fn started_type(&mut self, fty: &FuncTy, name: Symbol, span: Span) -> Option<FuncTy> {
        let regions: Vec<Region> = (0..fty.regions).map(|_| Region::Heap).collect();
        let mut out = self.types().open_function(fty, &regions);
        for (n, param) in out.params.iter_mut().enumerate() {
            if !param.consume && self.program.types.owns(param.ty) {
                let number = n + 1;
                self.error_help(
                    codes::TASK,
                    span,
                    format!("parameter {number} of `{name}` is lent for the call, and a task outlives the call that starts it"),
                    "declare the parameter `consume`, or make it a shared pointer",
                );
                return None;
            }
            if matches!(self.kind(param.ty), TyKind::Handle(..) | TyKind::VaList) {
                self.error_help(
                    codes::TASK,
                    span,
                    format!("parameter {} of `{name}` ends with a block, and a task outlives it", n + 1),
                    "let the task declare an `arena` of its own",
                );
                return None;
            }
            param.ty = self.types().map_regions(param.ty, &mut |region, depth| match region {
                Region::Exchange => region,
                _ if depth > 0 => region,
                _ => Region::Heap,
            });
        }
        out.ret = self.handle_pointer("task", true);
        out.outlives.clear();
        (out.noreturn, out.leaf, out.waits) = (false, false, false);
        (out.format, out.into, out.end_into, out.copies) = (None, None, None, None);
        (out.fills, out.terminates, out.cuts, out.keeps_string) = (None, None, None, None);
        Some(out)
    }
}
