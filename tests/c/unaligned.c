//@ out: 5 13 8 8 5 9 4
//@ out: 8 5 8 10
//@ out: 4 1 4 2 2
//@ out: 1 1 4 2 1
//@ out: 1 1 1 1 1
//@ out: 1 1 0
//@ out: 7 23
//@ out: e07 2a231c15 544d463f38312a23
//@ out: 88 11
//@ out: 11
//@ out: 7.5
//@ out: 25 24
//@ out: 3 14 5 6.5 2 x 9
//@ out: abcdef 7 3
//@ out: 3 154 1
//@ out: 9 3 4 12
//@ out: 1
//@ out: 3 3 1
//@ out: 3 3
//@ out: 3 5
//@ out: 6
//@ out: 3 2 2 3
//@ out: 5 2
//@ out: 5 0 3 1
//@ out: three 4
//@ out: 8 3
// Typedefs that align a scalar to less than its type: loads, stores, layouts, arrays, addresses.
#include <stdio.h>
#include <string.h>
typedef unsigned short U16; typedef unsigned u32; typedef unsigned long long U64;
typedef __attribute__((aligned(1))) U16 unalign16;
typedef __attribute__((aligned(1), may_alias)) u32 unalign32;
typedef U64 unalign64 __attribute__((aligned(1)));
typedef double ud __attribute__((aligned(1)));
enum e { A, B, C }; typedef enum e ue __attribute__((aligned(1)));
typedef char *up __attribute__((aligned(1)));
typedef unalign32 again; typedef unalign32 back __attribute__((aligned(4))); typedef u32 half __attribute__((aligned(2)));
typedef u32 wide __attribute__((aligned(8))); typedef wide narrow __attribute__((aligned(1)));
struct s1 { char c; unalign32 v; }; struct s2 { char c; unalign32 v[3]; }; struct s3 { char c; back v; }; struct s4 { char c; half v; char d; };
struct s5 { char c; const again v; }; struct s6 { char c; up p; }; union s7 { unalign32 a; char c; };
struct s8 { char c; unalign32 v __attribute__((aligned(4))); }; struct s9 { char c; narrow v; }; struct s10 { char c; _Alignas(4) unalign32 v; };
#pragma pack(push, 2)
struct s11 { char c; unalign32 v; u32 w; };
#pragma pack(pop)
struct S { char c; unalign32 v; unalign16 a[3]; ud d; ue e; up p; char z; };
static struct S s = { 1, 2, { 3, 4, 5 }, 6.5, C, (char *)"x", 9 };
static unalign32 g = 77; static unalign32 *gp = &g; static unalign16 ga[] = { 1, 2, 3, [5] = 9 }; static unalign16 *gap = &ga[2], *gs = s.a + 1;
static U16 read16(const void *p) { return *(const unalign16 *)p; }
static u32 read32(const void *p) { return *(const unalign32 *)p; }
static U64 read64(const void *p) { return *(const unalign64 *)p; }
static void write64(void *p, U64 v) { *(unalign64 *)p = v; }
static unalign32 byval(unalign32 a, unalign16 b) { a += b; return a; }
static double sum(const ud *p, int n) { double t = 0; while (n--) t += *p++; return t; }
static u32 bump(volatile unalign32 *p) { (*p)++; ++*p; *p <<= 1; p[0] |= 1; return (*p)--; }
int old(a, b) unalign32 a; unalign16 *b; { return a + *b; }
int main(void) {
    printf("%zu %zu %zu %zu %zu %zu %zu\n", sizeof(struct s1), sizeof(struct s2), sizeof(struct s3), sizeof(struct s4), sizeof(struct s5), sizeof(struct s6), sizeof(union s7));
    printf("%zu %zu %zu %zu\n", sizeof(struct s8), sizeof(struct s9), sizeof(struct s10), sizeof(struct s11));
    printf("%zu %zu %zu %zu %zu\n", _Alignof(struct s8), _Alignof(struct s9), _Alignof(struct s10), _Alignof(struct s11), _Alignof(struct s4));
    printf("%zu %zu %zu %zu %zu\n", _Alignof(unalign32), _Alignof(again), _Alignof(back), _Alignof(half), _Alignof(const unalign32));
    printf("%zu %zu %zu %zu %zu\n", _Alignof(g), _Alignof(*gp), _Alignof(__typeof__(*gp)), _Alignof(s.v), _Alignof(gp[1]));
    printf("%d %d %d\n", __builtin_types_compatible_p(unalign32, u32), __builtin_types_compatible_p(unalign32 *, u32 *), __builtin_types_compatible_p(unalign16, u32));
    printf("%zu %zu\n", __builtin_offsetof(struct S, a[1]), __builtin_offsetof(struct S, p));
    unsigned char buf[64]; for (int i = 0; i < 64; i++) buf[i] = i * 7;
    printf("%x %x %llx\n", read16(buf + 1), read32(buf + 3), read64(buf + 5));
    write64(buf + 9, 0x1122334455667788); printf("%x %x\n", buf[9], buf[16]);
    printf("%u\n", byval(5, 6));
    memcpy(buf + 1, (double[]){ 1.5, 2.5, 3.5 }, 24); printf("%g\n", sum((ud *)(buf + 1), 3));
    *(unalign32 *)(buf + 1) = 10; printf("%u ", bump((void *)(buf + 1))); printf("%u\n", read32(buf + 1));
    struct S *p = (struct S *)(buf + 1); *p = s; p->v++; p->a[1] += p->v; unalign16 *q = &p->a[1]; *q *= 2;
    printf("%u %u %u %g %d %s %d\n", p->v, *q, q[1], p->d, p->e, p->p, p->z);
    unalign32 x = 3, *px = &x, arr[2][2] = { { 1 }, { 2, 3 } }, y = { 4 }; __typeof__(*px) t = x + y; __auto_type w = *px;
    __typeof__(*px) *pt = (void *)(buf + 3); *pt = 0xabcdef; printf("%x %u %u\n", read32(buf + 3), t, w);
    printf("%u %u %td\n", arr[1][1], g + *gp, &arr[1][1] - arr[1]);
    printf("%d %d %u %u\n", ga[5], *gap, *gs, (unsigned)sizeof ga);
    printf("%d\n", _Generic(px, u32 *: 1, default: 2));
    u32 z = 8, *pz = px; unalign32 *sel = z > 7 ? px : &z; printf("%u %u %d\n", *pz, *sel, pz == px);
    printf("%u %d\n", *&x, old(3, &p->a[0]));
    const unalign32 cx = (unalign32)3.9; printf("%u %u\n", cx, (unalign32){ 5 }); px = &(unalign32){ 6 }; printf("%u\n", *px);
    unalign32 *it = (unalign32 *)(buf + 1); for (int i = 0; i < 4; i++) *it++ = i; it = (unalign32 *)(buf + 1); printf("%u %u %u %td\n", it[3], *(it + 2), 2[it], &it[3] - it);
    struct { char c; __typeof__(s.v) v; } odd = { 1, { 2 } }; printf("%zu %u\n", sizeof odd, odd.v);
    struct S s2 = { .v = 4, .a[1] = 5, .z = 3, .d = 1 }; s2.v = s2.a[1]; printf("%u %d %d %g\n", s2.v, s2.a[0], s2.z, s2.d);
    if (x && !(y == 3)) switch (x) { case 3: printf("three %u\n", x ? y : 1); }
    long sh = 1L << x; printf("%ld %u\n", sh, ({ x; }));
    return 0;
}
