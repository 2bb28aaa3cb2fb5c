/* Channels, as emitted code calls them.
 *
 * Promises: a channel has two ends, each of which belongs to one process at a time. A send copies the arguments of a message into a place
 * that was there before: it never waits, fails or allocates, since the contract bounds how many messages can be on their way. What was
 * sent is received in that order, also after the sender closed its end or ended. Messages carry scalars so far. */
#ifndef LEE_CHANNEL_H
#define LEE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_endpoint;
struct lee_pid;
struct lee_site;

enum { LEE_IMPORTER, LEE_EXPORTER };

/* What the runtime must know of a contract. Messages are numbered from 1. */
struct lee_contract {
    const char *name;
    uint32_t places[2];        /* by who receives: the most messages that are on their way to that end at once; at least 1 */
    uint32_t bytes;            /* of the arguments of the largest message */
    uint32_t messages;         /* how many it has */
    const char *const *titles; /* of the messages, from number 1 on at place 0; for faults */
};

/* What may stand at the head of an end's queue instead of a message. */
enum {
    LEE_EMPTY = 0,
    LEE_CLOSED = -1 /* the other end is closed, and all that it sent was received */
};

/* A new channel, whose ends belong to the running process. Faults if there is no memory. */
void lee_channel_make(const struct lee_site *site, const struct lee_contract *contract, struct lee_endpoint *ends[2]);

/* Moves an end of the running process to another, which was just spawned; to one that has ended, that closes it. */
void lee_channel_give(struct lee_endpoint *end, struct lee_pid *to);

/* Closes an end: messages that it did not receive are dropped. Null is nothing. */
void lee_channel_close(struct lee_endpoint *end);

/* Sends message number `message`, whose arguments are `bytes` bytes. To a closed end, nothing happens. */
void lee_channel_send(struct lee_endpoint *end, int32_t message, const void *arguments, size_t bytes);

/* The number of the message at the head, LEE_EMPTY or LEE_CLOSED. Does not wait. */
int32_t lee_channel_head(const struct lee_endpoint *end);

/* Takes the message at the head, which is there. */
void lee_channel_take(struct lee_endpoint *end, void *arguments, size_t bytes);

/* Waits for the message and takes it. A fault if another one comes, or the other end is closed. */
void lee_channel_receive(const struct lee_site *site, struct lee_endpoint *end, int32_t message, void *arguments, size_t bytes);

/* Waits until a case can be taken, and gives its number: the first such one. Case `c` wants `patterns[c * count + e]` at the head of
 * `ends[e]`: the number of a message, LEE_CLOSED, or LEE_EMPTY for whatever is there. Takes nothing. When no case can ever be taken any
 * more: -1 if there is a `default`, else a fault. */
int lee_channel_select(const struct lee_site *site, struct lee_endpoint *const *ends, unsigned count, const int32_t *patterns,
                       unsigned cases, bool has_default);

#ifdef __cplusplus
}
#endif

#endif
