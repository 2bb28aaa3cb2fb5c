// Objects that are followed through variables whose address is passed, arrays, callbacks, and lists
// of arguments; and strings whose length the size counts.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    int a, b;
};

static void first_is(char **p, char c) {
    if (!p || !*p) return;
    **p = c;
    (*p)[1] = 0;
}

static int by_address(int n) {
    char *p = malloc(8); // advise: stack likely
    if (!p) return -1;
    first_is(&p, (char)('a' + n));
    int r = p[0] + p[1];
    free(p);
    return r;
}

static void set_long(long **p, long n) {
    **p = n;
}

static long by_address_aligned(long n) {
    void *p = malloc(sizeof(long)); // advise: stack likely has:_Alignas(16)
    if (!p) return -1;
    set_long((long **)&p, n);
    n = *(long *)p;
    free(p);
    return n;
}

static long end_of_number(int n) {
    char *end;
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    snprintf(p, 16, "%dx", n);
    long r = strtol(p, &end, 10);
    r = r * 10 + (*end == 'x');
    free(p);
    return r;
}

static int in_an_array(int n) {
    char *all[2] = { NULL, NULL };
    all[0] = malloc(8); // advise: stack proven
    if (!all[0]) return -1;
    all[1] = malloc(16); // advise: stack proven
    if (!all[1]) {
        free(all[0]);
        return -1;
    }
    memset(all[0], n, 8);
    memcpy(all[1], all[0], 8);
    n = all[1][7];
    free(all[0]);
    free(all[1]);
    return n;
}

static int apply(char *p, int n, int (*function)(char *, int)) {
    return function(p, n) + 1;
}

static int last_of(char *p, int n) {
    p[n] = (char)n;
    return p[n];
}

static int apply_deeper(char *p, int n, int (*function)(char *, int)) {
    return n > 5 ? apply_deeper(p, n - 1, function) : apply(p, n, function);
}

static int called_back(int n) {
    char *p = malloc(8); // advise: stack likely
    if (!p) return -1;
    n = apply_deeper(p, n & 7, last_of);
    free(p);
    return n;
}

static int chosen_here(int n) {
    int (*function)(char *, int) = last_of;
    char *p = malloc(8); // advise: declined through a pointer
    if (!p) return -1;
    n = function(p, n & 7);
    free(p);
    return n;
}

static int to_list(char *to, const char *text, va_list list) {
    return vsnprintf(to, 32, text, list);
}

static int print(char *to, const char *text, ...) {
    va_list list;
    va_start(list, text);
    int r = to_list(to, text, list);
    va_end(list);
    return r;
}

static int in_a_list(int n) {
    char to[32];
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    snprintf(p, 16, "<%d>", n);
    n = print(to, "%s%s", p, p) + to[1];
    free(p);
    return n;
}

static void put(struct pair *p, int n) {
    p->a = n;
    p->b = n + 1;
}

static int put_by_a_callee(int n) {
    struct pair *p = malloc(sizeof *p); // advise: stack proven
    if (!p) return -1;
    put(p, n);
    n = p->a * p->b;
    free(p);
    return n;
}

int half_for_a_callee(int n) { // rule: first-bytes
    struct pair *p = malloc(n > 1000 ? 4 : 8); // advise: stack likely
    if (!p) return -1;
    put(p, n);
    n = p->a;
    free(p);
    return n;
}

static int some(const char *p, int n) {
    return p[n];
}

static int read_by_a_callee(int n) { // rule: callee-open
    char *p = calloc(8, 1); // advise: stack likely
    if (!p) return -1;
    n = some(p, n & 7);
    free(p);
    return n;
}

static void clear(char *p, size_t n) {
    memset(p, 0, n);
}

static int cleared_by_a_callee(size_t n) {
    char *p = malloc(n); // advise: hybrid proven
    if (!p) return -1;
    clear(p, n);
    int r = n > 3 ? p[3] : 9;
    free(p);
    return r;
}

int copied(const char *s) {
    char *p = malloc(strlen(s) + 1); // advise: hybrid proven
    if (!p) return -1;
    strcpy(p, s);
    int r = (int)strlen(p) + p[0];
    free(p);
    return r;
}

int copied_later(const char *s) { // rule: sum
    size_t n = strlen(s);
    char *p;
    if (n == 3) return 3;
    p = malloc(n + 1); // advise: hybrid proven has:- 1
    if (!p) return -1;
    memcpy(p, s, n);
    p[n] = 0;
    int r = (int)strlen(p);
    free(p);
    return r;
}

int copied_twice(const char *s) {
    char *p = strdup(s); // advise: hybrid proven
    if (!p) return -1;
    char *q = strdup(p); // advise: hybrid proven
    if (!q) {
        free(p);
        return -1;
    }
    int r = strcmp(p, q) + printf("%s-%s\n", p, q);
    free(p);
    free(q);
    return r;
}

int not_yet_a_string(int n) { // rule: text
    char *p = malloc(16); // advise: stack likely
    if (!p) return -1;
    p[3] = 'x';
    if (n < 1000) p[0] = 0;
    n = (int)strlen(p);
    free(p);
    return n;
}

int no_string_any_more(int n) { // rule: text-kept
    char *p = strdup("text"); // advise: stack likely
    if (!p) return -1;
    if (n > 1000) p[4] = 'x';
    n = (int)strlen(p);
    free(p);
    return n;
}

int another_string(const char *s, const char *t) { // rule: text-length
    char *p = malloc(strlen(s) + 1); // advise: hybrid likely
    if (!p) return -1;
    strcpy(p, t);
    int r = p[0];
    free(p);
    return r;
}

int changed_string(char *s, int n) { // rule: text-unchanged
    char *p = malloc(strlen(s) + 1); // advise: hybrid likely
    if (!p) return -1;
    if (n > 1000) strcat(s, "more");
    strcpy(p, s);
    int r = p[0];
    free(p);
    return r;
}

int main(void) {
    char text[] = "some text";
    static char large[600];
    memset(large, 'y', sizeof large - 1);
    for (int n = 0; n < 9; n++) {
        printf("%d %ld %ld %d %d\n", by_address(n), by_address_aligned(n), end_of_number(n), in_an_array(n), called_back(n));
        printf("%d %d %d %d %d\n", chosen_here(n), in_a_list(n), put_by_a_callee(n), half_for_a_callee(n), read_by_a_callee(n));
        printf("%d %d %d %d\n", cleared_by_a_callee((size_t)n * 50), copied(text + n), copied_later(text + n), copied_twice(text + n));
        printf("%d %d %d %d\n", not_yet_a_string(n), no_string_any_more(n), another_string(text, text + n), changed_string(text + n, n));
    }
    printf("%d %d %d\n", copied(large), copied_later(large), copied_twice(large));
    return 0;
}
