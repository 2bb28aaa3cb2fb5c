//! Layouts: which words of an object the collector reads (`runtime/include/lee/layout.h`).
//!
//! Needs types with known places of their fields. Guarantees: a layout names every word that can
//! hold a pointer to the heap, of a pointer of several words the one that keeps the object: the
//! lower bound, or the address. What is not known for sure is `Unknown`, and every word of it is
//! taken for a pointer when the program runs.

use crate::unit::Unit;
use std::fmt::Write;
use typing::types::*;

/// Arrays with more pointers in one element of a heap object are read word by word.
const MOST_WORDS: usize = 4096;
/// Bytes of the largest element of a variable whose layout is written down.
const LARGEST_ELEMENT: u64 = 64 << 10;
/// Bits in a mask.
const MASK_WORDS: u64 = 64;

/// What is known of a type's pointers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Words {
    /// It holds none.
    None,
    /// They are at these words of an object of that many bytes.
    At {
        /// Size as `typing` computes it; the emitted text compares it with `sizeof`.
        bytes: u64,
        /// Numbers of words, ascending.
        words: Vec<u64>,
    },
    /// Any word may be one.
    Unknown,
}

/// The words of a type.
pub fn words(types: &TypeStore, ty: Ty) -> Words {
    let mut offsets = vec![];
    if collect(types, ty, 0, &mut offsets).is_none() {
        return Words::Unknown;
    }
    if offsets.is_empty() {
        return Words::None;
    }
    let Some(layout) = types.layout(ty) else { return Words::Unknown };
    offsets.sort_unstable();
    offsets.dedup();
    // The bug: the collector does not see the last pointer.
    if source::broken!(42) {
        offsets.pop();
    }
    Words::At { bytes: layout.size, words: offsets.iter().map(|o| o / 8).collect() }
}

/// Adds the byte offsets of pointers; `None` if they are not known, or not aligned.
fn collect(types: &TypeStore, ty: Ty, base: u64, out: &mut Vec<u64>) -> Option<()> {
    match types.kind(ty) {
        TyKind::Error | TyKind::Void | TyKind::Func(_) | TyKind::Param(_) => None,
        TyKind::RegionArg(_) | TyKind::OwnArg(_) => None,
        // A key is reached, and with it its arena.
        TyKind::Key(..) => {
            if base % 8 != 0 || out.len() >= MOST_WORDS {
                return None;
            }
            out.push(base);
            Some(())
        }
        // An endpoint is not an object of any heap.
        TyKind::Handle(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => Some(()),
        TyKind::Bool | TyKind::Int(_) | TyKind::Float(_) | TyKind::Complex(_) => Some(()),
        TyKind::Enum(_) | TyKind::NullPtr | TyKind::VaList => Some(()),
        TyKind::Ptr(p) if matches!(types.kind(p.target.ty), TyKind::Func(_)) => Some(()),
        TyKind::Ptr(p) => {
            // Address, lower bound, upper bound: the address may be anywhere.
            let offset = base.checked_add(if p.bounds.is_fat() { 8 } else { 0 })?;
            if offset % 8 != 0 || out.len() >= MOST_WORDS {
                return None;
            }
            out.push(offset);
            Some(())
        }
        TyKind::Array { elem, len, .. } => {
            let mut one = vec![];
            collect(types, elem.ty, 0, &mut one)?;
            let ArrayLen::Const(n) = len else { return one.is_empty().then_some(()) };
            if one.is_empty() {
                return Some(());
            }
            let size = types.layout(elem.ty)?.size;
            if *n > MOST_WORDS as u64 {
                return None;
            }
            for i in 0..*n {
                collect(types, elem.ty, base.checked_add(i.checked_mul(size)?)?, out)?;
            }
            Some(())
        }
        // The answer is kept for each type; to walk the parts takes exponential time if they nest.
        TyKind::Record(_) if types.is_complete(ty) && !types.has_pointers(ty) => Some(()),
        TyKind::Record(id) => {
            let fields = types.record(*id).fields.clone()?;
            let (_, places) = types.record_layout(*id)?;
            for (field, place) in fields.iter().zip(&places) {
                if field.width.is_none() && !matches!(types.kind(field.ty.ty), TyKind::Void) {
                    collect(types, field.ty.ty, base.checked_add(place.offset)?, out)?;
                }
            }
            Some(())
        }
    }
}

/// Whether objects of the record, or arrays of it, have pointers where no aligned word is
/// (`__attribute__((packed))`).
pub fn has_unaligned(types: &TypeStore, id: RecordId) -> bool {
    let (Some(fields), Some((layout, places))) = (types.record(id).fields.clone(), types.record_layout(id)) else {
        return false;
    };
    fields
        .iter()
        .zip(&places)
        .any(|(f, at)| types.has_pointers(f.ty.ty) && (at.offset % 8 != 0 || layout.size % 8 != 0 || layout.align < 8))
}

/// The masks of a layout of that many bytes: one for each 512 that begin, as the collector counts
/// them. The size of a packed struct need not be a multiple of a word's.
fn masks(bytes: u64, words: &[u64]) -> Vec<u64> {
    let mut masks = vec![0u64; bytes.div_ceil(8 * MASK_WORDS) as usize];
    for word in words {
        if let Some(mask) = masks.get_mut((word / MASK_WORDS) as usize) {
            *mask |= 1 << (word % MASK_WORDS);
        }
    }
    masks
}

/// The alignment of a type, if it is more than each block has.
pub fn large_alignment(types: &TypeStore, ty: Ty) -> Option<u64> {
    types.layout(ty).map(|layout| layout.align).filter(|&align| align > 16)
}

/// What the collector reads of objects of the heap, as their descriptors say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// Nothing.
    Nothing,
    /// The words whose bits are set, again in each element of that many bytes.
    Masks(u64, Vec<u64>),
    /// Each word, as if it were a pointer.
    All,
}

/// What the collector reads of objects that are allocated as elements of the type. `flexible`: more
/// than the elements follows.
pub fn read(types: &TypeStore, elem: Ty, flexible: bool) -> Read {
    match words(types, elem) {
        Words::None => Read::Nothing,
        Words::At { bytes, words } if !flexible && large_alignment(types, elem).is_none() => {
            Read::Masks(bytes, masks(bytes, &words))
        }
        Words::At { .. } | Words::Unknown => Read::All,
    }
}

/// How objects of a type are allocated.
pub enum Allocation {
    /// Without a header.
    Plain,
    /// With the layout of that name.
    Typed(String),
    /// Without a header, but with that layout if what the C text says is so.
    Asked(String, String),
    /// Any word may be a pointer.
    Conservative,
}

/// What a block holds before its object.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Front {
    /// Nothing.
    None,
    /// A count.
    Count,
    /// As much as the alignment takes.
    Align(u64),
}

impl Front {
    fn of(align: Option<u64>) -> Front {
        align.map_or(Front::None, Front::Align)
    }
}

impl Unit<'_> {
    /// How to allocate elements of the type. `flexible`: more than the elements follows, of which
    /// the exact size counts.
    pub fn allocation(&mut self, elem: Ty, flexible: bool) -> Allocation {
        let asked = self.contained(elem);
        let needed = asked.is_some() || mir::ty::holds_counts(self.types, elem);
        let align = self.large_alignment(elem);
        match (read(self.types, elem, flexible), asked) {
            (Read::Nothing, None) if flexible => Allocation::Typed("lee_layout_plain".into()),
            (Read::Nothing, None) => Allocation::Plain,
            (Read::Nothing, Some(test)) => {
                let layout = self.loose_layout(elem, "LEE_LAYOUT_PLAIN", Front::of(align));
                if flexible || test == "1" {
                    Allocation::Typed(layout)
                } else {
                    Allocation::Asked(test, layout)
                }
            }
            (Read::Masks(bytes, masks), _) => Allocation::Typed(self.layout(elem, bytes, &masks)),
            (Read::All, _) if needed => {
                Allocation::Typed(self.loose_layout(elem, "LEE_LAYOUT_CONSERVATIVE", Front::of(align)))
            }
            (Read::All, _) => Allocation::Conservative,
        }
    }

    /// The layout of a variable's elements, or `0` if they hold no pointers. `None`: it is constant
    /// and not read at all, or has many pointers, or its members are better looked at one by one.
    pub fn sparse_layout(&mut self, ty: Qty) -> Option<String> {
        let (mut elem, mut is_const) = (ty.ty, ty.quals.is_const);
        while let TyKind::Array { elem: inner, len: ArrayLen::Const(_), .. } = self.types.kind(elem) {
            is_const |= inner.quals.is_const;
            elem = inner.ty;
        }
        match words(self.types, elem) {
            // Constants without addresses lie in memory that is not read.
            Words::None => (!is_const).then(|| "0".into()),
            Words::At { bytes, words } if (words.len() as u64) < bytes / 8 && bytes <= LARGEST_ELEMENT => {
                Some(format!("&{}", self.layout(elem, bytes, &masks(bytes, &words))))
            }
            _ => None,
        }
    }

    /// The layout of counted objects, if something must be done when one is found dead, or
    /// `container_of` can ask for what is in them.
    pub fn counted_layout(&mut self, elem: Ty) -> Option<String> {
        let front = self.large_alignment(elem).map_or(Front::Count, Front::Align);
        let needed = self.container(elem).is_some() || mir::ty::holds_counts(self.types, elem);
        needed.then(|| self.loose_layout(elem, "LEE_LAYOUT_CONSERVATIVE", front))
    }

    /// A layout that says no more of the pointers than its kind does.
    fn loose_layout(&mut self, ty: Ty, kind: &str, front: Front) -> String {
        if let Some(name) = self.loose_layouts.get(&(ty, front)) {
            return name.clone();
        }
        let name = format!("lee__loose_{}", self.loose_layouts.len());
        self.loose_layouts.insert((ty, front), name.clone());
        let size = if kind == "LEE_LAYOUT_PLAIN" { "1" } else { "8" };
        let (text, more, align) = match front {
            Front::None => ("0".to_string(), 0, 0),
            Front::Count => ("LEE_COUNT_BYTES".to_string(), 16, 0),
            Front::Align(align) => (format!("{align} - ((uintptr_t)object & {})", align - 1), align, align),
        };
        let drop = self.dead_function(ty, &text, more).unwrap_or_else(|| "0".into());
        let container = self.container(ty).unwrap_or_else(|| "0".into());
        let count = if front == Front::Count { "LEE_COUNT_BYTES" } else { "0" };
        let described = self.description(&name, ty, front);
        let _ = writeln!(
            self.layout_definitions,
            "static const struct lee_layout {name} = {{ .bytes = {size}, .kind = {kind}, .drop = {drop}, .align = {align}, .front = {count}, .container = {container}{described} }};"
        );
        name
    }

    fn layout(&mut self, ty: Ty, bytes: u64, masks: &[u64]) -> String {
        if let Some(name) = self.layouts.get(&ty) {
            return name.clone();
        }
        let name = format!("lee__layout_{}", self.layouts.len());
        self.c.need(ty);
        self.layouts.insert(ty, name.clone());
        let container = self.container(ty).unwrap_or_else(|| "0".into());
        let drop = self.dead_function(ty, "0", 0).unwrap_or_else(|| "0".into());
        let mut more = "0".to_string();
        if masks.len() > 1 {
            more = format!("{name}_more");
            let texts: Vec<String> = masks.iter().map(|m| format!("0x{m:x}u")).collect();
            let _ = writeln!(
                self.layout_definitions,
                "static const uint64_t {more}[{}] = {{ {} }};",
                masks.len(),
                texts.join(", ")
            );
        }
        let first = masks.first().copied().unwrap_or(0);
        let kind = if masks.len() > 1 { "LEE_LAYOUT_MIXED" } else { "LEE_LAYOUT_WORDS" };
        let size = self.c.sizeof_text(ty);
        let described = self.description(&name, ty, Front::None);
        // If the C compiler lays the type out differently, nothing is known of it.
        let _ = writeln!(
            self.layout_definitions,
            "static const struct lee_layout {name} = {{ .bytes = {size}, .kind = {size} == {bytes} ? {kind} : LEE_LAYOUT_CONSERVATIVE, .words = 0x{first:x}u, .more = {more}, .drop = {drop}, .container = {container}{described} }};"
        );
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_hold_a_bit_for_each_word() {
        assert_eq!(masks(24, &[0, 2]), [0b101]);
        assert_eq!(masks(512, &[63]), [1 << 63]);
        assert_eq!(masks(520, &[64]), [0, 1]);
        assert_eq!(masks(1025, &[0]), [1, 0, 0]);
    }

    #[test]
    fn plain_data_has_no_words() {
        let types = TypeStore::default();
        assert_eq!(words(&types, types.common.int), Words::None);
        assert_eq!(words(&types, types.common.void), Words::Unknown);
    }
}
