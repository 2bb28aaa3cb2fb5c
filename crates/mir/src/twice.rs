//! Calls that may return a second time.

use crate::ir::*;

/// Whether the body calls what may return a second time. Then code that comes first in the text may
/// run after the rest, with locals that hold what they held at any time between.
pub fn returns_twice(program: &Program, body: &Body) -> bool {
    let named = |callee: &Callee| match callee {
        Callee::Direct(f) => program.functions.get(f.func.0 as usize).map(|f| f.name),
        Callee::Builtin(name) => Some(*name),
        Callee::Pointer(_) | Callee::Start(_) | Callee::Spawn(..) => None,
    };
    let stmts = body.blocks.iter().flat_map(|b| &b.stmts);
    let mut callees = stmts.filter_map(|s| named(s.kind.as_call()?.callee));
    callees.any(|name| {
        let name = name.as_str();
        name.contains("setjmp") || name.ends_with("vfork") || matches!(name, "getcontext" | "savectx")
    })
}
