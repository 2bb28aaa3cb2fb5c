/* Processes: each has a heap, globals, files and tasks of its own; when one ends, all of it is back. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lee/collect.h>
#include <lee/delta.h>
#include <lee/heap.h>
#include <lee/io.h>
#include <lee/lee.h>
#include <lee/owned.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/collect.h"
#include "../src/dispose.h"
#include "../src/poison.h"
#include "../src/process.h"
#include "../src/task_park.h"
#include "../src/units.h"
#include "../src/worker.h"
#include "check.h"
#include "lists.h"

/* --- globals ---------------------------------------------------------------------------------------------------------- */

static int counter LEE_IN_GLOBALS = 7;
static int zeroed LEE_IN_GLOBALS_ZERO;
static int *to_counter LEE_IN_GLOBALS = &counter;
LEE_VARIABLE_ADDRESS(to_counter_address, to_counter, counter);
static struct node *rooted LEE_IN_GLOBALS_ZERO;

static int use_globals(void *argument) {
    int n = *(int *)argument;
    if (LEE_VARIABLE(counter) != 7 || LEE_VARIABLE(zeroed) != 0 || LEE_VARIABLE(to_counter) != LEE_VARIABLE_AT(counter))
        return -1;
    LEE_VARIABLE(rooted) = list(1000);
    for (int i = 0; i < n; i++) {
        LEE_VARIABLE(counter)++;
        (*LEE_VARIABLE_AT(zeroed))++;
        lee_task_yield();
    }
    list(20000);
    lee_collect();
    if (!is_list(LEE_VARIABLE(rooted), 1000))
        return -2;
    return *LEE_VARIABLE(to_counter) * 100 + LEE_VARIABLE(zeroed);
}

static void test_globals(void) {
    int arguments[3] = {1, 5, 9};
    struct lee_pid *pids[3];
    LEE_VARIABLE(counter) = 1000;
    for (int i = 0; i < 3; i++)
        pids[i] = lee_process_spawn(NULL, use_globals, &arguments[i], sizeof arguments[i]);
    for (int i = 0; i < 3; i++) {
        struct lee_process_end end = lee_process_wait(pids[i]);
        CHECK(end.how == LEE_RETURNED);
        CHECK(end.status == (7 + arguments[i]) * 100 + arguments[i]);
    }
    CHECK(LEE_VARIABLE(counter) == 1000 && zeroed == 0 && rooted == NULL);
}

/* --- heaps ------------------------------------------------------------------------------------------------------------ */

static int collects(void *argument) {
    size_t length = *(size_t *)argument;
    struct node *mine = list(length);
    struct lee_heap *heap = lee_heap_self();
    heap->verify = true;
    for (int i = 0; i < 5; i++) {
        list(3000);
        lee_task_yield();
        lee_collect();
        if (!is_list(mine, length) || heap->counts.live_objects > length + 3100 || lee_heap_validate(heap) != NULL)
            return 1;
    }
    return heap->counts.collections >= 5 && lee_heap_self() == heap ? 0 : 2;
}

static void test_heaps(void) {
    size_t lengths[] = {10, 500, 4000, 1};
    struct lee_pid *pids[4];
    struct node *mine = list(700);
    for (int i = 0; i < 4; i++)
        pids[i] = lee_process_spawn(NULL, collects, &lengths[i], sizeof lengths[i]);
    for (int i = 0; i < 6; i++) {
        lee_collect();
        list(2000);
        lee_task_yield();
    }
    for (int i = 0; i < 4; i++)
        CHECK(lee_process_wait(pids[i]).status == 0);
    CHECK(is_list(mine, 700));
    CHECK(lee_heap_validate(lee_heap_self()) == NULL);
}

/* --- ends ------------------------------------------------------------------------------------------------------------- */

static size_t descriptors(void) {
    size_t count = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d) != NULL)
        count++;
    closedir(d);
    return count;
}

static void waits_for_ever(void *argument) {
    (void)argument;
    list(100);
    for (;;)
        lee_task_yield();
}

/* Has some of everything. */
static void acquire(void) {
    for (int i = 0; i < 3; i++) {
        struct lee_file *f = lee_io_fopen("/dev/null", "w");
        lee_io_fprintf(f, "text");
        lee_dir_open("/");
        lee_task_start(NULL, waits_for_ever, NULL, 0);
    }
    list(5000);
    LEE_VARIABLE(rooted) = list(10);
    lee_task_yield();
}

static int ends_so(void *argument) {
    int how = *(int *)argument;
    acquire();
    switch (how) {
    case LEE_RETURNED: return 3;
    case LEE_EXITED: lee_exit(4);
    case LEE_FAULTED: lee_fault_message(NULL, "on purpose");
    case LEE_KILLED:
        for (;;)
            lee_task_yield();
    default: lee_custodian_shutdown(lee_custodian_current());
    }
    return 0;
}

static void ends_in_task(void *argument) {
    (void)argument;
    lee_exit(5);
}

static int ends_in_a_task(void *argument) {
    (void)argument;
    acquire();
    lee_task_join(lee_task_start(NULL, ends_in_task, NULL, 0));
    return 0;
}

#if !defined(LEE_ASAN) && !defined(LEE_TSAN)
static int traps(void *argument) {
    acquire();
    volatile int *nowhere = *(int **)argument;
    return *nowhere;
}

static __attribute__((noinline)) int deep(volatile int *p) {
    volatile int local[64];
    local[0] = *p;
    return local[0] == 0 ? deep(local) + local[0] : 0;
}

static int overflows(void *argument) {
    volatile int zero = 0;
    (void)argument;
    acquire();
    return deep(&zero);
}

#endif

static int returns(void *argument) {
    (void)argument;
    return 0;
}

static struct lee_process_end end_of(int how) {
    struct lee_pid *pid = lee_process_spawn(NULL, ends_so, &how, sizeof how);
    if (how == LEE_KILLED) {
        for (int i = 0; i < 3; i++)
            lee_task_yield();
        lee_process_kill(pid);
        lee_process_kill(pid);
    }
    return lee_process_wait(pid);
}

/* Memory that a first round leaves behind (pages kept for the next process) may stay; what a thousand rounds add may not. */
static void test_ends(void) {
    size_t open = 0, charged = 0;
    int error = freopen("/dev/null", "w", stderr) == NULL; /* the reports */
    CHECK(error == 0);
    for (int round = 0; round < 40; round++) {
        CHECK(end_of(LEE_RETURNED).status == 3);
        struct lee_process_end end = end_of(LEE_EXITED);
        CHECK(end.how == LEE_EXITED && end.status == 4);
        end = end_of(LEE_FAULTED);
        CHECK(end.how == LEE_FAULTED && strcmp(end.message, "on purpose") == 0);
        CHECK(end_of(LEE_KILLED).how == LEE_KILLED);
        CHECK(end_of(LEE_LIMIT).how == LEE_LIMIT);
        end = lee_process_wait(lee_process_spawn(NULL, ends_in_a_task, NULL, 0));
        CHECK(end.how == LEE_EXITED && end.status == 5);
#if !defined(LEE_ASAN) && !defined(LEE_TSAN)
        int *nowhere = NULL;
        end = lee_process_wait(lee_process_spawn(NULL, traps, &nowhere, sizeof nowhere));
        CHECK(end.how == LEE_FAULTED && strcmp(end.message, "null pointer") == 0);
        end = lee_process_wait(lee_process_spawn(NULL, overflows, NULL, 0));
        CHECK(end.how == LEE_FAULTED && strcmp(end.message, "stack overflow") == 0);
#endif
        lee_collect();
        if (round == 9) {
            charged = lee_memory_charged();
            open = descriptors();
        }
    }
    CHECK(descriptors() == open);
    CHECK(lee_memory_charged() <= charged + (128 << 10));
    CHECK(lee_heap_validate(lee_heap_self()) == NULL);
}

static void test_many(void) {
#ifdef LEE_TSAN
    enum { ALIVE = 200, SPAWNS = 3000 };
#else
    enum { ALIVE = 2000, SPAWNS = 100000 };
#endif
    size_t charged = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SPAWNS / 3; i++)
            lee_process_wait(lee_process_spawn(NULL, returns, NULL, 0));
        struct lee_pid **pids = lee_heap_alloc(NULL, ALIVE * sizeof *pids);
        int how = LEE_KILLED;
        for (int i = 0; i < ALIVE; i++)
            pids[i] = lee_process_spawn(NULL, i % 2 == 0 ? ends_so : returns, &how, sizeof how);
        lee_task_yield();
        for (int i = 0; i < ALIVE; i++) {
            if (i % 2 != 0) /* with several workers it may not have run yet */
                lee_process_wait(pids[i]);
            lee_process_kill(pids[i]);
            CHECK(lee_process_wait(pids[i]).how == (i % 2 == 0 ? LEE_KILLED : LEE_RETURNED));
        }
        lee_collect();
        lee_heap_idle(lee_heap_self());
        if (round == 0)
            charged = lee_memory_charged();
    }
    CHECK(lee_memory_charged() <= charged + (256 << 10));
}

/* One waits for another, which waits for a third. */
static int chain(void *argument) {
    int depth = *(int *)argument;
    if (depth == 0)
        return 1;
    depth--;
    struct lee_process_end end = lee_process_wait(lee_process_spawn(NULL, chain, &depth, sizeof depth));
    return end.how == LEE_RETURNED ? end.status + 1 : -1000;
}

static int kills_itself_while_waited_for(void *argument) {
    (void)argument;
    errno = 77;
    lee_task_yield();
    return errno;
}

static void test_waits(void) {
    int depth = 100;
    CHECK(lee_process_wait(lee_process_spawn(NULL, chain, &depth, sizeof depth)).status == 101);
    struct lee_pid *pid = lee_process_spawn(NULL, kills_itself_while_waited_for, NULL, 0);
    errno = 5;
    CHECK(lee_process_wait(pid).status == 77 && lee_process_wait(pid).status == 77);
    CHECK(errno == 5);
}

struct handed {
    int number;
    struct lee_pid *first, *none, *same, *other;
};

static void push_handed(struct lee_work *work, void *element) {
    struct handed *it = element;
    lee_push_pid(work, &it->first);
    lee_push_pid(work, &it->none);
    lee_push_pid(work, &it->same);
    lee_push_pid(work, &it->other);
}
static const struct lee_owned handed = {.size = sizeof(struct handed), .drop = push_handed, .names = 1};

static int takes(void *argument) {
    struct handed *given = argument;
    if (given->none != NULL || given->first != given->same || given->first == given->other)
        return -1;
    list(10000); /* collected: the pids lie on the stack */
    return lee_process_wait(given->first).status * 100 + lee_process_wait(given->other).status + given->number;
}

static int three(void *argument) {
    (void)argument;
    lee_task_yield();
    return 3;
}

/* Processes are given others, and let them go when they end before they began. */
static void test_handed(void) {
    for (int round = 0; round < 2000; round++) {
        struct lee_pid *first = lee_process_spawn(NULL, three, NULL, 0), *other = lee_process_spawn(NULL, three, NULL, 0);
        struct handed given = {.number = 1000, .first = first, .same = first, .other = other};
        struct lee_pid *pid = lee_process_spawn_with(NULL, takes, &given, sizeof given, &handed, round % 2 == 0);
        if (round % 3 == 0)
            lee_process_kill(pid);
        struct lee_process_end end = lee_process_wait(pid);
        bool killed = end.how == LEE_KILLED; /* unless another worker was quick */
        CHECK(round % 3 == 0 ? killed || (lee_many && end.status == 1303) : end.status == 1303);
        lee_process_kill(first);
        lee_process_kill(other);
    }
}

static int ends(void *argument) {
    (void)argument;
    return 0;
}

/* How long it takes to find a process's name does not depend on how many others there are. */
static void test_many_names(void) {
#ifdef LEE_TSAN
    enum { NAMES = 3000, SECONDS_MOST = 1000 }; /* a process takes hundreds of times as long, more on a busy machine */
#else
    enum { NAMES = 100000, SECONDS_MOST = 2 /* by a search of all, it is more than ten */ };
#endif
    struct lee_pid **pids = lee_heap_alloc(NULL, NAMES * sizeof *pids);
    for (int i = 0; i < NAMES; i++) {
        pids[i] = lee_process_spawn(NULL, ends, NULL, 0);
        lee_process_wait(pids[i]);
    }
    clock_t start = clock();
    for (int i = 0; i < NAMES; i++) {
        struct handed sent = {.first = pids[i], .other = pids[NAMES - 1 - i]};
        struct handed named, *given = &sent;
        lee_walk_parts(LEE_WALK_LEAVE, given, sizeof *given, &handed);
        memcpy(&named, given, sizeof named);
        lee_walk_parts(LEE_WALK_NAME, &named, sizeof named, &handed);
        lee_walk_parts(LEE_WALK_UNNAME, given, sizeof *given, &handed);
        CHECK(named.first == pids[i] && named.other == pids[NAMES - 1 - i] && named.none == NULL);
    }
    CHECK((clock() - start) / CLOCKS_PER_SEC < SECONDS_MOST);
    for (int i = 0; i < NAMES; i++)
        pids[i] = i % 2 == 0 ? pids[i] : NULL;
    lee_collect(); /* some of those go, and the others are found where they are now */
    for (int i = 0; i < NAMES; i += 2) {
        struct handed sent = {.first = pids[i]}, named;
        lee_walk_parts(LEE_WALK_LEAVE, &sent, sizeof sent, &handed);
        memcpy(&named, &sent, sizeof named);
        lee_walk_parts(LEE_WALK_NAME, &named, sizeof named, &handed);
        lee_walk_parts(LEE_WALK_UNNAME, &sent, sizeof sent, &handed);
        CHECK(named.first == pids[i]);
    }
}

/* The last process that ran has ended, and the first one waits for what never comes. */
static void waits_for_nothing(void *argument) {
    (void)argument;
    lee_start(0, NULL);
    lee_process_spawn(NULL, ends, NULL, 0);
    lee_lock();
    lee_task_park(NULL, NULL);
}

static void test_deadlock(void) {
    struct child child;
    run_child(&child, waits_for_nothing, NULL);
    CHECK(child.status == 134);
    check_holds("deadlock after an end", child.output, "fault: deadlock: every task of every process waits");
}

int main(void) {
    lee_start(0, NULL);
    test_deadlock();
    test_globals();
    test_heaps();
    test_waits();
    test_ends();
    test_handed();
    test_many_names();
    test_many();
    return check_end();
}
