/* custodian_remote.c: custodians that another process made.
 *
 * A custodian that is sent is named by its group (group.h) on its way. In the process that gets it,
 * the name becomes an object of that heap, which holds the group as the message did; in the process
 * that made it, it becomes the custodian itself. So a process has one object for each custodian, and
 * equal ones are equal pointers.
 *
 * Promises: the heap of another process is touched only to end its tasks, when a custodian is shut
 * down. No limit is loosened: limits are set from above only, what is spawned in a custodian is held
 * to the limits there, and a process starts nothing above the custodian that it was spawned in. */
#include "custodian.h"

#ifndef LEE_NO_GC

#include <lee/heap.h>
#include <lee/lee.h>

#include <string.h>

#include "address_table.h"
#include "dispose.h"
#include "group.h"
#include "process.h"
#include "worker.h"

/* What the heap has of one, and what it is charged besides: it may be all that keeps the group. */
enum { OBJECT_BYTES = offsetof(struct lee_custodian, parent), GROUP_BYTES = sizeof(struct lee_group) };

/* --- objects ---------------------------------------------------------------------------------- */

static void let_go(struct lee_custodian *custodian) {
    struct lee_group *group = custodian->group;
    custodian->group = NULL;
    lee_lock();
    lee_group_unname(group);
    lee_unlock();
}

static void drop(void *object, size_t bytes) {
    struct lee_custodian *custodian = object;
    struct lee_process *self = lee_process_self();
    (void)bytes;
    if (custodian->group == NULL)
        return;
    lee_address_remove(&self->custodians, lee_address_find(self->custodians, custodian->group));
    lee_process_count(self, LEE_GROUP_BYTES, -(ptrdiff_t)GROUP_BYTES);
    let_go(custodian);
}

/* Not scanned: a group is in no heap. */
static const struct lee_layout layout = {.bytes = OBJECT_BYTES, .drop = drop, .name = "custodian"};

void lee_remote_end(struct lee_process *process) {
    struct lee_address_table *table = process->custodians;
    process->custodians = NULL; /* the objects themselves go with the heap */
    for (size_t i = 0; table != NULL && i < table->room; i++) {
        if (table->entries[i].value != 0)
            let_go((struct lee_custodian *)table->entries[i].value);
    }
    lee_address_free(table);
}

/* A new object, without a group, and room for it in the table. May not return. */
static struct lee_custodian *new_object(struct lee_process *self) {
    lee_address_ask(self->custodians);
    struct lee_custodian *custodian = lee_heap_alloc_typed(NULL, OBJECT_BYTES, &layout);
    if (!lee_address_reserve(&self->custodians))
        lee_fault_memory(NULL, sizeof *self->custodians);
    custodian->remote = true;
    return custodian;
}

/* With the lock. */
static void name(struct lee_process *self, struct lee_custodian *custodian, struct lee_group *group) {
    custodian->group = group;
    lee_group_name(group);
    lee_address_add(self->custodians, group)->value = (uintptr_t)custodian;
    lee_process_count(self, LEE_GROUP_BYTES, GROUP_BYTES);
    /* The collector gives the group back with the object, so it counts for when that is due. */
    lee_heap_self()->since_collection += GROUP_BYTES;
}

/* The object of the running process for a custodian, with the lock. One that nothing reaches any more
 * is found, too: as long as it is in the table, no collection has ended it. */
static struct lee_custodian *object_of(struct lee_group *group) {
    struct lee_process *self = lee_process_self();
    if (self->accounts.first.group == group)
        return &self->accounts.first;
    if (group->maker == self)
        return group->custodian;
    const struct lee_address_entry *entry = lee_address_find(self->custodians, group);
    if (entry != NULL)
        return (struct lee_custodian *)entry->value;
    self->names = true;
    struct lee_custodian *custodian = new_object(self);
    self->names = false;
    name(self, custodian, group);
    return custodian;
}

void lee_push_custodian(struct lee_work *work, void *place) {
    void *word;
    memcpy(&word, place, sizeof word);
    if (word == NULL)
        return;
    lee_lock();
    switch (lee_walk_of(work)) {
    case LEE_WALK_LEAVE: {
        struct lee_group *group = lee_group_of(word);
        if (group == NULL)
            lee_fault_memory(NULL, sizeof *group);
        lee_group_name(group);
        word = group;
        break;
    }
    case LEE_WALK_NAME:
        word = object_of(word);
        break;
    case LEE_WALK_UNNAME:
    case LEE_WALK_LOST:
        lee_group_unname(word);
        break;
    default:
        break;
    }
    lee_unlock();
    memcpy(place, &word, sizeof word);
}

/* --- what it allows --------------------------------------------------------------------------- */

void lee_remote_check_start(const struct lee_custodian *custodian) {
    const struct lee_group *own = lee_process_self()->group;
    if (own != custodian->group && lee_group_is_inside(own, custodian->group))
        lee_fault_message(NULL, "custodian: a process starts nothing above the custodian that it was spawned in; let a process above do it");
}

void lee_remote_check_authority(const struct lee_custodian *custodian) {
    const struct lee_group *own = lee_task_self()->custodian->group, *group = custodian->group;
    if (own == NULL || own == group || !lee_group_is_inside(group, own))
        lee_fault_message(NULL, "custodian: only a task of a custodian above sets its limits and shares; let a process above do it");
}

struct lee_custodian *lee_remote_new(struct lee_custodian *above) {
    struct lee_process *self = lee_process_self();
    lee_remote_check_start(above);
    struct lee_custodian *custodian = new_object(self);
    lee_lock();
    struct lee_group *group = lee_group_below(above->group);
    if (group == NULL)
        lee_fault_memory(NULL, GROUP_BYTES);
    name(self, custodian, group);
    lee_unlock();
    return custodian;
}

void lee_remote_shutdown(struct lee_custodian *custodian) {
    lee_lock();
    lee_world_stop(); /* the object is this process's, which is still there if this returns */
    lee_group_shut(custodian->group, NULL);
    lee_world_go();
    lee_unlock();
    __asm__ volatile("" ::"r"(custodian)); /* it holds the group until here */
}

bool lee_remote_is_shut(const struct lee_custodian *custodian) {
    lee_lock();
    bool shut = custodian->group->shut;
    lee_unlock();
    return shut;
}

size_t lee_remote_use(const struct lee_custodian *custodian) {
    lee_lock();
    size_t use = lee_group_use(custodian->group);
    lee_unlock();
    return use;
}

#endif
