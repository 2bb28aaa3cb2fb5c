// Uses that look as if nothing kept the object, and keep it: no patch is written for any.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct box {
    int n;
    char *data;
};

extern int outside(char *);
static char *kept;
static jmp_buf place;

static int look(char *p, int n) {
    return p[n];
}

static int keep(char *p, int n) {
    kept = p;
    return n;
}

// ---- variables whose address is passed

static void replace(char **p) {
    *p = strdup("another"); // advise: declined memory
}

int replaced(void) { // rule: through
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    replace(&p);
    free(p);
    return 1;
}

static void advance(char **p) {
    (*p)++;
}

int advanced(void) {
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    advance(&p);
    free(p - 1);
    return 1;
}

static void take(char **p) {
    kept = *p;
}

int taken(void) {
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    take(&p);
    free(p);
    return 1;
}

static char **where;

static void remember(char **p) {
    where = p;
}

int remembered(void) {
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    remember(&p);
    kept = *where;
    free(p);
    return 1;
}

static void drop_if(char **p, int n) {
    if (n) {
        free(*p);
        *p = NULL;
    }
}

int dropped_perhaps(int n) {
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    drop_if(&p, n);
    free(p);
    return 1;
}

static void copy_to(char **to, char **from) {
    *to = *from;
}

int copied_to_another(void) {
    char *q = NULL;
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    copy_to(&q, &p);
    kept = q;
    free(p);
    return 1;
}

static void swap_with_itself(char **a, char **b) {
    char *c = *a;
    *a = NULL;
    kept = *b ? *b : c;
}

int passed_twice(void) {
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    swap_with_itself(&p, &p);
    free(p);
    return 1;
}

int either_address(int n) {
    char *q = NULL;
    char *p = malloc(8); // advise: declined address is taken
    if (!p) return 0;
    drop_if(n ? &p : &q, n);
    free(p);
    return 1;
}

int end_that_is_kept(void) {
    char *end;
    char *p = malloc(8); // advise: declined global
    if (!p) return 0;
    strcpy(p, "12");
    long r = strtol(p, &end, 10);
    kept = end;
    free(p);
    return (int)r;
}

int end_that_is_freed(void) {
    char *end;
    char *p = malloc(8); // advise: declined
    if (!p) return 0;
    strcpy(p, "x");
    long r = strtol(p, &end, 10);
    free(end);
    return (int)r;
}

int overwritten_by_an_end(const char *s) {
    char *p = malloc(8); // advise: declined leak
    if (!p) return 0;
    long r = strtol(s, &p, 10);
    return (int)r + p[0];
}

// ---- arrays of pointers

int any_index(int n) { // rule: constant-index
    char *all[2];
    all[0] = malloc(8); // advise: declined address is taken
    all[1] = NULL;
    if (!all[0]) return 0;
    kept = all[n];
    free(all[0]);
    return 1;
}

int several_in_an_array(void) {
    char *all[3];
    for (int i = 0; i < 3; i++) all[i] = malloc(8); // advise: declined two objects
    for (int i = 0; i < 3; i++) free(all[i]);
    return 1;
}

static void keep_all(char **all) {
    kept = all[1];
}

int array_that_is_passed(void) {
    char *all[2];
    all[0] = NULL;
    all[1] = malloc(8); // advise: declined address is taken
    if (!all[1]) return 0;
    keep_all(all);
    free(all[1]);
    return 1;
}

int array_by_a_pointer(void) {
    char *all[2];
    char **p = all;
    all[0] = malloc(8); // advise: declined address is taken
    if (!all[0]) return 0;
    kept = *p;
    free(all[0]);
    return 1;
}

struct pair_of_boxes {
    struct box boxes[2];
};

int array_that_is_copied(void) {
    struct pair_of_boxes a = { 0 };
    a.boxes[1].data = malloc(8); // advise: declined copied
    if (!a.boxes[1].data) return 0;
    struct pair_of_boxes b = a;
    kept = b.boxes[1].data;
    free(a.boxes[1].data);
    return 1;
}

int element_that_is_kept(void) {
    char *all[2] = { NULL, NULL };
    all[1] = malloc(8); // advise: declined global
    if (!all[1]) return 0;
    kept = all[1];
    free(all[1]);
    return 1;
}

// ---- functions that call back

static int apply(char *p, int n, int (*function)(char *, int)) {
    return function(p, n);
}

int kept_by_a_callback(int n) { // rule: callback
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    p[0] = 1;
    n = apply(p, n, keep);
    free(p);
    return n;
}

int unknown_callback(int n, int (*function)(char *, int)) {
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    p[0] = 1;
    n = apply(p, n, function);
    free(p);
    return n;
}

int one_of_two_callbacks(int n) {
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    p[0] = 1;
    n = apply(p, n, n ? look : keep);
    free(p);
    return n;
}

static int apply_another(char *p, int n, int (*function)(char *, int)) {
    if (n > 3) function = keep;
    return function(p, n);
}

int callback_that_is_replaced(int n) { // rule: callback-parameter
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    p[0] = 1;
    n = apply_another(p, n, look);
    free(p);
    return n;
}

static int apply_by_address(char *p, int n, int (*function)(char *, int)) {
    int (**f)(char *, int) = &function;
    *f = keep;
    return function(p, n);
}

int callback_that_is_changed(int n) {
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    p[0] = 1;
    n = apply_by_address(p, n, look);
    free(p);
    return n;
}

static int release(char *p, int n) {
    free(p);
    return n;
}

int freed_by_a_callback(int n) {
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    return apply(p, n, release);
}

static int apply_twice(char *p, int n, int (*function)(char *, int)) {
    return n ? apply_twice(p, n - 1, function) : apply(p, n, function);
}

int callback_through_recursion(int n) {
    char *p = malloc(8); // advise: declined may keep it
    if (!p) return 0;
    p[0] = 1;
    n = apply_twice(p, n, keep);
    free(p);
    return n;
}

static char *give(char *p, char *(*function)(char *)) {
    return function(p);
}

static char *same(char *p) {
    return p;
}

int given_by_a_callback(void) {
    char *p = malloc(8); // advise: declined global
    if (!p) return 0;
    p[0] = 1;
    kept = give(p, same);
    free(p);
    return 1;
}

static int (*chosen)(char *, int) = look;

void choose(void) {
    chosen = keep;
}

int callback_in_a_global(int n) {
    char *p = malloc(8); // advise: declined through a pointer
    if (!p) return 0;
    p[0] = 1;
    n = chosen(p, n);
    free(p);
    return n;
}

// ---- lists of arguments

static void keep_from_list(const char *text, va_list list) {
    kept = va_arg(list, char *);
    (void)text;
}

static void pass_list(const char *text, ...) {
    va_list list;
    va_start(list, text);
    keep_from_list(text, list);
    va_end(list);
}

int in_a_list_that_is_kept(void) { // rule: list-passed
    char *p = malloc(8); // advise: declined passes its list
    if (!p) return 0;
    pass_list("p", p);
    free(p);
    return 1;
}

static void keep_by_pointer(va_list *list) {
    kept = va_arg(*list, char *);
}

static void point_at_list(const char *text, ...) {
    va_list list;
    va_start(list, text);
    keep_by_pointer(&list);
    va_end(list);
}

int in_a_list_by_pointer(void) {
    char *p = malloc(8); // advise: declined variable arguments
    if (!p) return 0;
    point_at_list("p", p);
    free(p);
    return 1;
}

static void copy_list(const char *text, ...) {
    va_list list, other;
    va_start(list, text);
    va_copy(other, list);
    keep_from_list(text, other);
    va_end(other);
    va_end(list);
}

int in_a_list_that_is_copied(void) {
    char *p = malloc(8); // advise: declined passes its list
    if (!p) return 0;
    copy_list("p", p);
    free(p);
    return 1;
}

// ---- paths

static void leave(char *p) {
    if (p[0]) longjmp(place, 1);
}

int jumped_over(void) {
    if (setjmp(place)) return 0;
    char *p = malloc(8); // advise: declined setjmp
    if (!p) return 0;
    leave(p);
    free(p);
    return 1;
}

int depth(int n) {
    char *p = malloc(8); // advise: declined may call itself
    if (!p) return 0;
    p[0] = (char)n;
    int r = n > 0 ? depth(n - 1) : 0;
    r += p[0];
    free(p);
    return r;
}

int resized_by_another_name(int n) {
    char *p = malloc(8); // advise: declined resized
    if (!p) return 0;
    char *q = p + 0;
    q = realloc(q, (size_t)n);
    free(q);
    return 1;
}

int two_of_one_site(int n) {
    char *p = NULL, *q = NULL;
again:
    q = p;
    p = malloc(8); // advise: declined two objects
    if (!p) return 0;
    p[0] = (char)n;
    if (!q) goto again;
    n = p[0] + q[0];
    free(p);
    free(q);
    return n;
}

int kept_in_a_branch_not_taken(void) {
    char *p = malloc(8); // advise: stack nopatch
    if (!p) return 0;
    p[0] = 1;
#if defined(KEEPING)
    kept = p;
#else
    p[1] = 1;
#endif
    free(p);
    return 1;
}

#define BOTH(a, b) ((a)[0] = 1, kept = (b))
#define TWICE(p) BOTH(p, p)

int kept_by_a_macro(void) {
    char *p = malloc(8); // advise: declined global
    if (!p) return 0;
    TWICE(p);
    free(p);
    return 1;
}

#define MAKE(p, n) ((p) = malloc(n), (p) ? (p) : (p = kept))

int made_by_a_macro(void) {
    char *p;
    if (!MAKE(p, 8)) return 0; // advise: stack nopatch
    p[0] = 1;
    if (p != kept) free(p);
    return 1;
}

uintptr_t hashed(void) {
    char *p = malloc(8); // advise: declined number
    if (!p) return 0;
    uintptr_t h = ((uintptr_t)p >> 4) % 31;
    free(p);
    return h;
}

int by_bytes(void) {
    char *p = malloc(8); // advise: declined
    if (!p) return 0;
    memcpy(&kept, &p, sizeof p);
    free(p);
    return 1;
}
