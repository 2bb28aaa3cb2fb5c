//! Builtins of gcc and clang in plain C: their types, so that a call is passed to the C compiler
//! unchanged. One that is not here is an error, and its whole file is left to the C compiler.

use crate::checker::Checker;
use crate::codes;
use crate::convert::Why;
use crate::tree::*;
use crate::types::*;
use rustc_hash::FxHashMap;
use source::{Span, Symbol};
use std::sync::LazyLock;
use syntax::ast;

/// `name=result(parameters)`, names without `__builtin_`. Letters: `v` void, `b` bool, `s` char,
/// `h` short, `H` unsigned short, `i` int, `u` unsigned, `l` long, `z` unsigned long, `L` long
/// long, `Z` unsigned long long, `f` float, `d` double, `e` long double, `q` __float128, `F` `D`
/// `E` complex, `p` void *, `P` const void *, `c` char *, `C` const char *, `w` wchar_t *, `n` int
/// *, `y` double *, `Y` float *, `x` long double *, `a` va_list, `.` anything.
const TABLE: &str = "\
abs=i(i) labs=l(l) llabs=L(L) imaxabs=l(l) clz=i(u) clzl=i(z) clzll=i(Z) ctz=i(u) ctzl=i(z) ctzll=i(Z) popcount=i(u) \
popcountl=i(z) popcountll=i(Z) parity=i(u) parityl=i(z) parityll=i(Z) ffs=i(i) ffsl=i(l) ffsll=i(L) clrsb=i(i) clrsbl=i(l) \
clrsbll=i(L) rotateleft16=H(H,H) rotateleft32=u(u,u) rotateleft64=Z(Z,Z) rotateright16=H(H,H) rotateright32=u(u,u) \
rotateright64=Z(Z,Z) bswap16=H(H) bswap32=u(u) bswap64=z(z) expect=l(l,l) expect_with_probability=l(l,l,d) trap=v() abort=v() exit=v(i) \
prefetch=v(P.) alloca=p(z) alloca_with_align=p(z,z) malloc=p(z) calloc=p(z,z) realloc=p(p,z) free=v(p) aligned_alloc=p(z,z) \
assume_aligned=p(P,z.) object_size=z(P,i) dynamic_object_size=z(P,i) return_address=p(u) frame_address=p(u) \
extract_return_addr=p(p) frob_return_addr=p(p) __clear_cache=v(p,p) \
memcpy=p(p,P,z) memmove=p(p,P,z) mempcpy=p(p,P,z) memset=p(p,i,z) memcmp=i(P,P,z) memchr=p(P,i,z) bcmp=i(P,P,z) \
bcopy=v(P,p,z) bzero=v(p,z) strlen=z(C) strnlen=z(C,z) strcpy=c(c,C) strncpy=c(c,C,z) stpcpy=c(c,C) stpncpy=c(c,C,z) \
strcat=c(c,C) strncat=c(c,C,z) strcmp=i(C,C) strncmp=i(C,C,z) strcasecmp=i(C,C) strncasecmp=i(C,C,z) strchr=c(C,i) \
strrchr=c(C,i) index=c(C,i) rindex=c(C,i) strstr=c(C,C) strpbrk=c(C,C) strspn=z(C,C) strcspn=z(C,C) strdup=c(C) strndup=c(C,z) \
printf=i(C.) fprintf=i(pC.) sprintf=i(cC.) snprintf=i(c,z,C.) vprintf=i(C,a) vfprintf=i(p,C,a) vsprintf=i(c,C,a) \
vsnprintf=i(c,z,C,a) scanf=i(C.) sscanf=i(C,C.) puts=i(C) putchar=i(i) fputs=i(C,p) fputc=i(i,p) fwrite=z(P,z,z,p) \
printf_unlocked=i(C.) puts_unlocked=i(C) putchar_unlocked=i(i) \
isalnum=i(i) isalpha=i(i) isblank=i(i) iscntrl=i(i) isdigit=i(i) isgraph=i(i) islower=i(i) isprint=i(i) ispunct=i(i) \
isspace=i(i) isupper=i(i) isxdigit=i(i) isascii=i(i) toascii=i(i) tolower=i(i) toupper=i(i) \
__memcpy_chk=p(p,P,z,z) __memmove_chk=p(p,P,z,z) __mempcpy_chk=p(p,P,z,z) __memset_chk=p(p,i,z,z) __strcpy_chk=c(c,C,z) \
__strncpy_chk=c(c,C,z,z) __stpcpy_chk=c(c,C,z) __stpncpy_chk=c(c,C,z,z) __strcat_chk=c(c,C,z) __strncat_chk=c(c,C,z,z) \
__sprintf_chk=i(c,i,z,C.) __snprintf_chk=i(c,z,i,z,C.) __vsprintf_chk=i(c,i,z,C,a) __vsnprintf_chk=i(c,z,i,z,C,a) \
__printf_chk=i(i,C.) __fprintf_chk=i(p,i,C.) __vprintf_chk=i(i,C,a) __vfprintf_chk=i(p,i,C,a) \
huge_val=d() huge_valf=f() huge_vall=e() huge_valf128=q() inf=d() inff=f() infl=e() inff128=q() nans=d(C) nansf=f(C) nansl=e(C) \
isnan=i(.) isinf=i(.) isinf_sign=i(.) isfinite=i(.) isnormal=i(.) signbit=i(.) signbitf=i(f) signbitl=i(e) isgreater=i(.) \
isless=i(.) isgreaterequal=i(.) islessequal=i(.) islessgreater=i(.) isunordered=i(.) fpclassify=i(.) finite=i(d) finitef=i(f) \
finitel=i(e) isnanf=i(f) isnanl=i(e) isinff=i(f) isinfl=i(e) issignaling=i(.) iseqsig=i(.) \
flt_rounds=i() classify_type=i(.) has_attribute=i(.) cpu_init=i() cpu_supports=i(C) cpu_is=i(C) \
cabs=d(D) cabsf=f(F) cabsl=e(E) carg=d(D) cargf=f(F) cargl=e(E) conj=D(D) conjf=F(F) conjl=E(E) cproj=D(D) cprojf=F(F) \
creal=d(D) crealf=f(F) creall=e(E) cimag=d(D) cimagf=f(F) cimagl=e(E) cexp=D(D) clog=D(D) csqrt=D(D) csqrtf=F(F) cpow=D(D,D) \
fabsf128=q(q) copysignf128=q(q,q) \
ldexp=d(d,i) ldexpf=f(f,i) ldexpl=e(e,i) scalbn=d(d,i) scalbnf=f(f,i) scalbnl=e(e,i) scalbln=d(d,l) scalblnf=f(f,l) \
scalblnl=e(e,l) frexp=d(d,n) frexpf=f(f,n) frexpl=e(e,n) modf=d(d,y) modff=f(f,Y) modfl=e(e,x) remquo=d(d,d,n) \
remquof=f(f,f,n) remquol=e(e,e,n) ilogb=i(d) ilogbf=i(f) ilogbl=i(e) powi=d(d,i) powif=f(f,i) powil=e(e,i) sincos=v(d,y,y) \
sincosf=v(f,Y,Y) lrint=l(d) lrintf=l(f) lrintl=l(e) llrint=L(d) llrintf=L(f) llrintl=L(e) lround=l(d) lroundf=l(f) \
lroundl=l(e) llround=L(d) llroundf=L(f) llroundl=L(e) jn=d(i,d) yn=d(i,d) fma=d(d,d,d) fmaf=f(f,f,f) fmal=e(e,e,e) \
nexttoward=d(d,e) nexttowardf=f(f,e) \
sadd_overflow=b(i,i.) saddl_overflow=b(l,l.) saddll_overflow=b(L,L.) uadd_overflow=b(u,u.) uaddl_overflow=b(z,z.) \
uaddll_overflow=b(Z,Z.) ssub_overflow=b(i,i.) ssubl_overflow=b(l,l.) ssubll_overflow=b(L,L.) usub_overflow=b(u,u.) \
usubl_overflow=b(z,z.) usubll_overflow=b(Z,Z.) smul_overflow=b(i,i.) smull_overflow=b(l,l.) smulll_overflow=b(L,L.) \
umul_overflow=b(u,u.) umull_overflow=b(z,z.) umulll_overflow=b(Z,Z.) \
ia32_pause=v() ia32_rdtsc=Z() ia32_sfence=v() ia32_lfence=v() ia32_mfence=v()";

/// Functions of one or two floating numbers that also come with `f` and `l` after their names.
const MATH: &str = "acos=1 acosh=1 asin=1 asinh=1 atan=1 atanh=1 cbrt=1 ceil=1 cos=1 cosh=1 erf=1 erfc=1 exp=1 exp10=1 exp2=1 \
expm1=1 fabs=1 floor=1 gamma=1 j0=1 j1=1 lgamma=1 log=1 log10=1 log1p=1 log2=1 logb=1 nearbyint=1 pow10=1 rint=1 round=1 \
roundeven=1 significand=1 sin=1 sinh=1 sqrt=1 tan=1 tanh=1 tgamma=1 trunc=1 y0=1 y1=1 atan2=2 copysign=2 drem=2 fdim=2 fmax=2 \
fmin=2 fmod=2 hypot=2 nextafter=2 pow=2 remainder=2 scalb=2";

/// Result and parameters as letters; the last parameter may be `.`.
type Signature = (char, String);

fn signature(name: &str) -> Option<&'static Signature> {
    static MAP: LazyLock<FxHashMap<String, Signature>> = LazyLock::new(|| {
        let mut map = FxHashMap::default();
        for entry in TABLE.split_whitespace() {
            let Some((name, rest)) = entry.split_once('=') else { continue };
            let letters = rest.get(1..).unwrap_or("").trim_matches(['(', ')']).replace(',', "");
            map.insert(name.to_string(), (rest.chars().next().unwrap_or('v'), letters));
        }
        for entry in MATH.split_whitespace() {
            let Some((name, count)) = entry.split_once('=') else { continue };
            for (suffix, letter) in [("", "d"), ("f", "f"), ("l", "e")] {
                let letters = letter.repeat(if count == "2" { 2 } else { 1 });
                let result = letter.chars().next().unwrap_or('d');
                map.insert(format!("{name}{suffix}"), (result, letters));
            }
        }
        map
    });
    MAP.get(name)
}

impl Checker<'_> {
    /// The type that a letter of the table stands for.
    fn lettered(&mut self, letter: char) -> Ty {
        let c = self.program.types.common;
        match letter {
            'b' => c.bool_,
            's' => c.char_,
            'h' => c.short,
            'H' => c.ushort,
            'i' => c.int,
            'u' => c.uint,
            'l' => c.long,
            'z' => c.ulong,
            'L' => c.longlong,
            'Z' => c.ulonglong,
            'f' => c.float,
            'd' => c.double,
            'e' => c.long_double,
            'q' => self.float_ty(FloatKind::Float128),
            'F' => self.types().intern(TyKind::Complex(FloatKind::Float)),
            'D' => self.types().intern(TyKind::Complex(FloatKind::Double)),
            'E' => self.types().intern(TyKind::Complex(FloatKind::LongDouble)),
            'a' => c.va_list,
            'p' => self.c_pointer(Qty::plain(c.void)),
            'P' => self.c_pointer(Qty::plain(c.void).with_const()),
            'c' => self.c_pointer(Qty::plain(c.char_)),
            'C' => self.c_pointer(Qty::plain(c.char_).with_const()),
            'w' | 'n' => self.c_pointer(Qty::plain(c.int)),
            'y' => self.c_pointer(Qty::plain(c.double)),
            'Y' => self.c_pointer(Qty::plain(c.float)),
            'x' => self.c_pointer(Qty::plain(c.long_double)),
            _ => c.void,
        }
    }

    /// A pointer as C has them.
    pub(crate) fn c_pointer(&mut self, target: Qty) -> Ty {
        let raw = matches!(self.kind(target.ty), TyKind::Void);
        let bounds = Bounds::Thin;
        self.types().pointer(Pointer { target, bounds, nonnull: false, own: Own::Shared, region: Region::Heap, raw })
    }

    /// A call of a builtin in plain C.
    pub(crate) fn c_builtin(&mut self, name: Symbol, args: &[ast::Expr], span: Span) -> Expr {
        let text = name.as_str();
        if text.starts_with("__sync_") || text.starts_with("__atomic_") || text.starts_with("__c11_atomic_") {
            return self.atomic_builtin(name, args, span);
        }
        let base = text.strip_prefix("__builtin_").unwrap_or(text);
        let c = self.program.types.common;
        match base {
            "constant_p" => return self.constant_p(name, args, span),
            "shuffle" | "shufflevector" => {
                if let Some(vector) = self.shuffle(name, args, span) {
                    return vector;
                }
            }
            "inf" | "huge_val" => return self.float_constant("(__builtin_inf())", c.double, span),
            "inff" | "huge_valf" => return self.float_constant("(__builtin_inff())", c.float, span),
            "infl" | "huge_vall" => return self.float_constant("(__builtin_infl())", c.long_double, span),
            "add_overflow" | "sub_overflow" | "mul_overflow" => return self.c_overflow(name, args, span),
            "add_overflow_p" | "sub_overflow_p" | "mul_overflow_p" => {
                let values = args.iter().map(|a| self.value(a)).collect();
                return self.node(ExprKind::Builtin(name, values), c.bool_, span);
            }
            "complex" => return self.make_complex(name, args, span),
            "LINE" => {
                let line = self.map.locate(span).line;
                return self.int_node(i128::from(line), c.int, span);
            }
            "FILE" | "FUNCTION" => {
                let text = match base {
                    "FILE" => self.map.locate(span).file.to_string(),
                    _ => self.f.as_ref().and_then(|f| f.result_name).map_or(String::new(), |n| n.to_string()),
                };
                let units = text.bytes().map(u32::from).collect();
                return self.string_literal(&ast::StrLit { encoding: ast::Encoding::None, units }, span);
            }
            _ => {}
        }
        let Some((result, letters)) = signature(base) else {
            self.error(codes::UNSAFE, span, format!("the builtin `{name}` is not known"));
            return self.error_node(span);
        };
        let open = letters.ends_with('.');
        let fixed: Vec<char> = letters.chars().filter(|&l| l != '.').collect();
        if args.len() < fixed.len() || (args.len() > fixed.len() && !open) {
            self.error(codes::ARGUMENTS, span, format!("`{name}` takes {} arguments", fixed.len()));
            return self.error_node(span);
        }
        let mut values = vec![];
        for (n, arg) in args.iter().enumerate() {
            let value = self.value(arg);
            values.push(match fixed.get(n) {
                Some('a') => value,
                Some(&letter) => {
                    let ty = self.lettered(letter);
                    self.coerce(value, ty, Why::Arg)
                }
                // Those on numbers of any kind must see a float as what it is; the others promote
                // it themselves.
                None => value,
            });
        }
        let ty = self.lettered(*result);
        self.node(ExprKind::Builtin(name, values), ty, span)
    }

    fn float_constant(&mut self, text: &str, ty: Ty, span: Span) -> Expr {
        self.node(ExprKind::Float(Symbol::new(text)), ty, span)
    }

    /// `__builtin_constant_p(e)`: what the C compiler finds out, unless it is plain already. `e` is
    /// not evaluated.
    fn constant_p(&mut self, name: Symbol, args: &[ast::Expr], span: Span) -> Expr {
        let int = self.program.types.common.int;
        let Some(arg) = args.first() else { return self.int_node(0, int, span) };
        if self.try_constant_int(arg).is_some() || matches!(arg.kind, ast::ExprKind::Str(_) | ast::ExprKind::Float(_)) {
            return self.int_node(1, int, span);
        }
        let value = self.value(arg);
        let scalar = self.is_arithmetic(value.ty.ty) || self.program.types.as_pointer(value.ty.ty).is_some();
        // A function's body may be inlined where the argument is constant.
        if self.f.is_none() || !scalar || !is_harmless(&value) {
            return self.int_node(0, int, span);
        }
        self.node(ExprKind::Builtin(name, vec![value]), int, span)
    }

    fn c_overflow(&mut self, name: Symbol, args: &[ast::Expr], span: Span) -> Expr {
        let bool_ = self.program.types.common.bool_;
        let values: Vec<Expr> = args.iter().map(|a| self.value(a)).collect();
        if values.len() != 3 {
            self.error(codes::ARGUMENTS, span, format!("`{name}` takes two integers and the address of a third"));
            return self.error_node(span);
        }
        self.node(ExprKind::Builtin(name, values), bool_, span)
    }

    fn make_complex(&mut self, name: Symbol, args: &[ast::Expr], span: Span) -> Expr {
        let values: Vec<Expr> = args.iter().map(|a| self.value(a)).collect();
        let Some(TyKind::Float(kind)) = values.first().map(|v| self.kind(v.ty.ty).clone()) else {
            self.error(codes::OPERANDS, span, format!("`{name}` takes two floating numbers"));
            return self.error_node(span);
        };
        let ty = self.types().intern(TyKind::Complex(kind.standard()));
        self.node(ExprKind::Builtin(name, values), ty, span)
    }

    /// `__sync_...` and `__atomic_...`: most give what the first argument points to.
    fn atomic_builtin(&mut self, name: Symbol, args: &[ast::Expr], span: Span) -> Expr {
        let c = self.program.types.common;
        let text = name.as_str();
        let mut values: Vec<Expr> = args.iter().map(|a| self.value(a)).collect();
        let target = values.first().and_then(|v| self.program.types.as_pointer(v.ty.ty)).map(|p| p.target.ty);
        let clang = text.starts_with("__c11_");
        let base =
            text.trim_start_matches("__sync_").trim_start_matches("__c11_atomic_").trim_start_matches("__atomic_");
        let base = match base {
            "load" | "store" | "exchange" if clang => Symbol::new(&format!("{base}_n")).as_str(),
            "compare_exchange_strong" | "compare_exchange_weak" => "compare_exchange_n",
            "init" => "store_n",
            other => other,
        };
        let result = match base {
            "synchronize" | "thread_fence" | "signal_fence" | "store_n" | "store" | "load" | "exchange" | "clear"
            | "lock_release" => c.void,
            "test_and_set"
            | "compare_exchange_n"
            | "compare_exchange"
            | "bool_compare_and_swap"
            | "is_lock_free"
            | "always_lock_free" => c.bool_,
            _ => {
                let known = ["fetch_", "load_n", "exchange_n", "val_compare_and_swap", "lock_test_and_set"];
                let computes = ["add_fetch", "sub_fetch", "and_fetch", "or_fetch", "xor_fetch", "nand_fetch"];
                let also = [
                    "add_and_fetch",
                    "sub_and_fetch",
                    "and_and_fetch",
                    "or_and_fetch",
                    "xor_and_fetch",
                    "nand_and_fetch",
                ];
                let usable =
                    known.iter().any(|k| base.starts_with(k)) || computes.contains(&base) || also.contains(&base);
                match target.filter(|_| usable) {
                    Some(ty) => self.value_type(ty),
                    None => {
                        self.error(codes::UNSAFE, span, format!("the builtin `{name}` is not known"));
                        return self.error_node(span);
                    }
                }
            }
        };
        // The value goes to the object's own type.
        let takes_value =
            !matches!(base, "load" | "store" | "exchange" | "compare_exchange" | "load_n" | "test_and_set");
        let values_at: &[usize] = match base {
            "compare_exchange_n" => &[2],
            "bool_compare_and_swap" | "val_compare_and_swap" => &[1, 2],
            _ => &[1],
        };
        if let Some(ty) = target.filter(|&ty| takes_value && self.program.types.is_complete(ty)) {
            let ty = self.value_type(ty);
            for &at in values_at {
                if let Some(value) = values.get(at).cloned() {
                    if let Some(slot) = values.get_mut(at) {
                        *slot = self.coerce(value, ty, Why::Arg);
                    }
                }
            }
        }
        self.node(ExprKind::Builtin(name, values), result, span)
    }
}

/// Whether evaluating the expression does nothing, not even trap.
fn is_harmless(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Null | ExprKind::Func(_) | ExprKind::SizeOf(_) => true,
        ExprKind::Load(place) => !place.ty.quals.is_volatile && is_harmless(place),
        ExprKind::Local(_) | ExprKind::Global(_) | ExprKind::StrLit(_) => true,
        ExprKind::Field(base, _) | ExprKind::Decay(base) | ExprKind::AddrOf(base) => is_harmless(base),
        ExprKind::Unary(_, a) | ExprKind::Convert(_, a) => is_harmless(a),
        ExprKind::Binary(op, a, b) => !matches!(op, BinOp::Div | BinOp::Rem) && is_harmless(a) && is_harmless(b),
        ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::PtrAdd(a, b, _) => is_harmless(a) && is_harmless(b),
        _ => false,
    }
}
