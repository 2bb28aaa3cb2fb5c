/* mark.h: the marker. COLLECTOR.md has the why.
 *
 * Promises: needs no memory to finish: when the stack cannot grow, what does not fit is found again
 * by walking the marked objects. Calls no code but the `trace` functions of layouts and the `scan`
 * functions of roots. */
#ifndef LEE_SRC_MARK_H
#define LEE_SRC_MARK_H

#include "heap.h"

enum {
    LEE_MARK_BATCH = 32, /* words that are looked at together */
    LEE_MARK_BITS = LEE_BLOCK_MARK_BYTES * 8, /* of a block */
    LEE_MARK_CODE_SHIFT = 56,
    LEE_MARK_SPARE = 256 /* words of stack when there is no memory for one */
};

/* A word whose object was found. */
struct lee_mark_entry {
    uintptr_t object;
    uint8_t *mark;
    uint32_t bit;  /* number of it in the byte */
    uint32_t code; /* of the block */
};

/* A part of a large object that still has to be read. */
struct lee_mark_range {
    uintptr_t start, end;
    const struct lee_layout *layout;
};

/* A word that points into a cell, a large object or a key. */
struct lee_found {
    uintptr_t word; /* of what is no cell: the start of the object */
    uint64_t mark;  /* the number of its mark bit, counted from address 0: 51 bits; in the top byte the code of its block */
};

/* Whether bytes are charged (account.c). */
enum lee_counting {
    LEE_COUNT_NOTHING,
    LEE_COUNT_HANDLES, /* only handles, to their owners */
    LEE_COUNT_MARKED,  /* what is marked */
    LEE_COUNT_SETS,    /* the same, and for whom (precise.h) */
    LEE_COUNT_SPREAD   /* nothing is marked: custodians come to hold all that is reached */
};

struct lee_marker {
    struct lee_heap *heap;
    uintptr_t lowest, span; /* addresses that any heap may have; other words are not even pushed */
    enum lee_counting counting;
    uint32_t holder;       /* of what is marked (precise.h) */
    uint32_t gates;        /* that were met and not gone through yet */
    bool meets;            /* it matters who meets what is marked (precise.h) */
    uint32_t other_count;
    struct lee_found others[LEE_MARK_BATCH]; /* of a batch: those in blocks that are not the holder's alone */
    size_t base, range_base; /* where the part of `stack` and `ranges` begins that is gone through now */
    size_t segment_base;     /* where that of the holder begins */
    size_t charged; /* bytes marked, less handles, which others are charged for */
    size_t visits_left; /* while custodians come to hold more: objects that may yet be visited */
    uintptr_t *stack;
    size_t depth, room; /* words */
    struct lee_mark_range *ranges;
    size_t range_depth, range_room;
    bool overflown, failed_once, recovering;
    bool again; /* what is read was read before */
    size_t overflows;
    void (*observe)(void *observer, uintptr_t word); /* gets the words instead: for the second trace */
    void *observer;
    const struct lee_vector *globals; /* `lee_span`s of global data, if they were found before */
    uintptr_t spare[LEE_MARK_SPARE];
};

/* Takes memory for the stack; with none at all marking still works, slowly. */
void lee_marker_start(struct lee_marker *marker, struct lee_heap *heap);
/* Its two halves: the first asks for addresses, which takes a lock, the second for memory. */
void lee_marker_aim(struct lee_marker *marker, struct lee_heap *heap);
void lee_marker_make_room(struct lee_marker *marker);
/* Marks everything that can be reached from what was given to `lee_mark_word` and its like so far. */
void lee_marker_drain(struct lee_marker *marker);
void lee_marker_end(struct lee_marker *marker);

/* As `lee_mark_contents`, for large objects outside the heap, of roots only: drains the stack
 * meanwhile, for what does not fit on it is found again in marked objects, not in roots. */
void lee_mark_root(struct lee_marker *marker, const void *object, size_t bytes, const struct lee_layout *layout);

/* Whether the object that `word` points into is marked; true for what is not in the heap. */
bool lee_is_marked(struct lee_heap *heap, uintptr_t word);

/* The number of an object's mark bit, counted from address 0, with the code of its block in the top
 * byte. 0 if the word points into none. */
uint64_t lee_mark_of(struct lee_heap *heap, uintptr_t word);
bool lee_mark_is_set(uint64_t mark);
void lee_mark_set(uint64_t mark, bool set);
/* The object of a mark. */
struct lee_marked {
    uintptr_t object;
    size_t charge, bytes;
    const struct lee_layout *layout;
};
struct lee_marked lee_mark_object(uint64_t mark);

/* Reads an object's pointers with `visit`: what both the marker's slow path and the second trace do. */
void lee_layout_each(const struct lee_layout *layout, uintptr_t start, uintptr_t end,
                     void (*visit)(void *context, uintptr_t word), void *context, struct lee_marker *marker);

#endif
