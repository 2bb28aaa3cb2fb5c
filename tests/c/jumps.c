//@ out: 12 11 4 9 4
//@ out: lower upper negative other 0 1
// Labels: computed, in tables, in statement expressions, into blocks; Duff's device; case ranges; asm goto.
extern int printf(const char *, ...);
static int run(const unsigned char *code) {
    static const void *const table[] = { &&push, &&add, &&halt };
    int stack[8], top = 0;
    goto *table[*code++];
push: stack[top++] = *code++; goto *table[*code++];
add: top--; stack[top - 1] += stack[top]; goto *table[*code++];
halt: return stack[0];
}
static int duff(int n) {
    int sum = 0, i = (n + 3) / 4;
    switch (n % 4) {
    case 0: do { sum++; case 3: sum++; case 2: sum++; case 1: sum++; } while (--i > 0);
    }
    return sum;
}
static const char *range(int c) {
    switch (c) { case 'a' ... 'z': return "lower"; case 'A' ... 'Z': return "upper"; case -5 ... -1: return "negative"; default: return "other"; }
}
static int test(int x) {
#if defined __x86_64__
    __asm__ goto("testl %0, %0; jnz %l[set]" : : "r"(x) : "cc" : set);
#else
    if (x) goto set;
#endif
    return 0;
set:
    return 1;
}
int main(void) {
    int i = 0, k = ({ int t = 3; goto inner; t = 9; inner: t + 1; });
    if (k == 4) goto block;
    while (0) { block: i = 5; }
    for (;;) { if (i++ > 7) break; else continue; }
    void *where = &&end;
    printf("%d %d %d %d %d\n", run((const unsigned char *)"\0\5\0\7\1\2"), duff(11), duff(4), i, k);
    printf("%s %s %s %s %d %d\n", range('q'), range('Q'), range(-3), range('1'), test(0), test(8));
    goto *where;
    printf("never\n");
end:
    return 0;
}
