//! `always_inline` on functions that call themselves: a C compiler cannot do it (gcc refuses, clang
//! ignores it), so the attribute is taken away and a warning says so.
//!
//! Needs: nothing. Changes: the attributes of functions. Reports: L0233.

use mir::effects::functions;
use mir::ir::Program;
use source::{Diagnostic, Sink};
use typing::tree::FuncId;

/// Takes `always_inline` from all functions that reach themselves by calls of such functions.
pub fn run(program: &mut Program, sink: &mut Sink) {
    let wanted: Vec<FuncId> =
        (0u32..).zip(&program.functions).filter(|(_, f)| is_wanted(&f.attrs)).map(|(n, _)| FuncId(n)).collect();
    if wanted.is_empty() {
        return;
    }
    let calls: Vec<(FuncId, Vec<FuncId>)> = wanted
        .iter()
        .map(|&id| (id, callees(program, id).into_iter().filter(|c| wanted.contains(c)).collect()))
        .collect();
    for &id in wanted.iter().filter(|&&id| reaches_itself(&calls, id)) {
        let Some(function) = program.functions.get_mut(id.0 as usize) else { continue };
        function.attrs.retain(|attr| !attr.contains("always_inline"));
        let message =
            format!("`{}` calls itself, so it cannot always be inlined: `always_inline` is ignored", function.name);
        sink.push(
            Diagnostic::warning(typing::codes::SUSPICIOUS, function.span, message).help("leave `always_inline` out"),
        );
    }
}

fn is_wanted(attrs: &[String]) -> bool {
    attrs.iter().any(|attr| attr.contains("always_inline"))
}

/// What a function calls, by name or perhaps through a pointer: the C compiler may see where that
/// leads.
fn callees(program: &Program, id: FuncId) -> Vec<FuncId> {
    let mut found = vec![];
    for body in program.bodies.iter().filter(|body| body.func.func == id) {
        functions(body, &mut |function, _| found.push(function.func));
    }
    found
}

fn reaches_itself(calls: &[(FuncId, Vec<FuncId>)], id: FuncId) -> bool {
    let callees = |id: FuncId| calls.iter().find(|(from, _)| *from == id).map(|(_, to)| to.as_slice());
    let mut seen = vec![];
    let mut work = vec![id];
    while let Some(from) = work.pop() {
        for &to in callees(from).unwrap_or_default() {
            if to == id {
                return true;
            }
            if !seen.contains(&to) {
                seen.push(to);
                work.push(to);
            }
        }
    }
    false
}
