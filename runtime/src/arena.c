/* arena.c: arenas, and the pages that arenas and reaps are made of.
 *
 * Promises: what lee/arena.h says. Pages come from the heap of the process (lee/pages.h): the first
 * is the smallest there is, each further one twice as large, up to MAX_PAGE_BYTES. An object that
 * would waste much of a page gets one of its own, behind the one that is being filled. First pages
 * are kept for the next arena, a few for each thread: programs that make small arenas in loops
 * touch the same memory again.
 *
 * The arenas that have pages are on a list, so that the collector finds what they point to. */
#include "arena.h"
#include "worker.h"

#include "task.h"

#include <lee/collect.h>
#include <string.h>

#include "container.h"
#include "exchange.h"
#include "heap.h"
#include "process.h"

#ifdef LEE_ARENA_BY_MALLOC
#include <stdlib.h>

#include "system.h"
#endif

enum {
    MAX_PAGE_BYTES = 1 << 20
};

#ifndef LEE_NO_GC
/* What lies in arenas may point into the heap, wherever it lies. */
void lee_arena_scan(const struct lee_arena *arena, struct lee_marker *marker) {
    for (struct lee_arena_page *page = arena->pages; page != NULL; page = page->older) {
        struct lee_arena_part part = lee_arena_part(arena, page);
        lee_mark_words(marker, (const void *)part.start, (const void *)part.end);
    }
}

void lee_arenas_scan(struct lee_arena *list, struct lee_marker *marker) {
    for (struct lee_arena *arena = list; arena != NULL; arena = arena->older)
        lee_arena_scan(arena, marker);
}

size_t lee_arenas_bytes(const struct lee_arena *list) {
    size_t bytes = 0;
    for (const struct lee_arena *arena = list; arena != NULL; arena = arena->older)
        for (const struct lee_arena_page *page = arena->pages; page != NULL; page = page->older)
            bytes += page->bytes;
    return bytes;
}

void lee_arenas_drop(struct lee_arena *list) {
    for (struct lee_arena *arena = list, *older; arena != NULL; arena = older) {
        older = arena->older;
        lee_arena_clear(arena);
    }
}

#endif

void lee_arena_link(struct lee_arena **list, struct lee_arena *arena) {
    arena->older = *list;
    arena->newer = NULL;
    if (*list != NULL)
        (*list)->newer = arena;
    *list = arena;
}

static void link_arena(struct lee_arena *arena) {
    lee_arena_link(lee_arenas_declared(lee_process_self()), arena);
}

void lee_arena_unlink(struct lee_arena *arena) {
    if (arena->newer != NULL)
        arena->newer->older = arena->older;
    else if (*lee_arenas_declared(lee_process) == arena)
        *lee_arenas_declared(lee_process) = arena->older;
    else if (lee_process->arenas.keys == arena)
        lee_process->arenas.keys = arena->older;
    else if (lee_process->arenas.exchange == arena)
        lee_process->arenas.exchange = arena->older;
    if (arena->older != NULL)
        arena->older->newer = arena->newer;
}

#ifdef LEE_ARENA_BY_MALLOC

void *lee_arena_block(struct lee_arena *arena, size_t size, size_t align) {
    size_t header = align > sizeof(struct lee_arena_page) ? align : sizeof(struct lee_arena_page);
    if (lee_system_fails() || size > (size_t)1 << 36) /* malloc of AddressSanitizer would end the program */
        return NULL;
    if (arena->magic == LEE_EXCHANGE_ARENA)
        lee_exchange_ask(size);
    struct lee_heap *heap = lee_heap_self();
    if (heap != NULL) {
        lee_custodians_ask(heap, header + size);
        heap->counts.allocated += header + size;
    }
    void *start = NULL;
    if (posix_memalign(&start, align > 16 ? align : 16, header + size) != 0)
        return NULL;
    /* The page header lies directly in front of the object, whatever the alignment. */
    struct lee_arena_page *page = (struct lee_arena_page *)((unsigned char *)start + header) - 1;
    page->block = start;
    page->bytes = size;
    if (arena->pages == NULL)
        link_arena(arena);
    lee_arena_add_page(arena, page);
    if (arena->magic == LEE_EXCHANGE_ARENA)
        lee_exchange_count_page(arena, (ptrdiff_t)size);
    return memset(page + 1, 0, size);
}

static void give(struct lee_arena_page *page) {
    free(page->block);
}


void *lee_arena_take(const struct lee_site *site, struct lee_arena *arena, size_t size, size_t align) {
    void *object = lee_arena_block(arena, size, align);
    if (object == NULL && site != NULL)
        lee_fault_memory(site, size);
    return object;
}

#else

/* Pages of the exchange heap are shared. */
static inline bool is_shared(const struct lee_heap *heap) {
    return heap != lee_process->heap;
}

static struct lee_arena_page *take_page(const struct lee_arena *arena, size_t bytes) {
    struct lee_heap *heap = arena->magic == LEE_EXCHANGE_ARENA ? lee_exchange_heap() : lee_heap_self();
    if (heap == NULL)
        return NULL;
    struct lee_process *process = lee_process_self();
    if (bytes == LEE_PAGE_BYTES && process->arenas.kept_count > 0 && process->arenas.kept[process->arenas.kept_count - 1]->heap == heap)
        return process->arenas.kept[--process->arenas.kept_count];
    size_t got;
    bool zeroed, shared = is_shared(heap);
    if (shared)
        lee_lock();
    struct lee_arena_page *page = lee_pages_take(heap, bytes, &got, &zeroed);
    struct lee_heap *own = page == NULL ? process->heap : NULL;
    if (own != NULL && own != heap && lee_heap_may_collect(own) && !own->collecting && own->disposing == 0) {
        lee_heap_collect(own); /* what it has no use for may be what is missing */
        lee_blocks_release(own, 0);
        page = lee_pages_take(heap, bytes, &got, &zeroed);
    }
    if (shared)
        lee_unlock();
    if (page == NULL)
        return NULL;
    page->heap = heap;
    page->bytes = got;
    return page;
}

static __attribute__((noinline)) void give_shared(struct lee_arena_page *page) {
    lee_lock();
    lee_pages_give(page->heap, page, page->bytes);
    lee_unlock();
}

static inline __attribute__((always_inline)) void give(struct lee_arena_page *page) {
    struct lee_process *process = lee_process;
    if (page->bytes == LEE_PAGE_BYTES && process->arenas.kept_count < LEE_KEPT_PAGES && page->heap == process->heap)
        process->arenas.kept[process->arenas.kept_count++] = page;
    else if (!is_shared(page->heap))
        lee_pages_give(page->heap, page, page->bytes);
    else
        give_shared(page);
}

struct lee_arena_page *lee_arena_grow(struct lee_arena *arena, size_t bytes) {
    size_t usual = LEE_PAGE_BYTES;
    if (arena->pages != NULL) {
        usual = 2 * arena->pages->bytes;
        if (usual > MAX_PAGE_BYTES)
            usual = MAX_PAGE_BYTES;
    }
    if (bytes > (size_t)PTRDIFF_MAX / 2)
        return NULL;
    bool alone = arena->pages != NULL && bytes > usual / 4;
    size_t wanted = alone || bytes > usual ? bytes : usual;
    if (arena->magic > LEE_EXCHANGE_ARENA)
        lee_key_grows(wanted);
    else if (arena->magic == LEE_EXCHANGE_ARENA)
        lee_exchange_ask(wanted);
    struct lee_arena_page *page = take_page(arena, wanted);
    if (page == NULL)
        return NULL;
    if (arena->magic == LEE_EXCHANGE_ARENA)
        lee_exchange_count_page(arena, (ptrdiff_t)page->bytes);
    if (arena->pages == NULL) {
        link_arena(arena);
        lee_arena_add_page(arena, page);
    } else if (alone) {
        /* The page being filled stays in front. */
        struct lee_arena_page *front = arena->pages;
        page->older = front->older;
        page->newer = front;
        if (front->older != NULL)
            front->older->newer = page;
        front->older = page;
    } else {
        lee_arena_add_page(arena, page);
    }
    return page;
}

void *lee_arena_take(const struct lee_site *site, struct lee_arena *arena, size_t size, size_t align) {
    if (size > (size_t)PTRDIFF_MAX / 2 || align > LEE_PAGE_BYTES)
        goto no_memory;
    size_t room = (size + (size == 0) + 7) & ~(size_t)7;
    unsigned char *start = arena->next;
    if (start != NULL && align > 8) {
        size_t waste = -(uintptr_t)start & (align - 1);
        start = (size_t)(arena->end - start) < waste ? NULL : start + waste;
    }
    if (start == NULL || (size_t)(arena->end - start) < room) {
        size_t waste = align > 8 ? align : 0;
        struct lee_arena_page *page = lee_arena_grow(arena, sizeof *page + waste + room);
        if (page == NULL)
            goto no_memory;
        start = (unsigned char *)(page + 1);
        start += -(uintptr_t)start & (align - 1);
        if (page != arena->pages)
            return memset(start, 0, size);
        arena->end = (unsigned char *)page + page->bytes;
    }
    arena->next = start + room;
    return memset(start, 0, size);
no_memory:
    if (site != NULL)
        lee_fault_memory(site, size);
    return NULL;
}

#endif

void lee_arena_add_page(struct lee_arena *arena, struct lee_arena_page *page) {
    page->newer = NULL;
    page->older = arena->pages;
    if (page->older != NULL)
        page->older->newer = page;
    arena->pages = page;
}

void lee_arena_drop_page(struct lee_arena *arena, struct lee_arena_page *page) {
    if (page->newer != NULL)
        page->newer->older = page->older;
    else
        arena->pages = page->older;
    if (page->older != NULL)
        page->older->newer = page->newer;
    if (arena->pages == NULL)
        lee_arena_unlink(arena);
    lee_listed_end(page, lee_arena_page_end(page));
    if (arena->magic == LEE_EXCHANGE_ARENA)
        lee_exchange_count_page(arena, -(ptrdiff_t)page->bytes);
    give(page);
}

void lee_arena_unlist(struct lee_arena *arena) {
    for (struct lee_arena_page *at = arena->pages; at != NULL && lee_lists()->listed != NULL; at = at->older)
        lee_listed_end(at, lee_arena_page_end(at));
}

void lee_arena_clear(struct lee_arena *arena) {
    struct lee_arena_page *page = arena->pages;
    if (page == NULL)
        return;
    lee_arena_unlink(arena);
    lee_arena_unlist(arena);
    if (arena->magic == LEE_EXCHANGE_ARENA)
        lee_exchange_count_page(arena, -(ptrdiff_t)arena->charged);
    arena->magic = 0;
    arena->next = arena->end = NULL;
    arena->pages = NULL;
    arena->bins = NULL;
    while (page != NULL) {
        /* A key's arena lies in its own last page: nothing of it is read from here on. */
        struct lee_arena_page *older = page->older;
        give(page);
        page = older;
    }
}

bool lee_arena_array_size(int64_t count, size_t elem_size, size_t extra, size_t *size) {
    return count >= 0 && !__builtin_mul_overflow((uint64_t)count, elem_size, size) &&
           !__builtin_add_overflow(*size, extra, size) && *size <= (size_t)PTRDIFF_MAX / 2;
}

void *lee_arena_take_array(const struct lee_site *site, struct lee_arena *arena, int64_t count, size_t elem_size,
                           size_t extra, size_t align) {
    size_t size;
    if (lee_arena_array_size(count, elem_size, extra, &size))
        return lee_arena_take(site, arena, size, align);
    if (site != NULL)
        lee_fault_memory_array(site, count, elem_size);
    return NULL;
}
