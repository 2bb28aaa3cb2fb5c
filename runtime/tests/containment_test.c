/* What must be whole again after processes end in bad moments: many ends of channels, messages on
 * their way in both directions, many connections, very many reports and ends of all kinds.
 *
 * A million spawns, faults and kills; with a sanitizer or under an emulator only by
 * `containment_test long`. CONTAINMENT_TEST_SHOW=1 prints what memory is left. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <lee/channel.h>
#include <lee/collect.h>
#include <lee/custodian.h>
#include <lee/heap.h>
#include <lee/io.h>
#include <lee/lee.h>
#include <lee/owned.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/heap.h"
#include "../src/io_library.h"
#include "../src/process.h"
#include "../src/reactor.h"
#include "../src/units.h"
#include "check.h"
#include "tenants.h"
#include "connections.h"

/* --- channels -------------------------------------------------------------------------------- */

struct carried {
    struct lee_endpoint *end;
};

static void drop_carried(struct lee_work *work, void *element) {
    lee_push_endpoint(work, ((struct carried *)element)->end);
}

#if UNDER_ASAN || defined(LEE_TSAN) || !defined(__x86_64__)
#define IS_SLOW true
#else
#define IS_SLOW false
#endif

enum { PLAIN = 1, CARRY };
static const struct lee_owned carried_owned = {.size = sizeof(struct carried), .drop = drop_carried};
static const struct lee_owned *const owned[] = {NULL, &carried_owned};
static const char *const titles[] = {"Plain", "Carry"};
static const struct lee_contract carriers = {.name = "Carriers",
                                             .places = {4, 4},
                                             .bytes = sizeof(struct carried),
                                             .messages = 2,
                                             .titles = titles,
                                             .owned = owned};

static struct lee_pid *spawn_with(int (*entry)(void *), struct lee_endpoint *end) {
    struct carried given = {end};
    return lee_process_spawn_with(NULL, entry, &given, sizeof given, &carried_owned, false);
}

static void carry(struct lee_endpoint *over, struct lee_endpoint *end) {
    struct carried carried = {end};
    lee_channel_send(over, CARRY, &carried, sizeof carried);
}

/* Takes all ends that it is sent, and keeps them. */
static int keeps_ends(void *argument) {
    struct lee_endpoint *end = ((struct carried *)argument)->end;
    struct carried carried;
    for (;;) {
        lee_channel_receive(NULL, end, CARRY, &carried, sizeof carried);
        lee_channel_send(end, PLAIN, NULL, 0);
    }
    return 0;
}

/* The same, in a set. */
static int keeps_ends_in_set(void *argument) {
    static const struct lee_set_kind kind = {.contract = &carriers};
    struct lee_endpoint *end = ((struct carried *)argument)->end;
    struct lee_set *set = lee_set_make(NULL, &kind);
    struct carried carried;
    for (;;) {
        lee_channel_receive(NULL, end, CARRY, &carried, sizeof carried);
        lee_set_add(NULL, set, carried.end, NULL);
        lee_channel_send(end, PLAIN, NULL, 0);
    }
    return 0;
}

/* Bytes that C's allocator has handed out. AddressSanitizer's says nothing. */
static size_t in_use(void) {
    return mallinfo2().uordblks;
}

/* A process that has 10,000 ends is killed: each peer sees it, and nothing is left. */
static void test_many_ends(int (*keeps)(void *)) {
    enum { ENDS = 10000 };
    struct lee_endpoint *control[2], *ends[2];
    struct lee_endpoint **mine = calloc(ENDS, sizeof *mine);
    size_t before = 0;
    for (int round = 0; round < 3; round++) {
        lee_channel_make(NULL, &carriers, control);
        struct lee_pid *pid = spawn_with(keeps, control[LEE_EXPORTER]);
        for (int i = 0; i < ENDS; i++) {
            lee_channel_make(NULL, &carriers, ends);
            mine[i] = ends[LEE_IMPORTER];
            carry(control[LEE_IMPORTER], ends[LEE_EXPORTER]);
            lee_channel_receive(NULL, control[LEE_IMPORTER], PLAIN, NULL, 0);
        }
        CHECK(lee_channel_head(mine[0]) == LEE_EMPTY && lee_channel_head(mine[ENDS - 1]) == LEE_EMPTY);
        lee_process_kill(pid);
        int closed = 0;
        for (int i = 0; i < ENDS; i++) {
            closed += lee_channel_head(mine[i]) == LEE_CLOSED;
            lee_channel_close(mine[i]);
        }
        CHECK(closed == ENDS);
        CHECK(lee_channel_head(control[LEE_IMPORTER]) == LEE_CLOSED);
        lee_channel_close(control[LEE_IMPORTER]);
        CHECK(lee_process_wait(pid).how == LEE_KILLED);
        if (round == 0)
            before = in_use();
    }
    CHECK(in_use() <= before + (64 << 10));
    free(mine);
}

/* Sends an end, keeps the peer, and never receives what comes. */
static int sends_and_waits(void *argument) {
    struct lee_endpoint *over = ((struct carried *)argument)->end, *ends[2];
    lee_channel_make(NULL, &carriers, ends);
    carry(over, ends[LEE_EXPORTER]);
    for (;;)
        lee_task_yield();
    return 0;
}

/* Messages that own something are on their way in both directions when one side is killed. */
static void test_in_flight(int rounds) {
    size_t before = 0;
    for (int round = 0; round < rounds; round++) {
        struct lee_endpoint *control[2], *sent[2];
        struct carried carried;
        lee_channel_make(NULL, &carriers, control);
        lee_channel_make(NULL, &carriers, sent);
        struct lee_pid *pid = spawn_with(sends_and_waits, control[LEE_EXPORTER]);
        if (round % 4 != 3) /* else it is killed before it runs */
            lee_task_yield();
        carry(control[LEE_IMPORTER], sent[LEE_EXPORTER]);
        lee_process_kill(pid);
        /* What was sent to it is gone with it. */
        CHECK(lee_channel_head(sent[LEE_IMPORTER]) == LEE_CLOSED);
        if (round % 4 == 3) {
            CHECK(lee_channel_head(control[LEE_IMPORTER]) == LEE_CLOSED);
        } else if (round % 4 != 2) { /* else it is never received */
            /* What it sent is still received, and its peer is closed. */
            lee_channel_receive(NULL, control[LEE_IMPORTER], CARRY, &carried, sizeof carried);
            CHECK(lee_channel_head(carried.end) == LEE_CLOSED);
            lee_channel_close(carried.end);
        }
        lee_channel_close(control[LEE_IMPORTER]);
        lee_channel_close(sent[LEE_IMPORTER]);
        if (round % 1000 == 999)
            lee_collect(); /* objects of those that ended */
        if (round == rounds / 4)
            before = in_use();
    }
    CHECK(in_use() <= before + (64 << 10));
}

/* --- connections ----------------------------------------------------------------------------- */

static struct sockaddr_un address;
static socklen_t address_bytes;
static int echoing;

/* A connection of its own, on which it answers each byte. */
static int serves(void *argument) {
    char c;
    (void)argument;
    int fd = lee_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || lee_connect(fd, (struct sockaddr *)&address, address_bytes) != 0)
        return 1;
    echoing++;
    while (lee_read(fd, &c, 1) == 1)
        lee_write(fd, &c, 1);
    echoing--;
    return 0; /* its end closes the descriptor */
}

/* Each connection is a process's; half of them are killed while they wait or have something to
 * read. */
static void test_connections(void) {
    int most = most_connections();
    address.sun_family = AF_UNIX; /* a name that is in no directory */
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "containment_test.%d", (int)getpid());
    address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    int before = count_descriptors();
    int listener = lee_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, address_bytes) == 0 && listen(listener, 64) == 0);
    int *here = calloc((size_t)most, sizeof *here);
    struct lee_pid **pids = lee_heap_alloc(NULL, (size_t)most * sizeof *pids);
    for (int i = 0; i < most; i++) {
        pids[i] = lee_process_spawn(NULL, serves, NULL, 0);
        here[i] = lee_accept(listener, NULL, NULL, NULL, NULL);
        if (here[i] < 0)
            abort();
    }
    for (int i = 0; i < 10000 && echoing < most; i++)
        lee_task_yield();
    CHECK(echoing == most);
    check_answers(here, most);
    for (int i = 0; i < most; i += 2)
        lee_process_kill(pids[i]);
    check_half_ended(here, most);
    for (int i = 0; i < most; i++)
        CHECK(lee_process_wait(pids[i]).how == (i % 2 == 0 ? LEE_KILLED : LEE_RETURNED));
    lee_close(listener);
    CHECK(!lee_reactor_has_waits());
    CHECK(count_descriptors() <= before + 2); /* the reactor has two */
    free(here);
}

/* --- what an end costs ------------------------------------------------------------------------- */

enum { HOLDERS = 5 };
static struct lee_heap *holders[HOLDERS]; /* shared: not in the sections of LEE_IN_GLOBALS */

struct hold {
    int number; /* -1: of one that ends, and the bytes are its limit */
    size_t bytes;
};

static void **take(size_t bytes) {
    void **first = NULL;
    for (size_t i = 0; i < bytes; i += 64) {
        void **one = lee_heap_alloc(NULL, 64);
        *one = first;
        first = one;
    }
    return first;
}

static int holds(void *argument) {
    struct hold hold = *(struct hold *)argument;
    void **all = take(hold.bytes);
    if (hold.number >= 0)
        holders[hold.number] = lee_heap_self();
    while (all != NULL)
        lee_task_yield();
    return 0;
}

static size_t collections(void) {
    size_t count = lee_heap_self()->counts.collections;
    for (int i = 0; i < HOLDERS; i++)
        count += holders[i]->counts.collections;
    return count;
}

/* Processes of a megabyte are killed, or pass their limit, beside large ones: these are not collected
 * for it, so what it costs does not depend on them. */
static void test_others_are_left_alone(void) {
    struct lee_pid *pids[HOLDERS];
    void **own = take(20 << 20);
    for (int i = 0; i < HOLDERS; i++)
        pids[i] = lee_process_spawn(NULL, holds, &(struct hold){i, 10 << 20}, sizeof(struct hold));
    for (int i = 0; i < HOLDERS; i++) {
        while (holders[i] == NULL)
            lee_task_yield();
    }
    size_t before = collections();
    for (int i = 0; i < 50; i++) {
        struct lee_custodian *home = lee_custodian_new(NULL), *above = lee_custodian_enter(home);
        bool killed = i % 2 == 0;
        lee_custodian_limit(home, killed ? 4 << 20 : 1 << 20, NULL);
        struct lee_pid *pid = lee_process_spawn(NULL, holds, &(struct hold){-1, killed ? 1 << 20 : 2 << 20}, sizeof(struct hold));
        lee_custodian_enter(above);
        lee_task_yield();
        if (killed)
            lee_process_kill(pid);
        CHECK(lee_process_wait(pid).how == (killed ? LEE_KILLED : LEE_LIMIT));
    }
    CHECK(own != NULL && collections() == before);
    for (int i = 0; i < HOLDERS; i++)
        lee_process_kill(pids[i]);
}

/* --- very many ------------------------------------------------------------------------------- */

static int ends_so(void *argument) {
    int how = *(int *)argument;
    if (how == LEE_RETURNED)
        return 3;
    lee_heap_alloc(NULL, 100);
    if (how == LEE_FAULTED)
        lee_fault_message(NULL, "on purpose");
    for (;;)
        lee_task_yield();
    return 0;
}

static size_t resident(void) {
    size_t all = 0, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%zu %zu", &all, &here) == 2);
    fclose(f);
    return here * 4096;
}

/* Returns, faults, and kills of some that wait: memory is what it was after the first of them. */
static void test_ends(long count) {
    CHECK(freopen("/dev/null", "w", stderr) != NULL); /* the reports */
    size_t charged = 0, memory = 0;
    for (long n = 0; n < count; n++) {
        int how = n % 3 == 0 ? LEE_RETURNED : n % 3 == 1 ? LEE_FAULTED : LEE_KILLED;
        struct lee_pid *pid = lee_process_spawn(NULL, ends_so, &how, sizeof how);
        lee_task_yield();
        lee_process_kill(pid);
        CHECK((int)lee_process_wait(pid).how == how);
        if (n == count / 10) {
            lee_collect();
            charged = lee_memory_charged();
            memory = resident();
        }
    }
    lee_collect();
    lee_heap_idle(lee_heap_self());
    if (getenv("CONTAINMENT_TEST_SHOW") != NULL)
        printf("after %ld ends: %zu KB charged, %zu resident; after the first tenth: %zu and %zu\n", count, lee_memory_charged() >> 10,
               resident() >> 10, charged >> 10, memory >> 10);
    CHECK(lee_memory_charged() <= charged + (256 << 10));
    /* Objects for 4 MB of ended processes, with their records, wait for the collector. */
    CHECK(UNDER_ASAN || resident() <= memory + (8 << 20));
}

/* --- reports --------------------------------------------------------------------------------- */

static int faults_at(void *argument) {
    struct lee_site site = {.file = "tenant.lee", .line = *(unsigned *)argument};
    lee_fault_message(&site, "on purpose");
    return 0;
}

/* A report takes as long as hundreds of processes, so who faults 10,000 times gets few; nor does
 * it help to fault elsewhere each time. */
static void test_reports(void) {
    FILE *reports = tmpfile();
    int before = dup(STDERR_FILENO);
    CHECK(reports != NULL && dup2(fileno(reports), STDERR_FILENO) == STDERR_FILENO);
    for (int n = 0; n < 10000; n++)
        CHECK(lee_process_wait(lee_process_spawn(NULL, faults_at, &(unsigned){1}, sizeof(unsigned))).how == LEE_FAULTED);
    CHECK(reported(reports) == 5);
    for (unsigned line = 2; line < 2000; line++)
        CHECK(lee_process_wait(lee_process_spawn(NULL, faults_at, &line, sizeof line)).how == LEE_FAULTED);
    int count = reported(reports);
    CHECK(count >= 64 && count <= 400);
    dup2(before, STDERR_FILENO);
    close(before);
    fclose(reports);
}

int main(int argc, char **argv) {
    bool is_long = argc > 1 && strcmp(argv[1], "long") == 0;
    lee_start(0, NULL);
    test_many_ends(keeps_ends);
    test_many_ends(keeps_ends_in_set);
    test_in_flight(UNDER_ASAN ? 1000 : 10000);
    test_connections();
    test_others_are_left_alone();
    test_reports();
    test_ends(is_long || !IS_SLOW ? 1000000 : 20000);
    return check_end();
}
