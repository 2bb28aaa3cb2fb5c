/* Tasks that wait for descriptors, times and signals: the others run meanwhile, and whoever is ended while waiting leaves nothing behind. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <lee/collect.h>
#include <lee/custodian.h>
#include <lee/descriptor.h>
#include <lee/exchange.h>
#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/lee.h>
#include <lee/process.h>
#include <lee/task.h>

#include "../src/fds.h"
#include "../src/io_library.h"
#include "../src/io_owned.h"
#include "../src/reactor.h"
#include "check.h"
#include "connections.h"

struct lee_descriptor *lee_descriptor_of(int fd);
int lee_descriptor_fd(const struct lee_descriptor *d);
int lee_descriptor_close(struct lee_descriptor *d);
ssize_t lee_descriptor_read(const struct lee_descriptor *d, void *p, size_t n);
ssize_t lee_descriptor_write(const struct lee_descriptor *d, const void *p, size_t n);

enum { MILLISECOND = 1000000 };

static void *start(void (*entry)(void *), const void *argument, size_t bytes) {
    return lee_task_start(NULL, entry, argument, bytes);
}


/* --- one task ------------------------------------------------------------------------------------------------------ */

static void test_alone(void) {
    int ends[2], before = count_descriptors();
    char c = 0;
    CHECK(lee_pipe(ends) == 0);
    CHECK(lee_write(ends[1], "x", 1) == 1);
    CHECK(lee_read(ends[0], &c, 1) == 1 && c == 'x');
    CHECK(lee_usleep(1000) == 0);
    CHECK(lee_close(ends[0]) == 0 && lee_close(ends[1]) == 0);
    CHECK(count_descriptors() == before);
    CHECK(!lee_reactor_has_waits());
}

/* --- times ----------------------------------------------------------------------------------------------------------- */

static int order[64], ordered;

struct sleeper {
    int milliseconds, name;
    int64_t from;
};

static void sleep_and_note(void *argument) {
    struct sleeper *sleeper = argument;
    int64_t until = sleeper->from + (int64_t)sleeper->milliseconds * MILLISECOND;
    struct timespec at = {until / 1000000000, until % 1000000000};
    CHECK(lee_clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == 0);
    order[ordered++] = sleeper->name;
}

/* Sleeps of 0 to 4 times `step` milliseconds. Whether all slept before the first of these times
 * came, which a machine that is busy can miss. */
static bool sleep_in_order(int step) {
    int64_t unit = (int64_t)step * MILLISECOND;
    int64_t begin = lee_clock();
    static const int steps[5] = {3, 1, 2, 0, 4};
    void *tasks[5];
    ordered = 0;
    for (int i = 0; i < 5; i++) {
        struct sleeper sleeper = {steps[i] * step, steps[i], begin};
        tasks[i] = start(sleep_and_note, &sleeper, sizeof sleeper);
    }
    lee_task_yield();
    bool in_time = lee_clock() - begin < unit;
    for (int i = 0; i < 5; i++)
        lee_task_join(tasks[i]);
    CHECK(ordered == 5);
    CHECK(lee_clock() - begin >= 4 * unit);
    return in_time;
}

static void test_sleep_order(void) {
    for (int step = 20; !sleep_in_order(step); step *= 2)
        ;
    for (int i = 0; i < 5; i++)
        CHECK(order[i] == i);
}

enum { TIMERS = 5000 };
static struct lee_timer timers[TIMERS];
static int fired;
static int64_t last_at;
static uint64_t last_order;

static void note_fired(struct lee_timer *timer) {
    CHECK(timer->node.at > last_at || (timer->node.at == last_at && timer->node.order > last_order));
    last_at = timer->node.at;
    last_order = timer->node.order;
    fired++;
}

/* Set and cleared at random; what is left fires in the order of its times, and of setting for equal ones. */
static void test_timers(void) {
    int64_t now = lee_clock();
    int left = 0;
    for (int i = 0; i < TIMERS * 4; i++) {
        struct lee_timer *timer = &timers[random_number() % TIMERS];
        if (timer->set)
            lee_timer_clear(timer);
        else
            lee_timer_set(timer, now - (int64_t)(random_number() % 2000), note_fired);
    }
    for (int i = 0; i < TIMERS; i++)
        left += timers[i].set;
    fired = 0;
    last_at = 0;
    lee_reactor_look(0);
    CHECK(fired == left && left > 0);
    CHECK(!lee_reactor_has_waits());
}

/* --- pipes ------------------------------------------------------------------------------------------------------------- */

enum { STREAM = 1 << 20 };

struct pipe_job {
    int fd;
    size_t bytes, seen;
};

static unsigned char byte_at(size_t n) {
    return (unsigned char)(n * 7 + n / 251);
}

static void produce(void *argument) {
    struct pipe_job *job = *(struct pipe_job **)argument;
    unsigned char *all = malloc(STREAM);
    for (size_t i = 0; i < STREAM; i++)
        all[i] = byte_at(i);
    CHECK(lee_write(job->fd, all, STREAM) == STREAM);
    CHECK(lee_close(job->fd) == 0);
    free(all);
}

static void consume(void *argument) {
    struct pipe_job *job = *(struct pipe_job **)argument;
    unsigned char piece[1000];
    ssize_t got;
    while ((got = lee_read(job->fd, piece, 1 + random_number() % sizeof piece)) > 0) {
        bool same = true;
        for (ssize_t i = 0; i < got; i++)
            same = same && piece[i] == byte_at(job->seen + (size_t)i);
        CHECK(same);
        job->seen += (size_t)got;
    }
    CHECK(got == 0);
    CHECK(lee_close(job->fd) == 0);
}

static void pump(int from, int to) {
    struct pipe_job in = {.fd = to}, out = {.fd = from}, *pin = &in, *pout = &out;
    int flags = fcntl(from, F_GETFL);
    void *reader = start(consume, &pout, sizeof pout), *writer = start(produce, &pin, sizeof pin);
    lee_task_yield();
    CHECK(fcntl(from, F_GETFL) == flags);
    lee_task_join(writer);
    lee_task_join(reader);
    CHECK(out.seen == STREAM);
    CHECK(!lee_reactor_has_waits());
}

static void test_pipe(void) {
    int ends[2];
    CHECK(lee_pipe(ends) == 0);
    pump(ends[0], ends[1]);
    CHECK(pipe(ends) == 0); /* the runtime does not know these */
    pump(ends[0], ends[1]);
    CHECK(lee_socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pump(ends[0], ends[1]);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pump(ends[0], ends[1]);
}

/* --- ends ---------------------------------------------------------------------------------------------------------------- */

struct read_job {
    int fd;
    ssize_t got;
    int error;
    bool over;
};

static void read_one(void *argument) {
    struct read_job *job = *(struct read_job **)argument;
    char c;
    errno = 0;
    job->got = lee_read(job->fd, &c, 1);
    job->error = errno;
    job->over = true;
}

static void *start_reader(struct read_job *job, int fd) {
    *job = (struct read_job){.fd = fd};
    void *task = start(read_one, &job, sizeof job);
    lee_usleep(1000); /* it waits now */
    CHECK(!job->over);
    return task;
}

static void test_ends(void) {
    struct read_job job;
    int ends[2];
    /* the other end is closed */
    CHECK(lee_pipe(ends) == 0);
    void *task = start_reader(&job, ends[0]);
    lee_close(ends[1]);
    lee_task_join(task);
    CHECK(job.got == 0);
    /* it is closed itself, while somebody waits */
    CHECK(lee_pipe(ends + 0) == 0);
    task = start_reader(&job, ends[0]);
    lee_close(ends[0]);
    lee_task_join(task);
    CHECK(job.got == -1 && job.error == EBADF);
    /* nobody reads */
    CHECK(lee_write(ends[1], "x", 1) == -1 && errno == EPIPE);
    lee_close(ends[1]);
    CHECK(lee_socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    lee_close(ends[0]);
    CHECK(lee_write(ends[1], "x", 1) == -1 && errno == EPIPE);
    CHECK(lee_send(ends[1], "x", 1, 0) == -1 && errno == EPIPE);
    lee_close(ends[1]);
    /* it is replaced by another */
    int other[2];
    CHECK(lee_pipe(ends) == 0 && lee_pipe(other) == 0);
    task = start_reader(&job, ends[0]);
    CHECK(lee_dup2(other[0], ends[0]) == ends[0]);
    lee_task_join(task);
    CHECK(job.got == -1 && job.error == EBADF);
    for (int i = 0; i < 2; i++)
        lee_close(ends[i]), lee_close(other[i]);
    /* those that must not wait do not */
    CHECK(lee_pipe(ends) == 0);
    char c;
    CHECK(lee_fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    CHECK(lee_read(ends[0], &c, 1) == -1 && errno == EAGAIN);
    CHECK(lee_fcntl(ends[0], F_SETFL, 0) == 0);
    task = start_reader(&job, ends[0]);
    CHECK(lee_write(ends[1], "x", 1) == 1);
    lee_task_join(task);
    CHECK(job.got == 1);
    lee_close(ends[0]);
    lee_close(ends[1]);
    /* a time is set */
    CHECK(lee_socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct timeval time = {0, 20000};
    CHECK(lee_setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
    CHECK(lee_recv(ends[0], &c, 1, 0) == -1 && errno == EAGAIN);
    CHECK(lee_recv(ends[0], &c, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    lee_close(ends[0]);
    lee_close(ends[1]);
    CHECK(lee_read(ends[0], &c, 1) == -1 && errno == EBADF);
    /* a file of a disk */
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(lee_read(file, &c, 1) == 1 && c == 0x7f);
    close(file);
    CHECK(!lee_reactor_has_waits());
}

/* --- TCP ------------------------------------------------------------------------------------------------------------------- */

static int listen_on(struct sockaddr_in *address) {
    int fd = lee_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)address, sizeof *address) != 0 || listen(fd, 1024) != 0)
        abort();
    getsockname(fd, (struct sockaddr *)address, &length);
    return fd;
}

static void echo(void *argument) {
    int fd = *(int *)argument;
    char piece[256];
    ssize_t got;
    while ((got = lee_read(fd, piece, sizeof piece)) > 0) {
        if (lee_write(fd, piece, (size_t)got) != got)
            break;
    }
    lee_close(fd);
}

struct server {
    int fd, clients;
};

static void serve(void *argument) {
    struct server *server = argument;
    for (int i = 0; i < server->clients; i++) {
        int fd = lee_accept4(server->fd, NULL, NULL, NULL, NULL, SOCK_CLOEXEC);
        CHECK(fd >= 0);
        start(echo, &fd, sizeof fd);
    }
    lee_close(server->fd);
}

struct client {
    struct sockaddr_in address;
    int number;
    int *good;
};

static void ask(void *argument) {
    struct client *client = argument;
    int fd = lee_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(lee_connect(fd, &client->address, sizeof client->address) == 0);
    CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
    bool same = true;
    for (int i = 0; i < 20; i++) {
        char text[32], back[32] = "";
        size_t length = (size_t)snprintf(text, sizeof text, "%d asks %d", client->number, i);
        same = same && lee_write(fd, text, length) == (ssize_t)length;
        same = same && lee_recv(fd, back, length, MSG_WAITALL) == (ssize_t)length && strcmp(text, back) == 0;
    }
    *client->good += same;
    lee_close(fd);
}

static void test_tcp(void) {
    enum { CLIENTS = 50 };
    struct client client = {.good = &(int){0}};
    struct server server = {.clients = CLIENTS};
    void *tasks[CLIENTS];
    server.fd = listen_on(&client.address);
    start(serve, &server, sizeof server);
    for (client.number = 0; client.number < CLIENTS; client.number++)
        tasks[client.number] = start(ask, &client, sizeof client);
    for (int i = 0; i < CLIENTS; i++)
        lee_task_join(tasks[i]);
    CHECK(*client.good == CLIENTS);
    for (int i = 0; i < 10000 && lee_reactor_has_waits(); i++)
        lee_usleep(1000);
    /* nobody listens there any more */
    int fd = lee_socket(AF_INET, SOCK_STREAM, 0);
    CHECK(lee_connect(fd, &client.address, sizeof client.address) == -1 && errno == ECONNREFUSED);
    lee_close(fd);
    /* a peer that resets */
    server.fd = listen_on(&client.address);
    fd = lee_socket(AF_INET, SOCK_STREAM, 0);
    CHECK(lee_connect(fd, &client.address, sizeof client.address) == 0);
    int there = lee_accept(server.fd, NULL, NULL, NULL, NULL);
    struct linger none = {1, 0};
    struct read_job job;
    void *task = start_reader(&job, fd);
    setsockopt(there, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    lee_close(there);
    lee_task_join(task);
    CHECK(job.got == -1 && job.error == ECONNRESET);
    lee_close(fd);
    lee_close(server.fd);
}

/* --- several at once ---------------------------------------------------------------------------------------------------------- */

static void write_later(void *argument) {
    int fd = *(int *)argument;
    lee_usleep(5000);
    CHECK(lee_write(fd, "x", 1) == 1);
}

static void test_poll(void) {
    enum { MANY = 20 };
    int ends[MANY][2];
    struct pollfd fds[MANY + 1];
    for (int i = 0; i < MANY; i++) {
        CHECK(lee_pipe(ends[i]) == 0);
        fds[i] = (struct pollfd){.fd = ends[i][0], .events = POLLIN};
    }
    fds[MANY] = (struct pollfd){.fd = -1};
    CHECK(lee_poll(fds, MANY + 1, 5) == 0);
    void *task = start(write_later, &ends[13][1], sizeof(int));
    CHECK(lee_poll(fds, MANY + 1, -1) == 1 && fds[13].revents == POLLIN && fds[12].revents == 0);
    lee_task_join(task);
    fd_set set;
    struct timeval time = {5000, 0};
    FD_ZERO(&set);
    FD_SET(ends[3][0], &set);
    FD_SET(ends[4][0], &set);
    task = start(write_later, &ends[3][1], sizeof(int));
    CHECK(lee_select(FD_SETSIZE, &set, NULL, NULL, &time) == 1);
    CHECK(FD_ISSET(ends[3][0], &set) && !FD_ISSET(ends[4][0], &set) && time.tv_sec <= 4999);
    lee_task_join(task);
    time = (struct timeval){0, 3000};
    FD_ZERO(&set);
    FD_SET(ends[5][0], &set);
    CHECK(lee_select(FD_SETSIZE, &set, NULL, NULL, &time) == 0 && !FD_ISSET(ends[5][0], &set) && time.tv_usec == 0);
    FD_SET(1000, &set);
    CHECK(lee_select(FD_SETSIZE, &set, NULL, NULL, NULL) == -1 && errno == EBADF);
    for (int i = 0; i < MANY; i++)
        lee_close(ends[i][0]), lee_close(ends[i][1]);
    CHECK(lee_poll(fds, 1, -1) == 1 && fds[0].revents == POLLNVAL);
    CHECK(!lee_reactor_has_waits());
}

/* --- names of machines --------------------------------------------------------------------------------------------------- */

static int found;

static void find_own(void *argument) {
    struct addrinfo *list, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    (void)argument;
    if (lee_getaddrinfo("127.0.0.1", "80", &hints, &list) == 0 && list->ai_addrlen == sizeof(struct sockaddr_in) &&
        ((struct sockaddr_in *)list->ai_addr)->sin_port == htons(80) && list->ai_next == NULL)
        found++;
    char host[64] = "", service[16] = "";
    if (lee_getnameinfo(list->ai_addr, list->ai_addrlen, host, sizeof host, service, sizeof service, NI_NUMERICHOST | NI_NUMERICSERV) == 0 &&
        strcmp(host, "127.0.0.1") == 0 && strcmp(service, "80") == 0)
        found++;
    CHECK(lee_getaddrinfo("no such name, I hope", NULL, NULL, &list) != 0);
}

static void test_names(void) {
    struct lee_custodian *doomed = lee_custodian_new(NULL);
    void *tasks[10];
    found = 0;
    for (int i = 0; i < 10; i++)
        tasks[i] = start(find_own, NULL, 0);
    for (int i = 0; i < 10; i++)
        lee_task_join(tasks[i]);
    CHECK(found == 20);
    /* ended while another thread looks, and while others wait for their turn */
    struct lee_custodian *outer = lee_custodian_enter(doomed);
    for (int i = 0; i < 10; i++)
        start(find_own, NULL, 0);
    lee_custodian_enter(outer);
    lee_task_yield();
    lee_custodian_shutdown(doomed);
    CHECK(!lee_reactor_has_waits());
    lee_task_join(start(find_own, NULL, 0));
    CHECK(found >= 22);
}

/* --- signals, children ----------------------------------------------------------------------------------------------------------- */

static void test_signals(void) {
    struct read_job job;
    int ends[2];
    CHECK(lee_pipe(ends) == 0);
    CHECK(lee_signal_catch(SIGALRM) == 0);
    void *task = start_reader(&job, ends[0]);
    /* Again and again: on a machine that is busy the first may come before the wait begins. */
    struct itimerval soon = {.it_value = {0, 10000}, .it_interval = {0, 10000}}, never = {.it_value = {0, 0}};
    setitimer(ITIMER_REAL, &soon, NULL);
    lee_task_join(task);
    CHECK(job.got == -1 && job.error == EINTR);
    CHECK(lee_signal_caught(SIGALRM) >= 1);
    unsigned left = lee_sleep(100000);
    CHECK(left > 0 && left <= 100000);
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(lee_signal_caught(SIGALRM) >= 1 && lee_signal_caught(SIGALRM) == 0);
    lee_signal_default(SIGALRM);
    lee_close(ends[0]);
    lee_close(ends[1]);
    pid_t child = fork();
    if (child == 0) {
        usleep(10000);
        _exit(7);
    }
    int status = 0;
    CHECK(lee_waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    child = fork();
    if (child == 0) {
        usleep(10000);
        _exit(8);
    }
    CHECK(lee_wait(&status) == child && WIFEXITED(status) && WEXITSTATUS(status) == 8);
    CHECK(lee_wait(&status) == -1 && errno == ECHILD);
}

/* --- the end of those who wait ------------------------------------------------------------------------------------------------------ */

struct echo_job {
    struct lee_descriptor *descriptor;
    int *open;
};

static void echo_descriptor(void *argument) {
    struct echo_job *job = argument;
    char piece[16];
    ssize_t got;
    ++*job->open;
    while ((got = lee_descriptor_read(job->descriptor, piece, sizeof piece)) > 0)
        lee_descriptor_write(job->descriptor, piece, (size_t)got);
    --*job->open;
    lee_descriptor_close(job->descriptor);
}

/* Many connections, with a task each; half of them are ended while they wait, by their custodian. Nothing is left of any. */
static void test_many(void) {
    int most = most_connections();
    int *here = calloc((size_t)most, sizeof *here), open = 0, before = count_descriptors();
    struct lee_custodian *doomed = lee_custodian_new(NULL);
    for (int i = 0; i < most; i++) {
        int ends[2];
        if (lee_socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
            abort();
        here[i] = ends[0];
        struct lee_custodian *outer = lee_custodian_enter(i % 2 == 0 ? doomed : NULL);
        struct echo_job job = {lee_descriptor_of(ends[1]), &open};
        start(echo_descriptor, &job, sizeof job);
        lee_custodian_enter(outer);
    }
    lee_task_yield();
    CHECK(open == most);
    check_answers(here, most);
    lee_custodian_shutdown(doomed);
    check_half_ended(here, most);
    for (int i = 0; i < 10000 && open > (most + 1) / 2; i++)
        lee_usleep(1000);
    CHECK(!lee_reactor_has_waits());
    CHECK(open == (most + 1) / 2); /* those did not come to an end of their own */
    CHECK(count_descriptors() == before);
    free(here);
}

static int read_in_process(void *argument) {
    struct lee_descriptor *d = lee_descriptor_take(*(struct lee_descriptor **)argument);
    char c;
    return (int)lee_descriptor_read(d, &c, 1);
}

static int sleep_in_process(void *argument) {
    (void)argument;
    while (lee_usleep(1000) == 0)
        ;
    return 0;
}

static void push_descriptor(struct lee_work *work, void *element) {
    lee_push_block(work, *(struct lee_descriptor **)element);
}
static const struct lee_owned one_descriptor = {.size = sizeof(struct lee_descriptor *), .drop = push_descriptor};

static struct lee_descriptor *send_copy(int fd) {
    return lee_descriptor_give(lee_descriptor_of(lee_dup(fd)));
}

static void test_kill(void) {
    int ends[2], before = count_descriptors();
    CHECK(lee_pipe(ends) == 0);
    struct lee_pid *pids[20];
    for (int i = 0; i < 20; i++) {
        struct lee_descriptor *sent = send_copy(ends[0]);
        pids[i] = lee_process_spawn_with(NULL, i % 2 == 0 ? read_in_process : sleep_in_process, &sent, sizeof sent, &one_descriptor, false);
    }
    lee_usleep(3000);
    CHECK(lee_reactor_has_waits());
    for (int i = 1; i < 20; i++)
        lee_process_kill(pids[i]);
    CHECK(count_descriptors() == before + 3);
    for (int i = 0; i < 100; i++) { /* killed before they begin */
        struct lee_descriptor *sent = send_copy(ends[0]);
        lee_process_kill(lee_process_spawn_with(NULL, read_in_process, &sent, sizeof sent, &one_descriptor, false));
    }
    CHECK(count_descriptors() == before + 3);
    CHECK(lee_write(ends[1], "x", 1) == 1);
    struct lee_process_end end = lee_process_wait(pids[0]);
    CHECK(end.how == LEE_RETURNED && end.status == 1);
    CHECK(!lee_reactor_has_waits());
    lee_close(ends[0]);
    lee_close(ends[1]);
    CHECK(count_descriptors() == before);
}

/* --- whose descriptors are whose ------------------------------------------------------------------------------------------ */

struct owned {
    int of_main, own, standard;
    bool ready, go_on;
};
struct owned_arguments {
    struct lee_descriptor *sent;
    struct owned *with;
};

static int use_descriptors(void *argument) {
    struct owned_arguments *arguments = argument;
    struct owned *with = arguments->with;
    struct pollfd fds = {.fd = with->of_main, .events = POLLIN};
    fd_set set;
    struct timeval none = {0, 0};
    int ends[2], wrong = 0;
    char c;
    FD_ZERO(&set);
    FD_SET(with->of_main, &set);
#define IS_NOT_MINE(call) errno = 0, wrong += !((call) == -1 && errno == EBADF)
    IS_NOT_MINE(lee_read(with->of_main, &c, 1));
    IS_NOT_MINE(lee_write(with->of_main, "x", 1));
    IS_NOT_MINE(lee_recv(with->of_main, &c, 1, 0));
    IS_NOT_MINE(lee_send(with->of_main, "x", 1, 0));
    IS_NOT_MINE(lee_close(with->of_main));
    IS_NOT_MINE(lee_dup(with->of_main));
    IS_NOT_MINE(lee_dup2(STDIN_FILENO, with->of_main));
    IS_NOT_MINE(lee_close(STDIN_FILENO));
    IS_NOT_MINE(lee_fcntl(with->of_main, F_GETFL));
    IS_NOT_MINE(lee_lseek(with->of_main, 0, SEEK_CUR));
    IS_NOT_MINE(lee_select(with->of_main + 1, &set, NULL, NULL, &none));
    wrong += lee_descriptor_of(with->of_main) != NULL || lee_io_fdopen(with->of_main, "r") != NULL;
    wrong += lee_poll(&fds, 1, -1) != 1 || fds.revents != POLLNVAL;
    wrong += lee_fcntl(STDIN_FILENO, F_GETFD) < 0;
    wrong += lee_pipe(ends) != 0 || lee_write(ends[1], "y", 1) != 1;
    with->own = ends[0];
    wrong += lee_descriptor_write(arguments->sent, "z", 1) != 1; /* used as it is */
    struct lee_descriptor *given = lee_descriptor_take(arguments->sent);
    wrong += given == NULL || lee_descriptor_write(given, "z", 1) != 1;
    with->ready = true;
    while (!with->go_on)
        lee_task_yield();
    return wrong;
}

static void test_owners(void) {
    int ends[2], more[2], before = count_descriptors();
    char c = 0;
    CHECK(lee_pipe(ends) == 0 && lee_pipe(more) == 0);
    struct owned with = {.of_main = ends[0], .own = -1};
    static const struct lee_owned moved = {.size = sizeof(struct owned_arguments), .drop = push_descriptor};
    struct lee_descriptor *given = lee_descriptor_of(ends[1]);
    struct owned_arguments to = {lee_descriptor_give(given), &with};
    CHECK(lee_write(ends[1], "w", 1) == 1); /* in a block of this process */
    struct lee_pid *pid = lee_process_spawn_with(NULL, use_descriptors, &to, sizeof to, &moved, false);
    CHECK(lee_write(ends[1], "x", 1) == -1 && errno == EBADF); /* on its way, nobody's */
    while (!with.ready) /* its slice may end at any of its calls */
        lee_task_yield();
    CHECK(lee_read(ends[0], &c, 1) == 1 && c == 'w');
    CHECK(lee_read(ends[0], &c, 1) == 1 && c == 'z');
    CHECK(lee_read(ends[0], &c, 1) == 1 && c == 'z');
    CHECK(with.own >= 0 && lee_read(with.own, &c, 1) == -1 && errno == EBADF);
    CHECK(lee_close(with.own) == -1 && errno == EBADF);
    CHECK(lee_write(ends[1], "x", 1) == -1 && errno == EBADF); /* the process's */
    with.go_on = true;
    struct lee_process_end end = lee_process_wait(pid);
    CHECK(end.how == LEE_RETURNED && end.status == 0);
    CHECK(lee_read(ends[0], &c, 1) == 0); /* its end of the pipe was closed */
    with.ready = with.go_on = false;
    given = lee_descriptor_of(more[1]);
    to.sent = lee_descriptor_give(given);
    pid = lee_process_spawn_with(NULL, use_descriptors, &to, sizeof to, &moved, false);
    while (!with.ready)
        lee_task_yield();
    lee_process_kill(pid);
    CHECK(lee_read(more[0], &c, 1) == 1 && lee_read(more[0], &c, 1) == 1 && lee_read(more[0], &c, 1) == 0);
    int closed[2];
    CHECK(lee_pipe(closed) == 0);
    to.sent = lee_descriptor_give(lee_descriptor_of(closed[1]));
    CHECK(lee_close(closed[1]) == 0); /* by number: the block holds none any more */
    CHECK(lee_dup2(closed[0], closed[1]) == closed[1]);
    lee_exchange_free(to.sent); /* closes nothing of another's */
    CHECK(lee_close(closed[0]) == 0 && lee_close(closed[1]) == 0);
    lee_close(ends[0]);
    lee_close(more[0]);
    CHECK(count_descriptors() == before);
}

static bool told;

/* --- files over pipes ------------------------------------------------------------------------------------------------- */

enum { LINES = 20000 };

struct lines {
    struct lee_file *file;
    int name;
};

static void write_lines(void *argument) {
    struct lines *to = argument;
    for (int i = 0; i < LINES; i++)
        CHECK(lee_io_fprintf(to->file, "line %d of %d\n", i, to->name) > 0);
    CHECK(lee_io_fflush(to->file) == 0);
}

/* Two write whole lines into one pipe, a third reads them. */
static void test_lines(void) {
    int ends[2], next[2] = {0, 0}, wrong = 0;
    CHECK(lee_pipe(ends) == 0);
    struct lee_file *out = lee_io_fdopen(ends[1], "w"), *in = lee_io_fdopen(ends[0], "r");
    struct lines to[2] = {{out, 0}, {out, 1}};
    void *tasks[2] = {start(write_lines, &to[0], sizeof to[0]), start(write_lines, &to[1], sizeof to[1])};
    char line[64];
    for (int i = 0; i < 2 * LINES; i++) {
        int number = -1, name = 0;
        if (lee_io_fgets(line, sizeof line, in) == NULL || sscanf(line, "line %d of %d\n", &number, &name) != 2 || number != next[name & 1]++)
            wrong++;
    }
    CHECK(wrong == 0);
    for (int i = 0; i < 2; i++)
        lee_task_join(tasks[i]);
    CHECK(lee_io_fclose(out) == 0);
    CHECK(lee_io_fgets(line, sizeof line, in) == NULL && lee_io_feof(in));
    CHECK(lee_io_fclose(in) == 0);
}

static void write_much(void *argument) {
    struct lee_file *out = *(struct lee_file **)argument;
    unsigned char *all = malloc(STREAM);
    for (size_t i = 0; i < STREAM; i++)
        all[i] = byte_at(i);
    CHECK(lee_io_fwrite(all, 1, STREAM, out) == STREAM);
    free(all);
    CHECK(lee_io_fclose(out) == 0);
}

static void test_much(void) {
    int ends[2], wrong = 0;
    CHECK(lee_pipe(ends) == 0);
    struct lee_file *out = lee_io_fdopen(ends[1], "w"), *in = lee_io_fdopen(ends[0], "r");
    void *task = start(write_much, &out, sizeof out);
    for (size_t i = 0; i < STREAM; i++)
        wrong += lee_io_getc(in) != byte_at(i);
    CHECK(wrong == 0 && lee_io_getc(in) == -1);
    lee_task_join(task);
    CHECK(lee_io_fclose(in) == 0);
}

static void read_line(void *argument) {
    char line[16] = "";
    struct lee_file *in = *(struct lee_file **)argument;
    CHECK(lee_io_fgets(line, sizeof line, in) != NULL && strcmp(line, "one\n") == 0);
    told = true;
}

static void read_for_ever(void *argument) {
    char line[16];
    lee_io_fgets(line, sizeof line, *(struct lee_file **)argument);
    CHECK(false);
}

static void close_file(void *argument) {
    CHECK(lee_io_fclose(*(struct lee_file **)argument) == 0);
    CHECK(told);
}

/* Who uses or closes a file that another task reads from waits for that; who is ended while reading leaves the file to others. */
static void test_in_use(void) {
    int ends[2];
    CHECK(lee_pipe(ends) == 0);
    struct lee_file *in = lee_io_fdopen(ends[0], "r");
    struct lee_custodian *doomed = lee_custodian_new(NULL), *outer = lee_custodian_enter(doomed);
    start(read_for_ever, &in, sizeof in);
    lee_custodian_enter(outer);
    lee_task_yield();
    told = false;
    void *reader = start(read_line, &in, sizeof in);
    lee_task_yield();
    void *closer = start(close_file, &in, sizeof in);
    lee_task_yield();
    lee_custodian_shutdown(doomed);
    lee_task_yield();
    CHECK(!told);
    CHECK(lee_write(ends[1], "one\n", 4) == 4);
    lee_task_join(reader);
    lee_task_join(closer);
    CHECK(!lee_reactor_has_waits());
    lee_close(ends[1]);
}

/* Others are served although some could always run. */
static void tell(void *argument) {
    int fd = *(int *)argument;
    char c;
    CHECK(lee_read(fd, &c, 1) == 1);
    told = true;
}

static void spin(void *argument) {
    (void)argument;
    while (!told)
        lee_task_yield();
}

static void test_fair(void) {
    int ends[2];
    CHECK(lee_pipe(ends) == 0);
    told = false;
    void *tasks[3] = {start(tell, &ends[0], sizeof(int)), start(spin, NULL, 0), start(spin, NULL, 0)};
    lee_task_yield();
    CHECK(lee_write(ends[1], "x", 1) == 1);
    for (int i = 0; i < 3; i++)
        lee_task_join(tasks[i]);
    lee_close(ends[0]);
    lee_close(ends[1]);
}

/* --- standard output and error are pipes that are full -------------------------------------------------------------------------------- */

enum { TALKERS = 3, SAID = 100000 };

/* Says SAID characters, then one line by `warnx`. */
static int talk(void *argument) {
    bool error = *(int *)argument == STDERR_FILENO;
    struct lee_file *to = error ? lee_io_stderr() : lee_io_stdout();
    char *text = malloc(SAID + 1);
    memset(text, '.', SAID);
    text[SAID] = 0;
    int put = lee_io_fprintf(to, "%s", text);
    free(text);
    if (lee_io_fflush(to) != 0)
        put = -1;
    if (error)
        lee_warnx("%s", "said all");
    return put == SAID ? 0 : 1;
}

struct drained {
    int from;
    size_t bytes, lines;
};

static void drain(void *argument) {
    struct drained *drained = *(struct drained **)argument;
    char piece[10000];
    ssize_t got;
    while ((got = lee_read(drained->from, piece, sizeof piece)) > 0) {
        drained->bytes += (size_t)got;
        for (ssize_t i = 0; i < got; i++)
            drained->lines += piece[i] == '\n';
    }
}

/* Who writes there waits by itself: others go on, and one that is killed there is gone. */
static void write_to_full(void *argument) {
    int fd = *(int *)argument, ends[2];
    bool error = fd == STDERR_FILENO;
    alarm(120); /* instead of standing still */
    CHECK(lee_pipe(ends) == 0 && dup2(ends[1], fd) == fd);
    struct lee_pid *pids[TALKERS];
    for (int i = 0; i < TALKERS; i++)
        pids[i] = lee_process_spawn(NULL, talk, &fd, sizeof fd);
    for (int i = 0; i < 5; i++)
        lee_usleep(1000);
    CHECK(lee_reactor_has_waits());
    lee_process_kill(pids[0]);
    CHECK(lee_process_wait(pids[0]).how == LEE_KILLED);
    struct drained drained = {.from = ends[0]}, *to = &drained;
    void *task = start(drain, &to, sizeof to);
    for (int i = 1; i < TALKERS; i++) {
        struct lee_process_end end = lee_process_wait(pids[i]);
        CHECK(end.how == LEE_RETURNED && end.status == 0);
    }
    int none = open("/dev/null", O_WRONLY);
    dup2(none, fd);
    lee_close(ends[1]);
    lee_task_join(task);
    CHECK(drained.bytes >= (TALKERS - 1) * (size_t)SAID && drained.bytes < TALKERS * (size_t)SAID);
    CHECK(drained.lines == (error ? TALKERS - 1 : 0));
    CHECK(!lee_reactor_has_waits());
    _exit(check_failures > 0);
}

static void test_full(void) {
    struct child child;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        run_child(&child, write_to_full, &fd);
        CHECK(child.status == 0);
    }
}

/* --- deadlock ----------------------------------------------------------------------------------------------------------------------- */

static void *joined;

static void join_first(void *argument) {
    (void)argument;
    lee_usleep(1000);
    lee_task_join(joined);
}

static void run_deadlock(void *argument) {
    (void)argument;
    joined = start(join_first, NULL, 0);
    lee_task_join(joined);
}

static void run_no_deadlock(void *argument) {
    (void)argument;
    static const struct sleeper sleeper = {0, 0, 0};
    joined = start(join_first, NULL, 0); /* waits for itself, for ever */
    lee_task_join(start(sleep_and_note, &sleeper, sizeof sleeper));
    _exit(3);
}

static void test_deadlock(void) {
    struct child child;
    run_child(&child, run_deadlock, NULL);
    CHECK(child.status == 134);
    check_holds("deadlock", child.output, "deadlock: every task waits; task");
    run_child(&child, run_no_deadlock, NULL);
    CHECK(child.status == 3);
}

int main(int argc, char **argv) {
    lee_start(argc, argv);
    lee_heap_self();
    test_alone();
    test_deadlock();
    test_sleep_order();
    test_timers();
    test_pipe();
    test_ends();
    test_tcp();
    test_poll();
    test_names();
    test_signals();
    test_fair();
    test_lines();
    test_much();
    test_in_use();
    test_full();
    test_many();
    test_kill();
    test_owners();
    return check_end();
}
