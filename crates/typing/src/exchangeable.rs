//! Exchangeable types: whose values may move to another process (docs/reference/contracts.md).

use crate::types::*;

/// What the type of a process's handle is called in C.
pub const PID: &str = "lee_pid";

/// The same of a custodian.
const CUSTODIAN: &str = "lee_custodian";

/// Of open files, directories and custodians.
const HANDLES: &[&str] = &["lee_file", "lee_dir", CUSTODIAN];

/// The same of a descriptor.
const DESCRIPTOR: &str = "lee_descriptor";

/// Where a part of an exchangeable value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    /// By value in a message or in the arguments of a process, where the runtime finds it while it
    /// is on its way: so it may name processes and custodians.
    InMessage,
    /// In a block, or in a union without a tag.
    Within,
    /// In an exchange arena, behind the hidden region with this number. Its objects own nothing
    /// outside of it.
    InArena(u32),
}

impl Position {
    fn in_arena(self) -> bool {
        matches!(self, Position::InArena(_))
    }
}

/// A record, where it is, and the arenas that go along.
type Seen = (RecordId, Position, Vec<u32>);

impl TypeStore {
    /// Whether a block of the exchange heap may hold values of the type: nothing that belongs to
    /// one process can be reached from them.
    pub fn is_exchangeable(&self, ty: Ty) -> bool {
        self.unfit(ty, Position::Within, &[], &mut vec![]).is_none()
    }

    /// Of what is an argument of a message or of a process, a part that belongs to one process;
    /// none if values of the type may go to another. They may also name processes and custodians.
    pub fn not_exchangeable(&self, ty: Ty) -> Option<Ty> {
        self.unfit(ty, Position::InMessage, &[], &mut vec![])
    }

    /// The same of an argument of a process, which may be a set or map of endpoints, too: it moves
    /// with all of its members. A set lies in the argument itself, and the values of a map name no
    /// processes or custodians.
    pub fn not_for_process(&self, ty: Ty) -> Option<Ty> {
        let TyKind::EndSet(set) = self.kind(ty) else { return self.not_exchangeable(ty) };
        if self.contract(set.end.contract).is_none_or(|contract| contract.local) {
            return Some(ty);
        }
        let value = self.map_value(set).filter(|value| !self.is_exchangeable(*value));
        value.map(|_| ty)
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

    /// `arenas`: the hidden regions of the struct around whose arenas go along, by their keys.
    /// `seen`: records that are looked at already; types of lists mention themselves.
    fn unfit(&self, ty: Ty, position: Position, arenas: &[u32], seen: &mut Vec<Seen>) -> Option<Ty> {
        match self.kind(ty) {
            TyKind::Bool | TyKind::Int(_) | TyKind::Float(_) | TyKind::Complex(_) | TyKind::Enum(_) | TyKind::Error => {
                None
            }
            TyKind::Param(param) if param.exchange => None,
            TyKind::Ptr(_) if position == Position::InMessage && (self.is_pid(ty) || self.is_custodian(ty)) => None,
            TyKind::Ptr(Pointer {
                region: Region::Exists(n),
                own: Own::Shared | Own::Unique,
                raw: false,
                target,
                ..
            }) if arenas.contains(n) => self.unfit(target.ty, Position::InArena(*n), &[*n], seen),
            TyKind::Key(KeyKind::Exchange, Region::Exists(n)) if arenas.contains(n) && !position.in_arena() => None,
            _ if position.in_arena() && self.owns(ty) && self.as_record(ty).is_none() => Some(ty),
            TyKind::Ptr(p) if p.region == Region::Exchange && p.own == Own::Unique && !p.raw => {
                match self.is_opaque(p.target.ty, DESCRIPTOR) {
                    true => None,
                    // The block is described without the struct around.
                    false => self.unfit(p.target.ty, Position::Within, &[], seen),
                }
            }
            // Frozen: it does not change, and it owns nothing else.
            TyKind::Ptr(p) if p.region == Region::Exchange && p.own == Own::Rc && !p.raw => self
                .unfit(p.target.ty, Position::Within, &[], seen)
                .or((!self.owns_frozen_only(p.target.ty)).then_some(ty)),
            TyKind::Endpoint(endpoint) => match self.contract(endpoint.contract) {
                Some(contract) if !contract.local => None,
                _ => Some(ty),
            },
            TyKind::Array { len: ArrayLen::Variable(_), .. } => Some(ty),
            TyKind::Array { elem, .. } => self.unfit(elem.ty, position, arenas, seen),
            TyKind::Record(id) => {
                let record = self.record(*id);
                let hides = !record.exists.is_empty();
                if hides && position.in_arena() {
                    return Some(ty);
                }
                let hidden = if hides { self.arenas_of(record) } else { arenas.to_vec() };
                let key = (*id, position, hidden);
                if seen.contains(&key) {
                    return None;
                }
                let hidden = key.2.clone();
                seen.push(key);
                // What an incomplete struct holds is not known.
                let Some(fields) = &record.fields else { return Some(ty) };
                let position = if record.kind == RecordKind::Union { Position::Within } else { position };
                fields.iter().find_map(|f| self.unfit(f.ty.ty, position, &hidden, seen))
            }
            _ => Some(ty),
        }
    }

    /// Whether all that a value of the type owns is frozen blocks, so that it may be frozen itself.
    pub fn owns_frozen_only(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Param(param) => param.frozen || !param.moves,
            TyKind::Ptr(p) => !p.own.is_owned() || (p.region == Region::Exchange && p.own == Own::Rc && !p.raw),
            TyKind::Array { elem, .. } => self.owns_frozen_only(elem.ty),
            TyKind::Record(id) if self.owns(ty) => {
                let fields = &self.record(*id).fields;
                fields.as_ref().is_some_and(|fields| fields.iter().all(|f| self.owns_frozen_only(f.ty.ty)))
            }
            _ => !self.owns(ty),
        }
    }

    /// The numbers of the regions that a struct hides together with the key of an exchange arena.
    fn arenas_of(&self, record: &Record) -> Vec<u32> {
        let keys = record.fields.iter().flat_map(|fields| fields.iter()).filter_map(|f| match self.kind(f.ty.ty) {
            TyKind::Key(KeyKind::Exchange, Region::Exists(n)) => Some(*n),
            _ => None,
        });
        keys.filter(|n| record.exists.get(*n as usize).is_some_and(|bound| bound.is_none())).collect()
    }

    /// Whether it is the type `pid`.
    pub fn is_pid(&self, ty: Ty) -> bool {
        self.is_shared_handle(ty, PID)
    }

    /// Whether it is the type `custodian *`.
    pub fn is_custodian(&self, ty: Ty) -> bool {
        self.is_shared_handle(ty, CUSTODIAN)
    }

    fn is_shared_handle(&self, ty: Ty, tag: &str) -> bool {
        let TyKind::Ptr(p) = self.kind(ty) else { return false };
        let plain = p.own == Own::Shared && p.bounds == Bounds::Thin && p.region == Region::Heap && !p.raw;
        plain && self.is_opaque(p.target.ty, tag)
    }

    /// Whether it is what `FILE`, `DIR` or `custodian` stands for.
    pub fn is_handle_of_runtime(&self, ty: Ty) -> bool {
        HANDLES.iter().any(|tag| self.is_opaque(ty, tag))
    }

    /// Whether it is a struct of the runtime's that no program can look into.
    fn is_opaque(&self, ty: Ty, tag: &str) -> bool {
        let record = self.as_record(ty).map(|id| self.record(id));
        record.is_some_and(|r| r.fields.is_none() && r.tag.is_some_and(|t| t.as_str() == tag))
    }

    /// Whether a value that may go to another process names processes or custodians.
    pub fn names_others(&self, ty: Ty) -> bool {
        match self.kind(ty) {
            TyKind::Ptr(_) => self.is_pid(ty) || self.is_custodian(ty),
            TyKind::Array { elem, .. } => self.names_others(elem.ty),
            TyKind::Record(id) => {
                let fields = &self.record(*id).fields;
                fields.as_ref().is_some_and(|fields| fields.iter().any(|f| self.names_others(f.ty.ty)))
            }
            _ => false,
        }
    }
}
