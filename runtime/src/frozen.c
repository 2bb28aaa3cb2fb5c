/* frozen.c: blocks of the exchange heap that nobody changes any more, which many processes hold.
 *
 * Promises: a frozen block is freed with its last holder, and what a process holds is given up when it ends, whatever it did.
 *
 * A frozen block is on no ring: its count stands where its links were. It is the number of pointers to it: those that processes have, and those in
 * messages on their way. Each process has a table of the frozen blocks that it holds, with how many pointers of its own there are, so that its
 * end can give up those that lie in its variables. Where the table cannot grow for a block that arrives, that pointer is not in it: if the process
 * then ends without releasing it, the block is never freed. Nothing else is lost, and receiving never fails. */
#include <lee/exchange.h>
#include <lee/fault.h>
#include <lee/frozen.h>

#include "dispose.h"
#include "exchange.h"
#include "process.h"
#include "system.h"

#include <stdlib.h>

struct entry {
    void *block; /* null: free */
    size_t count;
};

/* Open addressing; at most half full. */
struct lee_frozen {
    size_t used, room; /* a power of two */
    struct entry entries[];
};

static size_t *count_of(const void *block) {
    return (size_t *)(void *)&((struct lee_exchange_block *)(uintptr_t)block - 1)->links.next;
}

static void give_up(void *block, size_t count) {
    if (__atomic_sub_fetch(count_of(block), count, __ATOMIC_ACQ_REL) == 0)
        lee_exchange_give_back(block);
}

/* --- the table of a process --------------------------------------------------------------------------------------------- */

static size_t place_of(const struct lee_frozen *table, const void *block) {
    return ((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15u >> 32 & (table->room - 1);
}

/* Its entry, or the free one where it would be. */
static struct entry *find(struct lee_frozen *table, const void *block) {
    size_t at = place_of(table, block);
    while (table->entries[at].block != NULL && table->entries[at].block != block)
        at = (at + 1) & (table->room - 1);
    return &table->entries[at];
}

static bool grow(struct lee_process *process) {
    struct lee_frozen *old = process->frozen;
    size_t room = old == NULL ? 8 : 2 * old->room;
    struct lee_frozen *table = lee_system_fails() ? NULL : calloc(1, sizeof *table + room * sizeof *table->entries);
    if (table == NULL)
        return false;
    table->room = room;
    for (size_t i = 0; old != NULL && i < old->room; i++) {
        if (old->entries[i].block != NULL) {
            *find(table, old->entries[i].block) = old->entries[i];
            table->used++;
        }
    }
    process->frozen = table;
    free(old);
    return true;
}

/* One pointer more in the running process; false if it could not be noted. */
static bool note(void *block) {
    struct lee_process *process = lee_process_self();
    if ((process->frozen == NULL || 2 * process->frozen->used >= process->frozen->room) && !grow(process) &&
        (process->frozen == NULL || find(process->frozen, block)->block == NULL))
        return false;
    struct entry *entry = find(process->frozen, block);
    if (entry->block == NULL) {
        process->frozen->used++;
        entry->block = block;
    }
    entry->count++;
    return true;
}

/* One less, if it was noted. What lies behind a removed entry moves up (Knuth, 6.4, algorithm R). */
static void forget(const void *block) {
    struct lee_frozen *table = lee_process_self()->frozen;
    struct entry *entry = table == NULL ? NULL : find(table, block);
    if (entry == NULL || entry->block == NULL || --entry->count > 0)
        return;
    size_t hole = (size_t)(entry - table->entries), mask = table->room - 1;
    for (size_t at = (hole + 1) & mask; table->entries[at].block != NULL; at = (at + 1) & mask) {
        if (((at - place_of(table, table->entries[at].block)) & mask) >= ((at - hole) & mask)) {
            table->entries[hole] = table->entries[at];
            hole = at;
        }
    }
    table->entries[hole] = (struct entry){NULL, 0};
    table->used--;
}

/* --- what is called ------------------------------------------------------------------------------------------------------ */

void *lee_exchange_freeze(void *block) {
    if (block == NULL)
        return NULL;
    if (!note(block))
        lee_fault_memory(NULL, sizeof(struct lee_frozen));
    lee_exchange_unlink(block);
    *count_of(block) = 1;
    return block;
}

void *lee_frozen_retain(const void *block) {
    if (block != NULL) {
        __atomic_add_fetch(count_of(block), 1, __ATOMIC_RELAXED);
        note((void *)(uintptr_t)block);
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
        note((void *)(uintptr_t)block);
        break;
    case LEE_WALK_NAME:
    case LEE_WALK_UNNAME:
        break;
    }
}

void lee_frozen_end(struct lee_process *process) {
    struct lee_frozen *table = process->frozen;
    process->frozen = NULL;
    for (size_t i = 0; table != NULL && i < table->room; i++) {
        if (table->entries[i].block != NULL)
            give_up(table->entries[i].block, table->entries[i].count);
    }
    free(table);
}
