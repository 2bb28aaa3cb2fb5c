//@ flags: -pthread
//@ out: 400000 800000 0 400000 200000.0 0 1
//@ out: 400000 400000 24
//@ out: 1 2 2 3 3 2 1 1 6 2 16 2 3 7 4 1.5
// `op=`, `++` and `--` on an `_Atomic` place are one step each (C11 6.5.16.2p3): with threads that
// do nothing else, no update is lost.
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>

enum { ROUNDS = 100000, THREADS = 4 };

struct counts { _Atomic unsigned char low; _Atomic double half; _Atomic long down, wide; int *_Atomic walk; };
static _Atomic int global;
static struct counts counts = { .down = (long)ROUNDS * THREADS };
static int numbers[1];
static atomic_int ready;

static int work(void *p) {
    _Atomic int *local = p;
    ready++;
    while (ready < THREADS) {}
    for (int i = 0; i < ROUNDS; i++) {
        global++;
        *local += 2;
        counts.low += 4;
        counts.half += 0.5;
        --counts.down;
        counts.wide ^= i & 1 ? 1 : 3;
        counts.walk++;
        if (i & 1) counts.walk--, --counts.walk;
        (*local)--, ++*local;
    }
    return 0;
}

static _Atomic int *counted(_Atomic int *p, int *calls) { ++*calls; return p; }

int main(void) {
    _Atomic int local = 0;
    counts.walk = numbers;
    thrd_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) thrd_create(&threads[i], work, &local);
    for (int i = 0; i < THREADS; i++) thrd_join(threads[i], NULL);
    printf("%d %d %d %d %.1f %ld %d\n", global, local, counts.low, ROUNDS * THREADS, counts.half, counts.down,
           counts.walk == numbers);
    printf("%d %ld %d\n", global, (long)ROUNDS * THREADS - counts.down, (int)(counts.wide | 24));
    int calls = 0;
    _Atomic int a = 1;
    int r1 = a++, r2 = a, r3 = a--;
    (*counted(&a, &calls))++;
    int r4 = ++*counted(&a, &calls), r5 = a--, r6 = a;
    _Atomic _Bool b = 0;
    b++;
    int r7 = b, r8 = ++b, r9 = a *= 3, r10 = a /= 3, r11 = a <<= 3, r12 = a >>= 3, r13 = a |= 1, r14 = a ^= 4, r15 = a &= 12;
    _Atomic float f = 1;
    printf("%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %g\n", r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11, r12, r13, r14,
           r15, (double)(f *= 1.5f));
    return calls == 2 ? 0 : 1;
}
