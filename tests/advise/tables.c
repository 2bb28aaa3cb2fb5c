// Functions that are called through pointers in constant tables.
#include <stdio.h>
#include <stdlib.h>

static int first(char *p) { return p[0]; }
static int mixed(char *p) { p[0] ^= 5; return p[0] + 1; }
static char *same(char *p, int n) { return n & 1 ? p : NULL; }

struct methods {
    const char *name;
    int (*run)(char *);
    char *(*find)(char *, int);
};

static int (*const functions[])(char *) = { first, mixed, first };
static const struct methods all[] = { { "one", first, same }, { .run = mixed, .find = same } };
static const struct methods single = { .run = mixed };

static int by_index(int n) {
    char *p = malloc(8); // advise: stack
    if (!p) return -1;
    p[0] = (char)n;
    n = functions[(unsigned)n % 3](p);
    free(p);
    return n;
}

static int by_field(int n) {
    char *p = malloc(8); // advise: stack
    if (!p) return -1;
    p[0] = (char)n;
    n = all[n & 1].run(p) + single.run(p);
    free(p);
    return n;
}

static int that_returns_it(int n) {
    char *p = malloc(8); // advise: stack
    if (!p) return -1;
    p[0] = (char)n;
    char *q = all[n & 1].find(p, n);
    n = q ? *q : 7;
    free(p);
    return n;
}

int main(void) {
    for (int n = 0; n < 7; n++) {
        printf("%d\n", by_index(n));
        printf("%d\n", by_field(n));
        printf("%d\n", that_returns_it(n));
    }
    return 0;
}
