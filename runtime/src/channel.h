/* channel.h: ends of channels, as channel.c, select.c and endpoint_set.c see them. */
#ifndef LEE_SRC_CHANNEL_H
#define LEE_SRC_CHANNEL_H

#include <lee/channel.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reactor.h"
#include "task_park.h"

struct channel;
struct lee_column;
struct lee_marker;
struct lee_member;
struct lee_group;
struct lee_process;
struct lee_select;
struct lee_task;

/* Who is told when the head of an end changes. */
enum lee_told {
    LEE_TELLS_TASK,   /* the task that waits for it, if there is one */
    LEE_TELLS_SET,    /* the set that it is in */
    LEE_TELLS_SELECT, /* the select that keeps it (select.c) */
};

struct lee_endpoint {
    struct channel *channel;
    struct lee_process *owner;
    union {
        struct lee_endpoint *next; /* of its owner's */
        struct lee_group *payer;   /* of one without an owner, which is in a message: is charged for it; or null */
    };
    struct lee_endpoint *previous;
    /* Who is told when its head changes; null: nothing is. Which one it is says `told`. */
    union {
        struct lee_task *waiter;
        struct lee_member *member;
        struct lee_column *column;
    };
    unsigned char *places; /* of the messages that come here: the number, then the arguments */
    uint32_t first, held, most; /* the head; how many there are; how many places */
    bool closed;
    uint8_t told;  /* LEE_TELLS_... */
    uint16_t seen; /* which statement it was the first end of, the last time (select.c) */
};

struct channel {
    const struct lee_contract *contract;
    uint32_t stride; /* bytes from a place to the next */
    uint32_t open;   /* ends */
    size_t bytes;
    struct channel *next; /* of the free ones */
    struct lee_endpoint ends[2];
};

static inline struct lee_endpoint *lee_peer_of(const struct lee_endpoint *end) {
    struct channel *channel = end->channel;
    ptrdiff_t apart = end == channel->ends ? 1 : -1;
    return (struct lee_endpoint *)(uintptr_t)(end + apart);
}

/* Of the head. */
static inline unsigned char *lee_head_place(const struct lee_endpoint *end) {
    return end->places + (size_t)end->first * end->channel->stride;
}

/* As `lee_channel_head`, with the lock. */
static inline int32_t lee_head_of(const struct lee_endpoint *end) {
    if (__builtin_expect(end->held > 0, 1))
        return *(const int32_t *)(const void *)lee_head_place(end);
    return lee_peer_of(end)->closed ? LEE_CLOSED : LEE_EMPTY;
}

/* A member of a set, on one of the set's lists; the value of a map follows. */
struct lee_member {
    struct lee_member *next, *previous;
    struct lee_endpoint *end;
    struct lee_set *set;
    uint32_t list;
    _Alignas(16) unsigned char value[];
};

struct lee_members {
    struct lee_member *first, *last;
};

struct lee_set {
    const struct lee_set_kind *kind;
    struct lee_process *owner; /* null: it is given to a process that has not begun */
    union {
        struct lee_set *next;    /* of its owner's */
        struct lee_group *payer; /* without an owner: is charged for it; or null */
    };
    struct lee_set *previous;
    struct lee_task *waiter;
    struct lee_column *column; /* of the select that keeps it; null: none does */
    uint16_t seen;             /* as an end's */
    struct lee_member *spare; /* members that are not used, by `next` */
    size_t count, idle;       /* members; those at whose heads there is nothing */
    struct lee_members lists[];
};

/* What a task waits for; it is on the task's stack. */
struct lee_waited {
    struct lee_endpoint *const *ends;
    struct lee_set *const *sets;
    unsigned count, set_count;
    struct lee_select *kept; /* that has all of these; null: none */
    struct lee_task *task;
    struct lee_timer timer; /* if there is a time at which the waiting ends */
};

/* The running task waits until the head of one of the ends, or of a member of one of the sets, may
 * have changed. `deadline`: of `lee_clock`; LEE_FOR_EVER: none. */
void lee_channel_wait(struct lee_waited *waited, int64_t deadline);

/* A task that waits by `lee_channel_wait_end`, for the end that is its `outside`, waits no longer. */
void lee_channel_leave_end(struct lee_task *task);

/* What a condition says of an end or a set now: it holds, it may later, it never will. */
enum lee_state { LEE_HOLDS, LEE_POSSIBLE, LEE_GONE };

static inline enum lee_state lee_state_of_end(const struct lee_endpoint *end, int32_t wanted) {
    int32_t head = lee_head_of(end);
    return head == wanted ? LEE_HOLDS : head == LEE_EMPTY ? LEE_POSSIBLE : LEE_GONE;
}

/* endpoint_set.c: the same of a set. */
enum lee_state lee_set_state(const struct lee_set *set, int32_t wanted) __attribute__((weak));

/* select.c: what stands at the head of an end, or in a set, that a select keeps has changed. */
void lee_select_notice(struct lee_column *column) __attribute__((weak));
/* The task that is to look at it again; null: none waits. */
struct lee_task *lee_select_waiter(const struct lee_column *column) __attribute__((weak));
/* The task that waits for the head of an end to change; null: none, or for the set that it is
 * in. */
static inline struct lee_task *lee_waiter_of(const struct lee_endpoint *end) {
    if (end->told == LEE_TELLS_SELECT)
        return lee_select_waiter(end->column);
    return end->told == LEE_TELLS_TASK ? end->waiter : NULL;
}

/* A task waits for the end, or the set, alone; null: it does no longer. */
void lee_select_await(struct lee_column *column, struct lee_task *task) __attribute__((weak));
/* A task waits for all that the select keeps; null: it does no longer. */
void lee_select_await_all(struct lee_select *select, struct lee_task *task) __attribute__((weak));
/* An end or a set is no longer its process's, or not to be waited for: the select is forgotten. */
void lee_select_forget(struct lee_column *column) __attribute__((weak));

/* The task waits for the end alone, or, null, does no longer. */
static inline void lee_channel_await(struct lee_endpoint *end, struct lee_task *task) {
    if (__builtin_expect(end->told == LEE_TELLS_SELECT, 0))
        lee_select_await(end->column, task);
    else
        end->waiter = task;
}

/* As `lee_channel_wait`, for the head of one end, without a time; in the frame of the caller
 * (task_park.h). */
static inline __attribute__((always_inline)) void lee_channel_wait_end(struct lee_endpoint *end) {
    struct lee_task *self = lee_process->tasks.running;
    if (__builtin_expect(self->custodian->shut || self->process->accounts.limited, 0))
        lee_task_may_wait();
    lee_channel_await(end, self);
    lee_task_park(end, lee_channel_leave_end);
}

/* endpoint_set.c: the head of a member changed. Linked wherever there is a set. */
void lee_set_notice(struct lee_member *member) __attribute__((weak));
/* endpoint_set.c: gives back the sets of a process, whose ends are closed next. */
void lee_endpoint_sets_end(struct lee_process *process) __attribute__((weak));
/* endpoint_set.c: marks what the values of its maps hold. */
void lee_endpoint_sets_scan(const struct lee_process *process, struct lee_marker *marker) __attribute__((weak));

#endif
