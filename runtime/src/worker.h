/* worker.h: the threads that run processes, and the lock of what processes share.
 *
 * Promises: until the first `spawn` there is one worker, the first thread, and nothing here costs
 * more than a test of `lee_many`. With `LEE_WORKERS` above 1 the first `spawn` makes a pool: the
 * thread that spawns is its first worker, and others are started when there is work for them.
 *
 * What processes share (channels, run queues, groups, the exchange heap, records of processes, the
 * reactor, the table of descriptors) is touched with the lock held, by whichever worker. The lock
 * counts how often its worker took it. A task that waits gives it on to the task that runs next on
 * its worker, and has it again when it goes on, perhaps on another worker. What belongs to a
 * process alone is touched without the lock by the worker that runs it, or with the lock by any
 * worker while no worker runs it. */
#ifndef LEE_SRC_WORKER_H
#define LEE_SRC_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "turns.h"
#include "system.h"

struct lee_process;
struct lee_task;

struct lee_worker {
    /* task.c's. */
    bool left; /* one of these is set, or there are several workers: looked after by who goes on */
    struct lee_task *gone;    /* ended, and its stack is still there */
    struct lee_process *over; /* the same of a process */
    struct lee_process *deep; /* its stack grew beyond a limit */
    struct lee_process *killed; /* it was to be ended when it gave way */
    struct lee_process *shuts;  /* custodians of its were to be shut down then */
    void (*arrived)(struct lee_process *over);
    struct lee_turns queue;          /* that can run, without the one that runs */
    struct lee_process *spawned;     /* all but the thread's own; of a pool, its first worker has them */
    int turns;                       /* until the reactor is looked at although others can run */
    /* No other process can run, there is one worker, the process has no limits, and the custodian of
     * its running task lives: `yield` need not check any of that. Set by a slow `yield` that has
     * checked it, cleared by whatever changes it. */
    bool calm;
    bool unarmed;                    /* the timer of slices was stopped, because no other process could run */
    bool rests;                      /* the same, or there are several workers */
    bool seeded;                     /* LEE_SEED is set */
    uint64_t random;                 /* state of its generator */
    int *error;                      /* its thread's errno, once it has a second task */
    uint64_t noted;                  /* share.c: when the time of the running process was noted; 0: never */
    const void *bottom;              /* AddressSanitizer: the stack that the thread began with */
    size_t size;
    /* pool.c's. */
    struct lee_process *idle;   /* runs while no other process can; null: in no pool */
    const struct lee_process *runs; /* null: none but `idle`, or it is about to choose */
    struct lee_task *deadlocked; /* to run next, and to report that every task waits */
    size_t handed;              /* of those in its queue, whose turn it was when another worker chose */
    bool gave_turn;             /* the last one that it chose was such a one, which had waited for long */
    unsigned depth;             /* how often it took the lock */
    int number, thread;         /* of the pool, from 0; of the system */
    bool idles;                 /* `idle` runs; without a pool: no process can run */
    bool sleeps;                /* it waits for `woken` */
    bool calls;                 /* its process is in a call of C, perhaps for long: others do not interrupt it */
    uint64_t called_at;         /* when it began the call, if all others ran then; else 0 */
    uint64_t began;             /* in cycles: when it did */
    bool away;                  /* while `calls`: it does not come back soon (pool.c, `watch_calls`) */
    uint64_t seen, seen_at, seen_used; /* of who asks that: `began`, when it was new, and the thread's time */
    clockid_t clock;            /* of its thread's processor time */
    uint64_t called_with;       /* that time when the call began, if its process has made long ones; else 0 */
    uint64_t began_at;          /* and the time then */
    bool missed;                /* they wanted to: its slice ends when C comes back */
    int looks;                  /* `turns` of a pool */
    uint64_t woke_at;           /* in cycles: when its process first woke another in this turn; 0: it has not */
    unsigned vain;              /* how often it lingered in vain, one after the other */
    struct lee_worker *wakes[2]; /* their threads are woken when the lock is given up: that takes microseconds */
    int woken;                  /* a futex */
};

extern _Thread_local struct lee_worker lee_worker __attribute__((tls_model("initial-exec")));

/* --- the lock --------------------------------------------------------------------------------- */

/* There is a pool. Never unset. */
extern bool lee_many;
/* There is none yet, and the first call of C for which others would wait makes one
 * (`lee_pool_begin_for_c`). */
extern bool lee_pool_may_begin;
/* Cycles that a thread waits awake for the lock, before it sleeps. */
extern uint64_t lee_lock_patience;
/* Some worker's `unarmed` may be set. Atomic. */
extern bool lee_timers_rest;

void lee_lock_many(void);
void lee_unlock_many(void);

/* Sleeps while the word has the value; wakes one that does. */
void lee_futex_wait(int *word, int value);
/* The same, for so many nanoseconds at most. */
void lee_futex_wait_for(int *word, int value, long nanoseconds);
void lee_futex_wake(int *word);

static inline void lee_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("yield");
#endif
}

/* Of a clock that takes some nanoseconds to read: about those of the processor. */
static inline uint64_t lee_cycles(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 2 * lee_system_time();
#endif
}

/* With one worker it is only counted: a pool may be made while tasks wait that took it. */
static inline void lee_lock(void) {
    if (__builtin_expect(lee_many, 0))
        lee_lock_many();
    else
        lee_worker.depth++;
}

static inline void lee_unlock(void) {
    if (__builtin_expect(lee_many, 0))
        lee_unlock_many();
    else
        lee_worker.depth--;
}

/* The pool begins, with the lock as the calling worker has it. */
void lee_lock_begin(void);

/* All other workers stop what they run, until the same number of calls of `lee_world_go`, but for
 * those in calls of C that last: their processes run on (`lee_process_runs_elsewhere`), and the caller
 * touches none of these. The caller alone touches all others until then. It has the lock, and no
 * pointer into what others may end: meanwhile they ran, and the caller's own process may have been
 * ended. A worker stops where its process could be preempted or waits. */
void lee_world_stop_many(void) __attribute__((weak));
void lee_world_go_many(void) __attribute__((weak));

static inline void lee_world_stop(void) {
    if (__builtin_expect(lee_many, 0))
        lee_world_stop_many();
}

static inline void lee_world_go(void) {
    if (__builtin_expect(lee_many, 0))
        lee_world_go_many();
}

/* --- for channel.c ---------------------------------------------------------------------------- */

/* The running task waits for a number, which is not 0, or for the flag: looks at them for a short
 * time, if a process on another worker may write them soon and no other could run here. Whether
 * that has come. Without the lock. */
bool lee_worker_linger(const int32_t *number, const bool *flag) __attribute__((weak));

/* --- for task.c ------------------------------------------------------------------------------- */

/* The running process, a thread's own, is about to spawn one. Without the lock. */
void lee_pool_begin(void);
/* The running process is about to call C: if others would wait for that, there is a pool from here on. */
void lee_pool_begin_for_c(void) __attribute__((weak));
/* Visits all workers of the pool. With the lock. */
void lee_pool_each(void (*visit)(struct lee_worker *worker)) __attribute__((weak));
/* The list of all that were spawned by the pool's processes. */
struct lee_process **lee_pool_spawned(void) __attribute__((weak));
/* What runs after a task of the running process that does not, which may be a task of the same
 * process; the caller switches to it. `outside`: others come first. `yields`: as
 * `lee_share_next`. */
struct lee_task *lee_worker_next(struct lee_task *waiting, bool outside, bool yields) __attribute__((weak));
/* Whether the running process is to give way at the end of its slice. Safe in a signal handler. */
bool lee_worker_has_others(void) __attribute__((weak));
/* A process can run, or cannot any more. It is in no queue, or in one. */
void lee_worker_ready(struct lee_process *process) __attribute__((weak));
void lee_worker_unready(struct lee_process *process) __attribute__((weak));
/* Whether the queue of any worker has a process without a share. With the lock. */
bool lee_worker_queued(void) __attribute__((weak));
/* A task of the pool is about to wait in the reactor: an idle worker is to block there. */
void lee_worker_watch(void) __attribute__((weak));
/* The running process calls C, perhaps for long, and has come back: what waits here, or in the
 * reactor, is another worker's meanwhile. Without the lock. */
void lee_worker_calls_c(void) __attribute__((weak));
void lee_worker_called_c(void) __attribute__((weak));
/* The process, which runs on another worker, gives way as soon as it can be stopped. Whether it is in a
 * call of C there: then that is after it. With the lock. */
bool lee_worker_hurry(struct lee_process *process) __attribute__((weak));
/* A worker blocks in the reactor, and looks again. */
void lee_worker_ring(void) __attribute__((weak));
/* Another worker than the calling one was called in this way, and has not come back yet. */
bool lee_worker_is_rung(void) __attribute__((weak));
/* By any thread, after `lee_reactor_ask`: some worker looks soon, even if all compute. */
void lee_worker_ask(void) __attribute__((weak));
/* That worker gives up the lock, and has it again. */
unsigned lee_lock_drop(void);
void lee_lock_retake(unsigned depth);

/* task.c, for pool.c: the task runs on the running one's worker. */
void lee_task_run(struct lee_task *to);
/* Something else can run: the timer of slices runs again, if it was stopped. */
void lee_task_arm(void);
/* The first of the process's tasks that can run, which is one no longer. There is one. */
struct lee_task *lee_task_first_ready(struct lee_process *process);
/* One that waits for a finalizer queue may collect. */
bool lee_task_wake_queued(struct lee_process *process);
/* exchange.c: the worker shares the exchange heap of the pool's first one; null: none could be
 * made. */
struct lee_heap;
struct lee_heap *lee_exchange_heap(void) __attribute__((weak));
void lee_exchange_adopt(struct lee_heap *heap) __attribute__((weak));

#endif
