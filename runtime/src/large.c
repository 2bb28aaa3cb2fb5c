/* large.c: objects that are larger than a cell: up to 1 MB in blocks of one unit, beyond that in
 * units of their own.
 *
 * Promises: the object is zeroed if that was asked for; its header and size stand beside it, its
 * mark bit is the first of its first block. Freed memory can be used again at once; that of units
 * goes back to the system at once. */
#include "charge.h"
#include "heap.h"
#include "poison.h"
#include "system.h"
#include "units.h"

enum { IN_BLOCKS_MOST = LEE_UNIT_BYTES / 2, PAGE = LEE_PAGE_BYTES };

uintptr_t lee_large_start(struct lee_block *block) {
    struct lee_chunk *chunk = lee_chunk_describing(block);
    return lee_block_start(chunk, lee_block_number(chunk, block));
}

struct lee_block *lee_large_find(struct lee_chunk *chunk, uintptr_t word) {
    size_t number = lee_block_index(word);
    switch (lee_code_at(chunk, number)) {
    case LEE_CODE_LARGE:
        return &chunk->blocks[number - chunk->blocks[number].behind];
    case LEE_CODE_UNITS: {
        uintptr_t first = (word & ~(uintptr_t)(LEE_UNIT_BYTES - 1)) -
                          (uintptr_t)lee_unit_in(chunk, word)->behind * LEE_UNIT_BYTES;
        return &lee_chunk_at((void *)first)->blocks[lee_block_index(first)];
    }
    default:
        return NULL;
    }
}

/* In units: the pages that the object touches. In blocks: all of them; what is just past the object
 * is still its own. */
size_t lee_large_charge(size_t bytes) {
    return bytes <= IN_BLOCKS_MOST ? (bytes / LEE_BLOCK_BYTES + 1) * LEE_BLOCK_BYTES : (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static void *take_units(struct lee_heap *heap, size_t bytes, uintptr_t header) {
    size_t units = bytes / LEE_UNIT_BYTES + 1; /* what is just past the object is still its own */
    bool clean;
    if (!lee_heap_charge(heap, lee_large_charge(bytes))) {
        lee_blocks_release(heap, 0);
        if (!lee_heap_charge(heap, lee_large_charge(bytes)))
            return NULL;
    }
    void *start = lee_units_take(heap, LEE_UNIT_LARGE, units, &clean);
    if (start == NULL) {
        lee_heap_uncharge(heap, lee_large_charge(bytes));
        return NULL;
    }
    if (!clean)
        lee_system_discard(start, units * LEE_UNIT_BYTES);
    if (heap->huge && bytes >= LEE_UNIT_BYTES)
        lee_blocks_huge(heap, start, bytes / LEE_UNIT_BYTES);
    for (size_t i = 0; i < units; i++) {
        uintptr_t at = (uintptr_t)start + i * LEE_UNIT_BYTES;
        __builtin_memset((void *)&lee_chunk_at((void *)at)->code[lee_block_index(at)], LEE_CODE_UNITS, LEE_BLOCKS_A_UNIT);
    }
    struct lee_chunk *chunk = lee_chunk_at(start);
    struct lee_unit *unit = lee_unit_in(chunk, (uintptr_t)start);
    struct lee_block *block = &chunk->blocks[lee_block_index((uintptr_t)start)];
    *block = (struct lee_block){.bytes = bytes, .header = header, .span = (uint32_t)units, .state = BLOCK_FULL, .young = heap->snapshot};
    chunk->marks[lee_block_index((uintptr_t)start)][0] = 0;
    lee_unit_link(&heap->large, unit);
    heap->large_bytes += lee_large_charge(bytes);
    LEE_LEAK_ROOT(start, units * LEE_UNIT_BYTES);
    LEE_POISON(start, units * LEE_UNIT_BYTES);
    return start;
}

static void *take_blocks(struct lee_heap *heap, size_t bytes, uintptr_t header, bool zeroed) {
    unsigned count = (unsigned)(lee_large_charge(bytes) / LEE_BLOCK_BYTES);
    bool plain = lee_header_layout(header)->kind == LEE_LAYOUT_PLAIN;
    struct lee_block *block = lee_blocks_take_for(heap, count, LEE_CODE_LARGE, plain);
    if (block == NULL)
        return NULL;
    block->bytes = bytes;
    block->header = header;
    void *start = (void *)lee_large_start(block);
    LEE_UNPOISON(start, bytes);
    bool dirty = false;
    for (unsigned i = 0; i < count; i++)
        dirty = dirty || block[i].dirty;
    /* What is scanned is zeroed behind the object too: it may be read as part of an array's last element. */
    if (zeroed && dirty)
        __builtin_memset(start, 0, bytes);
    return start;
}

void *lee_large_take(struct lee_heap *heap, size_t bytes, uintptr_t header, bool zeroed) {
    lee_heap_stress(heap);
    size_t charge = lee_large_charge(bytes);
    lee_custodians_ask(heap, charge);
    lee_heap_poll(heap, charge);
    for (int attempt = 0;; attempt++) {
        void *start = bytes <= IN_BLOCKS_MOST ? take_blocks(heap, bytes, header, zeroed) : take_units(heap, bytes, header);
        if (start != NULL) {
            heap->since_collection += charge;
            heap->counts.allocated += charge;
            LEE_UNPOISON(start, bytes);
            return start;
        }
        if (!heap->enabled || heap->collecting || (attempt > 0 && !lee_custodians_starved(heap)))
            return NULL;
        if (attempt == 0)
            lee_heap_collect(heap);
    }
}

void lee_large_free(struct lee_heap *heap, void *object) {
    struct lee_chunk *chunk = lee_chunk_at(object);
    struct lee_block *block = lee_large_find(chunk, (uintptr_t)object);
    if (lee_code_at(chunk, lee_block_index((uintptr_t)object)) == LEE_CODE_LARGE) {
        lee_blocks_give(heap, block, block->span);
        return;
    }
    size_t units = block->span, bytes = lee_large_charge(block->bytes);
    struct lee_unit *unit = lee_unit_in(chunk, (uintptr_t)object);
    lee_unit_unlink(&heap->large, unit);
    for (size_t i = 0; i < units; i++) {
        uintptr_t at = (uintptr_t)object + i * LEE_UNIT_BYTES;
        __builtin_memset((void *)&lee_chunk_at((void *)at)->code[lee_block_index(at)], LEE_CODE_NONE, LEE_BLOCKS_A_UNIT);
    }
    block->span = 0;
    block->state = BLOCK_FREE;
    LEE_POISON(object, units * LEE_UNIT_BYTES);
    heap->large_bytes -= bytes;
    if (heap->huge && bytes >= LEE_UNIT_BYTES)
        lee_system_huge(object, block->bytes & ~(size_t)(LEE_UNIT_BYTES - 1), false);
    bool discarded = lee_system_discard(object, bytes);
    LEE_LEAK_UNROOT(object, units * LEE_UNIT_BYTES);
    lee_units_give(object, units, !discarded);
    lee_heap_uncharge(heap, bytes);
}
