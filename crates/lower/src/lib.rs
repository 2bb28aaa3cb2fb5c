//! Typed tree to MIR: control flow becomes a graph, every implicit step becomes a statement, every
//! check is placed.
//!
//! `lower` translates each defined function once, generic ones with their type parameters;
//! `instantiate` then makes the instances of generics that non-generic code reaches. Both accept
//! any tree that the checker accepted; on a tree that it should not have let through they emit a
//! check that faults, never an invalid access.

mod alloc;
mod assign;
mod builder;
mod call;
mod channels;
mod control;
mod effects;
mod emptied;
mod end_states;
mod erase;
mod expr;
mod init;
mod instances;
mod owned;
mod place;
mod pointer;
mod scopes;
mod stmt;
mod unused;
mod value;

#[cfg(test)]
mod tests;

pub use emptied::empty_moved;
pub use erase::{copy_looks, erase, erase_records, mark_lent};
pub use instances::{instantiate, InstanceError};
pub use unused::drop_unused;

use mir::ir::Program;
use typing::types::{ArrayLen, Qty, TyKind};

/// Lowers every defined function of a checked translation unit. The bodies move out of the
/// functions.
pub fn lower(program: typing::tree::Program) -> Program {
    let mut functions = program.functions;
    let bodies: Vec<_> = functions.iter_mut().map(|f| f.body.take()).collect();
    let mut out = Program {
        types: program.types,
        functions,
        globals: program.globals,
        strings: program.strings,
        asm: program.asm,
        c_text: program.c_text,
        bodies: vec![],
        instances: vec![],
    };
    // Places in literals are typed through these.
    for literal in &out.strings {
        let len = ArrayLen::Const(literal.units.len() as u64);
        out.types.intern(TyKind::Array { elem: Qty::plain(literal.elem), len, terminated: true });
    }
    for (number, body) in bodies.iter().enumerate() {
        if let Some(body) = body {
            let lowered = builder::Lower::function(&mut out, number as u32, body);
            out.bodies.push(lowered);
        }
    }
    out
}
