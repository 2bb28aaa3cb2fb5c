/* aside.c: see aside.h. */
#include "aside.h"

#ifdef LEE_NO_GC

void lee_run_aside(struct lee_aside *job) {
    job->run(job);
}

#else

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "foreign_stack.h"
#include "process.h"
#include "reactor.h"
#include "share.h"
#include "thread.h"
#include "worker.h"

enum {
    ASIDE_MOST = 64,
    ASIDE_OF_PROCESS = 4,
    STACK_BYTES = 1 << 20, /* libc's resolver takes a tenth */
    PAUSE_LEAST = 64000,   /* nanoseconds between two looks whether it is one's turn */
    PAUSE_MOST = 2000000
};

static atomic_int under_way;

/* Of a job: whoever comes last releases it, unless the task goes on. */
enum { UNDER_WAY, DONE, ABANDONED };

static void *run_thread(void *argument) {
    struct lee_aside *job = argument;
    struct lee_reactor *reactor = job->reactor;
    job->run(job);
    struct timespec took; /* by this thread, which does nothing else */
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &took) == 0)
        job->took = (uint64_t)took.tv_sec * 1000000000 + (uint64_t)took.tv_nsec;
    atomic_fetch_sub(&under_way, 1);
    if (__atomic_exchange_n(&job->state, DONE, __ATOMIC_ACQ_REL) == ABANDONED)
        job->release(job);
    else
        lee_reactor_call(reactor);
    return NULL;
}

/* The task is ended while it waits. */
static void abandon(void *context) {
    struct lee_aside *job = context;
    const struct lee_left *left = job->left;
    lee_process_self()->aside--;
    if (__atomic_exchange_n(&job->state, ABANDONED, __ATOMIC_ACQ_REL) == DONE)
        job->release(job);
    if (left != NULL)
        left->run(left->context);
}

/* There is no thread for it: it blocks all, on the large stack. */
static void run_here(void *argument) {
    struct lee_aside *job = argument;
    job->run(job);
}

static void release_waiting(void *context) {
    struct lee_aside *job = context;
    const struct lee_left *left = job->left;
    job->release(job);
    if (left != NULL)
        left->run(left->context);
}

static void charge(uint64_t nanoseconds) {
    if (lee_share_charge == NULL || nanoseconds == 0)
        return;
    lee_lock();
    lee_share_charge(lee_process_self(), nanoseconds);
    lee_unlock();
}

void lee_run_aside(struct lee_aside *job) {
    struct lee_process *process = lee_process_self();
    const struct lee_left waiting = {release_waiting, job}, running = {abandon, job};
    job->reactor = LEE_SUSPENDS ? lee_reactor_self() : NULL;
    if (job->reactor == NULL) {
        lee_foreign_run(run_here, job);
        return;
    }
    for (int64_t pause = PAUSE_LEAST; process->aside >= ASIDE_OF_PROCESS || atomic_load(&under_way) >= ASIDE_MOST;)
        lee_wait_pause(&pause, PAUSE_MOST, &waiting);
    process->aside++;
    job->took = 0;
    job->state = UNDER_WAY;
    atomic_fetch_add(&under_way, 1);
    if (lee_thread_start(run_thread, job, STACK_BYTES)) {
        lee_wait_done(&job->state, &running);
    } else {
        atomic_fetch_sub(&under_way, 1);
        lee_foreign_run(run_here, job);
    }
    process->aside--;
    charge(job->took);
}

#endif
