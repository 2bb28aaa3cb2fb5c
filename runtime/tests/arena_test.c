/* Arenas, reaps, keys, counts and deep disposal: zeroed, aligned, apart; memory comes back; random use against a model. */
#include <stdint.h>

#include <lee/collect.h>
#include <lee/owned.h>

#include "../src/arena.h"
#include "check.h"

static const struct lee_site site = {"arena.lee", 7, 3};

static bool all(const unsigned char *bytes, size_t size, int value) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static long ***anchors[3];
static size_t anchor_count;

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static size_t some_size(void) {
    uint64_t r = next_random();
    switch (r % 16) {
    case 0:
        return r / 16 % 200000;
    case 1:
    case 2:
        return r / 16 % 5000;
    default:
        return r / 16 % 100;
    }
}

/* ---- arenas */

static void test_arena(void) {
    enum { OBJECTS = 2000 };
    static unsigned char *objects[OBJECTS];
    static size_t sizes[OBJECTS];
    for (int round = 0; round < 20; round++) {
        struct lee_arena storage, *arena = lee_arena_begin(&storage);
        for (size_t i = 0; i < OBJECTS; i++) {
            sizes[i] = some_size();
            size_t align = (size_t)1 << next_random() % 7;
            objects[i] = lee_arena_alloc(&site, arena, sizes[i], align);
            CHECK((uintptr_t)objects[i] % align == 0 && (uintptr_t)objects[i] % 8 == 0);
            CHECK(all(objects[i], sizes[i], 0));
            memset(objects[i], (int)(i % 251) + 1, sizes[i]);
        }
        for (size_t i = 0; i < OBJECTS; i++)
            CHECK(all(objects[i], sizes[i], (int)(i % 251) + 1));
        lee_arena_end(arena);
    }
}

static void test_nested(void) {
    struct lee_arena a, b, c;
    lee_arena_begin(&a);
    int *x = lee_arena_alloc(&site, &a, sizeof *x, 4);
    lee_arena_begin(&b);
    int *y = lee_arena_alloc(&site, &b, sizeof *y, 4);
    lee_arena_begin(&c);
    int *z = lee_arena_alloc(&site, &c, sizeof *z, 4);
    *x = 1, *y = 2, *z = 3;
    lee_arena_end(&b); /* out of order: an exit by a jump never does so, keys do */
    CHECK(*x == 1 && *z == 3);
    lee_arena_end(&a);
    CHECK(*z == 3);
    lee_arena_end(&c);
}

static void test_impossible(void) {
    struct lee_arena storage, *arena = lee_arena_begin(&storage);
    CHECK(lee_arena_take(NULL, arena, SIZE_MAX, 8) == NULL);
    CHECK(lee_arena_take(NULL, arena, (size_t)PTRDIFF_MAX, 8) == NULL);
    CHECK(lee_arena_take(NULL, arena, (size_t)1 << 60, 8) == NULL);
    CHECK(lee_arena_take_array(NULL, arena, -1, 1, 0, 8) == NULL);
    CHECK(lee_arena_take_array(NULL, arena, INT64_MAX, 2, 0, 8) == NULL);
    CHECK(lee_arena_take_array(NULL, arena, 2, SIZE_MAX, 0, 8) == NULL);
    CHECK(lee_reap_take(NULL, arena, SIZE_MAX, 8) == NULL);
    CHECK(lee_reap_take(NULL, arena, SIZE_MAX - 7, 8) == NULL);
    CHECK(lee_reap_take_array(NULL, arena, INT64_MAX, 2, 0, 8) == NULL);
    void *a = lee_arena_alloc(&site, arena, 0, 1), *b = lee_arena_alloc(&site, arena, 0, 1);
    CHECK(a != NULL && b != NULL && a != b);
    lee_arena_end(arena);
}

static void fault_arena(void *arena) {
    lee_arena_alloc(&site, arena, (size_t)1 << 62, 8);
}

static void fault_array(void *arena) {
    lee_arena_take_array(&site, arena, INT64_MAX, 16, 0, 8);
}

static void test_faults(void) {
    struct lee_arena storage, *arena = lee_arena_begin(&storage);
    static struct child child;
    run_child(&child, fault_arena, arena);
    CHECK(child.status == 134);
    check_holds("arena", child.output, "arena.lee:7:3: fault: out of memory");
    run_child(&child, fault_array, arena);
    CHECK(child.status == 134);
    lee_arena_end(arena);
}

/* ---- reaps */

static void test_reap(void) {
    enum { SLOTS = 700, STEPS = 60000 };
    static unsigned char *objects[SLOTS];
    static size_t sizes[SLOTS];
    for (int round = 0; round < 4; round++) {
        memset(objects, 0, sizeof objects);
        struct lee_arena storage, *reap = lee_arena_begin(&storage);
        for (size_t step = 0; step < STEPS; step++) {
            size_t i = next_random() % SLOTS;
            if (objects[i] != NULL) {
                CHECK(all(objects[i], sizes[i], (int)(i % 251) + 1));
                CHECK(lee_reap_size(objects[i]) >= sizes[i]);
                lee_reap_free(reap, objects[i]);
                objects[i] = NULL;
            }
            if (next_random() % 8 < (step / 10000 % 2 ? 3 : 7)) {
                sizes[i] = some_size();
                objects[i] = lee_reap_take(&site, reap, sizes[i], 16);
                CHECK((uintptr_t)objects[i] % 16 == 0);
                CHECK(all(objects[i], sizes[i], 0));
                memset(objects[i], (int)(i % 251) + 1, sizes[i]);
            }
        }
        for (size_t i = 0; i < SLOTS; i++)
            CHECK(objects[i] == NULL || all(objects[i], sizes[i], (int)(i % 251) + 1));
        lee_arena_end(reap);
    }
}

/* What is freed is found again: a reap that replaces its objects for ever does not grow. */
static void test_reuse(void) {
#if !UNDER_ASAN
    struct lee_arena storage, *reap = lee_arena_begin(&storage);
    enum { OBJECTS = 100 };
    void *objects[OBJECTS] = {0};
    for (size_t step = 0; step < 200000; step++) {
        size_t i = next_random() % OBJECTS;
        lee_reap_free(reap, objects[i]);
        objects[i] = lee_reap_take(&site, reap, next_random() % 300, 16);
    }
    size_t bytes = 0;
    for (struct lee_arena_page *page = reap->pages; page != NULL; page = page->older)
        bytes += page->bytes;
    CHECK(bytes <= 128 << 10);
    for (size_t i = 0; i < OBJECTS; i++)
        lee_reap_free(reap, objects[i]);
    /* Each page is one block again, but for that with the lists: so much fits without a further one. */
    struct lee_arena_page *newest = reap->pages;
    for (struct lee_arena_page *page = reap->pages; page != NULL; page = page->older)
        CHECK(lee_reap_take(&site, reap, page->bytes / 2 - 400, 16) != NULL);
    CHECK(reap->pages == newest);
    lee_arena_end(reap);
#endif
}

/* ---- keys */

static void test_keys(void) {
    struct lee_arena *keys[50];
    for (size_t i = 0; i < 50; i++) {
        keys[i] = lee_key_new(&site);
        for (size_t n = 0; n < i * 10; n++)
            memset(lee_arena_alloc(&site, keys[i], 100, 8), 1, 100);
    }
    for (size_t i = 0; i < 50; i++)
        lee_key_free(keys[(i * 7) % 50]);
    lee_key_free(NULL);
    struct lee_arena *counted = lee_key_new(&site);
    CHECK(lee_key_retain(counted) == counted);
    char *text = lee_reap_take(&site, counted, 6, 1);
    memcpy(text, "hello", 6);
    lee_key_release(counted);
    CHECK(strcmp(text, "hello") == 0);
    lee_key_release(counted);
    lee_key_release(NULL);
    CHECK(lee_key_retain(NULL) == NULL);
}

/* ---- what is owned */

struct node {
    struct node *left, *right;
};

static void drop_node(struct lee_work *work, void *element);
static const struct lee_owned node_owned = {sizeof(struct node), drop_node, 0, 0, NULL, 0, 0, 0};

static void drop_node(struct lee_work *work, void *element) {
    struct node *node = element;
    lee_push(work, node->left, &node_owned);
    lee_push(work, node->right, &node_owned);
}

static struct node *tree(struct lee_arena *reap, int depth) {
    struct node *node =
        reap != NULL ? lee_reap_take(&site, reap, sizeof *node, 8) : lee_heap_alloc(&site, sizeof *node);
    if (depth > 0) {
        node->left = tree(reap, depth - 1);
        node->right = tree(reap, depth - 1);
    }
    return node;
}

static void test_deep(void) {
    struct node *list = NULL;
    for (int i = 0; i < 1000000; i++) {
        struct node *node = lee_heap_alloc(&site, sizeof *node);
        node->left = list;
        list = node;
    }
    lee_dispose(list, &node_owned);
    for (int round = 0; round < 5; round++)
        lee_dispose(tree(NULL, 14), &node_owned);
    lee_dispose(NULL, &node_owned);
    struct lee_arena storage, *reap = lee_arena_begin(&storage);
    lee_dispose_in(reap, tree(reap, 12), &node_owned);
    lee_arena_end(reap);
}

/* An array of many owned pointers needs more room than the list has at first. */
static void drop_pointer(struct lee_work *work, void *element) {
    lee_push(work, *(struct node **)element, &node_owned);
}

static const struct lee_owned pointers_owned = {sizeof(void *), drop_pointer, 0, 0, NULL, 0, 0, 0};

static void test_wide(void) {
    struct node **all_nodes = lee_heap_alloc_array(&site, 50000, sizeof *all_nodes, 0);
    for (size_t i = 0; i < 50000; i += 2)
        all_nodes[i] = tree(NULL, 1);
    lee_dispose_parts(all_nodes, 25000 * sizeof *all_nodes, &pointers_owned);
    memset(all_nodes, 0, 25000 * sizeof *all_nodes);
    lee_dispose(all_nodes, &pointers_owned);
}

struct message {
    size_t count;
    struct node *parts[];
};

static const struct lee_owned message_owned = {
    sizeof(struct message), NULL, offsetof(struct message, parts), sizeof(void *), drop_pointer, 0, 0, 0};

static void test_tail(void) {
    struct message *message = lee_heap_alloc(&site, sizeof *message + 10 * sizeof(void *));
    for (size_t i = 0; i < 10; i++)
        message->parts[i] = tree(NULL, 2);
    lee_dispose(message, &message_owned);
}

struct shared {
    struct shared *other;
};

static void drop_shared(struct lee_work *work, void *element);
static const struct lee_owned shared_owned = {sizeof(struct shared), drop_shared, 0, 0, NULL, 1, 0, 0};

static void drop_shared(struct lee_work *work, void *element) {
    lee_push(work, ((struct shared *)element)->other, &shared_owned);
}

static void test_counts(void) {
    struct shared *last = lee_counted(lee_heap_alloc(&site, LEE_COUNT_BYTES + sizeof *last));
    struct shared *chain = lee_retain(last);
    for (int i = 0; i < 100000; i++) {
        struct shared *link = lee_counted(lee_heap_alloc(&site, LEE_COUNT_BYTES + sizeof *link));
        CHECK((uintptr_t)link % 16 == 0);
        link->other = chain;
        chain = link;
    }
    lee_dispose(chain, &shared_owned);
    CHECK(((size_t *)last)[-1] == 1);
    lee_dispose(last, &shared_owned);
    CHECK(lee_retain(NULL) == NULL && lee_counted(NULL) == NULL);
    struct lee_arena storage, *reap = lee_arena_begin(&storage);
    struct shared *inner = lee_counted(lee_reap_take(&site, reap, LEE_COUNT_BYTES + sizeof *inner, 16));
    struct shared *outer = lee_counted(lee_reap_take(&site, reap, LEE_COUNT_BYTES + sizeof *outer, 16));
    outer->other = inner;
    lee_dispose_in(reap, outer, &shared_owned);
    lee_arena_end(reap);
}

/* The heap gives freed memory out again. */
static void test_heap_free(void) {
#if !UNDER_ASAN
    char *first = lee_heap_alloc(&site, 40);
    memset(first, 1, 40);
    lee_heap_free(first);
    for (int i = 0; i < 100000; i++) {
        unsigned char *again = lee_heap_alloc(&site, 40);
        if (!all(again, 40, 0)) {
            CHECK(!"reused memory is not zero");
            return;
        }
        memset(again, 1, 40);
        lee_heap_free(again);
    }
#endif
    lee_heap_free(lee_heap_alloc(&site, 3 << 20));
    lee_heap_free(lee_heap_alloc(&site, 50000));
    lee_free(NULL);
}

/* Memory that is used again in place: zeroed, with the new layout; what does not fit is freed and made anew. */
static void test_heap_reuse(void) {
    static const struct lee_layout two = {.bytes = 16, .kind = LEE_LAYOUT_WORDS, .words = 3};
    static const struct lee_layout other = {.bytes = 16, .kind = LEE_LAYOUT_WORDS, .words = 1};
    unsigned char *first = lee_heap_alloc_typed(&site, 16, &two);
    memset(first, 1, 16);
    unsigned char *second = lee_heap_reuse_typed(&site, first, 16, &other);
    CHECK(second == first && all(second, 16, 0) && lee_heap_size(second) == 16);
    /* An array of two has the same cell as nothing that is asked for here. */
    unsigned char *array = lee_heap_alloc_array_typed(&site, 2, 16, 0, &two);
    memset(array, 1, 32);
    unsigned char *one = lee_heap_reuse_typed(&site, array, 16, &two);
    CHECK(one != array && all(one, 16, 0) && lee_heap_size(one) == 16);
    unsigned char *large = lee_heap_alloc_array_typed(&site, 4096, 16, 0, &two);
    unsigned char *small = lee_heap_reuse_typed(&site, large, 16, &two);
    CHECK(all(small, 16, 0) && lee_heap_size(small) == 16);
    unsigned char *fresh = lee_heap_reuse_typed(&site, NULL, 16, &two);
    CHECK(fresh != NULL && all(fresh, 16, 0));

    unsigned char *plain = lee_heap_alloc_plain(&site, 24);
    memset(plain, 1, 24);
    unsigned char *same = lee_heap_reuse_plain(&site, plain, 24);
    CHECK(same == plain && all(same, 24, 0));
    unsigned char *typed = lee_heap_reuse_typed(&site, same, 24, &two);
    CHECK(all(typed, 24, 0) && lee_heap_size(typed) == 24);
    unsigned char *again = lee_heap_reuse_plain(&site, typed, 24);
    CHECK(all(again, 24, 0));
    unsigned char *huge = lee_heap_alloc_plain(&site, 3 << 20);
    unsigned char *little = lee_heap_reuse_plain(&site, huge, 3 << 20);
    CHECK(all(little, 4096, 0));
    lee_heap_free(second);
    lee_heap_free(one);
    lee_heap_free(small);
    lee_heap_free(fresh);
    lee_heap_free(again);
    lee_heap_free(little);
}

/* What only an arena, a reap or a key's arena points to is not collected. */
static __attribute__((noinline)) void fill(struct lee_arena *arena, bool reap, size_t count) {
    long **table = NULL;
    for (size_t i = 0; i < count; i++) {
        long **entry = reap ? lee_reap_take(&site, arena, 3 * sizeof *entry, 8)
                            : lee_arena_alloc(&site, arena, 3 * sizeof *entry, 8);
        entry[0] = (long *)table;
        entry[1] = lee_heap_alloc(&site, sizeof(long));
        *entry[1] = (long)i;
        table = entry;
    }
    /* The newest entry is found through the first block of a page of its own. */
    long ***anchor = reap ? lee_reap_take(&site, arena, 9000, 8) : lee_arena_take(&site, arena, 9000, 8);
    anchor[0] = table;
    anchors[anchor_count++] = anchor;
}

static void test_roots(void) {
    struct lee_arena one, two, *key = lee_key_new(&site);
    fill(lee_arena_begin(&one), false, 3000);
    fill(lee_arena_begin(&two), true, 2000);
    fill(key, false, 1000);
    for (int i = 0; i < 3; i++) {
        lee_collect();
        for (int n = 0; n < 20000; n++)
            *(long *)lee_heap_alloc(&site, sizeof(long)) = -1;
    }
    size_t found = 0;
    for (size_t i = 0; i < anchor_count; i++) {
        long expected = (long)(3000 - 1000 * i) - 1;
        for (long **entry = anchors[i][0]; entry != NULL; entry = (long **)entry[0], found++)
            CHECK(*entry[1] == expected--);
    }
    CHECK(found == 6000);
    lee_arena_end(&one);
    lee_arena_end(&two);
    lee_key_free(key);
}

#if UNDER_ASAN
static void read_dead(void *unused) {
    (void)unused;
    struct lee_arena storage, *arena = lee_arena_begin(&storage);
    volatile int *object = lee_arena_alloc(&site, arena, sizeof *object, 4);
    lee_arena_end(arena);
    *object = 1;
}

static void read_freed(void *unused) {
    (void)unused;
    struct lee_arena storage, *reap = lee_arena_begin(&storage);
    volatile int *object = lee_reap_take(&site, reap, sizeof *object, 4);
    lee_reap_free(reap, (void *)object);
    *object = 1;
}

static void read_beside(void *unused) {
    (void)unused;
    struct lee_arena storage, *arena = lee_arena_begin(&storage);
    volatile char *object = lee_arena_alloc(&site, arena, 8, 4);
    object[8] = 1;
}

static void read_heap(void *unused) {
    (void)unused;
    volatile int *object = lee_heap_alloc(&site, 40);
    lee_heap_free((void *)object);
    *object = 1;
}

static void test_poison(void) {
    static struct child child;
    void (*wrong[])(void *) = {read_dead, read_freed, read_beside, read_heap};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        run_child(&child, wrong[i], NULL);
        check_holds("poison", child.output, "AddressSanitizer");
    }
}
#endif

int main(void) {
    test_arena();
    test_nested();
    test_impossible();
    test_faults();
    test_reap();
    test_reuse();
    test_keys();
    test_deep();
    test_wide();
    test_tail();
    test_counts();
    test_heap_free();
    test_heap_reuse();
    test_roots();
#if UNDER_ASAN
    test_poison();
#endif
    return check_end();
}
