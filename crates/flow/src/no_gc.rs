//! `--no-gc`: what a program without a collector cannot do.
//!
//! A shared object in the heap is one that only the collector frees. Such objects come from
//! allocations whose result is shared, and from owned heap objects that are given away into a
//! shared place; both are errors here, each at its own place.
//!
//! Needs: `Body::infer_owes`. Changes: nothing. Guarantees: in a program without reports every heap
//! object has an owner.

use crate::codes::NO_GC;
use crate::framework::moved_temp;
use mir::ir::*;
use mir::ty::{operand_ty, owns, place_ty};
use source::{Diagnostic, Sink, Span};
use typing::types::{Own, Region, Ty, TyKind};

/// Reports all shared heap objects that the program makes.
pub fn run(program: &Program, sink: &mut Sink) {
    for body in program.bodies.iter().filter(|body| !body.unchecked) {
        let used = program.functions.get(body.func.func.0 as usize).is_some_and(|f| f.used);
        if used {
            Walk { program, body, sink }.body();
        }
    }
}

struct Walk<'a> {
    program: &'a Program,
    body: &'a Body,
    sink: &'a mut Sink,
}

impl Walk<'_> {
    fn body(&mut self) {
        let body = self.body;
        let ret = self.program.functions.get(body.func.func.0 as usize).map(|f| self.program.types.as_func(f.ty));
        let ret = ret.flatten().map(|f| f.ret);
        for block in &body.blocks {
            for stmt in &block.stmts {
                self.stmt(stmt);
            }
            if let (Some(value), Some(ret)) = (block.term.kind.returned(), ret) {
                self.given(value, ret, block.term.span);
            }
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt.kind.action() {
            Action::Assign => {
                let Some((dest, value)) = stmt.kind.as_assign() else { return };
                let Ok(to) = place_ty(self.program, self.body, dest).map(|q| q.ty) else { return };
                match value.as_alloc() {
                    Some(made) if made.handle.is_none() && self.is_shared(to) => self.report_new(stmt.span),
                    Some(made) if made.handle.is_none() && !owns(&self.program.types, to) => {
                        self.report_lent(stmt.span);
                    }
                    Some(_) => {}
                    None => mir::effects::rvalue_operands(value, &mut |operand| self.given(operand, to, stmt.span)),
                }
            }
            Action::Call => {
                if let Some(call) = stmt.kind.as_call() {
                    self.call(call, stmt.span);
                }
            }
            Action::Send | Action::Channel => {
                // The `select` before it is reported.
                if stmt.kind.as_set_take().is_none() {
                    let why = "channels connect tasks and processes, which have a collected heap";
                    self.report_collected(stmt.span, why);
                }
            }
            Action::None
            | Action::Storage
            | Action::Check
            | Action::Fill
            | Action::Assembly
            | Action::Copy
            | Action::Arguments
            | Action::Owner
            | Action::Region => {}
        }
    }

    fn call(&mut self, call: Call, span: Span) {
        match call.callee {
            Callee::Start(_) => self.report_collected(span, "a task is an object of the collected heap"),
            Callee::Spawn(..) => self.report_collected(span, "a process has a collected heap"),
            Callee::Direct(f) if self.is_custodian(f.func.0 as usize) => {
                self.report_collected(span, "custodians charge what the collector finds")
            }
            Callee::Direct(_) | Callee::Pointer(_) | Callee::Builtin(_) => {
                let Some(func) = self.program.types.as_func(*call.ty) else { return };
                for (n, arg) in call.args.iter().enumerate() {
                    match func.params.get(n) {
                        Some(param) if param.consume => {}
                        Some(param) if !owns(&self.program.types, param.ty) => self.given(arg, param.ty, span),
                        // What is printed, and what is lent by a parameter that owns.
                        _ if self.is_lost(arg) => self.report_lent(span),
                        _ => {}
                    }
                }
                self.result(call.dest.as_ref(), func.ret, span);
            }
        }
    }

    fn is_shared(&self, ty: Ty) -> bool {
        self.program.types.as_pointer(ty).is_some_and(|p| p.own == Own::Shared)
    }

    /// What a place of the type gets, if the value is owned and the place owns nothing.
    fn given(&mut self, operand: &Operand, to: Ty, span: Span) {
        let Operand::Move(_) = operand else { return };
        let owned = operand_ty(self.program, self.body, operand).is_ok_and(|from| self.owned_in_heap(from));
        if !owned || owns(&self.program.types, to) {
        } else if self.is_shared(to) {
            self.report_shared(span);
        } else {
            self.report_lent(span);
        }
    }

    /// A temporary that is moved to where nothing is owned.
    fn is_lost(&self, operand: &Operand) -> bool {
        moved_temp(self.body, operand).is_some()
            && operand_ty(self.program, self.body, operand).is_ok_and(|ty| self.owned_in_heap(ty))
    }

    /// Whether a value of the type owns an object of the heap. The arena of a key is one.
    fn owned_in_heap(&self, ty: Ty) -> bool {
        let types = &self.program.types;
        match types.kind(ty) {
            TyKind::Ptr(p) => {
                let in_heap = match p.region {
                    Region::Heap => true,
                    Region::Infer(n) => self.body.infer_owes.get(n as usize) == Some(&Some(Region::Heap)),
                    _ => false,
                };
                p.own.is_owned() && in_heap
            }
            TyKind::Key(..) => true,
            TyKind::Array { elem, .. } => self.owned_in_heap(elem.ty),
            TyKind::Record(record) => {
                let fields = types.record(*record).fields.as_ref();
                fields.is_some_and(|fields| fields.iter().any(|field| self.owned_in_heap(field.ty.ty)))
            }
            _ => false,
        }
    }

    /// What a call returns goes nowhere, or to where nothing is owned.
    fn result(&mut self, dest: Option<&Place>, ret: Ty, span: Span) {
        let to = dest.and_then(|place| place_ty(self.program, self.body, place).ok()).map(|q| q.ty);
        if !self.owned_in_heap(ret) || to.is_some_and(|to| owns(&self.program.types, to)) {
        } else if to.is_some_and(|to| self.is_shared(to)) {
            self.report_shared(span);
        } else if to.is_some() {
            self.report_lost(span, "this result is only lent, and nothing takes it afterwards");
        } else {
            self.report_lost(span, "nothing takes this result, which is owned");
        }
    }

    fn report_lent(&mut self, span: Span) {
        self.report_lost(span, "this object is only lent, and nothing takes it afterwards");
    }

    fn report_lost(&mut self, span: Span, why: &str) {
        self.sink.push(
            Diagnostic::error(NO_GC, span, format!("`--no-gc`: {why}")).help("keep it in a variable and free it"),
        );
    }

    fn report_shared(&mut self, span: Span) {
        self.sink.push(
            Diagnostic::error(
                NO_GC,
                span,
                "`--no-gc`: this object becomes shared, and only the collector would free it",
            )
            .help("keep it in a `unique` variable and free it, or allocate it in an arena: `new(r) ...`"),
        );
    }

    /// A function of `<lee/custodian.lh>`.
    fn is_custodian(&self, function: usize) -> bool {
        let symbol = self.program.functions.get(function).and_then(|f| f.symbol);
        symbol.is_some_and(|s| s.as_str().starts_with("lee_custodian_"))
    }

    fn report_collected(&mut self, span: Span, why: &str) {
        self.sink.push(
            Diagnostic::error(NO_GC, span, format!("`--no-gc`: {why}"))
                .help("link the program with the collector, or do without tasks"),
        );
    }

    fn report_new(&mut self, span: Span) {
        self.sink.push(
            Diagnostic::error(
                NO_GC,
                span,
                "`--no-gc`: a shared object in `@heap`, which only the collector would free",
            )
            .help("declare the pointer that takes it `unique`, or allocate in an arena: `new(r) ...`"),
        );
    }
}
