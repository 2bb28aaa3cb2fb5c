/* verify.c: the collector's conscience.
 *
 * The second trace shares no code with the marker but the reading of layouts: it finds objects by
 * walking the unit lists and dividing, keeps them in a hash set, and follows them breadth first.
 * Afterwards each cell's mark bit must say what the set says. Slow, and needs memory for the set;
 * when there is none it says nothing. */
#include "arena.h"
#include "collect.h"
#include "poison.h"
#include "process.h"
#include "small.h"
#include "system.h"

struct seen {
    uintptr_t *objects; /* hash set, 0: free */
    size_t mask, count;
    struct lee_vector order; /* objects in the order in which they were found */
    struct lee_heap *heap;
    bool lost, more;
};

LEE_UNCHECKED static uintptr_t word_at(uintptr_t address) {
    return *(const uintptr_t *)address;
}

/* Whether the cell is one of the heap's, and of the class. */
static bool is_cell_of(struct lee_heap *heap, uintptr_t cell, unsigned code) {
    struct lee_chunk *chunk = lee_chunk_of(cell);
    struct lee_small_cell small;
    uintptr_t object = cell + (lee_cell_info[code].family == LEE_PLAIN ? 0 : LEE_HEADER_BYTES);
    if (lee_small_find(heap, object, &small))
        return small.object == object && small.code == code;
    return chunk != NULL && lee_owner_in(chunk, cell) == heap && lee_code_at(chunk, lee_block_index(cell)) == code;
}

static size_t place_of(const struct seen *seen, uintptr_t object) {
    size_t at = (size_t)((object >> 3) * 0x9e3779b97f4a7c15u >> 20) & seen->mask;
    while (seen->objects[at] != 0 && seen->objects[at] != object)
        at = (at + 1) & seen->mask;
    return at;
}

static bool make_set(struct seen *seen, size_t entries) {
    seen->objects = lee_system_reserve(NULL, entries * sizeof(uintptr_t));
    seen->mask = entries - 1;
    return seen->objects != NULL;
}

static void grow_set(struct seen *seen) {
    uintptr_t *old = seen->objects;
    size_t entries = seen->mask + 1;
    if (!make_set(seen, entries * 2)) {
        seen->objects = old;
        seen->mask = entries - 1;
        seen->lost = true;
        return;
    }
    for (size_t i = 0; i < entries; i++) {
        if (old[i] != 0)
            seen->objects[place_of(seen, old[i])] = old[i];
    }
    lee_system_release(old, entries * sizeof(uintptr_t));
}

static void see(void *context, uintptr_t word) {
    struct seen *seen = context;
    struct lee_object object;
    if (seen->lost || !lee_object_find(seen->heap, word, &object))
        return;
    size_t at = place_of(seen, object.start);
    if (seen->objects[at] != 0)
        return;
    uintptr_t *next = lee_vector_add(&seen->order, sizeof *next);
    if (next == NULL) {
        seen->lost = true;
        return;
    }
    *next = object.start;
    seen->objects[at] = object.start;
    if (++seen->count * 2 > seen->mask)
        grow_set(seen);
}

static void follow(struct seen *seen) {
    struct lee_marker observer = {.heap = seen->heap, .observe = see, .observer = seen};
    for (size_t i = 0; i < seen->order.bytes / sizeof(uintptr_t) && !seen->lost; i++) {
        struct lee_object object;
        if (!lee_object_find(seen->heap, ((uintptr_t *)seen->order.data)[i], &object))
            continue;
        /* What an arena's pages hold behind its objects is from whoever had them before, and may
         * have been dead at the snapshot. */
        if (!seen->more || lee_header_layout(object.header) != &lee_layout_key)
            lee_layout_each(lee_header_layout(object.header), object.start, object.start + object.bytes, see, seen, &observer);
    }
}

/* Calls `visit` for the start of each cell and large object, whatever it holds. */
static const char *each_place(struct lee_heap *heap, const char *(*visit)(void *, uintptr_t), void *context) {
    const char *wrong = NULL;
    struct lee_small_cell small = {NULL, 0, 0, 0};
    while (wrong == NULL && lee_small_next(heap, &small))
        wrong = visit(context, small.object);
    for (struct lee_unit *unit = heap->units; unit != NULL && wrong == NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        for (size_t i = first; i < first + LEE_BLOCKS_A_UNIT && wrong == NULL; i++) {
            const struct lee_cell_info *info = &lee_cell_info[lee_code_at(chunk, i)];
            if (lee_code_at(chunk, i) == LEE_CODE_LARGE && chunk->blocks[i].span > 0)
                wrong = visit(context, lee_block_start(chunk, i));
            for (unsigned cell = 0; cell < info->count && wrong == NULL; cell++)
                wrong = visit(context, lee_block_start(chunk, i) + info->origin + (uintptr_t)cell * info->bytes);
        }
    }
    for (struct lee_unit *unit = heap->large; unit != NULL && wrong == NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        wrong = visit(context, lee_block_start(chunk, lee_first_block(chunk, unit)));
    }
    return wrong;
}

static const char *compare(void *context, uintptr_t place) {
    struct seen *seen = context;
    struct lee_object object;
    bool is_object = lee_object_find(seen->heap, place, &object);
    bool found = is_object && seen->objects[place_of(seen, object.start)] != 0;
    if (is_object && found != object.live && (found || !seen->more))
        return found ? "collector: a live object was not marked" : "collector: an object was marked that nothing reaches";
    return NULL;
}

static const char *compare_keys(const struct seen *seen) {
#ifndef LEE_ARENA_BY_MALLOC
    for (const struct lee_arena *key = lee_keys_of(seen->heap); key != NULL; key = key->older) {
        if (key->mark == 0 && seen->objects[place_of(seen, (uintptr_t)key)] != 0)
            return "collector: a live key was not marked";
    }
#endif
    (void)seen;
    return NULL;
}

const char *lee_heap_verify_marks(struct lee_heap *heap, const struct lee_vector *roots, bool more) {
    struct seen seen = {.heap = heap, .more = more};
    if (!make_set(&seen, 1 << 12))
        return NULL;
    for (size_t i = 0; i < roots->bytes / sizeof(uintptr_t); i++)
        see(&seen, ((const uintptr_t *)roots->data)[i]);
    follow(&seen);
    const char *wrong = seen.lost ? NULL : each_place(heap, compare, &seen);
    if (wrong == NULL && !seen.lost)
        wrong = compare_keys(&seen);
    lee_system_release(seen.objects, (seen.mask + 1) * sizeof(uintptr_t));
    lee_vector_free(&seen.order);
    return wrong;
}

const char *lee_heap_verify_free(struct lee_heap *heap) {
    struct lee_object object;
    for (unsigned family = 0; family < LEE_FAMILIES; family++) {
        for (unsigned class_ = 0; class_ < LEE_CLASSES; class_++) {
            uintptr_t front = family == LEE_PLAIN ? 0 : LEE_HEADER_BYTES;
            for (uintptr_t cell = heap->inline_part.bins[family][class_].free; cell != 0; cell = word_at(cell)) {
                lee_object_find(heap, cell + front, &object);
                if (!object.live)
                    return "collector: a cell was freed that a snapshot found dead";
            }
        }
    }
    return NULL;
}

/* --- validation -------------------------------------------------------------------------------------------------- */

struct totals {
    size_t blocks, dirty;
};

static const char *validate_unit(struct lee_heap *heap, struct lee_unit *unit, struct totals *totals) {
    struct lee_chunk *chunk = lee_chunk_describing(unit);
    size_t first = lee_first_block(chunk, unit);
    if (lee_owner_in(chunk, lee_block_start(chunk, first)) != heap || unit->kind != LEE_UNIT_BLOCKS)
        return "heap: a unit in its list is not its own";
    if ((unit->free_dirty & ~unit->free) != 0)
        return "heap: a block in use counts as free and dirty";
    for (unsigned i = 0; i < LEE_BLOCKS_A_UNIT; i++) {
        unsigned code = lee_code_at(chunk, first + i);
        bool is_free = (unit->free >> i & 1) != 0;
        if (is_free != (code == LEE_CODE_NONE))
            return "heap: a block's code and its unit disagree on whether it is free";
        if (code == LEE_CODE_LARGE && lee_large_find(chunk, lee_block_start(chunk, first + i))->span == 0)
            return "heap: a block of a large object has no first block";
        totals->blocks += !is_free;
    }
    totals->dirty += (size_t)__builtin_popcount(unit->free_dirty);
    return NULL;
}

static const char *validate_bin(struct lee_heap *heap, unsigned family, unsigned class_) {
    struct lee_bin *bin = &heap->inline_part.bins[family][class_];
    unsigned code = lee_cell_code(family, class_);
    for (uintptr_t cell = bin->free, steps = 0; cell != 0; cell = word_at(cell)) {
        if (!is_cell_of(heap, cell, code))
            return "heap: a free list leaves its class (freed twice, or written to after it was freed?)";
        if (++steps > (heap->blocks_used * LEE_BLOCK_BYTES + heap->small_pages * LEE_PAGE_BYTES) / 16)
            return "heap: a free list is a circle (freed twice?)";
    }
    if (bin->bump != bin->limit &&
        (!is_cell_of(heap, bin->bump, code) || (bin->limit - bin->bump) % lee_cell_info[code].bytes != 0))
        return "heap: fresh cells are not of their class";
    struct lee_block *unswept = heap->blocks_of != NULL ? heap->blocks_of[family][class_].unswept : NULL;
    for (struct lee_block *block = unswept; block != NULL; block = block->next) {
        struct lee_chunk *chunk = lee_chunk_describing(block);
        if (lee_code_at(chunk, lee_block_number(chunk, block)) != code || block->state != BLOCK_UNSWEPT)
            return "heap: an unswept block is not of its bin";
    }
    return NULL;
}

const char *lee_heap_validate(struct lee_heap *heap) {
    struct totals totals = {0, 0};
    size_t units = 0;
    const char *wrong = NULL;
    for (struct lee_unit *unit = heap->units; unit != NULL && wrong == NULL; unit = unit->next, units++)
        wrong = validate_unit(heap, unit, &totals);
    if (wrong == NULL && (units != heap->units_held || totals.blocks != heap->blocks_used || totals.dirty != heap->blocks_free_dirty))
        wrong = "heap: its counts of units or blocks are wrong";
    if (wrong == NULL)
        wrong = lee_small_validate(heap);
    for (unsigned family = 0; family < LEE_FAMILIES && wrong == NULL; family++) {
        for (unsigned class_ = 0; class_ < LEE_CLASSES && wrong == NULL; class_++)
            wrong = validate_bin(heap, family, class_);
    }
    return wrong;
}
