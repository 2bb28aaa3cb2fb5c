//@ flags: -lm
//@ out: 3 x
//@ out: 126.5
//@ out: 1 0 1 0 1
//@ out: 78563412 100000000000000 3412
//@ out: 4 31 4 63 1
//@ out: 1 1 5
//@ out: 5 4
//@ out: 4 4
//@ out: 0 0 0
//@ out: 2 4 inf -1
//@ out: 1 1 2 1
//@ out: abcdef 1 def
//@ out: q
//@ out: 1
//@ out: 1
//@ out: 7
//@ out: main
//@ out: 1
//@ out: path
//@ out: 32 65
//@ out: builtin
//@ out: 12
//@ out: 1
// Builtins: va_arg of all kinds, overflow, bits, memory, places.
#include <stdio.h>
#include <stdarg.h>
#include <string.h>
#include <stdlib.h>
#include <math.h>
#include <ctype.h>
static int v(const char *f, ...) { va_list a; va_start(a, f); char b[100]; int n = __builtin_vsnprintf(b, sizeof b, f, a); va_end(a); fputs(b, stdout); return n; }
struct big { long a[5]; }; struct fl { float x, y; }; struct mix { double d; int i; };
static double all(int n, ...) { va_list a, b; va_start(a, n); va_copy(b, a); double s = va_arg(a, int) + va_arg(a, double) + va_arg(a, struct big).a[4] + va_arg(a, struct fl).y + va_arg(a, struct mix).i + (double)va_arg(a, long double) + *va_arg(a, int *) + va_arg(a, char *)[1]; s += va_arg(b, int) * n; va_end(a); va_end(b); return s; }
static void *caller(void) { return __builtin_return_address(0); } static void *frame(void) { return __builtin_frame_address(0); }
static int unreach(int x) { switch (x) { case 1: return 5; default: __builtin_unreachable(); } }
static int assume(int *p) { int *q = __builtin_assume_aligned(p, 4); return *q; }
typedef int fnt(int); static int id(int x) { return x; } static __attribute__((noinline)) int apply(fnt *f, int x) { return f(x); }
int main(void) {
    int ov; unsigned uov; long lov; v("%d %s\n", 3, "x"); int five = 5; printf("%g\n", all(2, 1, 2.5, (struct big) { { 1, 2, 3, 4, 5 } }, (struct fl) { 1, 2 }, (struct mix) { 1, 7 }, 4.0L, &five, "ab"));
    printf("%d %d %d %d %d\n", __builtin_sadd_overflow(2147483647, 1, &ov), 0, __builtin_usub_overflow(1, 2, &uov), 0, __builtin_smull_overflow(1L << 62, 2, &lov)); 
    printf("%x %lx %llx\n", __builtin_bswap32(0x12345678), __builtin_bswap64(1), (long long)__builtin_bswap16(0x1234)); printf("%d %d %d %d %d\n", __builtin_ffsll(8), __builtin_clrsb(0), __builtin_ctzll(16), __builtin_clzl(1), __builtin_parityll(7)); printf("%d %d %d\n", caller() != 0, frame() != 0, unreach(1)); printf("%d %d\n", assume(&five), apply(id, 4));
    printf("%zu %zu\n", __builtin_object_size(&five, 0), __builtin_strlen("abcd")); printf("%d %d %d\n", __builtin_types_compatible_p(int, long), __builtin_constant_p(five), 0); printf("%g %g %g %d\n", __builtin_fabs(-2), __builtin_sqrt(16), __builtin_huge_val(), __builtin_isinf_sign(-__builtin_inf())); printf("%d %d %d %d\n", __builtin_isgreater(2.0, 1.0), __builtin_isunordered(1.0, NAN), __builtin_fpclassify(0, 1, 2, 3, 4, 1.0), __builtin_signbit(-1.0f) != 0);
    char b[20]; __builtin_strcpy(b, "abc"); __builtin_memcpy(b + 3, "def", 4); printf("%s %d %s\n", b, __builtin_memcmp(b, "abd", 3) < 0, __builtin_strchr(b, 'd')); char *al = __builtin_alloca_with_align(10, 64); al[0] = 'q'; al[1] = 0; printf("%s\n", al); __builtin_prefetch(b, 0, 1); printf("%d\n", __builtin_choose_expr(sizeof(int) == 4, 1, 2.5)); printf("%d\n", __builtin_expect_with_probability(five == 5, 1, 0.9) ? 1 : 0); __builtin___clear_cache(b, b + 1); printf("%d\n", __builtin_abs(-3) + (int)__builtin_labs(-4)); printf("%s\n", __builtin_FUNCTION()); printf("%d\n", __builtin_LINE() > 0); printf("%s\n", __builtin_strrchr(__builtin_FILE(), '/') ? "path" : "name"); (void)__builtin_extract_return_addr(0); printf("%.0f %d\n", __builtin_powi(2, 5), toupper('a')); __builtin_printf("%s\n", "builtin"); printf("%d\n", (int)__builtin_offsetof(struct { int a; struct { int b[4]; } c; }, c.b[2])); printf("%d\n", __builtin_complex(1.0, 2.0) == 1.0 + 2.0i);
    return 0; }
