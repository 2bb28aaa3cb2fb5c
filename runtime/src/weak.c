/* weak.c: weak references and finalizer queues.
 *
 * Promises: what lee/collect.h says. In a collection queues come first, since what they hand out lives; then weak references.
 * The tables lie outside the heap, so they keep nothing alive; nothing is allocated while a collection runs: the node that
 * carries an object into its queue is made when the object is added. */
#include <lee/fault.h>

#include "collect.h"
#include "custodian.h"
#include "task.h"

struct lee_weak {
    uintptr_t target; /* in a plain cell, which is not read */
    size_t got;       /* `lee_weak_watch` when it was last asked for */
};

struct node {
    struct node *next;
    uintptr_t object; /* 0 until it is in the queue */
};

struct lee_finalizer_queue {
    struct node *first, *last;
    struct lee_custodian *custodian; /* pays for what only the queue holds */
};

struct finalizer {
    uintptr_t object;
    struct node *node;
    struct lee_finalizer_queue *queue; /* null: done with */
};

static const struct lee_layout node_layout = {.bytes = sizeof(struct node), .words = 3, .name = "finalizer"};
static const struct lee_layout queue_layout = {
    .bytes = sizeof(struct lee_finalizer_queue), .words = 7, .name = "finalizer_queue"};

size_t lee_weak_watch;

struct lee_weak *lee_weak_new(const void *target) {
    struct lee_heap *heap = lee_heap_self();
    struct lee_weak *weak = heap == NULL ? NULL : lee_new_plain(sizeof *weak, true, true);
    if (weak == NULL)
        return NULL;
    struct lee_weak **entry = lee_vector_add(&heap->weak, sizeof weak);
    if (entry == NULL)
        return NULL;
    *entry = weak;
    weak->target = (uintptr_t)target;
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
    struct lee_weak **entries = heap->weak.data;
    for (size_t i = 0; i < heap->weak.bytes / sizeof *entries; i++) {
        const struct lee_weak *weak = entries[i];
        if (weak->got == lee_weak_watch && weak->target != 0 && !lee_is_marked(heap, weak->target))
            return true;
    }
    return false;
}

void lee_weak_process(struct lee_heap *heap) {
    struct lee_weak **entries = heap->weak.data;
    size_t count = heap->weak.bytes / sizeof *entries, kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct lee_weak *weak = entries[i];
        if (!lee_is_marked(heap, (uintptr_t)weak))
            continue;
        if (weak->target != 0 && !lee_is_marked(heap, weak->target)) {
            weak->target = 0;
            heap->counts.weak_cleared++;
        }
        if (weak->target != 0)
            entries[kept++] = weak;
    }
    heap->weak.bytes = kept * sizeof *entries;
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
    struct node *node = lee_new_typed(&node_layout, LEE_TYPED, sizeof *node, true);
    if (node == NULL)
        return false;
    struct finalizer *entry = lee_vector_add(&heap->finalizers, sizeof *entry);
    if (entry == NULL)
        return false;
    *entry = (struct finalizer){(uintptr_t)object, node, queue};
    return true;
}

void lee_finalizer_put(struct lee_finalizer_queue *queue, const void *object) {
    if (queue == NULL || object == NULL)
        lee_fault_null(NULL);
    if (!lee_custodian_covers(queue->custodian))
        lee_fault_message(NULL, "custodian: the finalizer queue belongs to a custodian that is not this task's and not below it; "
                                "make a queue in this task");
    if (!lee_finalizer_add(queue, object))
        lee_fault_memory(NULL, sizeof(struct finalizer));
}

void *lee_finalizer_try_take(struct lee_finalizer_queue *queue) {
    if (queue == NULL)
        lee_fault_null(NULL);
    struct node *node = queue->first;
    if (node == NULL)
        return NULL;
    queue->first = node->next;
    if (node->next == NULL)
        queue->last = NULL;
    return (void *)node->object;
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

/* Puts into its queue what is found dead. All that die in one collection die together: an object that is kept only because
 * another one is, is handed out too. */
static bool hand_out(struct lee_heap *heap, struct finalizer *entries, size_t count) {
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        struct finalizer *entry = &entries[i];
        if (entry->queue == NULL || entry->node->object != 0 || !lee_is_marked(heap, (uintptr_t)entry->queue) ||
            lee_is_marked(heap, entry->object))
            continue;
        entry->node->object = entry->object;
        any = true;
    }
    return any;
}

static void put_into_queue(struct finalizer *entry) {
    struct lee_finalizer_queue *queue = entry->queue;
    if (queue->last != NULL)
        queue->last->next = entry->node;
    else
        queue->first = entry->node;
    queue->last = entry->node;
    lee_task_wake(queue);
    entry->queue = NULL;
}

/* Marks what the entries of a custodian's queues hold, or of all queues. How many entries that were. */
static size_t mark_entries(struct lee_marker *marker, const struct finalizer *entries, size_t count, const struct lee_custodian *of,
                           bool handed_out) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct finalizer *entry = &entries[i];
        if (entry->queue == NULL || (of != NULL && entry->queue->custodian != of) || (handed_out && entry->node->object == 0))
            continue;
        /* A word on the stack may have marked the node already, before it held the object. */
        lee_mark_word(marker, (uintptr_t)entry->node);
        if (handed_out)
            lee_mark_word(marker, entry->object);
        if (marker->depth > marker->room / 2)
            lee_marker_drain(marker);
        found++;
    }
    lee_marker_drain(marker);
    return found;
}

/* The same, and whoever has a queue pays for what nobody else reaches: children before their parents, the first custodian for what is
 * left. */
static void mark_and_charge(struct lee_marker *marker, const struct finalizer *entries, size_t count, bool handed_out) {
    size_t left = marker->counting == LEE_COUNT_NOTHING ? 0 : count;
    struct lee_custodian *at = lee_custodian_deepest(&lee_custodian_first);
    for (; left > 0 && at != &lee_custodian_first; at = lee_custodian_after(at)) {
        marker->counting = LEE_COUNT_BYTES;
        marker->charged = 0;
        left -= mark_entries(marker, entries, count, at, handed_out);
        at->own += marker->charged;
        marker->counting = LEE_COUNT_HANDLES;
        marker->charged = 0;
    }
    mark_entries(marker, entries, count, NULL, handed_out);
}

void lee_finalizers_process(struct lee_heap *heap, struct lee_marker *marker) {
    struct finalizer *entries = heap->finalizers.data;
    size_t count = heap->finalizers.bytes / sizeof *entries, kept = 0;
    /* A queue may be reached only from what another queue hands out: so again until nothing more is found. */
    while (hand_out(heap, entries, count)) {
        mark_and_charge(marker, entries, count, true);
        for (size_t i = 0; i < count; i++) {
            if (entries[i].queue != NULL && entries[i].node->object != 0) {
                put_into_queue(&entries[i]);
                heap->counts.finalized++;
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (entries[i].queue != NULL && lee_is_marked(heap, (uintptr_t)entries[i].queue))
            entries[kept++] = entries[i];
    }
    heap->finalizers.bytes = kept * sizeof *entries;
    mark_and_charge(marker, entries, kept, false);
}
