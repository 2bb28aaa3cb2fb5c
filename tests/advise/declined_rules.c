// One site for each rule that keeps an object in the heap: without the rule something would be
// advised for it. `rule:` names the rule (crates/advise/src/rules.rs).
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct box {
    int n;
    char *data;
};

extern char *from_outside(void);
extern struct box box_from_outside(void);
extern void by_address(char **);
extern void expect(char *);

static char *kept;
static const void *kept_element;

static void keep(char *p) {
    kept = p;
}

static char *same(char *p) {
    return p;
}

static void drop(char *p) {
    if (p) free(p);
}

int where_taken(void) { // rule: stored-where-taken rule: address-taken
    char *q = NULL;
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    q = p;
    by_address(&q);
    free(p);
    return 1;
}

int in_a_global(void) { // rule: stored-in-global
    char *p = malloc(8); // advise: declined global
    if (!p) return 0;
    kept = p;
    kept[0] = 1;
    free(p);
    kept = NULL;
    return 1;
}

int in_memory(struct box *b) { // rule: stored-in-memory
    char *p = malloc(8); // advise: declined memory
    if (!p) return 0;
    b->data = p;
    b->data[0] = 1;
    b->data = NULL;
    free(p);
    return 1;
}

uintptr_t as_a_number(void) { // rule: number
    char *p = malloc(8); // advise: declined number
    uintptr_t n = (uintptr_t)p >> 4;
    free(p);
    return n;
}

unsigned as_a_narrow_number(void) { // rule: narrow-number
    char *p = malloc(8); // advise: declined number
    unsigned n = (unsigned)(uintptr_t)p;
    free(p);
    return n;
}

int in_a_copied_struct(void) { // rule: struct-copied
    struct box b;
    b.n = 1;
    b.data = malloc(8); // advise: declined copied
    if (!b.data) return 0;
    b.data[0] = 1;
    struct box c = b;
    int r = c.data[0] + c.n;
    free(b.data);
    return r;
}

static int look(struct box b) {
    return b.data[0];
}

int in_a_passed_struct(void) { // rule: struct-passed
    struct box b;
    b.n = 1;
    b.data = malloc(8); // advise: declined passed
    if (!b.data) return 0;
    b.data[0] = 1;
    int r = look(b);
    free(b.data);
    return r;
}

int in_assembly(void) { // rule: not-followed
    char *p = malloc(8); // advise: declined not followed
    if (!p) return 0;
    __asm__ volatile("" : : "r"(p) : "memory");
    free(p);
    return 1;
}

int two_alive(int n) { // rule: again
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

int resized(int n) { // rule: resized
    char *p = malloc(8); // advise: declined resized
    if (!p) return 0;
    if (n > 5) {
        p = realloc(p, 100);
        free(p);
        return 1;
    }
    free(p);
    return 0;
}

int freed_inside(int n) { // rule: inside-freed
    char *p = malloc(8); // advise: declined pointer into it
    if (!p) return 0;
    char *q = p + (n & 3);
    if (n & 1) {
        free(q - (n & 3));
        return 1;
    }
    free(p);
    return 0;
}

static void keep_rest(const char *text, ...) {
    va_list list;
    va_start(list, text);
    kept = va_arg(list, char *);
    va_end(list);
}

int among_variable(void) { // rule: variable rule: variable-body
    char *p = malloc(8); // advise: declined variable arguments
    if (!p) return 0;
    keep_rest("p", p);
    free(p);
    return 1;
}

static void pass_list(const char *text, ...) {
    extern void list_to_outside(const char *, va_list);
    va_list list;
    va_start(list, text);
    list_to_outside(text, list);
    va_end(list);
}

int in_a_list_that_is_passed_on(void) {
    char *p = malloc(8); // advise: declined passes its list
    if (!p) return 0;
    pass_list("p", p);
    free(p);
    return 1;
}

int kept_by_a_callee(void) { // rule: callee-keeps
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    keep(p);
    free(p);
    return 1;
}

static void perhaps_free(char *p, int n) {
    if (n & 1) free(p);
}

int freed_by_a_callee_perhaps(int n) { // rule: callee-sometimes
    char *p = malloc(8); // advise: declined some paths
    if (!p) return 0;
    perhaps_free(p, n);
    if (n & 1) exit(3);
    free(p);
    return 1;
}

int called_back(int (*callback)(char *)) { // rule: pointer-call
    char *p = malloc(8); // advise: declined through a pointer
    if (!p) return 0;
    int r = callback(p);
    free(p);
    return r;
}

int to_an_unknown(void) { // rule: unknown-call
    char *p = malloc(8); // advise: declined not known
    if (!p) return 0;
    strcpy(p, "a=b");
    putenv(p);
    free(p);
    return 1;
}

static int compare_and_keep(const void *a, const void *b) {
    kept_element = a;
    return *(const char *)a - *(const char *)b;
}

int sorted_by_what_keeps(void) { // rule: comparator
    char *p = malloc(8); // advise: declined may keep
    if (!p) return 0;
    memset(p, 1, 8);
    qsort(p, 8, 1, compare_and_keep);
    free(p);
    return 1;
}

int end_of_number(void) { // rule: lent
    char *p = malloc(8); // advise: declined stores a pointer
    if (!p) return 0;
    char *end;
    char **where = &end;
    strcpy(p, "12");
    long r = strtol(p, where, 10);
    kept = *where;
    free(p);
    return (int)r;
}

int found_perhaps(void) { // rule: perhaps
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    strcpy(p, "key");
    char *q = strchr(p, '=');
    if (!q) {
        keep(p);
        free(p);
        return 1;
    }
    free(p);
    return 0;
}

static void keep_if_equal(char *a, char *b) {
    if (a == b) kept = a;
}

int under_two_names(void) { // rule: two-names
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    keep_if_equal(p, p);
    free(p);
    return 1;
}

int after_a_test(void) { // rule: stale-test
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    char *q = from_outside();
    int none = q == NULL;
    q = p;
    if (none) keep(p);
    free(q);
    return 1;
}

int many_paths(int n) { // rule: full
    char *p = malloc(8); // advise: declined too many paths
    char *a = NULL, *b = NULL, *c = NULL, *d = NULL, *e = NULL, *f = NULL, *g = NULL, *h = NULL;
    if (!p) return 0;
    if (n & 1) a = p;
    if (n & 2) b = p;
    if (n & 4) c = p;
    if (n & 8) d = p;
    if (n & 16) e = p;
    if (n & 32) f = p;
    if (n & 64) g = p;
    if (n & 128) h = p;
    if (a && b && c && d && e && f && g && h) keep(p);
    free(p);
    return 1;
}

int in_a_volatile(void) { // rule: volatile
    char *p = malloc(8); // advise: declined
    if (!p) return 0;
    char *volatile q = p;
    q[0] = 1;
    q = NULL;
    free(p);
    return 1;
}

int in_a_union(void) { // rule: union
    union {
        char *c;
        long l;
    } u;
    char *p = malloc(8); // advise: declined
    if (!p) return 0;
    u.c = p;
    int r = (int)(u.l >> 4);
    free(p);
    return r;
}

int in_a_lost_struct(void) { // rule: parts
    struct box b;
    b.data = malloc(8); // advise: declined leak
    if (!b.data) return 0;
    b = box_from_outside();
    free(b.data);
    return 1;
}

int returned_by_the_library(void) { // rule: known-returns
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    keep(strcpy(p, "x"));
    free(p);
    return 1;
}

int returned_by_a_callee(void) { // rule: callee-returns
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    keep(same(p));
    free(p);
    return 1;
}

char *returned(int n) { // rule: returned
    char *p = malloc(8); // advise: declined returned
    if (n & 1) {
        free(p);
        return NULL;
    }
    return p;
}

char *returned_inside(int n) { // rule: returned-inside
    char *p = malloc(8); // advise: declined pointer into it
    if (n & 1) {
        free(p);
        return NULL;
    }
    return p + 1;
}

int left(int n) { // rule: left
    char *p = malloc(8); // advise: declined leak
    if (n) return 1;
    free(p);
    return 0;
}

static int releases;

static void count_and_free(char *p) {
    releases++;
    free(p);
}

int released_with_more(void) { // rule: plain-release
    char *p = malloc(8); // advise: declined more than that
    if (!p) return 0;
    p[0] = 1;
    count_and_free(p);
    return releases;
}

int recursive(int n) { // rule: recursive
    int *p = malloc(sizeof(int)); // advise: declined may call itself
    if (!p) return 0;
    *p = n;
    int r = n > 0 ? recursive(n - 1) + *p : 0;
    free(p);
    return r;
}

void in_no_variable(void) { // rule: no-variable
    drop(malloc(8)); // advise: declined no variable
}

int above_the_limit(void) { // rule: too-big
    char *p = malloc(100); // advise: declined --max-size
    if (!p) return 0;
    p[0] = 1;
    free(p);
    return 1;
}

int never_fits(int n) { // rule: never-fits
    char *p = malloc((size_t)(n & 15) + 300); // advise: declined never fits
    if (!p) return 0;
    p[0] = 1;
    free(p);
    return 1;
}

static void takes_its_address(char *p) {
    char **q = &p;
    kept = *q;
}

int to_a_taken_parameter(void) { // rule: taken-parameter
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    takes_its_address(p);
    free(p);
    return 1;
}

static void first_keeper(char *p, int n);
static void around(char *p, int n);

static void first_keeper(char *p, int n) {
    if (n > 0) around(p, n - 1);
    else kept = p;
}

static void around(char *p, int n) {
    first_keeper(p, n);
}

int by_recursion(void) { // rule: fixed-point
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    around(p, 3);
    free(p);
    return 1;
}

static void keep_number(uintptr_t n) {
    kept = (char *)n;
}

int to_a_number_parameter(void) { // rule: number-parameter
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    keep_number((uintptr_t)p);
    free(p);
    return 1;
}

int to_one_named_like_a_builtin(void) { // rule: builtin-name
    char *p = malloc(8); // advise: declined not known
    if (!p) return 0;
    expect(p);
    free(p);
    return 1;
}

int in_another_branch(void) { // rule: other-branches
    char *p = malloc(8); // advise: stack nopatch
    if (!p) return 0;
    p[0] = 1;
#ifdef NEVER
    kept = p;
#endif
    free(p);
    return 1;
}

#define SHOWN(x) (puts(#x), (x))

int in_a_macro_that_shows_it(void) { // rule: planned
    char *p = SHOWN(malloc(8)); // advise: stack nopatch
    if (!p) return 0;
    p[0] = 1;
    free(p);
    return 1;
}

static size_t next_size(void) {
    static size_t n;
    return ++n;
}

int with_an_effect_in_the_size(void) { // rule: pure-size
    char *p = malloc(next_size()); // advise: hybrid nopatch
    if (!p) return 0;
    p[0] = 1;
    free(p);
    return 1;
}

int with_an_effect_in_the_release(void) { // rule: pure-release
    char *p = malloc(8); // advise: stack nopatch
    if (!p) return 0;
    p[0] = 1;
    free((releases++, p));
    return 1;
}
