//! Views of one form of a statement, value, terminator or step. Who asks for one has nothing to say
//! about any other form, so a form that is added changes none; a question about several forms
//! stands in `questions.rs`.

use crate::ir::*;
use typing::tree::{BorrowKind, FuncRef};
use typing::types::{Region, Ty};

/// A call: the fields of [`StmtKind::Call`].
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Where the result goes.
    pub dest: &'a Option<Place>,
    /// What is called.
    pub callee: &'a Callee,
    /// The arguments.
    pub args: &'a Vec<Operand>,
    /// The function type called through.
    pub ty: &'a Ty,
}

/// The end of an object: the fields of [`StmtKind::Dispose`].
#[derive(Clone, Copy, Debug)]
pub struct Disposal<'a> {
    /// What is released.
    pub value: &'a Operand,
    /// The reap.
    pub handle: &'a Option<Operand>,
    /// Paths below `*value` that hold nothing any more.
    pub moved: &'a Vec<Vec<Proj>>,
}

/// An allocation: the fields of [`Rvalue::Alloc`].
#[derive(Clone, Copy, Debug)]
pub struct Allocation<'a> {
    /// Element type.
    pub elem: &'a Ty,
    /// Elements.
    pub count: &'a Operand,
    /// Bytes beyond.
    pub extra: &'a Option<Operand>,
    /// One hidden zero element after the last.
    pub hidden_zero: bool,
    /// Null instead of a fault.
    pub fallible: bool,
    /// The arena or reap.
    pub handle: &'a Option<Operand>,
    /// With a count of owners.
    pub counted: bool,
    /// A freed object whose memory is taken.
    pub reuse: &'a Option<Operand>,
}

/// Views of one form, and views to be changed, each named by a line.
macro_rules! forms {
    (
        $of:ident =>
        $($(#[$doc:meta])* $name:ident -> $ty:ty: $form:pat => $view:expr;)*
        $(@mut $(#[$doc_mut:meta])* $name_mut:ident -> $ty_mut:ty: $form_mut:pat => $view_mut:expr;)*
    ) => {
        impl $of {
            $($(#[$doc])*
            pub fn $name(&self) -> Option<$ty> {
                match self {
                    $form => Some($view),
                    _ => None,
                }
            })*
            $($(#[$doc_mut])*
            pub fn $name_mut(&mut self) -> Option<$ty_mut> {
                match self {
                    $form_mut => Some($view_mut),
                    _ => None,
                }
            })*
        }
    };
}

pub(crate) use forms;

forms! {
    StmtKind =>
    /// The place and the value of an assignment.
    as_assign -> (&Place, &Rvalue): StmtKind::Assign(place, value) => (place, value);
    /// The value of an assignment.
    value -> &Rvalue: StmtKind::Assign(_, value) => value;
    /// The call.
    as_call -> Call<'_>: StmtKind::Call { dest, callee, args, ty } => Call { dest, callee, args, ty };
    /// The function that is called by its name.
    called -> &FuncRef: StmtKind::Call { callee: Callee::Direct(func), .. } => func;
    /// The check.
    as_check -> &Check: StmtKind::Check(check) => check;
    /// The pointer that is proven not to be null.
    as_nonnull_proof -> &Operand: StmtKind::Prove(Proof::NonNull(operand)) => operand;
    /// The obligation that analyses discharge.
    as_proof -> &Proof: StmtKind::Prove(proof) => proof;
    /// The local whose storage begins.
    begins -> Local: StmtKind::StorageLive(local) => *local;
    /// The local whose storage ends.
    ends -> Local: StmtKind::StorageDead(local) => *local;
    /// The place that is filled with zeros.
    as_zero -> &Place: StmtKind::Zero(place) => place;
    /// The union whose tag is set, and the member.
    as_set_tag -> (&Place, u32): StmtKind::SetTag(place, member) => (place, *member);
    /// The object that ends.
    as_dispose -> Disposal<'_>: StmtKind::Dispose { value, handle, moved } => Disposal { value, handle, moved };
    /// The slot whose content is dropped.
    as_drop_slot -> &Place: StmtKind::DropSlot(slot) => slot;
    /// The two places that exchange their contents.
    as_swap -> (&Place, &Place): StmtKind::Exchange(a, b) => (a, b);
    /// The cursor that begins, and what it is on.
    as_cursor -> (Local, &Place): StmtKind::CursorBegin(cursor, of) => (*cursor, of);
    /// The cursor on a slot that ends.
    as_cursor_end -> Local: StmtKind::CursorEnd(cursor) => *cursor;
    /// The inline assembly.
    as_asm -> &Asm: StmtKind::Assembly(asm) => asm;
    /// The handle and the region of an arena that ends.
    as_arena_end -> (Local, u32): StmtKind::ArenaEnd(handle, region) => (*handle, *region);
    /// The handle, the key's place and the region of an `open`.
    as_open -> (Local, &Place, Region): StmtKind::OpenBegin(handle, key, region) => (*handle, key, *region);
    /// The handle, the key's place and the region of an `open` that ends.
    as_close -> (Local, &Place, Region): StmtKind::Close(handle, key, region) => (*handle, key, *region);
    /// The struct that is packed.
    as_pack -> &Place: StmtKind::Pack(place, _) => place;
    /// The set that a member is taken from.
    as_set_take -> &Place: StmtKind::SetTake { set, .. } => set;
    /// The struct that is unpacked, its fresh regions, and whether its parts are moved out.
    as_unpack -> (&Place, &Vec<u32>, bool):
        StmtKind::UnpackBegin { place, regions, moves } => (place, regions, *moves);
    /// The struct and the regions of an `unpack` that lends and ends.
    as_unpack_end -> (&Place, &Vec<u32>): StmtKind::UnpackEnd(place, regions) => (place, regions);
    @mut
    /// The place and the value of an assignment, to be changed.
    as_assign_mut -> (&mut Place, &mut Rvalue): StmtKind::Assign(place, value) => (place, value);
    @mut
    /// The check, to be changed.
    as_check_mut -> &mut Check: StmtKind::Check(check) => check;
    @mut
    /// The paths that the release of an object leaves out, to be changed.
    skipped_mut -> &mut Vec<Vec<Proj>>: StmtKind::Dispose { moved, .. } => moved;
}

forms! {
    Rvalue =>
    /// What is copied or moved as it is.
    as_use -> &Operand: Rvalue::Use(operand) => operand;
    /// The elements of a new block that is there: an allocation that ends the program if it fails.
    as_sure_block -> &Operand: Rvalue::Alloc { count, fallible: false, reuse: None, .. } => count;
    /// What keeps its bits as a value of another type, and the type.
    as_bits -> (&Operand, Ty): Rvalue::Bits(operand, ty) => (operand, *ty);
    /// The operator and its one operand.
    as_unary -> (UnOp, &Operand): Rvalue::Unary(op, operand) => (*op, operand);
    /// The number that is converted, and its new type.
    as_numeric -> (&Operand, Ty): Rvalue::Numeric(operand, ty) => (operand, *ty);
    /// The operator, its operands and the type of the left one.
    as_binary -> (BinOp, &Operand, &Operand, Ty): Rvalue::Binary(op, a, b, ty) => (*op, a, b, *ty);
    /// The operator and the operands of a count expression.
    as_count_arith -> (BinOp, &Operand, &Operand): Rvalue::CountArith(op, a, b) => (*op, a, b);
    /// The pointer and the elements that it moves by.
    as_offset -> (&Operand, &Operand): Rvalue::Offset(pointer, by) => (pointer, by);
    /// The two addresses whose distance is asked for.
    as_difference -> (&Operand, &Operand): Rvalue::Difference(a, b) => (a, b);
    /// The pointer whose elements are counted up to its end.
    as_remaining -> &Operand: Rvalue::Remaining(pointer) => pointer;
    /// The string whose elements are counted up to its zero.
    as_measure -> &Operand: Rvalue::Measure(pointer) => pointer;
    /// The heap object whose bytes are asked for.
    as_block_size -> &Operand: Rvalue::BlockSize(pointer) => pointer;
    /// The place whose address is taken as in C.
    as_address_of -> &Place: Rvalue::AddrOf(place) => place;
    /// The kind of a loan, its place and the type of its pointer.
    as_borrow -> (BorrowKind, &Place, Ty): Rvalue::Borrow(kind, place, ty) => (*kind, place, *ty);
    /// The allocation.
    as_alloc -> Allocation<'_>:
        Rvalue::Alloc { elem, count, extra, hidden_zero, fallible, handle, counted, reuse } => Allocation {
            elem,
            count,
            extra,
            hidden_zero: *hidden_zero,
            fallible: *fallible,
            handle,
            counted: *counted,
            reuse,
        };
    /// The address word that is taken out of a wide pointer.
    as_pointer_word -> &Operand: Rvalue::Part(operand, Part::Ptr, _) => operand;
    /// The type, the address and the ends of a pointer that is made with bounds.
    as_make_fat -> (Ty, &Operand, &Operand, &Operand): Rvalue::MakeFat { ty, ptr, lo, hi } => (*ty, ptr, lo, hi);
    /// The type, the address and the count of a pointer that gets its bounds from a count.
    as_make_counted -> (Ty, &Operand, &Operand): Rvalue::MakeCounted { ty, ptr, count } => (*ty, ptr, count);
    /// A word of a wide pointer.
    as_part -> (&Operand, Part): Rvalue::Part(operand, part, _) => (operand, *part);
    /// The count that is made `size_t`.
    as_clamp -> &Operand: Rvalue::Clamp(operand) => operand;
    /// The pointer that gets one owner more.
    as_retain -> &Operand: Rvalue::Retain(operand) => operand;
    /// The type of a key that is made.
    as_new_key -> Ty: Rvalue::NewKey(_, ty) => *ty;
    /// The union whose tag is read.
    as_tag -> &Place: Rvalue::Tag(union) => union;
    /// The list of arguments and the type of the next one.
    as_va_arg -> (&Place, Ty): Rvalue::VaArg(list, ty) => (list, *ty);
    /// The block of the label whose address it is.
    as_label -> BlockId: Rvalue::LabelAddr(block, _) => *block;
    /// What is compared with zero.
    as_truth -> &Operand: Rvalue::Truth(operand) => operand;
    @mut
    /// The block of the label whose address it is, to be changed.
    label_mut -> &mut BlockId: Rvalue::LabelAddr(block, _) => block;
    @mut
    /// The kind of a loan, to be changed.
    borrow_kind_mut -> &mut BorrowKind: Rvalue::Borrow(kind, ..) => kind;
    @mut
    /// The memory that an allocation takes, to be changed.
    reuse_mut -> &mut Option<Operand>: Rvalue::Alloc { reuse, .. } => reuse;
}

forms! {
    TermKind =>
    /// Where it always goes.
    as_goto -> BlockId: TermKind::Goto(block) => *block;
    /// What it tests, and where it goes if that is not zero and if it is.
    as_if -> (&Operand, BlockId, BlockId): TermKind::If(operand, yes, no) => (operand, *yes, *no);
    /// What it returns.
    returned -> &Operand: TermKind::Return(Some(operand)) => operand;
    /// The address of the label that it goes to.
    as_computed -> &Operand: TermKind::GotoComputed(operand) => operand;
}

forms! {
    Proj =>
    /// The number of the field that it goes to.
    as_field -> u32: Proj::Field(field) => *field;
    /// What selects the element that it goes to.
    index -> &Operand: Proj::Index(index) => index;
    @mut
    /// What selects the element that it goes to, to be changed.
    index_mut -> &mut Operand: Proj::Index(index) => index;
}
