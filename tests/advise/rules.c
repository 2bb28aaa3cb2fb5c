// One site for each rule about sizes, proofs and patches. `rule:` names the rule
// (crates/advise/src/rules.rs).
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    int a, b;
};

struct row {
    int v[4];
};

struct message {
    int n;
    char text[];
};

static void fill(char *p, int n, int with) {
    for (int i = 0; i < n; i++) p[i] = (char)(with + i);
}

int exported(size_t m) { // rule: exported
    char *p = malloc(m); // advise: hybrid
    if (!p) return 0;
    p[0] = (char)m;
    int r = p[0];
    free(p);
    return r;
}

static int addressed(size_t m) { // rule: addressed
    char *p = malloc(m); // advise: hybrid
    if (!p) return 0;
    memset(p, 1, m);
    int r = p[m / 2];
    free(p);
    return r;
}

static int (*volatile pointer)(size_t) = addressed;

static char *other_heap(int n) {
    char *p = malloc(100); // advise: declined returned
    if (!p) return NULL;
    p[0] = (char)n;
    return p;
}

static int either(int n) { // rule: other-freed
    char *p = n & 1 ? other_heap(n) : malloc(8); // advise: stack has:!= p_buffer
    if (!p) return 0;
    p[0] = (char)n;
    int r = p[0];
    free(p);
    return r;
}

static int with_a_cast(int n) { // rule: cast-align
    char *p = malloc(sizeof(double)); // advise: stack has:_Alignas(16)
    if (!p) return -1;
    *(double *)p = n * 0.5;
    n = (int)*(double *)p;
    free(p);
    return n;
}

static double put(char *p, int n) {
    *(double *)p = n * 0.25;
    return *(double *)p;
}

static int with_a_cast_in_a_callee(int n) { // rule: callee-align
    char *p = malloc(sizeof(double)); // advise: stack has:_Alignas(16)
    if (!p) return -1;
    n = (int)put(p, n);
    free(p);
    return n;
}

static int zeroes(int n) { // rule: zeroes
    int r = 0;
    for (int i = 0; i < 3; i++) {
        int *v = calloc(4, sizeof(int)); // advise: stack has:memset
        if (!v) return -1;
        r += v[0] + v[1] + v[2] + v[3];
        for (int k = 0; k < 4; k++) v[k] = n + k;
        free(v);
    }
    return r;
}

static long counted_zeroes(size_t n) { // rule: division
    long *v = calloc(n, sizeof(long)); // advise: hybrid has:/
    if (!v) return -1;
    long r = 0;
    for (size_t i = 0; i < n; i++) r += v[i] + (long)i;
    free(v);
    return r;
}

static int copied(const char *s) { // rule: terminator
    char *t = strdup(s); // advise: hybrid has:<
    if (!t) return -1;
    int r = (int)strlen(t) + t[0];
    free(t);
    return r;
}

static int out_of_its_block(int n) { // rule: scope
    int *q = NULL;
    {
        int *p = malloc(sizeof(int)); // advise: stack
        if (!p) return -1;
        *p = n;
        q = p;
    }
    {
        volatile int others[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        n += others[n & 7];
    }
    n += *q;
    free(q);
    return n;
}

static int some_in_the_heap(size_t n) { // rule: hybrid-release
    char *p = malloc(n); // advise: hybrid has:!= p_buffer
    if (!p) return -1;
    memset(p, 1, n);
    int r = p[n - 1];
    free(p);
    return r;
}

static int with_a_name_that_is_taken(int n) { // rule: fresh-name
    char p_buffer[4] = "ab";
    char *p = malloc(8); // advise: stack
    if (!p) return -1;
    memset(p, n, 8);
    int r = p[3] + p_buffer[0];
    free(p);
    return r;
}

static int two_sites_of_one_variable(int n) {
    char *p;
    int r = 0;
    if (n & 1) {
        p = malloc(8); // advise: stack
        if (!p) return -1;
        memset(p, n, 8);
        r = p[7];
        free(p);
    } else {
        p = malloc(16); // advise: stack
        if (!p) return -1;
        memset(p, n, 16);
        r = p[15];
        free(p);
    }
    return r;
}

static int with_more_behind(int n) { // rule: extended
    struct message *m = malloc(sizeof *m + (size_t)n); // advise: hybrid has:_Alignas(16)
    if (!m) return -1;
    m->n = n;
    for (int i = 0; i < n; i++) m->text[i] = (char)i;
    int r = m->n + m->text[n - 1];
    free(m);
    return r;
}

long counted_up(int n, int m) { // rule: lasts
    int *v = malloc(n * sizeof *v); // advise: hybrid likely
    if (!v) return 0;
    n += 3;
    long r = 0;
    for (int i = 0; i < n && i < m; i++) {
        v[i] = i;
        r += v[i];
    }
    free(v);
    return r;
}

long wrapped(unsigned n, unsigned m) { // rule: wraps
    int *v = malloc(n * 4u); // advise: hybrid likely
    if (!v) return 0;
    for (unsigned i = 0; i < n; i++) v[i] = (int)(i + m);
    long r = n ? v[0] : 0;
    free(v);
    return r;
}

long up_to_the_end(int n, int m) { // rule: below
    int *v = malloc(n * sizeof *v); // advise: hybrid likely
    if (!v) return 0;
    for (int i = 0; i <= n && i < m; i++) v[i] = i;
    long r = m;
    free(v);
    return r;
}

long by_its_factor(size_t n, unsigned m) { // rule: factor
    int *v = malloc(n * sizeof *v); // advise: hybrid proven has:/ sizeof *v
    if (!v) return 0;
    long r = 0;
    for (unsigned i = 0; i < n && i < m; i++) v[i] = (int)i;
    for (unsigned i = 0; i < n && i < m; i++) r += v[i];
    free(v);
    return r;
}

static int filled(int n) { // rule: open
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    fill(p, 16, n);
    n = p[3];
    free(p);
    return n;
}

static int set_off_the_start(int n) { // rule: from-start
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    p[0] = 1;
    if (n > 1000) memset(p + 1, 0, 16);
    n = p[0];
    free(p);
    return n;
}

static int set_too_much(int n) { // rule: bound
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    p[0] = 1;
    if (n > 1000) memset(p, 0, 17);
    n = p[0];
    free(p);
    return n;
}

static int above(int n) { // rule: upper
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    p[0] = 1;
    if (n > 1000) p[n & 31] = 3;
    n = p[0];
    free(p);
    return n;
}

static int below(int n) { // rule: lower
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    p[0] = 1;
    if (n > 1000) p[-1] = 3;
    n = p[0];
    free(p);
    return n;
}

static int half_a_struct(int n) { // rule: field-offset
    struct pair *p = malloc(4); // advise: stack likely
    if (!p) return -1;
    p->a = n;
    if (n > 1000) p->b = 1;
    n = p->a;
    free(p);
    return n;
}

static int half_an_array(int n) { // rule: index-range
    struct row *p = malloc(8); // advise: stack likely
    if (!p) return -1;
    p->v[0] = n;
    if (n > 1000) p->v[2] = 1;
    n = p->v[0];
    free(p);
    return n;
}

static int smallest(int n) { // rule: least
    char *p = malloc((size_t)(n & 15) + 1); // advise: stack likely
    if (!p) return -1;
    p[0] = 1;
    if (n > 1000) p[15] = 1;
    n = p[0];
    free(p);
    return n;
}

static int by_first(const void *a, const void *b) {
    return *(const char *)a - *(const char *)b;
}

static int sorted(int n) {
    char *p = malloc(8); // advise: stack likely
    if (!p) return -1;
    for (int i = 0; i < 8; i++) p[i] = (char)((i * 5 + n) & 7);
    qsort(p, 8, 1, by_first);
    n = p[0] * 10 + p[7];
    free(p);
    return n;
}

static void say(const char *text, ...) {
    va_list list;
    va_start(list, text);
    vprintf(text, list);
    va_end(list);
}

static int said(int n) {
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    snprintf(p, 16, "%d", n);
    say("<%s>", p);
    n = p[0];
    free(p);
    return n;
}

static int as_a_long(int n) {
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    snprintf(p, 16, "%d", n);
    n = (int)strtol(p, NULL, 10);
    free(p);
    return n;
}

static char *same(char *p) {
    return p;
}

static int freed_by_another_name(int n) {
    char *p = malloc(8); // advise: stack proven
    if (!p) return -1;
    char *q = same(p);
    q[0] = (char)n;
    n = q[0];
    free(q);
    return n;
}

static int unlikely_to_fail(int n) {
    char *p = malloc(8); // advise: stack proven
    if (__builtin_expect(!p, 0)) return -1;
    p[0] = (char)n;
    n = p[0];
    free(p);
    return n;
}

int main(void) {
    static char text[257];
    memset(text, 'x', 256);
    for (int n = 1; n < 6; n++) {
        printf("%d %d %d %d %d %d\n", exported(8), pointer(100), addressed(8), either(n), with_a_cast(n), with_a_cast_in_a_callee(n));
        printf("%d %ld %ld %d %d %d\n", zeroes(n), counted_zeroes(n), counted_zeroes(100), copied("a"), copied(text), out_of_its_block(n));
        printf("%d %d %d %d %d %d\n", some_in_the_heap(n), some_in_the_heap(1000), with_a_name_that_is_taken(n),
               two_sites_of_one_variable(n), with_more_behind(n), with_more_behind(400));
        printf("%d %d %d %d %d %d %d %d\n", filled(n), set_off_the_start(n), set_too_much(n), above(n), below(n), half_a_struct(n),
               half_an_array(n), smallest(n));
        printf("%ld %ld %ld %ld %ld\n", counted_up(n, n), wrapped((unsigned)n, 3), up_to_the_end(n, n), by_its_factor((size_t)n, 9), by_its_factor(100, 200));
        printf("%d %d %d %d %d\n", sorted(n), said(n), as_a_long(n), freed_by_another_name(n), unlikely_to_fail(n));
    }
    return 0;
}
