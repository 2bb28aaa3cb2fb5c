//! Exchangeable types: whose values may move to another process (docs/reference/contracts.md).

use crate::types::{ArrayLen, Own, RecordId, Region, Ty, TyKind, TypeStore};

impl TypeStore {
    /// Whether values of the type may move to another process: nothing that belongs to one process
    /// can be reached from them.
    pub fn is_exchangeable(&self, ty: Ty) -> bool {
        self.not_exchangeable(ty).is_none()
    }

    /// A part of the type whose values belong to one process; none if the type is exchangeable.
    pub fn not_exchangeable(&self, ty: Ty) -> Option<Ty> {
        self.unfit(ty, false, &mut vec![])
    }

    /// The same of what a process is given when it is spawned, to which `pid`s may belong.
    pub fn not_given(&self, ty: Ty) -> Option<Ty> {
        self.unfit(ty, true, &mut vec![])
    }

    /// Whether a set of endpoints can be reached from a value of the type.
    pub fn holds_end_set(&self, ty: Ty) -> bool {
        self.reaches_set(ty, &mut vec![])
    }

    fn reaches_set(&self, ty: Ty, seen: &mut Vec<RecordId>) -> bool {
        match self.kind(ty) {
            TyKind::EndSet(_) => true,
            TyKind::Ptr(p) => self.reaches_set(p.target.ty, seen),
            TyKind::Array { elem, .. } => self.reaches_set(elem.ty, seen),
            TyKind::Record(id) if !seen.contains(id) => {
                seen.push(*id);
                self.record(*id).fields.iter().flat_map(|f| f.iter()).any(|f| self.reaches_set(f.ty.ty, seen))
            }
            _ => false,
        }
    }

    /// `seen`: records that are looked at already; types of lists mention themselves.
    fn unfit(&self, ty: Ty, pids: bool, seen: &mut Vec<RecordId>) -> Option<Ty> {
        match self.kind(ty) {
            TyKind::Bool | TyKind::Int(_) | TyKind::Float(_) | TyKind::Complex(_) | TyKind::Enum(_) | TyKind::Error => {
                None
            }
            TyKind::Ptr(_) if pids && self.is_pid(ty) => None,
            TyKind::Ptr(p) if p.region == Region::Exchange && p.own == Own::Unique && !p.raw => {
                self.unfit(p.target.ty, pids, seen)
            }
            TyKind::Endpoint(endpoint) => match self.contract(endpoint.contract) {
                Some(contract) if !contract.local => None,
                _ => Some(ty),
            },
            TyKind::Array { len: ArrayLen::Variable(_), .. } => Some(ty),
            TyKind::Array { elem, .. } => self.unfit(elem.ty, pids, seen),
            TyKind::Record(id) if seen.contains(id) => None,
            TyKind::Record(id) => {
                seen.push(*id);
                // What an incomplete struct holds is not known.
                let Some(fields) = &self.record(*id).fields else { return Some(ty) };
                fields.iter().find_map(|f| self.unfit(f.ty.ty, pids, seen))
            }
            _ => Some(ty),
        }
    }
}
