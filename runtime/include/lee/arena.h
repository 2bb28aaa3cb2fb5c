/* Arenas and reaps: memory that is given back all at once, in a reap also block by block.
 *
 * Promises: memory is zeroed and aligned as asked (at least to 8 bytes, in a reap to 16), size 0
 * gives an address of its own; sizes, negative counts and products that are too large count as
 * memory that is not there: `try` gives null then, the others fault. An arena is for one task at a
 * time: no locks.
 *
 * An arena that is declared lies on the stack of its block and takes its first page with its first
 * object, so an empty one costs a few stores. A key is the address of an arena that lies in its own
 * first page. Under AddressSanitizer each object is a block of malloc's, so that its neighbours and
 * what comes after its end are found out. */
#ifndef LEE_ARENA_H
#define LEE_ARENA_H

#include <lee/lee.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__SANITIZE_ADDRESS__)
#define LEE_ARENA_BY_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEE_ARENA_BY_MALLOC 1
#endif
#endif

struct lee_arena_page;
struct lee_arena_bins;

struct lee_arena {
    unsigned char *next, *end;     /* what is left of the newest page */
    struct lee_arena_page *pages;  /* newest first; null as long as the arena is empty */
    struct lee_arena_bins *bins;   /* of a reap: its free blocks; null until it has one */
    struct lee_arena *newer, *older; /* the arenas of the thread that have pages */
    union {
        size_t holders;            /* of a counted key */
        size_t charged;            /* of an exchange arena: the bytes of its pages */
    };
    uintptr_t magic;               /* of a key: what tells its address from other words */
    unsigned char mark;            /* of a key: the collection that runs has found it, ... */
    unsigned holder;               /* ... and who has it (precise.h) */
};

/* For what the inline paths below do not do. `align` is a power of two; `site` is null if null is an answer. */
void *lee_arena_take(const struct lee_site *site, struct lee_arena *arena, size_t size, size_t align);
void *lee_reap_take(const struct lee_site *site, struct lee_arena *reap, size_t size, size_t align);
void *lee_arena_take_array(const struct lee_site *site, struct lee_arena *arena, int64_t count, size_t elem_size,
                           size_t extra, size_t align);
void *lee_reap_take_array(const struct lee_site *site, struct lee_arena *reap, int64_t count, size_t elem_size,
                          size_t extra, size_t align);

/* Gives all pages back; the arena is empty then. */
void lee_arena_clear(struct lee_arena *arena);

/* `arena r;`: six stores. */
LEE_INLINE struct lee_arena *lee_arena_begin(struct lee_arena *arena) {
    arena->next = arena->end = NULL;
    arena->pages = NULL;
    arena->bins = NULL;
    arena->magic = 0;
    return arena;
}

/* The end of its block. */
LEE_INLINE void lee_arena_end(struct lee_arena *arena) {
    if (arena->pages != NULL)
        lee_arena_clear(arena);
}

/* `size` zeroed bytes: a comparison, an addition, and the zeros that the initialiser does not overwrite. */
LEE_INLINE void *lee_arena_alloc(const struct lee_site *site, struct lee_arena *arena, size_t size, size_t align) {
#ifdef LEE_ARENA_BY_MALLOC
    return lee_arena_take(site, arena, size, align);
#else
    size_t room = (size + (size == 0) + 7) & ~(size_t)7;
    unsigned char *start = arena->next;
    if (align > 8 || LEE_UNLIKELY((size_t)(arena->end - start) < room))
        return lee_arena_take(site, arena, size, align);
    arena->next = start + room;
    return __builtin_memset(start, 0, size);
#endif
}

/* Gives a block of a reap back. Null is nothing. */
void lee_reap_free(struct lee_arena *reap, void *object);
/* The bytes of a reap's block: those asked for, and zeros behind them. */
size_t lee_reap_size(const void *object);

/* Dynamic arenas and reaps: keys. Null is no key. A counted one begins with one holder. */
struct lee_arena *lee_key_new(const struct lee_site *site);
void lee_key_free(struct lee_arena *key);
struct lee_arena *lee_key_retain(struct lee_arena *key);
void lee_key_release(struct lee_arena *key);

#ifdef __cplusplus
}
#endif

#endif
