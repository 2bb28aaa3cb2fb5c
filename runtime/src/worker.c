/* worker.c: see worker.h and PROCESSES.md, "Workers". What all programs need; the rest is in
 * pool.c. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Thread_local struct lee_worker lee_worker __attribute__((tls_model("initial-exec")));
bool lee_many, lee_pool_may_begin;
bool lee_timers_rest;
uint64_t lee_lock_patience;

enum { LOOKS = 10 /* at the lock, between two at the clock */ };

void lee_futex_wait(int *word, int value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void lee_futex_wait_for(int *word, int value, long nanoseconds) {
    struct timespec most = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &most, NULL, 0);
}

void lee_futex_wake(int *word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* 0: free; 1: taken; 2: taken, and a thread may sleep for it. Drepper, "Futexes are tricky" (2011),
 * the second mutex. */
static int lock;

void lee_lock_begin(void) {
    __atomic_store_n(&lock, lee_worker.depth > 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lee_many, true, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void take_slowly(void) {
    for (uint64_t start = lee_cycles(); lee_cycles() - start < lee_lock_patience;) {
        for (int i = 0; i < LOOKS; i++) {
            int none = 0;
            if (__atomic_load_n(&lock, __ATOMIC_RELAXED) == 0 &&
                __atomic_compare_exchange_n(&lock, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return;
            lee_relax();
        }
    }
    int error = errno;
    while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE) != 0)
        lee_futex_wait(&lock, 2);
    errno = error;
}

void lee_lock_many(void) {
    int none = 0;
    if (lee_worker.depth++ == 0 && !__atomic_compare_exchange_n(&lock, &none, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        take_slowly();
}

/* Wakes the threads that were to be woken once the lock is free, and one that waits for it. */
static __attribute__((noinline)) void wake_others(bool waiting) {
    int error = errno;
    if (waiting)
        lee_futex_wake(&lock);
    for (size_t i = 0; i < sizeof lee_worker.wakes / sizeof *lee_worker.wakes; i++) {
        struct lee_worker *worker = lee_worker.wakes[i];
        lee_worker.wakes[i] = NULL;
        if (worker != NULL)
            lee_futex_wake(&worker->woken);
    }
    errno = error;
}

void lee_unlock_many(void) {
    if (--lee_worker.depth != 0)
        return;
    bool waiting = __atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2;
    if (__builtin_expect(waiting || lee_worker.wakes[0] != NULL, 0))
        wake_others(waiting);
}

unsigned lee_lock_drop(void) {
    unsigned depth = lee_worker.depth;
    lee_worker.depth = 1;
    lee_unlock_many();
    return depth;
}

void lee_lock_retake(unsigned depth) {
    lee_lock_many();
    lee_worker.depth = depth;
}
