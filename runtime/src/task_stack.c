/* task_stack.c: the stacks of tasks.
 *
 * Promises: a stack is a slot of LEE_STACK_BYTES in a reserved range; only pages that were touched
 * take memory, and LEE_STACK_CHARGE of it counts against the program's limit. Custodians pay for
 * all. The slot's lowest pages are a guard: what would leave the stack traps there. A few slots
 * that were given back, of each worker, keep their memory for the next task; the others lose it at
 * once.
 *
 * Guards are made by MADV_GUARD_INSTALL, which needs no mapping of its own, where the kernel has
 * it; else by mprotect, which the kernel allows some ten thousand times. */
#define _GNU_SOURCE
#include "task.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "container.h"
#include "poison.h"
#include "system.h"
#include "units.h"
#include "valgrind.h"
#include "worker.h"

enum {
    BELOW_BYTES = 512, /* that calls below the lowest place at which a task waited may have written */
    GUARD_BYTES = 16 << 10, /* frames are probed page by page (-fstack-clash-protection) */
    RANGES_MOST = 256,
    SLOTS_FIRST = 64, /* of the first range; each further one has twice as many, up to SLOTS_MOST */
    SLOTS_MOST = 1 << 14,
    WARM_MOST = 16,
    ADVICE_GUARD_INSTALL = 102, /* Linux 6.13 */
    ADVICE_OF_NONE = 1 << 20
};

/* Written by one thread at a time under `lock`; read by signal handlers: entries are complete
 * before they are counted. */
static struct {
    uintptr_t start, end;
} ranges[RANGES_MOST];
static atomic_int range_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static uintptr_t fresh, fresh_end; /* slots of the last range that were never used */

/* A free slot has the next one's top in its highest word, and in the one below how much of it is to
 * be cleared. */
static uintptr_t cold;
static struct warm {
    uintptr_t first;
    size_t count;
} warm;
/* A worker's own, for which no lock is needed. Threads that may end keep none. */
static _Thread_local struct warm own;
static bool watched; /* valgrind runs the program, and is told which bytes are used anew */

static void take_lock(void) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        ;
}

static uintptr_t *link_of(uintptr_t high) {
    return (uintptr_t *)high - 1;
}

static bool add_range(void) {
    int count = atomic_load_explicit(&range_count, memory_order_relaxed);
    if (count == RANGES_MOST)
        return false;
    if (count == 0) /* before any other thread can read it */
        watched = lee_runs_on_valgrind();
    size_t slots = count >= 8 ? SLOTS_MOST : (size_t)SLOTS_FIRST << count;
    for (; slots > 0; slots /= 2) {
        unsigned char *start = lee_system_reserve(NULL, slots * LEE_STACK_BYTES);
        if (start == NULL)
            continue; /* under a limit of address space, fewer */
#ifdef MADV_NOHUGEPAGE
        madvise(start, slots * LEE_STACK_BYTES, MADV_NOHUGEPAGE); /* a touched page must not become 2 MB */
#endif
        ranges[count].start = fresh = (uintptr_t)start;
        ranges[count].end = fresh_end = (uintptr_t)start + slots * LEE_STACK_BYTES;
        atomic_store_explicit(&range_count, count + 1, memory_order_release);
        return true;
    }
    return false;
}

/* qemu's emulation of Linux says yes to all advice, and does nothing. */
static bool make_guard(uintptr_t start) {
    static enum { UNKNOWN, TAKEN, IGNORED } advice;
    if (advice == UNKNOWN)
        advice = madvise((void *)start, GUARD_BYTES, ADVICE_OF_NONE) == 0 ? IGNORED : TAKEN;
    return (advice == TAKEN && madvise((void *)start, GUARD_BYTES, ADVICE_GUARD_INSTALL) == 0) ||
           mprotect((void *)start, GUARD_BYTES, PROT_NONE) == 0;
}

/* Takes the first slot off the list. 0: there is none. */
static uintptr_t pop(uintptr_t *list) {
    uintptr_t high = *list;
    if (high != 0)
        *list = *link_of(high);
    return high;
}

static void clear(uintptr_t high) {
    if (__builtin_expect(watched, 0))
        lee_valgrind_defined((void *)(high - LEE_STACK_BYTES + GUARD_BYTES), LEE_STACK_BYTES - GUARD_BYTES);
    size_t cleared = link_of(high)[-1];
    __builtin_memset((void *)(high - cleared), 0, cleared);
}

/* With the lock. `*used`: it is to be cleared. */
static uintptr_t take(bool *used) {
    uintptr_t high = pop(&warm.first);
    warm.count -= high != 0;
    if (high == 0)
        high = pop(&cold);
    *used = high != 0;
    if (high != 0)
        return high;
    if (fresh == fresh_end && !add_range())
        return 0;
    if (!make_guard(fresh))
        return 0;
    /* Slots stay stacks, so valgrind is told once. */
    lee_valgrind_stack(fresh + GUARD_BYTES, fresh + LEE_STACK_BYTES - 1);
    fresh += LEE_STACK_BYTES;
    return fresh;
}

uintptr_t lee_stack_touched(uintptr_t low, uintptr_t from) {
    unsigned char in_memory[LEE_STACK_BYTES / LEE_PAGE_BYTES];
    size_t count = (from - low) / LEE_PAGE_BYTES;
    if (count == 0 || !lee_system_in_memory((void *)(from - LEE_PAGE_BYTES), LEE_PAGE_BYTES, in_memory) ||
        (in_memory[0] & 1) == 0 || !lee_system_in_memory((void *)low, from - low, in_memory))
        return from;
    while (count > 0 && (in_memory[count - 1] & 1) != 0)
        count--;
    return low + count * LEE_PAGE_BYTES;
}

uintptr_t lee_stack_take(uintptr_t *high) {
    if (lee_system_fails() || !lee_memory_charge(LEE_STACK_CHARGE))
        return 0;
    bool used = true;
    *high = pop(&own.first);
    own.count -= *high != 0;
    if (*high == 0) {
        take_lock();
        *high = take(&used);
        atomic_flag_clear_explicit(&lock, memory_order_release);
    }
    if (*high == 0) {
        lee_memory_uncharge(LEE_STACK_CHARGE);
        return 0;
    }
    if (used)
        clear(*high);
    return *high - LEE_STACK_BYTES + GUARD_BYTES;
}

static void push(uintptr_t *list, uintptr_t high) {
    *link_of(high) = *list;
    *list = high;
}

/* Whether there is room for it among those that keep their memory. */
static bool keep(struct warm *of, uintptr_t high) {
    if (of->count == WARM_MOST)
        return false;
    push(&of->first, high);
    of->count++;
    return true;
}

static bool keep_for_all(uintptr_t high) {
    take_lock();
    bool kept = keep(&warm, high);
    atomic_flag_clear_explicit(&lock, memory_order_release);
    return kept;
}

static void give_cold(uintptr_t high, uintptr_t low) {
    /* All but the highest page, which has the link. Without the lock: it takes microseconds. */
    lee_system_discard((void *)low, high - low - LEE_STACK_ZEROS);
    link_of(high)[-1] = LEE_STACK_ZEROS;
    take_lock();
    push(&cold, high);
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

void lee_stack_give(uintptr_t high, uintptr_t lowest) {
    uintptr_t low = high - LEE_STACK_BYTES + GUARD_BYTES;
    lee_listed_end((void *)low, (void *)high);
    LEE_UNPOISON(low, high - low);
    if (__builtin_expect(watched, 0))
        lee_valgrind_defined((void *)low, high - low);
    size_t cleared = high - lowest + BELOW_BYTES;
    if (cleared > high - low)
        cleared = high - low;
    /* What frames leave unwritten must not look like pointers. */
    link_of(high)[-1] = cleared < LEE_STACK_ZEROS ? LEE_STACK_ZEROS : cleared;
    if (!(lee_worker.idle != NULL ? keep(&own, high) : keep_for_all(high)))
        give_cold(high, low);
    lee_memory_uncharge(LEE_STACK_CHARGE);
}

bool lee_stack_find(uintptr_t address, uintptr_t *low, uintptr_t *high) {
    int count = atomic_load_explicit(&range_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        if (address < ranges[i].start || address >= ranges[i].end)
            continue;
        uintptr_t start = address - (address - ranges[i].start) % LEE_STACK_BYTES;
        *low = start + GUARD_BYTES;
        *high = start + LEE_STACK_BYTES;
        return true;
    }
    return false;
}

bool lee_stack_is_guard(uintptr_t address) {
    uintptr_t low, high;
    return lee_stack_find(address, &low, &high) && address < low;
}
