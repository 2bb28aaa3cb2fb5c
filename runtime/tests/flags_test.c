/* Flags of the scheduler: what each is for is seen here. `flags` removes the statement that sets one, and this test must fail. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <lee/channel.h>
#include <lee/collect.h>
#include <lee/custodian.h>
#include <lee/delta.h>
#include <lee/foreign.h>
#include <lee/heap.h>
#include <lee/lee.h>
#include <lee/owned.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/collect.h"
#include "../src/custodian.h"
#include "../src/io_library.h"
#include "../src/preempt.h"
#include "../src/process.h"
#include "../src/worker.h"
#include "check.h"
#include "lists.h"
#include "tenants.h"

enum { MB = 1 << 20 };

/* --- task->foreign: the task is in a call of C on a stack of its own ----------------------------------------------------- */

enum { LENGTH = 1000 };

static void collects(void *argument) {
    (void)argument;
    for (int i = 0; i < 3; i++) {
        list(20 * LENGTH);
        lee_collect();
    }
}

static void calls_c(void *argument) {
    volatile bool *good = *(volatile bool **)argument;
    struct node *volatile mine = list(LENGTH); /* only this frame leads to it, which is below C's */
    lee_foreign_call(collects, NULL);
    *good = is_list(mine, LENGTH);
}

/* What C calls back collects: the task's own frames, on its other stack, are looked at, too. */
static int collects_below_c(void *argument) {
    (void)argument;
    volatile bool good = false, *to = &good;
    lee_task_join(lee_task_start(NULL, calls_c, &to, sizeof to));
    return good;
}

static void test_foreign(void) {
    struct lee_process_end end = lee_process_wait(lee_process_spawn(NULL, collects_below_c, NULL, 0));
    CHECK(end.how == LEE_RETURNED && end.status == 1);
}

/* --- process->stopped: it was stopped in its own code, so nobody else collects it ------------------------------------------- */

static struct lee_heap *volatile heaps[2]; /* of one that computes, and of one that waits */
static volatile bool told;

LEE_CODE __attribute__((noinline)) static void compute(void) {
    while (!told)
        __asm__ volatile("");
}

/* Leaves much that can be collected. */
static int loses(void *argument) {
    int which = *(int *)argument;
    for (int i = 0; i < 1000; i++)
        list(50);
    heaps[which] = lee_heap_self();
    if (which == 0)
        compute();
    while (!told)
        lee_task_yield();
    return 0;
}

static int fills(void *argument) {
    (void)argument;
    struct node *all = NULL;
    for (;;) {
        struct node *node = lee_heap_alloc(NULL, 4096);
        node->next = all;
        all = node;
    }
    return 0;
}

static void test_stopped(void) {
    struct lee_custodian *custodian = lee_custodian_new(NULL), *victim = lee_custodian_new(custodian);
    lee_custodian_limit(custodian, 24 * MB, victim);
    struct lee_pid *pids[2];
    size_t collected[2];
    for (int i = 0; i < 2; i++)
        pids[i] = spawn_in(custodian, loses, &i, sizeof i);
    while (heaps[0] == NULL || heaps[1] == NULL)
        lee_task_yield();
    size_t stops = __atomic_load_n(&lee_preempt_stops, __ATOMIC_RELAXED);
    while (__atomic_load_n(&lee_preempt_stops, __ATOMIC_RELAXED) == stops)
        lee_task_yield();
    for (int i = 0; i < 2; i++)
        collected[i] = heaps[i]->counts.collections;
    CHECK(lee_process_wait(spawn_in(victim, fills, NULL, 0)).how == LEE_LIMIT);
    CHECK(heaps[0]->counts.collections == collected[0]);
    CHECK(heaps[1]->counts.collections > collected[1]);
    told = true;
    for (int i = 0; i < 2; i++)
        CHECK(lee_process_wait(pids[i]).how == LEE_RETURNED);
}

/* --- worker->calm: nothing is to be checked, so `yield` is quick -------------------------------------------------------------- */

static unsigned quick;
static volatile bool other_ends;

static void other(void *argument) {
    (void)argument;
    while (!other_ends)
        lee_task_yield();
}

/* Turns of one of two tasks while no other process can run. */
static void take_turns(int turns) {
    other_ends = false;
    void *task = lee_task_start(NULL, other, NULL, 0);
    quick = 0;
    for (int i = 0; i < turns; i++) {
        lee_task_yield();
        quick += lee_worker.calm;
    }
    other_ends = true;
    lee_task_join(task);
}

enum { TOLD = 1 };
static const char *const titles[] = {"Told"};
static const struct lee_contract news = {.name = "News", .places = {4, 4}, .bytes = 8, .messages = 1, .titles = titles};

static void drop_end(struct lee_work *work, void *element) {
    lee_push_endpoint(work, *(struct lee_endpoint **)element);
}
static const struct lee_owned one_end = {.size = sizeof(struct lee_endpoint *), .drop = drop_end};

static volatile int heard;

static int hears(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    int64_t number;
    for (int i = 0; i < 2; i++) {
        lee_channel_receive(NULL, end, TOLD, &number, sizeof number);
        heard++;
    }
    lee_channel_close(end);
    return 0;
}

/* Another process can run from now on, so the next `yield` lets it, although all was calm. `in`: it has a share of its own. */
static void wake_one(struct lee_custodian *in) {
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &news, ends);
    struct lee_custodian *before = lee_custodian_enter(in);
    struct lee_pid *pid = lee_process_spawn_with(NULL, hears, &ends[LEE_EXPORTER], sizeof ends[LEE_EXPORTER], &one_end, false);
    lee_custodian_enter(before);
    other_ends = false;
    void *task = lee_task_start(NULL, other, NULL, 0);
    int64_t number = 7;
    for (int i = 0; i < 2; i++) {
        for (int turn = 0; turn < 100; turn++) /* until it waits, and all is calm */
            lee_task_yield();
        CHECK(lee_worker.calm);
        heard = 0;
        lee_channel_send(ends[LEE_IMPORTER], TOLD, &number, sizeof number);
        lee_task_yield();
        lee_task_yield();
        CHECK(heard == 1);
    }
    other_ends = true;
    lee_task_join(task);
    CHECK(lee_process_wait(pid).how == LEE_RETURNED);
    lee_channel_close(ends[LEE_IMPORTER]);
}

static void shut_other(void *argument) {
    lee_custodian_shutdown(*(struct lee_custodian **)argument);
}

static void test_calm(void) {
    take_turns(100);
    CHECK(quick >= 90);
    /* What makes it untrue says so. */
    wake_one(lee_custodian_current());
    wake_one(lee_custodian_new(NULL));
    struct lee_custodian *doomed = lee_custodian_new(NULL);
    void *task = lee_task_start(NULL, shut_other, &doomed, sizeof doomed);
    lee_task_yield();
    CHECK(!lee_worker.calm);
    lee_task_join(task);
}

/* --- process->pinned: C's frames are below, which may know their thread ------------------------------------------------------- */

enum { CALLERS = 12, ROUNDS = 300 };

static void waits_in_c(void *argument) {
    bool *good = *(bool **)argument;
    for (int i = 0; i < ROUNDS; i++) {
        pid_t here = gettid();
        lee_usleep(i % 3 == 0 ? 50 : 0);
        lee_task_yield();
        *good = *good && gettid() == here;
    }
}

/* What C calls back waits, and goes on upon the same thread. */
static int stays(void *argument) {
    (void)argument;
    bool good = true, *to = &good;
    lee_foreign_call(waits_in_c, &to);
    return good;
}

static void with_workers(void *argument) {
    (void)argument;
    struct lee_pid *pids[CALLERS];
    setenv("LEE_WORKERS", "3", 1);
    for (int i = 0; i < CALLERS; i++)
        pids[i] = lee_process_spawn(NULL, stays, NULL, 0);
    for (int i = 0; i < CALLERS; i++)
        CHECK(lee_process_wait(pids[i]).status == 1);
    fflush(stdout);
    _exit(check_failures > 0);
}

static void test_pinned(void) {
    struct child child;
    run_child(&child, with_workers, NULL); /* no process was spawned here, so there are no workers yet */
    CHECK(child.status == 0);
}

int main(int argc, char **argv) {
    lee_start(argc, argv);
    lee_heap_self();
    alarm(120); /* where a process is never stopped */
    if (!UNDER_ASAN) { /* it is told of each switch, and calls of C stay on the task's stack */
        test_pinned();
        test_calm();
        test_foreign();
    }
    test_stopped();
    return check_end();
}
