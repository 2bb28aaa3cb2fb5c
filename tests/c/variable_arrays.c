//@ out: 16 12 10 20 10 3
//@ out: 2 3
//@ out: 48 16 11 20 22 3
//@ out: 2 4
//@ out: 96 20 12 20 36 3
//@ out: 2 5
//@ out: 10 4 24 1
//@ out: 1
// Arrays whose length is computed: locals, parameters, types, in loops and behind jumps.
extern int printf(const char *, ...);
extern void *memset(void *, int, unsigned long);
static int sum(int n, int m, int a[n][m]) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s += a[i][j]; return s; }
static int old(a, n) int n; int a[n]; { int s = 0; while (n--) s += a[n]; return s; }
static unsigned long sz(int n, char b[][n + 1]) { return sizeof *b; }
int main(void) {
    int n = 3;
    for (int k = 1; k < 4; k++) {
        int a[n + k][k];
        int (*row)[k] = a;
        typedef int T[n++];
        T t;
        for (int i = 0; i < (int)(sizeof a / sizeof a[0]); i++) for (int j = 0; j < k; j++) a[i][j] = i * 10 + j;
        for (unsigned i = 0; i < sizeof t / sizeof *t; i++) t[i] = i;
        printf("%lu %lu %d %d %d %d\n", sizeof a, sizeof(T), row[1][k - 1], (*(row + 2))[0], sum(2, k, a), old(t, 3));
        printf("%ld %lu\n", (long)(&a[2] - &a[0]), sizeof(char[k + 2]));
    }
    char buf[n][4];
    char c[n];
    memset(c, 1, sizeof c);
    int i = 0;
again:;
    int v[i + 1];
    v[i] = i;
    if (++i < 5) goto again;
    printf("%lu %d %lu %d\n", sz(9, (char (*)[10])c), v[4], sizeof buf, c[n - 1]);
    int x = ({ int w[n]; w[0] = 5; w[0]; });
    switch (x) { case 5: { int q[x]; q[4] = 1; printf("%d\n", q[4]); break; } }
    return 0;
}
