/* precise.h: who reaches each object, while a collection accounts by the precise policy. See account_precise.c. */
#ifndef LEE_SRC_PRECISE_H
#define LEE_SRC_PRECISE_H

#include "heap.h"
#include "mark.h"

struct lee_custodian;

/* For each 16 bytes of a window, in which at most one object begins: the number of the set of custodians that reach it, and above it
 * 32 bits for the pass that runs. The table takes memory only where objects are. */
static inline uint64_t *lee_charge_of(uintptr_t object) {
    struct lee_chunk *chunk = lee_chunk_at((void *)object);
    return &chunk->charges[(object & (LEE_CHUNK_BYTES - 1)) >> 4];
}

/* Makes the tables. False if there is no memory. */
bool lee_precise_begin(struct lee_heap *heap, struct lee_custodian *first);
/* A custodian below the first begins to mark: what is marked is its, and what others marked before is noted. */
void lee_precise_custodian(struct lee_custodian *custodian, struct lee_marker *marker);
/* It has marked all; `bytes` of it were new. */
void lee_precise_marked(struct lee_custodian *custodian, size_t bytes);
/* An object was reached again, by another custodian than before. */
void lee_precise_note(struct lee_marker *marker, uintptr_t object);
/* While a custodian is added to sets: what becomes of a set, and the bytes of the objects that went over. */
struct lee_widened {
    uint32_t before, after; /* both 0: no entry */
    size_t bytes;
};

enum { LEE_WIDENED = 256 };
extern struct lee_widened lee_widened[LEE_WIDENED];
/* The entry of a set that has none. */
struct lee_widened *lee_precise_widen(uint32_t before);

/* Finds all sets. False if there was no memory for it, or the marker lost words: what is known is what blame-the-child charges. */
bool lee_precise_solve(struct lee_heap *heap, struct lee_marker *marker);
/* For tests: components at once. */
extern bool lee_precise_quick;
/* Adds what objects are charged to `settled` of each custodian, those above included. */
void lee_precise_charge(void);
void lee_precise_end(void);
/* Gives the tables back. */
void lee_precise_release(struct lee_heap *heap);

/* mark.c: the object that `word` points into, if it is marked. */
bool lee_marked_object(struct lee_heap *heap, uintptr_t word, uintptr_t *object, size_t *charge, const struct lee_layout **layout,
                       size_t *bytes);

#endif
