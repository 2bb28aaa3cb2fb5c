//@ only: gcc
//@ out: 1 2 3 4
//@ out: 2 3 4 5
//@ out: 3 4 5 6
//@ out: 3 4 5 6
//@ out: 3 4 5 6
//@ out: 1 2 3 4
//@ out: 2 3 4 5
//@ out: 0.75 -3.5 2 3.25
//@ out: 1.75 -2.5 3 4.25
//@ out: 2.75 -1.5 4 5.25
//@ out: 4 5 6 7
// `++` and `--` of vectors, which clang does not have.
#include <stdio.h>
typedef int four __attribute__((vector_size(16)));
typedef float ffour __attribute__((vector_size(16)));
static void show(four v) { printf("%d %d %d %d\n", v[0], v[1], v[2], v[3]); }
static void fshow(ffour f) { printf("%g %g %g %g\n", f[0], f[1], f[2], f[3]); }
struct s { four v; ffour f[2]; };
int main(void) {
    ffour f = { 1.75f, -2.5f, 3, 4.25f };
    four v = { 1, 2, 3, 4 }, w;
    w = v++; show(w); show(v);
    w = ++v; show(w); show(v);
    w = v--; show(w); w = --v; show(w);
    struct s s = { v, { f, f } }, *p = &s;
    p->v++; --p->f[1]; show(p->v); fshow(s.f[1]); fshow(p->f[0]++); fshow(s.f[0]);
    for (v = (four){ 0 }; v[0] < 3; v++) w += v;
    show(w);
    return 0;
}
