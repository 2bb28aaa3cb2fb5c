// Patches where the preprocessor has a say.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEW(n) malloc(n)
#define NEW_INT() malloc(sizeof(int))
#define RELEASE(p) free(p)
#define DROP(p) do { free(p); (p) = NULL; } while (0)
#define CHECK(x) if (!(x)) printf("line %d\n", __LINE__)

static char *kept;

static int by_macros(int n) {
    char *p = NEW(16); // advise: stack proven
    if (!p) return -1;
    memset(p, n, 16);
    CHECK(p[3] == n);
    n = p[3];
    RELEASE(p);
    CHECK(n == 100);
    return n;
}

static int all_in_a_macro(int n) {
    int *p = NEW_INT(); // advise: stack nopatch
    if (!p) return -1;
    *p = n;
    n = *p;
    free(p);
    return n;
}

static int dropped(int n) {
    char *p = malloc(4); // advise: stack nopatch
    if (!p) return -1;
    p[0] = (char)n;
    n = p[0];
    DROP(p);
    return n + (p == NULL);
}

static int other_branch(int n) {
    char *p = malloc(8); // advise: stack proven
    if (!p) return -1;
#ifdef NOT_DEFINED_ANYWHERE
    memset(p, 0, 8);
#else
    memset(p, n, 8);
#endif
    n = p[7];
    free(p);
    return n;
}

static int other_branch_keeps(int n) {
    char *p = malloc(8); // advise: stack nopatch
    if (!p) return -1;
    p[0] = (char)n;
#if defined(NOT_DEFINED_ANYWHERE)
    kept = p;
    return 0;
#endif
    n = p[0];
    free(p);
    return n;
}

static long with_effects(int n) {
    char *p = malloc(n++ + 3); // advise: stack nopatch
    if (!p) return -1;
    p[0] = (char)n;
    n += p[0];
    free(p);
    return n;
}

static int past_the_buffer(int n) {
    if (n == 2) goto out;
    char *p = malloc(8); // advise: stack proven
    if (!p) return -1;
    p[0] = (char)n;
    n = p[0];
    free(p);
out:
    return n;
}

static int in_a_switch(int n) {
    int r = 0;
    switch (n) {
        char *p;
    case 0:
        r = 1;
        break;
    default:
        p = malloc(4); // advise: stack proven
        if (!p) break;
        p[1] = (char)n;
        r = p[1];
        free(p);
    }
    return r;
}

static int in_a_for(int n) {
    int r = 0;
    for (char *p = malloc(4); p; p = NULL) { // advise: stack proven
        p[2] = (char)n;
        r += p[2];
        free(p);
    }
    return r;
}

static int in_one_line(int n) { int *p = malloc(sizeof *p); if (!p) return 0; *p = n; n = *p; free(p); return n; } // advise: stack proven

static int size_of_the_pointer(int n) {
    char *p = malloc(12); // advise: stack proven
    if (!p) return 0;
    memset(p, n, sizeof p);
    n = p[sizeof p - 1] + (int)sizeof p;
    free(p);
    p = NULL;
    return n + (p == NULL);
}

static int old_style(n)
int n;
{
    short *p = (short *)calloc(4, sizeof(short)); /* declared first */ // advise: stack proven
    if (!p) return 0;
    p[1] = (short)n;
    n = p[0] + p[1] + p[2] + p[3];
    free((void *)p);
    return n;
}

int main(void) {
    for (int n = 0; n < 4; n++)
        printf("%d %d %d %d %d %ld %d %d %d %d %d %d\n", by_macros(n), all_in_a_macro(n), dropped(n), other_branch(n), other_branch_keeps(n),
               with_effects(n), past_the_buffer(n), in_a_switch(n), in_a_for(n), in_one_line(n), size_of_the_pointer(n), old_style(n));
    return kept != NULL;
}
