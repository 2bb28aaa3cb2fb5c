// A scratch buffer, got in four ways (WAY): from malloc, as a local array, as a local array with
// the heap for what is larger (hybrid), and from the caller. `cases sort ITEMS CALLS` sorts copies
// of arrays of 8-byte items; `cases threads ITEMS CALLS` copies in four threads. What is computed is
// printed, so that the optimiser cannot remove the work.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Macros: a constant of an enumeration is 0 to the preprocessor.
#define MALLOC 0
#define STACK 1
#define HYBRID 2
#define CALLER 3
enum { MOST = 1024, LOCAL = 64 };

#if WAY == MALLOC
#define GET(p, n) uint64_t *p = malloc((n) * sizeof *p); if (!p) abort()
#define PUT(p) free(p)
#elif WAY == STACK
#define GET(p, n) uint64_t p[MOST]
#define PUT(p) (void)0
#elif WAY == HYBRID
#define GET(p, n) uint64_t p##_buffer[LOCAL]; \
    uint64_t *p = (n) <= LOCAL ? p##_buffer : malloc((n) * sizeof *p); if (!p) abort()
#define PUT(p) if (p != p##_buffer) free(p)
#elif WAY == CALLER
#define GET(p, n) uint64_t *p = given
#define PUT(p) (void)0
#else
#error "WAY is MALLOC, STACK, HYBRID or CALLER"
#endif

static void quicksort(uint64_t *v, size_t n) {
    while (n > 1) {
        uint64_t pivot = v[n / 2];
        size_t i = 0, j = n - 1;
        for (;;) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i >= j) break;
            uint64_t t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        quicksort(v, i);
        v += i;
        n -= i;
    }
}

__attribute__((noinline)) static uint64_t sorted(const uint64_t *from, size_t n, uint64_t *given) {
    (void)given;
    GET(p, n);
    memcpy(p, from, n * sizeof *p);
    quicksort(p, n);
    uint64_t middle = p[n / 2];
    PUT(p);
    return middle;
}

__attribute__((noinline)) static uint64_t copied(const uint64_t *from, size_t n, uint64_t *given) {
    (void)given;
    GET(p, n);
    memcpy(p, from, n * sizeof *p);
    // The compiler must believe that the copy is used.
    __asm__ volatile("" : : "r"(p) : "memory");
    uint64_t last = p[n - 1];
    PUT(p);
    return last;
}

struct work {
    size_t items, calls;
    uint64_t (*run)(const uint64_t *, size_t, uint64_t *);
    uint64_t sum;
    // Apart from the next thread's.
    char apart[128];
};

static void *worked(void *argument) {
    struct work *work = argument;
    uint64_t from[MOST], given[MOST], sum = 0, seed = 88172645463325252u;
    for (size_t i = 0; i < work->items; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        from[i] = seed;
    }
    for (size_t k = 0; k < work->calls; k++) {
        from[k % work->items] += k;
        sum += work->run(from, work->items, given);
    }
    work->sum = sum;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int many = strcmp(argv[1], "threads") == 0;
    struct work all[4];
    pthread_t threads[4];
    size_t count = many ? 4 : 1;
    for (size_t n = 0; n < count; n++) {
        all[n] = (struct work) { .items = strtoul(argv[2], NULL, 10), .calls = strtoul(argv[3], NULL, 10) };
        all[n].run = many ? copied : sorted;
        if (all[n].items < 1 || all[n].items > MOST) return 2;
        if (!many) worked(&all[n]);
        else if (pthread_create(&threads[n], NULL, worked, &all[n])) return 1;
    }
    uint64_t sum = 0;
    for (size_t n = 0; n < count; n++) {
        if (many) pthread_join(threads[n], NULL);
        sum += all[n].sum;
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
