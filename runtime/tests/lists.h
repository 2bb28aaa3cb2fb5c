/* lists.h: lists in the heap whose contents tests check after collections and moves. */
#ifndef LEE_TESTS_LISTS_H
#define LEE_TESTS_LISTS_H

#include <lee/heap.h>

#include <stdbool.h>
#include <stddef.h>

struct node {
    struct node *next;
    size_t value;
};
static const struct lee_layout node_layout = {.bytes = sizeof(struct node), .words = 1, .name = "node"};

static struct node *list(size_t length) {
    struct node *first = NULL;
    for (size_t i = 0; i < length; i++) {
        struct node *node = lee_heap_alloc_typed(NULL, sizeof *node, &node_layout);
        node->next = first;
        node->value = i;
        first = node;
    }
    return first;
}

static bool is_list(const struct node *node, size_t length) {
    while (length-- > 0) {
        if (node == NULL || node->value != length)
            return false;
        node = node->next;
    }
    return node == NULL;
}

#endif
