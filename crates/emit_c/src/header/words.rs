//! Declarations as a Leeward source says them, for the half of a header that Leeward reads. Read
//! back they give the same types, so the digests agree.

use crate::ctype::declare;
use source::Symbol;
use typing::types::*;

/// What counts are made of.
#[derive(Clone, Copy)]
pub enum Siblings<'a> {
    /// Nothing.
    None,
    /// Parameters.
    Params(&'a [Option<Symbol>]),
    /// Fields of the record.
    Fields(&'a [Field]),
}

/// A declaration of `inner`.
pub fn declaration(types: &TypeStore, qty: Qty, inner: &str, siblings: Siblings) -> String {
    let quals = quals(qty.quals);
    match types.kind(qty.ty) {
        TyKind::Ptr(p) => {
            let mut words = pointer_words(types, p, siblings);
            words.extend(quals.split_whitespace().map(str::to_string));
            let text = words.join(" ");
            let blank = if text.is_empty() || inner.is_empty() { "" } else { " " };
            let inner = format!("*{text}{blank}{inner}");
            match types.kind(p.target.ty) {
                TyKind::Func(_) | TyKind::Array { .. } => {
                    declaration(types, p.target, &format!("({inner})"), Siblings::None)
                }
                _ => declaration(types, p.target, &inner, Siblings::None),
            }
        }
        TyKind::Array { elem, len, terminated } => {
            let (size, count) = match len {
                ArrayLen::Const(n) => (n.to_string(), None),
                ArrayLen::Flexible(count) => (String::new(), *count),
                ArrayLen::Unknown | ArrayLen::Variable(_) => (String::new(), None),
            };
            let mut text = format!("{inner}[{size}]");
            if *terminated {
                text.push_str(" null_terminated");
            }
            if let Some(count) = count {
                text.push_str(&format!(" counted_by({})", count_text(types, count, siblings)));
            }
            let elem =
                Qty { quals: Quals { is_const: elem.quals.is_const || qty.quals.is_const, ..elem.quals }, ..*elem };
            declaration(types, elem, &text, Siblings::None)
        }
        TyKind::Func(f) => function(types, f, inner, &[]),
        kind => declare(&format!("{quals}{}", base(types, kind)), inner),
    }
}

/// A declaration of a function.
pub fn function(types: &TypeStore, f: &FuncTy, inner: &str, names: &[Option<Symbol>]) -> String {
    let mut params: Vec<String> = vec![];
    for (n, param) in f.params.iter().enumerate() {
        let name = names.get(n).copied().flatten().map_or("", |name| name.as_str());
        // Counts name their siblings, so those have names even where the source gave none.
        let optional = if param.optional { "[[lee::optional]] " } else { "" };
        let (ty, heap) = (Qty::plain(param.ty), heap_word(types, param.ty));
        let inner =
            if heap { format!("@heap{}{name}", if name.is_empty() { "" } else { " " }) } else { name.to_string() };
        let text = declaration(types, ty, &inner, Siblings::Params(names));
        params.push(format!("{optional}{text}"));
    }
    if f.variadic {
        params.push("...".into());
    }
    let params = if params.is_empty() { "void".into() } else { params.join(", ") };
    let text = declaration(types, Qty::plain(f.ret), &format!("{inner}({params})"), Siblings::None);
    named_regions(text, f.regions)
}

/// Region variables that stand in several places get a letter; the others need no word.
fn named_regions(mut text: String, regions: u32) -> String {
    for n in (0..regions).rev() {
        let spelled = region_word(Region::Bound(0, n)).unwrap_or_default();
        text = if text.matches(&spelled).count() > 1 {
            text.replace(&spelled, &format!("@r{}", n + 1))
        } else {
            text.replace(&format!("*{spelled} "), "*").replace(&format!(" {spelled}"), "").replace(&spelled, "")
        };
    }
    // What is left belongs to the function type around.
    text.replace("@bound1_", "@bound0_")
}

/// The word of a region that is not the default. The end of a number is marked, so that none begins
/// another.
fn region_word(region: Region) -> Option<String> {
    match region {
        Region::Bound(level, n) => Some(format!("@bound{level}_{n}_")),
        Region::Exchange => Some("@exchange".into()),
        _ => None,
    }
}

/// Whether a parameter of the type is marked `@heap`. Open files and the like are in the heap
/// without it.
pub fn heap_word(types: &TypeStore, ty: Ty) -> bool {
    let Some(p) = types.as_pointer(ty) else { return false };
    let without = matches!(types.kind(p.target.ty), TyKind::Func(_)) || types.is_handle_of_runtime(p.target.ty);
    p.region == Region::Heap && p.own == Own::Shared && !without
}

/// `__attribute__` and `[[lee::...]]` of a function type, each with a blank; the second only
/// Leeward may see.
pub fn attributes(f: &FuncTy, names: &[Option<Symbol>]) -> (String, String) {
    let name = |n: u32| names.get(n as usize).copied().flatten().map_or("", |name| name.as_str());
    let (mut shared, mut own) = (String::new(), String::new());
    if f.noreturn {
        shared.push_str(" __attribute__((noreturn))");
    }
    if let Some(format) = f.format {
        let kind = if format.scanf { "scanf" } else { "printf" };
        let first = format.first.map_or(0, |n| n + 1);
        shared.push_str(&format!(" __attribute__((format({kind}, {}, {first})))", format.format + 1));
    }
    if let Some(n) = f.into {
        own.push_str(&format!("[[lee::into({})]] ", name(n)));
    }
    if let Some((a, b)) = f.end_into {
        own.push_str(&format!("[[lee::end_into({}, {})]] ", name(a), name(b)));
    }
    (shared, own)
}

/// The name of a type that is neither pointer, array nor function.
pub fn base(types: &TypeStore, kind: &TyKind) -> String {
    match kind {
        TyKind::Bool => "bool".into(),
        TyKind::Int(k) => k.name().into(),
        TyKind::Float(k) => k.name().into(),
        TyKind::Complex(k) => format!("_Complex {}", k.name()),
        TyKind::Enum(id) => {
            let e = types.enumeration(*id);
            e.tag.map_or(e.underlying.name().to_string(), |tag| format!("enum {tag}"))
        }
        TyKind::Record(id) => {
            let record = types.record(*id);
            let word = match record.kind {
                RecordKind::Struct => "struct",
                RecordKind::Union => "union",
                RecordKind::Tagged => "tagged union",
            };
            match record.tag {
                Some(tag) => format!("{word} {tag}"),
                None => format!("{word} {}", body(types, record)),
            }
        }
        TyKind::VaList => "va_list".into(),
        TyKind::NullPtr => "nullptr_t".into(),
        _ => "void".into(),
    }
}

/// `{ members }`, on one line each if there are several.
pub fn body(types: &TypeStore, record: &Record) -> String {
    let Some(fields) = record.fields.as_ref() else { return "{ }".into() };
    let lines: Vec<String> = fields.iter().map(|f| format!("    {};\n", field(types, f, fields))).collect();
    let inside: String = lines.concat().lines().map(|line| format!("{line}\n")).collect();
    format!("{{\n{inside}}}{}", layout_attributes(record))
}

/// What follows the closing brace.
pub fn layout_attributes(record: &Record) -> String {
    let mut text = String::new();
    if record.packed {
        text.push_str(" __attribute__((packed))");
    }
    if let Some(align) = record.align {
        text.push_str(&format!(" __attribute__((aligned({align})))"));
    }
    text
}

fn field(types: &TypeStore, field: &Field, siblings: &[Field]) -> String {
    let name = field.name.map_or("", |name| name.as_str());
    let mut text = declaration(types, field.ty, name, Siblings::Fields(siblings)).replace('\n', "\n    ");
    if let Some(width) = field.width {
        text.push_str(&format!(" : {width}"));
    }
    if let Some(align) = field.align {
        text.push_str(&format!(" __attribute__((aligned({align})))"));
    }
    if let Some(bound) = &field.tagged_by {
        let tag = siblings.get(bound.tag as usize).and_then(|f| f.name).map_or("", |name| name.as_str());
        let union = types.as_record(field.ty.ty).and_then(|id| types.record(id).fields.clone());
        let arms: Vec<String> = bound
            .arms
            .iter()
            .map(|(value, member)| {
                let member = union.as_ref().and_then(|f| f.get(*member as usize)?.name);
                format!("{value}: {}", member.map_or("", |name| name.as_str()))
            })
            .collect();
        text.push_str(&format!(" tagged_by({tag}) {{ {} }}", arms.join(", ")));
    }
    text
}

fn pointer_words(types: &TypeStore, p: &Pointer, siblings: Siblings) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    match p.bounds {
        Bounds::Thin => {}
        Bounds::Fat => words.push("fat".into()),
        Bounds::Terminated => words.push("null_terminated".into()),
        Bounds::FatTerminated => words.push("fat null_terminated".into()),
        Bounds::Counted(e) => words.push(format!("counted_by({})", count_text(types, e, siblings))),
    }
    if p.nonnull {
        words.push("nonnull".into());
    }
    let own = match p.own {
        Own::Unique => "unique",
        Own::Rc => "rc",
        Own::View => "view",
        Own::Any => "any",
        Own::Shared | Own::Param(_) => "",
    };
    words.extend(Some(own.to_string()).filter(|word| !word.is_empty()));
    words.extend(region_word(p.region));
    words
}

fn count_text(types: &TypeStore, id: CountId, siblings: Siblings) -> String {
    let both = |a, op, b| format!("({} {op} {})", count_text(types, a, siblings), count_text(types, b, siblings));
    match *types.count_expr(id) {
        CountExpr::Const(n) => n.to_string(),
        CountExpr::Param(n) => match siblings {
            Siblings::Params(names) => names.get(n as usize).copied().flatten().map_or("", |s| s.as_str()).to_string(),
            _ => String::new(),
        },
        CountExpr::Field(n) => match siblings {
            Siblings::Fields(fields) => {
                fields.get(n as usize).and_then(|f| f.name).map_or("", |s| s.as_str()).to_string()
            }
            _ => String::new(),
        },
        CountExpr::Add(a, b) => both(a, "+", b),
        CountExpr::Sub(a, b) => both(a, "-", b),
        CountExpr::Mul(a, b) => both(a, "*", b),
        CountExpr::Div(a, n) => format!("({} / {n})", count_text(types, a, siblings)),
    }
}

fn quals(quals: Quals) -> String {
    let mut text = String::new();
    for (is, word) in [(quals.is_const, "const "), (quals.is_volatile, "volatile "), (quals.is_atomic, "_Atomic ")] {
        if is {
            text.push_str(word);
        }
    }
    text
}
