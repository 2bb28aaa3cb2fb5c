/* collect.c: a collection, from beginning to end, and when there is one.
 *
 * The order: what the last collection left is swept; marks are cleared; roots, then all that they reach, are marked; finalizer
 * queues take what died and mark it again; weak references to the dead become null; dead owners release what they own; only
 * then blocks are given back and cells become free, lazily. */
#define _GNU_SOURCE
#include "collect.h"

#include <errno.h>

bool lee_heap_close_files(void) {
    struct lee_heap *heap = lee_heap_self();
    if ((errno != EMFILE && errno != ENFILE) || heap == NULL || heap->collecting || !lee_heap_may_collect(heap))
        return false;
    size_t before = heap->counts.dropped;
    lee_heap_collect(heap);
    return heap->counts.dropped != before;
}

#ifdef LEE_NO_GC

/* `--no-gc`: every object has an owner, so there is nothing to find; marking is not linked. */
void lee_heap_collect(struct lee_heap *heap) {
    (void)heap;
}

bool lee_heap_poll(struct lee_heap *heap, size_t bytes) {
    (void)heap;
    (void)bytes;
    return false;
}

#else

#include <lee/fault.h>

#include <string.h>
#include <time.h>

#include "custodian.h"
#include "arena.h"
#include "system.h"
#include "text.h"
#include "units.h"

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void clear_marks(struct lee_heap *heap) {
    lee_keys_unmark();
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = (size_t)(unit - chunk->units) * LEE_BLOCKS_A_UNIT;
        for (size_t i = first; i < first + LEE_BLOCKS_A_UNIT; i++) {
            if (lee_code_at(chunk, i) != LEE_CODE_NONE)
                memset(chunk->marks[i], 0, LEE_BLOCK_MARK_BYTES);
        }
    }
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        chunk->marks[(size_t)(unit - chunk->units) * LEE_BLOCKS_A_UNIT][0] = 0;
    }
}

/* `fresh` bytes were handed out since the collection before, which left `old` bytes. When at least half of them
 * live, the program is building something: collections find little, each marks what the ones before marked, so the next one
 * is put off twice as long. A program that lets go of what it allocates gets the usual budget at once. */
static void set_budget(struct lee_heap *heap, size_t fresh, size_t old) {
    size_t live = heap->counts.live_bytes + heap->key_bytes, budget = live / 100 * lee_heap_settings.grow_percent;
    if (live > old && live - old >= fresh / 2 && budget <= SIZE_MAX / 2)
        budget *= 2;
    size_t limit = lee_memory_limit(), charged = lee_memory_charged();
    if (budget < lee_heap_settings.least_budget)
        budget = lee_heap_settings.least_budget;
    /* Close to the limit a collection comes earlier, but not for each block. */
    size_t left = limit > charged ? limit - charged : 0;
    size_t least = LEE_BLOCK_BYTES > live / 16 ? LEE_BLOCK_BYTES : live / 16;
    if (budget > left + heap->blocks_free_dirty * LEE_BLOCK_BYTES)
        budget = left + heap->blocks_free_dirty * LEE_BLOCK_BYTES > least ? left + heap->blocks_free_dirty * LEE_BLOCK_BYTES : least;
    heap->budget = budget;
}

static void add_thousandths(struct lee_text *text, uint64_t thousandths, const char *unit) {
    lee_text_unsigned(text, thousandths / 1000);
    lee_text_string(text, ".");
    lee_text_unsigned(text, thousandths / 100 % 10);
    lee_text_unsigned(text, thousandths / 10 % 10);
    lee_text_string(text, unit);
}

static void report(struct lee_heap *heap, size_t before, uint64_t mark, uint64_t pause) {
    struct lee_text text = {.length = 0};
    lee_text_string(&text, "lee: collection ");
    lee_text_unsigned(&text, heap->counts.collections);
    lee_text_string(&text, ": ");
    add_thousandths(&text, before / 1049, " MB, ");
    add_thousandths(&text, heap->counts.live_bytes / 1049, " MB live in ");
    lee_text_unsigned(&text, heap->counts.live_objects);
    lee_text_string(&text, " objects; mark ");
    add_thousandths(&text, mark / 1000, " ms, pause ");
    add_thousandths(&text, pause / 1000, " ms\n");
    lee_text_write(&text);
}

struct observed {
    struct lee_vector words;
    bool lost;
};

static void observe(void *observer, uintptr_t word) {
    struct observed *observed = observer;
    uintptr_t *place = lee_vector_add(&observed->words, sizeof word);
    if (place == NULL)
        observed->lost = true;
    else
        *place = word;
}

/* Roots are read once and given to both traces: reading them twice would read two different stacks. */
static void mark_and_verify(struct lee_heap *heap, struct lee_marker *marker, bool accounts) {
    struct observed observed = {{NULL, 0, 0}, false};
    const struct lee_vector *roots = &observed.words;
    if (accounts) {
        lee_account_mark(heap, marker, &observed.words);
    } else {
        marker->observe = observe;
        marker->observer = &observed;
        lee_roots_scan(heap, marker);
        marker->observe = NULL;
    }
    if (observed.lost) /* no memory to remember them: no second trace this time */
        lee_roots_scan(heap, marker);
    for (size_t i = 0; i < roots->bytes / sizeof(uintptr_t); i++) {
        lee_mark_word(marker, ((uintptr_t *)roots->data)[i]);
        if (marker->depth > marker->room / 2)
            lee_marker_drain(marker);
    }
    lee_marker_drain(marker);
    const char *wrong = observed.lost ? NULL : lee_heap_verify_marks(heap, roots);
    lee_vector_free(&observed.words);
    if (wrong == NULL)
        wrong = lee_heap_validate(heap);
    if (wrong != NULL)
        lee_fault_message(NULL, wrong);
}

static void mark(struct lee_heap *heap, bool accounts) {
    struct lee_marker marker;
    lee_marker_start(&marker, heap);
    if (heap->verify) {
        mark_and_verify(heap, &marker, accounts);
    } else if (accounts) {
        lee_account_mark(heap, &marker, NULL);
    } else {
        lee_roots_scan(heap, &marker);
        lee_marker_drain(&marker);
    }
    if (heap->finalizers.bytes > 0)
        lee_finalizers_process(heap, &marker);
    heap->counts.overflows += marker.overflows;
    lee_marker_end(&marker);
}

void lee_heap_collect(struct lee_heap *heap) {
    if (heap->collecting || heap->disposing > 0 || !lee_heap_may_collect(heap))
        return;
    int error = errno; /* giving memory back may set it, and no allocation of C's does when it succeeds */
    uint64_t start = now();
    size_t before = heap->blocks_used * LEE_BLOCK_BYTES + heap->large_bytes;
    size_t fresh = heap->since_collection, old = heap->counts.live_bytes;
    heap->collecting = true;
    lee_sweep_finish(heap);
    clear_marks(heap);
    uint64_t marking = now();
    bool accounts = lee_account_wanted(heap);
    mark(heap, accounts);
    uint64_t marked = now();
    lee_weak_process(heap);
    lee_owners_process(heap);
    heap->counts.dropped += lee_keys_sweep(&heap->key_bytes);
    heap->counts.live_objects = heap->counts.live_bytes = 0;
    lee_sweep_begin(heap);
    if (accounts)
        lee_account_settle(heap);
    heap->counts.collections++;
    heap->since_collection = 0;
    set_budget(heap, fresh, old);
    lee_blocks_release(heap, heap->budget);
    heap->collecting = false;
    uint64_t pause = now() - start;
    heap->counts.mark_last = marked - marking;
    heap->counts.pause_last = pause;
    heap->counts.pause_all += pause;
    if (pause > heap->counts.pause_most)
        heap->counts.pause_most = pause;
    if (heap->trace)
        report(heap, before, marked - marking, pause);
    errno = error;
}

bool lee_heap_poll(struct lee_heap *heap, size_t bytes) {
    if (!heap->enabled || heap->collecting || heap->since_collection + bytes <= heap->budget)
        return false;
    lee_heap_collect(heap);
    return true;
}

void lee_collect(void) {
    struct lee_heap *heap = lee_heap_self();
    if (heap != NULL && heap->enabled)
        lee_heap_collect(heap);
}

size_t lee_heap_idle(struct lee_heap *heap) {
    if (heap->collecting)
        return 0;
    lee_heap_trim(heap);
    return lee_blocks_release(heap, 0) + lee_units_trim();
}

bool lee_is_live(const void *p) {
    return p != NULL && lee_is_marked(lee_heap_self(), (uintptr_t)p);
}

#endif
