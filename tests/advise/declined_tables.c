// Functions that are called through pointers in tables, one of which keeps what it gets or is not
// known.
#include <stdlib.h>

static char *kept;
extern int unknown(char *);
static int first(char *p) { return p[0]; }
static int keeping(char *p) { kept = p; return 1; }
static int freeing(char *p) { free(p); return 1; }

struct methods {
    int n;
    int (*run)(char *);
};

// rule: table
static int (*const one_keeps[])(char *) = { first, keeping };
static int (*const one_frees[])(char *) = { first, freeing };
static int (*const one_is_unknown[])(char *) = { first, unknown };
static int (*changes[])(char *) = { first, first };
__attribute__((weak)) int (*const replaced[])(char *) = { first };
static const struct methods in_a_field[] = { { 1, first }, { 2, keeping } };

int through_one_that_keeps(int n) {
    char *p = malloc(8); // advise: declined which may keep or free it
    if (!p) return -1;
    n = one_keeps[n & 1](p);
    free(p);
    return n;
}

int through_one_that_frees(int n) {
    char *p = malloc(8); // advise: declined
    if (!p) return -1;
    n = one_frees[n & 1](p);
    free(p);
    return n;
}

int through_one_that_is_unknown(int n) {
    char *p = malloc(8); // advise: declined
    if (!p) return -1;
    n = one_is_unknown[n & 1](p);
    free(p);
    return n;
}

int through_one_that_changes(int n) {
    char *p = malloc(8); // advise: declined called through a pointer
    if (!p) return -1;
    n = changes[n & 1](p);
    free(p);
    return n;
}

int through_one_that_is_replaced(int n) {
    char *p = malloc(8); // advise: declined called through a pointer
    if (!p) return -1;
    n = replaced[0](p);
    free(p);
    return n;
}

int through_a_field(int n) {
    char *p = malloc(8); // advise: declined
    if (!p) return -1;
    n = in_a_field[n & 1].run(p);
    free(p);
    return n;
}

void change(int (*to)(char *)) { changes[0] = to; }
