//@ out: 6 8 10 12
//@ out: 11 14 17 20
//@ out: 12 16 20 24
//@ out: -2 -3 -4 -5
//@ out: -1 -2 -3 -4
//@ out: -1 0 0 -1
//@ out: 1 2 0 1
//@ out: 0 0 0 0
//@ out: 7 5 5 11
//@ out: 7 10 13 16
//@ out: 7 11 99 16
//@ out: 5 6 0 0
//@ out: 6 10 98 15
//@ out: 48 16 1 16 4 8
//@ out: 4 6 8 10
//@ out: 1 2 3
//@ out: 67305985 134678021 202050057 269422093
//@ out: 6 13 10 12
//@ out: 3 4 5 6
//@ out: 6
//@ out: 5 6 7 8
//@ out: 1 0 0 0
//@ out: 1 1 1 1
//@ out: 6 13 10 12
// Vectors of GNU C: operators, lanes, initialisers, casts, fields, arrays, alignment.
#include <stdio.h>
typedef int four __attribute__((vector_size(16)));
typedef float ffour __attribute__((vector_size(16)));
typedef unsigned char bytes __attribute__((vector_size(16)));
typedef int ufour __attribute__((vector_size(16), aligned(1)));
static const four table[2] = { { 1, 2, 3, 4 }, { 5, 6 } };
static four add(four a, four b) { return a + b; }
struct s { char c; four v; ufour u; };
static four make(int n) { return (four){ n, n + 1, n + 2, n + 3 }; }
static void show(four v) { printf("%d %d %d %d\n", v[0], v[1], v[2], v[3]); }
int main(void) {
    four a = { 1, 2, 3, 4 }, b = { 5, 6, 7, 8 }, c = add(a, b);
    show(c);
    show(c * 2 - a); show(c << 1); show(~a); show(-a); show(a < (four){ 2, 2, 2, 5 });
    show(a % 3); show(a == b); show((a & 1) | (b ^ 3));
    c += a; show(c); c[2] = 99; c[1]++; show(c); show(table[1]); c -= 1; show(c);
    struct s s = { 'x', a, { 9, 8, 7 } };
    printf("%zu %zu %zu %zu %d %d\n", sizeof(struct s), _Alignof(four), _Alignof(ufour), sizeof(bytes), s.v[3], s.u[1]);
    ffour f = { 1.5f, 2.5f, 3.5f, 4.5f }; f = f * 2.0f + 1; printf("%g %g %g %g\n", f[0], f[1], f[2], f[3]);
    bytes y = (bytes)a; printf("%d %d %d\n", y[0], y[4], y[8]);
    char raw[32] = { 0 }; for (int i = 0; i < 32; i++) raw[i] = i;
    ufour u = *(ufour *)(raw + 1); show(u); four *p = &a; (*p)[1] = 7; p[0] += b; show(*p);
    show(make(3)); printf("%d\n", make(4)[2]);
    
    four q[3] = { a, b, { 1 } }; show(q[1]); show(q[2]); static four st; st += 1; show(st);
    int k = 2; show(k > 1 ? a : b); int i = 1; q[i] += 1;
    return 0;
}
