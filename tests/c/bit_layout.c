//@ out: 61000000ff010000ffffffffffffcf00ffffffffffffffff0100000000000000 1 12 511 -1 1 -7 1 -1
//@ out: e4ffffffffefcdab 65f7ffffff00dfbc 8
//@ out: c7190500d12f0100 8 7 -100
//@ out: 12345688 12 1
//@ out: 1234568c
//@ out: fffff 1
//@ out: 11 ffffffffff 1
//@ out: 1 9 0
//@ out: 1 2
//@ out: 12
//@ out: 4 int
//@ out: neg
// Bit-fields: layout, packing, assignment, promotion.
#include <stdio.h>
#include <string.h>
struct a { unsigned x : 3; int y : 5; unsigned : 0; unsigned z : 9; long long w : 50; _Bool b : 1; char c : 4; enum { P, Q } e : 2; unsigned long u : 64; signed s : 1; };
struct pk { unsigned a : 7; unsigned long long b : 33; unsigned c : 24; } __attribute__((packed)); struct al { char a : 4; short b : 9; char c; int : 4; int d : 20; }; union u { unsigned i; struct { unsigned lo : 4, mid : 20, hi : 8; }; };
struct init { unsigned a : 4, b : 4; } arr[3] = { { 1, 2 }, [2] = { .b = 9 } };
static void dump(const void *p, int n) { for (int i = 0; i < n; i++) printf("%02x", ((const unsigned char *)p)[i]); putchar(' '); }
static struct a vol(struct a v) { v.y--; v.w += 1LL << 40; return v; }
int main(void) {
    struct a a; memset(&a, 0, sizeof a); a.x = 9; a.y = -20; a.z = 511; a.w = -1; a.b = 4; a.c = 9; a.e = Q; a.u = ~0ul; a.s = 1; dump(&a, sizeof a); printf("%d %d %d %lld %d %d %d %d\n", a.x, a.y, a.z, (long long)a.w, a.b, a.c, a.e, a.s);
    struct pk p; memset(&p, 0, sizeof p); p.a = 100; p.b = 0x1ffffffffULL; p.c = 0xabcdef; dump(&p, sizeof p); p.b -= 5; p.a++; ++p.c; p.c <<= 4; p.b *= 3; dump(&p, sizeof p); printf("%zu\n", sizeof p);
    struct al l; memset(&l, 0, sizeof l); l.a = 7; l.b = -100; l.c = 5; l.d = 77777; dump(&l, sizeof l); printf("%zu %d %d\n", sizeof l, l.a, l.b);
    union u u = { 0x12345678 }; u.mid++; printf("%x %x %d\n", u.i, u.hi, u.lo - 10 < 0); u.lo += 20; printf("%x\n", u.i); int r = (u.mid = 0xfffffff); printf("%x %d\n", r, (u.hi |= 0x100) == 0x12); struct a v = vol(a); printf("%d %llx %d\n", v.y, (unsigned long long)v.w, v.x << 29 > 0); printf("%d %d %d\n", arr[0].a, arr[2].b, arr[1].b); printf("%d", a.x++); printf(" %d\n", a.x--); printf("%d\n", a.x ? a.y : a.z); volatile struct { unsigned q : 3; } vq = { 5 }; vq.q ^= 1; printf("%d %s\n", vq.q, _Generic(+a.x, int: "int", unsigned: "unsigned")); printf("%s\n", a.z - 512 < 0 ? "neg" : "pos");
    return 0;
}
