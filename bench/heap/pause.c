/* pause.c: pauses of a program that keeps `live` megabytes alive and allocates.
 *
 *   pause [live=MB] [churn=MB] [plain=PERCENT] [bytes=N]
 *
 * What lives is a table of lists, in the heap, of objects of `bytes` bytes, two words of which are pointers; a step puts a new object in
 * front of a random list and drops the last of its ten. `plain`: that share of the live bytes are buffers of 1 KB without pointers. */
#include "common.h"

#include <lee/lee.h>

#include "../../runtime/src/heap.h"

enum { LENGTH = 10, BUFFER = 1024 };

struct node {
    struct node *next, *other;
    uint64_t rest[];
};

static void **lists; /* in the heap: what the program's static data holds keeps it */

int main(int argc, char **argv) {
    long live = argument(argc, argv, "live", 10), churn = argument(argc, argv, "churn", 20 * live), plain = argument(argc, argv, "plain", 0);
    size_t bytes = (size_t)argument(argc, argv, "bytes", 24), cell = lee_class_bytes(lee_class_of_aligned(bytes + LEE_HEADER_BYTES));
    struct lee_layout layout = {.bytes = (uint32_t)bytes, .words = 3, .name = "node"};
    static const struct lee_layout pointer = {.bytes = 8, .words = 1, .name = "pointer"};
    size_t count = ((size_t)live << 20) / 100 * (size_t)(100 - plain) / (cell * LENGTH), buffers = ((size_t)live << 20) / 100 * (size_t)plain / BUFFER;
    lists = lee_heap_alloc_array_typed(NULL, (int64_t)(count + buffers + 1), sizeof *lists, 0, &pointer);
    for (size_t i = 0; i < buffers; i++)
        lists[count + i] = lee_heap_alloc_plain(NULL, BUFFER);
    double longest = 0, start = cpu_ms();
    size_t pauses = 0;
    static double all[1 << 16];
    struct lee_heap *heap = lee_heap_self();
    size_t steps = count * LENGTH + ((size_t)churn << 20) / cell;
    for (size_t i = 0, before = heap->counts.collections; i < steps; i++) {
        struct node **list = (struct node **)&lists[random_number() % count];
        struct node *node = lee_heap_alloc_typed(NULL, bytes, &layout);
        node->next = *list;
        node->other = lists[random_number() % count];
        *list = node;
        for (int k = 1; k < LENGTH && node->next != NULL; k++)
            node = node->next;
        if (node->next != NULL) {
            node->next = NULL;
        }
        if (node->other != NULL && i % 4 != 0)
            node->other = NULL; /* or all lists would hang together, with what they dropped */
        if (heap->counts.collections != before) {
            before = heap->counts.collections;
            double ms = (double)heap->counts.pause_last / 1e6;
            if (i > count * LENGTH && pauses < sizeof all / sizeof *all)
                all[pauses++] = ms;
            longest = ms > longest ? ms : longest;
        }
    }
    double middle = pauses > 0 ? median(all, pauses) : 0; /* sorts */
    printf("live_MB %.1f objects %zu collections %zu median_ms %.3f p99_ms %.3f longest_ms %.3f cpu_ms %.0f\n",
           (double)heap->counts.live_bytes / 1048576, heap->counts.live_objects, heap->counts.collections, middle,
           pauses > 0 ? all[pauses * 99 / 100] : 0, longest, cpu_ms() - start);
    return 0;
}
