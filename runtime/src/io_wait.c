/* io_wait.c: C's calls that read, write, accept and connect, as safe code makes them.
 *
 * Promises: each does what the function of its name does. In a program with several tasks a call that has to wait lets the others run
 * meanwhile; in one with a single task it is the system's call. No descriptor's O_NONBLOCK is changed (of a socket that connects, for as
 * long as that call takes): programs that share the open file would see it. A socket is asked not to wait for one call (MSG_DONTWAIT), a
 * pipe likewise (RWF_NOWAIT); what knows neither (a terminal) is read when poll says so. For a disk
 * another thread waits, if a read finds nothing in the system's cache, or a write is large
 * (io_disk.h). Where a write finds no reader, that is EPIPE; for the standard output of the first
 * process it is C's SIGPIPE. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "io_wait.h"

#include "fds.h"
#include "foreign_stack.h"
#include "io_disk.h"
#include "io_library.h"
#include "io_owned.h"
#include "reactor.h"
#include "task.h"
#include "worker.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef LEE_NO_GC

#include "process.h"

/* One call, until it is over. */
struct call {
    int fd;
    uint32_t life; /* of that number (fds.h) */
    short events;
    unsigned kind;
    uint64_t since; /* lee_reactor_told before it was tried */
    int64_t deadline;
    const struct lee_left *left;
    bool asked; /* whether and how long to wait */
    bool plain; /* it cannot be waited for: the system's call waits */
    bool disk;  /* likewise, and it is a regular file */
};

static struct call begin(int fd, short events, const struct lee_left *left) {
    return (struct call){.fd = fd, .life = lee_fd_life(fd), .events = events, .kind = lee_fd_kind(fd), .since = lee_reactor_told(),
                         .deadline = LEE_FOR_EVER, .left = left};
}

/* SO_RCVTIMEO and SO_SNDTIMEO; of what is no socket, none. */
static int64_t deadline_of(int fd, short events) {
    struct timeval time = {0, 0};
    socklen_t length = sizeof time;
    if (getsockopt(fd, SOL_SOCKET, events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO, &time, &length) != 0 ||
        (time.tv_sec == 0 && time.tv_usec == 0))
        return LEE_FOR_EVER;
    int64_t nanoseconds;
    if (__builtin_mul_overflow((int64_t)time.tv_sec, 1000000000, &nanoseconds))
        return INT64_MAX;
    return lee_deadline(nanoseconds + (int64_t)time.tv_usec * 1000);
}

/* Whether the program wants the call to wait. */
static bool may_wait(struct call *call) {
    if (call->asked)
        return true;
    call->asked = true;
    if ((call->kind & LEE_FD_BLOCKS) == 0) {
        int flags = fcntl(call->fd, F_GETFL);
        if (flags < 0)
            return false;
        if (flags & O_NONBLOCK) {
            errno = EAGAIN;
            return false;
        }
    }
    if (call->kind == 0 || call->kind & LEE_FD_TIMES)
        call->deadline = deadline_of(call->fd, call->events);
    return true;
}

/* The call failed. If that was for having to wait, waits; whether it is to be tried again. */
static bool again(struct call *call) {
    if ((errno != EAGAIN && errno != EWOULDBLOCK) || call->plain || !may_wait(call))
        return false;
    enum lee_woken woken = lee_wait_left(call->fd, call->events, call->since, call->deadline, call->left);
    call->since = lee_reactor_told();
    switch (woken) {
    case LEE_WOKEN_READY:
        if (lee_fd_life(call->fd) == call->life)
            return true;
        errno = EBADF; /* another task closed it before this one ran */
        return false;
    case LEE_WOKEN_TIME:
        errno = EAGAIN;
        return false;
    case LEE_WOKEN_SIGNAL:
        errno = EINTR;
        return false;
    case LEE_WOKEN_CLOSED:
        errno = EBADF;
        return false;
    default:
        call->plain = true;
        call->disk = lee_disk_is_regular(call->fd);
        return true;
    }
}

static bool is_ready(int fd, short events) {
    struct pollfd state = {.fd = fd, .events = events};
    if (lee_poll_now(&state, 1) != 0)
        return true;
    errno = EAGAIN;
    return false;
}

/* Some calls cannot be told not to wait, so they are made only after poll says that they will not.
 * A process on another worker may have the same open file and get there first. The call would then
 * block its worker, and nothing could stop it. Holding the lock for both prevents that. */
static ssize_t read_ready(int fd, void *p, size_t n) {
    lee_lock();
    ssize_t got = is_ready(fd, POLLIN) ? read(fd, p, n) : -1;
    lee_unlock();
    return got;
}

static int accept_ready(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    lee_lock();
    int made = is_ready(fd, POLLIN) ? accept4(fd, address, length, flags) : -1;
    lee_unlock();
    return made;
}

/* A pipe that poll calls writable takes that much. A terminal need not, which others are not to wait
 * for. */
static ssize_t write_ready(int fd, const void *p, size_t n) {
    struct stat about;
    bool locks = lee_many && fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode);
    if (locks)
        lee_lock_many();
    ssize_t put = is_ready(fd, POLLOUT) ? write(fd, p, n < PIPE_BUF ? n : PIPE_BUF) : -1;
    if (locks)
        lee_unlock_many();
    return put;
}

/* Whether the last call said that it does not know RWF_NOWAIT here. */
static bool knows_no_flag(void) {
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
}

/* A socket that was emptied, and of which nothing was told since, need not be asked. */
static ssize_t receive_now(struct call *call, void *p, size_t n, int flags, struct sockaddr *address, socklen_t *length) {
    bool is_told = (call->kind & (LEE_FD_TCP | LEE_FD_BLOCKS)) == (LEE_FD_TCP | LEE_FD_BLOCKS) && (flags & ~MSG_WAITALL) == 0 && n > 0;
    if (is_told && lee_reactor_is_empty(call->fd)) {
        errno = EAGAIN;
        return -1;
    }
    ssize_t got = recvfrom(call->fd, p, n, flags | MSG_DONTWAIT, address, length);
    if (is_told && got > 0 && (size_t)got < n)
        lee_reactor_note_empty(call->fd, call->since);
    return got;
}

static ssize_t read_now(struct call *call, void *p, size_t n) {
    if (call->disk)
        return lee_disk_read(call->fd, p, n, call->left);
    if (call->plain || n == 0)
        return read(call->fd, p, n);
    if (!(call->kind & LEE_FD_FILE)) {
        ssize_t got = receive_now(call, p, n, 0, NULL, NULL);
        if (got >= 0 || errno != ENOTSOCK)
            return got;
        call->kind |= LEE_FD_FILE;
    }
    struct iovec piece = {p, n};
    ssize_t got = preadv2(call->fd, &piece, 1, -1, RWF_NOWAIT);
    if (got >= 0 || !knows_no_flag())
        return got;
    return read_ready(call->fd, p, n);
}

static ssize_t write_now(struct call *call, const void *p, size_t n) {
    if (call->plain || n == 0)
        return write(call->fd, p, n);
    if (!(call->kind & LEE_FD_FILE)) {
        ssize_t put = send(call->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put >= 0 || errno != ENOTSOCK)
            return put;
        call->kind |= LEE_FD_FILE;
    }
    struct iovec piece = {(void *)(uintptr_t)p, n};
    ssize_t put = pwritev2(call->fd, &piece, 1, -1, RWF_NOWAIT);
    if (put >= 0 || !knows_no_flag())
        return put;
    if (n > PIPE_BUF && lee_disk_is_regular(call->fd))
        return write(call->fd, p, n);
    return write_ready(call->fd, p, n);
}

/* A FIFO has no bytes and no end before it has a writer. It was opened without waiting for one. */
static bool has_begun(const struct call *call, size_t n) {
    unsigned waits = LEE_FD_FILE | LEE_FD_BLOCKS;
    return n == 0 || call->plain || (call->kind & waits) != waits || is_ready(call->fd, POLLIN);
}

/* Whether others would wait for it for long. */
static bool is_large(const struct call *call, size_t n) {
    return n >= LEE_DISK_LEAST && (call->kind & LEE_FD_SOCKET) == 0 && lee_disk_is_regular(call->fd);
}

/* What the system has at hand is read here, in pieces, between which others may run. */
static ssize_t read_much(struct call *call, char *p, size_t n) {
    size_t done = 0;
    while (done < n) {
        size_t piece = lee_disk_piece(n - done);
        struct iovec part = {p + done, piece};
        ssize_t got = preadv2(call->fd, &part, 1, -1, RWF_NOWAIT);
        bool here = got >= 0 || (errno != EAGAIN && !knows_no_flag());
        if (!here)
            got = lee_disk_read(call->fd, p + done, piece, call->left);
        if (got <= 0)
            return done > 0 ? (ssize_t)done : got;
        done += (size_t)got;
        if (call->left != NULL || (!here && (size_t)got < piece))
            break;
        lee_task_end_slice();
        if (lee_fd_life(call->fd) != call->life)
            break;
    }
    return (ssize_t)done;
}

static ssize_t write_much(struct call *call, const char *p, size_t n) {
    size_t done = 0;
    while (done < n) {
        ssize_t put = lee_disk_write(call->fd, p + done, n - done, call->left);
        if (put <= 0)
            return done > 0 ? (ssize_t)done : put;
        done += (size_t)put;
        if (call->left != NULL || lee_fd_life(call->fd) != call->life)
            break;
    }
    return (ssize_t)done;
}

static ssize_t read_waiting(int fd, void *p, size_t n, const struct lee_left *left) {
    struct call call = begin(fd, POLLIN, left);
    if (is_large(&call, n))
        return read_much(&call, p, n);
    ssize_t got;
    do {
        got = read_now(&call, p, n);
        if (got == 0 && !has_begun(&call, n))
            got = -1; /* EAGAIN */
    } while (got < 0 && again(&call));
    return got;
}

/* Nanoseconds between two tries of what the system does not announce. */
enum { PAUSE_LEAST = 1000000, PAUSE_MOST = 64000000 };

static __attribute__((noinline)) int open_fifo(int directory, const char *path, int flags, mode_t mode) {
    char copy[PATH_MAX];
    if (lee_strlcpy(copy, path, sizeof copy) >= sizeof copy) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (int64_t pause = PAUSE_LEAST;;) {
        int fd = openat(directory, copy, flags | O_NONBLOCK, mode);
        if (fd >= 0)
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        if (fd >= 0 || errno != ENXIO)
            return fd;
        lee_wait_pause(&pause, PAUSE_MOST, NULL);
    }
}

int lee_open_waiting(int directory, const char *path, int flags, mode_t mode) {
    struct stat about;
    bool both = (flags & O_ACCMODE) == O_RDWR;
    if (LEE_SUSPENDS && !both && (flags & (O_NONBLOCK | O_PATH)) == 0 && fstatat(directory, path, &about, 0) == 0 &&
        S_ISFIFO(about.st_mode))
        return open_fifo(directory, path, flags, mode);
    return LEE_LASTS(int, openat(directory, path, flags, mode));
}

int lee_flock(int fd, int operation) {
    for (int64_t pause = PAUSE_LEAST; lee_fd_is_mine(fd);) {
        int done = flock(fd, LEE_SUSPENDS ? operation | LOCK_NB : operation);
        if (done == 0 || !LEE_SUSPENDS || (operation & LOCK_NB) != 0 || errno != EWOULDBLOCK)
            return done;
        lee_wait_pause(&pause, PAUSE_MOST, NULL); /* another task of this program may have the lock */
    }
    return -1;
}

int lee_lockf(int fd, int command, off_t length) {
    for (int64_t pause = PAUSE_LEAST; lee_fd_is_mine(fd);) {
        int done = lockf(fd, LEE_SUSPENDS && command == F_LOCK ? F_TLOCK : command, length);
        if (done == 0 || !LEE_SUSPENDS || command != F_LOCK || (errno != EAGAIN && errno != EACCES))
            return done;
        lee_wait_pause(&pause, PAUSE_MOST, NULL);
    }
    return -1;
}

/* After an attempt to write a part: whether the call is over. `*done` then is its result. */
static bool is_put(struct call *call, ssize_t put, size_t n, ssize_t *done) {
    if (put >= 0) {
        *done += put;
        return (size_t)*done >= n || put == 0;
    }
    if (again(call))
        return false;
    if (*done == 0)
        *done = -1;
    return true;
}

/* All of it, as the system's call does where it may wait. */
static ssize_t write_waiting(int fd, const void *p, size_t n, const struct lee_left *left) {
    struct call call = begin(fd, POLLOUT, left);
    if (is_large(&call, n))
        return write_much(&call, p, n);
    ssize_t done = 0, put;
    do
        put = write_now(&call, (const char *)p + done, n - (size_t)done);
    while (!is_put(&call, put, n, &done));
    return done;
}

ssize_t lee_read_left(int fd, void *p, size_t n, const struct lee_left *left) {
    return LEE_SUSPENDS ? read_waiting(fd, p, n, left) : read(fd, p, n);
}

/* As much as there is room for, at least a byte. */
ssize_t lee_write_left(int fd, const void *p, size_t n, const struct lee_left *left) {
    if (!LEE_SUSPENDS)
        return write(fd, p, n);
    struct call call = begin(fd, POLLOUT, left);
    if (is_large(&call, n))
        return write_much(&call, p, n);
    ssize_t put;
    do
        put = write_now(&call, p, n);
    while (put < 0 && again(&call));
    return put;
}

static ssize_t receive_waiting(int fd, void *p, size_t n, int flags, struct sockaddr *address, socklen_t *length) {
    struct call call = begin(fd, POLLIN, NULL);
    bool all = (flags & MSG_WAITALL) != 0 && (flags & MSG_PEEK) == 0;
    size_t done = 0;
    for (;;) {
        ssize_t got = call.plain ? recvfrom(fd, (char *)p + done, n - done, flags, address, length)
                                 : receive_now(&call, (char *)p + done, n - done, flags, address, length);
        if (got >= 0) {
            done += (size_t)got;
            if (!all || got == 0 || done >= n)
                return (ssize_t)done;
            errno = EAGAIN;
        }
        if (!again(&call))
            return done > 0 ? (ssize_t)done : -1;
    }
}

static ssize_t send_waiting(int fd, const void *p, size_t n, int flags, const struct sockaddr *address, socklen_t length) {
    struct call call = begin(fd, POLLOUT, NULL);
    ssize_t done = 0, put;
    do
        put = sendto(fd, (const char *)p + done, n - (size_t)done, call.plain ? flags : flags | MSG_DONTWAIT | MSG_NOSIGNAL, address, length);
    while (!is_put(&call, put, n, &done));
    return done;
}

static int accept_waiting(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    struct call call = begin(fd, POLLIN, NULL);
    socklen_t room = length != NULL ? *length : 0;
    int made;
    do {
        if (length != NULL)
            *length = room;
        made = call.plain ? accept4(fd, address, length, flags) : accept_ready(fd, address, length, flags);
    } while (made < 0 && again(&call));
    return made;
}

/* A local socket whose server has no room for the moment is not told of by the system. */
static bool wait_a_moment(void) {
    if (lee_wait_any(NULL, 0, lee_deadline(1000000)) != LEE_WOKEN_SIGNAL)
        return true;
    errno = EINTR;
    return false;
}

static int connect_waiting(int fd, const void *address, socklen_t length) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || flags & O_NONBLOCK)
        return connect(fd, address, length);
    struct call call = begin(fd, POLLOUT, NULL);
    for (;;) {
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
        int result = connect(fd, address, length), why = errno;
        fcntl(fd, F_SETFL, flags);
        errno = why;
        if (result == 0 || (why != EINPROGRESS && why != EAGAIN))
            return result;
        if (why == EINPROGRESS)
            break;
        if (!wait_a_moment())
            return -1;
    }
    struct pollfd state = {.fd = fd, .events = POLLOUT};
    while (lee_poll_now(&state, 1) == 0) {
        errno = EAGAIN;
        if (!again(&call))
            return -1;
        if (call.plain && poll(&state, 1, -1) < 0)
            return -1;
    }
    int why = 0;
    socklen_t size = sizeof why;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0)
        return -1;
    errno = why != 0 ? why : errno;
    return why != 0 ? -1 : 0;
}

/* --- SIGPIPE ------------------------------------------------------------------------------------------------------------ */

static void let_be(int number) {
    (void)number;
}

/* A handler that does nothing: the write fails with EPIPE. Programs that this one starts have the system's default again. */
void lee_io_tasks_begin(void) {
    struct sigaction before;
    if (sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
        struct sigaction quiet = {.sa_handler = let_be, .sa_flags = SA_RESTART};
        sigaction(SIGPIPE, &quiet, NULL);
    }
}

void lee_io_broken(int fd) {
    struct sigaction now;
    if (!LEE_SUSPENDS || fd != STDOUT_FILENO || errno != EPIPE || lee_process_is_spawned())
        return;
    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == let_be) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
        errno = EPIPE;
    }
}

#else

ssize_t lee_read_left(int fd, void *p, size_t n, const struct lee_left *left) {
    (void)left;
    return read(fd, p, n);
}

ssize_t lee_write_left(int fd, const void *p, size_t n, const struct lee_left *left) {
    (void)left;
    return write(fd, p, n);
}

void lee_io_broken(int fd) {
    (void)fd;
}

int lee_open_waiting(int directory, const char *path, int flags, mode_t mode) {
    return openat(directory, path, flags, mode);
}

#define read_waiting(fd, p, n, left) read(fd, p, n)
#define write_waiting(fd, p, n, left) write(fd, p, n)
#define receive_waiting recvfrom
#define send_waiting sendto
#define accept_waiting accept4
#define connect_waiting connect

#endif

/* All of these, and those of io_sleep.c and `close`, give way if the slice is over: in a loop of
 * calls that need not wait the process is hardly ever found in its own code. */

/* --- C's names ------------------------------------------------------------------------------------------------------------ */

ssize_t lee_read(int fd, void *p, size_t n) {
    lee_task_end_slice();
    if (!lee_fd_is_mine(fd))
        return -1;
    return LEE_SUSPENDS ? read_waiting(fd, p, n, NULL) : read(fd, p, n);
}

ssize_t lee_write(int fd, const void *p, size_t n) {
    lee_task_end_slice();
    if (!lee_fd_is_mine(fd))
        return -1;
    if (!LEE_SUSPENDS)
        return write(fd, p, n);
    ssize_t put = write_waiting(fd, p, n, NULL);
    if (put < 0)
        lee_io_broken(fd);
    return put;
}

ssize_t lee_receive(int fd, void *p, size_t n, int flags, struct sockaddr *address, socklen_t *length) {
    lee_task_end_slice();
    if (!lee_fd_is_mine(fd))
        return -1;
    if (!LEE_SUSPENDS || flags & (MSG_DONTWAIT | MSG_ERRQUEUE))
        return recvfrom(fd, p, n, flags, address, length);
    return receive_waiting(fd, p, n, flags, address, length);
}

ssize_t lee_recv(int fd, void *p, size_t n, int flags) {
    return lee_receive(fd, p, n, flags, NULL, NULL);
}

ssize_t lee_sendto(int fd, const void *p, size_t n, int flags, const void *address, socklen_t length) {
    lee_task_end_slice();
    if (!lee_fd_is_mine(fd))
        return -1;
    if (!LEE_SUSPENDS || flags & MSG_DONTWAIT)
        return sendto(fd, p, n, LEE_SUSPENDS ? flags | MSG_NOSIGNAL : flags, address, length);
    return send_waiting(fd, p, n, flags, address, length);
}

ssize_t lee_send(int fd, const void *p, size_t n, int flags) {
    return lee_sendto(fd, p, n, flags, NULL, 0);
}

int lee_accept_waiting(int fd, struct sockaddr *address, socklen_t *length, int flags) {
    lee_task_end_slice();
    if (!lee_fd_is_mine(fd))
        return -1;
    int made = LEE_SUSPENDS ? accept_waiting(fd, address, length, flags) : accept4(fd, address, length, flags);
    return lee_fd_made(made, LEE_FD_SOCKET | (lee_fd_kind(fd) & LEE_FD_TCP) | (flags & SOCK_NONBLOCK ? 0 : LEE_FD_BLOCKS));
}

int lee_connect(int fd, const void *address, socklen_t length) {
    lee_task_end_slice();
    if (!lee_fd_is_mine(fd))
        return -1;
    return LEE_SUSPENDS ? connect_waiting(fd, address, length) : connect(fd, address, length);
}
