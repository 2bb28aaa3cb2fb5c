//! MIR in a form that runs: types are resolved to sizes and kinds of values, places to offsets and
//! steps.

use mir::ir::{BinOp, UnOp};
use source::{Span, Symbol};
use std::rc::Rc;
use typing::contracts::{ContractId, Head, MessageId, StateId};
use typing::tree::{FuncRef, GlobalId};
use typing::types::{Endpoint, FuncTy, IntKind, Ty};

/// How a value of a type lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repr {
    /// It has no value.
    None,
    /// `bool`
    Bool,
    /// An integer or enumeration.
    Int(IntKind),
    /// `float`
    F32,
    /// `double`
    F64,
    /// `long double` and other types of 16 bytes; computed as `double`.
    F80,
    /// A pointer of one word, a key, a handle.
    Ptr,
    /// A pointer of two or three words.
    Words(u8),
    /// Records, arrays, `va_list`.
    Blob,
}

/// Bytes with their marks.
#[derive(Clone, Debug, Default)]
pub struct Blob {
    /// The bytes.
    pub data: Vec<u8>,
    /// A mark for each, or none if all are initialised.
    pub marks: Vec<u8>,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Val {
    /// Integers, truth values, pointers of one word.
    Int(i128),
    /// Floating values.
    Float(f64),
    /// Pointers of several words.
    Words([u64; 3]),
    /// All else.
    Blob(Rc<Blob>),
}

impl Val {
    /// The first word, as an address.
    pub fn addr(&self) -> u64 {
        match self {
            Val::Int(n) => *n as u64,
            Val::Words(w) => w[0],
            Val::Float(_) | Val::Blob(_) => 0,
        }
    }
    /// As an integer.
    pub fn int(&self) -> i128 {
        match self {
            Val::Int(n) => *n,
            Val::Float(f) => *f as i128,
            Val::Words(w) => i128::from(w[0]),
            Val::Blob(_) => 0,
        }
    }
    /// As a number.
    pub fn float(&self) -> f64 {
        match self {
            Val::Float(f) => *f,
            other => other.int() as f64,
        }
    }
    /// Three words.
    pub fn words(&self) -> [u64; 3] {
        match self {
            Val::Words(w) => *w,
            other => [other.addr(), 0, 0],
        }
    }
    /// A pointer of one word.
    pub fn ptr(address: u64) -> Val {
        Val::Int(i128::from(address))
    }
}

/// Where a place starts.
#[derive(Clone, Copy, Debug)]
pub enum Base {
    /// In the registers of the call.
    Reg,
    /// In a local that has an object of its own.
    Local(u32),
    /// In a global, by its number: each process has its own.
    Global(u32),
    /// In a literal.
    Fixed(u32),
}

/// A step of a place.
#[derive(Clone, Debug)]
pub enum Step {
    /// Through the pointer, then so many bytes on.
    Deref(i64),
    /// To an element of so many bytes, then so many bytes on; the number of elements, if it is
    /// known.
    Index(Op, u64, Option<u64>, i64),
}

/// A place.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where it starts.
    pub base: Base,
    /// Bytes from there.
    pub off: i64,
    /// Further steps.
    pub steps: Box<[Step]>,
    /// Its type.
    pub ty: Ty,
    /// How its value lies.
    pub repr: Repr,
    /// Bytes.
    pub size: u64,
    /// First bit and number of bits of a bit-field.
    pub bits: Option<(u32, u32)>,
    /// Whether it holds something owned.
    pub owns: bool,
    /// Whether it is a whole local.
    pub local: bool,
}

/// What an operand is.
#[derive(Clone, Debug)]
pub enum OpKind {
    /// A value.
    Const(Val),
    /// A pointer to a global by its number: how far its words are from the first byte.
    Address(u32, [u64; 3], bool),
    /// Reads a place; `true` moves.
    Place(Place, bool),
}

/// An operand.
#[derive(Clone, Debug)]
pub struct Op {
    /// What it is.
    pub kind: OpKind,
    /// Its type.
    pub ty: Ty,
    /// How its value lies.
    pub repr: Repr,
}

/// A right side.
#[derive(Clone, Debug)]
pub enum Value {
    Use(Op),
    Unary(UnOp, Op),
    Binary(BinOp, Op, Op, Repr),
    /// To the kind; floats saturate.
    Numeric(Op, Repr),
    Bits(Op, Repr),
    AddrOf(Place),
    MakeFat(Op, Op, Op),
    /// A word by number.
    Part(Op, usize),
    MakeTypedVoid(Op, Ty),
    /// Pointer, count, element size, whether the count is signed 64-bit already.
    Offset(Op, Op, u64),
    Difference(Op, Op, u64),
    Remaining(Op, u64),
    Measure(Op, u64),
    MakeCounted(Op, Op, u64),
    Clamp(Op),
    CountArith(BinOp, Op, Op),
    BlockSize(Op),
    Alloc(Box<Alloc>),
    /// The pointer in a place; lent as a whole value of its own type.
    Borrow(Op, bool),
    /// Counts up.
    Retain(Op),
    NewKey,
    Tag(Place),
    Truth(Op),
    VaArg(Place, Repr, u64),
    Builtin(Symbol, Vec<Op>, Repr),
    Label(u32),
}

/// An allocation.
#[derive(Clone, Debug)]
pub struct Alloc {
    pub elem: Ty,
    pub size: u64,
    pub align: u64,
    pub count: Op,
    pub extra: Option<Op>,
    pub hidden_zero: bool,
    pub fallible: bool,
    pub handle: Option<Op>,
    pub counted: bool,
    pub reuse: Option<Op>,
    /// In the exchange heap.
    pub exchange: bool,
}

/// What is called.
#[derive(Clone, Debug)]
pub enum Callee {
    Direct(FuncRef),
    Pointer(Op),
    Builtin(Symbol),
    Start(FuncRef),
    Spawn(FuncRef),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    Assign(Place, Value),
    Call {
        dest: Option<Place>,
        callee: Callee,
        args: Vec<Op>,
        ty: Rc<FuncTy>,
    },
    Check(Test),
    Live(u32),
    Dead(u32),
    Zero(Place),
    CopyElements {
        to: Op,
        from: Op,
        count: Op,
        elem: Ty,
        size: u64,
        /// At most as many as are left of `from`.
        left: bool,
    },
    SetTag(Place, u32),
    VaStart(Place),
    VaEnd(Place),
    VaCopy(Place, Place),
    ArenaBegin(Place),
    ArenaEnd(Place),
    Open(Place, Place),
    Dispose {
        value: Op,
        handle: Option<Op>,
        moved: Vec<Place>,
    },
    DropSlot(Place),
    /// `true`: both are paths, so that nothing but their owners knows what is in them.
    Swap(Place, Place, bool),
    /// Cursor local, its place, the place it is on, whether that is a slot.
    CursorBegin(u32, Place, Place, bool),
    CursorEnd(u32),
    ChannelNew {
        contract: ContractId,
        state: StateId,
        imp: Place,
        exp: Place,
    },
    Send {
        end: Place,
        message: MessageId,
        args: Vec<Op>,
    },
    Select {
        dest: Place,
        cases: Vec<Vec<(Place, Head)>>,
        /// The time, which stands after all others.
        after: Option<Op>,
        has_default: bool,
    },
    Receive {
        end: Place,
        head: Head,
        binds: Vec<Place>,
        waits: bool,
    },
    SetNew(Place),
    SetAdd {
        set: Place,
        end: Op,
        value: Option<Op>,
    },
    SetTake {
        set: Place,
        head: Head,
        end: Place,
        value: Option<Place>,
    },
    /// The end is in one of these states; `true`: or its peer was found closed.
    EndFound(Op, Vec<StateId>, bool),
    /// What the oracle has no model of.
    Unsupported(&'static str),
    Nop,
}

/// A check, with its operands resolved.
#[derive(Clone, Debug)]
pub enum Test {
    Index(Op, Op),
    /// Pointer, count, element size.
    Access(Op, Op, u64),
    Element(Box<ElementTest>),
    Within(Op, u64),
    Enough(Op, Op),
    NotNull(Op),
    Divide(Op, Op),
    Type(Op, Vec<Ty>),
    Container(Op, Ty, u64),
    Contract(Op, Endpoint),
    Tag(Place, u32, Rc<Vec<String>>),
    /// The tag, values that are good, the member's name, the names by value.
    TagValue(Op, Vec<i128>, Symbol, Vec<(i128, Symbol)>),
    HasTerminator(Op, u64),
    Terminator(Op, Op),
    Count(Op, Op),
    /// Pointer, size, alignment.
    View(Op, u64, u64),
    Step(Op, u64),
    Multiple(Op, u64),
    Unreachable,
}

/// See `mir::ir::ElementCheck`.
#[derive(Clone, Debug)]
pub struct ElementTest {
    pub base: Op,
    pub index: Op,
    pub count: Op,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub enum Term {
    Goto(u32),
    If(Op, u32, u32),
    Switch(Op, Vec<(i128, i128, u32)>, u32),
    Return(Option<Op>),
    Missing,
    Unreachable,
    Computed(Op),
}

impl Term {
    /// What it looks at.
    pub fn operand(&self) -> Option<&Op> {
        match self {
            Term::If(op, ..) | Term::Switch(op, ..) | Term::Computed(op) | Term::Return(Some(op)) => Some(op),
            Term::Goto(_) | Term::Return(None) | Term::Missing | Term::Unreachable => None,
        }
    }
}

/// A block.
#[derive(Debug)]
pub struct Block {
    pub stmts: Vec<(Stmt, Span, bool)>,
    /// What the table says of each, the terminator last; none if it is not asked.
    pub claims: Vec<crate::table::Claims>,
    pub term: Term,
    pub span: Span,
}

/// A local.
#[derive(Clone, Debug)]
pub struct Local {
    /// Offset in the registers, if it has no object of its own.
    pub off: i64,
    /// It has an object of its own.
    pub object: bool,
    pub size: u64,
    pub align: u64,
    pub ty: Ty,
    pub owns: bool,
    pub span: Span,
    /// It is live from its `StorageLive` to its `StorageDead`; others live for the whole call.
    pub scoped: bool,
}

/// A function.
#[derive(Debug)]
pub struct Code {
    pub locals: Vec<Local>,
    pub params: u32,
    pub registers: usize,
    /// What a call takes of the stack, in bytes.
    pub frame: usize,
    pub blocks: Vec<Block>,
    pub ty: Rc<FuncTy>,
    pub unchecked: bool,
    /// Leaks in it were allowed.
    pub leaks: bool,
    /// The globals that it names.
    pub globals: Vec<GlobalId>,
}
