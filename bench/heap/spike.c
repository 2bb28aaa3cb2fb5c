/* spike.c: resident memory before a spike of 256 MB, in it, and after what was not to survive is dead and the idle path ran.
 *
 *   spike [survive=PERCENT]   `needed`: the blocks of 64 KB in which something survived */
#include "common.h"

#include <lee/lee.h>

#include "../../runtime/src/heap.h"

enum { OBJECTS = 4 << 20, BEFORE = OBJECTS / 25 };

static void **objects;

static void scan(struct lee_root *root, struct lee_marker *marker) {
    (void)root;
    for (long i = 0; i < OBJECTS; i++)
        lee_mark_word(marker, (uintptr_t)objects[i]);
}

int main(int argc, char **argv) {
    long survive = argument(argc, argv, "survive", 0);
    struct lee_heap *heap = lee_heap_new();
    struct lee_root root = {.scan = scan};
    lee_self = &heap->inline_part;
    objects = malloc(OBJECTS * sizeof *objects);
    for (long i = 0; i < OBJECTS; i++)
        ((void *volatile *)objects)[i] = NULL; /* resident before the measure begins */
    lee_root_add(heap, &root);
    for (long i = 0; i < BEFORE; i++)
        objects[i] = memset(lee_heap_try_alloc(56), 1, 56);
    lee_heap_collect(heap);
    lee_heap_idle(heap);
    long before = resident_kb();
    for (long i = BEFORE; i < OBJECTS; i++)
        objects[i] = memset(lee_heap_try_alloc(56), 0, 56);
    long spike = resident_kb();
    for (long i = BEFORE; i < OBJECTS; i++) {
        if ((long)(random_number() % 100) >= survive)
            objects[i] = NULL;
    }
    double start = now_ms();
    lee_heap_collect(heap);
    lee_heap_idle(heap);
    printf("before_MB %ld spike_MB %ld after_MB %ld needed_MB %zu ms %.1f\n", before / 1024, spike / 1024, resident_kb() / 1024,
           heap->blocks_used / 16 + (size_t)before / 1024, now_ms() - start);
    return 0;
}
