/* reactor.c: see reactor.h.
 *
 * Descriptors are registered edge-triggered: a task tries first, and waits when the system says that it would have to. One that
 * the program's own calls made and close (fds.h) stays registered; what becomes of others the runtime does not see, so each wait registers
 * those anew, which also tells of what happened before. Timers are in a pairing heap (Fredman, Sedgewick, Sleator, Tarjan,
 * "The pairing heap", 1986), whose nodes are the waits themselves. */
#define _GNU_SOURCE
#include "errno_here.h"
#include "reactor.h"

#include <time.h>

int64_t lee_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t lee_deadline(int64_t nanoseconds) {
    int64_t at;
    return __builtin_add_overflow(lee_clock(), nanoseconds > 0 ? nanoseconds : 0, &at) ? INT64_MAX : at;
}

#ifndef LEE_NO_GC

#include <lee/fault.h>
#include <lee/heap.h>

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fds.h"
#include "poison.h"
#include "preempt.h"
#include "process.h"
#include "task.h"
#include "task_park.h"
#include "top.h"
#include "worker.h"

enum {
    EVENTS = 64, /* that one look fetches */
    WATCHES_LEAST = 64,
    NANOSECONDS = 1000000000
};

/* There may be very many waits, so who is looked for among them has a list of its own. */
enum kind {
    DONE,  /* another thread says when it is over: each time that the bell rings */
    OWN,   /* of the thread's own process: each time that a signal comes */
    OTHER,
    KINDS
};

/* Lies on the stack of the task that waits. */
struct lee_wait {
    struct lee_wait *next, *previous; /* of all of its kind, oldest first */
    enum kind kind;
    struct lee_task *task;
    struct lee_watcher *watchers;
    size_t count;
    struct lee_timer timer;
    const struct lee_left *left;
    const int *done;
    enum lee_woken woken;
};

/* By its number: who waits for a descriptor, and for what epoll has it. */
struct watch {
    struct lee_watcher *first, *last;
    uint32_t registered; /* events; 0: none */
    uint32_t generation; /* of the descriptor that was registered; 0: nobody knows which one that was */
    uint64_t told;       /* the number of the last event that was told of it */
    bool heard;          /* `lee_preempt_hear` knows it */
    bool empty;          /* it was read to its end, and nothing was told since */
    bool ended;          /* the peer said its last, or something urgent: from then on only reading tells */
};

struct lee_reactor {
    int epoll, bell; /* -1: none yet */
    struct watch *watches;
    size_t watch_count;
    struct lee_pairing *timers; /* the earliest */
    _Atomic int64_t soonest;    /* when that one fires; INT64_MAX: never */
    uint64_t order;
    struct {
        struct lee_wait *first, *last;
    } waits[KINDS];
    bool coarse; /* the system counts milliseconds only */
    _Atomic uint64_t told; /* events of descriptors, so far */
    atomic_bool asked; /* the bell has been rung by a thread that nothing here waits for */
};

static _Thread_local struct lee_reactor of_thread = {.epoll = -1, .bell = -1, .soonest = INT64_MAX};
/* The workers of a pool share the one of the thread that made the pool, with the lock. */
static struct lee_reactor *shared;
#define reactor (*(__builtin_expect(lee_many, 0) ? shared : &of_thread))

/* Of the reactor that was made first: signals are the program's. */
static atomic_int signal_bell = -1;
static atomic_bool signalled;

/* --- timers ---------------------------------------------------------------------------------------------------------- */

/* The earliest; null if there is none. */
static struct lee_timer *first_timer(void) {
    return (struct lee_timer *)(void *)reactor.timers;
}

static void note_soonest(void) {
    int64_t at = reactor.timers != NULL ? reactor.timers->at : INT64_MAX;
    atomic_store_explicit(&reactor.soonest, at, memory_order_relaxed);
}

void lee_timer_set(struct lee_timer *timer, int64_t at, void (*fire)(struct lee_timer *timer)) {
    *timer = (struct lee_timer){.node = {.at = at, .order = ++reactor.order}, .fire = fire, .set = true};
    lee_pairing_add(&reactor.timers, &timer->node);
    note_soonest();
    if (__builtin_expect(lee_many, 0) && first_timer() == timer) {
        lee_worker_ring(); /* who blocks does so for too long */
        lee_worker_watch();
    }
}

void lee_timer_unset(struct lee_timer *timer) {
    timer->set = false;
    lee_pairing_remove(&reactor.timers, &timer->node);
    note_soonest();
}

static void fire_timers(void) {
    if (reactor.timers == NULL)
        return;
    int64_t now = lee_clock();
    while (reactor.timers != NULL && reactor.timers->at <= now) {
        struct lee_timer *timer = first_timer();
        lee_timer_clear(timer);
        timer->fire(timer);
    }
}

/* --- the system's part ------------------------------------------------------------------------------------------------- */

static bool add_bell(void) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = reactor.bell};
    return epoll_ctl(reactor.epoll, EPOLL_CTL_ADD, reactor.bell, &event) == 0;
}

static bool have_epoll(void) {
    if (reactor.epoll >= 0)
        return true;
    reactor.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (reactor.epoll < 0 && lee_heap_close_files())
        reactor.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (reactor.epoll < 0)
        return false;
    reactor.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reactor.bell < 0 || !add_bell()) {
        close(reactor.bell);
        close(reactor.epoll);
        reactor.epoll = reactor.bell = -1;
        return false;
    }
    lee_fd_keep(reactor.epoll);
    lee_fd_keep(reactor.bell);
    int none = -1;
    atomic_compare_exchange_strong(&signal_bell, &none, reactor.bell);
    return true;
}

/* The place of a descriptor; null if there is no memory for it. */
static struct watch *watch_of(int fd) {
    size_t count = reactor.watch_count;
    if ((size_t)fd < count)
        return &reactor.watches[fd];
    count = count == 0 ? WATCHES_LEAST : count;
    while (count <= (size_t)fd)
        count *= 2;
    struct watch *grown = realloc(reactor.watches, count * sizeof *grown);
    if (grown == NULL)
        return NULL;
    memset(grown + reactor.watch_count, 0, (count - reactor.watch_count) * sizeof *grown);
    reactor.watches = grown;
    reactor.watch_count = count;
    return &grown[fd];
}

/* Has epoll tell of the events; 0, or an errno. */
static int arm(int fd, uint32_t events) {
    struct watch *watch = watch_of(fd);
    if (watch == NULL)
        return ENOMEM;
    uint32_t generation = lee_fd_generation(fd), wanted = events | EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLET;
    bool same = generation != 0 && generation == watch->generation;
    if (!same)
        watch->heard = false;
    if (!watch->heard && generation != 0 && lee_preempt_hear != NULL && lee_preempt_runs()) {
        lee_preempt_hear(fd);
        watch->heard = true;
    }
    if (same && (watch->registered & wanted) == wanted)
        return 0;
    if (same || watch->first != NULL)
        wanted |= watch->registered;
    if (!same)
        watch->empty = watch->ended = false;
    struct epoll_event event = {.events = wanted, .data.fd = fd};
    bool known = watch->registered != 0;
    if (epoll_ctl(reactor.epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0) {
        if (errno != (known ? ENOENT : EEXIST) || epoll_ctl(reactor.epoll, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) != 0)
            return errno;
    }
    watch->registered = wanted;
    watch->generation = generation;
    return 0;
}

static int fetch(struct epoll_event *events, int64_t timeout) {
    if (reactor.epoll < 0) { /* only times */
        struct timespec left = {timeout / NANOSECONDS, timeout % NANOSECONDS};
        return ppoll(NULL, 0, timeout < 0 ? NULL : &left, NULL);
    }
#ifdef SYS_epoll_pwait2
    if (!reactor.coarse && timeout > 0) {
        struct timespec left = {timeout / NANOSECONDS, timeout % NANOSECONDS};
        long got = syscall(SYS_epoll_pwait2, reactor.epoll, events, EVENTS, &left, NULL, (size_t)0);
        if (got >= 0 || errno != ENOSYS)
            return (int)got;
        reactor.coarse = true;
    }
#endif
    int64_t milliseconds = timeout / 1000000 + (timeout > 0 && timeout % 1000000 != 0);
    int most = milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds;
    return epoll_wait(reactor.epoll, events, EVENTS, timeout < 0 ? -1 : most);
}

/* --- waking -------------------------------------------------------------------------------------------------------------- */

static void unlink_watcher(struct lee_watcher *watcher) {
    if (!watcher->linked)
        return;
    watcher->linked = false;
    struct watch *watch = &reactor.watches[watcher->fd];
    if (watcher->previous != NULL)
        watcher->previous->next = watcher->next;
    else
        watch->first = watcher->next;
    if (watcher->next != NULL)
        watcher->next->previous = watcher->previous;
    else
        watch->last = watcher->previous;
}

static void link_watcher(struct lee_watcher *watcher) {
    struct watch *watch = &reactor.watches[watcher->fd];
    watcher->linked = true;
    watcher->next = NULL;
    watcher->previous = watch->last;
    if (watch->last != NULL)
        watch->last->next = watcher;
    else
        watch->first = watcher;
    watch->last = watcher;
}

/* Takes the wait off all lists. */
static void detach(struct lee_wait *wait) {
    for (size_t i = 0; i < wait->count; i++)
        unlink_watcher(&wait->watchers[i]);
    lee_timer_clear(&wait->timer);
    if (wait->previous != NULL)
        wait->previous->next = wait->next;
    else
        reactor.waits[wait->kind].first = wait->next;
    if (wait->next != NULL)
        wait->next->previous = wait->previous;
    else
        reactor.waits[wait->kind].last = wait->previous;
}

/* A task that was woken is ended before it runs: its call still has to give back what it held. */
static void leave_woken(struct lee_task *task) {
    const struct lee_wait *wait = task->outside;
    task->outside = NULL;
    task->leave = NULL;
    if (wait->left != NULL)
        wait->left->run(wait->left->context);
}

static void wake(struct lee_wait *wait, enum lee_woken woken) {
    detach(wait);
    wait->woken = woken;
    lee_task_resume_left(wait->task, leave_woken);
}

static void wake_by_time(struct lee_timer *timer) {
    wake((struct lee_wait *)(void *)((char *)timer - offsetof(struct lee_wait, timer)), LEE_WOKEN_TIME);
}

/* The events that end a wait for `events`. */
static bool concerns(short events, uint32_t happened) {
    uint32_t always = EPOLLERR | EPOLLHUP;
    if (events & POLLIN)
        always |= EPOLLRDHUP;
    return (happened & ((uint32_t)events | always)) != 0;
}

static void tell(int fd, uint32_t happened) {
    if ((size_t)fd >= reactor.watch_count)
        return;
    struct watch *watch = &reactor.watches[fd];
    struct lee_watcher *next;
    watch->told = atomic_fetch_add_explicit(&reactor.told, 1, memory_order_release) + 1;
    watch->empty = false;
    watch->ended = watch->ended || (happened & (EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) != 0;
    for (struct lee_watcher *at = watch->first; at != NULL; at = next) {
        next = at->next;
        while (next != NULL && next->wait == at->wait) /* that one goes along */
            next = next->next;
        if (concerns(at->events, happened))
            wake(at->wait, LEE_WOKEN_READY);
    }
}

static void tell_done(void) {
    struct lee_wait *next;
    for (struct lee_wait *at = reactor.waits[DONE].first; at != NULL; at = next) {
        next = at->next;
        if (__atomic_load_n(at->done, __ATOMIC_ACQUIRE))
            wake(at, LEE_WOKEN_READY);
    }
}

/* Signals are the business of the thread's own process. */
static void tell_signal(void) {
    struct lee_wait *next;
    for (struct lee_wait *at = reactor.waits[OWN].first; at != NULL; at = next) {
        next = at->next;
        wake(at, LEE_WOKEN_SIGNAL);
    }
}

/* A signal that came while nothing of the first process waited ends its next wait: what was looked
 * at before that wait, and when another task or worker looks here, does not matter then. */
LEE_UNWATCHED static bool ends_by_signal(void) {
    return atomic_load_explicit(&signalled, memory_order_relaxed) && reactor.waits[OWN].first != NULL &&
           atomic_load(&signal_bell) == reactor.bell;
}

static void hear_bell(void) {
    uint64_t rings;
    /* Else it rings on for the worker that blocks here. */
    if (lee_worker_is_rung == NULL || !lee_worker_is_rung()) {
        while (read(reactor.bell, &rings, sizeof rings) < 0 && errno == EINTR)
            ;
    }
    atomic_store(&reactor.asked, false);
    tell_done();
    if (lee_top_answer != NULL)
        lee_top_answer();
}

void lee_reactor_look(int64_t most) {
    struct epoll_event events[EVENTS];
    int error = errno;
    int64_t timeout = most;
    if (ends_by_signal()) {
        timeout = 0;
    } else if (most != 0 && reactor.timers != NULL) {
        int64_t now = lee_clock();
        timeout = reactor.timers->at > now ? reactor.timers->at - now : 0;
        timeout = most != LEE_FOR_EVER && timeout > most ? most : timeout;
    }
    unsigned depth = most != 0 && lee_many ? lee_lock_drop() : 0;
    int count = fetch(events, timeout);
    if (depth > 0)
        lee_lock_retake(depth);
    if (count < 0 && errno != EINTR)
        lee_fault_message(NULL, "C code closed the descriptor with which the runtime waits");
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == reactor.bell)
            hear_bell();
        else
            tell(events[i].data.fd, events[i].events);
    }
    fire_timers();
    if (ends_by_signal()) {
        atomic_store(&signalled, false);
        tell_signal();
    }
    errno = error;
}

LEE_UNWATCHED bool lee_reactor_has_waits(void) {
    for (int kind = 0; kind < KINDS; kind++) {
        if (reactor.waits[kind].first != NULL)
            return true;
    }
    return reactor.timers != NULL || lee_reactor_is_asked();
}

LEE_UNWATCHED bool lee_reactor_is_due(void) {
    struct pollfd watched = {.fd = reactor.epoll, .events = POLLIN};
    if ((watched.fd >= 0 && poll(&watched, 1, 0) > 0) || ends_by_signal())
        return true;
    int64_t soonest = atomic_load_explicit(&reactor.soonest, memory_order_relaxed);
    return soonest != INT64_MAX && soonest <= lee_clock();
}

LEE_UNWATCHED bool lee_reactor_is_asked(void) {
    return atomic_load_explicit(&reactor.asked, memory_order_relaxed);
}

void lee_reactor_forget_signal(void) {
    atomic_store(&signalled, false);
}

void lee_reactor_signal(void) {
    int error = errno, bell = atomic_load(&signal_bell);
    uint64_t one = 1;
    atomic_store(&signalled, true);
    if (bell >= 0 && write(bell, &one, sizeof one) < 0)
        errno = error; /* it rings already */
    errno = error;
}

struct lee_reactor *lee_reactor_self(void) {
    return have_epoll() ? &reactor : NULL;
}

bool lee_reactor_share(void) {
    shared = &of_thread;
    return have_epoll();
}

void lee_reactor_call(struct lee_reactor *called) {
    uint64_t one = 1;
    while (write(called->bell, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void lee_reactor_ask(struct lee_reactor *asked) {
    atomic_store(&asked->asked, true);
    lee_reactor_call(asked);
}

static struct watch *told_of(int fd) {
    struct watch *watch = (size_t)fd < reactor.watch_count ? &reactor.watches[fd] : NULL;
    return watch != NULL && watch->generation != 0 && watch->generation == lee_fd_generation(fd) ? watch : NULL;
}

bool lee_reactor_is_empty(int fd) {
    lee_lock();
    const struct watch *watch = told_of(fd);
    bool empty = watch != NULL && watch->empty;
    lee_unlock();
    return empty;
}

uint64_t lee_reactor_told(void) {
    return atomic_load_explicit(&reactor.told, memory_order_acquire);
}

void lee_reactor_note_empty(int fd, uint64_t since) {
    lee_lock();
    struct watch *watch = told_of(fd);
    if (watch != NULL && watch->told <= since)
        watch->empty = !watch->ended;
    lee_unlock();
}

void lee_reactor_closes(int fd) {
    lee_lock();
    if (fd >= 0 && (size_t)fd < reactor.watch_count) {
        struct watch *watch = &reactor.watches[fd];
        while (watch->first != NULL)
            wake(watch->first->wait, LEE_WOKEN_CLOSED);
        watch->generation = 0;
    }
    lee_unlock();
}

/* --- waiting --------------------------------------------------------------------------------------------------------------- */

static void leave(struct lee_task *task) {
    detach(task->outside);
    leave_woken(task);
}

static enum lee_woken park(struct lee_wait *wait, int64_t deadline) {
    wait->task = lee_task_self();
    wait->next = NULL;
    wait->kind = wait->done != NULL ? DONE : wait->task->process->high == 0 ? OWN : OTHER;
    wait->previous = reactor.waits[wait->kind].last;
    if (wait->previous != NULL)
        wait->previous->next = wait;
    else
        reactor.waits[wait->kind].first = wait;
    reactor.waits[wait->kind].last = wait;
    if (__builtin_expect(lee_many, 0)) {
        lee_worker_watch();
        if (ends_by_signal())
            lee_worker_ring();
    }
    if (deadline != LEE_FOR_EVER)
        lee_timer_set(&wait->timer, deadline, wake_by_time);
    lee_task_park(wait, leave);
    return wait->woken;
}

/* What was linked so far is not waited for after all. */
static enum lee_woken give_up(struct lee_wait *wait, enum lee_woken woken) {
    for (size_t i = 0; i < wait->count; i++)
        unlink_watcher(&wait->watchers[i]);
    return woken;
}

static enum lee_woken refusal(int why) {
    switch (why) {
    case EBADF: return LEE_WOKEN_CLOSED;
    case EPERM: return LEE_NOT_WATCHED;
    default: return LEE_NO_ROOM;
    }
}

static enum lee_woken wait_locked(struct lee_watcher *watchers, size_t count, int64_t deadline, const struct lee_left *left) {
    struct lee_wait wait = {.watchers = watchers, .count = count, .left = left};
    lee_task_may_wait();
    if (count > 0 && !have_epoll())
        return LEE_NO_ROOM;
    for (size_t i = 0; i < count; i++)
        watchers[i].linked = false;
    for (size_t i = 0; i < count; i++) {
        int why = watchers[i].fd < 0 ? EBADF : arm(watchers[i].fd, (uint32_t)watchers[i].events);
        if (why != 0)
            return give_up(&wait, refusal(why));
        if (reactor.watches[watchers[i].fd].told > watchers[i].since)
            return give_up(&wait, LEE_WOKEN_READY);
        watchers[i].wait = &wait;
        link_watcher(&watchers[i]);
    }
    return park(&wait, deadline);
}

static enum lee_woken wait_any(struct lee_watcher *watchers, size_t count, int64_t deadline, const struct lee_left *left) {
    lee_lock();
    enum lee_woken woken = wait_locked(watchers, count, deadline, left);
    lee_unlock();
    return woken;
}

enum lee_woken lee_wait_any(struct lee_watcher *watchers, size_t count, int64_t deadline) {
    return wait_any(watchers, count, deadline, NULL);
}

enum lee_woken lee_wait_left(int fd, short events, uint64_t since, int64_t deadline, const struct lee_left *left) {
    struct lee_watcher watcher = {.fd = fd, .events = events, .since = since};
    return wait_any(&watcher, 1, deadline, left);
}

void lee_wait_pause(int64_t *pause, int64_t most, const struct lee_left *left) {
    wait_any(NULL, 0, lee_deadline(*pause), left);
    if (*pause < most)
        *pause *= 2;
}

void lee_wait_done(const int *done, const struct lee_left *left) {
    struct lee_wait wait = {.left = left, .done = done};
    lee_lock();
    while (!__atomic_load_n(done, __ATOMIC_ACQUIRE))
        park(&wait, LEE_FOR_EVER);
    lee_unlock();
}

#else

void lee_reactor_closes(int fd) {
    (void)fd;
}

void lee_reactor_signal(void) {}

void lee_reactor_forget_signal(void) {}

#endif
