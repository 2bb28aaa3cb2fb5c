//! The lines of the table: what each statement, value and terminator accesses and names. Those of
//! checks stand in `checks.rs`.

use super::{Kind, Loan, Named};
use crate::ir::*;
use typing::tree::FuncRef;
use typing::types::Ty;

macro_rules! lines {
    ($($name:ident)*) => {
        /// A line of the table.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Line {
            $(#[allow(missing_docs)] $name,)*
        }

        /// All lines, in order.
        pub const LINES: &[Line] = &[$(Line::$name),*];
    };
}

lines! {
    AssignTo CallTarget CallArgument CallResult Prove ZeroTo SetTag
    CopyTo CopyFrom CopyCount VaStart VaEnd VaCopyFrom VaCopyTo AsmInput AsmOutput
    ArenaBegin ArenaEnd OpenKey OpenHandle CloseHandle CloseKey
    DisposeValue DisposeHandle DisposeSkips DropSlot Swap CursorOf Cursor CursorEnd Pack Unpack UnpackEnd
    ChannelEnds SendArgument SendEnd SelectEnd SelectTime SelectResult ReceiveEnd ReceiveBinds
    SetNew SetAddEnd SetAddValue SetAddTo SetTakeFrom SetTakeEnd SetTakeValue
    StorageLive StorageDead
    Use Unary Binary Numeric Bits AddrOf MakeFat Part MakeTypedVoid Offset OffsetCount Difference
    Remaining Measure MakeCounted Clamp CountArith BlockSize Alloc AllocReuse Borrow Retain Tag Truth
    VaArg Builtin
    CheckIndex CheckAccess CheckElement CheckNear CheckWithin CheckEnough CheckNotNull CheckDivide
    CheckType CheckContainer CheckContract CheckTag CheckTagValue CheckHasTerminator CheckTerminator CheckCount
    CheckView CheckStep CheckMultiple
    If Switch Return GotoComputed
    Types Functions
    CallRuns PointerRuns AsmRuns
    AllocCollects NewKeyCollects DisposeCollects DropSlotCollects CursorEndCollects ArenaBeginCollects StartCollects
    SelectWaits ReceiveWaits
    CallMemory AsmMemory CursorEndMemory CopyMemory MeasureMemory RetainMemory CheckMemory
}

macro_rules! traversal {
    ($part:ident $stmt:ident $term:ident $rvalue:ident $check:ident $($m:tt)?) => {
        /// A part of a statement.
        #[derive(Debug)]
        pub enum $part<'a> {
            /// An operand, and what becomes of the place that it copies.
            Operand(&'a $($m)? Operand, Kind),
            /// A place.
            Place(&'a $($m)? Place, Kind),
            /// A whole local.
            Local(&'a $($m)? Local, Kind),
            /// A type that is named.
            Type(&'a $($m)? Ty),
            /// A function that is named other than in an operand.
            Function(&'a $($m)? FuncRef, Named),
        }

        pub(super) fn $stmt<'a>(kind: &'a $($m)? StmtKind, see: &mut dyn FnMut(Line, $part<'a>)) {
            match kind {
                StmtKind::Assign(to, value) => {
                    $rvalue(value, see);
                    see(Line::AssignTo, $part::Place(to, Kind::Write));
                }
                StmtKind::Call { dest, callee, args, ty } => {
                    match callee {
                        Callee::Direct(func) => {
                            see(Line::Functions, $part::Function(func, Named::Called(*ty)))
                        }
                        Callee::Start(func) | Callee::Spawn(func, _) => {
                            see(Line::Functions, $part::Function(func, Named::Started))
                        }
                        Callee::Pointer(a) => see(Line::CallTarget, $part::Operand(a, Kind::Read)),
                        Callee::Builtin(_) => {}
                    }
                    for a in args {
                        see(Line::CallArgument, $part::Operand(a, Kind::Copy));
                    }
                    see(Line::Types, $part::Type(ty));
                    if let Some(to) = dest {
                        see(Line::CallResult, $part::Place(to, Kind::Write));
                    }
                }
                StmtKind::Check(check) => check.$check(see),
                StmtKind::Prove(
                    Proof::NonNull(a) | Proof::EndCases { end: a, .. } | Proof::EndFound { end: a, .. },
                ) => see(Line::Prove, $part::Operand(a, Kind::Read)),
                StmtKind::StorageLive(l) => see(Line::StorageLive, $part::Local(l, Kind::Begin)),
                StmtKind::StorageDead(l) => see(Line::StorageDead, $part::Local(l, Kind::End)),
                StmtKind::Zero(to) => see(Line::ZeroTo, $part::Place(to, Kind::Write)),
                StmtKind::CopyElements { to, from, count } => {
                    see(Line::CopyTo, $part::Operand(to, Kind::Read));
                    see(Line::CopyFrom, $part::Operand(from, Kind::Read));
                    see(Line::CopyCount, $part::Operand(count, Kind::Read));
                }
                StmtKind::SetTag(of, _) => see(Line::SetTag, $part::Place(of, Kind::Write)),
                StmtKind::VaStart(list) => see(Line::VaStart, $part::Place(list, Kind::Write)),
                StmtKind::VaEnd(list) => see(Line::VaEnd, $part::Place(list, Kind::Step)),
                StmtKind::VaCopy(to, from) => {
                    see(Line::VaCopyFrom, $part::Place(from, Kind::Copy));
                    see(Line::VaCopyTo, $part::Place(to, Kind::Write));
                }
                StmtKind::Assembly(asm) => {
                    let Asm { inputs, outputs, .. } = &$($m)? **asm;
                    for (_, _, a) in inputs {
                        see(Line::AsmInput, $part::Operand(a, Kind::Copy));
                    }
                    for (_, constraint, to) in outputs {
                        let both = constraint.contains(&b'+');
                        let kind = if both { Kind::Exchange } else { Kind::Write };
                        see(Line::AsmOutput, $part::Place(to, kind));
                    }
                }
                StmtKind::ArenaBegin(handle, _) => see(Line::ArenaBegin, $part::Local(handle, Kind::Write)),
                StmtKind::ArenaEnd(handle, _) => see(Line::ArenaEnd, $part::Local(handle, Kind::Drop)),
                StmtKind::OpenBegin(handle, key, _) => {
                    see(Line::OpenKey, $part::Place(key, Kind::Move));
                    see(Line::OpenHandle, $part::Local(handle, Kind::Write));
                }
                StmtKind::Close(handle, key, _) => {
                    see(Line::CloseHandle, $part::Local(handle, Kind::Read));
                    see(Line::CloseKey, $part::Place(key, Kind::Write));
                }
                StmtKind::Dispose { value, handle, moved } => {
                    see(Line::DisposeValue, $part::Operand(value, Kind::Drop));
                    if let Some(a) = handle {
                        see(Line::DisposeHandle, $part::Operand(a, Kind::Read));
                    }
                    for path in moved {
                        for step in path {
                            if let Proj::Index(a) = step {
                                see(Line::DisposeSkips, $part::Operand(a, Kind::Mention));
                            }
                        }
                    }
                }
                StmtKind::DropSlot(slot) => see(Line::DropSlot, $part::Place(slot, Kind::Drop)),
                StmtKind::Exchange(a, b) => {
                    see(Line::Swap, $part::Place(a, Kind::Exchange));
                    see(Line::Swap, $part::Place(b, Kind::Exchange));
                }
                StmtKind::CursorBegin(cursor, of) => {
                    see(Line::CursorOf, $part::Place(of, Kind::Address(Loan::Exclusive)));
                    see(Line::Cursor, $part::Local(cursor, Kind::Write));
                }
                // The slot was found when the cursor began; its name may lead elsewhere now.
                StmtKind::CursorEnd(cursor) => see(Line::CursorEnd, $part::Local(cursor, Kind::Mention)),
                // The stores and reads of fields that follow use the struct.
                StmtKind::Pack(at, _) => see(Line::Pack, $part::Place(at, Kind::Mention)),
                StmtKind::UnpackBegin { place, .. } => see(Line::Unpack, $part::Place(place, Kind::Mention)),
                StmtKind::UnpackEnd(place, _) => see(Line::UnpackEnd, $part::Place(place, Kind::Mention)),
                StmtKind::ChannelNew { imp, exp, .. } => {
                    see(Line::ChannelEnds, $part::Place(imp, Kind::Write));
                    see(Line::ChannelEnds, $part::Place(exp, Kind::Write));
                }
                StmtKind::Send { end, args, .. } => {
                    for a in args {
                        see(Line::SendArgument, $part::Operand(a, Kind::Copy));
                    }
                    see(Line::SendEnd, $part::Place(end, Kind::Read));
                }
                StmtKind::Select { dest, cases, .. } => {
                    for case in cases {
                        match case {
                            SelectCase::Heads(heads) => {
                                for (end, _) in heads {
                                    see(Line::SelectEnd, $part::Place(end, Kind::Read));
                                }
                            }
                            SelectCase::After(a) => see(Line::SelectTime, $part::Operand(a, Kind::Read)),
                        }
                    }
                    see(Line::SelectResult, $part::Place(dest, Kind::Write));
                }
                StmtKind::Receive { end, binds, .. } => {
                    see(Line::ReceiveEnd, $part::Place(end, Kind::Read));
                    for to in binds {
                        see(Line::ReceiveBinds, $part::Place(to, Kind::Write));
                    }
                }
                StmtKind::SetNew(to) => see(Line::SetNew, $part::Place(to, Kind::Write)),
                StmtKind::SetAdd { set, end, value } => {
                    see(Line::SetAddEnd, $part::Operand(end, Kind::Copy));
                    if let Some(a) = value {
                        see(Line::SetAddValue, $part::Operand(a, Kind::Copy));
                    }
                    see(Line::SetAddTo, $part::Place(set, Kind::Read));
                }
                StmtKind::SetTake { set, end, value, .. } => {
                    see(Line::SetTakeFrom, $part::Place(set, Kind::Read));
                    see(Line::SetTakeEnd, $part::Place(end, Kind::Write));
                    if let Some(to) = value {
                        see(Line::SetTakeValue, $part::Place(to, Kind::Write));
                    }
                }
                StmtKind::Nop => {}
            }
        }

        pub(super) fn $term<'a>(kind: &'a $($m)? TermKind, see: &mut dyn FnMut(Line, $part<'a>)) {
            match kind {
                TermKind::If(a, ..) => see(Line::If, $part::Operand(a, Kind::Read)),
                TermKind::Switch(a, ..) => see(Line::Switch, $part::Operand(a, Kind::Read)),
                TermKind::Return(Some(a)) => see(Line::Return, $part::Operand(a, Kind::Copy)),
                TermKind::GotoComputed(a) => see(Line::GotoComputed, $part::Operand(a, Kind::Read)),
                TermKind::Goto(_) | TermKind::Return(None) | TermKind::MissingReturn | TermKind::Unreachable => {}
            }
        }

        pub(super) fn $rvalue<'a>(value: &'a $($m)? Rvalue, see: &mut dyn FnMut(Line, $part<'a>)) {
            match value {
                Rvalue::Use(a) => see(Line::Use, $part::Operand(a, Kind::Copy)),
                Rvalue::Unary(_, a) => see(Line::Unary, $part::Operand(a, Kind::Read)),
                Rvalue::Binary(_, a, b, ty) => {
                    see(Line::Binary, $part::Operand(a, Kind::Read));
                    see(Line::Binary, $part::Operand(b, Kind::Read));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::Numeric(a, ty) => {
                    see(Line::Numeric, $part::Operand(a, Kind::Read));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::Bits(a, ty) => {
                    see(Line::Bits, $part::Operand(a, Kind::Copy));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::AddrOf(of) => see(Line::AddrOf, $part::Place(of, Kind::Address(Loan::Shared))),
                Rvalue::MakeFat { ty, ptr, lo, hi } => {
                    see(Line::MakeFat, $part::Operand(ptr, Kind::Copy));
                    see(Line::MakeFat, $part::Operand(lo, Kind::Copy));
                    see(Line::MakeFat, $part::Operand(hi, Kind::Copy));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::Part(a, _, ty) => {
                    see(Line::Part, $part::Operand(a, Kind::Copy));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::MakeTypedVoid(a, of, ty) => {
                    see(Line::MakeTypedVoid, $part::Operand(a, Kind::Copy));
                    see(Line::Types, $part::Type(of));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::Offset(a, n) => {
                    see(Line::Offset, $part::Operand(a, Kind::Copy));
                    see(Line::OffsetCount, $part::Operand(n, Kind::Read));
                }
                Rvalue::Difference(a, b) => {
                    see(Line::Difference, $part::Operand(a, Kind::Read));
                    see(Line::Difference, $part::Operand(b, Kind::Read));
                }
                Rvalue::Remaining(a) => see(Line::Remaining, $part::Operand(a, Kind::Read)),
                Rvalue::Measure(a) => see(Line::Measure, $part::Operand(a, Kind::Read)),
                Rvalue::MakeCounted { ty, ptr, count } => {
                    see(Line::MakeCounted, $part::Operand(ptr, Kind::Copy));
                    see(Line::MakeCounted, $part::Operand(count, Kind::Read));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::Clamp(a) => see(Line::Clamp, $part::Operand(a, Kind::Read)),
                Rvalue::CountArith(_, a, b) => {
                    see(Line::CountArith, $part::Operand(a, Kind::Read));
                    see(Line::CountArith, $part::Operand(b, Kind::Read));
                }
                Rvalue::BlockSize(a) => see(Line::BlockSize, $part::Operand(a, Kind::Read)),
                Rvalue::Alloc { elem, count, extra, handle, reuse, .. } => {
                    see(Line::Alloc, $part::Operand(count, Kind::Read));
                    if let Some(a) = extra {
                        see(Line::Alloc, $part::Operand(a, Kind::Read));
                    }
                    if let Some(a) = reuse {
                        see(Line::AllocReuse, $part::Operand(a, Kind::Drop));
                    }
                    if let Some(a) = handle {
                        see(Line::Alloc, $part::Operand(a, Kind::Read));
                    }
                    see(Line::Types, $part::Type(elem));
                }
                Rvalue::Borrow(kind, of, ty) => {
                    see(Line::Borrow, $part::Place(of, Kind::borrow(*kind)));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::Retain(a) => see(Line::Retain, $part::Operand(a, Kind::Copy)),
                Rvalue::NewKey(_, ty) => see(Line::Types, $part::Type(ty)),
                Rvalue::Tag(of) => see(Line::Tag, $part::Place(of, Kind::Read)),
                Rvalue::Truth(a) => see(Line::Truth, $part::Operand(a, Kind::Read)),
                Rvalue::VaArg(list, ty) => {
                    see(Line::VaArg, $part::Place(list, Kind::Step));
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::Builtin(_, args, ty) => {
                    for a in args {
                        see(Line::Builtin, $part::Operand(a, Kind::Read));
                    }
                    see(Line::Types, $part::Type(ty));
                }
                Rvalue::LabelAddr(_, ty) => see(Line::Types, $part::Type(ty)),
            }
        }
    };
}

traversal!(Part stmt_lines term_lines rvalue_lines lines);
traversal!(PartMut stmt_lines_mut term_lines_mut rvalue_lines_mut lines_mut mut);
