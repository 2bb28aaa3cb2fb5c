/* collect.c: a collection, from beginning to end, and when there is one.
 *
 * The order: what the last collection left is swept; marks are cleared; roots, then all that they
 * reach, are marked; finalizer queues take what died and mark it again; weak references to the dead
 * become null; dead owners release what they own; only then blocks are given back and cells become
 * free, lazily. */
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

void lee_heap_step(struct lee_heap *heap) {
    (void)heap;
}

void lee_heap_stop_marking(struct lee_heap *heap) {
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

#include "custodian.h"
#include "arena.h"
#include "process.h"
#include "small.h"
#include "snapshot.h"
#include "system.h"
#include "text.h"
#include "units.h"
#include "worker.h"

void lee_marks_clear(struct lee_heap *heap) {
    lee_small_clear_marks(heap);
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        for (size_t i = first; i < first + LEE_BLOCKS_A_UNIT; i++) {
            if (lee_code_at(chunk, i) != LEE_CODE_NONE)
                memset(chunk->marks[i], 0, LEE_BLOCK_MARK_BYTES);
        }
    }
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        chunk->marks[lee_first_block(chunk, unit)][0] = 0;
    }
}

/* `fresh` bytes were handed out since the marking before, which left `old` bytes. When at least
 * half of them live, the program is building something: collections find little, each marks what
 * the ones before marked, so the next one is put off twice as long. A program that lets go of what
 * it allocates gets the usual budget at once. */
static void set_budget(struct lee_heap *heap, size_t fresh, size_t old) {
    size_t live = heap->live_marked, budget = live / 100 * lee_heap_settings.grow_percent;
    if (live > old && live - old >= fresh / 2 && budget <= SIZE_MAX / 2)
        budget *= 2;
    if (budget < lee_heap_settings.least_budget)
        budget = lee_heap_settings.least_budget;
    /* Memory that is there is used first, up to twice as much: what a program held at its peak
     * saves it collections. */
    size_t there = heap->blocks_free_dirty * LEE_BLOCK_BYTES;
    if (budget < there)
        budget = there / 2 < budget ? there : 2 * budget;
    /* Close to the limit a collection comes earlier, but not for each block. */
    size_t limit = lee_memory_limit(), charged = lee_memory_charged(), left = limit > charged ? limit - charged : 0;
    size_t least = LEE_BLOCK_BYTES > live / 16 ? LEE_BLOCK_BYTES : live / 16;
    if (budget > left + there)
        budget = left + there > least ? left + there : least;
    heap->budget = budget;
}

static void add_thousandths(struct lee_text *text, uint64_t thousandths, const char *unit) {
    lee_text_unsigned(text, thousandths / 1000);
    lee_text_string(text, ".");
    lee_text_unsigned(text, thousandths / 100 % 10);
    lee_text_unsigned(text, thousandths / 10 % 10);
    lee_text_string(text, unit);
}

/* `begun`: the first of the two pauses, if the marking went on beside the program; 0 if it did not. */
static void report(struct lee_heap *heap, uint64_t begun, uint64_t all) {
    struct lee_text text = {.length = 0};
    lee_text_string(&text, "lee: collection ");
    lee_text_unsigned(&text, heap->counts.collections);
    lee_text_string(&text, ": ");
    add_thousandths(&text, heap->collection.before / 1049, " MB, ");
    add_thousandths(&text, heap->counts.live_bytes / 1049, " MB live in ");
    lee_text_unsigned(&text, heap->counts.live_objects);
    lee_text_string(&text, " objects; mark ");
    add_thousandths(&text, heap->counts.mark_last / 1000, begun != 0 ? " ms beside the program, pauses " : " ms, pause ");
    if (begun != 0)
        add_thousandths(&text, begun / 1000, " and ");
    add_thousandths(&text, heap->counts.pause_last / 1000, " ms");
    if (begun != 0) {
        lee_text_string(&text, ", ");
        add_thousandths(&text, all / 1000, " ms from the first to the second");
    }
    lee_text_string(&text, "\n");
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
        observed.lost = !lee_account_mark(heap, marker, &observed.words);
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
    const char *wrong = observed.lost ? NULL : lee_heap_verify_marks(heap, roots, false);
    lee_vector_free(&observed.words);
    if (wrong == NULL)
        wrong = lee_heap_validate(heap);
    if (wrong != NULL)
        lee_fault_message(NULL, wrong);
}

/* Whether other processes may run while this one marks its heap, which they leave alone, but for one
 * that shuts down a custodian of this process: that ends tasks, and releases what they have open. So
 * the process has no custodian but its first, with which it ends as a whole. */
static bool can_be_stopped(const struct lee_heap *heap) {
    struct lee_process *process = heap->process;
    return lee_processes_used && process != NULL && process == lee_process && process->heap == heap &&
           lee_worker.depth == 0 && !process->names && process->accounts.first.child == NULL;
}

void lee_heap_stop_marking(struct lee_heap *heap) {
    if (heap->marking == NULL)
        return;
    lee_marker_end(heap->marking);
    heap->marking = NULL;
    heap->collecting = false;
}

static void mark(struct lee_heap *heap, bool accounts, bool gives_way) {
    struct lee_marker marker;
    lee_marker_start(&marker, heap);
    if (heap->verify) {
        mark_and_verify(heap, &marker, accounts);
    } else if (accounts) {
        lee_account_mark(heap, &marker, NULL);
    } else {
        lee_roots_scan(heap, &marker);
        if (gives_way && can_be_stopped(heap))
            heap->marking = &marker;
        lee_marker_drain(&marker);
        heap->marking = NULL;
    }
    if (heap->finalizers.first != NULL)
        lee_finalizers_process(heap, &marker);
    heap->counts.overflows += marker.overflows;
    lee_marker_end(&marker);
}

static void begin(struct lee_heap *heap, uint64_t start) {
    heap->collection.before = heap->blocks_used * LEE_BLOCK_BYTES + heap->large_bytes;
    heap->collection.fresh = heap->since_collection;
    heap->collection.start = start;
}

/* What follows marking. `since`: bytes that were handed out after it was begun. */
static void end(struct lee_heap *heap, bool accounts, size_t since) {
    size_t old = heap->live_marked;
    lee_weak_process(heap);
    lee_owners_process(heap);
    heap->counts.dropped += lee_keys_sweep(heap, &heap->key_bytes);
    heap->counts.live_objects = heap->counts.live_bytes = 0;
    lee_sweep_begin(heap);
    if (accounts)
        lee_account_settle(heap);
    const char *wrong = accounts && heap->verify ? lee_heap_verify_sum(heap, lee_heap_is_only() && !lee_processes_used) : NULL;
    if (wrong != NULL)
        lee_fault_message(NULL, wrong);
    lee_account_note(heap, accounts);
    heap->counts.collections++;
    size_t live = heap->counts.live_bytes + heap->key_bytes;
    heap->live_marked = live > since ? live - since : 0;
    heap->since_collection = since;
    set_budget(heap, heap->collection.fresh, old);
    lee_blocks_release(heap, heap->budget);
    heap->collecting = false;
}

static void count_pause(struct lee_heap *heap, uint64_t pause) {
    heap->counts.pause_last = pause;
    heap->counts.pause_all += pause;
    if (pause > heap->counts.pause_most)
        heap->counts.pause_most = pause;
}

static void collect(struct lee_heap *heap, bool gives_way) {
    if (heap->collecting || heap->disposing > 0 || !lee_heap_may_collect(heap))
        return;
    int error = errno; /* giving memory back may set it, and no allocation of C's does when it succeeds */
    uint64_t start = lee_system_time();
    if (heap->snapshot) {
        lee_snapshot_end(heap);
        heap->counts.snapshots_lost++;
        heap->collection.fresh += heap->since_collection;
        heap->collection.start = start;
    } else {
        begin(heap, start);
    }
    heap->collecting = true;
    lee_sweep_finish(heap);
    lee_keys_unmark(heap);
    lee_marks_clear(heap);
    uint64_t marking = lee_system_time();
    bool accounts = lee_account_due(heap);
    if (accounts) /* the tables are of one collection at a time */
        lee_lock();
    mark(heap, accounts, gives_way);
    heap->counts.mark_last = lee_system_time() - marking;
    end(heap, accounts, 0);
    if (accounts)
        lee_unlock();
    heap->collection.ended = lee_system_time();
    count_pause(heap, heap->collection.ended - start);
    if (heap->trace)
        report(heap, 0, 0);
    errno = error;
}

void lee_heap_collect(struct lee_heap *heap) {
    collect(heap, false);
}

/* --- a snapshot --------------------------------------------------------------------------------------------------- */

static bool begin_snapshot(struct lee_heap *heap) {
    if (heap->disposing > 0 || !lee_heap_may_collect(heap))
        return false;
    int error = errno;
    uint64_t start = lee_system_time();
    if (!lee_snapshot_wanted(heap, start - heap->collection.ended)) {
        errno = error;
        return false;
    }
    begin(heap, start);
    lee_sweep_finish(heap);
    bool begun = lee_snapshot_begin(heap);
    if (begun) {
        heap->since_collection = 0;
        heap->counts.snapshots++;
        heap->collection.first_pause = lee_system_time() - heap->collection.start;
        count_pause(heap, heap->collection.first_pause);
    }
    errno = error;
    return begun;
}

static void verify_snapshot(struct lee_heap *heap) {
    struct observed observed = {{NULL, 0, 0}, false};
    struct lee_marker marker = {.heap = heap, .observe = observe, .observer = &observed};
    /* Not the stack: what stands in holes of its frames was dead before. */
    lee_roots_scan_shared(heap, &marker);
    const char *wrong = observed.lost ? NULL : lee_heap_verify_marks(heap, &observed.words, true);
    lee_vector_free(&observed.words);
    if (wrong == NULL)
        wrong = lee_heap_validate(heap);
    if (wrong != NULL)
        lee_fault_message(NULL, wrong);
}

/* False if the child has ended before all was marked that weak references gave away: what they led
 * to may be anywhere since, so the collection has to be one that stops. Nothing was swept by
 * then. */
static bool adopt(struct lee_heap *heap) {
    lee_snapshot_adopt(heap);
    heap->counts.mark_last = lee_snapshot_mark_time();
    if (!lee_snapshot_mark_asked(heap))
        return false;
    const char *wrong = heap->verify ? lee_heap_verify_free(heap) : NULL;
    if (wrong != NULL)
        lee_fault_message(NULL, wrong);
    lee_sweep_drop_free(heap);
    if (heap->finalizers.first != NULL) {
        struct lee_marker marker;
        lee_marker_start(&marker, heap);
        lee_finalizers_process(heap, &marker);
        heap->counts.overflows += marker.overflows;
        lee_marker_end(&marker);
    }
    if (heap->verify)
        verify_snapshot(heap);
    return true;
}

/* Ends the collection if the snapshot's marks are there; `wait`: if need be when they are. True if
 * it has ended. */
static bool take_over(struct lee_heap *heap, bool wait) {
    if (heap->disposing > 0)
        return false;
    int error = errno;
    if (!lee_heap_may_collect(heap)) { /* never again */
        lee_snapshot_end(heap);
        errno = error;
        return false;
    }
    uint64_t start = lee_system_time();
    enum lee_snapshot_state state = lee_snapshot_state(wait);
    if (state == LEE_SNAPSHOT_RUNS) {
        errno = error;
        return false;
    }
    heap->collecting = true;
    if (state != LEE_SNAPSHOT_DONE || !adopt(heap)) {
        heap->collecting = false;
        lee_heap_collect(heap);
        return true;
    }
    lee_snapshot_end(heap);
    end(heap, false, heap->since_collection);
    heap->collection.ended = lee_system_time();
    count_pause(heap, heap->collection.ended - start);
    if (heap->trace)
        report(heap, heap->collection.first_pause, heap->collection.ended - heap->collection.start);
    errno = error;
    return true;
}

void lee_heap_step(struct lee_heap *heap) {
    if (heap->collecting)
        return;
    if (heap->snapshot)
        take_over(heap, true);
    else if (!begin_snapshot(heap))
        lee_heap_collect(heap);
}

bool lee_heap_poll(struct lee_heap *heap, size_t bytes) {
    if (!heap->enabled || heap->collecting)
        return false;
    bool due = heap->since_collection + bytes > heap->budget;
    if (heap->snapshot) /* stress: when it says so, not when the child happens to be done */
        return (due || heap->stress == LEE_STRESS_NEVER) && take_over(heap, due);
    if (!due || begin_snapshot(heap))
        return false;
    collect(heap, true);
    return true;
}

void lee_collect(void) {
    struct lee_heap *heap = lee_heap_self();
    if (heap != NULL && heap->enabled)
        collect(heap, true);
    lee_task_end_slice();
}

size_t lee_heap_idle(struct lee_heap *heap) {
    if (heap->collecting || (heap->snapshot && !take_over(heap, true)))
        return 0;
    lee_heap_trim(heap);
    return lee_blocks_release(heap, 0) + lee_small_trim() + lee_units_trim();
}

bool lee_is_live(const void *p) {
    return p != NULL && lee_is_marked(lee_heap_self(), (uintptr_t)p);
}

#endif
