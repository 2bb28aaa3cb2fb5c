/* snapshot.h: marking beside the program, in a copy of its process. COLLECTOR.md, "Pauses", has the why.
 *
 * Promises: from `lee_snapshot_begin` to `lee_snapshot_end` the process has one child, which no
 * signal announces and no `wait` but one for clones sees; it holds no descriptors, dies with its
 * parent and writes nothing but its part of a shared mapping. Whatever happens to it, the heap is
 * whole: its marks are only looked at when all of them are there. */
#ifndef LEE_SRC_SNAPSHOT_H
#define LEE_SRC_SNAPSHOT_H

#include "heap.h"

/* LEE_GC_SNAPSHOT=0, 1, always. `always`: for tests, also of small heaps, and checked under LEE_GC_VERIFY. */
enum { LEE_SNAPSHOT_NEVER, LEE_SNAPSHOT_USUAL, LEE_SNAPSHOT_ALWAYS };

/* Whether the next collection should be one, when the last one ended so many nanoseconds ago. */
bool lee_snapshot_wanted(struct lee_heap *heap, uint64_t rest);

/* Makes the child. What the last collection left is swept, no bin has cells. False if there is no
 * child; nothing has happened then. */
bool lee_snapshot_begin(struct lee_heap *heap);

/* What became of it. `wait`: until it is not running any more. */
enum lee_snapshot_state { LEE_SNAPSHOT_RUNS, LEE_SNAPSHOT_DONE, LEE_SNAPSHOT_LOST };
enum lee_snapshot_state lee_snapshot_state(bool wait);

/* Its marks become the heap's; what was handed out since is marked too. */
void lee_snapshot_adopt(struct lee_heap *heap);

/* After `lee_snapshot_adopt`: what weak references gave away since, and the child had found dead, is
 * marked too, with all that it led to at the snapshot. False if the child has ended before. */
bool lee_snapshot_mark_asked(struct lee_heap *heap);

/* The child, if it still runs, and what it shared go. */
void lee_snapshot_end(struct lee_heap *heap);

/* What it took the child to mark, in nanoseconds of processor time. After `adopt`. */
uint64_t lee_snapshot_mark_time(void);

/* For tests: the child's number, 0 if there is none. */
int lee_snapshot_child(void);

#endif
