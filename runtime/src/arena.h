/* arena.h: what arena.c and reap.c share. */
#ifndef LEE_SRC_ARENA_H
#define LEE_SRC_ARENA_H

#include <lee/arena.h>
#include <lee/pages.h>

#include <stdbool.h>

/* In front of the memory of a page. */
struct lee_arena_page {
    struct lee_arena_page *older, *newer;
    size_t bytes; /* header included; by malloc: of the object */
#ifdef LEE_ARENA_BY_MALLOC
    void *block;
#else
    struct lee_heap *heap;
#endif
};

_Static_assert(sizeof(struct lee_arena_page) % 16 == 0, "objects behind a page's header are aligned");

/* Behind the last byte that objects may take. */
static inline unsigned char *lee_arena_page_end(struct lee_arena_page *page) {
#ifdef LEE_ARENA_BY_MALLOC
    return (unsigned char *)(page + 1) + page->bytes;
#else
    return (unsigned char *)page + page->bytes;
#endif
}

/* False if the size cannot be that of an object. */
bool lee_arena_array_size(int64_t count, size_t elem_size, size_t extra, size_t *size);

/* The words of a page that may be objects'. Of the page being filled, the rest was never written,
 * or is what a page's last user left. A key's arena lies in its own page; what it is linked to is
 * nothing that it reaches. */
struct lee_arena_part {
    uintptr_t start, end;
};
static inline struct lee_arena_part lee_arena_part(const struct lee_arena *arena, struct lee_arena_page *page) {
    uintptr_t start = (uintptr_t)(page + 1), end = (uintptr_t)lee_arena_page_end(page);
    if (page == arena->pages && arena->next != NULL)
        end = (uintptr_t)arena->next;
    if (start == (uintptr_t)arena)
        start += sizeof *arena;
    return (struct lee_arena_part){start, end & ~(uintptr_t)7};
}

/* Puts an arena in front of a list; takes it out of the one that it is in. */
void lee_arena_link(struct lee_arena **list, struct lee_arena *arena);
void lee_arena_unlink(struct lee_arena *arena);

/* `magic` of the key of an exchange arena: not a secret number, so the collector takes its address for
 * no key. */
enum { LEE_EXCHANGE_ARENA = 1 };

/* `container_of` finds nothing in it any more. */
void lee_arena_unlist(struct lee_arena *arena);

struct lee_marker;
/* Marks what its objects point to, word by word. */
void lee_arena_scan(const struct lee_arena *arena, struct lee_marker *marker);

/* keys.c: for the collector. The key whose address a word is, null if it is none; what its arena
 * takes; all marks away; and the end of those that were not found, of which it returns the number.
 * Under AddressSanitizer no key is ever found dead. */
extern const struct lee_layout lee_layout_key;
struct lee_arena *lee_key_at(uintptr_t word);
size_t lee_key_bytes(const struct lee_arena *key);
/* Returns how many there are. */
size_t lee_keys_unmark(struct lee_heap *heap);
/* The addresses of those that are marked, and their number; and the same back into marks, later and
 * in another process. */
size_t lee_keys_found(struct lee_heap *heap, uintptr_t *found);
void lee_keys_adopt(struct lee_heap *heap, const uintptr_t *found, size_t count);
/* A dead object held a counted key: one holder less, if the key was found. Null is nothing. */
void lee_key_dropped(struct lee_arena *key);
/* `*live`: the bytes of those that were. */
size_t lee_keys_sweep(struct lee_heap *heap, size_t *live);
/* A key's arena will take so many bytes: what dead keys hold must make collections come as dead objects do. */
void lee_key_grows(size_t bytes);

void lee_arena_add_page(struct lee_arena *arena, struct lee_arena_page *page);
/* Gives one page back. */
void lee_arena_drop_page(struct lee_arena *arena, struct lee_arena_page *page);

#ifdef LEE_ARENA_BY_MALLOC
/* An object in a block of malloc's, with a page header directly in front of it. */
void *lee_arena_block(struct lee_arena *arena, size_t size, size_t align);
#else
/* A further page for an object that needs `bytes`, the page's header included. It is the newest,
 * unless the object takes so much of it that the one before goes on being filled. Null when there
 * is no memory. */
struct lee_arena_page *lee_arena_grow(struct lee_arena *arena, size_t bytes);
#endif

#endif
