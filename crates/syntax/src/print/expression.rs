//! Expressions in prefix form.

use super::types::type_name;
use super::{braced, inline_block};
use crate::ast::*;

/// One expression on one line.
pub(super) fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Ident(name) => name.to_string(),
        ExprKind::Int(int) => {
            let unsigned = if int.unsigned { "u" } else { "" };
            format!("{}{unsigned}{}", int.value, "l".repeat(usize::from(int.longs)))
        }
        ExprKind::Float(float) => {
            let suffix = if float.ty == Builtin::Double { String::new() } else { format!(":{:?}", float.ty) };
            format!("{}{suffix}{}", float.text, if float.imaginary { "i" } else { "" })
        }
        ExprKind::Char(value, encoding) => format!("{}{}", prefix(*encoding), char_text(*value)),
        ExprKind::Str(literal) => string(literal),
        ExprKind::Nullptr => "nullptr".to_string(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Call { callee, args, question } => {
            let question = if *question { "?" } else { "" };
            let args: String = args.iter().map(|a| format!(" {}", expr(a))).collect();
            format!("(call{question} {}{args})", expr(callee))
        }
        ExprKind::Index(a, i) => format!("(index {} {})", expr(a), expr(i)),
        ExprKind::Dot(a, m) => format!("(. {} {})", expr(a), m.name),
        ExprKind::Arrow(a, m) => format!("(-> {} {})", expr(a), m.name),
        ExprKind::Unary(op, a) => format!("({} {})", unary(*op), expr(a)),
        ExprKind::Binary(op, a, b) => format!("({} {} {})", binary(*op), expr(a), expr(b)),
        ExprKind::Assign(op, a, b) => format!("({}= {} {})", op.map_or("", binary), expr(a), expr(b)),
        ExprKind::Cond(c, Some(a), b) => format!("(? {} {} {})", expr(c), expr(a), expr(b)),
        ExprKind::Cond(c, None, b) => format!("(?: {} {})", expr(c), expr(b)),
        ExprKind::Comma(a, b) => format!("(, {} {})", expr(a), expr(b)),
        _ => special(e),
    }
}

fn special(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Cast(ty, a) => format!("(cast <{}> {})", type_name(ty), expr(a)),
        ExprKind::CompoundLit(ty, items, storage) => {
            let storage = storage.map_or(String::new(), |s| format!("{s:?} ").to_lowercase());
            format!("(literal {storage}<{}> {})", type_name(ty), braced(items))
        }
        ExprKind::SizeofExpr(a) => format!("(sizeof {})", expr(a)),
        ExprKind::SizeofType(ty) => format!("(sizeof <{}>)", type_name(ty)),
        ExprKind::AlignofExpr(a) => format!("(alignof {})", expr(a)),
        ExprKind::AlignofType(ty) => format!("(alignof <{}>)", type_name(ty)),
        ExprKind::Generic(control, arms) => {
            let arms: String = arms
                .iter()
                .map(|(ty, e)| {
                    format!(
                        " {}: {}",
                        ty.as_ref().map_or("default".to_string(), |t| format!("<{}>", type_name(t))),
                        expr(e)
                    )
                })
                .collect();
            format!("(_Generic {}{arms})", expr(control))
        }
        ExprKind::StmtExpr(block) => inline_block(block),
        ExprKind::LabelAddr(label) => format!("(&& {})", label.name),
        ExprKind::VaArg(list, ty) => format!("(va_arg {} <{}>)", expr(list), type_name(ty)),
        ExprKind::Offsetof(ty, path) => format!("(offsetof <{}> {})", type_name(ty), designators(path)),
        ExprKind::TypesCompatible(a, b) => format!("(types_compatible <{}> <{}>)", type_name(a), type_name(b)),
        ExprKind::ConvertVector(v, ty) => format!("(convertvector {} <{}>)", expr(v), type_name(ty)),
        ExprKind::ChooseExpr(c, a, b) => format!("(choose {} {} {})", expr(c), expr(a), expr(b)),
        ExprKind::New(new) => new_expr(new),
        ExprKind::Lengthof(a) => format!("(lengthof {})", expr(a)),
        ExprKind::Start(call) => format!("(start {})", expr(call)),
        ExprKind::Spawn(call, false) => format!("(spawn {})", expr(call)),
        ExprKind::Spawn(call, true) => format!("(spawn? {})", expr(call)),
        ExprKind::ContainerOf(p, ty, m) => format!("(container_of {} <{}> {})", expr(p), type_name(ty), m.name),
        ExprKind::Unsafe(a) => format!("(unsafe {})", expr(a)),
        ExprKind::Unsupported(word) => format!("(unsupported {word})"),
        _ => "<error>".to_string(),
    }
}

fn new_expr(new: &NewExpr) -> String {
    let question = if new.question { "?" } else { "" };
    let region = new.region.map_or(String::new(), |r| format!(" in {}", r.name));
    let rc = if new.rc.is_some() { " rc" } else { "" };
    let form = match &new.form {
        NewForm::Init(items) => format!(" {}", braced(items)),
        NewForm::Array(count) => format!(" [{}]", expr(count)),
        NewForm::Flexible(items) => format!(" [{}]", init_items(items)),
        NewForm::Zero => String::new(),
    };
    format!("(new{question}{region}{rc} <{}>{form})", type_name(&new.ty))
}

/// An initialiser.
pub(super) fn init(init: &Initializer) -> String {
    match init {
        Initializer::Expr(e) => expr(e),
        Initializer::List(items, _) => braced(items),
    }
}

/// Elements of an initialiser, without braces.
pub(super) fn init_items(items: &[InitItem]) -> String {
    let items: Vec<String> = items
        .iter()
        .map(|item| match item.designators.as_slice() {
            [] => init(&item.init),
            path => format!("{} = {}", designators(path), init(&item.init)),
        })
        .collect();
    items.join(", ")
}

fn designators(path: &[Designator]) -> String {
    path.iter()
        .map(|step| match step {
            Designator::Field(name) => format!(".{}", name.name),
            Designator::Index(index) => format!("[{}]", expr(index)),
            Designator::Range(first, last) => format!("[{} ... {}]", expr(first), expr(last)),
        })
        .collect()
}

fn prefix(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::None => "",
        Encoding::Utf8 => "u8",
        Encoding::Utf16 => "u",
        Encoding::Utf32 => "U",
        Encoding::Wide => "L",
    }
}

fn char_text(value: u32) -> String {
    match char::from_u32(value) {
        Some(c) if c.is_ascii_graphic() || c == ' ' => format!("'{c}'"),
        _ => format!("'\\x{value:x}'"),
    }
}

fn string(literal: &StrLit) -> String {
    let mut text = String::from(prefix(literal.encoding));
    text.push('"');
    for &unit in &literal.units {
        match char::from_u32(unit) {
            Some(c) if c.is_ascii() => text.extend(c.escape_default()),
            _ => text.push_str(&format!("\\x{unit:x}")),
        }
    }
    text.push('"');
    text
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Plus => "+",
        UnaryOp::Neg => "-",
        UnaryOp::BitNot => "~",
        UnaryOp::Not => "!",
        UnaryOp::Deref => "*",
        UnaryOp::AddrOf => "&",
        UnaryOp::PreInc => "++_",
        UnaryOp::PreDec => "--_",
        UnaryOp::PostInc => "_++",
        UnaryOp::PostDec => "_--",
        UnaryOp::Real => "__real__",
        UnaryOp::Imag => "__imag__",
        UnaryOp::Extension => "__extension__",
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Lt => "<",
        BinaryOp::Gt => ">",
        BinaryOp::Le => "<=",
        BinaryOp::Ge => ">=",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitXor => "^",
        BinaryOp::BitOr => "|",
        BinaryOp::And => "&&",
        BinaryOp::Or => "||",
    }
}
