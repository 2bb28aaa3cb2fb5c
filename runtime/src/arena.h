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

void lee_arena_add_page(struct lee_arena *arena, struct lee_arena_page *page);
/* Gives one page back. */
void lee_arena_drop_page(struct lee_arena *arena, struct lee_arena_page *page);

#ifdef LEE_ARENA_BY_MALLOC
/* An object in a block of malloc's, with a page header directly in front of it. */
void *lee_arena_block(struct lee_arena *arena, size_t size, size_t align);
#else
/* A further page for an object that needs `bytes`, the page's header included. It is the newest, unless the object takes so much
 * of it that the one before goes on being filled. Null when there is no memory. */
struct lee_arena_page *lee_arena_grow(struct lee_arena *arena, size_t bytes);
#endif

#endif
