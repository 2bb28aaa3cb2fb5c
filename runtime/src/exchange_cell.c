/* exchange_cell.c: see lee/exchange_cell.h.
 *
 * A cell is in the heap, its content is not: it is a block on the ring of its process, as any other.
 * So nothing but the drop action knows of both. Who waits is on a list of the cell; the stack of
 * whoever waits holds the cell.
 *
 * An empty cell knows which task emptied it, and is on a list of that task, which keeps neither of
 * them alive. When that task is shut down, what it took is lost: the cell is poisoned, and taking
 * from it is a fault until something is put into it. */
#include "errno_here.h"
#include "task_park.h"
#include "worker.h"
#include "process.h"

#ifndef LEE_NO_GC

#include <lee/exchange_cell.h>
#include <lee/exchange.h>
#include <lee/fault.h>
#include <lee/heap.h>
#include <lee/layout.h>


struct waiting {
    struct lee_task *first, *last; /* by `outside_next`, and back by `queue_previous` */
};

struct lee_exchange_cell {
    void *block; /* null: it is empty */
    struct waiting takers, putters;
    struct lee_task *emptied_by; /* a task that has not ended; null: it is full, new, or that task has returned */
    struct lee_exchange_cell *next, *previous; /* of those that the same task emptied */
    bool poisoned;
};

/* `task` emptied the cell. */
static void note(struct lee_exchange_cell *cell, struct lee_task *task) {
    cell->emptied_by = task;
    cell->previous = NULL;
    cell->next = task->emptied;
    if (task->emptied != NULL)
        task->emptied->previous = cell;
    task->emptied = cell;
}

static void forget(struct lee_exchange_cell *cell) {
    struct lee_task *task = cell->emptied_by;
    if (task == NULL)
        return;
    if (cell->previous != NULL)
        cell->previous->next = cell->next;
    else
        task->emptied = cell->next;
    if (cell->next != NULL)
        cell->next->previous = cell->previous;
    cell->emptied_by = NULL;
}

static void drop(void *object, size_t bytes) {
    struct lee_exchange_cell *cell = object;
    (void)bytes;
    int why = errno;
    forget(cell);
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

/* It is on one of the two lists. */
static void leave(struct lee_task *task) {
    struct lee_exchange_cell *cell = task->outside;
    struct lee_task *next = task->outside_next, *previous = task->queue_previous;
    if (previous != NULL)
        previous->outside_next = next;
    else if (cell->takers.first == task)
        cell->takers.first = next;
    else
        cell->putters.first = next;
    if (next != NULL)
        next->queue_previous = previous;
    else if (cell->takers.last == task)
        cell->takers.last = previous;
    else
        cell->putters.last = previous;
    task->outside_next = task->queue_previous = NULL;
}

static void go_on(struct lee_exchange_cell *cell);

/* It was woken, and is ended before it runs: the next one is in its place. */
static void pass_on(struct lee_task *task) {
    go_on(task->outside);
}

/* Whoever can go on now, does: it is the only one that is woken until it ran. */
static void go_on(struct lee_exchange_cell *cell) {
    struct lee_task *task = cell->block != NULL ? cell->takers.first : cell->putters.first;
    if (task == NULL && cell->poisoned) /* it faults, if no other fills the cell before */
        task = cell->takers.first;
    if (task == NULL)
        return;
    leave(task);
    lee_task_resume_left(task, pass_on);
}

static void wait(struct lee_exchange_cell *cell, struct waiting *waiting) {
    struct lee_task *self = lee_task_self();
    lee_task_may_wait();
    self->outside_next = NULL;
    self->queue_previous = waiting->last;
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
    if (block == NULL && cell->poisoned)
        lee_fault_message(NULL, "cell: the task that took what was in it was shut down; put something into it first");
    if (block != NULL) {
        cell->block = NULL;
        note(cell, lee_task_self());
        go_on(cell);
    }
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
    cell->poisoned = false;
    forget(cell);
    go_on(cell);
    lee_unlock();
}

bool lee_exchange_cell_is_poisoned(const struct lee_exchange_cell *cell) {
    return cell->poisoned;
}

void lee_exchange_cells_left(struct lee_task *task, bool shut) {
    for (struct lee_exchange_cell *cell = task->emptied, *next; cell != NULL; cell = next) {
        next = cell->next;
        cell->emptied_by = NULL;
        cell->poisoned = shut;
        if (shut)
            go_on(cell);
    }
    task->emptied = NULL;
}

#endif
