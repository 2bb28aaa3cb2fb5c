/* Tasks and custodians: charges on generated heaps against a simple reference, limits, overshoot, many custodians, failure.
 *
 *     custodian_test [ROUNDS SEED]
 *
 * Each round runs in a child process: stacks are scanned conservatively, and must not hold what an earlier round left. */
#include <stdint.h>

#include <lee/arena.h>
#include <lee/lee.h>

#include "../src/collect.h"
#include "../src/custodian.h"
#include "../src/precise.h"
#include "../src/process.h"
#include "../src/system.h"
#include "../src/units.h"
#include "check.h"

static size_t below(size_t limit) {
    return random_number() % limit;
}

struct node {
    uint64_t number;
    struct node *next[3];
};

static const struct lee_layout node_layout = {.bytes = sizeof(struct node), .words = 0xe, .name = "node"};
static const struct lee_layout pointers_layout = {.bytes = 8, .words = 1, .name = "pointers"};

static struct node *new_node(void) {
    return lee_heap_alloc_typed(NULL, sizeof(struct node), &node_layout);
}

static void hold(void *arguments) {
    (void)arguments; /* it lies on this stack */
    for (;;)
        lee_task_yield();
}

static struct lee_task *start_in(struct lee_custodian *custodian, void (*entry)(void *), void *argument) {
    struct lee_custodian *before = lee_custodian_enter(custodian);
    struct lee_task *task = lee_task_start(NULL, entry, &argument, sizeof argument);
    lee_custodian_enter(before);
    return task;
}

/* --- generated heaps --------------------------------------------------------------------------------------------- */

enum shape { RANDOM, LISTS, SHARED_LIST, TREES, DENSE, DOWN, LAYERS, SHAPES };

static struct lee_custodian *first_custodian(void) {
    return &lee_process_self()->accounts.first;
}

/* What the test knows of the heap it made. It lies in memory of malloc's, which is no root; addresses are kept complemented, so that
 * copies on the stack are none either. */
struct model {
    size_t objects, custodians;
    uintptr_t *object;  /* ~address */
    size_t (*edge)[4];  /* numbers of objects, SIZE_MAX for none; the 4th: of large objects only */
    size_t *charge;
    uintptr_t *custodian; /* ~address */
    /* Of each custodian: its parent and the object that its task holds; SIZE_MAX for none. */
    size_t *parent, *root;
    size_t *order;         /* custodians in post-order, as the runtime sees it */
    size_t *blame, *precise;
    unsigned char *live;   /* each object: it was reached when that was last computed */
};

static struct node *object_of(const struct model *model, size_t n) {
    return (struct node *)~model->object[n];
}

static struct lee_custodian *custodian_of(const struct model *model, size_t n) {
    return (struct lee_custodian *)~model->custodian[n];
}

/* Custodians without tasks are only kept by this. */
static struct model *rooted;

static void scan_model(struct lee_root *root, struct lee_marker *marker) {
    (void)root;
    for (size_t i = 0; i < rooted->custodians; i++)
        lee_mark_word(marker, ~rooted->custodian[i]);
}

static size_t pick_edge(const struct model *model, enum shape shape, size_t from, unsigned k) {
    switch (shape) {
    case LISTS: return k == 0 && from + 1 < model->objects && below(50) != 0 ? from + 1 : SIZE_MAX;
    case SHARED_LIST: return k == 0 && from + 1 < model->objects ? from + 1 : SIZE_MAX;
    case TREES: return 2 * from + 1 + k < model->objects && k < 2 ? 2 * from + 1 + k : SIZE_MAX;
    case DENSE: return below(model->objects);
    case DOWN: return from > 0 ? from - 1 - below(from < 40 || k == 0 ? from : 40) : SIZE_MAX;
    case LAYERS: { /* each points into those behind it, mostly */
        size_t layer = model->objects / 16 + 1, end = (from / layer + 1) * layer;
        return k == 0 ? (from + 1 < end && from + 1 < model->objects ? from + 1 : from - from % layer)
               : end < model->objects && below(3) != 0 ? end + below(model->objects - end) : SIZE_MAX;
    }
    default: return below(3) == 0 ? below(model->objects) : SIZE_MAX;
    }
}

static void make_objects(struct model *model) {
    for (size_t i = 0; i < model->objects; i++) {
        void *object = below(500) == 0 ? lee_heap_alloc_typed(NULL, (1 << below(5)) * (size_t)20000, &pointers_layout)
                                       : (void *)new_node();
        struct lee_object found;
        CHECK(lee_object_find(lee_heap_self(), (uintptr_t)object, &found));
        model->charge[i] = found.charge;
        model->object[i] = ~(uintptr_t)object;
    }
}

static void connect(struct model *model, enum shape shape) {
    for (size_t i = 0; i < model->objects; i++) {
        for (unsigned k = 0; k < 3; k++) {
            size_t to = pick_edge(model, shape, i, k);
            model->edge[i][k] = to;
            object_of(model, i)->next[k] = to == SIZE_MAX ? NULL : object_of(model, to);
        }
    }
}

/* Points some objects to others that live. */
static __attribute__((noinline)) void change(struct model *model, enum shape shape) {
    for (size_t i = below(20); i < model->objects; i += 1 + below(60)) {
        unsigned k = (unsigned)below(3);
        size_t to = below(4) == 0 ? below(model->objects) : pick_edge(model, shape, i, k);
        if (!model->live[i] || (to != SIZE_MAX && !model->live[to]))
            continue;
        model->edge[i][k] = to;
        object_of(model, i)->next[k] = to == SIZE_MAX ? NULL : object_of(model, to);
    }
}

/* --- the reference -------------------------------------------------------------------------------------------------- */

/* Marks `seen` from an object on; gives the bytes of what was not seen. */
static size_t reach(const struct model *model, size_t from, unsigned char *seen, size_t *stack) {
    size_t depth = 0, bytes = 0;
    if (from == SIZE_MAX || seen[from])
        return 0;
    seen[from] = 1;
    stack[depth++] = from;
    while (depth > 0) {
        size_t at = stack[--depth];
        bytes += model->charge[at];
        for (unsigned k = 0; k < 3; k++) {
            size_t to = model->edge[at][k];
            if (to != SIZE_MAX && !seen[to]) {
                seen[to] = 1;
                stack[depth++] = to;
            }
        }
    }
    return bytes;
}

static size_t own_charge(const struct model *model, size_t n) {
    size_t handle = lee_class_bytes(lee_class_of_aligned(sizeof(struct lee_custodian) + LEE_HEADER_BYTES));
    size_t task = lee_class_bytes(lee_class_of_aligned(sizeof(struct lee_task) + LEE_HEADER_BYTES));
    return handle + (model->root[n] == SIZE_MAX ? 0 : task + LEE_STACK_CHARGE);
}

static bool is_below(const struct model *model, size_t n, size_t top) {
    while (n != SIZE_MAX && n != top)
        n = model->parent[n];
    return n == top;
}

static void compute(struct model *model) {
    memset(model->blame, 0, model->custodians * sizeof *model->blame);
    memset(model->precise, 0, model->custodians * sizeof *model->precise);
    unsigned char *seen = calloc(model->objects, 1), *all = model->live;
    memset(all, 0, model->objects);
    size_t *stack = malloc(model->objects * sizeof *stack);
    for (size_t i = 0; i < model->custodians; i++) {
        size_t n = model->order[i];
        model->blame[n] += own_charge(model, n) + reach(model, model->root[n], all, stack);
        if (model->parent[n] != SIZE_MAX)
            model->blame[model->parent[n]] += model->blame[n];
    }
    for (size_t n = 0; n < model->custodians; n++) {
        memset(seen, 0, model->objects);
        for (size_t below_it = 0; below_it < model->custodians; below_it++) {
            if (is_below(model, below_it, n))
                model->precise[n] += own_charge(model, below_it) + reach(model, model->root[below_it], seen, stack);
        }
    }
    free(seen);
    free(stack);
}

/* The runtime lists the youngest child first. */
static size_t add_in_order(struct model *model, size_t top, size_t at) {
    for (size_t n = model->custodians; n-- > 0;) {
        if (model->parent[n] == top)
            at = add_in_order(model, n, at);
    }
    if (top != SIZE_MAX)
        model->order[at++] = top;
    return at;
}

static void compare(const struct model *model, int policy, const size_t *wanted, const char *name) {
    lee_custodian_policy(policy);
    lee_custodian_use(first_custodian());
    for (size_t n = 0; n < model->custodians; n++) {
        size_t use = custodian_of(model, n)->settled;
        if (use != wanted[n] && check_failures++ < 10)
            printf("%s: custodian %zu of %zu is charged %zu, not %zu\n", name, n, model->custodians, use, wanted[n]);
    }
    size_t live = lee_heap_self()->counts.live_bytes, first = first_custodian()->settled;
    size_t stacks = 0;
    for (size_t n = 0; n < model->custodians; n++)
        stacks += model->root[n] == SIZE_MAX ? 0 : LEE_STACK_CHARGE;
    CHECK(first == live + stacks); /* the sum of all charges is what lives */
}

/* Whatever request for memory fails, the same objects live, and all of them are charged. */
static void compare_failing(void) {
    struct lee_heap *heap = lee_heap_self();
    size_t live = heap->counts.live_bytes, charged = first_custodian()->settled;
    for (size_t nth = 1; nth < 14; nth++) {
        lee_system_fail(nth, nth % 2 == 0);
        lee_custodian_use(first_custodian());
        lee_system_fail(0, false);
        CHECK(heap->counts.live_bytes == live && first_custodian()->settled == charged);
    }
}

struct round {
    uint64_t seed;
    size_t objects, custodians;
    enum shape shape;
    bool verify;
};

/* Not inlined: what it leaves on the stack lies below what is scanned later. */
static __attribute__((noinline)) void build(struct model *model, enum shape shape) {
    make_objects(model);
    connect(model, shape);
    for (size_t n = 0; n < model->custodians; n++) {
        size_t parent = below(3) == 0 || n == 0 ? SIZE_MAX : below(n);
        model->parent[n] = parent;
        model->custodian[n] = ~(uintptr_t)lee_custodian_new(parent == SIZE_MAX ? first_custodian()
                                                                                : custodian_of(model, parent));
        model->root[n] = below(5) == 0 ? SIZE_MAX : shape == SHARED_LIST ? below(2) * n % model->objects : below(model->objects);
        if (model->root[n] != SIZE_MAX)
            start_in(custodian_of(model, n), hold, object_of(model, model->root[n]));
    }
}

static void *zeroed(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (memory == NULL)
        abort();
    return memory;
}

static void run_round(void *argument) {
    check_failures = 0;
    const struct round *round = argument;
    size_t n = round->objects, c = round->custodians;
    struct model *model = zeroed(1, sizeof *model);
    *model = (struct model){.objects = n, .custodians = c, .object = zeroed(n, 8), .edge = zeroed(n, sizeof *model->edge),
                            .charge = zeroed(n, 8), .custodian = zeroed(c, 8), .parent = zeroed(c, 8), .root = zeroed(c, 8),
                            .order = zeroed(c, 8), .blame = zeroed(c, 8), .precise = zeroed(c, 8), .live = zeroed(n, 1)};
    random_state = round->seed;
    struct lee_heap *heap = lee_heap_self();
    heap->enabled = false; /* the model's objects are not rooted while it is built */
    rooted = model;
    struct lee_root root = {.scan = scan_model};
    lee_root_add(heap, &root);
    build(model, round->shape);
    lee_task_yield(); /* each task gets to where it stays */
    heap->enabled = true;
    heap->verify = round->verify;
    add_in_order(model, SIZE_MAX, 0);
    compute(model);
    compare(model, LEE_BLAME_CHILD, model->blame, "blame");
    compare(model, LEE_PRECISE, model->precise, "precise");
    compare(model, LEE_PRECISE, model->precise, "precise with gates");
    for (int changes = 0; changes < 3; changes++) {
        change(model, round->shape);
        compute(model);
        compare(model, LEE_PRECISE, model->precise, "precise with old gates");
    }
    if (c <= 65) /* the roots of more are too many for the least stack */
        compare_failing();
    compare(model, LEE_PRECISE, model->precise, "precise with some old gates");
    for (lee_precise_how = LEE_PRECISE_NOTED; lee_precise_how <= LEE_PRECISE_ALL; lee_precise_how++) {
        compare(model, LEE_PRECISE, model->precise, lee_precise_how == LEE_PRECISE_ALL ? "components of all" : "components");
        if (c <= 65)
            compare_failing();
        change(model, round->shape);
        compute(model);
        compare(model, LEE_PRECISE, model->precise, "components with gates");
    }
    lee_precise_how = LEE_PRECISE_USUALLY;
    compare(model, LEE_BLAME_CHILD, model->blame, "blame again");
    const char *wrong = lee_heap_validate(heap);
    if (wrong != NULL) {
        printf("%s\n", wrong);
        check_failures++;
    }
    /* A trace from one custodian alone counts what the precise policy does. */
    for (size_t i = 0; i < 5; i++) {
        size_t at = below(c);
        struct lee_custodian *custodian = custodian_of(model, at);
        size_t handles = 0;
        for (size_t k = 0; k < c; k++)
            handles += is_below(model, k, at) ? own_charge(model, k) - (model->root[k] == SIZE_MAX ? 0 : LEE_STACK_CHARGE) : 0;
        size_t reached = lee_account_reached(heap, custodian, SIZE_MAX / 2);
        if (reached != model->precise[at] - handles && check_failures++ < 10)
            printf("a trace from custodian %zu finds %zu bytes, not %zu\n", at, reached, model->precise[at] - handles);
    }
    if (check_failures > 0)
        printf("in the round of %zu objects, %zu custodians, shape %d, seed %llu\n", n, c, (int)round->shape,
               (unsigned long long)round->seed);
    fflush(stdout);
    _exit(check_failures > 0);
}

static void test_charges(size_t rounds, uint64_t seed) {
    static const size_t sizes[] = {2, 5, 20, 63, 64, 65, 200, 1000};
    for (size_t i = 0; i < rounds; i++) {
        random_state = seed * 1000003 + i * 7919 + 1;
        below(2);
        struct round round = {.custodians = sizes[i % 8], .shape = (enum shape)(i % SHAPES), .verify = i % 3 == 0};
        round.objects = 1 + below(round.custodians >= 200 ? 3000 : 8000);
        round.seed = random_state | 1;
        struct child child;
        run_child(&child, run_round, &round);
        if (child.status != 0) {
            printf("%zu objects, %zu custodians, shape %d: ended with %d %s\n", round.objects, round.custodians, (int)round.shape,
                   child.status, child.output);
            check_failures++;
        }
    }
}

/* --- limits ------------------------------------------------------------------------------------------------------------ */

enum { LIMIT = 64 << 20, OVERSHOOT = 256 << 10 };

static size_t before, peak; /* bytes that the heap held, at first and at most */

static void note(void) {
    if (lee_memory_charged() > before + peak)
        peak = lee_memory_charged() - before;
}

static void hog(void *arguments) {
    (void)arguments;
    struct node *all = NULL;
    for (;; note()) {
        struct node *node = new_node();
        node->next[0] = all;
        all = node;
    }
}

static void hog_blocks(size_t bytes) {
    void **all = NULL;
    for (;; note()) {
        void **block = lee_heap_alloc_typed(NULL, bytes, &pointers_layout);
        block[0] = all;
        all = block;
    }
}

/* Just too large for a cell, for a block, for the blocks of a unit. */
static void hog_33(void *arguments) {
    (void)arguments;
    hog_blocks(33000);
}

static void hog_66(void *arguments) {
    (void)arguments;
    hog_blocks(66000);
}

static void hog_1050(void *arguments) {
    (void)arguments;
    hog_blocks(1050000);
}

static void hog_plain(void *arguments) {
    (void)arguments;
    void **all = NULL;
    for (size_t i = 0;; i++, note()) {
        if (i % 500 == 0) {
            void **list = lee_heap_alloc_typed(NULL, 501 * sizeof *list, &pointers_layout);
            list[500] = all;
            all = list;
        }
        all[i % 500] = lee_heap_alloc_plain(NULL, 5 + i % 5000);
    }
}

/* What a weak reference and a finalizer take beside the object that they are about. */
static void hog_weak(void *arguments) {
    (void)arguments;
    void **all = NULL, *target = new_node();
    for (;; note()) {
        void **pair = lee_heap_alloc_typed(NULL, 2 * sizeof *pair, &pointers_layout);
        pair[0] = all;
        pair[1] = lee_weak_new(target);
        all = pair;
    }
}

static void hog_finalizers(void *arguments) {
    (void)arguments;
    void *target = new_node();
    struct lee_finalizer_queue *queue = lee_finalizer_queue_new();
    for (; lee_finalizer_try_take(queue) == NULL; note())
        lee_finalizer_put(queue, target);
}

/* What only a finalizer queue holds, since nobody takes it out. */
static void hog_finalized(void *arguments) {
    (void)arguments;
    struct lee_finalizer_queue *queue = lee_finalizer_queue_new();
    for (;; note())
        lee_finalizer_put(queue, new_node());
}

#ifndef LEE_ARENA_BY_MALLOC
static void hog_arena(void *arguments) {
    (void)arguments;
    struct lee_arena arena;
    lee_arena_begin(&arena);
    for (;; note())
        lee_arena_alloc(NULL, &arena, 1000, 8);
}

static void hog_keys(void *arguments) {
    (void)arguments;
    static const struct lee_site site = {.file = "test"};
    void **all = NULL;
    for (;; note()) {
        void **pair = lee_heap_alloc_typed(NULL, 2 * sizeof *pair, &pointers_layout);
        pair[0] = all;
        pair[1] = lee_key_new(&site);
        lee_arena_alloc(&site, pair[1], 3000, 8);
        all = pair;
    }
}
#endif

static void overshoot(void *argument) {
    check_failures = 0;
    void (*const *entry)(void *) = argument;
    struct lee_custodian *child = lee_custodian_new(NULL);
    lee_custodian_limit(child, LIMIT, child);
    lee_heap_self()->huge = false; /* a huge page is charged as soon as one of its blocks is used */
    lee_collect();
    before = lee_memory_charged();
    peak = 0;
    struct lee_task *task = start_in(child, *entry, NULL);
    CHECK(!lee_task_join(task));
    CHECK(peak > LIMIT / 16 * 15);
    /* Of many sizes: the ends of blocks, and blocks that are not full, are nobody's. */
    CHECK(peak < LIMIT + OVERSHOOT + (*entry == hog_plain ? LIMIT / 16 : 0));
    fprintf(stderr, "overshoot %ld KB\n", ((long)peak - LIMIT) / 1024);
    CHECK(lee_custodian_use(NULL) < 2 << 20);
    fflush(stdout);
    _exit(check_failures > 0);
}

static void test_overshoot(bool report) {
    static const struct {
        const char *name;
        void (*hog)(void *);
    } hogs[] = {{"cells", hog}, {"33 KB", hog_33}, {"66 KB", hog_66}, {"1 MB", hog_1050}, {"plain", hog_plain},
                {"weak", hog_weak}, {"finalizers", hog_finalizers}, {"finalized", hog_finalized},
#ifndef LEE_ARENA_BY_MALLOC
                {"arena", hog_arena}, {"keys", hog_keys}
#endif
    };
    for (size_t i = 0; i < sizeof hogs / sizeof *hogs; i++) {
        struct child child;
        run_child(&child, overshoot, (void *)&hogs[i].hog);
        if (child.status != 0 || report)
            printf("%s: status %d, %s", hogs[i].name, child.status, child.output);
        check_failures += child.status != 0;
    }
}

static void take_much(void *arguments) {
    (void)arguments;
    void **all = NULL;
    for (int i = 0; i < 100; i++) {
        void **block = lee_heap_alloc_typed(NULL, 66000, &pointers_layout);
        block[0] = all;
        all = block;
    }
}

/* A limit whose victim is gone limits nothing; others of the same custodian stay. */
static void victims(void *argument) {
    check_failures = 0;
    (void)argument;
    struct lee_custodian *above = lee_custodian_new(NULL), *other = lee_custodian_new(above), *holder = lee_custodian_new(NULL);
    struct lee_task *waiting = start_in(other, hold, NULL);
    lee_custodian_limit(holder, 1 << 20, other);
    lee_custodian_limit(holder, 16 << 20, holder);
    CHECK(lee_task_join(start_in(holder, take_much, NULL)));
    CHECK(lee_custodian_is_shut(other) && !lee_custodian_is_shut(above) && !lee_custodian_is_shut(holder) && !lee_task_join(waiting));
    CHECK(lee_task_join(start_in(holder, take_much, NULL)));
    other = lee_custodian_new(above);
    lee_custodian_limit(holder, 1 << 20, other);
    lee_custodian_shutdown(above);
    CHECK(lee_task_join(start_in(holder, take_much, NULL)));
    lee_custodian_limit(holder, 1 << 20, holder);
    CHECK(!lee_task_join(start_in(holder, take_much, NULL)) && lee_custodian_is_shut(holder));
    fflush(stdout);
    _exit(check_failures > 0);
}

/* --- stacks ------------------------------------------------------------------------------------------------------------ */

static size_t resident(void) {
    char text[64];
    FILE *file = fopen("/proc/self/statm", "r");
    size_t all, pages = 0;
    if (file == NULL || fgets(text, sizeof text, file) == NULL || sscanf(text, "%zu %zu", &all, &pages) != 2)
        abort();
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static __attribute__((noinline)) int go_deep(int frames) {
    volatile char here[1000] = {0};
    return frames == 0 ? here[0] : go_deep(frames - 1) + here[1];
}

static size_t deep_tasks;

/* Uses 200 KB of its stack and holds none. */
static void deep(void *arguments) {
    (void)arguments;
    deep_tasks++;
    go_deep(180);
    for (;;) {
        lee_task_yield();
        if (resident() > before + peak)
            peak = resident() - before;
    }
}

static void start_deep(void *arguments) {
    size_t at_once = *(size_t *)arguments;
    for (;;) {
        for (size_t i = 0; i < at_once; i++)
            lee_task_start(NULL, deep, NULL, 0);
        lee_task_yield();
    }
}

static void deep_stacks(void *argument) {
    check_failures = 0;
    enum { SMALL_LIMIT = 8 << 20 };
    struct lee_custodian *child = lee_custodian_new(NULL), *before_entered;
    lee_custodian_limit(child, SMALL_LIMIT, child);
    before = resident();
    peak = 0;
    before_entered = lee_custodian_enter(child);
    struct lee_task *task = lee_task_start(NULL, start_deep, argument, sizeof(size_t));
    lee_custodian_enter(before_entered);
    CHECK(!lee_task_join(task));
    CHECK(deep_tasks > 25);
    CHECK(peak < SMALL_LIMIT + 2 * OVERSHOOT); /* and what collecting takes */
    fprintf(stderr, "%zu tasks, %zu KB\n", deep_tasks, peak / 1024);
    fflush(stdout);
    _exit(check_failures > 0);
}

static void wait_deep(void *arguments) {
    (void)arguments;
    go_deep(180);
    for (;;)
        lee_task_yield();
}

static void end_deep(void *arguments) {
    (void)arguments;
    go_deep(180);
}

/* What a stack took once is no reason to shut anybody down: not whose task waits above it, nor who gets the stack next. */
static void stacks_are_given_back(void *argument) {
    check_failures = 0;
    (void)argument;
    enum { TASKS = 100 };
    struct lee_custodian *child = lee_custodian_new(NULL);
    lee_custodian_limit(child, TASKS * (size_t)LEE_STACK_CHARGE + (1 << 20), child);
    for (int i = 0; i < TASKS; i++) {
        lee_task_join(start_in(first_custodian(), end_deep, NULL));
        start_in(child, i % 2 == 0 ? wait_deep : hold, NULL);
        lee_task_yield();
    }
    CHECK(!lee_custodian_is_shut(child));
    CHECK(lee_custodian_use(child) < (TASKS + 1) * (int64_t)LEE_STACK_CHARGE + (100 << 10));
    fflush(stdout);
    _exit(check_failures > 0);
}

/* --- living on garbage --------------------------------------------------------------------------------------------------- */

/* Only garbage: never over a limit. */
static void churn(void *arguments) {
    size_t *rounds = *(size_t **)arguments;
    for (size_t i = 0; i < 40000000; i++) {
        new_node();
        ++*rounds;
    }
}

static void lives_on_garbage(void *argument) {
    check_failures = 0;
    static size_t rounds;
    (void)argument;
    struct lee_custodian *child = lee_custodian_new(NULL);
    lee_custodian_limit(child, 1 << 20, child);
    struct lee_task *task = start_in(child, churn, &rounds);
    CHECK(lee_task_join(task));
    CHECK(rounds == 40000000);
    fflush(stdout);
    _exit(check_failures > 0);
}

/* Keeps all but a little of its limit, and makes garbage: each piece would cost everybody an accounting. */
static void keep_and_churn(void *arguments) {
    size_t *rounds = *(size_t **)arguments;
    struct node *kept = NULL;
    for (size_t bytes = 0; bytes < (8 << 20) - (100 << 10); bytes += lee_class_bytes(lee_class_of_aligned(sizeof *kept + LEE_HEADER_BYTES))) {
        struct node *node = new_node();
        node->next[0] = kept;
        kept = node;
    }
    for (; *rounds < 40000000; ++*rounds)
        new_node();
    CHECK(kept == NULL);
}

static void thrashes(void *argument) {
    check_failures = 0;
    static size_t rounds;
    (void)argument;
    struct lee_custodian *child = lee_custodian_new(NULL);
    lee_custodian_limit(child, 8 << 20, child);
    size_t before = lee_heap_self()->counts.collections;
    CHECK(!lee_task_join(start_in(child, keep_and_churn, &rounds)));
    CHECK(lee_custodian_is_shut(child) && rounds < 1000000);
    CHECK(lee_heap_self()->counts.collections - before < 100);
    fflush(stdout);
    _exit(check_failures > 0);
}

/* --- many, and little memory ------------------------------------------------------------------------------------------------ */

static void a_million(void *argument) {
    check_failures = 0;
    (void)argument;
    for (int i = 0; i < 1000000; i++) {
        struct lee_custodian *custodian = lee_custodian_new(i % 3 == 0 ? NULL : lee_custodian_new(NULL));
        if (i % 100 == 0) {
            static size_t unused;
            (void)unused;
            lee_custodian_limit(custodian, 1 << 20, custodian);
        }
    }
    CHECK(lee_custodian_use(NULL) < 1 << 20);
    size_t left = 0;
    for (struct lee_custodian *at = first_custodian()->child; at != NULL; at = at->next)
        left++;
    CHECK(left < 100);
    fflush(stdout);
    _exit(check_failures > 0);
}

static void end_at_once(void *arguments) {
    (void)arguments;
}

/* Each of the first requests for memory fails in turn: a null, or a fault, and the heap stays whole. */
static void no_memory(void *argument) {
    check_failures = 0;
    size_t nth = *(size_t *)argument;
    struct lee_custodian *child = lee_custodian_new(NULL);
    lee_custodian_limit(child, 4 << 20, child);
    lee_custodian_policy(nth % 2 == 0 ? LEE_PRECISE : LEE_BLAME_CHILD);
    lee_system_fail(nth, nth % 3 != 0);
    struct lee_task *task = start_in(child, hog, NULL);
    start_in(lee_custodian_new(child), end_at_once, NULL);
    CHECK(!lee_task_join(task));
    lee_system_fail(0, false);
    CHECK(lee_heap_validate(lee_heap_self()) == NULL);
    fflush(stdout);
    _exit(check_failures > 0 ? 1 : 7);
}

static void test_no_memory(void) {
    for (size_t nth = 1; nth < 60; nth += UNDER_ASAN ? 5 : 1) {
        struct child child;
        run_child(&child, no_memory, &nth);
        if (child.status == 134)
            check_holds("no memory", child.output, "out of memory");
        else
            CHECK(child.status == 7);
    }
}

/* --- the bounded trace -------------------------------------------------------------------------------------------------------- */

struct small {
    struct small *next;
};

static const struct lee_layout small_layout = {.bytes = sizeof(struct small), .words = 1, .name = "small"};

/* Its table takes two bits for each 16 bytes and little more, also where one object leads to all. */
static void small_table(void *argument) {
    check_failures = 0;
    enum { CELLS = 1 << 20 };
    bool wide = *(bool *)argument;
    struct small **all = lee_heap_alloc_typed(NULL, CELLS * sizeof *all, &pointers_layout), *last = NULL;
    for (size_t i = 0; i < CELLS; i++) {
        struct small *fresh = lee_heap_alloc_typed(NULL, sizeof *fresh, &small_layout);
        if (wide)
            all[i] = fresh;
        else
            fresh->next = last;
        last = fresh;
    }
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    start_in(custodian, hold, wide ? (void *)all : (void *)last);
    lee_task_yield();
    size_t reached = lee_account_reached(lee_heap_self(), custodian, SIZE_MAX / 2);
    CHECK(reached >= CELLS * 16 && lee_account_table <= CELLS * 16 / 16);
    fflush(stdout);
    _exit(check_failures > 0);
}

/* --- windows --------------------------------------------------------------------------------------------------------------- */

/* The paper's story: interpreters run under a custodian each, hold their window, and windows are chained. As long as a window holds
 * its interpreter's data, each interpreter reaches all of them. */
struct window {
    struct window *next;
    struct node *data;      /* of its interpreter, ... */
    struct lee_weak *weak;  /* ... or only so */
};

static const struct lee_layout window_layout = {.bytes = sizeof(struct window), .words = 7, .name = "window"};

struct interpreter {
    struct window *window;
    struct node *data;
};

static void interpret(void *arguments) {
    (void)arguments;
    for (;;)
        lee_task_yield();
}

static void windows(void *argument) {
    check_failures = 0;
    enum { WINDOWS = 8, NODES = 5000 };
    bool weak = *(bool *)argument;
    static struct lee_custodian *custodians[WINDOWS];
    struct window *first = NULL;
    for (int i = 0; i < WINDOWS; i++) {
        struct window *window = lee_heap_alloc_typed(NULL, sizeof *window, &window_layout);
        window->next = first;
        first = window;
    }
    first->next = first;
    struct window *at = first;
    for (int i = 0; i < WINDOWS; i++) {
        struct window *fresh = lee_heap_alloc_typed(NULL, sizeof *fresh, &window_layout);
        fresh->next = at->next;
        at->next = fresh; /* a ring: each window reaches all */
        struct interpreter interpreter = {fresh, NULL};
        for (int k = 0; k < NODES; k++) {
            struct node *node = new_node();
            node->next[0] = interpreter.data;
            interpreter.data = node;
        }
        if (weak)
            fresh->weak = lee_weak_new(interpreter.data);
        else
            fresh->data = interpreter.data;
        custodians[i] = lee_custodian_new(NULL);
        struct lee_custodian *before = lee_custodian_enter(custodians[i]);
        lee_task_start(NULL, interpret, &interpreter, sizeof interpreter);
        lee_custodian_enter(before);
    }
    lee_task_yield();
    lee_custodian_policy(LEE_PRECISE);
    lee_custodian_use(NULL);
    size_t own = NODES * lee_class_bytes(lee_class_of_aligned(sizeof(struct node) + LEE_HEADER_BYTES));
    for (int i = 0; i < WINDOWS; i++) {
        size_t use = custodians[i]->settled;
        CHECK(weak ? use >= own && use < own + (64 << 10) : use >= WINDOWS * own);
    }
    fflush(stdout);
    _exit(check_failures > 0);
}

static void run_alone(const char *what, void (*body)(void *), void *argument) {
    struct child child;
    run_child(&child, body, argument);
    if (child.status != 0) {
        printf("%s ended with %d: %s\n", what, child.status, child.output);
        check_failures++;
    }
}

/* A requirement whose victim is gone, or that is lifted, is none; nor is one of a custodian that is gone. */
static void test_requirements(void) {
    const struct lee_accounts *accounts = &lee_process_self()->accounts;
    struct lee_custodian *victim = lee_custodian_new(NULL), *other = lee_custodian_new(NULL);
    lee_custodian_require(victim, 1 << 20, NULL);
    lee_custodian_require(other, 1 << 20, victim);
    CHECK(accounts->requirements == 2);
    lee_custodian_shutdown(victim);
    lee_custodians_count((struct lee_accounts *)(uintptr_t)accounts); /* otherwise it is put off until it is asked for */
    CHECK(accounts->requirements == 0 && victim->shut && !other->shut);
    lee_custodian_require(other, 1 << 20, other);
    CHECK(accounts->requirements == 1);
    lee_custodian_require(other, 0, other);
    CHECK(accounts->requirements == 0);
}

int main(int argc, char **argv) {
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : UNDER_ASAN ? 14 : 56;
    uint64_t seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    bool yes = true, no = false;
    test_charges(rounds, seed);
    test_overshoot(argc > 1);
    static size_t one = 1, many = 30;
    if (!UNDER_ASAN) { /* whose own memory would count */
        run_alone("deep stacks, one by one", deep_stacks, &one);
        run_alone("deep stacks, many at once", deep_stacks, &many);
        run_alone("stacks that were deep", stacks_are_given_back, NULL);
    }
    run_alone("victims", victims, NULL);
    run_alone("garbage", lives_on_garbage, NULL);
    run_alone("thrashing", thrashes, NULL);
    run_alone("a million custodians", a_million, NULL);
    run_alone("the table for a list", small_table, &no);
    run_alone("the table for an array", small_table, &yes);
    run_alone("chained windows", windows, &no);
    run_alone("windows with weak links", windows, &yes);
    test_requirements();
    test_no_memory();
    return check_end();
}
