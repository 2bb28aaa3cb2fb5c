/* aside.c: see aside.h. */
#include "aside.h"

#ifdef LEE_NO_GC

void lee_run_aside(struct lee_aside *job) {
    job->run(job);
}

#else

#include <stdatomic.h>
#include <stddef.h>

#include "foreign_stack.h"
#include "process.h"
#include "reactor.h"
#include "thread.h"

enum {
    ASIDE_MOST = 64,
    STACK_BYTES = 1 << 20, /* libc's resolver takes a tenth */
    PAUSE = 2000000        /* nanoseconds between two looks whether it is one's turn */
};

static atomic_int under_way;

/* Of a job: whoever comes last releases it, unless the task goes on. */
enum { UNDER_WAY, DONE, ABANDONED };

static void *run_thread(void *argument) {
    struct lee_aside *job = argument;
    struct lee_reactor *reactor = job->reactor;
    job->run(job);
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
    lee_process_self()->aside = false;
    if (__atomic_exchange_n(&job->state, ABANDONED, __ATOMIC_ACQ_REL) == DONE)
        job->release(job);
}

/* There is no thread for it: it blocks all, on the large stack. */
static void run_here(void *argument) {
    struct lee_aside *job = argument;
    job->run(job);
}

static void release_waiting(void *context) {
    struct lee_aside *job = context;
    job->release(job);
}

void lee_run_aside(struct lee_aside *job) {
    struct lee_process *process = lee_process_self();
    const struct lee_left waiting = {release_waiting, job}, running = {abandon, job};
    job->reactor = LEE_SUSPENDS ? lee_reactor_self() : NULL;
    if (job->reactor == NULL) {
        lee_foreign_run(run_here, job);
        return;
    }
    while (process->aside || atomic_load(&under_way) >= ASIDE_MOST)
        lee_wait_pause(PAUSE, &waiting);
    process->aside = true;
    job->state = UNDER_WAY;
    atomic_fetch_add(&under_way, 1);
    if (lee_thread_start(run_thread, job, STACK_BYTES)) {
        lee_wait_done(&job->state, &running);
    } else {
        atomic_fetch_sub(&under_way, 1);
        lee_foreign_run(run_here, job);
    }
    process->aside = false;
}

#endif
