//! Calls that leave everything that owns as it is.

use mir::ir::*;
use mir::ty::{operand_ty, owns};
use typing::types::{FuncTy, Ty, TyKind};

/// Whether the call of a trusted function leaves all slots as they are: it gets nothing that it
/// could change one through, and nothing to call.
pub(crate) fn is_leaf(program: &Program, body: &Body, callee: &Callee, args: &[Operand], ty: Ty) -> bool {
    let types = &program.types;
    let leaf = |f: &FuncTy| f.leaf && f.params.iter().all(|p| !p.consume && is_harmless(program, p.ty));
    let given = |arg: &Operand| operand_ty(program, body, arg).is_ok_and(|ty| is_harmless(program, ty));
    callee.is_trusted(program) && types.as_func(ty).is_some_and(|f| leaf(&f)) && args.iter().all(given)
}

/// Whether other tasks may run before a call of a function of the type returns, once its arguments
/// were read.
pub(crate) fn waits(program: &Program, ty: Ty) -> bool {
    program.types.as_func(ty).is_some_and(|f| f.waits)
}

/// Whether nothing that owns, and no function, is reached through a value of the type.
fn is_harmless(program: &Program, ty: Ty) -> bool {
    let types = &program.types;
    match types.as_pointer(ty) {
        Some(p) => !owns(types, p.target.ty) && !matches!(types.kind(p.target.ty), TyKind::Func(_)),
        None => true,
    }
}
