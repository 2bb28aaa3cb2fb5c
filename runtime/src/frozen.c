/* frozen.c: blocks of the exchange heap that no longer change, which many processes hold.
 *
 * Promises: a frozen block is freed with its last holder, and what a process holds is given up when
 * it ends, whatever it did.
 *
 * A frozen block may hold pointers to others. They are of no process, but of the block: freezing it
 * takes them out of the table of the process, and the end of the block gives them up, one block
 * after the other, however long a chain they are.
 *
 * A frozen block is on no ring: its count stands where its first link was. It is the number of
 * pointers to it: those that processes have, and those in messages on their way. Each process has a
 * table of the frozen blocks that it holds, with how many pointers of its own there are, so that
 * its end can give up those that are in its variables. Where the table cannot grow for a pointer
 * that arrives in a message, the message arrives, is released as a whole, and the process faults
 * for lack of memory (`lee_frozen_arrived`).
 *
 * The custodians of the process that froze a block are charged for it until it is freed, whoever
 * holds it and whether or not that process is still there: the second link names their group. */
#include <lee/exchange.h>
#include <lee/fault.h>
#include <lee/frozen.h>

#include "address_table.h"
#include "dispose.h"
#include "exchange.h"
#include "process.h"
#include "worker.h"

#include <stdlib.h>

static size_t *count_of(const void *block) {
    return (size_t *)(void *)&((struct lee_exchange_block *)(uintptr_t)block - 1)->links.next;
}

/* Blocks without holders whose ends are under way; the first link, which was the count, is the
 * list's. With several workers they are touched with the lock. */
static _Thread_local struct {
    struct lee_exchange_links *first;
    bool busy;
} ending;

static void end_all(void) {
    ending.busy = true;
    while (ending.first != NULL) {
        struct lee_exchange_block *block = (struct lee_exchange_block *)(void *)ending.first;
        ending.first = block->links.next;
        lee_parts_lost(block + 1, block->size, block->owned); /* may put more on the list */
        lee_exchange_give_back(block + 1);
    }
    ending.busy = false;
}

static void give_up(void *object, size_t count) {
    if (__atomic_sub_fetch(count_of(object), count, __ATOMIC_ACQ_REL) != 0)
        return;
    struct lee_exchange_block *block = (struct lee_exchange_block *)object - 1;
    lee_lock();
    if (block->owned->drop == NULL && block->owned->tail_drop == NULL) {
        lee_exchange_give_back(object);
    } else {
        block->links.next = ending.first;
        ending.first = &block->links;
        if (!ending.busy)
            end_all();
    }
    lee_unlock();
}

/* --- the table of a process ------------------------------------------------------------------- */

/* A pointer arrived that the table of the running process has no room for. */
static _Thread_local bool arrived_unnoted;

/* One pointer more in the running process; false if it could not be noted. */
static bool note(const void *block) {
    struct lee_process *process = lee_process_self();
    struct lee_address_entry *entry = lee_address_find(process->frozen, block);
    if (entry == NULL && !lee_address_reserve(&process->frozen))
        return false;
    if (entry == NULL)
        entry = lee_address_add(process->frozen, block);
    entry->value++;
    return true;
}

/* One less, if it was noted. */
static void forget(const void *block) {
    struct lee_address_table **table = &lee_process_self()->frozen;
    struct lee_address_entry *entry = lee_address_find(*table, block);
    if (entry != NULL && --entry->value == 0)
        lee_address_remove(table, entry);
}

/* --- what is called --------------------------------------------------------------------------- */

void *lee_exchange_freeze(void *block) {
    if (block == NULL)
        return NULL;
    lee_address_ask(lee_process_self()->frozen);
    if (!note(block))
        lee_fault_memory(NULL, sizeof(struct lee_address_table));
    lee_lock();
    const struct lee_exchange_block *head = (struct lee_exchange_block *)block - 1;
    lee_walk_parts(LEE_WALK_LEAVE, block, head->size, head->owned); /* frozen blocks, and nothing else */
    lee_exchange_unlink(block);
    *count_of(block) = 1;
    lee_unlock();
    return block;
}

void lee_exchange_freeze_in_place(void *block) {
    lee_exchange_freeze(block);
}

void *lee_frozen_retain(const void *block) {
    if (block != NULL) {
        lee_address_ask(lee_process_self()->frozen);
        if (!note(block)) /* a pointer in no table would keep the block for ever */
            lee_fault_memory(NULL, sizeof(struct lee_address_table));
        __atomic_add_fetch(count_of(block), 1, __ATOMIC_RELAXED);
    }
    return (void *)(uintptr_t)block;
}

void lee_frozen_release(const void *block) {
    if (block == NULL)
        return;
    forget(block);
    give_up((void *)(uintptr_t)block, 1);
}

void lee_push_frozen(struct lee_work *work, const void *block) {
    if (block == NULL)
        return;
    switch (lee_walk_of(work)) {
    case LEE_WALK_RELEASE:
    case LEE_WALK_DEAD:
        lee_frozen_release(block);
        break;
    case LEE_WALK_LOST:
        give_up((void *)(uintptr_t)block, 1);
        break;
    case LEE_WALK_LEAVE:
        forget(block);
        break;
    case LEE_WALK_ARRIVE:
        if (!note(block))
            arrived_unnoted = true;
        break;
    case LEE_WALK_NAME:
    case LEE_WALK_UNNAME:
        break;
    }
}

void lee_frozen_arrived(void *taken, size_t bytes, const struct lee_owned *owned) {
    if (__builtin_expect(!arrived_unnoted, 1))
        return;
    arrived_unnoted = false;
    lee_dispose_parts(taken, bytes, owned);
    lee_fault_memory(NULL, sizeof(struct lee_address_table));
}

void lee_frozen_end(struct lee_process *process) {
    struct lee_address_table *table = process->frozen;
    process->frozen = NULL;
    for (size_t i = 0; table != NULL && i < table->room; i++) {
        if (table->entries[i].key != NULL)
            give_up((void *)(uintptr_t)table->entries[i].key, table->entries[i].value);
    }
    lee_address_free(table);
}
