//! Sizes, alignments and offsets as C's ABI has them (System V x86-64 and AAPCS64, LP64), and
//! questions about what a type holds.

use crate::types::*;

/// Machine word in bytes.
const WORD: u64 = 8;

/// Where a field lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    /// Offset of its first byte (of a bit-field: of its storage unit).
    pub offset: u64,
    /// Bit offset within the unit for bit-fields.
    pub bit: u32,
}

impl TypeStore {
    /// Size and alignment; `None` for incomplete types, functions and types that mention a type
    /// parameter.
    pub fn layout(&self, ty: Ty) -> Option<Layout> {
        let scalar = |size| Some(Layout { size, align: size });
        match self.kind(ty) {
            TyKind::Bool => scalar(1),
            TyKind::Int(k) => scalar(k.size()),
            TyKind::Float(k) => scalar(k.size()),
            TyKind::Complex(k) => Some(Layout { size: 2 * k.size(), align: k.size() }),
            TyKind::Enum(e) => scalar(self.enumeration(*e).underlying.size()),
            TyKind::Ptr(_) => Some(Layout { size: WORD * u64::from(self.words(ty)), align: WORD }),
            TyKind::NullPtr | TyKind::Key(..) | TyKind::Handle(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => {
                scalar(WORD)
            }
            TyKind::VaList if cfg!(target_arch = "x86_64") => Some(Layout { size: 24, align: 8 }),
            TyKind::VaList => Some(Layout { size: 32, align: 8 }),
            TyKind::Array { elem, len, .. } => {
                let layout = self.layout(elem.ty)?;
                match len {
                    ArrayLen::Const(n) => Some(Layout { size: layout.size.checked_mul(*n)?, ..layout }),
                    ArrayLen::Flexible(_) => Some(Layout { size: 0, ..layout }),
                    ArrayLen::Unknown | ArrayLen::Variable(_) => None,
                }
            }
            TyKind::Record(id) => {
                let known = self.layouts.borrow().get(id).map(|(layout, _)| *layout);
                known.or_else(|| self.record_layout(*id).map(|(layout, _)| layout))
            }
            TyKind::Error => scalar(1),
            TyKind::Void | TyKind::Func(_) | TyKind::Param(_) | TyKind::RegionArg(_) | TyKind::OwnArg(_) => None,
        }
    }

    /// The bits of a bit-field that has fewer than its type, and its type. A `bool` is 0 or 1 in any
    /// number of bits.
    pub fn narrow(&self, field: &Field) -> Option<(u32, IntKind)> {
        let (width, kind) = (field.width?, self.as_int(field.ty.ty)?);
        let is_bool = matches!(self.kind(field.ty.ty), TyKind::Bool);
        (!is_bool && width > 0 && u64::from(width) < 8 * kind.size()).then_some((width, kind))
    }

    /// What member `n` of a record holds of a number that is stored there: a bit-field keeps its
    /// lowest bits.
    pub fn kept(&self, record: Ty, n: u64, value: i128) -> i128 {
        let fields = self.as_record(record).and_then(|id| self.record(id).fields.as_ref());
        let field = fields.and_then(|fields| fields.get(n as usize));
        let Some((width, kind)) = field.and_then(|field| self.narrow(field)) else { return value };
        let away = 128 - width;
        match kind.signed() {
            true => (value << away) >> away,
            false => ((value as u128) << away >> away) as i128,
        }
    }

    /// Layout of a record with the place of each field.
    pub fn record_layout(&self, id: RecordId) -> Option<(Layout, Vec<FieldPlace>)> {
        if let Some(known) = self.layouts.borrow().get(&id) {
            return Some(known.clone());
        }
        let found = self.find_layout(id)?;
        self.layouts.borrow_mut().insert(id, found.clone());
        Some(found)
    }

    fn find_layout(&self, id: RecordId) -> Option<RecordLayout> {
        let record = self.record(id);
        let fields = record.fields.as_ref()?;
        let mut at =
            RecordBuilder { packed: record.packed, union: record.kind != RecordKind::Struct, ..Default::default() };
        for field in fields.iter() {
            let layout = self.layout(field.ty.ty)?;
            at.add(field, layout)?;
        }
        let mut align = at.align.max(1);
        if let Some(wanted) = record.align {
            align = if record.vector { wanted } else { align.max(wanted) };
        }
        let payload = at.bits.div_ceil(8).max(at.size);
        if record.kind == RecordKind::Tagged {
            let align = align.max(4);
            let start = 4u64.next_multiple_of(at.align.max(1));
            let size = start.checked_add(payload)?.checked_next_multiple_of(align)?;
            let places = fields.iter().map(|_| FieldPlace { offset: start, bit: 0 }).collect();
            return Some((Layout { size, align }, places));
        }
        Some((Layout { size: payload.checked_next_multiple_of(align)?, align }, at.places))
    }

    /// Byte offset of field `n`.
    pub fn field_offset(&self, id: RecordId, n: u32) -> Option<u64> {
        self.record_layout(id)?.1.get(n as usize).map(|p| p.offset)
    }

    /// Answers a question about a record, once it is complete only once.
    pub(crate) fn holds(&self, what: Holds, id: RecordId, find: impl FnOnce(&Record) -> bool) -> bool {
        if let Some(&known) = self.known.borrow().get(&(what, id)) {
            return known;
        }
        let found = find(self.record(id));
        let settled = match what {
            Holds::Complete => found,
            _ => self.is_complete_record(id),
        };
        if settled {
            self.known.borrow_mut().insert((what, id), found);
        }
        found
    }

    fn is_complete_record(&self, id: RecordId) -> bool {
        self.holds(Holds::Complete, id, |record| {
            // An instance may hold an argument that is not complete yet, also the struct that it is
            // a field of.
            let whole = |fields: &Vec<Field>| fields.iter().all(|f| self.is_complete(f.ty.ty));
            record.fields.as_ref().is_some_and(|fields| record.args.is_empty() || whole(fields))
        })
    }

    /// The record that makes a type incomplete: itself, or one that it holds.
    pub(crate) fn open_part(&self, ty: Ty) -> Option<Ty> {
        match self.kind(ty) {
            _ if self.is_complete(ty) => None,
            TyKind::Array { elem, .. } => self.open_part(elem.ty),
            TyKind::Record(id) => match &self.record(*id).fields {
                Some(fields) => fields.iter().find_map(|f| self.open_part(f.ty.ty)),
                None => Some(ty),
            },
            _ => None,
        }
    }

    /// A record was aligned otherwise: layouts are found again.
    pub(crate) fn forget_layouts(&mut self) {
        self.layouts.get_mut().clear();
    }

    /// Whether objects of the type have a known size (a type parameter counts as having one).
    pub fn is_complete(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Void | TyKind::Func(_) => false,
            TyKind::Array { len: ArrayLen::Unknown, .. } => false,
            TyKind::Array { elem, .. } => self.is_complete(elem.ty),
            TyKind::Record(id) => self.is_complete_record(*id),
            TyKind::Enum(e) => self.enumeration(*e).complete,
            _ => true,
        }
    }

    /// Whether the type mentions a type parameter where that matters for its size or meaning.
    pub fn mentions_param(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Param(_) => true,
            TyKind::Ptr(p) => {
                matches!(p.region, Region::Param(_))
                    || matches!(p.own, Own::Param(_))
                    || self.mentions_param(p.target.ty)
            }
            TyKind::Key(_, r) | TyKind::Handle(_, r) | TyKind::RegionArg(r) => matches!(r, Region::Param(_)),
            TyKind::OwnArg(own) => matches!(own, Own::Param(_)),
            TyKind::Array { elem, .. } => self.mentions_param(elem.ty),
            TyKind::Func(f) => self.mentions_param(f.ret) || f.params.iter().any(|p| self.mentions_param(p.ty)),
            TyKind::Record(id) => self.record(*id).args.iter().any(|&a| self.mentions_param(a)),
            _ => false,
        }
    }

    /// Plain data: numbers, and structs, unions and arrays of them (language reference, "Plain
    /// data").
    pub fn is_plain(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Int(_) | TyKind::Float(_) | TyKind::Complex(_) | TyKind::Error => true,
            // The zero after a `null_terminated` array must stay: bytes are not written over it.
            TyKind::Array { elem, len, terminated } => {
                !terminated && !matches!(len, ArrayLen::Flexible(Some(_))) && self.is_plain(elem.ty)
            }
            TyKind::Record(id) => self.holds(Holds::Plain, *id, |record| {
                let plain = |f: &Field| f.tagged_by.is_none() && self.is_plain_field(f.ty.ty, record.foreign);
                let fields = record.fields.as_ref();
                record.kind != RecordKind::Tagged && fields.is_some_and(|fields| fields.iter().all(plain))
            }),
            _ => false,
        }
    }

    /// Enumerations in C's own structs are plain: no optimiser of ours trusts their range.
    fn is_plain_field(&self, ty: Ty, foreign: bool) -> bool {
        self.is_plain(ty) || (foreign && matches!(self.kind(ty), TyKind::Enum(_)))
    }

    /// Whether a zeroed object of the type would be invalid: it holds a `nonnull` pointer.
    pub fn needs_init(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) => p.nonnull,
            TyKind::Param(p) => p.nonnull,
            TyKind::Array { elem, .. } => self.needs_init(elem.ty),
            TyKind::Record(id) => self.holds(Holds::Init, *id, |record| {
                let Some(fields) = &record.fields else { return false };
                match record.kind {
                    RecordKind::Struct => fields.iter().any(|f| self.needs_init(f.ty.ty)),
                    RecordKind::Union | RecordKind::Tagged => fields.first().is_some_and(|f| self.needs_init(f.ty.ty)),
                }
            }),
            _ => false,
        }
    }

    /// Whether the type has a pointer anywhere in it (by value).
    pub fn has_pointers(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(_) | TyKind::NullPtr | TyKind::VaList | TyKind::Param(_) => true,
            TyKind::Key(..) | TyKind::Handle(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => true,
            TyKind::Array { elem, .. } => self.has_pointers(elem.ty),
            TyKind::Record(id) => self.holds(Holds::Pointers, *id, |record| {
                record.fields.as_ref().is_some_and(|fields| fields.iter().any(|f| self.has_pointers(f.ty.ty)))
            }),
            _ => false,
        }
    }

    /// The flexible array member of a record: field number and element type.
    pub fn flexible_member(&self, id: RecordId) -> Option<(u32, Qty, Option<CountId>)> {
        let fields = self.record(id).fields.clone()?;
        let last = fields.last()?;
        match self.kind(last.ty.ty) {
            TyKind::Array { elem, len: ArrayLen::Flexible(count), .. } => {
                Some((fields.len() as u32 - 1, *elem, *count))
            }
            _ => None,
        }
    }

    /// Whether a field of the type says by which other it is counted.
    pub fn is_counted(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(p) => matches!(p.bounds, Bounds::Counted(_)),
            TyKind::Array { len: ArrayLen::Flexible(count), .. } => count.is_some(),
            _ => false,
        }
    }

    /// A type of numbers, enumerations among them: a pointer to one leads to nothing else.
    pub fn is_number(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Bool | TyKind::Int(_) | TyKind::Float(_) | TyKind::Enum(_))
    }

    /// `char`, `signed char` or `unsigned char`.
    pub fn is_character(&self, ty: Ty) -> bool {
        matches!(self.kind(ty), TyKind::Int(k) if k.is_character())
    }
}

/// Lays out the fields of a record one after the other.
#[derive(Default)]
struct RecordBuilder {
    packed: bool,
    union: bool,
    /// Next free bit.
    bits: u64,
    /// Largest member of a union, in bytes.
    size: u64,
    align: u64,
    places: Vec<FieldPlace>,
}

impl RecordBuilder {
    fn add(&mut self, field: &Field, layout: Layout) -> Option<()> {
        let packed = self.packed || field.packed;
        let natural = if packed { 1 } else { layout.align };
        let align = field.align.map_or(natural, |a| a.max(natural));
        if self.union {
            self.bits = 0;
        }
        match field.width {
            Some(0) => {
                self.bits = self.bits.checked_next_multiple_of(layout.size * 8)?;
                self.places.push(FieldPlace { offset: self.bits / 8, bit: 0 });
            }
            Some(width) => {
                let unit = layout.size * 8;
                let crosses = self.bits / unit != (self.bits + u64::from(width) - 1) / unit;
                if crosses && !packed {
                    self.bits = self.bits.checked_next_multiple_of(unit)?;
                }
                let offset = self.bits / unit * layout.size;
                self.places.push(FieldPlace { offset, bit: (self.bits - offset * 8) as u32 });
                self.bits += u64::from(width);
                if field.name.is_some() {
                    self.align = self.align.max(align);
                }
            }
            None => {
                self.bits = self.bits.checked_next_multiple_of(align.checked_mul(8)?)?;
                self.places.push(FieldPlace { offset: self.bits / 8, bit: 0 });
                self.bits = self.bits.checked_add(layout.size.checked_mul(8)?)?;
                self.align = self.align.max(align);
            }
        }
        if self.union {
            self.size = self.size.max(self.bits.div_ceil(8));
        }
        Some(())
    }
}
