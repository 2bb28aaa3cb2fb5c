// Sites for which nothing is advised, each with its reason.
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void keeps(void *);
static char *kept;
static jmp_buf buffer;

static void to_a_global(void) {
    char *p = malloc(8); // advise: declined escapes
    kept = p;
}

static void to_an_unknown(void) {
    char *p = malloc(8); // advise: declined not known
    keeps(p);
    free(p);
}

static char *stash(char *p) {
    kept = p;
    return p;
}

static void to_a_known_one(void) {
    char *p = malloc(8); // advise: declined may keep it
    stash(p);
    free(p);
}

static void to_itself(char *p, int n) {
    if (n > 0) to_itself(p, n - 1);
    else kept = p;
}

static void by_recursion(void) {
    char *p = malloc(8); // advise: declined may keep it
    to_itself(p, 3);
    free(p);
}

static char *made_here(void) {
    return malloc(8); // advise: declined returned
}

static int leaks(int n) {
    char *p = malloc(8); // advise: declined leak
    if (n) return 1;
    free(p);
    return 0;
}

static int leaks_in_a_loop(int n) {
    char *p = NULL;
    for (int i = 0; i < n; i++) p = malloc(8); // advise: declined two objects
    free(p);
    return 0;
}

static int grows(void) {
    char *p = malloc(8); // advise: declined resized
    p = realloc(p, 100);
    free(p);
    return 0;
}

static int is_recursive(int n) {
    int *p = malloc(sizeof(int)); // advise: declined may call itself
    if (!p) return 0;
    *p = n;
    int r = n > 0 ? is_recursive(n - 1) + *p : 0;
    free(p);
    return r;
}

static int jumps(void) { // rule: setjmp
    char *p = malloc(8); // advise: declined setjmp
    if (setjmp(buffer)) {
        free(p);
        return 1;
    }
    free(p);
    return 0;
}

static int too_big(void) {
    char *p = malloc(1000); // advise: declined --max-size
    if (!p) return 0;
    p[0] = 1;
    free(p);
    return 1;
}

static uintptr_t as_a_number(void) {
    char *p = malloc(8); // advise: declined number
    uintptr_t n = (uintptr_t)p >> 4;
    free(p);
    return n;
}

static int by_address(void) {
    char *p = malloc(8); // advise: declined address is taken
    char **q = &p;
    **q = 1;
    free(*q);
    return 0;
}

static int off_the_start(void) {
    char *p = malloc(8); // advise: declined pointer into it
    p++;
    free(p);
    return 0;
}

static void wipe_and_free(char *p, size_t n) {
    memset(p, 0, n);
    free(p);
}

static int wiped(void) {
    char *p = malloc(8); // advise: declined more than that
    if (!p) return 0;
    p[0] = 1;
    wipe_and_free(p, 8);
    return 1;
}

static void perhaps(char *p, int n) {
    if (n) free(p);
}

static int freed_perhaps(int n) {
    char *p = malloc(8); // advise: declined some paths
    perhaps(p, n);
    if (!n) free(p);
    return 0;
}

struct node {
    struct node *next;
    int value;
};

static struct node *push(struct node *list, int value) {
    struct node *n = malloc(sizeof *n); // advise: declined returned
    if (!n) abort();
    n->next = list;
    n->value = value;
    return n;
}

static int (*callback)(char *);

static int called_back(void) {
    char *p = malloc(8); // advise: declined through a pointer
    int r = callback(p);
    free(p);
    return r;
}

static int twice(int n) {
    char *a = NULL;
    char *b = NULL;
    for (int i = 0; i < 2; i++) {
        b = a;
        a = malloc(8); // advise: declined two objects
        if (!a) return 0;
        a[0] = (char)n;
    }
    n = a[0] + b[0];
    free(a);
    free(b);
    return n;
}

int main(int argc, char **argv) {
    (void)argv;
    to_a_global();
    to_an_unknown();
    to_a_known_one();
    by_recursion();
    push(NULL, 1);
    callback = NULL;
    return leaks(argc) + leaks_in_a_loop(1) + grows() + is_recursive(2) + jumps() + too_big() + (int)as_a_number() + by_address() +
           off_the_start() + wiped() + freed_perhaps(1) + (made_here() != NULL) + called_back() + twice(1);
}
