/* trees.c: binary trees as the peers have them (../../../shared/peers/c/trees.c): a long-lived tree of depth N, short-lived
 * ones of depth 4, 8, ... N.
 *
 *   -DCOLLECTED: this heap, nothing is freed   -DUNIQUE: this heap, freed by hand   -DPAGES: a bump region of lee/pages.h
 *   for each tree   none: malloc and free */
#include "common.h"

#if defined(COLLECTED) || defined(UNIQUE) || defined(PAGES)
#include <lee/lee.h>

#include "../../runtime/src/heap.h"
#endif

typedef struct tree {
    struct tree *left, *right;
} tree;

#if defined(COLLECTED) || defined(UNIQUE)
static const struct lee_layout layout = {.bytes = sizeof(tree), .words = 3, .name = "tree"};
#define NEW() lee_new_typed(&layout, LEE_TYPED, sizeof(tree), false)
#elif !defined(PAGES)
#define NEW() malloc(sizeof(tree))
#endif

#ifdef PAGES
static struct {
    char *next, *end;
    struct {
        void *start;
        size_t bytes;
    } taken[64];
    int count;
} region;

static __attribute__((noinline)) void *more(void) {
    size_t got;
    bool zeroed;
    char *start = lee_pages_take(lee_heap_self(), region.count < 8 ? (size_t)4096 << region.count : 1 << 20, &got, &zeroed);
    region.taken[region.count].start = start;
    region.taken[region.count++].bytes = got;
    region.next = start + sizeof(tree);
    region.end = start + got;
    return start;
}
static inline void *NEW(void) {
    char *at = region.next;
    if (at + sizeof(tree) > region.end)
        return more();
    region.next = at + sizeof(tree);
    return at;
}
static void drop_region(void) {
    while (region.count > 0) {
        region.count--;
        lee_pages_give(lee_heap_self(), region.taken[region.count].start, region.taken[region.count].bytes);
    }
    region.next = region.end = NULL;
}
#endif

static tree *make(int depth) {
    tree *t = NEW();
    if (depth == 0)
        t->left = t->right = NULL;
    else {
        t->left = make(depth - 1);
        t->right = make(depth - 1);
    }
    return t;
}

static int check(const tree *t) {
    return t->left == NULL ? 1 : 1 + check(t->left) + check(t->right);
}

static void drop(tree *t) {
#if defined(COLLECTED)
    (void)t;
#elif defined(PAGES)
    (void)t;
    drop_region();
#else
    if (t->left != NULL) {
        drop(t->left);
        drop(t->right);
    }
#ifdef UNIQUE
    unsigned class_ = lee_class_of(sizeof(tree) + 8);
    lee_cell_free((char *)t - 8, LEE_TYPED, class_, lee_class_bytes(class_));
#else
    free(t);
#endif
#endif
}

int main(int argc, char **argv) {
    int depth = (int)argument(argc, argv, "depth", 18);
    double start = cpu_ms();
    tree *longest = make(depth);
#ifdef PAGES
    memset(&region, 0, sizeof region); /* the long-lived tree keeps its pages */
#endif
    long total = 0;
    for (int d = 4; d <= depth; d += 4) {
        for (int i = 0; i < 1 << (depth - d + 4); i++) {
            tree *t = make(d);
            total += check(t);
            drop(t);
        }
    }
    total += check(longest);
    double took = cpu_ms() - start;
    char status[4096], *peak = NULL;
    FILE *file = fopen("/proc/self/status", "r");
    if (file != NULL) {
        status[fread(status, 1, sizeof status - 1, file)] = 0;
        peak = strstr(status, "VmHWM:");
        fclose(file);
    }
    printf("cpu_ms %.1f peak_MB %ld check %ld", took, peak == NULL ? 0 : atol(peak + 6) / 1024, total);
#ifdef COLLECTED
    struct lee_heap_counts *counts = &lee_heap_self()->counts;
    printf(" collections %zu pause_most_ms %.2f pause_all_ms %.1f", counts->collections, (double)counts->pause_most / 1e6,
           (double)counts->pause_all / 1e6);
#endif
    printf("\n");
    return 0;
}
