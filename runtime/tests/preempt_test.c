/* Processes that never wait: they are stopped wherever they compute, go on with all registers as
 * they were, and can be killed there.
 *
 * `preempt_test N SEED` does N times the kills. LEE_SLICE says how long a slice is; 50 microseconds
 * here. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lee/arena.h>
#include <lee/cells.h>
#include <lee/collect.h>
#include <lee/delta.h>
#include <lee/foreign.h>
#include <lee/heap.h>
#include <lee/io.h>
#include <lee/lee.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/collect.h"
#include "../src/io_library.h"
#include "../src/poison.h"
#include "../src/preempt.h"
#include "../src/process.h"
#include "../src/units.h"
#include "check.h"

/* With several workers a process may compute alone, and is not stopped. */
static bool one_worker(void) {
    const char *workers = getenv("LEE_WORKERS");
    return workers != NULL && strcmp(workers, "1") == 0;
}

/* Shared by all processes: it is not in the sections of LEE_IN_GLOBALS. */
static volatile uint64_t turns[8];

/* --- progress -------------------------------------------------------------------------------- */

LEE_CODE static int spins(void *argument) {
    int number = *(int *)argument;
    for (;;)
        turns[number]++;
    return 0;
}

LEE_CODE static int spins_without_memory(void *argument) {
    (void)argument;
    for (;;)
        __asm__ volatile("");
    return 0;
}

LEE_CODE static int copies(void *argument) {
    static unsigned char from[1 << 20], to[1 << 20];
    (void)argument;
    for (;;) {
        memcpy(to, from, sizeof to);
        __asm__ volatile("" ::"r"(to) : "memory");
    }
    return 0;
}

/* Returns when others have had their turns: none of them gives way by itself. */
static void test_turns(int (*entry)(void *), bool counts) {
    struct lee_pid *pids[4];
    for (int i = 0; i < 4; i++) {
        turns[i] = 0;
        pids[i] = lee_process_spawn(NULL, entry, &i, sizeof i);
    }
    for (int round = 0; round < 10; round++)
        lee_task_yield();
    for (int i = 0; i < 4; i++) {
        CHECK(!counts || turns[i] > 0);
        lee_process_kill(pids[i]);
        CHECK(lee_process_wait(pids[i]).how == LEE_KILLED);
    }
}

/* A process that is nearly always in `memcpy` is stopped there (preempt_leaf.c). Else it is met in its own
 * code only by chance, after some thousand tries: a slice that never seems to end. */
static void test_copies(void) {
    uint64_t stops = lee_preempt_stops, misses = lee_preempt_misses;
    test_turns(copies, false);
#ifdef __x86_64__
    CHECK(lee_preempt_misses - misses <= 100 * (lee_preempt_stops - stops) + 1000);
#else
    (void)stops, (void)misses;
#endif
}

/* One who waits for a time, or for a descriptor, gets its turn, too. */
static void test_waits_beside(void) {
    int number = 0, ends[2];
    char byte = 0;
    struct lee_pid *pid = lee_process_spawn(NULL, spins, &number, sizeof number);
    struct timespec pause = {0, 3000000};
    for (int i = 0; i < 5; i++)
        CHECK(lee_nanosleep(&pause, NULL) == 0);
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    CHECK(lee_read(ends[0], &byte, 1) == 1 && byte == 'x');
    lee_process_kill(pid);
    close(ends[0]);
    close(ends[1]);
}

/* --- what comes from outside ------------------------------------------------------------------ */

enum { BYTES = 200 };

static void sleeps(void *interrupted) {
    struct timespec pause = {0, 1000000};
    for (int i = 0; i < 20; i++)
        *(int *)interrupted += nanosleep(&pause, NULL) != 0;
}

/* C code that waits is not interrupted. */
LEE_CODE static int sleeps_in_c(void *argument) {
    int interrupted = 0;
    (void)argument;
    for (int i = 0; i < 20; i++)
        lee_foreign_call(sleeps, &interrupted);
    return interrupted;
}

static const struct timespec half_millisecond = {0, 500000};

static void start_writer(int to) {
    pid_t writer = fork();
    if (writer != 0)
        return;
    for (int i = 0; i < BYTES; i++) {
        nanosleep(&half_millisecond, NULL);
        if (write(to, "x", 1) != 1)
            _exit(1);
    }
    _exit(0);
}

/* Slices of a second: whoever waits goes on when something came, all the same. The kernel tells of
 * what comes on a descriptor that the program made. */
static void test_looks(void) {
    int number = 0, ends[2], own[2];
    char byte = 0;
    CHECK(pipe(ends) == 0 && lee_pipe(own) == 0);
    start_writer(ends[1]);
    setenv("LEE_SLICE", "1000000", 1);
    alarm(100);
    struct lee_pid *c = lee_process_spawn(NULL, sleeps_in_c, NULL, 0);
    for (int i = 0; i < 50; i++) /* of many waits one is at each look */
        CHECK(lee_nanosleep(&half_millisecond, NULL) == 0);
    struct lee_process_end end = lee_process_wait(c);
    CHECK(end.how == LEE_RETURNED && (end.status == 0 || UNDER_ASAN)); /* there C has no stack of its own */
    struct lee_pid *pids[3]; /* whoever waited comes before all that compute */
    for (int i = 0; i < 3; i++)
        pids[i] = lee_process_spawn(NULL, spins, &number, sizeof number);
    for (int i = 0; i < BYTES; i++)
        CHECK(lee_read(ends[0], &byte, 1) == 1 && byte == 'x');
    CHECK(lee_preempt_events == 0);
    start_writer(own[1]);
    for (int i = 0; i < BYTES; i++)
        CHECK(lee_read(own[0], &byte, 1) == 1 && byte == 'x');
    CHECK(lee_preempt_events > 0 || !one_worker());
    for (int i = 0; i < BYTES; i++)
        CHECK(lee_nanosleep(&half_millisecond, NULL) == 0);
    for (int i = 0; i < 3; i++)
        lee_process_kill(pids[i]);
    exit(check_end());
}

/* The length of slices is the program's, so this is one of its own. */
static void test_looks_alone(void) {
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        test_looks();
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- registers ------------------------------------------------------------------------------- */

enum { WORDS = 64 };

/* Keeps many values in registers of all kinds; the result tells if one was lost. `vec` begins so.
 * */
LEE_CODE __attribute__((noinline)) static uint64_t work(uint64_t seed, long rounds) {
    double sums[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t words[WORDS], a = seed, b = ~seed, c = seed * 3, d = seed ^ 77, e = 5, f = 6, g = 7;
    for (int i = 0; i < WORDS; i++)
        words[i] = seed + (uint64_t)i * 0x9e3779b97f4a7c15u;
    for (long n = 0; n < rounds; n++) {
        for (int i = 0; i < WORDS; i++)
            words[i] = words[i] * 5 + (words[(i + 1) % WORDS] >> 3);
        for (int i = 0; i < 8; i++)
            sums[i] = sums[i] * 1.0000001 + (double)(i + 1) / 3;
        a += b ^ (c << 7);
        b = (b >> 5) + d * 3;
        c -= a + e;
        d ^= f + (a > b);
        e += g * 9;
        f = f * 31 + c;
        g ^= d >> 11;
    }
    uint64_t result = a ^ b ^ c ^ d ^ e ^ f ^ g;
    for (int i = 0; i < WORDS; i++)
        result = result * 31 + words[i];
    for (int i = 0; i < 8; i++) {
        uint64_t bits;
        memcpy(&bits, &sums[i], sizeof bits);
        result = result * 31 + bits;
    }
    return result;
}

struct job {
    uint64_t seed, expected;
    long rounds;
};

LEE_CODE static int works(void *argument) {
    struct job job = *(struct job *)argument;
    return work(job.seed, job.rounds) == job.expected ? 0 : 1;
}

static void test_registers(void) {
    struct lee_pid *pids[8];
    uint64_t before = lee_preempt_stops;
    long rounds = UNDER_ASAN ? 20000 : 100000;
    for (int i = 0; i < 8; i++) {
        struct job job = {.seed = random_number(), .rounds = rounds};
        job.expected = work(job.seed, job.rounds);
        pids[i] = lee_process_spawn(NULL, works, &job, sizeof job);
    }
    for (int i = 0; i < 8; i++)
        CHECK(lee_process_wait(pids[i]).status == 0);
    CHECK(!one_worker() || lee_preempt_stops > before + 8);
}

/* --- kills ----------------------------------------------------------------------------------- */

struct node {
    struct node *next;
    size_t value;
};
static const struct lee_layout node_layout = {.bytes = sizeof(struct node), .words = 1, .name = "node"};

/* Allocates by the inline ways, frees, uses an arena, prints, and never waits. */
LEE_CODE static int churns(void *argument) {
    uint64_t state = *(uint64_t *)argument;
    struct node *kept = NULL;
    struct lee_file *f = lee_io_fopen("/dev/null", "w");
    for (size_t n = 0;; n++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        struct node *node = lee_new_typed(&node_layout, LEE_TYPED, sizeof *node, false);
        if (node == NULL)
            return 1;
        node->next = state % 5 == 0 ? NULL : kept;
        node->value = n;
        kept = node;
        void *plain = lee_new_plain(48, false, true);
        if (plain != NULL && state % 3 != 0)
            lee_cell_free(plain, LEE_PLAIN, lee_class_of(48), lee_class_bytes(lee_class_of(48)));
        if (state % 64 == 1) {
            struct lee_arena arena;
            lee_arena_begin(&arena);
            for (int i = 0; i < 100; i++)
                memset(lee_arena_alloc(NULL, &arena, 40, 8), 1, 40);
            lee_arena_end(&arena);
        }
        if (state % 256 == 2)
            lee_io_fprintf(f, "%zu", n);
        for (const struct node *at = kept; at != NULL && at->next != NULL; at = at->next) {
            if (at->value <= at->next->value)
                return 2;
        }
    }
}

/* They are killed after some random number of slices, where the clock happened to stop them. */
static void test_kills(int count) {
    enum { ALIVE = 6 };
    struct lee_pid *pids[ALIVE];
    size_t charged = 0;
    for (int i = 0; i < ALIVE; i++) {
        uint64_t seed = random_number();
        pids[i] = lee_process_spawn(NULL, churns, &seed, sizeof seed);
    }
    for (int n = 0; n < count; n++) {
        for (uint64_t i = random_number() % 3; i > 0; i--)
            lee_task_yield();
        int victim = (int)(random_number() % ALIVE);
        uint64_t seed = random_number();
        lee_process_kill(pids[victim]);
        struct lee_process_end end = lee_process_wait(pids[victim]);
        CHECK(end.how == LEE_KILLED);
        pids[victim] = lee_process_spawn(NULL, churns, &seed, sizeof seed);
        if (n == count / 4)
            charged = lee_memory_charged();
    }
    for (int i = 0; i < ALIVE; i++)
        lee_process_kill(pids[i]);
    lee_collect();
    lee_heap_idle(lee_heap_self());
    CHECK(lee_memory_charged() <= charged + (256 << 10));
    CHECK(lee_heap_validate(lee_heap_self()) == NULL);
}

/* --- the collector --------------------------------------------------------------------------- */

enum { NODES = UNDER_ASAN ? 60000 : 300000, MORE = 50 };

/* Collects what it made again and again, and up to so many times as often if it has not been stopped
 * twice for each: how long one collection takes depends on the machine. All that it made is there
 * afterwards. */
LEE_CODE static int marks(void *argument) {
    int rounds = *(int *)argument;
    struct node *kept = NULL;
    for (size_t i = 0; i < NODES; i++) {
        struct node *node = lee_new_typed(&node_layout, LEE_TYPED, sizeof *node, false);
        node->next = kept;
        node->value = i;
        kept = node;
    }
    uint64_t before = lee_preempt_stops;
    turns[0] = 1;
    for (int64_t i = 0; i < rounds || (lee_preempt_stops - before <= 2 * (uint64_t)rounds && i < MORE * (int64_t)rounds); i++)
        lee_collect();
    turns[1] = lee_preempt_stops - before;
    turns[2] = 1;
    size_t count = 0;
    for (const struct node *at = kept; at != NULL; at = at->next)
        count += at->value == NODES - 1 - count;
    return count == NODES ? lee_heap_validate(lee_heap_self()) == NULL : 2;
}

static struct lee_pid *start_marking(int rounds) {
    const struct timespec pause = {0, 1000000};
    turns[0] = turns[2] = 0;
    struct lee_pid *pid = lee_process_spawn(NULL, marks, &rounds, sizeof rounds);
    while (turns[0] == 0)
        CHECK(lee_nanosleep(&pause, NULL) == 0);
    return pid;
}

/* Whoever waits beside a process that collects does not wait for the end of its marking. Only that one
 * can be stopped here, and hardly elsewhere. */
static void test_marking(void) {
    enum { ROUNDS = 20 };
    const struct timespec pause = {0, 100000};
    struct lee_pid *pid = start_marking(ROUNDS);
    while (turns[2] == 0)
        CHECK(lee_nanosleep(&pause, NULL) == 0);
    CHECK(lee_process_wait(pid).status == 1);
    CHECK(!one_worker() || turns[1] > 2 * ROUNDS);
}

/* One that is ended where it marks leaves nothing behind. */
static void test_kills_in_marking(int count) {
    size_t charged = 0;
    for (int i = 0; i < count; i++) {
        struct timespec pause = {0, (long)(random_number() % 400000)};
        struct lee_pid *pid = start_marking(1 << 30);
        CHECK(lee_nanosleep(&pause, NULL) == 0);
        lee_process_kill(pid);
        CHECK(lee_process_wait(pid).how == LEE_KILLED);
        if (i == count / 4)
            charged = lee_memory_charged();
    }
    lee_collect();
    lee_heap_idle(lee_heap_self());
    CHECK(lee_memory_charged() <= charged + (256 << 10));
}

/* --- the first process ----------------------------------------------------------------------- */

static volatile int told; /* gcc 12 with UBSan reads a volatile `bool` once */

LEE_CODE static int tells(void *argument) {
    (void)argument;
    told = 1;
    return 0;
}

LEE_CODE __attribute__((noinline)) static void spin_until_told(void) {
    while (told == 0)
        ;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : UNDER_ASAN ? 200 : 1000;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 0) : random_state;
    lee_start(0, NULL);
    test_looks_alone();
    setenv("LEE_SLICE", "50", 1);
    lee_process_spawn(NULL, tells, NULL, 0);
    spin_until_told();
    test_turns(spins, true);
    test_turns(spins_without_memory, false);
    test_waits_beside();
    test_registers();
    test_kills(count);
    test_marking();
    test_kills_in_marking(count / 50 + 2);
    if (!UNDER_ASAN) /* whose memcpy is not libc's */
        test_copies();
    if (getenv("PREEMPT_TEST_SHOW") != NULL)
        printf("%lu stops, %lu misses\n", (unsigned long)lee_preempt_stops, (unsigned long)lee_preempt_misses);
    return check_end();
}
