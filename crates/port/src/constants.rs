//! What constants give the slots of what they initialise.

use crate::flows::{Flows, Source};
use crate::slots::{own_function, Node};
use crate::Unit;
use typing::tree::{ConstAddr, ConstInit, GlobalId};
use typing::types::{ArrayLen, Ty, TyKind};

impl Flows {
    /// What a constant gives the slots of what it initialises.
    pub fn constant(&mut self, units: &[Unit], unit: usize, init: &ConstInit, ty: Ty, to: Option<Node>) {
        let Some(tree) = units.get(unit).map(|u| u.tree) else { return };
        let size = |ty: Ty| tree.types.layout(ty).map(|l| l.size);
        let global = |id: &GlobalId| tree.globals.get(id.0 as usize).map(|g| g.ty.ty);
        match (init, tree.types.kind(ty)) {
            (ConstInit::Addr(ConstAddr::Func(f), _) | ConstInit::TypedVoid(ConstAddr::Func(f), ..), _) => {
                self.taken.extend(own_function(units, unit, f.func).map(|(func, _)| func));
            }
            (ConstInit::Aggregate(all), kind) => {
                for (n, init) in all {
                    let (ty, to) = match kind {
                        TyKind::Record(record) => {
                            let fields = tree.types.record(*record).fields.as_ref();
                            let Some(field) = fields.and_then(|f| f.get(*n as usize)) else { continue };
                            let slot = self.slots.field(units, unit, *record, *n as u32);
                            (field.ty.ty, slot.map(|slot| (slot, 0)))
                        }
                        TyKind::Array { elem, .. } => (elem.ty, to.map(|(slot, depth)| (slot, depth + 1))),
                        _ => continue,
                    };
                    self.constant(units, unit, init, ty, to);
                }
            }
            (ConstInit::Tagged(n, init), TyKind::Record(record)) => {
                let field = tree.types.record(*record).fields.as_ref().and_then(|f| f.get(*n as usize));
                let slot = self.slots.field(units, unit, *record, *n);
                if let Some(ty) = field.map(|f| f.ty.ty) {
                    self.constant(units, unit, init, ty, slot.map(|slot| (slot, 0)));
                }
            }
            (init, TyKind::Ptr(p)) => {
                // The address of a whole array of such elements.
                let whole = |of: Ty| match *tree.types.kind(of) {
                    TyKind::Array { elem, len: ArrayLen::Const(_), .. } => elem.ty == p.target.ty,
                    _ => false,
                };
                let source = match init {
                    ConstInit::Zero => Source::Null,
                    ConstInit::Addr(ConstAddr::Str(id), _) | ConstInit::Fat(ConstAddr::Str(id), ..) => {
                        Source::Literal(tree.strings.get(id.0 as usize).map_or(0, |s| s.units.len() as u64))
                    }
                    ConstInit::Addr(ConstAddr::Global(g), _) if global(g).is_some_and(whole) => Source::Object(None),
                    ConstInit::Fat(ConstAddr::Global(g), _, 0, end)
                        if global(g).and_then(size) == u64::try_from(*end).ok() =>
                    {
                        Source::Object(None)
                    }
                    _ => Source::Unknown,
                };
                self.edges.extend(to.map(|to| (source, to)));
                // The address of a pointer: what has it may write to it.
                let ConstInit::Addr(ConstAddr::Global(g), _) = init else { return };
                if tree.types.as_pointer(p.target.ty).is_none() {
                    return;
                }
                let slot = self.slots.global(units, unit, *g);
                self.edges.extend(slot.map(|slot| (Source::Unknown, (slot, 0))));
                if let Some(ty) = global(g) {
                    self.exposed(units, unit, ty);
                }
            }
            _ => {}
        }
    }

    /// Something else writes to an object of the type.
    pub fn exposed(&mut self, units: &[Unit], unit: usize, ty: Ty) {
        let Some(tree) = units.get(unit).map(|u| u.tree) else { return };
        let Some(record) = tree.types.as_record(ty) else { return };
        let count = tree.types.record(record).fields.as_ref().map_or(0, |fields| fields.len());
        for n in 0..count as u32 {
            let slot = self.slots.field(units, unit, record, n);
            self.edges.extend(slot.map(|slot| (Source::Unknown, (slot, 0))));
        }
    }
}
