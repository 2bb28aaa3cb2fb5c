/* heap_new.c: making and deleting a heap; settings. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "custodian.h"
#include "heap_limit.h"
#include "poison.h"
#include "process.h"
#include "small.h"
#include "snapshot.h"
#include "system.h"
#include "text.h"
#include "units.h"
#include "valgrind.h"

/* Grow by as much as lives: a collection then costs as many marked bytes as were allocated since the last. */
struct lee_heap_settings lee_heap_settings = {
    .huge = true, .prefetch = true, .grow_percent = 100, .least_budget = 4 << 20, .snapshot = LEE_SNAPSHOT_USUAL};

enum {
    GROW_MOST = 100000,        /* percent */
    RESERVE_GB_MOST = 16 << 10 /* each 256 MB of it has a description */
};

static atomic_size_t heaps, heaps_of_threads;

void lee_setting_is_wrong(const char *name, const char *value, const char *wanted) {
    struct lee_text text = {.length = 0};
    const char *const parts[] = {"error: ", name, " is '", value, "'; ", wanted, "\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        lee_text_string(&text, parts[i]);
    lee_text_write(&text);
    exit(2);
}

/* One that is empty is not set. */
static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value == NULL || value[0] == 0 ? NULL : value;
}

size_t lee_setting_number(size_t most, const char *name, size_t otherwise) {
    const char *value = setting(name);
    char *end;
    if (value == NULL)
        return otherwise;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != 0 || errno != 0 || number > most)
        lee_setting_is_wrong(name, value, "give a number that makes sense, such as 1");
    return number;
}

static size_t number_of(const char *name, size_t otherwise) {
    return lee_setting_number(SIZE_MAX, name, otherwise);
}

static void read_settings(void) {
    struct lee_heap_settings *settings = &lee_heap_settings;
    settings->huge = number_of("LEE_HUGE", settings->huge) != 0;
    settings->prefetch = number_of("LEE_GC_PREFETCH", settings->prefetch) != 0;
    settings->trace = number_of("LEE_GC_TRACE", 0) != 0;
    settings->verify = number_of("LEE_GC_VERIFY", 0) != 0;
    settings->stress = number_of("LEE_GC_STRESS", 0);
    settings->grow_percent = lee_setting_number(GROW_MOST, "LEE_GC_GROW", settings->grow_percent);
    lee_units_settings.flat = lee_setting_number(RESERVE_GB_MOST, "LEE_RESERVE_GB", 0) << 30;
#ifndef LEE_NO_GC
    const char *accounting = setting("LEE_ACCOUNTING");
    if (accounting != NULL && strcmp(accounting, "none") == 0)
        settings->accounting = LEE_ACCOUNTING_NONE;
    else if (accounting != NULL && strcmp(accounting, "always") == 0)
        settings->accounting = LEE_ACCOUNTING_ALWAYS;
    else if (accounting != NULL)
        lee_setting_is_wrong("LEE_ACCOUNTING", accounting, "give none or always");
#endif
    const char *snapshot = setting("LEE_GC_SNAPSHOT");
    if (snapshot != NULL && strcmp(snapshot, "always") == 0)
        settings->snapshot = LEE_SNAPSHOT_ALWAYS;
    else
        settings->snapshot = lee_setting_number(1, "LEE_GC_SNAPSHOT", 1) != 0 ? LEE_SNAPSHOT_USUAL : LEE_SNAPSHOT_NEVER;
    if (lee_runs_on_valgrind())
        settings->snapshot = LEE_SNAPSHOT_NEVER; /* valgrind does not know how to copy a process so */
    size_t fail = number_of("LEE_GC_FAIL", 0), once = number_of("LEE_GC_FAIL_ONCE", 0);
    if (fail + once != 0)
        lee_system_fail(once != 0 ? once : fail, once != 0);
    lee_page_table_taint = number_of("LEE_GC_TAINT", 0) != 0;
}

bool lee_heap_is_only(void) {
    return atomic_load_explicit(&heaps, memory_order_relaxed) == 1;
}

bool lee_heap_may_collect(const struct lee_heap *heap) {
    return heap->enabled && atomic_load_explicit(&heaps_of_threads, memory_order_relaxed) <= 1;
}

struct lee_heap *lee_heap_new(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_settings);
    if (!lee_page_table_start())
        return NULL;
    struct lee_small *page = lee_small_take(NULL);
    if (page == NULL)
        return NULL;
    struct lee_heap *heap = (struct lee_heap *)lee_small_start(page);
    LEE_UNPOISON(heap, sizeof *heap);
    memset(heap, 0, sizeof *heap);
    atomic_store_explicit(&page->owner, heap, memory_order_release);
    atomic_fetch_add_explicit(&heaps, 1, memory_order_relaxed);
    heap->small = page;
    heap->small_pages = 1;
    heap->small_room = LEE_SMALL_CELL_MOST;
    heap->inline_part.free_credit = heap->credit_given = (intptr_t)lee_heap_settings.least_budget;
    heap->allowance = SIZE_MAX;
    heap->run_most = LEE_BLOCK_BYTES;
    heap->budget = lee_heap_settings.least_budget;
    heap->stress = heap->stress_left = lee_heap_settings.stress;
    heap->enabled = true;
    heap->trace = lee_heap_settings.trace;
    heap->verify = lee_heap_settings.verify;
    heap->huge = lee_heap_settings.huge;
    return heap;
}

struct lee_heap *lee_heap_new_for_thread(void) {
    int error = errno; /* what the system refuses here is tried in another way; no allocation of C's sets it when it succeeds */
    struct lee_heap *heap = lee_heap_new();
    if (heap == NULL)
        return NULL;
#ifdef LEE_NO_GC
    heap->stack_end = 0;
#else
    heap->stack_end = lee_roots_stack_end();
#endif
    heap->scans_globals = true;
    if (heap->stack_end == 0)
        heap->enabled = false; /* its stack cannot be found, so what it holds is not known */
    atomic_fetch_add_explicit(&heaps_of_threads, 1, memory_order_relaxed);
    errno = error;
    return heap;
}

void lee_heap_use(struct lee_heap *heap) {
    heap->process = lee_process_self();
    heap->process->heap = heap;
#ifndef LEE_NO_GC
    struct lee_task *first = &heap->process->tasks.first;
    if (first->low == 0) /* the thread's own stack */
        first->high = heap->stack_end;
    else
        heap->stack_end = first->high;
#endif
    lee_self = &heap->inline_part;
}

/* What the process still knows of the heap. */
static void forget(struct lee_heap *heap) {
    struct lee_process *process = heap->process;
    if (process == NULL || process->heap != heap)
        return;
    process->heap = NULL;
    *lee_arenas_declared(process) = process->arenas.keys = NULL;
    process->arenas.kept_count = 0;
}

void lee_heap_delete(struct lee_heap *heap) {
    forget(heap);
#ifndef LEE_NO_GC
    if (heap->snapshot)
        lee_snapshot_end(heap);
#endif
    if (heap->blocks_of != NULL)
        lee_sweep_finish(heap);
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next) {
        struct lee_chunk *chunk = lee_chunk_describing(unit);
        size_t first = lee_first_block(chunk, unit);
        for (size_t i = first; i < first + LEE_BLOCKS_A_UNIT; i++) {
            if (lee_code_at(chunk, i) != LEE_CODE_NONE)
                lee_blocks_give(heap, &chunk->blocks[i], 1);
        }
    }
    while (heap->large != NULL) {
        struct lee_chunk *chunk = lee_chunk_describing(heap->large);
        lee_large_free(heap, (void *)lee_block_start(chunk, (size_t)(heap->large - chunk->units) * LEE_BLOCKS_A_UNIT));
    }
    lee_blocks_release(heap, 0);
    atomic_fetch_sub_explicit(&heaps, 1, memory_order_relaxed);
    if (heap->blocks_of != NULL)
        lee_small_give(lee_small_of((uintptr_t)heap->blocks_of));
    for (struct lee_small *page = heap->small, *next; page != NULL; page = next) { /* the last one holds the heap */
        next = page->next;
        lee_small_give(page);
    }
}
