/* Cells: the inline paths of allocation, for emitted code and the runtime.
 *
 * Promises: `lee_self` is the heap of the process that runs on this thread, and the only thread-local that is read. A cell is
 * zeroed. Cells of the families `typed` and `owner` begin with a header, a layout and flags, and the object is behind it;
 * cells of the family `plain` are the object. All functions may be interrupted anywhere: they touch the process's own heap
 * only.
 *
 * Cost: a fresh cell is two loads, a comparison, a store (and one for the header); one that was freed is two loads, a
 * store, and its zeroing. `lee_cell_free` is two loads and two stores. */
#ifndef LEE_CELLS_H
#define LEE_CELLS_H

#include <stdbool.h>

#include <lee/layout.h>
#include <lee/pages.h>
#include <lee/sanitize.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LEE_CELL_INLINE static inline __attribute__((always_inline, unused))

enum lee_family {
    LEE_PLAIN, /* no pointers, no header; 16-byte aligned, 8 in the classes of 24, 40 and 56 bytes */
    LEE_TYPED, /* header, then the object; the object is aligned likewise */
    LEE_OWNER, /* the same, with a drop action */
    LEE_FAMILIES
};

enum {
    LEE_CLASSES = 41,
    LEE_CELL_MOST = 32752, /* bytes of the largest cell, header included; larger objects take whole blocks */
    LEE_HEADER_BYTES = 8,
    LEE_HEADER_ALLOCATED = 1
};

/* Where the cells of one family and class come from. */
struct lee_bin {
    uintptr_t free;        /* the last cell that was freed: its first word links to the one before */
    uintptr_t bump, limit; /* fresh, zeroed cells */
};

/* The part of a heap that inline code knows. */
struct lee_heap_bins {
    struct lee_bin bins[LEE_FAMILIES][LEE_CLASSES];
    intptr_t free_credit; /* bytes that may still be freed before the heap looks for empty blocks */
};

extern _Thread_local struct lee_heap_bins *lee_self __attribute__((tls_model("initial-exec")));

/* The same by tables, for sizes that are not constants. */
extern const uint8_t lee_class_table[129]; /* by (bytes + 7) / 8 */
extern const uint16_t lee_class_bytes_table[LEE_CLASSES];

/* The class of the smallest cell that has `bytes` bytes; `bytes` is at most LEE_CELL_MOST. Steps of 8 up to 64, then four
 * for each power of two, then what fits twice to eight times into a block. */
LEE_CELL_INLINE unsigned lee_class_of(size_t bytes) {
    if (!__builtin_constant_p(bytes) && bytes <= 1024)
        return lee_class_table[(bytes + 7) / 8];
    if (bytes <= 64)
        return bytes <= 16 ? 0 : (unsigned)((bytes + 7) / 8 - 2);
    if (bytes <= 7168) {
        unsigned power = 63 - (unsigned)__builtin_clzll(bytes - 1);
        return 7 + (power - 6) * 4 + (unsigned)((bytes - 1) >> (power - 2) & 3);
    }
    return bytes <= 8176 ? 34 : bytes <= 9360 ? 35 : bytes <= 10912 ? 36 : bytes <= 13104 ? 37 : bytes <= 16368 ? 38 : bytes <= 21840 ? 39 : 40;
}

/* The bytes of a cell of a class. */
LEE_CELL_INLINE size_t lee_class_bytes(unsigned class_) {
    if (!__builtin_constant_p(class_))
        return lee_class_bytes_table[class_];
    if (class_ < 7)
        return 16 + 8 * (size_t)class_;
    if (class_ < 34)
        return (5 + (size_t)((class_ - 7) & 3)) << ((class_ - 7) / 4 + 4);
    return class_ == 34 ? 8176 : class_ == 35 ? 9360 : class_ == 36 ? 10912 : class_ == 37 ? 13104 : class_ == 38 ? 16368 : class_ == 39 ? 21840 : 32752;
}

/* The same for an object that needs 16-byte alignment. */
LEE_CELL_INLINE unsigned lee_class_of_aligned(size_t bytes) {
    return lee_class_of((bytes + 15) & ~(size_t)15);
}

/* A cell when the bin has none at hand: sweeps, collects, takes a block. Null if there is no memory. */
void *lee_cell_slow(enum lee_family family, unsigned class_);
/* What `lee_cell_free` calls when much was freed. */
void lee_heap_credit_used(struct lee_heap_bins *heap);

/* A zeroed cell of a bin, null if it has none at hand. With constant arguments everything folds. `zero`: the bytes that must be zero. */
LEE_CELL_INLINE void *lee_bin_take(struct lee_bin *bin, size_t bytes, size_t zero) {
    uintptr_t cell = bin->free;
    if (cell != 0) {
        LEE_CELL_OPEN(cell, bytes);
        bin->free = *(uintptr_t *)cell;
        if (zero > 0)
            __builtin_memset((void *)cell, 0, zero);
        return (void *)cell;
    }
    cell = bin->bump;
    if (__builtin_expect(cell == bin->limit, 0))
        return NULL;
    if (cell == 0)
        __builtin_unreachable(); /* only an empty bin has none: saves callers a test */
    bin->bump = cell + bytes;
    LEE_CELL_OPEN(cell, bytes);
    return (void *)cell;
}

/* The same of the process's heap, with the slow path behind it. */
LEE_CELL_INLINE void *lee_cell_take(enum lee_family family, unsigned class_, size_t bytes, size_t zero) {
    void *cell = lee_bin_take(&lee_self->bins[family][class_], bytes, zero);
    return __builtin_expect(cell != NULL, 1) ? cell : lee_cell_slow(family, class_);
}

/* An object of at most LEE_CELL_MOST - 8 bytes with the layout. `aligned`: to 16 bytes instead of 8. Null if there is
 * no memory. */
LEE_CELL_INLINE void *lee_new_typed(const struct lee_layout *layout, enum lee_family family, size_t bytes, bool aligned) {
    unsigned class_ = aligned ? lee_class_of_aligned(bytes + LEE_HEADER_BYTES) : lee_class_of(bytes + LEE_HEADER_BYTES);
    size_t cell_bytes = lee_class_bytes(class_);
    uintptr_t *cell = (uintptr_t *)lee_cell_take(family, class_, cell_bytes, cell_bytes);
    if (__builtin_expect(cell == NULL, 0))
        return NULL;
    /* The top 16 bits: how much smaller than the cell the object is. */
    cell[0] = (uintptr_t)layout | LEE_HEADER_ALLOCATED | (uintptr_t)(cell_bytes - LEE_HEADER_BYTES - bytes) << 48;
    LEE_CELL_CLOSE(cell, cell_bytes);
    LEE_CELL_OPEN(cell + 1, bytes);
    /* From here on compilers know nothing but the object: `cell` is the end of the one in front of it, to the collector. */
    void *object = cell + 1;
    __asm__ volatile("" : "+r"(object));
    return object;
}

/* An object without pointers, of at most LEE_CELL_MOST bytes; zeroed if `zeroed`. */
LEE_CELL_INLINE void *lee_new_plain(size_t bytes, bool aligned, bool zeroed) {
    unsigned class_ = aligned ? lee_class_of_aligned(bytes) : lee_class_of(bytes);
    size_t cell_bytes = lee_class_bytes(class_);
    void *cell = lee_cell_take(LEE_PLAIN, class_, cell_bytes, zeroed ? cell_bytes : 0);
    if (__builtin_expect(cell != NULL, 1)) {
        LEE_CELL_CLOSE(cell, cell_bytes);
        LEE_CELL_OPEN(cell, bytes);
    }
    return cell;
}

LEE_CELL_INLINE void lee_cell_put(void *start, struct lee_heap_bins *heap, struct lee_bin *bin, size_t bytes) {
    LEE_CELL_OPEN(start, bytes);
    *(uintptr_t *)start = bin->free; /* for typed cells this is the header: no longer allocated */
    bin->free = (uintptr_t)start;
    LEE_CELL_CLOSE(start, bytes);
    if (__builtin_expect((heap->free_credit -= (intptr_t)bytes) < 0, 0))
        lee_heap_credit_used(heap);
}

/* Gives back a cell whose family and class are known; the next allocation of that class gets it. */
LEE_CELL_INLINE void lee_cell_free(void *start, enum lee_family family, unsigned class_, size_t bytes) {
    lee_cell_put(start, lee_self, &lee_self->bins[family][class_], bytes);
}

#ifdef __cplusplus
}
#endif

#endif
