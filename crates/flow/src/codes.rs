//! The kinds of errors that the dataflow analyses give.

use source::Code;

/// A variable is read, and not every way to that point assigns it.
pub const UNINITIALISED: Code = Code { id: "L0501", title: "variable not initialised" };
/// A way through a function ends without the value that it must return, or returns from a `noreturn` function.
pub const MISSING_RETURN: Code = Code { id: "L0502", title: "missing return" };
/// A pointer that may be null where a `nonnull` one is wanted.
pub const MAY_BE_NULL: Code = Code { id: "L0503", title: "pointer may be null" };
/// A pointer goes where it may be used after its target is gone.
pub const OUTLIVES: Code = Code { id: "L0504", title: "pointer outlives its target" };

/// All codes of this crate.
pub const ALL: &[Code] = &[UNINITIALISED, MISSING_RETURN, MAY_BE_NULL, OUTLIVES];
