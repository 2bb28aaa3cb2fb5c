/* charge.h: what a heap takes from the system: it counts for the program, and, if it is a
 * process's, for the custodians of that process. */
#ifndef LEE_SRC_CHARGE_H
#define LEE_SRC_CHARGE_H

#include "heap.h"
#include "process.h"
#include "units.h"

/* Mark bits, which are resident as long as what they describe. The bytes are whole pages, so that
 * parts that are given back add up to what was taken. */
static inline size_t lee_with_tables(size_t bytes) {
    return bytes + bytes / (LEE_BLOCK_BYTES / LEE_BLOCK_MARK_BYTES);
}

static inline bool lee_heap_charge(const struct lee_heap *heap, size_t bytes) {
    if (!lee_process_charge(heap->process, lee_with_tables(bytes)))
        return false;
    if (lee_memory_charge(bytes))
        return true;
    lee_process_uncharge(heap->process, lee_with_tables(bytes));
    return false;
}

static inline void lee_heap_uncharge(const struct lee_heap *heap, size_t bytes) {
    lee_process_uncharge(heap->process, lee_with_tables(bytes));
    lee_memory_uncharge(bytes);
}

#endif
