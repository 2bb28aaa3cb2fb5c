/* Pages: what arenas, stacks, channels and the heap itself are made of.
 *
 * Promises: memory is handed to one *heap* (one per process; see lee/heap.h), which is charged for
 * it; a take is aligned to the least power of two that is not smaller than it, up to 64 KB. The
 * functions of one heap are for the thread that runs its process only: they take no locks until the
 * heap's own supply is used up.
 *
 * The collector never takes a word that points into such pages for a pointer to an object, whoever
 * owns them; it reads them only where it is told to (lee/collect.h). */
#ifndef LEE_PAGES_H
#define LEE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LEE_PAGE_BYTES = 4096,     /* the least that is handed out */
    LEE_BLOCK_BYTES = 1 << 16, /* what goes back to the system by itself, and what a size class takes at once */
    LEE_UNIT_BYTES = 1 << 21,  /* what a heap takes from the page allocator: a huge page */
    LEE_CHUNK_BYTES = 1 << 28  /* what the page allocator reserves at once */
};

struct lee_heap;

/* The heap of the process that runs on this thread; made when it is first asked for. Null only if
 * there is no memory for one. */
struct lee_heap *lee_heap_self(void);

/* At least `bytes` bytes; `*got` is how many: 4, 8, 16 or 32 KB, a multiple of 64 KB up to 1 MB, or
 * a multiple of 2 MB. They hold zeros if `*zeroed`, else anything. Null when there is no memory, or
 * none that the limits allow; asks the collector first. `got` and `zeroed` are not null. */
void *lee_pages_take(struct lee_heap *heap, size_t bytes, size_t *got, bool *zeroed);

/* Gives back what one `lee_pages_take` of the same heap returned; `bytes` is what it said in `*got`. */
void lee_pages_give(struct lee_heap *heap, void *start, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
