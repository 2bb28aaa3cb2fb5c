/* mend.h: huge pages that a snapshot broke are put together again.
 *
 * What parent or child writes to while both have a huge page makes 512 small pages of it, which the
 * next copy of the process would have to enter into its tables one by one. Between two snapshots
 * the kernel is asked to make them whole, unit by unit. COLLECTOR.md has the figures.
 *
 * Promises: contents and charges stay as they are; it takes no more than a small part of the
 * processor's time, set in mend.c. */
#ifndef LEE_SRC_MEND_H
#define LEE_SRC_MEND_H

#include "heap.h"

#ifdef LEE_NO_GC
static inline void lee_heap_mend(struct lee_heap *heap) {
    (void)heap;
}
#else
/* A snapshot begins: huge pages may break from now on. */
void lee_mend_expect(struct lee_heap *heap);

/* Mends a unit if it is time to. */
void lee_mend_step(struct lee_heap *heap);

/* For whoever allocates: called often. */
static inline void lee_heap_mend(struct lee_heap *heap) {
    if (heap->mending)
        lee_mend_step(heap);
}
#endif

#endif
