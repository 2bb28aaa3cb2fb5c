/* dispose.h: walks over what objects own, beside those that release it. The drop functions that emitted code has for its types push each part;
 * what becomes of it is the walk's to say. */
#ifndef LEE_SRC_DISPOSE_H
#define LEE_SRC_DISPOSE_H

#include <lee/owned.h>

#include <stdbool.h>
#include <stddef.h>

enum lee_walk {
    LEE_WALK_RELEASE, /* what is owned is released */
    LEE_WALK_DEAD,    /* the collector found the owner dead: nothing is freed, counts of what lives are taken back */
    LEE_WALK_LEAVE,   /* it goes on its way in a message, and leaves the lists of the running process */
    LEE_WALK_ARRIVE,  /* it was received, and joins them */
    LEE_WALK_LOST,    /* it was on its way, on no list of any process, and is not received: it is released */
    LEE_WALK_NAME,    /* before it is received, in a copy of the message: each process that it names becomes an object of the receiver */
    LEE_WALK_UNNAME   /* after that, in the message: the names that it held are let go */
};

enum { LEE_WORK_FEW = 64 };

struct lee_work_item {
    void *object;
    const struct lee_owned *owned;
};

struct lee_exchange_block;

/* A walk. */
struct lee_work {
    enum lee_walk walk;
    bool local;                        /* of a message of a local contract: exchange arenas stay where collections see them */
    bool nested;                       /* `blocks` are looked at by whoever began this (exchange.c) */
    struct lee_exchange_block *blocks; /* of the exchange heap, whose parts are still to be looked at; by `links.next` */
    struct lee_arena *reap;            /* null: the heap */
    struct lee_work_item *items;
    size_t count, room;
    size_t page_bytes; /* of `items`, if they lie in pages */
    struct lee_work_item few[LEE_WORK_FEW];
};

/* Pushes what `bytes` bytes of elements own. */
void lee_push_parts(struct lee_work *work, void *place, size_t bytes, const struct lee_owned *owned);

enum lee_walk lee_walk_of(const struct lee_work *work);

/* Walks over what `bytes` bytes of elements at `place` own, which stay as they are: leaving or arriving. */
void lee_walk_parts(enum lee_walk walk, void *place, size_t bytes, const struct lee_owned *owned);
/* The same of a message of a local contract, which stays in its process: exchange arenas in it,
 * whose objects may lead into the heap, stay on the process's list. */
void lee_walk_local_parts(enum lee_walk walk, void *place, size_t bytes, const struct lee_owned *owned);

/* The arguments at `sent`, which were on their way, are the running process's, in `taken`, a copy
 * of them. Whatever can fail, by a lack of memory, is done first: if it does, what was sent is
 * still whole, and its holder's to lose. `leave(of)` takes it from that holder. */
void lee_parts_arrive(void *sent, void *taken, size_t bytes, const struct lee_owned *owned, void (*leave)(void *of), void *of);
/* They are not received. */
void lee_parts_lost(void *sent, size_t bytes, const struct lee_owned *owned);

#endif
