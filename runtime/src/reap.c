/* reap.c: arenas whose blocks can be given back one by one.
 *
 * Promises: what lee/arena.h says. A page is a row of blocks without gaps. A block begins with a
 * word that holds its size (a multiple of 16, this word included) and flags; blocks begin 8 bytes
 * behind a multiple of 16, so that objects are aligned. A free block repeats its size in its last
 * word, and the block behind it knows that it is free: so neighbours are joined when a block is
 * freed (Knuth's boundary tags). What is freed beside the unused rest of the page being filled
 * becomes part of that rest. Free blocks are in lists by size: exact ones for small sizes, by
 * powers of two for the others. */
#include "arena.h"

#include "container.h"

#include <string.h>

#ifdef LEE_ARENA_BY_MALLOC

void *lee_reap_take(const struct lee_site *site, struct lee_arena *reap, size_t size, size_t align) {
    return lee_arena_take(site, reap, size, align);
}

void lee_reap_free(struct lee_arena *reap, void *object) {
    if (object != NULL)
        lee_arena_drop_page(reap, (struct lee_arena_page *)object - 1);
}

size_t lee_reap_size(const void *object) {
    return ((const struct lee_arena_page *)object - 1)->bytes;
}

#else

enum {
    GRAIN = 16,
    LEAST = 32, /* a free block holds its size, two links and its size again */
    USED = 1,
    BEFORE_USED = 2, /* the block in front is not free */
    FIRST = 4,       /* the first block of a page */
    EXACT = 32,      /* lists for sizes below EXACT * GRAIN */
    LISTS = 64,
    TRIES = 8,            /* blocks of a list by powers of two that are looked at */
    OWN_PAGE = 1 << 16    /* from here on the page of a block that is alone in it goes back */
};

#define FLAGS ((size_t)(GRAIN - 1))

struct block {
    size_t head;
    struct block *next, *previous; /* of a free block */
};

struct lee_arena_bins {
    uint64_t filled; /* one bit for each list */
    struct block *list[LISTS];
};

static size_t bytes_of(const struct block *block) {
    return block->head & ~FLAGS;
}

static struct block *at(void *start) {
    return start;
}

static struct block *behind(struct block *block, size_t bytes) {
    return at((unsigned char *)block + bytes);
}

static unsigned list_of(size_t bytes) {
    if (bytes < EXACT * GRAIN)
        return (unsigned)(bytes / GRAIN);
    unsigned log = 63 - (unsigned)__builtin_clzl(bytes); /* at least 9 */
    unsigned list = EXACT + log - 9;
    return list < LISTS ? list : LISTS - 1;
}

static void insert(struct lee_arena_bins *bins, struct block *block, size_t bytes) {
    unsigned list = list_of(bytes);
    block->previous = NULL;
    block->next = bins->list[list];
    if (block->next != NULL)
        block->next->previous = block;
    bins->list[list] = block;
    bins->filled |= (uint64_t)1 << list;
}

static void take_out(struct lee_arena_bins *bins, struct block *block) {
    if (block->next != NULL)
        block->next->previous = block->previous;
    if (block->previous != NULL) {
        block->previous->next = block->next;
        return;
    }
    unsigned list = list_of(bytes_of(block));
    bins->list[list] = block->next;
    if (block->next == NULL)
        bins->filled &= ~((uint64_t)1 << list);
}

/* Makes a free block of what is in no list, and tells the block behind. */
static void make_free(struct lee_arena_bins *bins, struct block *block, size_t bytes) {
    block->head = bytes | BEFORE_USED | (block->head & FIRST);
    *(size_t *)((unsigned char *)block + bytes - sizeof(size_t)) = bytes;
    behind(block, bytes)->head &= ~(size_t)BEFORE_USED;
    insert(bins, block, bytes);
}

/* A free block of at least `bytes`, out of its list; null if there is none. */
static struct block *find(struct lee_arena_bins *bins, size_t bytes) {
    if (bins == NULL)
        return NULL;
    unsigned list = list_of(bytes);
    if (list >= EXACT) {
        struct block *block = bins->list[list];
        for (unsigned tries = 0; block != NULL && tries < TRIES; tries++, block = block->next)
            if (bytes_of(block) >= bytes) {
                take_out(bins, block);
                return block;
            }
        list++;
    }
    uint64_t larger = list < LISTS ? bins->filled & ~(uint64_t)0 << list : 0;
    if (larger == 0)
        return NULL;
    struct block *block = bins->list[__builtin_ctzl(larger)];
    if (bytes_of(block) < bytes) /* the last list has all sizes */
        return NULL;
    take_out(bins, block);
    return block;
}

/* The rest of the page that was being filled: a free block if it is large enough for one, else a
 * used one that nobody has. */
static void close_page(struct lee_arena *reap) {
    size_t left = (size_t)(reap->end - reap->next);
    if (reap->next == NULL || left == 0)
        return;
    struct block *rest = at(reap->next);
    rest->head = left | USED | BEFORE_USED;
    if (left >= LEAST && reap->bins != NULL)
        make_free(reap->bins, rest, left);
    reap->next = reap->end;
}

static struct block *from_new_page(struct lee_arena *reap, size_t bytes) {
    struct lee_arena_page *page = lee_arena_grow(reap, sizeof *page + 2 * sizeof(size_t) + bytes);
    if (page == NULL)
        return NULL;
    unsigned char *start = (unsigned char *)(page + 1) + sizeof(size_t);
    /* A used block of no size ends the page. */
    unsigned char *last = (unsigned char *)page + page->bytes - sizeof(size_t);
    at(last)->head = USED | BEFORE_USED;
    if (page != reap->pages) {
        size_t all = (size_t)(last - start);
        at(start)->head = all | USED | BEFORE_USED | FIRST;
        return at(start);
    }
    close_page(reap);
    reap->next = start + bytes;
    reap->end = last;
    at(start)->head = bytes | USED | BEFORE_USED | FIRST;
    return at(start);
}

static struct block *take(struct lee_arena *reap, size_t bytes) {
    struct block *block = find(reap->bins, bytes);
    if (block != NULL) {
        size_t have = bytes_of(block), first = block->head & FIRST;
        if (have - bytes >= LEAST) {
            struct block *rest = behind(block, bytes);
            rest->head = 0;
            make_free(reap->bins, rest, have - bytes);
            have = bytes;
        } else {
            behind(block, have)->head |= BEFORE_USED;
        }
        block->head = have | USED | BEFORE_USED | first;
        return block;
    }
    if (reap->next == NULL || (size_t)(reap->end - reap->next) < bytes)
        return from_new_page(reap, bytes);
    block = at(reap->next);
    /* What lies in front of the rest of the page is never free. */
    block->head = bytes | USED | BEFORE_USED;
    reap->next += bytes;
    return block;
}

void *lee_reap_take(const struct lee_site *site, struct lee_arena *reap, size_t size, size_t align) {
    struct block *block = NULL;
    if (size <= (size_t)PTRDIFF_MAX / 2 && align <= GRAIN) {
        size_t bytes = (size + sizeof(size_t) + GRAIN - 1) & ~(size_t)(GRAIN - 1);
        block = take(reap, bytes < LEAST ? LEAST : bytes);
    }
    if (block == NULL) {
        if (site != NULL)
            lee_fault_memory(site, size);
        return NULL;
    }
    return memset((unsigned char *)block + sizeof(size_t), 0, bytes_of(block) - sizeof(size_t));
}

static bool make_bins(struct lee_arena *reap) {
    if (reap->bins == NULL)
        reap->bins = lee_reap_take(NULL, reap, sizeof *reap->bins, GRAIN);
    return reap->bins != NULL;
}

void lee_reap_free(struct lee_arena *reap, void *object) {
    if (object == NULL)
        return;
    lee_listed_end(object, (unsigned char *)object + 1);
    struct block *block = at((unsigned char *)object - sizeof(size_t));
    size_t bytes = bytes_of(block);
    struct block *next = behind(block, bytes);
    bool last = (unsigned char *)next == reap->next;
    if (!last && !make_bins(reap))
        return; /* the reap's end frees it */
    if (!(block->head & BEFORE_USED)) {
        size_t before = ((size_t *)block)[-1];
        block = at((unsigned char *)block - before);
        take_out(reap->bins, block);
        bytes += before;
    }
    if (last) {
        reap->next = (unsigned char *)block;
        return;
    }
    if (!(next->head & USED)) {
        take_out(reap->bins, next);
        bytes += bytes_of(next);
    }
    if (block->head & FIRST && bytes >= OWN_PAGE && bytes_of(behind(block, bytes)) == 0) {
        struct lee_arena_page *page = (struct lee_arena_page *)((unsigned char *)block - sizeof(size_t)) - 1;
        if (page != reap->pages) {
            lee_arena_drop_page(reap, page);
            return;
        }
    }
    make_free(reap->bins, block, bytes);
}

size_t lee_reap_size(const void *object) {
    return bytes_of(at((unsigned char *)(uintptr_t)object - sizeof(size_t))) - sizeof(size_t);
}

#endif

void *lee_reap_take_array(const struct lee_site *site, struct lee_arena *reap, int64_t count, size_t elem_size,
                          size_t extra, size_t align) {
    size_t size;
    if (lee_arena_array_size(count, elem_size, extra, &size))
        return lee_reap_take(site, reap, size, align);
    if (site != NULL)
        lee_fault_memory_array(site, count, elem_size);
    return NULL;
}
