/* mark_find.h: from a word to its object, inlined into the loops that look at each word of a heap:
 * the marker's (mark.c), and the search for components (account_components.c). */
#ifndef LEE_SRC_MARK_FIND_H
#define LEE_SRC_MARK_FIND_H

#include "mark.h"
#include "poison.h"

_Static_assert(LEE_CODES <= 256 && LEE_ADDRESS_BITS + 3 <= LEE_MARK_CODE_SHIFT, "a mark and a code fit a word");

/* Cells with headers have codes from here on to LEE_CODE_LARGE. */
enum { LEE_CODE_TYPED = LEE_CODE_CELLS + LEE_CLASSES };

LEE_UNCHECKED_INLINE unsigned lee_found_code(const struct lee_found *found) {
    return (unsigned)(found->mark >> LEE_MARK_CODE_SHIFT);
}

LEE_UNCHECKED_INLINE uintptr_t lee_found_object(const struct lee_found *found) {
    const struct lee_cell_info *info = &lee_cell_info[lee_found_code(found)];
    if (__builtin_expect(info->count == 0, 0))
        return found->word;
    return (found->word & ~(uintptr_t)(LEE_BLOCK_BYTES - 1)) + info->origin +
           (uint32_t)(found->mark & (LEE_MARK_BITS - 1)) * info->bytes;
}

/* The word of marks that has the bit. */
static inline uint64_t *lee_found_marks(uint64_t mark) {
    return (uint64_t *)(uintptr_t)((mark << (64 - LEE_MARK_CODE_SHIFT) >> (64 - LEE_MARK_CODE_SHIFT + 6)) * sizeof(uint64_t));
}

/* What is not a cell in a block; what is in no unit of the heap's own. */
bool lee_find_large(struct lee_chunk *chunk, uintptr_t word, struct lee_found *found);
bool lee_find_small(struct lee_heap *heap, struct lee_chunk *chunk, uintptr_t word, struct lee_found *found);

/* The two loads of the page table, then one for the block's class: whether the word, which is below
 * 2^48, points into an object. Where that begins is not computed: half of the words point to what
 * is marked. */
LEE_UNCHECKED_INLINE bool lee_find(struct lee_heap *heap, _Atomic(uintptr_t) *table, uintptr_t word, struct lee_found *found) {
    uintptr_t value = atomic_load_explicit(&table[word >> LEE_CHUNK_SHIFT], LEE_DEPENDENT_LOAD);
    if (__builtin_expect(value < LEE_WINDOW_OURS, 0))
        return false;
    struct lee_chunk *chunk = (struct lee_chunk *)value;
    if (__builtin_expect(lee_owner_in(chunk, word) != heap, 0))
        return lee_find_small(heap, chunk, word, found);
    uint64_t code = lee_code_at(chunk, lee_block_index(word));
    const struct lee_cell_info *info = &lee_cell_info[code];
    uint32_t offset = (uint32_t)(word & (LEE_BLOCK_BYTES - 1)) - info->origin;
    uint64_t index = (uint64_t)offset * info->reciprocal >> 32;
    if (__builtin_expect(index >= info->count, 0))
        return lee_find_large(chunk, word, found);
    found->word = word;
    found->mark = (code << LEE_MARK_CODE_SHIFT) + value * 8 + lee_block_index(word) * LEE_MARK_BITS + index;
    return true;
}

#endif
