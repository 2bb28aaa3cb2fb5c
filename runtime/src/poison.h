/* poison.h: what AddressSanitizer and valgrind are told of memory that is not in use.
 *
 * Under AddressSanitizer every free cell, block and unit is poisoned, and so are headers and what a
 * cell is larger than its object. The runtime's own look at such memory is in functions marked
 * LEE_UNCHECKED. */
#ifndef LEE_POISON_H
#define LEE_POISON_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define LEE_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define LEE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEE_ASAN 1
#elif __has_feature(thread_sanitizer)
#define LEE_TSAN 1
#endif
#endif

/* Returns on another stack than it was called on, as the sanitizer sees it (task_switch.h). */
#ifdef LEE_TSAN
#define LEE_SWITCHES __attribute__((no_sanitize("thread")))
#else
#define LEE_SWITCHES
#endif

/* Reads what another thread may be writing, on purpose. */
#ifdef LEE_TSAN
#define LEE_UNWATCHED __attribute__((no_sanitize("thread"), noinline))
#else
#define LEE_UNWATCHED
#endif

#ifdef LEE_ASAN
void __asan_poison_memory_region(const volatile void *start, size_t size);
void __asan_unpoison_memory_region(const volatile void *start, size_t size);
void __lsan_register_root_region(const void *start, size_t size);
void __lsan_unregister_root_region(const void *start, size_t size);
#define LEE_POISON(start, size) __asan_poison_memory_region((const void *)(start), (size))
#define LEE_UNPOISON(start, size) __asan_unpoison_memory_region((const void *)(start), (size))
/* What pointers of C's may lie in, from when it is taken to when it is given back. */
#define LEE_LEAK_ROOT(start, size) __lsan_register_root_region((const void *)(start), (size))
#define LEE_LEAK_UNROOT(start, size) __lsan_unregister_root_region((const void *)(start), (size))
#define LEE_UNCHECKED __attribute__((no_sanitize("address"), no_sanitize("undefined"), noinline))
#define LEE_UNCHECKED_INLINE __attribute__((no_sanitize("address"), no_sanitize("undefined"))) static
#else
#define LEE_POISON(start, size) ((void)(start), (void)(size))
#define LEE_UNPOISON(start, size) ((void)(start), (void)(size))
#define LEE_LEAK_ROOT(start, size) ((void)(start), (void)(size))
#define LEE_LEAK_UNROOT(start, size) ((void)(start), (void)(size))
#define LEE_UNCHECKED
#ifdef LEE_TSAN /* marking reads static data while other threads write theirs */
#define LEE_UNCHECKED_INLINE __attribute__((no_sanitize("thread"))) static
#else
#define LEE_UNCHECKED_INLINE static inline __attribute__((always_inline))
#endif
#endif

#endif
