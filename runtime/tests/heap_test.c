/* The heap: zeroed, aligned, apart; sizes that cannot be; LEE_MEMORY; threads; what the stack, registers
 * and globals hold. */
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>

#include <lee/lee.h>

#include "../src/heap.h"
#include "check.h"

static const struct lee_site site = {"heap.lee", 5, 2};

#if UNDER_ASAN
int __asan_address_is_poisoned(void const volatile *address);
#endif

static bool all_zero(const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static void test_objects(void) {
    enum { OBJECTS = 3000 };
    static unsigned char *objects[OBJECTS];
    for (size_t i = 0; i < OBJECTS; i++) {
        size_t size = i * 7 % 3001 * (i % 50 == 0 ? 400 : 1); /* some of them large */
        objects[i] = lee_heap_alloc(&site, size);
        CHECK((uintptr_t)objects[i] % 16 == 0);
        CHECK(lee_heap_size(objects[i]) == size);
        CHECK(all_zero(objects[i], size));
        memset(objects[i], (int)(i % 251), size);
    }
    for (size_t i = 0; i < OBJECTS; i++) {
        size_t size = lee_heap_size(objects[i]);
        for (size_t at = 0; at < size; at++) {
            if (objects[i][at] != i % 251) {
                CHECK(!"objects overlap");
                return;
            }
        }
    }
}

static void test_empty(void) {
    void *a = lee_heap_alloc(&site, 0), *b = lee_heap_alloc(&site, 0), *c = lee_heap_alloc_array(&site, 0, 8, 0);
    CHECK(a != NULL && b != NULL && a != b && b != c);
    CHECK(lee_heap_size(a) == 0);
}

static void test_impossible(void) {
    CHECK(lee_heap_try_alloc(SIZE_MAX) == NULL);
    CHECK(lee_heap_try_alloc((size_t)PTRDIFF_MAX) == NULL);
    CHECK(lee_heap_try_alloc((size_t)PTRDIFF_MAX + 1) == NULL);
    CHECK(lee_heap_try_alloc((size_t)1 << 60) == NULL);
    CHECK(lee_heap_try_alloc_array(-1, 1, 0) == NULL);
    CHECK(lee_heap_try_alloc_array(INT64_MAX, 2, 0) == NULL);
    CHECK(lee_heap_try_alloc_array(INT64_MAX, 1, 1) == NULL);
    CHECK(lee_heap_try_alloc_array(2, SIZE_MAX, 0) == NULL);
    CHECK(lee_heap_try_alloc_array(1, SIZE_MAX, 1) == NULL);
    CHECK(lee_heap_try_realloc_array(NULL, -1, 1, 0) == NULL);
    CHECK(lee_heap_try_alloc_array(INT64_MIN, 0, 0) == NULL);
    void *object = lee_heap_try_alloc_array(0, SIZE_MAX, 3);
    CHECK(object != NULL && lee_heap_size(object) == 3);
}

static void test_realloc(void) {
    char *text = lee_heap_realloc_array(&site, NULL, 5, 1, 1);
    CHECK(lee_heap_size(text) == 6);
    memcpy(text, "abcde", 5);
    char *longer = lee_heap_realloc_array(&site, text, 9, 1, 1);
    CHECK(longer != text && strcmp(longer, "abcde") == 0 && all_zero((unsigned char *)longer + 5, 5));
    char *shorter = lee_heap_realloc_array(&site, text, 2, 1, 1);
    CHECK(strcmp(shorter, "ab") == 0 && lee_heap_size(shorter) == 3);
    CHECK(strcmp(text, "abcde") == 0);
}

static void test_poisoned(void) {
#if UNDER_ASAN
    char *object = lee_heap_alloc(&site, 13);
    CHECK(__asan_address_is_poisoned(object - 1));
    CHECK(!__asan_address_is_poisoned(object) && !__asan_address_is_poisoned(object + 12));
    CHECK(__asan_address_is_poisoned(object + 13));
#endif
}

static void ask(void *size) {
    lee_start(0, NULL);
    lee_heap_alloc(&site, *(size_t *)size);
}

static void grow(void *unused) {
    char *text = NULL;
    (void)unused;
    lee_start(0, NULL);
    for (int64_t size = 1;; size *= 2)
        text = lee_heap_realloc_array(&site, text, size, 1, 1);
}

static void try_only(void *unused) {
    size_t total = 0;
    (void)unused;
    lee_start(0, NULL);
    void **last = NULL, **object;
    while ((object = lee_heap_try_alloc(1000)) != NULL) {
        *object = last; /* what nothing reaches would be collected */
        last = object;
        total += 1000;
    }
    fprintf(stderr, "%zu\n", total);
}

static void test_limit(void) {
    static struct child child;
    size_t size = SIZE_MAX;
    run_child(&child, ask, &size);
    CHECK(child.status == 134);
    CHECK(strncmp(child.output, "heap.lee:5:2: fault: out of memory (18446744073709551615 bytes)\n", 63) == 0);
    setenv("LEE_MEMORY", "8M", 1);
    size = 9 << 20;
    run_child(&child, ask, &size);
    CHECK(child.status == 134);
    check_holds("limit", child.output, "out of memory (9437184 bytes)");
    size = 7 << 20;
    run_child(&child, ask, &size);
    CHECK(child.status == 0);
    run_child(&child, grow, NULL);
    CHECK(child.status == 134);
    check_holds("limit", child.output, "out of memory (8388609 bytes)");
    check_holds("limit", child.output, "  at grow (heap.lee:5)\n");
    run_child(&child, try_only, NULL);
    CHECK(child.status == 0);
    CHECK(atoi(child.output) > 7 << 20 && atoi(child.output) <= 8 << 20);
    static const char *const wrong[] = {"x", "-1", "8MB", "8 M", "99999999999999999999", "17179869184G", "M"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("LEE_MEMORY", wrong[i], 1);
        size = 1;
        run_child(&child, ask, &size);
        CHECK(child.status == 2);
        check_holds(wrong[i], child.output, "error: LEE_MEMORY is '");
    }
    unsetenv("LEE_MEMORY");
}

struct cell {
    struct cell *next;
    size_t number;
};

static struct cell *global_list;

static __attribute__((noinline)) struct cell *list_of(size_t length) {
    struct cell *list = NULL;
    for (size_t i = 0; i < length; i++) {
        struct cell *cell = lee_heap_alloc(&site, sizeof *cell);
        *cell = (struct cell){list, i};
        list = cell;
    }
    return list;
}

static bool is_list(const struct cell *list, size_t length) {
    for (; list != NULL; list = list->next) {
        if (list->number != --length)
            return false;
    }
    return length == 0;
}

/* Lists that only a local, a thread-local or a global holds, while much garbage is made: with a limit that all of it
 * together would pass. */
static void roots_hold(void *unused) {
    static _Thread_local struct cell *threads_own;
    (void)unused;
    lee_start(0, NULL);
    struct cell *local = list_of(10000);
    global_list = list_of(20000);
    threads_own = list_of(30000);
    for (int i = 0; i < (getenv("LEE_GC_STRESS") == NULL ? 200 : 10); i++) {
        struct cell *other = list_of(5000);
        if (!is_list(other, 5000) || !is_list(local, 10000) || !is_list(global_list, 20000) || !is_list(threads_own, 30000))
            _exit(1);
    }
}

static void test_roots(void) {
    static struct child child;
    setenv("LEE_MEMORY", "8M", 1);
    run_child(&child, roots_hold, NULL);
    CHECK(child.status == 0);
    setenv("LEE_GC_STRESS", "20", 1);
    run_child(&child, roots_hold, NULL);
    CHECK(child.status == 0);
    unsetenv("LEE_GC_STRESS");
    unsetenv("LEE_MEMORY");
}

static void *allocate_many(void *number) {
    enum { MANY = 2000 };
    static _Thread_local unsigned char *objects[MANY];
    for (size_t i = 0; i < MANY; i++) {
        objects[i] = lee_heap_alloc(&site, i % 200 + 1);
        memset(objects[i], *(int *)number, i % 200 + 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        if (objects[i][0] != *(int *)number || objects[i][i % 200] != *(int *)number)
            return "overlap";
    }
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[4];
    int numbers[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, allocate_many, &numbers[i]);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        CHECK(result == NULL);
    }
}

/* Under `ulimit -v`: 40 MB of addresses are enough for 100 MB of garbage and 1 MB that lives, and end in a null. */
static void little_space(void *unused) {
    (void)unused;
    size_t pages = 0, blocks = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%zu", &pages) != 1)
        abort();
    fclose(file);
    rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)40 << 20);
    struct rlimit limit = {most, most};
    setrlimit(RLIMIT_AS, &limit);
    global_list = list_of(30000);
    for (int i = 0; i < 1000000; i++)
        lee_heap_alloc(&site, 100);
    static void *volatile held[400]; /* what is never read need not be stored */
    while (blocks < 400 && (held[blocks] = lee_heap_try_alloc(100000)) != NULL)
        blocks++;
    fprintf(stderr, "list %d blocks %d valid %d\n", is_list(global_list, 30000), blocks < 400, lee_heap_validate(lee_heap_self()) == NULL);
}

static void test_little_space(void) {
#if !UNDER_ASAN
    static struct child child;
    run_child(&child, little_space, NULL);
    check_holds("address space", child.output, "list 1 blocks 1 valid 1");
    CHECK(child.status == 0);
#else
    (void)little_space;
#endif
}

/* Settings are read with the first allocation. */
static void set(void *setting) {
    putenv(setting);
    lee_heap_alloc(&site, 8);
}

static void test_settings(void) {
    static char bad[][40] = {"LEE_GC_GROW=-1", "LEE_GC_GROW=many", "LEE_GC_GROW=99999999999999999999", "LEE_GC_STRESS=1x", "LEE_GC_VERIFY=yes",
                             "LEE_GC_SNAPSHOT=7", "LEE_RESERVE_GB=99999999999", "LEE_ACCOUNTING=off", "LEE_HUGE=no", "LEE_GC_FAIL= 1"};
    static char good[][40] = {"LEE_GC_GROW=", "LEE_GC_GROW=0", "LEE_GC_GROW=300", "LEE_GC_STRESS=0", "LEE_GC_STRESS=99999999999",
                              "LEE_GC_SNAPSHOT=always", "LEE_GC_SNAPSHOT=0", "LEE_ACCOUNTING=always", "LEE_ACCOUNTING=none", "LEE_HUGE=2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct child child;
        char wanted[64];
        run_child(&child, set, bad[i]);
        CHECK(child.status == 2);
        snprintf(wanted, sizeof wanted, "error: %.*s is '", (int)strcspn(bad[i], "="), bad[i]);
        check_holds(bad[i], child.output, wanted);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct child child;
        run_child(&child, set, good[i]);
        CHECK(child.status == 0);
    }
}

int main(void) {
    test_settings();
    test_little_space();
    test_roots();
    test_limit(); /* first: the limit counts what the parent took before */
    test_objects();
    test_empty();
    test_impossible();
    test_realloc();
    test_poisoned();
    test_threads();
    return check_end();
}
