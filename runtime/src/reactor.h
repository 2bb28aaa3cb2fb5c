/* reactor.h: what tasks wait for outside of the program: descriptors, times, signals, helper threads.
 *
 * Promises: each thread that runs tasks has one reactor, made when a task first waits in it; a program that never starts a second task or
 * process has none. Waiting allocates nothing in a heap: what describes a wait lies on the stack of the task that waits. A task that is
 * ended while it waits is on no list of the reactor any more. REACTOR.md says why it is as it is. */
#ifndef LEE_SRC_REACTOR_H
#define LEE_SRC_REACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pairing.h"

struct lee_task;
struct lee_wait;

enum { LEE_FOR_EVER = -1 };

/* Nanoseconds of the clock that all deadlines are of (CLOCK_MONOTONIC). */
int64_t lee_clock(void);
/* The deadline that lies so many nanoseconds ahead; the farthest one if it cannot be written down. */
int64_t lee_deadline(int64_t nanoseconds);

/* Fires at `node.at`. */
struct lee_timer {
    struct lee_pairing node; /* first, so that nodes are timers */
    void (*fire)(struct lee_timer *timer);
    bool set;
};

/* `fire` is called once, by the scheduler, when `at` has come. It may resume tasks; it must not wait or allocate. */
void lee_timer_set(struct lee_timer *timer, int64_t at, void (*fire)(struct lee_timer *timer));
/* It is set, and has not fired. */
void lee_timer_unset(struct lee_timer *timer);
/* Does nothing if it is not set or has fired. */
static inline void lee_timer_clear(struct lee_timer *timer) {
    if (timer->set)
        lee_timer_unset(timer);
}

/* One descriptor that a task waits for. */
struct lee_watcher {
    struct lee_watcher *next, *previous; /* of the same descriptor */
    struct lee_wait *wait;
    uint64_t since; /* lee_reactor_told before the attempt that made it wait */
    int fd;
    short events; /* as poll's */
    bool linked;
};

/* How a wait ended. */
enum lee_woken {
    LEE_WOKEN_READY,  /* one of the descriptors may be ready, or somebody said so: look again */
    LEE_WOKEN_TIME,   /* the deadline has come */
    LEE_WOKEN_SIGNAL, /* a signal came that the program catches */
    LEE_WOKEN_CLOSED, /* a descriptor was closed meanwhile */
    LEE_NOT_WATCHED,  /* there was no waiting: the system cannot tell when the descriptor is ready (a regular file) */
    LEE_NO_ROOM       /* the same, for want of memory or descriptors */
};

/* What a task does once it waits no more, or has been ended while it did. */
struct lee_left {
    void (*run)(void *context);
    void *context;
};

/* How many events of descriptors were told. Whoever tries, and waits if that was too early, asks before it tries: between the
 * two another worker may fetch the event that is waited for. */
uint64_t lee_reactor_told(void);
/* Waits for one descriptor, of which nothing was told after `since`. `deadline`: LEE_FOR_EVER, or of `lee_clock`. If the task is
 * ended meanwhile, `left` is run first. */
enum lee_woken lee_wait_left(int fd, short events, uint64_t since, int64_t deadline, const struct lee_left *left);
/* Waits until one of them may be ready; `watchers[i].fd`, `.events` and `.since` are given. None: only for the time, or a signal. */
enum lee_woken lee_wait_any(struct lee_watcher *watchers, size_t count, int64_t deadline);
/* Waits for `*pause` nanoseconds before something is tried again, whatever happens. The next pause is
 * twice as long, until it is `most` or more. */
void lee_wait_pause(int64_t *pause, int64_t most, const struct lee_left *left);
/* Waits until `*done` is not 0, which another thread sees to before it calls `lee_reactor_call`. */
void lee_wait_done(const int *done, const struct lee_left *left);
/* By any thread: the reactor looks again at what is done. `reactor`: of the thread that waits. */
struct lee_reactor;
struct lee_reactor *lee_reactor_self(void);
void lee_reactor_call(struct lee_reactor *reactor);
/* The same of a thread that no task waits for: until the reactor has looked, that counts as a wait,
 * so that processes which compute are stopped for it. */
void lee_reactor_ask(struct lee_reactor *reactor);
/* Safe in a signal handler. */
bool lee_reactor_is_asked(void);
/* From here on all workers use the reactor of this thread (worker.h); false if there is none. */
bool lee_reactor_share(void);

/* A read of a TCP socket gave less than it could. Nothing is there until epoll tells of it, unless the peer has ended or it is not registered. */
void lee_reactor_note_empty(int fd, uint64_t since);
bool lee_reactor_is_empty(int fd);
/* The descriptor is about to be closed, or to become another file: who waits for it goes on. */
void lee_reactor_closes(int fd);

/* --- for the scheduler (task.c) ---------------------------------------------------------------------------------------- */

/* Whether anybody waits in the reactor of this thread. */
bool lee_reactor_has_waits(void);
/* Whether a look would find something: an event, or a time that has come. Safe in a signal handler. */
bool lee_reactor_is_due(void);
/* Resumes the tasks that wait no more. Waits until there is something to tell, for so many nanoseconds at most, or
 * LEE_FOR_EVER. */
void lee_reactor_look(int64_t most);

/* Set once this thread has had a second task or process: from then on calls that wait suspend the task. */
#ifdef LEE_NO_GC
#define LEE_SUSPENDS 0
#else
extern _Thread_local bool lee_tasks_used __attribute__((tls_model("initial-exec")));
#define LEE_SUSPENDS __builtin_expect(lee_tasks_used, 0)
#endif

/* In a signal's handler: who waits is told. */
void lee_reactor_signal(void);
/* The program knows of it: it does not end the next wait. */
void lee_reactor_forget_signal(void);

#endif
