/* aside.h: C functions that block, on a thread of their own.
 *
 * Promises: the task that asks waits, and others run. At most ASIDE_OF_PROCESS such calls of a
 * process are under way, and at most ASIDE_MOST of the program. The processor time that they take
 * is charged to the process, once the task goes on. If the task is ended meanwhile, the call goes
 * on, and what it leaves is released when it returns. */
#ifndef LEE_SRC_ASIDE_H
#define LEE_SRC_ASIDE_H

#include <stdint.h>

struct lee_left;

/* What is to be run begins with this; it is no memory of a heap, and refers to none. */
struct lee_aside {
    void (*run)(struct lee_aside *job);
    void (*release)(struct lee_aside *job); /* gives back the job and all that it holds */
    const struct lee_left *left;           /* runs if the task is ended meanwhile; null: nothing */
    struct lee_reactor *reactor;
    uint64_t took;                         /* nanoseconds of processor time */
    int state; /* 0: under way */
};

/* Runs the job, elsewhere if that can be; it is the caller's again, who releases it. `job` is not released if the task is ended before. */
void lee_run_aside(struct lee_aside *job);

#endif
