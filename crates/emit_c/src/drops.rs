//! What ends with an owned object: for each type behind an owned pointer a `struct lee_owned`
//! (runtime/include/lee/owned.h), and for each type that holds owned pointers a function that
//! pushes them.
//!
//! Erasure has left two regions that matter here: `@heap` (and `@exchange`), whose objects are
//! freed, and the rest, whose objects end with their arena. In a reap it is the other way round:
//! objects own into their own reap only.

use crate::ctype::Consts;
use crate::unit::Unit;
use rustc_hash::FxHashMap;
use std::fmt::Write;
use typing::types::*;

/// Whose blocks are freed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ends {
    /// Those of the heap.
    Heap,
    /// Those of one reap.
    Reap,
}

/// The descriptors and functions of a unit.
#[derive(Default)]
pub struct Drops {
    owned: FxHashMap<(Ty, bool, Ends), String>,
    functions: FxHashMap<(Ty, Ends), Option<String>>,
    declarations: String,
    definitions: String,
    /// How many drop actions there are.
    dead: usize,
    /// Whether something of lee/owned.h is used.
    pub used: bool,
    /// Whether something of lee/exchange.h is used.
    pub exchanges: bool,
    /// Whether messages or arguments of processes name processes.
    pids: bool,
    /// Whether they name custodians.
    custodians: bool,
}

/// Of `lee/process.h`. A program that spawns nothing has no process to name, and links nothing of
/// them.
const PIDS: &str = "void lee_push_pid(struct lee_work *, void *) __attribute__((weak));\n";

/// Of `lee/custodian.h`.
const CUSTODIANS: &str = "void lee_push_custodian(struct lee_work *, void *);\n";

impl Drops {
    /// The text that goes before the code, after the types.
    pub fn text(&self) -> String {
        let pids = if self.pids { PIDS } else { "" };
        let custodians = if self.custodians { CUSTODIANS } else { "" };
        format!("{pids}{custodians}{}{}", self.declarations, self.definitions)
    }
}

impl Unit<'_> {
    /// Whether a pointer's target is freed with the pointer.
    pub fn frees(&self, pointer: &Pointer, ends: Ends) -> bool {
        let in_heap = matches!(pointer.region, Region::Heap | Region::Exchange);
        pointer.own.is_owned() && in_heap == (ends == Ends::Heap)
    }

    /// `&descriptor` for what an owned pointer of the type points to.
    pub fn owned(&mut self, pointer: &Pointer, ends: Ends) -> String {
        self.drops.used = true;
        let target = pointer.target.ty;
        let counted = pointer.own == Own::Rc;
        let key = (target, counted, ends);
        if let Some(name) = self.drops.owned.get(&key) {
            return name.clone();
        }
        // A name first: types are recursive.
        let name = format!("lee__owned_{}", self.drops.owned.len());
        self.drops.owned.insert(key, format!("&{name}"));
        let function = self.drop_function(target, ends);
        let tail = self.tail_of(target).and_then(|(field, elem)| Some((field, elem, self.drop_function(elem, ends)?)));
        let align = self.large_alignment(target);
        if function.is_none() && tail.is_none() && align.is_none() {
            let name = if counted { "&lee_owned_counted" } else { "&lee_owned_plain" };
            self.drops.owned.insert(key, name.into());
            return name.into();
        }
        let size = self.c.sizeof_text(target);
        let tail_text = match tail {
            Some((field, elem, function)) => {
                let record = self.c.object(Qty::plain(target), "", Consts::Drop);
                let elem = self.c.sizeof_text(elem);
                format!("offsetof({record}, {field}), {elem}, {function}")
            }
            None => "0, 0, NULL".into(),
        };
        let function = function.unwrap_or_else(|| "NULL".into());
        let _ = writeln!(self.drops.declarations, "static const struct lee_owned {name};");
        let _ = writeln!(
            self.drops.definitions,
            "static const struct lee_owned {name} = {{ {size}, {function}, {tail_text}, {}, {} }};",
            u8::from(counted),
            align.unwrap_or(0)
        );
        format!("&{name}")
    }

    /// The alignment of a type, if it is more than blocks have by themselves.
    pub fn large_alignment(&self, ty: Ty) -> Option<u64> {
        crate::layouts::large_alignment(self.types, ty)
    }

    /// Whether something is freed with a value of the type.
    pub fn owns_something(&mut self, ty: Ty, ends: Ends) -> bool {
        match self.types.kind(ty) {
            TyKind::Ptr(p) => self.frees(p, ends),
            TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
            _ => self.drop_function(ty, ends).is_some(),
        }
    }

    /// `&descriptor` of the parts of a value of the type: what `lee_dispose_parts` is given.
    pub fn parts(&mut self, ty: Ty, ends: Ends) -> String {
        let target = Qty::plain(ty);
        let own = Own::Unique;
        self.owned(
            &Pointer { target, bounds: Bounds::Thin, nonnull: false, own, region: Region::Heap, raw: false },
            ends,
        )
    }

    /// The drop action of objects of the type, if they hold counts that must be taken back when the
    /// collector finds them dead. `front`: what a block holds before its object, as C text over
    /// `object`, and how many bytes that adds.
    pub fn dead_function(&mut self, ty: Ty, front: &str, more: u64) -> Option<String> {
        if !mir::ty::holds_counts(self.types, ty) {
            return None;
        }
        let owned = self.parts(ty, Ends::Heap);
        let name = format!("lee__dead_{}", self.drops.dead);
        self.drops.dead += 1;
        let _ = writeln!(
            self.drops.definitions,
            "static void {name}(void *object, size_t bytes) {{ lee_dead((char *)object + {front}, bytes - {more}, {owned}); }}"
        );
        Some(name)
    }

    /// A flexible array at the end of a record: its member's name and element type.
    fn tail_of(&mut self, ty: Ty) -> Option<(String, Ty)> {
        let id = self.types.as_record(ty)?;
        let fields = self.types.records.get(id.0 as usize)?.fields.clone()?;
        let (n, last) = fields.iter().enumerate().next_back()?;
        let TyKind::Array { elem, len: ArrayLen::Flexible(_), .. } = self.types.kind(last.ty.ty) else { return None };
        let name = self.c.field_names(id).get(n).cloned()?;
        Some((name, elem.ty))
    }

    /// The function that pushes what a value of the type owns; none if that is nothing.
    fn drop_function(&mut self, ty: Ty, ends: Ends) -> Option<String> {
        if let Some(known) = self.drops.functions.get(&(ty, ends)) {
            return known.clone();
        }
        if !self.types.owns(ty) {
            self.drops.functions.insert((ty, ends), None);
            return None;
        }
        let name = format!("lee__drop_{}", self.drops.functions.len());
        self.drops.functions.insert((ty, ends), Some(name.clone()));
        let mut body = String::new();
        self.push_parts(ty, "(*it)", true, ends, 0, &mut body);
        if body.is_empty() {
            self.drops.functions.insert((ty, ends), None);
            return None;
        }
        self.c.need(ty);
        let variable = self.c.object(Qty::plain(ty), "(*it)", Consts::Drop);
        let head = format!("static void {name}(struct lee_work *work, void *element)");
        let _ = writeln!(self.drops.declarations, "{head};");
        let _ = writeln!(self.drops.definitions, "{head} {{ {variable} = element; {body}}}");
        Some(name)
    }

    /// `&descriptor` of what the struct `record` owns and names while it is on its way: the
    /// arguments of a message or of a process, each with how it is reached in `it`. None if that is
    /// nothing; else also the text that defines it.
    pub fn parts_sent(&mut self, record: &str, name: &str, params: &[(Ty, String)]) -> Option<(String, String)> {
        let (mut body, mut names) = (String::new(), String::new());
        for (ty, at) in params {
            self.push_parts(*ty, at, false, Ends::Heap, 0, &mut body);
            self.push_names(*ty, at, 0, &mut names);
        }
        if body.is_empty() && names.is_empty() {
            return None;
        }
        self.drops.used = true;
        let named = u8::from(!names.is_empty());
        let text = format!(
            "static void {name}__drop(struct lee_work *work, void *element) {{ {record} *it = element; {body}{names}}}\n\
             static const struct lee_owned {name}__owned = {{ sizeof({record}), {name}__drop, 0, 0, NULL, 0, 0, {named} }};\n"
        );
        Some((text, format!("&{name}__owned")))
    }

    /// Statements that push each process and custodian that the object `at` names.
    fn push_names(&mut self, ty: Ty, at: &str, depth: u32, out: &mut String) {
        if !self.types.names_others(ty) {
            return;
        }
        match self.types.kind(ty).clone() {
            TyKind::Ptr(_) if self.types.is_pid(ty) => {
                self.drops.pids = true;
                let _ = write!(out, "if (lee_push_pid != NULL) lee_push_pid(work, &{at}); ");
            }
            TyKind::Ptr(_) => {
                self.drops.custodians = true;
                let _ = write!(out, "lee_push_custodian(work, &{at}); ");
            }
            TyKind::Array { elem, len: ArrayLen::Const(n), .. } => {
                let mut inner = String::new();
                self.push_names(elem.ty, &format!("{at}[i{depth}]"), depth + 1, &mut inner);
                let _ = write!(out, "for (size_t i{depth} = 0; i{depth} < {n}; i{depth}++) {{ {inner}}} ");
            }
            TyKind::Record(id) => {
                let Some(record) = self.types.records.get(id.0 as usize).cloned() else { return };
                let names = self.c.field_names(id);
                for (n, field) in record.fields.iter().flat_map(|fields| fields.iter()).enumerate() {
                    let name = names.get(n).cloned().unwrap_or_default();
                    let tagged = record.kind == RecordKind::Tagged;
                    let path = match (tagged, name.is_empty()) {
                        (true, _) => format!("{at}.u.{name}"),
                        (false, true) => at.to_string(),
                        (false, false) => format!("{at}.{name}"),
                    };
                    let mut inner = String::new();
                    self.push_names(field.ty.ty, &path, depth + 1, &mut inner);
                    match inner.is_empty() {
                        true => {}
                        false if tagged => {
                            let _ = write!(out, "if ({at}.tag == {n}) {{ {inner}}} ");
                        }
                        false => out.push_str(&inner),
                    }
                }
            }
            _ => {}
        }
    }

    /// Statements that push what the object `at` owns. `whole`: a pointer of several words is one C
    /// object, not several fields.
    fn push_parts(&mut self, ty: Ty, at: &str, whole: bool, ends: Ends, depth: u32, out: &mut String) {
        if depth > 100 || !self.types.owns(ty) {
            return;
        }
        match self.types.kind(ty).clone() {
            TyKind::Ptr(p) if self.frees(&p, ends) => {
                let address = if whole && self.types.words(ty) > 1 { format!("{at}.p") } else { at.to_string() };
                if p.region == Region::Exchange {
                    self.drops.exchanges = true;
                    let push = if p.own == Own::Rc { "lee_push_frozen" } else { "lee_push_block" };
                    let _ = write!(out, "{push}(work, {address}); ");
                    return;
                }
                let owned = match (self.types.is_typed_void(&p), whole) {
                    (true, true) => format!("lee_owned_of({at}.ty)"),
                    (true, false) => format!("lee_owned_of({at}__ty)"),
                    _ => self.owned(&p, ends),
                };
                let _ = write!(out, "lee_push(work, {address}, {owned}); ");
            }
            TyKind::Key(kind, _) => {
                let kind = match kind {
                    KeyKind::Exchange => "LEE_KEY_EXCHANGE",
                    kind if kind.is_rc() => "LEE_KEY_COUNTED",
                    _ => "LEE_KEY_UNIQUE",
                };
                let _ = write!(out, "lee_push_key(work, {at}, {kind}); ");
            }
            TyKind::Endpoint(_) => {
                self.channels.used = true;
                let _ = write!(out, "lee_push_endpoint(work, {at}); ");
            }
            TyKind::EndSet(_) => {
                self.channels.used = true;
                let _ = write!(out, "lee_push_set(work, {at}); ");
            }
            TyKind::Array { elem, len: ArrayLen::Const(n), .. } => {
                let mut inner = String::new();
                self.push_parts(elem.ty, &format!("{at}[i{depth}]"), true, ends, depth + 1, &mut inner);
                if !inner.is_empty() {
                    let _ = write!(out, "for (size_t i{depth} = 0; i{depth} < {n}; i{depth}++) {{ {inner}}} ");
                }
            }
            TyKind::Record(id) => self.push_fields(id, at, ends, depth, out),
            _ => {}
        }
    }

    fn push_fields(&mut self, id: RecordId, at: &str, ends: Ends, depth: u32, out: &mut String) {
        let Some(record) = self.types.records.get(id.0 as usize).cloned() else { return };
        let Some(fields) = record.fields else { return };
        let names = self.c.field_names(id);
        for (n, field) in fields.iter().enumerate() {
            let name = names.get(n).cloned().unwrap_or_default();
            let path = match record.kind {
                RecordKind::Tagged => format!("{at}.u.{name}"),
                _ if name.is_empty() => at.to_string(),
                _ => format!("{at}.{name}"),
            };
            match (record.kind, &field.tagged_by) {
                (RecordKind::Struct, None) => self.push_parts(field.ty.ty, &path, false, ends, depth + 1, out),
                (RecordKind::Struct, Some(tagged)) => {
                    let tag = format!("{at}.{}", names.get(tagged.tag as usize).cloned().unwrap_or_default());
                    self.push_bound(field.ty.ty, &path, &tag, tagged, ends, depth + 1, out);
                }
                (RecordKind::Tagged, _) => {
                    let mut inner = String::new();
                    self.push_parts(field.ty.ty, &path, false, ends, depth + 1, &mut inner);
                    if !inner.is_empty() {
                        let _ = write!(out, "if ({at}.tag == {n}) {{ {inner}}} ");
                    }
                }
                // Nobody can tell what a union without a tag owns: the checker lets nothing owned
                // into one.
                (RecordKind::Union, _) => {}
            }
        }
    }

    /// The members of a union whose sibling says which one is there.
    #[allow(clippy::too_many_arguments)]
    fn push_bound(
        &mut self,
        union: Ty,
        at: &str,
        tag: &str,
        tagged: &TaggedBy,
        ends: Ends,
        depth: u32,
        out: &mut String,
    ) {
        let Some(id) = self.types.as_record(union) else { return };
        let Some(fields) = self.types.records.get(id.0 as usize).and_then(|r| r.fields.clone()) else { return };
        let names = self.c.field_names(id);
        for (n, field) in fields.iter().enumerate() {
            let name = names.get(n).cloned().unwrap_or_default();
            let path = if name.is_empty() { at.to_string() } else { format!("{at}.{name}") };
            let mut inner = String::new();
            self.push_parts(field.ty.ty, &path, false, ends, depth + 1, &mut inner);
            let values: Vec<String> = tagged
                .arms
                .iter()
                .filter(|(_, member)| *member as usize == n)
                .map(|(value, _)| format!("{tag} == {value}"))
                .collect();
            if !inner.is_empty() && !values.is_empty() {
                let _ = write!(out, "if ({}) {{ {inner}}} ", values.join(" || "));
            }
        }
    }
}
