/* pause.c: pauses of a program that keeps `live` megabytes alive and allocates.
 *
 *   pause [live=MB] [churn=MB] [plain=PERCENT] [bytes=N] [itself=1] [static=1]
 *
 * `live` megabytes are allocated between collections, as the heap does by itself; here they are called for, so that each is measured, by the
 * processor's clock and the wall's. What lives is a table of lists, in the heap, of objects of `bytes` bytes, two words of which are pointers; a step puts a new object in
 * front of a random list and drops the last of its ten. `plain`: that share of the live bytes are buffers of 1 KB without pointers.
 *
 * `itself`: collections come by themselves, as LEE_GC_SNAPSHOT says. A snapshot has two pauses, in which it may wait for its child. `pause` is
 * the processor time of 16 steps with a pause among them, `wall` what the collector's clock says, `gap` the processor time of 16 steps
 * without one: the faults of copied pages are there. `all_ms` counts children too.
 *
 * `static`: 32 MB of static data are read for roots; else they are named to the collector, as emitted code does. */
#include "common.h"

#include <sys/resource.h>

#include <lee/globals.h>
#include <lee/lee.h>

#include "../../runtime/src/heap.h"

enum { LENGTH = 10, BUFFER = 1024 };

struct node {
    struct node *next, *other;
    uint64_t rest[];
};

static void **lists; /* in the heap: what the program's static data holds keeps it */

/* A new object in front of a list, of which the last one goes. */
static void step(size_t count, size_t bytes, const struct lee_layout *layout) {
    struct node **list = (struct node **)&lists[random_number() % count];
    struct node *node = lee_heap_alloc_typed(NULL, bytes, layout);
    node->next = *list;
    /* Not all, or the lists would hang together, with what they dropped. */
    node->other = random_number() % 4 == 0 ? lists[random_number() % count] : NULL;
    *list = node;
    for (int k = 1; k < LENGTH && node->next != NULL; k++)
        node = node->next;
    node->next = node->other = NULL;
}

static double ms_of(struct timeval time) {
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

static double processor_ms(int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
}

static int by_itself(struct lee_heap *heap, size_t steps, size_t count, size_t bytes, const struct lee_layout *layout) {
    enum { MOST = 1 << 16, GROUP = 16 };
    double *pauses = calloc(MOST, sizeof(double)); /* not static: that is read for roots */
    double *walls = calloc(MOST, sizeof(double)); /* not static: that is read for roots */
    double gap = 0; /* the longest only: a table of all would have to be copied, too */
    bool paused = false;
    size_t pause_count = 0, wall_count = 0, collections = heap->counts.collections, snapshots = heap->counts.snapshots;
    size_t lost = heap->counts.snapshots_lost;
    uint64_t all = heap->counts.pause_all;
    double begin = now_ms(), own = processor_ms(RUSAGE_SELF), others = processor_ms(RUSAGE_CHILDREN), last = cpu_ms();
    for (size_t i = 0; i < steps; i++) {
        step(count, bytes, layout);
        if (heap->counts.pause_all != all && wall_count < MOST) {
            walls[wall_count++] = (double)(heap->counts.pause_all - all) / 1e6;
            all = heap->counts.pause_all;
            paused = true;
        }
        if (i % GROUP == GROUP - 1 && pause_count < MOST) {
            double here = cpu_ms();
            if (paused)
                pauses[pause_count++] = here - last;
            else if (here - last > gap)
                gap = here - last;
            paused = false;
            last = here;
        }
    }
    if (pause_count == 0)
        return 1;
    double wall = now_ms() - begin;
    own = processor_ms(RUSAGE_SELF) - own;
    lee_heap_collect(heap); /* the last child has ended, and is counted */
    others = processor_ms(RUSAGE_CHILDREN) - others;
    double middle = median(pauses, pause_count);
    double wall_middle = median(walls, wall_count);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("live_MB %.1f collections %zu snapshots %zu lost %zu pauses %zu pause_ms %.3f pause_p99_ms %.3f pause_p999_ms %.3f pause_most_ms %.3f wall_pause_ms %.3f wall_p99_ms %.3f wall_most_ms %.3f "
           "gap_most_ms %.3f own_ms %.0f all_ms %.0f wall_ms %.0f peak_MB %ld\n",
           (double)heap->counts.live_bytes / 1048576, heap->counts.collections - collections, heap->counts.snapshots - snapshots,
           heap->counts.snapshots_lost - lost, pause_count, middle, pauses[pause_count * 99 / 100], pauses[pause_count * 999 / 1000],
           pauses[pause_count - 1], wall_middle, walls[wall_count * 99 / 100], walls[wall_count - 1], gap, own, own + others, wall, usage.ru_maxrss / 1024);
    return 0;
}

static uintptr_t data[4 << 20];
static const struct lee_global plain_data = {data, sizeof data, NULL};

int main(int argc, char **argv) {
    struct lee_globals unit = {&plain_data, 1, NULL};
    if (!argument(argc, argv, "static", 0))
        lee_globals_add(&unit);
    long live = argument(argc, argv, "live", 10), churn = argument(argc, argv, "churn", 20 * live), plain = argument(argc, argv, "plain", 0);
    size_t bytes = (size_t)argument(argc, argv, "bytes", 24), cell = lee_class_bytes(lee_class_of_aligned(bytes + LEE_HEADER_BYTES));
    struct lee_layout layout = {.bytes = (uint32_t)bytes, .words = 3, .name = "node"};
    static const struct lee_layout pointer = {.bytes = 8, .words = 1, .name = "pointer"};
    size_t count = ((size_t)live << 20) / 100 * (size_t)(100 - plain) / (cell * LENGTH), buffers = ((size_t)live << 20) / 100 * (size_t)plain / BUFFER;
    lists = lee_heap_alloc_array_typed(NULL, (int64_t)(count + buffers + 1), sizeof *lists, 0, &pointer);
    for (size_t i = 0; i < buffers; i++)
        lists[count + i] = lee_heap_alloc_plain(NULL, BUFFER);
    struct lee_heap *heap = lee_heap_self();
    size_t steps = ((size_t)churn << 20) / cell, budget = (size_t)live << 20, collections = 0;
    double *wall = calloc(1 << 12, sizeof(double)); /* not static: that is read for roots */
    double *processor = calloc(1 << 12, sizeof(double)); /* not static: that is read for roots */
    for (size_t i = 0; i < count * LENGTH; i++)
        step(count, bytes, &layout);
    if (argument(argc, argv, "itself", 0))
        return by_itself(heap, steps, count, bytes, &layout);
    heap->enabled = false; /* collections come when they would come by themselves, but from here, where there is a clock */
    for (size_t i = 0, due = heap->counts.allocated + budget; i < steps && collections < 1 << 12; i++) {
        step(count, bytes, &layout);
        if (heap->counts.allocated < due)
            continue;
        heap->enabled = true;
        double before = now_ms(), cpu_before = cpu_ms();
        lee_heap_collect(heap);
        processor[collections] = cpu_ms() - cpu_before;
        wall[collections++] = now_ms() - before;
        heap->enabled = false;
        due = heap->counts.allocated + budget;
    }
    if (collections == 0)
        return 1;
    double middle = median(wall, collections), cpu_middle = median(processor, collections); /* which sorts */
    printf("live_MB %.1f objects %zu collections %zu cpu_ms %.3f cpu_p99_ms %.3f wall_ms %.3f wall_p99_ms %.3f longest_ms %.3f mark_part %.2f\n",
           (double)heap->counts.live_bytes / 1048576, heap->counts.live_objects, collections, cpu_middle,
           processor[collections * 99 / 100], middle, wall[collections * 99 / 100], wall[collections - 1],
           (double)heap->counts.mark_last / (double)heap->counts.pause_last);
    return 0;
}
