//! Types, constants' addresses and the tables before a MIR file, as text.
//!
//! The notation is prefix and self-delimiting: `*[fat nonnull]const char`, `[16 zero]char`,
//! `list%3` (record 3), `color^1` (enumeration 1), `exp Ping^0:2` (an endpoint of contract 0, in
//! state 2), `fn(int, *char, ...) -> int`. Names are for the reader; the numbers decide.

use crate::ir::{Local, Program};
use source::Symbol;
use std::fmt::Write;
use typing::contracts::Side;
pub use typing::digest::region_text;
use typing::tree::{ConstAddr, ConstInit, FuncRef, Function, Global, Linkage, StringLit, Trust};
use typing::types::*;

/// Text of a type.
pub fn ty(types: &TypeStore, ty: Ty) -> String {
    let mut out = String::new();
    write_ty(&mut out, types, ty);
    out
}

/// Text of a type with qualifiers.
pub fn qty(types: &TypeStore, ty: Qty) -> String {
    let mut out = String::new();
    write_qty(&mut out, types, ty);
    out
}

/// The notation's word for an integer type.
pub fn int_word(kind: IntKind) -> &'static str {
    match kind {
        IntKind::Char => "char",
        IntKind::SChar => "schar",
        IntKind::UChar => "uchar",
        IntKind::Short => "short",
        IntKind::UShort => "ushort",
        IntKind::Int => "int",
        IntKind::UInt => "uint",
        IntKind::Long => "long",
        IntKind::ULong => "ulong",
        IntKind::LongLong => "llong",
        IntKind::ULongLong => "ullong",
        IntKind::Int128 => "i128",
        IntKind::UInt128 => "u128",
    }
}

/// The notation's word for a floating type.
pub fn float_word(kind: FloatKind) -> &'static str {
    match kind {
        FloatKind::Float16 => "f16",
        FloatKind::Float => "float",
        FloatKind::Double => "double",
        FloatKind::LongDouble => "ldouble",
        FloatKind::Float32 => "f32",
        FloatKind::Float32x => "f32x",
        FloatKind::Float64 => "f64",
        FloatKind::Float64x => "f64x",
        FloatKind::Float128 => "f128",
    }
}

fn write_endpoint(out: &mut String, types: &TypeStore, endpoint: &Endpoint) {
    let name = types.contract(endpoint.contract).map(|c| c.name);
    let _ = write!(out, "{} {}^{}", endpoint.side.word(), plain_name(name), endpoint.contract.0);
    if let Some(state) = endpoint.state {
        let _ = write!(out, ":{}", state.0);
    }
}

/// The name, if it reads as an identifier, so that it can stand before a number.
pub(crate) fn plain_name(name: Option<Symbol>) -> &'static str {
    match name {
        Some(n) if is_word(n.as_str()) => n.as_str(),
        _ => "",
    }
}

/// Whether the text is an identifier of the notation.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(crate) fn write_qty(out: &mut String, types: &TypeStore, qty: Qty) {
    for (set, word) in
        [(qty.quals.is_const, "const "), (qty.quals.is_volatile, "volatile "), (qty.quals.is_atomic, "atomic ")]
    {
        if set {
            out.push_str(word);
        }
    }
    write_ty(out, types, qty.ty);
}

pub(crate) fn write_ty(out: &mut String, types: &TypeStore, ty: Ty) {
    match types.kind(ty) {
        TyKind::Error => out.push_str("error"),
        TyKind::Void => out.push_str("void"),
        TyKind::Bool => out.push_str("bool"),
        TyKind::Int(kind) => out.push_str(int_word(*kind)),
        TyKind::Float(kind) => out.push_str(float_word(*kind)),
        TyKind::Complex(kind) => {
            let _ = write!(out, "complex({})", float_word(*kind));
        }
        TyKind::Enum(id) => {
            let tag = types.enums.get(id.0 as usize).and_then(|e| e.tag);
            let _ = write!(out, "{}^{}", plain_name(tag), id.0);
        }
        TyKind::Record(id) => {
            let tag = types.records.get(id.0 as usize).and_then(|r| r.tag);
            let _ = write!(out, "{}%{}", plain_name(tag), id.0);
        }
        TyKind::Ptr(pointer) => write_pointer(out, types, pointer),
        TyKind::Array { elem, len, terminated } => {
            out.push('[');
            match len {
                ArrayLen::Const(n) => {
                    let _ = write!(out, "{n}");
                }
                ArrayLen::Unknown => out.push('?'),
                ArrayLen::Flexible(None) => out.push_str("flex"),
                ArrayLen::Flexible(Some(count)) => {
                    out.push_str("flex ");
                    write_count(out, types, *count);
                }
                ArrayLen::Variable(local) => {
                    let _ = write!(out, "var {local}");
                }
            }
            out.push_str(if *terminated { " zero]" } else { "]" });
            write_qty(out, types, *elem);
        }
        TyKind::Func(func) => write_func(out, types, func),
        TyKind::Param(param) => {
            let _ = write!(out, "param({}, {}", param.index, quoted_name(param.name));
            out.push_str(if param.heap { ", heap" } else { "" });
            out.push_str(if param.moves { ", move" } else { "" });
            out.push_str(if param.exchange { ", exchange" } else { "" });
            out.push_str(if param.frozen { ", frozen" } else { "" });
            out.push_str(if param.nonnull { ", nonnull)" } else { ")" });
        }
        TyKind::VaList => out.push_str("va_list"),
        TyKind::NullPtr => out.push_str("nullptr"),
        TyKind::Key(kind, region) => {
            let _ = write!(out, "{} {}", kind.word(), region_text(*region));
        }
        TyKind::Endpoint(endpoint) => write_endpoint(out, types, endpoint),
        TyKind::EndSet(set) => {
            out.push_str("eset(");
            write_endpoint(out, types, &set.end);
            if let Some(ty) = set.value.and_then(|id| types.find(&TyKind::Record(id))) {
                out.push_str(", ");
                out.push_str(&self::ty(types, ty));
            }
            out.push(')');
        }
        TyKind::Handle(reap, region) => {
            let _ = write!(out, "{} {}", if *reap { "reap" } else { "arena" }, region_text(*region));
        }
        TyKind::RegionArg(region) => out.push_str(&region_text(*region)),
        TyKind::OwnArg(own) => {
            let _ = write!(out, "own({})", own_text(*own).unwrap_or("shared".into()));
        }
    }
}

/// The word of an ownership; none for shared.
fn own_text(own: Own) -> Option<String> {
    Some(match own {
        Own::Shared => return None,
        Own::Unique => "unique".into(),
        Own::Rc => "rc".into(),
        Own::View => "view".into(),
        Own::Any => "any".into(),
        Own::Param(n) => format!("own{n}"),
    })
}

fn write_pointer(out: &mut String, types: &TypeStore, pointer: &Pointer) {
    out.push('*');
    let mut words: Vec<String> = vec![];
    match pointer.bounds {
        Bounds::Thin => {}
        Bounds::Fat => words.push("fat".into()),
        Bounds::Terminated => words.push("zero".into()),
        Bounds::FatTerminated => words.push("fatzero".into()),
        Bounds::Counted(count) => {
            let mut text = String::from("count ");
            write_count(&mut text, types, count);
            words.push(text);
        }
    }
    if pointer.nonnull {
        words.push("nonnull".into());
    }
    words.extend(own_text(pointer.own));
    match pointer.region {
        Region::Heap => {}
        Region::Var => words.push("region".into()),
        region => words.push(region_text(region)),
    }
    if pointer.raw {
        words.push("raw".into());
    }
    if !words.is_empty() {
        let _ = write!(out, "[{}]", words.join(" "));
    }
    write_qty(out, types, pointer.target);
}

fn write_count(out: &mut String, types: &TypeStore, id: CountId) {
    let binary = |out: &mut String, a: CountId, op: &str, b: CountId| {
        out.push('(');
        write_count(out, types, a);
        out.push_str(op);
        write_count(out, types, b);
        out.push(')');
    };
    match types.count_expr(id) {
        CountExpr::Const(n) => {
            let _ = write!(out, "{n}");
        }
        CountExpr::Param(n) => {
            let _ = write!(out, "p{n}");
        }
        CountExpr::Field(n) => {
            let _ = write!(out, "f{n}");
        }
        CountExpr::Add(a, b) => binary(out, *a, " + ", *b),
        CountExpr::Sub(a, b) => binary(out, *a, " - ", *b),
        CountExpr::Mul(a, b) => binary(out, *a, " * ", *b),
        CountExpr::Div(a, n) => {
            out.push('(');
            write_count(out, types, *a);
            let _ = write!(out, " / {n})");
        }
    }
}

fn write_func(out: &mut String, types: &TypeStore, func: &FuncTy) {
    out.push_str("fn");
    let mut words: Vec<String> = vec![];
    if func.abi == Abi::C {
        words.push("c".into());
    }
    if func.noreturn {
        words.push("noreturn".into());
    }
    if func.unprototyped {
        words.push("unprototyped".into());
    }
    if let Some(format) = &func.format {
        words.push(format_text(format));
    }
    if let Some(n) = func.into {
        words.push(format!("into {n}"));
    }
    if let Some((p, o)) = func.end_into {
        words.push(format!("end_into {p} {o}"));
    }
    if let Some((d, s)) = func.copies {
        words.push(format!("copies {d} {s}"));
    }
    if let Some(p) = func.terminates {
        words.push(format!("terminates {p}"));
    }
    if let Some(p) = func.cuts {
        words.push(format!("cuts {p}"));
    }
    if func.leaf {
        words.push("leaf".into());
    }
    if func.waits {
        words.push("waits".into());
    }
    if let Some((p, c)) = func.fills {
        words.push(format!("fills {p} {}", c.map_or("-".into(), |c| c.to_string())));
    }
    if let Some(n) = func.keeps_string {
        words.push(format!("keeps_string {n}"));
    }
    if func.regions > 0 {
        words.push(format!("regions {}", func.regions));
    }
    for (long, short) in &func.outlives {
        words.push(format!("outlives {} {}", region_text(*long), region_text(*short)));
    }
    for (owner, region) in &func.owns_in {
        let mut text = String::new();
        write_ty(&mut text, types, *owner);
        words.push(format!("owns_in {} {text}", region_text(*region)));
    }
    if !words.is_empty() {
        let _ = write!(out, "[{}]", words.join(", "));
    }
    out.push('(');
    for (n, param) in func.params.iter().enumerate() {
        out.push_str(if n > 0 { ", " } else { "" });
        out.push_str(if param.consume { "consume " } else { "" });
        out.push_str(if param.optional { "optional " } else { "" });
        if let Some(most) = param.at_most {
            let _ = write!(out, "at_most {most} ");
        }
        write_ty(out, types, param.ty);
        if let Some(state) = param.becomes {
            let _ = write!(out, " becomes {}", state.0);
        }
    }
    if func.variadic {
        out.push_str(if func.params.is_empty() { "..." } else { ", ..." });
    }
    out.push_str(") -> ");
    write_ty(out, types, func.ret);
}

/// `printf 0 1` or `scanf 0 -`.
pub(crate) fn format_text(format: &FormatTy) -> String {
    let word = if format.scanf { "scanf" } else { "printf" };
    match format.first {
        Some(first) => format!("{word} {} {first}", format.format),
        None => format!("{word} {} -", format.format),
    }
}

/// A name as text in quotes, whatever it holds.
pub(crate) fn quoted_name(name: Symbol) -> String {
    quoted(name.as_str().as_bytes())
}

/// Bytes in quotes; what is not plain ASCII is `\xNN`.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &b in bytes {
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(b as char),
            _ => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push('"');
    out
}

/// The tables before the bodies.
pub(crate) fn write_tables(out: &mut String, program: &Program) {
    let types = &program.types;
    for (n, e) in types.enums.iter().enumerate() {
        let _ = write!(out, "enum {}^{n}", plain_name(e.tag));
        let _ = write!(out, " {}", int_word(e.underlying));
        if e.complete {
            let items: Vec<String> =
                e.items.iter().map(|(name, value)| format!("{} {value}", quoted_name(*name))).collect();
            let _ = write!(out, " {{ {} }}", items.join(", "));
        }
        out.push('\n');
    }
    for n in 0..types.records.len() {
        write_record(out, types, n);
    }
    for n in 0..types.contracts.len() {
        write_contract(out, types, n);
    }
    for (n, literal) in program.strings.iter().enumerate() {
        write_string(out, types, n, literal);
    }
    for (n, function) in program.functions.iter().enumerate() {
        write_function(out, types, n, function);
    }
    for (n, global) in program.globals.iter().enumerate() {
        write_global(out, program, n, global);
    }
    for asm in &program.asm {
        let _ = writeln!(out, "asm {}", quoted(asm));
    }
}

fn write_record(out: &mut String, types: &TypeStore, number: usize) {
    let Some(record) = types.records.get(number) else {
        return;
    };
    let word = match record.kind {
        RecordKind::Struct => "struct",
        RecordKind::Union => "union",
        RecordKind::Tagged => "tagged",
    };
    let _ = write!(out, "{word} {}%{number}", plain_name(record.tag));
    if !record.args.is_empty() {
        write_args(out, types, &record.args);
    }
    out.push_str(if record.packed { " packed" } else { "" });
    out.push_str(if record.foreign { " foreign" } else { "" });
    if let Some(align) = record.align {
        let _ = write!(out, " align {align}");
    }
    for bound in &record.exists {
        let _ = match bound {
            Some(by) => write!(out, " exists_by {}", region_text(*by)),
            None => write!(out, " exists"),
        };
    }
    let Some(fields) = &record.fields else {
        out.push('\n');
        return;
    };
    out.push_str(" {\n");
    for field in fields.iter() {
        let name = field.name.map_or("-".into(), quoted_name);
        let _ = write!(out, "  {name}: ");
        write_qty(out, types, field.ty);
        if let Some(width) = field.width {
            let _ = write!(out, " width {width}");
        }
        if let Some(align) = field.align {
            let _ = write!(out, " align {align}");
        }
        out.push_str(if field.packed { " packed" } else { "" });
        if let Some(tagged) = &field.tagged_by {
            let arms: Vec<String> = tagged.arms.iter().map(|(value, member)| format!("{value}: {member}")).collect();
            let _ = write!(out, " tagged_by {} {{ {} }}", tagged.tag, arms.join(", "));
        }
        out.push('\n');
    }
    out.push_str("}\n");
}

/// `contract Ping^0 start 0 places 1 1 {`, then messages (number, direction, name, struct of the
/// arguments) and states (name, who sends, `message -> state`).
fn write_contract(out: &mut String, types: &TypeStore, number: usize) {
    let Some(contract) = types.contracts.get(number) else { return };
    let _ = write!(out, "contract {}^{number}", plain_name(Some(contract.name)));
    out.push_str(if contract.local { " local" } else { "" });
    if let Some(base) = contract.extends {
        let _ = write!(out, " extends {}", base.0);
    }
    let [to_importer, to_exporter] = contract.places;
    let _ = writeln!(out, " start {} places {to_importer} {to_exporter} {{", contract.start.0);
    for message in &contract.messages {
        let _ = write!(out, "  message {} {} {}", message.number, message.direction.word(), quoted_name(message.name));
        if let Some(layout) = message.layout {
            out.push(' ');
            let tag = types.records.get(layout.0 as usize).and_then(|r| r.tag);
            let _ = write!(out, "{}%{}", plain_name(tag), layout.0);
        }
        out.push('\n');
    }
    for state in &contract.states {
        let name = state.name.map_or("-".into(), quoted_name);
        let _ = write!(out, "  state {name} {}", state.sender.map_or("end", Side::word));
        let steps: Vec<String> = state.alternatives.iter().map(|(m, to)| format!("{} -> {}", m.0, to.0)).collect();
        let _ = writeln!(out, " {{ {} }}", steps.join(", "));
    }
    out.push_str("}\n");
}

pub(crate) fn write_args(out: &mut String, types: &TypeStore, args: &[Ty]) {
    out.push('<');
    for (n, &arg) in args.iter().enumerate() {
        out.push_str(if n > 0 { ", " } else { "" });
        write_ty(out, types, arg);
    }
    out.push('>');
}

fn write_string(out: &mut String, types: &TypeStore, number: usize, literal: &StringLit) {
    let _ = write!(out, "string ${number} ");
    write_ty(out, types, literal.elem);
    if literal.units.iter().all(|&u| u < 256) {
        let bytes: Vec<u8> = literal.units.iter().map(|&u| u as u8).collect();
        let _ = writeln!(out, " {}", quoted(&bytes));
    } else {
        let units: Vec<String> = literal.units.iter().map(u32::to_string).collect();
        let _ = writeln!(out, " [{}]", units.join(", "));
    }
}

fn linkage_word(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Internal => " internal",
        Linkage::External => "",
        Linkage::Shared => " shared",
    }
}

fn trust_word(trust: Trust) -> &'static str {
    match trust {
        Trust::Checked => "",
        Trust::Trusted => " trusted",
        Trust::Foreign => " foreign",
        Trust::Exported => " exported",
    }
}

fn write_attrs(out: &mut String, attrs: &[String]) {
    for attr in attrs {
        let _ = write!(out, " attr {}", quoted(attr.as_bytes()));
    }
}

fn write_function(out: &mut String, types: &TypeStore, number: usize, function: &Function) {
    let _ = write!(out, "function {}#{number}", plain_name(Some(function.name)));
    out.push_str(": ");
    write_ty(out, types, function.ty);
    if function.type_params > 0 {
        let _ = write!(out, " generic {}", function.type_params);
    }
    out.push_str(linkage_word(function.linkage));
    out.push_str(trust_word(function.trust));
    out.push_str(if function.used { "" } else { " unused" });
    if let Some(symbol) = function.symbol {
        let _ = write!(out, " symbol {}", quoted_name(symbol));
    }
    write_attrs(out, &function.attrs);
    if function.param_names.iter().any(Option::is_some) {
        let names: Vec<String> = function.param_names.iter().map(|n| n.map_or("-".into(), quoted_name)).collect();
        let _ = write!(out, " params ({})", names.join(", "));
    }
    out.push('\n');
}

fn write_global(out: &mut String, program: &Program, number: usize, global: &Global) {
    let types = &program.types;
    let _ = write!(out, "global {}@{number}: ", plain_name(Some(global.name)));
    write_qty(out, types, global.ty);
    out.push_str(linkage_word(global.linkage));
    out.push_str(trust_word(global.trust));
    out.push_str(if global.used { "" } else { " unused" });
    out.push_str(if global.thread_local { " thread_local" } else { "" });
    if let Some(align) = global.align {
        let _ = write!(out, " align {align}");
    }
    if let Some(owner) = global.owner {
        let _ = write!(out, " owner #{}", owner.0);
    }
    if let Some(symbol) = global.symbol {
        let _ = write!(out, " symbol {}", quoted_name(symbol));
    }
    write_attrs(out, &global.attrs);
    if let Some(init) = &global.init {
        out.push_str(" = ");
        write_init(out, program, init);
    }
    out.push('\n');
}

fn write_init(out: &mut String, program: &Program, init: &ConstInit) {
    match init {
        ConstInit::Zero => out.push_str("zero"),
        ConstInit::Int(n) => {
            let _ = write!(out, "{n}");
        }
        ConstInit::Float(text) => {
            let _ = write!(out, "float {}", quoted_name(*text));
        }
        ConstInit::Addr(addr, offset) => {
            out.push_str("addr(");
            write_const_addr(out, program, addr);
            let _ = write!(out, ", {offset})");
        }
        ConstInit::Fat(addr, ptr, lo, hi) => {
            out.push_str("fat(");
            write_const_addr(out, program, addr);
            let _ = write!(out, ", {ptr}, {lo}, {hi})");
        }
        ConstInit::TypedVoid(addr, offset, ty) => {
            out.push_str("typed(");
            write_const_addr(out, program, addr);
            let _ = write!(out, ", {offset}, ");
            write_ty(out, &program.types, *ty);
            out.push(')');
        }
        ConstInit::Aggregate(parts) => {
            out.push_str("{ ");
            for (n, (index, part)) in parts.iter().enumerate() {
                let _ = write!(out, "{}{index}: ", if n > 0 { ", " } else { "" });
                write_init(out, program, part);
            }
            out.push_str(" }");
        }
        ConstInit::Tagged(member, value) => {
            let _ = write!(out, "tagged {member} ");
            write_init(out, program, value);
        }
        ConstInit::Str(id) => {
            let _ = write!(out, "${}", id.0);
        }
    }
}

fn write_const_addr(out: &mut String, program: &Program, addr: &ConstAddr) {
    match addr {
        ConstAddr::Global(g) => out.push_str(&global_text(program, *g)),
        ConstAddr::Func(f) => out.push_str(&func_text(program, f)),
        ConstAddr::Str(s) => {
            let _ = write!(out, "${}", s.0);
        }
        ConstAddr::Label(l) => {
            let _ = write!(out, "label {}", l.0);
        }
        ConstAddr::Absolute => out.push_str("absolute"),
    }
}

/// `name@3`
pub(crate) fn global_text(program: &Program, id: typing::tree::GlobalId) -> String {
    let name = program.globals.get(id.0 as usize).map(|g| g.name);
    format!("{}@{}", plain_name(name), id.0)
}

/// `name#3<int>`
pub(crate) fn func_text(program: &Program, func: &FuncRef) -> String {
    let name = program.functions.get(func.func.0 as usize).map(|f| f.name);
    let mut out = format!("{}#{}", plain_name(name), func.func.0);
    if !func.args.is_empty() {
        write_args(&mut out, &program.types, &func.args);
    }
    out
}

/// `name_3`
pub(crate) fn local_text(name: Option<Symbol>, local: Local) -> String {
    format!("{}_{}", plain_name(name), local.0)
}
