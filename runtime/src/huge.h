/* huge.h: whether the next unit of a heap should be a huge page.
 *
 * A huge page comes zeroed in 0.2 to 0.5 ms, which the misses of its 512 small pages repay. On a
 * machine that has to find or make the memory first (a virtual machine whose host gives memory at
 * the first touch, or compaction) it takes several milliseconds, more than small pages would. So
 * the first touch of each is timed: when several in a row are slow, the heap goes on with small
 * pages and tries again later, ever more rarely.
 *
 * Promises: pure; what it is told is all it knows. */
#ifndef LEE_HUGE_H
#define LEE_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LEE_HUGE_SLOW = 1000000,   /* nanoseconds of processor time from which a first touch is slow */
    LEE_HUGE_TRIES = 3,        /* slow ones in a row before small pages are used */
    LEE_HUGE_REST_LEAST = 32,  /* units with small pages before the first new try */
    LEE_HUGE_REST_MOST = 1024  /* and before later ones: doubled each time */
};

struct lee_huge {
    uint16_t slow;      /* in a row */
    uint16_t rest;      /* units before the next try */
    uint16_t last_rest; /* how long the last rest was */
};

/* Whether the next so many units should be huge pages. */
bool lee_huge_wanted(struct lee_huge *huge, size_t units);

/* The first touch of one took so many nanoseconds. */
void lee_huge_took(struct lee_huge *huge, uint64_t nanoseconds);

#endif
