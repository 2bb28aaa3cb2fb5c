/* sum.c: whether all memory has somebody to answer for it.
 *
 * Promises: shares no counter with whom it checks. What the page allocator charged is counted anew,
 * block by block: cells that live, cells that do not, ends of blocks, pages of arenas, free pages
 * and blocks, pages of 4 KB, stacks. What lives must be what custodians were charged for, each
 * object once. After an accounting, when the blocks of the dead have been given back. */
#include "collect.h"

#ifndef LEE_NO_GC

#include "custodian.h"
#include "small.h"
#include "task.h"
#include "units.h"

struct sum {
    size_t live;  /* bytes of marked cells and objects */
    size_t held;  /* all that is charged */
};

static void add_block(struct sum *sum, struct lee_chunk *chunk, size_t number) {
    unsigned code = lee_code_at(chunk, number);
    const struct lee_cell_info *info = &lee_cell_info[code];
    for (unsigned i = 0; i < info->count; i++) {
        if ((chunk->marks[number][i / 8] >> i % 8 & 1) != 0)
            sum->live += info->bytes;
    }
    if (code == LEE_CODE_LARGE && chunk->blocks[number].span > 0)
        sum->live += lee_large_charge(chunk->blocks[number].bytes);
}

static void add_unit(struct sum *sum, struct lee_unit *unit) {
    struct lee_chunk *chunk = lee_chunk_describing(unit);
    size_t first = lee_first_block(chunk, unit);
    uint32_t used = 0;
    for (size_t i = 0; i < LEE_BLOCKS_A_UNIT; i++) {
        used |= (uint32_t)(lee_code_at(chunk, first + i) != LEE_CODE_NONE) << i;
        add_block(sum, chunk, first + i);
    }
    /* A free block that may be resident is charged until its memory went back. */
    sum->held += unit->huge ? LEE_UNIT_BYTES : (size_t)__builtin_popcount(used | unit->free_dirty) * LEE_BLOCK_BYTES;
}

static void add_large(struct sum *sum, struct lee_unit *unit) {
    struct lee_chunk *chunk = lee_chunk_describing(unit);
    sum->live += lee_large_charge(chunk->blocks[lee_first_block(chunk, unit)].bytes);
}

static void add_small(struct sum *sum, struct lee_heap *heap) {
    struct lee_small_cell cell = {NULL, 0, 0, 0};
    while (lee_small_next(heap, &cell))
        sum->live += lee_small_marked(&cell) ? lee_cell_info[cell.code].bytes : 0;
}

static size_t stacks(struct lee_accounts *accounts) {
    size_t bytes = 0;
    for (struct lee_custodian *at = lee_custodian_deepest(&accounts->first); at != NULL; at = lee_custodian_after(at)) {
        for (const struct lee_task *task = at->tasks; task != NULL; task = task->next)
            bytes += task->low != 0 ? LEE_STACK_CHARGE : 0;
    }
    return bytes;
}

static const char *check_charges(const struct sum *sum, const struct lee_heap *heap) {
    size_t tasks = 0, below = 0;
    struct lee_accounts *accounts = lee_accounts_of(heap);
    struct lee_custodian *first = &accounts->first, *at = lee_custodian_deepest(first);
    for (; at != NULL; at = lee_custodian_after(at)) {
        tasks += lee_tasks_bytes(at);
        if (at->parent == first)
            below += at->settled;
        if (at->settled > first->settled)
            return "accounts: a custodian is charged more than all of them";
    }
    if (first->settled != sum->live + heap->key_bytes + tasks)
        return "accounts: what lives is not what is charged";
    return !accounts->precise && below > first->settled ? "accounts: something is charged twice" : NULL;
}

const char *lee_heap_verify_sum(struct lee_heap *heap, bool only) {
    struct sum sum = {0, 0};
    for (struct lee_unit *unit = heap->units; unit != NULL; unit = unit->next)
        add_unit(&sum, unit);
    for (struct lee_unit *unit = heap->large; unit != NULL; unit = unit->next)
        add_large(&sum, unit);
    add_small(&sum, heap);
    if (sum.live != heap->counts.live_bytes)
        return "accounts: the bytes that live were counted wrong";
    /* Whole units of arenas are on no list: they are what is neither object nor block. */
    sum.held += heap->large_bytes + lee_small_charged(heap) + stacks(lee_accounts_of(heap));
    if (only && sum.held != lee_memory_charged())
        return "accounts: memory is charged that nobody holds, or held that is not charged";
    return check_charges(&sum, heap);
}

#endif
