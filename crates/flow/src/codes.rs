//! The kinds of errors that the dataflow analyses give.

use source::Code;

/// A variable is read, and not every path to that point assigns it.
pub const UNINITIALISED: Code = Code { id: "L0501", title: "variable not initialised" };
/// A path through a function ends without the value that it must return, or returns from a
/// `noreturn` function.
pub const MISSING_RETURN: Code = Code { id: "L0502", title: "missing return" };
/// A pointer that may be null where a `nonnull` one is wanted.
pub const MAY_BE_NULL: Code = Code { id: "L0503", title: "pointer may be null" };
/// A pointer is stored where it may be used after its target is gone.
pub const OUTLIVES: Code = Code { id: "L0504", title: "pointer outlives its target" };

/// A pointer is in another region than the one that is wanted: owned pointers, keys and inner
/// pointers keep theirs.
pub const REGION: Code = Code { id: "L0505", title: "wrong region" };
/// A region is used where it is not live: its key is closed, or its arena has ended.
pub const NOT_LIVE: Code = Code { id: "L0506", title: "region not live" };
/// An owned value is used, and on some path to here it was moved.
pub const MOVED: Code = Code { id: "L0507", title: "use of a moved value" };
/// Something owned is lost without being freed or moved.
pub const LEAK: Code = Code { id: "L0508", title: "leak" };
/// Something is moved, freed or lent again while it is lent or borrowed.
pub const LENT: Code = Code { id: "L0509", title: "lent or borrowed meanwhile" };
/// A container slot is used like an owned path.
pub const SLOT: Code = Code { id: "L0510", title: "container slot" };

/// `--no-gc`: a shared object in the heap.
pub const NO_GC: Code = Code { id: "L0511", title: "shared heap object without a collector" };

/// An endpoint is not in the state that what is done with it wants.
pub const STATE: Code = Code { id: "L0512", title: "wrong state of an endpoint" };
/// `switch receive` has no case for something that may come.
pub const MISSING_CASE: Code = Code { id: "L0513", title: "missing case of a receive" };

/// All codes of this crate.
pub const ALL: &[Code] = &[
    UNINITIALISED,
    MISSING_RETURN,
    MAY_BE_NULL,
    OUTLIVES,
    REGION,
    NOT_LIVE,
    MOVED,
    LEAK,
    LENT,
    SLOT,
    NO_GC,
    STATE,
    MISSING_CASE,
];
