//! Constant initialisers.

use crate::ctype::{members, suffixes};
use crate::exprs::{float_text, int_text, Ex, Level};
use crate::unit::{string_value, Unit};
use std::fmt::Write;
use typing::tree::{ConstAddr, ConstInit};
use typing::types::*;

/// The initialiser of an object in memory.
pub fn object(unit: &mut Unit, init: &ConstInit, ty: Ty) -> String {
    let suffixes: Vec<String> = match members(unit.types.words(ty)) {
        [] => vec![String::new()],
        all => all.iter().map(|member| format!(".{member}")).collect(),
    };
    unit.list_addresses(init, &suffixes);
    let words = words(unit, init, ty);
    match words.as_slice() {
        [one] => one.clone(),
        _ => format!("{{ {} }}", words.join(", ")),
    }
}

/// The initialisers of a value's words.
fn words(unit: &mut Unit, init: &ConstInit, ty: Ty) -> Vec<String> {
    let count = unit.types.words(ty) as usize;
    match init {
        ConstInit::Zero => vec![zero(unit, ty); count],
        ConstInit::Int(value) => vec![integer(unit, *value, ty)],
        ConstInit::Float(text) => {
            let kind = match unit.types.kind(ty) {
                TyKind::Float(k) | TyKind::Complex(k) => *k,
                _ => FloatKind::Double,
            };
            vec![float_text(text.as_str(), kind).text]
        }
        ConstInit::Addr(addr, offset) => {
            let first = address(unit, addr, *offset, ty);
            // A thin initialiser of a fat pointer has no room around it.
            let mut out = vec![first.clone()];
            out.extend(vec![first; if count == 3 { 2 } else { 0 }]);
            out.extend(vec!["NULL".to_string(); if count == 2 { 1 } else { 0 }]);
            out
        }
        ConstInit::Fat(addr, ptr, lo, hi) => [ptr, lo, hi].map(|offset| address(unit, addr, *offset, ty)).to_vec(),
        ConstInit::TypedVoid(addr, offset, of) => {
            let descriptor = unit.descriptor(*of);
            vec![address(unit, addr, *offset, ty), format!("&{descriptor}")]
        }
        ConstInit::Aggregate(parts) => vec![aggregate(unit, parts, ty)],
        ConstInit::Tagged(member, value) => vec![tagged(unit, *member, value, ty)],
        ConstInit::Str(id) => {
            let Some(literal) = unit.program.strings.get(id.0 as usize) else { return vec!["{}".into()] };
            let room = match unit.types.kind(ty) {
                TyKind::Array { len: ArrayLen::Const(n), .. } => *n as usize,
                _ => literal.units.len(),
            };
            vec![characters(
                unit,
                literal.units.get(..room.min(literal.units.len())).unwrap_or(&[]),
                literal.elem,
                room,
            )]
        }
    }
}

/// A literal that fills its array has no zero at its end, about which some compilers warn; a list
/// says the same.
fn characters(unit: &Unit, units: &[u32], elem: Ty, room: usize) -> String {
    let ends = units.last() == Some(&0) || units.len() < room;
    if ends {
        return string_value(unit.types, elem, units);
    }
    let texts: Vec<String> = units.iter().map(u32::to_string).collect();
    format!("{{ {} }}", texts.join(", "))
}

fn zero(unit: &Unit, ty: Ty) -> String {
    match unit.types.kind(ty) {
        TyKind::Array { .. } | TyKind::Record(_) | TyKind::VaList => "{}".into(),
        TyKind::Ptr(_) | TyKind::NullPtr => "NULL".into(),
        _ => "0".into(),
    }
}

fn integer(unit: &mut Unit, value: i128, ty: Ty) -> String {
    match unit.types.kind(ty) {
        TyKind::Float(kind) => float_text(&value.to_string(), *kind).text,
        TyKind::Ptr(_) if value == 0 => "NULL".into(),
        TyKind::Ptr(_) => {
            let cast = unit.c.cast(ty);
            int_text(value, IntKind::ULong).cast(&cast).text
        }
        _ => int_text(value, unit.types.as_int(ty).unwrap_or(IntKind::Int)).text,
    }
}

/// An address constant of the type's first word.
fn address(unit: &mut Unit, addr: &ConstAddr, offset: i64, ty: Ty) -> String {
    let cast = unit.c.cast(ty);
    let base = match addr {
        ConstAddr::Global(id) => Ex::new(format!("&{}", unit.global_name(*id).ident), Level::Unary),
        ConstAddr::Func(func) => Ex::atom(unit.function_name(func).ident),
        ConstAddr::Str(id) => Ex::atom(unit.string(*id)),
        ConstAddr::Label(label) => Ex::new(format!("&&{}", label_block(unit, label.0)), Level::Unary),
        ConstAddr::Absolute => return Ex::atom(format!("{offset}l")).cast(&cast).text,
    };
    if offset == 0 {
        return base.cast(&cast).text;
    }
    Ex::new(format!("((char *){} + {offset})", base.at(Level::Unary)), Level::Primary).cast(&cast).text
}

/// Labels are known by number; the body that is being emitted says which block each one is.
fn label_block(unit: &Unit, label: u32) -> String {
    let block = unit.labels.get(label as usize).copied().unwrap_or(0);
    format!("b{block}")
}

fn aggregate(unit: &mut Unit, parts: &[(u64, ConstInit)], ty: Ty) -> String {
    match unit.types.kind(ty) {
        TyKind::Array { elem, .. } => array(unit, parts, elem.ty),
        TyKind::Record(id) if unit.types.record(*id).vector => vector(unit, parts, ty),
        TyKind::Record(id) => {
            let mut items = vec![];
            fields(unit, parts, *id, &mut items);
            if items.is_empty() {
                "{}".into()
            } else {
                format!("{{ {} }}", items.join(", "))
            }
        }
        TyKind::Complex(kind) => {
            let part = |n: u64| parts.iter().find(|(at, _)| *at == n).map(|(_, init)| init);
            let text = |init: Option<&ConstInit>| match init {
                Some(ConstInit::Float(text)) => float_text(text.as_str(), *kind).text,
                Some(ConstInit::Int(value)) => float_text(&value.to_string(), *kind).text,
                _ => float_text("0", *kind).text,
            };
            format!("__builtin_complex({}, {})", text(part(0)), text(part(1)))
        }
        _ => match parts.first() {
            Some((_, init)) => object(unit, init, ty),
            None => zero(unit, ty),
        },
    }
}

/// All lanes: the list has no designators.
fn vector(unit: &mut Unit, parts: &[(u64, ConstInit)], ty: Ty) -> String {
    let Some((elem, lanes)) = unit.types.as_vector(ty) else { return "{}".into() };
    let all = match parts.first() {
        Some((_, ConstInit::Aggregate(all))) => all.as_slice(),
        _ => &[],
    };
    let mut texts = vec![];
    for lane in 0..lanes {
        let init = all.iter().find(|(at, _)| *at == lane).map_or(&ConstInit::Zero, |(_, init)| init);
        texts.push(object(unit, init, elem));
    }
    format!("{{ {} }}", texts.join(", "))
}

/// Elements a line, so that tables do not become one line of megabytes.
const PER_LINE: usize = 16;

fn array(unit: &mut Unit, parts: &[(u64, ConstInit)], elem: Ty) -> String {
    let mut out = String::from("{");
    let mut next = 0;
    let mut written = 0;
    for (at, init) in parts {
        if *init == ConstInit::Zero {
            continue;
        }
        if written > 0 {
            out.push(',');
            if written % PER_LINE == 0 {
                out.push_str("\n   ");
            }
        }
        out.push(' ');
        if *at != next {
            let _ = write!(out, "[{at}] = ");
        }
        let text = unit.inside(&format!("[{at}]"), |unit| object(unit, init, elem));
        out.push_str(&text);
        next = at + 1;
        written += 1;
    }
    out.push_str(if written > 0 { " }" } else { "}" });
    out
}

/// Initialisers of members, those of anonymous records in place.
fn fields(unit: &mut Unit, parts: &[(u64, ConstInit)], id: RecordId, items: &mut Vec<String>) {
    let Some(all) = unit.types.records.get(id.0 as usize).and_then(|r| r.fields.clone()) else { return };
    let names = unit.c.field_names(id);
    for (at, init) in parts {
        let at = *at as usize;
        let (Some(field), Some(name)) = (all.get(at), names.get(at)) else { continue };
        if *init == ConstInit::Zero {
            continue;
        }
        if name.is_empty() {
            if let (Some(inner), ConstInit::Aggregate(parts)) = (unit.types.as_record(field.ty.ty), init) {
                fields(unit, parts, inner, items);
            }
            continue;
        }
        member(unit, name, init, field.ty.ty, items);
    }
}

fn member(unit: &mut Unit, name: &str, init: &ConstInit, ty: Ty, items: &mut Vec<String>) {
    let suffixes: Vec<&str> = [""].into_iter().chain(suffixes(unit.types.words(ty)).iter().copied()).collect();
    let places: Vec<String> = suffixes.iter().map(|suffix| format!(".{name}{suffix}")).collect();
    unit.list_addresses(init, &places);
    let words = unit.inside(&format!(".{name}"), |unit| words(unit, init, ty));
    items.extend(suffixes.into_iter().zip(words).map(|(suffix, word)| format!(".{name}{suffix} = {word}")));
}

fn tagged(unit: &mut Unit, number: u32, value: &ConstInit, ty: Ty) -> String {
    let Some(id) = unit.types.as_record(ty) else { return "{}".into() };
    let field = unit.types.records.get(id.0 as usize).and_then(|r| r.fields.as_ref()?.get(number as usize).cloned());
    let name = unit.c.field_names(id).get(number as usize).cloned().unwrap_or_default();
    let mut items = vec![];
    if let Some(field) =
        field.filter(|f| *value != ConstInit::Zero && !matches!(unit.types.kind(f.ty.ty), TyKind::Void))
    {
        unit.inside(".u", |unit| member(unit, &name, value, field.ty.ty, &mut items));
    }
    if items.is_empty() {
        format!("{{ .tag = {number} }}")
    } else {
        format!("{{ .tag = {number}, .u = {{ {} }} }}", items.join(", "))
    }
}
