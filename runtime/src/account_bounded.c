/* account_bounded.c: what one custodian reaches, at a cost in proportion to its limit.
 *
 * Promises: touches neither the collector's mark bits nor any object (but gives back what tasks'
 * stacks do not use any more); reads at most what is reached before the trace stops, and one object
 * more; of what may come into finalizer queues, all is looked at. Uses memory of its own: two bits
 * for each 16 bytes of the pages of 4 KB in which it found objects, and little more, however these
 * point to each other. The count is what the custodian and all below it are charged under the
 * precise policy, or more (of what may come into a queue, some may have other holders, too); so at
 * least what they are charged under any. */
#include "custodian.h"

#ifndef LEE_NO_GC

#include "collect.h"
#include "poison.h"
#include "system.h"

enum { STEP = 16, WORDS = LEE_PAGE_BYTES / STEP / 64, PAGES = 1 << 8 /* at first */ };

/* A page in which objects begin, each with a bit of its own: none is smaller than STEP bytes. */
struct page {
    uintptr_t start;
    uint32_t next;          /* of the list: one more than the page behind it */
    bool listed;
    uint64_t found[WORDS];  /* objects that begin here */
    uint64_t unread[WORDS]; /* of those: what they point to was not looked at yet */
};

struct trace {
    struct lee_heap *heap;
    struct lee_vector pages;
    uint32_t *numbers;  /* a hash table of pages, each one more than where it stands; 0: free */
    size_t mask;
    /* The list of pages that may have unread objects: one more than the first; 0: empty. */
    uint32_t unread;
    struct lee_marker observer; /* for layouts that trace themselves */
    size_t bytes, most;
    bool lost;
};

size_t lee_account_table;

static struct page *page_at(const struct trace *trace, uint32_t number) {
    return (struct page *)trace->pages.data + number;
}

/* Where the page's number is, or would be. */
static uint32_t *place_of(const struct trace *trace, uintptr_t start) {
    size_t at = (size_t)(start / LEE_PAGE_BYTES * 0x9e3779b97f4a7c15u >> 20) & trace->mask;
    while (trace->numbers[at] != 0 && page_at(trace, trace->numbers[at] - 1)->start != start)
        at = (at + 1) & trace->mask;
    return &trace->numbers[at];
}

static void release_numbers(struct trace *trace) {
    if (trace->numbers != NULL)
        lee_system_release(trace->numbers, (trace->mask + 1) * sizeof *trace->numbers);
    trace->numbers = NULL;
}

/* Makes the table anew, with `entries`. */
static bool number_pages(struct trace *trace, size_t entries) {
    uint32_t *fresh = lee_system_reserve(NULL, entries * sizeof *fresh);
    if (fresh == NULL)
        return false;
    release_numbers(trace);
    trace->numbers = fresh;
    trace->mask = entries - 1;
    for (uint32_t n = 0; n < trace->pages.bytes / sizeof(struct page); n++)
        *place_of(trace, page_at(trace, n)->start) = n + 1;
    return true;
}

/* The page in which the object begins, made if need be; null if there is no memory. */
static struct page *page_of(struct trace *trace, uintptr_t object) {
    uintptr_t start = object & ~(uintptr_t)(LEE_PAGE_BYTES - 1);
    uint32_t number = *place_of(trace, start), count = (uint32_t)(trace->pages.bytes / sizeof(struct page));
    if (number != 0)
        return page_at(trace, number - 1);
    struct page *page = lee_vector_add(&trace->pages, sizeof *page);
    if (page == NULL)
        return NULL;
    *page = (struct page){.start = start};
    if (2 * count > trace->mask) /* the new one is numbered with the others */
        return number_pages(trace, 2 * (trace->mask + 1)) ? page : NULL;
    *place_of(trace, start) = count + 1;
    return page;
}

/* A word that may point to an object: counts it, and puts it off. */
static void see(void *context, uintptr_t word) {
    struct trace *trace = context;
    struct lee_object object;
    if (trace->lost || trace->bytes > trace->most || !lee_object_find(trace->heap, word, &object) ||
        object.dead)
        return;
    struct page *page = page_of(trace, object.start);
    if (page == NULL) {
        trace->lost = true;
        return;
    }
    size_t at = object.start % LEE_PAGE_BYTES / STEP;
    uint64_t bit = (uint64_t)1 << at % 64;
    if ((page->found[at / 64] & bit) != 0)
        return;
    page->found[at / 64] |= bit;
    page->unread[at / 64] |= bit;
    trace->bytes += object.charge;
    if (page->listed)
        return;
    page->listed = true;
    page->next = trace->unread;
    trace->unread = (uint32_t)(page - page_at(trace, 0)) + 1;
}

/* Takes an unread object off the list; false if the page there has none, and goes. */
static bool take_unread(struct trace *trace, struct lee_object *object) {
    struct page *page = page_at(trace, trace->unread - 1);
    for (size_t i = 0; i < WORDS; i++) {
        if (page->unread[i] == 0)
            continue;
        uintptr_t word = page->start + (i * 64 + (size_t)__builtin_ctzll(page->unread[i])) * STEP;
        page->unread[i] &= page->unread[i] - 1;
        /* It begins at the word or 8 bytes behind; arenas are found by their exact address only. */
        return lee_object_find(trace->heap, word + 8, object) || lee_object_find(trace->heap, word, object);
    }
    page->listed = false;
    trace->unread = page->next;
    return false;
}

static void read_all(struct trace *trace) {
    while (trace->unread != 0 && !trace->lost && trace->bytes <= trace->most) {
        struct lee_object object;
        if (!take_unread(trace, &object))
            continue;
        const struct lee_layout *layout = lee_header_layout(object.header);
        if (lee_is_handle(layout))
            trace->bytes -= object.charge; /* its owner's, and what it refers to is nobody's */
        else
            lee_layout_each(layout, object.start, object.start + object.bytes, see, trace, &trace->observer);
    }
}

size_t lee_account_reached(struct lee_heap *heap, struct lee_custodian *custodian, size_t most) {
    struct trace trace = {.heap = heap, .most = most};
    if (!number_pages(&trace, PAGES))
        return SIZE_MAX;
    trace.observer = (struct lee_marker){.heap = heap, .observe = see, .observer = &trace};
    struct lee_custodian *at = lee_custodian_deepest(custodian);
    for (;; at = lee_custodian_after(at)) {
        for (struct lee_task *task = at->tasks; task != NULL && trace.bytes <= most; task = task->next) {
            lee_task_trim(task);
            trace.bytes += lee_task_bytes(task);
            lee_task_scan(heap, task, &trace.observer);
            read_all(&trace);
        }
        if (at == custodian)
            break;
    }
    /* Nobody's task may reach that; the custodian pays for it nevertheless. */
    lee_finalizers_each(heap, custodian, see, &trace);
    read_all(&trace);
    lee_account_table = trace.pages.room + (trace.mask + 1) * sizeof *trace.numbers;
    release_numbers(&trace);
    lee_vector_free(&trace.pages);
    return trace.lost ? SIZE_MAX : trace.bytes;
}

#endif
