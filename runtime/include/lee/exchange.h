/* The exchange heap: blocks that move from process to process by pointer.
 *
 * Promises: a block belongs to one process, or to a message on its way; it lies in no process's heap, so the collector never looks at it or
 * into it. Memory is zeroed and aligned to 16 bytes. Allocating, freeing and moving a block that owns nothing takes constant time; of one
 * that owns others, a step for each of these. No depth is too great: nothing here recurses. When a process ends, its blocks are
 * freed one by one, without a look at what lies in them.
 *
 * Null is no block, and owns nothing. A thread that foreign code made has an exchange heap of its own, as it has processes of its own. */
#ifndef LEE_EXCHANGE_H
#define LEE_EXCHANGE_H

#include <lee/owned.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A block for `size` bytes, whose elements own what `owned` says (`owned->drop` names each owned pointer by a `lee_push_...`). It belongs to the
 * running process. Faults if there is no memory; `try` gives null then. */
void *lee_exchange_new(const struct lee_site *site, size_t size, const struct lee_owned *owned);
void *lee_exchange_try_new(size_t size, const struct lee_owned *owned);
/* The same for `count * elem_size + extra` bytes. A count below 0 and what overflows is memory that is not there. */
void *lee_exchange_new_array(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra, const struct lee_owned *owned);
void *lee_exchange_try_new_array(int64_t count, size_t elem_size, size_t extra, const struct lee_owned *owned);

/* Frees a block of the running process, or of a message, with all that it owns. What a message owns that nobody will receive is freed by
 * `lee_dispose_parts`. */
void lee_exchange_free(void *block);

/* The bytes that were asked for. */
size_t lee_exchange_size(const void *block);

/* A block of the running process, with all that it owns, becomes a message's: until it is taken or freed it belongs to no process. */
void lee_exchange_give(void *block);
/* A block that is a message's becomes the running process's. */
void lee_exchange_take(void *block);

/* Frozen blocks (lee/frozen.h): one holder more, and one less. */
void *lee_frozen_retain(const void *block);
void lee_frozen_release(const void *block);
/* From a `drop`: a holder's pointer to a frozen block. */
void lee_push_frozen(struct lee_work *work, const void *block);

/* An exchange arena: its pages are no process's, so it moves, with all that is in it, by its key.
 * It belongs to the running process, or to a message. What is in it is a root of that process's
 * heap. `lee_key_free` frees it. Faults if there is no memory. */
struct lee_arena *lee_exchange_key_new(const struct lee_site *site);

/* From a `drop`: a block that the element owns. */
void lee_push_block(struct lee_work *work, void *block);

#ifdef __cplusplus
}
#endif

#endif
