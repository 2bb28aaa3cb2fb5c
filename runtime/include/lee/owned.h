/* Owned objects: counts, and the end of an object with all that it owns.
 *
 * Promises: the depth of what is freed does not matter, no call here recurses. Null owns nothing.
 *
 * A counted object has its count in the word in front of its first byte, and another word in front
 * of that, which keeps it aligned to 16 bytes. */
#ifndef LEE_OWNED_H
#define LEE_OWNED_H

#include <lee/arena.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LEE_COUNT_BYTES = 16 };

/* What is being freed: objects whose parts are still to be looked at. */
struct lee_work;

/* How an object behind an owned pointer ends: emitted once for each type that owns something. */
struct lee_owned {
    size_t size; /* of one element: an object is an array of them */
    void (*drop)(struct lee_work *work, void *element); /* pushes what one element owns; null if it owns nothing */
    size_t tail; /* offset of a flexible array behind the one element; 0 if there is none */
    size_t tail_size;
    void (*tail_drop)(struct lee_work *work, void *element);
    uint8_t counted; /* the object has a count: this is one holder less */
    uint16_t align;  /* if more than 16: the object came from `lee_align` */
    uint8_t names;   /* of a message: it names processes or custodians (`lee_push_pid`) */
};

/* Objects that own nothing, and such with a count. */
extern const struct lee_owned lee_owned_plain, lee_owned_counted;

/* How the object behind a `void *unique` ends, by the type that it remembers. */
LEE_INLINE const struct lee_owned *lee_owned_of(const struct lee_type *type) {
    return type != NULL && type->owned != NULL ? type->owned : &lee_owned_plain;
}

/* From a `drop`: an owned pointer, or a key, that the element holds. */
void lee_push(struct lee_work *work, void *object, const struct lee_owned *owned);
enum { LEE_KEY_UNIQUE, LEE_KEY_COUNTED, LEE_KEY_EXCHANGE };
void lee_push_key(struct lee_work *work, struct lee_arena *key, uint8_t kind);

/* From the drop action of a layout: the collector found `bytes` bytes of elements dead. Counts that
 * they held are taken back; what they owned alone is dead itself. */
void lee_dead(void *place, size_t bytes, const struct lee_owned *owned);

/* Frees what an owned pointer holds, deeply: in the heap, or block by block in a reap. */
void lee_dispose(void *object, const struct lee_owned *owned);
void lee_dispose_in(struct lee_arena *reap, void *object, const struct lee_owned *owned);

/* Frees what `bytes` bytes of elements at `place` own, which themselves stay. */
void lee_dispose_parts(void *place, size_t bytes, const struct lee_owned *owned);

/* A fresh object with a count of one; null if the memory is. */
LEE_INLINE void *lee_counted(void *block) {
    if (block == NULL)
        return NULL;
    ((size_t *)block)[LEE_COUNT_BYTES / sizeof(size_t) - 1] = 1;
    return (unsigned char *)block + LEE_COUNT_BYTES;
}

/* An object aligned to more than 16 bytes, in a block that has `align` bytes more than it. How far
 * it is from the block's start stands two words in front of it; the word between is for a count.
 * Null stays null. */
LEE_INLINE void *lee_align(void *block, size_t align) {
    if (block == NULL)
        return NULL;
    size_t front = align - ((uintptr_t)block & (align - 1));
    size_t *object = (size_t *)((unsigned char *)block + front);
    object[-2] = front;
    object[-1] = 1;
    return object;
}

/* Frees it, if it owns nothing and is in the heap. */
LEE_INLINE void lee_free_aligned(void *object) {
    if (object != NULL)
        lee_heap_free((unsigned char *)object - ((size_t *)object)[-2]);
}

/* One holder more. */
LEE_INLINE void *lee_retain(const void *object) {
    if (object != NULL)
        ++((size_t *)(uintptr_t)object)[-1];
    return (void *)(uintptr_t)object;
}

/* One holder less: the last one frees the object. */
LEE_INLINE void lee_release(void *object, const struct lee_owned *owned) {
    if (object == NULL)
        return;
    size_t *count = &((size_t *)object)[-1];
    if (*count > 1)
        --*count;
    else
        lee_dispose(object, owned);
}

/* One holder less of a counted object in an arena, which frees nothing before its end. */
LEE_INLINE void lee_release_in_arena(void *object) {
    if (object != NULL)
        --((size_t *)object)[-1];
}

/* A unique object that owns nothing. */
LEE_INLINE void lee_free(void *object) {
    if (object != NULL)
        lee_heap_free(object);
}

#ifdef __cplusplus
}
#endif

#endif
