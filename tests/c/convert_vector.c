//@ out: 1 -2 3 4
//@ out: 125 128 128.5 -0.5
//@ out: 250 0 1 255 2
//@ out: 250.5 255.5
//@ out: 0 0 -1 0
// `__builtin_convertvector`.
#include <stdio.h>
typedef int four __attribute__((vector_size(16)));
typedef float ffour __attribute__((vector_size(16)));
typedef unsigned char bfour __attribute__((vector_size(4)));
typedef double dfour __attribute__((vector_size(32)));
static int calls;
static four next(void) { calls++; return (four){ 250, 256, 257, -1 }; }
static void show(four v) { printf("%d %d %d %d\n", v[0], v[1], v[2], v[3]); }
static void fshow(ffour f) { printf("%g %g %g %g\n", f[0], f[1], f[2], f[3]); }
int main(void) {
    ffour f = { 1.75f, -2.5f, 3, 4.25f };
    show(__builtin_convertvector(f, four));
    fshow(__builtin_convertvector(next(), ffour) / 2);
    bfour b = __builtin_convertvector(next(), bfour);
    printf("%d %d %d %d %d\n", b[0], b[1], b[2], b[3], calls);
    dfour d = __builtin_convertvector(b, dfour) + 0.5;
    printf("%g %g\n", d[0], d[3]);
    show(__builtin_convertvector(__builtin_convertvector(d, ffour) < f, four));
    return 0;
}
