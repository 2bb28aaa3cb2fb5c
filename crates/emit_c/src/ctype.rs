//! C's spelling of types.
//!
//! A pointer type has two spellings: as a *word* (`char *`, what a local or a parameter holds) and
//! as an *object* in memory, where a fat pointer is three words in a row:
//! `struct fat__char { char *p, *lo, *hi; }`. `const` is dropped from what Leeward code handles,
//! because conversions that Leeward allows would need casts everywhere; it stays where a
//! declaration must agree with C's, and on objects that belong into read-only memory.

use crate::names::{is_word, sanitize, NameSet};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use typing::types::*;

/// Which `const`s are spelled out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consts {
    /// None.
    Drop,
    /// The object's own only.
    Outer,
    /// All.
    Keep,
}

/// A fat pointer in memory.
pub struct FatType {
    /// What it points to.
    pub target: Qty,
    /// Its tag.
    pub name: String,
}

/// Spells types and remembers what was mentioned, so that just that gets defined.
pub struct CTypes<'a> {
    /// The types.
    pub types: &'a TypeStore,
    /// The tags of C.
    pub tags: NameSet,
    record_tags: FxHashMap<RecordId, String>,
    /// Enumerations of the tags of tagged unions, as far as they are defined.
    tag_enums: FxHashMap<RecordId, String>,
    enum_tags: FxHashMap<EnumId, Option<String>>,
    /// Enumerations to define, in order of mention.
    pub enums: Vec<EnumId>,
    /// Records that were mentioned at all, in order.
    pub mentioned: Vec<RecordId>,
    mentioned_set: FxHashSet<RecordId>,
    /// Records that must be complete, in order of need.
    pub needed: Vec<RecordId>,
    needed_set: FxHashSet<RecordId>,
    /// Fat pointers in memory.
    pub fats: Vec<FatType>,
    fat_ids: FxHashMap<String, usize>,
    casts: FxHashMap<(Ty, bool), Rc<str>>,
    field_names: FxHashMap<RecordId, Rc<Vec<String>>>,
    /// C names of the current function's locals, for variable-length arrays.
    pub locals: Vec<String>,
    /// Whether a `void *` with its type stands in memory somewhere.
    pub any_used: bool,
}

/// The words after the first one of a multi-word pointer, as suffixes of names.
pub fn suffixes(words: u32) -> &'static [&'static str] {
    match words {
        3 => &["__lo", "__hi"],
        2 => &["__ty"],
        _ => &[],
    }
}

/// The members of a multi-word pointer in memory.
pub fn members(words: u32) -> &'static [&'static str] {
    match words {
        3 => &["p", "lo", "hi"],
        2 => &["p", "ty"],
        _ => &[],
    }
}

impl<'a> CTypes<'a> {
    /// Spells the types of `types`.
    pub fn new(types: &'a TypeStore) -> CTypes<'a> {
        CTypes {
            types,
            tags: NameSet::tags(),
            record_tags: FxHashMap::default(),
            tag_enums: FxHashMap::default(),
            enum_tags: FxHashMap::default(),
            enums: vec![],
            mentioned: vec![],
            mentioned_set: FxHashSet::default(),
            needed: vec![],
            needed_set: FxHashSet::default(),
            fats: vec![],
            fat_ids: FxHashMap::default(),
            casts: FxHashMap::default(),
            field_names: FxHashMap::default(),
            locals: vec![],
            any_used: false,
        }
    }

    /// A declaration of an object in memory.
    pub fn object(&mut self, qty: Qty, name: &str, consts: Consts) -> String {
        self.build(qty, name.to_string(), false, consts)
    }

    /// A declaration of word number `n` of a value of the type.
    pub fn word(&mut self, qty: Qty, n: usize, name: &str, consts: Consts) -> String {
        if n == 1 && self.types.words(qty.ty) == 2 {
            return declare("const struct lee_type *", name);
        }
        self.build(qty, name.to_string(), true, consts)
    }

    /// The type of a value's first word, as a cast spells it.
    pub fn cast(&mut self, ty: Ty) -> Rc<str> {
        self.cast_as(ty, Consts::Drop)
    }

    /// The same with or without `const`s.
    pub fn cast_as(&mut self, ty: Ty, consts: Consts) -> Rc<str> {
        let keep = consts == Consts::Keep;
        let variable = self.has_variable(ty);
        if !variable {
            if let Some(text) = self.casts.get(&(ty, keep)) {
                return text.clone();
            }
        }
        let text: Rc<str> = self.build(Qty::plain(ty), String::new(), true, consts).into();
        if !variable {
            self.casts.insert((ty, keep), text.clone());
        }
        text
    }

    /// The pointer type to objects of this type, as a cast spells it.
    pub fn cast_to_pointer(&mut self, target: Qty) -> Rc<str> {
        let inner = match self.types.kind(target.ty) {
            TyKind::Array { .. } | TyKind::Func(_) => "(*)",
            _ => "*",
        };
        self.build(target, inner.into(), false, Consts::Drop).into()
    }

    /// What `sizeof` is asked about an object of the type.
    pub fn sizeof_text(&mut self, ty: Ty) -> String {
        self.need(ty);
        match self.types.kind(ty) {
            TyKind::Void | TyKind::Func(_) | TyKind::Error | TyKind::Param(_) => "1".into(),
            _ => format!("sizeof({})", self.build(Qty::plain(ty), String::new(), false, Consts::Drop)),
        }
    }

    /// Whether the type's size depends on a local of the function.
    pub fn has_variable(&self, ty: Ty) -> bool {
        match self.types.kind(ty) {
            TyKind::Array { len: ArrayLen::Variable(_), .. } => true,
            TyKind::Array { elem, .. } => self.has_variable(elem.ty),
            TyKind::Ptr(p) => self.has_variable(p.target.ty),
            _ => false,
        }
    }

    fn build(&mut self, qty: Qty, inner: String, word: bool, consts: Consts) -> String {
        let types = self.types;
        let below = if consts == Consts::Outer { Consts::Drop } else { consts };
        let quals = qualifiers(qty.quals, consts != Consts::Drop);
        match types.kind(qty.ty) {
            TyKind::Ptr(p) => {
                let words = types.words(qty.ty);
                if !word && words == 3 {
                    let tag = self.fat_tag(p.target);
                    return declare(&format!("{quals}struct {tag}"), &inner);
                }
                if !word && words == 2 {
                    self.any_used = true;
                    return declare(&format!("{quals}struct lee__any"), &inner);
                }
                let inner = format!("*{quals}{inner}");
                match types.kind(p.target.ty) {
                    TyKind::Func(_) | TyKind::Array { .. } => self.build(p.target, format!("({inner})"), false, below),
                    _ => self.build(p.target, inner, false, below),
                }
            }
            TyKind::Array { elem, len, .. } => {
                let size = match len {
                    ArrayLen::Const(n) => n.to_string(),
                    // A length that only the function itself knows: C wants one for what is itself
                    // an element.
                    ArrayLen::Unknown if inner.ends_with(']') => "1".into(),
                    ArrayLen::Unknown | ArrayLen::Flexible(_) => String::new(),
                    ArrayLen::Variable(local) => {
                        self.locals.get(*local as usize).cloned().unwrap_or_else(|| "1".into())
                    }
                };
                let elem = Qty {
                    ty: elem.ty,
                    quals: Quals {
                        is_const: elem.quals.is_const || qty.quals.is_const,
                        is_volatile: elem.quals.is_volatile || qty.quals.is_volatile,
                        is_atomic: elem.quals.is_atomic,
                    },
                };
                self.build(elem, format!("{inner}[{size}]"), false, consts)
            }
            TyKind::Func(f) => {
                let params = self.params(f, None, below);
                self.build(Qty::plain(f.ret), format!("{inner}({params})"), true, below)
            }
            kind => {
                let base = self.base(kind);
                declare(&format!("{quals}{base}"), &inner)
            }
        }
    }

    fn base(&mut self, kind: &TyKind) -> String {
        match kind {
            TyKind::Void | TyKind::Error | TyKind::Param(_) => "void".into(),
            TyKind::Bool => "_Bool".into(),
            TyKind::Int(k) => k.name().into(),
            TyKind::Float(k) => float_name(*k).into(),
            TyKind::Complex(k) => format!("_Complex {}", float_name(*k)),
            TyKind::Enum(id) => self.enum_text(*id),
            TyKind::Record(id) => self.record_text(*id),
            TyKind::VaList => "__builtin_va_list".into(),
            TyKind::NullPtr => "void *".into(),
            TyKind::Key(..) | TyKind::Handle(..) => "struct lee_arena *".into(),
            TyKind::Endpoint(_) => "struct lee_endpoint *".into(),
            TyKind::EndSet(_) => "struct lee_set *".into(),
            TyKind::RegionArg(_) | TyKind::OwnArg(_) => "void".into(),
            TyKind::Ptr(_) | TyKind::Array { .. } | TyKind::Func(_) => String::new(),
        }
    }

    /// The parameters of a function, multi-word values split, without the parentheses. Names go
    /// with the words of each parameter; the words of the result go last and are named `ret__lo`,
    /// `ret__hi`, `ret__ty`.
    pub fn params(&mut self, f: &FuncTy, names: Option<&[Vec<String>]>, consts: Consts) -> String {
        let mut out: Vec<String> = vec![];
        if f.unprototyped {
            return String::new();
        }
        for (n, param) in f.params.iter().enumerate() {
            for word in 0..self.types.words(param.ty) as usize {
                let name = names.and_then(|names| names.get(n)?.get(word)).map_or("", String::as_str);
                out.push(self.word(Qty::plain(param.ty), word, name, consts));
            }
        }
        let words = self.types.words(f.ret);
        for (word, suffix) in suffixes(words).iter().enumerate() {
            let name = if names.is_some() { format!("*ret{suffix}") } else { "*".into() };
            out.push(self.word(Qty::plain(f.ret), word + 1, &name, consts));
        }
        if f.variadic && !out.is_empty() {
            out.push("...".into());
        }
        match out.is_empty() {
            true => "void".into(),
            false => out.join(", "),
        }
    }

    /// `struct tag`, noting that it was mentioned.
    pub fn record_text(&mut self, id: RecordId) -> String {
        let id = self.types.erased_record(id);
        if self.types.records.get(id.0 as usize).is_some_and(|r| r.vector) {
            // The name of a typedef, which must be there before any mention.
            if self.needed_set.insert(id) {
                self.needed.push(id);
            }
            return self.record_tag(id);
        }
        if self.mentioned_set.insert(id) {
            self.mentioned.push(id);
        }
        let word = self.types.records.get(id.0 as usize).map_or("struct", |r| match r.kind {
            RecordKind::Union => "union",
            RecordKind::Struct | RecordKind::Tagged => "struct",
        });
        format!("{word} {}", self.record_tag(id))
    }

    fn record_tag(&mut self, id: RecordId) -> String {
        if let Some(tag) = self.record_tags.get(&id) {
            return tag.clone();
        }
        let mut base = String::from("anonymous");
        let mut args = vec![];
        if let Some(record) = self.types.records.get(id.0 as usize) {
            base = record.tag.map_or(base, |t| t.to_string());
            args = record.args.clone();
        }
        args.retain(|&arg| !matches!(self.types.kind(arg), TyKind::RegionArg(_)));
        for arg in args {
            base.push_str("__");
            base.push_str(&self.mangle(arg));
        }
        let tag = self.tags.claim(&base);
        self.record_tags.insert(id, tag.clone());
        tag
    }

    /// The C tag of the enumeration that a tagged union's tag is of.
    pub fn tag_enum(&mut self, id: RecordId) -> String {
        if let Some(name) = self.tag_enums.get(&id) {
            return name.clone();
        }
        let base = self.record_tag(id);
        let name = self.tags.claim(&format!("{base}__tag"));
        self.tag_enums.insert(id, name.clone());
        name
    }

    /// The same, if that enumeration was defined.
    pub fn known_tag_enum(&self, id: RecordId) -> Option<&str> {
        self.tag_enums.get(&id).map(String::as_str)
    }

    /// A short readable name of a type, part of the names of instances. Not unique.
    pub fn mangle(&self, ty: Ty) -> String {
        let text = self.types.show(ty);
        let text = text.replace("struct ", "").replace("union ", "").replace("enum ", "").replace('*', " p ");
        let name = sanitize(text.trim());
        let name = name.trim_matches('_');
        if name.len() > 40 {
            return name.chars().take(40).collect();
        }
        name.to_string()
    }

    /// The tag of the enumeration if C gives it the size that it has here, else the integer type.
    fn enum_text(&mut self, id: EnumId) -> String {
        let Some(e) = self.types.enums.get(id.0 as usize) else { return "int".into() };
        if let Some(tag) = self.enum_tags.get(&id) {
            return tag.as_ref().map_or(e.underlying.name().to_string(), |t| format!("enum {t}"));
        }
        let negative = e.items.iter().any(|(_, v)| *v < 0);
        let fits = e.items.iter().all(|(_, v)| {
            let top = if negative { i128::from(i32::MAX) } else { i128::from(u32::MAX) };
            (i128::from(i32::MIN)..=top).contains(v)
        });
        let natural = if negative { IntKind::Int } else { IntKind::UInt };
        let tag = match e.tag {
            Some(tag) if e.complete && !e.items.is_empty() && fits && natural == e.underlying => {
                self.enums.push(id);
                Some(self.tags.claim(tag.as_str()))
            }
            _ => None,
        };
        self.enum_tags.insert(id, tag);
        self.enum_text(id)
    }

    fn fat_tag(&mut self, target: Qty) -> String {
        let pointer = self.cast_to_pointer(target).to_string();
        if let Some(fat) = self.fat_ids.get(&pointer).and_then(|&n| self.fats.get(n)) {
            return fat.name.clone();
        }
        let short = pointer.trim().strip_suffix('*').unwrap_or(&pointer);
        let short = short.replace("struct ", "").replace("union ", "").replace('*', " p ");
        let short: String = sanitize(short.trim()).trim_matches('_').chars().take(48).collect();
        let name = self.tags.claim(&format!("fat__{short}"));
        self.fat_ids.insert(pointer, self.fats.len());
        self.fats.push(FatType { target, name: name.clone() });
        name
    }

    /// The number of the fat pointer type to `target`, for the order of definitions.
    pub fn fat_number(&mut self, target: Qty) -> Option<usize> {
        self.fat_tag(target);
        let pointer = self.cast_to_pointer(target).to_string();
        self.fat_ids.get(&pointer).copied()
    }

    /// Values of the type need its definition.
    pub fn need(&mut self, ty: Ty) {
        match self.types.kind(ty) {
            TyKind::Array { elem, .. } => self.need(elem.ty),
            TyKind::Record(id) => {
                let id = self.types.erased_record(*id);
                if self.needed_set.insert(id) {
                    self.needed.push(id);
                    self.record_text(id);
                }
            }
            _ => {}
        }
    }

    /// A debugger that shows a value of the type wants the definition of what it points to.
    pub fn need_shown(&mut self, ty: Ty) {
        let mut ty = ty;
        // Types are finite; a loop over pointers ends at what they point to.
        while let TyKind::Ptr(p) = self.types.kind(ty) {
            ty = p.target.ty;
        }
        self.need(ty);
    }

    /// The C names of a record's members, by field number. Anonymous records and bit-fields have
    /// empty ones.
    pub fn field_names(&mut self, id: RecordId) -> Rc<Vec<String>> {
        let id = self.types.erased_record(id);
        if let Some(names) = self.field_names.get(&id) {
            return names.clone();
        }
        let mut taken = NameSet::default();
        let names = Rc::new(self.name_fields(id, &mut taken));
        self.field_names.insert(id, names.clone());
        names
    }

    /// Members of anonymous records share the name space of the record around them.
    fn name_fields(&mut self, id: RecordId, taken: &mut NameSet) -> Vec<String> {
        let Some(fields) = self.types.records.get(id.0 as usize).and_then(|r| r.fields.clone()) else { return vec![] };
        let mut names = vec![];
        for (n, field) in fields.iter().enumerate() {
            let Some(name) = field.name else {
                names.push(self.name_anonymous(n, field, taken));
                continue;
            };
            let text = name.as_str();
            let free = !is_word(text) && suffixes(self.types.words(field.ty.ty)).is_empty();
            if free && taken.take(text) {
                names.push(text.to_string());
            } else {
                names.push(taken.claim_words(text, suffixes(self.types.words(field.ty.ty))));
            }
        }
        names
    }

    fn name_anonymous(&mut self, n: usize, field: &Field, taken: &mut NameSet) -> String {
        let Some(inner) = self.types.as_record(field.ty.ty) else { return String::new() };
        if !self.is_inline(inner) {
            return taken.claim(&format!("anonymous__{n}"));
        }
        let inner_names = Rc::new(self.name_fields(inner, taken));
        self.field_names.insert(self.types.erased_record(inner), inner_names);
        String::new()
    }

    /// Whether an anonymous member record is written in place: its address can then be had from its
    /// first member.
    pub fn is_inline(&self, id: RecordId) -> bool {
        let Some(record) = self.types.records.get(id.0 as usize) else { return false };
        let first = record.fields.as_ref().and_then(|f| f.first());
        let plain_first = first.is_some_and(|f| f.width.is_none() && f.name.is_some());
        record.kind != RecordKind::Tagged && plain_first
    }
}

/// `type name` with a blank only where one is needed.
pub fn declare(base: &str, inner: &str) -> String {
    if inner.is_empty() {
        base.to_string()
    } else if base.ends_with('*') {
        format!("{base}{inner}")
    } else {
        format!("{base} {inner}")
    }
}

fn qualifiers(quals: Quals, is_const: bool) -> String {
    let mut out = String::new();
    if quals.is_const && is_const {
        out.push_str("const ");
    }
    if quals.is_volatile {
        out.push_str("volatile ");
    }
    if quals.is_atomic {
        out.push_str("_Atomic ");
    }
    out
}

/// gcc before 13 and clang agree on these.
fn float_name(kind: FloatKind) -> &'static str {
    match kind {
        FloatKind::Float128 => "__float128",
        other => other.name(),
    }
}
