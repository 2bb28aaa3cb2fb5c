// Objects of any size: a local buffer while they fit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long sum(const int *values, size_t n) {
    long r = 0;
    for (size_t i = 0; i < n; i++) r += values[i];
    return r;
}

static long plain(size_t n) {
    int *v = malloc(n * sizeof(int)); // advise: hybrid
    if (!v) return -1;
    for (size_t i = 0; i < n; i++) v[i] = (int)i;
    long r = sum(v, n);
    free(v);
    return r;
}

static long only_if(size_t n, int wanted) {
    int *v = NULL;
    if (wanted) {
        v = malloc(n * sizeof(int)); // advise: hybrid
        if (!v) return -1;
        memset(v, 1, n * sizeof(int));
    }
    long r = v ? sum(v, n) : 0;
    free(v);
    return r;
}

static size_t copied(const char *s) {
    char *t = strdup(s); // advise: hybrid
    if (!t) return 0;
    for (char *c = t; *c; c++) *c ^= 1;
    size_t r = strlen(t) + (size_t)t[0];
    free(t);
    return r;
}

static long zeroed(unsigned n) {
    long *v = calloc(n, sizeof(long)); // advise: hybrid
    if (!v) return -1;
    if (n) v[n / 2] = 3;
    long r = 0;
    for (unsigned i = 0; i < n; i++) r += v[i];
    free(v);
    return r;
}

static long or_another(size_t n, int *other) {
    int *v = other;
    if (n > 2) {
        v = malloc(n * sizeof(int)); // advise: hybrid
        if (!v) return 0;
        memset(v, 2, n * sizeof(int));
    }
    long r = sum(v, n);
    if (v != other) free(v);
    return r;
}

static long already(size_t n) {
    // A buffer is there already: nothing to say.
    int few[10];
    int *v = few;
    if (n > 10) {
        v = malloc(n * sizeof(int));
        if (!v) return -1;
    }
    for (size_t i = 0; i < n; i++) v[i] = 1;
    long r = sum(v, n);
    if (v != few) free(v);
    return r;
}

int main(void) {
    int other[3] = { 1, 2, 3 };
    for (size_t n = 0; n < 200; n += 33)
        printf("%ld %ld %ld %ld %ld\n", plain(n), only_if(n, n & 1), zeroed((unsigned)n), or_another(n > 2 ? n : 2, other), already(n));
    printf("%zu %zu\n", copied("abc"), copied("a text that is so long that it has no place in any buffer of the usual size: "
        "it goes on and on, and then some more, because it must be longer than two hundred and fifty-six characters, which is "
        "quite a lot of text for somebody who has nothing to say and says it anyway in many words"));
    return 0;
}
