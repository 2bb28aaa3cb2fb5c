//! The places of statements and terminators, to be changed: for transforms.

use crate::ir::*;

/// Calls `change` for every place that the statement names, those in index positions included.
pub fn stmt_places(kind: &mut StmtKind, change: &mut dyn FnMut(&mut Place)) {
    match kind {
        StmtKind::Assign(dest, value) => {
            rvalue_places(value, change);
            place(dest, change);
        }
        StmtKind::Call { dest, callee, args, .. } => {
            if let Callee::Pointer(callee) = callee {
                operand(callee, change);
            }
            args.iter_mut().for_each(|arg| operand(arg, change));
            if let Some(dest) = dest {
                place(dest, change);
            }
        }
        StmtKind::Check(check) => check_places(check, change),
        StmtKind::Prove(Proof::NonNull(a)) => operand(a, change),
        StmtKind::Zero(dest) | StmtKind::VaStart(dest) | StmtKind::SetTag(dest, _) | StmtKind::VaEnd(dest) => {
            place(dest, change)
        }
        StmtKind::CopyElements { to, from, count } => {
            [to, from, count].into_iter().for_each(|o| operand(o, change));
        }
        StmtKind::VaCopy(to, from) => {
            place(from, change);
            place(to, change);
        }
        StmtKind::Asm(asm) => {
            asm.inputs.iter_mut().for_each(|(_, _, input)| operand(input, change));
            asm.outputs.iter_mut().for_each(|(_, _, output)| place(output, change));
        }
        StmtKind::Open(_, key, _) | StmtKind::Close(_, key, _) => place(key, change),
        StmtKind::Dispose { value, handle, .. } => {
            operand(value, change);
            handle.iter_mut().for_each(|h| operand(h, change));
        }
        StmtKind::DropSlot(at)
        | StmtKind::CursorBegin(_, at)
        | StmtKind::Pack(at, _)
        | StmtKind::Unpack { place: at, .. } => place(at, change),
        StmtKind::Swap(a, b) => {
            place(a, change);
            place(b, change);
        }
        StmtKind::ChannelNew { imp, exp, .. } => {
            place(imp, change);
            place(exp, change);
        }
        StmtKind::Send { end, args, .. } => {
            args.iter_mut().for_each(|arg| operand(arg, change));
            place(end, change);
        }
        StmtKind::Select { dest, cases, .. } => {
            for case in cases {
                match case {
                    SelectCase::Heads(heads) => heads.iter_mut().for_each(|(end, _)| place(end, change)),
                    SelectCase::After(time) => operand(time, change),
                }
            }
            place(dest, change);
        }
        StmtKind::Receive { end, binds, .. } => {
            place(end, change);
            binds.iter_mut().for_each(|bind| place(bind, change));
        }
        StmtKind::ArenaBegin(..)
        | StmtKind::ArenaEnd(..)
        | StmtKind::StorageLive(_)
        | StmtKind::StorageDead(_)
        | StmtKind::Nop => {}
    }
}

/// The same for a terminator.
pub fn term_places(kind: &mut TermKind, change: &mut dyn FnMut(&mut Place)) {
    match kind {
        TermKind::If(a, ..) | TermKind::Switch(a, ..) | TermKind::Return(Some(a)) | TermKind::GotoComputed(a) => {
            operand(a, change)
        }
        TermKind::Goto(_) | TermKind::Return(None) | TermKind::MissingReturn | TermKind::Unreachable => {}
    }
}

/// The same for a value.
pub fn rvalue_places(value: &mut Rvalue, change: &mut dyn FnMut(&mut Place)) {
    match value {
        Rvalue::Use(a)
        | Rvalue::Unary(_, a)
        | Rvalue::Numeric(a, _)
        | Rvalue::Bits(a, _)
        | Rvalue::Part(a, _, _)
        | Rvalue::MakeTypedVoid(a, _, _)
        | Rvalue::Remaining(a)
        | Rvalue::Measure(a)
        | Rvalue::Clamp(a)
        | Rvalue::BlockSize(a)
        | Rvalue::Retain(a)
        | Rvalue::Truth(a) => operand(a, change),
        Rvalue::Borrow(_, of, _) => place(of, change),
        Rvalue::Binary(_, a, b, _)
        | Rvalue::CountArith(_, a, b)
        | Rvalue::MakeCounted { ptr: a, count: b, .. }
        | Rvalue::Offset(a, b)
        | Rvalue::Difference(a, b) => {
            operand(a, change);
            operand(b, change);
        }
        Rvalue::MakeFat { ptr, lo, hi, .. } => [ptr, lo, hi].into_iter().for_each(|o| operand(o, change)),
        Rvalue::Alloc { count, extra, handle, reuse, .. } => {
            operand(count, change);
            reuse.iter_mut().for_each(|o| operand(o, change));
            extra.iter_mut().for_each(|o| operand(o, change));
            handle.iter_mut().for_each(|o| operand(o, change));
        }
        Rvalue::Builtin(_, args, _) => args.iter_mut().for_each(|a| operand(a, change)),
        Rvalue::AddrOf(of) | Rvalue::Tag(of) | Rvalue::VaArg(of, _) => place(of, change),
        Rvalue::LabelAddr(..) | Rvalue::NewKey(..) => {}
    }
}

/// The same for a check.
pub fn check_places(check: &mut Check, change: &mut dyn FnMut(&mut Place)) {
    match check {
        Check::Index(a, b)
        | Check::Access(a, b)
        | Check::Near(a, b)
        | Check::Enough { want: a, have: b }
        | Check::Divide(a, b)
        | Check::Terminator(a, b)
        | Check::Count(a, b) => {
            operand(a, change);
            operand(b, change);
        }
        Check::Element(e) => {
            [&mut e.base, &mut e.index, &mut e.count].into_iter().for_each(|o| operand(o, change));
        }
        Check::Within(a)
        | Check::NotNull(a)
        | Check::Type(a, _)
        | Check::Container(a, ..)
        | Check::TagValue(a, _, _)
        | Check::HasTerminator(a)
        | Check::Step(a)
        | Check::Multiple(a, _)
        | Check::View(a, _) => operand(a, change),
        Check::Tag(of, _) => place(of, change),
        Check::Unreachable => {}
    }
}

/// The same for an operand.
pub fn operand(operand: &mut Operand, change: &mut dyn FnMut(&mut Place)) {
    match operand {
        Operand::Copy(from) | Operand::Move(from) => place(from, change),
        Operand::Const(_) => {}
    }
}

fn place(at: &mut Place, change: &mut dyn FnMut(&mut Place)) {
    for step in &mut at.proj {
        if let Proj::Index(index) = step {
            operand(index, change);
        }
    }
    change(at);
}
