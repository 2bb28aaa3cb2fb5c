//@ out: 31 3 8 0 3412
//@ out: 3 1 0
//@ out: 1 1 1 1
//@ out: 8 1 2 1 8
//@ out: 12 68.5 4 12884901885
//@ out: room 5
//@ out: main 1
// Builtins of the C compiler, and assembly statements.
extern int printf(const char *, ...);
#include <stdarg.h>
static int sum(int n, ...) { va_list ap, copy; va_start(ap, n); va_copy(copy, ap); int s = 0; while (n--) s += va_arg(ap, int) + (int)va_arg(copy, int); va_end(copy); va_end(ap); return s; }
static double mixed(const char *f, va_list ap) { double d = 0; for (; *f; f++) d += *f == 'd' ? va_arg(ap, int) : *f == 'f' ? va_arg(ap, double) : *va_arg(ap, char *); return d; }
static double outer(const char *f, ...) { va_list ap; va_start(ap, f); double d = mixed(f, ap); va_end(ap); return d; }
struct pair { long a, b; };
static struct pair pass(int n, ...) { va_list ap; va_start(ap, n); struct pair p = va_arg(ap, struct pair); va_end(ap); return p; }
static const double infinite = __builtin_inf(); static const float not = __builtin_nanf("");
enum { SIZE = __builtin_offsetof(struct pair, b), SAME = __builtin_types_compatible_p(int, const int), PICK = __builtin_choose_expr(1, 2, "x") };
static int strings(void) { char b[8]; __builtin_memset(b, 'x', 7); b[7] = 0; return (int)__builtin_strlen(b) + __builtin_memcmp(b, "xxxx", 4) + (__builtin_strchr(b, 0) == b + 7); }
static unsigned long product(unsigned a, unsigned b) {
    unsigned long r;
#if defined __x86_64__
    unsigned lo, hi;
    __asm__("mull %3" : "=a"(lo), "=d"(hi) : "%0"(a), "rm"(b) : "cc");
    r = (unsigned long)hi << 32 | lo;
#else
    r = (unsigned long)a * b;
#endif
    return r;
}
int main(void) {
    int r = 0; unsigned short h = 0x1234; long big;
    printf("%d %d %d %d %x\n", __builtin_clz(1), __builtin_ctzl(8), __builtin_popcountll(255), __builtin_ffs(0), __builtin_bswap16(h));
    r = 9 * __builtin_add_overflow(1, 2, &r) + r; int over = __builtin_mul_overflow(1L << 62, 4, &big);
    printf("%d %d %ld\n", r, over, big);
    printf("%d %d %d %d\n", infinite > 1e300, not != not, __builtin_isnan(not), __builtin_signbit(-0.0) != 0);
    printf("%d %d %d %d %d\n", SIZE, SAME, PICK, __builtin_constant_p(3), strings());
    printf("%d %.1f %ld %lu\n", sum(3, 1, 2, 3), outer("dfs", 1, 2.5, "A"), pass(1, (struct pair) { 3, 4 }).b, product(~0u, 3));
    char *room = __builtin_alloca(16); __builtin_strcpy(room, "room");
    int x = 5;
    __asm__ volatile("" : "+r"(x) : : "memory"); __asm__("# comment" ::"m"(x), [named] "i"(4));
    if (__builtin_expect(x == 5, 1)) printf("%s %d\n", room, __builtin_expect(!!x, 1) ? x : 0);
    printf("%s %d\n", __func__, __builtin_object_size(room, 0) != 0);
    if (x != 5) __builtin_trap();
    return 0;
}
