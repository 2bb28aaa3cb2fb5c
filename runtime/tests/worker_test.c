/* Several workers: processes run at the same time, move from thread to thread, and are ended by
 * others while they run.
 *
 * `worker_test N` does N times the work. WORKER_TEST_SHOW=1 prints what it takes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <lee/channel.h>
#include <lee/collect.h>
#include <lee/custodian.h>
#include <lee/delta.h>
#include <lee/foreign.h>
#include <lee/heap.h>
#include <lee/io.h>
#include <lee/lee.h>
#include <lee/owned.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/io_path.h"
#include "../src/collect.h"
#include "../src/custodian.h"
#include "../src/dispose.h"
#include "../src/io_library.h"
#include "../src/poison.h"
#include "../src/preempt.h"
#include "../src/process.h"
#include "../src/share.h"
#include "../src/units.h"
#include "../src/worker.h"
#include "cases.h"
#include "check.h"
#include "lists.h"

#ifndef LEE_TSAN
#define STOPS true /* processes that compute can be stopped */
#else
#define STOPS false
#endif

/* A process that has begun stays on its thread (pool.c). */
#ifdef __x86_64__
#define KEEPS_THREADS false
#else
#define KEEPS_THREADS true
#endif

enum { PING = 1, PONG };
static const struct lee_contract pings = {.name = "Pings", .places = {1, 1}, .bytes = 8, .messages = 2};

static void push_end(struct lee_work *work, void *element) {
    lee_push_endpoint(work, *(struct lee_endpoint **)element);
}
static const struct lee_owned handed_end = {.size = sizeof(struct lee_endpoint *), .drop = push_end};

static struct lee_pid *spawn_with(int (*entry)(void *), struct lee_endpoint *end) {
    return lee_process_spawn_with(NULL, entry, &end, sizeof end, &handed_end, false);
}

/* Gives way, where nothing else would end the slice. Where it is not inlined, a processor may be found
 * here each time that a loop around it is interrupted. */
LEE_CODE static void pass(void) {
    if (!STOPS)
        lee_task_yield();
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* --- at the same time ------------------------------------------------------------------------ */

/* Two processes meet: each goes on when it has seen the other arrive, and neither waits. On one
 * worker that takes a slice for each step. */
static atomic_int arrived[2];

LEE_CODE static int meets(void *argument) {
    int number = *(int *)argument;
    for (int i = 1; i <= 5; i++) {
        atomic_store(&arrived[number], i);
        while (atomic_load(&arrived[1 - number]) < i) {
            sched_yield(); /* the system's: it is no call of the runtime */
            pass();
        }
    }
    return 0;
}

static void test_at_once(void) {
    for (int round = 0; round < 10; round++) {
        struct lee_pid *pids[2];
        for (int i = 0; i < 2; i++)
            arrived[i] = 0;
        for (int i = 0; i < 2; i++)
            pids[i] = lee_process_spawn(NULL, meets, &i, sizeof i);
        for (int i = 0; i < 2; i++)
            CHECK(lee_process_wait(pids[i]).how == LEE_RETURNED);
    }
}

static atomic_bool settled;

static int answers(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    CASES(cases, 2, false, {PING, 0}, {LEE_CLOSED, 0});
    int64_t n;
    int count = 0;
    lee_process->pinned = lee_process->worker;
    atomic_store(&settled, true);
    while (lee_channel_select(NULL, &end, 1, &cases) == 0) {
        lee_channel_take(end, PING, &n, sizeof n);
        n++;
        lee_channel_send(end, PONG, &n, sizeof n);
        count++;
    }
    lee_channel_close(end);
    return count;
}

/* The first process stays on the first worker, which it keeps busy until another one has taken the
 * second process: each message crosses. */
static void test_round_trips(int rounds) {
    struct lee_endpoint *ends[2];
    lee_channel_make(NULL, &pings, ends);
    struct lee_pid *pid = spawn_with(answers, ends[LEE_EXPORTER]);
    int64_t wrong = 0, start = 0;
    while (!atomic_load(&settled))
        sched_yield(); /* the system's */
    for (int64_t i = 0, n; i < rounds; i++) {
        lee_channel_send(ends[LEE_IMPORTER], PING, &i, sizeof i);
        lee_channel_receive(NULL, ends[LEE_IMPORTER], PONG, &n, sizeof n);
        wrong += n != i + 1;
        start = i == 0 ? now() : start;
    }
    if (getenv("WORKER_TEST_SHOW") != NULL)
        printf("round trip between two workers: %.0f ns\n", (double)(now() - start) / (rounds - 1));
    CHECK(wrong == 0);
    lee_channel_close(ends[LEE_IMPORTER]);
    CHECK(lee_process_wait(pid).status == rounds);
}

/* --- moving ---------------------------------------------------------------------------------- */

static int64_t own_number LEE_IN_GLOBALS = 7;
int *lee_errno(void);

/* A process sees its own heap, variables and `errno` wherever it goes on. */
static int moves(void *argument) {
    int number = *(int *)argument, changes = 0;
    struct lee_worker *last = lee_process->worker;
    struct node *mine = list(300);
    *LEE_VARIABLE_AT(own_number) = number;
    for (int i = 0; i < 300; i++) {
        *lee_errno() = number;
        lee_task_yield();
        if (*lee_errno() != number || *LEE_VARIABLE_AT(own_number) != number || !is_list(mine, 300))
            return -1;
        list(30);
        if (i % 50 == 0)
            lee_collect();
        changes += last != lee_process->worker;
        last = lee_process->worker;
    }
    return changes;
}

static void test_moves(void) {
    struct lee_pid *pids[8];
    int changes = 0;
    for (int i = 0; i < 8; i++)
        pids[i] = lee_process_spawn(NULL, moves, &i, sizeof i);
    for (int i = 0; i < 8; i++) {
        int status = lee_process_wait(pids[i]).status;
        CHECK(status >= 0);
        changes += status;
    }
    if (getenv("WORKER_TEST_SHOW") != NULL)
        printf("changes of worker: %d of %d\n", changes, 8 * 300);
}

/* --- ends ------------------------------------------------------------------------------------ */

LEE_CODE static int spins(void *argument) {
    (void)argument;
    for (;;)
        pass();
    return 0;
}

/* Allocates, sends to itself, never waits. */
static int churns(void *argument) {
    (void)argument;
    for (;;) {
        struct lee_endpoint *ends[2];
        lee_channel_make(NULL, &pings, ends);
        int64_t n = 5;
        lee_channel_send(ends[0], PING, &n, sizeof n);
        lee_channel_close(ends[0]);
        lee_channel_close(ends[1]);
        list(20);
        lee_task_yield();
    }
    return 0;
}

static void test_kills(int count) {
    enum { ALIVE = 5 };
    struct lee_pid *pids[ALIVE];
    size_t charged = 0;
    for (int i = 0; i < ALIVE; i++)
        pids[i] = lee_process_spawn(NULL, i % 2 == 0 ? spins : churns, NULL, 0);
    for (int n = 0; n < count; n++) {
        int victim = (int)(random_number() % ALIVE);
        lee_process_kill(pids[victim]);
        CHECK(lee_process_wait(pids[victim]).how == LEE_KILLED);
        pids[victim] = lee_process_spawn(NULL, random_number() % 2 == 0 ? spins : churns, NULL, 0);
        if (n == count / 4)
            charged = lee_memory_charged();
    }
    for (int i = 0; i < ALIVE; i++)
        lee_process_kill(pids[i]);
    lee_collect();
    lee_heap_idle(lee_heap_self());
    CHECK(lee_memory_charged() <= charged + (1 << 20));
}

static struct lee_pid *spawn_in(struct lee_custodian *custodian, int (*entry)(void *), int number) {
    struct lee_custodian *before = lee_custodian_enter(custodian);
    struct lee_pid *pid = lee_process_spawn(NULL, entry, &number, sizeof number);
    lee_custodian_enter(before);
    return pid;
}

/* Two processes kill each other's, over and over: both want to stop all others. */
static int kills(void *argument) {
    int count = *(int *)argument;
    for (int i = 0; i < count; i++) {
        struct lee_pid *pid = lee_process_spawn(NULL, spins, NULL, 0);
        if (i % 2 == 0)
            lee_task_yield();
        for (int j = 0; i % 4 == 1 && j < 30; j++)
            sched_yield(); /* the system's: another worker takes it */
        lee_process_kill(pid);
        if (lee_process_wait(pid).how != LEE_KILLED)
            return 1;
    }
    return 0;
}

static void called_back(void *argument) {
    for (int i = *(int *)argument; i > 0; i--) {
        struct lee_custodian *custodian = lee_custodian_new(NULL);
        lee_custodian_limit(custodian, 1 << 20, NULL);
        lee_custodian_shutdown(custodian);
    }
    *(int *)argument = 0;
}

/* What C calls back is never preempted, and stops all others too. */
static int limits_below_c(void *argument) {
    int value = *(int *)argument;
    lee_foreign_call(called_back, &value);
    return value;
}

static void test_killers(int count) {
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    struct lee_pid *pids[4], *doomed = spawn_in(custodian, kills, 1 << 30);
    for (int i = 0; i < 4; i++)
        pids[i] = lee_process_spawn(NULL, i < 2 ? kills : limits_below_c, &count, sizeof count);
    for (int i = 0; i < 4; i++)
        CHECK(lee_process_wait(pids[i]).status == 0);
    lee_process_kill(doomed);
    CHECK(lee_process_wait(doomed).how == LEE_KILLED);
    lee_custodian_shutdown(custodian); /* the one that it was about to kill */
}

/* --- custodians ------------------------------------------------------------------------------ */

static int yields(void *argument) {
    (void)argument;
    for (;;)
        lee_task_yield();
    return 0;
}

static int grows(void *argument) {
    (void)argument;
    struct node *kept = NULL;
    for (size_t i = 0;; i++) {
        struct node *node = lee_heap_alloc_typed(NULL, sizeof *node, &node_layout);
        node->next = kept;
        kept = node;
        if (i % 1000 == 0)
            lee_task_yield();
    }
    return 0;
}

static void test_custodians(int count) {
    for (int round = 0; round < count; round++) {
        struct lee_custodian *custodian = lee_custodian_new(NULL), *limited = lee_custodian_new(NULL);
        struct lee_pid *spinning[3], *growing[2], *beside = spawn_in(limited, churns, 0);
        lee_custodian_limit(limited, 4 << 20, NULL);
        for (int i = 0; i < 3; i++)
            spinning[i] = spawn_in(custodian, i == 1 ? churns : spins, 0);
        for (int i = 0; i < 2; i++)
            growing[i] = spawn_in(limited, grows, 0);
        for (int i = 0; i < 2; i++)
            CHECK(lee_process_wait(growing[i]).how == LEE_LIMIT);
        CHECK(lee_process_wait(beside).how == LEE_LIMIT);
        lee_custodian_shutdown(custodian);
        for (int i = 0; i < 3; i++)
            CHECK(lee_process_wait(spinning[i]).how == LEE_LIMIT);
        for (int kind = 0; kind < LEE_GROUP_KINDS; kind++)
            CHECK(custodian->group->uses[kind] == 0 && limited->group->uses[kind] == 0);
    }
}

static _Atomic int kept;

static void waits_in_callback(void *argument) {
    (void)argument;
    lee_nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* It waited below C, so it stays on its worker from then on; before, all workers got some of them. */
LEE_CODE static int stays_and_spins(void *argument) {
    for (int64_t end = now() + 20000000; now() < end;)
        pass();
    lee_foreign_call(waits_in_callback, NULL);
    atomic_fetch_add(&kept, 1);
    for (;;)
        pass();
    return *(int *)argument;
}

static int returns(void *argument) {
    return *(int *)argument;
}

/* A process that stays on its worker takes its turns as all others of its custodian do. */
static void test_turns_of_who_stays(void) {
    struct lee_custodian *custodian = lee_custodian_new(NULL), *other = lee_custodian_new(NULL);
    struct lee_pid *spinning[9];
    for (int i = 0; i < 9; i++)
        spinning[i] = spawn_in(custodian, stays_and_spins, 0);
    while (atomic_load(&kept) < 9)
        lee_nanosleep(&(struct timespec){0, 1000000}, NULL);
    for (int i = 0; i < 20; i++)
        CHECK(lee_process_wait(spawn_in(i % 2 == 0 ? other : custodian, returns, 7)).status == 7);
    lee_custodian_shutdown(custodian);
    for (int i = 0; i < 9; i++)
        CHECK(lee_process_wait(spinning[i]).how == LEE_LIMIT);
}

static atomic_long turns_of[9];

LEE_CODE static int counts_turns(void *argument) {
    int number = *(int *)argument;
    for (;; pass())
        atomic_fetch_add(&turns_of[number], 1);
    return 0;
}

/* Whether each of them computes in each of three seconds. */
static bool all_compute(int count) {
    bool all = true;
    for (int round = 0; round < 3; round++) {
        long had[9];
        for (int i = 0; i < count; i++)
            had[i] = atomic_load(&turns_of[i]);
        lee_nanosleep(&(struct timespec){1, 0}, NULL);
        for (int i = 0; i < count; i++)
            all &= atomic_load(&turns_of[i]) > had[i];
    }
    return all;
}

/* The only process of a custodian has a worker for itself, and still not the half that is due to it. Those of
 * another one that were stopped on that worker have their turns all the same. */
static void test_turns_beside_one(void) {
    if (!STOPS)
        return;
    struct lee_custodian *one = lee_custodian_new(NULL), *many = lee_custodian_new(NULL);
    struct lee_pid *pids[9];
    alarm(100);
    for (int i = 0; i < 9; i++)
        pids[i] = spawn_in(i == 4 ? one : many, counts_turns, i);
    CHECK(all_compute(9));
    lee_custodian_shutdown(one);
    lee_custodian_shutdown(many);
    for (int i = 0; i < 9; i++)
        CHECK(lee_process_wait(pids[i]).how == LEE_LIMIT);
    alarm(0);
}

/* --- waiting --------------------------------------------------------------------------------- */

static int sleeps(void *argument) {
    struct timespec pause = {0, *(int *)argument};
    for (int i = 0; i < 20; i++)
        lee_nanosleep(&pause, NULL);
    return 0;
}

static void test_waits(void) {
    struct lee_pid *pids[6];
    for (int i = 0; i < 6; i++) {
        int pause = 1000 << i;
        pids[i] = lee_process_spawn(NULL, sleeps, &pause, sizeof pause);
    }
    for (int i = 0; i < 6; i++)
        CHECK(lee_process_wait(pids[i]).how == LEE_RETURNED);
}

/* Sends back whatever it reads from a descriptor, up to end of file. This thread is not a worker. */
static void *echoes(void *argument) {
    int fd = (int)(intptr_t)argument;
    char c;
    while (read(fd, &c, 1) == 1 && write(fd, &c, 1) == 1)
        ;
    return NULL;
}

/* Its answer comes about when the process finds that there is none yet, and goes to wait for it:
 * meanwhile another worker, which waits in the reactor, is told. */
static int asks(void *argument) {
    int ends[2], right = 0;
    pthread_t thread;
    char c;
    CHECK(lee_socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(pthread_create(&thread, NULL, echoes, (void *)(intptr_t)ends[1]) == 0);
    for (int i = 0; i < *(int *)argument; i++)
        right += lee_write(ends[0], "x", 1) == 1 && lee_read(ends[0], &c, 1) == 1 && c == 'x';
    lee_close(ends[0]);
    pthread_join(thread, NULL);
    lee_close(ends[1]);
    return right;
}

static void test_events(int rounds) {
    struct lee_pid *pids[3];
    for (int i = 0; i < 3; i++)
        pids[i] = lee_process_spawn(NULL, asks, &rounds, sizeof rounds);
    for (int i = 0; i < 3; i++)
        CHECK(lee_process_wait(pids[i]).status == rounds);
}

/* --- beside a call of C ---------------------------------------------------------------------- */

static atomic_bool called, went_on, came_back;

/* Before a process calls one of the functions below. */
static void expect_call(void) {
    atomic_store(&called, false);
    atomic_store(&went_on, false);
    atomic_store(&came_back, false);
}

/* Until the others went on. That takes milliseconds; if they wait for C, it comes back alone. */
static void lasts(void *argument) {
    int64_t end = now() + INT64_C(5000000000);
    (void)argument;
    atomic_store(&called, true);
    while (!atomic_load(&went_on) && now() < end) {
        struct timespec pause = {0, 10000000};
        nanosleep(&pause, NULL);
    }
    atomic_store(&came_back, true);
}

/* It was woken by the reactor, so its worker is the one that looked there. */
static int calls_c(void *argument) {
    struct timespec pause = {0, 2000000};
    lee_nanosleep(&pause, NULL);
    (void)argument;
    lee_foreign_call(lasts, NULL);
    return 0;
}

/* Whether C came back before 20 short sleeps were over. */
static int is_delayed(void *argument) {
    struct timespec pause = {0, 1000000};
    (void)argument;
    while (!atomic_load(&called))
        lee_nanosleep(&pause, NULL);
    for (int i = 0; i < 20; i++)
        lee_nanosleep(&pause, NULL);
    atomic_store(&went_on, true);
    return atomic_load(&came_back);
}

static int goes_on(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    int64_t n;
    lee_channel_receive(NULL, end, PING, &n, sizeof n);
    bool late = atomic_load(&came_back);
    atomic_store(&went_on, true);
    lee_channel_close(end);
    return late;
}

static atomic_bool stops_all;

/* It is bound to its worker, and waits there. */
static _Atomic(struct lee_worker *) bound_to;

static int is_bound(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    int64_t n;
    lee_process->pinned = lee_process->worker;
    atomic_store(&bound_to, lee_process->worker);
    lee_channel_receive(NULL, end, PING, &n, sizeof n);
    lee_channel_close(end);
    return 0;
}

/* For a limit all others are stopped. */
static int sets_limit(void *argument) {
    struct timespec pause = {0, 1000000};
    (void)argument;
    while (!atomic_load(&called))
        lee_nanosleep(&pause, NULL);
    struct lee_custodian *child = lee_custodian_new(NULL);
    atomic_store(&stops_all, true);
    lee_custodian_limit(child, 1 << 20, child);
    return 0;
}

/* Called by C: takes the lock while another process wants to stop all others. */
static void takes_lock_late(void *argument) {
    struct timespec pause = {0, 10000000};
    (void)argument;
    atomic_store(&called, true);
    while (!atomic_load(&stops_all))
        nanosleep(&pause, NULL);
    nanosleep(&pause, NULL);
    lee_process_kill(lee_process_spawn(NULL, returns, &(int){0}, sizeof(int)));
}

static int wakes_and_is_late(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    int64_t n = 0;
    while (atomic_load(&bound_to) == NULL)
        lee_task_yield();
    lee_process->pinned = atomic_load(&bound_to);
    while (lee_process->worker != lee_process->pinned)
        lee_task_yield();
    lee_channel_send(end, PING, &n, sizeof n);
    lee_foreign_call(takes_lock_late, NULL);
    lee_channel_close(end);
    return 0;
}

/* A process stops all others, while only one that has to run on the worker in C can run, and C calls back. */
static void test_callback_beside_stop(void) {
    if (UNDER_ASAN) /* calls of C are not seen */
        return;
    struct lee_endpoint *ends[2];
    expect_call();
    atomic_store(&stops_all, false);
    lee_channel_make(NULL, &pings, ends);
    alarm(100);
    struct lee_pid *bound = spawn_with(is_bound, ends[LEE_EXPORTER]);
    struct lee_pid *caller = spawn_with(wakes_and_is_late, ends[LEE_IMPORTER]);
    struct lee_pid *setter = lee_process_spawn(NULL, sets_limit, NULL, 0);
    CHECK(lee_process_wait(setter).how == LEE_RETURNED && lee_process_wait(caller).how == LEE_RETURNED);
    CHECK(lee_process_wait(bound).how == LEE_RETURNED);
    alarm(0);
}

/* Whoever is woken is in the queue of the worker that then calls C, or a function of the runtime that
 * waits as C does. */
static void wake_and_call(struct lee_endpoint *end, bool runs_program) {
    int64_t n = 0;
    for (int i = 0; i < 20; i++)
        lee_task_yield();
    for (int64_t end_of_spin = now() + 2000000; now() < end_of_spin;) /* idle workers fall asleep */
        ;
    lee_channel_send(end, PING, &n, sizeof n);
    if (runs_program) {
        CHECK(lee_system("sleep 1") == 0);
        atomic_store(&came_back, true);
    } else {
        lee_foreign_call(lasts, NULL);
    }
}

static int wakes_and_calls(void *argument) {
    struct lee_endpoint *end = *(struct lee_endpoint **)argument;
    wake_and_call(end, false);
    lee_channel_close(end);
    return 0;
}

/* What waits goes on while C runs for long on another worker, whether the other workers sleep or compute. */
static void test_foreign_beside(void) {
    if (UNDER_ASAN || KEEPS_THREADS) /* calls of C are not seen; who waits cannot go on elsewhere */
        return;
    for (int spinning = 0; spinning <= 4; spinning += 2) {
        struct lee_pid *spinners[4], *caller, *neighbour;
        expect_call();
        for (int i = 0; i < spinning; i++)
            spinners[i] = lee_process_spawn(NULL, spins, NULL, 0);
        neighbour = lee_process_spawn(NULL, is_delayed, NULL, 0);
        caller = lee_process_spawn(NULL, calls_c, NULL, 0);
        CHECK(lee_process_wait(neighbour).status == 0);
        lee_process_wait(caller);
        for (int i = 0; i < spinning; i++)
            lee_process_kill(spinners[i]);
    }
    enum { ANOTHER, FIRST, FIRST_RUNS_PROGRAM, WAYS };
    for (int way = ANOTHER; way < WAYS; way++) {
        struct lee_endpoint *ends[2];
        atomic_store(&went_on, false);
        atomic_store(&came_back, false);
        lee_channel_make(NULL, &pings, ends);
        struct lee_pid *woken = spawn_with(goes_on, ends[LEE_EXPORTER]);
        if (way != ANOTHER) {
            wake_and_call(ends[LEE_IMPORTER], way == FIRST_RUNS_PROGRAM);
            lee_channel_close(ends[LEE_IMPORTER]);
        } else {
            lee_process_wait(spawn_with(wakes_and_calls, ends[LEE_IMPORTER]));
        }
        CHECK(lee_process_wait(woken).status == 0);
    }
}

static atomic_int in_c;

static void lasts_with_others(void *argument) {
    atomic_fetch_add(&in_c, 1);
    lasts(argument);
}

/* On the worker that `argument` points to the number of, or on any. */
static int calls_c_on(void *argument) {
    struct timespec pause = {0, 100000};
    for (const int *number = argument; *number >= 0 && lee_process->worker->number != *number;)
        lee_nanosleep(&pause, NULL);
    lee_foreign_call(lasts_with_others, NULL);
    return 0;
}

/* Whether C came back before 20 short sleeps of the first process were over. With a neighbour it comes
 * back when that one has slept so often. */
static bool first_is_delayed(int callers, int number, bool neighbour) {
    struct lee_pid *pids[8];
    struct timespec pause = {0, 1000000};
    atomic_store(&in_c, 0);
    expect_call();
    if (neighbour)
        lee_process_spawn(NULL, is_delayed, NULL, 0);
    for (int i = 0; i < callers; i++)
        pids[i] = lee_process_spawn(NULL, calls_c_on, &number, sizeof number);
    while (atomic_load(&in_c) < callers && !atomic_load(&came_back))
        lee_nanosleep(&pause, NULL);
    for (int i = 0; i < 20; i++)
        lee_nanosleep(&pause, NULL);
    bool delayed = atomic_load(&came_back);
    atomic_store(&went_on, true);
    for (int i = 0; i < callers; i++)
        lee_process_wait(pids[i]);
    return delayed;
}

/* In a callback from C. */
static void waits_below_c(void *argument) {
    struct timespec pause = {0, 1000000};
    pthread_t thread = pthread_self();
    struct lee_pid *neighbour = lee_process_spawn(NULL, is_delayed, NULL, 0); /* ends C's call */
    *(bool *)argument = true;
    for (int i = 0; i < 30; i++) {
        lee_nanosleep(&pause, NULL);
        if (!pthread_equal(thread, pthread_self()))
            *(bool *)argument = false;
    }
    lee_process_wait(neighbour);
}

static bool first_stays_below_c(void) {
    bool stayed = false;
    int number = 0;
    expect_call();
    struct lee_pid *caller = lee_process_spawn(NULL, calls_c_on, &number, sizeof number);
    lee_foreign_call(waits_below_c, &stayed);
    lee_process_wait(caller);
    return stayed;
}

/* The first process goes on elsewhere while C lasts on its thread, whether the other workers sleep or
 * compute, and comes back afterwards; if C lasts on all workers, there is one more. It stays below frames
 * of C's, and if it asked for that. */
static void test_first_beside_c(void) {
    struct lee_pid *spinners[4];
    if (UNDER_ASAN || KEEPS_THREADS)
        return;
    pthread_t thread = pthread_self();
    for (int spinning = 0; spinning <= 4; spinning += 2) {
        for (int i = 0; i < spinning; i++)
            spinners[i] = lee_process_spawn(NULL, spins, NULL, 0);
        CHECK(!first_is_delayed(1, 0, false));
        for (int i = 0; i < spinning; i++)
            lee_process_kill(spinners[i]);
        lee_task_yield();
        CHECK(pthread_equal(thread, pthread_self()));
    }
    for (int callers = 2; callers <= 6; callers += 2)
        CHECK(!first_is_delayed(callers, -1, false));
    CHECK(first_stays_below_c());
    lee_process_keep_thread();
    CHECK(pthread_equal(thread, pthread_self()));
    CHECK(first_is_delayed(1, 0, true));
    CHECK(pthread_equal(thread, pthread_self()));
}

LEE_CODE static int calls_c_and_counts(void *argument) {
    lee_foreign_call(lasts_with_others, NULL);
    return counts_turns(argument);
}

static int sleeps_and_ends_call(void *argument) {
    struct timespec pause = {0, *(int *)argument};
    for (int i = 0; i < 40; i++) {
        lee_nanosleep(&pause, NULL);
        if (i == 20)
            atomic_store(&went_on, true);
    }
    return 7;
}

/* The additional worker that a call of C brought about may be the one that waits for events when the call
 * has returned and all others compute. What it finds is for them, and their timers rest. With one more to
 * compute, that one may have been stopped on the additional worker. */
static void test_additional_worker(int computing) {
    if (!STOPS || UNDER_ASAN || KEEPS_THREADS)
        return;
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    struct lee_pid *pids[9];
    alarm(100);
    atomic_store(&in_c, 0);
    expect_call();
    pids[0] = spawn_in(custodian, calls_c_and_counts, 0);
    while (atomic_load(&in_c) == 0)
        lee_nanosleep(&(struct timespec){0, 1000000}, NULL);
    for (int i = 1; i < computing; i++)
        pids[i] = spawn_in(custodian, counts_turns, i);
    CHECK(lee_process_wait(spawn_in(custodian, sleeps_and_ends_call, 2000000)).status == 7);
    CHECK(all_compute(computing));
    lee_custodian_shutdown(custodian);
    for (int i = 0; i < computing; i++)
        CHECK(lee_process_wait(pids[i]).how == LEE_LIMIT);
    alarm(0);
}

static atomic_bool ran_on;

static int calls_c_and_runs_on(void *argument) {
    (void)argument;
    lee_foreign_call(lasts, NULL);
    atomic_store(&ran_on, true);
    return 0;
}

/* The end of a process that is in a call of C comes after that, and is not waited for by what kills it. */
static void test_kill_in_c(void) {
    struct timespec pause = {0, 1000000};
    if (UNDER_ASAN || KEEPS_THREADS)
        return;
    for (int i = 0; i < 3; i++) {
        expect_call();
        struct lee_pid *caller = lee_process_spawn(NULL, calls_c_and_runs_on, NULL, 0);
        struct lee_pid *neighbour = lee_process_spawn(NULL, is_delayed, NULL, 0);
        while (!atomic_load(&called))
            lee_nanosleep(&pause, NULL);
        lee_process_kill(caller);
        lee_process_kill(caller);
        CHECK(!atomic_load(&came_back));
        CHECK(lee_process_wait(neighbour).status == 0);
        CHECK(lee_process_wait(caller).how == LEE_KILLED && atomic_load(&came_back));
    }
    CHECK(!atomic_load(&ran_on));
}

/* Stops all others, in each way that there is; none of that waits for the call of C that another process is
 * in. What is shut down and calls C ends after that. */
static void test_stop_beside_c(void) {
    struct timespec pause = {0, 1000000};
    if (UNDER_ASAN || KEEPS_THREADS)
        return;
    for (int i = 0; i < 3; i++) {
        struct lee_custodian *doomed = lee_custodian_new(NULL), *limited = lee_custodian_new(NULL);
        expect_call();
        struct lee_pid *caller = spawn_in(doomed, calls_c_and_runs_on, 0), *beside = spawn_in(doomed, spins, 0);
        struct lee_pid *neighbours[2] = {lee_process_spawn(NULL, yields, NULL, 0), lee_process_spawn(NULL, spins, NULL, 0)};
        while (!atomic_load(&called))
            lee_nanosleep(&pause, NULL);
        lee_custodian_limit(limited, 1 << 20, limited);
        CHECK(lee_process_wait(spawn_in(limited, grows, 0)).how == LEE_LIMIT);
        lee_process_kill(neighbours[0]);
        lee_process_kill(neighbours[1]);
        lee_custodian_shutdown(doomed);
        CHECK(lee_process_wait(beside).how == LEE_LIMIT);
        CHECK(!atomic_load(&came_back));
        atomic_store(&went_on, true);
        CHECK(lee_process_wait(caller).how == LEE_LIMIT && atomic_load(&came_back));
        CHECK(lee_custodian_charged(doomed) == 0);
    }
    CHECK(!atomic_load(&ran_on));
}

static atomic_long ticks; /* of a task */

static void ticks_on(void *argument) {
    (void)argument;
    for (;; lee_task_yield())
        atomic_fetch_add(&ticks, 1);
}

/* Its end is closed when it is over. */
static int grows_beside_c(void *argument) {
    while (!atomic_load(&called))
        lee_nanosleep(&(struct timespec){0, 1000000}, NULL);
    return grows(argument);
}

/* Its custodian is shut down by another process while it calls C: the task there ends after that. */
static int has_task_shut_beside_c(void *argument) {
    struct lee_custodian *inner = lee_custodian_new(NULL), *before = lee_custodian_enter(inner);
    lee_custodian_limit(inner, 1 << 20, inner);
    void *task = lee_task_start(NULL, ticks_on, NULL, 0);
    lee_task_yield();
    struct lee_pid *growing = spawn_with(grows_beside_c, *(struct lee_endpoint **)argument);
    lee_custodian_enter(before);
    lee_foreign_call(lasts, NULL);
    lee_task_yield();
    bool shut = lee_custodian_is_shut(inner), ended = lee_process_wait(growing).how == LEE_LIMIT;
    bool joined = lee_task_join(task);
    long had = atomic_load(&ticks);
    lee_task_yield();
    return shut && ended && !joined && had > 0 && atomic_load(&ticks) == had ? 3 : 4;
}

static void test_maker_in_c(void) {
    struct lee_endpoint *ends[2];
    if (UNDER_ASAN || KEEPS_THREADS)
        return;
    for (int i = 0; i < 3; i++) {
        expect_call();
        lee_channel_make(NULL, &pings, ends);
        struct lee_pid *maker = spawn_with(has_task_shut_beside_c, ends[LEE_IMPORTER]);
        while (lee_channel_head(ends[LEE_EXPORTER]) != LEE_CLOSED)
            lee_nanosleep(&(struct timespec){0, 1000000}, NULL);
        CHECK(!atomic_load(&came_back));
        atomic_store(&went_on, true);
        CHECK(lee_process_wait(maker).status == 3);
        lee_channel_close(ends[LEE_EXPORTER]);
    }
}

static void sleeps_in_c(void *pause) {
    nanosleep(pause, NULL);
}

static int sleeps_twice_in_c(void *argument) {
    (void)argument;
    for (int i = 0; i < 2; i++)
        lee_foreign_call(sleeps_in_c, &(struct timespec){1, 0});
    return 7;
}

/* While its call of C sleeps, a process does not run. */
static void test_time_in_c(void) {
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    if (UNDER_ASAN)
        return;
    CHECK(lee_process_wait(spawn_in(custodian, sleeps_twice_in_c, 0)).status == 7);
    CHECK(lee_custodian_time(custodian) < 1000000000);
}

static int calls_for_ever(void *argument) {
    (void)argument;
    for (;;)
        lee_foreign_call(sleeps_in_c, &(struct timespec){0, 5000000});
    return 0;
}

static atomic_long spun;

LEE_CODE static int spins_and_counts(void *argument) {
    (void)argument;
    for (;; pass())
        atomic_fetch_add_explicit(&spun, 1, memory_order_relaxed);
    return 0;
}

/* A process that was stopped in its own code has a turn between the calls of C of one that never waits
 * otherwise. Only the thread that it was stopped on can run it. */
static void test_stopped_beside_c(void) {
    struct timespec pause = {0, 20000000};
    if (UNDER_ASAN || KEEPS_THREADS)
        return;
    struct lee_pid *pids[2] = {lee_process_spawn(NULL, spins_and_counts, NULL, 0), lee_process_spawn(NULL, calls_for_ever, NULL, 0)};
    int went_on_in = 0;
    for (int i = 0; i < 20; i++) {
        long before = atomic_load(&spun);
        lee_nanosleep(&pause, NULL);
        went_on_in += atomic_load(&spun) != before;
    }
    CHECK(went_on_in >= 5);
    for (int i = 0; i < 2; i++)
        lee_process_kill(pids[i]);
}

static int64_t time_of_shares(void) {
    lee_lock();
    int64_t time = lee_share_root()->floor;
    lee_unlock();
    return time;
}

/* What the first process uses between waits counts although no process with a share can run then. Else all
 * that begin to run would be before it, by all that it has used. */
static void uses_before_waits(void *argument) {
    (void)argument;
    setenv("LEE_WORKERS", "3", 1);
    lee_start(0, NULL);
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    CHECK(lee_process_wait(spawn_in(custodian, returns, 7)).status == 7);
    int64_t before = time_of_shares();
    for (int i = 0; i < 20; i++) {
        for (int64_t end = now() + 1000000; now() < end;)
            pass();
        lee_nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    _exit(time_of_shares() - before > 10000000 ? 3 : 4);
}

/* The same of what it uses while it does not wait: one that begins to run then has a turn, and not all that
 * time. With an argument there is a pool, and no process with a share ran before. */
static void uses_and_yields(void *argument) {
    setenv("LEE_WORKERS", "1", 1);
    lee_start(0, NULL);
    struct lee_custodian *custodian = lee_custodian_new(NULL), *other = lee_custodian_new(NULL);
    CHECK(lee_process_wait(spawn_in(other, returns, 7)).status == 7);
    if (argument != NULL) {
        struct lee_pid *yielding = lee_process_spawn(NULL, yields, NULL, 0);
        CHECK(!first_is_delayed(1, -1, false) && lee_many);
        lee_process_kill(yielding);
    }
    for (int64_t end = now() + 1000000000; now() < end;)
        pass();
    spawn_in(custodian, spins, 0);
    for (int i = 0; i < 3; i++)
        lee_task_yield();
    _exit(lee_custodian_time(custodian) < 500000000 ? 3 : 4);
}

static void test_use_before_waits(void) {
    struct child child;
    run_child(&child, uses_before_waits, NULL);
    CHECK(child.status == 3);
    if (!STOPS)
        return;
    run_child(&child, uses_and_yields, NULL);
    CHECK(child.status == 3);
    if (UNDER_ASAN || KEEPS_THREADS)
        return;
    run_child(&child, uses_and_yields, "pool");
    CHECK(child.status == 3);
}

static void waits_for_nothing(void *argument) {
    (void)argument;
    struct lee_endpoint *ends[2];
    setenv("LEE_WORKERS", "3", 1);
    lee_start(0, NULL);
    lee_process_wait(lee_process_spawn(NULL, sleeps, &(int){1000}, sizeof(int)));
    lee_channel_make(NULL, &pings, ends);
    lee_channel_receive(NULL, ends[0], PING, NULL, 0);
}

/* `argument`: null, "fault", or "early". */
static void ends_while_others_run(void *argument) {
    const char *how = argument != NULL ? argument : "";
    setenv("LEE_WORKERS", "3", 1);
    lee_start(0, NULL);
    if (strcmp(how, "early") == 0 && STOPS) {
        /* The first slice ends before there is a pool, so the timer is stopped. */
        lee_preempt_begin();
        raise(LEE_SIGNAL_SLICE);
    }
    for (int i = 0; i < 4; i++)
        lee_process_spawn(NULL, i % 2 == 0 ? spins : churns, NULL, 0);
    for (int i = 0; i < 10; i++)
        lee_task_yield();
    if (strcmp(how, "fault") == 0)
        lee_fault_message(NULL, "on purpose");
    if (UNDER_ASAN) /* which takes what those have that run for lost */
        _exit(3);
    exit(3);
}

/* Fewer workers than processes that call C, and all others go on. With an argument those that compute
 * yield all the time: no slice of theirs ends. */
static void goes_on_beside_c(void *argument) {
    bool delayed = false;
    setenv("LEE_WORKERS", "2", 1);
    lee_start(0, NULL);
    for (int spinning = 0; spinning <= 2; spinning++) {
        for (int callers = 1; callers <= 3; callers++)
            delayed |= first_is_delayed(callers, -1, false);
        lee_process_spawn(NULL, argument != NULL ? yields : spins, NULL, 0);
    }
    _exit(delayed ? 4 : 3);
}

static void test_two_workers(void) {
    struct child child;
    if (UNDER_ASAN || KEEPS_THREADS)
        return;
    run_child(&child, goes_on_beside_c, NULL);
    CHECK(child.status == 3);
    run_child(&child, goes_on_beside_c, "yields");
    CHECK(child.status == 3);
}

/* One worker: there is a pool from the first call of C on for which others would wait. They waited in all
 * kinds of ways before that. */
static void one_goes_on_beside_c(void *argument) {
    struct lee_endpoint *ends[2];
    bool delayed = false;
    setenv("LEE_WORKERS", "1", 1);
    lee_start(0, NULL);
    test_moves();
    test_waits();
    CHECK(!lee_many);
    lee_channel_make(NULL, &pings, ends);
    struct lee_pid *woken = spawn_with(goes_on, ends[LEE_EXPORTER]), *yielding = lee_process_spawn(NULL, yields, NULL, 0);
    lee_task_yield();
    delayed |= first_is_delayed(1, -1, false);
    CHECK(lee_many);
    expect_call();
    wake_and_call(ends[LEE_IMPORTER], false);
    delayed |= lee_process_wait(woken).status != 0;
    lee_process_kill(yielding);
    for (int spinning = 0; spinning <= 2; spinning++) {
        for (int callers = 1; callers <= 3; callers++)
            delayed |= first_is_delayed(callers, -1, false);
        lee_process_spawn(NULL, argument != NULL ? yields : spins, NULL, 0);
    }
    test_foreign_beside();
    test_kill_in_c();
    test_stop_beside_c();
    test_maker_in_c();
    fflush(stdout);
    _exit(delayed || check_failures > 0 ? 4 : 3);
}

/* Slices of the thread's processor time, of which a call of C that sleeps takes nothing. */
static void has_turns_between_calls(void *argument) {
    (void)argument;
    setenv("LEE_WORKERS", "1", 1);
    if (STOPS)
        setenv("LEE_SLICE", "5000", 1);
    lee_start(0, NULL);
    test_stopped_beside_c();
    fflush(stdout);
    _exit(check_failures > 0 ? 4 : 3);
}

static void test_one_worker(void) {
    struct child child;
    if (UNDER_ASAN || KEEPS_THREADS)
        return;
    run_child(&child, one_goes_on_beside_c, NULL);
    CHECK(child.status == 3);
    run_child(&child, one_goes_on_beside_c, "yields");
    CHECK(child.status == 3);
    run_child(&child, has_turns_between_calls, NULL);
    CHECK(child.status == 3);
}

static void test_program_ends(void) {
    struct child child;
    run_child(&child, waits_for_nothing, NULL);
    check_holds("deadlock", child.output, "deadlock: every task of every process waits");
    run_child(&child, ends_while_others_run, "early");
    CHECK(child.status == 3);
    for (int i = 0; i < 5; i++) {
        run_child(&child, ends_while_others_run, NULL);
        CHECK(child.status == 3);
        run_child(&child, ends_while_others_run, "fault");
        check_holds("fault", child.output, "on purpose");
    }
}

static void show(const char *what) {
    if (getenv("WORKER_TEST_SHOW") != NULL)
        printf("%s\n", what), fflush(stdout);
}

int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 1;
    setenv("LEE_SLICE", STOPS ? "200" : "0", 1);
    test_program_ends();
    test_use_before_waits();
    test_two_workers();
    test_one_worker();
    setenv("LEE_WORKERS", "3", 0);
    lee_start(0, NULL);
    test_at_once();
    show("at_once");
    CHECK(lee_many);
    test_round_trips(2000 * times);
    show("round_trips");
    test_moves();
    show("moves");
    test_turns_of_who_stays();
    show("turns_of_who_stays");
    test_turns_beside_one();
    show("turns_beside_one");
    test_waits();
    show("waits");
    test_events(5000 * times);
    show("events");
    test_foreign_beside();
    show("foreign_beside");
    test_kill_in_c();
    show("kill_in_c");
    test_stop_beside_c();
    show("stop_beside_c");
    test_maker_in_c();
    show("maker_in_c");
    test_time_in_c();
    show("time_in_c");
    test_first_beside_c();
    show("first_beside_c");
    for (int computing = 3; computing <= 5; computing++)
        test_additional_worker(computing);
    show("additional_worker");
    test_callback_beside_stop();
    show("callback_beside_stop");
    test_kills(200 * times);
    show("kills");
    test_killers(20 * times);
    show("killers");
    test_custodians(3 * times);
    show("custodians");
    return check_end();
}
