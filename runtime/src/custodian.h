/* custodian.h: custodians as the parts of the runtime know them. ACCOUNTING.md has the why. */
#ifndef LEE_SRC_CUSTODIAN_H
#define LEE_SRC_CUSTODIAN_H

#include <lee/custodian.h>

#include "heap.h"
#include "mark.h"
#include "task.h"

/* If `custodian` (whose list it is in) holds more than `bytes`, or cannot get them, `victim` goes.
 * An object of the heap. */
struct lee_limit {
    struct lee_limit *next;
    struct lee_custodian *victim;
    size_t bytes;
};

/* An object of the heap, or the first one. Its children do not keep it from its end by being listed
 * here, but by their `parent`.
 *
 * A custodian of another process that this one was told of is one, too, of which the heap has only
 * what stands before `parent` (custodian_remote.c). It is in no tree: it names a group. */
struct lee_custodian {
    struct lee_group *group; /* group.c; null: nothing of it is outside of the heap */
    bool remote;             /* of another process */
    uint32_t depth;          /* how many are above it */
    struct lee_custodian *parent, *child, *next, *previous;
    struct lee_task *tasks;
    struct lee_limit *limits, *requirements;
    size_t least_limit; /* of `limits`; SIZE_MAX for none */
    size_t reserve;     /* the most that it or one below it requires, unless accounts are `stale` */
    size_t left;        /* to its limits and those above: in a judgement, and of a bank when it last prepaid */
    size_t settled, fresh; /* bytes of it and all below it: at the last accounting, and handed out since */
    size_t handed, forced; /* bytes handed out to it and below in all; the same when it last made an accounting happen */
    /* Of a bank (custodian.c): what counts in all above it, and that those below may yet have: of
     * `fresh` and `handed`, and of `task_count`. Those with some of that are on a list. */
    size_t prepaid_bytes, prepaid_tasks;
    struct lee_custodian *prepays_next, *prepays_previous;
    size_t own;            /* while accounting: what is charged to it alone */
    struct lee_finalizer *finalizers; /* meanwhile: of its queues; `next_payer`: the next that has some */
    struct lee_custodian *next_payer;
    uint32_t number, lowest; /* while accounting: in post-order, its number; precisely: the lowest below it */
    size_t task_count;       /* of its tasks, and of those below */
    bool prepays;
    bool shut, was_forced;
    bool named;     /* as the victim of a requirement, or of a limit of one that is not below it */
    uint8_t judged; /* in a judgement */
    bool inside;    /* while finalizers are visited: it is the one whose are, or below */
};

struct lee_group;

/* Whether objects of the layout are tasks or custodians. */
bool lee_is_handle(const struct lee_layout *layout);

/* Of a process. */
struct lee_accounts {
    struct lee_custodian first; /* of the first task */
    bool precise;               /* the policy */
    bool limited;               /* somebody has a limit or a requirement */
    bool forced;                /* the collection that begins is to account */
    bool in_sets;               /* the collection that runs accounts precisely */
    unsigned rested;            /* collections since the last accounting */
    unsigned held;              /* how often; of the running task, which cannot wait meanwhile */
    bool stale;                 /* a victim is gone: `requirements`, `reserve` and `least_limit` are found anew before they are read */
    size_t requirements;        /* how many there are of something, whose victim is still there */
    struct lee_custodian *prepaying; /* banks with something prepaid */
    size_t task_count;          /* of its tasks that have not ended */
    size_t steps;               /* as `lee_heap_counts.steps`, of custodians */
    struct lee_task *unseen;    /* what a task's stack took is asked of the system (1 us), so seldom: a task that ran is charged for all of
                                   its stack until somebody looks, which is before anybody is settled */
};

/* custodian.c */

/* The first task, of the first custodian. */
void lee_custodian_begin(struct lee_accounts *accounts, struct lee_task *task);
void lee_custodian_add(struct lee_heap *heap, struct lee_task *task);
void lee_custodian_remove(struct lee_task *task);
/* The running task is about to wait: its custodian pays for what its stack took meanwhile. May
 * collect, and may not return. */
void lee_custodian_note_stack(struct lee_heap *heap, struct lee_task *task);
/* Looks at the stacks of the tasks that ran, so that custodians are charged for what these took.
 * False if there were none. */
bool lee_custodians_see_stacks(struct lee_accounts *accounts);
/* A task's stack took so many bytes more, and that was charged to the custodians of its process
 * (group.c); here it is to its own. */
void lee_custodian_grew(struct lee_task *task, size_t bytes);
/* Takes back what is prepaid: numbers are exact until the next charge. */
void lee_custodians_settle(struct lee_accounts *accounts);
/* Whether so many tasks more in the custodian make no difference to those above it. */
bool lee_custodian_has_tasks(const struct lee_custodian *custodian, size_t more);
/* All above were looked at: so many tasks are left to the nearest limit of them. */
void lee_custodian_prepay_tasks(struct lee_custodian *custodian, size_t left);
/* Another task runs, of another custodian. */
void lee_custodian_switch(struct lee_heap *heap, struct lee_custodian *from, struct lee_custodian *to);
/* `bytes` are to be handed out to the running task, and somebody may have something against it. May
 * collect, and may not return. */
void lee_custodian_check(struct lee_heap *heap, size_t bytes);
/* The running task's custodian was shut down: ends it, now or in its next allocation. */
void lee_custodian_end_if_shut(struct lee_heap *heap);
/* There is no memory. Whether somebody was shut down, so that asking again makes sense. */
bool lee_custodian_starved(struct lee_heap *heap);

/* What `custodian_shutdown` does, but for the end of the running task: true if that is to come. With the
 * lock; all other workers have stopped, or those of its processes that run end when they give way. */
bool lee_custodian_shut(struct lee_custodian *custodian);
/* Null is the one that the running task entered. */
struct lee_custodian *lee_custodian_given(struct lee_custodian *custodian);
/* To which belongs what the running task opens: the one that it entered, or its own if that is
 * another process's. */
struct lee_custodian *lee_custodian_here(void);
/* A fault, unless the running task's custodian is above the one that is given. */
void lee_custodian_check_authority(const struct lee_custodian *custodian);

/* Whether somebody has used half of a limit, has a limit below `most` bytes, or a requirement. */
bool lee_custodians_near(struct lee_heap *heap, size_t most);

/* Finds `requirements`, `reserve` and `least_limit` anew: custodians that had some may be dead. */
void lee_custodians_count(struct lee_accounts *accounts);

/* Whether a custodian is `top` or below it. */
bool lee_custodian_is_inside(const struct lee_custodian *custodian, const struct lee_custodian *top);
/* Whether a custodian is the running task's, or the one that it entered, or below. */
bool lee_custodian_covers(const struct lee_custodian *custodian);

/* custodian_remote.c: the same of a custodian of another process. It is linked where there is one. */

/* A custodian below it, which belongs to no process. */
struct lee_custodian *lee_remote_new(struct lee_custodian *above) __attribute__((weak));
/* May not return. */
void lee_remote_shutdown(struct lee_custodian *custodian) __attribute__((weak));
bool lee_remote_is_shut(const struct lee_custodian *custodian) __attribute__((weak));
/* What its processes are charged, and what its tasks reached when the process that made it last
 * accounted. */
size_t lee_remote_use(const struct lee_custodian *custodian) __attribute__((weak));
/* A fault, unless it is below the running task's custodian. */
void lee_remote_check_authority(const struct lee_custodian *custodian) __attribute__((weak));
/* A fault, if it is above the custodian that the running process was spawned in. */
void lee_remote_check_start(const struct lee_custodian *custodian) __attribute__((weak));
/* The running process ends: its names of custodians are let go. */
void lee_remote_end(struct lee_process *process) __attribute__((weak));

/* The next custodian in post-order: children before their parents, the first one last. Null behind that. */
struct lee_custodian *lee_custodian_deepest(struct lee_custodian *from);
struct lee_custodian *lee_custodian_after(struct lee_custodian *custodian);

/* io.c, opened.c, if they are linked: close what belongs to custodians that were shut down. */
void lee_files_shut(void) __attribute__((weak));
void lee_opened_shut(void) __attribute__((weak));

/* weak.c */

/* Visits what may come into queues of `top` and the custodians below it, and what carries it. */
void lee_finalizers_each(struct lee_heap *heap, struct lee_custodian *top, void (*visit)(void *context, uintptr_t word),
                         void *context);

/* account.c */

/* Marks all that can be reached, and charges it. `words`: where the words of the roots go, for a
 * second trace, or null. False if there was no memory for all of them; those that are missing are
 * not marked. */
bool lee_account_mark(struct lee_heap *heap, struct lee_marker *marker, struct lee_vector *words);
/* Marks from a custodian's own tasks. */
void lee_custodian_scan(struct lee_heap *heap, struct lee_custodian *custodian, struct lee_marker *marker);
/* The bytes of the stacks and arenas of a custodian's own tasks. */
size_t lee_tasks_bytes(const struct lee_custodian *custodian);
/* After it, when the live bytes were counted. */
void lee_account_settle(struct lee_heap *heap);
/* Whether a collection that begins now is to account. */
bool lee_account_due(struct lee_heap *heap);
/* One has ended. */
void lee_account_note(struct lee_heap *heap, bool accounted);
/* From the `trace` of a handle: it is `custodian`'s, whoever reached it. */
void lee_account_handle(struct lee_marker *marker, const struct lee_custodian *custodian, size_t bytes);
/* The handle refers to `word`. */
void lee_account_refer(struct lee_marker *marker, uintptr_t word);
/* For an accounting now, whatever was wanted. */
void lee_account_collect(struct lee_heap *heap);
/* Of the process whose heap it is. */
struct lee_accounts *lee_accounts_of(const struct lee_heap *heap);

/* account_bounded.c: the bytes that the tasks of `custodian` and below reach; stops, with something
 * larger than `most`, as soon as it is more than that. SIZE_MAX if there is no memory to find
 * out. */
size_t lee_account_reached(struct lee_heap *heap, struct lee_custodian *custodian, size_t most);
/* The bytes of the tables that the last trace had at its end, for tests. */
extern size_t lee_account_table;

#endif
