/* What emitted C includes: the layouts and checks that compiled code and the runtime agree on.
 *
 * Promises: no header of libc beyond <stddef.h> and <stdint.h> (none of which libc provides), so it
 * costs a compiler next to nothing; compiles as C11 and later with gcc 10 and clang 14.
 * docs/internals/abi.md says what the values look like; this file and crates/emit_c follow it.
 *
 * The inline checks are one comparison on the good path. They are `artificial`: a debugger steps
 * over them and shows the line that they stand in. They compare addresses as numbers, because the
 * pointers that they look at may be out of bounds, which C does not let one compare. */
#ifndef LEE_LEE_H
#define LEE_LEE_H

#include <stddef.h>
#include <stdint.h>

#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/layout.h>
#include <lee/sanitize.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEE_INLINE static inline __attribute__((always_inline, artificial, unused))
#define LEE_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define LEE_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

struct lee_owned;

/* What a `void *` remembers of the object it was made from. Weak constants: one type may have
 * several, so they are compared by address first, then by digest. */
struct lee_type {
    uint64_t digest;  /* of the full type with every qualifier: equal digests, equal types */
    size_t size;      /* bytes, 0 for functions */
    const char *name; /* as the programmer wrote it, for messages */
    const struct lee_owned *owned; /* how a unique object of it ends (lee/owned.h); null if it owns nothing */
};

/* `index`, after it was found to be one of `length` elements. */
LEE_INLINE int64_t lee_check_index(const struct lee_site *site, int64_t index, uint64_t length) {
    if (LEE_UNLIKELY((uint64_t)index >= length))
        lee_fault_index(site, index, length);
    return index;
}

/* The same for an index of an unsigned 64-bit type, of which the upper half must not look negative. */
LEE_INLINE uint64_t lee_check_index_unsigned(const struct lee_site *site, uint64_t index, uint64_t length) {
    if (LEE_UNLIKELY(index >= length))
        lee_fault_index(site, index > INT64_MAX ? INT64_MAX : (int64_t)index, length);
    return index;
}

/* An access to `bytes` bytes at `p`, a pointer with the bounds `lo` and `hi` whose elements have
 * `size` bytes. */
LEE_INLINE void lee_check_pointer(const struct lee_site *site, const void *p, const void *lo, const void *hi, size_t bytes,
                                  size_t size) {
    size_t have = (size_t)((uintptr_t)hi - (uintptr_t)lo);
    size_t at = (size_t)((uintptr_t)p - (uintptr_t)lo);
    if (LEE_UNLIKELY(have < bytes || at > have - bytes))
        lee_fault_pointer(site, p, lo, hi, size);
}

/* `p`, after it was found not to be null. */
LEE_INLINE void *lee_check_null(const struct lee_site *site, const void *p) {
    if (LEE_UNLIKELY(p == NULL))
        lee_fault_null(site);
    return (void *)(uintptr_t)p;
}

/* A count that may only shrink, or that says how many elements a pointer must have. A negative one
 * counts as 0. */
LEE_INLINE void lee_check_count(const struct lee_site *site, int64_t want, int64_t have) {
    if (LEE_UNLIKELY(want > have && want > 0))
        lee_fault_count(site, want, have);
}

/* `want` elements of `size` bytes from `p` on, which has the bounds `lo` and `hi`. A `want` that is
 * not positive asks for nothing. */
LEE_INLINE void lee_check_range(const struct lee_site *site, int64_t want, const void *p, const void *lo, const void *hi,
                                size_t size) {
    size_t have = (size_t)((uintptr_t)hi - (uintptr_t)lo);
    size_t at = (size_t)((uintptr_t)p - (uintptr_t)lo);
    size_t left = at <= have ? (have - at) / (size ? size : 1) : 0;
    if (LEE_UNLIKELY(want > 0 && (uint64_t)want > left))
        lee_fault_range(site, (uint64_t)want, left);
}

/* `bytes` bytes at `p` seen as elements of `size` bytes that are aligned to `align` (a power of two). */
LEE_INLINE void lee_check_cast(const struct lee_site *site, const void *p, size_t bytes, size_t size, size_t align) {
    if (LEE_UNLIKELY(bytes % size != 0 || ((uintptr_t)p & (align - 1)) != 0))
        lee_fault_cast(site, p, bytes, size, align);
}

/* A `void *` that remembers `have` used as a pointer to `want`. Null has no type to remember and stays null. */
LEE_INLINE void *lee_check_type(const struct lee_site *site, const void *p, const struct lee_type *have,
                                const struct lee_type *want) {
    if (LEE_UNLIKELY(p != NULL && have != want && (have == NULL || have->digest != want->digest)))
        lee_fault_type(site, want, have);
    return (void *)(uintptr_t)p;
}

/* The characters before the terminator; 0 for null. `s + lee_strlen(s)` is the upper bound of a
 * string that is made `fat`. */
LEE_INLINE size_t lee_strlen(const char *s) {
    return s == NULL ? 0 : __builtin_strlen(s);
}

/* A pointer with bounds used as a null_terminated one: there must be a zero from `p` on, before
 * `hi`. Null stays null. A string object needs no such check, its zero is at `hi`. */
LEE_INLINE const char *lee_check_string(const struct lee_site *site, const char *p, const char *lo, const char *hi) {
    size_t have = (size_t)((uintptr_t)hi - (uintptr_t)lo);
    size_t at = (size_t)((uintptr_t)p - (uintptr_t)lo);
    if (p != NULL && LEE_UNLIKELY(at >= have || __builtin_memchr(p, 0, have - at) == NULL))
        lee_fault_string(site);
    return p;
}

#ifdef __cplusplus
}
#endif

#endif
