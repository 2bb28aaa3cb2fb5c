//! Types as the oracle needs them: kinds of values, sizes, and what is owned where.

use crate::code::Repr;
use typing::types::*;

/// How a value of the type lies in memory.
pub fn repr(types: &TypeStore, ty: Ty) -> Repr {
    match types.kind(ty) {
        TyKind::Void => Repr::None,
        TyKind::Bool => Repr::Bool,
        TyKind::Int(_) | TyKind::Enum(_) => types.as_int(ty).map_or(Repr::None, Repr::Int),
        TyKind::Float(kind) => match kind.size() {
            4 => Repr::F32,
            8 => Repr::F64,
            _ => Repr::F80,
        },
        TyKind::Ptr(_) => match types.words(ty) {
            1 => Repr::Ptr,
            n => Repr::Words(n as u8),
        },
        TyKind::NullPtr | TyKind::Key(..) | TyKind::Handle(..) | TyKind::Endpoint(_) => Repr::Ptr,
        TyKind::EndSet(_) | TyKind::Func(_) => Repr::Ptr,
        TyKind::Array { .. } | TyKind::Record(_) | TyKind::VaList | TyKind::Complex(_) => Repr::Blob,
        TyKind::Error | TyKind::Param(_) | TyKind::RegionArg(_) | TyKind::OwnArg(_) => Repr::None,
    }
}

/// Bytes of a value; 0 if the type has none.
pub fn size(types: &TypeStore, ty: Ty) -> u64 {
    types.layout(ty).map_or(0, |l| l.size)
}

/// Alignment.
pub fn align(types: &TypeStore, ty: Ty) -> u64 {
    types.layout(ty).map_or(1, |l| l.align)
}

/// Something owned in a value.
#[derive(Clone, Copy, Debug)]
pub struct Owned {
    /// Where it lies.
    pub off: u64,
    /// What it is: an owned pointer, a key, an end of a channel, a set of ends.
    pub ty: Ty,
    /// Bytes.
    pub size: u64,
}

/// What a value of the type owns where it lies in `data`: the tags there say which members of
/// unions count. At most `limit`.
pub fn owned(types: &TypeStore, ty: Ty, data: &[u8], limit: usize) -> Vec<Owned> {
    let mut out = vec![];
    collect(types, ty, data, 0, 0, limit, &mut out);
    out
}

fn collect(types: &TypeStore, ty: Ty, data: &[u8], off: u64, depth: u32, limit: usize, out: &mut Vec<Owned>) {
    if depth > 100 || out.len() >= limit || !mir::ty::owns(types, ty) {
        return;
    }
    match types.kind(ty) {
        TyKind::Ptr(_) | TyKind::Key(..) | TyKind::Endpoint(_) | TyKind::EndSet(_) => {
            out.push(Owned { off, ty, size: size(types, ty) });
        }
        TyKind::Array { elem, len: ArrayLen::Const(n), .. } => {
            let step = size(types, elem.ty);
            for i in 0..*n {
                if out.len() >= limit {
                    return;
                }
                collect(types, elem.ty, data, off + i * step, depth + 1, limit, out);
            }
        }
        TyKind::Array { elem, len: ArrayLen::Flexible(_), .. } => {
            let step = size(types, elem.ty).max(1);
            let mut at = off;
            while at + step <= data.len() as u64 && out.len() < limit {
                collect(types, elem.ty, data, at, depth + 1, limit, out);
                at += step;
            }
        }
        TyKind::Record(id) => {
            let record = types.record(*id);
            let (Some(fields), Some((_, places))) = (record.fields.clone(), types.record_layout(*id)) else { return };
            let int = |at: u64, size: u64| -> i128 {
                let mut bytes = [0u8; 16];
                for (to, from) in bytes.iter_mut().zip(data.iter().skip(at as usize).take(size as usize)) {
                    *to = *from;
                }
                i128::from_le_bytes(bytes)
            };
            for (n, (field, place)) in fields.iter().zip(&places).enumerate() {
                let at = off + place.offset;
                match record.kind {
                    RecordKind::Struct => match &field.tagged_by {
                        None => collect(types, field.ty.ty, data, at, depth + 1, limit, out),
                        Some(tagged) => {
                            let Some(tag) = fields.get(tagged.tag as usize) else { continue };
                            let Some(kind) = types.as_int(tag.ty.ty) else { continue };
                            let Some(tag_at) = places.get(tagged.tag as usize) else { continue };
                            let value = kind.wrap(int(off + tag_at.offset, kind.size()));
                            let Some(union) = types.as_record(field.ty.ty) else { continue };
                            let members = types.record(union).fields.clone();
                            for (_, member) in tagged.arms.iter().filter(|(v, _)| *v == value) {
                                if let Some(m) = members.as_ref().and_then(|m| m.get(*member as usize)) {
                                    collect(types, m.ty.ty, data, at, depth + 1, limit, out);
                                }
                            }
                        }
                    },
                    RecordKind::Tagged => {
                        if int(off, 4) == n as i128 {
                            collect(types, field.ty.ty, data, at, depth + 1, limit, out);
                        }
                    }
                    RecordKind::Union => {}
                }
            }
        }
        _ => {}
    }
}

/// Whether a pointer's target is freed with the pointer: it lies in a heap and not in an arena
/// (regions are erased to that).
pub fn in_heap(pointer: &Pointer) -> bool {
    matches!(pointer.region, Region::Heap | Region::Exchange)
}
