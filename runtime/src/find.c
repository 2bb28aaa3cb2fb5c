/* find.c: the object that a word points into, found by division and the block's description.
 *
 * Promises: shares no code with the marker, whose answers it checks; needs no collector. */
#include "arena.h"
#include "heap.h"
#include "poison.h"

LEE_UNCHECKED static uintptr_t word_at(uintptr_t address) {
    return *(const uintptr_t *)address;
}

bool lee_object_find(struct lee_heap *heap, uintptr_t word, struct lee_object *object) {
    struct lee_chunk *chunk = lee_chunk_of(word);
    if (chunk == NULL || lee_owner_in(chunk, word) != heap)
        return false;
    size_t number = lee_block_index(word), code = lee_code_at(chunk, number);
    if (code == LEE_CODE_LARGE || code == LEE_CODE_UNITS) {
        struct lee_block *block = lee_large_find(chunk, word);
        struct lee_chunk *home = lee_chunk_describing(block);
        *object = (struct lee_object){lee_large_start(block), block->bytes, block->header,
                                  home->marks[lee_block_number(home, block)][0] != 0, block->bytes, false};
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
    *object = (struct lee_object){first + index * bytes, bytes - header, (uintptr_t)&lee_layout_plain | LEE_HEADER_ALLOCATED,
                              (chunk->marks[number][index / 8] >> index % 8 & 1) != 0, bytes, false};
    const struct lee_block *block = &chunk->blocks[number];
    object->dead = !object->live &&
                   (block->state == BLOCK_UNSWEPT || (block->state == BLOCK_CURRENT && index >= block->fresh));
    if (header != 0) {
        object->header = word_at(object->start - header);
        object->bytes -= object->header >> 48;
    }
    return (object->header & LEE_HEADER_ALLOCATED) != 0;
}
