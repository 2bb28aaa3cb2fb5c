//! Where a program can be changed: statements, expressions with their types, variables with their
//! scopes, as spans of its preprocessed text.

use source::{Span, Symbol};
use std::collections::HashMap;
use syntax::ast::*;
use typing::tree;
use typing::types::{Own, RecordKind, TyKind, TypeStore};
use typing::walk::{children, init_children, stmt_children, Part};

/// A type, equal where types are.
pub type Type = u32;

/// What kind of value a type has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// An integer.
    Int,
    /// A pointer that owns nothing.
    Pointer,
    /// A pointer that owns its target.
    Owner,
    /// Anything else.
    Other,
}

/// What kind of statement stands there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// An expression.
    Expr,
    /// A declaration, or something else that declares.
    Decl,
    /// A jump, a label, a case.
    Jump,
    /// Everything else.
    Other,
}

/// A statement that stands directly in a block.
#[derive(Clone, Debug)]
pub struct Statement {
    pub span: Span,
    pub sort: Sort,
    /// The block that it stands in.
    pub block: Span,
    pub in_loop: bool,
    pub function: usize,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expression {
    pub span: Span,
    /// Its type, if the checker gave one to this span.
    pub ty: Option<Type>,
    pub class: Class,
    /// Name, member or element: evaluated again it gives the same.
    pub simple: bool,
    /// The name that it is.
    pub name: Option<Symbol>,
    /// Stands where only its truth matters.
    pub condition: bool,
    /// It is assigned to, or its address is taken, or it is called.
    pub place: bool,
    /// The callee of a call by name.
    pub callee: bool,
    /// An integer constant.
    pub number: Option<u128>,
    /// Of a comparison: the operator.
    pub comparison: Option<Span>,
    pub function: usize,
}

/// A declaration of one local in a block, or a parameter.
#[derive(Clone, Debug)]
pub struct Variable {
    pub name: Symbol,
    pub ty: Option<Type>,
    pub class: Class,
    /// `T name`, in the language's words.
    pub shown: String,
    /// Where it can be used.
    pub scope: Span,
    pub function: usize,
    /// Its declaration, unless it is a parameter.
    pub local: Option<Declared>,
}

/// A declaration with one declarator.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    pub whole: Span,
    pub specs: Span,
    pub declarator: Span,
    pub name: Span,
    pub init: Option<Span>,
    /// The initialiser is braced.
    pub list: bool,
    /// Without a storage class.
    pub plain: bool,
}

/// An argument of a call by name.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The callee's name.
    pub callee: Span,
    pub number: usize,
    pub span: Span,
}

/// A struct of the program, with an integer in it.
#[derive(Clone, Debug)]
pub struct Record {
    /// `struct NAME`.
    pub shown: String,
    /// Where it is declared.
    pub declared: u32,
    /// A member that is an integer.
    pub number: String,
}

/// A function with a body.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: Option<Symbol>,
    pub span: Span,
    pub body: Span,
    pub generic: bool,
    pub void: bool,
    /// What it returns somewhere.
    pub returns: Vec<Span>,
    /// Parameters: their spans, and that of `consume`.
    pub params: Vec<(Span, Option<Span>)>,
}

/// All of a program.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    pub functions: Vec<Function>,
    pub statements: Vec<Statement>,
    pub expressions: Vec<Expression>,
    pub variables: Vec<Variable>,
    /// Pointer derivations (`*` with its words) of the program's own declarations.
    pub pointers: Vec<Span>,
    pub records: Vec<Record>,
    pub arguments: Vec<Argument>,
    /// Where declarations can be inserted: before the first item of its own.
    pub start: u32,
}

struct Walk {
    sites: Sites,
    types: HashMap<(u32, u32), (Type, Class)>,
    locals: HashMap<(u32, u32), (Type, Class, String)>,
    function: usize,
    block: Span,
    in_loop: bool,
}

/// Finds the sites of the items from offset `own` on.
pub fn find(unit: &Unit, program: &tree::Program, own: u32) -> Sites {
    let mut walk = Walk {
        sites: Sites { start: u32::MAX, ..Sites::default() },
        types: HashMap::new(),
        locals: HashMap::new(),
        function: 0,
        block: Span::NONE,
        in_loop: false,
    };
    for body in program.functions.iter().filter(|f| f.span.lo >= own).filter_map(|f| f.body.as_ref()) {
        for local in &body.locals {
            let class = class_of(&program.types, local.ty.ty);
            let name = local.name.map_or("", |n| n.as_str());
            let shown = program.types.show_declaration(local.ty, name);
            walk.locals.insert((local.span.lo, local.span.hi), (local.ty.ty.0, class, shown));
        }
        body.block.stmts.iter().for_each(|s| walk.typed_statement(&program.types, s));
    }
    for item in unit.items.iter().filter(|item| item.span.lo >= own) {
        walk.sites.start = walk.sites.start.min(item.span.lo);
        match &item.kind {
            ItemKind::Function(f) => walk.function(f),
            ItemKind::Decl(d) => walk.pointers_of(d),
            _ => {}
        }
    }
    walk.sites.records = records(&program.types, own);
    let bodies: Vec<Span> = walk.sites.functions.iter().map(|f| f.span).collect();
    walk.sites.records.retain(|r| bodies.iter().all(|b| r.declared < b.lo || b.hi <= r.declared));
    walk.sites
}

/// The structs from offset `own` on, without generic ones and those that hide regions.
fn records(types: &TypeStore, own: u32) -> Vec<Record> {
    let mut found = vec![];
    for record in &types.records {
        let (Some(tag), Some(fields)) = (record.tag, &record.fields) else { continue };
        let plain = record.kind == RecordKind::Struct && record.args.is_empty() && record.exists.is_empty();
        let number = fields.iter().find(|f| f.width.is_none() && types.as_int(f.ty.ty).is_some());
        if let (true, Some(name)) = (plain && record.span.lo >= own, number.and_then(|f| f.name)) {
            found.push(Record { shown: format!("struct {tag}"), declared: record.span.lo, number: name.to_string() });
        }
    }
    found
}

fn class_of(types: &TypeStore, ty: typing::Ty) -> Class {
    match types.kind(ty) {
        TyKind::Ptr(p) if matches!(p.own, Own::Unique | Own::Rc) => Class::Owner,
        TyKind::Ptr(_) => Class::Pointer,
        _ if types.as_int(ty).is_some() => Class::Int,
        _ => Class::Other,
    }
}

impl Walk {
    fn typed(&mut self, types: &TypeStore, e: &tree::Expr) {
        // The innermost node of a span is the place: its type is the declared one.
        let class = class_of(types, e.ty.ty);
        self.types.insert((e.span.lo, e.span.hi), (e.ty.ty.0, class));
        children(e, &mut |child| self.typed(types, child));
        if let tree::ExprKind::StmtExpr(block, _) = &*e.kind {
            block.stmts.iter().for_each(|s| self.typed_statement(types, s));
        }
        if let tree::ExprKind::CompoundLit(_, init) = &*e.kind {
            init_children(init, &mut |child| self.typed(types, child));
        }
    }

    fn typed_statement(&mut self, types: &TypeStore, s: &tree::Stmt) {
        stmt_children(s, &mut |part| match part {
            Part::Expr(e) => self.typed(types, e),
            Part::Stmt(s) => self.typed_statement(types, s),
        });
    }

    fn function(&mut self, f: &FunctionDef) {
        let Some(Derived::Function(list)) = f.declarator.derived.first() else { return };
        self.function = self.sites.functions.len();
        self.declarator(&f.declarator);
        let void = f.declarator.derived.len() == 1 && matches!(f.specs.ty, TypeSpec::Builtin(Builtin::Void));
        let params = list.params.iter().map(|p| (p.span, p.consume)).collect();
        self.sites.functions.push(Function {
            name: f.declarator.name.map(|n| n.name),
            span: f.span,
            body: f.body.span,
            generic: f.generics.is_some(),
            void,
            returns: vec![],
            params,
        });
        for param in &list.params {
            if let Some(name) = param.declarator.name {
                self.variable(name, f.body.span, None);
            }
        }
        self.in_loop = false;
        self.block(&f.body);
    }

    fn variable(&mut self, name: Ident, scope: Span, local: Option<Declared>) {
        let known = self.locals.get(&(name.span.lo, name.span.hi)).cloned();
        let (ty, class, shown) = match known {
            Some((ty, class, shown)) => (Some(ty), class, shown),
            None => (None, Class::Other, String::new()),
        };
        let function = self.function;
        self.sites.variables.push(Variable { name: name.name, ty, class, shown, scope, function, local });
    }

    fn pointers_of(&mut self, d: &Decl) {
        for one in &d.declarators {
            self.declarator(&one.declarator);
        }
        if let TypeSpec::Record(record) = &d.specs.ty {
            for field in record.fields.iter().flatten() {
                let FieldItem::Fields(fields) = field else { continue };
                fields.fields.iter().for_each(|f| self.declarator(&f.declarator));
            }
        }
    }

    fn declarator(&mut self, d: &Declarator) {
        for step in &d.derived {
            match step {
                Derived::Pointer(p) => self.sites.pointers.push(p.span),
                Derived::Function(list) => list.params.iter().for_each(|p| self.declarator(&p.declarator)),
                Derived::Array(_) => {}
            }
        }
    }

    fn block(&mut self, block: &Block) {
        let before = std::mem::replace(&mut self.block, block.span);
        for stmt in &block.stmts {
            let sort = match &stmt.kind {
                StmtKind::Expr(_) => Sort::Expr,
                StmtKind::Decl(_)
                | StmtKind::Function(_)
                | StmtKind::Arena { .. }
                | StmtKind::Borrow(..)
                | StmtKind::Cursor(..)
                | StmtKind::Open { .. }
                | StmtKind::Unpack { .. }
                | StmtKind::Receive(_)
                | StmtKind::Channel { .. } => Sort::Decl,
                StmtKind::Case(..)
                | StmtKind::CaseMember { .. }
                | StmtKind::Default(_)
                | StmtKind::Label(..)
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Goto(_) => Sort::Jump,
                _ => Sort::Other,
            };
            self.sites.statements.push(Statement {
                span: stmt.span,
                sort,
                block: block.span,
                in_loop: self.in_loop,
                function: self.function,
            });
            self.statement(stmt);
        }
        self.block = before;
    }

    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Empty
            | StmtKind::Function(_)
            | StmtKind::StaticAssert(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Goto(_)
            | StmtKind::Asm(_)
            | StmtKind::Unsafe(_)
            | StmtKind::Arena { .. }
            | StmtKind::Channel { .. }
            | StmtKind::Receive(_) => {}
            StmtKind::Expr(e)
            | StmtKind::GotoComputed(e)
            | StmtKind::Open { key: e, .. }
            | StmtKind::Unpack { place: e, .. } => self.expr(e),
            StmtKind::Return(Some(e)) => {
                let function = self.function;
                self.sites.functions[function].returns.push(e.span);
                self.expr(e);
            }
            StmtKind::Decl(d) => self.declaration(d),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { cond, then, other } => {
                self.condition(cond);
                self.statement(then);
                other.iter().for_each(|s| self.statement(s));
            }
            StmtKind::While(cond, body) | StmtKind::DoWhile(body, cond) => {
                self.condition(cond);
                self.looped(body);
            }
            StmtKind::For { init, cond, step, body } => {
                init.iter().for_each(|s| self.statement(s));
                cond.iter().for_each(|e| self.condition(e));
                step.iter().for_each(|e| self.expr(e));
                self.looped(body);
            }
            StmtKind::Switch(e, body) | StmtKind::SwitchState(e, body) => {
                self.expr(e);
                self.statement(body);
            }
            StmtKind::Case(_, _, body)
            | StmtKind::CaseMember { body, .. }
            | StmtKind::Default(body)
            | StmtKind::Label(_, body)
            | StmtKind::Defer(body) => self.statement(body),
            StmtKind::Expose { value, body, .. } => {
                self.expr(value);
                self.statement(body);
            }
            StmtKind::Swap(a, b) => {
                self.place(a);
                self.place(b);
            }
            StmtKind::Borrow(_, e) => self.expr(e),
            StmtKind::Cursor(_, e) => self.expr(e),
            StmtKind::Send(end, _, args) => {
                self.place(end);
                args.iter().for_each(|e| self.expr(e));
            }
            StmtKind::SwitchReceive(_, cases) => cases.iter().for_each(|case| self.block(&case.body)),
        }
    }

    fn looped(&mut self, body: &Stmt) {
        let before = std::mem::replace(&mut self.in_loop, true);
        self.statement(body);
        self.in_loop = before;
    }

    fn declaration(&mut self, d: &Decl) {
        self.pointers_of(d);
        for one in &d.declarators {
            let init = match &one.init {
                Some(Initializer::Expr(e)) => {
                    self.expr(e);
                    Some((e.span, false))
                }
                Some(Initializer::List(items, span)) => {
                    self.items(items);
                    Some((*span, true))
                }
                None => None,
            };
            let Some(name) = one.declarator.name else { continue };
            let scope = Span::new(d.span.hi, self.block.hi);
            let single = d.declarators.len() == 1 && d.generics.is_none();
            let plain = d.specs.storage.is_none()
                && !d.specs.constexpr
                && !matches!(d.specs.ty, TypeSpec::Infer)
                && !matches!(one.declarator.derived.first(), Some(Derived::Function(_)));
            let declared = Declared {
                whole: d.span,
                specs: d.specs.span,
                declarator: one.declarator.span,
                name: name.span,
                init: init.map(|i| i.0),
                list: init.is_some_and(|i| i.1),
                plain,
            };
            self.variable(name, scope, single.then_some(declared));
        }
    }

    fn items(&mut self, items: &[InitItem]) {
        for item in items {
            match &item.init {
                Initializer::Expr(e) => self.expr(e),
                Initializer::List(items, _) => self.items(items),
            }
        }
    }

    fn condition(&mut self, e: &Expr) {
        let at = self.sites.expressions.len();
        self.expr(e);
        if let Some(first) = self.sites.expressions.get_mut(at) {
            first.condition = true;
        }
    }

    fn place(&mut self, e: &Expr) {
        let at = self.sites.expressions.len();
        self.expr(e);
        if let Some(first) = self.sites.expressions.get_mut(at) {
            first.place = true;
        }
    }

    fn expr(&mut self, e: &Expr) {
        let known = self.types.get(&(e.span.lo, e.span.hi)).copied();
        let simple = matches!(
            &e.kind,
            ExprKind::Ident(_)
                | ExprKind::Dot(..)
                | ExprKind::Arrow(..)
                | ExprKind::Index(..)
                | ExprKind::Unary(UnaryOp::Deref | UnaryOp::AddrOf, _)
        );
        let comparison = match &e.kind {
            ExprKind::Binary(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge, a, b) => {
                Some(Span::new(a.span.hi, b.span.lo))
            }
            _ => None,
        };
        self.sites.expressions.push(Expression {
            span: e.span,
            ty: known.map(|k| k.0),
            class: known.map_or(Class::Other, |k| k.1),
            simple,
            name: match e.kind {
                ExprKind::Ident(name) => Some(name),
                _ => None,
            },
            condition: false,
            place: false,
            callee: false,
            number: match e.kind {
                ExprKind::Int(n) => Some(n.value),
                _ => None,
            },
            comparison,
            function: self.function,
        });
        match &e.kind {
            ExprKind::Call { callee, args, .. } => {
                let at = self.sites.expressions.len();
                self.place(callee);
                if let Some(first) = self.sites.expressions.get_mut(at) {
                    first.callee = true;
                }
                for (number, e) in args.iter().enumerate() {
                    self.sites.arguments.push(Argument { callee: callee.span, number, span: e.span });
                    self.expr(e);
                }
            }
            ExprKind::Index(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Dot(a, _) => self.place(a),
            ExprKind::Arrow(a, _) => self.expr(a),
            ExprKind::Unary(UnaryOp::Not, a) => self.condition(a),
            ExprKind::Unary(
                UnaryOp::AddrOf | UnaryOp::PreInc | UnaryOp::PreDec | UnaryOp::PostInc | UnaryOp::PostDec,
                a,
            ) => self.place(a),
            ExprKind::Unary(_, a) => self.expr(a),
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
                self.condition(a);
                self.condition(b);
            }
            ExprKind::Binary(_, a, b) | ExprKind::Comma(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Assign(_, a, b) => {
                self.place(a);
                self.expr(b);
            }
            ExprKind::Cond(c, a, b) => {
                self.condition(c);
                a.iter().for_each(|e| self.expr(e));
                self.expr(b);
            }
            ExprKind::Cast(_, a) | ExprKind::Lengthof(a) | ExprKind::ContainerOf(a, ..) => self.expr(a),
            ExprKind::CompoundLit(_, items, _) => self.items(items),
            ExprKind::StmtExpr(block) => self.block(block),
            ExprKind::New(new) => match &new.form {
                NewForm::Init(items) | NewForm::Flexible(items) => self.items(items),
                NewForm::Array(e) => self.expr(e),
                NewForm::Zero => {}
            },
            ExprKind::Start(call) | ExprKind::Spawn(call, _) => self.expr(call),
            _ => {}
        }
    }
}
