/* account_solve.h: between the parts of the precise policy: what marking wrote down, and who
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

/* Its objects are held by those who hold the segment, and by those in `extra`. An object that is
 * noted gets a holder for that, which differs from its `base` in that it says so. */
struct lee_holder {
    uint32_t segment, extra;
    uint32_t base;  /* mostly the holder itself */
    uint32_t noted; /* one more than the segment from which its objects were noted last; 0: none */
    uint32_t notes; /* of a base: the last holder of what was noted that was made; 0: none */
    bool gate;    /* of one object, the gate itself */
    /* Modulo 2^64: a gate's are counted for its segment, those of what is noted for the base. */
    size_t bytes;
};

/* Whoever holds the first segment holds the second one. */
struct lee_edge {
    uint32_t from, to;
    uint32_t next; /* while segments are closed: one more than the next one with this `from` */
};

/* Whoever holds the segment reaches the object. */
struct lee_note {
    uint64_t mark;
    uint32_t from;
};

/* A word that a handle refers to, which the custodian found; or one of its tasks. */
struct lee_behind {
    uintptr_t word;
    uint32_t custodian;
};

/* Those in `set` reach the object. */
struct lee_held {
    uint64_t mark;
    uint32_t set;
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
    const struct lee_custodian *runs;      /* whose words are in `behind`; null: none */
    bool lost;                             /* there was no memory, or words were lost */
    struct lee_vector segments, holders;   /* by number */
    struct lee_vector edges, notes;
    struct lee_vector met;     /* gates that are to be gone through */
    struct lee_vector waiting; /* segments */
    struct lee_vector behind;  /* `lee_behind`s; the first `behind_marked` of them are marked */
    size_t behind_marked;
    size_t notes_left; /* that may yet be made; 0: there were too many, and none is made any more */
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

/* Who holds its objects, as far as is known. */
uint32_t lee_holder_set(uint32_t holder);

/* `lost` is set when there is no memory. */
void *lee_precise_grow(struct lee_vector *vector, size_t bytes);
static inline void *lee_precise_add(struct lee_vector *vector, size_t bytes) {
    if (__builtin_expect(vector->room - vector->bytes < bytes, 0))
        return lee_precise_grow(vector, bytes);
    vector->bytes += bytes;
    return (unsigned char *)vector->data + vector->bytes - bytes;
}

/* The value of the pair; 0 if it is new. */
uint32_t lee_pairs_add(struct lee_pairs *pairs, uint64_t a, uint32_t b, uint32_t value);
void lee_pairs_free(struct lee_pairs *pairs);

/* `gates`: gets the `lee_gate`s behind which much was shared that was no segment. */
void lee_account_solve(struct lee_heap *heap, struct lee_marker *marker, struct lee_vector *gates);

/* Makes sets whole: whoever holds a segment holds those behind the gates that were met from there. */
void lee_account_close_segments(void);

/* All that `work` says, and what follows from it: what is reached from there has no holder any more,
 * its bytes are those of sets. `gates` as above. With null, all that custodians reach, from the
 * words that their tasks have. */
void lee_account_components(const struct lee_marker *marker, const struct lee_held *work, size_t count, struct lee_vector *gates);

#endif
