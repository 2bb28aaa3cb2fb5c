//! The typed tree: every name resolved, every implicit conversion explicit, every type known.
//! Lowering to MIR reads nothing else.
//!
//! In the body of a generic, types mention `TyKind::Param`; lowering makes generic MIR, instances
//! are made from that.

use crate::contracts::{ContractId, Head, MessageId, StateId};
use crate::types::{FormatTy, KeyKind, Qty, RecordId, Region, Ty, TypeStore};
use source::{Span, Symbol};
use std::rc::Rc;

/// Number of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FuncId(pub u32);
/// Number of a global or static local.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct GlobalId(pub u32);
/// Number of a local within its function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LocalId(pub u32);
/// Number of a string literal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct StrId(pub u32);
/// Number of a label within its function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// A checked translation unit.
#[derive(Debug, Default)]
pub struct Program {
    /// All types.
    pub types: TypeStore,
    /// Functions by number: declared, defined, foreign, trusted.
    pub functions: Vec<Function>,
    /// Globals and static locals by number.
    pub globals: Vec<Global>,
    /// String literals by number.
    pub strings: Vec<StringLit>,
    /// File-level assembly (plain C).
    pub asm: Vec<Vec<u8>>,
    /// C that emitted C takes as it is.
    pub c_text: crate::vectors::CText,
    /// The functions whose bodies were checked, in order.
    pub checked: Vec<Checked>,
    /// How many statements were walked through, in all passes over the unit.
    pub walked: u64,
}

/// A function whose body was checked.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// Its number.
    pub func: FuncId,
    /// Its text, body included.
    pub text: Span,
    /// Something in the body is wrong, whether or not it was reported again.
    pub wrong: bool,
}

impl Program {
    /// After errors, leaves what the analyses can look at: the bodies in which nothing is wrong.
    /// False if something is wrong outside of bodies, on which all may depend.
    pub fn keep_right_bodies(&mut self, errors: &[Span]) -> bool {
        if !errors.iter().all(|&at| self.checked.iter().any(|c| c.text.holds(at))) {
            return false;
        }
        for checked in &mut self.checked {
            let body = self.functions.get_mut(checked.func.0 as usize).map(|f| &mut f.body);
            let Some(body) = body else { continue };
            checked.wrong |= errors.iter().any(|&at| checked.text.holds(at));
            checked.wrong |= body.as_ref().is_some_and(|b| b.holds_errors(self.types.common.error));
            if checked.wrong {
                *body = None;
            }
        }
        let wrong: Vec<FuncId> = self.checked.iter().filter(|c| c.wrong).map(|c| c.func).collect();
        self.globals.iter_mut().filter(|g| g.owner.is_some_and(|f| wrong.contains(&f))).for_each(|g| g.init = None);
        true
    }
}

impl Body {
    fn holds_errors(&self, error: Ty) -> bool {
        let is_wrong = |e: &Expr| matches!(*e.kind, ExprKind::Error) || e.ty.ty == error;
        self.locals.iter().any(|l| l.ty.ty == error)
            || self.block.stmts.iter().any(|s| {
                crate::walk::any(crate::walk::Part::Stmt(s), &mut |part| match part {
                    crate::walk::Part::Expr(e) => is_wrong(e),
                    crate::walk::Part::Stmt(_) => false,
                })
            })
    }
}

/// A string literal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StringLit {
    /// Code units, the final zero included.
    pub units: Vec<u32>,
    /// Element type (`char`, `char16_t` ... as integer types).
    pub elem: Ty,
}

/// Linkage of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// `static`
    Internal,
    /// Ordinary.
    External,
    /// One of several equal copies in different objects (inline functions, generic instances):
    /// linked as COMDAT.
    Shared,
}

/// Who vouches for a function or global.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// Leeward, checked; external symbols carry a digest.
    Checked,
    /// `trusted`: C code behind a checked type; no digest.
    Trusted,
    /// C code: usable in `unsafe` only; no digest.
    Foreign,
    /// Leeward code under `extern "C"`: checked body, C's calling convention, no digest.
    Exported,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name in the source.
    pub name: Symbol,
    /// The C symbol (asm label), if another.
    pub symbol: Option<Symbol>,
    /// Its type (`TyKind::Func`).
    pub ty: Ty,
    /// Number of type parameters; 0 if it is not generic.
    pub type_params: u32,
    /// Linkage.
    pub linkage: Linkage,
    /// Trust.
    pub trust: Trust,
    /// Attributes that are handed to the C compiler (`noinline`, `always_inline`, `cold`,
    /// `section(...)` ...), as C text.
    pub attrs: Vec<String>,
    /// Names of the parameters, for the prototype.
    pub param_names: Vec<Option<Symbol>>,
    /// The body, if it is defined here.
    pub body: Option<Box<Body>>,
    /// Declared with `process`: it is spawned, not called.
    pub is_process: bool,
    /// Whether anything in the unit uses it.
    pub used: bool,
    /// What `inline` says about it (plain C).
    pub inline: Inlining,
    /// Defined with an identifier list: the type has no parameters, the body's first locals are
    /// them (plain C).
    pub old_style: bool,
    /// What its definition allows while it is ported.
    pub allows: Allows,
    /// `[[lee::reentrant]]`: C's function may be called in every process.
    pub reentrant: bool,
    /// Where it is declared.
    pub span: Span,
}

impl Function {
    /// Whether the linker may put another body in place of this one.
    pub fn is_replaceable(&self) -> bool {
        self.linkage != Linkage::Internal && self.attrs.iter().any(|a| a.contains("weak") || a.contains("alias"))
    }
}

/// Whether attributes keep a function or a global although nothing names it.
pub fn kept_by(attrs: &[String]) -> bool {
    let words = ["used", "constructor", "destructor", "retain", "alias", "ifunc"];
    attrs.iter().any(|a| words.iter().any(|word| a.contains(word)))
}

/// What `[[lee::allow(...)]]` at a function's definition makes warnings of, in that function alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allows {
    /// `leak`: leaks of heap objects, as `-Wno-leak` does.
    pub leaks: bool,
    /// `free_shared`: `free` of shared pointers, as `-Wno-free-shared` does.
    pub free_shared: bool,
}

/// What the declarations of a function in plain C say about inlining.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inlining {
    /// Some declaration has `inline`.
    pub word: bool,
    /// Every declaration at file scope has it, and none `extern`: C99 takes the definition for
    /// inlining only.
    c99_only: Option<bool>,
    /// The definition is `extern inline` by GNU's older rules, or is not. `None`: C99's rules hold.
    gnu_only: Option<bool>,
}

impl Inlining {
    /// Another declaration.
    pub fn declare(&mut self, inline: bool, is_extern: bool, gnu: bool, defined: bool, at_file: bool) {
        self.word |= inline;
        if at_file {
            self.c99_only = Some(self.c99_only.unwrap_or(true) && inline && !is_extern);
        }
        if defined {
            self.gnu_only = (gnu || self.gnu_only.is_some()).then_some(inline && is_extern);
        }
    }

    /// Whether the definition is for inlining only: the symbol is defined elsewhere.
    pub fn only(&self) -> bool {
        self.gnu_only.or(self.c99_only).unwrap_or(false)
    }
}

/// A global or static local.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its name in the source.
    pub name: Symbol,
    /// The C symbol, if another (asm label; static locals get a unique one from the emitter).
    pub symbol: Option<Symbol>,
    /// Its type; arrays are complete where it is defined.
    pub ty: Qty,
    /// Linkage.
    pub linkage: Linkage,
    /// Trust.
    pub trust: Trust,
    /// `None`: only declared here. `Some(Zero)`: tentative or zero.
    pub init: Option<ConstInit>,
    /// `thread_local`
    pub thread_local: bool,
    /// `alignas`
    pub align: Option<u64>,
    /// C attributes as text.
    pub attrs: Vec<String>,
    /// The function that it is a static local of.
    pub owner: Option<FuncId>,
    /// Whether anything in the unit uses it.
    pub used: bool,
    /// Where it is declared.
    pub span: Span,
}

/// A constant initialiser.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstInit {
    /// All zero bytes / null.
    Zero,
    /// An integer, `bool` or enumeration value.
    Int(i128),
    /// A floating value: C text of the constant, in its type.
    Float(Symbol),
    /// The address of something plus bytes.
    Addr(ConstAddr, i64),
    /// A fat pointer: base, and byte offsets of the address, the first element and the end.
    Fat(ConstAddr, i64, i64, i64),
    /// A Leeward `void *`: the address and the remembered type.
    TypedVoid(ConstAddr, i64, Ty),
    /// Fields or elements by index, rising; the rest is zero. Of a union: the one member.
    Aggregate(Vec<(u64, ConstInit)>),
    /// A tagged union's member and its value.
    Tagged(u32, Box<ConstInit>),
    /// A character array from a literal; padded with zeros or cut to the array's length.
    Str(StrId),
}

impl ConstInit {
    /// Shows each function whose address is in it.
    pub fn each_function(&self, see: &mut dyn FnMut(&FuncRef)) {
        match self {
            ConstInit::Addr(ConstAddr::Func(f), _)
            | ConstInit::Fat(ConstAddr::Func(f), ..)
            | ConstInit::TypedVoid(ConstAddr::Func(f), ..) => see(f),
            ConstInit::Aggregate(parts) => parts.iter().for_each(|(_, part)| part.each_function(see)),
            ConstInit::Tagged(_, part) => part.each_function(see),
            ConstInit::Addr(..)
            | ConstInit::Fat(..)
            | ConstInit::TypedVoid(..)
            | ConstInit::Zero
            | ConstInit::Int(_)
            | ConstInit::Float(_)
            | ConstInit::Str(_) => {}
        }
    }
}

/// What a constant address is relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstAddr {
    /// A global.
    Global(GlobalId),
    /// A function (instance).
    Func(FuncRef),
    /// A string literal.
    Str(StrId),
    /// A label of the function that the static local belongs to (plain C).
    Label(LabelId),
    /// An absolute address (plain C, `unsafe`).
    Absolute,
}

/// A function with its type arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FuncRef {
    /// The function.
    pub func: FuncId,
    /// Type arguments, one for each type parameter.
    pub args: Rc<[Ty]>,
}

/// The body of a function.
#[derive(Clone, Debug)]
pub struct Body {
    /// All locals; the first ones are the parameters in order.
    pub locals: Vec<Local>,
    /// Number of parameters.
    pub params: u32,
    /// Labels by number: their names.
    pub labels: Vec<Symbol>,
    /// The statements.
    pub block: Block,
    /// Whether the function is plain C (unchecked): no checks are made, C's semantics hold.
    pub unchecked: bool,
    /// Declared `trusted` with a body: as if all of it stood in `unsafe`.
    pub is_unsafe: bool,
    /// The variadic format contract of this function, if it has one.
    pub format: Option<FormatTy>,
    /// Regions by `Region::Body`; the first ones are the region variables of the function's type.
    pub regions: Vec<RegionDecl>,
    /// Number of regions to solve (`Region::Infer`).
    pub infer_regions: u32,
    /// The closing brace.
    pub end: Span,
}

/// A region that a body can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionDecl {
    /// Its name, without the `@`; `None` for the region of an unannotated parameter.
    pub name: Option<Symbol>,
    /// What it is.
    pub kind: RegionKind,
    /// Where it is declared.
    pub span: Span,
}

/// Where a region of a body comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// A region variable of the prototype, live throughout.
    Param,
    /// A region variable of the prototype that one of its key parameters belongs to: closed until
    /// it is opened.
    ParamKey,
    /// The locals of a named block (`L: { ... }`), or the parameters (the function's own name).
    Block,
    /// `arena r;` or `reap r;` (`true`): lives until its block ends.
    Lifo(bool),
    /// `key<@d> k = ...`, `unpack ... as {@d, ...}`: closed until it is opened.
    Dynamic,
    /// `unpack ... as {@e, ...}` of an `exists @e outlived by @x`: live as long as `@x`.
    Hidden,
    /// `borrow b = ...`, `cursor c = ...`: lives until the block ends.
    Loan,
}

/// A local variable or parameter.
#[derive(Clone, Debug)]
pub struct Local {
    /// Its name; `None` for a temporary of the front end and for unnamed parameters.
    pub name: Option<Symbol>,
    /// Its type. A `counted_by` parameter is `fat` here (its bounds are made at entry); `Body` and
    /// `FuncTy` differ in that.
    pub ty: Qty,
    /// Where it is declared.
    pub span: Span,
    /// `register`, `volatile` etc. need nothing; `alignas` does.
    pub align: Option<u64>,
    /// Annotated `@heap`: only pointers into the heap may be stored in it.
    pub heap: bool,
}

/// Statements in a scope of their own (a block with the span `NONE` opens no scope: several
/// declarators of one declaration).
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The statements.
    pub stmts: Vec<Stmt>,
    /// The block with its braces.
    pub span: Span,
    /// The region that names its locals, if it is a labelled block: index into `Body::regions`.
    pub region: Option<u32>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
    /// Whether checks are off here (`unsafe { }`).
    pub is_unsafe: bool,
}

/// How a `case .member(binding):` takes what the member holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bind {
    /// By a copy: it owns nothing.
    Copy,
    /// It moves out of the union.
    Move,
    /// It stays there, and is lent as a pointer of this type.
    Borrow(BorrowKind, Ty),
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Nothing.
    Empty,
    /// Evaluate and drop.
    Expr(Expr),
    /// Declare a local; its scope is the rest of the block.
    Declare(LocalId, Option<Init>),
    /// A block.
    Block(Block),
    /// `if`
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    /// `while`
    While(Expr, Box<Stmt>),
    /// `do while`
    DoWhile(Box<Stmt>, Expr),
    /// `for`: the init statements stand in a scope around the loop.
    For(Vec<Stmt>, Option<Expr>, Option<Expr>, Box<Stmt>),
    /// `switch` over an integer (promoted type). `Case` and `Default` statements are inside the
    /// body.
    Switch(Expr, Box<Stmt>),
    /// `switch` over a tagged union place: cases in source order. Falls through as C does unless a
    /// member is bound.
    SwitchTagged(Expr, Box<Stmt>),
    /// `switch (state d)`: over the state that the variable's endpoint is in. The `Case` statements
    /// have the numbers of states. That they are exhaustive is known after the analysis of states.
    SwitchEnd(Expr, Box<Stmt>),
    /// `case lo ... hi:`
    Case(i128, i128, Box<Stmt>),
    /// `case .member(binding):`; the binding is declared and set at the label.
    CaseMember(u32, Option<(LocalId, Bind)>, Box<Stmt>),
    /// `default:`
    Default(Box<Stmt>),
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `return`
    Return(Option<Expr>),
    /// `goto`
    Goto(LabelId),
    /// `goto *e`
    GotoComputed(Expr),
    /// `label:`
    Label(LabelId, Box<Stmt>),
    /// `defer`: runs when the enclosing block is left.
    Defer(Box<Stmt>),
    /// `a :=: b`
    Swap(Expr, Expr),
    /// Adjacent assignments to a record's `counted_by` pointers and the fields that count them:
    /// stored in order without the checks that a single assignment gets; after the last one each
    /// stored pointer must hold the elements that its count, read then, asks for. (An old pointer
    /// that a `realloc` among the values reads was saved in a local before.)
    CountGroup(Vec<(Expr, Expr)>),
    /// Inline assembly (plain C, `unsafe`).
    Asm(Box<Asm>),
    /// `va_start(place)`, the va_list place.
    VaStart(Expr),
    /// `va_end(place)`
    VaEnd(Expr),
    /// `va_copy(dst, src)`
    VaCopy(Expr, Expr),
    /// `arena r;`, `reap r;`: the handle local, its region (index into `Body::regions`, of kind
    /// `Lifo`).
    Arena(LocalId, u32),
    /// `open arena h = k;`: the handle local, the key place (an owned path), the region that
    /// becomes live until the block ends.
    Open(LocalId, Expr, Region),
    /// `cursor pp = &place;`: the cursor local (a pointer to the owned pointer), the place.
    Cursor(LocalId, Expr),
    /// `unpack p as {@d, k, root};`: the packed place, one fresh region per `exists` (indices into
    /// `Body::regions`), and for each binding the local and the field number. `moves`: out of an
    /// owned path; else lends until the block ends.
    Unpack {
        /// The struct place.
        place: Expr,
        /// Fresh regions, by `exists` number.
        regions: Vec<u32>,
        /// Local and field.
        bindings: Vec<(LocalId, u32)>,
        /// Moves the parts out.
        moves: bool,
    },
    /// `channel C:STATE (c, d);`: the ends are locals of the rest of the block.
    Channel {
        /// What the ends speak.
        contract: ContractId,
        /// Both begin in it.
        state: StateId,
        /// The importer's end.
        imp: LocalId,
        /// The exporter's.
        exp: LocalId,
    },
    /// `send d.M(args);`
    Send {
        /// The place of the end, which keeps it.
        end: Expr,
        /// The message.
        message: MessageId,
        /// A value for each argument; what is owned goes with the message.
        args: Vec<Expr>,
    },
    /// `receive d.M(x);`: waits for the message; a fault if another comes, or the other end is
    /// closed.
    Receive {
        /// The place of the end, which keeps it.
        end: Expr,
        /// The message.
        message: MessageId,
        /// A local for each argument, which lives in the rest of the block.
        binds: Vec<LocalId>,
    },
    /// `eset_add(s, d);`, `emap_add(m, d, v);`
    SetAdd {
        /// The place of the set, which keeps it.
        set: Expr,
        /// The endpoint.
        end: Expr,
        /// The value that a map gets with it.
        value: Option<Expr>,
    },
    /// `switch receive`: a `break` in a body leaves it, and so does its end.
    Select {
        /// The words.
        head: Span,
        /// The cases, in the order in which they are tried.
        cases: Vec<ReceiveCase>,
        /// `default`: no case can be taken any more, anything.
        default: Option<Block>,
    },
}

/// A case of `switch receive`.
#[derive(Clone, Debug)]
pub struct ReceiveCase {
    /// From its word to its `:`.
    pub span: Span,
    /// When it is taken.
    pub on: ReceiveOn,
    /// What is done; the locals that it binds live in it.
    pub body: Block,
}

/// When a case of `switch receive` is taken.
#[derive(Clone, Debug)]
pub enum ReceiveOn {
    /// All these heads are there; each end once.
    Messages(Vec<Conjunct>),
    /// So many milliseconds (`int`) have gone by.
    After(Expr),
}

/// One end, or a set, and what must stand at the head of its queue, or of a member's.
#[derive(Clone, Debug)]
pub struct Conjunct {
    /// The place of the end or set, which keeps it.
    pub end: Expr,
    /// Of a set: the local that the member goes to, and for a map that of its value. None if no
    /// member is taken.
    pub member: Option<(LocalId, Option<LocalId>)>,
    /// What is wanted.
    pub head: Head,
    /// A local for each argument of the message.
    pub binds: Vec<LocalId>,
    /// Where.
    pub span: Span,
}

/// Inline assembly.
#[derive(Clone, Debug)]
pub struct Asm {
    /// `volatile`
    pub volatile: bool,
    /// Template.
    pub template: Vec<u8>,
    /// Output places with name and constraint.
    pub outputs: Vec<(Option<Symbol>, Vec<u8>, Expr)>,
    /// Inputs.
    pub inputs: Vec<(Option<Symbol>, Vec<u8>, Expr)>,
    /// Clobbers.
    pub clobbers: Vec<Vec<u8>>,
    /// Labels of `asm goto`.
    pub labels: Vec<LabelId>,
}

/// An initialiser of a local, a compound literal or `new`.
#[derive(Clone, Debug)]
pub enum Init {
    /// A value (also a whole struct).
    Expr(Expr),
    /// A character array from a literal.
    Str(StrId),
    /// Fields or elements by index in evaluation order; what is not mentioned is zero. Ranges were
    /// expanded, but a long run of one constant may be `Repeat`.
    List(Vec<(u64, Init)>),
    /// A tagged union's member.
    Tagged(u32, Box<Init>),
    /// Elements `lo..=hi` get the value, evaluated once.
    Repeat(u64, u64, Box<Init>),
}

/// An expression. A *place* expression (Local, Global, Deref, Field of a place, Index, CompoundLit,
/// StrLit) denotes the place; `Load` reads it. All else is a value.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: Box<ExprKind>,
    /// Its type; for places with the place's qualifiers.
    pub ty: Qty,
    /// Where.
    pub span: Span,
    /// Whether checks are off for this node (`unsafe`).
    pub is_unsafe: bool,
}

/// Arithmetic and bitwise operators on two operands of one type (shifts: the right operand has its
/// own promoted type).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    BitAnd,
    BitXor,
    BitOr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
}

impl BinOp {
    /// C's spelling of the operator.
    pub fn in_c(self) -> &'static str {
        match self {
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Rem => "%",
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
            BinOp::BitAnd => "&",
            BinOp::BitXor => "^",
            BinOp::BitOr => "|",
            BinOp::Lt => "<",
            BinOp::Gt => ">",
            BinOp::Le => "<=",
            BinOp::Ge => ">=",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
        }
    }
}

impl BinOp {
    /// What the operator says of two values, if it is a comparison.
    pub fn compare<T: PartialOrd>(self, a: &T, b: &T) -> Option<bool> {
        match self {
            BinOp::Lt => Some(a < b),
            BinOp::Gt => Some(a > b),
            BinOp::Le => Some(a <= b),
            BinOp::Ge => Some(a >= b),
            BinOp::Eq => Some(a == b),
            BinOp::Ne => Some(a != b),
            BinOp::Mul
            | BinOp::Div
            | BinOp::Rem
            | BinOp::Add
            | BinOp::Sub
            | BinOp::Shl
            | BinOp::Shr
            | BinOp::BitAnd
            | BinOp::BitXor
            | BinOp::BitOr => None,
        }
    }
}

/// Unary operators on values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnOp {
    Neg,
    BitNot,
    /// Logical not; result `int`, operand any scalar.
    Not,
    Real,
    Imag,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// After an error.
    Error,
    // ---- places
    /// A local.
    Local(LocalId),
    /// A global or static local.
    Global(GlobalId),
    /// `*p`: `p` is a pointer value. Access is to one element at `p`: lowering checks as `p`'s
    /// bounds ask.
    Deref(Expr),
    /// Field `n` of a record place or record value. Of a tagged union: reading checks the tag,
    /// assigning sets it.
    Field(Expr, u32),
    /// Element of an array *place* (constant length, flexible, or variable); the index is a value
    /// of any integer type. A flexible array with a count is checked against the count field of the
    /// same record.
    IndexArray(Expr, Expr),
    /// `p[i]` with a pointer value (fat, terminated, counted; thin in unsafe code or with constant
    /// 0).
    IndexPointer(Expr, Expr),
    /// A compound literal: a fresh unnamed local of the enclosing block, initialised each time it
    /// is reached.
    CompoundLit(LocalId, Init),
    /// A string literal as an array place.
    StrLit(StrId),
    // ---- values
    /// Reads a place. Type without qualifiers. A `counted_by` field read as a value is `fat` (this
    /// node's type), made from the pointer and its sibling counts; so is a `counted_by` flexible
    /// array when it decays.
    Load(Expr),
    /// An integer, `bool` or enumeration constant.
    Int(i128),
    /// A floating constant as C text.
    Float(Symbol),
    /// A null pointer (any pointer type).
    Null,
    /// A function as a value of function pointer type (thin, nonnull).
    Func(FuncRef),
    /// Size of a type that is not known yet (mentions a type parameter) or of a variable-length
    /// array.
    SizeOf(Ty),
    /// Alignment of a type that mentions a type parameter.
    AlignOf(Ty),
    /// Offset of a field path in a type that mentions a type parameter.
    OffsetOf(Ty, Vec<u32>),
    /// `&place`: a thin nonnull pointer; of an array element with known bounds (`&a[i]`, `&p[i]`) a
    /// fat pointer to the same bounds if the type says so. One past the end is allowed for fat
    /// results.
    AddrOf(Expr),
    /// Array place to pointer to its first element; the type says which bounds (fat with the
    /// array's length, string object, thin for arrays of unknown length in unsafe code).
    Decay(Expr),
    /// Operator on one value.
    Unary(UnOp, Expr),
    /// Operator on two values of one arithmetic type, or a comparison of two pointers of one type.
    Binary(BinOp, Expr, Expr),
    /// `p + i`, `p - i` (`true`): pointer value of the result's type; `i` any integer type.
    PtrAdd(Expr, Expr, bool),
    /// `p - q` in elements.
    PtrDiff(Expr, Expr),
    /// `a && b`
    And(Expr, Expr),
    /// `a || b`
    Or(Expr, Expr),
    /// `c ? a : b`
    Cond(Expr, Expr, Expr),
    /// `a ?: b`: `a` evaluated once; the local holds it.
    CondOmitted(LocalId, Expr, Expr),
    /// `a, b`
    Comma(Expr, Expr),
    /// `place = value`; the right side is evaluated first. The value is the new value.
    Assign(Expr, Expr),
    /// `place op= value`: computed in the type of the second field, then converted back to the
    /// place's type. For pointers (`p += i`) the compute type is the pointer type.
    AssignOp(BinOp, Ty, Expr, Expr),
    /// `++`/`--`: increment?, prefix?
    IncDec(Expr, bool, bool),
    /// A conversion.
    Convert(Conv, Expr),
    /// A call. For a `counted_by` parameter the argument is a `fat` value: lowering evaluates all
    /// arguments in order, then checks each such argument against its count expression over the
    /// others, and passes the address. The type is the function type called through, its region
    /// variables replaced by those of this call (MIR's `Call::ty`).
    Call(Callee, Ty, Vec<Expr>),
    /// `({ ... e; })`: statements, then the value of the last one.
    StmtExpr(Block, Option<Expr>),
    /// `&&label`
    LabelAddr(LabelId),
    /// `va_arg(place, T)`
    VaArg(Expr),
    /// `new`: allocates in the heap.
    New(New),
    /// `malloc`, `calloc`: element type, bytes (or count and size), zeroed always. Type: pointer
    /// with the block's bounds.
    Alloc(Alloc),
    /// `container_of(p, T, m)`: the thin pointer value, the record, the field path; whether null is
    /// a fault, else it stays null.
    ContainerOf(Expr, Ty, Vec<u32>, bool),
    /// `lengthof(p)` of a pointer value or array place: `size_t`.
    Lengthof(Expr),
    /// `free(place)` of a shared pointer: sets the place to null (interim); of a value: evaluated
    /// only.
    Free(Expr),
    /// `free(x)` of an owned value, `free_arena(k)`, `release(x)`, `rfree(r, x)`, `release(r, x)`:
    /// the value (a `Move`), and the handle of the reap.
    Dispose(Expr, Option<Expr>),
    /// Reads an owned path as a value and leaves nothing behind it that is owned (structs with
    /// owned parts too).
    Move(Expr),
    /// Takes out what a place holds, and leaves null in a slot: where the same statement stores the
    /// new block there (`realloc`).
    Take(Expr),
    /// Lends an owned path or a slot: a pointer into a loan, of the node's type. Call-time borrows
    /// are the same node as an argument.
    Borrow(BorrowKind, Expr),
    /// `retain(e)`: the operand is a place of `rc` type (path or slot) or a borrow of a counted
    /// object.
    Retain(Expr),
    /// `new_arena()`, `new_reap()` ...: the type is the key's.
    NewKey(KeyKind),
    /// A struct with hidden regions from its parts: the regions that it hides, by number.
    Pack(Vec<Region>, Init),
    /// A C builtin that is handed through by name (`__builtin_clz` ...), in safe code only the pure
    /// ones on numbers.
    Builtin(Symbol, Vec<Expr>),
    /// `__builtin_unreachable()`: in safe code a fault.
    Unreachable,
}

/// What is called.
#[derive(Clone, Debug)]
pub enum Callee {
    /// A function by name.
    Direct(FuncRef),
    /// A function pointer value.
    Pointer(Expr),
    /// A function that a new task calls; the type called through has the task as its result.
    Start(FuncRef),
    /// A function that a new process calls; the type called through has the process as its result.
    /// True: it is null where there is no room.
    Spawn(FuncRef, bool),
}

/// How an owned path is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BorrowKind {
    /// As a shared pointer.
    Shared,
    /// As a read-only, deep view.
    View,
    /// As `any`.
    Any,
    /// To a `unique` or `rc` parameter that is not `consume`: exclusively, and whole again when the
    /// call returns.
    Lend,
    /// The address of an owned variable as an argument (`T *unique *out`): the callee sees a slot.
    Slot,
    /// The address of an owned path as a read-only, deep view of it (`&list` for a
    /// `struct list *view`).
    Sight,
    /// As a shared pointer to a call that only reads through it and keeps nothing: views of the
    /// path may be in force, and borrows.
    Read,
    /// As a shared pointer for one access, in a temporary: what an expression goes through on its
    /// way (`p->items[i]`). It has nothing against other loans. Lowering makes these; once the
    /// analyses are through, they are copies.
    Look,
}

impl BorrowKind {
    /// Whether what is lent is the place itself, by its address, and not the pointer that is in it.
    pub fn by_address(self) -> bool {
        match self {
            BorrowKind::Slot | BorrowKind::Sight => true,
            BorrowKind::Shared
            | BorrowKind::View
            | BorrowKind::Any
            | BorrowKind::Lend
            | BorrowKind::Read
            | BorrowKind::Look => false,
        }
    }

    /// Whether no one else may use it meanwhile.
    pub fn is_exclusive(self) -> bool {
        match self {
            BorrowKind::Lend | BorrowKind::Slot => true,
            BorrowKind::Shared
            | BorrowKind::View
            | BorrowKind::Any
            | BorrowKind::Sight
            | BorrowKind::Read
            | BorrowKind::Look => false,
        }
    }

    /// Whether it is lent to a call that uses it as its own, until the call returns.
    pub fn is_for_call(self) -> bool {
        match self {
            BorrowKind::Lend => true,
            BorrowKind::Shared
            | BorrowKind::View
            | BorrowKind::Any
            | BorrowKind::Slot
            | BorrowKind::Sight
            | BorrowKind::Read
            | BorrowKind::Look => false,
        }
    }

    /// Whether a pointer that may be kept is lent, to what the place owns.
    pub fn lends_pointer(self) -> bool {
        match self {
            BorrowKind::Shared | BorrowKind::View | BorrowKind::Read => true,
            BorrowKind::Any | BorrowKind::Lend | BorrowKind::Slot | BorrowKind::Sight | BorrowKind::Look => false,
        }
    }

    /// Whether a shared pointer is lent.
    pub fn lends_shared(self) -> bool {
        match self {
            BorrowKind::Shared | BorrowKind::Read => true,
            BorrowKind::View
            | BorrowKind::Any
            | BorrowKind::Lend
            | BorrowKind::Slot
            | BorrowKind::Sight
            | BorrowKind::Look => false,
        }
    }

    /// What it is where it goes to functions only that change nothing that owns: an address is a
    /// shared pointer there.
    pub fn given_to_leaves(self) -> BorrowKind {
        match self {
            BorrowKind::Slot => BorrowKind::Shared,
            BorrowKind::Shared
            | BorrowKind::View
            | BorrowKind::Any
            | BorrowKind::Lend
            | BorrowKind::Sight
            | BorrowKind::Read
            | BorrowKind::Look => self,
        }
    }

    /// What it is where the call that it is made for only reads through it.
    pub fn given_to_readers(self) -> BorrowKind {
        match self {
            BorrowKind::Shared => BorrowKind::Read,
            BorrowKind::Slot => BorrowKind::Sight,
            BorrowKind::View
            | BorrowKind::Any
            | BorrowKind::Lend
            | BorrowKind::Sight
            | BorrowKind::Read
            | BorrowKind::Look => self,
        }
    }

    /// Whether nothing is changed through what is lent: such loans of one place agree.
    pub fn is_read_only(self) -> bool {
        match self {
            BorrowKind::View | BorrowKind::Sight | BorrowKind::Read => true,
            BorrowKind::Shared | BorrowKind::Any | BorrowKind::Lend | BorrowKind::Slot | BorrowKind::Look => false,
        }
    }

    /// Whether it is lent to be looked at only.
    pub fn is_view(self) -> bool {
        match self {
            BorrowKind::View | BorrowKind::Sight => true,
            BorrowKind::Shared
            | BorrowKind::Any
            | BorrowKind::Lend
            | BorrowKind::Slot
            | BorrowKind::Read
            | BorrowKind::Look => false,
        }
    }

    /// Whether it is a look: for one access, in a temporary.
    pub fn is_look(self) -> bool {
        match self {
            BorrowKind::Look => true,
            BorrowKind::Shared
            | BorrowKind::View
            | BorrowKind::Any
            | BorrowKind::Lend
            | BorrowKind::Slot
            | BorrowKind::Sight
            | BorrowKind::Read => false,
        }
    }
}

/// `new`.
#[derive(Clone, Debug)]
pub struct New {
    /// The type made (element type of arrays).
    pub elem: Ty,
    /// Number of elements of an array (any integer type), or of the flexible array member.
    pub count: Option<Expr>,
    /// The initialiser (of the one object, or of the record before a flexible array).
    pub init: Option<Init>,
    /// `new?`: null when there is no room.
    pub fallible: bool,
    /// Flexible array member: record whose last field it is.
    pub flexible: Option<RecordId>,
    /// `new(r)`: the handle; `None` in `@heap` (or `@exchange`, as the node's type says).
    pub handle: Option<Expr>,
    /// `new rc`: with a count.
    pub counted: bool,
}

/// C's allocation functions.
#[derive(Clone, Debug)]
pub struct Alloc {
    /// Element type of the result.
    pub elem: Ty,
    /// What is asked for.
    pub size: AllocSize,
    /// `malloc?` and friends: null when there is no room.
    pub fallible: bool,
    /// `realloc`: the old pointer value; its first elements are copied. Null is allowed.
    pub old: Option<Expr>,
    /// `elem` is a record with a flexible array: the bytes cover the record and its tail.
    pub flexible: bool,
}

/// The size of an allocation.
#[derive(Clone, Debug)]
pub enum AllocSize {
    /// In bytes (`size_t`).
    Bytes(Expr),
    /// `calloc(count, size)`; the product is checked.
    Product(Expr, Expr),
}

/// Conversions. The result type is the node's type; the operand's type is the operand's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conv {
    /// Between integer (bool, enum) and floating types, C's rules; to `bool` compares with zero.
    /// Float to integer out of range saturates in checked code.
    Numeric,
    /// Any scalar to `bool`/truth value.
    ToBool,
    /// To `void`: evaluated and dropped.
    Void,
    /// Pointer to integer.
    PtrToInt,
    /// Between pointer types with the same target (up to qualifiers of the target): changes of
    /// bounds, nullness, region. Lowering makes the check that the pair of types needs: fat to thin
    /// checks one element (null passes), fat to counted checks the count, terminated to fat
    /// measures, fat to terminated looks for a zero within bounds.
    Pointer,
    /// Nullable to `nonnull`: the flow analysis must prove it.
    ProveNonnull,
    /// `T *` to Leeward's `void *`: remembers `T`.
    ToTypedVoid,
    /// Leeward's `void *` to `T *`: compares the remembered type with `T`.
    FromTypedVoid,
    /// A pointer to plain data as a pointer to other plain data: checks size and alignment;
    /// `void *counted_by(n)` parameters of trusted functions take any plain pointer in this way
    /// (bounds in bytes).
    View,
    /// Reinterpretation in `unsafe` code or plain C: pointer to pointer, integer to pointer.
    Unchecked,
    /// The same bits as a pointer to characters of another kind.
    SameBits,
    /// An exporter's end back to a contract that extends its own: asks the channel which it is.
    Contract,
}

impl Expr {
    /// An expression.
    pub fn new(kind: ExprKind, ty: Qty, span: Span) -> Expr {
        Expr { kind: Box::new(kind), ty, span, is_unsafe: false }
    }

    /// Whether it denotes a place.
    pub fn is_place(&self) -> bool {
        match &*self.kind {
            ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Deref(_)
            | ExprKind::IndexArray(..)
            | ExprKind::IndexPointer(..)
            | ExprKind::CompoundLit(..)
            | ExprKind::StrLit(_) => true,
            ExprKind::Field(base, _) => base.is_place(),
            _ => false,
        }
    }
}
