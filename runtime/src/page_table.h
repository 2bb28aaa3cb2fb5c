/* page_table.h: what any word is, in two loads.
 *
 * Promises: a reader needs no lock. The table has an entry for each window of 256 MB of the address
 * space. An entry without a meaning may get one; an entry with a meaning keeps it for the life of
 * the program, so a value that was read is never wrong later. Behind an entry that is ours stands a
 * description of the window, which never goes away either. What it says of a unit changes only
 * while the unit belongs to nobody, or by its owner: so a heap that finds its own name there may
 * trust the rest, and one that finds another name has nothing to do with the word. PAGES.md has the
 * why. */
#ifndef LEE_PAGE_TABLE_H
#define LEE_PAGE_TABLE_H

#include <lee/pages.h>

#include <stdatomic.h>

enum {
    LEE_CHUNK_SHIFT = 28,
    LEE_UNIT_SHIFT = 21,
    LEE_BLOCK_SHIFT = 16,
    LEE_ADDRESS_BITS = 48,
    LEE_WINDOWS = 1 << (LEE_ADDRESS_BITS - LEE_CHUNK_SHIFT),
    LEE_CHUNK_UNITS = LEE_CHUNK_BYTES / LEE_UNIT_BYTES,
    LEE_CHUNK_BLOCKS = LEE_CHUNK_BYTES / LEE_BLOCK_BYTES,
    LEE_BLOCKS_A_UNIT = LEE_UNIT_BYTES / LEE_BLOCK_BYTES,
    LEE_BLOCK_MARK_BYTES = LEE_BLOCK_BYTES / 16 / 8, /* a bit for each cell, none is smaller than 16 bytes */
    LEE_SKIP_LEVELS = 12 /* enough for 4^12 free ranges */
};

enum lee_unit_kind {
    LEE_UNIT_NONE,   /* not ours, or not reserved yet */
    LEE_UNIT_FREE,
    LEE_UNIT_BLOCKS, /* cut into blocks of 64 KB by its owner */
    LEE_UNIT_LARGE,  /* one object, from its first unit on */
    LEE_UNIT_PAGES,  /* an arena's, a stack's: no objects */
    LEE_UNIT_SMALL   /* cut into pages of 4 KB for small heaps; each page has its own owner (small.h) */
};

/* A range of free units, described where its first unit is. One node of two skip lists. */
struct lee_range {
    uintptr_t start;
    size_t units;
    unsigned levels;
    struct lee_range *next[2][LEE_SKIP_LEVELS]; /* [0] by address, [1] by size and address */
};

enum { LEE_SMALL_WORDS = LEE_UNIT_BYTES / LEE_PAGE_BYTES / 64 };

/* Of a unit of pages of 4 KB: a bit for each that is free, and of those for each that may be resident. */
struct lee_small_unit {
    uint64_t free[LEE_SMALL_WORDS], dirty[LEE_SMALL_WORDS];
    unsigned used;
};

/* What is known of a unit in one of its states only. */
union lee_unit_detail {
    struct lee_range range;
    struct lee_small_unit small;
};

/* The owner of a unit whose pages have owners of their own. */
#define LEE_SHARED ((struct lee_heap *)(uintptr_t)1)

/* What else there is to know of a unit; marking reads the owner only, which stands apart to save cache. */
struct lee_unit {
    _Atomic uint8_t kind;
    bool dirty;          /* may hold something else than zeros */
    bool huge;           /* was advised to be a huge page */
    bool plain;          /* its blocks have no pointers, as a rule */
    bool broken;         /* may be made of small pages nevertheless (mend.h) */
    uint32_t behind;     /* units from the first unit of a large object to this one */
    uint32_t slot;       /* while a snapshot is marked: which of its units, or large objects, it is */
    uint32_t free;       /* of a unit of blocks: which are free */
    uint32_t free_dirty; /* of those: which may hold something else than zeros */
    struct lee_unit *next, *previous; /* the owner's list */
};

struct lee_layout;

/* What a heap knows of a block of 64 KB. `heap.h` says what the fields mean to whom. */
struct lee_block {
    struct lee_block *next;
    size_t bytes;      /* of an object that takes whole blocks or units: what was asked for */
    uintptr_t header;  /* of such an object */
    uint32_t span;     /* blocks that it takes; 0 in all but the first */
    uint16_t behind;   /* blocks from the first of them to this one */
    uint8_t state;     /* enum block_state */
    uint8_t dirty;
    uint16_t fresh;    /* cells from here on were never handed out */
    uint16_t used;
    bool young;        /* was taken since the snapshot that is being marked */
};

/* A window. The mark bits come first: 2 MB, aligned so, to fit a huge page. */
struct lee_chunk {
    uint8_t marks[LEE_CHUNK_BLOCKS][LEE_BLOCK_MARK_BYTES];
    _Atomic uint8_t code[LEE_CHUNK_BLOCKS]; /* the class of the cells in each block, 0 for none */
    _Atomic(struct lee_heap *) owner[LEE_CHUNK_UNITS];
    struct lee_unit units[LEE_CHUNK_UNITS];
    struct lee_block blocks[LEE_CHUNK_BLOCKS];
    union lee_unit_detail details[LEE_CHUNK_UNITS];
    uintptr_t start;
    uint32_t holder[LEE_CHUNK_BLOCKS]; /* while a collection accounts precisely (precise.h) */
    bool wiped;      /* the mark bits are zeros in copies of the process (snapshot.c) */
    bool marks_huge; /* the mark bits were advised to be a huge page; written under no lock, so only a hint */
};

/* Entries of the table that are not chunks. */
enum { LEE_WINDOW_UNKNOWN = 0, LEE_WINDOW_FOREIGN = 1, LEE_WINDOW_STATIC = 2, LEE_WINDOW_OURS = 4096 };

extern _Atomic(uintptr_t) *lee_page_table;

/* ThreadSanitizer knows no order by dependency. */
#if defined(__SANITIZE_THREAD__)
#define LEE_DEPENDENT_LOAD memory_order_acquire
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEE_DEPENDENT_LOAD memory_order_acquire
#endif
#endif
#ifndef LEE_DEPENDENT_LOAD
#define LEE_DEPENDENT_LOAD memory_order_relaxed
#endif

/* The first load. Every later read goes through the pointer that it returns, so hardware keeps the
 * order and a relaxed load will do (C11's consume is made an acquire by compilers). Null for what
 * is not ours. */
static inline struct lee_chunk *lee_chunk_of(uintptr_t word) {
    if (word >> LEE_ADDRESS_BITS != 0)
        return NULL;
    uintptr_t entry = atomic_load_explicit(&lee_page_table[word >> LEE_CHUNK_SHIFT], LEE_DEPENDENT_LOAD);
    return entry >= LEE_WINDOW_OURS ? (struct lee_chunk *)entry : NULL;
}

/* The same for an address that is known to be ours. */
static inline struct lee_chunk *lee_chunk_at(const void *address) {
    return (struct lee_chunk *)atomic_load_explicit(&lee_page_table[(uintptr_t)address >> LEE_CHUNK_SHIFT],
                                                    LEE_DEPENDENT_LOAD);
}

static inline size_t lee_unit_index(uintptr_t word) {
    return word >> LEE_UNIT_SHIFT & (LEE_CHUNK_UNITS - 1);
}

/* The second load. */
static inline struct lee_heap *lee_owner_in(struct lee_chunk *chunk, uintptr_t word) {
    return atomic_load_explicit(&chunk->owner[lee_unit_index(word)], memory_order_relaxed);
}

static inline struct lee_unit *lee_unit_in(struct lee_chunk *chunk, uintptr_t word) {
    return &chunk->units[lee_unit_index(word)];
}

static inline size_t lee_block_index(uintptr_t word) {
    return word >> LEE_BLOCK_SHIFT & (LEE_CHUNK_BLOCKS - 1);
}

static inline uintptr_t lee_block_start(const struct lee_chunk *chunk, size_t index) {
    return chunk->start + (index << LEE_BLOCK_SHIFT);
}

/* The chunk that describes a unit, block or range: descriptions lie in one aligned piece. */
struct lee_chunk *lee_chunk_describing(const void *inside);
/* The number of a unit's first block in its chunk. */
static inline size_t lee_first_block(const struct lee_chunk *chunk, const struct lee_unit *unit) {
    return (size_t)(unit - chunk->units) * LEE_BLOCKS_A_UNIT;
}

static inline uintptr_t lee_unit_start(const struct lee_unit *unit) {
    const struct lee_chunk *chunk = lee_chunk_describing(unit);
    return lee_block_start(chunk, lee_first_block(chunk, unit));
}

/* A list of its owner's: puts the unit in front, takes it out. */
static inline void lee_unit_link(struct lee_unit **list, struct lee_unit *unit) {
    unit->previous = NULL;
    unit->next = *list;
    if (*list != NULL)
        (*list)->previous = unit;
    *list = unit;
}

static inline void lee_unit_unlink(struct lee_unit **list, struct lee_unit *unit) {
    if (unit->previous != NULL)
        unit->previous->next = unit->next;
    else
        *list = unit->next;
    if (unit->next != NULL)
        unit->next->previous = unit->previous;
}

enum lee_word_kind { LEE_WORD_FOREIGN, LEE_WORD_STATIC, LEE_WORD_OURS };

/* What a word is. In the debugging mode `lee_page_table_taint` it writes down that a window was
 * taken for foreign, by compare and exchange; a later claim of that window is then reported by
 * `lee_page_table_claim`. */
enum lee_word_kind lee_word_kind(uintptr_t word);
extern bool lee_page_table_taint;

/* Makes the table, when it is first called. False if there is no memory. */
bool lee_page_table_start(void);

/* The description of the window that holds `address`, made if there is none. `*tainted` says
 * whether a reader took the window for foreign before. Null if there is no memory. Only under the
 * page allocator's lock. */
struct lee_chunk *lee_page_table_claim(uintptr_t address, bool *tainted);

/* Static data: words in these ranges are known. Called at start, and for libraries that are loaded later. */
bool lee_page_table_add_static(uintptr_t start, uintptr_t end);

#endif
