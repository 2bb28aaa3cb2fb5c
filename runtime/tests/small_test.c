/* Pages of 4 KB with cells of all classes: what is in them against a model, what points into them, whose they are, what they cost; heaps that
 * come and go in several threads, also under ThreadSanitizer. */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include <lee/lee.h>

#include "../src/collect.h"
#include "../src/poison.h"
#include "../src/small.h"
#include "../src/system.h"
#include "../src/units.h"
#include "check.h"
#include "valid.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

/* A heap whose only roots are `words`. */
enum { ROOTS = 64 };
struct roots {
    struct lee_root root;
    void *words[ROOTS];
};

static void scan_words(struct lee_root *root, struct lee_marker *marker) {
    struct roots *roots = (struct roots *)root;
    for (size_t i = 0; i < ROOTS; i++)
        lee_mark_word(marker, (uintptr_t)roots->words[i]);
}

static struct lee_heap *start_heap(struct roots *roots) {
    struct lee_heap *heap = lee_heap_new();
    if (heap == NULL)
        abort();
    heap->verify = true;
    lee_heap_use(heap);
    *roots = (struct roots){.root.scan = scan_words};
    lee_root_add(heap, &roots->root);
    return heap;
}

static void end_heap(struct lee_heap *heap, struct roots *roots) {
    lee_root_remove(heap, &roots->root);
    lee_heap_delete(heap);
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

static size_t dropped;

static void drop(void *object, size_t bytes) {
    CHECK(bytes >= 1 && *(unsigned char *)object != 0);
    dropped++;
}

static const struct lee_layout pair_layout = {.bytes = 16, .words = 3, .name = "pair"};
static const struct lee_layout owner_layout = {.bytes = 8, .kind = LEE_LAYOUT_PLAIN, .drop = drop, .name = "owner"};

struct object {
    unsigned char *start;
    size_t bytes;
    unsigned char fill;
};

static bool holds(const struct object *object) {
    for (size_t i = 0; i < object->bytes; i++) {
        if (object->start[i] != object->fill)
            return false;
    }
    return true;
}

/* Words of fill bytes point nowhere. */
static struct object make_object(void) {
    size_t bytes = random_number() % 8 == 0 ? random_number() % 1000 : random_number() % 80;
    struct object object = {.fill = (unsigned char)(random_number() % 255 + 1)};
    switch (random_number() % 4) {
    case 0: object.start = lee_heap_try_alloc(bytes); break;
    case 1: object.start = lee_heap_try_alloc_typed(bytes = (bytes + 16) / 16 * 16, &pair_layout); break;
    case 2: object.start = lee_heap_try_alloc_typed(bytes = (bytes + 8) / 8 * 8, &owner_layout); break;
    default: object.start = lee_heap_try_alloc_array_plain((int64_t)bytes, 1, 0); break;
    }
    CHECK(object.start != NULL && (uintptr_t)object.start % 16 == 0 && lee_heap_size(object.start) >= bytes);
    object.bytes = bytes;
    for (size_t i = 0; i < bytes; i++)
        CHECK(object.start[i] == 0);
    memset(object.start, object.fill, bytes);
    return object;
}

static bool is_small(const void *object) {
    return lee_code_at(lee_chunk_at(object), lee_block_index((uintptr_t)object)) == LEE_CODE_SMALL;
}

/* Every address in an object, and the one just past it, is the object's; to other heaps it is nothing. */
static void check_places(struct lee_heap *heap, struct lee_heap *other, const struct object *object) {
    struct lee_object found;
    for (size_t at = 0; at <= object->bytes; at++) {
        CHECK(lee_object_find(heap, (uintptr_t)object->start + at, &found) && found.start == (uintptr_t)object->start);
        CHECK(!lee_object_find(other, (uintptr_t)object->start + at, &found));
    }
    CHECK(lee_heap_block_size(object->start) == lee_heap_size(object->start));
    CHECK(!is_small(object->start) || (lee_heap_block_size(object->start + 16) == 0 || object->bytes < 16));
}

static void test_cells(size_t steps, size_t live_most) {
    struct roots roots, others;
    struct lee_heap *other = start_heap(&others), *heap = start_heap(&roots);
    struct object objects[ROOTS] = {{NULL, 0, 0}};
    size_t small = 0;
    for (size_t i = 0; i < steps; i++) {
        size_t at = random_number() % live_most;
        if (objects[at].start != NULL) {
            CHECK(holds(&objects[at]));
            if (random_number() % 2)
                lee_heap_free(objects[at].start);
        }
        objects[at] = make_object();
        /* Any place in it keeps it, and just past it, too. */
        roots.words[at] = objects[at].start + random_number() % (objects[at].bytes + 1);
        small += is_small(objects[at].start);
        if (i % 64 == 0)
            check_places(heap, other, &objects[at]);
        if (i % 97 == 0)
            lee_heap_collect(heap);
        if (i % 501 == 0)
            lee_heap_trim(heap);
        if (i % 97 == 0)
            valid(heap);
    }
    CHECK(small > steps / 50);
    for (size_t at = 0; at < live_most; at++) {
        CHECK(objects[at].start == NULL || holds(&objects[at]));
        roots.words[at] = NULL;
    }
    lee_heap_collect(heap);
    CHECK(heap->counts.live_objects == 0 && heap->small_pages == 1);
    valid(heap);
    end_heap(heap, &roots);
    end_heap(other, &others);
}

/* The first 4 KB of a heap need no block of a class's own, and a heap that dies gives them back. */
static void test_first(void) {
    struct roots roots;
    struct lee_heap *heap = start_heap(&roots);
    size_t bytes = 0;
    while (heap->blocks_used == 0 && bytes < 1 << 16) {
        size_t size = random_number() % 60;
        CHECK(lee_heap_try_alloc_typed(size, &lee_layout_conservative) != NULL);
        bytes += size + LEE_HEADER_BYTES;
    }
    CHECK(bytes > 3000 && heap->blocks_used == 1 && heap->small_pages == LEE_SMALL_PAGES);
    lee_heap_collect(heap);
    CHECK(heap->blocks_used == 0 && heap->small_pages == 1);
    CHECK(is_small(lee_heap_try_alloc(100))); /* and begins anew */
    CHECK(!is_small(lee_heap_try_alloc(LEE_SMALL_CELL_MOST)));
    valid(heap);
    end_heap(heap, &roots);
}

static void test_owners(void) {
    struct roots roots;
    struct lee_heap *heap = start_heap(&roots);
    for (size_t i = 0; i < 20; i++)
        *(unsigned char *)(roots.words[i] = lee_heap_try_alloc_typed(8, &owner_layout)) = 1;
    CHECK(is_small(roots.words[0]));
    struct lee_weak *weak = roots.words[30] = lee_weak_new(roots.words[3]);
    dropped = 0;
    lee_heap_collect(heap);
    CHECK(dropped == 0 && lee_weak_get(weak) == roots.words[3]);
    roots.words[3] = roots.words[4] = NULL;
    lee_heap_collect(heap);
    CHECK(dropped == 2 && lee_weak_get(weak) == NULL);
    lee_heap_collect(heap);
    CHECK(dropped == 2);
    end_heap(heap, &roots);
}

/* Marks that do not fit the stack are found again, in these pages too. */
static void test_overflow(void) {
    struct roots roots;
    struct lee_heap *heap = start_heap(&roots);
    void **head = roots.words[0] = lee_heap_try_alloc(1000);
    for (size_t i = 0; i < 100; i++) {
        void **wide = lee_heap_try_alloc(1000);
        head[i] = wide;
        for (size_t k = 0; k < 100; k++) {
            void **leaf = wide[k] = lee_heap_try_alloc(16);
            leaf[0] = head;
        }
    }
    CHECK(is_small(head));
    lee_system_fail(1, false); /* the marker gets no stack of its own */
    heap->verify = false;
    lee_heap_collect(heap);
    lee_system_fail(0, false);
    CHECK(heap->counts.overflows > 0 && heap->counts.live_objects == 1 + 100 + 100 * 100);
    valid(heap);
    end_heap(heap, &roots);
}

/* --- pages ----------------------------------------------------------------------------------------------------------- */

/* What a heap wrote into memory that then becomes such pages does not look like one of its pages. */
static void test_forged(void) {
    struct roots roots;
    struct lee_heap *heap = start_heap(&roots);
    lee_small_trim();
    bool zeroed;
    unsigned char *unit = lee_units_take(heap, LEE_UNIT_PAGES, 1, &zeroed);
    LEE_UNPOISON(unit, LEE_UNIT_BYTES);
    struct lee_small page;
    memset(&page, 0, sizeof page);
    memset(page.map, lee_cell_code(LEE_PLAIN, 0), sizeof page.map);
    atomic_store(&page.owner, heap);
    for (size_t at = 0; at < LEE_UNIT_BYTES; at += LEE_PAGE_BYTES)
        memcpy(unit + at + LEE_SMALL_CELLS * 16, &page, sizeof page);
    lee_units_give(unit, 1, true);
    static struct lee_small *pages[3 * LEE_UNIT_BYTES / LEE_PAGE_BYTES];
    enum { PAGES = sizeof pages / sizeof *pages };
    static struct lee_heap other; /* of no process, so that no custodian is charged */
    size_t inside = 0;
    for (size_t i = 0; i < PAGES; i++) {
        pages[i] = lee_small_take(&other);
        CHECK(pages[i] != NULL);
        inside += (uintptr_t)pages[i] - (uintptr_t)unit < LEE_UNIT_BYTES;
    }
    CHECK(inside == LEE_UNIT_BYTES / LEE_PAGE_BYTES);
    struct lee_object object;
    for (size_t at = 0; at < LEE_UNIT_BYTES; at += 1024)
        CHECK(!lee_object_find(heap, (uintptr_t)unit + at, &object) && lee_is_marked(heap, (uintptr_t)unit + at));
    size_t charged = lee_memory_charged();
    for (size_t i = 0; i < PAGES; i++)
        lee_small_give(pages[i]);
    CHECK(lee_memory_charged() == charged); /* they may be resident */
    CHECK(lee_small_trim() == PAGES * (size_t)LEE_PAGE_BYTES && lee_memory_charged() == charged - PAGES * (size_t)LEE_PAGE_BYTES);
    CHECK(lee_units_validate() == NULL);
    end_heap(heap, &roots);
}

static void test_failures(void) {
    lee_small_trim();
    for (size_t nth = 1; nth < 40; nth++) {
        struct lee_heap *before = NULL;
        lee_system_fail(nth, false);
        struct lee_heap *heap = lee_heap_new();
        for (size_t i = 0; heap != NULL && i < 2000; i++) {
            lee_heap_use(heap);
            unsigned char *object = lee_heap_try_alloc(i % 300);
            if (object != NULL)
                memset(object, 1, i % 300);
            before = heap;
        }
        lee_system_fail(0, false);
        if (before != NULL) {
            valid(before);
            lee_heap_delete(before);
        }
    }
    lee_small_trim();
    CHECK(lee_memory_charged() == 0);
}

/* --- what heaps cost --------------------------------------------------------------------------------------------------- */

static size_t resident(void) {
    size_t all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%zu %zu", &all, &pages) != 2)
        pages = 0;
    if (file != NULL)
        fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* `objects` of several classes in each of 1,000 heaps: their memory in all, and what is charged for it. */
static void cost(size_t objects, size_t resident_most, size_t charged_most) {
    enum { HEAPS = 1000 };
    static struct lee_heap *heaps[HEAPS];
    static unsigned char ready[LEE_PAGE_BYTES];
    memset(ready, 1, sizeof ready);
    struct lee_heap *first = lee_heap_new();
    size_t before = resident(), charged = lee_memory_charged();
    for (size_t i = 0; i < HEAPS; i++) {
        heaps[i] = lee_heap_new();
        lee_heap_use(heaps[i]);
        for (size_t k = 0; k < objects; k++)
            memset(lee_heap_try_alloc_plain(k % 10 * 8 + 1), 1, k % 10 * 8 + 1);
    }
    size_t each = (resident() - before) / HEAPS, charged_each = (lee_memory_charged() - charged) / HEAPS;
    if (getenv("SMALL_TEST_SHOW") != NULL)
        printf("%zu objects: %zu bytes resident, %zu charged\n", objects, each, charged_each);
    CHECK(UNDER_ASAN || UNDER_TSAN || each <= resident_most);
    CHECK(charged_each <= charged_most);
    for (size_t i = 0; i < HEAPS; i++)
        lee_heap_delete(heaps[i]);
    lee_heap_delete(first);
    lee_small_trim();
    CHECK(lee_memory_charged() == 0);
}

/* --- threads ------------------------------------------------------------------------------------------------------------- */

enum { THREADS = 3 };
static _Atomic(uintptr_t) published[THREADS];

/* Heaps come and go; words of the others point into pages that are anybody's meanwhile. */
static void *come_and_go(void *number) {
    size_t own = (size_t)number;
    struct lee_object object;
    for (size_t i = 0; i < 3000; i++) {
        struct lee_heap *heap = lee_heap_new();
        if (heap == NULL)
            return "no heap";
        lee_heap_use(heap);
        unsigned char *mine = NULL;
        for (size_t k = 0; k < i % 60; k++)
            memset(mine = lee_heap_try_alloc(k * 2), (int)own + 1, k * 2);
        for (size_t k = 0; k < THREADS; k++) {
            uintptr_t word = atomic_load_explicit(&published[k], memory_order_relaxed);
            if (k != own && lee_object_find(heap, word, &object) && object.bytes > 0 && *(unsigned char *)object.start != own + 1)
                return "an object of somebody else";
        }
        if (mine != NULL) {
            atomic_store_explicit(&published[own], (uintptr_t)mine, memory_order_relaxed);
            if (!lee_object_find(heap, (uintptr_t)mine, &object))
                return "an object is not found";
        }
        lee_heap_delete(heap);
        if (i % 500 == 0)
            lee_small_trim();
    }
    return NULL;
}

static void test_threads(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, come_and_go, (void *)i);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK(wrong == NULL);
    }
    lee_small_trim();
    CHECK(lee_memory_charged() == 0 && lee_units_validate() == NULL);
}

int main(void) {
    cost(0, 4096 + 400, 4096);
    cost(1, 4096 + 400, 4096);
    cost(40, 2 * 4096 + 400, 2 * 4096);
    test_cells(4000, 8);
    test_cells(20000, ROOTS);
    test_first();
    test_owners();
    test_overflow();
    test_forged();
    test_failures();
    test_threads();
    return check_end();
}
