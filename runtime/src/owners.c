/* owners.c: dead objects release what they own outside the heap.
 *
 * Promises: each drop action is called once, after marking and before anything is swept, so it may
 * look at whatever its object points to, and ask whether that lives. Objects with drop actions lie
 * in blocks of their own: the others are not looked at. */
#include "collect.h"
#include "poison.h"
#include "small.h"

LEE_UNCHECKED static void drop_cell(struct lee_heap *heap, uintptr_t object, const struct lee_cell_info *info) {
    uintptr_t *header = (uintptr_t *)(object - LEE_HEADER_BYTES), held = *header;
    if ((held & LEE_HEADER_ALLOCATED) == 0)
        return;
    *header = 0;
    lee_header_layout(held)->drop((void *)object, info->bytes - LEE_HEADER_BYTES - (held >> 48));
    heap->counts.dropped++;
}

static void drop_in_block(struct lee_heap *heap, struct lee_chunk *chunk, size_t number) {
    const struct lee_cell_info *info = &lee_cell_info[lee_code_at(chunk, number)];
    for (unsigned i = 0; i < info->count; i++) {
        if ((chunk->marks[number][i / 8] >> i % 8 & 1) == 0)
            drop_cell(heap, lee_block_start(chunk, number) + info->origin + (uintptr_t)i * info->bytes, info);
    }
}

static void drop_large(struct lee_heap *heap, struct lee_chunk *chunk, size_t number) {
    struct lee_block *block = &chunk->blocks[number];
    const struct lee_layout *layout = lee_header_layout(block->header);
    if (block->span == 0 || chunk->marks[number][0] != 0 || layout->drop == NULL)
        return;
    layout->drop((void *)lee_large_start(block), block->bytes);
    block->header = (uintptr_t)&lee_layout_plain | LEE_HEADER_ALLOCATED;
    heap->counts.dropped++;
}

void lee_owners_process(struct lee_heap *heap) {
    struct lee_small_cell cell = {NULL, 0, 0, 0};
    while (lee_small_next(heap, &cell)) {
        if (lee_cell_info[cell.code].family == LEE_OWNER && !lee_small_marked(&cell))
            drop_cell(heap, cell.object, &lee_cell_info[cell.code]);
    }
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        for (size_t i = first; i < first + LEE_BLOCKS_A_UNIT; i++) {
            unsigned code = lee_code_at(chunk, i);
            if (code == LEE_CODE_LARGE)
                drop_large(heap, chunk, i);
            else if (lee_cell_info[code].count > 0 && lee_cell_info[code].family == LEE_OWNER)
                drop_in_block(heap, chunk, i);
        }
    }
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        drop_large(heap, chunk, lee_first_block(chunk, unit));
    }
}
