/* Channels: order, waiting, closing, and what ends of processes do to them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lee/channel.h>
#include <lee/heap.h>
#include <lee/lee.h>
#include <lee/owned.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/process.h"
#include "../src/reactor.h"
#include "../src/worker.h"
#include "cases.h"
#include "check.h"

enum { PING = 1, PONG, NUMBER };

static const char *const titles[] = {"Ping", "Pong", "Number"};
static const struct lee_contract pings = {.name = "Pings", .places = {1, 1}, .bytes = 8, .messages = 3, .titles = titles};
static const struct lee_contract numbers = {.name = "Numbers", .places = {64, 3}, .bytes = 24, .messages = 3, .titles = titles};

static void push_end(struct lee_work *work, void *element) {
    lee_push_endpoint(work, *(struct lee_endpoint **)element);
}
static const struct lee_owned handed_ends = {.size = sizeof(struct lee_endpoint *), .drop = push_end};

static struct lee_pid *spawn_with(int (*entry)(void *), struct lee_endpoint *end) {
    return lee_process_spawn_with(NULL, entry, &end, sizeof end, &handed_ends, false);
}

static int answers(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    CASES(cases, 2, false, {PING, 0}, {LEE_CLOSED, 0});
    int64_t n;
    int count = 0;
    while (lee_channel_select(NULL, &end, 1, &cases) == 0) {
        lee_channel_take(end, PING, &n, sizeof n);
        n++;
        lee_channel_send(end, PONG, &n, sizeof n);
        count++;
    }
    lee_channel_close(end);
    return count;
}

static void test_ping_pong(int rounds) {
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &pings, ends);
    struct lee_pid *pid = spawn_with(answers, ends[LEE_EXPORTER]);
    int64_t wrong = 0;
    struct timespec before, after;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    for (int64_t i = 0, n; i < rounds; i++) {
        lee_channel_send(ends[LEE_IMPORTER], PING, &i, sizeof i);
        lee_channel_receive(NULL, ends[LEE_IMPORTER], PONG, &n, sizeof n);
        wrong += n != i + 1;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    CHECK(wrong == 0);
    lee_channel_close(ends[LEE_IMPORTER]);
    CHECK(lee_process_wait(pid).status == rounds);
    if (getenv("CHANNEL_TEST_SHOW") != NULL)
        printf("round trip: %.1f ns\n", ((double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec)) / rounds);
}

/* What was sent is received, in order, though the sender has ended. */
struct three {
    int64_t a, b, c;
};

static int sends_and_ends(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    for (int64_t i = 0; i < 64; i++) {
        struct three three = {i, 2 * i, 3 * i};
        lee_channel_send(end, NUMBER, &three, i % 2 == 0 ? sizeof three : sizeof three.a);
    }
    return 0; /* its end closes the channel */
}

static void test_order(void) {
    for (int round = 0; round < 50; round++) {
        struct lee_endpoint *ends[2];
        lee_channel_make(NULL, &numbers, ends);
        struct lee_pid *pid = spawn_with(sends_and_ends, ends[LEE_EXPORTER]);
        if (round % 2 == 0)
            lee_process_wait(pid);
        for (int64_t i = 0; i < 64; i++) {
            struct three three = {-1, 2 * i, 3 * i};
            lee_channel_receive(NULL, ends[LEE_IMPORTER], NUMBER, &three, i % 2 == 0 ? sizeof three : sizeof three.a);
            CHECK(three.a == i && three.b == 2 * i && three.c == 3 * i);
        }
        lee_process_wait(pid);
        CHECK(lee_channel_head(ends[LEE_IMPORTER]) == LEE_CLOSED);
        lee_channel_send(ends[LEE_IMPORTER], NUMBER, NULL, 0); /* to nobody */
        lee_channel_close(ends[LEE_IMPORTER]);
    }
}

/* A select that ends by the time, and one that a message ends before; whoever is killed meanwhile leaves no timer behind. */
static int sends_later(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    CASES(cases, 1, false, {PING, 0});
    int64_t n = 7;
    CHECK(lee_channel_select_for(NULL, &end, 1, &cases, 5) == 1);
    lee_channel_send(end, PONG, &n, sizeof n);
    return lee_channel_select_for(NULL, &end, 1, &cases, 1000000000);
}

static void test_times(void) {
    struct lee_endpoint *ends[2];
    CASES(cases, 1, false, {PONG, 0});
    int64_t n = 0;
    lee_channel_make(NULL, &pings, ends);
    CHECK(lee_channel_select_for(NULL, &ends[LEE_IMPORTER], 1, &cases, 0) == 1);
    CHECK(lee_channel_select_for(NULL, &ends[LEE_IMPORTER], 1, &cases, -1) == 1);
    struct lee_pid *pid = spawn_with(sends_later, ends[LEE_EXPORTER]);
    CHECK(lee_channel_select_for(NULL, &ends[LEE_IMPORTER], 1, &cases, INT64_MAX) == 0);
    lee_channel_take(ends[LEE_IMPORTER], PONG, &n, sizeof n);
    CHECK(n == 7);
    do
        lee_task_yield();
    while (lee_many && !lee_reactor_has_waits()); /* it runs on another worker, perhaps */
    CHECK(lee_reactor_has_waits());
    lee_process_kill(pid);
    CHECK(!lee_reactor_has_waits());
    lee_channel_close(ends[LEE_IMPORTER]);
}

/* A place is free again when its message was taken. */
static void test_places(void) {
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &numbers, ends);
    uint32_t sent = 0, received = 0, seed = 1;
    while (received < 5000) {
        seed = seed * 1664525 + 1013904223;
        bool room = sent - received < 3;
        if (room && (seed >> 16 & 1) != 0) {
            lee_channel_send(ends[LEE_IMPORTER], (int32_t)(sent % 3 + 1), &sent, sizeof sent);
            sent++;
        } else if (sent > received) {
            uint32_t n;
            CHECK(lee_channel_head(ends[LEE_EXPORTER]) == (int32_t)(received % 3 + 1));
            lee_channel_take(ends[LEE_EXPORTER], (int32_t)(received % 3 + 1), &n, sizeof n);
            CHECK(n == received);
            received++;
        }
    }
    CHECK(sent > received || lee_channel_head(ends[LEE_EXPORTER]) == LEE_EMPTY);
    lee_channel_close(ends[LEE_IMPORTER]);
    lee_channel_close(ends[LEE_EXPORTER]);
}

/* Both messages at once, a closed end, and what can never come. */
static int sends_one(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    int64_t n = 5;
    lee_task_yield();
    lee_channel_send(end, PING, &n, sizeof n);
    lee_task_yield();
    return 0;
}

static void test_select(void) {
    struct lee_endpoint *a[2], *b[2], *ends[2];
    lee_channel_make(NULL, &pings, a);
    lee_channel_make(NULL, &pings, b);
    ends[0] = a[LEE_IMPORTER];
    ends[1] = b[LEE_IMPORTER];
    spawn_with(sends_one, a[LEE_EXPORTER]);
    spawn_with(sends_one, b[LEE_EXPORTER]);
    CASES(both, 3, false, {PONG, 0}, {PING, 0}, {PING, 1 | LEE_AND}, {LEE_CLOSED, 0}, {LEE_CLOSED, 1 | LEE_AND});
    CASES(fewer, 2, true, {PONG, 0}, {PING, 0}, {PING, 1 | LEE_AND});
    CHECK(lee_channel_select(NULL, ends, 2, &both) == 1);
    int64_t n = 0;
    lee_channel_take(ends[0], PING, &n, sizeof n);
    lee_channel_take(ends[1], PING, &n, sizeof n);
    CHECK(n == 5);
    CHECK(lee_channel_select(NULL, ends, 2, &both) == 2);
    CHECK(lee_channel_select(NULL, ends, 2, &fewer) == -1);
    lee_channel_close(ends[0]);
    lee_channel_close(ends[1]);
}

/* A server that is killed with many clients' ends, some of which wait. */
static int holds_ends(void *argument) {
    struct lee_endpoint *control = *(struct lee_endpoint **)argument;
    for (int i = 0; i < 10000; i++) {
        struct lee_endpoint *ends[2];
        lee_channel_make(NULL, &pings, ends);
    }
    lee_channel_send(control, PING, NULL, 0);
    while (lee_channel_head(control) != LEE_CLOSED)
        lee_task_yield();
    return 0;
}

static int waits(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    CASES(cases, 2, false, {PING, 0}, {LEE_CLOSED, 0});
    return lee_channel_select(NULL, &end, 1, &cases);
}

static void test_kill(void) {
    for (int round = 0; round < 5; round++) {
        struct lee_endpoint *control[2], *ends[2];
        lee_channel_make(NULL, &pings, control);
        lee_channel_make(NULL, &pings, ends);
        struct lee_endpoint *given[] = {control[LEE_EXPORTER], ends[LEE_EXPORTER]};
        struct lee_pid *server = lee_process_spawn_with(NULL, holds_ends, given, sizeof given, &handed_ends, false);
        struct lee_pid *client = spawn_with(waits, ends[LEE_IMPORTER]);
        lee_channel_receive(NULL, control[LEE_IMPORTER], PING, NULL, 0);
        lee_channel_send(control[LEE_IMPORTER], PING, NULL, 0); /* on its way in both directions */
        lee_process_kill(server);
        CHECK(lee_process_wait(server).how == LEE_KILLED);
        CHECK(lee_process_wait(client).status == 1); /* it saw the end closed */
        CHECK(lee_channel_head(control[LEE_IMPORTER]) == LEE_CLOSED);
        lee_channel_close(control[LEE_IMPORTER]);
    }
    /* The one that is killed waits itself, for two ends. */
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &pings, ends);
    struct lee_pid *pid = spawn_with(waits, ends[LEE_IMPORTER]);
    lee_task_yield();
    lee_process_kill(pid);
    lee_channel_send(ends[LEE_EXPORTER], PING, NULL, 0);
    lee_channel_close(ends[LEE_EXPORTER]);
    /* An end given to one that is killed before it runs is closed. */
    lee_channel_make(NULL, &pings, ends);
    lee_process_kill(spawn_with(waits, ends[LEE_IMPORTER]));
    CHECK(lee_channel_head(ends[LEE_EXPORTER]) == LEE_CLOSED);
    lee_channel_close(ends[LEE_EXPORTER]);
}

/* Messages that carry ends of other channels. */
struct carried {
    struct lee_endpoint *end;
    int64_t n;
};

static void drop_carried(struct lee_work *work, void *element) {
    lee_push_endpoint(work, ((struct carried *)element)->end);
}

static const struct lee_owned carried_owned = {sizeof(struct carried), drop_carried, 0, 0, NULL, 0, 0, 0};
static const struct lee_owned *const carriers_owned[] = {NULL, &carried_owned};
static const char *const carrier_titles[] = {"Plain", "Carry"};
static const struct lee_contract carriers = {"Carriers", {8, 8}, sizeof(struct carried), 2, carrier_titles, carriers_owned, false, NULL, 0};
enum { PLAIN = 1, CARRY };

static void carry(struct lee_endpoint *over, struct lee_endpoint *end) {
    struct carried carried = {end, 7};
    lee_channel_send(over, CARRY, &carried, sizeof carried);
}

/* Answers on the end that it is sent. */
static int answers_on(void *argument) {
    struct carried carried;
    lee_channel_receive(NULL, *(struct lee_endpoint **)argument, CARRY, &carried, sizeof carried);
    lee_channel_send(carried.end, PING, &carried.n, sizeof carried.n);
    return 0; /* its end of either closes */
}

/* Is sent one that it never receives. */
static int never_receives(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    lee_channel_send(end, PLAIN, NULL, 0);
    lee_task_yield();
    return 0;
}

/* Sends one, and is gone before it is received. */
static int sends_end(void *argument) {
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &pings, ends);
    carry(*(struct lee_endpoint **)argument, ends[LEE_EXPORTER]);
    return 0;
}

static void test_carried(void) {
    struct lee_endpoint *over[2], *ends[2];
    int64_t n = 0;
    struct carried carried;
    for (int round = 0; round < 3; round++) {
        lee_channel_make(NULL, &carriers, over);
        lee_channel_make(NULL, &pings, ends);
        spawn_with(answers_on, over[LEE_EXPORTER]);
        carry(over[LEE_IMPORTER], ends[LEE_EXPORTER]);
        lee_channel_receive(NULL, ends[LEE_IMPORTER], PING, &n, sizeof n);
        CHECK(n == 7);
        CASES(closed, 1, false, {LEE_CLOSED, 0});
        CHECK(lee_channel_select(NULL, &ends[LEE_IMPORTER], 1, &closed) == 0);
        lee_channel_close(ends[LEE_IMPORTER]);
        lee_channel_close(over[LEE_IMPORTER]);

        /* What nobody receives is closed: with the end that it was sent to, also by the end of its process; and at once if that is closed. */
        lee_channel_make(NULL, &carriers, over);
        lee_channel_make(NULL, &pings, ends);
        spawn_with(never_receives, over[LEE_EXPORTER]);
        lee_channel_receive(NULL, over[LEE_IMPORTER], PLAIN, NULL, 0);
        carry(over[LEE_IMPORTER], ends[LEE_EXPORTER]);
        CHECK(lee_many || lee_channel_head(ends[LEE_IMPORTER]) == LEE_EMPTY);
        CHECK(lee_channel_select(NULL, &ends[LEE_IMPORTER], 1, &closed) == 0);
        lee_channel_close(ends[LEE_IMPORTER]);
        lee_channel_make(NULL, &pings, ends);
        carry(over[LEE_IMPORTER], ends[LEE_EXPORTER]);
        CHECK(lee_channel_head(ends[LEE_IMPORTER]) == LEE_CLOSED);
        lee_channel_close(ends[LEE_IMPORTER]);
        lee_channel_close(over[LEE_IMPORTER]);

        /* It belongs to nobody on its way: its sender's end does not close it. */
        lee_channel_make(NULL, &carriers, over);
        lee_process_wait(spawn_with(sends_end, over[LEE_EXPORTER]));
        lee_channel_receive(NULL, over[LEE_IMPORTER], CARRY, &carried, sizeof carried);
        CHECK(lee_channel_head(carried.end) == LEE_CLOSED); /* the other one was its sender's */
        lee_channel_close(carried.end);
        lee_channel_close(over[LEE_IMPORTER]);
    }
}

/* A case that waits for the time. */
static void test_time(void) {
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &pings, ends);
    CASES(cases, 2, false, {PING, 0}, {LEE_CLOSED, 0});
    CHECK(lee_channel_select_for(NULL, ends, 1, &cases, 0) == 2);
    CHECK(lee_channel_select_for(NULL, ends, 1, &cases, -5) == 2);
    CHECK(lee_channel_select_for(NULL, ends, 1, &cases, 3) == 2);
    int64_t n = 1;
    lee_channel_send(ends[1], PING, &n, sizeof n);
    CHECK(lee_channel_select_for(NULL, ends, 1, &cases, 100000) == 0);
    lee_channel_take(ends[0], PING, &n, sizeof n);
    lee_channel_close(ends[1]);
    CHECK(lee_channel_select_for(NULL, ends, 1, &cases, INT64_MAX) == 1);
    lee_channel_close(ends[0]);
}

/* One task of a process waits for the end of another, and a second one kills it. */
static void waits_for(void *argument) {
    CHECK(lee_process_wait(*(struct lee_pid **)argument).how == LEE_KILLED);
}

static void test_killer_waits(void) {
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &pings, ends);
    struct lee_pid *pid = spawn_with(waits, ends[LEE_IMPORTER]);
    struct lee_task *task = lee_task_start(NULL, waits_for, &pid, sizeof pid);
    for (int i = 0; i < 3; i++)
        lee_task_yield();
    lee_process_kill(pid);
    CHECK(lee_task_join(task));
    for (int i = 0; i < 3; i++)
        lee_task_yield();
    lee_channel_close(ends[LEE_EXPORTER]);
}

static void wait_without_end(void *argument) {
    struct lee_endpoint *ends[2];
    (void)argument;
    lee_start(0, NULL);
    lee_channel_make(NULL, &pings, ends);
    spawn_with(answers, ends[LEE_EXPORTER]);
    lee_channel_receive(NULL, ends[LEE_IMPORTER], PONG, NULL, 0);
}

static void receive_another(void *argument) {
    struct lee_endpoint *ends[2];
    int64_t n = 1;
    (void)argument;
    lee_start(0, NULL);
    lee_channel_make(NULL, &pings, ends);
    lee_channel_send(ends[LEE_EXPORTER], PING, &n, sizeof n);
    lee_channel_receive(NULL, ends[LEE_IMPORTER], PONG, &n, sizeof n);
}

static void receive_after_close(void *argument) {
    struct lee_endpoint *ends[2];
    (void)argument;
    lee_start(0, NULL);
    lee_channel_make(NULL, &pings, ends);
    lee_channel_close(ends[LEE_EXPORTER]);
    lee_channel_receive(NULL, ends[LEE_IMPORTER], PONG, NULL, 0);
}

/* --- sets ------------------------------------------------------------------------------------------------------------- */

enum { MEMBERS = 1000 };

static const struct lee_set_kind of_pings = {.contract = &pings};
static const struct lee_set_kind with_numbers = {.contract = &pings, .bytes = sizeof(int64_t)};

/* Waits for any member of a set of its own, all of whose peers it has, too. */
static int waits_for_set(void *argument) {
    struct lee_set *set = lee_set_make(NULL, &of_pings);
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    lee_set_add(NULL, set, end, NULL);
    for (int i = 0; i < MEMBERS; i++) {
        struct lee_endpoint *ends[2];
        lee_channel_make(NULL, &pings, ends);
        lee_set_add(NULL, set, ends[LEE_EXPORTER], NULL);
    }
    CASES(cases, 1, false, {NUMBER, 0});
    lee_set_select(NULL, NULL, 0, &set, 1, &cases);
    return 1;
}

static void test_sets(void) {
    struct lee_set *set = lee_set_make(NULL, &with_numbers);
    struct lee_endpoint *importers[MEMBERS];
    CASES(cases, 3, false, {PING, 0}, {LEE_CLOSED, 0}, {LEE_NO_MEMBER, 0});
    CASES(fewer, 2, true, {PING, 0}, {LEE_CLOSED, 0});
    CASES(ended, 2, false, {LEE_CLOSED, 0}, {LEE_NO_MEMBER, 0});
    CHECK(lee_set_select(NULL, NULL, 0, &set, 1, &cases) == 2);
    CHECK(lee_set_select(NULL, NULL, 0, &set, 1, &fewer) == -1);
    for (int64_t i = 0; i < MEMBERS; i++) {
        struct lee_endpoint *ends[2];
        lee_channel_make(NULL, &pings, ends);
        importers[i] = ends[LEE_IMPORTER];
        /* What comes before and after an end is added. */
        if (i % 2 == 0)
            lee_channel_send(importers[i], PING, &i, sizeof i);
        lee_set_add(NULL, set, ends[LEE_EXPORTER], &i);
        if (i % 2 != 0)
            lee_channel_send(importers[i], PING, &i, sizeof i);
    }
    CHECK(lee_set_select_for(NULL, NULL, 0, &set, 1, &ended, 0) == 2);
    for (int64_t i = 0, value, number; i < MEMBERS; i++) {
        CHECK(lee_set_select(NULL, NULL, 0, &set, 1, &cases) == 0);
        struct lee_endpoint *end = lee_set_take(NULL, set, PING, &value);
        lee_channel_take(end, PING, &number, sizeof number);
        CHECK(value == i && number == i);
        lee_set_add(NULL, set, end, &value);
    }
    /* Closed from the last on: that is the order in which they are taken. */
    for (int64_t i = MEMBERS; --i >= MEMBERS / 2;)
        lee_channel_close(importers[i]);
    for (int64_t i = MEMBERS, value; --i >= MEMBERS / 2;) {
        CHECK(lee_set_select(NULL, NULL, 0, &set, 1, &cases) == 1);
        lee_channel_close(lee_set_take(NULL, set, LEE_CLOSED, &value));
        CHECK(value == i);
    }
    int64_t value;
    lee_channel_close(lee_set_take(NULL, set, LEE_ANY_MEMBER, &value));
    CHECK(value == 0);
    lee_set_free(set);
    for (int i = 0; i < MEMBERS / 2; i++) {
        CHECK(lee_channel_head(importers[i]) == LEE_CLOSED);
        lee_channel_close(importers[i]);
    }
    CHECK(lee_process_self()->sets == NULL);

    /* A process is killed while it waits for a set: its members are closed. */
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &pings, ends);
    struct lee_pid *pid = spawn_with(waits_for_set, ends[LEE_EXPORTER]);
    lee_task_yield();
    CHECK(lee_channel_head(ends[LEE_IMPORTER]) == LEE_EMPTY);
    lee_process_kill(pid);
    CHECK(lee_process_wait(pid).how == LEE_KILLED);
    CHECK(lee_channel_head(ends[LEE_IMPORTER]) == LEE_CLOSED);
    lee_channel_close(ends[LEE_IMPORTER]);
}

static void test_faults(void) {
    struct child child;
    run_child(&child, receive_another, NULL);
    CHECK(child.status == 134 && strstr(child.output, "receive: Ping came and is not what is received, in a channel of Pings") != NULL);
    run_child(&child, receive_after_close, NULL);
    CHECK(child.status == 134 && strstr(child.output, "closed before Pong came") != NULL);
    run_child(&child, wait_without_end, NULL); /* the spawned one is found to wait last, or main */
    CHECK(child.status == 134 && strstr(child.output, "deadlock: every task of every process waits") != NULL);
}

int main(int argc, char **argv) {
    lee_start(0, NULL);
    test_faults();
    test_ping_pong(argc > 1 ? atoi(argv[1]) : 20000);
    test_order();
    test_times();
    test_places();
    test_select();
    test_kill();
    test_carried();
    test_time();
    test_killer_waits();
    test_sets();
    CHECK(lee_process_self()->endpoints == NULL);
    CHECK(lee_heap_validate(lee_heap_self()) == NULL);
    return check_end();
}
