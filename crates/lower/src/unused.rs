//! Bodies that nothing needs: `static` functions of the library's headers that the file does not
//! use, directly or through others. They are most of what a small file holds, so the analyses and
//! transforms go faster without them. Their types were checked.

use mir::effects::functions;
use mir::ir::Program;
use rustc_hash::{FxHashMap, FxHashSet};
use source::Span;
use typing::tree::{kept_by, FuncId, Linkage};

/// Drops them. `is_library`: whether a place is in the library. What later passes may name by
/// themselves stays: the names that begin with `lee_`.
pub fn drop_unused(program: &mut Program, is_library: &dyn Fn(Span) -> bool) {
    if !program.asm.is_empty() {
        return;
    }
    let at: FxHashMap<FuncId, usize> = program.bodies.iter().enumerate().map(|(n, body)| (body.func.func, n)).collect();
    let mut needed: FxHashSet<usize> = FxHashSet::default();
    let mut work: Vec<FuncId> = vec![];
    for body in &program.bodies {
        let may_go = program.functions.get(body.func.func.0 as usize).is_some_and(|f| {
            let named = f.name.as_str().starts_with("lee_") || kept_by(&f.attrs);
            f.linkage == Linkage::Internal && !named && is_library(f.span)
        });
        if !may_go {
            work.push(body.func.func);
        }
    }
    for init in program.globals.iter().filter_map(|global| global.init.as_ref()) {
        init.each_function(&mut |f| work.push(f.func));
    }
    while let Some(func) = work.pop() {
        let Some(&number) = at.get(&func) else { continue };
        if !needed.insert(number) {
            continue;
        }
        let Some(body) = program.bodies.get(number) else { continue };
        functions(body, &mut |f, _| work.push(f.func));
    }
    let mut number = 0;
    program.bodies.retain(|_| {
        number += 1;
        needed.contains(&(number - 1))
    });
}
