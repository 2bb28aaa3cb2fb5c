/* bare.c: what marking a random graph costs without a collector: the yardstick of mark.c. One array of objects, mark bits by index, a stack,
 * a queue of 16 objects that were asked for; roots are every 16th object. No check of what a word is, no layouts, no overflow.
 *
 *   bare [objects=N] [huge=0|1] [prefetch=0|1] [repeat=N]   after ../../../shared/peers/c/mark_floor.c, in processor time */
#include "common.h"

#include <sys/mman.h>

enum { QUEUE = 16, HUGE = 2 << 20 };

struct node {
    struct node *a, *b;
    uint64_t number;
};

static struct node *nodes, **stack;
static uint64_t *marks;
static size_t count, marked;

static void *take(size_t bytes, bool huge) {
    bytes = (bytes + 2 * HUGE - 1) & ~(size_t)(HUGE - 1);
    uintptr_t start = (uintptr_t)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    start = (start + HUGE - 1) & ~(uintptr_t)(HUGE - 1);
    if (huge)
        madvise((void *)start, bytes - HUGE, MADV_HUGEPAGE);
    return (void *)start;
}

static inline bool is_new(const struct node *node) {
    size_t at = (size_t)(node - nodes);
    uint64_t mask = (uint64_t)1 << at % 64;
    if ((marks[at / 64] & mask) != 0)
        return false;
    marks[at / 64] |= mask;
    marked++;
    return true;
}

static inline size_t scan(const struct node *node, size_t depth) {
    if (node->a != NULL)
        stack[depth++] = node->a;
    if (node->b != NULL)
        stack[depth++] = node->b;
    return depth;
}

static void mark_plainly(void) {
    for (size_t root = 0; root < count; root += 16) {
        size_t depth = 0;
        stack[depth++] = &nodes[root];
        while (depth > 0) {
            struct node *node = stack[--depth];
            if (is_new(node))
                depth = scan(node, depth);
        }
    }
}

static void mark_queued(void) {
    struct node *queue[QUEUE] = {NULL};
    size_t depth = 0, root = 0;
    for (unsigned head = 0, idle = 0; idle < QUEUE; head = (head + 1) % QUEUE) {
        struct node *node = NULL;
        if (depth > 0)
            node = stack[--depth];
        else if (root < count)
            node = &nodes[root], root += 16;
        idle = node == NULL ? idle + 1 : 0;
        if (node != NULL) {
            __builtin_prefetch(node);
            __builtin_prefetch(&marks[(size_t)(node - nodes) / 64], 1);
        }
        struct node *next = queue[head];
        queue[head] = node;
        if (next != NULL && is_new(next))
            depth = scan(next, depth);
    }
}

int main(int argc, char **argv) {
    count = (size_t)argument(argc, argv, "objects", 32000000);
    long repeat = argument(argc, argv, "repeat", 3);
    bool huge = argument(argc, argv, "huge", 1) != 0, prefetch = argument(argc, argv, "prefetch", 1) != 0;
    double times[100];
    nodes = take(count * sizeof *nodes, huge);
    stack = take(2 * count * sizeof *stack, huge);
    marks = take(count / 8 + 8, huge);
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct node){&nodes[random_number() % count], &nodes[random_number() % count], i};
    for (long i = 0; i < repeat && i < 100; i++) {
        memset(marks, 0, count / 8 + 8);
        marked = 0;
        double before = cpu_ms();
        if (prefetch)
            mark_queued();
        else
            mark_plainly();
        times[i] = cpu_ms() - before;
    }
    double mark = median(times, (size_t)repeat);
    printf("objects %zu mark_ms %.1f ns_per_object %.1f M_per_s %.2f\n", marked, mark, mark * 1e6 / (double)marked,
           (double)marked / mark / 1e3);
    return 0;
}
