/* page_supply.c: pages for arenas; until the page allocator lands, cut from mappings and kept on lists by size.
 *
 * Promises: what lee/pages.h says, except that no limit is watched and no collector is asked. */
#define _GNU_SOURCE
#include <lee/pages.h>

#include <sys/mman.h>

enum { SMALL_SIZES = 5 /* 4, 8, 16, 32, 64 KB */ };

struct free_pages {
    struct free_pages *next;
};

struct lee_heap {
    struct free_pages *free[SMALL_SIZES];
    unsigned char *next, *end;
};

struct lee_heap *lee_heap_self(void) {
    static _Thread_local struct lee_heap heap;
    return &heap;
}

static void *map(size_t bytes) {
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return start == MAP_FAILED ? NULL : start;
}

static void *cut(struct lee_heap *heap, size_t bytes) {
    unsigned char *start = (unsigned char *)(((uintptr_t)heap->next + bytes - 1) & ~(uintptr_t)(bytes - 1));
    if (heap->next == NULL || start + bytes > heap->end) {
        unsigned char *unit = map(2 * LEE_UNIT_BYTES);
        if (unit == NULL)
            return NULL;
        start = (unsigned char *)(((uintptr_t)unit + LEE_UNIT_BYTES - 1) & ~(uintptr_t)(LEE_UNIT_BYTES - 1));
        heap->end = unit + 2 * LEE_UNIT_BYTES;
    }
    heap->next = start + bytes;
    return start;
}

void *lee_pages_take(struct lee_heap *heap, size_t bytes, size_t *got, bool *zeroed) {
    size_t size = LEE_PAGE_BYTES, index = 0;
    for (; size < bytes && size < LEE_BLOCK_BYTES; index++)
        size *= 2;
    *zeroed = true;
    if (size < bytes) {
        size_t grain = bytes <= LEE_UNIT_BYTES / 2 ? LEE_BLOCK_BYTES : LEE_UNIT_BYTES;
        if (bytes > (size_t)PTRDIFF_MAX - grain)
            return NULL;
        *got = (bytes + grain - 1) & ~(grain - 1);
        return map(*got);
    }
    *got = size;
    struct free_pages *pages = heap->free[index];
    if (pages == NULL)
        return cut(heap, size);
    heap->free[index] = pages->next;
    *zeroed = false;
    return pages;
}

void lee_pages_give(struct lee_heap *heap, void *start, size_t bytes) {
    size_t index = 0;
    if (bytes > LEE_BLOCK_BYTES) {
        munmap(start, bytes);
        return;
    }
    for (size_t size = LEE_PAGE_BYTES; size < bytes; index++)
        size *= 2;
    struct free_pages *pages = start;
    pages->next = heap->free[index];
    heap->free[index] = pages;
}
