//@ flags: -std=gnu89
//@ out: 117 2 1 1
//@ out: 4 3 1
// C90: definitions with identifier lists, missing types and declarations.
extern printf();
static promoted(a, c, f, p) char *p; char c; float f; { return a + c + (int)(f * 2) + *p; }
struct point { int x, y; };
static struct point swap(p) struct point p; { struct point q; q.x = p.y; q.y = p.x; return q; }
static int narrow(int);
static int narrow(c) unsigned char c; { return c; }
static count(n) { return n ? 1 + count(n - 1) : 0; }
static twice(f, x) int (*f)(); { return f(f(x)); }
main(argc, argv) char **argv; {
    struct point p; auto a = 3;
    p.x = 1; p.y = 2; p = swap(p);
    printf("%d %d %d %d\n", promoted(1, 'b' - 'a' + 300, 3.25, "A"), p.x, p.y, narrow(257));
    printf("%d %d %d\n", count(4), twice(count, a), argc);
    return undeclared(0);
}
undeclared(x) { return x; }
