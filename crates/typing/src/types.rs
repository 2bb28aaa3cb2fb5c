//! Types. Interned: two `Ty` are equal iff the types are the same (with every qualifier behind
//! them).

use crate::contracts::{Contract, ContractId, Side, StateId};
use rustc_hash::FxHashMap;
use source::{Span, Symbol};
use std::cell::RefCell;
use std::rc::Rc;

/// An interned type without the qualifiers of its outermost level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ty(pub u32);

/// C's qualifiers of a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Quals {
    /// `const`
    pub is_const: bool,
    /// `volatile`
    pub is_volatile: bool,
    /// `_Atomic`
    pub is_atomic: bool,
}

/// A type with the qualifiers of its outermost level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Qty {
    /// The type.
    pub ty: Ty,
    /// The qualifiers.
    pub quals: Quals,
}

impl Qty {
    /// Without qualifiers.
    pub fn plain(ty: Ty) -> Qty {
        Qty { ty, quals: Quals::default() }
    }
    /// With `const` added.
    pub fn with_const(self) -> Qty {
        Qty { quals: Quals { is_const: true, ..self.quals }, ..self }
    }
}

/// Integer types. `Char` is a type of its own, which is signed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum IntKind {
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
}

impl IntKind {
    /// Size in bytes (LP64).
    pub fn size(self) -> u64 {
        use IntKind::*;
        match self {
            Char | SChar | UChar => 1,
            Short | UShort => 2,
            Int | UInt => 4,
            Long | ULong | LongLong | ULongLong => 8,
            Int128 | UInt128 => 16,
        }
    }
    /// Whether it is signed. `char` is on every machine: the C compiler is told so.
    pub fn signed(self) -> bool {
        use IntKind::*;
        match self {
            Char | SChar | Short | Int | Long | LongLong | Int128 => true,
            UChar | UShort | UInt | ULong | ULongLong | UInt128 => false,
        }
    }
    /// `char`, `signed char` or `unsigned char`.
    pub fn is_character(self) -> bool {
        self.size() == 1
    }
    /// Whether a field of the type and that many bits has the value. `plain_bool` has 0 and 1.
    pub fn fits(self, value: i128, bits: u32, plain_bool: bool) -> bool {
        let values = 1i128.checked_shl(bits.min(126)).unwrap_or(i128::MAX);
        match self.signed() && !plain_bool {
            true => (-values / 2..values / 2).contains(&value),
            false => (0..values).contains(&value),
        }
    }

    /// A floating value as the type's nearest one, cut off towards zero; NaN is 0
    /// (docs/reference/defined.md).
    pub fn nearest(self, value: f64) -> i128 {
        let bits = self.size() * 8;
        if bits == 128 {
            return if self.signed() { value as i128 } else { value as u128 as i128 };
        }
        let (low, high) = match self.signed() {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        (value as i128).clamp(low, high)
    }

    /// Brings `value` into the range of the type, wrapping.
    pub fn wrap(self, value: i128) -> i128 {
        let bits = self.size() * 8;
        if bits == 128 {
            return value;
        }
        let shift = 128 - bits;
        if self.signed() {
            (value << shift) >> shift
        } else {
            ((value as u128) << shift >> shift) as i128
        }
    }
}

/// Floating types, in the order in which the usual arithmetic conversions choose the greater (gcc's
/// for types of one format).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum FloatKind {
    Float16,
    Float,
    Float32,
    Float32x,
    Double,
    Float64,
    Float64x,
    LongDouble,
    Float128,
}

impl FloatKind {
    /// The type of the same format that every C compiler has.
    pub fn standard(self) -> FloatKind {
        match self {
            FloatKind::Float32 => FloatKind::Float,
            FloatKind::Float32x | FloatKind::Float64 => FloatKind::Double,
            FloatKind::Float64x => FloatKind::LongDouble,
            other => other,
        }
    }

    /// Size in bytes.
    pub fn size(self) -> u64 {
        match self {
            FloatKind::Float16 => 2,
            FloatKind::Float | FloatKind::Float32 => 4,
            FloatKind::Double | FloatKind::Float32x | FloatKind::Float64 => 8,
            FloatKind::LongDouble | FloatKind::Float64x | FloatKind::Float128 => 16,
        }
    }
}

/// What a pointer's type knows about the extent of its target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bounds {
    /// Exactly one target (or null). One word.
    Thin,
    /// Carries first and last. Three words.
    Fat,
    /// Readable up to and including the terminating zero. One word.
    Terminated,
    /// A string object: `fat null_terminated`. Three words; `hi` points at a zero that no view
    /// reaches.
    FatTerminated,
    /// As many as the expression over sibling parameters or fields says. One word.
    Counted(CountId),
}

impl Bounds {
    /// Whether values carry `lo` and `hi`.
    pub fn is_fat(self) -> bool {
        matches!(self, Bounds::Fat | Bounds::FatTerminated)
    }
    /// Whether a terminating zero is known to be there.
    pub fn is_terminated(self) -> bool {
        matches!(self, Bounds::Terminated | Bounds::FatTerminated)
    }
    /// Whether a number of elements is known, now or at run time.
    pub fn has_bounds(self) -> bool {
        matches!(self, Bounds::Fat | Bounds::FatTerminated | Bounds::Counted(_))
    }
}

/// An interned count expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CountId(pub u32);

/// The `e` of `counted_by(e)`. Evaluated as signed 64-bit with overflow leading to a fault;
/// negative counts as 0.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CountExpr {
    /// A constant.
    Const(i64),
    /// Parameter number, from 0.
    Param(u32),
    /// Field number of the record that the pointer is a field of.
    Field(u32),
    /// A sum.
    Add(CountId, CountId),
    /// A difference.
    Sub(CountId, CountId),
    /// A product.
    Mul(CountId, CountId),
    /// A quotient by a positive constant.
    Div(CountId, i64),
}

/// How a pointer's target is managed (docs/internals/ownership.md).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Own {
    /// Freely copied, never freed by hand.
    Shared,
    /// The only usable pointer to its target.
    Unique,
    /// Counted.
    Rc,
    /// Read-only and deep.
    View,
    /// One of the others: lent only.
    Any,
    /// `own q`: parameter number of the enclosing generic.
    Param(u32),
}

impl Own {
    /// Whether a value of it is moved when it is read, and owes its release.
    pub fn is_owned(self) -> bool {
        matches!(self, Own::Unique | Own::Rc)
    }
}

/// The region of a pointer's target (docs/internals/ownership.md).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Region {
    /// The collected heap, globals, statics, literals.
    Heap,
    /// Not written, and not settled yet: only while a declarator is read, and after typedefs. Never
    /// in a finished declaration.
    Var,
    /// `@exchange`
    Exchange,
    /// Parameter number of the enclosing generic (types, ownerships and regions are numbered
    /// together); its argument is a `TyKind::RegionArg`. The region parameters of a struct are
    /// these too.
    Param(u32),
    /// In a function type: variable number `.1` of the function type `.0` levels out (0 is the
    /// innermost). In order of first occurrence, so that equal prototypes are equal types whatever
    /// their names.
    Bound(u8, u32),
    /// In a body: entry of `Body::regions`. The first ones are the region variables of the
    /// function's own type, in order.
    Body(u32),
    /// In a body: to be solved by `flow`.
    Infer(u32),
    /// In the fields of a record: its `exists` number so many.
    Exists(u32),
}

/// The five kinds of key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum KeyKind {
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

impl KeyKind {
    /// Whether it is counted: `retain`, `release`.
    pub fn is_rc(self) -> bool {
        matches!(self, KeyKind::RcArena | KeyKind::RcReap)
    }
    /// Whether it opens as a reap.
    pub fn is_reap(self) -> bool {
        matches!(self, KeyKind::Reap | KeyKind::RcReap)
    }
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            KeyKind::Arena => "key",
            KeyKind::Reap => "reap_key",
            KeyKind::RcArena => "rc_key",
            KeyKind::RcReap => "rc_reap_key",
            KeyKind::Exchange => "exchange_key",
        }
    }
}

/// A pointer type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pointer {
    /// What it points to.
    pub target: Qty,
    /// Its bounds.
    pub bounds: Bounds,
    /// Never null.
    pub nonnull: bool,
    /// Ownership.
    pub own: Own,
    /// Region.
    pub region: Region,
    /// A `void *` (or pointer to an incomplete type's storage) as C has it: one word, not usable in
    /// safe code. Set in foreign and `extern "C"` declarations for pointers to `void` only.
    pub raw: bool,
}

/// The type of one end of a channel. Types that differ in `state` only are one machine type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Endpoint {
    /// What it speaks.
    pub contract: ContractId,
    /// Which end it is.
    pub side: Side,
    /// The state that was written: in parameters, results, fields, elements, messages, arguments of
    /// generics. A local's is inferred by `flow` whether or not one is written.
    pub state: Option<StateId>,
}

/// The type of a set (`eset<E>`) or a map (`emap<E, V>`) of endpoints.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EndSet {
    /// What its members are; in this state they are received from.
    pub end: Endpoint,
    /// Of a map: a struct whose only field is the value that each member has. One record for each
    /// type of value (`TypeStore::map_values`).
    pub value: Option<RecordId>,
}

/// The length of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArrayLen {
    /// A constant.
    Const(u64),
    /// `[]` of an extern declaration or before the initialiser is known.
    Unknown,
    /// A flexible array member with its count over sibling fields.
    Flexible(Option<CountId>),
    /// A variable-length array (plain C, unsafe code): the local that holds the element count.
    Variable(u32),
}

/// Who calls how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Abi {
    /// Multi-word values are split into scalars (docs/internals/abi.md).
    Leeward,
    /// C's own.
    C,
}

/// A parameter's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ParamTy {
    /// The type, after array and function adjustment.
    pub ty: Ty,
    /// `consume`
    pub consume: bool,
    /// `[[lee::optional]]`: null is accepted whatever the count.
    pub optional: bool,
    /// `[[lee::at_most(n)]]` of a trusted function: of the string so many characters are read as
    /// parameter `n` says, or up to its zero if that comes first.
    pub at_most: Option<u32>,
    /// `C.exp:FROM -> TO d`: the endpoint is lent, and comes back in this state.
    pub becomes: Option<StateId>,
}

impl ParamTy {
    /// One without further words.
    pub fn new(ty: Ty) -> ParamTy {
        ParamTy { ty, consume: false, optional: false, at_most: None, becomes: None }
    }
}

/// `format(printf, m, n)`: parameter numbers from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FormatTy {
    /// scanf, not printf.
    pub scanf: bool,
    /// The format parameter.
    pub format: u32,
    /// The first checked argument; `None` for the `v...` forms.
    pub first: Option<u32>,
}

/// A function type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FuncTy {
    /// Result.
    pub ret: Ty,
    /// Parameters.
    pub params: Vec<ParamTy>,
    /// `...`
    pub variadic: bool,
    /// No prototype (C before C23).
    pub unprototyped: bool,
    /// Calling convention.
    pub abi: Abi,
    /// `[[noreturn]]`; not part of C's type, kept so that calls through the type know.
    pub noreturn: bool,
    /// Format attribute.
    pub format: Option<FormatTy>,
    /// `[[lee::into(p)]]`: the parameter whose object the result points into.
    pub into: Option<u32>,
    /// `[[lee::end_into(p, out)]]`: `*out` is set to a pointer into `p`.
    pub end_into: Option<(u32, u32)>,
    /// `[[lee::copies(dst, src)]]`
    pub copies: Option<(u32, u32)>,
    /// `[[lee::fills(p, c)]]`: bytes of `p` are set to `c` (or to zero).
    pub fills: Option<(u32, Option<u32>)>,
    /// `[[lee::terminates(p)]]`: the last element of `p` that it may write is set to zero only, so
    /// a `null_terminated` array may be passed with its hidden zero counted
    /// (`fgets(line, sizeof line, f)`).
    pub terminates: Option<u32>,
    /// `[[lee::cuts(p)]]`: a call that counts the hidden zero of a string is made with one less.
    pub cuts: Option<u32>,
    /// `[[lee::leaf]]`: it calls nothing of the program back, and lets no other task run.
    pub leaf: bool,
    /// `[[lee::waits]]`, of a leaf: other tasks may run once it has read its arguments.
    pub waits: bool,
    /// The string argument is kept after the call, so a check for its zero at the call is not
    /// enough.
    pub keeps_string: Option<u32>,
    /// Number of its region variables (`Region::Bound(0, n)`).
    pub regions: u32,
    /// Pairs of regions of which the first outlives the second (`generic <@a outlives @b>`).
    pub outlives: Vec<(Region, Region)>,
    /// What a value of the type owns, an object in the region may own (`generic <T: move @r>`).
    pub owns_in: Vec<(Ty, Region)>,
}

impl FuncTy {
    /// A function with a prototype that has neither attributes nor regions of its own.
    pub fn new(ret: Ty, params: Vec<ParamTy>, abi: Abi) -> FuncTy {
        FuncTy {
            ret,
            params,
            variadic: false,
            unprototyped: false,
            abi,
            noreturn: false,
            format: None,
            into: None,
            end_into: None,
            copies: None,
            fills: None,
            terminates: None,
            cuts: None,
            leaf: false,
            waits: false,
            keeps_string: None,
            regions: 0,
            outlives: vec![],
            owns_in: vec![],
        }
    }
}

/// Number of a record (a struct, union or tagged union; each instance of a generic one has its
/// own).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct RecordId(pub u32);

/// Number of an enumeration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct EnumId(pub u32);

/// A type parameter of a generic: its number within the generic item, and its name for messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeParam {
    /// Position among the type parameters of its generic.
    pub index: u32,
    /// Its name.
    pub name: Symbol,
    /// `T: heap`
    pub heap: bool,
    /// `T: move`
    pub moves: bool,
    /// `T: exchange`: its values may be in a block of the exchange heap. It is moved.
    pub exchange: bool,
    /// `T: frozen`: a block of it may be frozen. It is `T: exchange` too.
    pub frozen: bool,
    /// `T: nonnull`: it may hold `nonnull` pointers, so its zero is not a value.
    pub nonnull: bool,
}

impl TypeParam {
    /// One without bounds.
    pub fn new(index: u32, name: Symbol) -> TypeParam {
        TypeParam { index, name, heap: false, moves: false, exchange: false, frozen: false, nonnull: false }
    }
}

/// The shape of a type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TyKind {
    /// After an error; compatible with everything so that one mistake gives one report.
    Error,
    /// `void`
    Void,
    /// `bool`
    Bool,
    /// Integers.
    Int(IntKind),
    /// Real floating types.
    Float(FloatKind),
    /// Complex types.
    Complex(FloatKind),
    /// Enumerations.
    Enum(EnumId),
    /// Pointers.
    Ptr(Pointer),
    /// Arrays.
    Array {
        /// Element.
        elem: Qty,
        /// Length, the terminating zero of a `null_terminated` array included.
        len: ArrayLen,
        /// `char b[16] null_terminated`, and string literals: the last element is a zero that views
        /// do not reach.
        terminated: bool,
    },
    /// Functions.
    Func(Rc<FuncTy>),
    /// Structs, unions, tagged unions.
    Record(RecordId),
    /// A type parameter inside a generic.
    Param(TypeParam),
    /// `va_list`
    VaList,
    /// The type of `nullptr`.
    NullPtr,
    /// The key of a dynamic arena: an owned value of one word.
    Key(KeyKind, Region),
    /// One end of a channel: an owned value of one word.
    Endpoint(Endpoint),
    /// A set or map of such ends: an owned value of one word.
    EndSet(EndSet),
    /// The handle of an arena (`false`) or a reap (`true`): what `arena r` declares, as variable
    /// and as parameter.
    Handle(bool, Region),
    /// A region as an argument of a generic.
    RegionArg(Region),
    /// An ownership as an argument of a generic.
    OwnArg(Own),
}

/// Struct, union or tagged union.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum RecordKind {
    Struct,
    Union,
    Tagged,
}

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name; `None` for an anonymous record or padding bit-field.
    pub name: Option<Symbol>,
    /// Its type.
    pub ty: Qty,
    /// Bit-field width.
    pub width: Option<u32>,
    /// `alignas`
    pub align: Option<u64>,
    /// `__attribute__((packed))`: no padding before it.
    pub packed: bool,
    /// `union {...} u tagged_by(kind) {...}`: which tag values select which member.
    pub tagged_by: Option<Rc<TaggedBy>>,
    /// Where it is declared.
    pub span: Span,
}

/// The binding of a union field to a sibling tag field.
#[derive(Clone, Debug)]
pub struct TaggedBy {
    /// Field number of the tag in the enclosing record.
    pub tag: u32,
    /// Tag value and member number of the union.
    pub arms: Vec<(i128, u32)>,
}

/// A record.
#[derive(Clone, Debug)]
pub struct Record {
    /// Kind.
    pub kind: RecordKind,
    /// Its tag, or the typedef that first names it.
    pub tag: Option<Symbol>,
    /// Arguments, if it is an instance of a generic.
    pub args: Vec<Ty>,
    /// Fields, once complete.
    pub fields: Option<Rc<Vec<Field>>>,
    /// `__attribute__((packed))`
    pub packed: bool,
    /// `__attribute__((aligned(n)))`, `alignas`
    pub align: Option<u64>,
    /// A vector of GNU C: its one member is the array of its lanes, and `align` its alignment.
    pub vector: bool,
    /// A scalar of plain C with less than its own alignment: its one member, packed.
    pub underaligned: bool,
    /// Declared in a system header or in `extern "C"`: laid out by C alone, pointers are one word.
    pub foreign: bool,
    /// Hidden regions (`exists @d;`): values are packed, and used through `unpack` only. Of one
    /// with `outlived by @x` that region, as the declaration names it: the hidden one is live as
    /// long as it is.
    pub exists: Vec<Option<Region>>,
    /// Where it is declared.
    pub span: Span,
}

/// An enumeration.
#[derive(Clone, Debug)]
pub struct Enum {
    /// Tag.
    pub tag: Option<Symbol>,
    /// The compatible integer type.
    pub underlying: IntKind,
    /// Enumerators.
    pub items: Vec<(Symbol, i128)>,
    /// Of those that have attributes: the attributes as C text, for headers.
    pub attrs: Vec<(Symbol, Vec<String>)>,
    /// Whether its list has been seen.
    pub complete: bool,
    /// Where it is declared.
    pub span: Span,
}

/// Size and alignment in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Size.
    pub size: u64,
    /// Alignment.
    pub align: u64,
}

/// Layout of a record, with the place of each field.
pub(crate) type RecordLayout = (Layout, Vec<crate::layout::FieldPlace>);

/// A question about what a record holds by value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Holds {
    /// Is it complete?
    Complete,
    /// Does it own something?
    Owner,
    /// Does it own blocks of the exchange heap?
    Exchange,
    /// Is it plain data?
    Plain,
    /// Must it be initialised?
    Init,
    /// Has it pointers?
    Pointers,
}

/// Owns all types of a translation unit.
#[derive(Debug)]
pub struct TypeStore {
    kinds: Vec<TyKind>,
    ids: FxHashMap<TyKind, Ty>,
    /// A type of keys is interned.
    keys: bool,
    /// Records by number.
    pub records: Vec<Record>,
    /// Enumerations by number.
    pub enums: Vec<Enum>,
    /// Contracts by number.
    pub contracts: Vec<Contract>,
    /// The struct of each type that some map of endpoints has as its value (`EndSet::value`).
    pub map_values: FxHashMap<Ty, RecordId>,
    counts: Vec<CountExpr>,
    count_ids: FxHashMap<CountExpr, CountId>,
    /// Instances of generic records: generic definition number and arguments.
    pub instances: FxHashMap<(u32, Vec<Ty>), RecordId>,
    /// For an instance, the generic definition that it comes from.
    pub instance_of: FxHashMap<RecordId, u32>,
    /// For a generic definition, its instance at its own parameters, which holds the fields that
    /// others are made from.
    pub generic_self: FxHashMap<u32, RecordId>,
    /// Types without their regions, as far as they were asked for.
    pub(crate) erased: FxHashMap<Ty, Ty>,
    /// What complete records were found to hold: structs that nest are looked into once.
    pub(crate) known: RefCell<FxHashMap<(Holds, RecordId), bool>>,
    /// The layouts of records that were asked for.
    pub(crate) layouts: RefCell<FxHashMap<RecordId, RecordLayout>>,
    /// Often used types.
    pub common: Common,
}

/// Often used types.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Common {
    pub error: Ty,
    pub void: Ty,
    pub bool_: Ty,
    pub char_: Ty,
    pub schar: Ty,
    pub uchar: Ty,
    pub short: Ty,
    pub ushort: Ty,
    pub int: Ty,
    pub uint: Ty,
    pub long: Ty,
    pub ulong: Ty,
    pub longlong: Ty,
    pub ulonglong: Ty,
    pub float: Ty,
    pub double: Ty,
    pub long_double: Ty,
    pub nullptr: Ty,
    pub va_list: Ty,
}

impl Default for TypeStore {
    fn default() -> Self {
        TypeStore::new()
    }
}

impl TypeStore {
    /// A store with the common types.
    pub fn new() -> TypeStore {
        let placeholder = Ty(0);
        let common = Common {
            error: placeholder,
            void: placeholder,
            bool_: placeholder,
            char_: placeholder,
            schar: placeholder,
            uchar: placeholder,
            short: placeholder,
            ushort: placeholder,
            int: placeholder,
            uint: placeholder,
            long: placeholder,
            ulong: placeholder,
            longlong: placeholder,
            ulonglong: placeholder,
            float: placeholder,
            double: placeholder,
            long_double: placeholder,
            nullptr: placeholder,
            va_list: placeholder,
        };
        let mut store = TypeStore {
            kinds: vec![],
            keys: false,
            ids: FxHashMap::default(),
            records: vec![],
            enums: vec![],
            contracts: vec![],
            map_values: FxHashMap::default(),
            counts: vec![],
            count_ids: FxHashMap::default(),
            instances: FxHashMap::default(),
            instance_of: FxHashMap::default(),
            generic_self: FxHashMap::default(),
            erased: FxHashMap::default(),
            known: RefCell::default(),
            layouts: RefCell::default(),
            common,
        };
        store.common = Common {
            error: store.intern(TyKind::Error),
            void: store.intern(TyKind::Void),
            bool_: store.intern(TyKind::Bool),
            char_: store.int(IntKind::Char),
            schar: store.int(IntKind::SChar),
            uchar: store.int(IntKind::UChar),
            short: store.int(IntKind::Short),
            ushort: store.int(IntKind::UShort),
            int: store.int(IntKind::Int),
            uint: store.int(IntKind::UInt),
            long: store.int(IntKind::Long),
            ulong: store.int(IntKind::ULong),
            longlong: store.int(IntKind::LongLong),
            ulonglong: store.int(IntKind::ULongLong),
            float: store.intern(TyKind::Float(FloatKind::Float)),
            double: store.intern(TyKind::Float(FloatKind::Double)),
            long_double: store.intern(TyKind::Float(FloatKind::LongDouble)),
            nullptr: store.intern(TyKind::NullPtr),
            va_list: store.intern(TyKind::VaList),
        };
        store
    }

    /// The type of this shape.
    pub fn intern(&mut self, kind: TyKind) -> Ty {
        if let Some(&ty) = self.ids.get(&kind) {
            return ty;
        }
        let ty = Ty(self.kinds.len() as u32);
        self.keys |= matches!(kind, TyKind::Key(..));
        self.kinds.push(kind.clone());
        self.ids.insert(kind, ty);
        ty
    }

    /// Whether there is any type of keys.
    pub fn has_keys(&self) -> bool {
        self.keys
    }

    /// The type of this shape, if it is interned.
    pub fn find(&self, kind: &TyKind) -> Option<Ty> {
        self.ids.get(kind).copied()
    }

    /// An integer type.
    pub fn int(&mut self, kind: IntKind) -> Ty {
        self.intern(TyKind::Int(kind))
    }

    /// The shape of `ty`.
    pub fn kind(&self, ty: Ty) -> &TyKind {
        self.kinds.get(ty.0 as usize).unwrap_or(&TyKind::Error)
    }

    /// All interned types, in order.
    pub fn all(&self) -> impl Iterator<Item = Ty> + '_ {
        (0..self.kinds.len() as u32).map(Ty)
    }

    /// The interned count expression.
    pub fn count(&mut self, expr: CountExpr) -> CountId {
        if let Some(&id) = self.count_ids.get(&expr) {
            return id;
        }
        let id = CountId(self.counts.len() as u32);
        self.counts.push(expr.clone());
        self.count_ids.insert(expr, id);
        id
    }

    /// The count expression that `id` names.
    pub fn count_expr(&self, id: CountId) -> &CountExpr {
        self.counts.get(id.0 as usize).unwrap_or(&CountExpr::Const(0))
    }

    /// The value of a count whose fields are all zero.
    pub fn count_of_zeros(&self, id: CountId) -> i64 {
        let zeros = |id| self.count_of_zeros(id);
        match *self.count_expr(id) {
            CountExpr::Const(n) => n,
            CountExpr::Param(_) | CountExpr::Field(_) => 0,
            CountExpr::Add(a, b) => zeros(a).saturating_add(zeros(b)),
            CountExpr::Sub(a, b) => zeros(a).saturating_sub(zeros(b)),
            CountExpr::Mul(a, b) => zeros(a).saturating_mul(zeros(b)),
            CountExpr::Div(a, by) => zeros(a) / by.max(1),
        }
    }

    /// The record that `id` names.
    pub fn record(&self, id: RecordId) -> &Record {
        &self.records[id.0 as usize]
    }

    /// The enumeration that `id` names.
    pub fn enumeration(&self, id: EnumId) -> &Enum {
        &self.enums[id.0 as usize]
    }

    /// A pointer type.
    pub fn pointer(&mut self, pointer: Pointer) -> Ty {
        self.intern(TyKind::Ptr(pointer))
    }

    /// The types of objects that may be used as a `target`, because that adds only `const` behind
    /// pointers: `char *` as a `const char *const`. Where it is added, each level above has it
    /// (C++, [conv.qual]); else a pointer to `const` could be stored where one to what is written
    /// is read. Four levels are looked at.
    pub fn with_less_const(&mut self, target: Qty) -> Vec<Ty> {
        self.less_const(target, 4)
    }

    fn less_const(&mut self, target: Qty, levels: u32) -> Vec<Ty> {
        let TyKind::Ptr(p) = *self.kind(target.ty) else { return vec![] };
        if !target.quals.is_const || levels == 0 {
            return vec![];
        }
        let mut behind = vec![p.target.ty];
        behind.extend(self.less_const(p.target, levels - 1));
        let without = Quals { is_const: false, ..p.target.quals };
        let mut found = vec![];
        for ty in behind {
            for quals in [p.target.quals, without] {
                let pointer = self.pointer(Pointer { target: Qty { ty, quals }, ..p });
                if pointer != target.ty && !found.contains(&pointer) {
                    found.push(pointer);
                }
            }
        }
        found
    }

    /// A shared nullable pointer with the given bounds, region `Heap`.
    pub fn pointer_to(&mut self, target: Qty, bounds: Bounds) -> Ty {
        self.pointer(Pointer { target, bounds, nonnull: false, own: Own::Shared, region: Region::Heap, raw: false })
    }

    /// The pointer shape of `ty`, if it is one.
    pub fn as_pointer(&self, ty: Ty) -> Option<Pointer> {
        match self.kind(ty) {
            TyKind::Ptr(p) => Some(*p),
            _ => None,
        }
    }

    /// The function shape of `ty`, if it is one.
    pub fn as_func(&self, ty: Ty) -> Option<Rc<FuncTy>> {
        match self.kind(ty) {
            TyKind::Func(f) => Some(f.clone()),
            _ => None,
        }
    }

    /// The record number of `ty`, if it is one.
    pub fn as_record(&self, ty: Ty) -> Option<RecordId> {
        match self.kind(ty) {
            TyKind::Record(r) => Some(*r),
            _ => None,
        }
    }

    /// The endpoint shape of `ty`, if it is one.
    pub fn as_endpoint(&self, ty: Ty) -> Option<Endpoint> {
        match self.kind(ty) {
            TyKind::Endpoint(e) => Some(*e),
            _ => None,
        }
    }

    /// The set or map of endpoints that `ty` is, if it is one.
    pub fn as_end_set(&self, ty: Ty) -> Option<EndSet> {
        match self.kind(ty) {
            TyKind::EndSet(set) => Some(*set),
            _ => None,
        }
    }

    /// The type of the value that a map has for each endpoint.
    pub fn map_value(&self, set: &EndSet) -> Option<Ty> {
        self.record(set.value?).fields.as_ref()?.first().map(|field| field.ty.ty)
    }

    /// The integer kind that `ty` is stored as (`bool` and enumerations included).
    pub fn as_int(&self, ty: Ty) -> Option<IntKind> {
        match self.kind(ty) {
            TyKind::Bool => Some(IntKind::UChar),
            TyKind::Int(k) => Some(*k),
            TyKind::Enum(e) => Some(self.enumeration(*e).underlying),
            _ => None,
        }
    }

    /// How many machine words a value of pointer type has when it is split into scalars: 1, 2
    /// (`void *`) or 3 (fat).
    pub fn words(&self, ty: Ty) -> u32 {
        match self.kind(ty) {
            TyKind::Ptr(p) if p.bounds.is_fat() => 3,
            TyKind::Ptr(p) if self.is_typed_void(p) => 2,
            _ => 1,
        }
    }

    /// Whether `p` is Leeward's `void *`: address and type.
    pub fn is_typed_void(&self, p: &Pointer) -> bool {
        !p.raw && p.bounds == Bounds::Thin && matches!(self.kind(p.target.ty), TyKind::Void)
    }
}
