//@ only: gcc
//@ out: 1.25 2.5 1.5 3.5 4.5 1 1
//@ out: 16 16 4.7 4.5
// _Float types, __float128, _Float16.
#include <stdio.h>
static _Float128 f128 = 1.25f128; static _Float64 f64 = 2.5f64; static _Float32 f32 = 1.5f32; static _Float32x f32x = 3.5f32x; static _Float64x f64x = 4.5f64x; static __float128 q = 0.1q; static __float80 f80 = 1.0w; static _Float16 h = 1.5f16;
static _Float128 twice(_Float128 x) { return x * 2 + f64x; }
int main(void) {
    printf("%g %g %g %g %Lg %d %d\n", (double)f128, (double)f64, (double)f32, (double)f32x, (long double)f64x, q < 0.1L, q > 0.09); printf("%d %d %g %g\n", (int)sizeof f80, (int)sizeof q, (double)twice(q), (double)(h + h * 2));
    return 0; }
