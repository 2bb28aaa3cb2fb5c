//@ out: 7 2 1
//@ out: 4 99 14
//@ out: 10 8 10 20
//@ out: 12 2 3 4 4 5
//@ out: 9 4
//@ out: 8 0
//@ out: 12..
// Statement expressions and typeof.
#include <stdio.h>
#define MAX(a, b) ({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })
#define container_of(p, t, m) ({ const __typeof__(((t *)0)->m) *_p = (p); (t *)((char *)_p - __builtin_offsetof(t, m)); })
struct in { int v; }; struct out { long pad; struct in in; };
static int calls; static int once(int x) { calls++; return x; }
static int jumpy(int n) { for (int i = 0; i < 10; i++) { int v = ({ if (i == n) break; if (i & 1) continue; i; }); calls += v; } return ({ if (n > 5) return 99; n; }) + 1; }
static int vla(int n) { return ({ int a[n]; for (int i = 0; i < n; i++) a[i] = i; int s = 0; for (int i = 0; i < n; i++) s += a[i]; s; }); }
static struct out make(int v) { return ({ struct out o = { .in.v = v }; o; }); }
static void nothing(void) { ({ ; }); ({ int x = 3; (void)x; }); }
static int lab(int n) { return ({ __label__ a, b; int r = 0; if (n) goto a; r = 1; goto b; a: r = 2; b: r; }) * 10; }
int main(void) {
    struct out o = { 1, { 5 } };
    int x = MAX(once(3), once(7)); 
    printf("%d %d %d\n", x, calls, container_of(&o.in, struct out, in) == &o); calls = 0;
    int j1 = jumpy(3), j2 = jumpy(7); printf("%d %d %d\n", j1, j2, calls);
    printf("%d %d %d %d\n", vla(5), make(8).in.v, lab(0), lab(1)); nothing();
    __typeof__(int[3]) arr = { 1, 2, 3 }; __typeof__(&arr[0]) p = arr; __typeof__(*p) q = p[1]; const __typeof__(x) cx = 3; __auto_type au = 3.5f;
    __typeof__(x) (*fp)(int) = once; __typeof__(once) *fq = once;
    printf("%zu %d %d %zu %d %d\n", sizeof arr, q, cx, sizeof au, fp(4), fq(5));
    int y = ({ int z = ({ int w = 2; w * 2; }); z * 2; }) + ({ 1; });
    printf("%d %d\n", y, MAX(MAX(1, 2), MAX(3, ({ once(4); }))));
    long n = sizeof(({ calls = 1000; 5L; })); printf("%ld %d\n", n, calls == 1000);
    for (int i = ({ int k = 1; k; }); i < ({ 3; }); i += ({ 1; })) printf("%d", i);
    while (({ x--; x > 4; })) putchar('.');
    putchar('\n');
    return 0;
}
