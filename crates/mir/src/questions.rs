//! Questions about what several forms of a statement, value, check, terminator or step have in
//! common. Each is answered here, by a match without a wildcard, and asked by name elsewhere: who
//! adds a form decides here what it is.
//!
//! What a form accesses is not asked here but of the table ([`crate::effects`]).

use crate::ir::*;
use typing::types::Region;

/// How a value is made from its main operand: see [`Rvalue::made_of`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It is the operand.
    Same,
    /// The same bits of another type.
    Bits,
    /// The number, of another type.
    Number,
    /// A word of it.
    Word(Part),
    /// The same address, with the type that it remembers.
    Typed,
    /// The same address, between two others.
    Fat,
    /// The same address, with a count.
    Counted,
    /// Another address of the same object.
    Moved,
    /// The same address, with one owner more.
    Retained,
}

impl Rvalue {
    /// The operand that the value carries on, and how: as it is, as another type, with or without
    /// bounds, moved within its object. `None` of a value that is computed, read or new.
    pub fn made_of(&self) -> Option<(&Operand, Way)> {
        match self {
            Rvalue::Use(a) => Some((a, Way::Same)),
            Rvalue::Bits(a, _) => Some((a, Way::Bits)),
            Rvalue::Numeric(a, _) => Some((a, Way::Number)),
            Rvalue::Part(a, part, _) => Some((a, Way::Word(*part))),
            Rvalue::MakeTypedVoid(a, _, _) => Some((a, Way::Typed)),
            Rvalue::MakeFat { ptr, .. } => Some((ptr, Way::Fat)),
            Rvalue::MakeCounted { ptr, .. } => Some((ptr, Way::Counted)),
            Rvalue::Offset(a, _) => Some((a, Way::Moved)),
            Rvalue::Retain(a) => Some((a, Way::Retained)),
            Rvalue::Unary(..)
            | Rvalue::Binary(..)
            | Rvalue::AddrOf(_)
            | Rvalue::Difference(..)
            | Rvalue::Remaining(_)
            | Rvalue::Measure(_)
            | Rvalue::Clamp(_)
            | Rvalue::CountArith(..)
            | Rvalue::BlockSize(_)
            | Rvalue::Alloc { .. }
            | Rvalue::Borrow(..)
            | Rvalue::NewKey(..)
            | Rvalue::Tag(_)
            | Rvalue::Truth(_)
            | Rvalue::VaArg(..)
            | Rvalue::Builtin(..)
            | Rvalue::LabelAddr(..) => None,
        }
    }

    /// The operand whose bits it has, maybe as another type.
    pub fn same_bits(&self) -> Option<&Operand> {
        self.made_of().and_then(|(a, way)| match way {
            Way::Same | Way::Bits => Some(a),
            Way::Number | Way::Word(_) | Way::Typed | Way::Fat | Way::Counted | Way::Moved | Way::Retained => None,
        })
    }

    /// The pointer that gets a count.
    pub fn counted_pointer(&self) -> Option<&Operand> {
        self.made_of().and_then(|(a, way)| match way {
            Way::Counted => Some(a),
            Way::Same | Way::Bits | Way::Number | Way::Word(_) | Way::Typed | Way::Fat | Way::Moved | Way::Retained => {
                None
            }
        })
    }

    /// The operand whose value it has, if both are numbers: conversions may change what does not
    /// fit.
    pub fn same_number(&self) -> Option<&Operand> {
        self.made_of().and_then(|(a, way)| match way {
            Way::Same | Way::Number => Some(a),
            Way::Bits | Way::Word(_) | Way::Typed | Way::Fat | Way::Counted | Way::Moved | Way::Retained => None,
        })
    }

    /// The pointer that it has the address of, with the same or other bounds.
    pub fn same_address(&self) -> Option<&Operand> {
        self.made_of().and_then(|(a, way)| match way {
            Way::Same | Way::Bits | Way::Word(Part::Ptr) | Way::Typed | Way::Fat | Way::Counted => Some(a),
            Way::Number | Way::Word(Part::Lo | Part::Hi | Part::Type) | Way::Moved | Way::Retained => None,
        })
    }

    /// The pointer that it is null with, and only then.
    pub fn null_with(&self) -> Option<&Operand> {
        self.made_of().and_then(|(a, way)| match way {
            Way::Same | Way::Bits | Way::Word(Part::Ptr | Part::Lo) | Way::Typed | Way::Fat | Way::Counted => Some(a),
            Way::Number | Way::Word(Part::Hi | Part::Type) | Way::Moved | Way::Retained => None,
        })
    }

    /// The pointer whose object it points into, with the same type of pointer but for its bounds.
    pub fn same_object(&self) -> Option<&Operand> {
        self.made_of().and_then(|(a, way)| match way {
            Way::Same
            | Way::Bits
            | Way::Word(Part::Ptr | Part::Lo | Part::Hi)
            | Way::Fat
            | Way::Counted
            | Way::Moved => Some(a),
            Way::Number | Way::Word(Part::Type) | Way::Typed | Way::Retained => None,
        })
    }

    /// The place whose own address it is.
    pub fn address_of(&self) -> Option<&Place> {
        self.points_at().and_then(|(place, own)| own.then_some(place))
    }

    /// The place that it is the address of (true), or whose pointer it lends on (false).
    pub fn points_at(&self) -> Option<(&Place, bool)> {
        match self {
            Rvalue::AddrOf(place) => Some((place, true)),
            Rvalue::Borrow(kind, place, _) => Some((place, kind.by_address())),
            Rvalue::Use(_)
            | Rvalue::Unary(..)
            | Rvalue::Binary(..)
            | Rvalue::Numeric(..)
            | Rvalue::Bits(..)
            | Rvalue::MakeFat { .. }
            | Rvalue::Part(..)
            | Rvalue::MakeTypedVoid(..)
            | Rvalue::Offset(..)
            | Rvalue::Difference(..)
            | Rvalue::Remaining(_)
            | Rvalue::Measure(_)
            | Rvalue::MakeCounted { .. }
            | Rvalue::Clamp(_)
            | Rvalue::CountArith(..)
            | Rvalue::BlockSize(_)
            | Rvalue::Alloc { .. }
            | Rvalue::Retain(_)
            | Rvalue::NewKey(..)
            | Rvalue::Tag(_)
            | Rvalue::Truth(_)
            | Rvalue::VaArg(..)
            | Rvalue::Builtin(..)
            | Rvalue::LabelAddr(..) => None,
        }
    }

    /// Whether it makes something that was not there: an object, a key, or what a list of arguments
    /// brings. What a slot held before is then lost sight of.
    pub fn is_new(&self) -> bool {
        match self {
            Rvalue::Alloc { .. } | Rvalue::NewKey(..) | Rvalue::VaArg(..) => true,
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
            | Rvalue::Measure(_)
            | Rvalue::MakeCounted { .. }
            | Rvalue::Clamp(_)
            | Rvalue::CountArith(..)
            | Rvalue::BlockSize(_)
            | Rvalue::Borrow(..)
            | Rvalue::Retain(_)
            | Rvalue::Tag(_)
            | Rvalue::Truth(_)
            | Rvalue::Builtin(..)
            | Rvalue::LabelAddr(..) => false,
        }
    }

    /// A comparison: the operator, its operands and their type.
    pub fn comparison(&self) -> Option<(BinOp, &Operand, &Operand, typing::types::Ty)> {
        self.as_binary().filter(|(op, ..)| crate::ty::is_comparison(*op))
    }

    /// What it tests against zero or null, and whether it is 1 for what is not (otherwise for what
    /// is).
    pub fn tested(&self) -> Option<(&Operand, bool)> {
        match self {
            Rvalue::Truth(a) => Some((a, true)),
            Rvalue::Unary(UnOp::Not, a) => Some((a, false)),
            Rvalue::Unary(UnOp::Neg | UnOp::BitNot | UnOp::Real | UnOp::Imag, _)
            | Rvalue::Use(_)
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
            | Rvalue::Measure(_)
            | Rvalue::MakeCounted { .. }
            | Rvalue::Clamp(_)
            | Rvalue::CountArith(..)
            | Rvalue::BlockSize(_)
            | Rvalue::Alloc { .. }
            | Rvalue::Borrow(..)
            | Rvalue::Retain(_)
            | Rvalue::NewKey(..)
            | Rvalue::Tag(_)
            | Rvalue::VaArg(..)
            | Rvalue::Builtin(..)
            | Rvalue::LabelAddr(..) => None,
        }
    }

    /// Whether it is the constant null.
    pub fn is_null(&self) -> bool {
        self.as_use().is_some_and(|a| matches!(a, Operand::Const(Const::Null(_))))
    }
}

impl Stmt {
    /// Leaves nothing where it stood: the numbers of those after it stay.
    pub fn remove(&mut self) {
        self.kind = StmtKind::Nop;
    }
}

impl StmtKind {
    /// `local = value`
    pub fn set(local: Local, value: Rvalue) -> StmtKind {
        StmtKind::Assign(Place::local(local), value)
    }

    /// The value that is assigned to the whole local.
    pub fn assigned_to(&self, local: Local) -> Option<&Rvalue> {
        self.as_assign().filter(|(place, _)| place.as_local() == Some(local)).map(|(_, value)| value)
    }

    /// The temporary that something is lent in for a call, and what is lent.
    pub fn as_lent(&self) -> Option<(Local, &Place)> {
        let (dest, value) = self.as_assign()?;
        let (kind, of, _) = value.as_borrow()?;
        kind.is_for_call().then_some((dest.as_local()?, of))
    }

    /// The local whose storage begins or ends.
    pub fn storage(&self) -> Option<Local> {
        self.begins().or(self.ends())
    }

    /// The region that it makes live (true), or ends.
    pub fn opens(&self) -> Option<(Region, bool)> {
        match self {
            StmtKind::ArenaBegin(_, n) => Some((Region::Body(*n), true)),
            StmtKind::ArenaEnd(_, n) => Some((Region::Body(*n), false)),
            StmtKind::OpenBegin(_, _, region) => Some((*region, true)),
            StmtKind::Close(_, _, region) => Some((*region, false)),
            StmtKind::Assign(..)
            | StmtKind::Call { .. }
            | StmtKind::Check(_)
            | StmtKind::Prove(_)
            | StmtKind::StorageLive(_)
            | StmtKind::StorageDead(_)
            | StmtKind::Zero(_)
            | StmtKind::CopyElements { .. }
            | StmtKind::SetTag(..)
            | StmtKind::VaStart(_)
            | StmtKind::VaEnd(_)
            | StmtKind::VaCopy(..)
            | StmtKind::Assembly(_)
            | StmtKind::Dispose { .. }
            | StmtKind::DropSlot(_)
            | StmtKind::Exchange(..)
            | StmtKind::CursorBegin(..)
            | StmtKind::CursorEnd(_)
            | StmtKind::Pack(..)
            | StmtKind::UnpackBegin { .. }
            | StmtKind::UnpackEnd(..)
            | StmtKind::ChannelNew { .. }
            | StmtKind::Send { .. }
            | StmtKind::Select { .. }
            | StmtKind::Receive { .. }
            | StmtKind::SetNew(_)
            | StmtKind::SetAdd { .. }
            | StmtKind::SetTake { .. }
            | StmtKind::Nop => None,
        }
    }

    /// What it does while the program runs, roughly: see [`Action`].
    pub fn action(&self) -> Action {
        match self {
            StmtKind::Nop | StmtKind::Prove(_) => Action::None,
            StmtKind::StorageLive(_) | StmtKind::StorageDead(_) => Action::Storage,
            StmtKind::Check(_) => Action::Check,
            StmtKind::Assign(..) => Action::Assign,
            StmtKind::Zero(_) | StmtKind::SetTag(..) => Action::Fill,
            StmtKind::Call { .. } => Action::Call,
            StmtKind::Assembly(_) => Action::Assembly,
            StmtKind::CopyElements { .. } => Action::Copy,
            StmtKind::VaStart(_) | StmtKind::VaEnd(_) | StmtKind::VaCopy(..) => Action::Arguments,
            StmtKind::Dispose { .. } | StmtKind::DropSlot(_) | StmtKind::Exchange(..) => Action::Owner,
            StmtKind::ArenaBegin(..)
            | StmtKind::ArenaEnd(..)
            | StmtKind::OpenBegin(..)
            | StmtKind::Close(..)
            | StmtKind::CursorBegin(..)
            | StmtKind::CursorEnd(_)
            | StmtKind::Pack(..)
            | StmtKind::UnpackBegin { .. }
            | StmtKind::UnpackEnd(..) => Action::Region,
            StmtKind::Send { .. } => Action::Send,
            StmtKind::ChannelNew { .. }
            | StmtKind::Select { .. }
            | StmtKind::Receive { .. }
            | StmtKind::SetNew(_)
            | StmtKind::SetAdd { .. }
            | StmtKind::SetTake { .. } => Action::Channel,
        }
    }
}

/// Groups of statements, for those who treat all of a group alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing at run time.
    None,
    /// A local's storage begins or ends.
    Storage,
    /// A test that faults.
    Check,
    /// A place gets a value.
    Assign,
    /// A place gets zeros or a tag.
    Fill,
    /// A function is called, a task or a process begins.
    Call,
    /// Inline assembly.
    Assembly,
    /// Elements are copied between objects.
    Copy,
    /// Lists of arguments.
    Arguments,
    /// What owners hold is released or exchanged.
    Owner,
    /// Arenas, keys, cursors, hidden regions begin or end.
    Region,
    /// A message is sent, which changes no place.
    Send,
    /// Channels and sets of ends are made and taken from.
    Channel,
}

impl TermKind {
    /// What it looks at, or returns.
    pub fn operand(&self) -> Option<&Operand> {
        match self {
            TermKind::If(a, ..) | TermKind::Switch(a, ..) | TermKind::Return(Some(a)) | TermKind::GotoComputed(a) => {
                Some(a)
            }
            TermKind::Goto(_) | TermKind::Return(None) | TermKind::MissingReturn | TermKind::Unreachable => None,
        }
    }

    /// The same, to be changed.
    pub fn operand_mut(&mut self) -> Option<&mut Operand> {
        match self {
            TermKind::If(a, ..) | TermKind::Switch(a, ..) | TermKind::Return(Some(a)) | TermKind::GotoComputed(a) => {
                Some(a)
            }
            TermKind::Goto(_) | TermKind::Return(None) | TermKind::MissingReturn | TermKind::Unreachable => None,
        }
    }

    /// The value that decides where it goes.
    pub fn decided_by(&self) -> Option<&Operand> {
        match self {
            TermKind::If(a, ..) | TermKind::Switch(a, ..) => Some(a),
            // A label's address says where to go by itself.
            TermKind::GotoComputed(_)
            | TermKind::Goto(_)
            | TermKind::Return(_)
            | TermKind::MissingReturn
            | TermKind::Unreachable => None,
        }
    }

    /// The same, to be changed.
    pub fn decided_by_mut(&mut self) -> Option<&mut Operand> {
        self.decided_by()?;
        self.operand_mut()
    }

    /// Whether it leaves the function.
    pub fn leaves(&self) -> bool {
        match self {
            TermKind::Return(_) | TermKind::MissingReturn => true,
            TermKind::Goto(_)
            | TermKind::If(..)
            | TermKind::Switch(..)
            | TermKind::GotoComputed(_)
            | TermKind::Unreachable => false,
        }
    }

    /// Whether it falls off the end of a function that must return a value.
    pub fn misses_return(&self) -> bool {
        self.leaves() && !self.is_return()
    }

    /// Whether it is a `return`, of a value or of none.
    pub fn is_return(&self) -> bool {
        match self {
            TermKind::Return(_) => true,
            TermKind::MissingReturn
            | TermKind::Goto(_)
            | TermKind::If(..)
            | TermKind::Switch(..)
            | TermKind::GotoComputed(_)
            | TermKind::Unreachable => false,
        }
    }
}

impl Proj {
    /// Whether it goes to a field.
    pub fn is_field(&self) -> bool {
        self.as_field().is_some()
    }
}

impl Place {
    /// The field that it ends with, and the steps before.
    pub fn last_field(&self) -> Option<(u32, &[Proj])> {
        let (last, before) = self.proj.split_last()?;
        Some((last.as_field()?, before))
    }

    /// What selects the elements on its way.
    pub fn indices(&self) -> impl Iterator<Item = &Operand> {
        self.proj.iter().filter_map(Proj::index)
    }
}
