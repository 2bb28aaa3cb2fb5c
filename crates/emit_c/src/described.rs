//! What `lee top --why` says of objects: for each layout the type's name, where its pointers are
//! with the names of their fields, and where objects of it are allocated. Text beside the layout,
//! which nothing but `lee top` reads, in programs with processes only.
//!
//! Needs and guarantees as `layouts.rs`. The text of fields begins with the size of an element and
//! what lies before the first one (`24+16`), and has for each pointer `;OFFSET NAME TYPE`, the
//! type being that of what it points to; of an array of pointers `;OFFSET+STRIDE*COUNT NAME[] TYPE`.
//! `crates/lee/src/top/why` reads it.

use crate::layouts::Front;
use crate::unit::Unit;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use typing::types::*;

/// Fields of one type that are named; others are known by their offsets.
const MOST_FIELDS: usize = 64;
/// Places of one type that are named.
const MOST_SITES: usize = 4;

/// `LEE_COUNT_BYTES` of the runtime.
const COUNT: u64 = 16;

/// Where objects are allocated, by the names of their layouts.
#[derive(Default)]
pub struct Described {
    sites: FxHashMap<String, Vec<String>>,
}

/// An array that a place is in.
#[derive(Clone, Copy)]
struct Repeat {
    stride: u64,
    count: u64,
}

impl Unit<'_> {
    /// The last members of a layout's initialiser, after a comma; nothing in a program of one
    /// process. `name`: the layout's.
    pub fn description(&self, name: &str, ty: Ty, front: Front) -> String {
        if !self.options.processes {
            return String::new();
        }
        let front = if front == Front::Count { COUNT } else { 0 };
        let size = self.types.layout(ty).map_or(0, |layout| layout.size);
        let mut fields = String::new();
        self.fields(ty, 0, "", None, &mut fields, &mut 0);
        let shown = crate::names::escape(plain(&self.types.show(ty)).as_bytes());
        let fields = crate::names::escape(fields.as_bytes());
        format!(", .name = \"{shown}\", .fields = \"{size}+{front}{fields}\", .sites = {}", mark(name))
    }

    /// An object of the layout is allocated at the span that is emitted now.
    pub fn allocates(&mut self, layout: &str, span: source::Span) {
        let Some(at) = self.locator.at(span).filter(|_| self.options.processes) else { return };
        let file = self.locator.files.get(at.file as usize).map_or("", String::as_str);
        let text = format!("{}:{}", plain(file), at.line);
        let sites = self.described.sites.entry(layout.to_string()).or_default();
        if sites.len() <= MOST_SITES && !sites.contains(&text) {
            sites.push(text);
        }
    }

    /// The definitions of layouts, with the places that are known once all code was emitted.
    pub fn described_layouts(&self) -> String {
        if !self.options.processes {
            return self.layout_definitions.clone();
        }
        // Between two marks stands the name of a layout.
        let mut text = String::new();
        for (number, piece) in self.layout_definitions.split('@').enumerate() {
            if number % 2 == 0 {
                text.push_str(piece);
                continue;
            }
            let sites = self.described.sites.get(piece).map_or(&[][..], Vec::as_slice);
            let mut known = sites.iter().take(MOST_SITES).cloned().collect::<Vec<_>>().join(", ");
            if sites.len() > MOST_SITES {
                known.push_str(", ...");
            }
            // Writing to a string does not fail.
            let _ = write!(text, "\"{}\"", crate::names::escape(known.as_bytes()));
        }
        text
    }

    /// Adds the pointers of a type at `base`, whose path is `path`.
    fn fields(&self, ty: Ty, base: u64, path: &str, repeat: Option<Repeat>, out: &mut String, count: &mut usize) {
        if *count >= MOST_FIELDS {
            return;
        }
        match self.types.kind(ty) {
            TyKind::Key(..) => field(base, path, repeat, "arena", out, count),
            TyKind::Ptr(p) if matches!(self.types.kind(p.target.ty), TyKind::Func(_)) => {}
            TyKind::Ptr(p) => {
                let offset = base.saturating_add(if p.bounds.is_fat() { 8 } else { 0 });
                field(offset, path, repeat, &plain(&self.types.show(p.target.ty)), out, count);
            }
            TyKind::Array { elem, len: ArrayLen::Const(n), .. } => {
                let size = self.types.layout(elem.ty).map_or(0, |layout| layout.size);
                // Of an array in an array only the outer one is told.
                let repeat = repeat.or(Some(Repeat { stride: size, count: *n }));
                self.fields(elem.ty, base, &format!("{path}[]"), repeat, out, count);
            }
            TyKind::Record(id) => {
                let Some(fields) = self.types.record(*id).fields.clone() else { return };
                let Some((_, places)) = self.types.record_layout(*id) else { return };
                for (one, place) in fields.iter().zip(&places).filter(|(one, _)| one.width.is_none()) {
                    let name = one.name.map_or(String::new(), |name| name.to_string());
                    let path = match (path.is_empty(), name.is_empty()) {
                        (_, true) => path.to_string(),
                        (true, false) => name,
                        (false, false) => format!("{path}.{name}"),
                    };
                    self.fields(one.ty.ty, base.saturating_add(place.offset), &path, repeat, out, count);
                }
            }
            _ => {}
        }
    }
}

fn field(offset: u64, path: &str, repeat: Option<Repeat>, target: &str, out: &mut String, count: &mut usize) {
    *count += 1;
    // Writing to a string does not fail.
    let _ = match repeat {
        Some(Repeat { stride, count }) => write!(out, ";{offset}+{stride}*{count} {path} {target}"),
        None => write!(out, ";{offset} {path} {target}"),
    };
}

/// Stands for the places until they are known.
fn mark(layout: &str) -> String {
    format!("@{layout}@")
}

/// Text without what separates its parts.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c == ';' || c == '@' { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_its_place_name_and_target() {
        let (mut out, mut count) = (String::new(), 0);
        field(8, "next", None, "struct entry", &mut out, &mut count);
        field(16, "all[]", Some(Repeat { stride: 8, count: 4 }), "char", &mut out, &mut count);
        assert_eq!((out.as_str(), count), (";8 next struct entry;16+8*4 all[] char", 2));
    }

    #[test]
    fn no_text_has_a_separator() {
        assert_eq!(plain("a;b\tc@d"), "a?b?c?d");
    }
}
