/* small.c: see small.h. */
#include "small.h"

#include <pthread.h>

#include "poison.h"
#include "process.h"
#include "system.h"
#include "units.h"
#include "worker.h"

enum { UNIT_PAGES = LEE_UNIT_BYTES / LEE_PAGE_BYTES, CELLS_BYTES = LEE_SMALL_CELLS * 16, KEPT_MOST = 8 };

_Static_assert(UNIT_PAGES == 64 * LEE_SMALL_WORDS, "a bit for each page of a unit");

/* --- pages ------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lee_unit *with_free; /* list of the units that have a free page */

/* Pages that heaps gave back on this worker, for the next heap that is made there: they stay charged and
 * count as used, and taking them needs no lock. Threads that may end keep none. */
static _Thread_local struct {
    struct lee_small *first;
    unsigned count;
} kept;
static atomic_size_t kept_pages; /* by all */

static struct lee_small_unit *detail_of(struct lee_unit *unit) {
    struct lee_chunk *chunk = lee_chunk_describing(unit);
    return &chunk->details[unit - chunk->units].small;
}

static void set_codes(struct lee_unit *unit, unsigned code) {
    struct lee_chunk *chunk = lee_chunk_describing(unit);
    for (size_t i = 0, first = lee_first_block(chunk, unit); i < LEE_BLOCKS_A_UNIT; i++)
        lee_code_set(chunk, first + i, code);
}

static struct lee_unit *add_unit(void) {
    bool zeroed;
    void *start = lee_units_take(NULL, LEE_UNIT_SMALL, 1, &zeroed);
    if (start == NULL)
        return NULL;
    /* What others left there must not look like the end of a page. */
    if (!zeroed && !lee_system_discard(start, LEE_UNIT_BYTES))
        __builtin_memset(start, 0, LEE_UNIT_BYTES);
    struct lee_chunk *chunk = lee_chunk_at(start);
    struct lee_unit *unit = lee_unit_in(chunk, (uintptr_t)start);
    struct lee_small_unit *detail = detail_of(unit);
    for (unsigned i = 0; i < LEE_SMALL_WORDS; i++) {
        detail->free[i] = UINT64_MAX;
        detail->dirty[i] = 0;
    }
    detail->used = 0;
    LEE_UNPOISON(start, LEE_UNIT_BYTES);
    for (size_t at = 0; at < LEE_UNIT_BYTES; at += LEE_PAGE_BYTES)
        LEE_POISON((uintptr_t)start + at, CELLS_BYTES);
    LEE_LEAK_ROOT(start, LEE_UNIT_BYTES);
    set_codes(unit, LEE_CODE_SMALL);
    lee_unit_link(&with_free, unit);
    atomic_store_explicit(&chunk->owner[lee_unit_index((uintptr_t)start)], LEE_SHARED, memory_order_release);
    return unit;
}

/* The first set bit, or -1. */
static int first_of(const uint64_t *words) {
    for (unsigned i = 0; i < LEE_SMALL_WORDS; i++) {
        if (words[i] != 0)
            return (int)(i * 64) + __builtin_ctzll(words[i]);
    }
    return -1;
}

/* A free page, charged; those that may be resident first. 0 if there is none. */
static uintptr_t take_page(void) {
    struct lee_unit *unit = with_free != NULL ? with_free : add_unit();
    if (unit == NULL)
        return 0;
    struct lee_small_unit *detail = detail_of(unit);
    int at = first_of(detail->dirty);
    if (at < 0 && !lee_memory_charge(LEE_PAGE_BYTES))
        return 0;
    if (at < 0)
        at = first_of(detail->free);
    detail->free[at / 64] &= ~((uint64_t)1 << at % 64);
    detail->dirty[at / 64] &= ~((uint64_t)1 << at % 64);
    if (++detail->used == UNIT_PAGES)
        lee_unit_unlink(&with_free, unit);
    return lee_unit_start(unit) + (uintptr_t)at * LEE_PAGE_BYTES;
}

/* The last page that this worker kept; null if there is none. */
static struct lee_small *take_kept(void) {
    struct lee_small *page = kept.first;
    if (page == NULL)
        return NULL;
    kept.first = page->next;
    kept.count--;
    atomic_fetch_sub_explicit(&kept_pages, 1, memory_order_relaxed);
    page->next = NULL;
    return page;
}

struct lee_small *lee_small_take(struct lee_heap *owner) {
    /* The first page of a heap is taken for the process that runs; other heaps than a process's pay
     * for none. */
    struct lee_process *payer = owner == NULL ? lee_process : owner->process;
    if (lee_system_fails() || !lee_process_charge(payer, LEE_PAGE_BYTES))
        return NULL;
    struct lee_small *page = take_kept();
    if (page == NULL) {
        pthread_mutex_lock(&lock);
        uintptr_t start = take_page();
        pthread_mutex_unlock(&lock);
        if (start == 0) {
            lee_process_uncharge(payer, LEE_PAGE_BYTES);
            return NULL;
        }
        page = lee_small_of(start);
    }
    atomic_store_explicit(&page->owner, owner, memory_order_release);
    return page;
}

static void give_page(struct lee_small *page) {
    uintptr_t start = lee_small_start(page);
    struct lee_unit *unit = lee_unit_in(lee_chunk_at(page), start);
    struct lee_small_unit *detail = detail_of(unit);
    size_t at = (start & (LEE_UNIT_BYTES - 1)) / LEE_PAGE_BYTES;
    pthread_mutex_lock(&lock);
    detail->free[at / 64] |= (uint64_t)1 << at % 64;
    detail->dirty[at / 64] |= (uint64_t)1 << at % 64;
    if (detail->used-- == UNIT_PAGES)
        lee_unit_link(&with_free, unit);
    pthread_mutex_unlock(&lock);
}

void lee_small_give(struct lee_small *page) {
    const struct lee_heap *owner = atomic_load_explicit(&page->owner, memory_order_relaxed);
    lee_process_uncharge(owner->process, LEE_PAGE_BYTES); /* who runs may be another */
    atomic_store_explicit(&page->owner, NULL, memory_order_relaxed); /* first: from here on the page has no owner */
    __builtin_memset(page, 0, offsetof(struct lee_small, owner)); /* as in pages that were never used */
    LEE_POISON(lee_small_start(page), CELLS_BYTES);
    if (lee_worker.idle == NULL || kept.count == KEPT_MOST) {
        give_page(page);
        return;
    }
    page->next = kept.first;
    kept.first = page;
    kept.count++;
    atomic_fetch_add_explicit(&kept_pages, 1, memory_order_relaxed);
}

/* Neighbouring pages at a time. */
static size_t discard(struct lee_unit *unit) {
    struct lee_small_unit *detail = detail_of(unit);
    size_t bytes = 0;
    for (unsigned i = 0; i < LEE_SMALL_WORDS; i++) {
        for (uint64_t left = detail->dirty[i]; left != 0;) {
            unsigned at = (unsigned)__builtin_ctzll(left);
            uint64_t rest = ~(left >> at);
            unsigned count = rest == 0 ? 64 : (unsigned)__builtin_ctzll(rest);
            uint64_t run = (count == 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1) << at;
            left &= ~run;
            if (!lee_system_discard((void *)(lee_unit_start(unit) + (i * 64 + at) * (size_t)LEE_PAGE_BYTES), count * (size_t)LEE_PAGE_BYTES))
                continue;
            detail->dirty[i] &= ~run;
            bytes += count * (size_t)LEE_PAGE_BYTES;
        }
    }
    lee_memory_uncharge(bytes);
    return bytes;
}

size_t lee_small_trim(void) {
    size_t bytes = 0;
    struct lee_unit *next;
    for (struct lee_small *page; (page = take_kept()) != NULL;)
        give_page(page);
    pthread_mutex_lock(&lock);
    for (struct lee_unit *unit = with_free; unit != NULL; unit = next) {
        next = unit->next;
        bytes += discard(unit);
        if (detail_of(unit)->used > 0 || first_of(detail_of(unit)->dirty) >= 0)
            continue;
        lee_unit_unlink(&with_free, unit);
        set_codes(unit, LEE_CODE_NONE);
        LEE_LEAK_UNROOT(lee_unit_start(unit), LEE_UNIT_BYTES);
        lee_units_give((void *)lee_unit_start(unit), 1, false);
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}

size_t lee_small_charged(const struct lee_heap *heap) {
    size_t pages = heap->small_pages + (heap->blocks_of != NULL) + atomic_load_explicit(&kept_pages, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    for (struct lee_unit *unit = with_free; unit != NULL; unit = unit->next) {
        for (unsigned i = 0; i < LEE_SMALL_WORDS; i++)
            pages += (size_t)__builtin_popcountll(detail_of(unit)->dirty[i]);
    }
    pthread_mutex_unlock(&lock);
    return pages * LEE_PAGE_BYTES;
}

/* --- cells --------------------------------------------------------------------------------------------------------- */

static bool is_cell(unsigned code) {
    return code - LEE_CODE_CELLS < LEE_CODE_LARGE - LEE_CODE_CELLS;
}

/* The places that a cell takes. */
static unsigned places_of(unsigned code) {
    const struct lee_cell_info *info = &lee_cell_info[code];
    return info->family == LEE_PLAIN ? info->bytes / 16 + 1 : (info->bytes + 15) / 16;
}

/* The first place for an object: behind the heap, if it is in this page, and with room for a header. */
static unsigned first_place(const struct lee_heap *heap, const struct lee_small *page) {
    size_t front = (uintptr_t)heap == lee_small_start(page) ? sizeof *heap : 0;
    return (unsigned)((front + LEE_HEADER_BYTES + 15) / 16);
}
_Static_assert(sizeof(struct lee_heap) + 256 < CELLS_BYTES, "the first page has room for a heap and some cells");

bool lee_small_find(struct lee_heap *heap, uintptr_t word, struct lee_small_cell *cell) {
    struct lee_chunk *chunk = lee_chunk_of(word);
    unsigned at = chunk != NULL ? lee_small_place(heap, chunk, word) : 0;
    struct lee_small *page = lee_small_of(word);
    if (at != 0)
        *cell = (struct lee_small_cell){page, at, page->map[at], lee_small_start(page) + (uintptr_t)at * 16};
    return at != 0;
}

unsigned lee_small_code(uintptr_t object) {
    unsigned at = (unsigned)(object & (LEE_PAGE_BYTES - 1)) / 16;
    unsigned code = object % 16 == 0 && at < LEE_SMALL_CELLS ? lee_small_of(object)->map[at] : LEE_CODE_NONE;
    return code == LEE_SMALL_MORE ? LEE_CODE_NONE : code;
}

bool lee_small_next(struct lee_heap *heap, struct lee_small_cell *cell) {
    struct lee_small *page = cell->page == NULL ? heap->small : cell->page;
    unsigned at = cell->page == NULL ? 0 : cell->at + places_of(cell->code);
    for (; page != NULL; page = page->next, at = 0) {
        while (at < LEE_SMALL_CELLS && page->map[at] == LEE_CODE_NONE)
            at++;
        if (at < LEE_SMALL_CELLS) {
            *cell = (struct lee_small_cell){page, at, page->map[at], lee_small_start(page) + (uintptr_t)at * 16};
            return true;
        }
    }
    return false;
}

/* Free places in a row, from where the last were found on; 0 if there are none. */
static unsigned find_places(const struct lee_heap *heap, struct lee_small *page, unsigned count) {
    unsigned first = first_place(heap, page), at = page->from > first ? page->from : first;
    for (unsigned have = 0; at < LEE_SMALL_CELLS; at++) {
        have = page->map[at] == LEE_CODE_NONE ? have + 1 : 0;
        if (have == count)
            return at + 1 - count;
    }
    return 0;
}

static uintptr_t cell_start(const struct lee_small_cell *cell) {
    return cell->object - (lee_cell_info[cell->code].family == LEE_PLAIN ? 0 : LEE_HEADER_BYTES);
}

static struct lee_small *add_page(struct lee_heap *heap) {
    struct lee_small *page = lee_small_take(heap);
    if (page == NULL)
        return NULL;
    page->next = heap->small;
    heap->small = page;
    heap->small_pages++;
    return page;
}

bool lee_small_refill(struct lee_heap *heap, unsigned family, unsigned class_) {
    struct lee_bin *bin = &heap->inline_part.bins[family][class_];
    unsigned code = lee_cell_code(family, class_), count = places_of(code), at = 0;
    size_t bytes = lee_class_bytes(class_);
    /* While a snapshot is marked, its marks are to be those of all cells here. */
    if (bytes > heap->small_room || heap->snapshot)
        return false;
    struct lee_small *page = heap->small;
    while (page != NULL && (at = find_places(heap, page, count)) == 0)
        page = page->next;
    if (page == NULL && heap->small_pages < LEE_SMALL_PAGES && (page = add_page(heap)) != NULL)
        at = find_places(heap, page, count);
    if (page == NULL) {
        heap->small_room = (uint16_t)(bytes - 1);
        return false;
    }
    page->map[at] = (uint8_t)code;
    __builtin_memset(&page->map[at + 1], LEE_SMALL_MORE, count - 1);
    page->from = (uint16_t)(at + count);
    struct lee_small_cell cell = {page, at, code, lee_small_start(page) + (uintptr_t)at * 16};
    bin->bump = cell_start(&cell);
    bin->limit = bin->bump + bytes;
    lee_cells_fill(bin->bump, bytes, 0);
    heap->since_collection += bytes;
    heap->counts.allocated += bytes;
    return true;
}

/* --- collections ------------------------------------------------------------------------------------------------------ */

void lee_small_clear_marks(struct lee_heap *heap) {
    for (struct lee_small *page = heap->small; page != NULL; page = page->next)
        __builtin_memset(page->marks, 0, sizeof page->marks);
}

void lee_small_mark_all(struct lee_heap *heap) {
    struct lee_small_cell cell = {NULL, 0, 0, 0};
    while (lee_small_next(heap, &cell))
        cell.page->marks[cell.at / 64] |= (uint64_t)1 << cell.at % 64;
}

void lee_small_unmark(uintptr_t object) {
    unsigned at = (unsigned)(object & (LEE_PAGE_BYTES - 1)) / 16;
    lee_small_of(object)->marks[at / 64] &= ~((uint64_t)1 << at % 64);
}

static void free_cell(struct lee_heap *heap, const struct lee_small_cell *cell) {
    size_t bytes = lee_cell_info[cell->code].bytes;
    if (heap->stress != LEE_STRESS_NEVER) /* whoever still uses it sees it */
        lee_cells_fill(cell_start(cell), bytes, LEE_DEAD_BYTE);
    LEE_POISON(cell_start(cell), bytes);
    __builtin_memset(&cell->page->map[cell->at], LEE_CODE_NONE, places_of(cell->code));
}

static bool is_empty(const struct lee_small *page) {
    for (unsigned at = 0; at < LEE_SMALL_CELLS; at++) {
        if (page->map[at] != LEE_CODE_NONE)
            return false;
    }
    return true;
}

void lee_small_sweep(struct lee_heap *heap) {
    struct lee_small_cell cell = {NULL, 0, 0, 0};
    while (lee_small_next(heap, &cell)) {
        if (lee_small_marked(&cell)) {
            heap->counts.live_objects++;
            heap->counts.live_bytes += lee_cell_info[cell.code].bytes;
        } else {
            free_cell(heap, &cell);
        }
    }
    heap->small_room = LEE_SMALL_CELL_MOST;
    for (struct lee_small **link = &heap->small, *page; (page = *link) != NULL;) {
        page->from = 0;
        if ((uintptr_t)heap == lee_small_start(page) || !is_empty(page)) {
            link = &page->next;
            continue;
        }
        *link = page->next;
        heap->small_pages--;
        lee_small_give(page);
    }
}

/* --- validation --------------------------------------------------------------------------------------------------------- */

static const char *validate_page(struct lee_heap *heap, const struct lee_small *page) {
    for (unsigned at = 0; at < LEE_SMALL_CELLS;) {
        unsigned code = page->map[at];
        if (code == LEE_CODE_NONE) {
            at++;
            continue;
        }
        if (!is_cell(code) || lee_cell_info[code].bytes > LEE_SMALL_CELL_MOST || at < first_place(heap, page))
            return "heap: no cell can be where a small page says that one is";
        unsigned count = places_of(code);
        for (unsigned i = 1; i < count; i++) {
            if (at + i >= LEE_SMALL_CELLS || page->map[at + i] != LEE_SMALL_MORE)
                return "heap: a cell in a small page is cut off";
        }
        at += count;
    }
    return NULL;
}

const char *lee_small_validate(struct lee_heap *heap) {
    unsigned pages = 0;
    for (struct lee_small *page = heap->small; page != NULL; page = page->next, pages++) {
        struct lee_chunk *chunk = lee_chunk_of((uintptr_t)page);
        if (chunk == NULL || lee_owner_in(chunk, (uintptr_t)page) != LEE_SHARED || atomic_load(&page->owner) != heap)
            return "heap: a small page in its list is not its own";
        const char *wrong = validate_page(heap, page);
        if (wrong != NULL)
            return wrong;
    }
    return pages != heap->small_pages ? "heap: its count of small pages is wrong" : NULL;
}
