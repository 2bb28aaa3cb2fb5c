/* share.h: which process runs next, when custodians share the processor.
 *
 * Promises: custodians that have processes which can run get time by their weights, each among
 * those below the same custodian, whatever number of processes they have; the processes of one
 * take turns. Processes that are in no custodian but the first one's take turns in the queue of
 * task.c, which is one more share below the first custodian; while there are no others, nothing
 * here is called, and no clock is read.
 *
 * The method is that of weighted fair queueing with virtual time (Demers, Keshav, Shenker, 1989),
 * hierarchical, as Linux schedules groups (Documentation/scheduler/sched-design-CFS.rst). */
#ifndef LEE_SRC_SHARE_H
#define LEE_SRC_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pairing.h"
#include "turns.h"

struct lee_process;
struct lee_task;

enum {
    LEE_SHARE_WEIGHT = 100, LEE_SHARE_WEIGHT_MOST = 10000,
    /* A switch looks at all shares above a process. So custodians below more than so many have none:
     * their processes are in that of the nearest one above that has. */
    LEE_SHARES_DEEP = 64
};

/* Of a custodian, or of the processes that are in it itself, which have one below it. */
struct lee_share {
    struct lee_pairing node;   /* first, so that nodes are shares; `node.at` is its time, which is virtual:
                                * nanoseconds that it ran, by its weight */
    struct lee_share *parent;  /* null: the first custodian's, or not used yet */
    struct lee_pairing *first; /* of those below it with processes that can run: the one with the least time */
    uint64_t ran;   /* nanoseconds that it ran */
    int64_t floor;  /* of those below: the time of whichever ran last */
    int64_t joined; /* its time when it last wanted to run after a while without */
    unsigned weight;
    size_t ready;   /* processes in it and below that can run, without the one that runs */
    struct lee_turns queue; /* of its own */
};

/* How many processes with a share can run. */
extern size_t lee_shares_ready;
/* A process with a share has been spawned. */
extern bool lee_shares_used;

struct lee_share *lee_share_root(void);
/* A process can run, or cannot any more; it has a share. */
void lee_share_ready(struct lee_process *process) __attribute__((weak));
void lee_share_unready(struct lee_process *process) __attribute__((weak));
/* The process that runs next, which is ready no longer. `queue`: whether those without a share have
 * one that can run; null if it is their turn. There is one of either kind. `yields`: the running
 * one gives its turn away. */
struct lee_process *lee_share_next(bool queue, bool yields) __attribute__((weak));
/* Charges the running process for its time until now. */
void lee_share_note(void) __attribute__((weak));
/* The same, when the next process is chosen and has no share. */
void lee_share_note_alone(void) __attribute__((weak));
/* Nanoseconds that what is charged to it ran, until now. Without the lock. */
uint64_t lee_share_ran(const struct lee_share *share) __attribute__((weak));
/* So much of the time since the last note was spent for another process than the running one, which
 * is charged for it. */
void lee_share_bill(struct lee_process *process, uint64_t nanoseconds) __attribute__((weak));
/* So much was spent for the process on a thread that is no worker's. */
void lee_share_charge(struct lee_process *process, uint64_t nanoseconds) __attribute__((weak));
/* The time until now is charged to none: all processes waited. */
void lee_share_skip(void) __attribute__((weak));
/* Whether a process that was woken is to run before the slice of the running one ends. */
bool lee_share_is_behind(const struct lee_process *woken) __attribute__((weak));

/* Comparisons of shares, and shares that were charged, since the program began, for tests. */
extern size_t lee_share_steps;

/* Nanoseconds; tests have clocks of their own. */
extern uint64_t (*lee_share_clock)(void);

#endif
