//! Digests of types: equal digests mean equal types, in every object file.
//!
//! A type is written as a canonical text, records with all their fields where they first occur, and
//! the text is hashed. `digest` goes through pointers; `link_digest` names the records behind
//! pointers instead, because one file may know an opaque handle's fields and another not. What
//! those records look like is compared by record (`link.rs`).

use source::Symbol;
use std::fmt::Write;

use crate::contracts::ContractId;
use crate::types::*;

/// The digest of a type, with everything that can be reached from it, without its regions.
pub fn digest(types: &TypeStore, ty: Ty) -> u64 {
    hash(canonical(types, ty, true).as_bytes())
}

/// The digest of a symbol's type, with records behind pointers by name only.
pub fn link_digest(types: &TypeStore, ty: Ty) -> u64 {
    hash(canonical(types, ty, false).as_bytes())
}

/// The digest of a record's own fields, with records behind pointers by name only.
pub fn record_digest(types: &TypeStore, id: RecordId) -> u64 {
    let mut writer = Writer { types, deep: false, out: String::new(), seen: vec![], contracts: vec![] };
    writer.record(id, true);
    hash(writer.out.as_bytes())
}

/// The digest of a contract with all that it takes from those that it extends: equal digests, equal
/// conversations.
pub fn contract_digest(types: &TypeStore, id: ContractId) -> u64 {
    contract_digest_with(types, id).0
}

/// The same, and the contracts that it goes into.
pub(crate) fn contract_digest_with(types: &TypeStore, id: ContractId) -> (u64, Vec<ContractId>) {
    let mut writer = Writer { types, deep: true, out: String::new(), seen: vec![], contracts: vec![] };
    writer.contract(id);
    (hash(writer.out.as_bytes()), writer.contracts)
}

/// The digest of several types in order.
pub fn digest_all(types: &TypeStore, list: impl Iterator<Item = Ty>) -> u64 {
    let mut text = String::new();
    for ty in list {
        text.push_str(&canonical(types, ty, true));
        text.push(';');
    }
    hash(text.as_bytes())
}

/// The type as its programmer would write it.
pub fn type_text(types: &TypeStore, ty: Ty) -> String {
    let ends = matches!(types.kind(ty), TyKind::Func(f) if f.noreturn);
    format!("{}{}", if ends { "[[noreturn]] " } else { "" }, types.show(ty))
}

fn canonical(types: &TypeStore, ty: Ty, deep: bool) -> String {
    let mut writer = Writer { types, deep, out: String::new(), seen: vec![], contracts: vec![] };
    writer.ty(ty, true);
    writer.out
}

/// FNV-1a on 128 bits, folded to 64: stable, and far from a collision for any number of types that
/// a program has.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for &byte in bytes {
        state ^= u128::from(byte);
        state = state.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    (state >> 64) as u64 ^ state as u64
}

struct Writer<'a> {
    types: &'a TypeStore,
    /// Whether records behind pointers are written out, too.
    deep: bool,
    out: String,
    /// Records written out so far; a later occurrence is their number.
    seen: Vec<RecordId>,
    /// Contracts likewise.
    contracts: Vec<ContractId>,
}

impl Writer<'_> {
    fn qty(&mut self, qty: Qty, direct: bool) {
        for (set, mark) in [(qty.quals.is_const, 'k'), (qty.quals.is_volatile, 'v'), (qty.quals.is_atomic, 'a')] {
            if set {
                self.out.push(mark);
            }
        }
        self.ty(qty.ty, direct);
    }

    /// `direct`: the type is there by value, not behind a pointer.
    fn ty(&mut self, ty: Ty, direct: bool) {
        let types = self.types;
        match types.kind(ty) {
            TyKind::Error => self.out.push('?'),
            TyKind::Void => self.out.push_str("void"),
            TyKind::Bool => self.out.push_str("bool"),
            // One name for each size and sign is not enough: C's types differ.
            TyKind::Int(k) => self.out.push_str(k.name()),
            TyKind::Float(k) => self.out.push_str(k.name()),
            TyKind::Complex(k) => {
                let _ = write!(self.out, "complex {}", k.name());
            }
            TyKind::Enum(id) => self.enumeration(*id),
            TyKind::Ptr(p) => self.pointer(p),
            TyKind::Array { elem, len, terminated } => {
                match len {
                    ArrayLen::Const(n) => {
                        let _ = write!(self.out, "[{n}");
                    }
                    ArrayLen::Unknown => self.out.push_str("[?"),
                    ArrayLen::Flexible(None) => self.out.push_str("[flex"),
                    ArrayLen::Flexible(Some(count)) => {
                        let _ = write!(self.out, "[flex {}", types.show_count(*count));
                    }
                    ArrayLen::Variable(_) => self.out.push_str("[var"),
                }
                self.out.push_str(if *terminated { " zero]" } else { "]" });
                self.qty(*elem, direct);
            }
            TyKind::Func(f) => self.function(f),
            TyKind::Record(id) => self.record(*id, direct),
            TyKind::Param(p) => {
                let _ = write!(self.out, "T{}", p.index);
            }
            TyKind::VaList => self.out.push_str("va_list"),
            TyKind::NullPtr => self.out.push_str("nullptr"),
            TyKind::Key(kind, region) => {
                let _ = write!(self.out, "{} ", kind.word());
                self.region(*region);
            }
            TyKind::Endpoint(endpoint) => self.endpoint(endpoint),
            TyKind::EndSet(set) => {
                self.out.push_str("set of ");
                self.endpoint(&set.end);
                if let Some(value) = types.map_value(set) {
                    self.ty(value, true);
                }
            }
            TyKind::Handle(reap, region) => {
                self.out.push_str(if *reap { "reap " } else { "arena " });
                self.region(*region);
            }
            TyKind::RegionArg(region) => self.region(*region),
            TyKind::OwnArg(own) => {
                let _ = write!(self.out, "own {} ", own_word(*own));
            }
        }
        self.out.push(',');
    }

    fn endpoint(&mut self, endpoint: &Endpoint) {
        let _ = write!(self.out, "{} ", endpoint.side.word());
        self.contract(endpoint.contract);
        if let Some(state) = endpoint.state {
            let _ = write!(self.out, " in {}", state.0);
        }
    }

    /// The contract with all that it takes from those that it extends, so that both ends mean the
    /// same by a number.
    fn contract(&mut self, id: ContractId) {
        let types = self.types;
        let Some(contract) = types.contract(id) else { return };
        let _ = write!(self.out, "contract {}", contract.name);
        if let Some(at) = self.contracts.iter().position(|&seen| seen == id) {
            let _ = write!(self.out, "#{at}");
            return;
        }
        self.contracts.push(id);
        let _ = write!(self.out, " {} {} {{", contract.local, contract.start.0);
        for message in &contract.messages {
            let _ = write!(self.out, "{} {}(", message.direction.word(), message.name);
            for (_, ty, _) in &message.params {
                self.ty(*ty, true);
            }
            self.out.push(')');
        }
        for state in &contract.states {
            self.name(state.name);
            let _ = write!(self.out, ":{:?}", state.alternatives.iter().map(|(m, to)| (m.0, to.0)).collect::<Vec<_>>());
        }
        self.out.push('}');
        if let Some(base) = contract.extends {
            self.out.push_str("extends ");
            self.contract(base);
        }
    }

    fn pointer(&mut self, p: &Pointer) {
        self.out.push('*');
        match p.bounds {
            Bounds::Thin => {}
            Bounds::Fat => self.out.push_str("fat "),
            Bounds::Terminated => self.out.push_str("zero "),
            Bounds::FatTerminated => self.out.push_str("fatzero "),
            Bounds::Counted(count) => {
                let _ = write!(self.out, "count({}) ", self.types.show_count(count));
            }
        }
        self.out.push_str(if p.nonnull { "nonnull " } else { "" });
        self.out.push_str(if p.raw { "raw " } else { "" });
        self.out.push_str(&own_word(p.own));
        self.region(p.region);
        let deep = self.deep;
        self.qty(p.target, deep);
    }

    fn region(&mut self, region: Region) {
        if region != Region::Heap && !self.deep {
            self.out.push_str(&region_text(region));
            self.out.push(' ');
        }
    }

    fn function(&mut self, f: &FuncTy) {
        self.out.push_str(if f.abi == Abi::C { "cfn(" } else { "fn(" });
        for param in &f.params {
            self.out.push_str(if param.consume { "consume " } else { "" });
            self.out.push_str(if param.optional { "optional " } else { "" });
            self.ty(param.ty, true);
            if let Some(state) = param.becomes {
                let _ = write!(self.out, "becomes {} ", state.0);
            }
        }
        self.out.push_str(if f.variadic { "..." } else { "" });
        self.out.push_str(if f.unprototyped { "?" } else { "" });
        if let Some(format) = &f.format {
            let _ = write!(self.out, "format {} {} {:?} ", format.scanf, format.format, format.first);
        }
        let _ = write!(
            self.out,
            "{:?}{:?}{:?}{:?}{:?}{:?}{:?})",
            f.into, f.end_into, f.copies, f.fills, f.terminates, f.cuts, f.keeps_string
        );
        // A caller that relies on it has no code after the call. Values of function types
        // convert from one to the other.
        self.out.push_str(if f.noreturn && !self.deep { "noreturn " } else { "" });
        let outlives = if self.deep { &[][..] } else { &f.outlives };
        for &(long, short) in outlives {
            self.out.push_str("outlives ");
            self.region(long);
            self.region(short);
        }
        self.ty(f.ret, true);
    }

    fn name(&mut self, tag: Option<Symbol>) {
        self.out.push_str(tag.map_or("", Symbol::as_str));
    }

    fn enumeration(&mut self, id: EnumId) {
        let Some(e) = self.types.enums.get(id.0 as usize) else { return };
        self.out.push_str("enum ");
        self.name(e.tag);
        let _ = write!(self.out, ":{}", e.underlying.name());
        for (name, value) in &e.items {
            let _ = write!(self.out, " {name}={value}");
        }
    }

    fn record(&mut self, id: RecordId, direct: bool) {
        let types = self.types;
        let id = if self.deep { types.erased_record(id) } else { id };
        let Some(record) = types.records.get(id.0 as usize) else { return };
        let word = match record.kind {
            RecordKind::Struct => "struct ",
            RecordKind::Union => "union ",
            RecordKind::Tagged => "tagged ",
        };
        self.out.push_str(word);
        self.name(record.tag);
        if let Some(at) = self.seen.iter().position(|&seen| seen == id) {
            let _ = write!(self.out, "#{at}");
            return;
        }
        if !record.args.is_empty() {
            self.out.push('<');
            for &arg in &record.args {
                self.ty(arg, direct);
            }
            self.out.push('>');
        }
        // Without a tag there is no name to go by.
        let Some(fields) = record.fields.as_ref().filter(|_| direct || record.tag.is_none()) else { return };
        self.seen.push(id);
        let _ = write!(self.out, " {}{:?}{{", if record.packed { "packed " } else { "" }, record.align);
        for bound in &record.exists {
            self.out.push_str("exists ");
            bound.iter().for_each(|&by| self.region(by));
        }
        for field in fields.iter() {
            self.name(field.name);
            let packed = if field.packed { "packed" } else { "" };
            let _ = write!(self.out, ":{:?}:{:?}:{packed}", field.width, field.align);
            self.qty(field.ty, true);
            if let Some(tagged) = &field.tagged_by {
                let _ = write!(self.out, "by {} {:?}", tagged.tag, tagged.arms);
            }
        }
        self.out.push('}');
    }
}

/// `@heap`, `@p1` (parameter of the generic), `@b0.1` (variable 1 of the function type 0 levels
/// out), `@r2` (region 2 of the body), `@i3` (to be solved), `@e0` (hidden in a struct).
pub fn region_text(region: Region) -> String {
    match region {
        Region::Heap => "@heap".into(),
        Region::Var => "@var".into(),
        Region::Exchange => "@exchange".into(),
        Region::Param(n) => format!("@p{n}"),
        Region::Bound(level, n) => format!("@b{level}.{n}"),
        Region::Body(n) => format!("@r{n}"),
        Region::Infer(n) => format!("@i{n}"),
        Region::Exists(n) => format!("@e{n}"),
    }
}

/// The word of an ownership followed by a blank; none for shared.
fn own_word(own: Own) -> String {
    match own {
        Own::Shared => String::new(),
        Own::Unique => "unique ".into(),
        Own::Rc => "rc ".into(),
        Own::View => "view ".into(),
        Own::Any => "any ".into(),
        Own::Param(n) => format!("own{n} "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::Span;
    use std::rc::Rc;

    fn node(types: &mut TypeStore, last: Ty) -> Ty {
        let id = RecordId(types.records.len() as u32);
        let ty = types.intern(TyKind::Record(id));
        types.records.push(Record {
            kind: RecordKind::Struct,
            tag: Some("node".into()),
            args: vec![],
            fields: None,
            packed: false,
            align: None,
            vector: false,
            underaligned: false,
            foreign: false,
            exists: vec![],
            span: Span::NONE,
        });
        let next = types.pointer_to(Qty::plain(ty), Bounds::Thin);
        let field = |name: &str, ty| Field {
            name: Some(name.into()),
            ty: Qty::plain(ty),
            width: None,
            align: None,
            packed: false,
            tagged_by: None,
            span: Span::NONE,
        };
        types.records[id.0 as usize].fields = Some(Rc::new(vec![field("next", next), field("value", last)]));
        ty
    }

    #[test]
    fn same_in_every_store() {
        let mut a = TypeStore::new();
        let mut b = TypeStore::new();
        let (int, unsigned) = (a.common.int, b.common.uint);
        // A type of another number in the second store.
        b.pointer_to(Qty::plain(unsigned), Bounds::Fat);
        let (x, y) = (node(&mut a, int), node(&mut b, int));
        let z = node(&mut b, unsigned);
        assert_eq!(digest(&a, x), digest(&b, y));
        assert_ne!(digest(&b, y), digest(&b, z));
        assert_eq!(record_digest(&a, RecordId(0)), record_digest(&b, RecordId(0)));
    }

    #[test]
    fn handles_go_by_name_at_links() {
        let mut types = TypeStore::new();
        let (int, unsigned) = (types.common.int, types.common.uint);
        let (x, y) = (node(&mut types, int), node(&mut types, unsigned));
        let p = types.pointer_to(Qty::plain(x), Bounds::Thin);
        let q = types.pointer_to(Qty::plain(y), Bounds::Thin);
        assert_eq!(link_digest(&types, p), link_digest(&types, q));
        assert_ne!(digest(&types, p), digest(&types, q));
        assert_ne!(link_digest(&types, x), link_digest(&types, y));
    }

    #[test]
    fn qualifiers_count() {
        let mut types = TypeStore::new();
        let c = types.common.char_;
        let mut all: Vec<u64> = vec![];
        for bounds in [Bounds::Thin, Bounds::Fat, Bounds::Terminated, Bounds::FatTerminated] {
            for qty in [Qty::plain(c), Qty::plain(c).with_const()] {
                let ty = types.pointer_to(qty, bounds);
                all.push(digest(&types, ty));
            }
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
