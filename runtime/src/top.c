/* top.c: see top.h.
 *
 * A client sends one line, `list` or `why` and what it asks for, and reads to the end: lines of
 * fields between tabs, which docs/reference/top.md lists. */
#define _GNU_SOURCE
#include "top.h"

#ifdef LEE_NO_GC

void lee_top_begin(void) {}

#else

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "deadlock.h"
#include "fds.h"
#include "heap_limit.h"
#include "group.h"
#include "preempt.h"
#include "process.h"
#include "reactor.h"
#include "system.h"
#include "text.h"
#include "thread.h"
#include "why.h"
#include "worker.h"

enum {
    MOST = 1 << 20,    /* bytes of an answer; what does not fit is left out, and the last line says so */
    PATIENCE = 4,      /* seconds, for the processes to answer, and for a client to read */
    STOP_PATIENCE = 1, /* the same, for one that runs to stop: it may be in a call of C */
    STACK_BYTES = 64 << 10,
    CLIENTS = 16,      /* that may be connected without having asked */
    REQUEST = 64,      /* bytes of a request */
    ASKED = 16,        /* processes of a custodian whose memory is looked at: those with the most */
    PAUSE = 2000000,   /* nanoseconds between two steps: what is asked takes little of a processor */
    STEPS_TIME = 8     /* seconds that all steps may take; a client waits for ten */
};

/* What a client asks for. */
enum wants { WANTS_LIST, WANTS_WHY };

static struct {
    int socket;
    struct lee_reactor *reactor;
    int thread; /* of the system: the one that runs all processes, unless there are more */
    struct lee_process *first; /* which is in no group */
    char *bytes;
    size_t used;
    bool cut;
    enum wants wants;
    atomic_bool wanted; /* whoever takes it away decides: the worker writes, or the thread gave up */
    sem_t written;
    /* Of WANTS_WHY. What a process is asked for is in `asked` of it. */
    bool of_process; /* else of a custodian */
    uint64_t number;
    struct lee_process *asked[ASKED]; /* null: was looked at, or has ended */
    unsigned asked_count, at;         /* those before `at` are done */
    bool chosen, is_there, fresh, left_out;
    int runs_on; /* the system's number of the worker's thread that runs the one whose turn it is; 0: none */
} top = {.socket = -1};

/* --- by a thread that runs processes, with the lock (worker.h) ----------------------------------- */

static void put_bytes(const char *bytes, size_t length) {
    if (top.cut || top.used + length > MOST) {
        top.cut = true;
        return;
    }
    memcpy(top.bytes + top.used, bytes, length);
    top.used += length;
}

static void put_line(struct lee_text *line) {
    lee_text_string(line, "\n");
    put_bytes(line->bytes, line->length);
}

static void put_number(struct lee_text *line, uint64_t number) {
    lee_text_string(line, "\t");
    lee_text_unsigned(line, number);
}

/* A limit, or what is SIZE_MAX for none. */
static void put_limit(struct lee_text *line, size_t most) {
    if (most == SIZE_MAX)
        lee_text_string(line, "\t-");
    else
        put_number(line, most);
}

/* The process in which this is called runs if its task gave way; if that waits, no process runs on
 * this worker. */
static bool is_running(const struct lee_process *process) {
    if (process != lee_process)
        return process->worker != NULL;
    return process->tasks.head != NULL || process->tasks.running->state == LEE_TASK_READY;
}

static const char *state_of(const struct lee_process *process, bool receives) {
    if (process->dying)
        return "dying";
    if (is_running(process))
        return "running"; /* its tasks are its worker's */
    const struct lee_task *task = process->tasks.running;
    if (process->stopped)
        return "preempted";
    if (process->queued || process->tasks.head != NULL)
        return "ready";
    if (task != NULL && task->foreign != NULL)
        return "foreign";
    return receives ? "receiving" : "waiting";
}

/* The linker's: where the program begins in memory. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static void put_place(struct lee_text *line, uintptr_t place) {
    put_number(line, place == 0 ? 0 : place - (uintptr_t)__ehdr_start);
}

/* What it waits for: `message`, the contract and the process that has the other end; `end` and the
 * process; another word; or `-`. */
static void put_awaited(struct lee_text *line, struct lee_process *process) {
    struct lee_awaited what;
    const struct lee_task *task = process->tasks.running;
    if (is_running(process) || process->tasks.head != NULL || task == NULL) {
        lee_text_string(line, "\t-\t-\t0");
    } else if (lee_process_waits_for(process, &what)) {
        lee_text_string(line, what.contract != NULL ? "\tmessage\t" : "\tend\t");
        lee_text_string(line, what.contract != NULL ? what.contract : "-");
        put_number(line, what.process->number);
    } else {
        const char *word = task->queue != NULL ? "queue" : task->leave != NULL ? "outside" : "task";
        lee_text_string(line, "\t");
        lee_text_string(line, word);
        lee_text_string(line, "\t-\t0");
    }
}

/* The first process is in no group, and charged by what its custodians reach. */
static void put_process(struct lee_process *process) {
    struct lee_text line = {.length = 0};
    size_t messages = 0, ends = 0;
    bool receives = false, grouped = process->group != NULL;
    for (const struct lee_endpoint *end = process->endpoints; end != NULL; end = end->next) {
        ends++;
        messages += lee_channel_held(end);
        receives = receives || lee_waiter_of(end) != NULL;
    }
    lee_text_string(&line, "process");
    put_number(&line, process->number);
    put_number(&line, (grouped ? process->group : lee_group_root())->number);
    lee_text_string(&line, "\t");
    lee_text_string(&line, state_of(process, receives));
    put_number(&line, grouped ? process->uses[LEE_GROUP_BYTES] : lee_heap_held(process->heap));
    put_number(&line, grouped ? process->uses[LEE_GROUP_TASKS] : process->accounts.task_count);
    put_number(&line, ends);
    put_number(&line, messages);
    put_place(&line, (uintptr_t)process->entry);
    put_awaited(&line, process);
    const struct lee_worker *worker = process == lee_process ? &lee_worker : process->worker;
    if (!is_running(process) || worker == NULL)
        lee_text_string(&line, "\t-");
    else
        put_number(&line, (uint64_t)worker->number);
    put_line(&line);
}

/* What processes that run took since their shares were last charged: a loop that no other process
 * interrupts is charged when it ends. */
enum { RUNS_MOST = 64 };
static struct {
    const struct lee_group *group;
    uint64_t time;
} runs[RUNS_MOST];
static size_t run_count;

static void note_runs(const struct lee_group *group) {
    for (const struct lee_process *process = group->processes; process != NULL; process = process->group_next) {
        if (!is_running(process) || run_count == RUNS_MOST)
            continue;
        const struct lee_worker *worker = process == lee_process ? &lee_worker : process->worker;
        uint64_t now = lee_share_clock(), noted = __atomic_load_n(&worker->noted, __ATOMIC_RELAXED);
        runs[run_count].group = group;
        runs[run_count++].time = now > noted ? now - noted : 0;
    }
}

static uint64_t time_of(const struct lee_group *group) {
    uint64_t time = group->share.ran;
    for (size_t i = 0; i < run_count && group->shares; i++) {
        const struct lee_group *at = runs[i].group;
        while (at != NULL && at != group)
            at = at->parent;
        time += at != NULL ? runs[i].time : 0;
    }
    return time;
}

static void put_group(const struct lee_group *group) {
    struct lee_text line = {.length = 0};
    lee_text_string(&line, "custodian");
    put_number(&line, group->number);
    put_number(&line, group->parent == NULL ? 0 : group->parent->number);
    for (int kind = 0; kind < LEE_GROUP_KINDS; kind++) {
        put_number(&line, group->uses[kind]);
        put_limit(&line, group->least[kind]);
    }
    put_number(&line, time_of(group));
    put_number(&line, group->share.weight);
    put_number(&line, group->share.ready);
    lee_text_string(&line, group->shut ? "\tshut" : "\topen");
    put_line(&line);
    if (group->parent == NULL && top.first != NULL)
        put_process(top.first);
    for (struct lee_process *process = group->processes; process != NULL && !top.cut; process = process->group_next)
        put_process(process);
}

/* All groups, each before those below it; without recursion, for they nest as deep as a program
 * likes. */
static void each_group(void (*visit)(const struct lee_group *group)) {
    const struct lee_group *at = lee_group_root();
    while (at != NULL && !top.cut) {
        visit(at);
        const struct lee_group *next = at->child;
        for (; next == NULL && at != NULL; at = at->parent)
            next = at->next;
        at = next;
    }
}

/* Its queue has the processes without a share that wait for their turn on it. */
static void put_worker(struct lee_worker *worker) {
    struct lee_text line = {.length = 0};
    uint64_t queued = 0;
    for (const struct lee_process *process = worker->queue.head; process != NULL; process = process->queue_next)
        queued++;
    lee_text_string(&line, "worker");
    put_number(&line, (uint64_t)worker->number);
    lee_text_string(&line, worker->sleeps ? "\tsleeps" : worker->idles ? "\tidles" : "\truns");
    put_number(&line, queued);
    put_line(&line);
}

/* Who has the end, and what has arrived at it; a peer of 0 is closed, or on its way in a
 * message. */
static void put_ends(const struct lee_process *process) {
    for (const struct lee_endpoint *end = process->endpoints; end != NULL && !top.cut; end = end->next) {
        const struct lee_endpoint *peer = lee_peer_of(end);
        struct lee_text line = {.length = 0};
        lee_text_string(&line, "end\t");
        lee_text_string(&line, end->channel->contract->name);
        put_number(&line, process->number);
        put_number(&line, peer->owner == NULL || peer->closed ? 0 : peer->owner->number);
        put_number(&line, lee_channel_held(end));
        put_number(&line, end->bytes / end->channel->stride);
        lee_text_string(&line, end->told == LEE_TELLS_SET ? "\tset"
                               : lee_waiter_of(end) != NULL ? "\treceives"
                               : peer->closed        ? "\tclosed"
                                                     : "\topen");
        put_line(&line);
    }
}

static void put_ends_in(const struct lee_group *group) {
    if (group->parent == NULL && top.first != NULL)
        put_ends(top.first);
    for (const struct lee_process *process = group->processes; process != NULL && !top.cut; process = process->group_next)
        put_ends(process);
}

static void write_list(void) {
    struct lee_text line = {.length = 0};
    top.used = 0;
    top.cut = false;
    lee_text_string(&line, "program");
    put_number(&line, (uint64_t)getpid());
    put_number(&line, lee_system_time());
    put_number(&line, lee_shares_ready);
    put_line(&line);
    if (lee_many)
        lee_pool_each(put_worker);
    else
        put_worker(&lee_worker);
    run_count = 0;
    each_group(note_runs);
    each_group(put_group);
    each_group(put_ends_in);
}

/* --- what memory consists of -------------------------------------------------------------- */

/* One of those whose memory is looked at, unless there are as many that hold more. */
static void choose(struct lee_process *process) {
    unsigned at = top.asked_count;
    if (at == ASKED) {
        top.left_out = true;
        if (top.asked[--at]->uses[LEE_GROUP_BYTES] >= process->uses[LEE_GROUP_BYTES])
            return;
        top.asked[at]->asked = LEE_ASKED_NOTHING;
    } else {
        top.asked_count++;
    }
    for (; at > 0 && top.asked[at - 1]->uses[LEE_GROUP_BYTES] < process->uses[LEE_GROUP_BYTES]; at--)
        top.asked[at] = top.asked[at - 1];
    top.asked[at] = process;
    process->asked = LEE_ASKED_LATER;
}

static void choose_in(const struct lee_group *group) {
    const struct lee_group *above = group;
    while (above != NULL && above->number != top.number)
        above = above->parent;
    if (!top.of_process && above == NULL)
        return;
    top.is_there = top.is_there || !top.of_process;
    for (struct lee_process *process = group->processes; process != NULL; process = process->group_next) {
        if (!top.of_process || process->number == top.number)
            choose(process);
    }
}

/* The processes that were asked for. */
static void choose_all(void) {
    for (unsigned i = 0; i < top.asked_count; i++) { /* of a client before that was left */
        if (top.asked[i] != NULL)
            top.asked[i]->asked = LEE_ASKED_NOTHING;
    }
    top.asked_count = top.at = 0;
    top.is_there = top.left_out = false;
    top.fresh = top.chosen = true;
    if (top.first != NULL && top.number == (top.of_process ? top.first->number : lee_group_root()->number))
        choose(top.first);
    each_group(choose_in);
    top.is_there = top.is_there || top.asked_count > 0;
}

static void step(struct lee_process *process) {
    uint64_t start = lee_system_time();
    bool done = lee_why_step(process, top.fresh);
    top.fresh = done;
    if (done) {
        process->asked = LEE_ASKED_NOTHING; /* so its end is not told here */
        top.asked[top.at++] = NULL;
    }
    if (lee_shares_used && process != lee_process)
        lee_share_bill(process, lee_system_time() - start);
}

/* The next step, if the process can be looked at here. */
static void take_step(void) {
    if (!top.chosen)
        choose_all();
    top.runs_on = 0;
    while (top.at < top.asked_count && top.asked[top.at] == NULL) {
        top.at++;
        top.fresh = true;
    }
    if (top.at == top.asked_count)
        return;
    struct lee_process *process = top.asked[top.at];
    if (process != lee_process && process->worker != NULL) { /* it takes the step itself */
        process->asked = LEE_ASKED_NOW;
        top.runs_on = process->worker->thread;
        return;
    }
    step(process);
}

void lee_top_stops(struct lee_process *process) {
    process->asked = LEE_ASKED_LATER;
    step(process);
    sem_post(&top.written);
}

void lee_top_ends(struct lee_process *process) {
    for (unsigned i = 0; i < top.asked_count; i++) {
        if (top.asked[i] == process)
            top.asked[i] = NULL;
    }
    if (process->asked == LEE_ASKED_NOW)
        sem_post(&top.written);
}

void lee_top_answer(void) {
    if (!atomic_exchange(&top.wanted, false))
        return;
    if (top.wants == WANTS_LIST)
        write_list();
    else
        take_step();
    sem_post(&top.written);
}

/* --- by the thread of its own ------------------------------------------------------------------- */

static bool wait_written(time_t seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    int result;
    while ((result = sem_timedwait(&top.written, &until)) != 0 && errno == EINTR)
        ;
    return result == 0;
}

/* Of several workers: what they share can be read with the lock, and only a step for a process that
 * runs is asked of its worker. A process that does not stop is left out. */
static void ask_many(void) {
    lee_lock_many();
    atomic_store(&top.wanted, true);
    top.runs_on = 0;
    lee_top_answer();
    int runs_on = top.runs_on;
    lee_unlock_many();
    wait_written(PATIENCE);
    if (runs_on == 0)
        return;
    lee_preempt_interrupt(runs_on);
    if (wait_written(STOP_PATIENCE))
        return;
    lee_lock_many();
    struct lee_process *process = top.at < top.asked_count ? top.asked[top.at] : NULL;
    bool never = process != NULL && process->asked == LEE_ASKED_NOW;
    if (never) {
        process->asked = LEE_ASKED_NOTHING;
        top.asked[top.at] = NULL;
        top.left_out = true;
    }
    lee_unlock_many();
    if (!never)
        wait_written(PATIENCE);
}

/* Whether the processes have written. If not, they never will: not for this client. */
static bool ask(void) {
    if (lee_many) {
        ask_many();
        return true;
    }
    atomic_store(&top.wanted, true);
    lee_reactor_ask(top.reactor);
    lee_preempt_interrupt(top.thread);
    if (wait_written(PATIENCE))
        return true;
    if (atomic_exchange(&top.wanted, false))
        return false;
    while (sem_wait(&top.written) != 0) /* it is just writing */
        ;
    return true;
}

/* A text of the program's: a type's, or of its fields. */
static void put_text(const char *text) {
    put_bytes("\t", 1);
    put_bytes(text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

static void put_parts(const struct lee_why *why) {
    const struct lee_why_parts *parts = &why->parts;
    const struct {
        const char *name;
        uint64_t bytes;
    } each[] = {{"heap", parts->heap},         {"stacks", parts->stacks},     {"arenas", parts->arenas},
                {"exchange", parts->exchange}, {"c", parts->c_memory}, {"globals", parts->globals}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct lee_text line = {.length = 0};
        lee_text_string(&line, "part\t");
        lee_text_string(&line, each[i].name);
        put_number(&line, each[i].bytes);
        put_line(&line);
    }
}

static const char *const root_names[LEE_WHY_ROOTS] = {
    [LEE_WHY_HEAP] = "heap",         [LEE_WHY_VARIABLE] = "variable", [LEE_WHY_STACK] = "stack",
    [LEE_WHY_ARENA] = "arena",       [LEE_WHY_EXCHANGE] = "exchange", [LEE_WHY_MESSAGE] = "message",
    [LEE_WHY_RUNTIME] = "runtime",   [LEE_WHY_REST] = "rest"};

static void put_nodes(const struct lee_why *why) {
    for (uint32_t i = 0; i < why->node_count; i++) {
        const struct lee_why_node *node = &why->nodes[i];
        struct lee_text line = {.length = 0};
        lee_text_string(&line, "node");
        put_number(&line, i);
        put_limit(&line, node->parent == LEE_WHY_PARENT_NONE ? SIZE_MAX : node->parent);
        put_limit(&line, node->offset == LEE_WHY_ANYWHERE ? SIZE_MAX : node->offset);
        lee_text_string(&line, "\t");
        lee_text_string(&line, root_names[node->root]);
        put_place(&line, node->place);
        put_number(&line, node->objects);
        put_number(&line, node->bytes);
        put_bytes(line.bytes, line.length);
        const struct lee_layout *layout = node->layout;
        bool plain = layout == NULL || layout == &lee_layout_plain || layout == &lee_layout_conservative;
        put_text(plain ? NULL : layout->name);
        put_text(plain ? NULL : layout->fields);
        put_text(plain ? NULL : layout->sites);
        put_bytes("\n", 1);
    }
}

static bool is_done(void) {
    return top.at == top.asked_count;
}

static void write_why(bool in_time) {
    const struct lee_why *why = lee_why_found();
    struct lee_text line = {.length = 0};
    lee_text_string(&line, "why");
    put_number(&line, (uint64_t)getpid());
    put_number(&line, top.asked_count);
    put_number(&line, why->objects);
    lee_text_string(&line, why->cut || top.left_out || !in_time ? "\tpart" : "\tall");
    put_line(&line);
    put_parts(why);
    put_nodes(why);
}

/* What the memory of a process or custodian consists of. False if the processes did not answer. */
static bool find_why(void) {
    uint64_t until = lee_system_time() + (uint64_t)STEPS_TIME * 1000000000;
    bool answered = true, in_time = true;
    const struct timespec pause = {.tv_nsec = PAUSE};
    if (!lee_why_open()) {
        static const char none[] = "memory\n";
        put_bytes(none, sizeof none - 1);
        return true;
    }
    top.chosen = false;
    do {
        answered = ask();
        nanosleep(&pause, NULL);
        in_time = lee_system_time() < until;
    } while (answered && !is_done() && in_time);
    if (answered && !top.is_there) {
        static const char none[] = "none\n";
        put_bytes(none, sizeof none - 1);
    } else if (answered || lee_why_found()->objects > 0) {
        write_why(answered && in_time);
        answered = true;
    }
    lee_why_close();
    return answered;
}

static void send_all(int client, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t put = send(client, bytes, length, MSG_NOSIGNAL);
        if (put <= 0)
            return;
        bytes += put;
        length -= (size_t)put;
    }
}

/* Whether the request is for something; `top` says for what. */
static bool read_request(char *line) {
    char *end;
    top.wants = WANTS_LIST;
    if (strcmp(line, "list") == 0)
        return true;
    if (strncmp(line, "why\t", 4) != 0 || (line[4] != 'c' && line[4] != 'p') || line[5] < '0' || line[5] > '9')
        return false;
    top.wants = WANTS_WHY;
    top.of_process = line[4] == 'p';
    top.number = strtoull(line + 5, &end, 10);
    return *end == 0;
}

static void answer(int client, char *request) {
    static const char busy[] = "busy\n", unknown[] = "unknown\n", cut[] = "cut\n", end[] = "end\n";
    const struct timeval patience = {.tv_sec = PATIENCE};
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    fcntl(client, F_SETFL, 0); /* it waits for what it sends */
    top.used = 0;
    top.cut = false;
    if (!read_request(request)) {
        send_all(client, unknown, sizeof unknown - 1);
    } else if (!(top.wants == WANTS_LIST ? ask() : find_why())) {
        send_all(client, busy, sizeof busy - 1);
    } else {
        send_all(client, top.bytes, top.used);
        send_all(client, top.cut ? cut : end, sizeof(end) - 1);
    }
    close(client);
}

/* Those that have not asked yet: a client that never does keeps none waiting. */
static struct {
    char request[REQUEST];
    size_t length;
} clients[CLIENTS];

/* Reads what came from a client. True if it is done with. */
static bool hear(int client, size_t at) {
    char *request = clients[at].request;
    ssize_t count = recv(client, request + clients[at].length, REQUEST - 1 - clients[at].length, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (count > 0)
        clients[at].length += (size_t)count;
    request[clients[at].length] = 0;
    char *end = strchr(request, '\n');
    if (end == NULL && count > 0 && clients[at].length < REQUEST - 1)
        return false;
    if (end != NULL)
        *end = 0;
    answer(client, request); /* which closes it */
    return true;
}

/* Forgets a client, which is closed: `at` is its place in `polled`. */
static void forget(struct pollfd *polled, nfds_t *count, nfds_t at) {
    --*count;
    memmove(&polled[at], &polled[at + 1], (*count - at) * sizeof *polled);
    memmove(&clients[at - 1], &clients[at], (*count - at) * sizeof *clients);
}

static void *run_thread(void *unused) {
    struct pollfd polled[1 + CLIENTS] = {{.fd = top.socket, .events = POLLIN}};
    nfds_t count = 1;
    (void)unused;
    for (;;) {
        if (poll(polled, count, -1) < 0 && errno != EINTR)
            return NULL;
        for (nfds_t i = count - 1; i > 0; i--) {
            if (polled[i].revents != 0 && hear(polled[i].fd, i - 1))
                forget(polled, &count, i);
        }
        if (polled[0].revents == 0)
            continue;
        int client = accept4(top.socket, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0 && errno != EINTR && errno != ECONNABORTED)
            return NULL;
        if (client < 0)
            continue;
        if (count == 1 + CLIENTS) { /* the one that has been silent for longest goes */
            close(polled[1].fd);
            forget(polled, &count, 1);
        }
        clients[count - 1].length = 0;
        polled[count++] = (struct pollfd){.fd = client, .events = POLLIN};
    }
}

/* Listens at the path, unless there is a file that is not a socket, or a socket that answers. */
static int listen_at(const struct sockaddr_un *address) {
    struct stat there;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (lstat(address->sun_path, &there) == 0) {
        if (!S_ISSOCK(there.st_mode) || connect(fd, (const struct sockaddr *)address, sizeof *address) == 0) {
            close(fd);
            return -1;
        }
        unlink(address->sun_path);
    }
    mode_t before = umask(0177);
    int bound = bind(fd, (const struct sockaddr *)address, sizeof *address);
    umask(before);
    if (bound != 0 || listen(fd, 8) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static struct sockaddr_un named = {.sun_family = AF_UNIX};
static pid_t maker;

/* A copy of the program that `fork` made leaves the file alone. */
static void remove_socket(void) {
    if (getpid() == maker)
        unlink(named.sun_path);
}

void lee_top_begin(void) {
    const char *path = getenv("LEE_TOP");
    if (top.socket >= 0 || path == NULL || path[0] == 0)
        return;
    if (strlen(path) >= sizeof named.sun_path)
        lee_setting_is_wrong("LEE_TOP", path, "give the path of a socket, of at most 107 bytes");
    strcpy(named.sun_path, path);
    top.reactor = lee_reactor_self();
    if (lee_process->high == 0) {
        top.first = lee_process;
        top.first->number = 1;
    }
    top.thread = (int)syscall(SYS_gettid);
    top.bytes = malloc(MOST);
    top.socket = top.reactor == NULL || top.bytes == NULL ? -1 : listen_at(&named);
    if (top.socket < 0 || sem_init(&top.written, 0, 0) != 0 ||
        !lee_thread_start(run_thread, NULL, STACK_BYTES)) {
        struct lee_text text = {.length = 0};
        lee_text_string(&text, "warning: no socket at LEE_TOP=");
        lee_text_string(&text, path);
        lee_text_string(&text, ": there is one already, or it cannot be made\n");
        lee_text_write(&text);
        return;
    }
    lee_fd_keep(top.socket);
    maker = getpid();
    atexit(remove_socket);
}

#endif
