/* exchange.c: the exchange heap.
 *
 * Promises: what lee/exchange.h says. Blocks are cells of a heap that is no process's and is never
 * collected: other heaps find its name, not theirs, in the page table, and leave its words alone.
 * In front of each block stand its size, what its elements own, and its place in the ring of its
 * process; a block of a message is on none. So moving it is two stores into its neighbours.
 *
 * The pages of an exchange arena are that heap's, too. It is on the list of its process, as its
 * blocks are, and moves as an entry of that.
 *
 * What a block owns is followed without memory: blocks that are still to be looked at are on no
 * ring, and hang on each other. */
#include <lee/exchange.h>
#include <lee/heap.h>

#include "arena.h"
#include "dispose.h"
#include "exchange.h"
#include "heap.h"
#include "process.h"
#include "worker.h"

static _Thread_local struct lee_heap *exchange __attribute__((tls_model("initial-exec")));

static struct lee_exchange_block *block_of(const void *object) {
    return (struct lee_exchange_block *)(uintptr_t)object - 1;
}

/* What a block takes: its cell, or its pages. */
static size_t charge_of(size_t bytes) {
    return bytes <= LEE_CELL_MOST ? lee_class_bytes(lee_class_of_aligned(bytes)) : lee_large_charge(bytes);
}

static void count(struct lee_process *process, const struct lee_exchange_block *block, int more) {
    lee_process_count(process, LEE_GROUP_BYTES, more * (ptrdiff_t)charge_of(block->size + sizeof *block));
}

static inline void put_on_ring(struct lee_exchange_block *block, struct lee_process *process) {
    struct lee_exchange_links *links = &block->links, *next = &process->blocks;
    links->next = next;
    links->previous = next->previous;
    next->previous->next = links;
    next->previous = links;
}

static inline void take_off_ring(struct lee_exchange_block *block) {
    struct lee_exchange_links *links = &block->links;
    links->next->previous = links->previous;
    links->previous->next = links->next;
}

static inline bool is_on_its_way(const struct lee_exchange_block *block) {
    return block->links.next == &block->links;
}

/* It is the process's. */
static void link_to(struct lee_exchange_block *block, struct lee_process *process) {
    put_on_ring(block, process);
    count(process, block, 1);
}

/* Who was charged for a block on no ring no longer is. */
static void drop_payer(const struct lee_exchange_block *block) {
    lee_unpay_sent((struct lee_group *)(void *)block->links.previous, charge_of(block->size + sizeof *block));
}

/* It is the running process's no longer, or that of the message that it was on its way with. */
static void unlink_from(struct lee_exchange_block *block) {
    if (is_on_its_way(block)) {
        drop_payer(block);
        return;
    }
    take_off_ring(block);
    count(lee_process_self(), block, -1);
}

/* A message takes it along. As long as that is not received, the sender's custodians pay for it:
 * the next word says that it is on its way, the one before who pays. */
static void send(struct lee_exchange_block *block) {
    struct lee_group *payer = lee_pay_sent(charge_of(block->size + sizeof *block));
    block->links.next = &block->links;
    block->links.previous = (struct lee_exchange_links *)(void *)payer;
}

/* A block that owns nothing goes on its way, and arrives. What the custodians in common pay for it
 * stays as it is. */
static void leave(struct lee_exchange_block *block) {
    struct lee_process *process = lee_process;
    bool pays = lee_process_group(process) != NULL && lee_group_send != NULL;
    take_off_ring(block);
    block->links.next = &block->links;
    block->links.previous =
        pays ? (struct lee_exchange_links *)(void *)lee_group_send(process, charge_of(block->size + sizeof *block)) : NULL;
}

static void arrive(struct lee_exchange_block *block) {
    struct lee_process *process = lee_process_self();
    struct lee_group *payer = (struct lee_group *)(void *)block->links.previous;
    if ((payer != NULL || lee_process_group(process) != NULL) && lee_group_receive != NULL)
        lee_group_receive(process, payer, charge_of(block->size + sizeof *block));
    put_on_ring(block, process);
}

/* --- allocation ------------------------------------------------------------------------------------------------------- */

static struct lee_heap *begin(void) {
    struct lee_heap *heap = lee_heap_new();
    if (heap == NULL)
        return NULL;
    heap->enabled = false;
    heap->stress = LEE_STRESS_NEVER;
    return exchange = heap;
}

static void *take(struct lee_heap *heap, size_t bytes) {
    if (bytes <= LEE_CELL_MOST)
        return lee_cell_refill(heap, LEE_PLAIN, lee_class_of_aligned(bytes));
    return lee_large_take(heap, bytes, (uintptr_t)&lee_layout_plain | LEE_HEADER_ALLOCATED, true);
}

/* There is none at hand. What the process's own heap has no use for may be what is missing. */
static __attribute__((noinline)) void *take_slowly(size_t bytes) {
    struct lee_heap *heap = lee_exchange_heap();
    void *cell = heap == NULL ? NULL : take(heap, bytes);
    struct lee_heap *own = cell == NULL ? lee_heap_self() : NULL;
    if (own == NULL || !lee_heap_may_collect(own) || own->collecting || own->disposing > 0)
        return cell;
    lee_heap_collect(own);
    lee_blocks_release(own, 0);
    heap = lee_exchange_heap();
    return heap == NULL ? NULL : take(heap, bytes);
}

void *lee_exchange_try_new(size_t size, const struct lee_owned *owned) {
    size_t bytes = size + sizeof(struct lee_exchange_block);
    if (__builtin_expect(size > (size_t)PTRDIFF_MAX - sizeof(struct lee_exchange_block), 0))
        return NULL;
    struct lee_process *process = lee_process_self();
    struct lee_exchange_block *block = NULL;
    lee_lock();
    if (__builtin_expect(lee_process_is_watched(process), 0))
        lee_exchange_ask(charge_of(bytes));
    if (__builtin_expect(bytes <= LEE_CELL_MOST && exchange != NULL, 1)) {
        unsigned class_ = lee_class_of_aligned(bytes);
        size_t cell_bytes = lee_class_bytes(class_);
        block = lee_bin_take(&exchange->inline_part.bins[LEE_PLAIN][class_], cell_bytes, cell_bytes);
    }
    if (__builtin_expect(block == NULL, 0) && (block = take_slowly(bytes)) == NULL) {
        lee_unlock();
        return NULL;
    }
    if (bytes <= LEE_CELL_MOST) {
        size_t cell_bytes = lee_class_bytes(lee_class_of_aligned(bytes));
        LEE_CELL_CLOSE(block, cell_bytes);
        LEE_CELL_OPEN(block, bytes);
        (void)cell_bytes;
    }
    block->size = size;
    block->owned = owned;
    link_to(block, process);
    lee_unlock();
    return block + 1;
}

void *lee_exchange_new(const struct lee_site *site, size_t size, const struct lee_owned *owned) {
    void *block = lee_exchange_try_new(size, owned);
    if (__builtin_expect(block == NULL, 0))
        lee_fault_memory(site, size);
    return block;
}

/* SIZE_MAX, which no block has, for what cannot be. */
static size_t array_bytes(int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    if (count < 0 || __builtin_mul_overflow((uint64_t)count, elem_size, &size) || __builtin_add_overflow(size, extra, &size))
        return SIZE_MAX;
    return size;
}

void *lee_exchange_try_new_array(int64_t count, size_t elem_size, size_t extra, const struct lee_owned *owned) {
    return lee_exchange_try_new(array_bytes(count, elem_size, extra), owned);
}

void *lee_exchange_new_array(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra, const struct lee_owned *owned) {
    void *block = lee_exchange_try_new_array(count, elem_size, extra, owned);
    if (__builtin_expect(block == NULL, 0))
        lee_fault_memory_array(site, count, elem_size);
    return block;
}

size_t lee_exchange_size(const void *block) {
    return block == NULL ? 0 : block_of(block)->size;
}

static void release(struct lee_exchange_block *block) {
    size_t bytes = block->size + sizeof *block;
    if (__builtin_expect(bytes > LEE_CELL_MOST, 0)) {
        lee_large_free(exchange, block);
        return;
    }
    struct lee_heap_bins *bins = &exchange->inline_part;
    unsigned class_ = lee_class_of_aligned(bytes);
    lee_cell_put(block, bins, &bins->bins[LEE_PLAIN][class_], lee_class_bytes(class_));
}

void lee_exchange_unlink(void *object) {
    struct lee_exchange_block *block = block_of(object);
    unlink_from(block);
    send(block);
}

void lee_exchange_give_back(void *object) {
    struct lee_exchange_block *block = block_of(object);
    drop_payer(block);
    release(block);
}

/* --- what blocks own ---------------------------------------------------------------------------------------------------- */

static bool owns(const struct lee_exchange_block *block) {
    return block->owned->drop != NULL || block->owned->tail_drop != NULL;
}

/* Takes a block off its ring, and what it owns along, block by block. */
static void follow(struct lee_work *work) {
    struct lee_process *process = lee_process_self();
    work->nested = true;
    while (work->blocks != NULL) {
        struct lee_exchange_block *block = work->blocks;
        work->blocks = (struct lee_exchange_block *)block->links.next;
        if (owns(block))
            lee_push_parts(work, block + 1, block->size, block->owned);
        if (work->walk == LEE_WALK_LEAVE)
            send(block);
        else if (work->walk == LEE_WALK_ARRIVE)
            link_to(block, process);
        else
            release(block);
    }
}

/* What only messages hold is no block's. */
static bool passes(enum lee_walk walk) {
    return walk != LEE_WALK_NAME && walk != LEE_WALK_UNNAME;
}

static void pass(void *object, enum lee_walk walk) {
    if (object == NULL)
        return;
    lee_lock();
    struct lee_exchange_block *block = block_of(object);
    bool alone = !owns(block);
    if (__builtin_expect(alone && walk == LEE_WALK_LEAVE && !is_on_its_way(block), 1)) {
        leave(block);
    } else if (alone && walk == LEE_WALK_ARRIVE && is_on_its_way(block)) {
        arrive(block);
    } else {
        unlink_from(block);
        struct lee_work work;
        work.walk = walk;
        work.local = false;
        work.reap = NULL;
        block->links.next = NULL;
        work.blocks = block;
        follow(&work);
    }
    lee_unlock();
}

/* From whoever follows blocks already, the block waits for its turn. */
void lee_push_block(struct lee_work *work, void *object) {
    enum lee_walk walk = work->walk == LEE_WALK_DEAD ? LEE_WALK_RELEASE : work->walk;
    if (object == NULL || !passes(walk))
        return;
    if (!work->nested) {
        pass(object, walk);
        return;
    }
    struct lee_exchange_block *block = block_of(object);
    unlink_from(block);
    block->links.next = (struct lee_exchange_links *)work->blocks;
    work->blocks = block;
}

void lee_exchange_free(void *block) {
    pass(block, LEE_WALK_RELEASE);
}

void lee_exchange_give(void *block) {
    pass(block, LEE_WALK_LEAVE);
}

void lee_exchange_take(void *block) {
    pass(block, LEE_WALK_ARRIVE);
}

/* --- arenas ----------------------------------------------------------------------------------- */

struct lee_heap *lee_exchange_heap(void) {
    struct lee_heap *heap = exchange != NULL ? exchange : begin();
    /* No process is charged for the rest of a huge page. */
    if (heap != NULL && __atomic_load_n(&lee_groups_limit_memory, __ATOMIC_RELAXED))
        heap->huge = false;
    return heap;
}

void lee_exchange_adopt(struct lee_heap *heap) {
    exchange = heap;
}

void lee_exchange_ask(size_t bytes) {
    if (lee_process_is_watched(lee_process_self()))
        lee_process_ask(LEE_GROUP_BYTES, bytes);
}

void lee_exchange_count_page(struct lee_arena *arena, ptrdiff_t bytes) {
    arena->charged += (size_t)bytes;
    lee_process_count(lee_process_self(), LEE_GROUP_BYTES, bytes);
}

struct lee_arena *lee_exchange_key_new(const struct lee_site *site) {
    struct lee_arena first;
    lee_arena_begin(&first);
    first.magic = LEE_EXCHANGE_ARENA;
    first.charged = 0;
    struct lee_arena *key = lee_arena_take(site, &first, sizeof *key, _Alignof(struct lee_arena));
    if (key == NULL)
        return NULL;
    lee_arena_unlink(&first);
    *key = first;
    lee_arena_link(&lee_process_self()->arenas.exchange, key);
    return key;
}

/* As with blocks (`send`): of an arena on its way, `newer` is its own address, `older` says who is
 * charged for its pages. */
static void send_key(struct lee_arena *key) {
    lee_arena_unlist(key); /* `container_of` finds what is of this process only */
    lee_arena_unlink(key);
    lee_process_count(lee_process_self(), LEE_GROUP_BYTES, -(ptrdiff_t)key->charged);
    key->newer = key;
    key->older = (struct lee_arena *)(void *)lee_pay_sent(key->charged);
}

/* The running process's from here on, if it was on its way. */
static void receive_key(struct lee_arena *key) {
    if (key->newer != key)
        return;
    lee_unpay_sent((struct lee_group *)(void *)key->older, key->charged);
    lee_arena_link(&lee_process_self()->arenas.exchange, key);
    lee_process_count(lee_process_self(), LEE_GROUP_BYTES, (ptrdiff_t)key->charged);
}

void lee_exchange_pass_key(enum lee_walk walk, struct lee_arena *key) {
    if (key == NULL || !passes(walk))
        return;
    lee_lock();
    if (walk == LEE_WALK_LEAVE) {
        send_key(key);
    } else {
        receive_key(key);
        if (walk != LEE_WALK_ARRIVE)
            lee_arena_clear(key);
    }
    lee_unlock();
}

/* --- the end of a process ------------------------------------------------------------------------------------------------- */

void lee_exchange_end(struct lee_process *process) {
    struct lee_exchange_links *next;
    for (struct lee_exchange_links *at = process->blocks.next; at != &process->blocks; at = next) {
        next = at->next;
        release((struct lee_exchange_block *)at);
    }
    process->blocks.next = process->blocks.previous = &process->blocks;
    while (process->arenas.exchange != NULL)
        lee_arena_clear(process->arenas.exchange);
}
