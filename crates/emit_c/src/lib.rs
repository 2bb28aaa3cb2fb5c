//! MIR to C: one self-contained GNU C11 translation unit that includes `lee/lee.h` and nothing
//! else.
//!
//! `docs/internals/abi.md` says what values look like. Sizes and field offsets are left to the C
//! compiler.

mod bases;
mod bodies;
mod body;
mod calls;
mod channels;
mod checks;
mod collects;
mod containers;
mod ctype;
mod described;
mod drops;
mod exprs;
mod foreign;
mod globals;
mod header;
mod inits;
mod kept_bounds;
mod layout_notes;
pub mod layouts;
mod lines;
mod link;
mod locals;
mod names;
mod owned;
mod pending;
mod places;
mod prelude;
mod reach;
mod records;
mod rvalues;
mod shared;
mod starts;
mod unit;
mod variables;

pub use header::header;
pub use typing::digest::{self, digest, type_text};

/// How to emit.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep what only a debugger looks at: definitions of records that code only passes pointers
    /// of.
    pub debug: bool,
    /// One process, for a library in a C program.
    pub single: bool,
    /// Plain C: names are C's own, nothing of the runtime is used, no digests.
    pub plain: bool,
    /// The program has several processes, each with mutable variables of its own.
    pub processes: bool,
    /// No collector: nothing is done for one.
    pub no_gc: bool,
    /// The source's name, for the comment on top.
    pub source_name: String,
}

/// The C text of a program.
pub fn emit(program: &mir::ir::Program, map: &source::SourceMap, options: &Options) -> String {
    unit::Unit::new(program, map, options).emit()
}
