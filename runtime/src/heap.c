/* heap.c: the heap as emitted code and the library see it.
 *
 * Promises: what lee/heap.h says. Sizes are checked once, here, before anything is computed from them. */
#include <lee/heap.h>

#include <stdbool.h>
#include <string.h>

#include "heap.h"
#include "poison.h"
#include "small.h"

/* An object with a layout; of any size. */
void *lee_heap_try_alloc_typed(size_t size, const struct lee_layout *layout) {
    if (__builtin_expect(size <= LEE_CELL_MOST - LEE_HEADER_BYTES, 1))
        return lee_new_typed(layout, layout->drop != NULL ? LEE_OWNER : LEE_TYPED, size, true);
    struct lee_heap *heap = lee_heap_self();
    if (size > (size_t)PTRDIFF_MAX || heap == NULL)
        return NULL;
    return lee_large_take(heap, size, (uintptr_t)layout | LEE_HEADER_ALLOCATED, true);
}

void *lee_heap_try_alloc(size_t size) {
    return lee_heap_try_alloc_typed(size, &lee_layout_conservative);
}

void *lee_heap_try_alloc_plain(size_t size) {
    if (__builtin_expect(size <= LEE_CELL_MOST, 1))
        return lee_new_plain(size, true, true);
    return lee_heap_try_alloc_typed(size, &lee_layout_plain);
}

void *lee_heap_alloc(const struct lee_site *site, size_t size) {
    void *object = lee_heap_try_alloc(size);
    if (object == NULL)
        lee_fault_memory(site, size);
    return object;
}

void *lee_heap_alloc_typed(const struct lee_site *site, size_t size, const struct lee_layout *layout) {
    void *object = lee_heap_try_alloc_typed(size, layout);
    if (object == NULL)
        lee_fault_memory(site, size);
    return object;
}

void *lee_heap_alloc_plain(const struct lee_site *site, size_t size) {
    void *object = lee_heap_try_alloc_plain(size);
    if (object == NULL)
        lee_fault_memory(site, size);
    return object;
}

/* False if the size cannot be that of an object. */
static bool array_size(int64_t count, size_t elem_size, size_t extra, size_t *size) {
    return count >= 0 && !__builtin_mul_overflow((uint64_t)count, elem_size, size) &&
           !__builtin_add_overflow(*size, extra, size) && *size <= (size_t)PTRDIFF_MAX;
}

void *lee_heap_try_alloc_array(int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    return array_size(count, elem_size, extra, &size) ? lee_heap_try_alloc(size) : NULL;
}

void *lee_heap_alloc_array(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    if (!array_size(count, elem_size, extra, &size))
        lee_fault_memory_array(site, count, elem_size);
    return lee_heap_alloc(site, size);
}

void *lee_heap_try_alloc_array_typed(int64_t count, size_t elem_size, size_t extra, const struct lee_layout *layout) {
    size_t size;
    return array_size(count, elem_size, extra, &size) ? lee_heap_try_alloc_typed(size, layout) : NULL;
}

void *lee_heap_alloc_array_typed(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra,
                                 const struct lee_layout *layout) {
    size_t size;
    if (!array_size(count, elem_size, extra, &size))
        lee_fault_memory_array(site, count, elem_size);
    return lee_heap_alloc_typed(site, size, layout);
}

/* A cell without a header ends where the next one begins. All that is left of an array may be a
 * pointer just past it, which must still be the array's: so there is a byte more, unless a hidden
 * zero is there already. */
void *lee_heap_try_alloc_array_plain(int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    return array_size(count, elem_size, extra == 0 ? 1 : extra, &size) ? lee_heap_try_alloc_plain(size) : NULL;
}

void *lee_heap_alloc_array_plain(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    if (!array_size(count, elem_size, extra == 0 ? 1 : extra, &size))
        lee_fault_memory_array(site, count, elem_size);
    return lee_heap_alloc_plain(site, size);
}

/* What kind of cell an object is in; `count` is 0 if in none. */
static const struct lee_cell_info *info_of(const void *object) {
    unsigned code = lee_code_at(lee_chunk_at(object), lee_block_index((uintptr_t)object));
    return &lee_cell_info[code == LEE_CODE_SMALL ? lee_small_code((uintptr_t)object) : code];
}

LEE_UNCHECKED size_t lee_heap_size(const void *object) {
    const struct lee_cell_info *info = info_of(object);
    if (info->count == 0)
        return lee_large_find(lee_chunk_at(object), (uintptr_t)object)->bytes;
    if (info->family == LEE_PLAIN)
        return info->bytes;
    return info->bytes - LEE_HEADER_BYTES - (((const uintptr_t *)object)[-1] >> 48);
}

LEE_UNCHECKED size_t lee_heap_block_size(const void *object) {
    uintptr_t word = (uintptr_t)object;
    struct lee_chunk *chunk = lee_chunk_of(word);
    if (chunk == NULL || lee_owner_in(chunk, word) == NULL)
        return 0;
    size_t number = lee_block_index(word);
    if (lee_code_at(chunk, number) == LEE_CODE_SMALL)
        return lee_small_code(word) != LEE_CODE_NONE ? lee_heap_size(object) : 0;
    const struct lee_cell_info *info = &lee_cell_info[lee_code_at(chunk, number)];
    if (info->count == 0) {
        struct lee_block *block = lee_large_find(chunk, word);
        return block != NULL && lee_large_start(block) == word ? block->bytes : 0;
    }
    size_t at = word - lee_block_start(chunk, number) - info->origin;
    return at % info->bytes == 0 ? lee_heap_size(object) : 0;
}

size_t lee_heap_aligned_size(const void *address, size_t align) {
    struct lee_heap *heap = lee_heap_self();
    struct lee_object object;
    if (heap == NULL || !lee_object_find(heap, (uintptr_t)address, &object) ||
        object.start + (align - (object.start & (align - 1))) != (uintptr_t)address)
        return 0;
    return object.bytes - align;
}

/* What may be copied out of an object: of a plain cell only what was asked for may be read. */
LEE_UNCHECKED static void copy(unsigned char *to, const unsigned char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i];
}

static void *keep(void *fresh, const void *old, size_t elements) {
    if (fresh != NULL && old != NULL) {
        size_t had = lee_heap_size(old), bytes = had < elements ? had : elements;
#ifdef LEE_ASAN
        copy(fresh, old, bytes);
#else
        (void)copy;
        memcpy(fresh, old, bytes);
#endif
    }
    return fresh;
}

void *lee_heap_try_realloc_array(const void *old, int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    if (!array_size(count, elem_size, extra, &size))
        return NULL;
    return keep(lee_heap_try_alloc(size), old, size - extra);
}

void *lee_heap_realloc_array(const struct lee_site *site, const void *old, int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    if (!array_size(count, elem_size, extra, &size))
        lee_fault_memory_array(site, count, elem_size);
    void *fresh = lee_heap_try_realloc_array(old, count, elem_size, extra);
    if (fresh == NULL)
        lee_fault_memory(site, size);
    return fresh;
}

/* Codes number the bins in their order; half of the origin is the header. */
static inline void put(struct lee_heap_bins *heap, void *object, unsigned code) {
    const struct lee_cell_info *info = &lee_cell_info[code];
    lee_cell_put((unsigned char *)object - info->origin / 2, heap, &heap->bins[0][0] + (code - LEE_CODE_CELLS), info->bytes);
}

/* What is in no block of cells. */
static __attribute__((noinline)) void free_elsewhere(struct lee_heap_bins *heap, void *object, unsigned code) {
    if (code == LEE_CODE_SMALL)
        put(heap, object, lee_small_code((uintptr_t)object));
    else
        lee_large_free(lee_heap_of(heap), object);
}

void lee_heap_free(void *object) {
    struct lee_chunk *chunk = lee_chunk_at(object);
    unsigned code = lee_code_at(chunk, lee_block_index((uintptr_t)object));
    if (__builtin_expect(code - LEE_CODE_CELLS >= LEE_CODE_LARGE - LEE_CODE_CELLS, 0))
        free_elsewhere(lee_self, object, code);
    else
        put(lee_self, object, code);
}

LEE_UNCHECKED static bool fits_typed(const void *old, size_t size, unsigned family) {
    const struct lee_cell_info *info = info_of(old);
    return info->count != 0 && info->family == family &&
           info->bytes - LEE_HEADER_BYTES - (((const uintptr_t *)old)[-1] >> 48) == size;
}

LEE_UNCHECKED static void set_header(void *object, const struct lee_layout *layout) {
    uintptr_t *header = (uintptr_t *)object - 1;
    *header = (*header >> 48 << 48) | (uintptr_t)layout | LEE_HEADER_ALLOCATED;
}

void *lee_heap_reuse_typed(const struct lee_site *site, void *old, size_t size, const struct lee_layout *layout) {
    if (old != NULL) {
        if (fits_typed(old, size, layout->drop != NULL ? LEE_OWNER : LEE_TYPED)) {
            set_header(old, layout);
            return memset(old, 0, size);
        }
        lee_heap_free(old);
    }
    return lee_heap_alloc_typed(site, size, layout);
}

void *lee_heap_reuse_plain(const struct lee_site *site, void *old, size_t size) {
    if (old != NULL) {
        const struct lee_cell_info *info = info_of(old);
        if (size <= LEE_CELL_MOST && info->count != 0 && info->family == LEE_PLAIN &&
            info->bytes == lee_class_bytes(lee_class_of_aligned(size))) {
            LEE_POISON(old, info->bytes);
            LEE_UNPOISON(old, size);
            return memset(old, 0, size);
        }
        lee_heap_free(old);
    }
    return lee_heap_alloc_plain(site, size);
}
