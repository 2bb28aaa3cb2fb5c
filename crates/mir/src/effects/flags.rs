//! What statements do besides their accesses: the second half of the table.

use super::{keeps, Line};
use crate::ir::*;
use typing::tree::FuncRef;

/// Code that runs in a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code<'a> {
    /// None but the statement's own, which includes the runtime's.
    Own,
    /// A function.
    Function(&'a FuncRef),
    /// Whatever a pointer points to.
    Pointer,
    /// Inline assembly.
    Assembly,
}

/// What a statement does besides its accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags<'a> {
    /// Reads or writes memory that the pointers among its operands lead to, besides what its
    /// accesses release.
    pub memory: bool,
    /// A collection may run, other than in the code that it runs.
    pub collects: bool,
    /// Other tasks may run, other than while the code that it runs waits.
    pub waits: bool,
    /// The code that it runs.
    pub code: Code<'a>,
}

/// What the statement does besides its accesses. Whether a call collects or waits depends on what
/// is called: see [`crate::waits`], and `emit_c/collects.rs`.
pub fn flags(kind: &StmtKind) -> Flags<'_> {
    let mut flags = Flags { memory: false, collects: false, waits: false, code: Code::Own };
    match kind {
        StmtKind::Call { callee, .. } => {
            match callee {
                Callee::Direct(func) if keeps(Line::CallRuns) => flags.code = Code::Function(func),
                Callee::Pointer(_) if keeps(Line::PointerRuns) => flags.code = Code::Pointer,
                Callee::Direct(_) | Callee::Pointer(_) | Callee::Builtin(_) => {}
                // What is started runs later, when this task waits.
                Callee::Start(_) | Callee::Spawn(..) => flags.collects = keeps(Line::StartCollects),
            }
            flags.memory = keeps(Line::CallMemory);
        }
        StmtKind::Assembly(_) => {
            flags.memory = keeps(Line::AsmMemory);
            if keeps(Line::AsmRuns) {
                flags.code = Code::Assembly;
            }
        }
        StmtKind::Assign(_, value) => match value {
            Rvalue::Alloc { .. } => flags.collects = keeps(Line::AllocCollects),
            Rvalue::NewKey(..) => flags.collects = keeps(Line::NewKeyCollects),
            Rvalue::Measure(_) | Rvalue::BlockSize(_) => flags.memory = keeps(Line::MeasureMemory),
            // The count stands in the object.
            Rvalue::Retain(_) => flags.memory = keeps(Line::RetainMemory),
            Rvalue::Use(_)
            | Rvalue::Unary(..)
            | Rvalue::Binary(..)
            | Rvalue::Numeric(..)
            | Rvalue::Bits(..)
            | Rvalue::AddrOf(_)
            | Rvalue::MakeFat { .. }
            | Rvalue::Part(..)
            | Rvalue::MakeTypedVoid(..)
            | Rvalue::Offset(..)
            | Rvalue::Difference(..)
            | Rvalue::Remaining(_)
            | Rvalue::MakeCounted { .. }
            | Rvalue::Clamp(_)
            | Rvalue::CountArith(..)
            | Rvalue::Borrow(..)
            | Rvalue::Tag(_)
            | Rvalue::Truth(_)
            | Rvalue::VaArg(..)
            | Rvalue::Builtin(..)
            | Rvalue::LabelAddr(..) => {}
        },
        StmtKind::Check(check) => flags.memory = check.looks_behind() && keeps(Line::CheckMemory),
        StmtKind::CopyElements { .. } => flags.memory = keeps(Line::CopyMemory),
        // Lists of what is to be freed, and arenas, take pages.
        StmtKind::Dispose { .. } => flags.collects = keeps(Line::DisposeCollects),
        StmtKind::DropSlot(_) => flags.collects = keeps(Line::DropSlotCollects),
        StmtKind::CursorEnd(_) => {
            flags.memory = keeps(Line::CursorEndMemory);
            flags.collects = keeps(Line::CursorEndCollects);
        }
        StmtKind::ArenaBegin(..) => flags.collects = keeps(Line::ArenaBeginCollects),
        // Others run meanwhile, and they may collect.
        StmtKind::Select { .. } => {
            flags.waits = keeps(Line::SelectWaits);
            flags.collects = flags.waits;
        }
        StmtKind::Receive { waits, .. } => {
            flags.waits = *waits && keeps(Line::ReceiveWaits);
            flags.collects = flags.waits;
        }
        StmtKind::Prove(_)
        | StmtKind::StorageLive(_)
        | StmtKind::StorageDead(_)
        | StmtKind::Zero(_)
        | StmtKind::SetTag(..)
        | StmtKind::VaStart(_)
        | StmtKind::VaEnd(_)
        | StmtKind::VaCopy(..)
        | StmtKind::ArenaEnd(..)
        | StmtKind::OpenBegin(..)
        | StmtKind::Close(..)
        | StmtKind::Exchange(..)
        | StmtKind::CursorBegin(..)
        | StmtKind::Pack(..)
        | StmtKind::UnpackBegin { .. }
        | StmtKind::UnpackEnd(..)
        | StmtKind::ChannelNew { .. }
        | StmtKind::Send { .. }
        | StmtKind::SetNew(_)
        | StmtKind::SetAdd { .. }
        | StmtKind::SetTake { .. }
        | StmtKind::Nop => {}
    }
    flags
}
