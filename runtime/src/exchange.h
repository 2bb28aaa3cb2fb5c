/* exchange.h: blocks of the exchange heap as other parts of the runtime see them. */
#ifndef LEE_SRC_EXCHANGE_H
#define LEE_SRC_EXCHANGE_H

#include <stddef.h>

#include "dispose.h"

/* A ring of blocks: those of a process. Of one that is a message's: its own address, and the group
 * that is charged for it. */
struct lee_exchange_links {
    struct lee_exchange_links *next, *previous;
};

/* In front of each block. */
struct lee_exchange_block {
    struct lee_exchange_links links; /* first, so that links are blocks */
    size_t size;
    const struct lee_owned *owned;
};
_Static_assert(sizeof(struct lee_exchange_block) == 32, "what lies behind is aligned to 16 bytes");

struct lee_process;

/* The running process is to get so many bytes of the exchange heap. May not return. */
void lee_exchange_ask(size_t bytes) __attribute__((weak));
/* A page of so many bytes joins an exchange arena of the running process, or leaves it. */
void lee_exchange_count_page(struct lee_arena *arena, ptrdiff_t bytes) __attribute__((weak));
/* What becomes of an exchange arena whose key a walk comes to (dispose.h). Linked wherever there is
 * one. */
void lee_exchange_pass_key(enum lee_walk walk, struct lee_arena *key) __attribute__((weak));
/* The heap that exchange arenas have their pages from; null if there is no memory for it. */
struct lee_heap *lee_exchange_heap(void) __attribute__((weak));

/* A block of the running process leaves its ring, and is on none. Until it is given back, the
 * custodians of that process are charged for it; the second of its links says so, the first is
 * free. */
void lee_exchange_unlink(void *block);
/* The memory of such a block, which owns nothing any more. */
void lee_exchange_give_back(void *block);
/* frozen.c: a process gives up the frozen blocks that it holds. */
void lee_frozen_end(struct lee_process *process) __attribute__((weak));

/* Frees all blocks of a process, one by one, without following what they own, and its exchange
 * arenas. Its ends of channels are closed already. */
void lee_exchange_end(struct lee_process *process) __attribute__((weak));

/* frozen.c: a message has arrived. If the process could not note a frozen block in it, it is
 * released, and the process faults. */
void lee_frozen_arrived(void *taken, size_t bytes, const struct lee_owned *owned) __attribute__((weak));

#endif
