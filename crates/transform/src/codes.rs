//! The kinds of messages that the transforms give.

use source::Code;

/// A check that fails on every way that reaches it.
pub const CERTAIN: Code = Code { id: "L0601", title: "a check that always fails" };

/// All codes of this crate.
pub const ALL: &[Code] = &[CERTAIN];
