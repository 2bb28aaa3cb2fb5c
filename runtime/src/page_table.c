/* page_table.c: see page_table.h. */
#define _GNU_SOURCE
#include "page_table.h"

#include <pthread.h>
#include <sys/mman.h>

#include "system.h"

enum { STATIC_RANGES = 256, DESCRIPTION_ALIGNMENT = 4 << 20 };

_Static_assert(sizeof(((struct lee_chunk *)0)->marks) == LEE_UNIT_BYTES, "the mark bits fill a huge page");
_Static_assert(sizeof(struct lee_chunk) <= DESCRIPTION_ALIGNMENT, "a description is found from what is in it");

_Atomic(uintptr_t) *lee_page_table;
bool lee_page_table_taint;

/* Sorted, apart. Readers find the count last, so an entry is complete when it is seen; an insertion
 * in front of others moves them, which is why `add_static` is for the start of the program and for
 * loading libraries. */
static struct static_range {
    uintptr_t start, end;
} static_ranges[STATIC_RANGES];
static atomic_size_t static_count;

bool lee_page_table_start(void) {
    if (lee_page_table == NULL)
        lee_page_table = lee_system_reserve(NULL, LEE_WINDOWS * sizeof *lee_page_table);
    return lee_page_table != NULL;
}

struct lee_chunk *lee_chunk_describing(const void *inside) {
    return (struct lee_chunk *)((uintptr_t)inside & ~(uintptr_t)(DESCRIPTION_ALIGNMENT - 1));
}

struct lee_chunk *lee_page_table_claim(uintptr_t address, bool *tainted) {
    _Atomic(uintptr_t) *entry = &lee_page_table[address >> LEE_CHUNK_SHIFT];
    uintptr_t before = atomic_load_explicit(entry, memory_order_relaxed);
    *tainted = false;
    if (before >= LEE_WINDOW_OURS)
        return (struct lee_chunk *)before;
    struct lee_chunk *chunk = lee_system_reserve_aligned(sizeof *chunk, DESCRIPTION_ALIGNMENT);
    if (chunk == NULL)
        return NULL;
    chunk->start = address & ~(uintptr_t)(LEE_CHUNK_BYTES - 1);
    /* Release: whoever sees the entry sees the description. Exchange: whoever tainted it before is seen. */
    *tainted = atomic_exchange_explicit(entry, (uintptr_t)chunk, memory_order_acq_rel) == LEE_WINDOW_FOREIGN;
    return chunk;
}

static bool is_static(uintptr_t word) {
    size_t low = 0, high = atomic_load_explicit(&static_count, memory_order_acquire);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (word >= static_ranges[middle].end)
            low = middle + 1;
        else if (word < static_ranges[middle].start)
            high = middle;
        else
            return true;
    }
    return false;
}

bool lee_page_table_add_static(uintptr_t start, uintptr_t end) {
    size_t count = atomic_load_explicit(&static_count, memory_order_relaxed), at = count;
    if (start >= end || end >> LEE_ADDRESS_BITS != 0 || count == STATIC_RANGES || !lee_page_table_start())
        return false;
    while (at > 0 && static_ranges[at - 1].start > start)
        at--;
    if ((at > 0 && static_ranges[at - 1].end > start) || (at < count && static_ranges[at].start < end))
        return false;
    for (size_t i = count; i > at; i--)
        static_ranges[i] = static_ranges[i - 1];
    static_ranges[at] = (struct static_range){start, end};
    atomic_store_explicit(&static_count, count + 1, memory_order_release);
    for (uintptr_t window = start >> LEE_CHUNK_SHIFT; window <= (end - 1) >> LEE_CHUNK_SHIFT; window++) {
        uintptr_t unknown = LEE_WINDOW_UNKNOWN;
        atomic_compare_exchange_strong_explicit(&lee_page_table[window], &unknown, LEE_WINDOW_STATIC,
                                                memory_order_acq_rel, memory_order_relaxed);
    }
    return true;
}

enum lee_word_kind lee_word_kind(uintptr_t word) {
    if (word >> LEE_ADDRESS_BITS != 0)
        return LEE_WORD_FOREIGN;
    _Atomic(uintptr_t) *at = &lee_page_table[word >> LEE_CHUNK_SHIFT];
    uintptr_t entry = atomic_load_explicit(at, LEE_DEPENDENT_LOAD);
    /* The failed exchange loads what somebody else just wrote. */
    if (lee_page_table_taint && entry == LEE_WINDOW_UNKNOWN &&
        atomic_compare_exchange_strong_explicit(at, &entry, LEE_WINDOW_FOREIGN, memory_order_acq_rel,
                                                memory_order_acquire))
        return LEE_WORD_FOREIGN;
    if (entry >= LEE_WINDOW_OURS) {
        struct lee_unit *unit = lee_unit_in((struct lee_chunk *)entry, word);
        if (atomic_load_explicit(&unit->kind, memory_order_relaxed) > LEE_UNIT_FREE)
            return LEE_WORD_OURS;
    }
    return entry != LEE_WINDOW_UNKNOWN && is_static(word) ? LEE_WORD_STATIC : LEE_WORD_FOREIGN;
}
