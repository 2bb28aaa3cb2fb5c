/* top.c: see top.h.
 *
 * A client connects and reads to the end: lines of fields between tabs, which docs/reference/top.md
 * lists. It sends nothing. */
#define _GNU_SOURCE
#include "top.h"

#ifdef LEE_NO_GC

void lee_top_begin(void) {}

#else

#include <errno.h>
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
#include "fds.h"
#include "heap_limit.h"
#include "group.h"
#include "preempt.h"
#include "process.h"
#include "reactor.h"
#include "system.h"
#include "text.h"
#include "thread.h"
#include "worker.h"

enum {
    MOST = 1 << 20,    /* bytes of an answer; what does not fit is left out, and the last line says so */
    PATIENCE = 4,      /* seconds, for the processes to answer, and for a client to read */
    STACK_BYTES = 64 << 10
};

static struct {
    int socket;
    struct lee_reactor *reactor;
    int thread; /* of the system: the one that runs all processes, unless there are more */
    char *bytes;
    size_t used;
    bool cut;
    atomic_bool wanted; /* whoever takes it away decides: the worker writes, or the thread gave up */
    sem_t written;
} top = {.socket = -1};

/* --- by a thread that runs processes, with the lock (worker.h) ----------------------------------- */

static void put_line(struct lee_text *line) {
    lee_text_string(line, "\n");
    if (top.cut || top.used + line->length > MOST) {
        top.cut = true;
        return;
    }
    memcpy(top.bytes + top.used, line->bytes, line->length);
    top.used += line->length;
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
    return process->tasks.head != NULL || process->tasks.running->state == LEE_TASK_RUNNING;
}

static const char *state_of(const struct lee_process *process, bool receives) {
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

static void put_process(const struct lee_process *process) {
    struct lee_text line = {.length = 0};
    size_t messages = 0;
    bool receives = false;
    for (const struct lee_endpoint *end = process->endpoints; end != NULL; end = end->next) {
        messages += end->held;
        receives = receives || lee_waiter_of(end) != NULL;
    }
    lee_text_string(&line, "process");
    put_number(&line, (uintptr_t)process >> 4);
    put_number(&line, (uintptr_t)process->group >> 4);
    lee_text_string(&line, "\t");
    lee_text_string(&line, state_of(process, receives));
    put_number(&line, process->uses[LEE_GROUP_BYTES]);
    put_number(&line, process->uses[LEE_GROUP_TASKS]);
    put_number(&line, process->uses[LEE_GROUP_ENDPOINTS]);
    put_number(&line, messages);
    put_number(&line, process->entry == NULL ? 0 : (uintptr_t)process->entry - (uintptr_t)__ehdr_start);
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
    put_number(&line, (uintptr_t)group >> 4);
    put_number(&line, (uintptr_t)group->parent >> 4);
    for (int kind = 0; kind < LEE_GROUP_KINDS; kind++) {
        put_number(&line, group->uses[kind]);
        put_limit(&line, group->least[kind]);
    }
    put_number(&line, time_of(group));
    put_number(&line, group->share.weight);
    put_number(&line, group->share.ready);
    lee_text_string(&line, group->shut ? "\tshut" : "\topen");
    put_line(&line);
    for (const struct lee_process *process = group->processes; process != NULL && !top.cut; process = process->group_next)
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

void lee_top_answer(void) {
    if (!atomic_exchange(&top.wanted, false))
        return;
    struct lee_text line = {.length = 0};
    top.used = 0;
    top.cut = false;
    lee_text_string(&line, "program");
    put_number(&line, (uint64_t)getpid());
    put_number(&line, lee_system_time());
    put_number(&line, lee_shares_ready);
    put_line(&line);
    run_count = 0;
    each_group(note_runs);
    each_group(put_group);
    sem_post(&top.written);
}

/* --- by the thread of its own ------------------------------------------------------------------- */

/* Whether the processes have written. If not, they never will: not for this client. */
static bool ask(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    atomic_store(&top.wanted, true);
    lee_reactor_ask(top.reactor);
    if (lee_many)
        lee_worker_ask();
    else
        lee_preempt_interrupt(top.thread);
    int result;
    while ((result = sem_timedwait(&top.written, &until)) != 0 && errno == EINTR)
        ;
    if (result == 0)
        return true;
    if (atomic_exchange(&top.wanted, false))
        return false;
    while (sem_wait(&top.written) != 0) /* it is just writing */
        ;
    return true;
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

static void *run_thread(void *unused) {
    (void)unused;
    for (;;) {
        int client = accept4(top.socket, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (client < 0)
            return NULL;
        const struct timeval patience = {.tv_sec = PATIENCE};
        setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        static const char busy[] = "busy\n", cut[] = "cut\n", end[] = "end\n";
        if (!ask()) {
            send_all(client, busy, sizeof busy - 1);
        } else {
            send_all(client, top.bytes, top.used);
            send_all(client, top.cut ? cut : end, sizeof(end) - 1);
        }
        close(client);
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
