/* maps.h: what is mapped where in this process, read from /proc/self/maps.
 *
 * Promises: allocates nothing, keeps nothing open. Fit for signal handlers. Not for two threads at once. */
#ifndef LEE_MAPS_H
#define LEE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lee_mapping {
    uintptr_t start, end;
    uint64_t offset; /* of `start` in the file */
    bool readable, writable, executable;
    char path[1024]; /* "" if there is no file; one that is longer is cut off, and will not be found */
};

/* Calls `visit` for each mapping, in the order of addresses, until it returns false. */
void lee_maps_each(bool (*visit)(const struct lee_mapping *mapping, void *context), void *context);

/* The first mapping that ends beyond `address`: the one that holds it, if one does, else the next
 * higher one. False if there is none. */
bool lee_maps_find(uintptr_t address, struct lee_mapping *found);

#endif
