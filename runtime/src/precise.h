/* precise.h: who reaches each object, while a collection accounts by the precise policy. See
 * account_precise.c. */
#ifndef LEE_SRC_PRECISE_H
#define LEE_SRC_PRECISE_H

#include "arena.h"
#include "heap.h"
#include "mark.h"

struct lee_custodian;

/* Each object that is marked meanwhile has a *holder*, a number. A block has one for all of its
 * objects, or LEE_HOLDER_EACH and above it where in `lee_holders` they have their own. */
enum { LEE_HOLDERS_UNIT = 16 }; /* what places there are multiples of */
#define LEE_HOLDER_EACH ((uint32_t)1 << 31)
#define LEE_HOLDER_NONE (LEE_HOLDER_EACH - 1)
extern uint32_t *lee_holders;

/* Of what is no key and in no page of 4 KB. Mark bits are the first 2^24 bits of a description. */
static inline uint32_t *lee_block_holder(uint64_t mark) {
    uintptr_t chunk = (uintptr_t)(mark << (64 - LEE_MARK_CODE_SHIFT) >> (64 - LEE_MARK_CODE_SHIFT + 24) << LEE_UNIT_SHIFT);
    return &((struct lee_chunk *)chunk)->holder[mark / LEE_MARK_BITS % LEE_CHUNK_BLOCKS];
}

static inline uint32_t *lee_own_holder(uint32_t holder, uint64_t mark) {
    return lee_holders + (size_t)(holder - LEE_HOLDER_EACH) * LEE_HOLDERS_UNIT + mark % LEE_MARK_BITS;
}

/* Makes ready. False if there is no memory. */
bool lee_precise_begin(struct lee_heap *heap, struct lee_custodian *first);
/* A custodian below the first begins to mark. */
void lee_precise_custodian(struct lee_custodian *custodian, struct lee_marker *marker);
/* What a handle refers to: it is not reached through the handle, and marked when the custodian has
 * marked all else. */
void lee_precise_put_off(struct lee_marker *marker, uintptr_t word);
/* The words from which the custodian marks. */
void lee_precise_keep(const uintptr_t *words, size_t count);
/* The custodian has marked all but what was put off. */
void lee_precise_marked(struct lee_marker *marker);

/* Its place in `lee_holders`, if it is an object of a block and has one; else null. */
static inline uint32_t *lee_found_holder(uint64_t mark) {
    uint32_t block = mark < (uint64_t)LEE_CODE_PAGES << LEE_MARK_CODE_SHIFT ? *lee_block_holder(mark) : LEE_HOLDER_NONE;
    return block < LEE_HOLDER_EACH ? NULL : lee_own_holder(block, mark);
}

/* An object's holder. */
uint32_t lee_precise_holder(uint64_t mark);
/* False if there was no memory for it: the object keeps the one that it has. */
bool lee_precise_set_holder(uint64_t mark, uint32_t holder);
/* Makes a place for the object alone in `lee_holders`, if it has none; gives its number. 0 if there
 * is no memory. */
size_t lee_precise_place(uint64_t mark);

/* mark.c calls these. An object was marked before, by somebody else or as a gate. */
void lee_precise_meet(struct lee_marker *marker, uint64_t mark, uintptr_t word);
/* There are gates that were met for the first time: goes through one of them. All that was marked
 * so far has been read, or lies on the stack. Gives the gate. */
uint64_t lee_precise_enter(struct lee_marker *marker, uintptr_t *word);
/* All that was behind the gate is marked. False if nobody had to wait for it. */
bool lee_precise_leave(struct lee_marker *marker);
/* The marker lost words, and will look for them in what is marked: gates that nobody met are not. */
void lee_precise_close_gates(void);

/* While a set of custodians comes to hold more: what becomes of a holder, and the bytes of the
 * objects that went over. */
struct lee_widened {
    uint32_t before, after; /* `after` is one more; 0: no entry */
    size_t bytes;
};
enum { LEE_WIDENED = 256 };
extern struct lee_widened lee_widened[LEE_WIDENED];
/* The entry of a holder that has none. */
struct lee_widened *lee_precise_widen(uint32_t before);

/* Finds all sets. When there was no memory for it, or the marker lost words, what is known is
 * between what the two policies charge. */
void lee_precise_solve(struct lee_heap *heap, struct lee_marker *marker);
/* For tests: components at once, of what was noted or of all. */
enum lee_precise_how { LEE_PRECISE_USUALLY, LEE_PRECISE_NOTED, LEE_PRECISE_ALL };
extern enum lee_precise_how lee_precise_how;
/* Adds what objects are charged to `settled` of each custodian, those above included. */
void lee_precise_charge(void);
void lee_precise_end(void);
/* Gives back what is kept between collections. */
void lee_precise_release(void);

#endif
