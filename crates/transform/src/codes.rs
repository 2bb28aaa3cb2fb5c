//! The kinds of messages that the transforms give.

use source::Code;

/// A check that fails on every path that reaches it.
pub const CERTAIN: Code = Code { id: "L0601", title: "a check that always fails" };

/// `--stack-notes`: where an object lives that this function makes and frees.
pub const PLACED: Code = Code { id: "L0602", title: "where an object lives" };

/// All codes of this crate.
pub const ALL: &[Code] = &[CERTAIN, PLACED];
