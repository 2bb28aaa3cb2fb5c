/* Processes that are killed wherever they happen to be: in their own code, where they wait, in the marker,
 * in calls of the runtime and of C. After each batch nothing of them is left.
 *
 * `kills_test N SEED` kills N times. What a process does, and who is killed when, follows from the seed; at
 * which instruction, from the clock. KILLS_TEST_SHOW=1 prints how often what was killed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <lee/arena.h>
#include <lee/c_memory.h>
#include <lee/cells.h>
#include <lee/channel.h>
#include <lee/collect.h>
#include <lee/custodian.h>
#include <lee/delta.h>
#include <lee/descriptor.h>
#include <lee/exchange.h>
#include <lee/foreign.h>
#include <lee/frozen.h>
#include <lee/heap.h>
#include <lee/io.h>
#include <lee/lee.h>
#include <lee/owned.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/collect.h"
#include "../src/custodian.h"
#include "../src/dispose.h"
#include "../src/fds.h"
#include "../src/heap.h"
#include "../src/io_library.h"
#include "../src/io_owned.h"
#include "../src/io_path.h"
#include "../src/poison.h"
#include "../src/preempt.h"
#include "../src/process.h"
#include "../src/reactor.h"
#include "../src/units.h"
#include "../src/worker.h"
#include "cases.h"
#include "check.h"
#include "descriptors.h"
#include "lists.h"
#include "tenants.h"

#ifndef LEE_TSAN
#define STOPS true /* processes that compute can be stopped */
#else
#define STOPS false
#endif

/* The emulator's memory is counted, too. */
#ifdef __x86_64__
#define IS_EMULATED false
#else
#define IS_EMULATED true
#endif

struct lee_descriptor *lee_descriptor_of(int fd);
int lee_descriptor_close(struct lee_descriptor *d);

static char directory[64];

static _Noreturn void give_up(const char *what, int line) {
    dprintf(STDERR_FILENO, "kills_test.c:%d: not so: %s (%s)\n", line, what, strerror(errno));
    abort();
}

/* In a process: ends the whole test. */
#define MUST(what) ((what) ? (void)0 : give_up(#what, __LINE__))

/* Where nothing else would end the slice. */
LEE_CODE static void pass(void) {
    if (!STOPS)
        lee_task_yield();
}

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Of a loop that is mostly elsewhere, where slices go on: its turns are short, so that there are many. */
static void give_turn(uint64_t *state) {
    if (!STOPS || next(state) % 4 == 0)
        lee_task_yield();
}

/* Some have much to mark, and do so whenever a block of cells is full: so also where the runtime allocates in
 * the middle of its work. */
static struct node *burden(uint64_t *state) {
    return next(state) % 4 == 0 ? list(8000) : NULL;
}

static void mark_soon(const struct node *burden) {
    if (burden == NULL)
        return;
    MUST(burden->value == 7999);
    list(50);
    lee_heap_self()->budget = 0;
}

/* --- what processes say to each other --------------------------------------------------------- */

struct packet {
    unsigned char *data;
    struct packet *next;
};

struct part {
    void *it;
};

static void drop_packet(struct lee_work *work, void *element) {
    struct packet *packet = element;
    lee_push_block(work, packet->data);
    lee_push_block(work, packet->next);
}

static void drop_block(struct lee_work *work, void *element) {
    lee_push_block(work, ((struct part *)element)->it);
}

static void drop_end(struct lee_work *work, void *element) {
    lee_push_endpoint(work, ((struct part *)element)->it);
}

static void drop_frozen(struct lee_work *work, void *element) {
    lee_push_frozen(work, ((struct part *)element)->it);
}

static void drop_pid(struct lee_work *work, void *element) {
    lee_push_pid(work, &((struct part *)element)->it);
}

static void drop_custodian(struct lee_work *work, void *element) {
    lee_push_custodian(work, &((struct part *)element)->it);
}

enum { PLAIN = 1, BLOCK, END, FROZEN, PID, DESCRIPTOR, CUSTODIAN, MESSAGES = CUSTODIAN };
static const struct lee_owned packets = {.size = sizeof(struct packet), .drop = drop_packet};
static const struct lee_owned block_owned = {.size = sizeof(struct part), .drop = drop_block};
static const struct lee_owned end_owned = {.size = sizeof(struct part), .drop = drop_end};
static const struct lee_owned frozen_owned = {.size = sizeof(struct part), .drop = drop_frozen};
static const struct lee_owned pid_owned = {.size = sizeof(struct part), .drop = drop_pid, .names = 1};
static const struct lee_owned custodian_owned = {.size = sizeof(struct part), .drop = drop_custodian, .names = 1};
static const struct lee_owned *const owned[] = {NULL,       &block_owned, &end_owned,      &frozen_owned,
                                                &pid_owned, &block_owned, &custodian_owned};
static const char *const titles[] = {"Plain", "Block", "End", "Frozen", "Pid", "Descriptor", "Custodian"};
static const struct lee_contract talk = {.name = "Talk",
                                         .places = {2, 2},
                                         .bytes = sizeof(struct part),
                                         .messages = MESSAGES,
                                         .titles = titles,
                                         .owned = owned};

enum { KEPT = 4 };

/* What a process that talks has. */
struct talker {
    uint64_t state;
    struct lee_endpoint *end, *kept[KEPT];
    struct packet *packet;
    struct lee_custodian *custodian; /* its own, or one that it was sent */
};

static struct packet *packet_of(uint64_t *state) {
    struct packet *first = NULL;
    for (uint64_t left = 1 + next(state) % 3; left > 0; left--) {
        struct packet *packet = lee_exchange_new(NULL, sizeof *packet, &packets);
        packet->next = first;
        first = packet;
        packet->data = lee_exchange_new_array(NULL, (int64_t)(next(state) % 256 == 0 ? 100000 : next(state) % 3000), 1, 0, &lee_owned_plain);
    }
    return first;
}

static void keep_end(struct talker *self, struct lee_endpoint *end) {
    struct lee_endpoint **place = &self->kept[next(&self->state) % KEPT];
    lee_channel_close(*place);
    *place = end;
}

static int returns(void *argument) {
    return *(int *)argument;
}

/* Whoever spawned it may be killed: it ends by itself. */
static int sleeps(void *argument) {
    lee_nanosleep(&(struct timespec){0, 3000000}, NULL);
    return *(int *)argument;
}

static void sleeps_as_a_task(void *argument) {
    (void)argument;
    lee_nanosleep(&(struct timespec){0, 3000000}, NULL);
}

static void spawn_sleeper(struct lee_custodian *custodian) {
    spawn_in(custodian, sleeps, &(int){7}, sizeof(int));
}

/* One that was sent comes back, or goes on to a third. */
static struct lee_custodian *custodian_of(struct talker *self) {
    if (self->custodian != NULL && next(&self->state) % 2 == 0)
        return self->custodian;
    struct lee_custodian *custodian = lee_custodian_new(NULL);
    if (next(&self->state) % 2 == 0)
        spawn_sleeper(custodian);
    if (next(&self->state) % 2 == 0) {
        struct lee_custodian *before = lee_custodian_enter(custodian);
        lee_task_start(NULL, sleeps_as_a_task, NULL, 0);
        lee_custodian_enter(before);
    }
    return custodian;
}

static void use_custodian(struct talker *self, struct lee_custodian *custodian, bool keeps) {
    if (next(&self->state) % 2 == 0)
        spawn_sleeper(custodian);
    if (next(&self->state) % 4 == 0)
        spawn_sleeper(lee_custodian_new(custodian));
    if (next(&self->state) % 16 == 0) {
        int64_t before = lee_custodian_charged(custodian), use = lee_custodian_use(custodian);
        /* Its sleepers may begin or end meanwhile, on another worker. */
        MUST(use >= before || before != lee_custodian_charged(custodian));
    }
    if (keeps)
        self->custodian = custodian;
    else
        lee_custodian_shutdown(custodian);
    MUST(keeps || lee_custodian_is_shut(custodian));
}

static struct lee_descriptor *descriptor(void) {
    int fds[2];
    MUST(lee_socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    struct lee_descriptor *d = lee_descriptor_of(fds[0]);
    lee_close(fds[1]);
    return d;
}

static void say(struct talker *self) {
    struct lee_endpoint *ends[2];
    struct part part = {NULL};
    int32_t message = (int32_t)(1 + next(&self->state) % MESSAGES);
    switch (message) {
    case BLOCK:
        part.it = packet_of(&self->state);
        break;
    case END:
        lee_channel_make(NULL, &talk, ends);
        keep_end(self, ends[0]);
        if (next(&self->state) % 2 == 0)
            lee_channel_send(ends[0], PLAIN, &part, sizeof part);
        part.it = ends[1];
        break;
    case FROZEN:
        part.it = lee_exchange_new(NULL, 16 + next(&self->state) % 5000, &lee_owned_plain);
        lee_exchange_freeze(part.it);
        if (next(&self->state) % 2 == 0)
            lee_frozen_release(lee_frozen_retain(part.it));
        break;
    case PID:
        part.it = lee_process_spawn(NULL, next(&self->state) % 2 == 0 ? returns : sleeps, &(int){7}, sizeof(int));
        break;
    case DESCRIPTOR:
        part.it = lee_descriptor_give(descriptor());
        break;
    case CUSTODIAN:
        part.it = custodian_of(self);
        break;
    default:
        break;
    }
    lee_channel_send(self->end, message, &part, sizeof part);
}

static void hear(struct talker *self, int32_t message) {
    struct part part = {NULL};
    struct lee_descriptor *d;
    lee_channel_take(self->end, message, &part, sizeof part);
    bool keeps = next(&self->state) % 2 == 0;
    switch (message) {
    case BLOCK:
        if (keeps) {
            lee_exchange_free(self->packet);
            self->packet = part.it;
        } else {
            lee_exchange_free(part.it);
        }
        break;
    case END:
        keep_end(self, part.it);
        break;
    case FROZEN:
        lee_frozen_release(part.it);
        break;
    case PID:
        lee_process_kill(part.it);
        lee_process_wait(part.it);
        break;
    case DESCRIPTOR:
        d = lee_descriptor_take(part.it);
        if (!keeps && d != NULL)
            lee_descriptor_close(d);
        break;
    case CUSTODIAN:
        use_custodian(self, part.it, keeps);
        break;
    default:
        break;
    }
}

CASES(any_message, 8, false, {LEE_CLOSED, 0}, {PLAIN, 0}, {BLOCK, 0}, {END, 0}, {FROZEN, 0}, {PID, 0}, {DESCRIPTOR, 0}, {CUSTODIAN, 0});

/* Until the other one has ended. */
static int talks(struct lee_endpoint *end, uint64_t seed, bool begins) {
    struct talker self = {.state = seed, .end = end};
    const struct node *mine = burden(&self.state);
    if (begins)
        say(&self);
    for (int32_t message; (message = lee_channel_select(NULL, &self.end, 1, &any_message)) != 0;) {
        mark_soon(mine);
        hear(&self, message);
        give_turn(&self.state);
        say(&self);
    }
    return 0;
}

/* --- what processes do ------------------------------------------------------------------------ */

/* Allocates by the inline ways, frees, uses an arena, prints, and never waits. */
LEE_CODE static int churns(uint64_t state) {
    struct node *kept = NULL;
    struct lee_file *f = lee_io_fopen("/dev/null", "w");
    for (size_t n = 0;; n++) {
        next(&state);
        struct node *node = lee_new_typed(&node_layout, LEE_TYPED, sizeof *node, false);
        if (node == NULL)
            return 1;
        node->next = state % 50 == 0 ? NULL : kept;
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
        if (state % 512 == 3)
            lee_c_free(lee_c_malloc(100));
        if (state % 512 == 4)
            kept = (struct node *)lee_c_malloc(sizeof *kept), *kept = (struct node){NULL, 0};
        if (state % 4096 == 5)
            lee_heap_alloc(NULL, 200000);
        if (state % 64 == 6)
            pass();
    }
}

/* A list, and a table of pointers into it, so that large objects are marked in slices. */
LEE_CODE static int marks(uint64_t state) {
    size_t count = next(&state) % 16 == 0 && !UNDER_ASAN ? 200000 : 5000;
    struct node *kept = NULL;
    struct node **table = lee_heap_alloc(NULL, count / 4 * sizeof *table);
    for (size_t i = 0; i < count; i++) {
        struct node *node = lee_new_typed(&node_layout, LEE_TYPED, sizeof *node, false);
        node->next = kept;
        node->value = i;
        kept = node;
        table[i % (count / 4)] = node;
    }
    for (;;) {
        lee_collect();
        pass();
        if (table[0] == NULL || kept->value != count - 1)
            return 1;
    }
}

static int open_one(uint64_t *state) {
    char name[sizeof directory + 16];
    int fds[2] = {-1, -1};
    snprintf(name, sizeof name, "%s/XXXXXX", directory);
    switch (next(state) % 8) {
    case 0:
        return lee_open("/dev/null", O_RDWR | O_CLOEXEC);
    case 1:
        return lee_dup(STDIN_FILENO);
    case 2:
        if (lee_pipe(fds) == 0)
            lee_close(fds[1]);
        return fds[0];
    case 3:
        fds[0] = lee_mkstemp(name);
        lee_unlink(name);
        return fds[0];
    case 4:
        fds[0] = lee_mkostemp(name, O_CLOEXEC);
        if (fds[0] >= 0)
            MUST(lee_write(fds[0], name, sizeof name) == sizeof name && lee_fsync(fds[0]) == 0);
        lee_unlink(name);
        return fds[0];
    case 5:
        lee_dir_open("/");
        return lee_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    case 6:
        lee_io_tmpfile();
        return lee_socket(AF_UNIX, SOCK_DGRAM, 0);
    default:
        lee_io_fopen("/dev/null", "r");
        return lee_socket(AF_UNIX, SOCK_STREAM, 0);
    }
}

static int opens(uint64_t state) {
    enum { OPEN = 6 };
    int fds[OPEN];
    for (int i = 0; i < OPEN; i++)
        fds[i] = -1;
    const struct node *mine = burden(&state);
    for (size_t n = 0;; n++) {
        int *fd = &fds[next(&state) % OPEN];
        if (*fd >= 0 && lee_close(*fd) != 0)
            return 1;
        mark_soon(mine);
        *fd = open_one(&state);
        if (*fd < 0)
            return 2;
        if (n % 16 == 15)
            lee_collect();
        give_turn(&state);
    }
}

/* Each waits for the lock of whoever has it; one that is killed with it leaves it to the next one. */
static int locks(uint64_t state) {
    char name[sizeof directory + 16];
    snprintf(name, sizeof name, "%s/lock", directory);
    for (;;) {
        int fd = lee_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        bool whole = next(&state) % 2 == 0;
        if (fd < 0 || (whole ? lee_flock(fd, LOCK_EX) : lee_lockf(fd, F_LOCK, 10)) != 0)
            return 1;
        for (uint64_t i = next(&state) % 4; i > 0; i--)
            lee_task_yield();
        if (next(&state) % 2 == 0 && (whole ? lee_flock(fd, LOCK_UN) : lee_lockf(fd, F_ULOCK, 10)) != 0)
            return 2;
        if (lee_close(fd) != 0)
            return 3;
        give_turn(&state);
    }
}

static void is_short(void *argument) {
    ++*(volatile long *)argument;
}

static void naps(void *argument) {
    (void)argument;
    nanosleep(&(struct timespec){0, 20000}, NULL);
}

static void calls_back(void *argument) {
    (void)argument;
    lee_heap_alloc(NULL, 1000);
    lee_task_yield();
    lee_nanosleep(&(struct timespec){0, 50000}, NULL);
}

static int calls(uint64_t state) {
    long count = 0;
    struct stat facts;
    const struct node *mine = burden(&state);
    for (;;) {
        mark_soon(mine);
        switch (next(&state) % 16) {
        case 0:
            if (next(&state) % 64 == 0 && lee_system("exit 3") != 3 << 8)
                return 1;
            break;
        case 1:
            lee_foreign_call(naps, NULL);
            break;
        case 2:
        case 3:
            lee_foreign_call(calls_back, NULL);
            break;
        case 4:
            if (lee_stat("/dev/null", &facts) != 0)
                return 2;
            break;
        case 5:
            if (next(&state) % 64 == 0) {
                struct lee_file *f = lee_io_popen("exit 3", "r");
                if (f == NULL || lee_io_pclose(f) != 3 << 8)
                    return 3;
            }
            break;
        default:
            lee_foreign_call(is_short, &count);
        }
        give_turn(&state);
    }
}

static void runs_as_task(void *argument) {
    uint64_t state = *(uint64_t *)argument;
    for (;;) {
        list(20);
        if (next(&state) % 2 == 0)
            lee_task_yield();
        else
            lee_nanosleep(&(struct timespec){0, (long)(next(&state) % 100000)}, NULL);
    }
}

static int has_tasks(uint64_t state) {
    for (size_t n = 0;; n++) {
        uint64_t seed = next(&state) | 1;
        if (n < 4)
            lee_task_start(NULL, runs_as_task, &seed, sizeof seed);
        struct node *mine = list(100);
        if (n % 64 == 0)
            lee_collect();
        lee_task_yield();
        if (!is_list(mine, 100))
            return 1;
    }
}

LEE_CODE static int spins(void *argument) {
    for (volatile long i = 0; i < 200000; i++) {
        if (i % 1024 == 0)
            pass();
    }
    return *(int *)argument;
}

static int has_custodians(uint64_t state) {
    const struct node *mine = burden(&state);
    for (;;) {
        mark_soon(mine);
        struct lee_custodian *custodian = lee_custodian_new(NULL), *child = lee_custodian_new(custodian);
        uint64_t seed = next(&state) | 1;
        if (next(&state) % 2 == 0)
            lee_custodian_limit(custodian, 4 << 20, next(&state) % 2 == 0 ? child : NULL);
        if (next(&state) % 4 == 0)
            lee_custodian_share(child, (int64_t)(1 + next(&state) % 200));
        struct lee_custodian *before = lee_custodian_enter(next(&state) % 2 == 0 ? custodian : child);
        lee_task_start(NULL, runs_as_task, &seed, sizeof seed);
        lee_process_spawn(NULL, next(&state) % 2 == 0 ? spins : sleeps, &(int){0}, sizeof(int));
        open_one(&state);
        lee_custodian_enter(before);
        for (uint64_t i = next(&state) % 6; i > 0; i--)
            lee_task_yield();
        if (next(&state) % 2 == 0)
            lee_collect();
        lee_custodian_shutdown(custodian);
        if (!lee_custodian_is_shut(child))
            return 1;
    }
}

static int spawns(uint64_t state) {
    struct lee_pid *pids[4] = {NULL};
    const struct node *mine = burden(&state);
    for (;;) {
        mark_soon(mine);
        struct lee_pid **pid = &pids[next(&state) % 4];
        if (*pid != NULL) {
            lee_process_kill(*pid);
            lee_process_wait(*pid);
        }
        uint64_t how = next(&state) % 4;
        *pid = lee_process_spawn(NULL, how == 0 ? spins : how == 1 ? sleeps : returns, &(int){7}, sizeof(int));
        if (how > 1 && next(&state) % 2 == 0 && lee_process_wait(*pid).status != 7)
            return 1;
        give_turn(&state);
    }
}

static int waits(uint64_t state) {
    int ends[2];
    char byte = 'x';
    struct pollfd asked;
    if (lee_socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return 1;
    for (;;) {
        switch (next(&state) % 4) {
        case 0:
            lee_nanosleep(&(struct timespec){0, (long)(next(&state) % 300000)}, NULL);
            break;
        case 1:
            if (lee_write(ends[0], &byte, 1) != 1 || lee_read(ends[1], &byte, 1) != 1)
                return 2;
            break;
        case 2:
            asked = (struct pollfd){.fd = ends[1], .events = POLLIN};
            if (lee_poll(&asked, 1, 1) != 0)
                return 3;
            break;
        default:
            if (next(&state) % 32 == 0)
                lee_read(ends[0], &byte, 1); /* for ever */
        }
    }
}

/* The names of one set, from which answers are taken. */
static int selects(uint64_t state) {
    static const struct lee_set_kind kind = {.contract = &talk};
    CASES(first, 2, true, {PLAIN, 0}, {LEE_CLOSED, 0});
    struct lee_set *set = lee_set_make(NULL, &kind);
    struct lee_endpoint *mine[8];
    struct part part = {NULL};
    for (;;) {
        for (int i = 0; i < 8; i++) {
            struct lee_endpoint *ends[2];
            lee_channel_make(NULL, &talk, ends);
            mine[i] = ends[0];
            lee_set_add(NULL, set, ends[1], NULL);
        }
        for (uint64_t i = next(&state) % 64; i > 0; i--) {
            struct lee_endpoint *asker = mine[next(&state) % 8];
            lee_channel_send(asker, PLAIN, &part, sizeof part);
            if (lee_set_select(NULL, NULL, 0, &set, 1, &first) != 0)
                return 1;
            struct lee_endpoint *end = lee_set_take(NULL, set, PLAIN, NULL);
            lee_channel_take(end, PLAIN, &part, sizeof part);
            part.it = packet_of(&state);
            lee_channel_send(end, BLOCK, &part, sizeof part);
            lee_set_add(NULL, set, end, NULL);
            lee_channel_receive(NULL, asker, BLOCK, &part, sizeof part);
            lee_exchange_free(part.it);
            give_turn(&state);
        }
        for (int i = 0; i < 8; i++) {
            lee_channel_close(mine[i]);
            lee_channel_close(lee_set_take(NULL, set, LEE_CLOSED, NULL));
        }
    }
}

/* --- who kills -------------------------------------------------------------------------------- */

enum kind { CHURNS, MARKS, OPENS, LOCKS, CALLS, TASKS, CUSTODIANS, SPAWNS, WAITS, SELECTS, ALONE, ASKS = ALONE, ANSWERS, KINDS };
static int (*const alone[ALONE])(uint64_t state) = {churns, marks, opens, locks, calls, has_tasks, has_custodians, spawns, waits, selects};
static const char *const names[KINDS] = {"allocates", "marks", "opens", "locks", "calls C", "has tasks", "has custodians",
                                         "spawns", "waits", "selects", "asks", "answers"};

struct job {
    struct lee_endpoint *end;
    uint64_t seed;
    enum kind kind;
};

static void drop_job(struct lee_work *work, void *element) {
    lee_push_endpoint(work, ((struct job *)element)->end);
}
static const struct lee_owned job_owned = {.size = sizeof(struct job), .drop = drop_job};

LEE_CODE static int works(void *argument) {
    struct job job = *(struct job *)argument;
    return job.kind < ALONE ? alone[job.kind](job.seed) : talks(job.end, job.seed, job.kind == ASKS);
}

/* Shared: not in the sections of LEE_IN_GLOBALS. */
static atomic_long killed[KINDS], ended_by_custodian, wrong;

/* One process, or two that talk. */
struct slot {
    struct lee_custodian *custodian; /* null: the one of whoever kills */
    enum kind kind;
    struct lee_pid *pids[2];
};

static struct lee_pid *begin(enum kind kind, uint64_t seed, struct lee_endpoint *end) {
    struct job job = {end, seed, kind};
    return lee_process_spawn_with(NULL, works, &job, sizeof job, &job_owned, false);
}

static void fill(struct slot *slot, uint64_t *state) {
    struct lee_endpoint *ends[2];
    *slot = (struct slot){.kind = (enum kind)(next(state) % (ALONE + 2))};
    if (slot->kind > ALONE)
        slot->kind = ALONE;
    slot->custodian = next(state) % 4 == 0 ? lee_custodian_new(NULL) : NULL;
    if (slot->custodian != NULL && next(state) % 2 == 0)
        lee_custodian_limit(slot->custodian, 64 << 20, NULL);
    struct lee_custodian *before = slot->custodian != NULL ? lee_custodian_enter(slot->custodian) : NULL;
    if (slot->kind < ALONE) {
        slot->pids[0] = begin(slot->kind, next(state) | 1, NULL);
    } else {
        lee_channel_make(NULL, &talk, ends);
        slot->pids[0] = begin(ASKS, next(state) | 1, ends[0]);
        slot->pids[1] = begin(ANSWERS, next(state) | 1, ends[1]);
    }
    if (before != NULL)
        lee_custodian_enter(before);
}

static void expect(const struct slot *slot, int number, enum lee_end_how how) {
    struct lee_process_end end = lee_process_wait(slot->pids[number]);
    if (end.how == how) {
        atomic_fetch_add(how == LEE_LIMIT ? &ended_by_custodian : &killed[slot->kind + (enum kind)number], how != LEE_RETURNED);
        return;
    }
    atomic_fetch_add(&wrong, 1);
    printf("%s: ended as %d, status %d: %s\n", names[slot->kind + (enum kind)number], (int)end.how, end.status, end.message);
}

static void empty(struct slot *slot, uint64_t *state) {
    int count = slot->kind == ALONE ? 2 : 1, first = count == 2 ? (int)(next(state) % 2) : 0;
    if (slot->custodian != NULL && next(state) % 2 == 0) {
        lee_custodian_shutdown(slot->custodian);
        for (int i = 0; i < count; i++)
            expect(slot, i, LEE_LIMIT);
        return;
    }
    lee_process_kill(slot->pids[first]);
    expect(slot, first, LEE_KILLED);
    if (count == 2) /* the other one sees it, whatever it waits for */
        expect(slot, 1 - first, LEE_RETURNED);
    if (slot->custodian != NULL)
        lee_custodian_shutdown(slot->custodian);
}

LEE_CODE static void spin(uint64_t count) {
    for (volatile uint64_t i = 0; i < count; i++)
        ;
}

static void delay(uint64_t *state) {
    switch (next(state) % 4) {
    case 0:
        for (uint64_t i = next(state) % 4; i > 0; i--)
            lee_task_yield();
        break;
    case 1:
        lee_nanosleep(&(struct timespec){0, (long)(next(state) % 300000)}, NULL);
        break;
    case 2:
        spin(next(state) % 20000);
        break;
    default:
        sched_yield(); /* the system's */
    }
}

struct orders {
    uint64_t seed;
    long count;
};

static int kills(void *argument) {
    enum { ALIVE = 2 };
    struct orders orders = *(struct orders *)argument;
    struct slot slots[ALIVE];
    for (int i = 0; i < ALIVE; i++)
        fill(&slots[i], &orders.seed);
    for (long n = 0; n < orders.count; n++) {
        struct slot *slot = &slots[next(&orders.seed) % ALIVE];
        delay(&orders.seed);
        empty(slot, &orders.seed);
        fill(slot, &orders.seed);
    }
    for (int i = 0; i < ALIVE; i++)
        empty(&slots[i], &orders.seed);
    return 0;
}

/* --- what must be back ------------------------------------------------------------------------ */

struct holds {
    size_t charged, resident, of_c;
    int descriptors;
};

static size_t resident(void) {
    size_t all = 0, here = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%zu %zu", &all, &here) == 2);
    fclose(f);
    return here * 4096;
}

/* Processes of the system that those had, and files that they were about to remove. */
static void clean(void) {
    DIR *dir = opendir(directory);
    int status;
    while (waitpid(-1, &status, WNOHANG) > 0)
        ;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        unlinkat(dirfd(dir), entry->d_name, 0);
    closedir(dir);
}

static struct holds holds(void) {
    lee_collect();
    lee_heap_idle(lee_heap_self());
    return (struct holds){lee_memory_charged(), resident(), mallinfo2().uordblks, count_descriptors()};
}

/* A thread that writes to a disk may still hold a number. */
static struct holds settled(const struct holds *before) {
    struct holds now = holds();
    for (int i = 0; i < 1000 && now.descriptors > before->descriptors; i++) {
        lee_nanosleep(&(struct timespec){0, 5000000}, NULL);
        now = holds();
    }
    return now;
}

static void run_batch(long count, bool limited) {
    enum { KILLERS = 2 };
    struct lee_custodian *batch = lee_custodian_new(NULL);
    struct lee_pid *pids[KILLERS + 1];
    struct orders orders = {0, count / KILLERS};
    alarm(300);
    if (limited)
        lee_custodian_limit(batch, 1 << 30, NULL);
    for (int i = 0; i <= KILLERS; i++) {
        orders.seed = random_number() | 1;
        if (i == KILLERS) /* it is killed, too */
            orders.count = 1 << 30;
        pids[i] = spawn_in(batch, kills, &orders, sizeof orders);
    }
    for (int i = 0; i < KILLERS; i++) {
        struct lee_process_end end = lee_process_wait(pids[i]);
        CHECK(end.how == LEE_RETURNED && end.status == 0);
    }
    lee_process_kill(pids[KILLERS]);
    CHECK(lee_process_wait(pids[KILLERS]).how == LEE_KILLED);
    lee_custodian_shutdown(batch);
    while (!is_empty(batch)) /* what is in a call of C ends after it; `alarm` ends the test */
        lee_nanosleep(&(struct timespec){0, 100000}, NULL);
    CHECK(!lee_reactor_has_waits() || lee_reactor_is_asked()); /* by `lee top` */
    clean();
}

static long total(void) {
    long sum = ended_by_custodian;
    for (int i = 0; i < KINDS; i++)
        sum += killed[i];
    return sum;
}

static void show(struct holds now) {
    if (getenv("KILLS_TEST_SHOW") != NULL)
        printf("%ld killed; %zu KB charged, %zu KB resident, %zu KB of C's, %d descriptors\n", total(), now.charged >> 10,
               now.resident >> 10, now.of_c >> 10, now.descriptors), fflush(stdout);
}

int main(int argc, char **argv) {
    enum { BATCH = UNDER_ASAN ? 200 : 1000 };
    long count = argc > 1 ? atol(argv[1]) : UNDER_ASAN || !STOPS ? 3 * BATCH : 5 * BATCH;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 0) | 1 : random_state;
    setenv("LEE_SLICE", STOPS ? "50" : "0", 0);
    lee_start(0, NULL);
    strcpy(directory, "/tmp/kills_test.XXXXXX");
    CHECK(mkdtemp(directory) != NULL);
    /* What is kept for use again is there after the first tenth, and two batches at least. */
    for (long n = 0; n < 2 || total() < count / 10; n++)
        run_batch(BATCH, n % 2 == 1);
    struct holds before = holds();
    show(before);
    for (long n = 0; total() < count && check_failures == 0; n++) {
        run_batch(BATCH, n % 2 == 0);
        struct holds now = settled(&before);
        show(now);
        CHECK(now.descriptors <= before.descriptors);
        CHECK(now.charged <= before.charged + (1 << 20));
        CHECK(!STOPS || UNDER_ASAN || IS_EMULATED || now.resident <= before.resident + (32 << 20));
        CHECK(!STOPS || UNDER_ASAN || IS_EMULATED || now.of_c <= before.of_c + (8 << 20));
        CHECK(wrong == 0);
    }
    clean();
    rmdir(directory);
    if (getenv("KILLS_TEST_SHOW") != NULL) {
        for (int i = 0; i < KINDS; i++)
            printf("%9ld who %s\n", (long)killed[i], names[i]);
        printf("%9ld by their custodian\n", (long)ended_by_custodian);
    }
    if (check_failures > 0)
        printf("kills_test %ld 0x%lx: the seed\n", count, argc > 2 ? strtoul(argv[2], NULL, 0) : 88172645463325252ul);
    return check_end();
}
