// Sizes that callers pass, over recursion, and that functions return.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int width(void) { return 12; }

static int least(int n, int most) { return n < most ? n : most; }

static int clamped(int n, int low, int high) {
    if (n < low) return low;
    return n > high ? high : n;
}

static int between(int n) {
    int size = clamped(n, 3, 31);
    char *p = malloc(size); // advise: stack proven
    if (!p) return -1;
    p[2] = (char)n;
    n = p[2];
    free(p);
    return n;
}

static int from_a_function(int c) {
    int size = width();
    char *p = malloc(size); // advise: stack proven
    if (!p) return -1;
    memset(p, c, 12);
    int r = p[11];
    free(p);
    return r;
}

static int cut_by_a_function(int n) {
    int used = least(n & 1023, 40) + least(7, n & 1);
    char *p = malloc(used + 1); // advise: stack proven
    if (!p) return -1;
    p[used] = 'q';
    int r = p[used];
    free(p);
    return r;
}

// rule: results-fixed
static int digits(int n) {
    if (n <= 0) return 4;
    int more = digits(n - 1);
    return more < 20 ? more + 4 : more;
}

static int from_recursion(int n) {
    int size = digits(n);
    char *p = malloc(size); // advise: stack
    if (!p) return -1;
    memset(p, n, size);
    int r = p[size - 1] + size;
    free(p);
    return r;
}

static int even(int n);
static int odd(int n) { return n <= 0 ? 7 : even(n - 1); }
static int even(int n) { return n <= 0 ? 9 : odd(n - 1); }

static int from_two(int n) {
    int size = even(n);
    char *p = malloc(size); // advise: stack proven
    if (!p) return -1;
    memset(p, n, 7);
    int r = p[6];
    free(p);
    return r;
}

static int scratch(int size, int n) {
    char *p = malloc(size); // advise: stack
    if (!p) return -1;
    memset(p, n, size);
    int r = p[size - 1];
    free(p);
    return r;
}

static int unchanged(int size, int deep) {
    int r = scratch(size, deep);
    return deep > 0 ? r + unchanged(size, deep - 1) : r;
}

static int smaller(int size) {
    if (size <= 0) return 0;
    return scratch(size, size) + smaller(size - 4);
}

static int larger_scratch(int size, int n) {
    char *p = malloc(size); // advise: hybrid
    if (!p) return -1;
    memset(p, n, size);
    int r = p[size - 1];
    free(p);
    return r;
}

// rule: parameters-fixed
static int larger(int size, int deep) {
    int r = larger_scratch(size, deep);
    return deep > 0 ? r + larger(size + 8, deep - 1) : r;
}

static int early_scratch(int size) {
    char *p = malloc(size); // advise: hybrid
    if (!p) return -1;
    memset(p, size, size);
    int r = p[size - 1];
    free(p);
    return r;
}

// rule: unseen
__attribute__((constructor)) static void early(void) { printf("%d\n", early_scratch(100)); }

// rule: replaced
__attribute__((weak)) int replaced(void) { return 8; }

static int from_a_weak_function(int n) {
    int size = replaced();
    char *p = malloc(size); // advise: hybrid
    if (!p) return -1;
    p[0] = (char)n;
    n = p[0];
    free(p);
    return n;
}

int main(void) {
    for (int n = -3; n < 50; n += 7)
        printf("%d %d %d %d %d\n", between(n), from_a_function(n), cut_by_a_function(n), from_recursion(n), from_two(n));
    printf("%d %d %d %d %d\n", unchanged(24, 5), smaller(40), larger(8, 20), early_scratch(8), from_a_weak_function(6));
    return 0;
}
