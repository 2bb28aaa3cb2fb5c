//@ out: 1 2 3 4 0 2
//@ out: 1 2 1 2
//@ out: hello wide wo
//@ out: 1 4 1 1 0 9 2 2 
//@ out: 14 1 0 2 1
//@ out: 6 5 2 1 2 3
//@ out: 11
// Case ranges, computed goto, tables of labels, switches of all widths.
#include <stdio.h>
static int kind(int c) { switch (c) { case '0' ... '9': return 1; case 'a' ... 'f': case 'A' ... 'F': return 2; case -5 ... -1: return 3; case 1000 ... 2000000000: return 4; default: return 0; } }
static int ukind(unsigned long c) { switch (c) { case 0 ... 0x7fffffffffffffff: return 1; case 0x8000000000000000 ... 0xffffffffffffffff: return 2; } return 3; }
static int narrow(unsigned char c) { switch (c) { case 0 ... 127: return 1; case 128 ... 255: return 2; } return 3; }
static int duff(char *to, const char *from, int n) { int k = (n + 7) / 8; switch (n % 8) { case 0: do { *to++ = *from++; case 7: *to++ = *from++; case 6: *to++ = *from++; case 5: *to++ = *from++; case 4: *to++ = *from++; case 3: *to++ = *from++; case 2: *to++ = *from++; case 1: *to++ = *from++; } while (--k > 0); } return 0; }
static const int table[] = { [0 ... 3] = 1, [5] = 9, [6 ... 7] = 2, [1] = 4, };
static int run(const unsigned char *code) {
    static void *const ops[] = { &&add, &&sub, &&mul, &&end, [4 ... 7] = &&end };

    int acc = 1;
    goto *ops[*code++];
add: acc += *code++; goto *ops[*code++];
sub: acc -= *code++; goto *(&&add + 0 == &&add ? &&end : ops[*code++]);
mul: acc *= *code++; goto *ops[*code++];
end: return acc;
}
static int expr(int v) { void *p = v ? &&yes : &&no; goto *p; yes: return 1; no: return 0; }
static int enumsw(int e) { enum { A, B, C } x = e; switch (x) { case A: return 1; case B ... C: return 2; } return 3; }
static int nested(int a, int b) { switch (a) { case 1: switch (b) { default: return 5; case 1: break; } return 6; case 2: while (1) { switch (b) { case 2: goto out; } b++; } } out: return b; }
static int big(long long v) { switch (v) { case 0x100000000LL: return 1; case -0x100000000LL: return 2; case 0x100000001LL ... 0x1ffffffffLL: return 3; } return 4; }
static int boolsw(_Bool b) { switch (b) { case 0: return 10; case 1: return 11; } return 12; }
int main(void) {
    const unsigned char prog[] = { 0, 5, 2, 3, 1, 4, 3 }; char to[20] = { 0 };
    printf("%d %d %d %d %d %d\n", kind('5'), kind('E'), kind(-3), kind(5000), kind(' '), kind('f'));
    printf("%d %d %d %d\n", ukind(5), ukind(-1UL), narrow(5), narrow(200));
    duff(to, "hello wide world", 13); printf("%s\n", to);
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++) printf("%d ", table[i]);
    printf("\n%d %d %d %d %d\n", run(prog), expr(1), expr(0), enumsw(2), enumsw(0));
    printf("%d %d %d %d %d %d\n", nested(1, 1), nested(1, 2), nested(2, 0), big(1LL << 32), big(-(1LL << 32)), big(0x150000000LL));
    printf("%d\n", boolsw(3));
    return 0;
}
