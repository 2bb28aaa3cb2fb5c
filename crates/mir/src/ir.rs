//! MIR: a control-flow graph per function. Every access is to an explicit place, every check is a
//! statement, every statement keeps its source span. Analyses reject or annotate MIR, transforms
//! rewrite it, the back end prints it as C.
//!
//! Evaluation order is the order of statements. Operands have no side effects; an operand that
//! reads memory reads it when its statement runs.

pub use crate::checks::{Check, IndexBounds, Subject};
pub use crate::forms::{Allocation, Call, Disposal};
pub use crate::questions::{Action, Way};
use rustc_hash::FxHashMap;
use source::{Span, Symbol};
use typing::contracts::{ContractId, MessageId, StateId};
use typing::tree::{BorrowKind, ConstAddr, FuncId, FuncRef, GlobalId, RegionDecl, StrId, Trust};
use typing::types::{FormatTy, KeyKind, Qty, Region, Ty, TypeStore};

/// Everything the back end needs for one object file.
#[derive(Debug, Default)]
pub struct Program {
    /// Types.
    pub types: TypeStore,
    /// Functions by `FuncId`, bodies moved into `bodies`.
    pub functions: Vec<typing::tree::Function>,
    /// Globals by `GlobalId`.
    pub globals: Vec<typing::tree::Global>,
    /// String literals by `StrId`.
    pub strings: Vec<typing::tree::StringLit>,
    /// File-level assembly.
    pub asm: Vec<Vec<u8>>,
    /// C that emitted C takes as it is.
    pub c_text: typing::vectors::CText,
    /// Bodies as written: one for each defined function, generic ones included (`args` empty).
    pub bodies: Vec<Body>,
    /// Instances of generics that are reachable from non-generic code, made by substitution.
    pub instances: Vec<Body>,
}

/// Number of a local.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Local(pub u32);
/// Number of a basic block; block 0 is the entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BlockId(pub u32);
/// Number of a lexical scope; scope 0 is the function's (parameters).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ScopeId(pub u32);

/// The body of a function or of an instance.
#[derive(Clone, Debug)]
pub struct Body {
    /// Which function, with its type arguments (none in a generic body itself).
    pub func: FuncRef,
    /// Locals; the first `params` are the parameters.
    pub locals: Vec<LocalDecl>,
    /// Number of parameters.
    pub params: u32,
    /// Lexical scopes: parent and span. Scope 0 has none.
    pub scopes: Vec<Scope>,
    /// The graph.
    pub blocks: Vec<Block>,
    /// Plain C: no checks, no analyses.
    pub unchecked: bool,
    /// Variadic format contract, as on the typed tree.
    pub format: Option<FormatTy>,
    /// Regions by `Region::Body`, as on the typed tree; `scope` is the scope at whose end each
    /// ends.
    pub regions: Vec<BodyRegion>,
    /// Number of regions to solve (`Region::Infer`).
    pub infer_regions: u32,
    /// By region to solve: the heap (`@heap`, `@exchange`) that what is owned in it is in, and so
    /// owes its release. Filled in by the analysis of regions.
    pub infer_owes: Vec<Option<Region>>,
    /// Labels whose address is taken (`&&l`, plain C). If any is, all labels of the function are
    /// here, by `LabelId`.
    pub address_labels: Vec<(Symbol, BlockId)>,
    /// The declaration.
    pub span: Span,
    /// The closing brace.
    pub end: Span,
}

/// A region of a body and the scope at whose end it ends (scope 0 for those of the prototype).
#[derive(Clone, Debug)]
pub struct BodyRegion {
    /// Name, kind, declaration.
    pub decl: RegionDecl,
    /// Its scope. Of a `Block` region: the scope whose locals it holds.
    pub scope: ScopeId,
}

/// A lexical scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The scope around it.
    pub parent: Option<ScopeId>,
    /// Its braces.
    pub span: Span,
}

/// What a local is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// A parameter as it arrives. A `counted_by` parameter arrives in a one-word `Param` local and
    /// is copied into a fat `Var` of the same name at entry.
    Param,
    /// A variable of the program.
    Var,
    /// Made by lowering; assigned before each use by construction.
    Temp,
    /// A heap object that a transform put into the frame. It is `live` from its allocation to its
    /// end only.
    Cell,
}

/// A local.
#[derive(Clone, Debug)]
pub struct LocalDecl {
    /// Its name in the source.
    pub name: Option<Symbol>,
    /// Its type.
    pub ty: Qty,
    /// What it is.
    pub kind: LocalKind,
    /// The scope at whose end it dies.
    pub scope: ScopeId,
    /// Whether its address is taken anywhere (`AddrOf`).
    pub address_taken: bool,
    /// Whether what it owns may be reached by an address of it: then it is a slot. (Addresses that
    /// the code which is left takes count in any case.)
    pub slot: bool,
    /// Annotated `@heap`.
    pub heap: bool,
    /// `alignas`
    pub align: Option<u64>,
    /// Its declaration.
    pub span: Span,
    /// Where the source names it other than to assign all of it, in the order of evaluation: for
    /// reports, whose statements are wider than a name.
    pub uses: Vec<Span>,
}

impl LocalDecl {
    /// A temporary.
    pub fn temp(ty: Ty, scope: ScopeId, span: Span) -> LocalDecl {
        LocalDecl {
            name: None,
            ty: Qty::plain(ty),
            kind: LocalKind::Temp,
            scope,
            address_taken: false,
            slot: false,
            heap: false,
            align: None,
            span,
            uses: vec![],
        }
    }
}

/// A basic block.
#[derive(Clone, Debug)]
pub struct Block {
    /// Statements in order.
    pub stmts: Vec<Stmt>,
    /// How it ends.
    pub term: Terminator,
}

/// A statement with its place in the source.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it comes from.
    pub span: Span,
    /// Stands in `unsafe` code: analyses that guard safe code skip it.
    pub is_unsafe: bool,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `place = value`
    Assign(Place, Rvalue),
    /// `dest = callee(args)`; `dest` is a whole local. Arguments are whole values (a fat pointer is
    /// one argument); the back end splits them.
    Call {
        /// Where the result goes; `None` if it is dropped or void.
        dest: Option<Place>,
        /// What is called.
        callee: Callee,
        /// The arguments; a variadic tail is included.
        args: Vec<Operand>,
        /// The function type called through.
        ty: Ty,
    },
    /// A run-time check; faults if it fails.
    Check(Check),
    /// A static obligation that a later analysis discharges, or reports.
    Prove(Proof),
    /// The local comes to life, unassigned (aggregates: see `Zero`).
    StorageLive(Local),
    /// The local's scope ends.
    StorageDead(Local),
    /// Fills the place with zero bytes (null pointers, zero numbers).
    Zero(Place),
    /// Copies `count` elements (operand of type `size_t`) from one thin pointer to another (used
    /// for realloc, views). From a fat pointer only as many as are left of it; null has none.
    CopyElements {
        /// Thin destination.
        to: Operand,
        /// Thin or fat source.
        from: Operand,
        /// Elements.
        count: Operand,
    },
    /// Sets the tag of a tagged union place to the member.
    SetTag(Place, u32),
    /// `va_start` on a `va_list` place; the last named parameter is the function's.
    VaStart(Place),
    /// `va_end`
    VaEnd(Place),
    /// `va_copy(dst, src)`
    VaCopy(Place, Place),
    /// Inline assembly (`unsafe`, plain C).
    Assembly(Box<Asm>),
    /// `arena r;`: makes the LIFO arena or reap (as the region's kind says) and its handle.
    ArenaBegin(Local, u32),
    /// The LIFO arena ends, however its scope is left.
    ArenaEnd(Local, u32),
    /// `open`: takes the key out of the place (the place is moved-from until the close) and makes
    /// the region live: handle local, key place, region.
    OpenBegin(Local, Place, Region),
    /// The end of an `open`: gives the key back to its place.
    Close(Local, Place, Region),
    /// Frees (releases, closes) an owned value and, deeply and without recursion, all that it owns.
    /// Type decides: `unique`, `rc` (counts down first), keys. `handle` is the reap's for `rfree`
    /// and `release(r, p)`. `moved` are the parts below the place that were moved out on every
    /// path, so they are skipped; the ownership analysis fills them in.
    Dispose {
        /// What is released; a `Move` or a temporary.
        value: Operand,
        /// The reap.
        handle: Option<Operand>,
        /// Paths below `*value` that hold nothing any more.
        moved: Vec<Vec<Proj>>,
    },
    /// Disposes of what a container slot (or each slot of an array or struct) holds, before it is
    /// overwritten or ends. Null owes nothing.
    DropSlot(Place),
    /// `a :=: b` where one side is owned: exchanges the contents.
    Exchange(Place, Place),
    /// A cursor's place is lent exclusively from here until the cursor's `StorageDead`: cursor
    /// local, place.
    CursorBegin(Local, Place),
    /// The block of a cursor that took out what a slot held ends, right before the cursor's
    /// `StorageDead`: what is in the slot is disposed of, and the slot gets back what the cursor
    /// left. Cursors on other places have none.
    CursorEnd(Local),
    /// From here the hidden regions of the struct at the place stand for these regions, by `exists`
    /// number: the struct is packed by the stores to its fields that follow.
    Pack(Place, Vec<Region>),
    /// `unpack`: from here reads of the fields of the struct at the place, which bring its parts
    /// into locals, see its hidden regions as these entries of `Body::regions`, by `exists` number.
    UnpackBegin {
        /// The struct.
        place: Place,
        /// The fresh regions.
        regions: Vec<u32>,
        /// The parts are moved out; else the place is lent until its `UnpackEnd`.
        moves: bool,
    },
    /// The block of an `unpack` that lends ends, right after the `StorageDead` of the parts: the
    /// struct at the place is lent no longer. It names the place and the regions of its `Unpack`.
    /// One that moves its parts out, or of a struct that owns nothing, has none.
    UnpackEnd(Place, Vec<u32>),
    /// `channel C:STATE (imp, exp);`: makes a channel, whose two ends go to the places.
    ChannelNew {
        /// What its ends speak.
        contract: ContractId,
        /// Both ends begin in it.
        state: StateId,
        /// Where the importer's end goes.
        imp: Place,
        /// Where the exporter's goes.
        exp: Place,
    },
    /// `send end.M(args);`: never waits. What the arguments own goes with the message.
    Send {
        /// The end; it stays where it is.
        end: Place,
        /// What is sent.
        message: MessageId,
        /// Its arguments.
        args: Vec<Operand>,
    },
    /// `switch receive`: waits until a case can be taken; `dest` (an `int` local) becomes its
    /// number, or -1 when none can ever be taken any more and there is a `default`. Takes nothing:
    /// a `Receive` for each end of the case follows.
    Select {
        /// The number of the case.
        dest: Place,
        /// In order: the first that can be taken is.
        cases: Vec<SelectCase>,
        /// Without it, a fault if no case can ever be taken any more.
        has_default: bool,
    },
    /// Takes a message from the head of an end's queue.
    Receive {
        /// The end; it stays where it is.
        end: Place,
        /// What is taken; nothing if the other end is closed.
        head: Head,
        /// Where the arguments go: one whole local each.
        binds: Vec<Place>,
        /// `receive end.M(x);`: waits for it; a fault if something else comes. Otherwise it is
        /// known to be there (after a `Select`).
        waits: bool,
    },
    /// `eset<E> s;`: makes an empty set, which goes to the place.
    SetNew(Place),
    /// `eset_add(s, d);`, `emap_add(m, d, v);`
    SetAdd {
        /// The set; it stays where it is.
        set: Place,
        /// What becomes its member.
        end: Operand,
        /// The value that a map gets with it.
        value: Option<Operand>,
    },
    /// Takes a member out of a set, which is known to be there (after a `Select`); a `Receive` from
    /// it follows, unless `head` is `Any`.
    SetTake {
        /// The set; it stays where it is.
        set: Place,
        /// What stands at the member's head.
        head: Head,
        /// A whole local, which the member goes to.
        end: Place,
        /// Of a map: a whole local, which its value goes to.
        value: Option<Place>,
    },
    /// Nothing (left by a transform).
    Nop,
}

/// A case of a `Select`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectCase {
    /// All of these stand at the heads; each end once.
    Heads(Vec<(Place, Head)>),
    /// This many milliseconds have passed.
    After(Operand),
}

pub use typing::contracts::Head;

/// Inline assembly with places and operands.
#[derive(Clone, Debug)]
pub struct Asm {
    /// `volatile`
    pub volatile: bool,
    /// The template.
    pub template: Vec<u8>,
    /// Outputs: name, constraint, place.
    pub outputs: Vec<(Option<Symbol>, Vec<u8>, Place)>,
    /// Inputs.
    pub inputs: Vec<(Option<Symbol>, Vec<u8>, Operand)>,
    /// Clobbers.
    pub clobbers: Vec<Vec<u8>>,
    /// Labels of `asm goto` that it may jump to (unchecked bodies): all of them are among the
    /// body's `address_labels`.
    pub labels: Vec<Symbol>,
}

/// What is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function or instance.
    Direct(FuncRef),
    /// A function pointer operand.
    Pointer(Operand),
    /// A C builtin by name.
    Builtin(Symbol),
    /// A function that a new task calls: `start f(a)`. The call's type has the function's
    /// parameters, every region of which is `@heap`, and a pointer to the task as its result.
    Start(FuncRef),
    /// A function that a new process calls: `spawn f(a)`, `spawn? f(a)` (true). The call's type has
    /// the function's parameters and a `pid` as its result.
    Spawn(FuncRef, bool),
}

impl Program {
    /// Whether it spawns processes.
    pub fn spawns(&self) -> bool {
        self.spawned_at().is_some()
    }

    /// The first of the places where it does.
    pub fn spawned_at(&self) -> Option<Span> {
        let stmts = self.bodies.iter().flat_map(|body| &body.blocks).flat_map(|block| &block.stmts);
        let spawn = |stmt: &&Stmt| stmt.kind.as_call().is_some_and(|call| matches!(call.callee, Callee::Spawn(..)));
        stmts.filter(spawn).map(|stmt| stmt.span).min()
    }

    /// Where it starts a task: the first of such places.
    pub fn starts(&self) -> Option<Span> {
        let stmts = self.bodies.iter().flat_map(|body| &body.blocks).flat_map(|block| &block.stmts);
        let start = |stmt: &&Stmt| stmt.kind.as_call().is_some_and(|call| matches!(call.callee, Callee::Start(_)));
        stmts.filter(start).map(|stmt| stmt.span).min()
    }
}

impl Callee {
    /// Whether it is a function by name that is declared `trusted`.
    pub fn is_trusted(&self, program: &Program) -> bool {
        let Callee::Direct(func) = self else { return false };
        program.functions.get(func.func.0 as usize).is_some_and(|f| f.trust == Trust::Trusted)
    }
}

/// A place in memory or in locals.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Where it starts.
    pub base: PlaceBase,
    /// Steps from there.
    pub proj: Vec<Proj>,
}

/// Where a place starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlaceBase {
    /// A local.
    Local(Local),
    /// A global or static local.
    Global(GlobalId),
    /// A string literal's array.
    Str(StrId),
}

/// A step of a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Proj {
    /// Through the pointer found so far (its address word).
    Deref,
    /// Field number `n` of the record found so far. Of a tagged union: its member's payload, no tag
    /// test.
    Field(u32),
    /// Element of the array found so far; no test (a `Check` stands before). The operand is a local
    /// or a constant.
    Index(Operand),
}

/// An input of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Reads a place.
    Copy(Place),
    /// Reads a place that is not used again (owned values; made by "Regions and ownership").
    Move(Place),
    /// A constant.
    Const(Const),
}

/// Constants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Const {
    /// Integer, bool, enumeration.
    Int(i128, Ty),
    /// Floating constant as C text.
    Float(Symbol, Ty),
    /// A null pointer of any pointer type (all words null).
    Null(Ty),
    /// A function.
    Func(FuncRef),
    /// `sizeof`, a `size_t`.
    SizeOf(Ty),
    /// `alignof`, a `size_t`.
    AlignOf(Ty),
    /// Offset of a field path, a `size_t`.
    OffsetOf(Ty, Vec<u32>),
    /// A constant of the given type that is an address (of a global, a literal) plus bytes.
    Addr(ConstAddrKey, i64, Ty),
}

/// Hashable form of a constant address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstAddrKey {
    /// A global.
    Global(GlobalId),
    /// A string literal.
    Str(StrId),
}

impl ConstAddrKey {
    /// The key of a typed-tree address, if it is one that MIR names as a constant.
    pub fn from_tree(addr: &ConstAddr) -> Option<ConstAddrKey> {
        match addr {
            ConstAddr::Global(g) => Some(ConstAddrKey::Global(*g)),
            ConstAddr::Str(s) => Some(ConstAddrKey::Str(*s)),
            _ => None,
        }
    }
}

/// Binary operators on two operands of one type. Arithmetic wraps. `Shl`/`Shr` mask the count.
/// `Div`/`Rem` need a `Check` before them. Comparisons give `int` 0 or 1; on pointers they compare
/// addresses.
pub use typing::tree::BinOp;
/// Unary operators on values.
pub use typing::tree::UnOp;

/// The right side of an assignment.
#[derive(Clone, Debug)]
pub enum Rvalue {
    /// A copy of an operand.
    Use(Operand),
    /// One operand.
    Unary(UnOp, Operand),
    /// Two operands; the type is that of the left one.
    Binary(BinOp, Operand, Operand, Ty),
    /// Numeric conversion to the type, C's rules; float to integer saturates in checked code.
    Numeric(Operand, Ty),
    /// Same bits as another one-word type (pointer casts, pointer to integer and back).
    Bits(Operand, Ty),
    /// Thin pointer to a place.
    AddrOf(Place),
    /// A fat pointer of the type from three thin ones.
    MakeFat {
        /// The fat type.
        ty: Ty,
        /// Address.
        ptr: Operand,
        /// First element.
        lo: Operand,
        /// One past the last (string objects: the hidden zero).
        hi: Operand,
    },
    /// A word of a fat pointer or of a typed `void *`, as a thin pointer of the given type.
    Part(Operand, Part, Ty),
    /// A typed `void *` from a thin pointer and the remembered type; the last field is the `void *`
    /// type.
    MakeTypedVoid(Operand, Ty, Ty),
    /// Address plus elements; a fat operand keeps its bounds. The count is an integer of any type
    /// up to 64 bits, taken as signed 64-bit if it has that size. The product with the element size
    /// wraps, but never into the bounds of a fat operand.
    Offset(Operand, Operand),
    /// Difference of two addresses in elements (`ptrdiff_t`).
    Difference(Operand, Operand),
    /// Number of whole elements from the address of a fat pointer to its end, 0 if it is outside
    /// (`size_t`): `lengthof`.
    Remaining(Operand),
    /// Elements of a terminated string before its zero (`size_t`).
    Measure(Operand),
    /// A fat pointer of the type from a thin pointer to the first element and a count (signed
    /// 64-bit). A null address or a count below 1 gives no elements; null gives the null value.
    MakeCounted {
        /// The fat type.
        ty: Ty,
        /// Address and first element.
        ptr: Operand,
        /// Elements.
        count: Operand,
    },
    /// A count (signed 64-bit) as `size_t`; negative is 0.
    Clamp(Operand),
    /// Arithmetic of count expressions on signed 64-bit operands; an overflow is a fault (count).
    CountArith(BinOp, Operand, Operand),
    /// Bytes asked for when the heap object that starts at the thin pointer was made, 0 if it is
    /// none (`size_t`).
    BlockSize(Operand),
    /// Allocates `count` zeroed elements in the heap, and one more zero after them for character
    /// blocks; gives a thin pointer to `elem`. Faults when there is no room, or gives null if
    /// fallible.
    Alloc {
        /// Element type.
        elem: Ty,
        /// Elements (signed 64-bit; negative is no room).
        count: Operand,
        /// Bytes beyond, for a flexible tail (`size_t`).
        extra: Option<Operand>,
        /// One hidden zero element after the last.
        hidden_zero: bool,
        /// Null instead of a fault.
        fallible: bool,
        /// The arena or reap that it comes from; `None`: the heap (or `@exchange`, as the type of
        /// the result says).
        handle: Option<Operand>,
        /// With a count in front, which starts at one.
        counted: bool,
        /// A freed object of the heap, or null, whose memory is taken if it fits (made by
        /// `transform`).
        reuse: Option<Operand>,
    },
    /// A pointer of the type into what the place owns (or to the slot itself): a loan that lasts as
    /// long as a local in scope has a type that mentions it.
    Borrow(BorrowKind, Place, Ty),
    /// Counts up and gives another owned pointer; null stays null.
    Retain(Operand),
    /// A new dynamic arena: its key (the type is the key's).
    NewKey(KeyKind, Ty),
    /// The tag of a tagged union place: member number (`int`).
    Tag(Place),
    /// Whether a scalar is not zero, as `int` 0 or 1.
    Truth(Operand),
    /// `va_arg(place, T)`
    VaArg(Place, Ty),
    /// A call of a pure C builtin on numbers.
    Builtin(Symbol, Vec<Operand>, Ty),
    /// Address of a label whose address is taken (plain C).
    LabelAddr(BlockId, Ty),
}

/// A word of a multi-word pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The address.
    Ptr,
    /// First element.
    Lo,
    /// End.
    Hi,
    /// Remembered type of a `void *`.
    Type,
}

/// `0 <= index < count`, and the pointer is not null. The flags say what is left to test.
#[derive(Clone, Debug)]
pub struct ElementCheck {
    /// The pointer, of one word; the elements begin there.
    pub base: Operand,
    /// The element: an integer of any type up to 64 bits, taken as signed 64-bit if it has that
    /// size.
    pub index: Operand,
    /// How many there are (signed 64-bit).
    pub count: Operand,
    /// The pointer may be null although the count is not 0.
    pub may_be_null: bool,
    /// The count may be negative, which is none.
    pub may_be_negative: bool,
    /// The index is less than the count, but may be negative.
    pub is_below: bool,
    /// How a count that may be negative is told from one that is large, if not by a test of its own.
    pub sign: Sign,
}

/// What makes one comparison of signed numbers the whole test of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sign {
    /// Nothing.
    #[default]
    Unknown,
    /// The index is not negative.
    Natural,
    /// Index and count are numbers of 32 bits. As an unsigned one a negative index is larger than
    /// any count.
    Narrow,
}

/// Static obligations.
#[derive(Clone, Debug)]
pub enum Proof {
    /// The pointer operand (a local) is not null here.
    NonNull(Operand),
    /// `switch (state d)`: each state that the end may be in has a case, or there is a `default`;
    /// and it may be in each that has a case.
    EndCases {
        /// A variable.
        end: Operand,
        /// The states that have a case.
        states: Vec<StateId>,
        /// Whether there is a `default`.
        has_default: bool,
    },
    /// The end was found to be in one of these states. Only lowering makes these, on the edges of a
    /// `switch (state d)`.
    EndFound {
        /// A variable.
        end: Operand,
        /// The states that are left.
        states: Vec<StateId>,
        /// Whether its peer may have been found closed.
        closed: bool,
    },
}

/// How a block ends.
#[derive(Clone, Debug)]
pub struct Terminator {
    /// What it does.
    pub kind: TermKind,
    /// Where it comes from.
    pub span: Span,
}

/// Kinds of terminators.
#[derive(Clone, Debug)]
pub enum TermKind {
    /// To a block.
    Goto(BlockId),
    /// On a scalar operand: not zero, zero. Of a pointer of several words the address counts (as in
    /// `Truth`).
    If(Operand, BlockId, BlockId),
    /// On an integer operand: inclusive ranges, else.
    Switch(Operand, Vec<(i128, i128, BlockId)>, BlockId),
    /// Leaves the function.
    Return(Option<Operand>),
    /// Falls off the end of a function that must return a value; the analyses report it if it can
    /// be reached.
    MissingReturn,
    /// Never reached (after a `noreturn` call or a `Check::Unreachable`).
    Unreachable,
    /// `goto *e` (plain C).
    GotoComputed(Operand),
}

impl Place {
    /// A local.
    pub fn local(local: Local) -> Place {
        Place { base: PlaceBase::Local(local), proj: vec![] }
    }
    /// A global.
    pub fn global(global: GlobalId) -> Place {
        Place { base: PlaceBase::Global(global), proj: vec![] }
    }
    /// One step further.
    pub fn then(&self, step: Proj) -> Place {
        let mut place = self.clone();
        place.proj.push(step);
        place
    }
    /// The local, if the place is one whole local.
    pub fn as_local(&self) -> Option<Local> {
        match (self.base, self.proj.is_empty()) {
            (PlaceBase::Local(l), true) => Some(l),
            _ => None,
        }
    }
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

impl Operand {
    /// Reads a local.
    pub fn local(local: Local) -> Operand {
        Operand::Copy(Place::local(local))
    }
    /// The place read.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Operand::Copy(p) | Operand::Move(p) => Some(p),
            Operand::Const(_) => None,
        }
    }
    /// The place moved out of.
    pub fn moved_place(&self) -> Option<&Place> {
        match self {
            Operand::Move(p) => Some(p),
            Operand::Copy(_) | Operand::Const(_) => None,
        }
    }
}

/// Substitution of type parameters when an instance is made.
pub type Substitution = FxHashMap<u32, Ty>;

/// Where instances come from: the generic's body and the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstanceKey {
    /// The generic.
    pub func: FuncId,
    /// Its arguments.
    pub args: Vec<Ty>,
}
