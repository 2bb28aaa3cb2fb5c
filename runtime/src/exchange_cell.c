/* exchange_cell.c: see lee/exchange_cell.h.
 *
 * A cell is in the heap, its content is not: it is a block on the ring of its process, as any other.
 * So nothing but the drop action knows of both. Who waits is on a list of the cell; the stack of
 * whoever waits holds the cell. */
#include "errno_here.h"
#include "worker.h"
#include "process.h"

#ifndef LEE_NO_GC

#include <lee/exchange_cell.h>
#include <lee/exchange.h>
#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/layout.h>


struct waiting {
    struct lee_task *first, *last; /* by `outside_next` */
};

struct lee_exchange_cell {
    void *block; /* null: it is empty */
    struct waiting takers, putters;
};

static void drop(void *object, size_t bytes) {
    struct lee_exchange_cell *cell = object;
    (void)bytes;
    int why = errno;
    lee_exchange_free(cell->block);
    cell->block = NULL;
    errno = why;
}

/* No word of it leads into the heap: tasks are listed elsewhere. */
static const struct lee_layout layout = {.bytes = sizeof(struct lee_exchange_cell), .drop = drop, .name = "cell"};

struct lee_exchange_cell *lee_exchange_cell_new(void *block) {
    struct lee_exchange_cell *cell = lee_heap_alloc_typed(NULL, sizeof *cell, &layout);
    cell->block = block;
    return cell;
}

static bool take_off(struct waiting *waiting, struct lee_task *task) {
    struct lee_task *before = NULL, *at = waiting->first;
    for (; at != NULL && at != task; at = at->outside_next)
        before = at;
    if (at == NULL)
        return false;
    if (before != NULL)
        before->outside_next = task->outside_next;
    else
        waiting->first = task->outside_next;
    if (waiting->last == task)
        waiting->last = before;
    task->outside_next = NULL;
    return true;
}

static void leave(struct lee_task *task) {
    struct lee_exchange_cell *cell = task->outside;
    if (!take_off(&cell->takers, task))
        take_off(&cell->putters, task);
}

static void go_on(struct lee_exchange_cell *cell);

/* It was woken, and is ended before it runs: the next one is in its place. */
static void pass_on(struct lee_task *task) {
    go_on(task->outside);
}

/* Whoever can go on now, does: it is the only one that is woken until it ran. */
static void go_on(struct lee_exchange_cell *cell) {
    struct lee_task *task = cell->block != NULL ? cell->takers.first : cell->putters.first;
    if (task == NULL)
        return;
    leave(task);
    lee_task_resume_left(task, pass_on);
}

static void wait(struct lee_exchange_cell *cell, struct waiting *waiting) {
    struct lee_task *self = lee_task_self();
    lee_task_may_wait();
    self->outside_next = NULL;
    if (waiting->first == NULL)
        waiting->first = self;
    else
        waiting->last->outside_next = self;
    waiting->last = self;
    lee_task_park(cell, leave);
    __asm__ volatile("" ::"r"(cell)); /* held until here */
}

void *lee_exchange_cell_try_take(struct lee_exchange_cell *cell) {
    if (cell == NULL)
        lee_fault_null(NULL);
    lee_lock();
    void *block = cell->block;
    cell->block = NULL;
    if (block != NULL)
        go_on(cell);
    lee_unlock();
    return block;
}

void *lee_exchange_cell_take(struct lee_exchange_cell *cell) {
    void *block;
    lee_lock();
    while ((block = lee_exchange_cell_try_take(cell)) == NULL)
        wait(cell, &cell->takers);
    lee_unlock();
    return block;
}

void lee_exchange_cell_put(struct lee_exchange_cell *cell, void *block) {
    if (cell == NULL)
        lee_fault_null(NULL);
    lee_lock();
    while (cell->block != NULL)
        wait(cell, &cell->putters);
    cell->block = block;
    go_on(cell);
    lee_unlock();
}

#endif
