/* keys.c: dynamic arenas and reaps.
 *
 * Promises: what lee/arena.h says of keys. A key is the address of an arena that lies in its own
 * first page. To the collector it is an object like others: reached through a word that is exactly
 * its address, wherever that lies (so also in another arena, or on the stack of a function that has
 * it open), and then its pages are scanned. A key that is not reached is freed with all that lies
 * in its arena: nobody can open it any more. So cycles through keys die. */
#define _GNU_SOURCE
#include "arena.h"

#include <lee/collect.h>

#include <sys/auxv.h>
#include <sys/random.h>

#include "heap.h"
#include "poison.h"
#include "process.h"

#ifdef LEE_ARENA_BY_MALLOC
/* Keys lie outside the heap here, where the marker does not look for them: what they hold is a root. */
static _Thread_local struct lee_root root;

static void scan(struct lee_root *unused, struct lee_marker *marker) {
    (void)unused;
    for (struct lee_arena *key = lee_process_self()->arenas.keys; key != NULL; key = key->older)
        lee_arena_scan(key, marker);
}

static void announce(struct lee_arena *key) {
    (void)key;
#ifndef LEE_NO_GC
    struct lee_heap *heap = root.scan == NULL ? lee_heap_self() : NULL;
    if (heap != NULL) {
        root.scan = scan;
        lee_root_add(heap, &root);
    }
#endif
}

struct lee_arena *lee_key_at(uintptr_t word) {
    (void)word;
    return NULL;
}
#else
/* No program can read it or guess it, so whatever it writes into its arenas, no word but a key's
 * address is taken for one. */
static _Atomic(uintptr_t) secret;

static uintptr_t secret_number(void) {
    uintptr_t number = secret;
    while (number == 0) {
        if (getrandom(&number, sizeof number, 0) != sizeof number)
            number = *(const uintptr_t *)getauxval(AT_RANDOM);
        uintptr_t none = 0;
        if (number != 0 && !__atomic_compare_exchange_n((uintptr_t *)&secret, &none, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            number = none;
    }
    return number;
}

static void announce(struct lee_arena *key) {
    key->magic = secret_number() ^ (uintptr_t)key;
    lee_heap_self()->since_collection += key->pages->bytes;
}

LEE_UNCHECKED struct lee_arena *lee_key_at(uintptr_t word) {
    struct lee_arena *key = (struct lee_arena *)word;
    bool fits = (word & (LEE_PAGE_BYTES - 1)) == sizeof(struct lee_arena_page);
    return fits && secret != 0 && key->magic == (secret ^ word) ? key : NULL;
}
#endif

size_t lee_key_bytes(const struct lee_arena *key) {
    size_t bytes = 0;
    for (const struct lee_arena_page *page = key->pages; page != NULL; page = page->older)
        bytes += page->bytes;
    return bytes;
}

struct lee_arena *lee_key_new(const struct lee_site *site) {
    struct lee_arena first;
    lee_arena_begin(&first);
    struct lee_arena *key = lee_arena_take(site, &first, sizeof *key, _Alignof(struct lee_arena));
    if (key == NULL)
        return NULL;
    lee_arena_unlink(&first);
    *key = first;
    lee_arena_link(&lee_process_self()->arenas.keys, key);
    key->holders = 1;
    key->mark = lee_heap_self()->snapshot; /* younger than that: it lives */
    announce(key);
    return key;
}

void lee_key_grows(size_t bytes) {
    struct lee_heap *heap = lee_heap_self();
    if (heap != NULL) {
        lee_heap_poll(heap, bytes);
        heap->since_collection += bytes;
    }
}

/* What is freed by hand is no reason to collect. */
static void clear(struct lee_arena *key) {
#ifndef LEE_ARENA_BY_MALLOC
    struct lee_heap *heap = key->magic == LEE_EXCHANGE_ARENA ? NULL : lee_heap_self();
    size_t bytes = heap != NULL ? lee_key_bytes(key) : 0;
    if (heap != NULL)
        heap->since_collection -= bytes < heap->since_collection ? bytes : heap->since_collection;
#endif
    lee_arena_clear(key);
}

void lee_key_free(struct lee_arena *key) {
    if (key != NULL)
        clear(key);
}

struct lee_arena *lee_key_retain(struct lee_arena *key) {
    if (key != NULL)
        key->holders++;
    return key;
}

void lee_key_dropped(struct lee_arena *key) {
#ifdef LEE_ARENA_BY_MALLOC
    if (key != NULL)
        key->holders--;
#else
    if (key != NULL && key->mark != 0)
        key->holders--;
#endif
}

void lee_key_release(struct lee_arena *key) {
    if (key != NULL && --key->holders == 0)
        clear(key);
}

/* --- for the collector ------------------------------------------------------------------------------------------- */

#ifndef LEE_NO_GC
static void trace(struct lee_marker *marker, const void *object, size_t bytes) {
    (void)bytes;
    const struct lee_arena *key = object;
    for (struct lee_arena_page *page = key->pages; page != NULL; page = page->older) {
        struct lee_arena_part part = lee_arena_part(key, page);
        lee_mark_contents(marker, (const void *)part.start, part.end - part.start, &lee_layout_conservative);
    }
}

const struct lee_layout lee_layout_key = {
    .bytes = sizeof(struct lee_arena), .kind = LEE_LAYOUT_TRACED, .trace = trace, .name = "arena"};

size_t lee_keys_unmark(struct lee_heap *heap) {
    size_t count = 0;
    for (struct lee_arena *key = lee_keys_of(heap); key != NULL; key = key->older, count++)
        key->mark = 0;
    return count;
}

size_t lee_keys_found(struct lee_heap *heap, uintptr_t *found) {
    size_t count = 0;
    for (struct lee_arena *key = lee_keys_of(heap); key != NULL; key = key->older) {
        if (key->mark != 0)
            found[count++] = (uintptr_t)key;
    }
    return count;
}

/* A key that was freed meanwhile is none any more; one that has its place since is younger, and
 * marked already. */
void lee_keys_adopt(struct lee_heap *heap, const uintptr_t *found, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct lee_chunk *chunk = lee_chunk_of(found[i]);
        bool pages = chunk != NULL && lee_owner_in(chunk, found[i]) == heap && lee_code_at(chunk, lee_block_index(found[i])) == LEE_CODE_PAGES;
        struct lee_arena *key = pages ? lee_key_at(found[i]) : NULL;
        if (key != NULL)
            key->mark = 1;
    }
}

size_t lee_keys_sweep(struct lee_heap *heap, size_t *live) {
    size_t dead = 0;
    *live = 0;
    (void)heap;
#ifndef LEE_ARENA_BY_MALLOC
    for (struct lee_arena *key = lee_keys_of(heap), *older; key != NULL; key = older) {
        older = key->older;
        if (key->mark == 0) {
            lee_arena_clear(key);
            dead++;
        } else {
            *live += lee_key_bytes(key);
        }
    }
#endif
    return dead;
}
#endif
