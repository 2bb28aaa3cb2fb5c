/* blocks.c: the blocks of 64 KB of a heap.
 *
 * Promises: a block that is handed out is charged; its mark bits are clear. A free block that may
 * be resident (dirty, or in a huge page) stays charged until its memory went back, so the limit is
 * one of what the system really gave. Blocks that were used before come first: they cost no page
 * fault. */
#include "charge.h"
#include "heap.h"
#include "poison.h"
#include "small.h"
#include "system.h"
#include "units.h"

enum {
    UNITS_BEFORE_APART = 4,     /* of a heap, before blocks without pointers get units of their own */
    UNITS_BEFORE_HUGE = 2,      /* of a heap, before it gets huge pages */
    UNITS_BEFORE_HUGE_MARKS = 16 /* before the mark bits get one too: it is a sixteenth of them then */
};

static uint32_t mask_of(unsigned count) {
    return count == 32 ? UINT32_MAX : ((uint32_t)1 << count) - 1;
}

/* The lowest place of `count` bits in a row, or -1. */
static int find_run(uint32_t free, unsigned count) {
    uint32_t runs = free;
    for (unsigned have = 1; have < count && runs != 0;) {
        unsigned step = have < count - have ? have : count - have;
        runs &= runs >> step;
        have += step;
    }
    return runs == 0 ? -1 : __builtin_ctz(runs);
}

static void unlink_unit(struct lee_heap *heap, struct lee_unit *unit) {
    lee_unit_unlink(&heap->units, unit);
    for (unsigned plain = 0; plain < 2; plain++) {
        if (heap->available[plain] == unit)
            heap->available[plain] = NULL;
    }
    heap->units_held--;
}

void lee_blocks_huge(struct lee_heap *heap, void *start, size_t units) {
    struct lee_huge *huge = &heap->huge_pages;
    if (!lee_huge_wanted(huge, units))
        return;
    lee_system_huge(start, units * LEE_UNIT_BYTES, true);
    for (size_t i = 0; i < units; i++) {
        unsigned char *unit = (unsigned char *)start + i * LEE_UNIT_BYTES;
        if (huge->rest > 0) {
            lee_system_huge(unit, (units - i) * LEE_UNIT_BYTES, false);
            return;
        }
        lee_huge_took(huge, lee_system_first_touch(unit));
        if (huge->slow == 0)
            return;
    }
}

static struct lee_unit *add_unit(struct lee_heap *heap) {
    bool zeroed, huge = heap->huge && heap->units_held >= UNITS_BEFORE_HUGE && lee_huge_wanted(&heap->huge_pages, 1);
    if (huge && !lee_heap_charge(heap, LEE_UNIT_BYTES))
        huge = false; /* block by block there may be enough */
    void *start = lee_units_take(heap, LEE_UNIT_BLOCKS, 1, &zeroed);
    if (start == NULL) {
        if (huge)
            lee_heap_uncharge(heap, LEE_UNIT_BYTES);
        return NULL;
    }
    if (!zeroed)
        lee_system_discard(start, LEE_UNIT_BYTES);
    LEE_POISON(start, LEE_UNIT_BYTES);
    LEE_LEAK_ROOT(start, LEE_UNIT_BYTES);
    struct lee_chunk *chunk = lee_chunk_at(start);
    if (huge) {
        lee_system_huge(start, LEE_UNIT_BYTES, true);
        lee_huge_took(&heap->huge_pages, lee_system_first_touch(start));
    }
    if (huge && heap->units_held >= UNITS_BEFORE_HUGE_MARKS && !chunk->marks_huge) {
        chunk->marks_huge = true;
        lee_system_huge(chunk->marks, sizeof chunk->marks, true);
        lee_system_collapse(chunk->marks, sizeof chunk->marks);
    }
    struct lee_unit *unit = lee_unit_in(chunk, (uintptr_t)start);
    unit->huge = huge;
    unit->free = UINT32_MAX;
    unit->free_dirty = 0;
    lee_unit_link(&heap->units, unit);
    heap->units_held++;
    return unit;
}

/* Whether the blocks of `run` can be charged; those that are dirty or in a huge page already are. */
static bool charge(struct lee_heap *heap, struct lee_unit *unit, uint32_t run) {
    size_t fresh = unit->huge ? 0 : (size_t)__builtin_popcount(run & ~unit->free_dirty);
    return fresh == 0 || lee_heap_charge(heap, fresh * LEE_BLOCK_BYTES);
}

static struct lee_block *take_from(struct lee_heap *heap, struct lee_unit *unit, int at, unsigned count, unsigned code, bool plain) {
    struct lee_chunk *chunk = lee_chunk_describing(unit);
    size_t first = lee_first_block(chunk, unit) + (size_t)at;
    uint32_t run = mask_of(count) << at;
    if (!charge(heap, unit, run))
        return NULL;
    for (unsigned i = 0; i < count; i++) {
        struct lee_block *block = &chunk->blocks[first + i];
        *block = (struct lee_block){.behind = (uint16_t)i, .span = i == 0 ? count : 0, .state = BLOCK_FULL};
        block->dirty = (unit->free_dirty >> (at + (int)i) & 1) != 0;
        block->young = heap->snapshot;
        lee_code_set(chunk, first + i, code);
        __builtin_memset(chunk->marks[first + i], 0, LEE_BLOCK_MARK_BYTES);
    }
    heap->blocks_free_dirty -= (size_t)__builtin_popcount(run & unit->free_dirty);
    if (unit->free == UINT32_MAX)
        unit->plain = plain;
    unit->free &= ~run;
    unit->free_dirty &= ~run;
    heap->blocks_used += count;
    heap->available[plain] = unit;
    return &chunk->blocks[first];
}

static bool has_room(const struct lee_unit *unit, unsigned count) {
    return unit != NULL && find_run(unit->free, count) >= 0;
}

/* A unit with room for blocks with or without pointers; null if there is none. */
static struct lee_unit *find_unit(struct lee_heap *heap, unsigned count, bool plain) {
    struct lee_unit *unit = heap->units, *other = NULL;
    for (; unit != NULL; unit = unit->next) {
        if (!has_room(unit, count))
            continue;
        if (unit->plain == plain || unit->free == UINT32_MAX)
            return unit;
        other = unit;
    }
    if (heap->units_held >= UNITS_BEFORE_APART && (unit = add_unit(heap)) != NULL)
        return unit;
    return other;
}

static struct lee_block *take(struct lee_heap *heap, unsigned count, unsigned code, bool plain) {
    struct lee_unit *unit = heap->available[plain];
    size_t free_blocks = heap->units_held * LEE_BLOCKS_A_UNIT - heap->blocks_used;
    if (!has_room(unit, count)) {
        unit = free_blocks >= count ? find_unit(heap, count, plain) : NULL;
        if (unit == NULL && (unit = add_unit(heap)) == NULL)
            return NULL;
    }
    int at = find_run(unit->free_dirty, count);
    return take_from(heap, unit, at >= 0 ? at : find_run(unit->free, count), count, code, plain);
}

struct lee_block *lee_blocks_take_for(struct lee_heap *heap, unsigned count, unsigned code, bool plain) {
    if (lee_system_fails())
        return NULL;
    struct lee_block *block = take(heap, count, code, plain);
    if (block == NULL && (lee_blocks_release(heap, 0) > 0 || lee_small_trim() > 0 || lee_units_trim() > 0))
        block = take(heap, count, code, plain);
    return block;
}

struct lee_block *lee_blocks_take(struct lee_heap *heap, unsigned count, unsigned code) {
    return lee_blocks_take_for(heap, count, code, lee_cell_info[code].count > 0 && lee_cell_info[code].family == LEE_PLAIN);
}

void lee_blocks_give(struct lee_heap *heap, struct lee_block *first, unsigned count) {
    struct lee_chunk *chunk = lee_chunk_describing(first);
    size_t number = lee_block_number(chunk, first);
    struct lee_unit *unit = &chunk->units[number / LEE_BLOCKS_A_UNIT];
    uint32_t run = mask_of(count) << number % LEE_BLOCKS_A_UNIT;
    for (unsigned i = 0; i < count; i++) {
        chunk->blocks[number + i].state = BLOCK_FREE;
        chunk->blocks[number + i].span = 0;
        lee_code_set(chunk, number + i, LEE_CODE_NONE);
    }
    LEE_POISON(lee_block_start(chunk, number), (size_t)count * LEE_BLOCK_BYTES);
    unit->free |= run;
    unit->free_dirty |= run;
    heap->blocks_used -= count;
    heap->blocks_free_dirty += count;
    heap->available[unit->plain] = unit;
}

/* Gives the memory of the unit's free dirty blocks back, neighbours at a time. */
static size_t discard(struct lee_heap *heap, struct lee_unit *unit) {
    size_t bytes = 0;
    if (unit->huge) {
        /* From now on block by block: the kernel splits the page, and must not put it together again. */
        unit->huge = false;
        lee_system_huge((void *)lee_unit_start(unit), LEE_UNIT_BYTES, false);
        heap->blocks_free_dirty += (size_t)__builtin_popcount(unit->free & ~unit->free_dirty);
        unit->free_dirty = unit->free;
    }
    for (uint32_t left = unit->free_dirty; left != 0;) {
        unsigned at = (unsigned)__builtin_ctz(left);
        unsigned count = left >> at == UINT32_MAX ? 32 : (unsigned)__builtin_ctz(~(left >> at));
        uint32_t run = mask_of(count) << at;
        left &= ~run;
        if (!lee_system_discard((void *)(lee_unit_start(unit) + at * (size_t)LEE_BLOCK_BYTES), count * (size_t)LEE_BLOCK_BYTES))
            continue;
        unit->free_dirty &= ~run;
        heap->blocks_free_dirty -= count;
        bytes += count * (size_t)LEE_BLOCK_BYTES;
    }
    lee_heap_uncharge(heap, bytes);
    return bytes;
}

size_t lee_blocks_release(struct lee_heap *heap, size_t keep) {
    size_t bytes = 0;
    bool given = false;
    struct lee_unit *next;
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = next) {
        next = unit->next;
        size_t idle = (size_t)__builtin_popcount(unit->huge ? unit->free : unit->free_dirty) * LEE_BLOCK_BYTES;
        if (idle <= keep && idle > 0) {
            keep -= idle;
            continue;
        }
        if (unit->free != UINT32_MAX) {
            if (idle > 0)
                bytes += discard(heap, unit);
            continue;
        }
        uintptr_t start = lee_unit_start(unit);
        heap->blocks_free_dirty -= (size_t)__builtin_popcount(unit->free_dirty);
        lee_heap_uncharge(heap, idle);
        bytes += idle;
        unlink_unit(heap, unit);
        if (unit->huge)
            lee_system_huge((void *)start, LEE_UNIT_BYTES, false);
        LEE_LEAK_UNROOT(start, LEE_UNIT_BYTES);
        lee_units_give((void *)start, 1, idle > 0);
        given = given || idle > 0;
    }
    if (given)
        lee_units_trim();
    return bytes;
}
