/* account.c: who is charged for what a collection marks.
 *
 * Promises: each custodian is charged for the objects that its tasks reach, and for its tasks'
 * stacks and arenas; the charges of all custodians, each object counted once, add up to the live
 * bytes that sweeping counts. What no task reaches (globals, roots of the runtime) is the first
 * custodian's; what only a finalizer queue holds its custodian's.
 *
 * Blame the child: custodians are marked in post-order, children before parents, and an object is
 * charged to the first that reaches it (Wick, Flatt, Hsieh, "Reachability-Based Memory Accounting",
 * 2002). The marker counts bytes only meanwhile; the first custodian comes last and gets what is
 * left, so its part costs nothing. Precise: account_precise.c.
 *
 * A collection accounts if it is asked to or if somebody is near a limit, as far as is known: by
 * what was charged at the last accounting and handed out since. What others made and somebody came
 * to hold is not in that; so each third collection accounts if somebody's limit is below all that
 * lives. */
#include "custodian.h"

#ifndef LEE_NO_GC

#include "collect.h"
#include "precise.h"
#include "process.h"

enum { REST = 3 };

struct lee_accounts *lee_accounts_of(const struct lee_heap *heap) {
    return &heap->process->accounts;
}

bool lee_account_due(struct lee_heap *heap) {
    if (heap->process == NULL)
        return false;
    const struct lee_accounts *accounts = lee_accounts_of(heap);
    if (accounts->forced || !accounts->limited)
        return accounts->forced;
    /* Who allocates little may come to hold much that others made: at most all that lives. */
    size_t most = accounts->rested + 1 >= REST ? heap->counts.live_bytes + heap->since_collection : 0;
    return lee_heap_settings.accounting == LEE_ACCOUNTING_ALWAYS || lee_custodians_near(heap, most);
}

void lee_account_note(struct lee_heap *heap, bool accounted) {
    if (heap->process == NULL)
        return;
    struct lee_accounts *accounts = lee_accounts_of(heap);
    accounts->rested = accounted ? 0 : accounts->rested + 1;
    if (accounts->requirements > 0)
        lee_custodians_count(accounts);
}

void lee_account_collect(struct lee_heap *heap) {
    struct lee_accounts *accounts = lee_accounts_of(heap);
    accounts->forced = true;
    lee_heap_collect(heap);
    accounts->forced = false;
}

void lee_account_handle(struct lee_marker *marker, const struct lee_custodian *custodian, size_t bytes) {
    if (marker->observe != NULL || marker->counting == LEE_COUNT_NOTHING || marker->again)
        return;
    size_t cell = lee_class_bytes(lee_class_of_aligned(bytes + LEE_HEADER_BYTES));
    marker->charged -= cell;
    if (custodian->parent != NULL)
        ((struct lee_custodian *)(uintptr_t)custodian)->own += cell;
}

void lee_account_refer(struct lee_marker *marker, uintptr_t word) {
    if (marker->observe == NULL && marker->counting == LEE_COUNT_SETS)
        lee_precise_put_off(marker, word);
    else
        lee_mark_word(marker, word);
}

/* --- roots ----------------------------------------------------------------------------------------------------------- */

/* The words of roots; `lost` one, for want of memory. */
struct record {
    struct lee_vector *words;
    bool lost;
};

static void observe(void *observer, uintptr_t word) {
    struct record *record = observer;
    uintptr_t *place = lee_vector_add(record->words, sizeof word);
    if (place != NULL)
        *place = word;
    else
        record->lost = true;
}

void lee_custodian_scan(struct lee_heap *heap, struct lee_custodian *custodian, struct lee_marker *marker) {
    if (custodian->tasks != NULL)
        lee_mark_word(marker, (uintptr_t)custodian);
    for (struct lee_task *task = custodian->tasks; task != NULL; task = task->next)
        lee_task_scan(heap, task, marker);
}

void lee_tasks_scan(struct lee_heap *heap, struct lee_marker *marker) {
    if (heap->process == NULL) {
        lee_roots_scan_stack(heap, marker);
        return;
    }
    struct lee_custodian *at = lee_custodian_deepest(&lee_accounts_of(heap)->first);
    for (; at != NULL; at = lee_custodian_after(at))
        lee_custodian_scan(heap, at, marker);
}

/* Marks from a custodian's tasks, or with null from what is nobody's. With `record` the words are
 * written down first, and marked from there: the stack would not be the same when it is read
 * again. */
static void mark_from(struct lee_heap *heap, struct lee_custodian *custodian, struct lee_marker *marker,
                      struct record *record) {
    size_t before = record->words == NULL ? 0 : record->words->bytes;
    if (record->words != NULL) {
        marker->observe = observe;
        marker->observer = record;
    }
    if (custodian != NULL)
        lee_custodian_scan(heap, custodian, marker);
    else
        lee_roots_scan_shared(heap, marker);
    if (record->words != NULL) {
        marker->observe = NULL;
        for (size_t at = before; at < record->words->bytes; at += sizeof(uintptr_t)) {
            lee_mark_word(marker, *(uintptr_t *)(void *)((unsigned char *)record->words->data + at));
            if (marker->depth > marker->room / 2)
                lee_marker_drain(marker);
        }
    }
    lee_marker_drain(marker);
}

/* --- blame the child ------------------------------------------------------------------------------------------------------ */

size_t lee_tasks_bytes(const struct lee_custodian *custodian) {
    size_t bytes = 0;
    for (const struct lee_task *task = custodian->tasks; task != NULL; task = task->next)
        bytes += lee_task_bytes(task);
    return bytes;
}

/* The same for the precise policy, which may ask for the words again: of the custodian whose task
 * runs they are kept, because its stack would have changed. */
static void mark_in_sets(struct lee_heap *heap, struct lee_custodian *custodian, struct lee_marker *marker, struct record *record) {
    struct lee_vector own = {NULL, 0, 0};
    struct record kept = {&own, false};
    bool runs = custodian == lee_task_self()->custodian;
    struct record *used = runs && record->words == NULL ? &kept : record;
    size_t before = used->words == NULL ? 0 : used->words->bytes;
    mark_from(heap, custodian, marker, used);
    if (runs)
        lee_precise_keep((const uintptr_t *)used->words->data + before / sizeof(uintptr_t), (used->words->bytes - before) / sizeof(uintptr_t));
    if (kept.lost) {
        lee_custodian_scan(heap, custodian, marker);
        lee_marker_drain(marker);
    }
    lee_vector_free(&own);
    lee_precise_marked(marker);
}

bool lee_account_mark(struct lee_heap *heap, struct lee_marker *marker, struct lee_vector *words) {
    struct lee_accounts *accounts = lee_accounts_of(heap);
    struct lee_custodian *first = &accounts->first, *at = lee_custodian_deepest(first);
    struct record record = {words, false};
    for (; at != NULL; at = lee_custodian_after(at))
        at->own = 0;
    bool sets = accounts->in_sets = accounts->precise && lee_precise_begin(heap, first);
    if (!sets)
        lee_precise_release();
    for (at = lee_custodian_deepest(first); at != first; at = lee_custodian_after(at)) {
        if (at->tasks == NULL)
            continue;
        marker->counting = sets ? LEE_COUNT_SETS : LEE_COUNT_MARKED;
        marker->charged = 0;
        if (sets) {
            lee_precise_custodian(at, marker);
            mark_in_sets(heap, at, marker, &record);
        } else {
            mark_from(heap, at, marker, &record);
            at->own += marker->charged;
        }
    }
    /* The first custodian is above all and gets what nobody else does. */
    if (sets)
        lee_precise_solve(heap, marker);
    marker->counting = LEE_COUNT_HANDLES;
    marker->charged = 0;
    mark_from(heap, first, marker, &record);
    mark_from(heap, NULL, marker, &record);
    return !record.lost;
}

void lee_account_settle(struct lee_heap *heap) {
    struct lee_accounts *accounts = lee_accounts_of(heap);
    lee_custodians_see_stacks(accounts);
    lee_custodians_settle(accounts);
    struct lee_custodian *first = &accounts->first, *at = lee_custodian_deepest(first);
    for (; at != NULL; at = lee_custodian_after(at)) {
        for (struct lee_task *task = at->tasks; task != NULL; task = task->next)
            lee_task_trim(task);
        at->own += lee_tasks_bytes(at);
        at->settled = at->fresh = 0;
    }
    for (at = lee_custodian_deepest(first); at != NULL; at = lee_custodian_after(at)) {
        at->settled += at->own;
        if (at->parent != NULL)
            at->parent->settled += at->settled;
    }
    if (accounts->in_sets) {
        lee_precise_charge();
        lee_precise_end();
    }
    /* What is above all is charged everything. */
    first->settled = heap->counts.live_bytes + heap->key_bytes;
    for (at = lee_custodian_deepest(first); at != NULL; at = lee_custodian_after(at))
        first->settled += lee_tasks_bytes(at);
    heap->flushed = heap->counts.allocated;
    /* The allocator asks at its next request: what is left to limits has changed. */
    if (accounts->limited)
        heap->allowance = heap->counts.allocated;
}

#endif
