//@ flags: -std=gnu89
//@ out: 3 198.5 9 1
//@ out: 6 5 6 1 68
//@ out: 12
//@ out: 5 1 0 1
//@ out: 102 49
// Old-style definitions with all kinds of parameters.
#include <stdio.h>
add(a, b) int a; int b; { return a + b; }
double mix(c, s, f, p) char c; short s; float f; char *p; { return c + s + f + *p; }
int (*pick())() { return add; }
static arr(a, n) int a[], n; { int s = 0; while (n--) s += a[n]; return s; }
struct s { int x; }; static struct s str(v) struct s v; { v.x++; return v; }
implicit() { return undeclared(3); }
undeclared(x) { return x * 2; }
static noargs() { return 1; }
void fn(f, x) int (*f)(); register int x; { printf("%d\n", f(x, x)); }
static deflt(a, b, c) char *b; { return a + c + b[0]; }
int empty();
unsigned long ul(a, b) unsigned char a; unsigned long b; { return a + b; }
main(argc, argv) char **argv; {
    struct s v = { 4 }; int a[] = { 1, 2, 3 };
    auto x = 5; register y; static z; y = 1;
    printf("%d %.1f %d %d\n", add(1, 2), mix('a', 2, 1.5f, "b"), pick(1)(4, 5), pick(0) == add);
    printf("%d %d %d %d %d\n", arr(a, 3), str(v).x, implicit(), noargs(1, 2, 3), deflt(1, "A", 2));
    fn(add, 6); printf("%d %d %d %d\n", x, y, z, argc > 0 && argv[0] != 0);
    printf("%d %lu\n", empty(1.5f, 'c'), ul(300, 5UL));
    return 0;
}
int empty(d, c) double d; int c; { return (int)(d * 2) + c; }
