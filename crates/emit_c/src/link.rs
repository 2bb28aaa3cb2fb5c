//! Symbols and notes by which a linker finds that two files do not mean the same type.
//!
//! A definition defines an absolute symbol whose name holds the symbol's name and its type's
//! digest; a use refers to that from a section that is never loaded. For each record that the types
//! name, a COMDAT group defines a symbol with the record's digest: the linker keeps one group of a
//! name, so a reference to another digest finds nothing. Sections named `.debug...` are kept by
//! `--gc-sections`, which would drop a reference together with the section that holds it.
//!
//! Section `.lee.types` says the same in words, one line a symbol or record, for the driver's
//! message. No linker copies it to its output.

use crate::digest::{link_digest, record_digest, type_text};
use crate::names::{escape, is_identifier};
use crate::unit::Unit;
use rustc_hash::FxHashSet;
use source::Span;
use std::fmt::Write;
use typing::tree::{Linkage, Trust};
use typing::types::*;

/// A symbol whose type is compared.
pub(crate) struct Compared {
    pub symbol: String,
    pub ty: Ty,
    pub defined: bool,
    pub span: Span,
}

/// The assembly for all symbols.
pub fn markers(unit: &mut Unit) -> String {
    let compared = external(unit, |_, trust, _| trust == Trust::Checked);
    let mut records: Vec<RecordId> = vec![];
    let mut seen = FxHashSet::default();
    let mut out = String::new();
    for item in &compared {
        let digest = link_digest(unit.types, item.ty);
        let marker = format!("lee.type.{}.{digest:016x}", item.symbol);
        let lines = if item.defined {
            vec![format!(".weak \"{marker}\""), format!(".set \"{marker}\", 1")]
        } else {
            vec![USES.into(), format!(".8byte \"{marker}\""), ".popsection".into()]
        };
        write_asm(&mut out, &lines);
        let place = place(unit, item.span);
        let word = if item.defined { "def" } else { "ref" };
        write_note(
            &mut out,
            &format!("{word}\t{}\t{digest:016x}\t{}\t{place}\n", item.symbol, type_text(unit.types, item.ty)),
        );
        named_records(unit.types, item.ty, &mut seen, &mut records);
    }
    let mut names = FxHashSet::default();
    for id in records {
        if let Some((lines, note)) = record_lines(unit, id, &mut names) {
            write_asm(&mut out, &lines);
            write_note(&mut out, &note);
        }
    }
    if out.is_empty() {
        out
    } else {
        format!("\n{out}")
    }
}

const USES: &str = ".pushsection .debug_lee_uses,\"\",@progbits";
const NOTES: &str = ".pushsection .lee.types,\"e\",@progbits";

fn write_asm(out: &mut String, lines: &[String]) {
    let texts: Vec<String> = lines.iter().map(|l| format!("\"{}\\n\"", escape(l.as_bytes()))).collect();
    let _ = writeln!(out, "__asm__({});", texts.join(" "));
}

/// Adds a line to the notes.
pub(crate) fn write_note(out: &mut String, note: &str) {
    // Quoted twice: for the assembler, which knows no trigraphs, and for C around it.
    let text = escape(note.as_bytes()).replace("\\?", "?");
    write_asm(out, &[NOTES.into(), format!(".ascii \"{text}\""), ".popsection".into()]);
}

/// `FILE:LINE`
pub(crate) fn place(unit: &mut Unit, span: Span) -> String {
    let at = unit.locator.at(span);
    let file = at.and_then(|at| unit.locator.files.get(at.file as usize).cloned()).unwrap_or_default();
    format!("{file}:{}", at.map_or(0, |at| at.line))
}

/// External symbols, the unit's own and those that it uses. `wanted` is told whose code it is and
/// where it is declared.
pub(crate) fn external(unit: &mut Unit, wanted: impl Fn(&Unit, Trust, Span) -> bool) -> Vec<Compared> {
    let mut out = vec![];
    for func in unit.reach.functions.clone() {
        let Some(function) = unit.program.functions.get(func.func.0 as usize) else { continue };
        let plain = func.args.is_empty() && function.type_params == 0 && !unit.is_main(&func);
        if plain && function.linkage == Linkage::External && wanted(unit, function.trust, function.span) {
            let symbol = unit.function_name(&func).symbol().to_string();
            let defined = unit.bodies.contains_key(&func);
            out.push(Compared { symbol, ty: function.ty, defined, span: function.span });
        }
    }
    for id in unit.reach.globals.clone() {
        let Some(global) = unit.program.globals.get(id.0 as usize) else { continue };
        let external = global.linkage == Linkage::External && global.owner.is_none();
        if external && wanted(unit, global.trust, global.span) {
            let symbol = unit.global_name(id).symbol().to_string();
            out.push(Compared { symbol, ty: global.ty.ty, defined: global.init.is_some(), span: global.span });
        }
    }
    out
}

/// Calls `see` for the records that a type names, behind pointers too, each time that one is named.
/// What `see` adds to the list is gone through as well.
pub(crate) fn each_record(types: &TypeStore, ty: Ty, see: &mut dyn FnMut(RecordId, &mut Vec<Ty>)) {
    let mut seen = FxHashSet::default();
    let mut work = vec![ty];
    while let Some(ty) = work.pop() {
        // Types can be doubled at each level.
        if !seen.insert(ty) {
            continue;
        }
        match types.kind(ty) {
            TyKind::Ptr(p) => work.push(p.target.ty),
            TyKind::Array { elem, .. } => work.push(elem.ty),
            TyKind::Func(f) => {
                work.push(f.ret);
                work.extend(f.params.iter().map(|p| p.ty));
            }
            TyKind::Record(id) => see(*id, &mut work),
            _ => {}
        }
    }
}

/// Complete records with a name that the type reaches.
fn named_records(types: &TypeStore, ty: Ty, seen: &mut FxHashSet<RecordId>, out: &mut Vec<RecordId>) {
    each_record(types, ty, &mut |id, work| {
        let Some(record) = types.records.get(id.0 as usize).filter(|_| seen.insert(id)) else { return };
        work.extend(record.args.iter().copied());
        if let Some(fields) = &record.fields {
            work.extend(fields.iter().map(|f| f.ty.ty));
            if record.tag.is_some() {
                out.push(id);
            }
        }
    });
}

/// The group of a record with the reference to its digest, and its note: the fields, separated by
/// `; `. Two records of one name in one file (of different scopes) cannot be distinguished by name;
/// the first one stands for both.
fn record_lines(unit: &mut Unit, id: RecordId, names: &mut FxHashSet<String>) -> Option<(Vec<String>, String)> {
    let types = unit.types;
    let record = types.records.get(id.0 as usize)?;
    let tag = record.tag?.as_str();
    if unit.map.is_system(record.span.lo) || !is_identifier(tag) {
        return None;
    }
    let mut name = format!("lee.record.{tag}");
    for &arg in &record.args {
        let _ = write!(name, ".{:016x}", link_digest(types, arg));
    }
    if !names.insert(name.clone()) {
        return None;
    }
    let digest = record_digest(types, id);
    let symbol = format!("{name}.{digest:016x}");
    let field = |field: &Field| {
        let text = types.show_declaration(field.ty, field.name.map_or("", |name| name.as_str()));
        field.width.map_or(text.clone(), |width| format!("{text} : {width}"))
    };
    let fields: Vec<String> = record.fields.iter().flat_map(|fields| fields.iter().map(field)).collect();
    let key = name.strip_prefix("lee.record.").unwrap_or(&name);
    let note = format!("rec\t{key}\t{digest:016x}\t{}\t{}\n", fields.join("; "), place(unit, record.span));
    let lines = vec![
        format!(".pushsection .debug_lee_record,\"G\",@progbits,\"{name}\",comdat"),
        format!(".globl \"{symbol}\""),
        format!("\"{symbol}\": .byte 0"),
        ".popsection".into(),
        USES.into(),
        format!(".8byte \"{symbol}\""),
        ".popsection".into(),
    ];
    Some((lines, note))
}
