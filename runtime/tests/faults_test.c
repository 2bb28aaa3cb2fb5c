/* Who faults very often pays for it: 10,000 processes that fault have 1 % of the processor beside a neighbour who has 99, all ends
 * are seen, few are reported, and memory is back. Times are the thread's processor time, so it does not matter how busy the
 * machine is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lee/collect.h>
#include <lee/custodian.h>
#include <lee/delta.h>
#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/lee.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/custodian.h"
#include "../src/io_library.h"
#include "../src/process.h"
#include "../src/report_out.h"
#include "../src/share.h"
#include "../src/units.h"
#include "check.h"
#include "tenants.h"

enum {
    FAULTS = UNDER_ASAN ? 1000 : 10000,
    PLACES = 2000, /* more than are told apart */
    TIMES = 5, MOST = 64 * TIMES + 64 * TIMES /* of one place, and of all, as report.c has it */
};

static uint64_t processor_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* How often anybody but the neighbour has run, and for how long the neighbour did: what passes between two looks of it is its own
 * if nobody else ran. So this does not depend on what the runtime charges. */
static volatile unsigned others_ran;
static uint64_t really;

LEE_CODE static int spins(void *arguments) {
    (void)arguments;
    uint64_t last = processor_time();
    for (unsigned seen = others_ran;;) {
        lee_task_end_slice();
        unsigned runs;
        uint64_t now;
        do {
            runs = others_ran;
            now = processor_time();
        } while (runs != others_ran); /* it was stopped in between */
        really += runs == seen ? now - last : 0;
        last = now;
        seen = runs;
    }
    return 0;
}

static int faults(void *arguments) {
    struct lee_site site = {.file = "tenant.lee", .line = *(unsigned *)arguments};
    others_ran++;
    lee_heap_alloc(NULL, 100);
    lee_fault_message(&site, "on purpose");
    return 0;
}

struct job {
    int count, places;
    int seen; /* ends of processes that faulted */
};

static int spawns(void *arguments) {
    struct job *job = *(struct job **)arguments;
    for (int i = 0; i < job->count; i++) {
        others_ran++;
        unsigned line = 1 + (unsigned)(i % job->places);
        struct lee_pid *pid = lee_process_spawn(NULL, faults, &line, sizeof line);
        others_ran++;
        struct lee_process_end end = lee_process_wait(pid);
        job->seen += end.how == LEE_FAULTED && strcmp(end.message, "on purpose") == 0;
    }
    others_ran++;
    return 0;
}

struct outcome {
    int seen, reported;
    uint64_t all, really, charged_to_neighbour, charged_to_faulter;
};

/* The faulter has `weight` of 100, the neighbour the rest. */
static struct outcome run(int count, int places, int weight) {
    FILE *reports = tmpfile();
    int before = dup(STDERR_FILENO);
    CHECK(reports != NULL && dup2(fileno(reports), STDERR_FILENO) == STDERR_FILENO);
    struct lee_custodian *faulter = lee_custodian_new(NULL), *neighbour = lee_custodian_new(NULL);
    lee_custodian_share(faulter, weight);
    lee_custodian_share(neighbour, 100 - weight);
    struct job job = {.count = count, .places = places}, *to = &job;
    really = 0;
    lee_share_skip();
    uint64_t began = processor_time();
    spawn_in(neighbour, spins, NULL, 0);
    lee_process_wait(spawn_in(faulter, spawns, &to, sizeof to));
    lee_share_note();
    struct outcome outcome = {job.seen, 0, processor_time() - began, really, neighbour->group->share.ran, faulter->group->share.ran};
    lee_custodian_shutdown(neighbour);
    CHECK(is_empty(faulter) && is_empty(neighbour));
    lee_custodian_shutdown(faulter);
    outcome.reported = reported(reports);
    dup2(before, STDERR_FILENO);
    close(before);
    fclose(reports);
    return outcome;
}

static void check(const char *what, const struct outcome *had, int count, int percent, int off) {
    int share = (int)(1000 * had->really / had->all);
    bool good = had->seen == count && share >= 10 * (percent - off) && share <= 10 * (percent + off);
    /* All of it is charged to somebody, and to the right one. */
    uint64_t charged = had->charged_to_neighbour + had->charged_to_faulter;
    good = good && charged >= had->all / 100 * 97 && charged <= had->all / 100 * 103;
    if (!good || getenv("LEE_TEST_SHOW") != NULL)
        printf("%s: %d ends seen, %d reported; of %llu us the neighbour had %d per mille, was charged %llu us, the faulter %llu\n", what,
               had->seen, had->reported, (unsigned long long)had->all / 1000, share,
               (unsigned long long)had->charged_to_neighbour / 1000, (unsigned long long)had->charged_to_faulter / 1000);
    CHECK(good);
}

/* --- nobody reads them ------------------------------------------------------------------------- */

static int has_much_to_say(void *arguments) {
    struct lee_site site = {.file = "tenant.lee", .line = *(unsigned *)arguments};
    char message[300];
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = 0;
    lee_fault_message(&site, message);
    return 0;
}

static int count_of(const char *text, const char *what) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* Standard error is a pipe that is full. All ends are seen; of the reports as much is kept as there is
 * room for, and comes once somebody reads. */
static void nobody_reads(void *argument) {
    enum { PROCESSES = 600, ALL = 1 << 20 };
    static char all[ALL], some[4096];
    int pipes[2], seen = 0;
    (void)argument;
    CHECK(pipe2(pipes, O_NONBLOCK) == 0 && dup2(pipes[1], STDERR_FILENO) == STDERR_FILENO);
    while (write(pipes[1], some, sizeof some) > 0)
        ;
    fcntl(STDERR_FILENO, F_SETFL, 0);
    for (unsigned line = 1; line <= PROCESSES; line++)
        seen += lee_process_wait(lee_process_spawn(NULL, has_much_to_say, &line, sizeof line)).how == LEE_FAULTED;
    CHECK(seen == PROCESSES);
    size_t had = 0, begun = 0;
    for (int turns = 0; turns < 1000 && strstr(all + begun, "left out") == NULL; turns++) {
        struct timespec pause = {0, 10000000};
        ssize_t got = read(pipes[0], all + had, ALL - 1 - had);
        had += got > 0 ? (size_t)got : 0;
        while (begun < had && all[begun] == 0) /* what filled it */
            begun++;
        if (got <= 0)
            lee_nanosleep(&pause, NULL);
    }
    int reports = count_of(all + begun, ": fault: mmm");
    if (getenv("LEE_TEST_SHOW") != NULL)
        printf("nobody reads: %d of %d reports\n", reports, PROCESSES);
    CHECK(reports >= LEE_REPORTS_KEPT / 1000 && reports <= LEE_REPORTS_KEPT / 300);
    CHECK(count_of(all + begun, "of reports of faults were left out: standard error was not read\n") == 1);
    CHECK(strncmp(all + begun, "tenant.lee:1: fault: mmm", 24) == 0);
    fflush(stdout);
    _exit(check_failures > 0);
}

int main(int argc, char **argv) {
    lee_start(argc, argv);
    struct child child;
    run_child(&child, nobody_reads, NULL);
    CHECK(child.status == 0);
    lee_share_clock = processor_time;
    run(50, 50, 50); /* what is read once of the program's tables is there */
    lee_collect();
    size_t charged = lee_memory_charged();
    /* Reports are most of what this takes, so if nobody were charged for them the neighbour had less than half. */
    struct outcome had = run(UNDER_ASAN ? 200 : PLACES, PLACES, 50);
    check("reports", &had, UNDER_ASAN ? 200 : PLACES, 50, 10);
    CHECK(had.reported <= MOST);
    had = run(FAULTS, 1, 1);
    check("faults at one place", &had, FAULTS, 99, 3);
    CHECK(had.reported <= TIMES);
    lee_collect();
    CHECK(lee_memory_charged() <= charged + (256 << 10));
    return check_end();
}
