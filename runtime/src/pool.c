/* pool.c: the workers of a program that spawns: queues, stealing, idle workers. See worker.h and
 * PROCESSES.md, "Workers". */
#define _GNU_SOURCE
#include "worker.h"

#include "process.h"
#include "turns_inline.h"

#ifndef LEE_NO_GC

#include <lee/foreign.h>
#include <lee/lee.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "atomics.h"
#include "deadlock.h"
#include "heap_limit.h"
#include "poison.h"
#include "preempt.h"
#include "reactor.h"
#include "signals.h"
#include "system.h"
#include "task_switch.h"
#include "thread.h"
#include "top.h"

enum {
    WORKERS_MOST = 64,
    THREADS_MOST = 2 * WORKERS_MOST, /* with those that were started because all were in calls of C */
    AWAKE = 40000,          /* cycles that a worker waits awake for the lock: about what sleeping costs */
    LOOKS = 64,             /* switches of a worker between two looks at the reactor */
    THREAD_STACK = 1 << 20, /* of the threads that are started: only handlers and `idle` run on it */
    SPINS = 100,            /* looks of an idle worker between two at the clock */
    WATCH = 30000,          /* nanoseconds that an idle worker waits awake */
    GUARD = 200000,         /* nanoseconds after which a worker takes over from one that calls C */
    GUARD_MOST = 1600000,   /* and if it is a thread too many, doubled up to here while no call lasts */
    AWAY = 4000000,         /* nanoseconds after which it takes over from C that computes, too */
    PATIENCE = 300000,      /* nanoseconds for which who stops all others waits for calls of C */
    LINGER = 16000,         /* cycles that a task that waits for a message looks for it, before it sleeps */
    LINGER_LOOKS = 20,      /* at the message, between two at the clock and at whether others can run */
    LINGER_VAIN = 4,        /* if that was in vain so often, it is tried one time in VAIN_TRIES only */
    VAIN_TRIES = 32,
    /* Elsewhere compilers keep the address of a thread-local in a register, across calls. */
#if defined(__x86_64__)
    KEEPS_THREADS = false,
#else
    KEEPS_THREADS = true,
#endif
    /* AddressSanitizer knows the first process's stack as its thread's. */
#ifdef LEE_ASAN
    FIRST_STAYS = true,
#else
    FIRST_STAYS = KEEPS_THREADS,
#endif
    FIRST_AFTER = 400000,   /* cycles that the first process waits for a call of C on its thread */
    OVERDUE = 60000000,     /* cycles after which one that was handed over has its turn before others */
    LONG_CALL = 3000000,    /* cycles after which the time of a call of C is not charged by the clock alone */
    STOLEN_AFTER = 100000   /* cycles that a process waits behind the one that woke it, which often waits soon */
};

/* Touched with the lock held, but for what is atomic. */
static struct {
    struct lee_worker *workers[THREADS_MOST];
    int count;
    int most; /* of those that are not in calls of C, so many are to be busy at once */
    int running; /* workers that run a process */
    int spinning; /* workers that wait awake, until the next event */
    size_t queued; /* processes in the queues of all workers, without those that were handed over */
    struct lee_worker *polls; /* blocks in the reactor */
    bool rung;                /* and is about to come back */
    bool stranded;            /* processes wait for a call of C to return, and all other workers run */
    struct lee_worker *guard; /* about to look after what a worker that called C has left */
    struct lee_process *spawned; /* all but the first process */
    struct lee_worker *stopper;
    int stops;                   /* how often it stopped the others */
    int stopped;                 /* a futex: a worker has stopped */
    struct lee_task *last;       /* the one that waited when a worker last became idle; null: it has ended */
    struct lee_heap *exchange;
    _Atomic unsigned events; /* something became ready, or the world goes on */
} pool;

/* --- waking ----------------------------------------------------------------------------------- */

void lee_worker_ring(void) {
    if (pool.polls == NULL || pool.rung)
        return;
    pool.rung = true;
    lee_reactor_call(lee_reactor_self());
}

bool lee_worker_is_rung(void) {
    return pool.polls != NULL && pool.polls != &lee_worker && pool.rung;
}

static void wake(struct lee_worker *worker) {
    if (worker->sleeps) {
        struct lee_worker **wakes = lee_worker.wakes;
        worker->sleeps = false;
        __atomic_store_n(&worker->woken, 1, __ATOMIC_RELEASE);
        if (wakes[0] == NULL)
            wakes[0] = worker;
        else if (wakes[1] == NULL)
            wakes[1] = worker;
        else
            lee_futex_wake(&worker->woken);
    } else if (worker == pool.polls) {
        lee_worker_ring();
    }
}

static bool calls_c(const struct lee_worker *worker) {
    return __atomic_load_n(&worker->calls, __ATOMIC_RELAXED);
}

/* Its slice ends when it comes back from a call of C. Whether it is in one. */
static bool misses_in_c(struct lee_worker *worker) {
    __atomic_store_n(&worker->missed, true, __ATOMIC_RELAXED);
    lee_atomic_fence(); /* one of the two sees the other: lee_worker_called_c */
    return calls_c(worker);
}

/* Its slice ends as soon as it can be stopped. Whether that is after a call of C: what that waits for is
 * not cut short. */
static bool interrupt(struct lee_worker *worker) {
    bool calls = misses_in_c(worker);
    if (!calls)
        lee_preempt_interrupt(worker->thread);
    return calls;
}

bool lee_worker_hurry(struct lee_process *process) {
    return interrupt(process->worker);
}

/* There is something in its queue. */
static void call(struct lee_worker *worker) {
    if (worker->idles)
        wake(worker);
    else
        interrupt(worker);
}

static void *begin_thread(void *argument);

/* One more, if there may be. */
static void add_worker(int most) {
    if (pool.count >= most)
        return;
    pool.count++;
    if (lee_thread_start(begin_thread, NULL, THREAD_STACK))
        return;
    pool.count--;
    if (pool.most > pool.count)
        pool.most = pool.count;
}

/* It is in a call of C that does not come back soon (`watch_calls`). */
static bool is_away(const struct lee_worker *worker) {
    return calls_c(worker) && __atomic_load_n(&worker->away, __ATOMIC_RELAXED);
}

/* Whether fewer others than there may be workers are busy, without those that are `out`. Without the lock
 * it may be wrong by what just changes. */
LEE_UNWATCHED static bool are_few(const struct lee_worker *self, bool (*out)(const struct lee_worker *worker)) {
    int busy = 0;
    for (int i = 0; i < pool.count; i++) {
        const struct lee_worker *worker = pool.workers[i];
        busy += worker != NULL && worker != self && !worker->idles && !out(worker);
    }
    return busy < pool.most;
}

/* There are more than `most` workers if all were in calls of C at some time. One takes work only if there
 * would be too few others for it: processes that take turns are to have the processors. */
LEE_UNWATCHED static bool is_needed(const struct lee_worker *self) {
    return pool.count <= pool.most || are_few(self, is_away);
}

/* It would be, if those that are in calls of C are away: it finds out (`guard`). */
static bool may_be_needed(const struct lee_worker *self) {
    return are_few(self, calls_c);
}

/* Whether a worker that may take work blocks in the reactor. One that may not is a thread too many: the
 * system may run it only when those that compute have had their turns, so these look themselves. */
LEE_UNWATCHED static bool is_polled(void) {
    const struct lee_worker *polls = __atomic_load_n(&pool.polls, __ATOMIC_RELAXED);
    return polls != NULL && is_needed(polls);
}

/* Whether there was a worker that sleeps, which is woken. */
static bool wake_sleeper(void) {
    for (int i = 0; i < pool.count; i++) {
        struct lee_worker *worker = pool.workers[i];
        if (worker != NULL && worker->sleeps && (is_needed(worker) || (pool.guard == NULL && may_be_needed(worker)))) {
            wake(worker);
            return true;
        }
    }
    return false;
}

/* There is something that any worker may take. Those whose timers rest, because nothing else could run,
 * would not look. */
static void end_rests(const struct lee_worker *self) {
    lee_atomic_fence(); /* preempt.c: `signalled` */
    if (!__atomic_load_n(&lee_timers_rest, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&lee_timers_rest, false, __ATOMIC_RELAXED);
    for (int i = 0; i < pool.count; i++) {
        struct lee_worker *worker = pool.workers[i];
        if (worker != NULL && worker != self && !worker->idles && __atomic_load_n(&worker->unarmed, __ATOMIC_RELAXED))
            interrupt(worker);
    }
}

/* There is more to do than the workers that are awake will do soon. */
static void wake_another(void) {
    if (pool.stopper != NULL || pool.spinning > 0 || wake_sleeper())
        return;
    if (pool.polls != NULL && !pool.rung && may_be_needed(pool.polls))
        wake(pool.polls);
    else
        add_worker(pool.most);
}

/* What waits for the worker's call of C is for those that run: when their slices end, or after so
 * many yields. The timers of some may rest, because there was nothing to do. */
static void leave_to_others(struct lee_worker *worker) {
    if (__atomic_load_n(&worker->called_at, __ATOMIC_RELAXED) == 0) /* else it has begun */
        __atomic_store_n(&worker->called_at, lee_system_time(), __ATOMIC_RELAXED);
    if (worker->queue.head != NULL) /* else others may still wait for another one's call */
        __atomic_store_n(&pool.stranded, true, __ATOMIC_RELAXED);
    end_rests(worker);
}

/* A worker calls C, and no other one looks after its queue, or blocks in the reactor. If all others
 * run, or may not take work, those that run do so. If all are in calls of C, there is one more. */
static void call_guard(struct lee_worker *self) {
    struct lee_worker *guard = NULL;
    int in_c = 0;
    if (pool.guard != NULL || pool.stopper != NULL)
        return;
    for (int i = 0; i < pool.count; i++) {
        struct lee_worker *worker = pool.workers[i];
        if (worker == NULL || (worker->idles && !worker->sleeps && worker != pool.polls))
            return; /* it is awake, and looks before it sleeps */
        if (worker->sleeps && guard == NULL && may_be_needed(worker))
            guard = worker;
        in_c += calls_c(worker);
    }
    if (guard == NULL && (pool.count < pool.most || in_c == pool.count)) {
        add_worker(THREADS_MOST);
        return;
    }
    if (guard == NULL && pool.polls != NULL && may_be_needed(pool.polls))
        guard = pool.polls;
    if (guard == NULL) {
        leave_to_others(self);
        return;
    }
    pool.guard = guard;
    wake(guard);
}

/* Shows each worker in a call of C that something waits for. */
static void each_waited_for(void (*show)(struct lee_worker *worker)) {
    for (int i = 0; i < pool.count; i++) {
        if (pool.workers[i] != NULL && pool.workers[i]->queue.head != NULL && calls_c(pool.workers[i]))
            show(pool.workers[i]);
    }
}

LEE_UNWATCHED static bool leaves_work(const struct lee_worker *self) {
    if (__atomic_load_n(&pool.guard, __ATOMIC_RELAXED) != NULL)
        return false;
    return __atomic_load_n(&self->queue.head, __ATOMIC_RELAXED) != NULL || __atomic_load_n(&pool.stranded, __ATOMIC_RELAXED) ||
           __atomic_load_n(&lee_shares_ready, __ATOMIC_RELAXED) > 0 ||
           (__atomic_load_n(&pool.polls, __ATOMIC_RELAXED) == NULL && lee_reactor_has_waits());
}

/* Processor time of its thread, in nanoseconds. */
static uint64_t used_by(const struct lee_worker *worker) {
    struct timespec used = {0, 0};
    clock_gettime(worker->clock, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static bool is_long_call(const struct lee_worker *self) {
    return lee_shares_used && lee_cycles() - self->began > LONG_CALL;
}

/* A long call of C has ended, or waits in a callback. Most of it may have been sleep: the process is
 * charged for what the thread used. To ask that takes longer than most calls, so it is asked of
 * processes that have made long ones; the first one counts as `AWAY` at most. With the lock. */
static void note_call(struct lee_worker *self) {
    uint64_t now = lee_system_time(), used = AWAY;
    if (self->called_with != 0) {
        used = used_by(self) - self->called_with;
        used += self->began_at > self->noted ? self->began_at - self->noted : 0;
    }
    lee_process->calls_long = true;
    if (self->noted + used < now)
        self->noted = now - used;
}

void lee_worker_calls_c(void) {
    struct lee_worker *self = &lee_worker;
    if (__builtin_expect(lee_process->calls_long, 0)) {
        self->called_with = used_by(self);
        self->began_at = lee_system_time();
    } else {
        self->called_with = 0;
    }
    if (__builtin_expect(__atomic_load_n(&self->away, __ATOMIC_RELAXED), 0))
        __atomic_store_n(&self->away, false, __ATOMIC_RELAXED);
    __atomic_store_n(&self->began, lee_cycles(), __ATOMIC_RELAXED);
    __atomic_store_n(&self->calls, true, __ATOMIC_RELAXED);
    if (self->number == 0)
        lee_atomic_fence(); /* it sees the first process in its queue, or is seen by the one that puts it there */
    if (__builtin_expect(!leaves_work(self), 1))
        return;
    int error = errno;
    lee_lock_many();
    call_guard(self);
    lee_unlock_many();
    errno = error;
}

/* Others wait here after a call of C that took long. What was stopped here had no other worker meanwhile,
 * and a call that sleeps takes nothing of the slice. */
LEE_UNWATCHED static bool has_let_wait(const struct lee_worker *self) {
    return __atomic_load_n(&self->queue.head, __ATOMIC_RELAXED) != NULL && lee_cycles() - self->began > STOLEN_AFTER;
}

void lee_worker_called_c(void) {
    struct lee_worker *self = &lee_worker;
    if (is_long_call(self)) {
        lee_lock_many();
        note_call(self);
        lee_unlock_many();
    }
    __atomic_store_n(&self->calls, false, __ATOMIC_RELAXED);
    if (__builtin_expect(__atomic_load_n(&self->called_at, __ATOMIC_RELAXED) != 0, 0))
        __atomic_store_n(&self->called_at, 0, __ATOMIC_RELAXED);
    lee_atomic_fence();
    if (__builtin_expect(has_let_wait(self) || __atomic_load_n(&self->missed, __ATOMIC_RELAXED), 0)) {
        __atomic_store_n(&self->missed, false, __ATOMIC_RELAXED);
        lee_task_arm();
        lee_slice_over = true;
        lee_slice_again = false;
    }
}

/* --- queues ----------------------------------------------------------------------------------- */

static void append(struct lee_worker *worker, struct lee_process *process) {
    process->on = worker;
    pool.queued += !process->handed;
    worker->handed += process->handed;
    lee_turns_add(&worker->queue, process);
}

static void take_off(struct lee_process *process) {
    struct lee_worker *worker = process->on;
    process->on = NULL;
    pool.queued -= !process->handed;
    worker->handed -= process->handed;
    process->handed = false;
    lee_turns_take(&worker->queue, process);
}

bool lee_worker_queued(void) {
    return pool.queued > 0;
}

/* Something became ready, or the world goes on: whoever waits awake looks now. */
static void note_event(void) {
    atomic_fetch_add_explicit(&pool.events, 1, memory_order_release);
    pool.spinning = 0;
}

static bool is_fresh(const struct lee_process *process) {
    return !process->begun && process->high != 0;
}

/* Whether the first process, which is bound to the thread that it began on, may leave it while a call of
 * C lasts there. */
static bool is_loose(const struct lee_process *process) {
    return !FIRST_STAYS && process == lee_first_process && !process->keeps_thread;
}

/* Where a process that can run waits for its turn. */
static struct lee_worker *place_of(const struct lee_process *process) {
    struct lee_worker *self = &lee_worker, *pinned = process->pinned;
    if (process->stopped)
        return process->last;
    if (pinned == NULL || (is_loose(process) && process->last != pinned && calls_c(pinned)))
        return self; /* the first process is away already, and C still lasts */
    return pinned;
}

void lee_worker_ready(struct lee_process *process) {
    if (process->queued || process->worker != NULL)
        return;
    struct lee_worker *self = &lee_worker, *worker = place_of(process);
    bool crowd = worker->queue.head != NULL, watched = pool.spinning > 0;
    bool elsewhere = worker == self && self->runs != NULL && self->runs->wakes_and_runs;
    process->queued = true;
    process->ready_since = lee_cycles();
    if (self->woke_at == 0)
        self->woke_at = process->ready_since;
    if (elsewhere)
        process->ready_since -= STOLEN_AFTER + 1;
    if (elsewhere || crowd || worker != self || process->share != NULL)
        note_event(); /* else it is not to be taken yet */
    if (process->share != NULL) {
        crowd = lee_shares_ready > 0;
        lee_share_ready(process);
        end_rests(self);
        if (worker == self && !lee_slice_over && lee_process != self->idle && lee_share_is_behind(process)) {
            lee_slice_over = true;
            lee_preempt_soon();
        }
    } else {
        append(worker, process);
    }
    if (worker != self) {
        call(worker);
        if (is_loose(process) && calls_c(worker))
            call_guard(worker);
        return;
    }
    lee_task_arm();
    if (!watched && (crowd || elsewhere || is_fresh(process)))
        wake_another();
}

void lee_worker_unready(struct lee_process *process) {
    process->queued = false;
    if (process->on == NULL)
        lee_share_unready(process);
    else
        take_off(process);
}

/* Whether a process in the queue of a worker need not run there. */
static bool may_move(const struct lee_process *process) {
    if (process->stopped)
        return false;
    return process->pinned == NULL || (is_loose(process) && (process->on != process->pinned || calls_c(process->pinned)));
}

/* A process that waits in the queue of another worker and need not run there. The first one waits longer:
 * most calls of C are short. */
static struct lee_process *steal(const struct lee_worker *self) {
    uint64_t now = lee_cycles();
    for (int i = 1; i < pool.count; i++) {
        struct lee_worker *from = pool.workers[(self->number + i) % pool.count];
        if (from == NULL)
            continue;
        for (struct lee_process *process = from->queue.head; process != NULL; process = process->queue_next) {
            uint64_t waits = now - process->ready_since;
            bool old = process->pinned != NULL ? waits > FIRST_AFTER : waits > STOLEN_AFTER || process != from->queue.head;
            if (may_move(process) && old)
                return process;
        }
    }
    return NULL;
}

/* Whether there is one that has not waited long enough yet. */
static bool may_steal_soon(const struct lee_worker *self) {
    if (pool.most < 2 || !is_needed(self)) /* with one processor, the one that is waited for could not run */
        return false;
    for (int i = 0; i < pool.count; i++) {
        const struct lee_worker *from = pool.workers[i];
        if (from != NULL && from != self && from->queue.head != NULL && from->queue.head->pinned == NULL && may_move(from->queue.head))
            return true;
    }
    return false;
}

/* It was its turn when another worker chose, but it has to run on this one. */
static void hand_over(struct lee_process *process, struct lee_worker *to) {
    process->queued = process->handed = true;
    append(to, process);
    note_event();
    lee_atomic_fence(); /* preempt.c: `signalled` */
    if (to->idles || __atomic_load_n(&to->unarmed, __ATOMIC_RELAXED))
        call(to);
}

/* Whose turn it is now, this worker finds by their shares. */
static void take_handed(struct lee_worker *self) {
    for (struct lee_process *process = self->queue.head, *next; self->handed > 0 && process != NULL; process = next) {
        next = process->queue_next;
        if (process->handed) {
            take_off(process);
            lee_share_ready(process);
        }
    }
}

/* Of those that were handed over, the one that has waited longest, if that is long. The share of another
 * process that has to run here may always be behind: more than one worker's time may be due to it. */
static struct lee_process *overdue(const struct lee_worker *self) {
    struct lee_process *first = NULL;
    uint64_t now = lee_cycles();
    for (struct lee_process *process = self->queue.head; process != NULL; process = process->queue_next) {
        if (process->handed && now - process->ready_since > OVERDUE && (first == NULL || process->ready_since < first->ready_since))
            first = process;
    }
    return first;
}

/* This worker may take no work: what it has, and what it noticed in the reactor, is for one that runs. */
static void leave_to_busy(struct lee_worker *self) {
    struct lee_worker *busy = NULL;
    bool any = lee_shares_ready > 0;
    for (int i = 0; i < pool.count; i++) {
        struct lee_worker *worker = pool.workers[i];
        if (worker != NULL && worker != self && !worker->idles && !is_away(worker) && (busy == NULL || calls_c(busy)))
            busy = worker;
    }
    if (busy == NULL)
        return;
    for (struct lee_process *process = self->queue.head, *next; process != NULL; process = next) {
        next = process->queue_next;
        if (!process->handed && may_move(process)) {
            take_off(process);
            append(busy, process);
            any = true;
        }
    }
    if (any)
        interrupt(busy);
}

/* The process that this worker runs next; null if there is none. It is in no queue any more. */
static struct lee_process *choose(struct lee_worker *self, bool yields) {
    struct lee_process *process = self->handed > 0 && !self->gave_turn ? overdue(self) : NULL;
    self->gave_turn = process != NULL;
    if (process != NULL) {
        lee_worker_unready(process);
        return process;
    }
    bool needed = is_needed(self); /* else it runs what only it can */
    if (lee_shares_used && (!needed || lee_shares_ready == 0)) /* else `lee_share_next` does */
        lee_share_note_alone();
    if (needed)
        take_handed(self);
    else if (self->queue.head != NULL)
        leave_to_busy(self);
    while (needed && lee_shares_used && lee_shares_ready > 0 && (process = lee_share_next(self->queue.head != NULL, yields)) != NULL) {
        struct lee_worker *only = place_of(process);
        if (only == self)
            return process;
        hand_over(process, only);
    }
    process = self->queue.head != NULL || !needed ? self->queue.head : steal(self);
    if (process != NULL)
        lee_worker_unready(process);
    return process;
}

/* Takes over what waits for a call of C on another worker that began before some time: this one is
 * always busy, and never steals. */
static void adopt(struct lee_worker *self, uint64_t began) {
    __atomic_store_n(&pool.stranded, false, __ATOMIC_RELAXED);
    for (int i = 0; i < pool.count; i++) {
        const struct lee_worker *from = pool.workers[i];
        if (from == NULL || from == self || !calls_c(from))
            continue;
        uint64_t since = __atomic_load_n(&from->called_at, __ATOMIC_RELAXED);
        if (began != UINT64_MAX && (since == 0 || since > began)) {
            if (since != 0 && from->queue.head != NULL)
                __atomic_store_n(&pool.stranded, true, __ATOMIC_RELAXED);
            continue;
        }
        for (struct lee_process *process = from->queue.head, *next; process != NULL; process = next) {
            next = process->queue_next;
            if (may_move(process)) {
                take_off(process);
                append(self, process);
            }
        }
    }
}

/* A thread of the pool has no process at first. */
LEE_UNWATCHED static bool is_asked(void) {
    return lee_process != NULL && (__atomic_load_n(&lee_process->asked, __ATOMIC_RELAXED) == LEE_ASKED_NOW ||
                                   __atomic_load_n(&lee_process->dying, __ATOMIC_RELAXED));
}

LEE_UNWATCHED bool lee_worker_has_others(void) {
    const struct lee_worker *self = &lee_worker;
    const struct lee_worker *stopper = __atomic_load_n(&pool.stopper, __ATOMIC_RELAXED);
    return (stopper != NULL && stopper != self) || is_asked() || __atomic_load_n(&self->queue.head, __ATOMIC_RELAXED) != NULL ||
           __atomic_load_n(&lee_shares_ready, __ATOMIC_RELAXED) > 0 || __atomic_load_n(&pool.stranded, __ATOMIC_RELAXED) ||
           (!is_polled() && lee_reactor_has_waits());
}

/* --- waiting for a message -------------------------------------------------------------------- */

/* To wake a worker that sleeps takes some ten microseconds. */
LEE_UNWATCHED bool lee_worker_linger(const int32_t *number, const bool *flag) {
    struct lee_worker *self = &lee_worker;
    if (pool.most < 2 || __atomic_load_n(&pool.count, __ATOMIC_RELAXED) < 2 || lee_worker_has_others())
        return false;
    if (self->vain >= LINGER_VAIN && ++self->vain % VAIN_TRIES != 0)
        return false;
    for (uint64_t start = lee_cycles(); lee_cycles() - start < LINGER && !lee_worker_has_others();) {
        for (int i = 0; i < LINGER_LOOKS; i++) {
            if (__atomic_load_n(number, __ATOMIC_RELAXED) != 0) {
                self->vain = 0;
                return true;
            }
            lee_relax();
        }
        if (__atomic_load_n(flag, __ATOMIC_RELAXED))
            return true;
    }
    self->vain++;
    return false;
}

/* --- stopping all others ---------------------------------------------------------------------- */

static void tell_stopper(void) {
    if (pool.stopper == NULL)
        return;
    __atomic_store_n(&pool.stopped, 1, __ATOMIC_RELEASE);
    lee_futex_wake(&pool.stopped);
}

/* Gives up the lock; how often the worker had taken it. */
static unsigned begin_sleep(struct lee_worker *self) {
    self->sleeps = true;
    __atomic_store_n(&self->woken, 0, __ATOMIC_RELAXED);
    return lee_lock_drop();
}

static void sleep_until_woken(struct lee_worker *self) {
    unsigned depth = begin_sleep(self);
    while (__atomic_load_n(&self->woken, __ATOMIC_ACQUIRE) == 0)
        lee_futex_wait(&self->woken, 0);
    lee_lock_retake(depth);
}

static void look(struct lee_worker *self, int64_t most) {
    pool.polls = self;
    pool.rung = false;
    lee_reactor_look(most);
    pool.polls = NULL;
}

static void sleep_for(struct lee_worker *self, long nanoseconds) {
    unsigned depth = begin_sleep(self);
    lee_futex_wait_for(&self->woken, 0, nanoseconds);
    lee_lock_retake(depth);
    self->sleeps = false;
}

/* Notes which workers are away: their calls of C sleep, or compute for long. All others are about to come
 * back, although the system may run them only after this thread. Whether none is away and some called C
 * since this was asked last, so that it is to be asked again. */
static bool watch_calls(const struct lee_worker *self) {
    uint64_t now = lee_system_time();
    bool calling = false, away = false;
    for (int i = 0; i < pool.count; i++) {
        struct lee_worker *worker = pool.workers[i];
        if (worker == NULL || worker == self)
            continue;
        uint64_t began = __atomic_load_n(&worker->began, __ATOMIC_RELAXED), used = used_by(worker);
        if (began != worker->seen) {
            calling = true;
            worker->seen = began;
            worker->seen_at = now;
        } else if (calls_c(worker)) {
            calling = true;
            if (used == worker->seen_used || now - worker->seen_at > AWAY) {
                __atomic_store_n(&worker->away, true, __ATOMIC_RELAXED);
                away = true;
            }
        }
        worker->seen_used = used;
    }
    return calling && !away;
}

/* Most calls of C are short, so the worker that makes one has some time to come back to its queue. A
 * thread too many stays while calls are made: to wake it at each would take longer than most of them. */
static void guard(struct lee_worker *self) {
    if (!is_needed(self)) {
        long nap = GUARD;
        watch_calls(self);
        do {
            sleep_for(self, nap);
            nap = nap * 2 < GUARD_MOST ? nap * 2 : GUARD_MOST;
        } while (watch_calls(self) && pool.stopper == NULL && self->queue.head == NULL && self->deadlocked == NULL &&
                 __atomic_load_n(&self->woken, __ATOMIC_RELAXED) == 0);
    } else if (pool.polls == NULL && lee_reactor_has_waits()) {
        look(self, GUARD);
    } else {
        sleep_for(self, GUARD);
    }
    pool.guard = NULL;
}

/* Whether a process that another worker could run waits for a call of C to return. */
static bool is_stranded(void) {
    for (int i = 0; i < pool.count; i++) {
        const struct lee_worker *from = pool.workers[i];
        if (from == NULL || !calls_c(from))
            continue;
        for (const struct lee_process *process = from->queue.head; process != NULL; process = process->queue_next) {
            if (may_move(process))
                return true;
        }
    }
    return false;
}

/* The same of what is in no worker's queue. */
static bool is_left_by_c(bool waits) {
    return lee_shares_ready > 0 || (waits && pool.polls == NULL) || is_stranded();
}

/* Something is in a queue, of whichever worker. */
static bool anything_ready(void) {
    for (int i = 0; i < pool.count; i++) {
        if (pool.workers[i] != NULL && (pool.workers[i]->queue.head != NULL || pool.workers[i]->deadlocked != NULL))
            return true;
    }
    return lee_shares_ready > 0;
}

/* The compiler believes that a thread-local stays where it is; a process that gives way may go on
 * on another thread. */
static __attribute__((noinline)) struct lee_worker *worker_now(void) {
    struct lee_worker *self = &lee_worker;
    __asm__ volatile("" : "+r"(self));
    return self;
}

static void go_on(void) {
    pool.stops = 0;
    pool.stopper = NULL;
    note_event();
    for (int i = 0; i < pool.count; i++) {
        if (pool.workers[i] != NULL && pool.workers[i]->sleeps)
            wake(pool.workers[i]);
    }
    each_waited_for(call_guard);
}

/* How many of the others are in calls of C, after which they stop. */
static int count_in_c(const struct lee_worker *self) {
    int count = 0;
    for (int i = 0; i < pool.count; i++) {
        struct lee_worker *worker = pool.workers[i];
        count += worker != NULL && worker != self && !worker->idles && misses_in_c(worker);
    }
    return count;
}

/* Tells all others to stop, and waits until they have, or all that have not are in calls of C that
 * last. */
static void stop_others(struct lee_worker *self) {
    for (int i = 0; i < pool.count; i++) {
        struct lee_worker *worker = pool.workers[i];
        if (worker != NULL && worker != self && !worker->idles)
            interrupt(worker);
    }
    uint64_t start = lee_system_time();
    int own = self->idles ? 0 : 1;
    while (pool.running > own) {
        if (lee_system_time() - start > PATIENCE && pool.running - own == count_in_c(self))
            return;
        __atomic_store_n(&pool.stopped, 0, __ATOMIC_RELAXED);
        unsigned depth = lee_lock_drop();
        lee_futex_wait_for(&pool.stopped, 0, PATIENCE);
        lee_lock_retake(depth);
    }
}

void lee_world_stop_many(void) {
    struct lee_worker *self = worker_now();
    while (pool.stopper != NULL && pool.stopper != self) {
        if (self->idles)
            sleep_until_woken(self);
        else
            lee_task_stop_here(); /* which may be for ever */
        self = worker_now();
    }
    if (pool.stops++ > 0)
        return;
    pool.stopper = self;
    stop_others(self);
}

void lee_world_go_many(void) {
    if (pool.stopper == &lee_worker && --pool.stops == 0)
        go_on();
}

/* --- idle workers ----------------------------------------------------------------------------- */

static void run_process(struct lee_worker *self, struct lee_task *task) {
    if (pool.guard == self)
        pool.guard = NULL;
    self->idles = false;
    pool.running++;
    self->woke_at = 0;
    task->process->worker = self;
    self->runs = task->process;
    each_waited_for(call_guard); /* although this one was idle, and now runs */
    lee_task_run(task);
}

/* Every task of every process waits, and nothing from outside can end that. The process in which a
 * task went to wait last reports it. */
static void report_deadlock(void) {
    struct lee_task *task = pool.last != NULL ? pool.last : &lee_first_process->tasks.first;
    struct lee_worker *worker = task->process->pinned != NULL ? task->process->pinned : &lee_worker;
    worker->deadlocked = task;
    note_event();
    if (worker != &lee_worker)
        wake(worker);
}

/* True if something may be ready now. */
static bool wake_collectors(void) {
    bool any = lee_task_wake_queued(lee_first_process);
    for (struct lee_process *process = pool.spawned; process != NULL && !any; process = process->next)
        any = lee_task_wake_queued(process);
    return any;
}

/* Waits awake for a short time while others run, or are about to: what they wake comes soon. */
static bool watch(void) {
    if (pool.most < 2 || (pool.running == 0 && !anything_ready()) || pool.spinning > 0)
        return false;
    unsigned seen = atomic_load_explicit(&pool.events, memory_order_relaxed);
    bool any = false;
    pool.spinning++;
    lee_unlock_many();
    for (uint64_t start = lee_system_time(); !any && lee_system_time() - start < WATCH;) {
        for (int i = 0; i < SPINS && !any; i++) {
            any = atomic_load_explicit(&pool.events, memory_order_acquire) != seen;
            lee_relax();
        }
    }
    lee_lock_many();
    bool came = atomic_load_explicit(&pool.events, memory_order_relaxed) != seen;
    pool.spinning -= !came;
    return came;
}

/* What `idle` does, with the lock. */
static _Noreturn void idle(void) {
    for (;;) {
        struct lee_worker *self = &lee_worker;
        if (pool.stopper != NULL) {
            tell_stopper();
            sleep_until_woken(self);
            continue;
        }
        if (self->deadlocked != NULL) {
            run_process(self, self->deadlocked);
            continue;
        }
        bool guards = pool.guard == self;
        if (guards && self->queue.head == NULL) {
            guard(self);
            if (pool.stopper != NULL || self->deadlocked != NULL)
                continue;
        }
        if (lee_shares_used) /* what it waited here is not charged to the processes without a share */
            lee_share_skip();
        struct lee_process *process = choose(self, false);
        if (process == NULL && !is_polled() && lee_reactor_has_waits()) {
            lee_reactor_look(0);
            process = choose(self, false);
        }
        if (process != NULL) {
            if (anything_ready())
                wake_another();
            run_process(self, lee_task_first_ready(process));
            continue;
        }
        bool needed = is_needed(self);
        if ((!guards && needed && watch()) || self->queue.head != NULL || self->deadlocked != NULL) /* the lock was given up */
            continue;
        if (pool.spinning == 0 && may_steal_soon(self))
            continue;
        bool waits = lee_reactor_has_waits();
        if (pool.guard == NULL && (needed ? is_stranded() : may_be_needed(self) && is_left_by_c(waits))) {
            pool.guard = self;
            continue;
        }
        if (!needed) /* it may not take work, and those that run do not know that it would have looked */
            each_waited_for(leave_to_others);
        if (pool.running == 0 && !anything_ready()) {
            if (wake_collectors())
                continue;
            if (!waits && pool.polls != NULL) {
                lee_worker_ring(); /* what it waits for is gone, and it finds out */
            } else if (!waits) {
                report_deadlock();
                if (self->deadlocked != NULL)
                    continue;
            }
        }
        if (waits && pool.polls == NULL && needed) {
            look(self, LEE_FOR_EVER);
            if (!is_needed(self))
                leave_to_busy(self);
        } else {
            sleep_until_woken(self);
        }
    }
}

void lee_worker_watch(void) {
    if (pool.polls == NULL)
        wake_sleeper();
}

void lee_worker_ask(void) {
    lee_lock_many();
    for (int i = 0; pool.polls == NULL && i < pool.count; i++) {
        if (pool.workers[i] != NULL)
            call(pool.workers[i]);
    }
    lee_unlock_many();
}

void lee_pool_each(void (*visit)(struct lee_worker *worker)) {
    for (int i = 0; i < pool.count; i++) {
        if (pool.workers[i] != NULL)
            visit(pool.workers[i]);
    }
}

struct lee_process **lee_pool_spawned(void) {
    return &pool.spawned;
}

struct lee_task *lee_worker_next(struct lee_task *waiting, bool outside, bool yields) {
    struct lee_worker *self = &lee_worker;
    struct lee_process *process = waiting->process;
    bool over = self->over == process;
    if (self->woke_at != 0) { /* the next time, it is as it was */
        process->wakes_and_runs = lee_cycles() - self->woke_at > STOLEN_AFTER;
        self->woke_at = 0;
    }
    if (self->idle == NULL)
        lee_fault_message(NULL, "a thread of C's waits for another process; only the workers can");
    if (pool.stopper == self)
        go_on();
    if ((process->keeps_thread || KEEPS_THREADS) && !over)
        process->pinned = self; /* its frames may know their thread */
    if (__builtin_expect(process->asked == LEE_ASKED_NOW, 0) && !over)
        lee_top_stops(process);
    bool stop = pool.stopper != NULL, slice = outside && !yields;
    if (calls_c(self) && is_long_call(self))
        note_call(self);
    __atomic_store_n(&self->calls, false, __ATOMIC_RELAXED);
    __atomic_store_n(&self->called_at, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&self->missed, false, __ATOMIC_RELAXED);
    if (slice) { /* others may have no other chance for long */
        self->looks = 0;
        adopt(self, UINT64_MAX);
        if (lee_reactor_has_waits())
            lee_worker_watch();
    }
    if (--self->looks <= 0 || lee_reactor_is_asked()) {
        self->looks = LOOKS;
        if (pool.stranded) /* where processes yield to each other no slice may end */
            adopt(self, lee_system_time() - GUARD);
        if (!is_polled() && lee_reactor_has_waits())
            lee_reactor_look(0); /* which may resume a task of this process */
    }
    if (__builtin_expect(process->dying, 0) && !over) {
        self->killed = process; /* by whatever runs next (lee_task_bury), which is none of its tasks */
        over = true;
    }
    bool shuts = process->shuts_later && !over;
    if (!over && process->tasks.head != NULL && !stop && !outside && !shuts)
        return lee_task_first_ready(process);
    process->worker = NULL;
    process->yields = yields;
    self->runs = NULL;
    process->last = self;
    if (shuts) /* by whatever runs next, too, after which this one can run again */
        self->shuts = process;
    else if (!over && process->tasks.head != NULL)
        lee_worker_ready(process);
    process->yields = false;
    struct lee_process *next = stop ? NULL : choose(self, yields);
    self->woke_at = 0;
    if (next != NULL) {
        next->worker = self;
        self->runs = next;
        return lee_task_first_ready(next);
    }
    if (lee_shares_used)
        lee_share_note();
    self->idles = true;
    pool.running--;
    pool.last = over ? NULL : waiting;
    tell_stopper();
    return &self->idle->tasks.first;
}

/* --- beginning -------------------------------------------------------------------------------- */

static void join(struct lee_worker *self, struct lee_process *idle, int number) {
    self->idle = idle;
    self->number = number;
    self->thread = (int)syscall(SYS_gettid);
    pthread_getcpuclockid(pthread_self(), &self->clock);
    self->left = self->rests = true;
    self->calm = false;
    self->error = &errno;
    self->turns = 0;
    self->looks = LOOKS;
    pool.workers[number] = self;
}

static struct lee_process *make_idle(void) {
    struct lee_process *idle = calloc(1, sizeof *idle);
    if (idle == NULL)
        return NULL;
    idle->blocks.next = idle->blocks.previous = &idle->blocks;
    lee_tasks_begin(idle);
    return idle;
}

static void *begin_thread(void *argument) {
    sigset_t allowed;
    (void)argument;
    struct lee_process *process = make_idle();
    if (process == NULL)
        lee_fault_memory(NULL, sizeof *process);
    sigfillset(&allowed);
    sigdelset(&allowed, LEE_SIGNAL_SLICE);
    sigdelset(&allowed, LEE_SIGNAL_CALL);
    sigdelset(&allowed, SIGSEGV);
    sigdelset(&allowed, SIGBUS);
    sigdelset(&allowed, SIGFPE);
    sigdelset(&allowed, SIGILL);
    sigdelset(&allowed, SIGTRAP);
    sigdelset(&allowed, SIGABRT);
    sigdelset(&allowed, SIGPROF);
    lee_signals_stack();
    pthread_sigmask(SIG_SETMASK, &allowed, NULL);
    lee_tasks_used = true;
    lee_preempt_begin();
    lee_lock_many();
    int number = 0;
    while (pool.workers[number] != NULL)
        number++;
    join(&lee_worker, process, number);
    lee_worker.idles = true;
    if (lee_exchange_adopt != NULL)
        lee_exchange_adopt(pool.exchange);
    lee_process_enter(process);
    idle();
}

/* The first thread's `idle` has a stack of its own. */
static void begin_idle(void) {
    lee_task_arrive();
    lee_lock_many();
    idle();
}

static unsigned wanted_workers(void) {
    size_t wanted = lee_setting_number(WORKERS_MOST, "LEE_WORKERS", 0);
    return wanted == 0 ? lee_system_processors() : (unsigned)wanted;
}

/* Of what began to wait or can run while there was no pool. */
static void adopt_process(struct lee_process *process) {
    struct lee_worker *self = &lee_worker;
    process->last = self;
    process->worker = process == lee_process ? self : NULL;
    process->pinned = process == lee_first_process || process->keeps_thread > 0 || KEEPS_THREADS ? self : NULL;
}

static void adopt_all(void) {
    struct lee_worker *self = &lee_worker;
    adopt_process(lee_first_process);
    pool.spawned = self->spawned;
    for (struct lee_process *process = pool.spawned; process != NULL; process = process->next)
        adopt_process(process);
    for (struct lee_process *process = self->queue.head; process != NULL; process = process->queue_next) {
        process->on = self;
        process->ready_since = lee_cycles();
        pool.queued++;
    }
}

/* By the thread on which the first process began. */
static bool begin_pool(int most) {
    uintptr_t high, low = lee_stack_take(&high);
    struct lee_process *process = low != 0 ? make_idle() : NULL;
    if (process == NULL)
        return false;
    struct lee_task *first = &process->tasks.first;
    first->low = low;
    first->high = high - 16;
    first->lowest = first->high;
    first->sp = lee_switch_prepare((high - 16) & ~(uintptr_t)15, begin_idle);
    first->depth = 1; /* lee_task_arrive */
    first->state = LEE_TASK_WAITING;
    pool.exchange = lee_exchange_adopt != NULL ? lee_exchange_heap() : NULL;
    pool.most = most;
    pool.count = pool.running = 1;
    lee_lock_patience = most > 1 ? AWAKE : 0;
    adopt_all();
    join(&lee_worker, process, 0);
    lee_worker.runs = lee_process;
    lee_lock_begin();
    return true;
}

/* With one worker there is a pool only once C is called while others wait: until then nothing is
 * locked, and no process looks for another worker. */
void lee_pool_begin(void) {
    static bool asked;
    struct lee_process *self = lee_process_self();
    if (asked || self->high != 0)
        return;
    asked = true;
    lee_first_process = self;
    unsigned most = wanted_workers();
    /* The reactor's descriptors are there before the program makes some. */
    if (lee_task_is_seeded() || !lee_reactor_share())
        return;
    lee_preempt_begin();
    if (most == 1)
        lee_pool_may_begin = true;
    else if (!begin_pool((int)(most > WORKERS_MOST ? WORKERS_MOST : most)))
        return;
#ifndef LEE_ASAN
    lee_on_task_stack = self->tasks.running->foreign == NULL;
#endif
}

void lee_pool_begin_for_c(void) {
    if (lee_worker.queue.head == NULL && lee_shares_ready == 0 && !lee_reactor_has_waits())
        return;
    lee_pool_may_begin = false;
    begin_pool(1);
}

#endif
