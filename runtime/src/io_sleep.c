/* io_sleep.c: C's calls that wait for a time, for several descriptors, for a signal or for the end of a program, as safe code makes them.
 *
 * Promises: as io_wait.c: each does what the function of its name does, and lets other tasks run while it waits. */
#define _GNU_SOURCE

#include "errno_here.h"
#include "fds.h"
#include "io_library.h"
#include "io_wait.h"
#include "reactor.h"
#include "task.h"

#include <poll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FDS_MOST = 1 << 20 }; /* that a program can have open */

static bool is_in(int fd, const fd_set *set) {
    return set != NULL && FD_ISSET(fd, set);
}

#ifndef LEE_NO_GC

#include <lee/heap.h>

#include <sys/syscall.h>

enum {
    NANOSECONDS = 1000000000,
    FEW = 8 /* descriptors, described on the stack */
};

static int64_t nanoseconds_of(int64_t seconds, int64_t nanoseconds) {
    int64_t all;
    return __builtin_mul_overflow(seconds, NANOSECONDS, &all) || __builtin_add_overflow(all, nanoseconds, &all) ? INT64_MAX : all;
}

/* Until the deadline, or a signal; how much is left. */
static int64_t sleep_until(int64_t deadline) {
    if (lee_wait_any(NULL, 0, deadline) != LEE_WOKEN_SIGNAL)
        return 0;
    int64_t left = deadline - lee_clock();
    return left > 0 ? left : 1;
}

static struct timespec timespec_of(int64_t nanoseconds) {
    return (struct timespec){nanoseconds / NANOSECONDS, nanoseconds % NANOSECONDS};
}

/* As clock_nanosleep: an errno. */
static int sleep_on(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) {
    struct timespec now;
    if (wanted == NULL)
        return EFAULT;
    if (wanted->tv_sec < 0 || wanted->tv_nsec < 0 || wanted->tv_nsec >= NANOSECONDS || clock == CLOCK_THREAD_CPUTIME_ID)
        return EINVAL;
    int64_t time = nanoseconds_of(wanted->tv_sec, wanted->tv_nsec);
    if (!(flags & TIMER_ABSTIME)) {
        int64_t rest = sleep_until(lee_deadline(time));
        if (rest > 0 && left != NULL)
            *left = timespec_of(rest);
        return rest > 0 ? EINTR : 0;
    }
    if (clock == CLOCK_MONOTONIC) /* that of deadlines */
        return sleep_until(time) > 0 ? EINTR : 0;
    for (;;) { /* somebody may set the clock meanwhile, so not for too long at once */
        if (clock_gettime(clock, &now) != 0)
            return errno;
        int64_t rest = time - nanoseconds_of(now.tv_sec, now.tv_nsec);
        if (rest <= 0)
            return 0;
        if (sleep_until(lee_deadline(rest < NANOSECONDS ? rest : NANOSECONDS)) > 0)
            return EINTR;
    }
}

/* Waits until one of them may be ready. As poll if there is nothing to look at again: 0 at the deadline, -1 and EINTR at a
 * signal, or EBADF if one of them is closed; else 1. */
static int wait_for_all(const struct pollfd *fds, nfds_t n, uint64_t since, int64_t deadline) {
    struct lee_watcher few[FEW], *watchers = few;
    size_t count = 0;
    if (n > FEW) {
        if (n > SIZE_MAX / sizeof *watchers) {
            errno = EINVAL;
            return -1;
        }
        watchers = lee_heap_alloc(NULL, n * sizeof *watchers);
    }
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].fd >= 0)
            watchers[count++] = (struct lee_watcher){.fd = fds[i].fd, .events = fds[i].events, .since = since};
    }
    enum lee_woken woken = lee_wait_any(watchers, count, deadline);
    if (watchers != few)
        lee_heap_free(watchers);
    switch (woken) {
    case LEE_WOKEN_TIME:
        return 0;
    case LEE_WOKEN_SIGNAL:
        errno = EINTR;
        return -1;
    case LEE_WOKEN_CLOSED:
        errno = EBADF;
        return -1;
    case LEE_NOT_WATCHED:
    case LEE_NO_ROOM:
        lee_wait_any(NULL, 0, lee_deadline(NANOSECONDS / 100)); /* without the system's help */
        return deadline != LEE_FOR_EVER && lee_clock() >= deadline ? 0 : 1;
    default:
        return 1;
    }
}

static int poll_waiting(struct pollfd *fds, nfds_t n, int timeout) {
    int64_t deadline = timeout < 0 ? LEE_FOR_EVER : lee_deadline((int64_t)timeout * 1000000);
    for (;;) {
        uint64_t since = lee_reactor_told();
        int ready = lee_poll_now(fds, n);
        if (ready != 0)
            return ready;
        int more = wait_for_all(fds, n, since, deadline);
        if (more == 0 || (more < 0 && errno != EBADF)) /* poll itself tells of one that is closed */
            return more;
    }
}

static int select_waiting(int count, fd_set *readable, fd_set *writable, fd_set *exceptional, struct timeval *timeout) {
    struct pollfd fds[FD_SETSIZE];
    fd_set none, wanted[3], *sets[3] = {readable, writable, exceptional};
    static const short events[3] = {POLLIN, POLLOUT, POLLPRI};
    nfds_t n = 0;
    FD_ZERO(&none);
    for (int i = 0; i < 3; i++)
        wanted[i] = sets[i] != NULL ? *sets[i] : none;
    for (int fd = 0; fd < count; fd++) {
        short asked = 0;
        for (int i = 0; i < 3; i++)
            asked |= is_in(fd, &wanted[i]) ? events[i] : 0;
        if (asked != 0)
            fds[n++] = (struct pollfd){.fd = fd, .events = asked};
    }
    int64_t deadline = LEE_FOR_EVER;
    if (timeout != NULL) {
        if (timeout->tv_sec < 0 || timeout->tv_usec < 0) {
            errno = EINVAL;
            return -1;
        }
        deadline = lee_deadline(nanoseconds_of(timeout->tv_sec, (int64_t)timeout->tv_usec * 1000));
    }
    for (;;) {
        struct timeval now = {0, 0};
        uint64_t since = lee_reactor_told();
        int ready;
        while ((ready = select(count, readable, writable, exceptional, &now)) < 0 && errno == EINTR)
            ; /* as lee_poll_now; it has left the sets as they were */
        int more = ready != 0 ? ready : wait_for_all(fds, n, since, deadline);
        int64_t left = timeout != NULL ? deadline - lee_clock() : 0;
        if (timeout != NULL) {
            left = left > 0 ? left / 1000 : 0;
            *timeout = (struct timeval){left / 1000000, left % 1000000};
        }
        if (ready != 0 || more <= 0)
            return ready != 0 ? ready : more;
        for (int i = 0; i < 3; i++) {
            if (sets[i] != NULL)
                *sets[i] = wanted[i];
        }
    }
}

static void close_left(void *context) {
    close(*(int *)context);
}

/* The end of a child is told by a descriptor; of any of several, only by asking again. */
static pid_t wait_for_child(pid_t child, int *status, int options) {
    int fd = child > 0 ? (int)syscall(SYS_pidfd_open, child, 0) : -1;
    struct lee_left left = {close_left, &fd};
    int64_t pause = NANOSECONDS / 1000;
    for (;;) {
        uint64_t since = lee_reactor_told();
        pid_t ended = waitpid(child, status, options | WNOHANG);
        bool over = ended != 0;
        if (!over) {
            enum lee_woken woken = fd >= 0 ? lee_wait_left(fd, POLLIN, since, LEE_FOR_EVER, &left) : lee_wait_any(NULL, 0, lee_deadline(pause));
            if (woken == LEE_WOKEN_SIGNAL) {
                over = true;
                ended = -1;
                errno = EINTR;
            } else if (woken == LEE_NOT_WATCHED || woken == LEE_NO_ROOM) {
                close(fd);
                fd = -1;
            }
            pause = pause < NANOSECONDS / 20 ? pause * 2 : pause;
        }
        if (over) {
            int why = errno;
            if (fd >= 0)
                close(fd);
            errno = why;
            return ended;
        }
    }
}

#else

#define poll_waiting poll
#define select_waiting select
#define wait_for_child waitpid
#define sleep_on clock_nanosleep
#define sleep_until(deadline) (0)

#endif

unsigned lee_sleep(unsigned seconds) {
    if (!LEE_SUSPENDS)
        return sleep(seconds);
    int64_t left = sleep_until(lee_deadline((int64_t)seconds * 1000000000));
    return (unsigned)(left / 1000000000 + (left % 1000000000 != 0));
}

int lee_usleep(useconds_t microseconds) {
    if (!LEE_SUSPENDS)
        return usleep(microseconds);
    if (sleep_until(lee_deadline((int64_t)microseconds * 1000)) == 0)
        return 0;
    errno = EINTR;
    return -1;
}

int lee_clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left) {
    return LEE_SUSPENDS ? sleep_on(clock, flags, wanted, left) : clock_nanosleep(clock, flags, wanted, left);
}

int lee_nanosleep(const struct timespec *wanted, struct timespec *left) {
    if (!LEE_SUSPENDS)
        return nanosleep(wanted, left);
    int why = sleep_on(CLOCK_MONOTONIC, 0, wanted, left);
    errno = why != 0 ? why : errno;
    return why != 0 ? -1 : 0;
}

int lee_pause(void) {
#ifndef LEE_NO_GC
    if (LEE_SUSPENDS) {
        lee_wait_any(NULL, 0, LEE_FOR_EVER);
        errno = EINTR;
        return -1;
    }
#endif
    return pause();
}

/* Of one that is another process's it says what it says of one that is not open. */
static bool has_others(struct pollfd *fds, nfds_t n) {
    if (!lee_fds_guarded || n > FDS_MOST)
        return false;
    int error = errno, others = 0;
    for (nfds_t i = 0; i < n; i++)
        others += fds[i].fd >= 0 && !lee_fd_is_mine(fds[i].fd);
    errno = error;
    return others > 0;
}

/* Those are told of at once, so there is no waiting. */
static int poll_with_others(struct pollfd *fds, nfds_t n) {
    int count = 0;
    for (nfds_t i = 0; i < n; i++) {
        if (fds[i].fd >= 0 && !lee_fd_is_mine(fds[i].fd)) {
            fds[i].revents = POLLNVAL;
            count++;
        } else {
            int ready = lee_poll_now(&fds[i], 1);
            count += ready > 0;
        }
    }
    return count;
}

int lee_poll(struct pollfd *fds, nfds_t n, int timeout) {
    lee_task_end_slice();
    if (has_others(fds, n))
        return poll_with_others(fds, n);
    if (!LEE_SUSPENDS)
        return poll(fds, n, timeout);
    return timeout != 0 ? poll_waiting(fds, n, timeout) : lee_poll_now(fds, n);
}

/* A set has FD_SETSIZE members, and the kernel goes by the number it is told. */
int lee_select(int count, fd_set *readable, fd_set *writable, fd_set *exceptional, struct timeval *timeout) {
    lee_task_end_slice();
    if (count > FD_SETSIZE) {
        errno = EINVAL;
        return -1;
    }
    for (int fd = 0; lee_fds_guarded && fd < count; fd++) {
        if ((is_in(fd, readable) || is_in(fd, writable) || is_in(fd, exceptional)) && !lee_fd_is_mine(fd))
            return -1;
    }
    if (!LEE_SUSPENDS)
        return select(count, readable, writable, exceptional, timeout);
    return select_waiting(count, readable, writable, exceptional, timeout);
}

pid_t lee_waitpid(pid_t child, int *status, int options) {
    lee_task_end_slice();
    return LEE_SUSPENDS && !(options & WNOHANG) ? wait_for_child(child, status, options) : waitpid(child, status, options);
}

pid_t lee_wait(int *status) {
    return lee_waitpid(-1, status, 0);
}
