/* cells.c: cells when the inline path has none, and the table of their sizes. */
#include "group.h"
#include "heap.h"
#include "poison.h"
#include "process.h"

#define CELLS(size, origin_, family_, class__)                                                                         \
    {.reciprocal = (uint32_t)((((uint64_t)1 << 32) + (size)-1) / (size)),                                              \
     .bytes = (size),                                                                                                  \
     .count = (uint16_t)((LEE_BLOCK_BYTES - (origin_)) / (size)),                                                      \
     .origin = (origin_),                                                                                              \
     .family = (family_),                                                                                              \
     .class_ = (class__)}
#define FOUR(f, o, c, a)                                                                                               \
    CELLS(5 << (a), o, f, c), CELLS(6 << (a), o, f, c + 1), CELLS(7 << (a), o, f, c + 2), CELLS(8 << (a), o, f, c + 3)
#define FAMILY(f, o)                                                                                                   \
    CELLS(16, o, f, 0), CELLS(24, o, f, 1), CELLS(32, o, f, 2), CELLS(40, o, f, 3), CELLS(48, o, f, 4),                \
        CELLS(56, o, f, 5), CELLS(64, o, f, 6), FOUR(f, o, 7, 4), FOUR(f, o, 11, 5), FOUR(f, o, 15, 6),                \
        FOUR(f, o, 19, 7), FOUR(f, o, 23, 8), FOUR(f, o, 27, 9), CELLS(5 << 10, o, f, 31), CELLS(6 << 10, o, f, 32),   \
        CELLS(7 << 10, o, f, 33), CELLS(8176, o, f, 34), CELLS(9360, o, f, 35), CELLS(10912, o, f, 36),                \
        CELLS(13104, o, f, 37), CELLS(16368, o, f, 38), CELLS(21840, o, f, 39), CELLS(32752, o, f, 40)

/* Typed objects lie at the end of their cells' headers, so the first is 16 bytes into the block; a pointer just past an
 * object is then in the next header, which the division still counts to the object. */
const struct lee_cell_info lee_cell_info[LEE_CODES] = {{0}, FAMILY(LEE_PLAIN, 0), FAMILY(LEE_TYPED, 16), FAMILY(LEE_OWNER, 16)};

/* What `lee_class_of` and `lee_class_bytes` compute; heap_test compares. */
const uint8_t lee_class_table[129] = {
    0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 11,
    11, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 15, 15, 15, 15,
    15, 16, 16, 16, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 17, 17, 17, 18, 18, 18,
    18, 18, 18, 18, 18, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19,
    19, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 21, 21, 21,
    21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 21, 22, 22, 22, 22, 22, 22, 22,
    22, 22, 22, 22, 22, 22, 22, 22, 22,
};
const uint16_t lee_class_bytes_table[LEE_CLASSES] = {
    16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224,
    256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560,
    3072, 3584, 4096, 5120, 6144, 7168, 8176, 9360, 10912, 13104, 16368, 21840, 32752,
};

const struct lee_layout lee_layout_conservative = {.bytes = 8, .kind = LEE_LAYOUT_CONSERVATIVE, .name = "(any)"};
const struct lee_layout lee_layout_plain = {.bytes = 1, .kind = LEE_LAYOUT_PLAIN, .name = "(plain)"};

static struct lee_heap_bins no_heap; /* all bins are empty: the slow path makes a heap */
_Thread_local struct lee_heap_bins *lee_self __attribute__((tls_model("initial-exec"))) = &no_heap;

void lee_heap_enter(struct lee_process *process) {
    lee_self = process->heap != NULL ? &process->heap->inline_part : &no_heap;
}

/* It has nothing to collect yet; if it is refused memory, another gives some back, or the victim of
 * the limit ends. */
static __attribute__((noinline, cold)) struct lee_heap *new_of_process(void) {
    struct lee_heap *heap = lee_heap_new();
#ifndef LEE_NO_GC
    while (heap == NULL && __atomic_load_n(&lee_group_refused, __ATOMIC_RELAXED) && lee_group_starved())
        heap = lee_heap_new();
#endif
    return heap;
}

struct lee_heap *lee_heap_self(void) {
    if (lee_self == &no_heap) {
        struct lee_heap *heap = lee_process_is_spawned() ? new_of_process() : lee_heap_new_for_thread();
        if (heap == NULL)
            return NULL;
        lee_heap_use(heap);
    }
    return lee_heap_of(lee_self);
}

/* Takes from a bin that has a cell; the same as the inline path. */
LEE_UNCHECKED static void *take(struct lee_bin *bin, size_t bytes) {
    uintptr_t cell = bin->free;
    if (cell != 0) {
        LEE_UNPOISON(cell, bytes);
        bin->free = *(uintptr_t *)cell;
        __builtin_memset((void *)cell, 0, bytes);
        return (void *)cell;
    }
    if (bin->bump == bin->limit)
        return NULL;
    cell = bin->bump;
    bin->bump = cell + bytes;
    LEE_UNPOISON(cell, bytes);
    return (void *)cell;
}

void *lee_cell_slow(enum lee_family family, unsigned class_) {
    struct lee_heap *heap = lee_heap_self();
    return heap == NULL ? NULL : lee_cell_refill(heap, family, class_);
}

void *lee_cell_refill(struct lee_heap *heap, unsigned family, unsigned class_) {
    lee_heap_stress(heap);
    struct lee_bin *bin = &heap->inline_part.bins[family][class_];
    size_t bytes = lee_class_bytes(class_);
    void *cell = take(bin, bytes);
    if (cell == NULL && lee_bin_refill(heap, family, class_))
        cell = take(bin, bytes);
    return cell;
}

void lee_heap_credit_used(struct lee_heap_bins *bins) {
    struct lee_heap *heap = lee_heap_of(bins);
    /* A small heap has nothing to give back that is worth the look; the idle path gets it. */
    if (heap->blocks_used * LEE_BLOCK_BYTES > lee_heap_settings.least_budget)
        lee_heap_trim(heap);
    else
        bins->free_credit = heap->credit_given = (intptr_t)lee_heap_settings.least_budget;
}
