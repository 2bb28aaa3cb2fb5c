/* page_supply.c: see lee/pages.h. 4 to 32 KB are cut from blocks and kept on lists by size; 64 KB
 * to 1 MB are blocks; beyond that come units. Whole blocks and units go back to the heap at once,
 * the small sizes when `lee_pages_trim` finds their block empty. */
#include "charge.h"
#include "heap.h"
#include "poison.h"
#include "system.h"
#include "units.h"

enum { IN_BLOCKS_MOST = LEE_UNIT_BYTES / 2 };

static struct lee_block *block_of(void *start) {
    return &lee_chunk_at(start)->blocks[lee_block_index((uintptr_t)start)];
}

static struct lee_block *take_blocks(struct lee_heap *heap, unsigned count) {
    struct lee_block *block = lee_blocks_take(heap, count, LEE_CODE_PAGES);
    if (block == NULL && lee_heap_may_collect(heap) && !heap->collecting) {
        lee_heap_collect(heap);
        block = lee_blocks_take(heap, count, LEE_CODE_PAGES);
    }
    return block;
}

LEE_UNCHECKED static void put(struct lee_heap *heap, unsigned index, void *start) {
    struct lee_free_pages *pages = start;
    pages->next = heap->pages[index];
    heap->pages[index] = pages;
}

LEE_UNCHECKED static void *pop(struct lee_heap *heap, unsigned index) {
    struct lee_free_pages *pages = heap->pages[index];
    heap->pages[index] = pages->next;
    return pages;
}

static void *take_small(struct lee_heap *heap, unsigned index, size_t size, bool *zeroed) {
    *zeroed = false;
    if (heap->pages[index] == NULL) {
        struct lee_block *block = take_blocks(heap, 1);
        if (block == NULL)
            return NULL;
        uintptr_t start = lee_large_start(block);
        for (size_t at = LEE_BLOCK_BYTES; at > size; at -= size)
            put(heap, index, (void *)(start + at - size));
        block->used = (uint16_t)(size / LEE_PAGE_BYTES);
        *zeroed = !block->dirty;
        LEE_UNPOISON(start, size);
        return (void *)start;
    }
    void *start = pop(heap, index);
    block_of(start)->used = (uint16_t)(block_of(start)->used + size / LEE_PAGE_BYTES);
    LEE_UNPOISON(start, size);
    return start;
}

static void *take_units(struct lee_heap *heap, size_t bytes, bool *zeroed) {
    if (!lee_heap_charge(heap, bytes))
        return NULL;
    void *start = lee_units_take(heap, LEE_UNIT_PAGES, bytes / LEE_UNIT_BYTES, zeroed);
    if (start == NULL) {
        lee_heap_uncharge(heap, bytes);
        return NULL;
    }
    for (size_t at = 0; at < bytes; at += LEE_UNIT_BYTES) {
        uintptr_t unit = (uintptr_t)start + at;
        __builtin_memset((void *)&lee_chunk_at((void *)unit)->code[lee_block_index(unit)], LEE_CODE_PAGES, LEE_BLOCKS_A_UNIT);
    }
    if (heap->huge)
        lee_blocks_huge(heap, start, bytes / LEE_UNIT_BYTES);
    heap->large_bytes += bytes;
    LEE_UNPOISON(start, bytes);
    return start;
}

static void *take(struct lee_heap *heap, size_t bytes, size_t *got, bool *zeroed) {
    size_t size = LEE_PAGE_BYTES;
    unsigned index = 0;
    for (; size < bytes && size < LEE_BLOCK_BYTES; index++)
        size *= 2;
    if (index < LEE_PAGE_SIZES) {
        *got = size;
        return take_small(heap, index, size, zeroed);
    }
    if (bytes <= IN_BLOCKS_MOST) {
        unsigned count = (unsigned)((bytes + LEE_BLOCK_BYTES - 1) / LEE_BLOCK_BYTES);
        struct lee_block *block = take_blocks(heap, count);
        if (block == NULL)
            return NULL;
        *got = count * (size_t)LEE_BLOCK_BYTES;
        *zeroed = true;
        for (unsigned i = 0; i < count; i++)
            *zeroed = *zeroed && !block[i].dirty;
        LEE_UNPOISON(lee_large_start(block), *got);
        return (void *)lee_large_start(block);
    }
    if (bytes > (size_t)PTRDIFF_MAX)
        return NULL;
    *got = (bytes + LEE_UNIT_BYTES - 1) & ~(size_t)(LEE_UNIT_BYTES - 1);
    void *start = take_units(heap, *got, zeroed);
    if (start == NULL && lee_heap_may_collect(heap) && !heap->collecting) {
        lee_heap_collect(heap);
        lee_blocks_release(heap, 0);
        start = take_units(heap, *got, zeroed);
    }
    return start;
}

void *lee_pages_take(struct lee_heap *heap, size_t bytes, size_t *got, bool *zeroed) {
    lee_heap_stress(heap);
    lee_custodians_ask(heap, bytes);
    void *start = take(heap, bytes, got, zeroed);
    while (start == NULL && lee_custodians_starved(heap))
        start = take(heap, bytes, got, zeroed);
    if (start != NULL)
        heap->counts.allocated += *got;
    return start;
}

static void give_units(struct lee_heap *heap, void *start, size_t bytes) {
    for (size_t at = 0; at < bytes; at += LEE_UNIT_BYTES) {
        uintptr_t unit = (uintptr_t)start + at;
        __builtin_memset((void *)&lee_chunk_at((void *)unit)->code[lee_block_index(unit)], LEE_CODE_NONE, LEE_BLOCKS_A_UNIT);
    }
    if (heap->huge)
        lee_system_huge(start, bytes, false);
    LEE_POISON(start, bytes);
    bool discarded = lee_system_discard(start, bytes);
    lee_units_give(start, bytes / LEE_UNIT_BYTES, !discarded);
    lee_heap_uncharge(heap, bytes);
    heap->large_bytes -= bytes;
}

void lee_pages_give(struct lee_heap *heap, void *start, size_t bytes) {
    unsigned index = 0;
    if (bytes > IN_BLOCKS_MOST) {
        give_units(heap, start, bytes);
        return;
    }
    if (bytes >= LEE_BLOCK_BYTES) {
        lee_blocks_give(heap, block_of(start), (unsigned)(bytes / LEE_BLOCK_BYTES));
        return;
    }
    while (((size_t)LEE_PAGE_BYTES << index) < bytes)
        index++;
    block_of(start)->used = (uint16_t)(block_of(start)->used - bytes / LEE_PAGE_BYTES);
    LEE_POISON(start, bytes);
    put(heap, index, start);
}

LEE_UNCHECKED void lee_pages_trim(struct lee_heap *heap) {
    for (unsigned index = 0; index < LEE_PAGE_SIZES; index++) {
        struct lee_free_pages **link = &heap->pages[index], *pages;
        while ((pages = *link) != NULL) {
            struct lee_block *block = block_of(pages);
            if (block->used > 0) {
                link = &pages->next;
                continue;
            }
            /* `fresh` counts the pages that were taken off; the last one takes the block along. */
            *link = pages->next;
            block->fresh = (uint16_t)(block->fresh + (1 << index));
            if (block->fresh == LEE_BLOCK_BYTES / LEE_PAGE_BYTES)
                lee_blocks_give(heap, block, 1);
        }
    }
}
