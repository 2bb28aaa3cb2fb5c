/* Large static variables that emitted code names: what is cut out of static data, and what the collector finds there. */
#include <stdint.h>
#include <stdlib.h>

#include <lee/globals.h>
#include <lee/lee.h>

#include "../src/collect.h"
#include "../src/system.h"
#include "../src/units.h"
#include "check.h"

enum { WORDS = 4096, NODES = 1000, SMALL_STACK_NODES = 100000 };

struct node {
    long value;
    struct node *next;
};

static const struct lee_layout node_layout = {.bytes = sizeof(struct node), .kind = LEE_LAYOUT_WORDS, .words = 2, .name = "node"};

/* Not static: what compilers see that nobody reads they do not store. */
uintptr_t numbers[WORDS];
struct node nodes[NODES];
void *pointers[WORDS];
unsigned char odd[5003];

static const struct lee_global numbers_only = {numbers, sizeof numbers, NULL}, nodes_only = {nodes, sizeof nodes, &node_layout};

static struct lee_heap *start_heap(void) {
    struct lee_heap *heap = lee_heap_new();
    if (heap == NULL)
        abort();
    heap->scans_globals = true;
    heap->verify = true;
    lee_heap_use(heap);
    return heap;
}

static size_t live(struct lee_heap *heap) {
    lee_heap_collect(heap);
    const char *wrong = lee_heap_validate(heap);
    if (wrong != NULL) {
        printf("%s\n", wrong);
        check_failures++;
    }
    return heap->counts.live_objects;
}

static uintptr_t fresh(void) {
    struct node *node = lee_heap_try_alloc_typed(sizeof *node, &node_layout);
    if (node == NULL)
        abort();
    return (uintptr_t)node;
}

static void clear(void) {
    memset(numbers, 0, sizeof numbers);
    memset(nodes, 0, sizeof nodes);
    memset(pointers, 0, sizeof pointers);
    memset(odd, 0, sizeof odd);
}

/* --- what a collection finds ------------------------------------------------------------------------------------------- */

static void test_numbers(void) {
    struct lee_heap *heap = start_heap();
    struct lee_globals unit = {&numbers_only, 1, NULL};
    size_t before = live(heap);
    for (size_t i = 0; i < WORDS; i++)
        numbers[i] = fresh();
    CHECK(live(heap) == before + WORDS);
    lee_globals_add(&unit);
    CHECK(live(heap) == before);
    for (size_t i = 0; i < 8; i++)
        pointers[i] = (void *)fresh(); /* not named: read */
    CHECK(live(heap) == before + 8);
    lee_globals_remove(&unit);
    lee_globals_remove(&unit); /* which is not there */
    clear();
    numbers[0] = fresh();
    numbers[WORDS - 1] = fresh();
    CHECK(live(heap) == before + 2);
    clear();
    lee_heap_delete(heap);
}

static void test_layout(void) {
    struct lee_heap *heap = start_heap();
    struct lee_globals unit = {&nodes_only, 1, NULL};
    size_t before = live(heap);
    lee_globals_add(&unit);
    for (size_t i = 0; i < NODES; i++) {
        nodes[i].value = (long)fresh();
        nodes[i].next = (struct node *)fresh();
        nodes[i].next->next = (struct node *)fresh();
    }
    CHECK(live(heap) == before + 2 * NODES);
    lee_globals_remove(&unit);
    CHECK(live(heap) == before + 2 * NODES); /* what died is overwritten or free: the numbers lead nowhere */
    clear();
    lee_heap_delete(heap);
}

/* The mark stack cannot grow: no pointer of a root may be lost. */
static void test_small_stack(void) {
    enum { MANY = SMALL_STACK_NODES };
    static struct node hidden[MANY], *volatile there = hidden;
    struct node *many = there;
    static const struct lee_global all = {hidden, sizeof hidden, &node_layout};
    struct lee_heap *heap = start_heap();
    struct lee_globals unit = {&all, 1, NULL};
    size_t before = live(heap);
    lee_globals_add(&unit);
    for (size_t i = 0; i < MANY; i++) {
        many[i].next = (struct node *)fresh();
        many[i].next->next = (struct node *)fresh();
    }
    heap->verify = false; /* which needs memory */
    for (unsigned nth = 1; nth <= 4; nth++) {
        lee_system_fail(nth, false);
        size_t found = live(heap);
        lee_system_fail(0, false);
        CHECK(found == before + 2 * MANY);
    }
    memset(many, 0, sizeof hidden);
    lee_globals_remove(&unit);
    lee_heap_delete(heap);
}

/* A pointer at an odd address behind a variable of odd size. */
static void test_unaligned(void) {
    struct lee_heap *heap = start_heap();
    size_t before = live(heap);
    struct lee_global part = {odd, 5, NULL};
    struct lee_globals unit = {&part, 1, NULL};
    lee_heap_unaligned = 1;
    lee_globals_add(&unit);
    uintptr_t object = fresh();
    memcpy(odd + 5, &object, sizeof object);
    object = 0;
    CHECK(live(heap) == before + 1);
    lee_globals_remove(&unit);
    lee_heap_unaligned = 0;
    clear();
    lee_heap_delete(heap);
}

/* --- what is cut ------------------------------------------------------------------------------------------------------- */

enum { SPACE = 400 };
static unsigned char space[SPACE];

struct read {
    unsigned char how[SPACE]; /* 1: word by word, 2: by a layout */
    size_t visits, stop;
};

static bool note(void *context, struct lee_span span) {
    struct read *read = context;
    if (++read->visits == read->stop)
        return false;
    for (uintptr_t at = span.start; at < span.end; at++) {
        CHECK(read->how[at - (uintptr_t)space] == 0);
        read->how[at - (uintptr_t)space] = span.layout == NULL ? 1 : 2;
    }
    return true;
}

static struct read cut(size_t from, size_t to, size_t stop) {
    struct read read = {.stop = stop};
    lee_globals_sort();
    bool all = lee_globals_cut((uintptr_t)space + from, (uintptr_t)space + to, note, &read);
    CHECK(all == (stop == 0 || read.visits < stop));
    return read;
}

static size_t random_below(size_t most) {
    return (size_t)(random_number() % most);
}

/* Variables that do not overlap, in random order in up to eight units, some of them named twice. */
static void test_random_cuts(void) {
    for (unsigned round = 0; round < 3000; round++) {
        struct lee_global globals[64];
        struct lee_globals units[8];
        unsigned char want[SPACE];
        size_t count = 0;
        memset(want, 1, sizeof want);
        for (size_t at = random_below(40); count < 40;) {
            size_t bytes = 1 + random_below(24);
            if (at + bytes > SPACE)
                break;
            const struct lee_layout *layout = random_below(3) == 0 ? &node_layout : NULL;
            globals[count++] = (struct lee_global){space + at, bytes, layout};
            memset(want + at, layout == NULL ? 0 : 2, bytes);
            if (random_below(4) == 0)
                globals[count] = globals[count - 1], count++;
            at += bytes + (random_below(2) == 0 ? 0 : random_below(30));
        }
        for (size_t i = count; i > 1; i--) {
            size_t other = random_below(i);
            struct lee_global swapped = globals[i - 1];
            globals[i - 1] = globals[other];
            globals[other] = swapped;
        }
        size_t unit_count = 1 + random_below(8), done = 0;
        for (size_t i = 0; i < unit_count; i++) {
            size_t part = i + 1 == unit_count ? count - done : random_below(count - done + 1);
            units[i] = (struct lee_globals){globals + done, part, NULL};
            lee_globals_add(&units[i]);
            done += part;
        }
        struct read read = cut(0, SPACE, 0);
        CHECK(memcmp(read.how, want, sizeof want) == 0);
        cut(0, SPACE, 1 + random_below(read.visits));
        /* Of a range that cuts a variable in two, the part inside is read. */
        size_t from = random_below(SPACE), to = from + random_below(SPACE - from + 1);
        read = cut(from, to, 0);
        for (size_t at = 0; at < SPACE; at++)
            CHECK(at < from || at >= to ? read.how[at] == 0 : read.how[at] != 0 || want[at] == 0);
        for (size_t i = 0; i < unit_count; i++)
            lee_globals_remove(&units[i]);
        read = cut(0, SPACE, 0);
        CHECK(memchr(read.how, 0, SPACE) == NULL && read.visits == 1);
    }
}

/* One place with two sizes: what only one of them has is read. */
static void test_two_sizes(void) {
    const struct lee_global globals[] = {{space + 8, 200, NULL}, {space + 8, 100, NULL}};
    struct lee_globals unit = {globals, 2, NULL};
    lee_globals_add(&unit);
    struct read read = cut(0, SPACE, 0);
    CHECK(read.how[0] == 1 && read.how[8] == 0 && read.how[107] == 0 && read.how[108] == 1 && read.how[399] == 1);
    lee_globals_remove(&unit);
}

/* No memory for the table: everything is read. */
static void test_no_memory(void) {
    struct lee_global global = {space, 100, NULL};
    struct lee_globals unit = {&global, 1, NULL};
    struct lee_global many[5000];
    for (size_t i = 0; i < 5000; i++)
        many[i] = (struct lee_global){space, 100, NULL};
    struct lee_globals large = {many, 5000, NULL};
    lee_globals_add(&unit);
    lee_globals_add(&large);
    lee_system_fail(1, false);
    struct read read = cut(0, SPACE, 0);
    lee_system_fail(0, false);
    CHECK(memchr(read.how, 0, SPACE) == NULL);
    read = cut(0, SPACE, 0);
    CHECK(read.how[0] == 0 && read.how[99] == 0 && read.how[100] == 1);
    lee_globals_remove(&unit);
    lee_globals_remove(&large);
}

/* Each collection reads what the runtime does not name of its own static data, whatever lives. */
static void test_own_tables(void) {
    struct lee_vector spans = {NULL, 0, 0};
    size_t read = 0;
    CHECK(lee_roots_find_globals(&spans));
    for (size_t i = 0; i < spans.bytes / sizeof(struct lee_span); i++) {
        const struct lee_span *span = (const struct lee_span *)spans.data + i;
        if (span->layout == NULL)
            read += span->end - span->start;
    }
    lee_vector_free(&spans);
    size_t of_test = sizeof numbers + sizeof nodes + sizeof pointers + sizeof odd + SMALL_STACK_NODES * sizeof(struct node);
    if (getenv("GLOBALS_TEST_SHOW") != NULL)
        printf("%zu bytes of static data are read, %zu of them the test's\n", read, of_test);
    CHECK(read < of_test + (192 << 10)); /* libc has some, too */
}

int main(void) {
    lee_heap_settings.least_budget = 1 << 20;
    if (!UNDER_ASAN) /* it puts room around each variable */
        test_own_tables();
    test_numbers();
    test_layout();
    test_small_stack();
    test_unaligned();
    test_random_cuts();
    test_two_sizes();
    test_no_memory();
    return check_end();
}
