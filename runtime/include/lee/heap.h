/* The heap, as emitted code and the library see it.
 *
 * Promises: memory is zeroed and aligned to 16 bytes; size 0 gives an address of its own; sizes
 * beyond PTRDIFF_MAX, negative counts and products that overflow are treated as memory that is not
 * there. `lee_heap_try_*` return null then, the others fault (`out of memory`).
 *
 * Objects never move. What is reached from no root is collected, at the earliest in the next call
 * of this interface. Each thread has a heap of its own; once a second one has, nothing is collected
 * any more. The variable LEE_MEMORY (bytes, or with a suffix K, M, G) limits what all heaps
 * together take from the system. */
#ifndef LEE_HEAP_H
#define LEE_HEAP_H

#include <lee/fault.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `malloc` also promises that the memory holds no pointer to anything, which is not so of reallocated memory. */
#define LEE_ALLOCATES __attribute__((malloc, assume_aligned(16)))
#define LEE_REALLOCATES __attribute__((assume_aligned(16)))

/* `size` zeroed bytes. */
LEE_ALLOCATES void *lee_heap_alloc(const struct lee_site *site, size_t size) __attribute__((returns_nonnull));
LEE_ALLOCATES void *lee_heap_try_alloc(size_t size);

/* `count * elem_size + extra` zeroed bytes. `extra` is for what the elements alone do not count: a string's
 * hidden zero, or the struct before a flexible array. */
LEE_ALLOCATES void *lee_heap_alloc_array(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra)
    __attribute__((returns_nonnull));
LEE_ALLOCATES void *lee_heap_try_alloc_array(int64_t count, size_t elem_size, size_t extra);

/* The same with what the collector should know: where the pointers are, or that there are none. The
 * functions above take any word for a pointer. `lee_heap_size` of a plain object may be larger than
 * what was asked for. */
struct lee_layout;
LEE_ALLOCATES void *lee_heap_alloc_typed(const struct lee_site *site, size_t size, const struct lee_layout *layout)
    __attribute__((returns_nonnull));
LEE_ALLOCATES void *lee_heap_try_alloc_typed(size_t size, const struct lee_layout *layout);
LEE_ALLOCATES void *lee_heap_alloc_array_typed(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra,
                                               const struct lee_layout *layout) __attribute__((returns_nonnull));
LEE_ALLOCATES void *lee_heap_try_alloc_array_typed(int64_t count, size_t elem_size, size_t extra,
                                                   const struct lee_layout *layout);
LEE_ALLOCATES void *lee_heap_alloc_plain(const struct lee_site *site, size_t size) __attribute__((returns_nonnull));
LEE_ALLOCATES void *lee_heap_try_alloc_plain(size_t size);
LEE_ALLOCATES void *lee_heap_alloc_array_plain(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra)
    __attribute__((returns_nonnull));
LEE_ALLOCATES void *lee_heap_try_alloc_array_plain(int64_t count, size_t elem_size, size_t extra);

/* Set by a program in which some struct has a pointer at an address that is no multiple of 8: the
 * collector then looks at every byte of what it has no layout of. */
extern int lee_heap_unaligned;

/* There are too many files (errno says so): collects, which closes those that nothing reaches.
 * Whether there were any. */
_Bool lee_heap_close_files(void);

/* Gives an object back at once: nothing may refer to it any more. `object` is its start, not null. */
void lee_heap_free(void *object);

/* The same as freeing `old` (unless it is null) and allocating `size` zeroed bytes: the memory of
 * `old` itself if it is as large, and was made with a layout if this is. What it owns has been
 * dealt with. */
void *lee_heap_reuse_typed(const struct lee_site *site, void *old, size_t size, const struct lee_layout *layout)
    __attribute__((returns_nonnull, assume_aligned(16)));
void *lee_heap_reuse_plain(const struct lee_site *site, void *old, size_t size)
    __attribute__((returns_nonnull, assume_aligned(16)));

/* A fresh object of `count * elem_size + extra` bytes that starts with what `old` held (as much as
 * the elements take; the rest is zero). `old` is null or the start of an object, and is left as it
 * is. */
LEE_REALLOCATES void *lee_heap_realloc_array(const struct lee_site *site, const void *old, int64_t count,
                                             size_t elem_size, size_t extra) __attribute__((returns_nonnull));
LEE_REALLOCATES void *lee_heap_try_realloc_array(const void *old, int64_t count, size_t elem_size, size_t extra);

/* The bytes asked for when the object that starts at `object` was made. */
size_t lee_heap_size(const void *object);

/* The same for any address: 0 if no object of the heap starts there (but something in an arena, on
 * the stack ...). */
size_t lee_heap_block_size(const void *address);

/* The same for an object that is aligned to more than 16 bytes (lee/owned.h). */
size_t lee_heap_aligned_size(const void *address, size_t align);

/* Between the two, a task that its custodian shut down does not end in an allocation, but in a
 * later one: what others can see is not consistent meanwhile. They nest. */
void lee_hold(void);
void lee_unhold(void);

#ifdef __cplusplus
}
#endif

#endif
