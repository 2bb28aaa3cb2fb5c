//! Trees made by hand, lowered, verified, and looked at as text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod calls;
mod flow;
mod pointers;
mod records;

use crate::{instantiate, lower};
use mir::ir::Program;
use source::{Span, Symbol};
use std::rc::Rc;
use typing::tree::*;
use typing::types::*;

/// Builds a program with types and functions.
struct Maker {
    program: typing::tree::Program,
}

fn span() -> Span {
    Span::new(10, 20)
}

fn symbol(text: &str) -> Symbol {
    Symbol::new(text)
}

fn expr(kind: ExprKind, ty: Ty) -> Expr {
    Expr::new(kind, Qty::plain(ty), span())
}

fn local(n: u32, ty: Ty) -> Expr {
    expr(ExprKind::Local(LocalId(n)), ty)
}

fn load(place: Expr) -> Expr {
    let ty = place.ty.ty;
    expr(ExprKind::Load(place), ty)
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: span(), is_unsafe: false }
}

fn run(e: Expr) -> Stmt {
    stmt(StmtKind::Expr(e))
}

fn ret(e: Expr) -> Stmt {
    stmt(StmtKind::Return(Some(e)))
}

fn block(stmts: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::Block(Block { stmts, span: span(), region: None }))
}

fn declare(n: u32, init: Option<Init>) -> Stmt {
    stmt(StmtKind::Declare(LocalId(n), init))
}

fn assign(place: Expr, value: Expr) -> Expr {
    let ty = value.ty.ty;
    expr(ExprKind::Assign(place, value), ty)
}

impl Maker {
    fn new() -> Maker {
        Maker { program: typing::tree::Program::default() }
    }

    fn common(&self) -> Common {
        self.program.types.common
    }

    fn int(&self, value: i128) -> Expr {
        expr(ExprKind::Int(value), self.common().int)
    }

    fn pointer(&mut self, target: Ty, bounds: Bounds) -> Ty {
        self.program.types.pointer_to(Qty::plain(target), bounds)
    }

    fn array(&mut self, elem: Ty, n: u64) -> Ty {
        self.program.types.intern(TyKind::Array { elem: Qty::plain(elem), len: ArrayLen::Const(n), terminated: false })
    }

    /// The type parameter `T`.
    fn type_param(&mut self) -> Ty {
        self.program.types.intern(TyKind::Param(TypeParam::new(0, symbol("T"))))
    }

    fn func_ty(&mut self, ret: Ty, params: &[Ty]) -> Ty {
        let params = params.iter().copied().map(ParamTy::new).collect();
        self.program.types.intern(TyKind::Func(Rc::new(FuncTy::new(ret, params, Abi::Leeward))))
    }

    /// A record with named fields.
    fn record(&mut self, kind: RecordKind, fields: &[(&str, Ty)]) -> Ty {
        let fields = fields
            .iter()
            .map(|(name, ty)| Field {
                name: Some(symbol(name)),
                ty: Qty::plain(*ty),
                width: None,
                align: None,
                packed: false,
                tagged_by: None,
                span: span(),
            })
            .collect();
        self.record_of(kind, fields)
    }

    fn record_of(&mut self, kind: RecordKind, fields: Vec<Field>) -> Ty {
        let id = RecordId(self.program.types.records.len() as u32);
        self.program.types.records.push(Record {
            kind,
            tag: Some(symbol("r")),
            args: vec![],
            fields: Some(Rc::new(fields)),
            packed: false,
            align: None,
            vector: false,
            underaligned: false,
            foreign: false,
            exists: vec![],
            span: span(),
        });
        self.program.types.intern(TyKind::Record(id))
    }

    /// Declares a function; `locals` starts with the parameters.
    fn function(&mut self, name: &str, ty: Ty, locals: &[Ty], stmts: Option<Vec<Stmt>>) -> FuncRef {
        let params = self.program.types.as_func(ty).map_or(0, |f| f.params.len() as u32);
        let body = stmts.map(|stmts| {
            let local = |ty: &Ty| Local { name: None, ty: Qty::plain(*ty), span: span(), align: None, heap: false };
            Box::new(Body {
                locals: locals.iter().map(local).collect(),
                params,
                labels: vec![symbol("out"), symbol("again")],
                block: Block { stmts, span: span(), region: None },
                unchecked: false,
                is_unsafe: false,
                format: None,
                regions: vec![],
                infer_regions: 0,
                end: span(),
            })
        });
        let func = FuncId(self.program.functions.len() as u32);
        self.program.functions.push(Function {
            name: symbol(name),
            symbol: None,
            ty,
            type_params: 0,
            linkage: Linkage::External,
            trust: Trust::Checked,
            attrs: vec![],
            param_names: vec![],
            inline: Default::default(),
            old_style: false,
            allows: Default::default(),
            reentrant: false,
            body,
            is_process: false,
            used: true,
            span: span(),
        });
        FuncRef { func, args: Rc::from([]) }
    }

    /// Lowers, instantiates and verifies.
    fn finish(self) -> Program {
        let mut program = lower(self.program);
        assert_eq!(instantiate(&mut program), Ok(()));
        let errors: Vec<String> = mir::verify::program(&program).iter().map(|e| e.to_string()).collect();
        let text: String = program.bodies.iter().map(|b| mir::print::body(&program, b, None)).collect();
        assert!(errors.is_empty(), "{errors:#?}\n{text}");
        program
    }

    /// The text of the last body.
    fn text(self) -> String {
        let program = self.finish();
        program.bodies.last().map(|body| mir::print::body(&program, body, None)).unwrap_or_default()
    }
}

/// Asserts that the parts occur in the text in this order.
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => panic!("`{part}` is missing, or out of order, in\n{text}"),
        }
    }
}
