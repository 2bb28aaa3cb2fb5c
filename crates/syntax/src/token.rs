//! Tokens: a kind and a place. Text is looked up through the place when it is needed.

use source::{Span, Symbol};

/// One token of the preprocessed text.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// First byte.
    pub lo: u32,
    /// One past the last byte.
    pub hi: u32,
    /// The name of an identifier, keyword or word; the empty symbol otherwise.
    pub name: Symbol,
}

impl Token {
    /// Where the token stands.
    pub fn span(&self) -> Span {
        Span::new(self.lo, self.hi)
    }
}

macro_rules! kinds {
    (plain { $($plain:ident)* } punct { $($punct:ident $ptext:literal)* } hard { $($hard:ident $($htext:literal)+,)* }
     c23 { $($c23:ident $ctext:literal,)* } gnu { $($gnu:ident $gtext:literal,)* } words { $($word:ident $wtext:literal,)* }) => {
        /// Kinds of tokens. The order matters: from `Alignas` on, kinds are words that a program
        /// may declare for itself.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        #[repr(u8)]
        pub enum Kind { $($plain,)* $($punct,)* $($hard,)* $($c23,)* $($gnu,)* $($word,)* }

        /// Spellings of all keywords and words.
        pub(crate) const WORDS: &[(&str, Kind)] = &[
            $($(($htext, Kind::$hard),)+)* $(($ctext, Kind::$c23),)* $(($gtext, Kind::$gnu),)* $(($wtext, Kind::$word),)*
        ];

        impl Kind {
            /// How a person writes it, for messages.
            pub fn text(self) -> &'static str {
                match self {
                    $(Kind::$plain => stringify!($plain),)*
                    $(Kind::$punct => $ptext,)*
                    $(Kind::$hard => first(&[$($htext),+]),)*
                    $(Kind::$c23 => $ctext,)*
                    $(Kind::$gnu => $gtext,)*
                    $(Kind::$word => $wtext,)*
                }
            }
        }
    };
}

const fn first(spellings: &[&'static str]) -> &'static str {
    match spellings {
        [text, ..] => text,
        [] => "",
    }
}

kinds! {
    plain { Eof Ident Number Char Str Invalid }
    punct {
        LParen "(" RParen ")" LBracket "[" RBracket "]" LBrace "{" RBrace "}" Dot "." Arrow "->" Ellipsis "..."
        PlusPlus "++" MinusMinus "--" Amp "&" Star "*" Plus "+" Minus "-" Tilde "~" Bang "!"
        Slash "/" Percent "%" Shl "<<" Shr ">>" Lt "<" Gt ">" Le "<=" Ge ">=" EqEq "==" BangEq "!="
        Caret "^" Pipe "|" AmpAmp "&&" PipePipe "||" Question "?" Colon ":" Semi ";" Comma "," At "@" Swap ":=:"
        Eq "=" StarEq "*=" SlashEq "/=" PercentEq "%=" PlusEq "+=" MinusEq "-=" ShlEq "<<=" ShrEq ">>="
        AmpEq "&=" CaretEq "^=" PipeEq "|=" Hash "#"
    }
    hard {
        Auto "auto", Break "break", Case "case", CharWord "char", Const "const" "__const" "__const__",
        Continue "continue", Default "default", Do "do", Double "double", Else "else", Enum "enum", Extern "extern",
        Float "float", For "for", Goto "goto", If "if", Inline "inline" "__inline" "__inline__", Int "int", Long "long",
        Register "register", Restrict "restrict" "__restrict" "__restrict__", Return "return", Short "short",
        Signed "signed" "__signed" "__signed__", Sizeof "sizeof", Static "static", Struct "struct", Switch "switch",
        Typedef "typedef", Union "union", Unsigned "unsigned", Void "void",
        Volatile "volatile" "__volatile" "__volatile__", While "while",
        UAlignas "_Alignas", UAlignof "_Alignof" "__alignof" "__alignof__", Atomic "_Atomic", UBool "_Bool",
        Complex "_Complex" "__complex" "__complex__", Imaginary "_Imaginary", UGeneric "_Generic",
        Noreturn "_Noreturn", UStaticAssert "_Static_assert", UThreadLocal "_Thread_local" "__thread",
        BitInt "_BitInt", Decimal "_Decimal32" "_Decimal64" "_Decimal128",
        Int128 "__int128", Int128T "__int128_t", UInt128T "__uint128_t",
        VaList "__builtin_va_list", VaArg "__builtin_va_arg", Offsetof "__builtin_offsetof",
        TypesCompatible "__builtin_types_compatible_p", ChooseExpr "__builtin_choose_expr", AutoType "__auto_type",
        ConvertVector "__builtin_convertvector",
        Attribute "__attribute__" "__attribute", Extension "__extension__", UAsm "__asm__" "__asm",
        Typeof "typeof" "__typeof" "__typeof__", UTypeofUnqual "__typeof_unqual__" "__typeof_unqual",
        Real "__real__" "__real", Imag "__imag__" "__imag", LabelWord "__label__",
        Nullable "_Nullable" "_Null_unspecified", UNonnull "_Nonnull", Pragma "_Pragma",
    }
    c23 {
        Alignas "alignas", Alignof "alignof", Bool "bool", Constexpr "constexpr", False "false", Nullptr "nullptr",
        StaticAssert "static_assert", ThreadLocal "thread_local", True "true", TypeofUnqual "typeof_unqual",
    }
    gnu {
        Asm "asm", Float16 "_Float16", Float32 "_Float32", Float64 "_Float64", Float32x "_Float32x", Float64x "_Float64x",
        Float80 "__float80", Float128 "_Float128", Quad "__float128", BFloat "__bf16",
    }
    words {
        Fat "fat", CountedBy "counted_by", NullTerminated "null_terminated", Nonnull "nonnull", Unique "unique",
        Rc "rc", View "view", Any "any", GenericWord "generic", Own "own", Trusted "trusted", Unsafe "unsafe",
        Defer "defer", New "new", Lengthof "lengthof", ContainerOf "container_of", Consume "consume",
        Tagged "tagged", TaggedBy "tagged_by", Byte "byte", Malloc "malloc", Calloc "calloc", Realloc "realloc",
        Arena "arena", Reap "reap", Open "open", Borrow "borrow", Cursor "cursor", Unpack "unpack", Expose "expose",
        Channel "channel", Send "send", Receive "receive", Spawn "spawn", Start "start", Contract "contract",
        Process "process", Local "local", Exists "exists", Key "key", ReapKey "reap_key", RcKey "rc_key",
        RcReapKey "rc_reap_key", ExchangeKey "exchange_key", Pid "pid", Task "task", Custodian "custodian",
        Cell "cell", Weak "weak", FinalizerQueue "finalizer_queue", Eset "eset", Emap "emap",
    }
}

impl Kind {
    /// A keyword of C23 that older C leaves to the program.
    pub(crate) fn is_c23_word(self) -> bool {
        self >= Kind::Alignas && self <= Kind::TypeofUnqual
    }

    /// A floating type of GNU C that a header may declare by a typedef where the compiler does not
    /// know it.
    pub(crate) fn is_gnu_float(self) -> bool {
        self >= Kind::Float16 && self <= Kind::BFloat
    }

    /// A word that Leeward predeclares.
    pub(crate) fn is_leeward_word(self) -> bool {
        self >= Kind::Fat
    }

    /// A word that a program may declare for itself in some dialect.
    pub(crate) fn is_soft(self) -> bool {
        self >= Kind::Alignas
    }

    /// A word that names a type of a later stage of the language.
    pub(crate) fn is_later_type(self) -> bool {
        (self >= Kind::Key && self <= Kind::Emap) || self == Kind::Arena || self == Kind::Reap
    }
}
