//@ flags: -lm
//@ out: 340282366920938463463374607431768211455
//@ out: 265252859812191058636308480000000
//@ out: -2 -2 -3 1
//@ out: 4 31 16
//@ out: 0.1
//@ out: -1 5 5 1
//@ out: 5 10 -3
//@ out: -2.5 0 0
//@ out: -3 44 1 -56
//@ out: -9223372036854775808 deadbeef
//@ out: -3 -1 -4 1
//@ out: inf 4.94066e-324 0.333333 0x1.8p+0
//@ out: 1 -1 1
//@ out: 1073741824 4611686018427387904 9223372036854775808
//@ out: 16777216.0 1
//@ out: 0
//@ out: -32768 4 0
//@ out: f000000600000005 -1
//@ out: 0
//@ out: 1 2
//@ out: 8 4 16 0
//@ out: b
//@ out: 3
//@ out: 12 4 8
// __int128, complex numbers, conversions, formats of numbers.
#define __STDC_WANT_IEC_60559_TYPES_EXT__
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <complex.h>
#include <stdint.h>
#include <inttypes.h>
typedef __int128 i128; typedef unsigned __int128 u128;
static void pr(u128 x) { char b[50]; int n = 49; b[n] = 0; do b[--n] = '0' + (int)(x % 10); while (x /= 10); puts(b + n); }
static i128 fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
static long double ld = 0.1L;
struct b128 { u128 a : 1; i128 v; char c; };
static double complex cz(double complex a) { return a * a + conj(a) * I; }
static _Complex float cf = 1.0f + 2.0if; 
int main(void) {
    pr((u128)-1); pr(fact(30)); i128 x = -5; printf("%d %d %d %d\n", (int)(x / 2), (int)(x % 3), (int)(x >> 1), x < 0); u128 y = (u128)1 << 100 | 7; printf("%d %lx %d\n", (int)(y >> 98), (unsigned long)(y * y), (int)sizeof y);
    printf("%Lg\n", ld);
    double complex z = cz(1 + 2 * I); printf("%g %g %g %d\n", creal(z), cimag(z), cabs(3 + 4 * I), carg(I) > 1); z = 5 + 10 * I; printf("%g %g %g\n", creal(z), cimag(z), crealf(cf * cf)); z /= 2; z = -z; printf("%g %d %d\n", creal(conj(z)), z == conj(z), !z);
    printf("%d %d %u %d\n", (int)-3.99, (int)(char)300, (unsigned)-1.0f == 0xffffffffu || 1, (int)(signed char)200); printf("%" PRId64 " %" PRIx32 "\n", INT64_MIN, UINT32_C(0xdeadbeef)); printf("%d %d %d %d\n", -7 / 2, -7 % 2, -7 >> 1, 7u - 8 > 0);
    printf("%g %g %g %a\n", 1e308 * 10, 0x1p-1074, 1.0 / 3, 1.0L < INFINITY ? 1.5 : 2); printf("%d %d %d\n", isnan(NAN), isinf(-INFINITY), signbit(-0.0) != 0); printf("%d %ld %llu\n", 1 << 30, 1L << 62, 1ULL << 63); float f = 16777216; f++; printf("%.1f %d\n", f, f == 16777216.0f); double dd = 0.1f; printf("%d\n", dd == 0.1);
    short s = 32767; s++; unsigned char uc = 250; uc += 10; int si = s; printf("%d %d %d\n", si, uc, (uc << 30) < 0); long l = 3; l <<= 33; l ^= 5; l |= ~0L << 60; printf("%lx %d\n", l, (int)(l >> 60)); _Bool b = 0.1; b += 1; b--; printf("%d\n", b); int i = 5; i = i++ + ++i * 0; printf("%d %d\n", i > 0, i-- - --i); 
    unsigned bits = 0xf0f0; printf("%d %d %d %d\n", __builtin_popcount(bits), __builtin_ctz(bits), __builtin_clz(bits), __builtin_parity(bits)); printf("%s\n", 0 ? "a" : 1 ? "b" : "c"); printf("%d\n", (1, 2, 3)); printf("%zu %zu %zu\n", sizeof(char[3][4]), sizeof 'a', sizeof(1 ? 1 : 1.0)); 
    return 0;
}
