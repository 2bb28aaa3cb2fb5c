/* The exchange heap: blocks that own blocks, moving between processes, ends of processes, memory that is used again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lee/channel.h>
#include <lee/collect.h>
#include <lee/exchange.h>
#include <lee/exchange_cell.h>
#include <lee/frozen.h>
#include <lee/heap.h>
#include <lee/lee.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/address_table.h"
#include "../src/dispose.h"
#include "../src/process.h"
#include "../src/heap.h"
#include "../src/system.h"
#include "../src/units.h"
#include "../src/worker.h"
#include "cases.h"
#include "check.h"

struct packet {
    unsigned char *data;
    struct packet *next;
    uint64_t used, check;
};

static void drop_packet(struct lee_work *work, void *element) {
    struct packet *packet = element;
    lee_push_block(work, packet->data);
    lee_push_block(work, packet->next);
}

static const struct lee_owned packets = {sizeof(struct packet), drop_packet, 0, 0, NULL, 0, 0, 0};

static size_t blocks_of(const struct lee_process *process) {
    size_t count = 0;
    for (struct lee_exchange_links *at = process->blocks.next; at != &process->blocks; at = at->next) {
        if (at->next->previous != at)
            abort();
        count++;
    }
    return count;
}

static size_t blocks(void) {
    return blocks_of(lee_process_self());
}

static unsigned char byte_of(uint64_t seed, size_t i) {
    return (unsigned char)(seed * 31 + i * 7);
}

static unsigned char *bytes_of(size_t size, uint64_t seed) {
    unsigned char *data = lee_exchange_new_array(NULL, (int64_t)size, 1, 0, &lee_owned_plain);
    for (size_t i = 0; i < size; i++) {
        if (data[i] != 0)
            abort(); /* a block is zeroed */
        data[i] = byte_of(seed, i);
    }
    return data;
}

static bool holds(const unsigned char *data, uint64_t seed) {
    for (size_t i = 0; i < lee_exchange_size(data); i++) {
        if (data[i] != byte_of(seed, i))
            return false;
    }
    return true;
}

static struct packet *packet_of(size_t size, uint64_t seed, struct packet *next) {
    struct packet *packet = lee_exchange_new(NULL, sizeof *packet, &packets);
    packet->data = bytes_of(size, seed);
    packet->check = seed;
    packet->next = next;
    return packet;
}

/* --- in one process ---------------------------------------------------------------------------------------------------- */

static void test_sizes(void) {
    static const size_t sizes[] = {0, 1, 15, 16, 17, 100, 1000, 4096, 30000, 32719, 32720, 32721, 65535, 65536, 1 << 20, 3 << 20};
    for (int round = 0; round < 2; round++) {
        void *all[sizeof sizes / sizeof *sizes];
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            all[i] = bytes_of(sizes[i], i);
            CHECK((uintptr_t)all[i] % 16 == 0);
            CHECK(lee_exchange_size(all[i]) == sizes[i]);
        }
        CHECK(blocks() == sizeof sizes / sizeof *sizes);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            CHECK(holds(all[i], i));
            lee_exchange_free(all[i]);
        }
        CHECK(blocks() == 0);
    }
    CHECK(lee_exchange_try_new(SIZE_MAX, &lee_owned_plain) == NULL);
    CHECK(lee_exchange_try_new(SIZE_MAX - 16, &lee_owned_plain) == NULL);
    CHECK(lee_exchange_try_new_array(-1, 1, 0, &lee_owned_plain) == NULL);
    CHECK(lee_exchange_try_new_array(INT64_MAX, 16, 0, &lee_owned_plain) == NULL);
    CHECK(lee_exchange_try_new_array(INT64_MAX, 2, 0, &lee_owned_plain) == NULL);
    CHECK(blocks() == 0);
    lee_exchange_free(NULL);
}

/* A list as long as no stack is deep; freed, given and taken as one. */
static void test_depth(void) {
    enum { LONG = 200000 };
    for (int round = 0; round < 2; round++) {
        struct packet *list = NULL;
        for (uint64_t i = 0; i < LONG; i++)
            list = packet_of(i % 9, i, list);
        CHECK(blocks() == 2 * LONG);
        lee_exchange_give(list);
        CHECK(blocks() == 0);
        if (round == 1) {
            lee_exchange_take(list);
            CHECK(blocks() == 2 * LONG);
        }
        lee_exchange_free(list);
        CHECK(blocks() == 0);
    }
}

/* An array of elements that own. */
static void test_array(void) {
    struct packet *array = lee_exchange_new_array(NULL, 100, sizeof *array, 0, &packets);
    for (uint64_t i = 0; i < 100; i += 3)
        array[i].data = bytes_of(i, i);
    CHECK(blocks() == 35);
    lee_exchange_give(array);
    CHECK(blocks() == 0);
    lee_exchange_take(array);
    CHECK(blocks() == 35);
    for (uint64_t i = 0; i < 100; i += 3)
        CHECK(holds(array[i].data, i));
    lee_exchange_free(array);
    CHECK(blocks() == 0);
}

/* A struct of arguments, given and taken by its parts; what nobody takes. */
static void test_parts(void) {
    struct packet arguments[2] = {{.data = bytes_of(10, 1)}, {.next = packet_of(20, 2, NULL)}};
    lee_walk_parts(LEE_WALK_LEAVE, arguments, sizeof arguments, &packets);
    CHECK(blocks() == 0);
    lee_walk_parts(LEE_WALK_ARRIVE, arguments, sizeof arguments, &packets);
    CHECK(blocks() == 3);
    lee_walk_parts(LEE_WALK_LEAVE, arguments, sizeof arguments, &packets);
    lee_dispose_parts(arguments, sizeof arguments, &packets);
    CHECK(blocks() == 0);
}

/* The collector does not see blocks: neither does it free them, nor does what lies in them keep an object alive. */
static void test_collector(void) {
    void **block = lee_exchange_new(NULL, 1024, &lee_owned_plain);
    for (size_t i = 0; i < 128; i++)
        block[i] = lee_heap_alloc_plain(NULL, 4096);
    for (int i = 0; i < 3; i++) {
        lee_collect();
        for (size_t n = 0; n < 1000; n++)
            *(volatile char *)lee_heap_alloc_plain(NULL, 100) = 1;
    }
    CHECK(lee_heap_self()->counts.live_bytes < 128 * 4096);
    memset(block, 7, 1024);
    lee_collect();
    CHECK(((unsigned char *)block)[1023] == 7);
    lee_exchange_free(block);
}

/* --- between processes --------------------------------------------------------------------------------------------------- */

enum { PUT = 1, BACK };
static const struct lee_contract puts_ = {.name = "Puts", .places = {4, 4}, .bytes = 8, .messages = 2};

static void send_packet(struct lee_endpoint *end, int32_t message, struct packet *packet) {
    lee_exchange_give(packet);
    lee_channel_send(end, message, &packet, sizeof packet);
}

static struct packet *receive_packet(struct lee_endpoint *end, int32_t message) {
    struct packet *packet;
    lee_channel_receive(NULL, end, message, &packet, sizeof packet);
    lee_exchange_take(packet);
    return packet;
}

/* Frees every third packet and makes it anew, and keeps some for itself. */
static int works(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    CASES(cases, 2, false, {PUT, 0}, {LEE_CLOSED, 0});
    uint64_t count = 0;
    while (lee_channel_select(NULL, &end, 1, &cases) == 0) {
        struct packet *packet = receive_packet(end, PUT);
        uint64_t seed = packet->check;
        CHECK(holds(packet->data, seed));
        if (++count % 3 == 0) {
            lee_exchange_free(packet);
            packet = packet_of(random_number() % 200, seed, NULL);
        }
        if (count % 50 == 0)
            packet_of(77, seed, NULL); /* lost, as by a process that faults */
        send_packet(end, BACK, packet);
    }
    return (int)blocks();
}

static void push_end(struct lee_work *work, void *element) {
    lee_push_endpoint(work, *(struct lee_endpoint **)element);
}

static struct lee_pid *spawn_with(int (*entry)(void *), struct lee_endpoint *end) {
    static const struct lee_owned handed = {.size = sizeof end, .drop = push_end};
    return lee_process_spawn_with(NULL, entry, &end, sizeof end, &handed, false);
}

static void test_processes(uint64_t rounds) {
    enum { PROCESSES = 3 };
    struct lee_endpoint *ends[PROCESSES];
    struct lee_pid *pids[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        struct lee_endpoint *pair[2];
        lee_channel_make(NULL, &puts_, pair);
        ends[i] = pair[LEE_IMPORTER];
        pids[i] = spawn_with(works, pair[LEE_EXPORTER]);
    }
    for (uint64_t i = 0; i < rounds; i++) {
        struct lee_endpoint *end = ends[i % PROCESSES];
        struct packet *packet = NULL;
        for (uint64_t n = random_number() % 4; n < 4; n++)
            packet = packet_of(random_number() % 300, i, packet);
        send_packet(end, PUT, packet);
        packet = receive_packet(end, BACK);
        for (struct packet *at = packet; at != NULL; at = at->next)
            CHECK(at->check == i && holds(at->data, i));
        lee_exchange_free(packet);
    }
    CHECK(blocks() == 0);
    for (int i = 0; i < PROCESSES; i++) {
        lee_channel_close(ends[i]);
        CHECK(lee_process_wait(pids[i]).status > 0 || rounds < 150);
    }
}

/* A process that is killed with blocks, and ends whose messages nobody takes. */
static int holds_many(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    struct packet *list = NULL;
    for (uint64_t i = 0; i < 1000; i++) {
        list = packet_of(i, i, list);
        if (i % 10 == 0)
            list->next = (struct packet *)(uintptr_t)0x1234568; /* half exposed: the end of a process does not follow it */
    }
    lee_channel_send(end, BACK, NULL, 0);
    while (lee_channel_head(end) != LEE_CLOSED)
        lee_task_yield();
    return 0;
}

static void test_kill(void) {
    size_t before = 0;
    for (int round = 0; round < 60; round++) {
        struct lee_endpoint *pair[2];
        lee_channel_make(NULL, &puts_, pair);
        struct lee_pid *pid = spawn_with(holds_many, pair[LEE_EXPORTER]);
        lee_channel_receive(NULL, pair[LEE_IMPORTER], BACK, NULL, 0);
        lee_process_kill(pid);
        CHECK(lee_process_wait(pid).how == LEE_KILLED);
        lee_channel_close(pair[LEE_IMPORTER]);
        if (round == 20)
            before = lee_memory_charged();
    }
    CHECK(lee_memory_charged() <= before + (1 << 20));
}

/* --- arenas, frozen blocks, cells ------------------------------------------------------------------------------------------ */

struct linked {
    struct linked *next;
    uint64_t number, more[60];
};
struct bag {
    struct lee_arena *key;
    struct linked *first;
    const uint64_t *frozen;
};

static void push_bag(struct lee_work *work, void *element) {
    struct bag *bag = element;
    lee_push_key(work, bag->key, LEE_KEY_EXCHANGE);
    lee_push_frozen(work, bag->frozen);
}

static const struct lee_owned bags = {.size = sizeof(struct bag), .drop = push_bag};
static const struct lee_owned *const bags_owned[] = {&bags, &bags};
static const struct lee_contract moves = {
    .name = "Moves", .places = {1, 1}, .bytes = sizeof(struct bag), .messages = 2, .owned = bags_owned};

static void add(struct bag *bag, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        struct linked *linked = lee_arena_alloc(NULL, bag->key, sizeof *linked, 8);
        linked->next = bag->first;
        linked->number = bag->first == NULL ? 1 : bag->first->number + 1;
        bag->first = linked;
    }
}

static bool is_whole(const struct bag *bag) {
    for (const struct linked *at = bag->first; at != NULL; at = at->next) {
        if (at->number != (at->next == NULL ? 1 : at->next->number + 1))
            return false;
    }
    return true;
}

static int adds(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    struct bag bag, mine = {lee_exchange_key_new(NULL), NULL, NULL};
    for (;;) {
        add(&mine, 3);
        lee_channel_receive(NULL, end, PUT, &bag, sizeof bag);
        if (!is_whole(&bag))
            return 1;
        add(&bag, bag.first->number % 7);
        lee_channel_send(end, BACK, &bag, sizeof bag);
    }
}

static int ends_at_once(void *argument) {
    (void)argument;
    return 0;
}

/* Bags go there and back, and are lost in every place that they can be in. */
static void test_arenas(int rounds) {
    size_t before = 0;
    uint64_t *block = lee_exchange_new(NULL, 4000, &lee_owned_plain);
    block[0] = 77;
    const uint64_t *frozen = lee_exchange_freeze(block);
    for (int round = 0; round < rounds; round++) {
        struct lee_endpoint *pair[2];
        lee_channel_make(NULL, &moves, pair);
        struct lee_pid *pid = spawn_with(adds, pair[LEE_EXPORTER]);
        struct bag bag = {lee_exchange_key_new(NULL), NULL, lee_frozen_retain(frozen)};
        add(&bag, 1 + random_number() % 50);
        for (uint64_t n = random_number() % 4; n > 0; n--) {
            lee_channel_send(pair[LEE_IMPORTER], PUT, &bag, sizeof bag);
            lee_channel_receive(NULL, pair[LEE_IMPORTER], BACK, &bag, sizeof bag);
            CHECK(is_whole(&bag) && bag.frozen[0] == 77);
            add(&bag, 2);
        }
        switch (random_number() % 4) {
        case 0: /* on its way there */
            lee_channel_send(pair[LEE_IMPORTER], PUT, &bag, sizeof bag);
            break;
        case 1: /* on its way back */
            lee_channel_send(pair[LEE_IMPORTER], PUT, &bag, sizeof bag);
            lee_task_yield();
            break;
        case 2: /* with a process that never begins */
            lee_process_kill(lee_process_spawn_with(NULL, ends_at_once, &bag, sizeof bag, &bags, true));
            break;
        case 3:
            lee_frozen_release(bag.frozen);
            lee_key_free(bag.key);
            break;
        }
        if (round % 2 == 0)
            lee_process_kill(pid);
        lee_channel_close(pair[LEE_IMPORTER]);
        lee_process_kill(pid);
        if (round == rounds / 2)
            before = lee_memory_charged();
    }
    CHECK(lee_memory_charged() <= before + (1 << 20));
    CHECK(lee_process_self()->arenas.exchange == NULL && frozen[0] == 77);
    lee_frozen_release(frozen);
    CHECK(blocks() == 0);
}

/* A table of what is held, against what was done. */
static void test_frozen(int rounds) {
    enum { BLOCKS = 200 };
    static const uint64_t *held[BLOCKS];
    static int counts[BLOCKS];
    for (int i = 0; i < rounds; i++) {
        unsigned n = (unsigned)(random_number() % BLOCKS);
        if (counts[n] == 0) {
            uint64_t *block = lee_exchange_new(NULL, 8 + random_number() % 500, &lee_owned_plain);
            *block = n;
            held[n] = lee_exchange_freeze(block);
            counts[n] = 1;
        } else if (random_number() % 2 == 0) {
            CHECK(lee_frozen_retain(held[n]) == held[n]);
            counts[n]++;
        } else {
            lee_frozen_release(held[n]);
            counts[n]--;
        }
        CHECK(counts[n] == 0 || *held[n] == n);
    }
    for (int n = 0; n < BLOCKS; n++) {
        for (; counts[n] > 0; counts[n]--)
            lee_frozen_release(held[n]);
    }
    lee_frozen_end(lee_process_self());
}

/* --- frozen blocks that hold frozen ones --- */

struct link {
    const struct link *next;
    uint64_t number;
};

static void push_link(struct lee_work *work, void *element) {
    lee_push_frozen(work, ((struct link *)element)->next);
}
static const struct lee_owned links = {.size = sizeof(struct link), .drop = push_link};

static size_t holders(const void *frozen) {
    return *(const size_t *)(const void *)&((const struct lee_exchange_block *)frozen - 1)->links.next;
}

static const struct link *chain(const struct link *next, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) {
        /* Every third is an array, whose second element holds nothing. */
        struct link *link = lee_exchange_new_array(NULL, i % 3 == 0 ? 2 : 1, sizeof *link, 0, &links);
        link[0] = (struct link){next, i};
        if (i % 3 == 0)
            link[1] = (struct link){NULL, i};
        next = lee_exchange_freeze(link);
    }
    return next;
}

/* A chain ends link by link, and as far as no other holds it; what is left of it is not the
 * process's own but through its holder. */
static void test_chains(void) {
    enum { LENGTH = 50000 };
    size_t before = 0;
    for (int round = 0; round < 6; round++) {
        const struct link *base = chain(NULL, LENGTH), *first, *second;
        CHECK(lee_process_self()->frozen->used == 1 && blocks() == 0);
        first = chain(lee_frozen_retain(base), LENGTH);
        second = chain(lee_frozen_retain(base), 1);
        CHECK(lee_process_self()->frozen->used == 3 && holders(base) == 3);
        lee_frozen_release(first);
        lee_frozen_release(base);
        CHECK(holders(base) == 1 && second->next == base && base->next->number == LENGTH - 2);
        if (round % 2 == 0) {
            lee_frozen_release(second);
        } else {
            lee_frozen_end(lee_process_self());
        }
        CHECK(lee_process_self()->frozen == NULL || lee_process_self()->frozen->used == 0);
        if (round == 2)
            before = lee_memory_charged();
    }
    CHECK(lee_memory_charged() <= before + (1 << 16));
}

/* A message whose frozen block cannot be noted is released, with what else is in it, and its
 * receiver ends. */
static int has_no_memory(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    struct bag bag;
    lee_channel_receive(NULL, end, PUT, &bag, sizeof bag);
    return 0;
}

static void test_unnoted(void) {
    const struct link *frozen = chain(NULL, 3);
    for (int round = 0; round < 2; round++) {
        struct lee_endpoint *pair[2];
        lee_channel_make(NULL, &moves, pair);
        struct lee_pid *pid = spawn_with(has_no_memory, pair[LEE_EXPORTER]);
        lee_task_yield();
        struct bag bag = {lee_exchange_key_new(NULL), NULL, lee_frozen_retain(frozen)};
        lee_channel_send(pair[LEE_IMPORTER], PUT, &bag, sizeof bag);
        lee_system_fail(round == 0, false);
        struct lee_process_end end = lee_process_wait(pid);
        lee_system_fail(0, false);
        CHECK(end.how == (round == 0 ? LEE_FAULTED : LEE_RETURNED) && holders(frozen) == 1);
        lee_channel_close(pair[LEE_IMPORTER]);
    }
    lee_frozen_release(frozen);
    CHECK(lee_process_self()->arenas.exchange == NULL);
}

static struct lee_exchange_cell *shared;
static void *taken;

static void takes_one(void *argument) {
    (void)argument;
    taken = lee_exchange_cell_take(shared);
}

static __attribute__((noinline)) void lose_cells(void) {
    for (int i = 0; i < 1000; i++)
        lee_exchange_cell_new(lee_exchange_new(NULL, 100, &lee_owned_plain));
}

static void test_cells(void) {
    shared = lee_exchange_cell_new(NULL);
    CHECK(lee_exchange_cell_try_take(shared) == NULL);
    void *task = lee_task_start(NULL, takes_one, NULL, 0);
    lee_task_yield();
    void *block = lee_exchange_new(NULL, 8, &lee_owned_plain);
    lee_exchange_cell_put(shared, block);
    lee_task_join(task);
    CHECK(taken == block && lee_exchange_cell_try_take(shared) == NULL);
    lee_exchange_free(block);
    lose_cells();
    for (int i = 0; i < 3; i++)
        lee_collect();
    CHECK(blocks() < 100); /* a word on the stack may keep one */
}

static void takes_and_waits(void *argument) {
    (void)argument;
    for (int i = 0; i < 3; i++)
        taken = lee_exchange_cell_take(shared);
    for (;;)
        lee_task_yield();
}

static void takes_and_returns(void *argument) {
    (void)argument;
    taken = lee_exchange_cell_try_take(shared);
}

static void start_below(struct lee_custodian *custodian, void (*entry)(void *)) {
    struct lee_custodian *before = lee_custodian_enter(custodian);
    lee_task_start(NULL, entry, NULL, 0);
    lee_custodian_enter(before);
    lee_task_yield();
}

static void take_poisoned(void *argument) {
    (void)argument;
    lee_start(0, NULL);
    shared = lee_exchange_cell_new(lee_exchange_new(NULL, 8, &lee_owned_plain));
    struct lee_custodian *below = lee_custodian_new(NULL);
    start_below(below, takes_and_waits); /* waits for a second one */
    lee_task_start(NULL, takes_one, NULL, 0);
    lee_task_yield();
    lee_custodian_shutdown(below); /* wakes the other */
    for (;;)
        lee_task_yield();
}

/* What a task that is shut down took is lost, and the cell says so until it is filled. */
static void test_poison(void) {
    void *block = lee_exchange_new(NULL, 8, &lee_owned_plain);
    struct lee_custodian *below = lee_custodian_new(NULL), *other = lee_custodian_new(NULL);
    shared = lee_exchange_cell_new(block);
    start_below(below, takes_and_returns);
    lee_custodian_shutdown(below); /* that task has returned: the block may be anywhere */
    CHECK(taken == block && lee_exchange_cell_try_take(shared) == NULL);
    start_below(other, takes_and_waits);
    lee_exchange_cell_put(shared, block);
    lee_task_yield();
    CHECK(taken == block);
    lee_exchange_cell_put(shared, block); /* the same task takes it again, and waits */
    lee_task_yield();
    lee_custodian_shutdown(other);
    CHECK(lee_exchange_cell_is_poisoned(shared));
    lee_exchange_cell_put(shared, block);
    CHECK(!lee_exchange_cell_is_poisoned(shared) && lee_exchange_cell_try_take(shared) == block);
    lee_exchange_free(block);
    struct child child;
    run_child(&child, take_poisoned, NULL);
    CHECK(child.status == 134);
    check_holds("poisoned", child.output, "cell: the task that took what was in it was shut down");
}

static void no_memory(void *argument) {
    (void)argument;
    lee_start(0, NULL);
    for (;;)
        lee_exchange_new(NULL, 1 << 20, &lee_owned_plain);
}

static void test_faults(void) {
    struct child child;
    setenv("LEE_MEMORY", "64M", 1);
    run_child(&child, no_memory, NULL);
    unsetenv("LEE_MEMORY");
    CHECK(child.status == 134);
    check_holds("no memory", child.output, "out of memory");
}

static double since(const struct timespec *before) {
    struct timespec after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    return (double)(after.tv_sec - before->tv_sec) * 1e9 + (double)(after.tv_nsec - before->tv_nsec);
}

/* EXCHANGE_TEST_SHOW=1: nanoseconds of processor time. */
static void show(void) {
    enum { ROUNDS = 20000000, LIVE = 256 };
    static void *live[LIVE];
    struct timespec before;
    for (int kind = 0; kind < 4; kind++) {
        memset(live, 0, sizeof live);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
        for (int i = 0; i < ROUNDS; i++) {
            void **place = &live[kind % 2 == 0 ? 0 : (unsigned)i * 2654435761u >> 24];
            if (kind < 2) {
                lee_exchange_free(*place);
                *place = lee_exchange_new(NULL, 64, &lee_owned_plain);
            } else {
                free(*place);
                *place = calloc(1, 64);
            }
            __asm__ volatile("" ::"r"(*place) : "memory");
        }
        printf("%s of 64 bytes, %d live: %.1f ns\n", kind < 2 ? "exchange heap: free and allocate" : "free and calloc", kind % 2 == 0 ? 1 : LIVE,
               since(&before) / ROUNDS);
        for (int i = 0; i < LIVE; i++) {
            if (kind < 2)
                lee_exchange_free(live[i]);
            else
                free(live[i]);
        }
    }
}

int main(int argc, char **argv) {
    lee_start(0, NULL);
    test_faults();
    test_sizes();
    test_depth();
    test_array();
    test_parts();
    test_collector();
    test_processes(argc > 1 ? strtoul(argv[1], NULL, 10) : 20000);
    test_kill();
    test_arenas(argc > 1 ? 20000 : 10000);
    test_frozen(200000);
    test_chains();
    if (!lee_many)
        test_unnoted();
    CHECK(blocks() == 0);
    test_cells();
    test_poison();
    CHECK(lee_heap_validate(lee_heap_self()) == NULL);
    if (getenv("EXCHANGE_TEST_SHOW") != NULL)
        show();
    return check_end();
}
