/* globals.c: see lee/globals.h.
 *
 * Promises: what is added is cut out of the writable data that the collector reads. Without memory
 * for the sorted table, or when two units name the same address with different sizes, more is read
 * than need be, never less. */
#include "collect.h"
#include "worker.h"

#include <lee/globals.h>

static struct lee_globals *units;
static struct lee_vector sorted; /* `lee_global`s of all units */
static bool is_sorted;

void lee_globals_add(struct lee_globals *unit) {
    unit->next = units;
    units = unit;
    is_sorted = false;
}

void lee_globals_remove(struct lee_globals *unit) {
    for (struct lee_globals **at = &units; *at != NULL; at = &(*at)->next) {
        if (*at == unit) {
            *at = unit->next;
            is_sorted = false;
            return;
        }
    }
}

static uintptr_t start_of(const struct lee_global *global) {
    return (uintptr_t)global->start;
}

/* Of two at the same place, which are one variable, the smaller comes first. */
static bool is_before(const struct lee_global *a, const struct lee_global *b) {
    return start_of(a) < start_of(b) || (start_of(a) == start_of(b) && a->bytes < b->bytes);
}

static void sort(struct lee_global *globals, size_t count) {
    for (size_t step = count / 2; step > 0; step /= 2) {
        for (size_t i = step; i < count; i++) {
            struct lee_global moved = globals[i];
            size_t at = i;
            for (; at >= step && is_before(&moved, &globals[at - step]); at -= step)
                globals[at] = globals[at - step];
            globals[at] = moved;
        }
    }
}

static void sort_all(void) {
    if (is_sorted)
        return;
    sorted.bytes = 0;
    for (struct lee_globals *unit = units; unit != NULL; unit = unit->next) {
        for (size_t i = 0; i < unit->count; i++) {
            struct lee_global *place = lee_vector_add(&sorted, sizeof *place);
            if (place == NULL) {
                sorted.bytes = 0;
                return;
            }
            *place = unit->globals[i];
        }
    }
    sort(sorted.data, sorted.bytes / sizeof(struct lee_global));
    is_sorted = true;
}

void lee_globals_sort(void) {
    lee_lock(); /* of the workers, one does it */
    sort_all();
    lee_unlock();
}

/* The first that ends behind `address`, if they do not overlap. */
static size_t find(const struct lee_global *globals, size_t count, uintptr_t address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (start_of(&globals[middle]) + globals[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool lee_globals_cut(uintptr_t start, uintptr_t end, bool (*visit)(void *context, struct lee_span span), void *context) {
    const struct lee_global *globals = sorted.data;
    size_t count = sorted.bytes / sizeof *globals;
    for (size_t i = find(globals, count, start); i < count && start_of(&globals[i]) < end; i++) {
        uintptr_t from = start_of(&globals[i]), to = from + globals[i].bytes;
        if (from < start || to > end)
            continue;
        if (!visit(context, (struct lee_span){start, from, NULL}) ||
            (globals[i].layout != NULL && !visit(context, (struct lee_span){from, to, globals[i].layout})))
            return false;
        start = to;
    }
    return visit(context, (struct lee_span){start, end, NULL});
}
