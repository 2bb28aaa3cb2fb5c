/* alloc.c: one of N live blocks, chosen at random, is freed and replaced by one of 16 to 256 bytes, which is touched: the
 * peers' measure (../../../shared/peers/c/mallocb.c). -DLEE: this heap, plain cells; else malloc. */
#include "common.h"

#ifdef LEE
#include <lee/lee.h>

#include "../../runtime/src/heap.h"

static inline void *take(size_t bytes) {
    return lee_new_plain(bytes, true, false);
}
static inline void give(void *block) {
    lee_heap_free(block);
}
#else
#define take malloc
#define give free
#endif

static uint32_t state = 2463534242u;
static inline uint32_t step(void) {
    return state ^= state << 13, state ^= state >> 17, state ^= state << 5, state;
}

int main(int argc, char **argv) {
    size_t live = (size_t)argument(argc, argv, "live", 256);
    long steps = argument(argc, argv, "steps", live > 100000 ? 6000000 : 10000000), repeat = argument(argc, argv, "repeat", 5);
    double times[100];
#ifdef LEE
    struct lee_heap *heap = lee_heap_new();
    lee_self = &heap->inline_part;
    heap->enabled = false; /* all of it is freed by hand */
#endif
    char **blocks = calloc(live, sizeof *blocks);
    for (size_t i = 0; i < live; i++)
        blocks[i] = take(16 + step() % 241);
    for (long r = 0; r < repeat; r++) {
        double start = cpu_ms();
        for (long i = 0; i < steps; i++) {
            size_t k = step() & (live - 1);
            give(blocks[k]);
            char *block = take(16 + (step() >> 3) % 241);
            block[0] = 1;
            blocks[k] = block;
        }
        times[r] = (cpu_ms() - start) * 1e6 / (double)steps;
    }
    double start = cpu_ms();
    volatile uint32_t sink = 0;
    for (long i = 0; i < steps; i++) {
        step();
        sink = step() % 241;
    }
    (void)sink;
    printf("ns_per_pair %.2f loop_only %.2f resident_MB %ld\n", median(times, (size_t)repeat), (cpu_ms() - start) * 1e6 / (double)steps,
           resident_kb() / 1024);
    return 0;
}
