//! What stands directly inside of statements and expressions, in the order of the text.

use crate::ast::*;

/// Whether the expression is a name, a constant or a size: it runs nothing, and changes nothing.
pub fn is_simple(e: &Expr) -> bool {
    matches!(
        e.kind,
        ExprKind::Ident(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Char(..)
            | ExprKind::Str(_)
            | ExprKind::Nullptr
            | ExprKind::Bool(_)
            | ExprKind::SizeofExpr(_)
            | ExprKind::SizeofType(_)
    )
}

/// Whether the expression is one of C's ways to write a null pointer.
pub fn is_null(e: &Expr) -> bool {
    match &without_casts(e).kind {
        ExprKind::Nullptr => true,
        ExprKind::Int(n) => n.value == 0,
        _ => false,
    }
}

/// What is cast, if the expression is a cast.
pub fn without_casts(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Cast(_, inner) => without_casts(inner),
        _ => e,
    }
}

/// The operands of an expression. None of what is not evaluated (`sizeof e`, `typeof`), and none of
/// statement expressions, whose statements are a block of their own.
pub fn operands(e: &Expr) -> Vec<&Expr> {
    let mut all = vec![];
    each_operand(e, &mut |operand| all.push(operand));
    all
}

/// Goes over the same.
pub fn each_operand<'a>(e: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    match &e.kind {
        ExprKind::Call { callee, args, .. } => {
            visit(callee);
            args.iter().for_each(visit);
        }
        ExprKind::Index(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Assign(_, a, b) | ExprKind::Comma(a, b) => {
            visit(a);
            visit(b);
        }
        ExprKind::Dot(a, _)
        | ExprKind::Arrow(a, _)
        | ExprKind::Unary(_, a)
        | ExprKind::Cast(_, a)
        | ExprKind::Unsafe(a)
        | ExprKind::ContainerOf(a, ..)
        | ExprKind::VaArg(a, _)
        | ExprKind::ConvertVector(a, _)
        | ExprKind::Start(a)
        | ExprKind::Spawn(a, _) => visit(a),
        ExprKind::Cond(c, a, b) => {
            visit(c);
            a.iter().for_each(|a| visit(a));
            visit(b);
        }
        ExprKind::ChooseExpr(c, a, b) => [c, a, b].into_iter().for_each(|e| visit(e)),
        ExprKind::CompoundLit(_, items, _) => items.iter().for_each(|item| each_initialiser(&item.init, visit)),
        ExprKind::Generic(_, cases) => cases.iter().for_each(|(_, e)| visit(e)),
        ExprKind::New(new) => match &new.form {
            NewForm::Init(items) | NewForm::Flexible(items) => {
                items.iter().for_each(|item| each_initialiser(&item.init, visit));
            }
            NewForm::Array(n) => visit(n),
            NewForm::Zero => {}
        },
        ExprKind::Ident(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Char(..)
        | ExprKind::Str(_)
        | ExprKind::Nullptr
        | ExprKind::Bool(_)
        | ExprKind::SizeofExpr(_)
        | ExprKind::SizeofType(_)
        | ExprKind::AlignofType(_)
        | ExprKind::AlignofExpr(_)
        | ExprKind::StmtExpr(_)
        | ExprKind::LabelAddr(_)
        | ExprKind::Offsetof(..)
        | ExprKind::TypesCompatible(..)
        | ExprKind::Lengthof(_)
        | ExprKind::Unsupported(_)
        | ExprKind::Error => {}
    }
}

/// The expressions of an initialiser.
pub fn initialisers(init: &Initializer) -> Vec<&Expr> {
    let mut all = vec![];
    each_initialiser(init, &mut |e| all.push(e));
    all
}

/// Goes over the same.
pub fn each_initialiser<'a>(init: &'a Initializer, visit: &mut dyn FnMut(&'a Expr)) {
    match init {
        Initializer::Expr(e) => visit(e),
        Initializer::List(items, _) => items.iter().for_each(|item| each_initialiser(&item.init, visit)),
    }
}

/// The expressions of a statement itself, those of its parts left out.
pub fn expressions(stmt: &Stmt) -> Vec<&Expr> {
    match &stmt.kind {
        StmtKind::Expr(e)
        | StmtKind::If { cond: e, .. }
        | StmtKind::While(e, _)
        | StmtKind::DoWhile(_, e)
        | StmtKind::Switch(e, _)
        | StmtKind::SwitchState(e, _)
        | StmtKind::GotoComputed(e)
        | StmtKind::Borrow(_, e)
        | StmtKind::Cursor(_, e)
        | StmtKind::Expose { value: e, .. }
        | StmtKind::Open { key: e, .. }
        | StmtKind::Unpack { place: e, .. } => vec![e],
        StmtKind::Case(a, b, _) => std::iter::once(a).chain(b).collect(),
        StmtKind::For { cond, step, .. } => cond.iter().chain(step).collect(),
        StmtKind::Return(e) => e.iter().collect(),
        StmtKind::Swap(a, b) => vec![a, b],
        StmtKind::Send(end, _, args) => std::iter::once(end).chain(args).collect(),
        StmtKind::Decl(decl) => decl.declarators.iter().flat_map(|d| d.init.iter().flat_map(initialisers)).collect(),
        StmtKind::Asm(_)
        | StmtKind::Empty
        | StmtKind::Function(_)
        | StmtKind::StaticAssert(_)
        | StmtKind::Block(_)
        | StmtKind::CaseMember { .. }
        | StmtKind::Default(_)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Goto(_)
        | StmtKind::Label(..)
        | StmtKind::Defer(_)
        | StmtKind::Unsafe(_)
        | StmtKind::Arena { .. }
        | StmtKind::Channel { .. }
        | StmtKind::Receive(_)
        | StmtKind::SwitchReceive(..) => vec![],
    }
}

/// The statements directly in a statement; those of statement expressions and of `switch receive` are
/// left out.
pub fn statements(stmt: &Stmt) -> Vec<&Stmt> {
    match &stmt.kind {
        StmtKind::Block(b) | StmtKind::Unsafe(b) => b.stmts.iter().collect(),
        StmtKind::If { then, other, .. } => {
            std::iter::once(&**then).chain(other.iter().map(|other| &**other)).collect()
        }
        StmtKind::While(_, body)
        | StmtKind::DoWhile(body, _)
        | StmtKind::Switch(_, body)
        | StmtKind::SwitchState(_, body)
        | StmtKind::Case(_, _, body)
        | StmtKind::CaseMember { body, .. }
        | StmtKind::Default(body)
        | StmtKind::Label(_, body)
        | StmtKind::Defer(body)
        | StmtKind::Expose { body, .. } => vec![body],
        StmtKind::For { init, body, .. } => init.iter().map(|init| &**init).chain([&**body]).collect(),
        _ => vec![],
    }
}
