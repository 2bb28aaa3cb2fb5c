//! Types in words, from the name outwards.

use super::expression::expr;
use crate::ast::*;

/// `name: pointer to int`
pub(super) fn declared(specs: &DeclSpecs, declarator: &Declarator) -> String {
    let name = declarator.name.map_or("_".to_string(), |n| n.name.to_string());
    let label =
        declarator.asm_label.as_ref().map_or(String::new(), |l| format!(" asm {:?}", String::from_utf8_lossy(l)));
    let attrs = if declarator.attrs.is_empty() { String::new() } else { format!(" {}", attributes(&declarator.attrs)) };
    format!("{name}: {}{}{label}{attrs}", derivations(&declarator.derived), base(specs))
}

/// A type name.
pub(super) fn type_name(ty: &TypeName) -> String {
    format!("{}{}", derivations(&ty.declarator.derived), base(&ty.specs))
}

fn derivations(derived: &[Derived]) -> String {
    let mut text = String::new();
    for step in derived {
        match step {
            Derived::Pointer(pointer) => text.push_str(&format!("{} to ", pointer_text(pointer))),
            Derived::Array(array) => text.push_str(&format!("{} of ", array_text(array))),
            Derived::Function(params) => text.push_str(&format!("function({}) returning ", param_list(params))),
        }
    }
    text
}

fn pointer_text(pointer: &PointerQuals) -> String {
    let mut text = format!("{}pointer", quals(pointer.quals));
    if pointer.fat.is_some() {
        text.push_str(" fat");
    }
    if pointer.null_terminated.is_some() {
        text.push_str(" null_terminated");
    }
    if let Some(count) = &pointer.counted_by {
        text.push_str(&format!(" counted_by({})", expr(count)));
    }
    if pointer.nonnull.is_some() {
        text.push_str(" nonnull");
    }
    if let Some(own) = pointer.own {
        text.push_str(&format!(" {}", own.name));
    }
    if let Some(region) = pointer.region {
        text.push_str(&format!(" @{}", region.name));
    }
    if !pointer.attrs.is_empty() {
        text.push_str(&format!(" {}", attributes(&pointer.attrs)));
    }
    text
}

fn array_text(array: &ArrayDerived) -> String {
    let size = match &array.size {
        ArraySize::Unknown => String::new(),
        ArraySize::Star => "*".to_string(),
        ArraySize::Expr(e) => expr(e),
    };
    let is_static = if array.is_static { "static " } else { "" };
    let mut text = format!("array[{is_static}{}{size}]", quals(array.quals));
    if array.null_terminated.is_some() {
        text.push_str(" null_terminated");
    }
    if let Some(count) = &array.counted_by {
        text.push_str(&format!(" counted_by({})", expr(count)));
    }
    text
}

pub(super) fn param_list(list: &ParamList) -> String {
    let mut params: Vec<String> = list
        .params
        .iter()
        .map(|p| {
            let consume = if p.consume.is_some() { "consume " } else { "" };
            let storage = if p.specs.storage == Some(Storage::Register) { "register " } else { "" };
            format!("{consume}{storage}{}", declared(&p.specs, &p.declarator))
        })
        .collect();
    if list.variadic {
        params.push("...".to_string());
    }
    let old = if list.old_style { "old-style " } else { "" };
    format!("{old}{}", params.join(", "))
}

fn quals(quals: Quals) -> String {
    let mut text = String::new();
    for (set, word) in [
        (quals.is_const, "const "),
        (quals.is_volatile, "volatile "),
        (quals.is_restrict, "restrict "),
        (quals.is_atomic, "_Atomic "),
    ] {
        if set {
            text.push_str(word);
        }
    }
    text
}

/// The base type with its qualifiers.
pub(super) fn base(specs: &DeclSpecs) -> String {
    let attrs = if specs.attrs.is_empty() { String::new() } else { format!(" {}", attributes(&specs.attrs)) };
    format!("{}{}{attrs}", quals(specs.quals), type_spec(&specs.ty))
}

/// Storage and function specifiers before a declared name.
pub(super) fn specs_extra(specs: &DeclSpecs) -> String {
    let mut text = String::new();
    match specs.storage {
        Some(Storage::Extern) => text.push_str("extern "),
        Some(Storage::Static) => text.push_str("static "),
        Some(Storage::Auto) => text.push_str("auto "),
        Some(Storage::Register) => text.push_str("register "),
        Some(Storage::Typedef) | None => {}
    }
    for (set, word) in [
        (specs.thread_local, "thread_local "),
        (specs.constexpr, "constexpr "),
        (specs.inline, "inline "),
        (specs.noreturn, "noreturn "),
        (specs.process, "process "),
    ] {
        if set {
            text.push_str(word);
        }
    }
    for align in &specs.alignas {
        match align {
            AlignAs::Type(ty) => text.push_str(&format!("alignas(<{}>) ", type_name(ty))),
            AlignAs::Expr(e) => text.push_str(&format!("alignas({}) ", expr(e))),
        }
    }
    text
}

fn type_spec(ty: &TypeSpec) -> String {
    match ty {
        TypeSpec::Builtin(builtin) => builtin_text(*builtin).to_string(),
        TypeSpec::Named(name, args) => format!("{}{}", name.name, generic_args(args, !args.is_empty())),
        TypeSpec::Record(record) => {
            let word = match record.kind {
                RecordKind::Struct => "struct",
                RecordKind::Union => "union",
                RecordKind::TaggedUnion => "tagged union",
            };
            let tag = record.tag.map_or(String::new(), |t| format!(" {}", t.name));
            let body = if record.fields.is_some() { " {...}" } else { "" };
            let attrs = if record.attrs.is_empty() { String::new() } else { format!(" {}", attributes(&record.attrs)) };
            format!("{word}{tag}{}{body}{attrs}", generic_args(&record.args, record.has_args))
        }
        TypeSpec::Enum(item) => {
            let tag = item.tag.map_or(String::new(), |t| format!(" {}", t.name));
            let under = item.underlying.as_ref().map_or(String::new(), |u| format!(" : {}", type_name(u)));
            let body = if item.items.is_some() { " {...}" } else { "" };
            format!("enum{tag}{under}{body}")
        }
        TypeSpec::TypeofExpr(e, unqual) => format!("{}({})", typeof_word(*unqual), expr(e)),
        TypeSpec::TypeofType(ty, unqual) => format!("{}(<{}>)", typeof_word(*unqual), type_name(ty)),
        TypeSpec::Atomic(ty) => format!("_Atomic({})", type_name(ty)),
        TypeSpec::Infer => "auto".to_string(),
        TypeSpec::Key(word, region) => {
            let word = match word {
                KeyWord::Arena => "key",
                KeyWord::Reap => "reap_key",
                KeyWord::RcArena => "rc_key",
                KeyWord::RcReap => "rc_reap_key",
                KeyWord::Exchange => "exchange_key",
            };
            format!("{word}<@{}>", region.name)
        }
        TypeSpec::Handle(reap, _) => super::handle_word(*reap).to_string(),
        TypeSpec::Endpoint(endpoint) => {
            let side = if endpoint.exporter { "exp" } else { "imp" };
            let state = endpoint.state.map_or(String::new(), |s| format!(":{}", s.name));
            let becomes = endpoint.becomes.map_or(String::new(), |s| format!(" -> {}", s.name));
            format!("{}.{side}{state}{becomes}", endpoint.contract.name)
        }
        TypeSpec::EndSet(word, args) => format!("{}{}", word.name, generic_args(args, true)),
        TypeSpec::Unsupported(word) => format!("unsupported {}", word.name),
        TypeSpec::Missing => "(no type)".to_string(),
    }
}

fn typeof_word(unqual: bool) -> &'static str {
    if unqual {
        "typeof_unqual"
    } else {
        "typeof"
    }
}

fn generic_args(args: &[GenericArg], written: bool) -> String {
    if !written {
        return String::new();
    }
    let args: Vec<String> = args
        .iter()
        .map(|arg| match arg {
            GenericArg::Type(ty) => type_name(ty),
            GenericArg::Region(name) => format!("@{}", name.name),
            GenericArg::Own(name) => format!("own {}", name.name),
        })
        .collect();
    format!("<{}>", args.join(", "))
}

/// `generic <...>`
pub(super) fn generics(given: &Generics) -> String {
    let params: Vec<String> = given
        .params
        .iter()
        .map(|param| match param {
            GenericParam::Type { name, bounds } if bounds.is_empty() => name.name.to_string(),
            GenericParam::Type { name, bounds } => {
                let region = |b: &Bound| b.region.map_or(String::new(), |r| format!(" @{}", r.name));
                let bounds: Vec<String> = bounds.iter().map(|b| format!("{}{}", b.name.name, region(b))).collect();
                format!("{}: {}", name.name, bounds.join(" + "))
            }
            GenericParam::Own(name) => format!("own {}", name.name),
            GenericParam::Region { name, outlives: None } => format!("@{}", name.name),
            GenericParam::Region { name, outlives: Some(other) } => format!("@{} outlives @{}", name.name, other.name),
        })
        .collect();
    format!("generic <{}>", params.join(", "))
}

/// Attributes in C's own spelling.
pub(super) fn attributes(attrs: &[Attribute]) -> String {
    let attrs: Vec<String> = attrs
        .iter()
        .map(|attr| {
            let namespace = attr.namespace.map_or(String::new(), |n| format!("{n}::"));
            let args: Vec<String> = attr.args.iter().map(expr).collect();
            let args = if args.is_empty() { String::new() } else { format!("({})", args.join(", ")) };
            format!("{namespace}{}{args}", attr.name)
        })
        .collect();
    format!("[[{}]]", attrs.join(", "))
}

fn builtin_text(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Void => "void",
        Builtin::Bool => "bool",
        Builtin::Char => "char",
        Builtin::SChar => "signed char",
        Builtin::UChar => "unsigned char",
        Builtin::Short => "short",
        Builtin::UShort => "unsigned short",
        Builtin::Int => "int",
        Builtin::UInt => "unsigned int",
        Builtin::Long => "long",
        Builtin::ULong => "unsigned long",
        Builtin::LongLong => "long long",
        Builtin::ULongLong => "unsigned long long",
        Builtin::Int128 => "__int128",
        Builtin::UInt128 => "unsigned __int128",
        Builtin::Float16 => "_Float16",
        Builtin::Float => "float",
        Builtin::Double => "double",
        Builtin::LongDouble => "long double",
        Builtin::Float32 => "_Float32",
        Builtin::Float32x => "_Float32x",
        Builtin::Float64 => "_Float64",
        Builtin::Float64x => "_Float64x",
        Builtin::Float128 => "_Float128",
        Builtin::ComplexFloat => "_Complex float",
        Builtin::ComplexDouble => "_Complex double",
        Builtin::ComplexLongDouble => "_Complex long double",
        Builtin::ComplexFloat128 => "_Complex _Float128",
        Builtin::VaList => "__builtin_va_list",
        Builtin::Byte => "byte",
    }
}
