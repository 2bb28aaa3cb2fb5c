//@ out: 48 5 8.5 7 1
//@ out: 5
//@ out: 6
//@ out: 8
//@ out: 24
//@ out: 8
//@ out: 7 15 10
//@ out: 5 6
//@ out: seven
//@ out: 12 4
//@ out: 1 1 1 5
//@ out: cleaned 7
// Typedefs that align other scalars to less than their type: floats, booleans, pointers, wide integers.
#include <stdio.h>
typedef float ufloat __attribute__((aligned(2))); typedef _Bool ubool __attribute__((aligned(1)));
typedef long double ulong_double __attribute__((aligned(1))); typedef __int128 uwide __attribute__((aligned(8)));
typedef void (*ufunction)(int) __attribute__((aligned(1))); typedef struct node *unode __attribute__((aligned(1)));
typedef unsigned unsigned1 __attribute__((aligned(1)));
struct all { char a; ufloat f; ulong_double l; uwide i; ubool b; };
struct node { char c; unode next; ufunction f; int v; };
static void print(int x) { printf("%d\n", x); }
static void cleaned(unsigned1 *p) { printf("cleaned %u\n", *p); }
static unsigned1 variadic(int n, ...) { __builtin_va_list ap; __builtin_va_start(ap, n); unsigned1 v = __builtin_va_arg(ap, unsigned1); __builtin_va_end(ap); return v + n; }
extern unsigned1 shared; unsigned shared = 5; unsigned *const at = &shared;
void set(unsigned1 *p); void set(unsigned *p) { *p = 7; }
int main(void) {
    struct all s = { 1, 2.5f, 3.5L, 7, 4 };
    s.f *= 2; s.l += s.f; s.i <<= 70; s.b = s.f > 3;
    printf("%zu %g %Lg %d %d\n", sizeof s, s.f, s.l, (int)(s.i >> 70), s.b);
    struct node a = { 1, 0, print, 5 }, b = { 2, &a, print, 6 }; unode *pp = &b.next;
    b.next->f(b.next->v); (*b.f)(b.v); (*pp)->v = 8; (*pp)->f(a.v); printf("%zu\n", sizeof a);
    unsigned1 x __attribute__((cleanup(cleaned))) = 3, y; set(&x); unsigned (*fp)(int, ...) = variadic; printf("%u\n", fp(1, x));
    y = x; volatile unsigned1 v = y; v |= 8; printf("%u %u %u\n", y, v, shared + *at);
    register unsigned1 r = 5; printf("%u ", r++); printf("%u\n", r); switch ((unsigned1)7) { case 7: puts("seven"); }
    int array[(unsigned1)3]; enum { E = (unsigned1)4 }; printf("%zu %d\n", sizeof array, E);
    char bytes[9] = { 1, 2, 3, 4, 5 }; unsigned1 *p = (unsigned1 *)(bytes + 1), *q = p + 1; p[1] = 5;
    printf("%td %td %d %d\n", q - p, (unsigned *)q - (unsigned *)p, (unsigned *)q == (void *)q, bytes[5]);
    return 0;
}
