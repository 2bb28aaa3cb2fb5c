/* weak.c: weak references and finalizer queues.
 *
 * Promises: what lee/collect.h says. In a collection queues come first, since what they hand out
 * lives; then weak references. The list of weak references and that of what may come into queues
 * lead through cells, which pay for them, by words that no marker reads: so they keep nothing
 * alive. A collection takes what is dead off both before anything is swept. Nothing is allocated
 * while it runs: the node that carries an object into its queue is made when the object is
 * added. */
#include <lee/fault.h>

#include "collect.h"
#include "custodian.h"
#include "task.h"

/* In a plain cell, which is not read. */
struct lee_weak {
    uintptr_t target;
    size_t got;           /* `lee_weak_watch` when it was last asked for */
    struct lee_weak *next; /* of the heap's */
};

/* Of an object that was added to a queue. */
struct lee_finalizer {
    struct lee_finalizer *next; /* in the queue */
    uintptr_t object;           /* 0 until it is in the queue */
    /* Not read by the marker: */
    uintptr_t awaited; /* the object */
    struct lee_finalizer_queue *queue;
    struct lee_finalizer *other; /* the next of the heap's */
    struct lee_finalizer *same;  /* while they are charged: the next whose queue has the same custodian */
};

struct lee_finalizer_queue {
    struct lee_finalizer *first, *last;
    struct lee_custodian *custodian; /* pays for what only the queue holds */
};

static const struct lee_layout finalizer_layout = {.bytes = sizeof(struct lee_finalizer), .words = 3, .name = "finalizer"};
static const struct lee_layout queue_layout = {
    .bytes = sizeof(struct lee_finalizer_queue), .words = 7, .name = "finalizer_queue"};

size_t lee_weak_watch;

struct lee_weak *lee_weak_new(const void *target) {
    struct lee_heap *heap = lee_heap_self();
    struct lee_weak *weak = heap == NULL ? NULL : lee_new_plain(sizeof *weak, true, true);
    if (weak == NULL)
        return NULL;
    weak->target = (uintptr_t)target;
    weak->next = heap->weak;
    heap->weak = weak;
    return weak;
}

struct lee_weak *lee_weak_make(const void *target) {
    struct lee_weak *weak = lee_weak_new(target);
    if (weak == NULL)
        lee_fault_memory(NULL, sizeof *weak);
    return weak;
}

void *lee_weak_get(const struct lee_weak *weak) {
    if (weak == NULL)
        lee_fault_null(NULL);
    ((struct lee_weak *)(uintptr_t)weak)->got = lee_weak_watch;
    return (void *)weak->target;
}

bool lee_weak_conflict(struct lee_heap *heap) {
    for (const struct lee_weak *weak = heap->weak; weak != NULL; weak = weak->next) {
        if (weak->got == lee_weak_watch && weak->target != 0 && !lee_is_marked(heap, weak->target))
            return true;
    }
    return false;
}

void lee_weak_process(struct lee_heap *heap) {
    struct lee_weak **link = &heap->weak, *weak;
    while ((weak = *link) != NULL) {
        bool live = lee_is_marked(heap, (uintptr_t)weak);
        if (live && weak->target != 0 && !lee_is_marked(heap, weak->target)) {
            weak->target = 0;
            heap->counts.weak_cleared++;
        }
        if (live && weak->target != 0)
            link = &weak->next;
        else
            *link = weak->next;
    }
}

struct lee_finalizer_queue *lee_finalizer_queue_new(void) {
    struct lee_finalizer_queue *queue = lee_new_typed(&queue_layout, LEE_TYPED, sizeof *queue, true);
    if (queue != NULL)
        queue->custodian = lee_custodian_current();
    return queue;
}

struct lee_finalizer_queue *lee_finalizer_queue_make(void) {
    struct lee_finalizer_queue *queue = lee_finalizer_queue_new();
    if (queue == NULL)
        lee_fault_memory(NULL, sizeof *queue);
    return queue;
}

bool lee_finalizer_add(struct lee_finalizer_queue *queue, const void *object) {
    struct lee_heap *heap = lee_heap_self();
    struct lee_finalizer *entry = lee_new_typed(&finalizer_layout, LEE_TYPED, sizeof *entry, true);
    if (entry == NULL)
        return false;
    entry->awaited = (uintptr_t)object;
    entry->queue = queue;
    if (heap->finalizers.first == NULL)
        heap->finalizers.first = entry;
    else
        heap->finalizers.last->other = entry;
    heap->finalizers.last = entry;
    return true;
}

void lee_finalizer_put(struct lee_finalizer_queue *queue, const void *object) {
    if (queue == NULL || object == NULL)
        lee_fault_null(NULL);
    if (!lee_custodian_covers(queue->custodian))
        lee_fault_message(NULL, "custodian: the finalizer queue belongs to a custodian that is not this task's and not below it; "
                                "make a queue in this task");
    if (!lee_finalizer_add(queue, object))
        lee_fault_memory(NULL, sizeof(struct lee_finalizer));
}

void *lee_finalizer_try_take(struct lee_finalizer_queue *queue) {
    if (queue == NULL)
        lee_fault_null(NULL);
    struct lee_finalizer *entry = queue->first;
    if (entry == NULL)
        return NULL;
    queue->first = entry->next;
    if (entry->next == NULL)
        queue->last = NULL;
    return (void *)entry->object;
}

bool lee_finalizer_filled(const struct lee_finalizer_queue *queue) {
    return queue->first != NULL;
}

void *lee_finalizer_take(struct lee_finalizer_queue *queue) {
    void *object;
    while ((object = lee_finalizer_try_take(queue)) == NULL)
        lee_task_wait(queue);
    return object;
}

/* Chooses what is found dead, and whose queue lives. All that die in one collection die together:
 * an object that is kept only because another one is, is handed out too. */
static bool hand_out(struct lee_heap *heap) {
    bool any = false;
    for (struct lee_finalizer *entry = heap->finalizers.first; entry != NULL; entry = entry->other) {
        if (entry->object != 0 || !lee_is_marked(heap, (uintptr_t)entry->queue) || lee_is_marked(heap, entry->awaited))
            continue;
        entry->object = entry->awaited;
        any = true;
    }
    return any;
}

/* Takes what was chosen off the list, and what waits for a dead queue. */
static void put_into_queues(struct lee_heap *heap) {
    struct lee_finalizer **link = &heap->finalizers.first, *entry, *last = NULL;
    while ((entry = *link) != NULL) {
        struct lee_finalizer_queue *queue = entry->queue;
        if (entry->object == 0 && lee_is_marked(heap, (uintptr_t)queue)) {
            last = entry;
            link = &entry->other;
            continue;
        }
        *link = entry->other;
        if (entry->object == 0)
            continue;
        if (queue->last != NULL)
            queue->last->next = entry;
        else
            queue->first = entry;
        queue->last = entry;
        lee_task_wake(queue);
        heap->counts.finalized++;
    }
    heap->finalizers.last = last;
}

static void mark_entry(struct lee_marker *marker, struct lee_finalizer *entry) {
    /* A word on the stack may have marked it already, before it held the object. */
    lee_mark_word(marker, (uintptr_t)entry);
    lee_mark_word(marker, entry->object);
    if (marker->depth > marker->room / 2)
        lee_marker_drain(marker);
}

/* Marks the entries that were chosen, with what they hold, or the others. */
static void mark_entries(struct lee_heap *heap, struct lee_marker *marker, bool chosen) {
    for (struct lee_finalizer *entry = heap->finalizers.first; entry != NULL; entry = entry->other) {
        if ((entry->object != 0) == chosen)
            mark_entry(marker, entry);
    }
    lee_marker_drain(marker);
}

/* The same, and whoever has a queue pays for what nobody else reaches: children before their
 * parents, the first custodian, which is charged what is left, last. */
static void mark_and_charge(struct lee_heap *heap, struct lee_marker *marker, bool chosen) {
    for (struct lee_finalizer *entry = heap->finalizers.first; entry != NULL; entry = entry->other) {
        if ((entry->object != 0) == chosen) {
            entry->same = entry->queue->custodian->finalizers;
            entry->queue->custodian->finalizers = entry;
        }
    }
    struct lee_custodian *at = lee_custodian_deepest(&lee_accounts_of(heap)->first);
    for (; at != NULL; at = lee_custodian_after(at)) {
        bool first = at->parent == NULL;
        marker->counting = first ? LEE_COUNT_HANDLES : LEE_COUNT_MARKED;
        marker->charged = 0;
        for (struct lee_finalizer *entry = at->finalizers; entry != NULL; entry = entry->same)
            mark_entry(marker, entry);
        lee_marker_drain(marker);
        at->finalizers = NULL;
        if (!first)
            at->own += marker->charged;
    }
}

void lee_finalizers_process(struct lee_heap *heap, struct lee_marker *marker) {
    void (*const mark)(struct lee_heap *, struct lee_marker *, bool) =
        marker->counting == LEE_COUNT_NOTHING ? mark_entries : mark_and_charge;
    /* A queue may be reached only from what another queue hands out: so again until nothing more is found. */
    while (hand_out(heap))
        mark(heap, marker, true);
    put_into_queues(heap);
    mark(heap, marker, false);
}

void lee_finalizers_each(struct lee_heap *heap, const struct lee_custodian *top, void (*visit)(void *context, uintptr_t word),
                         void *context) {
    for (struct lee_finalizer *entry = heap->finalizers.first; entry != NULL; entry = entry->other) {
        if (!lee_custodian_is_inside(entry->queue->custodian, top))
            continue;
        visit(context, (uintptr_t)entry);
        visit(context, entry->awaited);
    }
}
