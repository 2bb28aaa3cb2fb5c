/* channel.h: ends of channels, as channel.c, select.c and endpoint_set.c see them. */
#ifndef LEE_SRC_CHANNEL_H
#define LEE_SRC_CHANNEL_H

#include <lee/channel.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "atomics.h"
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

/* The messages that come to an end. Whoever sends or receives a message writes nothing elsewhere, so
 * only the line of the cache that it is in moves from processor to processor. */
struct lee_queue {
    uint32_t first; /* the head: bytes from `places` on; the receiver's */
    uint32_t next;  /* likewise, where the next message goes; the sender's */
    /* The number of the message, LEE_EMPTY in a free one, then the arguments. */
    unsigned char places[];
};

struct lee_endpoint {
    struct channel *channel;
    struct lee_endpoint *peer; /* the channel's other end */
    struct lee_process *owner;
    union {
        struct lee_endpoint *next; /* of its owner's */
        struct lee_group *payer;   /* of one without an owner, which is in a message: is charged for it; or null */
    };
    struct lee_endpoint *previous;
    /* Who is told when its head changes; null: nothing is. Which one it is says `told`. Both are
     * changed with the lock; whoever sends looks without it whether there is anybody. */
    union {
        struct lee_task *waiter;
        struct lee_member *member;
        struct lee_column *column;
    };
    struct lee_queue *queue;
    uint32_t bytes; /* of all its places */
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
    return end->peer;
}

/* The number that a place begins with. */
static inline int32_t *lee_number_in(const unsigned char *place) {
    return (int32_t *)(uintptr_t)place;
}

/* Of the head. */
static inline unsigned char *lee_head_place(const struct lee_endpoint *end) {
    return end->queue->places + end->queue->first;
}

/* As `lee_channel_head`. What was sent before the peer was closed is still received, so that is
 * looked at between two looks at the place; the second needs no order of its own. */
static inline int32_t lee_head_of(const struct lee_endpoint *end) {
    const int32_t *number = lee_number_in(lee_head_place(end));
    int32_t head = lee_atomic_load(number, __ATOMIC_ACQUIRE);
    if (__builtin_expect(head != LEE_EMPTY, 1))
        return head;
    if (!lee_atomic_load(&lee_peer_of(end)->closed, __ATOMIC_ACQUIRE))
        return LEE_EMPTY;
    head = lee_atomic_load(number, __ATOMIC_RELAXED);
    return head != LEE_EMPTY ? head : LEE_CLOSED;
}

/* Who is told from now on. With the lock. What came earlier was told to nobody: if there are
 * several workers, the caller looks at the head once more, after a fence. */
static inline void lee_tell(struct lee_endpoint *end, enum lee_told told, void *whom) {
    end->told = (uint8_t)told;
    lee_atomic_store(&end->waiter, (struct lee_task *)whom, __ATOMIC_RELAXED);
}

/* How many messages are on their way to the end, for `lee top`. */
size_t lee_channel_held(const struct lee_endpoint *end) __attribute__((weak));

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
 * have changed. `deadline`: of `lee_clock`; LEE_FOR_EVER: none. With several workers it has called
 * `lee_channel_await_all`, and then found that it still has to wait; `lee_channel_leave_all` takes that
 * back. */
void lee_channel_wait(struct lee_waited *waited, int64_t deadline);
void lee_channel_await_all(struct lee_waited *waited);
void lee_channel_leave_all(struct lee_waited *waited);

/* A task that waits by `lee_channel_wait_end`, for the end that is its `outside`, waits no longer. */
void lee_channel_leave_end(struct lee_task *task);
/* Waits with several workers, without the lock, if there still is nothing; it may first look for that
 * for a while. */
void lee_channel_wait_many(struct lee_endpoint *end);

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
        lee_atomic_store(&end->waiter, task, __ATOMIC_RELAXED);
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
