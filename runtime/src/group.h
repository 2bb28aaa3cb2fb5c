/* group.h: the part of a custodian that is outside of any heap: what its processes hold, how many
 * there are of them, and what both may not exceed.
 *
 * A custodian is an object of the heap of the process that made it, and that heap may go before the
 * processes do that were spawned in the custodian. So each custodian in which a process was
 * spawned, or that has a limit in a program with processes, has a group. Groups form the same tree
 * as custodians do: the group of a process's first custodian is below the one that the process was
 * spawned in. A group is freed when its custodian is gone and nothing is below it.
 *
 * Promises: the use and the counts of a group are those of all processes in it and below it. All
 * is done with the lock (worker.h), so nothing here is atomic. The hierarchy of counters is that of
 * Linux's control groups (mm/page_counter.c); what it is for is in Banga, Druschel, Mogul: Resource
 * Containers (1999). */
#ifndef LEE_SRC_GROUP_H
#define LEE_SRC_GROUP_H

#include <lee/custodian.h>

#include "share.h"

#include <stdbool.h>
#include <stddef.h>

struct lee_custodian;
struct lee_heap;
struct lee_process;
struct lee_task;

/* What a limit is about: bytes, or one of the kinds of lee/custodian.h. */
enum { LEE_GROUP_BYTES, LEE_GROUP_PROCESSES, LEE_GROUP_TASKS, LEE_GROUP_DESCRIPTORS, LEE_GROUP_ENDPOINTS, LEE_GROUP_KINDS };

struct lee_group_limit;

struct lee_group {
    struct lee_group *parent, *child, *next, *previous;
    uint64_t number; /* in the order in which groups are made; 1 for the first */
    struct lee_process *processes; /* spawned in it, by `group_next` */
    /* Null once it is gone. Of the process that made it, which is in none of the groups below. */
    struct lee_custodian *custodian;
    struct lee_process *maker;
    struct lee_group *maker_next, *maker_previous; /* of the same maker */
    struct lee_group_limit *limits; /* of it */
    struct lee_group_limit *named;  /* in which it is the victim */
    size_t least[LEE_GROUP_KINDS];  /* of its limits; SIZE_MAX for none */
    size_t uses[LEE_GROUP_KINDS];   /* of the processes in it and below, and what was prepaid there */
    /* Of a bank (group.c): what counts in all groups above it, and that those below may yet have.
     * Those with some of that are on a list. */
    size_t prepaid[LEE_GROUP_KINDS];
    struct lee_group *prepays_next, *prepays_previous;
    unsigned depth; /* how many are above it */
    bool bank, prepays;
    bool watched; /* it, or one above, has had a limit of memory */
    struct lee_share share, leaf; /* if `shares` */
    size_t held; /* how often: it is not freed meanwhile */
    /* How often it is named: by objects of other processes, and by messages on their way. So long its
     * custodian is kept, since the name may come back. */
    size_t names;
    bool shut;
    bool shut_later; /* the tasks of its custodian end when the maker gives way */
    bool pays; /* no process does for it and its limits */
    /* `share` and `leaf` are used, once a process was spawned in it or below: its custodian was made by
     * a program (first custodians have none), and is not below too many (share.h). */
    bool shares;
};

/* The group of a custodian; it is made if there is none. Null if there is no memory. */
struct lee_group *lee_group_of(struct lee_custodian *custodian);

/* For custodian_remote.c, with the lock. */

/* A group below `parent` that no process has a custodian for; it pays for itself. Null if there is
 * no memory. */
struct lee_group *lee_group_below(struct lee_group *parent);
/* One name more, or one less, which may be the last. */
void lee_group_name(struct lee_group *group);
void lee_group_unname(struct lee_group *group);
/* Whether it is `top` or below it. */
bool lee_group_is_inside(const struct lee_group *group, const struct lee_group *top);
/* The bytes that it uses, with those of its custodian's tasks at the last accounting. */
size_t lee_group_use(const struct lee_group *group);
/* A block of so many bytes leaves the running process in a message: its custodians go on paying for
 * it. Gives whom to name when it arrives or is lost; null for none. */
struct lee_group *lee_group_note_sent(size_t bytes) __attribute__((weak));
void lee_group_drop_sent(struct lee_group *group, size_t bytes) __attribute__((weak));

/* The same of a block that the process was charged for until now, and of one that it is charged for
 * from now on; `payer` is who was meanwhile. */
struct lee_group *lee_group_send(struct lee_process *process, size_t bytes) __attribute__((weak));
void lee_group_receive(struct lee_process *process, struct lee_group *payer, size_t bytes) __attribute__((weak));

/* The same in programs that may have no groups. */
static inline struct lee_group *lee_pay_sent(size_t bytes) {
    return lee_group_note_sent == NULL ? NULL : lee_group_note_sent(bytes);
}
static inline void lee_unpay_sent(struct lee_group *payer, size_t bytes) {
    if (lee_group_drop_sent != NULL)
        lee_group_drop_sent(payer, bytes);
}

/* The custodian is gone, because nothing refers to it or its process ends. */
void lee_group_forget(struct lee_custodian *custodian) __attribute__((weak));
void lee_groups_forget(struct lee_process *maker);

/* custodian.c passes limits on; a group is made for both. */
void lee_group_set_limit(struct lee_custodian *custodian, int kind, size_t most, struct lee_custodian *victim)
    __attribute__((weak));
/* The custodian of the group is being shut down: ends all processes in it and below it, but not the
 * one that runs. */
void lee_group_end_processes(struct lee_group *group) __attribute__((weak));
/* Shuts down its custodian, in whatever process that is. If the running process is in it, that
 * comes last, and this does not return. `message` says why. */
void lee_group_shut(struct lee_group *group, const char *message);
/* The same of the custodians of a process that ran on another worker then. It does not run now; it can
 * again afterwards. With the lock. */
void lee_groups_shut_late(struct lee_process *maker) __attribute__((weak));

/* The one that all others are below. */
const struct lee_group *lee_group_root(void);
/* A process that was made is spawned in the group. It takes its stack and `bytes` more. */
void lee_group_join(struct lee_group *group, struct lee_process *process, size_t bytes);
/* A task of a process that is watched gives way: what stacks took since is counted, now or soon.
 * The process, or null, for which that is more than a limit allows; then, when another task runs,
 * `lee_group_stack_over` shuts down the victim. */
struct lee_process *lee_group_note_stack(struct lee_task *task) __attribute__((weak));
/* A task that is noted ends; its process goes on. */
void lee_group_task_ends(struct lee_task *task) __attribute__((weak));
void lee_group_stack_over(struct lee_process *process) __attribute__((weak));
/* It ends: gives back all that it was charged. */
void lee_group_leave(struct lee_process *process);

/* Whether `process`, which belongs to a group, gets so many bytes. If not, who asks gives back what
 * it can, tries again, and then calls `lee_group_starved`. */
bool lee_group_charge(struct lee_process *process, size_t bytes) __attribute__((weak));
void lee_group_uncharge(struct lee_process *process, size_t bytes) __attribute__((weak));
/* What is prepaid goes back: `uses` are exact until the next charge. */
void lee_groups_settle(void) __attribute__((weak));
/* Groups that charges looked at since the program began, for tests. */
extern size_t lee_group_steps;
/* A charge was refused, and collecting did not help. True if a custodian was shut down, so that asking
 * again makes sense. May not return. */
bool lee_group_starved(void) __attribute__((weak));
/* A charge was refused since `lee_group_starved` was last called. */
extern bool lee_group_refused;
/* There is a limit on the number of tasks, or memory. */
extern bool lee_groups_count_tasks, lee_groups_limit_memory;

/* `more` of a kind are to be made in a custodian of the running process. Shuts down whoever has too
 * many then, and may not return. */
void lee_group_ask(struct lee_custodian *custodian, int kind, size_t more) __attribute__((weak));
/* The same for a process that is to be spawned, with `bytes`: one look at each group, mostly. */
void lee_group_ask_spawn(struct lee_custodian *custodian, size_t bytes);
/* Whether so many more in the process, which belongs to a group, break no limit. With the lock. */
bool lee_group_has_room(struct lee_process *process, int kind, size_t more) __attribute__((weak));
/* There are so many more, or fewer, in the process, which belongs to a group. */
void lee_group_count(struct lee_process *process, int kind, ptrdiff_t more) __attribute__((weak));

#endif
