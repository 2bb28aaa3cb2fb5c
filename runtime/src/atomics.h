/* atomics.h: the atomic accesses with which channels do without the lock.
 *
 * What is read without the lock while others write it is read and written by these only. A test
 * compiles the same code with LEE_EXPLORE: then each access is a step of an explorer, which gives
 * back what a weak memory might (tests/explorer.h). */
#ifndef LEE_SRC_ATOMICS_H
#define LEE_SRC_ATOMICS_H

#include "poison.h"

#ifdef LEE_EXPLORE

#include <stddef.h>
#include <stdint.h>

/* `site`: which access of the source this is. */
uint64_t explore_load(const volatile void *at, size_t bytes, int order, const char *site);
void explore_store(volatile void *at, size_t bytes, uint64_t value, int order, const char *site);
void explore_fence(const char *site);

#define LEE_SITE_TEXT(line) #line
#define LEE_SITE_OF(line) LEE_SITE_TEXT(line)
#define LEE_SITE __FILE__ ":" LEE_SITE_OF(__LINE__)
#define lee_atomic_load(at, order) ((__typeof__(*(at) + 0))explore_load(at, sizeof *(at), order, LEE_SITE))
#define lee_atomic_store(at, value, order) explore_store(at, sizeof *(at), (uint64_t)(value), order, LEE_SITE)
#define lee_atomic_fence() explore_fence(LEE_SITE)

#else

#define lee_atomic_load(at, order) __atomic_load_n(at, order)
#define lee_atomic_store(at, value, order) __atomic_store_n(at, value, order)
#if !defined(LEE_TSAN)
#define lee_atomic_fence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#elif defined(__x86_64__) /* ThreadSanitizer knows no fences; nothing that it looks at depends on these */
#define lee_atomic_fence() __asm__ volatile("mfence" ::: "memory")
#else
#define lee_atomic_fence() __asm__ volatile("dmb ish" ::: "memory")
#endif

#endif

#endif
