//! What a process is given when it is spawned: what of it is more than bytes.

use crate::types::*;

/// What the type of a process's handle is called in C.
pub const PID: &str = "lee_pid";

/// What in a value is more than bytes when it goes to another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handed {
    /// An end of a channel.
    Endpoint,
    /// A process.
    Pid,
}

impl TypeStore {
    /// Shows what a value of an exchangeable type holds that is more than bytes, with the numbers
    /// of the fields that lead there. False if some of it has no fixed place: it lies in a union,
    /// an array or behind a pointer.
    pub fn each_handed(&self, ty: Ty, path: &mut Vec<u32>, see: &mut dyn FnMut(&[u32], Handed)) -> bool {
        match self.kind(ty) {
            TyKind::Endpoint(_) => see(path, Handed::Endpoint),
            TyKind::Ptr(_) if self.is_pid(ty) => see(path, Handed::Pid),
            TyKind::Ptr(_) | TyKind::Key(..) => return false,
            TyKind::Record(id) => {
                let record = self.record(*id);
                let fixed = record.kind == RecordKind::Struct;
                for (n, field) in (0..).zip(record.fields.iter().flat_map(|fields| fields.iter())) {
                    path.push(n);
                    let mut found = false;
                    let known = self.each_handed(field.ty.ty, path, &mut |path, what| {
                        found = true;
                        see(path, what);
                    });
                    path.pop();
                    if !known || (found && !fixed) {
                        return false;
                    }
                }
            }
            TyKind::Array { elem, .. } => {
                let mut found = false;
                return self.each_handed(elem.ty, &mut vec![], &mut |_, _| found = true) && !found;
            }
            _ => {}
        }
        true
    }

    /// Whether it is the type `pid`.
    pub fn is_pid(&self, ty: Ty) -> bool {
        let TyKind::Ptr(p) = self.kind(ty) else { return false };
        let record = self.as_record(p.target.ty).map(|id| self.record(id));
        p.own == Own::Shared
            && p.bounds == Bounds::Thin
            && record.is_some_and(|r| r.fields.is_none() && r.tag.is_some_and(|tag| tag.as_str() == PID))
    }
}
