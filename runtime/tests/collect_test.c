/* The collector: random graphs against a model, frees, large objects, weak references, queues, drop actions, failure. */
#include <stdint.h>

#include <lee/arena.h>
#include <lee/lee.h>

#include "../src/arena.h"
#include "../src/collect.h"
#include "../src/process.h"
#include "../src/small.h"
#include "../src/system.h"
#include "../src/units.h"
#include "check.h"
#include "valid.h"

/* A heap whose only roots are those that the test adds. */
static struct lee_heap *start_heap(void) {
    struct lee_heap *heap = lee_heap_new();
    if (heap == NULL)
        abort();
    heap->verify = true;
    lee_heap_use(heap);
    return heap;
}

struct array_root {
    struct lee_root root;
    void **words;
    size_t count;
};

static void scan_array(struct lee_root *root, struct lee_marker *marker) {
    struct array_root *array = (struct array_root *)root;
    for (size_t i = 0; i < array->count; i++)
        lee_mark_word(marker, (uintptr_t)array->words[i]);
}

/* --- a graph and its model: every object knows what it must hold ------------------------------------------------ */

struct node {
    uint64_t id, check;
    struct node *next[3];
    uint64_t bits; /* looks like a pointer, is not one */
    unsigned char tail[];
};

static const struct lee_layout node_layout = {
    .bytes = sizeof(struct node), .kind = LEE_LAYOUT_MIXED, .words = 7 << 2, .has_flexible = 1, .rest = &lee_layout_plain, .name = "node"};

static struct node *make_node(size_t tail) {
    struct node *node = lee_heap_try_alloc_typed(sizeof *node + tail, &node_layout);
    if (node == NULL)
        return NULL;
    const unsigned char *bytes = (unsigned char *)node;
    for (size_t i = 0; i < sizeof *node + tail; i++) {
        if (bytes[i] != 0) {
            CHECK(!"memory is not zero");
            break;
        }
    }
    node->id = random_number();
    node->check = ~node->id ^ tail;
    memset(node->tail, (int)(node->id & 255), tail);
    return node;
}

static size_t check_node(const struct node *node) {
    size_t tail = ~node->id ^ node->check;
    if (tail > 1 << 22 || (tail > 0 && (node->tail[0] != (node->id & 255) || node->tail[tail - 1] != (node->id & 255)))) {
        CHECK(!"an object that is reached was overwritten");
        return 0;
    }
    return tail;
}

static size_t random_size(void) {
    switch (random_number() % 16) {
    case 0: return random_number() % 40000;
    case 1: return random_number() % 4096;
    case 2: return random_number() % 400 == 0 ? random_number() % (3 << 20) : 100;
    default: return random_number() % 200;
    }
}

static void walk(struct node *node, int depth) {
    for (; node != NULL && depth > 0; depth--) {
        check_node(node);
        node = node->next[random_number() % 3];
    }
}

static void test_graph(size_t steps, size_t stress) {
    enum { ROOTS = 256 };
    static void *words[ROOTS];
    memset(words, 0, sizeof words);
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = words, .count = ROOTS};
    heap->stress = heap->stress_left = stress;
    lee_root_add(heap, &roots.root);
    for (size_t i = 0; i < steps; i++) {
        struct node *node = make_node(random_size());
        if (node == NULL)
            break;
        for (int k = 0; k < 3; k++) {
            node->next[k] = words[random_number() % ROOTS];
            if (random_number() % 4 != 0)
                node->next[k] = NULL;
        }
        struct node *other = words[random_number() % ROOTS];
        if (other != NULL)
            other->next[random_number() % 3] = random_number() % 2 ? node : NULL;
        node->bits = random_number() % 2 ? random_number() : (uint64_t)(uintptr_t)node + random_number() % 4096;
        /* Interior pointers and those just past the end keep an object too. */
        size_t at = random_number() % ROOTS;
        words[at] = node;
        if (random_number() % 64 == 0)
            walk(words[random_number() % ROOTS], 50);
        if (i % 5000 == 4999) {
            lee_heap_collect(heap);
            valid(heap);
        }
    }
    lee_heap_collect(heap);
    for (size_t i = 0; i < ROOTS; i++)
        walk(words[i], 100);
    memset(words, 0, sizeof words);
    lee_heap_collect(heap);
    CHECK(heap->counts.live_objects == 0 && heap->counts.live_bytes == 0);
    CHECK(heap->blocks_used == 0 && heap->large == NULL);
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
    CHECK(lee_units_validate() == NULL);
}

/* --- explicit frees -------------------------------------------------------------------------------------------------- */

static void test_free(bool collect) {
    enum { LIVE = 3000 };
    static void *words[LIVE];
    static size_t sizes[LIVE];
    memset(words, 0, sizeof words);
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = words, .count = LIVE};
    lee_root_add(heap, &roots.root);
    heap->enabled = collect;
    for (size_t i = 0; i < 60000; i++) {
        size_t at = random_number() % LIVE;
        if (words[at] != NULL) {
            const unsigned char *bytes = words[at];
            if (sizes[at] > 0 && (bytes[0] != at % 251 || bytes[sizes[at] - 1] != at % 251))
                CHECK(!"an object was overwritten");
            lee_heap_free(words[at]);
            words[at] = NULL; /* or it would keep the free cell out of use until the next collection */
        }
        sizes[at] = random_number() % 500 == 0 ? random_number() % 300000 : random_number() % 300;
        words[at] = random_number() % 2 ? lee_heap_try_alloc_plain(sizes[at]) : lee_heap_try_alloc(sizes[at]);
        for (size_t k = 0; k < sizes[at]; k += 7) {
            if (((unsigned char *)words[at])[k] != 0)
                CHECK(!"memory is not zero");
        }
        memset(words[at], (int)(at % 251), sizes[at]);
        if (i % 20000 == 0) {
            if (collect)
                lee_heap_collect(heap);
            else
                lee_heap_trim(heap);
            valid(heap);
        }
    }
    for (size_t i = 0; i < LIVE; i++) {
        if (words[i] != NULL)
            lee_heap_free(words[i]);
        words[i] = NULL;
    }
    lee_heap_idle(heap);
    valid(heap);
    CHECK(heap->blocks_used == 0 && heap->large_bytes == 0);
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
}

/* --- what points where ------------------------------------------------------------------------------------------- */

static void test_interior(void) {
    void *word = NULL;
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = &word, .count = 1};
    lee_root_add(heap, &roots.root);
    static const size_t sizes[] = {1, 8, 16, 100, 4000, 30000, 32744, 32745, 100000, 1 << 20, (1 << 20) + 1, 5 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int typed = 0; typed < 2; typed++) {
            unsigned char *object = typed ? lee_heap_try_alloc(sizes[i]) : lee_heap_try_alloc_array_plain((int64_t)sizes[i], 1, 0);
            CHECK(object != NULL && (uintptr_t)object % 16 == 0);
            size_t at[] = {0, sizes[i] / 2, sizes[i] - 1, sizes[i]};
            for (size_t k = 0; k < 4; k++) {
                word = object + at[k];
                lee_heap_collect(heap);
                CHECK(heap->counts.live_objects == 1);
            }
            word = object - 1;
            lee_heap_collect(heap);
            CHECK(heap->counts.live_objects == 0);
        }
    }
    word = NULL;
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
}

struct tagged {
    uint32_t tag;
    uint32_t unused;
    union {
        void *pointer;
        uint64_t number;
    } u;
};
static const struct lee_layout one_pointer = {.bytes = 8, .words = 1};
static const struct lee_variant variants[] = {{0, 4, 1, 8, &one_pointer}};
static const struct lee_layout tagged_layout = {
    .bytes = sizeof(struct tagged), .kind = LEE_LAYOUT_MIXED, .variant_count = 1, .variants = variants, .name = "tagged"};
static const uint64_t long_words[] = {1, 0, 1ull << 63, 0};
static const struct lee_layout long_layout = {.bytes = 200 * 8, .kind = LEE_LAYOUT_MIXED, .more = long_words};

static void test_layouts(void) {
    void *word = NULL;
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = &word, .count = 1};
    lee_root_add(heap, &roots.root);
    struct tagged *tagged = lee_heap_try_alloc_typed(sizeof *tagged * 3, &tagged_layout);
    word = tagged;
    for (unsigned i = 0; i < 3; i++) {
        tagged[i].tag = i % 2;
        tagged[i].u.pointer = lee_heap_try_alloc_plain(24);
    }
    lee_heap_collect(heap);
    CHECK(heap->counts.live_objects == 2);
    void **big = lee_heap_try_alloc_typed(200 * 8 * 300, &long_layout);
    for (size_t i = 0; i < 300; i++) {
        big[i * 200] = lee_heap_try_alloc_plain(16);
        big[i * 200 + 1] = lee_heap_try_alloc_plain(16);
        big[i * 200 + 191] = lee_heap_try_alloc(16);
        word = big;
    }
    lee_heap_collect(heap);
    CHECK(heap->counts.live_objects == 601);
    word = NULL;
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
}

/* --- weak references, queues, drop actions ---------------------------------------------------------------------------- */

static void test_weak(void) {
    void *words[4] = {NULL};
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = words, .count = 4};
    lee_root_add(heap, &roots.root);
    void *target = lee_heap_try_alloc(40);
    struct lee_weak *weak = lee_weak_new(target);
    words[0] = weak;
    words[1] = target;
    lee_heap_collect(heap);
    CHECK(lee_weak_get(weak) == target);
    words[1] = NULL;
    lee_heap_collect(heap);
    CHECK(lee_weak_get(weak) == NULL && heap->counts.weak_cleared == 1);

    struct lee_finalizer_queue *queue = lee_finalizer_queue_new();
    words[1] = queue;
    struct node *a = make_node(0), *b = make_node(0);
    a->next[0] = b;
    b->next[0] = a;
    weak = lee_weak_new(b);
    words[0] = weak;
    CHECK(lee_finalizer_add(queue, a) && lee_finalizer_add(queue, a));
    words[2] = b;
    lee_heap_collect(heap);
    CHECK(lee_finalizer_try_take(queue) == NULL && lee_weak_get(weak) == b);
    words[2] = NULL;
    lee_heap_collect(heap); /* the queue holds it: weak references stay */
    CHECK(lee_weak_get(weak) == b);
    CHECK(lee_finalizer_try_take(queue) == a && lee_finalizer_try_take(queue) == a && lee_finalizer_try_take(queue) == NULL);
    check_node(b);
    lee_heap_collect(heap);
    CHECK(lee_weak_get(weak) == NULL);

    /* A queue that dies forgets; one that only a finalized object reaches is found. */
    a = make_node(0);
    b = make_node(0);
    struct lee_finalizer_queue *inner = lee_finalizer_queue_new();
    a->next[0] = (struct node *)inner;
    CHECK(lee_finalizer_add(queue, a) && lee_finalizer_add(inner, b) && lee_finalizer_add(lee_finalizer_queue_new(), b));
    lee_heap_collect(heap);
    CHECK(lee_finalizer_try_take(queue) == a && lee_finalizer_try_take(inner) == b && lee_finalizer_try_take(inner) == NULL);
    words[0] = words[1] = NULL;
    lee_heap_collect(heap);
    CHECK(heap->counts.live_objects == 0);
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
}

struct owner {
    struct node *child, *counted;
    uint64_t key;
};
static unsigned drops, live_counted;
static void drop_owner(void *object, size_t bytes) {
    struct owner *owner = object;
    drops += bytes >= sizeof *owner && owner->key == 42;
    live_counted += lee_is_live(owner->counted);
    if (owner->child != NULL)
        check_node(owner->child); /* nothing was swept yet */
}
static const struct lee_layout owner_layout = {.bytes = sizeof(struct owner), .words = 3, .drop = drop_owner};

static void test_drop(void) {
    void *word = NULL;
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = &word, .count = 1};
    lee_root_add(heap, &roots.root);
    word = make_node(10);
    heap->enabled = false; /* owners are held by nothing while they are made */
    for (int i = 0; i < 1000; i++) {
        struct owner *owner = lee_heap_try_alloc_typed(i % 100 == 0 ? 50000 * sizeof *owner : sizeof *owner, &owner_layout);
        owner->key = 42;
        owner->counted = word;
        owner->child = make_node(random_size());
    }
    heap->enabled = true;
    lee_heap_collect(heap);
    lee_heap_collect(heap);
    lee_heap_collect(heap);
    CHECK(drops == 1000 && live_counted == 1000);
    CHECK(heap->counts.live_objects == 1);
    word = NULL;
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
}

/* --- after a spike --------------------------------------------------------------------------------------------------- */

/* What dies is given back: if all dies, a tenth more than before is left at most; if one object in `each` lives, twice the blocks that such
 * objects lie in. */
static void test_spike(size_t each, bool huge) {
    enum { OBJECTS = 1 << 20, BEFORE = OBJECTS / 8 };
    static void *words[OBJECTS];
    memset(words, 0, sizeof words);
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = words, .count = OBJECTS};
    lee_root_add(heap, &roots.root);
    heap->verify = false;
    heap->huge = huge;
    for (size_t i = 0; i < BEFORE; i++)
        words[i] = lee_heap_try_alloc(56);
    lee_heap_collect(heap);
    lee_heap_idle(heap);
    size_t before = lee_memory_charged(), touched = heap->blocks_used;
    for (size_t i = BEFORE; i < OBJECTS; i++)
        words[i] = lee_heap_try_alloc(56);
    size_t spike = lee_memory_charged();
    uintptr_t last = 0;
    for (size_t i = BEFORE; i < OBJECTS; i++) {
        if (each == 0 || i % each != 0) {
            words[i] = NULL;
        } else if ((uintptr_t)words[i] / LEE_BLOCK_BYTES != last) {
            last = (uintptr_t)words[i] / LEE_BLOCK_BYTES;
            touched++;
        }
    }
    lee_heap_collect(heap);
    lee_heap_idle(heap);
    CHECK(spike > 6 * before);
    CHECK(each == 0 ? lee_memory_charged() <= before / 10 * 11 : lee_memory_charged() <= 2 * touched * LEE_BLOCK_BYTES);
    memset(words, 0, sizeof words);
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
}

/* --- bad luck --------------------------------------------------------------------------------------------------------- */

/* A comb: marking it needs as much stack as there is, which is none. */
static void test_overflow(void) {
    void *word = NULL;
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = &word, .count = 1};
    lee_root_add(heap, &roots.root);
    void **wide = lee_heap_try_alloc(20000 * sizeof *wide);
    word = wide;
    for (size_t i = 0; i < 20000; i++) {
        struct node *node = make_node(0);
        wide[i] = node;
        for (int k = 0; k < 3; k++)
            node->next[k] = make_node(0);
        void **fan = lee_heap_try_alloc(i % 100 == 0 ? 8000 : 16);
        node->next[1]->next[0] = (struct node *)fan;
        fan[0] = i > 0 ? wide[random_number() % i] : NULL;
        for (size_t k = 0; i % 100 == 0 && k < 1000; k++)
            fan[k] = make_node(0);
    }
    lee_heap_collect(heap);
    size_t objects = heap->counts.live_objects;
    CHECK(heap->counts.overflows == 0);
    heap->verify = false;
    lee_system_fail(1, false);
    lee_heap_collect(heap);
    lee_system_fail(0, false);
    CHECK(heap->counts.live_objects == objects && heap->counts.overflows > 0);
    word = NULL;
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
}

/* Every request to the system fails in turn, once or from then on. */
static void test_failures(void) {
    for (size_t nth = 1; nth < 40; nth++) {
        void *words[64] = {NULL};
        struct lee_heap *heap = start_heap();
        struct array_root roots = {.root.scan = scan_array, .words = words, .count = 64};
        lee_root_add(heap, &roots.root);
        lee_system_fail(nth, nth % 2 == 0);
        for (size_t i = 0; i < 600; i++) {
            struct node *node = make_node(random_size() * (i % 20 == 0 ? 20 : 1) % (1 << 22));
            if (node == NULL)
                continue;
            node->next[0] = words[random_number() % 64];
            words[random_number() % 64] = node;
            struct lee_weak *weak = lee_weak_new(node);
            if (weak != NULL)
                CHECK(lee_weak_get(weak) == node);
            if (i % 300 == 0)
                lee_heap_collect(heap);
        }
        lee_system_fail(0, false);
        for (size_t i = 0; i < 64; i++)
            walk(words[i], 20);
        lee_heap_collect(heap);
        valid(heap);
        lee_root_remove(heap, &roots.root);
        lee_heap_delete(heap);
    }
    lee_small_trim();
    CHECK(lee_memory_charged() == 0);
}

static void test_pages(void) {
    struct lee_heap *heap = start_heap();
    enum { MANY = 500 };
    static struct {
        unsigned char *start;
        size_t bytes;
    } pages[MANY];
    for (size_t i = 0; i < 8000; i++) {
        size_t at = random_number() % MANY;
        if (pages[at].start != NULL) {
            CHECK(pages[at].start[0] == at % 251 && pages[at].start[pages[at].bytes - 1] == at % 251);
            lee_pages_give(heap, pages[at].start, pages[at].bytes);
        }
        size_t wanted = random_number() % 100 == 0 ? random_number() % (5 << 20) : random_number() % 70000;
        bool zeroed;
        pages[at].start = lee_pages_take(heap, wanted, &pages[at].bytes, &zeroed);
        CHECK(pages[at].start != NULL && pages[at].bytes >= wanted && pages[at].bytes >= 4096);
        CHECK((uintptr_t)pages[at].start % (pages[at].bytes < 65536 ? pages[at].bytes : 65536) == 0);
        for (size_t k = 0; zeroed && k < pages[at].bytes; k += 1000)
            CHECK(pages[at].start[k] == 0);
        pages[at].start[0] = pages[at].start[pages[at].bytes - 1] = (unsigned char)(at % 251);
        if (i % 4000 == 0)
            lee_heap_idle(heap);
    }
    for (size_t at = 0; at < MANY; at++) {
        if (pages[at].start != NULL)
            lee_pages_give(heap, pages[at].start, pages[at].bytes);
    }
    lee_heap_idle(heap);
    valid(heap);
    CHECK(heap->blocks_used == 0 && heap->large_bytes == 0);
    lee_heap_delete(heap);
    lee_small_trim();
    CHECK(lee_memory_charged() == 0);
}

#ifndef LEE_ARENA_BY_MALLOC
static const struct lee_layout holder_layout = {.bytes = 24, .words = 7, .name = "holder"};

/* What a key reaches lives with it, cycles through keys die, and what refers to an arena that is gone is not followed, whatever its
 * pages hold by then. */
static void test_gone_arena(void) {
    void *word = NULL;
    struct lee_heap *heap = start_heap();
    struct array_root roots = {.root.scan = scan_array, .words = &word, .count = 1};
    lee_root_add(heap, &roots.root);
    static const struct lee_site site = {.file = "test"};
    for (int cycle = 0; cycle < 2; cycle++) {
        void **holder = lee_heap_try_alloc_typed(24, &holder_layout), **object = lee_heap_try_alloc_typed(24, &holder_layout);
        word = holder;
        struct lee_arena *key = lee_key_new(&site);
        void **inside = lee_arena_alloc(&site, key, 64, 8);
        holder[0] = key;
        holder[1] = inside;
        inside[0] = object;
        object[0] = holder;
        lee_heap_collect(heap);
        CHECK(heap->counts.live_objects == 2 && lee_keys_of(heap) == key);
        if (cycle == 0) {
            word = NULL;
            lee_heap_collect(heap);
            CHECK(heap->counts.live_objects == 0 && lee_keys_of(heap) == NULL);
            continue;
        }
        lee_key_free(key);
        lee_heap_collect(heap);
        CHECK(lee_key_at((uintptr_t)key) == NULL);
        CHECK(heap->counts.live_objects == 1 && holder[0] == key && holder[1] == inside);
        /* Its page is still the process's: whatever is in there now. */
        void **end = (void **)(((uintptr_t)key & ~(uintptr_t)4095) + 4096);
        for (void **at = (void **)(key + 1); at < end; at++)
            *at = lee_heap_try_alloc_typed(24, &holder_layout);
        lee_heap_collect(heap);
        CHECK(heap->counts.live_objects == 1);
    }
    lee_root_remove(heap, &roots.root);
    lee_heap_delete(heap);
}
#endif

/* Cells are the smallest that fit, aligned, and divided exactly. */
static void test_classes(void) {
    for (size_t bytes = 0; bytes <= LEE_CELL_MOST; bytes++) {
        unsigned class_ = lee_class_of(bytes), aligned = lee_class_of_aligned(bytes <= LEE_CELL_MOST - 15 ? bytes : 0);
        size_t cell = lee_class_bytes(class_);
        CHECK(class_ < LEE_CLASSES && cell >= bytes && (class_ == 0 || lee_class_bytes(class_ - 1) < bytes));
        CHECK(lee_class_bytes(aligned) % 16 == 0);
    }
    for (unsigned code = LEE_CODE_CELLS; code < LEE_CODE_LARGE; code++) {
        const struct lee_cell_info *info = &lee_cell_info[code];
        CHECK(lee_cell_code(info->family, info->class_) == code && lee_class_bytes(info->class_) == info->bytes);
        for (uint64_t offset = 0; offset < LEE_BLOCK_BYTES; offset++)
            CHECK(offset * info->reciprocal >> 32 == offset / info->bytes);
        CHECK(info->origin + (size_t)info->count * info->bytes <= LEE_BLOCK_BYTES + (info->origin ? 8u : 0u));
    }
}

int main(int argc, char **argv) {
    size_t effort = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    if (argc > 2)
        random_state += strtoul(argv[2], NULL, 10);
    lee_heap_settings.least_budget = 1 << 20;
    test_classes();
    test_interior();
    test_layouts();
    test_weak();
    test_drop();
    test_pages();
#ifndef LEE_ARENA_BY_MALLOC
    test_gone_arena();
#endif
    test_free(false);
    test_free(true);
    test_graph(6000 * effort, 0);
    test_graph(300 * effort, 1);
    for (size_t each = 0; each <= 100000; each = each == 0 ? 100 : each * 1000) {
        test_spike(each, false);
        test_spike(each, true);
    }
    test_overflow();
    test_failures();
    return check_end();
}
