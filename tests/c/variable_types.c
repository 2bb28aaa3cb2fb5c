//@ out: 21 30 3 72 3 10
//@ out: 260 70 10 45 1 19 x 6
// Arrays of variable length: parameters, typedefs, loops, jumps back, recursion.
#include <stdio.h>
#include <string.h>
static int sum(int n, int m, int a[n][m]) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s += a[i][j]; return s; }
static int ptr(int n, int (*p)[n]) { return p[1][n - 1] + (int)sizeof *p + (int)sizeof(int[n]); }
static int star(int n, int a[*]); static int star(int n, int a[n + 0]) { return a[n - 1]; }
static int loop(int n) { int s = 0; for (int i = 1; i <= n; i++) { char b[i]; memset(b, i, sizeof b); s += b[i - 1] + (int)sizeof b; if (i == 3) continue; if (i == 8) break; } return s; }
static int back(int n) { int c = 0; again:; int a[n + c]; a[n + c - 1] = c; if (++c < 4) goto again; return a[n + c - 2]; }
static int td(int n) { typedef int row[n]; row a, *p = &a; n = 100; a[2] = 6; return (int)(sizeof(row) / sizeof(int)) + (*p)[2]; }
static int side(int n) { int k = n; int a[k++]; int b[2][k++]; return (int)(sizeof a / 4) * 100 + (int)(sizeof b / 4) * 10 + (int)sizeof(int[k++]) * 0; }
static int three(int n) { int a[n][n + 1][2]; int (*p)[n + 1][2] = a; p[1][2][1] = 5; return a[1][2][1] + (int)(sizeof a[0]) + (int)(&a[1] - &a[0]) + (int)((char *)&a[1] - (char *)&a[0]); }
struct fl { int n; short d[]; }; static int flex(int n) { char room[sizeof(struct fl) + n * sizeof(short)]; struct fl *f = (struct fl *)room; f->n = n; for (int i = 0; i < n; i++) f->d[i] = i; return f->d[n - 1] + (int)sizeof *f; }
static int rec(int n) { int a[n]; a[0] = n; return n == 1 ? 1 : a[0] + rec(n - 1); }
static void fill(int n, char (*out)[n]) { memset(*out, 'x', sizeof *out); }
static int ternary(int n) { int a[n], b[n]; a[0] = 1; b[0] = 2; return (n > 2 ? a : b)[0]; }
static int qsortish(int n, double m[][n]) { return (int)m[1][0] + (int)sizeof m[0]; }
int main(int argc, char **argv) { (void)argv;
    int a[2][3] = { 1, 2, 3, 4, 5, 6 }; char b[5 + argc]; fill(sizeof b, &b); double m[2][2] = { 1, 2, 3, 4 };
    printf("%d %d %d %d %d %d\n", sum(2, 3, a), ptr(3, a), star(3, a[0]), loop(12), back(3), td(4));
    printf("%d %d %d %d %d %d %c %d\n", side(2), three(3), flex(7), rec(9), ternary(3), qsortish(2, m), b[5], (int)sizeof b);
    for (int i = 0; i < 100000; i++) { char big[1000 + i % 10]; big[0] = i; argc += big[0] & 0; }
    return 0;
}
