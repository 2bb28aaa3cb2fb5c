/* heap.h: the inside of a heap. COLLECTOR.md has the why.
 *
 * A heap begins with pages of 4 KB (small.c), in the first of which it lies itself. Then it takes units, which it cuts into blocks of 64 KB (blocks.c). A block holds cells of one family and class (cells.c),
 * or is part of a larger object (large.c), or pages (page_supply.c). Everything in a heap is touched by the thread that
 * runs its process only. */
#ifndef LEE_SRC_HEAP_H
#define LEE_SRC_HEAP_H

#include <lee/cells.h>
#include <lee/collect.h>

#include <stdint.h>

#include "huge.h"
#include "page_table.h"

/* What `lee_chunk.code` says of a block. */
enum {
    LEE_CODE_NONE = 0,
    LEE_CODE_CELLS = 1, /* + family * LEE_CLASSES + class, which is also the number of the bin */
    LEE_CODE_LARGE = LEE_CODE_CELLS + LEE_FAMILIES * LEE_CLASSES, /* a block of an object that takes whole blocks */
    LEE_CODE_UNITS, /* an object that takes whole units */
    LEE_CODE_PAGES,
    LEE_CODE_SMALL, /* pages of 4 KB that have maps of their own */
    LEE_CODES
};

/* What a word is divided by. */
struct lee_cell_info {
    uint32_t reciprocal; /* of `bytes`, rounded up, times 2^32; exact for offsets below 2^16 */
    uint32_t bytes;
    uint16_t count;  /* cells in a block; 0 for codes that are not cells */
    uint8_t origin;  /* of the first object */
    uint8_t family;
    uint8_t class_;
    uint8_t unused[3];
};
extern const struct lee_cell_info lee_cell_info[LEE_CODES];

enum {
    LEE_PAGE_SIZES = 4,  /* 4 to 32 KB */
    LEE_STRESS_NEVER = 0,
    LEE_DEAD_BYTE = 0xea /* even: as a header it says `not allocated` */
};

enum block_state {
    BLOCK_FREE,
    BLOCK_FULL,    /* all cells were handed out */
    BLOCK_CURRENT, /* the bin takes from it; from `fresh` on its mark bits say what lives */
    BLOCK_UNSWEPT  /* its mark bits say what lives */
};

/* What else a bin has. */
struct lee_bin_blocks {
    struct lee_block *current;
    struct lee_block *unswept; /* list, in order of addresses */
    struct lee_block *full;
};

struct lee_free_pages {
    struct lee_free_pages *next;
};

/* A growing array outside the heap. */
struct lee_vector {
    void *data;
    size_t bytes, room;
};

struct lee_finalizer;
struct lee_finalizer_queue;
struct lee_marker;
struct lee_process;
struct lee_weak;

struct lee_heap_counts {
    size_t collections, trims;
    size_t live_objects, live_bytes; /* found by the last collection */
    uint64_t pause_last, pause_most, pause_all; /* ns */
    uint64_t mark_last;
    size_t allocated;  /* bytes of cells, blocks and units handed out in all */
    size_t blocks, units;
    size_t dropped, weak_cleared, finalized, overflows;
    size_t snapshots, snapshots_lost; /* begun; that ended as a collection that stops */
    /* For tests of what work costs: finalizers, waiting tasks, custodians, and objects that are shared
     * that were looked at by what must be linear (ACCOUNTING.md, "Linear"). */
    size_t steps;
};

struct lee_heap {
    struct lee_heap_bins inline_part; /* first: `lee_self` points here */
    struct lee_process *process;      /* null: of nobody, for tests */
    struct lee_bin_blocks (*blocks_of)[LEE_CLASSES]; /* by family; null until the first block of cells is taken */
    struct lee_small *small;    /* pages of 4 KB */
    struct lee_unit *units;     /* of kind blocks */
    struct lee_unit *available[2]; /* the unit that last had a free block with pointers, and without */
    struct lee_unit *large;     /* first units of objects that take units */
    struct lee_free_pages *pages[LEE_PAGE_SIZES];
    size_t blocks_used, blocks_free_dirty, units_held, large_bytes;
    size_t key_bytes;                /* of arenas behind keys that the last collection found */
    size_t since_collection, budget; /* bytes handed out, and when the next collection is due */
    size_t live_marked;              /* bytes that the last marking found; `live_bytes` may have some more that were handed out meanwhile */
    uintptr_t stack_end;             /* of the first task that used it: the highest address; 0: stacks are no roots */
    struct lee_root roots;           /* head of the list */
    struct lee_weak *weak;           /* all whose target lives, as far as is known */
    struct {
        struct lee_finalizer *first, *last; /* what may come into queues, in the order in which it was added */
    } finalizers;
    struct lee_finalizer_queue *found_queues; /* while they are processed: those found, and not gone through yet */
    size_t allowance;                /* when `counts.allocated` reaches it, custodians are asked; SIZE_MAX: never */
    size_t flushed;                  /* of `counts.allocated`: what custodians were told of */
    size_t run_most;                 /* bytes of cells that a bin gets at once */
    uint64_t with_run[LEE_FAMILIES]; /* a bit for each class whose bin was given a run since the last `lee_bins_flush` */
    intptr_t credit_given;           /* of `free_credit`, when it was last given */
    unsigned small_pages;
    uint16_t small_room;             /* no page of 4 KB has room for a cell of more bytes */
    unsigned trim_patience;          /* grows while looking for empty blocks finds few */
    size_t stress, stress_left; /* collect at each Nth slow allocation */
    unsigned disposing; /* owned objects are being freed: what is on the list is reached from nowhere, so nothing is collected */
    bool snapshot; /* a child marks (snapshot.h): blocks that are taken are young, nothing is swept or given back */
    bool collecting, enabled, trace, verify, huge, scans_globals;
    struct lee_marker *volatile marking; /* while the process may be stopped in the marker, and ended there; else null */
    bool mending; /* some units may be broken (mend.h) */
    uint64_t mend_next; /* when it is time for the next one */
    struct {
        size_t before; /* bytes in use */
        size_t fresh;  /* handed out since the one before */
        uint64_t start, first_pause, ended;
    } collection; /* what was so when the collection that runs, or the snapshot, began; and when the last one ended */
    struct lee_huge huge_pages; /* whether they are worth it */
    struct lee_heap_counts counts;
};

/* Settings read from the environment once. */
struct lee_heap_settings {
    bool huge;             /* LEE_HUGE=0: no huge pages */
    bool prefetch;         /* for measurements only */
    bool trace;            /* LEE_GC_TRACE=1 */
    bool verify;           /* LEE_GC_VERIFY=1: each collection is checked by a second trace */
    size_t stress;         /* LEE_GC_STRESS=N */
    size_t grow_percent;   /* LEE_GC_GROW: how much is allocated between collections, of what lives */
    size_t least_budget;   /* bytes that are allocated before a collection is worth it */
    unsigned snapshot;     /* LEE_GC_SNAPSHOT */
    enum { LEE_ACCOUNTING_USUAL, LEE_ACCOUNTING_NONE, LEE_ACCOUNTING_ALWAYS } accounting; /* LEE_ACCOUNTING */
};
extern struct lee_heap_settings lee_heap_settings;

static inline struct lee_heap *lee_heap_of(struct lee_heap_bins *bins) {
    return (struct lee_heap *)(void *)bins;
}

/* Bytes of all that it has taken; null has nothing. */
static inline size_t lee_heap_held(const struct lee_heap *heap) {
    return heap == NULL ? 0 : heap->blocks_used * LEE_BLOCK_BYTES + heap->small_pages * LEE_PAGE_BYTES + heap->large_bytes;
}

static inline unsigned lee_cell_code(unsigned family, unsigned class_) {
    return LEE_CODE_CELLS + family * LEE_CLASSES + class_;
}

static inline unsigned lee_code_at(struct lee_chunk *chunk, size_t block) {
    return atomic_load_explicit(&chunk->code[block], memory_order_relaxed);
}

static inline void lee_code_set(struct lee_chunk *chunk, size_t block, unsigned code) {
    atomic_store_explicit(&chunk->code[block], (uint8_t)code, memory_order_relaxed);
}

static inline const struct lee_layout *lee_header_layout(uintptr_t header) {
    return (const struct lee_layout *)(header & (((uintptr_t)1 << 48) - 8));
}

static inline size_t lee_block_number(struct lee_chunk *chunk, const struct lee_block *block) {
    return (size_t)(block - chunk->blocks);
}

/* heap_new.c */
struct lee_heap *lee_heap_new(void);
/* The heap of a thread that nobody made one for: with the stack and the globals as roots. */
struct lee_heap *lee_heap_new_for_thread(void);
/* From now on it is the heap of the process that runs on this thread. */
void lee_heap_use(struct lee_heap *heap);
/* Gives all of its memory back; no drop action runs. */
void lee_heap_delete(struct lee_heap *heap);
/* Whether collections may run: false once a second thread has made a heap for itself, for nobody can stop that thread to
 * look at its stack. */
bool lee_heap_may_collect(const struct lee_heap *heap);
/* Whether there is no other, of a thread or of a test. */
bool lee_heap_is_only(void);

/* blocks.c: blocks of 64 KB. `count` of them in a row inside a unit; their code is set. Those without pointers lie apart from others
 * where they can: snapshots do not copy them. */
struct lee_block *lee_blocks_take(struct lee_heap *heap, unsigned count, unsigned code);
/* The same for large objects, whose code does not say whether they have pointers. */
struct lee_block *lee_blocks_take_for(struct lee_heap *heap, unsigned count, unsigned code, bool plain);
void lee_blocks_give(struct lee_heap *heap, struct lee_block *first, unsigned count);
/* Gives the memory of free blocks back to the system, all but about `keep` bytes, and whole units to the page allocator.
 * Returns the bytes. */
size_t lee_blocks_release(struct lee_heap *heap, size_t keep);

/* Makes so many units huge pages, if the system has them at hand (huge.h). Writes 0 to the first byte of the first
 * unit, and to that of others only after a slow one: what is in them is lost, or is 0. */
void lee_blocks_huge(struct lee_heap *heap, void *start, size_t units);

/* large.c */
void *lee_large_take(struct lee_heap *heap, size_t bytes, uintptr_t header, bool zeroed);
void lee_large_free(struct lee_heap *heap, void *object);
/* What one of so many bytes takes, and is charged. */
size_t lee_large_charge(size_t bytes);
/* The block that describes the object that `word` points into, null if there is none. */
struct lee_block *lee_large_find(struct lee_chunk *chunk, uintptr_t word);
uintptr_t lee_large_start(struct lee_block *block);

/* cells.c: a cell when the heap's bin has none at hand. Null if there is no memory. */
void *lee_cell_refill(struct lee_heap *heap, unsigned family, unsigned class_);

/* sweep.c */
bool lee_bin_refill(struct lee_heap *heap, unsigned family, unsigned class_);
/* Sweeps what is left of the last collection: afterwards no dead cell looks allocated. */
void lee_sweep_finish(struct lee_heap *heap);
/* After marking: all blocks become unswept, those without a live cell go. */
void lee_sweep_begin(struct lee_heap *heap);
/* Takes back the fresh cells that bins were handed and did not use. */
void lee_bins_flush(struct lee_heap *heap);
/* A snapshot's marks, by units and by large objects, are taken over; all cells that were handed out since are marked. */
void lee_sweep_adopt(struct lee_heap *heap, const uint8_t (*marks)[LEE_BLOCKS_A_UNIT * LEE_BLOCK_MARK_BYTES], const uint8_t *large);
/* Behind it: free and fresh cells lose their marks, and no bin has cells any more. */
void lee_sweep_drop_free(struct lee_heap *heap);
/* Fills memory of free cells, which AddressSanitizer does not let others touch. */
void lee_cells_fill(uintptr_t start, size_t bytes, int value);
/* Turns the free lists into mark bits, as if a collection had found the freed cells dead, and gives back what is empty. */
void lee_heap_trim(struct lee_heap *heap);

/* collect.c. Others do not run meanwhile, but for what `lee_heap_poll` and `lee_collect` begin. */
void lee_heap_collect(struct lee_heap *heap);
/* Collects if it is time to, or begins or ends a snapshot. True if there may be cells again. */
bool lee_heap_poll(struct lee_heap *heap, size_t bytes);
/* The same at once: a collection, one half of a snapshot. */
void lee_heap_step(struct lee_heap *heap);
/* The process was stopped in the marker, if `heap->marking` is set, and does not go on there. */
void lee_heap_stop_marking(struct lee_heap *heap);
/* LEE_GC_STRESS: counts an allocation that left the inline path, and collects when it is time. */
static inline void lee_heap_stress(struct lee_heap *heap) {
    if (heap->stress == LEE_STRESS_NEVER || --heap->stress_left != 0)
        return;
    heap->stress_left = heap->stress;
    if (heap->enabled)
        lee_heap_step(heap);
}
/* Gives back all memory that is not in use: what the idle path calls. */
size_t lee_heap_idle(struct lee_heap *heap);

#ifdef LEE_NO_GC
#define lee_custodians_ask(heap, bytes) ((void)(heap), (void)(bytes))
#define lee_custodians_starved(heap) ((void)(heap), false)
#else
/* custodian.c */
void lee_custodian_check(struct lee_heap *heap, size_t bytes);
bool lee_custodian_starved(struct lee_heap *heap);

/* Before `bytes` are handed out: two loads and a comparison, unless somebody's limit is near. May collect, and may not return. */
static inline void lee_custodians_ask(struct lee_heap *heap, size_t bytes) {
    if (__builtin_expect(heap->counts.allocated + bytes > heap->allowance, 0))
        lee_custodian_check(heap, bytes);
}

/* A process was refused memory because of a limit of its custodians (group.h). */
extern bool lee_group_refused;

/* There is no memory. Whether asking again makes sense, because somebody was shut down. May not return. */
static inline bool lee_custodians_starved(struct lee_heap *heap) {
    return (heap->allowance != SIZE_MAX || __atomic_load_n(&lee_group_refused, __ATOMIC_RELAXED)) && lee_custodian_starved(heap);
}
#endif

/* page_supply.c: blocks of which no page is in use go back. */
void lee_pages_trim(struct lee_heap *heap);

/* vector.c */
void *lee_vector_add(struct lee_vector *vector, size_t bytes);
void lee_vector_free(struct lee_vector *vector);
static inline void *lee_vector_end(const struct lee_vector *vector) {
    return (unsigned char *)vector->data + vector->bytes;
}

/* heap.c: the bytes asked for when the object was made; of cells without a header, those of the cell. */
size_t lee_object_bytes(const void *object);

/* find.c: any object, found by division. */
struct lee_object {
    uintptr_t start;
    size_t bytes;
    uintptr_t header;
    bool live;     /* its mark bit is set */
    size_t charge; /* what it takes, as accounts count it */
    bool dead;     /* between collections: the last one found it dead, and nobody took its cell since */
};
/* The object that a word points into; false if there is none. */
bool lee_object_find(struct lee_heap *heap, uintptr_t word, struct lee_object *object);
const char *lee_heap_validate(struct lee_heap *heap);

#endif
