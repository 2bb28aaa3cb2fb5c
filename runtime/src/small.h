/* small.h: pages of 4 KB with cells of all classes, the first memory of each heap. PAGES.md has the why.
 *
 * Promises: pages come from units that all heaps share (of kind LEE_UNIT_SMALL, whose owner is
 * LEE_SHARED); any thread may take and give them. What is known of a page stands at its own end,
 * where no cell is: who owns it, where its cells are, which are marked. A heap that finds its name
 * there may trust the rest, as in the unit table. A cell in such a page is like any other: its bin
 * takes it back when it is freed, its header says what it holds. */
#ifndef LEE_SRC_SMALL_H
#define LEE_SRC_SMALL_H

#include "heap.h"

enum {
    LEE_SMALL_CELLS = 238,      /* places of 16 bytes in a page */
    LEE_SMALL_CELL_MOST = 1024, /* bytes of the largest cell that goes there */
    LEE_SMALL_PAGES = 2,        /* of a heap, at most; the first also holds the heap itself */
    LEE_SMALL_MORE = 0xff       /* in `map`: belongs to the object in front */
};

/* The end of a page. An object begins at a multiple of 16 bytes; its header, if it has one, lies in
 * the place before. Behind a cell without a header one more place is its own, so that nothing
 * touches it, and what is just past any object is the object's. */
struct lee_small {
    uint8_t map[LEE_SMALL_CELLS]; /* of each place: the code of the cell whose object begins there, LEE_SMALL_MORE, or LEE_CODE_NONE */
    uint16_t from;                /* where the search for free places goes on */
    uint64_t marks[4];            /* a bit for each place */
    struct lee_small *next;       /* of the heap's list */
    _Atomic(struct lee_heap *) owner;
};
_Static_assert(LEE_SMALL_CELLS * 16 + sizeof(struct lee_small) == LEE_PAGE_BYTES, "a page is full");

/* A cell in such a page. */
struct lee_small_cell {
    struct lee_small *page;
    unsigned at, code; /* its place, and what cells elsewhere have as the code of their block */
    uintptr_t object;
};

static inline uintptr_t lee_small_start(const struct lee_small *page) {
    return (uintptr_t)page & ~(uintptr_t)(LEE_PAGE_BYTES - 1);
}

/* What stands at the end of the page that holds `address`. */
static inline struct lee_small *lee_small_of(uintptr_t address) {
    return (struct lee_small *)((address & ~(uintptr_t)(LEE_PAGE_BYTES - 1)) + LEE_SMALL_CELLS * 16);
}

/* The object of a mark bit. */
static inline uintptr_t lee_small_object(const unsigned char *mark, unsigned bit) {
    const struct lee_small *page = lee_small_of((uintptr_t)mark);
    return lee_small_start(page) + ((size_t)(mark - (const unsigned char *)page->marks) * 8 + bit) * 16;
}

static inline bool lee_small_marked(const struct lee_small_cell *cell) {
    return (cell->page->marks[cell->at / 64] >> cell->at % 64 & 1) != 0;
}

/* The place of the object that a word points into, in a window of ours but in no unit of the
 * heap's; 0, where none is, if there is none. */
static inline unsigned lee_small_place(const struct lee_heap *heap, struct lee_chunk *chunk, uintptr_t word) {
    const struct lee_small *page = lee_small_of(word);
    unsigned at = (unsigned)(word & (LEE_PAGE_BYTES - 1)) / 16;
    if (lee_owner_in(chunk, word) != LEE_SHARED || at >= LEE_SMALL_CELLS ||
        atomic_load_explicit(&page->owner, LEE_DEPENDENT_LOAD) != heap)
        return 0;
    while (page->map[at] == LEE_SMALL_MORE)
        at--;
    return page->map[at] == LEE_CODE_NONE ? 0 : at;
}

/* A page for a heap, whose cells hold anything. Null if there is no memory. */
struct lee_small *lee_small_take(struct lee_heap *owner);
void lee_small_give(struct lee_small *page);
/* Gives the memory of free pages back to the system, but for a few that other workers keep, and units of which no page is
 * used. Returns the bytes. */
size_t lee_small_trim(void);
/* Bytes of the heap's pages, and of those that were given back and may be resident. */
size_t lee_small_charged(const struct lee_heap *heap);

/* The cell that a word points into, allocated or not; false if the word is not in a page of the heap's. */
bool lee_small_find(struct lee_heap *heap, uintptr_t word, struct lee_small_cell *cell);
/* The code of the cell of an object that is known to be in such a page; LEE_CODE_NONE if no object
 * starts there. */
unsigned lee_small_code(uintptr_t object);
/* The next cell of the heap; `*cell` is zeroed before the first. */
bool lee_small_next(struct lee_heap *heap, struct lee_small_cell *cell);

/* Gives an empty bin a cell, if there is room. */
bool lee_small_refill(struct lee_heap *heap, unsigned family, unsigned class_);
void lee_small_clear_marks(struct lee_heap *heap);
/* All cells count as live, but for one that is freed. */
void lee_small_mark_all(struct lee_heap *heap);
void lee_small_unmark(uintptr_t object);
/* The places of cells that are not marked become free. No bin has a cell. */
void lee_small_sweep(struct lee_heap *heap);

/* The first thing wrong, or null. */
const char *lee_small_validate(struct lee_heap *heap);

#endif
