/* General functions. malloc and its family are the compiler's and need no header. */
#ifndef LEE_STDLIB_H
#define LEE_STDLIB_H

#include <stddef.h>
#include <sys/types.h> /* as glibc does */

#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647

typedef struct { int quot, rem; } div_t;
typedef struct { long quot, rem; } ldiv_t;
typedef struct { long long quot, rem; } lldiv_t;

/* Numbers from text. `end` gets a pointer into `s`, whatever the base. */
[[lee::leaf]] trusted int atoi(const char *s);
[[lee::leaf]] trusted long atol(const char *s);
[[lee::leaf]] trusted long long atoll(const char *s);
[[lee::leaf]] trusted double atof(const char *s);
[[lee::leaf]] [[lee::end_into(s, end)]] trusted long strtol(const char *s, char **end, int base) __asm__("lee_strtol");
[[lee::leaf]] [[lee::end_into(s, end)]] trusted unsigned long strtoul(const char *s, char **end, int base) __asm__("lee_strtoul");
[[lee::leaf]] [[lee::end_into(s, end)]] trusted long long strtoll(const char *s, char **end, int base) __asm__("lee_strtoll");
[[lee::leaf]] [[lee::end_into(s, end)]] trusted unsigned long long strtoull(const char *s, char **end, int base) __asm__("lee_strtoull");
[[lee::leaf]] [[lee::end_into(s, end)]] trusted float strtof(const char *s, char **end);
[[lee::leaf]] [[lee::end_into(s, end)]] trusted double strtod(const char *s, char **end);
[[lee::leaf]] [[lee::end_into(s, end)]] trusted long double strtold(const char *s, char **end);

/* The program and its surroundings. getenv returns a copy: nothing that happens to the environment changes it. */
trusted void exit(int status) __attribute__((noreturn));
[[lee::leaf]] trusted void _Exit(int status) __attribute__((noreturn));
trusted void quick_exit(int status) __attribute__((noreturn)) __asm__("_Exit");
[[lee::leaf]] trusted void abort(void) __attribute__((noreturn));
trusted int atexit(void (*function)(void)) __asm__("lee_atexit");
[[lee::leaf]] trusted char *fat null_terminated getenv(const char *name) __asm__("lee_getenv");
[[lee::leaf]] trusted char *fat null_terminated secure_getenv(const char *name) __asm__("lee_secure_getenv");
[[lee::leaf]] trusted int system(const char *command) __asm__("lee_system");

/* Files. realpath returns a new string, and copies it to `resolved` if that is not null. */
[[lee::leaf]] trusted int mkstemp(char *null_terminated pattern) __asm__("lee_mkstemp");
[[lee::leaf]] trusted int mkostemp(char *null_terminated pattern, int flags) __asm__("lee_mkostemp");
[[lee::leaf]] trusted int mkstemps(char *null_terminated pattern, int suffix) __asm__("lee_mkstemps");
[[lee::leaf]] [[lee::into(pattern)]] trusted char *mkdtemp(char *null_terminated pattern);
[[lee::leaf]] trusted char *fat null_terminated realpath(const char *path, char *fat resolved) __asm__("lee_realpath");
[[lee::leaf]] trusted int getloadavg(double *counted_by(n) averages, int n);

/* Random numbers */
[[lee::leaf]] trusted int rand(void);
[[lee::leaf]] trusted void srand(unsigned seed);
[[lee::leaf]] trusted int rand_r(unsigned *seed);
[[lee::leaf]] trusted long random(void);
[[lee::leaf]] trusted void srandom(unsigned seed);
[[lee::leaf]] trusted double drand48(void);
[[lee::leaf]] trusted long lrand48(void);
[[lee::leaf]] trusted long mrand48(void);
[[lee::leaf]] trusted void srand48(long seed);

/* Leeward from here on: checked, not trusted. */

static inline int abs(int n) { return n < 0 ? -n : n; }
static inline long labs(long n) { return n < 0 ? -n : n; }
static inline long long llabs(long long n) { return n < 0 ? -n : n; }
static inline div_t div(int a, int b) { return (div_t){ a / b, a % b }; }
static inline ldiv_t ldiv(long a, long b) { return (ldiv_t){ a / b, a % b }; }
static inline lldiv_t lldiv(long long a, long long b) { return (lldiv_t){ a / b, a % b }; }

[[lee::leaf]] trusted void lee_library_fault(const char *message) __attribute__((noreturn));

/* Orders a[root] into the heap that a[low .. low + count) is but for it. */
generic <T: heap> void lee_sort_sift(T *counted_by(n) a, size_t n, size_t low, size_t root, size_t count,
                                     int (*compare)(const void *, const void *)) {
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count) return;
        if (child + 1 < count && compare(&a[low + child], &a[low + child + 1]) < 0) child++;
        if (compare(&a[low + root], &a[low + child]) >= 0) return;
        T moved = a[low + root];
        a[low + root] = a[low + child];
        a[low + child] = moved;
        root = child;
    }
}

/* Heapsort of a[low .. low + count): what quicksort falls back on where its pivots are bad. */
generic <T: heap> void lee_sort_heap(T *counted_by(n) a, size_t n, size_t low, size_t count,
                                     int (*compare)(const void *, const void *)) {
    for (size_t root = count / 2; root > 0; root--) lee_sort_sift(a, n, low, root - 1, count, compare);
    for (size_t last = count; last > 1; last--) {
        T moved = a[low];
        a[low] = a[low + last - 1];
        a[low + last - 1] = moved;
        lee_sort_sift(a, n, low, 0, last - 1, compare);
    }
}

generic <T: heap> void lee_sort_insertion(T *counted_by(n) a, size_t n, size_t low, size_t high,
                                          int (*compare)(const void *, const void *)) {
    for (size_t i = low + 1; i < high; i++) {
        for (size_t j = i; j > low && compare(&a[j - 1], &a[j]) > 0; j--) {
            T moved = a[j];
            a[j] = a[j - 1];
            a[j - 1] = moved;
        }
    }
}

/* Which of three elements is the median. */
generic <T: heap> size_t lee_sort_median(T *counted_by(n) a, size_t n, size_t i, size_t j, size_t k,
                                         int (*compare)(const void *, const void *)) {
    if (compare(&a[i], &a[j]) < 0) {
        if (compare(&a[j], &a[k]) < 0) return j;
        return compare(&a[i], &a[k]) < 0 ? k : i;
    }
    if (compare(&a[i], &a[k]) < 0) return i;
    return compare(&a[j], &a[k]) < 0 ? k : j;
}

/* Splits a[low .. high) of at least three elements: what lies before the result is not above a[result], what lies
 * behind is not below. The pivot is the median of three, or of three such medians. Every index is bounded by a test,
 * so a `compare` that contradicts itself gives a wrong order and no more. */
generic <T: heap> size_t lee_sort_split(T *counted_by(n) a, size_t n, size_t low, size_t high,
                                        int (*compare)(const void *, const void *)) {
    size_t middle = low + (high - low) / 2;
    size_t last = high - 1;
    size_t step = (high - low) / 8;
    if (step >= 8) {
        size_t left = lee_sort_median(a, n, low, low + step, low + 2 * step, compare);
        size_t right = lee_sort_median(a, n, last, last - step, last - 2 * step, compare);
        middle = lee_sort_median(a, n, middle - step, middle, middle + step, compare);
        middle = lee_sort_median(a, n, left, middle, right, compare);
    } else {
        middle = lee_sort_median(a, n, low, middle, last, compare);
    }
    T pivot = a[middle];
    a[middle] = a[low];
    a[low] = pivot;
    size_t i = low;
    size_t j = high;
    for (;;) {
        do i++; while (i < high && compare(&a[i], &a[low]) < 0);
        do j--; while (j > low && compare(&a[j], &a[low]) > 0);
        if (i >= j) break;
        T moved = a[i];
        a[i] = a[j];
        a[j] = moved;
    }
    T moved = a[low];
    a[low] = a[j];
    a[j] = moved;
    return j;
}

/* Quicksort of the larger parts later, so that 64 of them are enough; heapsort where a part was split badly too
 * often, so that no input takes more than n log n; insertion for what is short. */
generic <T: heap> void qsort(T *counted_by(n) base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    if (size != sizeof(T)) lee_library_fault("cast: qsort is told a size that is not that of the elements");
    size_t lows[64];
    size_t highs[64];
    int budgets[64];
    int waiting = 0;
    size_t low = 0;
    size_t high = n;
    int splits = 0;
    for (size_t left = n; left > 1; left /= 2) splits += 2;
    for (;;) {
        while (high - low > 12 && splits > 0) {
            splits--;
            size_t at = lee_sort_split(base, n, low, high, compare);
            budgets[waiting] = splits;
            if (at - low > high - at - 1) {
                lows[waiting] = low;
                highs[waiting] = at;
                low = at + 1;
            } else {
                lows[waiting] = at + 1;
                highs[waiting] = high;
                high = at;
            }
            waiting++;
        }
        if (high - low > 12) lee_sort_heap(base, n, low, high - low, compare);
        else lee_sort_insertion(base, n, low, high, compare);
        if (waiting == 0) return;
        waiting--;
        low = lows[waiting];
        high = highs[waiting];
        splits = budgets[waiting];
    }
}

generic <T: heap> [[lee::into(base)]] const T *bsearch(const void *key, const T *counted_by(n) base, size_t n, size_t size,
                                                       int (*compare)(const void *, const void *)) {
    if (size != sizeof(T)) lee_library_fault("cast: bsearch is told a size that is not that of the elements");
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(key, &base[middle]);
        if (order == 0) return &base[middle];
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return nullptr;
}

/* Numbers of a state that the program keeps */
trusted double erand48(unsigned short state[3]);
trusted long nrand48(unsigned short state[3]);
trusted long jrand48(unsigned short state[3]);
trusted long a64l(const char *s);

#define canonicalize_file_name(path) realpath(path, nullptr)

#endif
