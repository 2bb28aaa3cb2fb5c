//! What `container_of` asks when the program runs (`runtime/include/lee/container.h`): descriptors
//! of structs that have structs in them, and which objects are listed.
//!
//! A type whose objects need a layout, or are listed, only for `container_of` pays nothing unless a
//! `container_of` of the program names it, in this file or another: that file defines the weak
//! symbol `lee_contained_*`, which is null elsewhere.

use crate::body::Emitter;
use crate::ctype::Consts;
use crate::digest;
use crate::names::escape;
use crate::unit::Unit;
use mir::ir::*;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use typing::types::*;

/// The descriptors of a unit.
#[derive(Default)]
pub struct Containers {
    /// Digests of the types that some `container_of` of this unit asks for.
    asked: FxHashSet<u64>,
    /// Whether objects of a type can be asked for, by digest: their descriptors are written.
    described: FxHashSet<u64>,
    mentioned: FxHashSet<u64>,
    text: String,
}

impl Containers {
    /// Looks at all bodies that are emitted.
    pub fn new<'b>(types: &TypeStore, bodies: impl Iterator<Item = &'b Body>) -> Containers {
        let stmts = bodies.flat_map(|body| &body.blocks).flat_map(|block| &block.stmts);
        let asked = stmts.filter_map(|stmt| Some(digest::digest(types, stmt.kind.as_check()?.as_container()?)));
        Containers { asked: asked.collect(), ..Containers::default() }
    }

    /// Definitions, before what uses them; empty if there is nothing.
    pub fn text(&self) -> String {
        if self.text.is_empty() {
            return String::new();
        }
        format!("#include \"lee/container.h\"\n{}", self.text)
    }
}

/// The struct or union without a tag that a type is, or is an array of.
fn innermost_record(types: &TypeStore, ty: Ty) -> Option<(Ty, RecordId, u64)> {
    let (mut at, mut count) = (ty, 1u64);
    loop {
        match types.kind(at) {
            TyKind::Array { elem, len: ArrayLen::Const(n), .. } => {
                count = count.checked_mul(*n)?;
                at = elem.ty;
            }
            TyKind::Record(id) => {
                let known = types.record(*id).kind != RecordKind::Tagged && types.is_complete(at);
                return known.then_some((at, *id, count));
            }
            _ => return None,
        }
    }
}

/// Whether a struct has members that lead back to it.
fn has_parts(types: &TypeStore, id: RecordId) -> bool {
    let fields = types.record(id).fields.clone();
    fields.iter().flat_map(|fields| fields.iter()).any(|field| {
        let mut at = field.ty.ty;
        while let TyKind::Array { elem, .. } = types.kind(at) {
            at = elem.ty;
        }
        types.as_record(at).is_some()
    })
}

/// Whether what a member holds is there: of a union only plain data always is.
fn is_there(types: &TypeStore, id: RecordId, field: &Field) -> bool {
    types.record(id).kind == RecordKind::Struct || types.is_plain(field.ty.ty)
}

/// The digests of the structs in a type that `container_of` can ask for. Each struct is looked at once:
/// in `struct s22 { struct s21 a, b; }` the innermost is found in four million ways.
fn collect(types: &TypeStore, ty: Ty, seen: &mut FxHashSet<Ty>, out: &mut Vec<u64>) {
    let Some((ty, id, _)) = innermost_record(types, ty) else { return };
    if !seen.insert(ty) || !has_parts(types, id) {
        return;
    }
    let digest = digest::digest(types, ty);
    if !out.contains(&digest) {
        out.push(digest);
    }
    let fields = types.record(id).fields.clone();
    for field in fields.iter().flat_map(|fields| fields.iter()).filter(|field| is_there(types, id, field)) {
        collect(types, field.ty.ty, seen, out);
    }
}

impl Unit<'_> {
    /// `&descriptor` of the struct or union that a type is, or is an array of, if `container_of`
    /// can ask for it or a part of it.
    pub fn container(&mut self, ty: Ty) -> Option<String> {
        let (ty, id, _) = innermost_record(self.types, ty)?;
        if self.options.plain || !has_parts(self.types, id) {
            return None;
        }
        let digest = digest::digest(self.types, ty);
        let name = format!("lee_container_{digest:016x}");
        if !self.containers.described.insert(digest) {
            return Some(format!("&{name}"));
        }
        self.c.need(ty);
        let record = self.types.record(id).clone();
        let names = self.c.field_names(id);
        let size = self.c.sizeof_text(ty);
        let named = self.c.object(Qty::plain(ty), "", Consts::Drop);
        let mut parts = String::new();
        let mut count = 0;
        for (n, field) in record.fields.iter().flat_map(|fields| fields.iter()).enumerate() {
            let inner = innermost_record(self.types, field.ty.ty).filter(|_| is_there(self.types, id, field));
            let Some((inner, _, many)) = inner else { continue };
            let Some(part) = self.container(inner) else { continue };
            let offset = match names.get(n).filter(|name| !name.is_empty()) {
                Some(field) => format!("__builtin_offsetof({named}, {field})"),
                None => self.types.field_offset(id, n as u32).unwrap_or(0).to_string(),
            };
            let _ = write!(parts, "{{ {offset}, {many}, {part} }}, ");
            count += 1;
        }
        let flexible = u8::from(self.types.flexible_member(id).is_some());
        let shown = escape(digest::type_text(self.types, ty).as_bytes());
        let mut text = String::new();
        let mut list = "0".to_string();
        if count > 0 {
            list = format!("lee_parts_{digest:016x}");
            let _ = writeln!(text, "static const struct lee_part {list}[{count}] = {{ {parts}}};");
        }
        let _ = writeln!(
            text,
            "__attribute__((weak)) const struct lee_container {name} = {{ 0x{digest:016x}u, {size}, \"{shown}\", {list}, {count}, {flexible} }};"
        );
        self.containers.text.push_str(&text);
        Some(format!("&{name}"))
    }

    /// Whether objects of the type are asked for: null if they are not, "1" if they are, else C
    /// text that says it when the program is linked.
    pub fn contained(&mut self, ty: Ty) -> Option<String> {
        self.container(ty)?;
        let mut digests = vec![];
        collect(self.types, ty, &mut FxHashSet::default(), &mut digests);
        if digests.iter().any(|digest| self.containers.asked.contains(digest)) {
            return Some("1".into());
        }
        for &digest in &digests {
            if self.containers.mentioned.insert(digest) {
                let _ = writeln!(
                    self.containers.text,
                    "extern __attribute__((weak)) const char lee_contained_{digest:016x};"
                );
            }
        }
        let tests: Vec<String> = digests.iter().map(|digest| format!("&lee_contained_{digest:016x} != 0")).collect();
        Some(format!("({})", tests.join(" || ")))
    }

    /// The descriptor that a check compares with; objects everywhere are to be found from now on.
    pub fn asked_container(&mut self, ty: Ty) -> Option<String> {
        let digest = digest::digest(self.types, ty);
        let name = self.container(ty)?;
        if self.containers.mentioned.insert(digest) {
            let text = format!("__attribute__((weak)) const char lee_contained_{digest:016x} = 1;\n");
            self.containers.text.push_str(&text);
        }
        Some(name)
    }
}

impl Emitter<'_, '_> {
    /// A check that a pointer is to a member of an object of the record type.
    pub fn check_container(&mut self, pointer: &Operand, record: Ty, path: &[u32]) {
        let site = self.unit.site(self.span);
        let Some(container) = self.unit.asked_container(record) else { return };
        let offset = self.value(&Operand::Const(Const::OffsetOf(record, path.to_vec())));
        let pointer = self.value(pointer);
        self.push(&format!("lee_check_container({site}, {}, {}, {container});", pointer.text, offset.text));
    }
}
