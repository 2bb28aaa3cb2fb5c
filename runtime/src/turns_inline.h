/* turns_inline.h: what is done with what turns.h describes. */
#ifndef LEE_SRC_TURNS_INLINE_H
#define LEE_SRC_TURNS_INLINE_H

#include <stddef.h>

#include "process.h"
#include "turns.h"

#ifndef LEE_NO_GC /* where there are processes */

static inline void lee_turns_add(struct lee_turns *queue, struct lee_process *process) {
    struct lee_process *before = queue->stopped; /* null: it is the last */
    if (__builtin_expect(process->stopped, 0)) {
        if (before == NULL) {
            queue->stopped = process;
            queue->passes = LEE_PASSES;
        }
        before = NULL;
    } else if (__builtin_expect(before != NULL, 0)) {
        if (process->yields)
            before = NULL;
        else if (--queue->passes == 0)
            queue->stopped = NULL;
    }
    process->yields = false;
    struct lee_process *after = before != NULL ? before->queue_previous : queue->tail;
    process->queue_previous = after;
    process->queue_next = before;
    if (after != NULL)
        after->queue_next = process;
    else
        queue->head = process;
    if (before != NULL)
        before->queue_previous = process;
    else
        queue->tail = process;
}

static inline void lee_turns_take(struct lee_turns *queue, struct lee_process *process) {
    if (__builtin_expect(queue->stopped == process, 0)) {
        queue->stopped = process->queue_next;
        queue->passes = LEE_PASSES;
    }
    if (process->queue_previous != NULL)
        process->queue_previous->queue_next = process->queue_next;
    else
        queue->head = process->queue_next;
    if (process->queue_next != NULL)
        process->queue_next->queue_previous = process->queue_previous;
    else
        queue->tail = process->queue_previous;
}

#endif
#endif
