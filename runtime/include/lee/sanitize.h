/* What AddressSanitizer is told of memory that it does not manage: cells of the heap, and objects
 * that the compiler put into a frame instead. Without it nothing is done. */
#ifndef LEE_SANITIZE_H
#define LEE_SANITIZE_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define LEE_CELLS_POISONED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEE_CELLS_POISONED 1
#endif
#endif
#ifdef LEE_CELLS_POISONED
#ifdef __cplusplus
extern "C" {
#endif
void __asan_poison_memory_region(const volatile void *start, size_t size);
void __asan_unpoison_memory_region(const volatile void *start, size_t size);
#ifdef __cplusplus
}
#endif
#define LEE_CELL_OPEN(start, size) __asan_unpoison_memory_region((const void *)(start), (size))
#define LEE_CELL_CLOSE(start, size) __asan_poison_memory_region((const void *)(start), (size))
#else
#define LEE_CELL_OPEN(start, size) ((void)0)
#define LEE_CELL_CLOSE(start, size) ((void)0)
#endif

#endif
