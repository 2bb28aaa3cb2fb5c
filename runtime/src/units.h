/* units.h: the page allocator: units of 2 MB, shared by all heaps.
 *
 * Promises: any thread may call these; they take one lock. Units come from reservations of 256 MB,
 * contiguous with earlier ones where possible, best fit: the smallest free range that holds the
 * request, the lowest of those. What is given back is joined with its neighbours and used again
 * before anything is reserved; address space never goes back. Failure of the system is a null,
 * after what is free and dirty went back and smaller reservations were tried.
 *
 * Memory is charged apart from address space: `lee_memory_charge` stands for what may be
 * resident. */
#ifndef LEE_UNITS_H
#define LEE_UNITS_H

#include "page_table.h"

/* Settings, before the first unit is taken. */
struct lee_units_settings {
    size_t flat;    /* address space reserved at once at the start; 0: chunk by chunk */
    size_t reserve; /* what is reserved at a time; 0: 256 MB, less under a limit of address space */
};
extern struct lee_units_settings lee_units_settings;

/* `count` units for `owner`, contiguous and aligned. `*zeroed` says whether all of it holds zeros. */
void *lee_units_take(struct lee_heap *owner, enum lee_unit_kind kind, size_t count, bool *zeroed);

/* Gives back what `take` returned, or part of it. `dirty` is false if it holds zeros and is not resident. */
void lee_units_give(void *start, size_t count, bool dirty);

/* Gives the memory of free units back to the system, neighbouring ones at a time. Returns the bytes. */
size_t lee_units_trim(void);

/* Bytes that may be resident. `charge` fails if that would pass the limit, after free units went back. */
bool lee_memory_charge(size_t bytes);
void lee_memory_uncharge(size_t bytes);
size_t lee_memory_charged(void);
size_t lee_memory_limit(void);

/* The lowest address that was ever reserved, and how many bytes behind it all others are. */
uintptr_t lee_units_range(uintptr_t *span);

struct lee_units_state {
    size_t chunks, reserved, free, dirty; /* chunks: windows with a description; the others in units */
    size_t ranges, largest;               /* free ranges, and units in the largest */
};
void lee_units_state(struct lee_units_state *state);

/* Checks both lists against each other and against the unit table. The first thing wrong, or null. */
const char *lee_units_validate(void);

#endif
