/* mark.c: full collections of a random graph, as ../../../shared/peers/c/mark_floor.c and the paper on large pages have it.
 *
 *   mark [objects=N] [static=PERCENT] [immediate=PERCENT] [local=PERCENT] [marked=0|1] [mixed=0|1] [index=0|1] [repeat=N]
 *
 * Objects of three words, two of them pointers. `static`: that share of the pointers goes to static objects, which point at
 * static objects; with marked=1 static objects lie in the heap instead and are marked like all others (what a collector
 * without a page table has to do). `immediate`: that share is not a pointer. `local`: that share goes to near objects
 * instead of random ones. mixed=1: objects have two to five words, and their two pointers lie anywhere in them. index=1: an array of all objects is the root; 0: every 16th object is one. */
#include "common.h"

#include <lee/lee.h>

#include "../../runtime/src/collect.h"

struct node {
    struct node *a, *b;
    uint64_t number;
};

static const struct lee_layout node_layout = {.bytes = sizeof(struct node), .words = 3, .name = "node"};
/* The same with other words in between; a and b are then found through the layout. */
static const struct lee_layout mixed_layouts[] = {
    {.bytes = 16, .words = 3, .name = "node"}, {.bytes = 24, .words = 5, .name = "node"}, {.bytes = 24, .words = 6, .name = "node"},
    {.bytes = 32, .words = 9, .name = "node"}, {.bytes = 32, .words = 6, .name = "node"}, {.bytes = 40, .words = 18, .name = "node"},
    {.bytes = 40, .words = 3, .name = "node"}, {.bytes = 40, .words = 20, .name = "node"},
};
static const struct lee_layout index_layout = {.bytes = 8, .words = 1, .name = "index"};

enum { STATIC_OBJECTS = 1 << 20 };
static struct node static_objects[STATIC_OBJECTS];
static struct node **statics;
static long percent_static, percent_immediate, percent_local;
static struct node **nodes;
static long count;

static struct node *target(long from) {
    long choice = (long)(random_number() % 100);
    if (choice < percent_static)
        return statics[random_number() % STATIC_OBJECTS];
    if (choice < percent_static + percent_immediate)
        return (struct node *)(random_number() | 1);
    if ((long)(random_number() % 100) < percent_local)
        return nodes[from + (long)(random_number() % 64) < count ? from + (long)(random_number() % 64) : from];
    return nodes[random_number() % (uint64_t)count];
}

static struct node *make(bool mixed) {
    const struct lee_layout *layout = mixed ? &mixed_layouts[random_number() % 8] : &node_layout;
    return mixed ? lee_heap_try_alloc_typed(layout->bytes, layout) : lee_new_typed(&node_layout, LEE_TYPED, sizeof(struct node), false);
}

static void join(struct node *node, struct node *a, struct node *b, bool mixed) {
    if (!mixed) {
        node->a = a;
        node->b = b;
        return;
    }
    const struct lee_layout *layout = (const struct lee_layout *)(((uintptr_t *)node)[-1] & (((uintptr_t)1 << 48) - 8));
    uint64_t words = layout->words;
    ((struct node **)node)[__builtin_ctzll(words)] = a;
    ((struct node **)node)[__builtin_ctzll(words & (words - 1))] = b;
}

struct array_root {
    struct lee_root root;
    long step;
};

static void scan(struct lee_root *root, struct lee_marker *marker) {
    struct array_root *array = (struct array_root *)root;
    if (array->step == 0) {
        lee_mark_word(marker, (uintptr_t)nodes);
        return;
    }
    for (long i = 0; i < count; i += array->step)
        lee_mark_words(marker, &nodes[i], &nodes[i] + 1);
}

int main(int argc, char **argv) {
    count = argument(argc, argv, "objects", 32000000);
    percent_static = argument(argc, argv, "static", 0);
    percent_immediate = argument(argc, argv, "immediate", 0);
    percent_local = argument(argc, argv, "local", 0);
    long marked = argument(argc, argv, "marked", 0), repeat = argument(argc, argv, "repeat", 7);
    bool index = argument(argc, argv, "index", 0) != 0, mixed = argument(argc, argv, "mixed", 0) != 0;
    struct lee_heap *heap = lee_heap_new();
    lee_self = &heap->inline_part;
    heap->enabled = false;
    size_t bytes = (size_t)count * sizeof *nodes;
    nodes = index ? lee_heap_try_alloc_typed(bytes, &index_layout) : malloc(bytes);
    statics = malloc(STATIC_OBJECTS * sizeof *statics);
    for (long i = 0; i < STATIC_OBJECTS; i++)
        statics[i] = marked ? lee_new_typed(&node_layout, LEE_TYPED, sizeof(struct node), false) : &static_objects[i];
    for (long i = 0; i < STATIC_OBJECTS; i++) {
        statics[i]->a = statics[random_number() % STATIC_OBJECTS];
        statics[i]->b = statics[random_number() % STATIC_OBJECTS];
    }
    for (long i = 0; i < count; i++)
        nodes[i] = make(mixed);
    for (long i = 0; i < count; i++)
        join(nodes[i], target(i), target(i), mixed);
    struct array_root root = {.root.scan = scan, .step = index ? 0 : 16};
    lee_root_add(heap, &root.root);
    bool wall = argument(argc, argv, "wall", 0) != 0; /* times of the clock, not of the processor */
    double times[100], pauses[100], longest = 0;
    heap->enabled = true;
    for (long i = 0; i < repeat && i < 100; i++) {
        double before = wall ? now_ms() : cpu_ms();
        lee_heap_collect(heap);
        pauses[i] = (wall ? now_ms() : cpu_ms()) - before;
        longest = pauses[i] > longest ? pauses[i] : longest;
        times[i] = pauses[i] * (double)heap->counts.mark_last / (double)heap->counts.pause_last;
    }
    double mark = median(times, (size_t)repeat), pause = median(pauses, (size_t)repeat);
    printf("objects %zu mark_ms %.1f pause_ms %.1f ns_per_object %.1f M_per_s %.2f live_MB %.0f resident_MB %ld overflows %zu longest_ms %.1f\n",
           heap->counts.live_objects, mark, pause, mark * 1e6 / (double)heap->counts.live_objects,
           (double)heap->counts.live_objects / mark / 1e3, (double)heap->counts.live_bytes / 1e6, resident_kb() / 1024,
           heap->counts.overflows, longest);
    return 0;
}
