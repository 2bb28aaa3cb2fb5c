/* Channels, as emitted code calls them.
 *
 * Promises: a channel has two ends, each of which belongs to one process at a time. A send copies
 * the arguments of a message into a place that was there before: it never waits, fails or
 * allocates, since the contract bounds how many messages can be on their way. What was sent is
 * received in that order, also after the sender closed its end or ended. What the arguments of a
 * message own goes with it: while it is on its way it belongs to no process, and what is never
 * received is released when the end that it was sent to is closed. */
#ifndef LEE_CHANNEL_H
#define LEE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_endpoint;
struct lee_owned;
struct lee_set;
struct lee_site;
struct lee_work;

enum { LEE_IMPORTER, LEE_EXPORTER };

/* What the runtime must know of a contract. Messages are numbered from 1. */
struct lee_contract {
    const char *name;
    uint32_t places[2];        /* by who receives: the most messages that are on their way to that end at once; at least 1 */
    uint32_t bytes;            /* of the arguments of the largest message */
    uint32_t messages;         /* how many it has */
    const char *const *titles; /* of the messages, from number 1 on at place 0; for faults */
    /* Likewise: how what the arguments of each message own ends (lee/owned.h); null if they own
     * nothing, or no message's do. */
    const struct lee_owned *const *owned;
    bool local; /* messages may carry pointers into the heap: both ends are always in one process */
    const struct lee_contract *base; /* the contract that it extends; null: none */
    uint64_t digest;                 /* equal ones are one contract, whatever unit the table is of */
};

/* What may stand at the head of an end's queue instead of a message. */
enum {
    LEE_EMPTY = 0,
    LEE_CLOSED = -1 /* the other end is closed, and all that it sent was received */
};

/* A new channel, whose ends belong to the running process. Faults if there is no memory. */
void lee_channel_make(const struct lee_site *site, const struct lee_contract *contract, struct lee_endpoint *ends[2]);

/* A fault unless the channel was made with this contract, or one that extends it. */
void lee_channel_want(const struct lee_site *site, const struct lee_endpoint *end, const struct lee_contract *contract);

/* Closes an end: messages that it did not receive are dropped. Null is nothing. */
void lee_channel_close(struct lee_endpoint *end);

/* Sends message number `message`, whose arguments are `bytes` bytes. To a closed end, nothing happens. */
void lee_channel_send(struct lee_endpoint *end, int32_t message, const void *arguments, size_t bytes);

/* The number of the message at the head, LEE_EMPTY or LEE_CLOSED. Does not wait. */
int32_t lee_channel_head(const struct lee_endpoint *end);

/* Takes the message at the head, which is this one; else a fault. */
void lee_channel_take(struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes);

/* Waits for the message and takes it. A fault if another one comes, or the other end is closed. */
void lee_channel_receive(const struct lee_site *site, struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes);

/* --- select (select.c) ---
 *
 * A case of a select is one condition or several, all of which must hold. The cases of a statement
 * are one table of conditions, in the order of the cases. */
struct lee_wanted {
    int32_t head;   /* what stands at the head: the number of a message, or LEE_CLOSED; for sets see below */
    uint32_t which; /* of the ends and then the sets that the select names; with LEE_AND: for the same case as the one before */
};
#define LEE_AND 0x80000000u

/* Constant, and at one address for as long as any end that it was used for is open: selects
 * recognise a statement that runs again by it. */
struct lee_cases {
    const struct lee_wanted *wanted;
    uint32_t conditions, cases; /* how many there are */
    bool has_default;
};

/* Waits until a case can be taken, and gives its number: the first such one. Takes nothing. When no
 * case can ever be taken any more: -1 if there is a `default`, else a fault. No end is named
 * twice. */
int lee_channel_select(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, const struct lee_cases *cases);

/* The same, for so many milliseconds at most; not more than 0: does not wait. Then it gives the
 * number of cases. */
int lee_channel_select_for(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, const struct lee_cases *cases,
                           int64_t milliseconds);

/* From the drop function of an object that owns the end (lee/owned.h). */
void lee_push_endpoint(struct lee_work *work, struct lee_endpoint *end);

/* --- sets and maps of ends (endpoint_set.c) ---
 *
 * A set holds ends of one contract whose turn it is to receive; a map holds a value with each. A
 * set belongs to the process that made it, and its members do. To add, to take and to find out
 * which member has a message takes constant time, however many there are. */

/* What the runtime must know of a kind of set. */
struct lee_set_kind {
    const struct lee_contract *contract;
    size_t bytes;                  /* of a map's value; 0 in a set */
    const struct lee_owned *owned; /* how what a value owns ends; null if it owns nothing */
    bool scanned;                  /* values may hold pointers into the heap */
};

/* What a condition may want of a set, beside a message and LEE_CLOSED at the head of some
 * member. */
enum {
    LEE_NO_MEMBER = -2, /* it is empty */
    LEE_ANY_MEMBER = -3 /* it is not */
};

/* A new, empty set of the running process. Faults if there is no memory. */
struct lee_set *lee_set_make(const struct lee_site *site, const struct lee_set_kind *kind);

/* Gives it back: closes its members. Null is nothing. */
void lee_set_free(struct lee_set *set);

/* Adds an end of the running process. `value`: of a map. Faults if there is no memory. */
void lee_set_add(const struct lee_site *site, struct lee_set *set, struct lee_endpoint *end, const void *value);

/* Takes out a member at whose head this stands, or any (LEE_ANY_MEMBER); which there is, else a
 * fault. Of those with the same head, the one that had it first. */
struct lee_endpoint *lee_set_take(const struct lee_site *site, struct lee_set *set, int32_t head, void *value);

/* As `lee_channel_select`; sets are numbered after the ends. */
int lee_set_select(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, struct lee_set *const *sets, unsigned set_count,
                   const struct lee_cases *cases);

/* As `lee_channel_select_for`. */
int lee_set_select_for(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, struct lee_set *const *sets,
                       unsigned set_count, const struct lee_cases *cases, int64_t milliseconds);

/* From the drop function of an object that owns the set. */
void lee_push_set(struct lee_work *work, struct lee_set *set);

#ifdef __cplusplus
}
#endif

#endif
