/* What collections, accounting, checks of custodians and shutdowns cost grows with what they free or
 * mark, for hostile shapes too. Counted in steps (`lee_heap_counts.steps`, `lee_accounts.steps`), never in
 * time: twice the size takes at most 2.2 times the steps. */
#include <lee/lee.h>

#include <stdlib.h>

#include "../src/collect.h"
#include "../src/custodian.h"
#include "../src/process.h"
#include "check.h"

enum { SIZE = 500 };

struct node {
    void *next;
    uint64_t number;
};

static const struct lee_layout node_layout = {.bytes = sizeof(struct node), .words = 1, .name = "node"};

static struct node *new_node(void *next) {
    struct node *node = lee_heap_alloc_typed(NULL, sizeof *node, &node_layout);
    node->next = next;
    return node;
}

static struct lee_accounts *accounts(void) {
    return &lee_process_self()->accounts;
}

/* Both counters: each counts what the other does not. */
static size_t steps(void) {
    return lee_heap_self()->counts.steps + accounts()->steps;
}

static void *volatile kept; /* what a task is to write to */

static void check_linear(const char *what, size_t (*cost)(size_t size)) {
    size_t less = cost(SIZE), more = cost(2 * SIZE);
    if (less < SIZE / 2 || more > less * 22 / 10) {
        printf("%s: %zu steps for %d, %zu for %d\n", what, less, SIZE, more, 2 * SIZE);
        check_failures++;
    }
}

/* --- finalizers ------------------------------------------------------------------------------------ */

/* Objects are made by tasks that end: on the stack of whoever collects, no word leads to them. */
static void run_to_end(void (*entry)(void *), size_t size) {
    lee_task_join(lee_task_start(NULL, entry, &size, sizeof size));
}

static struct lee_finalizer_queue *first_queue; /* a root */

/* Each queue is reached only through what the one before hands out. */
static void make_chain(void *arguments) {
    struct lee_finalizer_queue *inner = NULL;
    for (size_t i = 0; i < *(size_t *)arguments; i++) {
        struct lee_finalizer_queue *outer = lee_finalizer_queue_make();
        lee_finalizer_put(outer, new_node(inner));
        inner = outer;
    }
    first_queue = inner;
}

/* The same, of custodians each below the one before. */
static void make_nested_chain(void *arguments) {
    struct lee_finalizer_queue *inner = NULL;
    for (size_t i = 0; i < *(size_t *)arguments; i++) {
        lee_custodian_enter(lee_custodian_new(NULL));
        struct lee_finalizer_queue *outer = lee_finalizer_queue_make();
        lee_finalizer_put(outer, new_node(inner));
        inner = outer;
    }
    first_queue = inner;
}

static size_t cost_of_collecting(size_t finalized) {
    size_t before = steps(), count = lee_heap_self()->counts.finalized;
    lee_account_collect(lee_heap_self());
    CHECK(lee_heap_self()->counts.finalized == count + finalized);
    return steps() - before;
}

static size_t cost_of_chain(void (*make)(void *), size_t size) {
    run_to_end(make, size);
    size_t cost = cost_of_collecting(size), taken = 0;
    struct node *node;
    for (; first_queue != NULL && (node = lee_finalizer_try_take(first_queue)) != NULL; taken++)
        first_queue = node->next;
    CHECK(taken == size && first_queue == NULL);
    return cost;
}

static size_t chain_is_handed_out(size_t size) {
    return cost_of_chain(make_chain, size);
}

/* Rounds are charged to one custodian after another. */
static size_t nested_chain_is_handed_out(size_t size) {
    return cost_of_chain(make_nested_chain, size);
}

static size_t woken;

static void wait_for_queue(void *arguments) {
    struct lee_finalizer_queue *queue = *(struct lee_finalizer_queue **)arguments;
    lee_finalizer_take(queue);
    woken++;
}

static void put_new(void *arguments) {
    for (size_t i = 0; i < *(size_t *)arguments; i++)
        lee_finalizer_put(first_queue, new_node(NULL));
}

/* As many tasks that wait in vain, or a tenth, as there are dead objects. One waits for these. */
static size_t waiting_tasks_and_dead_objects(size_t size) {
    struct lee_finalizer_queue *empty = lee_finalizer_queue_make();
    struct lee_custodian *before = lee_custodian_current(), *waits = lee_custodian_new(before);
    first_queue = lee_finalizer_queue_make();
    struct lee_task *task = lee_task_start(NULL, wait_for_queue, &first_queue, sizeof first_queue);
    lee_custodian_enter(waits);
    for (size_t i = 0; i < size / 10; i++)
        lee_task_start(NULL, wait_for_queue, &empty, sizeof empty);
    lee_custodian_enter(before);
    lee_task_yield();
    run_to_end(put_new, size);
    woken = 0;
    size_t cost = cost_of_collecting(size);
    lee_task_join(task);
    CHECK(woken == 1);
    lee_custodian_shutdown(waits);
    CHECK(lee_process_self()->tasks.queued == NULL && lee_process_self()->tasks.queued_last == NULL);
    return cost;
}

/* --- requirements ------------------------------------------------------------------------------------- */

static struct lee_custodian *limited, *hostile; /* roots */

static void allocate(void *arguments) {
    (void)arguments;
    size_t before = steps();
    for (size_t i = 0; i < SIZE; i++)
        lee_custodian_check(lee_heap_self(), 16);
    *(size_t *)kept = steps() - before;
}

/* What checks cost a task whose custodian has so many below it, each of which requires something. */
static size_t cost_of_checks(size_t size, bool nested) {
    struct lee_custodian *top = lee_custodian_new(NULL), *at = top;
    size_t cost = 0;
    lee_custodian_limit(top, 64 << 20, top);
    for (size_t i = 0; i < size; i++) {
        struct lee_custodian *next = lee_custodian_new(nested ? at : top);
        lee_custodian_require(next, (int64_t)(i + 1), next);
        at = next;
    }
    CHECK(top->reserve == size && accounts()->requirements == size);
    kept = &cost;
    struct lee_custodian *before = lee_custodian_enter(top);
    struct lee_task *task = lee_task_start(NULL, allocate, NULL, 0);
    lee_custodian_enter(before);
    CHECK(lee_task_join(task) && !top->shut);
    lee_custodian_shutdown(top);
    lee_custodians_count(accounts());
    CHECK(accounts()->requirements == 0 && accounts()->first.reserve == 0);
    return cost;
}

static void test_checks(void) {
    for (int nested = 0; nested < 2; nested++) {
        size_t less = cost_of_checks(SIZE, nested), more = cost_of_checks(8 * SIZE, nested);
        CHECK(less >= SIZE && more == less);
    }
}

/* --- deep chains ------------------------------------------------------------------------------------ */

enum { CHAIN_BYTES = 2 << 20 };

/* Most of it is garbage, and collected. */
static void churn(void *arguments) {
    (void)arguments;
    lee_custodian_use(NULL); /* the chain itself is charged */
    size_t before = accounts()->steps;
    for (size_t i = 0; i < CHAIN_BYTES / sizeof(struct node); i++)
        new_node(NULL);
    *(size_t *)kept = accounts()->steps - before;
}

/* What limits of `bytes` cost a task below so many custodians, in steps of checks. */
static size_t cost_below_chain(size_t depth, int64_t bytes) {
    struct lee_custodian *before = lee_custodian_current(), *top = lee_custodian_new(NULL), *at = top;
    size_t cost = 0;
    for (size_t i = 0; i < depth; i++) {
        if (i % 2 == 0)
            lee_custodian_limit(at, bytes + (int64_t)(depth * 2 * sizeof *at), at);
        at = lee_custodian_new(at);
    }
    kept = &cost;
    lee_custodian_enter(at);
    struct lee_task *task = lee_task_start(NULL, churn, NULL, 0);
    lee_custodian_enter(before);
    CHECK(lee_task_join(task) && !top->shut);
    lee_custodian_shutdown(top);
    return cost;
}

/* Far from all limits, and near to them, a byte costs as much below 32 times as many; a few looks at
 * all of them aside, as many as halve what is left until that is one. */
static void test_deep(void) {
    enum { DEPTH = 512, LOOKS = 64 };
    for (int near = 0; near < 2; near++) {
        int64_t bytes = near != 0 ? 3 << 20 : 256 << 20;
        size_t less = cost_below_chain(DEPTH, bytes), more = cost_below_chain(32 * DEPTH, bytes);
        CHECK(less >= DEPTH && more <= CHAIN_BYTES / 4 + LOOKS * 32 * DEPTH);
        if (getenv("LINEAR_TEST_SHOW") != NULL)
            printf("%zu steps below %d, %zu below %d\n", less, DEPTH, more, 32 * DEPTH);
    }
}

enum { TASKS = 200, ROUNDS = 20 };

static void allocates_and_yields(void *arguments) {
    size_t bytes = *(size_t *)arguments;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < bytes / sizeof(struct node); i++)
            new_node(NULL);
        lee_task_yield();
    }
}

/* What it costs that tasks of custodians below `depth` of them, each with a limit, start, allocate a
 * little, wait, so that their stacks are noted, switch to one of another custodian, and end. */
static size_t cost_of_tasks(size_t depth, size_t bytes, bool limits) {
    struct lee_custodian *before = lee_custodian_current(), *top = lee_custodian_new(NULL), *at = top;
    struct lee_task *tasks[TASKS];
    for (size_t i = 0; i < depth; i++) {
        if (limits)
            lee_custodian_limit(at, (256 << 20) + (int64_t)(depth * 2 * sizeof *at), at);
        at = lee_custodian_new(at);
    }
    struct lee_custodian *other = lee_custodian_new(at);
    size_t begun = accounts()->steps;
    for (size_t i = 0; i < TASKS; i++) {
        lee_custodian_enter(i % 2 == 0 ? at : other);
        tasks[i] = lee_task_start(NULL, allocates_and_yields, &bytes, sizeof bytes);
    }
    lee_custodian_enter(before);
    for (size_t i = 0; i < TASKS; i++)
        CHECK(lee_task_join(tasks[i]));
    size_t cost = accounts()->steps - begun;
    CHECK(!top->shut);
    lee_custodian_shutdown(top);
    lee_custodians_settle(accounts());
    CHECK(top->task_count == 0);
    return cost;
}

/* A task costs as much below 32 times as many, without limits and with. */
static void test_deep_tasks(void) {
    enum { DEPTH = 512, EACH = 600 /* steps of a task's start and end, and of the note of its stack */, SWITCH = 160 };
    for (int limits = 0; limits < 2; limits++) {
        for (size_t bytes = 0; bytes <= 1024; bytes += 1024) {
            size_t less = cost_of_tasks(DEPTH, bytes, limits != 0), more = cost_of_tasks(32 * DEPTH, bytes, limits != 0);
            if (getenv("LINEAR_TEST_SHOW") != NULL)
                printf("%zu steps of %d tasks that allocate %zu bytes %d times below %d, %zu below %d%s\n", less, TASKS, bytes, ROUNDS,
                       DEPTH, more, 32 * DEPTH, limits ? ", with limits" : "");
            CHECK(more <= TASKS * (EACH + SWITCH * ROUNDS));
        }
    }
}

static void waits_for_ever(void *arguments) {
    (void)arguments;
    for (;;)
        lee_task_yield();
}

/* Nearly all that is left to the limit above can be had, what is prepaid included, without a collection
 * or a trace. */
static void takes_the_rest(void *arguments) {
    struct lee_custodian *top = *(struct lee_custodian **)arguments, *bank = accounts()->prepaying;
    enum { SLACK = 16 << 10 };
    lee_custodians_see_stacks(accounts());
    CHECK(bank != NULL && bank->prepaid_bytes > 2 * SLACK);
    size_t left = top->least_limit - (top->settled + top->fresh - bank->prepaid_bytes);
    size_t collections = lee_heap_self()->counts.collections;
    lee_custodian_check(lee_heap_self(), left - SLACK);
    CHECK(lee_heap_self()->counts.collections == collections && top->fresh > 0 && !top->shut && accounts()->prepaying == NULL);
}

static void test_prepaid(void) {
    struct lee_custodian *before = lee_custodian_current(), *top = lee_custodian_new(NULL), *at = top;
    lee_custodian_limit(top, 8 << 20, top);
    for (int i = 0; i < 64; i++)
        at = lee_custodian_new(at);
    lee_custodian_enter(at);
    lee_task_start(NULL, waits_for_ever, NULL, 0);
    lee_custodian_enter(lee_custodian_new(top));
    struct lee_task *task = lee_task_start(NULL, takes_the_rest, &top, sizeof top);
    lee_custodian_enter(before);
    CHECK(lee_task_join(task));
    lee_custodian_shutdown(top);
}

static void make_requirements(void *arguments) {
    struct lee_custodian *at = lee_custodian_new(NULL);
    limited = at;
    for (size_t i = 0; i < *(size_t *)arguments; i++) {
        at = lee_custodian_new(at);
        lee_custodian_limit(at, 64 << 20, at);
        lee_custodian_require(at, 1, at);
    }
    hostile = at;
}

/* One is over its limit beside so many nested ones, all of whose requirements are broken with it. */
static size_t judgement(size_t size) {
    run_to_end(make_requirements, size);
    size_t begun = steps();
    lee_custodian_require(hostile, (int64_t)1 << 40, NULL);
    lee_custodian_check(lee_heap_self(), 16);
    CHECK(hostile->shut && !limited->shut && !limited->child->shut);
    size_t cost = steps() - begun;
    lee_custodian_shutdown(limited);
    return cost;
}

/* --- sharing ----------------------------------------------------------------------------------------- */

struct pair {
    struct pair *first, *second;
};

static const struct lee_layout pair_layout = {.bytes = sizeof(struct pair), .words = 3, .name = "pair"};

static void hold_pair(void *arguments) {
    (void)arguments; /* it lies on this stack */
    for (;;)
        lee_task_yield();
}

/* What it takes to find out who holds what, of so many custodians that each hold two of so many
 * objects: parts of one list, each of whose objects points to another one, too. */
static void share(size_t size, bool forward) {
    size_t objects = 40 * size;
    struct lee_heap *heap = lee_heap_self();
    struct lee_custodian *before = lee_custodian_current(), *top = lee_custodian_new(before);
    struct pair **all = malloc(objects * sizeof *all);
    CHECK(all != NULL);
    heap->enabled = false;
    for (size_t i = 0; i < objects; i++) {
        all[i] = lee_heap_alloc_typed(NULL, sizeof **all, &pair_layout);
        if (i > 0)
            *all[i] = (struct pair){all[i - 1], all[random_number() % i]};
    }
    for (size_t i = 0; forward && i < objects; i += 97) /* circles */
        all[i]->second = all[random_number() % objects];
    for (size_t i = 0; i < size / 10; i++) {
        struct pair held = {all[random_number() % objects], all[random_number() % objects]};
        lee_custodian_enter(lee_custodian_new(top));
        lee_task_start(NULL, hold_pair, &held, sizeof held);
    }
    lee_custodian_enter(before);
    free(all);
    lee_task_yield();
    heap->enabled = true;
    lee_custodian_policy(LEE_PRECISE);
    size_t begun = steps();
    lee_account_collect(heap);
    size_t cost = steps() - begun, live = heap->counts.live_objects;
    /* Each is a visit, a note, or a word that led to what was visited. */
    CHECK(live > objects / 2 && cost <= 3 * live);
    if (getenv("LINEAR_TEST_SHOW") != NULL)
        printf("%zu steps for %zu objects that %zu custodians share\n", cost, live, size / 10);
    lee_custodian_policy(LEE_BLAME_CHILD);
    lee_custodian_shutdown(top);
}

int main(void) {
    test_deep_tasks();
    for (size_t size = SIZE / 5; size <= 5 * SIZE; size *= 5) {
        share(size, false);
        share(size, true);
    }
    check_linear("a chain of finalizer queues", chain_is_handed_out);
    check_linear("a chain of finalizer queues of nested custodians", nested_chain_is_handed_out);
    check_linear("tasks that wait for finalizer queues", waiting_tasks_and_dead_objects);
    test_checks();
    test_deep();
    test_prepaid();
    check_linear("a judgement of nested requirements", judgement);
    return check_end();
}
