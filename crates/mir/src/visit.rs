//! What statements and terminators read and write, place by place: one list for the verifier and
//! for all analyses.

use crate::ir::*;

/// How a statement uses a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reads the value.
    Read,
    /// Moves the value out.
    Move,
    /// Replaces the value (or the part that the place names).
    Write,
    /// Takes the address.
    Address,
}

/// Visits every place that the statement names, in the order in which they are used: reads before
/// the write. Operands in index positions come as reads of their own.
pub fn stmt_places(kind: &StmtKind, visit: &mut dyn FnMut(&Place, Access)) {
    match kind {
        StmtKind::Assign(dest, value) => {
            rvalue_places(value, visit);
            place(dest, Access::Write, visit);
        }
        StmtKind::Call { dest, callee, args, .. } => {
            if let Callee::Pointer(operand) = callee {
                operand_places(operand, visit);
            }
            for arg in args {
                operand_places(arg, visit);
            }
            if let Some(dest) = dest {
                place(dest, Access::Write, visit);
            }
        }
        StmtKind::Check(check) => check_places(check, visit),
        StmtKind::Prove(Proof::NonNull(a)) => operand_places(a, visit),
        StmtKind::Zero(dest) | StmtKind::VaStart(dest) => place(dest, Access::Write, visit),
        StmtKind::SetTag(dest, _) => place(dest, Access::Write, visit),
        StmtKind::CopyElements { to, from, count } => {
            for operand in [to, from, count] {
                operand_places(operand, visit);
            }
        }
        StmtKind::VaEnd(list) => place(list, Access::Read, visit),
        StmtKind::VaCopy(to, from) => {
            place(from, Access::Read, visit);
            place(to, Access::Write, visit);
        }
        StmtKind::Asm(asm) => {
            for (_, _, input) in &asm.inputs {
                operand_places(input, visit);
            }
            for (_, constraint, output) in &asm.outputs {
                if constraint.contains(&b'+') {
                    place(output, Access::Read, visit);
                }
                place(output, Access::Write, visit);
            }
        }
        StmtKind::ArenaBegin(handle, _) => visit_local(*handle, Access::Write, visit),
        StmtKind::ArenaEnd(handle, _) => visit_local(*handle, Access::Read, visit),
        StmtKind::Open(handle, key, _) => {
            place(key, Access::Move, visit);
            visit_local(*handle, Access::Write, visit);
        }
        StmtKind::Close(handle, key, _) => {
            visit_local(*handle, Access::Read, visit);
            place(key, Access::Write, visit);
        }
        StmtKind::Dispose { value, handle, .. } => {
            operand_places(value, visit);
            if let Some(handle) = handle {
                operand_places(handle, visit);
            }
        }
        StmtKind::DropSlot(slot) => place(slot, Access::Read, visit),
        StmtKind::Swap(a, b) => {
            place(a, Access::Read, visit);
            place(b, Access::Read, visit);
            place(a, Access::Write, visit);
            place(b, Access::Write, visit);
        }
        StmtKind::CursorBegin(cursor, of) => {
            place(of, Access::Address, visit);
            visit_local(*cursor, Access::Write, visit);
        }
        StmtKind::ChannelNew { imp, exp, .. } => {
            place(imp, Access::Write, visit);
            place(exp, Access::Write, visit);
        }
        StmtKind::Send { end, args, .. } => {
            args.iter().for_each(|arg| operand_places(arg, visit));
            place(end, Access::Read, visit);
        }
        StmtKind::Select { dest, cases, .. } => {
            for case in cases {
                match case {
                    SelectCase::Heads(heads) => heads.iter().for_each(|(end, _)| place(end, Access::Read, visit)),
                    SelectCase::After(time) => operand_places(time, visit),
                }
            }
            place(dest, Access::Write, visit);
        }
        StmtKind::Receive { end, binds, .. } => {
            place(end, Access::Read, visit);
            binds.iter().for_each(|bind| place(bind, Access::Write, visit));
        }
        // Types only: the stores and reads around it use the place.
        StmtKind::Pack(..) | StmtKind::Unpack { .. } => {}
        StmtKind::StorageLive(_) | StmtKind::StorageDead(_) | StmtKind::Nop => {}
    }
}

fn visit_local(local: Local, access: Access, visit: &mut dyn FnMut(&Place, Access)) {
    visit(&Place::local(local), access);
}

/// Visits every place that the terminator reads.
pub fn term_places<'a>(kind: &'a TermKind, visit: &mut dyn FnMut(&'a Place, Access)) {
    match kind {
        TermKind::If(a, ..) | TermKind::Switch(a, ..) | TermKind::Return(Some(a)) | TermKind::GotoComputed(a) => {
            operand_places(a, visit)
        }
        _ => {}
    }
}

/// Visits every place that the value names.
pub fn rvalue_places<'a>(value: &'a Rvalue, visit: &mut dyn FnMut(&'a Place, Access)) {
    match value {
        Rvalue::AddrOf(of) => place(of, Access::Address, visit),
        Rvalue::Borrow(kind, of, _) => {
            place(of, if kind.by_address() { Access::Address } else { Access::Read }, visit);
        }
        Rvalue::Tag(of) => place(of, Access::Read, visit),
        // `va_arg` reads the list and steps it; what counts here is that the list must have been
        // started.
        Rvalue::VaArg(of, _) => place(of, Access::Read, visit),
        _ => rvalue_operands(value, &mut |operand| operand_places(operand, visit)),
    }
}

/// Visits the operands of a value, left to right; not the places of `AddrOf`, `Borrow`, `Tag`,
/// `VaArg`.
pub fn rvalue_operands<'a>(value: &'a Rvalue, visit: &mut dyn FnMut(&'a Operand)) {
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
        | Rvalue::Truth(a) => visit(a),
        Rvalue::Binary(_, a, b, _)
        | Rvalue::CountArith(_, a, b)
        | Rvalue::MakeCounted { ptr: a, count: b, .. }
        | Rvalue::Offset(a, b)
        | Rvalue::Difference(a, b) => {
            visit(a);
            visit(b);
        }
        Rvalue::MakeFat { ptr, lo, hi, .. } => {
            visit(ptr);
            visit(lo);
            visit(hi);
        }
        Rvalue::Alloc { count, extra, handle, reuse, .. } => {
            visit(count);
            extra.iter().for_each(&mut *visit);
            reuse.iter().for_each(&mut *visit);
            handle.iter().for_each(visit);
        }
        Rvalue::Builtin(_, args, _) => args.iter().for_each(visit),
        Rvalue::AddrOf(_)
        | Rvalue::Borrow(..)
        | Rvalue::NewKey(..)
        | Rvalue::Tag(_)
        | Rvalue::VaArg(..)
        | Rvalue::LabelAddr(..) => {}
    }
}

/// Visits every place that the check reads.
pub fn check_places<'a>(check: &'a Check, visit: &mut dyn FnMut(&'a Place, Access)) {
    match check {
        Check::Tag(of, _) => place(of, Access::Read, visit),
        _ => check_operands(check, &mut |operand| operand_places(operand, visit)),
    }
}

/// Visits the operands of a check.
pub fn check_operands<'a>(check: &'a Check, visit: &mut dyn FnMut(&'a Operand)) {
    match check {
        Check::Index(a, b)
        | Check::Access(a, b)
        | Check::Near(a, b)
        | Check::Enough { want: a, have: b }
        | Check::Divide(a, b)
        | Check::Terminator(a, b)
        | Check::Count(a, b) => {
            visit(a);
            visit(b);
        }
        Check::Element(element) => {
            visit(&element.base);
            visit(&element.index);
            visit(&element.count);
        }
        Check::Within(a)
        | Check::NotNull(a)
        | Check::Type(a, _)
        | Check::Container(a, ..)
        | Check::TagValue(a, _, _)
        | Check::HasTerminator(a)
        | Check::Step(a)
        | Check::Multiple(a, _)
        | Check::View(a, _) => visit(a),
        Check::Tag(..) | Check::Unreachable => {}
    }
}

/// Visits the place of an operand and what its indices read.
pub fn operand_places<'a>(operand: &'a Operand, visit: &mut dyn FnMut(&'a Place, Access)) {
    match operand {
        Operand::Copy(from) => place(from, Access::Read, visit),
        Operand::Move(from) => place(from, Access::Move, visit),
        Operand::Const(_) => {}
    }
}

/// Visits what the place's indices read, then the place.
pub fn place<'a>(at: &'a Place, access: Access, visit: &mut dyn FnMut(&'a Place, Access)) {
    for step in &at.proj {
        if let Proj::Index(index) = step {
            operand_places(index, visit);
        }
    }
    visit(at, access);
}

impl Place {
    /// Whether it goes through a pointer: what it names is then no part of its local.
    pub fn has_deref(&self) -> bool {
        self.proj.contains(&Proj::Deref)
    }

    /// The local that the place is (a part of), if it does not go through a pointer.
    pub fn local_part(&self) -> Option<Local> {
        match self.base {
            PlaceBase::Local(l) if !self.has_deref() => Some(l),
            _ => None,
        }
    }

    /// The local that the place starts at, whatever comes then.
    pub fn base_local(&self) -> Option<Local> {
        match self.base {
            PlaceBase::Local(l) => Some(l),
            _ => None,
        }
    }
}
