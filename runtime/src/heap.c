/* heap.c: the interim heap. Memory is cut from the ends of zeroed mappings, one per thread. What is freed waits in lists by size for
 * the next object of that size (under AddressSanitizer it stays poisoned for good); a large object's mapping goes back.
 *
 * Promises: what lee/heap.h says. No locks: each thread cuts from a mapping of its own, only the total is shared.
 * Each object is preceded by a header of one alignment step that holds its size, so that `realloc` and the
 * collector that takes over need no help from the program. Under AddressSanitizer what was not handed out, headers
 * included, is poisoned, so that unchecked code is caught at the first byte beside an object. */
#define _GNU_SOURCE
#include <lee/heap.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "heap_limit.h"

#if defined(__SANITIZE_ADDRESS__)
#define LEE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEE_ASAN 1
#endif
#endif

#ifdef LEE_ASAN
void __asan_poison_memory_region(const volatile void *start, size_t size);
void __asan_unpoison_memory_region(const volatile void *start, size_t size);
void __lsan_register_root_region(const void *start, size_t size);
void __lsan_unregister_root_region(const void *start, size_t size);
#endif

enum {
    ALIGNMENT = 16,        /* max_align_t on both targets, and room for the header */
    CHUNK_BYTES = 1 << 20, /* taken from the system at once: a fresh thread costs one mapping */
    LARGE_BYTES = CHUNK_BYTES / 4, /* from here on an object gets a mapping of its own: at most a quarter is wasted */
    SIZES = 1 << 10,       /* lists for rounded sizes below 16 KB; what is larger is kept for nobody */
    PAGE_BYTES = 4096      /* only to round large objects; a larger page of the system is rounded to by mmap */
};

struct header {
    size_t size;
    size_t unused; /* keeps the object on its alignment */
};

_Static_assert(sizeof(struct header) == ALIGNMENT, "the header must keep objects aligned");

static _Thread_local unsigned char *bump_next, *bump_end;
static atomic_size_t taken;                /* bytes of all mappings */
static size_t limit = (size_t)PTRDIFF_MAX; /* of `taken`; written by lee_start only */

void lee_heap_limit(size_t bytes) {
    limit = bytes;
}

/* A zeroed mapping, or null when the system or the limit has none left. */
static unsigned char *take(size_t bytes) {
    size_t before = atomic_fetch_add_explicit(&taken, bytes, memory_order_relaxed);
    if (before > limit || bytes > limit - before) {
        atomic_fetch_sub_explicit(&taken, bytes, memory_order_relaxed);
        return NULL;
    }
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        atomic_fetch_sub_explicit(&taken, bytes, memory_order_relaxed);
        return NULL;
    }
#ifdef LEE_ASAN
    __asan_poison_memory_region(start, bytes);
    __lsan_register_root_region(start, bytes);
#endif
    return start;
}

/* Freed objects of one rounded size. */
struct freed {
    struct freed *next;
};

static _Thread_local struct freed *freed[SIZES];

static void *finish(unsigned char *cut, size_t size) {
    struct header *header = (struct header *)(void *)cut;
#ifdef LEE_ASAN
    __asan_unpoison_memory_region(header, sizeof *header + size);
#endif
    header->size = size;
#ifdef LEE_ASAN
    __asan_poison_memory_region(header, sizeof *header);
#endif
    return header + 1;
}

/* `whole` is a multiple of ALIGNMENT that includes the header. */
static unsigned char *cut(size_t whole) {
    if (whole >= LARGE_BYTES)
        return take((whole + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1));
    if (whole > (size_t)(bump_end - bump_next)) {
        unsigned char *chunk = take(CHUNK_BYTES);
        if (chunk == NULL)
            return NULL;
        bump_next = chunk;
        bump_end = chunk + CHUNK_BYTES;
    }
    unsigned char *start = bump_next;
    bump_next += whole;
    return start;
}

/* One byte more keeps the end of an object, and an object of size 0, from being the next one's header. */
static size_t whole_bytes(size_t size) {
    return (sizeof(struct header) + size + (size == 0) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void *lee_heap_try_alloc(size_t size) {
    if (size > (size_t)PTRDIFF_MAX - sizeof(struct header) - PAGE_BYTES)
        return NULL;
    size_t whole = whole_bytes(size);
    struct freed *again = whole / ALIGNMENT < SIZES ? freed[whole / ALIGNMENT] : NULL;
    if (again != NULL) {
        freed[whole / ALIGNMENT] = again->next;
        ((struct header *)again - 1)->size = size;
        return memset(again, 0, size);
    }
    unsigned char *start = cut(whole);
    return start == NULL ? NULL : finish(start, size);
}

void *lee_heap_alloc(const struct lee_site *site, size_t size) {
    void *object = lee_heap_try_alloc(size);
    if (object == NULL)
        lee_fault_memory(site, size);
    return object;
}

/* False if the size cannot be that of an object. */
static bool array_size(int64_t count, size_t elem_size, size_t extra, size_t *size) {
    return count >= 0 && !__builtin_mul_overflow((uint64_t)count, elem_size, size) &&
           !__builtin_add_overflow(*size, extra, size) && *size <= (size_t)PTRDIFF_MAX;
}

void *lee_heap_try_alloc_array(int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    return array_size(count, elem_size, extra, &size) ? lee_heap_try_alloc(size) : NULL;
}

void *lee_heap_alloc_array(const struct lee_site *site, int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    if (!array_size(count, elem_size, extra, &size))
        lee_fault_memory_array(site, count, elem_size);
    return lee_heap_alloc(site, size);
}

size_t lee_heap_size(const void *object) {
    const struct header *header = (const struct header *)object - 1;
#ifdef LEE_ASAN
    __asan_unpoison_memory_region(header, sizeof *header);
    size_t size = header->size;
    __asan_poison_memory_region(header, sizeof *header);
    return size;
#else
    return header->size;
#endif
}

void lee_heap_free(void *object) {
    size_t whole = whole_bytes(lee_heap_size(object));
#ifdef LEE_ASAN
    if (whole < LARGE_BYTES) {
        __asan_poison_memory_region(object, whole - sizeof(struct header));
        return;
    }
    __lsan_unregister_root_region((struct header *)object - 1, (whole + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1));
#endif
    if (whole >= LARGE_BYTES) {
        size_t bytes = (whole + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
        munmap((struct header *)object - 1, bytes);
        atomic_fetch_sub_explicit(&taken, bytes, memory_order_relaxed);
    } else if (whole / ALIGNMENT < SIZES) {
        struct freed *entry = object;
        entry->next = freed[whole / ALIGNMENT];
        freed[whole / ALIGNMENT] = entry;
    }
}

void *lee_heap_try_realloc_array(const void *old, int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    if (!array_size(count, elem_size, extra, &size))
        return NULL;
    void *fresh = lee_heap_try_alloc(size);
    if (fresh != NULL && old != NULL) {
        size_t keep = lee_heap_size(old), elements = size - extra;
        memcpy(fresh, old, keep < elements ? keep : elements);
    }
    return fresh;
}

void *lee_heap_realloc_array(const struct lee_site *site, const void *old, int64_t count, size_t elem_size, size_t extra) {
    size_t size;
    if (!array_size(count, elem_size, extra, &size))
        lee_fault_memory_array(site, count, elem_size);
    void *fresh = lee_heap_try_realloc_array(old, count, elem_size, extra);
    if (fresh == NULL)
        lee_fault_memory(site, size);
    return fresh;
}
