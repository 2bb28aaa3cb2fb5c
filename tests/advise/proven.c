// Accesses that are proven by what the size counts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long a_loop(int n) {
    int *v = malloc(n * sizeof(int)); // advise: hybrid proven
    if (!v) return -1;
    for (int i = 0; i < n; i++) v[i] = 3 * i;
    unsigned long r = 0;
    for (int i = n - 1; i >= 0; i--) r = 7 * r + (unsigned)v[i];
    free(v);
    return (long)(r >> 1);
}

static long with_room_for_one_more(int n) {
    long *v = malloc((n + 1) * sizeof *v); // advise: hybrid proven
    if (!v) return -1;
    for (int i = 0; i <= n; i++) v[i] = i;
    long r = n >= 0 ? v[0] : 0;
    free(v);
    return r;
}

static int cleared(unsigned n) {
    short *v = calloc(n, sizeof *v); // advise: hybrid proven
    if (!v) return -1;
    int r = 0;
    for (unsigned i = 0; i < n; i++) r += v[i];
    free(v);
    return r;
}

static int copied(const char *s, size_t n) {
    char *p = malloc(n + 1); // advise: hybrid proven
    if (!p) return -1;
    memcpy(p, s, n);
    p[n] = 0;
    int r = p[n / 2];
    free(p);
    return r;
}

static int copied_bytes(const int *from, int n) {
    int *v = malloc(n * sizeof *v); // advise: hybrid proven
    if (!v) return -1;
    memcpy(v, from, n * sizeof *v);
    int r = 0;
    for (int i = 0; i < n; i++) r += v[i];
    free(v);
    return r;
}

static int masked(int n) {
    char *p = malloc((n & 15) + 1); // advise: stack
    if (!p) return -1;
    p[n & 15] = 'q';
    n = p[n & 15];
    free(p);
    return n;
}

int main(void) {
    int from[100] = { 1, 2, 3 };
    for (int n = 0; n < 100; n += 11)
        printf("%ld %ld %d %d %d %d\n", a_loop(n), with_room_for_one_more(n), cleared((unsigned)n),
               copied("some text that is long enough for all of the sizes that are asked for here, with some room at its end",
                      (size_t)n), copied_bytes(from, n), masked(n));
    return 0;
}
