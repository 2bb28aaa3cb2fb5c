/* account_bounded.c: what one custodian reaches, at a cost in proportion to its limit.
 *
 * Promises: touches neither the collector's mark bits nor any object (but gives back what tasks'
 * stacks do not use any more); reads at most what is reached before the trace stops, and one object
 * more; of what may come into finalizer queues, all is looked at. Uses memory of its own in
 * proportion to what it finds. The count is what the custodian and all below it are charged under
 * the precise policy, or more (of what may come into a queue, some may have other holders, too); so
 * at least what they are charged under any. */
#include "custodian.h"

#ifndef LEE_NO_GC

#include "collect.h"
#include "poison.h"
#include "system.h"

struct trace {
    struct lee_heap *heap;
    uintptr_t *seen; /* hash set of objects, 0: free */
    size_t mask, count;
    struct lee_vector pending; /* found, and not read yet */
    struct lee_marker observer; /* for layouts that trace themselves */
    size_t bytes, most;
    bool lost;
};

static size_t place_of(const struct trace *trace, uintptr_t object) {
    size_t at = (size_t)((object >> 3) * 0x9e3779b97f4a7c15u >> 20) & trace->mask;
    while (trace->seen[at] != 0 && trace->seen[at] != object)
        at = (at + 1) & trace->mask;
    return at;
}

static bool grow(struct trace *trace) {
    uintptr_t *old = trace->seen;
    size_t entries = trace->mask + 1;
    trace->seen = lee_system_reserve(NULL, 4 * entries * sizeof(uintptr_t));
    if (trace->seen == NULL) {
        trace->seen = old;
        return false;
    }
    trace->mask = 4 * entries - 1;
    for (size_t i = 0; i < entries; i++) {
        if (old[i] != 0)
            trace->seen[place_of(trace, old[i])] = old[i];
    }
    lee_system_release(old, entries * sizeof(uintptr_t));
    return true;
}

/* A word that may point to an object: counts it, and puts it off. */
static void see(void *context, uintptr_t word) {
    struct trace *trace = context;
    struct lee_object object;
    if (trace->lost || trace->bytes > trace->most || !lee_object_find(trace->heap, word, &object) ||
        object.dead)
        return;
    size_t at = place_of(trace, object.start);
    if (trace->seen[at] != 0)
        return;
    uintptr_t *next = lee_vector_add(&trace->pending, sizeof *next);
    if (next == NULL || (trace->count * 2 > trace->mask && !grow(trace))) {
        trace->lost = true;
        return;
    }
    trace->seen[place_of(trace, object.start)] = *next = object.start;
    trace->count++;
    trace->bytes += object.charge;
}

static void read_pending(struct trace *trace) {
    while (trace->pending.bytes > 0 && !trace->lost && trace->bytes <= trace->most) {
        struct lee_object object;
        trace->pending.bytes -= sizeof(uintptr_t);
        uintptr_t start = *(uintptr_t *)(void *)((unsigned char *)trace->pending.data + trace->pending.bytes);
        if (!lee_object_find(trace->heap, start, &object))
            continue;
        const struct lee_layout *layout = lee_header_layout(object.header);
        if (lee_is_handle(layout))
            trace->bytes -= object.charge; /* its owner's, and what it refers to is nobody's */
        else
            lee_layout_each(layout, object.start, object.start + object.bytes, see, trace, &trace->observer);
    }
}

size_t lee_account_reached(struct lee_heap *heap, struct lee_custodian *custodian, size_t most) {
    enum { ENTRIES = 1 << 12 };
    struct trace trace = {.heap = heap, .mask = ENTRIES - 1, .most = most};
    trace.seen = lee_system_reserve(NULL, ENTRIES * sizeof(uintptr_t));
    if (trace.seen == NULL)
        return SIZE_MAX;
    trace.observer = (struct lee_marker){.heap = heap, .observe = see, .observer = &trace};
    struct lee_custodian *at = lee_custodian_deepest(custodian);
    for (;; at = lee_custodian_after(at)) {
        for (struct lee_task *task = at->tasks; task != NULL && trace.bytes <= most; task = task->next) {
            lee_task_trim(task);
            trace.bytes += lee_task_bytes(task);
            lee_task_scan(heap, task, &trace.observer);
            read_pending(&trace);
        }
        if (at == custodian)
            break;
    }
    /* Nobody's task may reach that; the custodian pays for it nevertheless. */
    lee_finalizers_each(heap, custodian, see, &trace);
    read_pending(&trace);
    lee_system_release(trace.seen, (trace.mask + 1) * sizeof(uintptr_t));
    lee_vector_free(&trace.pending);
    return trace.lost ? SIZE_MAX : trace.bytes;
}

#endif
