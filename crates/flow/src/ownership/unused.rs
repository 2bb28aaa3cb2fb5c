//! Blocks of the exchange heap, their keys, and ends of channels that nothing takes: what a call
//! gives and a statement drops, tests, compares, prints or lends. To lose one is an error whatever
//! the options say; what is lost in the collected heap is the collector's.
//!
//! A temporary that is moved into something that does not own has no owner afterwards.

use mir::ir::*;
use mir::ty::{operand_ty, owns, place_ty};
use typing::types::Ty;

use super::paths::is_strict;
use super::report::Finding;
use super::Ownership;
use crate::framework::moved_temp;

impl Ownership<'_> {
    /// Finds them all.
    pub fn unused_results(&self, found: &mut Vec<Finding>) {
        let types = &self.program.types;
        let owning = |place: &Place| place_ty(self.program, self.body, place).is_ok_and(|q| owns(types, q.ty));
        for stmt in self.body.blocks.iter().flat_map(|b| &b.stmts).filter(|s| !s.is_unsafe) {
            let mut lost = false;
            if let Some((_, value)) = stmt.kind.as_assign().filter(|(dest, _)| !owning(dest)) {
                mir::effects::rvalue_operands(value, &mut |operand| lost |= self.gives_up(operand));
            }
            if let Some(Call { callee, dest, args, ty }) = stmt.kind.as_call() {
                if let Some(func) =
                    types.as_func(*ty).filter(|_| matches!(callee, Callee::Direct(_) | Callee::Pointer(_)))
                {
                    let takes = |n: usize| func.params.get(n).is_some_and(|p| p.consume || !self.is_lent(p.ty));
                    lost |= !dest.as_ref().is_some_and(owning) && self.is_kept_strictly(func.ret);
                    lost |= args.iter().enumerate().any(|(n, arg)| !takes(n) && self.gives_up(arg));
                }
            }
            if lost {
                found.push(Finding::unused(stmt.span));
            }
        }
    }

    /// Whether a parameter of the type owns nothing of what it is given.
    fn is_lent(&self, ty: Ty) -> bool {
        !owns(&self.program.types, ty) || self.program.types.as_record(ty).is_some()
    }

    fn is_kept_strictly(&self, ty: Ty) -> bool {
        owns(&self.program.types, ty) && is_strict(&self.program.types, self.regions, ty)
    }

    fn gives_up(&self, operand: &Operand) -> bool {
        moved_temp(self.body, operand).is_some()
            && operand_ty(self.program, self.body, operand).is_ok_and(|ty| self.is_kept_strictly(ty))
    }
}
