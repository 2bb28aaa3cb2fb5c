// Accesses that look as if they stayed inside what was allocated, and may not: none is proven.
// Each is called with numbers for which it does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int from[64];

long grown_after(size_t n, size_t m) {
    int *v = malloc(n * sizeof *v); // advise: hybrid likely
    if (!v) return 0;
    n += m;
    for (size_t i = 0; i < n; i++) v[i] = 1;
    free(v);
    return (long)n;
}

long grown_in_the_loop(int n, int m) {
    int *v = malloc(n * sizeof *v); // advise: hybrid likely
    if (!v) return 0;
    for (int i = 0; i < n; i++) {
        v[i] = i;
        if (i == m) n++;
    }
    free(v);
    return n;
}

static void add(size_t *n, size_t m) {
    *n += m;
}

long grown_by_a_callee(size_t n, size_t m) {
    char *v = malloc(n); // advise: hybrid likely
    if (!v) return 0;
    add(&n, m);
    for (size_t i = 0; i < n; i++) v[i] = 1;
    free(v);
    return (long)n;
}

static size_t count = 8;

static void more(size_t m) {
    count += m;
}

long counted_by_a_global(size_t m) {
    char *v = malloc(count); // advise: hybrid likely
    if (!v) return 0;
    more(m);
    for (size_t i = 0; i < count; i++) v[i] = 1;
    free(v);
    return (long)count;
}

struct box {
    size_t n;
    size_t m;
};

long counted_by_a_field(struct box *a, struct box *b) {
    char *v = malloc(a->n); // advise: hybrid likely
    if (!v) return 0;
    b->n = 8;
    for (size_t i = 0; i < a->n; i++) v[i] = 1;
    free(v);
    return 1;
}

long of_the_round_before(int n, int m) {
    long r = 0;
    int size = 1;
    for (int round = 0; round < 3; round++) {
        char *v = malloc((size_t)size + 4); // advise: hybrid likely
        if (!v) return 0;
        size = n + m * round;
        for (int i = 0; i < size; i++) v[i] = 1;
        r += v[0];
        free(v);
        size = n;
    }
    return r;
}

long product_of_32_bits(unsigned n) {
    int *v = malloc(n * 4u); // advise: hybrid likely
    if (!v) return 0;
    for (unsigned i = 0; i < n; i++) v[i] = 1;
    free(v);
    return n;
}

long sum_of_32_bits(unsigned n) {
    char *v = malloc(n + 8u); // advise: hybrid likely
    if (!v) return 0;
    for (unsigned i = 0; i < n; i++) v[i] = 1;
    free(v);
    return n;
}

long cut_to_16_bits(unsigned n) {
    char *v = malloc((unsigned short)n); // advise: hybrid likely
    if (!v) return 0;
    for (unsigned i = 0; i < n; i++) v[i] = 1;
    free(v);
    return n;
}

long cut_to_32_bits(size_t n) {
    char *v = malloc((unsigned)n); // advise: hybrid likely
    if (!v) return 0;
    for (size_t i = 0; i < n; i++) v[i] = 1;
    free(v);
    return (long)n;
}

long two_factors(size_t n, size_t m) {
    char *v = malloc(n * m); // advise: hybrid likely
    if (!v) return 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m; k++) v[i * m + k] = 1;
    free(v);
    return (long)n;
}

long a_shift(unsigned n) {
    int *v = malloc(n << 2); // advise: hybrid likely
    if (!v) return 0;
    for (unsigned i = 0; i < n; i++) v[i] = 1;
    free(v);
    return n;
}

long less_than_nothing(unsigned n) {
    char *v = malloc(n); // advise: hybrid likely
    if (!v) return 0;
    for (unsigned i = 0; i < n - 1; i++) v[i] = 1;
    free(v);
    return n;
}

long index_below_zero(int n, int i) {
    char *v = malloc(n); // advise: hybrid likely
    if (!v) return 0;
    if (i < n) v[i] = 1;
    free(v);
    return n;
}

long index_with_a_sign(unsigned n, int i) {
    char *v = malloc(n); // advise: hybrid likely
    if (!v) return 0;
    v[i] = 1;
    if ((unsigned)i < n) v[i] = 2;
    free(v);
    return n;
}

long one_too_many(size_t n) {
    char *v = malloc(n + 1); // advise: hybrid likely
    if (!v) return 0;
    for (size_t i = 0; i <= n + 0; i++) v[i] = 1;
    if (n > 40) v[n + 1] = 0;
    free(v);
    return (long)n;
}

long larger_elements(size_t n) {
    short *s = malloc(n * sizeof *s); // advise: hybrid likely
    if (!s) return 0;
    int *v = (int *)s;
    for (size_t i = 0; i < n / 2; i++) v[i] = 1;
    if (n > 40) v[n - 1] = 1;
    free(s);
    return (long)n;
}

long from_the_end(size_t n, size_t back) {
    char *v = malloc(n + 4); // advise: hybrid likely
    if (!v) return 0;
    char *end = v + n;
    end[-(long)back] = 1;
    free(v);
    return (long)n;
}

long moved_pointer(size_t n) {
    char *v = malloc(n); // advise: hybrid likely
    if (!v) return 0;
    char *p = v;
    for (size_t i = 0; i < n; i++) *p++ = 1;
    for (size_t i = 0; i < n; i++) p[-1] = 2;
    free(v);
    return (long)n;
}

long copied_elements(int n) {
    char *v = malloc(n); // advise: hybrid likely
    if (!v) return 0;
    memcpy(v, from, n * sizeof(char) + (n > 100));
    free(v);
    return n;
}

long copied_too_many(size_t n, size_t m) {
    char *v = malloc(n); // advise: hybrid likely
    if (!v) return 0;
    memcpy(v + m, from, n);
    free(v);
    return (long)n;
}

long set_by_a_callee_size(size_t n, size_t m) {
    char *v = malloc(n); // advise: hybrid likely
    if (!v) return 0;
    memset(v, 1, m);
    free(v);
    return (long)n;
}

static void clear(char *p, size_t n) {
    n++;
    memset(p, 0, n);
}

long cleared_by_a_callee(size_t n) {
    char *v = malloc(n + 1); // advise: hybrid likely
    if (!v) return 0;
    clear(v, n);
    free(v);
    return (long)n;
}

struct pair {
    int a, b;
};

static void second(struct pair *p) {
    p->b = 2;
}

long half_a_struct_for_a_callee(int n) {
    struct pair *p = malloc(n > 100 ? sizeof(int) : sizeof *p); // advise: stack likely
    if (!p) return 0;
    second(p);
    free(p);
    return n;
}

static void next_one(struct pair *p) {
    second(p + 1);
}

long next_for_a_callee(void) {
    struct pair *p = malloc(2 * sizeof *p); // advise: stack likely
    if (!p) return 0;
    next_one(p);
    free(p);
    return 1;
}

long length_of_another(const char *s, const char *t) {
    char *p = malloc(strlen(s) + 1); // advise: hybrid likely
    if (!p) return 0;
    strcpy(p, t);
    free(p);
    return 1;
}

long without_room_for_the_end(const char *s) {
    char *p = malloc(strlen(s)); // advise: hybrid likely
    if (!p) return 0;
    if (strlen(s) > 100) strcpy(p, s);
    free(p);
    return 1;
}

long another_string_by_then(const char *s, const char *t) {
    size_t n = strlen(s);
    char *p = malloc(n + 1); // advise: hybrid likely
    if (!p) return 0;
    s = t;
    strcpy(p, s);
    free(p);
    return 1;
}

long longer_by_then(char *s, char c) {
    size_t n = strlen(s);
    s[n - 1] = c;
    char *p = malloc(n + 1); // advise: hybrid likely
    if (!p) return 0;
    strcpy(p, s);
    free(p);
    return 1;
}

static char text[32] = "text";

static void lengthen(void) {
    if (text[0] == 'x') strcat(text, "more");
}

long longer_by_a_callee(void) {
    size_t n = strlen(text);
    char *p = malloc(n + 1); // advise: hybrid likely
    if (!p) return 0;
    lengthen();
    strcpy(p, text);
    free(p);
    return 1;
}

struct named {
    const char *name;
};

long field_by_then(struct named *a, struct named *b, const char *t) {
    char *p = malloc(strlen(a->name) + 1); // advise: hybrid likely
    if (!p) return 0;
    b->name = t;
    strcpy(p, a->name);
    free(p);
    return 1;
}

long longer_in_a_loop(char *s, char c) {
    size_t n = strlen(s);
    long r = 0;
    for (int i = 0; i < 2; i++) {
        char *p = malloc(n + 1); // advise: hybrid likely
        if (!p) return 0;
        strcpy(p, s);
        r += p[0];
        free(p);
        if (c) s[n] = c;
    }
    return r;
}

long behind_the_start(const char *s) {
    char *p = malloc(strlen(s) + 1); // advise: hybrid likely
    if (!p) return 0;
    p[0] = '/';
    if (strlen(s) > 100) strcpy(p + 1, s);
    free(p);
    return 1;
}

long length_that_was_cut(const char *s) {
    unsigned char n = (unsigned char)strlen(s);
    char *p = malloc(n + 1); // advise: hybrid likely
    if (!p) return 0;
    strcpy(p, s);
    free(p);
    return 1;
}

long without_an_end(const char *s, size_t n) {
    char *p = malloc(n + 1); // advise: hybrid likely
    if (!p) return 0;
    memcpy(p, s, n);
    p[0] = 0;
    p[0] = 'p';
    long r = n > 40 ? (long)strlen(p) : 0;
    free(p);
    return r;
}

long end_taken_away(const char *s) {
    char *p = malloc(16); // advise: stack likely
    if (!p) return 0;
    snprintf(p, 16, "%d", 7);
    if (s[0] == '!') memset(p, 'x', 16);
    long r = unlink(p);
    free(p);
    return r;
}

long only_on_one_path(int n) {
    char *p = malloc(16); // advise: stack likely
    if (!p) return 0;
    if (n < 100) strcpy(p, "nothing");
    long r = access(p, F_OK);
    free(p);
    return r;
}

long a_literal_too_long(int n) {
    char *p = malloc(4); // advise: stack likely
    if (!p) return 0;
    if (n > 100) strcpy(p, "nothing");
    free(p);
    return n;
}

long printed_into_no_room(size_t n) {
    char *p = malloc(n + 8); // advise: hybrid likely
    if (!p) return 0;
    snprintf(p, n, "%d", 7);
    long r = n ? (long)strlen(p) : 0;
    free(p);
    return r;
}

long count_stored_by_a_format(int n) {
    int *p = malloc(2); // advise: stack likely
    if (!p) return 0;
    if (n > 100) printf("x%n", p);
    free(p);
    return n;
}

int main(void) {
    char s[] = "abc";
    struct box a = { 8, 8 };
    struct named first = { "first" }, other = { "other" };
    printf("%ld %ld %ld %ld %ld\n", grown_after(8, 0), grown_in_the_loop(8, 9), grown_by_a_callee(8, 0), counted_by_a_global(0), counted_by_a_field(&a, &a));
    printf("%ld %ld %ld %ld %ld\n", of_the_round_before(4, 0), product_of_32_bits(8), sum_of_32_bits(8), cut_to_16_bits(8), cut_to_32_bits(8));
    printf("%ld %ld %ld %ld %ld\n", two_factors(3, 4), a_shift(8), less_than_nothing(8), index_below_zero(8, 3), index_with_a_sign(8, 3));
    printf("%ld %ld %ld %ld %ld\n", one_too_many(8), larger_elements(8), from_the_end(8, 1), moved_pointer(8), copied_elements(8));
    printf("%ld %ld %ld %ld %ld\n", copied_too_many(8, 0), set_by_a_callee_size(8, 7), cleared_by_a_callee(8), half_a_struct_for_a_callee(3), next_for_a_callee());
    printf("%ld %ld %ld %ld %ld\n", length_of_another("abcd", "abc"), without_room_for_the_end("abc"), another_string_by_then("abc", "ab"), longer_by_then(s, 'd'), longer_by_a_callee());
    printf("%ld %ld %ld %ld %ld\n", field_by_then(&first, &other, "x"), longer_in_a_loop(s, 0), behind_the_start("abc"), length_that_was_cut("abc"), without_an_end("abc", 3));
    printf("%ld %ld %ld %ld %ld\n", end_taken_away("no file"), only_on_one_path(3), a_literal_too_long(3), printed_into_no_room(8), count_stored_by_a_format(3));
    return 0;
}
