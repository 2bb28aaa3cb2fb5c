//! What the builtins of gcc and clang return that plain C calls by name: those that no header
//! declares.

use crate::checker::Checker;
use crate::tree::Expr;
use crate::types::*;

/// The name of a builtin without the beginning that all of its kind have, and the kind.
fn parts(name: &str) -> (&'static str, &str) {
    for kind in ["__atomic_", "__sync_", "__builtin_"] {
        if let Some(rest) = name.strip_prefix(kind) {
            return (kind, rest);
        }
    }
    ("", name)
}

impl Checker<'_> {
    /// The type of a call of builtin `name` with these arguments.
    pub(crate) fn builtin_result(&mut self, name: &str, args: &[Expr]) -> Ty {
        let c = self.program.types.common;
        let target = args.first().and_then(|a| self.program.types.as_pointer(a.ty.ty)).map_or(c.int, |p| p.target.ty);
        match parts(name) {
            ("__atomic_", "store_n" | "store" | "load" | "exchange" | "clear" | "thread_fence" | "signal_fence")
            | ("__sync_", "synchronize" | "lock_release") => c.void,
            (
                "__atomic_",
                "compare_exchange_n" | "compare_exchange" | "test_and_set" | "always_lock_free" | "is_lock_free",
            )
            | ("__sync_", "bool_compare_and_swap") => c.bool_,
            ("__atomic_" | "__sync_", _) => target,
            (_, rest) => self.library_result(rest, args),
        }
    }

    fn library_result(&mut self, name: &str, args: &[Expr]) -> Ty {
        let c = self.program.types.common;
        let first = args.first().map_or(c.int, |a| a.ty.ty);
        // `_chk` forms return what the functions do that they check.
        let name = name.strip_prefix("__").and_then(|n| n.strip_suffix("_chk")).unwrap_or(name);
        match name {
            "alloca"
            | "alloca_with_align"
            | "alloca_with_align_and_max"
            | "frame_address"
            | "return_address"
            | "extract_return_addr"
            | "frob_return_addr"
            | "assume_aligned"
            | "apply_args"
            | "memcpy"
            | "memmove"
            | "memset"
            | "mempcpy"
            | "memchr"
            | "malloc"
            | "calloc"
            | "realloc"
            | "aligned_alloc"
            | "thread_pointer" => {
                let void = self.raw_void(c.void);
                self.without_const(void)
            }
            "strcpy" | "strncpy" | "strcat" | "strncat" | "stpcpy" | "stpncpy" | "strchr" | "strrchr" | "strstr"
            | "strpbrk" | "strdup" | "strndup" | "index" | "rindex" => {
                self.types().pointer_to(Qty::plain(c.char_), Bounds::Thin)
            }
            "strlen" | "strnlen" | "strspn" | "strcspn" | "object_size" | "dynamic_object_size" => c.ulong,
            "prefetch" | "free" | "exit" | "abort" | "trap" | "cpu_init" | "bzero" | "longjmp" | "ia32_pause"
            | "ia32_mfence" | "ia32_lfence" | "ia32_sfence" | "unwind_init" | "__clear_cache" | "clear_padding"
            | "init_trampoline" | "stack_restore" | "assume" | "ia32_emms" => c.void,
            "bswap128" => self.types().int(IntKind::UInt128),
            "bitreverse8" | "rotateleft8" | "rotateright8" => c.uchar,
            "bitreverse16" | "rotateleft16" | "rotateright16" => c.ushort,
            "bitreverse32" | "rotateleft32" | "rotateright32" => c.uint,
            "bitreverse64" | "rotateleft64" | "rotateright64" | "ia32_rdtsc" => c.ulonglong,
            "labs" => c.long,
            "llabs" => c.longlong,
            "sadd_overflow" | "saddl_overflow" | "saddll_overflow" | "uadd_overflow" | "uaddl_overflow"
            | "uaddll_overflow" | "ssub_overflow" | "ssubl_overflow" | "ssubll_overflow" | "usub_overflow"
            | "usubl_overflow" | "usubll_overflow" | "smul_overflow" | "smull_overflow" | "smulll_overflow"
            | "umul_overflow" | "umull_overflow" | "umulll_overflow" | "add_overflow_p" | "sub_overflow_p"
            | "mul_overflow_p" => c.bool_,
            "complex" => match *self.kind(first) {
                TyKind::Float(kind) => self.types().intern(TyKind::Complex(kind.standard())),
                _ => first,
            },
            _ => self.math_result(name),
        }
    }

    /// C's functions of numbers: `sin`, `sinf`, `sinl`.
    fn math_result(&mut self, name: &str) -> Ty {
        const REAL: &[&str] = &[
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atan2",
            "atanh",
            "cbrt",
            "ceil",
            "copysign",
            "cos",
            "cosh",
            "erf",
            "erfc",
            "exp",
            "exp10",
            "exp2",
            "expm1",
            "fabs",
            "fdim",
            "floor",
            "fma",
            "fmax",
            "fmin",
            "fmod",
            "frexp",
            "gamma",
            "huge_val",
            "hypot",
            "inf",
            "ldexp",
            "lgamma",
            "log",
            "log10",
            "log1p",
            "log2",
            "logb",
            "modf",
            "nan",
            "nans",
            "nearbyint",
            "nextafter",
            "nexttoward",
            "pow",
            "powi",
            "remainder",
            "remquo",
            "rint",
            "round",
            "roundeven",
            "scalb",
            "scalbln",
            "scalbn",
            "significand",
            "sin",
            "sinh",
            "sqrt",
            "tan",
            "tanh",
            "tgamma",
            "trunc",
            "creal",
            "cimag",
            "cabs",
            "carg",
        ];
        let c = self.program.types.common;
        if REAL.contains(&name) {
            return c.double;
        }
        let base = |suffix: &str| name.strip_suffix(suffix).is_some_and(|n| REAL.contains(&n));
        if base("f128") {
            return self.float_ty(FloatKind::Float128);
        }
        match () {
            () if base("f") => c.float,
            () if base("l") => c.long_double,
            () if base("f32") => self.float_ty(FloatKind::Float32),
            () if base("f32x") => self.float_ty(FloatKind::Float32x),
            () if base("f64") => self.float_ty(FloatKind::Float64),
            () if base("f64x") => self.float_ty(FloatKind::Float64x),
            () => match name {
                "lrint" | "lround" | "lrintf" | "lroundf" | "lrintl" | "lroundl" => c.long,
                "llrint" | "llround" | "llrintf" | "llroundf" | "llrintl" | "llroundl" => c.longlong,
                _ => c.int,
            },
        }
    }

    /// The pointer type with a target that may be written.
    fn without_const(&mut self, ty: Ty) -> Ty {
        match self.program.types.as_pointer(ty) {
            Some(p) => self.types().pointer(Pointer { target: Qty::plain(p.target.ty), region: Region::Heap, ..p }),
            None => ty,
        }
    }
}
