//! C identifiers: which are taken by C itself, and how clashes are solved.

use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::LazyLock;

/// Words that cannot be identifiers in GNU C11, and macros that every translation unit has.
const WORDS: &[&str] = &[
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "asm",
    "typeof",
    "typeof_unqual",
    "linux",
    "unix",
    "i386",
    "NULL",
    "offsetof",
    "bool",
    "true",
    "false",
    "nullptr",
    "constexpr",
    "alignas",
    "alignof",
    "static_assert",
    "thread_local",
];

/// Names that lee/lee.h declares at file scope.
const HEADER: &[&str] =
    &["size_t", "ptrdiff_t", "wchar_t", "max_align_t", "intptr_t", "uintptr_t", "intmax_t", "uintmax_t"];

/// Functions that gcc or clang know by name, in one list of words. A function of the program that
/// has such a name is declared under another, with the true one as its assembler name, so that no
/// compiler gives it a meaning of its own.
const BUILTINS: &str = "abort abs acos acosf acosh acoshf acoshl acosl aligned_alloc alloca asin asinf asinh asinhf asinhl \
asinl asprintf atan atan2 atan2f atan2l atanf atanh atanhf atanhl atanl bcmp bcopy bzero cabs cabsf cabsl cacos cacosf \
cacosh calloc carg cargf cargl casin casinh catan catanh cbrt cbrtf cbrtl ccos ccosh ceil ceilf ceill cexp cimag cimagf \
cimagl clog clog10 conj conjf conjl copysign copysignf copysignl cos cosf cosh coshf coshl cosl cpow cproj creal crealf \
creall csin csinh csqrt ctan ctanh dcgettext dgettext drem dremf dreml erf erfc erfcf erfcl erff erfl execl execle execlp \
execv execve execvp exit exp exp10 exp10f exp10l exp2 exp2f exp2l expf expl expm1 expm1f expm1l fabs fabsf fabsl fdim \
fdimf fdiml ffs ffsl ffsll finite finitef finitel floor floorf floorl fma fmaf fmal fmax fmaxf fmaxl fmin fminf fminl \
fmod fmodf fmodl fork fprintf fprintf_unlocked fputc fputc_unlocked fputs fputs_unlocked free frexp frexpf frexpl fscanf \
fwrite fwrite_unlocked gamma gammaf gammal gettext hypot hypotf hypotl ilogb ilogbf ilogbl imaxabs index isalnum isalpha \
isascii isblank iscntrl isdigit isfinite isgraph isinf isinff isinfl islower isnan isnanf isnanl isnormal isprint ispunct \
isspace isupper iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper \
iswxdigit isxdigit j0 j0f j0l j1 j1f j1l jn jnf jnl labs ldexp ldexpf ldexpl lgamma lgammaf lgammal llabs llrint llrintf \
llrintl llround llroundf llroundl log log10 log10f log10l log1p log1pf log1pl log2 log2f log2l logb logbf logbl logf logl \
longjmp lrint lrintf lrintl lround lroundf lroundl malloc memccpy memchr memcmp memcpy memmem memmove mempcpy memset modf \
modff modfl nan nanf nanl nearbyint nearbyintf nearbyintl nextafter nextafterf nextafterl nexttoward nexttowardf \
nexttowardl posix_memalign pow pow10 pow10f pow10l powf powl printf printf_unlocked putc putchar putchar_unlocked \
putc_unlocked puts puts_unlocked realloc remainder remainderf remainderl remquo remquof remquol rindex rint rintf rintl \
round roundeven roundf roundl scalb scalbf scalbl scalbln scalblnf scalblnl scalbn scalbnf scalbnl scanf setjmp sigsetjmp \
siglongjmp signbit signbitf signbitl significand significandf significandl sin sincos sincosf sincosl sinf sinh sinhf \
sinhl sinl snprintf sprintf sqrt sqrtf sqrtl sscanf stpcpy stpncpy strcasecmp strcat strchr strcmp strcpy strcspn strdup \
strfmon strftime strlcat strlcpy strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr \
strtod strtof strtok strtol strtold strtoul strxfrm tan tanf tanh tanhf tanhl tanl tgamma tgammaf tgammal toascii tolower \
toupper towlower towupper trunc truncf truncl va_copy vfork vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf \
wcschr wcscmp wcslen wcsncmp wmemchr wmemcmp wmemcpy wmemmove y0 y0f y0l y1 y1f y1l yn ynf ynl _Exit _exit _setjmp _longjmp \
getcontext savectx objc_msgSend NSLog CFStringMakeConstantString";

/// What a name would collide with if it were used as it stands.
pub fn is_reserved(name: &str) -> bool {
    is_word(name) || HEADER.contains(&name) || has_reserved_prefix(name) || is_sized_type(name)
}

/// Whether emitted plain C can use a name of the program as it stands: that is what its prelude and
/// C's keywords leave.
pub fn is_free_in_plain(name: &str) -> bool {
    is_identifier(name) && !WORDS.contains(&name) && !HEADER.contains(&name) && !is_stdint_macro(name)
}

/// Keywords and macros: not even usable as a member's name.
pub fn is_word(name: &str) -> bool {
    WORDS.contains(&name) || is_stdint_macro(name) || name.starts_with("__builtin") || is_underscore_keyword(name)
}

/// Whether compilers take a function of this name for C's.
pub fn is_builtin(name: &str) -> bool {
    static SET: LazyLock<FxHashSet<&str>> = LazyLock::new(|| BUILTINS.split_whitespace().collect());
    SET.contains(name)
}

fn is_underscore_keyword(name: &str) -> bool {
    name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '_'))
}

/// `INT8_MAX`, `UINT64_C`, `SIZE_MAX` and so on.
fn is_stdint_macro(name: &str) -> bool {
    let Some((stem, tail)) = name.rsplit_once('_') else { return false };
    let known = |s: &str| {
        let s = s.strip_prefix('U').unwrap_or(s);
        ["INT", "SIZE", "PTRDIFF", "WCHAR", "WINT", "SIG_ATOMIC", "INTPTR", "INTMAX"].contains(&s)
            || s.strip_prefix("INT").is_some_and(|r| {
                let r = r.strip_prefix("_FAST").or(r.strip_prefix("_LEAST")).unwrap_or(r);
                matches!(r, "8" | "16" | "32" | "64")
            })
    };
    matches!(tail, "MIN" | "MAX" | "C" | "WIDTH") && known(stem)
}

/// `int32_t`, `uint_fast8_t` and so on.
fn is_sized_type(name: &str) -> bool {
    let Some(stem) = name.strip_suffix("_t") else { return false };
    let stem = stem.strip_prefix('u').unwrap_or(stem);
    let Some(rest) = stem.strip_prefix("int") else { return false };
    let rest = rest.strip_prefix("_fast").or(rest.strip_prefix("_least")).unwrap_or(rest);
    matches!(rest, "8" | "16" | "32" | "64")
}

/// The text with all that cannot stand in an identifier replaced.
pub fn sanitize(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let good = c.is_ascii_alphanumeric() || c == '_' || c == '$' || (!c.is_ascii() && c.is_alphanumeric());
        if good {
            out.push(c);
        } else if !out.ends_with('_') {
            out.push('_');
        }
    }
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    out
}

/// Whether the text is an identifier as it stands.
pub fn is_identifier(text: &str) -> bool {
    sanitize(text) == text
}

/// Names that begin like this are not for programs: whatever follows, another prefix is needed.
fn has_reserved_prefix(name: &str) -> bool {
    name.starts_with("lee_") || name.starts_with("LEE_") || name.starts_with("__")
}

/// The names of one C name space.
#[derive(Default, Clone)]
pub struct NameSet {
    taken: FxHashSet<String>,
    /// For each name that was claimed, a number below which all are taken.
    numbers: FxHashMap<String, u32>,
    /// Tags, of which lee/lee.h has two.
    tags: bool,
    /// Identifiers of plain C, where nothing is ours but what begins with `lee__`.
    plain: bool,
}

impl NameSet {
    /// The name space of tags.
    pub fn tags() -> NameSet {
        NameSet { tags: true, ..NameSet::default() }
    }

    /// The name space of identifiers in plain C.
    pub fn plain() -> NameSet {
        NameSet { plain: true, ..NameSet::default() }
    }

    fn reserved(&self, name: &str) -> bool {
        if self.plain {
            !is_free_in_plain(name) || name.starts_with("lee__")
        } else if self.tags {
            is_word(name) || matches!(name, "lee_type" | "lee_site") || name.starts_with("lee__")
        } else {
            is_reserved(name)
        }
    }

    /// Takes the name if it is free, whatever it looks like.
    pub fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_string())
    }

    /// A free name: `base`, else `base__1`, `base__2` and so on.
    pub fn claim(&mut self, base: &str) -> String {
        self.claim_words(base, &[])
    }

    /// A free name such that it is free with each of the suffixes added, too.
    pub fn claim_words(&mut self, base: &str, suffixes: &[&str]) -> String {
        let mut base = sanitize(base);
        let prefixed = match self.tags || self.plain {
            true => base.starts_with("lee__"),
            false => has_reserved_prefix(&base),
        };
        if prefixed || (is_underscore_keyword(&base) && !self.plain) {
            base.insert_str(0, "my_");
        }
        let mut number = self.numbers.get(&base).copied().unwrap_or(0);
        loop {
            let name = if number == 0 { base.clone() } else { format!("{base}__{number}") };
            let free = |n: &str| !self.reserved(n) && !self.taken.contains(n);
            if free(&name) && suffixes.iter().all(|s| !self.taken.contains(&format!("{name}{s}"))) {
                for s in suffixes {
                    self.taken.insert(format!("{name}{s}"));
                }
                self.taken.insert(name.clone());
                if suffixes.is_empty() {
                    self.numbers.insert(base, number + 1);
                }
                return name;
            }
            number += 1;
        }
    }
}

/// C text of a string literal's inside.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &b in bytes {
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            // `??` could begin a trigraph under -std=c11.
            b'?' => out.push_str("\\?"),
            b' '..=b'~' => out.push(b as char),
            // Three octal digits: no digit that follows can become part of them.
            _ => out.push_str(&format!("\\{b:03o}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clashes_get_numbers() {
        let mut names = NameSet::default();
        assert_eq!(names.claim("x"), "x");
        assert_eq!(names.claim("x"), "x__1");
        assert_eq!(names.claim("int"), "int__1");
        assert_eq!(names.claim("uint64_t"), "uint64_t__1");
        assert_eq!(names.claim("INT32_MAX"), "INT32_MAX__1");
        assert_eq!(names.claim("a b"), "a_b");
        assert_eq!(names.claim_words("p", &["__lo", "__hi"]), "p");
        assert_eq!(names.claim("p__lo"), "p__lo__1");
        assert_eq!(names.claim("lee_start"), "my_lee_start");
        assert_eq!(names.claim("__x"), "my___x");
        assert_eq!(names.claim("_Bool"), "my__Bool");
        let mut tags = NameSet::tags();
        assert_eq!(tags.claim("lee_file"), "lee_file");
        assert_eq!(tags.claim("lee_site"), "lee_site__1");
        assert_eq!(tags.claim("lee__any"), "my_lee__any");
    }

    #[test]
    fn builtins_are_known() {
        assert!(is_builtin("index") && is_builtin("y1") && is_builtin("wmemmove"));
        assert!(!is_builtin("counter"));
    }

    #[test]
    fn escapes_cannot_grow() {
        assert_eq!(escape(b"a\"\x01\x32?"), "a\\\"\\0012\\?");
    }
}
