//@ out: 0 0 1 0
//@ out: fffffffffffffffe 1 -3
//@ out: -3.0 4.0 4.0 4.0 1
//@ out: 1.50 4.50 1 -3
//@ out: 6 4 1099511627777 1 -1
//@ out: 111121 1 1 1 1
//@ out: 1 1 -1 9223372036854775807
//@ out: 24930 256 4 b
//@ out: 8 8
//@ out: 4
// Numbers of all kinds: promotions, conversions, 128 bits, floats, complex, enumerations, pointers, void.
extern int printf(const char *, ...);
enum small { A, B = 5, C } e = C;
enum wide { W = 1ULL << 40, V } w = V;
enum negative { N = -1, M };
typedef unsigned __int128 u128;
static u128 mul(unsigned long a, unsigned long b) { return (u128)a * b; }
static _Complex double square(_Complex double z) { return z * z; }
static float halves(float f) { return f / 2; }
static long double wide(long double x) { return x * 3; }
static _Bool truth(double d) { return d; }
static int generic(void *p) {
    return _Generic(*(int *)p, int: 1, default: 2) + _Generic((char)1, signed char: 10, char: 20, int: 30)
        + _Generic("s", char *: 100, const char *: 200) + _Generic((const int)1, int: 1000, default: 2000)
        + _Generic(&(volatile long) { 0 }, volatile long *: 10000, long *: 20000) + _Generic(e, unsigned: 100000, default: 200000);
}
int main(void) {
    signed char c = -1; unsigned char u = 255; short s = -32768; unsigned x = 1;
    u128 big = mul(~0UL, ~0UL);
    _Complex double z = square(1.0 + 2.0i);
    _Complex float y = 4 + 2.0fi;
    void *p = &x; int i = 0, *q = &i + 1;
    printf("%d %d %d %d\n", c == u, c < x, s - 1 < s, (unsigned char)(u + 1));
    printf("%lx %lx %d\n", (unsigned long)(big >> 64), (unsigned long)big, (int)(-(__int128)7 / 2));
    printf("%.1f %.1f %.1f %.1f %d\n", __real__ z, __imag__ z, (double)__real__ y, (double)__imag__ (y * 2), z == -3 + 4.0i);
    printf("%.2f %.2Lf %d %d\n", halves(3), wide(1.5L), truth(0.5), (int)-3.9);
    printf("%d %zu %lu %d %d\n", e, sizeof e, (unsigned long)w, N < 0, M - 1);
    printf("%d %zu %zu %ld %d\n", generic(&i), sizeof(void), sizeof main, (char *)(p + 1) - (char *)p, (int)(q - &i));
    printf("%u %d %d %lld\n", -1 > 0u ? 1u : 2u, 1 << 31 < 0, -7 % 3, 0x7fffffffffffffffLL + (long long)(c + 1));
    printf("%d %d %zu %c\n", 'ab', L'\x100', sizeof 'a', "abc"[1]);
    *(int *)p = 7; ++*(char *)p; (void)*(volatile unsigned *)p; *(unsigned *)p-- ;
    printf("%u %d\n", x, i ?: 8);
    printf("%d\n", (i = 3, i + 1));
    return (int)sizeof(int[2]) != 8;
}
