/* Containers: from a member to the struct that holds it (`container_of`).
 *
 * Promises: `lee_check_container` returns only if a live object of the type lies where the member
 * says. Objects of the heap are found by their layout, others (globals, locals, what lies in
 * arenas) are on a list from the moment they can be pointed to until they end. Only objects of
 * types that some `container_of` of the program names are listed, or get a layout that they would
 * not have otherwise: `lee_contained_*` is a weak symbol that is there only then. */
#ifndef LEE_CONTAINER_H
#define LEE_CONTAINER_H

#include <lee/lee.h>

#ifdef __cplusplus
extern "C" {
#endif

struct lee_container;

/* A struct or union inside another, or an array of them. */
struct lee_part {
    size_t offset, count;
    const struct lee_container *type;
};

/* A struct type with structs or unions in it; a union type, of which only the members are listed
 * that always are there. Weak constants, compared by digest. */
struct lee_container {
    uint64_t digest;
    size_t bytes;
    const char *name;
    const struct lee_part *parts;
    unsigned count;
    uint8_t flexible; /* what is behind the first element is no element */
};

/* An object outside the heap, in the memory of whoever lists it. */
struct lee_listed {
    uintptr_t start, end; /* both 0: not listed */
    const struct lee_container *type;
    struct lee_listed *less, *more;
};

/* `member` is null, or lies `offset` bytes into an object of the type; else a fault. */
void lee_check_container(const struct lee_site *site, const void *member, size_t offset, const struct lee_container *type);

void lee_list(struct lee_listed *entry, const void *object, size_t bytes, const struct lee_container *type);
/* Of a variable of static storage, at its linked address: before `main`, or in a constructor of a library. Each process finds
 * its own copy of it. */
void lee_list_variable(struct lee_listed *entry, const void *object, size_t bytes, const struct lee_container *type);
void lee_unlist(struct lee_listed *entry);
/* The end of the function that a local is listed in. */
LEE_INLINE void lee_unlist_local(struct lee_listed *entry) {
    if (entry->end != 0)
        lee_unlist(entry);
}

/* A block of an arena that has room for the entry behind the object's `bytes` bytes; null stays
 * null. It is taken off the list when its memory goes. */
void *lee_list_in_arena(void *block, size_t bytes, const struct lee_container *type);

#ifdef __cplusplus
}
#endif

#endif
