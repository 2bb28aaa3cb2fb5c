// Objects that a helper makes and its caller frees: the helper takes a buffer of its caller.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point { int x, y; };

static struct point *point_of(int x, int y);
static struct point *point_of(int x, int y) {
    struct point *p = malloc(sizeof *p); // advise: declined it is returned
    if (!p) return NULL;
    p->x = x;
    p->y = y;
    return p;
}

int distance(int a, int b) {
    struct point *from = point_of(a, 1); // advise: caller proven has:void *p_buffer
    struct point *to = point_of(b, 2); // advise: caller changes this, too
    int r = -1;
    if (from && to) r = (to->x - from->x) * (to->y - from->y);
    free(to);
    free(from);
    return r;
}

int length(int a) {
    struct point *only;
    if ((only = point_of(a, a + 1)) == NULL) // advise: caller changes this, too
        return -1;
    a = only->x * only->y;
    free(only);
    return a;
}

// Without parameters, and zeroed.
static int *counters(void) {
    int *all = calloc(4, sizeof *all); // advise: declined it is returned
    return all;
}

int counted(const char *text) {
    int *seen = counters(); // advise: caller proven has:void *all_buffer
    if (!seen) return -1;
    for (; *text; text++) seen[*text & 3]++;
    int r = seen[0] * 1000 + seen[1] * 100 + seen[2] * 10 + seen[3];
    free(seen);
    return r;
}

// The helper may go past the end of what it makes.
static char *tagged(int n) {
    char *tag = malloc(8); // advise: declined it is returned
    if (tag) tag[n & 15] = 'x';
    return tag;
}

int tag_of(int n) { // rule: helper-inside
    char *tag = tagged(n); // advise: caller likely
    if (!tag) return -1;
    n = tag[n & 7] == 'x';
    free(tag);
    return n;
}

static void *sized(size_t n) {
    void *p = malloc(n); // advise: declined it is returned
    return p;
}

// One of the callers keeps the object: it gets one of the heap, as before.
static struct point *kept;
static struct point *origin(void) {
    struct point *p = malloc(sizeof *p); // advise: declined it is returned
    if (p) p->x = p->y = 0;
    return p;
}

int from_origin(int n) {
    struct point *o = origin(); // advise: caller proven has:p_buffer
    if (!o) return -1;
    n += o->x + o->y;
    free(o);
    return n;
}

int keep(void) { // rule: all-callers
    if (!kept) kept = origin();
    return kept != NULL;
}

static struct point *tallest;
static struct point *tall(int y) {
    struct point *p = calloc(1, sizeof *p); // advise: declined it is returned
    if (p) p->y = y;
    return p;
}

int by_tall(int n) {
    struct point *p = tall(n); // advise: caller proven has: : calloc(1, sizeof *p)
    if (!p) return -1;
    n = p->x + p->y;
    free(p);
    return n;
}

// It is measured, too.
static struct point *sizes(int y) {
    struct point *p = malloc(sizeof *p); // advise: declined it is returned
    if (p) p->x = p->y = y;
    return p;
}

int by_sizes(int n) {
    struct point *p = sizes(n); // advise: caller used in other ways than by calls
    if (!p) return -1;
    n = p->x + p->y + (int)sizeof(sizes(3));
    free(p);
    return n;
}

// Other files may call it.
struct point *shared_point(int x) { // rule: helper-internal
    struct point *p = malloc(sizeof *p); // advise: declined it is returned
    if (p) p->x = p->y = x;
    return p;
}

int by_shared(int n) {
    struct point *p = shared_point(n); // advise: caller which other files may call
    if (!p) return -1;
    n = p->x + p->y;
    free(p);
    return n;
}

// Called through a pointer as well.
static struct point *made(int x) {
    struct point *p = malloc(sizeof *p); // advise: declined it is returned
    if (p) p->x = p->y = x;
    return p;
}

struct point *(*maker)(int) = made;

int by_made(int n) {
    struct point *p = made(n); // advise: caller used in other ways than by calls
    if (!p) return -1;
    n = p->x * p->y;
    free(p);
    return n;
}

// A macro names the helper.
static struct point *unit(int x) {
    struct point *p = malloc(sizeof *p); // advise: declined it is returned
    if (p) p->x = p->y = x;
    return p;
}
#define UNIT(x) unit(x)

int by_unit(int n) { // rule: all-seen
    struct point *p = unit(n); // advise: caller names `unit`
    if (!p) return -1;
    n = p->x - p->y;
    free(p);
    return n;
}

// The size is not constant: the helper is told how large the buffer is.
static char *joined(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    char *text = malloc(n + m + 1); // advise: declined it is returned
    if (!text) return NULL;
    memcpy(text, a, n);
    memcpy(text + n, b, m + 1);
    return text;
}

int join(const char *a, const char *b) { // rule: told
    char *both = joined(a, b); // advise: caller has:, sizeof
    if (!both) return -1;
    int r = (int)strlen(both) + both[0];
    free(both);
    return r;
}

// One of the callers keeps it, and the size may be zero.
static char *held;
static char *zeroes(size_t n) {
    char *all = calloc(n, sizeof *all); // advise: declined it is returned
    return all;
}

int count_zeroes(size_t n) {
    char *z = zeroes(n); // advise: caller has: && (n) <= 
    if (!z) return -1;
    int r = 0;
    for (size_t i = 0; i < n; i++) r += z[i] == 0;
    free(z);
    return r;
}

int hold_zeroes(size_t n) {
    free(held);
    held = zeroes(n);
    return held != NULL;
}

// A copy of a string, and an element that is larger than a byte.
static char *copied(const char *s) {
    char *c = strdup(s); // advise: declined it is returned
    return c;
}

int copy(const char *s) {
    char *own = copied(s); // advise: caller has:, sizeof 
    int r = own ? own[0] : -1;
    free(own);
    return r;
}

static long *numbers(int n) {
    long *all = malloc((size_t)n * sizeof *all); // advise: declined it is returned
    for (int i = 0; all && i < n; i++) all[i] = i;
    return all;
}

long add(int n) {
    long *v = numbers(n), r = 0; // advise: caller has:[32];
    if (!v) return -1;
    for (int i = 0; i < n; i++) r += v[i];
    free(v);
    return r;
}

int main(void) {
    char many[600];
    memset(many, 'm', sizeof many - 1);
    many[sizeof many - 1] = 0;
    printf("%d %d %d\n", join("ab", "cd"), join(many, "cd"), join("", many));
    printf("%d %d %d %d\n", count_zeroes(5), count_zeroes(700), hold_zeroes(0), hold_zeroes(900));
    free(held);
    printf("%d %d %ld %ld %ld\n", copy("x"), copy(many), add(1), add(32), add(90));
    tallest = tall(3);
    if (tallest) printf("%d %d\n", by_tall(4), by_tall(5) + tallest->y);
    free(tallest);
    for (int n = 0; n < 12; n++) {
        printf("%d %d %d %d %d %d\n", distance(n, n + 3), length(n), counted("advise"), tag_of(n & 7), from_origin(n), keep());
        printf("%d %d %d\n", by_shared(n), by_made(n), by_unit(n));
    }
    struct point *p = maker(3);
    if (p) printf("%d\n", p->y);
    free(p);
    int *word = sized(sizeof *word); // advise: caller
    if (word) *word = 7;
    printf("%d\n", word ? *word : 7);
    free(word);
    free(kept);
    return 0;
}
