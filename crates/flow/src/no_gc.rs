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
use mir::ty::{operand_ty, place_ty};
use source::{Diagnostic, Sink, Span};
use typing::types::{Own, Pointer, Region, Ty, TyKind};

/// Reports all shared heap objects that the program makes.
pub fn run(program: &Program, sink: &mut Sink) {
    for body in program.bodies.iter().filter(|body| !body.unchecked) {
        let used = program.functions.get(body.func.func.0 as usize).is_some_and(|f| f.used);
        if used {
            Look { program, body, sink }.body();
        }
    }
}

struct Look<'a> {
    program: &'a Program,
    body: &'a Body,
    sink: &'a mut Sink,
}

impl Look<'_> {
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
                    Some(made) if made.handle.is_none() && self.shared(to).is_some() => self.report_new(stmt.span),
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
                        Some(param) if param.consume || self.program.types.as_record(param.ty).is_none() => {
                            self.given(arg, param.ty, span);
                        }
                        // What is printed, and structs that are lent.
                        _ if self.is_lost(arg) => {
                            self.report_lost(span, "this object is only lent, and nothing takes it afterwards");
                        }
                        _ => {}
                    }
                }
                self.result(call.dest.as_ref(), func.ret, span);
            }
        }
    }

    fn shared(&self, ty: Ty) -> Option<Pointer> {
        match self.program.types.kind(ty) {
            TyKind::Ptr(p) if p.own == Own::Shared => Some(*p),
            _ => None,
        }
    }

    /// An owned heap object that is moved into a shared place.
    fn given(&mut self, operand: &Operand, to: Ty, span: Span) {
        let Operand::Move(_) = operand else { return };
        let Ok(from) = operand_ty(self.program, self.body, operand) else { return };
        if !self.owned_in_heap(from) {
        } else if self.only_looks(to) || !self.program.types.has_pointers(to) {
            self.report_lost(span, "this object is only lent, and nothing takes it afterwards");
        } else if self.shared(to).is_some() {
            self.sink.push(
                Diagnostic::error(
                    NO_GC,
                    span,
                    "`--no-gc`: this object becomes shared, and only the collector would free it",
                )
                .help("keep it in a `unique` place, or allocate it in an arena: `new(r) ...`"),
            );
        }
    }

    /// A temporary that is moved to where nothing is owned.
    fn is_lost(&self, operand: &Operand) -> bool {
        moved_temp(self.body, operand).is_some()
            && operand_ty(self.program, self.body, operand).is_ok_and(|ty| self.owned_in_heap(ty))
    }

    fn owned_in_heap(&self, ty: Ty) -> bool {
        let types = &self.program.types;
        if let Some(record) = types.as_record(ty) {
            let fields = types.record(record).fields.as_ref();
            return fields.is_some_and(|fields| fields.iter().any(|field| self.owned_in_heap(field.ty.ty)));
        }
        let Some(p) = types.as_pointer(ty) else { return false };
        let in_heap = match p.region {
            Region::Heap => true,
            Region::Infer(n) => self.body.infer_owes.get(n as usize) == Some(&Some(Region::Heap)),
            _ => false,
        };
        p.own.is_owned() && in_heap
    }

    fn only_looks(&self, ty: Ty) -> bool {
        self.program.types.as_pointer(ty).is_some_and(|p| matches!(p.own, Own::View | Own::Any))
    }

    /// What a call returns goes nowhere, or to where nothing is owned.
    fn result(&mut self, dest: Option<&Place>, ret: Ty, span: Span) {
        let to = dest.and_then(|place| place_ty(self.program, self.body, place).ok());
        if !self.owned_in_heap(ret) {
        } else if dest.is_none() {
            self.report_lost(span, "nothing takes this result, which is owned");
        } else if to.is_some_and(|q| self.only_looks(q.ty)) {
            self.report_lost(span, "this result is only lent, and nothing takes it afterwards");
        }
    }

    fn report_lost(&mut self, span: Span, why: &str) {
        self.sink.push(
            Diagnostic::error(NO_GC, span, format!("`--no-gc`: {why}")).help("keep it in a variable and free it"),
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
