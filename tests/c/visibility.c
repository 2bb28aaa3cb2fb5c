//@ out: 3 4
// Visibility by pragma, where it is visible anyway, and by attribute.
extern int printf(const char *, ...);
#pragma GCC visibility push(default)
int seen(int x) { return x + 1; }
#pragma GCC visibility pop
__attribute__((visibility("hidden"))) int hidden(int x) { return x + 2; }
int main(void) { printf("%d %d\n", seen(2), hidden(2)); return 0; }
