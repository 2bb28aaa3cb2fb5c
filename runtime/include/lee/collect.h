/* The collector's side of type descriptors and roots, for code that holds pointers into the heap
 * outside of it.
 *
 * Promises: the functions that take a marker are called by the collector, on the thread that runs
 * the heap's process, and may themselves call nothing but each other: while marking nothing is
 * allocated, freed or waited for. */
#ifndef LEE_COLLECT_H
#define LEE_COLLECT_H

#include <lee/pages.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_layout;
struct lee_marker;

/* Something outside the heap that may hold pointers into it: a task's stack, its list of arenas, a
 * table of the runtime. `scan` tells the marker of all of them. It lies in the memory of whoever
 * added it and must be removed before that goes. */
struct lee_root {
    struct lee_root *next, *previous;
    void (*scan)(struct lee_root *root, struct lee_marker *marker);
};

void lee_root_add(struct lee_heap *heap, struct lee_root *root);
void lee_root_remove(struct lee_heap *heap, struct lee_root *root);

/* One word that may be a pointer to any byte of an object of the marker's heap; anything else is ignored. */
void lee_mark_word(struct lee_marker *marker, uintptr_t word);

/* Each word of a range, which is aligned to 8 bytes: conservatively, for what has no layout. */
void lee_mark_words(struct lee_marker *marker, const void *start, const void *end);

/* The pointers in `bytes` bytes at `object`, an object or array outside the heap that has the layout. */
void lee_mark_contents(struct lee_marker *marker, const void *object, size_t bytes, const struct lee_layout *layout);

/* For drop actions: whether the object that `p` points to lives on. True for what is not in this heap. */
bool lee_is_live(const void *p);

/* Collects now. At a safe point only: no pointer that is needed may be hidden from stack, registers
 * and roots. */
void lee_collect(void);

/* Weak references: an object that keeps nothing alive. `get` is null once the target is dead:
 * reached from no root and from no finalizer queue. `new` is null if there is no memory. */
struct lee_weak;
struct lee_weak *lee_weak_new(const void *target);
void *lee_weak_get(const struct lee_weak *weak);
/* `new` that faults when there is no memory. */
struct lee_weak *lee_weak_make(const void *target);

/* Finalizer queues. An object that was added and is reached no more is kept, with all it reaches,
 * and put into the queue, once for each time that it was added; `try_take` hands them out, null if
 * there is none now. `take` waits for one: other tasks run meanwhile, and if none can, the heap is
 * collected; when that finds nothing either, it is a deadlock, which is a fault. A queue that is
 * dead forgets what was added to it. `add` is false if there is no memory. */
struct lee_finalizer_queue;
struct lee_finalizer_queue *lee_finalizer_queue_new(void);
bool lee_finalizer_add(struct lee_finalizer_queue *queue, const void *object);
void *lee_finalizer_try_take(struct lee_finalizer_queue *queue);
void *lee_finalizer_take(struct lee_finalizer_queue *queue);
/* `new` and `add` that fault when there is no memory, and for null. */
struct lee_finalizer_queue *lee_finalizer_queue_make(void);
void lee_finalizer_put(struct lee_finalizer_queue *queue, const void *object);

#ifdef __cplusplus
}
#endif

#endif
