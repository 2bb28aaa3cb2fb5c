//! What the user wants.

use crate::allocators::Table;

/// Choices of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Objects up to so many bytes go to the stack.
    pub max_size: u64,
    /// Bytes of the buffer of a `hybrid`.
    pub hybrid_size: u64,
    /// Bytes of stack that patches may add to a chain of calls.
    pub stack_budget: u64,
    /// The files are the whole program: nothing else calls their functions.
    pub whole_program: bool,
    /// Functions that return a fresh object count as allocators.
    pub infer_allocators: bool,
    /// Allocators.
    pub table: Table,
    /// Whether patches are wanted.
    pub patches: bool,
    /// Threads; 0: as many as there are processors.
    pub jobs: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_size: 48,
            hybrid_size: 256,
            stack_budget: 4096,
            whole_program: false,
            infer_allocators: false,
            table: Table::built_in(),
            patches: false,
            jobs: 0,
        }
    }
}
