//! Notes by which `lee` finds that a `.c` and a `.lee` file do not lay the same thing out alike.
//!
//! The digests of `link.rs` hold between `.lee` files and compare all words of a type. Between C
//! and Leeward only the layout must agree: how many words a pointer has, sizes, fields. C files
//! do not compare with each other, as with any C compiler, so no symbol can stand for a layout.
//! Each object of either language has lines in `.lee.types` instead, which `lee` reads when it
//! links (`crates/lee/src/layouts.rs`):
//!
//! ```text
//! lay TAB SYMBOL TAB def|ref TAB c|lee TAB LAYOUT TAB TYPE TAB FILE:LINE TAB TAG TAG ...
//! layrec TAB TAG TAB c|lee TAB LAYOUT TAB FIELDS TAB FILE:LINE TAB TAG TAG ...
//! ```
//!
//! The tags are those of the records that the type names, behind pointers too.
//!
//! Beside them stand the functions that C defines and this file uses, for programs that spawn
//! (`crates/lee/src/first_only.rs`):
//!
//! ```text
//! uses TAB SYMBOL TAB reentrant|shared
//! ```

use crate::digest::hash;
use crate::link::{each_record, external, place, write_note};
use crate::names::is_identifier;
use crate::unit::Unit;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;
use typing::c_library::is_listed;
use typing::tree::{Linkage, Trust};
use typing::types::*;

/// The assembly for all symbols.
pub fn notes(unit: &mut Unit) -> String {
    let language = if unit.options.plain { "c" } else { "lee" };
    let mut lines = uses(unit);
    let mut layouts = Layouts { types: unit.types, records: FxHashMap::default() };
    let mut work = vec![];
    let mut known = FxHashSet::default();
    // Those that C and Leeward may both name. The library's own trusted declarations stand in its
    // headers, which are the system's.
    for item in external(unit, |unit, _, span| !unit.map.is_system(span.lo)) {
        let tags = records_named(unit.types, item.ty);
        let word = if item.defined { "def" } else { "ref" };
        let text = layouts.symbol(item.ty);
        let shown = shown(unit, unit.types.show(item.ty));
        let names = tag_list(unit, &tags);
        let place = place(unit, item.span);
        write_note(
            &mut lines,
            &format!("lay\t{}\t{word}\t{language}\t{text}\t{shown}\t{place}\t{names}\n", item.symbol),
        );
        work.extend(tags);
    }
    let mut names = FxHashSet::default();
    while let Some(id) = work.pop() {
        if !known.insert(id) {
            continue;
        }
        let types = unit.types;
        let (Some(tag), Some(digest)) = (tag_of(unit, id), layouts.record(id)) else { continue };
        let record = types.record(id);
        let fields = record.fields.iter().flat_map(|fields| fields.iter());
        let tags: Vec<RecordId> = fields.clone().flat_map(|field| records_named(types, field.ty.ty)).collect();
        // Two records of one name in different scopes: the first one stands for both.
        if names.insert(tag) {
            let shown: Vec<String> =
                fields.map(|f| types.show_declaration(f.ty, f.name.map_or("", |name| name.as_str()))).collect();
            let (listed, place) = (tag_list(unit, &tags), place(unit, record.span));
            let shown = self::shown(unit, shown.join("; "));
            write_note(&mut lines, &format!("layrec\t{tag}\t{language}\t{digest:016x}\t{shown}\t{place}\t{listed}\n"));
        }
        work.extend(tags);
    }
    lines
}

/// The functions of C's that the file names. What libc has is C's in every process.
fn uses(unit: &mut Unit) -> String {
    let mut lines = String::new();
    for func in unit.reach.functions.clone() {
        let Some(function) = unit.program.functions.get(func.func.0 as usize) else { continue };
        let of_c = matches!(function.trust, Trust::Foreign | Trust::Trusted) && function.linkage == Linkage::External;
        if !of_c || unit.bodies.contains_key(&func) {
            continue;
        }
        let name = unit.function_name(&func);
        let symbol = name.symbol();
        let of_library = symbol.starts_with("lee_") || symbol.starts_with("__builtin") || is_listed(symbol);
        if !of_library && !symbol.contains(['\t', '\n']) {
            let word = if function.reentrant { "reentrant" } else { "shared" };
            write_note(&mut lines, &format!("uses\t{symbol}\t{word}\n"));
        }
    }
    lines
}

/// A type as its language writes it: C has no regions.
fn shown(unit: &Unit, text: String) -> String {
    if unit.options.plain {
        text.replace(" @heap", "")
    } else {
        text
    }
}

/// The tag of a record that both languages can define: not the system's, not generic.
fn tag_of(unit: &Unit, id: RecordId) -> Option<&'static str> {
    let record = unit.types.record(id);
    let tag = record.tag?.as_str();
    (record.args.is_empty() && is_identifier(tag) && !unit.map.is_system(record.span.lo)).then_some(tag)
}

fn tag_list(unit: &Unit, ids: &[RecordId]) -> String {
    let mut tags: Vec<&str> = ids.iter().filter_map(|&id| tag_of(unit, id)).collect();
    tags.sort_unstable();
    tags.dedup();
    tags.join(" ")
}

/// The records that a type names, without those that only their fields name.
fn records_named(types: &TypeStore, ty: Ty) -> Vec<RecordId> {
    let mut out = vec![];
    each_record(types, ty, &mut |id, work| {
        out.push(id);
        // A struct without a tag goes by the structs in it.
        let record = types.record(id);
        if let (None, Some(fields)) = (record.tag, &record.fields) {
            work.extend(fields.iter().map(|field| field.ty.ty));
        }
    });
    out
}

/// Layouts as text, as C sees the words of each value (docs/internals/abi.md). A type is looked at
/// once: types can be doubled at each level.
struct Layouts<'a> {
    types: &'a TypeStore,
    /// The digest of a complete record's fields.
    records: FxHashMap<RecordId, Option<u64>>,
}

impl Layouts<'_> {
    /// How a function is called, result and parameters separated by `|`, or a variable lies in
    /// memory.
    fn symbol(&mut self, ty: Ty) -> String {
        let types = self.types;
        let TyKind::Func(f) = types.kind(ty) else { return self.value(ty) };
        let words = |ty: Ty| types.words(ty) as usize;
        let mut parts = vec![self.value(f.ret)];
        match f.unprototyped {
            true => parts.push("?".into()),
            false => {
                for param in &f.params {
                    let value = self.value(param.ty);
                    parts.extend(std::iter::repeat_n(value, words(param.ty)));
                }
                // The other words of a result are stored through parameters.
                parts.extend(std::iter::repeat_n("p".to_string(), words(f.ret) - 1));
            }
        }
        parts.extend(f.variadic.then(|| "...".into()));
        parts.join("|")
    }

    /// One word of a value as C's calling convention and memory have it. What is behind a pointer is
    /// not compared: C converts it as it likes.
    fn value(&mut self, ty: Ty) -> String {
        let types = self.types;
        match types.kind(ty) {
            TyKind::Void => "v".into(),
            TyKind::Bool => "i1".into(),
            TyKind::Int(k) => format!("i{}", k.size()),
            TyKind::Float(k) => format!("f{}", k.size()),
            TyKind::Complex(k) => format!("c{}", k.size()),
            TyKind::Enum(id) => format!("i{}", types.enumeration(*id).underlying.size()),
            TyKind::Ptr(_) => "p".into(),
            TyKind::Array { elem, .. } => format!("[{}*{}]", types.words(elem.ty), self.value(elem.ty)),
            TyKind::Record(_) => match types.layout(ty) {
                Some(layout) => format!("{{{}}}", layout.size),
                None => "{?}".into(),
            },
            TyKind::VaList => "va".into(),
            _ => format!("w{}", types.layout(ty).map_or(0, |layout| layout.size)),
        }
    }

    /// The digest of where the fields of a record lie and what they are; `None` of an incomplete
    /// one.
    fn record(&mut self, id: RecordId) -> Option<u64> {
        if let Some(known) = self.records.get(&id) {
            return *known;
        }
        let found = self.record_text(id).map(|text| hash(text.as_bytes()));
        self.records.insert(id, found);
        found
    }

    /// A union is only so large; a tagged one is a tag and a union.
    fn record_text(&mut self, id: RecordId) -> Option<String> {
        let (layout, places) = self.types.record_layout(id)?;
        let record = self.types.record(id);
        let size = layout.size;
        match record.kind {
            RecordKind::Struct => {}
            RecordKind::Union => return Some(format!("{size}:")),
            RecordKind::Tagged => {
                let start = places.first().map_or(0, |place| place.offset);
                return Some(format!("{size}:0.0.None=i4;{start}.0.None=u;"));
            }
        }
        let mut out = format!("{size}:");
        for (field, place) in record.fields.as_ref()?.iter().zip(places) {
            let inner = self.types.as_record(field.ty.ty).map(|inner| self.types.record(inner));
            let open = inner.is_some_and(|inner| inner.kind != RecordKind::Struct);
            let value = if open { "u".into() } else { self.value(field.ty.ty) };
            for word in 0..self.types.words(field.ty.ty) {
                let _ = write!(out, "{}.{}.{:?}={value};", place.offset + 8 * u64::from(word), place.bit, field.width);
            }
        }
        Some(out)
    }
}
