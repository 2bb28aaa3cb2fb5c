/* mend.c: see mend.h. */
#include "mend.h"

#ifndef LEE_NO_GC

#include "system.h"

enum {
    REST = 15,      /* it rests so many times as long as the last unit took */
    UNITS_LEAST = 8 /* of a heap, before the units that it began with become huge pages, too */
};

/* Units of small pages may become huge ones if all of them is charged already. */
static bool may_be_huge(const struct lee_heap *heap, const struct lee_unit *unit) {
    return unit->huge || (heap->units_held >= UNITS_LEAST && (unit->free & ~unit->free_dirty) == 0);
}

/* How many whole units of a large object may have broken: what has no pointers is not copied as a rule. */
static size_t whole_units(struct lee_unit *first) {
    struct lee_chunk *chunk = lee_chunk_describing(first);
    const struct lee_block *block = &chunk->blocks[lee_first_block(chunk, first)];
    return lee_header_layout(block->header)->kind == LEE_LAYOUT_PLAIN ? 0 : block->bytes / LEE_UNIT_BYTES;
}

static struct lee_unit *unit_behind(struct lee_unit *first, size_t units) {
    uintptr_t start = lee_unit_start(first) + units * LEE_UNIT_BYTES;
    return lee_unit_in(lee_chunk_at((void *)start), start);
}

void lee_mend_expect(struct lee_heap *heap) {
    if (!heap->huge)
        return;
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next)
        unit->broken = may_be_huge(heap, unit);
    for (struct lee_unit *first = heap->large; first != NULL; first = first->next) {
        for (size_t i = whole_units(first); i-- > 0;)
            unit_behind(first, i)->broken = true;
    }
    heap->mending = true;
}

static struct lee_unit *find_broken(struct lee_heap *heap) {
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        if (unit->broken && may_be_huge(heap, unit))
            return unit;
    }
    for (struct lee_unit *first = heap->large; first != NULL; first = first->next) {
        for (size_t i = whole_units(first); i-- > 0;) {
            if (unit_behind(first, i)->broken)
                return unit_behind(first, i);
        }
    }
    return NULL;
}

void lee_mend_step(struct lee_heap *heap) {
    uint64_t now = lee_system_time();
    if (heap->snapshot || now < heap->mend_next)
        return;
    struct lee_unit *unit = find_broken(heap);
    if (unit == NULL) {
        heap->mending = false;
        return;
    }
    unit->broken = false; /* one try, whatever comes of it */
    uint64_t before = lee_system_processor_time();
    void *start = (void *)lee_unit_start(unit);
    if (unit->kind == LEE_UNIT_BLOCKS && !unit->huge) {
        lee_system_huge(start, LEE_UNIT_BYTES, true);
        unit->huge = true;
    }
    lee_system_collapse(start, LEE_UNIT_BYTES);
    uint64_t took = lee_system_processor_time() - before;
    heap->mend_next = now + took + took * REST;
}

#endif
