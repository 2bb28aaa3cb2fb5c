/* channel.h: ends of channels, as channel.c and endpoint_set.c see them. */
#ifndef LEE_SRC_CHANNEL_H
#define LEE_SRC_CHANNEL_H

#include <lee/channel.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reactor.h"

struct channel;
struct lee_marker;
struct lee_member;
struct lee_group;
struct lee_process;
struct lee_task;

struct lee_endpoint {
    struct channel *channel;
    struct lee_process *owner;
    union {
        struct lee_endpoint *next; /* of its owner's */
        struct lee_group *payer;   /* of one without an owner, which is in a message: is charged for it; or null */
    };
    struct lee_endpoint *previous;
    /* Who is told when its head changes; null: nothing is. */
    union {
        struct lee_task *waiter;
        struct lee_member *member; /* if it is in a set */
    };
    unsigned char *places; /* of the messages that come here: the number, then the arguments */
    uint32_t first, held, most; /* the head; how many there are; how many places */
    bool closed;
    bool in_set;
};

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
    struct lee_member *spare; /* members that are not used, by `next` */
    size_t count, idle;       /* members; those at whose heads there is nothing */
    struct lee_members lists[];
};

/* What a task waits for; it is on the task's stack. */
struct lee_waited {
    struct lee_endpoint *const *ends;
    struct lee_set *const *sets;
    unsigned count, set_count;
    struct lee_task *task;
    struct lee_timer timer; /* if there is a time at which the waiting ends */
};

/* The running task waits until the head of one of the ends, or of a member of one of the sets, may
 * have changed. `deadline`: of `lee_clock`; LEE_FOR_EVER: none. */
void lee_channel_wait(struct lee_waited *waited, int64_t deadline);

/* The time of `lee_clock` that is so many milliseconds away. */
int64_t lee_channel_deadline(int64_t milliseconds);

/* endpoint_set.c: the head of a member changed. Linked wherever there is a set. */
void lee_set_notice(struct lee_member *member) __attribute__((weak));
/* endpoint_set.c: gives back the sets of a process, whose ends are closed next. */
void lee_endpoint_sets_end(struct lee_process *process) __attribute__((weak));
/* endpoint_set.c: marks what the values of its maps hold. */
void lee_endpoint_sets_scan(const struct lee_process *process, struct lee_marker *marker) __attribute__((weak));

#endif
