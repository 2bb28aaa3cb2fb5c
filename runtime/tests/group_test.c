/* Custodians of processes: shutting down, counts, and limits of memory as they are seen in VmRSS.
 *
 *     group_test [PROCESSES]      so many under one limit */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <lee/arena.h>
#include <lee/channel.h>
#include <lee/collect.h>
#include <lee/custodian.h>
#include <lee/exchange.h>
#include <lee/frozen.h>
#include <lee/heap.h>
#include <lee/lee.h>
#include <lee/owned.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/collect.h"
#include "../src/custodian.h"
#include "../src/dispose.h"
#include "../src/io_library.h"
#include "../src/poison.h"
#include "../src/process.h"
#include "../src/worker.h"
#include "cases.h"
#include "check.h"
#include "tenants.h"

enum { KB = 1 << 10, MB = 1 << 20 };

struct node {
    struct node *next;
    void *held;
    size_t value[6];
};
static const struct lee_layout node_layout = {.bytes = sizeof(struct node), .words = 3, .name = "node"};

static struct lee_custodian *limited(int64_t bytes) {
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    lee_custodian_limit(custodian, bytes, NULL);
    return custodian;
}

static int wait_for_ever(void *arguments) {
    (void)arguments;
    for (;;)
        lee_task_yield();
    return 0;
}

/* --- shutting down ------------------------------------------------------------------------------ */

static int spawn_two(void *arguments) {
    lee_process_spawn(NULL, wait_for_ever, NULL, 0);
    struct lee_custodian *inner = lee_custodian_new(NULL);
    spawn_in(inner, wait_for_ever, NULL, 0);
    return wait_for_ever(arguments);
}

static void yields(int times) {
    while (times-- > 0)
        lee_task_yield();
}

static void test_shutdown(void) {
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    struct lee_pid *a = spawn_in(custodian, wait_for_ever, NULL, 0), *b = spawn_in(custodian, spawn_two, NULL, 0);
    struct lee_pid *other = lee_process_spawn(NULL, wait_for_ever, NULL, 0);
    yields(3);
    CHECK(custodian->group->uses[LEE_GROUP_PROCESSES] == 4);
    lee_custodian_shutdown(custodian);
    CHECK(lee_process_wait(a).how == LEE_LIMIT && lee_process_wait(b).how == LEE_LIMIT);
    CHECK(is_empty(custodian));
    struct lee_pid *late = spawn_in(custodian, wait_for_ever, NULL, 0);
    CHECK(lee_process_wait(late).how == LEE_LIMIT && is_empty(custodian));
    yields(1);
    lee_process_kill(other);
    CHECK(lee_process_wait(other).how == LEE_KILLED);
}

static int shut_itself(void *arguments) {
    (void)arguments;
    lee_process_spawn(NULL, wait_for_ever, NULL, 0);
    lee_custodian_shutdown(NULL);
    return 0;
}

/* The custodian of a process is its own: the neighbour stays. */
static void test_shutdown_of_oneself(void) {
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    struct lee_pid *neighbour = spawn_in(custodian, wait_for_ever, NULL, 0), *pid = spawn_in(custodian, shut_itself, NULL, 0);
    CHECK(lee_process_wait(pid).how == LEE_LIMIT);
    CHECK(custodian->group->uses[LEE_GROUP_PROCESSES] == 1);
    lee_process_kill(neighbour);
    CHECK(is_empty(custodian));
}

/* --- what libc gathers ------------------------------------------------------------------------------ */

/* Lists that libc's resolver made, less those that were given back to it. */
static atomic_int address_lists;

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    int result = real(node, service, hints, found);
    atomic_fetch_add(&address_lists, result == 0);
    return result;
}

void freeaddrinfo(struct addrinfo *list) {
    void (*real)(struct addrinfo *) = (void (*)(struct addrinfo *))dlsym(RTLD_NEXT, "freeaddrinfo");
    atomic_fetch_sub(&address_lists, 1);
    real(list);
}

/* Keeps all that it is told, until its custodian's limit strikes. */
static int resolves(void *arguments) {
    struct addrinfo *kept[4000], hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST};
    for (int i = *(int *)arguments; i > 0; i--)
        lee_heap_alloc(NULL, 16);
    for (int i = 0; i < 4000; i++)
        lee_getaddrinfo("127.0.0.1", "80", &hints, &kept[i]);
    return kept[0] != NULL;
}

/* The limit may strike while libc's list is copied. */
static void test_addresses(void) {
    for (int before = 0; before < 24; before++) {
        struct lee_custodian *custodian = limited(128 * KB);
        struct lee_pid *pid = spawn_in(custodian, resolves, &before, sizeof before);
        CHECK(lee_process_wait(pid).how == LEE_LIMIT && is_empty(custodian));
    }
    CHECK(atomic_load(&address_lists) == 0);
}

/* --- counts ---------------------------------------------------------------------------------------- */

static int fork_bomb(void *arguments) {
    for (;;) {
        lee_process_spawn(NULL, fork_bomb, NULL, 0);
        (void)arguments;
        lee_task_yield();
    }
    return 0;
}

static int counts_to(void *arguments) {
    int n = *(int *)arguments;
    yields(n);
    return n;
}

static void test_fork_bomb(void) {
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    int n = 1000;
    lee_custodian_limit_count(custodian, LEE_COUNT_PROCESSES, 50, NULL);
    struct lee_pid *neighbour = lee_process_spawn(NULL, counts_to, &n, sizeof n), *bomb = spawn_in(custodian, fork_bomb, NULL, 0);
    struct lee_process_end end = lee_process_wait(bomb);
    CHECK(end.how == LEE_LIMIT && strcmp(end.message, "custodian: more than its limit of 50 processes") == 0);
    CHECK(is_empty(custodian));
    end = lee_process_wait(neighbour);
    CHECK(end.how == LEE_RETURNED && end.status == n);
}

static void task_waits(void *arguments) {
    wait_for_ever(arguments);
}

static int starts(void *arguments) {
    for (int i = *(int *)arguments; i > 0; i--)
        lee_task_start(NULL, task_waits, NULL, 0);
    return 7;
}

static void test_tasks(void) {
    struct lee_custodian *custodian = lee_custodian_new(NULL), *inner = lee_custodian_new(custodian);
    int some = 10, many = 30;
    lee_custodian_limit_count(custodian, LEE_COUNT_TASKS, 20, NULL);
    CHECK(lee_process_wait(spawn_in(inner, starts, &some, sizeof some)).how == LEE_RETURNED);
    CHECK(lee_process_wait(spawn_in(inner, starts, &many, sizeof many)).how == LEE_LIMIT);
    CHECK(is_empty(custodian) && custodian->shut);
    /* Of this process. */
    custodian = lee_custodian_new(NULL);
    lee_custodian_limit_count(custodian, LEE_COUNT_TASKS, 20, NULL);
    struct lee_custodian *own = lee_custodian_enter(custodian);
    struct lee_task *first = lee_task_start(NULL, task_waits, NULL, 0);
    for (int i = 0; i < 30; i++)
        lee_task_start(NULL, task_waits, NULL, 0);
    lee_custodian_enter(own);
    CHECK(custodian->shut && custodian->task_count == 0 && !lee_task_join(first));
}

/* --- memory ------------------------------------------------------------------------------------------ */

static size_t resident(void) {
    unsigned long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%lu %lu", &size, &pages) == 2);
    fclose(file);
    return pages * 4096;
}

static void reset_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file != NULL) {
        fputs("5", file);
        fclose(file);
    }
}

static size_t peak(void) {
    char line[256];
    unsigned long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        sscanf(line, "VmHWM: %lu kB", &kb);
    fclose(file);
    return kb * 1024;
}

static int keeps(void *arguments) {
    struct node *first = NULL;
    (void)arguments;
    for (size_t i = 0;; i++) {
        struct node *node = lee_heap_alloc_typed(NULL, sizeof *node, &node_layout);
        node->next = first;
        first = node;
        if (i % 64 == 0)
            lee_task_yield();
    }
    return 0;
}

static int keeps_bytes(void *arguments) {
    struct node *first = NULL;
    size_t bytes = *(size_t *)arguments;
    for (;;) {
        struct node *node = lee_heap_alloc_typed(NULL, sizeof *node, &node_layout);
        char *all = lee_heap_alloc_plain(NULL, bytes);
        memset(all, 1, bytes);
        node->next = first;
        node->held = all;
        first = node;
        lee_task_yield();
    }
    return 0;
}

/* Blocks of the exchange heap, or some that it has sent and that were not received. */
static int keeps_exchanged(void *arguments) {
    size_t bytes = *(size_t *)arguments;
    bool sends = bytes % 2 == 1;
    for (;;) {
        char *block = lee_exchange_new(NULL, bytes, &lee_owned_plain);
        memset(block, 1, bytes);
        if (sends)
            lee_exchange_give(block);
        lee_task_yield();
    }
    return 0;
}

/* Messages that nobody receives, until `lose_messages`. */
static struct {
    void *word;
    const struct lee_owned *owned;
} messages[8 * KB];
static size_t message_count;

static void put_into_message(void *word, const struct lee_owned *owned) {
    if (message_count == sizeof messages / sizeof *messages)
        abort(); /* it should have been ended */
    messages[message_count].word = word;
    messages[message_count].owned = owned;
    lee_walk_parts(LEE_WALK_LEAVE, &messages[message_count++].word, sizeof word, owned);
}

static void lose_messages(void) {
    while (message_count > 0) {
        message_count--;
        lee_parts_lost(&messages[message_count].word, sizeof(void *), messages[message_count].owned);
    }
}

/* Blocks that it freezes and keeps, and, with an odd size, puts into messages that nobody receives. */
static void drop_frozen(struct lee_work *work, void *place) {
    lee_push_frozen(work, *(void **)place);
}
static const struct lee_owned frozen_message = {.size = sizeof(void *), .drop = drop_frozen};

static int keeps_frozen(void *arguments) {
    size_t bytes = *(size_t *)arguments;
    for (;;) {
        char *block = lee_exchange_new(NULL, bytes, &lee_owned_plain);
        memset(block, 1, bytes);
        lee_exchange_freeze(block);
        if (bytes % 2 == 1)
            put_into_message(block, &frozen_message);
        lee_task_yield();
    }
    return 0;
}

/* One exchange arena that grows, or with an odd size many of which each is sent. */
static void drop_key(struct lee_work *work, void *place) {
    lee_push_key(work, *(struct lee_arena **)place, LEE_KEY_EXCHANGE);
}
static const struct lee_owned key_message = {.size = sizeof(void *), .drop = drop_key};

static int keeps_exchange_arenas(void *arguments) {
    size_t bytes = *(size_t *)arguments;
    struct lee_arena *key = NULL;
    for (;;) {
        if (key == NULL)
            key = lee_exchange_key_new(NULL);
        memset(lee_arena_alloc(NULL, key, bytes, 8), 1, bytes);
        if (bytes % 2 == 1) {
            put_into_message(key, &key_message);
            key = NULL;
        }
        lee_task_yield();
    }
    return 0;
}

static struct lee_arena *sent_arena;
static void *sent_frozen;

static int sends_arena_and_frozen(void *arguments) {
    (void)arguments;
    sent_arena = lee_exchange_key_new(NULL);
    for (int i = 0; i < 100; i++)
        lee_arena_alloc(NULL, sent_arena, 1000, 8);
    lee_walk_parts(LEE_WALK_LEAVE, &sent_arena, sizeof sent_arena, &key_message);
    sent_frozen = lee_exchange_freeze(lee_exchange_new(NULL, 200 * KB, &lee_owned_plain));
    lee_walk_parts(LEE_WALK_LEAVE, &sent_frozen, sizeof sent_frozen, &frozen_message);
    return 0;
}

static struct lee_endpoint *sent_ends[2];

static void drop_ends(struct lee_work *work, void *element) {
    lee_push_endpoint(work, ((struct lee_endpoint **)element)[0]);
    lee_push_endpoint(work, ((struct lee_endpoint **)element)[1]);
}

static const struct lee_owned ends_message = {.size = sizeof sent_ends, .drop = drop_ends};
static const struct lee_contract large = {.name = "Large", .places = {1, 1}, .bytes = 50 * KB, .messages = 1};

static int sends_ends(void *arguments) {
    (void)arguments;
    lee_channel_make(NULL, &large, sent_ends);
    lee_walk_parts(LEE_WALK_LEAVE, sent_ends, sizeof sent_ends, &ends_message);
    return 0;
}

static int receives_ends(void *arguments) {
    (void)arguments;
    size_t before = lee_process_self()->uses[LEE_GROUP_BYTES];
    lee_walk_parts(LEE_WALK_ARRIVE, sent_ends, sizeof sent_ends, &ends_message);
    size_t with_ends = lee_process_self()->uses[LEE_GROUP_BYTES];
    lee_dispose_parts(sent_ends, sizeof sent_ends, &ends_message);
    return with_ends >= before + 100 * KB && lee_process_self()->uses[LEE_GROUP_BYTES] + 90 * KB <= with_ends;
}

/* What it is charged for more: the bytes of the arena, and while it holds the block a table. */
static int receives_arena_and_frozen(void *arguments) {
    (void)arguments;
    size_t before = lee_process_self()->uses[LEE_GROUP_BYTES];
    lee_walk_parts(LEE_WALK_ARRIVE, &sent_arena, sizeof sent_arena, &key_message);
    size_t with_arena = lee_process_self()->uses[LEE_GROUP_BYTES];
    lee_key_free(sent_arena);
    bool freed = lee_process_self()->uses[LEE_GROUP_BYTES] == before;
    lee_walk_parts(LEE_WALK_ARRIVE, &sent_frozen, sizeof sent_frozen, &frozen_message);
    size_t with_frozen = lee_process_self()->uses[LEE_GROUP_BYTES];
    return with_arena >= before + 100 * 1000 && freed && with_frozen < before + 1000;
}

/* Channels, and with an argument sets of ends. */
static const struct lee_contract talk = {.name = "Talk", .places = {1, 1}, .bytes = 8, .messages = 2};
static const struct lee_set_kind talks = {.contract = &talk, .bytes = 100};

static int keeps_channels(void *arguments) {
    static const char value[100];
    size_t sets = *(size_t *)arguments;
    struct lee_set *set = NULL;
    for (size_t i = 0;; i++) {
        if (sets > 0 && i % sets == 0)
            set = lee_set_make(NULL, &talks);
        struct lee_endpoint *ends[2];
        lee_channel_make(NULL, &talk, ends);
        if (set != NULL)
            lee_set_add(NULL, set, ends[0], value);
        lee_task_yield();
    }
    return 0;
}

/* Sets with members come and go. */
static int makes_sets(void *arguments) {
    static const char value[100];
    (void)arguments;
    size_t before = lee_process_self()->uses[LEE_GROUP_BYTES];
    for (int i = 0; i < 100; i++) {
        struct lee_set *set = lee_set_make(NULL, &talks);
        for (int member = 0; member < 10; member++) {
            struct lee_endpoint *ends[2];
            lee_channel_make(NULL, &talk, ends);
            lee_set_add(NULL, set, ends[0], value);
            lee_channel_close(ends[1]);
        }
        for (int member = 0; member < i % 10; member++) {
            char taken[sizeof value];
            lee_channel_close(lee_set_take(NULL, set, LEE_ANY_MEMBER, taken));
        }
        lee_set_free(set);
    }
    return lee_process_self()->uses[LEE_GROUP_BYTES] == before;
}

static void *sent[100];

static int sends_and_ends(void *arguments) {
    (void)arguments;
    for (int i = 0; i < 100; i++) {
        sent[i] = lee_exchange_new(NULL, 1000, &lee_owned_plain);
        lee_exchange_give(sent[i]);
    }
    return 0;
}

static int receives(void *arguments) {
    (void)arguments;
    for (int i = 0; i < 100; i++)
        lee_exchange_take(sent[i]);
    size_t use = lee_process_self()->uses[LEE_GROUP_BYTES];
    for (int i = 0; i < 50; i++)
        lee_exchange_free(sent[i]);
    return use >= 100 * 1000 && lee_process_self()->uses[LEE_GROUP_BYTES] + 50 * 1000 <= use;
}

static int loses(void *arguments) {
    size_t all = 64 * MB, bytes = *(size_t *)arguments;
    for (size_t i = 0; i < all; i += bytes) {
        char *lost = lee_heap_alloc(NULL, bytes);
        lost[bytes - 1] = 1;
        if (i % (64 * KB) == 0)
            lee_task_yield();
    }
    return 1;
}

static __attribute__((noinline)) size_t recurse(size_t depth, bool waits) {
    char frame[512];
    __asm__ volatile("" : : "r"(frame) : "memory");
    if (depth == 0 && waits)
        wait_for_ever(NULL);
    size_t below = depth == 0 ? 0 : recurse(depth - 1, waits);
    __asm__ volatile("" : : "r"(frame) : "memory"); /* each call has its own */
    return below;
}

#ifdef LEE_ASAN
enum { DEEP = 60 }; /* frames are larger */
#else
enum { DEEP = 380 }; /* of 240 KB of stack nearly all */
#endif

static int stays_deep(void *arguments) {
    return (int)recurse(*(size_t *)arguments, true);
}

/* Has been deep, which is no reason to end it. */
static int was_deep(void *arguments) {
    recurse(*(size_t *)arguments, false);
    for (int i = 0; i < 10; i++)
        lee_task_yield();
    return 1;
}

static bool shows;

/* `count` processes under one limit, each of which takes as much as it can. */
static void test_limit(const char *what, int count, size_t limit, int (*entry)(void *), size_t argument) {
    struct lee_custodian *custodian = limited((int64_t)limit);
    struct lee_pid *last = NULL;
    lee_collect();
    lee_heap_idle(lee_heap_self());
    reset_peak();
    size_t before = resident();
    for (int i = 0; i < count && !custodian->shut; i++)
        last = spawn_in(custodian, entry, &argument, sizeof argument);
    struct lee_process_end end = lee_process_wait(last);
    lose_messages();
    size_t most = peak(), over = most > before + limit ? most - before - limit : 0;
    CHECK(end.how == LEE_LIMIT && strncmp(end.message, "custodian: more than its limit of ", 34) == 0);
    CHECK(is_empty(custodian));
    if (shows)
        printf("%s, %d processes, limit %zu KB: peak %zu KB, over by %zu KB\n", what, count, limit / KB, (most - before) / KB, over / KB);
#ifndef LEE_ASAN
    CHECK(over <= 256 * KB);
    /* A block counts before it is touched; the exchange heap and malloc use pages again. */
    bool used_again = entry == keeps_frozen || entry == keeps_exchange_arenas || entry == keeps_channels;
    bool reached = used_again || most > before + limit / (count == 1 ? 2 : 8);
    if (!reached)
        printf("%s, %d processes, limit %zu KB: from %zu to %zu KB\n", what, count, limit / KB, before / KB, most / KB);
    CHECK(reached);
#endif
}

static void test_garbage(void) {
    static const size_t sizes[] = {64, 5 * KB, 100 * KB, 1200 * KB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct lee_custodian *custodian = limited(4 * MB);
        struct lee_process_end end = lee_process_wait(spawn_in(custodian, loses, &sizes[i], sizeof sizes[i]));
        CHECK(end.how == LEE_RETURNED && is_empty(custodian));
    }
}

/* 50 processes take 1 MB of stack at most where they wait, and 11 where they were. */
static void test_was_deep(void) {
    struct lee_custodian *custodian = limited(2 * MB);
    struct lee_pid *pids[50];
    size_t depth = DEEP;
    for (int i = 0; i < 50; i++)
        pids[i] = spawn_in(custodian, was_deep, &depth, sizeof depth);
    for (int i = 0; i < 50; i++)
        CHECK(lee_process_wait(pids[i]).how == LEE_RETURNED);
    CHECK(is_empty(custodian));
}

/* Garbage of processes that wait is found before anybody goes. */
static int loses_and_waits(void *arguments) {
    loses(arguments);
    yields(500);
    return 1;
}

static void test_garbage_of_others(void) {
    struct lee_custodian *custodian = limited(12 * MB);
    struct lee_pid *pids[10];
    size_t bytes = 5 * KB;
    for (int i = 0; i < 10; i++) /* each budget is 4 MB */
        pids[i] = spawn_in(custodian, loses_and_waits, &bytes, sizeof bytes);
    for (int i = 0; i < 10; i++)
        CHECK(lee_process_wait(pids[i]).how == LEE_RETURNED);
    CHECK(is_empty(custodian));
}

/* Custodians are outside of the heap in part. */
static int makes_custodians(void *arguments) {
    struct lee_custodian *all = NULL;
    (void)arguments;
    for (;;) {
        all = lee_custodian_new(all);
        lee_custodian_limit(all, 1000, NULL);
        lee_task_yield();
    }
    return 0;
}

/* What was sent is the sender's until it is received. */
static void test_sent(void) {
    struct lee_custodian *from = limited(2 * MB), *to = limited(2 * MB);
    CHECK(lee_process_wait(spawn_in(from, sends_and_ends, NULL, 0)).how == LEE_RETURNED);
    CHECK(from->group->uses[LEE_GROUP_BYTES] >= 100 * 1000);
    struct lee_process_end end = lee_process_wait(spawn_in(to, receives, NULL, 0));
    CHECK(end.how == LEE_RETURNED && end.status == 1);
    CHECK(is_empty(from) && is_empty(to));
    /* A frozen block is the freezer's as long as it is there. */
    CHECK(lee_process_wait(spawn_in(from, sends_arena_and_frozen, NULL, 0)).how == LEE_RETURNED);
    CHECK(from->group->uses[LEE_GROUP_BYTES] >= 100 * 1000 + 200 * KB);
    end = lee_process_wait(spawn_in(to, receives_arena_and_frozen, NULL, 0));
    CHECK(end.how == LEE_RETURNED && end.status == 1);
    CHECK(is_empty(from) && is_empty(to));
    /* Lost on its way. */
    CHECK(lee_process_wait(spawn_in(from, sends_arena_and_frozen, NULL, 0)).how == LEE_RETURNED);
    lee_parts_lost(&sent_arena, sizeof sent_arena, &key_message);
    CHECK(from->group->uses[LEE_GROUP_BYTES] >= 200 * KB && from->group->uses[LEE_GROUP_BYTES] < 300 * KB);
    lee_parts_lost(&sent_frozen, sizeof sent_frozen, &frozen_message);
    CHECK(is_empty(from));
    /* Ends of channels: received, and lost. */
    for (int received = 0; received < 2; received++) {
        CHECK(lee_process_wait(spawn_in(from, sends_ends, NULL, 0)).how == LEE_RETURNED);
        CHECK(from->group->uses[LEE_GROUP_BYTES] >= 100 * KB && from->group->uses[LEE_GROUP_ENDPOINTS] == 0);
        if (received) {
            end = lee_process_wait(spawn_in(to, receives_ends, NULL, 0));
            CHECK(end.how == LEE_RETURNED && end.status == 1);
        } else {
            lee_parts_lost(sent_ends, sizeof sent_ends, &ends_message);
        }
        CHECK(is_empty(from) && is_empty(to));
    }
    size_t bytes = 5001;
    CHECK(lee_process_wait(spawn_in(from, keeps_exchanged, &bytes, sizeof bytes)).how == LEE_LIMIT);
}

static struct lee_set *sent_set;

static void drop_set(struct lee_work *work, void *element) {
    lee_push_set(work, *(struct lee_set **)element);
}

static const struct lee_owned set_argument = {.size = sizeof sent_set, .drop = drop_set};

/* A thousand members, of which ten have been taken out. */
static int sends_set(void *arguments) {
    (void)arguments;
    sent_set = lee_set_make(NULL, &talks);
    for (int i = 0; i < 1000; i++) {
        struct lee_endpoint *ends[2];
        char value[100] = {1};
        lee_channel_make(NULL, &talk, ends);
        lee_channel_send(ends[0], 1, value, 8);
        lee_channel_close(ends[0]);
        lee_set_add(NULL, sent_set, ends[1], value);
    }
    char value[100];
    for (int i = 0; i < 10; i++)
        lee_channel_close(lee_set_take(NULL, sent_set, LEE_ANY_MEMBER, value));
    lee_walk_parts(LEE_WALK_LEAVE, &sent_set, sizeof sent_set, &set_argument);
    return lee_process_self()->sets == NULL && lee_process_self()->endpoints == NULL;
}

static int receives_set(void *arguments) {
    (void)arguments;
    lee_walk_parts(LEE_WALK_ARRIVE, &sent_set, sizeof sent_set, &set_argument);
    int taken = 0;
    bool charged = lee_process_self()->uses[LEE_GROUP_BYTES] >= 200 * 1000 && lee_process_self()->uses[LEE_GROUP_ENDPOINTS] == 990;
    struct lee_set *const sets[] = {sent_set};
    CASES(cases, 2, false, {1, 0}, {LEE_NO_MEMBER, 0});
    for (; lee_set_select(NULL, NULL, 0, sets, 1, &cases) == 0; taken++) {
        char value[100], argument[8];
        struct lee_endpoint *end = lee_set_take(NULL, sent_set, 1, value);
        lee_channel_take(end, 1, argument, sizeof argument);
        taken += argument[0] != 1 || value[0] != 1;
        lee_channel_close(end);
    }
    lee_set_free(sent_set);
    return charged && taken == 990;
}

/* A set that is given to a process is its spawner's until it arrives. */
static void test_sent_sets(void) {
    struct lee_custodian *from = limited(4 * MB), *to = limited(4 * MB);
    for (int received = 0; received < 2; received++) {
        struct lee_process_end end = lee_process_wait(spawn_in(from, sends_set, NULL, 0));
        CHECK(end.how == LEE_RETURNED && end.status == 1);
    CHECK(from->group->uses[LEE_GROUP_BYTES] >= 290 * 1000 && from->group->uses[LEE_GROUP_ENDPOINTS] == 0);
        if (received) {
            end = lee_process_wait(spawn_in(to, receives_set, NULL, 0));
            CHECK(end.how == LEE_RETURNED && end.status == 1);
        } else {
            lee_parts_lost(&sent_set, sizeof sent_set, &set_argument);
        }
        CHECK(is_empty(from) && is_empty(to));
    }
}

/* What the exchange heap gives back, no process was charged for. */
static int fills_and_frees(void *arguments) {
    size_t bytes = *(size_t *)arguments;
    size_t before = lee_process_self()->uses[LEE_GROUP_BYTES];
    for (int round = 0; round < 10; round++) {
        void **first = NULL;
        for (size_t all = 0; all < 6 * MB; all += bytes + 48) {
            void **block = lee_exchange_new(NULL, bytes, &lee_owned_plain);
            *block = first;
            first = block;
        }
        while (first != NULL) {
            void **next = *first;
            lee_exchange_free(first);
            first = next;
        }
        if (lee_process_self()->uses[LEE_GROUP_BYTES] != before)
            return 0;
    }
    return 1;
}

static void test_gives_back(void) {
    struct lee_custodian *custodian = limited(16 * MB);
    for (size_t bytes = 16; bytes < 64 * KB; bytes *= 3) {
        struct lee_process_end end = lee_process_wait(spawn_in(custodian, fills_and_frees, &bytes, sizeof bytes));
        CHECK(end.how == LEE_RETURNED && end.status == 1);
    }
    struct lee_process_end end = lee_process_wait(spawn_in(custodian, makes_sets, NULL, 0));
    CHECK(end.how == LEE_RETURNED && end.status == 1);
    CHECK(is_empty(custodian));
}

/* The limit outlives who set it. */
static int makes_limited(void *arguments) {
    struct lee_custodian *custodian = limited(1 * MB);
    (void)arguments;
    spawn_in(custodian, keeps, NULL, 0);
    return 0;
}

static void test_maker_ends(void) {
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    CHECK(lee_process_wait(spawn_in(custodian, makes_limited, NULL, 0)).how == LEE_RETURNED);
    CHECK(lee_many || custodian->group->uses[LEE_GROUP_PROCESSES] == 1);
    for (int i = 0; i < 100000 && !is_empty(custodian); i++)
        lee_task_yield();
    CHECK(is_empty(custodian));
}

/* A child does not loosen what holds it: its own limit is no limit of the one above. */
static int loosens(void *arguments) {
    (void)arguments;
    struct lee_custodian *inner = limited(-1);
    spawn_in(inner, keeps, NULL, 0);
    return wait_for_ever(NULL);
}

static int loosens_own(void *arguments) {
    (void)arguments;
    lee_custodian_limit(NULL, -1, NULL);
    return 0;
}

static void test_authority(void) {
    struct lee_custodian *custodian = limited(2 * MB);
    CHECK(lee_process_wait(spawn_in(custodian, loosens, NULL, 0)).how == LEE_LIMIT);
    custodian = limited(2 * MB);
    struct lee_process_end end = lee_process_wait(spawn_in(custodian, loosens_own, NULL, 0));
    CHECK(end.how == LEE_FAULTED && strstr(end.message, "by a task of a custodian above") != NULL);
}

/* The victim has tasks of this process, and processes. */
static void test_victim(void) {
    struct lee_custodian *holder = lee_custodian_new(NULL), *victim = lee_custodian_new(NULL);
    lee_custodian_limit(holder, 2 * MB, victim);
    struct lee_pid *pid = spawn_in(victim, wait_for_ever, NULL, 0), *taker = spawn_in(holder, keeps, NULL, 0);
    struct lee_custodian *own = lee_custodian_enter(victim);
    struct lee_task *task = lee_task_start(NULL, task_waits, NULL, 0);
    lee_custodian_enter(own);
    CHECK(lee_process_wait(pid).how == LEE_LIMIT && !lee_task_join(task));
    CHECK(lee_custodian_is_shut(victim) && !lee_custodian_is_shut(holder));
    yields(10); /* what limited it is gone */
    CHECK(holder->group->uses[LEE_GROUP_PROCESSES] == 1);
    lee_process_kill(taker);
}


/* --- deep chains ---------------------------------------------------------------------------------------- */

enum { CHAIN = 2000, CHURN = 8 * MB, BLOCK = 64 * KB, OPENS = 200, DEEP_STEPS = 16 /* between banks */ };

static size_t chain_steps;

/* Takes and gives back pages. */
static int churns(void *arguments) {
    (void)arguments;
    /* Huge pages are charged at once, and a heap stops taking them when the system is slow to give them,
     * as on a busy machine. Block by block there are most charges for a byte. */
    lee_heap_self()->huge = false;
    size_t before = lee_group_steps;
    void *held[CHURN / BLOCK];
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < CHURN / BLOCK; i++)
            held[i] = lee_heap_alloc_plain(NULL, BLOCK);
        for (size_t i = 0; i < CHURN / BLOCK; i++)
            lee_heap_free(held[i]);
        lee_blocks_release(lee_process_self()->heap, 0);
    }
    chain_steps = lee_group_steps - before;
    return 0;
}

static size_t peak_use;

static int keeps_to_the_end(void *arguments) {
    struct node *first = NULL;
    (void)arguments;
    for (peak_use = 0;;) {
        struct node *node = lee_heap_alloc_typed(NULL, sizeof *node, &node_layout);
        node->next = first;
        first = node;
        size_t use = lee_process_self()->uses[LEE_GROUP_BYTES];
        peak_use = use > peak_use ? use : peak_use;
    }
    return 0;
}

static int ends_at_once(void *arguments) {
    (void)arguments;
    return 0;
}

/* Makes and closes descriptors and ends of channels. */
static int opens(void *arguments) {
    (void)arguments;
    size_t before = lee_group_steps;
    for (int i = 0; i < OPENS; i++) {
        int ends[2];
        if (lee_pipe(ends) != 0)
            return 1;
        lee_close(ends[0]);
        lee_close(ends[1]);
    }
    chain_steps = lee_group_steps - before;
    return 0;
}

/* Below so many custodians, each with limits of all kinds, what is spawned, ends, is opened and closed
 * costs as much as below few; limits of numbers are exact. */
static void test_chain_counts(void) {
    size_t steps[2];
    for (int deep = 0; deep < 2; deep++) {
        struct lee_custodian *top = limited(4 * CHURN), *at = top;
        for (int i = 0; i < (deep ? CHAIN : CHAIN / 8); i++) {
            at = lee_custodian_new(at);
            lee_custodian_limit_count(at, LEE_GROUP_PROCESSES, 1000, NULL);
            lee_custodian_limit_count(at, LEE_GROUP_DESCRIPTORS, 1000, NULL);
        }
        CHECK(lee_process_wait(spawn_in(at, ends_at_once, NULL, 0)).how == LEE_RETURNED);
        size_t before = lee_group_steps;
        for (int i = 0; i < OPENS; i++) { /* in custodians of their own, too */
            struct lee_custodian *in = i % 2 == 0 ? at : lee_custodian_new(at);
            CHECK(lee_process_wait(spawn_in(in, ends_at_once, NULL, 0)).how == LEE_RETURNED);
        }
        steps[0] = lee_group_steps - before;
        CHECK(lee_process_wait(spawn_in(at, opens, NULL, 0)).how == LEE_RETURNED);
        steps[1] = chain_steps;
        if (shows)
            printf("below %d custodians: %zu steps for each process, %zu for each pipe\n", deep ? CHAIN : CHAIN / 8,
                   steps[0] / OPENS, steps[1] / OPENS);
        CHECK(steps[0] < OPENS * 16 * DEEP_STEPS && steps[1] < OPENS * 8 * DEEP_STEPS);
        CHECK(is_empty(top) && is_empty(at));
        lee_custodian_shutdown(top);
    }
}

static size_t deep_channels;

/* Enters a custodian below many of its own, in which something was spawned, and takes without end: a
 * task, a channel, a descriptor, by the argument. */
static int takes_below_its_own(void *arguments) {
    int kind = *(int *)arguments;
    struct lee_custodian *at = lee_custodian_current();
    for (int i = 0; i < 3 * DEEP_STEPS; i++)
        at = lee_custodian_new(at);
    lee_custodian_limit(at, 4 * MB, NULL);
    lee_process_wait(spawn_in(at, opens, NULL, 0));
    lee_custodian_enter(at);
    for (deep_channels = 0; deep_channels < 1000; deep_channels++) {
        struct lee_endpoint *ends[2];
        int pipe[2];
        if (kind == LEE_GROUP_TASKS)
            lee_task_start(NULL, task_waits, NULL, 0);
        else if (kind == LEE_GROUP_ENDPOINTS)
            lee_channel_make(NULL, &talk, ends);
        else if (lee_pipe(pipe) != 0)
            return 1;
    }
    return 0;
}

/* What a process makes in custodians of its own counts where the process is, too: none of them hides
 * it from a limit there, however deep. */
static void test_own_custodians(void) {
    static const int kinds[] = {LEE_GROUP_TASKS, LEE_GROUP_DESCRIPTORS, LEE_GROUP_ENDPOINTS};
    for (int i = 0; i < 3; i++) {
        struct lee_custodian *top = limited(64 * MB);
        lee_custodian_limit_count(top, kinds[i], 40, NULL);
        CHECK(lee_process_wait(spawn_in(top, takes_below_its_own, &kinds[i], sizeof kinds[i])).how == LEE_LIMIT);
        CHECK(deep_channels < 41 && is_empty(top));
    }
}

/* Limits of tasks of the custodians of this process are exact below many of them, and a task that is
 * started or ends costs as many steps below many as below few. */
static void test_chain_tasks(void) {
    for (int deep = 0; deep < 2; deep++) {
        struct lee_custodian *own = lee_custodian_current(), *top = lee_custodian_new(NULL), *at = top;
        for (int i = 0; i < (deep ? CHAIN : CHAIN / 8); i++) {
            at = lee_custodian_new(at);
            lee_custodian_limit_count(at, LEE_GROUP_TASKS, 10000 + i, NULL);
        }
        lee_custodian_limit_count(top, LEE_GROUP_TASKS, 1000, NULL);
        size_t *inside = &lee_process_self()->accounts.steps;
        size_t before = lee_group_steps + *inside;
        lee_custodian_enter(at);
        struct lee_task *first = NULL;
        for (int i = 0; i < 500; i++)
            first = lee_task_start(NULL, task_waits, NULL, 0);
        size_t steps = lee_group_steps + *inside - before;
        if (shows)
            printf("below %d custodians: %zu steps for each task\n", deep ? CHAIN : CHAIN / 8, steps / 500);
        CHECK(steps < 500 * 16 * DEEP_STEPS && !top->shut);
        lee_custodian_enter(lee_custodian_new(top)); /* what is prepaid below is no use here */
        for (int i = 500; i < 1000; i++)
            first = lee_task_start(NULL, task_waits, NULL, 0);
        lee_custodian_enter(own);
        CHECK(!top->shut);
        lee_custodians_settle(&lee_process_self()->accounts);
        CHECK(top->task_count == 1000 && at->task_count == 500);
        lee_custodian_enter(at);
        lee_task_start(NULL, task_waits, NULL, 0); /* one more than the limit */
        lee_custodian_enter(own);
        CHECK(top->shut && !lee_task_join(first));
        lee_custodians_settle(&lee_process_self()->accounts);
        CHECK(top->task_count == 0 && at->task_count == 0);
    }
}

/* A process below so many custodians, each with a limit: charges cost as much for a byte as below few,
 * limits are exact, and nothing is left. */
static void test_chain(void) {
    struct lee_custodian *top = limited(4 * CHURN), *at = top;
    for (int i = 0; i < CHAIN; i++) {
        at = lee_custodian_new(at);
        lee_custodian_limit(at, 3 * CHURN, NULL);
    }
    CHECK(lee_process_wait(spawn_in(at, churns, NULL, 0)).how == LEE_RETURNED && is_empty(top) && is_empty(at));
    if (shows)
        printf("below %d custodians: %zu steps to charge %d bytes and give them back\n", CHAIN, chain_steps, 4 * CHURN);
    if (chain_steps <= 4 * CHAIN || chain_steps >= 4 * CHURN / 8)
        printf("%zu steps to charge %d bytes below %d custodians\n", chain_steps, 4 * CHURN, CHAIN);
    CHECK(chain_steps > 4 * CHAIN && chain_steps < 4 * CHURN / 8);
    struct lee_pid *keeper = spawn_in(at, keeps_to_the_end, NULL, 0);
    CHECK(lee_process_wait(keeper).how == LEE_LIMIT && is_empty(top) && lee_custodian_is_shut(at));
    if (shows)
        printf("a limit of %d: %zu at most\n", 3 * CHURN, peak_use);
    CHECK(peak_use > 3 * CHURN - 256 * KB && peak_use <= 3 * CHURN);
    lee_custodian_shutdown(top);
}

/* --- time ------------------------------------------------------------------------------------------------ */

/* One unit of it passes in each slice, so what is measured are slices. */
static uint64_t now;
static uint64_t test_clock(void) {
    return now;
}

static size_t slices[8];

static int spins(void *arguments) {
    size_t *mine = &slices[*(size_t *)arguments];
    for (;;) {
        ++*mine;
        now += 4000000;
        lee_task_give_way(); /* as at the end of a slice */
    }
    return 0;
}

static int spin_bomb(void *arguments) {
    for (int i = 0; i < 50; i++)
        lee_process_spawn(NULL, spins, arguments, sizeof(size_t));
    return spins(arguments);
}

static void share_out(size_t total) {
    memset(slices, 0, sizeof slices);
    for (size_t sum = 0; sum < total;) {
        lee_task_yield();
        sum = 0;
        for (size_t i = 0; i < 8; i++)
            sum += slices[i];
    }
}

static bool is_near(size_t what, size_t wanted) {
    return what * 10 >= wanted * 9 && what * 10 <= wanted * 11;
}

static void test_shares(void) {
    struct lee_custodian *bomb = lee_custodian_new(NULL), *neighbour = lee_custodian_new(NULL), *heavy = lee_custodian_new(NULL);
    struct lee_custodian *below[2] = {lee_custodian_new(heavy), lee_custodian_new(heavy)};
    size_t index[] = {0, 1, 2, 3};
    uint64_t (*clock)(void) = lee_share_clock;
    lee_share_clock = test_clock;
    lee_share_skip();
    spawn_in(bomb, spin_bomb, &index[0], sizeof(size_t));
    spawn_in(neighbour, spins, &index[1], sizeof(size_t));
    share_out(2000);
    if (shows)
        printf("a bomb of 51 spinners and a neighbour: %zu and %zu slices\n", slices[0], slices[1]);
    CHECK(is_near(slices[1], 1000));
    /* A weight, and shares in a share. */
    lee_custodian_share(heavy, 200);
    lee_custodian_share(below[0], 300);
    spawn_in(below[0], spins, &index[2], sizeof(size_t));
    spawn_in(below[1], spins, &index[3], sizeof(size_t));
    share_out(4000);
    if (shows)
        printf("1 and 1, beside 2 that are shared 3 to 1: %zu, %zu, %zu, %zu\n", slices[0], slices[1], slices[2], slices[3]);
    CHECK(is_near(slices[0], 1000) && is_near(slices[1], 1000) && is_near(slices[2], 1500) && is_near(slices[3], 500));
    lee_custodian_shutdown(bomb);
    lee_custodian_shutdown(heavy);
    lee_custodian_shutdown(neighbour);
    CHECK(is_empty(bomb) && is_empty(heavy) && is_empty(neighbour) && lee_shares_ready == 0);
    lee_share_clock = clock;
    lee_share_skip();
}

/* Many custodians side by side, each with a process that spins: they take turns, and to choose the
 * next one takes logarithmic time. */
enum { SIBLINGS = 10000, ROUNDS = 4 };
static uint8_t turns[SIBLINGS];

static int takes_turns(void *arguments) {
    uint8_t *mine = &turns[*(int *)arguments];
    while (++*mine <= ROUNDS) {
        now += 4000000;
        lee_task_give_way();
    }
    return wait_for_ever(NULL);
}

static void test_siblings(void) {
    struct lee_custodian *top = lee_custodian_new(NULL);
    uint64_t (*clock)(void) = lee_share_clock;
    lee_share_clock = test_clock;
    lee_share_skip();
    for (int i = 0; i < SIBLINGS; i++)
        spawn_in(lee_custodian_new(top), takes_turns, &i, sizeof i);
    size_t before = lee_share_steps, most = 0;
    for (bool all = false; !all;) {
        lee_task_yield();
        size_t least = SIZE_MAX;
        for (int i = 0; i < SIBLINGS; i++) {
            least = turns[i] < least ? turns[i] : least;
            most = turns[i] > most ? turns[i] : most;
        }
        CHECK(least > ROUNDS || most <= least + 2);
        all = least > ROUNDS;
    }
    size_t each = (lee_share_steps - before) / (SIBLINGS * (ROUNDS + 1));
    if (shows)
        printf("%d custodians side by side: %zu comparisons for a slice\n", SIBLINGS, each);
    CHECK(each <= 8 * 14); /* 2 to the 14th is more than 10,000 */
    lee_custodian_shutdown(top);
    CHECK(is_empty(top) && lee_shares_ready == 0);
    lee_share_clock = clock;
    lee_share_skip();
}

static size_t had_turns[2];

static int takes_all_turns(void *arguments) {
    for (size_t *mine = &had_turns[*(int *)arguments];; lee_task_give_way()) {
        (*mine)++;
        now += 4000000;
    }
    return 0;
}

/* Two below so many custodians, one of whom is deeper yet: a slice looks at as many shares as below few,
 * and both have their turns. */
static void test_chain_shares(void) {
    uint64_t (*clock)(void) = lee_share_clock;
    lee_share_clock = test_clock;
    lee_share_skip();
    for (int deep = 0; deep < 2; deep++) {
        struct lee_custodian *top = lee_custodian_new(NULL), *at = top;
        for (int i = 0; i < (deep ? CHAIN : CHAIN / 8); i++)
            at = lee_custodian_new(at);
        for (int i = 0; i < 2; i++) {
            had_turns[i] = 0;
            spawn_in(at, takes_all_turns, &i, sizeof i);
            at = lee_custodian_new(at);
        }
        size_t before = lee_share_steps;
        for (int i = 0; i < 100; i++)
            lee_task_yield();
        size_t each = (lee_share_steps - before) / (had_turns[0] + had_turns[1] + 1);
        if (shows)
            printf("below %d custodians: %zu shares for a slice\n", deep ? CHAIN : CHAIN / 8, each);
        CHECK(had_turns[0] > 20 && had_turns[1] > 20 && each <= 4 * LEE_SHARES_DEEP);
        lee_custodian_shutdown(top);
        CHECK(is_empty(top) && lee_shares_ready == 0);
    }
    lee_share_clock = clock;
    lee_share_skip();
}

/* One that waited is woken by one that has run for long: it is to run at once. */
static struct lee_process *sleeper;
static bool was_behind, slice_over;

static int sleeps(void *arguments) {
    (void)arguments;
    sleeper = lee_process_self();
    lee_process_wait(lee_process_spawn(NULL, wait_for_ever, NULL, 0));
    return 0;
}

static int wakes(void *arguments) {
    (void)arguments;
    now += 100000000;
    was_behind = lee_share_is_behind(sleeper);
    lee_slice_over = false;
    lee_process_ready(sleeper);
    slice_over = lee_slice_over;
    lee_process_unready(sleeper);
    return wait_for_ever(NULL);
}

static void test_wake_up(void) {
    struct lee_custodian *a = lee_custodian_new(NULL), *b = lee_custodian_new(NULL);
    uint64_t (*clock)(void) = lee_share_clock;
    lee_share_clock = test_clock;
    lee_share_skip();
    spawn_in(a, sleeps, NULL, 0);
    yields(5);
    spawn_in(b, wakes, NULL, 0);
    yields(5);
    CHECK(was_behind && slice_over);
    lee_custodian_shutdown(a);
    lee_custodian_shutdown(b);
    lee_share_clock = clock;
    lee_share_skip();
}

/* What one had while it ran alone does not make it wait for others that come later. */
static void test_alone(void) {
    size_t index = 0;
    uint64_t (*clock)(void) = lee_share_clock;
    lee_share_clock = test_clock;
    lee_share_skip();
    for (int i = 0; i < 2; i++) { /* the second time another has shared with it before */
        struct lee_custodian *late = lee_custodian_new(NULL);
        now += 1000000000;
        memset(slices, 0, sizeof slices);
        spawn_in(late, spins, &index, sizeof index);
        for (size_t turn = 1; turn <= 20; turn++) {
            lee_task_yield();
            now += 4000000;
            CHECK(slices[0] >= turn / 2 && slices[0] <= 2 * turn + 2);
        }
        lee_custodian_shutdown(late);
        CHECK(is_empty(late) && lee_shares_ready == 0);
    }
    lee_share_clock = clock;
    lee_share_skip();
}

/* One whose processes run for 40 ms each, with nothing that ends a slice, and the one that waits for them. */
static int runs_for_long(void *arguments) {
    (void)arguments;
    now += 40000000;
    return 0;
}

static int spawns_one_by_one(void *arguments) {
    (void)arguments;
    for (;;)
        lee_process_wait(lee_process_spawn(NULL, runs_for_long, NULL, 0));
    return 0;
}

/* Slices that are long are not forgiven, however short all others are. */
static void test_long_slices(void) {
    enum { SLICE = 4000000 };
    size_t index = 0;
    uint64_t (*clock)(void) = lee_share_clock;
    lee_share_clock = test_clock;
    lee_share_skip();
    struct lee_custodian *a = lee_custodian_new(NULL), *b = lee_custodian_new(NULL);
    memset(slices, 0, sizeof slices);
    uint64_t began = now;
    spawn_in(a, spawns_one_by_one, NULL, 0);
    spawn_in(b, spins, &index, sizeof index);
    while (now < began + 4000000000)
        lee_task_yield();
    int percent = (int)(100 * slices[0] * SLICE / (now - began));
    if (shows)
        printf("beside long slices: %d %%\n", percent);
    CHECK(percent >= 45 && percent <= 55);
    lee_custodian_shutdown(a);
    lee_custodian_shutdown(b);
    CHECK(is_empty(a) && is_empty(b) && lee_shares_ready == 0);
    lee_share_clock = clock;
    lee_share_skip();
}

/* What one computed before it ends another is not the other's. */
static void test_kill_is_billed(void) {
    enum { TIME = 3000000 };
    size_t index = 0;
    uint64_t (*clock)(void) = lee_share_clock;
    lee_share_clock = test_clock;
    lee_share_skip();
    struct lee_custodian *a = lee_custodian_new(NULL);
    struct lee_pid *victim = spawn_in(a, spins, &index, sizeof index);
    lee_task_yield();
    int64_t before = lee_custodian_time(a);
    now += TIME;
    lee_process_kill(victim);
    CHECK(before > 0 && lee_custodian_time(a) - before < TIME);
    lee_custodian_shutdown(a);
    lee_share_clock = clock;
    lee_share_skip();
}

/* --- neighbours of one that is killed --------------------------------------------------------- */

/* One that is killed is on two lists, and changes its neighbours there. */
enum { BESIDE = 200, LINKED = 1 };

struct holding {
    size_t blocks, bytes; /* of each block */
    int number;
};
static unsigned char *held_by[BESIDE + 1]; /* the last block of each */
static const struct lee_process *holders[BESIDE + 1];
static int holding;

static int holds_and_waits(void *arguments) {
    struct holding what = *(struct holding *)arguments;
    struct node *first = NULL;
    struct lee_endpoint *ends[2];
    int64_t n = 0;
    for (size_t i = 0; i < what.blocks; i++) {
        struct node *node = lee_heap_alloc_typed(NULL, sizeof *node, &node_layout);
        node->held = held_by[what.number] = lee_heap_alloc_plain(NULL, what.bytes);
        memset(node->held, 1, what.bytes);
        node->next = first;
        first = node;
    }
    lee_channel_make(NULL, &talk, ends);
    holders[what.number] = lee_process_self();
    holding++;
    lee_channel_receive(NULL, ends[0], 1, &n, sizeof n);
    return first != NULL;
}

static struct lee_pid *spawn_holder(size_t blocks, size_t bytes, int number) {
    int before = holding;
    struct lee_pid *pid = lee_process_spawn(NULL, holds_and_waits, &(struct holding){blocks, bytes, number}, sizeof(struct holding));
    while (holding == before)
        lee_task_yield();
    lee_task_yield();
    return pid;
}

/* What is known of the process, and its block of 1 MB but for its ends. */
static void protect(int number, int protection) {
    uintptr_t process = (uintptr_t)holders[number] & ~(uintptr_t)4095;
    uintptr_t held = ((uintptr_t)held_by[number] + 8191) & ~(uintptr_t)4095;
    CHECK(mprotect((void *)process, 4096, protection) == 0);
    CHECK(mprotect((void *)held, MB - 3 * 4096, protection) == 0);
}

/* A process that kills another does not look at the others: they cannot be read meanwhile. */
static void test_kill_beside(void) {
    enum { COUNT = 11, VICTIM = COUNT / 2 };
    struct lee_pid *pids[COUNT];
    for (int i = 0; i < COUNT; i++)
        pids[i] = spawn_holder(1, MB, i);
    for (int i = 0; i < COUNT; i++) {
        if (abs(i - VICTIM) > LINKED)
            protect(i, PROT_NONE);
    }
    lee_process_kill(pids[VICTIM]);
    for (int i = 0; i < COUNT; i++) {
        if (abs(i - VICTIM) > LINKED)
            protect(i, PROT_READ | PROT_WRITE);
    }
    for (int i = 0; i < COUNT; i++) {
        lee_process_kill(pids[i]);
        CHECK(lee_process_wait(pids[i]).how == LEE_KILLED);
    }
}

/* The least of 20, in microseconds. */
static double least_of_kills(size_t bytes) {
    double least = 0;
    for (int i = 0; i < 20; i++) {
        struct lee_pid *pid = spawn_holder(bytes / 1024, 1024 - sizeof(struct node), BESIDE);
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        lee_process_kill(pid);
        clock_gettime(CLOCK_MONOTONIC, &to);
        double took = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
        least = i == 0 || took < least ? took : least;
    }
    return least;
}

static void show_kills(void) {
    static const size_t sizes[] = {64 * KB, 1 * MB, 8 * MB};
    struct lee_pid *pids[BESIDE];
    for (int beside = 0; beside <= BESIDE; beside += BESIDE) {
        for (int i = 0; i < beside; i++)
            pids[i] = spawn_holder(MB / 1024, 1024 - sizeof(struct node), i);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            printf("to kill a process of %zu KB beside %d of 1 MB: %.1f us\n", sizes[i] / KB, beside, least_of_kills(sizes[i]));
        for (int i = 0; i < beside; i++)
            lee_process_kill(pids[i]);
    }
}

/* --- custodians that are sent ------------------------------------------------------------------ */

struct sent {
    struct lee_custodian *it, *same;
};

static void push_sent(struct lee_work *work, void *element) {
    struct sent *sent = element;
    lee_push_custodian(work, &sent->it);
    lee_push_custodian(work, &sent->same);
}

enum { HAND = 1, BACK, WORDS = BACK };
static const struct lee_owned sent_owned = {.size = sizeof(struct sent), .drop = push_sent, .names = 1};
static const struct lee_owned *const hand_owned[] = {&sent_owned, &sent_owned};
static const char *const hand_titles[] = {"Hand", "Back"};
static const struct lee_contract hand = {
    .name = "Hand", .places = {4, 4}, .bytes = sizeof(struct sent), .messages = WORDS, .titles = hand_titles, .owned = hand_owned};

static struct lee_endpoint *hand_ends[2];

/* One end for a process that is spawned, which finds it in its arguments. */
struct given_end {
    struct lee_endpoint *end;
    struct sent sent;
};

static void push_given_end(struct lee_work *work, void *element) {
    struct given_end *given = element;
    lee_push_endpoint(work, given->end);
    push_sent(work, &given->sent);
}
static const struct lee_owned given_end_owned = {.size = sizeof(struct given_end), .drop = push_given_end, .names = 1};

static struct lee_pid *spawn_with_end(int (*entry)(void *), struct lee_custodian *custodian) {
    lee_channel_make(NULL, &hand, hand_ends);
    struct given_end given = {hand_ends[1], {custodian, custodian}};
    return lee_process_spawn_with(NULL, entry, &given, sizeof given, &given_end_owned, false);
}

static size_t groups_below(const struct lee_group *top) {
    size_t count = 0;
    for (const struct lee_group *at = top->child; at != NULL; at = at->next)
        count += 1 + groups_below(at);
    return count;
}

/* All that nothing refers to is gone, which takes a collection for each custodian above another. */
static size_t groups_left(void) {
    for (int i = 0; i < 3; i++)
        lee_collect();
    return groups_below(lee_group_root());
}

/* Shows its own custodian, and one below it with a process. */
static int shows_own(void *arguments) {
    struct given_end *given = arguments;
    struct lee_custodian *own = lee_custodian_current(), *below = lee_custodian_new(own);
    spawn_in(below, wait_for_ever, NULL, 0);
    lee_channel_send(given->end, BACK, &(struct sent){own, below}, sizeof(struct sent));
    return wait_for_ever(arguments);
}

/* Sends that to an end of its own, which it does not receive from. */
static int waits_and_shows(void *arguments) {
    struct lee_endpoint *ends[2];
    struct lee_custodian *own = lee_custodian_current(), *below = lee_custodian_new(own);
    lee_channel_make(NULL, &hand, ends);
    lee_channel_send(ends[0], HAND, &(struct sent){own, below}, sizeof(struct sent));
    return wait_for_ever(arguments);
}

/* The first one names what its arguments did, the next one its own custodian, and the last one another. */
static int looks_at(void *arguments) {
    struct given_end *given = arguments;
    struct lee_custodian *it = given->sent.it, *own = lee_custodian_current();
    struct sent first = {0}, second = {0};
    if (it != given->sent.same || !it->remote || lee_custodian_is_shut(it) || it->group->names != 1)
        return 1;
    lee_channel_send(given->end, BACK, &(struct sent){own, it}, sizeof(struct sent));
    lee_channel_receive(NULL, given->end, HAND, &first, sizeof first);
    if (first.it != it || first.same != own)
        return 2;
    size_t before = lee_process_self()->uses[LEE_GROUP_BYTES];
    lee_channel_receive(NULL, given->end, HAND, &second, sizeof second);
    if (second.it == it || !second.it->remote || second.same != NULL)
        return 3;
    return lee_process_self()->uses[LEE_GROUP_BYTES] - before < sizeof(struct lee_group) ? 4 : 0;
}

/* Names are objects of the process that has them, the same one for the same custodian, and the
 * custodian itself where it was made. */
static void test_names(void) {
    struct lee_custodian *one = lee_custodian_new(NULL), *two = lee_custodian_new(NULL);
    struct sent sent = {one, two}, taken;
    lee_walk_parts(LEE_WALK_LEAVE, &sent, sizeof sent, &sent_owned);
    CHECK((void *)sent.it == one->group && one->group->names == 1);
    taken = sent;
    lee_walk_parts(LEE_WALK_NAME, &taken, sizeof taken, &sent_owned);
    CHECK(taken.it == one && taken.same == two);
    lee_walk_parts(LEE_WALK_UNNAME, &sent, sizeof sent, &sent_owned);
    CHECK(one->group->names == 0 && two->group->names == 0);
    struct lee_pid *pid = spawn_with_end(looks_at, one);
    struct sent theirs = {0};
    lee_channel_receive(NULL, hand_ends[0], BACK, &theirs, sizeof theirs);
    CHECK(theirs.it->remote && theirs.same == one);
    lee_channel_send(hand_ends[0], HAND, &(struct sent){one, theirs.it}, sizeof(struct sent));
    lee_channel_send(hand_ends[0], HAND, &(struct sent){two, NULL}, sizeof(struct sent));
    struct lee_process_end end = lee_process_wait(pid);
    CHECK(end.how == LEE_RETURNED && end.status == 0);
    CHECK(one->group->names == 0 && two->group->names == 0 && theirs.it->group->maker == NULL);
    lee_channel_close(hand_ends[0]);
}

/* What a process made that has ended can be ended, and spawned in, by its name only. */
static void test_maker_has_ended(void) {
    struct lee_pid *pid = spawn_with_end(shows_own, NULL);
    struct sent theirs = {0};
    lee_channel_receive(NULL, hand_ends[0], BACK, &theirs, sizeof theirs);
    CHECK(theirs.it->remote && theirs.same->remote && theirs.same->group->parent == theirs.it->group);
    CHECK(lee_custodian_charged(theirs.it) > 0 && lee_custodian_use(theirs.same) > 0 && !lee_custodian_is_shut(theirs.same));
    lee_custodian_limit_count(theirs.same, LEE_COUNT_PROCESSES, 100, NULL);
    lee_process_kill(pid);
    CHECK(theirs.it->group->maker == NULL && theirs.same->group->processes != NULL);
    struct lee_pid *late = spawn_in(theirs.it, wait_for_ever, NULL, 0);
    lee_custodian_shutdown(theirs.it);
    CHECK(lee_process_wait(late).how == LEE_LIMIT && lee_custodian_is_shut(theirs.same) && theirs.same->group->processes == NULL);
    CHECK(lee_process_wait(spawn_in(theirs.same, wait_for_ever, NULL, 0)).how == LEE_LIMIT);
    CHECK(lee_custodian_is_shut(lee_custodian_new(theirs.same)));
    lee_channel_close(hand_ends[0]);
}

/* Names that are on their way when who sent them, or is to get them, is killed. */
static void test_names_on_their_way(void) {
    struct lee_custodian *one = lee_custodian_new(NULL), *two = lee_custodian_new(NULL);
    struct sent both = {one, two};
    struct lee_pid *pid = spawn_with_end(looks_at, one);
    CHECK(one->group->names == 2);
    lee_task_yield();
    CHECK(one->group->names == 2); /* its object, and what it sent back */
    lee_channel_send(hand_ends[0], HAND, &both, sizeof both);
    CHECK(one->group->names >= 2);
    lee_process_kill(pid);
    CHECK(one->group->names == 1 && two->group->names == 0); /* what was sent back has arrived */
    lee_channel_send(hand_ends[0], HAND, &both, sizeof both);
    CHECK(one->group->names == 1 && two->group->names == 0); /* there is nothing that could receive it */
    lee_channel_close(hand_ends[0]);
    CHECK(one->group->names == 0);
    pid = spawn_with_end(looks_at, two);
    CHECK(two->group->names == 2);
    lee_process_kill(pid); /* it never began */
    CHECK(two->group->names == 0);
    lee_channel_close(hand_ends[0]);
    /* Killed after it sent: what is on its way arrives. */
    pid = spawn_with_end(shows_own, one);
    lee_task_yield();
    lee_process_kill(pid);
    CHECK(one->group->names == 0);
    struct sent theirs = {0};
    lee_channel_take(hand_ends[0], BACK, &theirs, sizeof theirs);
    CHECK(theirs.it->group->names == 1 && theirs.same->group->names == 1 && theirs.it->group->maker == NULL);
    lee_custodian_shutdown(theirs.same);
    lee_channel_close(hand_ends[0]);
    /* The same, and nothing receives it: but for what runs below, all is gone. */
    size_t groups = groups_below(lee_group_root());
    pid = spawn_in(one, waits_and_shows, NULL, 0);
    lee_task_yield();
    CHECK(groups_below(lee_group_root()) == groups + 2);
    lee_process_kill(pid);
    CHECK(groups_below(lee_group_root()) == groups);
}

static int hands_back(void *arguments) {
    struct given_end *given = arguments;
    for (;;) {
        struct sent sent = {0};
        lee_channel_receive(NULL, given->end, HAND, &sent, sizeof sent);
        if (sent.it == NULL)
            return 0;
        lee_channel_send(given->end, BACK, &sent, sizeof sent);
    }
}

/* A million custodians, the same one or always another. */
static void send_many(int count, bool same) {
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    struct lee_pid *pid = spawn_with_end(hands_back, NULL);
    size_t before = 0;
    for (int i = 0; i < count; i++) {
        struct sent back = {0};
        if (!same)
            custodian = lee_custodian_new(NULL);
        lee_channel_send(hand_ends[0], HAND, &(struct sent){custodian, NULL}, sizeof(struct sent));
        lee_channel_receive(NULL, hand_ends[0], BACK, &back, sizeof back);
        CHECK(back.it == custodian && back.same == NULL);
        if (i == count / 4)
            before = mallinfo2().uordblks;
    }
    if (shows)
        printf("%d %s: %zd bytes more of C's\n", count, same ? "times one" : "others", (ssize_t)(mallinfo2().uordblks - before));
    /* Those that wait for a collection. */
    CHECK((ssize_t)(mallinfo2().uordblks - before) < (same ? 64 << 10 : 16 << 20));
    lee_channel_send(hand_ends[0], HAND, &(struct sent){NULL, NULL}, sizeof(struct sent));
    CHECK(lee_process_wait(pid).how == LEE_RETURNED);
    lee_channel_close(hand_ends[0]);
}

static void test_sent_custodians(void) {
    size_t groups = groups_left();
    test_names();
    test_maker_has_ended();
    test_names_on_their_way();
    send_many(UNDER_ASAN ? 100000 : 1000000, true);
    send_many(UNDER_ASAN ? 20000 : 200000, false);
    size_t left = groups_left();
    if (shows)
        printf("groups: %zu, then %zu\n", groups, left);
    CHECK(left <= groups + 20); /* some may still lie on the stack */
}

int main(int count, char **arguments) {
    int many = count > 1 ? atoi(arguments[1]) : 1000;
    setvbuf(stdout, NULL, _IONBF, 0);
    shows = getenv("GROUP_TEST_SHOW") != NULL;
    test_shutdown();
    test_shutdown_of_oneself();
    test_addresses();
    test_fork_bomb();
    test_tasks();
    test_garbage();
    test_garbage_of_others();
    test_was_deep();
    test_sent();
    test_sent_sets();
    test_maker_ends();
    test_authority();
    test_victim();
    if (!lee_many) { /* they count slices of one worker */
        test_shares();
        test_alone();
        test_long_slices();
        test_kill_is_billed();
        test_wake_up();
    }
    test_limit("objects", 1, 16 * MB, keeps, 0);
    test_limit("blocks of 100 KB", 1, 16 * MB, keeps_bytes, 100 * KB);
    test_limit("blocks of 3 MB", 1, 16 * MB, keeps_bytes, 3 * MB);
    test_limit("custodians", 1, 1 * MB, makes_custodians, 0);
    test_limit("blocks of the exchange heap", 1, 16 * MB, keeps_exchanged, 1000);
    test_limit("large ones", 1, 16 * MB, keeps_exchanged, 300 * KB);
    test_limit("frozen blocks", 1, 16 * MB, keeps_frozen, 1000);
    test_limit("frozen blocks in messages", 1, 16 * MB, keeps_frozen, 5001);
    test_limit("an exchange arena", 1, 16 * MB, keeps_exchange_arenas, 1000);
    test_limit("exchange arenas in messages", 1, 16 * MB, keeps_exchange_arenas, 3001);
    test_limit("channels", 1, 16 * MB, keeps_channels, 0);
    test_limit("sets", 1, 16 * MB, keeps_channels, 1);
    test_gives_back();
    test_limit("objects", many, 64 * MB, keeps, 0);
    test_limit("deep stacks", many, 32 * MB, stays_deep, DEEP);
    test_limit("blocks of 5 KB", many, 64 * MB, keeps_bytes, 5 * KB);
    /* Last: what they give back is not measured above. */
    test_chain();
    test_chain_counts();
    test_own_custodians();
    test_chain_tasks();
    test_kill_beside();
    test_sent_custodians();
    if (shows)
        show_kills();
    if (!lee_many) {
        test_chain_shares();
        test_siblings();
    }
    return check_failures != 0;
}
