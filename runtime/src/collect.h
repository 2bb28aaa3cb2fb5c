/* collect.h: between the parts of a collection. */
#ifndef LEE_SRC_COLLECT_H
#define LEE_SRC_COLLECT_H

#include "mark.h"

/* roots.c: stack, registers, globals, and the roots that were added. */
void lee_roots_scan(struct lee_heap *heap, struct lee_marker *marker);
struct lee_span {
    uintptr_t start, end;
    const struct lee_layout *layout; /* null: any word may be a pointer */
};
/* Adds the `lee_span`s of global data and of this thread's own. False if there is no memory. Takes
 * the loader's lock. */
bool lee_roots_find_globals(struct lee_vector *spans);
/* Of these: the running stack with the registers; and what belongs to no task. */
void lee_roots_scan_stack(struct lee_heap *heap, struct lee_marker *marker);
void lee_roots_scan_shared(struct lee_heap *heap, struct lee_marker *marker);
/* globals.c: makes ready for `cut`. */
void lee_globals_sort(void);
/* Visits what of a range of static data may hold pointers; stops when told false, and says it. */
bool lee_globals_cut(uintptr_t start, uintptr_t end, bool (*visit)(void *context, struct lee_span span), void *context);
/* account.c: the stacks and arenas of all tasks. */
void lee_tasks_scan(struct lee_heap *heap, struct lee_marker *marker);
/* The highest address of this thread's stack. */
uintptr_t lee_roots_stack_end(void);

/* weak.c */
void lee_finalizers_process(struct lee_heap *heap, struct lee_marker *marker);
/* Whether something is in the queue. */
bool lee_finalizer_filled(const struct lee_finalizer_queue *queue);
void lee_weak_process(struct lee_heap *heap);
/* The number of the last snapshot; and what weak references gave away since it was begun that it
 * found dead: at most so many, of those on the heap's list from `*from` on, which is advanced. */
extern size_t lee_weak_watch;
size_t lee_weak_asked(struct lee_heap *heap, const struct lee_weak **from, uintptr_t *targets, size_t most);

/* owners.c: calls the drop action of every unmarked object that has one. */
void lee_owners_process(struct lee_heap *heap);

/* collect.c: no object is marked any more. Keys have marks of their own. */
void lee_marks_clear(struct lee_heap *heap);

/* verify.c: traces the heap again in another way from the recorded roots. The first difference to
 * the mark bits, or null. `more`: more may be marked. */
const char *lee_heap_verify_marks(struct lee_heap *heap, const struct lee_vector *roots, bool more);
/* sum.c: behind an accounting, whether what lives is what is charged, and what the page allocator
 * charged is held. `only`: the heap is the only one. The first thing wrong, or null. */
const char *lee_heap_verify_sum(struct lee_heap *heap, bool only);
/* While a snapshot is taken over: whether each cell that was freed since was found by it, or is younger. */
const char *lee_heap_verify_free(struct lee_heap *heap);

#endif
