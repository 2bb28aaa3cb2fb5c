/* account_solve.h: between the two parts of the precise policy: what marking wrote down, and who
 * holds what in the end. */
#ifndef LEE_SRC_ACCOUNT_SOLVE_H
#define LEE_SRC_ACCOUNT_SOLVE_H

#include "precise.h"
#include "sets.h"

/* Of each custodian, by its number; then of each gate. A segment's number is also the holder of its objects. */
struct lee_segment {
    uint64_t gate;    /* its mark; 0: none, or nobody met it */
    uint32_t set;     /* who reaches the gate, as far as is known, or whose segment it is */
    uint32_t opener;  /* the custodian that marked it */
    uint32_t covered; /* one more than the segment from which nothing has to be noted, because it holds all of this one */
    uint32_t met;     /* how many segments met the gate */
    bool open;        /* is a custodian's, or somebody met the gate */
};

/* Its objects are held by those who hold the segment, and by those in `extra`. */
struct lee_holder {
    uint32_t segment, extra;
    bool gate;    /* of one object, the gate itself */
    size_t bytes; /* modulo 2^64: a gate's are counted for its segment */
};

/* Whoever holds the first segment holds the second one. */
struct lee_edge {
    uint32_t from, to;
};

/* Whoever holds the segment reaches the object. */
struct lee_note {
    uint64_t mark;
    uint32_t from;
};

struct lee_gate {
    uintptr_t object;
    uint32_t idle; /* collections in a row in which it was of no use */
};

/* A table of pairs, each with a number that is not 0. */
struct lee_pairs {
    struct lee_pair {
        uint64_t a;
        uint32_t b, value;
    } * entries;
    size_t mask, used;
};

struct lee_precise {
    struct lee_heap *heap;
    struct lee_vector custodians; /* by number */
    uint32_t count;
    const struct lee_custodian *custodian; /* that marks */
    bool lost;                             /* there was no memory, or words were lost */
    struct lee_vector segments, holders;   /* by number */
    struct lee_vector edges, notes;
    struct lee_vector met;     /* gates that are to be gone through */
    struct lee_vector waiting; /* segments */
    struct lee_vector behind;  /* words that handles refer to */
    struct lee_pairs noted;    /* mark and segment */
};
extern struct lee_precise lee_precise;

static inline struct lee_segment *lee_segment(uint32_t number) {
    return (struct lee_segment *)lee_precise.segments.data + number;
}

static inline uint32_t lee_segments(void) {
    return (uint32_t)(lee_precise.segments.bytes / sizeof(struct lee_segment));
}

static inline struct lee_holder *lee_holder(uint32_t number) {
    return (struct lee_holder *)lee_precise.holders.data + number;
}

/* `lost` is set when there is no memory. */
void *lee_precise_add(struct lee_vector *vector, size_t bytes);

/* The value of the pair; 0 if it is new. */
uint32_t lee_pairs_add(struct lee_pairs *pairs, uint64_t a, uint32_t b, uint32_t value);
void lee_pairs_free(struct lee_pairs *pairs);

/* `gates`: gets the `lee_gate`s behind which much was shared that was no segment. */
void lee_account_solve(struct lee_heap *heap, struct lee_marker *marker, struct lee_vector *gates);

#endif
