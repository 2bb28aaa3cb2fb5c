/* dispose.c: the end of owned objects.
 *
 * Promises: what lee/owned.h says. An object's owned pointers are read before it is freed and go on a list, so a list of a million
 * nodes takes one entry and a tree as many as it is deep. The list begins on the stack; what does not fit lies in pages of its
 * own. */
#include <lee/collect.h>
#include <lee/owned.h>
#include <lee/pages.h>

#include <stdbool.h>
#include <string.h>

#include "arena.h"
#include "dispose.h"
#include "exchange.h"
#include "heap.h"

const struct lee_owned lee_owned_plain = {1, NULL, 0, 0, NULL, 0, 0, 0};
const struct lee_owned lee_owned_counted = {1, NULL, 0, 0, NULL, 1, 0, 0};

/* What a block has in front of its object. */
static size_t front_of(const void *object, const struct lee_owned *owned) {
    return owned->align > 16 ? ((const size_t *)object)[-2] : owned->counted ? LEE_COUNT_BYTES : 0;
}

static void free_block(struct lee_work *work, void *object, const struct lee_owned *owned) {
    void *block = (unsigned char *)object - front_of(object, owned);
    if (work->reap != NULL)
        lee_reap_free(work->reap, block);
    else
        lee_heap_free(block);
}

static size_t block_size(const struct lee_work *work, const void *object, const struct lee_owned *owned) {
    size_t front = front_of(object, owned);
    const void *block = (const unsigned char *)object - front;
    return (work->reap != NULL ? lee_reap_size(block) : lee_heap_size(block)) - front;
}

static void give_items(struct lee_work *work) {
    if (work->items != work->few)
        lee_pages_give(lee_heap_self(), work->items, work->page_bytes);
}

static void grow(struct lee_work *work) {
    size_t got;
    bool zeroed;
    struct lee_work_item *more = lee_pages_take(lee_heap_self(), 2 * work->room * sizeof *more, &got, &zeroed);
    if (more == NULL)
        lee_fault_memory(NULL, 2 * work->room * sizeof *more);
    memcpy(more, work->items, work->count * sizeof *more);
    give_items(work);
    work->items = more;
    work->page_bytes = got;
    work->room = got / sizeof *more;
}

static bool releases(const struct lee_work *work) {
    return work->walk == LEE_WALK_RELEASE || work->walk == LEE_WALK_LOST;
}

void lee_push_key(struct lee_work *work, struct lee_arena *key, uint8_t kind) {
    bool counted = kind == LEE_KEY_COUNTED;
    if (kind == LEE_KEY_EXCHANGE) {
        if (!work->local || releases(work))
            lee_exchange_pass_key(work->walk, key);
    } else if (work->walk == LEE_WALK_DEAD && counted)
        lee_key_dropped(key);
    else if (releases(work) && counted)
        lee_key_release(key);
    else if (releases(work))
        lee_key_free(key);
}

enum lee_walk lee_walk_of(const struct lee_work *work) {
    return work->walk;
}

void lee_push(struct lee_work *work, void *object, const struct lee_owned *owned) {
    if (work->walk == LEE_WALK_DEAD) {
#ifndef LEE_NO_GC /* else nobody finds the dead */
        if (object != NULL && owned->counted && lee_is_live(object))
            --((size_t *)object)[-1];
#endif
        return;
    }
    if (!releases(work))
        return;
    if (object == NULL || (owned->counted && --((size_t *)object)[-1] != 0))
        return;
    if (owned->drop == NULL && owned->tail_drop == NULL) {
        free_block(work, object, owned);
        return;
    }
    if (work->count == work->room)
        grow(work);
    work->items[work->count++] = (struct lee_work_item){object, owned};
}

void lee_push_parts(struct lee_work *work, void *place, size_t bytes, const struct lee_owned *owned) {
    unsigned char *element = place;
    if (owned->tail_drop != NULL) {
        size_t more = bytes > owned->tail ? (bytes - owned->tail) / owned->tail_size : 0;
        for (size_t i = 0; i < more; i++)
            owned->tail_drop(work, element + owned->tail + i * owned->tail_size);
        bytes = owned->size;
    }
    if (owned->drop != NULL)
        for (size_t left = bytes; left >= owned->size; left -= owned->size, element += owned->size)
            owned->drop(work, element);
}

static void begin(struct lee_work *work, struct lee_arena *reap) {
    lee_hold(); /* what is half disposed of may still be seen by others */
    struct lee_heap *heap = lee_heap_self();
    if (heap != NULL)
        heap->disposing++;
    work->walk = LEE_WALK_RELEASE;
    work->local = false;
    work->nested = false;
    work->reap = reap;
    work->items = work->few;
    work->count = 0;
    work->room = LEE_WORK_FEW;
}

static void run(struct lee_work *work) {
    while (work->count > 0) {
        struct lee_work_item item = work->items[--work->count];
        lee_push_parts(work, item.object, block_size(work, item.object, item.owned), item.owned);
        free_block(work, item.object, item.owned);
    }
    give_items(work);
    struct lee_heap *heap = lee_heap_self();
    if (heap != NULL)
        heap->disposing--;
    lee_unhold();
}

void lee_dead(void *place, size_t bytes, const struct lee_owned *owned) {
    struct lee_work work;
    work.walk = LEE_WALK_DEAD;
    work.local = false;
    work.nested = false;
    lee_push_parts(&work, place, bytes, owned);
}

void lee_dispose(void *object, const struct lee_owned *owned) {
    struct lee_work work;
    begin(&work, NULL);
    lee_push(&work, object, owned);
    run(&work);
}

void lee_dispose_in(struct lee_arena *reap, void *object, const struct lee_owned *owned) {
    struct lee_work work;
    begin(&work, reap);
    lee_push(&work, object, owned);
    run(&work);
}

void lee_dispose_parts(void *place, size_t bytes, const struct lee_owned *owned) {
    struct lee_work work;
    begin(&work, NULL);
    lee_push_parts(&work, place, bytes, owned);
    run(&work);
}

void lee_parts_lost(void *sent, size_t bytes, const struct lee_owned *owned) {
    struct lee_work work;
    begin(&work, NULL);
    work.walk = LEE_WALK_LOST;
    lee_push_parts(&work, sent, bytes, owned);
    run(&work);
}

static inline __attribute__((always_inline)) void walk_parts(enum lee_walk walk, bool local, void *place, size_t bytes, const struct lee_owned *owned) {
    struct lee_work work;
    work.walk = walk;
    work.local = local;
    work.nested = false;
    if (__builtin_expect(bytes == owned->size && owned->tail_drop == NULL && owned->drop != NULL, 1))
        owned->drop(&work, place);
    else
        lee_push_parts(&work, place, bytes, owned);
}

void lee_parts_arrive(void *sent, void *taken, size_t bytes, const struct lee_owned *owned, void (*leave)(void *of), void *of) {
    if (owned->names)
        lee_walk_parts(LEE_WALK_NAME, taken, bytes, owned);
    leave(of);
    if (owned->names)
        lee_walk_parts(LEE_WALK_UNNAME, sent, bytes, owned);
    walk_parts(LEE_WALK_ARRIVE, false, taken, bytes, owned);
    if (lee_frozen_arrived != NULL)
        lee_frozen_arrived(taken, bytes, owned);
}

void lee_walk_parts(enum lee_walk walk, void *place, size_t bytes, const struct lee_owned *owned) {
    walk_parts(walk, false, place, bytes, owned);
}

void lee_walk_local_parts(enum lee_walk walk, void *place, size_t bytes, const struct lee_owned *owned) {
    walk_parts(walk, true, place, bytes, owned);
    if (walk == LEE_WALK_ARRIVE && lee_frozen_arrived != NULL)
        lee_frozen_arrived(place, bytes, owned);
}
