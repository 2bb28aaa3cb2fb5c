//! Definitions of enumerations, records and fat pointers, in an order that C accepts.

use crate::ctype::{members, suffixes, CTypes, Consts};
use crate::names::NameSet;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use typing::types::*;

/// Something that C must see before what holds it by value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Record(RecordId),
    Fat(usize),
}

/// The definitions of all that was needed, what that needs included.
pub fn definitions(c: &mut CTypes, identifiers: &mut NameSet) -> String {
    let mut texts: FxHashMap<Node, (String, Vec<Node>)> = FxHashMap::default();
    let mut order: Vec<Node> = vec![];
    let (mut records, mut fats) = (0, 0);
    let mut vectors = String::new();
    // Rendering a definition can need further ones.
    loop {
        if let Some(&id) = c.needed.get(records) {
            records += 1;
            if let Some(vector) = vector_definition(c, id) {
                vectors.push_str(&vector);
            } else if let Some(definition) = record_definition(c, id, identifiers) {
                texts.insert(Node::Record(id), definition);
                order.push(Node::Record(id));
            }
        } else if fats < c.fats.len() {
            if let Some(definition) = fat_definition(c, fats) {
                texts.insert(Node::Fat(fats), definition);
                order.push(Node::Fat(fats));
            }
            fats += 1;
        } else {
            break;
        }
    }
    let mut out = vectors;
    for n in 0..c.enums.len() {
        if let Some(&id) = c.enums.get(n) {
            enum_definition(c, id, identifiers, &mut out);
        }
    }
    for n in 0..c.mentioned.len() {
        if let Some(&id) = c.mentioned.get(n) {
            let _ = writeln!(out, "{};", c.record_text(id));
        }
    }
    for fat in &c.fats {
        let _ = writeln!(out, "struct {};", fat.name);
    }
    if c.any_used {
        out.push_str("struct lee__any { void *p; const struct lee_type *ty; };\n");
    }
    for node in order {
        place(node, &mut texts, &mut out);
    }
    out
}

/// Assertions that the C compiler lays records out as the front end, which folded sizes and
/// offsets, takes them to be.
pub fn layouts(c: &mut CTypes) -> String {
    let mut out = String::new();
    for n in 0..c.needed.len() {
        let Some(&id) = c.needed.get(n) else { continue };
        let Some((layout, places)) = c.types.record_layout(id) else { continue };
        let text = c.record_text(id);
        let (size, align) = (layout.size, layout.align);
        let mut claim = format!("sizeof({text}) == {size} && _Alignof({text}) == {align}");
        let record = c.types.record(id);
        let fields = record.fields.clone().filter(|_| record.kind == RecordKind::Struct && !record.vector);
        let placed = |f: &Field| f.width.is_some() || f.packed || f.align.is_some();
        let fields = fields.filter(|fields| record.packed || record.align.is_some() || fields.iter().any(placed));
        let names = c.field_names(id);
        for ((field, place), name) in fields.iter().flat_map(|f| f.iter()).zip(&places).zip(names.iter()) {
            if field.width.is_none() && field.name.is_some() && !matches!(c.types.kind(field.ty.ty), TyKind::Void) {
                let _ = write!(claim, " && __builtin_offsetof({text}, {name}) == {}", place.offset);
            }
        }
        let _ = writeln!(out, "_Static_assert({claim}, \"layout\");");
    }
    out
}

/// Writes the definition after those that it depends on. What is taken out of the table is
/// written, or being written.
fn place(node: Node, texts: &mut FxHashMap<Node, (String, Vec<Node>)>, out: &mut String) {
    let Some((text, dependencies)) = texts.remove(&node) else { return };
    for dependency in dependencies {
        place(dependency, texts, out);
    }
    out.push_str(&text);
}

fn enum_definition(c: &mut CTypes, id: EnumId, identifiers: &mut NameSet, out: &mut String) {
    let Some(e) = c.types.enums.get(id.0 as usize) else { return };
    let mut any = IntoText::default();
    for (name, value) in &e.items {
        let name = identifiers.claim(name.as_str());
        any.push(&format!("{name} = {value}"));
    }
    let ty = c.types.all().find(|&t| *c.types.kind(t) == TyKind::Enum(id));
    let head = ty.map_or(String::new(), |ty| c.cast(ty).to_string());
    let _ = writeln!(out, "{head} {{ {} }};", any.text);
}

#[derive(Default)]
struct IntoText {
    text: String,
}

impl IntoText {
    fn push(&mut self, item: &str) {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(item);
    }
}

fn fat_definition(c: &mut CTypes, number: usize) -> Option<(String, Vec<Node>)> {
    let (target, name) = c.fats.get(number).map(|f| (f.target, f.name.clone()))?;
    let pointer = match c.types.kind(target.ty) {
        TyKind::Array { .. } | TyKind::Func(_) => |word: &str| format!("(*{word})"),
        _ => |word: &str| format!("*{word}"),
    };
    let words: Vec<String> =
        members(3).iter().map(|word| format!("{};", c.object(target, &pointer(word), Consts::Drop))).collect();
    let mut dependencies = vec![];
    behind_pointer(c, target.ty, &mut dependencies);
    Some((format!("struct {name} {{ {} }};\n", words.join(" ")), dependencies))
}

/// `typedef int NAME __attribute__((vector_size(16), aligned(16)));`
fn vector_definition(c: &mut CTypes, id: RecordId) -> Option<String> {
    let record = c.types.records.get(id.0 as usize).filter(|r| r.vector)?;
    let elem = match c.types.kind(record.fields.as_ref()?.first()?.ty.ty) {
        TyKind::Array { elem, .. } => elem.ty,
        _ => return None,
    };
    let (layout, _) = c.types.record_layout(id)?;
    let (elem, name, size, align) = (c.cast(elem), c.record_text(id), layout.size, layout.align);
    Some(format!("typedef {elem} {name} __attribute__((vector_size({size}), aligned({align}), may_alias));\n"))
}

fn record_definition(c: &mut CTypes, id: RecordId, identifiers: &mut NameSet) -> Option<(String, Vec<Node>)> {
    let mut dependencies = vec![];
    let tags = tag_definition(c, id, identifiers);
    let body = record_body(c, id, &mut dependencies)?;
    let head = c.record_text(id);
    Some((format!("{tags}{head} {body};\n"), dependencies))
}

/// The enumeration of a tagged union's tag, from which a debugger has the names of the members. Its
/// values are not negative, so it has the size and sign of `unsigned`.
fn tag_definition(c: &mut CTypes, id: RecordId, identifiers: &mut NameSet) -> String {
    let Some(record) = c.types.records.get(id.0 as usize).filter(|r| r.kind == RecordKind::Tagged) else {
        return String::new();
    };
    let Some(fields) = record.fields.clone().filter(|fields| !fields.is_empty()) else { return String::new() };
    let (text, head) = (c.record_text(id), c.tag_enum(id));
    let name = text.rsplit(' ').next().unwrap_or("tag");
    let mut items = IntoText::default();
    for (n, field) in fields.iter().enumerate() {
        let member = field.name.map_or_else(|| n.to_string(), |name| name.to_string());
        let item = identifiers.claim(&format!("{name}__{member}"));
        items.push(&format!("{item} = {n}"));
    }
    format!("enum {head} {{ {} }};\n", items.text)
}

/// `{ members } attributes`
fn record_body(c: &mut CTypes, id: RecordId, dependencies: &mut Vec<Node>) -> Option<String> {
    let record = c.types.records.get(id.0 as usize)?;
    let fields = record.fields.clone()?;
    let names = c.field_names(id);
    let union = record.kind != RecordKind::Struct;
    let mut lines: Vec<String> = vec![];
    for (n, field) in fields.iter().enumerate() {
        by_value(c, field.ty.ty, dependencies);
        if !record.foreign {
            c.need_shown(field.ty.ty);
        }
        let name = names.get(n).cloned().unwrap_or_default();
        lines.push(field_text(c, field, &name, union, dependencies));
    }
    lines.retain(|line| !line.is_empty());
    let members = lines.join(" ");
    let mut out = if record.kind == RecordKind::Tagged {
        let payload = if members.is_empty() { "char none;".to_string() } else { members };
        let tag = c.known_tag_enum(id).map_or("unsigned".to_string(), |name| format!("enum {name}"));
        format!("{{ {tag} tag; union {{ {payload} }} u; }}")
    } else {
        format!("{{ {members} }}")
    };
    if record.packed {
        out.push_str(" __attribute__((packed))");
    }
    if let Some(align) = record.align {
        let _ = write!(out, " __attribute__((aligned({align})))");
    }
    Some(out)
}

fn field_text(c: &mut CTypes, field: &Field, name: &str, union: bool, dependencies: &mut Vec<Node>) -> String {
    if let (None, true, Some(inner)) = (field.name, name.is_empty(), c.types.as_record(field.ty.ty)) {
        let word = match c.types.record(inner).kind {
            RecordKind::Union => "union",
            _ => "struct",
        };
        let body = record_body(c, inner, dependencies).unwrap_or_else(|| "{ }".into());
        return format!("{word} {body}{};", attributes_text(field));
    }
    if matches!(c.types.kind(field.ty.ty), TyKind::Void) {
        return String::new();
    }
    if let Some(width) = field.width {
        let ty = match c.types.kind(field.ty.ty) {
            TyKind::Bool => "_Bool".to_string(),
            _ => c.types.as_int(field.ty.ty).map_or("int", IntKind::name).to_string(),
        };
        let volatile = if field.ty.quals.is_volatile { "volatile " } else { "" };
        let blank = if name.is_empty() { "" } else { " " };
        return format!("{volatile}{ty}{blank}{name} : {width}{};", attributes_text(field));
    }
    let words = c.types.words(field.ty.ty);
    if words == 1 {
        return format!("{}{};", c.object(field.ty, name, Consts::Drop), attributes_text(field));
    }
    let mut out = format!("{}{};", c.word(field.ty, 0, name, Consts::Drop), attributes_text(field));
    // The other words follow at once.
    let packed = packed_text(field);
    for (n, suffix) in suffixes(words).iter().enumerate() {
        let _ = write!(out, " {}{packed};", c.word(field.ty, n + 1, &format!("{name}{suffix}"), Consts::Drop));
    }
    // In a union the words would overlie each other.
    if union {
        format!("struct {{ {out} }};")
    } else {
        out
    }
}

fn packed_text(field: &Field) -> &'static str {
    if field.packed {
        " __attribute__((packed))"
    } else {
        ""
    }
}

fn attributes_text(field: &Field) -> String {
    let packed = packed_text(field);
    field.align.map_or(packed.to_string(), |a| format!("{packed} __attribute__((aligned({a})))"))
}

/// What must be complete before an object of the type.
fn by_value(c: &mut CTypes, ty: Ty, out: &mut Vec<Node>) {
    match c.types.kind(ty) {
        TyKind::Record(id) => {
            c.need(ty);
            out.push(Node::Record(c.types.erased_record(*id)));
        }
        TyKind::Array { elem, .. } => {
            in_memory(c, elem.ty, out);
            by_value(c, elem.ty, out);
        }
        TyKind::Ptr(p) => behind_pointer(c, p.target.ty, out),
        _ => {}
    }
}

/// Fat pointers that stand in memory as objects of their own.
fn in_memory(c: &mut CTypes, ty: Ty, out: &mut Vec<Node>) {
    match c.types.kind(ty) {
        TyKind::Ptr(p) if p.bounds.is_fat() => {
            if let Some(n) = c.fat_number(p.target) {
                out.push(Node::Fat(n));
            }
        }
        _ => {}
    }
}

/// C lets a pointer point to an incomplete record, but not to an array of them.
fn behind_pointer(c: &mut CTypes, target: Ty, out: &mut Vec<Node>) {
    match c.types.kind(target) {
        TyKind::Array { elem, .. } => {
            in_memory(c, elem.ty, out);
            by_value(c, elem.ty, out);
        }
        TyKind::Ptr(p) => behind_pointer(c, p.target.ty, out),
        TyKind::Func(f) => {
            let f = f.clone();
            for ty in f.params.iter().map(|p| p.ty).chain([f.ret]) {
                if let TyKind::Ptr(p) = c.types.kind(ty) {
                    behind_pointer(c, p.target.ty, out);
                }
            }
        }
        _ => {}
    }
}
