//! Small C helpers that emitted code uses and that do not concern the runtime. Each is written
//! only if it is used.

/// A helper: its name and text.
pub struct Helper {
    /// The C name.
    pub name: &'static str,
    /// Its definition.
    pub text: &'static str,
}

/// Whether a pointer is not at an element within its bounds. Bounds and pointer are whole elements
/// apart, so this is the whole check of an access to one element; null has no elements.
pub const OUTSIDE: Helper = Helper {
    name: "LEE__OUTSIDE",
    text: "#define LEE__OUTSIDE(p, lo, hi) \\\n    LEE_UNLIKELY((uintptr_t)(p) - (uintptr_t)(lo) >= (uintptr_t)(hi) - (uintptr_t)(lo))\n",
};

/// Whether a pointer is neither at an element nor at the end.
pub const BEYOND: Helper = Helper {
    name: "LEE__BEYOND",
    text: "#define LEE__BEYOND(p, lo, hi) \\\n    LEE_UNLIKELY((uintptr_t)(p) - (uintptr_t)(lo) > (uintptr_t)(hi) - (uintptr_t)(lo))\n",
};

/// Whole elements from a pointer to its end.
pub const LEFT: Helper = Helper {
    name: "lee__left",
    text: "LEE_INLINE size_t lee__left(const void *p, const void *lo, const void *hi, size_t size) {
    size_t have = (uintptr_t)hi - (uintptr_t)lo, at = (uintptr_t)p - (uintptr_t)lo;
    return at <= have && size != 0 ? (have - at) / size : 0;
}
",
};

/// Copies elements to a new block that has room for `count` of them, but only as many as are left
/// from a pointer to its end.
pub const COPY_LEFT: Helper = Helper {
    name: "lee__copy_left",
    text: "LEE_INLINE void lee__copy_left(void *to, const void *p, const void *lo, const void *hi, size_t count, size_t size) {
    size_t have = (uintptr_t)hi - (uintptr_t)lo, at = (uintptr_t)p - (uintptr_t)lo, bytes = count * size;
    size_t left = at <= have ? have - at : 0;
    if (p != NULL) __builtin_memcpy(to, p, left < bytes ? left : bytes);
}
",
};

/// Pointer arithmetic on elements whose size is not a power of two: where the offset from the first
/// element would wrap, and so no longer be a multiple of the size, the result is one element before
/// the first.
pub const OFFSET: Helper = Helper {
    name: "lee__offset",
    text: "LEE_INLINE void *lee__offset(const void *p, const void *lo, int64_t count, size_t size) {
    int64_t at = (int64_t)((uintptr_t)p - (uintptr_t)lo), step;
    if (LEE_UNLIKELY(__builtin_mul_overflow(count, (int64_t)size, &step) || __builtin_add_overflow(at, step, &at)))
        at = -(int64_t)size;
    return (void *)((uintptr_t)lo + (uintptr_t)at);
}
",
};

/// The fault of an access to an element, counted from the first one.
pub const FAULT_ELEMENT: Helper = Helper {
    name: "lee__fault_element",
    text: "__attribute__((cold, noreturn, noinline, unused)) static void lee__fault_element(
    const struct lee_site *site, int64_t index, const void *lo, const void *hi, size_t size) {
    if (lo == NULL)
        lee_fault_pointer(site, lo, lo, hi, size);
    lee_fault_index(site, index, ((uintptr_t)hi - (uintptr_t)lo) / size);
}
",
};

/// The whole test of an element whose index the short one did not pass. Not inline, so that loops
/// keep nothing ready for it.
pub const FAR: Helper = Helper {
    name: "lee__far",
    text: "#ifdef __clang__
__attribute__((preserve_most))
#endif
__attribute__((cold, noinline, unused)) static void lee__far(
    const struct lee_site *site, int64_t index, const void *p, const void *lo, const void *hi, size_t size) {
    int64_t have = (int64_t)(((uintptr_t)hi - (uintptr_t)lo) / size);
    index += (int64_t)((uintptr_t)p - (uintptr_t)lo) / (int64_t)size;
    if ((uint64_t)index >= (uint64_t)have)
        lee__fault_element(site, index, lo, hi, size);
}
",
};

/// The fault of an access to an element of a pointer with a count.
pub const FAULT_COUNTED: Helper = Helper {
    name: "lee__fault_counted",
    text: "__attribute__((cold, noreturn, noinline, unused)) static void lee__fault_counted(
    const struct lee_site *site, int64_t index, int64_t count, const void *base) {
    if (base == NULL)
        lee_fault_pointer(site, base, base, base, 1);
    lee_fault_index(site, index, count < 0 ? 0 : (uint64_t)count);
}
",
};

/// `strlen` for wide characters of 2 and 4 bytes.
pub const WIDE_LENGTH: Helper = Helper {
    name: "lee__wide_length",
    text: "LEE_INLINE size_t lee__wide_length(const void *s, size_t size) {
    size_t n = 0;
    if (s == NULL)
        return 0;
    if (size == 2)
        for (; ((const uint16_t *)s)[n] != 0;)
            n++;
    else
        for (; ((const uint32_t *)s)[n] != 0;)
            n++;
    return n;
}
",
};

/// `lee_check_string` for wide characters of 2 and 4 bytes.
pub const WIDE_CHECK: Helper = Helper {
    name: "lee__wide_check",
    text: "LEE_INLINE void lee__wide_check(const struct lee_site *site, const void *p, const void *lo, const void *hi, size_t size) {
    size_t have = (uintptr_t)hi - (uintptr_t)lo, at = (uintptr_t)p - (uintptr_t)lo;
    if (p == NULL)
        return;
    for (size_t n = 0; at <= have && n < (have - at) / size; n++)
        if (size == 2 ? ((const uint16_t *)p)[n] == 0 : ((const uint32_t *)p)[n] == 0)
            return;
    lee_fault_string(site);
}
",
};

/// Arithmetic of counts.
pub const COUNT: Helper = Helper {
    name: "lee__count_add",
    text: "LEE_INLINE int64_t lee__count_add(const struct lee_site *site, int64_t a, int64_t b) {
    int64_t sum;
    if (LEE_UNLIKELY(__builtin_add_overflow(a, b, &sum)))
        lee_fault_count_value(site, a, '+', b);
    return sum;
}
LEE_INLINE int64_t lee__count_sub(const struct lee_site *site, int64_t a, int64_t b) {
    int64_t difference;
    if (LEE_UNLIKELY(__builtin_sub_overflow(a, b, &difference)))
        lee_fault_count_value(site, a, '-', b);
    return difference;
}
LEE_INLINE int64_t lee__count_mul(const struct lee_site *site, int64_t a, int64_t b) {
    int64_t product;
    if (LEE_UNLIKELY(__builtin_mul_overflow(a, b, &product)))
        lee_fault_count_value(site, a, '*', b);
    return product;
}
LEE_INLINE int64_t lee__count_div(const struct lee_site *site, int64_t a, int64_t b) {
    if (LEE_UNLIKELY(b == 0 || (b == -1 && a == INT64_MIN)))
        lee_fault_count_value(site, a, '/', b);
    return a / b;
}
",
};

/// What is emitted before plain C instead of lee/lee.h: the few words that emission itself uses.
/// Only machines with 64-bit `long` and pointers are compiled for.
pub const PLAIN: &str = "#define NULL ((void *)0)
typedef unsigned long size_t, uintptr_t;
typedef long ptrdiff_t, intptr_t;
";

/// How a program of several processes reaches its variables.
pub const DELTA: &str = include_str!("../../../runtime/include/lee/delta.h");

/// Warnings about what programs may well do, and what machine-made code looks like.
pub const PRAGMAS: &str = "#pragma GCC diagnostic ignored \"-Wpragmas\"
#pragma GCC diagnostic ignored \"-Wmain\"
#pragma GCC diagnostic ignored \"-Wtype-limits\"
#pragma GCC diagnostic ignored \"-Waddress\"
#pragma GCC diagnostic ignored \"-Wformat\"
#pragma GCC diagnostic ignored \"-Wcast-function-type\"
#pragma GCC diagnostic ignored \"-Wmissing-field-initializers\"
#pragma GCC diagnostic ignored \"-Wint-in-bool-context\"
#pragma GCC diagnostic ignored \"-Wsign-compare\"
#ifdef __clang__
#pragma GCC diagnostic ignored \"-Wtautological-compare\"
#pragma GCC diagnostic ignored \"-Wself-assign\"
#pragma GCC diagnostic ignored \"-Wincompatible-library-redeclaration\"
#pragma GCC diagnostic ignored \"-Winfinite-recursion\"
#else
#pragma GCC diagnostic ignored \"-Wbuiltin-declaration-mismatch\"
#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\"
#pragma GCC diagnostic ignored \"-Wdangling-pointer\"
#pragma GCC diagnostic ignored \"-Wdiv-by-zero\"
#pragma GCC diagnostic ignored \"-Warray-bounds\"
#pragma GCC diagnostic ignored \"-Wstringop-overflow\"
#pragma GCC diagnostic ignored \"-Wstringop-overread\"
#pragma GCC diagnostic ignored \"-Wnonnull\"
#pragma GCC diagnostic ignored \"-Winfinite-recursion\"
#endif
";
