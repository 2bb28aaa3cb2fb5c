/* pairing.h: heaps of things that are ordered by a number, and for equal numbers by when they were
 * put in: timers, shares.
 *
 * Pairing heaps (Fredman, Sedgewick, Sleator, Tarjan, 1986): adding takes constant time, taking out
 * logarithmic time on average. A node is part of what it orders; nothing is allocated. */
#ifndef LEE_SRC_PAIRING_H
#define LEE_SRC_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a comparison counts for; share.c counts them. */
#ifndef LEE_PAIRING_STEP
#define LEE_PAIRING_STEP() ((void)0)
#endif

struct lee_pairing {
    struct lee_pairing *child, *next, *previous; /* `previous` of a first child is its parent */
    int64_t at;
    uint64_t order;
};

static inline struct lee_pairing *lee_pairing_merge(struct lee_pairing *a, struct lee_pairing *b) {
    if (a == NULL || b == NULL)
        return a != NULL ? a : b;
    LEE_PAIRING_STEP();
    if (b->at < a->at || (b->at == a->at && b->order < a->order)) {
        struct lee_pairing *later = a;
        a = b;
        b = later;
    }
    b->previous = a;
    b->next = a->child;
    if (b->next != NULL)
        b->next->previous = b;
    a->child = b;
    return a;
}

/* One heap of a row of siblings: pairs from the left, then these from the right. */
static inline struct lee_pairing *lee_pairing_merge_row(struct lee_pairing *row) {
    struct lee_pairing *pairs = NULL, *all = NULL;
    while (row != NULL) {
        struct lee_pairing *a = row, *b = a->next;
        row = b != NULL ? b->next : NULL;
        a->next = a->previous = NULL;
        if (b != NULL)
            b->next = b->previous = NULL;
        a = lee_pairing_merge(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs != NULL) {
        struct lee_pairing *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        all = lee_pairing_merge(all, pair);
    }
    return all;
}

/* Puts in a node that is in no heap, with `at` and `order`; `*top` is the first of the heap. */
static inline void lee_pairing_add(struct lee_pairing **top, struct lee_pairing *node) {
    node->child = node->next = node->previous = NULL;
    *top = lee_pairing_merge(*top, node);
}

/* Takes out one that is in the heap. */
static inline void lee_pairing_remove(struct lee_pairing **top, struct lee_pairing *node) {
    struct lee_pairing *below = lee_pairing_merge_row(node->child);
    if (node == *top) {
        *top = below;
        return;
    }
    if (node->previous->child == node)
        node->previous->child = node->next;
    else
        node->previous->next = node->next;
    if (node->next != NULL)
        node->next->previous = node->previous;
    *top = lee_pairing_merge(*top, below);
}

#endif
