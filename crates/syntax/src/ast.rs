//! The syntax tree: C23 with GNU extensions, and Leeward, in one set of types.
//!
//! Nothing is resolved here but what parsing needs (which names are types). Every node has its
//! span.

use source::{Span, Symbol};

/// A name and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub name: Symbol,
    /// Where.
    pub span: Span,
}

/// A translation unit.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// Top-level items in order.
    pub items: Vec<Item>,
}

/// A top-level item.
#[derive(Clone, Debug)]
pub struct Item {
    /// The whole item.
    pub span: Span,
    /// Where it comes from decides how far it is trusted.
    pub origin: Origin,
    /// What it is.
    pub kind: ItemKind,
}

/// Who vouches for a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Leeward code (a `.lee` or `.lh` file outside `extern "C"`).
    Leeward,
    /// Plain C: from a system header, or inside `extern "C" { }` / `extern "C" DECL`. For a
    /// *definition* in a `.lee` file under `extern "C"` it means a Leeward body with a C calling
    /// convention.
    Foreign,
}

/// Kinds of top-level items.
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// A declaration.
    Decl(Decl),
    /// A function definition.
    Function(FunctionDef),
    /// `static_assert(e, "text");`
    StaticAssert(StaticAssert),
    /// `asm("...");` at file level.
    Asm(Vec<u8>),
    /// `contract C { ... }`, `local contract C { ... }`
    Contract(ContractDef),
}

/// `contract NAME extends BASE { ... }`
#[derive(Clone, Debug)]
pub struct ContractDef {
    /// Its name.
    pub name: Ident,
    /// `local` in front.
    pub local: bool,
    /// The contract that it extends.
    pub extends: Option<Ident>,
    /// Messages in order.
    pub messages: Vec<MessageDef>,
    /// States in order.
    pub states: Vec<StateDef>,
}

/// The direction of a message, seen from the exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `out message`, `M!`
    Out,
    /// `in message`, `M?`
    In,
}

/// `in message M(int n);`
#[derive(Clone, Debug)]
pub struct MessageDef {
    /// The whole declaration.
    pub span: Span,
    /// `in` or `out` in front.
    pub direction: Option<Direction>,
    /// Its name.
    pub name: Ident,
    /// Its arguments.
    pub params: ParamList,
}

/// `state S { A? -> B! -> S; }`
#[derive(Clone, Debug)]
pub struct StateDef {
    /// The whole declaration.
    pub span: Span,
    /// Its name.
    pub name: Ident,
    /// What can happen, in order.
    pub chains: Vec<Chain>,
}

/// `A? -> (B! | C!) -> S`
#[derive(Clone, Debug)]
pub struct Chain {
    /// The whole chain.
    pub span: Span,
    /// Its steps, at least one.
    pub steps: Vec<Step>,
}

/// A step of a chain.
#[derive(Clone, Debug)]
pub enum Step {
    /// A message with its sign; without a sign a state, or a message whose declaration says its
    /// direction.
    Name(Ident, Option<Direction>),
    /// `(A! | B! -> T)`; an alternative that does not say where it leads continues after the
    /// parenthesis.
    Choice(Vec<Chain>, Span),
}

/// An end of a channel as a type: `C.exp`, `C.imp:STATE`, `C.exp:FROM -> TO`.
#[derive(Clone, Debug)]
pub struct EndpointSpec {
    /// The whole type.
    pub span: Span,
    /// The contract.
    pub contract: Ident,
    /// `exp`, not `imp`.
    pub exporter: bool,
    /// The state.
    pub state: Option<Ident>,
    /// The state that a parameter comes back in.
    pub becomes: Option<Ident>,
}

/// A case of `switch receive`.
#[derive(Clone, Debug)]
pub struct ReceiveCase {
    /// From its word to its `:`.
    pub span: Span,
    /// When it is taken.
    pub label: ReceiveLabel,
    /// What is done.
    pub body: Block,
}

/// What a case of `switch receive` waits for.
#[derive(Clone, Debug)]
pub enum ReceiveLabel {
    /// `a.M(x) && b.N(y)`
    Messages(Vec<Pattern>),
    /// `after (milliseconds)`
    After(Expr),
    /// `default`
    Default,
}

/// `d.M(x)`, `d.closed()`, `(d in s).M(x)`, `(d, v in m).M(x)`
#[derive(Clone, Debug)]
pub struct Pattern {
    /// All of it.
    pub span: Span,
    /// Whose message it is.
    pub source: PatternSource,
    /// The message, or `closed`, `empty`, `any`.
    pub message: Ident,
    /// Names for its arguments.
    pub names: Vec<Ident>,
}

/// Where a pattern finds its message.
#[derive(Clone, Debug)]
pub enum PatternSource {
    /// At this endpoint, or set.
    Endpoint(Expr),
    /// At a member of a set or map, which gets this name, and its value that.
    Member(Ident, Option<Ident>, Expr),
}

/// `static_assert(e, "text")`.
#[derive(Clone, Debug)]
pub struct StaticAssert {
    /// The condition.
    pub condition: Expr,
    /// The text, if given.
    pub message: Option<Vec<u8>>,
    /// The whole declaration.
    pub span: Span,
}

/// A declaration: specifiers and any number of declarators.
#[derive(Clone, Debug)]
pub struct Decl {
    /// The whole declaration.
    pub span: Span,
    /// `generic <...>` in front.
    pub generics: Option<Generics>,
    /// `trusted` in front.
    pub trusted: bool,
    /// Specifiers.
    pub specs: DeclSpecs,
    /// Declarators; empty for `struct s { ... };`.
    pub declarators: Vec<InitDeclarator>,
}

/// A declarator with its initialiser.
#[derive(Clone, Debug)]
pub struct InitDeclarator {
    /// The declarator.
    pub declarator: Declarator,
    /// The initialiser.
    pub init: Option<Initializer>,
}

/// A function definition.
#[derive(Clone, Debug)]
pub struct FunctionDef {
    /// The whole definition.
    pub span: Span,
    /// `generic <...>` in front.
    pub generics: Option<Generics>,
    /// `trusted` in front: the body is checked as `unsafe` code behind a safe type.
    pub trusted: bool,
    /// Specifiers.
    pub specs: DeclSpecs,
    /// The declarator; its innermost derivation is a function.
    pub declarator: Declarator,
    /// Old-style parameter declarations.
    pub old_style: Vec<Decl>,
    /// The body.
    pub body: Block,
}

/// `generic <T, U: move @r, own q, @a outlives @b>`.
#[derive(Clone, Debug)]
pub struct Generics {
    /// From `generic` to `>`.
    pub span: Span,
    /// The parameters.
    pub params: Vec<GenericParam>,
}

impl Generics {
    /// Whether types or ownership words are parameters; a function has those of its regions without
    /// being generic.
    pub fn has_arguments(&self) -> bool {
        self.params.iter().any(|param| !matches!(param, GenericParam::Region { .. }))
    }
}

/// A bound of a type parameter.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The word.
    pub name: Ident,
    /// The region after it: `move @r`.
    pub region: Option<Ident>,
}

/// One generic parameter.
#[derive(Clone, Debug)]
pub enum GenericParam {
    /// `T`, `T: move`, `T: move @r`, `T: heap`, `T: nonnull`.
    Type {
        /// Its name.
        name: Ident,
        /// Its bounds, joined by `+`.
        bounds: Vec<Bound>,
    },
    /// `own q`.
    Own(Ident),
    /// `@r`, `@a outlives @b`.
    Region {
        /// The region.
        name: Ident,
        /// What it outlives.
        outlives: Option<Ident>,
    },
}

/// An argument between `<` and `>`.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum GenericArg {
    /// A type.
    Type(TypeName),
    /// `@r`; the name is without the `@`, as everywhere.
    Region(Ident),
    /// `unique`, `rc`, `any` or an `own` parameter's name where an ownership is expected.
    Own(Ident),
}

/// Declaration specifiers.
#[derive(Clone, Debug)]
pub struct DeclSpecs {
    /// All of them.
    pub span: Span,
    /// Storage class.
    pub storage: Option<Storage>,
    /// `thread_local`, `_Thread_local`, `__thread`.
    pub thread_local: bool,
    /// `constexpr`.
    pub constexpr: bool,
    /// `inline`.
    pub inline: bool,
    /// `_Noreturn`, `[[noreturn]]`.
    pub noreturn: bool,
    /// `alignas(...)`.
    pub alignas: Vec<AlignAs>,
    /// `process`: the function is what a process does.
    pub process: bool,
    /// The type.
    pub ty: TypeSpec,
    /// Qualifiers of the base type.
    pub quals: Quals,
    /// Attributes before or among the specifiers.
    pub attrs: Vec<Attribute>,
}

/// Storage classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// `typedef`
    Typedef,
    /// `extern`
    Extern,
    /// `static`
    Static,
    /// `auto` with a type beside it
    Auto,
    /// `register`
    Register,
}

/// `alignas` operand.
#[derive(Clone, Debug)]
pub enum AlignAs {
    /// A type.
    Type(TypeName),
    /// A constant.
    Expr(Expr),
}

/// C's type qualifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quals {
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// `restrict`
    pub is_restrict: bool,
    /// `_Atomic` as a qualifier
    pub is_atomic: bool,
}

/// A type specifier.
#[derive(Clone, Debug)]
pub enum TypeSpec {
    /// One of C's own types, already put together from its words.
    Builtin(Builtin),
    /// A typedef name, with arguments if it is generic.
    Named(Ident, Vec<GenericArg>),
    /// `struct`, `union`, `tagged union`.
    Record(Box<RecordSpec>),
    /// `enum`
    Enum(Box<EnumSpec>),
    /// `typeof(e)`. Of an `ExprKind::Error`: a type whose mistake was reported.
    TypeofExpr(Box<Expr>, /** `typeof_unqual` */ bool),
    /// `typeof(T)`
    TypeofType(Box<TypeName>, /** `typeof_unqual` */ bool),
    /// `_Atomic(T)`
    Atomic(Box<TypeName>),
    /// `auto x = e;`, `constexpr x = e;`, `__auto_type`
    Infer,
    /// `key<@d>` and the other kinds of key: the word, the region.
    Key(KeyWord, Ident),
    /// `arena` (`false`) or `reap` before a parameter's name: its handle. The span is the
    /// word's.
    Handle(bool, Span),
    /// `C.exp:STATE`
    Endpoint(Box<EndpointSpec>),
    /// `eset<E>`, `emap<E, V>`: the word, whose span is that of all, and the arguments.
    EndSet(Ident, Vec<GenericArg>),
    /// A type that a later issue brings (`pid`, `cell<T>`): its word.
    Unsupported(Ident),
    /// No type written (old C's implicit int).
    Missing,
}

/// The kinds of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyWord {
    /// `key`
    Arena,
    /// `reap_key`
    Reap,
    /// `rc_key`
    RcArena,
    /// `rc_reap_key`
    RcReap,
    /// `exchange_key`
    Exchange,
}

/// C's own types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Builtin {
    Void,
    Bool,
    Char,
    SChar,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    LongLong,
    ULongLong,
    Int128,
    UInt128,
    Float16,
    Float,
    Float32,
    Double,
    Float32x,
    Float64,
    LongDouble,
    Float64x,
    Float128,
    ComplexFloat,
    ComplexDouble,
    ComplexLongDouble,
    ComplexFloat128,
    /// `__builtin_va_list`
    VaList,
    /// Leeward's predeclared `byte` (an alias of `unsigned char`, kept apart for messages only).
    Byte,
}

/// `struct`, `union` or `tagged union`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum RecordKind {
    Struct,
    Union,
    TaggedUnion,
}

/// A `struct`/`union` specifier.
#[derive(Clone, Debug)]
pub struct RecordSpec {
    /// The specifier.
    pub span: Span,
    /// Which.
    pub kind: RecordKind,
    /// Its tag.
    pub tag: Option<Ident>,
    /// `<...>` after the tag: arguments at a use, region parameters at a definition.
    pub args: Vec<GenericArg>,
    /// Whether `<...>` was written.
    pub has_args: bool,
    /// Its members, if it is a definition.
    pub fields: Option<Vec<FieldItem>>,
    /// Attributes (packed, aligned ...), and `pack(n)` where `#pragma pack(n)` is in force.
    pub attrs: Vec<Attribute>,
}

/// What may stand between a record's braces.
#[derive(Clone, Debug)]
pub enum FieldItem {
    /// Fields, or an anonymous record.
    Fields(FieldDecl),
    /// `static_assert`
    StaticAssert(StaticAssert),
    /// `exists @d;`, `exists @e outlived by @x;`
    Exists {
        /// The hidden region.
        name: Ident,
        /// The region that it is live with.
        by: Option<Ident>,
    },
}

/// Field declarators with one base type. No declarators: an anonymous struct or union.
#[derive(Clone, Debug)]
pub struct FieldDecl {
    /// The declaration.
    pub span: Span,
    /// Base type.
    pub specs: DeclSpecs,
    /// The fields.
    pub fields: Vec<FieldDeclarator>,
}

/// One field.
#[derive(Clone, Debug)]
pub struct FieldDeclarator {
    /// Name and derived type; unnamed for padding bit-fields.
    pub declarator: Declarator,
    /// Bit-field width.
    pub width: Option<Expr>,
    /// `tagged_by(kind) { NUM: n, STR: s }`
    pub tagged_by: Option<TaggedBy>,
}

/// The binding of a union to its kind field.
#[derive(Clone, Debug)]
pub struct TaggedBy {
    /// From `tagged_by` to `}`.
    pub span: Span,
    /// The sibling field.
    pub tag: Ident,
    /// Constant expression and member that it stands for.
    pub arms: Vec<(Expr, Ident)>,
}

/// An `enum` specifier.
#[derive(Clone, Debug)]
pub struct EnumSpec {
    /// The specifier.
    pub span: Span,
    /// Its tag.
    pub tag: Option<Ident>,
    /// `: type`
    pub underlying: Option<TypeName>,
    /// The enumerators, if it is a definition.
    pub items: Option<Vec<Enumerator>>,
    /// Attributes.
    pub attrs: Vec<Attribute>,
}

/// A constant of an enumeration.
#[derive(Clone, Debug)]
pub struct Enumerator {
    /// Its name.
    pub name: Ident,
    /// `= e`
    pub value: Option<Expr>,
    /// Attributes after the name.
    pub attrs: Vec<Attribute>,
}

/// A name (or none) and how its type is derived from the base type.
#[derive(Clone, Debug)]
pub struct Declarator {
    /// The declarator.
    pub span: Span,
    /// The declared name.
    pub name: Option<Ident>,
    /// Derivations, from the name outwards: `int *(*f)(int)` is `[Pointer, Function, Pointer]`. A
    /// type is built by applying them to the base type from the last to the first.
    pub derived: Vec<Derived>,
    /// `__asm__("symbol")`
    pub asm_label: Option<Vec<u8>>,
    /// Attributes after the declarator.
    pub attrs: Vec<Attribute>,
}

/// One step of a declarator.
#[derive(Clone, Debug)]
pub enum Derived {
    /// `*` with its qualifiers.
    Pointer(PointerQuals),
    /// `[...]`
    Array(ArrayDerived),
    /// `(...)`
    Function(ParamList),
}

/// Qualifiers after a `*`. At most one of each kind; the parser reports a second.
#[derive(Clone, Debug, Default)]
pub struct PointerQuals {
    /// From the `*` to the last qualifier.
    pub span: Span,
    /// C's own.
    pub quals: Quals,
    /// `fat`
    pub fat: Option<Span>,
    /// `null_terminated`
    pub null_terminated: Option<Span>,
    /// `counted_by(e)`
    pub counted_by: Option<Box<Expr>>,
    /// `nonnull`, `_Nonnull`
    pub nonnull: Option<Span>,
    /// Ownership word: `unique`, `rc`, `view`, `any`, or the name of an `own` parameter.
    pub own: Option<Ident>,
    /// `@name`; the name is without the `@`, the span with it.
    pub region: Option<Ident>,
    /// Attributes.
    pub attrs: Vec<Attribute>,
}

/// An array derivation.
#[derive(Clone, Debug)]
pub struct ArrayDerived {
    /// The brackets.
    pub span: Span,
    /// What stands in them.
    pub size: ArraySize,
    /// `static` in a parameter.
    pub is_static: bool,
    /// Qualifiers in a parameter.
    pub quals: Quals,
    /// `null_terminated` after the brackets.
    pub null_terminated: Option<Span>,
    /// `counted_by(e)` after the brackets (flexible arrays).
    pub counted_by: Option<Box<Expr>>,
}

/// The size of an array.
#[derive(Clone, Debug)]
pub enum ArraySize {
    /// `[]`
    Unknown,
    /// `[*]`
    Star,
    /// `[e]`
    Expr(Box<Expr>),
}

/// The parameters of a function derivation.
#[derive(Clone, Debug)]
pub struct ParamList {
    /// The parentheses.
    pub span: Span,
    /// The parameters. `(void)` is empty.
    pub params: Vec<Param>,
    /// `...` at the end.
    pub variadic: bool,
    /// Old-style identifier list (`f(a, b)`), or `()` in C before C23.
    pub old_style: bool,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// The parameter.
    pub span: Span,
    /// `consume` in front.
    pub consume: Option<Span>,
    /// Specifiers.
    pub specs: DeclSpecs,
    /// Declarator, possibly without a name.
    pub declarator: Declarator,
}

/// A type name: `const char *[4]`.
#[derive(Clone, Debug)]
pub struct TypeName {
    /// All of it.
    pub span: Span,
    /// Specifiers.
    pub specs: DeclSpecs,
    /// Abstract declarator.
    pub declarator: Declarator,
}

/// `[[ns::name(args)]]` or `__attribute__((name(args)))`.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Where.
    pub span: Span,
    /// `lee` in `[[lee::into(s)]]`.
    pub namespace: Option<Symbol>,
    /// The name without leading and trailing double underscores.
    pub name: Symbol,
    /// Arguments that parse as expressions; names are identifier expressions.
    pub args: Vec<Expr>,
}

/// `{ ... }`, with its label if it is a named block.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The braces and what is between them.
    pub span: Span,
    /// The statements; declarations are statements.
    pub stmts: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// The statement.
    pub span: Span,
    /// What it is.
    pub kind: StmtKind,
    /// `[[...]]` in front.
    pub attrs: Vec<Attribute>,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `;`
    Empty,
    /// `e;`
    Expr(Expr),
    /// A declaration.
    Decl(Decl),
    /// A nested function (GNU); reported by typing.
    Function(Box<FunctionDef>),
    /// `static_assert`
    StaticAssert(StaticAssert),
    /// `{ }`
    Block(Block),
    /// `if (init; cond) then else other`
    If {
        /// C23/C2y: declaration in the condition is not supported by the C compilers in use; kept
        /// as a plain expression.
        cond: Expr,
        /// Taken if true.
        then: Box<Stmt>,
        /// Taken if false.
        other: Option<Box<Stmt>>,
    },
    /// `while`
    While(Expr, Box<Stmt>),
    /// `do body while (cond);`
    DoWhile(Box<Stmt>, Expr),
    /// `for`
    For {
        /// A declaration or an expression statement.
        init: Option<Box<Stmt>>,
        /// Condition.
        cond: Option<Expr>,
        /// Step.
        step: Option<Expr>,
        /// Body.
        body: Box<Stmt>,
    },
    /// `switch`
    Switch(Expr, Box<Stmt>),
    /// `case e:`, `case a ... b:`
    Case(Expr, Option<Expr>, Box<Stmt>),
    /// `case .member(binding):` of a tagged union
    CaseMember {
        /// The member.
        member: Ident,
        /// The name bound to its value; `None` for `.member` or `.member()`.
        binding: Option<Ident>,
        /// The statement labelled.
        body: Box<Stmt>,
    },
    /// `default:`
    Default(Box<Stmt>),
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return e;`
    Return(Option<Expr>),
    /// `goto name;`
    Goto(Ident),
    /// `goto *e;`
    GotoComputed(Expr),
    /// `name: stmt`
    Label(Ident, Box<Stmt>),
    /// `defer stmt`
    Defer(Box<Stmt>),
    /// `unsafe { }`
    Unsafe(Block),
    /// `a :=: b;`
    Swap(Expr, Expr),
    /// `asm(...)`
    Asm(Box<AsmStmt>),
    /// `arena r, s;`, `reap r;`
    Arena {
        /// `reap`
        reap: bool,
        /// The names.
        names: Vec<Ident>,
    },
    /// `borrow b = x;`
    Borrow(Ident, Expr),
    /// `cursor pp = &place;`: the name and everything after `=`.
    Cursor(Ident, Expr),
    /// `expose (p) { ... }`, `expose (s = &v[i]) { ... }`
    Expose {
        /// The name of the element.
        name: Option<Ident>,
        /// The block's owner, or the address of the element.
        value: Expr,
        /// What is done with it.
        body: Box<Stmt>,
    },
    /// `open arena h = k;`, `open reap h = k;`
    Open {
        /// `reap`
        reap: bool,
        /// The handle.
        name: Ident,
        /// The key.
        key: Expr,
    },
    /// `unpack p as {@d, k: mine, root};`
    Unpack {
        /// The packed struct.
        place: Expr,
        /// Fresh names of its hidden regions, in order.
        regions: Vec<Ident>,
        /// Field and the name it gets.
        bindings: Vec<(Ident, Ident)>,
    },
    /// `channel C:STATE (c, d);`
    Channel {
        /// The contract.
        contract: Ident,
        /// The state that both ends begin in.
        state: Option<Ident>,
        /// The importer's end.
        importer: Ident,
        /// The exporter's end.
        exporter: Ident,
    },
    /// `send d.M(args);`: the endpoint, the message, its arguments.
    Send(Expr, Ident, Vec<Expr>),
    /// `receive d.M(x, y);`
    Receive(Box<Pattern>),
    /// `switch receive { ... }`: the head and the cases.
    SwitchReceive(Span, Vec<ReceiveCase>),
    /// `switch (state d) ...`
    SwitchState(Expr, Box<Stmt>),
}

/// GNU inline assembly.
#[derive(Clone, Debug)]
pub struct AsmStmt {
    /// `volatile`
    pub volatile: bool,
    /// `goto`
    pub goto: bool,
    /// The template.
    pub template: Vec<u8>,
    /// Outputs.
    pub outputs: Vec<AsmOperand>,
    /// Inputs.
    pub inputs: Vec<AsmOperand>,
    /// Clobbers.
    pub clobbers: Vec<Vec<u8>>,
    /// Labels of `asm goto`.
    pub labels: Vec<Ident>,
}

/// An operand of inline assembly.
#[derive(Clone, Debug)]
pub struct AsmOperand {
    /// `[name]`
    pub name: Option<Ident>,
    /// `"=r"`
    pub constraint: Vec<u8>,
    /// The expression.
    pub expr: Expr,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The expression.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// Encoding prefix of a character or string literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Encoding {
    None,
    Utf8,
    Utf16,
    Utf32,
    Wide,
}

/// A string literal after concatenation: code units (bytes for `None` and `Utf8`), without the
/// final zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StrLit {
    /// Its encoding.
    pub encoding: Encoding,
    /// Code units.
    pub units: Vec<u32>,
}

/// An integer constant.
#[derive(Clone, Copy, Debug)]
pub struct IntLit {
    /// Its value.
    pub value: u128,
    /// `u` suffix.
    pub unsigned: bool,
    /// 0, 1 (`l`) or 2 (`ll`).
    pub longs: u8,
    /// Not decimal: may become unsigned without a suffix.
    pub non_decimal: bool,
}

/// A floating constant.
#[derive(Clone, Debug)]
pub struct FloatLit {
    /// Its text without suffix, in C syntax (decimal or hexadecimal).
    pub text: Symbol,
    /// Its value, rounded to double.
    pub value: f64,
    /// Its type.
    pub ty: Builtin,
    /// `i`/`j` suffix (GNU imaginary).
    pub imaginary: bool,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum UnaryOp {
    Plus,
    Neg,
    BitNot,
    Not,
    Deref,
    AddrOf,
    PreInc,
    PreDec,
    PostInc,
    PostDec,
    Real,
    Imag,
    /// `__extension__`
    Extension,
}

/// Binary operators, also of compound assignments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    And,
    Or,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A name.
    Ident(Symbol),
    /// An integer constant.
    Int(IntLit),
    /// A floating constant.
    Float(FloatLit),
    /// A character constant: value and encoding.
    Char(u32, Encoding),
    /// A string literal.
    Str(StrLit),
    /// `nullptr`
    Nullptr,
    /// `true`, `false`
    Bool(bool),
    /// `f(args)`; `question` for `malloc?(n)`.
    Call {
        /// The callee.
        callee: Box<Expr>,
        /// The arguments.
        args: Vec<Expr>,
        /// `?` before the parenthesis.
        question: bool,
    },
    /// `a[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `a.m`
    Dot(Box<Expr>, Ident),
    /// `a->m`
    Arrow(Box<Expr>, Ident),
    /// Prefix and postfix operators.
    Unary(UnaryOp, Box<Expr>),
    /// Binary operators.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a = b`, `a op= b`
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    /// `c ? a : b`; `a` may be omitted (GNU).
    Cond(Box<Expr>, Option<Box<Expr>>, Box<Expr>),
    /// `a, b`
    Comma(Box<Expr>, Box<Expr>),
    /// `(T) e`
    Cast(Box<TypeName>, Box<Expr>),
    /// `(T){ ... }`
    CompoundLit(Box<TypeName>, Vec<InitItem>, Option<Storage>),
    /// `sizeof e`
    SizeofExpr(Box<Expr>),
    /// `sizeof(T)`
    SizeofType(Box<TypeName>),
    /// `alignof(T)`
    AlignofType(Box<TypeName>),
    /// `__alignof__ e`
    AlignofExpr(Box<Expr>),
    /// `_Generic(e, T: a, default: b)`
    Generic(Box<Expr>, Vec<(Option<TypeName>, Expr)>),
    /// `({ ... })`
    StmtExpr(Block),
    /// `&&label`
    LabelAddr(Ident),
    /// `__builtin_va_arg(ap, T)`
    VaArg(Box<Expr>, Box<TypeName>),
    /// `__builtin_offsetof(T, m.n[i])`
    Offsetof(Box<TypeName>, Vec<Designator>),
    /// `__builtin_types_compatible_p(A, B)`
    TypesCompatible(Box<TypeName>, Box<TypeName>),
    /// `__builtin_convertvector(v, T)`
    ConvertVector(Box<Expr>, Box<TypeName>),
    /// `__builtin_choose_expr(c, a, b)`
    ChooseExpr(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `new ...`
    New(Box<NewExpr>),
    /// `lengthof(e)`
    Lengthof(Box<Expr>),
    /// `start f(a, b)`: the call that a new task makes.
    Start(Box<Expr>),
    /// `spawn f(a, b)`, or `spawn? f(a, b)` (true): the call that a new process makes.
    Spawn(Box<Expr>, bool),
    /// `container_of(p, T, m)`
    ContainerOf(Box<Expr>, Box<TypeName>, Ident),
    /// `unsafe(e)`
    Unsafe(Box<Expr>),
    /// An expression of Leeward that a later issue brings: its word.
    Unsupported(Symbol),
    /// Something that did not parse; already reported.
    Error,
}

/// `new T{...}`, `new T[n]`, `new(r) T...`, `new rc T{...}`, `new? T...`.
#[derive(Clone, Debug)]
pub struct NewExpr {
    /// `(r)`
    pub region: Option<Ident>,
    /// `?`
    pub question: bool,
    /// `rc` after the region.
    pub rc: Option<Span>,
    /// The element type: specifiers and pointer derivations, without the `[n]`.
    pub ty: TypeName,
    /// What is made.
    pub form: NewForm,
}

/// The forms of `new`.
#[derive(Clone, Debug)]
pub enum NewForm {
    /// `new T{...}`
    Init(Vec<InitItem>),
    /// `new T[n]`
    Array(Expr),
    /// `new T[.len = n]`: a struct with a flexible array
    Flexible(Vec<InitItem>),
    /// `new T` (zeroed)
    Zero,
}

/// An initialiser.
#[derive(Clone, Debug)]
pub enum Initializer {
    /// An expression.
    Expr(Expr),
    /// `{ ... }`
    List(Vec<InitItem>, Span),
}

/// One element of a braced initialiser.
#[derive(Clone, Debug)]
pub struct InitItem {
    /// `.m[i] =`
    pub designators: Vec<Designator>,
    /// The value.
    pub init: Initializer,
}

/// A step of a designation.
#[derive(Clone, Debug)]
pub enum Designator {
    /// `.m`
    Field(Ident),
    /// `[e]`
    Index(Expr),
    /// `[a ... b]`
    Range(Expr, Expr),
}
