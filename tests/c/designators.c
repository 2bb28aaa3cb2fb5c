//@ out: 1 0 0 4 1 2 31 9
//@ out: 1 2 3 4 5 6 7
//@ out: 1 2 3 4 5 0 0 0 0 7 8 0 
//@ out: 4 ab ab x cd efgh 16
//@ out: 3 3 4 hello 4 6 3
//@ out: 4 0 llo 1 1 5
//@ out: 1 2.5 0.333333 0.125 2 1101
//@ out: 3 4 2.5 7 1 2 3
//@ out: 20 101 233 1f600
//@ out: 1 127 -3 1 ffffffffff
//@ out: 5 2 three 3 1 3 98 12
//@ out: 1 3 0 5 7 1 1 8
//@ out: 0 1 4 1 hi ab 0 0
//@ out: 2 2 9
// Designated and huge initialisers, flexible arrays, addresses and complex numbers as constants.
#include <stdio.h>
#include <stddef.h>
struct p { int x, y; }; struct n { struct p p[2]; union { int i; struct { char a, b; }; float f; } u; int : 3; unsigned b : 5; int last; };
static struct n g = { .p = { [1] = { .y = 4 }, [0].x = 1 }, .u = { .a = 1, .b = 2 }, .b = 31, 9 };
static struct n h = { 1, 2, 3, 4, 5, 6, 7 };
static int m[3][4] = { 1, 2, 3, 4, 5, [2] = { [1] = 7, 8 }, };
static char s1[] = "abc", s2[2] = "ab", s3[5] = { "ab" }, *sp = { "x" }; static char ss[][4] = { "ab", { 'c', 'd' }, [3] = "efgh" };
struct flex { int n; int data[]; }; static struct flex fl = { 3, { 1, 2, 3 } };
struct fc { char c; char s[]; }; static struct fc fcs = { 'a', "hello" };
struct zero { int n; int z[0]; };
static struct p *ptr = &(struct p) { 5, 6 }; static int *ip = (int[]) { 1, 2, [5] = 3 };
static int *addr = &g.p[1].y, *addr2 = &m[1][2]; static const char *cc = &"hello"[2]; static long diff = (char *)&g.last - (char *)&g; 
static void *self = &self; static int (*fns[])(const char *, ...) = { printf, 0, [4] = printf };
static double d[] = { 1, 2.5f, 1 / 3.0, -1e300 * 0, 0x1p-3 }; static _Complex double z = 1 + 2.0i; static _Bool bo[] = { 2, 0.5, 0, &g };
static struct { struct { struct { int a; } b; } c[2]; } deep = { .c[1].b.a = 3 };
static struct p gnu = { x: 3, y: 4 };
static union { int a; double d; } un = { .d = 2.5 }, un2 = { 7 };
static int big[1000] = { [0 ... 9] = 1, [500 ... 509] = 2, [999] = 3 };
static wchar_t w[] = L"wide"; static unsigned short u16[] = u"u\u00e9"; static unsigned u32[] = U"\U0001F600";
static struct { unsigned a : 3, b : 7; signed c : 4; _Bool d : 1; unsigned long long e : 40; } bf = { 9, 127, -3, 1, 0xfffffffffffULL };
struct scalar { int a; }; static int br = { 5 }; static struct scalar *scp = (struct scalar[]) { { 1 }, { 2 } };
static const struct { const char *name; int v; } tab[] = { { "one", 1 }, { "two", 2 }, { .v = 3, .name = "three" }, { 0 } };
enum { E1 = sizeof(struct n), E2 = (int)3.7, E3 = 'a' + !0, E4 = sizeof(int[E2]) };
int main(int argc, char **argv) {
    (void)argv;
    printf("%d %d %d %d %d %d %u %d\n", g.p[0].x, g.p[0].y, g.p[1].x, g.p[1].y, g.u.a, g.u.b, g.b, g.last);
    printf("%d %d %d %d %d %u %d\n", h.p[0].x, h.p[0].y, h.p[1].x, h.p[1].y, h.u.i, h.b, h.last);
    for (int i = 0; i < 12; i++) printf("%d ", m[0][i]); putchar('\n');
    printf("%zu %c%c %s %s %s %.4s %zu\n", sizeof s1, s2[0], s2[1], s3, sp, ss[1], ss[3], sizeof ss);
    printf("%d %d %zu %s %zu %d %d\n", fl.data[2], fl.n, sizeof fl, fcs.s, sizeof(struct zero), ptr->y, ip[5]);
    printf("%d %d %s %d %d %zu\n", *addr, *addr2, cc, diff == offsetof(struct n, last), self == &self, sizeof fns / sizeof *fns);
    printf("%g %g %g %g %g %d%d%d%d\n", d[0], d[1], d[2], d[4], __imag__ z, bo[0], bo[1], bo[2], bo[3]);
    printf("%d %d %g %d %d %d %d\n", deep.c[1].b.a, gnu.y, un.d, un2.a, big[9], big[505], big[999]);
    printf("%zu %d %d %x\n", sizeof w, w[3], u16[1], u32[0]);
    printf("%u %u %d %d %llx\n", bf.a, bf.b, bf.c, bf.d, (unsigned long long)bf.e);
    printf("%d %d %s %d %d %d %d %d\n", br, scp[1].a, tab[2].name, tab[2].v, E1 == sizeof g, E2, E3, E4);
    struct n l = { .last = argc, .p[1] = { argc + 1, argc + 2 } }; int la[] = { argc, [3] = argc + 5, argc + 6 }; struct p pa[2] = { [1] = { .y = argc } }, cp = pa[1]; struct n nn = { pa[1], { 8, 9 } };
    printf("%d %d %d %zu %d %d %d %d\n", l.last, l.p[1].y, l.u.i, sizeof la / 4, la[4], cp.y, nn.p[0].y, nn.p[1].x);
    struct p *q = &(struct p) { argc, 2 }; q->x += 3; for (int i = 0; i < 2; i++) { struct p *r = &(struct p) { i }; printf("%d ", r->x + r->y); }
    struct p copy = *q, arr2[] = { copy, *q, { 1 } }; char local[10] = "hi", full[] = { 'a', "b"[0], 0 }; struct {} none = {}; (void)none; int zero[4] = {}; 
    printf("%d %d %s %s %d %d\n", copy.x, arr2[2].x, local, full, local[9], zero[3]);
    static struct p sl = { 1, 2 }; sl.x++; struct { int a[3]; } wrap = { { 1, 2, 3 } }, wrap2 = wrap; wrap2.a[1] = 9; printf("%d %d %d\n", sl.x, wrap.a[1], wrap2.a[1]);
    return 0;
}
