//@ only: gcc
//@ out: float
//@ out: _Float32
//@ out: double
//@ out: _Float32x
//@ out: _Float64
//@ out: long double
//@ out: _Float64x
//@ out: _Float128
//@ out: _Float32
//@ out: double
//@ out: double
//@ out: _Float64
//@ out: long double
//@ out: long double
//@ out: _Float128
//@ out: _Float32
//@ out: _Float64
//@ out: long double
//@ out: _Float32
//@ out: _Float32x
//@ out: _Float64
//@ out: _Float64x
//@ out: _Float32
//@ out: _Float32
//@ out: another
//@ out: another
//@ out: 7.75
// The types of _Generic, and which of two floating types an operator gives: gcc's are all apart.
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>
#define NAME(x) _Generic((x), float: "float", _Float32: "_Float32", double: "double", _Float32x: "_Float32x", _Float64: "_Float64", long double: "long double", _Float64x: "_Float64x", _Float128: "_Float128", default: "other")
static float a; static _Float32 b; static double c; static _Float32x d; static _Float64 e; static long double f; static _Float64x g; static _Float128 h;
static double sum(int n, ...) { va_list l; va_start(l, n); double s = va_arg(l, double); s += va_arg(l, _Float32); s += va_arg(l, _Float64); va_end(l); return s; }
int main(void) {
    puts(NAME(a)); puts(NAME(b)); puts(NAME(c)); puts(NAME(d)); puts(NAME(e)); puts(NAME(f)); puts(NAME(g)); puts(NAME(h));
    puts(NAME(a + b)); puts(NAME(b + c)); puts(NAME(c + d)); puts(NAME(d + e)); puts(NAME(e + f)); puts(NAME(f + g)); puts(NAME(g + h)); puts(NAME(b * 2)); puts(NAME(e + 1.0)); puts(NAME(d + f));
    puts(NAME(1.0f32)); puts(NAME(1.0f32x)); puts(NAME(1.0f64)); puts(NAME(1.0f64x)); puts(NAME(-b)); puts(NAME(a ? b : a));
    puts(_Generic(b, float: "float", default: "another"));
    puts(_Generic(&e, double *: "double", default: "another"));
    printf("%g\n", sum(3, 1.5f, 2.25f32, 4.0f64));
    return 0;
}
