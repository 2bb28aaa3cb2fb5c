/* find.c: the object that a word points into, found by division and the block's description.
 *
 * Promises: shares no code with the marker, whose answers it checks, but `lee_small_find`; needs no
 * collector. */
#include "arena.h"
#include "heap.h"
#include "poison.h"
#include "small.h"

LEE_UNCHECKED static uintptr_t word_at(uintptr_t address) {
    return *(const uintptr_t *)address;
}

/* Fills in what a cell's header says; false if the cell is free. */
static bool look(struct lee_object *object, bool has_header) {
    if (has_header) {
        object->header = word_at(object->start - LEE_HEADER_BYTES);
        object->bytes -= LEE_HEADER_BYTES + (object->header >> 48);
    }
    return (object->header & LEE_HEADER_ALLOCATED) != 0;
}

static bool find_small(struct lee_heap *heap, uintptr_t word, struct lee_object *object) {
    struct lee_small_cell cell;
    if (!lee_small_find(heap, word, &cell))
        return false;
    const struct lee_cell_info *info = &lee_cell_info[cell.code];
    *object = (struct lee_object){cell.object, info->bytes, (uintptr_t)&lee_layout_plain | LEE_HEADER_ALLOCATED, lee_small_marked(&cell), info->bytes, false};
    return look(object, info->family != LEE_PLAIN);
}

bool lee_object_find(struct lee_heap *heap, uintptr_t word, struct lee_object *object) {
    struct lee_chunk *chunk = lee_chunk_of(word);
    if (chunk == NULL || lee_owner_in(chunk, word) != heap)
        return find_small(heap, word, object);
    size_t number = lee_block_index(word), code = lee_code_at(chunk, number);
    if (code == LEE_CODE_LARGE || code == LEE_CODE_UNITS) {
        struct lee_block *block = lee_large_find(chunk, word);
        struct lee_chunk *home = lee_chunk_describing(block);
        *object = (struct lee_object){lee_large_start(block), block->bytes, block->header,
                                  home->marks[lee_block_number(home, block)][0] != 0, lee_large_charge(block->bytes),
                                  false};
        return word <= object->start + object->bytes;
    }
#ifndef LEE_NO_GC
    struct lee_arena *key = code == LEE_CODE_PAGES ? lee_key_at(word) : NULL;
    if (key != NULL) {
        *object = (struct lee_object){word, sizeof *key, (uintptr_t)&lee_layout_key | LEE_HEADER_ALLOCATED, key->mark != 0,
                                      lee_key_bytes(key), false};
        return true;
    }
#endif
    if (code < LEE_CODE_CELLS || code >= LEE_CODE_LARGE)
        return false;
    size_t family = (code - LEE_CODE_CELLS) / LEE_CLASSES, bytes = lee_class_bytes((code - LEE_CODE_CELLS) % LEE_CLASSES);
    size_t header = family == LEE_PLAIN ? 0 : LEE_HEADER_BYTES;
    uintptr_t first = lee_block_start(chunk, number) + 2 * header;
    if (word < first)
        return false;
    size_t index = (word - first) / bytes;
    if (first + (index + 1) * bytes > lee_block_start(chunk, number) + LEE_BLOCK_BYTES)
        return false;
    *object = (struct lee_object){first + index * bytes, bytes, (uintptr_t)&lee_layout_plain | LEE_HEADER_ALLOCATED,
                              (chunk->marks[number][index / 8] >> index % 8 & 1) != 0, bytes, false};
    const struct lee_block *block = &chunk->blocks[number];
    object->dead = !object->live &&
                   (block->state == BLOCK_UNSWEPT || (block->state == BLOCK_CURRENT && index >= block->fresh));
    return look(object, header != 0);
}
