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
    /* In a collection: the next that waits for the same queue, then the next that is marked in the
     * same round, then the next of the same custodian. */
    struct lee_finalizer *same;
};

struct lee_finalizer_queue {
    struct lee_finalizer *first, *last;
    struct lee_custodian *custodian; /* pays for what only the queue holds */
    /* In a collection; not read by the marker: */
    struct lee_finalizer *awaiting;         /* those that may come into it */
    struct lee_finalizer_queue *next_found; /* of those that were marked and not gone through yet */
};

static void trace_queue(struct lee_marker *marker, const void *object, size_t bytes);

static const struct lee_layout finalizer_layout = {.bytes = sizeof(struct lee_finalizer), .words = 3, .name = "finalizer"};
static const struct lee_layout queue_layout = {.bytes = sizeof(struct lee_finalizer_queue),
                                               .kind = LEE_LAYOUT_TRACED,
                                               .trace = trace_queue,
                                               .name = "finalizer_queue"};

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

size_t lee_weak_asked(struct lee_heap *heap, const struct lee_weak **from, uintptr_t *targets, size_t most) {
    const struct lee_weak *weak = *from;
    size_t count = 0;
    for (; weak != NULL && count < most; weak = weak->next) {
        if (weak->got == lee_weak_watch && weak->target != 0 && !lee_is_marked(heap, weak->target))
            targets[count++] = weak->target;
    }
    *from = weak;
    return count;
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
        queue->custodian = lee_custodian_here();
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

/* A queue with entries in `awaiting` goes on the list of those to go through when it is marked. So
 * each entry is looked at once, however queues and what they hand out lead to each other. */
static void trace_queue(struct lee_marker *marker, const void *object, size_t bytes) {
    struct lee_finalizer_queue *queue = (struct lee_finalizer_queue *)(uintptr_t)object;
    (void)bytes;
    lee_mark_word(marker, (uintptr_t)queue->first);
    lee_mark_word(marker, (uintptr_t)queue->last);
    lee_mark_word(marker, (uintptr_t)queue->custodian);
    if (queue->awaiting == NULL || marker->observe != NULL || queue->next_found != NULL)
        return;
    queue->next_found = marker->heap->found_queues;
    marker->heap->found_queues = queue;
}

/* The end of the list of found queues, so that a queue on it always has a next one. */
static struct lee_finalizer_queue no_queue;

/* Sorts entries by their queues. Those whose queues are marked already are found. */
static void sort_by_queue(struct lee_heap *heap) {
    heap->found_queues = &no_queue;
    for (struct lee_finalizer *entry = heap->finalizers.first; entry != NULL; entry = entry->other) {
        struct lee_finalizer_queue *queue = entry->queue;
        heap->counts.steps++;
        entry->same = queue->awaiting;
        queue->awaiting = entry;
        if (queue->next_found == NULL && lee_is_marked(heap, (uintptr_t)queue)) {
            queue->next_found = heap->found_queues;
            heap->found_queues = queue;
        }
    }
}

/* Of the queues that were found since the last time, chooses what is dead. All that die in one
 * round die together: an object that is kept only because another one is, is handed out too. */
static struct lee_finalizer *hand_out(struct lee_heap *heap) {
    struct lee_finalizer *chosen = NULL;
    while (heap->found_queues != &no_queue) {
        struct lee_finalizer_queue *queue = heap->found_queues;
        heap->found_queues = queue->next_found;
        queue->next_found = NULL;
        struct lee_finalizer *entry = queue->awaiting, *next;
        queue->awaiting = NULL;
        for (; entry != NULL; entry = next) {
            next = entry->same;
            heap->counts.steps++;
            if (lee_is_marked(heap, entry->awaited))
                continue;
            entry->object = entry->awaited;
            entry->same = chosen;
            chosen = entry;
        }
    }
    return chosen;
}

/* Takes what was chosen off the list, and what waits for a dead queue. */
static void put_into_queues(struct lee_heap *heap) {
    struct lee_finalizer **link = &heap->finalizers.first, *entry, *last = NULL;
    bool any = false;
    while ((entry = *link) != NULL) {
        struct lee_finalizer_queue *queue = entry->queue;
        heap->counts.steps++;
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
        any = true;
        heap->counts.finalized++;
    }
    heap->finalizers.last = last;
    if (any)
        lee_task_wake_filled(heap);
}

static void mark_entry(struct lee_marker *marker, struct lee_finalizer *entry) {
    /* A word on the stack may have marked it already, before it held the object. */
    lee_mark_word(marker, (uintptr_t)entry);
    lee_mark_word(marker, entry->object);
    if (marker->depth > marker->room / 2)
        lee_marker_drain(marker);
}

/* Marks entries, with what they hold. */
static void mark_entries(struct lee_heap *heap, struct lee_marker *marker, struct lee_finalizer *entries) {
    for (struct lee_finalizer *entry = entries; entry != NULL; entry = entry->same) {
        heap->counts.steps++;
        mark_entry(marker, entry);
    }
    lee_marker_drain(marker);
}

/* Merges two lists of custodians with entries, by their numbers. */
static struct lee_custodian *merge(struct lee_custodian *a, struct lee_custodian *b) {
    struct lee_custodian *first = NULL, **link = &first;
    while (a != NULL && b != NULL) {
        struct lee_custodian **less = a->number < b->number ? &a : &b;
        *link = *less;
        link = &(*less)->next_payer;
        *less = *link;
    }
    *link = a != NULL ? a : b;
    return first;
}

static struct lee_custodian *sort_payers(struct lee_custodian *list) {
    if (list == NULL || list->next_payer == NULL)
        return list;
    struct lee_custodian *middle = list, *end = list->next_payer;
    while (end != NULL && (end = end->next_payer) != NULL) {
        middle = middle->next_payer;
        end = end->next_payer;
    }
    struct lee_custodian *second = middle->next_payer;
    middle->next_payer = NULL;
    return merge(sort_payers(list), sort_payers(second));
}

/* The same, and whoever has a queue pays for what nobody else reaches: children before their
 * parents, the first custodian, which is charged what is left, last. */
static void mark_and_charge(struct lee_heap *heap, struct lee_marker *marker, struct lee_finalizer *entries) {
    struct lee_custodian *payers = NULL;
    for (struct lee_finalizer *entry = entries, *next; entry != NULL; entry = next) {
        struct lee_custodian *custodian = entry->queue->custodian;
        next = entry->same;
        heap->counts.steps++;
        if (custodian->finalizers == NULL) {
            custodian->next_payer = payers;
            payers = custodian;
        }
        entry->same = custodian->finalizers;
        custodian->finalizers = entry;
    }
    for (struct lee_custodian *at = sort_payers(payers); at != NULL; at = at->next_payer) {
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

static void number_custodians(struct lee_heap *heap) {
    uint32_t number = 0;
    struct lee_custodian *at = lee_custodian_deepest(&lee_accounts_of(heap)->first);
    for (; at != NULL; at = lee_custodian_after(at))
        at->number = number++;
}

/* What stays on the list, in a list of its own. */
static struct lee_finalizer *those_left(struct lee_heap *heap) {
    for (struct lee_finalizer *entry = heap->finalizers.first; entry != NULL; entry = entry->other) {
        entry->queue->awaiting = NULL;
        entry->same = entry->other;
    }
    return heap->finalizers.first;
}

void lee_finalizers_process(struct lee_heap *heap, struct lee_marker *marker) {
    bool charges = marker->counting != LEE_COUNT_NOTHING;
    void (*const mark)(struct lee_heap *, struct lee_marker *, struct lee_finalizer *) = charges ? mark_and_charge : mark_entries;
    if (charges)
        number_custodians(heap);
    sort_by_queue(heap);
    /* A queue may be reached only from what another queue hands out: so again until nothing more is found. */
    for (struct lee_finalizer *chosen; (chosen = hand_out(heap)) != NULL;)
        mark(heap, marker, chosen);
    put_into_queues(heap);
    mark(heap, marker, those_left(heap));
    heap->found_queues = NULL;
}

static void note_inside(struct lee_custodian *top, bool inside) {
    struct lee_custodian *at = lee_custodian_deepest(top);
    for (; at != top; at = lee_custodian_after(at))
        at->inside = inside;
    top->inside = inside;
}

void lee_finalizers_each(struct lee_heap *heap, struct lee_custodian *top, void (*visit)(void *context, uintptr_t word),
                         void *context) {
    if (heap->finalizers.first == NULL)
        return;
    note_inside(top, true);
    for (struct lee_finalizer *entry = heap->finalizers.first; entry != NULL; entry = entry->other) {
        heap->counts.steps++;
        if (!entry->queue->custodian->inside)
            continue;
        visit(context, (uintptr_t)entry);
        visit(context, entry->awaited);
    }
    note_inside(top, false);
}
